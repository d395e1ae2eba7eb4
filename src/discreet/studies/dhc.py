"""The DHC: its 2022 allocation level by level (PNAS paper), and all pairs of paths of 2020 (sieve paper)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from discreet.accounting.account import account
from discreet.accounting.calibration import solve_factor
from discreet.accounting.parallel import Progress, map_cases
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.answers.quantity import Style
from discreet.budget import load
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.sampling import curve_deltas
from discreet.comparisons.zcdp import ZCDP
from discreet.loss.contour import Kind
from discreet.noise import DiscreteGaussian, Noise
from discreet.numbers import float_up
from discreet.promises.calibrating import calibrate
from discreet.studies.register import (
    Compared,
    Floats,
    Found,
    Study,
    Verdict,
    check_printed,
    compare_printed,
    made,
    printed,
    study,
)
from discreet.studies.tables import TOLERANCE, Cut

ALLOCATION = "dhc-2022-08-25"
DELTA, OVERALL_DELTA = "1e-11", "1e-10"
"""The deltas at which the paper states its results by level and for all levels together."""
DELTAS = [f"1e-{power}" for power in range(1, 22)]
ALPHAS = [0.0, 0.001, *(k / 200 for k in range(1, 20)), *(k / 40 for k in range(4, 41))]

CONFIGURED = Fraction(485, 254) ** 2
"""rho of the global scale 254/485 in the Bureau's configuration of the 2022 allocation; its label is 3.65."""

PRESET, MAIN = "dhc-2020", 13

Curve = PrivacyLoss | ZCDP | GaussianDP


def epsilons(deltas: Sequence[str], *curves: Curve) -> Iterator[tuple[float, ...]]:
    """Return rows of a delta and the epsilon of each curve there, at least zero."""
    small = np.array([float(delta) for delta in deltas])
    columns = [
        curve.epsilon(delta=deltas) if isinstance(curve, PrivacyLoss) else curve.epsilon(delta=small)
        for curve in curves
    ]
    return zip(small, *(np.maximum(values, 0.0) for values in columns), strict=True)


def tradeoffs(alphas: Sequence[float], *curves: Curve) -> list[tuple[float, ...]]:
    """Return rows of a type I error and the type II error of each curve there."""
    # if a factor of the transform vanishes exactly NumPy warns of inf * 0; the accountant handles it
    with np.errstate(invalid="ignore"):
        errors = [curve.tradeoff(alpha=np.array(alphas)) for curve in curves]
    return list(zip(alphas, *errors, strict=True))


# -- the levels of 2022, one by one ----------------------------------------------------------------------


def level_events() -> dict[str, DiscreteGaussian]:
    """Return the ten equal counts of each level, as one event.

    >>> str(level_events()["US"].variance)
    '5000/73'
    """
    events = {}
    for level in load(ALLOCATION).levels:
        (event,) = compose(level.events("unbounded")).events
        events[level.name] = DiscreteGaussian(variance=event.size, times=event.times)
    return events


@cache
def reduced_events() -> dict[str, DiscreteGaussian]:
    """Return the same events with the noise that just keeps each level's zCDP promise at delta = 1e-11.

    >>> round(float(reduced_events()["Block"].variance), 2)
    343.27
    """
    levels = calibrate(load(ALLOCATION), zcdp=True, delta=DELTA, by="level").levels
    return {level.name: DiscreteGaussian(variance=level.after, times=10) for level in levels}


def _of_levels() -> Iterator[tuple[str, tuple[PrivacyLoss, PrivacyLoss, ZCDP]]]:
    """Each level with its curves: exact, exact with reduced noise, and zCDP's."""
    for level, event in level_events().items():
        yield level, (compose([event]), compose([reduced_events()[level]]), ZCDP([event]))


@study("level delta epsilon reduced_noise_epsilon zcdp_epsilon")
def level_curves() -> Found:
    """Compute the eight epsilon-delta curves: exact, exact with reduced noise, and by zCDP.

    >>> level_curves().columns
    ('level', 'delta', 'epsilon', 'reduced_noise_epsilon', 'zcdp_epsilon')
    """
    for level, curves in _of_levels():
        yield from ((level, *row) for row in epsilons(DELTAS, *curves))


@study("level delta epsilon zcdp_epsilon improvement")
def level_epsilon() -> Found:
    """Compute epsilon of each level at delta = 1e-11 and 1e-5.

    >>> [(check.printed.text, check.verdict.value) for check in level_epsilon().checks][:2]
    [('11.07', 'confirmed'), ('7.79', 'confirmed')]
    """
    mine: dict[str, dict[str, float]] = {"epsilon by zCDP": {}, "exact epsilon": {}}
    for level, event in level_events().items():
        for delta in (DELTA, "1e-5"):
            exact, zcdp = (
                float(compose([event]).epsilon(delta=delta)),
                ZCDP([event]).epsilon(delta=float(delta)),
            )
            for values, value in zip(mine.values(), (zcdp, exact), strict=True):
                values[f"{level}, {delta}"] = value
            yield level, delta, exact, zcdp, 1 - exact / zcdp
    for what, values in mine.items():
        yield from compare_printed("pnas", "introduction, epsilon", what, values)
    what = "epsilon by zCDP"
    yield from compare_printed("pnas", "section 3.2, epsilon", what, mine[what])


@study("level delta improvement improvement_percent")
def level_improvement() -> Found:
    """Compute how far the exact epsilon is below zCDP's, against delta.

    >>> [(check.printed.text, check.verdict.value) for check in level_improvement().checks][:2]
    [('8.49', 'rounded labels'), ('13.21', 'rounded labels')]
    """
    saved, of_labels = [], []
    deltas = [f"{digit}e-{power}" for power in range(2, 16) for digit in (5, 2, 1)]
    for level, (exact, _, promise) in _of_levels():
        for delta, mine, zcdp in epsilons(deltas, exact, promise):
            yield level, delta, zcdp - mine, 100 * (1 - mine / zcdp)
            if delta == float(DELTA):
                saved.append(100 * (1 - mine / zcdp))
                of_labels.append(100 * (1 - round(mine, 2) / round(zcdp, 2)))
    ends, labels = ({"smallest": min(values), "largest": max(values)} for values in (saved, of_labels))
    what = "epsilon saved at delta 1e-11, percent"
    other = (
        "the ratio of two epsilons as Figure 3 labels them, to two decimals; section 3.1 has 8.50 to 13.76"
    )
    rounded = (Verdict.ROUNDED, labels)
    yield from compare_printed("pnas", "introduction, range", what, ends, explained=other, otherwise=rounded)
    yield from compare_printed("pnas", "section 3.1", what, ends)


@study("level alpha same_noise reduced_noise zcdp")
def level_tradeoff() -> Found:
    """Compute trade-off curves of each level: with the same noise, with reduced noise, and by zCDP.

    >>> study = level_tradeoff()  # slow
    >>> all(row[2] >= max(row[3:]) for row in study.rows)   # the same noise protects best
    True
    >>> sorted({row[0] for row in study.rows if row[3] < row[4]})   # of the old noise rho alone said more
    ['Block', 'US']
    """
    for level, curves in _of_levels():
        yield from ((level, *row) for row in tradeoffs(ALPHAS, *curves))


@study("level share_percent queries variance reduced_variance reduction_percent")
def reduced_noise() -> Found:
    """Compute the table of reduced noise: the variance that just keeps each level's zCDP promise.

    >>> study = reduced_noise()
    >>> [round(float(row[4]), 2) for row in study.rows][:3]
    [54.19, 4.25, 13.28]
    """
    release = load(ALLOCATION)
    assert release.rho is not None
    columns: list[dict[str, float]] = [{}, {}, {}, {}, {}]
    for level in release.levels:
        assert level.rho is not None
        before, after = level_events()[level.name].variance, reduced_events()[level.name].variance
        share, saved = float(100 * level.rho / release.rho), float(100 * (1 - after / before))
        row = (share, len(level.queries), float(before), float(after), saved)
        for column, value in zip(columns, row, strict=True):
            column[level.name] = value
        yield level.name, *row
    shares, queries, variances, reduced, saving = columns
    both = "PEPG and Tract Subset Group"
    queries[both] = queries["PEPG"] + queries["Tract Subset Group"]
    shares[both] = shares["PEPG"]
    ends = {"smallest": min(saving.values()), "largest": max(saving.values())}
    saving["national"] = saving["US"]
    yield from compare_printed("pnas", "abstract", "reduction, percent", ends)
    yield from compare_printed("pnas", "introduction, nation", "reduction, percent", saving)
    yield from compare_printed("pnas", "Table 1", "variance of the Bureau's noise", variances)
    yield from compare_printed("pnas", "Table 1", "reduced variance", reduced)
    yield from compare_printed("pnas", "Table 1", "reduction, percent", saving)
    mixed = "this is State's reduction, as the table has it; that of the nation (US) is 20.88"
    place = "section 3.2, text on Table 1"
    yield from compare_printed("pnas", place, "reduction, percent", saving, explained=mixed)
    yield from compare_printed("pnas", "Table 3", "share of the level, percent", shares)
    yield from compare_printed("pnas", "Table 3", "number of queries", queries)
    yield from compare_printed("pnas", "appendix A.6, budget", "rho", {"total": float(release.rho)})


# -- all levels together -----------------------------------------------------------------------------------


def _whole(factor: Fraction = Fraction(1)) -> PrivacyLoss:
    """All eight levels, on the path that merges none, their variances times a factor."""
    whole = account(load(ALLOCATION).scaled(factor))
    return whole.case(whole.main)


def _first_tail_epsilon(loss: PrivacyLoss, delta: str = OVERALL_DELTA) -> float:
    """The epsilon at which P[L > epsilon] = delta, by bisection on a fine lattice of losses."""
    aim = float(np.log(float(delta)))
    low, high = Fraction(0), Fraction(64)
    for _ in range(44):
        middle = (low + high) / 2
        above = float(loss.law.log_tails(Kind.ALT, [middle])[0]) > aim
        low, high = (middle, high) if above else (low, middle)
    return float(high)


@study("method target_epsilon reduction_percent")
def overall_reduction() -> Found:
    """Compute the reduction for all levels together: by the paper's bound, and exactly.

    The bound drops the second tail: delta(eps) = P[L > eps] - e^eps P0[L > eps] < P[L > eps].

    >>> for row in overall_reduction().rows:  # slow
    ...     print(f"{row[0]:18}{row[1]:9.4f}{row[2]:8.3f}")
    first tail alone    21.9700   8.592
    both tails          21.9700  12.179
    first tail alone    21.9851   8.698
    both tails          21.9851  12.280
    """
    stated = printed("pnas", "appendix A.6, target", "epsilon")["target"]
    target = ZCDP(_whole().events).epsilon(delta=float(OVERALL_DELTA))
    methods = {
        "first tail alone": lambda size: _first_tail_epsilon(_whole(size)),
        "both tails": lambda size: float(_whole(size).epsilon(delta=OVERALL_DELTA)),
    }
    rows = [
        (name, aim, float(100 * (1 - solve_factor(epsilon, aim))))
        for aim in (stated.value, target)
        for name, epsilon in methods.items()
    ]
    yield from rows
    what = "reduction of all variances together, percent"
    allowed = Style.PLACES.quantity(rows[1][2], 2)
    both = f"the first tail alone, at the printed target, where both tails allow {allowed}"
    yield from compare_printed("pnas", "section 3.3", what, {"first tail": rows[0][2]}, why=both)
    unrounded = ZCDP.from_rho(CONFIGURED).epsilon(delta=float(OVERALL_DELTA))
    label = (
        f"zCDP's epsilon of the configured rho, {CONFIGURED} = 3.646; of its label 3.65 it is "
        f"{Style.PLACES.quantity(target, 3)}"
    )
    yield check_printed(stated, unrounded, why=label)


def _reduced() -> list[PrivacyLoss]:
    """All levels with their noise, with the paper's reduction, and reduced as far as both tails allow."""
    what = "reduction of all variances together, percent"
    stated = printed("pnas", "section 3.3", what)["first tail"]
    smallest = calibrate(load(ALLOCATION), zcdp=True, delta=OVERALL_DELTA).factor
    assert smallest is not None
    return [_whole(factor) for factor in (Fraction(1), 1 - Fraction(stated.text) / 100, smallest)]


@study("delta epsilon first_tail_epsilon reduced_as_printed_epsilon reduced_epsilon zcdp_epsilon")
def overall_curve() -> Found:
    """Compute the epsilon-delta curve of all levels together: exact, with reduced noise, and by zCDP.

    >>> row = overall_curve().where(delta=1e-10).rows[0]  # slow
    >>> [round(float(x), 4) for x in row[1:]]
    [20.3247, 20.8371, 21.4474, 21.9851, 21.9851]
    """
    loss, *less = _reduced()
    curves = epsilons(DELTAS, loss, *less, ZCDP(loss.events))
    for text, (delta, exact, *others) in zip(DELTAS, curves, strict=True):
        yield delta, exact, _first_tail_epsilon(loss, text), *others


@study("alpha same_noise reduced_as_printed reduced_noise zcdp")
def overall_tradeoff() -> Found:
    """Compute the trade-off curve of all levels together: same noise, reduced noise, and zCDP.

    >>> study = overall_tradeoff()  # slow
    >>> all(row[1] >= row[2] >= row[3] >= row[4] for row in study.rows)
    True
    """
    losses = _reduced()
    # dense near 0, where the curve falls steeply
    alphas = sorted({*np.geomspace(1e-6, 0.01, 41).round(12).tolist(), *ALPHAS})
    yield from tradeoffs(alphas, *losses, ZCDP(losses[0].events))


# -- all pairs of 2020 -----------------------------------------------------------------------------------


def _main_zcdp() -> ZCDP:
    whole = account(load(PRESET))
    return ZCDP(whole.case(whole.main).events)


def _log_deltas(task: tuple[tuple[Noise, ...], list[Fraction]]) -> Floats:
    events, epsilons = task
    return compose(events).law.log_deltas(epsilons)


@study("epsilon zcdp_delta delta worst_pair main_delta")
def dhc_profile() -> Found:
    """Compute the overall curve of the 2020 DHC, over all 946 pairs, at zCDP's epsilons for 0.5, ..., 1e-21.

    >>> study = dhc_profile()  # slow
    >>> study.where(zcdp_delta=1e-10).column("worst_pair")
    ['(6, 6)']
    """
    whole, mine = account(load(PRESET)), {}
    at = [Fraction(e) for e in _main_zcdp().epsilon(delta=curve_deltas())]
    main = np.exp(whole.case(whole.main).law.log_deltas(at))
    for epsilon, delta, point, value in zip(at, curve_deltas(), whole.at_epsilon(at), main, strict=True):
        yield float(epsilon), delta, point.delta, "({}, {})".format(*point.worst), value
        mine[str(Style.POWER.quantity(delta, 0)).replace("e-0", "e-")] = value
    place = "tables of all pairs, authors' repository"
    events, last = whole.events(whole.main), float(at[-1])
    cut = Cut.of(events)
    with_cut = cut.published(last, mine["1e-21"])
    stated = TOLERANCE * math.exp(last)
    why = (
        f"the sum ends at U = {cut.units:,} lattice points and e^epsilon multiplies what is left out, by the "
        f"paper's tolerance of 1e-35 at most {Style.BRIEF.quantity(stated, 2)}; "
    )
    said = f"{why}with that cut it is {Style.BRIEF.quantity(with_cut, 6)}"
    for name, entry in printed("sieve", place, "delta of the main pair").items():
        yield check_printed(entry, mine[name], explained=said, stated=stated)
    term, cut_term = cut.second_term(last)
    said = f"{why}with that cut it is {Style.BRIEF.quantity(cut_term, 6)}"
    (entry,) = printed("sieve", place, "second term of the main pair").values()
    yield check_printed(entry, term, explained=said, stated=stated)
    yield from _times()


def _times() -> Iterator[Compared]:
    """The paper's comparison of computing times, from the hours that it and the PNAS paper state."""
    hours = printed("pnas", "appendix A.6, computation time", "time")
    before = hours["hours an epsilon"].value * hours["virtual CPUs"].value
    (now,) = printed("sieve", "section 1.1, time", "CPU-hours an allocation").values()
    yield check_printed(now, None)
    why = "9.5 hours on 96 virtual CPUs, stated for one epsilon"
    yield from compare_printed(
        "sieve", "introduction, time", "CPU-hours an allocation before", {"about": before}, why=why
    )
    yield from compare_printed(
        "sieve", "abstract", "times faster", {"speedup": before / now.value}, why=f"{why}, over 0.5"
    )


def dhc_sensitivity(*, jobs: int = 1, progress: Progress | None = None, every: int = 1) -> Study:
    """Compute by how much the main pair falls short of the worst, and the range over all pairs.

    With `every` = k only each k-th pair is computed, for tests.
    """
    whole = account(load(PRESET))
    at = _main_zcdp().epsilon(delta=curve_deltas())
    chosen = [case for k, case in enumerate(whole.cases) if k % every == 0 or case[0] == whole.main]
    tasks = [(events, [Fraction(e) for e in at]) for _, events in chosen]
    logs = np.array(map_cases(_log_deltas, tasks, jobs=jobs, progress=progress))
    main = logs[[label for label, _ in chosen].index(whole.main)]
    gaps = np.expm1(logs - main)  # delta of each pair relative to the main one, minus 1
    ends = gaps.max(axis=0), gaps.min(axis=0), np.median(gaps, axis=0)
    rows = zip(at, curve_deltas(), np.exp(main), *ends, strict=True)
    columns = "epsilon zcdp_delta main_delta largest_excess smallest_excess median_excess"
    return made("dhc-sensitivity", columns, rows, low=gaps.min(), high=gaps.max())


@study("alpha overall main_pair zcdp")
def dhc_tradeoff(*, alphas: int = 9) -> Found:
    """Compute the overall trade-off curve: the envelope over all pairs, beside the main pair and zCDP.

    The envelope is found at `alphas` type I errors; the main pair's curve is dense.
    """
    few = np.array([0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8][:alphas])
    smooth = [np.geomspace(1e-5, 0.01, 49), np.linspace(0, 0.1, 21), np.linspace(0.1, 1, 37)]
    whole = account(load(PRESET))
    overall = dict(zip(few.tolist(), whole.tradeoff(alpha=few.tolist()), strict=True))
    dense = np.union1d(np.concatenate(smooth), few).tolist()
    for alpha, *values in tradeoffs(dense, whole.case(whole.main), _main_zcdp()):
        yield alpha, overall.get(alpha), *values


@study("delta reduction_percent zcdp_epsilon largest_delta worst_pair main_pair_alone_percent")
def dhc_reduction() -> Found:
    """Compute by how much all variances of the 2020 DHC could shrink, proved over all pairs.

    >>> [(row[0], round(row[1], 4), row[4], round(row[5], 4)) for row in dhc_reduction().rows]  # slow
    [('1e-10', 11.4457, '(6, 6)', 11.4461), ('1e-11', 10.7973, '(6, 6)', 10.7977)]
    """
    reductions = {delta: _reduction(delta) for delta in (OVERALL_DELTA, DELTA)}
    yield from ((delta, *row) for delta, row in reductions.items())
    saved = reductions[DELTA][0]
    levels = [
        100 * (1 - float(after.variance / before.variance))
        for before, after in zip(level_events().values(), reduced_events().values(), strict=True)
    ]
    theirs = {"smallest": min(levels), "largest": max(levels)}
    setting = (
        "the range of the PNAS paper: single levels of the 2022 allocation, add or remove, delta 1e-11; for "
        "all levels of the 2020 DHC together, over all pairs, it is "
        f"{Style.PLACES.quantity(saved, 2)} at that delta"
    )
    mine = dict.fromkeys(theirs, saved)
    other = (Verdict.CARRIED, theirs)
    what = "reduction of the noise, percent"
    yield from compare_printed("sieve", "section 1.1, noise", what, mine, explained=setting, otherwise=other)


@cache
def _reduction(delta: str) -> tuple[float, float, float, str, float]:
    """The row of one delta: the reduction that all pairs allow, proved, and that of the main pair alone."""
    release = load(PRESET)

    def of_main(size: Fraction) -> float:
        whole = account(release.scaled(size))
        return float(whole.case(whole.main).epsilon(delta=delta))

    calibrated = calibrate(release, zcdp=True, delta=delta)
    assert calibrated.factor is not None
    assert calibrated.epsilon is not None
    assert calibrated.proof is not None
    (point,) = account(calibrated.release).at_epsilon([calibrated.epsilon])
    alone = solve_factor(of_main, float(calibrated.epsilon))
    saved, main = (float(100 * (1 - factor)) for factor in (calibrated.factor, alone))
    upper = float_up(calibrated.proof.upper)
    return saved, float(calibrated.epsilon), upper, "({}, {})".format(*point.worst), main


def dhc_sensitivity_tradeoff(
    *, jobs: int = 1, progress: Progress | None = None, alphas: Sequence[float] | None = None
) -> Study:
    """Compute the overall trade-off curve relative to the main pair's, at `alphas`.

    The envelope over all pairs is computed in one piece, so `jobs` and `progress` have no effect here.
    """
    at = list(alphas or (0.001, 0.005, *(k / 100 for k in range(1, 10)), *(k / 20 for k in range(2, 20))))
    whole = account(load(PRESET))
    overall = np.asarray(whole.tradeoff(alpha=at))
    main = np.asarray(whole.case(whole.main).tradeoff(alpha=at))
    rows = zip(at, main, overall, 100 * (overall / main - 1), strict=True)
    return made("dhc-sensitivity-tradeoff", "alpha main_pair overall difference_percent", rows)


@study("spine epsilon zcdp_delta delta delta_same_path excess_over_main excess_same_path")
def dhc_spines() -> Found:
    """Compute the curves of the 43 allocations: against the main path, and both people on the same path.

    >>> len(dhc_spines().distinct("spine"))  # slow
    43
    """
    whole, paths = account(load(PRESET)), load(PRESET).paths
    deltas = np.array([0.9, 0.5, *(float(f"1e-{power}") for power in range(1, 22, 2))])
    at = [Fraction(e) for e in _main_zcdp().epsilon(delta=deltas)]
    main = whole.case(whole.main).law.log_deltas(at)
    for spine in paths:
        pairs = ((min(MAIN, spine), max(MAIN, spine)), (spine, spine))
        logs = [whole.case(pair).law.log_deltas(at) for pair in pairs]
        values = (*map(np.exp, logs), *(np.expm1(log - main) for log in logs))
        yield from ((spine, *row) for row in zip(map(float, at), deltas, *values, strict=True))
    yield from compare_printed("sieve", "section 2.2", "allocations", {"allocations": len(paths)})
    yield from compare_printed("sieve", "introduction, pairs", "pairs", {"pairs": len(whole.cases)})


@study("spine alpha exact main_pair zcdp")
def dhc_spine_tradeoff(*, spines: Sequence[int] | None = None) -> Found:
    """Compute the trade-off curve of each pair (13, r): a person of the main path replaced by one of path r.

    >>> study = dhc_spine_tradeoff(spines=[1])
    >>> bool((study.numbers("exact") >= study.numbers("zcdp")).all())
    True
    """
    alphas = [0.0, 1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0]
    whole = account(load(PRESET))
    shared = tradeoffs(alphas, whole.case(whole.main), _main_zcdp())
    for spine in spines or load(PRESET).paths:
        own = tradeoffs(alphas, whole.case((min(MAIN, spine), max(MAIN, spine))))
        yield from ((spine, *mine, *others) for mine, (_, *others) in zip(own, shared, strict=True))
