"""What a page shows is of the state that it names: sampled in the browser while the state changes, by its
commands run in a shell, and where names or files would mislead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from browsing import (
    SMALL,
    Watched,
    Workbench,
    commands,
    settled,
    upload,
    value,
    wait_for_text,
    wait_for_value,
)

from discreet.answers import Quantity, Style
from discreet.answers.curves import curve_lines, tradeoff_panel
from discreet.answers.headline import curve_name
from discreet.budget import Release, load, preset_names
from discreet.budget.level_names import level_name
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.zcdp import ZCDP
from discreet.estimation import accuracy
from discreet.estimation.expected_accuracy import margin_lines
from discreet.render.charts import chart_of
from discreet.reports.html import gather, render
from discreet.workbench import commands as lines
from discreet.workbench.accuracy_page import Margins
from discreet.workbench.differences import page_differences
from discreet.workbench.frame import PAGES
from discreet.workbench.session import Session
from discreet.workbench.state import State, to_link

pytestmark = pytest.mark.xdist_group("workbench")  # one server and one browser for all

HEALTH = Path(__file__).parents[2] / "src/discreet/measurement/examples/health-survey/release.toml"

SAMPLE = """([title, values]) => {
    window.samples = new Set();
    const strength = e => { let all = 1;
        for (; e instanceof Element; e = e.parentElement) all *= Number(getComputedStyle(e).opacity);
        return all; };
    window.sampling = setInterval(() => {
        const found = values.map(value => document.querySelector(value));
        const shown = found.map(e => e && strength(e) > 0.6 ? (e.role ? e.ariaLabel : e.innerText) : null);
        window.samples.add(JSON.stringify([document.querySelector(title).value, ...shown]));
    }, 15); }"""
"""Every 15 ms: what the page says it is about, and the numbers that are seen at full strength."""

SAMPLED = "() => { clearInterval(window.sampling); return [...window.samples].map(s => JSON.parse(s)); }"
RELEASE = "select[aria-label=Release]"


def margin_text(value: float) -> str:
    return str(Quantity(value, Style.MARGIN))


def tile(label: str) -> str:
    return f".wb-value[aria-label='{label}']"


# -- numbers of another state -----------------------------------------------------------------------------


def test_no_number_stands_under_the_name_of_another_release(
    visit: Callable[..., Any], thorough: bool
) -> None:
    names = list(preset_names())[:: 1 if thorough else 5]
    expected = {}
    for name in names:
        events = State.of(name).main_events
        expected[name] = [
            str(Quantity(float(law(events).epsilon(delta=1e-10)))) for law in (ZCDP, GaussianDP)
        ]
    page = visit("/budget", preset=names[-1])
    wait_for_value(page, "zCDP", expected[names[-1]][0])
    page.evaluate(SAMPLE, [RELEASE, [tile("zCDP"), tile("Gaussian DP"), "[aria-label^='delta against']"]])
    choose = page.get_by_role("combobox", name="Release", exact=True)
    for name in names:
        choose.select_option(name)
        page.wait_for_function(  # until each was seen at full strength
            """name => [...window.samples].map(s => JSON.parse(s)).some(
                ([about, ...shown]) => about === name && shown.every(text => text && text !== '…'))""",
            arg=name,
        )
    wrong = []
    for name, *shown, chart in page.evaluate(SAMPLED):
        pairs = zip(shown, expected[name], strict=True)
        if any(text not in (None, "…", right) for text, right in pairs):
            wrong.append((name, shown))
        if chart and f"zCDP {expected[name][0]}, Gaussian DP {expected[name][1]}." not in chart:
            wrong.append((name, chart))
    assert wrong == []


@pytest.mark.slow
def test_no_belief_stands_under_another_prior(visit: Callable[..., Any]) -> None:
    page = visit("/risk")
    page.wait_for_selector("[data-complete-risk=true]")
    note = f"{tile('Belief afterwards')} + .wb-note"
    page.evaluate(SAMPLE, ["input[aria-label='Prior']", [note]])
    slider = page.get_by_role("slider", name="Prior", exact=True)
    slider.evaluate(
        """async e => { for (const step of [40, 30, 20, 10, 5]) {
            e.value = step; e.dispatchEvent(new Event('input', {bubbles: true}));
            await new Promise(r => setTimeout(r, 100)); }
            e.dispatchEvent(new Event('change', {bubbles: true})); }"""
    )
    page.locator(note).filter(has_text=f"before: {Quantity(0.05, Style.CHANCE)}").wait_for()
    page.locator(f"{tile('Belief afterwards')}:not([data-stale])").wait_for()
    page.wait_for_timeout(200)  # for the last sample, which must be there
    seen = page.evaluate(SAMPLED)
    shown = [(step, text) for step, text in seen if text is not None]
    assert ("5", f"before: {Quantity(0.05, Style.CHANCE)}") in shown
    assert [one for one in shown if one[1] != f"before: {Quantity(int(one[0]) / 100, Style.CHANCE)}"] == []


MORE = ("p.wb-text", "code.wb-command", ".wb-sliders", ".wb-grid", "[aria-label^='delta against']")


@pytest.mark.slow
def test_numbers_are_dimmed_when_there_is_no_server(
    visit: Callable[..., Any], launch: Callable[..., Workbench], watched: Watched
) -> None:
    watched.expected = "WebSocket|ERR_CONNECTION|Failed to load"
    one = launch()
    page = visit("/budget", server=one)
    settled(page)
    wait_for_value(page, "Epsilon", "20.3247")
    one.stop()
    page.evaluate(SAMPLE, [RELEASE, [tile("Epsilon"), tile("zCDP"), *MORE]])
    page.wait_for_timeout(100)
    page.get_by_role("combobox", name="Release", exact=True).select_option("pl94-2020-units")
    wait_for_text(page, "The dimmed numbers are those of dhc-2022-08-25 with rho 3.65")
    page.wait_for_timeout(300)
    seen = page.evaluate(SAMPLED)
    assert {name for name, *_ in seen} == {"dhc-2022-08-25", "pl94-2020-units"}
    assert [shown for name, *shown in seen if name == "pl94-2020-units"] == [[None] * (2 + len(MORE))]
    assert ["dhc-2022-08-25", "20.3247", "21.9851"] in [one[:3] for one in seen]


def test_what_is_drawn_from_an_old_answer_keeps_its_stamp() -> None:
    session = Session(State.of("pl94-2020-units"))
    session.numbers.quick.asked = ((1,), ())
    session.numbers.quick.take(((1,), ()), "an answer")
    session.outdated = False
    assert session.numbers.quick.found == "an answer"
    assert not session.outdated
    session.numbers.quick.asked = ((2,), ())
    assert session.numbers.quick.now is None
    assert not session.outdated
    assert session.numbers.quick.found == "an answer"
    assert session.outdated


# -- the commands of a page -------------------------------------------------------------------------------

CHANGED = State(Release.from_toml(SMALL), "small.toml", False).with_total(Fraction(1, 2))
STATES = {
    "preset": State.of("dhc-2022-08-25"),
    "bound": State.of("sdhc-2020").with_delta("1e-6"),
    "other neighbours": State.of("pl94-2020-units").with_neighbours("unbounded"),
    "changed file": CHANGED.with_delta("1e-7").with_settings("accuracy", {"tree": "5"}),
}


def saved(page: Any, folder: Path, state: State) -> None:
    """Save release.toml, as the page says."""
    if state.is_preset and state.changed is None:
        return
    wait_for_text(page, "release.toml is the release on this page: save it first.")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save release.toml").click()
    download.value.save_as(folder / "release.toml")


def read(html: str) -> str:
    html = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


LONG = pytest.param("other neighbours", marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["preset", "bound", LONG, "changed file"])
def test_the_commands_of_the_budget_page(
    visit: Callable[..., Any], shell: Callable[[str], str], tmp_path: Path, name: str
) -> None:
    state = STATES[name]
    page = visit(f"/budget?s={to_link(state)}")
    settled(page)
    saved(page, tmp_path, state)
    account, calibrate, report = commands(page)
    row = next(one for one in shell(account).splitlines() if one.startswith("1e-")).split()
    assert [value(page, "Epsilon"), value(page, "zCDP")] == row[1:3]
    reduction = json.loads(shell(f"{calibrate} --json"))["reduction"]
    assert value(page, "Noise to save") == str(Quantity(reduction, Style.PERCENT)).replace(" ", "\u00a0")
    shell(report)
    told = read((tmp_path / "report.html").read_text())
    assert value(page, "Gaussian DP") in told
    shown = page.inner_text("body").replace("\u00a0", " ")
    for figure in re.findall(r"right at most ([\d.]+ times in 100)|misses at least ([\d.]+ %)", shown):
        assert "".join(figure) in told


@pytest.mark.slow
@pytest.mark.parametrize("name", [LONG, "changed file"])
def test_the_commands_of_the_accuracy_page(
    visit: Callable[..., Any], shell: Callable[[str], str], tmp_path: Path, name: str
) -> None:
    state = STATES[name]
    page = visit(f"/accuracy?s={to_link(state)}")
    wait_for_text(
        page, "Best estimates use all" if state.base.attributes else "estimated separately, from all levels"
    )
    saved(page, tmp_path, state)
    estimate, report = commands(page)
    table = rows(page)
    levels = json.loads(shell(f"{estimate} --json"))["levels"]
    told = {(level_name(one["name"]), q["name"]): q for one in levels for q in one["queries"]}
    assert set(table) == set(told)
    shell(report)
    printed = read((tmp_path / "report.html").read_text())
    for place, (deviation, margin, *best) in ((place, cells[:4]) for place, cells in table.items()):
        query = told[place]
        assert best == [margin_text(query["sd"]), f"± {margin_text(query['margin95'])}"]
        assert deviation == ("not asked" if query["noise_sd"] is None else deviation)
        assert query["noise_sd"] is None or f" {margin} " in printed


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"prior": "1/10", "published": "4", "known": "2"},
        {"scenario": "several", "level": "County"},
        {"scenario": "unsure", "people": "5", "chance": "1/4"},
        {"scenario": "floor", "published": "0"},
        {"scenario": "hierarchy", "siblings": "3", "beside": "4", "above": "6"},
        {"scenario": "whole", "prior": "1/3"},
    ],
    ids=lambda settings: settings.get("scenario", "one"),
)
def test_the_commands_of_the_risk_page(
    visit: Callable[..., Any], shell: Callable[[str], str], tmp_path: Path, settings: dict[str, str]
) -> None:
    state = CHANGED.with_settings("risk", settings).with_neighbours("unbounded")
    page = visit(f"/risk?s={to_link(state)}")
    page.wait_for_selector("[data-complete-risk=true]")
    saved(page, tmp_path, state)
    *single, whole = commands(page)
    assert len(single) == (settings.get("scenario") != "whole")
    for command in single:
        page.locator(f"{tile('Belief afterwards')}:not([data-stale])").wait_for()
        found = json.loads(shell(f"{command} --json"))
        found = found["results"][-1] if "results" in found else found
        assert value(page, "Belief afterwards") == str(Quantity(found["posterior"], Style.CHANCE))
    best = shell(whole).split("\noverall ")[1].split("everything published")[1].split()
    shown = [value(page, label) for label in ("Advantage", "Mean belief if there, all")]
    assert shown == best[1:3]
    right = value(page, "Right decisions, all").removesuffix("\u00a0%")
    assert f"{float(right) / 100:.{len(best[0]) - 2}f}" == best[0]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_commands_of_its_own(page: str) -> None:
    verbs = {
        "budget": {"account", "calibrate", "report"},
        "accuracy": {"accuracy", "report"},
        "design": {"safetab"},
        "risk": {"risk"},
        "report": {"report"},
    }
    for state in STATES.values():
        found = {line.split()[1] for line in lines.commands(state, page)}
        assert found == verbs[page] - ({"accuracy"} if not lines.accuracy_command(state) else set())
    hostile = CHANGED.with_settings("risk", {"prior": "7"}).with_settings("design", {"races": "99"})
    assert page in ("budget", "accuracy", "report") or lines.commands(hostile, page) == []


# -- margins of levels and queries ------------------------------------------------------------------------


def rows(page: Any) -> dict[tuple[str, str], list[str]]:
    """The table of margins: what stands in the row of each level and query."""
    table = page.locator("table", has_text="where no levels are merged")
    for names in table.locator("summary").all():
        names.click()
    found, level = {}, ""
    for row in table.locator("tbody tr").all():
        first, queries, *cells = (
            text.replace("\u00a0", " ").strip() for text in row.locator("th, td").all_inner_texts()
        )
        level = first or level
        lines = queries.splitlines()
        for query in lines[1:] if len(lines) > 1 else lines:
            assert (level, query) not in found  # one margin a level and query
            found[level, query] = cells
    return found


@pytest.mark.slow
def test_queries_that_can_be_estimated_are_rows(visit: Callable[..., Any]) -> None:
    release = Release.from_toml(HEALTH.read_text())
    best = accuracy(release, tree=(4, 5))
    assert len(margin_lines(release)) == 8
    lines = margin_lines(release, best)
    assert len(lines) == 15
    assert sum(line.noise is None for line in lines) == 7
    state = State(release, "health.toml", False).with_settings("accuracy", {"tree": "4, 5"})
    page = visit(f"/accuracy?s={to_link(state)}")
    wait_for_text(page, "Best estimates use all queries and levels together")
    table = rows(page)
    assert {place: cells[2:4] for place, cells in table.items()} == {
        place: [margin_text(one.sd), f"± {margin_text(one.margin95)}"] for place, one in best.by_query.items()
    }
    assert table["Region", "age"][:2] == ["not asked", "–"]
    assert table["District", "age"][:2] == ["4.47", "± 9"]  # variance 20
    groups = page.locator("table tr.wb-groups th").all_inner_texts()
    assert groups[1:] == ["noise", "best estimate (noise only)", "margin of the best estimate, relative"]


@pytest.mark.slow
def test_relative_errors_are_of_one_query(visit: Callable[..., Any]) -> None:
    release = load("pl94-2020-units")
    best = accuracy(release)
    margins = Margins(margin_lines(release, best), True, False).by_query
    for query, levels in margins.items():
        assert levels == {level: best.by_query[level, query].margin95 for level in levels}
    persons = load("pl94-2020-persons")
    noise = Margins(margin_lines(persons), True, True).by_query
    assert "US" not in noise["total"]  # which asks for no total, and is not compared by another query
    assert all(len(noise[query]) == 6 for query in noise if query != "total")
    state = State.of("pl94-2020-persons").with_settings("accuracy", {"query": "hispanic"})
    page = visit(f"/accuracy?s={to_link(state)}")
    wait_for_text(page, "Best estimates use all queries and levels together")
    wait_for_text(page, "95 % margin (noise only) of the best estimate of hispanic, over the size.")
    found = accuracy(persons).by_query
    said = "; ".join(
        f"{level_name(level.name)} ± {margin_text(found[level.name, 'hispanic'].margin95)}"
        for level in persons.levels
    )
    chart = page.locator("[aria-label^='Relative error of hispanic']")
    assert chart.get_attribute("aria-label").endswith(f"Margin of the best estimate: {said}")
    page.get_by_role("combobox", name="Query", exact=True).select_option("total")
    page.locator("[aria-label^='Relative error of total']").wait_for()


@pytest.mark.slow
def test_a_report_has_the_same_rows(tmp_path: Path) -> None:
    html = render(gather(load("pl94-2020-units"), certify=False, savings=False))
    release = load("pl94-2020-units")
    unasked = [line for line in margin_lines(release, accuracy(release)) if line.noise is None]
    assert html.count("not asked") == len(unasked)


# -- words ------------------------------------------------------------------------------------------------


def test_nothing_is_said_to_have_been_before() -> None:
    unknown, known = State.of("dhc-2020"), State.of("pl94-2020")

    def said(state: State) -> list[str]:
        return page_differences(state, state.with_settings("accuracy", {"tree": "4, 5"}))

    assert said(unknown) == ["Accuracy: the areas below an area are 4, 5, before not stated."]
    assert said(known) == ["Accuracy: the areas below an area are 4, 5, before as in the United States."]
    one = State(
        Release.from_toml(
            SMALL.split('[[levels]]\nname = "County"')[0].replace('rho = "3/4"', 'rho = "1/2"')
        ),
        "one.toml",
        False,
    )
    assert said(one) == ["Accuracy: the areas below an area are 4, 5, before not stated."]
    # levels that were not there had no wanted margin
    assert page_differences(unknown, CHANGED.with_settings("accuracy", {"size": "7"})) == [
        "Accuracy: the size of the group is 7, before 50."
    ]


def test_curves_are_named_as_what_they_are() -> None:
    named = {name: curve_name(load(name).claim.kind, paths=len(load(name).paths)) for name in preset_names()}
    assert named["dhc-2022-08-25"] == "Exact"
    for name, text in named.items():
        several = len(load(name).paths) > 1
        assert text == ("Main path" if several else load(name).claim.kind.label.capitalize())
    line = ((0.0, 1.0), (1.0, 0.0))
    panel = tradeoff_panel(curve_lines("At least", line, line, line))
    assert chart_of(panel)["series"][0]["name"] == "At least"


@pytest.mark.slow
def test_no_curve_of_a_bound_is_called_exact(visit: Callable[..., Any]) -> None:
    page = visit("/budget", preset="sdhc-2020")
    settled(page)
    legends = page.locator(".wb-chart svg text").all_text_contents()
    assert "Exact" not in legends
    assert {"At most", "At least"} <= set(legends)
    assert "exact" not in page.locator("[aria-label^='delta against epsilon']").get_attribute("aria-label")


BIDI = "Persons \u202e0202 susneC"


@pytest.mark.slow
def test_what_turns_the_order_of_letters_is_written_out(visit: Callable[..., Any]) -> None:
    page = visit("/budget")
    turned = {"Two levels": BIDI, "County": "Coun\u202ety", "State": "St\u200fate", "total": "to\u2066tal"}
    text = SMALL
    for plain, name in turned.items():
        text = text.replace(plain, name)
    upload(page, "sm\u202eall.toml", text.encode())
    wait_for_text(page, r"sm\u202eall.toml: Persons \u202e0202 susneC")
    page.get_by_role("button", name="Compare").click()
    for name in ("Accuracy", "Risk", "Report", "Budget"):
        page.get_by_role("button", name=name, exact=True).click()
        page.locator(f".wb-nav [aria-current=page]:text-is('{name}')").wait_for()
        page.wait_for_function(
            "() => ![...document.querySelectorAll('[data-stale]')].some(e => e.checkVisibility())"
        )
        raw = page.evaluate(
            r"""() => { const all = found => [...document.querySelectorAll(found)];
                return [document.body.innerText, ...all('svg text').map(e => e.textContent),
                    ...all('[aria-label], [aria-valuetext]').flatMap(e => [e.ariaLabel, e.ariaValueText]),
                ].filter(text => /[\u200f\u202a-\u202e\u2066-\u2069]/.test(text)); }"""
        )
        assert raw == []
    html = render(gather(Release.from_toml(text), certify=False, savings=False))
    assert r"Persons \u202e0202 susneC" in html
    assert not re.search("[\u200f\u202a-\u202e\u2066-\u2069]", html)


# -- going back, undoing, and what went wrong ---------------------------------------------------------------


def shown(page: Any, name: str) -> None:
    page.locator(f".wb-nav [aria-current=page]:text-is('{name}')").wait_for()


@pytest.mark.slow
def test_back_stays_in_the_workbench(visit: Callable[..., Any]) -> None:
    page = visit("/budget")
    for name in ("Accuracy", "Risk"):
        page.get_by_role("button", name=name, exact=True).click()
        page.wait_for_url(f"**/{name.lower()}?*")
    page.get_by_role("textbox", name="Prior, exact").fill("1/8")
    wait_for_text(page, "--prior 1/8")
    page.go_back()
    shown(page, "Accuracy")
    page.go_back()
    shown(page, "Budget")
    page.go_forward()
    shown(page, "Accuracy")
    page.go_forward()
    shown(page, "Risk")
    wait_for_text(page, "--prior 1/8")  # what was decided stays decided
    page.go_back()
    page.go_back()
    shown(page, "Budget")
    page.get_by_role("combobox", name="Release", exact=True).select_option("pl94-2020-units")
    wait_for_value(page, "Epsilon", "2.36320")
    page.wait_for_function("() => location.pathname === '/budget'")
    page.go_back()
    wait_for_value(page, "zCDP", "21.9851")
    assert page.locator(RELEASE).input_value() == "dhc-2022-08-25"
    page.go_forward()
    wait_for_value(page, "Epsilon", "2.36320")
    page.get_by_role("button", name="Undo").click()
    wait_for_value(page, "zCDP", "21.9851")


@pytest.mark.slow
@pytest.mark.parametrize("control", ["slider", "combobox"])
def test_a_held_key_is_one_step_to_undo(visit: Callable[..., Any], control: str) -> None:
    page = visit("/budget")
    settled(page)
    name = {"slider": "Share of State", "combobox": "Release"}[control]
    element = page.get_by_role(control, name=name, exact=True)
    first = element.input_value()
    element.focus()
    for _ in range(6):
        if control == "slider":
            page.keyboard.down("ArrowRight")
        else:  # a list without a window does not move by keys
            page.evaluate("() => document.activeElement.dispatchEvent(new KeyboardEvent('keydown'))")
            element.evaluate("e => { e.selectedIndex -= 1; e.dispatchEvent(new Event('change')); }")
    if control == "slider":
        page.keyboard.up("ArrowRight")
    else:
        page.evaluate("() => document.activeElement.dispatchEvent(new KeyboardEvent('keyup'))")
    last = element.input_value()
    assert last != first
    undo = page.get_by_role("button", name="Undo")
    page.locator("button[title^='Undo:']:not([disabled])").wait_for()
    page.locator("body:not([data-waits])").wait_for()
    undo.click()
    page.locator("button:text-is('Undo')[disabled]").wait_for()
    has = "([control, text]) => control.value === text"
    page.wait_for_function(has, arg=[element.element_handle(), first])
    page.get_by_role("button", name="Redo").click()
    page.wait_for_function(has, arg=[element.element_handle(), last])


@pytest.mark.slow
def test_what_is_typed_into_a_field_is_one_step_to_undo(visit: Callable[..., Any]) -> None:
    page = visit("/budget")
    field = page.get_by_role("textbox", name="delta", exact=True)
    for text in ("1e-7", "1e-8", "1e-9"):
        field.fill(text)
        page.wait_for_function(
            "text => document.querySelector('code.wb-command').innerText.endsWith(`--delta ${text}`)",
            arg=text,
        )
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => document.querySelector('code.wb-command').innerText.endsWith('1e-10')")
    page.locator("button:text-is('Undo')[disabled]").wait_for()


@pytest.mark.slow
def test_what_was_wrong_with_a_file_goes_with_the_next_change(visit: Callable[..., Any]) -> None:
    page = visit("/budget")
    upload(page, "broken.toml", b"name = ")
    banner = page.locator(".wb-banner")
    banner.filter(has_text="broken.toml was not opened").wait_for()
    page.get_by_role("textbox", name="delta", exact=True).fill("1e-6")
    banner.wait_for(state="hidden")


def test_a_file_that_does_not_arrive_is_said(visit: Callable[..., Any], watched: Watched) -> None:
    """Such as one that is gone from the disk before the browser has read it."""
    watched.expected = "Failed to load resource"
    page = visit("/budget", alone=True)
    page.route("**/file/*", lambda route: route.abort())
    upload(page, "small.toml", SMALL.encode())
    page.locator(".wb-banner").filter(has_text="small.toml could not be read and sent").wait_for()
