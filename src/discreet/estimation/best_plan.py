"""The plan that is best for the accuracy of the estimates, at a given cost or as cheap as can be.

Variances of estimates are convex in the precisions 1/s of the measurements (inverses of matrices that are
linear in them), and rho is linear in them. So the least rho with which every wanted variance is at or below
its bound is a convex program. Twice the precisions give half the variances: the same program, scaled, also
has the smallest largest ratio of variances to bounds at a given cost, and with one bound on a weighted sum of
variances the smallest such sum.

On a uniform tree information goes up as L = J + L_child / n and down as the parallel sum of what a parent
knows without its children and of L_child / (n - 1). Derivatives come back the same way, for each wanted
variance once whatever the number of budgets, so gradients are exact. All that is ever added, inverted or
traced are Gram matrices of queries, so a component falls into spaces that each of them keeps (`_blocks`), and
numbers that are the same count once: the DHC has 32 of them, and 15 matrices of up to 140 rows.

*The search.* A variance is the least sum of c_i / x_i over unbiased estimators, so with the c of the best one
at x it bounds the variance at any other budgets from above. Minimising that bound multiplies each x_i by the
root of its gain, the weighted sum of slopes (Yu 2010, for A-optimal designs); goals that are missed gain
weight. This gets near the optimum from anywhere; sequential quadratic programming finishes.

*Short budgets.* The exact account is quick if many different losses add up, or if all are multiples of one
step that is not too small. So budgets are whole numbers of one unit, as small as the account can take. Where
levels merge, the queries of a level share the budget of the whole run; for releases of few queries the shares
of levels, and of the queries within each, are then whole numbers by themselves, so that paths have one step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.accounting.account import account
from discreet.accounting.calibration import prove
from discreet.accounting.zcdp import zcdp_rho
from discreet.areas.tree import Floats, Tree, uniform_tree
from discreet.budget import Release, Spine, cases
from discreet.budget.events import release_of
from discreet.budget.level_names import find_level
from discreet.budget.neighbours import main_case, one_case, records_apart
from discreet.budget.toml import hint
from discreet.errors import InputError, PrecisionError
from discreet.estimation.expected_accuracy import Accuracy, accuracy, by_level
from discreet.estimation.goals import Goal, moderate
from discreet.estimation.intervals import View
from discreet.estimation.linear_algebra import one_algebra_thread
from discreet.estimation.model import KnownOfUnits, Model, known_by_level
from discreet.estimation.questions import Planning
from discreet.estimation.solution import SMALL, Evidence, solve
from discreet.faces import Summarised
from discreet.loss.lattice import loss_steps
from discreet.loss.law import loss_of
from discreet.noise import Noise
from discreet.noise.capabilities import require
from discreet.numbers import Exact, Interval, brief, by_name, positive, share
from discreet.promises.best_law import (
    GAUSSIAN,
    exponent_named,
    gaussian_like,
    law_name,
    tenths,
    with_laws,
)
from discreet.promises.calibrating import calibrate
from discreet.promises.limits import (
    KeptLimit,
    RiskLimit,
    largest_part,
    limited_account,
    proved_limits,
    read_limits,
    told_of_all,
)
from discreet.questions import asked_with

_PIECES = [scale * ten for ten in (10**7, 10**6, 10**5, 10**4, 10**3) for scale in (10, 5, 2)] + [1000]
"""Units that the total is divided into: as many as the exact account can take."""

LINE, MOST_WORK = 1e11, 4e5
"""Steps of a loss beyond which its lattice does not count; terms at nodes of a contour that take seconds."""

_NEGLIGIBLE = 1e-5
"""A query whose share of the cost is below this is not needed by the optimum."""

_CLOSE = 1e-6
"""How close to its bound the result comes, relatively, and which part of all budgets stays as they are while
variances are compared: what nobody measures would drown the others in rounding."""

_SURE = 1e6
"""What is known of cells that cannot be, relative to all that is measured."""

_STEPS = 40
"""Steps of the search before it is finished off."""

_LEAST_VARIANCE = 0.05
"""Noise of a smaller parameter has next to no variance, and variances are no longer convex in budgets."""

_BINDING = 1e-4
"""A goal binds if it is met with less than this to spare."""


@dataclass(frozen=True, slots=True)
class Plan(Summarised):
    """The best plan: its release, what it costs, its proof, which goals bind, and accuracy before and after.

    Guarantee. If there is a proof, `proof.upper <= delta`: the release is (epsilon, delta)-differentially
    private, for every case of its neighbours. Accuracy is that of least-squares estimates on the uniform tree
    that was named.
    """

    release: Release
    rho: Fraction
    rho_before: Fraction
    epsilon: Fraction
    delta: Fraction
    proof: Interval | None
    possible: bool
    ratio: float
    """The largest variance among the goals, relative to its bound; above 1 not all goals can be had."""
    goals: tuple[Goal, ...]
    binding: tuple[tuple[str, str], ...]
    dropped: tuple[tuple[str, str], ...]
    budgets: tuple[tuple[str, str, Fraction, Fraction], ...]
    """Level, query, rho before and after; 0 after: dropped."""
    before: Accuracy
    after: Accuracy
    limits: tuple[KeptLimit, ...] = ()
    """Limits on risk that the plan keeps; those that are proved say by what."""
    law: str = ""
    """The laws of the noise, if one was asked for."""


@asked_with(Planning)
@one_algebra_thread()
def plan(asked: Planning) -> Plan:
    """Return the plan that is best for the accuracy of the estimates.

    `keep` names levels, or LEVEL:QUERY, whose estimates must be at least as accurate as now; `goals` state
    standard deviations. Without `epsilon` the result is the plan of least cost that meets all of them; with
    it, the one whose largest ratio of variance to bound is smallest at that exact (epsilon, delta). `risk`
    are limits on what an adversary gains from all that is published (`discreet.promises.limits`): with
    them, instead of an epsilon or beside it, the plan is the best whose exact risk keeps all of them.
    With a `law` (as in `calibrate`) the noise is of that law, or of the best one: the ratios of variances are
    those that are best for Gaussian noise, and their size is what the law needs.
    `weights` by LEVEL or LEVEL:QUERY go with an epsilon or limits: the weighted sum of variances, each
    relative to what it is now, becomes smallest. `certify=False` leaves the proofs in ball arithmetic out.

    >>> found = plan("pl94-2020-units", keep=["Tract"])
    >>> found.binding, [row[0] for row in found.dropped]
    ((('Tract', 'detailed'),), ['US', 'State', 'County', 'Block_Group', 'Block'])
    """
    release, weights = release_of(asked.release), by_name(asked.weights, name="weights")
    small = share(asked.delta, name="delta")
    cap = None if asked.epsilon is None else positive(asked.epsilon, name="epsilon")
    if weights and (asked.keep or asked.goals):
        raise InputError("give weights or goals, not both")
    limits = read_limits(asked.risk) if asked.risk else []
    if weights and cap is None and not limits:
        raise InputError("weights divide a given cost, so they need an epsilon or limits on risk")
    if not (weights or asked.keep or asked.goals):
        raise InputError("there is nothing to plan for: give levels to keep, goals or weights")
    law = None if asked.law is None else exponent_named(asked.law)
    if law not in (None, GAUSSIAN) and limits:
        raise InputError(
            "limits on risk are planned for with discrete Gaussian noise: leave the law out, or give an "
            "epsilon"
        )
    if law == "each" and cap is None:
        raise InputError("law='each' goes with an epsilon; the plan of least cost has one law for all levels")
    if law is not None:
        require("scaling", (event for level in release.levels for event in level.events(release.neighbours)))
    planned = release if law is None else gaussian_like(release)
    chain = UniformPlan(planned, uniform_tree(release, asked.tree))
    before = accuracy(release, tree=chain.children)
    wanted = _goals(chain, before, asked.keep, asked.goals)
    if weights:
        targets, rows, bounds = _weighted(chain, before, weights)
    else:
        targets = [(chain.names.index(goal.level), goal.query) for goal in wanted]
        rows, bounds = np.eye(len(wanted)), np.array([chain.bound(goal) for goal in wanted])
    best = chain.cheapest(targets, rows, bounds)
    is_gaussian = law in (None, GAUSSIAN)
    ceiling = _Ceiling(planned, small, cap, limits, asked.certify and is_gaussian)
    result, spent, proof, kept = _costed(chain, best, wanted, ceiling)
    if law is not None and not is_gaussian:
        result, spent, proof = _with_law(result, asked, law, cap, small)
    ratio, binding = _closeness(wanted, chain.misses(result, wanted))
    old, new = _rhos(release), _rhos(result)
    both = tuple((*key, size, new.get(key, Fraction(0))) for key, size in old.items())
    return Plan(
        result,
        sum(new.values(), Fraction(0)),
        sum(old.values(), Fraction(0)),
        spent,
        small,
        proof,
        ratio <= 1.0 + 1e-9,
        ratio,
        tuple(wanted),
        binding,
        tuple((level, query) for level, query, _, size in both if not size),
        both,
        before,
        chain.accuracy(result),
        kept,
        "" if law is None else _laws_of(result),
    )


def _laws_of(release: Release) -> str:
    """Name the laws of a release, each once."""
    events = (event for level in release.levels for event in level.events(release.neighbours))
    exponents = map(_exponent_of, events)
    return ", ".join(dict.fromkeys(map(law_name, exponents)))


def _exponent_of(event: Noise) -> Fraction:
    """The exponent of a law: 2 is that of Gaussian noise, 1 that of Laplace noise."""
    if event.tail_exponent is None:
        raise InputError(
            f"{event} has no exponent; discrete Gaussian, discrete Laplace and power noise have one"
        )
    return event.tail_exponent


def _rhos(release: Release) -> dict[tuple[str, str], Fraction]:
    """Return the rho of each query by level; of other laws than Gaussian that of their zCDP, rounded up."""
    sides = records_apart(release.neighbours)
    return {
        (level.name, query.name): sides * zcdp_rho([event])
        for level in release.levels
        for query, event in zip(level.queries, level.events(release.neighbours), strict=True)
    }


def _with_law(
    release: Release, asked: Planning, law: Fraction | str, cap: Fraction | None, delta: Fraction
) -> tuple[Release, Fraction, Interval | None]:
    """Return the plan with another law, an epsilon that it keeps, and the certified delta there.

    Variances keep their ratios, which are best for Gaussian noise. With an epsilon all of them are as small
    as the law allows; without one they stay, and the best law is the one of least epsilon.
    """
    if cap is not None:
        calibration = calibrate(release, epsilon=cap, delta=delta, law=asked.law, proof=asked.certify)
        return replace(calibration.release, name=release.name, notes=release.notes), cap, calibration.proof
    # scales are rounded up: a little less before, so that goals stay met
    base = gaussian_like(release.scaled(1 - 4 * Fraction(1, 10**6)))
    tried = [law] if isinstance(law, Fraction) else tenths()
    made = [
        with_laws(base, dict.fromkeys((level.name for level in base.levels), candidate))
        for candidate in tried
    ]
    main = main_case(release, release.neighbours)
    rough = [loss_of(one_case(candidate, main), aim=1e-3).epsilons([delta])[0] for candidate in made]
    result = made[int(np.argmin(rough))]
    ceiling = _Ceiling(release, delta, None, (), asked.certify)
    return ceiling.proved([(result, ceiling.epsilons(result))])[:3]


def _closeness(goals: Sequence[Goal], misses: Sequence[float]) -> tuple[float, tuple[tuple[str, str], ...]]:
    """Return the largest ratio of a variance to its bound, and the goals that come as close: they bind."""
    if math.inf in misses:
        raise InputError(
            "the goals differ so much that the loosest would get next to nothing; leave them out"
        )
    ratio = max(misses, default=1.0)
    near = ratio * (1 - _BINDING)
    return ratio, tuple(
        (goal.level, goal.query) for goal, miss in zip(goals, misses, strict=True) if miss > near
    )


def _goals(chain: UniformPlan, before: Accuracy, keep: Sequence[str], goals: Sequence[Goal]) -> list[Goal]:
    wanted_of: dict[tuple[str, str], Goal] = {}
    for level, query in _named(chain, keep, "keep"):
        sd = before.by_query[level, query].sd
        if sd is not None:
            wanted_of[level, query] = Goal(level, query, sd)
    if keep and not wanted_of:
        raise InputError("no query of the levels to keep is determined now, so there is nothing to keep")
    named = [_named(chain, [f"{goal.level}:{goal.query}"], "a goal")[0] for goal in goals]
    for (level, query), goal in zip(named, goals, strict=True):
        if named.count((level, query)) > 1:
            raise InputError(f"there are two goals for query {query!r} at level {level!r}; give one")
        if before.by_query[level, query].sd is None:
            raise InputError(
                f"a goal names query {query!r} at level {level!r}, which no measurement determines"
            )
        wanted_of[level, query] = Goal(level, query, goal.sd)
    return list(wanted_of.values())


def _named(chain: UniformPlan, texts: Sequence[str], what: str) -> list[tuple[str, str]]:
    """Read LEVEL or LEVEL:QUERY."""
    pairs: list[tuple[str, str]] = []
    for text in texts:
        written, _, query = text.partition(":")
        level = find_level(written, chain.names) or written
        if level not in chain.names:
            near = hint(level, chain.names) or f"; it has {', '.join(chain.names)}"
            raise InputError(f"{what} names level {level!r}, which the release does not have{near}")
        if query and query not in chain.model.queries:
            near = hint(query, chain.model.queries) or f"; it has {', '.join(chain.model.queries)}"
            raise InputError(f"{what} names query {query!r}, which the release does not have{near}")
        pairs += [(level, name) for name in ([query] if query else chain.model.queries)]
    return list(dict.fromkeys(pairs))


def _weighted(
    chain: UniformPlan, before: Accuracy, weights: Mapping[str, Exact]
) -> tuple[list[tuple[int, str]], Floats, Floats]:
    """Return the variances with a weight, the weights relative to what they are now, and their sum now."""
    sizes: dict[tuple[str, str], float] = {}
    for text, weight in weights.items():
        size = moderate(weight, name=f"the weight of {text!r}")
        sizes |= dict.fromkeys(_named(chain, [text], "weights"), size)
    now = {pair: sd for pair in sizes if (sd := before.by_query[pair].sd) is not None}
    if not now:
        raise InputError("no query with a weight is determined by the release")
    targets = [(chain.names.index(level), query) for level, query in now]
    rows = np.array([[sizes[pair] / chain.bound(Goal(*pair, sd)) for pair, sd in now.items()]])
    return targets, rows, np.array([sum(sizes[pair] for pair in now)])


Costed = tuple[Release, Fraction, Interval | None, tuple[KeptLimit, ...]]
"""A release, an epsilon that it keeps, the certified delta there, and the limits on risk that it keeps."""


@dataclass(frozen=True)
class _Ceiling:
    """What a plan may cost at most: an epsilon at delta, limits on risk, both or neither."""

    before: Release
    delta: Fraction
    cap: Fraction | None
    limits: Sequence[RiskLimit]
    certified: bool

    @property
    def is_none(self) -> bool:
        return self.cap is None and not self.limits

    def part(self, release: Release) -> float:
        """The largest part of what it may be that epsilon, or a risk, is."""
        parts = [_epsilon(release, self.delta) / float(self.cap)] if self.cap is not None else []
        if self.limits:
            parts.append(largest_part(release, release.neighbours, self.limits))
        return max(parts)

    def proved(self, candidates: Iterable[tuple[Release, Iterable[Fraction]]]) -> Costed:
        """Return the first of these releases that is proved to keep its limits and one of its epsilons."""
        old = self.before
        wholes = ((limit, limited_account(old, old.neighbours, limit)) for limit in self.limits)
        before = [risk_limit.risk(told_of_all(whole, risk_limit)[0]) for risk_limit, whole in wholes]
        for release, epsilons in candidates:
            relation = release.neighbours
            kept = proved_limits(release, relation, self.limits, before, certify=self.certified)
            if kept and kept[-1].is_refuted:
                continue
            for epsilon in epsilons:
                try:
                    proof = prove(release, relation, epsilon, self.delta, 1, None) if self.certified else None
                    return release, epsilon, proof, kept
                except PrecisionError as error:
                    if "the proof gives" not in str(error):
                        raise
        raise PrecisionError("no plan was proved to keep its promise")

    def epsilons(self, release: Release) -> Iterable[Fraction]:
        """Return the epsilon to prove of a release: the one promised, or a little above the exact one."""
        if self.cap is not None and not self.limits:
            return [self.cap]
        exact = math.ceil(_epsilon(release, self.delta) * 10**6)
        ends = [Fraction(exact + more, 10**6) for more in range(10)]
        return ends if self.cap is None else [min(end, self.cap) for end in ends]


def _costed(chain: UniformPlan, best: Floats, goals: Sequence[Goal], ceiling: _Ceiling) -> Costed:
    """Return the best budgets as a release, of a rho that meets the goals or stays below the ceiling."""
    merges = chain.release(best, _PIECES[0], up=True).spine is not None
    ways = [(pieces, merged) for pieces in _PIECES for merged in (False, True)[: 1 + merges]]
    for way in ways:

        def made(rho: float, way: tuple[int, bool] = way) -> Release:
            return chain.release(best * (rho / best.sum()), *way, up=bool(goals))

        if way != ways[-1] and _is_long(made(best.sum())):
            continue
        try:
            if ceiling.is_none:
                return _met(made, chain, best, goals, ceiling)
            return _kept(made, best, ceiling)
        except PrecisionError:
            if way == ways[-1]:
                raise
    raise AssertionError("the last way is tried")


def _met(
    made: Callable[[float], Release],
    chain: UniformPlan,
    best: Floats,
    goals: Sequence[Goal],
    ceiling: _Ceiling,
) -> Costed:
    """Return the release of the least rho that meets the goals, and its exact epsilon."""
    least = int(np.argmax(best / chain.unit))
    if best[least] * _LEAST_VARIANCE > chain.unit[least]:
        level, query = chain.keys[least]
        raise InputError(
            f"the goals leave next to no noise: query {query!r} of level {level!r} would have variance "
            f"{chain.unit[least] / best[least]:.3g}; a plan is for variances of at least {_LEAST_VARIANCE:g}"
        )
    start = float(best.sum())
    rho = _crossing(lambda rho: 1 / max(chain.misses(made(rho), goals)), start, below=False)
    result = made(rho)
    return ceiling.proved([(result, ceiling.epsilons(result))])


def _kept(made: Callable[[float], Release], best: Floats, ceiling: _Ceiling) -> Costed:
    """Return the release of the largest rho that stays below the ceiling."""
    start = float(best.sum())
    if ceiling.cap is not None:
        target, room = float(ceiling.cap), -math.log(ceiling.delta)
        start = (math.sqrt(room + target) - math.sqrt(room)) ** 2  # the rho that has this epsilon by zCDP
        if start < 1e-9:
            raise InputError(f"epsilon {target:.6g} at this delta leaves almost nothing to measure")
    rho = _crossing(lambda rho: ceiling.part(made(rho)), start, below=True)
    less = (made(rho * (1 - 5 * _CLOSE) ** k) for k in range(20))
    return ceiling.proved((release, ceiling.epsilons(release)) for release in less)


def _crossing(value: Callable[[float], float], start: float, *, below: bool) -> float:
    """Return where a growing function of rho is next to 1, below or above it.

    A secant in logarithms takes few steps, for epsilons and for variances alike.
    """
    low, high, rho, last = 1e-12, 1e12, start, (0.0, 0.0)
    for turn in range(60):
        gained = value(rho)
        if 0.0 <= (1.0 - gained if below else gained - 1.0) < _CLOSE:
            return rho
        low, high = (rho, high) if gained <= 1.0 else (low, rho)
        if high < low * (1 + 1e-9):
            break  # rounded budgets jump here
        here = math.log(rho), math.log(min(max(gained, 1e-9), 1e9))
        slope = (here[1] - last[1]) / (here[0] - last[0]) if turn else 1.0
        aim = (-_CLOSE if below else _CLOSE) / 3 - here[1]
        rho *= math.exp(aim / slope if 0.1 < slope < 10.0 else aim)
        if not low < rho < high:
            rho = math.sqrt(low * high)
        last = here
    return low if below else high


def _is_long(release: Release) -> bool:
    """Whether the exact account of some case would take long, by the nodes of its contour that count.

    There every term is close to a full turn. Few terms are listed instead, however fine their steps are.
    """
    for _, events in cases(release, release.neighbours):
        top, bottom = zip(*((step.numerator, step.denominator) for step in loss_steps(events)), strict=True)
        deviation = math.sqrt(sum(event.precision for event in events))
        steps = 20 * deviation * math.lcm(*bottom) / math.gcd(*top)
        near = (90.0 / (event.times * float(event.size)) for event in events)
        share = math.prod(min(1.0, math.sqrt(variance) / math.pi) for variance in near)
        few = len(events) <= 3 and sum(event.times for event in events) <= 6
        if not few and len(events) * min(steps, LINE) * share > MOST_WORK:
            return True
    return False


def _epsilon(release: Release, delta: Fraction) -> float:
    """Return the exact epsilon at delta; 0 if delta alone is enough."""
    made = account(release)
    return 0.0 if made.delta(epsilon=0) <= float(delta) else float(made.at_delta(delta)[0].epsilon)


class UniformPlan:
    """A release on a uniform tree: variances of its queries as functions of its budgets, with derivatives."""

    def __init__(self, release: Release, children: tuple[float, ...]) -> None:
        self.base, self.children = release, children
        self._steps = {query: variable.step for query, variable in release.variables.items()}
        self.names = [level.name for level in release.levels]
        self.exact: dict[tuple[str, str], Fraction] = {}
        units: list[Fraction] = []
        for level in release.levels:
            for query, event in zip(level.queries, level.events(release.neighbours), strict=True):
                require("planning", [event])
                rho = event.precision * records_apart(release.neighbours) / 2
                self.exact[level.name, query.name] = rho
                units.append(rho * event.size)  # rho times variance does not depend on either
        self.keys = list(self.exact)
        self.unit = np.array([float(unit) for unit in units])
        queries = tuple(dict.fromkeys(query for _, query in self.keys))
        self.model = Model(release.attributes, queries)
        self._level = np.array([self.names.index(level) for level, _ in self.keys])
        self._groups = self._problems()

    def _problems(self) -> list[tuple[dict[str, Floats], dict[str, Floats]]]:
        """Return by size Gram matrices and weights of mean variances of each query, of all problems of it."""
        names = (*self.model.queries, *self.model.impossible)
        asked = [self.model.projections[query] for query in names]
        by_size: dict[int, dict[bytes, tuple[Floats, Floats]]] = {}
        for component in self.model.components:
            grams = np.stack([projection.gram(component) for projection in asked])
            means = np.stack([projection.mean_weights(component) for projection in asked])
            least = SMALL * np.abs(grams).max(axis=(1, 2), keepdims=True)
            for basis in _blocks(grams):
                gram, mean = (basis.T @ some @ basis for some in (grams, means))
                seen = np.abs(gram).max(axis=(1, 2), keepdims=True) > least
                gram, mean = gram * seen, mean * seen  # the rest is rounding
                size = basis.shape[1]
                # numbers are known by themselves; matrices only up to a rotation
                key = (
                    (np.round(gram, 9) + 0.0).tobytes()
                    if size == 1
                    else f"{component.parts}".encode() + basis.tobytes()
                )
                same = by_size.setdefault(size, {})
                same[key] = gram, mean + (same[key][1] if key in same else 0.0)
        programs = []
        for problems in by_size.values():
            grams, means = (np.stack(some, axis=1) for some in zip(*problems.values(), strict=True))
            programs.append((dict(zip(names, grams, strict=True)), dict(zip(names, means, strict=True))))
        return programs

    def bound(self, goal: Goal) -> float:
        """Return the variance that a goal allows, in units of the noise."""
        return float(goal.sd / float(self._steps[goal.query])) ** 2

    @property
    def budgets(self) -> Floats:
        """The rho of each query now."""
        return np.array([float(self.exact[key]) for key in self.keys])

    def variances(
        self, budgets: Floats, targets: Sequence[tuple[int, str]], rows: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return the mean variances of queries at levels, or mixtures of them (one a row), and their
        derivatives by the budgets."""
        rows = np.eye(len(targets)) if rows is None else rows
        depth, many = len(self.names), len(budgets)
        now = self.budgets / self.budgets.sum()
        precision = (budgets + _CLOSE * budgets.sum() * now) / ((1 + _CLOSE) * self.unit)
        values, slopes = np.zeros(len(rows)), np.zeros((len(rows), many))
        # Keeps what nobody measures invertible. Sums over cells are hundreds of times larger than single
        # ones, so a smaller one is lost in rounding, and the search fails or stops early.
        tiny = 1e-11 * float(precision.sum())
        own = [np.flatnonzero(self._level == level) for level in range(depth)]
        levels = np.array([level for level, _ in targets])
        wanted = [np.flatnonzero(levels == level) for level in range(depth)]
        mixed = [np.flatnonzero(rows[:, here].any(axis=1)) for here in wanted]
        for grams, means in self._groups:
            G = [np.stack([grams[self.keys[key][1]] for key in at]) for at in own]
            sure = sum(
                (_SURE * precision.sum() * grams[table] for table in self.model.impossible), np.zeros(())
            )
            J = [
                np.tensordot(precision[at], G[level], axes=1) + sure + tiny * np.eye(G[level].shape[-1])
                for level, at in enumerate(own)
            ]
            L = list(J)
            for level in range(depth - 2, -1, -1):
                L[level] = J[level] + L[level + 1] / self.children[level]
            # what a parent says to a child, and how that follows what the parent has and what its other
            # children have: d out = left d(around) left' + right d(L) right' / siblings
            out: Floats = np.zeros_like(J[0])
            steps: list[tuple[Floats, Floats, float] | None] = []
            for level in range(depth):
                if wanted[level].size:
                    P = np.linalg.inv(L[level] + out)
                    M = np.stack([means[targets[target][1]] for target in wanted[level].tolist()])
                    M = np.tensordot(rows[np.ix_(mixed[level], wanted[level])], M, axes=1)
                    values[mixed[level]] += (M * P).sum(axis=(1, 2, 3))
                    self._add_slopes(slopes, mixed[level], level, P @ M @ P, steps, G, own)
                if level + 1 == depth:
                    break
                around, siblings = J[level] + out, self.children[level] - 1
                if siblings <= 0:
                    out = around
                    steps.append(None)
                    continue
                B = L[level + 1] / siblings
                S = np.linalg.inv(around + B)
                left, right = B @ S, around @ S
                out = left @ around
                out = (out + np.swapaxes(out, 1, 2)) / 2
                steps.append((left, right, siblings))
        slopes /= self.unit
        return values, (slopes + _CLOSE * (slopes @ now)[:, None]) / (1 + _CLOSE)

    def _add_slopes(
        self,
        slopes: Floats,
        rows: NDArray[np.int64],
        level: int,
        X: Floats,
        steps: Sequence[tuple[Floats, Floats, float] | None],
        G: Sequence[Floats],
        own: Sequence[NDArray[np.int64]],
    ) -> None:
        """Take the derivatives X of variances by the information at a level back to all budgets.

        They go up along the `steps`; at each level what comes from below reaches all levels further down.
        """
        below = [np.zeros(())] * len(G)  # by the information from at and below a level
        here = [np.zeros(())] * len(G)  # by its own
        below[level] = X
        for up in range(level - 1, -1, -1):
            step = steps[up]
            if step is not None:
                left, right, siblings = step
                below[up + 1] = below[up + 1] + np.swapaxes(right, 1, 2) @ X @ right / siblings
                X = np.swapaxes(left, 1, 2) @ X @ left
            here[up] = X
        total: Floats = np.zeros(())
        for number, grams in enumerate(G):
            total = total / (self.children[number - 1] if number else 1.0) + below[number]
            both = np.asarray(total + here[number])
            if both.ndim:
                flat = both.reshape(len(rows), -1) @ grams.reshape(len(grams), -1).T
                slopes[rows[:, None], own[number]] -= flat

    def cheapest(self, targets: Sequence[tuple[int, str]], rows: Floats, bounds: Floats) -> Floats:
        """Return the budgets of least sum with which mixtures of variances are within their bounds."""

        def relative(x: Floats) -> tuple[Floats, Floats]:
            """Return variances over their bounds, and how they fall with the budgets."""
            values, slopes = self.variances(x, targets, rows)
            return values / bounds, -slopes / bounds[:, None]

        x, weights, cost = self.budgets, np.ones(len(bounds)), math.inf
        for _ in range(_STEPS):
            ratios, gains = relative(x)
            most = float(ratios.max())
            cost, last = float(x.sum()) * most, cost
            if abs(last - cost) < 10 * _BINDING * cost:
                break
            weights *= np.sqrt(ratios / most)
            weights *= x.sum() / float(weights @ gains @ x)
            x = x * np.sqrt(np.maximum(weights @ gains, 0.0))
        x = x / x.sum()
        start = x * (float(relative(x)[0].max()) * (1 + 5e-4))
        known: dict[bytes, tuple[Floats, Floats]] = {}

        def log_room(share: Floats) -> tuple[Floats, Floats]:
            if share.tobytes() not in known:
                known.clear()
                ratios, gains = relative(np.clip(share, 0.0, 1e3) * start.sum() + 1e-300)
                known[share.tobytes()] = -np.log(ratios), gains * start.sum() / ratios[:, None]
            return known[share.tobytes()]

        polished = scipy.optimize.minimize(
            np.sum,
            start / start.sum(),
            jac=np.ones_like,
            bounds=[(0.0, None)] * len(start),
            method="SLSQP",
            constraints=[{"type": "ineq", "fun": lambda x: log_room(x)[0], "jac": lambda x: log_room(x)[1]}],
            options={"maxiter": 300, "ftol": 1e-8},
        )
        costs: list[tuple[float, Floats]] = []
        for budget in (self.budgets, x, np.maximum(polished.x, 0.0)):
            if np.all(np.isfinite(budget)) and budget.sum() > 0.0:
                # what is so little is left out, unless that costs more than it is
                for least, charge in ((_NEGLIGIBLE, 1.0), (1e-4 * _NEGLIGIBLE, 1 + 10 * _NEGLIGIBLE)):
                    kept = np.where(budget > least * budget.sum(), budget, 0.0)
                    kept *= float(relative(kept)[0].max())
                    costs.append((float(kept.sum()) * charge, kept))
        return min(costs, key=lambda row: row[0])[1]

    def release(self, budgets: Floats, pieces: int, merged: bool = False, *, up: bool) -> Release:
        """Return the release with these budgets in whole numbers of a unit, none that is needed without one.

        `merged`: the levels, and within each its queries, are rounded by themselves.
        """
        by_level: dict[str, dict[str, float]] = {}
        for (name, key), size in zip(self.keys, budgets.tolist(), strict=True):
            if size > 0.0:
                by_level.setdefault(name, {})[key] = size
        total = float(budgets.sum())
        sizes: dict[tuple[str, str], Fraction] = {}
        if merged:
            side = math.isqrt(pieces)
            unit = Fraction(f"{total / side**2:.8g}")
            tops = _pieces([sum(wanted.values()) for wanted in by_level.values()], side)
            for (name, wanted), top in zip(by_level.items(), tops, strict=True):
                parts = zip(wanted, _pieces(list(wanted.values()), side), strict=True)
                sizes |= {(name, query): top * part * unit for query, part in parts}
        else:
            unit = Fraction(f"{total / pieces:.{11 - len(str(pieces))}g}")
            turn = math.ceil if up else round
            for name, wanted in by_level.items():
                sizes |= {(name, query): max(1, turn(size / unit)) * unit for query, size in wanted.items()}
        levels = []
        for level in self.base.levels:
            queries = [
                replace(query, rho=sizes[level.name, query.name], share=None, variance=None, scale=None)
                for query in level.queries
                if (level.name, query.name) in sizes
            ]
            if queries:
                levels.append(replace(level, rho=None, queries=tuple(queries)))
        kept = [level.name for level in levels]
        tree = ", ".join(brief(many) for many in self.children)
        note = f"Planned for the accuracy of estimates; children per area, from the top: {tree}."
        return replace(
            self.base,
            name=f"{self.base.name}-planned",
            rho=None,
            levels=tuple(levels),
            spine=_spine(self.base, kept),
            notes=(note, *self.base.notes),
        )

    def accuracy(self, release: Release) -> Accuracy:
        """Return the accuracy at all levels, those included of which nothing is measured any more."""
        shape, told = Tree.chain(self.children), self._told(release)
        view = View(self.model, shape, told, self.model.solve(shape, told))
        levels = by_level(view, shape.totals, self.names, self._steps)
        return Accuracy(release.name, self.children, release.attributes is not None, levels)

    def misses(self, release: Release, goals: Sequence[Goal]) -> list[float]:
        """Return the variance of each goal relative to its bound; infinite if nothing determines it."""
        shape, told, misses = Tree.chain(self.children), self._told(release), np.zeros(len(goals))
        for grams, means in self._groups:
            size = next(iter(grams.values())).shape[-1]
            for position in range(len(next(iter(grams.values())))):
                none = np.zeros((size, size))
                held = sum((grams[query][position] for query in self.model.impossible), none)
                kinds = [
                    Evidence(
                        sum((grams[query][position] / noise for query, noise in known.variances), none),
                        sum((grams[query][position] for query, _ in known.variances), none),
                        held if self.model.impossible else None,
                    )
                    for known in told
                ]
                solution = solve(shape, kinds)
                nulls = solution.nulls()
                for number, goal in enumerate(goals):
                    M, node = means[goal.query][position], self.names.index(goal.level)
                    lost = np.sum(M * nulls[node]) > _CLOSE * np.trace(M)
                    misses[number] += math.inf if lost else np.sum(M * solution.P[node]) / self.bound(goal)
        return [float(miss) for miss in misses]

    def _told(self, release: Release) -> list[KnownOfUnits]:
        """Return what units of each level answer, those included of which nothing is measured any more."""
        names = [level.name for level in release.levels]
        by_name = dict(zip(names, known_by_level(release, names), strict=True))
        return [by_name.get(name, KnownOfUnits(())) for name in self.names]


def _blocks(grams: Floats) -> list[Floats]:
    """Return orthonormal bases of spaces, as columns, each of which all of these symmetric matrices keep.

    They are spanned by eigenvectors of a mixture of the matrices, those together that any of them ties.

    >>> nested = np.array([[[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> [basis.shape for basis in _blocks(nested)]
    [(2, 1), (2, 1)]
    """
    scale = np.abs(grams).max(axis=(1, 2), keepdims=True)
    scaled = np.divide(grams, scale, out=np.zeros_like(grams), where=scale > 0.0)
    mixture = np.tensordot(np.sqrt(np.arange(2, 2 + len(grams))), scaled, axes=1)
    vectors = np.linalg.eigh(mixture)[1]
    tied = (np.abs(vectors.T @ scaled @ vectors) > 1e-10).any(axis=0)
    label = np.arange(len(vectors))
    for _ in range(len(vectors)):
        lower = np.where(tied, label, len(vectors)).min(axis=1, initial=len(vectors))
        lower = np.minimum(lower, label)
        if np.array_equal(lower, label):
            break
        label = lower
    return [vectors[:, label == number] for number in np.unique(label)]


def _pieces(sizes: Sequence[float], many: int) -> list[int]:
    """Share out so many pieces by these sizes, at least one to each."""
    exact = np.array(sizes) * (many / sum(sizes))
    pieces = np.maximum(np.rint(exact), 1.0)
    rest = round(many - float(pieces.sum()))
    order = np.argsort(np.copysign(1.0, rest) * (pieces - exact), kind="stable")
    order = order[(pieces[order] > 1.0) | (rest > 0)]
    pieces[order[: abs(rest)]] += np.copysign(1.0, rest)
    return [int(piece) for piece in pieces]


def _spine(release: Release, kept: Sequence[str]) -> Spine | None:
    """Return the spine of the levels that are left: a run loses the levels that have no queries."""
    if release.spine is None or len(kept) < 2:
        return None
    if release.spine.may_merge_up:
        merging, chain = [], True
        for level in release.levels:
            chain = chain and level.name in release.spine.may_merge_up
            if level.name in kept:
                if chain and level.name != kept[0]:
                    merging.append(level.name)
                chain = True
        return Spine(may_merge_up=merging) if merging else None
    paths: dict[tuple[str, ...], int] = {}
    for number in release.paths:
        runs = [
            "+".join(level_name for level_name in run if level_name in kept) for run in release.runs(number)
        ]
        paths.setdefault(tuple(run for run in runs if run), number)
    return Spine(paths=[(number, runs) for runs, number in paths.items()])
