"""`discreet schema`: the JSON Schema of what a command prints with --json."""

from __future__ import annotations

import json as encoding
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from discreet.answers.answer import Answer, Bullets
from discreet.budget.toml import hint
from discreet.cli import console
from discreet.cli.commands import CORE, all_commands
from discreet.cli.console import Screen, option
from discreet.errors import InputError

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
    groups = {name.rpartition(" ")[0] for name in all_commands()}
    return tuple(sorted({*all_commands()} - groups | {"error"}))


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
    found: Mapping[str, object] = encoding.loads(schema_file(name).read_text(encoding="utf-8"))
    return found


def schema_file(name: str) -> Path:
    """Return the file of a schema, in the folder of the part that brings the command.

    >>> schema_file("risk audit").parent.parent.name, schema_file("error").name
    ('audit', 'error.json')
    """
    folder = all_commands()[name].folder if name in all_commands() else CORE.parent
    return folder / "schemas" / f"{name}.json"
