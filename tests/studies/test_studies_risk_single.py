"""One noisy count: the studies against print (arXiv:2204.04253, as the design note has it)."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest

from discreet.studies import find, risk_single
from discreet.studies.study import Study

NAMES = (
    "risk-table-4",
    "risk-table-5",
    "risk-priors-noisy",
    "risk-priors-rho",
    "risk-accuracy-rho",
    "risk-levels",
)


@pytest.fixture(scope="module")
def studies() -> dict[str, Study]:
    return {name: find(name)[0].compute() for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_files(name: str, studies: dict[str, Study]) -> None:
    study = studies[name]
    assert {"published", "difference"} <= set(study.columns)
    files = find(name)[0].files(study)
    assert len(list(csv.DictReader(io.StringIO(files[f"{name}.csv"].decode())))) == len(study.rows)
    assert files[f"{name}.png"].startswith(b"\x89PNG")


def test_tables_4_and_5_agree_with_print(studies: dict[str, Study]) -> None:
    four, five = studies["risk-table-4"], studies["risk-table-5"]
    assert four.numbers("posterior").round(3).tolist() == [0.525, 0.574, 0.621, 0.667, 0.709]
    assert np.abs(four.numbers("difference")).max() < 0.0005
    # printed 0.161 is the mass if the person is absent; present it is 0.178
    assert round(four.numbers("mass_present")[0], 3) == 0.178
    assert round(four.numbers("mass_absent")[0], 3) == 0.161 == four.numbers("published_mass")[0]
    # the normal density is close: variance 500/99
    density = math.exp(-0.099) / math.sqrt(2 * math.pi * 500 / 99)
    assert four.numbers("mass_absent")[0] == pytest.approx(density, rel=1e-12)
    assert five.numbers("expected_ratio").round(2).tolist() == [1.05, 1.13, 1.17, 1.21, 1.22]
    assert (five.numbers("expected_ratio_real_noise") < five.numbers("expected_ratio")).all()


def test_levels_of_the_redistricting_data(studies: dict[str, Study]) -> None:
    study = studies["risk-levels"]
    assert study.column("level") == ["US", "State", "County", "Tract", "Block_Group", "Block"]
    # the paper's rhos are those of a total of 2.56 instead of 293764/114921, to four digits
    scaled = study.numbers("rho") * 2.56 * 114921 / 293764
    assert scaled.round(4).tolist() == [0.0509, 0.0505, 0.0514, 0.0504, 0.2465, 0.0992]
    assert study.numbers("published").tolist() == scaled.round(4).tolist()
    assert np.allclose(study.numbers("variance_real"), 1 / study.numbers("rho"), rtol=1e-14)
    assert np.allclose(study.numbers("variance_as_published"), 0.5 / study.numbers("rho"), rtol=1e-14)
    block = study.where(level="Block")
    assert round(float(block.numbers("accuracy_as_published")[0]), 4) == 0.5888
    assert round(float(block.numbers("accuracy_real")[0]), 3) == 0.563


def test_curves_over_rho(studies: dict[str, Study]) -> None:
    study = studies["risk-accuracy-rho"]
    even, uneven = study.where(prior="1/2"), study.where(prior="1/5")
    assert (np.diff(even.numbers("accuracy_present")) > 0).all()
    assert even.numbers("accuracy_present").tolist() == even.numbers("accuracy_average").tolist()
    falls = np.diff(uneven.numbers("accuracy_present")) < -1e-4
    assert falls.sum() > 20
    assert len(study.published()) == 1
    curves = studies["risk-priors-rho"]
    assert np.nanmax(np.abs(curves.numbers("difference"))) < 0.005
    for prior in risk_single.PRIORS:
        assert (curves.where(prior=prior).numbers("expected_ratio") >= 1).all()
    assert len(curves.published()) == 5
    assert len(studies["risk-priors-noisy"].published()) == 5
