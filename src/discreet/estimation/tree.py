"""One component on the tree of units: beliefs go up, come down, and meet.

A belief about a unit's x says (Pi, z, V): what the projector Pi lets through is z plus an error of covariance V,
and nothing is known of the rest. V may be singular (held exact), Pi may be less than the identity (not
measured); both at once are allowed. Beliefs do two things:

    sum       x = sum of x_i:    Pi projects on what all Pi_i let through, z = Pi sum z_i, V = Pi (sum V_i) Pi
    combine   the same x twice:  best linear unbiased estimate from both, with N an orthonormal basis of the
                                 combinations of the rows D = [Pi_1; Pi_2] that cancel, S = diag(V_1, V_2):
                                 z = G y, V = G S G' with G = D+ (I - S N (N'S N)+ N').

Upwards, a unit's belief combines its own measurements with the sum of its children. Downwards, if everything
is determined from below, W is the covariance of the sum of the children, S its value, and

    K = V W+,   x = z + K (x_parent - S),   P = V - K (W - P_parent) K'.

Otherwise what a child learns from outside is its parent's own and outer belief minus the sum of its siblings,
and that is combined with its own. What lies outside the final Pi is not determined by any measurement.
This is the exact solution of the normal equations over the whole tree: each unit is touched twice.

Covariances do not depend on the data, and siblings whose subtrees look the same share them: a `Shape` is the
tree with such siblings as one node that has a `count`. For a plan without data counts may be fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.estimation.components import SMALL, Floats

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """Nodes from the top down: the parent of each (-1: none), its kind, how many such units a parent has."""

    parent: Integers
    kind: Integers
    count: Floats
    starts: tuple[int, ...]
    """The first node of each depth."""

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.parent)

    @cached_property
    def depths(self) -> list[slice]:
        """The nodes of each depth, from the top down."""
        return [slice(a, b) for a, b in zip(self.starts, (*self.starts[1:], self.size), strict=True)]

    @classmethod
    def chain(cls, children: Sequence[float]) -> Shape:
        """Return a uniform tree: one top unit, and so many children for every unit of each level."""
        many = len(children) + 1
        count = np.array([1.0, *children])
        return cls(np.arange(-1, many - 1), np.arange(many), count, tuple(range(many)))

    @classmethod
    def of(
        cls, parent: Integers, kind: Integers, starts: Sequence[int]
    ) -> tuple[Shape, Integers]:
        """Fold the siblings that look the same; also return the node of each unit.

        Units come from the top down, those of one parent together; `starts` are the first of each depth.

        >>> shape, node = Shape.of(np.array([-1, 0, 0, 0]), np.array([0, 1, 1, 2]), (0, 1))
        >>> shape.count.tolist(), node.tolist()
        ([1.0, 2.0, 1.0], [0, 1, 1, 2])
        """
        size = len(parent)
        depths = [slice(a, b) for a, b in zip(starts, (*starts[1:], size), strict=True)]
        look = np.zeros(size, dtype=np.int64)
        known: dict[bytes, int] = {}
        below: dict[int, bytes] = {}
        for part in reversed(depths):
            rows = range(part.start, part.stop)
            keys = [kind[unit].tobytes() + below.get(unit, b"") for unit in rows]
            look[part] = [known.setdefault(key, len(known)) for key in keys]
            if part.start:
                pairs, many = np.unique(
                    np.column_stack([parent[part], look[part]]), axis=0, return_counts=True
                )
                edges = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
                ends = [*edges[1:], len(pairs)]
                for a, b in zip(edges, ends, strict=True):
                    below[int(pairs[a, 0])] = pairs[a:b, 1].tobytes() + many[a:b].tobytes()
        node = np.zeros(size, dtype=np.int64)
        made: list[tuple[Integers, Integers, Floats]] = []
        first, firsts = 0, []
        for part in depths:
            above = node[parent[part]] if part.start else np.full(part.stop - part.start, -1)
            if not part.start:  # units without a parent are not siblings
                above = -1 - np.arange(part.stop - part.start)
            pairs, at, of, many = np.unique(
                np.column_stack([above, look[part]]),
                axis=0,
                return_index=True,
                return_inverse=True,
                return_counts=True,
            )
            node[part] = first + of.ravel()
            # a node stands for the children of one unit of its parent's node
            if part.start:
                copies = np.bincount(node[: part.start], minlength=first)[pairs[:, 0]]
                made.append((pairs[:, 0], kind[part][at], many / copies))
            else:
                made.append((np.full(len(pairs), -1), kind[part][at], np.ones(len(pairs))))
            firsts.append(first)
            first += len(pairs)
        parents, kinds, counts = (np.concatenate(one) for one in zip(*made, strict=True))
        return cls(parents, kinds, counts, tuple(firsts)), node


class Spaces:
    """Projectors by number, each once: a component meets few of them, however many units it has."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.projectors: list[Floats] = []
        self._numbers: dict[bytes, int] = {}
        self.nothing = self.number(np.zeros((size, size)))
        self.everything = self.number(np.eye(size))
        self._sums: dict[frozenset[int], int] = {}
        self._pairs: dict[tuple[int, int], tuple[int, Floats, Floats, Floats, Floats]] = {}

    def number(self, projector: Floats) -> int:
        """Return the number of a projector."""
        key = (np.round(projector, 6) + 0.0).tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.projectors)
            self.projectors.append(projector)
        return self._numbers[key]

    def range(self, matrix: Floats) -> int:
        """Return the space that a symmetric matrix of well-scaled entries reaches."""
        values, vectors = np.linalg.eigh(matrix)
        inside = vectors[:, values > SMALL * max(float(values[-1]), 1e-300)] if values[-1] > 0 else vectors[:, :0]
        return self.number(inside @ inside.T)

    def meet(self, numbers: frozenset[int]) -> int:
        """Return what all of the projectors let through."""
        if len(numbers) == 1:
            return next(iter(numbers))
        if numbers not in self._sums:
            missing = sum((np.eye(self.size) - self.projectors[one] for one in numbers), np.zeros(()))
            values, vectors = np.linalg.eigh(missing)
            inside = vectors[:, values < 1e-8]
            self._sums[numbers] = self.number(inside @ inside.T)
        return self._sums[numbers]

    def pair(self, one: int, two: int) -> tuple[int, Floats, Floats, Floats, Floats]:
        """Return what two beliefs know together: its number, bases of both, D+ and N."""
        if (one, two) not in self._pairs:
            bases = [_rows(self.projectors[which]) for which in (one, two)]
            D = np.vstack(bases)
            left, sizes, right = np.linalg.svd(D, full_matrices=True) if D.size else (np.eye(len(D)), [], np.eye(self.size))
            rank = int(np.sum(np.array(sizes) > 1e-8))
            inverse = right[:rank].T @ np.diag(1.0 / np.array(sizes[:rank])) @ left[:, :rank].T if rank else np.zeros((self.size, len(D)))
            self._pairs[one, two] = (self.number(right[:rank].T @ right[:rank]), *bases, inverse, left[:, rank:])
        return self._pairs[one, two]


def _rows(projector: Floats) -> Floats:
    values, vectors = np.linalg.eigh(projector)
    return vectors[:, values > 0.5].T


def invert(matrices: Floats, *, exact: bool) -> Floats:
    """Return inverses of symmetric positive matrices; `exact`: some may be singular, and are inverted as far
    as they reach, after scaling the diagonal to one."""
    if not matrices.shape[-1]:
        return matrices
    if not exact:
        return np.linalg.inv(matrices)
    scale = np.sqrt(np.einsum("...ii->...i", matrices).clip(min=0.0))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(matrices / scale[..., None] / scale[..., None, :])
    turned = np.where(values > SMALL, 1.0 / np.where(values > SMALL, values, 1.0), 0.0)
    inverse: Floats = (vectors * turned[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return inverse / scale[..., None] / scale[..., None, :]


@dataclass(frozen=True, slots=True)
class Kind:
    """What units of one kind are told in this component: information J, and exact rows as their Gram matrix."""

    information: Floats
    """J: the sum of G/s over the queries."""
    measured: Floats
    """The sum of the G: it reaches where J does, and is well scaled."""
    exact: Floats | None = None
    """The sum of the G of queries that are held exact."""


@dataclass
class Solution:
    """Covariances at each node, and the operators that take data up and down. See the head of the module."""

    P: Floats
    known: Integers
    """The number of the space that is determined at each node."""
    spaces: Spaces
    own_h: Floats
    """By kind: the own belief from h = sum Q'y/s, and `own_t` from the sum of Q't of exact rows."""
    own_t: Floats
    up_own: Floats
    up_sum: Floats
    gain: Floats | None
    """K at each node, where all is determined from below; else what follows."""
    outer: dict[str, Floats] = field(default_factory=dict)
    W: Floats | None = None

    def nulls(self) -> Floats:
        """Return at each node the projector on what is not determined."""
        found = np.stack([np.eye(self.spaces.size) - one for one in self.spaces.projectors])
        return found[self.known]


def combine(
    spaces: Spaces, one: int, V1: Floats, two: int, V2: Floats, *, exact: bool
) -> tuple[int, Floats, Floats, Floats]:
    """Combine two beliefs of many nodes: the space, X1 and X2 with z = X1 z1 + X2 z2, and V."""
    number, R1, R2, inverse, N = spaces.pair(one, two)
    nodes, k1, k2 = len(V1), len(R1), len(R2)
    S = np.zeros((nodes, k1 + k2, k1 + k2))
    S[:, :k1, :k1] = R1 @ V1 @ R1.T
    S[:, k1:, k1:] = R2 @ V2 @ R2.T
    G = np.broadcast_to(inverse, (nodes, *inverse.shape))
    if N.shape[1]:
        SN = S @ N
        G = G - inverse @ SN @ invert(N.T @ SN, exact=exact) @ N.T
    V = G @ S @ np.swapaxes(G, 1, 2)
    return number, G[:, :, :k1] @ R1, G[:, :, k1:] @ R2, (V + np.swapaxes(V, 1, 2)) / 2


def solve(shape: Shape, kinds: Sequence[Kind]) -> Solution:
    """Return covariances and operators of one component."""
    size = len(kinds[0].information)
    spaces = Spaces(size)
    exact = any(kind.exact is not None and bool(np.any(kind.exact)) for kind in kinds)
    own, own_h, own_t, own_V = _own(kinds, spaces)
    eye = np.eye(size)
    V = own_V[shape.kind]
    space = own[shape.kind]
    up_own = np.broadcast_to(eye, (shape.size, size, size)).copy()
    up_sum = np.zeros((shape.size, size, size))
    W = np.zeros((shape.size, size, size))
    sums = np.full(shape.size, -1)
    for part in reversed(shape.depths[1:]):
        above = shape.parent[part]
        parents, begin = np.unique(above, return_index=True)
        order = np.argsort(above, kind="stable")
        weighted = (V[part] * shape.count[part, None, None])[order]
        W[parents] = np.add.reduceat(weighted, np.searchsorted(above[order], parents), axis=0)
        sums[parents] = _meets(spaces, space[part][order], above[order], parents)
        for key in {*zip(own[shape.kind[parents]].tolist(), sums[parents].tolist(), strict=True)}:
            mine = parents[(own[shape.kind[parents]] == key[0]) & (sums[parents] == key[1])]
            through = spaces.projectors[key[1]]
            W[mine] = through @ W[mine] @ through
            space[mine], X1, X2, V[mine] = combine(spaces, key[0], own_V[shape.kind[mine]], key[1], W[mine], exact=exact)
            up_own[mine], up_sum[mine] = X1, X2 @ through
    if np.all(space == spaces.everything):
        P, K = V.copy(), np.zeros_like(V)
        for part in shape.depths[1:]:
            above = shape.parent[part]
            K[part] = V[part] @ invert(W[above], exact=exact)
            inner = W[above] - P[above]
            P[part] = V[part] - K[part] @ inner @ np.swapaxes(K[part], 1, 2)
        return Solution(P, space, spaces, own_h, own_t, up_own, up_sum, K, W=W)
    return _from_outside(shape, spaces, own, own_h, own_t, own_V, V, space, up_own, up_sum, exact)


def _own(kinds: Sequence[Kind], spaces: Spaces) -> tuple[Integers, Floats, Floats, Floats]:
    """Return the own belief of each kind: its space, its mean as operators on h and t, its covariance."""
    size = spaces.size
    many = len(kinds)
    own = np.zeros(many, dtype=np.int64)
    own_h, own_t, own_V = (np.zeros((many, size, size)) for _ in range(3))
    for place, kind in enumerate(kinds):
        own[place] = spaces.range(kind.measured)
        U = _rows(spaces.projectors[own[place]]).T
        own_V[place] = U @ np.linalg.inv(U.T @ kind.information @ U) @ U.T
        own_h[place] = own_V[place]
        if kind.exact is not None and np.any(kind.exact):
            held = spaces.range(kind.exact)
            A = _rows(spaces.projectors[held]).T
            reach = A @ np.linalg.inv(A.T @ kind.exact @ A) @ A.T
            number, X1, X2, V = combine(
                spaces, int(own[place]), own_V[place][None], held, np.zeros((1, size, size)), exact=True
            )
            own[place], own_V[place] = number, V[0]
            own_h[place], own_t[place] = X1[0] @ own_h[place], X2[0] @ reach
    return own, own_h, own_t, own_V


def _meets(spaces: Spaces, space: Integers, above: Integers, parents: Integers) -> Integers:
    """Return for each parent what all its children determine."""
    if np.all(space == space[0]):
        return np.full(len(parents), space[0])
    ends = np.append(np.searchsorted(above, parents), len(above))
    return np.array(
        [spaces.meet(frozenset(space[a:b].tolist())) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    )


def _from_outside(
    shape: Shape,
    spaces: Spaces,
    own: Integers,
    own_h: Floats,
    own_t: Floats,
    own_V: Floats,
    V: Floats,
    space: Integers,
    up_own: Floats,
    up_sum: Floats,
    exact: bool,
) -> Solution:
    """Bring beliefs down where units are not determined from below, family by family."""
    size = spaces.size
    blank = np.zeros((shape.size, size, size))
    P, known = V.copy(), space.copy()
    O, o_space = own_V[shape.kind].copy(), own[shape.kind].copy()
    outer = {name: blank.copy() for name in ("O_own", "O_out", "out", "x_up", "x_out")}
    outer["O_own"][:] = outer["x_up"][:] = np.eye(size)
    children: dict[int, list[int]] = {}
    for node in range(shape.size):
        if shape.parent[node] >= 0:
            children.setdefault(int(shape.parent[node]), []).append(node)
    for u in range(shape.size):
        family = children.get(u, [])
        for i in family:
            others = [(j, shape.count[j] - (j == i)) for j in family if shape.count[j] > (j == i)]
            through = spaces.meet(frozenset([int(o_space[u]), *(int(space[j]) for j, _ in others)]))
            Pi = spaces.projectors[through]
            V_out = Pi @ (O[u] + sum((many * V[j] for j, many in others), np.zeros(()))) @ Pi
            outer["out"][i] = Pi
            known[i], x_up, x_out, found = (
                one if isinstance(one, int) else one[0]
                for one in combine(spaces, int(space[i]), V[i][None], through, V_out[None], exact=exact)
            )
            outer["x_up"][i], outer["x_out"][i], P[i] = x_up, x_out, found
            o_space[i], o_own, o_out, o_V = (
                one if isinstance(one, int) else one[0]
                for one in combine(spaces, int(own[shape.kind[i]]), own_V[shape.kind[i]][None], through, V_out[None], exact=exact)
            )
            outer["O_own"][i], outer["O_out"][i], O[i] = o_own, o_out, o_V
    return Solution(P, known, spaces, own_h, own_t, up_own, up_sum, None, outer)


def estimate(
    solution: Solution,
    parent: Integers,
    kind: Integers,
    node: Integers,
    starts: Sequence[int],
    h: Floats,
    t: Floats | None = None,
) -> Floats:
    """Return the estimates (unit, size, columns) from data h, and t of exact rows, of the same form."""
    depths = [slice(a, b) for a, b in zip(starts, (*starts[1:], len(parent)), strict=True)]
    own = solution.own_h[kind] @ h
    if t is not None:
        own += solution.own_t[kind] @ t
    z = own.copy()
    S = np.zeros_like(z)
    for depth in range(len(depths) - 1, -1, -1):
        part = depths[depth]
        if depth + 1 < len(depths):
            at = node[part]
            z[part] = solution.up_own[at] @ own[part] + solution.up_sum[at] @ S[part]
        if part.start:
            np.add.at(S, parent[part], z[part])
    x = z.copy()
    if solution.gain is not None:
        for part in depths[1:]:
            above = parent[part]
            x[part] += solution.gain[node[part]] @ (x[above] - S[above])
        return x
    outer = solution.outer
    O = own.copy()
    for part in depths[1:]:
        above, at = parent[part], node[part]
        out = outer["out"][at] @ (O[above] - (S[above] - z[part]))
        x[part] = outer["x_up"][at] @ z[part] + outer["x_out"][at] @ out
        O[part] = outer["O_own"][at] @ own[part] + outer["O_out"][at] @ out
    return x


def check_levels(shape: Shape) -> None:
    """Refuse trees that no data can have."""
    if np.any(shape.count < 1.0):
        raise InputError("a unit has less than one child; each number of the tree must be at least 1")
