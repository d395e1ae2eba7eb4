"""Anybody's noisy table, end to end: against a dense solve, by coverage, and in every form it may have."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest
from estimation.dense import matrix

from discreet.answers import describe
from discreet.budget import Attributes
from discreet.errors import InputError
from discreet.estimation import Estimated, estimate
from discreet.estimation import estimates as estimates_module
from discreet.estimation.error_laws import Errors, Terms, normal_quantile
from discreet.estimation.input import noisy_table
from discreet.estimation.normal import Normal
from discreet.estimation.output import fit_report
from discreet.noise import DiscreteGaussian, sample
from discreet.testing import NotPrivateSeededEntropy

Z90 = NormalDist().inv_cdf(0.95)


# -- a dense solve -------------------------------------------------------------------------------------------


@dataclass
class Problem:
    """Tables of one population, and their rows as a dense system over the cells of the lowest units."""

    attributes: Attributes | None
    tables: list[pa.Table]
    names: list[str]
    incidence: Any
    queries: dict[str, Any]
    """Each query as a matrix on the cells."""
    labels: dict[str, list[str]]
    rows: Any
    values: Any
    variances: Any
    areas: pa.Table
    sums: dict[str, Any]
    """The weights of units in each area."""


def draw(seed: int) -> Problem:
    """Draw tables with every feature at once: unequal variances within queries, by unit or by attribute;
    cells that are exact, or not measured; an uneven tree; one or two tables; weights of any sign."""
    rng = np.random.default_rng(seed)
    with_attributes = bool(rng.random() < 0.7)
    attributes = Attributes({"a": int(rng.integers(2, 4)), "b": int(rng.integers(1, 4))})
    queries = {query: matrix(attributes.tabulation(query)) for query in ("a * b", "b", "total")}
    labels = {query: list(attributes.tabulation(query).labels) for query in queries}
    if not with_attributes:  # nothing ties the queries to each other
        size = int(rng.integers(1, 6))
        queries, labels = {"q": np.eye(size)}, {"q": [f"c{number}" for number in range(size)]}
    parent, level = [-1], ["Top"]
    for _ in range(int(rng.integers(1, 4))):
        parent.append(0)
        level.append("Middle")
    for above in range(1, len(parent)):
        for _ in range(int(rng.integers(0, 4))):
            parent.append(above)
            level.append("Low")
    names = [f"u{number:02}" for number in range(len(parent))]
    leaves = sorted(set(range(len(parent))) - set(parent))
    incidence = np.zeros((len(parent), len(leaves)))
    for place, unit in enumerate(leaves):
        while unit >= 0:
            incidence[unit, place] = 1.0
            unit = parent[unit]
    truth = incidence @ rng.poisson(20, (len(leaves), next(iter(queries.values())).shape[1]))
    problem = Problem(
        attributes if with_attributes else None, [], names, incidence, queries, labels, [], [], [], None, {}
    )
    for _ in range(1 + int(with_attributes and rng.random() < 0.5)):
        columns: dict[str, list[Any]] = {
            key: [] for key in ("unit", "level", "parent", "query", "cell", "value", "variance")
        }
        style, share = rng.integers(4), rng.choice([0.0, 0.1, 0.3])
        for unit, (query, Q) in product(range(len(parent)), queries.items()):
            sizes = np.full(len(Q), 10 ** rng.uniform(-1, 2))
            if style == 1:
                sizes = 10 ** rng.uniform(-1, 2, len(Q))
            elif style == 2 and query == "a * b":  # one variance for each value of the first attribute
                first = 10 ** np.random.default_rng([seed, unit]).uniform(-1, 2, attributes.sizes[0])
                sizes = np.repeat(first, attributes.sizes[1])
            kind = rng.random(len(Q))
            sizes = np.where(kind < share, 0.0, np.where(kind > 1 - 2 * share, np.inf, sizes))
            sizes[0] = sizes[0] if unit or np.isfinite(sizes[0]) else 1.0  # something is measured
            true = Q @ truth[unit]
            noisy = true + rng.normal(size=len(Q)) * np.sqrt(np.where(np.isfinite(sizes), sizes, 0.0))
            for cell, word in enumerate(labels[query]):
                above = names[parent[unit]] if parent[unit] >= 0 else ""
                row = (names[unit], level[unit], above, query, word, noisy[cell], sizes[cell])
                for key, one in zip(columns, row, strict=True):
                    columns[key].append(one)
                if np.isfinite(sizes[cell]):
                    problem.rows.append(np.kron(incidence[unit], Q[cell]))
                    problem.values.append(noisy[cell])
                    problem.variances.append(sizes[cell])
        problem.tables.append(pa.table(columns))
    picked = rng.permutation(len(parent))[: int(rng.integers(1, len(parent) + 1))]
    weights = rng.normal(size=len(picked))
    problem.areas = pa.table(
        {"area": ["Z"] * len(picked), "unit": [names[unit] for unit in picked], "weight": weights}
    )
    problem.sums["Z"] = weights @ incidence[picked]
    return problem


def dense(problem: Problem) -> tuple[Any, Any, Any]:
    """Return the generalised least squares estimate of all cells of the lowest units, its covariance, and a
    basis of what is not determined."""
    A, y, s = np.array(problem.rows), np.array(problem.values), np.array(problem.variances)
    held, open_ = s == 0, s > 0
    size = A.shape[1]
    start, Z = np.zeros(size), np.eye(size)
    if held.any():
        start = np.linalg.pinv(A[held], rcond=1e-10) @ y[held]
        _, found, right = np.linalg.svd(A[held])
        Z = right[int(np.sum(found > 1e-9)) :].T
    B = A[open_] @ Z
    H = B.T @ (B / s[open_, None])
    values, vectors = np.linalg.eigh(H)
    inside = values > 1e-10 * np.max(1 / s[open_], initial=0.0) * np.max(A**2)
    inverse = (vectors[:, inside] / values[inside]) @ vectors[:, inside].T
    right = B.T @ ((y[open_] - A[open_] @ start) / s[open_])
    return start + Z @ (inverse @ right), Z @ inverse @ Z.T, Z @ vectors[:, ~inside]


def compare(seed: int) -> tuple[float, int, int]:
    """Return the largest difference between `estimate` and the dense solve, relative to the size of values,
    and how many numbers are not determined, or exact."""
    problem = draw(seed)
    done = estimate(
        problem.tables,
        attributes=problem.attributes,
        areas=problem.areas,
        noise="normal",
        counts=False,
        levels=["0.9"],
        streamed=[None, True][seed % 2],
    )
    x, covariance, free = dense(problem)
    worst, lost, exact = 0.0, 0, 0
    for table, functional in (("estimates", None), ("areas", problem.sums)):
        for row in done.to_arrow(table).to_pylist():
            cell = problem.queries[row["query"]][problem.labels[row["query"]].index(row["cell"])]
            place = row["unit"]
            where = functional[place] if functional else problem.incidence[problem.names.index(place)]
            w = np.kron(where, cell)
            if np.linalg.norm(free.T @ w) > 1e-7 * np.linalg.norm(w):
                assert row["estimate"] is None, (seed, row)
                lost += 1
                continue
            if row["estimate"] is None:  # a sum may be determined although its parts are not
                assert functional, (seed, row)
                continue
            value, variance = float(w @ x), float(w @ covariance @ w)
            exact += variance < 1e-12
            half = Z90 * row["sd"]
            worst = max(
                worst,
                abs(row["estimate"] - value) / (1 + np.abs(w) @ np.abs(x)),
                abs(row["sd"] ** 2 - variance) / (1e-3 + np.abs(w) @ np.abs(covariance) @ np.abs(w)),
                abs(row["upper90"] - row["estimate"] - half) / (1 + half),
                abs(row["estimate"] - row["lower90"] - half) / (1 + half),
            )
    return worst, lost, exact


def test_random_tables_are_solved_as_one_dense_system_would() -> None:
    """The other 400 are slow."""
    found = [compare(seed) for seed in range(30)]
    assert max(one[0] for one in found) < 1e-9
    assert sum(one[1] > 0 for one in found) >= 5
    assert sum(one[2] > 0 for one in found) >= 5


@pytest.mark.slow
def test_many_random_tables() -> None:
    assert max(compare(seed)[0] for seed in range(1000, 1400)) < 1e-8  # files have twelve digits


# -- laws ----------------------------------------------------------------------------------------------------


def test_normal_and_discrete_errors_together_have_the_quantiles_of_their_sum() -> None:
    """P(|N + X| <= w), N of true variance 0.6 and X normal, is a sum over the values of N."""
    law, values = DiscreteGaussian.of_true_variance(0.6), np.arange(-30, 31)
    for size in (1e-4, 0.01, 0.09, 0.5, 4.0):
        terms = Terms.of(
            [
                (np.zeros(1, dtype=np.int64), np.ones(1), law, 1.0),
                (np.zeros(1, dtype=np.int64), np.array([0.5]), Normal(4 * size), 1.0),
            ]
        )
        for level in (0.9, 0.95):
            width = float(Errors(np.array([0.6 + size]), [terms]).half_widths(level)[0])
            phi = NormalDist(0, size**0.5).cdf
            inside = sum(float(law.pmf(n)) * (phi(width - n) - phi(-width - n)) for n in values.tolist())
            # a normal of next to no variance is taken to the safe side
            assert level - 1e-6 < inside < (level + 1e-4 if size > 1e-3 else 1), (size, level)


def test_normal_errors_alone_have_a_normal_quantile_of_full_accuracy() -> None:
    terms = Terms.of([(np.array([0, 0]), np.array([1.0, -2.0]), Normal(0.25), 1.0)])
    errors = Errors(np.array([1.25]), [terms])
    assert errors.settled.all()
    for level in (0.9, 0.95, 0.99):
        expected = normal_quantile(level) * 1.25**0.5
        assert errors.half_widths(level)[0] == pytest.approx(expected, rel=1e-12)
        assert errors.settled_widths(level)[0] == pytest.approx(expected, rel=1e-12)


def test_a_mean_of_normal_and_discrete_noise_is_covered() -> None:
    """Two tables of one area: the half-width of their mean covers at least what it claims, hardly more."""
    law = DiscreteGaussian.of_true_variance(1.5)
    for size, most in ((0.5, 0.905), (1.5, 0.91), (20.0, 0.92)):
        whole = pa.table({"unit": ["A"], "value": [40], "variance": [1.5]})
        real = pa.table({"unit": ["A"], "value": [40.5], "sd": [size**0.5]})
        row = estimate([whole, real], counts=False).to_pandas().iloc[0]
        share = size / (1.5 + size)
        phi = NormalDist(0, (1 - share) * size**0.5).cdf
        half = (row["upper90"] - row["lower90"]) / 2
        inside = sum(
            float(law.pmf(n)) * (phi(half - share * n) - phi(-half - share * n)) for n in range(-30, 31)
        )
        assert row["estimate"] == pytest.approx(share * 40 + (1 - share) * 40.5)
        assert 0.9 - 1e-6 < inside < most, size


def test_normal_and_discrete_tables_of_one_tree_share_their_noise() -> None:
    """Two tables about the same attributes are solved together; the law of each estimate mixes both noises.
    It is simulated: 200,000 errors of the weights that one unit of change in each measurement shows."""
    names, people = ("P", "A", "B"), Attributes({"a": 1})
    rows: dict[str, Any] = {"unit": names, "level": ["Up", "Low", "Low"], "parent": ["", "P", "P"]}
    sizes = np.array([[0.8, 1.2, 1.2], [2.0, 0.3, 0.7]])
    areas = pa.table({"area": ["x", "x"], "unit": ["A", "B"], "weight": [0.5, 1.0]})

    def tables(whole: Any, real: Any) -> list[pa.Table]:
        return [
            pa.table({**rows, "value": np.array(whole), "variance": sizes[0]}),
            pa.table({**rows, "value": np.array(real) + 0.5, "sd": np.sqrt(sizes[1])}),
        ]

    def solved(whole: Any, real: Any) -> pandas.DataFrame:
        more: dict[str, Any] = {"areas": areas, "differences": [("A", "B")], "counts": False}
        done = estimate(tables(whole, real), attributes=people, **more)
        assert done.additive
        assert done.noise == ("discrete gaussian", "normal")
        return pandas.concat([done.to_pandas(name) for name in ("estimates", "areas", "contrasts")])

    start = solved([0, 0, 0], [0, 0, 0])
    base = start["estimate"].to_numpy()
    weights = [solved(step, [0] * 3)["estimate"].to_numpy() - base for step in np.eye(3, dtype=np.int64)]
    weights += [solved([0] * 3, step)["estimate"].to_numpy() - base for step in np.eye(3)]
    rng, source = np.random.default_rng(8), NotPrivateSeededEntropy(9)
    noise = [sample(DiscreteGaussian.of_true_variance(s), 200_000, source=source) for s in sizes[0].tolist()]
    noise += [rng.normal(size=200_000) * s**0.5 for s in sizes[1]]
    errors = np.array(weights).T @ np.array(noise)
    assert np.std(errors, axis=1) == pytest.approx(start["sd"].to_numpy(), rel=0.01)
    for level, share in (("90", 0.9), ("95", 0.95)):
        half = (start[f"upper{level}"] - start[f"lower{level}"]).to_numpy()[:, None] / 2
        inside = np.mean(np.abs(errors) <= half + 1e-9, axis=1)
        slack = 4.5 * (share * (1 - share) / 200_000) ** 0.5
        assert np.all(inside > share - slack)
        assert np.all(inside < share + 0.01), inside
    narrow = np.mean(np.abs(errors) <= 0.98 * half, axis=1)
    assert np.all(narrow < 0.95)


def families(variances: Any, noise: Any) -> pa.Table:
    """Families of one parent and three children; noise and variances have a row for each family."""
    many = len(noise)
    names = [[f"p{place:05}", *(f"p{place:05}-{child}" for child in range(3))] for place in range(many)]
    truth = np.array([40, 5, 15, 20])
    return pa.table(
        {
            "unit": np.ravel(names),
            "level": ["Parent", "Child", "Child", "Child"] * many,
            "parent": [word for family in names for word in ["", *[family[0]] * 3]],
            "query": ["total"] * 4 * many,
            "cell": ["all"] * 4 * many,
            "value": (truth + noise).ravel(),
            "variance": np.broadcast_to(variances, noise.shape).ravel(),
        }
    )


def covered(done: Estimated, level: str) -> float:
    table, truth = done.to_pandas(), np.array([40, 5, 15, 20])
    of = np.array([0 if "-" not in unit else 1 + int(unit[-1]) for unit in table["unit"]])
    lower, upper = table[f"lower{level}"].to_numpy(), table[f"upper{level}"].to_numpy()
    return float(np.mean((lower <= truth[of]) & (truth[of] <= upper)))


SIZES = np.array([[0.3, 1.2, 1.2, 0.5], [4.0, 0.1, 0.4, 3.0]])
"""Variances of two kinds of families."""

SLACK = 4.5 * (0.9 * 0.1 / 4000) ** 0.5
"""Of 10,000 units in 2,500 families, whose estimates are correlated: at least 4,000 are as good as
independent. A correct interval misses by this much less than once in 100,000 times."""


def test_intervals_cover_what_they_claim_under_normal_noise() -> None:
    rng = np.random.default_rng(5)
    sizes = SIZES[rng.integers(2, size=2500)]
    table = families(sizes, rng.normal(size=sizes.shape) * np.sqrt(sizes))
    done = estimate(table)
    assert done.noise == ("normal",)
    assert not done.counts
    for level, share in (("90", 0.9), ("95", 0.95)):
        assert abs(covered(done, level) - share) < SLACK, level
    too_small = table.set_column(6, "variance", pa.array(sizes.ravel() * 0.8))
    assert covered(estimate(too_small), "90") < 0.9 - SLACK


def test_intervals_cover_what_they_claim_under_discrete_noise_of_small_variance() -> None:
    """The same numbers taken as normal are rejected: the noise is whole, and its lattice matters."""
    rng = np.random.default_rng(6)
    kinds, source = rng.integers(2, size=2500), NotPrivateSeededEntropy(7)
    noise = np.zeros((2500, 4), dtype=np.int64)
    for kind, place in product(range(2), range(4)):
        mine = np.flatnonzero(kinds == kind)
        law = DiscreteGaussian.of_true_variance(float(SIZES[kind, place]))
        noise[mine, place] = sample(law, mine.size, source=source)
    table = families(SIZES[kinds], noise)
    done = estimate(table)
    assert (done.noise, done.counts) == (("discrete gaussian",), True)
    for level, share in (("90", 0.9), ("95", 0.95)):
        assert covered(done, level) > share - SLACK, level
    alone = table.filter(pa.array(["-" not in unit for unit in table["unit"].to_pylist()]))
    alone = alone.set_column(6, "variance", pa.array([1.2] * 2500)).set_column(
        5, "value", pa.array(40 + sample(DiscreteGaussian.of_true_variance(1.2), 2500, source=source))
    )
    assert covered(estimate(alone), "90") > 0.9 - 2 * SLACK
    assert covered(estimate(alone, noise="normal"), "90") < 0.9 - 2 * SLACK


# -- cells whose variances differ ----------------------------------------------------------------------------


def tree_table(queries: dict[str, tuple[str, float]]) -> pa.Table:
    """A parent and two children, each with one value per query and cell: {name: (query, cell, variance)}."""
    rng = np.random.default_rng(3)
    rows = []
    for unit, level, parent in (("P", "Up", ""), ("A", "Low", "P"), ("B", "Low", "P")):
        for number, (query, cell) in enumerate(queries.values()):
            value = (2 if unit == "P" else 1) * 10 * (number + 1) + int(rng.integers(-3, 4))
            rows.append((unit, level, parent, query, cell, value, (0.5, 3.0, 1.25)[number]))
    names = ("unit", "level", "parent", "query", "cell", "value", "variance")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@pytest.mark.parametrize("noise", ["discrete gaussian", "discrete laplace", "normal"])
@pytest.mark.parametrize("attributes", [None, Attributes({"q": ["x", "y", "z"]})])
def test_cells_of_one_query_are_as_queries_of_one_cell(noise: Any, attributes: Attributes | None) -> None:
    """Where nothing ties the cells, a query with three variances is three queries: intervals, too."""
    together = tree_table({name: ("q", name) for name in "xyz"})
    apart = tree_table({name: (f"q{name}", name) for name in "xyz"})
    areas = pa.table({"area": ["W", "W"], "unit": ["A", "B"], "weight": [0.25, 1.5]})
    more: dict[str, Any] = {
        "noise": noise,
        "areas": areas,
        "differences": [("A", "B")],
        "ratios": [("A", "W")],
    }
    one = estimate(together, attributes=attributes, **more)
    two = estimate(apart, **more)
    for table in ("estimates", "areas", "contrasts"):
        a, b = one.to_pandas(table), two.to_pandas(table)
        numbers = [name for name in a.columns if name not in ("unit", "level", "query", "cell")]
        assert np.allclose(a[numbers], b[numbers], rtol=1e-9, atol=1e-6), table
        assert a["cell"].tolist() == b["cell"].tolist()


def test_exact_cells_are_kept_and_real_ones_not_rounded() -> None:
    table = pa.table(
        {
            "unit": ["A", "A", "B", "B"],
            "cell": ["x", "y", "x", "y"],
            "value": [2.25, 3.5, 1.0, 7.125],
            "sd": [0.0, 1.0, 2.0, 0.0],
        }
    )
    done = estimate(table).to_pandas()
    assert done["estimate"].tolist() == pytest.approx([2.25, 3.5, 1.0, 7.125])
    assert done["sd"].tolist() == pytest.approx([0, 1, 2, 0])
    assert done["lower90"].tolist() == pytest.approx([2.25, 3.5 - Z90, 1 - 2 * Z90, 7.125])


def test_values_of_any_scale_are_not_rounded_away() -> None:
    """Rates of 1e-12, with variances of 1e-28: far below what would be rounding in a count."""
    table = pa.table({"unit": ["A", "B"], "value": [3e-12, 1e-12], "sd": [1e-14, 2e-14]})
    done = estimate(table, differences=[("A", "B")], ratios=[("A", "B")])
    assert done.to_pandas()["upper90"].tolist() == pytest.approx([3e-12 + Z90 * 1e-14, 1e-12 + Z90 * 2e-14])
    difference, ratio = done.to_pandas("contrasts").to_dict("records")
    assert difference["estimate"] == pytest.approx(2e-12, rel=1e-12)
    assert difference["upper90"] == pytest.approx(2e-12 + Z90 * 5**0.5 * 1e-14, rel=1e-9)
    assert ratio["estimate"] == pytest.approx(3.0)
    assert 2.8 < ratio["lower90"] < 3 < ratio["upper90"] < 3.2


def test_too_many_different_variances_are_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    table = tree_table({name: ("q", name) for name in "xyz"})
    monkeypatch.setattr(noisy_table, "MOST_DISCRETE", 2)
    with pytest.raises(
        InputError, match=r"has 3 variances .* 2 of them below 2; at most 2, and 2000 below 2"
    ):
        estimate(table)
    monkeypatch.undo()
    monkeypatch.setattr(noisy_table, "MOST_SMALL", 1)
    with pytest.raises(InputError, match="at most 20000, and 1 below 2, are possible: say that it is normal"):
        estimate(table)
    monkeypatch.setattr(noisy_table, "MOST_DIFFERENT", 2)
    with pytest.raises(InputError, match="3 variances of areas that differ; at most 2"):
        estimate(table, noise="normal")
    monkeypatch.undo()
    monkeypatch.setattr(estimates_module, "MOST_TOGETHER", 2)
    with pytest.raises(InputError, match="so 3 cells must be solved together in each of 2 areas"):
        estimate(table, attributes=Attributes({"q": ["x", "y", "z"]}))
    monkeypatch.undo()
    assert min(estimate(table, tables=True).to_arrow()["table"].to_pylist()) >= 0
    real = pa.table({"unit": ["A"], "value": [0.5], "variance": [1.0]})
    with pytest.raises(InputError, match="whole-number tables cannot be made of values that are not counts"):
        estimate(real, tables=True)


def test_areas_and_invariants_in_memory_beside_a_file(tmp_path: Path) -> None:
    """A DataFrame of areas, or of exact counts, goes with a noisy table in a file."""
    file = tmp_path / "noisy.csv"
    file.write_text("unit,value,variance\nN,100,4\na,40,4\nb,50,4\n")
    units = pandas.DataFrame({"unit": ["N", "a", "b"], "level": ["top", "x", "x"], "parent": ["", "N", "N"]})
    exact = pandas.DataFrame({"unit": ["N"], "query": ["total"], "cell": ["all"], "count": [99]})
    done = estimate(file, units=units, invariants=exact)
    assert done.to_arrow()["estimate"].to_pylist() == pytest.approx([99, 44.5, 54.5])


def two_surveys(seed: int, factor: float) -> Estimated:
    """Two surveys of 50 areas by four ages, with a standard error of its own in each cell; the noise of the
    first has `factor` times its stated variance."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(50.0, 9.0, size=200)
    se = rng.choice([1.0, 1.5, 2.0], size=200)
    keys = {
        "unit": np.repeat([f"a{number}" for number in range(50)], 4),
        "query": "age",
        "cell": ["0", "1", "2", "3"] * 50,
    }
    first = truth + rng.normal(size=200) * se * factor**0.5
    second = truth + rng.normal(size=200) * se / 2
    tables = [
        pandas.DataFrame({**keys, "value": first, "se": se}),
        pandas.DataFrame({**keys, "value": second, "se": se / 2}),
    ]
    return estimate(tables, attributes=Attributes({"age": ["0", "1", "2", "3"]}))


def test_a_query_of_unequal_variances_is_checked_as_one() -> None:
    """Residuals are added up over all cells of a query. In 20 tables of a variance that is twice as stated,
    each is found in its query (piece by piece of one variance, 25 of 60 were not), and the right one is not
    warned of."""
    for seed in range(20):
        fit = two_surveys(seed, 2.0).fit
        assert [(one.query, one.release, one.cells) for one in fit.by_query] == [
            ("age", 1, 200),
            ("age", 2, 200),
        ]
        assert fit.by_query[0].finding == "too large"
        assert fit.degrees_of_freedom == pytest.approx(200)
        # of two measurements whose variances are as 4 to 1, the first has 4/5 of the degrees of freedom
        assert fit.by_query[0].degrees_of_freedom == pytest.approx(160)
        assert not two_surveys(seed + 100, 1.0).fit.warning


def test_the_spread_of_pieces_is_that_of_dense_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Degrees of freedom, chi-square and the trace of B^2 of queries whose variances differ by cell, in areas
    with areas below them."""
    rng = np.random.default_rng(3)
    cells, tree = (
        ["f * 0", "f * 1", "m * 0", "m * 1"],
        {"N": ["a", "b", "c"], "a": ["a"], "b": ["b"], "c": ["c"]},
    )
    rows, design = [], []
    for unit, leaves in tree.items():
        for query, groups in (("sex * age", [[0], [1], [2], [3]]), ("sex", [[0, 1], [2, 3]])):
            for place, group in enumerate(groups):
                row = np.zeros((3, 4))
                row[["abc".index(leaf) for leaf in leaves], np.array(group)[:, None]] = 1
                cell = cells[place] if query != "sex" else "fm"[place]
                parent = "" if unit == "N" else "N"
                rows.append((unit, parent, query, cell, rng.normal(), float(rng.choice([1.0, 2.0, 5.0]))))
                design.append(row.ravel())
    table = pandas.DataFrame(rows, columns=["unit", "parent", "query", "cell", "value", "variance"])
    seen: list[Any] = []
    whole = fit_report.fit_of
    monkeypatch.setattr(fit_report, "fit_of", lambda groups: seen.extend(groups) or whole(groups))
    estimate(table, attributes=Attributes({"sex": ["f", "m"], "age": ["0", "1"]}))
    X = np.array(design) / np.sqrt(table["variance"].to_numpy())[:, None]
    M = np.eye(len(X)) - X @ np.linalg.pinv(X)
    residual = M @ (table["value"] / np.sqrt(table["variance"])).to_numpy()
    tallies = seen[0].residuals.tallies
    assert len(tallies) == 4
    for (level, query, _), tally in tallies.items():
        mine = np.flatnonzero((table["query"] == query) & ((table["unit"] == "N") == (level == 0)))
        assert tally.cells == tally.read == len(mine)
        assert tally.d == pytest.approx(np.diag(M)[mine].sum())
        assert tally.chi_square == pytest.approx((residual[mine] ** 2).sum())
        assert (M[np.ix_(mine, mine)] ** 2).sum() - 1e-9 <= tally.w <= tally.d
        largest = np.abs(residual[mine] / np.sqrt(np.diag(M)[mine]))
        assert abs(tally.top[0][0]) == pytest.approx(largest.max())
        row = table.iloc[int(mine[largest.argmax()])]
        assert seen[0].unit(tally.top[0][1]) == row["unit"]
        assert seen[0].cell(query, tally.top[0][2]) == row["cell"]


def test_residuals_are_in_real_numbers_with_the_digits_that_tell() -> None:
    """Sums are measured in units, here quarters, and estimated in real numbers; so are their residuals. Of
    rates, as many places as tell what was measured from its estimate."""
    table = pandas.DataFrame(
        {"unit": ["N", "a", "b"], "parent": ["", "N", "N"], "value": [4000, 400, 800], "variance": [16] * 3}
    )
    done = estimate(table.assign(in_units_of="1/4"))
    assert done.fit.largest[0].measured in (1000, 100, 200)
    row = next(one for one in done.to_arrow().to_pylist() if one["unit"] == done.fit.largest[0].unit)
    assert done.fit.largest[0].estimate == pytest.approx(row["estimate"])
    rates = estimate(table.assign(value=[0.5, 0.0123, 0.0345], variance=1e-4))
    assert rates.fit.warning
    said = str(describe(rates).cautions[0])
    far = rates.fit.largest[0]
    assert f"{far.estimate:.2f} is estimated" in said
    assert "chi-square 68" in said
    assert "on 1 degree of freedom" in said
