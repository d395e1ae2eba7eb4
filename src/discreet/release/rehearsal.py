"""A rehearsal: noise that can be repeated and protects nobody, and the mark of everything made with it."""

from __future__ import annotations

from discreet.errors import InputError
from discreet.noise import Entropy

NOT_PRIVATE = "NOT PRIVATE"
"""The mark of everything that a rehearsal writes."""


def rehearsal_entropy(seed: int | None) -> Entropy | None:
    """Return the noise of a rehearsal, which protects nobody; without a seed, None: the system's.

    >>> rehearsal_entropy(None) is None, type(rehearsal_entropy(1)).__name__
    (True, 'NotPrivateSeededEntropy')
    """
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"rehearsal is {seed!r}; a seed is a whole number")
    from discreet.testing import NotPrivateSeededEntropy

    return NotPrivateSeededEntropy(seed)
