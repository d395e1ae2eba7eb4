"""Noisy measurements as the US Census Bureau publishes them, read as they are.

A directory has for each level a Parquet file or folder `LEVEL.parquet` with parts anywhere below it: one row
a unit and query with `geocode`, `query_name` (the name of the query and a suffix), `query_shape`, `value` (a
list of integers, in C order of the query's attributes) and `variance`. Parts with a column `sign` in place of
the variance are constraints. Geocodes nest by prefix. The files of the nation have trillions of numbers, so
they are scanned in batches, and only the part of the tree that is wanted is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes, Release
from discreet.errors import InputError
from discreet.estimation.model import noises
from discreet.estimation.tree import Integers, Tree
from discreet.noise import DiscreteGaussian, Noise
from discreet.release.hierarchy.arrow import arrow, strings
from discreet.release.hierarchy.layout import Listing, arrange
from discreet.release.hierarchy.noisy import Exact, Published

BATCH = 1 << 13
"""Rows (each a unit and query) that are read at a time."""

QUERIES = ("geocode", "query_name", "query_shape", "value", "variance")
CONSTRAINTS = ("geocode", "query_name", "value", "sign")


def is_bureau(source: Path) -> bool:
    """Whether a directory has files by level, such as `State.parquet`, and no output of `measure`."""
    if not source.is_dir() or any(source.glob("measurements.*")):
        return False
    return any(one.is_dir() or "geocode" in _columns(one) for one in source.glob("*.parquet"))


def _columns(file: Path) -> list[str]:
    pa = arrow()
    try:
        names: list[str] = arrow("parquet").read_schema(file).names
    except (pa.ArrowInvalid, OSError):
        raise InputError(f"{file.name} cannot be read as Parquet") from None
    return names


@dataclass(frozen=True)
class _Files:
    """The parts of one level."""

    level: str
    queries: tuple[Path, ...]
    constraints: tuple[Path, ...]

    def scan(self, columns: Sequence[str], within: str, *, constraints: bool = False) -> Iterator[Any]:
        """Yield batches of rows of units whose geocode begins so."""
        ds, pc = arrow("dataset"), arrow("compute")
        files = self.constraints if constraints else self.queries
        if not files:
            return
        dataset = ds.dataset([str(file) for file in files], format="parquet")
        code = ds.field("geocode").cast(arrow().string())
        # the bounds let whole row groups be skipped; the prefix decides
        wanted = (ds.field("geocode") >= within) & pc.starts_with(code, pattern=within) if within else None
        yield from dataset.to_batches(columns=list(columns), filter=wanted, batch_size=BATCH)


def read_bureau(source: Path, release: Release, *, within: str | None = None) -> Published:
    """Read the part of the Bureau's files that lies within a unit, or all of it."""
    if release.attributes is None:
        raise InputError(f"release {release.name!r} states no attributes, so its queries mean nothing here")
    attributes, prefix = release.attributes, within or ""
    files = _levels(source, release)
    names = _Names(release, attributes)
    units, told = _units(files, names, prefix)
    tree, place = _tree(files, units, prefix, source)
    kinds, kind = _kinds(release, files, told, place, tree)
    found = Bureau(files, tree, names, kinds, attributes, prefix)
    exact, left = _constraints(files, tree, names, prefix)
    origin = {"role": "measurements", "layout": "Census Bureau", "levels": [one.level for one in files]}
    if within is not None:
        origin["within"] = within
    return Published(tree, attributes, {}, found, exact, "parquet", False, origin, kind, left_out=left)


def _levels(source: Path, release: Release) -> list[_Files]:
    """Find the parts of each level that the release has, from the top down."""
    known = {one.stem.lower().replace(" ", "_"): one for one in sorted(source.glob("*.parquet"))}
    found = []
    for level in release.levels:
        place = known.pop(level.name.lower().replace(" ", "_"), None)
        if place is None:
            continue
        parts = sorted(place.rglob("*.parquet")) if place.is_dir() else [place]
        queries: list[Path] = []
        constraints: list[Path] = []
        for part in parts:
            if part.is_dir():
                continue
            have = _columns(part)
            kind, due = (constraints, CONSTRAINTS) if "sign" in have else (queries, QUERIES)
            missing = [name for name in due if name not in have]
            if missing:
                raise InputError(
                    f"{part.relative_to(source)} has no column {missing[0]}; it must have {', '.join(due)}"
                )
            kind.append(part)
        if queries:
            found.append(_Files(level.name, tuple(queries), tuple(constraints)))
    if known:
        raise InputError(
            f"{source} has {', '.join(sorted(one.name for one in known.values()))}, which is no level of "
            f"release {release.name!r}; it has {', '.join(one.name for one in release.levels)}"
        )
    if not found:
        raise InputError(f"there are no measurements in {source}")
    return found


class _Names:
    """The queries that stand in the files, by what they are called there: a name and perhaps a suffix."""

    def __init__(self, release: Release, attributes: Attributes) -> None:
        self._attributes = attributes
        self._known = dict.fromkeys(query.name for level in release.levels for query in level.queries)
        self._found: dict[str, str | None] = {}

    def query(self, text: str) -> str | None:
        """Return the query of a name, or None."""
        if text not in self._found:
            plain = {one.replace(" ", ""): one for one in self._known}
            bare = text.replace(" ", "")
            fitting = [one for one in plain if bare == one or bare.startswith((f"{one}_", f"{one}-"))]
            self._found[text] = plain[max(fitting, key=len)] if fitting else None
        return self._found[text]

    def cells(self, query: str) -> int:
        """Return the number of cells of a query."""
        return self._attributes.tabulation(query).cells

    def rows(self, batch: Any, query: str, which: Integers, file: str) -> NDArray[Any]:
        """Return the values of some rows of a batch, all of one query, in the order of the attributes."""
        table = self._attributes.tabulation(query)
        column = batch.column("value").take(arrow().array(which))
        length = arrow("compute").list_value_length(column).to_numpy(zero_copy_only=False)
        if (length != table.cells).any():
            wrong = length[length != table.cells][0]
            raise InputError(
                f"query {query!r} has {wrong:g} values in {file}; the attributes give it {table.cells} cells"
            )
        if "query_shape" in batch.schema.names:
            self._check_shape(batch, query, which, file)
        values = column.flatten()
        if values.null_count:
            raise InputError(f"query {query!r} has values that are missing in {file}")
        found: NDArray[Any] = values.to_numpy(zero_copy_only=False).reshape(-1, table.cells)
        return found

    def _check_shape(self, batch: Any, query: str, which: Integers, file: str) -> None:
        table = self._attributes.tabulation(query)
        due = [len(groups) for groups in table.by_attribute if len(groups) > 1]
        shape = batch.column("query_shape")[int(which[0])].as_py()
        if isinstance(shape, str):
            shape = [int(part) for part in shape.strip("()[] ").replace(" ", "").split(",") if part]
        given = [int(one) for one in shape or () if int(one) > 1]
        if given != due:
            raise InputError(
                f"query {query!r} has shape {shape} in {file}; the attributes give it {tuple(due) or (1,)}"
            )


def _units(files: Sequence[_Files], names: _Names, prefix: str) -> tuple[list[Any], list[Any]]:
    """Return for each level the geocodes, and what its units were asked: unit, query, variance."""
    units, told = [], []
    for one in files:
        codes: dict[str, int] = {}
        rows: dict[tuple[int, str], float] = {}
        for batch in one.scan(["geocode", "query_name", "variance"], prefix):
            if any(batch.column(name).null_count for name in ("geocode", "query_name", "variance")):
                raise InputError(f"a row of {one.level}.parquet has no geocode, query or variance")
            for code, name, size in zip(
                batch.column("geocode").cast(arrow().string()).to_pylist(),
                batch.column("query_name").to_pylist(),
                batch.column("variance").cast(arrow().float64()).to_pylist(),
                strict=True,
            ):
                query = names.query(name)
                if query is None:
                    raise InputError(
                        f"{one.level}.parquet has the query {name!r}, which is none of the release's"
                    )
                if not 0.0 < size < float("inf"):
                    raise InputError(f"a variance of query {name!r} in {one.level}.parquet is not above zero")
                key = (codes.setdefault(code, len(codes)), query)
                if key in rows:
                    raise InputError(f"query {name!r} occurs twice for one unit of {one.level}.parquet")
                rows[key] = size
        units.append(list(codes))
        told.append(rows)
    return units, told


def _tree(
    files: Sequence[_Files], units: Sequence[list[str]], prefix: str, source: Path
) -> tuple[Tree, list[Integers]]:
    """Return the tree, and for each level the place of each of its units in it."""
    first = next((place for place, codes in enumerate(units) if codes), None)
    if first is None:
        raise InputError(f"{source} has no unit whose geocode begins with {prefix!r}")
    if prefix and prefix not in units[first]:
        raise InputError(f"{source} has no unit {prefix!r}; within must be the geocode of a unit")
    names: list[str] = []
    levels: list[int] = []
    parents: list[int] = []
    above: dict[str, int] = {}
    for place in range(first, len(files)):
        if not units[place]:
            raise InputError(f"{files[place].level}.parquet has no unit within {prefix!r}")
        here = {}
        for code in units[place]:
            ahead = (above[code[:n]] for n in range(len(code), -1, -1) if code[:n] in above)
            # the top need not be a prefix
            parent = next(ahead, next(iter(above.values())) if len(above) == 1 else -1)
            if above and parent < 0:
                raise InputError(
                    f"a unit of {files[place].level}.parquet lies in no unit of "
                    f"{files[place - 1].level}.parquet: its geocode has none of theirs as its beginning"
                )
            here[code] = len(names)
            names.append(code)
            levels.append(place - first)
            parents.append(parent)
        above = here
    tree, rank = arrange(
        Listing(
            strings(names),
            tuple(one.level for one in files[first:]),
            np.array(levels, dtype=np.int32),
            np.array(parents, dtype=np.int32),
            np.zeros(len(names), dtype=np.int64),
        )
    )
    early = np.flatnonzero(tree.leaf[: tree.starts[-1]])
    if early.size:
        raise InputError(
            f"a unit of {tree.levels[tree.kind[early[0]]]}.parquet has no unit below it; each must have all "
            "of its children"
        )
    return tree, np.split(rank, np.cumsum([len(codes) for codes in units])[:-1])


def _kinds(
    release: Release,
    files: Sequence[_Files],
    told: Sequence[Mapping[Any, float]],
    place: Sequence[Integers],
    tree: Tree,
) -> tuple[list[dict[str, Noise]], Integers]:
    """Return the laws of each kind of unit, told apart by queries and variances, and each unit's kind."""
    known = noises(release)
    by_unit: list[dict[str, float]] = [{} for _ in range(tree.size)]
    for rows, at in zip(told, place, strict=True):
        for (unit, query), size in rows.items():
            by_unit[at[unit]][query] = size
    numbers: dict[tuple[Any, ...], int] = {}
    kind = np.zeros(tree.size, dtype=np.int64)
    for unit, sizes in enumerate(by_unit):
        kind[unit] = numbers.setdefault((int(tree.kind[unit]), *sorted(sizes.items())), len(numbers))
    laws: list[dict[str, Noise]] = []
    for level, *asked in numbers:
        mine: dict[str, Noise] = {}
        for query, size in asked:
            law = known.get((tree.levels[level], query))
            same = law is not None and law.is_gaussian and abs(float(law.size) / size - 1) < 1e-6
            mine[query] = law if same and law else DiscreteGaussian(Fraction(size).limit_denominator(10**9))
        laws.append(mine)
    return laws, kind


def _constraints(
    files: Sequence[_Files], tree: Tree, names: _Names, prefix: str
) -> tuple[Exact, tuple[str, ...]]:
    """Return the counts that are exact, and what is left out: bounds, and sums that are no query."""
    pc = arrow("compute")
    exact: dict[str, tuple[list[int], list[Any]]] = {}
    left: dict[str, int] = {}
    for one in files:
        if one.level not in tree.levels:
            continue
        mine = np.flatnonzero(tree.kind == tree.levels.index(one.level))
        codes = tree.names.take(arrow().array(mine))
        for batch in one.scan(CONSTRAINTS, prefix, constraints=True):
            place = pc.index_in(batch.column("geocode").cast(arrow().string()), value_set=codes)
            for row, (unit, name, sign) in enumerate(
                zip(
                    [None if at is None else int(mine[at]) for at in place.to_pylist()],
                    batch.column("query_name").to_pylist(),
                    batch.column("sign").to_pylist(),
                    strict=True,
                )
            ):
                query = names.query(name)
                if sign not in ("=", "==") or query is None or unit is None:
                    text = f"constraint {name!r} ({sign}) at {one.level}"
                    left[text] = left.get(text, 0) + 1
                    continue
                rows = names.rows(batch, query, np.array([row]), f"{one.level}.parquet")
                exact.setdefault(query, ([], []))
                exact[query][0].append(unit)
                exact[query][1].append(rows[0])
    found: Exact = {}
    for query, (who, counts) in exact.items():
        order = np.argsort(who)
        found[query] = np.array(who, dtype=np.int64)[order], np.array(counts, dtype=np.int64)[order]
    return found, tuple(f"{text}, {many} times" for text, many in left.items())


class Bureau:
    """The noisy counts, scanned in batches as often as they are needed."""

    in_order = False

    def __init__(
        self,
        files: Sequence[_Files],
        tree: Tree,
        names: _Names,
        laws: Sequence[Mapping[str, Noise]],
        attributes: Attributes,
        prefix: str,
    ) -> None:
        self._files, self._tree, self._names, self._prefix = files, tree, names, prefix
        self.laws = laws
        self.cells = {query: attributes.tabulation(query).cells for one in laws for query in one}

    def read(self, units: slice) -> Iterator[tuple[str, Integers, NDArray[Any]]]:
        """Yield what these units were measured, in the order of the files."""
        tree, pc = self._tree, arrow("compute")
        for one in self._files:
            # by level: a code may come again where one unit is the whole of another
            level = tree.levels.index(one.level) if one.level in tree.levels else -1
            mine = np.append(np.flatnonzero(tree.kind[units] == level) + units.start, -1)
            if len(mine) == 1:
                continue
            wanted = tree.names.take(arrow().array(mine[:-1]))
            for batch in one.scan(["geocode", "query_name", "query_shape", "value"], self._prefix):
                code = pc.index_in(batch.column("geocode").cast(arrow().string()), value_set=wanted)
                unit = mine[code.fill_null(len(mine) - 1).to_numpy(zero_copy_only=False)]
                coded = batch.column("query_name").dictionary_encode()
                of = coded.indices.to_numpy(zero_copy_only=False)
                for number, name in enumerate(coded.dictionary.to_pylist()):
                    which = np.flatnonzero((of == number) & (unit >= 0))
                    if not which.size:
                        continue
                    query = self._names.query(name)
                    assert query is not None
                    which = which[np.argsort(unit[which], kind="stable")]
                    rows = self._names.rows(batch, query, which, f"{one.level}.parquet")
                    yield query, unit[which], rows
