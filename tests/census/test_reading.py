"""Files as they come: line ends, marks, quotes, order of columns, Parquet, and damage of all kinds."""

from __future__ import annotations

import csv
import sqlite3
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from safetab_brute import PERSON_HEADER, tabulate

from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.records import count
from discreet.errors import InputError
from discreet.records.engine import Engine, connect

Parameters = tuple[Configuration, Specification]
Change = Callable[[str], bytes]

SECRET = "31415926"
"""What must never be seen in an error."""


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as stream:
        return list(csv.reader(stream, delimiter="|"))


@pytest.fixture
def copy(toy: Path, tmp_path: Path) -> Path:
    for name in ("GRF-C.txt", "person-records.txt"):
        (tmp_path / name).write_bytes((toy / name).read_bytes())
    return tmp_path


def state_totals(data: Path, parameters: Parameters, engine: Engine) -> Counter[Any]:
    found: Counter[Any] = Counter()
    with count(data, *parameters, engine=engine) as counts:
        for geography in ("STATE", "PR-STATE"):
            regions = counts.regions(geography)
            for row in counts.totals(geography, 2).to_pylist():
                code = counts.specification.iterations[row["iteration"]].code
                found[geography, regions[row["region"]], code] = row["count"]
    return found


@pytest.fixture
def right(toy: Path, toy_parameters: Parameters) -> Counter[Any]:
    """What the toy gives, by the second tabulator."""
    _, *blocks = rows_of(toy / "GRF-C.txt")
    _, *persons = rows_of(toy / "person-records.txt")
    totals, _ = tabulate(blocks, persons, *toy_parameters)
    levels = {one.code: one.level for one in toy_parameters[1].iterations}
    places = ("STATE", "PR-STATE")
    return Counter({key: n for key, n in totals.items() if key[0] in places and levels[key[2]] == 2})


def reordered(text: str) -> bytes:
    table = [line.split("|") for line in text.splitlines()]
    return "\n".join("|".join(row[::-1]) for row in table).encode()


def quoted(text: str) -> bytes:
    return "\n".join("|".join(f'"{cell}"' for cell in line.split("|")) for line in text.splitlines()).encode()


HARMLESS: dict[str, Change] = {
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "mark, crlf and quotes": lambda text: b"\xef\xbb\xbf" + quoted(text).replace(b"\n", b"\r\n"),
    "blank last lines": lambda text: text.encode() + b"\n\n\n",
    "blank last lines in crlf": lambda text: text.replace("\n", "\r\n").encode() + b"\r\n\r\n",
    "no line end at the end": lambda text: text.rstrip("\n").encode(),
    "quoted fields": quoted,
    "other order of columns": reordered,
    "further columns": lambda text: "\n".join(
        line + ("|NOTE|NOTE" if not place else "|x|y") for place, line in enumerate(text.splitlines())
    ).encode(),
    "empty for Null": lambda text: text.replace("Null", "").encode(),
    "quoted empty for Null": lambda text: quoted(text.replace("Null", "")),
    "commas": lambda text: text.replace("|", ",").encode(),
    "semicolons, mark and crlf": lambda text: (
        b"\xef\xbb\xbf" + text.replace("|", ";").replace("\n", "\r\n").encode()
    ),
    "tabs and empty for Null": lambda text: text.replace("|", "\t").replace("Null", "").encode(),
    "small letters": lambda text: text.replace(head := text.split("\n")[0], head.lower()).encode(),
    "commas, quotes, small letters": lambda text: quoted(
        text.replace(head := text.split("\n")[0], head.lower())
    ).replace(b"|", b","),
}


@pytest.mark.parametrize("kind", HARMLESS)
def test_harmless_differences(
    kind: str, copy: Path, toy_parameters: Parameters, duckdb_engine: Engine, right: Counter[Any]
) -> None:
    for name in ("GRF-C.txt", "person-records.txt"):
        path = copy / name
        path.write_bytes(HARMLESS[kind](path.read_text()))
    assert state_totals(copy, toy_parameters, duckdb_engine) == right


def as_arrow(path: Path) -> pa.Table:
    header, *rows = rows_of(path)
    return pa.table(dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)))


def packed(path: Path, target: Path) -> None:
    with pa.CompressedOutputStream(str(target), {".gz": "gzip", ".zst": "zstd"}[target.suffix]) as stream:
        stream.write(path.read_bytes())


def arrow_file(path: Path, target: Path) -> None:
    with pa.OSFile(str(target), "wb") as stream, pa.ipc.new_file(stream, as_arrow(path).schema) as writer:
        writer.write_table(as_arrow(path))


def in_sqlite(path: Path, target: Path) -> None:
    table = as_arrow(path)
    with closing(sqlite3.connect(target)) as base:
        base.execute(f"CREATE TABLE t ({', '.join(table.column_names)})")
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * table.num_columns)})", rows)
        base.commit()


def in_duckdb(path: Path, target: Path) -> None:
    with duckdb.connect(str(target)) as base:
        base.register("given", as_arrow(path))
        base.execute("CREATE TABLE t AS SELECT * FROM given")


def in_sheet(path: Path, target: Path) -> None:
    with xlsxwriter.Workbook(target) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate(rows_of(path)):
            sheet.write_row(number, 0, row)


OTHERS: dict[str, Callable[[Path, Path], None]] = {
    ".txt.gz": packed,
    ".csv.zst": packed,
    ".psv": lambda path, target: target.write_bytes(path.read_bytes()) and None,
    ".arrow": arrow_file,
    ".sqlite": in_sqlite,
    ".duckdb": in_duckdb,
    ".xlsx": in_sheet,
}


@pytest.mark.parametrize(
    "ending",
    [pytest.param(one, marks=[pytest.mark.slow] * (one in (".psv", ".arrow", ".sqlite"))) for one in OTHERS],
)
def test_other_tables(
    ending: str, copy: Path, toy_parameters: Parameters, duckdb_engine: Engine, right: Counter[Any]
) -> None:
    for name in ("GRF-C", "person-records"):
        OTHERS[ending](copy / f"{name}.txt", copy / f"{name}{ending}")
        if name == "person-records":  # a usual file is read, whatever stands beside it
            (copy / f"{name}.txt").unlink()
    assert state_totals(copy, toy_parameters, duckdb_engine) == right
    (copy / "GRF-C.txt").unlink()
    assert state_totals(copy, toy_parameters, duckdb_engine) == right


@pytest.mark.parametrize("ending", [".csv", ".txt.gz", ".sqlite", ".xlsx", ".arrow"])
def test_places_are_those_of_the_file(
    ending: str, copy: Path, toy_parameters: Parameters, duckdb_engine: Engine
) -> None:
    path = copy / "person-records.txt"
    lines = path.read_text().splitlines()
    for line in (3, 5):
        lines[line - 1] = lines[line - 1].replace("|", f"{SECRET}|", 1)
    text = "\n".join(lines).replace(lines[0], lines[0].lower())
    path.write_text(text if ending != ".csv" else text.replace("|", ","))
    if ending == ".csv":
        path.rename(copy / "person-records.csv")
    else:
        OTHERS[ending](path, copy / f"person-records{ending}")
        path.unlink()
    shown = "person-records.sqlite::t" if ending == ".sqlite" else f"person-records{ending}"
    where = {
        ".csv": "lines 3 and 5",
        ".txt.gz": "lines 3 and 5",
        ".sqlite": "rows 2 and 4",
        ".arrow": "rows 2 and 4",
        ".xlsx": "rows 3 and 5",
    }
    assert refused(copy, toy_parameters, duckdb_engine).endswith(f"({where[ending]} of {shown}, field qage)")


def test_ages_as_floats(
    copy: Path, toy_parameters: Parameters, duckdb_engine: Engine, right: Counter[Any]
) -> None:
    as_parquet(copy, QAGE=lambda texts: pa.array([float(text) for text in texts]))
    assert state_totals(copy, toy_parameters, duckdb_engine) == right
    table = pq.read_table(copy / "person-records.parquet")
    ages = [0.5, *table.column("QAGE").to_pylist()[1:]]
    at = table.column_names.index("QAGE")
    pq.write_table(table.set_column(at, "QAGE", pa.array(ages)), copy / "person-records.parquet")
    text = refused(copy, toy_parameters, duckdb_engine)
    assert text == "QAGE is not a whole number (row 1 of person-records.parquet, field QAGE)"


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_harmless_differences_on_spark(
    copy: Path, toy_parameters: Parameters, spark_engine: Engine, right: Counter[Any]
) -> None:
    for name in ("GRF-C.txt", "person-records.txt"):
        path = copy / name
        text = (
            b"\xef\xbb\xbf"
            + quoted(reordered(path.read_text().replace("Null", "")).decode()).replace(b"\n", b"\r\n")
            + b"\r\n\r\n"
        )
        path.write_bytes(text)
    assert state_totals(copy, toy_parameters, spark_engine) == right


def as_parquet(folder: Path, **changes: Any) -> None:
    for name in ("GRF-C", "person-records"):
        header, *rows = rows_of(folder / f"{name}.txt")
        columns: dict[str, Any] = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
        for column, change in changes.items():
            if column in columns:
                columns[column] = change(columns[column])
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
        (folder / f"{name}.txt").unlink()


def test_parquet(engine: Engine, copy: Path, toy_parameters: Parameters, right: Counter[Any]) -> None:
    as_parquet(
        copy,
        QAGE=lambda texts: pa.array([int(text) for text in texts], pa.int16()),
        QSEX=lambda texts: pa.array([int(text) for text in texts], pa.int64()),
        QRACE8=lambda texts: pa.nulls(len(texts)),
        QRACE7=lambda texts: pa.array([None] * len(texts), pa.string()),
        QSPAN=lambda texts: pa.array(texts).dictionary_encode(),
        HOUSEHOLDER=lambda texts: pa.array([text == "True" for text in texts]),
    )
    assert state_totals(copy, toy_parameters, engine) == right


def refused(data: Path, parameters: Parameters, engine: Engine) -> str:
    with pytest.raises(InputError) as caught:
        count(data, *parameters, engine=engine)
    # nor in what Python shows of the errors before it
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


@pytest.mark.parametrize("where", ["start", "middle", "end"])
def test_corrupt_parquet(where: str, copy: Path, toy_parameters: Parameters, duckdb_engine: Engine) -> None:
    as_parquet(copy)
    path = copy / "person-records.parquet"
    content = bytearray(path.read_bytes())
    if where == "start":
        content[4:400] = b"\xff" * 396
    elif where == "middle":
        del content[200:600]
    else:
        del content[-30:]
    path.write_bytes(content)
    text = refused(copy, toy_parameters, duckdb_engine)
    assert text == "person-records.parquet cannot be read as Parquet: it is damaged, or something else"


def test_codes_as_numbers_are_refused(copy: Path, toy_parameters: Parameters, duckdb_engine: Engine) -> None:
    as_parquet(copy, TABBLKST=lambda texts: pa.array([int(text) for text in texts], pa.int64()))
    text = refused(copy, toy_parameters, duckdb_engine)
    assert "column TABBLKST of GRF-C.parquet is of type int64; it must hold text" in text
    assert "column TABBLKST of person-records.parquet is of type int64; it must hold text" in text


@pytest.mark.parametrize("column", PERSON_HEADER)
def test_a_missing_column(column: str, copy: Path, toy_parameters: Parameters, duckdb_engine: Engine) -> None:
    path = copy / "person-records.txt"
    place = PERSON_HEADER.index(column)
    lines = [row[:place] + row[place + 1 :] for row in rows_of(path)]
    path.write_text("\n".join(map("|".join, lines)))
    text = refused(copy, toy_parameters, duckdb_engine)
    assert text.startswith(f"person-records.txt has no column {column}; it must have QAGE, ")


def with_line(place: int, line: str) -> Change:
    def changed(text: str) -> bytes:
        lines = text.split("\n")
        lines.insert(place - 1, line)
        return "\n".join(lines).encode("latin-1")

    return changed


_PERSON = "028|1|True|01|001|000001|0001|01|1000|Null|Null|Null|Null|Null|Null|Null|1010"
DAMAGE: dict[str, tuple[Change, str]] = {
    "too few": (with_line(4, f"{SECRET}|1"), "2 fields, 17 expected (line 4 of person-records.txt"),
    "too many": (
        with_line(5, f"{_PERSON}|{SECRET}"),
        "18 fields, 17 expected (line 5 of person-records.txt",
    ),
    "too few, with commas": (
        lambda text: with_line(4, f"{SECRET}|1")(text).replace(b"|", b","),
        "2 fields, 17 expected (line 4 of person-records.txt",
    ),
    "not UTF-8": (
        with_line(3, _PERSON.replace("028", f"{SECRET}\xff")),
        "not UTF-8, but perhaps Latin-1 or Windows-1252: save it as UTF-8 (line 3 of person-records.txt",
    ),
    "not UTF-8, with commas": (
        lambda text: with_line(3, _PERSON.replace("028", f"{SECRET}\xff"))(text).replace(b"|", b","),
        "not UTF-8, but perhaps Latin-1 or Windows-1252: save it as UTF-8 (line 3 of person-records.txt",
    ),
    "an open quote": (
        with_line(6, f'"{SECRET}' + _PERSON),
        "not a line of CSV (line 6 of person-records.txt",
    ),
    "mixed line ends": (
        lambda text: text.replace("\n", "\r\n", 1).encode(),
        "lines end in different ways, CRLF and LF; all must end alike (lines 2, 3, ",
    ),
    "a quote inside the last field": (
        with_line(6, _PERSON.replace("1010", f'"{SECRET}')),
        "not a line of CSV (line 6 of person-records.txt",
    ),
    "an empty file": (lambda text: b"", "person-records.txt is empty; a header and rows are needed"),
    "no text": (lambda text: b"\xff\xfe\x00\x01" * 100, "person-records.txt is UTF-16; save it as UTF-8"),
    "another table": (lambda text: b"a|b\n1|2\n", "person-records.txt has no column QAGE, QSEX, TABBLKST, "),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage(kind: str, copy: Path, toy_parameters: Parameters, duckdb_engine: Engine) -> None:
    path = copy / "person-records.txt"
    change, expected = DAMAGE[kind]
    path.write_bytes(change(path.read_text()))
    assert expected in refused(copy, toy_parameters, duckdb_engine)


def test_a_byte_that_is_not_utf8_at_the_end_of_a_line(copy: Path, toy_parameters: Parameters) -> None:
    # DuckDB's reader fails inside at such a byte in the last field, and its database is lost
    path = copy / "person-records.txt"
    path.write_bytes(with_line(3, _PERSON.replace("|1010", f"|{SECRET}\xff"))(path.read_text()))
    with connect("duckdb", memory="1GB", threads=1) as own:
        text = refused(copy, toy_parameters, own)
    assert text == (
        "not UTF-8, but perhaps Latin-1 or Windows-1252: save it as UTF-8 (line 3 of person-records.txt, "
        "field all)"
    )


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_damage_on_spark(copy: Path, toy_parameters: Parameters, spark_engine: Engine) -> None:
    path = copy / "person-records.txt"
    change, expected = DAMAGE["too few"]
    path.write_bytes(change(path.read_text()))
    assert expected in refused(copy, toy_parameters, spark_engine)


def test_files_that_are_not_there(
    copy: Path, toy: Path, tmp_path: Path, toy_parameters: Parameters, duckdb_engine: Engine
) -> None:
    (copy / "person-records.txt").unlink()
    text = refused(copy, toy_parameters, duckdb_engine)
    names = "person-records.txt, person-records.csv or person-records.parquet (or another table)"
    assert f"{names} must be in" in text
    (copy / "person-records.csv").write_bytes((toy / "person-records.txt").read_bytes())
    with count(copy, *toy_parameters, engine=duckdb_engine):
        pass
    (copy / "GRF-C.csv").write_bytes((toy / "GRF-C.txt").read_bytes())
    assert "GRF-C.txt and GRF-C.csv are both in" in refused(copy, toy_parameters, duckdb_engine)
    assert "is not a directory" in refused(tmp_path / "none", toy_parameters, duckdb_engine)


def test_a_file_that_changes_meanwhile(
    copy: Path, toy_parameters: Parameters, duckdb_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.census.mechanism import records

    honest = records.checked

    def slow(*arguments: Any, **more: Any) -> Any:
        found = honest(*arguments, **more)
        with (copy / "person-records.txt").open("a") as stream:
            stream.write("\n")
        return found

    monkeypatch.setattr(records, "checked", slow)
    assert "person-records.txt changed while it was read" in refused(copy, toy_parameters, duckdb_engine)
