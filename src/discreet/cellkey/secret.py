"""The secret of cell keys, and the keys that a pseudorandom function makes of it and a cell's definition.

The definition of a cell is the perturbation table, the attributes that its margin splits, and their values.
Let H be HMAC-SHA-256 under the secret. Each value of an attribute has a code of 128 bits, from H; the codes
of the values of a cell are XORed to a block; and the block is encrypted with AES-256 under a key of the
margin, again from H. Two cells of one margin differ in a value, so their blocks agree with probability 2^-128
if H is a pseudorandom function; on distinct blocks AES cannot be told from random bits (but for q^2 / 2^129
with q cells). So keys are as good as independent and uniform, for cells that are empty as well. They depend
on neither the order of attributes or values, nor on which other cells are published: equal definitions have
equal keys.

The same noise on other records would show the exact difference. So a secret belongs to one table of records,
which its file remembers by a keyed hash, and any other is refused.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Integers
from discreet.errors import InputError
from discreet.files import FilePath, check_regular, open_to_others

FORMAT = "discreet cell-key secret 1"
_WORDS = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class CellSecret:
    """The secret of cell keys; its `repr` does not show it."""

    value: bytes = field(repr=False)

    @classmethod
    def new(cls) -> CellSecret:
        """Draw a secret from the system's generator."""
        return cls(secrets.token_bytes(32))

    @classmethod
    def rehearsal(cls, seed: int) -> CellSecret:
        """Return the secret of a rehearsal, which is none."""
        return cls(hmac.digest(b"a rehearsal", str(seed).encode(), "sha256"))

    def _derived(self, *what: str) -> bytes:
        return hmac.digest(self.value, json.dumps(what).encode(), "sha256")

    def records(self, sha256: str) -> str:
        """Return a keyed hash of the records that the secret belongs to."""
        return self._derived("records", sha256).hex()

    def codes(self, attribute: str, values: Sequence[str]) -> _WORDS:
        """Return the codes of the values of an attribute: 128 bits each, as two numbers."""
        digests = b"".join(self._derived("value", attribute, value)[:16] for value in values)
        return np.frombuffer(digests, dtype="<u8").reshape(-1, 2)

    def cell_keys(
        self, attributes: Sequence[str], codes: Sequence[_WORDS], *, table: str, modulus: int
    ) -> Integers:
        """Return keys of cells of one margin, uniform below the modulus: `codes` has a row for each cell.

        There is an array for each attribute; a margin without any has one cell. `table` is the hash of the
        perturbation table.

        >>> secret = CellSecret(bytes(32))
        >>> sex = secret.codes("sex", ["f", "m"])
        >>> keys = secret.cell_keys(["sex"], [sex], table="", modulus=1000)
        >>> again = secret.cell_keys(["sex"], [sex[::-1]], table="", modulus=1000)
        >>> keys.tolist() == again.tolist()[::-1]
        True
        """
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES256
        from cryptography.hazmat.primitives.ciphers.modes import ECB

        blocks = np.zeros((1, 2), dtype="<u8")
        for code in codes:
            blocks = blocks ^ code
        # each block is encrypted once, on its own: this is the function itself, not a way to hide a text
        cipher = Cipher(AES256(self._derived("margin", table, *sorted(attributes))), ECB())

        def encrypted(some: _WORDS) -> _WORDS:
            stream = cipher.encryptor()
            text = stream.update(np.ascontiguousarray(some).tobytes()) + stream.finalize()
            return np.frombuffer(text, dtype="<u8").reshape(-1, 2)

        # a number below a multiple of the modulus has a uniform remainder; others are replaced
        most = (1 << 64) // modulus * modulus
        ciphertext = encrypted(blocks)
        words = ciphertext[:, 0].copy()
        if most < 1 << 64:
            wrong = np.flatnonzero(words >= most)
            words[wrong] = ciphertext[wrong, 1]
            while len(wrong := wrong[words[wrong] >= most]):
                ciphertext = ciphertext.copy()
                ciphertext[wrong] = encrypted(ciphertext[wrong])
                words[wrong] = ciphertext[wrong, 0]
        keys: Integers = (words % np.uint64(modulus)).astype(np.int64)
        return keys


@dataclass(frozen=True, slots=True)
class SecretFile:
    """Where a secret is kept, and whether it is new."""

    path: Path
    secret: CellSecret
    is_new: bool
    records: str = ""

    def check(self, sha256: str) -> None:
        """Raise unless the secret belongs to these records, or to none yet."""
        if not self.is_new and not hmac.compare_digest(self.records, self.secret.records(sha256)):
            raise InputError(
                f"the secret {self.path} belongs to other records: the same noise on changed records would "
                "show the exact changes. Name a new file, and a new secret is made; its noise is independent "
                "and costs again"
            )

    def write(self, sha256: str) -> None:
        """Write a new secret to a new file, readable by its owner only."""
        data = {
            "format": FORMAT,
            "warning": "whoever has this can take the noise away; keep it from everyone",
            "secret": self.secret.value.hex(),
            "records": self.secret.records(sha256),
        }
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(handle, "w", encoding="ascii") as stream:
                    stream.write(json.dumps(data, indent=1) + "\n")
                    stream.flush()
                    os.fsync(stream.fileno())
            except BaseException:
                self.path.unlink(missing_ok=True)
                raise
        except FileExistsError:
            raise InputError(f"the file {self.path} exists; a secret is never overwritten") from None
        except OSError as error:
            raise InputError(f"the secret {self.path} cannot be written: {error.strerror}") from None


def open_secret(path: FilePath) -> SecretFile:
    """Return the secret in a file, or a new one if there is no such file; nothing is written yet.

    >>> open_secret("no-such-folder/secret.json")
    Traceback (most recent call last):
    discreet.errors.InputError: no-such-folder cannot hold the secret: it is not a directory
    """
    file = Path(path)
    if not os.path.lexists(file):
        if not file.parent.is_dir():
            raise InputError(f"{file.parent} cannot hold the secret: it is not a directory")
        return SecretFile(file, CellSecret.new(), is_new=True)
    try:
        check_regular(file, f"the secret {file}", most=1 << 12)
        state, text = os.stat(file), file.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise InputError(f"the secret {file} cannot be read: {error.strerror}") from None
    if open_to_others(state):
        raise InputError(
            f"the secret {file} can be read by others; if nobody has read it, run chmod 600 on it"
        )
    try:
        data = json.loads(text)
        value, records = data["secret"], data["records"]
        known = data["format"] == FORMAT and all(
            re.fullmatch("[0-9a-f]{64}", digits) is not None for digits in (value, records)
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise InputError(f"{file} is no secret that `discreet cellkey run` has made")
    return SecretFile(file, CellSecret(bytes.fromhex(value)), is_new=False, records=records)
