"""Deprecated: its names are in `discreet.release.safetab.configuration`."""

from __future__ import annotations

from typing import Any
from warnings import warn

from discreet.release.safetab import configuration as _home


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not hasattr(_home, name):
        raise AttributeError(name)
    warn(f"{__name__}.{name} is now {_home.__name__}.{name}", DeprecationWarning, stacklevel=2)
    return getattr(_home, name)
