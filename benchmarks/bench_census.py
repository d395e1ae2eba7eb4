"""The whole census, rehearsed at several sizes: processor seconds, memory and disk by product, and a line.

Run `python -m benchmarks.bench_census [PEOPLE...]`; by default 10,000, 100,000, and PEOPLE of the environment
or 1,000,000. Each size is a run of `docs/make_census.py`. What grows with areas instead of people (the DHC of
persons and households, in a part of the nation) is run at the first size only. The folders under out/ are
kept, so that a benchmark that was stopped goes on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
SIZES = (10_000, 100_000, int(os.environ.get("PEOPLE", "1000000")))
NATION = 331_449_281
"""People of the United States in 2020."""
Noted = Mapping[str, Any]


def steps() -> list[dict[str, Any]]:
    """Return the steps of a rehearsal."""
    text = (ROOT / "docs" / "demo" / "census.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["steps"]
    return found


def rows(sizes: Sequence[int] = SIZES, place: Path = ROOT / "out") -> list[Noted]:
    """Rehearse each size, and return what was noted."""
    by_areas = [step["name"] for step in steps() if step.get("scale") == "areas"]
    found = []
    for people in sorted(set(sizes)):
        out = place / f"census-{people}"
        skip = ["--skip", "account", "risk", *by_areas] if found else []
        script = ROOT / "docs" / "make_census.py"
        subprocess.run([sys.executable, str(script), str(out), str(people), *skip], check=True)
        found.append(json.loads((out / "steps.json").read_text(encoding="utf-8")))
    return found


def used(noted: Noted, name: str) -> tuple[float, float, float] | None:
    """Return processor seconds, bytes of memory and of disk of a step, if it was run."""
    if name not in noted["done"]:
        return None
    runs = noted["done"][name]["runs"]
    return (
        sum(run["processor"] for run in runs),
        max(run["memory"] for run in runs),
        noted["done"][name]["disk"],
    )


def line(found: Sequence[Noted], name: str) -> tuple[float, float] | None:
    """Return the line through the processor seconds of a step: at none, and for each million people."""
    points = [
        (noted["nation"]["people"] / 1e6, one[0]) for noted in found if (one := used(noted, name)) is not None
    ]
    if len(points) < 2:
        return None
    slope, first = np.polyfit(*np.array(points).T, 1)
    return float(first), float(slope)


def markdown(found: Sequence[Noted]) -> str:
    """Return a table of steps by size, and the line to the nation."""
    sizes = [noted["nation"]["people"] for noted in found]
    load = max(run["load"] for noted in found for done in noted["done"].values() for run in done["runs"])
    heads = [f"{people:,} people" for people in sizes]
    lines = [
        f"Processor seconds, peak memory of the largest process, and disk; load at most {load:.0f} on "
        f"{os.cpu_count()} processors. The DHC of persons and households is that of one block group with all "
        "areas above it, whatever the number of people.",
        "",
        f"| step | {' | '.join(heads)} | seconds for each further million | 331 million, *extrapolated* |",
        "| --- |" + " --- |" * len(sizes) + " ---: | ---: |",
    ]
    hours = 0.0
    for step in steps():
        cells = []
        for noted in found:
            one = used(noted, step["name"])
            cells.append(f"{one[0]:.1f} s, {one[1] / 1e9:.2f} GB, {one[2] / 1e6:,.1f} MB" if one else "")
        fitted = line(found, step["name"]) if step.get("scale") == "people" else None
        if fitted:
            whole = (fitted[0] + fitted[1] * NATION / 1e6) / 3600
            hours += whole
        more = [f"{fitted[1]:.1f}", f"{whole:.1f} h"] if fitted else ["", ""]
        if any(cells):
            lines.append(f"| {step['title']} | {' | '.join([*cells, *more])} |")
    if hours:
        lines += [
            "",
            f"*Extrapolated*, not run: by lines through these sizes, {NATION:,} people take {hours:,.0f} "
            "processor hours for what grows with them. Memory and disk were not extrapolated.",
        ]
    return "\n".join(lines)


def main() -> None:
    print(markdown(rows([int(one) for one in sys.argv[1:]] or SIZES)))


if __name__ == "__main__":
    main()
