"""Names of levels: codes as people write them, and which level a text means."""

from __future__ import annotations

import re
from collections.abc import Sequence

_READABLE = {
    "Prim": "Primitive geography",
    "PEPG": "Primitive geography",
    "USA": "US",
    "STATE": "State",
    "COUNTY": "County",
    "TRACT": "Tract",
    "PLACE": "Place",
    "PR-STATE": "Puerto Rico",
    "PR-COUNTY": "Municipio",
    "PR-TRACT": "Tract",
    "PR-PLACE": "Place",
}
_KINDS = ("Block", "Group", "Subset", "Tract")  # in names of levels; other capitals are names themselves


def level_name(text: str) -> str:
    """Write the name of a level as people do; a name that is not a plain code stays as it is.

    >>> [level_name(name) for name in ("Tract_Subset_Group", "US", "State+County", "STATE, detailed", "Prim")]
    ['Tract subset group', 'US', 'State + County', 'State, detailed', 'Primitive geography']
    >>> [level_name(name) for name in ("Optimized Block Group", "PR_COUNTY, regional", "New York")]
    ['Optimized block group', 'Municipio, regional', 'New York']
    """
    if not re.fullmatch(r"[A-Za-z_+, *-]+", text):
        return text
    return " + ".join(_run_name(run) for run in text.split("+"))


def find_level(text: str, names: Sequence[str]) -> str | None:
    """Return which of these levels a text means, as a code or as people write it; None if not exactly one.

    >>> [find_level(text, ["US", "Block_Group"]) for text in ("Block_Group", "block group", "Block")]
    ['Block_Group', 'Block_Group', None]
    """
    if text in names:
        return text
    wanted = level_name(text.strip()).casefold()
    matches = [name for name in names if wanted == level_name(name).casefold()]
    return matches[0] if len(matches) == 1 else None


def _run_name(run: str) -> str:
    if run in _READABLE:
        return _READABLE[run]
    head, comma, rest = run.partition(", ")
    head = _READABLE.get(head.replace("_", "-"), head)
    is_code = "_" in head
    first, *later = head.replace("_", " ").split(" ")
    later = [word.lower() if word in _KINDS or (is_code and not word.isupper()) else word for word in later]
    return " ".join([first, *later]) + comma + rest
