"""One page that can be handed on: the decision, its numbers with proofs, and its pictures.

`gather` computes what a page says, `render` writes it, `page` does both. The page is one HTML file that
loads nothing and runs nothing; the same inputs give the same bytes.

>>> import discreet.report.html
>>> discreet.report.html.render.__name__
'render'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.report.html.facts import Facts, gather
    from discreet.report.html.page import page, render
    from discreet.report.html.pdf import print_pdf

__all__ = ["Facts", "gather", "page", "print_pdf", "render"]

_MODULES = {"Facts": "facts", "gather": "facts", "page": "page", "render": "page", "print_pdf": "pdf"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name in _MODULES:
        value = getattr(import_module(f"discreet.report.html.{_MODULES[name]}"), name)
        globals()[name] = value  # a module of the same name must not hide the function
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
