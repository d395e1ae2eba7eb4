"""What `discreet safetab run` prints, and its progress bars, one for each stage."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.ledger import say_ledger
from discreet.cli.printing import say, say_time, table
from discreet.report import words

if TYPE_CHECKING:
    from discreet.release.safetab.reprocessing import Reprocessed
    from discreet.release.safetab.summary import Summary


@contextmanager
def bars(*, show: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Give a callable (stage, done, total) that moves bars on standard error; none if that is no terminal."""
    if not show or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    tasks: dict[str, TaskID] = {}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:

        def move(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                # until something is done, nobody knows how far it is
                tasks[stage] = progress.add_task(stage, total=None)
            if done:
                progress.update(tasks[stage], completed=done, total=total)

        yield move


@contextmanager
def kept(out: Path, resume: bool) -> Iterator[None]:
    """Say where the coded records of an interrupted run are, if they are kept."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        from discreet.release.safetab.coded import Resumable

        folder = Resumable.beside(out, {}).folder
        if resume and folder.is_dir():
            print(
                f"discreet: coded records, as confidential as the input, are kept in {folder}; the same "
                "command goes on from them",
                file=sys.stderr,
            )
        raise


def as_object(done: Summary, seconds: float) -> dict[str, Any]:
    """The answer as one JSON object."""
    return {
        "out": str(done.out),
        "not_private": done.warning is not None,
        "warning": done.warning,
        **{key: value for key, value in done.to_json().items() if key != "format"},
        "files": list(done.files),
        "ledger": {
            "file": None if done.ledger is None else str(done.ledger),
            "entries": [entry.to_json() for entry in done.entries],
        },
        "seconds": {
            **{stage: round(spent, 3) for stage, spent in done.seconds.items()},
            "all": round(seconds, 3),
        },
    }


def show(done: Summary) -> None:
    """The answer for a reader."""
    if done.warning is not None:
        what = done.warning.partition(": ")[2]
        say(f"NOT PRIVATE: {_short(what)}. Nothing of it may be published.", indent="  ")
    rows = ", ".join(f"{count:,} {name}" for name, count in done.rows.items())
    say(f"{sum(done.rows.values()):,} rows in {done.out}: {rows}.", indent="  ")
    names = list(done.groups)
    table(
        ["geography", "level", *names, "suppressed"],
        [
            [
                place.mechanism.geography,
                str(place.mechanism.level),
                *(f"{count:,}" for count in place.tables),
                f"{place.suppressed:,}",
            ]
            for place in done.places
        ],
        left=(0,),
    )
    if done.donated or done.dropped:
        say(f"Donated to regions of the same blocks: {done.donated:,} groups. Dropped: {done.dropped:,}.")
    if done.warning is None:
        kind = "rho" if done.privacy == "zcdp" else "epsilon"
        for which, budget in done.budgets.items():
            assert budget is not None
            say(f"Spent on one person of the {which} pass, added or removed: {kind} {words.plain(budget)}.")
    for note in done.notes:
        say(f"Note: {note}.", indent="  ")
    say_ledger(done.ledger, "records", counted=done.warning is None)


def _short(what: str) -> str:
    """Keep a list of places without noise readable."""
    head, _, places = what.partition("no noise at ")
    names = places.split(", ")
    if not places or len(names) <= 4:
        return what
    return f"{head}no noise at {names[0]} and {len(names) - 1} more places"


def step_object(done: Reprocessed, seconds: float) -> dict[str, Any]:
    """The answer of a step on an existing output as one JSON object."""
    return {
        "step": done.step,
        "out": str(done.out),
        "not_private": done.marked,
        "rows": done.rows,
        "groups": done.groups,
        _CHANGED[done.step]: done.changed,
        "files": list(done.files),
        "seconds": round(seconds, 3),
    }


def show_step(done: Reprocessed, seconds: float, *, quiet: bool) -> None:
    """The answer of a step on an existing output for a reader."""
    if done.marked:
        say("NOT PRIVATE: made from an output that is not; nothing of it may be published.")
    say(f"{sum(done.rows.values()):,} rows in {done.out}. Nothing was spent.")
    say(f"Groups {_CHANGED[done.step]}: {done.changed:,}.")
    say(f"Files: {', '.join(done.files)}.", indent="  ")
    say_time(seconds, show=not quiet)


_CHANGED = {"coterminous": "donated", "post": "dropped"}
