"""The Tabulation design page beside the others: in a session, in words, and its command."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import SMALL, commands, upload, value, wait_for_text

from discreet.census.safetab.census2020 import write_parameters
from discreet.workbench.differences import page_differences
from discreet.workbench.state import State, to_link, to_toml

pytestmark = pytest.mark.xdist_group("workbench")  # one server and one browser for all


@pytest.mark.slow
def test_the_settings_of_all_pages_are_kept(visit: Callable[..., Any]) -> None:
    chosen = {
        "accuracy": {"size": "77", "margin State": "9"},
        "design": {"races": "3", "rho USA 1": "1/4 off"},
        "risk": {"prior": "1/8", "known": "12"},
        "report": {"title": "Kept", "proofs": "no"},
    }
    state = State.of("pl94-2020-units")
    for name, values in chosen.items():
        state = state.with_settings(name, values)
    page = visit("/report")
    upload(page, "session.toml", to_toml(state, State.of("pl94-2020-units")).encode())
    wait_for_text(page, "Design: the number of races is 3, before 8.")

    def seen(page: Any) -> None:
        shown = {
            "Report": ("Title", "Kept"),
            "Accuracy": ("Wanted margin of State", "9"),
            "Risk": ("Prior, exact", "1/8"),
            "Tabulation design": ("rho of USA, regional", "0.25"),
        }
        for name, (label, text) in shown.items():
            page.get_by_role("button", name=name, exact=True).click()
            page.get_by_role("textbox", name=label, exact=True).wait_for()
            page.wait_for_function(
                "([label, text]) => document.querySelector(`[aria-label='${label}']`).value === text",
                arg=[label, text],
            )
        assert page.get_by_role("slider", name="Races counted, at most").input_value() == "3"

    seen(page)
    seen(visit(page.url.removeprefix(page.url.partition("/design")[0])))  # in another tab


@pytest.mark.slow
def test_a_wrong_setting_in_a_file_is_said_on_its_page(visit: Callable[..., Any]) -> None:
    page = visit("/risk")
    upload(page, "small.toml", SMALL.encode())
    wait_for_text(page, "discreet risk release release.toml --prior 1/2")
    wrong = 'session = 1\npreset = "pl94-2020-units"\ndelta = "1e-10"\n[pages.risk]\nprior = "7"\n'
    upload(page, "wrong.toml", f'{wrong}[pages.design]\nraces = "9"\n'.encode())
    wait_for_text(page, "the prior is 7; it must lie strictly between 0 and 1")
    page.get_by_role("textbox", name="Prior, exact").fill("1/4")
    wait_for_text(page, "--prior 1/4")
    page.get_by_role("button", name="Tabulation design", exact=True).click()
    said = page.get_by_text("the number of races is 9; it must be a whole number from 1 to 8")
    said.wait_for()
    page.get_by_role("textbox", name="Chance of dropping an empty group").fill("0.5")
    said.wait_for(state="hidden")


def test_what_was_wrong_with_parameters_goes_with_the_next_change(
    visit: Callable[..., Any],
) -> None:
    page = visit("/budget")
    page.get_by_role("button", name="Tabulation design", exact=True).click()
    upload(page, "broken.toml", b"privacy = ", "Open safetab.toml or config.json")
    said = page.get_by_text("broken.toml was not opened")
    said.wait_for()
    page.get_by_role("slider", name="Races counted, at most", exact=True).press("ArrowLeft")
    said.wait_for(state="hidden")


def test_differences_of_the_page_in_words() -> None:
    state = State.of("dhc-2022-08-25")

    def said(page: str, **values: str) -> list[str]:
        texts = {name.replace("_", " "): text for name, text in values.items()}
        return page_differences(state, state.with_settings(page, texts))

    assert said("design", gamma="1/5", rho_USA_1="1", rho_AIANNH_1="1/125", derived="yes", of="total") == [
        "Design: gamma is 0.2, before 0.1.",
        "Design: the target error is relative to the whole group, before the average cell.",
        "Design: thresholds are from the target error, before those of 2020.",
        "Design: USA, regional has rho 1, before rho 0.008.",
        "Design: AIANNH, regional has rho 0.008, before no budget.",
    ]
    many = said(
        "design",
        **{f"rho_{name}_2": "1" for name in ("USA", "STATE", "COUNTY", "TRACT", "PLACE")},
        races="1",
        gamma="1/5",
        chance="0",
        target="1/5",
        scale="2",
    )
    assert len(many) == 9
    assert many[-1] == "Design: 2 more settings are different."
    assert said("design", races="99") == ["Settings of the design page have changed."]
    for name in ("scale", "rho_USA_2"):  # numbers that no float holds
        assert said("design", **{name: "1e4000"}) == ["Settings of the design page have changed."]


@pytest.mark.slow
def test_the_command_of_the_design_page(
    visit: Callable[..., Any], shell: Callable[[str], str], tmp_path: Path
) -> None:
    settings = {"target": "1/5", "of": "total", "races": "3", "rho USA 2": "1/2"}
    page = visit(f"/design?s={to_link(State.of('dhc-2022-08-25').with_settings('design', settings))}")
    page.wait_for_selector("[data-exact=true]")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save safetab.toml").click()
    write_parameters(tmp_path / "PARAMS")
    for old in (tmp_path / "PARAMS").glob("config.json"):
        old.unlink()
    download.value.save_as(tmp_path / "safetab.toml")
    shutil.copy(tmp_path / "safetab.toml", tmp_path / "PARAMS" / "safetab.toml")
    (command,) = commands(page)
    assert command == "discreet safetab design PARAMS --error 0.2 --of total --delta 1e-10"
    printed = " ".join(shell(command).split())
    row = page.locator("tr", has=page.get_by_role("textbox", name="rho of COUNTY, detailed", exact=True))
    _, margin, *sizes = [text.replace("\xa0", " ") for text in row.locator("td").all_inner_texts()][:6]
    for figure in (value(page, "Epsilon, added"), value(page, "Epsilon, replaced"), margin[2:], *sizes):
        assert figure in printed
