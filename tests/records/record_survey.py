"""A survey as people have it: semicolons, Latin-1, German names and codes, missing values, lost zeros."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

AREAS = [f"0{district}{number:03}" for district in (1, 2, 3) for number in range(1, 13)]
RELEASE = """
name = "survey"
neighbours = "bounded"
[attributes]
age = ["0-17", "18-64", "65+", "unknown"]
sex = ["f", "m"]
employed = ["yes", "no"]
[[levels]]
name = "Land"
queries = { "total" = { variance = 2 }, "age * sex" = { variance = 8 } }
[[levels]]
name = "Kreis"
queries = { "age * employed" = { variance = 4 } }
[[levels]]
name = "Gemeinde"
queries = { "age" = { variance = 3 }, "detailed" = { variance = 6 } }
"""
UNITS = "unit,level,parent\nLand,Land,\n" + "".join(f"0{one},Kreis,Land\n" for one in (1, 2, 3))
UNITS += "".join(f"{area},Gemeinde,{area[:2]}\n" for area in AREAS)
INPUT = """
[input]
encoding = "latin-1"
delimiter = ";"
decimal = ","
missing = ["NA", "-9"]
trim = true
[input.columns]
unit = { column = "GEMEINDE", width = 5 }
age = { column = "ALTER", bands = ["0-17", "18-64", "65+"], as = "unknown" }
sex = { column = "GESCHL", codes = { "männlich" = "m", "weiblich" = "f" } }
employed = { column = "BESCHÄFTIGT", codes = { "1" = "yes", "2" = "no" }, missing = ["9"], leave_out = true }
"""
HEADER = ["LFDNR", "GEMEINDE", "ALTER", "GESCHL", "BESCHÄFTIGT", "GEWICHT"]

Row = tuple[int, str, float | None, str, int, float]
"""Number, area, age (None: missing), sex, employed (9: missing), weight."""


def people(rows: int, seed: int = 24) -> list[Row]:
    """Draw records, one in ten aged a half."""
    rng = np.random.default_rng(seed)
    area, age = rng.integers(len(AREAS), size=rows), rng.integers(0, 98, size=rows).astype(float)
    age[rng.random(rows) < 0.1] += 0.5
    gone, sex = rng.random(rows) < 0.05, rng.integers(2, size=rows)
    job, weight = rng.choice([1, 2, 9], size=rows, p=[0.5, 0.45, 0.05]), rng.random(rows) * 3
    return [
        (
            place,
            AREAS[area[place]],
            None if gone[place] else float(age[place]),
            ("männlich", "weiblich")[sex[place]],
            int(job[place]),
            round(float(weight[place]), 3),
        )
        for place in range(rows)
    ]


def due(made: list[Row]) -> Counter[tuple[str, str, str]]:
    """Count records one by one: area, query and cell."""
    found: Counter[tuple[str, str, str]] = Counter()
    for _, area, age, sex, job, _ in made:
        if job == 9:
            continue
        old = "unknown" if age is None else "0-17" if age < 18 else "18-64" if age < 65 else "65+"
        who, works = {"männlich": "m", "weiblich": "f"}[sex], {1: "yes", 2: "no"}[job]
        found["Land", "total", "all"] += 1
        found["Land", "age * sex", f"{old} * {who}"] += 1
        found[area[:2], "age * employed", f"{old} * {works}"] += 1
        found[area, "age", old] += 1
        found[area, "detailed", f"{old} * {who} * {works}"] += 1
    return found


def counted(folder: Path) -> Counter[tuple[str, str, str]]:
    """Read the counts that `tabulate` wrote."""
    with (folder / "counts.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    return Counter({(row["unit"], row["query"], row["cell"]): int(row["count"]) for row in rows})


def written(row: Row, sign: str = ",") -> list[str]:
    """Write a record as a program with German habits does: -9 or nothing for a missing age."""
    number, area, age, sex, job, weight = row
    years = ("-9", "", "NA ")[number % 3] if age is None else f"{age:g}"
    return [
        f"{number}",
        area.lstrip("0"),
        years.replace(".", sign),
        sex,
        f"{job}",
        f"{weight}".replace(".", sign),
    ]


def text(made: list[Row], delimiter: str = ";") -> str:
    """Return the survey as text."""
    stream = io.StringIO()
    lines = csv.writer(stream, delimiter=delimiter, lineterminator="\r\n")
    lines.writerows([HEADER, *map(written, made)])
    return stream.getvalue()


def columns(made: list[Row]) -> dict[str, list[Any]]:
    """Return the survey as typed columns: areas are numbers, missing ages nothing."""
    values = [(n, int(area), age, sex, job, weight) for n, area, age, sex, job, weight in made]
    return dict(zip(HEADER, map(list, zip(*values, strict=True)), strict=True))


def files(folder: Path, rows: int) -> list[Row]:
    """Write the survey, its areas, its release and its `[input]`."""
    made = people(rows)
    (folder / "survey.csv").write_text(text(made), encoding="latin-1", newline="")
    (folder / "units.csv").write_text(UNITS)
    (folder / "release.toml").write_text(RELEASE)
    (folder / "input.toml").write_text(INPUT, encoding="utf-8")
    return made
