"""Anybody's noisy table: values with a variance in every row, under column names of its own.

A row says of one area and one cell what was measured there, and how far off it may be: by a variance, a
standard deviation or a margin of error. A row without one of these, or with an infinite one, is no
measurement; one whose variance is zero is exact. Variances may differ from row to row. Cells that have one
variance in each area stay together; a query whose cells differ is taken apart into pieces (`Piece`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product

import numpy as np

from discreet.areas.layout import Layout, Listing, cell_order, checked_tree, tree_of
from discreet.areas.output import MARK, strings
from discreet.areas.tree import Floats, Integers, Tree
from discreet.budget import Attributes, Tabulation
from discreet.budget.attributes import JOIN, Factor
from discreet.budget.variables import IN_UNITS_OF
from discreet.errors import InputError
from discreet.estimation.error_laws import normal_quantile
from discreet.estimation.estimates import InMemory, Rows
from discreet.estimation.input.published import LARGEST, Exact
from discreet.estimation.model import Piece
from discreet.estimation.normal import Law, Normal
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.tables import Problems, ReadTable, TableSource, Words, read_table

_DEVIATIONS = ("sd", "se", "standard_error")
_MARGIN = re.compile(r"margin([0-9]{2}(?:[._][0-9]+)?)")
WORDS = ("unit", "level", "parent", "query", "cell")
_KNOWN = "unit, value, level, parent, query, cell, and one of variance, sd, se, margin90, margin95 and so on"
_USUAL = ("variance", "sd", "se", "margin90", "margin95", "margin99")
"""Columns in which the size of an error is looked for if none is named. A standard_error is not among them:
beside a variance it is a sampling error."""

_SMALLEST = 1e-300
"""The smallest variance: its inverse is a number."""

MOST_DIFFERENT = 2_000_000
"""The most variances of areas that differ, each of a query or of a piece of one."""

MOST_DISCRETE, MOST_SMALL, SMALL = 20_000, 2_000, 2.0
"""The same for discrete noise, and for discrete noise of a variance below `SMALL`: the law of a sum of such
noises, whose lattice shows, takes about ten milliseconds; that of others about one."""

_NOISES = ("discrete gaussian", "discrete laplace", "normal")

Columns = Mapping[str, str | Sequence[str]]
"""The names of columns by what they hold; a cell may be held by several."""


@dataclass(frozen=True)
class TableForm:
    """How a noisy table is written: its columns, the law of its noise, whether its values are counts, the
    attributes that its queries are about, and the lengths of geocodes that nest."""

    columns: Columns = field(default_factory=dict)
    noise: str | None = None
    counts: bool | None = None
    attributes: Attributes | None = None
    lengths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.noise is not None and self.noise not in _NOISES:
            raise InputError(
                f"noise is {self.noise!r}; it must be {', '.join(_NOISES[:-1])} or {_NOISES[-1]}"
            )
        sizes = []
        for name in self.columns:
            if name in ("variance", *_DEVIATIONS) or _MARGIN.fullmatch(name):
                sizes.append(name)
            elif name not in (*WORDS, "value"):
                raise InputError(f"columns names {name!r}; it can name {_KNOWN}")
        if len(sizes) > 1:
            raise InputError(f"columns names {' and '.join(sizes)}; one of them says how large an error is")

    def column(self, name: str) -> str:
        """Return the name of the column that holds something."""
        column = self.columns.get(name, name)
        if not isinstance(column, str):
            raise InputError(f"columns names several columns for {name}; only a cell may have several")
        return column

    @property
    def cell(self) -> tuple[str, ...]:
        """The columns that hold the cell, if they are named."""
        columns = self.columns.get("cell", ())
        return (
            tuple(part.strip() for part in columns.split("*")) if isinstance(columns, str) else tuple(columns)
        )

    @property
    def size(self) -> str | None:
        """What is named as the size of an error."""
        return next((name for name in self.columns if name not in (*WORDS, "value")), None)


def column_names(text: str) -> dict[str, str]:
    """Read the names of columns as they are written on the command line.

    >>> column_names('unit=GEO_ID, value=estimate, margin90="moe, 90 %", cell=age * sex')
    {'unit': 'GEO_ID', 'value': 'estimate', 'margin90': 'moe, 90 %', 'cell': 'age * sex'}
    """
    # a column whose name has a comma stands in quotes, after the equals sign
    pairs = re.findall(r'\s*([^=,]*?)\s*=\s*("(?:[^"]|"")*"|[^,]*?)\s*(?:,|$)', text)
    if not pairs or len(pairs) != sum(1 for _ in _fields(text)):
        raise InputError(
            f"columns is {text!r}; it must be pairs such as unit=GEO_ID,value=estimate,margin90=moe, where a "
            'column with a comma in its name stands in quotes: value="Estimate, total"'
        )
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise InputError(f"columns names {next(name for name in names if names.count(name) > 1)!r} twice")
    return {name: word[1:-1].replace('""', '"') if word[:1] == '"' else word for name, word in pairs}


def _fields(text: str) -> Iterator[str]:
    """Yield what stands between commas that are not in quotes."""
    return iter(re.findall(r'(?:"(?:[^"]|"")*"|[^,"])+', text))


def read_noisy(
    source: TableSource, form: TableForm, *, whole: bool, tree_given: bool, problems: Problems
) -> ReadTable:
    """Read a noisy table, with its columns under the usual names; `whole`: values must be whole numbers.

    What is not there is made up: one level, one query, one cell. Numbers are `value` and `variance`.
    """
    size, cells = form.size, form.cell
    needed = [form.column(name) for name in WORDS if name in form.columns and name != "cell"]
    needed += [form.column("unit")] if "unit" not in form.columns else []
    more = [name for name in ("level", "query") if name not in form.columns] + [IN_UNITS_OF, MARK]
    more += [] if tree_given or "parent" in form.columns else ["parent"]
    more += [] if cells else ["cell"]
    value, sizes = form.column("value"), [form.column(size)] if size else []
    table = read_table(
        source,
        words=[*needed, *cells],
        optional=more,
        whole=[value] if whole else [],
        gaps=[*([] if whole else [value]), *sizes],
        optional_gaps=[] if size else _USUAL,
        blank=["parent", form.column("parent")],
        name="the noisy table",
        problems=problems,
    )
    if not table.usable:
        return table
    if not table.rows:
        table.problems.at("the table has no rows")
        table.problems.stop()
    words = {
        name: table.words[form.column(name)] for name in WORDS if name != "cell" and _has(table, form, name)
    }
    if cells or "cell" in table.words:
        words["cell"] = _joined([table.words[cell] for cell in cells or ["cell"]])
    once = np.zeros(table.rows, dtype=np.int32)
    words.setdefault("cell", Words(once, strings(["all"])))
    words.setdefault("query", Words(once, strings([JOIN.join(cells) or "total"])))
    words |= {name: table.words[name] for name in (MARK, IN_UNITS_OF) if name in table.words}
    named, variance = _variances(table, form)
    written = {name: form.column(name) for name in ("unit", "level", "parent", "query", "value")}
    told = table.problems.written
    table.problems.written = dict(told) | {
        name: told.get(written_as, written_as) for name, written_as in written.items()
    }
    table.problems.written |= {"variance": told.get(named, named), "cell": " * ".join(cells) or "cell"}
    return replace(table, words=words, numbers={"value": table.numbers[value], "variance": variance})


def _has(table: ReadTable, form: TableForm, name: str) -> bool:
    return form.column(name) in table.words


def _joined(columns: Sequence[Words]) -> Words:
    """Return one text for the words of several columns in each row."""
    if len(columns) == 1:
        return columns[0]
    codes = np.column_stack([column.codes for column in columns])
    distinct, of = np.unique(codes, axis=0, return_inverse=True)
    words = [column.values.to_pylist() for column in columns]
    texts = [
        JOIN.join(known[code] for known, code in zip(words, row, strict=True)) for row in distinct.tolist()
    ]
    return Words(of.ravel().astype(np.int32), strings(texts))


def _variances(table: ReadTable, form: TableForm) -> tuple[str, Floats]:
    """Return the column that says how large errors are, and the variances; what is impossible is reported."""
    size = form.size
    if size is None:
        named = [name for name in _USUAL if name in table.numbers]
        if "variance" not in named and len(named) > 1:
            raise InputError(
                f"{table.path.name} has the columns {' and '.join(named)}; say which holds the size of the "
                f"errors, such as --columns {named[0]}={named[0]}"
            )
        if not named:
            table.problems.say(
                f"{table.path.name} has no column variance; it must have one, or sd, se or a margin such as "
                "margin90; name it by --columns margin90=COLUMN"
            )
            table.problems.stop()
        size = named[0]
    column = form.column(size) if form.size else size
    numbers = np.asarray(table.numbers[column], dtype=np.float64)
    what = {"variance": "a variance"}.get(size, "a standard deviation" if size in _DEVIATIONS else "a margin")
    hint = (
        "; the American Community Survey marks a controlled total by -555555555: write 0, or nothing where "
        "nothing was measured"
    )
    table.problems.rows(numbers < 0, f"{what} is below zero{hint * (what == 'a margin')}", column)
    if size == "variance":
        return column, numbers
    factor = 1.0
    if margin := _MARGIN.fullmatch(size):
        level = float(margin[1].replace("_", ".")) / 100
        factor = normal_quantile(level)
    return column, (np.maximum(numbers, 0.0) / factor) ** 2


# -- areas ---------------------------------------------------------------------------------------------------


def noisy_tree(table: ReadTable, units: ReadTable | None, form: TableForm) -> tuple[Tree, ReadTable]:
    """Return the tree of a noisy table, and the table with the level of each row.

    The tree is that of a table of areas, of geocodes that nest by prefixes, or of the column of parents.
    Without any of these, and with one level, the areas are side by side.
    """
    if units is not None:
        tree = tree_of(units, None, once=True)
        return tree, table if "level" in table.words else _with_levels(table, tree)
    if form.lengths:
        tree = _nested(table, form.lengths)
        return tree, _with_levels(table, tree)
    words = dict(table.words)
    once = np.zeros(table.rows, dtype=np.int32)
    if "parent" not in words and ("level" not in words or len(words["level"].values) == 1):
        words["parent"] = Words(once, strings([""]))
        words.setdefault("level", Words(once, strings(["area"])))
    elif "level" not in words:
        words["level"] = _depths(words["unit"], words["parent"])
    table = replace(table, words=words)
    return tree_of(table, None), table


def _depths(units: Words, parents: Words) -> Words:
    """Return levels by depth: level 1 at the top, level 2 below it, and so on."""
    names, above = units.values.to_pylist(), parents.values.to_pylist()
    parent = {
        names[unit]: above[code] if code >= 0 else ""
        for unit, code in zip(units.codes.tolist(), parents.codes.tolist(), strict=True)
    }
    depth: dict[str, int] = {"": 0}
    for name in names:
        way = []
        while name not in depth and name in parent and name not in way:
            way.append(name)
            name = parent[name]
        start = depth.get(name, 0)
        depth.update((unit, start + many) for many, unit in enumerate(reversed(way), 1))
    most = max(depth[name] for name in names)
    codes = np.array([depth[name] - 1 for name in names], dtype=np.int32)
    return Words(codes[units.codes], strings([f"level {number + 1}" for number in range(most)]))


def _nested(table: ReadTable, lengths: Sequence[int]) -> Tree:
    """Return the tree of codes that nest by prefixes, those included that have no row of their own."""
    units = table.words["unit"]
    codes = units.values.to_pylist()
    wrong = np.array([len(code) not in lengths for code in codes])
    text = f"a geocode that is not {', '.join(map(str, lengths[:-1]))} or {lengths[-1]} characters long"
    text = text if len(lengths) > 1 else f"a geocode that is not {lengths[0]} characters long"
    table.problems.rows(wrong[units.codes], text, "unit")
    table.problems.stop()
    levels = [f"level {number + 1}" for number in range(len(lengths))]
    if "level" in table.words:
        by_length: dict[int, set[str]] = {}
        words = table.words["level"]
        known = words.values.to_pylist()
        pairs = np.unique(np.column_stack([units.codes, words.codes]), axis=0)
        for unit, level in pairs.tolist():
            by_length.setdefault(len(codes[unit]), set()).add(known[level])
        if any(len(names) > 1 for names in by_length.values()):
            table.problems.say(
                f"{table.path.name} has several levels for geocodes of one length; each length is one level"
            )
            table.problems.stop()
        for position, length in enumerate(lengths):
            levels[position] = next(iter(by_length.get(length, {levels[position]})))
    # every beginning of a code is an area, measured or not
    every = [sorted({code[:length] for code in codes if len(code) >= length}) for length in lengths]
    listing = replace(Listing.nested(levels, every), problems=table.problems)
    return checked_tree(listing, None, table.problems.count)


def _with_levels(table: ReadTable, tree: Tree) -> ReadTable:
    """Return the table with the level that each area has in the tree."""
    position_of = {name: number for number, name in enumerate(tree.names.to_pylist())}
    units = table.words["unit"]
    kinds = np.array(
        [tree.kind[position_of.get(name, 0)] for name in units.values.to_pylist()], dtype=np.int32
    )
    words = {**table.words, "level": Words(kinds[units.codes], strings(tree.levels))}
    return replace(table, words=words)


# -- numbers -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoisyNumbers:
    """What a noisy table tells: a source of measurements by kind of unit, exact numbers, the pieces of
    queries in both, the law of the noise, whether values are counts, and how many cells were not measured."""

    source: InMemory
    kind: Integers
    exact: Exact
    pieces: dict[str, Piece]
    noise: str
    counts: bool
    unmeasured: int


def noisy_numbers(
    layout: Layout, position: Integers, table: ReadTable, form: TableForm, attributes: Attributes | None
) -> NoisyNumbers:
    """Return the numbers of a noisy table, whose rows stand at these positions of the layout."""
    problems, given, variance = table.problems, table.numbers["value"], table.numbers["variance"]
    value = np.asarray(given, dtype=np.float64)
    measured = np.isfinite(variance) & ~np.isnan(value)
    problems.rows(np.isinf(value), "a value is infinite", "value")
    if not measured.any():
        problems.at("no row has a value and the size of its error")
    problems.rows(
        measured & (variance > 0) & (variance < _SMALLEST), f"a variance is below {_SMALLEST}", "variance"
    )
    whole = bool(np.all(value[measured] == np.rint(value[measured])))
    noise = form.noise or ("discrete gaussian" if whole and _is_variance(table, form) else "normal")
    if noise != "normal":
        problems.rows(measured & (np.abs(value) > LARGEST), f"a value is beyond {LARGEST}", "value")
        text = f"a value is not whole, but {noise} noise is: the noise must be normal"
        problems.rows(measured & (value != np.rint(value)), text, "value")
    problems.stop()
    counts = whole if form.counts is None else form.counts
    values, sizes = np.zeros(layout.size), np.full(layout.size, np.inf)
    values[position[measured]], sizes[position[measured]] = value[measured], variance[measured]
    pieces: dict[str, Piece] = {}
    noisy: dict[str, Rows] = {}
    exact: Exact = {}
    columns: list[Floats] = []
    names: list[str] = []
    for query in layout.queries:
        first = layout.first(query)
        who = np.flatnonzero(first >= 0)
        at = first[who][:, None] + cell_order(layout, query, attributes)
        for name, cells, piece in _pieces(query, sizes[at], attributes):
            size, rows = sizes[at[:, cells[0]]], values[at[:, cells]]
            open_, held = (size > 0) & np.isfinite(size), size == 0
            noisy[name] = who[open_], rows[open_]
            if held.any():
                exact[name] = who[held], np.rint(rows[held]).astype(np.int64) if whole else rows[held]
            if piece is not None:
                pieces[name] = piece
            column = np.full(layout.tree.size, np.inf)
            column[who[open_]] = size[open_]
            columns.append(column)
            names.append(name)
    kinds, kind = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    laws = _laws(kinds, names, noise)
    source = InMemory(laws, noisy)
    return NoisyNumbers(source, kind.ravel(), exact, pieces, noise, counts, int(np.sum(np.isinf(sizes))))


def _is_variance(table: ReadTable, form: TableForm) -> bool:
    """Whether errors are given as variances, as `measure` writes them."""
    column = table.problems.written.get("variance", "").casefold().strip()
    return form.size == "variance" or (form.size is None and column == "variance")


def _laws(kinds: Floats, names: Sequence[str], noise: str) -> list[dict[str, Law]]:
    """Return the laws by kind and query or piece."""
    small = int(np.sum(kinds < SMALL))
    if noise != "normal" and (kinds.size > MOST_DISCRETE or small > MOST_SMALL):
        raise InputError(
            f"the noise is {noise}, and the table has {kinds.size} variances of areas that differ, {small} "
            f"of them below {SMALL:g}; at most {MOST_DISCRETE}, and {MOST_SMALL} below {SMALL:g}, are "
            "possible: say that it is normal (--noise normal)"
        )
    if kinds.size > MOST_DIFFERENT:
        raise InputError(
            f"the table has {kinds.size} variances of areas that differ; at most {MOST_DIFFERENT} are "
            "possible: take fewer areas at a time, or give areas and cells one variance"
        )
    sizes = np.unique(kinds[np.isfinite(kinds)])
    law = {size: _law(noise, size) for size in sizes.tolist()}
    return [
        {name: law[size] for name, size in zip(names, row, strict=True) if math.isfinite(size)}
        for row in kinds.tolist()
    ]


def _law(noise: str, variance: float) -> Law:
    """Return the law of noise with this true variance.

    >>> round(_law("discrete laplace", 7.5).true_variance(), 9)
    7.5
    """
    if noise == "normal":
        return Normal(variance)
    if noise == "discrete gaussian":
        return DiscreteGaussian.of_true_variance(variance)
    # 2 r / (1 - r)^2 with r = e^(-1/scale); written so that nothing cancels
    ratio = variance / (1 + variance + math.sqrt(1 + 2 * variance))
    return DiscreteLaplace(scale=Fraction(max(-1 / math.log(ratio), 1e-3)))


Found = tuple[str, Integers, Piece | None]
"""The name of a query or piece, its cells, and the piece."""


def _pieces(query: str, sizes: Floats, attributes: Attributes | None) -> Iterator[Found]:
    """Yield a query whole if its cells have one variance in each unit, else in pieces that have one.

    With attributes a piece is a table: some values of each attribute."""
    cells = np.arange(sizes.shape[1])
    if np.all(sizes == sizes[:, :1]):
        yield query, cells, None
        return
    if attributes is None:
        of = _alike(sizes.T)
        for number in range(int(of.max()) + 1):
            mine = np.flatnonzero(of == number)
            yield f"{query} {{{mine[0]}}}", mine, Piece(query, tuple(mine.tolist()))
        return
    table = attributes.tabulation(query)
    factors = sorted(table.factors, key=lambda factor: factor.attribute)
    shape = [len(factor.groups) for factor in factors]
    block, position = sizes.reshape(len(sizes), *shape), cells.reshape(shape)
    classes = [_alike(np.moveaxis(block, 1 + axis, 0).reshape(size, -1)) for axis, size in enumerate(shape)]
    for chosen in product(*(range(int(of.max()) + 1) for of in classes)):
        ranks = [np.flatnonzero(of == number) for of, number in zip(classes, chosen, strict=True)]
        kept = tuple(
            Factor(
                factor.attribute,
                tuple(factor.groups[rank] for rank in some.tolist()),
                tuple(factor.labels[rank] for rank in some.tolist()),
            )
            for factor, some in zip(factors, ranks, strict=True)
        )
        name = f"{query} {{{'|'.join(','.join(map(str, some.tolist())) for some in ranks)}}}"
        mine = position[np.ix_(*ranks)].ravel()
        yield name, mine, Piece(query, tuple(mine.tolist()), Tabulation(name, kept, attributes.sizes))


def _alike(rows: Floats) -> Integers:
    """Number rows so that equal ones have one number, in the order of first appearance."""
    _, first, of = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[of.ravel()]
