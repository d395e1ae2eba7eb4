"""The command line: one file a command, thin: parse, call, present. Here: commands and exit statuses.

A command is a cyclopts `App` in a module, and its lines in `commands.toml` or in a guest's `guest.toml`. It
ends with an answer, with one line that says what is wrong, or by a signal (`STATUSES`). With `--json`
standard output holds one JSON object either way: the answer, or what is wrong.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, get_args

from discreet.cli.commands import command_groups, unknown_command
from discreet.errors import DiscreetError, visible

if TYPE_CHECKING:
    from cyclopts import App, Group, MissingArgumentError, Token
    from cyclopts.argument import Argument

STATUSES = {
    "0": "done; also if the reader of a pipe, such as head, closed it",
    "1": "a bug; or verify, registry or risk audit found it false",
    "2": "bad input, nothing written; or a check found a problem",
    "130, 143, 129": "stopped by Ctrl-C, SIGTERM, SIGHUP",
}
"""Exit statuses, and what they mean."""

BEGIN = """\
discreet: exact accounting, noise, release and risk for differential privacy.

  discreet presets                           the releases that come with it
  discreet account dhc-2020                  what one costs a person, exactly
  discreet explain --epsilon 4 --delta 1e-6  what an epsilon means
  discreet example survey                    files to plan your own release from
  discreet workbench --open                  decide with live figures

`discreet --help` lists all commands; the help of each ends with an example to
run as it stands. `discreet help TERM` says what a term means, such as epsilon.
"""
"""What the program says without arguments: where to begin."""

_started = time.perf_counter()

_MEANT = {
    "--epsilon": "--epsilon, which this command does not take; `discreet calibrate RELEASE --epsilon E "
    "--delta D` finds the noise for an epsilon, `discreet account RELEASE --epsilon E` the delta at one",
}
"""Options that people look for in commands that do not have them, and what they may have meant."""

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_signals: list[int] = []
"""Those that came, in their order."""


def seconds_so_far() -> float:
    """Return how long ago the command began.

    >>> seconds_so_far() >= 0.0
    True
    """
    return time.perf_counter() - _started


def main() -> int:
    """Run the program with the arguments of the shell and return its exit status."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup and a shell's background do
            signal.signal(number, _stopped)
    try:
        status = run(sys.argv[1:])
        try:
            sys.stdout.flush()
        except OSError:
            _discard_output()
    except KeyboardInterrupt:
        status = 130
    # as it ends, the interpreter has no handler left: what was done is done, and its status stands
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    # libraries say of every signal that it was Ctrl-C
    return 128 + _signals[0] if status == 130 and _signals else status


def build_app() -> App:
    """Return the program with all its commands, none of them imported yet.

    >>> "account" in build_app()
    True
    """
    from cyclopts import App, Parameter

    program = App(
        name="discreet",
        help="Exact privacy accounting for differentially private official statistics.",
        help_format="plaintext",
        help_epilogue="\n".join(
            [
                "Exit status:",
                *(f"  {code:<13}  {meaning}" for code, meaning in STATUSES.items()),
                "\nExample:\n  discreet account dhc-2022-08-25 --delta 1e-10",
            ]
        ),
        version=_version,
        default_parameter=Parameter(negative=(), show_default=False, converter=_converted),
    )
    for title, commands in command_groups().items():
        for command in commands:
            program.command(command.runs, name=command.name, help=command.help, group=_group(title))
    for flag in ("--help", "--version"):
        program[flag].group = _group("Options")
    return program


@cache
def _group(title: str) -> Group:
    """Return a group of commands: one object for a title, since commands keep theirs."""
    from cyclopts import Group

    return Group(title, sort_key=([*command_groups(), "Options"].index(title)))


def _converted(kind: type, tokens: Sequence[Token]) -> object:
    """Read an option as cyclopts does, but no whole number from 2.5 or 0x2, and words in capitals too."""
    from cyclopts import convert

    def one(inner: type, text: str) -> object:
        if inner is int and not re.fullmatch("[+-]?[0-9]+", text):
            raise ValueError(text)  # cyclopts says of which option
        return convert(inner, [text])

    words = {word for part in (kind, *get_args(kind)) for word in get_args(part) if isinstance(word, str)}
    said = [token.evolve(value=low) if (low := token.value.lower()) in words else token for token in tokens]
    return convert(kind, said, converter=one)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status.

    >>> run(["show", "no-such-release"])
    2
    """
    global _started
    _started = time.perf_counter()
    arguments = [re.sub("^--neighbors(?==|$)", "--neighbours", text) for text in arguments]
    # standard input, by the name that cyclopts does not take for an option
    arguments = ["/dev/stdin" if text == "-" else text for text in arguments]
    if not arguments:
        sys.stdout.write(BEGIN)
        return 0
    complain = partial(_complain, as_json="--json" in arguments)
    try:  # loading takes a moment, in which Ctrl-C ends the program as it does later
        from cyclopts import (
            CycloptsError,
            MissingArgumentError,
            UnknownCommandError,
            UnknownOptionError,
            UnusedCliTokensError,
        )

        try:
            build_app()(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        except UnusedCliTokensError as error:
            more = ", ".join(map(repr, error.unused_tokens or ()))
            text = "an option that takes several is repeated before each, and the command takes no more"
            return complain(f"too many values: {more}; {text}")
        except UnknownCommandError as error:  # whose text would import every command
            group = " ".join(error.app.name[:1] if error.app else ()).removeprefix("discreet")
            return complain(unknown_command(*(error.unused_tokens or ())[:1], group=group))
        except UnknownOptionError as error:
            meant = _MEANT.get(error.token.keyword or "")
            return complain(f"unknown option {meant}" if meant else str(error))
        except CycloptsError as error:
            if option := re.search(r"Did you mean (--\S+) instead of (--\S+)\?", str(error)):
                return complain(f"unknown option {option[2]}; did you mean {option[1]}?")
            if isinstance(error, MissingArgumentError):
                return complain(*_missing(error, arguments))
            return complain(str(error))
    except DiscreetError as error:
        return complain(error.line, error.problems)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _discard_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.filename is None:  # not about a file that was named: a mistake of the program
            raise
        return complain(f"{error.filename} cannot be used: {error.strerror}")
    except SystemExit as stop:  # cyclopts ends so after Ctrl-C, and rich when help is piped to head
        if isinstance(stop.__context__, BrokenPipeError):
            return 0
        return stop.code if isinstance(stop.code, int) else 1
    return 0


def _missing(error: MissingArgumentError, arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Say of all that a command needs and was not given what it is for."""
    first = error.argument
    assert first is not None
    command = " ".join(error.command_chain or ())
    if error.keyword is not None:  # it is there, without its value
        return f"{error.keyword} needs a value {_needed(first).removeprefix(error.keyword).strip()}", []
    given = {text.partition("=")[0] for text in arguments}
    app = build_app()
    for word in error.command_chain or ():
        app = app[word]
    others = [
        argument
        for argument in app.assemble_argument_collection()
        if argument.required and argument.name.startswith("--") and given.isdisjoint(argument.names)
    ]
    needed = {argument.name: _needed(argument) for argument in (first, *others)}
    return f"{command} needs {'; '.join(needed.values())}", [
        f"{command} needs {one}" for one in needed.values()
    ]


def _needed(argument: Argument) -> str:
    """Name an option and its value, and say what it is for."""
    shown = argument.parameter
    named = " ".join(filter(None, (argument.name, shown.metavar if argument.name.startswith("-") else "")))
    return f"{named} ({(shown.help or '').rstrip('.')})"


def _complain(message: str, problems: Sequence[str] = (), *, as_json: bool) -> int:
    """Say what is wrong in one line; a program that asked for JSON reads the same there."""
    line = " ".join(message.split())
    if len(line) > 2000:  # a path or a name of thousands of letters: what is wrong stands at the ends
        line = f"{line[:1200]} ... {line[-600:]}"
    encoding = sys.stderr.encoding or "utf-8"
    print("discreet:", visible(line).encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)
    if as_json:
        told = {"error": line, "problems": list(problems) or [line], "status": 2}
        with suppress(OSError):  # that the output cannot be written may be what is wrong
            print(json.dumps(told, indent=2), flush=True)
    return 2


def _discard_output() -> None:
    """Point standard output nowhere, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stopped(number: int, frame: FrameType | None) -> NoReturn:
    # Ctrl-C alike: a KeyboardInterrupt that passes through `exec`, as in every dataclass that is loaded,
    # makes Python end by the signal at last, though it was caught
    _signals.append(number)
    raise SystemExit(128 + number)


def _version() -> str:
    from importlib.metadata import version

    return version("discreet")
