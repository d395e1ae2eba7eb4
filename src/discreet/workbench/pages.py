"""Pages that other guests bring to the workbench: what stands around every page knows of them from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from discreet.guests import offered
from discreet.workbench.state import State

OFFER = "workbench page"
"""What a guest offers one as, in its `guest.toml`."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class OfferedPage:
    """A page of another guest, whose settings are those of the state under its name."""

    name: str
    title: str
    after: str
    """The page that it follows in the navigation."""
    package: str
    """The package with the module `NAME_page`, which has `build(session)`."""
    commands: Callable[[State], list[str]]
    """The command lines that together give its numbers."""
    facts: Callable[[State], dict[str, str]]
    """What it is set to, as sentences without their ends."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The files that its commands name, and what they are."""


def offered_pages() -> tuple[OfferedPage, ...]:
    """Return the pages of the guests that are there.

    >>> "budget" in {page.name for page in offered_pages()}      # the workbench's own
    False
    """
    return offered(OFFER, OfferedPage)


def with_offered(own: Mapping[str, Value], of: Callable[[OfferedPage], Value]) -> dict[str, Value]:
    """Return what each page of the workbench has, and each offered page after the one that it follows.

    >>> list(with_offered({"accuracy": "Accuracy", "risk": "Risk"}, lambda page: page.title))[0]
    'accuracy'
    """
    pages = offered_pages()
    ordered: dict[str, Value] = {}
    for name, value in own.items():
        ordered[name] = value
        ordered |= {page.name: of(page) for page in pages if page.after == name}
    return ordered
