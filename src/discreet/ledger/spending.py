"""What a release spends, exactly: its rho of zCDP, and its epsilon if all of its noise gives pure privacy."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting.zcdp import zcdp_rho
from discreet.budget import Neighbours, Release
from discreet.budget.neighbours import records_apart
from discreet.noise import Noise
from discreet.noise.capabilities import require


def spent(release: Release, neighbours: Neighbours | None = None) -> Fraction:
    """Return the rho that the release spends, under the neighbours it was calibrated for or others.

    Guarantee. The release is rho-zCDP for the relation asked for: discrete Gaussian noise of variance v and
    sensitivity s is s^2 / (2 v)-zCDP (Canonne, Kamath, Steinke 2020), Laplace noise and randomised response
    are as docs/explanation/laws.md proves, rhos add up, and the worst path counts (with bounded neighbours,
    the worst pair of paths).

    >>> from discreet.budget import Level, Query
    >>> state = Level(name="State", queries=[Query(name="total", variance=4)])
    >>> small = Release(name="small", neighbours="bounded", levels=[state])
    >>> spent(small), spent(small, "unbounded")
    (Fraction(1, 4), Fraction(1, 8))
    """
    sides = records_apart(release.neighbours if neighbours is None else neighbours)
    require("ledger", (event for path in release.paths for event in release.path_events(path)))
    return sides * max(zcdp_rho(events) for events in map(release.path_events, release.paths))


def most_charged(release: Release) -> Fraction:
    """Return the most that versions before 0.3 charged for the release, in rho under its own neighbours.

    They took epsilon^2 / 2 for Laplace noise of that epsilon, and for tables and powers a bound that was at
    most 2e-5 above the least rho, and rounded up to nine decimals.

    >>> from discreet.budget import Level, Query
    >>> state = Level(name="State", queries=[Query(name="total", scale=2)])
    >>> small = Release(name="small", neighbours="unbounded", levels=[state])
    >>> most_charged(small), float(spent(small))
    (Fraction(1, 8), 0.122459331201855)
    """
    worst = max(sum(map(_charged, release.path_events(path)), Fraction(0)) for path in release.paths)
    return records_apart(release.neighbours) * worst


def _charged(event: Noise) -> Fraction:
    rho = zcdp_rho([event])
    if event.proved_cost is not None:
        return event.proved_cost.rho
    return rho * (1 + Fraction(2, 10**5)) + Fraction(event.times, 10**9)


def spent_epsilon(release: Release, neighbours: Neighbours | None = None) -> Fraction | None:
    """Return the epsilon of pure differential privacy that the release spends; None if it has none.

    Only Laplace noise gives pure privacy. Epsilons add up along the worst path, twice for a person who is
    replaced.

    >>> from discreet.budget import Level, Query
    >>> state = Level(name="State", queries=[Query(name="total", scale=4), Query(name="sex", scale=2)])
    >>> spent_epsilon(Release(name="small", neighbours="unbounded", levels=[state]))
    Fraction(3, 4)
    """
    sides, worst = records_apart(release.neighbours if neighbours is None else neighbours), Fraction(0)
    for events in map(release.path_events, release.paths):
        costs = [event.times * event.largest for event in events if event.largest is not None]
        if len(costs) < len(events):
            return None
        worst = max(worst, sum(costs, Fraction(0)))
    return sides * worst
