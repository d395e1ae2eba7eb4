"""The risk of every row of a released table, and a summary by level: streamed, so of any length."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.risk.columns import Part, Source, arrow, choose
from discreet.risk.model import Floats, Number, read_known, read_prior
from discreet.risk.rows import RowRisk, Rows, noise_parameter
from discreet.risk.tally import Tally

QUANTILES = (0.5, 0.9, 0.99, 0.999)
MOST_LEVELS = 1000
EVERYTHING = "all rows"


@dataclass(frozen=True, slots=True)
class LevelRisk:
    """The rows of one level: how many, how large the ratio is, and in what share above two."""

    level: str
    rows: int
    share_above_two: float
    maximum: float
    quantiles: tuple[float, ...]
    mean_posterior: float
    is_rounded: bool


@dataclass(frozen=True, slots=True, eq=False)
class TableRisk:
    """The risk of a table: who the adversary is, and a summary for each level and for all rows."""

    rows: int
    prior: float
    adversary: str
    levels: tuple[LevelRisk, ...]
    total: LevelRisk
    tallies: dict[str, Tally]

    def __str__(self) -> str:
        lines = [f"{self.rows} rows; {self.adversary}"]
        for one in (*self.levels, self.total):
            lines.append(
                f"{one.level}: ratio above 2 in {one.share_above_two:.2%}, at most {one.maximum:.4g}"
            )
        return "\n".join(lines)


def table_risk(
    path: str | os.PathLike[str],
    *,
    prior: Number,
    known: int | None = None,
    noisy_column: str | None = None,
    variance_column: str | None = None,
    level_column: str | None = None,
    known_column: str | None = None,
    nonnegative: bool = False,
    out: str | os.PathLike[str] | None = None,
) -> TableRisk:
    """Return the risk of a released table (CSV, or Parquet) for someone who knows everyone but the target.

    What count that knowledge makes is `known` for all rows, or that of `known_column`. Without either, each
    row's risk is its average over the counts that may be known, see `discreet.risk.rows`. `out` is a CSV
    file for the rows with their risk; it appears when all is done, or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.csv")
    ...     _ = file.write_text("level,value,variance\\nBlock,8,5\\nBlock,1,5\\nState,70,5\\n")
    ...     print(table_risk(file, prior="1/10", known=0))
    3 rows; someone who knows everyone else in the row, 0 with the characteristics, and gives the target a \
chance of 0.1
    Block: ratio above 2 in 50.00%, at most 3.324
    State: ratio above 2 in 100.00%, at most 10
    all rows: ratio above 2 in 66.67%, at most 10
    """
    if known is not None and known_column is not None:
        raise InputError("the known count is stated twice: for all rows, and by a column")
    chance = read_prior(prior)
    if chance.present.ndim:
        raise InputError("a table has one adversary with one prior")
    fixed = None if known is None else read_known(known)
    source = Source.open(Path(path))
    columns = choose(
        source.names,
        str(path),
        noisy=noisy_column,
        variance=variance_column,
        level=level_column,
        known=known_column,
    )
    rows = Rows(chance, nonnegative=nonnegative)
    summary = _Summary()
    with _writing(None if out is None else Path(out), fixed, known_column) as write:
        for part in source.parts(columns, everything=out is not None):
            if nonnegative and (part.noisy < 0).any():
                raise InputError(
                    f"{path} has negative noisy counts, but negative values are said to be published as zero"
                )
            variance = _parameters(part.variance) if columns.has_own_variance else part.variance
            count = part.known if part.known is not None else fixed
            risk = (
                rows.unknown(part.noisy, variance)
                if count is None
                else rows.known(part.noisy, variance, count)
            )
            summary.add(part, risk)
            write(part, risk)
    return summary.result(
        float(chance.present), _words(fixed, known_column, float(chance.present), nonnegative)
    )


def _words(known: Floats | None, column: str | None, prior: float, nonnegative: bool) -> str:
    who = "someone who knows everyone else in the row"
    if known is not None:
        who += f", {int(known)} with the characteristics"
    elif column is not None:
        who += f", as many with the characteristics as column {column!r} says"
    else:
        who += ", averaged over the counts that this may be if the target is there"
    floor = "; negative values were published as zero" if nonnegative else ""
    return f"{who}, and gives the target a chance of {prior:.6g}{floor}"


def _parameters(variance: Floats) -> Floats:
    """The sigma^2 of the noise, whose own variance is less if it is small."""
    if not variance.size or float(variance.min()) >= 2.0:
        return variance
    values, place = np.unique(variance, return_inverse=True)
    return np.array([noise_parameter(float(value)) for value in values])[place]


class _Summary:
    """Tallies by level, as rows come."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.sums: dict[str, Floats] = {}  # of rows, of chances above two, of posteriors

    def add(self, part: Part, risk: RowRisk) -> None:
        if part.level is None:
            self._add(EVERYTHING, risk.ratio, risk.above, risk.posterior)
            return
        names = part.level.dictionary.to_pylist()
        codes = part.level.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
        used = np.flatnonzero(np.bincount(codes, minlength=len(names) + 1))
        places = [(np.flatnonzero(codes == code), code) for code in used]
        for here, code in sorted(places, key=lambda place: int(place[0][0])):  # in the table's order
            name = str(names[code]) if code < len(names) and names[code] else "(none)"
            if name not in self.tallies and len(self.tallies) == MOST_LEVELS:
                raise InputError(
                    f"the column of levels has more than {MOST_LEVELS} different values; name another one"
                )
            whole = here.size == codes.size
            self._add(name, *(x if whole else x[here] for x in (risk.ratio, risk.above, risk.posterior)))

    def _add(self, name: str, ratio: Floats, above: Floats, posterior: Floats) -> None:
        self.tallies.setdefault(name, Tally()).add(ratio)
        more = np.array([ratio.size, above.sum(), posterior.sum()])
        self.sums[name] = self.sums.get(name, np.zeros(3)) + more

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
        rows, above, posterior = (float(x) for x in sums)
        quantiles = tuple(tally.quantiles(QUANTILES))
        return LevelRisk(
            name, int(rows), above / rows, tally.maximum, quantiles, posterior / rows, tally.is_rounded
        )


@contextmanager
def _writing(out: Path | None, known: Floats | None, column: str | None) -> Iterator[Any]:
    """Give a function that writes a part with its risk; the file is moved to its place at the end."""
    if out is None:
        yield lambda part, risk: None
        return
    pa, text = arrow(), arrow("csv")
    temporary = out.with_name(f".{out.name}.{secrets.token_hex(4)}.tmp")
    writer: Any = None

    def write(part: Part, risk: RowRisk) -> None:
        nonlocal writer
        batch = part.batch
        more: dict[str, Floats] = {} if known is None else {"known": np.full(batch.num_rows, known)}
        more |= {"posterior": risk.posterior, "ratio": risk.ratio}
        if known is None and column is None:
            more["chance_above_2"] = risk.above
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
        with temporary.open("xb") as stream:
            yield write
            if writer is not None:
                writer.close()
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, out)
    except pa.ArrowInvalid:
        raise InputError(f"{out} cannot be written: a column of the table has no place in CSV") from None
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)
