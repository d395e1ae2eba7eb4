"""What reduced noise does to tables and to a regression, on a synthetic population or a user's counts.

The papers' counts are not shipped. Instead a population is generated from one seed and uniform numbers alone,
the same on every machine:

- 24 states; the number of counties in a state, tracts in a county and blocks in a tract is 1 plus the whole
  part of an exponential with mean 7, 5 and 18: many small areas, few large ones.
- A block is empty with probability 0.35. Otherwise its size is the whole part of 1 plus a lognormal (mean of
  the logarithm 3.2 plus a tract effect of standard deviation 0.4, standard deviation 1.0): the median block
  has some twenty people, a few have a thousand.
- Each person is in one of ten groups. A tract's shares are normalised fourth powers of uniform numbers times
  fixed national shares, so that some groups are rare and some missing.
- For the regression 70 percent of the people, rounded, are adults. Each adult of a tract has a degree with
  probability 0.05 + 0.6 u^1.5, u uniform. Median earnings, in $1,000, are 20 + 60 times the true share, plus
  normal noise with standard deviation 4.
- The regression has the paper's seven kinds of areas. Metropolitan areas are runs of neighbouring counties of
  a state, county subdivisions runs of tracts of a county, ZIP code areas runs of tracts of a state; lengths
  are 1 plus the whole part of an exponential. Places are runs of blocks of a county, and four blocks in ten
  are in none.

Nothing here describes real places.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.answers.quantity import Style
from discreet.errors import InputError
from discreet.noise import DiscreteGaussian, sample
from discreet.studies.dhc import level_events, reduced_events
from discreet.studies.register import (
    Compared,
    Floats,
    Integers,
    Study,
    Value,
    Verdict,
    check_printed,
    check_range,
    made,
    printed,
)
from discreet.tables import Problems, ReadTable, read_table, stop_unless_usable

if TYPE_CHECKING:
    from discreet.noise import Entropy

SEED = 20200401
STATES, COUNTIES, TRACTS, BLOCKS = 24, 7.0, 5.0, 18.0
EMPTY, OUTSIDE = 0.35, 0.4
"""The share of blocks without people, and of blocks that are in no place."""
GROUPS = 10
_NATIONAL = np.array([0.28, 0.2, 0.14, 0.11, 0.09, 0.07, 0.05, 0.03, 0.02, 0.01])

NOISE_OF = {"Tract": "Tract Subset"}
"""A tract gets the noise of this level of the allocation; other levels get the noise of the same name."""
LARGEST = 10**12 - 1
"""The largest count of a user's own."""
DRAWS, REPEATS = 1_000_000, 2000
"""The least number of noisy counts for each level and noise; and the repetitions of the regression."""
AREAS = {
    "State": "State",
    "Metro or micro": "County",
    "County": "County",
    "Tract": "Tract",
    "County subdivision": "Tract",
    "Place": "Tract",
    "ZCTA": "Tract",
}
"""Areas of the regression with the level whose noise they get, which the paper does not say."""
EDUCATION = ("below_9th", "no_diploma", "high_school", "some_college", "associate", "bachelor")
"""Columns of the regression: the paper's six categories, the last one a bachelor's degree or higher."""
SLOPE, INTERCEPT, DEVIATION = 60.0, 20.0, 4.0
_BELOW = np.array([0.08, 0.12, 0.35, 0.3, 0.15])  # shares among those without a degree


class Uniforms:
    """Uniform numbers in (0, 1) from the seeded source of `discreet.testing`, and other laws from them.

    >>> Uniforms(1).uniform(3).round(4).tolist() == Uniforms(1).uniform(3).round(4).tolist()
    True
    """

    def __init__(self, seed: int) -> None:
        from discreet.testing import NotPrivateSeededEntropy

        self._source = NotPrivateSeededEntropy(seed)

    def uniform(self, size: int) -> Floats:
        """Return `size` independent uniform numbers of 53 bits."""
        raw = np.empty(8 * size, dtype=np.uint8)
        self._source.fill(raw)
        return ((raw.view("<u8") >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53

    def normal(self, size: int) -> Floats:
        """Return standard normal numbers, by Box and Muller."""
        return np.asarray(
            np.sqrt(-2 * np.log(self.uniform(size))) * np.cos(2 * math.pi * self.uniform(size)),
            dtype=np.float64,
        )

    def family(self, mean: float, size: int) -> Integers:
        """Return numbers of children: 1 plus the whole part of an exponential."""
        return (1 + np.floor(-mean * np.log(self.uniform(size)))).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticPopulation:
    """Counts of people by area (row) and group at each level."""

    levels: dict[str, Integers]
    parents: dict[str, Integers]

    @property
    def people(self) -> int:
        """The number of people."""
        return int(self.levels["State"].sum())

    def __str__(self) -> str:
        words = {"State": "states", "County": "counties", "Tract": "tracts", "Block": "blocks"}
        sizes = ", ".join(f"{counts.shape[0]:,} {words[name]}" for name, counts in self.levels.items())
        empty = float((self.levels["Block"].sum(axis=1) == 0).mean())
        part = Style.PLACES.quantity(100 * empty, 0)
        return f"synthetic: {self.people:,} people in {sizes}; {part} percent of blocks are empty"


def population(seed: int = SEED) -> SyntheticPopulation:
    """Generate the population of a seed.

    >>> people = population()
    >>> people.levels["Block"].sum() == people.levels["State"].sum()   # children add up to parents
    np.True_
    >>> print(people)   # doctest: +ELLIPSIS
    synthetic: ... people in 24 states, ... counties, ... tracts, ... blocks; 35 percent of blocks are empty
    """
    draw = Uniforms(seed)
    county_of = np.repeat(np.arange(STATES), draw.family(COUNTIES, STATES))
    tract_of = np.repeat(np.arange(county_of.size), draw.family(TRACTS, county_of.size))
    block_of = np.repeat(np.arange(tract_of.size), draw.family(BLOCKS, tract_of.size))
    effect = 0.4 * draw.normal(tract_of.size)
    sizes = np.floor(1 + np.exp(3.2 + effect[block_of] + draw.normal(block_of.size))).astype(np.int64)
    sizes[draw.uniform(block_of.size) < EMPTY] = 0
    shares = draw.uniform(tract_of.size * GROUPS).reshape(-1, GROUPS) ** 4 * _NATIONAL
    limits = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
    block = sorted_into(draw, sizes, limits[:, :-1], block_of)
    parents = {"County": county_of, "Tract": tract_of, "Block": block_of}
    return SyntheticPopulation(_all_levels(block, parents), parents)


def sorted_into(draw: Uniforms, sizes: Integers, limits: Floats, tract: Integers) -> Integers:
    """Assign the people of each block to groups, by the cumulative chances of its tract.

    >>> sorted_into(Uniforms(1), np.array([5, 0]), np.array([[1.0]]), np.array([0, 0])).tolist()
    [[5, 0], [0, 0]]
    """
    home, many = np.repeat(np.arange(sizes.size), sizes), limits.shape[1] + 1
    chance, group = draw.uniform(home.size), np.zeros(home.size, dtype=np.int64)
    for limit in limits.T:
        group += chance >= limit[tract[home]]
    return np.bincount(home * many + group, minlength=sizes.size * many).reshape(-1, many)


def _all_levels(block: Integers, parents: dict[str, Integers]) -> dict[str, Integers]:
    """Aggregate blocks to tracts, counties and states."""
    levels = {"Block": block}
    for level, below in (("Tract", "Block"), ("County", "Tract"), ("State", "County")):
        many = parents[level].size if level in parents else STATES
        levels[level] = np.zeros((many, block.shape[1]), dtype=np.int64)
        np.add.at(levels[level], parents[below], levels[below])
    return dict(reversed(levels.items()))


def noise_laws(levels: Sequence[str]) -> dict[str, tuple[Fraction, Fraction]]:
    """Return the variance of each level, before and after the reduction.

    >>> [round(float(v), 2) for v in noise_laws(["County"])["County"]]
    [16.12, 13.28]
    """
    before, after = level_events(), reduced_events()
    names = {level: NOISE_OF.get(level, level) for level in levels}
    return {level: (before[name].variance, after[name].variance) for level, name in names.items()}


# -- a user's own counts -------------------------------------------------------------------------------------


def read_block_counts(path: Path) -> dict[str, Integers]:
    """Read counts by level from a table with the columns level and count; others are ignored.

    Errors name lines and columns, never a value.
    """
    table = read_table(path, words=["level"], whole=["count"], of="counts", problems=Problems())
    _check(table, ["count"])
    table.problems.stop()
    level = np.array(_texts(table, "level"), dtype=object)
    return {name: table.numbers["count"][level == name] for name in dict.fromkeys(level.tolist())}


def read_education(path: Path) -> tuple[dict[str, Integers], dict[str, Floats], dict[str, str]]:
    """Read adults by education and median earnings by type of area, and each type's level of noise.

    The table has the columns level, the six of `EDUCATION`, earnings, and type if the type of an area is
    not its level: "place", say, with the noise of a tract.
    """
    table = read_table(
        path,
        words=["level"],
        optional=["type"],
        whole=EDUCATION,
        floats=["earnings"],
        of="areas",
        blank=["type"],
        problems=Problems(),
    )
    _check(table, EDUCATION)
    earnings = table.numbers["earnings"]
    table.problems.rows(~np.isfinite(earnings), "earnings are not a number", "earnings")
    level = _texts(table, "level")
    kinds = [kind or text for kind, text in zip(_texts(table, "type"), level, strict=True)]
    levels: dict[str, str] = {}
    other = [levels.setdefault(kind, text) != text for kind, text in zip(kinds, level, strict=True)]
    text = "a type has a second level; a type has one level's noise"
    table.problems.rows(np.array(other), text, "type" if "type" in table.words else "level")
    table.problems.stop()
    counts = np.column_stack([table.numbers[name] for name in EDUCATION])
    of = np.array(kinds, dtype=object)
    tables = {kind: counts[of == kind] for kind in levels}
    for kind, some in tables.items():
        share = _share(some[some.sum(axis=1) > 0])
        if share.size < 3 or share.min() == share.max():
            raise InputError(
                f"{path} has {share.size} areas of type {kind!r} with adults in them, or one share with "
                "a degree for all; a slope needs three areas or more whose shares differ"
            )
    return tables, {kind: earnings[of == kind] for kind in levels}, levels


def _texts(table: ReadTable, name: str) -> list[str]:
    """Return a column of texts, empty where there are none."""
    if name not in table.words:
        return [""] * table.rows
    words = [str(word).strip() for word in table.words[name].values.to_pylist()]
    return [words[code] if code >= 0 else "" for code in table.words[name].codes.tolist()]


def _check(table: ReadTable, counts: Sequence[str]) -> None:
    """Report levels that are not known, and numbers that cannot be counts; raise if it cannot be read."""
    stop_unless_usable(table)
    known = [*level_events(), *NOISE_OF]
    strange = np.array([text not in known for text in _texts(table, "level")])
    table.problems.rows(strange, f"a level is none of {', '.join(known)}", "level")
    for name in counts:
        numbers = table.numbers[name]
        text = "a count is not a whole number from 0 to 999,999,999,999"
        table.problems.rows((numbers < 0) | (numbers > LARGEST), text, name)


# -- errors of counts ----------------------------------------------------------------------------------------

MEASURES = {"MSE": 2, "MAE": 1}
"""Mean squared and mean absolute error, with the power of the error that is averaged."""
POSTS = {"none": "no post-processing", "non-negative": "non-negative"}
"""Kinds of post-processing, with their names in the register."""
SPREAD = {"MSE": 4.0, "MAE": math.pi - 2}
"""Twice the squared relative deviation of a squared, or absolute, normal error: for old and new noise."""
CELLS = "errors, authors' notebooks"
STATES_2010, COUNTIES_2010 = 52, 3221
"""Areas of the 2010 Census, with the District and Puerto Rico. States and tracts have 301 cells each; the
number for counties is not known, and the same is assumed."""


def accuracy(*, counts: Path | None = None, draws: int = DRAWS, seed: int = SEED) -> Study:
    """Compute mean squared and mean absolute errors by level, with and without non-negativity.

    Counts come from `population` or from a file; the noise is exact discrete Gaussian noise, from a seed.

    >>> study = accuracy(draws=20_000)
    >>> study.distinct("level")
    ['State', 'County', 'Tract', 'Block']
    """
    from discreet.testing import NotPrivateSeededEntropy

    people = population(seed)
    levels = {name: table.ravel() for name, table in people.levels.items()}
    if counts is not None:
        levels = read_block_counts(counts)
    source = NotPrivateSeededEntropy(seed + 1)
    mine: dict[tuple[str, str, str], tuple[Value, ...]] = {}
    for level, (before, after) in noise_laws(list(levels)).items():
        old, new = (_errors(levels[level], variance, draws, source) for variance in (before, after))
        for post, measure in product(POSTS, MEASURES):
            (was, spread), (now, spread_now) = old[post, measure], new[post, measure]
            error = 100 * (now / was) * math.hypot(spread / was, spread_now / now)
            expected = None
            if post == "none":
                expected = 100 * (1 - _moment(after, measure) / _moment(before, measure))
            row = (level, post, measure, was, now, 100 * (1 - now / was), error, expected)
            mine[level, post, measure] = row
    about = f"The population is {people}" if counts is None else f"Counts of {counts.name}"
    return made(
        "accuracy",
        "level post_processing measure old_noise new_noise reduction_percent standard_error expected_percent",
        list(mine.values()),
        _printed_errors(),
        data="SYNTHETIC population" if counts is None else counts.name,
        about=f"{about}; seed {seed}.",
    )


def _printed_errors() -> Iterator[Compared]:
    """Compare the printed reductions with what can be known without the counts.

    Without post-processing the reduction follows from the noise. With non-negativity it depends on the
    counts; the reduction for a whole table lies between the smallest and the largest of its cells.
    """
    (about,) = printed("pnas", "introduction, errors", "MSE, non-negative: reduction, percent").values()
    why = "the introduction does not say of which level, and section 3.2 has another number for each"
    yield check_printed(about, None, why=why)
    cells = {at: int(entry.text) for at, entry in printed("pnas", CELLS, "number of cells").items()}
    cells["County"] = COUNTIES_2010 * cells["State"] // STATES_2010
    shown = printed("pnas", "Figure 6, labels", "errors of tracts, non-negative")
    for measure, (post, words) in product(MEASURES, POSTS.items()):
        what = f"{measure}, {words}: reduction, percent"
        for at, entry in printed("pnas", "section 3.2, errors", what).items():
            noise = noise_laws([at])[at]
            labels = tuple(round(_moment(variance, measure), 2) for variance in noise)
            if post == "non-negative" and at == "Tract":
                labels = shown[f"{measure}, old noise"].value, shown[f"{measure}, reduced noise"].value
            ratio = 100 * (1 - labels[1] / labels[0])
            error = (100 - entry.value) * math.sqrt(SPREAD[measure] / cells[at])
            first, second = (Style.PLACES.quantity(label, 2) for label in labels[:2])
            said = f"the ratio of the labels {second} and {first}"
            if post == "none":
                expected = 100 * (1 - _moment(noise[1], measure) / _moment(noise[0], measure))
                many = f"{cells[at]:,} cells" + (", as for states" if at == "County" else "")
                reading = (Verdict.ROUNDED, ratio)
                yield check_printed(entry, expected, error=error, why=many, explained=said, otherwise=reading)
            elif at == "Tract" and entry.beyond(ratio) <= 0:
                low, high = cut_reductions(*noise, measure)
                least, most = (Style.PLACES.quantity(end, 2) for end in (low, high))
                limits = f"unrounded, any counts give between {least} and {most}"
                yield Compared(entry, ratio, Verdict.ROUNDED, f"{said} in Figure 6; {limits}")
            else:
                low, high = cut_reductions(*noise, measure)
                yield check_range(entry, low, high, error=error, why="whatever the counts are")


def cut_reductions(before: Fraction, after: Fraction, measure: str) -> tuple[float, float]:
    """Return the smallest and largest reduction, in percent, of the error of a count cut at zero.

    >>> [round(value, 2) for value in cut_reductions(*noise_laws(["State"])["State"], "MSE")]
    [12.01, 15.08]
    """
    reach = math.ceil(12 * math.sqrt(before))
    x = np.arange(-reach, reach + 1)
    errors = np.abs(np.maximum(x, -np.arange(reach + 1)[:, None])).astype(np.float64) ** MEASURES[measure]
    old, new = (errors @ DiscreteGaussian(variance=variance).pmf(x) for variance in (before, after))
    reductions = 100 * (1 - new / old)
    return float(reductions.min()), float(reductions.max())


def _errors(
    counts: Integers, variance: Fraction, draws: int, source: Entropy
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return mean errors with their standard errors, by post-processing and measure."""
    size = math.ceil(draws / counts.size), counts.size
    noisy = counts + sample(DiscreteGaussian(variance=variance), size, source=source)
    result = {}
    for (post, shown), measure in product(zip(POSTS, (noisy, np.maximum(noisy, 0)), strict=True), MEASURES):
        values = np.abs((shown - counts).astype(np.float64)) ** MEASURES[measure]
        result[post, measure] = float(values.mean()), float(values.std() / math.sqrt(values.size))
    return result


def _moment(variance: Fraction, measure: str) -> float:
    """Return E X^2 or E |X| of the noise."""
    x = np.arange(1, math.ceil(12 * math.sqrt(variance)))
    return float(2 * (x ** MEASURES[measure] * DiscreteGaussian(variance=variance).pmf(x)).sum())


# -- error of a slope ----------------------------------------------------------------------------------------


PRINTED_SLOPE = ("pnas", "section 3.4", "MAE of the slope: reduction, percent")


def slope(*, counts: Path | None = None, repeats: int = REPEATS, seed: int = SEED) -> Study:
    """Compute the mean absolute error of the slope of earnings on education, under old and reduced noise.

    For each type of area six counts of adults by education get the noise of its level and are cut at zero;
    the share with a degree is computed from them, and the slope by least squares over all areas with adults.

    >>> study = slope(repeats=20)
    >>> [row[0] for row in study.rows]
    ['State', 'Metro or micro', 'County', 'Tract', 'County subdivision', 'Place', 'ZCTA']
    """
    from discreet.testing import NotPrivateSeededEntropy

    source = NotPrivateSeededEntropy(seed + 2)
    adults, earnings, levels = _education(seed) if counts is None else read_education(counts)
    found_noises = noise_laws(list(levels.values()))
    rows = []
    for kind, table in adults.items():
        kept = table.sum(axis=1) > 0
        people, paid = table[kept], earnings[kind][kept]
        truth = float(_slopes(people[None], paid)[0])
        # at most a few hundred million counts are drawn
        often = max(10, min(repeats, 40_000_000 // people.size))
        (old, spread), (new, spread_new) = (
            (float(errors.mean()), float(errors.std() / math.sqrt(often)))
            for errors in (
                np.abs(_noisy_slopes(people, paid, variance, often, source) - truth)
                for variance in found_noises[levels[kind]]
            )
        )
        rows.append((kind, len(people), often, truth, old, spread, new, spread_new, 100 * (1 - new / old)))
    expected, low, high, chance = three_trials()
    (entry,) = printed(*PRINTED_SLOPE).values()
    old_label, new_label = printed("pnas", "Figure 8, labels", "MAE of the slope, State").values()
    why = (
        f"the ratio of the labels {new_label.text} and {old_label.text}, means of three trials; nine in "
        f"ten such reductions lie between {Style.PLACES.quantity(low, 0)} and "
        f"{Style.PLACES.quantity(high, 0)}, one in {Style.PLACES.quantity(1 / chance, 0)} is this large; "
        f"{Style.PLACES.quantity(expected, 1)} is expected from the variances"
    )
    return made(
        "slope",
        "area areas repetitions slope_without_noise mae_old_noise standard_error_old mae_new_noise "
        "standard_error_new reduction_percent",
        rows,
        [check_printed(entry, expected, chance=chance, why=why)],
        data="SYNTHETIC population" if counts is None else counts.name,
        about=f"Seed {seed}." if counts is None else f"Counts of {counts.name}; seed {seed}.",
    )


def noisy_education(kind: str, *, seed: int = SEED) -> dict[str, Floats]:
    """Return the regression's table for one kind of area: noisy adults and degrees, with what they hide.

    The six noisy counts, not cut at zero, add up to `adults`; `noise` is the variance of each. `share` is
    the true share with a degree. The noise comes from the seed and protects nobody.

    >>> table = noisy_education("Place")
    >>> list(table), len(table["earnings"]), round(float(table["noise"][0]), 3)
    (['earnings', 'degrees', 'adults', 'noise', 'share'], 783, 5.756)
    """
    from discreet.testing import NotPrivateSeededEntropy

    counts, earnings, levels = _education(seed)
    if kind not in counts:
        raise InputError(f"there are no areas of the kind {kind!r}; there are {', '.join(counts)}")
    kept = counts[kind].sum(axis=1) > 0
    people, law = counts[kind][kept], DiscreteGaussian(variance=noise_laws([levels[kind]])[levels[kind]][0])
    noisy = people + sample(law, people.shape, source=NotPrivateSeededEntropy(seed + 6))
    noise = np.full(len(people), law.true_variance())
    columns = (earnings[kind][kept], noisy[:, -1], noisy.sum(axis=1), noise, _share(people))
    names = ("earnings", "degrees", "adults", "noise", "share")
    return {name: column.astype(np.float64) for name, column in zip(names, columns, strict=True)}


def three_trials(trials: int = 200_000) -> tuple[float, float, float, float]:
    """Return what the mean absolute errors of three trials say about noise reduced like State's.

    In percent: the expected reduction, and the 5 % and 95 % quantiles of the observed one; and the chance of
    a reduction as large as printed.

    A slope's error is close to normal, with a standard deviation proportional to the noise's. From a seed.

    >>> [round(value) for value in three_trials()[:1]]
    [8]
    """
    before, after = noise_laws(["State"])["State"]
    factor = math.sqrt(after / before)
    draw = Uniforms(SEED + 4)
    old, new = (np.abs(draw.normal(3 * trials)).reshape(-1, 3).mean(axis=1) for _ in range(2))
    seen = 100 * (1 - factor * new / old)
    (entry,) = printed(*PRINTED_SLOPE).values()
    low, high = np.quantile(seen, [0.05, 0.95])
    return 100 * (1 - factor), float(low), float(high), float((seen >= entry.value).mean())


def _education(seed: int) -> tuple[dict[str, Integers], dict[str, Floats], dict[str, str]]:
    """Return counts of adults by six kinds of education, and median earnings, for all areas of each type."""
    people, draw = population(seed), Uniforms(seed + 3)
    share = 0.05 + 0.6 * draw.uniform(people.levels["Tract"].shape[0]) ** 1.5
    adults = np.rint(0.7 * people.levels["Block"].sum(axis=1)).astype(np.int64)
    limits = np.cumsum((1 - share)[:, None] * _BELOW, axis=1)
    blocks = sorted_into(draw, adults, limits, people.parents["Block"])
    homes = area_of_blocks(people, seed)
    counts = {}
    for kind in AREAS:
        home = homes[kind]
        counts[kind] = np.zeros((int(home.max()) + 1, blocks.shape[1]), dtype=np.int64)
        np.add.at(counts[kind], home[home >= 0], blocks[home >= 0])
    earnings = {
        kind: INTERCEPT + SLOPE * _share(table) + DEVIATION * draw.normal(len(table))
        for kind, table in counts.items()
    }
    return counts, earnings, dict(AREAS)


def area_of_blocks(people: SyntheticPopulation, seed: int) -> dict[str, Integers]:
    """Return for each kind of area the area of every block, -1 for none.

    >>> people = population()
    >>> homes = area_of_blocks(people, SEED)
    >>> [int(home.max()) + 1 for home in homes.values()][:3], bool((homes["Place"] < 0).any())
    ([24, 90, 181], True)
    """
    draw = Uniforms(seed + 5)
    tract = people.parents["Block"]
    county = people.parents["Tract"][tract]
    state = people.parents["County"][county]
    metro = _runs(draw, people.parents["County"], 2.0)
    subdivision = _runs(draw, people.parents["Tract"], 1.0)
    zcta = _runs(draw, people.parents["County"][people.parents["Tract"]], 2.0)
    of_place = _runs(draw, county, 30.0)
    inside = draw.uniform(tract.size) >= OUTSIDE
    return {
        "State": state,
        "Metro or micro": metro[county],
        "County": county,
        "Tract": tract,
        "County subdivision": subdivision[tract],
        "Place": np.where(inside, of_place, -1),
        "ZCTA": zcta[tract],
    }


def _runs(draw: Uniforms, parent: Integers, mean: float) -> Integers:
    """Number runs of neighbours with one parent; a length is 1 plus the whole part of an exponential."""
    starts = np.zeros(parent.size, dtype=bool)
    at = 0
    for length in draw.family(mean, parent.size):
        if at >= parent.size:
            break
        starts[at] = True
        at += int(length)
    starts[1:] |= parent[1:] != parent[:-1]
    return np.asarray(np.cumsum(starts) - 1, dtype=np.int64)


def _share(counts: Integers) -> Floats:
    """Return the share with a degree; zero if nobody is left."""
    return np.asarray(counts[..., -1] / np.maximum(counts.sum(axis=-1), 1), dtype=np.float64)


def _slopes(counts: Integers, earnings: Floats) -> Floats:
    """Return the least-squares slope of each repetition (row), over areas (columns) with anybody left."""
    share, weight = _share(counts), (counts.sum(axis=-1) > 0).astype(np.float64)
    many = weight.sum(axis=1)
    x = share - ((weight * share).sum(axis=1) / many)[:, None]
    return np.asarray((weight * x * earnings).sum(axis=1) / (weight * x * x).sum(axis=1), dtype=np.float64)


def _noisy_slopes(
    counts: Integers, earnings: Floats, variance: Fraction, often: int, source: Entropy
) -> Floats:
    law, most = DiscreteGaussian(variance=variance), max(1, 4_000_000 // counts.size)
    slopes = []
    for start in range(0, often, most):
        noise = sample(law, (min(most, often - start), *counts.shape), source=source)
        slopes.append(_slopes(np.maximum(counts + noise, 0), earnings))
    return np.concatenate(slopes)
