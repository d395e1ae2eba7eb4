"""Seconds, processor seconds and peak memory of `discreet tabulate sdhc-2020` on made people and households.

    python -m benchmarks.bench_joins [PEOPLE]

One million people unless said otherwise, in the files of the Census Bureau's program. One household in a
hundred is large, so that limits have work to do. The command runs in a process from a cold start.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.bench_risk_table import markdown as table_of
from benchmarks.bench_risk_table import measured

PEOPLE = 1_000_000
STATES = [f"{code:02}" for code in range(1, 57) if code not in (3, 7, 14, 43, 52)]
TYPES = {"HHT": ("1", "2", "2", "3"), "HHT2": ("01", "03", "10", "06"), "CPLT": ("1", "3", "0", "0")}
"""Households with own children: married, cohabiting, a man alone, a woman alone."""


def make(folder: Path, people: int) -> int:
    """Write people, units and addresses; return how many households there are."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv

    random = np.random.default_rng(29)

    def codes(most: int, rows: int) -> np.ndarray:
        return np.char.zfill((1 + random.integers(0, most, rows)).astype(str), 2)

    def write(name: str, columns: dict[str, np.ndarray]) -> None:
        plain = pyarrow.csv.WriteOptions(quoting_style="none")
        pyarrow.csv.write_csv(pa.table(columns), folder / name, plain)

    homes = people  # more than enough
    size = np.minimum(random.geometric(0.4, homes), 30)
    size += (random.random(homes) < 0.01) * random.integers(5, 12, homes)
    homes = int(np.searchsorted(np.cumsum(size), people)) + 1
    size, key, kind = size[:homes], 100_000_001 + random.permutation(homes), random.integers(0, 4, homes)
    types = {name: np.array(values)[kind] for name, values in TYPES.items()}
    head = {"RTYPE": np.full(homes, "2"), "MAFID": key}
    about = {
        "HHSPAN": random.integers(1, 3, homes),
        "HHRACE": codes(63, homes),
        "TEN": random.integers(1, 5, homes),
    }
    write("units.csv", {**head, "FINAL_POP": size, "NPF": size, **about, **types})
    write("geo.csv", {**head, "TABBLKST": np.array(STATES)[random.integers(0, len(STATES), homes)]})
    home = np.repeat(np.arange(homes), size)
    first = np.diff(home, prepend=-1) > 0
    others = np.array([25, 26, 27, 30, 28, 34, 21])[random.integers(0, 7, len(home))]
    age = np.where(first, random.integers(18, 90, len(home)), random.integers(0, 90, len(home)))
    persons = {
        "RTYPE": np.full(len(home), "3"),
        "MAFID": key[home],
        "QAGE": age,
        "CENHISP": random.integers(1, 3, len(home)),
        "CENRACE": codes(63, len(home)),
        "RELSHIP": np.where(first, 20, others),
    }
    order = random.permutation(len(home))
    write("persons.csv", {name: column[order] for name, column in persons.items()})
    return homes


def rows(people: int = PEOPLE) -> list[tuple[str, ...]]:
    """Measure one case."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        homes = make(folder, people)
        files = ("--records", "persons.csv"), ("--households", "units.csv"), ("--addresses", "geo.csv")
        named = [word for option, file in files for word in (option, str(folder / file))]
        out = str(folder / "out")
        seconds, processor, memory = measured("tabulate", "sdhc-2020", *named, "--out", out, "--quiet")
    what = f"{people:,} people in {homes:,} households"
    return [(what, f"{seconds:.1f}", f"{processor:.1f}", f"{memory:.0f}")]


def markdown(lines: list[tuple[str, ...]]) -> str:
    """Return the lines as a table."""
    return table_of(lines).replace("what, 10,000,000 rows", "what", 1)


if __name__ == "__main__":
    print(markdown(rows(int(sys.argv[1]) if len(sys.argv) > 1 else PEOPLE)))
