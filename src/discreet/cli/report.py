"""`discreet report`: one page that can be handed on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.outputs import Outputs
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.budget import Neighbours, Release
    from discreet.report.html import Facts

app = App(
    name="report",
    usage="Usage: discreet report TARGET --out FILE.html [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet report dhc-2020 --out report.html\n"
    "  discreet report after.toml --before before.toml --out changes.html --pdf changes.pdf\n"
    "  discreet report release.toml --delta 1e-8 --prior 1/10 --out report.html --no-certify",
)


@app.default
def report(
    target: options.Target,
    /,
    *,
    out: Annotated[Path | None, Parameter(help="Write the page.", metavar="FILE.html")] = None,
    pdf: Annotated[
        Path | None, Parameter(help="Also print it, with Chromium if installed.", metavar="FILE.pdf")
    ] = None,
    delta: Annotated[
        list[str] | None,
        Parameter(help="The delta of the headline, default 1e-10; may be repeated.", metavar="D"),
    ] = None,
    prior: Annotated[
        str, Parameter(help="The adversary's prior probability of one answer; default 1/2.", metavar="P")
    ] = "1/2",
    before: Annotated[
        str | None, Parameter(help="A release to compare with, as before a change.", metavar="OTHER")
    ] = None,
    neighbours: options.Relation = None,
    people: options.People = 1,
    title: Annotated[str, Parameter(help="The title of the page.", metavar="TEXT")] = "",
    no_certify: Annotated[bool, Parameter(help="Skip the proofs; the page says so.")] = False,
    no_savings: Annotated[bool, Parameter(help="Skip the search for noise that could be saved.")] = False,
    jobs: options.Jobs = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a report on a release."""
    started = time.perf_counter()
    workers = options.jobs_or_cpus(jobs)
    deltas = options.read_deltas(delta or ["1e-10"])
    if out is None and pdf is None:
        raise InputError("report writes a file: --out FILE.html is needed, or --pdf FILE.pdf")
    outputs = Outputs()
    outputs.plan("--out", out, (".html", ".htm"))
    outputs.plan("--pdf", pdf, (".pdf",))

    from discreet.numbers import prior as read_prior
    from discreet.report.html.facts import gather
    from discreet.report.html.page import checked_title, render
    from discreet.report.html.pdf import find_chromium, print_pdf

    browser = find_chromium() if outputs.wanted("--pdf") else None
    asked: dict[str, Any] = {
        "delta": deltas,
        "prior": read_prior(prior),
        "neighbours": neighbours,
        "people": people,
        "certify": not no_certify,
        "jobs": workers,
    }
    checked_title(title)
    release = _read(target, neighbours)
    other = None if before is None else _read(before, neighbours)
    with _stages(show=not (quiet or json)) as progress:
        facts = gather(release, savings=not no_savings, progress=progress, **asked)
        then = None if other is None else gather(other, savings=False, progress=progress, **asked)
        text = render(facts, before=then, title=title)
    contents = {}
    if outputs.wanted("--out"):
        contents["--out"] = text.encode()
    if outputs.wanted("--pdf"):
        contents["--pdf"] = print_pdf(text, browser=browser)
    outputs.write(contents)
    _answer(facts, out, pdf, time.perf_counter() - started, json=json, quiet=quiet)


def _read(target: str, neighbours: Neighbours | None) -> Release:
    """The release of a target; all runs of a ledger are one."""
    from discreet.budget import load

    if os.path.isfile(target):
        from discreet.release import is_ledger, ledger_release

        if is_ledger(target):
            return ledger_release(target, neighbours=neighbours)
    return load(target)


def _answer(
    facts: Facts, out: Path | None, pdf: Path | None, seconds: float, *, json: bool, quiet: bool
) -> None:
    from discreet.cli.printing import say, say_time, write_json
    from discreet.report.html.page import times
    from discreet.report.words import plain

    files = [str(path) for path in (out, pdf) if path is not None]
    if json:
        write_json({**facts.as_dict(), "files": files, "seconds": round(seconds, 3)})
        return
    row = facts.headline
    say(
        f"{facts.account.name}: epsilon {facts.account.claim.kind.beside(row.epsilon)} at delta "
        f"{plain(row.delta)}; the best guess is right {'at most ' if facts.risk.is_bound else ''}"
        f"{times(facts.guess.upper)}{'' if facts.certified else ' (not certified)'}.",
        f"Written: {', '.join(files)}",
    )
    say_time(seconds, show=not quiet)


@contextmanager
def _stages(*, show: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Give a callable (what, done, total) that moves a bar on standard error; none if that is no terminal."""
    import sys

    if not show or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Reading", total=None)
        yield lambda text, done, total: bar.update(task, description=text, completed=done, total=total)
