"""A run that dies leaves nothing in OUT: killed at random moments, a full disk, a file that cannot grow."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetab_toy import DATA, TOY

DRIVER = Path(__file__).parent / "safetab_crash.py"
FILES = {"t1.csv", "t2.csv", "summary.json"}


class Runs:
    """A process that makes runs, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.number = folder, 0
        self.spill = folder / "spill"
        self.spill.mkdir()
        params = folder / "params"
        shutil.copytree(TOY, params)
        # two geographies are enough, and quick
        config = json.loads((params / "config.json").read_text())
        for key in config:
            if key.startswith("privacy_budget_p_level"):
                config[key] = 1 if key.endswith(("2_state", "2_county")) and "_pr_" not in key else 0
        (params / "config.json").write_text(json.dumps({**config, "run_pr": False}))
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVER), str(params), str(DATA)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(self.spill)},
        )

    def __call__(self, **task: Any) -> dict[str, Any]:
        """Make a run; OUT is whole or is not there."""
        self.number += 1
        out = Path(task.setdefault("out", str(self.folder / f"out{self.number}")))
        task["log"] = str(self.folder / "log")
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        answer["there"] = out.exists()
        if answer["there"]:
            assert {path.name for path in out.iterdir()} == FILES
            summary = json.loads((out / "summary.json").read_text())
            states, _ = (sum(place["groups"].values()) for place in summary["places"])
            assert states == 3 * 19  # every group of every state
            assert summary["rows"]["T01001"] == sum(summary["groups"].values()) > states
            assert len((out / "t1.csv").read_text().splitlines()) == 1 + summary["rows"]["T01001"]
            shutil.rmtree(out)
        log = self.folder / "log"
        answer["said"] = log.read_text() if log.exists() else ""
        return answer

    @property
    def debris(self) -> list[Path]:
        return list(self.folder.glob(".discreet*"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """One process for all tests: what it loads takes longer than its runs."""
    made = Runs(tmp_path_factory.mktemp("runs"))
    yield made
    assert made.process.stdin is not None
    assert made.process.stdout is not None
    made.process.stdin.close()
    made.process.stdout.close()
    made.process.wait()


def kills(runs: Runs, count: int, seed: int) -> int:
    whole = runs()
    assert whole["status"] == 0
    assert whole["there"]
    chance, there = random.Random(seed), 0
    for _ in range(count):
        answer = runs(after=chance.uniform(0.0, 1.1 * whole["seconds"]))
        there += answer["there"]
        # killed, or done before the kill
        assert answer["status"] in (-9, 0)
    assert runs()["there"]
    # what the killed ones left beside OUT, and in temporary files, the next run took away
    assert not runs.debris
    assert not list(runs.spill.iterdir())
    return there


def test_killed_at_random_moments(runs: Runs) -> None:
    kills(runs, 3, seed=1)


@pytest.mark.slow
def test_killed_at_many_random_moments(runs: Runs) -> None:
    assert 0 < kills(runs, 200, seed=2) < 200


def test_a_file_that_cannot_grow(runs: Runs) -> None:
    answer = runs(limit=2000)
    assert answer["status"] == 2
    assert "File too large; nothing was written and nothing spent" in answer["said"]
    assert not answer["there"]
    assert not runs.debris


@pytest.mark.slow
def test_a_full_disk(runs: Runs, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("needs a small disk: run as root")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("needs a small disk: run where mounting is allowed")
    try:
        answer = runs(out=str(disk / "out"))
        assert answer["status"] == 2
        assert not answer["there"]
        assert "No space left on device; nothing was written and nothing spent" in answer["said"]
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
