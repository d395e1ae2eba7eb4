"""Tables part by part: the same bytes for any cut and number of processes, and after any interrupt."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense import problem
from health import RELEASE, records, truth
from test_whole_information import measurements
from test_whole_tables import random_bounds, with_zeros

from discreet.areas import output as tables
from discreet.areas.tree import Tree
from discreet.errors import InputError
from discreet.estimation import estimate
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.input.bounds import Bounds
from discreet.estimation.output import part_tables
from discreet.estimation.output.part_tables import PartStore, StoredCells
from discreet.estimation.whole.by_part import Partwise, cells_of_columns
from discreet.estimation.whole.contradiction import ContradictionError
from discreet.estimation.whole.sparse import WholeCells
from discreet.estimation.whole.subtrees import cut_at
from discreet.estimation.whole.tables import WholeTables, settled
from discreet.measurement import measure
from discreet.noise import DiscreteGaussian


def same(one: WholeCells, two: WholeCells) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ("start", "cell", "count"))


def cut_everywhere(told: Measurements, attributes: Any, bounds: list[Bounds]) -> int:
    """Cut a tree at each depth, and compare; return how many parts there were."""
    many = 0

    def compared(descents: Any, limits: Any) -> Any:
        nonlocal many
        whole = {key: settled(descent) for key, descent in descents.items()}
        units = np.random.default_rng(1).permutation(told.tree.size)
        for depth in range(len(told.tree.depths) - 1):
            for most in (1, 6):
                divided = cut_at(told.tree, depth, most)
                tangled = [one for d in descents.values() for one in np.flatnonzero(d.limited.is_tangled)]
                if any(one >= divided.crown.slices[-1].start for one in tangled):
                    continue  # limits of several tables meet below a root: settled near to other estimates
                work = Partwise.of(descents, limits, divided)
                store = PartStore(divided, work.crown)
                for number in range(len(divided.parts)):
                    here = pickle.loads(pickle.dumps(work.work(number)))
                    store.add(number, here.settled())
                    assert all(
                        same(a, b)
                        for a, b in zip(
                            cells_of_columns(work(slice(number, number + 1)), list(descents)).values(),
                            store.part(number).values(),
                            strict=True,
                        )
                    )
                for key in descents:
                    assert same(StoredCells(store, key).take(units), whole[key].take(units))
                many += len(divided.parts)
        return whole

    WholeTables(Estimates(attributes, told), bounds=bounds, settle=compared)
    return many


def any_cut(seed: int, sums: int = 0) -> int:
    rng, given = np.random.default_rng(seed), problem(seed, sums)
    told = measurements(given)
    if seed % 3 == 1:
        told = with_zeros(given, told, rng)
    bounds = [
        Bounds(one.table, one.units, one.lower, one.upper)
        for one in (random_bounds(given, rng) if seed % 2 else [])
    ]
    try:
        return cut_everywhere(told, given.attributes, bounds)
    except InputError as error:
        assert "no measurement determines" in str(error)  # noqa: PT017
        return 0


def test_any_cut_gives_the_same_cells() -> None:
    """Exact tables in some units only, zeros by unit, bounds, single children, several units at the top."""
    assert sum(any_cut(seed) for seed in range(4)) > 5


@pytest.mark.slow
def test_any_cut_of_many_releases_gives_the_same_cells() -> None:
    assert sum(any_cut(seed) for seed in range(100, 400)) > 800
    assert sum(any_cut(seed, 2) for seed in range(60)) > 20


def test_queries_without_attributes_are_cut_too() -> None:
    """A unit that only its parent and its siblings determine is not lost in a part of its own."""
    tree = Tree(np.array([-1, 0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 2, 2, 3]), (0, 1, 3))
    law = {"age": DiscreteGaussian(variance=4)}
    rng = np.random.default_rng(4)
    noisy = {"age": (np.arange(6), rng.integers(-3, 9, (6, 3)))}
    told = Measurements(tree, (InMemory([law, law, law, {}], noisy),))
    assert cut_everywhere(told, None, []) == 5


def test_a_contradiction_comes_back_from_another_process() -> None:
    found = pickle.loads(pickle.dumps(ContradictionError(["a is 1", "a is 2"])))
    assert found.constraints == ("a is 1", "a is 2")
    assert str(found) == str(ContradictionError(["a is 1", "a is 2"]))


# -- runs ----------------------------------------------------------------------------------------------------


IN_PARTS = (part_tables, "CELLS", 4 * 6)
"""A part has at most four units."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey of ten units."""
    folder = tmp_path_factory.mktemp("survey")
    people, units = records(folder, truth())
    measure(RELEASE, None, folder / "m", records=people, units=units, format="parquet", rehearsal=1)
    return folder / "m"


@pytest.fixture
def noisy(measured: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(*IN_PARTS)
    return measured


@pytest.fixture(scope="module")
def expected(measured: Path) -> dict[str, bytes]:
    """What an undisturbed run of one process writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*IN_PARTS)
        return told_by(measured, measured.parent / "expected")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def told_by(noisy: Path, out: Path, **more: Any) -> dict[str, bytes]:
    estimate(noisy, out, tables=True, histogram=True, microdata=True, **more)
    return contents(out)


def test_parts_and_processes_give_the_same_bytes(
    noisy: Path, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages: list[tuple[str, int, int]] = []
    two = told_by(noisy, tmp_path / "2", jobs=2, progress=lambda *one: stages.append(one))
    assert two == expected
    assert [one for one in stages if one[0] == "tables"] == [("tables", done, 6) for done in (0, 2, 5, 6)]
    assert stages[-1] == ("estimates", 10, 10)
    monkeypatch.undo()
    assert told_by(noisy, tmp_path / "whole") == two
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 3])
def test_any_number_of_processes_gives_the_same_bytes(noisy: Path, tmp_path: Path, jobs: int) -> None:
    assert told_by(noisy, tmp_path / "n", jobs=jobs) == told_by(noisy, tmp_path / "2", jobs=2)


def interrupting(function: Callable[..., Any], at: int, hits: list[int]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **more: Any) -> Any:
        hits[0] += 1
        if hits[0] == at:
            raise KeyboardInterrupt
        return function(*arguments, **more)

    return wrapped


STAGES: list[tuple[Any, str, int, int]] = [
    (part_tables.Partwise, "of", 1, 0),
    (PartStore, "add", 1, 0),
    (PartStore, "add", 2, 1),
    (PartStore, "add", 3, 2),
    (tables.OutputTable, "write", 1, 3),
    (tables.Folder, "units", 1, 3),
    (tables.Folder, "json", 1, 3),
]
"""What is interrupted, at which call of it, and how many parts are finished by then."""


@pytest.mark.parametrize("resume", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("stages", [STAGES[2:3], pytest.param(STAGES, marks=pytest.mark.slow)])
def test_an_interrupted_run_goes_on_or_leaves_nothing(
    noisy: Path,
    expected: dict[str, bytes],
    tmp_path: Path,
    resume: bool,
    stages: list[tuple[Any, str, int, int]],
) -> None:
    before = set(tmp_path.rglob("*"))
    kept = tmp_path / ".discreet-out.tables"
    for owner, name, at, finished in stages:
        patch, out = pytest.MonkeyPatch(), tmp_path / "out"
        patch.setattr(owner, name, interrupting(getattr(owner, name), at, [0]))
        with pytest.raises(KeyboardInterrupt):
            told_by(noisy, out, resume=resume)
        patch.undo()
        assert not out.exists()
        assert len(list(kept.glob("part-*.parquet"))) == (finished if resume else 0)
        assert kept.exists() == resume
        added: list[int] = []
        patch.setattr(PartStore, "add", counting(PartStore.add, added))
        assert told_by(noisy, out, resume=resume) == expected
        patch.undo()
        assert len(added) == 3 - (finished if resume else 0)
        for path in out.iterdir():
            path.unlink()
        out.rmdir()
        assert set(tmp_path.rglob("*")) == before


def counting(function: Callable[..., Any], hits: list[int]) -> Callable[..., Any]:
    def wrapped(*arguments: Any) -> Any:
        hits.append(1)
        return function(*arguments)

    return wrapped


def test_what_was_kept_is_taken_only_for_the_same_run(
    noisy: Path, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    kept = tmp_path / ".discreet-out.tables"

    def interrupt() -> None:
        patch = pytest.MonkeyPatch()
        patch.setattr(tables.Folder, "json", interrupting(tables.Folder.json, 1, [0]))
        with pytest.raises(KeyboardInterrupt):
            told_by(noisy, out, resume=True)
        patch.undo()

    interrupt()
    invariants = tmp_path / "held.csv"
    invariants.write_text("unit,query,cell,count\nN,total,all,55\n")
    with pytest.raises(InputError, match="other parameters, data or version; remove it"):
        told_by(noisy, out, resume=True, invariants=invariants)
    assert len(list(kept.glob("part-*"))) == 3
    # a file that is damaged, or of another part, is made again
    (kept / "part-000000.parquet").write_bytes(b"PAR1")
    (kept / "part-000001.parquet").write_bytes((kept / "part-000002.parquet").read_bytes())
    added: list[int] = []
    monkeypatch.setattr(PartStore, "add", counting(PartStore.add, added))
    assert told_by(noisy, out, resume=True) == expected
    assert len(added) == 2
    assert not kept.exists()


def test_resume_needs_tables_that_are_written(noisy: Path, tmp_path: Path) -> None:
    for more in ({"out": tmp_path / "out"}, {"tables": True}):
        with pytest.raises(InputError, match="resume is for whole-number tables that are written"):
            estimate(noisy, resume=True, **more)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


SCRIPT = """
import sys
from discreet.estimation import estimate
from discreet.estimation.output import part_tables
part_tables.CELLS = 24
estimate(sys.argv[1], sys.argv[2], tables=True, histogram=True, microdata=True, resume=True, jobs=2)
"""


@pytest.mark.slow
def test_a_killed_run_goes_on(noisy: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    """SIGKILL at moments all over the run: what the last one writes is what an undisturbed run does, and
    nothing else is left."""
    out = tmp_path / "out"
    before = set(tmp_path.rglob("*"))
    kills = 0
    for delay in np.linspace(0.3, 8.0, 24).tolist():
        run = subprocess.Popen([sys.executable, "-c", SCRIPT, str(noisy), str(out)], start_new_session=True)
        try:
            run.wait(timeout=delay)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            kills += 1
        if out.exists():
            break
    assert kills
    assert told_by(noisy, out, resume=True) == expected if not out.exists() else contents(out) == expected
    for path in out.iterdir():
        path.unlink()
    out.rmdir()
    assert set(tmp_path.rglob("*")) == before


def test_one_part_is_in_memory_at_a_time(tmp_path: Path) -> None:
    """However many parts there are, and however units are asked for; the bytes are those of memory."""
    tree = Tree.chain([4, 3, 2]).unfolded()[0]
    rng = np.random.default_rng(3)
    cells = WholeCells.of(rng.poisson(0.7, (tree.size, 5)))
    for divided in (cut_at(tree, 1, 1), cut_at(tree, 2, 3), cut_at(tree, 0, 99)):
        crown = {key: cells.take(divided.crown.units) for key in ("a", "b")}
        store = PartStore(divided, crown, tmp_path, str(divided.depth))
        for number, part in enumerate(divided.parts):
            below = cells.take(part.units[part.starts[1] :])
            assert not store.has(number)
            store.add(number, {"a": below, "b": below})
            assert store.has(number)
        stored = StoredCells(store, "b")
        for units in (np.arange(tree.size), rng.permutation(tree.size), np.zeros(0, dtype=np.int64)):
            assert same(stored.take(units), cells.take(units))
            assert len(store._held) <= 1
