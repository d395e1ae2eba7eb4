"""The age ranges of the tables: 4, 9 and 23 of them, each set finer than the one before, up to 115."""

from __future__ import annotations

TOP_AGE = 115

_STARTS = (
    (0, 18, 45, 65),
    (0, 5, 18, 25, 35, 45, 55, 65, 75),
    (0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85),
)


def _ranges(starts: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(starts, (*(start - 1 for start in starts[1:]), TOP_AGE), strict=True))


RANGES = tuple(_ranges(starts) for starts in _STARTS)
"""First and last age of each range, for T02001, T02002 and T02003."""

COARSER = tuple(
    tuple(max(i for i, start in enumerate(starts) if start <= fine) for fine in _STARTS[-1])
    for starts in _STARTS
)
"""For each table, which of its ranges holds each of the 23 finest ones."""
