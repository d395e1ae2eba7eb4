"""SafeTab-P: detailed groups by geography, sex and age, tabulated adaptively under zCDP or pure privacy."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TypeVar
from warnings import warn

T = TypeVar("T")


def renamed(old: str, new: str, value: T) -> T:
    """Return a value that was asked for by its old name."""
    warn(f"{old} is now called {new}", DeprecationWarning, stacklevel=3)
    return value


def moved(old: str, home: ModuleType) -> Callable[[str], object]:
    """Return the `__getattr__` of a module whose names are in another one now."""

    def find(name: str) -> object:
        if name.startswith("_") or not hasattr(home, name):
            raise AttributeError(name)
        warn(f"{old}.{name} is now {home.__name__}.{name}", DeprecationWarning, stacklevel=2)
        return getattr(home, name)

    return find
