"""Completion: what a shell offers, asked of the shells themselves."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from discreet.budget import ALIASES, load_preset, preset_names
from discreet.cli.commands import commands_of
from discreet.cli.completion import SCRIPTS, completed_commands
from discreet.measurement import write_example

SHELLS = ["bash", "zsh", "fish"]

# zsh has its completion system only at a terminal: what it would be told is printed
_ZSH = """
compdef() { :; }
_describe() { local name=${@[-1]}; print -l -- ${${(P)name}%%:*}; }
_files() { [[ $1 == -/ ]] && print -l -- *(N/) || print -l -- *(N); }
_message() { :; }
compadd() { local name=${@[-1]}; print -l -- ${(P)name}; }
"""


@cache
def script(shell: str) -> str:
    return SCRIPTS[shell](list(completed_commands()))


def offered(shell: str, line: str, folder: Path) -> set[str]:
    """Return what a shell offers at the end of a line."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = folder.parent / f"discreet.{shell}"
    file.write_text(script(shell), encoding="utf-8")
    words = [*shlex.split(line), *([""] if line.endswith(" ") else [])]
    if shell == "bash":
        code = (
            f"source {file}; COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}\n"
            'complete -p discreet >/dev/null && _discreet && printf "%s\\n" "${COMPREPLY[@]}"'
        )
        command = ["bash", "--norc", "-c", code]
    elif shell == "zsh":
        quoted = " ".join(map(shlex.quote, words))
        code = f"{_ZSH}\nsource {file}\nwords=({quoted})\nCURRENT={len(words)}\n_discreet"
        command = ["zsh", "-f", "-c", code]
    else:
        command = ["fish", "--no-config", "-c", f"source {file}; complete -C {shlex.quote(line)}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = {one.split("\t")[0].removesuffix("/") for one in done.stdout.splitlines() if one}
    last = words[-1]
    return {one for one in found if one.startswith(last)} if shell == "zsh" else found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "here"
    write_example(place)
    (place / "folder").mkdir()
    return place


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_offers_what_fits(shell: str, folder: Path) -> None:
    def at(line: str) -> set[str]:
        return offered(shell, line, folder)

    assert at("discreet ") == {one.name for one in commands_of()}
    assert at("discreet acc") == {"account", "accuracy"}
    assert {"single", "table", "records"} <= at("discreet risk ")
    assert at("discreet ledger w") == {"witness"}
    assert {"--delta", "--certify", "--neighbours", "--json", "--help"} <= at("discreet account dhc-2020 --")
    assert at("discreet account dhc-2020 --neigh") == {"--neighbours"}
    assert at("discreet account dhc-2020 --neighbours ") == {"bounded", "unbounded"}
    assert at("discreet risk table t.csv --l") == {"--law", "--level-column"}
    presets = {*preset_names(), *ALIASES}
    assert presets | {"release.toml"} <= at("discreet account ")
    assert at("discreet account pl94-2020-u") == {name for name in presets if name.startswith("pl94-2020-u")}
    assert "records.csv" in at("discreet measure release.toml --records ")
    assert at("discreet account dhc-2020 --delta ") - {"records.csv"} == set()
    assert at("discreet account dhc-2020 --export ") == {"folder"}


@pytest.mark.parametrize("shell", SHELLS)
def test_levels_are_those_of_the_release(shell: str, folder: Path) -> None:
    levels = {level.name for level in load_preset("pl94-2020").levels}
    assert offered(shell, "discreet plan pl94-2020 --keep ", folder) == levels
    assert offered(shell, "discreet plan pl94-2020 --keep Block", folder) == {"Block", "Block_Group"}
    assert offered(shell, "discreet plan release.toml --keep ", folder) == {"Nation", "Region", "District"}
    assert offered(shell, "discreet calibrate . --moe R", folder) == {"Region"}  # the release in a directory


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_has_every_command_and_option(shell: str) -> None:
    text = script(shell)
    for one in completed_commands():
        assert not one.words or f'"{one.words}"' in text
        for name, *_ in one.options:
            assert (name if shell != "fish" else f"-l {name[2:]}") in text


def test_the_command_prints_the_script(discreet) -> None:
    assert discreet("completion", "bash").out == script("bash")
    assert discreet("completion", "zsh", "--json").json == {"shell": "zsh", "script": script("zsh")}
    assert discreet("completion", "tcsh").status == 2


def test_a_name_with_a_space_is_offered_quoted(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "a.toml").write_text('name = "a"\n[[levels]]\nname = "Health region"\n')
    assert offered("bash", "discreet plan a.toml --keep ", here) == {"Health\\ region"}
