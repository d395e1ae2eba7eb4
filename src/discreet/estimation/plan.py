"""The plan that is best for the accuracy of the estimates, at a given cost or as cheap as can be.

Variances of estimates are convex in the precisions 1/s of the measurements (inverses of matrices that are
linear in them), and rho is linear in them. So the least rho with which every wanted variance is at or below
its bound is a convex program. Twice the precisions give half the variances: the same program, scaled, also
has the smallest largest ratio of variances to bounds at a given cost, and with one bound on a weighted sum of
variances the smallest such sum.

On a uniform tree information goes up as L = J + L_child / n and down as the parallel sum of what a parent
knows without its children and of L_child / (n - 1). Derivatives come back the same way, for each wanted
variance once whatever the number of budgets, so gradients are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.calibration import prove
from discreet.accounting.overall import account
from discreet.budget import Level, Query, Release, Spine
from discreet.budget.levels import find_level, level_name
from discreet.budget.toml import hint, parse_toml
from discreet.errors import DiscreetError, InputError, PrecisionError
from discreet.estimation.accuracy import Accuracy, accuracy, by_level
from discreet.estimation.model import Model, Told, told_by_level, uniform_tree
from discreet.estimation.tree import Floats, Tree
from discreet.numbers import Exact, Interval, positive, share

NORMAL95 = 1.959963984540054
DIGITS = (7, 6, 5, 4)
"""Budgets are short decimals, rounded to the safe side: as many digits as the exact account can take."""

NEGLIGIBLE = 1e-6
"""A query whose share of the cost is below this is not needed by the optimum."""

BINDING = 1e-4
"""A goal binds if it is met with less than this to spare."""


@dataclass(frozen=True, slots=True)
class Goal:
    """The standard deviation that estimates of a query at a level may have, root mean square over cells."""

    level: str
    query: str
    sd: float


@dataclass(frozen=True, slots=True)
class Plan:
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

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON shows."""
        sds = [self.before.by_query, self.after.by_query]
        rho = {(level, query): (old, new) for level, query, old, new in self.budgets}
        levels = []
        for level in self.before.levels:
            queries = []
            for query in level.queries:
                key = (level.name, query.name)
                old, new = rho.get(key, (None, None))
                parts = {}
                for word, size, found in (("before", old, sds[0][key]), ("after", new, sds[1][key])):
                    parts[word] = {
                        "rho": None if size is None else str(size),
                        "noise_sd": found.noise_sd,
                        "sd": found.sd,
                        "margin95": found.margin95,
                    }
                queries.append({"name": query.name, "cells": query.cells, **parts})
            levels.append({"name": level.name, "queries": queries})
        return {
            "release": self.release.name,
            "rho": float(self.rho),
            "rho_exact": str(self.rho),
            "rho_before": float(self.rho_before),
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "proof": None if self.proof is None else {"delta_upper": float(self.proof.upper)},
            "possible": self.possible,
            "largest_ratio": self.ratio,
            "binding": [list(pair) for pair in self.binding],
            "dropped": [list(pair) for pair in self.dropped],
            "tree": list(self.before.children or ()),
            "levels": levels,
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return level, query, budgets and standard deviations before and after, and whether a goal binds."""
        binds = set(self.binding)
        found = []
        for level in self.as_dict()["levels"]:
            for query in level["queries"]:
                old, new = query["before"], query["after"]
                found.append(
                    (
                        level_name(level["name"]),
                        query["name"],
                        *(_budget(one["rho"]) for one in (old, new)),
                        *(_sd(one["sd"]) for one in (old, new)),
                        "binds" if (level["name"], query["name"]) in binds else "",
                    )
                )
        return found

    def __str__(self) -> str:
        met = (
            ""
            if self.possible
            else f", standard deviations up to {math.sqrt(self.ratio):.3g} times the goals"
        )
        return (
            f"{self.release.name}: rho {float(self.rho):.6g} (before {float(self.rho_before):.6g}), epsilon "
            f"{float(self.epsilon):.6g} at delta {float(self.delta):.3g}{met}"
        )


COLUMNS = ("level", "query", "rho before", "after", "sd before", "after", "goal")


def _budget(value: str | None) -> str:
    if value is None:
        return "not asked"
    return "dropped" if Fraction(value) == 0 else f"{float(Fraction(value)):.4g}"


def _sd(value: float | None) -> str:
    return "not determined" if value is None else f"{value:.4g}"


def plan(
    release: Release,
    *,
    tree: Sequence[float] | None = None,
    keep: Sequence[str] = (),
    goals: Sequence[Goal] = (),
    weights: Mapping[str, Exact] | None = None,
    epsilon: Exact | None = None,
    delta: Exact = "1e-10",
    certified: bool = True,
) -> Plan:
    """Return the plan that is best for the accuracy of the estimates.

    `keep` names levels, or LEVEL:QUERY, whose estimates must be at least as accurate as now; `goals` state
    standard deviations. Without `epsilon` the result is the plan of least cost that meets all of them; with
    it, the one whose largest ratio of variance to bound is smallest at that exact (epsilon, delta). `weights`
    by LEVEL or LEVEL:QUERY go with an epsilon: the weighted sum of variances, each relative to what it is
    now, becomes smallest. `certified=False` leaves the proof in ball arithmetic out.

    >>> from discreet.budget import load
    >>> found = plan(load("pl94-2020-units"), keep=["Tract"])
    >>> found.binding, [row[0] for row in found.dropped]
    ((('Tract', 'detailed'),), ['US', 'State', 'County', 'Block_Group', 'Block'])
    """
    small = share(delta, name="delta")
    cap = None if epsilon is None else positive(epsilon, name="epsilon")
    if weights and (keep or goals):
        raise InputError("give weights or goals, not both")
    if weights and cap is None:
        raise InputError("weights divide a given cost, so they need an epsilon")
    if not (weights or keep or goals):
        raise InputError("there is nothing to plan for: give levels to keep, goals or weights")
    chain = UniformPlan(release, uniform_tree(release, tree))
    before = accuracy(release, tree=chain.children)
    wanted = _goals(chain, before, keep, goals)
    start = chain.budgets
    if weights:
        bounds, mix = _weighted(chain, before, weights)
    else:
        targets = [(chain.names.index(goal.level), goal.query) for goal in wanted]
        bounds, mix = np.array([goal.sd**2 for goal in wanted]), (targets, np.eye(len(targets)))
    found = chain.cheapest(start, mix, bounds)
    for digits in DIGITS:
        try:
            if cap is None:
                result, spent, proof = _met(chain, found, wanted, small, digits, certified)
            else:
                result, spent, proof = _kept(chain, found, cap, small, digits, certified)
            break
        except PrecisionError:  # the lattice of the losses is too fine to be accounted for
            if digits == DIGITS[-1]:
                raise
    after = chain.accuracy(result)
    misses = _miss(after, wanted)
    ratio = max(misses, default=1.0)
    binding = tuple(
        (goal.level, goal.query)
        for goal, miss in zip(wanted, misses, strict=True)
        if miss > ratio * (1 - BINDING)
    )
    old = {key: Fraction(size) for key, size in chain.exact.items()}
    new = {(lv.name, q.name): q.rho or Fraction(0) for lv in result.levels for q in lv.queries}
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
        after,
    )


def read_goals(text: str, where: str) -> list[Goal]:
    """Read goals from TOML: tables [[goals]] with level, query, and sd or margin95.

    >>> read_goals('[[goals]]\\nlevel = "State"\\nquery = "total"\\nsd = "3/2"', "goals.toml")
    [Goal(level='State', query='total', sd=1.5)]
    """
    data = parse_toml(text, where)
    tables = data.get("goals")
    if not isinstance(tables, list) or not tables or set(data) != {"goals"}:
        raise InputError(f"{where} must have tables [[goals]], and nothing else")
    found = []
    for place, table in enumerate(tables, 1):
        name = f"goal {place} of {where}"
        if not isinstance(table, dict) or not set(table) <= {"level", "query", "sd", "margin95"}:
            raise InputError(f"{name} must have level, query, and sd or margin95")
        level, query = table.get("level"), table.get("query")
        if not isinstance(level, str) or not isinstance(query, str):
            raise InputError(f"{name} must name its level and its query")
        if ("sd" in table) == ("margin95" in table):
            raise InputError(f"{name} must state sd or margin95, one of them")
        if "sd" in table:
            size = float(positive(table["sd"], name=f"sd of {name}"))
        else:
            size = float(positive(table["margin95"], name=f"margin95 of {name}")) / NORMAL95
        found.append(Goal(level, query, size))
    return found


def _goals(chain: UniformPlan, before: Accuracy, keep: Sequence[str], goals: Sequence[Goal]) -> list[Goal]:
    found: dict[tuple[str, str], Goal] = {}
    for level, query in _named(chain, keep, "keep"):
        sd = before.by_query[level, query].sd
        if sd is not None:
            found[level, query] = Goal(level, query, sd)
    if keep and not found:
        raise InputError("no query of the levels to keep is determined now, so there is nothing to keep")
    for goal in goals:
        ((level, query),) = _named(chain, [f"{goal.level}:{goal.query}"], "a goal")
        found[level, query] = Goal(level, query, goal.sd)
    return list(found.values())


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
        pairs += [(level, one) for one in ([query] if query else chain.model.queries)]
    return list(dict.fromkeys(pairs))


def _weighted(
    chain: UniformPlan, before: Accuracy, weights: Mapping[str, Exact]
) -> tuple[Floats, tuple[list[tuple[int, str]], Floats]]:
    now = {key: one.sd for key, one in before.by_query.items()}
    shares: dict[tuple[str, str], float] = {}
    for text, weight in weights.items():
        size = float(positive(weight, name=f"the weight of {text!r}"))
        for pair in _named(chain, [text], "weights"):
            sd = now[pair]
            if sd is not None:
                shares[pair] = size / sd**2
    if not shares:
        raise InputError("no query with a weight is determined by the release")
    targets = [(chain.names.index(level), query) for level, query in shares]
    return np.array([sum(shares[pair] * (now[pair] or 0.0) ** 2 for pair in shares)]), (
        targets,
        np.array([list(shares.values())]),
    )


def _miss(found: Accuracy, goals: Sequence[Goal]) -> list[float]:
    """Return the variance of each goal relative to its bound."""
    sds = found.by_query
    return [((sds[goal.level, goal.query].sd or math.inf) / goal.sd) ** 2 for goal in goals]


Costed = tuple[Release, Fraction, Interval | None]
"""A release, an epsilon that it keeps, and the certified delta there."""


def _met(
    chain: UniformPlan,
    budgets: Sequence[float],
    goals: Sequence[Goal],
    delta: Fraction,
    digits: int,
    certified: bool,
) -> Costed:
    """Return the release whose budgets are rounded up so that the goals are met, and its exact epsilon."""
    size = 1.0
    for _ in range(5):
        result = chain.release([size * one for one in budgets], up=True, digits=digits)
        short = max(_miss(chain.accuracy(result), goals))
        if short <= 1.0:
            break
        size *= short * (1 + 1e-9)  # discrete noise of small variance is not quite of its parameter
    epsilon = _epsilon(result, delta)
    spent = Fraction(math.ceil(epsilon * 10**6), 10**6)
    return result, spent, prove(result, result.neighbours, spent, delta, 1, None) if certified else None


def _kept(
    chain: UniformPlan, budgets: Sequence[float], cap: Fraction, delta: Fraction, digits: int, certified: bool
) -> Costed:
    """Return the release with the largest multiple of the budgets that keeps (cap, delta), rounded down."""

    def made(size: float) -> Release:
        return chain.release([size * one for one in budgets], up=False, digits=digits)

    # epsilon grows a little faster than the square root of rho: a secant in logarithms takes few steps
    low, high, size, target = 0.0, math.inf, 1.0, float(cap)
    for _ in range(40):
        epsilon = _epsilon(made(size), delta)
        low, high = (size, high) if epsilon <= target else (low, size)
        if low and high / low < 1 + 10.0 ** (1 - digits):
            break
        guess = size * (target / max(epsilon, 1e-3 * target)) ** 1.5
        if epsilon <= target and target - epsilon < 1e-6 * target:
            break
        fits = low < guess < high
        size = guess if fits else (low + high) / 2 if high < math.inf and low else size * (2 if low else 0.5)
        if size < 1e-12:
            raise InputError(f"epsilon {target:.6g} at this delta allows for next to no measurement")
    for _ in range(20):
        result = made(low)
        try:
            return result, cap, prove(result, result.neighbours, cap, delta, 1, None) if certified else None
        except PrecisionError as error:
            if "the proof gives" not in str(error):
                raise
            low *= 1 - 10.0 ** (1 - digits)
    raise PrecisionError(f"no plan was proved to keep epsilon {target:.6g}")


def _epsilon(release: Release, delta: Fraction) -> float:
    """Return the exact epsilon at delta; 0 if delta alone is enough."""
    made = account(release)
    return 0.0 if made.delta(epsilon=0) <= float(delta) else float(made.at_delta(delta)[0].epsilon)


class UniformPlan:
    """A release on a uniform tree: variances of its queries as functions of its budgets, with derivatives."""

    def __init__(self, release: Release, children: tuple[float, ...]) -> None:
        self.base, self.children = release, children
        self.names = [level.name for level in release.levels]
        self.exact: dict[tuple[str, str], Fraction] = {}
        units: list[Fraction] = []
        for level in release.levels:
            for query, event in zip(level.queries, level.events(release.neighbours), strict=True):
                if not event.is_gaussian:
                    raise InputError(
                        f"query {query.name!r} of level {level.name!r} has Laplace noise; a plan is for "
                        "Gaussian noise"
                    )
                rho = event.precision / (1 if release.neighbours == "bounded" else 2)
                self.exact[level.name, query.name] = rho
                units.append(rho * event.size)  # rho times variance does not depend on either
        self.keys = list(self.exact)
        self._unit = np.array([float(one) for one in units])
        self._scale = float(np.sum(self.budgets / self._unit))
        queries = tuple(dict.fromkeys(query for _, query in self.keys))
        self.model = Model(release.attributes, queries)
        self._level = np.array([self.names.index(level) for level, _ in self.keys])
        self._groups: list[tuple[int, dict[str, Floats], dict[str, Floats]]] = []
        sizes = sorted({one.size for one in self.model.components})
        for size in sizes:
            same = [one for one in self.model.components if one.size == size]
            grams, means = {}, {}
            for name in queries:
                projection = self.model.projections[name]
                grams[name] = np.stack([projection.gram(one) for one in same])
                means[name] = np.stack([projection.mean_weights(one) for one in same])
            self._groups.append((size, grams, means))

    @property
    def budgets(self) -> Floats:
        """The rho of each query now."""
        return np.array([float(self.exact[key]) for key in self.keys])

    def variances(self, budgets: Floats, targets: Sequence[tuple[int, str]]) -> tuple[Floats, Floats]:
        """Return the mean variances of queries at levels, and their derivatives by the budgets."""
        depth, many = len(self.names), len(budgets)
        precision = budgets / self._unit
        values, slopes = np.zeros(len(targets)), np.zeros((len(targets), many))
        # Keeps what nobody measures invertible. Sums over cells are hundreds of times larger than single
        # ones, so a smaller one is lost in rounding, and the search fails or stops early.
        tiny = 1e-11 * self._scale
        own = [np.flatnonzero(self._level == level) for level in range(depth)]
        wanted = [
            [place for place, (where, _) in enumerate(targets) if where == level] for level in range(depth)
        ]
        for size, grams, means in self._groups:
            G = [np.stack([grams[self.keys[place][1]] for place in at]) for at in own]
            J = [
                np.tensordot(precision[at], G[level], axes=1) + tiny * np.eye(size)
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
                if wanted[level]:
                    P = np.linalg.inv(L[level] + out)
                    M = np.stack([means[targets[place][1]] for place in wanted[level]])
                    values[wanted[level]] += (M * P).sum(axis=(1, 2, 3))
                    self._add_slopes(slopes, wanted[level], level, P @ M @ P, steps, G, own)
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
        return values, slopes / self._unit

    def _add_slopes(
        self,
        slopes: Floats,
        rows: list[int],
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
        for place, grams in enumerate(G):
            total = total / (self.children[place - 1] if place else 1.0) + below[place]
            both = np.asarray(total + here[place])
            if both.ndim:
                flat = both.reshape(len(rows), -1) @ grams.reshape(len(grams), -1).T
                slopes[np.array(rows)[:, None], own[place]] -= flat

    def cheapest(
        self, start: Floats, mix: tuple[list[tuple[int, str]], Floats], bounds: Floats
    ) -> list[float]:
        """Return the budgets of least sum with which mixtures of variances are within their bounds."""
        targets, rows = mix
        if len(bounds) == 1:
            return self._balanced(start, targets, rows[0], float(bounds[0]))
        from scipy.optimize import minimize

        def log_room(full: Floats) -> tuple[Floats, Floats]:
            """Return the logarithms of bounds over variances, and their derivatives by the budgets."""
            values, slopes = self.variances(full, targets)
            mixed = rows @ values
            return np.log(bounds / mixed), -(rows @ slopes) / mixed[:, None]

        def enough(full: Floats) -> Floats:
            """Scale budgets up until no variance exceeds its bound."""
            return full * max(1.0, float(np.exp(-log_room(full)[0].min())))

        budgets, free = start, np.ones(len(start), dtype=bool)
        for _ in range(3):
            known: tuple[bytes, tuple[Floats, Floats]] = b"", log_room(start)

            def sizes(x: Floats, free: NDArray[np.bool_] = free) -> tuple[Floats, Floats]:
                nonlocal known
                if known[0] != x.tobytes():
                    full = np.zeros(len(free))
                    full[free] = np.maximum(x, 0.0)
                    room, slopes = log_room(full)
                    known = x.tobytes(), (room, slopes[:, free])
                return known[1]

            first = enough(np.where(free, budgets, 0.0))[free] * 1.0005
            scale = float(first.sum())
            found = minimize(
                lambda x, scale=scale: float(x.sum()) / scale,
                first,
                jac=lambda x, scale=scale: np.full(len(x), 1.0 / scale),
                bounds=[(0.0, None)] * len(first),
                method="SLSQP",
                constraints=[{"type": "ineq", "fun": lambda x: sizes(x)[0], "jac": lambda x: sizes(x)[1]}],
                options={"maxiter": 500, "ftol": 1e-10},
            )
            if found.status not in (0, 8, 9) or not np.all(np.isfinite(found.x)):
                raise DiscreetError(f"the search for the best plan did not converge: {found.message}")
            budgets = np.zeros(len(start))
            budgets[free] = np.maximum(found.x, 0.0)
            needed = budgets > NEGLIGIBLE * budgets.sum()
            if np.array_equal(needed, free):
                break
            free = needed
        return [float(one) for one in enough(np.where(free, budgets, 0.0))]  # what the search left open

    def _balanced(
        self, start: Floats, targets: Sequence[tuple[int, str]], row: Floats, bound: float
    ) -> list[float]:
        """Return the cheapest budgets for one sum of variances, which are inversely proportional to budgets.

        x_i times the root of its slope, rescaled, never gets worse (Yu 2010, for A-optimal designs); at the
        optimum all slopes are equal where x_i > 0, and how far the largest is from the mean bounds the rest.
        """
        x = start / start.sum()
        for _ in range(2000):
            _, slopes = self.variances(x, targets)
            gain = np.maximum(-(row @ slopes), 0.0)
            mean = float(gain @ x)
            if gain[x > 0.0].max() <= mean * (1 + BINDING):
                needed = gain > mean * 0.99  # what the optimum uses has the largest slope
                if np.all(needed | (x == 0.0)):
                    break
                x = np.where(needed, x, 0.0)
            else:
                x = x * np.sqrt(gain / mean)
                x = np.where(x > NEGLIGIBLE * 1e-3, x, 0.0)
            x /= x.sum()
        x = np.where(x > NEGLIGIBLE, x, 0.0)
        values, _ = self.variances(x, targets)
        return [float(one) for one in x * float(row @ values) / bound]

    def release(self, budgets: Sequence[float], *, up: bool, digits: int) -> Release:
        """Return the release with these budgets as short fractions, rounded up or down, zeros left out."""
        unit = Fraction(10) ** (math.floor(math.log10(sum(budgets))) - digits)
        turn = math.ceil if up else math.floor
        sizes = {key: turn(Fraction(one) / unit) * unit for key, one in zip(self.keys, budgets, strict=True)}
        levels = []
        for level in self.base.levels:
            queries = [
                Query(
                    name=query.name,
                    rho=sizes[level.name, query.name],
                    sensitivity=query.sensitivity,
                    groups=query.groups,
                )
                for query in level.queries
                if sizes[level.name, query.name]
            ]
            if queries:
                levels.append(Level(name=level.name, queries=queries))
        kept = [level.name for level in levels]
        tree = ", ".join(f"{many:g}" for many in self.children)
        note = f"Planned for the accuracy of estimates; children a unit, from the top: {tree}."
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
        names = [level.name for level in release.levels]
        by_name = dict(zip(names, told_by_level(release, names), strict=True))
        shape = Tree.chain(self.children)
        kinds = [by_name.get(name, Told(())) for name in self.names]
        levels = by_level(self.model, shape, shape.totals, self.names, kinds)
        return Accuracy(release.name, self.children, release.attributes is not None, levels)


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
        runs = ["+".join(one for one in run if one in kept) for run in release.runs(number)]
        paths.setdefault(tuple(run for run in runs if run), number)
    return Spine(paths=[(number, runs) for runs, number in paths.items()])
