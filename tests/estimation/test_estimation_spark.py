"""Spark shares the work on the lowest units: the same numbers as without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from health import RELEASE, records, rows, truth

from discreet.errors import InputError
from discreet.estimation import estimate
from discreet.measurement import measure

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a tiny input needs of Java is a quick start."""
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.sql.codegen.wholeStage false\nspark.sql.codegen.factoryMode NO_CODEGEN\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.mark.usefixtures("quick")
@pytest.mark.slow
def test_spark_gives_what_is_given_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes, several subtrees and several parts of the output: every number to 1e-9, and whole
    numbers to the byte."""
    from discreet.areas import output as tables
    from discreet.estimation import estimates
    from discreet.estimation.output import part_tables

    people, units = records(tmp_path, truth())
    measure(RELEASE, None, tmp_path / "m", records=people, units=units, format="parquet", rehearsal=1)
    estimate(tmp_path / "m", tmp_path / "local", format="csv", histogram=True)
    monkeypatch.setattr(part_tables, "CELLS", 24)
    monkeypatch.setattr(estimates, "PIECE", 12)
    monkeypatch.setattr(tables, "ROWS", 40)
    done = estimate(
        tmp_path / "m",
        tmp_path / "spark",
        format="csv",
        histogram=True,
        streamed=True,
        engine="spark",
        spark_master="local[2]",
    )
    here, there = (rows(tmp_path / name / "estimates.NOT-PRIVATE.csv") for name in ("local", "spark"))
    assert len(here) == len(there) == done.cells
    cells, same = (
        (tmp_path / name / "histogram.NOT-PRIVATE.csv").read_bytes() for name in ("local", "spark")
    )
    assert cells == same
    for one, two in zip(here, there, strict=True):
        for key, value in one.items():
            if key in ("unit", "level", "query", "cell", "not_private", "table"):
                assert two[key] == value
            else:
                assert float(two[key]) == pytest.approx(float(value), rel=1e-9, abs=1e-9)


def test_what_spark_needs(tmp_path: Path) -> None:
    for given, said in (
        ({"engine": "dask"}, "engine is 'dask'; it must be local or spark"),
        ({"spark_master": "local[2]"}, "the engine is local"),
    ):
        with pytest.raises(InputError, match=said):
            estimate(tmp_path / "m", tmp_path / "e", **given)  # type: ignore[arg-type]
