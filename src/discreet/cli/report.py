"""`discreet report`: one page that can be handed on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError
from discreet.numbers import prior as read_prior

app = console.command(
    "report",
    "TARGET --out FILE.html [OPTIONS]",
    "dhc-2020 --out report.html",
    "after.toml --before before.toml --out changes.html --pdf changes.pdf",
    tries=(console.SURVEY, "report survey --delta 1e-8 --prior 1/10 --out report.html --no-certify"),
)


@app.default
def report(
    target: console.Target,
    /,
    *,
    out: Annotated[Path | None, option("Write the page.", "FILE.html")] = None,
    pdf: Annotated[Path | None, option("Also print it, with Chromium if installed.", "FILE.pdf")] = None,
    delta: Annotated[
        list[str] | None, option("The delta of the headline, default 1e-10; may be repeated.", "D")
    ] = None,
    prior: Annotated[
        str, option("The adversary's prior probability of one answer; default 1/2.", "P")
    ] = "1/2",
    before: Annotated[
        str | None, option("Another release to compare with, such as the one before a change.", "OTHER")
    ] = None,
    title: Annotated[str, option("The title of the page.", "TEXT")] = "",
    no_certify: Annotated[bool, option("Skip the proofs; the page says so.")] = False,
    no_savings: Annotated[bool, option("Skip the search for noise that could be saved.")] = False,
    between: console.AllPaths = console.ALL_PATHS,
    screen: Screen = PLAIN,
) -> None:
    """Write a report on a release."""
    workers = between.workers
    deltas = console.read_deltas(delta or ["1e-10"])
    if out is None and pdf is None:
        raise InputError("report writes a file: --out FILE.html is needed, or --pdf FILE.pdf")
    if out is not None and out.suffix.lower() == ".pdf":
        raise InputError(f"--out is {out}, and the page that it names is HTML; --pdf {out} prints it")
    outputs = Outputs()
    outputs.plan("--out", out, (".html", ".htm"))
    outputs.plan("--pdf", pdf, (".pdf",))

    from discreet.report.html import checked_title, gather, print_pdf, render, report_answer
    from discreet.report.html.pdf import find_chromium

    browser = None if pdf is None else find_chromium()
    chance = read_prior(prior)
    checked_title(title)
    release = console.read_release(target, between.neighbours)
    other = None if before is None else console.read_release(before, between.neighbours)
    with screen.stages() as progress:
        find = partial(
            gather,
            delta=deltas,
            prior=chance,
            neighbours=between.neighbours,
            people=between.people,
            certify=not no_certify,
            jobs=workers,
            progress=progress,
        )
        facts = find(release, savings=not no_savings)
        text = render(facts, before=None if other is None else find(other, savings=False), title=title)
    outputs.write({"--out": text, "--pdf": lambda: print_pdf(text, browser=browser)})
    files = [str(path) for path in (out, pdf) if path is not None]
    screen.tell(report_answer(facts, written=files), timed=True)
