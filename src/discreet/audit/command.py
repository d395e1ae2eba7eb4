"""`discreet risk audit`: run a mechanism on neighbouring tables; does anything contradict its promise?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError

app = console.command(
    "risk audit",
    "[RELEASE|PARAMS] (--counts FILE | --data DIR) [--neighbour FILE] [OPTIONS]",
    "release.toml --counts counts.csv --units units.csv",
    'release.toml --counts counts.csv --runs 500 --mechanism "python mine.py {in} {out}"',
    '--counts people.csv --neighbour fewer.csv --epsilon 1 --delta 0 --mechanism "./mine {in} {out}"',
    "params --data records --runs 300",
    tries=(
        console.SURVEY,
        console.TABULATE,
        "risk audit survey --counts counts/counts.csv --units survey/units.csv --runs 100",
    ),
    note="Exit status: 0 no alarm, 1 alarm, 2 the input cannot be used.\n\n",
)


@app.default
def audit(
    target: Annotated[
        str | None,
        option(
            "A TOML file or a preset's name; with --data the parameters of safetab run; none if only "
            "--epsilon and --delta are promised."
        ),
    ] = None,
    /,
    *,
    counts: Annotated[
        Path | None, option("The table: exact counts, or with --epsilon any CSV file.", "FILE")
    ] = None,
    data: Annotated[Path | None, option("Audit safetab run: the folder of its records.", "DIR")] = None,
    neighbour: Annotated[
        Path | None,
        option("Its neighbour. Default: made, with one record added, replaced or left out.", "FILE|DIR"),
    ] = None,
    units: Annotated[
        Path | None, option("All areas: columns unit, level, parent. Default: those of FILE.", "FILE")
    ] = None,
    cells: Annotated[Path | None, option("All cells: query, cell.", "FILE")] = None,
    mechanism: Annotated[
        str | None,
        option("Audit this instead of measure; {in} and {out} stand for CSV files.", "COMMAND"),
    ] = None,
    epsilon: Annotated[str | None, option("Without a release: the epsilon promised.", "E")] = None,
    delta: Annotated[str | None, option("Without a release: the delta promised.", "D")] = None,
    runs: Annotated[
        int | None, option("Runs on each table. Default: 1,000, of safetab run 300.", "N")
    ] = None,
    written: Annotated[
        int | None,
        option(
            "Of these, runs on each table that are written and read back. Default: 10, of safetab run 2.", "N"
        ),
    ] = None,
    post: Annotated[
        Literal["none", "nonnegative", "consistent"],
        option("The estimates of written runs that are looked at.", "KIND"),
    ] = "consistent",
    at_most: Annotated[
        int | None,
        option("How many records one person may have. Default: as the counts say, or 1.", "K"),
    ] = None,
    totals: Annotated[
        Path | None, option("With --data: published totals that pick tables, as for safetab run.", "FILE|OUT")
    ] = None,
    seed: Annotated[int, option("The seed of the rehearsals.", "N")] = 1,
    false_alarm: Annotated[str, option("The largest chance of a false alarm.", "P")] = "1e-6",
    csv: console.Csv = None,
    plot: console.Plot = None,
    screen: Screen = PLAIN,
) -> None:
    """Run a mechanism many times on a table and on a neighbour, and compare with what is promised."""
    outputs = Outputs(csv=csv, plot=plot)
    console.need_tables("risk audit")
    from discreet.answers.risk_audit import audit_answer
    from discreet.release.hierarchy.audit_runs import audit_mechanism, audit_release
    from discreet.render.csv import csv_of

    many = {key: one for key, one in (("runs", runs), ("written", written)) if one is not None}
    if (counts is None) == (data is None):
        given = "neither is" if counts is None else "both are"
        raise InputError(f"give --counts FILE, or --data DIR to audit safetab run; {given} given")
    if data is not None:
        if target is None or mechanism is not None or epsilon is not None or units is not None:
            raise InputError(
                "--data is about safetab run: name its parameters, and leave --mechanism, --epsilon and "
                "--units out"
            )
        from discreet.release.safetab.audit import audit_tabulation

        with screen.working("Running"):
            found = audit_tabulation(
                Path(target),
                data,
                neighbour=neighbour,
                totals=totals,
                seed=seed,
                false_alarm=false_alarm,
                **many,
            )
    elif target is not None:
        assert counts is not None
        if epsilon is not None or delta is not None:
            raise InputError("give a release, or --epsilon and --delta of another mechanism; not both")
        release = console.read_release(target)
        with screen.working("Running"):
            found = audit_release(
                release,
                counts,
                neighbour=neighbour,
                units=units,
                cells=cells,
                mechanism=mechanism,
                post=post,
                at_most=at_most,
                seed=seed,
                false_alarm=false_alarm,
                **many,
            )
    elif epsilon is None or delta is None or mechanism is None or neighbour is None:
        raise InputError("without a release, --epsilon, --delta, --mechanism and --neighbour are all needed")
    elif units is not None or cells is not None:
        raise InputError("--units and --cells are about the counts of a release; name the release first")
    else:
        many.pop("written", None)
        with screen.working("Running"):
            found = audit_mechanism(
                mechanism, counts, neighbour, epsilon=epsilon, delta=delta, false_alarm=false_alarm, **many
            )
    answer = audit_answer(found)
    outputs.write({"--csv": csv_of(answer.tables["looks"]), "--plot": answer.figures["points"]})
    screen.tell(answer, timed=True)
    if found.alarms:
        raise SystemExit(1)
