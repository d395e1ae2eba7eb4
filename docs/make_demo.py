"""The first two minutes: `make demo` runs the commands of demo/steps.toml, and out/index.html leads through.

The 2020 Census first, then a health survey: what it costs, how accurate it will be, a rehearsal, estimates,
tables to print, and the risk in words. Every number on the page was printed by a command, or is in a file
that one wrote.
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
from pathlib import Path
from typing import Any

from discreet.cli import run
from discreet.measurement import write_example

HERE = Path(__file__).parent / "demo"
SURVEY = "survey"
PARALLEL = (["account", "dhc-2020"], ["report", "dhc-2020"])
BLUE, RED = "#0b5cad", "#b3261e"


def main(out: Path, jobs: int = 1) -> None:
    """Run every command, draw what no command draws, and write the page."""
    begun = time.monotonic()
    told = tomllib.loads((HERE / "steps.toml").read_text(encoding="utf-8"))
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / SURVEY, ignore_errors=True)
    write_example(out / SURVEY)
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    for number, step in enumerate(told["steps"], start=1):
        print(f"\n{number}. {step['title']}\n")
        step["printed"] = []
        for command in step["commands"]:
            print(f"$ discreet {command}\n")
            step["printed"].append(output(command, out / step.get("folder", ""), jobs))
            print(step["printed"][-1], flush=True)
        if step.get("picture") == f"{SURVEY}/estimates.png":
            draw_estimates(out / SURVEY)
    (out / "index.html").write_text(page(told, out), encoding="utf-8")
    seconds = time.monotonic() - begun
    print(f"\n{seconds:.0f} seconds. Open {out / 'index.html'}: it leads through what was made.")


def output(command: str, folder: Path, jobs: int) -> str:
    """Run a command and return what it prints; if it fails, so does this."""
    words = shlex.split(command)
    parallel = ["--jobs", str(jobs)] if words[:2] in PARALLEL else []
    said, wrong = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(wrong):
        status = run([*words, *parallel, "--quiet"])
    if status:
        raise SystemExit(f"discreet {command} ended with status {status}: {wrong.getvalue()}")
    return said.getvalue().strip("\n")


def draw_estimates(survey: Path, query: str = "limitation", cell: str = "severe") -> None:
    """Draw the estimates of one cell with their intervals, beside the counts of the synthetic records."""
    from matplotlib.figure import Figure

    parents = {row["unit"]: row["parent"] for row in rows(survey / "units.csv")}
    truth = dict.fromkeys(parents, 0)
    for record in rows(survey / "records.csv"):
        unit = record["unit"] if record[query] == cell else ""
        while unit:
            truth[unit] += 1
            unit = parents[unit]
    found = rows(survey / "estimates" / "estimates.NOT-PRIVATE.csv")
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.subplots(1, 2, width_ratios=[1, 4])
    for place, level in zip(axes, ("Region", "District"), strict=True):
        shown = [one for one in found if (one["level"], one["query"], one["cell"]) == (level, query, cell)]
        at = range(len(shown))
        low, high = ([float(one[end]) for one in shown] for end in ("lower95", "upper95"))
        place.vlines(at, low, high, color=BLUE, lw=5, alpha=0.35, label="95 % interval")
        place.plot(at, [float(one["estimate"]) for one in shown], "o", color=BLUE, label="best estimate")
        place.plot(at, [truth[one["unit"]] for one in shown], "_", c=RED, ms=12, mew=2, label="true count")
        place.set_xticks(list(at), [one["unit"] for one in shown], rotation=60, ha="right")
        place.set_title(f"{level}s")
        place.axhline(0, color="#888888", lw=0.8)
        place.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel(f"people, limitation {cell}")
    figure.legend(*axes[1].get_legend_handles_labels(), ncols=3, frameon=False, loc="outside lower center")
    figure.suptitle("NOT PRIVATE: a rehearsal with synthetic records", fontsize=10, color=RED)
    figure.savefig(survey / "estimates.png", dpi=110)


def rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with open(file, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# -- the page ------------------------------------------------------------------------------------------------


def page(told: dict[str, Any], out: Path) -> str:
    """Return the page that leads through the steps."""
    titles = [html.escape(step["title"]) for step in told["steps"]]
    listed = [f'<li><a href="#step-{at}">{title}</a></li>' for at, title in enumerate(titles, 1)]
    body = [
        "<h1>discreet: the first two minutes</h1>",
        "<p>What a release of noisy counts costs one person, the least noise it needs, the best numbers from "
        "it, and what can still be learned. First the 2020 Census, then a health survey from plan to print. "
        "Everything below was just computed on this machine; every number comes from the output shown.</p>",
        f'<nav><ol>{"".join(listed)}<li><a href="#next">What to try next</a></li></ol></nav>',
    ]
    where = ""
    for at, (step, title) in enumerate(zip(told["steps"], titles, strict=True), 1):
        body.append(f'<h2 id="step-{at}">{at}. {title}</h2>\n<p>{step["text"].strip()}</p>')
        folder = step.get("folder", "")
        for command, printed in zip(step["commands"], step["printed"], strict=True):
            moved, where = f"cd out/{folder}\n" if folder != where else "", folder
            body.append(f'<pre class="command">{moved}discreet {html.escape(command)}</pre>')
            body.append(unfolding(printed, step.get("lines", 14)))
            if command.startswith("explain"):
                body.append(in_short((out / folder / "risk.md").read_text(encoding="utf-8")))
        if "picture" in step:
            said = html.escape(" ".join(step["caption"].split()))
            picture = f'<img src="{step["picture"]}" alt="{said}">'
            body.append(f"<figure>{picture}<figcaption>{said}</figcaption></figure>")
        if "frame" in step:
            body.append(f'<iframe src="{step["frame"]}" title="{title}"></iframe>')
        body.append(f"<p>{step['more']}</p>" if "more" in step else "")
    body.append('<h2 id="next">What to try next</h2>')
    body.append("<p>In the folder of the checkout, after <code>. .venv/bin/activate</code>:</p>")
    for one in told["next"]:
        command = html.escape(one["command"].strip())
        body.append(f'<p>{html.escape(one["text"])}:</p><pre class="command">{command}</pre>')
    body.append(
        "<footer><p>Made by <code>make demo</code>. A second run replaces these files; keep what you change "
        "elsewhere.</p></footer>"
    )
    style = (HERE / "style.css").read_text(encoding="utf-8")
    head = (
        '<meta charset="utf-8"><title>discreet: the first two minutes</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{style}</style>'
    )
    whole = "\n".join(filter(None, body))
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{whole}\n</body></html>\n'


def unfolding(text: str, lines: int) -> str:
    """Return what a command printed; what is long can be unfolded.

    >>> unfolding("a < b", 3)
    '<pre>a &lt; b</pre>'
    >>> unfolding("a\\nb\\nc\\nd\\ne\\nf", 1)
    '<pre>a</pre><details><summary>5 more lines</summary><pre>b\\nc\\nd\\ne\\nf</pre></details>'
    """
    every = text.splitlines()
    if len(every) <= lines + 4:
        return f"<pre>{html.escape(text)}</pre>"
    first, rest = (html.escape("\n".join(part)) for part in (every[:lines], every[lines:]))
    summary = f"<summary>{len(every) - lines} more lines</summary>"
    return f"<pre>{first}</pre><details>{summary}<pre>{rest}</pre></details>"


def in_short(explained: str) -> str:
    """Return the leading sentence and the first list of the page of `explain` as HTML.

    >>> in_short("# A\\n\\nSomeone is *right*.\\n\\n## In short\\n\\n- *One.* So & so.\\n\\n## B\\n")
    '<ul><li>Someone is <em>right</em>.</li><li><em>One.</em> So &amp; so.</li></ul>'
    """
    part = explained.partition("## In short\n")[2].partition("\n## ")[0]
    leading = re.findall("^Someone .+$", explained, re.MULTILINE)[:1]
    items = [*leading, *re.findall("^- (.+)$", part, re.MULTILINE)]
    marked = (re.sub(r"\*([^*]+)\*", r"<em>\1</em>", html.escape(item)) for item in items)
    return f"<ul>{''.join(f'<li>{item}</li>' for item in marked)}</ul>"


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0] if given else "out"), int(given[1]) if len(given) > 1 else 1)
