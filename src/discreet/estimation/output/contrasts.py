"""Differences and ratios: of areas, of queries, and of two releases of the same tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.areas.layout import Layout
from discreet.areas.output import Columns, arrow
from discreet.areas.tree import Tree
from discreet.errors import InputError
from discreet.estimation.estimates import Moments
from discreet.estimation.input.joint_estimates import Chances, Found, JointEstimates, name_of_query
from discreet.estimation.input.sampling import SampledPair, SamplingErrors
from discreet.estimation.intervals import close_ends
from discreet.estimation.output.estimate_table import in_real_numbers, joined_columns
from discreet.estimation.output.own_areas import flat_tree
from discreet.tables import Numbers

Compared = tuple[str, Moments, SampledPair | None, Fraction]
"""The kind of a contrast, its two estimates with their noise, with their sampling errors if given, and what
one unit of it is worth."""

CONTRASTS = {
    "difference": "interval: as that of a count, not rounded and not cut at zero",
    "ratio": "interval: Fieller's, the ratios r that the error of numerator - r denominator allows; empty: "
    "the denominator is not clearly different from zero. sd: by the delta method",
    "errors": "law of the sum of all noises, to the safe side; in large tables a Gaussian's half-width, and "
    "half of the largest weight of a noise",
}


@dataclass(frozen=True)
class Contrast:
    """A difference or ratio of two areas (in all queries), or of two queries (in all units)."""

    kind: str
    one: str
    two: str
    areas: tuple[Found, Found] | None

    @property
    def name(self) -> str:
        """What it is called in a table: A - B, or A / B."""
        first, second = (
            (self.one, self.two) if self.areas else (name_of_query(self.one), name_of_query(self.two))
        )
        return f"{first} {'-' if self.kind == 'difference' else '/'} {second}"


def named_contrasts(
    pairs: Sequence[tuple[str, tuple[str, str]]],
    unions: Mapping[str, Found],
    wanted: Sequence[str],
    joint_estimates: JointEstimates,
) -> list[Contrast]:
    """Return what is asked for: kinds, each with the names of two areas or two queries."""
    names = joint_estimates.tree.names.to_pylist()
    queries = {name_of_query(query): query for query in wanted}

    def area(name: str) -> Found | None:
        if name in unions or name not in names:
            return unions.get(name)
        return joint_estimates.union(np.array([names.index(name)]))

    contrasts = []
    for kind, pair in pairs:
        one, two = (area(name) for name in pair)
        if one is not None and two is not None:
            if not any(here and there for here, there in zip(one, two, strict=True)):
                raise InputError(f"{pair[0]!r} and {pair[1]!r} are of releases that differ; none has both")
            contrasts.append(Contrast(kind, *pair, (one, two)))
            continue
        first, second = (queries.get(name_of_query(name)) for name in pair)
        if first is None or second is None:
            some = one is not None or two is not None
            sides = zip(pair, (one, two), (first, second), strict=True)
            bad = next(name for name, area, query in sides if area is None and (some or query is None))
            raise InputError(
                f"{bad!r} is not an area, so there is nothing to compare; queries can be "
                f"compared if they are among those that are wanted ({', '.join(queries)})"
            )
        cells = [len(joint_estimates.names(query)) for query in (first, second)]
        if cells[1] not in (1, cells[0]):
            raise InputError(
                f"query {pair[0]!r} has {cells[0]} cells and {pair[1]!r} {cells[1]}; cells are compared one "
                "by one, or all of them with a single one"
            )
        if kind == "difference" and joint_estimates.adds_up(first) != joint_estimates.adds_up(second):
            raise InputError(
                f"{pair[0]!r} and {pair[1]!r} add up different things, which have no difference; a ratio "
                "(--ratio) they have"
            )
        contrasts.append(Contrast(kind, first, second, None))
    return contrasts


def _compared(
    kind: str,
    noise: Moments,
    sampled: SampledPair | None,
    scale: Fraction,
    chances: Chances,
    places: int,
    counts: bool,
) -> dict[str, Numbers]:
    """Return the columns of a difference or ratio in some of so many `places`.

    `scale` is what one unit of a difference is worth, or of a ratio its numerator's unit over that of its
    denominator.
    """
    return in_real_numbers(_in_units(kind, noise, sampled, chances, places, counts), scale)


def _in_units(
    kind: str, noise: Moments, sampled: SampledPair | None, chances: Chances, places: int, counts: bool
) -> dict[str, Numbers]:
    """Return the columns of a difference or ratio of numbers of units."""

    def at(level: float | None) -> Moments:
        return noise if sampled is None else sampled.added(noise, level)

    moments = at(None)
    if kind == "difference":
        if sampled is not None and sampled.covariance is None:
            raise InputError(
                "the difference of two tables needs the covariance of their sampling errors, which variances "
                "do not tell; give replicate estimates"
            )
        values, slope = moments.a - moments.b, np.ones_like(moments.a)
        columns = {"estimate": values, "sd": np.sqrt(moments.variances(slope))}
        for name, level in chances:
            width = at(level).widths(slope, level)
            ends = close_ends(values, width) if counts else (values - width, values + width)
            columns[f"lower{name}"], columns[f"upper{name}"] = ends
        return columns
    # an exact zero, but for rounding
    b = np.where((np.abs(moments.b) < 1e-9) & counts, 0.0, moments.b)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(b != 0, moments.a / b, np.nan)
        columns = {"estimate": values, "sd": np.sqrt(moments.variances(values)) / np.abs(b)}
    for name, level in chances:
        columns[f"lower{name}"], columns[f"upper{name}"] = at(level).ratio_ends(b, values, level, places)
    return columns


def _beside(
    queries: Iterable[Sequence[Compared]], chances: Chances, places: int, counts: bool
) -> dict[str, Numbers]:
    """Return the columns of differences and ratios: those of one query one below the other."""
    tables = []
    for some in queries:
        made = [_compared(*numbers, chances, places, counts) for numbers in some]
        tables.append({name: np.concatenate([columns[name] for columns in made]) for name in made[0]})
    return joined_columns(tables)


def _scale(joint_estimates: JointEstimates, kind: str, first: str, second: str) -> Fraction:
    """Return what one unit of a difference or a ratio of two queries is worth."""
    return joint_estimates.step(first) / (joint_estimates.step(second) if kind == "ratio" else 1)


def contrast_blocks(
    joint_estimates: JointEstimates,
    contrasts: Sequence[Contrast],
    unions: Mapping[str, Found],
    queries: Sequence[str],
    chances: Chances,
    tree: Tree,
    sampling: SamplingErrors | None = None,
) -> Iterator[tuple[Layout, dict[str, Numbers] | Columns]]:
    """Yield contrasts of areas, query by query, then contrasts of queries, unit by unit and area by area."""

    def both(kind: str, a: Found, query: str, b: Found, its: str) -> Compared:
        sampled = None if sampling is None else sampling.pair(a, query, b, its)
        return (
            kind,
            joint_estimates.moments(a, query, b, its),
            sampled,
            _scale(joint_estimates, kind, query, its),
        )

    of_areas = [(contrast, *contrast.areas) for contrast in contrasts if contrast.areas is not None]
    if of_areas:
        flat = flat_tree([contrast.name for contrast, _, _ in of_areas], "contrast")
        got = ([both(contrast.kind, a, query, b, query) for contrast, a, b in of_areas] for query in queries)
        yield (
            joint_estimates.layout(flat, queries),
            _beside(got, chances, len(of_areas), joint_estimates.counts),
        )
    of_queries = [contrast for contrast in contrasts if contrast.areas is None]
    if not of_queries:
        return
    cells = {contrast.name: joint_estimates.names(contrast.one) for contrast in of_queries}

    def of(places: int, *some: Found) -> dict[str, Numbers]:
        got = (
            [both(contrast.kind, at, contrast.one, at, contrast.two) for at in some]
            for contrast in of_queries
        )
        return _beside(got, chances, places, joint_estimates.counts)

    every = Layout.same(tree, cells)
    yield every, lambda units, _: of(tree.size, joint_estimates.at(np.arange(units.start, units.stop)))
    if unions:
        yield Layout.same(flat_tree(list(unions), "area"), cells), of(len(unions), *unions.values())


def changes_since(
    now: JointEstimates,
    before: JointEstimates,
    tree: Tree,
    named: Sequence[str],
    wanted: Sequence[str],
    chances: Chances,
) -> tuple[Layout, Columns]:
    """Return the layout and columns of changes: difference and ratio of each cell now and before."""
    index = arrow("compute").index_in(tree.names, value_set=before.tree.names).fill_null(-1).to_numpy()
    shared = np.flatnonzero(index >= 0)
    if not shared.size:
        raise InputError("no area of the earlier release is among the areas, so there is no change to give")
    queries = []
    for query in wanted:
        able = any(group.answers(query) for group in before.groups)
        same = able and now.adds_up(query) == before.adds_up(query)
        if same and now.names(query).equals(before.names(query)):
            queries.append(query)
        elif named:
            reason = "has other cells in" if same else "adds up something else in"
            reason = reason if able else "cannot be answered by"
            raise InputError(f"query {query!r} {reason} the earlier release, so there is no change to give")
    if not queries:
        raise InputError("no query is the same in the earlier release, so there is no change to give")
    names = tree.names.take(arrow().array(shared))
    some = Tree(np.full(shared.size, -1), tree.kind[shared], (0,), tree.levels, names)

    def columns(units: slice, _: slice) -> dict[str, Numbers]:
        here = shared[units]
        there = index[here].astype(np.int64)
        parts = now.at(here), before.at(there)
        tables = []
        for query in queries:
            first, second = (
                joint_estimates.moments(part, query, part, query)
                for joint_estimates, part in zip((now, before), parts, strict=True)
            )
            step = now.step(query)
            table = in_real_numbers({"now": first.a, "before": second.a}, step)
            both = Moments.change(first, second)
            for kind, prefix in (("difference", ""), ("ratio", "ratio_")):
                scale = _scale(now, kind, query, query)
                columns = _compared(
                    kind, both, None, scale, chances, shared.size, now.counts and before.counts
                )
                table[kind] = columns.pop("estimate")
                table |= {f"{prefix}{name}": column for name, column in columns.items()}
            tables.append(table)
        return joined_columns(tables)

    return now.layout(some, queries), columns
