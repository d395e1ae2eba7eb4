"""Risk from the trade-off curve beside riskcal, which reads it off a grid, in one run.

    python -m benchmarks.bench_risk_peers

Both get the same mechanisms: the main pair of a preset, event by event. riskcal takes the privacy loss from
dp-accounting, on a grid. Values are compared with intervals that provably contain the exact ones. Times are
processor time of this process, from the events to the numbers, of the second of two runs.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from functools import partial

from discreet.accounting.account import account
from discreet.accounting.privacy_loss import compose
from discreet.budget import load
from discreet.noise import Noise
from discreet.numbers import Interval

PRESETS = ("pl94-2020-persons", "dhc-2020-persons")
DIGITS = 6
GRIDS = (1e-3, 1e-4)
ALPHAS = (1e-4, 1e-2)
HEADER = ("main pair", "who", "time", "advantage", "f(1e-4)", "f(1e-2)")

Values = tuple[float, ...]


def ours(events: tuple[Noise, ...]) -> Values:
    """Return the advantage and f at each alpha."""
    loss = compose(events)
    return (loss.total_variation, *(float(one) for one in loss.tradeoff(alpha=[*ALPHAS])))


def proved(events: tuple[Noise, ...]) -> list[Interval]:
    """Return intervals of some six digits that provably contain the same."""
    loss = compose(events)
    found = [loss.delta(epsilon=0, certified=True, digits=DIGITS)]
    return found + [loss.tradeoff(alpha=Fraction(str(a)), certified=True, digits=DIGITS) for a in ALPHAS]


def off(value: float, box: Interval) -> str:
    """Say how far a value lies outside an interval that contains the truth."""
    gap = max(float(box.lower) - value, value - float(box.upper))
    said = f"{gap:.0e} outside" if gap > 0 else "inside"
    return f"{value:.6f}, {said} ({float(box.width):.0e} wide)"


def on_grid(events: tuple[Noise, ...], step: float) -> Values:
    """Return the same from riskcal, with the loss on a grid of this step."""
    from dp_accounting.pld import privacy_loss_distribution as pld
    from riskcal.analysis import get_advantage_from_pld, get_beta_from_pld

    total = None
    for event in events:
        one = pld.from_discrete_gaussian_mechanism(
            float(event.size) ** 0.5,
            sensitivity=event.sensitivity,
            value_discretization_interval=step,
            use_connect_dots=True,
        ).self_compose(event.times)
        total = one if total is None else total.compose(one)
    betas = (float(get_beta_from_pld(total, alpha=alpha)) for alpha in ALPHAS)
    return (float(get_advantage_from_pld(total)), *betas)


def rows() -> list[tuple[str, ...]]:
    """Return a row for each preset and way."""
    lines: list[tuple[str, ...]] = []
    for name in PRESETS:
        whole = account(load(name))
        events = whole.events(whole.main)
        true = proved(events)
        ways = [("discreet, exact", partial(ours, events))]
        ways += [(f"riskcal, grid {step:g}", partial(on_grid, events, step)) for step in GRIDS]
        for who, work in ways:
            work()  # imports, and what is cached between processes
            start = time.process_time()
            found = work()
            spent = time.process_time() - start
            told = map(off, found, true)
            lines.append((name, who, f"{spent:.2f} CPU-s", *told))
            print("  " + " | ".join(lines[-1]), file=sys.stderr, flush=True)
    return lines


if __name__ == "__main__":
    for line in rows():
        print(f"| {' | '.join(line)} |")
