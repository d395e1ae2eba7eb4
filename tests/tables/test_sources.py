"""Sources other than plain files: errors say what was found and what there is instead, and no value."""

from __future__ import annotations

import gzip
import io
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import xlsxwriter

from discreet.errors import InputError
from discreet.tables import read_table

SECRET = "31415926"
"""What must never be seen in an error."""

TEXT = "unit,n\n" + f"{SECRET},5\n" * 5000


def refused(source: object) -> str:
    with pytest.raises(InputError) as caught:
        read_table(source, words=["unit"], whole=["n"])
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return str(caught.value)


def sqlite(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as base:
        for one in statements:
            base.execute(one)
        base.commit()
    return path


TABLE = "CREATE TABLE {} (unit TEXT, n INTEGER)"
ROW = f"INSERT INTO t VALUES ('{SECRET}', 5)"


def duck(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as base:
        for one in statements:
            base.execute(one)
    return path


def workbook(path: Path, *rows: list[object], sheets: tuple[str, ...] = ("One",)) -> Path:
    with xlsxwriter.Workbook(path) as book:
        for name in sheets:
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return path


@pytest.mark.parametrize("make", [sqlite, duck], ids=["SQLite", "DuckDB"])
def test_a_table_of_several(tmp_path: Path, make: object) -> None:
    path = make(tmp_path / "a.db", *map(TABLE.format, ("t", "u", "V")), ROW)  # type: ignore[operator]
    assert refused(path) == "a.db has 3 tables; name one of its tables, as a.db::V: V, t, u"
    assert refused(f"{path}::w") == "a.db has no table w; name one of its tables, as a.db::V: V, t, u"
    assert read_table(f"{path}::T", words=["unit"], whole=["N"]).numbers["N"].tolist() == [5]
    assert refused(f"{path}::u::v") == "a.db has no table u::v; name one of its tables, as a.db::V: V, t, u"
    assert refused(f"{path}::u.csv") == "a.db has no table u.csv; name one of its tables, as a.db::V: V, t, u"
    assert refused(tmp_path / "b.db::t") == f"there is no file {tmp_path}/b.db"


@pytest.mark.parametrize("make", [sqlite, duck], ids=["SQLite", "DuckDB"])
def test_a_database_without_tables_or_of_another_kind(tmp_path: Path, make: object) -> None:
    made = make(tmp_path / "a.db", TABLE.format("t"), "DROP TABLE t")  # type: ignore[operator]
    assert refused(made) == "a.db has no tables; one is needed"
    content = bytearray(make(tmp_path / "b.db", TABLE.format("t"), *[ROW] * 500).read_bytes())  # type: ignore[operator]
    (tmp_path / "b.db").write_bytes(content[: len(content) // 2])
    assert "b.db cannot be read as a" in refused(tmp_path / "b.db::t")
    assert "it is damaged, open in another program, or of another version" in refused(tmp_path / "b.db::t")
    (tmp_path / "c.duckdb").write_bytes(TEXT.encode())
    assert refused(tmp_path / "c.duckdb") == "c.duckdb is neither a DuckDB nor a SQLite database"
    (tmp_path / "c.duckdb").write_bytes(b"")
    assert refused(tmp_path / "c.duckdb") == "c.duckdb is empty; a database is needed"


def test_a_schema_of_duckdb_and_a_view(tmp_path: Path) -> None:
    path = duck(
        tmp_path / "a.duckdb", TABLE.format("t"), ROW, "CREATE SCHEMA s", "CREATE VIEW s.v AS SELECT * FROM t"
    )
    assert read_table(f"{path}::s.v", words=["unit"]).rows == 1
    assert refused(path) == "a.duckdb has 2 tables; name one of its tables, as a.duckdb::t: t, s.v"


def test_a_view_of_duckdb_opens_no_other_file(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(TEXT)
    path = duck(tmp_path / "a.duckdb", f"CREATE VIEW v AS SELECT * FROM read_csv('{other}')")
    assert "cannot be read as a DuckDB database" in refused(path)


def test_values_of_a_database(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "a.db", TABLE.format("t"), ROW, "INSERT INTO t VALUES ('A', 2.5), (NULL, NULL)")
    assert refused(path).splitlines()[1:] == [
        "  1. a value is missing (row 3 of a.db::t, field n)",
        "  2. n is not a whole number (row 2 of a.db::t, field n)",
        "  3. a text is missing (row 3 of a.db::t, field unit)",
    ]
    path = sqlite(tmp_path / "b.db", TABLE.format("t"), f"INSERT INTO t VALUES ('A', '{SECRET}x'), ('B', 1)")
    assert refused(path) == "column n of b.db::t is of type string; a column of integers is needed"
    path = sqlite(
        tmp_path / "c.db", TABLE.format("t"), f"INSERT INTO t VALUES (CAST(x'{SECRET}e9' AS TEXT), 1)"
    )
    assert refused(path) == (
        "a text of c.db is not UTF-8, but perhaps Latin-1 or Windows-1252: save it as UTF-8"
    )
    assert read_table(sqlite(tmp_path / "d.db", TABLE.format("t")), words=["unit"], whole=["n"]).rows == 0


def test_a_database_is_not_written_to(tmp_path: Path) -> None:
    for path in (
        sqlite(tmp_path / "a.db", TABLE.format("t"), ROW),
        duck(tmp_path / "b.db", TABLE.format("t")),
    ):
        before = path.read_bytes()
        path.chmod(0o400)
        read_table(path, words=["unit"], whole=["n"])
        assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.db", "b.db"]


def test_sheets(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", ["unit", "n"], ["A", 5], sheets=("One", "Two"))
    assert (
        refused(f"{path}::Three")
        == "a.xlsx has no sheet Three; name one of its sheets, as a.xlsx::One: One, Two"
    )
    assert read_table(f"{path}::two", words=["unit"], whole=["n"]).numbers["n"].tolist() == [5]
    assert refused(workbook(tmp_path / "b.xlsx")) == "b.xlsx is empty; a header and rows are needed"


def test_values_of_a_sheet(tmp_path: Path) -> None:
    rows = [["Unit", "n", "note"], [SECRET, 5, f"two\nlines, of {SECRET}"], ["B", 2], [], [7, "x"]]
    assert refused(workbook(tmp_path / "a.xlsx", *rows)).splitlines()[1:] == [
        "  1. an empty line (row 4 of a.xlsx, field all)",
        "  2. n is not a whole number (row 5 of a.xlsx, field n)",
    ]
    path = workbook(tmp_path / "b.xlsx", ["unit", "n"], ["001", True], ["A\nB", 1], ["C", 1, "more"])
    assert refused(path).splitlines()[1:] == [
        "  1. n is not a whole number (row 2 of b.xlsx, field n)",
        "  2. 3 fields, 2 expected (row 4 of b.xlsx, field all)",
    ]
    path = workbook(tmp_path / "c.xlsx", ["unit", "n"], ["A\nB", 1])
    assert refused(path) == "a text has a control character in it (row 2 of c.xlsx, field unit)"
    path = workbook(tmp_path / "d.xlsx", ["unit", "n"], [12, "3"], ["012", 1e14])
    found = read_table(path, words=["unit"], whole=["n"])
    assert found.words["unit"].values.to_pylist() == ["12", "012"]
    assert found.numbers["n"].tolist() == [3, 10**14]


def test_what_is_no_workbook(tmp_path: Path) -> None:
    whole = workbook(
        tmp_path / "a.xlsx", ["unit", "n"], *([f"{SECRET} {n}", n] for n in range(500))
    ).read_bytes()
    path, says = (
        tmp_path / "b.xlsx",
        "b.xlsx cannot be read as a workbook (.xlsx): it is damaged, or something else",
    )
    for content in (b"", TEXT.encode(), whole[: len(whole) // 2]):
        path.write_bytes(content)
        assert refused(path) == says
    for left_out in ("xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"):
        with zipfile.ZipFile(tmp_path / "a.xlsx") as book, zipfile.ZipFile(path, "w") as other:
            for one in book.namelist():
                if one != left_out:
                    other.writestr(one, book.read(one))
        assert refused(path) == says
    with zipfile.ZipFile(tmp_path / "a.xlsx") as book, zipfile.ZipFile(path, "w") as other:
        for one in book.namelist():
            content = book.read(one)
            other.writestr(one, content[:-300] if one.endswith("sheet1.xml") else content)
    assert refused(path) == says


def test_texts_in_pieces(tmp_path: Path) -> None:
    """As other programs write them: fonts within a text, texts in the cell itself, and no places."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet, bold = book.add_worksheet(), book.add_format({"bold": True})
        sheet.write_row(0, 0, ["unit", "n"])
        sheet.write_rich_string(1, 0, "A", bold, "B", "C")
        sheet.write_formula(1, 1, "=1+2", value=3)
    assert read_table(path, words=["unit"], whole=["n"]).words["unit"].values.to_pylist() == ["ABC"]
    with zipfile.ZipFile(path) as book:
        parts = {one: book.read(one) for one in book.namelist()}
    cells = "<row><c t='inlineStr'><is><t>{}</t></is></c><c t='{}'>{}</c></row>"
    rows = cells.format("unit", "inlineStr", "<is><t>n</t></is>") + cells.format("D", "n", "<v>4</v>")
    parts["xl/worksheets/sheet1.xml"] = f"<worksheet><sheetData>{rows}</sheetData></worksheet>".encode()
    with zipfile.ZipFile(path, "w") as made:
        for name, content in parts.items():
            made.writestr(name, content)
    found = read_table(path, words=["unit"], whole=["n"])
    assert (found.words["unit"].values.to_pylist(), found.numbers["n"].tolist()) == (["D"], [4])


def test_packed_text_that_is_damaged(tmp_path: Path) -> None:
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, "zstd") as packing:
        packing.write(TEXT.encode())
    for ending, content in ((".gz", gzip.compress(TEXT.encode())), (".zst", stream.getvalue().to_pybytes())):
        path = tmp_path / f"t.csv{ending}"
        for wrong in (content[:-12], TEXT.encode(), content[: len(content) // 2]):
            path.write_bytes(wrong)
            assert refused(path) == f"{path} cannot be read: it is damaged"
        path.write_bytes(content)
        assert read_table(path, words=["unit"], whole=["n"]).rows == 5000


def piped(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b"")
    assert refused("-") == (
        "standard input (-) is empty; a header and rows are needed, and one input at most comes that way"
    )
    for content, says in (
        (
            TEXT.replace("\n", f"\n{SECRET},1,2\n", 1).encode(),
            "3 fields, 2 expected (line 2 of standard input",
        ),
        (
            TEXT.replace(",5", ",5.5", 1).encode(),
            "n is not a whole number (line 2 of standard input, field n)",
        ),
        (gzip.compress(TEXT.encode())[:-9], "standard input cannot be read: it is damaged"),
        (
            b"PAR1" + TEXT.encode(),
            "standard input cannot be read as Parquet: it is damaged, or something else",
        ),
        (b"ARROW1" + TEXT.encode(), "standard input cannot be read as Arrow"),
    ):
        piped(monkeypatch, content)
        assert says in refused("-")
    monkeypatch.setattr("sys.stdin", None)
    assert "there is nothing on standard input" in refused("-")


def test_a_pipe_of_the_shell(tmp_path: Path) -> None:
    table = "level,value,variance\n" + "State,8,5\n" * 3
    program = "import sys; from discreet.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", program, "risk", "table", "-", "--prior", "1/10"]
    done = subprocess.run(words, input=table, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "State" in done.stdout
