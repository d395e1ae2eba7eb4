"""The curator's report, confidential: sentences and tables for the screen, a page and a CSV file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

from discreet.files import csv_text
from discreet.numbers import percent
from discreet.release.safetab.curator import (
    CONFIDENTIAL,
    SIZES,
    CapSums,
    Curated,
    ErrorSums,
    GroupLine,
    size_name,
)

FAR = 4.0
"""Standard errors beyond which a share within the margin is marked; chance does it in 1 of 16,000 rows."""
MARK = " *"
ERROR_COLUMNS = ("numbers", "noise sd", "mean error", "MAE", "RMSE", "% within MOE")
BRACKETS = "In brackets: what the mechanism expects, suppression included."


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table of texts; the first `left` columns are names."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 2

    @property
    def marked(self) -> bool:
        """Whether a row is marked as far from what is expected."""
        return any(cell.endswith(MARK) for row in self.rows for cell in row)


def headline(found: Curated) -> list[str]:
    """Say in sentences whether the release is as accurate as the mechanism promises."""
    said = []
    total = sum((line.errors for line in found.errors if line.kind == "total"), ErrorSums())
    if total.numbers:
        drift = 1.96 * sqrt(_spread(total)) / total.numbers
        of = (
            f" of true counts with the same cap of {found.max_race_codes} {_word(found)} codes"
            if found.caps
            else ""
        )
        said.append(
            f"{percent(total.mean('within'))} of {total.numbers:,} released totals are within their "
            f"published margin of error{of}; the mechanism expects "
            f"{percent(total.mean('expected_within'))}, and chance moves that by {100 * drift:.2f} points "
            "either way."
        )
    if total.expected_square:
        ratio = total.root("square") / total.root("expected_square")
        said.append(f"The root mean square error is {ratio:.3f} times the expected one.")
    said += _cap_headline(found)
    groups, released, expected = _summed(line for line in found.groups if line.size)
    if groups:
        said.append(
            f"Below {found.tabulation.below}, {percent(1 - released / groups)} of the {groups:,} groups with "
            f"people in them were suppressed; expected {percent(1 - expected / groups)}."
        )
    return said


def _cap_headline(found: Curated) -> list[str]:
    """Say what the cap on race codes does, if there is one."""
    sums = sum((line.sums for line in found.caps), CapSums())
    if not sums.numbers:
        return []
    return [
        f"The cap of {found.max_race_codes} {_word(found)} codes adds an error that no margin covers: "
        f"{percent(sums.mean('within'))} of the totals are within their margin of true counts of all codes.",
        f"The cap leaves {sums.emptied:,} of the {sums.groups:,} groups that have people without any.",
    ]


def _word(found: Curated) -> str:
    return found.tabulation.answers.word


def _caps(found: Curated) -> Sheet:
    rows, levels, code = [], found.tabulation.workloads, _word(found)
    for line in found.caps:
        sums = line.sums
        if line.kind == found.tabulation.answers.kinds[2] or not sums.numbers:
            continue
        roots = (f"{sqrt(sums.mean(name)):.2f}" for name in ("noise_square", "square"))
        shares = (f"{100 * sums.mean(name):.1f}" for name in ("within_noise", "within"))
        rows.append(
            (
                line.geography,
                levels[line.level].word,
                line.kind,
                f"{sums.numbers:,}",
                _signed(sums.mean("noise")),
                _signed(sums.mean("cap")),
                " / ".join(roots),
                " / ".join(shares),
                f"{sums.emptied:,} of {sums.groups:,}",
            )
        )
    return Sheet(
        f"What the cap of {found.max_race_codes} {code} codes does to totals",
        "Mean error of the noise (released less true counts with the cap) and of the cap (those less true "
        f"counts of all {code} codes). RMSE and % within MOE: against true counts with the cap / with all "
        f"{code} codes. Emptied: groups with people that the cap leaves without any. Groups of an "
        f"{found.tabulation.answers.one_word} have no cap.",
        ("geography", "level", "groups", "numbers", "noise", "cap", "RMSE", "% within MOE", "emptied"),
        tuple(rows),
        left=3,
    )


def sheets(found: Curated) -> list[Sheet]:
    """Return the tables of the report."""
    levels = found.by(lambda line: (line.geography, line.level), kinds=("total",))
    tables = found.by(lambda line: (line.table, line.kind))
    ladders, words = found.tabulation.ladders.values(), found.tabulation.workloads
    files = ", ".join(one.totals for one in ladders)
    return [
        _errors(
            "Totals by geography and level",
            f"Group totals ({files}). Mean error is released minus true. {BRACKETS}",
            ("geography", "level"),
            ((geography, words[level].word, errors) for (geography, level), errors in levels.items()),
        ),
        *([_caps(found)] if found.caps else []),
        *(_sizes(found, level) for level in words),
        _errors(
            "All numbers by table",
            f"By the table that the first stage selected for a group. {BRACKETS}",
            ("table", "number"),
            (
                (f"{rung.name} {rung.title}", _kind_words(kind), tables[rung.name, kind])
                for ladder in ladders
                for rung in ladder.rungs
                for kind in ladder.kinds
                if (rung.name, kind) in tables
            ),
        ),
        _suppression(found),
    ]


def _kind_words(kind: str) -> str:
    return kind if kind in ("total", "cell") or kind.startswith("sum ") else f"sum over one {kind}"


def _sizes(found: Curated, level: int) -> Sheet:
    tabulation = found.tabulation
    by_level = found.by(
        lambda line: (line.level, tabulation.is_below(line.geography), line.size), kinds=("total",)
    )
    summed = {(below, size): errors for (own, below, size), errors in by_level.items() if own == level}
    where, word = tabulation.sides, tabulation.workloads[level].word
    return _errors(
        f"{word[:1].upper()}{word[1:]} totals by size of the group",
        f"Size is the true count. A small group below {tabulation.below} is only published if noise raised "
        f"it, so its mean error is above zero by design. {BRACKETS}",
        ("where", "true size"),
        ((where[below], size_name(size), summed[below, size]) for below, size in sorted(summed)),
    )


def _errors(
    title: str, note: str, names: tuple[str, str], rows: Iterable[tuple[str, str, ErrorSums]]
) -> Sheet:
    made = tuple((first, second, *error_texts(errors)) for first, second, errors in rows)
    return Sheet(title, note, (*names, *ERROR_COLUMNS), made)


def error_texts(errors: ErrorSums) -> tuple[str, ...]:
    """Write the errors of one row."""
    far = abs(errors.within - errors.expected_within) > FAR * sqrt(_spread(errors)) + 0.5
    return (
        f"{errors.numbers:,}",
        f"{errors.root('variance'):.1f}",
        f"{_signed(errors.mean('error'))} ({_signed(errors.mean('expected_error'))})",
        f"{errors.mean('absolute'):.2f}",
        f"{errors.root('square'):.2f} ({errors.root('expected_square'):.2f})",
        f"{100 * errors.mean('within'):.1f} ({100 * errors.mean('expected_within'):.1f})" + MARK * far,
    )


def _signed(value: float) -> str:
    """Write a mean error; one that is zero in all its digits has no sign.

    >>> _signed(1.004), _signed(-0.0001)
    ('+1.00', '0.00')
    """
    return "0.00" if abs(value) < 0.005 else f"{value:+.2f}"


def _spread(errors: ErrorSums) -> float:
    """Return the variance of how many are within, if they were independent with one chance."""
    share = errors.mean("expected_within")
    return max(0.0, errors.numbers * share * (1 - share))


def _suppression(found: Curated) -> Sheet:
    rows = []
    for level, workload in found.tabulation.workloads.items():
        word = workload.word
        for size in range(len(SIZES)):
            lines = (one for one in found.groups if (one.level, one.size) == (level, size))
            groups, released, expected = _summed(lines)
            if groups:
                shares = (1 - released / groups, 1 - expected / groups)
                # a share that is very near to one keeps the digits that tell it from one
                texts = (f"{100 * one:.3f} %" if 0.99 < one < 1 else percent(one) for one in shares)
                rows.append((word, size_name(size), f"{groups:,}", f"{released:,}", *texts))
    below = found.tabulation.below
    note = f"Groups of regions below {below}, by true size; one of size 0 that is released is noise alone."
    columns = ("level", "true size", "groups", "released", "suppressed", "expected")
    return Sheet("Suppression by size of the group", note, columns, tuple(rows))


def _summed(lines: Iterable[GroupLine]) -> tuple[int, int, float]:
    """How many groups there are of those that may be suppressed, how many released, and how many expected."""
    cut = [line for line in lines if line.suppressing]
    released, expected = sum(line.released for line in cut), sum(line.expected for line in cut)
    return sum(line.groups for line in cut), released, expected


def table_csv(found: Curated) -> str:
    """Return the finest table, one line for each geography, level, table, kind of number and size."""
    rows = [line.as_dict() for line in found.errors]
    texts = [[f"{x:.6g}" if isinstance(x, float) else x for x in row.values()] for row in rows]
    return f"# {CONFIDENTIAL}\n" + (csv_text(list(rows[0]), texts) if rows else "")


def page(found: Curated) -> str:
    """Return the report as one HTML page that loads nothing."""
    from discreet.report.html import environment

    template = environment().get_template("curator")
    return template.render(
        found=found, confidential=CONFIDENTIAL, headline=headline(found), sheets=sheets(found), star=star()
    )


def star() -> str:
    """Explain the mark."""
    return (
        f"* more than {FAR:g} standard errors from the expectation: unlikely to be chance for independent "
        "numbers."
    )
