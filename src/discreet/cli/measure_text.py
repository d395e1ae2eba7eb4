"""What `discreet measure` and `discreet post` print, and how they show that they are at work."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from discreet.cli.ledger import say_ledger
from discreet.cli.printing import say
from discreet.errors import DiscreetError, InputError
from discreet.report import words

if TYPE_CHECKING:
    from discreet.budget import Release
    from discreet.release import Measured, Processed

ESTIMATES = {
    "none": "No estimates were asked for; measurements are unbiased and may be negative.",
    "nonnegative": "The estimates are the measurements, with zero for what is below zero.",
    "consistent": "The estimates are whole, not negative, and children add up to their parents; queries of "
    "one area agree with each other if the release states its attributes.",
}


def need_tables(command: str) -> None:
    """Raise unless the library that reads and writes tables is there."""
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        text = f"{command} reads and writes tables with PyArrow, which is not installed"
        raise DiscreetError(f"{text}: pip install 'discreet[release]'")


@contextmanager
def working(text: str, *, show: bool) -> Iterator[None]:
    """Show on a terminal that work goes on; several problems of an input become one line."""
    try:
        if show and sys.stderr.isatty():
            from rich.console import Console
            from rich.text import Text

            with Console(stderr=True).status(Text(f"{text} ...")):
                yield
        else:
            yield
    except InputError as error:
        first, *others = str(error).split("\n")
        if not others:
            raise
        raise InputError(f"{first} {'; '.join(line.strip() for line in others)}") from None


def as_object(
    release: Release, done: Measured, exact: Sequence[tuple[str, str]], seconds: float
) -> dict[str, Any]:
    """The answer of `measure` as one JSON object."""
    return {
        "release": release.name,
        "unit": release.unit,
        "neighbours": release.neighbours,
        "rho": str(done.rho),
        "rehearsal": done.rehearsal,
        "not_private": done.rehearsal is not None,
        "exact": [list(pair) for pair in dict.fromkeys(exact)],
        "post": done.post,
        "units": done.units,
        "cells": done.cells,
        "out": str(done.out),
        "files": list(done.files),
        "ledger": None if done.ledger is None else str(done.ledger),
        "seconds": seconds,
    }


def show(release: Release, done: Measured, exact: Sequence[tuple[str, str]]) -> None:
    """The answer of `measure` for a reader."""
    if done.rehearsal is not None:
        say(
            f"NOT PRIVATE: a rehearsal with seed {done.rehearsal}. Its noise can be repeated and protects "
            "nobody; nothing was spent, and nothing of it may be published."
        )
    say(f"{release.name}: {_cells(done.cells)} of {_units(done.units)} measured, in {done.out}.")
    if done.rehearsal is None:
        who = words.relation(release.neighbours, release.unit)
        say(f"Spent: rho {words.with_fraction(done.rho)}; {who}.", indent="  ")
    if exact:
        pairs = ", ".join(f"{query} of {level}" for level, query in dict.fromkeys(exact))
        say(f"Published without noise, outside the guarantee: {pairs}.", indent="  ")
    say(ESTIMATES[done.post])
    say(f"Files: {', '.join(done.files)}.", indent="  ")
    say_ledger(done.ledger, "counts", counted=done.rehearsal is None)


def post_object(done: Processed, seconds: float) -> dict[str, Any]:
    """The answer of `post` as one JSON object."""
    return {
        "post": done.post,
        "units": done.units,
        "cells": done.cells,
        "out": str(done.out),
        "files": list(done.files),
        "seconds": seconds,
    }


def show_post(done: Processed) -> None:
    """The answer of `post` for a reader."""
    if any("NOT-PRIVATE" in name for name in done.files):
        say("NOT PRIVATE: made from a rehearsal; nothing of it may be published.")
    say(f"{_cells(done.cells)} of {_units(done.units)} estimated, in {done.out}. Nothing was spent.")
    say(ESTIMATES[done.post])
    say(f"Files: {', '.join(done.files)}.", indent="  ")


def _cells(count: int) -> str:
    return f"{count:,} cell{'s' * (count != 1)}"


def _units(count: int) -> str:
    return f"{count:,} unit{'s' * (count != 1)}"
