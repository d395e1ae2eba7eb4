"""`discreet schema`: the JSON Schema of what a command prints with --json."""

from __future__ import annotations

import json as encoding
from collections.abc import Mapping
from importlib.resources import files
from typing import Annotated

from discreet.answers.answer import Answer, Bullets
from discreet.budget.toml import hint
from discreet.cli import console
from discreet.cli.console import Screen, option
from discreet.errors import InputError

app = console.command(
    "schema",
    "[COMMAND | error] [OPTIONS]",
    "risk single",
    "error",
    "account",
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
    found = (item.name for item in (files("discreet.cli") / "schemas").iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in found if name.endswith(".json")))


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
    text = (files("discreet.cli") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    found: Mapping[str, object] = encoding.loads(text)
    return found
