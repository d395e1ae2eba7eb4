"""How accurate the estimates of a release will be, in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Cell,
    Column,
    Paragraph,
    Part,
    Sentence,
    joined_words,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.figure import Axis, Cells, Drawable, Line, Notation, Panel, Picture, Points
from discreet.answers.quantity import Quantity, Style, count_quantity, margin_quantity
from discreet.answers.release import query_words
from discreet.answers.sums import counts_word
from discreet.answers.table_errors import error_cells, error_picture, finest_errors
from discreet.budget import Release
from discreet.budget.level_names import level_name
from discreet.estimation.expected_accuracy import Accuracy, MarginLine, QueryAccuracy, margin_lines
from discreet.estimation.whole.forecast import PrintedAccuracy

_TOGETHER = {
    True: "all queries and levels together",
    False: "each query by itself, over the levels: the release states no attributes",
}
_SIZES = (
    Column(key="cells"),
    Column("sd of the noise", "noise_sd"),
    Column("sd of the estimate", "sd"),
    Column("95 % margin (noise only)", "margin95"),
)
LEVELS = (Column("level", is_text=True), Column("query", "query", is_text=True), Column(key="level"))
"""The first columns of a table of levels and queries."""

UNKNOWN = "not determined"
"""Where measurements do not determine a number."""

_NOTHING = "–"


@describes(Accuracy)
def accuracy_answer(found: Accuracy) -> Answer:
    """Say how accurate the estimates of every query at every level will be.

    >>> from discreet.budget import load
    >>> from discreet.estimation import accuracy
    >>> answer = accuracy_answer(accuracy(load("pl94-2020")))
    >>> answer.tables["accuracy"].cells[0]
    ['US', 'cenrace', '34.9', '12.4', '24.4']
    """
    levels, lines = [], []
    for level in found.levels:
        rows = [(query.name, *_sizes(query)) for query in level.queries]
        table = AnswerTable((Column(key="name"), *_SIZES), tuple(rows))
        levels.append({"name": level.name, "units": level.units, "queries": table})
        lines += [(level_name(level.name), name, level.name, *sizes) for name, *sizes in rows]
    record: dict[str, object] = {
        "release": found.release,
        "tree": None if found.children is None else list(found.children),
        "estimates": _TOGETHER[found.together],
        "margins": "of one cell in one area, by itself",
        "levels": levels,
    }
    every = AnswerTable((*LEVELS, *_SIZES), tuple(lines))
    figures: dict[str, Drawable] = {"accuracy": partial(accuracy_picture, found)}
    if found.printed is not None:
        errors = found.printed.errors.errors
        record["tables"] = {
            "people": found.printed.people,
            "tree": found.printed.children,
            "populations": found.printed.populations,
            "replicates": found.printed.errors.replicates,
            "left_out": found.printed.left_out,
            "errors": error_cells(errors),
        }
        figures["printed"] = partial(error_picture, errors)
    lines_of = (
        f"  {level}, {query}: sd {sd}, within {margin} 95 % of the time (noise alone {noise})"
        for level, query, noise, sd, margin in every.cells
    )
    return Answer(
        f"{found.release}: accuracy",
        record,
        tuple(_accuracy_body(found, every)),
        tables={"accuracy": every},
        command=f"discreet accuracy {found.release}",
        summary="\n".join([f"{found.release}: {_TOGETHER[found.together]}", *lines_of]),
        figures=figures,
    )


def accuracy_picture(found: Accuracy) -> Picture:
    """Return the standard deviation of every estimate as a map, one row a query, one column a level.

    >>> from discreet.budget import load
    >>> from discreet.estimation import accuracy
    >>> (panel,) = accuracy_picture(accuracy(load("pl94-2020"))).panels
    >>> panel.x.names[:2], panel.y.names[0], panel.items[0].texts[0][:2]
    (('US', 'State'), 'cenrace', ('12.4', '11.3'))
    """
    queries = range(len(found.levels[0].queries))
    sizes = [[level.queries[row].sd for level in found.levels] for row in queries]
    texts = (
        tuple(str(Quantity(size, Style.MARGIN, missing="not\ndetermined")) for size in row) for row in sizes
    )
    # a size of zero has no shade on a logarithmic scale
    cells = Cells(tuple(tuple(size or None for size in row) for row in sizes), tuple(texts))
    levels = Axis(names=tuple(level_name(level.name) for level in found.levels))
    names = Axis(names=tuple(query.name for query in found.levels[0].queries), is_downward=True)
    return Picture((Panel(levels, names, (cells,)),), "Standard deviation of the estimates")


def sizes_panel(margins: Mapping[str, float], unit: str) -> Panel:
    """Return the 95 % margin over the size of a group, against that size, a line for each level.

    >>> panel = sizes_panel({"State": 5.0}, "person")
    >>> panel.x.title, panel.items[0].points[0]
    ('people in the group', (10.0, 0.5))
    """

    def line(margin: float) -> Points:
        return tuple((10.0**power, max(margin, 0.5) / 10.0**power) for power in range(1, 7))

    lines = [Line(line(margin), level_name(level), k) for k, (level, margin) in enumerate(margins.items())]
    low = min((share for one in lines for _, share in one.points), default=1e-6)
    who = "people in the group" if unit == "person" else f"{unit}s in the group"
    x = Axis(who, 10.0, 1e6, is_log=True, written=Notation.COUNT)
    least = 10.0 ** math.floor(math.log10(low))
    y = Axis("95 % margin (noise only) over the size", least, is_log=True, written=Notation.PERCENT)
    return Panel(x, y, tuple(lines))


def _sizes(query: QueryAccuracy) -> tuple[Cell, ...]:
    return (
        query.cells,
        Quantity(query.noise_sd, Style.MARGIN, missing="not asked"),
        *(Quantity(size, Style.MARGIN, missing=UNKNOWN) for size in (query.sd, query.margin95)),
    )


def _accuracy_body(found: Accuracy, every: AnswerTable) -> Iterator[Part]:
    yield Paragraph(f"{found.release}: accuracy of the best estimates from {_TOGETHER[found.together]}.")
    if found.children is not None and len(found.levels) > 1:
        yield Paragraph(sentence("Tree, average number of children: {tree}.", tree=_tree(found)))
    yield "Standard deviations are root mean squares over the cells of a query."
    if any(query.cells > 1 or level.units > 1 for level in found.levels for query in level.queries):
        yield (
            "A margin is of one cell in one area by itself, the largest where cells differ; nothing is said "
            "of all cells together."
        )
    yield every
    if found.printed is not None:
        yield from _printed_body(found.printed)


def _printed_body(printed: PrintedAccuracy) -> Iterator[Part]:
    yield Paragraph(
        sentence(
            "Printed whole numbers, none negative, would have these errors in the table of most cells of "
            "each level. They depend on the counts, which nobody may look at: those assumed are synthetic, "
            "with {people} people in a lowest area on average (lognormal sizes), the k-th most frequent cell "
            "having a share in proportion to 1/k², and areas like those above them up to a random part. "
            "{populations} populations were drawn, and {replicates} tables made; nothing is spent.",
            people=Quantity(printed.people, Style.BRIEF),
            populations=count_quantity(printed.populations),
            replicates=count_quantity(printed.errors.replicates),
        )
    )
    if printed.left_out:
        names = " and ".join(level_name(name) for name in printed.left_out)
        yield Paragraph(
            f"Not shown: {names}. Areas at the top have too many cells to be simulated here, and the level "
            "below them would look worse than it is without them."
        )
    yield error_cells(finest_errors(printed.errors.errors))


def _tree(found: Accuracy) -> Sentence:
    """How many children the nodes of each level have on average."""
    names = [level_name(level.name) for level in found.levels]
    steps = zip(names, found.children or (), names[1:], strict=False)
    return joined_words(
        [
            sentence("{up} to {down} {many}", up=up, down=down, many=Quantity(many, Style.BRIEF))
            for up, many, down in steps
        ],
        ", ",
    )


# -- margins of the noise and of estimates, side by side -----------------------------------------------------


def estimates_text(*, together: bool) -> str:
    """Say what the estimates of a release are made from.

    >>> estimates_text(together=True)
    'Best estimates use all queries and levels together.'
    """
    if together:
        return "Best estimates use all queries and levels together."
    return "Each query is estimated separately, from all levels: the release states no attributes."


def noise_cells(line: MarginLine) -> tuple[Cell, Cell]:
    """Write the standard deviation and the 95 % margin of the noise.

    >>> print(*noise_cells(MarginLine("State", ("total",), (2.2361, 4))))
    2.24 ± 4
    """
    if line.noise is None:
        return "not asked", _NOTHING
    deviation, margin = line.noise
    if deviation is None or margin is None:
        return "nothing is added", _NOTHING
    return Quantity(deviation, Style.MARGIN), _plus_minus(margin_quantity(margin))


def estimate_cells(line: MarginLine, unknown: str = _NOTHING) -> tuple[Cell, Cell]:
    """Write the standard deviation and the 95 % margin of the estimate; `unknown` if none was asked for.

    >>> print(*estimate_cells(MarginLine("State", ("total",), None, (1.5, 2.94))))
    1.50 ± 2.94
    """
    if line.estimate is None:
        return unknown, unknown
    deviation, margin = line.estimate
    if deviation is None or margin is None:
        return UNKNOWN, _NOTHING
    return Quantity(deviation, Style.MARGIN), _plus_minus(Quantity(margin, Style.MARGIN))


def _plus_minus(margin: Quantity) -> Sentence:
    return sentence("± {margin}", margin=margin)


def relative_error(margin: float, size: int) -> str:
    """Write a margin as a part of a group of some size.

    >>> relative_error(12, 1000), relative_error(12345, 1000)
    ('1.2 %', '1,234 %')
    """
    part = margin / size
    return (
        str(Quantity(part, Style.PERCENT)) if part < 1 else f"{Quantity(100 * part, Style.COUNT, digits=0)} %"
    )


def margins_section(release: Release, estimates: Accuracy | None) -> Answer:
    """Say how far published counts may be from the truth: the noise, and the best estimates if there are any.

    >>> from discreet.budget import load
    >>> margins_section(load("dhc-2022-08-25"), None).body[1].cells[1]
    ['State', '10 queries alike', '2.24', '± 4']
    """
    if estimates is None:
        said = sentence(
            "The table shows the noise of a single published count before any post-processing, which can "
            "reduce it. At least 95 % of the time the noise is within the margin of error; margins are exact "
            "for whole numbers."
        )
    else:
        said = sentence(
            "At least 95 % of the time the best estimate of a count, from {how}, is within its margin of "
            "error, each count by itself. The noise of the single published count stands beside it; its "
            "margins are exact for whole numbers. A query that a level does not ask has no noise there, but "
            "can be estimated from the others. They assume {areas}.",
            how=_TOGETHER[estimates.together],
            areas="the areas that were given"
            if estimates.children is None
            else sentence("these average numbers of areas: {tree}", tree=_tree(estimates)),
        )
    columns = [Column("level", is_text=True), Column("query", is_text=True)]
    if estimates is not None:
        columns += map(Column, ("estimate, standard deviation", "estimate, 95 % margin (noise only)"))
        columns += map(Column, ("noise, standard deviation", "noise, 95 % margin"))
    else:
        columns += map(Column, ("standard deviation", "95 % margin of error (noise only)"))
    rows = tuple(
        (
            level_name(line.level),
            query_words(line.queries, most=3),
            *(() if estimates is None else estimate_cells(line)),
            *noise_cells(line),
        )
        for line in margin_lines(release, estimates)
    )
    title = f"Margins of error by level and query, in {counts_word(release)}"
    table = AnswerTable(tuple(columns), rows, title, groups=True)
    command = f"discreet accuracy {release.name}"
    return Answer("Accuracy with this noise", body=(said, table), command=command)
