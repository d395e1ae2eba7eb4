"""Releases with sums in the workbench: sliders keep what is added up, and sums have no relative errors."""

from __future__ import annotations

from fractions import Fraction

from discreet.budget import Release
from discreet.disclosure.adversary import attackable
from discreet.estimation.expected_accuracy import accuracy, margin_lines
from discreet.workbench.accuracy_page import Margins
from discreet.workbench.state import State, from_link, from_toml, to_link, to_toml

TEXT = """
name = "work"
neighbours = "bounded"
weight = { column = "w", at_most = 20, unit = "1/10" }
[attributes]
sex = ["f", "m"]
[[levels]]
name = "Nation"
[levels.queries]
"total" = { variance = 5000 }
"hours by sex" = { sum = "hours", at_most = 80, unit = "1/2", variance = 40000000 }
[[levels]]
name = "Region"
[levels.queries]
"sex" = { variance = 5000 }
"records" = { weighted = false, variance = 6 }
"hours by sex" = { sum = "hours", at_most = 80, unit = "1/2", variance = 40000000 }
"""
STATE = State(Release.from_toml(TEXT), "work.toml", False)


def test_sliders_keep_what_is_added_up() -> None:
    """Half the total and another share: the same sums with more noise, and a session that is read back."""
    moved = STATE.with_total(Fraction(1, 2))
    moved = moved.with_budget(moved.budget.with_share(0, Fraction(3, 4)))
    assert moved.release.variables == STATE.base.variables
    assert moved.release.levels[0].queries[1].sensitivity == 160 * 200
    assert from_toml(to_toml(moved))[0].release == moved.release
    assert from_link(to_link(moved))[0].release == moved.release


def test_sums_have_no_relative_errors() -> None:
    lines = margin_lines(STATE.release, accuracy(STATE.release, tree=[8]))
    assert {line.queries for line in lines if line.sums_column} == {("hours by sex",)}
    assert set(Margins(lines, True, False).by_query) == {"total", "sex", "records"}


def test_the_adversary_attacks_counts_of_records_only() -> None:
    found = attackable(STATE.release)
    assert [count.query for counts in found.values() for count in counts] == ["records"]
