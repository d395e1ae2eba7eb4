"""A nation on one machine: `discreet safetab run` on one to 331 million people, with a fitted line.

    python -m benchmarks.bench_nation [--people 1 3 10 30 100 331] [--memory 4GB] [--place FOLDER]

People are synthetic, written by `safetab synth` directly as Parquet with the groups of 2020; that time is
reported separately. Each run is a separate process. Sizes for which the disk has no room are left out and
named: a record needs at most 60 bytes temporarily (its file, coded, and summed). Peak memory and processor
seconds are those of the process; disk is the most that the run kept beside its input and output, checked once
a second.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from threading import Event, Thread

from benchmarks.bench_safetab import MILLION, measured, words

BYTES = 60
"""Bytes of disk per person, with some reserve."""
NATION = 331 * MILLION


def disk(folder: Path, over: Event, most: list[int]) -> None:
    """Record the largest size of a folder."""
    while not over.wait(1.0):
        held = 0
        for path, _, files in os.walk(folder):
            for name in files:
                try:
                    held += os.lstat(os.path.join(path, name)).st_size
                except OSError:
                    continue
        most[0] = max(most[0], held)


def nation(sizes: list[int], place: Path, memory: str) -> list[tuple[int, float, float, float, float, int]]:
    """Measure each size: people, seconds to generate them, seconds, processor seconds, memory, disk."""
    from discreet.census.safetab.census2020 import write_parameters

    lines = []
    with tempfile.TemporaryDirectory(prefix="discreet-nation-", dir=place) as name:
        folder = Path(name)
        write_parameters(folder / "params")
        for people in sizes:
            if shutil.disk_usage(folder).free < BYTES * people:
                print(f"{words(people)} people: the disk has no room", file=sys.stderr)
                continue
            print(f"{words(people)} people", file=sys.stderr)
            data, spill = folder / "nation", folder / "spill"
            spill.mkdir()
            params = str(folder / "params")
            synth = ["safetab", "synth", str(data), "--persons", str(people), "--params", params]
            made, _, _ = measured([*synth, "--format", "parquet", "--quiet"])
            over, most = Event(), [0]
            watcher = Thread(target=disk, args=(spill, over, most))
            watcher.start()
            os.environ["TMPDIR"] = str(spill)
            out = str(folder / "out")
            run = ["safetab", "run", params, str(data / "data"), out, "--no-ledger", "--memory", memory]
            seconds, processor, peak = measured([*run, "--format", "parquet", "--quiet"])
            del os.environ["TMPDIR"]
            over.set()
            watcher.join()
            lines.append((people, made, seconds, processor, peak, most[0]))
            for used in (data, spill, folder / "out"):
                shutil.rmtree(used)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--people", type=float, nargs="*", default=[1, 3, 10, 30, 100, 331], help="in millions"
    )
    parser.add_argument("--memory", default="4GB", help="for the engine")
    parser.add_argument("--place", type=Path, default=Path(tempfile.gettempdir()), help="a disk with room")
    asked = parser.parse_args()
    sizes = [round(many * MILLION) for many in asked.people]
    lines = nation(sizes, asked.place, asked.memory)
    print(
        f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end, --memory {asked.memory}.\n"
    )
    print("| people | made in s | seconds | processor seconds | peak memory | disk |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for people, made, seconds, processor, peak, held in lines:
        print(
            f"| {words(people)} | {made:.0f} | {seconds:.0f} | {processor:.0f} | {peak / 1e9:.2f} GB | "
            f"{held / 1e6:.0f} MB |"
        )
    if len(lines) > 1:
        import numpy as np

        x = np.array([line[0] / MILLION for line in lines])
        slope, start = np.polyfit(x, [line[3] for line in lines], 1)
        all_of_them = start + slope * NATION / MILLION
        print(
            f"\nProcessor seconds: {start:.0f} and {slope:.2f} for each million people; by that line 331 "
            f"million take {all_of_them:.0f}, on two free processors some {all_of_them / 120:.0f} minutes."
        )


if __name__ == "__main__":
    main()
