"""Options that several commands share, and what is checked before any work starts."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.budget.neighbours import Neighbours
from discreet.errors import InputError
from discreet.numbers import fraction, read_delta, whole

if TYPE_CHECKING:
    from discreet.accounting.overall import Account
    from discreet.budget import Release

MOST_JOBS = 256
FLOAT_DIGITS = 11
"""Digits that hold in a result that is not certified."""
CERTIFIED_DIGITS = 300
LARGEST_EPSILON = 10**6

Targets = Annotated[str, Parameter(help="A preset's name or a TOML file; several make a portfolio.")]
Target = Annotated[str, Parameter(help="A preset's name or a TOML file.")]
Relation = Annotated[
    Neighbours | None,
    Parameter(
        help="bounded: one record is replaced; unbounded: one is added or removed. "
        "Default: what the release was calibrated for.",
        show_choices=False,
        metavar="bounded|unbounded",
    ),
]
Deltas = Annotated[
    list[str] | None,
    Parameter(help="Epsilon at this delta, an exact number such as 1e-10; may be repeated.", metavar="D"),
]
People = Annotated[int, Parameter(help="How many people change together.", metavar="K")]
Accuracy = Annotated[
    str | None,
    Parameter(
        help="Ask for less and get it sooner: how far an epsilon may be off, or a part of a delta.",
        metavar="A",
    ),
]
Jobs = Annotated[int | None, Parameter(help="Processes; default: one for each CPU.", metavar="N")]
Json = Annotated[bool, Parameter(help="Print one JSON object.")]
Quiet = Annotated[bool, Parameter(help="No progress bar and no time.")]

_CHANCE = "The adversary's chance that the target is present, such as 1/2"

Priors = Annotated[list[str], Parameter(help=f"{_CHANCE} or 1/864; may be repeated.", metavar="P")]
Prior = Annotated[str, Parameter(help=f"{_CHANCE}.", metavar="P")]
Variances = Annotated[
    list[str] | None, Parameter(help="Variance of the noise, an exact number.", metavar="V")
]
Rhos = Annotated[
    list[str] | None,
    Parameter(help="Instead of the variance: rho, meaning a variance of 1/(2 rho).", metavar="R"),
]
Floor = Annotated[bool, Parameter(help="Negative values were published as zero.")]
Csv = Annotated[Path | None, Parameter(help="Write the numbers.", metavar="FILE.csv")]
Plot = Annotated[Path | None, Parameter(help="Plot the numbers.", metavar="FILE.svg|png|pdf")]


def jobs_or_cpus(jobs: int | None) -> int:
    """Return the number of processes: as asked, or one for each CPU that may be used.

    >>> jobs_or_cpus(3)
    3
    """
    if jobs is None:
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(usable, MOST_JOBS)
    if whole(jobs, name="jobs") > MOST_JOBS:
        raise InputError(f"jobs is {jobs}; at most {MOST_JOBS} are allowed")
    return jobs


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Comparing:
    """The options of a command that compares all paths: between whom, and with how many processes."""

    neighbours: Relation = None
    people: People = 1
    jobs: Jobs = None

    @property
    def workers(self) -> int:
        """The number of processes."""
        return jobs_or_cpus(self.jobs)

    def account(self, release: Release) -> Account:
        """Return the account of a release."""
        from discreet.accounting.overall import account

        return account(release, neighbours=self.neighbours, people=self.people, jobs=self.workers)


ALL_PATHS = Comparing()


def checked_digits(digits: int | None, *, certify: bool) -> int | None:
    """Return the number of digits if that many can be had.

    >>> checked_digits(30, certify=False)
    Traceback (most recent call last):
    discreet.errors.InputError: digits is 30; without --certify a result has 1 to 11 digits that hold
    """
    most = CERTIFIED_DIGITS if certify else FLOAT_DIGITS
    if digits is not None and not 1 <= digits <= most:
        which = f"with --certify 1 to {CERTIFIED_DIGITS} digits are possible"
        if not certify:
            which = f"without --certify a result has 1 to {most} digits that hold"
        raise InputError(f"digits is {digits}; {which}")
    return digits


def read_accuracy(text: str | None, *, certify: bool = False) -> float | None:
    """Return the accuracy that is enough, if one was named.

    >>> read_accuracy("1e-4"), read_accuracy(None)
    (0.0001, None)
    >>> read_accuracy("2")
    Traceback (most recent call last):
    discreet.errors.InputError: accuracy is 2; it must lie between 1e-9 and 0.1
    """
    if text is None:
        return None
    value = fraction(text, name="accuracy")
    if not Fraction(1, 10**9) <= value <= Fraction(1, 10):
        raise InputError(f"accuracy is {text}; it must lie between 1e-9 and 0.1")
    if certify:
        raise InputError("--accuracy asks for less than a float has: it cannot be combined with a proof")
    return float(value)


def read_deltas(texts: Sequence[str]) -> list[Fraction]:
    """Return the deltas as the exact numbers they denote, each once.

    >>> read_deltas(["1e-10", "0.0000000001"])
    [Fraction(1, 10000000000)]
    >>> read_deltas(["1"])
    Traceback (most recent call last):
    discreet.errors.InputError: delta is 1; it must lie strictly between 0 and 1
    """
    return list(dict.fromkeys(map(read_delta, texts)))


def read_epsilons(texts: Sequence[str]) -> list[Fraction]:
    """Return the epsilons as the exact numbers they denote, each once.

    >>> read_epsilons(["-1"])
    Traceback (most recent call last):
    discreet.errors.InputError: epsilon is -1; it must be zero or more, and at most 1000000
    """
    found = []
    for text in texts:
        epsilon = fraction(text, name="epsilon")
        if not 0 <= epsilon <= LARGEST_EPSILON:
            raise InputError(f"epsilon is {text}; it must be zero or more, and at most {LARGEST_EPSILON}")
        found.append(epsilon)
    return list(dict.fromkeys(found))


def by_level(text: str | None, option: str, release: Release | None = None) -> dict[str, str]:
    """Read LEVEL=NUMBER,... into a dictionary; names may have commas and equal signs in them.

    The levels are those of a release, by their codes or as people write them, or any names if there is none.

    >>> by_level("block=1/2,Block group=3", "--rho")
    {'block': '1/2', 'Block group': '3'}
    >>> from discreet.budget import load
    >>> by_level("block group=3", "--weights", load("dhc-2020"))
    {'Block_Group': '3'}
    """
    found: dict[str, str] = {}
    rest = text
    while rest is not None:
        part = re.match(r"(?P<name>.*?)=(?P<number>[^,=]*)(?:,(?P<rest>.*))?$", rest, re.DOTALL)
        if part is None or not part["name"].strip():
            raise InputError(f"{option} has {rest!r}; it must be LEVEL=NUMBER, several separated by commas")
        name = part["name"].strip()
        if release is not None:
            name = release.level(name).name
        if name in found:
            raise InputError(f"{option} names level {name!r} twice")
        fraction(part["number"], name=f"{option} of level {name!r}")
        found[name] = part["number"].strip()
        rest = part["rest"]
    return found


def command(name: str, usage: str, *examples: str, help: str | None = None, note: str = "") -> App:
    """Return a command of the program: how it is used, and examples of its arguments.

    >>> print(command("presets", "[OPTIONS]", "--json").help_epilogue)
    Example:
      discreet presets --json
    """
    title = "Example" if len(examples) == 1 else "Examples"
    shown = "\n".join([f"{title}:", *(f"  discreet {name} {one}" for one in examples)])
    return App(
        name=name.split()[-1], help=help, usage=f"Usage: discreet {name} {usage}", help_epilogue=note + shown
    )


def subcommand(group: App, name: str, help: str, usage: str, *examples: str, note: str = "") -> App:
    """Return a command that belongs to a group of commands."""
    made = command(name, usage, *examples, help=help, note=note)
    group.command(made)
    return made
