"""Fixtures of tests of commands: run one in this process, and what it printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import run

SMALL = """\
name = "small"
title = "Two levels"
neighbours = "bounded"
rho = "3/4"
notes = ["An upper bound: for the test."]

[[levels]]
name = "State"
rho = "1/2"
[levels.queries]
"total" = "1/5"
"age by sex" = "4/5"

[[levels]]
name = "County"
[levels.queries]
"total" = { variance = "8" }
"age by sex" = { rho = "1/8" }

[spine.paths]
1 = ["State", "County"]
2 = ["State+County"]
"""


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Invoke = Callable[..., Result]


@pytest.fixture
def discreet(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Run one command line in this process."""

    def invoke(*arguments: object) -> Result:
        capsys.readouterr()
        status = run([str(argument) for argument in arguments])
        seen = capsys.readouterr()
        return Result(status, seen.out, seen.err)

    return invoke


@pytest.fixture
def refused(discreet: Invoke) -> Callable[..., str]:
    """Run a command line that must be refused, and return its one line."""

    def invoke(*arguments: object) -> str:
        result = discreet(*arguments)
        assert result.status == 2
        assert result.out == "" or "--json" in arguments
        assert result.err.startswith("discreet: ")
        assert result.err.count("\n") == 1
        return result.err

    return invoke


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A release file with two paths."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path
