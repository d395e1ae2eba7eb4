"""Seconds, processor seconds and peak memory of `discreet cellkey run`: a million records, eight attributes.

    python -m benchmarks.bench_cellkey

All 256 margins, 5,239,080 cells with the empty ones. Each line is a separate process from a cold start.
Records are synthetic: attributes with 2 to 20 values, the first ones the most frequent.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.bench_risk_table import measured

RECORDS = 1_000_000
SIZES = (2, 5, 10, 8, 4, 3, 6, 20)
HEADER = (
    f"what, {RECORDS:,} records by {len(SIZES)} attributes",
    "seconds",
    "processor seconds",
    "peak memory, MB",
)


def make(folder: Path) -> None:
    """Write records with both kinds of record keys, the attributes, and tables."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from discreet.cellkey.design import design_perturbation

    draw = np.random.default_rng(1)
    columns = {}
    for number, size in enumerate(SIZES):
        chances = 1 / np.arange(1, size + 1)
        code = draw.choice(size, RECORDS, p=chances / chances.sum()).astype(np.int32)
        columns[f"x{number}"] = pa.DictionaryArray.from_arrays(code, [f"v{one}" for one in range(size)])
    keys = draw.integers(10**8, size=RECORDS)
    columns["rkey"] = pa.array([f"{key / 10**8:.8f}" for key in keys])
    columns["ckey"] = pa.array(draw.integers(256, size=RECORDS))
    table = pa.table(columns)
    pyarrow.csv.write_csv(table, folder / "records.csv")
    pyarrow.parquet.write_table(table, folder / "records.parquet")
    values = [f"x{n} = {json.dumps([f'v{one}' for one in range(size)])}" for n, size in enumerate(SIZES)]
    (folder / "attributes.toml").write_text("\n".join(["[attributes]", *values]) + "\n")
    design = design_perturbation(5, epsilon=1, delta="0.01")
    (folder / "table.csv").write_text(design.table.to_csv())
    lines = ["pcv,ckey,pvalue"]
    lines += [
        f"{n},{key},{(-1 if key < 64 else 1 if key >= 192 else 0)}"
        for n in range(1, 751)
        for key in range(256)
    ]
    (folder / "ons.csv").write_text("\n".join(lines) + "\n")


def rows() -> list[tuple[str, ...]]:
    """Measure all cases."""
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        for what, file, more in (
            (
                "keys from a secret, CSV",
                "records.csv",
                ("--table", f"{name}/table.csv", "--secret", f"{name}/a.json"),
            ),
            (
                "keys from a secret, Parquet, all cells listed",
                "records.parquet",
                ("--table", f"{name}/table.csv", "--secret", f"{name}/b.json", "--zeros"),
            ),
            ("real record keys, D5V3js2, CSV", "records.csv", ("--table", "D5V3js2", "--record-key", "rkey")),
            (
                "integer record keys, ONS, CSV",
                "records.csv",
                ("--table", f"{name}/ons.csv", "--record-key", "ckey"),
            ),
        ):
            seconds, processor, memory = measured(
                "cellkey",
                "run",
                f"{name}/{file}",
                "--attributes",
                f"{name}/attributes.toml",
                "--out",
                f"{name}/out {len(lines)}",
                "--no-ledger",
                "--quiet",
                *more,
            )
            lines.append((what, f"{seconds:.1f}", f"{processor:.1f}", f"{memory:,.0f}"))
    return lines


if __name__ == "__main__":
    for line in (HEADER, *rows()):
        print(" | ".join(line))
