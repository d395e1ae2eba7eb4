"""What all commands share: options that they read, and how they give their results back.

A command gives an answer; `Screen.tell` writes it, as JSON or as prose of readable width and plain tables.
The files that it writes are checked before the long work, and put in place together at its end.
"""

from __future__ import annotations

import builtins
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, get_args

from cyclopts import App, Parameter

from discreet.budget.text_files import STANDARD_INPUT
from discreet.cli import seconds_so_far
from discreet.cli.commands import commands_of
from discreet.errors import DiscreetError, InputError, install_hint, visible
from discreet.files import check_writable, csv_text, write_whole
from discreet.numbers import fraction, read_delta, whole
from discreet.questions import Option
from discreet.render.pasted import folded_command

if TYPE_CHECKING:
    from discreet.answers import Answer
    from discreet.answers.figure import Picture
    from discreet.budget import Neighbours, Release
    from discreet.ledger.signing import Key

    Content = bytes | str | tuple[Sequence[str], Iterable[Sequence[object]]] | Picture
    Contents = Mapping[str, Content | Callable[[], Content]]
    """What files hold, by option: a text, a table (every float with all its digits), or a picture."""

_MOST_JOBS = 256
_LARGEST_EPSILON = 10**6

TRY = "To try it, in an empty directory:"
"""What stands above commands of a help that run as they stand."""

SURVEY = "example survey"
TABULATE = "tabulate survey --records survey/records.csv --units survey/units.csv --out counts"
MEASURE = "measure survey --records survey/records.csv --units survey/units.csv --out noisy --rehearsal 1"
"""What examples begin with: the files of an invented health survey, its counts, and counts with noise."""


def option(help: str, metavar: str = "", **more: str | bool) -> Parameter:
    """Return how an option is shown: its help and what stands for its value; `more` is as cyclopts has it.

    >>> option("Epsilon at this delta.", "D").metavar
    'D'
    """
    known: dict[str, Any] = {"help": help, "show_choices": False, **more}
    return Parameter(**known | ({"metavar": metavar} if metavar else {}))


def declared(annotation: object) -> Parameter:
    """Return how an option is shown that a question declares.

    >>> from discreet.ledger.questions import Out
    >>> declared(Out).metavar
    'DIR'
    """
    declared_option = _option_of(annotation)
    assert declared_option is not None
    more = {"negative": f"--{declared_option.negative}"} if declared_option.negative else {}
    return option(declared_option.help, declared_option.metavar, **more)


def _option_of(annotation: object) -> Option | None:
    return next((data for data in getattr(annotation, "__metadata__", ()) if isinstance(data, Option)), None)


Given = Any
"""What was given for an option, as the question declares it."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """An option as its owner declares it: its name and type in Python, and how it is shown."""

    name: str
    annotation: object
    is_needed_in_python: bool
    is_on: bool
    """Whether it is a flag that is on unless it is turned off."""
    option: Option

    @property
    def is_turned_off(self) -> bool:
        """Whether the command line has `--no-certify` alone, for a flag `certify` that is on."""
        return self.is_on and self.option.each.startswith("no-")

    def parameter(self, *, is_signed: bool, is_optional: bool = False) -> inspect.Parameter:
        """Return the parameter of the command; a text that `is_signed` may begin with a minus."""
        reads = get_args(self.annotation)[0] if self.option.reads is None else self.option.reads
        needed = self.option.needed or (self.is_needed_in_python and type(None) not in get_args(reads))
        needed = needed and not is_optional
        default = inspect.Parameter.empty if needed else None
        named = self.option.each or self.name.replace("_", "-")
        name = Parameter(name=f"--{named}", allow_leading_hyphen=is_signed)
        # where Pydantic is loaded, Cyclopts checks that a default is of the type
        either = reads if needed else Optional[reads]  # noqa: UP045 (made here, not annotated)
        typed = Annotated[either, declared(self.annotation), name]  # type: ignore[valid-type]
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.name, kind, default=default, annotation=typed)


class _Unknown:
    """Stands for a type that a module imports for type checkers alone."""

    def __class_getitem__(cls, _: object) -> type[_Unknown]:
        return cls


class _Names(dict[str, object]):
    """What names mean in annotations; no option is of an unknown type."""

    def __missing__(self, name: str) -> object:
        return vars(builtins).get(name, _Unknown)


def _declared_by(owner: Callable[..., object]) -> Iterator[_Declared]:
    """Yield the options that a function has in its parameters, or a question in its fields."""
    names = _Names(vars(sys.modules[owner.__module__]))
    for name, parameter in inspect.signature(owner, eval_str=True, locals=names).parameters.items():
        shown = _option_of(parameter.annotation)
        if shown is not None:
            is_needed = parameter.default is inspect.Parameter.empty
            yield _Declared(name, parameter.annotation, is_needed, parameter.default is True, shown)


def takes(
    *owners: Callable[..., object],
    only: Sequence[str] = (),
    signed: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of its owners in the place of its `**given`; those that it needs come first.

    An owner is a question, or the function in Python that answers one. Where several have an option, the
    first one declares it. With `only` these are taken alone. An option that is not given is left out, and
    so has the default of its owner. The texts of those that are `signed` may begin with a minus; those that
    are `optional` are needed only in some uses of the command, which sees to it.
    """
    parameters = {
        parameter.name: parameter for owner in reversed(owners) for parameter in _declared_by(owner)
    }
    order = dict.fromkeys(parameter.name for owner in owners for parameter in _declared_by(owner))
    kept = [name for name in order if name in only or not only]
    shown = [
        parameters[name].parameter(is_signed=name in signed, is_optional=name in optional) for name in kept
    ]
    shown.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    turned_off = [name for name, parameter in parameters.items() if parameter.is_turned_off]

    def made(command: Callable[..., None]) -> Callable[..., None]:
        *own, _ = inspect.signature(command, eval_str=True).parameters.values()
        options_first = sorted([*own, *shown], key=lambda parameter: (parameter.kind, parameter in own))

        @wraps(command)
        def run(*arguments: Given, **given: Given) -> None:
            for name in turned_off:
                if name in given:
                    given[name] = not given[name]
            command(*arguments, **given)

        run.__signature__ = inspect.Signature(options_first)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in options_first}
        return run

    return made


Targets = Annotated[str, option("A preset's name or a TOML file; several make a portfolio.")]
Target = Annotated[
    str, option("A preset's name, a TOML file, or a directory with a release.toml or a ledger.")
]
Plan = Annotated[str, option("A preset's name, a TOML file, or a directory with a release.toml.")]
Json = Annotated[bool, option("Print one JSON object.")]
Quiet = Annotated[bool, option("No progress bar and no time.")]

Prior = Annotated[str, option("The adversary's chance that the target is present, such as 1/2.", "P")]
NoLedger = Annotated[bool, option("Spend without a ledger, where there is none: nothing keeps count.")]
Csv = Annotated[Path | None, option("Write the numbers.", "FILE.csv")]
Plot = Annotated[Path | None, option("Plot the numbers.", "FILE.svg|png|pdf")]


def jobs_or_cpus(jobs: int | None) -> int:
    """Return the number of processes: as asked, or one for each CPU that may be used.

    >>> jobs_or_cpus(3)
    3
    """
    if jobs is None:
        from discreet.accounting.parallel import usable_cpus

        return min(usable_cpus(), _MOST_JOBS)
    if whole(jobs, name="jobs") > _MOST_JOBS:
        raise InputError(f"jobs is {jobs}; at most {_MOST_JOBS} are allowed")
    return jobs


def read_release(target: str, neighbours: Neighbours | None = None, unit: str | None = None) -> Release:
    """Return the release of a target; all runs of a ledger, or of one in a directory, are one."""
    from discreet.budget import load

    if ledger := _ledger_at(target):
        from discreet.ledger import ledger_release

        return ledger_release(ledger, neighbours=neighbours, unit=unit)
    if unit is not None:
        raise InputError(f"--unit selects runs of a ledger, and {target} is not a ledger")
    return load(target)


def read_plan(target: str, command: str) -> Release:
    """Return the release of a target that a command can only use as a plan; a ledger is none."""
    from discreet.budget import load

    if _ledger_at(target):
        raise InputError(
            f"{target} is a ledger, of what was spent; {command} needs a release: a preset's name, a TOML "
            "file, or a directory with a release.toml, such as what a run wrote"
        )
    return load(target)


def _ledger_at(target: str) -> str:
    """Return the ledger that is named, or that is in a directory without a release; or nothing."""
    if target in STANDARD_INPUT or not os.path.exists(target):
        return ""
    from discreet.budget.presets import IN_A_FOLDER
    from discreet.ledger import is_ledger
    from discreet.ledger.ledger_file import ledger_in

    file = str(ledger_in(target))
    has_release = any(os.path.isfile(os.path.join(target, name)) for name in IN_A_FOLDER)
    return file if is_ledger(file) and not has_release else ""


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


def read_deltas(texts: Sequence[str], *, zero: bool = False) -> list[Fraction]:
    """Return the deltas as the exact numbers they denote, each once; with `zero` one may be 0.

    >>> read_deltas(["1e-10", "0.0000000001"])
    [Fraction(1, 10000000000)]
    """
    return list(dict.fromkeys(map(partial(read_delta, zero=zero), texts)))


def read_epsilon(text: str) -> Fraction:
    """Return the epsilon as the exact number it denotes.

    >>> read_epsilon("-1")
    Traceback (most recent call last):
    discreet.errors.InputError: epsilon is -1; it must be zero or more, and at most 1000000
    """
    epsilon = fraction(text, name="epsilon")
    if not 0 <= epsilon <= _LARGEST_EPSILON:
        raise InputError(f"epsilon is {text}; it must be zero or more, and at most {_LARGEST_EPSILON}")
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
    values: dict[str, str] = {}
    rest = text
    while rest is not None:
        part = re.match(r"(?P<name>.*?)=(?P<number>[^,=]*)(?:,(?P<rest>.*))?$", rest, re.DOTALL)
        if part is None or not part["name"].strip():
            raise InputError(f"{option} has {rest!r}; it must be LEVEL=NUMBER, several separated by commas")
        name = part["name"].strip()
        if release is not None:
            name = release.level(name).name
        if name in values:
            raise InputError(f"{option} names level {name!r} twice")
        fraction(part["number"], name=f"{option} of level {name!r}")
        values[name] = part["number"].strip()
        rest = part["rest"]
    return values


OFFERED: dict[str, Callable[[], Iterable[str]]] = {}
"""By command: the words that completion offers after it, where its declaration does not say them."""


def command(
    name: str,
    usage: str,
    *examples: str,
    tries: Sequence[str] = (),
    note: str = "",
    offers: Callable[[], Iterable[str]] | None = None,
) -> App:
    """Return a command of the program, or a group of commands: its usage, and examples of its arguments.

    What it is for stands in the table of commands, and so do the commands of a group. The help ends with what
    runs as it stands: `tries`, whole commands that begin in an empty directory, or else the last example.
    Completion asks `offers` for words that may follow the command.

    >>> print(command("presets", "[OPTIONS]", "--json").help_epilogue)
    Example:
      discreet presets --json
    >>> print(command("show", "NAME", tries=["example survey", "show survey"]).help_epilogue)
    To try it, in an empty directory:
      discreet example survey
      discreet show survey
    """
    title = "Example:" if len(examples) == 1 else "Examples:"
    blocks = {title: [f"{name} {example}".rstrip() for example in examples], TRY: tries}
    shown = "\n\n".join(
        "\n".join([head, *(folded_command(f"discreet {line}", indent="  ") for line in lines)])
        for head, lines in blocks.items()
        if lines
    )
    usage = f"Usage: discreet {name} {usage}".rstrip()
    made = App(name=name.split()[-1], usage=usage, help_epilogue=note + shown)
    for inner in commands_of(name):
        made.command(inner.runs, name=inner.name.split()[-1], help=inner.help)
    if offers is not None:
        OFFERED[name] = offers
    return made


# -- what a command gives back -----------------------------------------------------------------------------


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Screen:
    """How a command shows its result: the two options that most commands have.

    >>> from discreet.answers import Answer
    >>> Screen(json=True).tell(Answer("one count", {"epsilon": 1.5}, ("The exact epsilon is 1.5.",)))
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
        """Show on a terminal that work goes on."""
        with ExitStack() as shown:
            if self.is_watched:
                from rich.console import Console
                from rich.text import Text

                shown.enter_context(Console(stderr=True).status(Text(f"{visible(text)} ...")))
            yield

    def tell(self, answer: Answer, *, timed: bool = False) -> None:
        """Write an answer as JSON, with the seconds it took if `timed`, or as text and the time beside it."""
        seconds = seconds_so_far()
        if self.json:
            from discreet.render.json import json_of

            more = {"seconds": round(seconds, 3)} if timed else {}
            write(f"{json_of(answer, **more)}\n")
            return
        from discreet.answers import Style
        from discreet.render.text import text_of

        for text in text_of(answer):
            write(f"{text}\n")
        if not self.quiet:
            print(f"Time: {Style.PLACES.quantity(seconds, 1)} s", file=sys.stderr)


PLAIN = Screen()


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


@contextmanager
def key_of(file: Path) -> Iterator[Key]:
    """Give the key of a file, which is made if it does not exist; not if what it is for fails."""
    from discreet.ledger.signing import new_key, read_key

    made = not file.exists()
    signer = new_key(file) if made else read_key(file)
    assert signer is not None
    try:
        yield signer
    except DiscreetError:
        if made:
            file.unlink()
        raise


def need_tables(command: str) -> None:
    """Raise unless the library that reads and writes tables is there."""
    if find_spec("pyarrow") is None:
        text = f"{command} needs PyArrow, which is not installed"
        raise DiscreetError(f"{text}: {install_hint('release')}")


_KINDS = {"plot": (".svg", ".png", ".pdf"), "pdf": (".pdf",)}
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
            self.plan(f"--{name}", path, _KINDS.get(name, (".csv",)))

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
        from discreet.budget.presets import IN_A_FOLDER

        sources = [Path(source), *(Path(source, name) for name in IN_A_FOLDER)] if source else []
        if path.resolve() in [read.resolve() for read in sources]:
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
            text = content() if callable(content) else content
            if isinstance(text, tuple):
                text = csv_text(*text)
            elif not isinstance(text, bytes | str):
                from discreet.render.pictures import picture_bytes

                text = picture_bytes(text, self.kind(option))
            made[option] = text.encode() if isinstance(text, str) else text
        return made

    def write(self, contents: Contents, *, confidential: bool = False) -> None:
        """Write the files that were asked for; all or none, as far as the file system allows."""
        made = {self.planned[option]: content for option, content in self.made(contents).items()}
        write_whole(made, confidential=confidential)
