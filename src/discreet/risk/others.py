"""How many of the other people have the characteristics, where the adversary is not sure of them.

A law on 0, 1, ..., m: the chance that so many of the m uncertain people are counted.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import InputError
from discreet.risk.model import Floats, Numbers, read_prior

MOST = 10_000


def independent_others(chances: Numbers, *, people: int | None = None) -> Floats:
    """Return the law of the number of counted people among m independent ones.

    `chances` has one for each of them; or it is one chance and `people` says how many share it (binomial).

    >>> independent_others(["1/2", "1/4"]).tolist()
    [0.375, 0.5, 0.125]
    >>> independent_others("1/2", people=3).round(15).tolist()
    [0.125, 0.375, 0.375, 0.125]
    """
    found = read_prior(chances)
    if people is not None:
        if found.present.ndim or isinstance(people, bool) or not isinstance(people, int) or people < 1:
            raise InputError(f"people is {people!r}; with one chance, a whole number from 1 on is needed")
        if people > MOST:
            raise InputError(f"people is {people}; at most {MOST} may be uncertain")
        return _binomial(people, float(found.present), float(found.absent))
    present, absent = np.atleast_1d(found.present), np.atleast_1d(found.absent)
    if present.ndim != 1 or not 1 <= present.size <= MOST:
        raise InputError(f"chances is a table of shape {present.shape}; a list of 1 to {MOST} is needed")
    law = np.ones(1)
    for p, q in zip(present, absent, strict=True):  # all terms positive: no digits are lost
        law = np.append(law * q, 0.0) + np.append(0.0, law * p)
    return law


def read_others(law: Numbers) -> Floats:
    """Return a law on 0, 1, ..., m after checking that it is one.

    >>> read_others([0.5, 0.4])
    Traceback (most recent call last):
    discreet.errors.InputError: the chances of 0 to 1 other people add up to 0.9; they must add up to 1
    """
    found = np.asarray(law, dtype=np.float64)
    if found.ndim != 1 or not 1 <= found.size <= MOST + 1 or not np.isfinite(found).all():
        raise InputError(f"others must be a list of 1 to {MOST + 1} chances, of 0, 1, 2, ... other people")
    if (found < 0).any():
        raise InputError(f"a chance of other people is {found.min():g}; it must not be negative")
    if abs(found.sum() - 1) > 1e-12:
        raise InputError(
            f"the chances of 0 to {found.size - 1} other people add up to {found.sum():.12g}; "
            "they must add up to 1"
        )
    return found


def _binomial(people: int, p: float, q: float) -> Floats:
    steps = np.arange(1, people + 1)
    logs = np.cumsum(np.log((people + 1 - steps) / steps)) + steps * (np.log(p) - np.log(q))
    law: Floats = np.exp(np.append(0.0, logs) + people * np.log(q))
    return law
