"""Output and ledger together or not at all: killed at every operation, at random moments, on a full disk."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from release_country import TOML, Country

from discreet.budget import Release
from discreet.ledger import (
    Total,
    check_ledger,
    create_ledger,
    new_key,
    read_ledger,
    sign_ledger,
    spent,
    witness_ledger,
)
from discreet.ledger.ledger import Ledger
from discreet.ledger.witness_file import read_witness

DRIVER = Path(__file__).parents[1] / "release_crash.py"


class Crashes:
    """A folder with counts and a ledger, and a process that runs tasks in it."""

    def __init__(
        self,
        folder: Path,
        total: int = 1000,
        preload: Path | None = None,
        *,
        policy: bool = False,
        author: str = "measure",
    ) -> None:
        """`author` is whose runs they are: those of `measure`, or of an office's own mechanism."""
        self.author = author
        self.folder, self.ledger = folder, folder / "ledger.json"
        self.witness = folder / "witness.txt" if policy else None
        self.release = Release.from_toml(TOML)
        (folder / "release.toml").write_text(TOML)
        Country(folder).csv()
        (folder / "answers.csv").write_text("answer\n" + "yes\nno\n" * 20)
        self.total = Total(unit="person", neighbours="bounded", rho=total * spent(self.release))
        self.key = new_key(folder / "ledger.key") if policy else None
        self.make_ledger()
        signer = {"DISCREET_LEDGER_KEY": str(folder / "ledger.key")} if policy else {}
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVER), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **signer, **({} if preload is None else {"LD_PRELOAD": str(preload)})},
        )
        self.number = 0

    def __call__(self, **task: Any) -> dict[str, Any]:
        """Run a task; check that its output is there if and only if its entry is."""
        before = len(read_ledger(self.ledger).entries)
        self.number += 1
        out = self.folder / f"out{self.number}"
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"out": out.name, "author": self.author, **task}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        entries = read_ledger(self.ledger).entries
        answer["there"] = out.exists()
        assert len(entries) == before + answer["there"]
        if answer["there"]:
            assert entries[-1].output == out.name
            assert {path.name for path in out.iterdir()} == set(entries[-1].files)
        assert check_ledger(self.ledger).sound
        return answer

    def anew(self) -> None:
        """Start with an empty ledger, so that it does not grow over hundreds of runs."""
        assert not self.debris
        for out in self.folder.glob("out*"):  # a run looks at the outputs beside it: as many operations each
            shutil.rmtree(out)
        self.ledger.unlink()
        self.make_ledger()

    def make_ledger(self) -> None:
        """Make the ledger; if there is a policy, which pins its key and its witness, these as well."""
        policy = self.folder / "discreet-policy.toml"
        policy.unlink(missing_ok=True)
        create_ledger(self.ledger, [self.total])
        if self.key is None or self.witness is None:
            return
        sign_ledger(self.ledger, self.key)
        self.witness.unlink(missing_ok=True)
        witness_ledger(self.ledger, self.witness)
        policy.write_text(
            'format = "discreet policy 1"\n[ledger]\nfile = "ledger.json"\nwitness = "witness.txt"\n'
            f'public_key = "{self.key.public}"\n[[largest_total]]\nunit = "person"\n'
            f'neighbours = "bounded"\nrho = "{self.total.rho}"\n'
        )

    @property
    def unseen(self) -> bool:
        """Whether the last entry has no line in the witness."""
        assert self.witness is not None
        return read_witness(self.witness).lacks(read_ledger(self.ledger))

    @property
    def debris(self) -> list[Path]:
        return list(self.folder.glob(".discreet*"))

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@pytest.fixture
def crashes(tmp_path: Path) -> Iterator[Crashes]:
    made = Crashes(tmp_path)
    yield made
    made.close()


def staged(ledger: Path) -> bool:
    """Whether a run is announced and not settled."""
    return Ledger.from_text(ledger.read_text(), where="ledger").pending


def test_killed_at_every_operation(crashes: Crashes, thorough: bool) -> None:
    operations = crashes(how="count", at=0)["operations"]
    assert operations > 20
    crashes.anew()
    seen = set()
    # from the announcement on there are few operations, so more of these are among the sample
    last = set(range(operations, operations - 9, -2))
    for at in sorted(last | set(range(1, operations + 1, 1 if thorough else 20))):
        answer = crashes(how="kill", at=at)
        assert answer["said"] is None
        seen.add((answer["there"], staged(crashes.ledger)))
        assert crashes(how="plain")["said"] == "done"
        assert not staged(crashes.ledger)
        crashes.anew()
    # Killed before, between announcement and output, between output and settlement, and after.
    assert seen == {(False, False), (False, True), (True, True), (True, False)}


@pytest.fixture
def bound(tmp_path: Path) -> Iterator[Crashes]:
    """Runs that a policy binds: a pinned key, a witness and a total."""
    made = Crashes(tmp_path, policy=True)
    yield made
    made.close()


def killed_with_a_policy(bound: Crashes, moments: Callable[[int], Iterable[int]]) -> set[tuple[bool, ...]]:
    """Kill runs at some operations; each time the next run does its work, and the witness has seen it all."""
    operations, seen = bound(how="count", at=0)["operations"], set()
    assert not bound.unseen
    bound.anew()
    for at in moments(operations):
        answer = bound(how="kill", at=at)  # also checks that the ledger does not contradict the witness
        assert answer["said"] is None
        seen.add((answer["there"], staged(bound.ledger), bound.unseen))
        assert bound(how="plain")["said"] == "done"
        assert not bound.unseen
        assert bound.witness is not None
        lines = read_witness(bound.witness).heads
        assert len(lines) == len(read_ledger(bound.ledger).entries) + 1  # one each, none twice
        bound.anew()
    return seen


def test_killed_at_the_last_operations_with_a_policy(bound: Crashes) -> None:
    seen = killed_with_a_policy(bound, lambda many: range(many - 7, many - 1, 2))
    # announced; appeared and not yet seen by the witness; seen and not yet settled
    assert {(False, True, False), (True, True, True), (True, True, False)} <= seen


@pytest.mark.slow
def test_killed_at_every_operation_with_a_policy(bound: Crashes) -> None:
    seen = killed_with_a_policy(bound, lambda many: range(1, many + 1))
    assert {(False, False, False), (False, True, False), (True, True, True), (True, True, False)} <= seen


@pytest.mark.slow
def test_a_full_disk_at_every_operation_with_a_policy(bound: Crashes) -> None:
    operations, refused = bound(how="count", at=0)["operations"], set()
    bound.anew()
    for at in range(1, operations + 1):
        answer = bound(how="full", at=at)
        if answer["said"] != "done":
            refused.add(answer["said"])
            assert not answer["there"]
        assert bound(how="plain")["said"] == "done"
        assert not bound.unseen
        bound.anew()
    assert any("the disk of the ledger" in said for said in refused)


@pytest.mark.slow
def test_killed_while_recovering_from_a_kill(crashes: Crashes) -> None:
    operations = crashes(how="count", at=0)["operations"]
    crashes.anew()

    def announced(at: int) -> bool:
        """Kill a run, with nothing left from before; say whether it was announced and has no output."""
        crashes(how="plain")
        crashes.anew()
        return not crashes(how="kill", at=at)["there"] and staged(crashes.ledger)

    at = next(at for at in range(operations, 0, -1) if announced(at))
    for again in range(1, 12):
        assert not crashes(how="kill", at=again)["there"]
        assert staged(crashes.ledger) or announced(at)
    crashes(how="plain")
    assert not staged(crashes.ledger)
    assert not crashes.debris


@pytest.mark.slow
def test_a_full_disk_at_every_operation(crashes: Crashes, thorough: bool) -> None:
    operations = crashes(how="count", at=0)["operations"]
    crashes.anew()
    refused = 0
    for at in range(1, operations + 1, 1 if thorough else 3):
        answer = crashes(how="full", at=at)
        if answer["said"] != "done":
            refused += 1
            whole = r"No space left on device\)?; nothing was written and nothing spent"
            assert re.search(f"{whole}|cannot be used: No space left", answer["said"])
            assert not answer["there"]
        assert not crashes.debris
        if staged(crashes.ledger):
            crashes(how="plain")
        crashes.anew()
    assert refused > 10
    assert crashes(how="plain")["said"] == "done"
    assert not staged(crashes.ledger)


def test_a_file_that_cannot_grow(crashes: Crashes) -> None:
    before = crashes.ledger.read_bytes()
    answer = crashes(how="limit", at=400)
    assert "File too large; nothing was written and nothing spent" in answer["said"]
    assert not crashes.debris
    assert crashes.ledger.read_bytes() == before


def large(folder: Path) -> None:
    """Enough units that a run takes a while to write."""
    country = Country(folder)
    rows = [row for row in country.rows if row["unit"] in "NB"]
    for row in rows:
        row["count"] = 0
    for number in range(8000):
        rows += [{**row, "unit": f"c{number}"} for row in rows[2:5]]
    country.rows = rows
    country.csv("large.csv")


def random_kills(crashes: Crashes, kills: int, seed: int) -> int:
    large(crashes.folder)
    start = time.perf_counter()
    assert crashes(how="plain", counts="large.csv")["said"] == "done"
    whole = time.perf_counter() - start  # on a busy machine a run takes longer
    chance = random.Random(seed)
    there = 0
    for number in range(kills):
        if number % 20 == 19:
            crashes(how="plain")
            crashes.anew()
        there += crashes(how="plain", counts="large.csv", after=chance.uniform(0.0, 1.2 * whole))["there"]
    assert crashes(how="plain")["said"] == "done"
    assert not crashes.debris
    return there


@pytest.mark.slow
def test_killed_at_random_moments(crashes: Crashes) -> None:
    random_kills(crashes, 10, seed=1)


@pytest.mark.slow
def test_killed_at_many_random_moments(crashes: Crashes) -> None:
    assert 0 < random_kills(crashes, 300, seed=2) < 300


def test_runs_at_the_same_time_share_a_total(tmp_path: Path) -> None:
    first = Crashes(tmp_path, total=2)
    others = [subprocess.Popen([sys.executable, str(DRIVER), str(tmp_path)], stdin=subprocess.PIPE,
              stdout=subprocess.PIPE, text=True) for _ in range(3)]  # fmt: skip
    processes = [first.process, *others]

    def ask(number: int) -> dict[str, Any]:
        answer, _ = processes[number].communicate(json.dumps({"how": "plain", "out": f"p{number}"}) + "\n")
        found: dict[str, Any] = json.loads(answer)
        return found

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert sum(answer["said"] == "done" for answer in answers) == 2
    assert sum("is left; nothing was measured" in answer["said"] for answer in answers) == 2
    assert len(list(tmp_path.glob("p?"))) == len(read_ledger(first.ledger).entries) == 2
    assert not first.debris
