"""The free law of equal counts: its slopes, the rounded table, and figures computed elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import compose
from discreet.errors import InputError
from discreet.noise import PowerNoise
from discreet.studies.best_law import _Program, _start_of, best_law

START = PowerNoise("31/20", "4.28")


def test_delta_and_its_slopes() -> None:
    program = _Program(30, 10.0, 1e-10, _start_of(START))
    u = -np.log(program.start[1:] / program.start[0])
    log, slopes = program.log_delta(u)
    # by the account of the same noise, which ends nowhere
    assert np.exp(log) == pytest.approx(compose([START.repeated(30)]).delta(epsilon=10), rel=1e-3)
    for place in (0, 3, 8, 15):
        step = np.zeros_like(u)
        step[place] = 1e-4
        ends = [program.log_delta(u + side * step)[0] for side in (1, -1)]
        assert slopes[place] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=5e-3)


def test_too_many_counts() -> None:
    with pytest.raises(InputError, match="at most 1000 counts"):
        best_law(1001, epsilon=1, delta="1e-10")


@pytest.mark.slow
def test_thirty_counts() -> None:
    # design figures (tilted FFT, grid epsilon/600): 12.73 free, 12.8 with a power, 14.0 Gaussian
    found = best_law(30, epsilon=10, delta="1e-10")
    assert found.variance == pytest.approx(12.73, rel=3e-3)
    assert found.gain >= 0.085
    assert found.variance < found.power[1] < min(found.gaussian, found.laplace)
    # the claim is about the rounded table
    assert sum(chance for _, chance in found.table.absent) == 1
    assert compose([found.table]).epsilon(delta="1e-10") <= 10
