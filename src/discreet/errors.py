"""The few kinds of errors that `discreet` raises on purpose.

Every message names what was found, what is allowed, and where.
"""

from __future__ import annotations


class DiscreetError(Exception):
    """Base of all errors a caller may want to show to a person as they are."""


class InputError(DiscreetError, ValueError):
    """The input cannot be used: a wrong value, an unknown name, a budget that does not add up."""


class PrecisionError(DiscreetError, ArithmeticError):
    """The asked accuracy cannot be reached; the message says what can be."""
