"""The lock files: complete, hashed, and free of addresses and paths; licences and SBOM cover them."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "requirements"))

import dependencies  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


SETS = [("run", ()), ("test", ("test",)), ("workbench", ("workbench",)), ("docs", ("docs",))]
"""Lock files, and the extras that they lock."""


def needed(extras: tuple[str, ...]) -> list[Requirement]:
    """The direct requirements of the package with some extras, extras of extras included."""
    texts, waiting = list(PROJECT["dependencies"]), list(extras)
    while waiting:
        for text in PROJECT["optional-dependencies"][waiting.pop()]:
            one = Requirement(text)
            if one.name == PROJECT["name"]:
                waiting += one.extras
            else:
                texts.append(text)
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize(("name", "extras"), SETS)
def test_every_requirement_is_locked_at_a_version_that_is_allowed(name: str, extras: tuple[str, ...]) -> None:
    locked = {canonicalize_name(one.name): one for one in dependencies.locked(name)}
    for one in needed(extras):
        found = locked.get(canonicalize_name(one.name))
        assert found is not None, f"{one.name} is not in {name}.txt: make lock"
        assert one.specifier.contains(found.version), f"{one} is locked at {found.version}: make lock"


@pytest.mark.parametrize("name", [name for name, _ in SETS])
def test_names_versions_and_hashes_only(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    head, *lines = text.splitlines()
    assert head.startswith("# ")
    package = r"[A-Za-z0-9._-]+==[0-9A-Za-z.+!]+( ; [a-z_A-Z0-9 '.!=<>()]+)? \\"
    digest = r"    --hash=sha256:[0-9a-f]{64}( \\)?"
    for line in lines:
        assert re.fullmatch(f"{package}|{digest}", line), line
    assert all(one.hashes for one in dependencies.locked(name))


def test_what_runs_is_tested() -> None:
    sets = ("run", "workbench", "test")
    run, workbench, test = ({one.name: one.version for one in dependencies.locked(name)} for name in sets)
    assert run.items() <= workbench.items() <= test.items()


def test_licences_are_listed() -> None:
    page = dict(dependencies.listed(dependencies.PAGE.read_text(encoding="utf-8")))
    assert set(page) == {one.name for one in dependencies.locked("test")}, "make licences"
    assert "not stated" not in page.values()


def test_the_sbom_names_every_package() -> None:
    made = json.loads(json.dumps(dependencies.sbom("test")))
    assert made["bomFormat"] == "CycloneDX"
    assert len(made["components"]) == len(dependencies.locked("test"))
    assert all(
        re.fullmatch(r"pkg:pypi/[a-z0-9.-]+@[0-9A-Za-z.+!]+", one["purl"]) for one in made["components"]
    )


def test_majors_that_could_break_are_bounded() -> None:
    for one in needed(("release", "workbench")):
        if one.name not in (
            "cryptography",
            "pyarrow",
        ):  # new majors several times a year, which break nothing here
            assert any(part.operator == "<" for part in one.specifier), f"{one} has no upper bound"
        assert any(part.operator == ">=" for part in one.specifier), f"{one} has no lower bound"
