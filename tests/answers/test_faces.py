"""Results of the rooms show themselves in a notebook and under `print`, as their answer says."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module

import pytest
from present import PRESENT

import discreet
from discreet import account, calibrate, load, verify
from discreet.answers import describe
from discreet.answers.describing import _FUNCTIONS
from discreet.comparisons.costs import PrivacyTable, TwoReleases, epsilon_rows
from discreet.estimation import accuracy, plan, regress
from discreet.faces import Displayed
from discreet.ledger import Ledger, ledger_cost
from discreet.ledger.composition import ledger_costs

QUICK = "dhc-2022-08-25"


def table() -> PrivacyTable:
    release = load(QUICK)
    whole = account(release)
    return PrivacyTable([release], whole, epsilon_rows(whole, ["1e-10"]))


RESULTS: dict[str, tuple[Callable[[], object], str]] = {
    "Release": (lambda: load(QUICK), "Calibrated for unbounded neighbours"),
    "Account": (lambda: account(load(QUICK)), "20.3247"),
    "PrivacyTable": (table, "20.3247"),
    "TwoReleases": (lambda: TwoReleases(table(), table()), "Both have the same epsilon"),
    "Point": (lambda: account(load(QUICK)).at_delta("1e-10")[0], "20.324690 (exact)"),
    "Calibration": (
        lambda: calibrate(load(QUICK), zcdp=True, delta="1e-10", proof=False),
        "12.280 % less variance",
    ),
    "Verification": (lambda: verify(load(QUICK), epsilon=21, delta="1e-10"), "Proved. One case"),
    "Accuracy": (lambda: accuracy(load("pl94-2020-units")), "all queries and levels together"),
    "Plan": (
        lambda: plan(load("pl94-2020-units"), keep=["Tract"], certify=False),
        "5 of 6 measurements are not needed",
    ),
    "Regression": (
        lambda: regress({"y": [1, 3, 2, 5, 4], "x": [1, 2, 3, 4, 5]}, "y", "x", noise={"x": 0.1}),
        "least squares without the noise",
    ),
    "LedgerCosts": (lambda: ledger_costs(Ledger.new()), "ledger: 0 runs."),
    "Cost": (
        lambda: ledger_cost(Ledger.new(), unit="person", neighbours="bounded"),
        "All runs together cost one person",
    ),
}

if "census" in PRESENT:
    from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    from discreet.census.safetab.design import sizing
    from discreet.census.safetab.validation import check_input

    RESULTS |= {
        "Validation": (lambda: check_input("no-params", "no-data"), "The input cannot be used"),
        "Sizing": (
            lambda: sizing(configuration_2020(), specification_2020(), "PR", exact=False),
            "Puerto Rico: sizes from which a table has an error of at most",
        ),
    }
if "studies" in PRESENT:
    from discreet.studies import find

    RESULTS["Study"] = (lambda: find("variance-deficit")[0].compute(), "3 printed values: 3 confirmed")


@pytest.mark.parametrize("name", RESULTS)
def test_a_notebook_shows_the_answer(name: str) -> None:
    make, said = RESULTS[name]
    result = make()
    page = result._repr_html_()  # type: ignore[attr-defined]  # what a notebook looks for
    assert page.startswith('<section class="answer">')
    assert said in page
    assert "<script" not in page


def test_an_account_of_several_releases_has_a_face_too() -> None:
    whole = discreet.portfolio([load(QUICK), load(QUICK)], all_pairs=False)
    assert describe(whole).title == whole.name
    assert "epsilon" in whole._repr_html_()


def displayed(base: type = Displayed) -> Iterator[type]:
    for one in base.__subclasses__():
        yield one
        yield from displayed(one)


ROOMS_WITH_RESULTS = (
    "budget",
    "accounting",
    "ledger",
    "records",
    "estimation",
    "measurement",
    "disclosure",
    "answers",
    *PRESENT.intersection({"cellkey", "audit", "nation", "studies"}),
    *(["census.safetab"] if "census" in PRESENT else []),
)


def test_every_result_that_displays_itself_is_described() -> None:
    for room in ROOMS_WITH_RESULTS:
        package = import_module(f"discreet.{room}")
        for module in pkgutil.iter_modules(package.__path__):
            import_module(f"discreet.{room}.{module.name}")
    own = [one for one in displayed() if one.__module__.startswith("discreet.")]
    # a class with slots is made twice, and only the second one is kept
    results = [one for one in own if getattr(import_module(one.__module__), one.__name__) is one]
    results = [one for one in results if one.__module__ != "discreet.faces"]
    assert len(results) >= len(RESULTS)
    without = [one.__name__ for one in results if not any(base in _FUNCTIONS for base in one.__mro__)]
    assert without == []


def test_the_title_stands_once() -> None:
    html = load(QUICK)._repr_html_()
    assert html.count("demonstration allocation of 2022-08-25") == 1


def test_showing_a_result_leaves_the_public_names_alone() -> None:
    """The function `plan`, not the module of that name, whichever module asked for it first."""
    code = (
        "from discreet import load; from discreet.estimation import accuracy; "
        "accuracy(load('pl94-2020-units'))._repr_html_(); "
        "from discreet.estimation import plan; print(callable(plan))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
