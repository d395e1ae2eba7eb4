"""The tiny input of `toy.toml` as files, and the folder of 2020, made once for a run of the tests."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from safetab_brute import GRF_HEADER, PERSON_HEADER
from safetab_facts import GEOGRAPHIES, groups_of_safetab

from discreet.census.mechanism.groups import Iteration, Specification
from discreet.census.safetab.census2020 import write_parameters
from discreet.census.safetab.specification import write_specification

_PLACE = Path(tempfile.mkdtemp(prefix="discreet-tests-"))
atexit.register(shutil.rmtree, _PLACE, ignore_errors=True)
DATA, TOY, SPEC_2020 = _PLACE / "toy", _PLACE / "toy" / "params", _PLACE / "2020"
"""The toy's data, its parameters, and the parameters of 2020."""

_SHOWN = {"all": (False, False), "totals": (True, False), "below-states": (False, True)}
_AGES = {  # lower ends; the top is 115
    4: (0, 18, 45, 65),
    9: (0, 5, 18, 25, 35, 45, 55, 65, 75),
    23: (0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85),
}


def toy() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "toy.toml").read_text())


def published() -> dict[str, list[str]]:
    """The lines of both tables that the published program made of the toy."""
    found = toy()
    tables = {
        "t1": ["REGION_ID|REGION_TYPE|ITERATION_CODE|COUNT"],
        "t2": ["REGION_ID|REGION_TYPE|ITERATION_CODE|AGESTART|AGEEND|SEX|COUNT"],
    }
    for geography, regions in found["expected"].items():
        for region, groups in regions.items():
            for group in groups.split():
                code, count = group.split(":")
                tables["t1"].append(f"{region}|{geography}|{code}|{count}")
    for where, cells in found["cells"].items():
        for sex, counts in enumerate(cells.split("; "), 1):
            by_age = [int(count) for count in counts.split()]
            lows = _AGES[len(by_age)]
            start = "|".join(where.split())
            tables["t2"].append(f"{start}|*|*|{sex}|{sum(by_age)}")
            for low, high, count in zip(lows, (*(low - 1 for low in lows[1:]), 115), by_age, strict=True):
                tables["t2"].append(f"{start}|{low}|{high}|{sex}|{count}")
    return tables


def specification() -> Specification:
    found = toy()
    mapped: dict[str, list[str]] = {code: [] for code in found["codes"]}
    iterations = []
    for group in found["groups"]:
        head, codes, name = group.split("; ")
        number, level, kind, shown = head.split()
        total, coarse = _SHOWN[shown]
        iterations.append(
            Iteration(
                code=number, name=name, level=int(level), kind=kind, total_only=total, coarse_only=coarse
            )
        )
        for code in codes.split():
            mapped[code].append(number)
    return groups_of_safetab(
        iterations=tuple(iterations),
        codes=found["codes"],
        mapped={code: tuple(groups) for code, groups in mapped.items()},
    )


def configuration() -> dict[str, Any]:
    """Every budget infinite, tables by sex and age from 1, 2 and 3 people on."""
    names = [(name, level) for name in GEOGRAPHIES for level in (1, 2)]
    budgets = {
        f"privacy_budget_p_level_{level}_{name.lower().replace('-', '_')}": float("inf")
        for name, level in names
    }
    return {
        "max_race_codes": 8,
        **budgets,
        "privacy_budget_p_stage_1_fraction": 0.1,
        "thresholds_p": {f"({name}, {level})": [1, 2, 3] for name, level in names},
        "zero_suppression_chance": 0.5,
        "allow_negative_counts": True,
        "run_us": True,
        "run_pr": True,
        "reader": "csv",
        "state_filter_us": ["01", "02", "11"],
        "privacy_defn": "zcdp",
    }


def _write() -> None:
    found = toy()
    TOY.mkdir(parents=True)
    write_specification(specification(), TOY)
    (TOY / "config.json").write_text(json.dumps(configuration(), indent=1))
    people = []
    for person in found["people"]:
        head, races, origin = person.split("; ")
        age, sex, *block, race = head.split()
        people.append([age, sex, "True", *block, race, *[*races.split(), *["Null"] * 8][:8], origin])
    for name, header, rows in (
        ("GRF-C.txt", GRF_HEADER, [block.split() for block in found["blocks"]]),
        ("person-records.txt", PERSON_HEADER, people),
    ):
        (DATA / name).write_text("".join("|".join(row) + "\n" for row in (header, *rows)))
    write_parameters(SPEC_2020)


_write()
