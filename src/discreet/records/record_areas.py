"""The table of areas beside records: the tree of a release, as `[input.areas]` says that it is written."""

from __future__ import annotations

from discreet.areas.layout import nested_tree, read_units, tree_of
from discreet.areas.tree import Tree
from discreet.budget import Release
from discreet.errors import InputError
from discreet.records.input import TableInput
from discreet.records.record_columns import NO_TEXT, read_records
from discreet.tables import Problems, TableSource


def areas_of_levels(units: TableSource) -> tuple[tuple[str, str, str], ...]:
    """Return all areas of a table, from the top: unit, level and parent, which is empty at the top.

    >>> import pyarrow
    >>> rows = {"unit": ["Bern", "All"], "level": ["Town", "Land"], "parent": ["All", ""]}
    >>> areas_of_levels(pyarrow.table(rows))
    (('All', 'Land', ''), ('Bern', 'Town', 'All'))
    """
    listed = read_units(units)
    tree = tree_of(listed, None, once=True)
    names = tree.names.to_pylist()
    return tuple(
        (name, tree.levels[kind], names[parent] if parent >= 0 else "")
        for name, kind, parent in zip(names, tree.kind.tolist(), tree.parent.tolist(), strict=True)
    )


def areas_of_release(
    release: Release,
    units: TableSource,
    lengths: list[int] | None,
    how: TableInput,
    problems: Problems,
) -> Tree | None:
    """Read the table of areas and make a tree of it, if it is one; else what is wrong is on the list."""
    listed = read_records(
        units,
        how,
        values=dict.fromkeys(("unit",) if lengths is not None else ("unit", "level"), ()),
        optional=() if lengths is not None else ("parent",),
        name="units",
        of="areas",
        missing=NO_TEXT,
        problems=problems,
    ).table
    if not listed.usable or problems:
        return None
    before = problems.count
    try:
        if lengths is None:
            return tree_of(listed, release, once=True)
        return nested_tree(listed, release, lengths)
    except InputError as error:
        if problems.count == before:
            problems.say(str(error))
        return None
