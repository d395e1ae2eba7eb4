"""Estimates: additive, unbiased, with honest intervals; whole tables; files; and refusals."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from health import AGE, LEVEL, NAMES, PARENT, RELEASE, SEX, STARTS, TEXT, truth

from discreet.areas.tree import Tree
from discreet.budget import Release
from discreet.cli import run
from discreet.errors import InputError
from discreet.estimation import estimate
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.intervals import count_ends
from discreet.estimation.model import known_by_level
from discreet.measurement import measure
from discreet.noise import sample
from discreet.testing import NotPrivateSeededEntropy


def answers(cells: Any, query: str) -> Any:
    """The cells of a query in the order of the attributes."""
    many = len(cells)
    if query == "total":
        return cells.sum(axis=(1, 2))[:, None]
    if query == "age":
        return cells.sum(axis=1)
    if query == "adult":
        return np.stack([cells[:, :, 0].sum(axis=1), cells[:, :, 1:].sum(axis=(1, 2))], axis=1)
    return cells.reshape(many, 6)


def noisy(cells: Any, entropy: Any, exact: Any = None) -> Measurements:
    told = tuple(known_by_level(RELEASE, ["Nation", "Region", "District"]))
    found = {}
    for query in ("total", "age * sex", "adult", "detailed", "age"):
        laws = {place: dict(one.laws)[query] for place, one in enumerate(told) if query in dict(one.laws)}
        units = np.flatnonzero(np.isin(LEVEL, list(laws)))
        rows = answers(cells, query)[units].astype(np.int64)
        for place, law in laws.items():
            mine = LEVEL[units] == place
            rows[mine] += sample(law, rows[mine].shape, source=entropy)
        found[query] = units, rows
    source = InMemory([dict(one.laws) for one in told], found)
    return Measurements(Tree(PARENT, LEVEL, STARTS), (source,), exact or {})


def table(folder: Path, with_zeros: bool = True) -> Path:
    cells = truth()
    file = folder / "counts.csv"
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["unit", "parent", "level", "query", "cell", "count"])
        for unit, name in enumerate(NAMES):
            level = RELEASE.levels[LEVEL[unit]]
            above = NAMES[PARENT[unit]] if PARENT[unit] >= 0 else ""
            for query in level.queries:
                labels = {
                    "total": ["all"],
                    "age": AGE,
                    "adult": ["no", "yes"],
                    "detailed": [f"{s} * {a}" for s, a in itertools.product(SEX, AGE)],
                    "age * sex": [f"{a} * {s}" for s, a in itertools.product(SEX, AGE)],
                }[query.name]
                for label, count in zip(labels, answers(cells, query.name)[unit], strict=True):
                    writer.writerow([name, above, level.name, query.name, label, count])
    return file


def test_cells_and_children_add_up() -> None:
    found = Estimates(RELEASE.attributes, noisy(truth(), NotPrivateSeededEntropy(1)))
    detailed = found.values("detailed")
    assert np.allclose(found.values("total")[:, 0], detailed.sum(axis=1), rtol=1e-9, atol=1e-9)
    assert np.allclose(found.values("adult")[:, 1], found.values("age")[:, 1:].sum(axis=1), rtol=1e-9)
    for above in range(4):
        assert np.allclose(detailed[above], detailed[above == PARENT].sum(axis=0), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_simulation_bias_variance_and_coverage() -> None:
    """1,000 runs. Means of 90 cells within 4.5 standard errors: a false alarm in 1,600 seeds. Variances
    within 5 (kurtosis allowed for). Coverage averaged over units and cells, small counts and dominated totals
    among them, at most a hundredth short; intervals of whole numbers may cover more."""
    cells, source, runs = truth(), NotPrivateSeededEntropy(7), 1000
    queries = ("total", "adult", "detailed")
    sums = {query: np.zeros((2, *answers(cells, query).shape)) for query in queries}
    covered = {(query, level): 0.0 for query in queries for level in (0.9, 0.95)}
    first = Estimates(RELEASE.attributes, noisy(cells, source))
    widths = {(query, level): first.at().widths(query, level) for query, level in covered}
    total_covered = 0.0
    for _ in range(runs):
        found = Estimates.__new__(Estimates)
        found.__dict__.update(first.__dict__)  # the same covariances, new data
        found.given = noisy(cells, source)
        found._passes = found._solve()
        for query in queries:
            values, exact = found.values(query), answers(cells, query)
            sums[query] += [values - exact, (values - exact) ** 2]
            for level in (0.9, 0.95):
                ends = count_ends(values, widths[query, level])
                covered[query, level] += float(np.mean((ends.lower <= exact) & (exact <= ends.upper)))
        ends = count_ends(found.values("total"), widths["total", 0.9])
        total_covered += float((ends.lower[1, 0] <= cells[1].sum()) & (cells[1].sum() <= ends.upper[1, 0]))
    for query in queries:
        sd = first.at().deviations(query)
        assert np.all(np.abs(sums[query][0] / runs) < 4.5 * sd / runs**0.5), query
        assert np.all(np.abs(sums[query][1] / runs / sd**2 - 1) < 5 * (2.5 / runs) ** 0.5), query
    for (query, level), share in covered.items():
        assert share / runs > level - 0.01, (query, level, share / runs)
        assert share / runs < level + 0.045, (query, level, share / runs)
    assert total_covered / runs > 0.9 - 4 * (0.09 / runs) ** 0.5  # a dominated total


def test_a_union_has_the_variance_of_its_parts_together() -> None:
    found = Estimates(RELEASE.attributes, noisy(truth(), NotPrivateSeededEntropy(3)))
    whole, region = found.union([4, 5]), found.union([1])  # all of R1, and R1
    assert whole.values("adult")[0] == pytest.approx(found.values("adult")[1])
    assert whole.variances("adult")[0] == pytest.approx(found.at().deviations("adult")[1] ** 2)
    assert whole.covariances("adult", region, "adult") == pytest.approx(region.variances("adult"))
    one, two = found.union([6]), found.union([7])
    assert one.covariances("total", two, "total") == pytest.approx(two.covariances("total", one, "total"))
    with pytest.raises(InputError, match="lies within it"):
        found.union([1, 4])


def test_exact_totals_are_held() -> None:
    cells = truth()
    held = np.array([1, 2, 3])
    exact = {"total": (held, answers(cells, "total")[held])}
    found = Estimates(RELEASE.attributes, noisy(cells, NotPrivateSeededEntropy(5), exact))
    assert found.values("total")[held] == pytest.approx(answers(cells, "total")[held])
    assert found.values("total")[0] == pytest.approx(answers(cells, "total")[0])
    sure = np.isin(np.arange(10), [0, 1, 2, 3, 9])  # also the nation, their sum, and the only district of R3
    assert np.array_equal(found.at().deviations("total")[:, 0] == 0.0, sure)
    for units, exact_too in (
        ([1, 2], True),
        ([4, 5], True),
        ([4, 5, 9], True),
        ([4], False),
        ([4, 6], False),
    ):
        assert (found.union(units).variances("total")[0, 0] == 0.0) == exact_too, units


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure(RELEASE, table(tmp_path), tmp_path / "m", rehearsal=3)
    (tmp_path / "areas.csv").write_text("area,unit\nwest,D1\nwest,D3\neast,R3\n")
    call = ["estimate", str(tmp_path / "m"), "--out", str(tmp_path / "e"), "--json", "--tables"]
    call += ["--query", "total", "--query", "old women = sex[f] * age[65+]", "--query", "sex"]
    call += ["--areas", str(tmp_path / "areas.csv"), "--difference", "west,east", "--ratio", "R1,R2"]
    assert run(call) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["not_determined"] == 0
    with (tmp_path / "e" / "estimates.NOT-PRIVATE.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    by = {(row["unit"], row["query"], row["cell"]): row for row in rows}
    assert ("N", "old women", "f * 65+") in by
    assert int(by["N", "total", "all"]["table"]) == sum(int(by["N", "sex", one]["table"]) for one in SEX)
    assert all(int(row["table"]) >= 0 for row in rows)
    assert float(by["N", "total", "all"]["estimate"]) == pytest.approx(
        sum(float(by["N", "sex", one]["estimate"]) for one in SEX)
    )
    with (tmp_path / "e" / "contrasts.NOT-PRIVATE.csv").open() as stream:
        contrasts = {(row["unit"], row["cell"]): row for row in csv.DictReader(stream)}
    assert float(contrasts["R1 / R2", "all"]["lower95"]) < float(contrasts["R1 / R2", "all"]["estimate"])
    assert float(contrasts["west - east", "all"]["sd"]) > 0


def test_consistent_is_consistent_over_queries(tmp_path: Path) -> None:
    """This failed before: queries of one area were solved alone, and the total differed from its parts."""
    done = measure(RELEASE, table(tmp_path), tmp_path / "m", post="consistent", rehearsal=3)
    with (done.out / "estimates.NOT-PRIVATE.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    cells = {(row["unit"], row["query"], row["cell"]): int(row["table"]) for row in rows}
    for name in NAMES:
        assert cells[name, "total", "all"] == sum(cells[name, "age", one] for one in AGE)
        assert cells[name, "adult", "yes"] == cells[name, "age", "18-64"] + cells[name, "age", "65+"]
        for sex, age in itertools.product(SEX, AGE):
            assert cells[name, "detailed", f"{sex} * {age}"] == cells[name, "age * sex", f"{age} * {sex}"]
    again = estimate(done.out, tmp_path / "again", tables=True)
    name = "estimates.NOT-PRIVATE.csv"
    first, second = (
        [line.rsplit(",", 1)[0] for line in (one / name).read_text().splitlines()]
        for one in (done.out, again.out)
    )
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--query", "sex * height"], "names 'height', which is neither an attribute nor a recode"),
        (["--level", "1.5"], "level is 1.5; the level of an interval lies between"),
        (["--difference", "a"], "--difference is 'a'; it must be two areas, or two queries"),
        (["--ratio", "R1,Atlantis"], "'Atlantis' is not an area"),
        (["--areas", "none.csv"], "there is no file none.csv"),
        (
            ["--release", "pl94-2020"],
            "release 'pl94-2020-persons' has no query 'detailed' at level 'District'",
        ),
    ],
)
def test_refusals(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measure(RELEASE, table(tmp_path), tmp_path / "m", rehearsal=3)
    assert run(["estimate", str(tmp_path / "m"), "--out", str(tmp_path / "e"), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "e").exists()


def test_tables_that_contradict_the_attributes(tmp_path: Path) -> None:
    file = table(tmp_path)
    file.write_text(file.read_text().replace("f * 65+", "f * 66+").replace("65+ * f", "66+ * f"))
    with pytest.raises(InputError, match=r"unknown cell: it is not declared for the query \(lines 5, 14,"):
        measure(RELEASE, file, tmp_path / "m", post="consistent")
    assert not (tmp_path / "m").exists()


def test_tables_need_detailed_cells(tmp_path: Path) -> None:
    text = TEXT.replace('"detailed" = { variance = 6 }', '"sex" = { variance = 6 }')
    text = text.replace('"age" = { variance = 3 }, ', "")
    release = Release.from_toml(text)
    file = tmp_path / "c.csv"
    lines = table(tmp_path).read_text().splitlines()
    kept = [line for line in lines if ",District," not in line]
    cells = truth()
    for unit in range(4, 10):
        for place, sex in enumerate(SEX):
            above = NAMES[PARENT[unit]]
            kept.append(f"{NAMES[unit]},{above},District,sex,{sex},{cells[unit, place].sum()}")
    file.write_text("\n".join(kept) + "\n")
    with pytest.raises(InputError, match="detailed cells, which no measurement determines at District"):
        measure(release, file, tmp_path / "m", post="consistent")
    measure(release, file, tmp_path / "m", rehearsal=1)
    done = estimate(tmp_path / "m", tmp_path / "e")
    assert done.undetermined > 0
    with pytest.raises(InputError, match="no measurement determines those in 5 areas"):
        estimate(tmp_path / "m", tmp_path / "t", tables=True)
