"""TOML in and out without loss, and errors that name the line."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.budget import Level, Query, Release, Spine, load_preset, preset_names
from discreet.errors import InputError

GOOD = """\
name = "small"
title = "A small release"
unit = "person"
neighbours = "bounded"
rho = "3/4"
sources = ["somewhere"]
notes = [
  "first",
  "second",
]

[[levels]]
name = "State"
rho = "1/2"
[levels.queries]
"total" = "1/4"
"age by sex" = { share = "3/4", groups = 2 }

[[levels]]
name = "County"
[levels.queries]
"total" = { rho = "1/8" }
"age by sex" = { variance = 8, sensitivity = 1 }

[spine.paths]
1 = ["State", "County"]
2 = ["State+County"]
"""


def test_the_good_file_is_good() -> None:
    release = Release.from_toml(GOOD, where="small.toml")
    assert (release.name, release.title, release.unit) == ("small", "A small release", "person")
    assert (release.neighbours, release.rho) == ("bounded", Fraction(3, 4))
    assert (release.sources, release.notes) == (("somewhere",), ("first", "second"))
    assert [row.variance for row in release.variance_table()] == [8, Fraction(16, 3), 8, 8]
    assert Release.from_toml(release.to_toml()) == release


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parent / "samples").glob("*.toml")), ids=lambda p: p.stem
)
def test_files_of_the_first_version_are_read_as_the_same_releases(path: Path) -> None:
    old, now = Release.from_toml(path.read_text(encoding="utf-8")), load_preset(path.stem)
    if now.join is not None:  # it protects households now; the noise is the same
        assert old.unit == "person"
        sizes = [Counter(row.variance for row in one.variance_table()) for one in (old, now)]
        assert sizes[0] == sizes[1]
        return
    assert (old.name, old.unit, old.neighbours, old.levels) == (
        now.name,
        now.unit,
        now.neighbours,
        now.levels,
    )
    assert (old.paths, old.main) == (now.paths, now.main)
    for number in old.paths:
        assert old.runs(number) == now.runs(number)
        assert old.path_events(number) == now.path_events(number)


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_files_of_other_systems(change: object) -> None:
    assert Release.from_toml(change(GOOD)) == Release.from_toml(GOOD)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("0x" + "f" * 5000, "groups of query 'age by sex' is 3.98027e+6020"),
        ("9" * 5000, "not usable TOML: a number has thousands of digits"),
    ],
)
def test_numbers_of_thousands_of_digits(number: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        Release.from_toml(GOOD.replace("groups = 2", f"groups = {number}"), where="small.toml")
    assert len(str(caught.value)) < 400


def test_brackets_without_end() -> None:
    with pytest.raises(InputError, match=r"^not valid TOML: .*x.toml\)$"):
        Release.from_toml("a = " + "[" * 100_000, where="x.toml")


texts = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=12).filter(
    str.strip
)
names = texts.filter(lambda text: "+" not in text).map(str.strip)
numbers = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6)
counts = st.integers(1, 20)


@st.composite
def levels(draw: st.DrawFn, name: str) -> Level:
    titles = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    if draw(st.booleans()):
        weights = draw(st.lists(st.integers(1, 9), min_size=len(titles), max_size=len(titles)))
        queries = [
            Query(
                name=title,
                share=Fraction(weight, sum(weights)),
                sensitivity=draw(counts),
                groups=draw(counts),
            )
            for title, weight in zip(titles, weights, strict=True)
        ]
        return Level(name=name, rho=draw(numbers), queries=queries)
    ways = draw(
        st.lists(st.sampled_from(["rho", "variance", "scale"]), min_size=len(titles), max_size=len(titles))
    )
    queries = [
        Query(name=title, sensitivity=draw(counts), groups=draw(counts), **{way: draw(numbers)})
        for title, way in zip(titles, ways, strict=True)
    ]
    return Level(name=name, queries=queries)


@st.composite
def releases(draw: st.DrawFn) -> Release:
    titles = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    made = [draw(levels(title)) for title in titles]
    neighbours = draw(st.sampled_from(["bounded", "unbounded"]))
    laplace = any(level.lacks_rho for level in made)
    rho = None
    if not laplace and draw(st.booleans()):
        rho = sum((level.spent(neighbours) for level in made), Fraction(0))  # type: ignore[arg-type]
    spine = None
    if not laplace and len(titles) > 1:
        listed = {
            draw(st.integers(1, 10**6)): ["+".join(run) for run in runs]
            for runs in Spine(may_merge_up=titles[1:]).resolve(titles).values()
            if draw(st.booleans())
        }
        spine = draw(
            st.sampled_from([None, Spine(may_merge_up=titles[1:]), Spine(paths=listed) if listed else None])
        )
    return Release(
        name=draw(texts),
        title=draw(st.one_of(st.just(""), texts)),
        unit=draw(st.sampled_from(["person", "household", "housing unit", "establishment"])),
        neighbours=neighbours,  # type: ignore[arg-type]
        rho=rho,
        levels=made,
        spine=spine,
        sources=draw(st.lists(texts, max_size=2)),
        notes=draw(st.lists(texts, max_size=2)),
    )


@settings(deadline=None)
@given(releases())
def test_round_trip_of_random_releases(release: Release) -> None:
    text = release.to_toml()
    again = Release.from_toml(text)
    assert again == release
    assert again.to_toml() == text
    assert again.paths == release.paths
    assert [again.path_events(path) for path in again.paths] == [
        release.path_events(path) for path in release.paths
    ]


@pytest.mark.parametrize("name", preset_names())
def test_round_trip_of_presets(name: str) -> None:
    release = load_preset(name)
    assert Release.from_toml(release.to_toml()) == release
    assert Release.from_toml(release.scaled("17/13").to_toml()) == release.scaled("17/13")


@settings(deadline=None)
@given(st.data())
def test_damaged_files_give_one_line_errors_or_a_release(data: st.DataObject) -> None:
    """Cut, repeat or swap a piece of a good file: whatever comes out is a release or an `InputError`."""
    start = data.draw(st.integers(0, len(GOOD)))
    end = data.draw(st.integers(start, min(len(GOOD), start + 20)))
    piece = data.draw(
        st.one_of(st.text(max_size=5), st.sampled_from(['"', "[", "]]", "{", "=", "0.5", "nan", "\n", "'"]))
    )
    try:
        release = Release.from_toml(GOOD[:start] + piece + GOOD[end:])
    except InputError as error:
        message = str(error)
    else:
        assert Release.from_toml(release.to_toml()) == release
        return
    assert len(message.splitlines()) == 1
    assert "the TOML text" in message
