"""All pages together: what is kept, the report, hostile files, names of controls, the keyboard alone."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import SMALL, command_line, upload, wait_for_text

from discreet.workbench.frame import PAGES

pytestmark = pytest.mark.xdist_group("workbench")  # one server and one browser for all


@pytest.mark.slow
def test_the_report_is_made_and_opens_from_disk(
    visit: Callable[..., Any], chromium: Any, tmp_path: Path
) -> None:
    page = visit("/report")
    upload(page, "small.toml", SMALL.encode())
    wait_for_text(page, "The decision: small, at delta 1e-10.")
    page.get_by_role("button", name="Risk", exact=True).click()
    page.get_by_role("textbox", name="Prior, exact").fill("1/10")
    page.get_by_role("button", name="Report", exact=True).click()
    wait_for_text(page, "adversary with prior 1/10")
    page.get_by_role("checkbox", name="With what calibration would save").uncheck()
    page.get_by_role("textbox", name="Title", exact=True).fill("A decision")
    options = ["--prior", "1/10", "--title", "A decision", "--no-savings"]
    wait_for_text(page, f"discreet report release.toml --delta 1e-10 {shlex.join(options)} --out report.html")
    with page.expect_download() as download:
        page.get_by_role("button", name="Make the report").click()
    file = tmp_path / "report.html"
    download.value.save_as(file)
    release, other = tmp_path / "release.toml", tmp_path / "other.html"
    with page.expect_download() as download:
        page.get_by_role("button", name="Save release.toml").click()
    download.value.save_as(release)
    command_line("report", str(release), "--delta", "1e-10", *options, "--out", str(other))
    assert other.read_bytes() == file.read_bytes()
    with page.expect_download() as download:
        page.get_by_role("button", name="Make a PDF").click()
    assert download.value.suggested_filename == "small-report.pdf"
    assert Path(download.value.path()).read_bytes().startswith(b"%PDF-")
    context = chromium.new_context(offline=True)
    try:
        opened = context.new_page()
        asked: list[str] = []
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(file.as_uri())
        assert "A decision" in opened.inner_text("body")
        assert asked == [file.as_uri()]
    finally:
        context.close()


HOSTILE = "<img src=x onerror='window.struck=1'><script>window.struck=1</script>{{7*7}}"


def test_names_of_a_file_are_never_markup(visit: Callable[..., Any]) -> None:
    page = visit("/budget")
    text = SMALL.replace('"Two levels"', json.dumps(HOSTILE)).replace('"total"', json.dumps(HOSTILE))
    upload(page, "small.toml", text.replace("County", "Co<i>unty").encode())
    wait_for_text(page, "Co<i>unty")
    wait_for_text(page, HOSTILE)
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("slider", name="Share of Co<i>unty").press("ArrowRight")
    wait_for_text(page, "Co<i>unty gets")
    for name in ("Accuracy", "Risk", "Report", "Budget"):
        page.get_by_role("button", name=name, exact=True).click()
        page.locator(f".wb-nav [aria-current=page]:text-is('{name}')").wait_for()
        for chart in page.locator("canvas:visible").all():
            chart.hover()  # what floats above a chart is made by the chart's library
    assert page.evaluate("() => window.struck") is None
    assert page.locator("main img, main script, main i:not(.q-icon)").count() == 0


def test_the_keyboard_alone_reaches_everything_in_order(visit: Callable[..., Any]) -> None:
    page = visit("/risk", preset="pl94-2020-units")
    page.get_by_role("slider", name="Prior", exact=True).wait_for()
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            """() => { const e = document.activeElement, s = getComputedStyle(e);
                return [e === document.body ? '' : e.ariaLabel || e.innerText,
                    s.outlineStyle !== 'none' || s.boxShadow !== 'none']; }"""
        )
        if not name:  # round and back at the browser itself
            break
        assert outline, f"no focus seen on {name!r}"
        seen.append(name)
    assert seen[0] == "Skip to the content"
    wanted = ["Budget", "Risk", "Compare", "What the adversary sees", "Prior", "Published count"]
    places = [seen.index(name) for name in wanted]
    assert places == sorted(places)


def test_every_control_has_a_name(visit: Callable[..., Any]) -> None:
    page = visit("/budget")
    for name in PAGES.values():
        page.get_by_role("button", name=name, exact=True).click()
        page.locator(f".wb-nav [aria-current=page]:text-is('{name}')").wait_for()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, select, summary, a, input:not([type=file])')]
            .filter(e => !(e.ariaLabel || e.innerText?.trim() || e.closest('label')?.innerText?.trim()))
            .map(e => e.outerHTML)"""
    )
    assert nameless == []
    hidden = page.evaluate(
        "() => [...document.querySelectorAll('[tabindex]')].filter(e => e.tabIndex > 0).map(e => e.outerHTML)"
    )
    assert hidden == []  # the order of the page is the order of the keyboard
