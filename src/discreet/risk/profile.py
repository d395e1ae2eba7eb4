"""The best any adversary can do with a whole release, from its exact privacy profile.

Let P1 and P0 be the laws of everything published with the target and without (or with another in their
place), and p the prior of the first. The best decision says "there" where p P1 > (1 - p) P0 and is right,
averaged over the prior, with probability

    (1 - p) + p delta(log((1 - p) / p)) = 1 - min over alpha of [(1 - p) alpha + p f(alpha)],

a single point of the profile delta; by the symmetry of the loss p and 1 - p can change places, so only
epsilon >= 0 is needed. At p = 1/2 the excess over one half is half of delta(0), the advantage.
The mean posterior of a target who is there is an integral of delta with positive weights,

    p + integral over epsilon >= 0 of [F''(e^eps) e^eps + F''(e^-eps) e^(-2 eps)] delta(eps),
    F''(r) = 2 p (1 - p)^2 / (p r + 1 - p)^3,

so that the largest delta over all cases bounds the mean posterior of every case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.accounting.arguments import Number, Numbers, read_probabilities
from discreet.accounting.overall import Account, account
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.budget.events import DiscreteGaussian, Event, of_kind
from discreet.budget.events import kind as kind_of
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.errors import DiscreetError, InputError
from discreet.noise import GaussianNoise, LaplaceNoise, Noise
from discreet.risk.hierarchy_priors import Floats

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the posterior of a target who is there: half of such targets have at most the middle one."""

PRIORS = (1e-12, 1 - 1e-12)
_PANELS, _NODES = 16, 8
_FEW_EVENTS = 4
_FEW_VALUES = 1000
_MOST_VALUES = 2_000_000
# the weights of the integral fall as exp(-2 eps): nothing is left so far past log((1 - p) / p)
_BEYOND = 19.0

Pairs = Literal["all", "main"]


@dataclass(frozen=True, slots=True)
class Risk:
    """What the best adversary gets out of one part of a release, at one prior.

    `accuracy` is averaged over the prior; `baseline` is what guessing the likelier value gives without any
    release. `advantage` is the total variation. `expected` and `quantiles` are of the posterior of a target
    who is there (quantiles: at the case that decides the accuracy).
    """

    scope: str
    what: str
    prior: float
    accuracy: float
    advantage: float
    expected: float
    quantiles: tuple[float, ...]
    case: Any = None

    @property
    def baseline(self) -> float:
        """How often the likelier value is right with no release at all."""
        return max(self.prior, 1.0 - self.prior)

    @property
    def ratio(self) -> float:
        """The expected posterior over the prior."""
        return self.expected / self.prior


@dataclass(frozen=True, slots=True)
class RiskProfile:
    """The risk of one count of each level, of each level, and of the whole release, by prior.

    `one_count` is the paper's attack: its adversary knows everyone else in the area and looks at the most
    precise count of the level that holds the target. `compared` says how many cases the overall bound covers
    and `complete` whether these are all of them.
    """

    name: str
    unit: str
    neighbours: Neighbours
    one_count: tuple[Risk, ...]
    levels: tuple[Risk, ...]
    overall: tuple[Risk, ...]
    compared: int
    complete: bool

    @property
    def rows(self) -> tuple[Risk, ...]:
        """All rows, from single counts up to the whole release."""
        return (*self.one_count, *self.levels, *self.overall)

    def at(self, prior: Number) -> RiskProfile:
        """Return the rows of one prior."""
        wanted = float(read_probabilities(prior, name="prior").values[0])
        parts = [
            tuple(row for row in rows if row.prior == wanted)
            for rows in (self.one_count, self.levels, self.overall)
        ]
        if not parts[2]:
            raise InputError(f"the profile was not computed at prior {wanted:g}")
        return RiskProfile(
            self.name, self.unit, self.neighbours, parts[0], parts[1], parts[2], self.compared, self.complete
        )


def best_accuracy(delta: Callable[[list[Fraction]], Floats], priors: Sequence[Fraction]) -> Floats:
    """Return the best prior-averaged accuracy from the profile delta, given as a function of epsilons.

    >>> from discreet.budget import DiscreteGaussian
    >>> one = compose([DiscreteGaussian(variance="10.08")])
    >>> best_accuracy(lambda eps: one.delta(epsilon=eps), [Fraction(1, 2)]).round(4).tolist()
    [0.5628]
    """
    less = [min(p, 1 - p) for p in priors]
    values = delta([Fraction(epsilon_of(p)) for p in priors])
    found = [float(1 - q) + float(q) * value for q, value in zip(less, values, strict=True)]
    return np.minimum(found, 1.0)  # rounding may lift a certainty above one


def epsilon_of(prior: Fraction) -> float:
    """Return |log((1 - p) / p)|, the epsilon at which the profile tells the accuracy.

    >>> epsilon_of(Fraction(1, 2)), round(epsilon_of(Fraction(1, 5)), 6)
    (0.0, 1.386294)
    """
    less = min(prior, 1 - prior)
    return math.log((1 - less) / less) if 2 * less != 1 else 0.0


def risk_profile(
    release: Release | Mapping[str, Number] | Sequence[Number],
    *,
    prior: Numbers = "1/2",
    neighbours: Neighbours | None = None,
    pairs: Pairs = "all",
    jobs: int = 1,
    progress: Progress | None = None,
) -> RiskProfile:
    """Return the best any adversary can do: one count, each level, and everything published, by prior.

    `release` is a release, taken with its true variances, or rhos (a list, or a mapping by level), each one
    count with noise of variance 1/(2 rho). With bounded neighbours the target is replaced by another record,
    and all pairs of paths are compared; `pairs="main"` looks at the main pair alone: quick, but no bound.

    Guarantee. No procedure whatever, applied to what is published, is right more often than `accuracy` when
    averaged over the prior, for neighbours in the stated relation. It is no bound on the posterior at one
    lucky outcome, nor on accuracy given that the target is there.

    >>> profile = risk_profile({"block group": "0.2465", "block": "0.0992"}, prior="1/2")
    >>> [(row.scope, round(row.accuracy, 4)) for row in profile.rows[2:]]
    [('block group', 0.6401), ('block', 0.5888), ('overall', 0.6613)]
    """
    priors = read_probabilities(prior, name="prior").values
    if not priors:
        raise InputError("no prior is given; at least one is needed")
    for one in priors:
        if not PRIORS[0] <= one <= PRIORS[1]:
            raise InputError(f"prior is {float(one):g}; it must lie between 1e-12 and 1 - 1e-12")
    if pairs not in ("all", "main"):
        raise InputError(f"pairs is {pairs!r}; it must be 'all' or 'main'")
    if not isinstance(release, Release):
        from discreet.risk.profile_rhos import profile_of_rhos, read_rhos

        return profile_of_rhos(read_rhos(release), priors)
    whole: Account = account(release, neighbours=neighbours, jobs=jobs)
    if progress is not None:
        whole = whole.with_workers(jobs, progress)
    twice = 2 if whole.neighbours == "bounded" else 1
    single: list[Risk] = []
    levels: list[Risk] = []
    for name, events in _by_level(release).items():
        query, event = min(events, key=lambda pair: _noise(pair[1]))
        single += count_risks(_once(event), priors, scope=name, what=f"one count of {query}")
        every = [one for _, one in events] * twice
        levels += loss_risks(compose(every), priors, scope=name, what="every count of the level")
    complete = pairs == "all" or whole.pairs == 1
    overall = _overall(whole if complete else _main_only(whole), priors)
    return RiskProfile(
        release.name,
        release.unit,
        whole.neighbours,
        tuple(single),
        tuple(levels),
        overall,
        whole.pairs if complete else 1,
        complete,
    )


def loss_risks(loss: PrivacyLoss, priors: Sequence[Fraction], *, scope: str, what: str) -> tuple[Risk, ...]:
    """Return the risks of one composition at each prior."""

    def delta(epsilons: list[Fraction]) -> Floats:
        return np.asarray(loss.delta(epsilon=epsilons))

    accuracy = best_accuracy(delta, priors)
    advantage = float(delta([Fraction(0)])[0])
    expected = _expected_from_knots(loss, priors)
    if expected is None:
        expected = expected_posteriors(delta, priors, reach=reach(loss.events))
    marks = loss_quantiles(loss)
    return tuple(
        Risk(scope, what, float(p), float(a), advantage, float(e), _posteriors(marks, p))
        for p, a, e in zip(priors, accuracy, expected, strict=True)
    )


def reach(events: Iterable[Event]) -> float:
    """Return an epsilon beyond which delta is below 1e-20, from the bound exp(-(eps - rho)^2 / (4 rho)).

    Laplace noise of epsilon has rho = epsilon^2 / 2. So far out a delta is slow to compute and adds nothing.

    >>> round(reach([DiscreteGaussian(variance=50, times=2)]), 3)
    1.959
    """
    rho = 0.0
    for event in events:
        noise = event.variance if isinstance(event, DiscreteGaussian) else event.scale**2
        rho += float(event.times * event.sensitivity**2 / noise) / 2.0
    return rho + 2.0 * math.sqrt(47.0 * rho)


def expected_posteriors(
    delta: Callable[[list[Fraction]], Floats], priors: Sequence[Fraction], *, reach: float = math.inf
) -> Floats:
    """Return the mean posterior of a target who is there, by integrating the profile, up to `reach` at most.

    Gauss's rule on panels. The profile is convex but for kinks as small as the atoms of the loss; for
    compositions of more than a few counts the result holds to about 1e-6.
    """
    top = min(max(epsilon_of(p) for p in priors) + _BEYOND, reach)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    # panels are short near 0, where the weights vary, and grow with epsilon
    ends = top * np.linspace(0.0, 1.0, _PANELS + 1) ** 1.5
    half = np.diff(ends) / 2.0
    eps = (ends[:-1, None] + half[:, None] * (nodes + 1.0)).ravel()
    measure = (half[:, None] * weights).ravel()
    values = delta([Fraction(x) for x in eps])
    found = []
    for prior in priors:
        p, q = float(prior), float(1 - prior)
        rise, fall = np.exp(eps), np.exp(-eps)
        density = 2 * p * q * q * (rise / (p * rise + q) ** 3 + fall**2 / (p * fall + q) ** 3)
        found.append(p + float(np.sum(measure * density * values)))
    return np.array(found)


def _expected_from_knots(loss: PrivacyLoss, priors: Sequence[Fraction]) -> Floats | None:
    """The same by an exact sum over the values of the loss, where these are few."""
    if sum(event.times for event in loss.events) > _FEW_EVENTS:
        return None
    try:
        knots = loss.knots(most=_FEW_VALUES)
    except DiscreetError:
        return None
    null = np.diff(np.concatenate([[0.0], knots.alpha, [1.0]]))
    there = -np.diff(np.concatenate([[1.0], knots.beta, [0.0]]))
    found = []
    for prior in priors:
        p, q = float(prior), float(1 - prior)
        both = p * there + q * null
        share = np.divide(p * there, both, out=np.zeros_like(both), where=both > 0)
        found.append(float(np.sum(there * share)))
    return np.array(found)


def loss_quantiles(loss: PrivacyLoss, chances: Sequence[float] = QUANTILES) -> Floats:
    """Return quantiles of the loss with the target there, to 1e-3 of its standard deviation or better.

    >>> from discreet.budget import DiscreteLaplace
    >>> loss_quantiles(compose([DiscreteLaplace(scale=1)]), [0.5]).round(3).tolist()
    [1.0]
    """
    above = 1.0 - np.array(chances)
    # Cantelli: beyond k standard deviations on one side lies at most 1 / (1 + k^2)
    reach = 1.001 * math.sqrt(loss.variance) * np.sqrt(1.0 / np.minimum(above, 1.0 - above) - 1.0) + 1e-9
    low, high = loss.mean - reach, loss.mean + reach
    for points in (20, 10, 10, 10):  # few rounds of many points: tails asked for together share their work
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, points + 1)[1:-1]
        reached = np.asarray(loss.tail(above=grid.ravel())).reshape(grid.shape) <= above[:, None]
        place = reached.argmax(axis=1)
        place = np.where(reached.any(axis=1), place, points - 1)
        step = (high - low) / points
        low, high = low + step * place, low + step * (place + 1)
    return np.asarray(high)


def _posteriors(losses: Floats, prior: Fraction) -> tuple[float, ...]:
    """The posterior rises with the loss, so its quantiles are those of the loss, turned into chances."""
    odds = np.clip(losses + (math.log(prior) - math.log(1 - prior)), -700.0, 700.0)
    return tuple((1.0 / (1.0 + np.exp(-odds))).tolist())


def count_risks(event: Event, priors: Sequence[Fraction], *, scope: str, what: str) -> tuple[Risk, ...]:
    """Return the risks of one noisy count, by sums over its values.

    >>> row, = count_risks(DiscreteGaussian(variance="10.08"), [Fraction(1, 2)], scope="Block", what="")
    >>> round(row.accuracy, 4), round(row.expected, 4)
    (0.5628, 0.5121)
    """
    noise: Noise = (
        GaussianNoise(event.variance) if isinstance(event, DiscreteGaussian) else LaplaceNoise(event.scale)
    )
    far = -noise.quantile("1e-17") + event.sensitivity
    if far > _MOST_VALUES:
        return loss_risks(compose([event]), priors, scope=scope, what=what)
    values = np.arange(-far, far + 1)
    null, there = noise.pmf(values), noise.pmf(values - event.sensitivity)
    losses = noise.log_pmf(values - event.sensitivity) - noise.log_pmf(values)
    places = np.minimum(np.searchsorted(np.cumsum(there), QUANTILES), len(values) - 1)
    advantage = float(np.maximum(there - null, 0.0).sum())
    rows = []
    for prior in priors:
        p, q = float(prior), float(1 - prior)
        both = p * there + q * null
        mean = float(np.sum(there * np.divide(p * there, both, out=np.zeros_like(both), where=both > 0)))
        accuracy = max(p, q) + float(np.maximum(min(p, q) * there - max(p, q) * null, 0.0).sum())
        rows.append(Risk(scope, what, p, accuracy, advantage, mean, _posteriors(losses[places], prior)))
    return tuple(rows)


def _overall(whole: Account, priors: Sequence[Fraction]) -> tuple[Risk, ...]:
    """All cases together: one pass over them for every epsilon that is needed."""
    worst: dict[float, Any] = {}

    def delta(epsilons: list[Fraction]) -> Floats:
        points = whole.at_epsilon(epsilons)
        worst.update((point.epsilon, point.worst) for point in points)
        return np.array([point.delta for point in points])

    asked = [Fraction(0), *(Fraction(epsilon_of(p)) for p in priors)]
    first: dict[Fraction, float] = {}

    def remembered(epsilons: list[Fraction]) -> Floats:
        # the integral and the accuracies share one pass over the cases
        if not first:
            everything = [*asked, *epsilons]
            first.update(zip(everything, delta(everything).tolist(), strict=True))
        return np.array([first[e] for e in epsilons])

    far = max(reach(events) for _, events in whole.cases)
    expected = expected_posteriors(remembered, priors, reach=far)
    accuracy = best_accuracy(remembered, priors)
    rows, marks = [], {}
    for p, a, e in zip(priors, accuracy, expected, strict=True):
        case = worst[float(Fraction(epsilon_of(p)))]
        if case not in marks:
            marks[case] = loss_quantiles(whole.case(case))
        chances = _posteriors(marks[case], p)
        what = ("overall", "everything published")
        rows.append(Risk(*what, float(p), float(a), first[Fraction(0)], float(e), chances, case))
    return tuple(rows)


def _main_only(whole: Account) -> Account:
    events = dict(whole.cases)[whole.main]
    return Account(whole.name, whole.unit, whole.neighbours, [(whole.main, events)], whole.main, whole.people)


def _by_level(release: Release) -> dict[str, list[tuple[str, Event]]]:
    found: dict[str, list[tuple[str, Event]]] = {}
    for row in release.variance_table():
        found.setdefault(row.level, []).append((row.query, row.event))
    return found


def _noise(event: Event) -> float:
    """The event's noise against what one record changes: the smaller, the more a single count tells."""
    if isinstance(event, DiscreteGaussian):
        return float(event.variance) / event.sensitivity**2
    return 2.0 * float(event.scale) ** 2 / event.sensitivity**2


def _once(event: Event) -> Event:
    return of_kind(kind_of(event), 1)
