"""Options are declared once: a command takes what its function in Python takes, under the same names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from cyclopts import App
from present import IS_WHOLE, PRESENT, functions_of

from discreet import (
    Certificate,
    InputError,
    account,
    calibrate,
    estimation,
    ledger,
    measurement,
    portfolio,
    records,
    verify,
)
from discreet.accounting.questions import Calibrating
from discreet.budget import load
from discreet.cli import run
from discreet.cli.commands import all_commands
from discreet.comparisons.costs import compare, privacy_table
from discreet.comparisons.questions import Accounting, Comparing
from discreet.disclosure import risk, table_risk
from discreet.disclosure.category import categories, release_categories, table_categories
from discreet.disclosure.counts import one_count, several_counts
from discreet.disclosure.hierarchy import hierarchy_posterior
from discreet.disclosure.population import records_risk
from discreet.disclosure.promise import promised_risk
from discreet.disclosure.questions import Risking, RiskingRecords
from discreet.estimation import accuracy, plan
from discreet.estimation.questions import Estimating, Planning
from discreet.guests import loaded
from discreet.ledger.composition import ledger_costs
from discreet.ledger.policy_review import review_policy
from discreet.measurement.questions import Drafting, Measuring, Tabulating
from discreet.records.questions import Checking
from discreet.reports.html import gather, render
from discreet.reports.records import write_records_risk

Functions = tuple[Callable[..., object], ...]

QUESTIONS: dict[str, tuple[type, Callable[..., object]]] = {
    "account": (Accounting, privacy_table),
    "calibrate": (Calibrating, calibrate),
    "check-records": (Checking, records.check_records),
    "compare": (Comparing, compare),
    "estimate": (Estimating, estimation.estimate),
    "init": (Drafting, measurement.draft),
    "measure": (Measuring, measurement.measure),
    "plan": (Planning, plan),
    "risk records": (RiskingRecords, records_risk),
    "risk release": (Risking, risk),
    "tabulate": (Tabulating, measurement.tabulate),
}
"""Commands whose options are declared as a question, which its function takes."""

for _command, (_question, _function) in functions_of(
    {
        "cellkey design": "discreet.cellkey.questions:TableDesigning "
        "discreet.cellkey.design:design_perturbation",
        "cellkey run": "discreet.cellkey.questions:CellKeying discreet.cellkey.run:perturb",
    }
).items():
    assert isinstance(_question, type)
    QUESTIONS[_command] = (_question, _function)

AUDITS = "discreet.audit.runs:audit_release discreet.audit.runs:audit_mechanism"
if "audit.tabulations" in PRESENT:
    AUDITS += " discreet.audit.tabulations:audit_tabulation"

OF_GUESTS = {
    "cellkey account": "discreet.cellkey:account_cells discreet.cellkey:read_cells "
    "discreet.cellkey:hypercube discreet.cellkey:read_perturbation_table",
    "cellkey check": "discreet.cellkey:check_table discreet.cellkey:read_perturbation_table",
    "registry": "discreet.interop.registry:registry_entry",
    "risk audit": AUDITS,
    "safetab account": "discreet.census.safetab.account:account",
    "safetab coterminous": "discreet.census.safetab.run:coterminous",
    "safetab design": "discreet.census.safetab.design:sizing discreet.census.safetab.design:changed "
    "discreet.census.safetab.earlier:total_only_groups",
    "safetab init": "discreet.census.safetab.census2020:write_parameters",
    "safetab post": "discreet.census.safetab.run:postprocess",
    "safetab report": "discreet.census.safetab.curator:curate",
    "safetab run": "discreet.census.safetab.run:run discreet.census.safetab.run:Options",
    "safetab synth": "discreet.census.safetab.synthetic:synthesize",
    "safetab validate": "discreet.census.safetab.validation:check_input",
    "synth": "discreet.nation.synthesis:synthesize_nation",
}

ASKED: dict[str, Functions] = {
    **{command: (function,) for command, (_, function) in QUESTIONS.items()},
    "accuracy": (accuracy,),
    "check-tables": (estimation.check_tables,),
    "example": (measurement.write_example,),
    "explain": (promised_risk,),
    "ledger check": (ledger.check_ledger,),
    "ledger new": (ledger.create_ledger,),
    "ledger show": (ledger_costs,),
    "ledger sign": (ledger.sign_ledger,),
    "ledger total": (ledger.change_total,),
    "policy check": (review_policy,),
    "policy show": (ledger.rules_in_force,),
    "policy sign": (ledger.sign_policy,),
    "report": (gather, render),
    "risk categories": (categories, table_categories, release_categories),
    "risk explain": (risk,),
    "risk hierarchy": (hierarchy_posterior,),
    "risk records": (write_records_risk, records_risk),
    "risk single": (one_count, several_counts),
    "risk table": (table_risk,),
    "verify": (verify, Certificate.claim),
    **functions_of(OF_GUESTS),
}
"""Every command that asks something, and the functions that answer it in Python."""

OTHERS = {
    "ledger upgrade",
    "cellkey",
    "completion",
    "help",
    "ledger",
    "ledger witness",
    "policy",
    "presets",
    "reproduce",
    "risk",
    "safetab",
    "schema",
    "show",
    "workbench",
}
"""Groups of commands, and commands that list, show or serve and have no function with options."""

ALONE = {"--no-ledger", "--json", "--quiet", "--help", "--version"}
"""What only a command line needs."""

FILES = {"--out", "--plot", "--csv", "--pdf", "--curve", "--tradeoff", "--export"}
"""Files that a command writes of a result that Python returns."""

DIFFERENT: dict[str, dict[str, str]] = {
    # option: the name in Python, or what stands for it there
    "account": {"--unit": "ledger_release(unit=)"},
    "calibrate": {"--risk": "calibrate_risk(risk=)", "--for": "objective"},  # for is a word of Python
    "plan": {"--least-cost": "epsilon=None"},
    "registry": {
        "--check": "review_entry",
        "--schema": "review_entry(schema=)",
        "--template": "facts_template",
    },
    "risk explain": {"--main-only": "pairs", "--held-exact": "exact"},
    "risk release": {"--main-only": "pairs", "--rho": "risk_profile", "--held-exact": "exact"},
    "risk single": {"--together": "several_counts"},
    "risk table": {"--csv": "out"},
}
"""All options that Python names differently. It must not grow: give a new option the name that Python has."""

PYTHON_ONLY: dict[str, set[str]] = {
    # what takes part in a longer computation, or is measured by itself
    "calibrate": {"proof"},
    "estimate": {"streamed"},
    "report": {"account", "facts"},
    "risk audit": {"table"},
    "risk categories": {"noisy", "known", "groups", "names", "counts"},
    "risk explain": {"certify", "false_positive_rates", "guess", "delta"},
    "risk hierarchy": {"tolerance"},
    "risk release": {"certify"},
    "safetab design": {"configuration", "specification", "exact", "sure", "which"},
    "safetab run": {"options", "order"},
    "verify": {"main_path"},
}
"""Parameters that no option has; `progress` is one everywhere."""


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run([*command.split(), "--help"]) == 0
    return capsys.readouterr().out


def option_of(parameter: str, known: set[str]) -> str:
    """The option of a parameter; of several values it is named after one: `--query` for `queries`.

    A flag that is on unless it is turned off is named after that: `--no-certify` for `certify`.
    """
    name = f"--{parameter.replace('_', '-')}"
    ones = [name, re.sub("ies$", "y", name), name.removesuffix("s"), f"--no-{name[2:]}"]
    return next((one for one in ones if one in known), name)


def test_every_command_is_compared_with_python() -> None:
    assert {*all_commands()} <= {*ASKED, *OTHERS}
    if IS_WHOLE:
        assert {*ASKED, *OTHERS} == {*all_commands()}


@pytest.mark.parametrize("command", ASKED)
def test_the_options_of_a_command_are_the_parameters_of_its_function(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = help_of(command, capsys)
    known = set(re.findall(r"^│ (?:[* ]  )?(--[a-z-]+)", text, re.MULTILINE)) - ALONE
    by_place = len(re.findall(r"^│ (?:[* ]  )?[A-Z]+\b", text, re.MULTILINE))
    signatures = [inspect.signature(function).parameters.values() for function in ASKED[command]]
    taken = [one.name for parameters in signatures for one in parameters]
    options = {option_of(name, known) for name in taken}
    different = DIFFERENT.get(command, {})
    assert known - options - (FILES - set(different)) == set(different)
    named = {*PYTHON_ONLY.get(command, ()), *different.values(), "progress"}
    assert PYTHON_ONLY.get(command, set()) <= set(taken)
    left = [name for name in taken if option_of(name, known) not in known and name not in named]
    places = {one.name for one in signatures[0] if one.kind is not one.KEYWORD_ONLY}
    places |= {one.name for one in [*signatures[-1]][:1]}
    assert set(left) <= places, f"parameters without an option: {', '.join(left)}"
    assert len(left) <= max(by_place, 1) + len(signatures) - 1


OF_A_COMMAND = {"json", "screen", "no_ledger", *(name.removeprefix("--") for name in FILES)}
"""Parameters that commands declare themselves: how, and to which files, a result is written."""

OF_ONE_COMMAND: dict[str, set[str]] = {
    # a way of asking that is a function of its own in Python, or a text that is read into something else
    "account": {"unit"},
    "accuracy": {"tree"},
    "calibrate": {"risk"},
    "check-records": {"release"},
    "plan": {"least_cost"},
    "registry": {"template"},
    "reproduce": {"list_"},
    "risk explain": {"main_only", "prior"},
    "risk release": {"main_only", "rho"},
    "risk single": {"together"},
    "show": {"toml"},
    "verify": {"jobs"},
    "workbench": {"port", "host", "socket", "open", "token", "no_token"},
}
"""It must not grow: declare an option where the question is that takes it."""


def test_options_are_declared_by_the_question_or_function_that_takes_them() -> None:
    found: dict[str, set[str]] = {}
    for name, one in all_commands().items():
        app = loaded(one.runs)
        assert isinstance(app, App)
        if app.default_command is None:
            continue  # a group
        own = inspect.signature(getattr(app.default_command, "__wrapped__", app.default_command))
        found[name] = {one.name for one in own.parameters.values() if one.kind is one.KEYWORD_ONLY}
    assert len(found) == 55 or not IS_WHOLE
    expected = {name: own for name, own in OF_ONE_COMMAND.items() if name in all_commands()}
    assert {name: own - OF_A_COMMAND for name, own in found.items() if own - OF_A_COMMAND} == expected


@pytest.mark.parametrize("command", QUESTIONS)
def test_a_function_takes_the_fields_of_its_question(command: str) -> None:
    question, function = QUESTIONS[command]
    taken = inspect.signature(function).parameters
    assert list(taken) == [one.name for one in fields(question)]
    assert all(one.annotation is not inspect.Parameter.empty for one in taken.values())
    needed = {name: "x" for name, one in taken.items() if one.default is inspect.Parameter.empty}
    with pytest.raises(InputError, match="does not take out_folder; it takes"):
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
    measurement.write_example(".")
    measurement.measure(
        load("release.toml"), None, "noisy", records="records.csv", units="units.csv", rehearsal=1
    )
    assert run(["estimate", "noisy", "--out", "a", "--quiet"]) == 0
    assert run(["estimate", "noisy", "--out", "b", "--level", "0.9", "--level", "0.95", "--quiet"]) == 0
    estimation.estimate("noisy", "c")
    capsys.readouterr()
    one, *others = (Path(out, "estimates.NOT-PRIVATE.csv").read_bytes() for out in "abc")
    assert others == [one, one]


def test_defaults_stand_where_pydantic_is_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    """Cyclopts then checks that a default is of the option's type; the workbench loads Pydantic."""
    pytest.importorskip("pydantic", reason="Pydantic comes with the workbench: pip install '.[workbench]'")
    assert run(["account", "dhc-2022-08-25", "--delta", "1e-10", "--quiet"]) == 0
    assert "20.3247" in capsys.readouterr().out
