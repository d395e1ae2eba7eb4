"""Random families of areas that are hard to solve, and a general solver for them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.areas.tree import Floats, Integers
from discreet.estimation.whole.family import UNBOUNDED, Family, Limits

SIZES = (1, 2, 3, 5, 8, 13, 24, 40, 60)


def random_family(
    rng: np.random.Generator,
    *,
    cells: int | None = None,
    children: int | None = None,
    largest: int = 60,
    plain: bool = False,
) -> Family:
    """Draw a family around a true table, so that it has a solution; a plain one has no bounds and limits."""
    sizes = [size for size in SIZES if size <= largest]
    S = cells or int(rng.choice(sizes))
    C = children or int(rng.choice([1, 2, 3, 5, 9, 20, 40], p=[0.1, 0.15, 0.2, 0.25, 0.15, 0.1, 0.05]))
    size = 10.0 ** rng.choice([0.5, 1, 2, 3, 8], p=[0.35, 0.3, 0.2, 0.1, 0.05])
    truth = np.where(
        rng.random((C, S)) < rng.random(), 0, rng.poisson(size * rng.random((C, S)) ** 3)
    ).astype(np.int64)
    labels = nested_labels(rng, S)
    K = int(rng.integers(1, min(C, 3) + 1))
    of = np.concatenate([np.arange(K), rng.integers(0, K, C - K)])
    spread = rng.choice([0.0, 1.0, 3.0])
    J = np.zeros((K, S, S))
    roots = []
    for k in range(K):
        parts = []
        for label in [*labels, rng.integers(0, max(1, S // 2), S)]:
            if rng.random() < 0.75:
                indicator = (label == np.arange(label.max() + 1)[:, None]).astype(float)
                variance = 10.0 ** rng.uniform(-spread, 2 * spread)
                parts.append(indicator / np.sqrt(variance))
        root = np.concatenate(parts) if parts else np.zeros((1, S))
        roots.append(root)
        J[k] = root.T @ root
    h = np.zeros((C, S))
    for c in range(C):
        root = roots[of[c]]
        h[c] = root.T @ (root @ truth[c] + rng.normal(size=len(root)) * rng.choice([0.3, 1.0, 3.0]))
    if rng.random() < 0.1:
        h = rng.normal(size=(C, S)) * np.sqrt(J[of].diagonal(axis1=1, axis2=2) + 0.1)  # not in the range of J
    parent = None if C == 1 and rng.random() < 0.3 else truth.sum(axis=0)
    if parent is None:
        h[0] = J[of[0]] @ (truth[0] + rng.normal(size=S))
    lower = upper = None
    if rng.random() < 0.3:
        upper = np.where((truth == 0) & (rng.random((C, S)) < 0.5), 0, UNBOUNDED)
    if rng.random() < 0.2:
        lower = np.where(rng.random((C, S)) < 0.2, np.maximum(truth - rng.integers(0, 3, (C, S)), 0), 0)
        upper = np.where(
            rng.random((C, S)) < 0.2,
            truth + rng.integers(0, 2, (C, S)),
            UNBOUNDED if upper is None else upper,
        )
    limits = []
    for number, label in enumerate([*labels, rng.integers(-1, 3, S)]):
        if rng.random() < (0.35 if number < len(labels) else 0.1) and label.max() >= 0:
            who = np.flatnonzero(rng.random(C) < rng.choice([0.3, 1.0]))
            indicator = label == np.arange(label.max() + 1)[:, None]
            sums = truth[who] @ indicator.T.astype(np.int64)
            room = rng.choice([0, 0, 0, 1, 5, UNBOUNDED // 4], (2, *sums.shape))
            limits.append(
                Limits(f"query {number}", label, who, np.maximum(sums - room[0], 0), sums + room[1])
            )
    if plain:
        return Family(J, of, h, truth.sum(axis=0))
    return Family(J, of, h, parent, lower, upper, limits, [f"area {c}" for c in range(C)])


def nested_labels(rng: np.random.Generator, S: int) -> list[Integers]:
    """Draw partitions of the cells, each finer than the one before: all together, groups, single cells."""
    groups = np.sort(rng.integers(0, max(1, min(S, 6)), S))
    groups = np.unique(groups, return_inverse=True)[1]
    return [np.zeros(S, np.int64), groups, np.arange(S)]


def general_solution(family: Family, reference: Floats) -> tuple[Floats, str]:
    """Solve with Clarabel, counted from a point so that large counts keep their digits."""
    import clarabel

    C, S = family.children, family.cells
    polytope = family.polytope
    pull = family.pull - family.times(reference)
    P = sparse.block_diag([family.information[k] for k in family.of], format="csc")
    identity = sparse.identity(C * S, format="csr")
    blocks, bounds, cones = [], [], []
    if polytope.parent is not None:
        blocks.append(sparse.hstack([sparse.identity(S)] * C))
        bounds.append(polytope.parent - reference.sum(axis=0))
    rows = sparse.block_diag([polytope.rows] * C, format="csr") if len(polytope.rows) else None
    sums = (reference @ polytope.rows.T).ravel()
    least, most = polytope.least.ravel() - sums, polytope.most.ravel() - sums
    low, high = (polytope.low - reference).ravel(), (polytope.high - reference).ravel()
    same = np.isfinite(least) & (least == most)
    fixed = low == high
    if rows is not None:
        blocks.append(rows[same])
        bounds.append(least[same])
    blocks.append(identity[fixed])
    bounds.append(low[fixed])
    cones.append(clarabel.ZeroConeT(sum(block.shape[0] for block in blocks)))
    equal = len(blocks)
    blocks.append(-identity[~fixed])
    bounds.append(-low[~fixed])
    some = ~fixed & np.isfinite(high)
    blocks.append(identity[some])
    bounds.append(high[some])
    if rows is not None:
        one, two = ~same & np.isfinite(least), ~same & np.isfinite(most)
        blocks += [-rows[one], rows[two]]
        bounds += [-least[one], most[two]]
    cones.append(clarabel.NonnegativeConeT(sum(block.shape[0] for block in blocks[equal:])))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 300
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sparse.triu(P, format="csc"),
        -pull.ravel(),
        sparse.vstack(blocks, format="csc"),
        np.concatenate(bounds),
        cones,
        settings,
    )
    found = solver.solve()
    return reference + np.array(found.x).reshape(C, S), str(found.status)


def excess_objective(family: Family, x: Floats, other: Floats) -> float:
    """Return by how much the objective at x exceeds that at another point, without losing digits."""
    d = x - other
    return float(np.vdot(d, family.times(other) - family.pull)) + 0.5 * float(np.vdot(d, family.times(d)))
