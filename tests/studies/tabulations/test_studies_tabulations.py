"""Studies of SafeTab-P: verdicts, plain sums, and the printed values beside the tabulation itself."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.census.answers.design import design_table
from discreet.census.mechanism.adaptive import budget_noise, suppression_threshold
from discreet.census.safetab import design
from discreet.census.safetab.census2020 import configuration_2020, specification_2020
from discreet.studies import Printed, Study, Verdict, find, printed, register
from discreet.studies.figures import places
from discreet.studies.tabulations import safetab

PLAN = configuration_2020(), specification_2020()
CHANCE = Fraction(9999, 10000)


def computed(name: str) -> Study:
    return find(name)[0].compute()


def test_verdicts_are_as_the_errata_have_them() -> None:
    assert {one.verdict for one in computed("safetab-suppression").checks} == {Verdict.CONFIRMED}
    found: dict[Verdict, set[str]] = {}
    for one in computed("safetab-margins").checks:
        found.setdefault(one.verdict, set()).add(one.printed.text)
    assert found[Verdict.WRONG] == {"95"}
    assert found[Verdict.NOT_CHECKED] == {"7"}
    assert set(found) == {Verdict.CONFIRMED, Verdict.GIVEN, Verdict.WRONG, Verdict.NOT_CHECKED}


def test_every_cell_of_the_tables_is_there() -> None:
    for place, many in (("Table 6", 3), ("Table 7", 13)):
        assert sum((entry.paper, entry.place) == ("safetab", place) for entry in register()) == many, place


@pytest.mark.parametrize(("kind", "many"), [("Figure", 2), ("Table", 7)])
def test_every_figure_and_table_is_listed_once(kind: str, many: int) -> None:
    labels = [place.label for place in places("safetab") if place.label.startswith(kind)]
    assert labels == [f"{kind} {number}" for number in range(1, many + 1)]


@pytest.mark.parametrize("rho", ["0.008", "0.159", "0.543"])
def test_suppression_by_plain_sums(rho: str) -> None:
    part = computed("safetab-suppression").where(rho=float(rho))
    variance = float(Fraction(9) / (2 * Fraction(9, 10) * Fraction(rho)))
    weights = {x: math.exp(-x * x / (2 * variance)) for x in range(-600, 601)}
    total = math.fsum(weights.values())
    (threshold,) = part.distinct("threshold")
    assert isinstance(threshold, int)
    for size in (0, 1, threshold, threshold + 10, 2 * threshold, 300):
        (row,) = part.where(size=size).rows
        kept = {x: w / total for x, w in weights.items() if size + x > threshold}
        chance = math.fsum(kept.values())
        assert row[4] == pytest.approx(1 - chance, abs=1e-12)
        assert row[5] == pytest.approx(math.fsum(x * p for x, p in kept.items()) / chance, abs=1e-9)
        assert row[6] == pytest.approx(math.fsum((size + x) * p for x, p in kept.items()) - size, abs=1e-9)
    # larger groups are dropped less often, and biased less
    assert part.column("suppressed") == sorted(part.numbers("suppressed"), reverse=True)
    assert part.column("bias_if_released") == sorted(part.numbers("bias_if_released"), reverse=True)


def test_an_empty_group_is_dropped_as_often_as_printed_if_a_total_of_the_threshold_is() -> None:
    # dropped below T, and up to T: plain sums of the discrete Gaussian
    entries = computed("safetab-suppression").checks[3:6]
    for one, threshold, literally in zip(entries, (93, 21, 11), (True, True, False), strict=True):
        variance = float(Fraction(9) / (2 * Fraction(9, 10) * Fraction(one.printed.at)))
        weights = {x: math.exp(-x * x / (2 * variance)) for x in range(-600, 601)}
        total = math.fsum(weights.values())
        up_to, below = (
            100 * math.fsum(w for x, w in weights.items() if x <= edge) / total
            for edge in (threshold, threshold - 1)
        )
        assert one.computed == pytest.approx(up_to, abs=1e-9)
        assert one.verdict is Verdict.CONFIRMED
        # read literally, "less than T" slips at the largest rho only
        assert (round(below, 2) == one.printed.value) == literally


def test_margins_and_budgets_of_2020() -> None:
    study = computed("safetab-margins")
    us, pr = (study.where(**{"pass": which}) for which in ("US", "PR"))
    assert (len(us.rows), len(pr.rows)) == (11, 8)
    # totals of the production configuration
    assert us.numbers("rho").sum() == pytest.approx(4.944)
    assert pr.numbers("rho").sum() == pytest.approx(2.643)
    assert study.distinct("wanted_margin") == [50, 3, 11]
    assert (study.numbers("exact_margin") <= study.numbers("wanted_margin")).all()
    assert (study.numbers("exact_rho") < study.numbers("rho_for_wanted_margin")).all()
    assert safetab.wanted_margin(Fraction("0.008")) == 50


def test_tables_6_and_7_of_the_paper() -> None:
    """SafeTab-P, Table 7: margin; second stage and total, added or removed; the same, replaced.

    What is replaced is printed as twice the rounded value: 3.842 for 2 * 1.9206.
    """
    columns = [
        f"rho, {scope}, {step}" for scope in ("add or remove", "replacement") for step in ("step 2", "total")
    ]
    table = [printed("safetab", "Table 7", column) for column in columns]
    found = design.sizing(*PLAN, "US", exact=False)
    objects = design_table([found]).objects
    rows = {(row["geography"], row["level"]): list(row.values()) for row in objects}
    assert len(rows) == 11  # no (AIANNH, Regional)
    for margin, rows_of_margin in (
        (3, [("USA", 2), ("STATE", 2)]),
        (11, [(name, 2) for name in ("COUNTY", "TRACT", "PLACE", "AIANNH")]),
        (50, [(name, 1) for name in ("USA", "STATE", "COUNTY", "TRACT", "PLACE")]),
    ):
        for place in rows_of_margin:
            total, second, second_replaced, replaced = rows[place][4:8]
            ours = (second, total, 2 * round(second, 3), replaced)
            assert tuple(round(value, 3) for value in ours) == tuple(
                column[str(margin)].value for column in table
            )
            assert second_replaced == pytest.approx(2 * second)
            assert round(float(design.rho_for_margin(margin)), 3) == total
    # Table 6: rho .008, .159 and .543 have T = 93, 21 and 11 at 99.99 %
    plan = design.changed(*PLAN, rhos={("TRACT", 2): "0.543"})
    sized = design.sizing(plan, PLAN[1], "US", exact=False)
    cuts = {level.budget: level.suppression for level in sized.levels}
    assert [cuts[Fraction(rho)] for rho in ("0.543",)] == [11]
    below = {level.place: level.suppression for level in found.levels if level.suppression is not None}
    assert (below["COUNTY", 1], below["COUNTY", 2]) == (93, 21)


@pytest.mark.parametrize("entry", printed("safetab", "Table 6", "suppression threshold T").values())
def test_published_suppression_thresholds(entry: Printed) -> None:
    # with gamma 0.1, stability 9, chance 0.9999
    rho, threshold = entry.at, int(entry.text)
    noise = budget_noise(Fraction(9, 10) * Fraction(rho), 9, "zcdp")
    assert suppression_threshold(noise, CHANCE) == threshold
    # 10 % more or less noise gives another one at the larger two
    if threshold > 11:
        for factor in (Fraction(9, 10), Fraction(11, 10)):
            other = budget_noise(Fraction(9, 10) * Fraction(rho) / factor, 9, "zcdp")
            assert suppression_threshold(other, CHANCE) != threshold
