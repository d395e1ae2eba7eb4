"""A release from standard input: `-` wherever a release is named."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.budget.text_files import LARGEST_FILE

Pipe = Callable[[bytes], None]


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Pipe:
    """Put bytes on standard input."""

    def put(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    return put


@pytest.mark.parametrize(
    "arguments",
    [
        ["account", "-", "--delta", "1e-10"],
        ["show", "-"],
        ["show", "-", "--toml"],
        ["compare", "-", "SMALL", "--delta", "1e-5"],
        ["calibrate", "-", "--moe", "State=9,County=9", "--delta", "1e-10"],
        ["accuracy", "-", "--tree", "3"],
        ["risk", "release", "-", "--main-only", "--prior", "1/2"],
        ["verify", "-", "--epsilon", "12", "--delta", "1e-10"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_release_from_standard_input_is_the_same(discreet, small, pipe, arguments):
    words = [str(small) if word == "SMALL" else word for word in arguments]
    pipe(small.read_bytes())
    piped = discreet(*words, *(["--quiet"] if words[0] not in ("show",) else []))
    assert piped.status == 0, piped.err
    named = discreet(
        *(small if word == "-" else word for word in words), *(["--quiet"] if words[0] != "show" else [])
    )
    assert piped.out == named.out


def test_errors_name_standard_input(refused, small, pipe):
    pipe(small.read_bytes().replace(b'"1/2"', b'"-1/2"', 1))
    assert "rho of level 'State' is -1/2; it must be above zero (line 9 of standard input)" in refused(
        "account", "-"
    )
    pipe(b"name = ")
    assert "not valid TOML: Invalid value (line 1, the end of standard input)" in refused("show", "-")
    pipe(b"name = '\xff'")
    assert "not UTF-8: byte 0xff (line 1 of standard input)" in refused("show", "-")
    pipe(b"#" * (LARGEST_FILE + 1))
    assert "standard input is larger than 10 MB, the largest file that is read" in refused("account", "-")


def test_nothing_on_standard_input(refused, small, pipe, monkeypatch):
    pipe(b"")
    line = refused("account", "-")
    assert "standard input (-) is empty; a TOML file is needed, and one input at most comes that way" in line
    pipe(small.read_bytes())
    assert "one input at most comes that way" in refused("compare", "-", "-")  # read once

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    line = refused("account", "-")
    assert "there is nothing on standard input (-); pipe a TOML file into it, or name a file" in line


def test_a_pipe_of_the_shell_is_a_release(small: Path) -> None:
    """In a process of its own, from a pipe and from a file."""
    words = [sys.executable, "-m", "discreet", "show", "-"]
    printed = set()
    for piped in (True, False):
        with small.open() as stream:
            done = subprocess.run(
                words,
                **({"input": small.read_text()} if piped else {"stdin": stream}),
                capture_output=True,
                text=True,
                env=os.environ,
            )
        assert done.returncode == 0, done.stderr
        printed.add(done.stdout)
    assert len(printed) == 1
