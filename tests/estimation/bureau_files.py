"""Small random releases in the layout of the files that the US Census Bureau publishes, with every feature,
and their dense solution.

The layout: `US_Person_PL_PROD/County.parquet/DPQuery/State=50/part-0.parquet`, and `Constraint` beside
`DPQuery`; columns geocode, query_name, one for each attribute, query_shape, value, variance, and sign for
constraints, which some parts lack (as the package noisyvalue reads them, its module census and its tests).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from dense import matrix

from discreet.budget import Release
from discreet.budget.noise_table import noises

TEXT = """
name = "small-pl94"
neighbours = "bounded"
[attributes]
hhgq = ["household", "correctional", "juvenile", "nursing"]
votingage = ["under 18", "18 and over"]
hispanic = ["no", "yes"]
[attributes.hhinstlevels]
of = "hhgq"
groups = { household = ["household"], institutional = ["correctional", "juvenile", "nursing"] }
"""
LEVELS = ["US", "State", "County", "Tract", "Block"]
QUERIES = ["total", "hhgq", "hhinstlevels", "votingage * hispanic", "detailed"]
SPLITS = {
    "total": ("*", "*", "*"),
    "hhgq": ("hhgq", "*", "*"),
    "hhinstlevels": ("hhinstlevels", "*", "*"),
    "votingage * hispanic": ("*", "votingage", "hispanic"),
    "detailed": ("detailed",) * 3,
}
ATTRIBUTES = ("hhgq", "votingage", "hispanic")


def release(rng: Any) -> Release:
    """A release with other variances each time."""
    levels = []
    for level in LEVELS:
        asked = [query for query in QUERIES if rng.random() < 0.7 or query == "detailed"]
        pairs = ", ".join(f'"{query}" = {{ variance = {rng.integers(1, 30)} }}' for query in asked)
        levels.append(f'[[levels]]\nname = "{level}"\nqueries = {{ {pairs} }}\n')
    return Release.from_toml(TEXT + "".join(levels))


@dataclass
class Drawn:
    """Areas with their levels, codes and parents, true counts, and what a dense solution needs."""

    release: Release
    codes: list[str]
    level: list[int]
    parent: list[int]
    truth: Any
    rows: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    sizes: list[Any] = field(default_factory=list)
    exact: list[tuple[Any, Any]] = field(default_factory=list)
    bounds: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def above(self) -> Any:
        """Which lowest areas lie in each area."""
        leaves = np.setdiff1d(np.arange(len(self.codes)), self.parent)
        found = np.zeros((len(self.codes), len(leaves)))
        for place, leaf in enumerate(leaves):
            unit = int(leaf)
            while unit >= 0:
                found[unit, place] = 1.0
                unit = self.parent[unit]
        return found

    def dense(self) -> tuple[Any, Any, Any]:
        """The constrained least squares of all detailed cells of all lowest areas, their covariance, and what
        is not determined."""
        A, y, s = np.vstack(self.rows), np.concatenate(self.values), np.concatenate(self.sizes)
        size = A.shape[1]
        H, g = (A.T / s) @ A, (A.T / s) @ y
        start, Z = np.zeros(size), np.eye(size)
        if self.exact:
            E, t = (np.concatenate(side) for side in zip(*self.exact, strict=True))
            start = np.linalg.pinv(E, rcond=1e-10) @ t
            assert np.allclose(E @ start, t)
            _, found, right = np.linalg.svd(E)
            Z = right[int(np.sum(found > 1e-9)) :].T
        values, vectors = np.linalg.eigh(Z.T @ H @ Z)
        inside = values > 1e-10 * values.max()
        inverse = (vectors[:, inside] / values[inside]) @ vectors[:, inside].T
        x = start + Z @ inverse @ Z.T @ (g - H @ start)
        return x, Z @ inverse @ Z.T, Z @ vectors[:, ~inside]


def areas(rng: Any) -> tuple[list[str], list[int], list[int]]:
    """Codes that nest by prefix, levels and parents: one to three children each, now and then a code that
    comes again one level below because it is the whole of the area above."""
    codes, level, parent, last = ["0"], [0], [-1], [0]
    for depth in range(1, len(LEVELS)):
        here = []
        for unit in last:
            many = int(rng.integers(1, 4 if depth < 3 else 3))
            for child in range(many):
                again = many == 1 and depth > 1 and rng.random() < 0.5
                codes.append(codes[unit] if again else f"{codes[unit]}{child + 1}{'0' * (depth % 2)}")
                level.append(depth)
                parent.append(unit)
                here.append(len(codes) - 1)
        last = here
    return codes, level, parent


def draw(seed: int, folder: Path, *, products: int = 1) -> tuple[Drawn, list[Path], list[int]]:
    """Write measurements and constraints, with levels missing; return them, the products, and the levels."""
    rng = np.random.default_rng(seed)
    stated = release(rng)
    codes, level, parent = areas(rng)
    attributes = stated.attributes
    assert attributes is not None
    lowest = [unit for unit in range(len(codes)) if level[unit] == len(LEVELS) - 1]
    truth = np.zeros((len(codes), 4, 2, 2))
    for unit in lowest:
        truth[unit] = rng.poisson(rng.choice([0.5, 4.0]), size=(4, 2, 2))
        truth[unit, rng.random(4) < 0.3] = 0.0
        truth[unit, 3, 0] = 0.0
    for unit in range(len(codes) - 1, 0, -1):
        truth[parent[unit]] += truth[unit]
    kept = [number for number in range(len(LEVELS)) if rng.random() < 0.75] or [2]
    names = {unit: place for place, unit in enumerate(u for u in range(len(codes)) if level[u] in kept)}
    parents = []
    for unit in names:
        up = parent[unit]
        while up >= 0 and level[up] not in kept:
            up = parent[up]
        parents.append(names[up] if up >= 0 else -1)
    chosen = list(names)
    found = Drawn(stated, [codes[u] for u in chosen], [level[u] for u in chosen], parents, truth[chosen])
    paths = [_write(found, folder, product, rng) for product in range(products)]
    return found, paths, kept


def _write(found: Drawn, folder: Path, product: int, rng: Any) -> Path:
    """Write one product, and add its rows to what the dense solution needs."""
    attributes, laws = found.release.attributes, noises(found.release)
    assert attributes is not None
    above, place = found.above, folder / f"US_Person_PL_{product}"
    for number in sorted(set(found.level)):
        queries, constraints = [], []
        for unit in (u for u in range(len(found.codes)) if found.level[u] == number):
            flat = found.truth[unit].ravel()
            for query in (q for q in QUERIES if (LEVELS[number], q) in laws):
                table, law = attributes.tabulation(query), laws[LEVELS[number], query]
                Q = matrix(table)
                values = Q @ flat + np.rint(rng.normal(0, law.true_variance() ** 0.5, len(Q)))
                found.rows.append(np.kron(above[unit], Q))
                found.values.append(values)
                found.sizes.append(np.full(len(Q), law.true_variance()))
                shape = [len(groups) for groups in table.by_attribute]
                queries.append(
                    {
                        "geocode": found.codes[unit],
                        "query_name": f"{query}_dpq",
                        **dict(zip(ATTRIBUTES, SPLITS[query], strict=True)),
                        "query_shape": shape,
                        "value": values.astype(int).tolist(),
                        "variance": float(law.variance),  # type: ignore[attr-defined]
                    }
                )
            if not product:
                constraints += _constraints(found, unit, above[unit], rng)
        base = place / f"{LEVELS[number]}.parquet"
        for name, rows in (("DPQuery", queries), ("Constraint", constraints)):
            for state in (0, 1):
                some = rows[state::2]
                if some:
                    part = base / name / f"State={state + 50}" / "part-0.parquet"
                    part.parent.mkdir(parents=True)
                    if name == "Constraint" and state:
                        some = [{key: row[key] for key in row if key != "sign"} for row in some]
                    pq.write_table(pa.Table.from_pylist(some), part)
    return place


def _constraints(found: Drawn, unit: int, above: Any, rng: Any) -> list[dict[str, Any]]:
    """Constraints of one area: no minors in nursing facilities, bounds by type of quarters, now and then the
    total, or an exact number of people of some type."""
    rows: list[dict[str, Any]] = []
    truth = found.truth[unit]
    eye = np.eye(16).reshape(4, 2, 2, 16)

    def row(name: str, sign: str, splits: tuple[str, str, str], shape: list[int], values: Any) -> None:
        rows.append(
            {
                "geocode": found.codes[unit],
                "query_name": f"{name}_con",
                "sign": sign,
                **dict(zip(ATTRIBUTES, splits, strict=True)),
                "query_shape": shape,
                "value": [int(value) for value in np.atleast_1d(values)],
                "variance": 0.0,
            }
        )

    def hold(cells: Any, counts: Any) -> None:
        for line, count in zip(np.atleast_2d(cells), np.atleast_1d(counts), strict=True):
            # where nobody is counted, every detailed cell is zero, in the areas within it, too
            held = np.eye(16)[line > 0] if count == 0 else line[None]
            areas = np.diag(above)[above > 0] if count == 0 else above[None]
            found.exact.append((np.kron(areas, held), np.full(len(areas) * len(held), float(count))))

    row("nurse_nva_0", "=", ("gqNursingTotal", "nonvoting", "*"), [1, 1, 1], 0)
    hold(eye[3, 0], np.zeros(2))
    people = truth.sum(axis=(1, 2))
    lower = np.floor(people * rng.random(4))
    lower[0] = 0
    upper = np.where(people == 0, 0, 99999)
    sure = rng.random(4) < 0.15
    lower, upper = np.where(sure, people, lower), np.where(sure, people, upper)
    row("hhgq_total_lb", ">=", ("hhgq", "*", "*"), [4, 1, 1], lower)
    row("hhgq_total_ub", "<=", ("hhgq", "*", "*"), [4, 1, 1], upper)
    for kind in range(4):
        if upper[kind] == 0:
            hold(eye[kind].reshape(4, 16), np.zeros(4))
        elif lower[kind] == upper[kind]:
            hold(eye[kind].reshape(4, 16).sum(axis=0)[None], people[kind])
    found.bounds[f"{found.level[unit]} {found.codes[unit]}"] = lower, upper
    if found.level[unit] == 0 or rng.random() < 0.1:
        row("total", "=", ("*", "*", "*"), [1, 1, 1], truth.sum())
        hold(np.ones((1, 16)), truth.sum())
    if rng.random() < 0.1:
        row("va", "=", ("*", "votingage", "*"), [1, 2, 1], truth.sum(axis=(0, 2)))
        hold(np.stack([eye[:, side].reshape(8, 16).sum(axis=0) for side in (0, 1)]), truth.sum(axis=(0, 2)))
    if rng.random() < 0.1:
        row(
            "hhinst",
            "=",
            ("hhinstlevels", "*", "yes"),
            [2, 1, 1],
            [truth[0, :, 1].sum(), truth[1:, :, 1].sum()],
        )
        cells = eye[:, :, 1]
        hold(np.stack([cells[0].sum(axis=0), cells[1:].sum(axis=(0, 1))]), rows[-1]["value"])
    return rows
