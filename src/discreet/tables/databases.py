"""Tables of DuckDB and SQLite, in files that are opened for reading only.

DuckDB is kept from writing to disk what does not fit into memory, and from opening other files, which a view
could name. What either says of an error may repeat a value, so it is not passed on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from discreet.errors import DiscreetError, InputError, install_hint
from discreet.files import ArrowArray, ArrowSchema, ArrowTable, arrow
from discreet.tables.columns import text_of_number, with_mixtures
from discreet.tables.sources import INSIDE, UTF8, chosen, which

if TYPE_CHECKING:
    import duckdb

_ROWS = 1 << 16
"""Rows of SQLite that are fetched at a time."""

_ALONE: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
}


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table of a database file and its columns; rows are read when it is turned into Arrow's.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "survey.sqlite")
    ...     with closing(sqlite3.connect(file)) as made:
    ...         _ = made.execute("CREATE TABLE people (unit TEXT, age INTEGER)")
    ...         _ = made.execute("INSERT INTO people VALUES ('A', 31)")
    ...         made.commit()
    ...     found = DatabaseTable.find(file, "")
    ...     found.columns, found.select(["age"]).to_arrow().to_pylist()
    (['unit', 'age'], [{'age': 31}])
    """

    path: Path
    is_sqlite: bool
    schema: str
    name: str
    is_view: bool
    columns: list[str]

    @classmethod
    def find(cls, path: Path, wanted: str) -> DatabaseTable:
        """Find a table by name, as it is written or but for capitals; without a name there must be one."""
        is_sqlite = _is_sqlite(path)
        with _refusing(path, is_sqlite=is_sqlite):
            tables = _sqlite_tables(path) if is_sqlite else _duckdb_tables(path)
            names = {_shown(schema, name): (schema, name, is_view) for schema, name, is_view in tables}
            chosen = _choose(path, list(names), wanted)
            table = cls(path, is_sqlite, *names[chosen], columns=[])
            return replace(table, columns=table._read_names())

    @property
    def shown(self) -> str:
        """The name that messages have."""
        return f"{self.path.name}{INSIDE}{_shown(self.schema, self.name)}"

    def select(self, columns: Sequence[str]) -> DatabaseTable:
        """Return the table with these columns only."""
        return replace(self, columns=list(columns))

    def to_arrow(self) -> ArrowTable:
        """Read the rows, in the order in which the table has them."""
        pa, query = arrow(), self._query(", ".join(map(_quoted, self.columns)))
        with _refusing(self.path, is_sqlite=self.is_sqlite):
            if not self.is_sqlite:
                with closing(_duckdb(self.path)) as connection:
                    return connection.sql(query).to_arrow_table()
            parts = []
            with closing(_sqlite(self.path)) as connection:
                rows = connection.execute(query)
                while part := rows.fetchmany(_ROWS):
                    columns = map(_texts_or_numbers, zip(*part, strict=True))
                    parts.append(pa.table(dict(zip(self.columns, columns, strict=True))))
        if not parts:
            return pa.table({name: pa.nulls(0) for name in self.columns})
        mixed = [name for name in self.columns if _is_mixed([part.schema.field(name) for part in parts])]
        parts = [_with_texts(part, mixed) for part in parts]
        return with_mixtures(pa.concat_tables(parts, promote_options="permissive"), mixed)

    def _read_names(self) -> list[str]:
        query = self._query("*") + " LIMIT 0"
        with closing(_sqlite(self.path) if self.is_sqlite else _duckdb(self.path)) as connection:
            return [str(column[0]) for column in connection.execute(query).description or ()]

    def _query(self, columns: str) -> str:
        # an index of SQLite that has all the columns would be read instead, in its own order
        end = " NOT INDEXED" if self.is_sqlite and not self.is_view else ""
        return f"SELECT {columns} FROM {_quoted(self.schema)}.{_quoted(self.name)}{end}"


def _texts_or_numbers(values: Sequence[object]) -> ArrowArray:
    """Return a column of SQLite's, which lets each value have a type: among texts, numbers are texts."""
    kinds = {type(value) for value in values}
    if str in kinds and kinds & {int, float}:
        return (
            arrow().array([text_of_number(value) for value in values]).dictionary_encode()
        )  # marked by that
    return arrow().array(values)


def _is_mixed(fields: Sequence[ArrowSchema]) -> bool:
    """Whether parts of a column are texts and numbers, or one of them is both."""
    is_a, types = arrow().types, [field.type for field in fields]
    texts, numbers = any(map(is_a.is_string, types)), any(map(is_a.is_primitive, types))
    return any(map(is_a.is_dictionary, types)) or (texts and numbers)


def _with_texts(part: ArrowTable, names: Sequence[str]) -> ArrowTable:
    """Return a part of a table with texts for the numbers of some columns."""
    for name in names:
        values = [text_of_number(value) for value in part.column(name).to_pylist()]
        texts = arrow().array(values, arrow().string())
        part = part.set_column(part.schema.get_field_index(name), name, texts)
    return part


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as stream:
        start = stream.read(16)
    if start.startswith(b"SQLite format 3\0"):
        return True
    if start[8:12] == b"DUCK":
        return False
    what = "is neither a DuckDB nor a SQLite database" if start else "is empty; a database is needed"
    raise InputError(f"{path.name} {what}")


def _choose(path: Path, names: list[str], wanted: str) -> str:
    if not names:
        raise InputError(f"{path.name} has no tables; one is needed")
    name = chosen(names, wanted) if wanted else names[0] if len(names) == 1 else ""
    if not name:
        what = f"no table {wanted}" if wanted else f"{len(names)} tables"
        raise InputError(f"{path.name} has {what}; {which(path, names, 'tables')}")
    return name


def _shown(schema: str, name: str) -> str:
    return name if schema == "main" else f"{schema}.{name}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sqlite(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)


def _sqlite_tables(path: Path) -> list[tuple[str, str, bool]]:
    query = (
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' ORDER BY name"
    )
    with closing(_sqlite(path)) as connection:
        return [("main", name, kind == "view") for name, kind in connection.execute(query)]


def _duckdb(path: Path) -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(str(path), read_only=True, config=_ALONE)


def _duckdb_tables(path: Path) -> list[tuple[str, str, bool]]:
    query = "SELECT table_schema, table_name FROM information_schema.tables ORDER BY 1, 2"
    with closing(_duckdb(path)) as connection:
        return [(schema, name, False) for schema, name in connection.execute(query).fetchall()]


@contextmanager
def _refusing(path: Path, *, is_sqlite: bool) -> Iterator[None]:
    """Turn errors of a database into ours."""
    name = "SQLite" if is_sqlite else "DuckDB"
    try:
        errors: type[Exception] = sqlite3.Error if is_sqlite else import_module("duckdb").Error
    except ImportError:  # pragma: no cover
        text = f"reading {path.name} needs DuckDB, which is not installed"
        raise DiscreetError(f"{text}: {install_hint('release')}") from None
    try:
        yield
        return
    except errors as error:
        is_text = is_sqlite and str(error).startswith("Could not decode to UTF-8")
    if is_text:
        raise InputError(f"a text of {path.name} is {UTF8.not_utf8}")
    raise InputError(
        f"{path.name} cannot be read as a {name} database: it is damaged, open in another program, or of "
        "another version"
    )
