"""The files of a release: rows as a plain loop would write them, and margins of error to the last unit."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pyarrow.parquet as pq
import pytest
from safetab_facts import CELLS, LADDER, RANGES, TABLES, part_of

from discreet.areas.output import Folder
from discreet.census.mechanism import writer as writing
from discreet.census.mechanism.margins import Labels, Margin, label, stated, written
from discreet.census.mechanism.parts import GroupArrays
from discreet.census.mechanism.writer import Writer
from discreet.noise import GaussianNoise, LaplaceNoise

REGIONS = [f"{i:011}" for i in range(40)]
ITERATIONS = [f"{1000 + i}" for i in range(12)]
NOISES = (GaussianNoise(variance="1250/53"), None, LaplaceNoise(scale=3))


def some(seed: int, size: int = 200) -> GroupArrays:
    random = np.random.default_rng(seed)
    pairs = random.permutation(len(REGIONS) * len(ITERATIONS))[:size]
    table = random.integers(0, 4, size)
    values = random.integers(-50, 5000, int(np.take(CELLS, table).sum()))
    labels = random.integers(0, len(NOISES), size)
    return part_of("TRACT", 2, pairs // 12, pairs % 12, table, labels, values)


def labels() -> Labels:
    return Labels([label(noise, LADDER, table) for noise in NOISES for table in range(4)])


def by_loops(part: GroupArrays) -> tuple[list[list[str]], list[list[str]]]:
    """Both tables, row by row."""
    t1, t2 = [], []
    start = 0
    groups = zip(part.region, part.iteration, part.table, part.label, strict=True)
    for region, iteration, table, number in groups:
        cells = part.values[start : start + CELLS[table]].tolist()
        start += CELLS[table]
        name, noise = [REGIONS[region], "TRACT", ITERATIONS[iteration]], NOISES[number]
        total = stated(noise, CELLS[table])
        t1.append([*name, str(sum(cells)), "T01001", total.variance, str(total.margin)])
        if not table:
            continue
        ages = RANGES[table - 1]
        half, one = stated(noise, len(ages)), stated(noise, 1)
        for sex in (1, 2):
            part_of = cells[(sex - 1) * len(ages) : sex * len(ages)]
            both = [TABLES[table], half.variance, str(half.margin)]
            t2.append([*name, "*", "*", str(sex), str(sum(part_of)), *both])
            for (low, high), count in zip(ages, part_of, strict=True):
                each = [TABLES[table], one.variance, str(one.margin)]
                t2.append([*name, str(low), str(high), str(sex), str(count), *each])
    return t1, t2


@pytest.mark.parametrize("rows", [1, 57, 1 << 19])
@pytest.mark.parametrize("bureau", [False, True])
def test_rows_are_those_of_a_plain_loop(
    tmp_path: Path, rows: int, bureau: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "ROWS", rows)
    part = some(1)
    with Writer(Folder(tmp_path, "csv"), LADDER, ITERATIONS, labels(), bureau=bureau) as writer:
        writer.write(part, REGIONS)
    for name, expected in zip(("t1", "t2"), by_loops(part), strict=True):
        with (tmp_path / f"{name}.csv").open(newline="") as stream:
            _, *found = csv.reader(stream, delimiter="|")
        wanted = [row[:-3] if bureau else row for row in expected]
        assert sorted(found) == sorted(wanted)
        # groups come in order
        assert [row[:3] for row in found] == sorted(row[:3] for row in found)
        assert sum(writer.rows[table] for table in TABLES if (table == "T01001") == (name == "t1")) == len(
            found
        )


def test_parquet_has_numbers_and_texts(tmp_path: Path) -> None:
    with Writer(Folder(tmp_path, "parquet"), LADDER, ITERATIONS, labels(), bureau=False) as writer:
        writer.write(some(2), REGIONS)
        writer.write(some(3), REGIONS)
    table = pq.read_table(tmp_path / "t2.parquet")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds["COUNT"] == kinds["MOE95"] == "int64"
    assert kinds["NOISE_VARIANCE"] == "double"
    assert "string" in kinds["AGESTART"]


def test_an_empty_release_has_its_headers(tmp_path: Path) -> None:
    with Writer(Folder(tmp_path, "csv"), LADDER, ITERATIONS, labels(), bureau=True) as writer:
        writer.write(part_of("USA", 1, [], [], [], [], []), ["1"])
    assert (tmp_path / "t1.csv").read_text() == "REGION_ID|REGION_TYPE|ITERATION_CODE|COUNT\n"
    t2 = "REGION_ID|REGION_TYPE|ITERATION_CODE|AGESTART|AGEEND|SEX|COUNT\n"
    assert (tmp_path / "t2.csv").read_text() == t2


def test_the_bureaus_margin_next_to_a_whole_number_is_told_exactly() -> None:
    # 1.96 sigma = 49 exactly at 625; one part in 1e30 less is 48, which floats cannot see
    assert stated(GaussianNoise(variance=625), 1) == Margin("625", 49, 49)
    below = GaussianNoise(variance=625 - Fraction(1, 10**30))
    assert stated(below, 1) == Margin("625", 49, 48)


def test_the_bureaus_margins_stand_in_a_column_of_their_own(tmp_path: Path) -> None:
    with Writer(
        Folder(tmp_path, "csv"), LADDER, ITERATIONS, labels(), bureau=False, bureau_margins=True
    ) as writer:
        writer.write(some(4), REGIONS)
    known = {(one.variance, str(one.margin)): str(one.bureau) for one in (*labels().total, *labels().rows)}
    for name in ("t1", "t2"):
        with (tmp_path / f"{name}.csv").open(newline="") as stream:
            found = list(csv.DictReader(stream, delimiter="|"))
        assert found
        for row in found:
            assert row["MOE95_BUREAU"] == known[row["NOISE_VARIANCE"], row["MOE95"]]


@pytest.mark.parametrize("cells", [1, 8, 46])
def test_margins_of_geometric_noise_agree_with_another_way(cells: int) -> None:
    with mpmath.workdps(50):
        for scale in (Fraction(1, 2), Fraction(9, 2), Fraction(90), Fraction(12345, 7)):
            r = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
            variance = cells * 2 * r / (1 - r) ** 2
            found = stated(LaplaceNoise(scale=scale), cells)
            assert found.bureau == int(mpmath.floor(mpmath.mpf("1.96") * mpmath.sqrt(variance)))
            assert abs(mpmath.mpf(found.variance) / variance - 1) < mpmath.mpf("1e-14")


def test_variances_are_written_shortly_and_as_floats_read_them() -> None:
    for value in (
        Fraction(625),
        Fraction(5000, 159),
        Fraction(1, 3),
        Fraction(10**20, 7),
        Fraction(1, 10**6),
    ):
        text = written(value)
        assert abs(Fraction(text) / value - 1) < Fraction(1, 10**14)
        assert len(text.replace(".", "").lstrip("0").rstrip("0")) <= 15
        assert "e" not in text.lower()
