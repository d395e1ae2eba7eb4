"""The sampler's decisions one by one, against an independent inversion in mpmath.

A scripted source hands the sampler chosen bits of a uniform real: slot boundaries, words equal to a threshold
(a tie), words that tie again, and the far tails.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.noise import GaussianNoise, LaplaceNoise, Noise
from discreet.noise.inversion_table import SLOTS, UNDECIDED, InversionTable, Workspace
from discreet.noise.wide_sampler import WideSampler, falls_below
from discreet.testing import NotPrivateScriptedEntropy

pytestmark = pytest.mark.xdist_group("tables of noise")  # whose exact tails one process alone computes

NARROW: list[Noise] = [
    *(GaussianNoise(variance=v) for v in ("0.05", "1/3", "1", "5", "5000/159", "625", "90000")),
    *(LaplaceNoise(scale=b) for b in ("0.1", "1", "9/2", "30")),
]
WIDEST = NARROW[-1]  # its thresholds alone take seconds
ONE_SLOW = [*NARROW[:-1], pytest.param(WIDEST, marks=pytest.mark.slow)]
DIGITS = 330  # enough for 1,024 bits of a uniform real


@lru_cache
def table_of(noise: Noise, folded: bool = False) -> InversionTable:
    return InversionTable.of(noise, folded=folded)


@lru_cache
def tails(noise: Noise) -> tuple[list[int], int]:
    """floor(2^1024 P[X >= m]) for m = 1, 2, ... until 0, and the same for m = 0, by plain summation."""
    with mp.workdps(DIGITS):
        weights, x = [], 0
        while True:
            if isinstance(noise, GaussianNoise):
                log = mp.mpf(x * x * noise.variance.denominator) / (2 * noise.variance.numerator)
            else:
                assert isinstance(noise, LaplaceNoise)
                log = mp.mpf(x * noise.scale.denominator) / noise.scale.numerator
            if log > 740:  # exp(-740) is below 2^-1066
                break
            weights.append(mp.exp(-log))
            x += 1
        total = weights[0] + 2 * mp.fsum(weights[1:])
        tail, floors = mp.mpf(0), []
        for weight in reversed(weights):
            tail += weight
            floors.append(int(mp.floor(tail / total * mp.mpf(2) ** 1024)))
        floors.reverse()
        return floors[1:], floors[0]


def inverted(noise: Noise, uniform: int) -> int:
    """The integer that uniform / 2^1024 is mapped to: the x with P[X < x] <= U < P[X <= x]."""
    floors, _ = tails(noise)
    if uniform < 1 << 1023:
        # U < P[X <= -m] = G(m) for the largest such m
        return -_count_above(floors, uniform)
    return _count_above(floors, (1 << 1024) - 1 - uniform)


def _count_above(floors: list[int], uniform: int) -> int:
    return len(floors) - bisect_right(floors[::-1], uniform)


def script(uniform: int, words: int = 15) -> NotPrivateScriptedEntropy:
    """The bytes that make the sampler see a 1,024-bit uniform: slot, 48 bits (in 64), then words of 64."""
    slot = uniform >> 1008
    second = (uniform >> 960) & ((1 << 48) - 1)
    rest = [(uniform >> (960 - 64 * (i + 1))) & ((1 << 64) - 1) for i in range(words)]
    return NotPrivateScriptedEntropy(
        slot.to_bytes(2, "little")
        + (second << 16).to_bytes(8, "little")
        + b"".join(word.to_bytes(8, "little") for word in rest)
    )


def draw(table: InversionTable, source: NotPrivateScriptedEntropy) -> int:
    out = np.empty(1, dtype=np.int64)
    table.draw(out, source, Workspace())
    return int(out[0])


@pytest.mark.parametrize("noise", ONE_SLOW, ids=str)
def test_thresholds_are_the_floors_of_the_cumulative_distribution(noise: Noise) -> None:
    floors, _ = tails(noise)
    lower = [floor >> 960 for floor in floors]
    size = lower.index(0) + 1
    thresholds = table_of(noise).thresholds.tolist()
    assert thresholds[:size] == lower[:size][::-1]
    assert thresholds[size:-1] == [(1 << 64) - 1 - value for value in lower[:size]]
    assert thresholds == sorted(thresholds)
    assert (thresholds[0], thresholds[-1]) == (0, (1 << 64) - 1)


@pytest.mark.parametrize("noise", ONE_SLOW, ids=str)
def test_folded_thresholds(noise: Noise) -> None:
    floors, at_zero = tails(noise)
    lower = [floor * (1 << 64) // at_zero for floor in floors]
    thresholds = table_of(noise, folded=True).thresholds.tolist()
    assert thresholds[:-1] == lower[: lower.index(0) + 1][::-1]


@pytest.mark.parametrize("noise", ONE_SLOW, ids=str)
def test_every_slot_boundary(noise: Noise) -> None:
    """All 65,536 slots: first and last point of a decided slot invert to its value; others split."""
    table = table_of(noise)
    floors, _ = tails(noise)
    mirrored = [(1 << 1024) - 1 - floor for floor in floors]
    jumps = np.array([jump >> 1008 for jump in floors[::-1] + mirrored])
    split = np.unique(jumps)  # the slots that contain a jump
    assert np.array_equal(np.flatnonzero(table.slots == UNDECIDED), split)
    decided = np.setdiff1d(np.arange(SLOTS), split)
    expected = np.searchsorted(jumps, decided, side="left") - len(floors)
    assert np.array_equal(table.slots[decided], expected)
    # and the slow way, without sharing the search above, at a few hundred of them
    for slot in decided[:: max(1, len(decided) // 300)].tolist():
        first, last = slot << 1008, (slot + 1 << 1008) - 1
        assert inverted(noise, first) == inverted(noise, last) == table.slots[slot]


@pytest.mark.parametrize("noise", NARROW, ids=str)
def test_total_of_the_table(noise: Noise) -> None:
    """The 2^64 prefixes are shared out without gap or overlap, each value's share right to one prefix."""
    table = table_of(noise)
    size = -table.origin
    thresholds = [int(value) for value in table.thresholds[:-1]]
    shares = np.diff(np.array([0, *thresholds, (1 << 64) - 1], dtype=object))
    assert sum(shares) == (1 << 64) - 1
    for value, share in zip(range(-size, size + 1), shares, strict=True):
        if abs(value) < size:
            probability = noise.certified_pmf(value)
            assert share - 1 <= probability.lower * 2**64 <= probability.upper * 2**64 <= share + 1


@pytest.mark.parametrize(
    ("depth", "noise"),
    [
        pytest.param(
            depth,
            noise,
            id=f"{depth}-{noise}",
            marks=pytest.mark.slow if (depth, noise) == (16, WIDEST) else (),
        )
        for noise in NARROW
        for depth in (16, 64, 128, 192, 960)
    ],
)
def test_ties_with_a_threshold(depth: int, noise: Noise) -> None:
    """Bits equal to a threshold's for `depth` bits, and then as far below or above it as they can be."""
    floors, _ = tails(noise)
    table = table_of(noise)
    rest = 1024 - depth
    for m in {1, 2, min(5, len(floors)), len(floors) // 2}:
        for jump in (floors[m - 1], (1 << 1024) - 1 - floors[m - 1]):
            below = jump >> rest << rest
            above = below + (1 << rest) - 1
            if below > 0 and above < (1 << 1024) - 1:
                values = [draw(table, script(uniform)) for uniform in (below, above)]
                assert values == [inverted(noise, below), inverted(noise, above)]
                assert values[0] < values[1]


def test_an_undecided_tie_is_never_guessed() -> None:
    # All 1,024 bits are the threshold's own: the sampler must ask for more.
    for noise in (GaussianNoise(variance=5), LaplaceNoise(scale=1)):
        for jump in tails(noise)[0][:3]:
            with pytest.raises(DiscreetError, match="asked for"):
                draw(table_of(noise), script(jump))


def test_a_tie_reads_more_bits_and_no_more_than_needed() -> None:
    noise = GaussianNoise(variance=5)
    jump = tails(noise)[0][2]
    table = table_of(noise)
    for agreed, words_read in [(40, 0), (100, 1), (160, 2), (500, 7)]:
        source = script(jump ^ (1 << (1023 - agreed)))  # the first bit that differs is number `agreed`
        before = source.left
        draw(table, source)
        assert before - source.left == 2 + 8 + 8 * words_read


@pytest.mark.parametrize("noise", NARROW, ids=str)
@pytest.mark.parametrize("exponent", [16, 17, 60, 63, 64, 65, 66, 100, 127, 128, 129, 300, 700])
def test_far_tails(noise: Noise, exponent: int) -> None:
    uniform = (1 << (1024 - exponent)) + (1 << (1024 - exponent - 9))
    for point in (uniform, (1 << 1024) - 1 - uniform):
        assert draw(table_of(noise), script(point)) == inverted(noise, point)


@settings(max_examples=300, deadline=None)
@given(
    noise=st.sampled_from(NARROW),
    uniform=st.one_of(
        st.integers(0, (1 << 1024) - 1),
        st.tuples(st.integers(0, 1 << 16), st.integers(-3, 3), st.integers(64, 1008)).map(
            lambda t: min(max((t[0] << 1008) + (t[1] << (1024 - t[2])), 0), (1 << 1024) - 1)
        ),
    ),
)
def test_any_uniform_real_is_inverted(noise: Noise, uniform: int) -> None:
    table = table_of(noise)
    # All zeros or all ones for 1,024 bits is an undecidable real, of chance 2^-1023.
    if 1 << 64 < uniform < (1 << 1024) - (1 << 64):
        assert draw(table, script(uniform)) == inverted(noise, uniform)


@settings(max_examples=200, deadline=None)
@given(
    num=st.integers(1, 10**12),
    den=st.integers(1, 10**15),
    nudge=st.integers(-2, 2),
    bits=st.sampled_from([16, 64, 80, 144]),
)
def test_rejection_coin_against_mpmath(num: int, den: int, nudge: int, bits: int) -> None:
    """Uniforms next to 1 - exp(-t), where the integer bounds cannot decide, and next to the bounds."""
    with mp.workdps(DIGITS):
        chance = int(mp.floor((1 - mp.exp(-mp.mpf(num) / den)) * mp.mpf(2) ** 528))
    uniform = min(max((chance >> (528 - bits) << (528 - bits)) + (nudge << 300), 0), (1 << 528) - 1)
    if abs(uniform - chance) < 1 << 200:
        return
    source = NotPrivateScriptedEntropy(
        b"".join(
            ((uniform >> (528 - bits - 64 * (i + 1))) & ((1 << 64) - 1)).to_bytes(8, "little")
            for i in range((528 - bits) // 64)
        )
    )
    assert falls_below(num, den, uniform >> (528 - bits), bits, source) == (uniform < chance)


def test_wide_sampler_follows_its_script() -> None:
    """One draw taken apart: coarse part, fine part, sign, rejection, and minus zero drawn again."""
    noise = GaussianNoise(variance=80)
    sampler = WideSampler.of(noise, 2)
    coarse = sampler.table
    slot_of = {int(value): slot for slot, value in enumerate(coarse.slots.tolist())}

    def one(k: int, word: int, dice: int) -> bytes:
        return slot_of[k].to_bytes(2, "little") + word.to_bytes(4, "little") + dice.to_bytes(2, "little")

    def run(data: bytes) -> int:
        source = NotPrivateScriptedEntropy(data)
        out = np.empty(1, dtype=np.int64)
        sampler.draw(out, source, Workspace())
        assert source.left == 0
        return int(out[0])

    negative = 1 << 31
    assert run(one(3, 2, 65535)) == 14
    assert run(one(3, negative | 2, 65535)) == -14
    assert run(one(3, 0b1111100 | 2, 65535)) == 14  # bits between the fine part and the sign are unused
    assert run(one(0, 0, 0)) == 0  # t = 0: never rejected
    assert run(one(0, negative, 65535) + one(1, 1, 65535)) == 5  # minus zero
    # t = (2*3*4*2 + 2*2)/160 = 0.325
    with mp.workdps(50):
        first, second = divmod(int(mp.floor((1 - mp.exp(mp.mpf(-52) / 160)) * mp.mpf(2) ** 80)), 1 << 64)
    assert run(one(3, 2, first + 1)) == 14
    assert run(one(3, 2, first - 1) + one(1, 1, 65535)) == 5
    assert run(one(3, 2, first) + (second + 1).to_bytes(8, "little")) == 14
    assert run(one(3, 2, first) + (second - 1).to_bytes(8, "little") + one(1, 1, 65535)) == 5


def test_wide_caps_prove_acceptance() -> None:
    for noise, shift in [
        (GaussianNoise(variance=10**9), 4),
        (LaplaceNoise(scale=10**4), 5),
        (GaussianNoise(variance=80), 2),
    ]:
        sampler = WideSampler.of(noise, shift)
        s = 1 << shift
        for k in (0, 1, 7, sampler.table.origin // 2, sampler.table.origin - 1):
            if isinstance(noise, GaussianNoise):
                worst = ((k * s + s - 1) ** 2 - (k * s) ** 2) / (2 * noise.variance)
            else:
                assert isinstance(noise, LaplaceNoise)
                worst = (s - 1) / noise.scale
            assert min(int(sampler.caps[k]) + 1, 65536) > 65536 * min(worst, 1) or sampler.caps[k] == 65535
        assert sampler.caps[-1] == 65535
