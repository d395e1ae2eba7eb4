"""Each study is computed once a session: its functions return frozen tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_fixtures import discreet  # noqa: F401

from discreet.studies import Study, StudyEntry


@pytest.fixture(autouse=True, scope="session")
def each_study_once() -> Any:
    kept: dict[str, Study] = {}
    compute = StudyEntry.compute

    def once(
        entry: StudyEntry, *, counts: Path | None = None, tables: Path | None = None, **more: Any
    ) -> Study:
        if counts is not None or tables is not None or entry.takes_tables:
            return compute(entry, counts=counts, tables=tables, **more)
        if entry.name not in kept:
            kept[entry.name] = compute(entry, **more)
        return kept[entry.name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StudyEntry, "compute", once)
        yield
