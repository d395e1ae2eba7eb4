"""The geographies of the tables, by the names they have in the files, and the states.

The United States and Puerto Rico are two passes over disjoint people: state 72 is the second.
"""

from __future__ import annotations

from typing import Literal

US_GEOGRAPHIES = ("USA", "STATE", "COUNTY", "TRACT", "PLACE", "AIANNH")
"""The geographies of the United States, in the order of the files."""

PR_GEOGRAPHIES = ("PR-STATE", "PR-COUNTY", "PR-TRACT", "PR-PLACE")
"""The geographies of Puerto Rico."""

GEOGRAPHIES = US_GEOGRAPHIES + PR_GEOGRAPHIES
"""All geographies."""

BELOW_STATE = frozenset(("COUNTY", "TRACT", "PLACE", "AIANNH", "PR-COUNTY", "PR-TRACT", "PR-PLACE"))
"""Where small groups are suppressed, coarse-only groups are shown and total-only groups are not."""

LEVELS = (1, 2)
"""The levels of iterations that are tabulated; level 0 is in the files and ignored."""

LEVEL_WORDS = {1: "regional", 2: "detailed"}
"""What the levels are called."""

Pass = Literal["US", "PR"]
"""A pass over the people of the United States, or of Puerto Rico."""

PASSES: dict[Pass, tuple[str, ...]] = {"US": US_GEOGRAPHIES, "PR": PR_GEOGRAPHIES}
"""The geographies of each pass."""

PUERTO_RICO = "72"
"""The state code of Puerto Rico."""

STATES = tuple(f"{code:02}" for code in range(1, 57) if code not in (3, 7, 14, 43, 52))
"""The codes of the fifty states and the District of Columbia."""
