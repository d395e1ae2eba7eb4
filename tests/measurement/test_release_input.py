"""Bad input: an error with line and column, no confidential value in it, nothing written, nothing spent."""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from release_country import TOML, Country

from discreet.budget import Release, load_file
from discreet.errors import InputError
from discreet.estimation import estimate
from discreet.ledger import create_ledger, read_ledger
from discreet.measurement import measure, tabulate, write_example

SECRET = "31415926"
"""A count that must never be seen in a message."""


def refused(release: Release, country: Country, counts: Path, text: str, **more: Any) -> str:
    """Run `measure`, which must fail with a message that contains `text`, and leave nothing behind."""
    ledger = country.folder / "ledger.json"
    if not ledger.exists():
        create_ledger(ledger)
    before = {path: path.read_bytes() for path in country.folder.iterdir() if path.is_file()}
    with pytest.raises(InputError) as caught:
        measure(release, counts, country.folder / "out", ledger=ledger, **more)
    message = str(caught.value)
    assert text in message
    assert SECRET not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert {path: path.read_bytes() for path in country.folder.iterdir() if path.is_file()} == before
    assert not [path for path in country.folder.iterdir() if path.is_dir()]
    assert not read_ledger(ledger).entries
    return message


Spoil = Callable[[Country], None]


def change(unit: str, query: str, cell: str, /, **fields: Any) -> Spoil:
    def spoil(country: Country) -> None:
        country.find(unit, query, cell).update(fields)

    return spoil


def for_unit(unit: str, /, **fields: Any) -> Spoil:
    def spoil(country: Country) -> None:
        for row in country.rows:
            if row["unit"] == unit:
                row.update(fields)

    return spoil


def without(**fields: Any) -> Spoil:
    def spoil(country: Country) -> None:
        country.rows = [
            r for r in country.rows if not all(r[name] == value for name, value in fields.items())
        ]

    return spoil


def twice(country: Country) -> None:
    country.rows.append(dict(country.rows[4]))


CASES: dict[str, tuple[Spoil, str]] = {
    "unknown level": (
        for_unit("A1", level=SECRET),
        "the release has no such level; it has Nation, State, County",
    ),
    "run not of the release": (for_unit("N", level="Nation+State"), "the release has no such level"),
    "unknown query": (
        change("A1", "sex", "f", query=SECRET),
        "the release has no such query; it has 'total', 'sex'",
    ),
    "query of another level": (
        change("N", "sex", "f", query="total", cell="all"),
        "level does not ask this query",
    ),
    "unknown cell": (
        change("A1", "sex", "f", cell=SECRET),
        "unknown cell: only 1 of 6 areas have it (line 11 of",
    ),
    "missing cell": (
        without(unit="A2", cell="f"),
        "1 cell is missing: the area of line 13 lacks a cell of query 'sex'",
    ),
    "missing query": (without(query="total"), "there are no rows of query 'total'"),
    "negative count": (change("A1", "sex", "f", count=-31415926), "a count is below zero (line 11 of"),
    "huge count": (
        change("A1", "sex", "f", count=314159260000000),
        "a count is above 1000000000000 (line 11",
    ),
    "child without a parent": (
        for_unit("A1", parent=""),
        "a child without a parent: only areas of the top level",
    ),
    "parent that is not there": (
        for_unit("A1", parent=SECRET),
        "a child without a parent: the parent is not among",
    ),
    "top with a parent": (for_unit("N", parent="A"), "an area of the top level has a parent"),
    "missing level above": (
        for_unit("A1", parent="N"),
        "a missing level: the parent is not of the level just above",
    ),
    "missing level below": (without(parent="A"), "a missing level: an area above the lowest level, County"),
    "two levels": (change("A1", "sex", "f", level="State"), "an area has another level than before (line 11"),
    "two parents": (change("A1", "sex", "f", parent="B"), "an area has another parent than before (line 11"),
    "twice": (twice, "a cell occurs twice for one area and query (line 19 of"),
    "sums": (change("A1", "sex", "f", count=31415926), "a count is not the sum of its children's"),
    "no name": (change("A1", "sex", "f", unit=""), "a text is missing (line 11 of"),
    "control character": (change("A1", "sex", "f", cell="f\x07"), "a control character in it (line 11 of"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_bad_tables_are_refused(release: Release, country: Country, name: str, kind: str) -> None:
    spoil, text = CASES[name]
    spoil(country)
    if kind == "parquet":  # rows are counted without a header there
        for line in (10, 11, 13, 19):
            text = text.replace(f"line {line}", f"row {line - 1}")
    refused(release, country, getattr(country, kind)(), text)


def test_several_problems_come_in_one_report(release: Release, country: Country) -> None:
    country.find("A1", "sex", "f")["count"] = -5
    country.find("A3", "sex", "f")["cell"] = "x"
    country.find("A3", "total", "all")["query"] = "totl"
    message = refused(release, country, country.csv(), "problems:")
    assert message.count("\n") >= 2
    assert "below zero" in message
    assert "no such query" in message


def test_more_areas_than_the_release_states_are_refused(country: Country) -> None:
    release = Release.from_toml(TOML)
    levels = [replace(level, areas=1) for level in release.levels[:2]]
    one = replace(release, levels=(*levels, *release.levels[2:]))
    text = "the release states areas = 1 for level State, and there are 2"
    assert "level Nation" not in refused(one, country, country.csv(), text)


def test_a_path_the_release_does_not_account_for_is_refused(country: Country) -> None:
    """The tree has a merged state, and the release knows only the path that merges nothing."""
    release = Release.from_toml(
        TOML.replace('may_merge_up = ["County"]', 'paths = { 1 = ["Nation", "State", "County"] }')
    )
    refused(release, country, country.csv(), "the release has no such level")
    release = Release.from_toml(
        TOML.replace('may_merge_up = ["County"]', 'paths = { 1 = ["Nation", "State+County"] }')
    )
    for row in country.rows:
        row["level"] = "State" if row["level"] == "State+County" else row["level"]
    refused(release, country, country.csv(), "the release has no such level")


def test_a_forbidden_combination_of_runs_is_refused(country: Country) -> None:
    toml = TOML.partition("[spine]")[0].replace('name = "Nation"', 'name = "Top"')
    toml += '[[levels]]\nname = "Block"\nqueries = { "sex" = { variance = 2 } }\n'
    toml += '[spine.paths]\n1 = ["Top", "State+County", "Block"]\n2 = ["Top", "State", "County", "Block"]\n'
    rows = [
        ("T", "", "Top"), ("S", "T", "State"), ("C", "S", "County"), ("B", "C", "Block"),
        ("R", "T", "State+County"), ("Q", "R", "Block"),
    ]  # fmt: skip
    queries = {"Top": [("sex", "f")], "Block": [("sex", "f")]}
    country.rows = [
        {"unit": u, "parent": p, "level": level, "query": q, "cell": c, "count": 0}
        for u, p, level in rows
        for q, c in queries.get(level, [("total", "all"), ("sex", "f")])
    ]
    measure(Release.from_toml(toml), country.csv(), country.folder / "fine")
    other = toml.replace('2 = ["Top", "State", "County", "Block"]', '2 = ["Top", "State", "County+Block"]')
    country.rows = [row for row in country.rows if row["unit"] in "TSC"]
    for row in country.rows:
        row["level"] = "County+Block" if row["unit"] == "C" else row["level"]
    measure(Release.from_toml(other), country.csv(), country.folder / "fine too")
    third = other.replace("[spine.paths]", '[spine.paths]\n3 = ["Top+State", "County", "Block"]')
    country.rows += [
        {"unit": "D", "parent": "S", "level": "County", "query": q, "cell": c, "count": 0}
        for q, c in [("total", "all"), ("sex", "f")]
    ] + [{"unit": "E", "parent": "D", "level": "Block", "query": "sex", "cell": "f", "count": 0}]
    with pytest.raises(InputError, match=r"path Top, State, County, Block, which the release does not have"):
        measure(Release.from_toml(third), country.csv(), country.folder / "out")


def test_files_that_cannot_be_used(release: Release, country: Country) -> None:
    counts = country.csv()
    refused(release, country, country.folder / "none.csv", "there is no file")
    refused(
        release,
        country,
        country.folder,
        "must end in .csv, .tsv, .psv or .txt (or one of these",
    )
    (country.folder / "bad.parquet").write_bytes(b"PAR1" + SECRET.encode())
    refused(release, country, country.folder / "bad.parquet", "cannot be read as Parquet")
    (country.folder / "flat.csv").write_text(counts.read_text().replace("parent", "above"))
    refused(release, country, country.folder / "flat.csv", "no column parent; the tree of areas is needed")
    texts = pa.Table.from_pylist([{**row, "count": str(row["count"])} for row in country.rows])
    pq.write_table(texts, country.folder / "texts.parquet")
    refused(
        release,
        country,
        country.folder / "texts.parquet",
        "is of type string; a column of integers is needed",
    )
    nulls = pa.Table.from_pylist([{**row, "count": row["count"] or None} for row in country.rows])
    pq.write_table(nulls, country.folder / "nulls.parquet")
    refused(release, country, country.folder / "nulls.parquet", "a value is missing (row")


def test_ordinary_ways_to_write_a_table_are_read(release: Release, country: Country) -> None:
    """Blank lines at the end are none of the table; the hash is that of the whole file."""
    text = country.csv().read_text()
    wanted = None
    for number, ending in enumerate(("", "\n", "\n" * 5000, "\r\n", "\r\n\r\n\r\n")):
        file = country.folder / f"ending{number}.csv"
        lines = text.replace("\n", "\r\n") if "\r" in ending else text
        file.write_bytes((lines.rstrip() + ending if number < 2 else lines + ending).encode())
        made = measure(release, file, country.folder / f"out{number}", rehearsal=1)
        found = next(made.out.glob("measurements*")).read_bytes()
        wanted = wanted or found
        assert found == wanted
    views = (
        [pa.string_view()] if int(pa.__version__.split(".")[0]) >= 21 else []
    )  # which 20 and older do not write
    for kind in (*views, pa.large_string(), pa.dictionary(pa.int32(), pa.large_string())):
        table = pa.Table.from_pylist(country.rows)
        for name in table.column_names[:5]:
            table = table.set_column(table.column_names.index(name), name, table[name].cast(kind))
        pq.write_table(table, country.folder / "kinds.parquet")
        made = measure(release, country.folder / "kinds.parquet", country.folder / str(kind), rehearsal=1)
        assert pq.read_table(next(made.out.glob("measurements*"))).num_rows == wanted.count(b"\n") - 1


WHOLE = {"float": pa.float64(), "single": pa.float32(), "decimal": pa.decimal128(20, 2)}


def numbered(country: Country, name: str, kind: Any) -> Path:
    """Write counts in Parquet, with numbers as names of cells; cells and counts are of this type."""
    names = {"all": 1, "f": 12, "m": 3}
    table = pa.Table.from_pylist([{**row, "cell": names[row["cell"]]} for row in country.rows])
    for column in ("cell", "count"):
        numbers = pa.array(map(Decimal, table[column].to_pylist())).cast(kind)
        table = table.set_column(table.column_names.index(column), column, numbers)
    pq.write_table(table, country.folder / name)
    return country.folder / name


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_may_be_floats_or_decimals(release: Release, kind: str, country: Country) -> None:
    """12.0 is 12, as a count and as the name of a cell."""
    made = [
        measure(release, numbered(country, f"{one}.parquet", as_one), country.folder / one, rehearsal=1)
        for one, as_one in (("whole", pa.int64()), (kind, WHOLE[kind]))
    ]
    one, two = (next(run.out.glob("measurements*")) for run in made)
    assert pq.read_table(one).equals(pq.read_table(two))


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        (pa.float64(), Decimal("31415926.5")),
        (pa.float64(), Decimal("NaN")),
        (pa.float64(), Decimal(2**54)),
        (pa.decimal128(20, 2), Decimal("31415926.50")),
    ],
)
def test_numbers_that_are_not_whole_are_refused(
    release: Release, country: Country, kind: Any, count: Decimal
) -> None:
    rows = [float(row["count"]) for row in country.rows]
    rows[3] = float(count)
    exact = [Decimal(row["count"]) for row in country.rows]
    exact[3] = count
    values = pa.array(rows if kind == pa.float64() else exact, type=kind)
    table = pa.Table.from_pylist(country.rows).set_column(5, "count", values)
    pq.write_table(table, country.folder / "odd.parquet")
    place = "count is not a whole number (row 4 of odd.parquet, field count)"
    refused(release, country, country.folder / "odd.parquet", place)


def test_counts_of_a_csv_file_may_have_a_point(release: Release, country: Country) -> None:
    """The hash is that of the file; names are left as they are written."""
    file = country.csv()
    made = measure(release, file, country.folder / "whole", rehearsal=1)
    wanted = next(made.out.glob("measurements*")).read_bytes()
    lines = file.read_text().splitlines()
    for number, ending in enumerate((".0", ".", ".00 ")):
        file.write_text("\n".join([lines[0], *(line + ending for line in lines[1:9]), *lines[9:]]) + "\n")
        made = measure(release, file, country.folder / f"out{number}", rehearsal=1)
        assert next(made.out.glob("measurements*")).read_bytes() == wanted
    create_ledger(ledger := country.folder / "ledger.json")
    measure(release, file, country.folder / "out", ledger=ledger)
    (entry,) = read_ledger(ledger).entries
    assert entry.inputs[0]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    ledger.unlink()
    for out in filter(Path.is_dir, country.folder.iterdir()):
        shutil.rmtree(out)
    wrong = "9007199254740994.0"
    file.write_text("\n".join([*lines[:3], ",".join([*lines[3].split(",")[:-1], wrong]), *lines[4:]]) + "\n")
    message = refused(
        release, country, file, "count is not a whole number (line 4 of counts.csv, field count)"
    )
    assert wrong[:16] not in message


def test_blank_lines_are_part_of_the_hash_and_hide_no_fault(release: Release, country: Country) -> None:
    file = country.csv()
    file.write_text(file.read_text() + "\n\n")
    ledger = country.folder / "ledger.json"
    create_ledger(ledger)
    measure(release, file, country.folder / "out", ledger=ledger)
    (entry,) = read_ledger(ledger).entries
    assert entry.inputs[0]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    shutil.rmtree(country.folder / "out")
    ledger.unlink()
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:3], "", *lines[3:]]) + "\n\n")
    message = refused(release, country, file, "an empty line (line 4 of counts.csv")
    assert f"{len(lines) + 1}" not in message


def test_declared_units_and_cells_are_checked(release: Release, country: Country) -> None:
    counts, cells, units = country.csv(), country.folder / "cells.csv", country.folder / "units.csv"
    cells.write_text("query,cell\ntotal,all\nsex,f\n")
    refused(release, country, counts, "unknown cell: it is not declared for the query (lines 3", cells=cells)
    cells.write_text("query,cell\nsex,f\nsex,f\nsexx,m\n")
    message = refused(release, country, counts, "a cell is declared twice", cells=cells)
    assert "no cells are declared for query 'total'" in message
    assert "the release has no such query" in message
    listing = (
        "unit,level,parent\nN,Nation,\nA,State,N\nB,State+County,N\nA1,County,A\nA2,County,A\nA3,County,A\n"
    )
    units.write_text(listing + "A3,County,A\n")
    refused(release, country, counts, "an area is listed twice (line 8 of units.csv", units=units)
    units.write_text(listing.replace("A3,County,A\n", ""))
    refused(release, country, counts, "an area that is not among the areas (lines 16, 17 and 18", units=units)
    units.write_text(listing + "A4,County,A\n")
    refused(release, country, counts, "cells are missing: an area without rows", units=units)
    units.write_text(listing.replace("B,State+County,N", "B,State,N\nB1,County,B"))
    refused(release, country, counts, "the level is not that of the table of areas (line", units=units)


def test_arguments_are_checked(release: Release, country: Country) -> None:
    counts = country.csv()
    refused(release, country, counts, "must be none, nonnegative, consistent or tables", post="rounded")
    refused(release, country, counts, "a seed is a whole number", rehearsal="7")
    refused(release, country, counts, "invariants name level 'Block'", invariants=[("Block", "total")])
    refused(release, country, counts, "which has sex", invariants=[("Nation", "total")])
    refused(release, country, counts, "needs counts that add up", post="consistent", additive=False)
    country.find("N", "sex", "f")["count"] += 1
    assert measure(release, country.csv("more.csv"), country.folder / "fine", additive=False).cells == 17


def test_outputs_are_never_overwritten(release: Release, country: Country) -> None:
    counts, out = country.csv(), country.folder / "out"
    out.mkdir()
    measure(release, counts, out)  # an empty directory is replaced
    before = sorted(path.name for path in out.iterdir())
    with pytest.raises(InputError, match="exists and is not empty"):
        measure(release, counts, out)
    with pytest.raises(InputError, match="exists and is not a directory"):
        measure(release, counts, counts)
    with pytest.raises(InputError, match="cannot hold the output"):
        measure(release, counts, country.folder / "no" / "where")
    assert sorted(path.name for path in out.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere: run as another user")
def test_a_directory_without_permission_is_refused(release: Release, country: Country) -> None:
    locked = country.folder / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(InputError, match="not writable"):
        measure(release, country.csv(), locked / "out")


def test_estimate_checks_its_input(release: Release, country: Country) -> None:
    done = measure(release, country.csv(), country.folder / "run")
    noisy = (done.out / "measurements.csv").read_text()
    table = country.folder / "noisy.csv"

    def fails(text: str, content: str = noisy, **more: Any) -> None:
        table.write_text(content)
        with pytest.raises(InputError) as caught:
            estimate(table, country.folder / "out", **more)
        assert text in str(caught.value)
        assert not (country.folder / "out").exists()

    lines = noisy.splitlines(keepends=True)
    fails("no column parent")
    units = done.out / "units.csv"
    fails("1 cell is missing", "".join([*lines[:4], *lines[5:]]), units=units)
    fails("a cell occurs twice", noisy + lines[4], units=units)
    fails("a variance is below zero (line 2", noisy.replace(",9\n", ",-9\n", 1), units=units)
    fails(
        "the variance differs within one level and query (line 3",
        noisy.replace(",9\n", ",8\n", 1),
        units=units,
        release=release,
    )
    fails("a variance is below 1e-300 (lines 2 and 3", noisy.replace(",9\n", ",1e-320\n"), units=units)
    fails(
        "variance is not a number (lines 2 and 3",
        noisy.replace(",9\n", ",\N{ARABIC-INDIC DIGIT NINE}\n"),
        units=units,
    )
    loop = country.folder / "loop.csv"
    loop.write_text(units.read_text().replace('"A","State","N"', '"A","State","A1"'))
    fails("some areas have no way up", units=loop)
    totals = country.folder / "totals.csv"
    totals.write_text("unit,query,cell,count\nA,sex,f,3\n")
    fails("an area has some cells of query 'sex' and lacks others", units=units, invariants=totals)
    with pytest.raises(InputError, match="there are no measurements"):
        estimate(country.folder, country.folder / "out")


@pytest.mark.parametrize(
    ("variance", "message"),
    [
        (["9"], "column variance of noisy.parquet is of type string; a column of numbers is needed"),
        ([{"a": 9}], "; a column of numbers is needed"),
        ([[9.0]], "; a column of numbers is needed"),
        ([True], "column variance of noisy.parquet is of type bool; a column of numbers is needed"),
        ([datetime(2020, 1, 1)], "; a column of numbers is needed"),
        ([None], "no row has a value and the size of its error"),
    ],
)
def test_variances_that_are_no_numbers(
    release: Release, country: Country, variance: list[Any], message: str
) -> None:
    done = measure(release, country.parquet(), country.folder / "run")
    table = pq.read_table(done.out / "measurements.parquet")
    column = pa.chunked_array([variance * table.num_rows], None if variance[0] is not None else pa.float64())
    place = table.column_names.index("variance")
    pq.write_table(table.set_column(place, "variance", column), country.folder / "noisy.parquet")
    with pytest.raises(InputError) as caught:
        estimate(country.folder / "noisy.parquet", country.folder / "out", units=done.out / "units.parquet")
    assert message in str(caught.value)
    assert not (country.folder / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda values: [None, *values[1:]], r"\(row 1 of measurements.parquet, field value\)"),
        (lambda values: [2**62, *values[1:]], r"\(row 1 of measurements.parquet, field value\)"),
        (lambda values: [0.5, *map(float, values[1:])], r"\(row 1 of measurements.parquet, field value\)"),
        (lambda values: [*map(float, values[:-1]), 0.5], r"value is not a whole number \(row [1-9]\d+ of "),
        (lambda values: ["x"] * len(values), "a column of integers is needed"),
        (None, "has no column value"),
    ],
)
def test_what_is_streamed_is_checked_as_well(tmp_path: Path, change: Any, message: str) -> None:
    write_example(tmp_path / "survey")
    survey = load_file(tmp_path / "survey" / "release.toml")
    records, units = tmp_path / "survey" / "records.csv", tmp_path / "survey" / "units.csv"
    done = measure(survey, None, tmp_path / "run", records=records, units=units, format="parquet")
    file = done.out / "measurements.parquet"
    table = pq.read_table(file)
    values, place = table.column("value").to_pylist(), table.column_names.index("value")
    changed = None if change is None else table.set_column(place, "value", pa.array(change(values)))
    pq.write_table(table.drop_columns("value") if changed is None else changed, file)
    with pytest.raises(InputError, match=message):
        estimate(done.out, tmp_path / "out", streamed=True)
    assert not (tmp_path / "out").exists()


def test_geocodes_need_units(tmp_path: Path) -> None:
    write_example(tmp_path / "survey")
    survey = load_file(tmp_path / "survey" / "release.toml")
    units = tmp_path / "units.csv"
    units.write_text("unit\n")
    records, lengths = (
        tmp_path / "survey" / "records.csv",
        ",".join(str(k + 1) for k in range(len(survey.levels))),
    )
    with pytest.raises(InputError, match="there are no areas"):
        tabulate(survey, records, tmp_path / "out", units=units, geocodes=lengths)


def test_the_same_measurements_are_not_taken_twice(release: Release, country: Country) -> None:
    """Their noise is one: two copies would halve the variance on paper."""
    done = measure(release, country.csv(), country.folder / "run")
    copied = country.folder / "copy"
    shutil.copytree(done.out, copied)
    for given, more in (([done.out, done.out], {}), ([done.out, copied], {}), (done.out, {"since": copied})):
        with pytest.raises(InputError, match="holds the same measurements as"):
            estimate(given, country.folder / "out", **more)  # type: ignore[arg-type]
        assert not (country.folder / "out").exists()


def test_areas_of_releases_that_differ(release: Release, country: Country, tmp_path: Path) -> None:
    write_example(tmp_path / "survey")
    survey = load_file(tmp_path / "survey" / "release.toml")
    records, units = tmp_path / "survey" / "records.csv", tmp_path / "survey" / "units.csv"
    # the same noise each time: a ratio to an estimate of zero would be empty
    one = measure(survey, None, tmp_path / "one", records=records, units=units, rehearsal=1).out
    two = measure(release, country.csv(), tmp_path / "two", rehearsal=1).out
    with pytest.raises(InputError, match="'A' and 'North' are of releases that differ; none has both"):
        estimate([one, two], tmp_path / "out", differences=[("A", "North")])
    assert not (tmp_path / "out").exists()
    areas = tmp_path / "areas.csv"
    areas.write_text("area,unit\nall,N\n")
    done = estimate([one, two], tmp_path / "out", areas=areas, ratios=[("A", "B")])
    for name, known in (("areas", {"all"}), ("contrasts", {"A / B"})):
        rows = list(csv.DictReader((done.out / f"{name}.NOT-PRIVATE.csv").read_text().splitlines()))
        assert {row["unit"] for row in rows} == known
        # what the survey alone was asked is not determined in units that it does not have
        assert all((row["estimate"] != "") == (row["query"] in ("total", "sex")) for row in rows)
