"""Engines to run every tabulation on, and small inputs in the files' formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_fixtures import discreet, refused  # noqa: F401
from safetab_brute import GRF_HEADER, PERSON_HEADER
from safetab_toy import DATA, SPEC_2020

from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.groups import Specification
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.specification import read_specification
from discreet.records.engine import Engine, connect

# what a tiny input needs of Java is a quick start, not fast loops
_SPARK = """spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.adaptive.enabled false
"""


@pytest.fixture(scope="session")
def duckdb_engine() -> Iterator[Engine]:
    with connect("duckdb", memory="1GB", threads=2) as engine:
        yield engine


@pytest.fixture(scope="session")
def spark_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One Spark for all tests: it takes seconds to start."""
    place = tmp_path_factory.mktemp("spark-conf")
    (place / "spark-defaults.conf").write_text(_SPARK)
    patch = pytest.MonkeyPatch()
    patch.setenv("SPARK_CONF_DIR", str(place))
    patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    try:
        with connect("spark", memory="1GB", spark_master="local[2]", threads=1) as engine:
            yield engine
    finally:
        patch.undo()


SPARK = pytest.mark.xdist_group("spark")
"""Keeps tests in one process with --dist loadgroup, so that Spark is started once."""


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=[SPARK, pytest.mark.slow])])
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(f"{request.param}_engine")
    return found


@pytest.fixture(scope="session")
def toy() -> Path:
    return DATA


@pytest.fixture(scope="session")
def toy_parameters(toy: Path) -> tuple[Configuration, Specification]:
    return read_configuration(toy / "params"), read_specification(toy / "params")


@pytest.fixture(scope="session")
def parameters_2020() -> tuple[Configuration, Specification]:
    return read_configuration(SPEC_2020), read_specification(SPEC_2020)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a folder of data from rows of texts; returns the folder."""

    def written(blocks: Sequence[Sequence[str]], persons: Sequence[Sequence[str]]) -> Path:
        folder = tmp_path / f"data{len(os.listdir(tmp_path))}"
        folder.mkdir()
        for name, header, rows in (
            ("GRF-C.txt", GRF_HEADER, blocks),
            ("person-records.txt", PERSON_HEADER, persons),
        ):
            lines: list[Any] = ["|".join(header), *("|".join(row) for row in rows)]
            (folder / name).write_text("\n".join(lines) + "\n")
        return folder

    return written
