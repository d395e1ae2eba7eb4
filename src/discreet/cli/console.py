"""What all commands share: options that they read, and how they give their results back.

A command gives its result as a dictionary and as blocks of text; `Screen.present` writes one of the two, as
JSON or as prose of readable width and plain tables. The files that it writes are checked before the long
work, and put in place together at its end.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from discreet.answers.answer import Answer, AnswerTable, Column, Paragraph, Part
from discreet.budget import Neighbours
from discreet.cli import seconds_so_far
from discreet.errors import DiscreetError, InputError, visible
from discreet.files import check_writable, csv_text, write_whole
from discreet.numbers import fraction, read_delta, whole
from discreet.render.json import json_of, json_text
from discreet.render.text import part_text, text_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.accounting.overall import Account
    from discreet.budget import Release

    Content = bytes | str | tuple[Sequence[str], Iterable[Sequence[object]]] | Figure
    Contents = Mapping[str, Content | Callable[[], Content]]
    """What files hold, by option: a text, a table (every float with all its digits), or a picture."""

MOST_JOBS = 256
LARGEST_EPSILON = 10**6


def option(help: str, metavar: str = "", **more: str | bool) -> Parameter:
    """Return how an option is shown: its help and what stands for its value; `more` is as cyclopts has it.

    >>> option("Epsilon at this delta.", "D").metavar
    'D'
    """
    known: dict[str, Any] = {"help": help, "show_choices": False, **more}
    return Parameter(**known | ({"metavar": metavar} if metavar else {}))


Targets = Annotated[str, option("A preset's name or a TOML file; several make a portfolio.")]
Target = Annotated[str, option("A preset's name or a TOML file.")]
Relation = Annotated[
    Neighbours | None,
    option(
        "bounded: one record is replaced; unbounded: one is added or removed. "
        "Default: what the release was calibrated for.",
        "bounded|unbounded",
    ),
]
Deltas = Annotated[
    list[str] | None, option("Epsilon at this delta, an exact number such as 1e-10; may be repeated.", "D")
]
People = Annotated[int, option("How many people change together.", "K")]
Accuracy = Annotated[
    str | None,
    option("Trade accuracy for speed: how far an epsilon may be off, or what fraction of a delta.", "A"),
]
Jobs = Annotated[int | None, option("Processes; default: one for each CPU.", "N")]
Json = Annotated[bool, option("Print one JSON object.")]
Quiet = Annotated[bool, option("No progress bar and no time.")]

_CHANCE = "The adversary's chance that the target is present, such as 1/2"

Priors = Annotated[list[str], option(f"{_CHANCE} or 1/864; may be repeated.", "P")]
Prior = Annotated[str, option(f"{_CHANCE}.", "P")]
Variances = Annotated[list[str] | None, option("Variance of the noise, an exact number.", "V")]
Rhos = Annotated[
    list[str] | None,
    option("Instead of the variance: zCDP's rho with a record added or removed, 1/(2 variance).", "R"),
]
Floor = Annotated[bool, option("Negative values were published as zero.")]
KeyFile = Annotated[
    Path | None, option("The key file of a signed ledger. Default: DISCREET_LEDGER_KEY.", "FILE")
]
LedgerFile = Annotated[
    Path | None,
    option(
        "The ledger of the population; it must exist. Default: DISCREET_LEDGER, or discreet-ledger.json "
        "beside the input.",
        "FILE",
    ),
]
SpendAgain = Annotated[
    bool, option("Release an input again that the ledger has already counted, and spend again.")
]
Rehearsal = Annotated[
    int | None, option("Noise that can be repeated and protects nobody: NOT PRIVATE.", "SEED")
]
Csv = Annotated[Path | None, option("Write the numbers.", "FILE.csv")]
Plot = Annotated[Path | None, option("Plot the numbers.", "FILE.svg|png|pdf")]


def jobs_or_cpus(jobs: int | None) -> int:
    """Return the number of processes: as asked, or one for each CPU that may be used.

    >>> jobs_or_cpus(3)
    3
    """
    if jobs is None:
        from discreet.accounting.parallel import usable_cpus

        return min(usable_cpus(), MOST_JOBS)
    if whole(jobs, name="jobs") > MOST_JOBS:
        raise InputError(f"jobs is {jobs}; at most {MOST_JOBS} are allowed")
    return jobs


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Comparing:
    """The options of a command that compares all paths: between whom, and with how many processes."""

    neighbours: Relation = None
    people: People = 1
    jobs: Jobs = None

    @property
    def workers(self) -> int:
        """The number of processes."""
        return jobs_or_cpus(self.jobs)

    def account(self, release: Release) -> Account:
        """Return the account of a release."""
        from discreet.accounting.overall import account

        return account(release, neighbours=self.neighbours, people=self.people, jobs=self.workers)


ALL_PATHS = Comparing()


def read_accuracy(text: str | None) -> float | None:
    """Return the accuracy that is enough, if one was named.

    >>> read_accuracy("1e-4"), read_accuracy(None)
    (0.0001, None)
    """
    if text is None:
        return None
    value = fraction(text, name="accuracy")
    if not Fraction(1, 10**9) <= value <= Fraction(1, 10):
        raise InputError(f"accuracy is {text}; it must lie between 1e-9 and 0.1")
    return float(value)


def read_deltas(texts: Sequence[str]) -> list[Fraction]:
    """Return the deltas as the exact numbers they denote, each once.

    >>> read_deltas(["1e-10", "0.0000000001"])
    [Fraction(1, 10000000000)]
    """
    return list(dict.fromkeys(map(read_delta, texts)))


def read_epsilon(text: str) -> Fraction:
    """Return the epsilon as the exact number it denotes.

    >>> read_epsilon("-1")
    Traceback (most recent call last):
    discreet.errors.InputError: epsilon is -1; it must be zero or more, and at most 1000000
    """
    epsilon = fraction(text, name="epsilon")
    if not 0 <= epsilon <= LARGEST_EPSILON:
        raise InputError(f"epsilon is {text}; it must be zero or more, and at most {LARGEST_EPSILON}")
    return epsilon


def read_by_level(text: str | None, option: str, release: Release | None = None) -> dict[str, str]:
    """Read LEVEL=NUMBER,... into a dictionary; names may have commas and equal signs in them.

    The levels are those of a release, by their codes or as people write them, or any names if there is none.

    >>> read_by_level("block=1/2,Block group=3", "--rho")
    {'block': '1/2', 'Block group': '3'}
    >>> from discreet.budget import load
    >>> read_by_level("block group=3", "--weights", load("dhc-2020"))
    {'Block_Group': '3'}
    """
    found: dict[str, str] = {}
    rest = text
    while rest is not None:
        part = re.match(r"(?P<name>.*?)=(?P<number>[^,=]*)(?:,(?P<rest>.*))?$", rest, re.DOTALL)
        if part is None or not part["name"].strip():
            raise InputError(f"{option} has {rest!r}; it must be LEVEL=NUMBER, several separated by commas")
        name = part["name"].strip()
        if release is not None:
            name = release.level(name).name
        if name in found:
            raise InputError(f"{option} names level {name!r} twice")
        fraction(part["number"], name=f"{option} of level {name!r}")
        found[name] = part["number"].strip()
        rest = part["rest"]
    return found


def command(
    name: str, usage: str, *examples: str, help: str | None = None, note: str = "", group: App | None = None
) -> App:
    """Return a command of the program, or of a group of commands: its usage, and examples of its arguments.

    >>> print(command("presets", "[OPTIONS]", "--json").help_epilogue)
    Example:
      discreet presets --json
    """
    title = "Example" if len(examples) == 1 else "Examples"
    shown = "\n".join([f"{title}:", *(f"  discreet {name} {one}" for one in examples)])
    usage = f"Usage: discreet {name} {usage}"
    made = App(name=name.split()[-1], help=help, usage=usage, help_epilogue=note + shown)
    if group is not None:
        group.command(made)
    return made


# -- what a command gives back -----------------------------------------------------------------------------

Hanging = Paragraph
"""A paragraph whose lines after the first are indented."""


def long_line(text: str) -> Paragraph:
    """One line, however long."""
    return Paragraph(text, wraps=False)


def text_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)
) -> AnswerTable:
    """Return a table; columns in `left` are texts, the others are numbers and end flush."""
    heads = tuple(Column(name, is_text=place in left) for place, name in enumerate(columns))
    return AnswerTable(heads, tuple(tuple(row) for row in rows))


Block = Part
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
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        # as they are: a name may hold what rich takes for markup
        name, of = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[of]}"))
        times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
        with Progress(name, BarColumn(), of, *times, console=Console(stderr=True), transient=True) as bars:

            def move(stage: str, done: int, total: int) -> None:
                tasks = {task.description: task.id for task in bars.tasks}
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
            if move is not None:
                move(text, 0, 0)
            yield None if move is None else partial(move, text)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Show on a terminal that work goes on; several problems of an input become one line."""
        try:
            with ExitStack() as shown:
                if self.is_watched:
                    from rich.console import Console
                    from rich.text import Text

                    shown.enter_context(Console(stderr=True).status(Text(f"{visible(text)} ...")))
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
            write(f"{json_text({**found(), 'seconds': round(seconds, 3)} if timed else found())}\n")
            return
        show(text)
        if not self.quiet:
            print(f"Time: {seconds:.1f} s", file=sys.stderr)

    def tell(self, answer: Answer, *, timed: bool = False) -> None:
        """Write an answer as JSON, with the seconds it took if `timed`, or as text and the time beside it."""
        seconds = seconds_so_far()
        if self.json:
            more = {"seconds": round(seconds, 3)} if timed else {}
            write(f"{json_of(answer, **more)}\n")
            return
        for text in text_of(answer):
            write(f"{text}\n")
        if not self.quiet:
            print(f"Time: {seconds:.1f} s", file=sys.stderr)


PLAIN = Screen()


def show(text: Iterable[Block]) -> None:
    """Write paragraphs and tables."""
    for block in text:
        write(f"{part_text(block)}\n")


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


def about_ledger(ledger: Path | None, what: str, *, counted: bool) -> Iterator[Block]:
    """Say where a run was noted; or that it was not, and what that means."""
    if ledger is not None:
        yield Hanging(f"Ledger: {ledger}. It holds a hash of the {what}: do not publish it.")
    elif counted:
        yield Hanging(
            "No ledger: nothing keeps count of what is spent. Whoever repeats this run on the same people "
            "spends again, and the noise of repeated runs can be averaged away. To make one, run `discreet "
            "ledger new discreet-ledger.json` beside the input."
        )


def need_tables(command: str) -> None:
    """Raise unless the library that reads and writes tables is there."""
    if find_spec("pyarrow") is None:
        text = f"{command} needs PyArrow, which is not installed"
        raise DiscreetError(f"{text}: pip install 'discreet[release]'")


KINDS = {"plot": (".svg", ".png", ".pdf"), "pdf": (".pdf",)}
"""How the names of files end, by the option that names them, where it is not .csv."""


class Outputs:
    """The files that one command will write, by the option that names each.

    >>> Outputs(plot=Path("figure.gif"))
    Traceback (most recent call last):
    discreet.errors.InputError: --plot is figure.gif; its name must end in .svg, .png or .pdf
    """

    def __init__(self, **places: Path | None) -> None:
        self.planned: dict[str, Path] = {}
        for name, path in places.items():
            self.plan(f"--{name}", path, KINDS.get(name, (".csv",)))

    def plan(self, option: str, path: Path | None, kinds: Sequence[str], *, source: str = "") -> None:
        """Check that a file can be written, without writing it, and that it is not the one that is read."""
        if path is None:
            return
        if path.suffix.lower() not in kinds:
            *most, last = kinds
            choice = f"{', '.join(most)} or {last}" if most else last
            raise InputError(f"{option} is {path}; its name must end in {choice}")
        if path.resolve() in self.planned.values():
            raise InputError(f"{option} is {path}, which another option names too")
        if source and path.resolve() == Path(source).resolve():
            raise InputError(f"{option} is {path}, the release that is read; choose another name")
        self.planned[option] = check_writable(path)

    def kind(self, option: str) -> str:
        """The ending of a file's name, which says its kind."""
        return self.planned[option].suffix.lower().removeprefix(".")

    def made(self, contents: Contents) -> dict[str, bytes]:
        """Return the bytes of the files that were asked for; nothing is computed for the others."""
        made = {}
        for option, content in contents.items():
            if option not in self.planned:
                continue
            found = content() if callable(content) else content
            if isinstance(found, tuple):
                found = csv_text(*found)
            elif not isinstance(found, bytes | str):
                from discreet.report.figures import figure_bytes

                found = figure_bytes(found, self.kind(option))
            made[option] = found.encode() if isinstance(found, str) else found
        return made

    def write(self, contents: Contents, *, confidential: bool = False) -> None:
        """Write the files that were asked for; all or none, as far as the file system allows."""
        made = {self.planned[option]: content for option, content in self.made(contents).items()}
        write_whole(made, confidential=confidential)
