"""`discreet registry`: an entry of the OpenDP registry of deployments, made of a release, or checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError
from discreet.interop import registry

app = console.command(
    "registry",
    "RELEASE... [OPTIONS]",
    "dhc-2020 --facts facts.toml --out dhc.yaml",
    "dhc-2020-persons dhc-2020-units --check dhc.yaml",
    "dhc-2020 --template",
    note="Exit status: 0 written, or all adds up; 1 something does not; 2 bad input.\n\n",
)


@app.default
@console.takes(registry.registry_entry, registry.review_entry)
def write_entry(
    *releases: console.Targets,
    template: Annotated[bool, option("Print the facts that are asked for, to fill in.")] = False,
    out: Annotated[Path | None, option("Write the entry.", "FILE.yaml|json")] = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Write a release's entry for the registry of deployments, or say what in one does not add up."""
    check, schema = given.get("entry"), given.get("schema")
    outputs = Outputs()
    outputs.plan("--out", out, (".yaml", ".yml", ".json"))
    asked = {f"--{name}": given.get(name) for name in ("facts", "ledger", "delta", "certify")} | {
        "--out": out
    }
    beside = [name for name, value in asked.items() if value]
    if check is not None or template:
        which = "--check" if check is not None else "--template"
        beside += ["--template"] if check is not None and template else []
        if beside:
            raise InputError(f"{which} cannot be combined with {', '.join(beside)}")
    if schema is not None and check is None:
        raise InputError("--schema needs --check FILE: it says what form an entry must have")
    if not releases and check is None:
        raise InputError("registry needs a preset's name or a TOML file; `discreet presets` lists all names")
    read = [console.read_release(release) for release in releases]

    from discreet.interop.answer import entry_review_answer, registry_answer, template_answer

    if template:
        screen.tell(template_answer(registry.facts_template(read)))
        return
    workers = console.jobs_or_cpus(given.get("jobs"))
    if check is not None:
        entry = registry.read_entry(check)
        form = registry.read_schema(schema) if schema is not None else None
        with screen.progress("Comparing paths") as progress:
            review = registry.review_entry(
                entry, releases=read, schema=form, where=str(check), jobs=workers, progress=progress
            )
        screen.tell(entry_review_answer(review))
        if not review.adds_up:
            raise SystemExit(1)
        return
    stated = registry.read_facts(given["facts"]) if "facts" in given else {}
    kept = None
    if "ledger" in given:
        from discreet.ledger.ledger_file import ledger_in, read_ledger

        kept = read_ledger(ledger_in(given["ledger"]))
    with screen.progress("Comparing paths") as progress:
        made = registry.registry_entry(
            read,
            facts=stated,
            ledger=kept,
            delta=console.read_deltas(given.get("delta") or registry.DELTAS),
            certify=given.get("certify", False),
            jobs=workers,
            progress=progress,
        )
    answer = registry_answer(made)
    if out is not None:
        from discreet.render.json import json_text

        is_json = outputs.kind("--out") == "json"
        outputs.write({"--out": json_text(made.entry) if is_json else str(answer.record["yaml"])})
    screen.tell(answer)
