"""Guests: parts of the package, or of an office, that bring commands and answers of their own.

A guest is a package with a file `guest.toml`, which says what it brings and is read without importing the
package. Without its folder all that it brings is gone, and the rest works. Guests of this package stand in
`OWN`; those of others have an entry point in the group `discreet.guests`, whose value is their package
(docs/howto/own-part.md). Their presets have entry points of their own: the kernel reads them
(`discreet.budget.presets`).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from discreet.errors import DiscreetError

GROUP = "discreet.guests"
"""The group of entry points in which the packages of others are found."""

FILE = "guest.toml"

OWN = ("audit", "cellkey", "census", "interop", "nation", "studies", "workbench")
"""The guests that come with the package: folders of it."""

SECTIONS = ("commands", "answers")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its words, such as `risk audit`, its help, and the app that runs it (module:name)."""

    name: str
    help: str
    runs: str
    prints: str = ""
    """The type of what it prints with --json (module:name); a group of commands has none."""


@dataclass(frozen=True, slots=True)
class Guest:
    """What a guest brings.

    The modules of `answers` have functions marked with `discreet.answers.describes`.
    """

    name: str
    commands: tuple[Command, ...]
    answers: tuple[str, ...]


@cache
def guests() -> tuple[Guest, ...]:
    """Return the guests that are there: first those of the package, then those of others.

    >>> [guest.name for guest in guests()][:2]
    ['audit', 'cellkey']
    """
    here = Path(__file__).parent
    own = {name: here / name / FILE for name in OWN}
    there = {name: file for name, file in own.items() if file.exists()}
    return tuple(read_guest(name, file) for name, file in (there | _of_others()).items())


def _of_others() -> dict[str, Path]:
    from importlib.metadata import entry_points

    return {point.name: _file_of(point.name, point.value) for point in entry_points(group=GROUP)}


def _file_of(name: str, package: str) -> Path:
    """Return the `guest.toml` of a package, which is not imported."""
    spec = find_spec(package)
    folders = () if spec is None else spec.submodule_search_locations or ()
    files = [Path(folder, FILE) for folder in folders if Path(folder, FILE).exists()]
    if not files:
        _refuse(name, f"its entry point names {package!r}, which is no package with a {FILE}")
    return files[0]


def read_guest(name: str, file: Path) -> Guest:
    """Return what a `guest.toml` says, or refuse it.

    >>> guest = read_guest("cellkey", Path(__file__).parent / "cellkey" / FILE)
    >>> guest.commands[1].name, guest.commands[1].runs
    ('cellkey check', 'discreet.cellkey.commands.check:app')
    """
    try:
        stated = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        _refuse(name, f"{file.name} cannot be read: {error}")
    if unknown := stated.keys() - set(SECTIONS):
        _refuse(
            name, f"{file.name} has an unknown section {min(unknown)!r}; it may have {', '.join(SECTIONS)}"
        )
    commands = []
    for words, said in stated.get("commands", {}).items():
        if not isinstance(said, dict) or said.keys() - {"prints"} != {"help", "runs"}:
            _refuse(
                name, f"the command {words!r} needs a help and what it runs, maybe prints, and nothing else"
            )
        commands.append(Command(words, **said))
    modules = stated.get("answers", {}).get("modules", [])
    return Guest(name, tuple(commands), tuple(modules))


def load_answers() -> None:
    """Import the modules that describe the results of guests."""
    for guest in guests():
        for module in guest.answers:
            import_module(module)


def loaded(named: str) -> object:
    """Return what `module:name` stands for.

    >>> loaded("fractions:Fraction")
    <class 'fractions.Fraction'>
    """
    module, _, name = named.partition(":")
    return getattr(import_module(module), name)


def _refuse(name: str, why: str) -> NoReturn:
    raise DiscreetError(f"the guest {name!r} cannot be used: {why}")
