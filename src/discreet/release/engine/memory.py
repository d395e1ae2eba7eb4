"""Sizes of memory as people write them."""

from __future__ import annotations

import re

from discreet.errors import InputError

LEAST = 256_000_000
"""Bytes below which an engine does not even start."""

_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*([A-Za-z]+)")


def memory_bytes(text: str) -> int:
    """Return the bytes of a size such as 4GB.

    >>> memory_bytes("4GB"), memory_bytes("1.5 GiB")
    (4000000000, 1610612736)
    >>> memory_bytes("4 gigs")
    Traceback (most recent call last):
    discreet.errors.InputError: memory is '4 gigs'; it must be a size such as 4GB or 500MB, at least 256MB
    """
    match = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(match[2].upper()) if match else None
    size = int(float(match[1]) * unit) if match and unit else 0
    if size < LEAST:
        raise InputError(f"memory is {text!r}; it must be a size such as 4GB or 500MB, at least 256MB")
    return size
