"""One component solved on the tree of units: beliefs go up, come down, and meet.

A belief (Pi, z, V) about a unit's x says that Pi x is z plus an error with covariance V, where Pi is a
projector; about the rest nothing is known. V is zero on a space E (held exact), Pi may be less than the
identity (not measured), and both may happen at once. The spaces follow from which queries are measured or
held, not from the sizes of variances, so ranks are known and rounding errors are never inverted. There are
two operations:

    sum       x = sum of x_i:    Pi projects on the common range of all Pi_i, z = Pi sum z_i,
                                 V = Pi (sum V_i) Pi
    combine   the same x twice:  best linear unbiased estimate from both, with N an orthonormal basis of the
                                 combinations of the rows D = [Pi_1; Pi_2] that cancel, S = diag(V_1, V_2):
                                 z = G y, V = G S G' with G = D+ (I - S N (N'S N)+ N').

Upwards, a unit's belief combines its own measurements with the sum of its children. Downwards, if everything
is determined from below, W is the covariance of the sum of the children, S its value, and

    K = V W+,   x = z + K (x_parent - S),   P = V - K (W - P_parent) K'.

Otherwise a child learns from outside its parent's own and outer belief minus the sum of its siblings, and
combines that with its own. What lies outside the final Pi is not determined by any measurement. This solves
the normal equations over the whole tree exactly, visiting each unit twice.

Covariances do not depend on the data, and siblings with equal subtrees share them: the tree is folded, so
that such siblings are one node with a `count`. In a plan without data, counts may be fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from discreet.areas.tree import Floats, Integers, Tree

SMALL = 1e-10
"""Values below this, relative to the largest, are rounding errors: queries are matrices of zeros and ones."""


class Spaces:
    """Distinct projectors by number: a component has few of them, however many units there are."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.projectors: list[Floats] = []
        self._numbers: dict[bytes, int] = {}
        self.nothing = self.number(np.zeros((size, size)))
        self.everything = self.number(np.eye(size))
        self._meets: dict[frozenset[int], int] = {}
        self._joins: dict[tuple[int, int], int] = {}
        self._pairs: dict[tuple[int, int, int, int], Pair] = {}

    def number(self, projector: Floats) -> int:
        """Return the number of a projector."""
        key = (np.round(projector, 6) + 0.0).tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.projectors)
            self.projectors.append(projector)
        return self._numbers[key]

    def range(self, matrix: Floats) -> int:
        """Return the range of a symmetric matrix with well-scaled entries."""
        values, vectors = np.linalg.eigh(matrix)
        inside = (
            vectors[:, values > SMALL * max(float(values[-1]), 1e-300)] if values[-1] > 0 else vectors[:, :0]
        )
        return self.number(inside @ inside.T)

    def meet(self, numbers: frozenset[int]) -> int:
        """Return the intersection of the spaces."""
        if len(numbers) == 1:
            return next(iter(numbers))
        if numbers not in self._meets:
            missing = sum((np.eye(self.size) - self.projectors[number] for number in numbers), np.zeros(()))
            values, vectors = np.linalg.eigh(missing)
            inside = vectors[:, values < 1e-8]
            self._meets[numbers] = self.number(inside @ inside.T)
        return self._meets[numbers]

    def join(self, first: int, second: int) -> int:
        """Return the sum of two spaces."""
        if first == second or second == self.nothing:
            return first
        if (first, second) not in self._joins:
            self._joins[first, second] = self.range(self.projectors[first] + self.projectors[second])
        return self._joins[first, second]

    def pair(self, first: int, second: int, exact1: int, exact2: int) -> Pair:
        """Return how two beliefs combine, from what they determine and what they hold exact."""
        key = (first, second, exact1, exact2)
        if key not in self._pairs:
            R1, R2 = (_rows(self.projectors[which]) for which in (first, second))
            D = np.vstack([R1, R2])
            left, sizes, right = np.linalg.svd(D)
            rank = int(np.sum(sizes > 1e-8))
            N = np.asarray(left[:, rank:], dtype=np.float64)
            held = np.zeros((len(D), len(D)))
            held[: len(R1), : len(R1)] = R1 @ self.projectors[exact1] @ R1.T
            held[len(R1) :, len(R1) :] = R2 @ self.projectors[exact2] @ R2.T
            if N.shape[1]:
                # combinations of rows that both beliefs hold exact have no error, so no weight is needed
                values, vectors = np.linalg.eigh(N.T @ (np.eye(len(D)) - held) @ N)
                N = N @ vectors[:, values > 1e-8]
            inverse = np.asarray(np.linalg.pinv(D, rcond=1e-8), dtype=np.float64)
            number = self.number(right[:rank].T @ right[:rank])
            self._pairs[key] = Pair(number, self.join(exact1, exact2), R1, R2, inverse, N)
        return self._pairs[key]


@dataclass(frozen=True, slots=True)
class Pair:
    """What two beliefs together determine and hold exact, bases of both, D+, and N less error-free rows."""

    number: int
    exact: int
    R1: Floats
    R2: Floats
    inverse: Floats
    N: Floats


def _rows(projector: Floats) -> Floats:
    values, vectors = np.linalg.eigh(projector)
    return np.asarray(vectors[:, values > 0.5].T, dtype=np.float64)


def _inverse(matrices: Floats, exact: Floats) -> Floats:
    """Invert symmetric matrices where they are not zero; `exact` projects on where they are."""
    if not np.any(exact):
        return np.asarray(np.linalg.inv(matrices), dtype=np.float64)
    Q = _rows(np.eye(len(exact)) - exact).T
    inverse: Floats = Q @ np.linalg.inv(Q.T @ matrices @ Q) @ Q.T
    return inverse


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about units of one kind in this component: information J, and exact rows."""

    information: Floats
    """J: the sum of G/s over the queries."""
    measured: Floats
    """The sum of the G: it has the range of J, and is well scaled."""
    exact: Floats | None = None
    """The sum of the G of queries held exact."""


@dataclass(frozen=True, slots=True)
class Own:
    """Own beliefs by kind: what they determine and hold exact, their means as operators on h = sum Q'y/s and
    on the sum t of Q't of exact rows, and their covariances."""

    space: Integers
    exact: Integers
    h: Floats
    t: Floats
    V: Floats


@dataclass
class Solution:
    """Covariances at each node, and the operators that take data up and down; see the module docstring."""

    P: Floats
    known: Integers
    """The number of the space determined at each node."""
    spaces: Spaces
    beliefs: Own
    V: Floats
    """The covariance at each node from measurements at and below it."""
    up_own: Floats
    up_sum: Floats
    held: Integers
    """The number of the space known exactly at each node, from counts held exact there or elsewhere."""
    below: Integers
    """The number of the space determined at each node by measurements at and below it, and ..."""
    below_held: Integers
    """... of the space known exactly from counts held exact at and below it."""
    gain: Floats | None = None
    """K at each node if everything is determined from below; otherwise `outer` is used."""
    outer: dict[str, Floats] = field(default_factory=dict)

    def own(self, kind: Integers, h: Floats, t: Floats | None = None) -> Floats:
        """Return the own beliefs of units of these kinds from their data h, and t of exact rows."""
        beliefs: Floats = self.beliefs.h[kind] @ h
        if t is not None:
            beliefs += self.beliefs.t[kind] @ t
        return beliefs

    def information(self, nodes: Integers) -> Floats:
        """Return at some nodes the information of measurements at and below them: the inverse of V where it
        is not zero. What is held exact, and what is not determined from below, has none."""
        information = np.zeros((len(nodes), self.spaces.size, self.spaces.size))
        pairs = np.column_stack([self.below[nodes], self.below_held[nodes]])
        for pair in np.unique(pairs, axis=0):
            known, held = (self.spaces.projectors[number] for number in pair)
            Q = _rows(known - held).T
            at = np.flatnonzero(np.all(pairs == pair, axis=1))
            information[at] = Q @ np.linalg.inv(Q.T @ self.V[nodes[at]] @ Q) @ Q.T
        return information

    def open(self) -> Floats:
        """Return by kind the projectors on what the own belief determines with an error."""
        every = np.stack(self.spaces.projectors)
        projectors: Floats = every[self.beliefs.space] - every[self.beliefs.exact]
        return projectors

    def nulls(self) -> Floats:
        """Return at each node the projector on what is not determined."""
        return self._without(self.known)

    def uncertain(self) -> Floats:
        """Return at each node the projector on what is not exact."""
        return self._without(self.held)

    def _without(self, space: Integers) -> Floats:
        complements = np.stack([np.eye(self.spaces.size) - projector for projector in self.spaces.projectors])
        return complements[space]


def combine(
    spaces: Spaces, first: int, exact1: int, V1: Floats, second: int, exact2: int, V2: Floats
) -> tuple[int, int, Floats, Floats, Floats]:
    """Combine two beliefs at many nodes; return both spaces, X1 and X2 with z = X1 z1 + X2 z2, and V."""
    pair = spaces.pair(first, second, exact1, exact2)
    R1, R2, N = pair.R1, pair.R2, pair.N
    nodes, k1, k2 = len(V1), len(R1), len(R2)
    S = np.zeros((nodes, k1 + k2, k1 + k2))
    S[:, :k1, :k1] = R1 @ V1 @ R1.T
    S[:, k1:, k1:] = R2 @ V2 @ R2.T
    G = np.broadcast_to(pair.inverse, (nodes, *pair.inverse.shape))
    if N.shape[1]:
        SN = S @ N
        G = G - pair.inverse @ SN @ np.linalg.inv(N.T @ SN) @ N.T
    V = G @ S @ np.swapaxes(G, 1, 2)
    V = (V + np.swapaxes(V, 1, 2)) / 2
    return pair.number, pair.exact, G[:, :, :k1] @ R1, G[:, :, k1:] @ R2, V


def solve(shape: Tree, kinds: Sequence[Evidence]) -> Solution:
    """Return the covariances and operators of one component."""
    size = len(kinds[0].information)
    spaces = Spaces(size)
    own = _own(kinds, spaces)
    V = own.V[shape.kind]
    space, exact = own.space[shape.kind], own.exact[shape.kind]
    up_own = np.broadcast_to(np.eye(size), (shape.size, size, size)).copy()
    up_sum, W = np.zeros((shape.size, size, size)), np.zeros((shape.size, size, size))
    sums, sums_exact = np.full(shape.size, -1), np.full(shape.size, -1)
    for part in reversed(shape.depths[1:]):
        above = shape.parent[part]
        parents, order = np.unique(above), np.argsort(above, kind="stable")
        begin = np.searchsorted(above[order], parents)
        W[parents] = np.add.reduceat((V[part] * shape.count[part, None, None])[order], begin, axis=0)
        sums[parents] = _meets(spaces, space[part][order], begin)
        sums_exact[parents] = _meets(spaces, exact[part][order], begin)
        mine = shape.kind[parents]
        keys = np.column_stack([own.space[mine], own.exact[mine], sums[parents], sums_exact[parents]])
        for key in np.unique(keys, axis=0):
            at = parents[np.all(keys == key, axis=1)]
            through = spaces.projectors[key[2]]
            W[at] = through @ W[at] @ through
            space[at], exact[at], X1, X2, V[at] = combine(
                spaces, key[0], key[1], own.V[shape.kind[at]], key[2], key[3], W[at]
            )
            up_own[at], up_sum[at] = X1, X2 @ through
    held = _held(shape, spaces, own.exact[shape.kind], exact)
    solution = Solution(V.copy(), space, spaces, own, V, up_own, up_sum, held, space, exact)
    if not np.all(space == spaces.everything):
        _from_outside(shape, solution, exact)
        return solution
    P, K = solution.P, np.zeros_like(V)
    for part in shape.depths[1:]:
        above = shape.parent[part]
        for both in np.unique(sums_exact[above]):
            at = np.arange(part.start, part.stop)[sums_exact[above] == both]
            up = shape.parent[at]
            K[at] = V[at] @ _inverse(W[up], spaces.projectors[both])
            P[at] = V[at] - K[at] @ (W[up] - P[up]) @ np.swapaxes(K[at], 1, 2)
    solution.gain = K
    return solution


def _own(kinds: Sequence[Evidence], spaces: Spaces) -> Own:
    size, many = spaces.size, len(kinds)
    space, exact = np.zeros(many, dtype=np.int64), np.full(many, spaces.nothing)
    of_h, of_t, own_cov = (np.zeros((many, size, size)) for _ in range(3))
    alike: dict[tuple[bytes, bytes], list[int]] = {}
    for position, kind in enumerate(kinds):
        held = kind.exact if kind.exact is not None and np.any(kind.exact) else np.zeros(0)
        alike.setdefault((kind.measured.tobytes(), held.tobytes()), []).append(position)
    for places in alike.values():
        first = kinds[places[0]]
        number = spaces.range(first.measured)
        U = _rows(spaces.projectors[number]).T
        information = np.stack([kinds[place].information for place in places])
        V = U @ np.linalg.inv(U.T @ information @ U) @ U.T
        space[places] = number
        of_h[places] = own_cov[places] = V
        if first.exact is not None and np.any(first.exact):
            holds = spaces.range(first.exact)
            A = _rows(spaces.projectors[holds]).T
            reach = A @ np.linalg.inv(A.T @ first.exact @ A) @ A.T
            space[places], exact[places], X1, X2, own_cov[places] = combine(
                spaces, number, spaces.nothing, V, holds, holds, np.zeros_like(V)
            )
            of_h[places], of_t[places] = X1 @ V, X2 @ reach
    return Own(space, exact, of_h, of_t, own_cov)


def _meets(spaces: Spaces, space: Integers, begin: Integers) -> Integers:
    """Return for each family the intersection of its members' spaces."""
    if np.all(space == space[0]):
        return np.full(len(begin), space[0])
    ends = [*begin.tolist(), len(space)]
    return np.array([spaces.meet(frozenset(space[a:b].tolist())) for a, b in pairwise(ends)])


def _held(shape: Tree, spaces: Spaces, own: Integers, below: Integers) -> Integers:
    """Return the space known exactly at each node, from the spaces exact at it alone, and at and below it.

    From outside a unit learns its parent minus its siblings, which is exact where all of those are.
    """
    held, around = below.copy(), own.copy()
    if np.all(own == spaces.nothing):
        return held
    families: dict[int, list[int]] = {}
    for node in np.flatnonzero(shape.parent >= 0).tolist():
        families.setdefault(int(shape.parent[node]), []).append(node)
    for above, family in sorted(families.items()):
        outside = _shared(spaces, int(around[above]), below[family], shape.count[family])
        for node, space in zip(family, outside, strict=True):
            held[node] = spaces.join(int(below[node]), space)
            around[node] = spaces.join(int(own[node]), space)
    return held


def _from_outside(shape: Tree, solution: Solution, exact: Integers) -> None:
    """Take beliefs down, family by family, where units are not determined from below."""
    spaces, own, V, space = solution.spaces, solution.beliefs, solution.V, solution.known
    P, known = solution.P, space.copy()
    around, around_space = own.V[shape.kind].copy(), own.space[shape.kind].copy()
    around_exact = own.exact[shape.kind].copy()
    names = ("around_own", "around_out", "out", "x_up", "x_out")
    outer = {name: np.zeros_like(V) for name in names}
    outer["around_own"][:] = outer["x_up"][:] = np.eye(spaces.size)
    for part in shape.depths[1:]:
        nodes = np.arange(part.start, part.stop)
        nodes = nodes[np.argsort(shape.parent[part], kind="stable")]
        above = shape.parent[nodes]
        out, through, held = np.zeros((len(nodes), spaces.size, spaces.size)), nodes.copy(), nodes.copy()
        edges = np.flatnonzero(np.diff(above, prepend=-1, append=-1))
        for a, b in pairwise(edges.tolist()):
            u, family = int(above[a]), nodes[a:b]
            out[a:b] = around[u] + _of_others(V[family], shape.count[family])
            through[a:b] = _shared(spaces, int(around_space[u]), space[family], shape.count[family])
            held[a:b] = _shared(spaces, int(around_exact[u]), exact[family], shape.count[family])
        kinds = shape.kind[nodes]
        keys = np.column_stack(
            [space[nodes], exact[nodes], through, held, own.space[kinds], own.exact[kinds]]
        )
        distinct, of = np.unique(keys, axis=0, return_inverse=True)
        for number, (kind, one_exact, Pi_of, Pi_exact, mine, mine_exact) in enumerate(distinct.tolist()):
            at = np.flatnonzero(of.ravel() == number)
            i, Pi = nodes[at], spaces.projectors[Pi_of]
            outside = Pi @ out[at] @ Pi
            outer["out"][i] = Pi
            known[i], _, outer["x_up"][i], outer["x_out"][i], P[i] = combine(
                spaces, kind, one_exact, V[i], Pi_of, Pi_exact, outside
            )
            around_space[i], around_exact[i], by_own, by_out, around[i] = combine(
                spaces, mine, mine_exact, own.V[kinds[at]], Pi_of, Pi_exact, outside
            )
            outer["around_own"][i], outer["around_out"][i] = by_own, by_out
    solution.known, solution.outer = known, outer


def _of_others(V: Floats, count: Floats) -> Floats:
    """Return for each member of a family the sum over its siblings, without taking differences of sums."""
    many = count[:, None, None] * V
    before, after = np.cumsum(many, axis=0), np.cumsum(many[::-1], axis=0)[::-1]
    total: Floats = (count - 1.0)[:, None, None] * V
    total[1:] += before[:-1]
    total[:-1] += after[1:]
    return total


def _shared(spaces: Spaces, above: int, space: Integers, count: Floats) -> list[int]:
    """Return for each member of a family what the parent and all of its siblings have in common."""
    often: dict[int, float] = {}
    for index, many in zip(space.tolist(), count.tolist(), strict=True):
        often[index] = often.get(index, 0.0) + many
    number_of = {}
    for index in often:
        others = (other for other, many in often.items() if many > (other == index))
        number_of[index] = spaces.meet(frozenset([above, *others]))
    return [number_of[key] for key in space.tolist()]


class Passes:
    """The data of one component, taken up through the tree and down again.

    Held in memory are all units, or all but those of the last depth. In the second case `below` has the sums
    of the last depth by parent, and `down` returns estimates for any of its units. `own` are the own beliefs
    of the units held (unit, size, columns).
    """

    def __init__(
        self,
        solution: Solution,
        tree: Tree,
        node: Integers,
        own: Floats,
        below: Floats | None = None,
    ) -> None:
        self._solution = solution
        parent, units = tree.parent, len(own)
        depths = [part for part in tree.depths if part.start < units]
        z = own if below is None and len(depths) == 1 else own.copy()
        S = np.zeros_like(own) if below is None else below
        for depth in range(len(depths) - 1, -1, -1):
            part = depths[depth]
            if below is not None or depth + 1 < len(depths):
                at = node[part]
                z[part] = solution.up_own[at] @ own[part] + solution.up_sum[at] @ S[part]
            if part.start:
                begin = np.flatnonzero(np.diff(parent[part], prepend=-1))
                S[parent[part][begin]] += np.add.reduceat(z[part], begin, axis=0)
        self.S, self.x = S, z
        self._around = own.copy() if solution.gain is None else None
        for part in depths[1:]:
            self.x[part] = self.down(parent[part], node[part], z[part], own[part], part)

    def down(
        self, above: Integers, node: Integers, z: Floats, own: Floats, units: slice | None = None
    ) -> Floats:
        """Return the estimates of units from those of their parents; `z` are beliefs from at and below them.

        `units` are their indices among the units held, if they are held."""
        solution = self._solution
        if solution.gain is not None:
            return z + solution.gain[node] @ (self.x[above] - self.S[above])
        outer = solution.outer
        assert self._around is not None
        out = outer["out"][node] @ (self._around[above] - (self.S[above] - z))
        if units is not None:
            self._around[units] = outer["around_own"][node] @ own + outer["around_out"][node] @ out
        estimates: Floats = outer["x_up"][node] @ z + outer["x_out"][node] @ out
        return estimates


def tree_estimate(
    solution: Solution, tree: Tree, node: Integers, h: Floats, t: Floats | None = None
) -> Floats:
    """Return the estimates (unit, size, columns) from data h, and t of exact rows, of the same form."""
    return Passes(solution, tree, node, solution.own(tree.kind, h, t)).x


def sum_weights(
    solution: Solution, tree: Tree, node: Integers, units: Integers, weights: Floats | None = None
) -> Floats:
    """Return A (unit, size, size) such that the sum of A'z over all units, with z their own beliefs, is the
    sum of the estimates of `units`, or their weighted sum.

    This runs the passes backwards. Own beliefs are independent, with covariances `own_cov`, so the sum of
    A'VB is the covariance of two such sums, whatever is measured at the units themselves.
    """
    parent, size = tree.parent, solution.spaces.size
    x, z, S, own, around = (np.zeros((tree.size, size, size)) for _ in range(5))
    x[units] = np.eye(size) if weights is None else weights[:, None, None] * np.eye(size)
    for part in reversed(tree.depths[1:]):
        at = node[part]
        begin = np.flatnonzero(np.diff(parent[part], prepend=-1))
        above = parent[part][begin]
        if solution.gain is not None:
            z[part] += x[part]
            back = _turned(solution.gain[at]) @ x[part]
            x[above] += np.add.reduceat(back, begin, axis=0)
        else:
            outer = {name: _turned(matrices[at]) for name, matrices in solution.outer.items()}
            back = outer["x_out"] @ x[part] + outer["around_out"] @ around[part]
            back = outer["out"] @ back
            own[part] += outer["around_own"] @ around[part]
            z[part] += outer["x_up"] @ x[part] + back
            around[above] += np.add.reduceat(back, begin, axis=0)
        S[above] -= np.add.reduceat(back, begin, axis=0)
    top = tree.depths[0]
    z[top] += x[top]
    own[top] += around[top]
    for part in tree.depths:
        if part.start:
            z[part] += S[parent[part]]
        at = node[part]
        own[part] += _turned(solution.up_own[at]) @ z[part]
        S[part] += _turned(solution.up_sum[at]) @ z[part]
    return own


def _turned(matrices: Floats) -> Floats:
    return np.swapaxes(matrices, 1, 2)
