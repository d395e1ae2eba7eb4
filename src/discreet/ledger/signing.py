"""Keys that sign the entries of a ledger: Ed25519, with the private half in a file only its owner can read.

A public key is a point of the curve -x^2 + y^2 = 1 + d x^2 y^2 modulo p = 2^255 - 19. Eight points have an
order that divides 8; under such a key a signature can be made without any private key (for the neutral point,
one signature fits every text), so they are refused. Their y are 0, 1, -1 and the two y with 2 P of order 4,
which solve d y^4 + 2 y^2 = 1. A y below 19 also has a second, non-canonical encoding as y + p; since y alone
is compared, and modulo p, that encoding and either sign of x are refused as well.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InputError
from discreet.files import FilePath, check_regular, open_to_others

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PRIME = 2**255 - 19
"""The modulus of the curve's coordinates."""

ORDER_EIGHT = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
"""The y of two of the four points of order 8; the others have -y."""

_VARIABLE = "DISCREET_LEDGER_KEY"
"""The environment variable that may name the key file."""


@dataclass(frozen=True, slots=True)
class Key:
    """A private key; its `repr` shows only the public half."""

    private: Ed25519PrivateKey

    @property
    def public(self) -> str:
        """The public half, in hexadecimal."""
        return self.private.public_key().public_bytes_raw().hex()

    def sign(self, text: str) -> str:
        """Return the signature of a text, in hexadecimal."""
        return self.private.sign(text.encode()).hex()

    def __repr__(self) -> str:
        return f"Key({self.public[:16]})"


def new_key(path: FilePath) -> Key:
    """Make a key and write it to a new file, readable by its owner only.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = new_key(Path(folder) / "ledger.key")
    ...     read_key(Path(folder) / "ledger.key").public == made.public
    True
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    text = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(text)
            os.fsync(stream.fileno())
    except FileExistsError:
        raise InputError(f"the file {path} already exists; a key is never overwritten") from None
    except OSError as error:
        raise InputError(f"the key {path} cannot be written: {error.strerror}") from None
    return Key(private)


def read_key(path: FilePath | None = None) -> Key | None:
    """Return the key in a file, or in the file named by the environment; None if neither is given.

    >>> read_key("no-such.key")
    Traceback (most recent call last):
    discreet.errors.InputError: the key no-such.key cannot be read: No such file or directory
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    named = path or os.environ.get(_VARIABLE)
    if not named:
        return None
    try:
        check_regular(Path(named), f"the key {named}", most=1 << 16)
        state, data = os.stat(named), Path(named).read_bytes()
    except OSError as error:
        raise InputError(f"the key {named} cannot be read: {error.strerror}") from None
    if open_to_others(state):
        raise InputError(f"the key {named} can be read by others; run chmod 600 on it, or make a new one")
    try:
        private = load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError(f"{named} is not a key that `discreet ledger sign` has made") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise InputError(f"{named} is a key of another kind; an Ed25519 key is needed")
    return Key(private)


def small_order(public: bytes) -> bool:
    """Whether a public key is one of the eight points of small order, however it is encoded.

    >>> small_order(bytes(32)), small_order((PRIME + 1).to_bytes(32, "little"))
    (True, True)
    """
    y = int.from_bytes(public, "little") % 2**255 % PRIME
    return min(y, PRIME - y) in (0, 1, min(ORDER_EIGHT, PRIME - ORDER_EIGHT))


def verified(public: str, signature: str, text: str) -> bool:
    """Whether a signature of a text is valid under a public key, which must not be of small order.

    >>> verified("not a key", "nor a signature", "text")
    False
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        raw = bytes.fromhex(public)
        if small_order(raw):
            return False
        key = Ed25519PublicKey.from_public_bytes(raw)
        key.verify(bytes.fromhex(signature), text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True
