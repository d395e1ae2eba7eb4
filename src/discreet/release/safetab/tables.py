"""Small pipe-delimited tables with a header: by the names of the columns, each row with its line.

Accepted: a byte order mark, CRLF, quoted fields, columns in any order, further columns, blank lines
at the end. The person records are read by the engine, not here.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from discreet.release.safetab.problems import Problems


@dataclass(frozen=True, slots=True)
class Line:
    """The cells of one row in the order of the table's columns, and its line in the file."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The wanted columns of a file and its rows."""

    file: str
    columns: tuple[str, ...]
    rows: tuple[Line, ...]


def read_table(path: Path, columns: tuple[str, ...], problems: Problems) -> Table | None:
    """Read the named columns of a file; None if it cannot be read, which is then among the problems."""
    file = path.name
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        problems.at("a file is missing", file=file)
        return None
    except OSError as error:
        problems.at(f"a file cannot be read: {error.strerror}", file=file)
        return None
    except UnicodeDecodeError as error:
        problems.at("a byte is not UTF-8", file=file, line=error.object.count(b"\n", 0, error.start) + 1)
        return None
    lines = csv.reader(io.StringIO(text, newline=""), delimiter="|", strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        missing = [name for name in columns if name not in header]
        for name in missing:
            problems.at("a column is missing", file=file, line=1, field=name)
        twice = [name for name in columns if header.count(name) > 1]
        for name in twice:
            problems.at("a column occurs twice", file=file, line=1, field=name)
        if missing or twice:
            return None
        places = [header.index(name) for name in columns]
        rows = []
        for cells in lines:
            if len(cells) == len(header):
                rows.append(Line(lines.line_num, tuple(cells[place].strip() for place in places)))
            elif "".join(cells).strip():
                problems.at(
                    f"a row does not have the {len(header)} fields of the header",
                    file=file,
                    line=lines.line_num,
                )
    except csv.Error as error:
        problems.at(f"not a pipe-delimited table: {error}", file=file, line=lines.line_num)
        return None
    return Table(file, columns, tuple(rows))
