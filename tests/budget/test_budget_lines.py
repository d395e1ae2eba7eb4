"""The scanner that finds the line of a key, compared with what `tomllib` reads."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.budget import load_preset, preset_names
from discreet.budget.toml_lines import Place, key_lines, nearest_line

HARD = (
    """# a comment with [brackets] = "and quotes
first = "a # not a comment"
"quoted key" = 'it"""
    + """'
'literal.key' = 1979-05-27 07:32:00
dotted.name.here = true
"esc\\u0061ped \\"x\\"" = 1
text = \"\"\"
[not a table]
key = "no"
ends in two quotes\"\"\"\"\"
raw = '''
[[neither]] \\ ''''
list = [ # comment ]
  "one", [1, 2],
  { a = 1, "b]" = [3] },   # }
]
[table]
x = { y = { z = 0 }, w = "}" }
[[many]]
a = 1
[many.sub."deep key"]
b = 2
[[many]]
a = 3
[[many.nested]]
c = 4
[[many.nested]]
c = 5
last = 6"""
)


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    if at:
        yield at
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*at, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from places(item, (*at, number))


def test_hard_text_line_by_line() -> None:
    lines = key_lines(HARD)
    rows = HARD.split("\n")
    for place, start in {
        ("first",): "first",
        ("quoted key",): '"quoted',
        ("literal.key",): "'literal",
        ("dotted", "name", "here"): "dotted",
        ('escaped "x"',): '"esc',
        ("text",): "text",
        ("raw",): "raw",
        ("list",): "list",
        ("list", 1): '  "one"',
        ("list", 2, "b]"): "  { a",
        ("table", "x", "y", "z"): "x = {",
        ("many", 0, "sub", "deep key", "b"): "b = 2",
        ("many", 1, "a"): "a = 3",
        ("many", 1, "nested", 1, "c"): "c = 5",
        ("many", 1, "nested", 1, "last"): "last = 6",
    }.items():
        assert rows[lines[place] - 1].startswith(start), place


def test_hard_text_has_every_key_and_no_other() -> None:
    assert set(key_lines(HARD)) | {("many",), ("many", 1, "nested")} == set(places(tomllib.loads(HARD)))


@pytest.mark.parametrize("name", preset_names())
def test_presets_have_every_key(name: str) -> None:
    text = load_preset(name).to_toml()
    assert set(key_lines(text)) == set(places(tomllib.loads(text)))


words = st.text("ab.#='\"[]{},\\ +é", max_size=6)
values = st.recursive(
    st.one_of(st.integers(0, 9), st.booleans(), words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=8,
)


def written(value: Any, gap: str) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{written(key, '')} = {written(item, gap)}" for key, item in value.items())
            + " }"
        )
    if isinstance(value, list):
        return "[" + gap + f", {gap}".join(written(item, gap) for item in value) + gap + "]"
    return str(value).lower()


@given(st.dictionaries(words, values, max_size=5), st.sampled_from(["", "\n", " # ]}\n  ", "\n\n\t"]))
def test_random_text_has_every_key_on_its_line(data: dict[str, Any], gap: str) -> None:
    inline = any(isinstance(item, dict) for item in data.values())
    gap = "" if inline else gap  # TOML 1.0 has no line breaks within an inline table
    text = ""
    wanted = {}
    for key, value in data.items():
        wanted[(key,)] = text.count("\n") + 1
        text += f"{written(key, '')} = {written(value, gap)}\n"
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError:  # an inline table within a list with gaps
        return
    assert read == data
    lines = key_lines(text)
    assert set(lines) == set(places(data))
    assert {place: lines[place] for place in wanted} == wanted


def test_the_nearest_place_around_is_taken() -> None:
    lines = key_lines('a = 1\n[b]\nc = "x"\n')
    assert nearest_line(lines, ("b", "missing", 3)) == 2
    assert nearest_line(lines, ("b", "c")) == 3
    assert nearest_line(lines, ("nowhere",)) is None
