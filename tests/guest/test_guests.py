"""Guests are known by registration alone: without one the rest works, and an office's own package is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from discreet.cli.commands import all_commands
from discreet.errors import DiscreetError
from discreet.guests import OWN, guests, read_guest

SOURCE = Path(discreet.__file__).parent
CORE = sorted(name for name, one in all_commands().items() if one.runs.startswith("discreet.cli."))


def printed(path: Path, *arguments: str, status: int = 0) -> str:
    """What the program prints in a process of its own, with a folder before all others."""
    environment = os.environ | {"PYTHONPATH": str(path), "COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "discreet.cli", *arguments]
    done = subprocess.run(command, cwd=path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def commands_in(text: str) -> set[str]:
    return set(re.findall(r"^│ ([a-z][a-z-]*) ", text, re.MULTILINE))


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(SOURCE, folder / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_without_its_folder_a_guest_is_gone_and_the_rest_is_there(copied: Path) -> None:
    every = commands_in(printed(copied, "--help"))
    for guest in guests():
        if guest.name not in OWN:
            continue
        hidden = (copied / "discreet" / guest.name).rename(copied / guest.name)
        gone = {command.name for command in guest.commands}
        assert commands_in(printed(copied, "--help")) == every - gone
        if "risk audit" in gone:
            assert "audit" not in commands_in(printed(copied, "risk", "--help"))
        hidden.rename(copied / "discreet" / guest.name)


def test_without_all_guests_a_release_is_accounted_for_and_made(copied: Path) -> None:
    for name in OWN:
        (copied / "discreet" / name).rename(copied / name)
    try:
        assert commands_in(printed(copied, "--help")) == {name for name in CORE if " " not in name}
        assert "epsilon" in printed(copied, "account", "pl94-2020-units", "--delta", "1e-5")
        printed(copied, "example", "survey")
        files = ["--records", "survey/records.csv", "--units", "survey/units.csv"]
        printed(copied, "measure", "survey", *files, "--out", "noisy", "--rehearsal", "1")
        assert "complete -F" in printed(copied, "completion", "bash")
        assert "Unknown command" in printed(copied, "safetab", status=2)
    finally:
        for name in OWN:
            (copied / name).rename(copied / "discreet" / name)


def office(folder: Path, toml: str, points: str = "[discreet.guests]\noffice = office_part\n") -> Path:
    """Install a guest of an office; docs/howto/own-part.md has a whole one, and test_docs.py runs it."""
    (folder / "office_part").mkdir()
    (folder / "office_part" / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "office_part" / "guest.toml").write_text(toml)
    info = folder / "office_part-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: office-part\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    return folder


def test_a_guest_is_listed_without_being_imported(tmp_path: Path) -> None:
    said = 'years.help = "For how many years."\nyears.runs = "office_part.command:app"\n'
    office(tmp_path, f'[commands]\n{said}"risk years".help = "Risk by year."\n"risk years".runs = "x:app"\n')
    assert "│ years          For how many years." in printed(tmp_path, "--help")
    assert "years" in commands_in(printed(tmp_path, "risk", "--help"))
    assert "did you mean" in printed(tmp_path, "year", status=2).lower()


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[commands]\nyears.help = 'x'\n", "the command 'years' needs a help and what it runs"),
        ("[command]\n", "guest.toml has an unknown section 'command'; it may have commands, answers"),
        ("[commands\n", "guest.toml cannot be read"),
        ("[commands]\naccount.help = 'x'\naccount.runs = 'y:app'\n", "both bring the command 'account'"),
    ],
)
def test_a_guest_that_cannot_be_used_is_named(tmp_path: Path, toml: str, message: str) -> None:
    said = printed(office(tmp_path, toml), "--help", status=2)
    assert "'office'" in said
    assert message in said


def test_an_entry_point_must_name_a_package_with_its_file(tmp_path: Path) -> None:
    office(tmp_path, "", "[discreet.guests]\noffice = no_such_package\n")
    said = printed(tmp_path, "--help", status=2)
    assert "its entry point names 'no_such_package', which is no package with a guest.toml" in said


def test_a_preset_may_not_take_the_place_of_another(tmp_path: Path) -> None:
    office(tmp_path, "", "[discreet.presets]\ndhc-2020 = office_part:release\n")
    said = printed(tmp_path, "show", "visits", status=2)
    assert "office_part:release brings the preset 'dhc-2020', which exists already" in said
    assert "DHC" in printed(tmp_path, "show", "dhc-2020")  # those of the package are looked at first


def test_a_table_that_is_not_there_is_refused() -> None:
    with pytest.raises(DiscreetError, match=r"guest .a. cannot be used: guest\.toml cannot be read"):
        read_guest("a", Path("no-such-folder") / "guest.toml")
