"""A perturbation table: does it keep its rules, and what does one cell cost one person?

One cell whose key is uniform publishes a count by the law of its row. So the rows of neighbouring counts, n
and n + 1, decide what it costs: exactly, in fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Annotated

from discreet.cellkey.fraction_law import FractionLaw, cell_epsilon, worst_ratio
from discreet.cellkey.table import Keying, Law, PerturbationRow, PerturbationTable
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.numbers import Exact, Interval, read_delta, share
from discreet.numbers import prior as read_prior
from discreet.questions import Option, repeated_option

NEAR = Fraction(1, 10**6)
"""How far a mean may be from 0, or a stated sum from 1, and still be rounding."""


@dataclass(frozen=True, slots=True)
class RowCheck:
    """One row: its noise, and whether it keeps the rules of a perturbation table.

    `stated_sum` is the sum of the probabilities that the file states beside the intervals, and `deviation`
    how far one of them is from the length of its intervals; a file that states none has neither. A row is
    monotone if, but for rounding, probabilities do not fall up to noise 0 and do not rise from there on.
    """

    count: int
    mean: Fraction
    variance: Fraction
    lowest: int
    highest: int
    smallest_result: int | None
    is_monotone: bool
    stated_sum: Fraction | None
    deviation: Fraction | None

    @property
    def is_deterministic(self) -> bool:
        """Whether the noise is certain."""
        return self.variance == 0

    @property
    def is_unbiased(self) -> bool:
        """Whether the mean of the noise is zero, but for rounding."""
        return abs(self.mean) <= NEAR


@dataclass(frozen=True, slots=True)
class StepCost:
    """What the step from a count to the next costs: delta at each epsilon, and delta at any epsilon.

    `joining` says in which direction it is worst at any epsilon: what the smaller count can show and the
    larger cannot, or the reverse.
    """

    count: int
    deltas: tuple[Interval, ...]
    certain: Fraction
    joining: bool


@dataclass(frozen=True, slots=True)
class RangeCost:
    """The worst over some counts: the step with the largest delta at each epsilon, and at any epsilon."""

    smallest: int
    worst: tuple[StepCost, ...]
    most_certain: StepCost

    @property
    def deltas(self) -> tuple[Interval, ...]:
        """Delta at each epsilon."""
        return tuple(step.deltas[index] for index, step in enumerate(self.worst))


@dataclass(frozen=True, slots=True)
class PerturbationCheck(Displayed):
    """What a perturbation table says of itself, and what one cell with it costs one person.

    `anywhere`, `occupied` and `large` are the worst steps over all counts, over counts of 1 or more, and over
    counts that use the last rows. `ratios` has e^epsilon for each asked delta, none where no epsilon will
    do; `errors` the least type II error at each of `alphas`; `accuracy` how often the best guess is right
    whether the record is in the cell, with this `prior`; all over all counts.

    Guarantee. Assumed: cell keys are uniform and secret. Claimed: one record more or less in one cell costs
    this delta, and no smaller one holds. Checked by tests/cellkey/test_table_checks.py from the definition.
    """

    table: PerturbationTable
    rows: tuple[RowCheck, ...]
    epsilons: tuple[Fraction, ...]
    steps: tuple[StepCost, ...]
    anywhere: RangeCost
    occupied: RangeCost
    large: RangeCost
    asked: tuple[Fraction, ...]
    ratios: tuple[Fraction | None, ...]
    alphas: tuple[Fraction, ...]
    errors: tuple[Fraction, ...]
    prior: Fraction
    accuracy: Fraction
    keying: Keying = "records"

    @property
    def bound(self) -> int:
        """D: the largest noise, up or down."""
        return self.table.bound

    @property
    def small(self) -> int:
        """The js of the table: no published count lies from 1 to js.

        >>> from discreet.cellkey.entropy import entropy_table
        >>> check_table(entropy_table(5, 3, small=2)).small
        2
        """
        least = [row.smallest_result for row in self.rows if row.smallest_result is not None]
        return min(least, default=1) - 1

    @property
    def is_unbiased(self) -> bool:
        """Whether the noise of every count has mean zero, but for rounding."""
        return all(row.is_unbiased for row in self.rows)

    @property
    def is_monotone(self) -> bool:
        """Whether every row is monotone."""
        return all(row.is_monotone for row in self.rows)

    @property
    def variance(self) -> Fraction:
        """V: the largest variance of a row, which the others need not reach."""
        return max(row.variance for row in self.rows)

    @property
    def negative(self) -> tuple[int, ...]:
        """The counts that noise can make negative."""
        return tuple(row.count for row in self.rows if row.count + row.lowest < 0)

    @property
    def deterministic(self) -> tuple[int, ...]:
        """The counts from 1 on whose noise is certain."""
        return tuple(row.count for row in self.rows if row.is_deterministic and row.count)

    @property
    def given_away(self) -> tuple[int, ...]:
        """The counts n that what is published always tells from n + 1: delta is 1 there."""
        return tuple(step.count for step in self.steps if step.certain == 1)


Epsilons = Annotated[
    Sequence[Exact],
    repeated_option("Delta at this epsilon; may be repeated. Default: 1.", "E", "epsilon"),
]
Deltas = Annotated[Sequence[Exact], repeated_option("Epsilon at this delta; may be repeated.", "D", "delta")]
Alphas = Annotated[
    Sequence[Exact],
    repeated_option("Type I error of a test; may be repeated. Default: 0.01, 0.05 and 0.1.", "A", "alpha"),
]
Prior = Annotated[
    Exact, Option("The adversary's chance that the record is there. Default: 1/2.", "P", reads=str)
]
KeySource = Annotated[
    Keying,
    Option(
        "The key of a cell: the sum of its records' keys (default), or a pseudorandom function of a "
        "secret and its definition.",
        "records|definition",
    ),
]
ALPHAS = ("0.01", "0.05", "0.1")


def check_table(
    table: PerturbationTable,
    *,
    epsilons: Epsilons = (1,),
    deltas: Deltas = (),
    alphas: Alphas = ALPHAS,
    prior: Prior = "1/2",
    keying: KeySource = "records",
) -> PerturbationCheck:
    """Return whether a table keeps its rules, and what one cell costs one person.

    Keys are sums of those of records, so that an empty cell has none; or they come from definitions.

    >>> from discreet.cellkey.entropy import entropy_table
    >>> check = check_table(entropy_table(2, 1))
    >>> [round(float(worst.deltas[0].upper), 3) for worst in (check.anywhere, check.occupied, check.large)]
    [0.634, 0.193, 0.135]
    >>> float(check.rows[1].variance)  # V is 1, which the row of count 1 does not reach
    0.93188406
    """
    powers = tuple(map(cell_epsilon, epsilons))
    if not powers:
        raise InputError("check_table needs at least one epsilon, such as 1")
    asked = tuple(read_delta(delta, zero=True) for delta in deltas)
    tests = tuple(share(alpha, name="alpha", closed=True) for alpha in alphas)
    before = read_prior(prior)
    laws = [
        (n, FractionLaw.of(table.law(n, keying=keying), table.law(n + 1, keying=keying)))
        for n in table.counts_to_compare
    ]
    steps = tuple(_step(n, law, powers) for n, law in laws)
    # of rows that take turns, the same few laws occur again and again
    distinct = list({law.masses: law for _, law in laws}.values())
    sides = [side for law in distinct for side in law.sides]
    first_large = table.last if table.large is None else table.large.above
    return PerturbationCheck(
        table=table,
        rows=tuple(_row(row, table.noise_law(row.count, keying="definition")) for row in table.rows),
        epsilons=powers,
        steps=steps,
        anywhere=_range(steps, 0),
        occupied=_range(steps, 1),
        large=_range(steps, first_large),
        asked=asked,
        ratios=tuple(worst_ratio(distinct, delta) for delta in asked),
        alphas=tests,
        errors=tuple(min(side.least_error(alpha) for side in sides) for alpha in tests),
        prior=before,
        accuracy=max(law.right_guesses(before) for law in distinct),
        keying=keying,
    )


def _row(row: PerturbationRow, law: Law) -> RowCheck:
    mean = sum((noise * chance for noise, chance in law.items()), Fraction(0))
    square = sum((noise * noise * chance for noise, chance in law.items()), Fraction(0))
    ordered = sorted(law.items())
    positive = [row.count + noise for noise, _ in ordered if row.count + noise > 0]
    rises = all(p <= q + NEAR for (_, p), (v, q) in pairwise(ordered) if v <= 0)
    falls = all(p + NEAR >= q for (v, p), (_, q) in pairwise(ordered) if v >= 0)
    deviation = None
    if row.stated is not None:
        noises = {*row.stated, *law}
        nothing = Fraction(0)
        deviation = max(abs(row.stated.get(noise, nothing) - law.get(noise, nothing)) for noise in noises)
    return RowCheck(
        row.count,
        mean,
        square - mean * mean,
        ordered[0][0],
        ordered[-1][0],
        min(positive, default=None),
        rises and falls,
        None if row.stated is None else sum(row.stated.values(), Fraction(0)),
        deviation,
    )


def _step(count: int, law: FractionLaw, epsilons: Sequence[Fraction]) -> StepCost:
    return StepCost(
        count,
        tuple(law.delta(epsilon=epsilon, certified=True) for epsilon in epsilons),
        max(side.certain for side in law.sides),
        law.swapped.certain > law.certain,
    )


def _range(steps: Sequence[StepCost], smallest: int) -> RangeCost:
    some = [step for step in steps if step.count >= smallest]
    return RangeCost(
        smallest,
        tuple(max(some, key=lambda step: step.deltas[index].upper) for index in range(len(some[0].deltas))),
        max(some, key=lambda step: step.certain),
    )
