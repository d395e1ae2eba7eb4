"""OpenDP: measurements on integers accounted from their maps, and an account as a budget."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any, Literal

from discreet.accounting.account import Account
from discreet.accounting.privacy_loss import PrivacyLoss
from discreet.accounting.zcdp import zcdp_rho
from discreet.errors import DiscreetError, InputError, install_hint
from discreet.interop.promise import Promise
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.numbers import Exact, brief, float_up, read_delta, shown, whole

Law = Literal["gaussian", "laplace"]

_MEASURES: dict[Law, str] = {"gaussian": "ZeroConcentratedDivergence", "laplace": "MaxDivergence"}
_INTEGERS = re.compile(r"(VectorDomain\()?AtomDomain\((bounds=.*, )?T=[iu](8|16|32|64|128|size)\)\)?.*")
_MISSING = f"OpenDP is not installed: {install_hint('opendp')}"


def measurement_promise(measurement: Any, *, d_in: float = 1) -> Promise:
    """Return what the map of a measurement promises to those whose data move its input by `d_in`.

    Any measurement will do whose loss is an epsilon, an epsilon with a delta, or a rho.
    """
    _check(measurement)
    measure = str(measurement.output_measure)
    spent = _spent(measurement, d_in)
    match measure, spent:
        case "MaxDivergence", float():
            return Promise(epsilon=_decimal(spent))
        case "ZeroConcentratedDivergence", float():
            return Promise(rho=_decimal(spent))
        case "Approximate(MaxDivergence)", (epsilon, delta):
            return Promise(epsilon=_decimal(epsilon), delta=_decimal(delta))
        case _:
            raise InputError(
                f"the loss of the measurement is {measure}; it must be MaxDivergence, "
                "Approximate(MaxDivergence) or ZeroConcentratedDivergence; a privacy profile becomes one of "
                "these by make_fix_delta"
            )


def measurement_noise(measurement: Any, *, law: Law, d_in: int = 1) -> Noise:
    """Return the noise that a measurement adds to one whole number, its size taken from the map.

    OpenDP does not tell which noise a measurement adds, so you do: `law` is "gaussian" for `make_gaussian`,
    "laplace" for `make_laplace` or `make_geometric` (with bounds it is an upper bound: what is clamped tells
    less). A person changes the number by `d_in`. Of a vector of numbers d_in must be 1: one of them by one.

    Guarantee. OpenDP rounds the map up, and the size is exactly what the map says, so that the event never
    costs less than a measurement that adds one such noise. That it adds one such noise is your statement,
    and is only tested: the measurement is run 2,000 times on zeros. It must show one whole number for each of
    the input, which a composition does not, and the first of them must spread as the law says, which Laplace
    noise converted to rho does not. Gaussian noise too small to be told from that is refused. What processes
    several draws into numbers that spread alike is not found: for that, `measurement_promise`.
    """
    _check(measurement)
    if law not in _MEASURES:
        raise InputError(f'law is {shown(law)}; it must be "gaussian" or "laplace"')
    changed = whole(d_in, name="d_in")
    domain, metric, measure = (
        str(part) for part in (measurement.input_domain, measurement.input_metric, measurement.output_measure)
    )
    problems = []
    if not _INTEGERS.fullmatch(domain):
        problems.append(f"its input domain is {domain}; it must be of integers, such as AtomDomain(T=i32)")
    elif "Vector" in domain and changed != 1:
        problems.append(f"d_in is {changed}; for a vector it must be 1, that one number changes by one")
    if not metric.startswith(("AbsoluteDistance", "L1Distance", "L2Distance")):
        problems.append(f"its input metric is {metric}; it must be a distance of numbers")
    if measure != _MEASURES[law]:
        problems.append(f"its loss is {measure}; with {law} noise it is {_MEASURES[law]}")
    if problems:
        raise InputError(f"the measurement is not {law} noise on integers: {'; '.join(problems)}")
    spent_on_one = _decimal(_spent(measurement, 1))
    noise = (
        DiscreteLaplace(scale=1 / spent_on_one, sensitivity=changed)
        if law == "laplace"
        else DiscreteGaussian(variance=1 / (2 * spent_on_one), sensitivity=changed)
    )
    if problem := _drawn_problem(measurement, domain, noise):
        raise InputError(f"the measurement is not {law} noise on integers: {problem}; {_INSTEAD}")
    return noise


_DRAWS = 2000
_SIGMAS = 6.5
_INSTEAD = "measurement_promise has what its map promises, whatever it adds"


def _error(variance: float, spread: int) -> float:
    """About the standard error of the mean square of the draws; `spread` is Var X^2 in squared variances."""
    return math.sqrt((spread * variance * variance + variance) / _DRAWS)


def _drawn_problem(measurement: Any, domain: str, noise: Noise) -> str:
    """Say how what a measurement shows of zeros differs from one draw of the noise for each, or nothing."""
    size = re.search(r"size=(\d+)", domain)
    is_vector = domain.startswith("Vector")
    data: object = [0] * (int(size[1]) if size else 1) if is_vector else 0
    squares = []
    for _ in range(_DRAWS):
        shown_now = measurement(data)
        drawn = shown_now if isinstance(data, list) else [shown_now]
        if not isinstance(drawn, list) or (isinstance(data, list) and len(drawn) != len(data)):
            return "it does not show one number for each of its input"
        if not all(type(value) is int for value in drawn):
            return f"it shows {type(drawn[0]).__name__}, not one whole number for each of its input"
        squares.append(float(drawn[0]) ** 2)
    mean, variance = sum(squares) / _DRAWS, noise.true_variance()
    if not noise.precision:  # (what is clamped to bounds spreads less)
        low, high = 0.0, variance + _SIGMAS * _error(variance, 6) + 60 / _DRAWS
    else:
        room = _SIGMAS * _error(variance, 2)
        low, high = variance - room, variance + room + 60 / _DRAWS
        other = DiscreteLaplace(scale=Fraction(math.sqrt(noise.size))).true_variance()  # of the same rho
        if other - 3 * _error(other, 6) <= high:
            return f"{_DRAWS} draws do not tell noise of variance {brief(variance, 4)} from Laplace noise"
    if not low <= mean <= high:
        return f"its draws have a mean square of {brief(mean, 4)}, and such noise {brief(variance, 4)}"
    return ""


def to_privacy_loss(found: Account | PrivacyLoss, *, delta: Exact | None = None) -> Any:
    """Return what an account spends as OpenDP writes budgets: `(measure, loss)`, for `Context.compositor`.

    With a `delta`, the exact epsilon there, rounded up; without one zCDP's rho.
    """
    try:
        from opendp.context import loss_of
    except ImportError:
        raise DiscreetError(_MISSING) from None
    if delta is None:
        rho = found.rho if isinstance(found, Account) else zcdp_rho(found.events)
        return loss_of(rho=float_up(rho))
    at = float(read_delta(delta))
    value = found.epsilon(delta=Fraction(at))
    return loss_of(epsilon=math.nextafter(max(value + value.accuracy, 0.0), math.inf), delta=at)


def _check(measurement: Any) -> None:
    try:
        from opendp.mod import Measurement
    except ImportError:
        raise DiscreetError(_MISSING) from None
    if not isinstance(measurement, Measurement):
        raise InputError(f"measurement is a {type(measurement).__name__}; it must be OpenDP's Measurement")


def _spent(measurement: Any, d_in: float) -> Any:
    """What the map gives; a metric of floats takes no whole number."""
    return measurement.map(float(d_in) if re.search("f32|f64", str(measurement.input_metric)) else d_in)


def _decimal(value: float) -> Fraction:
    """A float of a map as it prints."""
    if not 0 < value < math.inf:
        raise InputError(
            f"the map of the measurement gives {value}; a promise needs a finite loss above zero"
        )
    return Fraction(repr(value))
