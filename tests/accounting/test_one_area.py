"""The total of a level with one area: no replaced record changes it, and the account says so."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import InputError, account, portfolio
from discreet.accounting.certificate import Certificate
from discreet.accounting.verification import Ground, verify
from discreet.budget import AnswerKind, Attributes, Level, Query, Release, Spine, Variable, load
from discreet.budget.variables import RecordWeight
from discreet.cli import run


def nation(areas: int | None = 1, *, merging: bool = False) -> Release:
    """A total of the nation beside totals and sexes of its counties."""
    total = Query(name="total", variance=1)
    levels = [
        Level(name="Nation", areas=areas, queries=[total, Query(name="sex", variance=2)]),
        Level(name="County", queries=[Query(name="total", variance=3)]),
    ]
    spine = Spine(may_merge_up=["County"]) if merging else None
    return Release(name="r", neighbours="bounded", levels=levels, spine=spine)


def test_a_total_that_cannot_change_makes_the_account_a_bound() -> None:
    counted = account(nation())
    assert counted.claim.kind is AnswerKind.BOUND
    assert "cannot change query total of Nation" in counted.claim.reasons[0]
    assert account(nation(None)).claim.kind is AnswerKind.EXACT  # unknown: at least two
    assert account(nation(2)).claim.kind is AnswerKind.EXACT
    assert account(nation(), neighbours="unbounded").claim.kind is AnswerKind.EXACT  # a record is added to it
    assert counted.epsilon(delta="1e-6") == account(nation(None)).epsilon(delta="1e-6")


@pytest.mark.parametrize("areas", [None, 1])
def test_without_it_the_account_is_that_of_the_other_queries(areas: int | None) -> None:
    found = account(nation(areas), one_area=["nation"])
    (sex, county) = Query(name="sex", variance=2), Query(name="total", variance=3)
    others = [Level(name="Nation", queries=[sex]), Level(name="County", queries=[county])]
    second = account(Release(name="r", neighbours="bounded", levels=others))
    assert found.claim.kind is AnswerKind.EXACT
    assert found.scope.words == (
        "without query total of Nation, which has one area: replacing a record does not change it"
    )
    for delta in ("1e-3", "1e-9"):
        assert found.epsilon(delta=delta) == second.epsilon(delta=delta)
    assert found.rho == second.rho
    assert found.pair(1, 1).epsilon(delta="1e-6") == second.epsilon(delta="1e-6")
    assert found.path(1).epsilon(delta="1e-6") == account(nation(), neighbours="unbounded").epsilon(
        delta="1e-6"
    )
    assert found.only([(1, 1)]).scope.left_out == found.scope.left_out


def test_merged_levels_keep_the_noise_that_they_had() -> None:
    found = account(nation(merging=True), one_area=["Nation"])
    events = dict(found.cases)[2, 2]
    # Nation+County: precisions 1 + 1/2 of its own, 1/3 of the county's: variances times (3/2) / (11/6)
    assert [(str(event.size), event.times) for event in events] == [("18/11", 2)]


def test_a_path_without_events_costs_no_more_than_others() -> None:
    total = [Query(name="total", variance=1)]
    levels = [Level(name=name, queries=total) for name in ("Nation", "C", "D")]
    release = Release(name="r", neighbours="bounded", levels=levels, spine=Spine(may_merge_up=["C", "D"]))
    found = account(release, one_area=["Nation"])
    assert found.pairs == 6  # of 10: the path on which all levels are the nation shows nothing
    below = Release(name="s", neighbours="bounded", levels=levels[1:], spine=Spine(may_merge_up=["D"]))
    assert found.epsilon(delta="1e-6") == account(below).epsilon(delta="1e-6")
    box = found.epsilon(delta="1e-6", certified=True)
    assert box.lower <= found.epsilon(delta="1e-6") * (1 + 1e-9)
    only = Release(name="r", neighbours="bounded", levels=[Level(name="Nation", queries=total)])
    with pytest.raises(InputError, match=r"leaves out every query: .* epsilon is 0 at every delta"):
        account(only, one_area=["Nation"])


def test_what_may_change_is_never_left_out() -> None:
    people = Attributes({"age": ["0-17", "18+"], "sex": ["f", "m"]})
    weight = RecordWeight(column="w", at_most=5)
    releases = [
        ([Query(name="age", variance=1)], {"attributes": people}),
        ([Query(name="total", variance=1)], {"weight": weight}),
        ([Query(name="total", variance=1, sensitivity=2)], {}),
        ([Query(name="total", variance=1, groups=2)], {}),
        ([Query(name="hours", variance=1, variable=Variable(sum="hours", at_most=3))], {}),
        (
            [Query(name="records with hours above 9", variance=1, variable=Variable(count="hours", above=9))],
            {},
        ),
    ]
    for queries, more in releases:
        level = Level(name="Nation", areas=1, queries=queries)
        one = Release(name="r", neighbours="bounded", levels=[level], **more)  # type: ignore[arg-type]
        assert one.constants("bounded", ["Nation"]) == ()
        assert account(one).claim.kind is AnswerKind.EXACT
        with pytest.raises(InputError, match="'Nation' has no total of records that could be left out"):
            account(one, one_area=["Nation"])
    level = Level(name="Nation", areas=1, queries=[Query(name="total", variance=1)])
    one = Release(name="r", neighbours="bounded", levels=[level], attributes=people)
    assert one.constants("bounded", ["Nation"]) == (("Nation", "total"),)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InputError, match=r"'Natoin', which is no level; .* 'Nation' of r states areas = 2"):
        account(nation(2), one_area=["Natoin", "Nation"])
    with pytest.raises(InputError, match="a record that is added changes every total"):
        account(nation(), neighbours="unbounded", one_area=["Nation"])
    with pytest.raises(InputError, match="must be a list of levels"):
        account(nation(), one_area="Nation")
    with pytest.raises(InputError, match="neighbours is 'both'"):
        nation().constants("both", ["Nation"])  # type: ignore[arg-type]


def test_several_releases_and_certificates() -> None:
    both = portfolio([nation(), nation(None)], one_area=["Nation"])
    assert both.rho == 2 * account(nation(), one_area=["Nation"]).rho
    assert both.claim.kind is AnswerKind.EXACT
    assert portfolio([nation(), nation(None)]).claim.kind is AnswerKind.BOUND
    found = account(nation(), one_area=["Nation"])
    box = found.epsilon(delta="1e-6", certified=True)
    with pytest.raises(InputError, match="a certificate is about all queries"):
        Certificate.from_account(found, [nation()], "epsilon", box.lower, box)


def test_areas_stay_with_a_level() -> None:
    release = nation()
    assert Release.from_toml(release.to_toml()) == release
    for other in (release.scaled(2), release.for_people(3), release.with_variances({"Nation": 4})):
        assert other.levels[0].areas == 1
    with pytest.raises(InputError, match="areas of level 'Nation' is 0"):
        nation(0)


def test_no_preset_counts_a_total_of_one_area() -> None:
    for name in ("dhc-2020", "pl94-2020-persons", "pl94-2020-persons-pr", "dhc-2020-units"):
        assert "total" not in [query.name for query in load(name).levels[0].queries]


def test_the_command_leaves_it_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "r.toml"
    file.write_text(nation().to_toml())
    assert run(["account", str(file), "--delta", "1e-6", "--quiet"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Replacing a record cannot change query total of Nation" in said
    assert "at most" in said
    assert run(["account", str(file), "--one-area", "Nation", "--delta", "1e-6", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    claim = row["claims"]["epsilon"]
    assert claim["kind"] == "exact"
    assert claim["scope"]["left_out"] == [
        "query total of Nation, which has one area: replacing a record does not change it"
    ]
    assert run(["account", str(file), "--one-area", "Nation", "--delta", "1e-6", "--quiet"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "cannot change" not in said
    assert "without query total of Nation" in said
    folder = tmp_path / "out"
    assert (
        run(["account", str(file), "--one-area", "Nation", "--delta", "1e-6", "--export", str(folder)]) == 2
    )
    assert "certificate is about all queries" in capsys.readouterr().err
    assert not folder.exists()


def test_a_promise_that_only_the_bound_breaks_is_not_refuted() -> None:
    """It was "Refuted", although the release keeps it: its total of one area cannot change."""
    truth = Fraction(account(nation(), one_area=["Nation"]).epsilon(delta="1e-6")) + Fraction("0.01")
    kept = verify(nation(), epsilon=truth, delta="1e-6")
    assert (kept.verdict, kept.ground) == ("undecided", Ground.EXCEEDED)
    assert "the release may keep the promise" in kept.reason
    assert verify(nation(None), epsilon=truth, delta="1e-6").verdict == "refuted"
    alpha, beta = "0.05", account(nation()).tradeoff(alpha="0.05") * 1.01
    assert [verify(nation(areas), alpha=alpha, beta=f"{beta:.9f}").verdict for areas in (1, None)] == [
        "undecided",
        "refuted",
    ]
    guess = verify(nation(), alpha="0.5", beta="0.6")  # no release makes a guess worse
    assert (guess.verdict, guess.ground) == ("refuted", Ground.GUESSING)


def test_the_ends_of_a_bound_are_those_of_a_bound(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The lower end is proved of the account, and false of the release, which costs less."""
    made = Certificate.of([nation()], delta="1e-6")
    assert made.says.endswith("Meant is the bound that the account gives: the release may cost less.")
    assert verify(Certificate.from_text(made.to_text())).verdict == "proved"
    assert "Meant" not in Certificate.of([nation(None)], delta="1e-6").says
    release = tmp_path / "r.toml"
    release.write_text(nation().to_toml())
    assert run(["account", str(release), "--delta", "1e-6", "--certify", "--quiet"]) == 0
    assert "<= bound of epsilon <=" in capsys.readouterr().out


def test_what_is_proved_of_a_model_names_the_model() -> None:
    level = Level(name="Nation", queries=[Query(name="total", variance=1)])
    modelled = Release(
        name="r",
        neighbours="unbounded",
        levels=[level],
        kind=AnswerKind.MODEL,
        reason="Some tables are not modelled.",
    )
    claim = verify(modelled, epsilon=20, delta="1e-6").certificate
    assert claim.says.endswith("Meant is what is modelled: part of what was released is not.")
