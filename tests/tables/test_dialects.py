"""The same table is read by every command, however it is written: commands by dialects."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from discreet.answers import describe
from discreet.budget import Release
from discreet.cli import run
from discreet.disclosure import table_risk
from discreet.errors import InputError
from discreet.ledger import create_ledger, read_ledger
from discreet.measurement import measure, tabulate

RELEASE = """
name = "survey"
neighbours = "bounded"
[attributes]
sex = ["f", "m"]
[[levels]]
name = "Nation"
queries = { "total" = { variance = 2 }, "sex" = { variance = 8 } }
[[levels]]
name = "Region"
queries = { "sex" = { variance = 4 } }
"""

Table = list[dict[str, str]]
Tables = Mapping[str, Any]
NUMBERS = {"count", "value", "variance"}


def rows(text: str) -> Table:
    return list(csv.DictReader(text.splitlines()))


def read(path: Path) -> Table:
    return rows(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    """Every table that a command takes; the name of an area needs an encoding."""
    folder = tmp_path_factory.mktemp("tables")
    release = Release.from_toml(RELEASE)
    found = {
        "units": rows("unit,level,parent\nN,Nation,\nNord,Region,N\nÎle,Region,N\n"),
        "records": rows("unit,sex\n" + "Nord,f\n" * 7 + "Île,m\n" * 12 + "Île,f\n"),
        "areas": rows("area,unit\nall,Nord\nall,Île\n"),
        "zeros": rows("unit,sex\nÎle,f\n"),
    }
    files = {name: written(folder / f"{name}.csv", table) for name, table in found.items()}
    tabulate(release, files["records"], folder / "counted", units=files["units"])
    found["counts"] = read(folder / "counted" / "counts.csv")
    found["cells"] = [
        {"query": row["query"], "cell": row["cell"]} for row in found["counts"] if row["unit"] == "N"
    ]
    found["invariants"] = [
        {name: row[name] for name in ("unit", "query", "cell", "count")}
        for row in found["counts"]
        if row["query"] == "total"
    ]
    files["counts"] = written(folder / "counts.csv", found["counts"])
    done = measure(release, files["counts"], folder / "measured", units=files["units"])
    found["measurements"] = read(done.out / "measurements.csv")
    return found


# -- dialects ------------------------------------------------------------------------------------------------


def text_of(table: Table, *, sign: str = ",", end: str = "\n", name: Callable[[str], str] = str) -> str:
    quoted = {"": '""'}
    lines = [sign.join(map(name, table[0])), *(sign.join(row.values()) for row in table)]
    return end.join(quoted.get(line, line) for line in lines) + end


def written(path: Path, table: Table, **how: Any) -> Path:
    path.write_bytes(text_of(table, **how).encode())
    return path


def pointed(table: Table) -> Table:
    return [
        {name: f"{float(text):.1f}" if name in NUMBERS else text for name, text in row.items()}
        for row in table
    ]


def as_arrow(table: Table) -> pa.Table:
    columns = {name: [row[name] for row in table] for name in table[0]}
    return pa.table(
        {name: list(map(float, texts)) if name in NUMBERS else texts for name, texts in columns.items()}
    )


def arrow_file(path: Path, table: Table, new: Any) -> Path:
    content = as_arrow(table)
    with new(str(path), content.schema) as writer:
        writer.write_table(content, max_chunksize=3)
    return path


def packed(path: Path, table: Table) -> Path:
    path.write_bytes(gzip.compress(text_of(table).encode()))
    return path


def bom(path: Path, table: Table) -> Path:
    path.write_bytes(text_of(table).encode("utf-8-sig"))
    return path


def parquet(path: Path, table: Table) -> Path:
    pq.write_table(as_arrow(table), path)
    return path


def lettered(path: Path, table: Table) -> Path:
    pq.write_table(as_arrow(table).rename_columns([name.upper() for name in table[0]]), path)
    return path


def feathered(path: Path, table: Table) -> Path:
    feather.write_feather(as_arrow(table), str(path), compression="lz4")
    return path


def packed_by_zstandard(path: Path, table: Table) -> Path:
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(text_of(table).encode())
    return path


def cells(table: Table) -> list[list[str | float]]:
    """The rows with numbers as such; the name of an area stays text."""
    return [[float(text) if name in NUMBERS else text for name, text in row.items()] for row in table]


def in_sqlite(path: Path, table: Table, *, name: str = "t", more: str = "") -> Path:
    columns = ", ".join(f'"{one}" {"REAL" if one in NUMBERS else "TEXT"}' for one in table[0])
    with closing(sqlite3.connect(path)) as base:
        base.execute(f'CREATE TABLE "{name}" ({columns})')
        base.execute(f'CREATE INDEX "by name" ON "{name}" ({", ".join(map("{0!r}".format, table[0]))})')
        base.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(table[0]))})', cells(table))
        if more:
            base.execute(f"CREATE TABLE {more} (x INTEGER)")
        base.commit()
    return Path(f"{path}::{name}") if more else path


def in_duckdb(path: Path, table: Table, *, name: str = "t", more: str = "") -> Path:
    with duckdb.connect(str(path)) as base:
        base.register("given", as_arrow(table))
        base.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
        if more:
            base.execute(f"CREATE TABLE {more} (x INTEGER)")
    return Path(f"{path}::{name}") if more else path


def in_sheet(path: Path, table: Table, *, name: str = "t", before: str = "") -> Path:
    with xlsxwriter.Workbook(path) as book:
        for one in filter(None, (before,)):
            book.add_worksheet(one).write_row(0, 0, ["x"])
        sheet = book.add_worksheet(name)
        for number, row in enumerate([list(table[0]), *cells(table)]):
            sheet.write_row(number, 0, row)
    return Path(f"{path}::{name}") if before else path


DIALECTS: dict[str, tuple[str, Callable[[Path, Table], Path]]] = {
    "semicolons": (".csv", lambda path, table: written(path, table, sign=";")),
    "tabs": (".tsv", lambda path, table: written(path, table, sign="\t")),
    "bars": (".psv", lambda path, table: written(path, table, sign="|")),
    "capitals": (".csv", lambda path, table: written(path, table, name=str.upper)),
    "spaces around names": (".csv", lambda path, table: written(path, table, name=" {} ".format)),
    "semicolons and capitals": (".txt", lambda path, table: written(path, table, sign=";", name=str.title)),
    "byte order mark": (".csv", bom),
    "CRLF": (".csv", lambda path, table: written(path, table, end="\r\n")),
    "12.0": (".csv", lambda path, table: written(path, pointed(table))),
    "packed": (".csv.gz", packed),
    "packed by Zstandard": (".csv.zst", packed_by_zstandard),
    "SQLite": (".sqlite", in_sqlite),
    "one table of SQLite": (".db", lambda path, table: in_sqlite(path, table, name="a table", more="u")),
    "DuckDB": (".duckdb", in_duckdb),
    "one table of DuckDB": (".duckdb", lambda path, table: in_duckdb(path, table, name="a table", more="u")),
    "workbook": (".xlsx", in_sheet),
    "one sheet": (".xlsx", lambda path, table: in_sheet(path, table, name="Zweites Blatt", before="u")),
    "Parquet": (".parquet", parquet),
    "Parquet in capitals": (".parquet", lettered),
    "Arrow file": (".arrow", lambda path, table: arrow_file(path, table, ipc.new_file)),
    "Arrow stream": (".arrow", lambda path, table: arrow_file(path, table, ipc.new_stream)),
    "Feather": (".feather", feathered),
}


# -- commands ------------------------------------------------------------------------------------------------

Command = Callable[..., None]


def call(*arguments: object) -> None:
    assert run([str(one) for one in arguments]) == 0


def run_tabulate(release: Path, given: Tables, out: Path) -> None:
    files = ("--records", given["records"], "--units", given["units"])
    call("tabulate", release, *files, "--out", out, "--format", "csv")


def run_measure(release: Path, given: Tables, out: Path) -> None:
    files = ("--counts", given["counts"], "--units", given["units"], "--cells", given["cells"])
    call("measure", release, *files, "--out", out, "--rehearsal", 1, "--format", "csv")


def run_measure_records(release: Path, given: Tables, out: Path) -> None:
    files = ("--records", given["records"], "--units", given["units"])
    call("measure", release, *files, "--out", out, "--rehearsal", 1, "--format", "csv")


def run_estimate(release: Path, given: Tables, out: Path) -> None:
    named = ("units", "invariants", "areas", "zeros")
    files = [word for name in named for word in (f"--{name}", given[name])]
    call(
        "estimate", given["measurements"], "--release", release, *files, "--out", out, "--format", "csv",
        "--ratio", "Nord,Île",
    )  # fmt: skip


def run_accuracy(release: Path, given: Tables, out: Path) -> None:
    call("accuracy", release, "--tree", given["units"], "--json")


def run_risk(release: Path, given: Tables, out: Path) -> None:
    call("risk", "table", given["measurements"], "--prior", "1/10", "--json")


COMMANDS: dict[str, tuple[Command, tuple[str, ...]]] = {
    "tabulate": (run_tabulate, ("records", "units")),
    "measure --counts": (run_measure, ("counts", "units", "cells")),
    "measure --records": (run_measure_records, ("records", "units")),
    "estimate": (run_estimate, ("measurements", "units", "invariants", "areas", "zeros")),
    "accuracy": (run_accuracy, ("units",)),
    "risk table": (run_risk, ("measurements",)),
}


@pytest.fixture
def answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str, Tables], object]:
    """Run a command; return its tables, or its JSON without the name of the file."""
    release = tmp_path / "release.toml"
    release.write_text(RELEASE)

    def run_one(command: str, given: Tables) -> object:
        out = tmp_path / f"out{len(list(tmp_path.glob('out*')))}"
        capsys.readouterr()
        COMMANDS[command][0](release, given, out)
        if out.exists():
            return {one.name: one.read_bytes() for one in out.glob("*.csv")}
        found = json.loads(capsys.readouterr().out)
        return {name: value for name, value in found.items() if name not in ("table", "seconds")}

    return run_one


def test_every_command_reads_some_number_and_every_table_is_read(tables: Mapping[str, Table]) -> None:
    assert {name for _, names in COMMANDS.values() for name in names} == set(tables)


# All commands read by the same reader: of their pairs with dialects a quarter is not slow.
PAIRS = [
    pytest.param(command, dialect, marks=[pytest.mark.slow] * ((row + column) % 4 > 0))
    for row, command in enumerate(COMMANDS)
    for column, dialect in enumerate(DIALECTS)
]


@pytest.mark.parametrize(("command", "dialect"), PAIRS)
def test_each_command_reads_each_dialect(
    tables: Mapping[str, Table], answer: Callable[..., object], tmp_path: Path, command: str, dialect: str
) -> None:
    ending, write = DIALECTS[dialect]
    names = COMMANDS[command][1]
    plain = {name: written(tmp_path / f"plain {name}.csv", tables[name]) for name in names}
    other = {name: write(tmp_path / f"{name}{ending}", tables[name]) for name in names}
    assert answer(command, other) == answer(command, plain)


PIPED: dict[str, Callable[[Path, Table], Path]] = {
    "text": lambda path, table: written(path, table, sign=";"),
    "packed text": packed,
    "text packed by Zstandard": packed_by_zstandard,
    "Parquet": parquet,
    "Arrow file": lambda path, table: arrow_file(path, table, ipc.new_file),
    "Arrow stream": lambda path, table: arrow_file(path, table, ipc.new_stream),
}


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize(
    ("command", "name"), [(command, name) for command, (_, names) in COMMANDS.items() for name in names]
)
def test_each_table_may_come_by_standard_input(
    tables: Mapping[str, Table],
    answer: Callable[..., object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    name: str,
) -> None:
    files = {one: written(tmp_path / f"plain {one}.csv", tables[one]) for one in COMMANDS[command][1]}
    wanted = answer(command, files)
    pipe(monkeypatch, files[name].read_bytes())
    assert answer(command, {**files, name: "-"}) == wanted


def test_the_ledger_beside_a_table_is_found_however_it_is_named(
    tables: Mapping[str, Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard input is taken to be in the working directory, as a table in memory is."""
    create_ledger(tmp_path / "discreet-ledger.json")
    release = Release.from_toml(RELEASE)
    named = [
        written(tmp_path / "counts.csv", tables["counts"]),
        in_sqlite(tmp_path / "counts.sqlite", tables["counts"], name="a/b", more="u"),
        in_sheet(tmp_path / "counts.xlsx", tables["counts"], name="t", before="u"),
    ]
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    monkeypatch.chdir(tmp_path)
    pipe(monkeypatch, named[0].read_bytes())
    units = tables["units"]
    for number, source in enumerate([*named, "-", as_arrow(tables["counts"])]):
        out = tmp_path / f"run{number}"
        done = measure(release, source, out, units=as_arrow(units), spend_again=True)
        assert done.ledger is not None
        assert done.ledger.resolve() == (tmp_path / "discreet-ledger.json").resolve()
    assert len(read_ledger(tmp_path / "discreet-ledger.json").entries) == 5


@pytest.mark.parametrize("kind", PIPED)
def test_standard_input_of_each_kind(
    tables: Mapping[str, Table],
    answer: Callable[..., object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    plain = written(tmp_path / "plain.csv", tables["measurements"])
    pipe(monkeypatch, PIPED[kind](tmp_path / "piped", tables["measurements"]).read_bytes())
    found = answer("risk table", {"measurements": "-"})
    assert found == answer("risk table", {"measurements": plain})


@pytest.mark.parametrize("command", COMMANDS)
def test_latin_1_is_refused_with_the_reason_and_the_line(
    tables: Mapping[str, Table], tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    names = COMMANDS[command][1]
    (tmp_path / "release.toml").write_text(RELEASE)
    for wrong in names:
        table = tables[wrong]
        if wrong in ("cells", "invariants", "measurements"):  # where no text has a letter of Latin-1
            table = [{**row, "cell": "é"} for row in table]
        if command == "risk table":  # the other columns are not read
            table = [{**row, "level": "Région"} for row in table]
        files = {name: written(tmp_path / f"{name}.csv", tables[name]) for name in names}
        files[wrong].write_bytes(text_of(table).encode("latin-1"))
        with pytest.raises(AssertionError):
            COMMANDS[command][0](tmp_path / "release.toml", files, tmp_path / "out")
        said = " ".join(capsys.readouterr().err.split())
        lines = [number for number, row in enumerate(table, 2) if not "".join(row.values()).isascii()]
        assert "not UTF-8, but perhaps Latin-1 or Windows-1252: save it as UTF-8" in said
        assert f"line{'s' * (len(lines) > 1)} {lines[0]}" in said
        assert f"of {wrong}.csv" in said
        assert not (tmp_path / "out").exists()


class Stream:
    """A table of another package, which hands out its columns in Arrow's way and has nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Polars:
    """What polars has of what is asked: columns, select, to_arrow (with its long texts)."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @property
    def columns(self) -> list[str]:
        return list(self._table.column_names)

    def select(self, names: list[str]) -> Polars:
        return Polars(self._table.select(names))

    def to_arrow(self) -> pa.Table:
        fields = [
            (one.name, pa.large_string() if one.type == pa.string() else one.type)
            for one in self._table.schema
        ]
        return self._table.cast(pa.schema(fields))


MEMORY: dict[str, Callable[[Table], Any]] = {
    "pandas": lambda table: as_arrow(table).to_pandas(),
    "pandas in capitals": lambda table: as_arrow(table).to_pandas().rename(columns=str.upper),
    "pandas with integers": lambda table: as_arrow(table).to_pandas().convert_dtypes(),
    "polars": lambda table: Polars(as_arrow(table)),
    "Arrow": as_arrow,
    "batches": lambda table: as_arrow(table).to_reader(max_chunksize=2),
    "any stream": lambda table: Stream(as_arrow(table)),
}


@pytest.mark.parametrize("kind", MEMORY)
def test_tables_in_memory_are_read_as_files_are(
    tables: Mapping[str, Table], tmp_path: Path, kind: str
) -> None:
    release = Release.from_toml(RELEASE)
    files = {name: written(tmp_path / f"{name}.csv", table) for name, table in tables.items()}
    given = {name: MEMORY[kind](table) for name, table in tables.items()}
    found = []
    for number, here in enumerate((files, given)):
        out = tmp_path / str(number)
        more = {"units": here["units"], "cells": here["cells"], "rehearsal": 1, "format": "csv"}
        done = measure(release, here["counts"], out, **more)
        risk = describe(table_risk(here["measurements"], prior="1/10", known=3)).objects
        found.append([(done.out / "measurements.NOT-PRIVATE.csv").read_bytes(), risk])
    assert found[0] == found[1]
    tabulate(release, files["records"], tmp_path / "a", units=files["units"], format="csv")
    again = MEMORY[kind](tables["units"])
    tabulate(release, given["records"], tmp_path / "b", units=again, format="csv")
    assert (tmp_path / "a" / "counts.csv").read_bytes() == (tmp_path / "b" / "counts.csv").read_bytes()


# -- one round of problems -----------------------------------------------------------------------------------


def refused(*given: Any, **more: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        measure(Release.from_toml(RELEASE), *given, **more)
    assert "31415" not in str(caught.value)
    return [line.strip() for line in str(caught.value).splitlines()]


def test_the_problems_of_all_tables_come_in_one_round(tables: Mapping[str, Table], tmp_path: Path) -> None:
    counts = [dict(row) for row in tables["counts"]]
    counts[0]["count"] = "31415.5"
    counts[1]["COUNT"] = counts[1]["count"] = "-31415"
    counts[1].pop("COUNT")
    counts[2]["count"] = "3e15"
    units = [*tables["units"], {"unit": "", "level": "Region", "parent": "N"}]
    cells = [{"query": row["query"], "kind": row["cell"]} for row in tables["cells"]]
    files = {
        name: written(tmp_path / f"{name}.csv", table)
        for name, table in {"counts": counts, "units": units, "cells": cells}.items()
    }
    found = refused(files["counts"], tmp_path / "out", units=files["units"], cells=files["cells"])
    assert found == [
        "4 kinds of problems:",
        "1. a text is missing (line 5 of units.csv, field unit)",
        "2. cells.csv has no column cell; it must have query, cell",
        "3. count is not a whole number (line 2 of counts.csv, field count)",
        "4. count is written with an exponent, so it may be rounded; write all of its digits (line 4 of "
        "counts.csv, field count)",
    ]


def test_numbers_that_cannot_be_read_hide_nothing_else(tables: Mapping[str, Table], tmp_path: Path) -> None:
    """And nothing is said of what stands in their place."""
    counts = [dict(row) for row in tables["counts"]]
    counts[0]["count"], counts[1]["count"], counts[-1]["cell"] = "31415x", "-31415", "x"
    counts[-2]["unit"] = "Sud"
    file = written(tmp_path / "counts.csv", counts, sign=";", name=str.upper)
    last = len(counts) + 1
    units = written(tmp_path / "units.csv", tables["units"])
    assert refused(file, tmp_path / "out", units=units) == [
        "4 kinds of problems:",
        "1. COUNT is not a whole number (line 2 of counts.csv, field COUNT)",
        "2. a count is below zero (line 3 of counts.csv, field COUNT)",
        f"3. an area that is not among the areas (line {last - 1} of counts.csv, field UNIT)",
        f"4. unknown cell: it is not declared for the query (line {last} of counts.csv, field CELL)",
    ]


def test_all_places_are_found_wherever_a_block_ends(
    tables: Mapping[str, Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes after a number with a point is read on from the same row."""
    from discreet.tables import delimited

    monkeypatch.setattr(delimited, "BLOCK", 60)
    lines = [f"Block,{n if n % 7 else f'{n}.0'},5" for n in range(200)]
    file = tmp_path / "t.csv"
    file.write_text("level,value,variance\n" + "\n".join(lines) + "\n")
    plain = describe(table_risk(file, prior="1/2", known=3)).objects
    file.write_text("level,value,variance\n" + "\n".join(line.replace(".0", "") for line in lines) + "\n")
    assert describe(table_risk(file, prior="1/2", known=3)).objects == plain
    assert plain["rows"] == 200
    for wrong in (11, 60, 61, 170):
        lines[wrong] = lines[wrong].replace(",5", ",5 5" if wrong > 100 else ",0")
    file.write_text("level,value,variance\n" + "\n".join(lines) + "\n")
    with pytest.raises(InputError) as caught:
        table_risk(file, prior="1/2", known=3)
    assert str(caught.value).splitlines()[1:] == [
        "  1. a variance is not above zero and at most 1e+10 (lines 13, 62 and 63 of t.csv, field variance)",
        "  2. variance is not a number (line 172 of t.csv, field variance)",
    ]


def test_a_name_in_quotes_may_hold_any_sign(tmp_path: Path) -> None:
    """The sign is the one by which the columns are found."""
    wanted = None
    for header, row in (
        ("value,variance,x", "8,5,1"),
        ('"a;b;c;d;e",value,variance', "1,8,5"),
        ("a,b,c|value|variance", "1,2,3|8|5"),
        ("a;b;c,value,variance", "1;2;3,8,5"),
    ):
        file = tmp_path / "t.csv"
        file.write_text(f"{header}\n{row}\n")
        found = describe(table_risk(file, prior="1/10", known=0)).objects
        wanted = wanted or found
        assert found == wanted, header


def test_feather_of_another_kind_is_refused(tmp_path: Path) -> None:
    for name, says in (("t.feather", "as Arrow"), ("t.arrow", "as Arrow"), ("t.parquet", "as Parquet")):
        (tmp_path / name).write_bytes(b"FEA1" + b"31415" * 40)
        with pytest.raises(InputError, match=f"cannot be read {says}") as caught:
            table_risk(tmp_path / name, prior="1/2", known=0)
        assert "31415" not in str(caught.value)
        assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_missing_numbers_in_memory_are_all_named(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"value": [1.0, math.nan, 2.5, 3.0], "variance": [5.0, 5.0, 5.0, math.nan]})
    with pytest.raises(InputError) as caught:
        table_risk(frame, prior="1/2", known=0)
    assert str(caught.value).splitlines()[1:] == [
        "  1. a value is missing (row 2 of the table, field value)",
        "  2. value is not a whole number (row 3 of the table, field value)",
        "  3. a value is missing (row 4 of the table, field variance)",
    ]


def test_a_packed_file_that_is_damaged(tmp_path: Path) -> None:
    content = gzip.compress(b"value,variance\n" + b"".join(b"%d,5\n" % n for n in range(5000)))
    file = tmp_path / "t.csv.gz"
    for wrong in (content[:-30], content[:3000] + bytes(60) + content[3060:]):
        file.write_bytes(wrong)
        with pytest.raises(InputError, match="cannot be read: it is damaged"):
            table_risk(file, prior="1/2", known=0)
