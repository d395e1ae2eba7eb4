"""The curves of releases as pictures and tables: delta against epsilon, and misses against false alarms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.accounting.account import Account
from discreet.answers.answer import AnswerTable, Column
from discreet.answers.figure import (
    QUIET,
    Axis,
    Dots,
    Item,
    Line,
    Notation,
    Panel,
    Picture,
    Points,
    Weight,
    points,
)
from discreet.comparisons.costs import usual_zcdp
from discreet.comparisons.curve import Comparison
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.sampling import (
    Profile,
    Sampled,
    TradeOffCurve,
    curve_alphas,
    sample_profile,
    sample_tradeoff,
    sampled,
)
from discreet.comparisons.zcdp import ZCDP, TightZCDP

_DEEPEST = 1e-21
"""The smallest delta of a picture."""
FALSE_ALARMS, MISSES = "false alarms (type I error)", "misses (type II error)"

Drawn = tuple[Comparison | Sampled, Line]
"""A curve, and a line without points that says how it is drawn."""


def account_picture(drawn: Sampled, *, title: str = "") -> Picture:
    """Return the picture of one release: its exact curves, and how zCDP bounds them.

    >>> from discreet.comparisons.costs import zcdp_of
    >>> from discreet.accounting.account import account
    >>> from discreet.comparisons.sampling import sampled
    >>> from discreet.budget import load
    >>> one = account(load("dhc-2022-08-25"))
    >>> [line.label for line in account_picture(sampled(one, zcdp_of(one))).panels[0].items]
    ['exact', 'zCDP (profile: Bun and Steinke)', 'zCDP, tighter profile']
    """
    lines: list[Drawn] = [
        (drawn, Line((), drawn.label, 0, Weight.HEAVY)),
    ]
    if drawn.zcdp is not None:
        lines += [
            (drawn.zcdp, Line((), "zCDP (profile: Bun and Steinke)", 1)),
            (TightZCDP.from_rho(drawn.zcdp.rho), Line((), "zCDP, tighter profile", QUIET)),
        ]
    return Picture(_curve_panels(lines), _short(title, 90), size=(7.2, 3.7))


def comparison_picture(first: Sampled, second: Sampled) -> Picture:
    """Return the picture of two releases: each exact, and lightly what zCDP says of it.

    >>> from discreet.comparisons.costs import zcdp_of
    >>> from discreet.accounting.account import account
    >>> from discreet.comparisons.sampling import sampled
    >>> from discreet.budget import load
    >>> one = account(load("dhc-2022-08-25"))
    >>> both = comparison_picture(*2 * [sampled(one, zcdp_of(one))])
    >>> [line.label for line in both.panels[1].items][:2]
    ['dhc-2022-08-25, exact', 'dhc-2022-08-25, zCDP']
    """
    lines: list[Drawn] = []
    for curve, colour in ((first, 0), (second, 2)):
        name = _short(curve.name, 40)
        lines.append((curve, Line((), f"{name}, {curve.label}", colour, Weight.HEAVY)))
        if curve.zcdp is not None:
            lines.append((curve.zcdp, Line((), f"{name}, zCDP", colour, Weight.LIGHT)))
    return Picture(_curve_panels(lines), _short(f"{first.name} and {second.name}", 90), size=(7.2, 3.9))


def both_curves(first: Account, second: Account) -> Picture:
    """Return the picture of two accounts, whose curves are sampled first.

    >>> from discreet.accounting.account import account
    >>> one = account("dhc-2022-08-25")
    >>> len(both_curves(one, one).panels[0].items)
    4
    """
    return comparison_picture(*(sampled(account, usual_zcdp(account)) for account in (first, second)))


def decision_picture(
    now: Sampled, gaussian: GaussianDP | None, *, at: tuple[float, float], before: Sampled | None = None
) -> Picture:
    """Return the picture of a release beside the usual bounds, with the point of the decision marked.

    >>> from discreet.comparisons.costs import zcdp_of
    >>> from discreet.accounting.account import account
    >>> from discreet.comparisons.sampling import sampled
    >>> from discreet.budget import load
    >>> one = account(load("dhc-2022-08-25"))
    >>> drawn = decision_picture(sampled(one, zcdp_of(one)), GaussianDP.from_rho(one.rho), at=(20.32, 1e-10))
    >>> [item.label for item in drawn.panels[1].items]
    ['exact', 'zCDP', 'Gaussian DP', 'perfect privacy']
    """
    name = now.label if before is None else f"{now.label}, after"
    curves: list[Comparison | Sampled | None] = [now, now.zcdp, gaussian, *([before] if before else [])]
    looks = curve_lines(name, (), (), (), before=(f"{before.label}, before", ()) if before else None)
    # of infinite losses zCDP and Gaussian DP say nothing
    drawn = [(curve, look) for curve, look in zip(curves, looks, strict=True) if curve is not None]
    return Picture(_curve_panels(drawn, at=at, is_blind_shown=True))


def curve_lines(
    name: str, exact: Points, zcdp: Points, gaussian: Points, *, before: tuple[str, Points] | None = None
) -> tuple[Line, ...]:
    """Return the curve of a release beside the usual bounds, and the one that it had before, with its name.

    >>> [line.label for line in curve_lines("exact", (), (), (), before=("before", ()))]
    ['exact', 'zCDP', 'Gaussian DP', 'before']
    """
    return (
        Line(exact, name, 0, Weight.HEAVY),
        Line(zcdp, "zCDP", 1),
        Line(gaussian, "Gaussian DP", QUIET),
        *([Line(before[1], before[0], 2)] if before else []),
    )


# -- panels --------------------------------------------------------------------------------------------------


def profile_panel(
    lines: Sequence[Line],
    *,
    at: tuple[float, float] | None = None,
    high: float | None = None,
    deepest: float = _DEEPEST,
) -> Panel:
    """Return the panel of delta against epsilon, with one point marked, and epsilon up to `high`.

    >>> panel = profile_panel([Line(points([0, 2], [0.5, 1e-9]), "exact")], at=(1.5, 1e-7), deepest=1e-9)
    >>> panel.y.title, panel.y.ticks[-1], panel.items[-1].points
    ('delta', 1e-09, ((1.5, 1e-07),))
    """
    items: list[Item] = [*lines]
    if at is not None and at[0] > 0 and at[1] >= deepest:
        epsilon, delta = at
        items.append(Line(((0.0, delta), (epsilon, delta), (epsilon, deepest)), "", QUIET, Weight.LIGHT))
        items.append(Dots((at,), is_marked=True))
    last = round(-math.log10(deepest))
    step = max(1, round(last / 7))
    y = Axis(
        "delta",
        low=deepest,
        high=2.0,  # a bound of 1 stays visible
        is_log=True,
        written=Notation.POWER,
        ticks=tuple(float(f"1e-{power}") for power in range(0, last + 1, step)),
    )
    return Panel(Axis("epsilon", 0.0, high), y, tuple(items), "Privacy profile")


def tradeoff_panel(lines: Sequence[Line], *, is_blind_shown: bool = True, is_log: bool = False) -> Panel:
    """Return the panel of misses against false alarms, with what perfect privacy would be; where few are of
    interest on logarithmic scales.

    >>> tradeoff_panel([]).items[0].label, tradeoff_panel([], is_log=True).x.low
    ('perfect privacy', 1e-06)
    """
    blind = Line(((0.0, 1.0), (1.0, 0.0)), "perfect privacy", QUIET, Weight.LIGHT)
    if is_log:
        x = Axis(FALSE_ALARMS, 1e-6, 1.0, is_log=True, written=Notation.POWER)
    else:
        x = Axis(FALSE_ALARMS, 0.0, 1.0, written=Notation.PERCENT, ticks=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    items = (*lines, *([blind] if is_blind_shown and not is_log else []))
    return Panel(x, replace(x, title=MISSES), items, "Trade-off curve")


def _curve_panels(
    lines: Sequence[Drawn], *, at: tuple[float, float] | None = None, is_blind_shown: bool = False
) -> tuple[Panel, Panel]:
    """Return the panels of curves as privacy profiles and as trade-off curves.

    >>> from discreet.comparisons.zcdp import ZCDP
    >>> line, rho = np.array([0.0, 1.0]), ZCDP.from_rho(1)
    >>> one = Sampled("one", Profile(line, line[::-1]), TradeOffCurve(line, line[::-1]), rho)
    >>> [panel.title for panel in _curve_panels([(one, Line((), "exact")), (rho, Line((), "zCDP", 1))])]
    ['Privacy profile', 'Trade-off curve']
    """
    exact = [line for line, _ in lines if isinstance(line, Sampled)]
    left = [replace(line, points=_profile_points(comparison, *exact)) for comparison, line in lines]
    # profiles of one rho differ by their conversion; its trade-off curve is one, and drawn once
    right = [
        replace(line, points=_tradeoff_points(comparison))
        for comparison, line in lines
        if type(comparison) is not TightZCDP
    ]
    return (
        profile_panel(left, at=at, high=_last(*exact)),
        tradeoff_panel(right, is_blind_shown=is_blind_shown),
    )


def _last(*drawn: Sampled) -> float:
    """The epsilon at which a picture of these ends."""
    return max(float(curve.profile.epsilon[-1]) for curve in drawn)


def _profile_points(curve: Comparison | Sampled, *beside: Sampled) -> Points:
    if not isinstance(curve, Sampled):
        profile = sample_profile(curve, np.linspace(0.0, _last(*beside), 200))
    else:
        profile = curve.profile
    return points(profile.epsilon, profile.delta)


def _tradeoff_points(curve: Comparison | Sampled) -> Points:
    trade_off_curve = curve.tradeoff if isinstance(curve, Sampled) else sample_tradeoff(curve, curve_alphas())
    return points(trade_off_curve.alpha, trade_off_curve.beta)


def _short(name: str, most: int) -> str:
    """Cut a name that is too long for a picture.

    >>> _short("dhc-2020", 40), _short("a name that goes on", 10)
    ('dhc-2020', 'a name ...')
    """
    return name if len(name) <= most else name[: most - 3] + "..."


# -- tables --------------------------------------------------------------------------------------------------


def curve_table(curve: Profile | TradeOffCurve, zcdp: ZCDP | None) -> AnswerTable:
    """Return the points of a curve, and what zCDP says there, if it says anything.

    >>> from discreet.comparisons.zcdp import ZCDP
    >>> curve_table(Profile(np.array([3.0]), np.array([0.25])), ZCDP.from_rho(1)).objects
    [{'epsilon': 3.0, 'delta': 0.25, 'zcdp_delta': 0.36787944117144233}]
    """
    if isinstance(curve, Profile):
        keys: tuple[str, ...] = ("epsilon", "delta", "zcdp_delta")
        columns = [curve.epsilon, curve.delta] + ([zcdp.delta(epsilon=curve.epsilon)] if zcdp else [])
    else:
        keys = ("alpha", "f", "zcdp_f")
        columns = [curve.alpha, curve.beta] + ([zcdp.tradeoff(alpha=curve.alpha)] if zcdp else [])
    return AnswerTable(
        tuple(Column(key=key) for key in keys[: len(columns)]),
        tuple(map(tuple, np.column_stack(columns).tolist())),
    )
