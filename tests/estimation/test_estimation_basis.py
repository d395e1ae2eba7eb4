"""The basis of an attribute: on contrasts every split is a number, and nothing ties the parts together."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.budget import Attributes, Recode
from discreet.budget.attributes import Groups
from discreet.estimation.basis import Basis
from discreet.estimation.model import Model
from discreet.estimation.projection import Projection


def indicator(size: int, split: Groups) -> np.ndarray:
    rows = np.zeros((len(split), size))
    for row, group in zip(rows, split, strict=True):
        row[list(group)] = 1.0
    return rows


def splits_of(random: np.random.Generator, size: int) -> list[Groups]:
    """Splits into runs, most of them of a few sizes, so that there are orbits; some leave values out."""
    found = []
    for _ in range(int(random.integers(1, 5))):
        width = int(random.choice([1, 2, 3, 4, 6]))
        edges = list(range(0, size, width))
        if random.random() < 0.5:
            edges = sorted({0, *random.choice(edges, size=min(3, len(edges)), replace=False).tolist()})
        groups = [tuple(range(a, b)) for a, b in zip(edges, [*edges[1:], size], strict=True)]
        if random.random() < 0.3 and len(groups) > 1:
            groups.pop(int(random.integers(len(groups))))
        found.append(tuple(groups))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_parts_are_apart(seed: int) -> None:
    random = np.random.default_rng([20261116, seed])
    size = int(random.integers(4, 25))
    splits = splits_of(random, size)
    basis = Basis(size, splits)
    assert np.allclose(basis.vectors @ basis.vectors.T, np.eye(size), atol=1e-12)
    for split in splits:
        rows = indicator(size, split) @ basis.vectors.T
        gram = rows.T @ rows
        for place, part in enumerate(basis.parts):
            block = gram[part, part]
            if place:
                assert np.allclose(block, block[0, 0] * np.eye(len(block)), atol=1e-12)
            gram[part, part] = 0.0
        assert np.allclose(gram, 0.0, atol=1e-12)


def test_orbits_make_main_parts_small() -> None:
    """Twelve months, quarters and halves: a quarter's months are an orbit, and so are a half's quarters."""
    quarters = tuple(tuple(range(3 * q, 3 * q + 3)) for q in range(4))
    halves = (tuple(range(6)), tuple(range(6, 12)))
    basis = Basis(12, [quarters, halves])
    assert [basis.width(part) for part in range(len(basis.parts))] == [2, 2, 8]


@pytest.mark.parametrize("seed", range(20))
def test_kinds_of_cells_have_the_weights_of_all_cells(seed: int) -> None:
    """v'Mw of every cell v of one query and a cell w of another, by the definition and by kinds."""
    random = np.random.default_rng([17, seed])
    sizes = (int(random.integers(4, 13)), int(random.integers(2, 5)))
    people = Attributes(
        dict(zip("ab", sizes, strict=True)),
        recodes={f"r{place}": recode_of(random, sizes[0]) for place in range(3)},
    )
    queries = ["detailed", "r0 * b", "r1", "r2 * b", "b", "total"]
    model = Model(people, queries)
    moves = [
        matrix @ matrix.T for matrix in (random.normal(size=(one.size,) * 2) for one in model.components)
    ]
    for one, two in [("detailed", "detailed"), ("r0 * b", "r1"), ("r1", "detailed"), ("b", "r2 * b")]:
        mine, its = model.projections[one], model.projections[two]
        assert isinstance(mine, Projection)
        assert isinstance(its, Projection)
        left, right = mine.collect(np.eye(mine.cells)), its.collect(np.eye(its.cells))
        expected = sum(
            np.einsum("vsc,st,wtc->vw", v, M, w) for v, M, w in zip(left, moves, right, strict=True)
        )
        columns = its.columns(np.arange(len(its.class_sizes)))
        rows = [(moves[part] @ row)[None] for part, row in zip(columns.components, columns.rows, strict=True)]
        found, counts = mine.weights(its, rows, columns)
        for place in range(len(its.class_sizes)):
            cell = int(np.argmax(its.classes == place))
            spelled = np.repeat(found[0, place], counts[place].astype(int))
            assert np.allclose(np.sort(spelled), np.sort(expected[:, cell]), atol=1e-9)


def recode_of(random: np.random.Generator, size: int) -> Recode:
    width = int(random.choice([1, 2, 3]))
    edges = list(range(0, size, width))
    pairs = zip(edges, [*edges[1:], size], strict=True)
    return Recode("a", {f"g{a}": [str(value) for value in range(a, b)] for a, b in pairs})
