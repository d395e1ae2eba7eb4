"""Least squares where the noise of every column is known: moments without the noise, and intervals that hold.

Row i has regressors Z_i (a one first) and a response y_i. What is seen is Z_i + u_i and y_i + v_i, with noise
of mean zero, close to normal, independent between rows, whose covariances are known. The score of a row

    psi_i(b) = w_i {(Z_i + u_i) (y_i + v_i - b'(Z_i + u_i)) - cov(u_i, v_i - b'u_i)}

has mean zero at the true b (Fuller 1987, section 3.1), so the sum is solved for b: A b = m, where A and m are
the weighted moments less those of the noise. Since the mean is estimated too, the noise of a row counts
1 - w_i / sum(w) times: with equal weights a sample variance, divided by n - 1, less the noise's variance.

*Variance.* The sandwich A^-1 B A^-1. About the model B is the sum of psi psi' with residuals divided by one
less the leverage: the jackknife's, HC3 without noise. It is a little too large where residuals vary alike,
which the critical value makes up for, and hardly too small where they do not. About the table at hand only
the noise is random, and B follows from its covariances.

*Intervals.* Four things are amended in the usual one:

- Its critical value. With few rows, or rows that weigh much, the sandwich varies. If residuals are normal
  with the variance that the fit gives them, the chance of a statistic above c is, by Craig's formula,
  2/pi times the integral of prod (1 + c^2 k_i / sin^2)^(-1/2) over a quarter turn, k_i being the parts of the
  rows in the sandwich. This is solved for c; large tables have Student's or the normal value. Noise that
  regressor and residual share makes it smaller, by the first term of its expansion.
- Its symmetry. A corrected slope is skew, and its standard error grows with it. Both follow from the known
  noise: third cumulant of the score, and covariance of score and sandwich. Hall's cubic (1992) removes them.
- Its width. The sandwich is computed with estimated slopes, and is too large on average by the product of
  their covariance and that of the moments' noise. Fitted residuals are too small in turn, where they are more
  than noise, so that only the part counts by which they are noise.
- Its existence. Where the regressor's variation less its noise is within z standard errors of zero, every
  interval that covers is unbounded (Gleser and Hwang 1987), and none is given.

All arrays may have leading axes, for many tables at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.areas.tree import Floats
from discreet.estimation.error_laws import normal_quantile

Truths = NDArray[np.bool_]

_NODES = 24
"""Nodes of the integral; it is of a smooth periodic function, so that they suffice for 1e-8."""
_MANY = 200.0
"""Degrees of freedom from which Student's distribution is used instead: it differs by less than 1e-4."""


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """Response, regressors without the one, weights, and the noise: of y, of x, and between x and y."""

    y: Floats
    x: Floats
    weights: Floats
    y_noise: Floats
    x_noise: Floats
    xy_noise: Floats


@dataclass(frozen=True, slots=True)
class CorrectedFit:
    """Coefficients, the intercept first. Where `determined` is false, only the naive ones mean anything.

    They do where the regressors are `distinct`: no column is constant, or a combination of others.
    `strength` is how many standard errors the variation of a regressor without its noise is above zero, given
    the others; of the intercept it is the least of them.
    """

    coefficients: Floats
    naive: Floats
    covariance: Floats
    errors: Floats
    lower: Floats
    upper: Floats
    bounded: Truths
    determined: Truths
    distinct: Truths
    reliability: Floats
    strength: Floats
    residual_variance: Floats
    residual_variance_error: Floats
    """The standard deviation that its estimate has if residuals are nothing but noise."""
    leverage: Floats


def corrected_fit(table: NoisyTable, *, level: float, of_table: bool) -> CorrectedFit:
    """Fit a response to regressors, without the noise of both.

    The slope of a straight line, with a quarter of the variation of x being noise, is 4/3 of the naive one.

    >>> x, ones = np.arange(100.0) % 10, np.ones(100)
    >>> noise = 0.25 * x.var(ddof=1) * np.ones((100, 1, 1))
    >>> table = NoisyTable(3 * x, x[:, None], ones, 0 * ones, noise, np.zeros((100, 1)))
    >>> fit = corrected_fit(table, level=0.95, of_table=False)
    >>> [float(round(value[1], 12)) for value in (fit.naive, fit.coefficients, fit.reliability)]
    [3.0, 4.0, 0.75]
    """
    moments = _Moments.of(table)
    fit = _Solved.of(moments)
    spread = _noise_spread(moments, fit) if of_table else _sandwich(moments, fit)
    covariance = fit.inverse @ spread @ fit.inverse
    back = moments.back()
    coefficients, naive = (_times(back, sums) for sums in (fit.solution, fit.naive))
    for coefficient in (coefficients, naive):
        coefficient[..., 0] += moments.y_centre
    errors, lower, upper, strength = (np.empty(coefficients.shape) for _ in range(4))
    normal = normal_quantile(level)
    for number in range(coefficients.shape[-1]):
        line = _Functional.of(moments, fit, back[..., number, :])
        along = _times(covariance, line.direction)
        variance = (line.direction * along).sum(axis=-1)
        if of_table:  # what the product of two noises adds is there whatever the truth is
            variance = np.maximum(variance, line.least_variance())
            critical = np.full(variance.shape, normal)
        else:
            critical = line.critical_value(1.0 - level)
        third, shared = line.noise_cumulants() if of_table else line.cumulants()
        shared = shared - 2.0 * (line.drift() * along).sum(axis=-1)
        errors[..., number] = np.sqrt(variance)
        # the mean of x, which the intercept is taken at, has noise that makes up for what is added
        added = (covariance * line.moment_noise()).sum(axis=(-1, -2)) if number else 0.0
        added = added * (1.0 if of_table else fit.noise_share(moments))
        width = variance / np.sqrt(np.where(variance > 0, variance + added, 1.0))
        below, above = _unskewed(critical, variance, third, shared)
        lower[..., number] = coefficients[..., number] - above * width
        upper[..., number] = coefficients[..., number] - below * width
        strength[..., number] = line.strength()
    strength[..., 0] = strength[..., 1:].min(axis=-1)
    return CorrectedFit(
        coefficients=coefficients,
        naive=naive,
        covariance=back @ covariance @ np.swapaxes(back, -1, -2),
        errors=errors,
        lower=lower,
        upper=upper,
        bounded=fit.determined[..., None] & (strength > normal),
        determined=fit.determined,
        distinct=fit.distinct,
        reliability=moments.reliability(),
        strength=strength,
        residual_variance=fit.extra * moments.y_scale**2,
        residual_variance_error=fit.extra_error * moments.y_scale**2,
        leverage=fit.leverage.max(axis=-1),
    )


# -- moments and coefficients --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Moments:
    """A table with x and y in units of their standard deviations about their means, and a one before x."""

    y: Floats
    z: Floats
    w: Floats
    y_noise: Floats
    z_noise: Floats
    zy_noise: Floats
    counted: Floats
    """How much of the noise of a row counts: one less its part of all weights."""
    x_centre: Floats
    x_scale: Floats
    y_centre: Floats
    y_scale: Floats

    @classmethod
    def of(cls, table: NoisyTable) -> _Moments:
        w = np.broadcast_to(table.weights, table.y.shape)
        share = w / w.sum(axis=-1, keepdims=True)
        y_centre = (share * table.y).sum(axis=-1)
        x_centre = (share[..., None] * table.x).sum(axis=-2)
        y, x = table.y - y_centre[..., None], table.x - x_centre[..., None, :]
        y_scale = np.sqrt((share * y * y).sum(axis=-1))
        x_scale = np.sqrt((share[..., None] * x * x).sum(axis=-2))
        y_scale, x_scale = np.where(y_scale > 0, y_scale, 1.0), np.where(x_scale > 0, x_scale, 1.0)
        columns = x_scale.shape[-1]
        z = np.ones((*x.shape[:-1], columns + 1))
        z[..., 1:] = x / x_scale[..., None, :]
        both = x_scale[..., None, :, None] * x_scale[..., None, None, :]
        z_noise = np.zeros((*x.shape[:-1], columns + 1, columns + 1))
        z_noise[..., 1:, 1:] = table.x_noise / both
        zy_noise = np.zeros(z.shape)
        zy_noise[..., 1:] = table.xy_noise / (x_scale * y_scale[..., None])[..., None, :]
        y_noise = np.broadcast_to(table.y_noise, y.shape) / (y_scale * y_scale)[..., None]
        scaled = y / y_scale[..., None]
        return cls(
            scaled, z, w, y_noise, z_noise, zy_noise, 1.0 - share, x_centre, x_scale, y_centre, y_scale
        )

    def back(self) -> Floats:
        """The matrix that gives coefficients of the columns as they were, but for the mean of y."""
        size = self.z.shape[-1]
        back = np.zeros((*self.z.shape[:-2], size, size))
        back[..., 0, 0] = self.y_scale
        slopes = self.y_scale[..., None] / self.x_scale
        back[..., 0, 1:] = -slopes * self.x_centre
        for number in range(1, size):
            back[..., number, number] = slopes[..., number - 1]
        return back

    def reliability(self) -> Floats:
        """The part of a regressor's variation that is not noise."""
        seen = (self.w[..., None] * self.z * self.z).sum(axis=-2)
        noise = ((self.w * self.counted)[..., None] * np.diagonal(self.z_noise, axis1=-2, axis2=-1)).sum(-2)
        return np.asarray(1.0 - noise / np.where(seen > 0, seen, 1.0))


@dataclass(frozen=True, slots=True)
class _Solved:
    """Corrected and naive coefficients in the units of `_Moments`, with residuals and their noise."""

    solution: Floats
    naive: Floats
    inverse: Floats
    naive_inverse: Floats
    determined: Truths
    distinct: Truths
    residual: Floats
    residual_noise: Floats
    """The variance of the noise in a residual."""
    shared_noise: Floats
    """The covariance of the noise in a residual with that of each regressor."""
    leverage: Floats
    extra: Floats
    """The variance of residuals beyond their noise, as it is estimated: below zero by chance if none."""
    extra_error: Floats

    def noise_share(self, moments: _Moments) -> Floats:
        """The part of the residuals' variance that is noise."""
        noise = (moments.w * self.residual_noise).sum(axis=-1) / moments.w.sum(axis=-1)
        whole = noise + np.maximum(self.extra, 0.0)
        return np.asarray(np.divide(noise, whole, out=np.zeros_like(whole), where=whole > 0))

    @classmethod
    def of(cls, moments: _Moments) -> _Solved:
        z, w = moments.z, moments.w
        weighted = np.swapaxes(z * w[..., None], -1, -2)
        seen, with_y = weighted @ z, _times(weighted, moments.y)
        counted = w * moments.counted
        corrected = seen - (counted[..., None, None] * moments.z_noise).sum(axis=-3)
        right = with_y - (counted[..., None] * moments.zy_noise).sum(axis=-2)
        (determined, inverse), (distinct, naive_inverse) = (
            _inverse(matrix, w.sum(axis=-1)) for matrix in (corrected, seen)
        )
        solution, naive = _times(inverse, right), _times(naive_inverse, with_y)
        residual = moments.y - _times(z, solution)
        through = (moments.z_noise @ solution[..., None, :, None])[..., 0]
        shared = moments.zy_noise - through
        own = moments.y_noise - ((moments.zy_noise + shared) * solution[..., None, :]).sum(axis=-1)
        leverage = np.clip(w * ((z @ naive_inverse) * z).sum(axis=-1), 0.0, 1.0 - 1e-9)
        rows = z.shape[-2]
        total = (w * (residual * residual - own)).sum(axis=-1) / w.sum(axis=-1)
        extra = total * rows / max(rows - z.shape[-1], 1)
        return cls(
            solution,
            naive,
            inverse,
            naive_inverse,
            determined,
            distinct,
            residual,
            own,
            shared,
            leverage,
            extra,
            np.sqrt(2.0 * ((w * own) ** 2).sum(axis=-1)) / w.sum(axis=-1),
        )


def _inverse(matrix: Floats, total: Floats) -> tuple[Truths, Floats]:
    """Whether a matrix of moments is positive definite, and its inverse if it is.

    In the units of `_Moments` it has the total of the weights in its diagonal, less what is noise.
    """
    definite = np.linalg.eigvalsh(matrix)[..., 0] > 1e-10 * total
    return definite, np.linalg.inv(np.where(definite[..., None, None], matrix, np.eye(matrix.shape[-1])))


def _times(matrix: Floats, vector: Floats) -> Floats:
    return np.asarray((matrix @ vector[..., None])[..., 0])


# -- the spread of the score ---------------------------------------------------------------------------------


def _sandwich(moments: _Moments, fit: _Solved) -> Floats:
    """The sum of squares of the score, each row divided by one less its leverage."""
    score = moments.z * fit.residual[..., None] - moments.counted[..., None] * fit.shared_noise
    score = score * (moments.w / (1.0 - fit.leverage))[..., None]
    return np.asarray(np.swapaxes(score, -1, -2) @ score)


def _noise_spread(moments: _Moments, fit: _Solved) -> Floats:
    """The covariance of the score if only the noise is random, without bias for any truth."""
    z, shared, residual, noise = moments.z, fit.shared_noise, fit.residual, fit.residual_noise
    squares = (moments.w * moments.w)[..., None]
    cross = np.swapaxes(z * squares * residual[..., None], -1, -2) @ shared
    rest = squares * (residual * residual - noise)[..., None]
    return np.asarray(
        np.swapaxes(z * squares * noise[..., None], -1, -2) @ z
        + cross
        + np.swapaxes(cross, -1, -2)
        - np.swapaxes(shared * squares, -1, -2) @ shared
        + (rest[..., None] * moments.z_noise).sum(axis=-3)
    )


# -- one linear function of the coefficients -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Functional:
    """A linear function of the coefficients: its error is the sum of w (h r - t) over the rows.

    h is a regressor with the others taken out, r the residual, and t the covariance of their noises.
    """

    moments: _Moments
    fit: _Solved
    direction: Floats
    turned: Floats
    """The combination of the columns that h is."""
    regressor: Floats
    regressor_noise: Floats
    noise_each: Floats
    """The covariance of the noise of h with that of each column."""
    shared: Floats

    @classmethod
    def of(cls, moments: _Moments, fit: _Solved, direction: Floats) -> _Functional:
        turned = _times(fit.inverse, direction)
        noise_of = (moments.z_noise @ turned[..., None, :, None])[..., 0]
        return cls(
            moments,
            fit,
            direction,
            turned,
            _times(moments.z, turned),
            (noise_of * turned[..., None, :]).sum(axis=-1),
            noise_of,
            _times(fit.shared_noise, turned),
        )

    def least_variance(self) -> Floats:
        both = self.regressor_noise * self.fit.residual_noise + self.shared**2
        return np.asarray((self.moments.w**2 * both).sum(axis=-1))

    def moment_noise(self) -> Floats:
        """The covariance of the moments of h with all regressors, from their noise alone."""
        h, noise, each, z = self.regressor, self.regressor_noise, self.noise_each, self.moments.z
        w2 = self.moments.w**2
        own = ((w2 * (h * h - noise))[..., None, None] * self.moments.z_noise).sum(axis=-3)
        cross = np.swapaxes(z * (w2 * h)[..., None], -1, -2) @ each
        return np.asarray(
            own
            + cross
            + np.swapaxes(cross, -1, -2)
            + np.swapaxes(z * (w2 * noise)[..., None], -1, -2) @ z
            - np.swapaxes(each * w2[..., None], -1, -2) @ each
        )

    def strength(self) -> Floats:
        """How many standard errors the sum of w h^2, less its noise, is above zero."""
        variance = (self.turned * _times(self.moment_noise(), self.turned)).sum(axis=-1)
        value = (self.direction * self.turned).sum(axis=-1)
        with np.errstate(divide="ignore"):
            return np.asarray(value / np.sqrt(np.maximum(variance, 0.0)))

    def drift(self) -> Floats:
        """Half of what the variance of the error loses with each coefficient that it is computed with."""
        w2, h = self.moments.w**2, self.regressor
        each = (w2 * h * h)[..., None] * self.fit.shared_noise
        return np.asarray((each + (w2 * h * self.shared)[..., None] * self.moments.z).sum(axis=-2))

    def cumulants(self) -> tuple[Floats, Floats]:
        """The third cumulant of the error, which is also its covariance with the sandwich."""
        shared = self.shared
        spread = self.fit.residual_noise + np.maximum(self.fit.extra, 0.0)[..., None]
        third = self.moments.w**3 * shared * (6.0 * self.regressor**2 * spread + 2.0 * shared**2)
        skewness = np.asarray(third.sum(axis=-1))
        return skewness, skewness

    def noise_cumulants(self) -> tuple[Floats, Floats]:
        """The third cumulant of the error from noise alone, and its covariance with the variance."""
        h, r, t = self.regressor, self.fit.residual, self.shared
        a, b = self.regressor_noise, self.fit.residual_noise
        mixed = t * (b * h * h + a * r * r)
        third = 6.0 * (h * r * (t * t + a * b) + mixed) - 4.0 * t**3 - 12.0 * t * a * b
        shared = 4.0 * (mixed + a * b * (h * r - t) + t * t * h * r) - 2.0 * t * (a * b + t * t)
        w3 = self.moments.w**3
        return np.asarray((w3 * third).sum(axis=-1)), np.asarray((w3 * shared).sum(axis=-1))

    def critical_value(self, chance: float) -> Floats:
        """What the error in standard errors exceeds with this chance, if residuals are normal."""
        moments, fit = self.moments, self.fit
        z, w = moments.z, moments.w
        variance = fit.residual_noise + np.maximum(fit.extra, 0.0)[..., None]
        # a perfect fit: any variance will do
        variance = np.where((variance > 0).any(axis=-1, keepdims=True), np.maximum(variance, 0.0), 1.0)
        weighted = np.swapaxes(z * (w * w * variance)[..., None], -1, -2)
        estimated = fit.naive_inverse @ (weighted @ z) @ fit.naive_inverse
        left = variance * (1.0 - 2.0 * fit.leverage) + ((z @ estimated) * z).sum(axis=-1)
        parts = (w * self.regressor) ** 2
        whole = (parts * variance).sum(axis=-1, keepdims=True)
        known = whole > 0  # else the regressor is constant
        parts = parts * np.maximum(left, 0.0) / (1.0 - fit.leverage) ** 2 / np.where(known, whole, 1.0)
        normal = _critical_value(np.where(known, parts, 1.0 / parts.shape[-1]), chance)
        # noise that regressor and residual share adds to the fourth moments of the score, which makes the
        # tails of a sum divided by its own root mean square lighter: its fourth cumulant is -2 times theirs
        square = self.shared**2
        seen = self.regressor**2 * variance
        total = (w**2 * (seen + square)).sum(axis=-1)
        fourth = (w**4 * square * (42.0 * seen + 9.0 * square)).sum(axis=-1)
        fourth = fourth / np.where(total > 0, total, 1.0) ** 2
        return np.asarray(normal / (1.0 + fourth * (normal**2 - 3.0) / 12.0))


def _critical_value(parts: Floats, chance: float) -> Floats:
    """Solve P(Z^2 > c^2 sum(k X)) = chance for c, where Z is normal and the X are chi-square of one degree.

    With equal parts the sum is chi-square, and the value Student's.

    >>> from scipy.special import stdtrit
    >>> parts = np.full(12, 1 / 12)
    >>> bool(abs(_critical_value(parts, 0.05) - stdtrit(12, 0.975)) < 1e-8)
    True
    """
    total = parts.sum(axis=-1)
    freedom = total**2 / (parts**2).sum(axis=-1)
    critical_value = np.asarray(scipy.special.stdtrit(freedom, 1.0 - chance / 2.0) / np.sqrt(total))
    flat, start = parts.reshape(-1, parts.shape[-1]), critical_value.reshape(-1)
    few = np.flatnonzero(freedom.reshape(-1) < _MANY)
    if few.size:
        result = start.copy()
        result[few] = _solve(flat[few], np.log(np.minimum(start[few], 50.0)), chance)
        critical_value = result.reshape(critical_value.shape)
    return critical_value


def _solve(parts: Floats, logarithm: Floats, chance: float) -> Floats:
    """Newton's method for the logarithms of chance and critical value, which are nearly linear."""
    angles = (np.arange(_NODES) + 0.5) * (math.pi / 2 / _NODES)
    for _ in range(12):
        square, value, slope = np.exp(2.0 * logarithm), 0.0, 0.0
        for sine in np.sin(angles) ** 2:
            scaled = parts * (square / sine)[:, None]
            here = np.exp(-0.5 * np.log1p(scaled).sum(axis=-1)) / _NODES
            value = value + here
            slope = slope - here * (scaled / (1.0 + scaled)).sum(axis=-1)
        step = (math.log(chance) - np.log(value)) * value / slope
        logarithm = logarithm + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-10:
            break
    return np.asarray(np.exp(logarithm))


def _unskewed(critical: Floats, variance: Floats, third: Floats, shared: Floats) -> tuple[Floats, Floats]:
    """The limits of the error in its standard errors, such that both sides are exceeded equally often.

    Its third cumulant, and its covariance with its variance, are known; to first order
    z = t + (s/2 - g/6) t^2 + g/6 is symmetric, and Hall's cubic that starts so is increasing.
    """
    power = np.where(variance > 0, variance, 1.0) ** 1.5
    skew, with_variance = third / power, shared / power
    bend = with_variance / 2.0 - skew / 6.0
    limits = []
    for side in (-critical, critical):
        straight = side - skew / 6.0
        with np.errstate(divide="ignore", invalid="ignore"):
            curved = (np.cbrt(1.0 + 3.0 * bend * straight) - 1.0) / bend
        limits.append(np.where(np.abs(bend) > 1e-6, curved, straight - bend * straight**2))
    return limits[0], limits[1]
