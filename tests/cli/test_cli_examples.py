"""Where to begin: the program without arguments, and helps that end with what runs as it stands."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from present import IS_WHOLE, PRESENT
from printed_samples import example_of

from discreet.cli import BEGIN, build_app
from discreet.cli.completion import completed_commands

ROOT = Path(__file__).parents[2]
SLOW = {
    "check-tables",
    "account",
    "risk audit",
    "risk categories",
    "plan",
    "report",
    "safetab",
    "safetab design",
    "safetab run",
    "safetab report",
    "safetab coterminous",
    "safetab post",
    "safetab account",
    "safetab validate",
    "safetab synth",
    "synth",
    "verify",
    "risk explain",
    "accuracy",
    "compare",
    "completion",
    "estimate",
    "explain",
    "risk records",
}
"""Commands whose example takes more than a quarter of a second."""

COMMANDS = [one.words for one in completed_commands()]
EXAMPLES = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
    for name in COMMANDS
    if name != "workbench"
]


@pytest.mark.parametrize("name", EXAMPLES, ids=lambda name: name or "discreet")
def test_the_last_example_of_a_help_runs_as_it_stands(name, discreet, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = example_of(name)
    assert lines[-1].startswith(f"discreet {name}".strip())
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])
        assert words[0] == "discreet"
        result = discreet(*words[1:])
        assert result.status == 0, f"{line}: {result.err}"
        assert result.out


@pytest.mark.slow
@pytest.mark.skipif("workbench" not in PRESENT, reason="there is no workbench")
def test_the_example_of_the_workbench_serves(tmp_path: Path) -> None:
    """In a process of its own, with a browser that does nothing and a port of the test's."""
    pytest.importorskip("nicegui", reason="the workbench is not installed")
    (line,) = example_of("workbench")
    port = str(20000 + os.getpid() % 20000)
    words = [sys.executable, "-m", *shlex.split(line), "--port", port, "--json"]
    environment = {**os.environ, "BROWSER": "true"}
    environment.pop("PYTEST_CURRENT_TEST", None)  # by which NiceGUI takes itself to be tested
    said = ""
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for shown in process.stdout:
                said += shown
                if shown == "}\n":
                    break
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
    assert f'"url": "http://127.0.0.1:{port}/' in said


def test_without_arguments_ten_lines_say_where_to_begin(discreet, tmp_path, monkeypatch) -> None:
    result = discreet()
    assert (result.status, result.out, result.err) == (0, BEGIN, "")
    lines = BEGIN.splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 80
    named = re.findall(r"^  discreet (\S+)", BEGIN, re.MULTILINE)
    assert len(named) == 5
    assert set(named) <= set(COMMANDS) or not IS_WHOLE
    assert "dhc-2020" in discreet("presets").out
    monkeypatch.chdir(tmp_path)
    commands = [re.split(r"\s{2,}", line.strip())[0] for line in lines if line.startswith("  discreet")]
    for command in commands:
        if command.split()[1] not in COMMANDS:
            continue  # of a guest that is not there
        # the account takes seconds, the workbench serves: their options are read, and no more
        asked = shlex.split(command)[1:]
        more = ["--help"] if asked[0] in ("account", "workbench") else []
        assert discreet(*asked, *more).status == 0, command


def test_an_example_is_not_written_over(refused, discreet, tmp_path) -> None:
    assert discreet("example", tmp_path / "survey").status == 0
    assert "exists; nothing is overwritten" in refused("example", tmp_path / "survey")
    (tmp_path / "file").touch()
    assert "is a file; the name of a directory is needed" in refused("example", tmp_path / "file")
    assert 'Choose from: "health-survey"' in refused("example", tmp_path / "other", "--name", "census")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("name", COMMANDS, ids=lambda name: name or "discreet")
def test_examples_fit_into_eighty_columns(name: str) -> None:
    """So that they can be pasted from any terminal: a line that is wrapped is two commands."""
    program = build_app()
    for word in name.split():
        program = program[word]
    for line in str(program.help_epilogue).splitlines():
        assert len(line) <= 80 or not line.startswith("  discreet"), line
