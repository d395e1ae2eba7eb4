"""Which category: a person is known to be in an area, and one of K cells is theirs.

The adversary knows everyone else, so the count n_k of each cell without the target, has a prior over the
cells, and sees the noisy counts of *all* cells. If cell k is the target's, its count is n_k + 1 and all
others are as known; so all that the cells say of k is the evidence of its own count, the log ratio of the
likelihoods of "present" and "absent" there, and

    posterior_k  ~  prior_k exp(e_k),      e_k = (y_k - n_k - 1/2) / v  for discrete Gaussian noise.

Counts of the same cells at several levels, with independent noise, add their evidence. A count of a coarser
query speaks for all cells of its group alike. If the adversary is not sure of the others, e_k is the log
ratio of two mixtures; that is exact as long as the others of different cells are independent, which is what
can be stated here. Others of whom only the total is known are not: their counts depend on each other.

How often the largest posterior is right is a sum over the law of the largest evidence
(`discreet.risk.evidence`). With counts of groups of cells, whose evidence is no longer independent, it is not
known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.values import Number, read
from discreet.budget import Attributes, Level, Release
from discreet.budget.variables import COUNT
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.risk.attack import Attack, independent_others
from discreet.risk.evidence import SAME, EvidenceLaw, chance_largest_is_right
from discreet.risk.inputs import Numbers, read_known, read_variance, read_whole
from discreet.risk.odds import Floats, log_sum
from discreet.tables import TableSource, open_table, read_table

MOST_CELLS = 1_000_000
"""Cells among which a category is sought."""

MOST_PRIORS = 4000
"""Different priors for which the chance of being right is summed."""


_COLUMNS = ("cell", "noisy", "known", "prior", "variance", "count")


@dataclass(frozen=True, slots=True)
class CategoryBelief:
    """What is believed of one cell: its prior, what its counts said, and the posterior."""

    cell: str
    prior: float
    evidence: float
    posterior: float
    ratio: float


@dataclass(frozen=True, slots=True)
class CategoryGuess:
    """How often the largest posterior is right, from some counts of each cell.

    `counts` names them, `error` is how far the chance may be off. `one_cell` is the chance that someone who
    looks at the target's cell alone, and says yes where the posterior exceeds one half, says yes (averaged
    over the prior).
    """

    counts: tuple[str, ...]
    variances: tuple[float, ...]
    right: float
    error: float
    one_cell: float


@dataclass(frozen=True, slots=True)
class Categories(Summarised):
    """Which of `cells` cells is the target's: how often that is found out, and what given numbers tell.

    `unaided` is the chance of being right without the release. `unsure` is how many others each cell may have
    beside those known. There are no `guesses` where counts of groups of cells speak.
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

    @property
    def named(self) -> tuple[CategoryBelief, ...]:
        """The cells of the largest posterior: several if they are tied."""
        top = max((one.posterior for one in self.beliefs), default=0.0)
        return tuple(one for one in self.beliefs if one.posterior >= top * (1 - 1e-12))


def categories(
    *,
    cells: int | None = None,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers = None,
    noisy: Numbers = None,
    known: Numbers = None,
    groups: Sequence[Sequence[int] | None] = (),
    unsure: int | None = None,
    chance: Number | None = None,
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

    >>> found = categories(cells=5, variance="5.04")
    >>> round(found.guesses[0].right, 4), found.unaided, round(found.guesses[0].one_cell, 4)
    (0.3172, 0.2, 0.0018)
    >>> seen = categories(variance=5, noisy=[0, 3, 1], known=[0, 0, 0])
    >>> [round(one.posterior, 3) for one in seen.beliefs]
    [0.247, 0.451, 0.302]
    """
    v = np.atleast_1d(read_variance(variance, rho))
    if v.ndim != 1:
        raise InputError("variance must be one number, or a list with one for each count of a cell")
    seen = None if noisy is None else _by_count(read_whole(noisy), "noisy", v.size)
    if seen is None and known is not None:
        raise InputError("known counts without noisy ones tell nothing; give both")
    others = None if known is None else _by_count(read_known(known), "known", v.size)
    weights = None if prior is None else _weights(prior)
    many = _cells(cells, seen, others, weights)
    chances = np.full(many, 1.0 / many) if weights is None else weights
    attacks = _attacks(v, unsure, chance)
    if seen is not None and others is None:
        raise InputError("known is missing: the count of each cell without the target")
    beliefs: tuple[CategoryBelief, ...] = ()
    if seen is not None and others is not None:
        evidence = _evidence(attacks, seen - others, _groups(groups, v.size, many))
        beliefs = _beliefs(chances, evidence, _names(names, many))
    labels = tuple(counts) or tuple(f"count {place + 1}" for place in range(v.size))
    guesses: tuple[CategoryGuess, ...] = ()
    if not any(one is not None for one in groups):
        law = reduce(EvidenceLaw.plus, sorted(map(EvidenceLaw.of_attack, attacks), key=_length))
        guesses = (_guess(law, chances, labels, v),)
    elif seen is None:
        raise InputError(
            "counts of groups of cells make the evidence of different cells depend on each other, so how "
            "often the largest posterior is right is not known here; give noisy and known for the posterior "
            "of each cell"
        )
    even = bool(chances.max() - chances.min() <= 1e-12 * chances.max())
    return Categories(
        many, float(chances.max()), guesses, even, unsure or 0, beliefs, told=tuple(map(float, v))
    )


def release_categories(release: Release, *, query: str | None = None) -> Categories:
    """Return how well a release's most detailed query tells the cell, level by level from the lowest.

    The first guess has the counts of the lowest level alone; each next one those of one level more, for an
    adversary who knows everyone else there too.

    >>> from discreet.budget import load
    >>> found = release_categories(load("pl94-2020-persons"))  # slow
    >>> found.cells, [round(100 * one.right, 3) for one in found.guesses[:2]]
    (2016, [0.14, 0.321])
    """
    if release.attributes is None:
        raise InputError(f"release {release.name!r} states no attributes, so its cells are not known")
    attributes = release.attributes.with_variables((COUNT,))
    lowest = counting_queries(release.levels[-1])
    if query is None:
        query = max(lowest, key=lambda name: attributes.tabulation(name).cells, default="total")
    elif query not in lowest:
        names = ", ".join(map(repr, lowest)) or "none"
        raise InputError(
            f"level {release.levels[-1].name!r} has no query {query!r} that counts records; it has {names}"
        )
    cells = possible_cells(attributes, query)
    if cells < 2:
        raise InputError(f"query {query!r} has one cell; a category is one of several")
    labels: list[str] = []
    sizes: list[float] = []
    guesses: list[CategoryGuess] = []
    law: EvidenceLaw | None = None
    chances = np.full(cells, 1.0 / cells)
    for level in reversed(release.levels):
        rows = [row for row in release.run_table((level.name,)) if row.query == query]
        if not rows:
            continue
        noise = rows[0].single()
        one = EvidenceLaw.of_noise(noise)
        law = one if law is None else law.plus(one)
        labels.append(level.name)
        sizes.append(noise.true_variance())
        guesses.append(_guess(law, chances, tuple(labels), np.array(sizes)))
    return Categories(cells, float(chances[0]), tuple(guesses), release=release.name, query=query, told=())


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
    possible = np.ones(attributes.sizes, dtype=bool)
    for block in attributes.zeros():
        possible[
            np.ix_(*([value for group in groups for value in group] for groups in block.by_attribute))
        ] = False
    for axis, groups in enumerate(attributes.tabulation(query).by_attribute):
        parts = [possible.take(list(group), axis=axis).any(axis=axis) for group in groups]
        possible = np.stack(parts, axis=axis)
    return int(np.count_nonzero(possible))


def table_categories(table: TableSource, *, variance: Number | None = None) -> Categories:
    """Return the posterior of each cell from a table: cell, noisy, known; prior, variance, count if there.

    `known` is the cell's count without the target. A table with several counts of the same cells, such as
    those of several levels, names them in `count`, and each has all cells. `variance` is that of all rows, if
    no column has it; a column holds the parameter of the noise.

    >>> import pyarrow
    >>> cells = {"cell": ["a", "b", "c"], "noisy": [0, 3, 1], "known": [0, 0, 0]}
    >>> found = table_categories(pyarrow.table(cells), variance=5)
    >>> [(one.cell, round(one.posterior, 3)) for one in found.named]
    [('b', 0.451)]
    """
    names = {name.strip().lower() for name in open_table(table, wanted=_COLUMNS).names}
    floats = [name for name in ("prior", "variance") if name in names]
    if ("variance" in floats) == (variance is not None):
        text = "stated twice, by an option and by a column" if variance is not None else "missing"
        raise InputError(f"the variance of the noise is {text}; state it once")
    found = read_table(
        table, words=["cell"], optional=["count"], whole=["noisy", "known"], floats=floats, of="cells"
    )
    problems, cells = found.problems, found.words["cell"]
    many = len(cells.values)
    if "count" in found.words:
        codes, counts = found.words["count"].codes, found.words["count"].values.to_pylist()
    else:
        codes, counts = np.zeros(found.rows, np.int32), ["the count"]
    place = codes.astype(np.int64) * many + cells.codes
    again = np.ones(found.rows, dtype=bool)
    again[np.unique(place, return_index=True)[1]] = False
    problems.rows(again, "a cell occurs twice in one count", "cell")
    problems.rows(found.numbers["known"] < 0, "a count without the target is below zero", "known")
    for column in floats:
        wrong = ~(found.numbers[column] > 0) | ~np.isfinite(found.numbers[column])
        problems.rows(wrong, f"a {column} is not above zero", column)
    if not again.any() and found.rows < many * len(counts):
        problems.at("a cell is missing: each count must have all cells")
    problems.stop()
    grids: dict[str, Floats] = {name: np.empty((len(counts), many)) for name in ("noisy", "known", *floats)}
    for name, grid in grids.items():
        grid.ravel()[place] = found.numbers[name]
    for name, axis, text in (("variance", 1, "the cells of one count"), ("prior", 0, "the counts of a cell")):
        if name in grids and np.ptp(grids[name], axis=axis).any():
            problems.at(f"the {name} differs between {text}", field=name)
    problems.stop()
    return categories(
        variance=grids["variance"][:, 0] if variance is None else [variance] * len(counts),
        prior=grids["prior"][0] if "prior" in grids else None,
        noisy=grids["noisy"],
        known=grids["known"],
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
        return [Attack(variance=float(one)) for one in v]
    if v.size > 1:
        raise InputError(
            "unsure others are the same people in the counts of several levels, which are then no longer "
            "independent; give one count of each cell"
        )
    return [Attack(variance=float(v[0]), others=independent_others(chance, people=unsure))]


def _evidence(attacks: Sequence[Attack], off: Floats, groups: Sequence[NDArray[np.int64] | None]) -> Floats:
    """The evidence of each cell: the sum over counts, each taken at the cell's group."""
    parts = []
    for attack, row, group in zip(attacks, off, groups, strict=True):
        own = attack.evidence(row)
        parts.append(own if group is None else own[group])
    return np.asarray(np.sum(parts, axis=0))


def _beliefs(priors: Floats, evidence: Floats, names: Sequence[str]) -> tuple[CategoryBelief, ...]:
    logs = np.log(priors) + evidence
    posterior = np.exp(logs - log_sum(logs))
    ratio = np.exp(evidence - log_sum(logs))
    columns = (column.tolist() for column in (priors, evidence, posterior, ratio))
    return tuple(CategoryBelief(*row) for row in zip(names, *columns, strict=True))


def _guess(law: EvidenceLaw, chances: Floats, labels: tuple[str, ...], variances: Floats) -> CategoryGuess:
    priors, sizes = np.unique(chances, return_counts=True)
    if priors.size > MOST_PRIORS:
        raise InputError(
            f"the cells have {priors.size} different priors; the chance of being right is summed for at most "
            f"{MOST_PRIORS}: round the priors"
        )
    right, error = chance_largest_is_right(law, priors, sizes.astype(np.float64))
    # present is said where the evidence exceeds the log odds against it; at equality a coin is tossed
    limit = np.log1p(-priors) - np.log(priors)
    says = (law.chance_beyond(limit) + law.chance_beyond(limit - 2.0 * SAME)) / 2.0
    return CategoryGuess(labels, tuple(map(float, variances)), right, error, float((says * priors) @ sizes))


def _by_count(values: Floats, name: str, many: int) -> Floats:
    rows = np.atleast_2d(values)
    if rows.ndim != 2 or rows.shape[0] != many:
        shape = " by ".join(map(str, values.shape)) or "one number"
        raise InputError(f"{name} is {shape}; a row of cells for each of {many} counts is needed")
    return rows


def _weights(prior: Numbers) -> Floats:
    """Chances of the cells, from weights that need not add up to one."""
    exact = [float(one) for one in read(prior, name="prior").values]  # type: ignore[arg-type]
    found = np.array(exact)
    if not found.size or not np.isfinite(found).all() or (found <= 0).any():
        raise InputError("prior must be a list of positive weights, one for each cell")
    return np.asarray(found / found.sum())


def _cells(cells: int | None, *given: Floats | None) -> int:
    """The number of cells, as stated or as the lists have it."""
    found = {one.shape[-1] for one in given if one is not None} | ({cells} if cells is not None else set())
    if not found:
        raise InputError("say how many cells there are, or give a list for them")
    if len(found) > 1:
        raise InputError(f"the lists have different numbers of cells: {', '.join(map(str, sorted(found)))}")
    many = found.pop()
    if isinstance(many, bool) or not isinstance(many, int) or not 2 <= many <= MOST_CELLS:
        raise InputError(f"there are {many} cells; from 2 to {MOST_CELLS} are allowed")
    return many


def _groups(groups: Sequence[Sequence[int] | None], many: int, cells: int) -> list[NDArray[np.int64] | None]:
    if not groups:
        return [None] * many
    if len(groups) != many:
        raise InputError(f"groups are stated for {len(groups)} counts; there are {many}")
    found: list[NDArray[np.int64] | None] = []
    for one in groups:
        if one is None:
            found.append(None)
            continue
        places = np.asarray(one, dtype=np.int64)
        if places.shape != (cells,) or (places < 0).any() or (places >= cells).any():
            raise InputError(f"the groups of a count must be {cells} places among its numbers, from 0 on")
        found.append(places)
    return found


def _names(names: Sequence[str], many: int) -> Sequence[str]:
    if names and len(names) != many:
        raise InputError(f"{len(names)} names are given for {many} cells")
    return names or [str(place + 1) for place in range(many)]
