"""What a release spends on one record, as an exact rho of zero-concentrated differential privacy.

Sums of rho are what a ledger compares with its totals: they are fractions, so the comparison is exact. The
tighter curve of all runs together comes from the accountant, see `composition`.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.budget import DiscreteGaussian, Event, Neighbours, Release


def spent(release: Release, neighbours: Neighbours | None = None) -> Fraction:
    """Return the rho that the release spends, under the neighbours it was calibrated for or others.

    Guarantee. The release is rho-zCDP for the relation asked for: discrete Gaussian noise of variance v and
    sensitivity s is s^2 / (2 v)-zCDP (Canonne, Kamath, Steinke 2020), epsilon-DP is
    epsilon^2 / 2-zCDP (Bun, Steinke 2016, Proposition 1.4), rhos add up, and the worst path counts (with
    bounded neighbours, the worst pair of paths).

    >>> from discreet.budget import Level, Query
    >>> state = Level(name="State", queries=[Query(name="total", variance=4)])
    >>> small = Release(name="small", neighbours="bounded", levels=[state])
    >>> spent(small), spent(small, "unbounded")
    (Fraction(1, 4), Fraction(1, 8))
    """
    relation = neighbours or release.neighbours
    worst = max(
        sum((_precision(event) for event in release.path_events(path)), Fraction(0)) for path in release.paths
    )
    return worst if relation == "bounded" else worst / 2


def _precision(event: Event) -> Fraction:
    """Twice the rho of an event under unbounded neighbours; for Laplace noise its bound."""
    if isinstance(event, DiscreteGaussian):
        return event.precision
    return event.times * (event.sensitivity / event.scale) ** 2
