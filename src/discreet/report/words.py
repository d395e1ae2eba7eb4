"""Releases and results in words for a committee; how numbers are written says `discreet.numbers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.budget import Neighbours, Release

if TYPE_CHECKING:
    from discreet.accounting.overall import Account

_CAUTIONS = (
    "upper bound",
    "not modelled",
    "simplification",
    "earlier allocation than",
    "outside the guarantee",
)
_ABOUT_PATHS = "not been published"


def label(case: Any) -> str:
    """Write a case: a pair of paths, a path, or those of several releases.

    >>> label((6, 6)), label((13,)), label(((6, 6), (1, 2)))
    ('(6, 6)', '13', '(6, 6) and (1, 2)')
    """
    if case and isinstance(case[0], tuple):
        return " and ".join(label(part) for part in case)
    return str(case[0]) if len(case) == 1 else f"({', '.join(map(str, case))})"


def heading(release: Release) -> str:
    """Write the name of a release and its title, if it has one.

    >>> from discreet.budget import load
    >>> heading(load("dhc-2022-08-25"))[:27]
    'dhc-2022-08-25: 2020 Census'
    """
    return f"{release.name}: {release.title}" if release.title else release.name


def records(unit: str, many: int) -> str:
    """Write so many persons, households or housing units.

    >>> records("person", 1), records("housing unit", 3)
    ('one person', '3 housing units')
    """
    return f"one {unit}" if many == 1 else f"{many} {unit}s"


def relation(neighbours: Neighbours, unit: str = "person", people: int = 1) -> str:
    """Say in words which two databases must be hard to tell apart.

    >>> relation("bounded"), relation("unbounded", "household", 2)
    ('one person replaced by another', '2 households added or removed')
    """
    who = records(unit, people)
    if neighbours == "unbounded":
        return f"{who} added or removed"
    return f"{who} replaced by another" if people == 1 else f"{who} replaced by others"


def compared(account: Account) -> str:
    """Say how many cases were compared.

    >>> from discreet.budget import load
    >>> from discreet.accounting.overall import account
    >>> compared(account(load("dhc-2020"))), compared(account(load("dhc-2022-08-25")))
    ('946 pairs of paths compared', 'One path')
    """
    one, many = ("One pair of paths", "pairs of paths")
    if isinstance(account.main[0], tuple):
        one, many = ("One combination of paths", "combinations of paths")
    elif account.neighbours == "unbounded":
        one, many = ("One path", "paths")
    return one if account.pairs == 1 else f"{account.pairs} {many} compared"


def cautions(release: Release, *, all_paths: bool = True) -> list[str]:
    """Return why an answer is not exact, and the notes that limit how it may be read.

    A note on which paths are taken matters only if all of them are.

    >>> from discreet.budget import load
    >>> cautions(load("sdhc-2020"))[0][:21]
    'Each table is treated'
    """
    phrases = (*_CAUTIONS, _ABOUT_PATHS) if all_paths else _CAUTIONS
    notes = [note for note in release.notes if any(phrase in note.lower() for phrase in phrases)]
    return [*release.claim.reasons, *notes]
