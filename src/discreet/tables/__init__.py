"""Tables in, one reader for every command: text of any dialect, Parquet, Arrow, DuckDB, SQLite, sheets of
workbooks, standard input, pandas and polars.

`sources` says what a table is named by, `reader` opens and reads it, `delimited` is text, `databases` and
`sheets` are what their names say, `columns` finds columns and checks what they hold, and `problems` is the
list of all that is wrong, by file, row and column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.files import TableSource
    from discreet.tables.columns import (
        Codes,
        Kind,
        Kinds,
        Numbers,
        Words,
        check_schema,
        conformed,
        find_columns,
        words_of,
        written_out,
    )
    from discreet.tables.delimited import SIGNS, Delimited, is_grouped, is_record
    from discreet.tables.problems import MOST, Problem, Problems
    from discreet.tables.reader import (
        ArrowFile,
        Columnar,
        OpenTable,
        ReadTable,
        arrow_errors,
        open_table,
        read_table,
        stop_unless_usable,
    )
    from discreet.tables.sources import (
        FILE_ENDINGS,
        UTF8,
        Dialect,
        file_of,
        guess_encoding,
        is_table,
        is_there,
        kept_source,
        table_format,
    )
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.files": "TableSource",
            "discreet.tables.columns": "Codes Kind Kinds Numbers Words check_schema conformed find_columns "
            "words_of written_out",
            "discreet.tables.delimited": "SIGNS Delimited is_grouped is_record",
            "discreet.tables.problems": "MOST Problem Problems",
            "discreet.tables.reader": "ArrowFile Columnar OpenTable ReadTable arrow_errors open_table "
            "read_table stop_unless_usable",
            "discreet.tables.sources": "FILE_ENDINGS UTF8 Dialect file_of guess_encoding is_table is_there "
            "kept_source table_format",
        },
    )

__all__ = [
    "FILE_ENDINGS",
    "MOST",
    "SIGNS",
    "UTF8",
    "ArrowFile",
    "Codes",
    "Columnar",
    "Delimited",
    "Dialect",
    "Kind",
    "Kinds",
    "Numbers",
    "OpenTable",
    "Problem",
    "Problems",
    "ReadTable",
    "TableSource",
    "Words",
    "arrow_errors",
    "check_schema",
    "conformed",
    "file_of",
    "find_columns",
    "guess_encoding",
    "is_grouped",
    "is_record",
    "is_table",
    "is_there",
    "kept_source",
    "open_table",
    "read_table",
    "stop_unless_usable",
    "table_format",
    "words_of",
    "written_out",
]
