"""Run all benchmarks and write their tables to docs/benchmarks.md; `python -m benchmarks PART...` runs some.

Each part replaces its section of the page by the new measurements; the other sections stay, and so do
subsections that a part does not write, such as figures measured by hand.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    bench_accounting,
    bench_cellkey,
    bench_census,
    bench_estimate,
    bench_measure,
    bench_risk,
    bench_risk_peers,
    bench_risk_records,
    bench_risk_table,
    bench_safetab,
    bench_sampler,
    bench_startup,
    bench_tables,
    bench_threads,
)

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
FIGURE = PAGE.with_name("benchmarks-safetab.svg")
PATHS = PAGE.with_name("benchmarks-paths.svg")


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def accounting() -> str:
    figures = table(("what", "measured"), bench_accounting.rows(PATHS))
    header = ("package", "one pair (13, 13)", "off by", "all 946 pairs")
    compared = table(header, bench_accounting.peers())
    return (
        f"{figures}\n\n![Processor seconds by paths]({PATHS.name})\n\n"
        "Other accountants in the same run: epsilon at 1e-10; their time for all pairs is 946 times that for "
        f"one.\n\n{compared}"
    )


def sampler() -> str:
    return bench_sampler.markdown(bench_sampler.rows())


def measure() -> str:
    intro = "Reading, validation, noise, post-processing, writing, hashing and ledger; each row is a process."
    return f"{intro}\n\n{bench_measure.markdown(bench_measure.rows())}"


def estimate() -> str:
    return table(("what, PL 94-171", "measured"), bench_estimate.rows())


def whole_numbers() -> str:
    return bench_tables.markdown(bench_tables.rows())


def startup() -> str:
    intro = f"Fresh processes; the median of {bench_startup.ROUNDS}, in turn with `import numpy`."
    return f"{intro}\n\n{table(bench_startup.HEADER, bench_startup.rows())}"


def threads() -> str:
    intro = (
        f"`estimate --only-tables` of PL 94-171 for {bench_threads.BLOCKS:,} blocks. Each process solves "
        "with one thread, and gets its own number of threads back afterwards."
    )
    return f"{intro}\n\n{table(bench_threads.HEADER, bench_threads.rows())}"


def safetab() -> str:
    lines = bench_safetab.rows(tell=lambda text: print(f"  {text}", file=sys.stderr))
    bench_safetab.figure(lines, FIGURE)
    return f"{bench_safetab.markdown(lines)}\n\n![Seconds and memory by people]({FIGURE.name})"


def risk() -> str:
    exact = table(("what", "measured"), bench_risk.rows())
    peers = table(bench_risk_peers.HEADER, bench_risk_peers.rows())
    beside = (
        "Beside riskcal, which reads the same numbers off a grid of the privacy loss, in one run; each value "
        "against an interval that provably contains the truth."
    )
    people = bench_risk_records.markdown(bench_risk_records.rows())
    rows = bench_risk_table.markdown(bench_risk_table.rows())
    return f"{exact}\n\n{beside}\n\n{peers}\n\n{rows}\n\n{people}"


def census() -> str:
    return bench_census.markdown(bench_census.rows())


def cellkey() -> str:
    intro = (
        "All 256 margins, 5,239,080 cells with the empty ones: reading, checks, counting (DuckDB), keys, "
        "noise, writing; each row is a process."
    )
    return f"{intro}\n\n{table(bench_cellkey.HEADER, bench_cellkey.rows())}"


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "accounting": ("Exact accounting", accounting),
    "sampler": ("The exact sampler", sampler),
    "measure": ("A release over a tree of areas", measure),
    "estimate": ("Estimates, accuracy, plans", estimate),
    "tables": ("Whole-number tables", whole_numbers),
    "startup": ("What a process costs before it computes", startup),
    "threads": ("One thread of linear algebra", threads),
    "safetab": ("Detailed groups: `discreet safetab`", safetab),
    "cellkey": ("Hypercubes with cell keys: `discreet cellkey run`", cellkey),
    "risk": ("Disclosure risk", risk),
    "census": ("The whole census, rehearsed: `make census`", census),
}


def kept(old: str, new: str) -> str:
    """Return a new section, followed by the subsections of the old one that it lacks."""
    titles = re.findall(r"^### .+$", new, re.MULTILINE)
    parts = re.split(r"^(?=### )", old, flags=re.MULTILINE)[1:]
    return "\n\n".join([new.strip(), *(part.strip() for part in parts if part.splitlines()[0] not in titles)])


def main() -> None:
    import numpy

    chosen = sys.argv[1:] or list(PARTS)
    unknown = set(chosen) - set(PARTS)
    if unknown:
        sys.exit(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    sections = dict(re.findall(r"^## (.+?)\n\n(.*?)\n(?=^## |\Z)", old + "\n", re.MULTILINE | re.DOTALL))
    for name in chosen:
        print(name, file=sys.stderr)
        title, work = PARTS[name]
        sections[title] = kept(sections.get(title, ""), work())
    page = f"""# Benchmarks

Made by `make bench`: Python {platform.python_version()}, NumPy {numpy.__version__}, {os.cpu_count()} cores.
Figures of other packages are shown beside ours only if both were run in the same minute on the same machine.
"""
    for title, _ in PARTS.values():
        if title in sections:
            page += f"\n## {title}\n\n{sections[title].strip()}\n"
    PAGE.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
