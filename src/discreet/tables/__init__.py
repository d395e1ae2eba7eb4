"""Tables in, one reader for every command: text of any dialect, Parquet, Arrow, pandas and polars.

`reader` opens and reads a table, `delimited` is text, `columns` finds columns and checks what they hold, and
`problems` is the list of all that is wrong, by file, row and column.
"""

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
)
from discreet.tables.problems import MOST, Problems
from discreet.tables.reader import (
    OpenTable,
    ReadTable,
    TableSource,
    is_table,
    open_table,
    read_table,
    stop_unless_usable,
    table_format,
)

__all__ = [
    "MOST",
    "Codes",
    "Kind",
    "Kinds",
    "Numbers",
    "OpenTable",
    "Problems",
    "ReadTable",
    "TableSource",
    "Words",
    "check_schema",
    "conformed",
    "find_columns",
    "is_table",
    "open_table",
    "read_table",
    "stop_unless_usable",
    "table_format",
    "words_of",
]
