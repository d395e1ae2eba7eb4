"""The pictures of the pages of `make demo` and `make census`: SVG that takes its colours from the page.

Each says in its label what it shows, so that nobody needs to see it.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

Rows = Sequence[Sequence[str]]
HIGH, WIDE = 52, 60
"""How far the rows and the columns of a map are apart."""
CORNERS = [(0, -34), (29, -17), (29, 17), (0, 34), (-29, 17), (-29, -17)]
STEPS = (0, 8, 20, 34, 50)
"""Shades of a map, as parts in 100 of the page's colour."""


def people(right: float, alone: float = 50) -> str:
    """Draw 100 guesses as people: those right with nothing published, those right because of it, the others.

    >>> drawn = people(74.28)
    >>> [drawn.count(f'<g class="{kind}"') for kind in ("alone", "more", "rest")]
    [50, 24, 26]
    """
    parts = []
    for at in range(100):
        kind = "alone" if at < round(alone) else "more" if at < round(right) else "rest"
        x, y = 14 + at % 20 * 28, 10 + at // 20 * 46
        body = f"M{x - 9},{y + 30}v-11a9,9 0 0 1 18,0v11z"
        parts.append(f'<g class="{kind}"><circle cx="{x}" cy="{y}" r="6"/><path d="{body}"/></g>')
    said = (
        f"Of 100 guesses {alone:.0f} are right with nothing published, {right:.0f} with everything published"
    )
    return drawing(560, 228, said, "people", parts) + legend(
        ("alone", "right with nothing published"),
        ("more", "right because of what is published"),
        ("rest", "wrong"),
    )


def area_map(rows: Rows, values: Mapping[str, int], title: str, most: int, named: bool = True) -> str:
    """Draw areas as hexagons, darker where more were counted; an empty name leaves a place free.

    >>> drawn = area_map([["", "Kell"], ["Orb", "Pell"]], {"Kell": 38, "Orb": 9, "Pell": -1}, "After", 38)
    >>> drawn.count("<polygon"), ">−1</text>" in drawn
    (3, True)
    """
    parts = []
    for down, row in enumerate(rows):
        for across, name in enumerate(row):
            if not name:
                continue
            x, y = 32 + (across + down % 2 / 2) * WIDE, 36 + down * HIGH
            corners = " ".join(f"{x + right:g},{y + up}" for right, up in CORNERS)
            shade = shade_of(values[name], most)
            parts.append(f'<polygon class="shade-{shade}" points="{corners}"/>')
            if named:
                parts.append(f'<text class="name" x="{x:g}" y="{y - 6}">{html.escape(name)}</text>')
            number = f"{values[name]:,}".replace("-", "−")
            parts.append(f'<text x="{x:g}" y="{y + (14 if named else 6)}">{number}</text>')
    wide = 8 + WIDE * max(len(row) + down % 2 / 2 for down, row in enumerate(rows))
    said = f"{title}: " + ", ".join(f"{name} {values[name]}" for row in rows for name in row if name)
    picture = drawing(math.ceil(wide), 20 + HIGH * len(rows) + 8, said, "map", parts)
    return f"<div><h3>{html.escape(title)}</h3>{picture}</div>"


def shade_of(value: int, most: int) -> int:
    """Return which shade a value has, of five.

    >>> [shade_of(value, 90) for value in (-3, 0, 1, 45, 90)]
    [0, 0, 1, 2, 4]
    """
    return min(len(STEPS) - 1, max(0, math.ceil(value / most * (len(STEPS) - 1))))


def in_rows(names: Sequence[str]) -> list[list[str]]:
    """Lay out areas without a map of their own, about as wide as high.

    >>> in_rows(["a", "b", "c", "d", "e"])
    [['a', 'b', 'c'], ['d', 'e']]
    """
    wide = math.ceil(math.sqrt(len(names)))
    return [list(names[at : at + wide]) for at in range(0, len(names), wide)]


def intervals(rows: Sequence[tuple[str, float, float, float, float]]) -> str:
    """Draw areas: the name of each, its estimate, both ends of its interval, its true count.

    >>> intervals([("Kell", 33.2, 29, 38, 38), ("Orb", 9.5, 4, 14, 20)]).count('<g class="missed"')
    1
    """
    most = max(max(upper, truth) for _, _, _, upper, truth in rows)
    least = min(min(lower, value) for _, value, lower, _, _ in rows)
    high, parts = 24 * len(rows), []
    for at in range(0, int(most) + 1, 20):
        x = 70 + (at - least) / (most - least) * 470
        parts.append(
            f'<path class="grid" d="M{x:.1f},0V{high}"/><text x="{x:.1f}" y="{high + 18}">{at}</text>'
        )
    for number, (name, value, lower, upper, truth) in enumerate(rows):
        y = 12 + 24 * number
        left, right, middle, true = (
            70 + (one - least) / (most - least) * 470 for one in (lower, upper, value, truth)
        )
        kind = "held" if lower <= truth <= upper else "missed"
        parts.append(
            f'<g class="{kind}"><text class="name" x="60" y="{y + 5}">{html.escape(name)}</text>'
            f'<path class="bar" d="M{left:.1f},{y}H{right:.1f}"/><circle cx="{middle:.1f}" cy="{y}" r="4"/>'
            f'<path class="truth" d="M{true:.1f},{y - 8}v16"/></g>'
        )
    held = sum(lower <= truth <= upper for _, _, lower, upper, truth in rows)
    said = f"Estimates of {len(rows)} areas with 95 % intervals; {held} intervals hold the true count"
    return drawing(560, high + 26, said, "intervals", parts) + legend(
        ("held", "estimate and 95 % interval"), ("missed", "an interval that misses"), ("truth", "true count")
    )


def curves(points: Sequence[tuple[float, float, float]], least: float = 1e-20) -> str:
    """Draw delta for every epsilon, exact and by the zCDP conversion: epsilon, delta, zCDP's delta.

    >>> curves([(8.0, 1e-2, 1e-1), (20.0, 1e-7, 1e-6)]).count("<polyline")
    2
    """
    low, high = min(epsilon for epsilon, _, _ in points), max(epsilon for epsilon, _, _ in points)
    down = -math.log10(least)

    def at(epsilon: float, delta: float) -> str:
        return f"{70 + (epsilon - low) / (high - low) * 470:.1f},{30 - math.log10(delta) / down * 240:.1f}"

    parts = []
    for power in range(0, int(down) + 1, 5):
        y = 30 + power / down * 240
        text = "1" if power == 0 else f"1e-{power}"
        parts.append(
            f'<path class="grid" d="M70,{y}H540"/><text class="name" x="62" y="{y + 5}">{text}</text>'
        )
    for epsilon in range(math.ceil(low / 5) * 5, int(high) + 1, 5):
        x = at(epsilon, 1).partition(",")[0]
        parts.append(f'<text x="{x}" y="292">{epsilon}</text>')
    for kind, column in (("zcdp", 2), ("exact", 1)):
        line = " ".join(at(row[0], row[column]) for row in points if row[column] >= least)
        parts.append(f'<polyline class="{kind}" points="{line}"/>')
    parts.append('<text x="305" y="316">epsilon</text><text class="value" x="0" y="16">delta</text>')
    said = (
        "For every epsilon the delta that holds: the exact curve lies below the curve of the zCDP conversion"
    )
    return drawing(560, 324, said, "curves", parts) + legend(("exact", "exact"), ("zcdp", "zCDP conversion"))


def bars(rows: Sequence[tuple[str, float, float]], unit: str) -> str:
    """Draw one number of each row before and after.

    >>> bars([("State", 4.9995, 4.38558)], "variance").count("<rect")
    2
    """
    most, parts = max(before for _, before, _ in rows), []
    for number, (name, before, after) in enumerate(rows):
        y = 46 * number
        parts.append(f'<text class="name" x="180" y="{y + 26}">{html.escape(name)}</text>')
        for kind, value, top in (("before", before, y + 4), ("after", after, y + 22)):
            wide = value / most * 300
            parts.append(
                f'<rect class="{kind}" x="190" y="{top}" width="{wide:.1f}" height="14"/>'
                f'<text class="value" x="{196 + wide:.1f}" y="{top + 12}">{value:g}</text>'
            )
    said = f"{unit} before and after: " + ", ".join(f"{name} {old:g}, {new:g}" for name, old, new in rows)
    return drawing(560, 46 * len(rows), said, "bars", parts) + legend(
        ("before", f"{unit} before"), ("after", "after")
    )


def drawing(wide: int, high: int, said: str, kind: str, parts: Sequence[str]) -> str:
    """Return an SVG that scales with its place."""
    return (
        f'<svg class="{kind}" viewBox="0 0 {wide} {high}" role="img" aria-label="{html.escape(said)}">'
        f"{''.join(parts)}</svg>"
    )


def legend(*entries: tuple[str, str]) -> str:
    """Return what the kinds of a picture mean."""
    items = "".join(f'<li><i class="{kind}"></i>{html.escape(text)}</li>' for kind, text in entries)
    return f'<ul class="legend">{items}</ul>'
