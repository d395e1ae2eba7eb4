"""Seconds, processor seconds and peak memory of `discreet risk records` on ten million noisy cells.

    python -m benchmarks.bench_risk_records

A made population: a million people in 100,000 blocks of 2,500 tracts, 96 cells each, all levels measured
(9,849,696 cells in Parquet). Each line is a separate process from a cold start.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.bench_risk_table import markdown as table_of
from benchmarks.bench_risk_table import measured

PEOPLE, BLOCKS, TRACTS, COUNTIES = 1_000_000, 100_000, 2_500, 50
RELEASE = """
name = "made"
neighbours = "bounded"
[attributes]
age = ["0", "1", "2", "3", "4", "5", "6", "7"]
sex = ["f", "m"]
race = ["a", "b", "c", "d", "e", "f"]
[[levels]]
name = "State"
queries = { "detailed" = { variance = "19.8" } }
[[levels]]
name = "County"
queries = { "detailed" = { variance = "19.5" } }
[[levels]]
name = "Tract"
queries = { "detailed" = { variance = "4.06" } }
[[levels]]
name = "Block"
queries = { "detailed" = { variance = "10.09" } }
"""


def make(folder: Path) -> None:
    """Write release, areas and records, and measure them as a rehearsal."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet

    from discreet.budget import load_file
    from discreet.measurement import measure

    random = np.random.default_rng(1)
    (folder / "release.toml").write_text(RELEASE)
    block = np.arange(BLOCKS)
    tract, county = block * TRACTS // BLOCKS, np.arange(TRACTS) * COUNTIES // TRACTS
    names = ["S", *(f"C{i:02}" for i in range(COUNTIES)), *(f"T{i:04}" for i in range(TRACTS))]
    names += [f"B{i:06}" for i in block]
    levels = ["State"] + ["County"] * COUNTIES + ["Tract"] * TRACTS + ["Block"] * BLOCKS
    parents = ["", *["S"] * COUNTIES, *(f"C{i:02}" for i in county), *(f"T{i:04}" for i in tract)]
    units = pa.table({"unit": names, "level": levels, "parent": parents})
    pyarrow.parquet.write_table(units, folder / "units.parquet")
    where = (BLOCKS * random.random(PEOPLE) ** 1.5).astype(np.int64)
    records = {"unit": pa.array(np.array(names, dtype=object)[1 + COUNTIES + TRACTS + where])}
    for name, values in (("age", "01234567"), ("sex", "fm"), ("race", "abcdef")):
        weights = 1.0 / np.arange(1, len(values) + 1) ** 1.5
        chosen = random.choice(list(values), PEOPLE, p=weights / weights.sum())
        records[name] = pa.array(chosen.tolist())
    pyarrow.parquet.write_table(pa.table(records), folder / "records.parquet")
    release = load_file(folder / "release.toml")
    files = {"records": folder / "records.parquet", "units": folder / "units.parquet"}
    measure(release, None, folder / "noisy", **files, rehearsal=1)


def rows() -> list[tuple[str, ...]]:
    """Measure all cases."""
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        shared = ("risk", "records", "--records", f"{folder}/records.parquet", "--noisy", f"{folder}/noisy")
        for what, more in (
            ("shares of a million people, prior 1/10", ("--prior", "1/10")),
            ("the same with rates of the area, all files as Parquet", ("--prior", "area")),
        ):
            out = ("--out", f"{folder}/out", "--format", "parquet") if "files" in what else ()
            seconds, processor, memory = measured(*shared, "--quiet", *more, *out)
            lines.append((what, f"{seconds:.1f}", f"{processor:.1f}", f"{memory:.0f}"))
    return lines


def markdown(lines: list[tuple[str, ...]]) -> str:
    """Return the lines as a table."""
    return table_of(lines).replace("what, 10,000,000 rows", "what, 9,849,696 noisy cells", 1)


if __name__ == "__main__":
    print(markdown(rows()))
