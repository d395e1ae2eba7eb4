"""Exact posteriors of a hierarchy against the Gibbs sampler, in one run, at equal standard error.

    python -m benchmarks.bench_risk

Times are processor time of this process. The sampler's work beyond what was run is extrapolated: its standard
error falls with the square root of the number of draws, its time grows in proportion to it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from discreet.disclosure import Area, hierarchy_posterior
from discreet.disclosure.two_levels import TwoLevels

BLOCK = Area(name="block", noisy=2, rho="0.0992", siblings=27, siblings_noisy=-1)
GROUP = Area(name="block group", noisy=1, rho="0.2465")
DRAWS = 1_000_000
PAPER = 10**6 * 10**3
"""Data sets times draws per data set, as in the paper's study of accuracy."""


def seconds(work: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Return the processor time of one call, the best of five runs of `repeat` calls, and its result."""
    best, result = float("inf"), None
    for _ in range(5 if repeat > 1 else 1):
        start = time.process_time()
        for _ in range(repeat):
            result = work()
        best = min(best, (time.process_time() - start) / repeat)
    return best, result


def rows() -> list[tuple[str, str]]:
    """Return (what, measured) for each figure."""
    lines: list[tuple[str, str]] = []

    def add(what: str, measured: str) -> None:
        lines.append((what, measured))
        print(f"  {what}: {measured}", file=sys.stderr, flush=True)

    def exact() -> Any:
        return hierarchy_posterior([BLOCK, GROUP], prior="1/2")

    exact()
    once, posterior = seconds(exact, repeat=20)
    add(
        "two levels, posterior by exact sums",
        f"{1000 * once:.2f} CPU-ms (at most {posterior.truncation_error:.0e} left out)",
    )
    sampled, drawn = seconds(
        lambda: hierarchy_posterior([BLOCK, GROUP], prior="1/2", method="gibbs", draws=DRAWS, seed=1)
    )
    add(
        f"the same by the Gibbs sampler, {DRAWS:,} draws",
        f"{sampled:.2f} CPU-s, standard error {drawn.standard_error:.1e}, off by "
        f"{abs(drawn.probability - posterior.probability):.1e}",
    )
    for error in (1e-3, 1e-6):
        needed = sampled * (drawn.standard_error / error) ** 2
        add(
            f"sampler's time at standard error {error:.0e} over exact time",
            f"{needed:.3g} CPU-s, ratio {needed / once:.2g} (extrapolated)",
        )
    two = TwoLevels(rho=("0.0992", "0.2465"), siblings=27, prior="1/2")
    two.accuracy_given(group=2)
    whole, accuracy = seconds(lambda: two.accuracy_given(group=1))
    add(
        "accuracy of the decision over every release, exact",
        f"{1000 * whole:.0f} CPU-ms ({accuracy:.6f})",
    )
    total = sampled * PAPER / DRAWS
    # with 10^6 data sets the standard error of an accuracy p is sqrt(p (1 - p) / 10^6)
    spread = (accuracy * (1 - accuracy) / 10**6) ** 0.5
    add(
        "the same by 10^6 data sets of 10^3 draws, over exact time",
        f"{total:.0f} CPU-s, ratio {total / whole:.2g} (extrapolated), standard error {spread:.0e}",
    )
    return lines


if __name__ == "__main__":
    for what, measured in rows():
        print(f"| {what} | {measured} |")
