"""Seconds, processor seconds and peak memory of `discreet safetab`, from ten people to fifty million.

    python -m benchmarks.bench_safetab [--people 1 3 10] [--spark 1] [--fifty] [--households] [--figure FILE]

Each line is a separate process from a cold start: interpreter, reading, validation, counting, noise,
post-processing, writing, hashing, ledger. The toy is that of the tests; all other people are synthetic, in
CSV, with the groups of 2020. Memory is the sum over the process and its children, Spark's included, sampled
ten times a second; processor seconds likewise. `--fifty` also runs fifty million. `--households` also counts
as many households (SafeTab-H) by the totals that the run on DuckDB wrote: of each person's answers, with an
invented type and tenure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
MILLION = 1_000_000
HEADER = ("what", "engine", "seconds", "processor seconds", "peak memory, GB")
_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement, or the reason why there is none."""

    what: str
    engine: str
    people: int
    seconds: float = 0.0
    processor: float = 0.0
    memory: float = 0.0
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Fit:
    """A straight line through seconds by people."""

    start: float
    slope: float
    worst: float
    """Largest relative deviation of a measurement from the line."""


def measured(arguments: Sequence[str]) -> tuple[float, float, float]:
    """Run one command of `discreet`; return seconds, processor seconds and peak bytes."""
    command = [sys.executable, "-m", "discreet", *arguments]
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        used: dict[int, float] = {}
        peak = 0.0
        while process.poll() is None:
            memory = 0.0
            for pid in _tree(process.pid):
                with suppress(OSError, ValueError, IndexError):
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                    used[pid] = (int(fields[11]) + int(fields[12])) / _TICK
                    memory += int(fields[21]) * os.sysconf("SC_PAGESIZE")
            peak = max(peak, memory)
            time.sleep(0.1)
        seconds = time.perf_counter() - began
        if process.returncode:
            output.seek(0)
            raise RuntimeError(
                f"{' '.join(arguments[:2])} ended with {process.returncode}: {output.read()[-2000:]}"
            )
    return seconds, sum(used.values()), peak


def _tree(pid: int) -> list[int]:
    """Return a process and its descendants, as far as the system shows them."""
    tree = [pid]
    for process in tree:
        with suppress(OSError):
            for task in Path(f"/proc/{process}/task").iterdir():
                tree += [int(child) for child in (task / "children").read_text().split()]
    return tree


def rows(
    *,
    people: Sequence[int] = (MILLION, 3 * MILLION, 10 * MILLION),
    spark: Sequence[int] = (MILLION,),
    households: bool = False,
    tell: Callable[[str], None] = lambda _text: None,
) -> list[Line]:
    """Measure everything."""
    sys.path.insert(0, str(ROOT / "tests" / "census"))
    from safetab_toy import DATA, TOY

    from discreet.census.safetab.census2020 import write_parameters

    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = Path(name)
        full = folder / "params"
        write_parameters(full)
        of_households = folder / "params-h"
        write_parameters(of_households, "2020-h")

        def add(what: str, engine: str, many: int, *arguments: str) -> None:
            tell(f"{what}, {engine}")
            lines.append(Line(what, engine, many, *measured([*arguments, "--quiet"])))

        add(
            "the toy, 10 people",
            "duckdb",
            10,
            "safetab",
            "run",
            str(TOY),
            str(DATA),
            name + "/toy",
            "--no-noise",
        )
        for many in sorted({*people, *spark}):
            data = folder / f"{many}"
            add(
                f"synth, {words(many)}",
                "-",
                many,
                "safetab",
                "synth",
                str(data),
                "--persons",
                str(many),
                "--params",
                str(full),
            )
            where = [str(full), str(data / "data")]
            engines = ["duckdb"] + ["spark"] * (many in spark)
            for engine in engines:
                out = str(folder / f"{many}-{engine}")
                add(
                    f"run, {words(many)}",
                    engine,
                    many,
                    "safetab",
                    "run",
                    *where,
                    out,
                    "--no-ledger",
                    "--engine",
                    engine,
                )
            if households:
                as_households(data / "data")
                where = [str(of_households), str(data / "data"), str(folder / f"{many}-h")]
                totals = str(folder / f"{many}-duckdb")
                what = f"households, {words(many)}"
                add(what, "duckdb", many, "safetab", "run", *where, "--no-ledger", "--totals", totals)
            for file in (data / "data").iterdir():
                file.unlink()  # fifty million people are 4 GB
    return lines


def as_households(data: Path) -> None:
    """Write household-records beside person-records: the answers of each, and an invented type and tenure."""
    with (data / "person-records.txt").open() as people, (data / "household-records.txt").open("w") as out:
        names = next(people).rstrip("\n").split("|")
        kept = [place for place, name in enumerate(names) if name.startswith(("TAB", "QRACE", "QSPAN"))]
        out.write("|".join([*(names[place] for place in kept), "HHRACE", "HOUSEHOLD_TYPE", "TEN"]) + "\n")
        for number, line in enumerate(people):
            fields = line.rstrip("\n").split("|")
            some = [fields[place] for place in kept]
            out.write("|".join([*some, "01", str(1 + number % 5), str(1 + number // 5 % 4)]) + "\n")


def words(people: int) -> str:
    """Write a number of people in words.

    >>> words(10_000_000), words(20_000)
    ('10 million', '20,000')
    """
    return f"{people // MILLION} million" if people % MILLION == 0 and people else f"{people:,}"


def fit(lines: Sequence[Line]) -> Fit | None:
    """Fit a line to the seconds of the DuckDB runs by people; None for fewer than three sizes.

    >>> fit([Line("run, x", "duckdb", n * MILLION, seconds=2.0 + 3.0 * n) for n in (1, 3, 10)])
    Fit(start=2.0, slope=3.0, worst=0.0)
    """
    import numpy as np

    points = [(line.people / MILLION, line.seconds) for line in lines if _is_run(line)]
    if len(points) < 3:
        return None
    x, y = np.array(points).T
    slope, start = np.polyfit(x, y, 1)
    worst = float(np.max(np.abs(y / (start + slope * x) - 1)))
    return Fit(round(float(start), 6), round(float(slope), 6), round(worst, 6))


def _is_run(line: Line) -> bool:
    return line.what.startswith("run,") and line.engine == "duckdb" and not line.skipped


def markdown(lines: Sequence[Line]) -> str:
    """Return the table, with sentences on growth and engines."""
    text = ["| " + " | ".join(HEADER) + " |", "| --- | --- | ---: | ---: | ---: |"]
    for measurement in lines:
        numbers = (
            (f"skipped: {measurement.skipped}", "", "")
            if measurement.skipped
            else (
                f"{measurement.seconds:.1f}",
                f"{measurement.processor:.1f}",
                f"{measurement.memory / 1e9:.2f}",
            )
        )
        text.append(f"| {measurement.what} | {measurement.engine} | " + " | ".join(numbers) + " |")
    text.append("\nThe Bureau's program takes 178 processor seconds for the toy.")
    line = fit(lines)
    if line:
        text.append(
            f"\nRuns on DuckDB: {line.start:.1f} s and {line.slope:.2f} s for each million people; the "
            f"line is off by {100 * line.worst:.0f} % at most."
        )
    for measurement in lines:
        twin = next((x for x in lines if x.what == measurement.what and x.engine == "duckdb"), None)
        if measurement.engine == "spark" and not measurement.skipped and twin:
            text.append(
                f"\n{words(measurement.people).capitalize()} people in the same run: Spark on this machine "
                f"takes {measurement.seconds / twin.seconds:.1f} times as long as DuckDB, and "
                f"{measurement.memory / twin.memory:.1f} times the memory."
            )
    return "\n".join(text)


def figure(lines: Sequence[Line], file: Path) -> None:
    """Draw seconds and memory by people, with the fitted line."""
    from discreet.answers.figure import Axis, Dots, Item, Panel, Picture, points
    from discreet.answers.figure import Line as Drawn
    from discreet.render.pictures import picture_bytes

    runs = sorted((run for run in lines if _is_run(run)), key=lambda run: run.people)
    millions = [run.people / MILLION for run in runs]
    times: list[Item] = [Dots(points(millions, (run.seconds for run in runs)), "measured")]
    line = fit(lines)
    if line:
        ends = (0.0, millions[-1])
        fitted = points(ends, (line.start + line.slope * end for end in ends))
        times.append(Drawn(fitted, f"{line.slope:.2f} s for a million more", 1))
    people = Axis("million people", low=0.0)
    memory = Dots(points(millions, (run.memory / 1e9 for run in runs)))
    left = Panel(people, Axis("seconds", low=0.0), tuple(times))
    right = Panel(people, Axis("peak memory, GB", low=0.0), (memory,))
    file.write_bytes(picture_bytes(Picture((left, right), size=(7.2, 3.4)), file.suffix.lstrip(".")))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=float, nargs="*", default=[1, 3, 10], help="in millions")
    parser.add_argument("--spark", type=float, nargs="*", default=[1], help="in millions; none: no Spark")
    parser.add_argument("--fifty", action="store_true", help="also fifty million")
    parser.add_argument("--households", action="store_true", help="also households, by the totals of the run")
    parser.add_argument("--figure", type=Path, help="seconds and memory by people, .svg or .png")
    asked = parser.parse_args()
    sizes = [round(many * MILLION) for many in [*asked.people, *([50] if asked.fifty else [])]]
    lines = rows(
        people=sizes,
        spark=[round(many * MILLION) for many in asked.spark],
        households=asked.households,
        tell=lambda text: print(text, file=sys.stderr),
    )
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end.\n")
    print(markdown(lines))
    if asked.figure is not None:
        figure(lines, asked.figure)


if __name__ == "__main__":
    main()
