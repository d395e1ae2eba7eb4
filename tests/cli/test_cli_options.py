"""Options are declared once: a command takes what its function in Python takes, under the same names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from discreet import release
from discreet.budget import load
from discreet.cli import run
from discreet.options import Estimating, Measuring, Tabulating

COMMANDS: dict[str, tuple[Callable[..., object], set[str]]] = {
    # the function, and what it takes by place on the command line, or not at all
    "tabulate": (release.tabulate, {"release"}),
    "measure": (release.measure, {"release"}),
    "estimate": (release.estimate, {"noisy", "streamed"}),
}
OF_THE_SCREEN = {"--json", "--quiet", "--help", "--version"}
"""What only a command line needs."""


def option_of(parameter: str, known: set[str]) -> str:
    """The option of a parameter; of several values it is named after one: `--query` for `queries`."""
    name = f"--{parameter.replace('_', '-')}"
    ones = [name, re.sub("ies$", "y", name), name.removesuffix("s")]
    return next((one for one in ones if one in known), name)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_of_a_command_are_the_parameters_of_its_function(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    function, others = COMMANDS[command]
    assert run([command, "--help"]) == 0
    shown = re.findall(r"^│ +[*]? +(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    known = set(shown) - OF_THE_SCREEN
    assert len(known) >= 10
    taken = inspect.signature(function).parameters
    assert known == {option_of(name, known) for name in taken if name not in others}
    assert others <= set(taken)


@pytest.mark.parametrize(
    ("question", "function"),
    [(Tabulating, release.tabulate), (Measuring, release.measure), (Estimating, release.estimate)],
)
def test_a_function_takes_the_fields_of_its_question(question: type, function: Callable[..., object]) -> None:
    taken = inspect.signature(function).parameters
    assert list(taken) == [one.name for one in fields(question)]
    assert all(one.annotation is not inspect.Parameter.empty for one in taken.values())
    needed = {name: "x" for name, one in taken.items() if one.default is inspect.Parameter.empty}
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'out_folder'"):
        function(**needed, out_folder="y")


def test_a_repeated_option_that_is_not_given_is_the_default_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    release.write_example(".")
    release.measure(
        load("release.toml"), None, "noisy", records="records.csv", units="units.csv", rehearsal=1
    )
    assert run(["estimate", "noisy", "--out", "a", "--quiet"]) == 0
    assert run(["estimate", "noisy", "--out", "b", "--level", "0.9", "--level", "0.95", "--quiet"]) == 0
    release.estimate("noisy", "c")
    capsys.readouterr()
    one, *others = (Path(out, "estimates.NOT-PRIVATE.csv").read_bytes() for out in "abc")
    assert others == [one, one]
