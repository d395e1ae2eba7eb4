"""The sources of randomness: no replay across forks, spawns, threads or copies; seeds reproduce."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.noise import Entropy, GaussianNoise, SystemEntropy, sample
from discreet.noise.entropy import _PER_KEY
from discreet.testing import NotPrivateScriptedEntropy, NotPrivateSeededEntropy


def draw(source: Entropy, size: int) -> bytes:
    out = np.zeros(size, dtype=np.uint8)
    source.fill(out)
    return out.tobytes()


def in_child(source: Entropy) -> bytes:
    return draw(source, 64) + sample(GaussianNoise(variance=10**6), 16, source=source).tobytes()


@pytest.mark.parametrize("size", [1, 64, 256, 257, 5000, _PER_KEY, _PER_KEY + 1, 3 * _PER_KEY + 17])
def test_every_byte_is_filled(size: int) -> None:
    # A byte stays 0 in all 40 rounds with chance 256^-40.
    filled = np.zeros(size, dtype=np.uint8)
    for _ in range(40):
        filled |= np.frombuffer(draw(SystemEntropy(), size), dtype=np.uint8)
        if filled.all():
            break
    assert filled.all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork: run on Linux or macOS")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forked_children_replay_nothing() -> None:
    source = SystemEntropy()
    draw(source, 5000)  # used before the fork, so that a state would be inherited if there were one
    sample(GaussianNoise(variance=10**6), 1000, source=source)
    seen = []
    for _ in range(3):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(write, in_child(source))
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            seen.append(pipe.read())
        os.waitpid(child, 0)
        seen.append(in_child(source))
    assert all(len(item) == 64 + 16 * 8 for item in seen)
    assert len({item[:64] for item in seen}) == len({item[64:] for item in seen}) == 6


def test_spawned_children_replay_nothing() -> None:
    source = SystemEntropy()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        results = pool.map(in_child, [source, source])
    assert len({*results, in_child(source)}) == 3


def test_copies_and_threads_replay_nothing() -> None:
    source = SystemEntropy()
    sources = [source, copy.copy(source), copy.deepcopy(source), pickle.loads(pickle.dumps(source))]
    assert len({draw(item, 300) for item in sources}) == 4
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: draw(source, 300), range(64)))) == 64


def test_no_32_bytes_come_twice() -> None:
    # One key per request: a counter or key used twice would show as equal rows (chance 2^-220).
    rows = np.frombuffer(draw(SystemEntropy(), 2 * _PER_KEY), dtype=np.uint8).reshape(-1, 32)
    assert len({row.tobytes() for row in rows}) == len(rows)


def test_bits_are_balanced() -> None:
    # Each of 16 positions is 1 half of the time: |z| < 6 for all fails by chance once in 3e7 runs.
    words = np.frombuffer(draw(SystemEntropy(), 2_000_000), dtype="<u2")
    for bit in range(16):
        ones = int(np.sum((words >> bit) & 1))
        assert abs(ones - words.size / 2) < 6 * words.size**0.5 / 2


def test_seeded_source_reproduces_and_depends_on_the_seed() -> None:
    first, again, other = (NotPrivateSeededEntropy(seed) for seed in (7, 7, 8))
    stream = draw(first, 1000)
    assert draw(again, 400) + draw(again, 600) == stream
    assert draw(other, 1000) != stream
    # ChaCha20, nonce 0, key SHA-256("discreet.testing 7"): written down so that seeds keep their meaning.
    assert stream[:8].hex() == "3171eecc1433905a"


def test_seeded_samples_are_the_same_again() -> None:
    for noise in (GaussianNoise(variance=5), GaussianNoise(variance=10**9)):
        first, again = (sample(noise, 600_000, source=NotPrivateSeededEntropy(3)) for _ in range(2))
        assert np.array_equal(first, again)


def test_scripted_source_raises_when_it_runs_out() -> None:
    with pytest.raises(DiscreetError, match="3 bytes were asked for, the script has 2 left"):
        draw(NotPrivateScriptedEntropy(b"ab"), 3)


def test_any_object_with_fill_is_a_source() -> None:
    class Zeros:
        def fill(self, out: NDArray[np.uint8]) -> None:
            out[:] = 0x77

    assert isinstance(Zeros(), Entropy)
    assert isinstance(SystemEntropy(), Entropy)
    assert len(set(sample(GaussianNoise(variance=5), 10, source=Zeros()).tolist())) == 1


def test_noise_can_be_imported_without_its_heavy_parts() -> None:
    code = "import sys, discreet.noise; print(sorted({'flint', 'cryptography', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
