"""What commands about the program itself print with --json, and what it prints of an error."""

from __future__ import annotations

from typing import TypedDict


class CompletionKeys(TypedDict):
    """What `discreet completion` prints."""

    shell: str
    script: str


class ErrorKeys(TypedDict):
    """What is printed in place of an answer."""

    error: str
    problems: list[str]
    status: int


class ExampleKeys(TypedDict):
    """What `discreet example` prints."""

    example: str
    folder: str
    files: list[str]


class SchemaKeys(TypedDict):
    """What `discreet schema` prints."""

    schemas: list[str]
