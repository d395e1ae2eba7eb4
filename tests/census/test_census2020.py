"""The specification of 2020 that comes with the package is that of the public files, to the last row."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from discreet.census.safetab.census2020 import configuration_2020, packaged, specification_2020
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.specification import read_specification
from discreet.cli import run


@pytest.mark.parametrize(
    ("name", "size", "wanted"),
    [
        # SHA-256 of the same rows made of the Bureau's five files by `read_specification`
        ("2020", 2 * 1755 + 3054, "7c4180bb9e58da72283d68cbbe4f7d7a4c22141b09d01a749ae09b7918d458ce"),
        # of the rows that a program invented until version 0.2
        ("invented", 2 * 136 + 162, "db99c86f31127acd7ec8448b6a2a24d1b83792395d7e592e8626323bbfe4604f"),
    ],
)
def test_it_is_the_published_one(name: str, size: int, wanted: str) -> None:
    found = packaged(name)
    rows = [
        *(f"{code}|{name}" for code, name in found.codes.items()),
        *(
            f"{one.code}|{one.name}|{one.level}|{one.kind}|{one.total_only}|{one.coarse_only}"
            for one in found.iterations
        ),
        *(f"{code}|{' '.join(groups)}" for code, groups in found.mapped.items()),
    ]
    assert len(rows) == size
    assert hashlib.sha256("\n".join(rows).encode()).hexdigest() == wanted


def test_the_folder_reads_as_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "params"
    assert run(["safetab", "init", str(folder), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert sorted(answer["files"]) == sorted(path.name for path in folder.iterdir())
    assert (answer["codes"], answer["groups"]) == (1755, 3054)
    assert read_specification(folder) == specification_2020()
    assert read_configuration(folder) == configuration_2020()
    assert run(["safetab", "init", str(folder)]) == 2  # never overwritten
    assert "not empty" in capsys.readouterr().err
    assert run(["safetab", "init", str(tmp_path / "other"), "--spec", "2010"]) == 2
    assert not (tmp_path / "other").exists()


def test_what_is_still_needed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["safetab", "init", str(tmp_path / "params")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "GRF-C" in said
    assert "person records" in said
    assert "discreet safetab synth" in said
