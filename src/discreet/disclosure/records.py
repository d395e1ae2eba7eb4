"""The risk of everyone in the data: posteriors and ratios of people, expected over the noise and as drawn.

The study of Kazan and Reiter on one's own people. Every person is the target once. Each adversary knows
everyone else in some area and looks at the noisy count of the target's cell there:

- of a *level*: they know the person's area of that level, and its count;
- *together*: they know the largest area, hence all inside it, and have the counts of all levels, whose
  evidence adds up;
- with the *hierarchy*: as in the paper, they know the lowest area alone, and also see the noisy counts of the
  area above and of the siblings (`discreet.disclosure.two_levels`);
- with all levels *above*: as with the hierarchy, up to the top (`discreet.disclosure.area_paths`);
- after *estimation*: as of a level, with the estimate of a reader who combines all queries, and its variance.

The posterior depends on a person through the prior and the noise alone, not through the count that is known:
so the mean over the noise is computed once for each law of the evidence and each prior. With the hierarchy it
also depends on how many siblings there are and how many others in them share the cell, but not beyond some
standard deviations of the noise. People who share area, cell and prior have the same numbers drawn: they are
one group, with a weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.budget.scope import Scope
from discreet.disclosure.area_paths import SimulatedLaw
from discreet.disclosure.areas import Integers
from discreet.disclosure.counts import OTHER_LEVELS
from discreet.disclosure.evidence import AddedLaw, EvidenceLaw, PresentLaw, evidence_law, evidence_of
from discreet.disclosure.odds import Floats, Prior
from discreet.disclosure.siblings import log_noise
from discreet.disclosure.two_levels import TwoLevels, reach
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.noise import DiscreteGaussian, Noise

if TYPE_CHECKING:
    from discreet.disclosure.record_curves import RiskCurve
    from discreet.disclosure.record_example import DecisionMap, ExamplePerson

RATIOS = (1.5, 2.0, 5.0, 10.0)
"""Ratios of posterior to prior above which people are counted."""

POSTERIORS = (0.1, 0.5, 0.9)
"""Posteriors above which people are counted; from one half on a person would be named."""

EDGES = tuple(float(edge) for edge in np.round(np.geomspace(0.1, 100.0, 61), 4))
"""Ratios at which the histogram has its edges."""

QUANTILES = (0.5, 0.9, 0.99, 0.999)

Kind = Literal["level", "together", "hierarchy", "above", "estimates"]

_OUTSIDE = 1e-10  # of the noises of two levels that is left out of their law
_PER_DEVIATION = 8.0
MOST_OUTCOMES = 1 << 23
"""Entries of a table of the hierarchy's evidence; wider noise is left to other adversaries."""

_FAR = 14.0  # standard deviations beyond which the siblings' count cannot be too low


@dataclass(frozen=True, slots=True, eq=False)
class AdversaryView:
    """What one adversary looks at: for each group of people a law of the evidence, and what was drawn.

    `law` is a place among `laws`, -1 for groups that the adversary cannot look at. `is_unique` says whether
    nobody else in the area shares the cell.
    """

    name: str
    kind: Kind
    laws: Sequence[PresentLaw]
    law: Integers
    is_unique: NDArray[np.bool_]
    drawn: Floats | None = None
    variances: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class GroupRisk:
    """The risk of each group of people: expected over the noise, and for the numbers drawn (nan: none).

    The chances are rows, one for each of `RATIOS` or `POSTERIORS`.
    """

    posterior: Floats
    ratio: Floats
    ratio_above: Floats
    posterior_above: Floats
    drawn_posterior: Floats
    drawn_ratio: Floats
    errors: Floats | None = None
    """Standard errors of the mean posterior and of the chances of a ratio above 2 and of a posterior above
    one half, at most: rows, where the law was drawn."""

    def at(self, some: NDArray[np.bool_] | Integers) -> GroupRisk:
        """Return that of some groups."""
        return GroupRisk(
            self.posterior[some],
            self.ratio[some],
            self.ratio_above[:, some],
            self.posterior_above[:, some],
            self.drawn_posterior[some],
            self.drawn_ratio[some],
            None if self.errors is None else self.errors[:, some],
        )


@dataclass(frozen=True, slots=True)
class Drawn:
    """What the numbers drawn tell about some people: how many are above each mark, and the largest ratio."""

    mean_posterior: float
    mean_ratio: float
    ratio_above: tuple[int, ...]
    posterior_above: tuple[int, ...]
    largest_ratio: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PeopleRisk:
    """The risk of some people for one adversary: expected over the noise, and for the numbers drawn.

    `who` is everyone, or those who are unique. `ratio_above` and `posterior_above` are expected numbers of
    people.
    """

    prior: str
    adversary: str
    kind: Kind
    who: Literal["everyone", "uniques"]
    people: int
    mean_prior: float
    mean_posterior: float
    mean_ratio: float
    ratio_above: tuple[float, ...]
    posterior_above: tuple[float, ...]
    drawn: Drawn | None = None
    errors: tuple[float, float, float] | None = None
    """Standard errors of the mean posterior and of the expected numbers above ratio 2 and above one half, at
    most, where the noise was drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class RatioHistogram:
    """People by ratio for one adversary and prior: between `EDGES`, below the first and above the last."""

    prior: str
    adversary: str
    expected: tuple[float, ...] | None
    drawn: tuple[int, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class AreaRisk:
    """The risk of the people of each area of a level, for the adversary of that level: columns of areas."""

    prior: str
    level: str
    areas: tuple[str, ...]
    people: Integers
    uniques: Integers
    mean_posterior: Floats
    mean_ratio: Floats
    doubled: Floats
    drawn_mean_ratio: Floats | None = None
    drawn_doubled: Integers | None = None
    drawn_largest: Floats | None = None


@dataclass(frozen=True, slots=True)
class SizeRisk:
    """People by the size of their cell in the lowest area: how many, and what is expected and drawn."""

    prior: str
    size: str
    people: int
    mean_posterior: float
    mean_ratio: float
    drawn_doubled: int | None = None


@dataclass(frozen=True, slots=True)
class OffRisk:
    """People by how far the published count is above the one known: the chance of it, and what it tells."""

    prior: str
    off: int
    chance: float
    posterior: float
    ratio: float
    people: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EachPerson:
    """The numbers of every person: their place among the records, and those of the group that they are in."""

    record: Integers
    group: Integers
    area: Integers
    area_names: tuple[str, ...]
    size: Integers
    prior: dict[str, Floats]
    risks: dict[tuple[str, str], GroupRisk]


@dataclass(frozen=True, slots=True)
class RecordsRisk(Summarised):
    """The risk of everyone in some records: shares of people, by adversary, prior, area and size of cell.

    It is made of confidential records, and as confidential as they are. Of the queries of the release all
    adversaries see one, `query`, but those of the estimates: `scope` says so.
    """

    scope: Scope
    release: str
    query: str
    cells: int
    people: int
    uniques: int
    levels: tuple[str, ...]
    priors: tuple[str, ...]
    rows: tuple[PeopleRisk, ...]
    sizes: tuple[SizeRisk, ...]
    offs: tuple[OffRisk, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    """Levels and adversaries that are left out, and why."""
    is_drawn: bool = False
    is_rehearsal: bool = False
    certain: int = 0
    """People whose cell was certain beforehand, by their prior."""
    variances: tuple[float, ...] = ()
    rounded: float = 0.0
    """By how much numbers of areas and others were rounded for the means with all levels above, at most."""
    histograms: tuple[RatioHistogram, ...] = field(default=(), repr=False, compare=False)
    areas: tuple[AreaRisk, ...] = field(default=(), repr=False, compare=False)
    curves: tuple[RiskCurve, ...] = field(default=(), repr=False, compare=False)
    examples: tuple[ExamplePerson, ...] = field(default=(), repr=False, compare=False)
    decisions: tuple[DecisionMap, ...] = field(default=(), repr=False, compare=False)
    each: EachPerson | None = field(default=None, repr=False, compare=False)

    def scope_of(self, kind: Kind) -> Scope:
        """Return of what the rows of a kind of adversary are true.

        The adversary of a level sees that level alone; that of the estimates sees what all queries tell.
        """
        scope = self.scope
        if kind == "estimates":
            scope = replace(scope, parts=tuple(part for part in scope.parts if part.noun != "query"))
        if kind in ("level", "estimates") and len(self.levels) > 1:
            scope = scope.without(OTHER_LEVELS)
        return scope

    def row(self, adversary: str, *, prior: str | None = None, who: str = "everyone") -> PeopleRisk:
        """Return one row by its adversary, prior and people."""
        wanted = self.priors[0] if prior is None else prior
        for row in self.rows:
            if (row.adversary, row.prior, row.who) == (adversary, wanted, who):
                return row
        raise InputError(f"there is no adversary {adversary!r} with prior {wanted!r}")


# -- laws ----------------------------------------------------------------------------------------------------


class TwoLevelLaws:
    """The laws of the evidence with the hierarchy, by the number of siblings and of others in them.

    >>> laws = TwoLevelLaws("5.04", "2.03")
    >>> law = laws.law(27, 0)
    >>> round(float(law.present.sum()), 9)
    1.0
    """

    def __init__(self, block: object, group: object) -> None:
        self.variances = Fraction(str(block)), Fraction(str(group))
        self._two: dict[int, TwoLevels] = {}
        self._tables: dict[int, tuple[Floats, int]] = {}  # of the last number of siblings

    def stride(self, siblings: int) -> int:
        """Return how many neighbouring sums of noise are taken together: an eighth of a deviation."""
        block, group = map(float, self.variances)
        return max(1, math.floor(math.sqrt(min(group, siblings * block)) / _PER_DEVIATION))

    def outcomes(self, siblings: int) -> float:
        """Return how large the table of a law would be."""
        block, group = map(float, self.variances)
        far = reach(group, _OUTSIDE) + reach(siblings * block, _OUTSIDE)
        return (2.0 * far / self.stride(siblings)) ** 2 if siblings else 0.0

    def far(self, siblings: int) -> int:
        """Return from how many others in the siblings on the law is the same."""
        block, group = map(float, self.variances)
        narrow = 1.0 / (1.0 / group + 1.0 / (siblings * block))
        return math.ceil(_FAR * math.sqrt(narrow)) + 1

    def _levels(self, siblings: int) -> TwoLevels:
        if siblings not in self._two:
            self._two[siblings] = TwoLevels(variance=self.variances, siblings=siblings, prior="1/2")
        return self._two[siblings]

    def law(self, siblings: int, rest: int) -> PresentLaw:
        """Return the law of all evidence if the target is present, with `rest` others in the siblings."""
        if siblings == 0:
            return evidence_law([DiscreteGaussian(variance=variance) for variance in self.variances])
        block, group = map(float, self.variances)
        z, y = (self._places(variance, siblings) for variance in (group, siblings * block))
        step, (table, first) = self.stride(siblings), self._table(siblings)
        down = (z[:, None] - y - (z[0] - y[-1])) // step
        low, more = divmod(rest, step)
        values = table[down, low + (y - first) // step].ravel()
        # in steps, both noises are taken where their sums with the rest are places of the table
        logs = log_noise(group, z - more), self._levels(siblings).siblings.log_pmf(y - more)
        chances = np.exp(np.add.outer(*logs)).ravel()
        order = np.argsort(values, kind="stable")
        own = EvidenceLaw.of_noise(DiscreteGaussian(variance=self.variances[0]))
        inside = own.present > _OUTSIDE / 100
        own_law = PresentLaw(own.values[inside], own.present[inside] / own.present[inside].sum())
        return AddedLaw(values[order], chances[order] / chances.sum(), own_law)

    def _places(self, variance: float, siblings: int) -> Integers:
        """Return values of a noise, all but its tails, zero among them."""
        step = self.stride(siblings)
        last = reach(variance, _OUTSIDE) // step + 1
        return step * np.arange(-last, last + 1)

    def _table(self, siblings: int) -> tuple[Floats, int]:
        """Return what group and siblings add, by the difference of their noises and by the siblings' sum.

        With u the group's noisy count less the count known in the block, y that of the siblings, and r the
        others in them, the likelihood is A(u, y) = sum over r >= 0 of g(u - r) h(y - r). For one difference
        u - y = c that is a running sum: of g(s + c) h(s) over s up to y. What is added to the log odds is
        log A(u - 1, y) - log A(u, y). Also returned is the first y. Noise of a standard
        deviation of 16 or more is taken in steps of an eighth of it: by the Euler-Maclaurin formula a sum
        over every so many numbers differs from that over all by a factor, which cancels, and by the last term
        and its slope.
        """
        if siblings not in self._tables:
            block, group = map(float, self.variances)
            step = self.stride(siblings)
            z, y = (self._places(variance, siblings) for variance in (group, siblings * block))
            c = 1 + np.arange(z[0] - y[-1], z[-1] - y[0] + 1, step)
            extra = math.ceil(10.0 * math.sqrt(min(group, siblings * block)) / step)
            s = np.arange(y[0] - extra * step, y[-1] + self.far(siblings) + 2 * step, step)
            law = self._levels(siblings).siblings.log_pmf(s)

            def log_sums(difference: Integers) -> Floats:
                logs = log_noise(group, s + difference[:, None]) + law
                top = logs.max(axis=1, keepdims=True)
                with np.errstate(divide="ignore", under="ignore", invalid="ignore"):
                    terms = np.exp(logs - top)
                    sums = np.cumsum(terms, axis=1)
                    if step > 1:
                        slope = -(s + difference[:, None]) / group - s / (siblings * block)
                        sums -= terms * ((step - 1) / 2 + (step**2 - 1) / 12 * slope) / step
                    return np.asarray((np.log(sums) + top)[:, extra:])

            with np.errstate(invalid="ignore"):
                added = log_sums(c - 1) - log_sums(c)
            table = np.nan_to_num(added, nan=0.0, posinf=0.0, neginf=0.0), int(y[0])
            self._tables = {siblings: table}
        return self._tables[siblings]

    def evidence(self, block: Floats, group: Floats, others: Floats, siblings: Integers) -> Floats:
        """Return the evidence of noisy counts, those of block and group less the count known in the block."""
        variances = [float(variance) for variance in self.variances]
        evidence = (block - 0.5) / variances[0]
        for many in np.unique(siblings):
            mine = siblings == many
            if many == 0:
                evidence[mine] += (group[mine] - 0.5) / variances[1]
                continue
            evidence[mine] += self._above(int(many), group[mine], others[mine])
        return evidence

    def _above(self, siblings: int, group: Floats, others: Floats) -> Floats:
        """What group and siblings add; far above zero it depends on their difference alone."""
        block_variance, group_variance = map(float, self.variances)
        weights = 1.0 / group_variance, 1.0 / (siblings * block_variance)
        centre = (group * weights[0] + others * weights[1]) / sum(weights)
        down = np.maximum(np.floor(centre) - self.far(siblings), 0.0)
        pairs = np.stack([group - down, others - down], axis=1).astype(np.int64)
        distinct, of = np.unique(pairs, axis=0, return_inverse=True)
        order = np.argsort(
            distinct.max(axis=1), kind="stable"
        )  # alike ones together: sums end at the largest
        evidence, start = np.empty(len(distinct)), 0
        two = self._levels(siblings)
        while start < len(distinct):
            width = max(int(distinct[order[start]].max()), 0) + 200
            stop = min(start + max(1, (1 << 21) // width), len(distinct))
            some = order[start:stop]
            evidence[some] = two.evidence_from_above(distinct[some, 0], distinct[some, 1])
            start = stop
        return np.asarray(evidence[of.ravel()])


def level_sight(
    name: str, noise: Noise, count: Integers, noisy: Floats | None, asked: NDArray[np.bool_]
) -> AdversaryView:
    """Return what the adversary of a level looks at: the count of the cell, known but for the target.

    >>> noise = DiscreteGaussian(variance=5)
    >>> sight = level_sight("Block", noise, np.array([1, 4]), np.array([3.0, 2.0]), np.array([True, True]))
    >>> sight.drawn.tolist(), sight.is_unique.tolist()
    ([0.5, -0.3], [True, False])
    """
    drawn = None if noisy is None else evidence_of(noise, noisy - (count - 1))
    law = np.where(asked, 0, -1)
    size = (noise.true_variance(),)
    return AdversaryView(name, "level", [EvidenceLaw.of_noise(noise)], law, (count == 1) & asked, drawn, size)


def group_risk(sight: AdversaryView, prior: Prior) -> GroupRisk:
    """Return the risk of each group of people: means and chances over the noise, and what was drawn.

    >>> noise = DiscreteGaussian(variance="5.04")
    >>> sight = level_sight("Block", noise, np.array([1]), None, np.array([True]))
    >>> risk = group_risk(sight, Prior(np.array([0.1]), np.array([0.9])))
    >>> risk.ratio.round(3).tolist(), risk.ratio_above[1].round(4).tolist()   # above 2
    ([1.168], [0.058])
    """
    many = prior.present.size
    posterior, above = np.full(many, np.nan), np.full((len(RATIOS) + len(POSTERIORS), many), np.nan)
    errors = np.zeros((3, many)) if sight.kind == "above" else None
    for mine, law in _by_law(sight):
        p, of = np.unique(prior.present[mine], return_inverse=True)
        first = np.empty(p.size, dtype=np.int64)
        first[of[::-1]] = mine[::-1]
        priors = Prior(prior.present[first], prior.absent[first])
        posterior[mine] = law.expected_posterior(priors)[of]
        marks = [evidence_for_ratio(priors, mark) for mark in RATIOS]
        marks += [evidence_for_posterior(priors, mark) for mark in POSTERIORS]
        above[:, mine] = law.chance_beyond(np.array(marks))[:, of]
        if errors is not None and isinstance(law, SimulatedLaw):
            often = above[[RATIOS.index(2.0), len(RATIOS) + POSTERIORS.index(0.5)]][:, mine]
            errors[0, mine] = law.standard_error(priors)[of]
            errors[1:, mine] = np.sqrt(np.maximum(often * (1.0 - often), 0.0) / law.values.size)
    none = np.full(many, np.nan)
    seen = none if sight.drawn is None else np.where(sight.law >= 0, prior.posterior(sight.drawn), np.nan)
    ratio = none if sight.drawn is None else np.where(sight.law >= 0, prior.ratio(sight.drawn), np.nan)
    chances = above[: len(RATIOS)], above[len(RATIOS) :]
    return GroupRisk(posterior, posterior / prior.present, *chances, seen, ratio, errors)


def _by_law(sight: AdversaryView) -> Iterator[tuple[Integers, PresentLaw]]:
    """Yield the groups of each law, and the law."""
    order = np.argsort(sight.law, kind="stable")
    order = order[np.searchsorted(sight.law[order], 0) :]
    for mine in np.split(order, np.flatnonzero(np.diff(sight.law[order])) + 1):
        if mine.size:
            yield mine, sight.laws[int(sight.law[mine[0]])]


def is_above(values: Floats, mark: float) -> NDArray[np.bool_]:
    """Return which values exceed a mark by more than rounding.

    >>> is_above(np.array([0.1, 0.1 + 1e-16, 0.11]), 0.1).tolist()
    [False, False, True]
    """
    return np.asarray(values > mark * (1.0 + 1e-12))


def evidence_for_ratio(prior: Prior, ratio: float | Floats) -> Floats:
    """Return the evidence beyond which the posterior exceeds `ratio` times the prior; inf if it never does.

    >>> evidence_for_ratio(Prior(np.array([0.1, 0.5]), np.array([0.9, 0.5])), 2.0).round(4).tolist()
    [0.8109, inf]
    """
    room = 1.0 - ratio * prior.present
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(room > 0, np.log(ratio * prior.absent) - np.log(np.maximum(room, 1e-300)), np.inf)


def evidence_for_posterior(prior: Prior, posterior: float) -> Floats:
    """Return the evidence beyond which the posterior exceeds this one.

    >>> evidence_for_posterior(Prior(np.array([0.1, 0.5]), np.array([0.9, 0.5])), 0.5).round(4).tolist()
    [2.1972, 0.0]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(math.log(posterior) - math.log1p(-posterior) - prior.log_odds)


# -- sums over people ----------------------------------------------------------------------------------------


def people_rows(
    label: str, sight: AdversaryView, prior: Prior, risk: GroupRisk, people: Integers
) -> tuple[PeopleRisk, ...]:
    """Return the risk of everyone and of the uniques for one adversary, groups weighted by their people."""
    rows = []
    seen = sight.law >= 0
    whos: tuple[tuple[Literal["everyone", "uniques"], NDArray[np.bool_]], ...] = (
        ("everyone", seen),
        ("uniques", seen & sight.is_unique),
    )
    for who, some in whos:
        weights, mine = people[some], risk.at(some)
        total = int(weights.sum())
        if not total:
            continue
        drawn = None if sight.drawn is None else _drawn(mine, weights)
        errors = None
        if mine.errors is not None:  # groups of one law share its draws, different laws have their own
            each = [np.bincount(sight.law[some], weights * row) for row in mine.errors]
            size, *numbers = (float(np.sqrt((error**2).sum())) for error in each)
            errors = (size / total, numbers[0], numbers[1])
        rows.append(
            PeopleRisk(
                label,
                sight.name,
                sight.kind,
                who,
                total,
                float(weights @ prior.present[some]) / total,
                float(weights @ mine.posterior) / total,
                float(weights @ mine.ratio) / total,
                tuple(map(float, mine.ratio_above @ weights)),
                tuple(map(float, mine.posterior_above @ weights)),
                drawn,
                errors,
            )
        )
    return tuple(rows)


def _drawn(risk: GroupRisk, weights: Integers) -> Drawn:
    order = np.argsort(risk.drawn_ratio, kind="stable")
    sums = np.cumsum(weights[order])
    places = np.searchsorted(sums, np.asarray(QUANTILES) * sums[-1] * (1 - 1e-15))
    marks = risk.drawn_ratio[order][np.minimum(places, order.size - 1)]
    return Drawn(
        float(weights @ risk.drawn_posterior) / int(sums[-1]),
        float(weights @ risk.drawn_ratio) / int(sums[-1]),
        tuple(int(weights[is_above(risk.drawn_ratio, mark)].sum()) for mark in RATIOS),
        tuple(int(weights[is_above(risk.drawn_posterior, mark)].sum()) for mark in POSTERIORS),
        float(risk.drawn_ratio.max()),
        tuple(map(float, marks)),
    )


def ratio_histogram(
    label: str, sight: AdversaryView, prior: Prior, risk: GroupRisk, people: Integers
) -> RatioHistogram:
    """Return how many people have a ratio between any two edges: expected over the noise, and drawn."""
    seen = sight.law >= 0
    drawn = None
    if sight.drawn is not None:
        bins = np.searchsorted(EDGES, risk.drawn_ratio[seen])
        drawn = tuple(int(x) for x in np.bincount(bins, people[seen], len(EDGES) + 1))
    above = np.zeros(len(EDGES))
    for mine, law in _by_law(sight):
        p, of = np.unique(prior.present[mine], return_inverse=True)
        weights = np.bincount(of, people[mine])
        absent = np.empty(p.size)
        absent[of] = prior.absent[mine]
        limits = evidence_for_ratio(Prior(p, absent), np.array(EDGES)[:, None])
        above += law.chance_beyond(limits) @ weights
    expected = np.concatenate([[int(people[seen].sum())], above]) - np.append(above, 0.0)
    return RatioHistogram(label, sight.name, tuple(map(float, expected)), drawn)


SIZES = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, None))
"""Sizes of cells, by which people are told apart."""


def size_rows(label: str, sizes: Integers, risk: GroupRisk, people: Integers) -> tuple[SizeRisk, ...]:
    """Return people by the size of their cell."""
    rows = []
    for low, high in SIZES:
        some = (sizes >= low) & ((sizes <= high) if high is not None else True)
        total = int(people[some].sum())
        if not total:
            continue
        name = str(low) if low == high else f"{low} to {high}" if high is not None else f"{low} and more"
        above = people[some & is_above(risk.drawn_ratio, 2.0)].sum()
        is_drawn = not np.isnan(risk.drawn_ratio[some]).any()
        posterior, ratio = (
            float(people[some] @ values[some]) / total for values in (risk.posterior, risk.ratio)
        )
        rows.append(SizeRisk(label, name, total, posterior, ratio, int(above) if is_drawn else None))
    return tuple(rows)


def off_rows(
    label: str, noise: Noise, prior: Prior, off: Floats | None, people: Integers
) -> tuple[OffRisk, ...]:
    """Return what each published value tells, by how far it is above the count known without the target.

    For one prior alone, since the posterior depends on it. Values of which fewer than one in 10,000 occurs
    are left out.

    >>> even = Prior(np.array([0.5]), np.array([0.5]))
    >>> rows = off_rows("1/2", DiscreteGaussian(variance="5.04"), even, None, np.array([10]))
    >>> [(row.off, round(row.chance, 3), round(row.posterior, 3)) for row in rows if row.off in (1, 5)]
    [(1, 0.178, 0.525), (5, 0.036, 0.709)]
    """
    if np.ptp(prior.present) > 0:
        return ()
    single = noise.single()
    reach = math.ceil(single.reach(math.log(1e4)))
    single_prior = Prior(prior.present[:1], prior.absent[:1])
    rows = []
    for value in range(1 - reach, 2 + reach):
        evidence = evidence_of(single, np.array([float(value)]))
        many = None if off is None else int(people[off == value].sum())
        beliefs = float(single_prior.posterior(evidence)[0]), float(single_prior.ratio(evidence)[0])
        rows.append(OffRisk(label, value, float(single.pmf(value - 1)), *beliefs, many))
    return tuple(rows)
