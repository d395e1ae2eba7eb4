"""An audit accuses no honest mechanism, and catches every seeded fault.

False alarms are counted at a chance of 1/20 an audit, where they would show; the shipped chance is 1e-6. The
faults are caught at the shipped chance, in every one of the audits made, so their power is stated as what so
many successes in a row prove at 95 %: 20 of 20 at least 0.86, 300 of 300 at least 0.99.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.answers import describe
from discreet.audit import looks as audit_module
from discreet.audit.learned import Scores
from discreet.audit.looks import (
    Audit,
    Block,
    ClaimedNoise,
    Integers,
    Seen,
    audit_noise,
    audit_promise,
    judge_looks,
    log_ratios,
    lower_rate,
    upper_rate,
)
from discreet.audit.power import smallest_share
from discreet.budget.scope import Extent
from discreet.errors import InputError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise, sample
from discreet.testing import NotPrivateSeededEntropy

STATE, COUNTY = DiscreteGaussian(variance=5), DiscreteLaplace(scale=2)
BLOCKS = (
    Block("State, total", STATE, np.array([[0, 1]])),
    Block("County, total", COUNTY, np.array([[2, 3], [4, 5]])),
)
CLAIMED = ClaimedNoise(np.array([1, -1, 1, 0, 0, -1]), BLOCKS)

Fault = Callable[[list[Integers], NotPrivateSeededEntropy], list[Integers]]


def runs(
    many: int, source: NotPrivateSeededEntropy, state: Noise = STATE, county: Noise = COUNTY
) -> Integers:
    parts = sample(state, (many, 2), source=source), sample(county, (many, 4), source=source)
    return np.concatenate(parts, axis=1)


def honest(many: int, seed: int) -> list[Integers]:
    source = NotPrivateSeededEntropy(seed)
    return [runs(many, source) for _ in range(2)]


def audited(sides: list[Integers], false_alarm: str = "1e-6") -> Audit:
    return audit_noise(sides[0], sides[1], claimed=CLAIMED, false_alarm=false_alarm)


def less_noise(sides: list[Integers], source: NotPrivateSeededEntropy) -> list[Integers]:
    return [runs(len(side), source, DiscreteGaussian(variance=4)) for side in sides]


def forgotten_level(sides: list[Integers], _: NotPrivateSeededEntropy) -> list[Integers]:
    for side in sides:
        side[:, 2:] = 0
    return sides


def reused_seed_in_runs(sides: list[Integers], _: NotPrivateSeededEntropy) -> list[Integers]:
    for side in sides:
        side[1::2] = side[::2]
    return sides


def reused_seed_in_levels(sides: list[Integers], source: NotPrivateSeededEntropy) -> list[Integers]:
    """The noise of every query comes from the same bits."""
    seed = int(sample(DiscreteGaussian(variance=10**12), 1, source=source)[0])
    made = []
    for side in range(2):
        rows = []
        for run in range(len(sides[0])):
            fresh = [NotPrivateSeededEntropy(seed + 2 * run + side) for _ in range(2)]
            rows.append(
                np.concatenate([sample(STATE, 2, source=fresh[0]), sample(COUNTY, 4, source=fresh[1])])
            )
        made.append(np.array(rows))
    return made


def counted_twice(sides: list[Integers], _: NotPrivateSeededEntropy) -> list[Integers]:
    return [sides[0], sides[1] + CLAIMED.change]


def truncated(sides: list[Integers], source: NotPrivateSeededEntropy) -> list[Integers]:
    """No noise exceeds three standard deviations: it is drawn again."""
    made = []
    for side in sides:
        extra = runs(20 * len(side), source)
        for column in range(6):
            law = STATE if column < 2 else COUNTY
            inside = np.abs(extra[:, column]) <= 3 * math.sqrt(law.true_variance())
            side[:, column] = extra[inside, column][: len(side)]
        made.append(side)
    return made


FAULTS: list[tuple[Fault, int, set[str]]] = [
    (less_noise, 4000, {"tails", "law"}),
    (forgotten_level, 50, {"tails"}),
    (reused_seed_in_runs, 100, {"runs"}),
    (reused_seed_in_levels, 200, {"blocks"}),
    (counted_twice, 600, {"shift, neighbour"}),
    (truncated, 2500, {"tails"}),
]


QUICK = (less_noise, forgotten_level, reused_seed_in_runs, counted_twice)


@pytest.mark.parametrize(
    ("fault", "many", "kinds"),
    [pytest.param(*one, marks=[] if one[0] in QUICK else pytest.mark.slow) for one in FAULTS],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_seeded_faults_are_caught(fault: Fault, many: int, kinds: set[str]) -> None:
    found = audited(fault(honest(many, 1), NotPrivateSeededEntropy(1001)))
    assert kinds & {getattr(look, "kind", "") for look in found.alarms}


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "many", "kinds"), FAULTS, ids=lambda x: getattr(x, "__name__", None))
def test_the_power_that_is_stated(fault: Fault, many: int, kinds: set[str]) -> None:
    times = 20 if fault is reused_seed_in_levels else 300
    for seed in range(times):
        assert audited(fault(honest(many, 50_000 + seed), NotPrivateSeededEntropy(seed))).alarms


def test_two_runs_with_the_same_noise_are_enough_where_there_are_many_cells() -> None:
    source = NotPrivateSeededEntropy(2)
    sides = [sample(STATE, (30, 40), source=source) for _ in range(2)]
    claimed = ClaimedNoise(np.eye(40, dtype=np.int64)[0], (Block("all", STATE, np.arange(40)[:, None]),))
    assert not audit_noise(*sides, claimed=claimed).alarms
    sides[1][20] = sides[0][3]
    (alarm,) = audit_noise(*sides, claimed=claimed).alarms
    assert (alarm.kind, alarm.observed) == ("repeats", 1)  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_likelihood_ratio_alone_sees_too_little_noise_and_a_record_counted_twice() -> None:
    half = [
        runs(4000, NotPrivateSeededEntropy(seed), DiscreteGaussian(variance=1), DiscreteLaplace(scale=1))
        for seed in (7, 8)
    ]
    assert any(look.is_alarm for look in audited(half).points)
    twice = counted_twice(honest(4000, 9), NotPrivateSeededEntropy(0))
    assert any(look.is_alarm for look in audited(twice).points)


def false_alarms(times: int, many: int, chance: str) -> int:
    return sum(bool(audited(honest(many, 10**6 + seed), chance).alarms) for seed in range(times))


def test_honest_mechanisms_are_not_accused() -> None:
    assert false_alarms(5, 60, "1e-6") == 0
    assert false_alarms(25, 60, "1/20") <= stats.binom.isf(1e-6, 25, 0.05)


@pytest.mark.slow
def test_ten_thousand_honest_audits() -> None:
    times = 10_000
    both = [0, 0]
    for seed in range(times):
        sides = honest(60, seed)
        for place, chance in enumerate(("1e-6", "1/20")):
            both[place] += bool(audited(sides, chance).alarms)
    assert both[0] == 0
    assert both[1] <= stats.binom.isf(1e-6, times, 0.05)


@pytest.mark.slow
def test_one_audit_of_ten_thousand_honest_runs() -> None:
    assert not audited(honest(10_000, 3)).alarms


@pytest.mark.parametrize("level", [0.05, 1e-9])
def test_bands_are_those_of_clopper_and_pearson(level: float) -> None:
    """At the ends of the bands, the tail of the count that was seen is exactly the level."""
    for found in (0, 1, 17, 39, 40):
        upper, lower = upper_rate(found, 40, level), lower_rate(found, 40, level)
        if found < 40:
            assert stats.binom.cdf(found, 40, upper) == pytest.approx(level, rel=1e-6)
        if found:
            assert stats.binom.sf(found - 1, 40, lower) == pytest.approx(level, rel=1e-6)


def test_ratios_and_curve_by_brute_force() -> None:
    """All outcomes of one cell: their log ratios, and that the tests of the audit lie on the curve."""
    law = DiscreteGaussian(variance=3)
    claimed = ClaimedNoise(np.array([2]), (Block("one", law, np.array([[0]])),))
    outcome = np.arange(-60, 61)
    p, q = law.pmf(outcome), law.pmf(outcome - 2)
    ratio = log_ratios(outcome[:, None], claimed.change, claimed.blocks, is_neighbour=False)
    assert ratio == pytest.approx(np.log(q) - np.log(p))
    beside = log_ratios((outcome - 2)[:, None], claimed.change, claimed.blocks, is_neighbour=True)
    assert ratio == pytest.approx(beside)
    for threshold in claimed.thresholds:
        says = ratio > threshold + 1e-12
        assert q[says].sum() == pytest.approx(1 - claimed.curve([float(p[says].sum())])[0], abs=1e-8)


def test_a_promise_of_epsilon_is_held_to_its_own_curve() -> None:
    source = NotPrivateSeededEntropy(5)
    sides = [
        sample(DiscreteLaplace(scale=1), (4000, 3), source=source) + np.array([side, 0, 0]) for side in (0, 1)
    ]
    assert not audit_promise(*sides, epsilon=1, delta=0).alarms
    assert audit_promise(*sides, epsilon="1/2", delta="1e-3").alarms
    constant = [np.zeros((400, 1)) + side for side in range(2)]  # tells all
    assert audit_promise(*constant, epsilon=1, delta=0).alarms
    assert not audit_promise(constant[0], constant[0], epsilon=0, delta=0).alarms


@pytest.mark.parametrize(
    ("given", "named"),
    [({"epsilon": -1, "delta": 0}, "epsilon"), ({"epsilon": 1, "delta": 2}, "delta is 2")],
)
def test_promises_that_cannot_be(given: dict[str, int], named: str) -> None:
    with pytest.raises(InputError, match=named):
        audit_promise(np.zeros((4, 1)), np.zeros((4, 1)), **given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="false_alarm is 0"):
        audit_promise(np.zeros((4, 1)), np.zeros((4, 1)), epsilon=1, delta=0, false_alarm="0")
    with pytest.raises(InputError, match="at least 2 runs"):
        audit_promise(np.zeros((1, 1)), np.zeros((1, 1)), epsilon=1, delta=0)


def test_with_too_few_runs_for_any_alarm_nothing_is_known() -> None:
    runs = [np.arange(40.0)[:, None] % 7 + side for side in range(2)]
    found = audit_promise(*runs, epsilon=2, delta=0)
    assert found.blind == found.looks
    answer = describe(found)
    assert answer.objects["verdict"] == "nothing known"
    assert "none of" in str(found)


def test_with_fewer_runs_than_are_needed_no_mechanism_is_caught() -> None:
    """One that tells all is caught with as many runs as that, and not with one less."""
    needed = audited(honest(60, 1)).needed
    share = 1e-6 / audited(honest(60, 1)).looks
    for many, is_caught in ((needed, True), (needed - 1, False)):
        scores = Scores("all", np.zeros(many), np.ones(many), [0.5])
        seen = [Seen("tails", "", 1, 0, 0.0, 1.0)] * 998  # 1,000 looks in all
        points, _ = judge_looks(CLAIMED.curve, [scores], seen, Fraction(share * 1000))
        assert any(look.is_alarm for look in points) is is_caught


def test_all_looks_share_one_chance() -> None:
    found = audited(honest(60, 1), "1/20")
    assert {look.share for look in found.noise} == {0.05 / found.looks}
    one = found.points[0]
    assert one.false_positives == upper_rate(one.found[0], 60, 0.05 / found.looks / 2)
    assert len(audit_module.ALPHAS) * 2 >= len(found.points)


def test_the_expected_number_of_equal_runs_is_that_of_the_laws() -> None:
    """By a convolution: the chance that the difference of two noises is zero."""
    chances = [
        float(np.convolve(p, p[::-1])[len(p) - 1])
        for p in (law.pmf(np.arange(-90, 91)) for law in (STATE, COUNTY))
    ]
    (look,) = (one for one in audited(honest(60, 1)).noise if one.kind == "repeats")
    assert look.expected == pytest.approx(120 * 119 / 2 * chances[0] ** 2 * chances[1] ** 4, rel=1e-9)


# -- what is true of a part ----------------------------------------------------------------------------------

MANY = ClaimedNoise(
    np.eye(300, dtype=np.int64)[0],
    (Block("County, total", COUNTY, np.arange(300)[:, None], tuple(f"C{n}" for n in range(300))),),
)


def counties(many: int, seed: int) -> list[Integers]:
    source = NotPrivateSeededEntropy(seed)
    return [sample(COUNTY, (many, 300), source=source) for _ in range(2)]


def test_one_area_of_300_without_noise_is_seen_and_named() -> None:
    sides = counties(60, 1)
    assert not audit_noise(*sides, claimed=MANY).alarms
    for side in sides:
        side[:, 217] = 0
    assert "County, total: C217" in {look.where for look in audit_noise(*sides, claimed=MANY).alarms}  # type: ignore[union-attr]


def test_one_run_of_1000_without_noise_is_seen() -> None:
    sides = [sample(STATE, (1000, 40), source=NotPrivateSeededEntropy(seed)) for seed in (3, 4)]
    claimed = ClaimedNoise(np.eye(40, dtype=np.int64)[0], (Block("all", STATE, np.arange(40)[:, None]),))
    assert not audit_noise(*sides, claimed=claimed).alarms
    sides[1][513] = 0
    (alarm,) = audit_noise(*sides, claimed=claimed).alarms
    assert (alarm.kind, alarm.observed) == ("noiseless", 1)  # type: ignore[union-attr]


def test_runs_without_noise_by_brute_force() -> None:
    """Of one cell: how many of 120 runs are zero is a binomial count, of chance p(0)."""
    block = Block("one", STATE, np.array([[0]]))
    sides = [sample(STATE, (60, 1), source=NotPrivateSeededEntropy(seed)) for seed in (5, 6)]
    found = audit_noise(*sides, claimed=ClaimedNoise(np.array([1]), (block,)))
    (look,) = (one for one in found.noise if one.kind == "noiseless")
    zero = float(STATE.pmf(0))
    assert look.expected == pytest.approx(zero)
    seen = int(sum(np.count_nonzero(side == 0) for side in sides))
    assert look.observed == seen
    assert look.chance == pytest.approx(stats.binom.sf(seen - 1, 120, zero))


def laplace(many: int, scale: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).laplace(0, scale, (many, 1))


def sixth_decimal(many: int, secret: int, seed: int) -> np.ndarray:
    """The noise of epsilon 1, in five decimals; the sixth is the secret."""
    return np.round(laplace(many, 1.0, seed) + secret, 5) + secret * 1e-6


def scale_of_the_secret(many: int, secret: int, seed: int) -> np.ndarray:
    """More noise where the secret is 1: of the same mean, but delta(1) is 0.23 and not 0."""
    return laplace(many, 1.0 if secret == 0 else 3.0, seed)


@pytest.mark.parametrize(
    ("mechanism", "statistic"), [(sixth_decimal, "digits"), (scale_of_the_secret, "spread")]
)
def test_what_only_half_of_the_runs_can_tell(
    mechanism: Callable[[int, int, int], np.ndarray], statistic: str
) -> None:
    sides = [mechanism(3000, secret, 10 + secret) for secret in (0, 1)]
    alarms = audit_promise(*sides, epsilon=1, delta=0).alarms
    assert statistic in {getattr(look, "statistic", "") for look in alarms}
    honest = [laplace(3000, 1.0, 20 + side) + side for side in (0, 1)]
    assert not audit_promise(*honest, epsilon=1, delta=0).alarms


def test_the_scale_that_depends_on_the_secret_breaks_its_promise() -> None:
    """delta(1) = P1(|x| > t) - e P0(|x| > t), where exp(-t / 3) / 6 = e exp(-t) / 2: a closed form."""
    t = 1.5 * (1 + math.log(3))
    assert math.exp(-t / 3) - math.e * math.exp(-t) == pytest.approx(0.2335, abs=1e-4)
    x = np.linspace(0, 60, 600_001)
    gain = np.exp(-x / 3) / 3 - math.e * np.exp(-x)  # both signs
    assert np.trapezoid(np.maximum(gain, 0), x) == pytest.approx(0.2335, abs=1e-4)


def parts_of(many: int, side: int, seed: int, chance: float) -> list[dict[str, int]]:
    """An output that names its table with this chance; the order of its rows is of no table."""
    rng = np.random.default_rng(seed)
    told = rng.random(many) < chance
    return [{"metadata": int(one) * (side + 1), "order": int(rng.integers(3))} for one in told]


def test_parts_that_name_the_table_are_seen() -> None:
    nothing = np.zeros((400, 0))
    for chance, is_seen in ((0.0, False), (0.5, True), (1.0, True)):
        parts = [parts_of(400, side, 30 + side, chance) for side in (0, 1)]
        found = audit_promise(nothing, nothing, epsilon=1, delta=0, parts=parts)
        assert bool(found.alarms) is is_seen
        assert {look.statistic for look in found.points} == {"metadata", "order"}


def test_a_part_that_is_another_in_every_run_is_said_not_to_be_looked_at() -> None:
    nothing = np.zeros((40, 0))
    parts = [[{"order": 1, "clock": 40 * side + run} for run in range(40)] for side in (0, 1)]
    found = audit_promise(nothing, nothing, epsilon=1, delta=0, parts=parts)
    assert found.scope.left_out == ("clock (other ones in every run)", "other pairs of tables")


def test_honest_outputs_are_not_accused_at_the_stated_chance() -> None:
    """At 1/20 an audit: of numbers that meet their promise exactly, and of parts that tell nothing."""
    alarms, times = 0, 40
    for seed in range(times):
        sides = [laplace(200, 1.0, 1000 + 2 * seed + side) + side for side in (0, 1)]
        parts = [parts_of(200, 0, 5000 + 2 * seed + side, 0.5) for side in (0, 1)]
        alarms += bool(audit_promise(*sides, epsilon=1, delta=0, parts=parts, false_alarm="1/20").alarms)
    assert alarms <= stats.binom.isf(1e-6, times, 0.05)


def test_the_smallest_share_of_runs_is_found_as_often_as_is_said() -> None:
    """By brute force: with the share that is stated, 95 of 100 audits see at least so many."""
    for runs, least in ((200, 1), (200, 17), (60, 60)):
        size = smallest_share(runs, least)
        assert size is not None
        assert stats.binom.sf(least - 1, runs, size) == pytest.approx(0.95)
    assert smallest_share(10, 11) is None


def test_faults_of_the_smallest_size_are_found() -> None:
    """Runs without noise, and an area whose noise has another law, as large as the answer says."""
    found = audited(honest(200, 1))
    sizes = {(one.kind, one.where): one.size for one in found.smallest}
    share = sizes["noiseless", ""]
    assert share is not None
    hits = 0
    for seed in range(20):
        sides = honest(200, 100 + seed)
        for place, side in enumerate(sides):
            side[np.random.default_rng(2 * seed + place).random(200) < share] = 0
        hits += "noiseless" in {getattr(look, "kind", "") for look in audited(sides).alarms}
    assert hits >= stats.binom.isf(1 - 1e-4, 20, 0.95) - 1


def test_no_alarm_says_of_what_it_is_true() -> None:
    found = audited(honest(60, 1))
    assert found.scope.parts == (Extent("cell", 6, 6, ()),)
    assert found.scope.words == "without other pairs of tables"
    partial = ClaimedNoise(CLAIMED.change, BLOCKS[:1])
    sides = honest(60, 1)
    assert audit_noise(*sides, claimed=partial).scope.words.startswith("the cells 0 and 1, 2 of 6")
