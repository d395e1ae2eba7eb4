"""What the views find, as plain data that goes from process to process; light to import."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Line = tuple[tuple[float, float], ...]
"""Points to draw."""


@dataclass(frozen=True, slots=True)
class Quick:
    """The main path at the chosen delta, and its curve: `profile` has a line each for exact, zCDP and GDP."""

    epsilon: float
    zcdp: float
    gdp: float
    rho: Fraction
    advantage: float
    profile: tuple[Line, Line, Line]


@dataclass(frozen=True, slots=True)
class Overall:
    """The worst over all pairs of paths."""

    epsilon: float
    worst: tuple[int, ...]
    main: tuple[int, ...]
    cases: int


@dataclass(frozen=True, slots=True)
class Errors:
    """The trade-off curves, exact, zCDP and GDP, and the least misses at 5 % false alarms."""

    lines: tuple[Line, Line, Line]
    missed: float
