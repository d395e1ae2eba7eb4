"""Whole tables beside two other ways to make them: nowhere further from the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from table_designs import LABELS, sparse
from table_peers import chain_tables, textbook_tables

from discreet.estimation.whole.tables import WholeTables
from discreet.testing import NotPrivateSeededEntropy


def summed(cells: Any, label: Any) -> Any:
    return np.stack([cells[:, label == one].sum(axis=1) for one in range(label.max() + 1)], axis=1)


def test_peers_are_whole_and_add_up() -> None:
    design = sparse(1, 16, (3, 2), (20, 60, 300))
    estimates = design.estimates(NotPrivateSeededEntropy(2))
    parent = design.tree.parent
    for cells in (chain_tables(design, estimates), textbook_tables(design, estimates)):
        assert cells.min() >= 0
        assert cells.sum() > 0
        for above in range(int(parent.max()) + 1):
            assert np.array_equal(cells[above], cells[parent == above].sum(axis=0))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "variance", "sizes"), [(1, 16, (20, 60, 300)), (3, 40, (30, 100, 1000))])
def test_tables_are_nowhere_further_from_the_truth(seed: int, variance: int, sizes: tuple[int, ...]) -> None:
    """Mean squares by level and query over 200 releases (seed 5 of the noise), and the bias of large cells.

    A difference may be above zero by four standard errors of the paired differences: of 18 comparisons with
    no difference at all, one fails in 2,000 runs. Most are far below zero, which is tested, too.
    """
    design = sparse(seed, variance, (4, 4), sizes)
    source = NotPrivateSeededEntropy(5)
    squares: dict[tuple[int, str], dict[str, list[float]]] = {}
    large: list[float] = []
    for _ in range(200):
        estimates = design.estimates(source)
        tables = {
            "chain": chain_tables(design, estimates),
            "textbook": textbook_tables(design, estimates),
            "whole": WholeTables(estimates).rows("detailed", design.every),
        }
        for query in design.queries:
            truth = design.rows(query)
            for name, cells in tables.items():
                error = summed(cells, LABELS[query]) - truth
                for kind in range(3):
                    mine = squares.setdefault((kind, query), {}).setdefault(name, [])
                    mine.append(float((error[design.tree.kind == kind] ** 2).mean()))
        large.append(float((tables["whole"] - design.truth)[design.truth >= 100].mean()))
    better = 0
    for (kind, query), found in squares.items():
        for peer in ("chain", "textbook"):
            difference = np.array(found["whole"]) - np.array(found[peer])
            error = difference.std() / len(difference) ** 0.5
            assert difference.mean() <= 4 * error, (kind, query, peer)
            better += bool(difference.mean() < -4 * error)
    assert better >= 9
    assert abs(np.mean(large)) < 0.5
