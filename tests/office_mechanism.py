"""A mechanism of an office's own, as docs/howto/own-mechanism.md shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet import DiscreteLaplace, InputError, Level, Query, Release, sample
from discreet.ledger import Entry, ReleaseRun, Request
from discreet.tables import read_table


def publish_answers(
    records: Path,
    answers: Sequence[str],
    out: Path,
    *,
    scale: str,
    ledger: Path | None = None,
    key: Path | None = None,
    rehearsal: int | None = None,
    spend_again: bool = False,
) -> ReleaseRun:
    """Publish how many people gave each of some answers; a person has one record."""
    question = Level(name="everyone", queries=[Query(name="answer", scale=scale)])
    release = Release(name="survey", neighbours="unbounded", levels=[question])
    run = ReleaseRun(
        out,
        reads=[records],
        request=Request(spend_again=spend_again),
        ledger=ledger,
        key=key,
        rehearsal=rehearsal,
    )
    run.open()
    table = read_table(records, words=["answer"])
    column = table.words["answer"]
    names = column.values.to_pylist()
    given = Counter(names[code] for code in column.codes)
    if given.keys() - set(answers):
        raise InputError("a record has an answer that was not asked for")  # which one is confidential
    counts = np.array([given[answer] for answer in answers])
    run.spend(Entry(command="publish answers", release=release, inputs=(table.origin("records"),)))
    with run.writing("csv") as folder:
        noise = sample(DiscreteLaplace(scale=scale), len(answers), source=run.entropy)
        words = pa.array(answers), np.arange(len(answers))
        folder.rows("answers", [{"answer": words, "count": counts + noise}])
        folder.text("release", "toml", release.to_toml())
        folder.json("manifest", {"format": "answers 1", "release": release.name})
    return run
