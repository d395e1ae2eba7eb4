"""A risk says of what it is true: one query of three, one level, the main pair, one column, one count."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.answers import describe
from discreet.answers.answer import Answer
from discreet.budget import AnswerKind, Attributes, Level, Query, Release, Spine, load_file
from discreet.cli import run
from discreet.disclosure import (
    Area,
    explain_profile,
    hierarchy_posterior,
    records_risk,
    risk,
    risk_profile,
    table_risk,
)
from discreet.disclosure.category import release_categories
from discreet.measurement import write_example
from discreet.render.html import html_of
from discreet.render.text import text_of

AGES = Attributes({"age": ["0-17", "18-64", "65+"], "sex": ["f", "m"]})


def release(
    queries: tuple[str, ...] = ("age", "sex", "total"), levels: str = "AB", merging: bool = False
) -> Release:
    return Release(
        name="small",
        neighbours="bounded" if merging else "unbounded",
        attributes=AGES,
        levels=[
            Level(
                name=name, queries=[Query(name=one, variance=3 + place) for place, one in enumerate(queries)]
            )
            for name in levels
        ],
        **({"spine": Spine(may_merge_up=["B"])} if merging else {}),  # type: ignore[arg-type]
    )


def words(answer: Answer) -> str:
    return " ".join(" ".join(text_of(answer)).split())


def told(answer: Answer) -> set[str]:
    """The words of what is less than the whole: on the page as well as in the text."""
    notes = {str(one) for one in answer.scopes}
    page = html_of(answer)
    for note in notes:
        assert note in words(answer)
        assert note in page
    return notes


def test_one_count_of_three_and_one_level_of_two_are_named() -> None:
    notes = told(describe(risk_profile(release(), prior="1/2")))
    assert notes == {
        "Note: Some of these numbers are about part of small only: the counts A: age and B: age, 2 of 6, "
        "without the other counts, in rows of one count.",
        "Note: Some of these numbers are about small, without the other levels, in rows of one level.",
    }
    alone = told(describe(risk_profile(release(("age",), "A"), prior="1/2")))
    assert alone == set()


@pytest.mark.parametrize(
    ("queries", "levels", "said"),
    [
        (("age", "sex"), "AB", "2 of 4"),
        (("age", "sex", "total"), "A", "1 of 3"),
        (("age",), "AB", "the other levels"),
    ],
)
def test_another_part_has_other_words(queries: tuple[str, ...], levels: str, said: str) -> None:
    assert any(said in note for note in told(describe(risk_profile(release(queries, levels), prior="1/2"))))


def test_the_main_pair_is_named_and_all_pairs_are_not() -> None:
    merged = release(merging=True)
    every, main = (
        describe(risk_profile(merged, prior="1/2", pairs=pairs))  # type: ignore[arg-type]
        for pairs in ("all", "main")
    )
    assert "pair of paths" not in words(every)
    said = "These numbers are about part of small only: the pair of paths (1, 1), 1 of 3."
    assert words(main).count(said) == 1  # under the title, and not again as a note
    assert not any("pair of paths" in note for note in told(main))
    assert any("without paths other than the main one" in note for note in told(every))


def test_a_row_without_a_scope_cannot_be_shown() -> None:
    profile = risk_profile(release(), prior="1/2")
    (row,) = profile.overall
    with pytest.raises(TypeError, match="does not say of what it is true"):
        replace(profile, overall=(replace(row, claim=None),))


def test_the_envelope_of_several_cases_is_a_bound_and_one_case_is_exact() -> None:
    """Two cases whose curves cross: between them the envelope lies below both, and nobody attains it."""
    one = risk(release(("age",), "A"), prior="1/2", false_positive_rates=["1e-3", "1e-1"])
    assert {row.claim.kind for row in one.detections} == {AnswerKind.EXACT}
    variances: dict[str, int | Fraction] = {"S": 4, "C": Fraction(1, 2), "B": 9}
    levels = [Level(name=name, queries=[Query(name="t", variance=v)]) for name, v in variances.items()]
    merged = Release(name="m", neighbours="bounded", levels=levels, spine=Spine(may_merge_up=["C", "B"]))
    rates = [f"{10**-k:.6f}" for k in np.linspace(0.1, 1.3, 4)]
    found = risk(merged, prior="1/2", false_positive_rates=rates, guess=["1/100"])
    assert found.account is not None
    for row, rate in zip(found.detections, rates, strict=True):
        assert row.case is not None
        own = 1 - float(found.account.case(row.case).tradeoff(alpha=rate))
        assert own <= row.true_positive_rate + 1e-9
        assert (row.claim.kind is AnswerKind.EXACT) is (own >= row.true_positive_rate - 1e-6)
    assert {row.claim.kind for row in found.detections} == {AnswerKind.EXACT, AnswerKind.BOUND}


def test_the_page_of_explain_names_what_each_number_is_about() -> None:
    page = explain_profile(risk_profile(release(), prior="1/2"))
    assert "from the count that tells most at even odds" in page
    assert "most informative" not in page


def test_another_count_may_tell_more_from_another_prior() -> None:
    """Why the words say "at even odds": the order of two counts turns with the prior."""
    laws = {"a": {"scale": 1}, "b": {"variance": "1.6"}}
    single = {
        name: risk_profile(
            Release(
                name=name, neighbours="unbounded", levels=[Level(name="A", queries=[Query(name="q", **law)])]
            ),
            prior=["1/2", "1/20"],
        )  # type: ignore[arg-type]
        for name, law in laws.items()
    }
    rights = {name: [row.accuracy for row in one.one_count] for name, one in single.items()}
    even, rare = (rights["a"][place] - rights["b"][place] for place in (0, 1))
    assert even > 0 > rare


@pytest.mark.slow
def test_records_say_which_query_of_how_many(tmp_path: Path) -> None:
    file, units, every, _ = write_example(tmp_path)
    records = tmp_path / "some.csv"
    records.write_text("".join(Path(every).read_text().splitlines(keepends=True)[:120]))
    found = records_risk(load_file(file), records, units=units, priors=["1/10"])
    answer = describe(found)
    assert found.scope.words == "the query detailed, 1 of 5"
    notes = told(answer)
    assert any("part of health-survey only: the query detailed, 1 of 5" in note for note in notes)
    assert any("without the other levels, in rows of one level" in note for note in notes)
    assert "All of them see the query detailed, 1 of 5" in words(answer)
    claims = {json.dumps(row["claims"]["mean_posterior"]["scope"]["parts"]) for row in answer.objects["rows"]}  # type: ignore[attr-defined, index]
    assert claims == {'[{"part": "query", "taken": 1, "of": 5, "names": ["detailed"]}]'}


@pytest.mark.slow
def test_records_of_another_query_name_that_one(tmp_path: Path) -> None:
    file, units, records, _ = write_example(tmp_path)
    other = records_risk(load_file(file), records, units=units, priors=["1/10"], query="age")
    assert "the query age, 1 of 5" in words(describe(other))


def test_together_the_queries_tell_more_than_the_one_that_is_looked_at() -> None:
    """So "sees the counts of all levels" is true of one query: another one tells more."""
    one, two = (
        risk_profile(release(queries, "A"), prior="1/10").levels[0].expected
        for queries in (("age",), ("age", "sex"))
    )
    assert two > one


def test_categories_say_which_queries_and_levels_speak() -> None:
    notes = told(describe(release_categories(release(), query="age")))
    assert notes == {"Note: These numbers are about part of small only: the query age, 1 of 3."}
    both = told(describe(release_categories(release(), query="age", asked="age")))
    assert both == notes
    assert told(describe(release_categories(release(("age",)), query="age"))) == set()


def test_a_hierarchy_names_the_areas_without_a_number() -> None:
    block = Area(name="block", noisy=2, variance=5, siblings=3)
    group = Area(name="group", noisy=9, variance=2)
    (note,) = told(describe(hierarchy_posterior([block, group], prior="1/2")))
    assert note.endswith(
        "These numbers are about block and group, without the areas beside block, without other published "
        "counts."
    )
    unseen = Area(name="group", variance=2, count=9)
    (other,) = told(describe(hierarchy_posterior([block, unseen], prior="1/2")))
    assert "the noisy count block, 1 of 2" in other
    seen = replace_siblings(block)
    (third,) = told(describe(hierarchy_posterior([seen, group], prior="1/2")))
    assert "beside block" not in third


def replace_siblings(area: Area) -> Area:
    return Area(name=area.name, noisy=area.noisy, variance=area.variance, siblings=3, siblings_noisy=4)


def test_rows_of_a_table_are_taken_alone(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("level,value,variance\nA,4,5\nA,9,5\n")
    (note,) = told(describe(table_risk(file, prior="1/10", known=3)))
    assert "each row alone, without the other rows about the same people" in note


def test_single_counts_are_alone_or_together(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["risk", "single", "--prior", "1/2", "--variance", "5", "--noisy", "3"]
    for more, of in ((), "one noisy count"), (("--noisy", "7"), "each of 2 noisy counts alone"):
        assert run([*asked, *more]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert f"These numbers are about {of}, without other published counts." in text
        assert run([*asked, *more, "--json"]) == 0
        (first, *_) = json.loads(capsys.readouterr().out)["results"]
        assert first["claims"]["posterior"]["scope"]["of"] == [of]


def test_the_command_and_its_json_say_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.toml"
    file.write_text(release().to_toml())
    assert run(["risk", "release", str(file), "--prior", "1/2", "--quiet"]) == 0
    assert "2 of 6, without the other counts" in " ".join(capsys.readouterr().out.split())
    assert run(["risk", "release", str(file), "--prior", "1/2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    scopes = [row["claims"]["accuracy"]["scope"] for row in rows]
    assert [scope["whole"] for scope in scopes] == [False, False, False, False, True]
    assert scopes[0]["parts"] == [{"part": "count", "taken": 2, "of": 6, "names": ["A: age", "B: age"]}]
    assert run(["risk", "explain", str(file), "--prior", "1/2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"][0]["claims"]["accuracy"]["scope"] == scopes[0]
