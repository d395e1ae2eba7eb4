"""A rehearsal: noise that can be repeated and protects nobody, and the mark of everything made with it."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import InputError
from discreet.noise import Entropy

NOT_PRIVATE = "NOT PRIVATE"
"""The mark of everything that a rehearsal writes."""


def not_private_mark(seed: int | None, reasons: Sequence[str] = ()) -> str | None:
    """Return the mark of an output that is not private, with every reason; None if there is none.

    >>> not_private_mark(3), not_private_mark(None)
    ('NOT PRIVATE: rehearsal with seed 3', None)
    """
    every = [*([] if seed is None else [f"rehearsal with seed {seed}"]), *reasons]
    return f"{NOT_PRIVATE}: {'; '.join(every)}" if every else None


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
