"""Where random bits come from: an argument, never a global generator.

The default, `SystemEntropy`, keeps no state at all. Each request draws a fresh 256-bit key from the operating
system, stretches it with ChaCha20 and drops it. So there is nothing that a forked child could replay, nothing
that two threads could share, and no generator whose state would give earlier noise away. (Dropped memory is
freed, not wiped.)
"""

from __future__ import annotations

import os
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

_DIRECT = 256  # for up to this many bytes, asking the system is quicker than setting up the cipher
_PER_KEY = 1 << 20
_ZEROS = bytes(_PER_KEY)  # the keystream is what encrypting zeros gives


@runtime_checkable
class Entropy(Protocol):
    """A source of uniform random bits."""

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Overwrite `out`, a contiguous array of bytes, with uniform and independent random bytes."""


class SystemEntropy:
    """Cryptographic randomness: ChaCha20 under keys from `os.urandom`, one fresh key per request.

    Guarantee. Assumed: the operating system's generator gives keys that an adversary cannot guess, and
    ChaCha20's output cannot be told from uniform bits without the key. Then the bytes cannot be told
    from uniform and independent ones: across calls, threads, and processes, forked or spawned.

    >>> out = np.zeros(1000, dtype=np.uint8)
    >>> SystemEntropy().fill(out)
    >>> len(set(out.tolist())) > 200
    True
    """

    __slots__ = ()

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Overwrite `out` with random bytes."""
        if out.size <= _DIRECT:
            out[:] = np.frombuffer(os.urandom(out.size), dtype=np.uint8)
            return
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

        zeros, view = memoryview(_ZEROS), out.data
        for start in range(0, out.size, _PER_KEY):
            part = view[start : start + _PER_KEY]
            # A key is used for one nonce only, so the nonce (and counter) may start at zero.
            stream = Cipher(ChaCha20(os.urandom(32), bytes(16)), mode=None).encryptor()
            stream.update_into(zeros[: len(part)], part)

    def __repr__(self) -> str:
        return "SystemEntropy()"


def more_bits(source: Entropy) -> int:
    """Return 64 fresh uniform bits as an integer."""
    word = np.empty(1, dtype="<u8")
    source.fill(word.view(np.uint8))
    return int(word[0])
