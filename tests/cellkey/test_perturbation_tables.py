"""Perturbation tables: files of ptable, the ONS and the ABS, and how noise is looked up in them."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.cellkey import LargeCounts, perturbation_table, read_perturbation_table
from discreet.cellkey.table import xor_of_bytes
from discreet.errors import InputError

HALVES = "i;j;p;v;p_int_lb;p_int_ub;type\n0;0;1;0;0;1;all\n1;0;0.5;-1;0;0.5;all\n1;2;0.5;1;0.5;1;all\n"


def written(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        HALVES,
        HALVES.replace(".", ","),  # a decimal comma, as spreadsheets of continental Europe write it
        "i;j;p;v;p_int_ub\n0;0;1;0;1\n1;0;0.5;-1;0.5\n1;2;0.5;1;1\n",  # Tau-Argus
        "i;j;p;v;p_int_lb;p_int_ub\n0;0;1;0;0;1\n1;0;0.5;-1;0;5e-1\n1;2;0.5;1;0.5;1.0\n",  # SAS
        "i,v,p_int_ub\n0,0,1\n1,-1,0.5\n1,1,0.99999999\n",  # the last end as programs round it
        "i;v;p_int_ub\n1;-1;0.5\n0;0;1\n1;0;0.5\n1;1;1\n",  # counts in any order, an interval of no width
    ],
)
def test_files_of_ptable_give_one_table(tmp_path: Path, text: str) -> None:
    table = read_perturbation_table(written(tmp_path, text))
    assert table.law(1) == {0: Fraction(1, 2), 2: Fraction(1, 2)}
    assert table.law(0) == {0: Fraction(1)}
    assert table.law(40) == {39: Fraction(1, 2), 41: Fraction(1, 2)}
    assert (table.origin, table.modulus, table.bound, table.last) == ("ptable", None, 1, 1)


def test_upper_ends_are_exact_decimals_in_file_order(tmp_path: Path) -> None:
    text = "i;v;p_int_ub\n1;1;0.1\n1;-1;0.3\n1;0;0.70000000\n1;-1;0.90\n1;1;1\n"
    row = read_perturbation_table(written(tmp_path, text)).row(1)
    assert row.noises == (1, -1, 0, -1, 1)
    assert row.uppers == (Fraction(1, 10), Fraction(3, 10), Fraction(7, 10), Fraction(9, 10), Fraction(1))
    # the first upper end above the key: an end itself belongs to the next interval
    assert [row.noise(Fraction(key)) for key in ("0", "0.1", "0.29999999", "0.3", "0.95")] == [
        1,
        -1,
        -1,
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i;v;p_int_ub\n1;0;0.5\n", "the last upper end of a count is not 1"),
        ("i;v;p_int_ub\n1;0;0.5\n1;1;0.4\n1;2;1\n", "an upper end is below that of the interval before it"),
        ("i;v;p_int_ub\n1;0;x\n1;1.5;1\n", "2 kinds of problems"),
        ("i;v;p_int_ub\n1;0;1\n3;0;1\n", "there is no row for count 2"),
        ("i;v;p_int_ub\n-1;0;1\n", "i is not a count from 0"),
        ("i;v;p_int_ub;type\n1;0;1;even\n", "tables of magnitudes are not read"),
        ("i;j;v;p_int_ub\n1;1;1;1\n", "j is not i [+] v"),
        ("i;v;p_int_lb;p_int_ub\n1;0;0;0.5\n1;1;0.6;1\n", "a lower end is not the upper end"),
        ("i;v\n1;0\n", "no column p_int_ub"),
        ("i;v;p_int_ub\n", "there are no intervals"),
        ("a;b\n1;0\n", "no columns i, v, p_int_ub .* bigN and smallN"),
        ("pcv,ckey,pvalue\n1,0,0\n1,1,1\n2,0,0\n", "not all for 1 counts"),
        ("pcv,ckey,pvalue\n1,0,0\n1,0,1\n", "a key is listed twice"),
        ("pcv,ckey,pvalue\n1,0,0\n", "ends with pcv 1; larger counts use pcv 501 to 750"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_perturbation_table(written(tmp_path, text))


def test_a_table_of_the_ons(tmp_path: Path) -> None:
    draw = random.Random(20260728)
    noises = {(n, k): draw.choice([-1, 0, 0, 1]) for n in range(1, 751) for k in range(16)}
    lines = [f"{n},{k},{v}" for (n, k), v in noises.items()]
    draw.shuffle(lines)
    table = read_perturbation_table(written(tmp_path, "\n".join(["pcv,ckey,pvalue", *lines])))
    assert (table.modulus, table.origin, table.last) == (16, "ons", 750)
    for count, used in ((1, 1), (750, 750), (751, 501), (1000, 750), (1001, 501), (123_456, 706)):
        assert table.row(count).count == used
        for key in range(16):
            assert table.noise(count, key) == noises[used, key]
        chances = Counter(noises[used, key] for key in range(16))
        assert table.noise_law(count) == {v: Fraction(chances[v], 16) for v in sorted(chances)}
    assert table.noise(0, 7) == 0  # a count that has no row
    assert {750, 999, 1000} <= set(table.counts_to_compare)
    with pytest.raises(InputError, match="belong to tables of the ABS"):
        read_perturbation_table(tmp_path / "table.csv", big_n=7, small_n=2)


def test_a_table_of_the_abs(tmp_path: Path) -> None:
    draw = random.Random(3)
    columns = [[draw.choice([-2, -1, 0, 1, 2]) for _ in range(256)] for _ in range(9)]
    text = "\n".join(
        [
            ",".join(f"V{c}" for c in range(1, 10)),
            *(",".join(map(str, r)) for r in zip(*columns, strict=True)),
        ]
    )
    table = read_perturbation_table(written(tmp_path, text), big_n=70_001, small_n=4)
    for count, used in ((1, 1), (5, 5), (6, 5 + 6 % 4 + 1), (7, 9), (8, 6), (9, 7), (1000, 6)):
        assert table.row(count).count == used
        chances = Counter(columns[used - 1][xor_of_bytes(key)] for key in range(70_001))
        assert table.noise_law(count) == {v: Fraction(chances[v], 70_001) for v in sorted(chances)}
    assert table.noise(7, 69_999) == columns[8][xor_of_bytes(69_999)]
    with pytest.raises(InputError, match="255 rows"):
        read_perturbation_table(written(tmp_path, text.rsplit("\n", 1)[0]), big_n=7, small_n=2)
    with pytest.raises(InputError, match="smallN is 12"):
        read_perturbation_table(written(tmp_path, text), big_n=70_001, small_n=12)


def test_an_exported_table_reads_back(tmp_path: Path) -> None:
    table = perturbation_table(
        {0: {0: 1}, 1: {-1: "0.125", 0: "0.5", 1: "0.375"}, 2: {-2: "1e-8", 0: "0.99999999"}}
    )
    again = read_perturbation_table(written(tmp_path, table.to_csv()))
    assert again.rows == table.rows
    assert again.row(2).stated == {-2: Fraction(1, 10**8), 0: 1 - Fraction(1, 10**8)}
    with pytest.raises(InputError, match="1/3, no decimal number"):
        perturbation_table({1: {0: "1/3", 1: "2/3"}}).to_csv()


@pytest.mark.parametrize(
    ("laws", "options", "message"),
    [
        ({}, {}, "it has no rows"),
        ({2: {0: 1}}, {}, "there is no row for count 1"),
        ({1: {0: "1/2"}}, {}, "sum to 1/2"),
        ({1: {0: "3/2", 1: "-1/2"}, 2: {0: "1/2"}}, {}, "for 2 reasons"),
        ({1: {0: "1/3", 1: "2/3"}}, {"modulus": 8}, "no multiple of 1/8"),
        ({1: {0: 1}}, {"large": LargeCounts(above=3, period=2, start=2)}, "use rows up to 3"),
        ({1: {0: 1 / 3, 1: 2 / 3}}, {}, "is the float 0.333"),
    ],
)
def test_laws_that_are_no_table_are_refused(laws: dict, options: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match=message):
        perturbation_table(laws, **options)


def test_keys_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="a number from 0 to below 1"):
        perturbation_table({1: {0: 1}}).noise(1, 1)
    with pytest.raises(InputError, match="an integer from 0 to below 8"):
        perturbation_table({1: {0: 1}}, modulus=8).noise(1, "1/2")
    with pytest.raises(InputError, match="a count is -1"):
        perturbation_table({1: {0: 1}}).row(-1)
