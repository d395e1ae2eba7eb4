"""The Risk page: its numbers are those of `discreet risk`, by the command line that it shows."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from browsing import value, wait_for_text, wait_for_value

from discreet.answers import NumberKind, Quantity, Style
from discreet.answers.adversary import attack_command, attacked_answer
from discreet.answers.answer import AnswerTable, Paragraph
from discreet.answers.best_guess import leading_sentence
from discreet.answers.risk import belief_sentence
from discreet.answers.risk_categories import categories_answer
from discreet.budget import Level, Query, Release, load
from discreet.disclosure import decision_accuracy, explain_profile, posterior, risk_profile
from discreet.disclosure.adversary import Adversary, attacked
from discreet.disclosure.best_guess import best_guess
from discreet.disclosure.category import Categories, release_categories
from discreet.errors import InputError
from discreet.workbench import adversary as plan
from discreet.workbench.commands import command_line
from discreet.workbench.state import State, to_link
from discreet.workbench.tasks import best_on_main_path

pytestmark = pytest.mark.xdist_group("workbench")  # one server and one browser for all

PRESET = "dhc-2022-08-25"


LEVELS = ".wb-chart[aria-label^='Right decisions from one count']"


def asked(**settings: str) -> Adversary:
    found = plan.adversary(State.of(PRESET).with_settings("risk", settings))
    assert found is not None
    return found


def shown(part: float) -> str:
    """A percentage as the page writes it, on one line."""
    return str(Quantity(part, Style.PERCENT, digits=2)).replace(" ", "\xa0")


def belief(part: float) -> str:
    """A belief as the page writes it."""
    return str(Quantity(part, Style.CHANCE))


def bound(part: float) -> str:
    """A bound as the page writes it."""
    return f"{Quantity(part, Style.HUNDRED, NumberKind.AT_MOST)}\xa0%"


def run(command: str) -> Any:
    arguments = [sys.executable, "-m", "discreet", *shlex.split(command)[1:], "--json"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "settings",
    [
        {"level": "State", "published": "-4", "known": "2", "prior": "1/5"},
        {"scenario": "unsure", "level": "State", "people": "6", "chance": "1/4", "published": "5"},
        {"scenario": "floor", "level": "State", "published": "0"},
    ],
)
def test_one_count_as_on_the_command_line(settings: dict[str, str]) -> None:
    question = asked(**settings)
    found = attacked(question)
    said = run(attack_command(question))
    assert found.posterior == said["results"][0]["posterior"]
    assert found.ratio == said["results"][0]["ratio"]
    means = said["averages"][0]
    assert found.mean_present == means["expected_posterior_given_present"]
    assert found.mean_absent == means["expected_posterior_given_absent"]
    assert list(found.right) == [means[f"accuracy_given_{truth}"] for truth in ("present", "absent", "prior")]
    assert dict(found.curve)[question.published] == pytest.approx(found.posterior, rel=1e-14)


def test_several_counts_as_on_the_command_line() -> None:
    question = asked(scenario="several", published="3", prior="1/3")
    assert len(question.counts) == len(load(PRESET).levels)
    found = attacked(question)
    (said,) = run(attack_command(question))["results"]
    assert found.posterior == pytest.approx(said["posterior"], rel=1e-13)
    assert found.ratio == pytest.approx(said["ratio"], rel=1e-13)
    assert found.right[2] == pytest.approx(said["accuracy"]["prior"], rel=1e-9)


def test_the_area_above_as_on_the_command_line() -> None:
    question = asked(scenario="hierarchy", published="7", siblings="3", beside="-2", above="4", known="1")
    assert [count.level for count in question.counts] == [level.name for level in load(PRESET).levels][:-3:-1]
    found = attacked(question)
    said = run(attack_command(question))
    assert found.posterior == said["posterior"]
    assert found.right is None
    assert dict(found.curve)[7] == pytest.approx(found.posterior, rel=1e-9)  # by another method
    top = asked(scenario="hierarchy", level=load(PRESET).levels[0].name)
    with pytest.raises(InputError, match="no area above"):
        attacked(top)


def test_bounds_are_the_profile() -> None:
    release = load("pl94-2020-persons")
    main = best_on_main_path(release, neighbours="bounded", prior="1/3")
    assert main.profile == risk_profile(release, prior="1/3", pairs="main")
    assert dict(main.line)[0.5] == pytest.approx(
        risk_profile(release, pairs="main").overall[0].accuracy, rel=1e-12
    )
    found = risk_profile(release, neighbours="bounded", prior="1/3")
    assert found == risk_profile(release, prior="1/3")


def test_what_is_said_of_everything_is_what_explain_says() -> None:
    profile = risk_profile(load("pl94-2020-persons"), neighbours="bounded", prior="1/2")
    right, belief = str(leading_sentence(best_guess(profile))), str(belief_sentence(profile))
    page = explain_profile(profile).replace("*", "")
    assert right in page
    assert belief in page
    assert "whatever they know" not in right


def test_the_release_as_it_is_now_is_attacked() -> None:
    state = State.of(PRESET)
    half = state.with_total(Fraction(1, 2))
    first, second = plan.adversary(state), plan.adversary(half)
    assert second.counts[0].variance == 2 * first.counts[0].variance
    variances = [str(one.counts[0].variance) for one in (first, second)]
    assert attack_command(second) == attack_command(first).replace(*variances)
    assert (
        command_line(half, "risk release", "--prior", "1/2")
        == "discreet risk release release.toml --prior 1/2"
    )


def test_every_sentence_names_its_adversary() -> None:
    for scenario in plan.SCENARIOS:
        question = asked(scenario=scenario, prior="1/864")
        said = [str(part) for part in attacked_answer(attacked(question)).body]
        assert said[0].startswith("Someone who knows")
        assert "a chance of 1 in 864" in said[0]
        assert all("adversary" in text for text in said)


@pytest.mark.parametrize("text", ["0", "1", "-1/2", "x", "1e-301"])
def test_wrong_priors(text: str) -> None:
    with pytest.raises(InputError, match="the prior"):
        plan.read_chance(text)


@pytest.mark.parametrize("text", ["", "1.5", "--3", "9" * 30, "1e3"])
def test_wrong_whole_numbers(text: str) -> None:
    with pytest.raises(InputError, match="whole number"):
        plan.read_count(text, "the known count")


def test_a_release_without_such_counts_has_no_question() -> None:
    queries = [Query(name="pairs", variance=4, sensitivity=2), Query(name="total", scale=3)]
    other = Release(name="other", neighbours="unbounded", levels=[Level(name="State", queries=queries)])
    assert plan.adversary(State(other, other.name, False)) is None
    assert plan.adversary(State.of("sdhc-2020")) is not None  # households are counted one by one


# -- in a browser ----------------------------------------------------------------------------------------


CUT_OFF = """() => [...document.querySelectorAll('.wb-chart text')].filter(e => {
    const text = e.getBoundingClientRect(), whole = e.closest('svg').getBoundingClientRect();
    return text.left < whole.left || text.right > whole.right; }).map(e => e.textContent)"""
"""Labels of charts that reach beyond them."""


def test_controls_change_the_numbers_to_those_of_the_functions(visit: Callable[..., Any]) -> None:
    page = visit("/risk", preset=PRESET)
    page.get_by_role("combobox", name="Level", exact=True).select_option("State")
    page.get_by_role("textbox", name="published", exact=True).fill("6")
    page.get_by_role("textbox", name="others known", exact=True).fill("2")
    page.get_by_role("textbox", name="Prior, exact", exact=True).fill("1/5")
    question = asked(level="State", published="6", known="2", prior="1/5")
    variance = question.counts[0].variance
    wait_for_value(page, "Belief afterwards", belief(posterior(6, variance=variance, prior="1/5", known=2)))
    right = decision_accuracy(variance=variance, prior="1/5", given="prior")
    wait_for_value(page, "Right decisions", shown(right))
    wait_for_text(page, attack_command(question))
    page.wait_for_selector("[data-complete-risk=true]")
    profile = risk_profile(load(PRESET), prior="1/5")
    best = profile.overall[0].accuracy
    wait_for_value(page, "Right decisions, all", bound(best))
    # the tiles have the digits of the sentence below them
    sentence = str(belief_sentence(profile))
    wait_for_text(page, sentence)
    assert f"of at most {value(page, 'Mean belief if there, all')} on average" in sentence
    assert f" {value(page, 'Median belief')} or less for at least half" in sentence
    assert "Optimized block group" in page.locator(LEVELS).text_content()
    assert not page.evaluate(CUT_OFF)
    updates = int(page.locator("[data-risk-updates]").text_content())
    slider = page.get_by_role("slider", name="Published count", exact=True)
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    step = max(1, -(-question.reach // 24))
    seen = 2 + step * (round((6 - 2) / step) + 4)
    wait_for_value(
        page, "Belief afterwards", belief(posterior(seen, variance=variance, prior="1/5", known=2))
    )
    assert int(page.locator("[data-risk-updates]").text_content()) > updates
    page.get_by_role("combobox", name="What the adversary sees").select_option("whole")
    page.locator(".wb-value[aria-label='Belief afterwards']").wait_for(state="hidden")
    assert value(page, "Right decisions, all") == bound(best)


@pytest.mark.slow
def test_a_narrow_chart_has_room_for_its_labels(visit: Callable[..., Any]) -> None:
    page = visit("/risk", preset=PRESET, viewport={"width": 420, "height": 900})
    page.wait_for_selector("[data-complete-risk=true]")
    assert "Optimized block group" in page.locator(LEVELS).text_content()
    assert not page.evaluate(CUT_OFF)


CATEGORIES = """
name = "cats"
neighbours = "bounded"
[attributes]
sex = ["f", "m"]
age = ["0-17", "18-64", "65+"]
[[levels]]
name = "State"
queries = { "sex * age" = { variance = 4 } }
[[levels]]
name = "Block"
queries = { "sex * age" = { variance = 2 }, "age" = { variance = 1 } }
"""


def told(found: Categories) -> list[str]:
    """The sentences that the command prints."""
    parts = categories_answer(found).body
    texts = [one.text if isinstance(one, Paragraph) else one for one in parts]
    return [str(one) for one in texts if not isinstance(one, AnswerTable) and str(one)]


def test_which_category_is_answered_as_on_the_command_line(visit: Callable[..., Any]) -> None:
    release = Release.from_toml(CATEGORIES)
    page = visit(f"/risk?s={to_link(State(release, 'cats.toml', False))}")
    card = page.get_by_role("region", name="Which category is theirs")
    for name, question in (("", None), ("age", "age")):
        found = release_categories(release, asked=question)
        if name:
            card.get_by_role("combobox", name="What is asked").select_option(name)
        for text in told(found):
            card.get_by_text(text, exact=True).wait_for(state="visible")
        right = str(categories_answer(found).facts[0].value)
        assert card.locator(".wb-value").inner_text().replace("\xa0", " ") == right
        rows = card.locator("tbody tr")
        assert rows.count() == len(found.guesses) == 2
        cells = [
            text.strip().replace("\xa0", " ") for text in rows.nth(1).locator("th, td").all_inner_texts()
        ]
        (table,) = [one for one in categories_answer(found).body if isinstance(one, AnswerTable)]
        assert cells == table.cells[1]
    # the question is a part of the link, so that a reload asks it again
    page.reload()
    card.get_by_text(told(found)[0], exact=True).wait_for(state="visible")


@pytest.mark.slow
def test_a_release_without_attributes_has_no_card_of_categories(visit: Callable[..., Any]) -> None:
    page = visit("/risk", preset=PRESET)
    page.wait_for_selector("[data-complete-risk=true]")
    assert not page.get_by_role("region", name="Which category is theirs").is_visible()


@pytest.mark.slow
def test_on_a_narrow_page_everything_published_leads(visit: Callable[..., Any]) -> None:
    page = visit("/risk", preset=PRESET, viewport={"width": 400, "height": 900})
    page.wait_for_selector("[data-complete-risk=true]")
    tops = [
        page.locator(place).first.bounding_box()["y"]
        for place in (
            ".wb-value[aria-label='Right decisions, all']",
            "select[aria-label='What the adversary sees']",
            ".wb-value[aria-label='Belief afterwards']",
        )
    ]
    assert tops == sorted(tops)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.slow
def test_wrong_input_is_said_beside_it_and_the_page_lives_on(visit: Callable[..., Any]) -> None:
    page = visit("/risk", preset=PRESET)
    page.get_by_role("combobox", name="What the adversary sees").select_option("unsure")
    for name, wrong, message in (
        ("Prior, exact", "1", "strictly between 0 and 1"),
        ("others known", "-1", "from 0 to"),
        ("published", "1.5", "whole number"),
        ("unsure about", "0", "from 1 to"),
        ("probability of each", "2", "the probability of each of them is 2"),
    ):
        field = page.get_by_role("textbox", name=name, exact=True)
        field.fill(wrong)
        beside = page.locator(".wb-field", has=field).locator("[role=alert]")
        beside.filter(has_text=message).wait_for(state="visible")
    question = asked(scenario="unsure")
    wait_for_value(page, "Belief afterwards", belief(attacked(question).posterior))
    page.get_by_role("textbox", name="others known", exact=True).fill("5")
    question = asked(scenario="unsure", known="5")
    wait_for_value(page, "Belief afterwards", belief(attacked(question).posterior))
