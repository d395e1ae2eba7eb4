"""What an adversary learns is told once: text, JSON and HTML of a result are those of its one answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from discreet.answers import Quantity, describe
from discreet.answers.answer import AnswerTable, Bullets, Marked, Paragraph, Sentence
from discreet.answers.risk import risk_facts
from discreet.answers.risk_explain import explain_answer
from discreet.answers.risk_hierarchy import hierarchy_answer
from discreet.answers.risk_table import table_risk_answer
from discreet.cli import run
from discreet.disclosure import Area, explain_profile, hierarchy_posterior, risk_profile, table_risk
from discreet.disclosure.category import categories
from discreet.disclosure.counts import one_count, several_counts
from discreet.render.csv import csv_of
from discreet.render.html import html_of
from discreet.render.text import text_of

RHOS = {"block": "0.0992", "block_group": "0.2465"}
ROWS = "level,value,variance\nBlock,8,5\nBlock,1,5\nState,70,5\n"


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def output(*arguments: str) -> str:
        capsys.readouterr()
        assert run(["risk", *arguments]) == 0
        return capsys.readouterr().out

    return output


def cases() -> dict[str, tuple[object, list[str]]]:
    areas = [
        Area(name="block", noisy=2, variance=5, siblings=3),
        Area(name="group", noisy=9, variance=2, given_smaller="poisson:6"),
    ]
    options = ["--area", "name=block,noisy=2,variance=5,siblings=3"]
    options += ["--area", "name=group,noisy=9,variance=2,given=poisson:6"]
    single = ["single", "--prior", "1/2", "--prior", "1/864"]
    return {
        "one count": (
            one_count([3, 0], prior=["1/2", "1/864"], variance="10", unsure=20, chance=["1/10"]),
            [
                *single,
                "--noisy",
                "3",
                "--noisy",
                "0",
                *["--variance", "10", "--unsure", "20", "--chance", "1/10"],
            ],
        ),
        "several counts": (
            several_counts([2, 10**6], prior=["1/2", "1/864"], variance=["10", "4"]),
            [
                *single,
                *["--noisy", "2", "--noisy", "1000000", "--variance", "10", "--variance", "4", "--together"],
            ],
        ),
        "a hierarchy": (hierarchy_posterior(areas, prior="1/10"), ["hierarchy", *options, "--prior", "1/10"]),
        "categories": (
            categories(variance=["5", "2"], prior=["1", "2", "3"]),
            [
                "categories",
                *["--variance", "5", "--variance", "2"],
                *["--prior", "1", "--prior", "2", "--prior", "3"],
            ],
        ),
        "a release": (
            risk_profile(RHOS, prior=["1/2", "1/100"]),
            [
                "release",
                "--rho",
                "block=0.0992",
                "--rho",
                "block_group=0.2465",
                *["--prior", "1/2", "--prior", "1/100"],
            ],
        ),
    }


@pytest.mark.parametrize("name", ["one count", "several counts", "a hierarchy", "categories", "a release"])
def test_every_surface_renders_the_one_answer(name: str, printed: Callable[..., str]) -> None:
    result, command = cases()[name]
    answer = describe(result)
    assert json.loads(printed(*command, "--json")) == json.loads(json.dumps(answer.objects))
    text = "".join(f"{part}\n" for part in text_of(answer))
    if name != "a release":
        assert printed(*command) == text
    else:
        assert printed(*command, "--quiet") == text
    page = html_of(answer)
    for fact in answer.facts:
        assert isinstance(fact.value, Quantity)
        assert fact.value.machine is not None
    tables = [part for part in answer.body if isinstance(part, AnswerTable)]
    assert tables
    for table in tables:
        # the first cell names its row
        assert all(
            f">{cell}</{'td' if place else 'th'}>" in page
            for row in table.cells
            for place, cell in enumerate(row)
        )


def test_a_table_is_told_alike(tmp_path: Path, printed: Callable[..., str]) -> None:
    file = tmp_path / "t.csv"
    file.write_text(ROWS)
    for options, known in (([], None), (["--known", "0"], 0)):
        answer = table_risk_answer(table_risk(file, prior="1/10", known=known), table=str(file))
        found = json.loads(printed("table", str(file), "--prior", "1/10", *options, "--json"))
        assert found.pop("seconds") >= 0
        assert found == json.loads(json.dumps(answer.objects))
        text = "".join(f"{part}\n" for part in text_of(answer))
        assert printed("table", str(file), "--prior", "1/10", *options, "--quiet") == text


def test_a_page_is_its_answer_and_has_the_numbers_of_the_table() -> None:
    profile = risk_profile(RHOS, prior="1/100")
    answer = explain_answer(profile, title="Two counts")
    page = explain_profile(profile, title="Two counts")
    text = "".join(f"{line}\n" for line in text_of(answer))
    assert page == answer.record["page"]
    assert max(map(len, text.splitlines())) <= 120  # prose is wrapped; tables are as wide as they need
    plain = re.sub(r"[*\\`]", "", page), text.partition("Note: ")[0]
    said, printed_words = (re.sub(r"[#|─-]+", " ", one).split() for one in plain)
    assert printed_words == said
    notes = "".join(
        f"Note: Some of these numbers are about rhos, without the other {part}s, in rows of one {part}.\n"
        for part in ("count", "level")
    )
    assert text.replace("\n  ", " ").endswith(notes)
    assert "Left out: other levels" in page
    assert {**answer.record, "page": "", "best_guess": ""} == {
        **describe(profile).record,
        "page": "",
        "best_guess": "",
    }
    whole = page.rpartition("| everything published |")[2].split(" | ")
    right, advantage, mean, median = (str(fact.value) for fact in risk_facts(profile))
    assert [f"{whole[0].strip()} %", *whole[1:3]] == [right, advantage, mean]
    assert f"{median} or less for at least half of them" in page


def quantities(words: Sentence | Marked) -> Iterator[Quantity]:
    for one in words.parts:
        if isinstance(one, Marked):
            yield from quantities(one)
        elif isinstance(one, Quantity):
            yield one


def test_numbers_in_sentences_are_quantities() -> None:
    """So that a page can show their unrounded values."""
    answer = describe(risk_profile(RHOS, prior="1/100"))
    said = explain_answer(risk_profile(RHOS, prior="1/100"))
    said_parts = [one for part in said.body for one in (part.items if isinstance(part, Bullets) else (part,))]
    parts = [part.text if isinstance(part, Paragraph) else part for part in (*answer.body, *said_parts)]
    values = [one.value for text in parts if isinstance(text, Sentence) for one in quantities(text)]
    assert risk_profile(RHOS, prior="1/100").overall[0].expected in values
    assert risk_profile(RHOS, prior="1/100").overall[0].accuracy in values


def test_the_other_law_of_the_siblings_is_told_beside() -> None:
    block = Area(name="block", noisy=2, variance="1/5", siblings=4, siblings_noisy=-1)
    group = Area(name="group", noisy=1, variance="1/5")
    exact, single = (
        hierarchy_posterior([block, group], prior="1/2", siblings=law) for law in ("exact", "single")
    )
    told = hierarchy_answer(exact, other=single.probability)
    assert told.objects["posterior_other_siblings"] == single.probability
    parts = (str(part).replace("\n ", "") for part in text_of(told))
    (last,) = (part for part in parts if "a difference of" in part)
    assert f"the posterior is {single.probability:.6g}, a difference of" in last
    said = float(last.partition("at most ")[2].split()[0])
    assert exact.sibling_error * (1 - 1e-11) <= said < 1.1 * exact.sibling_error


def test_files_have_all_digits() -> None:
    profile = risk_profile(RHOS, prior="1/3")
    head, *rows = csv_of(describe(profile).tables["risks"]).splitlines()
    assert head.startswith("scope,what,prior,baseline,accuracy,advantage,expected_posterior,quantile_0.05")
    assert [float(row.split(",")[4]) for row in rows] == [row.accuracy for row in profile.rows]
