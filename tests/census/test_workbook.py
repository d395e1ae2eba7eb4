"""The spreadsheet of a design: its formulas, computed by a second reader, give the functions' numbers."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import tomllib
import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from safetab_facts import groups_of_safetab
from safetab_params import write_params

from discreet.census.mechanism.groups import Iteration, Specification
from discreet.census.reports import workbook
from discreet.census.safetab.census2020 import configuration_2020, specification_2020, write_parameters
from discreet.census.safetab.design import Sizing, changed, sizing
from discreet.cli import run

pytest.importorskip("xlsxwriter", reason="needs XlsxWriter: install the extra `test`")
SPECIFICATION = specification_2020()
SPACE = {"x": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}


class Book:
    """A reader of the few functions that are used, with a spreadsheet's rules."""

    def __init__(self, data: bytes) -> None:
        self.formulas: dict[tuple[str, str], str] = {}
        self.stored: dict[tuple[str, str], Any] = {}
        with zipfile.ZipFile(io.BytesIO(data)) as files:
            texts = [
                "".join(part.text or "" for part in one.iter(f"{{{SPACE['x']}}}t"))
                for one in ElementTree.fromstring(files.read("xl/sharedStrings.xml"))
            ]
            names = ElementTree.fromstring(files.read("xl/workbook.xml"))
            self.names = {
                one.attrib["name"]: (one.text or "").split("!")[1].replace("$", "")
                for one in names.iterfind(".//x:definedName", SPACE)
            }
            sheets = [one.attrib["name"] for one in names.iterfind(".//x:sheet", SPACE)]
            for number, sheet in enumerate(sheets, 1):
                root = ElementTree.fromstring(files.read(f"xl/worksheets/sheet{number}.xml"))
                for cell in root.iterfind(".//x:c", SPACE):
                    value, formula = cell.find("x:v", SPACE), cell.find("x:f", SPACE)
                    place = sheet, cell.attrib["r"]
                    if value is not None and value.text is not None:
                        shared = cell.attrib.get("t") == "s"
                        text = cell.attrib.get("t") == "str"
                        raw = value.text
                        self.stored[place] = texts[int(raw)] if shared else raw if text else float(raw)
                    if formula is not None and formula.text:
                        self.formulas[place] = formula.text
        self.known: dict[tuple[str, str], Any] = {}

    def value(self, sheet: str, cell: str) -> Any:
        place = sheet, cell.replace("$", "")
        if place not in self.formulas:
            return self.stored.get(place, 0)
        if place not in self.known:
            self.known[place] = self.computed(sheet, self.formulas[place])
        return self.known[place]

    def computed(self, sheet: str, formula: str) -> Any:
        # -x^2 is (-x)^2 in a spreadsheet and not in Python: it must not occur
        assert not re.search(r"-[$A-Z]+[0-9]+\^", formula)
        text = re.sub(r"--\(", "1*(", formula)
        pieces = re.split(r'("[^"]*")', text)
        for index in range(0, len(pieces), 2):
            piece = pieces[index]
            for name, cell in self.names.items():
                piece = re.sub(rf"\b{name}\b", f"Design!{cell}", piece)
            piece = re.sub(
                r"(?:(\w+)!)?(\$?[A-Z]{1,2}\$?[0-9]+)(?::(\$?[A-Z]{1,2}\$?[0-9]+))?",
                lambda m: f"_({(m[1] or sheet)!r},{m[2]!r},{m[3]!r})",
                piece,
            )
            piece = re.sub(r"(?<![<>=])=(?!=)", "==", piece)
            pieces[index] = piece.replace("^", "**")

        def far(a: float, digits: float) -> float:
            return math.ceil(a * 10**digits) / 10**digits

        functions = {
            "_": lambda where, a, b: self.range(where, a, b) if b else self.value(where, a),
            "IF": lambda test, yes, no: yes if test else no,
            "AND": lambda *tests: all(tests),
            "SUMPRODUCT": lambda *arrays: float(np.sum(np.prod(np.broadcast_arrays(*arrays), axis=0))),
            "SUM": lambda array: float(np.sum(array)),
            "ROW": lambda array: array.rows,
            "MAX": lambda *values: max(values),
            "CHOOSE": lambda place, *values: values[int(place) - 1],
            "ABS": abs,
            "SQRT": math.sqrt,
            "EXP": math.exp,
            "LN": math.log,
            "ROUND": round,
            "ROUNDUP": far,
            "INDEX": lambda array, place: array[int(place) - 1],
        }
        functions["ROUND"] = lambda a, digits: round(a, int(digits))
        return eval("".join(pieces), {"__builtins__": {}}, functions)

    def range(self, sheet: str, first: str, last: str) -> Any:
        column = re.sub(r"[^A-Z]", "", first)
        rows = range(int(re.sub(r"[^0-9]", "", first)), int(re.sub(r"[^0-9]", "", last)) + 1)
        found = np.array([self.value(sheet, f"{column}{row}") for row in rows], dtype=float).view(Column)
        found.rows = np.array(rows)
        return found


class Column(np.ndarray):
    rows: Any


def designs(**changes: Any) -> list[Sizing]:
    plan = changed(configuration_2020(), SPECIFICATION, **changes)
    return [sizing(plan, SPECIFICATION, which, exact=False) for which in plan.passes]


def test_every_formula_gives_the_value_that_is_stored() -> None:
    book = Book(workbook.xlsx_bytes(designs(), SPECIFICATION))
    assert len(book.formulas) > 5000
    kinds = set()
    for sheet, cell in book.formulas:
        kinds.add((sheet, re.sub("[0-9]", "", cell)))
        found, stored = book.value(sheet, cell), book.stored[sheet, cell]
        assert found == pytest.approx(stored, rel=1e-9), (sheet, cell)
    assert {column for sheet, column in kinds if sheet == "Design"} == set("EFGHIJKLMNOPQUV")


def test_changed_settings_give_the_numbers_of_the_functions() -> None:
    plain = Book(workbook.xlsx_bytes(designs(), SPECIFICATION))
    changes: dict[str, Any] = {"races": 3, "gamma": "0.25", "chance": "0.999", "rhos": {("USA", 2): "0.7"}}
    (other, _) = designs(**changes)
    for name, value in (("race_codes", 3), ("first_share", 0.25), ("drop_chance", 0.999)):
        plain.stored["Design", plain.names[name]] = value
    rows = {
        plain.stored["Design", f"A{row}"] + plain.stored["Design", f"B{row}"]: row for row in range(12, 23)
    }
    plain.stored["Design", f"F{rows['USAdetailed']}"] = 0.7
    for level in other.levels:
        row = rows[level.place[0] + {1: "regional", 2: "detailed"}[level.place[1]]]
        assert plain.value("Design", f"E{row}") == level.stability
        assert plain.value("Design", f"J{row}") == pytest.approx(float(level.variance))
        assert plain.value("Design", f"M{row}") == level.margin
        assert tuple(plain.value("Design", f"{column}{row}") for column in "NOPQ") == level.sizes
        if level.suppression is not None:
            assert plain.value("Design", f"U{row}") == level.suppression
    costs = [place for place, formula in plain.formulas.items() if "changed" in formula]
    assert len(costs) == 4
    assert {plain.value(*place) for place in costs} == {"changed: run discreet safetab design again"}


def small() -> Specification:
    """Three pairs of groups and an origin: eight race codes lead to four groups, not to nine."""
    kinds: tuple[str, ...] = ("alone", "combination")
    groups = [
        Iteration(code=f"{kind}{name}", name=name, level=2, kind=kind) for name in "abc" for kind in kinds
    ]
    origin = Iteration(code="e", name="e", level=2, kind="ethnicity")
    mapped = {name: (f"alone{name}", f"combination{name}") for name in "abc"} | {"e": ("e",)}
    return groups_of_safetab(
        iterations=(*groups, origin), codes={name: name for name in mapped}, mapped=mapped
    )


def test_groups_that_are_few_follow_the_number_of_race_codes() -> None:
    plan = changed(configuration_2020(), small(), levels=[("USA", 2), ("COUNTY", 2)])
    found = sizing(plan, small(), "US", exact=False)
    book = Book(workbook.xlsx_bytes([found], small()))
    for codes in (8, 1, 2, 3, 5):
        other = sizing(replace(plan, max_race_codes=codes), small(), "US", exact=False)
        book.stored["Design", book.names["race_codes"]] = codes
        book.known.clear()
        for row, level in enumerate(other.levels, 12):
            assert book.value("Design", f"E{row}") == level.stability == max(2, min(codes, 3)) + 1
            assert book.value("Design", f"M{row}") == level.margin


def test_geometric_noise_has_its_own_formulas() -> None:
    budgets = {place: Fraction(budget != 0) for place, budget in configuration_2020().budgets.items()}
    plan = replace(configuration_2020(), privacy="puredp", budgets=budgets)
    plan = changed(plan, SPECIFICATION, levels=[("USA", 2), ("COUNTY", 2)], epsilons={("COUNTY", 2): "0.3"})
    found = [sizing(plan, SPECIFICATION, "US", delta="1e-10")]
    book = Book(workbook.xlsx_bytes(found, SPECIFICATION))
    for sheet, cell in book.formulas:
        assert book.value(sheet, cell) == pytest.approx(book.stored[sheet, cell], rel=1e-9), (sheet, cell)
    assert [book.stored["Design", f"{column}11"] for column in "FG"] == ["epsilon", "epsilon, second stage"]
    book.stored["Design", "F12"] = 0.7
    book.known.clear()
    (other,) = (
        level
        for level in sizing(
            changed(plan, SPECIFICATION, epsilons={("USA", 2): "0.7"}), SPECIFICATION, "US", exact=False
        ).levels
        if level.place == ("USA", 2)
    )
    assert book.value("Design", "M12") == other.margin
    assert book.value("Design", "J12") == pytest.approx(float(other.variance))


def test_an_error_of_the_whole_group_and_one_pass() -> None:
    plan = changed(configuration_2020(), SPECIFICATION, levels=[("COUNTY", 2)], of="total")
    found = [sizing(plan, SPECIFICATION, "US", of="total", exact=False)]
    book = Book(workbook.xlsx_bytes(found, SPECIFICATION))
    assert tuple(book.stored["Design", f"{column}12"] for column in "NOPQ") == found[0].levels[0].sizes


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = tmp_path / "params"
    write_parameters(params)
    call = ["safetab", "design", str(params), "--levels", "USA:2,COUNTY", "--races", "3", "--error", "20%"]
    call += ["--rho", "COUNTY:2=1/5", "--gamma", "0.2", "--quiet"]
    answers = {}
    for end in ("json", "csv", "toml", "xlsx"):
        assert run([*call, "--out", str(tmp_path / f"design.{end}"), "--json"]) == 0
        answers[end] = json.loads(capsys.readouterr().out)
    (us,) = answers["json"]["passes"]
    assert json.loads((tmp_path / "design.json").read_text())["passes"] == [us]
    assert [(one["geography"], one["level"]) for one in us["levels"]] == [
        ("USA", 2),
        ("COUNTY", 1),
        ("COUNTY", 2),
    ]
    assert [one["stability"] for one in us["levels"]] == [4, 4, 4]
    assert us["levels"][2]["rho"] == "1/5"
    with (tmp_path / "design.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["margin"]) for row in rows] == [one["margin"] for one in us["levels"]]
    toml = tomllib.loads((tmp_path / "design.toml").read_text())
    assert toml["max_race_codes"] == 3
    assert [Fraction(str(row["rho"])) for row in toml["levels"] if row["rho"]] == [
        Fraction(one["rho"]) for one in us["levels"]
    ]
    assert run([*call, "--out", str(tmp_path / "design.csv")]) == 2  # never overwritten
    assert run(call) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "at most 20 % of the average cell" in said


def test_a_folder_of_pure_privacy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = write_params(tmp_path, privacy_defn="puredp")
    call = ["safetab", "design", str(params), "--levels", "USA:2,COUNTY:2", "--quiet"]
    out = tmp_path / "new.toml"
    assert run([*call, "--total-epsilon", "3", "--epsilon", "USA:2=1", "--out", str(out), "--json"]) == 0
    (us,) = json.loads(capsys.readouterr().out)["passes"]
    assert [one["epsilon"] for one in us["levels"]] == ["2", "1"]
    assert us["costs"][0]["pure_epsilon"] == "3"
    assert us["costs"][0]["epsilon"] <= 3
    assert tomllib.loads(out.read_text())["privacy"] == "puredp"
    assert run(call) == 0
    assert "sum of epsilons" in capsys.readouterr().out
    assert run([*call, "--rho", "USA:2=1"]) == 2
    assert "a budget is given as rho, but the privacy is puredp: use epsilon" in capsys.readouterr().err
    assert run([*call, "--total-rho", "1"]) == 2


def test_a_cap_is_told_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["safetab", "design", "--levels", "USA:2", "--races", "2", "--quiet"]
    assert run(call) == 0
    assert "Give --codes-named" in " ".join(capsys.readouterr().out.split())
    assert run([*call, "--codes-named", "0.9,0.08,0.02"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "A cap of 2 race codes: less noise, but people are missing from their groups" in said
    assert "groups of that size that miss 1.8 % of their people" in said
    assert run([*call, "--codes-named", "0.9,0.08,0.02", "--json"]) == 0
    cap = json.loads(capsys.readouterr().out)["passes"][0]["cap"]
    assert cap["people_cut"] == 0.02
    assert set(cap["levels"][0]["within_margin_against_all_codes"]) == {"100", "1000", "10000"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--levels", "BLOCK"], "is no geography"),
        (["--levels", "USA:3"], "no such level"),
        (["--rho", "USA:2"], "must be like COUNTY:2=0.159"),
        (["--rho", "USA:2=x"], "rho of USA, detailed"),
        (["--margin", "USA:2=1.5"], "whole number"),
        (["--races", "9"], "--races is 9"),
        (["--error", "0"], "--error"),
        (["--gamma", "1"], "gamma is 1"),
        (["--chance", "1"], "chance"),
        (["--delta", "2"], "delta"),
        (["--out", "x.ods"], "must end in"),
        (["--total-rho", "0"], "the total rho"),
        (["--total-rho", "60"], "add up to more than 50"),
        (["--total-rho", "2", "--total-epsilon", "3"], "give one of them"),
        (["--epsilon", "USA:2=1"], "a budget is given as epsilon, but the privacy is zcdp: use rho"),
        (["--races", "2", "--codes-named", "0.5,0.2"], "that add up to 1"),
        (["--codes-named", "0.9,0.1"], "all 8 race codes count"),
        (["--earlier", "nowhere.csv"], "there is no file nowhere.csv"),
        (["nowhere"], "nowhere"),
    ],
)
def test_what_is_refused(options: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["safetab", "design", *options]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1
