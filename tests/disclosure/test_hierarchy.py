"""Exact posteriors of hierarchies, against enumeration by other code, simulation, and closed forms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.cli import run
from discreet.disclosure import Area, Poisson, Table, Uniform, decision_accuracy, joint_posterior
from discreet.disclosure.hierarchy import HierarchyPosterior, hierarchy_posterior
from discreet.disclosure.siblings import SiblingNoise, theta_bound
from discreet.disclosure.two_levels import TwoLevels
from discreet.errors import InputError, PrecisionError
from discreet.noise import GaussianNoise

# The example of Kazan and Reiter (arXiv:2204.04253) as the design note states it.
BLOCK = Area(name="block", noisy=2, rho="0.0992", siblings=27, siblings_noisy=-1)
GROUP = Area(name="block group", noisy=1, rho="0.2465")


def weight(x: int, variance: float) -> float:
    return math.exp(-x * x / (2 * variance))


def convolution(variance: float, count: int, reach: int = 60) -> dict[int, float]:
    """The law of a sum of discrete Gaussians, by adding one at a time."""
    one = {x: weight(x, variance) for x in range(-reach, reach + 1)}
    total = sum(one.values())
    law = {0: 1.0}
    for _ in range(count):
        fresh: dict[int, float] = {}
        for a, p in law.items():
            for b, q in one.items():
                if p * q > 1e-40:
                    fresh[a + b] = fresh.get(a + b, 0.0) + p * q / total
        law = fresh
    return law


def enumerated(areas: list[Area], prior: float, known: int, top: int) -> list[dict[int, float]]:
    """Every path of counts up to `top`, one after another, with the definition of the model."""
    laws = [convolution(float(a.variance), a.siblings) if a.siblings_noisy is not None else {} for a in areas]
    marginals: list[dict[int, float]] = [{} for _ in areas]
    for path in itertools.product((known, known + 1), *(range(known, top + 1) for _ in areas[1:])):
        value = prior if path[0] == known + 1 else 1 - prior
        for place, (area, k) in enumerate(zip(areas, path, strict=True)):
            if area.noisy is not None:
                value *= weight(area.noisy - k, float(area.variance))
            if area.count is not None and area.count != k:
                value = 0.0
            if place:
                below, rest = areas[place - 1], k - path[place - 1]
                if rest < 0 or (below.siblings == 0 and rest):
                    value = 0.0
                    break
                if below.siblings:
                    law = area.given_smaller
                    if isinstance(law, Poisson):
                        value *= math.exp(-law.mean) * law.mean**rest / math.factorial(rest)
                    elif isinstance(law, Table):
                        value *= law.probabilities[rest] if rest < len(law.probabilities) else 0.0
                    elif law.upper is not None:
                        value *= 1 / (law.upper - path[place - 1] + 1) if k <= law.upper else 0.0
                    if below.siblings_noisy is not None:
                        value *= laws[place - 1].get(below.siblings_noisy - rest, 0.0)
        for marginal, k in zip(marginals, path, strict=True):
            marginal[k] = marginal.get(k, 0.0) + value
    total = sum(marginals[0].values())
    return [{k: v / total for k, v in marginal.items()} for marginal in marginals]


def test_the_published_example() -> None:
    found = hierarchy_posterior([BLOCK, GROUP], prior="1/2")
    assert found.probability == pytest.approx(0.5033, abs=5e-5)  # design note
    assert found.truncation_error <= 1e-15
    assert found.ratio == pytest.approx(2 * found.probability)


SMALL = {
    "three uniform": [
        Area(noisy=2, variance="1.5", siblings=2, siblings_noisy=3),
        Area(noisy=4, variance=1, siblings=3, siblings_noisy=2),
        Area(noisy=7, variance="0.8"),
    ],
    "small variance, Poisson and table": [
        Area(noisy=1, variance="0.3", siblings=3, siblings_noisy=2),
        Area(noisy=2, variance="0.4", siblings=2, siblings_noisy=4, given_smaller="poisson:1.7"),
        Area(noisy=5, variance="0.5", given_smaller=Table([0.1, 0.2, 0.3, 0.25, 0.15])),
    ],
    "bounded uniform": [
        Area(noisy=1, variance=2, siblings=1, siblings_noisy=0),
        Area(noisy=-1, variance=2, given_smaller=Uniform(upper=4)),
    ],
    "group known": [
        Area(noisy=1, variance=2, siblings=4, siblings_noisy=5),
        Area(noisy=2, variance=2, count=3, siblings=2, siblings_noisy=1),
        Area(noisy=6, variance=1),
    ],
    "no sum of siblings, one alone": [
        Area(noisy=1, variance=2, siblings=4),
        Area(noisy=2, variance=2),
        Area(noisy=1, variance=1),
    ],
}


@pytest.mark.parametrize("name", SMALL)
def test_enumeration_agrees(name: str) -> None:
    areas = SMALL[name]
    found = hierarchy_posterior(areas, prior="1/3", known=1)
    truth = enumerated(areas, 1 / 3, 1, 24)
    assert found.probability == pytest.approx(truth[0][2], rel=1e-11)
    for area, marginal in zip(found.areas, truth, strict=True):
        got = dict(zip(area.values.tolist(), area.probabilities.tolist(), strict=True))
        assert sum(got.values()) == pytest.approx(1, abs=1e-12)
        for k, chance in marginal.items():
            assert got.get(k, 0.0) == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize(("count", "variance"), [(2, 1.0), (3, 0.3), (7, 0.15), (5, 2.0), (1, 0.5)])
def test_siblings_noise_is_the_convolution(count: int, variance: float) -> None:
    law = convolution(variance, count, reach=25)
    exact = SiblingNoise.of(count, variance, exact=True)
    single = SiblingNoise.of(count, variance, exact=False)
    z = np.arange(-6, 7)
    truth = np.array([law.get(int(k), 0.0) for k in z])
    known = truth > 1e-25
    assert np.exp(exact.log_pmf(z))[known] == pytest.approx(truth[known], rel=1e-11)
    off = np.abs(truth[known] / np.exp(single.log_pmf(z))[known] - 1)
    assert off.max() <= single.error * (1 + 1e-6) + 1e-11
    wave = theta_bound(count, variance)
    assert wave >= 1 or single.error <= 2 * wave / (1 - wave) + 1e-12


@pytest.mark.filterwarnings("error")
def test_many_siblings_with_hardly_any_noise() -> None:
    # all but a few sums are then so unlikely that their factors underflow, though not as logarithms
    block = Area(noisy=1, variance="0.001", siblings=300, siblings_noisy=4)
    found = hierarchy_posterior([block, Area(noisy=5, variance=50)], prior="1/2")
    assert found.probability == pytest.approx(1, abs=1e-12)
    assert found.probability <= 1
    assert found.areas[1].quantile(0.5) == 5  # without noise: one in the block, four beside it


def test_exact_and_single_siblings_differ_by_what_is_stated() -> None:
    areas = SMALL["small variance, Poisson and table"]
    exact = hierarchy_posterior(areas, prior="1/2", known=1)
    single = hierarchy_posterior(areas, prior="1/2", known=1, siblings="single")
    assert exact.sibling_error == single.sibling_error > 0.01
    assert exact.probability != pytest.approx(single.probability, rel=1e-6)
    wide = hierarchy_posterior([BLOCK, GROUP], prior="1/2", siblings="single")
    assert wide.sibling_error < 1e-16
    assert wide.probability == pytest.approx(
        hierarchy_posterior([BLOCK, GROUP], prior="1/2").probability, rel=1e-13
    )


@given(
    x=st.integers(-5, 8),
    z=st.integers(-5, 12),
    y=st.integers(-20, 40),
    known=st.integers(0, 10**6),
    p=st.fractions("1/1000", "999/1000"),
)
@settings(max_examples=40, deadline=None)
def test_only_differences_matter_to_two_levels(x: int, z: int, y: int, known: int, p: Fraction) -> None:
    # counts of the block moved together with the group's: the model does not notice
    def at(base: int) -> float:
        block = Area(noisy=base + x, variance=5, siblings=9, siblings_noisy=y)
        return hierarchy_posterior([block, Area(noisy=base + z, variance=2)], prior=p, known=base).probability

    assert at(known) == pytest.approx(at(0), rel=1e-9)
    two = TwoLevels(variance=(5, 2), siblings=9, prior=p)
    assert float(two.probability(x, z, y)) == pytest.approx(at(0), rel=1e-11)


def test_a_block_alone_in_its_group_is_two_counts() -> None:
    # no siblings: both counts are the block's, so their precisions add up
    areas = [Area(noisy=3, variance=5), Area(noisy=1, variance=2)]
    found = hierarchy_posterior(areas, prior="1/10", known=1).probability
    odds = math.log(1 / 9) + (2 * (3 - 1) - 1) / 10 + (2 * (1 - 1) - 1) / 4
    assert found == pytest.approx(1 / (1 + math.exp(-odds)), rel=1e-13)


def test_prior_odds_multiply() -> None:
    def odds(p: str) -> float:
        q = hierarchy_posterior([BLOCK, GROUP], prior=p).probability
        return q / (1 - q)

    assert odds("1/5") * 4 == pytest.approx(odds("1/2"), rel=1e-12)
    assert odds("1e-12") * (1e12 - 1) == pytest.approx(odds("1/2"), rel=1e-9)


def test_a_large_hierarchy_agrees_with_simulation() -> None:
    # Rejection: draw truth from the prior and noise, keep draws that show what was seen. The share of the
    # kept that hold the target is binomial; |z| < 5 fails once in 1.7 million runs, and the seed is fixed.
    random = np.random.default_rng(20)
    n, known, mean = 4_000_000, 1000, 6.0
    block = known + (random.random(n) < 0.4)
    group = block + random.poisson(mean, n)

    def noise(variance: float, size: int) -> np.ndarray:
        x = np.arange(-60, 61)
        return random.choice(x, p=GaussianNoise(variance=Fraction(variance)).pmf(x), size=size)

    kept = block + noise(2, n) == 1002
    block, group = block[kept], group[kept]
    kept = group + noise(3, len(group)) == 1006
    block, group = block[kept], group[kept]
    others = group - block + sum(noise(2, len(group)) for _ in range(2))
    kept = others == 4
    share, many = (block[kept] == known + 1).mean(), int(kept.sum())
    areas = [
        Area(noisy=1002, variance=2, siblings=2, siblings_noisy=4),
        Area(noisy=1006, variance=3, given_smaller=Poisson(mean)),
    ]
    found = hierarchy_posterior(areas, prior="2/5", known=known).probability
    spread = math.sqrt(found * (1 - found) / many)
    assert many > 5000
    assert abs(share - found) < 5 * spread
    assert abs(share - 1.1 * found) > 5 * spread  # a tenth more would be noticed


def test_counts_of_a_million_and_inconsistent_counts() -> None:
    areas = [
        Area(noisy=3, variance=100, siblings=20, siblings_noisy=40),
        Area(noisy=45, variance=100, siblings=3, siblings_noisy=200),
        Area(noisy=250, variance=200, siblings=100, siblings_noisy=999_000),
        Area(noisy=999_500, variance=200),
    ]
    found = hierarchy_posterior(areas, prior="1/10", known=2)
    assert found.truncation_error <= 1e-15
    assert abs(found.areas[3].mean - 999_400) < 200
    torn = hierarchy_posterior([BLOCK, Area(noisy=900, rho="0.2465")], prior="1/2")
    assert 0 < torn.probability < 1
    assert torn.truncation_error <= 1e-15
    assert torn.areas[1].mean > 800  # the group's own count is far more precise


def test_a_smaller_tolerance_moves_nothing_that_was_promised() -> None:
    rough = hierarchy_posterior([BLOCK, GROUP], prior="1/2", tolerance=1e-3)
    fine = hierarchy_posterior([BLOCK, GROUP], prior="1/2", tolerance=1e-30)
    assert abs(rough.probability - fine.probability) <= rough.truncation_error + 1e-15
    assert fine.truncation_error <= 1e-30


@pytest.mark.parametrize(
    ("group", "exact", "published"),
    # exact: design note; published: stationary law of the published chain, design note
    [(1, 0.318, 0.5946), (2, 0.435, None), (4, 0.562, 0.5901), (6, None, 0.5897), (10, 0.590, 0.5897)],
)
def test_accuracy_against_the_groups_count(group: int, exact: float | None, published: float | None) -> None:
    two = TwoLevels(rho=("0.0992", "0.2465"), siblings=27, prior="1/2")
    if exact is not None:
        assert two.accuracy_given(group=group) == pytest.approx(exact, abs=5e-4)
    if published is not None:
        assert two.accuracy_given(group=group, chance="unconstrained") == pytest.approx(published, abs=5e-5)


def test_accuracy_is_the_sum_over_the_grid() -> None:
    two = TwoLevels(variance=(2, 1), siblings=3, prior="2/5", known=2)
    (x, px), (z, pz), (y, py) = two.grid(block=3, group=5)
    chances = two.probability(x[:, None, None], z[None, :, None], y)
    mass = px[:, None, None] * pz[None, :, None] * py
    assert mass.sum() == pytest.approx(1, abs=1e-14)
    assert two.accuracy_given(group=5) == pytest.approx(float(mass[chances > 0.5].sum()), abs=1e-13)
    chain = two.unconstrained_probability(x[:, None, None], z[None, :, None], y)
    assert two.accuracy_given(group=5, chance="unconstrained") == pytest.approx(
        float(mass[chain > 0.5].sum()), abs=1e-13
    )


def build(**change: object) -> HierarchyPosterior:
    block = {"noisy": 1, "variance": 5, "siblings": 3, "siblings_noisy": 2, **change}
    return hierarchy_posterior([Area(**block), Area(name="group", noisy=2, variance=2)], prior="1/2")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variance": 0}, "must be above zero"),
        ({"variance": None, "rho": "-1"}, "rho is -1; it must be above zero"),
        ({"rho": 1}, "both are given: state the noise"),
        ({"siblings": -1, "siblings_noisy": None}, "must be zero or more"),
        ({"siblings": 0}, "there are no siblings"),
        ({"noisy": 1.5}, "a whole number is needed"),
        ({"count": 7}, "known is 0"),
    ],
)
def test_bad_areas_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(**change)


def test_what_does_not_nest_is_refused() -> None:
    for areas, message in (
        ([BLOCK, Area(noisy=1, rho=1, count=1)], "does not nest"),
        ([BLOCK, Area(noisy=1, rho=1, given_smaller=Uniform(upper=1))], "does not nest"),
        ([BLOCK, Area(rho=1, siblings=2, siblings_noisy=1)], "largest area"),
        ([Area(noisy=1, rho=1, siblings=2), Area(rho=1)], "nothing says how large"),
        ([], "1 to 20 areas"),
    ):
        with pytest.raises(InputError, match=message):
            hierarchy_posterior(areas, prior="1/2", known=2)
    for prior in (0, 1, "-1/2", 2):
        with pytest.raises(InputError, match="strictly between 0 and 1"):
            hierarchy_posterior([BLOCK, GROUP], prior=prior)
    with pytest.raises(InputError, match="zero or more"):
        hierarchy_posterior([BLOCK, GROUP], prior="1/2", known=-1)
    with pytest.raises(InputError, match="no positive probability"):
        Table([0, 0])
    wide = Area(noisy=0, variance=10**11, siblings=4, siblings_noisy=0)
    with pytest.raises(PrecisionError, match="too wide"):
        hierarchy_posterior([wide, wide, Area(noisy=0, variance=10**11)], prior="1/2")


def test_a_law_that_would_be_dropped_is_refused() -> None:
    """Without siblings the group is the block, and what is believed of the rest would say nothing."""
    law = {"name": "group", "noisy": 6, "variance": 2, "given_smaller": "poisson:5"}
    block = {"name": "block", "noisy": 1, "variance": 2}
    beside = hierarchy_posterior([Area(**block, siblings=1), Area(**law)], prior="1/2").probability  # type: ignore[arg-type]
    assert beside == pytest.approx(0.5912, abs=1e-4)
    for stated in ("poisson:5", "uniform", "table:1,1"):
        with pytest.raises(InputError, match=r"the areas beside block, which has none; .*siblings of block"):
            hierarchy_posterior([Area(**block), Area(**law | {"given_smaller": stated})], prior="1/2")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="group is the smallest area"):
        hierarchy_posterior([Area(**law)], prior="1/2")  # type: ignore[arg-type]
    alone = hierarchy_posterior([Area(**block), Area(name="group", noisy=6, variance=2)], prior="1/2")  # type: ignore[arg-type]
    assert alone.probability == pytest.approx(0.9526, abs=1e-4)  # another number: the areas are one


AREAS = ["--area", "name=block,noisy=2,rho=0.0992,siblings=27,siblings-noisy=-1"]
AREAS += ["--area", "name=block group,noisy=1,rho=0.2465"]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    table, figure = tmp_path / "h.csv", tmp_path / "h.svg"
    assert run(["risk", "hierarchy", *AREAS, "--csv", str(table), "--plot", str(figure)]) == 0
    assert "posterior 0.503267" in capsys.readouterr().out
    assert table.read_text().startswith("area,count,probability\nblock,0,0.4967")
    assert b"<svg" in figure.read_bytes()[:1000]
    assert run(["risk", "hierarchy", *AREAS, "--json", "--prior", "1/5"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["posterior"] == pytest.approx(0.2021, abs=1e-4)  # odds 0.503267/0.496733 over 4
    assert found["truncation_error"] <= 1e-15


@pytest.mark.parametrize(
    "arguments",
    [
        ["--prior", "1"],
        ["--known", "-3"],
        ["--method", "metropolis"],
        ["--siblings", "both"],
        ["--area", "name=tract,noisy=1,rho=0"],
        ["--area", "name=tract,noisy=one,rho=1"],
        ["--area", "tract"],
        ["--csv", "no/such/place.csv"],
    ],
)
def test_command_refuses(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["risk", "hierarchy", *AREAS, *arguments]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_list_is_not_cut_to_its_first_number() -> None:
    areas = [Area(noisy=2, rho="0.1")]
    with pytest.raises(InputError, match="of type list"):
        hierarchy_posterior(areas, prior=["1/2", "1/10"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="list of 2 numbers"):
        Area(noisy=2, rho=["0.1", "0.2"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="list of 2 numbers"):
        Poisson([1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("rho", ["0.0992264", Fraction(1666368, 16793603)])
@pytest.mark.parametrize("chance", ["exact", "unconstrained"])
def test_even_odds_are_a_toss_of_a_coin(rho: object, chance: str) -> None:
    # group all but known: "present" where 27 (2 x - 1) > 2 (y - k) + 1, and both sides are odd: ties do occur
    two = TwoLevels(rho=(rho, "100"), siblings=27, prior="1/2")  # type: ignore[arg-type]
    v = 1 / (2 * float(Fraction(rho)))  # type: ignore[arg-type]
    x, w = np.arange(-40, 43), np.arange(-300, 300)
    px, pw = np.exp(-((x - 1) ** 2) / (2 * v)), np.exp(-((w + 1) ** 2) / (54 * v))
    seen = np.outer(px / px.sum(), pw / pw.sum())
    lead = 27 * (2 * x - 1)[:, None] - (2 * w + 1)
    wanted = seen[lead > 0].sum() + seen[lead == 0].sum() / 2
    assert seen[lead == 0].sum() > 0.005  # counted on either side, they would show
    assert two.accuracy_given(group=10, chance=chance) == pytest.approx(wanted, abs=1e-9)  # type: ignore[arg-type]
    assert round(wanted, 4) == 0.5897
    absent = two.accuracy_given(group=9, block=0, chance=chance)  # type: ignore[arg-type]
    assert absent == pytest.approx(wanted, abs=1e-9)


def test_the_hierarchy_raises_the_averaged_risk() -> None:
    # design note: averaged over the prior 60.4 % with both levels, 58.9 % from the block alone
    two = TwoLevels(rho=(Fraction(1666368, 16793603), "0.2464845"), siblings=27, prior="1/2")
    alone = decision_accuracy(rho=Fraction(1666368, 16793603), prior="1/2")
    averaged = [two.accuracy(rest=rest) for rest in (0, 1, 4, 20)]
    assert averaged[0] == pytest.approx(0.604, abs=5e-4)
    assert alone == pytest.approx(0.589, abs=5e-4)
    assert min(averaged) > alone


@pytest.mark.parametrize("noisy", [0, 2, 7])
def test_what_is_left_out_is_said_as_a_bound(noisy: int) -> None:
    # 4.41e-24 was printed as at most 4e-24
    found = hierarchy_posterior([replace_noisy(BLOCK, noisy), GROUP], prior="1/2")
    said = float(str(found).partition("at most ")[2].split()[0])
    assert found.truncation_error * (1 - 1e-11) <= said < 10 * found.truncation_error


def replace_noisy(area: Area, noisy: int) -> Area:
    count = area.siblings_noisy
    return Area(variance=area.variance, noisy=noisy, siblings=area.siblings, siblings_noisy=count)


def test_without_siblings_both_noisy_counts_are_of_one_number() -> None:
    block, group = Area(noisy=-1, variance="5/2"), Area(noisy=1, variance="1/3")
    want = joint_posterior([-1, 1], variance=["5/2", "1/3"], prior="1/10", known=0)
    assert hierarchy_posterior([block, group], prior="1/10").probability == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("noisy", [10**12, -(10**12), 10**6])
def test_a_value_far_out_keeps_its_digits(noisy: int) -> None:
    # the squares are of the size 1e24, their difference is what counts: exactly (y - k - 1/2) / v
    found = hierarchy_posterior([Area(noisy=noisy, variance=10**12)], prior="1/2").probability
    assert found == pytest.approx(1 / (1 + math.exp(-(noisy - 0.5) / 1e12)), rel=1e-14)
