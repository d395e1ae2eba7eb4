"""What a question can be asked with, declared once for Python and for the command line.

A question is a frozen dataclass beside the function that answers it. Its fields are what it takes: each has a
type, a default and, in an `Option`, the words that the command line shows. The function takes the fields as
arguments (`asked_with`), and the command has its options from them (`discreet.cli.console.takes`), so that
the two cannot differ. The questions of a room are its module `questions`, which is light, because `--help`
needs it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar, get_args, get_origin

from discreet.calls import understandable

P = ParamSpec("P")
Question = TypeVar("Question")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Option:
    """What the command line shows of an option, and what it reads where Python has another type.

    `metavar` stands for the value. `each` is the name of an option that is given once for each of several
    values: `--query` for `queries`. `negative` turns a flag off. `reads` is what is typed: a path, or texts.
    What is `needed` must be typed, even if Python can do without it.
    """

    help: str
    metavar: str = ""
    each: str = ""
    negative: str = ""
    reads: object = None
    needed: bool = False


def file_option(help: str) -> Option:
    """Return an option that names a file.

    >>> file_option("The exact counts, CSV or Parquet.").metavar
    'FILE'
    """
    return Option(help, "FILE", reads=Path | None)


def repeated_option(help: str, metavar: str, each: str) -> Option:
    """Return an option that is given once for each value.

    >>> repeated_option("Tables that were not measured; may be repeated.", "QUERY", "query").each
    'query'
    """
    return Option(help, metavar, each, reads=list[str] | None)


def asked_with(
    question: Callable[P, Question],
) -> Callable[[Callable[[Question], Result]], Callable[P, Result]]:
    """Let a function that answers a question take its fields as arguments.

    >>> @dataclass(frozen=True)
    ... class Adding:
    ...     one: int
    ...     two: int = 1
    >>> @asked_with(Adding)
    ... def add(asked: Adding) -> int:
    ...     return asked.one + asked.two
    >>> add(2, two=3), str(inspect.signature(add))
    (5, '(one: int, two: int = 1) -> int')
    """

    shown = inspect.signature(question, eval_str=True)
    bare = [
        one.replace(annotation=get_args(one.annotation)[0]) if _is_annotated(one.annotation) else one
        for one in shown.parameters.values()
    ]

    def made(function: Callable[[Question], Result]) -> Callable[P, Result]:
        @wraps(function)
        def answer(*arguments: P.args, **options: P.kwargs) -> Result:
            shown.bind(*arguments, **options)  # what is missing or unknown is said of the function
            return function(question(*arguments, **options))

        returns = inspect.signature(function, eval_str=True).return_annotation
        answer.__signature__ = shown.replace(parameters=bare, return_annotation=returns)  # type: ignore[attr-defined]
        return understandable(answer)

    return made


def _is_annotated(annotation: object) -> bool:
    return get_origin(annotation) is Annotated
