"""What a command gives back: prose of readable width, plain tables, JSON, that work goes on, and files.

A command gives its result as a dictionary and as blocks of text; `Screen.present` writes one of the two. The
files that it writes are checked before the long work, and put in place together at its end.
"""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cyclopts import Parameter

from discreet.cli import seconds_so_far
from discreet.cli.options import Json, Quiet
from discreet.errors import DiscreetError, InputError
from discreet.files import check_writable, csv_text, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE_KINDS = (".csv",)
PLOT_KINDS = (".svg", ".png", ".pdf")

WIDTH = 100
"""Columns of prose where there is no terminal to ask."""


class Hanging(NamedTuple):
    """A paragraph whose lines after the first are indented."""

    text: str
    indent: str = "  "

    def __str__(self) -> str:
        width = min(WIDTH, _width() or WIDTH)
        return textwrap.fill(
            self.text, width, subsequent_indent=self.indent, break_long_words=False, break_on_hyphens=False
        )


class LongLine(NamedTuple):
    """One line, however long."""

    text: str

    def __str__(self) -> str:
        return self.text


class TextTable(NamedTuple):
    """A table; columns in `left` are texts, the others are numbers and end flush."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)

    def __str__(self) -> str:
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        for place, name in enumerate(self.columns):
            made.add_column(name, justify="left" if place in self.left else "right", overflow="fold")
        for row in self.rows:
            made.add_row(*map(Text, row))  # as they are: a name may hold what rich takes for markup
        # rendered to a string first: only `write` meets a closed pipe or a full disk
        page = io.StringIO()
        width = _width() or 500  # a table that goes into a file is as wide as it needs to be
        Console(file=page, width=width, force_terminal=sys.stdout.isatty(), highlight=False).print(made)
        text = "\n".join(line.rstrip() for line in page.getvalue().rstrip("\n").split("\n"))
        unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
        return text if unicode else text.replace("─", "-")


Block = str | Hanging | LongLine | TextTable
"""A paragraph, or a table. An empty paragraph is an empty line."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Screen:
    """How a command shows its result: the two options that most commands have.

    >>> Screen(json=True).present(lambda: {"epsilon": 1.5}, ["The exact epsilon is 1.5."])
    {
      "epsilon": 1.5
    }
    """

    json: Json = False
    quiet: Quiet = False

    @property
    def is_watched(self) -> bool:
        """Whether somebody looks on, at a terminal."""
        return not (self.quiet or self.json) and sys.stderr.isatty()

    @contextmanager
    def stages(self) -> Iterator[Callable[[str, int, int], None] | None]:
        """Give a callable (stage, done, total) that moves a bar for each stage; none if nobody looks."""
        if not self.is_watched:
            yield None
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskID,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        # as they are: a name may hold what rich takes for markup
        name, of = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[of]}"))
        times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
        tasks: dict[str, TaskID] = {}
        with Progress(name, BarColumn(), of, *times, console=Console(stderr=True), transient=True) as bars:

            def move(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    # until something is done, nobody knows how far it is
                    tasks[stage] = bars.add_task(stage, total=None, of="")
                if done:
                    bars.update(tasks[stage], completed=done, total=total, of=f"{done:,}/{total:,}")

            yield move

    @contextmanager
    def progress(self, text: str) -> Iterator[Callable[[int, int], None] | None]:
        """Give a callable (done, total) that moves one bar; none if nobody looks."""
        with self.stages() as move:
            if move is None:
                yield None
            else:
                move(text, 0, 0)
                yield lambda done, total: move(text, done, total)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Show on a terminal that work goes on; several problems of an input become one line."""
        try:
            if self.is_watched:
                from rich.console import Console
                from rich.text import Text

                with Console(stderr=True).status(Text(f"{text} ...")):
                    yield
            else:
                yield
        except InputError as error:
            first, *others = str(error).split("\n")
            if not others:
                raise
            raise InputError(f"{first} {'; '.join(line.strip() for line in others)}") from None

    def present(
        self, found: Callable[[], Mapping[str, object]], text: Iterable[Block], *, timed: bool = False
    ) -> None:
        """Write a result as JSON, with the seconds it took if `timed`, or as text and the time beside it."""
        seconds = seconds_so_far()
        if self.json:
            write_json({**found(), "seconds": round(seconds, 3)} if timed else found())
            return
        show(text)
        if not self.quiet:
            print(f"Time: {seconds:.1f} s", file=sys.stderr)


PLAIN = Screen()


def show(text: Iterable[Block]) -> None:
    """Write paragraphs and tables."""
    for block in text:
        write(f"{Hanging(block, '') if isinstance(block, str) else block}\n")


def write(text: str) -> None:
    """Write to standard output, flushed, so that an error shows here and not at the end."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DiscreetError(f"the output cannot be written: {error.strerror}") from None


def say(*paragraphs: str, indent: str = "") -> None:
    """Write paragraphs, wrapped; `indent` is for the lines after a paragraph's first."""
    show(Hanging(text, indent) for text in paragraphs)


def _width() -> int | None:
    """Columns of the terminal, if the output goes to one."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def write_json(value: Mapping[str, object]) -> None:
    """Write one JSON object."""
    write(json_text(value) + "\n")


def json_text(value: object, *, margin: str = "") -> str:
    """Return JSON, readable, short lists on one line; a Decimal keeps all its digits.

    >>> print(json_text({"worst": [6, 6], "lower": Decimal("24.456514457123456789"), "rows": []}))
    {
      "worst": [6, 6],
      "lower": 24.456514457123456789,
      "rows": []
    }
    """
    inner = margin + "  "
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping) and value:
        items = (f"{json.dumps(key)}: {json_text(item, margin=inner)}" for key, item in value.items())
        return "{\n" + ",\n".join(inner + item for item in items) + f"\n{margin}}}"
    if isinstance(value, list | tuple):
        texts = [json_text(item, margin=inner) for item in value]
        if any("\n" in text for text in texts) or sum(map(len, texts)) > WIDTH:
            return "[\n" + ",\n".join(inner + text for text in texts) + f"\n{margin}]"
        return f"[{', '.join(texts)}]"
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} has no place in JSON")
    return json.dumps(value)


def need_tables(command: str) -> None:
    """Raise unless the library that reads and writes tables is there."""
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        text = f"{command} reads and writes tables with PyArrow, which is not installed"
        raise DiscreetError(f"{text}: pip install 'discreet[release]'")


class Outputs:
    """The files that one command will write, by the option that names each.

    >>> Outputs(csv=None).planned
    {}
    """

    def __init__(self, *, csv: Path | None = None, plot: Path | None = None) -> None:
        self.planned: dict[str, Path] = {}
        self.plan("--csv", csv, TABLE_KINDS)
        self.plan("--plot", plot, PLOT_KINDS)

    def plan(self, option: str, path: Path | None, kinds: Sequence[str]) -> None:
        """Check that a file can be written, without writing it.

        >>> Outputs().plan("--plot", Path("figure.gif"), PLOT_KINDS)
        Traceback (most recent call last):
        discreet.errors.InputError: --plot is figure.gif; its name must end in .svg, .png or .pdf
        """
        if path is None:
            return
        if path.suffix.lower() not in kinds:
            *most, last = kinds
            choice = f"{', '.join(most)} or {last}" if most else last
            raise InputError(f"{option} is {path}; its name must end in {choice}")
        if path.resolve() in self.planned.values():
            raise InputError(f"{option} is {path}, which another option names too")
        self.planned[option] = check_writable(path)

    def wanted(self, option: str) -> bool:
        """Whether the file of this option was asked for."""
        return option in self.planned

    def kind(self, option: str) -> str:
        """The ending of a file's name, which says its kind."""
        return self.planned[option].suffix.lower().removeprefix(".")

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Write all files, each named by its option; all or none, as far as the file system allows."""
        write_whole({self.planned[option]: content for option, content in contents.items()})

    def write_table_and_figure(
        self,
        table: Callable[[], tuple[Sequence[str], Iterable[Sequence[object]]]],
        figure: Callable[[], Figure],
    ) -> None:
        """Write the table, every float with all its digits, and the figure, if they are asked for."""
        contents: dict[str, bytes] = {}
        if self.wanted("--csv"):
            contents["--csv"] = csv_text(*table()).encode()
        if self.wanted("--plot"):
            from discreet.report.figures import figure_bytes

            contents["--plot"] = figure_bytes(figure(), self.kind("--plot"))
        self.write(contents)
