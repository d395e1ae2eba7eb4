"""Fragments are well-formed, and CHANGELOG.md holds what `make changelog` writes of them."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import discreet

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def assemble() -> ModuleType:
    found = importlib.util.spec_from_file_location("assemble", ROOT / "changelog.d" / "assemble.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    assert not doctest.testmod(module).failed
    return module


def test_the_changelog_is_what_the_fragments_give(assemble: ModuleType) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    fragments = assemble.fragments()
    if not any(fragments.values()):  # just after a release: nothing is to come yet
        assert f"## [{assemble.version()}]" not in changelog
        return
    new = assemble.section(fragments, assemble.version())
    assert assemble.written(changelog, new, assemble.version()) == changelog, "run `make changelog`"
    assert changelog.index(f"## [{assemble.version()}] - unreleased") < changelog.index("## [0.2.0]")


def test_the_next_version_follows_that_of_the_package(assemble: ModuleType) -> None:
    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.split(".")]

    assert numbers(assemble.version()) > numbers(discreet.__version__)


def test_a_section_has_at_most_25_lines(assemble: ModuleType) -> None:
    most = {"wrong": [(f"n{i}.wrong.md", "So.") for i in range(24)]}
    assert len(re.findall(r"^(?:-|###) ", assemble.section(most, "0.3.0"), re.MULTILINE)) == 25
    with pytest.raises(ValueError, match=r"26 lines for 0\.3\.0; at most 25"):
        assemble.section({"wrong": [*most["wrong"], ("more.wrong.md", "So.")]}, "0.3.0")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("Epsilon.wrong.md", "Right now.", "a fragment is called"),
        ("epsilon.fixed.md", "Right now.", "a fragment is called"),
        ("epsilon.md", "Right now.", "a fragment is called"),
        ("epsilon.wrong.md", "- Right now.", "one line of sentences"),
        ("epsilon.wrong.md", "Right now.\nAnd then.", "one line of sentences"),
        ("epsilon.wrong.md", "\n", "one line of sentences"),
        ("epsilon.wrong.md", "Right now", "ends with a full stop"),
        ("epsilon.wrong.md", "x" * 350 + ".", "351 characters; at most 350"),
    ],
)
def test_a_fragment_that_is_not_well_formed_is_refused(
    assemble: ModuleType, tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        assemble.fragments(tmp_path)


def test_a_section_is_replaced_or_put_on_top(assemble: ModuleType) -> None:
    old = "# Changelog\n\nHead.\n\n## [0.3.0] - unreleased\n\n- Old.\n\n## [0.2.0] - 2026-11-16\n\n- Older.\n"
    new = "## [0.3.0] - unreleased\n\n- New.\n"
    assert assemble.written(old, new, "0.3.0") == old.replace("- Old.", "- New.")
    first = old.replace("## [0.3.0] - unreleased\n\n- Old.\n\n", "")
    assert assemble.written(first, new, "0.3.0") == old.replace("- Old.", "- New.")
