from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.cellkey import account_cells, check_table, entropy_table, hypercube

NESTED = "cell,group,count\nA,a,2\nB,b,0\ntotal,a,2\ntotal,b,0\n"


def test_check_says_what_python_says(discreet: Callable[..., Any], tmp_path: Path) -> None:
    table = entropy_table(5, 3, small=2)
    file = tmp_path / "ptable.csv"
    file.write_text(table.to_csv(), encoding="utf-8")
    found = discreet("cellkey", "check", file, "--delta", "0.3", "--delta", "0.01", "--json").json
    known = check_table(table, deltas=["0.3", "0.01"])
    assert (found["table"], found["origin"], found["bound"], found["small"]) == ("ptable.csv", "ptable", 5, 2)
    assert found["unbiased"] is True
    assert found["delta_at_any_epsilon"]["exact"] == str(known.anywhere.most_certain.certain)
    assert found["delta_at_any_epsilon"]["between"] == [0, 1]
    assert [row["counts"] for row in found["costs"]] == ["any", "1 or more", "8 or more"]
    assert found["costs"][1]["deltas"][0]["between"] == [2, 3]
    assert found["epsilons"][0]["epsilon"] == pytest.approx(0.19492, abs=1e-5)
    assert found["epsilons"][1]["epsilon"] is None
    assert found["tradeoff"][1]["beta"] == pytest.approx(float(known.errors[1]), abs=1e-15)
    assert all(row["stated_sum"] == 1 and row["largest_deviation"] == 0 for row in found["rows"])


def test_check_in_words(discreet: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "rough.csv"
    file.write_text("i;j;p;v;p_int_ub\n1;1;0.9;0;1\n2;1;.5;-1;.5\n2;4;.5;2;1\n", encoding="utf-8")
    text = " ".join(discreet("cellkey", "check", file).out.split())
    assert "Biased: the noise of count 2 has mean 0.5, the largest of 1 counts." in text
    assert "The stated probabilities of 1 rows do not sum to 1; those of count 1 sum to 0.9." in text
    assert "Delta is 1, whatever epsilon, between counts 0 and 1" in text
    assert "Counts without noise: 1." in text
    assert "cellKey seeds its generator from a hash of the data" in text
    none = " ".join(discreet("cellkey", "check", "D2V1", "--delta", "0.1").out.split())
    assert "At delta 0.1 no epsilon holds." in none
    assert "it is an upper bound, and that of count 1 is 0.9319" in none


def test_account_says_what_python_says(discreet: Callable[..., Any]) -> None:
    found = discreet("cellkey", "account", "D2V1", "--attributes", "sex=2", "--least", "1", "--json").json
    known = account_cells(entropy_table(2, 1), hypercube({"sex": 2}), least=1)
    assert (found["methods"], found["kind"], found["rank"], found["cases"]) == (["joint"], "exact", 2, 8)
    assert [row["delta"] for row in found["costs"]] == [
        pytest.approx(float(known.deltas[0].upper), abs=1e-15),
        pytest.approx(float(known.certain), abs=1e-15),
    ]
    assert found["costs"][0]["counts_before"] == [
        {"group": "sex 1", "count": 1},
        {"group": "sex 2", "count": 1},
    ]


def test_counts_of_the_data_are_not_repeated(discreet: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    file.write_text(NESTED, encoding="utf-8")
    result = discreet("cellkey", "account", "D2V1", "--cells", file, "--json")
    assert all(row["counts_before"] is None for row in result.json["costs"])
    assert "as confidential as those" in discreet("cellkey", "account", "D2V1", "--cells", file).out


def test_an_exact_total(discreet: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    file.write_text(NESTED, encoding="utf-8")
    ask = ("cellkey", "account", "D2V1", "--cells", file, "--published", "total")
    text = " ".join(discreet(*ask).out.split())
    assert "Published without noise: total. One record more or less shows there, so delta is 1." in text
    assert "neighbours bounded" in text
    closed = discreet(*ask, "--neighbours", "bounded", "--everybody", "--json").json
    assert (closed["methods"], closed["everybody_in_a_cell"]) == (["product"], True)
    # somebody who is in none of the cells can join, and the exact total shows it
    open_cells = discreet(*ask, "--neighbours", "bounded", "--json").json
    assert [row["delta"] for row in open_cells["costs"]] == [1, 1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "no-such-table.csv"], "there is no file no-such-table.csv"),
        (["check", "D2V1", "--epsilon", "-1"], "epsilon is -1"),
        (["check", "D2V1", "--prior", "1"], "prior is 1"),
        (
            ["account", "D2V1"],
            "give the cells by --cells FILE or by --attributes NAME=N,...; neither is given",
        ),
        (["account", "D2V1", "--attributes", "sex"], "must be LEVEL=NUMBER"),
        (["account", "D2V1", "--attributes", "sex=1/2"], "must say a number of values, such as sex=2"),
        (["account", "D2V1", "--attributes", "sex=2,age=2"], "joins the empty group 'sex 1, age 1'"),
        (["account", "D2V1", "--attributes", "a=2,b=9"], "column count"),
        (["account", "D2V1", "--attributes", "sex=2", "--published", "x"], "there is no cell x"),
        (["account", "D9V1", "--attributes", "sex=2", "--cells", "x.csv"], "both are given"),
        (["account", "D5V0.01js2", "--attributes", "sex=2"], "cannot have a variance that small"),
    ],
)
def test_what_cannot_be_answered(discreet: Callable[..., Any], words: list[str], message: str) -> None:
    result = discreet("cellkey", *words)
    assert result.status == 2
    assert message in result.err
