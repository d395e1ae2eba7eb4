"""The risk of every row of a released table, and a summary by level: streamed, so of any length.

Columns are found by name. Two kinds of table are known by theirs: measurements of this package (`value`,
`variance`, `level`) and tabulations of detailed groups (`COUNT`, `NOISE_VARIANCE`, `REGION_TYPE`).

The adversary knows everyone but the target. What count that makes may be given (one for all rows, or one a
row). If it is not, a row's risk is averaged over the counts that may be known if the target is present: with
c the true count, k = c - 1 others are known, and the noise was y - c. How likely each c is, is either

- what the *table itself suggests* (empirical Bayes). The law of the counts in rows of one noise is estimated
  by expectation-maximization from how often each noisy value occurs, from a flat start, and stopped when the
  likelihood hardly rises any more: beyond that it would fit the noise. The target is any of the c people,
  so c counts c times. A row with fewer than 100 others within six standard deviations has none to suggest
  anything but itself, as if its noise were zero; the flat law serves for it. Noise of a standard deviation
  of 16 or more does not tell neighbouring counts apart; they are then taken together, an eighth of a
  deviation wide; or
- *flat*: every count is as likely as any other. Then the noise is distributed as noise that is at most y - 1.
  That is what a suggested law amounts to far above zero, and it serves for all rows more than 50 standard
  deviations up: how large a count is tells nothing then. Near zero it overstates the counts of a sparse
  table, and understates the risk.

A row tells much where the release more than *doubles the odds* that the target is there, chance present over
chance absent. That is a ratio of likelihoods, so it means the same for every prior; a belief of one half
could not double.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, PrecisionError
from discreet.files import ArrowArray, ArrowTable, FilePath, arrow, whole_file
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.gaussian_tail import tail_ratio
from discreet.numbers import decimal
from discreet.risk.attack import (
    LARGEST,
    VARIANCES,
    Attack,
    Floats,
    Number,
    Prior,
    read_known,
    read_prior,
    rows_of_equal,
    zero_evidence,
)
from discreet.tables import Kind, OpenTable, Problems, TableSource, find_columns, open_table

NOISY = ("value", "COUNT", "noisy", "count")
VARIANCE = ("variance", "NOISE_VARIANCE")
LEVEL = ("level", "REGION_TYPE")

QUANTILES = (0.5, 0.9, 0.99, 0.999)
MOST_LEVELS = 1000
MOST_ENTRIES = 10_000_000
"""Noisy values that are told apart, some 95 standard deviations for each noise of each level (400 MB)."""

MOST_VALUES = 1 << 18
"""Distinct ratios that are kept as they are; beyond, all are rounded to `DIGITS` significant digits."""

DIGITS = 5
EVERYTHING = "all rows"

SomeRows = NDArray[np.intp] | slice
CountsLaw = Literal["table", "flat"]

DOUBLED = math.log(2.0)
"""Evidence, a log ratio of likelihoods, above this is counted: the odds have more than doubled."""

FEWEST_ROWS = 100
"""Fewer rows of one noise near a value do not suggest a law; the flat one is used."""

_REACH = 37.0  # standard deviations: exp(-37^2 / 2) is near the smallest float
_USED = 30.0  # from here on what lies beyond the reach is nothing
_TOP = 50.0  # standard deviations above zero up to which a table suggests its law
_WIDE = 15.0  # standard deviations beyond the top whose rows are used for the law, too
_NEAR = 6.0  # standard deviations: noise beyond is as good as impossible, P = 2e-9
_MOST_ROUNDS, _ROUNDS, _GAIN = 3000, 20, 1.0


@dataclass(frozen=True, slots=True)
class LevelRisk:
    """The rows of one level: how many, how large the ratio is, and in what share the odds more than double.

    `targets_doubled` is the share among the people counted, where the known counts are not given.
    """

    level: str
    rows: int
    share_doubled: float
    maximum: float
    quantiles: tuple[float, ...]
    mean_posterior: float
    is_rounded: bool
    targets_doubled: float | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the level as JSON has it."""
        return {
            "level": self.level,
            "rows": self.rows,
            "share_odds_doubled": self.share_doubled,
            "targets_odds_doubled": self.targets_doubled,
            "maximum_ratio": self.maximum,
            "quantiles": {str(q): value for q, value in zip(QUANTILES, self.quantiles, strict=True)},
            "mean_posterior": self.mean_posterior,
            "quantiles_rounded": self.is_rounded,
        }


@dataclass(frozen=True, slots=True, eq=False)
class TableRisk:
    """The risk of a table: who the adversary is, and a summary for each level and for all rows."""

    rows: int
    prior: float
    adversary: str
    levels: tuple[LevelRisk, ...]
    total: LevelRisk
    tallies: dict[str, Tally]

    def as_dict(self) -> dict[str, object]:
        """Return the answer as JSON has it."""
        return {
            "rows": self.rows,
            "prior": self.prior,
            "adversary": self.adversary,
            "levels": [level.as_dict() for level in self.levels],
            "all": self.total.as_dict(),
        }

    def __str__(self) -> str:
        lines = [f"{self.rows} rows; {self.adversary}"]
        for one in (*self.levels, self.total):
            most = float(decimal(Fraction(one.maximum), digits=4, down=False))
            lines.append(f"{one.level}: odds doubled in {one.share_doubled:.2%}, ratio at most {most:.4g}")
        return "\n".join(lines)


def table_risk(
    path: TableSource,
    *,
    prior: Number,
    known: int | None = None,
    noisy_column: str | None = None,
    variance_column: str | None = None,
    level_column: str | None = None,
    known_column: str | None = None,
    law: CountsLaw = "table",
    nonnegative: bool = False,
    out: FilePath | None = None,
) -> TableRisk:
    """Return the risk of a released table for someone who knows everyone but the target.

    The table is a file (CSV, Parquet or Arrow), or one in memory (pandas, polars, Arrow).
    What count that knowledge makes is `known` for all rows, or that of `known_column`. Without either, each
    row's risk is its average over the counts that may be known if the target is present: by the law of counts
    that the table itself suggests for each level and noise (`law="table"`, empirical Bayes), or with all
    counts as likely as each other (`law="flat"`); see `discreet.risk.table`. `out` is a CSV file for the
    rows with their risk; it appears when all is done, or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.csv")
    ...     _ = file.write_text("level,value,variance\\nBlock,8,5\\nBlock,1,5\\nState,70,5\\n")
    ...     print(table_risk(file, prior="1/10", known=0))
    3 rows; someone who knows everyone else in the row, 0 with the characteristics, and gives the target a \
chance of 0.1
    Block: odds doubled in 50.00%, ratio at most 3.325
    State: odds doubled in 100.00%, ratio at most 10
    all rows: odds doubled in 66.67%, ratio at most 10
    """
    if known is not None and known_column is not None:
        raise InputError("the known count is stated twice: for all rows, and by a column")
    if law not in ("table", "flat"):
        raise InputError(f"law is {law!r}; it must be 'table' or 'flat'")
    chance = read_prior(prior)
    if chance.present.ndim:
        raise InputError("a table has one adversary with one prior")
    fixed = None if known is None else read_known(known)
    asked = (noisy_column, variance_column, level_column, known_column)
    source = ReleasedTable.open(path, asked, everything=out is not None, nonnegative=nonnegative)
    summary, flat = _Summary(), 0
    with _writing(None if out is None else Path(out), fixed, known_column) as write:
        if fixed is None and known_column is None:
            risk_of, flat = _averaged(source, summary, chance, law)
            for part in source.parts() if out is not None else ():
                write(part, risk_of(part))
        else:
            for part in source.parts():
                count = part.known if part.known is not None else fixed
                assert count is not None
                risk = known_risk(chance, part.noisy, part.variance, count, nonnegative=nonnegative)
                for name, rows in part.by_level():
                    summary.add(name, risk.at(rows))
                write(part, risk)
    who = _words(fixed, known_column, law, flat, float(chance.present), nonnegative)
    return summary.result(float(chance.present), who)


def _words(
    known: Floats | None, column: str | None, law: CountsLaw, flat: int, prior: float, nonnegative: bool
) -> str:
    who = "someone who knows everyone else in the row"
    if known is not None:
        who += f", {int(known)} with the characteristics"
    elif column is not None:
        who += f", as many with the characteristics as column {column!r} says"
    elif law == "table":
        who += ", averaged over the possible counts, weighted as the table itself suggests"
        if flat:
            some = "1 row that is large or has" if flat == 1 else f"{flat:,} rows that are large or have"
            who += f" (for {some} few others near, all counts equally likely)"
    else:
        who += ", averaged over the possible counts, all equally likely"
    floor = "; negative values were published as zero" if nonnegative else ""
    return f"{who}, and gives the target a chance of {prior:.6g}{floor}"


def _averaged(
    source: ReleasedTable, summary: _Summary, prior: Prior, law: CountsLaw
) -> tuple[Callable[[Batch], RowRisk], int]:
    """Add up a table by what it says of its counts, by level and noise.

    Returned are what gives the risk of a part, and how many rows have the flat law unasked: large ones, and
    those with too few others near.
    """
    seen: dict[tuple[str, float], Histogram] = {}
    entries = 0
    for part in source.parts():
        for key, rows in part.by_noise():
            if key not in seen:
                seen[key] = Histogram(key[1])
                entries += seen[key].counts.size
                if entries > MOST_ENTRIES:
                    raise PrecisionError(
                        "the table has too many different variances to average each over the counts that may "
                        "be known: state the known count, or its column"
                    )
            seen[key].add(part.noisy[rows])
    averages, flat = {}, 0
    for key, counted in seen.items():
        used = counted if law == "table" else None
        averages[key] = Averages(key[1], prior, nonnegative=source.nonnegative, rows=used)
        values, often = counted.seen()
        flat += 0 if used is None else int(often[~used.suggests(values)].sum())
        summary.add(key[0], averages[key].at(values), often)

    def risk(part: Batch) -> RowRisk:
        found = np.empty((4, part.noisy.size))
        for key, rows in part.by_noise():
            found[:, rows] = averages[key].at(part.noisy[rows])
        return RowRisk(*found)

    return risk, flat


class _Summary:
    """Tallies by level, in the table's order."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.sums: dict[str, Floats] = {}  # of rows, odds doubled, posteriors, targets, and theirs doubled

    def add(self, name: str, risk: RowRisk, often: NDArray[np.int64] | None = None) -> None:
        """Add rows of a level, each as `often` as said; then their people count too."""
        if name not in self.tallies and len(self.tallies) == MOST_LEVELS:
            raise InputError(
                f"the column of levels has more than {MOST_LEVELS} different values; name another one"
            )
        self.tallies.setdefault(name, Tally()).add(risk.ratio, often)
        rows = np.ones(risk.ratio.size) if often is None else often
        people = np.zeros(rows.size) if often is None else often * risk.targets
        parts = (rows, rows * risk.doubled, rows * risk.posterior, people, people * risk.doubled)
        self.sums[name] = self.sums.get(name, np.zeros(5)) + [part.sum() for part in parts]

    def result(self, prior: float, adversary: str) -> TableRisk:
        """The summary; a table without levels has one for all rows only."""
        levels = tuple(self._level(name, self.tallies[name], self.sums[name]) for name in self.tallies)
        if list(self.tallies) == [EVERYTHING]:
            total, levels = levels[0], ()
        else:
            together = Tally()
            for tally in self.tallies.values():
                together.absorb(tally)
            total = self._level(EVERYTHING, together, np.sum(list(self.sums.values()), axis=0))
        return TableRisk(total.rows, prior, adversary, levels, total, self.tallies)

    def _level(self, name: str, tally: Tally, sums: Floats) -> LevelRisk:
        rows, above, posterior, people, named = (float(x) for x in sums)
        marks, share = tuple(tally.quantiles(QUANTILES)), named / people if people else None
        found = above / rows, tally.maximum, marks, posterior / rows, tally.is_rounded, share
        return LevelRisk(name, int(rows), *found)


@contextmanager
def _writing(
    out: Path | None, known: Floats | None, column: str | None
) -> Iterator[Callable[[Batch, RowRisk], None]]:
    """Give a function that writes a part with its risk; the file is moved to its place at the end."""
    if out is None:
        yield lambda part, risk: None
        return
    pa, text = arrow(), arrow("csv")
    writer: Any = None

    def write(part: Batch, risk: RowRisk) -> None:
        nonlocal writer
        batch = part.batch
        more: dict[str, Floats] = {} if known is None else {"known": np.full(batch.num_rows, known)}
        more |= {"posterior": risk.posterior, "ratio": risk.ratio}
        if known is None and column is None:
            more["chance_odds_doubled"] = risk.doubled
        for name, values in more.items():
            if name in batch.schema.names:
                raise InputError(
                    f"the table has a column {name!r} already; the rows cannot be written with it"
                )
            batch = batch.append_column(name, pa.array(values))
        if writer is None:
            writer = text.CSVWriter(stream, batch.schema)
        writer.write_batch(batch)

    try:
        with whole_file(out) as stream:
            yield write
            if writer is not None:
                writer.close()
    except pa.ArrowInvalid:
        raise InputError(f"{out} cannot be written: a column of the table cannot be written as CSV") from None
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from None


@dataclass(slots=True, eq=False)
class Tally:
    """Quantiles of a great many numbers in little memory: distinct values with how often they came.

    >>> tally = Tally()
    >>> tally.add(np.array([1.0, 3.0, 1.0, 2.0]))
    >>> tally.quantiles([0.5, 0.75, 1.0]), tally.total
    ([1.0, 2.0, 3.0], 4)
    """

    values: Floats = field(default_factory=lambda: np.empty(0))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    is_rounded: bool = False
    maximum: float = -np.inf

    @property
    def total(self) -> int:
        """How many values were added."""
        return int(self.counts.sum())

    def add(self, values: Floats, often: NDArray[np.int64] | None = None) -> None:
        """Add values, each as often as said, or once."""
        if not values.size:
            return
        self.maximum = max(self.maximum, float(values.max()))
        kept = _rounded(values) if self.is_rounded else values
        if often is None:
            kept, often = np.unique(kept, return_counts=True)
        self._merge(kept, often)
        if self.values.size > MOST_VALUES and not self.is_rounded:
            self.is_rounded = True
            kept, counts = _rounded(self.values), self.counts
            self.values, self.counts = np.empty(0), np.empty(0, dtype=np.int64)
            self._merge(kept, counts)

    def absorb(self, other: Tally) -> None:
        """Add what another tally holds."""
        self.maximum = max(self.maximum, other.maximum)
        self.is_rounded = self.is_rounded or other.is_rounded
        self._merge(other.values, other.counts)

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Return for each share the smallest value that so large a share of all values does not exceed."""
        order = np.cumsum(self.counts)
        places = np.searchsorted(order, np.asarray(shares) * order[-1] * (1 - 1e-15), side="left")
        return [float(value) for value in self.values[np.minimum(places, self.values.size - 1)]]

    def _merge(self, values: Floats, counts: NDArray[np.int64]) -> None:
        self.values, place = np.unique(np.concatenate([self.values, values]), return_inverse=True)
        both = np.concatenate([self.counts, counts])
        self.counts = np.bincount(place, weights=both, minlength=self.values.size).astype(np.int64)


def _rounded(values: Floats) -> Floats:
    """Values to a few significant digits; zero stays zero."""
    unit = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(values), 1e-290))) - (DIGITS - 1))
    return np.asarray(np.rint(values / unit) * unit)


# -- the risk of rows -----------------------------------------------------------------------------------


class RowRisk(NamedTuple):
    """The risk of each row: posterior, ratio, and the chance that the odds more than double.

    `targets` is how many people the row is expected to count: the weight of its risk among all people.
    """

    posterior: Floats
    ratio: Floats
    doubled: Floats
    targets: Floats

    def at(self, rows: SomeRows) -> RowRisk:
        """Return that of some rows."""
        return RowRisk(*(values[rows] for values in self))


def known_risk(
    prior: Prior, noisy: Floats, variance: Floats, known: Floats, *, nonnegative: bool = False
) -> RowRisk:
    """Return the risk where the count without the target is known.

    >>> from discreet.risk.attack import read_prior
    >>> risk = known_risk(read_prior("1/10"), np.array([1.0, 8.0]), np.array(5.0), np.array(0.0))
    >>> risk.ratio.round(3).tolist(), risk.doubled.tolist()
    ([1.094, 3.324], [0.0, 1.0])
    """
    evidence = Attack(variance=variance, known=known, nonnegative=nonnegative).evidence(noisy)
    ratio = prior.ratio(evidence)
    doubled = (evidence > DOUBLED).astype(np.float64)
    return RowRisk(prior.posterior(evidence), ratio, doubled, np.broadcast_to(known + 1.0, ratio.shape))


@dataclass(slots=True, eq=False)
class Histogram:
    """How often each noisy value occurs in rows of one noise; of those far above zero, their number and sum.

    >>> rows = Histogram(5.0)
    >>> rows.add(np.array([-3.0, 1.0, 1.0, 10.0**9, 10.0**9 + 2]))
    >>> rows.rows, [(int(y), int(n)) for y, n in zip(*rows.seen())]
    (5, [(-3, 1), (1, 2), (1000000001, 2)])
    """

    variance: float
    rows: int = 0
    high: int = 0
    high_sum: float = 0.0
    far: dict[float, int] = field(default_factory=dict)  # values so low that no honest table has them
    counts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.last - self.first + 1, dtype=np.int64)

    @property
    def first(self) -> int:
        """The lowest value that has its own place."""
        return 1 - math.floor(_USED * math.sqrt(self.variance))

    @property
    def top(self) -> int:
        """The highest value at which a table may suggest a law."""
        return math.ceil(_TOP * math.sqrt(self.variance)) + 20

    @property
    def last(self) -> int:
        """The highest value that has its own place; rows between the top and this one serve the law, too."""
        return self.top + math.ceil(_WIDE * math.sqrt(self.variance)) + 1

    def suggests(self, values: Floats) -> NDArray[np.bool_]:
        """Whether enough rows are near each of some values, themselves included, to suggest a law there."""
        reach, sums = math.ceil(_NEAR * math.sqrt(self.variance)), np.append(0, np.cumsum(self.counts))
        low, high = (
            sums[np.clip(values + end - self.first, 0, self.counts.size).astype(np.int64)]
            for end in (-reach, reach + 1)
        )
        return np.asarray((high - low >= FEWEST_ROWS) & (values >= self.first) & (values <= self.top))

    def add(self, noisy: Floats) -> None:
        """Count values."""
        self.rows += noisy.size
        low = noisy < self.first
        if low.any():
            for value, count in zip(*np.unique(noisy[low], return_counts=True), strict=True):
                self.far[float(value)] = self.far.get(float(value), 0) + int(count)
            noisy = noisy[~low]
        high = noisy > self.last
        self.high, self.high_sum = self.high + int(high.sum()), self.high_sum + float(noisy[high].sum())
        places = (noisy[~high] - self.first).astype(np.int64)
        self.counts += np.bincount(places, minlength=self.counts.size)

    def seen(self) -> tuple[Floats, NDArray[np.int64]]:
        """Return the values that occur, and how often; those too high for their own place by their mean.

        Their risk is the same, and the people that they count add up.
        """
        places = np.flatnonzero(self.counts)
        far, high = sorted(self.far), [self.high_sum / self.high] if self.high else []
        values = np.concatenate([far, places + float(self.first), high])
        often = [*(self.far[y] for y in far), *self.counts[places].tolist(), *([self.high] if high else [])]
        return values, np.array(often, dtype=np.int64)


class Averages:
    """The risk of rows of one noise, averaged over the counts that may be known, at every noisy value.

    >>> from discreet.risk.attack import read_prior
    >>> flat = Averages(5.0, read_prior("1/10"))
    >>> flat.at(np.array([-3.0, 1.0, 100.0])).ratio.round(3).tolist()
    [0.478, 0.86, 1.169]
    """

    def __init__(
        self, variance: float, prior: Prior, *, nonnegative: bool = False, rows: Histogram | None = None
    ) -> None:
        self.variance, self.prior = variance, prior
        self.first, self.ratio, self.doubled = _flat(variance, prior)
        self.zero = _flat_zero(variance, prior) if nonnegative else None
        if rows is not None:  # one place more than a law has: there, and above, the flat law holds
            more = max(0, int(rows.top - self.first) + 2 - self.ratio.size)
            self.ratio, self.doubled = (
                np.append(x, np.full(more, x[-1])) for x in (self.ratio, self.doubled)
            )
        values: Floats = np.arange(float(self.ratio.size)) + self.first
        self.targets = np.maximum(values, 1.0)
        if rows is None or not (inside := rows.suggests(values)).any():
            return
        law = suggested_law(rows, nonnegative=nonnegative)
        found = law.averages(prior, nonnegative=nonnegative)
        inside &= values >= law.noisy[0]
        for mine, theirs in zip((self.ratio, self.doubled, self.targets), found, strict=True):
            mine[inside] = np.interp(values[inside], law.noisy, theirs)
        if nonnegative and rows.suggests(np.zeros(1)).all():
            self.zero = (float(found[0][0]), float(found[1][0]), float(found[2][0]))

    def at(self, noisy: Floats) -> RowRisk:
        """Return the risk of rows with these noisy values."""
        place = (np.clip(noisy, self.first, self.first + self.ratio.size - 1) - self.first).astype(np.int64)
        ratio, doubled = self.ratio[place], self.doubled[place]
        targets = np.where(place == self.ratio.size - 1, np.maximum(noisy, 1.0), self.targets[place])
        far = noisy < self.first
        if far.any():  # no honest table has such a row, but an answer that is off would be worse than slow
            values, back = np.unique(noisy[far], return_inverse=True)
            ratio[far] = np.array([self._far(float(y)) for y in values])[back]
            doubled[far] = 0.0  # the ratio is far below one there
        if self.zero is not None:
            ratio[noisy == 0], doubled[noisy == 0], targets[noisy == 0] = self.zero
        return RowRisk(self.prior.present * ratio, ratio, doubled, targets)

    def _far(self, noisy: float) -> float:
        """The mean ratio so far below zero that the weights are no floats any more: relative to the first."""
        steps = np.arange(math.ceil(40.0 * self.variance / (1.0 - noisy)) + 1.0)
        noise = noisy - 1.0 - steps
        weights = np.exp(-steps * (2.0 * (1.0 - noisy) + steps) / (2.0 * self.variance))
        return float(weights @ self.prior.ratio((noise + 0.5) / self.variance) / weights.sum())


def _flat(variance: float, prior: Prior) -> tuple[float, Floats, Floats]:
    """First value, mean ratios and chances under the flat law: running sums over the noise up to y - 1."""
    reach = math.ceil(_REACH * math.sqrt(variance))
    noise = np.arange(-reach, reach + 1.0)
    weights = np.exp(-noise * (noise / (2.0 * variance)))
    evidence = (noise + 0.5) / variance
    start = reach - math.floor(_USED * math.sqrt(variance))
    total, ratio, doubled = (
        np.cumsum(weights * values)[start:] for values in (1.0, prior.ratio(evidence), evidence > DOUBLED)
    )
    return float(noise[start]) + 1.0, ratio / total, doubled / total


def _flat_zero(variance: float, prior: Prior) -> tuple[float, float, float]:
    """The averages at a published zero: k is weighted by P[noise <= -k - 1]."""
    known = np.arange(math.ceil(_REACH * math.sqrt(variance)) + 2.0)
    tails = np.log(tail_ratio(known, variance)) - known * (known / (2.0 * variance))
    evidence = np.diff(tails)
    weights = np.exp(tails[1:] - tails[1]) / np.exp(tails[1:] - tails[1]).sum()
    return float(weights @ prior.ratio(evidence)), float(weights @ (evidence > DOUBLED)), 1.0


@dataclass(frozen=True, slots=True, eq=False)
class CountLaw:
    """A law of the true counts: `chances` of `counts`, and the log likelihood of each at `noisy` values."""

    variance: float
    counts: Floats
    chances: Floats
    noisy: Floats
    log_likelihood: Floats

    def averages(self, prior: Prior, *, nonnegative: bool) -> tuple[Floats, Floats, Floats]:
        """Return mean ratio, chance of doubled odds and expected number of people, at each of `noisy`."""
        some = self.counts > 0
        counts, known = self.counts[some], np.maximum(self.counts[some] - 1.0, 0.0)
        with np.errstate(divide="ignore"):
            logs = self.log_likelihood[:, some] + np.log(self.chances[some] * counts)
            posterior = self.log_likelihood + np.log(self.chances)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        evidence = (self.noisy[:, None] - known - 0.5) / self.variance
        if nonnegative:
            evidence[0] = zero_evidence(known, np.full(known.size, self.variance))
        ratio = prior.ratio(evidence)
        posterior = np.exp(posterior - posterior.max(axis=1, keepdims=True))
        people = posterior @ self.counts / posterior.sum(axis=1)
        doubled = (weights * (evidence > DOUBLED)).sum(axis=1)
        return (weights * ratio).sum(axis=1), doubled, people


def suggested_law(rows: Histogram, *, nonnegative: bool = False) -> CountLaw:
    """Return the law of the counts that a table suggests.

    >>> rows = Histogram(0.1)
    >>> rows.add(np.repeat([0.0, 1.0], [9000, 1000]))
    >>> law = suggested_law(rows)
    >>> law.chances[:3].round(2).tolist()
    [0.91, 0.09, 0.0]
    """
    variance, width = rows.variance, max(1, math.floor(math.sqrt(rows.variance) / 8.0))
    counts = np.arange(0.0, rows.last + 1.0, width) + (width - 1) / 2.0
    values, often = rows.seen()
    inside = (values >= rows.first) & (values <= rows.last)
    values, often = values[inside], often[inside]
    start = 1 if nonnegative else rows.first
    places = np.floor((values - start) / width).astype(np.int64)
    noisy = start + width * np.arange((rows.last - start) // width + 1.0) + (width - 1) / 2.0
    if nonnegative:
        seen = np.bincount(places[values > 0], weights=often[values > 0], minlength=noisy.size).astype(float)
        noisy, seen = np.append(0.0, noisy), np.append(float(often[values == 0].sum()), seen)
    else:
        seen = np.bincount(places, weights=often, minlength=noisy.size).astype(float)
    log_total = float(DiscreteGaussian(Fraction(variance)).log_pmf([0])[0])
    logs = log_total + math.log(width) - (noisy[:, None] - counts) ** 2 / (2.0 * variance)
    if nonnegative:
        tails = np.log(tail_ratio(counts, variance)) - counts * (counts / (2.0 * variance))
        logs[0] = log_total + tails
    chances = _fit(logs[seen > 0], seen[seen > 0])
    return CountLaw(variance, counts, chances, noisy, logs)


def _fit(logs: Floats, seen: Floats) -> Floats:
    """Chances of the counts by expectation-maximization, until twenty rounds gain less than one nat."""
    chances = np.full(logs.shape[1], 1.0 / logs.shape[1])
    if not seen.size:
        return chances
    top = logs.max(axis=1, keepdims=True)
    likelihood = np.exp(logs - top)
    before = -math.inf
    for number in range(_MOST_ROUNDS):
        mixed = likelihood @ chances
        if number % _ROUNDS == 0:
            now = float(seen @ np.log(mixed))
            if now < before + _GAIN:
                break
            before = now
        chances = chances * (likelihood.T @ (seen / mixed)) / seen.sum()
    return np.asarray(chances / chances.sum())


# -- the file ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some rows: their numbers, a code and the name of the level of each, and the Arrow batch itself."""

    noisy: Floats
    variance: Floats
    known: Floats | None
    level: ArrowArray
    batch: ArrowTable

    def by_level(self) -> Iterator[tuple[str, SomeRows]]:
        """Yield each level with its rows, in the table's order."""
        if self.level is None:
            yield EVERYTHING, slice(None)
            return
        names = self.level.dictionary.to_pylist()
        codes = self.level.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
        used = np.flatnonzero(np.bincount(codes, minlength=len(names) + 1))
        places = [(np.flatnonzero(codes == code), code) for code in used]
        for here, code in sorted(places, key=lambda place: int(place[0][0])):
            name = str(names[code]) if code < len(names) and names[code] else "(none)"
            yield name, slice(None) if here.size == codes.size else here

    def by_noise(self) -> Iterator[tuple[tuple[str, float], SomeRows]]:
        """Yield each level and parameter of the noise, with its rows."""
        every = np.arange(self.noisy.size)
        for name, rows in self.by_level():
            here = every[rows]
            for (variance,), some in rows_of_equal(self.variance[here]):
                yield (name, variance), here[some]


def choose(found: Sequence[str], where: str, asked: Sequence[str | None] = (None,) * 4) -> list[str | None]:
    """Return the columns of noisy counts, variances, levels and known counts: those asked for, or the usual.

    >>> choose(["level", "value", "variance"], "t.csv")
    ['value', 'variance', 'level', None]
    >>> choose(["unit", "estimate"], "t.csv")
    Traceback (most recent call last):
    discreet.errors.InputError: t.csv has no column of noisy counts (value, COUNT, noisy or count); it has \
unit, estimate
    """
    listed = ", ".join(found[:20]) + (", ..." if len(found) > 20 else "") if found else "none"
    chosen: list[str | None] = []

    def meant(names: Sequence[str]) -> str | None:
        """The column that has the first of some names, or else the only one that has one but for capitals."""
        names = next(([name] for name in names if name in found), names)
        doubtful = Problems()
        here = find_columns(found, needed=(), optional=names, table=where, problems=doubtful)
        doubtful.stop()
        same = set(here.values())
        return same.pop() if len(same) == 1 else None

    for name, usual, needed in zip(
        asked, (NOISY, VARIANCE, LEVEL, ()), ("noisy counts", "variances", "", ""), strict=True
    ):
        here = meant([name] if name is not None else usual)
        if here is None and name is not None:
            raise InputError(f"{where} has no column {name!r}; it has {listed}")
        if here is None and needed:
            choice = f"{', '.join(usual[:-1])} or {usual[-1]}"
            raise InputError(f"{where} has no column of {needed} ({choice}); it has {listed}")
        chosen.append(here)
    if len(set(names := [name for name in chosen if name is not None])) < len(names):
        raise InputError(f"{where}: one column is named for two purposes: {', '.join(names)}")
    return chosen


@dataclass(frozen=True, slots=True)
class ReleasedTable:
    """A table that was released, and its columns; with `everything` each batch has all of them."""

    source: OpenTable
    numbers: list[str]  # noisy counts, variances, and known counts if a column has them
    level: str | None
    everything: bool
    nonnegative: bool

    @classmethod
    def open(
        cls, source: TableSource, asked: Sequence[str | None], *, everything: bool, nonnegative: bool
    ) -> ReleasedTable:
        """Look at the names of the columns, and choose."""
        usual = [*NOISY, *VARIANCE, *LEVEL, *(name for name in asked if name is not None)]
        opened = open_table(source, wanted=usual)
        noisy, variance, level, known = choose(opened.names, opened.shown, asked)
        numbers = [name for name in (noisy, variance, known) if name is not None]
        twice = [name for name in opened.names if everything and opened.names.count(name) > 1]
        if twice:
            raise InputError(f"{opened.shown} has two columns named {twice[0]}; each may occur once")
        return cls(opened, numbers, level, everything, nonnegative)

    def parts(self) -> Iterator[Batch]:
        """Yield the rows, some at a time; once something is wrong with one, only look for more of it."""
        source, seen, problems = self.source, 0, Problems()
        mine = problems.of(source.shown, first_line=source.first_line, word=source.word)
        kinds: dict[str, Kind] = dict.fromkeys(source.names, "any") if self.everything else {}
        kinds |= {self.level: "any"} if self.level else {}
        numeric: tuple[Kind, ...] = ("whole", "number", "whole")
        kinds |= dict(zip(self.numbers, numeric, strict=False))
        for batch in source.batches(kinds, mine, coded=not self.everything):
            if batch.num_rows:
                part = self._part(batch, seen, mine)
                if part is not None and not problems:
                    yield part
            seen += batch.num_rows
        problems.stop()
        if not seen:
            raise InputError(f"{source.shown} has no rows")

    def _part(self, batch: ArrowTable, start: int, problems: Problems) -> Batch | None:
        """The numbers of a batch, which begins at row `start`; nothing if one of them cannot be."""
        columns = [np.asarray(batch.column(name).to_numpy(zero_copy_only=False)) for name in self.numbers]
        noisy, variance, *known = (column.astype(np.float64, copy=False) for column in columns)
        before, most = problems.count, VARIANCES[1]
        rules = [
            (np.abs(noisy) > LARGEST, "a noisy count is beyond 2^52"),
            (~((variance > 0) & (variance <= most)), f"a variance is not above zero and at most {most:g}"),
        ]
        rules += [
            ((one < 0) | (one > LARGEST), "a known count is below zero or beyond 2^52") for one in known
        ]
        for name, (wrong, text) in zip(self.numbers, rules, strict=True):
            problems.rows(wrong, text, name, start=start)
        if self.nonnegative:
            text = "a noisy count is below zero, but negative values are said to be published as zero"
            problems.rows(noisy < 0, text, self.numbers[0], start=start)
        if problems.count > before:
            return None
        if self.numbers[1].strip().lower() == "variance" and float(variance.min()) < 2.0:
            # that of the noise itself; elsewhere it is the parameter sigma^2, which is more if it is small
            values, place = np.unique(variance, return_inverse=True)
            laws = map(DiscreteGaussian.of_true_variance, values.tolist())
            variance = np.array([float(law.variance) for law in laws])[place]
        level = None
        if self.level:
            level = batch.column(self.level)
            if not arrow("types").is_dictionary(level.type):
                pc = arrow("compute")
                level = pc.dictionary_encode(pc.cast(level, "string"))
        return Batch(noisy, variance, known[0] if known else None, level, batch)
