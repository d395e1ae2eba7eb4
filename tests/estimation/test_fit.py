"""Chi-square, its degrees of freedom and the largest residuals, equal to dense matrices on every way."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense import matrix
from fit_designs import Design, gaussian
from health import NAMES, RELEASE, records, rows, truth
from random_releases import drawn

from discreet.answers import describe
from discreet.cli import run
from discreet.estimation import estimate
from discreet.estimation.estimates import Estimates, InMemory
from discreet.estimation.fit import UNCHECKED, NamedResiduals, Residuals, Spread, fit_of, tail_of_largest
from discreet.measurement import measure
from discreet.noise import DiscreteLaplace


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 36))]
)
def test_equal_to_dense_matrices(seed: int) -> None:
    """Uneven trees, levels without measurements, exact totals; held in memory and read again."""
    given = drawn(seed)
    attributes, old = given.estimates.model.attributes, given.estimates.given
    source = old.sources[0]
    assert attributes is not None
    assert isinstance(source, InMemory)
    if not source.noisy:
        pytest.skip("nothing is measured")
    rng = np.random.default_rng(seed)
    noisy = {
        query: (who, rng.integers(-5, 6, size=cells.shape)) for query, (who, cells) in source.noisy.items()
    }
    kind, size = old.tree.kind, old.tree.size
    found = Estimates(attributes, replace(old, sources=(InMemory(source.laws, noisy),)), held=bool(seed % 2))
    residuals = Residuals(found, kind)
    written = size if seed % 3 else int(found.cut) // 2
    residuals.add_held(written)
    rest = np.concatenate([np.arange(written), np.arange(max(written, found.cut), size)])
    for part in np.array_split(rest, 3):
        if seed % 4 < 2:
            found.at(part, residuals)
            continue
        some = residuals.empty()
        found.at(part, some)
        residuals.unpack(some.packed())
    order = ["total", *attributes.names, "detailed"] if len(attributes.names) > 1 else ["total", "detailed"]
    blocks, values, of = [], [], []
    for unit in range(size):
        for query in [one for one in order if one in source.laws[kind[unit]]]:
            blocks.append(np.kron(given.incidence[unit], matrix(attributes.tabulation(query))))
            values.append(noisy[query][1][noisy[query][0].tolist().index(unit)])
            of += [(int(kind[unit]), query, 0)] * len(blocks[-1])
    sd = np.sqrt([law.true_variance() for law in given.laws])
    M = np.eye(len(of)) - np.vstack(blocks) @ given.weights / sd[:, None] * sd
    r, free = M @ (np.concatenate(values) / sd), np.diag(M)
    for key, tally in residuals.tallies.items():
        mine = [place for place, one in enumerate(of) if one == key]
        assert tally.read == tally.cells == len(mine)
        assert tally.d == pytest.approx(float(free[mine].sum()), abs=1e-6 * len(mine))
        assert tally.chi_square == pytest.approx(
            float((r[mine] ** 2)[free[mine] > UNCHECKED].sum()), abs=1e-6, rel=1e-6
        )
        # the bound on the trace of B^2
        exact = float((M[np.ix_(mine, mine)] ** 2).sum())
        assert exact - 1e-6 <= tally.w <= tally.d + 1e-12
        sizes = [abs(r[place]) / free[place] ** 0.5 for place in mine if free[place] > UNCHECKED]
        largest = abs(tally.top[0][0]) if tally.top else 0.0
        assert largest == pytest.approx(max(sizes, default=0.0), rel=1e-5, abs=1e-9)


def test_the_chance_of_a_residual() -> None:
    """Chernoff's bound for Laplace noise, against its exact tail: above it, and by no more than it must."""
    for size in (4.0, 10.0, 20.0):
        bound = tail_of_largest(size, (1.0, True), 1.0, (1.0, True))
        exact = float(np.exp(-(2**0.5) * size))
        assert exact < bound < 2 * np.e * size * exact


def test_tails_of_chi_square() -> None:
    """With all eigenvalues 1 they are those of chi-square: 36.78 and 0.711 are the 5 % points for 24 and 4
    degrees (National Institute of Standards and Technology, e-Handbook, 1.3.6.7.4: 36.415, 0.711)."""
    assert Spread(24.0, 24.0).above(36.415) == pytest.approx(0.05, abs=1e-4)
    assert Spread(4.0, 4.0).below(0.711) == pytest.approx(0.05, abs=1e-4)


# -- the whole way -------------------------------------------------------------------------------------------


def measured(folder: Path, seed: int = 7, name: str = "run") -> Path:
    people, units = records(folder, truth())
    measure(RELEASE, None, folder / name, records=people, units=units, rehearsal=seed)
    return folder / name


def spoil(run: Path, change: Any) -> Path:
    """Change the measurements of a run as a table."""
    file = next(run.glob("measurements.*"))
    table = rows(file)
    for row in table:
        row["value"] = str(change(row))
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    return run


def test_honest_measurements(tmp_path: Path) -> None:
    done = estimate(measured(tmp_path), tmp_path / "e")
    fit = done.fit
    assert not fit.warning
    assert fit.unread == 0
    # 10 units: 7 + 27 + 54 cells measured, 36 unknown counts
    assert fit.cells == 7 + 3 * 9 + 6 * 9
    assert fit.degrees_of_freedom == pytest.approx(fit.cells - 36)
    assert sum(one.degrees_of_freedom for one in fit.by_query) == pytest.approx(fit.degrees_of_freedom)
    answer = describe(done)
    assert not answer.cautions
    manifest = json.loads(next((tmp_path / "e").glob("manifest*.json")).read_text())
    assert manifest["fit"] == json.loads(json.dumps(answer.objects["fit"]))
    assert manifest["fit"]["warning"] is None
    assert any("the noise explains it" in str(part) for part in answer.body)


def test_a_count_from_elsewhere_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One district's old people are another's: everything says so, loudly, by name."""
    folder = spoil(
        measured(tmp_path),
        lambda row: (
            int(row["value"]) + 90 * (row["unit"] == "D3" and row["query"] == "age" and row["cell"] == "65+")
        ),
    )
    done = estimate(folder, tmp_path / "e")
    first = done.fit.largest[0]
    assert (first.unit, first.level, first.query, first.cell) == ("D3", "District", "age", "65+")
    assert first.standardised > 6
    assert done.fit.largest_finding == done.fit.finding == "too large"
    assert run(["estimate", str(folder), "--out", str(tmp_path / "f")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "WARNING: THE MEASUREMENTS CONTRADICT EACH OTHER" in text
    assert "area D3, query age, cell 65+" in text
    assert run(["estimate", str(folder), "--out", str(tmp_path / "g"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["fit"]["warning"].startswith("THE MEASUREMENTS CONTRADICT EACH OTHER")
    assert "THE MEASUREMENTS CONTRADICT" in done._repr_html_()
    manifest = json.loads(next((tmp_path / "g").glob("manifest*.json")).read_text())
    assert manifest["fit"]["warning"] == shown["fit"]["warning"]
    assert manifest["fit"]["largest_residuals"][0]["unit"] == "D3"


def test_random_counts_are_no_estimates(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    folder = spoil(measured(tmp_path), lambda _: int(rng.integers(0, 1000)))
    fit = estimate(folder, tmp_path / "e").fit
    assert fit.chi_square > 1000 * fit.degrees_of_freedom
    assert fit.finding == "too large"


def test_numbers_that_were_made_to_agree(tmp_path: Path) -> None:
    """Measurements without noise agree better than their variances allow."""
    cells = truth()
    counts = {name: cells[place] for place, name in enumerate(NAMES)}

    def exact(row: dict[str, str]) -> int:
        sex, age = ["f", "m"], ["0-17", "18-64", "65+"]
        words = row["cell"].replace(" ", "").replace("*", ",").split(",")
        table = counts[row["unit"]]
        if row["query"] == "total":
            return int(table.sum())
        if row["query"] == "adult":
            return int(table[:, 1:].sum() if "yes" in words else table[:, :1].sum())
        chosen = table
        place_age = [age.index(word) for word in words if word in age]
        place_sex = [sex.index(word) for word in words if word in sex]
        chosen = chosen[place_sex] if place_sex else chosen
        return int(chosen[:, place_age].sum() if place_age else chosen.sum())

    file = next(measured(tmp_path).glob("measurements.*"))
    assert {row["cell"] for row in rows(file) if row["query"] == "age * sex"} != set()
    done = estimate(spoil(file.parent, exact), tmp_path / "e")
    assert done.fit.finding == "too small"
    assert "AGREE BETTER THAN THEIR NOISE ALLOWS" in describe(done).cautions[0].text


def test_nothing_to_check(tmp_path: Path) -> None:
    """One query and one level: no measurement says anything about another."""
    (tmp_path / "noisy.csv").write_text(
        "unit,level,parent,query,cell,value,variance\nA,Area,,age,young,5,9\nA,Area,,age,old,7,9\n"
    )
    done = estimate(tmp_path / "noisy.csv", tmp_path / "e")
    assert done.fit.degrees_of_freedom == 0.0
    assert done.fit.chance is None
    assert not done.fit.warning
    assert any("nothing can be checked" in str(getattr(part, "text", part)) for part in describe(done).body)


@pytest.mark.parametrize("down_to", [None, "Region"])
def test_streamed(tmp_path: Path, down_to: str | None) -> None:
    people, units = records(tmp_path, truth())
    measure(RELEASE, None, tmp_path / "run", records=people, units=units, rehearsal=7, format="parquet")
    held, read = (
        estimate(tmp_path / "run", tmp_path / name, streamed=streamed, down_to=down_to).fit
        for name, streamed in (("a", False), ("b", True))
    )
    if down_to is None:
        assert read.chi_square == pytest.approx(held.chi_square, rel=1e-9)
        assert read.cells == held.cells
        assert [one.unit for one in read.largest] == [one.unit for one in held.largest]
        return
    # districts that are not written are not read a second time
    assert held.unread == 0
    assert read.unread == 54
    assert {one.level for one in read.by_query} == {"Nation", "Region"}


@pytest.mark.slow
def test_an_earlier_release_and_releases_apart(tmp_path: Path) -> None:
    now = measured(tmp_path)
    (tmp_path / "other").mkdir()
    before = spoil(
        measured(tmp_path / "other", 8), lambda row: int(row["value"]) + 300 * (row["unit"] == "R1")
    )
    alone = estimate(now, tmp_path / "a").fit
    changed = estimate(now, tmp_path / "e", since=before)
    assert changed.fit.degrees_of_freedom == pytest.approx(2 * alone.degrees_of_freedom)
    assert changed.fit.finding == "too large"
    assert {one.release for one in changed.fit.largest} == {2}
    assert "of release 2" in describe(changed).cautions[0].text
    together = estimate([now, before], tmp_path / "f").fit
    assert together.degrees_of_freedom == pytest.approx(2 * alone.cells - 36)
    assert together.finding == "too large"


def test_a_level_of_which_a_part_was_read() -> None:
    """A sum over some of its areas is not what its degrees of freedom are for."""
    design = Design("", 2, ({"total": gaussian("9")}, {"total": gaussian("4"), "detailed": gaussian("2")}), 9)
    residuals = Residuals(design.estimates(), design.tree.kind)
    design.estimates().at(np.arange(5), residuals)
    fit = fit_of([NamedResiduals(residuals, design.tree.levels, str, lambda _, cell: str(cell), (1,))])
    assert [one.level for one in fit.by_query] == ["Nation"]
    assert (fit.cells, fit.unread) == (1, 27)


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_are_found_in_any_part(seed: int) -> None:
    design = Design(
        "", 2, ({"total": gaussian("9")}, {"total": gaussian("4"), "detailed": gaussian("2")}), 30
    )
    noise = np.rint(np.random.default_rng(seed).normal(0, 3, 1 + 30 * 3))
    estimates = design.estimates(noise)
    whole, parts = (Residuals(estimates, design.tree.kind) for _ in range(2))
    whole.add_held()
    for part in np.array_split(np.arange(31), 5):
        estimates.at(part, parts)
    for one, other in zip(whole.tallies.values(), parts.tallies.values(), strict=True):
        assert [top[:3] for top in one.top] == [top[:3] for top in other.top]


def test_laplace_noise_is_bounded_by_its_pole() -> None:
    """The proxy of discrete Laplace noise bounds its transform up to the pole."""
    from discreet.estimation.fit import _proxy

    for scale in ("1/4", "1", "7"):
        law = DiscreteLaplace(scale=scale)
        proxy, heavy = _proxy(law)
        size = law.true_variance()
        rate = float(law.log_pmf(0) - law.log_pmf(1))
        t = np.linspace(0.0, 0.999 * rate, 50)
        exact = 1 / (1 - size * (np.cosh(t) - 1))
        bound = 1 / (1 - proxy * size * t * t / 2)
        assert heavy
        assert (bound >= exact * (1 - 1e-9)).all()
        assert proxy >= 1 - 1e-12
