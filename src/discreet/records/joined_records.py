"""People and households counted together: files that share a key, limits on people a household, and cells.

Each file is read once, as codes of its distinct texts; a person is then the place of a household. Per table,
the order is that of the release: the universe, the limit, the household's attributes, the cells. The limit
looks at the people of one household alone, so whatever happens in another one changes nothing here. All that
is wrong with any of the files is said in one round, by file, line and column, never by value.
"""

from __future__ import annotations

import hmac
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.areas.layout import Layout, Listing, checked_tree, lookup, read_lengths
from discreet.areas.output import arrow, strings
from discreet.areas.tree import Integers, Tree
from discreet.budget import Release
from discreet.budget.joins import (
    ADDRESSES,
    AREA,
    HOUSEHOLDS,
    PEOPLE,
    REFUSE,
    Condition,
    ContentOrder,
    Join,
    JoinedTable,
    Split,
)
from discreet.errors import InputError
from discreet.files import FilePath
from discreet.ledger import records_per_person as contents
from discreet.records.counts import CountTable
from discreet.records.input import TableInput, load_input
from discreet.records.record_areas import areas_of_release
from discreet.records.record_columns import RecordColumns, read_records
from discreet.records.records import RecordsAsked, count_records
from discreet.tables import Problems, TableSource, Words

Mask = NDArray[np.bool_]

_NO_HOUSEHOLD = "a household that is not among the households"
_NO_ADDRESS = "an address that is not among the addresses"
_LISTED_TWICE = "a key that stands in another row too; each may occur once"


@dataclass(frozen=True, slots=True)
class JoinedSources:
    """The files of a join, and how they are written."""

    people: TableSource
    households: TableSource
    addresses: TableSource
    units: TableSource
    geocodes: str | None
    how: TableInput

    @classmethod
    def of(cls, release: Release, asked: JoinAsked) -> JoinedSources:
        """Return the files that a question names."""
        if asked.id is not None or asked.at_most is not None:
            raise InputError(
                f"{release.name} says itself which people of a household count; id and at_most (--id, "
                "--at-most) are for records of one file"
            )
        files = asked.records, asked.households, asked.addresses, asked.units
        return cls(*files, asked.geocodes, join_input(release, asked.input))


class JoinAsked(RecordsAsked, Protocol):
    """What a question says of records that may be of two files, or three."""

    @property
    def households(self) -> TableSource: ...  # noqa: D102
    @property
    def addresses(self) -> TableSource: ...  # noqa: D102


def other_files(asked: JoinAsked) -> tuple[TableSource, ...]:
    """Return the files beside the records that a question names: policies bind them, too."""
    return tuple(table for table in (asked.households, asked.addresses) if table is not None)


def count_asked(
    release: Release, asked: JoinAsked, *, ledger: FilePath | None = None, rehearsal: int | None = None
) -> CountTable:
    """Validate and count records of one file, or people and households.

    What orders the people of a household is a key of the `ledger`, or a new one; in a rehearsal, its seed.
    """
    if release.join is None:
        if not (asked.households is asked.addresses is None):
            raise InputError(
                f"{release.name} counts records of one file; households and addresses (--households, "
                "--addresses) are for a release with [households]"
            )
        return count_records(release, asked)
    sources, secret = JoinedSources.of(release, asked), secrets.token_bytes(32)
    if rehearsal is not None:
        secret = sha256(f"rehearsal {rehearsal}".encode()).digest()
    elif ledger is not None and release.join.order is None:
        secret = hmac.digest(contents.make_secret(ledger).value, b"people of a household", "sha256")
    return count_joined(release, sources, secret)


@dataclass
class JoinedRecords:
    """Files that were read, as far as they could be, with all problems on one list.

    `home` is the row of each person's household, `place` the lowest area of each household; -1 stands for
    none: a person or a household that is not counted. `codes` has each attribute by the rows of its file.
    """

    join: Join
    problems: Problems
    tree: Tree | None
    files: dict[str, RecordColumns]
    codes: dict[str, Integers] = field(default_factory=dict)
    address: Integers | None = None
    home: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    place: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    secret: bytes = b""
    _kept: dict[tuple[Condition, int], Mask] = field(default_factory=dict)

    @property
    def incomplete(self) -> int:
        """How many people and households were left out because a value is missing."""
        return sum(int(np.count_nonzero(columns.left_out)) for columns in self.files.values())

    def of_households(self, attribute: str) -> Integers:
        """Return an attribute of households, or of their addresses, by the rows of the households."""
        codes = self.codes[attribute]
        if self.join.file_of(attribute) == HOUSEHOLDS:
            return codes
        assert self.address is not None
        return np.where(self.address >= 0, codes[self.address], -1)

    def of_rows(self, attribute: str, rows: Integers, home: Integers) -> Integers:
        """Return an attribute of these people, who live in these households."""
        if self.join.file_of(attribute) == PEOPLE:
            return self.codes[attribute][rows]
        return self.of_households(attribute)[home]

    def meeting(self, condition: Condition, *, people: bool) -> Mask:
        """Return which people meet what a condition says of people, or which households the rest of it."""
        rows = len(self.home) if people else len(self.place)
        met = np.ones(rows, dtype=bool)
        for name, words in condition:
            if (self.join.file_of(name) == PEOPLE) == people:
                known = self.join.values[name]
                allowed = np.zeros(len(known) + 1, dtype=bool)  # the last stands for no value
                allowed[[known.index(word) for word in words]] = True
                met &= allowed[self.codes[name] if people else self.of_households(name)]
        return met

    def universe(self, where: Condition) -> Mask:
        """Return the people of a universe, as far as people say it themselves."""
        return self.meeting(where, people=True) & (self.home >= 0)

    def limited(self, table: JoinedTable) -> Mask:
        """Return the people of a table's universe that its limit keeps: of each household as many as allowed.

        Those `above` are of the same order: the first ones are passed over.
        """
        own = tuple((name, words) for name, words in table.where if self.join.file_of(name) == PEOPLE)
        universe = self.universe(own)
        if table.at_most is None:
            return universe
        kept = self._first(own, universe, table.above + table.at_most)
        return kept & ~self._first(own, universe, table.above) if table.above else kept

    def _first(self, own: Condition, mask: Mask, most: int) -> Mask:
        """Return the first people of each household, so many at most, in the order of their content."""
        if (own, most) in self._kept:
            return self._kept[own, most]
        kept, many = mask.copy(), np.bincount(self.home[mask], minlength=len(self.place))
        rows = np.flatnonzero(mask & (many > most)[self.home])
        if rows.size:
            home, digests = self.home[rows], list(self._digests(rows))
            order = sorted(range(len(rows)), key=lambda k: (home[k], digests[k]))
            first = np.searchsorted(home[order], home[order], side="left")
            kept[rows[order][np.arange(len(rows)) - first >= most]] = False
        self._kept[own, most] = kept
        return kept

    def _digests(self, rows: Integers) -> Iterator[bytes]:
        """Yield by what people are ordered: their content, and which of several equal ones they are."""
        order, join = self.join.order, self.join
        columns = order.columns if order is not None else (join.key, *dict(join.people))
        words = self.files[PEOPLE].table.words
        texts = {name: _Texts(words[name], rows) for name in columns}
        digest = _content_digest(order, columns) if order is not None else _keyed_digest(self.secret)
        copies: Counter[tuple[int, ...]] = Counter()
        codes = np.stack([words[name].codes[rows] for name in columns], axis=1).tolist()
        for row in codes:
            content = tuple(row)
            copies[content] += 1
            yield digest(
                [texts[name][code] for name, code in zip(columns, content, strict=True)], copies[content]
            )


class _Texts:
    """The texts of a column by their codes, those that some rows have."""

    def __init__(self, words: Words, rows: Integers) -> None:
        codes = np.unique(words.codes[rows])
        values = words.values.take(arrow().array(codes)).to_pylist()
        self._texts = dict(zip(codes.tolist(), values, strict=True))

    def __getitem__(self, code: int) -> str:
        return str(self._texts[code])


def _hashed(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _content_digest(order: ContentOrder, columns: Sequence[str]) -> Callable[[Sequence[str], int], bytes]:
    """Return the order of the Census Bureau's program: the SHA-256 of the fields' SHA-256, twice.

    Whole numbers are hashed as their binary digits, as Spark's `bin` writes them. The last field is the
    number of the copy among equal rows.
    """
    numbers = [name in order.integers for name in columns]
    known: dict[tuple[bool, str], str] = {}

    def digest(texts: Sequence[str], copy: int) -> bytes:
        fields = []
        for pair in zip(numbers, texts, strict=True):
            if pair not in known:
                known[pair] = _hashed(f"{int(pair[1]):b}" if pair[0] else pair[1])
            fields.append(known[pair])
        fields.append(_hashed(f"{copy:b}"))
        return _hashed(_hashed(",".join(fields))).encode()

    return digest


def _keyed_digest(secret: bytes) -> Callable[[Sequence[str], int], bytes]:
    """Return an order that nobody can foresee without the secret: HMAC-SHA-256 of the content."""

    def digest(texts: Sequence[str], copy: int) -> bytes:
        return hmac.digest(secret, "\x1f".join([*texts, str(copy)]).encode(), "sha256")

    return digest


# -- reading -------------------------------------------------------------------------------------------------


def join_input(release: Release, given: TableInput | FilePath | None) -> TableInput:
    """Return how the files of a join are written: as is said beside the release, or in it, or plainly."""
    assert release.join is not None
    if given is None:
        return release.input or TableInput()
    how = given if isinstance(given, TableInput) else load_input(given)
    how.check_join(release.join)
    return how


def examine_join(release: Release, sources: JoinedSources, secret: bytes = b"") -> JoinedRecords:
    """Read the files of a join, as far as they can be read, and gather all that is wrong with them.

    Without `secret`, a new one orders the people of a household, unless the release says by what.
    """
    join, problems = release.join, Problems()
    assert join is not None
    if sources.households is None:
        raise InputError(
            f"{release.name} counts people and households: give the file of households, too (--households)"
        )
    if (sources.addresses is None) != (join.addresses is None):
        text = (
            "has a section [addresses]: give that file" if join.addresses is not None else "has no section "
        )
        more = "" if join.addresses is not None else "[addresses], so no such file is read: leave it out"
        raise InputError(f"{release.name} {text}{more} (--addresses)")
    if join.order is not None:
        _check_integers(join)
    files = {file: _read_file(join, file, sources, problems) for file in _files(join)}
    joined = JoinedRecords(join, problems, None, files, secret=secret or secrets.token_bytes(32))
    if not all(columns.table.usable for columns in files.values()):
        return joined
    for file, record_columns in files.items():
        for name, values in getattr(join, file):
            joined.codes[name] = _codes(record_columns, name, values)
    joined.tree = _tree(release, sources, joined)
    _link(joined)
    if not problems:
        _check_refused(joined)
    if join.order is not None and not problems:
        _check_numbers(joined, join.order)
    return joined


def _files(join: Join) -> tuple[str, ...]:
    return (PEOPLE, HOUSEHOLDS) if join.addresses is None else (PEOPLE, HOUSEHOLDS, ADDRESSES)


def _check_integers(join: Join) -> None:
    assert join.order is not None
    for name in join.order.integers:
        if name != join.key and not all(value.isdecimal() for value in join.values[name]):
            raise InputError(f"order hashes {name!r} as a number, but not all of its values are numbers")


def _read_file(join: Join, file: str, sources: JoinedSources, problems: Problems) -> RecordColumns:
    how = {PEOPLE: sources.how, HOUSEHOLDS: sources.how.households, ADDRESSES: sources.how.addresses}[file]
    has_area = file == (HOUSEHOLDS if join.addresses is None else ADDRESSES)
    values = dict(getattr(join, file))
    return read_records(
        getattr(sources, file),
        how or TableInput(),
        values={**({AREA: ()} if has_area else {}), **values},
        identifiers=[join.key],
        name="records" if file == PEOPLE else file,
        of="addresses" if file == ADDRESSES else "",
        problems=problems,
    )


def _codes(columns: RecordColumns, name: str, values: Sequence[str]) -> Integers:
    """Return the value of each row, by its place among the attribute's; those that are none are reported."""
    table = columns.table
    code = lookup(table.words[name], values).astype(np.int64)
    wrong = (code < 0) & ~columns.missing.get(name, np.zeros(table.rows, dtype=bool))
    table.problems.rows(wrong, f"a value that attribute {name!r} does not have", name)
    return code


def _tree(release: Release, sources: JoinedSources, joined: JoinedRecords) -> Tree | None:
    """Return the areas: from their table, or those that public addresses have."""
    lengths = None if sources.geocodes is None else read_lengths(release, sources.geocodes)
    if sources.units is not None:
        return areas_of_release(
            release, sources.units, lengths, sources.how.areas or TableInput(), joined.problems
        )
    if joined.join.addresses is None:
        raise InputError(
            "households need a table of areas (--units): all areas, inhabited or not, must be known"
        )
    names = [level.name for level in release.levels]
    table = joined.files[ADDRESSES].table
    words = table.words[AREA]
    inside = _located(joined) & (words.codes >= 0)
    areas = sorted(words.values.take(arrow().array(np.unique(words.codes[inside]))).to_pylist())
    if lengths is None:
        if len(names) > 2:
            raise InputError(
                f"the levels {', '.join(names)} need a table of areas (--units), or codes that nest "
                "(--geocodes)"
            )
        by_level = [[names[0]]] * (len(names) - 1) + [areas]
    else:
        wrong = np.array([*(len(name) != lengths[-1] for name in words.values.to_pylist()), False])
        table.problems.rows(
            wrong[words.codes] & inside, f"a geocode that is not {lengths[-1]} characters long", AREA
        )
        top = len(names) - len(lengths)
        by_level = [[names[0]]] * top + [sorted({name[:length] for name in areas}) for length in lengths]
    if joined.problems or not areas:
        if not areas:
            joined.problems.say("no address counts, so there are no areas")
        return None
    return checked_tree(Listing.nested(names, by_level), release)


def _located(joined: JoinedRecords) -> Mask:
    """Return the addresses that count."""
    join, table = joined.join, joined.files[ADDRESSES].table
    met = ~joined.files[ADDRESSES].left_out
    for name, words in join.located:
        known = join.values[name]
        allowed = np.zeros(len(known) + 1, dtype=bool)
        allowed[[known.index(word) for word in words]] = True
        met &= allowed[joined.codes[name]]
    assert len(met) == table.rows
    return met


def _rows_of(keys: Words, among: Words, rows: Integers) -> Integers:
    """Return for each key the row of another file that has it, given the rows by code; -1 if none has."""
    index = arrow("compute").index_in(keys.values, value_set=among.values).fill_null(-1)
    row = np.append(index.to_numpy(), -1).astype(np.int64)
    return np.append(rows, -1)[row][keys.codes]


def _unique_rows(columns: RecordColumns, key: str) -> tuple[Integers, Mask]:
    """Return the row of each key by its code, and which rows have a key that others have too."""
    words = columns.table.words[key]
    many = np.bincount(words.codes[words.codes >= 0], minlength=len(words.values))
    rows = np.full(len(words.values), -1, dtype=np.int64)
    there = np.flatnonzero(words.codes >= 0)
    rows[words.codes[there]] = there
    rows[many > 1] = -1
    return rows, np.append(many > 1, False)[words.codes]


def _link(joined: JoinedRecords) -> None:
    """Find the household of each person, and the area of each household."""
    join, people, households = joined.join, joined.files[PEOPLE], joined.files[HOUSEHOLDS]
    rows, again = _unique_rows(households, join.key)
    if join.repeated == REFUSE:
        households.table.problems.rows(again, _LISTED_TWICE, join.key)
    keys, words = people.table.words[join.key], households.table.words[join.key]
    joined.home = _rows_of(keys, words, rows)
    there = _rows_of(keys, words, np.arange(len(words.values))) >= 0
    people.table.problems.rows(~there & (keys.codes >= 0), _NO_HOUSEHOLD, join.key)
    joined.home[people.left_out] = -1
    where = households
    if join.addresses is not None:
        where = joined.files[ADDRESSES]
        rows, twice = _unique_rows(where, join.key)
        where.table.problems.rows(twice, _LISTED_TWICE, join.key)
        joined.address = _rows_of(words, where.table.words[join.key], rows)
        households.table.problems.rows((joined.address < 0) & (words.codes >= 0), _NO_ADDRESS, join.key)
    unit = np.full(where.table.rows, -1, dtype=np.int64)
    if joined.tree is not None:
        counted = _located(joined) if where is not households else ~where.left_out
        unit = _areas(where, joined.tree, counted)
    joined.place = unit if joined.address is None else np.where(joined.address >= 0, unit[joined.address], -1)
    joined.place[households.left_out | again] = -1


def _areas(columns: RecordColumns, tree: Tree, counted: Mask) -> Integers:
    """Return the lowest area of each row that counts; those that have none are reported."""
    table = columns.table
    words = table.words[AREA]
    index = arrow("compute").index_in(words.values, value_set=tree.names).fill_null(-1)
    unit = np.append(index.to_numpy(), -1)[words.codes].astype(np.int64)
    table.problems.rows((unit < 0) & counted, "an area that is not among the areas", AREA)
    text = "an area with others below it: records are in the lowest areas"
    table.problems.rows((unit >= 0) & ~tree.leaf[unit] & counted, text, AREA)
    return np.where(counted, unit, -1)


def _check_numbers(joined: JoinedRecords, order: ContentOrder) -> None:
    """Keys that are hashed as numbers must be numbers."""
    if joined.join.key in order.integers:
        table = joined.files[PEOPLE].table
        words = table.words[joined.join.key]
        wrong = [not text.isdecimal() for text in words.values.to_pylist()]
        table.problems.rows(np.array([*wrong, False])[words.codes], "not a whole number", joined.join.key)


# -- cells ---------------------------------------------------------------------------------------------------


def _split_codes(join: Join, split: Split) -> NDArray[np.int32]:
    """Return the cell of each combination of the values of a split's attributes, or -1.

    >>> people, homes, tables = {"age": ["0-17", "18+"]}, {"own": ["y", "n"]}, {"all": JoinedTable(at_most=9)}
    >>> join = Join(key="address", people=people, households=homes, tables=tables)
    >>> _split_codes(join, Split((("child", ((("age", ("0-17",)), ("own", ("y",))),)),)))
    array([[ 0, -1],
           [-1, -1]], dtype=int32)
    """
    names = split.attributes
    table = np.full([len(join.values[name]) for name in names], -1, dtype=np.int32)
    for number, (_, boxes) in enumerate(split.cells):
        for box in boxes:
            words = dict(box)
            ranks = [
                [join.values[name].index(word) for word in words.get(name, join.values[name])]
                for name in names
            ]
            table[np.ix_(*ranks)] = number
    return table


def _rows_counted(joined: JoinedRecords, name: str) -> tuple[Integers, Integers]:
    """Return the records of a table's universe, without its limit, and their households."""
    table = joined.join.table(name)
    good = joined.meeting(table.where, people=False) & (joined.place >= 0)
    if table.of == HOUSEHOLDS:
        rows = np.flatnonzero(good)
        return rows, rows
    rows = np.flatnonzero(joined.universe(table.where))
    home = joined.home[rows]
    inside = good[home]
    return rows[inside], home[inside]


def _cells(joined: JoinedRecords, split: Split, rows: Integers, home: Integers) -> Integers:
    """Return the cell of each record in one split, -1 if it has none."""
    codes = [joined.of_rows(name, rows, home) for name in split.attributes]
    return _split_codes(joined.join, split)[tuple(codes)].astype(np.int64)


def _check_refused(joined: JoinedRecords) -> None:
    """Report records that a split has no cell for, if it says that each must have one."""
    done = set[tuple[str, str, Condition]]()
    join = joined.join
    for name, table in join.tables:
        strict = [label for label in table.by if join.split(label).otherwise == REFUSE]
        if not strict or joined.tree is None:
            continue
        rows, home = _rows_counted(joined, name)
        columns = joined.files[table.of].table
        for one in strict:
            split = join.split(one)
            if (one, table.of, table.where) in done:
                continue
            done.add((one, table.of, table.where))
            wrong = np.zeros(columns.rows, dtype=bool)
            wrong[rows[_cells(joined, split, rows, home) < 0]] = True
            text = f"a record that has no cell in {one!r}, by its {_and(split.attributes)}"
            columns.problems.rows(wrong, text, "all")


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def count_joined(release: Release, sources: JoinedSources, secret: bytes = b"") -> CountTable:
    """Validate the files of a join and count every table in every area; every problem is reported."""
    joined = examine_join(release, sources, secret)
    joined.problems.stop()
    join, tree = joined.join, joined.tree
    assert tree is not None
    names = list(dict.fromkeys(query.name for level in release.levels for query in level.queries))
    layout = Layout.of(release, tree, {name: strings(list(join.labels(name))) for name in names})
    vector = np.zeros(layout.size, dtype=np.int64)
    for name in names:
        counts, first = _table_counts(joined, name), layout.first(name)
        asked = np.flatnonzero(first >= 0)
        vector[first[asked][:, None] + np.arange(counts.shape[1])] = counts[asked]
    origins = tuple(
        columns.table.origin("records" if file == PEOPLE else file) for file, columns in joined.files.items()
    )
    people = joined.files[PEOPLE].table
    incomplete = joined.incomplete
    del joined

    def read(units: slice) -> Integers:
        return vector[layout.base[units.start] : layout.base[units.stop]].copy()

    return CountTable(layout, read, origins, people.format, people.rows, 0, incomplete)


def _table_counts(joined: JoinedRecords, name: str) -> Integers:
    """Return the counts of a table: one row for each area, one column for each cell."""
    tree, join, table = joined.tree, joined.join, joined.join.table(name)
    assert tree is not None
    rows, home = _rows_counted(joined, name)
    if table.of == PEOPLE and table.at_most is not None:
        kept = joined.limited(table)[rows]
        rows, home = rows[kept], home[kept]
    many = len(join.labels(name))
    cell, inside = np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=bool)
    for split in join.factors(name):
        code = _cells(joined, split, rows, home)
        inside &= code >= 0
        cell = cell * len(split.cells) + code
    key = joined.place[home[inside]] * many + cell[inside]
    counts = np.bincount(key, minlength=tree.size * many).reshape(tree.size, many).astype(np.int64)
    for part in reversed(tree.depths[1:]):
        begin = np.flatnonzero(np.diff(tree.parent[part], prepend=-1))
        counts[tree.parent[part][begin]] += np.add.reduceat(counts[part], begin, axis=0)
    return counts
