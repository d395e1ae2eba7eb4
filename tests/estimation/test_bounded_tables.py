"""Whole numbers alone: those of the ordinary run, from summaries of parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense import problem
from test_part_tables import contents, counting, interrupting, measured, noisy  # noqa: F401
from test_whole_information import measurements
from test_whole_tables import random_bounds, with_zeros

from discreet.errors import InputError
from discreet.estimation import check_tables, estimate
from discreet.estimation.estimates import Estimates
from discreet.estimation.input.bounds import Bounds
from discreet.estimation.output import bounded_tables
from discreet.estimation.output.part_tables import PartStore
from discreet.estimation.whole.by_part import TANGLED, CutMeasurements, summaries_of_columns
from discreet.estimation.whole.subtrees import cut_at
from discreet.estimation.whole.tables import WholeTables, determined, settled

__all__ = ["noisy"]


def crowns(seed: int, sums: int = 0) -> int:
    """Cut a tree at each depth, settle the crown from summaries, and compare; return how many parts."""
    rng, given = np.random.default_rng(seed), problem(seed, sums)
    told = measurements(given)
    if seed % 3 == 1:
        told = with_zeros(given, told, rng)
    bounds = [
        Bounds(one.table, one.units, one.lower, one.upper)
        for one in (random_bounds(given, rng) if seed % 2 else [])
    ]
    whole: dict[Any, Any] = {}

    def kept(descents: Any, _limits: Any) -> Any:
        whole.update({key: settled(descent) for key, descent in descents.items()})
        whole["lost"] = {key: descent.lost for key, descent in descents.items()}
        return {key: whole[key] for key in descents}

    estimates = Estimates(given.attributes, told)
    try:
        WholeTables(estimates, bounds=bounds, settle=kept)
    except InputError as error:
        with pytest.raises(InputError) as again:
            determined(estimates.model, told)
        assert str(again.value) == str(error)  # noqa: PT017
        return 0
    lost = determined(estimates.model, told)
    assert list(lost) == list(whole["lost"])
    assert all(np.array_equal(lost[key], whole["lost"][key]) for key in lost)
    many = 0
    for depth in range(len(told.tree.depths) - 1):
        divided = cut_at(told.tree, depth, 6)
        above = CutMeasurements(given.attributes, told, tuple(bounds), divided, lost)
        summaries, notes = {}, []
        for number in range(len(divided.parts)):
            some, note = summaries_of_columns(above(slice(number, number + 1)))
            summaries |= some
            notes.append(note)
        crown = None if TANGLED in notes else above.crown_from(summaries)
        if crown is None:
            continue
        for key, cells in crown.items():
            mine = whole[key].take(divided.crown.units)
            assert np.array_equal(cells.start, mine.start)
            assert np.array_equal(cells.cell, mine.cell)
            assert np.array_equal(cells.count, mine.count)
        many += len(divided.parts)
    return many


def test_a_crown_is_settled_from_summaries_as_from_all_estimates() -> None:
    assert sum(crowns(seed) for seed in range(4)) > 5


@pytest.mark.slow
def test_crowns_of_many_releases() -> None:
    assert sum(crowns(seed) for seed in range(100, 200)) > 100
    assert sum(crowns(seed, 2) for seed in range(30)) > 5


# -- runs ----------------------------------------------------------------------------------------------------


def alone(noisy: Path, out: Path, **more: Any) -> dict[str, bytes]:
    estimate(noisy, out, only_tables=True, histogram=True, microdata=True, **more)
    return contents(out)


def no_estimates(*_arguments: Any, **_more: Any) -> Any:
    raise AssertionError("estimates of all units were made")


@pytest.mark.parametrize(
    "jobs", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_whole_numbers_are_those_of_the_ordinary_run(
    noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    ordinary = estimate(noisy, tmp_path / "all", tables=True, histogram=True, microdata=True)
    monkeypatch.setattr(bounded_tables.MeasuredTree, "estimated", no_estimates)
    stages: list[tuple[str, int, int]] = []
    found = alone(noisy, tmp_path / "alone", jobs=jobs, progress=lambda *one: stages.append(one))
    before = contents(tmp_path / "all")
    assert {one[0] for one in stages} == {"summaries", "tables", "writing"}
    for name, data in found.items():
        if not name.startswith(("tables", "manifest")):
            assert data == before[name], name
    table = ordinary.to_arrow()
    read = estimate(noisy, only_tables=True, jobs=jobs).to_arrow("tables")
    for name in ("unit", "level", "query", "cell", "table"):
        assert read.column(name).to_pylist() == table.column(name).to_pylist()
    assert "estimate" not in read.column_names
    assert "fit" not in json.loads(next((tmp_path / "alone").glob("manifest*")).read_text())
    assert not check_tables(tmp_path / "alone").differences


def test_an_interrupted_run_goes_on_from_its_summaries(
    noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, out = alone(noisy, tmp_path / "expected"), tmp_path / "out"
    kept = tmp_path / ".discreet-out.tables"
    with monkeypatch.context() as patch:
        patch.setattr(PartStore, "add", interrupting(PartStore.add, 2, [0]))
        with pytest.raises(KeyboardInterrupt):
            alone(noisy, out, resume=True)
    summaries = sorted(kept.glob("summary-*"))
    assert len(summaries) > 1
    assert len(list(kept.glob("part-*"))) == 1
    summaries[0].write_bytes(b"PK")  # damaged: made again
    made: list[int] = []
    files = bounded_tables.SummaryFiles
    monkeypatch.setattr(files, "add", counting(files.add, made))
    assert alone(noisy, out, resume=True) == expected
    assert len(made) == 1
    assert not kept.exists()


def test_what_is_about_estimates_is_refused_at_once(noisy: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="and draws, replicates are about these: leave them out"):
        estimate(noisy, tmp_path / "out", only_tables=True, draws=2, replicates=50)
    with pytest.raises(InputError, match="and levels is about these: leave it out"):
        estimate(noisy, tmp_path / "out", only_tables=True, levels=["0.8"])
    assert not (tmp_path / "out").exists()
