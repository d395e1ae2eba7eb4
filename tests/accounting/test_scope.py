"""A number says of what it is true: what was left out inside changes the words, on every surface."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.account import Account, Point, account, portfolio
from discreet.answers.answer import Answer, Bullets, Paragraph, sentence
from discreet.answers.quantity import Claimed, NumberKind, Quantity
from discreet.budget import AnswerKind, Claim, Level, Query, Release, Spine, load
from discreet.budget.scope import Extent, Scope
from discreet.cli import run
from discreet.disclosure import risk_profile
from discreet.ledger import Ledger, ledger_cost
from discreet.render.html import html_of
from discreet.render.text import text_of
from discreet.render.tiles import tile_of

VARIANCES = {"S": 4, "C": Fraction(1, 2), "B": 9}


def merging() -> Release:
    levels = [Level(name=name, queries=[Query(name="t", variance=size)]) for name, size in VARIANCES.items()]
    return Release(name="r", neighbours="bounded", levels=levels, spine=Spine(may_merge_up=["C", "B"]))


def words(answer: Answer) -> str:
    return " ".join(" ".join(text_of(answer)).split())


def test_a_claim_without_a_scope_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="scope"):
        Claim()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="scope"):
        Claimed(value=1.0, kind=NumberKind.EXACT)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="kind"):
        Quantity(1.0, kind=NumberKind.EXACT)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="claim"):
        Point(1.0, 1e-6, (1, 1))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="every"):
        Account("r", "person", "bounded", [], (1, 1))  # type: ignore[call-arg]


@pytest.mark.parametrize("left_out", [0, 3, 9])
def test_leaving_one_pair_out_changes_the_words(left_out: int) -> None:
    whole = account(merging())
    assert whole.pairs == 10
    assert whole.claim.scope.is_whole
    labels = [label for number, (label, _) in enumerate(whole.cases) if number != left_out]
    partial = whole.only(labels)
    assert partial.claim.scope.words == "9 of 10 pairs of paths"
    assert not partial.claim.scope.is_whole
    (point,) = partial.at_delta("1e-6")
    assert "9 of 10 pairs of paths" in str(point)


def test_one_pair_is_named_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "r.toml"
    file.write_text(merging().to_toml())
    assert run(["account", str(file), "--pair", "4", "4", "--delta", "1e-6", "--quiet"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("the pair of paths (4, 4), 1 of 10") == 1
    assert run(["account", str(file), "--pair", "4", "4", "--delta", "1e-6", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    claim = row["claims"]["epsilon"]
    assert claim["kind"] == "exact"
    assert not claim["scope"]["whole"]
    assert claim["scope"]["parts"] == [{"part": "pair of paths", "taken": 1, "of": 10, "names": ["(4, 4)"]}]
    assert run(["account", str(file), "--delta", "1e-6", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert row["claims"]["epsilon"]["scope"]["whole"]


def test_main_paths_of_a_portfolio_are_named() -> None:
    main = portfolio(["pl94-2020-persons", "dhc-2020"], all_pairs=False)
    assert main.claim.kind is AnswerKind.MAIN
    assert main.claim.scope.of == ("pl94-2020-persons", "dhc-2020-persons")
    assert main.claim.scope.words == "the pair of paths (1, 1) with (13, 13), 1 of 34,056"


def test_risk_of_the_main_pair_says_so() -> None:
    from discreet.answers.risk import risk_answer

    release = load("dhc-2020")
    profile = risk_profile(release, prior="1/2", pairs="main")
    assert "the pair of paths (13, 13), 1 of 946" in words(risk_answer(profile))
    assert risk_answer(profile).record["answer"]["scope"]["whole"] is False  # type: ignore[index]


def test_all_levels_of_rhos_are_in_the_scope() -> None:
    profile = risk_profile({"a": "1/5", "b": "1/9"}, prior="1/2")
    assert [part.words for part in profile.claim.scope.parts] == ["all 2 levels"]


def test_every_surface_writes_a_partial_scope_once() -> None:
    partial = Scope.whole("r", unit="person", neighbours="bounded").with_part(
        Extent.of("cell", taken=["a"], every=["a", "b", "c"])
    )
    one = Claimed(value=0.25, kind=NumberKind.AT_MOST, scope=partial)
    for body in (
        (sentence("x {q}", q=one),),
        (Bullets((sentence("{q}", q=one),)),),
        (Paragraph(sentence("{q}", q=one)),),
    ):
        answer = Answer("t", {"delta": one}, body)
        for text in (words(answer), html_of(answer)):
            assert text.count("the cell a, 1 of 3") == 1
    from discreet.answers.answer import Fact

    assert tile_of(Fact("Delta", one)).value == "at most 0.250000 (the cell a, 1 of 3)"
    assert Answer("t", {"delta": one}).objects["claims"]["delta"]["scope"]["parts"][0]["of"] == 3  # type: ignore[index]


def test_a_ledger_without_runs_claims_nothing_of_others() -> None:
    assert ledger_cost(Ledger.new(), unit="person", neighbours="bounded").claim.scope.of == ("the ledger",)


def test_what_is_no_part_raises() -> None:
    with pytest.raises(ValueError, match="no query"):
        Extent.of("query", taken=["x"], every=["y"])
