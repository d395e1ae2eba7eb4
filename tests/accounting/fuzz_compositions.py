"""Random compositions of every family against an independent reference and against themselves.

`check_one(seed)` draws one composition and checks every answer of the accountant about it; it raises an
AssertionError that names the composition. `make test` runs a few hundred fixed seeds, `make fuzz` new ones:

    python tests/accounting/fuzz_compositions.py FIRST COUNT

The reference (`reference.py`) is plain convolution in integers of thousands of bits. Compositions too large
for it are checked by what must be true of them: f falls, is convex, lies below 1 - alpha and is its own
inverse; delta and f are dual; epsilon(delta(e)) = e; floats lie inside certified intervals.
"""

from __future__ import annotations

import math
import random
import sys
import time
import warnings
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from reference import Reference, mpf

from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.errors import PrecisionError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise

QUICK = ("small", "laplace", "steep", "mixed", "three-decimal", "nasty")
SLOW = ("census", "gaussians")  # take seconds: one in thirty
DELTAS = tuple(Fraction(d) for d in ("0.9", "0.3", "1e-2", "1e-6", "1e-10", "1e-20"))
ALPHAS = tuple(
    Fraction(a) for a in ("1e-12", "1e-4", "0.01", "0.1", "0.2", "0.3", "0.5", "0.7", "0.95", "0.9999999999")
)
_SMALLEST = mp.mpf(10) ** -40


def draw(seed: int) -> tuple[str, tuple[Noise, ...]]:
    """The family and the composition of a seed."""
    rng = random.Random(seed)
    family = SLOW[seed // 30 % 2] if seed % 30 == 29 else QUICK[seed % len(QUICK)]

    def decimal(low: float, high: float, places: int = 3) -> Fraction:
        unit = 10**places
        return Fraction(rng.randint(max(1, round(low * unit)), round(high * unit)), unit)

    def ratio(low: float, high: float) -> Fraction:
        bottom = rng.randint(1, 999)
        return Fraction(max(1, round(rng.uniform(low, high) * bottom)), bottom)

    def gaussian(variance: Fraction, most: int = 3) -> Noise:
        return DiscreteGaussian(
            variance=variance, sensitivity=rng.choice((1, 1, 1, 2, 3)), times=rng.randint(1, most)
        )

    def laplace(scale: Fraction, most: int = 3) -> Noise:
        return DiscreteLaplace(
            scale=scale, sensitivity=rng.choice((1, 1, 2, 3, 7)), times=rng.randint(1, most)
        )

    if family == "small":
        events = [gaussian(ratio(0.2, 6)) for _ in range(rng.randint(1, 2))]
    elif family == "laplace":
        events = [laplace(decimal(0.1, 3)) for _ in range(rng.randint(1, 4))]
    elif family == "steep":
        events = [gaussian(decimal(0.05, 0.4)) for _ in range(rng.randint(1, 3))]
    elif family == "mixed":
        events = [laplace(ratio(0.2, 50)), gaussian(ratio(0.1, 3), 5)]
        events += [laplace(decimal(0.2, 5))] if rng.random() < 0.4 else []
    elif family == "three-decimal":  # two counts of a pure-DP release: epsilons e and 1 - e
        share = rng.randint(50, 950)
        events = [DiscreteLaplace(scale=Fraction(1000, s)) for s in (share, 1000 - share)]
        events = (
            [DiscreteLaplace(scale=Fraction(125, s)) for s in (share, 1000 - share)]
            if rng.random() < 0.5
            else events
        )
    elif family == "census":
        unit = Fraction(rng.randint(1, 400), rng.choice((1, 7, 10, 100)))
        events = [
            DiscreteGaussian(variance=unit / rng.randint(1, 60), times=rng.randint(1, 20))
            for _ in range(rng.randint(2, 9))
        ]
    elif family == "gaussians":
        events = [DiscreteGaussian(variance=decimal(0.5, 10)) for _ in range(rng.randint(3, 10))]
    else:
        choices = ("0.0001", "0.0002", "0.001", "0.05", "0.2", "1000", "5.123456789", "7.0000001")
        events = []
        for _ in range(rng.randint(1, 2)):
            size = Fraction(rng.choice(choices))
            events.append(laplace(size, 2) if rng.random() < 0.4 else gaussian(size, 2))
    return family, tuple(events)


def bits_for(events: tuple[Noise, ...]) -> int:
    """Bits of the reference for tails down to 1e-40."""
    gaussian = [e for e in events if isinstance(e, DiscreteGaussian)]
    R = float(sum(e.precision for e in gaussian))
    laplace = float(sum(e.times * e.sensitivity / e.scale for e in events if isinstance(e, DiscreteLaplace)))
    step = max((float(e.sensitivity / e.variance) for e in gaussian), default=0.0)
    return 420 + int(1.45 * (R / 2 + 15 * math.sqrt(R) + laplace + 2 * step))


def cost(events: tuple[Noise, ...]) -> float:
    """About how many values the reference would have, each with thousands of bits."""
    size, bits = 1.0, bits_for(events)
    for event in events:
        if isinstance(event, DiscreteGaussian):
            size *= 2 * math.sqrt(1.4 * bits * float(event.variance)) * event.times + 3
        else:
            size *= event.sensitivity * event.times + 1
    return size * bits / 2000


def close(found: float, truth: mp.mpf, tolerance: float) -> bool:
    return bool(abs(mpf(Fraction(float(found))) - truth) <= tolerance * abs(truth))


def against_reference(loss: PrivacyLoss, events: tuple[Noise, ...], rng: random.Random) -> None:
    """Every answer against plain convolution, to the accuracy that it claims."""
    reference = Reference(events, bits=bits_for(events), floor="1e-40")
    for delta in rng.sample(DELTAS, 3):
        truth = reference.epsilon(delta)
        found = loss.epsilon(delta=delta)
        room = max(found.accuracy, 1e-11 * abs(float(truth)), 2e-12 * float(delta))
        assert abs(mpf(Fraction(found)) - truth) <= room, ("epsilon", float(delta), found, mp.nstr(truth, 17))
    points = [Fraction(0), *(Fraction(float(reference.epsilon(d))) for d in rng.sample(DELTAS[1:], 2))]
    points += [rng.choice(reference.losses) for _ in range(2)]
    for point in points:
        truth = reference.delta(abs(point))
        if truth > _SMALLEST:
            found = loss.delta(epsilon=abs(point))
            assert close(found, truth, max(found.accuracy, 1e-12)), (
                "delta",
                point,
                found,
                mp.nstr(truth, 17),
            )
            assert found <= 1
    # and next to a corner of f
    knot = Fraction(reference.above_q[rng.randrange(len(reference.above_q))], 2**reference.bits)
    near = knot * (1 + Fraction(rng.choice((-1, 0, 1)), 10 ** rng.randint(13, 18)))
    alphas = (*rng.sample(ALPHAS, 5), Fraction(rng.random()), *([near] if 0 < near < 1 else []))
    for alpha in alphas:
        truth = reference.tradeoff(alpha)
        if truth > _SMALLEST:
            found = loss.tradeoff(alpha=alpha)
            assert close(found, truth, max(found.accuracy, 1e-10)), ("f", alpha, found, mp.nstr(truth, 17))
    if rng.random() > 0.1:
        return
    alpha, delta = rng.choice(ALPHAS), rng.choice(DELTAS)
    with mp.workprec(reference.bits):
        box = loss.delta(epsilon=points[2], certified=True)
        assert mpf(box.lower) <= reference.delta(points[2]) <= mpf(box.upper), ("certified delta", points[2])
        try:
            box = loss.tradeoff(alpha=alpha, certified=True)
            truth = reference.tradeoff(alpha)
            assert mpf(box.lower) <= truth <= mpf(box.upper), ("certified f", alpha, box, mp.nstr(truth, 20))
        except PrecisionError:
            pass
        box = loss.epsilon(delta=delta, certified=True)
        assert mpf(box.lower) <= reference.epsilon(delta) <= mpf(box.upper), ("certified epsilon", delta)


def by_properties(loss: PrivacyLoss, rng: random.Random) -> None:
    """What must be true of any composition, each value to the accuracy that it claims."""
    alphas = sorted({*ALPHAS[::2], *(Fraction(rng.random()) for _ in range(4))})
    f = loss.tradeoff(alpha=alphas)
    off = f * np.maximum(f.accuracy, 1e-10) + 1e-300
    f = np.asarray(f)
    x = np.array([float(a) for a in alphas])
    assert np.all(np.diff(f) <= off[1:] + off[:-1]), ("f rises", x, f)
    assert np.all(f <= 1 - x + 1e-16), ("f above 1 - alpha", x, f)
    for i in range(1, len(x) - 1):
        share = (x[i] - x[i - 1]) / (x[i + 1] - x[i - 1])
        chord = f[i - 1] + share * (f[i + 1] - f[i - 1])
        assert f[i] <= chord + off[i - 1 : i + 2].sum() + 1e-15, ("f is not convex", x[i], f[i], chord)
    for a, value, doubt in list(zip(x, f, off, strict=True))[::3]:
        if 1e-8 < a < 0.9 and 1e-8 < value < 0.9:
            # an error of f grows in its inverse by the slope there
            back = loss.tradeoff(alpha=[value - 2 * doubt, value + 2 * doubt])
            slack = back.accuracy + 1e-10
            assert back[1] * (1 - slack[1]) <= a <= back[0] * (1 + slack[0]), ("f(f(a))", a, value, back)
    for delta in rng.sample(DELTAS[1:5], 2):
        epsilon = loss.epsilon(delta=delta)
        if loss.law.loss.largest is not None and epsilon >= float(loss.law.loss.largest) * (1 - 1e-9):
            continue
        room = Fraction(max(2 * epsilon.accuracy, 1e-11 * abs(epsilon), 2e-12 * float(delta)))
        low, high = (loss.delta(epsilon=Fraction(epsilon) + sign * room) for sign in (-1, 1))
        assert high <= float(delta) * (1 + high.accuracy + 1e-12), (
            "epsilon(delta) too small",
            delta,
            epsilon,
        )
        assert low >= float(delta) * (1 - low.accuracy - 1e-12), ("epsilon(delta) too large", delta, epsilon)
        # duality: no line above f, and delta is the best of them
        for a, value, doubt in zip(x, f, off, strict=True):
            if epsilon < 600:
                assert 1 - value - math.exp(epsilon) * a <= float(delta) * (1 + 1e-5) + doubt + 1e-14, (
                    "duality",
                    delta,
                    epsilon,
                    a,
                    value,
                )


def check_one(seed: int) -> str:
    """Check one composition; returns what was done: "reference", "properties" or "refused"."""
    family, events = draw(seed)
    rng = random.Random(seed + 1)
    small = cost(events) < 6_000
    try:
        loss = compose(events)
        try:
            if small:
                against_reference(loss, events, rng)
        except AssertionError as problem:
            if "needs more bits" not in str(problem):
                raise
            small = False
        if not small:
            by_properties(loss, rng)
    except AssertionError as problem:
        raise AssertionError(f"seed {seed} ({family}) {events}: {problem}") from None
    except PrecisionError as problem:
        return f"refused: {problem}"
    except Exception as problem:
        raise AssertionError(
            f"seed {seed} ({family}) {events}: {type(problem).__name__} {problem}"
        ) from problem
    return "reference" if small else "properties"


def main(first: int, count: int) -> None:
    """Run seeds and print what was found."""
    warnings.simplefilter("error")  # as under pytest: a user must never see one
    done: dict[str, int] = {}
    for seed in range(first, first + count):
        start = time.process_time()
        try:
            outcome = check_one(seed)
        except AssertionError as problem:
            outcome = "wrong"
            print("WRONG", str(problem)[:600], flush=True)
        taken = time.process_time() - start
        if outcome.startswith("refused"):
            print("REFUSED", seed, draw(seed), outcome[:160], flush=True)
        if taken > 20:
            print(f"SLOW {taken:.0f} s", seed, draw(seed), flush=True)
        key = f"{draw(seed)[0]}: {outcome.split(':')[0]}"
        done[key] = done.get(key, 0) + 1
        if (seed + 1 - first) % 50 == 0:
            print("DONE", first, seed + 1 - first, dict(sorted(done.items())), flush=True)
    print(first, count, dict(sorted(done.items())))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
