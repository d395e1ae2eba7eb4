"""Which law each surface takes, and the one sentence in which it refuses the others.

Most questions are answered for every law. Some need more of a noise than its loss: that it lies on a lattice,
that it can be drawn, that it has a size to change. `require` is where all of them refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from discreet.errors import InputError
from discreet.noise.continuous import ContinuousNoise
from discreet.noise.distribution import LatticeNoise, Noise
from discreet.noise.power import PowerNoise
from discreet.noise.table import TableNoise


class Surface(NamedTuple):
    """What is asked, what it needs, and what can be asked instead."""

    asks: str
    needs: str
    takes: Callable[[Noise], bool]
    instead: str


def _is_lattice(noise: Noise) -> bool:
    return isinstance(noise, LatticeNoise)


def _has_evidence(noise: Noise) -> bool:
    return isinstance(noise, LatticeNoise | PowerNoise)


def _has_rho(noise: Noise) -> bool:
    return noise.zcdp is not None


def _is_gaussian(noise: Noise) -> bool:
    return noise.is_gaussian


def can_be_drawn(noise: Noise) -> bool:
    """Whether samples are drawn: the noise is a whole number, and added."""
    return not isinstance(noise, ContinuousNoise) and not (
        isinstance(noise, TableNoise) and not noise.is_noise
    )


def has_margins(noise: Noise) -> bool:
    """Whether the noise is added, so that it has a variance and margins."""
    return not (isinstance(noise, TableNoise) and not noise.is_noise)


def _is_even(noise: Noise) -> bool:
    if isinstance(noise, TableNoise):
        return has_margins(noise) and noise.is_even and noise.has_positive_transform
    return not isinstance(noise, ContinuousNoise)


def _has_size(noise: Noise) -> bool:
    return not isinstance(noise, TableNoise)


_OLD = "discrete Gaussian or discrete Laplace noise"
_CURVES = "`account` has its exact epsilon, delta and trade-off"

SURFACES: dict[str, Surface] = {
    "lattice": Surface("this question", _OLD, _is_lattice, _CURVES),
    "comparisons": Surface("an Edgeworth expansion", _OLD, _is_lattice, _CURVES),
    "divergences": Surface(
        "Renyi divergences and Gaussian DP", "noise whose loss is finite", _has_rho, _CURVES
    ),
    "rho": Surface(
        "a rho of zCDP",
        "noise whose loss is finite",
        _has_rho,
        "`account` has its exact epsilon, delta and trade-off",
    ),
    "ledger": Surface(
        "a run in a ledger",
        "noise whose loss is finite",
        _has_rho,
        "`account` has its exact epsilon and delta, and `sample` draws it",
    ),
    "certificate": Surface("a certificate", _OLD, _is_lattice, "`certified=True` proves single values"),
    "proved trade-off": Surface(
        "a proof of the trade-off curve", _OLD, _is_lattice, "delta and epsilon can be proved"
    ),
    "errors": Surface("errors of tests at thresholds", _OLD, _is_lattice, "`tradeoff` has the best of them"),
    "evidence": Surface(
        "the risk of single counts and categories",
        "discrete Gaussian, discrete Laplace or power noise",
        _has_evidence,
        "`risk release` has what everything published tells",
    ),
    "limits on beliefs": Surface(
        "a limit on beliefs",
        _OLD,
        _is_lattice,
        "limits on right decisions, accusations and guesses take other noise",
    ),
    "export": Surface("a distribution of dp-accounting", _OLD, _is_lattice, _CURVES),
    "drawing": Surface(
        "drawing noise",
        "integer noise with one table or formula",
        can_be_drawn,
        "discrete noise of the same size is drawn exactly",
    ),
    "margins": Surface("the accuracy of counts", "noise that is added", has_margins, _CURVES),
    "estimates": Surface(
        "estimation",
        "integer noise that is symmetric, with a positive transform",
        _is_even,
        "`account` takes every law",
    ),
    "scaling": Surface(
        "calibration",
        "noise with a variance or scale to change",
        _has_size,
        "give tables one by one to `account`",
    ),
    "planning": Surface(
        "a plan", "discrete Gaussian noise", _is_gaussian, "with a law it is made for other noise"
    ),
}
"""All questions that not every law answers."""


def require(surface: str, noises: Iterable[Noise]) -> None:
    """Refuse noise that a surface does not take, in one sentence.

    >>> from discreet.noise import PowerNoise
    >>> require("comparisons", [PowerNoise("3/2", 4)])
    Traceback (most recent call last):
    discreet.errors.InputError: an Edgeworth expansion needs discrete Gaussian or discrete Laplace noise, \
not power noise of exponent 3/2, scale 4; `account` has its exact epsilon, delta and trade-off
    """
    asked = SURFACES[surface]
    for noise in noises:
        if not asked.takes(noise):
            raise InputError(f"{asked.asks} needs {asked.needs}, not {noise}; {asked.instead}")
