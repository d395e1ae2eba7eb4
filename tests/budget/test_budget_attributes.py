"""Attributes of a release: queries as products, and what is wrong with them in one line."""

from __future__ import annotations

import pytest

from discreet.budget import Attributes, Recode, Release, load
from discreet.errors import InputError

HEAD = 'name = "x"\nneighbours = "bounded"\n[attributes]\n'
LEVEL = '\n[[levels]]\nname = "N"\n[levels.queries]\n"{}" = {{ variance = 1 }}\n'


def release(attributes: str, query: str = "total") -> Release:
    return Release.from_toml(HEAD + attributes + LEVEL.format(query), where="x.toml")


@pytest.mark.parametrize(
    ("attributes", "query", "said"),
    [
        ('age = ["a", "b"]', "aeg", "query 'aeg' names 'aeg', which is neither .* mean \"age\""),
        ('age = ["a", "b"]', "age * age", "splits attribute 'age' twice"),
        ('age = ["a", "a"]', "total", "attribute 'age' has 'a' twice; .*line 4 of x.toml"),
        ("age = []", "total", "attribute 'age' has no values"),
        ("age = 0", "total", "attribute 'age' is 0; it must be a whole number above zero"),
        ('age = "a"', "total", "attribute 'age' is 'a'; it must be a list of values"),
        ('total = ["a"]', "total", "an attribute is called 'total', which is a reserved name"),
        ('age = ["a*b"]', "total", "value of attribute 'age' is 'a\\*b'"),
        ("", "total", "attributes has no attribute"),
        (
            'age = ["a", "b"]\nold = { of = "age", groups = { x = ["a"] } }',
            "old",
            "recode 'old' leaves out \"b\" of 'age'; each value must be in one group .*line 5",
        ),
        (
            'age = ["a", "b"]\nold = { of = "age", groups = { x = ["a", "b"], y = ["b"] } }',
            "old",
            "recode 'old' has the value 'b' in 'x' and in 'y'",
        ),
        (
            'age = ["a", "b"]\nold = { of = "age", groups = { x = ["a", "c"] } }',
            "old",
            "recode 'old' has the value 'c', which 'age' does not have",
        ),
        ('age = ["a", "b"]\nold = { of = "sex", groups = {} }', "old", "is of 'sex', which is not"),
        ('age = ["a", "b"]\nold = { groups = {} }', "old", "must name its attribute"),
        ('age = ["a", "b"]\nold = { of = "age", group = {} }', "old", "unknown key 'group'"),
        (
            'age = ["a"]\nimpossible = [{ age = ["b"] }]',
            "age",
            "has the value 'b', which 'age' does not have",
        ),
        ('age = ["a"]\nimpossible = [{ sex = ["b"] }]', "age", "names 'sex', which is not an attribute"),
        ('age = ["a", "b"]\nimpossible = [{ age = [] }]', "age", "combination has no values of 'age'"),
        ('age = ["a"]\nimpossible = [3]', "age", "impossible is of type list; it must be a list of tables"),
    ],
)
def test_errors_are_one_line_that_says_where(attributes: str, query: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        release(attributes, query)
    assert "\n" not in str(error.value)
    assert "x.toml" in str(error.value)


def test_toml_comes_back() -> None:
    text = 'sex = ["f", "m"]\nage = 4\nimpossible = [{ age = ["0"], sex = ["m"] }]\n'
    text += '[attributes.old]\nof = "age"\n[attributes.old.groups]\nx = ["0", "3"]\ny = ["1", "2"]\n'
    made = release(text, "old * sex")
    assert Release.from_toml(made.to_toml()) == made
    assert made.scaled(2).attributes == made.attributes
    table = made.attributes.tabulation("old * sex") if made.attributes else None
    assert table is not None
    assert table.by_attribute == (((0,), (1,)), ((0, 3), (1, 2)))
    assert list(table.labels) == ["x * f", "x * m", "y * f", "y * m"]


def test_census_attributes() -> None:
    """Sizes of the 2020 PL 94-171 schemas: 8 x 2 x 2 x 63 cells of persons, 2 of housing units."""
    for name in ("pl94-2020-persons", "pl94-2020-persons-pr"):
        found = load(name).attributes
        assert found is not None
        assert found.sizes == (8, 2, 2, 63)
        assert [len(g) for g in found.tabulation("hhinstlevels").by_attribute[0]] == [1, 4, 3]
    units = load("pl94-2020-units").attributes
    assert units is not None
    assert units.cells == 2


def test_sums_of_cells_are_for_estimates_only() -> None:
    people = Attributes(
        {"age": ["a", "b", "c"]}, recodes={"old": Recode("age", {"x": ["a", "b"], "y": ["c"]})}
    )
    assert people.tabulation("some = age[a | c]", sums=True).by_attribute == (((0, 2),),)
    assert people.tabulation("old[x]", sums=True).by_attribute == (((0, 1),),)
    assert not people.tabulation("old[x]", sums=True).is_covering
    with pytest.raises(InputError, match="brackets"):
        people.tabulation("age[a]")
    with pytest.raises(InputError, match="names the value 'd' of 'age'"):
        people.tabulation("age[d]", sums=True)
    with pytest.raises(InputError, match="twice"):
        people.tabulation("age[a | a]", sums=True)
