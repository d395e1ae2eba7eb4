"""A second tabulator, written person by person from the rules in plain Python, to compare with."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.groups import Specification

GRF_HEADER = ("TABBLKST", "TABBLKCOU", "TABTRACTCE", "TABBLK", "PLACEFP", "AIANNHCE")
PERSON_HEADER = (
    *("QAGE", "QSEX", "HOUSEHOLDER", "TABBLKST", "TABBLKCOU", "TABTRACTCE", "TABBLK", "CENRACE"),
    *(f"QRACE{place}" for place in range(1, 9)),
    "QSPAN",
)
TOPS = (4, 9, 14, 17, 19, 20, 21, 24, 29, 34, 39, 44, 49, 54, 59, 61, 64, 66, 69, 74, 79, 84, 115)
"""The last ages of the 23 ranges, as they stand in the toy's expected output."""

Group = tuple[str, str, str]
Cell = tuple[str, str, str, int, int]


def tabulate(
    blocks: Sequence[Sequence[str]],
    persons: Sequence[Sequence[str]],
    configuration: Configuration,
    specification: Specification,
) -> tuple[Counter[Group], Counter[Cell]]:
    """Count (geography, region, iteration), and the same with sex and age range."""
    areas = {tuple(row[:4]): row for row in blocks}
    totals: Counter[Group] = Counter()
    cells: Counter[Cell] = Counter()
    for row in persons:
        person = dict(zip(PERSON_HEADER, row, strict=True))
        area = areas[tuple(person[name] for name in GRF_HEADER[:4])]
        groups = iterations_of(person, configuration.max_race_codes, specification)
        age = sum(int(person["QAGE"]) > top for top in TOPS)
        for geography, region in regions_of(area, configuration):
            below = geography.removeprefix("PR-") not in ("USA", "STATE")
            for group in groups:
                if (group.total_only and below) or (group.coarse_only and not below):
                    continue
                totals[geography, region, group.code] += 1
                cells[geography, region, group.code, int(person["QSEX"]), age] += 1
    return totals, cells


def iterations_of(person: dict[str, str], most: int, specification: Specification) -> list[Any]:
    """The groups of one person, straight from the rules."""
    by_code = {one.code: one for one in specification.iterations}
    races = [person[f"QRACE{place}"] for place in range(1, most + 1)]
    mapped = [set(specification.mapped[code]) for code in races if code != "Null"]
    shared = set.intersection(*mapped)
    some = set.union(*mapped)
    ethnicities = set(specification.mapped[person["QSPAN"]])
    found = [by_code[code] for code in shared if by_code[code].kind == "alone"]
    found += [by_code[code] for code in some if by_code[code].kind == "combination"]
    found += [by_code[code] for code in ethnicities if by_code[code].kind == "ethnicity"]
    return [one for one in found if one.level > 0]


def regions_of(area: Sequence[str], configuration: Configuration) -> list[tuple[str, str]]:
    state, county, tract, _, place, aiannh = area
    if state == "72":
        if "PR" not in configuration.passes:
            return []
        found = [("PR-STATE", state), ("PR-COUNTY", state + county), ("PR-TRACT", state + county + tract)]
        return found + [("PR-PLACE", state + place)] * (place != "99999")
    if "US" not in configuration.passes or state not in configuration.parts("US"):
        return []
    found = [("USA", "1"), ("STATE", state), ("COUNTY", state + county), ("TRACT", state + county + tract)]
    found += [("PLACE", state + place)] * (place != "99999")
    return found + [("AIANNH", aiannh)] * (aiannh != "9999")


def random_blocks(source: random.Random, count: int) -> list[tuple[str, ...]]:
    found = {}
    for _ in range(count):
        key = (
            source.choice(["01", "02", "11", "04", "72"]),
            source.choice(["001", "003"]),
            source.choice(["000100", "000200"]),
            source.choice(["1000", "1001", "2000"]),
        )
        area = "9999" if key[0] == "72" else source.choice(["9999", "0001", "0002"])
        found[key] = (*key, source.choice(["99999", "22800", "00100"]), area)
    return list(found.values())


def random_person(
    source: random.Random, blocks: Sequence[Sequence[str]], codes: Sequence[str]
) -> tuple[str, ...]:
    races = source.choices(codes, k=source.choice([1, 1, 1, 2, 2, 3, 5, 8]))  # may repeat a code
    races += ["Null"] * (8 - len(races))
    age = source.randrange(116)
    text = source.choice([f"{age}", f"{age:03}"])
    block = source.choice(blocks)[:4]
    return (text, source.choice("12"), "True", *block, "01", *races, source.choice(codes))
