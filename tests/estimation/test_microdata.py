"""Whole-number tables as histogram and microdata: any program counts the same tables; a check says if not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from bureau_files import draw
from health import NAMES, PARENT, RELEASE, indicator, records, rows, truth

from discreet.answers.table_check import table_check_answer
from discreet.areas.tree import Tree
from discreet.budget import Attributes, Release
from discreet.errors import InputError
from discreet.estimation import check_tables, estimate
from discreet.estimation.output import microdata
from discreet.estimation.output.table_check import TableCheck
from discreet.measurement import measure, tabulate
from discreet.render.json import json_of
from discreet.render.text import text_of
from discreet.reports.printed import print_tables

ATTRIBUTES = RELEASE.attributes
assert ATTRIBUTES is not None
QUERIES = ("total", "adult * sex", "age * sex", "old = age[65+]", "sex", "detailed")


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rehearsal of the health survey, and its units."""
    here = tmp_path_factory.mktemp("noisy")
    people, units = records(here, truth())
    measure(RELEASE, None, here / "trial", records=people, units=units, rehearsal=3)
    return here


def read(folder: Path, stem: str) -> list[dict[str, Any]]:
    """A table of an output, whatever its format, every field a text."""
    file = next(path for path in folder.iterdir() if path.name.startswith(f"{stem}."))
    if file.suffix == ".csv":
        return rows(file)
    return [{name: str(value) for name, value in row.items()} for row in pq.read_table(file).to_pylist()]


def above(unit: str) -> list[str]:
    """A unit and all those above it."""
    found, place = [], NAMES.index(unit)
    while place >= 0:
        found.append(NAMES[place])
        place = PARENT[place]
    return found


def by_cell(people: list[dict[str, Any]]) -> Counter[tuple[str, str, str]]:
    """Records by area, at every level, and values."""
    return Counter((area, row["sex"], row["age"]) for row in people for area in above(row["unit"]))


@pytest.mark.parametrize("format", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
def test_whoever_counts_gets_the_same_tables(noisy: Path, tmp_path: Path, format: Any) -> None:
    out = tmp_path / "out"
    done = estimate(
        noisy / "trial", out, queries=QUERIES, histogram=True, microdata=True, format=format, levels=["0.9"]
    )
    people = read(out, "microdata")
    assert set(people[0]) == {"unit", "Nation", "Region", "sex", "age", "not_private"}
    assert all([row["unit"], row["Region"], row["Nation"]] == above(row["unit"]) for row in people)
    counted = by_cell(people)
    cells = {(row["unit"], row["sex"], row["age"]): int(row["count"]) for row in read(out, "histogram")}
    assert cells == dict(counted)
    assert min(cells.values()) > 0
    assert done.people.rows == {"histogram": len(cells), "microdata": len(people)}
    values = [(sex, age) for sex in ("f", "m") for age in ("0-17", "18-64", "65+")]
    texts = {query.partition(" =")[0]: query for query in QUERIES}
    compared = 0
    for row in read(out, "estimates"):
        labels, matrix = indicator(ATTRIBUTES, texts[row["query"]])
        line = matrix[labels.index(row["cell"])]
        assert int(row["table"]) == line @ [counted[row["unit"], *cell] for cell in values]
        compared += 1
    assert compared == 10 * (1 + 4 + 6 + 1 + 2 + 6)
    order = [(NAMES.index(row["unit"]), values.index((row["sex"], row["age"]))) for row in people]
    assert order == sorted(order)
    found = check_tables(out)
    assert found.agrees
    assert (
        found.people
        == len(people)
        == counted["N", "f", "0-17"] + sum(counted["N", *cell] for cell in values[1:])
    )
    assert found.numbers == compared + len(cells)
    told = json.loads((out / "manifest.NOT-PRIVATE.json").read_text())
    assert told["microdata"]["rows"] == len(people)
    assert set(told["microdata"]["columns"]) == set(people[0]) - {"not_private"}
    assert list(told["histogram"]["columns"]) == ["unit", "level", "sex", "age", "count"]


def test_tabulate_takes_the_microdata(noisy: Path, tmp_path: Path) -> None:
    """They are records as `tabulate` reads them: another program counts the tables of the release."""
    people = tmp_path / "out" / "microdata.NOT-PRIVATE.csv"
    estimate(noisy / "trial", tmp_path / "out", microdata=True)
    tabulate(RELEASE, people, tmp_path / "counts", units=noisy / "units.csv")
    wanted = {
        (row["unit"], row["query"], row["cell"]): row["table"] for row in read(tmp_path / "out", "estimates")
    }
    found = read(tmp_path / "counts", "counts")
    assert len(found) == 1 + 6 + 3 * (1 + 2 + 6) + 6 * (3 + 6)
    assert all(wanted[row["unit"], row["query"], row["cell"]] == row["count"] for row in found)


def test_parts_do_not_show(noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two units and seven rows at a time give the same bytes: memory is bounded, the order is fixed."""
    estimate(noisy / "trial", tmp_path / "one", histogram=True, microdata=True)
    monkeypatch.setattr(microdata, "AT_ONCE", 2)
    monkeypatch.setattr(microdata, "ROWS", 7)
    estimate(noisy / "trial", tmp_path / "two", histogram=True, microdata=True)
    for stem in ("histogram", "microdata", "manifest"):
        one, two = (next((tmp_path / name).glob(f"{stem}.*")).read_bytes() for name in ("one", "two"))
        assert one == two


def test_tables_in_memory(noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = estimate(noisy / "trial", histogram=True, microdata=True, queries=["total"])
    people, cells = found.to_pandas("microdata"), found.to_arrow("histogram").to_pandas()
    assert not list(tmp_path.iterdir())
    assert list(people.columns) == ["unit", "Nation", "Region", "sex", "age", "not_private"]
    assert set(people["not_private"]) == {"NOT PRIVATE: made from a rehearsal"}
    table = found.to_pandas().set_index("unit")["table"]
    assert cells.groupby("unit")["count"].sum().to_dict() == table[table > 0].to_dict()
    assert people.groupby("Region").size().to_dict() == {
        unit: number for unit, number in table.items() if unit.startswith("R") and number
    }


def test_one_step_and_exact_counts(tmp_path: Path) -> None:
    people, units = records(tmp_path, truth())
    pairs = [("Region", "total"), ("District", "age")]
    done = measure(
        RELEASE,
        None,
        tmp_path / "m",
        records=people,
        units=units,
        rehearsal=1,
        post="tables",
        invariants=pairs,
    )
    assert "microdata.NOT-PRIVATE.csv" in done.files
    assert done.files[-1] == "manifest.NOT-PRIVATE.json"
    counted = by_cell(read(tmp_path / "m", "microdata"))
    cells = truth()
    for unit, name in enumerate(NAMES):
        if unit >= 4:
            for place, age in enumerate(["0-17", "18-64", "65+"]):
                assert counted[name, "f", age] + counted[name, "m", age] == cells[unit, :, place].sum()
    found = check_tables(done.out)
    assert found.agrees
    assert found.held == 3 + 6 * 3
    columns = json.loads((tmp_path / "m" / "manifest.NOT-PRIVATE.json").read_text())["columns"]
    assert set(columns) == {"measurements", "estimates", "histogram", "microdata"}
    # estimate keeps them too, and says so in a file of its own
    estimate(tmp_path / "m", tmp_path / "e", microdata=True)
    held = read(tmp_path / "e", "held")
    assert len(held) == 3 + 6 * 3
    assert {row["query"] for row in held} == {"total", "age[0-17]", "age[18-64]", "age[65+]"}
    assert all(row["least"] == row["most"] for row in held)
    again = check_tables(tmp_path / "e")
    assert again.agrees
    assert again.held == len(held)


def test_nobody_at_all(tmp_path: Path) -> None:
    people, units = records(tmp_path, 0 * truth())
    done = measure(
        RELEASE,
        None,
        tmp_path / "m",
        records=people,
        units=units,
        rehearsal=1,
        post="tables",
        invariants=[("Nation", "total")],
    )
    assert read(done.out, "microdata") == read(done.out, "histogram") == []
    assert (done.out / "microdata.NOT-PRIVATE.csv").read_text().startswith('"unit","Nation","Region","sex"')
    assert check_tables(done.out).agrees


def test_the_lowest_level_that_is_written(noisy: Path, tmp_path: Path) -> None:
    estimate(noisy / "trial", tmp_path / "out", microdata=True, histogram=True, down_to="Region")
    people = read(tmp_path / "out", "microdata")
    assert {row["unit"] for row in people} <= {"R1", "R2", "R3"}
    assert {row["level"] for row in read(tmp_path / "out", "histogram")} == {"Nation", "Region"}
    found = check_tables(tmp_path / "out")
    assert found.agrees
    assert found.areas == 4


def test_values_that_look_like_numbers_or_formulas(tmp_path: Path) -> None:
    """01 stays 01; a value such as -1 is written for spreadsheets with an apostrophe, and read back."""
    release = Release.from_toml(
        'name = "codes"\nneighbours = "bounded"\n[attributes]\ncode = ["01", "-1"]\n'
        '[[levels]]\nname = "Top"\nqueries = { "code" = { variance = 1 } }\n'
        '[[levels]]\nname = "Code"\nqueries = { "code" = { variance = 1 } }\n'
    )
    (tmp_path / "units.csv").write_text("unit,level,parent\n00,Top,\n=1,Code,00\n02,Code,00\n")
    (tmp_path / "r.csv").write_text("unit,code\n" + "=1,01\n02,-1\n" * 20)
    measure(
        release, None, tmp_path / "m", records=tmp_path / "r.csv", units=tmp_path / "units.csv", rehearsal=1
    )
    plain = estimate(tmp_path / "m", tmp_path / "plain", microdata=True, histogram=True)
    table = plain.to_arrow("microdata")
    assert set(table.column("code").to_pylist()) == {"01", "-1"}
    assert table.column("unit").to_pylist()[-1] == "=1"
    assert set(plain.to_arrow("histogram").column("code").to_pylist()) == {"01", "-1"}
    assert check_tables(tmp_path / "plain").agrees
    estimate(tmp_path / "m", tmp_path / "sheet", microdata=True, histogram=True, for_spreadsheets=True)
    text = (tmp_path / "sheet" / "microdata.NOT-PRIVATE.csv").read_text()
    assert '"\'=1"' in text
    assert '"\'-1"' in text
    assert check_tables(tmp_path / "sheet").agrees


def test_a_table_whose_variances_differ(tmp_path: Path) -> None:
    """Cells with variances of their own, exact ones among them, of a table without a release."""
    (tmp_path / "a.toml").write_text('[attributes]\nsex = ["f", "m"]\nage = ["0-17", "18+"]\n')
    lines = ["unit,level,parent,query,cell,value,variance"]
    for unit, level, parent in (("N", "Nation", ""), ("A", "Area", "N"), ("B", "Area", "N")):
        many = 2 if unit == "N" else 1
        cells = ("0-17 * f", "0-17 * m", "18+ * f", "18+ * m")
        for cell, value, size in zip(cells, (40, 41, 7, 0), (4, 0, 9, 16), strict=True):
            lines.append(f"{unit},{level},{parent},age * sex,{cell},{many * value},{size}")
    (tmp_path / "noisy.csv").write_text("\n".join(lines) + "\n")
    given = {"attributes": tmp_path / "a.toml", "microdata": True, "histogram": True}
    done = estimate(tmp_path / "noisy.csv", tmp_path / "out", queries=["detailed", "sex"], **given)
    exact = [row for row in read(tmp_path / "out", "held") if row["least"] == row["most"]]
    assert {(row["unit"], row["query"], row["most"]) for row in exact} >= {
        ("A", "sex[m] * age[0-17]", "41"),
        ("N", "sex[m] * age[0-17]", "82"),
    }
    assert done.people.held == len(read(tmp_path / "out", "held"))
    assert check_tables(tmp_path / "out").agrees
    people = read(tmp_path / "out", "microdata")
    assert sum((row["unit"], row["sex"], row["age"]) == ("A", "m", "0-17") for row in people) == 41


# -- what cannot be written ----------------------------------------------------------------------------------

PLAIN = "unit,level,parent,query,cell,value,variance\nN,Nation,,total,all,9,1\nA,Area,N,total,all,9,1\n"


def test_what_cannot_be_written_is_refused(noisy: Path, tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text(PLAIN)
    (tmp_path / "rates.csv").write_text(PLAIN.replace(",9,1", ",0.5,1"))
    (tmp_path / "a.toml").write_text('[attributes]\nsex = ["f", "m"]\n')
    (tmp_path / "b.toml").write_text('[attributes]\nCount = ["f", "m"]\n')

    def refused(source: Path, **options: Any) -> str:
        with pytest.raises(InputError) as error:
            estimate(source, tmp_path / "out", microdata=True, **options)
        assert not (tmp_path / "out").exists()
        assert not list(tmp_path.glob(".discreet*"))
        return str(error.value)

    assert "no attributes are stated: give them (--attributes" in refused(tmp_path / "plain.csv")
    assert "called Count, which is a column" in refused(
        tmp_path / "plain.csv", attributes=tmp_path / "b.toml"
    )
    words = refused(tmp_path / "rates.csv", attributes=tmp_path / "a.toml")
    assert "values that are not counts" in words
    assert "detailed" in refused(tmp_path / "plain.csv", attributes=tmp_path / "a.toml")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").touch()
    with pytest.raises(InputError, match="exists"):
        estimate(noisy / "trial", tmp_path / "out", microdata=True)
    with pytest.raises(InputError, match="microdata cannot be printed"):
        print_tables(noisy / "trial", tmp_path / "t.csv", prints=["age"], microdata=True)


def test_one_step_needs_attributes_before_noise_is_drawn(tmp_path: Path) -> None:
    release = Release.from_toml(
        'name = "plain"\nneighbours = "bounded"\n'
        '[[levels]]\nname = "Top"\nqueries = { "a" = { variance = 1 } }\n'
    )
    (tmp_path / "c.csv").write_text("unit,parent,level,query,cell,count\nN,,Top,a,x,5\n")
    with pytest.raises(InputError, match="no attributes are stated"):
        measure(release, tmp_path / "c.csv", tmp_path / "m", post="tables", rehearsal=1)
    with pytest.raises(InputError, match="none, nonnegative, consistent or tables"):
        measure(release, tmp_path / "c.csv", tmp_path / "m", post="table", rehearsal=1)  # type: ignore[arg-type]
    assert not (tmp_path / "m").exists()


SUMS = """
name = "work"
neighbours = "unbounded"
{weight}
[attributes]
sex = ["f", "m"]
[[levels]]
name = "Top"
[levels.queries]
{queries}
"""
HOURS = '"hours by sex" = { sum = "hours", at_most = 60, variance = 640 }'
WEIGHT = 'weight = { column = "w", at_most = 5 }'


@pytest.mark.parametrize(
    ("weight", "queries", "message"),
    [
        ("", f'"sex" = {{ variance = 9 }}\n{HOURS}', ""),
        ("", HOURS, "only sums were measured"),
        (WEIGHT, '"sex" = { variance = 9 }', "are weighted"),
    ],
)
def test_sums_are_no_records(tmp_path: Path, weight: str, queries: str, message: str) -> None:
    release = Release.from_toml(SUMS.format(weight=weight, queries=queries))
    (tmp_path / "u.csv").write_text("unit,level,parent\nN,Top,\n")
    (tmp_path / "r.csv").write_text("unit,sex,hours,w\n" + "N,f,40,1\nN,m,20,2\n" * 30)
    given = {"records": tmp_path / "r.csv", "units": tmp_path / "u.csv", "rehearsal": 1}
    if not message:
        done = measure(release, None, tmp_path / "m", post="tables", **given)
        found = check_tables(done.out)
        assert found.agrees
        assert found.not_checked == ("hours by sex",)
        assert found.queries == ("sex",)
        return
    with pytest.raises(InputError, match=message):
        measure(release, None, tmp_path / "m", post="tables", **given)
    assert not (tmp_path / "m").exists()
    measure(release, None, tmp_path / "m", **given)
    with pytest.raises(InputError, match=message):
        estimate(tmp_path / "m", tmp_path / "e", histogram=True)


# -- the check -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of an output with everything, by name."""
    here = tmp_path_factory.mktemp("made")
    people, units = records(here, truth(5) + (np.arange(10) >= 0)[:, None, None])
    (here / "zeros.csv").write_text("unit,age\nR3,65+\n")
    measure(RELEASE, None, here / "m", records=people, units=units, rehearsal=2)
    estimate(
        here / "m",
        here / "e",
        queries=["total", "age * sex", "adult", "detailed", "age"],
        microdata=True,
        histogram=True,
        zeros=here / "zeros.csv",
    )
    return {file.name: file.read_text() for file in (here / "e").iterdir()}


def changed(
    made: dict[str, str], folder: Path, stem: str, change: Callable[[list[str]], object]
) -> TableCheck:
    folder.mkdir()
    for name, text in made.items():
        if name.startswith(f"{stem}."):
            lines = text.splitlines(keepends=True)
            change(lines)
            text = "".join(lines)
        (folder / name).write_text(text)
    return check_tables(folder)


def lost_person(lines: list[str]) -> None:
    del lines[1]


def moved_person(lines: list[str]) -> None:
    lines[1] = lines[1].replace('"f"', '"m"')


def of_another_region(lines: list[str]) -> None:
    lines[1] = lines[1].replace('"R1"', '"R2"')


def of_a_region(lines: list[str]) -> None:
    lines[1] = lines[1].replace('"D1"', '"R1"')


def other_value(lines: list[str]) -> None:
    lines[2] = lines[2].replace('"f"', '"w"')


def other_table(lines: list[str]) -> None:
    *rest, table, mark = lines[3].rsplit(",", 2)
    lines[3] = ",".join([*rest, str(int(table) + 1), mark])


def empty_table(lines: list[str]) -> None:
    *rest, _, mark = lines[3].rsplit(",", 2)
    lines[3] = ",".join([*rest, "", mark])


def twice(lines: list[str]) -> None:
    lines.append(lines[1])


def other_query(lines: list[str]) -> None:
    lines[1] = lines[1].replace('"total"', '"totl"')


def more_in_a_cell(lines: list[str]) -> None:
    *rest, count, mark = lines[1].rsplit(",", 2)
    lines[1] = ",".join([*rest, str(int(count) + 2), mark])


def held_lower(lines: list[str]) -> None:
    lines.append('"N","Nation","total",0,3,"x"\n')


def held_higher(lines: list[str]) -> None:
    lines.append('"N","Nation","sex[f]",1000000,,"x"\n')


def old_in_a_region_without(lines: list[str]) -> None:
    place = next(number for number, line in enumerate(lines) if '"D6"' in line)
    lines[place] = '"D6","N","R3","f","65+","x"\n'


CHANGES: list[tuple[str, Callable[[list[str]], object], set[str], list[str]]] = [
    ("microdata", lost_person, {"table", "histogram"}, []),
    ("microdata", moved_person, {"table", "histogram"}, []),
    ("microdata", of_another_region, set(), ["not the area that the lowest area lies in (line 2 of"]),
    ("microdata", of_a_region, {"table", "histogram"}, ["not among the lowest areas (line 2 of"]),
    (
        "microdata",
        other_value,
        {"table", "histogram"},
        ["a value that attribute 'sex' does not have (line 3"],
    ),
    ("microdata", old_in_a_region_without, {"table", "histogram", "too many"}, []),
    ("estimates", other_table, {"table"}, []),
    ("estimates", empty_table, {"table"}, []),
    ("estimates", lost_person, set(), ["a cell of query 'total' is missing in an area"]),
    ("estimates", twice, set(), ["a cell of query 'total' comes twice in an area"]),
    (
        "estimates",
        other_query,
        set(),
        ["the manifest does not name (line 2", "'total' is missing in an area"],
    ),
    ("histogram", more_in_a_cell, {"histogram"}, []),
    ("histogram", lost_person, {"histogram"}, []),
    ("histogram", twice, {"histogram"}, ["a cell of an area comes twice"]),
    ("held", held_lower, {"too many"}, []),
    ("held", held_higher, {"too few"}, []),
]


@pytest.mark.parametrize(
    ("stem", "change", "what", "problems"), CHANGES, ids=[f"{one[0]} {one[1].__name__}" for one in CHANGES]
)
def test_every_change_is_found(
    made: dict[str, str],
    tmp_path: Path,
    stem: str,
    change: Callable[[list[str]], object],
    what: set[str],
    problems: list[str],
) -> None:
    found = changed(made, tmp_path / "changed", stem, change)
    assert {one.what for one in found.differences} == what
    assert not found.agrees
    said = [str(one) for one in found.problems]
    assert len(said) == len(problems)
    assert all(words in text for words, text in zip(problems, said, strict=True))
    text = "\n".join(text_of(table_check_answer(found)))
    assert "Every number is what they count to" not in text
    for one in found.differences:
        assert one.first[0].found != one.first[0].counted
        assert one.file in text
    told = json.loads(json_of(table_check_answer(found)))
    assert [one["count"] for one in told["differences"]] == [one.count for one in found.differences]


def test_what_was_written_agrees(made: dict[str, str], tmp_path: Path) -> None:
    found = changed(made, tmp_path / "same", "microdata", len)
    assert found.agrees
    assert found.held == 2  # the region and the district in it that have no old people
    assert "Every number is what they count to." in "\n".join(text_of(table_check_answer(found)))


def test_how_many_numbers_differ(made: dict[str, str], tmp_path: Path) -> None:
    """A person of D1 is gone: one cell in each of three areas, and every table that counts it."""
    found = changed(made, tmp_path / "changed", "microdata", lost_person)
    wrong = {one.what: one for one in found.differences}
    assert wrong["histogram"].count == 3
    queries = ("total", "age * sex", "adult", "detailed", "age")
    assert set(found.queries) == set(queries)
    assert wrong["table"].count == 3 * len(queries)
    first = wrong["table"].first[0]
    assert (first.unit, first.level, first.query, first.cell) == ("N", "Nation", "total", "all")
    assert first.found == first.counted + 1


def test_a_histogram_alone_is_counted(made: dict[str, str], tmp_path: Path) -> None:
    rest = {name: text for name, text in made.items() if not name.startswith("microdata")}
    found = changed(rest, tmp_path / "same", "none", len)
    assert found.agrees
    assert found.counted_from.startswith("histogram")
    wrong = changed(rest, tmp_path / "other", "histogram", lambda lines: lines.__delitem__(-1))
    assert {one.what for one in wrong.differences} == {"histogram", "table"}
    without = {name: text for name, text in rest.items() if not name.startswith("histogram")}
    with pytest.raises(InputError, match="neither microdata nor a histogram"):
        changed(without, tmp_path / "none", "none", len)
    with pytest.raises(InputError, match="lacks units, or it cannot be read"):
        changed(
            {name: text for name, text in made.items() if "units" not in name}, tmp_path / "u", "none", len
        )
    for number, (text, message) in enumerate(
        {
            "{": "lacks manifest.json, or it cannot be read",
            "[]": "lacks manifest.json, or it cannot be read",
            '{"units": "ten", "queries": ["total"]}': "has 'ten' units",
            '{"units": 11, "queries": ["total"]}': "has 11 units",
            '{"units": 10, "queries": 5}': "does not say which queries",
        }.items()
    ):
        with pytest.raises(InputError, match=message):
            changed({**made, "manifest.NOT-PRIVATE.json": text}, tmp_path / f"m{number}", "none", len)
    with pytest.raises(InputError, match="is no directory"):
        check_tables(tmp_path / "nothing")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_files_of_the_bureau(seed: int, tmp_path: Path) -> None:
    """Constraints, zeros and bounds are written beside the tables; names may come again one level below."""
    found, paths, _ = draw(seed, tmp_path)
    estimate(paths, tmp_path / "e", release=found.release, microdata=True, histogram=True, format="csv")
    checked = check_tables(tmp_path / "e")
    assert checked.agrees
    assert checked.held >= 20
    # the least and largest counts by type of group quarters, as they were drawn
    counted: Counter[tuple[str, str, str]] = Counter()
    for row in read(tmp_path / "e", "histogram"):
        counted[row["level"], row["unit"], row["hhgq"]] += int(row["count"])
    levels = ["US", "State", "County", "Tract", "Block"]
    for key, (lower, upper) in found.bounds.items():
        level, unit = levels[int(key.split()[0])], key.split()[1]
        for kind, low, high in zip(
            ["household", "correctional", "juvenile", "nursing"], lower, upper, strict=True
        ):
            assert low <= counted[level, unit, kind] <= high


def test_areas_above_by_brute_force() -> None:
    rng = np.random.default_rng(7)
    levels = ("Nation", "State", "State+County", "County", "Tract", "County+Tract")
    for _ in range(50):
        parent, kind, starts, last = [-1], [0], [0], [0]
        while last:
            starts.append(len(parent))
            here = []
            for unit in last:
                low = levels[kind[unit]].split("+")[-1]
                below = [n for n, name in enumerate(levels) if name.split("+")[0] == next_level(low)]
                for _ in range(int(rng.integers(1, 4)) if below else 0):
                    parent.append(unit)
                    kind.append(int(rng.choice(below)))
                    here.append(len(parent) - 1)
            last = here
        tree = Tree(np.array(parent), np.array(kind), tuple(starts[:-1]), levels)
        columns = microdata.area_columns(tree, Attributes({"county": ["a"]}))
        assert set(columns) <= {("Nation", "Nation"), ("State", "State"), ("County", "County area")}
        assert columns[0] == ("Nation", "Nation")
        leaves = np.flatnonzero(tree.leaf)
        found = microdata.areas_above(tree, leaves, [level for level, _ in columns])
        for (level, _), areas in zip(columns, found, strict=True):
            for leaf, area in zip(leaves.tolist(), areas.tolist(), strict=True):
                unit = leaf
                while unit >= 0 and level not in levels[kind[unit]].split("+"):
                    unit = parent[unit]
                assert unit == area


def next_level(level: str) -> str:
    return {"Nation": "State", "State": "County", "County": "Tract"}.get(level, "")
