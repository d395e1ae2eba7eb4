"""The toy nation of the tests of census."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.records.engine import Engine, connect

sys.path.insert(0, str(Path(__file__).parents[2] / "census"))


@pytest.fixture(scope="session")
def duckdb_engine() -> Iterator[Engine]:
    with connect("duckdb", memory="1GB", threads=2) as engine:
        yield engine
