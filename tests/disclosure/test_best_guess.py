"""How risky is it? Every surface leads with one sentence and one number, known releases beside it."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.answers import describe
from discreet.answers.best_guess import known_table, leading_sentence, right_quantity
from discreet.answers.report import report_sections
from discreet.budget import Release, load
from discreet.cli import run
from discreet.disclosure.best_guess import best_guess, known_releases
from discreet.disclosure.everything import risk
from discreet.disclosure.profile import risk_profile
from discreet.disclosure.promise import promised_risk
from discreet.disclosure.questions import DEFAULT_PRIOR
from discreet.reports.html import gather, render

ONE_COUNT = """
name = "one"
neighbours = "{}"
[[levels]]
name = "A"
queries = {{ n = {{ {} }} }}
"""
FEW = {
    "gaussian": ONE_COUNT.format("bounded", "variance = 9"),
    "laplace": ONE_COUNT.format("unbounded", "scale = 2"),
}


def printed(*arguments: str) -> str:
    """What a command prints, on one line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run([*arguments]) == 0
    return out.getvalue()


def on_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(params=[*FEW, "sdhc-2020", pytest.param("pl94-2020-units", marks=pytest.mark.slow)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    name: str = request.param
    if name not in FEW:
        return name
    file = tmp_path / f"{name}.toml"
    file.write_text(FEW[name])
    return str(file)


def test_all_surfaces_say_the_same(target: str) -> None:
    release = load(target)
    guess = best_guess(risk_profile(release))
    says, number = str(leading_sentence(guess)), str(right_quantity(guess))
    assert f"right at most {number} times in 100 instead of 50 with nothing published" in says
    facts = gather(release, certify=False, savings=False)
    commands: dict[str, tuple[str, ...]] = {
        "explain": ("explain", target),
        "risk explain": ("risk", "explain", target, "--quiet"),
        "risk release": ("risk", "release", target, "--quiet"),
    }
    for name, command in commands.items():
        assert says in on_one_line(printed(*command)), name
        told = json.loads(printed(*command, "--json"))["best_guess"]
        assert (told["says"], told["right"], told["prior"]) == (says, guess.right, 0.5), name
        assert told["claims"]["right"]["scope"]["whole"], name
    decision = report_sections(facts)["decision"]
    assert str(decision.body[0].text) == says  # type: ignore[union-attr]
    assert f"{number} times in 100</strong> instead of 50 with nothing published" in render(facts)
    record = describe(facts).objects["best_guess"]
    assert (record["says"], record["right"]) == (says, guess.right)  # type: ignore[index]
    whole = risk(release)
    assert best_guess(whole) == guess
    assert leading_sentence(best_guess(whole.profile.at(DEFAULT_PRIOR))) == leading_sentence(guess)


def test_the_default_prior_is_one() -> None:
    assert promised_risk(epsilon=1, delta=0).prior * 2 == 1
    assert {float(known.guess.prior) for known in known_releases()} == {0.5}
    for arguments in (("explain", "pl94-2020-units"), ("risk", "explain", "pl94-2020-units")):
        assert json.loads(printed(*arguments, "--json"))["best_guess"]["prior"] == 0.5


@pytest.mark.parametrize("prior", ["1/10", "9/10", "1/100"])
def test_another_prior_is_shown_as_what_it_is(prior: str) -> None:
    guess = best_guess(risk_profile("pl94-2020-units", prior=prior))
    said = str(leading_sentence(guess))
    assert ", one of them given a chance of " in said
    assert f"instead of {100 * guess.baseline:.0f} with nothing published" in said
    assert known_table(guess) is None  # known releases are compared at even odds alone


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: risk_profile("pl94-2020-persons", pairs="main"), "so this is not a bound."),
        (lambda: risk_profile("pl94-2020-units", people=2), "between two answers of 2 housing units"),
        (lambda: promised_risk(epsilon=1, delta=0), "whatever keeps the promise."),
    ],
)
def test_the_sentence_says_of_what_it_is_true(change: Callable[[], object], words: str) -> None:
    guess = best_guess(change())  # type: ignore[arg-type]
    said = str(leading_sentence(guess))
    assert words in said
    assert ("at most" in said) is guess.is_bound


def test_a_release_is_never_said_to_tell_more_than_its_promise() -> None:
    release = Release.from_toml(FEW["laplace"])
    own = best_guess(risk_profile(release))
    promise = best_guess(promised_risk(epsilon="1/2", delta=0))  # Laplace noise of scale 2 keeps it
    assert own.right == pytest.approx(promise.right, rel=1e-12)
    assert best_guess(promised_risk(epsilon="0.49", delta=0)).right < own.right


def test_this_release_stands_among_known_ones_in_order() -> None:
    table = known_table(best_guess(risk_profile({"A": "0.3"})))
    assert table is not None
    rights = [float(row[-1]) for row in table.cells]
    assert rights == sorted(rights, reverse=True)
    assert [row[0] for row in table.cells].count("this release") == 1
    assert len(rights) == len(known_releases()) + 1
    own = known_table(best_guess(risk_profile("sdhc-2020")))
    assert own is not None
    assert len(own.cells) == len(known_releases())  # a known release does not stand beside itself


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            known.guess.name, marks=() if known.guess.name == "pl94-2020-units" else pytest.mark.slow
        )
        for known in known_releases()
    ],
)
def test_known_releases_are_what_the_package_computes(name: str) -> None:
    (known,) = (known for known in known_releases() if known.guess.name == name)
    found = best_guess(risk_profile(name))
    assert known.guess.right == pytest.approx(found.right, rel=1e-9)
    assert (known.guess.unit, known.guess.neighbours) == (found.unit, found.neighbours)
    assert known.guess.claim.kind is found.claim.kind
    assert load(name).title.startswith("2020 Census")
