"""Two other ways to whole tables, to compare with: the chain of versions before, and the textbook's pass.

`chain_tables` settles totals from the top down, then splits each group along a nested chain of attributes,
with alternating projections (Dykstra) and a flow for rounding, all deviations weighted alike.
`textbook_tables` goes from the top down too, but one level at a time: each family is solved with the
measurements of its own level alone, within the cells of its parent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix
from table_designs import LABELS, Design

from discreet.estimation.estimates import Estimates
from discreet.estimation.whole.family import Family
from discreet.estimation.whole.minimum import solve_family
from discreet.estimation.whole.rounding import round_family


def textbook_tables(design: Design, estimates: Estimates) -> Any:
    """Detailed cells, each level from its own measurements within the level above."""
    tree = design.tree
    information = np.zeros((len(design.laws), 8, 8))
    pull = np.zeros((tree.size, 8))
    for query, who, rows in estimates.given.sources[0].read(slice(0, tree.size)):
        counts = (LABELS[query] == np.arange(LABELS[query].max() + 1)[:, None]).astype(float)
        for kind, laws in enumerate(design.laws):
            if query in laws:
                variance = laws[query].true_variance()
                information[kind] += counts.T @ counts / variance
                mine = tree.kind[who] == kind
                pull[who[mine]] += rows[mine] @ counts / variance
    whole = np.zeros((tree.size, 8), dtype=np.int64)
    rng = np.random.default_rng(0)
    chain = [LABELS["total"], LABELS["age"]]
    for above in range(-1, int(tree.parent.max()) + 1):
        units = np.flatnonzero(tree.parent == above)
        kind = tree.kind[units[:1]]
        own = None if above < 0 else whole[above]
        if own is not None and not own.any():
            continue
        family = Family(information[kind], np.zeros(len(units), dtype=np.int64), pull[units], own)
        ties = rng.integers(0, 2**31, (len(units), 8))
        whole[units] = round_family(solve_family(family).x, family, chain, ties)
    return whole


def chain_tables(design: Design, estimates: Estimates) -> Any:
    """Detailed cells as before: totals first, then along the attributes."""
    tree, cells = design.tree, estimates.values("detailed")
    totals = _totals(cells.sum(axis=1), tree.parent)
    whole = np.zeros(cells.shape, dtype=np.int64)
    for above in range(-1, int(tree.parent.max()) + 1):
        units = np.flatnonzero(tree.parent == above)
        settled, label = totals[units][:, None], np.zeros(8, dtype=np.int64)
        for finer in (np.arange(8) // 4, np.arange(8)):
            wish = _sums(cells[units], finer)
            parts = np.zeros(wish.shape, dtype=np.int64)
            outer = np.zeros(wish.shape[1], dtype=np.int64)
            outer[finer] = label
            for group in range(settled.shape[1]):
                mine = np.flatnonzero(outer == group)
                rows = settled[:, group]
                if above < 0:
                    near = _simplex(wish[:, mine], rows.astype(float))
                    parts[0, mine] = _round_row(near[0], int(rows[0]))
                else:
                    columns = _sums(whole[above : above + 1], finer)[0, mine]
                    near = _nearest(wish[:, mine], rows.astype(float), columns)
                    parts[:, mine] = _round_table(near, rows, columns.astype(np.int64))
            settled, label = parts, finer
        whole[units] = settled
    return whole


def _sums(values: Any, label: Any) -> Any:
    return np.stack([values[:, label == one].sum(axis=1) for one in range(label.max() + 1)], axis=1).astype(
        float
    )


def _totals(wish: Any, parent: Any) -> Any:
    number = np.zeros(len(wish), dtype=np.int64)
    number[0] = max(0, round(float(wish[0])))
    for above in range(int(parent.max()) + 1):
        units = np.flatnonzero(parent == above)
        share = _simplex(wish[units][None], np.array([float(number[above])]))[0]
        number[units] = _round_row(share, int(number[above]))
    return number


def _simplex(wish: Any, sums: Any) -> Any:
    order = -np.sort(-wish, axis=1)
    excess = (np.cumsum(order, axis=1) - sums[:, None]) / np.arange(1, wish.shape[1] + 1)
    last = np.maximum((order > excess).sum(axis=1) - 1, 0)
    shift = excess[np.arange(len(wish)), last]
    return np.where(sums[:, None] > 0, np.maximum(wish - shift[:, None], 0.0), 0.0)


def _nearest(wish: Any, rows: Any, columns: Any) -> Any:
    x, p, q = wish.copy(), np.zeros_like(wish), np.zeros_like(wish)
    for _ in range(300):
        y = _simplex(x + p, rows)
        p = x + p - y
        x = _simplex((y + q).T, columns).T
        q = y + q - x
        if np.max(np.abs(x.sum(axis=1) - rows)) < 1e-6:
            break
    return x


def _round_row(values: Any, total: int) -> Any:
    down = np.floor(values + 1e-9).astype(np.int64)
    order = np.argsort(-(values - down), kind="stable")
    down[order[: total - int(down.sum())]] += 1
    return down


def _round_table(values: Any, rows: Any, columns: Any) -> Any:
    near = np.rint(values)
    values = np.where(np.abs(values - near) < 1e-6, near, values)
    down = np.floor(values).astype(np.int64)
    left = np.concatenate([rows - down.sum(axis=1), columns - down.sum(axis=0)]).astype(float)
    if not left.any():
        return down
    part = (values - down).ravel()
    at, of = np.nonzero(np.ones_like(values))
    index = np.arange(part.size)
    matrix = coo_matrix(
        (np.ones(2 * part.size), (np.concatenate([at, len(rows) + of]), np.concatenate([index, index])))
    )
    for most in (np.where(part > 0, 1.0, 0.0), np.full(part.size, np.inf)):
        least = -down.ravel() * np.isinf(most)
        found = linprog(1 - 2 * part, A_eq=matrix.tocsr(), b_eq=left, bounds=np.column_stack([least, most]))
        if found.status == 0:
            return down + np.rint(found.x).astype(np.int64).reshape(values.shape)
    raise AssertionError("no whole table was found")
