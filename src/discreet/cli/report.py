"""`discreet report`: one page that can be handed on."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

from discreet.answers.decision import Decision
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.disclosure.questions import DEFAULT_PRIOR
from discreet.errors import InputError
from discreet.numbers import prior as read_prior
from discreet.reports.html import checked_title, gather, print_pdf, render, report_answer

app = console.command(
    "report",
    "TARGET --out FILE.html [OPTIONS]",
    "dhc-2020 --out report.html",
    "after.toml --before before.toml --out changes.html --pdf changes.pdf",
    tries=(console.SURVEY, "report survey --delta 1e-8 --prior 1/10 --out report.html --no-certify"),
)


@app.default
@console.takes(gather, render)
def report(
    target: console.Target,
    /,
    *,
    out: Annotated[Path | None, option("Write the page.", "FILE.html")] = None,
    pdf: Annotated[Path | None, option("Also print it, with Chromium if installed.", "FILE.pdf")] = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Write a report on a release."""
    before, title = given.pop("before", None), given.pop("title", "")
    record = {field.name: given.pop(field.name, "") for field in fields(Decision)}
    savings, neighbours = given.pop("savings", True), given.get("neighbours")
    given["jobs"] = console.jobs_or_cpus(given.get("jobs"))
    given["delta"] = console.read_deltas(given.get("delta") or ["1e-10"])
    if out is None and pdf is None:
        raise InputError("report writes a file: --out FILE.html is needed, or --pdf FILE.pdf")
    if out is not None and out.suffix.lower() == ".pdf":
        raise InputError(f"--out is {out}, and the page that it names is HTML; --pdf {out} prints it")
    outputs = Outputs()
    outputs.plan("--out", out, (".html", ".htm"))
    outputs.plan("--pdf", pdf, (".pdf",))

    from discreet.reports.html.pdf import find_chromium

    browser = None if pdf is None else find_chromium()
    given["prior"] = read_prior(given.get("prior", DEFAULT_PRIOR))
    checked_title(title)
    Decision(**record)  # before the long work
    release = console.read_release(target, neighbours)
    other = None if before is None else console.read_release(before, neighbours)
    with screen.stages() as progress:
        facts = gather(release, **given, savings=savings, progress=progress)
        earlier = None if other is None else gather(other, **given, savings=False, progress=progress)
        text = render(facts, before=earlier, title=title, **record)
    outputs.write({"--out": text, "--pdf": lambda: print_pdf(text, browser=browser)})
    files = [str(path) for path in (out, pdf) if path is not None]
    screen.tell(report_answer(facts, written=files), timed=True)
