"""The whole census, rehearsed: `make census` runs the commands of demo/census.toml on an invented nation.

    python docs/make_census.py OUT [PEOPLE] [--seed K] [--areas N] [--skip STEP ...]

OUT/index.html leads through what was made. Each command is a process of its own, whose processor time and
peak memory are measured. A step that is done is noted in OUT/steps.json and is not repeated, so that a run
that was stopped goes on; OUT of another nation is made again. The noise is real and the ledger counts it; the
people are invented, so that nothing here says anything about anybody.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from make_demo import HERE, in_short, unfolding

STEPS, SEED, AREAS = "steps.json", 1, 11
NATION = 331_449_281
"""People of the United States in 2020."""
Step = dict[str, Any]
Done = dict[str, Any]


def main(given: Sequence[str]) -> None:
    """Run every step that is not done yet, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("people", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--areas", type=int, default=AREAS, help="most areas of the DHC's part of the nation")
    parser.add_argument("--skip", nargs="*", default=[], metavar="STEP", help="leave these steps out")
    asked = parser.parse_args(given)
    steps = tomllib.loads((HERE / "census.toml").read_text(encoding="utf-8"))["steps"]
    unknown = set(asked.skip) - {step["name"] for step in steps}
    if unknown:
        parser.error(f"there is no step {', '.join(sorted(unknown))}")
    rehearse(asked.out, steps, {"people": asked.people, "seed": asked.seed, "areas": asked.areas}, asked.skip)


def rehearse(out: Path, steps: list[Step], nation: dict[str, int], skip: Sequence[str]) -> None:
    """Run the steps and write the page; what an earlier run has done is kept."""
    noted = json.loads((out / STEPS).read_text(encoding="utf-8")) if (out / STEPS).exists() else {}
    if noted.get("nation") != nation:
        if out.exists() and not noted and any(out.iterdir()):
            raise SystemExit(f"{out} is not empty and no census was rehearsed there; name another folder")
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        noted = {"nation": nation, "done": {}, "started": {}}
    done, started = noted["done"], noted["started"]
    for number, step in enumerate(steps, start=1):
        name = step["name"]
        if name in skip or name in done:
            continue
        print(f"{number}/{len(steps)} {step['title']}", flush=True)
        runs: list[Done] = started.setdefault(name, [])
        for command in [command.format(**nation) for command in step["commands"]][len(runs) :]:
            runs.append(timed(command, out))
            (out / STEPS).write_text(json.dumps(noted, indent=1), encoding="utf-8")
        held = sum(size(out / made) for made in step.get("makes", ()))
        done[name] = {"runs": started.pop(name), "disk": held}
        processor, memory = used(done[name])
        print(f"     {processor:.1f} processor seconds, {memory / 1e9:.2f} GB", flush=True)
        (out / STEPS).write_text(json.dumps(noted, indent=1), encoding="utf-8")
    (out / "index.html").write_text(page(steps, noted, out), encoding="utf-8")
    print(f"Open {out / 'index.html'}: it leads through what was made.")


def timed(command: str, out: Path) -> Done:
    """Run a command as a process, and return what it printed and used; if it fails, so does this."""
    words = shlex.split(command)
    if words[0].startswith("!"):
        line = [sys.executable, str(Path(__file__).resolve()), *words]
    else:
        line = [sys.executable, "-m", "discreet", *words]
    quiet = [] if words[0] in ("!choose", "!units") or words[:1] == ["ledger"] else ["--quiet"]
    started, environment = time.monotonic(), {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    with (out / "printed.txt").open("w+", encoding="utf-8") as said, (out / "said.txt").open("w+") as wrong:
        process = subprocess.Popen([*line, *quiet], cwd=out, stdout=said, stderr=wrong, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        wrong.seek(0)
        printed, complaint = said.read().strip("\n"), wrong.read()
    for file in ("printed.txt", "said.txt"):
        (out / file).unlink()
    if process.returncode:
        raise SystemExit(f"discreet {command} ended with status {process.returncode}: {complaint}")
    return {
        "command": command,
        "printed": printed,
        "seconds": time.monotonic() - started,
        "processor": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * 1024,
        "load": os.getloadavg()[0],
    }


def used(done: Done) -> tuple[float, int]:
    """Return the processor seconds of a step, and the most memory of a process of it.

    >>> used({"runs": [{"processor": 1.5, "memory": 7}, {"processor": 2.0, "memory": 5}]})
    (3.5, 7)
    """
    return sum(run["processor"] for run in done["runs"]), max(run["memory"] for run in done["runs"])


def size(path: Path) -> int:
    """Return the bytes of a file, or of all files of a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


# -- functions that are no commands --------------------------------------------------------------------------


def choose(most: int) -> None:
    """Choose a block group with few areas and many people; write its records and the DHC's releases."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.parquet as pq

    from discreet.nation.columns import DHC_LEVELS, address_attributes, household_attributes

    records, target = Path("nation/records"), Path("dhc")
    areas = pq.read_table(records / "areas-dhc.parquet")
    parent = dict(zip(areas["unit"].to_pylist(), areas["parent"].to_pylist(), strict=True))
    level = dict(zip(areas["unit"].to_pylist(), areas["level"].to_pylist(), strict=True))
    counted = pq.read_table(records / "persons.parquet", columns=["unit"])["unit"].value_counts()
    people = {row["values"]: row["counts"] for row in counted.to_pylist()}
    blocks: dict[str, list[str]] = {}
    for unit, kind in level.items():
        if kind == DHC_LEVELS[-1]:
            blocks.setdefault(parent[unit], []).append(unit)
    above = len(DHC_LEVELS) - 1
    fitting = {group: own for group, own in blocks.items() if len(own) + above <= most}
    if not fitting:  # none is so small: the smallest
        fitting = dict([min(blocks.items(), key=lambda item: (len(item[1]), item[0]))])
    group = max(fitting, key=lambda one: (sum(people.get(unit, 0) for unit in fitting[one]), one))
    chosen = set(fitting[group])
    keep, unit = set(chosen), group
    while unit:
        keep.add(unit)
        unit = parent[unit]
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    pyarrow.csv.write_csv(areas.filter(pc.is_in(areas["unit"], pa.array(sorted(keep)))), target / "areas.csv")
    for name in ("persons", "households"):
        table = pq.read_table(records / f"{name}.parquet")
        inside = table.filter(pc.is_in(table["unit"], pa.array(sorted(chosen))))
        pq.write_table(inside, target / f"{name}.parquet")
    parts = {
        "persons": ("dhc-2020-persons", None, lambda query: True),
        "households": ("dhc-2020-units", household_attributes(), lambda query: query != "tenvacgq"),
        "addresses": ("dhc-2020-units", address_attributes(), lambda query: query == "tenvacgq"),
    }
    for name, (preset, attributes, wanted) in parts.items():
        (target / f"{name}.toml").write_text(part_of(preset, name, attributes, wanted), encoding="utf-8")
    living = sum(people.get(unit, 0) for unit in chosen)
    print(f"{len(keep)} areas above and in block group {group}: {len(chosen)} blocks, {living} people.")


def part_of(preset: str, name: str, attributes: Any, wanted: Any) -> str:
    """Return some queries of a preset with their budgets; the invented areas are never merged."""
    from discreet.budget import Level, Release, load

    whole = load(preset)
    levels = [
        Level(name=level.name, queries=[query for query in level.queries if wanted(query.name)])
        for level in whole.levels
    ]
    return Release(
        name=f"{preset}-{name}",
        unit=whole.unit,
        neighbours=whole.neighbours,
        levels=levels,
        attributes=attributes or whole.attributes,
        sources=whole.sources,
    ).to_toml()


def units() -> None:
    """Write one release for each unit of the ledger: all of its runs together."""
    from discreet.ledger import ledger_release

    for unit in ("person", "household", "housing unit"):
        release = ledger_release("discreet-ledger.json", unit=unit, neighbours="bounded")
        file = f"{unit.replace(' ', '-')}.toml"
        Path(file).write_text(release.to_toml(), encoding="utf-8")
        print(f"{file}: {release.title}, {len(release.levels)} levels, {len(release.paths)} paths.")


# -- the page ------------------------------------------------------------------------------------------------


def page(steps: Sequence[Step], noted: Mapping[str, Any], out: Path) -> str:
    """Return the page that leads through the steps."""
    done, nation = noted["done"], noted["nation"]
    shown = [step for step in steps if step["name"] in done]
    left = [step["title"] for step in steps if step["name"] not in done]
    listed = "".join(f'<li><a href="#{step["name"]}">{html.escape(step["title"])}</a></li>' for step in shown)
    body = [
        "<h1>The whole census, rehearsed</h1>",
        f'<p class="mark"><strong>A rehearsal.</strong> Everybody here is invented ({nation["people"]:,} '
        f"people, seed {nation['seed']}): no number on this page says anything about real people. The noise "
        "is real, and so is the account.</p>",
        "<p>Every product of the 2020 Census from one engine: the Redistricting Data, the Demographic and "
        "Housing Characteristics, detailed groups of people and of households, and averages over households; "
        "one ledger, one account, what can still be learned. Each number below was printed by a command that "
        "ran on this machine.</p>",
        f'<nav><ol>{listed}<li><a href="#cost">Time, memory, disk</a></li></ol></nav>',
    ]
    if left:
        body.append(f"<p>Left out of this run: {html.escape('; '.join(left))}.</p>")
    for number, step in enumerate(shown, start=1):
        body.append(f'<h2 id="{step["name"]}">{number}. {html.escape(step["title"])}</h2>')
        body.append(f"<p>{step['text'].strip()}</p>")
        for run in done[step["name"]]["runs"]:
            command = run["command"]
            if not command.startswith("!"):
                body.append(f'<pre class="command">discreet {html.escape(command)}</pre>')
            body.append(unfolding(run["printed"], step.get("lines", 14)))
            if command.startswith("explain"):
                body.append(in_short((out / shlex.split(command)[-1]).read_text(encoding="utf-8")))
        body.append(f"<p>{step['more']}</p>" if "more" in step else "")
    body.append(costs(shown, noted))
    body.append("<footer><p>Made by <code>make census</code>; another size replaces it.</p></footer>")
    style = (HERE / "style.css").read_text(encoding="utf-8") + MARKED
    head = (
        '<meta charset="utf-8"><title>discreet: the whole census, rehearsed</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{style}</style>'
    )
    whole = "\n".join(filter(None, body))
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{whole}\n</body></html>\n'


MARKED = """.mark { border: 2px solid #b3261e; border-radius: 6px; padding: .6rem .9rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .92rem }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left; white-space: normal }
"""
HEADER = ("step", "seconds", "processor seconds", "memory, GB", "disk, MB")


def costs(steps: Sequence[Step], noted: Mapping[str, Any]) -> str:
    """Return the table of time, memory and disk, and what is extrapolated from it."""
    rows, people = [HEADER], noted["nation"]["people"]
    for step in steps:
        done = noted["done"][step["name"]]
        processor, memory = used(done)
        seconds = sum(run["seconds"] for run in done["runs"])
        numbers = (f"{seconds:.0f}", f"{processor:.1f}", f"{memory / 1e9:.2f}", f"{done['disk'] / 1e6:,.1f}")
        rows.append((html.escape(step["title"]), *numbers))
    load = max(run["load"] for done in noted["done"].values() for run in done["runs"])
    growing = [step for step in steps if step.get("scale") == "people"]
    whole = sum(used(noted["done"][step["name"]])[0] for step in growing) * NATION / people
    names = "; ".join(html.escape(step["title"]) for step in growing)
    kinds = ["th", *["td"] * len(steps)]
    cells = ["".join(f"<{kind}>{one}</{kind}>" for one in row) for kind, row in zip(kinds, rows, strict=True)]
    return (
        '<h2 id="cost">Time, memory, disk</h2>\n'
        f"<p>{people:,} people, {os.cpu_count()} processors, load at most {load:.0f}. Beside other work only "
        "processor seconds can be compared. Memory is the peak of the largest process.</p>\n"
        f'<div class="wide"><table>{"".join(f"<tr>{row}</tr>" for row in cells)}</table></div>\n'
        f"<p><strong>Extrapolated, not run.</strong> In proportion to the people, {NATION:,} of them take "
        f"about {whole / 3600:,.1f} processor hours for what grows with them ({names}). What any nation "
        "needs is multiplied, too, so that a small rehearsal overstates it: "
        "<code>docs/benchmarks.md</code> has a line through several sizes. The DHC of persons and households "
        "grows with the areas, and is left out.</p>"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["!choose"]:
        choose(int(sys.argv[2]))
    elif sys.argv[1:2] == ["!units"]:
        units()
    else:
        main(sys.argv[1:])
