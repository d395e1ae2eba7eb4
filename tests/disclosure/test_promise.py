"""What a promise means, against mechanisms that keep it."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.accounting.privacy_loss import compose
from discreet.answers.meaning import meaning_sentences
from discreet.answers.promise import people_picture, promise_answer
from discreet.budget import DiscreteGaussian, DiscreteLaplace
from discreet.cli import run
from discreet.disclosure.everything import ReleaseRisk
from discreet.disclosure.profile import best_accuracies
from discreet.disclosure.promise import promised_risk, true_positive_rate
from discreet.errors import InputError
from discreet.loss.posteriors import mean_posteriors
from discreet.render.charts import charts_of
from discreet.render.pictures import figure_of

PRIORS = [Fraction(1, 2), Fraction(1, 100), Fraction(9, 10)]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("epsilon", "delta"), [(4, "1e-6"), (1, "0.05"), (0, "1/10"), (2, 0)])
def test_the_mechanism_that_tells_most_attains_it(epsilon: int, delta: object, prior: Fraction) -> None:
    # four outcomes: revealed, said truly, said falsely, revealed to be absent
    found = promised_risk(epsilon=epsilon, delta=delta, prior=prior)  # type: ignore[arg-type]
    d, up = float(Fraction(str(delta))), 1 / (1 + math.exp(-epsilon))
    present = np.array([d, (1 - d) * up, (1 - d) * (1 - up), 0.0])
    absent = present[::-1]
    assert present[1] <= math.exp(epsilon) * absent[1] * (1 + 1e-12)
    p, q = float(prior), 1 - float(prior)
    assert found.right == pytest.approx(np.maximum(p * present, q * absent).sum(), abs=1e-14)
    with np.errstate(invalid="ignore"):
        belief = np.nan_to_num(p * present / (p * present + q * absent))
    assert found.mean == pytest.approx(present @ belief, abs=1e-14)
    for row in found.detections:
        sizes, powers = (np.concatenate([[0.0], np.cumsum(one)]) for one in (absent, present))
        true = float(np.interp(row.false_positive_rate, sizes, powers))
        assert row.true_positive_rate == pytest.approx(true, abs=1e-14)


@pytest.mark.parametrize(
    "events", [[DiscreteGaussian(variance=1)], [DiscreteLaplace(scale="1/2", times=3)]], ids=str
)
@pytest.mark.parametrize("delta", ["1e-3", "1e-8"])
def test_no_mechanism_with_the_promise_tells_more(events: list[DiscreteGaussian], delta: str) -> None:
    loss = compose(events)
    epsilon = Fraction(float(loss.epsilon(delta=delta)) + 1e-9)
    for prior in PRIORS:
        found = promised_risk(epsilon=epsilon, delta=delta, prior=prior)
        assert best_accuracies(loss, [prior])[0] <= found.right
        assert mean_posteriors([events], [prior])[0, 0] <= found.mean
    for alpha in (1e-6, 1e-3, 0.05, 0.5, 0.9):
        assert (
            1 - loss.tradeoff(alpha=alpha) <= true_positive_rate(float(epsilon), float(delta), alpha) + 1e-12
        )
    # odds rise by more than 2 e^epsilon with probability 2 delta at most
    assert loss.tail(above=epsilon + Fraction(math.log(2))) <= found.chance
    assert found.chance == 2 * float(delta)


def test_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["explain", "--epsilon", "4", "--delta", "1e-6", "--prior", "1/100"]
    assert run([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    page = told["page"]
    assert "1 of whom is in the data" in page
    assert "at most 34.91 chances in 100" in page
    assert page.index("right at most *99.01 times in 100* instead of 99") < page.index("34.91")
    assert told["best_guess"]["right"] == pytest.approx(told["accuracy"], rel=1e-12)
    assert told["best_guess"]["says"] in page.replace("*", "")
    assert told["expected_posterior"] < 0.3491
    files = ["--out", str(tmp_path / "page.md"), "--plot", str(tmp_path / "people.svg")]
    assert run([*asked, *files]) == 0
    assert (tmp_path / "page.md").read_text() == page
    assert (tmp_path / "people.svg").stat().st_size > 1000


@pytest.mark.parametrize("prior", ["1/2", "1/100", "1/864"])
def test_the_picture_says_the_numbers_of_the_page(prior: str) -> None:
    """Marks are whole people; the words above them are not rounded to these."""
    found = promised_risk(epsilon=4, delta="1e-6", prior=prior)
    picture, page = people_picture(found), page_of(epsilon=4, delta="1e-6", prior=prior)
    (said,) = re.findall(r"at most ([\d.]+) chances in 100 on average", page.partition("## Deciding")[0])[:1]
    assert [panel.title for panel in picture.panels][1] == f"published: at most {said} in 100"
    marked = [len(panel.items[0].points) for panel in picture.panels]
    assert [math.ceil(100 * Fraction(prior)), math.ceil(float(said))] == marked


def test_explain_takes_a_release_too_and_asks_for_one_thing() -> None:
    found = discreet.explain("sdhc-2020")
    assert isinstance(found, ReleaseRisk)
    assert found.profile.overall[0] == discreet.risk("sdhc-2020", prior="1/2").profile.overall[0]
    for asked in ({}, {"epsilon": 1}, {"release": "sdhc-2020", "epsilon": 1, "delta": 0}):
        with pytest.raises(InputError, match="a release"):
            discreet.explain(**asked)  # type: ignore[arg-type]


def test_the_meaning_of_delta_is_that_of_the_definition() -> None:
    """Sets of results are compared: the loss exceeds epsilon more often than delta says."""
    ten = discreet.compose([discreet.DiscreteGaussian(variance=5, times=10)])
    epsilon = ten.epsilon(delta="1e-6")
    assert ten.tail(above=epsilon) > 4e-6
    said = meaning_sentences(
        epsilon=epsilon, delta=Fraction(1, 10**6), advantage=0.1, missed=None, who="one person", is_bound=True
    )
    assert "times as probable with one as with the other, plus 1e-6" in str(said[0])
    assert "except" not in str(said[0])


def test_a_drawing_of_people_has_no_axes() -> None:
    picture = people_picture(promised_risk(epsilon=4, delta="1e-6"))
    for ax in figure_of(picture).axes:
        assert not any(ruler.get_visible() for ruler in (ax.xaxis, ax.yaxis))
        assert not any(ax.spines[side].get_visible() for side in ("left", "bottom"))
    for chart in charts_of(picture):
        assert not any(axis["show"] for axis in (chart["xAxis"], *chart["yAxis"]))


def page_of(**asked: object) -> str:
    found = promise_answer(promised_risk(**asked)).record["page"]  # type: ignore[arg-type]
    assert isinstance(found, str)
    return found


def test_without_a_delta_odds_never_rise_by_more_than_the_promise() -> None:
    found = promised_risk(epsilon=1, delta=0, prior="1/2")
    assert found.belief == pytest.approx(math.e / (1 + math.e), rel=1e-15)
    assert "raise them to 2.72 to 1, a factor of e^1 = 2.72, never further" in page_of(
        epsilon=1, delta=0, prior="1/2"
    )


def test_people_are_counted_as_the_prior_says() -> None:
    assert "Take 100 people like her, 50 of whom are" in page_of(epsilon=1, delta=0, prior="1/2")
    assert "Take 864 people like her, 1 of whom is" in page_of(epsilon=1, delta=0, prior="1/864")
    page = page_of(epsilon=1, delta=0, prior="0.999999")
    assert "Take 1,000,000 people like her, 999,999 of whom are" in page
    assert "instead of 99.9999 with nothing published" in page  # not 100


def test_numbers_at_the_ends_stay_short_and_true() -> None:
    page = page_of(epsilon=700, delta="1e-300", prior="1e-300")
    assert max(map(len, page.split())) < 101  # the row of people
    assert "at most 0.00" not in page


@pytest.mark.parametrize(
    "asked",
    [
        {"epsilon": -1, "delta": "1e-6"},
        {"epsilon": 10**4, "delta": "1e-6"},
        {"epsilon": 1, "delta": 2},
        {"epsilon": 1, "delta": "1e-6", "prior": 0},
        {"epsilon": "x", "delta": "1e-6"},
    ],
)
def test_bad_input(asked: dict[str, object]) -> None:
    with pytest.raises(InputError):
        promised_risk(**asked)  # type: ignore[arg-type]


def test_a_promise_says_what_it_compares() -> None:
    """Laplace noise of scale 1 in two cells keeps epsilon 1 for one record more or less, and not for a value.

    Her record is in one cell or the other: odds rise by e^2, and the mean belief is above that of epsilon 1.
    """
    n = np.arange(-60, 61)
    law = np.exp(-np.abs(n)) / np.exp(-np.abs(n)).sum()
    here, there = law, np.roll(law, 1)  # a count of 0 and of 1
    yes, no = np.outer(there, here), np.outer(here, there)
    mean = float((yes * yes / (yes + no)).sum())
    assert mean == pytest.approx(0.6760, abs=2e-4)
    added = promised_risk(epsilon=1, delta=0, prior="1/2")
    assert added.value is not None
    assert added.mean < mean <= added.value.mean
    assert added.value.factor == pytest.approx(math.exp(2))
    replaced = promised_risk(epsilon=1, delta=0, prior="1/2", neighbours="bounded")
    assert (replaced.value, replaced.mean) == (None, added.mean)
    pages = [str(promise_answer(one).record["page"]) for one in (added, replaced)]
    assert "the data with her record and without it" in pages[0]
    assert "epsilon 2, delta 0 hold" in pages[0]
    assert "at most 79.01 chances in 100" in pages[0]
    assert "the data with her record and with another in its place" in pages[1]
    assert "does not hide" in pages[1]
    assert not any("The same holds" in page for page in pages)
    small = promised_risk(epsilon=1, delta="1e-6", prior="1/2").value
    assert small is not None
    assert float(small.delta) == pytest.approx((1 + math.e) * 1e-6)
    with pytest.raises(InputError, match="bounded or unbounded"):
        promised_risk(epsilon=1, delta=0, neighbours="some")  # type: ignore[arg-type]
