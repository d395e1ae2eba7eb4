"""SafeTab-H a second time: household by household in plain Python, from the files and the rules alone.

It shares no code with the package. The rules are those of the Bureau's program, as its manual and its public
configuration state them; `docs/explanation/safetab.md` lists them.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

_T3 = [
    {"0": "12345"},
    {"0": "12345", "1": "123", "6": "45"},
    {"0": "12345", "1": "123", "2": "1", "3": "23", "6": "45", "7": "4", "8": "5"},
    {"0": "12345", "1": "123", "2": "1", "3": "23", "4": "2", "5": "3", "6": "45", "7": "4", "8": "5"},
]
_T4 = [{"0": "1234"}, {"0": "1234", "1": "1", "2": "2", "3": "34"}]
"""The values that each published cell of each table counts."""


def _read(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream, delimiter="|"))


def tabulated(params: Path, data: Path) -> dict[str, list[str]]:
    """Return the rows of every table without noise, sorted, as the Bureau's program would write them."""
    settings = json.loads((params / "config.json").read_text())
    level, kind, shown = {}, {}, {}
    for name in ("race", "ethnicity"):
        for row in _read(params / f"{name}-characteristic-iterations.txt"):
            code = row["ITERATION_CODE"]
            level[code] = row["LEVEL"]
            kind[code] = row.get("ALONE", "ethnicity")
            shown[code] = (row["DETAILED_ONLY"] == "True", row["COARSE_ONLY"] == "True")
    groups_of: dict[str, set[str]] = defaultdict(set)
    for row in _read(params / "race-and-ethnicity-code-to-iteration.txt"):
        groups_of[row["RACE_ETH_CODE"]].add(row["ITERATION_CODE"])
    found: dict[str, list[str]] = {f"T0300{n}": [] for n in (1, 2, 3, 4)} | {"T04001": [], "T04002": []}
    for run, wanted in (("run_us", settings["state_filter_us"]), ("run_pr", ["72"])):
        if settings[run]:
            blocks = [row for row in _read(data / "GRF-C.txt") if row["TABBLKST"] in wanted]
            _one_pass(run, wanted, settings, data, blocks, (level, kind, shown, groups_of), found)
    return {table: sorted(rows) for table, rows in found.items()}


def _one_pass(run, wanted, settings, data, blocks, spec, found):  # type: ignore[no-untyped-def]
    level, kind, shown, groups_of = spec
    where = {tuple(row[name] for name in list(row)[:4]): row for row in blocks}
    counts: dict[tuple[str, str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in _read(data / "household-records.txt"):
        block = where.get((row["TABBLKST"], row["TABBLKCOU"], row["TABTRACTCE"], row["TABBLK"]))
        if block is None:
            continue
        races = [row[f"QRACE{n}"] for n in range(1, settings["max_race_codes"] + 1)]
        sets = [groups_of[code] for code in races if code != "Null"]
        mine = {code for code in set.intersection(*sets) if kind[code] == "True"}
        mine |= {code for code in set.union(*sets) if kind[code] == "False"}
        mine |= {code for code in groups_of[row["QSPAN"]] if kind[code] == "ethnicity"}
        for region in _regions(run, block):
            for code in mine:
                counts[(*region, code)][f"type {row['HOUSEHOLD_TYPE']}"] += 1
                counts[(*region, code)][f"ten {row['TEN']}"] += 1
    tribal = {row["AIANNHCE"] for row in blocks}
    for row in _read(data / "pop-group-totals.txt"):
        region, geography, code = row["REGION_ID"], row["REGION_TYPE"], row["ITERATION_CODE"]
        if (geography.startswith("PR-")) != (run == "run_pr") or level.get(code) not in ("1", "2"):
            continue
        if geography == "AIANNH":
            if region not in tribal:
                continue
        elif geography != "USA" and not region.startswith(tuple(wanted)):
            continue
        above = geography in ("USA", "STATE", "PR-STATE")
        if shown[code][1 if above else 0]:
            continue
        total, here = int(row["COUNT"]), counts[geography, region, code]
        for table, prefix, tables in (("3", "type", _T3), ("4", "ten", _T4)):
            key = geography.lower().replace("-", "_")
            if settings[f"privacy_budget_h_t{table}_level_{level[code]}_{key}"] == 0:
                continue
            rung = 0
            for step in settings[f"thresholds_h_t{table}"][f"({geography}, {level[code]})"]:
                rung += step <= total
            for cell, values in tables[rung].items():
                number = sum(here[f"{prefix} {value}"] for value in values)
                found[f"T0{table}00{rung + 1}"].append(f"{region}|{geography}|{code}|{cell}|{number}")


def _regions(run, block):  # type: ignore[no-untyped-def]
    state, county, tract = block["TABBLKST"], block["TABBLKCOU"], block["TABTRACTCE"]
    pr = "PR-" if run == "run_pr" else ""
    found = [(f"{pr}STATE", state), (f"{pr}COUNTY", state + county), (f"{pr}TRACT", state + county + tract)]
    if block["PLACEFP"] != "99999":
        found.append((f"{pr}PLACE", state + block["PLACEFP"]))
    if not pr:
        found.append(("USA", "1"))
        if block["AIANNHCE"] != "9999":
            found.append(("AIANNH", block["AIANNHCE"]))
    return found
