"""Noisy measurements as the US Census Bureau publishes them, read as they are.

A directory has for each level a Parquet file or folder `LEVEL.parquet` with parts anywhere below it: one row
a unit and query with `geocode`, `query_name` (the name of the query and a suffix), `query_shape`, `value` (a
list of integers, in C order of the query's attributes) and `variance`. Parts with a column `sign`, or in a
folder `Constraint`, are constraints. Geocodes nest by prefix. Levels may be missing: one of them alone is a
forest of areas that say nothing about each other. The files of the nation have trillions of numbers, so
they are scanned in batches, and only the part of the tree that is wanted is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet.areas.layout import Laws, Layout, Listing, arrange, cell_order
from discreet.areas.output import ArrowTable, arrow, strings
from discreet.areas.tree import Integers, Tree
from discreet.budget import Attributes, Release
from discreet.budget.noise_table import noises, queries_of
from discreet.errors import InputError
from discreet.estimation.input.bureau_constraints import Constraints
from discreet.estimation.input.exact_counts import exact_counts, join_exact, read_held
from discreet.estimation.input.published import Exact, Published
from discreet.files import FilePath, readable
from discreet.noise import DiscreteGaussian, Noise
from discreet.tables import Columnar, Kinds, Numbers, Problems, arrow_errors, check_schema

_BATCH = 1 << 13
"""Rows (each a unit and query) that are read at a time."""

_QUERIES: Kinds = {
    "geocode": "text",
    "query_name": "text",
    "query_shape": "any",
    "value": "any",
    "variance": "number",
}
_CONSTRAINTS: Kinds = {"geocode": "text", "query_name": "text", "value": "any"}


@dataclass(frozen=True)
class _Files:
    """The parts of one level."""

    level: str
    parts: Mapping[bool, Sequence[Path]]
    """Those with queries, and those with constraints."""

    def scan(
        self, columns: Sequence[str] | None, within: str, *, constraints: bool = False
    ) -> Iterator[ArrowTable]:
        """Yield batches of rows of units whose geocode begins so, with some or all columns."""
        ds, pc = arrow("dataset"), arrow("compute")
        if not self.parts[constraints]:
            return
        schema = None
        if constraints:  # some parts lack columns, or have whole numbers of other widths
            schemas = [arrow("parquet").read_schema(file) for file in self.parts[True]]
            plain = [one_schema.remove_metadata() for one_schema in schemas]
            with arrow_errors(f"{self.level}.parquet"):
                schema = arrow().unify_schemas(plain, promote_options="permissive")
        dataset = ds.dataset([str(file) for file in self.parts[constraints]], format="parquet", schema=schema)
        code = ds.field("geocode").cast(arrow().string())
        # the bounds let whole row groups be skipped; the prefix decides
        wanted = (ds.field("geocode") >= within) & pc.starts_with(code, pattern=within) if within else None
        with arrow_errors(f"{self.level}.parquet"):
            chosen = None if columns is None else list(columns)
            yield from dataset.to_batches(columns=chosen, filter=wanted, batch_size=_BATCH)


def read_bureau(
    sources: Sequence[Path],
    release: Release,
    *,
    within: str | None = None,
    invariants: FilePath | None = None,
) -> Published:
    """Read the part of the Bureau's files that lies within a unit, or all of it: a directory of levels, or
    some levels. `invariants` are further exact counts."""
    if release.attributes is None:
        raise InputError(f"release {release.name!r} states no attributes, so its queries mean nothing here")
    attributes, prefix = release.attributes, within or ""
    source = sources[0] if len(sources) == 1 else sources[0].parent
    files = _levels(sources, release)
    names = _Names(release, attributes)
    asked = _asked(files, names, prefix)
    tree, position = _tree(files, asked, prefix, source)
    kinds, kind = _kinds(release, asked, position, tree)
    bureau = Bureau(files, tree, names, kinds, attributes, prefix)
    constraints = Constraints(attributes, queries_of(release), names.query)
    _constraints(files, tree, constraints, prefix)
    exact, blocks, bounds = constraints.settled(tree)
    left = tuple(f"{text}, {many} times" for text, many in constraints.left.items())
    if invariants is not None:
        exact = _with_invariants(exact, tree, release, attributes, invariants)
    origin: dict[str, object] = {
        "role": "measurements",
        "layout": "Census Bureau",
        "levels": [file.level for file in files],
    }
    if within is not None:
        origin["within"] = within
    early = np.bincount(tree.kind[: tree.starts[-1]][tree.leaf[: tree.starts[-1]]], minlength=1)
    if early.any():
        origin["areas_without_areas_below"] = {tree.levels[k]: int(early[k]) for k in np.flatnonzero(early)}
    return Published(
        tree, attributes, {}, bureau, exact, "parquet", False, origin, kind, blocks, left, bounds=bounds
    )


def _with_invariants(
    exact: Exact, tree: Tree, release: Release, attributes: Attributes, invariants: FilePath
) -> Exact:
    """Add exact counts of a table: unit, query, cell, count."""
    tables = {query: attributes.tabulation(query) for query in queries_of(release)}
    layout = Layout.same(tree, {query: strings(list(table.labels)) for query, table in tables.items()})
    joined = dict(exact)
    for query, (who, rows) in exact_counts(layout, read_held(invariants), release).items():
        mine = who, rows[:, cell_order(layout, query, attributes)]
        joined[query] = join_exact(query, joined.get(query), mine)
    return joined


def is_level(source: Path) -> bool:
    """Whether a path is one level: `County.parquet`, a folder of parts or a file with geocodes."""
    if source.suffix != ".parquet":
        return False
    if source.is_dir():
        return True
    return source.is_file() and {"geocode", "query_name"} <= set(Columnar.open(source, "parquet").names)


def by_product(sources: Sequence[FilePath]) -> list[tuple[Path, ...]]:
    """Put levels that lie in one directory together: they are measurements of one release.

    >>> by_product(["now", "before"])
    [(PosixPath('now'),), (PosixPath('before'),)]
    """
    products: dict[object, list[Path]] = {}
    for number, path in enumerate(map(Path, sources)):
        products.setdefault(path.absolute().parent if is_level(path) else number, []).append(path)
    return [tuple(some) for some in products.values()]


def _levels(sources: Sequence[Path], release: Release) -> list[_Files]:
    """Find the parts of each level that the release has, from the top down."""
    source = sources[0]
    every = list(sources) if is_level(source) else sorted(source.glob("*.parquet"))
    source = source.parent if is_level(source) else source
    known: dict[str, Path] = {}
    for path in every:
        stem = path.stem.lower().replace(" ", "_")
        if stem in known:
            raise InputError(f"{path} is given twice")
        known[stem] = path
    levels, problems = [], Problems()
    for level in release.levels:
        file = known.pop(level.name.lower().replace(" ", "_"), None)
        if file is None:
            continue
        parts: dict[bool, list[Path]] = {False: [], True: []}  # queries, constraints
        for part in sorted(file.rglob("*.parquet")) if file.is_dir() else [file]:
            if part.is_dir():
                continue
            with problems.gathering(), readable(part):
                table = Columnar.open(part, "parquet")
                folders = [folder.name.lower() for folder in part.relative_to(source).parents]
                held = "sign" in table.names or any(name.startswith("constraint") for name in folders)
                due = _CONSTRAINTS if held else _QUERIES
                shown, missing = part.relative_to(source), [name for name in due if name not in table.names]
                if missing:  # they are scanned by these very names
                    some = " or ".join(missing)
                    raise InputError(f"{shown} has no column {some}; it must have {', '.join(due)}")
                check_schema(table.schema, due, str(shown), problems)
                parts[held].append(part)
        if parts[False]:
            levels.append(_Files(level.name, parts))
    problems.stop()
    if known:
        raise InputError(
            f"{source} has {', '.join(sorted(folder.name for folder in known.values()))}, which is no level "
            f"of release {release.name!r}; it has {', '.join(one_level.name for one_level in release.levels)}"
        )
    if not levels:
        raise InputError(f"there are no measurements in {source}")
    return levels


class _Names:
    """The queries that stand in the files, by what they are called there: a name and perhaps a suffix."""

    def __init__(self, release: Release, attributes: Attributes) -> None:
        self._attributes = attributes
        self._plain = {name.replace(" ", ""): name for name in queries_of(release)}
        self._found: dict[str, str | None] = {}

    def query(self, text: str) -> str | None:
        """Return the query of a name, or None."""
        if text not in self._found:
            bare = text.replace(" ", "")
            fitting = [
                table for table in self._plain if bare == table or bare.startswith((f"{table}_", f"{table}-"))
            ]
            self._found[text] = self._plain[max(fitting, key=len)] if fitting else None
        return self._found[text]

    def rows(self, batch: ArrowTable, query: str, which: Integers, file: str) -> Numbers:
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
            due = [len(groups) for groups in table.by_attribute if len(groups) > 1]
            shape = batch.column("query_shape")[int(which[0])].as_py()
            if isinstance(shape, str):
                shape = [int(part) for part in shape.strip("()[] ").replace(" ", "").split(",") if part]
            if [int(extent) for extent in shape or () if int(extent) > 1] != due:
                due_text = tuple(due) or (1,)
                raise InputError(
                    f"query {query!r} has shape {shape} in {file}; the attributes give it {due_text}"
                )
        values = column.flatten()
        if values.null_count:
            raise InputError(f"query {query!r} has values that are missing in {file}")
        rows: Numbers = values.to_numpy(zero_copy_only=False).reshape(-1, table.cells)
        return rows


Asked = dict[str, dict[str, float]]
"""What the units of a level were asked, by geocode: queries, and the variance of each."""


def _asked(files: Sequence[_Files], names: _Names, prefix: str) -> list[Asked]:
    """Return for each level its units and what they were asked."""
    questions = []
    for file in files:
        asked: Asked = {}
        for batch in file.scan(["geocode", "query_name", "variance"], prefix):
            if any(batch.column(name).null_count for name in ("geocode", "query_name", "variance")):
                raise InputError(f"a row of {file.level}.parquet has no geocode, query or variance")
            for code, name, size in zip(
                batch.column("geocode").cast(arrow().string()).to_pylist(),
                batch.column("query_name").to_pylist(),
                batch.column("variance").cast(arrow().float64()).to_pylist(),
                strict=True,
            ):
                query, mine = names.query(name), asked.setdefault(code, {})
                if query is None:
                    raise InputError(
                        f"{file.level}.parquet has the query {name!r}, which is none of the release's"
                    )
                if not 0.0 < size < float("inf"):
                    raise InputError(
                        f"a variance of query {name!r} in {file.level}.parquet is not above zero"
                    )
                if query in mine:
                    raise InputError(f"query {name!r} occurs twice for one area of {file.level}.parquet")
                mine[query] = size
        questions.append(asked)
    return questions


def _tree(
    files: Sequence[_Files], units: Sequence[Asked], prefix: str, source: Path
) -> tuple[Tree, list[Integers]]:
    """Return the tree, and for each level the place of each of its units in it."""
    first = next((number for number, codes in enumerate(units) if codes), None)
    if first is None:
        raise InputError(f"{source} has no area whose geocode begins with {prefix!r}")
    if prefix and prefix not in units[first]:
        raise InputError(f"{source} has no area {prefix!r}; within must be the geocode of an area")
    listing = Listing.nested([file.level for file in files[first:]], units[first:])
    lost = np.flatnonzero((listing.parent < 0) & (listing.level > 0))
    if lost.size:
        depth = first + int(listing.level[lost[0]])
        raise InputError(
            f"an area of {files[depth].level}.parquet lies in no area of {files[depth - 1].level}.parquet: "
            "its geocode has none of theirs as its beginning"
        )
    tree, rank = arrange(listing)
    return tree, np.split(rank, np.cumsum([len(codes) for codes in units])[:-1])


def _kinds(
    release: Release, asked: Sequence[Asked], position: Sequence[Integers], tree: Tree
) -> tuple[list[dict[str, Noise]], Integers]:
    """Return the laws of each kind of unit, told apart by queries and variances, and each unit's kind."""
    known, by_unit = noises(release), dict[int, dict[str, float]]()
    for some, at in zip(asked, position, strict=True):
        by_unit |= zip(at.tolist(), some.values(), strict=True)
    numbers: dict[tuple[int, tuple[tuple[str, float], ...]], int] = {}
    kind = np.zeros(tree.size, dtype=np.int64)
    for unit in range(tree.size):
        told = int(tree.kind[unit]), tuple(sorted(by_unit[unit].items()))
        kind[unit] = numbers.setdefault(told, len(numbers))

    def law(level: int, query: str, size: float) -> Noise:
        stated = known.get((tree.levels[level], query))
        variance = None if stated is None else stated.stated_variance
        if stated is not None and variance is not None and abs(float(variance) / size - 1) < 1e-6:
            return stated
        return DiscreteGaussian(variance=Fraction(size).limit_denominator(10**9))

    return [{query: law(level, query, size) for query, size in some} for level, some in numbers], kind


def _constraints(files: Sequence[_Files], tree: Tree, constraints: Constraints, prefix: str) -> None:
    """Gather the constraints of all levels."""
    for file in files:
        if file.level not in tree.levels:
            continue
        mine = np.append(np.flatnonzero(tree.kind == tree.levels.index(file.level)), -1)
        codes = tree.names.take(arrow().array(mine[:-1]))
        for batch in file.scan(None, prefix, constraints=True):
            geocode = batch.column("geocode").cast(arrow().string())
            area = arrow("compute").index_in(geocode, value_set=codes).fill_null(len(mine) - 1)
            constraints.add(batch, mine[area.to_numpy(zero_copy_only=False)], file.level)


class Bureau:
    """The noisy counts, scanned in batches as often as they are needed."""

    in_order = False

    def __init__(
        self,
        files: Sequence[_Files],
        tree: Tree,
        names: _Names,
        laws: Laws,
        attributes: Attributes,
        prefix: str,
    ) -> None:
        self._files, self._tree, self._names, self._prefix = files, tree, names, prefix
        self.laws = laws
        self.cells = {query: attributes.tabulation(query).cells for law in laws for query in law}

    def read(self, units: slice) -> Iterator[tuple[str, Integers, Numbers]]:
        """Yield what these units were measured, in the order of the files."""
        tree, pc = self._tree, arrow("compute")
        for file in self._files:
            # by level: a code may come again where one unit is the whole of another
            level = tree.levels.index(file.level) if file.level in tree.levels else -1
            mine = np.append(np.flatnonzero(tree.kind[units] == level) + units.start, -1)
            if len(mine) == 1:
                continue
            wanted = tree.names.take(arrow().array(mine[:-1]))
            for batch in file.scan(["geocode", "query_name", "query_shape", "value"], self._prefix):
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
                    rows = self._names.rows(batch, query, which, f"{file.level}.parquet")
                    yield query, unit[which], rows
