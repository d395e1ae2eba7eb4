"""Options are declared once: a command takes what its function in Python takes, under the same names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from discreet import account, portfolio, release
from discreet.accounting.costs import privacy_table
from discreet.budget import load
from discreet.cli import run
from discreet.options import Accounting, Estimating, Measuring, Tabulating

COMMANDS: dict[str, tuple[Callable[..., object], set[str]]] = {
    # the function, and what it takes by place on the command line, or not at all
    "tabulate": (release.tabulate, {"release"}),
    "measure": (release.measure, {"release"}),
    "estimate": (release.estimate, {"noisy", "streamed"}),
    "account": (privacy_table, {"releases", "progress"}),
}
ALONE = {"--json", "--quiet", "--help", "--version"}
"""What only a command line needs."""
FILES = {"account": {"--unit", "--curve", "--tradeoff", "--plot", "--export"}}
"""The files that `account` writes of its curves, and the unit of a ledger that is named."""


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
    shown = re.findall(r"^│ (?:[* ]  )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    known = set(shown) - ALONE - FILES.get(command, set())
    assert len(known) >= 10
    taken = inspect.signature(function).parameters
    assert known == {option_of(name, known) for name in taken if name not in others}
    assert others <= set(taken)


@pytest.mark.parametrize(
    ("question", "function"),
    [
        (Tabulating, release.tabulate),
        (Measuring, release.measure),
        (Estimating, release.estimate),
        (Accounting, privacy_table),
    ],
)
def test_a_function_takes_the_fields_of_its_question(question: type, function: Callable[..., object]) -> None:
    taken = inspect.signature(function).parameters
    assert list(taken) == [one.name for one in fields(question)]
    assert all(one.annotation is not inspect.Parameter.empty for one in taken.values())
    needed = {name: "x" for name, one in taken.items() if one.default is inspect.Parameter.empty}
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'out_folder'"):
        function(**needed, out_folder="y")


@pytest.mark.parametrize("function", [account, portfolio])
def test_an_account_takes_what_its_table_takes(function: Callable[..., object]) -> None:
    """`discreet.account` and `portfolio` give the curve of which the command shows some points."""
    table = inspect.signature(privacy_table).parameters
    taken = dict(inspect.signature(function).parameters)
    taken.pop("release" if function is account else "releases")
    assert len(taken) >= 3
    assert {name: one.default for name, one in taken.items()} == {name: table[name].default for name in taken}


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


def test_defaults_stand_where_pydantic_is_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    """Cyclopts then checks that a default is of the option's type; the workbench loads Pydantic."""
    pytest.importorskip("pydantic", reason="Pydantic comes with the workbench: pip install '.[workbench]'")
    assert run(["account", "dhc-2022-08-25", "--delta", "1e-10", "--quiet"]) == 0
    assert "20.3247" in capsys.readouterr().out
