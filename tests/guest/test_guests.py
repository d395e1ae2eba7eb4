"""Guests are known by registration alone: without one the rest works, and an office's own package is one."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from present import PRESENT
from without import copy_without, gone_with

import discreet
from discreet.cli.commands import all_commands
from discreet.errors import DiscreetError
from discreet.guests import FILE, OWN, Guest, guests, read_guest

SOURCE = Path(discreet.__file__).parent
FOLDERS = [name for name in OWN if name in PRESENT and "." not in name]
CORE = sorted(name for name, one in all_commands().items() if one.runs.startswith("discreet.cli."))


def printed(path: Path, *arguments: str, status: int = 0) -> str:
    """What the program prints in a process of its own, with a folder before all others."""
    environment = os.environ | {"PYTHONPATH": str(path), "COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "discreet.cli", *arguments]
    done = subprocess.run(command, cwd=path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def options_in(text: str) -> set[str]:
    return set(re.findall(r"--[a-z-]+", text))


def commands_in(text: str) -> set[str]:
    return set(re.findall(r"^│ ([a-z][a-z-]*) ", text, re.MULTILINE))


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(SOURCE, folder / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def hide(copied: Path, guest: str) -> None:
    (copied / "discreet" / guest).rename(copied / guest)


def show(copied: Path, guest: str) -> None:
    (copied / guest).rename(copied / "discreet" / guest)


def test_without_its_folder_a_guest_is_gone_and_the_rest_is_there(copied: Path) -> None:
    every = commands_in(printed(copied, "--help"))
    for name in FOLDERS:
        hide(copied, name)
        gone = {
            command.name for guest in guests() if guest.name in gone_with(name) for command in guest.commands
        }
        assert commands_in(printed(copied, "--help")) == every - gone
        if "risk audit" in gone:
            assert "audit" not in commands_in(printed(copied, "risk", "--help"))
        show(copied, name)


@pytest.mark.skipif(not PRESENT.issuperset({"audit.tabulations", "studies.tabulations"}), reason="gone")
def test_what_joins_two_guests_goes_with_either(copied: Path) -> None:
    assert {"--counts", "--data", "--totals"} <= options_in(printed(copied, "risk", "audit", "--help"))
    assert "safetab-margins" in printed(copied, "reproduce", "--list")
    hide(copied, "census")
    audit = printed(copied, "risk", "audit", "--help")
    assert "--counts" in options_in(audit)
    assert "safetab" not in audit.replace("of safetab run", "")  # the defaults of options
    assert not {"--data", "--totals"} & options_in(audit)
    assert "Usage: discreet risk audit [RELEASE] --counts FILE [--neighbour FILE]" in audit
    assert "--counts" in printed(copied, "risk", "audit", "release.toml", status=2)
    assert "safetab" not in printed(copied, "reproduce", "--list")
    assert "there is no study" in printed(copied, "reproduce", "safetab-margins", status=2)
    show(copied, "census")


def test_without_all_guests_a_release_is_accounted_for_and_made(copied: Path) -> None:
    for name in FOLDERS:
        hide(copied, name)
    try:
        assert commands_in(printed(copied, "--help")) == {name for name in CORE if " " not in name}
        assert "epsilon" in printed(copied, "account", "pl94-2020-units", "--delta", "1e-5")
        printed(copied, "example", "survey")
        files = ["--records", "survey/records.csv", "--units", "survey/units.csv"]
        printed(copied, "measure", "survey", *files, "--out", "noisy", "--rehearsal", "1")
        assert "complete -F" in printed(copied, "completion", "bash")
        assert "Unknown command" in printed(copied, "safetab", status=2)
    finally:
        for name in FOLDERS:
            show(copied, name)


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
    assert re.search("─ Others ─+╮\n│ years +For how many years", printed(tmp_path, "--help"))
    assert "years" in commands_in(printed(tmp_path, "risk", "--help"))
    assert "did you mean" in printed(tmp_path, "year", status=2).lower()


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (
            "[commands]\nyears.help = 'x'\n",
            "the command 'years' needs help and runs, may have group and prints",
        ),
        (
            "[command]\n",
            "guest.toml has an unknown section 'command'; it may have needs, commands, answers, offers",
        ),
        ("[commands\n", "guest.toml cannot be read"),
        ('needs = "census"\n', "its needs must be a list of the names of guests"),
        ("[offers]\nstudies = [1]\n", "each of its offers must be a list of module:name"),
        ("[commands]\naccount.help = 'x'\naccount.runs = 'y:app'\n", "both bring the command 'account'"),
    ],
)
def test_a_guest_that_cannot_be_used_is_named(tmp_path: Path, toml: str, message: str) -> None:
    said = printed(office(tmp_path, toml), "--help", status=2)
    assert "'office'" in said
    assert message in said


def test_a_guest_whose_need_is_not_there_is_not_there_either(tmp_path: Path) -> None:
    said = '[commands]\nyears.help = "For how many years."\nyears.runs = "office_part.command:app"\n'
    office(tmp_path, f'needs = ["no-such-guest"]\n{said}')
    assert "years" not in commands_in(printed(tmp_path, "--help"))


@pytest.mark.skipif("studies" not in PRESENT, reason="nobody asks")
def test_what_is_offered_must_be_of_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    office(tmp_path, '[offers]\nstudies = ["fractions:Fraction"]\n')
    said = printed(tmp_path, "reproduce", "--list", status=2)
    assert "'office'" in said
    assert "fractions:Fraction, which it offers as 'studies', is no module" in said


def test_every_guest_of_the_package_is_listed() -> None:
    found = {path.parent.relative_to(SOURCE).as_posix().replace("/", ".") for path in SOURCE.rglob(FILE)}
    assert found <= set(OWN)
    assert found == PRESENT.intersection(OWN)


def imported_guests(path: Path) -> set[str]:
    """The guests whose modules a module imports, at its top or anywhere else; the innermost one of each."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {guest for name in names if (guest := guest_of(name.removeprefix("discreet.")))}


def guest_of(module: str) -> str:
    """The innermost guest with this module, by its name in the package; none for the core."""
    return max((name for name in OWN if f"{module}.".startswith(f"{name}.")), key=len, default="")


@pytest.mark.parametrize("guest", guests(), ids=lambda guest: guest.name)
def test_a_guest_imports_only_guests_that_it_needs(guest: Guest) -> None:
    if guest.name not in OWN:
        pytest.skip("an office's own")
    folder = SOURCE.joinpath(*guest.name.split("."))
    imported: set[str] = set()
    for path in folder.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        if guest_of(module) == guest.name:
            imported |= imported_guests(path)
    assert imported - {guest.name} == set(guest.needs)


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


IMPORTS = """
import importlib, pkgutil, discreet
for module in pkgutil.walk_packages(discreet.__path__, "discreet."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
SAMPLE = (
    *("tests/cli/test_cli_options.py", "tests/cli/test_cli_completion.py", "tests/cli/test_cli_json.py"),
    *("tests/answers/test_faces.py", "tests/test_architecture.py", "tests/test_public_names.py"),
    *("tests/accounting/test_one_area.py", "tests/ledger/test_release_run.py", "src/discreet/guests.py"),
)
"""Tests of what looks at all commands, results or modules, and some of the kernel and the core."""


@pytest.fixture(scope="module")
def types_known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")  # of what is the same in every copy


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FOLDERS, "all"])
def test_the_rest_of_the_repository_is_whole_without_a_guest(
    name: str, types_known: Path, tmp_path: Path
) -> None:
    """By hand, all tests: `python tests/guest/without.py NAME FOLDER`, and `pytest` in the folder."""
    copied = copy_without(OWN if name == "all" else gone_with(name), tmp_path / "copy")
    environment = os.environ | {"PYTHONPATH": str(copied / "src")}

    def passes(*arguments: str) -> None:
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=copied, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]

    passes("-W", "error", "-c", IMPORTS)
    passes("-m", "mypy", "--cache-dir", str(types_known), "src")
    passes("-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only")
    passes("-m", "pytest", "-q", "-p", "no:cacheprovider", *SAMPLE)
