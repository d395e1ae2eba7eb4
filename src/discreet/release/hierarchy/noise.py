"""Which noise each query of each level gets, and the drawing of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.budget import Release
from discreet.estimation.model import Noises, noises
from discreet.noise import Entropy, sample
from discreet.release.hierarchy.layout import Layout
from discreet.release.hierarchy.tree import Integers

__all__ = ["Noises", "add_noise", "asked", "noise_table", "noises", "variances"]


def asked(release: Release, levels: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the queries of each level or run, in the order of the release."""
    queries = {level.name: tuple(query.name for query in level.queries) for level in release.levels}
    return tuple(queries[run.split("+")[0]] for run in levels)


def variances(layout: Layout, table: Noises) -> dict[tuple[int, str], float]:
    """Return the variance of the noise by kind of unit and query, as `processing` takes it."""
    return {
        (kind, query): table[layout.tree.levels[kind], query].true_variance()
        for kind, queries in enumerate(layout.asked)
        for query in queries
    }


def add_noise(
    layout: Layout, counts: Integers, table: Noises, source: Entropy | None, units: slice | None = None
) -> None:
    """Add noise to each cell of all units, or of some, in place. A seeded source gives the same noise to the
    same layout."""
    some = units or slice(0, layout.tree.size)
    begin = layout.base[some.start]
    for kind, queries in enumerate(layout.asked):
        base = layout.base[some][layout.kind[some] == kind] - begin
        for query in queries:
            width = len(layout.cells[query])
            first = base + layout.offset(kind, query)
            rows = max(1, (1 << 22) // max(width, 1))
            for start in range(0, first.size, rows):
                part = first[start : start + rows]
                draws = sample(table[layout.tree.levels[kind], query], (part.size, width), source=source)
                counts[part[:, None] + np.arange(width)] += draws


def noise_table(layout: Layout, table: Noises) -> list[dict[str, Any]]:
    """Return the noise of each level and query as a manifest lists it: exact, as a variance, as a margin."""
    rows = []
    for kind, queries in enumerate(layout.asked):
        level = layout.tree.levels[kind]
        for query in queries:
            noise = table[level, query]
            key = "variance_parameter" if noise.PARAMETER == "variance" else noise.PARAMETER
            rows.append(
                {
                    "level": level,
                    "query": query,
                    "noise": noise.FAMILY,
                    key: str(noise.size),
                    "variance": noise.true_variance(),
                    "margin_95": noise.quantile("0.975"),
                    "cells": len(layout.cells[query]),
                }
            )
    return rows
