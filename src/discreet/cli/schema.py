"""`discreet schema`: the JSON Schema of what a command prints with --json."""

from __future__ import annotations

import json as encoding
from collections.abc import Mapping
from typing import Annotated

from discreet.answers.answer import Answer, Bullets
from discreet.answers.objects.program import ErrorKeys
from discreet.budget.toml import hint
from discreet.cli import console
from discreet.cli.commands import all_commands
from discreet.cli.console import Screen, option
from discreet.errors import InputError
from discreet.guests import loaded
from discreet.render.schema import schema_of_type

app = console.command(
    "schema",
    "[COMMAND | error] [OPTIONS]",
    "risk single",
    "error",
    "account",
    offers=lambda: dict.fromkeys(word for name in schema_names() for word in name.split()),
)


@app.default
def schema(
    *words: Annotated[str, option("A command, such as account or risk single; none lists all.", "COMMAND")],
    json: console.Json = False,
) -> None:
    """Print a JSON Schema (draft 2020-12) of the object that a command prints with --json."""
    if words:
        console.write(encoding.dumps(schema_of(" ".join(words)), indent=2) + "\n")
        return
    names = schema_names()
    answer = Answer("Schemas", {"schemas": list(names)}, ("Schemas of:", Bullets(names)))
    Screen(json=json, quiet=True).tell(answer)


def schema_names() -> tuple[str, ...]:
    """Return the names of all schemas: the commands, and `error` for what is printed in place of an answer.

    >>> "risk single" in schema_names(), "error" in schema_names()
    (True, True)
    """
    return tuple(sorted({name for name, command in all_commands().items() if command.prints} | {"error"}))


def schema_of(name: str) -> Mapping[str, object]:
    """Return the schema of a command.

    >>> schema_of("error")["required"]
    ['error', 'problems', 'status']
    >>> schema_of("acount")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no schema of 'acount'; did you mean "account"? `discreet schema` \
lists all
    """
    if name not in schema_names():
        near = hint(name, schema_names()) or ";"
        raise InputError(f"there is no schema of {name!r}{near} `discreet schema` lists all")
    if name == "error":
        said = "What is wrong, in place of an answer, and the exit status."
        return schema_of_type(ErrorKeys, title="An error of discreet", description=said)
    command = all_commands()[name]
    return schema_of_type(loaded(command.prints), title=f"discreet {name}", description=command.help)
