"""Attributes of a release: queries as products, and what is wrong with them in one line."""

from __future__ import annotations

import pytest

from discreet.budget import Attributes, Recode, Release, load
from discreet.errors import InputError

HEAD = 'name = "x"\nneighbours = "bounded"\n[attributes]\n'
LEVEL = '\n[[levels]]\nname = "N"\n[levels.queries]\n"{}" = {{ variance = 1 }}\n'


def release(attributes: str, query: str = "total") -> Release:
    return Release.from_toml(HEAD + attributes + LEVEL.format(query), where="x.toml")


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
