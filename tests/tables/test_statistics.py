"""Files of Stata, SPSS and SAS: read as their codebooks say, or one sentence that says what is needed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from discreet.errors import DiscreetError, InputError
from discreet.measurement.drafting import sketch
from discreet.measurement.questions import Drafting
from discreet.tables import open_table
from discreet.tables.problems import Problems
from discreet.tables.statistics import READERS

IS_THERE = importlib.util.find_spec("pyreadstat") is not None
needs_reader = pytest.mark.skipif(not IS_THERE, reason="needs pyreadstat: pip install '.[statistics]'")


@pytest.mark.skipif(IS_THERE, reason="pyreadstat is installed")
@pytest.mark.parametrize("ending", READERS)
def test_without_the_reader_it_is_said_how_to_install_it(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"survey{ending}"
    file.write_bytes(b"731946")
    with pytest.raises(DiscreetError, match="needs pyreadstat, which is not installed") as caught:
        open_table(file)
    assert "[statistics]" in str(caught.value)


@needs_reader
@pytest.mark.parametrize("ending", READERS)
def test_what_is_damaged_is_refused_without_its_content(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"survey{ending}"
    file.write_bytes(b"731946 " * 100)
    with pytest.raises(InputError, match="damaged, or something else") as caught:
        open_table(file)
    assert "731946" not in str(caught.value)


@needs_reader
@pytest.mark.parametrize(
    "ending", [".dta", ".sav", ".zsav", ".por", ".xpt"]
)  # nothing writes the format of SAS
def test_numbers_labels_dates_and_gaps_are_read(ending: str, tmp_path: Path) -> None:
    import pandas
    import pyreadstat

    file = tmp_path / f"survey{ending}"
    frame = pandas.DataFrame(
        {
            "AREA": ["A", "B", "B"],
            "SEX": [1.0, 2.0, 2.0],
            "AGE": [34.0, None, 97.0],
            "HOURS": [1.5, 2.0, None],
            "BORN": pandas.to_datetime(["1990-12-31", "2000-01-02", "1928-05-06"]).date,
        }
    )
    labelled = {"variable_value_labels": {"SEX": {1: "male", 2: "female"}, "AGE": {97: "refused"}}}
    write = {
        ".dta": pyreadstat.write_dta,
        ".sav": pyreadstat.write_sav,
        ".zsav": pyreadstat.write_sav,
        ".por": pyreadstat.write_por,
        ".xpt": pyreadstat.write_xport,
    }[ending]
    has_labels = ending in (".dta", ".sav", ".zsav")
    more = (labelled if has_labels else {}) | ({"compress": True} if ending == ".zsav" else {})
    write(frame, str(file), **more)
    columns = dict.fromkeys(["AREA", "SEX", "AGE", "HOURS", "BORN"], "any")
    (batch,) = open_table(file).batches(columns, Problems())  # type: ignore[arg-type]
    found = {name: batch.column(name).to_pylist() for name in columns}
    assert found["AREA"] == ["A", "B", "B"]
    assert found["SEX"] == (["male", "female", "female"] if has_labels else [1, 2, 2])
    assert found["AGE"] == (["34", None, "refused"] if has_labels else [34, None, 97])
    assert found["HOURS"] == [1.5, 2.0, None]
    assert found["BORN"] == ["1990-12-31", "2000-01-02", "1928-05-06"]


@needs_reader
def test_values_that_spss_declares_missing_are_missing(tmp_path: Path) -> None:
    import pandas
    import pyreadstat

    file = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        pandas.DataFrame({"age": [34.0, 98.0, 99.0]}),
        str(file),
        missing_ranges={"age": [{"lo": 98, "hi": 99}]},
    )
    (batch,) = open_table(file).batches({"age": "any"}, Problems())
    assert batch.column("age").to_pylist() == [34, None, None]


@needs_reader
def test_a_draft_is_made_of_a_file_of_stata(tmp_path: Path) -> None:
    import pandas
    import pyreadstat

    file = tmp_path / "survey.dta"
    frame = pandas.DataFrame({"sex": [1, 2] * 60, "age": [number % 98 for number in range(120)]})
    pyreadstat.write_dta(frame, str(file), variable_value_labels={"sex": {1: "male", 2: "female"}})
    found = sketch(Drafting(file, attributes=["sex", "age"]))
    assert found.scope.is_whole
    assert found.input.of("sex").codes
