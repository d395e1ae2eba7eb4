"""The error bounds of the PNAS paper's appendix (A.5 to A.7, C.1, D.1 to D.4), by its own formulas.

Seven groups of equal queries have a share a of rho = 3.65 each (Table 3; PEPG and Tract Subset Group are
one): sums of n counts of variance sigma^2 = 10 / (2 a rho), here w = n sigma^2. In place of their law the
paper uses the normal density on the integers, X, whose transform is a sum of exp(-w (y - 2 pi k)^2 / 2) over
integers k. The overall tail is that of the sum of a X above t = 5 (epsilon / rho - 1), or of 1000 a X on the
integers from 1000 t to 6000 t.

Each number is the quantity that a printed bound claims to bound, computed step by step as in the paper. Where
`discreet.studies.boole` states the same bound, its value is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from flint import arb

from discreet.answers.quantity import Style
from discreet.noise import DiscreteGaussian
from discreet.noise.balls import working_bits
from discreet.studies.boole import BOOLE_CUT, BOOLE_NODES, BooleSum, boole_error, sixth_derivative_bound
from discreet.studies.published import LatticeNormal
from discreet.studies.register import Compared, Found, Printed, Verdict, check_printed, printed, study

LATTICE, WIDE = 1000, 12
"""L, the lattice points per unit; and the standard deviations kept of each group."""
FAR_BELOW = 1e-3
"""A bound a thousand times too large is not drawn."""
_BITS = 900  # residuals are differences of order 1e-37 and smaller


class EqualQueries(NamedTuple):
    """Levels with the same noise: the share of rho, the number of queries and their variance."""

    name: str
    share: Fraction
    times: int
    variance: Fraction

    @property
    def w(self) -> float:
        """The variance of the group's sum."""
        return float(self.times * self.variance)


def groups() -> list[EqualQueries]:
    """Return the seven groups of Table 3.

    >>> [round(group.w, 2) for group in groups()]
    [684.93, 50.0, 161.16, 209.14, 57.56, 116.09, 4566.21]
    """
    shares = printed("pnas", "Table 3", "share of the level, percent")
    queries = printed("pnas", "Table 3", "number of queries")
    equal = []
    for name, entry in shares.items():
        share = Fraction(entry.text) / 100
        equal.append(
            EqualQueries(name, share, int(queries[name].text), Fraction(10) / (2 * share * budget()))
        )
    return equal


def budget() -> Fraction:
    """Return the printed total rho.

    >>> budget()
    Fraction(73, 20)
    """
    return Fraction(printed("pnas", "appendix A.6, budget", "rho")["total"].text)


@cache
def method() -> BooleSum:
    """Return the paper's method for the seven groups; its lattice points are those of 1000 (a X + ...)."""
    return BooleSum(DiscreteGaussian(variance=group.variance, times=group.times) for group in groups())


def threshold() -> Fraction:
    """Return where the first tail begins at the printed epsilon, as a value of the privacy loss minus R/2.

    >>> threshold(), method().ends(threshold())
    (Fraction(458, 25), (25096, 150576))
    """
    return Fraction(printed("pnas", "appendix A.6, target", "epsilon")["target"].text) - method().R / 2


# -- the residual of equal queries: A.5 and C.1 ----------------------------------------------------------


@cache
def omegas(variance: Fraction = Fraction(5), times: int = 10) -> dict[str, float]:
    """Return the five parts of the bound on the residual, appendix C.1.

    >>> {name: f"{value:.3g}" for name, value in omegas().items()}["Omega5"]
    '7.68e-108'
    """
    with working_bits(_BITS):
        end = arb.pi() * (arb(times) * variance.numerator / variance.denominator).sqrt()
        whole = math.floor(float(end))
        factor = DiscreteGaussian(variance=variance).factor_ball(Fraction(0))
        # ratios of the transforms of the scaled sum and of the normal law; end is half a turn
        ratios = [
            factor.at(arb(t) / end / 2).real ** times * (arb(t) ** 2 / 2).exp() for t in range(whole + 1)
        ]
        steps = [(-(arb(j - 1) ** 2) / 2).exp() * abs(ratios[j] - 1) for j in range(1, whole + 1)]
        last = (-(arb(whole) ** 2) / 2).exp()
        rest = (end - whole) / end
        parts = {
            "Omega1": sum(steps, arb(0)) / end,
            "Omega3": (-(end**2) / 2).exp() / end**2,
            "Omega4": rest * last * ratios[whole],
            "Omega5": rest * last,
        }
        parts["Omega2"] = parts["Omega4"] + parts["Omega5"]
        return {name: float(value.upper()) for name, value in parts.items()}


def omega5(variance: Fraction = Fraction(5), times: int = 10) -> float:
    """Return Omega5 itself, of which `omegas` has a bound: the normal part of Omega2.

    >>> f"{omega5():.4g}"
    '1.611e-108'
    """
    with working_bits(_BITS):
        end = arb.pi() * (arb(times) * variance.numerator / variance.denominator).sqrt()
        whole = math.floor(float(end))
        tails = [(arb(edge) / arb(2).sqrt()).erfc() for edge in (arb(whole), end)]
        return float((tails[0] - tails[1]) * (arb.pi() / 2).sqrt() / end)


# -- all levels together: A.6, D.1 to D.4 ----------------------------------------------------------------


def normal_for_each_group() -> float:
    """Return E2(0): the normal density in place of each group's law, by the residual of Fact C.1 for State.

    >>> f"{normal_for_each_group():.5g}"
    '3.3992e-29'
    """
    fact = printed("pnas", "Fact C.1", "bound on the residual, variance 5")["10"].value
    others = (24 / math.sqrt(2 * math.pi)) ** (len(groups()) - 1)
    total = 0.0
    for group in groups():
        equal = LatticeNormal([DiscreteGaussian(variance=group.variance, times=group.times)])
        total += 24 * math.sqrt(group.w) * (fact if group.name == "State" else equal.residual_bound)
    return others * total


def largest_factor(group: EqualQueries, low: float, high: float) -> float:
    """Return the largest |transform| of a group on an interval of t, appendix D.3.

    >>> state = groups()[1]
    >>> largest_factor(state, 0.0, 0.1), largest_factor(state, 0.01, 0.011) < 1e-35
    (1.0, True)
    """
    turns = [LATTICE * float(group.share) * t / (2 * math.pi) for t in (low, high)]
    if math.floor(turns[1]) > math.floor(turns[0]) or turns[0] == math.floor(turns[0]):
        return 1.0
    # between two peaks the maximum is at one of the ends
    distance = 2 * math.pi * min(abs(turn - round(turn)) for turn in turns)
    return math.exp(-group.w * distance**2 / 2)


def printed_moments() -> list[float]:
    """Return the printed bounds on E|X|^p of X = 1000 (a X + ...), p = 0 to 6.

    >>> all(mine <= theirs for mine, theirs in zip(method().moments()[1:], printed_moments()[1:]))
    True
    """
    return [1.0, *(entry.value for entry in printed("pnas", "appendix D.4", "bound on a moment").values())]


def boole(sixth: float) -> float:
    """Return the error of Boole's rule on [0, 1/100] with steps of 1e-9, from the sixth derivative.

    >>> f"{boole(1.2e35):.4e}"
    '2.5397e-24'
    """
    return boole_error(sixth, h=float(BOOLE_CUT) / (BOOLE_NODES - 1), length=float(BOOLE_CUT))


# -- the study -------------------------------------------------------------------------------------------


@study("quantity at printed computed ratio")
def error_bounds() -> Found:
    """Compute what each printed bound claims to bound, by the paper's formulas.

    >>> [one.printed.at for one in error_bounds().checks if one.verdict is Verdict.WRONG]
    ['Omega5', 'E0(0)+E1(0)+E2(0)']
    """
    for compared in (*_equal_queries(), *_together(), *_integral()):
        yield compared
        said = compared.printed
        if compared.computed is not None and said.what != "smallest":
            name = f"{said.place.removeprefix('appendix ')}:{said.at.partition(',')[0]}"
            ratio = compared.computed / said.value
            yield name, said.at, said.value, compared.computed, ratio if ratio > FAR_BELOW else None


def _entries(place: str, what: str = "bound") -> dict[str, Printed]:
    return printed("pnas", place, what)


def _equal_queries() -> Iterator[Compared]:
    smallest = _entries("appendix A.5", "smallest")
    state = min(groups(), key=lambda group: group.variance)
    yield check_printed(smallest["number of queries"], min(group.times for group in groups()))
    variance = float(state.variance)
    shortened = (Verdict.ROUNDED, math.floor(100 * variance) / 100)
    said = "4.9995, cut off at two decimals; Table 1 rounds it to 5.00"
    yield check_printed(smallest["variance"], variance, otherwise=shortened, explained=said)
    bounds = _entries("appendix A.5")
    parts = omegas(state.variance)
    residual = sum(parts[name] for name in ("Omega1", "Omega2", "Omega3"))
    yield check_printed(bounds["residual"], residual, why="as in appendix C.1, at the variance of State")
    yield check_printed(bounds["exp(-20^2/2)"], math.exp(-(20**2) / 2))
    itself = Style.BRIEF.quantity(omega5(), 4)
    late = (
        f"a hundred times the printed bound, and the integral itself is {itself}; Omega2, of which it is a "
        "part, keeps its own"
    )
    for at, entry in _entries("appendix C.1").items():
        yield check_printed(entry, omegas()[at], explained=late)


def _together() -> Iterator[Compared]:
    bounds = _entries("appendix A.6")
    far, first = math.exp(-(WIDE**2) / 2), normal_for_each_group()
    yield check_printed(bounds["exp(-12^2/2)"], far)
    yield check_printed(bounds["E2(0)"], first, why="with 2.6e-37, Fact C.1, for State")
    terms = [bounds["E2(0)"].value, 2 * len(groups()) * bounds["exp(-12^2/2)"].value]
    said = f"3.4e-29 and 14 times 5.4e-32 are {Style.BRIEF.quantity(sum(terms), 4)}"
    sum_ = first + 2 * len(groups()) * far
    yield check_printed(bounds["E0(0)+E1(0)+E2(0)"], sum_, explained=said)
    union = method().union_terms(threshold())
    said = (
        "the largest single term, State's, as Proposition A.13 defines it; the union bound by which appendix "
        f"D.2 bounds its own E(1), a far smaller tail, adds up to {Style.BRIEF.quantity(sum(union), 4)}"
    )
    yield check_printed(bounds["E(1)"], max(union), why=said)
    low, high = method().ends(threshold())
    kept = 1e-35 * (high - low)
    yield check_printed(bounds["E(2)"], kept)
    sixth = _entries("appendix D.4")["max|F(6)|"].value
    yield check_printed(bounds["E(3)"], boole(sixth), why="Boole's rule: 2/945 * 1.2e35 * 0.01 * 1e-54")
    everything = sum_ + sum(union) + kept + boole(sixth)
    yield check_printed(bounds["all errors"], everything)
    (target,) = _entries("appendix A.6", "what the second tail must keep below").values()
    epsilon = printed("pnas", "appendix A.6, target", "epsilon")["target"].value
    needed = 1e-10 * math.exp(-epsilon)
    unit = target.unit
    said = f"{Style.BRIEF.quantity(needed, 4)}, cut off at two digits"
    shortened = (Verdict.ROUNDED, math.floor(needed / unit) * unit)
    yield check_printed(target, needed, otherwise=shortened, explained=said)
    (riemann,) = _entries("appendix A.6", "nodes of a Riemann sum for an error of 1e-12").values()
    yield check_printed(
        riemann, None, why="the paper does not say which rule and which bound of its error it takes"
    )
    for place in ("appendix A.6", "appendix A.7"):
        yield from (check_printed(entry, None) for entry in _entries(place, "settings").values())
    overall = _entries("appendix A.7")
    edge = int(_entries("appendix A.7", "settings")["upper end U"].value)
    others = everything - boole(sixth)
    moments = printed_moments()
    alpha, beta = (others + boole(sixth_derivative_bound(first, edge, moments)) for first in (0, -edge))
    yield check_printed(
        overall["alpha"], alpha, why="for zeta of 0 and more; below, alpha is known by symmetry"
    )
    yield check_printed(overall["beta"], beta, why="with all lattice points from -U to U")


def _integral() -> Iterator[Compared]:
    bounds, (low, high) = _entries("appendix D.3"), method().ends(threshold())
    yield check_printed(bounds["5 t L"], high - low + 1)
    # 2 exp(-2 pi^2 w), w at least 50: below the smallest float
    peak = max(2 * math.exp(max(-690.0, -2 * math.pi**2 * group.w)) for group in groups())
    yield check_printed(bounds["c - 1"], peak, why="ours is an upper bound too: the value is near 1e-428")
    yield check_printed(bounds["E(2)"], 1e-35 * (high - low))
    by_name = {group.name: group for group in groups()}
    for at, entry in _entries("appendix D.3", "largest factor on an interval").items():
        name, _, interval = at.partition(", ")
        left, right = (math.pi if text == "pi" else float(text) for text in interval.split(" to "))
        yield check_printed(entry, largest_factor(by_name[name], left, right))
    moments = _entries("appendix D.4", "bound on a moment").values()
    for entry, value in zip(moments, method().moments()[1:], strict=True):
        yield check_printed(entry, value)
    bounds, sixth = _entries("appendix D.4"), sixth_derivative_bound(low, high, printed_moments())
    yield check_printed(bounds["pi max|F(6)|"], math.pi * sixth)
    yield check_printed(bounds["max|F(6)|"], sixth)
    said = f"with the printed 1.2e35; with its own sum the bound is {Style.BRIEF.quantity(boole(sixth), 3)}"
    yield check_printed(bounds["E(3)"], boole(bounds["max|F(6)|"].value), why=said)
