"""The best perturbation table for a promise: the least variance, delta or epsilon, by linear programming.

For a fixed epsilon everything that is wanted of a table is linear in its probabilities: that rows sum to 1,
are unbiased and have a bounded variance, that some results never come, that probabilities fall away from no
noise, and the promise. Row n holds at (epsilon, delta) beside row n + 1 if slacks s(y) exist with

    s(y) >= p_n(y) - e^epsilon p_{n+1}(y),   s(y) >= 0,   the sum of s <= delta,

and the same with the rows exchanged. HiGHS solves the program in floats. Its solution is rounded to decimals
of `DIGITS` places such that sums and means stay exact, and every wish is checked again in fractions, with a
lower bound of e^epsilon from ball arithmetic. If rounding breaks a wish, the program is solved again with a
little to spare. So what is returned keeps what it says; only that nothing better exists rests on floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.cellkey.fraction_law import FractionLaw, cell_epsilon
from discreet.cellkey.questions import TableDesigning, Zeros
from discreet.cellkey.table import Law, PerturbationTable, perturbation_table
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.numbers import Exact, brief, fraction, positive, shown
from discreet.questions import asked_with

DIGITS = 8
"""Decimal places of the probabilities: those of the keys of ptable."""

LEAST_DELTA = Fraction(1, 10**6)
"""The least delta that decimals of 8 places can be asked for, and HiGHS can tell from zero."""

MOST_NOISE = 40
"""The largest D: a table has about D^2 probabilities."""

Objective = Literal["variance", "delta", "epsilon"]

_GRID = 10**DIGITS
_SPARE = (0, 0.002, 0.01, 0.05, 0.2, 1, 4, 16, 64, 256, -0.2, -1, -4, -16)
"""What is left to spare for rounding, in units of the last place, one after the other; below zero:
everywhere but between counts 0 and 1."""

_FINE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""How far off HiGHS may be: less than the last place."""

_EPSILON_STEPS = 10**4
"""A least epsilon is a multiple of the inverse."""

MOST_EPSILON = 10
"""The largest epsilon: the program has coefficients 1 and e^epsilon, which floats must tell apart."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a table is to be, beside its promise: which noises each count may get.

    With `zeros` "noisy" there is one row of noise for every count, 0 included. Else there is a row for each
    count up to the first that all noises are possible for, and 0 stays 0.

    >>> Wishes(largest=3, small=1, zeros="kept").noises(1)
    (-1, 1, 2, 3)
    """

    largest: int
    small: int = 0
    zeros: Zeros = "noisy"
    monotone: bool = False

    @property
    def counts(self) -> range:
        """The counts that have a row."""
        if self.zeros == "noisy":
            return range(1)
        return range(1, self.largest + (self.small + 1 if self.small else 0) + 1)

    @property
    def steps(self) -> range:
        """The counts n that are compared with n + 1: the last row serves all larger counts."""
        return range(0 if self.zeros == "kept" else self.counts[0], self.counts[-1] + 1)

    def noises(self, count: int) -> tuple[int, ...]:
        """Return the noises that a count may get: no result below 0, nor from 1 to `small`."""
        every = range(-self.largest, self.largest + 1)
        if self.zeros == "noisy":
            return tuple(every)
        return tuple(v for v in every if count + v == 0 or count + v > self.small)

    def falling(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield pairs of noises (nearer to 0, farther): the first is at least as likely, if `monotone`."""
        noises = self.noises(count)
        yield from pairwise([v for v in noises if v >= 0])
        yield from pairwise([v for v in reversed(noises) if v <= 0])

    def row(self, count: int) -> int:
        """Return the count whose row serves a count."""
        return min(count, self.counts[-1])


@dataclass(frozen=True, slots=True)
class TruncatedLaw:
    """The usual noise beside a design: cut at D, with the scale that keeps the promise with least variance.

    `variance` is in floats: about.
    """

    name: Literal["laplace", "gaussian"]
    largest: int
    variance: float


@dataclass(frozen=True, slots=True)
class TableDesign(Displayed):
    """A table and what it keeps, exactly: epsilon and delta for the worst pair of neighbouring counts.

    `delta` is an upper bound of the table's delta at `epsilon`, from ball arithmetic. `variances` has the
    exact variance of each row. `optimum` is what the linear program reached before rounding, in floats: the
    least variance, delta or epsilon, as `objective` says. `others` are truncated laws that keep the same
    promise, where one row of noise serves every count.
    """

    table: PerturbationTable
    wishes: Wishes
    objective: Objective
    epsilon: Fraction
    delta: Fraction
    asked_delta: Fraction | None
    asked_variance: Fraction | None
    variances: Mapping[int, Fraction]
    optimum: float
    others: tuple[TruncatedLaw, ...] = ()

    @property
    def variance(self) -> Fraction:
        """The largest variance of a row."""
        return max(self.variances.values())

    def law(self, count: int) -> Law:
        """Return the probabilities of noise of a row."""
        return self.table.noise_law(count, keying="definition")


@asked_with(TableDesigning)
def design_perturbation(asked: TableDesigning) -> TableDesign:
    """Return the perturbation table with the least variance for an epsilon and a delta, or the least of them.

    Two of `epsilon`, `delta` and `variance` are given, and the third is made least. Every row is unbiased,
    with noise up to `largest` (D). With `zeros` "noisy", one row of noise serves every count, also 0, and
    what comes out below 0 is published as 0. With "kept", 0 stays 0 and each small count has its own row;
    "public" means the same, but which cells are empty counts as known, so that 0 and 1 are not compared.
    `small` is the largest result that never comes, from 1 on (js). If `monotone`, probabilities do not rise
    away from 0.

    Guarantee. Assumed: the cell key is uniform, and independent of the records. Claimed: for one cell,
    the table is (epsilon, delta)-private for one record more or less, at every count; sums, means, bounds
    and variances of its rows hold exactly. Proved by the final check in fractions
    (tests/cellkey/test_cellkey_design.py checks it against another evaluation). Not proved: that no
    better table exists.

    >>> best = design_perturbation(5, epsilon=1, delta="0.01")
    >>> round(float(best.variance), 4), float(best.delta) <= 0.01
    (1.5163, True)
    >>> design_perturbation(5, epsilon=1, delta="0.16", zeros="kept")
    Traceback (most recent call last):
    discreet.errors.InputError: delta is 0.16, but with zeros kept at 0 and unbiased rows it is at least \
1/(D + 1) = 1/6 for D = 5, whatever epsilon is: give a delta of at least 1/6, a D of at least 6, or let \
zeros have noise too
    """
    wishes, epsilon, delta, variance = _checked(asked)
    _check_possible(wishes, delta, variance)
    objective: Objective = "variance" if variance is None else "delta" if delta is None else "epsilon"
    if epsilon is None:
        assert delta is not None
        assert variance is not None
        least = _least_epsilon(wishes, delta, variance)
        # a little more than the least epsilon, so that rounding has something to spare
        tried = [least + Fraction(more, _EPSILON_STEPS) for more in (1, 4, 16, 64, 256)]
    else:
        least, tried = epsilon, [epsilon]
    for epsilon in tried:
        program = _Program(wishes, epsilon)
        best = program.least("delta" if variance is not None else "variance", delta, variance)
        if best is None:
            raise InputError(_why_infeasible(wishes, epsilon, delta, variance))
        rounded = _rounded(program, best, delta, variance)
        if rounded is not None:
            break
    else:
        raise InputError(
            f"no table with probabilities of {DIGITS} decimal places was found: they are too coarse for the "
            "wishes, or these lie at the very edge of what is possible; give a larger delta or variance"
        )
    laws, bound = rounded
    reached = float(least) if objective == "epsilon" else best.objective
    return TableDesign(
        table=perturbation_table(laws, name="the designed table"),
        wishes=wishes,
        objective=objective,
        epsilon=epsilon,
        delta=bound,
        asked_delta=delta,
        asked_variance=variance,
        variances={count: noise_variance(law) for count, law in laws.items()},
        optimum=reached,
        others=_truncated_laws(epsilon, bound if delta is None else delta, wishes),
    )


def _checked(
    asked: TableDesigning,
) -> tuple[Wishes, Fraction | None, Fraction | None, Fraction | None]:
    """Read the question; all that is wrong with it is said at once."""
    problems: list[str] = []

    def number(value: Exact | None, name: str) -> Fraction | None:
        try:
            return None if value is None else positive(value, name=name)
        except InputError as error:
            problems.append(str(error))
            return None

    epsilon, delta = number(asked.epsilon, "epsilon"), number(asked.delta, "delta")
    variance = number(asked.variance, "variance")
    given = [n for n, v in vars_of(asked) if v is not None]
    if len(given) != 2:
        told = (
            "none of them is" if not given else f"{' and '.join(given)} {'is' if len(given) == 1 else 'are'}"
        )
        if len(given) == 3:
            told = "all three are"
        problems.append(f"give two of epsilon, delta and variance, and the third is made least; {told} given")
    if not isinstance(asked.largest, int) or not 1 <= asked.largest <= MOST_NOISE:
        problems.append(f"D is {shown(asked.largest)}; it must be a whole number from 1 to {MOST_NOISE}")
    if epsilon is not None and epsilon > MOST_EPSILON:
        problems.append(f"epsilon is {shown(asked.epsilon)}; it must be at most {MOST_EPSILON}")
    if delta is not None and not LEAST_DELTA <= delta < 1:
        problems.append(
            f"delta is {shown(asked.delta)}; probabilities have {DIGITS} decimal places, so it must be at "
            "least 1e-6, and below 1"
        )
    if asked.zeros not in ("noisy", "kept", "public"):
        problems.append(f"zeros is {shown(asked.zeros)}; it must be noisy, kept or public")
    if not isinstance(asked.small, int) or asked.small < 0:
        problems.append(f"small is {shown(asked.small)}; it must be a whole number, 0 or more")
    elif asked.small and asked.zeros == "noisy":
        problems.append(
            f"small is {asked.small}, but one row of noise for every count cannot avoid results: give zeros "
            "kept or public"
        )
    elif asked.small and isinstance(asked.largest, int) and asked.largest < asked.small:
        problems.append(
            f"small is {asked.small} and D is {asked.largest}: a count of 1 could only become 0, which is "
            f"biased; D must be at least {asked.small}"
        )
    if problems:
        raise InputError(problems[0] if len(problems) == 1 else "\n".join(["the wishes are:", *problems]))
    return Wishes(asked.largest, asked.small, asked.zeros, asked.monotone), epsilon, delta, variance


def vars_of(asked: TableDesigning) -> list[tuple[str, Exact | None]]:
    """Return the three numbers of which two are given, by name.

    >>> vars_of(TableDesigning(5, epsilon=1))
    [('epsilon', 1), ('delta', None), ('variance', None)]
    """
    return [("epsilon", asked.epsilon), ("delta", asked.delta), ("variance", asked.variance)]


# -- what no table can have ----------------------------------------------------------------------------------


def _check_possible(wishes: Wishes, delta: Fraction | None, variance: Fraction | None) -> None:
    """Raise if a closed form says that no table has this, whatever epsilon is.

    Where 0 stays 0 and 1 is unbiased, 1 shows as 0 with probability q <= D / (D + 1), since what it goes up
    is at most D. Results above 0 prove that the cell is not empty: delta >= 1 - q >= 1 / (D + 1). Those
    results have mean (1 - delta) / delta or more above 1, so the variance is at least
    q + q^2 / (1 - q) = q / (1 - q) >= (1 - delta) / delta.
    """
    if wishes.zeros == "kept" and delta is not None:
        least = Fraction(1, wishes.largest + 1)
        if delta < least:
            enough = math.ceil(1 / delta) - 1
            raise InputError(
                f"delta is {brief(delta)}, but with zeros kept at 0 and unbiased rows it is at least "
                f"1/(D + 1) = {least} for D = {wishes.largest}, whatever epsilon is: give a delta of at "
                f"least {least}, a D of at least {enough}, or let zeros have noise too"
            )
        if variance is not None and variance < (1 - delta) / delta:
            raise InputError(
                f"variance is {brief(variance)}, but with zeros kept at 0, unbiased rows and delta "
                f"{brief(delta)} that of count 1 is at least (1 - delta)/delta = "
                f"{brief((1 - delta) / delta)}, whatever epsilon is: give a variance of at least that, a "
                f"delta of at least {brief(1 / (1 + variance))}, or let zeros have noise too"
            )
    if (only := _two_noises(wishes)) is not None:
        raise InputError(
            f"a count of 1 can only become 0 or {wishes.small + 1}, with probability {1 - only} and {only}, "
            f"which is no decimal number of {DIGITS} places; give a D of at least {wishes.largest + 1}"
        )


def _two_noises(wishes: Wishes) -> Fraction | None:
    """Return the probability that count 1 goes up, if its mean alone decides it and it is no decimal."""
    noises = wishes.noises(1)
    if wishes.zeros == "noisy" or len(noises) != 2:
        return None
    up = Fraction(-noises[0], noises[1] - noises[0])
    return up if _GRID % up.denominator else None


def _why_infeasible(
    wishes: Wishes, epsilon: Fraction, delta: Fraction | None, variance: Fraction | None
) -> str:
    """Say what can be had instead, by programs that ask for less."""
    what = f"D = {wishes.largest}, zeros {wishes.zeros}"
    what += f", no results from 1 to {wishes.small}" if wishes.small else ""
    what += ", monotone" if wishes.monotone else ""
    program = _Program(wishes, epsilon)
    if delta is None:
        least = program.least("variance", Fraction(1), None)
        text = f"variance is {shown(variance)}, but no unbiased table ({what}) has less than"
        return f"{text} {'any' if least is None else _above(least.objective)}, with any delta"
    least = program.least("delta", None, variance)
    if least is None:
        return f"no unbiased table ({what}) exists with these wishes, with any delta: give a larger D"
    return (
        f"delta is {brief(delta)}, but the least delta of a table with epsilon {brief(epsilon)} ({what}) is "
        f"{_above(least.objective)}: give at least that, a larger epsilon, or a larger D"
    )


def _above(value: float) -> str:
    return brief(math.ceil(value * 10**6) / 10**6)


# -- the linear program --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Solution:
    """Probabilities by count, each in the order of the count's noises, and the value that was made least."""

    rows: Mapping[int, NDArray[np.float64]]
    objective: float


class _Program:
    """The linear program of some wishes at an epsilon: probabilities, slacks, the largest variance, delta."""

    def __init__(self, wishes: Wishes, epsilon: Fraction) -> None:
        self.wishes, self.epsilon = wishes, epsilon
        self._place: dict[tuple[int, int], int] = {}
        for count in wishes.counts:
            for noise in wishes.noises(count):
                self._place[count, noise] = len(self._place)
        self._size = len(self._place)
        self._rows: list[tuple[dict[int, float], float, float]] = []
        """Constraints: coefficients by variable, lower and upper end."""
        self._spared: list[tuple[int, float, bool]] = []
        """The constraints that rounding may break, how much each is tightened for one unit to spare, and
        whether it is about counts 0 and 1 alone, where the least delta leaves nothing to spare."""
        self.variance, self.delta = self._new(), self._new()
        self._build()

    def _new(self) -> int:
        self._size += 1
        return self._size - 1

    def _build(self) -> None:
        wishes, factor = self.wishes, math.exp(self.epsilon)
        for count in wishes.counts:
            mine = {noise: self._place[count, noise] for noise in wishes.noises(count)}
            self._rows.append((dict.fromkeys(mine.values(), 1.0), 1, 1))
            self._rows.append(({column: float(noise) for noise, column in mine.items()}, 0, 0))
            squares = {column: float(noise**2) for noise, column in mine.items()}
            spare = float(sum(squares.values()))
            self._at_most({**squares, self.variance: -1.0}, 0, spare=spare, first=count == 1)
            if wishes.monotone:
                for near, far in wishes.falling(count):
                    self._at_most({mine[far]: 1.0, mine[near]: -1.0}, 0, spare=float(abs(near) <= 1))
        for count in wishes.steps:
            one, two = self._results(count), self._results(count + 1)
            for here, there in ((one, two), (two, one)):
                total = {self.delta: -1.0}
                for result, chance in here.items():
                    slack, terms = self._new(), dict(chance)
                    for variable, weight in there.get(result, {}).items():
                        terms[variable] = terms.get(variable, 0) - factor * weight
                    # the last variable, -1, stands for a constant
                    constant = terms.pop(-1, 0.0)
                    self._at_most({**terms, slack: -1.0}, -constant)
                    total[slack] = 1.0
                self._at_most(total, 0, spare=(1 + factor) * len(here), first=count == 0)

    def _results(self, count: int) -> dict[int, dict[int, float]]:
        """Return the variable that is the probability of each result of a count; a kept 0 is certain."""
        if count == 0 and self.wishes.zeros != "noisy":
            return {0: {-1: 1.0}}
        row = self.wishes.row(count)
        return {count + noise: {self._place[row, noise]: 1.0} for noise in self.wishes.noises(row)}

    def _at_most(
        self, terms: Mapping[int, float], end: float, *, spare: float = 0.0, first: bool = False
    ) -> None:
        if spare:
            self._spared.append((len(self._rows), spare, first))
        self._rows.append((dict(terms), -math.inf, end))

    def least(
        self,
        objective: Literal["variance", "delta"],
        delta: Fraction | None,
        variance: Fraction | None,
        spare: float = 0,
    ) -> _Solution | None:
        """Return the table with the least variance or delta, `spare` units of the last place to spare.

        Of several such tables it is the one whose variances add up to the least. None if there is none.
        """
        upper = {self.delta: 1.0 if delta is None else float(delta)}
        upper[self.variance] = math.inf if variance is None else float(variance)
        goal = self.variance if objective == "variance" else self.delta
        first = self._solve({goal: 1.0}, upper, spare)
        if first is None:
            return None
        best = float(first[goal])
        squares = {column: float(noise**2) for (_, noise), column in self._place.items()}
        upper[goal] = min(upper[goal], best * (1 + 1e-9) + 1e-12)
        second = self._solve(squares, upper, spare)
        values = first if second is None else second
        rows = {
            count: np.array([values[self._place[count, noise]] for noise in self.wishes.noises(count)])
            for count in self.wishes.counts
        }
        return _Solution(rows, best)

    def _solve(
        self, goal: Mapping[int, float], upper: Mapping[int, float], spare: float
    ) -> NDArray[np.float64] | None:
        ends = np.array([high for _, _, high in self._rows], dtype=np.float64)
        for number, times, is_first in self._spared:
            if not (is_first and spare < 0):
                ends[number] -= times * abs(spare) / _GRID
        costs, most = np.zeros(self._size), np.full(self._size, np.inf)
        costs[list(goal)] = list(goal.values())
        most[list(upper)] = list(upper.values())
        equal = np.array([low == high for _, low, high in self._rows])
        limits = {"A_ub": self._matrix[~equal], "b_ub": ends[~equal]}
        limits |= {"A_eq": self._matrix[equal], "b_eq": ends[equal]}
        bounds = np.column_stack([np.zeros(self._size), most])
        for presolve in (True, False):  # at the very edge, presolving may give up
            solution = scipy.optimize.linprog(
                costs, **limits, bounds=bounds, options={**_FINE, "presolve": presolve}
            )
            if solution.status in (0, 2):
                break
        return None if solution.status != 0 else solution.x

    @cached_property
    def _matrix(self) -> scipy.sparse.csr_array:
        entries = [
            (number, column, value)
            for number, (terms, _, _) in enumerate(self._rows)
            for column, value in terms.items()
        ]
        numbers, places, values = zip(*entries, strict=True)
        return scipy.sparse.csr_array((values, (numbers, places)), shape=(len(self._rows), self._size))


def _least_epsilon(wishes: Wishes, delta: Fraction, variance: Fraction) -> Fraction:
    """Return the least epsilon at which such a table exists, rounded up to four places."""

    def feasible(steps: int) -> bool:
        program = _Program(wishes, Fraction(steps, _EPSILON_STEPS))
        return program.least("delta", delta, variance) is not None

    low, high = 0, MOST_EPSILON * _EPSILON_STEPS
    if not feasible(high):
        raise InputError(_why_infeasible(wishes, Fraction(MOST_EPSILON), delta, variance))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return Fraction(high, _EPSILON_STEPS)


# -- rounding, and the proof ---------------------------------------------------------------------------------


def _rounded(
    program: _Program, best: _Solution, delta: Fraction | None, variance: Fraction | None
) -> tuple[dict[int, Law], Fraction] | None:
    """Return a table of decimals that keeps every wish, checked in fractions, and its delta; or none."""
    objective: Literal["variance", "delta"] = "delta" if variance is not None else "variance"
    for spare in _SPARE:
        if spare:
            solution = program.least(objective, delta, variance, spare)
            if solution is None:
                continue
            best = solution
        laws = {count: _round_row(program.wishes, count, row) for count, row in best.rows.items()}
        bound = _delta_if_kept(program.wishes, laws, program.epsilon, variance)
        if bound is not None and (delta is None or bound <= delta):
            return laws, bound
    return None


def _round_row(wishes: Wishes, count: int, chances: NDArray[np.float64]) -> Law:
    """Round one row such that its sum and its mean are exact.

    Floors keep the order of probabilities; what is missing goes to few noises. One row for all counts
    is symmetric, since the mean of a row and its mirror image keeps all that either keeps.
    """
    noises = wishes.noises(count)
    if wishes.zeros == "noisy":
        chances = (chances + chances[::-1]) / 2
    # a solution on the grid must stay there although floats are a little off
    units = [math.floor(chance * _GRID + 1e-3) for chance in chances.tolist()]
    law = dict(zip(noises, units, strict=True))
    left, pull = _GRID - sum(units), -sum(v * unit for v, unit in law.items())
    for change in _corrections(law, left, pull):
        moved = {v: unit + change.get(v, 0) for v, unit in law.items()}
        falls = (moved[near] >= moved[far] for near, far in wishes.falling(count))
        if min(moved.values()) >= 0 and (not wishes.monotone or all(falls)):
            law = moved
            break
    return {v: Fraction(unit, _GRID) for v, unit in law.items() if unit}


def _corrections(law: Mapping[int, int], left: int, pull: int) -> Iterator[dict[int, int]]:
    """Yield changes of a row that add `left` units and `pull` units times noise, likeliest noises first.

    Two noises take any sum and, if they are neighbours, any mean; others do if a third gives some units.
    """
    by_size = sorted(law, key=lambda noise: -law[noise])
    for third_change in (0, 1, -1, 2, -2, 3, -3):
        for third in by_size[: 1 if third_change == 0 else None]:
            for one, two in combinations([v for v in by_size if v != third or not third_change], 2):
                rest = pull - third * third_change - one * (left - third_change)
                if rest % (two - one) == 0:
                    more = rest // (two - one)
                    yield {third: third_change} | {one: left - third_change - more, two: more}


def _delta_if_kept(
    wishes: Wishes, laws: Mapping[int, Law], epsilon: Fraction, variance: Fraction | None
) -> Fraction | None:
    """Return the delta of a table, as an upper bound, if it keeps every other wish exactly; else None."""
    for count, law in laws.items():
        kept = (
            min(law.values()) > 0
            and sum(law.values()) == 1
            and set(law) <= set(wishes.noises(count))
            and sum(v * chance for v, chance in law.items()) == 0
            and (variance is None or noise_variance(law) <= variance)
        )
        if wishes.monotone:
            zero = Fraction(0)
            kept &= all(law.get(near, zero) >= law.get(far, zero) for near, far in wishes.falling(count))
        if not kept:
            return None

    def results(count: int) -> Law:
        if count == 0 and wishes.zeros != "noisy":
            return {0: Fraction(1)}
        return {count + noise: chance for noise, chance in laws[wishes.row(count)].items()}

    return max(worst_delta(results(n), results(n + 1), epsilon) for n in wishes.steps)


def noise_variance(law: Law) -> Fraction:
    """Return the variance of unbiased noise.

    >>> noise_variance({-1: Fraction(1, 4), 0: Fraction(1, 2), 1: Fraction(1, 4)})
    Fraction(1, 2)
    """
    return sum((v * v * chance for v, chance in law.items()), Fraction(0))


def worst_delta(one: Law, two: Law, epsilon: Fraction) -> Fraction:
    """Return an upper bound of the delta of two laws at an epsilon, in the worse direction.

    >>> half = Fraction(1, 2)
    >>> float(worst_delta({0: half, 1: half}, {0: half, 2: half}, Fraction(1)))
    0.5
    """
    return FractionLaw.of(one, two).delta(epsilon=cell_epsilon(epsilon), certified=True).upper


# -- truncated laws, for comparison --------------------------------------------------------------------------


def _truncated_laws(epsilon: Fraction, delta: Fraction, wishes: Wishes) -> tuple[TruncatedLaw, ...]:
    """Return the truncated laws of least variance that keep the promise; their D is chosen freely."""
    if wishes.zeros != "noisy":
        return ()
    laws = (truncated_law(name, epsilon=epsilon, delta=delta) for name in ("laplace", "gaussian"))
    return tuple(law for law in laws if law is not None)


def truncated_law(
    name: Literal["laplace", "gaussian"], *, epsilon: Exact, delta: Exact
) -> TruncatedLaw | None:
    """Return the truncated Laplace or Gaussian law of least variance with (epsilon, delta); None if none.

    Probabilities fall like exp(-|v|/s) or exp(-v^2/(2 s^2)) up to D, and D is at most 60.

    >>> truncated_law("laplace", epsilon=1, delta="0.05")  # doctest: +ELLIPSIS
    TruncatedLaw(name='laplace', largest=3, variance=1.2228...)
    """
    size, small = float(fraction(epsilon, name="epsilon")), float(fraction(delta, name="delta"))
    best: TruncatedLaw | None = None
    for largest in range(1, 61):
        if best is not None and largest > best.largest + 8:  # what is cut off no longer matters
            break
        scale = _least_scale(name, largest, size, small)
        if scale is not None:
            variance = float(
                _truncated(name, largest, np.array([scale]))[0] @ np.arange(-largest, largest + 1.0) ** 2
            )
            # a larger D must gain something: it widens every published interval
            if best is None or variance < best.variance * (1 - 1e-6):
                best = TruncatedLaw(name, largest, variance)
    return best


def _truncated(name: str, largest: int, scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of -D to D, one row for each scale."""
    v = np.abs(np.arange(-largest, largest + 1.0))
    exponent = v / scales[:, None] if name == "laplace" else v**2 / (2 * scales[:, None] ** 2)
    weights = np.exp(-exponent)
    chances: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return chances


def _least_scale(name: str, largest: int, epsilon: float, delta: float) -> float | None:
    """Return the least scale at which a truncated law keeps (epsilon, delta); None if there is none.

    A grid finds the first scale that does, and repeated division of the step before it the rest.
    """
    low, high = 0.05, 200.0
    for _ in range(4):
        scales = np.geomspace(low, high, 400)
        kept = np.flatnonzero(_deltas(_truncated(name, largest, scales), epsilon) <= delta)
        if not len(kept):
            return None
        low, high = float(scales[max(kept[0] - 1, 0)]), float(scales[kept[0]])
    return high


def _deltas(chances: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Return the delta of symmetric noise at an epsilon, for one record more or less, row by row."""
    here, there = np.pad(chances, ((0, 0), (0, 1))), np.pad(chances, ((0, 0), (1, 0)))
    deltas: NDArray[np.float64] = np.maximum(here - math.exp(epsilon) * there, 0).sum(axis=1)
    return deltas
