"""Reproducible randomness, for tests and examples only, and the checks of a law of noise.

Noise drawn from these sources protects nobody: anyone who knows the seed can subtract it.
"""

from __future__ import annotations

import copy
import hashlib
import math
import pickle
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.noise import DiscreteGaussian, Noise, grouped, sample
from discreet.noise.claims import false_claims, mass, support


class NotPrivateSeededEntropy:
    """Pseudorandom bytes from a seed, the same on every machine and in every version.

    Never use it for a release: the seed undoes the protection.

    >>> from discreet.noise import DiscreteGaussian, sample
    >>> sample(DiscreteGaussian(variance=5), 8, source=NotPrivateSeededEntropy(1)).tolist()
    [-4, 3, 2, 2, -2, 1, 2, -3]
    """

    def __init__(self, seed: int) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

        key = hashlib.sha256(f"discreet.testing {seed:d}".encode()).digest()
        self._stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Overwrite `out` with the next bytes of the stream."""
        self._stream.update_into(bytes(out.size), out.data)


class NotPrivateScriptedEntropy:
    """The bytes it was given, to lead a sampler down a chosen path; raises when they run out.

    >>> source = NotPrivateScriptedEntropy(bytes([1, 2, 3]))
    >>> out = np.empty(2, dtype=np.uint8)
    >>> source.fill(out)
    >>> out.tolist(), source.left
    ([1, 2], 1)
    """

    def __init__(self, script: bytes) -> None:
        self._script = np.frombuffer(script, dtype=np.uint8)
        self._used = 0

    @property
    def left(self) -> int:
        """The number of bytes not yet used."""
        return int(self._script.size) - self._used

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Overwrite `out` with the next bytes of the script."""
        if out.size > self.left:
            raise DiscreetError(f"{out.size} bytes were asked for, the script has {self.left} left")
        out[:] = self._script[self._used : self._used + out.size]
        self._used += out.size


# -- laws of noise ------------------------------------------------------------------------------------------


def check_law(law: Noise, *, draws: int = 20_000, seed: int = 1) -> tuple[str, ...]:
    """Check that a law of noise keeps what accounting, sampling and estimation assume of it.

    For laws that come with the package and for those of others. Returns the names of what was checked; raises
    a `DiscreetError` that lists everything that fails. The draws of a correct law fail with a chance of 1e-6.

    >>> from discreet.noise import ContinuousLaplace, PowerNoise
    >>> check_law(PowerNoise("3/2", 2))
    ('copies', 'loss', 'directions', 'changes', 'probabilities', 'balls', 'draws', 'accounts', 'claims')
    >>> check_law(ContinuousLaplace(scale=2))
    ('copies', 'loss', 'directions', 'changes', 'claims')
    """
    checks: dict[str, Callable[[Noise], Iterator[str]]] = {
        "copies": _copies,
        "loss": _loss,
        "directions": _directions,
        "changes": _changes,
    }
    if law.is_drawn:
        checks |= {
            "probabilities": _probabilities,
            "balls": _balls,
            "draws": lambda noise: _draws(noise, draws, seed),
        }
    if law.outcome_count(1.0) is not None:
        checks["accounts"] = _accounts
    checks["claims"] = false_claims
    problems = [f"{name}: {problem}" for name, check in checks.items() for problem in check(law)]
    if problems:
        listed = "\n".join(f"  {number}. {problem}" for number, problem in enumerate(problems, 1))
        raise DiscreetError(f"{law} does not keep what is assumed of a law:\n{listed}")
    return tuple(checks)


def _copies(law: Noise) -> Iterator[str]:
    if law.repeated(law.times + 2).times != law.times + 2 or law.repeated(law.times) != law:
        yield "`repeated` must change `times` alone"
    if pickle.loads(pickle.dumps(law)) != law or hash(copy.copy(law)) != hash(law):
        yield "copies and pickles must be equal"
    merged = grouped([law, law, DiscreteGaussian(variance="98765/4321")])
    if sorted(event.times for event in merged if event.key == law.key) != [2 * law.times]:
        yield "`key` must be everything but `times`, so that equal events are merged"
    if law.exchanged().exchanged().key != law.key and law.is_mirrored:
        yield "a mirrored law must be its own exchange"


def _loss(law: Noise) -> Iterator[str]:
    for exchanged in (False, True):
        loss = law.loss_law(exchanged=exchanged)
        total = mass(loss, 0.0) + loss.infinite
        if not abs(total - 1) <= 1e-11 + loss.left_out:
            yield f"probabilities of the loss add up to {total!r}, not to 1"
        if np.any(np.diff(loss.value) < 0):
            yield "losses must be ascending"
        if mass(loss, -1.0) > 1 + 1e-11:
            yield f"without the person finite losses have probability {mass(loss, -1.0)!r}, more than 1"


def _directions(law: Noise) -> Iterator[str]:
    loss, other = law.loss_law(), law.loss_law(exchanged=True)
    for theta in (-0.8, -0.5, -0.3):
        # with the hypotheses exchanged the loss is -L, and its law is tilted by e^-L
        here, there = mass(loss, theta), mass(other, -1 - theta)
        if not abs(here - there) <= 1e-10 * max(here, there):
            yield f"E e^(tL) at t = {theta} is {here!r}, and with the hypotheses exchanged {there!r}"
        mirrored = mass(loss, -1 - theta)
        if law.is_mirrored and not abs(here - mirrored) <= 1e-10 * max(here, mirrored):
            yield f"`is_mirrored` is true, but E e^(tL) differs at {theta} and {-1 - theta}"


def _changes(law: Noise) -> Iterator[str]:
    """A larger change tells more, and the loss is that of the change that `sensitivity` states."""
    if not law.is_added:  # (two tables say what one change does)
        return
    single = law.for_one()
    made = [single.changed_exactly_by(change) for change in (1, 2, 3)]
    if [each.sensitivity for each in made] != [1, 2, 3]:
        yield "copies must have the `sensitivity` that they are made with"
        return
    if not law.is_drawn:
        spread = [mass(each.loss_law(), -0.5) for each in made]
        if not spread[0] > spread[1] > spread[2]:
            yield f"`loss_law` ignores `sensitivity`: E e^(-L/2) is {spread!r} at 1, 2 and 3"
        return
    x = np.arange(-int(single.reach(45.0)) - 4, int(single.reach(45.0)) + 5)
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
        computed, true = [], []
        for each in made:
            absent, present, _ = each.outcomes
            with np.errstate(under="ignore"):
                p, q = np.exp(absent), np.exp(present)
            computed.append(float(np.maximum(q - math.exp(epsilon) * p, 0.0).sum()))
            shifted = single.pmf(x - each.sensitivity)
            true.append(float(np.maximum(shifted - math.exp(epsilon) * single.pmf(x), 0.0).sum()))
        if max(abs(here - there) for here, there in zip(computed, true, strict=True)) > 1e-9:
            yield (
                f"delta({epsilon}) of changes by 1, 2 and 3 is {true!r} by P[X = x], and {computed!r} by its "
                "outcomes: they ignore `sensitivity`"
            )
            return
        if true != sorted(true) and max(a - b for a, b in pairwise(true)) > 1e-9:
            stated = "" if not single.is_log_concave else "; `is_log_concave` is true, which is wrong"
            yield (
                f"delta({epsilon}) of changes by 1, 2 and 3 is {true!r}: a smaller change tells more, so "
                f"that accounts of sensitivities above 1 are refused{stated}"
            )
            return


def _probabilities(law: Noise) -> Iterator[str]:
    x = support(law)
    p = law.pmf(x)
    if not abs(float(p.sum()) - 1) < 1e-12:
        yield f"P[X = x] add up to {float(p.sum())!r}"
    mean = float(p @ x)
    if not abs(mean - float(law.mean)) < 1e-9 * (1 + abs(mean)):
        yield f"the mean is {mean!r}, stated as {float(law.mean)!r}"
    variance = float(p @ (x - mean) ** 2)
    if not abs(variance - law.true_variance()) <= 1e-9 * (1e-9 + variance):
        yield f"the variance is {variance!r}, stated as {law.true_variance()!r}"
    if np.abs(law.sf(x) + law.cdf(x) - 1).max() > 1e-12 or np.abs(np.cumsum(p) - law.cdf(x)).max() > 1e-12:
        yield "P[X <= x] and P[X > x] must belong to P[X = x]"
    inside = float(p[np.abs(x) <= law.margin()].sum())
    less = float(p[np.abs(x) < law.margin()].sum())
    if not (inside >= 0.95 - 1e-12 and less < 0.95 + 1e-12):
        yield f"the margin {law.margin()} holds {inside!r}, and one less {less!r}"
    slopes = np.array([0.05, 0.1]) / (1 + law.reach(1.0))
    direct = np.log(np.exp(np.multiply.outer(slopes, x)) @ p)
    if np.abs(law.log_mgf(slopes) - direct).max() > 1e-9:
        yield "log E e^(sX) must belong to P[X = x]"


def _balls(law: Noise) -> Iterator[str]:
    for x in (0, 1, -1, 3):
        box, value = law.certified_pmf(x) if law.pmf(x) > 0 else None, float(law.pmf(x))
        if box is not None and not float(box.lower) * (1 - 1e-12) <= value <= float(box.upper) * (1 + 1e-12):
            yield f"P[X = {x}] is {value!r}, and its ball is {box}"
        tail = float(law.sf(x))
        if tail > 0:
            box = law.certified_sf(x)
            if not float(box.lower) * (1 - 1e-11) <= tail <= float(box.upper) * (1 + 1e-11):
                yield f"P[X > {x}] is {tail!r}, and its ball is {box}"


def _draws(law: Noise, draws: int, seed: int) -> Iterator[str]:
    drawn = sample(law.for_one(), draws, source=NotPrivateSeededEntropy(seed))
    x = support(law)
    expected = draws * law.pmf(x)
    if np.any(law.pmf(drawn) == 0):
        yield "an outcome was drawn that has probability zero"
        return
    often = expected >= 8
    seen = np.array([np.count_nonzero(drawn == outcome) for outcome in x[often]])
    rest_seen, rest = draws - seen.sum(), draws - expected[often].sum()
    square = float(((seen - expected[often]) ** 2 / expected[often]).sum())
    square += float((rest_seen - rest) ** 2 / max(rest, 1.0))
    chance = float(scipy.special.gammaincc(max(int(often.sum()), 1) / 2, square / 2))
    if chance < 1e-6:
        yield f"{draws} draws differ from P[X = x]: their chi-square is {round(square, 1)!r}"


def _accounts(law: Noise) -> Iterator[str]:
    from discreet.accounting.privacy_loss import compose

    absent, present, left_out = law.outcomes
    with np.errstate(under="ignore"):
        p, q = np.exp(absent), np.exp(present)
    for epsilon in (0.0, 0.5, 2.0):
        true = max(
            float(np.maximum(own - np.exp(epsilon) * other, 0.0).sum()) for own, other in ((p, q), (q, p))
        )
        computed = float(compose([law.repeated(1)]).delta(epsilon=epsilon))
        if not true * (1 - 1e-11) - 1e-14 <= computed <= true * (1 + 1e-6) + left_out + 1e-14:
            yield f"delta({epsilon}) is {computed!r}; its outcomes give {true!r}"
