"""The risk of every row of a released table, and a summary by level: streamed, so of any length.

Columns are found by name. Two kinds of table are known by theirs: measurements of this package (`value`,
`variance`, `level`) and tabulations of detailed groups (`COUNT`, `NOISE_VARIANCE`, `REGION_TYPE`).

The adversary knows everyone but the target. What count that makes may be given (one for all rows, or one a
row). If it is not, a row's risk is averaged over the counts that may be known if the target is present
(`discreet.disclosure.rows`).

A row tells much where the release more than *doubles the odds* that the target is there, chance present over
chance absent. That is a ratio of likelihoods, so it means the same for every prior; a belief of one half
could not double.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.budget.scope import Scope
from discreet.budget.variables import IN_UNITS_OF
from discreet.disclosure.attack import rows_of_equal
from discreet.disclosure.inputs import LARGEST, VARIANCES, read_known, read_prior
from discreet.disclosure.odds import Floats, Prior
from discreet.disclosure.records import POSTERIORS, QUANTILES, RATIOS, Drawn, is_above
from discreet.disclosure.rows import Averages, Histogram, RowRisk, SomeRows, known_risk
from discreet.errors import InputError, PrecisionError
from discreet.faces import Summarised
from discreet.files import ArrowArray, ArrowTable, FilePath, arrow, whole_file
from discreet.loss.values import Number
from discreet.noise.gaussian import DiscreteGaussian
from discreet.numbers import brief
from discreet.questions import Option
from discreet.tables import Kind, OpenTable, Problems, TableSource, find_columns, open_table

NOISY = ("value", "COUNT", "noisy", "count")
VARIANCE = ("variance", "NOISE_VARIANCE")
LEVEL = ("level", "REGION_TYPE")

MOST_LEVELS = 1000
MOST_ENTRIES = 10_000_000
"""Noisy values that are told apart, some 95 standard deviations for each noise of each level (400 MB)."""

MOST_VALUES = 1 << 18
"""Distinct ratios that are kept as they are; beyond, all are rounded to `DIGITS` significant digits."""

DIGITS = 5
EVERYTHING = "all rows"

MARK = "confidential"
"""The column of rows with known counts that says what they are."""

CountsLaw = Literal["table", "flat"]


@dataclass(frozen=True, slots=True)
class LevelRisk:
    """The rows of one level: how many, how large the ratio is, and in what share the odds more than double.

    `targets_doubled` is the share among the people counted: each row weighs as many as it counts, which are
    those known and the target, or as many as are expected where the known counts are not given.
    """

    level: str
    rows: int
    share_doubled: float
    maximum: float
    quantiles: tuple[float, ...]
    mean_posterior: float
    is_rounded: bool
    targets_doubled: float | None = None
    people: int | None = None
    """How many people the rows count, where the counts are known, each target included."""
    drawn: Drawn | None = None
    """What the numbers tell about these people, each of them the target once, as in `records_risk`."""


@dataclass(frozen=True, slots=True)
class TableRisk(Summarised):
    """The risk of a table: what the adversary knows, and a summary for each level and for all rows.

    How many others are known is `known` in every row, or what `known_column` says; without either each row is
    averaged over a `law` of counts. In `flat_rows` rows that is the flat law although another was asked for.
    """

    rows: int
    prior: float | None
    levels: tuple[LevelRisk, ...]
    total: LevelRisk
    tallies: dict[str, Tally] = field(repr=False, compare=False)
    known: int | None = None
    known_column: str | None = None
    law: CountsLaw | None = None
    flat_rows: int = 0
    nonnegative: bool = False
    prior_column: str | None = None
    """The column with the prior of each row, if it has one."""

    @property
    def scope(self) -> Scope:
        """Of what the risks are true: of each row alone."""
        of = "each row alone" if self.rows != 1 else "the row"
        return Scope.whole(of, unit="", neighbours="").without("the other rows about the same people")

    @property
    def is_confidential(self) -> bool:
        """Whether the rows hold known counts, which nobody published."""
        return self.known_column is not None


def table_risk(
    path: TableSource,
    *,
    prior: Annotated[
        Number | None,
        Option("The adversary's chance that the target is present, such as 1/2.", "P", reads=str | None),
    ] = None,
    known: Annotated[
        int | None,
        Option(
            "How many others with the characteristics the adversary knows of, in every row. Default: an "
            "average over the counts that may be known if the target is present (see --law).",
            "K",
            reads=str | None,
        ),
    ] = None,
    noisy_column: Annotated[
        str | None, Option("Noisy counts. Default: value, COUNT, noisy or count.", "NAME")
    ] = None,
    variance_column: Annotated[
        str | None, Option("Variances. Default: variance or NOISE_VARIANCE.", "NAME")
    ] = None,
    level_column: Annotated[
        str | None, Option("Level to summarise by. Default: level or REGION_TYPE.", "NAME")
    ] = None,
    known_column: Annotated[str | None, Option("The column with this number for each row.", "NAME")] = None,
    prior_column: Annotated[
        str | None, Option("Instead: the column with this chance for each row (with known counts).", "NAME")
    ] = None,
    law: Annotated[
        CountsLaw,
        Option(
            "Without known counts: how likely each is. table: as the table itself suggests (empirical "
            "Bayes); flat: all equally.",
            "table|flat",
        ),
    ] = "table",
    nonnegative: Annotated[bool, Option("Negative values were published as zero.")] = False,
    out: Annotated[
        FilePath | None, Option("Write all rows with their risk.", "FILE.csv", each="csv", reads=Path | None)
    ] = None,
) -> TableRisk:
    """Return the risk of a released table for someone who knows everyone but the target.

    The table is a file (CSV, Parquet or Arrow), or one in memory (pandas, polars, Arrow).
    What count that knowledge makes is `known` for all rows, or that of `known_column`. Without either, each
    row's risk is its average over the counts that may be known if the target is present: by the law of counts
    that the table itself suggests for each level and noise (`law="table"`, empirical Bayes), or with all
    counts as likely as each other (`law="flat"`); see `discreet.disclosure.rows`. `prior_column` has a prior
    for each row, instead of one for all; the known counts must be given then. `out` is a CSV file for the
    rows with their risk; it appears when all is done, or not at all. With a column of known counts its owner
    alone can read it, and each row says that it is confidential.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.csv")
    ...     _ = file.write_text("level,value,variance\\nBlock,8,5\\nBlock,1,5\\nState,70,5\\n")
    ...     risk = table_risk(file, prior="1/10", known=0)
    >>> print(risk)
    3 rows, odds doubled in 66.7 %, ratio at most 10.00; someone who knows everyone else in the row, 0 with \
the characteristics, and gives the target a chance of 0.1
    >>> [(level.level, level.share_doubled, round(level.maximum, 3)) for level in risk.levels]
    [('Block', 0.5, 3.324), ('State', 1.0, 10.0)]
    """
    if known is not None and known_column is not None:
        raise InputError("the known count is stated twice: for all rows, and by a column")
    if law not in ("table", "flat"):
        raise InputError(f"law is {law!r}; it must be 'table' or 'flat'")
    if (prior is None) == (prior_column is None):
        stated = "neither is given" if prior is None else "both are given"
        raise InputError(f"{stated}: state one prior for all rows, or the column of the priors")
    chance = None if prior is None else read_prior(prior)
    if chance is not None and chance.present.ndim:
        raise InputError("a table has one adversary with one prior, or a column of priors")
    fixed = None if known is None else read_known(known)
    if chance is None and fixed is None and known_column is None:
        raise InputError(
            "with a prior for each row the known counts are needed, for all rows or by a column: an average "
            "over the counts that may be known is one of rows that are alike but for their count"
        )
    asked = (noisy_column, variance_column, level_column, known_column, prior_column)
    source = ReleasedTable.open(path, asked, everything=out is not None, nonnegative=nonnegative)
    summary, flat = _Summary(people=known_column is not None), 0
    with _writing(None if out is None else Path(out), fixed, known_column) as write:
        if chance is not None and fixed is None and known_column is None:
            risk_of, flat = _averaged(source, summary, chance, law)
            for part in source.parts() if out is not None else ():
                write(part, risk_of(part))
        else:
            for part in source.parts():
                count = part.known if part.known is not None else fixed
                assert count is not None
                own = part.prior or chance
                assert own is not None
                risk = known_risk(own, part.noisy, part.variance, count, nonnegative=nonnegative)
                for name, rows in part.by_level():
                    summary.add(name, risk.at(rows))
                write(part, risk)
    return replace(
        summary.result(None if chance is None else float(chance.present)),
        known=None if fixed is None else int(fixed),
        known_column=known_column,
        law=law if fixed is None and known_column is None else None,
        flat_rows=flat,
        nonnegative=nonnegative,
        prior_column=prior_column,
    )


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
        risks = np.empty((4, part.noisy.size))
        for key, rows in part.by_noise():
            risks[:, rows] = averages[key].at(part.noisy[rows])
        return RowRisk(*risks)

    return risk, flat


class _Summary:
    """Tallies by level, in the table's order; of people, too, if it is known how many each row counts."""

    def __init__(self, *, people: bool) -> None:
        self.tallies: dict[str, Tally] = {}
        self.sums: dict[str, Floats] = {}  # of rows, odds doubled, posteriors, targets, and theirs doubled
        self.people: dict[str, Tally] | None = {} if people else None
        self.means: dict[str, Floats] = {}  # of people: posteriors, ratios, and who is above each mark

    def add(self, name: str, risk: RowRisk, often: NDArray[np.int64] | None = None) -> None:
        """Add rows of a level, each as `often` as said, or once."""
        if name not in self.tallies and len(self.tallies) == MOST_LEVELS:
            raise InputError(
                f"the column of levels has more than {MOST_LEVELS} different values; name another one"
            )
        self.tallies.setdefault(name, Tally()).add(risk.ratio, often)
        rows = np.ones(risk.ratio.size) if often is None else often
        people = rows * risk.targets
        parts = (rows, rows * risk.doubled, rows * risk.posterior, people, people * risk.doubled)
        self.sums[name] = self.sums.get(name, np.zeros(5)) + [part.sum() for part in parts]
        if self.people is not None:
            values, of = np.unique(risk.ratio, return_inverse=True)
            many = np.bincount(of.ravel(), people).astype(np.int64)
            self.people.setdefault(name, Tally()).add(values, many)
            told = [risk.posterior, risk.ratio]
            told += [is_above(risk.ratio, mark).astype(np.float64) for mark in RATIOS]
            told += [is_above(risk.posterior, mark).astype(np.float64) for mark in POSTERIORS]
            self.means[name] = self.means.get(name, np.zeros(len(told))) + people @ np.stack(told, axis=1)

    def result(self, prior: float | None) -> TableRisk:
        """The summary; a table without levels has one for all rows only."""
        levels = tuple(self._level(name, self.tallies[name], self.sums[name]) for name in self.tallies)
        if list(self.tallies) == [EVERYTHING]:
            total, levels = levels[0], ()
        else:
            together = Tally()
            for tally in self.tallies.values():
                together.absorb(tally)
            if self.people is not None:
                everyone = Tally()
                for tally in self.people.values():
                    everyone.absorb(tally)
                self.people[EVERYTHING] = everyone
                self.means[EVERYTHING] = np.sum(list(self.means.values()), axis=0)
            total = self._level(EVERYTHING, together, np.sum(list(self.sums.values()), axis=0))
        return TableRisk(total.rows, prior, levels, total, self.tallies)

    def _level(self, name: str, tally: Tally, sums: Floats) -> LevelRisk:
        rows, above, posterior, people, named = (float(x) for x in sums)
        marks, share = tuple(tally.quantiles(QUANTILES)), named / people if people else None
        columns = above / rows, tally.maximum, marks, posterior / rows, tally.is_rounded, share
        if self.people is None:
            return LevelRisk(name, int(rows), *columns)
        return LevelRisk(name, int(rows), *columns, int(people), self._drawn(name, people))

    def _drawn(self, name: str, people: float) -> Drawn:
        """What the rows of a level tell about the people that they count."""
        assert self.people is not None
        posterior, ratio, *above = self.means[name].tolist()
        marks, tally = [round(often) for often in above], self.people[name]
        return Drawn(
            posterior / people,
            ratio / people,
            tuple(marks[: len(RATIOS)]),
            tuple(marks[len(RATIOS) :]),
            tally.maximum,
            tuple(tally.quantiles(QUANTILES)),
        )


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
        columns = {name: pa.array(values) for name, values in more.items()}
        if column is not None:
            columns[MARK] = pa.array(["CONFIDENTIAL"] * batch.num_rows)
        for name, values in columns.items():
            if name in batch.schema.names:
                raise InputError(
                    f"the table has a column {name!r} already; the rows cannot be written with it"
                )
            batch = batch.append_column(name, values)
        if writer is None:
            writer = text.CSVWriter(stream, batch.schema)
        writer.write_batch(batch)

    try:
        with whole_file(out, mode=0o666 if column is None else 0o600) as stream:
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
        self.values, inverse = np.unique(np.concatenate([self.values, values]), return_inverse=True)
        both = np.concatenate([self.counts, counts])
        self.counts = np.bincount(inverse, weights=both, minlength=self.values.size).astype(np.int64)


def _rounded(values: Floats) -> Floats:
    """Values to a few significant digits; zero stays zero."""
    unit = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(values), 1e-290))) - (DIGITS - 1))
    return np.asarray(np.rint(values / unit) * unit)


# -- the file ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some rows: their numbers, a code and the name of the level of each, and the Arrow batch itself."""

    noisy: Floats
    variance: Floats
    known: Floats | None
    prior: Prior | None
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
        for here, code in sorted(places, key=lambda pair: int(pair[0][0])):
            name = str(names[code]) if code < len(names) and names[code] else "(none)"
            yield name, slice(None) if here.size == codes.size else here

    def by_noise(self) -> Iterator[tuple[tuple[str, float], SomeRows]]:
        """Yield each level and parameter of the noise, with its rows."""
        every = np.arange(self.noisy.size)
        for name, rows in self.by_level():
            here = every[rows]
            for (variance,), some in rows_of_equal(self.variance[here]):
                yield (name, variance), here[some]


def choose(columns: Sequence[str], where: str, asked: Sequence[str | None] = (None,) * 5) -> list[str | None]:
    """Return the columns of noisy counts, variances, levels, known counts and priors: as asked, or as usual.

    >>> choose(["level", "value", "variance"], "t.csv")
    ['value', 'variance', 'level', None, None]
    >>> choose(["unit", "estimate"], "t.csv")
    Traceback (most recent call last):
    discreet.errors.InputError: t.csv has no column of noisy counts (value, COUNT, noisy or count); it has \
unit, estimate
    """
    listed = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "") if columns else "none"
    chosen: list[str | None] = []

    def meant(names: Sequence[str]) -> str | None:
        """The column that has the first of some names, or else the only one that has one but for capitals."""
        names = next(([name] for name in names if name in columns), names)
        doubtful = Problems()
        here = find_columns(columns, needed=(), optional=names, table=where, problems=doubtful)
        doubtful.stop()
        same = set(here.values())
        return same.pop() if len(same) == 1 else None

    for name, usual, needed in zip(
        asked, (NOISY, VARIANCE, LEVEL, (), ()), ("noisy counts", "variances", "", "", ""), strict=True
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
    numbers: list[str]  # noisy counts and variances
    known: str | None
    prior: str | None
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
        if IN_UNITS_OF in opened.names:
            raise InputError(
                f"{opened.shown} has sums in it (column {IN_UNITS_OF}), which one record may change by more "
                "than one; `discreet risk release` says what they tell, and a table of the rows that count "
                "records, without that column, is read here"
            )
        noisy, variance, level, known, prior = choose(opened.names, opened.shown, asked)
        assert noisy is not None
        assert variance is not None
        twice = [name for name in opened.names if everything and opened.names.count(name) > 1]
        if twice:
            raise InputError(f"{opened.shown} has two columns named {twice[0]}; each may occur once")
        return cls(opened, [noisy, variance], known, prior, level, everything, nonnegative)

    def parts(self) -> Iterator[Batch]:
        """Yield the rows, some at a time; once something is wrong with one, only look for more of it."""
        source, seen, problems = self.source, 0, Problems()
        mine = problems.of(source.shown, first_line=source.first_line, word=source.word)
        kinds: dict[str, Kind] = dict.fromkeys(source.names, "any") if self.everything else {}
        kinds |= {self.level: "any"} if self.level else {}
        kinds |= {self.numbers[0]: "whole", self.numbers[1]: "number"}
        kinds |= {self.known: "whole"} if self.known else {}
        kinds |= {self.prior: "number"} if self.prior else {}
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

        def column(name: str | None) -> Floats:
            if name is None:
                return np.empty(0)
            values = np.asarray(batch.column(name).to_numpy(zero_copy_only=False))
            return values.astype(np.float64, copy=False)

        noisy, variance = map(column, self.numbers)
        known, prior = column(self.known), column(self.prior)
        before, most = problems.count, VARIANCES[1]
        sized = (variance > 0) & (variance <= most)
        for name, wrong, text in (
            (self.numbers[0], np.abs(noisy) > LARGEST, "a noisy count is beyond 2^52"),
            (self.numbers[1], ~sized, f"a variance is not above zero and at most {brief(most)}"),
            (self.known, (known < 0) | (known > LARGEST), "a known count is below zero or beyond 2^52"),
            (self.prior, ~((prior > 0) & (prior < 1)), "a prior does not lie strictly between 0 and 1"),
        ):
            if name is not None:
                problems.rows(wrong, text, name, start=start)
        if self.nonnegative:
            text = "a noisy count is below zero, but negative values are said to be published as zero"
            problems.rows(noisy < 0, text, self.numbers[0], start=start)
        if problems.count > before:
            return None
        if self.numbers[1].strip().lower() == "variance" and float(variance.min()) < 2.0:
            # that of the noise itself; elsewhere it is the parameter sigma^2, which is more if it is small
            values, inverse = np.unique(variance, return_inverse=True)
            laws = map(DiscreteGaussian.of_true_variance, values.tolist())
            variance = np.array([float(law.variance) for law in laws])[inverse]
        level = None
        if self.level:
            level = batch.column(self.level)
            if not arrow("types").is_dictionary(level.type):
                pc = arrow("compute")
                level = pc.dictionary_encode(pc.cast(level, "string"))
        chances = Prior(prior, 1.0 - prior) if self.prior else None
        return Batch(noisy, variance, known if self.known else None, chances, level, batch)
