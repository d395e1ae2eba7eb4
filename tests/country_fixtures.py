"""The small country of `release_country` as fixtures."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from release_country import TOML, Country

from discreet.budget import Release


@pytest.fixture
def release() -> Release:
    return Release.from_toml(TOML)


@pytest.fixture
def country(tmp_path: Path) -> Country:
    return Country(tmp_path)


@pytest.fixture
def table() -> Callable[[Path], list[dict[str, Any]]]:
    """Read a written table, whatever its format."""

    def read(path: Path) -> list[dict[str, Any]]:
        if path.suffix == ".parquet":
            rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
            return rows
        with path.open(newline="") as stream:
            return [_numbers(row) for row in csv.DictReader(stream)]

    return read


def _numbers(row: Mapping[str, str]) -> dict[str, Any]:
    kinds = {"value": int, "table": int, "count": int, "estimate": float, "variance": float, "sd": float}
    return {name: kinds.get(name, str)(text) for name, text in row.items()}
