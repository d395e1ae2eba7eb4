"""The page in plain words: true, and each sentence with its adversary."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from discreet.budget import load
from discreet.cli.commands import run
from discreet.risk.explain import explain_profile, times
from discreet.risk.profile import risk_profile


def test_the_page_says_what_the_profile_says() -> None:
    profile = risk_profile(load("pl94-2020-persons"), prior="1/2")
    page = explain_profile(profile)
    assert "knows everyone else in the block, gives it an even chance" in page
    assert "is right 56 times in 100" in page  # the design note's 0.563
    bound = profile.overall[0].accuracy
    (said,) = re.findall(r"whatever they know and compute, is right more than ([\d.]+) times in 100", page)
    assert 100 * bound <= float(said) < 100 * bound + 0.1
    for line in page.splitlines():
        if "times in 100" in line:
            assert "omeone who" in line or "no one who" in line.lower(), line


def test_an_incomplete_profile_claims_no_bound() -> None:
    page = explain_profile(risk_profile(load("pl94-2020-persons"), prior="1/10", pairs="main"))
    assert "this is no bound" in page
    assert "whatever they know" not in page
    assert "a chance of 1 in 10" in page


@pytest.mark.parametrize("chance", [0.5, 0.56277, 0.9424, 0.99951, 0.999999999, 0.012, 1e-6, 0.58970001])
def test_an_upper_bound_is_never_rounded_down(chance: float) -> None:
    assert float(times(chance, upper=True).split()[0]) >= 100 * chance - 1e-9


def test_rows_of_bounds_are_rounded_up_and_attacks_are_not() -> None:
    profile = risk_profile({"Block_Group": "0.2465", "Block": "0.0992"}, prior="1/2")
    page = explain_profile(profile)
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", page, flags=re.MULTILINE)
    assert len(rows) == 5
    for (_, said), row in zip(rows, profile.rows, strict=True):
        if row in profile.one_count:
            assert float(said) == pytest.approx(100 * row.accuracy, abs=0.005)
        else:
            assert 100 * row.accuracy <= float(said) < 100 * row.accuracy + 0.01


def test_names_and_near_certainty_read_well() -> None:
    page = explain_profile(risk_profile({"STATE, *": "7"}, prior="0.9"))
    assert r'in the area of "STATE, \*"' in page  # an unescaped star would start an emphasis
    assert "looks at the area's count alone is right" in page
    assert "above more than" not in page
    assert "at more than" not in page
    units = explain_profile(risk_profile(load("pl94-2020-units"), prior="1/2", pairs="main"))
    assert "knows every other housing unit in the block" in units
    assert "everyone else" not in units


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.md"
    assert run(["risk", "explain", "sdhc-2020", "--prior", "1/2", "--out", str(out), "--quiet"]) == 0
    page = out.read_text()
    assert page.startswith("# What can be learned about one person from sdhc-2020")
    assert "one person added or removed" in page
    capsys.readouterr()
    assert run(["risk", "explain", "pl94-2020-persons", "--json", "--main-only"]) == 0
    assert json.loads(capsys.readouterr().out)["is_bound"] is False


def test_command_refuses(tmp_path: Path) -> None:
    for arguments in (
        ["pl94-2020-persons", "--prior", "1"],
        ["pl94-2020-persons", "--out", str(tmp_path / "a.doc")],
        ["pl94-2020-persons", "--json", "--out", str(tmp_path / "a.md")],
        ["no-such-preset"],
    ):
        assert run(["risk", "explain", *arguments]) == 2
    assert list(tmp_path.iterdir()) == []
