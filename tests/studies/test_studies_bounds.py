"""The error bounds of the PNAS paper's appendix, by second routes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import erfc, log_ndtr

from discreet.noise import DiscreteGaussian
from discreet.studies import bounds, expansion, population, printed


def test_omegas_by_plain_formulas() -> None:
    found = bounds.omegas()
    end = math.pi * math.sqrt(50)  # pi B, of which 22 is the whole part
    rest = (end - 22) / end
    assert found["Omega5"] == pytest.approx(rest * math.exp(-(22**2) / 2), rel=1e-12)
    assert found["Omega3"] == pytest.approx(math.exp(-(end**2) / 2) / end**2, rel=1e-12)
    # the characteristic function of one count at 22/B, as a cosine sum
    x = np.arange(1, 60)
    law = DiscreteGaussian(variance=5).pmf(np.arange(60))
    one = law[0] + 2 * float((law[1:] * np.cos(22 / math.sqrt(50) * x)).sum())
    assert found["Omega4"] == pytest.approx(rest * one**10, rel=1e-8)
    assert found["Omega2"] == found["Omega4"] + found["Omega5"]
    # sum of e^(-(j-1)^2/2) times 10 e^(-2 pi^2 5) 2 (cosh(...) - 1): the first order in a tiny number
    q = math.exp(-2 * math.pi**2 * 5)
    steps = [
        math.exp(-((j - 1) ** 2) / 2)
        * (((1 + 2 * q * math.cosh(2 * math.pi * math.sqrt(0.5) * j)) / (1 + 2 * q)) ** 10 - 1)
        for j in range(14, 23)
    ]
    # terms with j below 14 vanish in floats; what is left is nearly all
    assert found["Omega1"] == pytest.approx(sum(steps) / end, rel=1e-3)


def test_omega5_itself_exceeds_its_printed_bound() -> None:
    # the integral by SciPy's erfc; what lies beyond the end is e^-5 of it
    end = math.pi * math.sqrt(50)
    itself = math.sqrt(math.pi / 2) * (erfc(22 / math.sqrt(2)) - erfc(end / math.sqrt(2))) / end
    assert bounds.omega5() == pytest.approx(itself, rel=1e-9)
    said = printed("pnas", "appendix C.1", "bound")["Omega5"].value
    assert said < bounds.omega5() < bounds.omegas()["Omega5"]


def test_e1_keeps_its_bound_by_both_definitions() -> None:
    said = printed("pnas", "appendix A.6", "bound")["E(1)"].value
    union = bounds.method().union_terms(bounds.threshold())
    assert (
        max(union) <= said < sum(union)
    )  # Proposition A.13 has one term; their sum is more than E(1) of D.2
    # which is the tail of the sum above 6 t: of a normal law of variance n^2 / (2 rho), at 40.7 deviations
    rho, t = 3.65, 5 * (21.97 / 3.65 - 1)
    assert log_ndtr(-6 * t / math.sqrt(100 / (2 * rho))) / math.log(10) == pytest.approx(-361.4, abs=0.1)


def test_the_mean_of_a_discrete_gaussian_by_plain_sums() -> None:
    for variance in ("1/4", "1/2", "1"):
        for mu in (Fraction(1, 8), Fraction(1, 3), Fraction(1, 2), Fraction(7, 8)):
            v, x = float(Fraction(variance)), np.arange(-60, 61)
            weights = np.exp(-((x - float(mu)) ** 2) / (2 * v))
            plain = math.fsum((x - float(mu)) * weights) / math.fsum(weights)
            assert expansion.mean_gap(Fraction(variance), mu) == pytest.approx(plain, rel=1e-6, abs=1e-15)
    study = expansion.offset_mean()
    for sigma2, mu, gap in study.rows:
        assert np.sign(gap) == (0 if mu in (0, 0.5, 1) else -1 if mu < 0.5 else 1), (sigma2, mu)


def test_the_intervals_of_d3_cover_everything_beyond_the_end() -> None:
    covered = []
    for at in printed("pnas", "appendix D.3", "largest factor on an interval"):
        low, high = at.partition(", ")[2].split(" to ")
        covered.append((float(low), math.pi if high == "pi" else float(high)))
    reach = 0.01
    for low, high in sorted(covered):
        assert low <= reach
        reach = max(reach, high)
    assert reach == math.pi
    # the factor by its sum, where it is not too small for floats
    state = bounds.groups()[1]
    x = np.arange(-200, 201)
    weights = np.exp(-(x**2) / (2 * state.w)) / math.sqrt(2 * math.pi * state.w)
    for t in (0.001, 0.003):
        plain = abs(float((weights * np.cos(1000 * float(state.share) * t * x)).sum()))
        assert bounds.largest_factor(state, t, t + 1e-9) == pytest.approx(plain, rel=1e-6)


def test_moments_of_normal_sums() -> None:
    norm = sum(1000 * float(g.share) * math.sqrt(g.w) for g in bounds.groups())
    for p, value in enumerate(bounds.method().moments()[1:], start=1):
        normal = 2 ** (p / 2) * math.gamma((p + 1) / 2) / math.sqrt(math.pi) * norm**p
        assert value == pytest.approx(normal, rel=2e-3)  # the lattice changes the first by a thousandth


def test_whole_tables_lie_between_their_cells() -> None:
    # errors of counts cut at zero, over a made-up table: the reduction lies in the range for any counts
    before, after = population.noise_laws(["Tract"])["Tract"]
    x = np.arange(-40, 41)
    counts = np.array([0, 0, 0, 1, 2, 3, 7, 50])
    for measure, power in population.MEASURES.items():
        low, high = population.cut_reductions(before, after, measure)
        old, new = (
            sum(
                float((DiscreteGaussian(variance=v).pmf(x) * np.abs(np.maximum(x, -c)) ** power).sum())
                for c in counts
            )
            for v in (before, after)
        )
        assert low < 100 * (1 - new / old) < high
