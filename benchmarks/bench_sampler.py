"""Draws per second by variance, beside OpenDP's exact discrete Gaussian and Laplace samplers, in one run.

Run `python benchmarks/bench_sampler.py`. "one thread" fills an existing array; "as used" is `sample(...)`,
which also allocates the result and uses threads. OpenDP adds noise to a list in one call; its time includes
passing the list (a few percent).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from discreet.noise import GaussianNoise, LaplaceNoise, SystemEntropy, sample
from discreet.noise.sampler import _fill, _sampler

CASES: list[GaussianNoise | LaplaceNoise] = [
    *(GaussianNoise(variance=v) for v in ("0.05", "1", "5", "625", "1e4", "1e6", "1e7", "1e9")),
    *(LaplaceNoise(scale=b) for b in ("1", "100", "1e4")),
]


def rate(run: Callable[[], object], draws: int, repeats: int = 5) -> float:
    """Return the draws per second in the best of several repeats, after a warm-up."""
    best = float("inf")
    for _ in range(repeats + 1):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return draws / best


def opendp_rate(noise: GaussianNoise | LaplaceNoise, draws: int) -> float | None:
    """Return the draws per second of OpenDP's sampler for the same noise; None if it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    if isinstance(noise, GaussianNoise):
        space = space[0], dp.l2_distance(T="f64")
        measurement = dp.m.make_gaussian(*space, scale=float(noise.variance) ** 0.5)
    else:
        measurement = dp.m.make_laplace(*space, scale=float(noise.scale))
    zeros = [0] * draws
    return rate(lambda: measurement(zeros), draws, repeats=1)


def rows(draws: int = 10_000_000, opendp_draws: int = 10_000) -> list[dict[str, str | float | None]]:
    """Measure each case: rates in draws per second, and the seconds to make a table."""
    out, source = np.zeros(draws, dtype=np.int64), SystemEntropy()
    result: list[dict[str, str | float | None]] = []
    for noise in CASES:
        _sampler.cache_clear()
        start = time.perf_counter()
        table = _sampler(noise)
        set_up = time.perf_counter() - start
        gaussian = isinstance(noise, GaussianNoise)
        parameter: Fraction = noise.variance if isinstance(noise, GaussianNoise) else noise.scale
        result.append(
            {
                "noise": f"Gaussian, variance {float(parameter):g}"
                if gaussian
                else f"Laplace, scale {float(parameter):g}",
                "set up": set_up,
                "one thread": rate(lambda table=table: _fill(table, out, source), draws),  # type: ignore[misc]
                "as used": rate(lambda noise=noise: sample(noise, draws), draws),  # type: ignore[misc]
                "OpenDP": opendp_rate(noise, opendp_draws),
            }
        )
    return result


def markdown(found: list[dict[str, str | float | None]]) -> str:
    """Return the rows as a table, in million draws per second."""

    def millions(value: object) -> str:
        return f"{value / 1e6:.3g}" if isinstance(value, float) else "not installed"

    lines = [
        f"Million draws per second, {os.cpu_count()} processors.",
        "",
        "| noise | seconds for the table | one thread | as used | OpenDP |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row in found:
        rates = " | ".join(millions(row[name]) for name in ("one thread", "as used", "OpenDP"))
        lines.append(f"| {row['noise']} | {row['set up']:.3f} | {rates} |")
    return "\n".join(lines)


def main() -> None:
    print(markdown(rows()))


if __name__ == "__main__":
    main()
