"""Which category: a person is known to be in an area, and one of K cells is theirs.

The adversary knows everyone else, so the count n_k of each cell without the target, has a prior over the
cells, and sees the noisy counts of *all* cells. If cell k is the target's, its count is n_k + 1 and all
others are as known; so all that the cells say of k is the evidence of its own count, the log ratio of the
likelihoods of "present" and "absent" there, and

    posterior_k  ~  prior_k exp(e_k),      e_k = (y_k - n_k - 1/2) / v  for discrete Gaussian noise.

Counts of the same cells at several levels, with independent noise, add their evidence. A count of a coarser
query speaks for all cells of its group alike. If the adversary is not sure of the others, e_k is the log
ratio of two mixtures, as long as the others of different cells are independent. If only the *total* of the
others is known, their counts depend on each other: `discreet.disclosure.totals` sums over all of them.

The question may be which *group* of cells is the target's: its posterior is the sum of those of its cells.

How often the largest posterior is right is the mean of the largest score (`discreet.disclosure.scores`): for
cells, for groups, and with counts of groups that nest. Where only totals are known it is bounded, as nobody
who knows less of the others can be right more often, and simulated if asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes, Level, Release
from discreet.budget.events import Releasable, release_of
from discreet.budget.scope import Extent, Scope
from discreet.budget.variables import COUNT
from discreet.disclosure.attack import Attack, independent_others
from discreet.disclosure.counts import OTHER_COUNTS
from discreet.disclosure.evidence import SAME, EvidenceLaw
from discreet.disclosure.inputs import Numbers, read_known, read_variance, read_whole
from discreet.disclosure.odds import Floats, Prior, log_sum
from discreet.disclosure.scores import CoarseCount, Labels, chance_right
from discreet.disclosure.totals import TotalsAttack
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.loss.values import Number, read
from discreet.numbers import shown
from discreet.questions import Option, repeated_option
from discreet.tables import TableSource, open_table, read_table

MOST_CELLS = 1_000_000
"""Cells among which a category is sought."""

_COLUMNS = ("cell", "noisy", "known", "prior", "variance", "count", "group", "share")


@dataclass(frozen=True, slots=True)
class CategoryBelief:
    """What is believed of one cell or group: its prior, what the counts said, and the posterior.

    `alone` is the posterior of someone who looks at the counts of this cell alone, and asks yes or no.
    """

    cell: str
    prior: float
    evidence: float
    posterior: float
    ratio: float
    alone: float | None = None


@dataclass(frozen=True, slots=True)
class CategoryGuess:
    """How often the largest posterior is right, from some counts of each cell.

    `counts` names them, `error` is how far the chance may be off. With `is_bound`, it is at most this.
    `draws` is how many were simulated, if so: the chance is then within `error` 99 times in 100. `one_cell`
    is the chance that someone who looks at the target's cell alone, and says yes where the posterior exceeds
    one half, says yes (averaged over the prior).
    """

    counts: tuple[str, ...]
    variances: tuple[float, ...]
    right: float
    error: float
    one_cell: float
    is_bound: bool = False
    draws: int = 0


@dataclass(frozen=True, slots=True)
class Categories(Summarised):
    """Which of `cells` cells is the target's: how often that is found out, and what given numbers tell.

    `unaided` is the chance of being right without the release. `unsure` is how many others each cell may have
    beside those known, `totals` how many there are in each area, if no more is known of them. If it is asked
    which group of cells is the target's, `groups` is their number and `group_beliefs` has what is believed of
    them. There are no `guesses` where counts of groups speak that do not nest.
    """

    cells: int
    unaided: float
    guesses: tuple[CategoryGuess, ...]
    is_even: bool = True
    unsure: int = 0
    beliefs: tuple[CategoryBelief, ...] = ()
    release: str = ""
    query: str = ""
    told: tuple[float, ...] = field(default=(), repr=False)
    """The variances of the counts that speak."""
    groups: int = 0
    group_beliefs: tuple[CategoryBelief, ...] = ()
    totals: tuple[int, ...] = ()
    asked: str = ""
    is_asked_counted: bool = False
    """Whether the release has counts of the query asked for, which speak too."""
    scope: Scope = field(kw_only=True, repr=False)
    """Which queries and levels speak."""

    @property
    def sought(self) -> int:
        """Among how many cells, or groups of them, the target's is sought."""
        return self.groups or self.cells

    @property
    def found_beliefs(self) -> tuple[CategoryBelief, ...]:
        """What is believed of the cells, or of the groups if they are asked for."""
        return self.group_beliefs or self.beliefs

    @property
    def named(self) -> tuple[CategoryBelief, ...]:
        """The cells, or groups, of the largest posterior: several if they are tied."""
        top = max((belief.posterior for belief in self.found_beliefs), default=0.0)
        return tuple(belief for belief in self.found_beliefs if belief.posterior >= top * (1 - 1e-12))


def categories(
    *,
    cells: Annotated[int | None, Option("The number of cells.", "K")] = None,
    variance: Annotated[
        Numbers,
        repeated_option(
            "Variance of the noise of a cell's count; repeated: of counts at several levels.", "V", "variance"
        ),
    ] = None,
    rho: Annotated[
        Numbers,
        repeated_option(
            "Instead of the variance: zCDP's rho with a record added or removed, 1/(2 variance).", "R", "rho"
        ),
    ] = None,
    prior: Annotated[
        Numbers, repeated_option("A prior or weight for each cell, in order; default: even.", "P", "prior")
    ] = None,
    noisy: Numbers = None,
    known: Numbers = None,
    groups: Sequence[Sequence[int] | None] = (),
    unsure: Annotated[
        int | None, Option("This many others may be in each cell, independently of other cells.", "M")
    ] = None,
    chance: Annotated[
        Number | None, Option("The chance that each of them is there.", "C", reads=str | None)
    ] = None,
    totals: Annotated[
        int | Sequence[int] | None,
        Option(
            "Of the others only their number in the area is known; repeated: in each larger area.",
            "M",
            each="total",
            reads=list[int] | None,
        ),
    ] = None,
    shares: Annotated[
        Numbers,
        repeated_option(
            "With --total: the chance of each cell for the others, in order; default: the prior.",
            "Q",
            "share",
        ),
    ] = None,
    asked: Annotated[
        Sequence[object],
        repeated_option(
            "The group of each cell, in order, or a coarser query of a release: which group?",
            "GROUP",
            "asked",
        ),
    ] = (),
    draws: Annotated[
        int | None, Option("With --total: simulate in so many draws how often the guess is right.", "N")
    ] = None,
    seed: Annotated[int | None, Option("Seed of the draws.", "N")] = None,
    names: Sequence[str] = (),
    counts: Sequence[str] = (),
) -> Categories:
    """Return how well an adversary finds out which cell is the target's, and what given numbers say.

    `variance` (or `rho`) is that of the noise of each cell's count; a list has one for each of several counts
    of the same cells, such as those of the levels. `prior` has a chance or weight for each cell (even if
    none). With `noisy` and `known`, a number for each cell, or a row of them for each count, the posterior of
    each cell is returned too. `groups` has for a count of a coarser query the group of each cell. `unsure`
    others, each there with this `chance`, may be in each cell beside those known, independently of the other
    cells.

    `totals` says that of the others in the area, beside those known, only their number is known; with several
    counts, one for each area from the smallest up. Each of them is in a cell with the chance in `shares`
    (those of `prior` if none). How often the largest posterior is right is then a bound, or simulated in so
    many `draws`. `asked` has the group of each cell, if it is asked which group is the target's.

    >>> told = categories(cells=5, variance="5.04")
    >>> round(told.guesses[0].right, 4), told.unaided, round(told.guesses[0].one_cell, 4)
    (0.3172, 0.2, 0.0018)
    >>> seen = categories(variance=5, noisy=[0, 3, 1], known=[0, 0, 0])
    >>> [round(belief.posterior, 3) for belief in seen.beliefs]
    [0.247, 0.451, 0.302]
    >>> unsure = categories(variance=5, noisy=[0, 3, 1], totals=3)
    >>> [round(belief.posterior, 3) for belief in unsure.beliefs]
    [0.261, 0.429, 0.31]
    >>> races = categories(variance=5, noisy=[0, 3, 1], known=[0, 0, 0], asked=["a", "b", "a"])
    >>> [(belief.cell, round(belief.posterior, 3)) for belief in races.named]
    [('a', 0.549)]
    """
    v = np.atleast_1d(read_variance(variance, rho))
    if v.ndim != 1:
        raise InputError("variance must be one number, or a list with one for each count of a cell")
    seen = None if noisy is None else _by_count(read_whole(noisy), "noisy", v.size)
    if seen is None and known is not None:
        raise InputError("known counts without noisy ones tell nothing; give both")
    others = None if known is None else _by_count(read_known(known), "known", v.size)
    if others is None and seen is not None and totals is not None:
        others = np.zeros_like(seen)
    weights = None if prior is None else _weights(prior)
    sorts, labels = _asked(asked)
    many = _cells(cells, seen, others, weights, labels)
    chances = np.full(many, 1.0 / many) if weights is None else weights
    attacks = _attacks(v, unsure, chance)
    if seen is not None and others is None:
        raise InputError("known is missing: the count of each cell without the target")
    places = _groups(groups, v.size, many)
    rings = None
    if totals is None:
        stated = [
            name
            for name, value in (("shares", shares), ("draws", draws), ("seed", seed))
            if value is not None
        ]
        if stated:
            raise InputError(f"{stated[0]} is used with totals, others of whom only the number is known")
    else:
        if unsure is not None or any(grouping is not None for grouping in places):
            what = "unsure others" if unsure is not None else "counts of groups of cells"
            raise InputError(f"totals and {what} cannot be stated together; leave one of them out")
        rings = TotalsAttack.read(totals, v, chances if shares is None else shares, many)
    titles = _names(names, many)
    beliefs: tuple[CategoryBelief, ...] = ()
    if seen is not None and others is not None:
        off = seen - others
        evidence = _evidence(attacks, off, places) if rings is None else rings.evidence(off, chances)
        beliefs = _beliefs(chances, evidence, titles, alone=rings is None)
    by_group = chances if labels is None else np.bincount(labels, chances)
    guess = _guess(
        attacks,
        places,
        chances,
        labels,
        tuple(counts) or tuple(f"count {number + 1}" for number in range(v.size)),
        is_needed=seen is None,
    )
    if guess is not None and rings is not None:
        guess = replace(guess, is_bound=True)
        if draws is not None:
            mean, error = rings.simulated(chances, labels, draws=draws, seed=seed)
            guess = replace(guess, right=mean, error=error, is_bound=False, draws=draws)
    even = bool(chances.max() - chances.min() <= 1e-12 * chances.max())
    return Categories(
        many,
        float(by_group.max()),
        () if guess is None else (guess,),
        even,
        unsure or 0,
        beliefs,
        told=tuple(map(float, v)),
        groups=0 if labels is None else len(sorts),
        group_beliefs=() if labels is None else _group_beliefs(beliefs, labels, sorts),
        totals=() if rings is None else rings.totals,
        scope=Scope.whole("the counts given", unit="", neighbours="").without(OTHER_COUNTS),
    )


def release_categories(
    release: Releasable,
    *,
    query: Annotated[
        str | None, Option("With a release: its query; default: the one of most cells.", "QUERY")
    ] = None,
    asked: str | None = None,
) -> Categories:
    """Return how well a release's most detailed query tells the cell, level by level from the lowest.

    The first guess has the counts of the lowest level alone; each next one those of one level more, for an
    adversary who knows everyone else there too. `asked` is a coarser query, such as one attribute: then it is
    asked in which of its cells the target is; the query is by default the one whose counts tell most of that,
    and those of `asked` speak too at the levels that have them.

    >>> from discreet.budget import load
    >>> told = release_categories(load("pl94-2020-persons"))  # slow
    >>> told.cells, [round(100 * guess.right, 3) for guess in told.guesses[:2]]
    (2016, [0.14, 0.321])
    """
    release = release_of(release)
    if release.attributes is None:
        raise InputError(f"release {release.name!r} states no attributes, so its cells are not known")
    attributes = release.attributes.with_variables((COUNT,))
    runs = release.runs(release.main)  # where levels are merged, the upper one has the counts of both
    bottom = release.level(runs[-1][0])
    lowest = counting_queries(bottom)
    if query is None and asked is not None:
        query = _telling(release, attributes, lowest, asked, runs[-1])
    elif query is None:
        query = max(lowest, key=lambda name: attributes.tabulation(name).cells, default="total")
    elif query not in lowest:
        names = ", ".join(map(repr, lowest)) or "none"
        raise InputError(f"level {bottom.name!r} has no query {query!r} that counts records; it has {names}")
    labels = None if asked is None else cell_groups(attributes, query, asked)
    cells = possible_cells(attributes, query)
    if cells < 2:
        raise InputError(f"query {query!r} has one cell; a category is one of several")
    names_of_levels: list[str] = []
    own: list[EvidenceLaw] = []
    by_group: list[EvidenceLaw] = []
    sizes: list[float] = []
    guesses: list[CategoryGuess] = []
    chances = np.full(cells, 1.0 / cells)
    for run in reversed(runs):
        noises = {row.query: row.single() for row in reversed(release.run_table(run))}
        if query not in noises:
            continue
        own.append(EvidenceLaw.of_noise(noises[query]))
        if labels is not None and asked in noises and asked != query:
            by_group.append(EvidenceLaw.of_noise(noises[asked]))
        names_of_levels.append("+".join(run))
        sizes.append(noises[query].true_variance())
        law = reduce(EvidenceLaw.plus, own)
        coarse = (
            [CoarseCount(labels, reduce(EvidenceLaw.plus, by_group))]
            if labels is not None and by_group
            else []
        )
        guesses.append(_guessed(law, law, coarse, chances, labels, tuple(names_of_levels), sizes))
    return Categories(
        cells,
        float(chances[0] if labels is None else np.bincount(labels, chances).max()),
        tuple(guesses),
        release=release.name,
        query=query,
        groups=0 if labels is None else int(labels.max()) + 1,
        asked=asked or "",
        is_asked_counted=bool(by_group),
        scope=_scope(release, [query, *([asked] if asked and by_group else [])], names_of_levels),
    )


def _scope(release: Release, queries: Sequence[str], levels: Sequence[str]) -> Scope:
    """Return which queries and levels of a release speak; with merged levels, on the main path alone."""
    asked = dict.fromkeys(query.name for level in release.levels for query in level.queries)
    runs = ["+".join(run) for run in release.runs(release.main)]
    scope = Scope.whole(release.name, unit=release.unit, neighbours=release.neighbours)
    scope = scope.with_part(
        Extent.of("query", taken=[query for query in asked if query in queries], every=asked)
    )
    scope = scope.with_part(Extent.of("level", taken=[run for run in runs if run in levels], every=runs))
    return scope.without("paths other than the main one") if len(release.paths) > 1 else scope


def _telling(
    release: Release, attributes: Attributes, queries: Sequence[str], asked: str, run: tuple[str, ...]
) -> str:
    """The query of the lowest levels, beside `asked` itself, whose cells tell most of its cell.

    With c cells of noise of variance v in each group, the variance of a group's score is about
    (exp(1/v) - 1) / c.
    """
    told: dict[str, float] = {}
    groups = attributes.tabulation(asked).cells  # an unknown name is refused here
    noises = {row.query: row.single() for row in release.run_table(run)}
    for name in queries:
        try:
            cell_groups(attributes, name, asked)
        except InputError:
            continue
        spread = math.expm1(min(1.0 / noises[name].true_variance(), 100.0))
        told[name] = spread * groups / attributes.tabulation(name).cells
    if not told:
        names = ", ".join(map(repr, queries)) or "none"
        raise InputError(f"no query of level {run[0]!r} that counts records tells {asked!r}; it has {names}")
    others = [name for name in told if name != asked] or [asked]
    return max(others, key=lambda name: told[name])


def cell_groups(attributes: Attributes, query: str, asked: str) -> Labels:
    """Return the cell of a coarser query in which each possible cell of a query lies, in places from 0 on.

    >>> ages = Attributes({"age": ["0-17", "18+"], "sex": ["f", "m"]})
    >>> cell_groups(ages, "age * sex", "sex").tolist()
    [0, 1, 0, 1]
    """
    fine, coarse = (_cell_places(attributes, name) for name in (query, asked))
    inside = possible_values(attributes).ravel()
    many = int(coarse.max()) + 1
    pairs = np.divmod(np.unique(fine[inside] * many + coarse[inside]), many)
    if (np.diff(pairs[0]) == 0).any():
        raise InputError(f"cells of query {query!r} are split by {asked!r}; ask for a coarser query")
    places = np.unique(pairs[1], return_inverse=True)[1]
    if places.max() == 0:
        raise InputError(f"{asked!r} has one cell; a category is one of several")
    return np.asarray(places, dtype=np.int64)


def _cell_places(attributes: Attributes, query: str) -> Labels:
    """The cell of a query in which each combination of values lies."""
    cell_numbers = np.zeros(attributes.sizes, dtype=np.int64)
    groups = attributes.tabulation(query).by_attribute
    for axis, (size, parts) in enumerate(zip(attributes.sizes, groups, strict=True)):
        group_of = np.zeros(size, dtype=np.int64)
        for number, part in enumerate(parts):
            group_of[list(part)] = number
        cell_numbers = cell_numbers * len(parts) + group_of.reshape(
            tuple(size if dimension == axis else 1 for dimension in range(cell_numbers.ndim))
        )
    return cell_numbers.ravel()


def counting_queries(level: Level) -> list[str]:
    """Return the names of the queries of a level that count records: those of sums are of other numbers.

    >>> from discreet.budget import load
    >>> counting_queries(load("pl94-2020-persons").levels[-1])[:2]
    ['total', 'cenrace']
    """
    return [query.name for query in level.queries if query.variable == COUNT]


def possible_cells(attributes: Attributes, query: str) -> int:
    """Return how many cells of a query somebody may be in, those that are declared impossible left out.

    >>> ages = Attributes({"age": ["0-17", "18+"], "work": ["no", "yes"]},
    ...                   impossible=[{"age": ["0-17"], "work": ["yes"]}])
    >>> possible_cells(ages, "age * work"), possible_cells(ages, "work")
    (3, 2)
    """
    possible = possible_values(attributes)
    for axis, groups in enumerate(attributes.tabulation(query).by_attribute):
        parts = [possible.take(list(group), axis=axis).any(axis=axis) for group in groups]
        possible = np.stack(parts, axis=axis)
    return int(np.count_nonzero(possible))


def possible_values(attributes: Attributes) -> NDArray[np.bool_]:
    """Return which combinations of values somebody may have."""
    possible = np.ones(attributes.sizes, dtype=bool)
    for block in attributes.zeros():
        possible[
            np.ix_(*([value for group in groups for value in group] for groups in block.by_attribute))
        ] = False
    return possible


def table_categories(
    table: Annotated[
        TableSource,
        Option(
            "Numbers drawn: columns cell, noisy, known; prior, variance and count if there.",
            "FILE",
            reads=Path | None,
        ),
    ],
    *,
    variance: Number | None = None,
    totals: int | Sequence[int] | None = None,
    draws: int | None = None,
    seed: int | None = None,
) -> Categories:
    """Return the posterior of each cell from a table: cell, noisy, known; and further columns if there.

    `known` is the cell's count without the target. A table with several counts of the same cells, such as
    those of several levels, names them in `count`, and each has all cells. `variance` is that of all rows, if
    no column has it; a column holds the parameter of the noise. `prior` is a weight of each cell, `group` the
    group it is in if these are asked for. With `totals`, as `categories` has them, `known` may be missing,
    and `share` is the chance of each cell for those others.

    >>> import pyarrow
    >>> cells = {"cell": ["a", "b", "c"], "noisy": [0, 3, 1], "known": [0, 0, 0]}
    >>> told = table_categories(pyarrow.table(cells), variance=5)
    >>> [(belief.cell, round(belief.posterior, 3)) for belief in told.named]
    [('b', 0.451)]
    """
    names = {name.strip().lower() for name in open_table(table, wanted=_COLUMNS).names}
    floats = [name for name in ("prior", "variance", "share") if name in names]
    whole = ["noisy", "known"] if totals is None or "known" in names else ["noisy"]
    if ("variance" in floats) == (variance is not None):
        text = "stated twice, by an option and by a column" if variance is not None else "missing"
        raise InputError(f"the variance of the noise is {text}; state it once")
    columns = read_table(
        table, words=["cell"], optional=["count", "group"], whole=whole, floats=floats, of="cells"
    )
    problems, cells = columns.problems, columns.words["cell"]
    many = len(cells.values)
    if "count" in columns.words:
        codes, counts = columns.words["count"].codes, columns.words["count"].values.to_pylist()
    else:
        codes, counts = np.zeros(columns.rows, np.int32), ["the count"]
    positions = codes.astype(np.int64) * many + cells.codes
    again = np.ones(columns.rows, dtype=bool)
    again[np.unique(positions, return_index=True)[1]] = False
    problems.rows(again, "a cell occurs twice in one count", "cell")
    if "known" in whole:
        problems.rows(columns.numbers["known"] < 0, "a count without the target is below zero", "known")
    for column in floats:
        least = columns.numbers[column] >= 0 if column == "share" else columns.numbers[column] > 0
        wrong = ~least | ~np.isfinite(columns.numbers[column])
        problems.rows(wrong, f"a {column} is {'below' if column == 'share' else 'not above'} zero", column)
    if not again.any() and columns.rows < many * len(counts):
        problems.at("a cell is missing: each count must have all cells")
    problems.stop()
    grids: dict[str, Floats] = {name: np.empty((len(counts), many)) for name in (*whole, *floats)}
    sorts: list[str] = []
    if "group" in columns.words:
        grids["group"] = np.empty((len(counts), many))
        columns.numbers["group"] = columns.words["group"].codes
        sorts = columns.words["group"].values.to_pylist()
    for name, grid in grids.items():
        grid.ravel()[positions] = columns.numbers[name]
    by_cell = "the counts of a cell"
    for name, axis, text in (
        ("variance", 1, "the cells of one count"),
        ("prior", 0, by_cell),
        ("group", 0, by_cell),
    ):
        if name in grids and np.ptp(grids[name], axis=axis).any():
            problems.at(f"the {name} differs between {text}", field=name)
    problems.stop()
    return categories(
        variance=grids["variance"][:, 0] if variance is None else [variance] * len(counts),
        prior=grids["prior"][0] if "prior" in grids else None,
        noisy=grids["noisy"],
        known=grids.get("known"),
        totals=totals,
        shares=grids.get("share"),
        asked=[sorts[int(code)] for code in grids["group"][0]] if sorts else (),
        draws=draws,
        seed=seed,
        names=cells.values.to_pylist(),
        counts=counts,
    )


def _length(law: EvidenceLaw) -> int:
    return law.values.size


def _attacks(v: Floats, unsure: int | None, chance: Number | None) -> list[Attack]:
    """Return the attack on a cell's count for each count; a known count only shifts what is published."""
    if (unsure is None) != (chance is None):
        raise InputError("unsure and chance belong together: how many others, and how likely each is there")
    if unsure is None or chance is None:
        return [Attack(variance=float(variance)) for variance in v]
    if v.size > 1:
        raise InputError(
            "unsure others are the same people in the counts of several levels, which are then no longer "
            "independent; give one count of each cell"
        )
    return [Attack(variance=float(v[0]), others=independent_others(chance, people=unsure))]


def _evidence(attacks: Sequence[Attack], off: Floats, groups: Sequence[Labels | None]) -> Floats:
    """The evidence of each cell: the sum over counts, each taken at the cell's group."""
    parts = []
    for attack, row, group in zip(attacks, off, groups, strict=True):
        own = attack.evidence(row)
        parts.append(own if group is None else own[group])
    return np.asarray(np.sum(parts, axis=0))


def _beliefs(
    priors: Floats, evidence: Floats, names: Sequence[str], *, alone: bool
) -> tuple[CategoryBelief, ...]:
    logs = np.log(priors) + evidence
    posterior = np.exp(logs - log_sum(logs))
    ratio = np.exp(evidence - log_sum(logs))
    columns = [column.tolist() for column in (priors, evidence, posterior, ratio)]
    if alone:
        columns.append(Prior(priors, 1.0 - priors).posterior(evidence).tolist())
    return tuple(CategoryBelief(*row) for row in zip(names, *columns, strict=True))


def _group_beliefs(
    beliefs: tuple[CategoryBelief, ...], labels: Labels, sorts: Sequence[str]
) -> tuple[CategoryBelief, ...]:
    """What is believed of groups: the sums over their cells, and the log of the ratio."""
    if not beliefs:
        return ()
    columns = (
        np.array([belief.prior for belief in beliefs]),
        np.array([belief.posterior for belief in beliefs]),
    )
    prior, posterior = (np.bincount(labels, column, len(sorts)) for column in columns)
    with np.errstate(divide="ignore"):
        evidence = np.log(posterior) - np.log(prior)
    rows = zip(
        sorts, *(column.tolist() for column in (prior, evidence, posterior, posterior / prior)), strict=True
    )
    return tuple(CategoryBelief(*row) for row in rows)


def _guess(
    attacks: Sequence[Attack],
    places: Sequence[Labels | None],
    chances: Floats,
    labels: Labels | None,
    names: tuple[str, ...],
    *,
    is_needed: bool,
) -> CategoryGuess | None:
    """How often the largest posterior is right; None where that is not known and not the only question."""
    laws = [EvidenceLaw.of_attack(attack) for attack in attacks]
    own = [law for law, grouping in zip(laws, places, strict=True) if grouping is None]
    coarse = [
        CoarseCount(grouping, law) for law, grouping in zip(laws, places, strict=True) if grouping is not None
    ]
    nothing = EvidenceLaw(np.zeros(1), np.ones(1), np.ones(1))
    law = reduce(EvidenceLaw.plus, sorted(own, key=_length), nothing)
    every = reduce(EvidenceLaw.plus, sorted(laws, key=_length))
    variances = [float(attack.variance) for attack in attacks]
    try:
        return _guessed(law, every, coarse, chances, labels, names, variances)
    except InputError:
        if is_needed:
            raise
        return None


def _guessed(
    law: EvidenceLaw,
    every: EvidenceLaw,
    coarse: Sequence[CoarseCount],
    chances: Floats,
    labels: Labels | None,
    names: tuple[str, ...],
    variances: Sequence[float],
) -> CategoryGuess:
    right, error = chance_right(law, chances, coarse=coarse, asked=labels)
    # in the last digit it may lie below what the likeliest prior alone gives
    right = max(right, float((chances if labels is None else np.bincount(labels, chances)).max()))
    priors, sizes = np.unique(chances, return_counts=True)
    # present is said where the evidence exceeds the log odds against it; at equality a coin is tossed
    with np.errstate(divide="ignore"):  # of a prior that rounds to one
        limit = np.log1p(-priors) - np.log(priors)
    says = (every.chance_beyond(limit) + every.chance_beyond(limit - 2.0 * SAME)) / 2.0
    return CategoryGuess(names, tuple(variances), right, error, float((says * priors) @ sizes))


def _asked(asked: Sequence[object]) -> tuple[list[str], Labels | None]:
    """The groups, in the order in which they first occur, and that of each cell."""
    if isinstance(asked, str):
        raise InputError(f"asked is {asked!r}; a list with the group of each cell is needed")
    names = [str(group) for group in asked]
    sorts = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if not names:
        return [], None
    if len(sorts) < 2:
        raise InputError(f"all cells are in group {names[0]!r}; a category is one of several")
    return list(sorts), np.array([sorts[name] for name in names], dtype=np.int64)


def _by_count(values: Floats, name: str, many: int) -> Floats:
    rows = np.atleast_2d(values)
    if rows.ndim != 2 or rows.shape[0] != many:
        shape = " by ".join(map(str, values.shape)) or "one number"
        raise InputError(f"{name} is {shape}; a row of cells for each of {many} counts is needed")
    return rows


def _weights(prior: Numbers) -> Floats:
    """Chances of the cells, from weights that need not add up to one."""
    exact = [float(weight) for weight in read(prior, name="prior").values]  # type: ignore[arg-type]
    weights = np.array(exact)
    if not weights.size or not np.isfinite(weights).all() or (weights <= 0).any():
        raise InputError("prior must be a list of positive weights, one for each cell")
    return np.asarray(weights / weights.sum())


def _cells(cells: int | None, *given: Floats | Labels | None) -> int:
    """The number of cells, as stated or as the lists have it."""
    sizes = {array.shape[-1] for array in given if array is not None} | (
        {cells} if cells is not None else set()
    )
    if not sizes:
        raise InputError("say how many cells there are, or give a list for them")
    if len(sizes) > 1:
        raise InputError(f"the lists have different numbers of cells: {', '.join(map(str, sorted(sizes)))}")
    many = sizes.pop()
    if isinstance(many, bool) or not isinstance(many, int) or not 2 <= many <= MOST_CELLS:
        raise InputError(f"the number of cells is {shown(many)}; from 2 to {MOST_CELLS:,} are allowed")
    return many


def _groups(groups: Sequence[Sequence[int] | None], many: int, cells: int) -> list[Labels | None]:
    if not groups:
        return [None] * many
    if len(groups) != many:
        raise InputError(f"groups are stated for {len(groups)} counts; there are {many}")
    labels: list[Labels | None] = []
    for grouping in groups:
        if grouping is None:
            labels.append(None)
            continue
        places = np.asarray(grouping, dtype=np.int64)
        if places.shape != (cells,) or (places < 0).any() or (places >= cells).any():
            raise InputError(f"the groups of a count must be {cells} places among its numbers, from 0 on")
        labels.append(places)
    return labels


def _names(names: Sequence[str], many: int) -> Sequence[str]:
    if names and len(names) != many:
        raise InputError(f"{len(names)} names are given for {many} cells")
    return names or [str(number + 1) for number in range(many)]
