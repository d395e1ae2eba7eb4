"""Plans, margins and accuracy of sums are in what is summed, whatever the unit of the noise."""

from __future__ import annotations

import pytest

from discreet.accounting.calibration import margins
from discreet.answers import describe
from discreet.budget import Release
from discreet.budget.noise_table import noise_lines
from discreet.estimation import accuracy
from discreet.estimation.best_plan import plan
from discreet.estimation.goals import Goal

TEXT = """
name = "work"
neighbours = "bounded"
[attributes]
sex = ["f", "m"]
[[levels]]
name = "Nation"
[levels.queries]
"total" = { variance = 50 }
"hours" = { sum = "hours", at_most = 80, unit = "UNIT", variance = "VARIANCE" }
[[levels]]
name = "Region"
[levels.queries]
"sex" = { variance = 50 }
"hours by sex" = { sum = "hours", at_most = 80, unit = "UNIT", variance = "VARIANCE" }
"""


def release(unit: str, variance: int) -> Release:
    return Release.from_toml(TEXT.replace("UNIT", unit).replace("VARIANCE", str(variance)))


HALVES, ONES = release("1/2", 4 * 360_000), release("1", 360_000)


def test_the_unit_changes_no_accuracy() -> None:
    """Half the unit with four times the variance is the same noise, but for the lattice of its values."""
    found, due = (accuracy(one, tree=[6]).by_query for one in (HALVES, ONES))
    assert found.keys() == due.keys()
    for key, one in found.items():
        assert one.sd == pytest.approx(due[key].sd, rel=1e-6)
        assert one.margin95 == pytest.approx(due[key].margin95, rel=2e-3)
    assert describe(accuracy(HALVES, tree=[6])).tables["accuracy"].cells[1][2] == "600"


def test_goals_are_in_what_is_summed() -> None:
    goals = [Goal("Nation", "total", 20.0), Goal("Region", "hours by sex", 900.0)]
    plans = [plan(one, tree=[6], goals=goals, delta="1e-6", certify=False) for one in (HALVES, ONES)]
    for found in plans:
        assert found.after.sd("Region", "hours by sex") == pytest.approx(900.0, rel=1e-3)
        assert found.after.sd("Nation", "total") == pytest.approx(20.0, rel=1e-3)
        assert found.release.variables.items() <= HALVES.variables.items() | ONES.variables.items()
    assert float(plans[0].rho) == pytest.approx(float(plans[1].rho), rel=1e-3)


def test_margins_that_are_wanted_are_in_what_is_summed() -> None:
    """The largest variance within the margin, in units; half a unit more would be too much."""
    found = {line.queries: line for line in noise_lines(margins(HALVES, {"Nation": "400.5"}))}
    assert found[("hours",)].margin == 400.5
    assert found[("total",)].margin == 400
