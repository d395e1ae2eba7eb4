"""The 2020 DHC by the sieve paper: the overall curves, the 43 allocations, and main path against overall."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.accounting.calibration import solve_factor
from discreet.accounting.comparisons import ZCDP
from discreet.accounting.overall import account
from discreet.accounting.parallel import Progress, map_cases
from discreet.accounting.privacy_loss import compose
from discreet.budget import load
from discreet.noise import Noise
from discreet.report.curves import curve_deltas
from discreet.studies.register import Floats, Study, compare, made

PRESET, MAIN = "dhc-2020", 13


def _main_zcdp() -> ZCDP:
    whole = account(load(PRESET))
    return ZCDP(whole.case(whole.main).events)


def _log_deltas(task: tuple[tuple[Noise, ...], list[Fraction]]) -> Floats:
    events, epsilons = task
    return compose(events).log_deltas(epsilons)


def dhc_profile() -> Study:
    """Compute the overall curve of the 2020 DHC, over all 946 pairs, at zCDP's epsilons for 0.5, ..., 1e-21.

    >>> study = dhc_profile()
    >>> study.where(zcdp_delta=1e-10).column("worst_pair")
    ['(6, 6)']
    """
    whole = account(load(PRESET))
    epsilons = [Fraction(e) for e in _main_zcdp().epsilon(delta=curve_deltas())]
    points = whole.at_epsilon(epsilons)
    main = np.exp(whole.case(whole.main).log_deltas(epsilons))
    worst = ["({}, {})".format(*point.worst) for point in points]
    deltas = [point.delta for point in points]
    rows = zip(map(float, epsilons), curve_deltas(), deltas, worst, main, strict=True)
    mine = {
        f"{delta:.0e}".replace("e-0", "e-"): value for delta, value in zip(curve_deltas(), main, strict=True)
    }
    cut = "the printed sum is cut at an absolute tail mass, which e^epsilon then multiplies"
    place = "tables of all pairs, authors' repository"
    return made(
        "dhc-profile",
        "epsilon zcdp_delta delta worst_pair main_delta",
        rows,
        compare("sieve", place, "delta of the main pair", mine, explained=cut),
    )


def dhc_sensitivity(*, jobs: int = 1, progress: Progress | None = None, every: int = 1) -> Study:
    """Compute by how much the main pair falls short of the worst, and the range over all pairs.

    `every` takes each k-th pair only, for tests.
    """
    whole = account(load(PRESET))
    epsilons = _main_zcdp().epsilon(delta=curve_deltas())
    chosen = [case for k, case in enumerate(whole.cases) if k % every == 0 or case[0] == whole.main]
    tasks = [(events, [Fraction(e) for e in epsilons]) for _, events in chosen]
    logs = np.array(map_cases(_log_deltas, tasks, jobs=jobs, progress=progress))
    main = logs[[label for label, _ in chosen].index(whole.main)]
    gaps = np.expm1(logs - main)  # delta of each pair over that of the main one, less 1
    ends = gaps.max(axis=0), gaps.min(axis=0), np.median(gaps, axis=0)
    rows = zip(epsilons, curve_deltas(), np.exp(main), *ends, strict=True)
    columns = "epsilon zcdp_delta main_delta largest_excess smallest_excess median_excess"
    return made("dhc-sensitivity", columns, rows, low=gaps.min(), high=gaps.max())


def dhc_tradeoff(*, alphas: int = 9) -> Study:
    """Compute the overall trade-off curve: the envelope over all pairs, beside the main pair and zCDP.

    The envelope is found at `alphas` type I errors; the main pair's curve is dense.
    """
    few = np.array([0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8][:alphas])
    smooth = [np.geomspace(1e-5, 0.01, 49), np.linspace(0, 0.1, 21), np.linspace(0.1, 1, 37)]
    dense = np.union1d(np.concatenate(smooth), few)
    whole = account(load(PRESET))
    overall = dict(zip(few.tolist(), whole.tradeoff(alpha=few.tolist()), strict=True))
    alone, promise = whole.case(whole.main).tradeoff(alpha=dense.tolist()), _main_zcdp().tradeoff(alpha=dense)
    rows = [(a, overall.get(float(a)), f, g) for a, f, g in zip(dense, alone, promise, strict=True)]
    return made("dhc-tradeoff", "alpha overall main_pair zcdp", rows)


def dhc_reduction() -> Study:
    """Compute how far all variances of the 2020 DHC could shrink, on the main pair.

    >>> [(row[0], round(row[1], 3)) for row in dhc_reduction().rows]
    [('1e-10', 11.446), ('1e-11', 10.798)]
    """
    release = load(PRESET)

    def epsilon(size: Fraction, delta: str) -> float:
        whole = account(release.scaled(size))
        return float(whole.case(whole.main).epsilon(delta=delta))

    rows = []
    for delta in ("1e-10", "1e-11"):
        target = _main_zcdp().epsilon(delta=float(delta))
        factor = solve_factor(lambda size, delta=delta: epsilon(size, delta), target)  # type: ignore[misc]
        rows.append((delta, float(100 * (1 - factor)), target))
    carried = "carried over from the PNAS paper: by level, 2022 allocation, add or remove, delta 1e-11"
    both = dict.fromkeys(("smallest", "largest"), rows[1][1])
    checks = compare("sieve", "abstract", "reduction of the noise, percent", both, explained=carried)
    return made("dhc-reduction", "delta reduction_percent zcdp_epsilon", rows, checks)


def dhc_spines() -> Study:
    """Compute the curves of the 43 allocations: against the main path, and both people on the same path.

    >>> len(dhc_spines().distinct("spine"))
    43
    """
    whole = account(load(PRESET))
    deltas = np.array([float(f"1e-{place}") for place in range(1, 22, 2)])
    epsilons = [Fraction(e) for e in _main_zcdp().epsilon(delta=deltas)]
    main = whole.case(whole.main).log_deltas(epsilons)
    rows = []
    paths = load(PRESET).paths
    for spine in paths:
        pairs = ((min(MAIN, spine), max(MAIN, spine)), (spine, spine))
        logs = [whole.case(pair).log_deltas(epsilons) for pair in pairs]
        values = (*map(np.exp, logs), *(np.expm1(log - main) for log in logs))
        rows += [(spine, *row) for row in zip(map(float, epsilons), deltas, *values, strict=True)]
    many = {"allocations": len(paths), "pairs": len(whole.cases)}
    columns = "spine epsilon zcdp_delta delta delta_same_path excess_over_main excess_same_path"
    return made(
        "dhc-spines", columns, rows, compare("sieve", "number of pairs", "allocations and pairs", many)
    )


def dhc_spine_tradeoff(*, spines: Sequence[int] | None = None) -> Study:
    """Compute the trade-off curve of each of the 43 allocations, both people on the same path.

    >>> study = dhc_spine_tradeoff(spines=[1])
    >>> bool((study.numbers("exact") >= study.numbers("zcdp")).all())
    True
    """
    alphas = [0.0, *np.geomspace(1e-5, 0.1, 9).round(9).tolist(), 0.25, 0.5, 0.75, 1.0]
    whole = account(load(PRESET))
    promise = _main_zcdp().tradeoff(alpha=np.array(alphas))
    main = whole.case(whole.main).tradeoff(alpha=alphas)
    rows = []
    for spine in spines or load(PRESET).paths:
        exact = whole.case((spine, spine)).tradeoff(alpha=alphas)
        rows += [(spine, *row) for row in zip(alphas, exact, main, promise, strict=True)]
    return made("dhc-spine-tradeoff", "spine alpha exact main_pair zcdp", rows)
