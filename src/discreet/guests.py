"""Guests: parts of the package, or of an office, that bring commands and answers of their own.

A guest is a package with a file `guest.toml`, which says what it brings and is read without importing the
package. Without its folder all that it brings is gone, and the rest works. Guests of this package stand in
`OWN`; those of others have an entry point in the group `discreet.guests`, whose value is their package
(docs/howto/own-part.md). Their presets have entry points of their own: the kernel reads them
(`discreet.budget.presets`).

A guest imports another only if it `needs` it, and is not there without it. What joins two guests is a guest
too, in a folder of the one that it adds to: `audit/tabulations/` needs `audit` and `census`. The first finds
it among what others offer it (`offered`), and knows nothing of the second.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn, TypeVar

from discreet.errors import DiscreetError

GROUP = "discreet.guests"
"""The group of entry points in which the packages of others are found."""

FILE = "guest.toml"

OWN = (
    "audit",
    "audit.tabulations",
    "cellkey",
    "census",
    "interop",
    "nation",
    "studies",
    "studies.tabulations",
    "workbench",
    "workbench.tabulations",
)
"""The guests that come with the package: folders of it."""

SECTIONS = ("needs", "commands", "answers", "offers")

Offered = TypeVar("Offered")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its words, such as `risk audit`, its help, and the app that runs it (module:name)."""

    name: str
    help: str
    runs: str
    prints: str = ""
    """The type of what it prints with --json (module:name); a group of commands has none."""
    group: str = ""
    """Where the help of the program lists it; only a command of one word has a group."""


@dataclass(frozen=True, slots=True)
class Guest:
    """What a guest brings.

    The modules of `answers` have functions marked with `discreet.answers.describes`.
    """

    name: str
    commands: tuple[Command, ...]
    answers: tuple[str, ...]
    needs: tuple[str, ...] = ()
    """The guests without which it is not there."""
    offers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What it brings to other guests (module:name, or a module), by what they ask for."""


@cache
def guests() -> tuple[Guest, ...]:
    """Return the guests that are there: first those of the package, then those of others.

    >>> "no-such-guest" in {guest.name for guest in guests()}
    False
    """
    here = Path(__file__).parent
    own = {name: here.joinpath(*name.split("."), FILE) for name in OWN}
    there = {name: file for name, file in own.items() if file.exists()}
    return with_needs([read_guest(name, file) for name, file in (there | _of_others()).items()])


def with_needs(found: Sequence[Guest]) -> tuple[Guest, ...]:
    """Return the guests whose needs are among them.

    >>> nation, tour = Guest("nation", (), (), ("census",)), Guest("tour", (), (), ("nation",))
    >>> with_needs([nation, tour])
    ()
    >>> [guest.name for guest in with_needs([Guest("census", (), ()), nation, tour])]
    ['census', 'nation', 'tour']
    """
    names = {guest.name for guest in found}
    kept = tuple(guest for guest in found if names.issuperset(guest.needs))
    return kept if len(kept) == len(found) else with_needs(kept)


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

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, FILE)
    ...     _ = file.write_text('[commands]\\nyears = { help = "How long.", runs = "office.command:app" }')
    ...     read_guest("office", file).commands[0].runs
    'office.command:app'
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
        optional = {"prints"} if " " in words else {"prints", "group"}
        if not isinstance(said, dict) or said.keys() - optional != {"help", "runs"}:
            may = " and ".join(sorted(optional))
            _refuse(name, f"the command {words!r} needs help and runs, may have {may}, and nothing else")
        commands.append(Command(words, **said))
    modules = stated.get("answers", {}).get("modules", [])
    needs, offers = stated.get("needs", []), stated.get("offers", {})
    if not _are_texts(needs):
        _refuse(name, "its needs must be a list of the names of guests")
    if not isinstance(offers, dict) or not all(map(_are_texts, offers.values())):
        _refuse(name, "each of its offers must be a list of module:name")
    brought = {what: tuple(names) for what, names in offers.items()}
    return Guest(name, tuple(commands), tuple(modules), tuple(needs), brought)


def _are_texts(stated: object) -> bool:
    return isinstance(stated, list) and all(isinstance(text, str) for text in stated)


def load_answers() -> None:
    """Import the modules that describe the results of guests."""
    for guest in guests():
        for module in guest.answers:
            import_module(module)


def offered(what: str, kind: type[Offered]) -> tuple[Offered, ...]:
    """Return all of one kind that guests offer to the guest that asks.

    >>> offered("a kind that nobody offers", Guest)
    ()
    """
    found = []
    for guest in guests():
        for named in guest.offers.get(what, ()):
            brought = loaded(named)
            if not isinstance(brought, kind):
                _refuse(guest.name, f"{named}, which it offers as {what!r}, is no {kind.__name__}")
            found.append(brought)
    return tuple(found)


def loaded(named: str) -> object:
    """Return what `module:name` stands for, or a module.

    >>> loaded("fractions:Fraction"), loaded("fractions").__name__
    (<class 'fractions.Fraction'>, 'fractions')
    """
    module, _, name = named.partition(":")
    imported = import_module(module)
    return getattr(imported, name) if name else imported


def _refuse(name: str, why: str) -> NoReturn:
    raise DiscreetError(f"the guest {name!r} cannot be used: {why}")
