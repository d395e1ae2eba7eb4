"""Reproducible randomness, for tests and examples only.

Noise drawn from these sources protects nobody: anyone who knows the seed can subtract it.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError


class NotPrivateSeededEntropy:
    """Pseudorandom bytes from a seed, the same on every machine and in every version.

    Never use it for a release: the seed undoes the protection.

    >>> from discreet.noise import DiscreteGaussian, sample
    >>> sample(DiscreteGaussian(5), 8, source=NotPrivateSeededEntropy(1)).tolist()
    [-4, 3, 2, 2, -2, 1, 2, -3]
    """

    def __init__(self, seed: int) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

        key = hashlib.sha256(f"discreet.testing {seed:d}".encode()).digest()
        self._stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Overwrite `out` with the next bytes of the stream."""
        self._stream.update_into(bytes(out.size), out.data)


class NotPrivateScriptedEntropy:
    """The bytes it was given, to lead a sampler down a chosen path; raises when they run out.

    >>> source = NotPrivateScriptedEntropy(bytes([1, 2, 3]))
    >>> out = np.empty(2, dtype=np.uint8)
    >>> source.fill(out)
    >>> out.tolist(), source.left
    ([1, 2], 1)
    """

    def __init__(self, script: bytes) -> None:
        self._script = np.frombuffer(script, dtype=np.uint8)
        self._used = 0

    @property
    def left(self) -> int:
        """The number of bytes not yet used."""
        return int(self._script.size) - self._used

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Overwrite `out` with the next bytes of the script."""
        if out.size > self.left:
            raise DiscreetError(f"{out.size} bytes were asked for, the script has {self.left} left")
        out[:] = self._script[self._used : self._used + out.size]
        self._used += out.size
