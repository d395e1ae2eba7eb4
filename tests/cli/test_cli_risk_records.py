"""`risk records` as a curator types it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet import measurement
from discreet.budget import load_file


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    measurement.write_example(".")
    return tmp_path


@pytest.mark.slow
def test_expected_alone(discreet: Callable[..., Any], survey: Path) -> None:
    result = discreet(
        "risk", "records", "release.toml", "--records", "records.csv", "--units", "units.csv", "--quiet"
    )
    assert result.status == 0
    text = " ".join(result.out.split())
    assert text.startswith("CONFIDENTIAL: made from the records, without noise.")
    assert (
        "2,410 people in the 11 cells of query detailed; 26 are alone in their cell in their District."
        in text
    )
    start = (
        "Of 2,410 people, the District counts (the query detailed, 1 of 5) are expected to more than double"
    )
    assert start in text
    assert sorted(os.listdir(survey)) == ["goals.toml", "records.csv", "release.toml", "units.csv"]


@pytest.mark.slow
def test_all_surfaces_tell_the_same(discreet: Callable[..., Any], survey: Path) -> None:
    measurement.measure(
        load_file("release.toml"), None, "noisy", records="records.csv", units="units.csv", rehearsal=1
    )
    given = ("risk", "records", "--records", "records.csv", "--noisy", "noisy", "--prior", "1/10")
    found = discreet(*given, "--json", "--out", "curator", "--plot", "ratios.png").json
    assert found["confidential"].startswith("CONFIDENTIAL")
    row = next(one for one in found["rows"] if (one["adversary"], one["who"]) == ("District", "everyone"))
    assert (row["people"], row["drawn_ratio_above_2"]) == (2410, 6)  # counted from people.csv below
    text = discreet(*given, "--quiet").out
    assert "rehearsal: NOT PRIVATE" in text
    assert text.strip() == Path("curator/summary.CONFIDENTIAL.txt").read_text().strip()
    lines = Path("curator/people.CONFIDENTIAL.csv").read_text().splitlines()
    place = lines[0].replace('"', "").split(",").index("ratio:District")
    assert sum(float(line.split(",")[place]) > 2 for line in lines[1:]) == 6
    assert Path("ratios.png").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--noisy", "nowhere"), "nowhere cannot be read: No such file"),
        (("--noisy", "units.csv"), "the release is not known: name it, or the output of `measure`"),
        (
            ("release.toml", "--units", "units.csv", "--out", "records.csv", "--shapes", "none.json"),
            "2 kinds of problems: 1. records.csv exists and is not a directory; name a new one for the "
            "output; 2. none.json cannot be read",
        ),
        (("release.toml",), "records need a table of areas"),
        (("release.toml", "--units", "units.csv", "--shape-key", "a"), "are about files; name --out"),
        (
            ("release.toml", "--units", "units.csv", "--out", "new", "--shape-key", "a"),
            "shape_key and shape_level are about a file of shapes",
        ),
        (
            ("release.toml", "--units", "units.csv", "--out", "records.csv"),
            "records.csv exists and is not a dir",
        ),
        (("release.toml", "--units", "units.csv", "--prior", "2/1"), "prior is 2/1; it must lie strictly"),
    ],
)
def test_bad_requests(
    discreet: Callable[..., Any], survey: Path, given: tuple[str, ...], message: str
) -> None:
    result = discreet("risk", "records", *given, "--records", "records.csv")
    assert result.status == 2
    assert message in result.err
    assert sorted(os.listdir(survey)) == ["goals.toml", "records.csv", "release.toml", "units.csv"]
