"""Output and ledger entry both there or both not, whatever a system call does.

Every call of a run that changes or locks files is a place for a fault: a kill, a polite end, or an error,
before the call is done or after it. `make test` takes a sample, `make torture` all of them.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from release_country import TOML, Country
from test_release_kill import Crashes, staged

from discreet.budget import Release
from discreet.errors import InputError
from discreet.ledger import check_ledger, create_ledger, read_ledger
from discreet.measurement import measure

FAULTS: dict[str, dict[str, Any]] = {
    "killed before": {"signal": signal.SIGKILL},
    "killed after": {"signal": signal.SIGKILL, "after_it": 1},
    "ended before": {"signal": signal.SIGTERM},
    "ended after": {"signal": signal.SIGTERM, "after_it": 1},
    "error before": {"errno": errno.EIO},
    "error after": {"errno": errno.EIO, "after_it": 1},
    "disk full": {"errno": errno.ENOSPC, "sticky": 1},
    "disk full once": {"errno": errno.ENOSPC},
    "disk full after": {"errno": errno.ENOSPC, "after_it": 1},
    "read only": {"errno": errno.EROFS, "sticky": 1},
    "no locks": {"errno": errno.ENOLCK},
    "no locks after": {"errno": errno.ENOLCK, "after_it": 1},
}
SAMPLE = ("killed after", "ended after", "error after", "disk full", "no locks")


@pytest.fixture
def crashes(tmp_path: Path, faults: Path) -> Iterator[Crashes]:
    made = Crashes(tmp_path, preload=faults)
    yield made
    made.close()


@pytest.fixture
def bound(tmp_path: Path, faults: Path) -> Iterator[Crashes]:
    """Runs that a policy binds: a pinned key, a witness and a total."""
    made = Crashes(tmp_path, preload=faults, policy=True)
    yield made
    made.close()


@pytest.fixture
def office(tmp_path: Path, faults: Path) -> Iterator[Crashes]:
    """Runs of a mechanism of an office's own."""
    made = Crashes(tmp_path, preload=faults, author="office")
    yield made
    made.close()


def calls(crashes: Crashes) -> list[str]:
    """The calls of one run, in order."""
    found: list[str] = crashes(how="fault", at=0)["calls"]
    crashes.anew()
    assert {"open", "write", "fsync", "rename", "mkdir", "chmod", "flock"} <= set(found)
    return found


def strike(crashes: Crashes, name: str, at: int, call: str) -> None:
    """One run with a fault; then a plain one, which must find everything in order."""
    if name.startswith("no locks") and call != "flock":
        return
    answer = crashes(how="fault", at=at, **FAULTS[name])  # compares output and entry
    if answer["said"] is not None and not answer["there"]:
        assert (
            answer["said"] == "terminated" or "nothing" in answer["said"] or "cannot be" in answer["said"]
        ), answer
    if answer["there"] and answer["said"] is not None:
        assert "nothing spent" not in answer["said"], (name, at, call, answer)
    if answer["said"] == "done":
        assert answer["there"], (name, at, call)
    before = len(read_ledger(crashes.ledger).entries)
    again = crashes(how="plain")
    assert again["said"] == "done", (name, at, call, again)
    assert len(read_ledger(crashes.ledger).entries) == before + 1
    assert not staged(crashes.ledger)
    assert not crashes.debris, (name, at, call)
    crashes.anew()


@pytest.mark.parametrize(
    "name", [SAMPLE[0], *(pytest.param(name, marks=pytest.mark.slow) for name in SAMPLE[1:])]
)
def test_a_sample(crashes: Crashes, name: str, thorough: bool) -> None:
    listed = calls(crashes)
    places = [at for at, call in enumerate(listed, start=1) if call in ("rename", "flock", "mkdir")]
    places = places[:: 1 if thorough else 3]
    for at in sorted({*places, *range(SAMPLE.index(name) + 1, len(listed) + 1, 40)}):
        strike(crashes, name, at, listed[at - 1])


@pytest.mark.torture
@pytest.mark.parametrize("name", FAULTS)
def test_every_call(crashes: Crashes, name: str) -> None:
    for at, call in enumerate(calls(crashes), start=1):
        strike(crashes, name, at, call)


@pytest.mark.torture
@pytest.mark.parametrize("name", FAULTS)
def test_every_call_with_a_policy(bound: Crashes, name: str) -> None:
    for at, call in enumerate(calls(bound), start=1):
        strike(bound, name, at, call)


@pytest.mark.torture
@pytest.mark.parametrize("name", FAULTS)
def test_every_call_of_an_offices_own_mechanism(office: Crashes, name: str) -> None:
    for at, call in enumerate(calls(office), start=1):
        strike(office, name, at, call)


@pytest.mark.torture
@pytest.mark.parametrize(
    "second", ["killed before", "killed after", "error before", "error after", "disk full"]
)
def test_a_second_fault_while_recovering_from_a_first(crashes: Crashes, second: str) -> None:
    listed = calls(crashes)
    # the ledger is announced, and the output has not appeared: the last rename but one
    announced = [at for at, call in enumerate(listed, start=1) if call == "rename"][-2]
    for at in range(1, 40):
        crashes(how="fault", at=announced, **FAULTS["killed before"])
        assert staged(crashes.ledger)
        crashes(how="fault", at=at, **FAULTS[second])
        crashes(how="plain")
        assert not staged(crashes.ledger)
        assert not crashes.debris
        crashes.anew()


def test_a_rename_that_is_done_and_reports_an_error(crashes: Crashes) -> None:
    listed = calls(crashes)
    renames = [at for at, call in enumerate(listed, start=1) if call == "rename"]
    appears = renames[-2]  # announced, appears, settled
    answer = crashes(how="fault", at=appears, **FAULTS["error after"])
    assert answer["there"]
    assert answer["said"] == "done"
    assert len(read_ledger(crashes.ledger).entries) == 1


def test_a_clock_that_goes_backwards(crashes: Crashes) -> None:
    for clock in ("2031-01-01T00:00:00+00:00", "2030-01-01T00:00:00+00:00"):
        assert crashes(how="plain", clock=clock)["said"] == "done"
    check = check_ledger(crashes.ledger)
    assert check.sound
    assert "a clock was set back" in str(check)
    assert len(read_ledger(crashes.ledger).entries) == 2


# -- file systems
# ----------------------------------------------------------------------------------------------


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """A small file system of its own, if we may make one."""
    made: list[Path] = []

    def mount(size: str) -> Path:
        place = tmp_path / f"disk{len(made)}"
        place.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", place], capture_output=True
        )
        if done.returncode:
            pytest.skip("needs a small disk: run as root where mounting is allowed")
        made.append(place)
        return place

    yield mount
    for place in made:
        subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk(mounted: Callable[..., Path]) -> None:
    """No byte is left, from the start: a run says so, and goes on once there is room."""
    disk = mounted("1m")
    crashes = Crashes(disk)
    try:
        ballast, before = disk / "ballast", crashes.ledger.read_bytes()
        with suppress(OSError), ballast.open("wb") as stream:
            while True:
                os.write(stream.fileno(), bytes(512))
        answer = crashes(how="plain")
        assert "No space left" in answer["said"]
        assert not answer["there"]
        assert crashes.ledger.read_bytes() == before
        ballast.unlink()
        assert crashes(how="plain")["said"] == "done"
        assert not crashes.debris
    finally:
        crashes.close()


def test_a_full_disk_of_the_ledger_is_named(mounted: Callable[..., Path], tmp_path: Path) -> None:
    """There is room for the output, and none for the entry."""
    disk, release = mounted("1m"), Release.from_toml(TOML)
    ledger, out = disk / "ledger.json", tmp_path / "out"
    create_ledger(ledger)
    counts, before, ballast = Country(tmp_path).csv(), ledger.read_bytes(), disk / "ballast"
    with suppress(OSError), ballast.open("wb") as stream:
        while True:
            os.write(stream.fileno(), bytes(512))
    with pytest.raises(InputError, match=f"the disk of the ledger {ledger} is full.*nothing spent"):
        measure(release, counts, out, ledger=ledger)
    assert ledger.read_bytes() == before
    assert not out.exists()
    assert not [path for folder in (disk, tmp_path) for path in folder.glob(".discreet*")]
    ballast.unlink()
    measure(release, counts, out, ledger=ledger)
    assert len(read_ledger(ledger).entries) == 1


@pytest.mark.parametrize("fixed", ["the output's folder", "the ledger's folder"])
def test_a_read_only_directory(mounted: Callable[..., Path], tmp_path: Path, fixed: str) -> None:
    disk, release = mounted("1m"), Release.from_toml(TOML)
    beside, own = (disk, tmp_path) if fixed == "the ledger's folder" else (tmp_path, disk)
    ledger, out = beside / "ledger.json", own / "out"
    create_ledger(ledger)
    counts, before = Country(tmp_path).csv(), ledger.read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(InputError, match=r"Read-only|not writable|cannot be"):
        measure(release, counts, out, ledger=ledger)
    assert ledger.read_bytes() == before
    assert not out.exists()
    assert not [path for folder in (disk, tmp_path) for path in folder.glob(".discreet*")]
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    measure(release, counts, out, ledger=ledger)
    assert len(read_ledger(ledger).entries) == 1


@pytest.mark.torture
def test_small_disks(mounted: Callable[..., Path]) -> None:
    done = 0
    for kilobytes in range(36, 90, 4):
        disk = mounted(f"{kilobytes}k")
        try:
            crashes = Crashes(disk)
        except OSError:
            continue
        try:
            answer = crashes(how="plain")  # compares output and entry
            done += answer["there"]
            assert answer["said"] == "done" or "No space left" in answer["said"]
        finally:
            crashes.close()
    assert done


@pytest.mark.torture
def test_a_read_only_disk(mounted: Callable[..., Path]) -> None:
    disk = mounted("4m")
    crashes = Crashes(disk)
    try:
        assert crashes(how="plain")["said"] == "done"
        before = crashes.ledger.read_bytes()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        answer = crashes(how="plain")
        assert "Read-only" in answer["said"] or "not writable" in answer["said"]
        assert crashes.ledger.read_bytes() == before
        assert not answer["there"]
    finally:
        crashes.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere: run as another user")
def test_a_read_only_folder(crashes: Crashes) -> None:
    crashes.folder.chmod(0o500)
    try:
        answer = crashes(how="plain")
    finally:
        crashes.folder.chmod(0o700)
    assert "not writable" in answer["said"] or "Permission denied" in answer["said"]
    assert not read_ledger(crashes.ledger).entries
