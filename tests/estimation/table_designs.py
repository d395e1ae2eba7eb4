"""Simple designs of which whole tables are simulated: a tree, the noise of each level, and true counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.areas.tree import Tree
from discreet.budget import Attributes
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.noise import DiscreteGaussian, sample

PEOPLE = Attributes({"sex": ["f", "m"], "age": ["a", "b", "c", "d"]})
LABELS = {"total": np.zeros(8, int), "age": np.tile(np.arange(4), 2), "detailed": np.arange(8)}


class Design:
    """A tree of whole families, noise by level and query, and the counts below."""

    def __init__(
        self, children: Sequence[int], variances: Sequence[Mapping[str, int]], counts: Any, exact: str = ""
    ) -> None:
        parent, kind, starts, last = [-1], [0], [0], [0]
        for depth, many in enumerate(children, 1):
            starts.append(len(parent))
            last = [len(parent) + place for place in range(len(last) * many)]
            above = range(starts[-2], starts[-1])
            parent += [one for one in above for _ in range(many)]
            kind += [depth] * len(last)
        levels = ("top", "middle", "low")[: len(starts)]
        self.tree = Tree(np.array(parent), np.array(kind), tuple(starts), levels)
        self.truth = np.zeros((len(parent), 8), dtype=np.int64)
        self.truth[starts[-1] :] = counts
        for unit in range(len(parent) - 1, 0, -1):
            self.truth[parent[unit]] += self.truth[unit]
        self.laws = [
            {query: DiscreteGaussian(variance=size) for query, size in one.items()} for one in variances
        ]
        self.queries = tuple(dict.fromkeys(query for one in variances for query in one))
        self.every = np.arange(len(parent))
        self.exact = {exact: (self.every[:1], self.rows(exact)[:1])} if exact else {}

    def rows(self, query: str) -> Any:
        """The true cells of a query."""
        found = np.zeros((len(self.truth), LABELS[query].max() + 1), dtype=np.int64)
        for cell, label in enumerate(LABELS[query].tolist()):
            found[:, label] += self.truth[:, cell]
        return found

    def estimates(self, source: Any) -> Estimates:
        """The estimates from noise that is drawn once."""
        noisy = {}
        for query in self.queries:
            who = np.flatnonzero([query in self.laws[kind] for kind in self.tree.kind])
            rows = self.rows(query)[who]
            for kind in np.unique(self.tree.kind[who]):
                mine = self.tree.kind[who] == kind
                rows[mine] += sample(self.laws[kind][query], rows[mine].shape, source=source)
            noisy[query] = who, rows
        return Estimates(PEOPLE, Measurements(self.tree, (InMemory(self.laws, noisy),), self.exact))


def sparse(
    seed: int, variance: int, children: Sequence[int], sizes: Sequence[int], exact: str = ""
) -> Design:
    """People unevenly over cells: many zeros, some large counts; two cells are empty everywhere."""
    rng = np.random.default_rng(seed)
    many = int(np.prod(children))
    shares = rng.dirichlet([0.35] * 8, size=many)
    counts = np.array(
        [rng.multinomial(size, share) for size, share in zip(rng.choice(sizes, many), shares, strict=True)]
    )
    counts[:, [3, 7]] = 0
    noise = {"total": variance // 4, "detailed": variance}
    return Design(children, [noise | {"age": variance}, *[noise] * len(children)], counts, exact)
