"""What a release is and what it costs, in words and in rows.

The words of a committee, the list of presets, the noise of each query, and the privacy tables: exact values
beside what zCDP says, of one account or of two compared. How a number is written says `discreet.numbers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet import numbers
from discreet.budget import AnswerKind, Neighbours, Release, Row, load_preset, preset_names
from discreet.budget.levels import CaseLabel, level_name
from discreet.numbers import Exact, Interval, fraction

if TYPE_CHECKING:
    from discreet.accounting.calibration import Calibration, NoiseChange
    from discreet.accounting.comparisons import ZCDP
    from discreet.accounting.overall import Account
    from discreet.estimation import Accuracy

_CAUTIONS = (
    "upper bound",
    "not modelled",
    "simplification",
    "earlier allocation than",
    "outside the guarantee",
)
_ABOUT_PATHS = "not been published"


def label(case: CaseLabel) -> str:
    """Write a case: a pair of paths, a path, or those of several releases.

    >>> label((6, 6)), label((13,)), label(((6, 6), (1, 2)))
    ('(6, 6)', '13', '(6, 6) and (1, 2)')
    """
    if case and isinstance(case[0], tuple):
        return " and ".join(label(part) for part in case)
    return str(case[0]) if len(case) == 1 else f"({', '.join(map(str, case))})"


def heading(release: Release) -> str:
    """Write the name of a release and its title, if it has one.

    >>> from discreet.budget import load
    >>> heading(load("dhc-2022-08-25"))[:27]
    'dhc-2022-08-25: 2020 Census'
    """
    return f"{release.name}: {release.title}" if release.title else release.name


def records(unit: str, many: int) -> str:
    """Write so many persons, households or housing units.

    >>> records("person", 1), records("housing unit", 3)
    ('one person', '3 housing units')
    """
    return f"one {unit}" if many == 1 else f"{many} {unit}s"


def relation(neighbours: Neighbours, unit: str = "person", people: int = 1) -> str:
    """Say in words which two databases must be hard to tell apart.

    >>> relation("bounded"), relation("unbounded", "household", 2)
    ('one person replaced by another', '2 households added or removed')
    """
    who = records(unit, people)
    if neighbours == "unbounded":
        return f"{who} added or removed"
    return f"{who} replaced by another" if people == 1 else f"{who} replaced by others"


def compared(account: Account) -> str:
    """Say how many cases were compared.

    >>> from discreet.budget import load
    >>> from discreet.accounting.overall import account
    >>> compared(account(load("dhc-2020"))), compared(account(load("dhc-2022-08-25")))
    ('946 pairs of paths compared', 'One path')
    """
    one, many = ("One pair of paths", "pairs of paths")
    if isinstance(account.main[0], tuple):
        one, many = ("One combination of paths", "combinations of paths")
    elif account.neighbours == "unbounded":
        one, many = ("One path", "paths")
    return one if account.pairs == 1 else f"{account.pairs} {many} compared"


def cautions(release: Release, *, all_paths: bool = True) -> list[str]:
    """Return why an answer is not exact, and the notes that limit how it may be read.

    A note on which paths are taken matters only if all of them are.

    >>> from discreet.budget import load
    >>> cautions(load("sdhc-2020"))[0][:21]
    'Each table is treated'
    """
    phrases = (*_CAUTIONS, _ABOUT_PATHS) if all_paths else _CAUTIONS
    notes = [note for note in release.notes if any(phrase in note.lower() for phrase in phrases)]
    claim = release.claim if all_paths or len(release.paths) == 1 else release.claim.of_one_path()
    return [*claim.reasons, *notes]


# -- releases ----------------------------------------------------------------------------------------------


def rho_total(release: Release) -> Fraction | None:
    """Return the rho of a release under the neighbours it was calibrated for; none with Laplace noise.

    >>> from discreet.budget import load
    >>> rho_total(load("dhc-2020"))
    Fraction(24811, 5000)
    """
    if any(level.has_laplace for level in release.levels):
        return None
    return sum((level.spent(release.neighbours) for level in release.levels), Fraction(0))


def all_presets() -> list[Release]:
    """Return every preset, by name.

    >>> [release.name for release in all_presets()][:1]
    ['ddhca-2020']
    """
    return [load_preset(name) for name in preset_names()]


def preset_object(release: Release) -> dict[str, object]:
    """Return the few facts of a release that a list shows, for JSON."""
    rho = rho_total(release)
    return {
        "name": release.name,
        "title": release.title,
        "unit": release.unit,
        "neighbours": release.neighbours,
        "rho": None if rho is None else str(rho),
        "paths": len(release.paths),
    }


def release_object(release: Release) -> dict[str, object]:
    """Return all of a release for JSON: exact numbers as texts, with the floats beside them.

    >>> from discreet.budget import load
    >>> level = release_object(load("dhc-2022-08-25"))["levels"][1]
    >>> level["name"], level["queries"][0]["variance_exact"]
    ('State', '50000/10001')
    """
    noise = levels_of(release)
    return {
        **preset_object(release),
        "main_path": release.main,
        "levels": [
            {
                "name": level.name,
                "rho": None if level.has_laplace else str(level.spent(release.neighbours)),
                "queries": [_query_object(row) for row in noise[level.name]],
            }
            for level in release.levels
        ],
        "path_levels": {str(path): ["+".join(run) for run in release.runs(path)] for path in release.paths},
        "answer": release.claim.as_dict(),
        "sources": list(release.sources),
        "notes": list(release.notes),
    }


def _query_object(row: Row) -> dict[str, object]:
    noise: dict[str, object] = {"name": row.query, "noise": "discrete Gaussian"}
    if row.variance is not None:
        noise |= {"variance": float(row.variance), "variance_exact": str(row.variance)}
    elif row.scale is not None:
        noise |= {"noise": "discrete Laplace", "scale": float(row.scale), "scale_exact": str(row.scale)}
    return noise | {
        "rho": None if row.rho is None else str(row.rho),
        "share": None if row.share is None else str(row.share),
        "sensitivity": row.event.sensitivity,
        "groups": row.event.times,
    }


def levels_of(release: Release) -> dict[str, list[Row]]:
    """Return the noise of each level's queries where nothing is merged, whether or not such a path occurs.

    >>> from discreet.budget import load
    >>> list(levels_of(load("pl94-2020-units")))[:2]
    ['US', 'State']
    """
    return {level.name: list(release.run_table((level.name,))) for level in release.levels}


@dataclass(frozen=True, slots=True)
class NoiseLine:
    """Queries of a level that have equal noise; 95 % of the time it is within `margin`."""

    level: str
    queries: tuple[str, ...]
    row: Row
    variance: float
    deviation: float
    margin: int


def noise_lines(release: Release) -> tuple[NoiseLine, ...]:
    """Return the noise of each level, queries of equal noise together.

    >>> from discreet.budget import load
    >>> line = noise_lines(load("dhc-2022-08-25"))[1]
    >>> line.level, len(line.queries), round(line.deviation, 3), line.margin
    ('State', 10, 2.236, 4)
    """
    lines = []
    for level, rows in levels_of(release).items():
        alike: dict[object, list[Row]] = {}
        for row in rows:
            alike.setdefault((row.event, row.share), []).append(row)
        for same in alike.values():
            noise, names = same[0].single(), tuple(one.query for one in same)
            variance = noise.true_variance()
            lines.append(NoiseLine(level, names, same[0], variance, variance**0.5, noise.margin()))
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class MarginLine:
    """Queries of a level that are equally accurate: standard deviations and 95 % margins.

    `noise` is None where the level does not ask the query. `estimate` is None where no estimates were asked
    for, and has None in it where no measurement determines the query.
    """

    level: str
    queries: tuple[str, ...]
    noise: tuple[float, int] | None
    estimate: tuple[float | None, float | None] | None = None


def margin_lines(release: Release, estimates: Accuracy | None = None) -> tuple[MarginLine, ...]:
    """Return the noise of each level beside the best estimates, queries that are alike in both together.

    A query that a level does not ask has a line of its own if it can be estimated there.

    >>> from discreet.budget import load
    >>> from discreet.estimation import accuracy
    >>> release = load("pl94-2020")
    >>> line = next(one for one in margin_lines(release, accuracy(release)) if one.noise is None)
    >>> line.level, line.queries, round(line.estimate[1], 1)
    ('US', ('total',), 15.0)
    """
    noise = {
        (line.level, name): (line.deviation, line.margin)
        for line in noise_lines(release)
        for name in line.queries
    }
    asked = dict.fromkeys((level, row.query) for level, rows in levels_of(release).items() for row in rows)
    best = {} if estimates is None else {k: (v.sd, v.margin95) for k, v in estimates.by_query.items()}
    known = (place for place, found in best.items() if found[0] is not None)
    order = {level.name: place for place, level in enumerate(release.levels)}
    alike: dict[tuple[str, object, object], list[str]] = {}
    for level, name in sorted({**asked, **dict.fromkeys(known)}, key=lambda place: order[place[0]]):
        alike.setdefault((level, noise.get((level, name)), best.get((level, name))), []).append(name)
    return tuple(
        MarginLine(level, tuple(names), noise.get((level, names[0])), best.get((level, names[0])))
        for (level, _, _), names in alike.items()
    )


def path_text(release: Release, path: int) -> str:
    """Write the levels of a path, merged ones joined by a plus.

    >>> from discreet.budget import load
    >>> path_text(load("dhc-2020"), 4)
    'US, State + County, Primitive geography + Tract subset group + Tract subset + Block group, Block'
    """
    return ", ".join(level_name("+".join(run)) for run in release.runs(path))


def only_path(release: Release) -> str:
    """Say which levels the only path of a release merges.

    >>> from discreet.budget import load
    >>> only_path(load("dhc-2022-08-25"))
    'One path: no levels are merged.'
    """
    if all(len(run) == 1 for run in release.runs(release.main)):
        return "One path: no levels are merged."
    return f"One path: {path_text(release, release.main)}. Noise is shown for each level by itself."


def matching_noise(first: Release, second: Release) -> list[tuple[str, NoiseChange]]:
    """Return levels and noise of all queries that stand under the same names in both releases.

    >>> from discreet.budget import load
    >>> level, query = matching_noise(load("dhc-2020-persons"), load("dhc-2020-persons-pr"))[0]
    >>> level, query.name, str(query.before), str(query.after)
    ('State', 'age_18_64_116 * relgq_4_groups', '10000/999', '10000/1009')
    """
    from discreet.accounting.calibration import NoiseChange

    other = {(level, row.query): row for level, rows in levels_of(second).items() for row in rows}
    return [
        (level, NoiseChange(row.query, (row.event, match.event)))
        for level, rows in levels_of(first).items()
        for row in rows
        if (match := other.get((level, row.query))) is not None
    ]


@dataclass(frozen=True, slots=True)
class VarianceLine:
    """Queries of a level whose noise changes alike: variances and 95 % margins before and after."""

    level: str
    queries: tuple[str, ...]
    before: Fraction
    after: Fraction
    margins: tuple[int, int]

    @property
    def change(self) -> float:
        """By what part the variance changes; negative if it becomes smaller."""
        return float(self.after / self.before - 1)


def variance_lines(changes: Iterable[tuple[str, NoiseChange]]) -> tuple[VarianceLine, ...]:
    """Return changes, each with its level, with queries that change alike together."""
    alike: dict[tuple[str, Fraction, Fraction, tuple[int, int]], list[str]] = {}
    for level, one in changes:
        alike.setdefault((level, one.before, one.after, one.margins), []).append(one.name)
    return tuple(
        VarianceLine(level, tuple(names), before, after, margins)
        for (level, before, after, margins), names in alike.items()
    )


def calibrated_lines(found: Calibration) -> tuple[VarianceLine, ...]:
    """Return the noise of a calibration before and after."""
    return variance_lines((level.name, query) for level in found.levels for query in level.queries)


def scaled_sizes(release: Release) -> str:
    """Say what a factor on all noise is on: a Laplace scale is multiplied by its root.

    >>> from discreet.budget import load
    >>> scaled_sizes(load("dhc-2020"))
    'variances'
    """
    if not any(level.has_laplace for level in release.levels):
        return "variances"
    gaussian = any(query.scale is None for level in release.levels for query in level.queries)
    return "variances and squares of Laplace scales" if gaussian else "squares of scales"


# -- what they cost ----------------------------------------------------------------------------------------

DELTAS = ("1e-5", "1e-10", "1e-15", "1e-20")
"""Deltas of the default table; the second is the one the US Census Bureau reports at."""


@dataclass(frozen=True, slots=True)
class PrivacyRow:
    """One point of the exact curve beside zCDP's (Bun and Steinke).

    `zcdp` is an epsilon in a row that was asked by its delta, and a delta in one asked by its epsilon;
    `certified`, if there, provably contains the exact value that stands beside it.
    """

    epsilon: float
    delta: float
    zcdp: float
    worst: CaseLabel
    certified: Interval | None = None
    accuracy: float = 0.0
    """How far the number that was asked for may be off: a delta relatively, an epsilon absolutely."""

    def digits(self, asked: str, most: int) -> int:
        """How many digits of the epsilon or delta that was asked for hold."""
        value = self.epsilon if asked == "epsilon" else self.delta
        return numbers.count_of_digits(value, self.accuracy * (1.0 if asked == "epsilon" else value), most)

    @property
    def paths(self) -> set[int]:
        """The paths of the worst case; none where several releases are accounted for together."""
        return {path for path in self.worst if isinstance(path, int)}


def zcdp_of(account: Account) -> ZCDP:
    """Return what zCDP says of an account: the curve of the largest rho among its cases.

    >>> from discreet.budget import load
    >>> from discreet.accounting.overall import account
    >>> zcdp_of(account(load("dhc-2022-08-25"))).rho
    Fraction(73, 20)
    """
    from discreet.accounting.comparisons import ZCDP

    return ZCDP.from_rho(account.rho)


def epsilon_rows(
    account: Account,
    deltas: Sequence[Exact] = DELTAS,
    *,
    zcdp: ZCDP | None = None,
    certified: bool = False,
    digits: int | None = None,
) -> list[PrivacyRow]:
    """Return a row for each delta: the smallest epsilon, not below zero, for which the promise holds.

    >>> from discreet.budget import load
    >>> from discreet.accounting.overall import account
    >>> row, = epsilon_rows(account(load("dhc-2022-08-25")), ["1e-10"])
    >>> round(row.epsilon, 4), round(row.zcdp, 4), row.worst
    (20.3247, 21.9851, (1,))
    """
    return _rows(account, "delta", deltas, zcdp, certified, digits)


def delta_rows(
    account: Account,
    epsilons: Sequence[Exact],
    *,
    zcdp: ZCDP | None = None,
    certified: bool = False,
    digits: int | None = None,
) -> list[PrivacyRow]:
    """Return a row for each epsilon: the smallest delta for which the promise holds.

    >>> from discreet.budget import load
    >>> from discreet.accounting.overall import account
    >>> row, = delta_rows(account(load("dhc-2022-08-25")), [20])
    >>> f"{row.delta:.4g} {row.zcdp:.4g}"
    '2.151e-10 1.117e-08'
    """
    return _rows(account, "epsilon", epsilons, zcdp, certified, digits)


def _rows(
    account: Account,
    given: str,
    values: Sequence[Exact],
    zcdp: ZCDP | None,
    certified: bool,
    digits: int | None,
) -> list[PrivacyRow]:
    wanted = [fraction(value, name=given) for value in values]
    if not wanted:
        return []
    zcdp = zcdp or zcdp_of(account)
    boxes: Sequence[Interval | None] = [None] * len(wanted)
    if given == "epsilon":
        points, bounds = account.at_epsilon(wanted), [zcdp.delta(epsilon=float(x)) for x in wanted]
        if certified:
            boxes = list(account.delta(epsilon=wanted, certified=True, digits=digits))
    else:
        points, bounds = account.at_delta(wanted), [zcdp.epsilon(delta=float(x)) for x in wanted]
        # the promise with a negative epsilon is stronger than asked for; zero will do
        points = [replace(point, epsilon=max(point.epsilon, 0.0)) for point in points]
        if certified:
            proved = account.epsilon(delta=wanted, certified=True, digits=digits)
            boxes = [Interval(max(box.lower, Fraction(0)), max(box.upper, Fraction(0))) for box in proved]
    return [
        PrivacyRow(point.epsilon, point.delta, bound, point.worst, box, point.accuracy)
        for point, bound, box in zip(points, bounds, boxes, strict=True)
    ]


def difference(gap: float, doubt: float) -> str:
    """Write a difference of two epsilons with the digits that hold.

    >>> difference(-1.88407, 0.0), difference(-1.88407, 1e-3)
    ('-1.8841', '-1.88')
    """
    if gap == 0 or doubt < 1e-5:
        return numbers.change(gap)
    return f"{gap:+.{numbers.count_of_digits(gap, doubt, 4)}g}"


@dataclass(frozen=True, slots=True)
class PrivacyTable:
    """What one release, or several together, cost: rows by delta and by epsilon, and how to read them."""

    releases: Sequence[Release]
    account: Account
    by_delta: Sequence[PrivacyRow]
    by_epsilon: Sequence[PrivacyRow] = ()
    digits: int | None = None

    def tables(self) -> Iterator[tuple[str, str, Sequence[PrivacyRow]]]:
        """Yield what was given, what was asked, and the rows."""
        if self.by_delta:
            yield "delta", "epsilon", self.by_delta
        if self.by_epsilon:
            yield "epsilon", "delta", self.by_epsilon

    def certified(self) -> Iterator[tuple[str, float, str, str, str]]:
        """Yield what was given, its value, what was asked, and both ends of the proved interval."""
        for given, asked, rows in self.tables():
            for row in rows:
                if row.certified is not None:
                    yield given, getattr(row, given), asked, *numbers.interval(row.certified, self.digits)

    def cautions(self) -> list[tuple[Release | None, str]]:
        """What limits how the result may be read, with the release that it is about."""
        found: list[tuple[Release | None, str]] = []
        if len(self.releases) > 1 and self.account.claim.kind is AnswerKind.MAIN:
            text = (
                "Only the main path of each release is accounted for, the one that merges nothing; "
                "other combinations of paths may cost a little more. --all-pairs compares them all."
            )
            found.append((None, text))
        for release in self.releases:
            if release.neighbours != self.account.neighbours:
                who = relation(release.neighbours, release.unit)
                text = f"The noise was calibrated for {release.neighbours} neighbours ({who})."
                found.append((release, text))
            notes = cautions(release, all_paths=self.account.pairs > 1)
            found += [(release, text) for text in notes]
        return found

    def as_dict(self) -> dict[str, object]:
        """Return what JSON says: the ends of proved intervals with all their digits."""
        account, results = self.account, []
        for given, asked, rows in self.tables():
            for row in rows:
                result = {given: getattr(row, given), asked: getattr(row, asked), f"zcdp_{asked}": row.zcdp}
                result["worst"] = row.worst
                if account.accuracy is not None:
                    result["accuracy"] = row.accuracy
                if row.certified is not None:
                    lower, upper = numbers.interval(row.certified, self.digits)
                    result |= {"lower": Decimal(lower), "upper": Decimal(upper)}
                results.append(result)
        return {
            "release": account.name,
            "releases": [release.name for release in self.releases],
            "unit": account.unit,
            "neighbours": account.neighbours,
            "people": account.people,
            "rho": str(account.rho),
            "pairs": account.pairs,
            "answer": account.claim.as_dict(),
            "results": results,
            "cautions": [text for _, text in self.cautions()],
        }


@dataclass(frozen=True, slots=True)
class TwoReleases:
    """Two releases at the same deltas."""

    a: PrivacyTable
    b: PrivacyTable

    @property
    def rows(self) -> list[tuple[PrivacyRow, PrivacyRow]]:
        """The rows of both, delta by delta."""
        return list(zip(self.a.by_delta, self.b.by_delta, strict=True))

    @property
    def noise(self) -> list[tuple[str, NoiseChange]]:
        """Levels and noise of the queries that stand under the same names in both."""
        return matching_noise(self.a.releases[0], self.b.releases[0])

    @property
    def differences(self) -> list[str]:
        """Why the two epsilons may not mean the same."""
        a, b = self.a.account, self.b.account
        lines = []
        if a.neighbours != b.neighbours:
            lines.append(
                f"A is about {a.neighbours} and B about {b.neighbours} neighbours, so the two "
                "epsilons promise different things; --neighbours accounts for both in the same way."
            )
        if a.unit != b.unit:
            lines.append(f"A protects a {a.unit}, B a {b.unit}.")
        return lines

    def __str__(self) -> str:
        """Say which of the two promises more."""
        pairs = self.rows
        signs = {_sign(one.epsilon, two.epsilon) for one, two in pairs}
        if signs == {0}:
            return "Both have the same epsilon at every delta shown, to the digits shown."
        if {1, -1} <= signs:
            return "Neither promises more throughout: which epsilon is smaller depends on delta."
        lower, higher = ("A", "B") if 1 in signs else ("B", "A")
        one, two = next((pair for pair in pairs if pair[0].delta == 1e-10), pairs[0])
        digits = min(row.digits("epsilon", numbers.DIGITS) for row in (one, two))
        kinds = {"A": self.a.account.claim.kind, "B": self.b.account.claim.kind}
        if kinds[lower] not in (AnswerKind.EXACT, AnswerKind.BOUND) or kinds[higher] is not AnswerKind.EXACT:
            return (
                f"At delta {numbers.plain(one.delta)} A has epsilon "
                f"{kinds['A'].beside(one.epsilon, digits)} and B "
                f"{kinds['B'].beside(two.epsilon, digits)}: these numbers do not show which promises more."
            )
        small, large = sorted((one.epsilon, two.epsilon))
        is_bound = kinds[lower] is AnswerKind.BOUND
        small_text = kinds[lower].beside(small, digits) if is_bound else numbers.number(small, digits)
        few = numbers.count_of_digits(large - small, one.accuracy + two.accuracy, 3)
        gap = f"{numbers.number(large - small, few)} ({numbers.percent((large - small) / large)})"
        gap = f"at least {gap}" if is_bound else gap
        return (
            f"At delta {numbers.plain(one.delta)} {lower} has epsilon {small_text}, "
            f"{gap} less than {higher}'s {numbers.number(large, digits)}: {lower} promises more."
        )

    def as_dict(self) -> dict[str, object]:
        """Return what JSON says."""
        return {
            **{
                letter: preset_object(side.releases[0])
                | {
                    "accounted": side.account.neighbours,
                    "answer": side.account.claim.as_dict(),
                    "accounted_rho": str(side.account.rho),
                    "pairs": side.account.pairs,
                }
                for letter, side in (("a", self.a), ("b", self.b))
            },
            "results": [
                {
                    "delta": one.delta,
                    "a": {"epsilon": one.epsilon, "zcdp_epsilon": one.zcdp, "worst": one.worst},
                    "b": {"epsilon": two.epsilon, "zcdp_epsilon": two.zcdp, "worst": two.worst},
                    "difference": two.epsilon - one.epsilon,
                }
                for one, two in self.rows
            ],
            "variances": [
                {
                    "level": level,
                    "query": query.name,
                    "a": query.texts[0],
                    "b": query.texts[1],
                    "ratio": float(query.after / query.before),
                }
                for level, query in self.noise
            ],
            "comparable": not self.differences,
        }


def _sign(first: float, second: float) -> int:
    """Which is larger, to the digits shown."""
    if numbers.number(first) == numbers.number(second):
        return 0
    return 1 if second > first else -1
