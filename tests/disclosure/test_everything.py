"""The risk of everything published, against an enumeration of data sets, cells and outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.accounting.privacy_loss import compose
from discreet.budget import Release, load
from discreet.disclosure.beliefs import QUANTILES
from discreet.disclosure.compared import DataSetPairs, ExactCount
from discreet.disclosure.everything import ReleaseRisk, predictive_value, risk
from discreet.disclosure.profile import best_accuracies
from discreet.errors import InputError

TOML = """
name = "tiny"
neighbours = "bounded"
[attributes]
sex = ["f", "m"]
age = ["child", "adult", "old"]
[attributes.grown]
of = "age"
groups = { no = ["child"], yes = ["adult", "old"] }
[[levels]]
name = "State"
queries = { "total" = { variance = 2 }, "sex * grown" = { variance = 4 } }
[[levels]]
name = "Block"
queries = { "detailed" = { variance = 4 }, "grown" = { variance = 1 }, "sex" = { variance = 2 } }
"""
TINY = Release.from_toml(TOML)
RATES = ["1e-6", "1e-3", "1/10", "1/2"]

Record = tuple[str, str, int, int]
"""State, block, sex, age."""

RECORDS: list[Record] = [
    (s, b, x, a) for (s, b), x, a in product([("S", "A"), ("S", "B"), ("T", "C")], (0, 1), (0, 1, 2))
]
# what each query of a level counts a record under, and twice its precision: written out, not taken from TINY
QUERIES: list[tuple[str, str, int, Callable[[Record], object]]] = [
    ("State", "total", 2, lambda r: r[0]),
    ("State", "sex * grown", 4, lambda r: (r[0], r[2], r[3] > 0)),
    ("Block", "detailed", 4, lambda r: (r[1], r[2], r[3])),
    ("Block", "grown", 1, lambda r: (r[1], r[3] > 0)),
    ("Block", "sex", 2, lambda r: (r[1], r[2])),
]
UNIT = 8  # losses are multiples of 1/8: (2 n + 1) / (2 v) for v of 1, 2, 4


def law_of(variances: list[int], size: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The losses and their chances with the target, by direct convolution of one cell after another."""
    total = np.ones(1)
    for v in variances:
        n = np.arange(-60, 61)
        chances = np.exp(-(n**2) / (2 * v))
        chances /= chances.sum()
        # y = size + n with the target: log of exp(-(y - size)^2 / 2v) over exp(-y^2 / 2v)
        places = np.rint(UNIT * (2 * size * n + size**2) / (2 * v)).astype(int)
        far = int(np.abs(places).max())
        own = np.zeros(2 * far + 1)
        np.add.at(own, places + far, chances)
        total = np.convolve(total, own)
    half = total.size // 2
    return np.arange(-half, half + 1) / UNIT, total


def true_rate(law: tuple[np.ndarray, np.ndarray], alpha: float) -> float:
    """The power of the best test of this size, by Neyman and Pearson."""
    losses, present = law
    order = np.argsort(-losses)
    with np.errstate(over="ignore", under="ignore"):
        absent = np.where(present > 0, present * np.exp(-losses), 0.0)[order]
    sizes, powers = (np.concatenate([[0.0], np.cumsum(one)]) for one in (absent, present[order]))
    return float(np.interp(alpha, sizes, powers))


def pairs(
    allowed: Callable[[Record, Record], bool], exact: tuple[tuple[str, str], ...] = ()
) -> Iterator[list[int]]:
    """The variances of the cells in which two data sets differ, for pairs that agree on what is exact."""
    for one, other in product(RECORDS, RECORDS):
        if one == other or not allowed(one, other):
            continue
        held = {(level, name): cell for level, name, _, cell in QUERIES}
        more = {("State", "sex"): lambda r: (r[0], r[2]), ("Block", "total"): lambda r: r[1]}
        if any({**held, **more}[key](one) != {**held, **more}[key](other) for key in exact):
            continue
        yield [v for _, _, v, cell in QUERIES if cell(one) != cell(other) for _ in range(2)]


def largest(found: Iterator[list[int]], alpha: float, size: int = 1) -> float:
    different = {tuple(sorted(one)) for one in found}
    return max(true_rate(law_of(list(one), size), alpha) for one in different)


@pytest.fixture(scope="module")
def tiny() -> ReleaseRisk:
    return risk(TINY, false_positive_rates=RATES, prior=["1/2", "1/100"], guess=["1/6"])


def test_detection_is_that_of_the_worst_pair_of_data_sets(tiny: ReleaseRisk) -> None:
    for row in tiny.detections:
        true = largest(pairs(lambda a, b: True), row.false_positive_rate)
        assert row.true_positive_rate == pytest.approx(true, rel=1e-9)
        assert row.true_positive_rate >= true * (1 - 1e-12)
        for prior, share in row.predictive:
            a = row.false_positive_rate
            assert share == pytest.approx(prior * true / (prior * true + (1 - prior) * a), rel=1e-9)


@pytest.mark.parametrize(
    ("exact", "dropped"),
    [
        (("State:total",), 1),
        (("State:sex",), 1),
        (("State:sex", "State:sex * grown"), 2),
        (("Block:grown", "State:sex"), 4),  # together they hold sex by grown of every area
        (("Block:total",), 1),
    ],
)
def test_what_is_held_exact_leaves_pairs_that_agree_on_it(exact: tuple[str, ...], dropped: int) -> None:
    found = risk(TINY, false_positive_rates=RATES, prior="1/2", exact=exact)
    assert found.dropped == dropped
    keys = tuple((held.level, held.query) for held in map(ExactCount.read, exact))
    for row in found.detections:
        true = largest(pairs(lambda a, b: True, keys), row.false_positive_rate)
        assert row.true_positive_rate == pytest.approx(true, rel=1e-9), exact
    assert found.profile.overall[0].accuracy < risk(TINY, prior="1/2").profile.overall[0].accuracy


def rates_of(found: ReleaseRisk) -> list[tuple[float, float, tuple[tuple[float, float], ...]]]:
    """The rates of detection and what they mean, without the claim: that names how many people change."""
    return [(row.false_positive_rate, row.true_positive_rate, row.predictive) for row in found.detections]


def test_two_records_of_one_person_may_swap_what_is_held() -> None:
    """A sensitivity of 2 is that of a person with two records: what holds for two people holds for them."""
    text = TOML.replace("{ variance = ", "{ sensitivity = 2, variance = ")
    exact = ("Block:grown", "State:sex")
    twice = risk(Release.from_toml(text), false_positive_rates=RATES, prior="1/2", exact=exact)
    pair = risk(TINY, people=2, false_positive_rates=RATES, prior="1/2", exact=exact)
    assert twice.dropped == pair.dropped == 2  # of four that one record would leave
    assert rates_of(twice) == rates_of(pair)
    assert [row.right for row in twice.attributes] == [row.right for row in pair.attributes]
    # (girl, man) for (boy, woman) in one block: no exact count differs, four cells of sex by age do by one
    swap = law_of([4] * 4 + [4] * 4)
    for row in twice.detections:
        assert row.true_positive_rate >= true_rate(swap, row.false_positive_rate)


def test_an_exact_total_tells_whether_somebody_was_added() -> None:
    found = risk(
        TINY, false_positive_rates=["1e-6"], prior="1/100", exact=["State:total"], neighbours="unbounded"
    )
    assert found.told_apart
    assert found.detections[0].true_positive_rate == found.profile.overall[0].accuracy == 1.0
    # values are not known from a total: the reference is the law of the noisy counts without the person
    assert found.guesses[0].after < 1


@pytest.mark.parametrize(("attribute", "place"), [("sex", 2), ("age", 3)])
@pytest.mark.parametrize("exact", [(), ("State:sex",), ("Block:grown",)])
def test_one_attribute_against_data_sets_that_differ_in_it_alone(
    attribute: str, place: int, exact: tuple[str, ...]
) -> None:
    found = risk(TINY, false_positive_rates=RATES, prior="1/2", delta="1e-6", exact=exact)
    (row,) = (one for one in found.attributes if one.attribute == attribute)
    keys = tuple((held.level, held.query) for held in map(ExactCount.read, exact))

    def alone(one: Record, other: Record) -> bool:
        return all((one[k] == other[k]) == (k != place) for k in range(4))

    different = {tuple(sorted(one)) for one in pairs(alone, keys)}
    if not different:
        assert row.epsilon is None
        assert row.guess is None
        return
    for detection in row.detections:
        true = max(true_rate(law_of(list(one)), detection.false_positive_rate) for one in different)
        assert detection.true_positive_rate == pytest.approx(true, rel=1e-9)
    assert row.epsilon is not None
    deltas = []
    for one in different:
        losses, chances = law_of(list(one))
        with np.errstate(over="ignore"):
            gain = 1 - np.exp(row.epsilon - losses)
        deltas.append(float((chances * np.maximum(gain, 0)).sum()))
    assert max(deltas) == pytest.approx(1e-6, rel=1e-6)


def test_a_recode_does_not_see_a_change_within_a_group() -> None:
    compared = DataSetPairs([TINY])
    (keeps,) = compared.changes("age")
    assert keeps(0, ("Block",), "grown")
    assert not keeps(0, ("Block",), "sex")
    (within,) = DataSetPairs([TINY], exact=["Block:grown"]).changes("age")
    assert not within(0, ("Block",), "grown")
    assert within(0, ("Block",), "detailed")


@pytest.mark.parametrize("cells", [2, 3])
@pytest.mark.parametrize("variance", ["1/2", "2"])
def test_no_guess_is_right_more_often_than_the_bound(cells: int, variance: str) -> None:
    # the best guess of one of K cells, by a sum over all outcomes of all cells
    release = Release.from_toml(
        f'name = "one"\nneighbours = "bounded"\n[attributes]\nkind = {cells}\n'
        f'[[levels]]\nname = "Block"\nqueries = {{ "kind" = {{ variance = "{variance}" }} }}'
    )
    v = float(Fraction(variance))
    n = np.arange(-12, 14)
    grid = np.meshgrid(*[n] * cells, indexing="ij")
    norm = np.exp(-(np.arange(-60, 61) ** 2) / (2 * v)).sum()

    def law(who: int) -> np.ndarray:
        parts = [np.exp(-((y - (k == who)) ** 2) / (2 * v)) / norm for k, y in enumerate(grid)]
        return np.asarray(math.prod(parts))

    for prior in ([1 / cells] * cells, [0.9] + [0.1 / (cells - 1)] * (cells - 1)):
        best = float(np.max([p * law(k) for k, p in enumerate(prior)], axis=0).sum())
        before = max(prior)
        (guess,) = risk(release, prior="1/2", guess=[Fraction(before)]).guesses
        assert guess.replaced is not None
        assert before < best <= min(guess.nobody, guess.replaced) + 1e-9
        assert guess.nobody <= guess.replaced  # nearer to every value
        assert best > 0.55 * guess.after  # a bound that says something


def test_two_values_are_guessed_as_often_as_they_are_told_apart() -> None:
    (row,) = (one for one in risk(TINY, prior="1/2").attributes if one.attribute == "sex")
    assert row.guess is not None
    assert row.guess.after == row.right


def test_published_figures() -> None:
    # the design note: one of 2,016 cells, main pair, by reference; DHC at prior 1/100 and rate 1e-4
    for name, replaced, nobody in (("pl94-2020-persons", 0.151, 0.045), ("dhc-2020-persons", 0.443, 0.143)):
        found = risk(load(name), prior="1/100", false_positive_rates=["1e-4"], guess=["1/2016"], pairs="main")
        (guess,) = found.guesses
        assert guess.replaced == pytest.approx(replaced, abs=5e-4)
        assert guess.nobody == pytest.approx(nobody, abs=5e-4)
        assert guess.possibilities == 2016
        assert not found.profile.is_bound
    (row,) = found.detections
    assert row.true_positive_rate == pytest.approx(0.285, abs=5e-4)
    assert row.predictive[0][1] == pytest.approx(0.966, abs=5e-4)


def test_people_who_move_together() -> None:
    two = risk(TINY, false_positive_rates=RATES, prior="1/2", people=2)
    for row in two.detections:
        true = largest(pairs(lambda a, b: True), row.false_positive_rate, size=2)
        assert row.true_positive_rate == pytest.approx(true, rel=1e-9)
    # two may have swapped values, so that margins held together do not hold the table
    assert risk(TINY, prior="1/2", people=2, exact=["Block:grown", "State:sex"]).dropped == 2


def test_several_releases_and_attributes_with_other_names() -> None:
    other = Release.from_toml(
        TOML.replace('"tiny"', '"later"').replace("sex", "gender").replace("grown", "ofage")
    )
    compared = DataSetPairs([TINY, other])
    (keeps,) = compared.changes("sex")
    assert keeps(1, ("Block",), "gender")  # maybe another name for it
    assert not keeps(1, ("Block",), "ofage")
    both, one = (risk(r, prior="1/2", false_positive_rates=["1/10"]) for r in ([TINY, other], TINY))
    assert both.profile.overall[0].accuracy > one.profile.overall[0].accuracy
    kinds = {row.attribute: row.claim.kind.value for row in both.attributes}
    assert kinds["sex"] == "bound"
    assert kinds["age"] == "exact"
    doubled = [v for one in pairs(lambda a, b: True) for v in [one * 2]]
    true = max(true_rate(law_of(list(d)), 0.1) for d in {tuple(sorted(one)) for one in doubled})
    assert both.detections[0].true_positive_rate == pytest.approx(true, rel=1e-9)


def test_predictive_value_of_nobody_found() -> None:
    assert predictive_value(0.1, 0.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"exact": ["Stat:total"]}, "which no release has: tiny has the levels State, Block"),
        ({"exact": ["State:aeg"]}, "'aeg', which is neither an attribute nor a recode"),
        ({"exact": ["State"]}, "written LEVEL:QUERY"),
        ({"false_positive_rates": [0]}, "must lie strictly between 0 and 1"),
        ({"guess": [1]}, "must lie strictly between 0 and 1"),
        ({"prior": []}, "no prior is given"),
        ({"people": 0}, "people"),
        ({"pairs": "some"}, "pairs is 'some'"),
    ],
)
def test_bad_input(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        risk(TINY, **options)  # type: ignore[arg-type]


def test_an_exact_count_holds_no_sum() -> None:
    release = Release.from_toml(
        TOML.replace(
            '"total" = { variance = 2 }',
            '"total" = { variance = 2 }, "hours by sex" = { sum = "hours", at_most = 40, variance = 900 }',
        )
    )
    held = DataSetPairs([release], exact=["State:sex"])
    assert held.fixed(0, ("State",), "total")
    assert not held.fixed(0, ("State",), "hours by sex")  # another person of that sex may work longer
    assert DataSetPairs([release], exact=["State:hours by sex"]).fixed(0, ("State",), "hours by sex")
    assert not DataSetPairs([release], exact=["State:hours by sex"]).fixed(0, ("State",), "total")
    (keeps,) = DataSetPairs([release]).changes("sex")
    assert keeps(0, ("State",), "hours by sex")
    assert risk(release, prior="1/2", exact=["State:total"]).dropped == 1
    zero = risk(release, prior="1/2", exact=["State:hours by sex"], neighbours="unbounded")
    assert not zero.told_apart  # somebody without hours changes no sum


SPINES = [
    """
name = "one"
neighbours = "bounded"
[[levels]]
name = "State"
queries = { total = { variance = 3 }, kind = { variance = 4 } }
[[levels]]
name = "Block"
queries = { kind = { variance = 12 } }
[spine]
may_merge_up = ["Block"]
[attributes]
kind = ["a", "b"]
""",
    """
name = "two"
neighbours = "bounded"
[[levels]]
name = "State"
queries = { total = { variance = 2 } }
[[levels]]
name = "Tract"
queries = { kind = { variance = 6 } }
[[levels]]
name = "Block"
queries = { kind = { variance = 6 } }
[spine]
may_merge_up = ["Tract"]
[attributes]
kind = ["a", "b"]
""",
]


@pytest.mark.slow
@pytest.mark.parametrize("exact", [(), ("State:total",)])
def test_all_pairs_of_two_releases_are_compared(exact: tuple[str, ...]) -> None:
    """Each case evaluated by itself: every number of the whole is the largest of them."""
    releases = [Release.from_toml(text) for text in SPINES]
    seen: list[tuple[int, int]] = []
    found = risk(
        releases,
        prior=["1/2", "1/100"],
        exact=exact,
        false_positive_rates=RATES,
        progress=lambda done, total: seen.append((done, total)),
    )
    whole = found.account
    assert whole is not None
    assert whole.pairs == 9
    losses = [compose(events) for _, events in whole.cases]
    marks = np.max([loss.law.quantiles(QUANTILES) for loss in losses], axis=0)
    levels = np.linspace(-4, 12, 17)
    deltas = np.max([loss.delta(epsilon=levels) for loss in losses], axis=0)
    if exact:  # the totals of states, and whatever is merged into them, are not compared
        assert found.dropped == 2
        assert whole.rho < risk(releases, prior="1/2").account.rho
    for row, prior in zip(found.profile.overall, (Fraction(1, 2), Fraction(1, 100)), strict=True):
        each = [best_accuracies(loss, [prior])[0] for loss in losses]
        assert row.accuracy == pytest.approx(max(each), rel=1e-9)
        highest = 1 / (1 + np.exp(math.log((1 - prior) / prior) - marks))
        assert (np.array(row.quantiles) >= highest * (1 - 1e-9)).all()
        assert (np.array(row.quantiles) <= highest * 1.01).all()
    for detection in found.detections:
        alpha = Fraction(detection.false_positive_rate)
        each = [1 - loss.tradeoff(alpha=alpha) for loss in losses]
        assert detection.true_positive_rate >= max(each) - 1e-9
        # 1 - f lies below every line of slope e^l above all cases
        assert detection.true_positive_rate <= (deltas + np.exp(levels) * float(alpha)).min() + 1e-12
    # told as it goes on, never backwards
    assert seen[0][0] < seen[-1][0] < seen[-1][1]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len({total for _, total in seen}) == 1


@pytest.mark.slow
def test_two_releases_of_2020_with_the_totals_of_states_held_exact() -> None:
    """34,056 cases; it did not finish within minutes, for the quantiles of one level."""
    found = risk([load("pl94-2020-persons"), load("dhc-2020")], prior="1/2", exact=["State:total"])
    plain = risk([load("pl94-2020-persons"), load("dhc-2020")], prior="1/2")
    whole, before = found.account, plain.account
    assert whole is not None
    assert before is not None
    assert whole.pairs == before.pairs == 34056
    assert found.dropped > 0
    (row,), (other,) = found.profile.overall, plain.profile.overall
    assert row.accuracy < other.accuracy
    generator = np.random.default_rng(3)
    for number in (*generator.integers(0, whole.pairs, 12).tolist(), whole.cases.main):
        loss = compose(whole.cases[number][1])
        assert best_accuracies(loss, [Fraction(1, 2)])[0] <= row.accuracy + 1e-12
        for detection in found.detections[2:]:
            alpha = Fraction(detection.false_positive_rate)
            assert 1 - loss.tradeoff(alpha=alpha) <= detection.true_positive_rate + 1e-12
