"""Keys that sign the entries of a ledger: Ed25519, the private half in a file that only its owner may "
"read."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

VARIABLE = "DISCREET_LEDGER_KEY"
"""The environment variable that may name the file of the key."""


@dataclass(frozen=True, slots=True)
class Key:
    """A private key; it never shows itself."""

    private: Ed25519PrivateKey

    @property
    def public(self) -> str:
        """The public half in hexadecimal digits."""
        return self.private.public_key().public_bytes_raw().hex()

    def sign(self, text: str) -> str:
        """Return the signature of a text in hexadecimal digits."""
        return self.private.sign(text.encode()).hex()

    def __repr__(self) -> str:
        return f"Key({self.public[:16]})"


def new_key(path: str | os.PathLike[str]) -> Key:
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


def read_key(path: str | os.PathLike[str] | None = None) -> Key | None:
    """Return the key of a file, or of the file that the environment names; None if neither is given.

    >>> read_key("no-such.key")
    Traceback (most recent call last):
    discreet.errors.InputError: the key no-such.key cannot be read: No such file or directory
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    named = path or os.environ.get(VARIABLE)
    if not named:
        return None
    try:
        mode, data = os.stat(named).st_mode, Path(named).read_bytes()
    except OSError as error:
        raise InputError(f"the key {named} cannot be read: {error.strerror}") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(f"the key {named} can be read by others; run chmod 600 on it, or make a new one")
    try:
        private = load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError(f"{named} is not a key that `discreet ledger sign` has made") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise InputError(f"{named} is a key of another kind; an Ed25519 key is needed")
    return Key(private)


def verified(public: str, signature: str, text: str) -> bool:
    """Whether a signature of a text is that of a public key.

    >>> verified("not a key", "nor a signature", "text")
    False
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True
