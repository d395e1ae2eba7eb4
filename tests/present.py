"""Which guests are there: a test of all commands or results leaves out those of a guest that is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from discreet.cli.commands import all_commands
from discreet.guests import OWN, guests, loaded

PRESENT = frozenset(guest.name for guest in guests())
IS_WHOLE = PRESENT.issuperset(OWN)
"""Whether all guests of the package are there, so that a table of a test may be held to be complete."""


def functions_of(named: dict[str, str]) -> dict[str, tuple[Callable[..., object], ...]]:
    """The functions (module:name ...) of each command that is there."""
    return {
        command: tuple(cast("Callable[..., object]", loaded(name)) for name in names.split())
        for command, names in named.items()
        if command in all_commands()
    }


def is_about_another(text: str) -> bool:
    """Whether a page runs a command or imports a module of a guest that is not there.

    >>> is_about_another("$ discreet account dhc-2020")
    False
    """
    if IS_WHOLE:
        return False
    known = set(all_commands())
    groups = {name.rpartition(" ")[0] for name in known if " " in name}
    for first, second in re.findall(r"^\$ discreet ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", text, re.MULTILINE):
        if (f"{first} {second}" if first in groups and second else first) not in known:
            return True
    return bool({*re.findall(r"\bdiscreet\.([a-z]+)", text)} & {*OWN} - PRESENT)
