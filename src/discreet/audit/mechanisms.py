"""Mechanisms that other guests bring to `discreet risk audit`: each is chosen by an option of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.audit.looks import Audit
from discreet.guests import offered

OFFER = "audited mechanism"
"""What a guest offers one as, in its `guest.toml`."""


@dataclass(frozen=True, slots=True)
class AuditedMechanism:
    """A mechanism, and what the command says of it.

    `audit` takes a target and what its option gives; its other parameters are options of the command.
    """

    name: str
    audit: Callable[..., Audit]
    option: str
    """The name of its option, which is the second parameter of `audit`."""
    metavar: str
    target: str
    """What the help calls its target, such as PARAMS."""
    target_words: str
    """What its target is, such as the parameters of safetab run."""
    example: str

    @property
    def usage(self) -> str:
        """Its option as the help shows it."""
        return f"--{self.option} {self.metavar}"


def offered_mechanisms() -> tuple[AuditedMechanism, ...]:
    """Return the mechanisms of the guests that are there.

    >>> "measure" in {mechanism.name for mechanism in offered_mechanisms()}      # the package's own
    False
    """
    return offered(OFFER, AuditedMechanism)
