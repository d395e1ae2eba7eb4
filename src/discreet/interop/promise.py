"""A promise that another tool keeps: its parameters, exactly, without the noise behind them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import InputError
from discreet.memory import set_fields
from discreet.numbers import Exact, brief, float_up, fraction, read_delta, shown

Variant = Literal["Pure DP", "Approximate DP", "Zero-concentrated DP"]
"""The kinds of promise, by their names in the registry of deployments."""


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Promise:
    """An (epsilon, delta) or a rho that some program promises; the noise that keeps it is not known.

    >>> round(Promise(rho="1/2").epsilon_at(delta="1e-6"), 4)
    5.2215
    >>> print(Promise(epsilon=1, delta="1e-6"))
    Approximate DP, epsilon 1, delta 1e-6
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None

    def __init__(self, *, epsilon: Exact | None = None, delta: Exact = 0, rho: Exact | None = None) -> None:
        if (epsilon is None) == (rho is None):
            raise InputError("a promise has an epsilon, perhaps with a delta, or a rho")
        given = {"epsilon": epsilon, "delta": delta, "rho": rho}
        exact = {key: None if value is None else fraction(value, name=key) for key, value in given.items()}
        for name, value in exact.items():
            if value is not None and value < 0:
                raise InputError(f"{name} is {shown(given[name])}; it must be zero or more")
        small = exact["delta"] or Fraction(0)
        if small >= 1 or (rho is not None and small):
            raise InputError(f"delta is {shown(delta)}; it must lie below 1, and rho has none beside it")
        set_fields(self, epsilon=exact["epsilon"], delta=small, rho=exact["rho"])

    @property
    def variant(self) -> Variant:
        """What kind of promise this is."""
        if self.rho is not None:
            return "Zero-concentrated DP"
        return "Approximate DP" if self.delta else "Pure DP"

    def epsilon_at(self, *, delta: Exact) -> float:
        """Return an epsilon that the promise implies at a delta, rounded up.

        It need not be the smallest: that depends on the noise. From rho it is the tight conversion's.
        """
        wanted = read_delta(delta)
        if self.epsilon is not None:
            if wanted < self.delta:
                raise InputError(
                    f"delta is {shown(delta)}; the promise is made at delta {brief(self.delta)}, "
                    "and implies nothing at a smaller one"
                )
            return float_up(self.epsilon)
        assert self.rho is not None
        if self.rho == 0:
            return 0.0
        from discreet.comparisons.zcdp import TightZCDP

        return TightZCDP.from_rho(self.rho).epsilon(delta=float(wanted)) * (1 + 1e-12)

    def __str__(self) -> str:
        named = (("epsilon", self.epsilon), ("delta", self.delta or None), ("rho", self.rho))
        values = [f"{name} {brief(value).replace('e-0', 'e-')}" for name, value in named if value is not None]
        return ", ".join([self.variant, *values])
