"""What a study returns: a table, the printed values beside the computed ones, and what must be said of both.

`studies.toml` has for each study its paper, the places whose printed numbers it compares, its title,
its notes and its figure; the functions named there compute.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.studies.register import Compared, Printed, check, papers, register

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.accounting.parallel import Progress

Value = str | int | float | None
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PRINTED_COLUMNS = ("paper", "place", "what", "at", "published", "computed", "difference", "verdict", "why")


@dataclass(frozen=True, slots=True)
class Study:
    """One result of a paper, computed anew, and the printed values that belong to it.

    `rows` have a value for each of `columns`; None stands for what does not exist. `checks` has a row for
    each printed number.

    >>> study = Study("demo", "A demonstration", "nobody", ("n", "value"), ((1, 0.5), (2, None)))
    >>> print(study.csv(), end="")
    n,value
    1,0.5
    2,
    >>> study.where(n=1).numbers("value")
    array([0.5])
    """

    name: str
    title: str
    source: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    checks: tuple[Compared, ...] = ()

    def __post_init__(self) -> None:
        plain = tuple(tuple(v.item() if isinstance(v, np.generic) else v for v in row) for row in self.rows)
        if any(len(row) != len(self.columns) for row in plain):
            raise InputError(f"a row of study {self.name!r} has not as many values as there are columns")
        object.__setattr__(self, "rows", plain)

    def csv(self) -> str:
        """Return the table as CSV, every float with all its digits."""
        return _csv(self.columns, self.rows)

    def printed_csv(self) -> str:
        """Return the printed values beside the computed ones as CSV, with verdict and reason."""
        return _csv(PRINTED_COLUMNS, [list(one.as_dict().values()) for one in self.checks])

    def as_dict(self) -> dict[str, object]:
        """Return what JSON shows: the printed values and the notes; the table itself is in the CSV."""
        found = [one.as_dict() for one in self.checks]
        about = {"name": self.name, "title": self.title, "source": self.source}
        return {**about, "printed": found, "notes": list(self.notes)}

    def column(self, name: str) -> list[Value]:
        """Return the values of one column."""
        if name not in self.columns:
            raise InputError(f"study {self.name!r} has no column {name!r}; it has {', '.join(self.columns)}")
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def numbers(self, name: str) -> Floats:
        """Return one column as floats, what is missing as nan."""
        return np.array([np.nan if v is None else float(v) for v in self.column(name)], dtype=np.float64)

    def distinct(self, name: str) -> list[Value]:
        """Return the different values of a column, in the order in which they come."""
        return list(dict.fromkeys(self.column(name)))

    def where(self, **equal: Value) -> Study:
        """Return the study with only those rows whose columns have these values."""
        kept = np.ones(len(self.rows), dtype=bool)
        for name, value in equal.items():
            kept &= [one == value for one in self.column(name)]
        return replace(self, rows=tuple(row for row, keep in zip(self.rows, kept, strict=True) if keep))


def verdicts(checks: Iterable[Compared]) -> str:
    """Return how many of the printed values are confirmed, and so on, in words.

    >>> verdicts([])
    'no printed values'
    """
    found = Counter(one.verdict for one in checks)
    total = sum(found.values())
    if not total:
        return "no printed values"
    parts = ", ".join(f"{many} {verdict.value}" for verdict, many in sorted(found.items()))
    return f"{total} printed value{'s' if total > 1 else ''}: {parts}"


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return stream.getvalue()


# -- the list ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """One study of the list: what it shows, where that stands in the paper, and where its function is."""

    name: str
    module: str
    what: str
    paper: str
    title: str
    figure: Mapping[str, Any]
    shows: tuple[str, ...] = ()
    """Tables, figures and sections; the printed numbers of these places are compared."""
    notes: tuple[str, ...] = ()
    is_long: bool = False
    takes_counts: bool = False

    @property
    def printed(self) -> tuple[Printed, ...]:
        """The printed numbers that belong to it."""
        return tuple(entry for entry in register() if entry.paper == self.paper and entry.place in self.shows)

    @property
    def source(self) -> str:
        """Its paper."""
        return papers()[self.paper]

    def compute(
        self, *, jobs: int = 1, progress: Progress | None = None, counts: Path | None = None
    ) -> Study:
        """Compute the tables; `counts` is a user's own file, for the studies that take one."""
        work = getattr(import_module(f"discreet.studies.{self.module}"), self.name.replace("-", "_"))
        if counts is not None and not self.takes_counts:
            able = " and ".join(entry.name for entry in studies() if entry.takes_counts)
            raise InputError(f"{self.name} takes no counts; --counts is for {able}")
        more = {"counts": counts} if counts else {"jobs": jobs, "progress": progress} if self.is_long else {}
        study: Study = work(**more)
        return study

    def draw(self, study: Study) -> Figure:
        """Draw the figure of its table."""
        from discreet.studies.drawing import draw

        return draw(study, **self.figure)

    def files(self, study: Study) -> dict[str, bytes]:
        """Return the bytes of its files, by their names."""
        from discreet.report.figures import figure_bytes

        figure = self.draw(study)
        tables = {".csv": study.csv(), "-printed.csv": study.printed_csv()}
        made = {f"{self.name}{ending}": text.encode() for ending, text in tables.items()}
        made |= {f"{self.name}.{kind}": figure_bytes(figure, kind) for kind in ("png", "svg")}
        return {name: made[name] for name in self.file_names}

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of its files."""
        tables = (".csv", "-printed.csv") if self.printed else (".csv",)
        return tuple(f"{self.name}{ending}" for ending in (*tables, ".png", ".svg"))


@cache
def studies() -> tuple[StudyEntry, ...]:
    """Return all studies, in the order of the papers."""
    text = files("discreet.studies").joinpath("studies.toml").read_text("utf-8")
    found = []
    for name, fields in tomllib.loads(text).items():
        fields |= {key: tuple(fields.get(key, ())) for key in ("shows", "notes")}
        found.append(StudyEntry(name=name, **fields))
    return tuple(found)


def find(name: str) -> tuple[StudyEntry, ...]:
    """Return the study of a name, or all of them.

    >>> [entry.name for entry in find("residuals")], find("all") == studies()
    (['residuals'], True)
    >>> find("residual")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no study 'residual'; did you mean 'residuals'?
    """
    names = {entry.name: (entry,) for entry in studies()}
    if name == "all":
        return studies()
    if name in names:
        return names[name]
    close = get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]!r}?" if close else "`discreet reproduce --list` shows all"
    raise InputError(f"there is no study {name!r}; {hint}")


def made(
    name: str, columns: str, rows: Iterable[Sequence[Any]], *checks: Iterable[Compared], **facts: object
) -> Study:
    """Return a study with the words of the list, and a check for each printed number of its places.

    Inputs of the paper need no check of their own; a result without one is an error. `facts` are filled into
    the notes and the title.
    """
    (entry,) = find(name)
    found = [one for part in checks for one in part]
    known = {one.printed for one in found}
    for one in entry.printed:
        if one not in known:
            if one.kind != "input":
                raise LookupError(f"study {name} has no value for {one}")
            found.append(check(one, None))
    notes = tuple(note.format(**facts) for note in entry.notes)
    title = entry.title.format(**facts) if facts else entry.title
    table = tuple(tuple(row) for row in rows)
    return Study(name, title, entry.source, tuple(columns.split()), table, notes, tuple(found))
