"""Totals before cells: non-negative cells must not pull the totals of their areas.

Of all that is printed, totals are measured best and used most. Where cells are kept from being negative, what
is cut off in some would go to the totals: an area with many empty cells gains people, and large areas lose
them. So the children's totals are settled first, from all that is known about them, and their cells within
these. In trees of sparse counts the mean square error of totals then is that of the unconstrained estimates,
the other tables lose nothing, and large cells are biased less (tests/estimation/test_table_comparison.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.areas.tree import Integers
from discreet.estimation.whole.family import Family, Limits
from discreet.estimation.whole.minimum import solve_family
from discreet.estimation.whole.rounding import round_family

NAME = "total"
SMALL = 1e-9
"""Information below this, relative to the largest, is none."""


def with_totals(family: Family, ties: Integers) -> Family:
    """Return the same family with the total of each child settled: whole, not negative, adding up.

    A family that has limits already, or cells of which nothing is known, is returned as it is.

    >>> h = np.array([[4.0, 1.0, -2.0], [2.0, -1.0, -2.0]])
    >>> family = Family(np.eye(3)[None], np.array([0, 0]), h, np.array([3, 1, 1]))
    >>> with_totals(family, np.zeros((2, 3), np.int64)).limits[0].lower.ravel().tolist()
    [4, 1]
    """
    if family.limits or family.lower is not None or family.upper is not None or family.cells == 1:
        return family
    values, vectors = np.linalg.eigh(family.information)
    if np.any(values[:, 0] <= SMALL * values[:, -1]):
        return family
    along = vectors.sum(axis=1)
    variance = (along**2 / values).sum(axis=1)[family.of]
    inside = np.einsum("cij,ci->cj", vectors[family.of], family.pull) / values[family.of]
    wish = (inside * along[family.of]).sum(axis=1)
    sizes, of = np.unique(variance, return_inverse=True)
    parent = None if family.parent is None else family.parent.sum(keepdims=True)
    totals = Family(1.0 / sizes[:, None, None], of.ravel(), (wish / variance)[:, None], parent)
    whole = round_family(solve_family(totals).x, totals, (), ties[:, :1])
    everyone = np.arange(family.children)
    limit = Limits(NAME, np.zeros(family.cells, dtype=np.int64), everyone, whole, whole)
    return replace(family, limits=(limit,))
