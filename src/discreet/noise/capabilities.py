"""Which questions can be asked of which noise, and the one sentence in which the others are refused.

Most questions are answered for every law. Some need more of a noise than its loss: that it lies on a lattice,
that it can be drawn, that it has a size to change. A law says of itself what it has; `supports` asks before
anything is computed, and `require` is where all of them refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from discreet.errors import InputError
from discreet.noise.distribution import Noise


class Requirement(NamedTuple):
    """What is asked, what it needs of noise, and what can be asked instead."""

    asks: str
    needs: str
    takes: Callable[[Noise], bool]
    instead: str


def _is_on_lattice(noise: Noise) -> bool:
    return noise.as_lattice is not None


def _has_rho(noise: Noise) -> bool:
    return noise.zcdp is not None


_OLD = "discrete Gaussian or discrete Laplace noise"
_RISKS = "`risk release` has what everything published tells"
_CURVES = "`account` has its exact epsilon, delta and trade-off"

QUESTIONS: dict[str, Requirement] = {
    "lattice": Requirement("this question", _OLD, _is_on_lattice, _CURVES),
    "comparisons": Requirement("an Edgeworth expansion", _OLD, _is_on_lattice, _CURVES),
    "divergences": Requirement(
        "Renyi divergences and Gaussian DP", "noise whose loss is finite", _has_rho, _CURVES
    ),
    "rho": Requirement(
        "a rho of zCDP",
        "noise whose loss is finite",
        _has_rho,
        "`account` has its exact epsilon, delta and trade-off",
    ),
    "ledger": Requirement(
        "a run in a ledger",
        "noise whose loss is finite",
        _has_rho,
        "`account` has its exact epsilon and delta, and `sample` draws it",
    ),
    "certificate": Requirement(
        "a certificate", _OLD, _is_on_lattice, "`certified=True` proves single values"
    ),
    "proved trade-off": Requirement(
        "a proof of the trade-off curve", _OLD, _is_on_lattice, "delta and epsilon can be proved"
    ),
    "errors": Requirement(
        "errors of tests at thresholds", _OLD, _is_on_lattice, "`tradeoff` has the best of them"
    ),
    "evidence": Requirement(
        "the risk of single counts and categories",
        "discrete Gaussian, discrete Laplace or power noise",
        lambda noise: noise.has_evidence,
        _RISKS,
    ),
    "posterior": Requirement(
        "the mean of a posterior by the transform of its loss", _OLD, _is_on_lattice, _RISKS
    ),
    "limits on beliefs": Requirement(
        "a limit on beliefs",
        _OLD,
        _is_on_lattice,
        "limits on right decisions, accusations and guesses take other noise",
    ),
    "export": Requirement("a distribution of dp-accounting", _OLD, _is_on_lattice, _CURVES),
    "drawing": Requirement(
        "drawing noise",
        "integer noise with one table or formula",
        lambda noise: noise.is_drawn,
        "discrete noise of the same size is drawn exactly",
    ),
    "margins": Requirement(
        "the accuracy of counts", "noise that is added", lambda noise: noise.is_added, _CURVES
    ),
    "estimates": Requirement(
        "estimation",
        "integer noise that is symmetric, with a positive transform",
        lambda noise: noise.is_estimated,
        "`account` takes every law",
    ),
    "scaling": Requirement(
        "calibration",
        "noise with a variance or scale to change",
        lambda noise: noise.has_size,
        "give tables one by one to `account`",
    ),
    "report": Requirement(
        "a report",
        "noise that a file of the release can state",
        lambda noise: noise.own_way is not None or noise.stated() is not None,
        "`account`, `calibrate` and `risk` take every law",
    ),
    "planning": Requirement(
        "a plan",
        "discrete Gaussian noise",
        lambda noise: noise.precision > 0,
        "with a law it is made for other noise",
    ),
}
"""All questions that not every law answers."""


def supports(question: str, noises: Iterable[Noise]) -> bool:
    """Whether a question that `QUESTIONS` lists can be asked of all of this noise.

    >>> from discreet.noise import DiscreteLaplace, PowerNoise
    >>> supports("errors", [DiscreteLaplace(scale=2)]), supports("errors", [PowerNoise("3/2", 4)])
    (True, False)
    """
    return all(map(QUESTIONS[question].takes, noises))


def require(question: str, noises: Iterable[Noise]) -> None:
    """Refuse noise of which a question cannot be asked, in one sentence.

    >>> from discreet.noise import PowerNoise
    >>> require("comparisons", [PowerNoise("3/2", 4)])
    Traceback (most recent call last):
    discreet.errors.InputError: an Edgeworth expansion needs discrete Gaussian or discrete Laplace noise, \
not power noise of exponent 3/2, scale 4; `account` has its exact epsilon, delta and trade-off
    """
    asked = QUESTIONS[question]
    for noise in noises:
        if not asked.takes(noise):
            raise InputError(f"{asked.asks} needs {asked.needs}, not {noise}; {asked.instead}")
