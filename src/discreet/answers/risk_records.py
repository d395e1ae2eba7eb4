"""The risk of everyone in the data: how many people, of how many, and who of them is unique."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Column,
    Fact,
    Paragraph,
    Part,
    Sentence,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.figure import (
    PLACES,
    Axis,
    Item,
    Line,
    MapAreas,
    Notation,
    Panel,
    Picture,
    Points,
    Rule,
    points,
)
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style, count_quantity
from discreet.answers.record_example import (
    decisions_picture,
    decisions_table,
    example_parts,
    examples_table,
)
from discreet.budget.level_names import level_name
from discreet.budget.scope import Scope
from discreet.disclosure.records import EDGES, POSTERIORS, RATIOS, AreaRisk, PeopleRisk, RecordsRisk
from discreet.errors import InputError
from discreet.rehearsal import NOT_PRIVATE

CONFIDENTIAL = "CONFIDENTIAL: made from the records, without noise. For the curator; not for publication."

_ROWS = (
    Column(key="prior"),
    Column("adversary", is_text=True),
    Column(key="adversary"),
    Column(key="kind"),
    Column(key="who"),
    Column("people", "people"),
    Column(key="mean_prior"),
    Column("mean posterior", "mean_posterior"),
    Column("mean ratio", "mean_ratio"),
    *(Column(key=f"expected_ratio_above_{Style.BRIEF.quantity(mark)}") for mark in RATIOS),
    *(Column(key=f"expected_posterior_above_{Style.BRIEF.quantity(mark)}") for mark in POSTERIORS),
    Column(key="standard_error_of_mean_posterior"),
    Column(key="standard_error_of_expected_ratio_above_2"),
    Column("ratio > 2: expected"),
    Column("drawn"),
    Column("posterior > 1/2: expected"),
    Column("drawn"),
    *(Column(key=f"drawn_ratio_above_{Style.BRIEF.quantity(mark)}") for mark in RATIOS),
    *(Column(key=f"drawn_posterior_above_{Style.BRIEF.quantity(mark)}") for mark in POSTERIORS),
    Column(key="drawn_mean_posterior"),
    Column(key="drawn_mean_ratio"),
    Column("largest ratio", "drawn_largest_ratio"),
    Column(key="drawn_quantiles"),
)
_TWO, _HALF = RATIOS.index(2.0), POSTERIORS.index(0.5)
_SIZES = (
    Column(key="prior"),
    Column("others and target", "size", is_text=True),
    Column("people", "people"),
    Column("mean posterior", "mean_posterior"),
    Column("mean ratio", "mean_ratio"),
    Column("drawn above ratio 2", "drawn_ratio_above_2"),
)
_OFFS = (
    Column(key="prior"),
    Column("published less known", "off"),
    Column("chance", "chance"),
    Column("posterior", "posterior"),
    Column("ratio", "ratio"),
    Column("people drawn", "people_drawn"),
)
_AREAS = tuple(
    Column(key=key)
    for key in (
        "prior",
        "level",
        "unit",
        "people",
        "uniques",
        "mean_posterior",
        "mean_ratio",
        "expected_ratio_above_2",
        "drawn_mean_ratio",
        "drawn_ratio_above_2",
        "drawn_largest_ratio",
    )
)


@describes(RecordsRisk)
def records_answer(risk: RecordsRisk) -> Answer:
    """Say about how many people how much can be learned, by level, with the hierarchy, and for uniques."""
    rows = _rows_table(risk)
    record = {
        "confidential": CONFIDENTIAL,
        "release": risk.release,
        "query": risk.query,
        "cells": risk.cells,
        "people": risk.people,
        "uniques": risk.uniques,
        "levels": risk.levels,
        "variances": risk.variances,
        "priors": risk.priors,
        "drawn": risk.is_drawn,
        "certain": risk.certain,
        "left_out": [{"what": what, "why": why} for what, why in risk.left_out],
        "rows": rows,
        "sizes": _sizes_table(risk),
        "published": _offs_table(risk),
        "curves": _curves_table(risk),
        "examples": examples_table(risk),
        "decisions": decisions_table(risk),
    }
    lowest = risk.row(risk.levels[-1])
    facts = [
        Fact(
            "people",
            count_quantity(risk.people),
            f"{count_quantity(risk.uniques)} unique in their {_level(risk)}",
        ),
        Fact(
            "mean ratio",
            _mean(lowest.mean_ratio, None, risk.scope_of(lowest.kind)),
            f"posterior over prior, prior {risk.priors[0]}",
        ),
    ]
    if lowest.drawn is not None:
        facts.append(
            Fact("ratio above 2", count_quantity(lowest.drawn.ratio_above[_TWO]), "people, as drawn")
        )
    return Answer(
        f"Everyone in the data, {risk.release}",
        record,
        tuple(_body(risk)),
        tuple(facts),
        tables={
            "rows": rows,
            "sizes": _sizes_table(risk),
            "published": _offs_table(risk),
            "curves": _curves_table(risk),
            "examples": examples_table(risk),
            "decisions": decisions_table(risk),
            "areas": _areas_table(risk),
        },
        command=f"discreet risk records {risk.release}",
        summary=_sentence(risk, lowest),
        figures={
            "ratios": partial(_people_by_ratio, risk),
            **({"curves": partial(_curves_picture, risk)} if risk.curves else {}),
            **({"decisions": partial(decisions_picture, risk)} if risk.decisions else {}),
        },
    )


def _rows_table(risk: RecordsRisk, prior: str | None = None, who: str | None = None) -> AnswerTable:
    """Return the rows of all adversaries, or those of one prior and some people."""
    rows = [
        row for row in risk.rows if (prior is None or row.prior == prior) and (who is None or row.who == who)
    ]
    return AnswerTable(_ROWS, tuple(_row(row, risk.scope_of(row.kind)) for row in rows))


def _row(row: PeopleRisk, scope: Scope) -> tuple[object, ...]:
    drawn = row.drawn
    return (
        row.prior,
        _adversary(row),
        row.adversary,
        row.kind,
        row.who,
        count_quantity(row.people),
        row.mean_prior,
        _mean(row.mean_posterior, row.errors and row.errors[0], scope),
        _mean(row.mean_ratio, row.errors and row.errors[0] / row.mean_prior, scope),
        *row.ratio_above,
        *row.posterior_above,
        row.errors and row.errors[0],
        row.errors and row.errors[1],
        _expected(row.ratio_above[_TWO], row.errors and row.errors[1]),
        None if drawn is None else count_quantity(drawn.ratio_above[_TWO]),
        _expected(row.posterior_above[_HALF], row.errors and row.errors[2]),
        None if drawn is None else count_quantity(drawn.posterior_above[_HALF]),
        *(drawn.ratio_above if drawn else (None,) * len(RATIOS)),
        *(drawn.posterior_above if drawn else (None,) * len(POSTERIORS)),
        None if drawn is None else drawn.mean_posterior,
        None if drawn is None else drawn.mean_ratio,
        None if drawn is None else _brief(drawn.largest_ratio),
        None if drawn is None else drawn.quantiles,
    )


def _sizes_table(risk: RecordsRisk, prior: str | None = None) -> AnswerTable:
    """Return people by the size of their cell in the lowest area, the target included."""
    return AnswerTable(
        _SIZES,
        tuple(
            (
                size.prior,
                size.size,
                count_quantity(size.people),
                _of_level(risk, size.mean_posterior, Style.CHANCE),
                _of_level(risk, size.mean_ratio, Style.BRIEF),
                None if size.drawn_doubled is None else count_quantity(size.drawn_doubled),
            )
            for size in risk.sizes
            if prior in (None, size.prior)
        ),
    )


def _offs_table(risk: RecordsRisk) -> AnswerTable:
    """Return what each published value tells, by how far it is above the count known, at the lowest level."""
    return AnswerTable(
        _OFFS,
        tuple(
            (
                off.prior,
                off.off,
                Quantity(off.chance, Style.CHANCE),
                _of_level(risk, off.posterior, Style.CHANCE),
                _of_level(risk, off.ratio, Style.BRIEF),
                None if off.people is None else count_quantity(off.people),
            )
            for off in risk.offs
        ),
    )


def _curves_table(risk: RecordsRisk) -> AnswerTable:
    """Return the curves of the paper's figures for this release, one row a point."""
    keys = ("prior", "against", "siblings", "at", "mean_posterior", "mean_ratio", "posterior_above_0.5")
    rows = [
        (curve.prior, curve.against, curve.siblings, *point)
        for curve in risk.curves
        for point in zip(curve.at, curve.posterior, curve.ratio, curve.named, strict=True)
    ]
    return AnswerTable(tuple(Column(key=key) for key in keys), tuple(rows))


def _curves_picture(risk: RecordsRisk) -> Picture:
    """Return what each published count tells, and the risk against noise and others: Figures 1 to 3, 5, 6.

    Figure 4 is a picture of its own (`discreet.answers.record_example`).
    """
    priors = list(dict.fromkeys(curve.prior for curve in risk.curves))[:PLACES]
    lowest = level_name(risk.levels[-1])
    by_prior = {prior: [off_risk for off_risk in risk.offs if off_risk.prior == prior] for prior in priors}
    off, belief = Axis("published less known"), "mean posterior if present"
    first = tuple(
        Line(
            points(
                (off_risk.off for off_risk in by_prior[prior]),
                (off_risk.posterior for off_risk in by_prior[prior]),
            ),
            f"prior {prior}",
            number,
        )
        for number, prior in enumerate(priors)
    )
    second = tuple(
        Line(
            points(
                (off_risk.off for off_risk in by_prior[prior]),
                (off_risk.ratio for off_risk in by_prior[prior]),
            ),
            f"prior {prior}",
            number,
        )
        for number, prior in enumerate(priors)
    )
    chances = Axis("posterior", 0.0, 1.0, written=Notation.PERCENT)
    panels = [
        Panel(off, chances, first, f"Figure 1: one {lowest} count"),
        Panel(off, Axis("ratio", low=0.0), second, "Figure 1: its ratio"),
    ]
    titles = {
        "noise of the lowest level": (f"variance of the {lowest} noise", True, "2"),
        "others in the siblings": ("others in the siblings", False, "5"),
        "noise of the level above": ("variance of the noise above", True, "6"),
    }
    for against, (axis, is_log, figure) in titles.items():
        chosen = [curve for curve in risk.curves if curve.against == against and curve.prior in priors]
        if not chosen:
            continue
        x = Axis(axis, is_log=is_log, is_whole=not is_log)
        rule = () if chosen[0].here is None else (Rule(chosen[0].here, "this release"),)
        beside = f", {count_quantity(chosen[0].siblings)} siblings" if chosen[0].siblings else ""
        means = tuple(
            Line(
                points(risk_curve.at, risk_curve.posterior),
                f"prior {risk_curve.prior}",
                priors.index(risk_curve.prior),
            )
            for risk_curve in chosen
        )
        named = tuple(
            Line(
                points(risk_curve.at, risk_curve.named),
                f"prior {risk_curve.prior}",
                priors.index(risk_curve.prior),
            )
            for risk_curve in chosen
        )
        y = Axis(belief, 0.0, 1.0, written=Notation.PERCENT)
        says = Axis("chance of posterior > 1/2", 0.0, 1.0, written=Notation.PERCENT)
        panels.append(Panel(x, y, (*rule, *means), f"Figure {figure}{beside}"))
        panels.append(Panel(x, says, (*rule, *named), f"Figure {'3' if figure == '2' else figure}{beside}"))
    title = f"{risk.release}: as Figures 1 to 3, 5 and 6 of Kazan and Reiter – CONFIDENTIAL"
    return Picture(tuple(panels), title, across=2)


def _areas_table(risk: RecordsRisk) -> AnswerTable:
    """Return the risk by area, for the adversary who knows that area; there may be millions of rows."""
    rows: list[tuple[object, ...]] = []
    for level in risk.areas:
        columns = [
            level.people,
            level.uniques,
            level.mean_posterior,
            level.mean_ratio,
            level.doubled,
            level.drawn_mean_ratio,
            level.drawn_doubled,
            level.drawn_largest,
        ]
        lists = [[None] * len(level.areas) if column is None else column.tolist() for column in columns]
        rows += [(level.prior, level.level, *row) for row in zip(level.areas, *lists, strict=True)]
    return AnswerTable(_AREAS, tuple(rows))


def _people_by_ratio(risk: RecordsRisk) -> Picture:
    """Return people by ratio: expected over the noise and as drawn, a panel for each prior, lowest level."""
    panels = []
    for prior in risk.priors[:4]:
        items: list[Item] = [Rule(2.0, "ratio 2")]
        names = [
            risk.levels[-1],
            *(row.adversary for row in risk.rows if row.kind == "hierarchy"),
        ]
        shown = [
            histogram
            for histogram in risk.histograms
            if histogram.prior == prior and histogram.adversary in names
        ]
        number = 0
        for ratio_histogram in shown:
            name = level_name(ratio_histogram.adversary)
            for values, how in ((ratio_histogram.expected, "expected"), (ratio_histogram.drawn, "drawn")):
                if values is not None and number < PLACES:
                    items.append(Line(_steps(values), f"{name}, {how}", number, is_stepped=True))
                    number += 1
        x = Axis("ratio: posterior over prior", is_log=True, ticks=(0.2, 0.5, 1.0, 2.0, 5.0, 10.0))
        y = Axis("people", low=0.0, written=Notation.COUNT)
        panels.append(Panel(x, y, tuple(items), f"prior {prior}"))
    return Picture(
        tuple(panels),
        f"{count_quantity(risk.people)} people by ratio – CONFIDENTIAL",
        across=min(2, len(panels)),
    )


def _steps(values: tuple[float, ...] | tuple[int, ...]) -> Points:
    """Where a histogram steps, from the first bar that has anybody to the last."""
    some = [number for number, value in enumerate(values) if value >= 0.5]
    first, last = (min(some), max(some)) if some else (0, 0)
    edges = (EDGES[0] / 1.12, *EDGES, EDGES[-1] * 1.12)
    inside = range(first, last + 1)
    return points(
        [edges[first], *(edges[number] for number in inside), edges[last + 1]],
        [0.0, *(float(values[number]) for number in inside), 0.0],
    )


def records_map(
    risk: RecordsRisk, shapes: Mapping[str, tuple[Points, ...]], *, level: str | None = None
) -> Picture:
    """Return a map of the areas of a level, shaded by the share of their people whose ratio exceeds 2.

    The level is the lowest one of which areas have shapes, unless it is named.
    """
    first = [area for area in risk.areas if area.prior == risk.priors[0]]
    drawable = [area_risk for area_risk in reversed(first) if set(area_risk.areas) & set(shapes)]
    if level is not None:
        drawable = [
            area_risk for area_risk in drawable if level in (area_risk.level, level_name(area_risk.level))
        ]
    if not drawable:
        of = f"level {level!r}" if level else "any level"
        raise InputError(f"no shape has the name of an area of {of}; the property must hold the areas' names")
    chosen = drawable[0]
    values = _shades(chosen)
    names = [name for name in shapes if name in values or name not in _others(risk, chosen)]
    how = "drawn" if chosen.drawn_doubled is not None else "expected"
    areas = MapAreas(
        tuple(shapes[name] for name in names),
        tuple(values.get(name) for name in names),
        f"people with a ratio above 2, {how}",
        Notation.PERCENT,
    )
    title = f"{level_name(chosen.level)}, prior {chosen.prior} – CONFIDENTIAL"
    return Picture((Panel(Axis(), Axis(), (areas,)),), title)


def _shades(level: AreaRisk) -> dict[str, float]:
    above = level.doubled if level.drawn_doubled is None else level.drawn_doubled
    return dict(zip(level.areas, (above / level.people).tolist(), strict=True))


def _others(risk: RecordsRisk, chosen: AreaRisk) -> set[str]:
    return {name for area in risk.areas if area.level != chosen.level for name in area.areas}


# -- words ---------------------------------------------------------------------------------------------------


def _brief(value: float) -> Quantity:
    return Quantity(value, Style.BRIEF, digits=4)


def _of_level(risk: RecordsRisk, value: float, style: Style) -> Claimed:
    """A number about the adversary of the lowest level, who sees that level alone."""
    digits = 4 if style is Style.BRIEF else None
    return Claimed(
        value=value, style=style, digits=digits, kind=NumberKind.EXACT, scope=risk.scope_of("level")
    )


def _mean(value: float, error: float | None, scope: Scope) -> Claimed:
    """A mean over the noise, in the digits that it has if the noise was drawn."""
    digits = 4 if error is None else _digits(value, error, most=4)
    kind = NumberKind.EXACT if error is None else NumberKind.ABOUT
    return Claimed(value=value, style=Style.BRIEF, digits=digits, kind=kind, scope=scope)


def _digits(value: float, error: float, most: int) -> int:
    """How many digits of a value two standard errors leave."""
    return min(max(math.floor(math.log10(value / max(2.0 * error, 1e-300))) + 1, 1), most)


def _expected(people: float, error: float | None = None) -> Quantity | str:
    """A number of people expected over the noise."""
    if error is not None and people >= 0.01:
        digits = _digits(people, error, most=3)
        value = float(f"{people:.{digits}g}")  # zeros stand for digits that it does not have
        if value >= 10.0**digits or value >= 1000:
            return Quantity(value, Style.COUNT, digits=0)
        return Quantity(value, Style.BRIEF, digits=digits)
    if people >= 100:
        return Quantity(people, Style.COUNT, digits=0)
    return Quantity(people, Style.BRIEF, digits=3) if people >= 0.01 else "below 0.01"


def _level(risk: RecordsRisk) -> str:
    """The lowest area of people: of several levels where some are merged."""
    merged = any("+" in level for level in risk.levels)
    return "lowest area" if merged else level_name(risk.levels[-1])


def _adversary(row: PeopleRisk) -> str:
    return level_name(row.adversary) if row.kind == "level" else row.adversary


def _of_query(risk: RecordsRisk, row: PeopleRisk) -> str:
    """Of which query the counts are, where there are others."""
    queries = [part.words for part in risk.scope_of(row.kind).parts if not part.is_whole]
    return f" ({queries[0]})" if queries else ""


def _sentence(risk: RecordsRisk, row: PeopleRisk) -> Sentence:
    """Of so many people, so many."""
    expected = sentence("{expected} are expected over the noise", expected=_expected(row.ratio_above[_TWO]))
    if row.drawn is None:
        return sentence(
            "of {people} people, the {level} counts{of} are expected to more than double the adversary's "
            "belief about {expected}, prior {prior}, and to name {named} (posterior above one half)",
            people=count_quantity(row.people),
            expected=_expected(row.ratio_above[_TWO]),
            level=_adversary(row),
            of=_of_query(risk, row),
            prior=row.prior,
            named=_expected(row.posterior_above[_HALF]),
        )
    return sentence(
        "of {people} people, the {level} counts drawn{of} more than double the adversary's belief about "
        "{doubled} ({share} in 100; {expected}), prior {prior}, and name {named} (posterior above one half)",
        people=count_quantity(row.people),
        level=_adversary(row),
        of=_of_query(risk, row),
        doubled=count_quantity(row.drawn.ratio_above[_TWO]),
        share=Quantity(100 * row.drawn.ratio_above[_TWO] / row.people, Style.PLACES, digits=2),
        expected=expected,
        prior=row.prior,
        named=count_quantity(row.drawn.posterior_above[_HALF]),
    )


def _queries(risk: RecordsRisk) -> str:
    """Which queries the adversaries see, where these are not all."""
    partial = [part.words for part in risk.scope.parts if not part.is_whole]
    if not partial:
        return ""
    if risk.is_drawn and any(row.kind == "estimates" for row in risk.rows):
        return f"All but those of the estimates see {partial[0]}; the other queries tell more. "
    return f"All of them see {partial[0]}; together with the other queries they learn more. "


def _headline(risk: RecordsRisk, prior: str) -> Paragraph:
    text = str(_sentence(risk, risk.row(risk.levels[-1], prior=prior)))
    return Paragraph(f"{text[:1].upper()}{text[1:]}.", role="headline")


def _body(risk: RecordsRisk) -> Iterator[Part]:
    yield Paragraph(CONFIDENTIAL, role="warning")
    if risk.is_rehearsal:
        yield Paragraph(f"The numbers drawn are those of a rehearsal: {NOT_PRIVATE}.", role="warning")
    yield ""
    yield from (_headline(risk, prior) for prior in risk.priors)
    yield ""
    yield sentence(
        "{release}: {people} people in the {cells} cells of query {query}; {uniques} are alone in their cell "
        "in their {level}.",
        release=risk.release,
        people=count_quantity(risk.people),
        cells=count_quantity(risk.cells),
        query=risk.query,
        uniques=count_quantity(risk.uniques),
        level=_level(risk),
    )
    yield Paragraph(
        "Each person is the target once. The adversary of a level knows everyone else in the person's area "
        "there, and sees the noisy count of their cell; all levels together: knows the largest area, and "
        "sees the counts of all levels; with the hierarchy, as in Kazan and Reiter: knows the lowest area, "
        "and also sees the counts of the area above and of its other parts; with all levels above: the "
        f"same up to the largest area. {_queries(risk)}Means and “expected” are over the noise, with all "
        "levels above over draws of it; “drawn” are the numbers released."
    )
    if risk.rounded:
        yield sentence(
            "For the means with all levels above, numbers of areas and of people beside are rounded by up to "
            "{rounded}.",
            rounded=Quantity(risk.rounded, Style.PERCENT, digits=0),
        )
    for prior in risk.priors:
        for who in ("everyone", "uniques"):
            table = _rows_table(risk, prior, who)
            if not table.rows:
                continue
            yield ""
            yield f"Prior {prior}, {'everyone' if who == 'everyone' else 'those unique in that area'}:"
            yield table
    yield ""
    yield f"By how many people share the cell in the {_level(risk)}, prior {risk.priors[0]}:"
    yield _sizes_table(risk, risk.priors[0])
    yield from example_parts(risk)
    if risk.certain:
        yield sentence(
            "For {people} people one of the priors leaves no doubt: everyone among whom it is taken has the "
            "same cell. Nothing can be learned about them there; their ratio is 1.",
            people=count_quantity(risk.certain),
        )
    for what, why in risk.left_out:
        yield f"Left out: {level_name(what)}, which {why}."
