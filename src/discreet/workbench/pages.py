"""The list of pages. A page is a module with `build(session)`; it is imported and built when first opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.workbench.session import Session


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its place in the address, its name in the navigation, and the module that draws it."""

    name: str
    title: str
    module: str

    def builder(self) -> Callable[[Session], None]:
        """Import the page."""
        build: Callable[[Session], None] = import_module(f"discreet.workbench.{self.module}").build
        return build


_ALL = (
    Page("budget", "Budget", "budget_page"),
    Page("accuracy", "Accuracy", "accuracy_page"),
    Page("design", "Tabulation design", "design_page"),
    Page("risk", "Risk", "risk_page"),
    Page("report", "Report", "report_page"),
)


def pages() -> tuple[Page, ...]:
    """Return the pages that are there, in the order of the navigation.

    >>> pages()[0].title
    'Budget'
    """
    return tuple(page for page in _ALL if find_spec(f"discreet.workbench.{page.module}") is not None)
