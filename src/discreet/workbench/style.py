"""The look: one accent, much space, numbers in columns; colours of contrast AA in light and dark."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def head() -> str:
    """Return what stands in the head of every page.

    >>> "<style>" in head() and "http" not in head()
    True
    """
    folder = files("discreet.workbench")
    css = (folder / "style.css").read_text(encoding="utf-8")
    script = (folder / "page.js").read_text(encoding="utf-8")
    return f"<style>@layer overrides {{ {css} }}</style><script>{script}</script>"
