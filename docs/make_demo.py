"""The first two minutes: `make demo` runs the commands of demo/steps.toml, and out/index.html leads through.

A health survey from plan to print, and the 2020 Census. Pictures come first; the commands and all that they
printed are folded beneath. Every number on the page was printed by a command, or is counted in its files.
"""

from __future__ import annotations

import contextlib
import csv
import html
import io
import os
import re
import shlex
import shutil
import sys
import time
import tomllib
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import page_pictures

from discreet.cli import run
from discreet.measurement import write_example

HERE = Path(__file__).parent / "demo"
SURVEY = "survey"
SHOWN = ("age", "65+")
"""The cell of the survey that the pictures show."""
Step = dict[str, Any]


def main(out: Path, jobs: int = 1) -> None:
    """Run every command and write the page."""
    begun = time.monotonic()
    told = tomllib.loads((HERE / "steps.toml").read_text(encoding="utf-8"))
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / SURVEY, ignore_errors=True)
    write_example(out / SURVEY)
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    for tab in told["tabs"]:
        print(f"\n{tab['title']}")
        for step in tab["steps"]:
            step["printed"] = []
            for command in step["commands"]:
                print(f"\n$ discreet {command}\n")
                step["printed"].append(output(command, out / step.get("folder", ""), jobs))
                print(step["printed"][-1], flush=True)
    (out / "index.html").write_text(page(told, out), encoding="utf-8")
    seconds = time.monotonic() - begun
    print(f"\n{seconds:.0f} seconds. Open {out / 'index.html'}: it leads through what was made.")


def output(command: str, folder: Path, jobs: int) -> str:
    """Run a command and return what it prints; if it fails, so does this."""
    words = shlex.split(command)
    parallel = ["--jobs", str(jobs)] if words[:2] == ["account", "dhc-2020"] else []
    said, wrong = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(wrong):
        status = run([*words, *parallel, "--quiet"])
    if status:
        raise SystemExit(f"discreet {command} ended with status {status}: {wrong.getvalue()}")
    return said.getvalue().strip("\n")


def found(step: Step) -> dict[str, Decimal]:
    """Return the numbers that a step looks for in what it printed, with the digits printed.

    >>> found({"find": {"right": "right ([0-9.]+) times"}, "printed": ["right 74.28 times in 100"]})
    {'right': Decimal('74.28')}
    """
    printed = " ".join(" ".join(step["printed"]).split())
    numbers = {}
    for name, expression in step.get("find", {}).items():
        seen = re.search(expression, printed)
        if seen is None:
            raise SystemExit(f"{step['title']}: {expression!r} is not in what was printed")
        numbers[name] = Decimal(seen[1].rstrip("."))
    return numbers


def rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with open(file, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def true_counts(survey: Path, attribute: str, value: str) -> dict[str, int]:
    """Count the invented records with a value in every area."""
    parents = {row["unit"]: row["parent"] for row in rows(survey / "units.csv")}
    truth = dict.fromkeys(parents, 0)
    for record in rows(survey / "records.csv"):
        unit = record["unit"] if record[attribute] == value else ""
        while unit:
            truth[unit] += 1
            unit = parents[unit]
    return truth


def estimates(survey: Path, query: str, cell: str) -> list[dict[str, str]]:
    """Return the estimates of one cell in regions and districts."""
    every = rows(survey / "estimates" / "estimates.NOT-PRIVATE.csv")
    return [one for one in every if (one["query"], one["cell"]) == (query, cell) and one["level"] != "Nation"]


# -- pictures of the steps: each returns the picture, and numbers for the text -------------------------------


def guesses(step: Step, out: Path) -> tuple[str, dict[str, Any]]:
    """Draw how often the best guess is right."""
    return page_pictures.people(float(found(step)["right"])), {}


def districts(step: Step, out: Path) -> tuple[str, dict[str, Any]]:
    """Draw the districts before and after the noise."""
    places = [[name.strip(".") for name in row.split()] for row in step["map"].strip().splitlines()]
    truth = true_counts(out / SURVEY, *SHOWN)
    noisy = {one["unit"]: round(float(one["estimate"])) for one in estimates(out / SURVEY, *SHOWN)}
    drawn = {unit: truth[unit] for row in places for unit in row if unit}
    most = max(drawn.values())
    maps = [
        page_pictures.area_map(places, values, title, most)
        for values, title in ((truth, "In the records"), (noisy, "As published"))
    ]
    return f'<div class="pair">{"".join(maps)}</div>', {}


def sureness(step: Step, out: Path) -> tuple[str, dict[str, Any]]:
    """Draw every estimate with its interval, beside the true count."""
    truth = true_counts(out / SURVEY, *SHOWN)
    shown = []
    for one in estimates(out / SURVEY, *SHOWN):
        if one["level"] == "District":
            value, lower, upper = (float(one[name]) for name in ("estimate", "lower95", "upper95"))
            shown.append((one["unit"], value, lower, upper, truth[one["unit"]]))
    held = sum(lower <= true <= upper for _, _, lower, upper, true in shown)
    return page_pictures.intervals(shown), {"held": held, "areas": len(shown)}


def printed_table(step: Step, out: Path) -> tuple[str, dict[str, Any]]:
    """Show the first table of the printed page."""
    return first_table((out / SURVEY / "tables.html").read_text(encoding="utf-8")), {}


def promise(step: Step, out: Path) -> tuple[str, dict[str, Any]]:
    """Draw both curves of the 2020 Census."""
    curve = rows(out / "dhc-2020-curve.csv")
    points = [(float(row["epsilon"]), float(row["delta"]), float(row["zcdp_delta"])) for row in curve]
    return page_pictures.curves(points), {}


def variances(step: Step, out: Path) -> tuple[str, dict[str, Any]]:
    """Draw the standard deviation of each level before and after."""
    line = re.compile(r"^(\S.*?) {2,}10 queries alike +[\d.]+ +[\d.]+ +([\d.]+) +([\d.]+) ", re.MULTILINE)
    levels = [(name, float(before), float(after)) for name, before, after in line.findall(step["printed"][0])]
    return page_pictures.bars(levels, "Standard deviation of the noise"), {}


PICTURES = {
    drawn.__name__: drawn for drawn in (guesses, districts, sureness, printed_table, promise, variances)
}


def first_table(whole: str) -> str:
    """Return the first table of a page of printed tables with its mark, for the middle of another page.

    >>> first_table("<h1>A</h1><div><table>1</table></div><h1>B</h1><div><table>2</table></div>")
    '<div class="wide tall" tabindex="0" role="region" aria-label="A"><table>1</table></div>'
    """
    mark = re.search('<p class="mark">.*?</p>', whole)
    title, table = re.search("<h1>(.*?)</h1>", whole), re.search("<table>.*?</table>", whole, re.DOTALL)
    if title is None or table is None:
        raise SystemExit("the printed page has no table")
    opening = f'<div class="wide tall" tabindex="0" role="region" aria-label="{title[1]}">'
    return f"{mark[0] if mark else ''}{opening}{table[0]}</div>"


# -- the page ------------------------------------------------------------------------------------------------


def page(told: dict[str, Any], out: Path) -> str:
    """Return the page that leads through the steps."""
    links = "".join(f'<a href="#{tab["name"]}">{tab["title"]}</a>' for tab in told["tabs"])
    body = ["<h1>Computed just now, on this machine</h1>"]
    for tab in told["tabs"]:
        body.append(f'<section id="{tab["name"]}" aria-label="{tab["title"]}">')
        body.append(f'<p class="lead">{tab["lead"].strip()}</p>')
        for step in tab["steps"]:
            picture, numbers = PICTURES[step["picture"]](step, out)
            numbers |= found(step)
            where = f"cd out/{step['folder']}" if "folder" in step else ""
            text = f"<p>{step['text'].strip().format(**numbers)}</p>"
            more = f'<p class="soft">{step["more"]}</p>' if "more" in step else ""
            ran = zip(step["commands"], step["printed"], strict=True)
            body.append(
                shown(
                    step["title"],
                    text + more,
                    picture,
                    folded(ran, where),
                    step.get("big", "").format(**numbers),
                )
            )
        body.append("</section>")
    body.append('<h2 id="next">What to try next</h2>')
    body.append("<p>In the folder of the checkout, after <code>. .venv/bin/activate</code>:</p>")
    for one in told["next"]:
        body.append(f'<p>{one["text"]}:</p><pre class="command">{html.escape(one["command"].strip())}</pre>')
    footer = (
        "Made by <code>make demo</code>. A second run replaces these files; keep what you change elsewhere."
    )
    return document("discreet: the first two minutes", links, body, footer)


def shown(title: str, text: str, picture: str, beneath: str, big: str = "") -> str:
    """Return a step: its number and words on the left, its picture on the right, its commands beneath."""
    number = f'<p class="big">{big}</p>' if big else ""
    kind = "step long" if "<table>" in picture else "step"
    return f'<div class="{kind}"><div><h2>{title}</h2>{number}{text}</div><div>{picture}</div>{beneath}</div>'


def folded(ran: Iterable[tuple[str, str]], where: str = "") -> str:
    """Return commands and what they printed, to unfold; what no command printed has an empty one.

    >>> folded([("account a.toml", "a < b")])  # doctest: +ELLIPSIS
    '<details>...<pre class="command">discreet account a.toml</pre><pre tabindex="0">a &lt; b</pre></details>'
    >>> folded([])
    ''
    """
    parts = [
        (f'<pre class="command">discreet {html.escape(command)}</pre>' if command else "")
        + f'<pre tabindex="0">{html.escape(printed)}</pre>'
        for command, printed in ran
    ]
    if not parts:
        return ""
    what = (
        "The command, and what it printed"
        if len(parts) == 1
        else f"{len(parts)} commands, and what they printed"
    )
    moved = f'<pre class="command">{where}</pre>' if where else ""
    return f"<details><summary>{what}</summary>{moved}{''.join(parts)}</details>"


def document(title: str, links: str, body: Sequence[str], footer: str) -> str:
    """Return a whole page, which loads nothing."""
    style = (HERE / "style.css").read_text(encoding="utf-8")
    head = (
        f'<meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{style}</style>'
    )
    whole = "\n".join(filter(None, body))
    script = (HERE / "tabs.js").read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        f'<header><strong>discreet</strong><nav aria-label="Parts">{links}</nav></header>\n'
        f"<main>\n{whole}\n</main>\n<footer><p>{footer}</p></footer>\n<script>\n{script}</script>\n</body></html>\n"
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0] if given else "out"), int(given[1]) if len(given) > 1 else 1)
