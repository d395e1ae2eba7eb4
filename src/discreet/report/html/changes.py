"""Before and after: two releases side by side, and their differences in words."""

from __future__ import annotations

from fractions import Fraction

from discreet.budget import Release
from discreet.numbers import Interval
from discreet.report import words
from discreet.report.html import sentences
from discreet.report.html.facts import Facts
from discreet.report.html.markup import Group, Markup, el, join, markup, name, table
from discreet.report.html.sections import few_names, margin, paragraph, section
from discreet.report.releases import VariancePair, levels_of, matching_variances, rho_total
from discreet.risk.profile import DIGITS


def side_by_side(after: Facts, before: Facts) -> Markup:
    """Return the section that compares two states."""
    points = [el("li", text) for text in [*_verdicts(after, before), *_noise_words(after, before)]]
    parts: list[object] = [el("ul", *points), _numbers(after, before)]
    margins = _margins(after.release, before.release)
    if margins is not None:
        parts.append(margins)
    return section(
        "changes",
        "Before and after",
        paragraph("Before: ", _called(before.release), ". After: ", _called(after.release), "."),
        *parts,
    )


def _called(release: Release) -> Markup:
    if not release.title:
        return name(release.name)
    return el("span", name(release.name), " (", name(release.title), ")")


def _numbers(after: Facts, before: Facts) -> Markup:
    rows: list[list[object]] = []
    for old, new in zip(before.rows, after.rows, strict=True):
        rows.append(
            [
                join(["Exact epsilon at delta ", sentences.small(new.delta)]),
                _proved(words.number(old.epsilon), old.certified, "ε"),
                _proved(words.number(new.epsilon), new.certified, "ε"),
                sentences.minus(words.change(new.epsilon - old.epsilon)),
            ]
        )
    old_row, new_row = before.headline, after.headline
    rows.append(
        [
            join(["zCDP epsilon at delta ", sentences.small(new_row.delta)]),
            words.number(old_row.zcdp),
            words.number(new_row.zcdp),
            sentences.minus(words.change(new_row.zcdp - old_row.zcdp)),
        ]
    )
    shown = [f"{100 * one.guess.accuracy:.2f}" for one in (before, after)]
    rows.append(
        [
            "Best guess right, times in 100",
            _proved(shown[0], before.guess.certified, "chance", DIGITS),
            _proved(shown[1], after.guess.certified, "chance", DIGITS),
            # of what is shown: a change that rounds to nothing is none
            sentences.minus(f"{float(shown[1]) - float(shown[0]):+.2f}") if shown[0] != shown[1] else "0",
        ]
    )
    totals = rho_total(before.release), rho_total(after.release)
    cells = ["–" if total is None else words.with_fraction(total) for total in totals]
    gap = "–" if None in totals else sentences.minus(words.change(float((totals[1] or 0) - (totals[0] or 0))))
    rows.append(["Total rho", *cells, gap])
    return table("The headline numbers", ["", "before", "after", "change"], [Group(None, rows)])


def _proved(text: str, box: Interval | None, symbol: str, digits: int | None = None) -> Markup:
    """A number, and below it its proof if there is one."""
    if box is None:
        return markup(text)
    return join([text, el("br"), sentences.enclosed(box, symbol, digits)])


def _verdicts(after: Facts, before: Facts) -> list[object]:
    """Say what changes for privacy, and whether the two can be compared at all."""
    said: list[object] = []
    if after.account.neighbours != before.account.neighbours:
        said.append(
            f"Before is about {before.account.neighbours} neighbours and after about "
            f"{after.account.neighbours} ones: the two epsilons promise different things."
        )
    if after.account.unit != before.account.unit:
        said.append(f"Before protects a {before.account.unit}, after a {after.account.unit}.")
    old, new = before.headline, after.headline
    at = join(["at delta ", sentences.small(new.delta)])
    texts = words.number(old.epsilon), words.number(new.epsilon)
    if texts[0] == texts[1]:
        said.append(join(["Epsilon ", at, f" is the same to the digits shown, {texts[0]}."]))
    else:
        more = new.epsilon > old.epsilon
        gap = abs(new.epsilon - old.epsilon)
        share = f" ({words.percent(gap / old.epsilon)})" if old.epsilon > 0 else ""
        what = (
            f" {'rises' if more else 'falls'} from {texts[0]} to {texts[1]}, by "
            f"{words.number(gap, 3)}{share}: the release promises {'less' if more else 'more'} privacy."
        )
        said.append(join(["Epsilon ", at, what]))
    if _turns(after, before):
        said.append("At other deltas it is the other way round: see the table.")
    first, second = sentences.times(before.guess.upper), sentences.times(after.guess.upper)
    if first == second:
        said.append(f"The best guess of any adversary is right at most {first}, before and after.")
    else:
        said.append(f"The best guess of any adversary is right at most {second}, where it was {first}.")
    return said


def _turns(after: Facts, before: Facts) -> bool:
    pairs = zip(before.rows, after.rows, strict=True)
    signs = {
        new.epsilon > old.epsilon
        for old, new in pairs
        if words.number(old.epsilon) != words.number(new.epsilon)
    }
    return len(signs) == 2


def _noise_words(after: Facts, before: Facts) -> list[str]:
    """Say level by level what happens to the noise."""
    pairs = matching_variances(before.release, after.release)
    by_level: dict[str, list[VariancePair]] = {}
    for pair in pairs:
        by_level.setdefault(pair.level, []).append(pair)
    said, same = [], []
    for level, found in by_level.items():
        ratios = {pair.second / pair.first for pair in found}
        if ratios == {Fraction(1)}:
            same.append(level)
        elif len(ratios) == 1:
            said.append(f"Level “{level}”: {_changed(found[0].second / found[0].first)} in every query.")
        else:
            low, high = min(ratios), max(ratios)
            said.append(
                f"Level “{level}”: variances times {words.number(float(low), 4)} to "
                f"{words.number(float(high), 4)}, depending on the query."
            )
    if len(said) > 1 and len({text.partition(": ")[2] for text in said}) == 1 and not same:
        said = [f"All {len(said)} levels: {said[0].partition(': ')[2]}"]
    if same:
        where = "every level" if len(same) == len(by_level) else ", ".join(f"“{level}”" for level in same)
        said.append(f"Noise unchanged at {where}.")
    return said + _gone_and_new(after.release, before.release)


def _changed(ratio: Fraction) -> str:
    gap = abs(1 - ratio)
    return f"{words.percent(float(gap))} {'more' if ratio > 1 else 'less'} variance"


def _gone_and_new(after: Release, before: Release) -> list[str]:
    old = {(level, row.query) for level, rows in levels_of(before) for row in rows}
    new = {(level, row.query) for level, rows in levels_of(after) for row in rows}
    said = []
    for word, left in (("No longer there", old - new), ("New", new - old)):
        if left:
            levels = sorted({level for level, _ in left})
            shown = ", ".join(f"“{level}”" for level in levels[:8]) + (
                " and others" if len(levels) > 8 else ""
            )
            many = f"{len(left)} {'query' if len(left) == 1 else 'queries'}"
            said.append(f"{word}: {many} at {shown}.")
    return said


def _margins(after: Release, before: Release) -> Markup | None:
    groups: dict[str, dict[tuple[Fraction, Fraction], list[str]]] = {}
    for pair in matching_variances(before, after):
        groups.setdefault(pair.level, {}).setdefault((pair.first, pair.second), []).append(pair.query)
    if not groups:
        return None
    made = [
        Group(
            name(level),
            [
                [
                    few_names(names),
                    words.plain(old),
                    words.plain(new),
                    margin(old),
                    margin(new),
                    sentences.minus(f"{100 * float(new / old - 1):+.2f} %") if new != old else "0",
                ]
                for (old, new), names in found.items()
            ],
        )
        for level, found in groups.items()
    ]
    columns = ["level", "query", "variance before", "after", "margin before", "after", "variance change"]
    return table("Noise where level and query have the same names in both", columns, made, left=(0, 1))
