"""Releases by name and from files, and what is said when there is none."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from discreet.budget import Release, load, load_file, load_preset, preset_names
from discreet.errors import InputError

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "release-toml.md"


def test_a_file_by_text_or_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(load("dhc-2020").to_toml(), encoding="utf-8")
    assert load(file) == load(str(file)) == load_file(file) == load("dhc-2020")


def test_a_file_without_suffix_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").write_text(load("sdhc-2020").to_toml(), encoding="utf-8")
    assert load("mine").name == "sdhc-2020"


def test_a_flaw_in_a_file_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "a"\nneighbours = "none"\nlevels = []\n', encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(f"(line 2 of {file})")):
        load(file)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "dhc-2020-person",
            'neither a preset nor a file; did you mean "dhc-2020-persons"? `discreet presets` lists',
        ),
        ("xyzzy", "'xyzzy' is neither a preset nor a file; `discreet presets` lists all names"),
        ("no/such/file", "there is no file no/such/file"),
        ("nothing.toml", "there is no file nothing.toml"),
        ("", "'' is neither a preset nor a file; `discreet presets`"),
        ("a\0b.toml", "there is no file 'a\\x00b.toml'"),
        ("a\nb.toml", "there is no file 'a\\nb.toml'"),
        ("a" * 5000 + ".toml", "cannot be read: File name too long"),
    ],
)
def test_unknown_names(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_presets() -> None:
    with pytest.raises(InputError, match="there is no preset 'dhc-2O20'; did you mean \"dhc-2020\""):
        load_preset("dhc-2O20")


def test_directories(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory; the path of a TOML file, or of a directory with"):
        load(tmp_path)


def test_special_files() -> None:
    if not os.path.exists("/dev/null"):
        pytest.skip("needs /dev/null: run on Linux or macOS")
    with pytest.raises(InputError, match="is not a regular file"):
        load("/dev/null")


def test_files_that_are_too_large(tmp_path: Path) -> None:
    file = tmp_path / "large.toml"
    file.write_bytes(b"#" * 10_000_001)
    with pytest.raises(InputError, match="is larger than 10 MB"):
        load(file)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file: run as another user"
)
def test_files_that_may_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "secret.toml"
    file.write_text("", encoding="utf-8")
    file.chmod(0)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        load(file)


def test_presets_are_read_once() -> None:
    assert all(load(name) is load(name) for name in preset_names())


def test_the_examples_of_the_reference_are_releases() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        Release.from_toml(block, where=DOCS.name)


def test_the_reference_names_every_key() -> None:
    from discreet.budget import release_toml as toml

    text = DOCS.read_text(encoding="utf-8")
    for key in {*toml.RELEASE_KEYS, *toml.LEVEL_KEYS, *toml.QUERY_KEYS, *toml.SPINE_KEYS}:
        assert f"`{key}`" in text, key
