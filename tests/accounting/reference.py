"""An independent reference: plain convolution from the definition, with thousands of bits.

Nothing here comes from the package but the events themselves. An event adds noise with pmf proportional
to e^exponent(x) on the integers; one person moves its centre from 0 (null, Q) to the sensitivity
(alternative, P). The privacy loss of an outcome x is log P(x) / Q(x) = exponent(x - mu) - exponent(x), a
fraction. A composition is the product measure: losses add, probabilities multiply, under P and under Q,
each by itself. Probabilities are integers over 2^bits, losses are integers over a common denominator, and
nothing is truncated but outcomes whose probability is below 2^-bits.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from fractions import Fraction

import mpmath as mp
from flint import fmpz_poly

from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise

_MOST_DENSE = 400_000


def mpf(value: Fraction | int) -> mp.mpf:
    """The fraction at mpmath's working precision."""
    exact = Fraction(value)
    return mp.mpf(exact.numerator) / exact.denominator


def _exponent(event: Noise, x: int) -> Fraction:
    if isinstance(event, DiscreteGaussian):
        return -Fraction(x * x) / (2 * event.variance)
    return -abs(x) / event.scale


def _reach(event: Noise, bits: int) -> int:
    """Outcomes farther than this from the centre have probability below 2^-bits."""
    depth = bits * math.log(2) + 10
    if isinstance(event, DiscreteGaussian):
        return math.ceil(math.sqrt(2 * float(event.variance) * depth)) + 1
    return math.ceil(float(event.scale) * depth) + 1


def one_event(event: Noise, bits: int) -> tuple[dict[Fraction, int], dict[Fraction, int]]:
    """The law of the loss of one event under P and under Q, probabilities over 2^bits."""
    mu, reach = event.sensitivity, _reach(event, bits)
    if not isinstance(event, DiscreteGaussian):
        return _one_laplace(event, bits)
    with mp.workprec(bits + 64):
        weight = [mp.exp(mpf(_exponent(event, x))) for x in range(reach + 1)]
        total = weight[0] + 2 * mp.fsum(weight[1:])
        pmf = [int(mp.floor(mp.ldexp(w / total, bits))) for w in weight]
    under_p: dict[Fraction, int] = {}
    under_q: dict[Fraction, int] = {}
    for x in range(-reach, reach + mu + 1):
        loss = _exponent(event, x - mu) - _exponent(event, x)
        if abs(x - mu) <= reach:
            under_p[loss] = under_p.get(loss, 0) + pmf[abs(x - mu)]
        if abs(x) <= reach:
            under_q[loss] = under_q.get(loss, 0) + pmf[abs(x)]
    return under_p, under_q


def _one_laplace(event: DiscreteLaplace, bits: int) -> tuple[dict[Fraction, int], dict[Fraction, int]]:
    """The same where outcomes up to 0 have one loss, and those from mu on another: geometric series."""
    mu = event.sensitivity
    with mp.workprec(bits + 64):
        r = mp.exp(mpf(_exponent(event, 1)))
        outer, inner = 1 / (1 + r), (1 - r) / (1 + r)  # P[X >= 0] and P[X = 0]
        null = [outer, *(inner * r**x for x in range(1, mu)), outer * r**mu]  # x <= 0, x = 1.., x >= mu
        law = [int(mp.floor(mp.ldexp(p, bits))) for p in null]
    losses = [_exponent(event, x - mu) - _exponent(event, x) for x in range(mu + 1)]
    under_q = dict(zip(losses, law, strict=True))
    return dict(zip(losses, reversed(law), strict=True)), under_q


def bits_for(events: Iterable[Noise]) -> int:
    """Bits that serve delta and tails down to 1e-300, with 60 digits to spare."""
    events = list(events)
    gaussian = [e for e in events if isinstance(e, DiscreteGaussian)]
    R = float(sum(e.times * e.sensitivity**2 / e.variance for e in gaussian))
    laplace = float(
        sum(e.times * e.sensitivity / e.scale for e in events if not isinstance(e, DiscreteGaussian))
    )
    step = max((float(e.sensitivity / e.variance) for e in gaussian), default=0.0)
    # the largest epsilon of interest is below the Gaussian tail bound at 1e-300, plus a lattice step
    return 1250 + int(1.45 * (R / 2 + 40 * math.sqrt(R) + laplace + 2 * step))


class Reference:
    """The exact law of the composed loss of a few events, and what follows from it."""

    def __init__(self, events: Iterable[Noise], bits: int | None = None, floor: str = "1e-300") -> None:
        events = list(events)
        self.floor = mp.mpf(floor)  # values down to here are good to 30 digits
        bits = self.bits = bits or bits_for(events)
        laws = [(*one_event(event, bits), event.times) for event in events]
        # every loss as an integer in units of one common denominator
        self.unit = Fraction(1, math.lcm(*(x.denominator for p, q, _ in laws for x in {*p, *q})))
        P = self._product([(p, times) for p, _, times in laws])
        Q = self._product([(q, times) for _, q, times in laws])
        keys = sorted(k for k in {*P, *Q} if P.get(k, 0) or Q.get(k, 0))
        self.losses = [k * self.unit for k in keys]
        self._keys = keys
        self.P = [P.get(k, 0) for k in keys]
        self.Q = [Q.get(k, 0) for k in keys]
        self.above_p, self.above_q = [0], [0]  # sums over the last i atoms
        for p, q in zip(reversed(self.P), reversed(self.Q), strict=True):
            self.above_p.append(self.above_p[-1] + p)
            self.above_q.append(self.above_q[-1] + q)

    def _product(self, laws: list[tuple[dict[Fraction, int], int]]) -> dict[int, int]:
        """The law of the sum of all losses: each law with itself `times` over, and with the others."""
        whole = [({int(x / self.unit): p for x, p in law.items() if p}, times) for law, times in laws]
        step = math.gcd(*(k - min(one) for one, _ in whole for k in one)) or 1
        span = sum(times * (max(one) - min(one)) for one, times in whole) // step
        # far fewer values than points of the common lattice are convolved as they are
        if span <= min(_MOST_DENSE, 10 * math.prod(len(one) ** times for one, times in whole)):
            low = sum(times * min(one) for one, times in whole)
            total = fmpz_poly([1 << self.bits])
            for one, times in whole:
                total = self._rounded(total * self._power(_poly(one, step), times))
            return {low + step * k: int(c) for k, c in enumerate(total.coeffs()) if c}
        result = {0: 1 << self.bits}
        half = 1 << (self.bits - 1)
        for one, times in whole:
            for _ in range(times):
                fresh: dict[int, int] = {}
                for a, p in result.items():
                    for b, q in one.items():
                        fresh[a + b] = fresh.get(a + b, 0) + p * q
                result = {k: v for k, p in fresh.items() if (v := (p + half) >> self.bits)}
        return result

    def _rounded(self, poly: fmpz_poly) -> fmpz_poly:
        half = 1 << (self.bits - 1)
        return fmpz_poly([(int(c) + half) >> self.bits for c in poly.coeffs()])

    def _power(self, poly: fmpz_poly, times: int) -> fmpz_poly:
        if times == 1:
            return poly
        root = self._power(poly, times // 2)
        square = self._rounded(root * root)
        return self._rounded(square * poly) if times % 2 else square

    # -- sums over atoms --------------------------------------------------------------------------------

    def _count_above(self, threshold: Fraction) -> int:
        return len(self._keys) - bisect.bisect_right(self._keys, math.floor(threshold / self.unit))

    def _mp(self, value: int) -> mp.mpf:
        return mp.ldexp(mp.mpf(value), -self.bits)

    def delta(self, epsilon: Fraction) -> mp.mpf:
        """The sum over outcomes of (P - e^epsilon Q)_+."""
        count = self._count_above(epsilon)
        with mp.workprec(self.bits):
            above_p, above_q = self._mp(self.above_p[count]), self._mp(self.above_q[count])
            delta = above_p - mp.exp(mpf(epsilon)) * above_q
            # both sums carry an absolute error of about 2^-bits for each atom
            rounding = mp.ldexp(len(self.losses) * (1 + mp.exp(mpf(epsilon))), -self.bits)
            assert rounding < mp.mpf(10) ** -30 * max(delta, self.floor), "the reference needs more bits"
            return delta

    def tail(self, threshold: Fraction, under: str = "alternative") -> mp.mpf:
        """P[L > threshold] or Q[L > threshold]."""
        count = self._count_above(threshold)
        with mp.workprec(self.bits):
            return self._mp((self.above_p if under == "alternative" else self.above_q)[count])

    def errors(self, threshold: Fraction) -> tuple[mp.mpf, mp.mpf]:
        """(Q[L > threshold], P[L <= threshold])."""
        count = self._count_above(threshold)
        with mp.workprec(self.bits):
            return self._mp(self.above_q[count]), self._mp(sum(self.P[: len(self.P) - count]))

    def epsilon(self, delta: Fraction) -> mp.mpf:
        """The root of delta(epsilon): between two atoms delta = A - e^epsilon B, sums over atoms."""
        with mp.workprec(self.bits):
            low, high = (
                -1,
                len(self.losses),
            )  # delta is above the target at `low` and not at `high`
            while high - low > 1:
                middle = (low + high) // 2
                # far out P[L > l], which is above delta, settles it, and e^l is never needed there
                tail = self._mp(self.above_p[len(self.losses) - 1 - middle])
                if tail > mpf(delta) and self.delta(self.losses[middle]) > mpf(delta):
                    low = middle
                else:
                    high = middle
            count = len(self.losses) - 1 - low
            A, B = self._mp(self.above_p[count]), self._mp(self.above_q[count])
            return mp.log((A - mpf(delta)) / B)

    def tradeoff(self, alpha: Fraction) -> mp.mpf:
        """Neyman and Pearson: reject the atoms of largest loss first, the last one with some probability."""
        with mp.workprec(self.bits):
            wanted = mp.ldexp(mpf(alpha), self.bits)
            count = bisect.bisect_right(self.above_q, wanted) - 1
            beta = mp.mpf(self._total_p - self.above_p[count])
            if count < len(self.Q):
                share = (wanted - self.above_q[count]) / self.Q[len(self.Q) - 1 - count]
                beta -= share * self.P[len(self.P) - 1 - count]
            return max(mp.ldexp(beta, -self.bits), mp.mpf(0))

    @property
    def _total_p(self) -> int:
        return self.above_p[-1]

    def knots(self) -> list[tuple[Fraction, mp.mpf, mp.mpf]]:
        """(loss l, Q[L > l], P[L <= l]) at every atom, alpha ascending."""
        size = len(self.losses)
        with mp.workprec(self.bits):
            return [
                (
                    self.losses[size - 1 - i],
                    self._mp(self.above_q[i]),
                    self._mp(self._total_p - self.above_p[i]),
                )
                for i in range(size)
            ]


def _poly(law: dict[int, int], step: int) -> fmpz_poly:
    low = min(law)
    coefficients = [0] * ((max(law) - low) // step + 1)
    for k, p in law.items():
        coefficients[(k - low) // step] = p
    return fmpz_poly(coefficients)
