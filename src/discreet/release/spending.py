"""What a release spends, exactly: its rho of zCDP, and its epsilon if all of its noise gives pure privacy."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting.comparisons.zcdp import zcdp_rho
from discreet.budget import Neighbours, Release
from discreet.noise.surfaces import require


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
    require("ledger", (event for path in release.paths for event in release.path_events(path)))
    worst = max(
        # twice the rho of each event under unbounded neighbours; for Laplace noise its bound
        2 * zcdp_rho(events)
        for events in map(release.path_events, release.paths)
    )
    return worst if relation == "bounded" else worst / 2


def spent_epsilon(release: Release, neighbours: Neighbours | None = None) -> Fraction | None:
    """Return the epsilon of pure differential privacy that the release spends; None if it has none.

    Only Laplace noise gives pure privacy. Epsilons add up along the worst path, twice for a person who is
    replaced.

    >>> from discreet.budget import Level, Query
    >>> state = Level(name="State", queries=[Query(name="total", scale=4), Query(name="sex", scale=2)])
    >>> spent_epsilon(Release(name="small", neighbours="unbounded", levels=[state]))
    Fraction(3, 4)
    """
    worst = Fraction(0)
    for events in map(release.path_events, release.paths):
        costs = [event.times * event.largest for event in events if event.largest is not None]
        if len(costs) < len(events):
            return None
        worst = max(worst, sum(costs, Fraction(0)))
    return 2 * worst if (neighbours or release.neighbours) == "bounded" else worst
