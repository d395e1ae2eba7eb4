"""The tiny input of `toy-h.toml` as files, and random nations of households with awkward published totals."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Iterable, Sequence
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
TABLES = {
    "T03001": (0,),
    "T03002": (0, 1, 6),
    "T03003": (0, 1, 2, 3, 6, 7, 8),
    "T03004": tuple(range(9)),
    "T04001": (0,),
    "T04002": (0, 1, 2, 3),
}
"""The cells that each table publishes, from the Bureau's program."""

GRF = "TABBLKST|TABBLKCOU|TABTRACTCE|TABBLK|PLACEFP|AIANNHCE"
HOUSEHOLDS = (
    "TABBLKST|TABBLKCOU|TABTRACTCE|TABBLK|HHRACE|"
    + "|".join(f"QRACE{place}" for place in range(1, 9))
    + "|QSPAN|HOUSEHOLD_TYPE|TEN"
)
TOTALS = "REGION_ID|REGION_TYPE|ITERATION_CODE|COUNT"
_ONLY = {"all": "False|False", "totals": "True|False", "below-states": "False|True"}


def toy() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "toy-h.toml").read_text())


def lines(text: str) -> list[str]:
    return text.strip().split("\n")


def config(budget: object = "inf", **changes: object) -> dict[str, Any]:
    """A `config.json`: all budgets the same, small thresholds; AIANNH's leave one table out."""
    number = float("inf") if budget == "inf" else budget
    settings: dict[str, Any] = {"max_race_codes": 8, "allow_negative_counts": True}
    settings |= {"run_us": True, "run_pr": True, "reader": "csv", "privacy_defn": "zcdp"}
    settings["state_filter_us"] = ["01", "02"]
    for table, geography, level in ((t, g, n) for t in (3, 4) for g in GEOGRAPHIES for n in (1, 2)):
        key = f"privacy_budget_h_t{table}_level_{level}_{geography.lower().replace('-', '_')}"
        settings[key] = number
    settings["thresholds_h_t3"] = {
        f"({name}, {level})": [10, 10, 30] if name == "AIANNH" else [[4, 8, 16], [5, 10, 20]][level - 1]
        for name in GEOGRAPHIES
        for level in (1, 2)
    }
    settings["thresholds_h_t4"] = {
        f"({name}, {level})": [5] if name == "AIANNH" else [[8], [10]][level - 1]
        for name in GEOGRAPHIES
        for level in (1, 2)
    }
    settings["privacy_budget_h_t3_level_1_aiannh"] = 0.0
    settings["privacy_budget_h_t4_level_1_place"] = 0.0
    return {**settings, **changes}


def write_params(folder: Path, settings: dict[str, Any], groups: Iterable[str], codes: Iterable[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(settings))
    race = ["ITERATION_CODE|ITERATION_NAME|LEVEL|ALONE|DETAILED_ONLY|COARSE_ONLY"]
    origin = ["ITERATION_CODE|ITERATION_NAME|LEVEL|DETAILED_ONLY|COARSE_ONLY"]
    mapped = ["ITERATION_CODE|RACE_ETH_CODE"]
    for one in groups:
        head, own, name = one.split("; ")
        code, level, kind, shown = head.split()
        only = "Null|Null" if level == "0" else _ONLY[shown]
        if kind == "ethnicity":
            origin.append(f"{code}|{name}|{level}|{only}")
        else:
            race.append(f"{code}|{name}|{level}|{kind == 'alone'}|{only}")
        mapped += [f"{code}|{member}" for member in own.split()]
    named = ["|".join(one.split(" ", 1)) for one in codes]
    files = {
        "race-characteristic-iterations.txt": race,
        "ethnicity-characteristic-iterations.txt": origin,
        "race-and-ethnicity-code-to-iteration.txt": mapped,
        "race-and-ethnicity-codes.txt": ["RACE_ETH_CODE|RACE_ETH_NAME", *named],
    }
    for name, rows in files.items():
        (folder / name).write_text("\n".join(rows) + "\n")


def write_data(folder: Path, blocks: Sequence[str], households: Sequence[str], totals: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "GRF-C.txt").write_text("\n".join([GRF, *blocks]) + "\n")
    (folder / "household-records.txt").write_text("\n".join([HOUSEHOLDS, *households]) + "\n")
    (folder / "pop-group-totals.txt").write_text("\n".join([TOTALS, *totals]) + "\n")


def record(area: str, races: Sequence[str], origin: str, kind: str, tenure: str) -> str:
    """A household; `area` is state, county, tract and block with bars between them."""
    codes = [*races, *["Null"] * (8 - len(races))]
    return "|".join([area, "01", *codes, origin, kind, tenure])


def write_toy(folder: Path, settings: dict[str, Any] | None = None) -> tuple[Path, Path]:
    """Write the toy; return its parameters and its data."""
    found = toy()
    write_params(folder / "params", settings or config(), lines(found["groups"]), lines(found["codes"]))
    households = []
    for one in lines(found["households"]):
        area, races, origin, answers = one.split("; ")
        households.append(record(area.replace(" ", "|"), races.split(), origin, *answers.split()))
    totals = []
    for one in lines(found["totals"]):
        where, groups = one.split(": ")
        geography, region = where.split()
        for group in groups.split():
            code, count = group.split("=")
            totals.append(f"{region}|{geography}|{code}|{count}")
    blocks = [one.replace(" ", "|") for one in lines(found["blocks"])]
    write_data(folder / "data", blocks, households, totals)
    return folder / "params", folder / "data"


def expected() -> dict[str, list[str]]:
    """The rows of every table that the published program made of the toy, sorted."""
    rows: dict[str, list[str]] = {table: [] for table in TABLES}
    for table, text in toy()["expected"].items():
        for one in lines(text):
            where, groups = one.split(": ")
            geography, region = where.split()
            for group in groups.split():
                code, counts = group.split("=")
                for cell, count in zip(TABLES[table], counts.split(","), strict=True):
                    rows[table].append(f"{region}|{geography}|{code}|{cell}|{count}")
    return {table: sorted(found) for table, found in rows.items()}


def written(out: Path) -> dict[str, list[str]]:
    """The rows of an output with the Bureau's columns, sorted; headers are checked."""
    rows = {}
    for table in TABLES:
        folder = out / f"t{table[2]}" / table
        rows[table] = []
        for path in sorted(folder.iterdir()):
            head, *body = path.read_text().splitlines()
            assert head == f"REGION_ID|REGION_TYPE|ITERATION_CODE|T{table[2]}_DATA_CELL|COUNT"
            rows[table] += body
    return {table: sorted(found) for table, found in rows.items()}


def write_nation(folder: Path, seed: int) -> tuple[Path, Path]:
    """Write a random nation of some hundred households; its published totals have every trap of the rules."""
    draw = random.Random(seed)
    codes = [f"{1000 + place}" for place in range(12)]
    origins = [f"{2000 + place}" for place in range(4)]
    groups = ["0001 0 alone all; " + " ".join(codes) + "; everybody alone"]
    for number in range(1, 15):
        own = " ".join(draw.sample(codes, draw.randint(0 if number == 14 else 1, 4)))
        kind, level = draw.choice(["alone", "combination"]), draw.choice([1, 2])
        groups.append(f"{number + 100:04} {level} {kind} {draw.choice(list(_ONLY))}; {own}; group {number}")
    for number in range(1, 4):
        own = " ".join(draw.sample(origins, 2))
        groups.append(
            f"{number + 900:04} {draw.choice([1, 2])} ethnicity {draw.choice(list(_ONLY))}; {own}; origin"
        )
    settings = config(max_race_codes=draw.choice([1, 2, 8]), state_filter_us=["01", "05"])
    for key in draw.sample([key for key in settings if key.startswith("privacy_budget")], 4):
        settings[key] = 0.0
    write_params(folder / "params", settings, groups, [f"{code} code" for code in (*codes, *origins)])
    areas = {
        f"{state}|{draw.choice(['001', '003'])}|{draw.choice(['000100', '000200'])}|{1000 + block}"
        for state in ("01", "05", "06", "72")
        for block in range(12)
    }
    places, tribal = ["10000", "20000", "99999"], ["0010", "0020", "9999"]
    blocks = []
    for area in sorted(areas):
        # an area of its own in a state that is not taken
        aiannh = "9999" if area[:2] == "72" else draw.choice(["0030", "9999"] if area[:2] == "06" else tribal)
        blocks.append(f"{area}|{draw.choice(places)}|{aiannh}")
    households = []
    for _ in range(400):
        # one in forty lives on a block that is not listed
        area = draw.choice(sorted(areas)) if draw.random() < 0.975 else "01|001|000100|9999"
        races = draw.sample(codes, draw.choice([1, 1, 1, 2, 3, 8]))
        if draw.random() < 0.1:
            races = [races[0]] * min(2, len(races)) + races[1:7]
        kind, tenure = draw.choice("12345"), draw.choice("1234")
        households.append(record(area, races[:8], draw.choice(origins), kind, tenure))
    regions = {("USA", "1")}
    for block in blocks:
        state, county, tract, _, place, aiannh = block.split("|")
        pr = "PR-" * (state == "72")
        regions |= {(f"{pr}STATE", state), (f"{pr}COUNTY", state + county)}
        regions |= {(f"{pr}TRACT", state + county + tract), (f"{pr}PLACE", state + place)}
        regions |= {("AIANNH", aiannh)} if not pr else set()
    # without a block, of a state that is not taken, of no area, of the other pass, of a wrong width
    regions |= {("COUNTY", "01999"), ("STATE", "05"), ("STATE", "06"), ("AIANNH", "0099"), ("STATE", "72")}
    regions |= {("PR-COUNTY", "72999"), ("PR-COUNTY", "01001"), ("TRACT", "05009000100"), ("PLACE", "01")}
    known = [one.split()[0] for one in groups]
    counts = [-40, -1, 0, 3, 4, 5, 7, 8, 9, 10, 15, 16, 20, 29, 30, 999]
    totals = [
        f"{region}|{geography}|{code}|{draw.choice(counts)}"
        for geography, region in sorted(regions)
        for code in (*known, "7777")
        if draw.random() < 0.6
    ]
    draw.shuffle(totals)
    write_data(folder / "data", blocks, households, totals)
    return folder / "params", folder / "data"
