"""The Tabulation design page: the numbers of `discreet safetab account`, and a file that is read back."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from browsing import upload, value, wait_for_text, wait_for_value

from discreet.answers import Quantity, Rounding
from discreet.census.answers.design import cap_text
from discreet.census.mechanism.adaptive import mechanism
from discreet.census.safetab.account import account_pass
from discreet.census.safetab.census2020 import write_parameters
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.design import exact_rho_for_margin, rivals, shown, smallest_sizes, table_chances
from discreet.census.safetab.specification import read_specification, safetab_p
from discreet.errors import InputError
from discreet.workbench.state import State
from discreet.workbench.tabulations import design as view
from discreet.workbench.tabulations.design import Design, read_drop_chance, read_target

pytestmark = pytest.mark.xdist_group("workbench")  # one server and one browser for all

DELTA = Fraction(1, 10**10)


def only(design: Design, level: int) -> Design:
    return design.with_on([place for place in design.places if place[1] != level], on=False)


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("official") / "params"
    write_parameters(folder)
    return folder


def test_the_first_design_is_that_of_2020(official: Path) -> None:
    text = (official / "safetab.toml").read_text()
    found = view.design_opened(text, "safetab.toml", Design())
    assert found == replace(Design(), thresholds=found.thresholds)
    assert view.configuration(found).budgets == read_configuration(official).budgets
    # without the file: the page opens with the thresholds of 2020
    wanted = read_configuration(official)
    opens = view.configuration(Design())
    assert all(wanted.thresholds[place] == steps for place, steps in opens.thresholds.items())
    shown = {line.place: line.thresholds for line in view.design_numbers(Design(), DELTA).lines}
    assert (shown["STATE", 2], shown["PLACE", 2], shown["USA", 1]) == (
        (471, 971, 6971),
        (971, 4971, 19971),
        (4971, 19971, 149971),
    )


def test_the_numbers_are_those_of_the_command_line(official: Path, tmp_path: Path) -> None:
    design = replace(Design(), races=3, gamma=Fraction(1, 5), target=Fraction(1, 4), which="PR", derived=True)
    design = only(design, 2)
    folder = tmp_path / "params"
    shutil.copytree(official, folder)
    (folder / "safetab.toml").write_text(view.design_toml(design))
    configuration, specification = read_configuration(folder), read_specification(folder)
    costs = account_pass(configuration, specification, "PR", deltas=[DELTA]).costs
    exact = view.design_exact(design, DELTA)
    numbers = view.design_numbers(design, DELTA)
    assert len(costs) == 2
    for cost in costs:
        (mine,) = [one for one in exact if one.neighbours == cost.neighbours]
        assert mine.epsilon == pytest.approx(cost.epsilon, rel=1e-12)
        (quick,) = [one for one in numbers.costs if one.neighbours == cost.neighbours]
        assert quick.converted == pytest.approx(cost.converted, rel=1e-12)
    assert [line.place for line in numbers.lines] == [
        (name, 2) for name, level in design.places if level == 2
    ]
    for line in numbers.lines:
        part = mechanism(configuration, specification, *line.place)
        assert (line.thresholds, line.suppression) == (part.thresholds, part.suppression)
        assert line.sizes == smallest_sizes(part.stage_two, relative_margin="1/4")
        assert line.stability == 4


def test_curves_are_those_of_the_design_functions() -> None:
    numbers = view.design_numbers(Design(), DELTA)
    part = mechanism(view.configuration(Design()), view.specification_2020(), "COUNTY", 2)
    sizes = [int(x) for x, _ in numbers.curves.bias]
    seen = shown(sizes, part.stage_two, part.suppression)
    assert [y for _, y in numbers.curves.bias] == seen.bias.tolist()
    assert [y for _, y in numbers.curves.overall_bias] == seen.overall_bias.tolist()
    assert dict(numbers.suppression)["detailed (4 geographies)"] == tuple(
        zip(map(float, sizes), seen.suppressed.tolist(), strict=True)
    )
    steps = [int(x) for x, _ in numbers.curves.tables[0]]
    chances = table_chances(steps, part.stage_one, part.thresholds)
    assert [[y for _, y in line] for line in numbers.curves.tables] == chances.T.tolist()


def test_a_margin_gets_the_budget_of_the_design_functions() -> None:
    design = replace(Design(), races=4)
    normal, exact = view.design_margin(design, ("TRACT", 2), "11")
    wanted = exact_rho_for_margin(11, stability=5)
    assert wanted <= exact < wanted * Fraction(10001, 10000)
    changed = design.with_rho(("TRACT", 2), normal)
    margins = {line.place: line.margin for line in view.design_numbers(changed, DELTA).lines}
    assert margins["TRACT", 2] == 11
    with pytest.raises(InputError, match="whole number"):
        view.design_margin(design, ("TRACT", 2), "1.5")
    assert rivals(((11, 9),), delta=DELTA) == rivals([(11, 9)], delta=DELTA)


def test_a_saved_design_is_read_back(tmp_path: Path) -> None:
    design = replace(Design(), races=2, gamma=Fraction(1, 3), chance=Fraction(0), scale=Fraction(1, 3))
    (tmp_path / "safetab.toml").write_text(view.design_toml(design))
    assert read_configuration(tmp_path) == view.configuration(design)
    again = view.design_opened((tmp_path / "safetab.toml").read_text(), "safetab.toml", Design())
    assert view.configuration(again) == view.configuration(design)
    state = State.of("dhc-2020").with_settings("design", again.settings())
    assert Design.of_state(state) == again
    nothing = replace(design, off=frozenset(view.configuration(design).budgets))
    with pytest.raises(InputError, match="nothing would be tabulated"):
        view.design_toml(nothing)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("privacy = ", "safetab.toml", "not valid TOML"),
        ("{", "config.json", "not valid JSON"),
        ('privacy = "zcdp"', "safetab.toml", "a key is missing"),
        ("a = 1", "x.toml", "an unknown key"),
    ],
)
def test_files_that_are_refused(text: str, name: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        view.design_opened(text, name, Design())


def test_pure_privacy_and_infinite_budgets_are_refused() -> None:
    text = view.design_toml(Design())
    pure = text.replace('"zcdp"', '"puredp"').replace("rho =", "epsilon =")
    with pytest.raises(InputError, match="pure differential privacy"):
        view.design_opened(pure, "safetab.toml", Design())
    with pytest.raises(InputError, match="USA, regional has an infinite budget"):
        view.design_opened(text.replace("rho = 0.008", "rho = inf", 1), "safetab.toml", Design())


@pytest.mark.parametrize(("read", "text"), [(read_target, "0"), (read_target, "x"), (read_drop_chance, "1")])
def test_wrong_texts(read: Callable[[str], Fraction], text: str) -> None:
    with pytest.raises(InputError):
        read(text)


NAMELESS = """() => [...document.querySelectorAll('button, select, summary, a, input:not([type=file])')]
    .filter(e => !(e.ariaLabel || e.innerText?.trim() || e.closest('label')?.innerText?.trim()))
    .map(e => e.outerHTML)"""
OPEN = "Open safetab.toml or config.json"
DRAG = """async e => { const seen = () => document.querySelector('[data-design-updates]').textContent;
    for (let i = 0; i < 3; i++) { const old = seen(); e.value = 12 + 4 * i;
        e.dispatchEvent(new Event('input', {bubbles: true}));
        while (seen() === old) await new Promise(r => setTimeout(r, 20)); }
    e.value = 25; e.dispatchEvent(new Event('input', {bubbles: true}));
    e.dispatchEvent(new Event('change', {bubbles: true})); }"""
"""Three stops on the way, each waiting until the numbers have followed, before the slider is let go."""


# -- in a browser ----------------------------------------------------------------------------------------


def test_controls_change_the_numbers_to_those_of_the_functions(
    visit: Callable[..., Any], tmp_path: Path
) -> None:
    page = visit("/design", preset="dhc-2022-08-25")
    wait_for_value(page, "Epsilon, added", "24.4020")  # of 2020, as `discreet account ddhca-2020`
    page.wait_for_selector("[data-exact=true]")
    wait_for_value(page, "Epsilon, replaced", "37.5576")
    assert page.locator("[data-design-cap]").is_hidden()
    slider = page.get_by_role("slider", name="Races counted, at most", exact=True)
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    wait_for_value(page, "Groups a person is in", "4")
    page.get_by_role("checkbox", name="regional groups").uncheck()
    field = page.get_by_role("textbox", name="rho of USA, detailed", exact=True)
    field.fill("1/2")
    design = only(replace(Design(), races=3), 2).with_rho(("USA", 2), Fraction(1, 2))
    wanted = view.design_numbers(design, DELTA)
    wait_for_value(page, "Epsilon, added", str(Quantity(wanted.costs[0].epsilon, rounding=Rounding.UP)))
    line = next(line for line in wanted.lines if line.place == ("COUNTY", 2))
    row = page.locator("tr", has=page.get_by_role("textbox", name="rho of COUNTY, detailed", exact=True))
    said = cap_text(wanted.cap, ("COUNTY", 2), safetab_p())
    assert page.locator("[data-design-cap]").inner_text() == said != ""
    cells = [text.replace("\xa0", " ") for text in row.locator("td").all_inner_texts()]
    assert cells[1:6] == [f"± {line.margin}", *(f"{size:,}" for size in line.sizes)]
    assert cells[6:] == [" / ".join(f"{step:,}" for step in line.thresholds), str(line.suppression)]
    with page.expect_download() as download:
        page.get_by_role("button", name="Save safetab.toml").click()
    download.value.save_as(tmp_path / "safetab.toml")
    assert read_configuration(tmp_path) == view.configuration(design)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function(
        "() => document.querySelector(\"[aria-label='rho of USA, detailed']\").value === '2.134'"
    )


@pytest.mark.slow
def test_a_dragged_slider_ends_at_the_right_numbers(visit: Callable[..., Any]) -> None:
    page = visit("/design")
    wait_for_value(page, "Epsilon, added", "24.4020")
    count = "() => Number(document.querySelector('[data-design-updates]').textContent)"
    old = page.evaluate(count)
    page.get_by_role("slider", name="First stage gets (gamma)", exact=True).evaluate(DRAG)
    wanted = view.design_numbers(replace(Design(), gamma=Fraction(1, 4)), DELTA)
    wait_for_value(page, "Epsilon, added", str(Quantity(wanted.costs[0].epsilon, rounding=Rounding.UP)))
    assert page.evaluate(count) >= old + 3  # on the way too
    undo = page.get_by_role("button", name="Undo")
    page.locator("button[title='Undo: first stage gets (gamma)']").wait_for()
    undo.click()  # the whole drag is one step
    wait_for_value(page, "Epsilon, added", "24.4020")
    assert page.evaluate(NAMELESS) == []


@pytest.mark.slow
def test_wrong_input_is_said_beside_it_and_files_are_opened(visit: Callable[..., Any]) -> None:
    page = visit("/design")
    wait_for_value(page, "Epsilon, added", "24.4020")
    for name, wrong, message in (
        ("rho of USA, detailed", "1/0", "division by zero"),
        ("rho of TRACT, detailed", "1e9", "between 0.000001 and 1000"),
        ("Chance of dropping an empty group", "1", "and below 1"),
        ("Target error, exact", "0", "above zero"),
        ("Wanted margin", "1.5", "whole number"),
    ):
        field = page.get_by_role("textbox", name=name, exact=True)
        field.fill(wrong)
        beside = page.locator(".wb-field, td", has=field).last.locator("[role=alert]")
        beside.filter(has_text=message).wait_for(state="visible")
    assert value(page, "Epsilon, added") == "24.4020"
    upload(page, "broken.toml", b"privacy = ", OPEN)
    wait_for_text(page, "broken.toml was not opened: not valid TOML")
    upload(page, "picture.json", bytes([0x89, 0xFF]), OPEN)
    wait_for_text(page, "picture.json was not opened: it is not a text file")
    design = replace(Design(), races=1).with_rho(("TRACT", 2), Fraction(1))
    upload(page, "mine.toml", view.design_toml(design).encode(), OPEN)
    wanted = view.design_numbers(design, DELTA)
    wait_for_value(page, "Epsilon, added", str(Quantity(wanted.costs[0].epsilon, rounding=Rounding.UP)))
    wait_for_value(page, "Groups a person is in", "3")
