"""The authors' tables of the 2020 DHC: all published deltas beside ours, and why they differ.

The authors of the sieve paper publish the delta of all 946 pairs of paths at 42 epsilons in their repository
(appendix E). These are truncated sums: the second tail of

    delta(eps) = P[S > eps - R/2] - e^eps P[S > eps + R/2]

ends at U, so e^eps P[S > U] is not subtracted. `Cut` is that end, from the settings of the authors' program
(code/eps_delta_curve.py): the tolerance 1e-35, and lattice points rounded up to the next 10,000. Where the
threshold lies beyond U their sum runs backwards, and the same formula holds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from discreet.accounting.account import account
from discreet.accounting.parallel import Progress, map_cases
from discreet.accounting.privacy_loss import compose
from discreet.answers.quantity import Style
from discreet.budget import load
from discreet.errors import InputError
from discreet.loss.contour import Kind
from discreet.loss.lattice import Loss
from discreet.noise import Noise
from discreet.studies.register import Study, made
from discreet.tables import read_table

PRESET = "dhc-2020"
TOLERANCE, MULTIPLE = 1e-35, 10_000
"""Settings of the authors' program: the tolerance, and the lattice points of which U is a multiple."""

COLUMNS = ("path", "other", "delta_zcdp", "epsilon", "delta")
OWN_COLUMNS = ("delta_zcdp", "epsilon", "delta_fdp")
"""Columns of the authors' own files, one file for each pair."""
_OWN_FILE = re.compile(r"eps_delta_curve_path_(\d+)_to_(\d+)\.csv")
_NUMBER = re.compile(r"\d{1,4}(\.\d{0,400})?([eE][+-]?\d{1,3})?")

_TELLS = 1e-13  # beyond this floats can tell a published delta from ours
_SHALLOW, _DEEP = 1e-10, 1e-15


@dataclass(frozen=True)
class Cut:
    """Where the authors' sums of one pair end, and what lies beyond.

    >>> from discreet.accounting.account import account
    >>> whole = account(load(PRESET))
    >>> cut = Cut.of(whole.events((13, 13)))
    >>> f"{cut.units:,}", f"{cut.mass:.3g}"
    ('410,000', '5.05e-39')
    """

    events: tuple[Noise, ...]
    units: int
    """U, in lattice points."""
    end: Fraction
    """U, as a value of S."""

    @classmethod
    def of(cls, events: Iterable[Noise]) -> Cut:
        """Return the cut of a pair's events."""
        kept = tuple(events)
        loss = Loss(kept)
        reach = math.sqrt(2 * float(loss.R) * math.log(8 / TOLERANCE)) / float(loss.step)
        units = MULTIPLE * math.ceil(math.ceil(reach) / MULTIPLE)
        return cls(kept, units, units * loss.step)

    @cached_property
    def mass(self) -> float:
        """P[S > U]."""
        loss = compose(self.events)
        # under the alternative the loss is S + R/2
        (log,) = loss.law.log_tails(Kind.ALT, [self.end + Loss(self.events).R / 2])
        return math.exp(log)

    def published(self, epsilon: float, delta: float) -> float:
        """Return a true delta as changed by the cut."""
        return delta + math.expm1(epsilon) * self.mass

    def second_term(self, epsilon: float) -> tuple[float, float]:
        """Return e^epsilon P[S > epsilon + R/2], and the same with the cut."""
        (log,) = compose(self.events).law.log_tails(Kind.NULL, [Fraction(epsilon)])
        term = math.exp(epsilon + log)
        return term, term - math.exp(epsilon) * self.mass


class PublishedDelta(NamedTuple):
    """One row of the authors' tables."""

    zcdp: float
    epsilon: Fraction
    delta: float


Pair = tuple[int, int]


def read_published_deltas(path: Path) -> dict[Pair, list[PublishedDelta]]:
    """Read published deltas by pair: from one table, or from a folder of the authors' files."""
    deltas: dict[Pair, list[PublishedDelta]] = {}
    if path.is_dir():
        files = [
            (file, match) for file in sorted(path.iterdir()) if (match := _OWN_FILE.fullmatch(file.name))
        ]
        for file, match in files:
            pair = _pair(file, "the name", match[1], match[2])
            deltas[pair] = [_delta(file, line, row, OWN_COLUMNS) for line, row in _rows(file, OWN_COLUMNS)]
        if not files:
            raise InputError(f"{path} has no file eps_delta_curve_path_I_to_J.csv of the authors' repository")
        return deltas
    for line, row in _rows(path, COLUMNS):
        pair = _pair(path, line, row["path"], row["other"])
        deltas.setdefault(pair, []).append(_delta(path, line, row, COLUMNS[2:]))
    return deltas


def _rows(path: Path, needed: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield rows as texts, of which no digit is lost, and where they stand."""
    table = read_table(path, words=needed, of="deltas")
    texts = {name: (table.words[name].codes, table.words[name].values.to_pylist()) for name in needed}
    for row in range(table.rows):
        yield table.problems.line(row), {name: words[codes[row]] for name, (codes, words) in texts.items()}


def _pair(path: Path, line: str, *texts: str) -> Pair:
    paths = load(PRESET).paths
    numbers = [int(text) if re.fullmatch(r"\d{1,4}", text.strip()) else 0 for text in texts]
    for text, number in zip(texts, numbers, strict=True):
        if number not in paths:
            raise InputError(
                f"{line} of {path} has path {text!r}; the paths of {PRESET} are {paths[0]} to {paths[-1]}"
            )
    return min(numbers), max(numbers)


def _delta(path: Path, line: str, row: dict[str, str], names: tuple[str, ...]) -> PublishedDelta:
    values = []
    for name, most in zip(names, (1, 700, 1), strict=True):
        text = row[name].strip()
        value = Fraction(text) if _NUMBER.fullmatch(text) else Fraction(0)
        if not 0 < value <= most:
            raise InputError(f"{name} in {line} of {path} is {text!r}; it must lie in (0, {most}]")
        values.append(value)
    return PublishedDelta(float(values[0]), values[1], float(values[2]))


# -- the study ---------------------------------------------------------------------------------------------


class _Beside(NamedTuple):
    """One published delta beside ours, and beside ours with the cut."""

    published: float
    mine: float
    with_cut: float

    @property
    def excess(self) -> float:
        """The relative excess of the published delta over ours."""
        return self.published / self.mine - 1


def _of_pair(task: tuple[tuple[Noise, ...], list[Fraction]]) -> list[tuple[float, float]]:
    """Return our deltas of one pair, without and with the cut."""
    events, epsilons = task
    cut = Cut.of(events)
    mine = np.exp(compose(events).law.log_deltas(epsilons)).tolist()
    return [(delta, cut.published(float(e), delta)) for e, delta in zip(epsilons, mine, strict=True)]


def dhc_tables(*, tables: Path, jobs: int = 1, progress: Progress | None = None) -> Study:
    """Compare published deltas of the 2020 DHC with ours, by the zCDP delta that fixes the epsilon."""
    published = read_published_deltas(tables)
    whole = account(load(PRESET))
    tasks = [(whole.events(pair), [row.epsilon for row in rows]) for pair, rows in published.items()]
    results = map_cases(_of_pair, tasks, jobs=jobs, progress=progress)
    groups: dict[tuple[float, Fraction], dict[Pair, _Beside]] = {}
    for (pair, rows), mine in zip(published.items(), results, strict=True):
        for row, (delta, with_cut) in zip(rows, mine, strict=True):
            group = groups.setdefault((row.zcdp, row.epsilon), {})
            if pair in group:
                raise InputError(f"{tables} has pair {pair} twice at epsilon {float(row.epsilon):.6g}")
            group[pair] = _Beside(row.delta, delta, with_cut)
    table = [_summary(*at, groups[at]) for at in sorted(groups, reverse=True)]
    columns = (
        "zcdp_delta epsilon pairs least_excess largest_excess main_gap least_c largest_c "
        "largest_gap_with_cut published_overall overall"
    )
    many = sum(len(rows) for rows in published.values())
    return made("dhc-tables", columns, table, many=many, **_classes(groups))


def _summary(zcdp: float, epsilon: Fraction, by_pair: dict[Pair, _Beside]) -> tuple[float | None, ...]:
    excess = [delta.excess for delta in by_pair.values()]
    main = by_pair.get((13, 13))
    # the excess divided by e^epsilon, where floats can resolve it
    missing = [(delta.published - delta.mine) / math.exp(epsilon) for delta in by_pair.values()]
    shown = min(excess) > _TELLS
    return (
        zcdp,
        float(epsilon),
        len(by_pair),
        min(excess),
        max(excess),
        None if main is None else abs(main.excess),
        min(missing) if shown else None,
        max(missing) if shown else None,
        max(abs(delta.published / delta.with_cut - 1) for delta in by_pair.values()),
        max(delta.published for delta in by_pair.values()),
        max(delta.mine for delta in by_pair.values()),
    )


def _classes(groups: dict[tuple[float, Fraction], dict[Pair, _Beside]]) -> dict[str, str]:
    """Return the text of the notes: where both agree, what the excess is, and what the cut explains."""
    shallow = [delta for (zcdp, _), row in groups.items() if zcdp >= _SHALLOW for delta in row.values()]
    deep = {
        (zcdp, epsilon, pair): delta
        for (zcdp, epsilon), row in groups.items()
        if zcdp < _DEEP
        for pair, delta in row.items()
    }
    said = {"shallow": "It has none where zCDP's delta is 1e-10 or more.", "deep": "", "cut": ""}
    if shallow:
        gap = max(abs(delta.excess) for delta in shallow)
        said["shallow"] = (
            "Where zCDP's delta is 1e-10 or more they agree with ours to "
            f"{Style.POWER.quantity(gap, 1)} ({len(shallow):,})."
        )
    if deep:
        lost = [(delta.published - delta.mine) / math.exp(epsilon) for (_, epsilon, _), delta in deep.items()]
        (_, _, pair), worst = max(deep.items(), key=lambda item: item[1].excess)
        said["deep"] = (
            f"Below 1e-15 they exceed ours by c e^epsilon, c from {Style.BRIEF.quantity(min(lost), 3)} to "
            f"{Style.BRIEF.quantity(max(lost), 3)}: pair "
            f"{pair} is {Style.PLACES.quantity(1 + worst.excess, 1)} times too large at the deepest."
        )
        main = [delta.excess for (_, _, pair), delta in deep.items() if pair == (13, 13)]
        if main:
            most = Style.PLACES.quantity(1 + max(main), 1)
            said["deep"] += f" The main pair, at most {most} times, is among the mildest."
    gap = max(abs(delta.published / delta.with_cut - 1) for row in groups.values() for delta in row.values())
    said["cut"] = (
        "With the sum cut at U, where the authors' program ends it, all agree to "
        f"{Style.POWER.quantity(gap, 1)}: c is P[S > U]. "
        "What is left is far below their tolerance, 1e-35 times e^epsilon."
    )
    return said
