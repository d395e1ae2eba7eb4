"""Keys whose bytes are combined by XOR, as with tables of the ABS: the rows of A, B and their total depend.

With keys modulo a power of two their joint law follows from carries: bytes are uniform, the carry into a byte
is that of the one below, and XOR of independent bytes multiplies Walsh transforms.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def walsh(values: Floats) -> Floats:
    """The Walsh-Hadamard transform, in place."""
    half = 1
    while half < values.size:
        pairs = values.reshape(-1, 2, half)
        low = pairs[:, 0].copy()
        pairs[:, 0] += pairs[:, 1]
        np.subtract(low, pairs[:, 1], out=pairs[:, 1])
        half *= 2
    return values


def rows_of_a_total(bits: int, digits: int) -> Floats:
    """The chances of the rows of A, B and T (keys modulo 2^(bits digits), digits XORed), A first."""
    base = 1 << bits
    a, b = np.meshgrid(np.arange(base), np.arange(base), indexing="ij")
    step = np.empty((2, 2), dtype=object)
    for before in (0, 1):
        total = a + b + before
        place = ((a * base + b) * base + total % base).ravel()
        for after in (0, 1):
            chosen = (total // base == after).ravel()
            chance = np.bincount(place[chosen], minlength=base**3).astype(np.float64) / base**2
            step[before, after] = walsh(chance)
    state = [step[0, 0].copy(), step[0, 1].copy()]
    for _ in range(digits - 1):
        state = [state[0] * step[0, k] + state[1] * step[1, k] for k in (0, 1)]
    return walsh(state[0] + state[1]) / base**3


def distance_from_product(law: Floats) -> float:
    """Total variation from three independent uniform rows."""
    return 0.5 * float(np.abs(law - 1 / law.size).sum())


def test_carries_against_all_keys() -> None:
    """Two digits of three bits: all pairs of keys modulo 64."""
    counted = np.zeros(8**3)
    for a in range(64):
        for b in range(64):
            rows = [(key >> 3) ^ (key & 7) for key in (a, b, (a + b) % 64)]
            counted[(rows[0] * 8 + rows[1]) * 8 + rows[2]] += 1 / 64**2
    assert rows_of_a_total(3, 2) == pytest.approx(counted, abs=1e-14)


def test_folding_does_not_make_rows_independent() -> None:
    """Any two rows are independent, the three are not."""
    law = rows_of_a_total(4, 4).reshape(16, 16, 16)
    for axis in range(3):
        assert law.sum(axis=axis) == pytest.approx(np.full((16, 16), 1 / 256), abs=1e-14)
    assert distance_from_product(law.ravel()) > 0.05


@pytest.mark.slow
def test_rows_of_keys_of_four_bytes() -> None:
    """A simulation made for this project in July 2026 found at least 0.06; with carries it is 0.1293."""
    assert distance_from_product(rows_of_a_total(8, 4)) == pytest.approx(0.1293, abs=5e-5)
