"""Inputs that were answered badly once, or look as if they could be: one line, status 2, nothing "
"written, soon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from inputs import COUNTS, RELEASE, command

LONG = "x" * 300
DEEP = "/".join(["d" * 200] * 30)

TEXTS: dict[str, Callable[[], str]] = {
    "a key of 50,000 parts": lambda: ".".join("a" * 50_000) + " = 1",
    "a table of 50,000 parts": lambda: "[" + ".".join("a" * 50_000) + "]",
    "a million keys": lambda: "\n".join(f"k{number} = 1" for number in range(10**6)),
    "a hundred thousand brackets": lambda: "a = " + "[" * 100_000,
    "a number of a million digits": lambda: "rho = " + "9" * 10**6,
    "a text of ten million letters": lambda: 'name = "' + "a" * 10**7 + '"',
    "ten thousand levels of the same name": lambda: '[[levels]]\nname = "a"\nqueries = {}\n' * 10_000,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "release.toml").write_text(RELEASE)
    (tmp_path / "counts.csv").write_text(COUNTS)
    return tmp_path


@pytest.mark.parametrize("what", TEXTS)
def test_large_texts(folder: Path, what: str) -> None:
    (folder / "odd.toml").write_text(TEXTS[what]())
    for line in (["show", "odd.toml"], ["account", "odd.toml"], ["safetab", "account", "odd.toml"]):
        assert command(line, folder)[0] == 2


@pytest.mark.parametrize("name", [LONG, DEEP, "", ".", "/", "no/such", "\n", "-", "\udcff"])
@pytest.mark.parametrize(
    "line",
    [
        lambda name: ["show", name],
        lambda name: ["account", name],
        lambda name: ["safetab", "account", name],
        lambda name: ["safetab", "run", name, name, "out", "--no-ledger"],
        lambda name: ["measure", "release.toml", "--counts", name, "--out", "out", "--no-ledger"],
        lambda name: ["measure", "release.toml", "--counts", "counts.csv", "--out", "out", "--ledger", name],
        lambda name: [
            "measure",
            "release.toml",
            "--counts",
            "counts.csv",
            "--out",
            f"{name}/x",
            "--no-ledger",
        ],
        lambda name: ["estimate", name, "--out", "out"],
        lambda name: ["ledger", "show", name],
        lambda name: ["ledger", "new", f"{name}/no/where"],
        lambda name: ["account", "release.toml", "--curve", f"{name}/a.csv"],
    ],
)
def test_paths(folder: Path, line: Callable[[str], list[str]], name: str) -> None:
    assert command(line(name), folder)[0] == 2


@pytest.mark.parametrize("text", [b"", b"PAR1", b"PAR1" + b"\x00" * 100 + b"PAR1", b"\xff" * 1000])
def test_files_that_are_no_parquet(folder: Path, text: bytes) -> None:
    (folder / "odd.parquet").write_bytes(text)
    assert (
        command(
            ["measure", "release.toml", "--counts", "odd.parquet", "--out", "out", "--no-ledger"], folder
        )[0]
        == 2
    )
