"""TOML in and out without loss, and errors that name the line."""

from __future__ import annotations

import re
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


ERRORS = [
    # syntax
    ('title = "A small release"', "title = A small release", "not valid TOML: Invalid value", 2),
    ('name = "small"', 'name "small"', "not valid TOML: Expected '=' after a key", 1),
    ('unit = "person"', 'name = "twice"', "not valid TOML: Cannot overwrite a value", 3),
    ('2 = ["State+County"]\n', '2 = ["State+County"', "not valid TOML: Unclosed array", 27),
    # the release
    ('title = "A', 'titel = "A', "the release has the unknown key 'titel'; did you mean \"title\"?", 2),
    ('title = "A', 'colour = "A', "the release has the unknown key 'colour'; allowed are name, title", 2),
    ('name = "small"\n', "", "the release has no name; it must state one", None),
    ('neighbours = "bounded"\n', "", "the release has no neighbours; it must state one", None),
    ('name = "small"', "name = 5", "name of the release is 5; it must be a string in quotes", 1),
    ('name = "small"', 'name = ""', "name of the release is empty", 1),
    ('title = "A', 'title = "\\nA', "title is '\\nA small release'; it must be one line", 2),
    ('"person"', '"persn"', 'unit is \'persn\'; it must be "person" or "household" or', 3),
    ('"bounded"', '"unbound"', 'neighbours is \'unbound\'; it must be "bounded" or "unbounded"', 4),
    (
        'rho = "3/4"',
        "rho = 0.75",
        "rho of the release is the float 0.75, which is not exactly what it looks like",
        5,
    ),
    ('rho = "3/4"', "rho = nan", "rho of the release is nan; it must be a finite number above zero", 5),
    ('rho = "3/4"', "rho = -inf", "rho of the release is -inf; it must be a finite number above zero", 5),
    (
        'rho = "3/4"',
        'rho = "7/8"',
        "rho of the release is 7/8, but its levels add up to 3/4; both must agree",
        5,
    ),
    ('rho = "3/4"', "rho = true", "rho of the release is True; an exact number", 5),
    ('rho = "3/4"', "rho = 1979-05-27", "rho of the release is of type date", 5),
    ('["somewhere"]', '"somewhere"', "sources is 'somewhere'; it must be a list of texts in quotes", 6),
    ('  "second"', "  2", "item of notes is 2; it must be a string in quotes", 9),
    # levels
    ('name = "County"', 'name = "State"', "release 'small' has 'State' twice", 19),
    ('name = "County"', 'nam = "County"', "a level has the unknown key 'nam'; did you mean \"name\"?", 20),
    ('name = "County"\n', "", "a level has no name; it must state one", 19),
    ('name = "County"', 'name = "Coun+ty"', "level 'Coun+ty' has a + in its name", 20),
    ('rho = "1/2"', 'rho = "-1/10"', "rho of level 'State' is -1/10; it must be above zero", 14),
    ('rho = "1/2"', "rho = 0.5", "rho of level 'State' is the float 0.5", 14),
    ('rho = "1/2"', "rho = 0", "rho of level 'State' is 0; it must be above zero", 14),
    ('rho = "1/2"', 'rho = "half"', "rho of level 'State' is 'half'; an exact number such as 5", 14),
    ('rho = "1/2"\n', "", "query 'total' is '1/4'; it must be a table such as { variance", 15),
    ('name = "County"\n', 'name = "County"\nrho = "1/3"\n', "but it has queries that add up to 1/4", 21),
    ('[levels.queries]\n"total" = { rho', 'queries = 5\n[levels.x]\n"total" = { rho', "unknown key 'x'", 22),
    (
        GOOD[GOOD.rindex("[levels") : GOOD.index("\n[spine")],
        "queries = 5\n",
        "queries of a level is 5; it must be a",
        21,
    ),
    # queries
    (
        '"total" = "1/4"',
        '"total" = "1/5"',
        "shares of the queries of level 'State' add up to 19/20; they must add",
        15,
    ),
    ('"total" = "1/4"', '"total" = 0.25', "share of query 'total' is the float 0.25", 16),
    ('"total" = "1/4"', '"total" = ["1/4"]', "query 'total' is of type list; it must be a table such as", 16),
    ('"total" = "1/4"', '"total" = { variance = "1/4" }', "states a variance where others state a share", 16),
    (
        "groups = 2",
        "group = 2",
        "query 'age by sex' has the unknown key 'group'; did you mean \"groups\"?",
        17,
    ),
    (
        "groups = 2",
        "groups = 0",
        "groups of query 'age by sex' is 0; it must be a whole number above zero",
        17,
    ),
    ("groups = 2", "groups = true", "groups of query 'age by sex' is True; it must be a whole number", 17),
    ("groups = 2", 'groups = "2"', "groups of query 'age by sex' is '2'; it must be a whole number", 17),
    ("groups = 2", "groups = 0x" + "f" * 5000, "groups of query 'age by sex' is 3.98027e+6020", 17),
    ("groups = 2", "groups = " + "9" * 5000, "not usable TOML: a number has thousands of digits", None),
    ("variance = 8", 'variance = "-8"', "variance of query 'age by sex' is -8; it must be above zero", 23),
    ("variance = 8", "variance = 0", "variance of query 'age by sex' is 0; it must be above zero", 23),
    ("variance = 8", 'variance = "inf"', "variance of query 'age by sex' is 'inf'; an exact number", 23),
    ("variance = 8", 'variance = "1/0"', "variance of query 'age by sex' is '1/0', a division by zero", 23),
    ("variance = 8", 'variance = "1e2000"', "variance of query 'age by sex' is too long", 23),
    (
        "variance = 8",
        'variance = 8, scale = "1"',
        "query 'age by sex' states variance and scale; it must state",
        23,
    ),
    (
        "variance = 8",
        "groups = 3",
        "query 'age by sex' states no noise; it must state exactly one of share, rho,",
        23,
    ),
    ("variance = 8", "scale = 8", "rho of the release is 3/4, but level 'County' has Laplace noise", 5),
    ("{ variance = 8, sensitivity = 1 }", '"1/8"', "query 'age by sex' is '1/8'; it must be a table", 23),
    ('"age by sex" = { variance = 8, sensitivity = 1 }', '"total".x = 3', "not valid TOML", 23),
    # spine
    (
        "[spine.paths]",
        "[spines.paths]",
        "the release has the unknown key 'spines'; did you mean \"spine\"?",
        25,
    ),
    ("[spine.paths]", "[spine.path]", "the spine has the unknown key 'path'; did you mean \"paths\"?", 25),
    (
        "[spine.paths]",
        "[spine]\nmay_merge_up = 5\n[spine.paths]",
        "may_merge_up is 5; it must be a list of levels",
        26,
    ),
    (
        "[spine.paths]",
        '[spine]\nmay_merge_up = ["County"]\n[spine.paths]',
        "the spine states both of paths",
        25,
    ),
    ('2 = ["State+County"]', 'two = ["State+County"]', "path 'two' has no usable number", 27),
    ('2 = ["State+County"]', '02 = ["State+County"]', "path '02' has no usable number", 27),
    ('2 = ["State+County"]', '2 = "State+County"', "path 2 is 'State+County'; it must be a list", 27),
    ('2 = ["State+County"]', '2 = ["State", 5]', "run of path 2 is 5; it must be a string", 27),
    ('2 = ["State+County"]', '2 = ["County+State"]', "path 2 has level 'County' where 'State' belongs", 27),
    ('2 = ["State+County"]', '2 = ["State"]', "path 2 has level 'County' not at all; it must have each", 27),
    ('2 = ["State+County"]', '2 = ["State", "County"]', "path 2 is the same as path 1", 27),
    (
        '2 = ["State+County"]',
        '2 = ["State+Conty"]',
        "path 2 names 'Conty', which is not a level; did you mean",
        27,
    ),
]


@pytest.mark.parametrize(("old", "new", "message", "line"), ERRORS)
def test_errors_are_one_line_and_name_the_place(old: str, new: str, message: str, line: int | None) -> None:
    assert GOOD.count(old) >= 1
    at = GOOD.rindex(old) if old.startswith(('name = "County"', "[levels")) else GOOD.index(old)
    text = GOOD[:at] + new + GOOD[at + len(old) :]
    with pytest.raises(InputError) as caught:
        Release.from_toml(text, where="small.toml")
    found = str(caught.value)
    assert message in found
    assert "\n" not in found
    assert len(found) < 400
    place = "small.toml)" if line is None else f"line {line}"
    assert place in found.rpartition("(")[2]
    assert "small.toml" in found.rpartition("(")[2]
    if line is not None:
        assert re.search(r"line (\d+)", found.rpartition("(")[2])[1] == str(line)  # type: ignore[index]


def test_a_flaw_of_a_query_names_its_level() -> None:
    with pytest.raises(InputError, match=r"above zero \(level 'County', line 23 of small.toml\)$"):
        Release.from_toml(GOOD.replace("variance = 8", "variance = -8"), where="small.toml")


def test_brackets_without_end() -> None:
    with pytest.raises(InputError, match=r"^not valid TOML: .*x.toml\)$"):
        Release.from_toml("a = " + "[" * 100_000, where="x.toml")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "levels = []",
        'name="a"\nneighbours="bounded"\nlevels = [5]',
        'name="a"\nneighbours="bounded"\nlevels=5',
    ],
)
def test_little_files(text: str) -> None:
    with pytest.raises(InputError, match=r"\((line \d of )?the TOML text\)$"):
        Release.from_toml(text)


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
    laplace = any(level.has_laplace for level in made)
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
