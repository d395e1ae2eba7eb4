"""`[input]`: any of it is written as TOML and read back, and it is no part of what is released."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.certificate import Certificate
from discreet.budget import Release
from discreet.cli import run
from discreet.errors import InputError
from discreet.records.input import ColumnInput, TableInput, input_from_toml, input_lines, read_bands

RELEASE = """
name = "survey"
neighbours = "bounded"
[attributes]
age = ["0-17", "18+", "unknown"]
[[levels]]
name = "Land"
queries = { "age" = { variance = 8 } }
"""
INPUT = (
    '[input]\nencoding = "latin-1"\n[input.columns]\nage = { column = "ALTER", bands = ["0-17", "18+"] }\n'
)

TEXTS = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=12).filter(
    str.strip
)
SIGNS = st.sampled_from([*";,|^~: ", "\t", ""])


@st.composite
def columns(draw: st.DrawFn) -> ColumnInput:
    ends = sorted(draw(st.sets(st.integers(-50, 200), min_size=2, max_size=5)))
    labels = [f"{a}-{b - 1}" for a, b in pairwise(ends)] + [f"{ends[-1]}+"]
    named = {draw(TEXTS) + str(place): label for place, label in enumerate(labels)}
    fills = draw(st.one_of(st.just(""), TEXTS))
    return ColumnInput(
        column=draw(st.one_of(st.just(""), TEXTS)),
        bands=draw(st.sampled_from([(), labels, named])),
        codes=draw(st.dictionaries(TEXTS, TEXTS, max_size=3)),
        missing=draw(st.one_of(st.none(), st.lists(TEXTS, unique=True, max_size=3))),
        filled=fills,
        leave_out=False if fills else draw(st.booleans()),
        width=draw(st.integers(0, 20)),
    )


@st.composite
def tables(draw: st.DrawFn) -> TableInput:
    areas = {
        name: ColumnInput(column=draw(TEXTS), codes=draw(st.dictionaries(TEXTS, TEXTS, max_size=2)))
        for name in draw(st.sets(st.sampled_from(["unit", "level", "parent"])))
    }
    delimiter = draw(SIGNS)
    return TableInput(
        encoding=draw(st.sampled_from(["utf-8", "latin-1", "windows-1252", "utf-16", "mac-roman"])),
        delimiter=delimiter,
        decimal=draw(st.sampled_from([".", ","])),
        quote=draw(st.sampled_from(['"', "'", ""]).filter(lambda sign: not sign or sign != delimiter)),
        trim=draw(st.booleans()),
        ignore_case=draw(st.booleans()),
        missing=draw(st.lists(TEXTS, unique=True, max_size=4)),
        columns=draw(st.dictionaries(TEXTS, columns(), max_size=3)),
        areas=draw(st.one_of(st.none(), st.just(TableInput(trim=True, columns=areas)))),
    )


@settings(max_examples=50)
@given(tables())
def test_any_input_is_read_back_as_it_was_written(table: TableInput) -> None:
    assert input_from_toml("\n".join(input_lines(table))) == table


def test_it_is_no_part_of_what_is_released() -> None:
    plain, written = Release.from_toml(RELEASE), Release.from_toml(RELEASE + INPUT)
    assert plain == written
    assert hash(plain) == hash(written)
    assert written.input is not None
    assert written.to_toml(input=False) == plain.to_toml()
    texts = {Certificate.claim([one], epsilon=1, delta="1e-6").to_text() for one in (plain, written)}
    assert len(texts) == 1


def test_it_outlives_every_change_of_the_noise(tmp_path: Path) -> None:
    release = Release.from_toml(RELEASE + INPUT)
    for changed in (
        release.scaled(2),
        release.with_variances({"Land": 5}),
        release.for_people(3),
        Release.from_toml(release.to_toml()),
    ):
        assert changed.input == release.input
    file = tmp_path / "release.toml"
    file.write_text(RELEASE + INPUT, encoding="utf-8")
    out = tmp_path / "calibrated.toml"
    assert (
        run(["calibrate", str(file), "--epsilon", "1", "--delta", "1e-6", "--out", str(out), "--quiet"]) == 0
    )
    assert Release.from_toml(out.read_text(encoding="utf-8")).input == release.input


@pytest.mark.parametrize(
    ("bands", "ends"),
    [
        (["0-17", "18-64", "65+"], [(0, 18), (18, 65), (65, None)]),
        (["under 5", "5 to 9", "10 and over"], [(None, 5), (5, 10), (10, None)]),
        (["<18", ">=18"], [(None, 18), (18, None)]),
        (["up to 17", "18–64", "65 or more"], [(None, 18), (18, 65), (65, None)]),
        (["0.0-0.9", "1.0-1.9"], [(0, 1), (1, 2)]),
        (["-5--1", "0"], [(-5, 0), (0, 1)]),
        (["unter 18", "ab 18"], [(None, 18), (18, None)]),
        ({"old": "65+", "young": "0-64"}, [(0, 65), (65, None)]),
    ],
)
def test_how_bands_are_written(bands: object, ends: list[tuple[int | None, int | None]]) -> None:
    assert [(one.lower, one.upper) for one in read_bands(bands)] == ends  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bands", [["0-17", "17+"], ["0-17", "19+"], ["1,000-1,999"], ["17-0"], ["all"], ["1+", "2+"]]
)
def test_bands_that_are_refused(bands: list[str]) -> None:
    with pytest.raises(InputError):
        read_bands(bands)
