"""The table of all commands, which is read without importing any of them.

Those of the core stand in `commands.toml`; a guest brings its own (`discreet.guests`).
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.guests import Command, guests, read_guest

_CORE = Path(__file__).parent / "commands.toml"

_SHOWN = 8
"""How many commands a message about an unknown one lists."""


@cache
def all_commands() -> dict[str, Command]:
    """Return all commands by their words, those of the core before those of guests.

    >>> all_commands()["policy sign"].help
    'Sign a policy, in a file beside it.'
    """
    commands: dict[str, Command] = {}
    owner: dict[str, str] = {}
    for part in (read_guest("discreet", _CORE), *guests()):
        for command in part.commands:
            if command.name in commands:
                who = f"{owner[command.name]!r} and {part.name!r}"
                raise DiscreetError(f"{who} both bring the command {command.name!r}: remove one of them")
            commands[command.name], owner[command.name] = command, part.name
    return commands


def commands_of(group: str = "") -> list[Command]:
    """Return the commands of the program, or of a group.

    >>> [command.name for command in commands_of("policy")]
    ['policy show', 'policy check', 'policy sign']
    """
    return [command for command in all_commands().values() if command.name.rpartition(" ")[0] == group]


GROUPS = ("Plan", "Release", "Read", "Prove")
"""What people do, in the order in which they do it; the groups that only guests have follow."""

_LAST = "Tools"
_OTHERS = "Others"
"""Where a guest's command stands that names no group."""


def command_groups() -> dict[str, list[Command]]:
    """Return the commands of the program by group, as its help lists them.

    >>> [command.name for command in command_groups()["Read"]]
    ['check-tables', 'estimate']
    """
    found: dict[str, list[Command]] = {group: [] for group in GROUPS}
    for command in sorted(commands_of(), key=lambda named: named.name):
        found.setdefault(command.group or _OTHERS, []).append(command)
    found[_LAST] = found.pop(_LAST)
    return found


def unknown_command(name: str = "", *, group: str = "") -> str:
    """Return what to say of a command that is not there, and which may be meant.

    >>> unknown_command("chekc", group="policy")
    'Unknown command "chekc". Did you mean "check"? Available commands: show, check, sign.'
    >>> unknown_command("acount")[:63]
    'Unknown command "acount". Did you mean "account"? Available com'
    """
    known = [command.name.split()[-1] for command in commands_of(group)]
    known = known if group else sorted(known)
    near = get_close_matches(name, known, n=1)
    meant = f' Did you mean "{near[0]}"?' if near else ""
    more = ", ..." if len(known) > _SHOWN else "."
    return f'Unknown command "{name}".{meant} Available commands: {", ".join(known[:_SHOWN])}{more}'
