"""Options of several questions about a tabulation: the engine that counts, totals, what an output becomes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from discreet.files import FilePath
from discreet.questions import Option

ENGINE = Option(
    "The engine that counts. Default: duckdb.", "duckdb|spark", reads=Literal["duckdb", "spark"] | None
)
EngineName = Annotated[str, ENGINE]
SparkMaster = Annotated[str | None, Option("Where Spark runs.", "URL")]
Memory = Annotated[str | None, Option("The engine's memory, such as 4GB (default).", "SIZE")]
Threads = Annotated[int | None, Option("Threads. Default: one for each CPU.", "N")]
Totals = Annotated[
    FilePath | None,
    Option(
        "Published totals that pick tables: a file, or an output with t1. Default: as the parameters say.",
        "FILE|OUT",
        reads=Path | None,
    ),
]
OldParams = Annotated[FilePath, Option("Folder of the parameters of that run.", "DIR", reads=Path)]
Result = Annotated[FilePath, Option("A new directory for the result.", "DIR", reads=Path)]
ResultFormat = Annotated[
    str | None,
    Option(
        "Format of the tables. Default: that of OUT.",
        "csv|parquet",
        reads=Literal["csv", "parquet"] | None,
    ),
]
SuppressionChoice = Annotated[
    Literal["both", "alone"] | None,
    Option(
        "Where an alone count exceeds the combination count, drop both groups or the alone one.", "both|alone"
    ),
]
NegativeChoice = Annotated[
    Literal["zero", "drop"] | None,
    Option("Set negative counts to zero, or drop groups that have one.", "zero|drop"),
]
