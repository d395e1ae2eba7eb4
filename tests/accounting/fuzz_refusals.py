"""How often ordinary releases are refused: of each family so many draws, one question after another.

    python tests/accounting/fuzz_refusals.py FAMILY FIRST COUNT

prints each refusal and each answer that took long, and at the end the count. The aim is fewer than one
refusal in a thousand of each family. `make test-all` runs a few fixed seeds of each, `make fuzz` new ones.
"""

from __future__ import annotations

import random
import sys
import time
from fractions import Fraction

from discreet.accounting.privacy_loss import compose
from discreet.errors import PrecisionError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise

FAMILIES = ("laplace", "mixed", "census", "gaussians")
DELTA = Fraction(1, 10**10)
ALPHAS = (Fraction(1, 10**10), Fraction(1, 20), Fraction(1, 2))
LONG = 20.0  # processor seconds


def draw(family: str, seed: int) -> tuple[Noise, ...]:
    """An ordinary release of a family: budgets with three decimals, as people write them.

    >>> draw("laplace", 1) == draw("laplace", 1)
    True
    """
    rng = random.Random(f"{family} {seed}")

    def decimal(low: float, high: float) -> Fraction:
        return Fraction(rng.randint(round(1000 * low), round(1000 * high)), 1000)

    def gaussians(many: int) -> list[Noise]:
        return [DiscreteGaussian(variance=decimal(0.5, 10)) for _ in range(many)]

    def laplaces(many: int) -> list[Noise]:
        # as budgets: an epsilon of three decimals a count, and its scale 1 / epsilon
        return [DiscreteLaplace(scale=1 / decimal(0.05, 2)) for _ in range(many)]

    if family == "gaussians":
        return tuple(gaussians(rng.randint(3, 10)))
    if family == "laplace":
        return tuple(laplaces(rng.randint(2, 10)))
    if family == "mixed":
        return (*gaussians(rng.randint(1, 5)), *laplaces(rng.randint(1, 4)))
    # census: rho shared among levels and queries in thousandths, one record replaced by another
    total, events = decimal(0.5, 4), []
    for _ in range(rng.randint(3, 8)):
        level = total * decimal(0.02, 0.4)
        for _ in range(rng.randint(1, 6)):
            rho = level * decimal(0.01, 0.8)
            events.append(DiscreteGaussian(variance=1 / (2 * rho), times=2 * rng.choice((1, 1, 1, 2, 9))))
    return tuple(events)


def refusals(events: tuple[Noise, ...]) -> list[str]:
    """What is refused of epsilon, delta and f of one composition."""
    loss, found = compose(events), []
    try:
        epsilon = loss.epsilon(delta=DELTA)
        loss.delta(epsilon=float(epsilon))
    except PrecisionError as error:
        found.append(f"epsilon: {error}")
    for alpha in ALPHAS:
        try:
            loss.tradeoff(alpha=alpha)
        except PrecisionError as error:
            found.append(f"f({float(alpha):g}): {error}")
    return found


def check_one(seed: int) -> None:
    """Ask about one draw; families take turns."""
    family = FAMILIES[seed % len(FAMILIES)]
    assert not refusals(draw(family, seed)), f"{family} {seed}"


def main(family: str, first: int, count: int) -> None:
    """Ask about so many draws and print what was refused."""
    refused, start = 0, time.process_time()
    for seed in range(first, first + count):
        before = time.process_time()
        found = refusals(draw(family, seed))
        taken = time.process_time() - before
        refused += bool(found)
        for line in found:
            print(f"{family} {seed}: {line}", flush=True)
        if taken > LONG:
            print(f"{family} {seed}: {taken:.1f} s", flush=True)
    spent = time.process_time() - start
    print(f"{family} {first} to {first + count - 1}: {refused} of {count} refused, {spent:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
