"""Small folders of parameters for the tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

GEOGRAPHIES = (
    "USA",
    "STATE",
    "COUNTY",
    "TRACT",
    "PLACE",
    "AIANNH",
    "PR-STATE",
    "PR-COUNTY",
    "PR-TRACT",
    "PR-PLACE",
)

_CODES = ["RACE_ETH_CODE|RACE_ETH_NAME", "1000|Northern", "1001|Southern", "2000|Island"]
_RACES = [
    "ITERATION_CODE|ITERATION_NAME|LEVEL|ALONE|DETAILED_ONLY|COARSE_ONLY",
    "10|Any alone|0|True|Null|Null",
    "11|Northern alone|2|True|False|False",
    "12|Southern alone|2|True|True|False",
    "21|Northern in combination|2|False|False|False",
    "22|Southern in combination|2|False|True|False",
]
_ETHNICITIES = [
    "ITERATION_CODE|ITERATION_NAME|LEVEL|DETAILED_ONLY|COARSE_ONLY",
    "31|Islander|2|False|False",
    "32|Islands, other|2|False|True",
]
_PAIRS = ["10|1000", "10|1001", "11|1000", "12|1001", "21|1000", "22|1001", "31|2000", "32|2000"]
FILES = {
    f"{name}.txt": "".join(f"{line}\n" for line in lines)
    for name, lines in (
        ("race-and-ethnicity-codes", _CODES),
        ("race-characteristic-iterations", _RACES),
        ("ethnicity-characteristic-iterations", _ETHNICITIES),
        ("race-and-ethnicity-code-to-iteration", ["ITERATION_CODE|RACE_ETH_CODE", *_PAIRS]),
    )
}


def config(**changes: Any) -> dict[str, Any]:
    """A configuration in the Bureau's format; a value of ... leaves its key out."""
    budgets = {
        f"privacy_budget_p_level_{level}_{name.lower().replace('-', '_')}": 0.5 if level == 2 else 0
        for name in GEOGRAPHIES
        for level in (1, 2)
    }
    data = {
        "max_race_codes": 8,
        **budgets,
        "privacy_budget_p_stage_1_fraction": 0.1,
        "thresholds_p": {f"({name}, {level})": [10, 20, 30] for name in GEOGRAPHIES for level in (1, 2)},
        "zero_suppression_chance": 0.99,
        "allow_negative_counts": True,
        "run_us": True,
        "run_pr": True,
        "reader": "csv",
        "state_filter_us": ["01", "11"],
        "privacy_defn": "zcdp",
        **changes,
    }
    return {key: value for key, value in data.items() if value is not ...}


def write_params(folder: Path, files: Mapping[str, str | bytes] | None = None, **changes: Any) -> Path:
    """Write a folder of parameters, with other texts for some files and other values of the configuration."""
    texts: dict[str, str | bytes] = {
        "config.json": json.dumps(config(**changes), indent=1),
        **FILES,
        **(files or {}),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder
