"""A perturbation table of the cell-key method: which noise a count gets, by its cell key.

Counts of one size share a row. A row divides the keys among noises: the noise of a cell is that of the first
interval whose upper end exceeds its key. Everything is an exact fraction, because what matters most (from
which results one can be certain) hangs on probabilities that are exactly zero.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from typing import Literal

from discreet.errors import InputError
from discreet.numbers import Exact, fraction, shown, whole

Law = Mapping[int, Fraction]
"""Probabilities by published count, or by noise; all are above zero."""

Keying = Literal["records", "definition"]
"""Where cell keys come from: the sum of the keys of a cell's records, or a pseudorandom function of a secret
and the definition of the cell."""

Origin = Literal["ptable", "ons", "abs", "laws"]
"""What a table was read from: an export of ptable or cellKey, the ONS, the ABS; or laws that were given."""

BYTES = 256
"""Rows of a table of the ABS: the four bytes of a key, XORed."""


@dataclass(frozen=True, slots=True)
class PerturbationRow:
    """The noises of counts of one size, by intervals of the key in the order of the file.

    Keys lie in [0, 1), or are integers divided by their modulus. `stated` are the probabilities that the
    file states beside the intervals, if any: what is used are the intervals.

    >>> row = PerturbationRow(1, (Fraction(1, 4), Fraction(3, 4), Fraction(1)), (-1, 0, 1))
    >>> [row.noise(Fraction(key, 4)) for key in range(4)]
    [-1, 0, 0, 1]
    >>> row.widths
    (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))
    """

    count: int
    uppers: tuple[Fraction, ...]
    noises: tuple[int, ...]
    stated: Mapping[int, Fraction] | None = field(default=None, compare=False)

    def noise(self, key: Fraction) -> int:
        """Return the noise of a cell with this key: that of the first upper end above it."""
        return self.noises[bisect_right(self.uppers, key)]

    def edges(self, lattice: int | None) -> tuple[int | Fraction, ...]:
        """Return 0 and the upper ends; of ends on a lattice the integers, which are faster.

        >>> PerturbationRow(1, (Fraction(1, 4), Fraction(1)), (-1, 0)).edges(8)
        (0, 2, 8)
        """
        if lattice is None:
            return (Fraction(0), *self.uppers)
        return (0, *(upper.numerator * (lattice // upper.denominator) for upper in self.uppers))

    @property
    def widths(self) -> tuple[Fraction, ...]:
        """The lengths of the intervals."""
        return tuple(high - low for low, high in pairwise((Fraction(0), *self.uppers)))


@dataclass(frozen=True, slots=True)
class LargeCounts:
    """Which row serves counts above the last that has one: they take some rows in turn.

    Count n above `above` takes row (n + shift) % period + start. Without a rule it is the last row.

    >>> ons = LargeCounts(above=750, period=250, start=501, shift=-1)
    >>> ons.row(750), ons.row(751), ons.row(1000), ons.row(1001)
    (750, 501, 750, 501)
    """

    above: int
    period: int = 1
    start: int = 0
    shift: int = 0

    def row(self, count: int) -> int:
        """Return the count whose row a count uses."""
        return count if count <= self.above else (count + self.shift) % self.period + self.start


ONS_RULE = LargeCounts(above=750, period=250, start=501, shift=-1)
"""Above 750, the ONS lets rows 501 to 750 take turns."""


@dataclass(frozen=True, slots=True)
class PerturbationTable:
    """Rows by count, where keys come from, and which row serves large counts.

    Keys are real numbers in [0, 1) if there is no `modulus`, else integers below it. With `folded` keys, as
    the ABS has them, the row of a key is the XOR of its four bytes. `origin` says what the table was read
    from, and `name` is what it is called.

    >>> table = perturbation_table({1: {-1: "1/2", 1: "1/2"}, 2: {-1: "1/4", 0: "1/2", 1: "1/4"}})
    >>> table.law(1), table.row(99).count, table.noise(2, "0.3")
    ({0: Fraction(1, 2), 2: Fraction(1, 2)}, 2, 0)
    """

    rows: tuple[PerturbationRow, ...]
    modulus: int | None = None
    large: LargeCounts | None = None
    folded: bool = False
    origin: Origin = "laws"
    name: str = "the table"

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise InputError(_several(f"{self.name} is no perturbation table", problems))

    def _problems(self) -> list[str]:
        if not self.rows:
            return ["it has no rows"]
        problems = []
        counts = [row.count for row in self.rows]
        missing = sorted(set(range(max(1, counts[0]), counts[-1] + 1)) - set(counts))
        if counts != sorted(set(counts)) or counts[0] < 0:
            problems.append("its rows must be in the order of their counts, from 0 or 1 on, each once")
        elif counts[0] > 1 or missing:
            first = ", ".join(map(str, ([1] if counts[0] > 1 else missing)[:5]))
            problems.append(f"there is no row for count {first}; every count from 1 to the last needs one")
        if self.large is not None and (
            self.large.above > counts[-1] or self.large.start + self.large.period - 1 > counts[-1]
        ):
            problems.append(
                f"its last row is that of count {counts[-1]}; larger counts use rows up to "
                f"{max(self.large.above, self.large.start + self.large.period - 1)}"
            )
        lattice = BYTES if self.folded else self.modulus
        for row in self.rows:
            if len(row.uppers) != len(row.noises) or not row.noises:
                problems.append(f"row {row.count} needs one upper end for each noise")
            elif lattice is not None and any(lattice % upper.denominator for upper in row.uppers):
                problems.append(f"an upper end of row {row.count} is no multiple of 1/{lattice}")
            elif any(high <= low for low, high in pairwise(row.edges(lattice))) or row.uppers[-1] != 1:
                problems.append(f"the upper ends of row {row.count} must increase, and the last must be 1")
            if any(not isinstance(noise, int) for noise in row.noises):
                problems.append(f"a noise of row {row.count} is no whole number")
        if self.folded and self.modulus is None:
            problems.append("keys whose bytes are XORed are integers, so they need a modulus")
        return problems

    @property
    def last(self) -> int:
        """The largest count that has a row."""
        return self.rows[-1].count

    @property
    def has_zero(self) -> bool:
        """Whether there is a row for count 0."""
        return self.rows[0].count == 0

    @property
    def bound(self) -> int:
        """D: the largest noise, up or down."""
        return max(abs(noise) for row in self.rows for noise in row.noises)

    def row(self, count: int) -> PerturbationRow:
        """Return the row that serves a count; a count of 0 needs one (`has_zero`).

        >>> perturbation_table({1: {0: 1}}).row(0)
        Traceback (most recent call last):
        discreet.errors.InputError: the table has no row for count 0, which stays 0
        """
        if count < 0:
            raise InputError(f"a count is {count}; it must be 0 or more")
        if count == 0 and not self.has_zero:
            raise InputError(f"{self.name} has no row for count 0, which stays 0")
        used = min(count, self.last) if self.large is None else self.large.row(count)
        return self.rows[used - self.rows[0].count]

    def noise(self, count: int, key: Exact) -> int:
        """Return the noise of a count whose cell has this key: in [0, 1), or an integer below the modulus.

        >>> perturbation_table({1: {-1: "1/2", 1: "1/2"}}, modulus=8).noise(1, 4)
        1
        """
        number = fraction(key, name="the key")
        most = 1 if self.modulus is None else self.modulus
        if not 0 <= number < most or (self.modulus is not None and number.denominator != 1):
            kind = "a number" if self.modulus is None else "an integer"
            raise InputError(f"the key is {shown(key)}; it must be {kind} from 0 to below {most}")
        if count == 0 and not self.has_zero:
            return 0
        if self.folded:
            return self.row(count).noise(Fraction(xor_of_bytes(int(number)), BYTES))
        return self.row(count).noise(number / most)

    def noise_law(self, count: int, *, keying: Keying = "records") -> Law:
        """Return the probability of each noise of a count, the cell key being uniform.

        An empty cell has no records, so its key is 0 and its noise is certain, unless keys come from the
        definition of the cell.

        >>> table = perturbation_table({0: {0: "1/2", 1: "1/2"}})
        >>> table.noise_law(0), table.noise_law(0, keying="definition")
        ({0: Fraction(1, 1)}, {0: Fraction(1, 2), 1: Fraction(1, 2)})
        """
        if count == 0 and (not self.has_zero or keying == "records"):
            return {self.noise(0, 0): Fraction(1)}
        row, lattice = self.row(count), BYTES if self.folded else self.modulus
        edges = row.edges(lattice)
        if self.folded and self.modulus is not None:
            below = (0, *accumulate(_fold_counts(self.modulus)))
            edges = tuple(below[int(edge)] for edge in edges)
        masses: dict[int, int | Fraction] = {}
        for noise, (low, high) in zip(row.noises, pairwise(edges), strict=True):
            masses[noise] = masses.get(noise, 0) + high - low
        total = self.modulus or 1
        return {noise: Fraction(mass) / total for noise, mass in sorted(masses.items()) if mass}

    def law(self, count: int, *, keying: Keying = "records") -> Law:
        """Return the probability of each published value of a count.

        >>> perturbation_table({1: {-1: "1/2", 1: "1/2"}}).law(3)
        {2: Fraction(1, 2), 4: Fraction(1, 2)}
        """
        return {count + noise: chance for noise, chance in self.noise_law(count, keying=keying).items()}

    @property
    def counts_to_compare(self) -> range:
        """The counts n whose step to n + 1 covers every pair of neighbouring counts there is.

        Beyond the last row all steps are alike, or repeat themselves where rows take turns.

        >>> perturbation_table({1: {0: 1}, 2: {0: 1}}).counts_to_compare
        range(0, 3)
        """
        return range(
            max(self.last, 1) + 1 if self.large is None else self.large.above + self.large.period + 1
        )

    def to_csv(self) -> str:
        """Return the table as ptable exports one, with a semicolon between columns.

        Every probability must be a decimal number, which is what the file can hold.

        >>> print(perturbation_table({1: {-1: "1/2", 1: "1/2"}}).to_csv().splitlines()[1])
        1;0;0.5;-1;0;0.5
        """
        lines = ["i;j;p;v;p_int_lb;p_int_ub"]
        for row in self.rows:
            low = Fraction(0)
            for noise, high in zip(row.noises, row.uppers, strict=True):
                numbers = [_decimal(x, row.count) for x in (high - low, low, high)]
                lines.append(
                    f"{row.count};{row.count + noise};{numbers[0]};{noise};{numbers[1]};{numbers[2]}"
                )
                low = high
        return "\n".join(lines) + "\n"


def perturbation_table(
    laws: Mapping[int, Mapping[int, Exact]],
    *,
    modulus: int | None = None,
    large: LargeCounts | None = None,
    name: str = "the table",
) -> PerturbationTable:
    """Return a table with these probabilities of noise by count; intervals are in the order of the noises.

    Counts above the last use the last row, unless `large` says otherwise. With a `modulus`, keys are integers
    below it, and probabilities are multiples of its inverse. A table with a row for count 0 alone has one law
    for every count.

    >>> one_law = perturbation_table({0: {-1: "1/4", 0: "1/2", 1: "1/4"}})
    >>> one_law.law(7)
    {6: Fraction(1, 4), 7: Fraction(1, 2), 8: Fraction(1, 4)}
    >>> perturbation_table({1: {-1: "1/2", 1: "1/3"}})
    Traceback (most recent call last):
    discreet.errors.InputError: the probabilities of row 1 sum to 5/6; they must sum to 1
    """
    rows, problems = [], []
    if modulus is not None:
        whole(modulus, name="modulus")
    for count, given in sorted(laws.items()):
        law = {v: fraction(p, name=f"the probability of {v} in row {count}") for v, p in given.items()}
        if any(chance < 0 for chance in law.values()):
            problems.append(f"a probability of row {count} is negative")
        elif (total := sum(law.values(), Fraction(0))) != 1:
            problems.append(f"the probabilities of row {count} sum to {shown(total)}; they must sum to 1")
        else:
            rows.append(row_of({v: chance for v, chance in sorted(law.items()) if chance}, count))
    if problems:
        raise InputError(_several(f"{name} is no perturbation table", problems))
    return PerturbationTable(tuple(rows), modulus=modulus, large=large, name=name)


def row_of(law: Mapping[int, Fraction], count: int) -> PerturbationRow:
    """Return a row with these probabilities, intervals in the order in which the noises are given.

    >>> row_of({1: Fraction(1, 3), 0: Fraction(2, 3)}, 1).uppers
    (Fraction(1, 3), Fraction(1, 1))
    """
    uppers, total = [], Fraction(0)
    for chance in law.values():
        total += chance
        uppers.append(total)
    return PerturbationRow(count, tuple(uppers), tuple(law))


def xor_of_bytes(key: int) -> int:
    """Return the four bytes of a key, XORed: the row of a table of the ABS.

    >>> xor_of_bytes(0x01020408)
    15
    """
    return key & 255 ^ key >> 8 & 255 ^ key >> 16 & 255 ^ key >> 24 & 255


@cache
def _fold_counts(modulus: int) -> tuple[int, ...]:
    """Return how many keys below a modulus have each XOR of their bytes."""
    counts = [0] * BYTES
    # whole blocks of 256 keys hit every value once; the last, partial block is counted one by one
    full, rest = divmod(modulus, BYTES)
    for key in range(rest):
        counts[xor_of_bytes(full * BYTES + key)] += 1
    return tuple(count + full for count in counts)


def _decimal(value: Fraction, count: int) -> str:
    """Write a fraction as the decimal number it is."""
    power, rest = 0, value.denominator
    while rest % 2 == 0 or rest % 5 == 0:
        rest //= 10 if rest % 10 == 0 else 2 if rest % 2 == 0 else 5
        power += 1
    if rest != 1:
        raise InputError(
            f"a probability of row {count} is {shown(value)}, no decimal number; the file of a table has "
            "decimals: round it first"
        )
    digits = str(int(value * 10**power)).zfill(power + 1)
    return f"{digits[:-power]}.{digits[-power:].rstrip('0')}".rstrip(".") if power else digits


def _several(head: str, problems: list[str]) -> str:
    """Return one problem, or several as a list."""
    if len(problems) == 1:
        return problems[0] if problems[0].startswith("the probabilities") else f"{head}: {problems[0]}"
    lines = [f"  {number}. {text}" for number, text in enumerate(problems[:20], 1)]
    return "\n".join([f"{head}, for {len(problems)} reasons:", *lines])
