"""Where a file is wrong, found by reading it line by line. Slow, and only done when something is wrong.

An engine reads a file in parallel and does not say where it stumbled without repeating what it read. So
lines are counted here, in a second look at the file, and nothing of their content is kept.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import TextIO

from discreet.release.safetab.problems import MOST, Problems
from discreet.release.safetab.sources import Source


def line_numbers(source: Source, rows: Iterable[int]) -> dict[int, int]:
    """Return for rows (from 0, header not counted) where they begin: lines of a text, rows of Parquet."""
    wanted = sorted(set(rows))
    if source.is_parquet or not wanted:
        return {row: row + 1 for row in wanted}
    found: dict[int, int] = {}
    with _opened(source) as stream:
        for row, (line, _) in enumerate(_records(stream)):
            if row > wanted[-1]:
                break
            if row in found or row == wanted[len(found)]:
                found[row] = line
    return found


def report_unreadable(source: Source, problems: Problems) -> None:
    """Report why an engine could not read a file."""
    if source.is_parquet:
        problems.at("a file is damaged, or not Parquet", file=source.name)
        return
    before = problems.count
    _report_encoding(source, problems)
    _report_records(source, problems)
    if problems.count == before:
        text = "a file cannot be read as text in UTF-8 with pipes between the fields and one record a line"
        problems.at(text, file=source.name)


def _opened(source: Source) -> TextIO:
    return source.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


class _BrokenRecordError(Exception):
    """A record that is none, with its first line."""


def _records(lines: Iterable[str], *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the fields of each record after the header; blank lines are none."""
    reader = csv.reader(lines, delimiter="|", strict=strict)
    next(reader, None)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error:
            raise _BrokenRecordError(line) from None
        if fields is None:
            return
        if fields:
            yield line, fields


def _report_encoding(source: Source, problems: Problems) -> None:
    """Report bytes that are not UTF-8, and lines that end in another way than the first."""
    wrong, odd, first = _Lines(), _Lines(), b""
    with source.path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            end = b"\r\n" if line.endswith(b"\r\n") else b"\n" if line.endswith(b"\n") else b""
            first = first or end
            if end and end != first:
                odd.add(number)
            if not line.isascii():
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    wrong.add(number)
    wrong.report("a byte is not UTF-8", source, problems)
    odd.report(
        "a line ends in another way than the first one (CRLF, LF); all must end alike", source, problems
    )


def _report_records(source: Source, problems: Problems) -> None:
    """Report records with too few or too many fields, and quotes that are not closed."""
    due, short, long = len(source.header), _Lines(), _Lines()
    with _opened(source) as stream:
        try:
            for line, fields in _records(stream, strict=True):
                if len(fields) < due:
                    short.add(line)
                elif len(fields) > due and not (len(fields) == due + 1 and not fields[-1]):
                    long.add(line)
        except _BrokenRecordError as error:
            text = "a quoted field does not end, or goes on behind its quote"
            problems.at(text, file=source.name, line=error.args[0])
    short.report(f"a record has fewer than the {due} fields of the header", source, problems)
    long.report(f"a record has more than the {due} fields of the header", source, problems)


class _Lines:
    """The first lines of one kind, and their number."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.total = 0

    def add(self, line: int) -> None:
        self.total += 1
        if len(self.lines) < MOST:
            self.lines.append(line)

    def report(self, text: str, source: Source, problems: Problems) -> None:
        problems.many(text, file=source.name, lines=self.lines, total=self.total)
