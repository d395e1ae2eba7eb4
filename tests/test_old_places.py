"""What the last release had at another place: found there, with a warning that names the new place."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys

import pytest
from present import is_about_another

import discreet
from discreet._moved import new_place

OLD = {
    "discreet.accounting.comparisons": "ZCDP Comparison Edgeworth GaussianDP RenyiDP TightZCDP side_by_side",
    "discreet.release": "POSTS Entry Estimated Ledger LedgerCheck Measured Perturbed Policy "
    "PolicyError RecordCheck TableCheck Tabulated Total audit_mechanism "
    "audit_release change_total check_ledger check_records check_tables "
    "create_ledger estimate is_ledger ledger_cost ledger_release measure new_key "
    "perturb read_key read_ledger read_policy records_risk rules_in_force "
    "sign_ledger sign_policy spent tabulate upgrade_ledger witness_ledger "
    "write_example",
    "discreet.report": "PrivacyRow Profile TradeOffCurve delta_rows epsilon_rows plot_profile "
    "plot_tradeoff sample_profile sample_tradeoff",
    "discreet.risk": "Area Attack Categories HierarchyPosterior Poisson Risk RiskProfile Step "
    "Table TwoLevels Uniform WholeRisk categories decide decision_accuracy "
    "expected_loss expected_posterior expected_ratio explain_profile "
    "hierarchy_posterior independent_others joint_accuracy joint_posterior "
    "joint_ratio log_odds posterior ratio release_categories risk risk_profile "
    "sequence table_categories table_risk",
    "discreet.accounting.best_law": "exponent_named",
    "discreet.accounting.comparisons.zcdp": "ZCDP TightZCDP",
    "discreet.accounting.costs": "compare privacy_table",
    "discreet.accounting.overall": "account portfolio",
    "discreet.accounting.promises": "noise_for rho_for",
    "discreet.accounting.sampling": "Profile sample_profile",
    "discreet.budget.input": "load_input",
    "discreet.release.mechanism.adaptive": "Survival",
    "discreet.release.nation.columns": "DHC_LEVELS",
    "discreet.release.safetab.configuration": "read_configuration",
    "discreet.release.safetab.run": "postprocess run",
    "discreet.report.html": "gather page render",
    "discreet.report.html.pdf": "print_pdf",
    "discreet.report.printed": "print_tables",
    "discreet.report.records": "write_records_risk",
    "discreet.risk.counts": "one_count",
    "discreet.risk.limits": "calibrate_risk",
    "discreet.risk.profile": "risk_profile",
    "discreet.risk.promise": "promised_risk",
}
"""What version 0.3 listed as public, in its packages and on its pages."""

NAMES = [
    (module, name)
    for module, names in OLD.items()
    for name in names.split()
    if not is_about_another(str(new_place(f"{module}.{name}")))  # what is a guest's now goes with it
]


def ran(code: str) -> list[str]:
    """The lines that a new process prints to either stream."""
    command = [sys.executable, "-W", "always::DeprecationWarning", "-c", code]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_old_name_is_found_and_the_warning_names_the_new_one(module: str, name: str) -> None:
    place = str(new_place(f"{module}.{name}"))
    home, _, renamed = place.rpartition(".")
    sys.modules.pop(module, None)
    package = importlib.util.find_spec(module)
    assert package is not None
    is_package = package.submodule_search_locations is not None
    said = f"{module}.{name} is now {place}" if is_package else f"{module} is now {home}"
    with pytest.warns(DeprecationWarning, match=f"^{re.escape(said)}$"):
        value = getattr(importlib.import_module(module), name)
    assert value is getattr(importlib.import_module(home), renamed)


@pytest.mark.parametrize(
    "code",
    [
        "import discreet.{package}.no_such_module",
        "from discreet.{package} import no_such_name",
        "import discreet.{package}.no_such_module.below",
    ],
)
@pytest.mark.parametrize("package", ["release", "report", "risk", "no_such_package"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_wrong_name_is_an_import_error_as_ever(code: str, package: str) -> None:
    with pytest.raises(ImportError, match="no_such"):
        exec(code.format(package=package))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("package", ["release", "report", "risk"])
def test_a_wrong_attribute_is_an_attribute_error(package: str) -> None:
    module = importlib.import_module(f"discreet.{package}")
    with pytest.raises(AttributeError, match=f"module 'discreet.{package}' has no attribute 'no_such_name'"):
        module.no_such_name  # noqa: B018


ORDERS = [
    "import discreet",
    "import discreet.risk.odds, discreet.report.html.pdf",
    "from discreet.disclosure import risk; from discreet.reports.html import report",
    "import discreet.risk, discreet.report",
    "from discreet.risk import posterior; from discreet.report import plot_profile",
    "import discreet; discreet.risk, discreet.report; import discreet.risk.odds, discreet.report.printed",
    "import discreet.disclosure.odds; from discreet.risk import odds; from discreet.report import html",
]


@pytest.mark.parametrize("code", ORDERS)
def test_risk_and_report_are_the_functions_in_every_order_of_imports(code: str) -> None:
    code = f"{code}\nimport discreet, discreet.disclosure.everything as e, discreet.reports.html as h\n"
    assert ran(f"{code}print(discreet.risk is e.risk, discreet.report is h.report)")[-1] == "True True"


def test_what_a_package_had_is_found_where_a_function_stands_now() -> None:
    first = "import discreet.risk, discreet.risk.odds, discreet.report.html as page, discreet.release"
    had = "risk.posterior, risk.WholeRisk.__name__, risk.odds.__name__, page.gather, discreet.release.measure"
    second = f"risk = discreet.risk; print({had})"
    *warned, last = ran(f"{first}\n{second}")
    assert [line.split()[1:3] for line in last.split("<")[1:]] == [
        ["posterior", "at"],
        ["gather", "at"],
        ["measure", "at"],
    ]
    assert "ReleaseRisk discreet.disclosure.odds" in last
    assert "<string>:1: DeprecationWarning: discreet.risk is now discreet.disclosure" in warned
    assert (
        "<string>:2: DeprecationWarning: discreet.release.measure is now discreet.measurement.measure"
        in warned
    )


def test_no_module_is_loaded_twice() -> None:
    old = "discreet.report.html.pdf"
    code = f"import {old}, sys, discreet.reports.html.pdf as new; print(sys.modules['{old}'] is new)"
    assert ran(code)[-1] == "True"


def test_what_moved_is_nowhere_else_than_where_the_table_says() -> None:
    assert new_place("discreet.budget.load") is None
    assert new_place("discreet.risk.WholeRisk") == "discreet.disclosure.ReleaseRisk"
    assert new_place("discreet.cellkey.two_laws.together") == "discreet.cellkey.fraction_law.together"
    assert not {name for name in discreet.__all__ if new_place(f"discreet.{name}")} - {"risk", "report"}
