"""The numbers to decide on: an epsilon and what it claims, beside usual bounds; its worst case and change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from discreet.answers.account import case_text
from discreet.answers.answer import Fact
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style
from discreet.answers.release import only_path, path_text
from discreet.budget import AnswerKind, Claim, Neighbours, Release

_CHANGED = {AnswerKind.EXACT: "The exact epsilon", AnswerKind.BOUND: "The bound on epsilon"}


def epsilon_fact(epsilon: float, claim: Claim, *, stated: AnswerKind, note: str) -> Fact:
    """Return an epsilon of this kind; `stated` is the kind that all of its release has.

    >>> from discreet.budget import load
    >>> claim = load("sdhc-2020").claim
    >>> fact = epsilon_fact(10.94372, claim, stated=AnswerKind.BOUND, note="the only path")
    >>> print(fact.label, fact.value)
    Epsilon 10.9438
    """
    label = "Exact epsilon" if stated is AnswerKind.EXACT else "Epsilon"
    return Fact(label, Claimed.by(claim, epsilon), note)


def epsilon_note(release: Release, neighbours: Neighbours, compared: int | None) -> str:
    """Say what the epsilon of a release claims, and of which cases it is; None were `compared` so far.

    >>> from discreet.budget import load
    >>> epsilon_note(load("dhc-2020"), "bounded", 946), epsilon_note(load("sdhc-2020"), "bounded", 1)
    ('exact, worst of 946 pairs of paths', 'a bound, the only pair of paths')
    """
    which = "the only pair of paths" if neighbours == "bounded" else "the only path"
    if len(release.paths) > 1:
        if compared is None:
            return AnswerKind.MAIN.label
        which = f"worst of {compared:,} {'pairs of paths' if neighbours == 'bounded' else 'paths'}"
    kind = release.claim.kind
    return f"{'a bound' if kind is AnswerKind.BOUND else kind.label}, {which}"


def usual_fact(name: str, usual: float, epsilon: float, stated: AnswerKind) -> Fact:
    """Return the epsilon of a usual method, and how far ours lies from it.

    >>> usual_fact("zCDP", 26.3406, 24.4565, AnswerKind.EXACT).note
    'exact is 1.8841 (7.2 %) less'
    """
    if not math.isfinite(usual):
        return Fact(name, Quantity(usual), "says nothing: losses may be infinite")
    ours = "exact" if stated is AnswerKind.EXACT else "the bound"
    return Fact(name, Quantity(usual), f"{ours} is {_gap_text(epsilon, usual)}")


def _gap_text(value: float, other: float) -> str:
    """Say how far one epsilon lies from another.

    >>> _gap_text(24.4565, 26.3406), _gap_text(2.0, 2.0), _gap_text(24.4564939, 24.4565144)
    ('1.8841 (7.2 %) less', 'the same', '2.0e-05 less')
    """
    if not (math.isfinite(value) and math.isfinite(other)):
        return "the same" if value == other else ("less" if value < other else "more")
    gap = value - other
    if abs(gap) <= 1e-9 * max(abs(value), abs(other), 1e-300):
        return "the same"
    size = Style.PLACES.quantity(abs(gap), 4) if abs(gap) >= 5e-4 else Style.POWER.quantity(abs(gap), 1)
    is_told = other > 0 and abs(gap) >= 0.0005 * other
    share = f" ({Style.PERCENT.quantity(abs(gap) / other)})" if is_told else ""
    return f"{size}{share} {'less' if gap < 0 else 'more'}"


def epsilon_change(kind: AnswerKind, then: float, now: float, *, main_path: bool = False) -> str:
    """Say how an epsilon of this kind has changed.

    >>> print(epsilon_change(AnswerKind.EXACT, 2.0, 1.5))
    The exact epsilon is 1.50000, 0.5000 (25.0 %) less than 2.00000.
    """
    what = _CHANGED.get(kind, "Epsilon as modelled") + (" on the main path" if main_path else "")
    gap, written = _gap_text(now, then), partial(Quantity, rounding=NumberKind.of(kind).rounding)
    if gap == "the same":
        return f"{what} stays {written(now)}."
    return f"{what} is {written(now)}, {gap} than {written(then)}."


def worst_text(release: Release, worst: Sequence[int]) -> str:
    """Say which path or pair of paths is the worst, and what it merges.

    >>> from discreet.budget import load
    >>> print(worst_text(load("dhc-2020"), (6, 6))[:60])
    Worst pair of paths (6, 6). Path 6: US, State + County + Pri
    """
    if len(release.paths) == 1:
        return only_path(release)
    kind = "pair of paths" if len(worst) == 2 else "path"
    paths = "; ".join(f"path {number}: {path_text(release, number)}" for number in sorted(set(worst)))
    return f"Worst {kind} {case_text(tuple(worst))}. {paths[0].upper()}{paths[1:]}."


def curve_name(kind: AnswerKind, *, paths: int, least: bool = False) -> str:
    """Name the curve of a release as what it is; one of rates of misses is a bound from below, at `least`.

    >>> [curve_name(kind, paths=1) for kind in AnswerKind], curve_name(AnswerKind.EXACT, paths=13)
    (['Exact', 'At most', 'As modelled', 'Main path only'], 'Main path')
    """
    if paths > 1:
        return "Main path"
    return "At least" if least and kind is AnswerKind.BOUND else kind.label.capitalize()
