"""The noise of many cells at once: counts and keys in, published counts out."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from math import lcm

import numpy as np

from discreet.areas.tree import Integers
from discreet.cellkey import PerturbationTable
from discreet.cellkey.table import BYTES
from discreet.errors import InputError

REAL_KEYS = 10**8
"""Real record keys have eight decimal places, as those of ptable: they are multiples of the inverse."""

MOST_KEYS = 10**15
"""The largest number of keys that a table may tell apart."""


class NoiseLookup:
    """A perturbation table as arrays: one search finds the noise of every cell.

    Keys are integers below `modulus`. `keys` is the least modulus with which every interval of the table is
    a whole number of keys: uniform keys below it give the law of each row exactly.

    >>> from discreet.cellkey import perturbation_table
    >>> lookup = NoiseLookup(perturbation_table({0: {-1: "1/4", 0: "1/2", 1: "1/4"}}))
    >>> lookup.keys, lookup.published(np.array([0, 0, 5, 5]), np.array([0, 3, 0, 2]), lookup.keys).tolist()
    (4, [0, 1, 4, 5])
    """

    def __init__(self, table: PerturbationTable) -> None:
        self.table = table
        steps = lcm(*(upper.denominator for row in table.rows for upper in row.uppers))
        self.keys = table.modulus or steps
        if not self.keys <= MOST_KEYS:
            raise InputError(
                f"{table.name} has probabilities with more than 15 decimal places; round them first"
            )

    def published(self, counts: Integers, keys: Integers, modulus: int) -> Integers:
        """Return what is published of counts: with the noise of their keys, and not below zero."""
        table = self.table
        steps = BYTES if table.folded else lcm(modulus, *self._denominators)
        if table.folded:
            keys = keys & 255 ^ keys >> 8 & 255 ^ keys >> 16 & 255 ^ keys >> 24 & 255
        else:
            keys = keys * (steps // modulus)
        if len(table.rows) * steps >= 1 << 62:
            raise InputError(f"{table.name} has too many rows for the decimal places of its probabilities")
        ends = np.array(
            [
                number * steps + int(upper * steps)
                for number, row in enumerate(table.rows)
                for upper in row.uppers
            ]
        )
        noises = np.array([noise for row in table.rows for noise in row.noises])
        first = table.rows[0].count
        rows = np.minimum(counts, table.last)
        if (large := table.large) is not None:
            turns = (counts + large.shift) % large.period + large.start
            rows = np.where(counts > large.above, turns, counts)
        positions = np.searchsorted(ends, np.maximum(rows - first, 0) * steps + keys, side="right")
        noise = np.where((counts == 0) & (not table.has_zero), 0, noises[positions])
        shown: Integers = np.maximum(counts + noise, 0)
        return shown

    @property
    def _denominators(self) -> set[int]:
        return {upper.denominator for row in self.table.rows for upper in row.uppers}

    @property
    def digest(self) -> str:
        """A hash of what the table does: tables that differ in it draw noises that are independent."""
        table = self.table
        rows = [(row.count, [str(end) for end in row.uppers], row.noises) for row in table.rows]
        large = table.large
        rule = None if large is None else (large.above, large.period, large.start, large.shift)
        return hashlib.sha256(repr((rows, table.modulus, rule, table.folded)).encode()).hexdigest()


def key_units(key: Fraction, modulus: int | None) -> int | None:
    """Return a record key as an integer: real keys in units of 1e-8, others as they are; None if it is none.

    >>> key_units(Fraction("0.25"), None), key_units(Fraction(7), 256), key_units(Fraction(256), 256)
    (25000000, 7, None)
    """
    number = key * REAL_KEYS if modulus is None else key
    most = REAL_KEYS if modulus is None else modulus
    return int(number) if number.denominator == 1 and 0 <= number < most else None
