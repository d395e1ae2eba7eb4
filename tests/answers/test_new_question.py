"""A new question is a result and one function that describes it: every surface then shows the answer."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from discreet.answers import (
    Answer,
    AnswerTable,
    Caution,
    Column,
    Fact,
    NumberKind,
    Quantity,
    Style,
    describe,
    describes,
    sentence,
)
from discreet.answers.describing import _FUNCTIONS
from discreet.answers.figure import Axis, Bars, Notation, Panel, Picture, points
from discreet.answers.quantity import Claimed
from discreet.budget.scope import Scope
from discreet.cli.console import Outputs, Screen
from discreet.errors import InputError
from discreet.faces import Displayed, Summarised
from discreet.render.charts import charts_of
from discreet.render.csv import csv_of
from discreet.render.html import html_of
from discreet.render.json import json_of
from discreet.render.pictures import figure_of, picture_bytes
from discreet.render.text import text_of
from discreet.render.tiles import tiles_of

CHANCE = 0.0123456789
NEEDLE = "12,346"  # the largest group, as people read it


@dataclass(frozen=True, slots=True)
class Uniqueness(Summarised):
    """Invented: how many people are the only ones of their kind, in areas of several sizes."""

    areas: tuple[tuple[str, int, float], ...]
    chance: float


@pytest.fixture
def found() -> Iterator[Uniqueness]:
    """The new result; its one describing function is known as long as the test lasts."""

    @describes(Uniqueness)
    def uniqueness_answer(found: Uniqueness) -> Answer:
        scope = Scope.whole("areas", unit="person", neighbours="")
        chance = Claimed(value=found.chance, kind=NumberKind.AT_MOST, scope=scope, digits=3)
        columns = (Column("area", "area", is_text=True), Column("people", "people"), Column("alone", "alone"))
        rows = tuple(
            (area, Quantity(people, Style.COUNT), Quantity(alone, Style.PERCENT))
            for area, people, alone in found.areas
        )
        table = AnswerTable(columns, rows)
        names = tuple(area for area, _, _ in found.areas)
        bars = Bars(points(range(len(names)), (alone for _, _, alone in found.areas)), "alone")
        share = Axis("share who are alone", low=0.0, written=Notation.PERCENT)
        picture = Picture((Panel(Axis(names=names), share, (bars,)),), "Who is alone, in $")
        said = sentence("A person is alone with a chance of {chance}.", chance=chance.claimed)
        return Answer(
            "Who is alone <here>",
            {"chance": chance, "areas": table},
            (said, table),
            (Fact("Alone", chance, "a bound"), Fact("Areas", Quantity(len(rows), Style.COUNT))),
            (Caution("An invented question."),),
            {"areas": table},
            summary=said,
            figures={"areas": lambda: picture},
        )

    yield Uniqueness((("State", 12346, 0.001), ("Tract & block", 40, 0.25)), CHANCE)
    del _FUNCTIONS[Uniqueness]


def test_text(found: Uniqueness, capsys: pytest.CaptureFixture[str]) -> None:
    Screen(quiet=True).tell(describe(found))
    shown = capsys.readouterr().out
    assert shown.splitlines()[0] == "A person is alone with a chance of at most 0.0124."  # rounded up
    assert shown.splitlines()[-1] == "Note: An invented question."
    assert NEEDLE in shown
    assert "".join(f"{part}\n" for part in text_of(describe(found))) == shown


def test_json(found: Uniqueness, capsys: pytest.CaptureFixture[str]) -> None:
    Screen(json=True).tell(describe(found), timed=True)
    told = json.loads(capsys.readouterr().out)
    assert told.pop("seconds") >= 0
    assert told == json.loads(json_of(describe(found)))
    assert told["chance"] == CHANCE  # with all its digits
    assert told["areas"][0] == {"area": "State", "people": 12346, "alone": 0.001}


def test_csv(found: Uniqueness) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_of(describe(found).tables["areas"]))))
    assert rows[1] == {"area": "Tract & block", "people": "40", "alone": "0.25"}


def test_html_and_a_notebook(found: Uniqueness) -> None:
    page = html_of(describe(found))
    assert found._repr_html_() == page
    assert "<h3>Who is alone &lt;here&gt;</h3>" in page
    assert f'<td style="text-align: right; padding: 0 0.5em">{NEEDLE}</td>' in page
    assert "Tract &amp; block" in page
    assert '<p class="caution">Note: An invented question.</p>' in page


def test_a_picture_in_a_file(found: Uniqueness, tmp_path: Path) -> None:
    drawn = describe(found).figures["areas"]
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        target = tmp_path / f"areas.{kind}"
        Outputs(plot=target).write({"--plot": drawn})  # what --plot of a command does
        made = target.read_bytes()
        assert made.startswith(start)
        assert made == picture_bytes(drawn(), kind)
    (ax,) = figure_of(drawn()).axes
    assert [bar.get_height() for bar in ax.patches] == [0.001, 0.25]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["State", "Tract & block"]
    assert "20 %" in [tick.get_text() for tick in ax.get_yticklabels()]


def test_a_live_chart(found: Uniqueness) -> None:
    (chart,) = charts_of(describe(found).figures["areas"]())
    assert chart["xAxis"]["data"] == ["State", "Tract & block"]
    assert chart["yAxis"]["name"] == "share who are alone"
    (bars,) = chart["series"]
    assert (bars["type"], bars["name"]) == ("bar", "alone")
    assert [at[1] for at in bars["data"]] == [0.001, 0.25]
    json.dumps(chart)  # as it is sent to the browser


def test_a_picture_on_a_page(found: Uniqueness) -> None:
    page = html_of(describe(found))
    assert '<figure style="max-width: 45em; margin: 1em 0"><svg' in page
    assert 'role="img" aria-label="Who is alone, in $"' in page
    assert "share who are alone</text>" in page
    assert "Tract &amp; block</text>" in page


def test_print(found: Uniqueness) -> None:
    assert str(found) == "A person is alone with a chance of at most 0.0124."


def test_tiles(found: Uniqueness) -> None:
    assert tiles_of(describe(found)) == (("Alone", "at most 0.0124", "a bound"), ("Areas", "2", ""))


def test_a_result_that_nothing_describes_says_so() -> None:
    class Nothing(Displayed):
        pass

    with pytest.raises(InputError, match="nothing describes a result of type Nothing"):
        Nothing()._repr_html_()
