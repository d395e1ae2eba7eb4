"""What goes to the screen: prose of readable width, plain tables, JSON, and that work goes on.

A command gives its result as a dictionary and as blocks of text; `Screen.present` writes one of the two.
"""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from cyclopts import Parameter

from discreet.cli import seconds_so_far
from discreet.cli.options import Json, Quiet
from discreet.errors import DiscreetError, InputError

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 100
"""Columns of prose where there is no terminal to ask."""


class Hanging(NamedTuple):
    """A paragraph whose lines after the first are indented."""

    text: str
    indent: str = "  "


class LongLine(NamedTuple):
    """One line, however long."""

    text: str


class TextTable(NamedTuple):
    """A table; columns in `left` are texts, the others are numbers and end flush."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)


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

    def progress(self, text: str) -> AbstractContextManager[Callable[[int, int], None] | None]:
        """Give a callable (done, total) that moves a bar on standard error; none if nobody looks."""
        return progress_bar(text, show=not (self.quiet or self.json))

    def stages(self) -> AbstractContextManager[Callable[[str, int, int], None] | None]:
        """Give a callable (what, done, total) for work that has several stages."""
        return stages(show=not (self.quiet or self.json))

    def working(self, text: str) -> AbstractContextManager[None]:
        """Show on a terminal that work goes on; several problems of an input become one line."""
        return working(text, show=not (self.quiet or self.json))

    def present(
        self, found: Callable[[], Mapping[str, object]], text: Iterable[Block], *, timed: bool = False
    ) -> None:
        """Write a result as JSON, with the seconds it took if `timed`, or as text."""
        seconds = seconds_so_far()
        if self.json:
            write_json({**found(), "seconds": round(seconds, 3)} if timed else found())
            return
        show(text)
        say_time(seconds, show=not self.quiet)


PLAIN = Screen()


def show(text: Iterable[Block]) -> None:
    """Write paragraphs and tables."""
    for block in text:
        if isinstance(block, TextTable):
            table(block.columns, block.rows, left=block.left)
        elif isinstance(block, Hanging):
            say(block.text, indent=block.indent)
        elif isinstance(block, LongLine):
            write(f"{block.text}\n")
        else:
            say(block)


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
    width = min(WIDTH, _width() or WIDTH)
    for text in paragraphs:
        write(
            textwrap.fill(
                text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
            + "\n"
        )


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> None:
    """Write a table; columns in `left` are texts, the others are numbers and end flush."""
    from rich.console import Console

    # rendered to a string first: only `write` meets a closed pipe or a full disk
    page = io.StringIO()
    width = _width() or 500  # a table that goes into a file is as wide as it needs to be
    console = Console(file=page, width=width, force_terminal=sys.stdout.isatty(), highlight=False)
    console.print(_table(columns, rows, left))
    text = "\n".join(line.rstrip() for line in page.getvalue().rstrip("\n").split("\n"))
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    write((text if unicode else text.replace("─", "-")) + "\n")


def _width() -> int | None:
    """Columns of the terminal, if the output goes to one."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        made.add_column(name, justify="left" if place in left else "right", overflow="fold")
    for row in rows:
        made.add_row(*map(Text, row))  # as they are: a name may hold what rich takes for markup
    return made


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


@contextmanager
def stages(*, show: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Give a callable (stage, done, total) that moves a bar for each stage on standard error.

    None if that is no terminal.
    """
    if not show or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    plain = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[of]}"))
    name, of = plain  # as they are: a name may hold what rich takes for markup
    columns = (name, BarColumn(), of)
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, *times, console=Console(stderr=True), transient=True) as bars:

        def move(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                # until something is done, nobody knows how far it is
                tasks[stage] = bars.add_task(stage, total=None, of="")
            if done:
                bars.update(tasks[stage], completed=done, total=total, of=f"{done:,}/{total:,}")

        yield move


@contextmanager
def progress_bar(text: str, *, show: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Give a callable (done, total) that moves a bar on standard error; none if that is no terminal."""
    with stages(show=show) as move:
        if move is not None:
            move(text, 0, 0)
        yield None if move is None else lambda done, total: move(text, done, total)


@contextmanager
def working(text: str, *, show: bool) -> Iterator[None]:
    """Show on a terminal that work goes on; several problems of an input become one line."""
    try:
        if show and sys.stderr.isatty():
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


def need_tables(command: str) -> None:
    """Raise unless the library that reads and writes tables is there."""
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        text = f"{command} reads and writes tables with PyArrow, which is not installed"
        raise DiscreetError(f"{text}: pip install 'discreet[release]'")


def say_time(seconds: float, *, show: bool) -> None:
    """Write to standard error how long it took."""
    if show:
        print(f"Time: {seconds:.1f} s", file=sys.stderr)
