"""What the Risk page shows: what one adversary learns from a count, and what no adversary can beat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.budget import Neighbours, Release
from discreet.errors import InputError
from discreet.workbench.results import Line
from discreet.workbench.risk_plan import Question

if TYPE_CHECKING:
    from discreet.risk.profile import RiskProfile

_POINTS = 160
_PRIORS = tuple(Fraction(place, 100) for place in (1, 2, 5, *range(10, 91, 5), 95, 98, 99))


@dataclass(frozen=True, slots=True)
class Attacked:
    """What an adversary believes and decides; None where the scenario has no such number.

    `right` has how often the decision is right if the target is there, if not, and over the prior; `accuracy`
    that over the prior against priors.
    """

    posterior: float
    ratio: float
    mean_present: float | None
    mean_absent: float | None
    right: tuple[float, float, float] | None
    baseline: float
    curve: Line
    accuracy: Line
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MainPath:
    """The profile on the main path, and `line`, the best accuracy there against priors."""

    profile: RiskProfile
    line: Line


def risk_numbers(asked: Question) -> Attacked:
    """Return what the adversary of a question learns.

    >>> from discreet.workbench.risk_plan import Count
    >>> one = Question("one", "1/2", (Count("Block", "total", Fraction(5)),), 0, 1)
    >>> found = risk_numbers(one)
    >>> round(found.posterior, 4), round(found.ratio, 4), round(found.right[2], 4)
    (0.525, 1.05, 0.5892)
    """
    from discreet.workbench.risk_words import sentences

    prior = Fraction(asked.prior)
    found = _attacked(asked, float(max(prior, 1 - prior)))
    return replace(found, said=tuple(sentences(asked, found)))


def _attacked(asked: Question, baseline: float) -> Attacked:
    if asked.scenario == "several" and len(asked.counts) > 1:
        return _several(asked, baseline)
    if asked.scenario == "hierarchy":
        return _hierarchy(asked, baseline)
    attack = _attack(asked)
    seen = _values(asked)
    right = [attack.accuracy(prior=asked.prior, given=truth) for truth in ("present", "absent", "prior")]
    accuracies = attack.accuracy(prior=[float(one) for one in _PRIORS], given="prior")
    return Attacked(
        posterior=attack.posterior(asked.published, prior=asked.prior),
        ratio=attack.ratio(asked.published, prior=asked.prior),
        mean_present=attack.expected_posterior(prior=asked.prior),
        mean_absent=attack.expected_posterior(prior=asked.prior, given="absent"),
        right=(right[0], right[1], right[2]),
        baseline=baseline,
        curve=_points(seen, attack.posterior(seen, prior=asked.prior)),
        accuracy=_points(_PRIORS, accuracies),
    )


def _attack(asked: Question) -> Any:
    from discreet.risk import Attack, independent_others

    others: Any = (1.0,)
    if asked.scenario == "unsure":
        others = independent_others(asked.chance, people=asked.people)
    return Attack(
        variance=asked.counts[0].variance,
        known=asked.known,
        others=others,
        nonnegative=asked.scenario == "floor",
    )


def _values(asked: Question) -> list[int]:
    reach = asked.reach
    more = asked.people if asked.scenario == "unsure" else 0
    low, high = asked.known - reach, asked.known + 1 + reach + more
    low, high = min(low, asked.published), max(high, asked.published)
    if asked.scenario == "floor":
        low = max(low, 0)
    step = max(1, (high - low) // _POINTS)
    return sorted({*range(low, high + 1, step), max(asked.published, low)})


def _several(asked: Question, baseline: float) -> Attacked:
    from discreet.risk import joint_accuracy, joint_posterior, joint_ratio

    variances = [count.variance for count in asked.counts]
    shared: dict[str, Any] = {"variance": variances, "prior": asked.prior, "known": asked.known}
    many = len(variances)
    seen = _values(asked)
    right = [
        joint_accuracy(variance=variances, prior=asked.prior, given=truth)
        for truth in ("present", "absent", "prior")
    ]
    priors = [float(one) for one in _PRIORS]
    return Attacked(
        posterior=joint_posterior([asked.published] * many, **shared),
        ratio=joint_ratio([asked.published] * many, **shared),
        mean_present=None,
        mean_absent=None,
        right=(right[0], right[1], right[2]),
        baseline=baseline,
        curve=_points(seen, joint_posterior([[value] * many for value in seen], **shared)),
        accuracy=_points(_PRIORS, joint_accuracy(variance=variances, prior=priors, given="prior")),
    )


def _hierarchy(asked: Question, baseline: float) -> Attacked:
    from discreet.risk import Area, TwoLevels, hierarchy_posterior

    if len(asked.counts) < 2:
        raise InputError(f"{asked.counts[0].level} is the highest level; there is no area above it")
    block, above = asked.counts
    found = hierarchy_posterior(
        [
            Area(
                name=block.level,
                noisy=asked.published,
                variance=block.variance,
                siblings=asked.siblings,
                siblings_noisy=asked.beside,
            ),
            Area(name=above.level, noisy=asked.above, variance=above.variance),
        ],
        prior=asked.prior,
        known=asked.known,
    )
    two = TwoLevels(
        variance=(block.variance, above.variance),
        siblings=asked.siblings,
        prior=asked.prior,
        known=asked.known,
    )
    seen = _values(asked)
    curve = two.probability(seen, [asked.above], [asked.beside])
    return Attacked(
        posterior=found.probability,
        ratio=found.ratio,
        mean_present=None,
        mean_absent=None,
        right=None,
        baseline=baseline,
        curve=_points(seen, curve),
        accuracy=(),
    )


def risk_bounds(release: Release, neighbours: Neighbours, prior: str) -> MainPath:
    """Return the best any adversary can do on the main path."""
    from discreet.accounting.overall import account
    from discreet.risk.profile import best_accuracies, profile_of

    whole = account(release, neighbours=neighbours)
    profile = profile_of(whole, release, [Fraction(prior)], pairs="main")
    return MainPath(profile, _points(_PRIORS, best_accuracies(whole.case(whole.main), _PRIORS)))


def risk_overall(
    release: Release,
    neighbours: Neighbours,
    prior: str,
    jobs: int = 1,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> RiskProfile:
    """Return the best any adversary can do over all pairs of paths.

    >>> from discreet.budget import load
    >>> found = risk_overall(load("dhc-2022-08-25"), "bounded", "1/2")
    >>> round(found.overall[0].accuracy, 6), found.compared
    (0.971965, 1)
    """
    from discreet.risk import risk_profile

    return risk_profile(release, prior=prior, neighbours=neighbours, jobs=jobs, progress=progress)


def _points(x: Any, y: Any) -> Line:
    return tuple((float(a), float(b)) for a, b in zip(x, y, strict=True))
