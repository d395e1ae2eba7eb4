"""What SafeTab-P tabulates, as its publications say it: tests compare its specification with this."""

from __future__ import annotations

from functools import partial

from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.parts import GroupArrays
from discreet.census.safetab.specification import safetab_p

GEOGRAPHIES = (
    *("USA", "STATE", "COUNTY", "TRACT", "PLACE", "AIANNH"),
    *("PR-STATE", "PR-COUNTY", "PR-TRACT", "PR-PLACE"),
)
BELOW_STATE = frozenset(GEOGRAPHIES) - {"USA", "STATE", "PR-STATE"}
ORDER = ("STATE", "COUNTY", "TRACT", "PLACE", "AIANNH")
LEVELS = (1, 2)
STATES = tuple(f"{code:02}" for code in range(1, 57) if code not in (3, 7, 14, 43, 52))
BLOCK_COLUMNS = ("TABBLKST", "TABBLKCOU", "TABTRACTCE", "TABBLK")
RACE_COLUMNS = tuple(f"QRACE{place}" for place in range(1, 9))
TABLES = ("T01001", "T02001", "T02002", "T02003")
CELLS = (1, 8, 18, 46)

_STARTS = (
    (0, 18, 45, 65),
    (0, 5, 18, 25, 35, 45, 55, 65, 75),
    (0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85),
)
RANGES = tuple(
    tuple(zip(starts, (*(start - 1 for start in starts[1:]), 115), strict=True)) for starts in _STARTS
)
"""First and last age of each range, by table."""

LADDER = safetab_p().ladder(2)
part_of = partial(GroupArrays.of, LADDER)
groups_of_safetab = partial(Specification, tabulation=safetab_p())


def table_cell(table: int, sex: int, fine: int) -> int:
    """The cell of a table that people of a sex (1 or 2) and one of the finest ages are in."""
    starts = _STARTS[table - 1]
    age = max(place for place, start in enumerate(starts) if start <= _STARTS[-1][fine])
    return (sex - 1) * len(starts) + age
