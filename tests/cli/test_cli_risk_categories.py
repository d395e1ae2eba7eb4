"""Which category: against enumeration, against simulation, and against the accountant's joint accuracy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.budget import Attributes, Level, Query, Release, Spine
from discreet.disclosure import decision_accuracy, joint_accuracy
from discreet.disclosure import evidence as evidence_module
from discreet.disclosure.attack import Attack, independent_others
from discreet.disclosure.category import categories, release_categories, table_categories
from discreet.disclosure.evidence import EvidenceLaw, evidence_law
from discreet.disclosure.scores import chance_right
from discreet.errors import InputError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise


def enumerated(noise: Noise, priors: list[float], reach: int) -> float:
    """The chance of being right by listing every outcome of all cells, ties shared."""
    values = np.arange(-reach, reach + 1)
    right = 0.0
    for truth, prior in enumerate(priors):
        for y in product(values, repeat=len(priors)):
            chance = 1.0
            scores = []
            for cell, value in enumerate(y):
                chance *= float(noise.pmf(value - (cell == truth)))
                scores.append(np.log(priors[cell]) + noise.log_pmf(value - 1) - noise.log_pmf(value))
            top = np.flatnonzero(np.array(scores) > max(scores) - 1e-9)
            right += prior * chance * (truth in top) / len(top)
    return right


@pytest.mark.parametrize(
    "noise", [DiscreteGaussian(variance=1), DiscreteGaussian(variance="1/3"), DiscreteLaplace(scale="1/2")]
)
@pytest.mark.parametrize("priors", [[0.5, 0.5], [0.7, 0.3], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.2, 0.6]])
def test_the_chance_of_being_right_is_that_of_enumeration(noise: Noise, priors: list[float]) -> None:
    right, error = chance_right(EvidenceLaw.of_noise(noise), np.array(priors))
    assert error == 0
    reach = 7 if len(priors) == 2 else 5
    left_out = 2 * len(priors) * float(noise.sf(reach - 1))
    assert right == pytest.approx(enumerated(noise, priors, reach), abs=left_out + 1e-12)


def test_two_cells_are_the_counts_of_both_together() -> None:
    """The evidence of one cell less that of the other is that of two counts of each variance."""
    for variances in ([5.04], [10.09, 4.06], [2.0, 2.0, 7.0]):
        found = categories(cells=2, variance=variances).guesses[0]
        both = joint_accuracy(variance=[v for v in variances for _ in range(2)], prior="1/2")
        assert found.right == pytest.approx(both, abs=1e-9)


# From `sum over m of P[N = m - 1] / P[N = m] (F(m)^K - F(m - 1)^K) / K` in 40 digits of mpmath, v = 5.04
# (2026-11-17). Simulation of 400,000 draws gave 62.24 and 31.7 %; 20,000 draws 0.376 and 0.184 %, whose
# standard errors are 0.05 and 0.03.
@pytest.mark.parametrize(
    ("cells", "right"),
    [(2, 0.62261459412957), (5, 0.31719312257950), (864, 0.00437004082019), (2016, 0.00207784915609)],
)
def test_the_sum_over_the_largest_noise(cells: int, right: float) -> None:
    assert categories(cells=cells, variance="5.04").guesses[0].right == pytest.approx(right, rel=1e-10)
    mp = pytest.importorskip("mpmath")
    mp.mp.dps = 40
    weights = {m: mp.exp(-(mp.mpf(m) ** 2) / (2 * mp.mpf("5.04"))) for m in range(-60, 61)}
    total, below, found = sum(weights.values()), mp.mpf(0), mp.mpf(0)
    for m in range(-60, 61):
        upto = below + weights[m] / total
        found += weights.get(m - 1, mp.mpf(0)) / weights[m] * (upto**cells - below**cells) / cells
        below = upto
    assert float(found) == pytest.approx(right, rel=1e-11)


def simulated(variance: float, priors: np.ndarray, draws: int, seed: int) -> float:
    random = np.random.default_rng(seed)
    noise = DiscreteGaussian(variance=Fraction(variance))
    cumulated = np.cumsum(noise.pmf(np.arange(-60, 61)))
    off = np.searchsorted(cumulated, random.random((draws, priors.size))) - 60
    truth = random.choice(priors.size, draws, p=priors)
    off[np.arange(draws), truth] += 1
    scores = np.log(priors) + off / variance
    best = scores > scores.max(axis=1, keepdims=True) - 1e-9
    return float(np.mean(best[np.arange(draws), truth] / best.sum(axis=1)))


def test_uneven_priors_agree_with_simulation_and_others_do_not() -> None:
    """20,000 draws of 40 cells, seed 7: within 4 standard errors, which happens by chance once in 16,000."""
    priors = np.random.default_rng(5).dirichlet(np.full(40, 0.5)) + 0.001
    priors /= priors.sum()
    drawn = simulated(4.0, priors, 20_000, 7)
    bound = 4 * np.sqrt(drawn * (1 - drawn) / 20_000)
    found = categories(variance=4, prior=priors).guesses[0].right
    assert abs(found - drawn) < bound
    assert abs(categories(variance=4, cells=40).guesses[0].right - drawn) > bound
    assert abs(categories(variance=2, prior=priors).guesses[0].right - drawn) > bound


def test_a_grid_is_as_good_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    noises = [DiscreteGaussian(variance=v) for v in (10, 4, 19)]
    even = np.full(100, 0.01)
    exact, none = chance_right(evidence_law(noises), even)
    monkeypatch.setattr(evidence_module, "MOST_VALUES", 100)
    monkeypatch.setattr(evidence_module, "GRID", 1 << 14)
    rough, error = chance_right(evidence_law(noises), even)
    assert none == 0 < abs(rough - exact) <= error < 0.01 * exact


def test_values_on_a_grid_stay_within_the_blur(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly all mass at 0.26 of [0, 1] moves to 0.5 on a grid of step 1/2: by all but the bound."""
    chances = np.array([1e-9, 1 - 2e-9, 1e-9])
    law = EvidenceLaw(np.array([0.0, 0.26, 1.0]), chances, chances)
    monkeypatch.setattr(evidence_module, "MOST_VALUES", 1)
    monkeypatch.setattr(evidence_module, "GRID", 4)
    both = law.plus(law)
    moved = abs(float(both.values @ both.present) - 0.52)
    assert 0.9 * both.blur < moved <= both.blur


def test_the_posterior_is_bayes_rule_over_all_cells() -> None:
    noisy, known, priors = [4, -1, 2], [2, 0, 2], [0.2, 0.3, 0.5]
    noise = DiscreteGaussian(variance=3)
    chances = [
        prior * np.prod([float(noise.pmf(noisy[j] - known[j] - (j == cell))) for j in range(3)])
        for cell, prior in enumerate(priors)
    ]
    found = categories(variance=3, noisy=noisy, known=known, prior=priors)
    assert [one.posterior for one in found.beliefs] == pytest.approx(np.array(chances) / sum(chances))
    assert [one.ratio for one in found.beliefs] == pytest.approx(np.array(chances) / sum(chances) / priors)
    assert found.named[0].cell == "3"


def test_counts_of_groups_speak_for_all_their_cells() -> None:
    detailed, coarse = DiscreteGaussian(variance=3), DiscreteGaussian(variance=2)
    noisy, known, group = [[1, 0, 2], [4, 2, 0]], [[0, 0, 2], [3, 2, 0]], [0, 0, 1]
    chances = []
    for cell in range(3):
        own = [float(detailed.pmf(noisy[0][j] - known[0][j] - (j == cell))) for j in range(3)]
        shared = [float(coarse.pmf(noisy[1][g] - known[1][g] - (g == group[cell]))) for g in range(2)]
        chances.append(np.prod(own) * np.prod(shared))
    found = categories(variance=[3, 2], noisy=noisy, known=known, groups=[None, group])
    assert [one.posterior for one in found.beliefs] == pytest.approx(np.array(chances) / sum(chances))
    crossed = categories(
        variance=[3, 2, 2],
        noisy=[[1, 0, 2], [4, 2, 0], [1, 5, 0]],
        known=[[0, 0, 2], [3, 2, 0], [1, 4, 0]],
        groups=[None, [0, 0, 1], [0, 1, 1]],
    )
    assert len(found.guesses) == 1
    assert not crossed.guesses
    assert "depend on each other" in crossed._repr_html_()


def test_unsure_others_are_mixtures() -> None:
    attack = Attack(variance=5, others=independent_others("1/10", people=10))
    found = categories(variance=5, noisy=[3, 0], known=[1, 0], unsure=10, chance="1/10")
    gap = attack.log_ratio(2) - attack.log_ratio(0)
    assert found.beliefs[0].posterior == pytest.approx(1 / (1 + np.exp(-gap)))
    assert found.guesses[0].right < categories(cells=2, variance=5).guesses[0].right


def test_a_prior_that_rounds_to_one() -> None:
    found = categories(variance=5, prior=[1e-300, 1.0], noisy=[3, 0], known=[0, 0])
    assert found.guesses[0].right == pytest.approx(1.0, rel=1e-15)
    assert found.beliefs[0].posterior == pytest.approx(1e-300 * np.exp(0.6), rel=1e-12)


def test_the_command_asks_for_groups_and_takes_totals(discreet: Callable[..., Any], tmp_path: Path) -> None:
    asked = [part for name in "aabb" for part in ("--asked", name)]
    said = discreet("risk", "categories", "--cells", "4", "--variance", "5.04", *asked).out
    assert "this adversary names the right group 59.00 % of the time" in said
    found = discreet(
        "risk",
        "categories",
        "--cells",
        "3",
        "--variance",
        "5",
        "--total",
        "4",
        "--draws",
        "100",
        "--seed",
        "1",
        "--json",
    ).json
    assert found["totals_of_others"] == [4]
    assert found["guesses"][0]["kind"] == "simulated"
    assert "compares all cells" in found["one_cell_adversary"]
    table, out = tmp_path / "cells.csv", tmp_path / "out.csv"
    table.write_text("cell,noisy,group\na,3,x\nb,0,y\nc,7,x\n")
    result = discreet("risk", "categories", "--table", table, "--variance", "5", "--total", "8", "--csv", out)
    assert "at most" in result.out
    assert "That understates what can be learned about a category" in " ".join(result.out.split())
    assert out.read_text().startswith("group,prior,evidence,posterior,ratio\nx,0.666")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["pl94-2020-persons", "--variance", "5", "--total", "3"],
            "--variance and --total are not used with a",
        ),
        (
            ["--table", "x.csv", "--asked", "a", "--unsure", "3"],
            "--unsure and --asked are not used with --table",
        ),
        (["--cells", "0", "--variance", "5"], "the number of cells is 0; from 2"),
        (["pl94-2020-persons", "--asked", "race"], "race"),
    ],
)
def test_what_the_command_refuses(discreet: Callable[..., Any], arguments: list[str], message: str) -> None:
    result = discreet("risk", "categories", *arguments)
    assert result.status == 2
    assert message in " ".join(result.err.split())


def test_the_one_cell_adversary_is_that_of_the_paper() -> None:
    found = categories(cells=5, variance="5.04").guesses[0]
    assert found.one_cell == pytest.approx(
        decision_accuracy(variance="5.04", prior="1/5", given="present"), rel=1e-12
    )


def test_levels_of_a_release_add_up() -> None:
    ages = Attributes({"age": ["0", "1", "2"], "sex": ["f", "m"]})
    levels = [
        Level(name="State", queries=[Query(name="detailed", variance=4), Query(name="age", variance=2)]),
        Level(name="County", queries=[Query(name="detailed", variance=8)]),
    ]
    release = Release(name="two", neighbours="bounded", levels=levels, attributes=ages)
    found = release_categories(release)
    assert [one.counts for one in found.guesses] == [("County",), ("County", "State")]
    assert found.guesses[1].right == pytest.approx(categories(cells=6, variance=[4, 8]).guesses[0].right)
    with pytest.raises(
        InputError, match="level 'County' has no query 'age' that counts records; it has 'detailed'"
    ):
        release_categories(release, query="age")


def test_levels_that_are_merged_are_one_count() -> None:
    """The counts that are published are those of the upper level, with the noise of both together."""
    release = Release(
        name="merged",
        neighbours="unbounded",
        attributes=Attributes({"age": ["a", "b", "c"]}),
        levels=[Level(name=n, queries=[Query(name="age", variance=6)]) for n in ("State", "County")],
        spine=Spine(paths={1: ["State+County"]}),
    )
    (guess,) = release_categories(release).guesses
    assert guess.counts == ("State+County",)
    assert guess.right == pytest.approx(categories(cells=3, variance=3).guesses[0].right, rel=1e-12)


def test_a_table_of_two_counts() -> None:
    rows = {
        "count": ["block", "block", "group", "group"],
        "cell": ["a", "b", "b", "a"],
        "noisy": [1, 0, 5, 2],
        "known": [0, 0, 4, 2],
        "variance": [5.0, 5.0, 2.0, 2.0],
    }
    found = table_categories(pa.table(rows))
    same = categories(variance=[5, 2], noisy=[[1, 0], [2, 5]], known=[[0, 0], [2, 4]])
    assert [one.posterior for one in found.beliefs] == [one.posterior for one in same.beliefs]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"variance": 5}, "say how many cells there are"),
        ({"cells": 1, "variance": 5}, "the number of cells is 1; from 2"),
        ({"cells": 5, "variance": 5, "prior": [1, 2]}, "different numbers of cells: 2, 5"),
        ({"variance": 5, "noisy": [1, 2]}, "known is missing"),
        ({"cells": 3, "variance": 5, "known": [1, 2, 3]}, "known counts without noisy ones"),
        ({"variance": 5, "prior": [1, 0]}, "positive weights"),
        ({"cells": 3, "variance": [5, 2], "unsure": 3, "chance": "1/2"}, "the same people"),
        ({"cells": 3, "variance": 5, "unsure": 3}, "belong together"),
        ({"variance": [5, 2], "noisy": [1, 2], "known": [0, 0]}, "noisy is 2; a row of cells for each of 2"),
        ({"cells": 3, "variance": [5, 5], "groups": [[0, 0, 1], [0, 1, 1]]}, "do not nest"),
        ({"cells": 3, "variance": 5, "asked": ["a", "b"]}, "different numbers of cells: 2, 3"),
        ({"cells": 2, "variance": 5, "asked": ["a", "a"]}, "all cells are in group 'a'"),
        ({"cells": 2, "variance": 5, "asked": "race"}, "a list with the group of each cell"),
        ({"cells": 3, "variance": 5, "totals": -1}, "a total of others is -1; it must be zero or more"),
        ({"cells": 3, "variance": 5, "totals": [3, 4]}, "stated for 2 counts; there are 1"),
        ({"cells": 3, "variance": [5, 2], "totals": [4, 3]}, "at least the 4 of the area inside it"),
        ({"cells": 3, "variance": 5, "totals": 2.5}, "a whole number is needed"),
        ({"cells": 3, "variance": 5, "totals": 2, "shares": [0, 0, 0]}, "not all zero"),
        ({"cells": 3, "variance": 5, "totals": 2, "shares": [1, 1]}, "shares have 2 numbers; there are 3"),
        ({"cells": 3, "variance": 5, "shares": [1, 1, 1]}, "shares is used with totals"),
        ({"cells": 3, "variance": 5, "totals": 2, "unsure": 3, "chance": "1/2"}, "cannot be stated together"),
        ({"cells": 3, "variance": [5] * 9, "totals": range(9)}, "a whole number is needed"),
        ({"cells": 3, "variance": [5] * 9, "totals": [*range(9)]}, "for 9 levels; at most 8 are summed"),
        ({"noisy": [3, 0], "variance": 5, "totals": 10**9}, "2.0e.09 counts to sum over; at most 1e.07 are"),
        ({"cells": 3, "variance": 5, "totals": 2, "draws": 10}, "at least 100 are needed"),
        ({"cells": 3, "variance": 5, "totals": 2, "draws": 10**6}, "at most 33333 are made"),
    ],
)
def test_what_cannot_be_answered(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        categories(**given)


def test_the_command(discreet: Callable[..., Any], tmp_path: Path) -> None:
    found = discreet("risk", "categories", "--cells", "5", "--variance", "5.04", "--json").json
    assert found["guesses"][0]["right"] == pytest.approx(0.3171931, abs=1e-7)
    table, out, plot = tmp_path / "cells.csv", tmp_path / "out.csv", tmp_path / "plot.png"
    table.write_text("cell,noisy,known,prior\na,0,0,1\nb,3,0,1\nc,1,0,2\n")
    result = discreet("risk", "categories", "--table", table, "--variance", "5", "--csv", out, "--plot", plot)
    assert "cell    prior   evidence   posterior    ratio   one cell alone" in result.out
    assert out.read_text().splitlines()[1].startswith("a,0.25,-0.1,")
    assert plot.read_bytes()[:4] == b"\x89PNG"
    assert out.read_text().splitlines()[0] == "cell,prior,evidence,posterior,ratio,one_cell_posterior"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cell,noisy,known\na,1,0\na,2,0\n",
            "a cell occurs twice in one count (line 3 of cells.csv, field cell)",
        ),
        ("cell,noisy,known\na,1,-1\nb,2,0\n", "a count without the target is below zero (line 2"),
        ("cell,noisy,known,prior\na,1,1,0\nb,2,0,1\n", "a prior is not above zero (line 2"),
        (
            "count,cell,noisy,known\nx,a,1,0\nx,b,2,0\ny,a,1,1\n",
            "a cell is missing: each count must have all",
        ),
    ],
)
def test_a_bad_table(discreet: Callable[..., Any], tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "cells.csv").write_text(text)
    result = discreet("risk", "categories", "--table", tmp_path / "cells.csv", "--variance", "5")
    assert result.status == 2
    assert message in result.err
