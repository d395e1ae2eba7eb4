"""The pages in a real browser: the numbers of the command line, sliders, wrong input, two visitors, files."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from browsing import (
    PATIENCE,
    SMALL,
    command_line,
    drag,
    settled,
    upload,
    value,
    wait_for_text,
    wait_for_value,
)

from discreet.accounting.privacy_loss import compose
from discreet.workbench.frame import PAGES
from discreet.workbench.state import State, from_toml

pytestmark = pytest.mark.xdist_group("workbench")  # one server and one browser for all


@pytest.mark.parametrize("name", PAGES)
def test_each_page_loads_quietly(visit: Callable[..., Any], name: str) -> None:
    page = visit(f"/{name}")
    assert page.locator(".wb-nav button[aria-current=page]").inner_text().lower().endswith(name)
    page.wait_for_timeout(300)


@pytest.mark.parametrize(
    "preset", ["dhc-2022-08-25", pytest.param("pl94-2020-persons", marks=pytest.mark.slow)]
)
def test_a_preset_gives_the_numbers_of_the_command_line(visit: Callable[..., Any], preset: str) -> None:
    page = visit("/budget", preset="pl94-2020-units")
    page.get_by_role("combobox", name="Release", exact=True).select_option(preset)
    page.wait_for_function(
        "name => document.querySelector('code.wb-command').innerText.includes(name)", arg=preset
    )
    settled(page)
    shown = page.locator("code.wb-command:visible").first.inner_text()
    assert shown == f"discreet account {preset} --delta 1e-10"
    printed = command_line(*shown.split()[1:], "--quiet")
    row = next(line for line in printed.splitlines() if line.startswith("1e-10")).split()
    assert [value(page, "Epsilon"), value(page, "zCDP")] == row[1:3]
    worst = json.loads(command_line(*shown.split()[1:], "--json"))["results"][0]["worst"]
    if len(worst) == 2:
        wait_for_text(page, f"({worst[0]}, {worst[1]})")


@pytest.mark.slow
def test_a_bound_is_called_one_on_every_page(visit: Callable[..., Any]) -> None:
    page = visit("/budget", preset="sdhc-2020")
    settled(page)
    assert page.locator(".wb-value[aria-label='Epsilon']").inner_text().startswith("at most 6.46")
    assert page.get_by_text("Exact epsilon").count() == 0
    for name in ("Budget", "Risk", "Report"):
        page.get_by_role("button", name=name, exact=True).click()
        page.get_by_text("An upper bound: the true value may be smaller.").locator("visible=true").wait_for()


def test_a_dragged_slider_updates_the_chart_and_ends_at_the_right_value(
    visit: Callable[..., Any], tmp_path: Path
) -> None:
    page = visit("/budget")
    settled(page)
    wait_for_value(page, "Epsilon", "20.3247")
    line = "() => document.querySelector('.wb-chart svg').innerHTML"
    before, updates = page.evaluate(line), int(page.locator("[data-updates]").inner_text() or 0)
    drag(page, "Total rho", 0.25, steps=25)  # step -50: half the budget
    wait_for_text(page, "0.5 times the stated")
    settled(page)
    assert page.evaluate(line) != before
    assert int(page.locator("[data-updates]").text_content()) > updates
    with page.expect_download() as download:
        page.get_by_role("button", name="Save release.toml").click()
    file = tmp_path / "release.toml"
    download.value.save_as(file)
    found = json.loads(command_line("account", str(file), "--delta", "1e-10", "--json"))
    assert found["rho"] == "73/40"
    assert value(page, "Epsilon") == f"{found['results'][0]['epsilon']:.4f}"


@pytest.mark.slow
def test_a_level_slider_and_undo_by_keyboard(visit: Callable[..., Any]) -> None:
    page = visit("/budget")
    settled(page)
    slider = page.get_by_role("slider", name="Share of State", exact=True)
    first = slider.get_attribute("aria-valuetext")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "old => document.querySelector(\"[aria-label='Share of State']\").ariaValueText !== old", arg=first
    )
    undo = page.get_by_role("button", name="Undo")
    wait_for_text(page, "Undo")
    for _ in range(10 * PATIENCE):  # as many steps as there were keys, or fewer, as they come in
        if undo.is_enabled():
            undo.focus()
            page.keyboard.press("Enter")
        elif slider.get_attribute("aria-valuetext") == first:
            break
        page.wait_for_timeout(100)
    page.wait_for_function(
        "old => document.querySelector(\"[aria-label='Share of State']\").ariaValueText === old", arg=first
    )
    settled(page)
    wait_for_value(page, "Epsilon", "20.3247")
    page.wait_for_function(
        "() => [...document.querySelectorAll('button')].find(b => b.innerText === 'Undo').disabled"
    )


def test_wrong_fractions_and_sums_are_said_beside_the_cell(visit: Callable[..., Any]) -> None:
    page = visit("/budget")
    upload(page, "small.toml", SMALL.encode())
    wait_for_text(page, "small.toml: Two levels")
    settled(page)
    old = value(page, "Epsilon")
    cell = page.get_by_role("textbox", name="Share of total, State", exact=True)
    assert cell.input_value() == "1/5"
    for wrong, message in (
        ("1/", "an exact number such as"),
        ("1/0", "division by zero"),
        ("-1/5", "must be above zero"),
        ("0.1.2", "an exact number such as"),
    ):
        cell.fill(wrong)
        beside = page.locator("td", has=cell).locator("[role=alert]")
        beside.filter(has_text=message).wait_for(state="visible")
        assert cell.get_attribute("aria-invalid") == "true"
    cell.fill("2/5")
    wait_for_text(page, "adds up to 6/5, not 1: 1/5 too much")
    assert value(page, "Epsilon") == old  # what does not add up is not taken over
    page.get_by_role("button", name="Scale to 1").first.click()
    page.wait_for_function(
        "() => document.querySelector(\"[aria-label='Share of total, State']\").value === '1/3'"
    )
    settled(page)
    assert value(page, "Epsilon") != old
    page.get_by_role("button", name="Undo").click()
    wait_for_value(page, "Epsilon", old)


@pytest.mark.slow
def test_a_release_of_the_same_budget_fills_the_table_of_shares(visit: Callable[..., Any]) -> None:
    page = visit("/budget")
    for title in ("Two levels", "The same again"):
        upload(page, "small.toml", SMALL.replace("Two levels", title).encode())
        wait_for_text(page, f"small.toml: {title}")
        settled(page)
        page.wait_for_function(
            "() => document.querySelector(\"[aria-label='Share of total, State']\").value === '1/5'"
        )


@pytest.mark.slow
def test_delta_is_checked(visit: Callable[..., Any]) -> None:
    page = visit("/budget")
    field = page.get_by_role("textbox", name="delta", exact=True)
    field.fill("2")
    wait_for_text(page, "it must lie strictly between 0 and 1")
    field.fill("1e-5")
    page.wait_for_function(
        "() => document.querySelector('code.wb-command').innerText.endsWith('--delta 1e-5')"
    )
    assert field.input_value() == "1e-5"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("picture.toml", bytes([0x89, 0x50, 0xFF, 0xFE]), "is not a text file"),
        pytest.param("broken.toml", b"name = ", "not valid TOML", marks=pytest.mark.slow),
        pytest.param(
            "sum.toml",
            SMALL.replace('rho = "3/4"', 'rho = "1"').encode(),
            "its levels add up to 3/4",
            marks=pytest.mark.slow,
        ),
        ("share.toml", SMALL.replace('"4/5"', '"3/5"').encode(), "add up to 4/5; they must add up to 1"),
        pytest.param("large.toml", b"#" * 11_000_000, "larger than 10 MB", marks=pytest.mark.slow),
    ],
    ids=["not text", "not TOML", "levels do not add up", "shares do not add up", "11 MB"],
)
def test_files_that_cannot_be_used(
    visit: Callable[..., Any], name: str, content: bytes, message: str
) -> None:
    page = visit("/budget")
    upload(page, name, content)
    page.locator(".wb-banner").filter(has_text=message).wait_for(state="visible")
    upload(page, "small.toml", SMALL.encode())  # the page lives on
    wait_for_text(page, "small.toml: Two levels")
    page.locator(".wb-banner").wait_for(state="hidden")


def test_two_browsers_do_not_see_each_other(visit: Callable[..., Any]) -> None:
    first, second = visit("/budget"), visit("/budget", alone=True)
    second.get_by_role("combobox", name="Release", exact=True).select_option("pl94-2020-units")
    wait_for_value(first, "Epsilon", "20.3247")
    wait_for_value(second, "Epsilon", "2.36320")
    drag(second, "Total rho", 0.75)
    wait_for_text(second, "times the stated")
    first.wait_for_timeout(300)
    assert value(first, "Epsilon") == "20.3247"
    assert "dhc-2022-08-25" in first.locator("code.wb-command").first.inner_text()


@pytest.mark.slow
def test_saved_restarted_and_opened_again(
    visit: Callable[..., Any], launch: Callable[..., Any], tmp_path: Path
) -> None:
    page = visit("/budget")
    upload(page, "small.toml", SMALL.encode())
    wait_for_text(page, "small.toml: Two levels")
    settled(page)
    page.get_by_role("button", name="Compare").click()
    drag(page, "Share of State", 0.3)
    page.get_by_role("textbox", name="delta", exact=True).fill("1e-6")
    page.wait_for_function("() => document.querySelector('code.wb-command').innerText.includes('1e-6')")
    settled(page)
    wait_for_text(page, "The exact epsilon is")
    seen = [value(page, label) for label in ("Epsilon", "zCDP", "Gaussian DP")]
    compared = page.locator(".wb-compare").inner_text()
    share = page.get_by_role("slider", name="Share of State", exact=True).get_attribute("aria-valuetext")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the whole session (TOML)").click()
    session = tmp_path / "session.toml"
    download.value.save_as(session)
    address = re.sub(r"^http://[^/]+", "", page.url)
    # where a slider is let go is all that counts, and not the way there
    step = int(page.get_by_role("slider", name="Share of State", exact=True).input_value())
    state, before = from_toml(session.read_text())
    assert state.budget == before.budget.with_share(0, Fraction(step, 1000))

    other = launch()
    for path in ("/budget", address):
        page = visit(path, server=other)
        if path != address:
            upload(page, "session.toml", session.read_bytes())
        wait_for_text(page, "small.toml: Two levels")
        settled(page)
        page.wait_for_function(
            "text => document.querySelector('.wb-compare').innerText === text", arg=compared
        )
        assert [value(page, label) for label in ("Epsilon", "zCDP", "Gaussian DP")] == seen
        found = page.get_by_role("slider", name="Share of State", exact=True).get_attribute("aria-valuetext")
        assert found == share


def test_an_address_that_cannot_be_read(visit: Callable[..., Any]) -> None:
    page = visit("/budget?s=nonsense")
    wait_for_text(page, "the address holds no session that can be read")
    page.get_by_role("combobox", name="Release", exact=True).select_option("pl94-2020-units")
    wait_for_value(page, "Epsilon", "2.36320")


def test_wanted_margins_and_their_command(visit: Callable[..., Any]) -> None:
    page = visit("/accuracy")
    upload(page, "small.toml", SMALL.encode())
    wait_for_text(page, "age by sex")  # the table of the new release
    page.get_by_role("textbox", name="Wanted margin of County", exact=True).fill("4")
    answer = page.get_by_text(re.compile("^rho .* epsilon .*, zCDP"))
    answer.wait_for(state="visible")
    wait_for_text(page, "discreet calibrate release.toml --moe County=4 --delta 1e-10")
    page.locator("section", has=answer).get_by_role("button", name="Use this budget").click()
    row = page.locator("tr", has_text="County").filter(has_text="2 queries alike")
    row.locator("td", has_text=re.compile("^±\\s4$")).first.wait_for(state="visible")
    page.get_by_role("button", name="Undo").click()
    row.locator("td", has_text=re.compile("^±\\s6$")).first.wait_for(state="visible")  # of variance 8


@pytest.mark.slow
def test_calibration_with_its_proof(visit: Callable[..., Any], tmp_path: Path) -> None:
    page = visit("/accuracy")
    upload(page, "small.toml", SMALL.encode())
    wait_for_text(page, "age by sex")  # the table of the new release
    page.get_by_role("button", name="Calibrate and prove").click()
    wait_for_text(page, "Proved: at epsilon")
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    found = json.loads(command_line("calibrate", str(file), "--zcdp", "--delta", "1e-10", "--json"))
    wait_for_text(page, f"All variances times {found['factor']:.6g}")


MIXED = """
name = "mixed"
neighbours = "bounded"
levels = [
  { name = "A", queries = { a = { scale = 3 }, b = { variance = 7 } } },
  { name = "B", queries = { a = { variance = 4 } } },
]
"""


@pytest.mark.slow
def test_calibrated_laplace_noise_is_used(visit: Callable[..., Any], tmp_path: Path) -> None:
    page = visit("/accuracy")
    upload(page, "mixed.toml", MIXED.encode())
    wait_for_text(page, "one number from A down")  # the tree of the new release
    page.get_by_role("button", name="Calibrate and prove").click()
    wait_for_text(page, "Proved: at epsilon")
    file = tmp_path / "mixed.toml"
    file.write_text(MIXED)
    said = " ".join(command_line("calibrate", str(file), "--zcdp", "--delta", "1e-10").split())
    saved = re.search(r"six digits: (.* less variance) for epsilon", said)
    assert saved is not None
    wait_for_text(page, "All variances and squares of Laplace scales times")
    read = page.inner_text("body").replace("\u00a0", " ")
    assert f"noise with {saved[1]} is enough" in read
    assert "--tree" not in read
    proved = page.get_by_text("Proved: at epsilon")
    page.locator("section", has=proved).get_by_role("button", name="Use this budget").click()
    page.get_by_role("button", name="Budget", exact=True).click()
    wait_for_text(page, "mixed-calibrated.toml")


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1024])
def test_legends_and_names_leave_room_for_what_is_drawn(visit: Callable[..., Any], width: int) -> None:
    """No name of a line covers the plot, and the names of short levels are there."""
    page = visit("/risk", viewport={"width": width, "height": 844})
    upload(page, "mixed.toml", MIXED.encode())
    page.wait_for_selector("[data-complete-risk=true]")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.wb-chart svg text')].some(e => e.textContent === 'A')"
    )
    page.wait_for_function(
        "() => [...document.querySelectorAll('.wb-chart')].filter(e => e.offsetWidth).length === 5"
    )
    found = page.evaluate(
        """() => [...document.querySelectorAll('.wb-chart')].filter(e => e.offsetWidth).map(e => {
            const at = x => x.getBoundingClientRect();
            const texts = [...e.querySelectorAll('svg text')];
            const names = ['after the release', 'before', 'this adversary', 'best of anyone',
              'without the release', 'its most precise count', 'all its counts', 'everything published',
              'nothing published'];
            const legend = texts.filter(t => names.includes(t.textContent));
            const ticks = texts.filter(t => /^[0-9.]+ %$/.test(t.textContent) || t.textContent === 'A');
            return [Math.max(...legend.map(t => at(t).bottom)), Math.min(...ticks.map(t => at(t).top)),
              document.documentElement.scrollWidth];
        })"""
    )
    assert len(found) == 5
    assert all(bottom <= top + 4 for bottom, top, _ in found), found
    assert found[0][2] <= width


def dragging(page: Any) -> tuple[int, float]:
    """Drag the total of the largest preset: how many curves were drawn, and in how many seconds."""
    slider = page.get_by_role("slider", name="Total rho", exact=True)
    count = "() => Number(document.querySelector('[data-updates]').textContent)"
    page.wait_for_selector("[data-updates]", state="attached")
    begun, old = time.perf_counter(), page.evaluate(count)
    slider.evaluate(
        """async e => { for (let i = 0; i < 60; i++) { e.value = -30 + i % 60;
            e.dispatchEvent(new Event('input', {bubbles: true})); await new Promise(r => setTimeout(r, 40)); }
            e.value = -50; e.dispatchEvent(new Event('input', {bubbles: true}));
            e.dispatchEvent(new Event('change', {bubbles: true})); }"""
    )
    found = page.evaluate(count) - old, time.perf_counter() - begun
    print(f"{found[0] / found[1]:.1f} updates a second")
    return found


@pytest.mark.slow
def test_curves_follow_a_drag_and_end_at_its_end(visit: Callable[..., Any]) -> None:
    page = visit("/budget", preset="dhc-2020")
    wait_for_value(page, "Gaussian DP", "24.4565")
    dragging(page)  # how many are drawn depends on the machine: below
    wait_for_text(page, "0.5 times the stated")
    loss = compose(State.of("dhc-2020").with_total(Fraction(1, 2)).main_events)
    wait_for_value(page, "Epsilon", f"{loss.epsilon(delta='1e-10'):.4f}")


@pytest.mark.slow
def test_nearly_every_move_of_a_drag_is_drawn(visit: Callable[..., Any]) -> None:
    # of 61 moves; what the rate is depends on the machine and is printed, not asserted
    page = visit("/budget", preset="dhc-2020")
    settled(page)
    assert max(dragging(page)[0] for _ in range(3)) >= 50
