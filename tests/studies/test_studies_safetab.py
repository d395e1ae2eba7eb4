"""SafeTab-P's studies: thresholds and budgets as published, curves against plain sums, files that open."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.studies import find
from discreet.studies.safetab import safetab_margins, safetab_suppression


def test_published_thresholds_are_found() -> None:
    # design note: T = 93, 21, 11 for rho 0.008, 0.159, 0.543 with gamma 0.1
    study = safetab_suppression()
    known = study.published()
    assert [(row[0], row[2], row[4]) for row in known] == [(0.008, 93, 0), (0.159, 21, 0), (0.543, 11, 0)]


@pytest.mark.parametrize("rho", ["0.008", "0.159", "0.543"])
def test_curves_by_plain_sums(rho: str) -> None:
    part = safetab_suppression().where(rho=float(rho))
    variance = float(Fraction(9) / (2 * Fraction(9, 10) * Fraction(rho)))
    weights = {x: math.exp(-x * x / (2 * variance)) for x in range(-600, 601)}
    total = math.fsum(weights.values())
    (threshold,) = part.distinct("threshold")
    assert isinstance(threshold, int)
    for size in (0, 1, threshold, threshold + 10, 2 * threshold, 300):
        (row,) = part.where(size=size).rows
        kept = {x: w / total for x, w in weights.items() if size + x > threshold}
        chance = math.fsum(kept.values())
        assert row[6] == pytest.approx(1 - chance, abs=1e-12)
        assert row[7] == pytest.approx(math.fsum(x * p for x, p in kept.items()) / chance, abs=1e-9)
        assert row[8] == pytest.approx(math.fsum((size + x) * p for x, p in kept.items()) - size, abs=1e-9)
    # larger groups are dropped less often, and biased less
    assert part.column("suppressed") == sorted(part.numbers("suppressed"), reverse=True)
    assert part.column("bias_if_released") == sorted(part.numbers("bias_if_released"), reverse=True)


def test_margins_and_budgets_of_2020() -> None:
    study = safetab_margins()
    assert len(study.where(**{"pass": "US"}).rows) == 11
    assert len(study.where(**{"pass": "PR"}).rows) == 8
    # the sums of the published budgets: 4.944 and 2.643
    assert study.where(**{"pass": "US"}).numbers("published").sum() == pytest.approx(4.944)
    assert study.where(**{"pass": "PR"}).numbers("published").sum() == pytest.approx(2.643)
    assert abs(study.numbers("difference")).max() < 0.0005
    assert study.distinct("wanted_margin") == [50, 3, 11]
    assert (study.numbers("exact_margin") <= study.numbers("wanted_margin")).all()
    assert (study.numbers("exact_rho") < study.numbers("rho")).all()


@pytest.mark.parametrize("name", ["safetab-suppression", "safetab-margins"])
def test_files(name: str) -> None:
    (entry,) = find(name)
    study = entry.compute()
    assert study.name == name
    assert {"published", "difference"} <= set(study.columns)
    files = entry.files(study)
    assert files[f"{name}.png"].startswith(b"\x89PNG")
    assert b"<svg" in files[f"{name}.svg"][:1000]
    assert files[f"{name}.csv"].decode().count("\n") == len(study.rows) + 1
