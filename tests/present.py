"""Which guests are there: a test of all commands or results leaves out those of a guest that is not."""

from __future__ import annotations

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
