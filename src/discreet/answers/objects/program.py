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


class HelpTopicsKeys(TypedDict):
    """What `discreet help` prints: all that can be asked about."""

    commands: list[str]
    terms: list[str]


class HelpTopicKeys(TypedDict):
    """What `discreet help` prints of one topic: a term, a command, or both."""

    topic: str
    term: str | None
    in_plain_words: str | None
    meaning: str | None
    help: str | None


HelpKeys = HelpTopicsKeys | HelpTopicKeys


class SchemaKeys(TypedDict):
    """What `discreet schema` prints."""

    schemas: list[str]
