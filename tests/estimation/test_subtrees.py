"""Subtrees: what is read of a part is what direct selection gives, whatever the tree and the source."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from health import RELEASE, records, truth

from discreet.areas import output as tables
from discreet.areas.tree import Tree
from discreet.budget import Attributes
from discreet.estimation.estimates import InMemory, Measurements
from discreet.estimation.input.bounds import Bounds
from discreet.estimation.input.joint_estimates import JointEstimates
from discreet.estimation.input.measurements import read_published
from discreet.estimation.whole.subtrees import PartSource, TreePart, cut_at, cut_tree, part_of, sizes_below
from discreet.measurement import measure
from discreet.noise import DiscreteGaussian


def ragged(seed: int, *, depth: int = 4) -> Tree:
    """Draw a tree in which units of any depth may have no children, and several units no parent."""
    rng = np.random.default_rng(seed)
    parent, starts = [-1] * int(rng.integers(1, 4)), [0]
    last = list(range(len(parent)))
    for _ in range(depth):
        first = len(parent)
        parent += [unit for unit in last for _ in range(int(rng.integers(0, 5)))]
        last = list(range(first, len(parent)))
        if not last:
            break
        starts.append(first)
    return Tree(np.array(parent), rng.integers(0, 3, len(parent)), tuple(starts), ("a", "b", "c"))


def inside(tree: Tree, roots: slice) -> list[int]:
    """The units at and below some others, found by walking up from each."""
    found = []
    for unit in range(tree.size):
        above = unit
        while above >= 0 and not roots.start <= above < roots.stop:
            above = int(tree.parent[above])
        found += [unit] * (above >= 0)
    return found


def read(source: Any, size: int) -> dict[tuple[str, int], list[float]]:
    """All measurements of a source, by query and unit, read in slices of uneven length."""
    found: dict[tuple[str, int], list[float]] = {}
    for first in range(0, size, 3):
        for query, who, rows in source.read(slice(first, min(first + 3, size))):
            for unit, row in zip(who.tolist(), rows.tolist(), strict=True):
                assert first <= unit < first + 3
                assert (query, unit) not in found
                found[query, unit] = row
    return found


def chosen(every: dict[tuple[str, int], list[float]], units: list[int]) -> dict[tuple[str, int], list[float]]:
    place = {unit: number for number, unit in enumerate(units)}
    return {(query, place[unit]): row for (query, unit), row in every.items() if unit in place}


@pytest.mark.parametrize("seed", range(6))
def test_a_part_is_the_units_below_its_roots(seed: int) -> None:
    tree, rng = ragged(seed), np.random.default_rng(seed)
    for part in tree.depths:
        first, last = np.sort(rng.integers(part.start, part.stop + 1, 2)).tolist()
        if first == last:
            continue
        found = TreePart.below(tree, slice(first, last))
        units = inside(tree, slice(first, last))
        assert found.units.tolist() == units
        assert found.size == len(units)
        own = found.tree(tree)
        above = [units.index(one) if one in units else -1 for one in tree.parent[units].tolist()]
        assert own.parent.tolist() == above
        assert own.kind.tolist() == tree.kind[units].tolist()
        assert [one.start for one in own.depths] == list(found.starts)


@pytest.mark.parametrize("seed", range(6))
def test_a_cut_has_every_unit_once(seed: int) -> None:
    tree = ragged(seed, depth=5)
    sizes = [len(inside(tree, slice(unit, unit + 1))) for unit in range(tree.size)]
    assert sizes_below(tree).tolist() == sizes
    for depth in range(len(tree.depths)):
        for most in (1, 5, 1000):
            found = cut_at(tree, depth, most)
            below = [
                unit for part in found.parts for one in part.slices[1:] for unit in range(one.start, one.stop)
            ]
            assert sorted([*found.crown.units.tolist(), *below]) == list(range(tree.size))
            for part in found.parts:
                assert part.size <= most or part.roots.stop - part.roots.start == 1
    assert len(cut_tree(tree, tree.size).parts) <= 1
    for most in (1, 7, 30):
        found = cut_tree(tree, most)
        assert found.depth == max(0, len(tree.depths) - 2) or all(one.size <= most for one in found.parts)


@pytest.mark.parametrize("seed", range(5))
def test_a_part_of_measurements_is_what_selection_gives(seed: int) -> None:
    tree, rng = ragged(seed), np.random.default_rng(seed)
    laws = [{"total": DiscreteGaussian(variance="5"), "age": DiscreteGaussian(variance="2")}] * 3

    def some(width: int) -> tuple[Any, Any]:
        who = np.flatnonzero(rng.random(tree.size) < 0.7)
        return who, rng.integers(-9, 99, (len(who), width))

    source = InMemory(laws, {"total": some(1), "age": some(3)})
    exact = {"total": some(1)}
    table = Attributes({"age": ["a", "b", "c"]}).tabulation("age")
    who, lower = some(3)
    bounds = Bounds(table, who, lower.astype(float), lower + 5.0)
    for found in (cut_tree(tree, 1), cut_tree(tree, 9)):
        for part in (*found.parts, found.crown):
            units = part.units.tolist()
            given = part_of(
                Measurements(tree, (source, PartSource(source, TreePart(tuple(tree.depths)))), exact), part
            )
            for one in (*given.sources, PartSource(source, part)):
                assert read(one, part.size) == chosen(read(source, tree.size), units)
            held = {
                (query, unit): row
                for query, rows in given.exact.items()
                for unit, row in zip(*rows, strict=True)
            }
            every = {
                (query, unit): row for query, rows in exact.items() for unit, row in zip(*rows, strict=True)
            }
            assert held == chosen(every, units)
            wanted = np.arange(part.size)
            for mine, direct in zip(
                bounds.part(part).of(table, wanted), bounds.of(table, part.units), strict=True
            ):
                assert np.array_equal(mine, direct)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_part_of_a_file_is_what_selection_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streamed: bool
) -> None:
    """Also from another process: a part is sent there, and not the table. The file has many row groups."""
    monkeypatch.setattr(tables, "ROWS", 11)
    people, units = records(tmp_path, truth())
    measure(RELEASE, None, tmp_path / "m", records=people, units=units, format="parquet", rehearsal=1)
    one = read_published(tmp_path / "m", streamed=streamed)
    group = JointEstimates.of([one]).groups[0].estimates.given
    every = read(one.source, one.tree.size)
    for depth in (0, 1, 2):
        for most in (1, 4, 6):
            for part in cut_at(one.tree, depth, most).parts:
                here = part_of(group, part).sources[0]
                for source in (here, pickle.loads(pickle.dumps(here))):
                    assert read(source, part.size) == chosen(every, part.units.tolist())
