"""Which function describes which kind of result."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import ParamSpec, TypeVar

from discreet import answers
from discreet.answers.answer import Answer
from discreet.errors import InputError
from discreet.guests import load_answers

P = ParamSpec("P")
Described = TypeVar("Described", bound=Callable[..., Answer])

_FUNCTIONS: dict[type, Callable[..., Answer]] = {}


def describes(kind: type) -> Callable[[Described], Described]:
    """Mark the function that says what results of a class tell; its first argument is the result."""

    def mark(function: Described) -> Described:
        _FUNCTIONS[kind] = function
        return function

    return mark


def describe(result: object, **options: object) -> Answer:
    """Return what a result tells.

    >>> from discreet.budget import load
    >>> describe(load("dhc-2022-08-25")).title[:27]
    'dhc-2022-08-25: 2020 Census'
    >>> describe(5)
    Traceback (most recent call last):
    discreet.errors.InputError: nothing describes a result of type int
    """
    for known in (False, True):
        if known:
            _load_all()
        for base in type(result).__mro__:
            if base in _FUNCTIONS:
                return _FUNCTIONS[base](result, **options)
    raise InputError(f"nothing describes a result of type {type(result).__name__}")


def _load_all() -> None:
    """Load what describes the results of this package and of guests, when the first of them is asked for."""
    for module in pkgutil.iter_modules(answers.__path__):
        import_module(f"discreet.answers.{module.name}")
    load_answers()
