"""Every answer says what it is: exact, at most, as modelled, or of the main path only."""

from __future__ import annotations

import json

import pytest

from discreet.accounting.account import account, portfolio
from discreet.answers import Claimed
from discreet.budget import AnswerKind, Claim, Level, Query, Release, Spine, load, preset_names
from discreet.cli import run
from discreet.errors import InputError
from discreet.promises.calibrating import calibrate

KINDS = {
    "dhc-2020-persons": "exact",
    "dhc-2022-08-25": "exact",
    "ddhcb-2020": "exact",
    "ddhcb-2020-pr": "exact",
}


@pytest.mark.parametrize("name", preset_names())
def test_each_preset_says_what_its_account_is(name: str) -> None:
    """Supplemental DHC takes all counts as changed; the others take paths that may not occur."""
    release = load(name)
    assert release.kind.value == KINDS.get(name, "bound")
    assert bool(release.reason) == (release.kind is not AnswerKind.EXACT)
    assert Release.from_toml(release.to_toml()) == release


def test_points_say_it_too() -> None:
    (point,) = account(load("sdhc-2020")).at_delta("1e-10")
    assert point.kind is AnswerKind.BOUND
    assert str(point).startswith("epsilon at most 6.46422")


def test_an_upper_bound_is_rounded_up() -> None:
    assert str(Claimed.by(load("sdhc-2020").claim, 10.94371)) == "10.9438"
    assert str(Claimed.by(load("dhc-2020").claim, 10.94371)) == "10.9437"
    assert str(Claimed.by(load("sdhc-2020").claim, 9.9999999, digits=3)) == "10.0"
    assert str(Claimed.by(load("sdhc-2020").claim, 2.5)) == "2.50000"
    assert str(Claimed.by(load("sdhc-2020").claim, 1e-12, digits=3)) == "1.00e-12"


def test_a_portfolio_claims_no_more_than_its_weakest_part() -> None:
    pl, dhc, supplement = map(load, ("pl94-2020-persons", "dhc-2020", "sdhc-2020"))
    partial = Release.from_toml(supplement.to_toml().replace('kind = "bound"', 'kind = "model"'))
    assert portfolio([pl, dhc], all_pairs=False).claim.kind is AnswerKind.MAIN
    assert portfolio([pl, dhc]).claim.kind is AnswerKind.BOUND
    assert portfolio([supplement, partial]).claim.kind is AnswerKind.MODEL
    joint = portfolio([supplement, supplement]).claim
    assert joint.kind is AnswerKind.BOUND
    assert joint.reasons == (supplement.reason,)
    with pytest.raises(ValueError, match="about nothing"):
        Claim.of_all([])


def test_a_calibrated_release_keeps_its_kind() -> None:
    level = Level(name="A", queries=[Query(name="q", variance=5)])
    made = Release(name="r", neighbours="bounded", levels=[level], kind="bound", reason="A wide sensitivity.")
    found = calibrate(made, epsilon=1, delta="1e-6")
    assert (found.claim.kind, found.claim.reasons) == (AnswerKind.BOUND, ("A wide sensitivity.",))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "bound"}, "no reason is given"),
        ({"reason": "because"}, "a reason is given"),
        ({"kind": "main path", "reason": "because"}, 'it must be "exact" or "bound" or "model"'),
    ],
)
def test_kind_and_reason_go_together(given: dict[str, str], said: str) -> None:
    level = Level(name="A", queries=[Query(name="q", variance=5)])
    with pytest.raises(InputError, match=said):
        Release(name="r", neighbours="bounded", levels=[level], **given)


def test_the_command_line_says_it_beside_the_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["account", "sdhc-2020", "--delta", "1e-10", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "epsilon at most" in text
    assert "epsilon is at most 6.46423" in text
    assert "exact epsilon" not in text
    assert run(["account", "sdhc-2020", "--delta", "1e-10", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)["answer"]
    scope = answer.pop("scope")
    assert answer == {"kind": "bound", "says": "at most", "reasons": [load("sdhc-2020").reason]}
    assert scope["whole"]
    assert scope["of"] == ["sdhc-2020"]


def test_one_path_of_one_level_is_exact() -> None:
    level = Level(name="A", queries=[Query(name="q", variance=5)])
    below = Level(name="B", queries=[Query(name="q", variance=5)])
    made = Release(name="r", neighbours="bounded", levels=[level, below], spine=Spine(paths={1: ["A+B"]}))
    assert portfolio([made, made]).claim.kind is AnswerKind.EXACT
