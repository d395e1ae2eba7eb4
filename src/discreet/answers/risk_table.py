"""What the rows of a released table tell someone who knows everyone else in them, in words and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Caution,
    Column,
    Fact,
    Paragraph,
    Part,
    Sentence,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.figure import PLACES, Axis, Item, Line, Notation, Panel, Picture, Rule, points
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style, count_quantity
from discreet.budget.level_names import level_name
from discreet.disclosure.records import POSTERIORS, QUANTILES, RATIOS, Drawn
from discreet.disclosure.table import LevelRisk, TableRisk

_LAWS = {
    "table": "How many others the adversary knows of in a row is taken from the law of counts that the "
    "table itself suggests for each level and noise (empirical Bayes).",
    "flat": "All counts of others that the adversary may know in a row are treated as equally "
    "likely, which understates the risk in sparse tables.",
}
_KNOWN = (
    "Column {!r} holds counts without noise, so this is CONFIDENTIAL: for the curator, not for publication. "
    "Rows that are written are marked, and their owner alone can read them."
)
_COLUMNS = (
    Column("level", is_text=True),
    Column(key="level"),
    Column("rows", "rows"),
    Column("odds doubled"),
    *(Column(key=key) for key in ("share_odds_doubled", "targets_odds_doubled", "maximum_ratio")),
    *(Column(f"{Style.BRIEF.quantity(100 * share)} %") for share in QUANTILES),
    Column(key="quantiles"),
    Column("largest"),
    Column("mean posterior", "mean_posterior"),
    Column(key="quantiles_rounded"),
    Column(key="people"),
    Column(key="people_mean_ratio"),
    *(Column(key=f"people_ratio_above_{Style.BRIEF.quantity(mark)}") for mark in RATIOS),
    *(Column(key=f"people_posterior_above_{Style.BRIEF.quantity(mark)}") for mark in POSTERIORS),
    Column(key="people_quantiles"),
)


@describes(TableRisk)
def table_risk_answer(table_risk: TableRisk, *, table: str = "") -> Answer:
    """Say for the rows of a table, by level, what they tell; `table` is its name.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from discreet.disclosure import table_risk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.csv")
    ...     _ = file.write_text("level,value,variance\\nBlock,8,5\\nBlock,1,5\\nState,70,5\\n")
    ...     answer = table_risk_answer(table_risk(file, prior="1/10", known=0))
    >>> print(answer.record["adversary"])
    someone who knows everyone else in the row, 0 with the characteristics, and gives the target a chance of \
0.1
    >>> [row[2] for row in answer.body[3].cells]
    ['50 %', '100 %', '66.7 %']
    """
    levels, total = _summary(table_risk.levels), _summary([table_risk.total])
    whole = table_risk.total
    doubled = _in_percent(whole.share_doubled)
    largest = Claimed(value=whole.maximum, kind=NumberKind.AT_MOST, scope=table_risk.scope, digits=4)
    record = {
        **({"table": table} if table else {}),
        "rows": table_risk.rows,
        "prior": table_risk.prior,
        "adversary": table_adversary(table_risk),
        "confidential": table_risk.is_confidential,
        "maximum_ratio": largest,
        "levels": levels,
        "all": total.objects[0],
    }
    prior = _prior(table_risk)
    return Answer(
        table or "A table",
        record,
        tuple(_body(table_risk, table)),
        (
            Fact("odds doubled", doubled, "of the rows"),
            Fact("largest ratio", largest, "posterior over prior"),
            Fact("mean posterior", _brief(whole.mean_posterior), f"prior {prior}"),
        ),
        (Caution(_KNOWN.format(table_risk.known_column)),) if table_risk.is_confidential else (),
        tables={"levels": levels},
        command=f"discreet risk table {table or 'FILE'} "
        + (f"--prior-column {table_risk.prior_column}" if table_risk.prior_column else f"--prior {prior}"),
        summary=sentence(
            "{rows}, odds doubled in {doubled}, ratio at most {largest}; {adversary}",
            rows=_rows(table_risk),
            doubled=doubled,
            largest=largest,
            adversary=table_adversary(table_risk),
        ),
        figures={"ratios": partial(_ratios_picture, table_risk)},
    )


def _ratios_picture(table_risk: TableRisk) -> Picture:
    """Return the share of rows whose ratio is above each value, a line for each level.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from discreet.disclosure import table_risk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.csv")
    ...     _ = file.write_text("level,value,variance\\nBlock,8,5\\nState,70,5\\n")
    ...     picture = _ratios_picture(table_risk(file, prior="1/10", known=0))
    >>> [item.label for item in picture.panels[0].items], picture.title
    (['odds doubled', 'Block', 'State'], '2 rows, prior 0.1')
    """
    items: list[Item] = (
        [] if table_risk.prior is None else [Rule(2.0 / (1.0 + table_risk.prior), "odds doubled")]
    )
    for number, (name, tally) in enumerate(list(table_risk.tallies.items())[:PLACES]):
        shares = 1.0 - np.cumsum(tally.counts) / tally.total
        values = np.concatenate([tally.values[:1], tally.values])
        steps = points(values, np.concatenate([[1.0], shares]))
        items.append(Line(steps, level_name(name), number, is_stepped=True))
    smallest = 1.0 / max(tally.total for tally in table_risk.tallies.values())
    y = Axis("share of rows above", max(smallest, 1e-7) / 2, 1.5, is_log=True, written=Notation.PERCENT)
    hidden = len(table_risk.tallies) - PLACES
    more = f"; {hidden} more levels are not drawn" if hidden > 0 else ""
    title = f"{_rows(table_risk)}, prior {_prior(table_risk)}{more}"
    return Picture((Panel(Axis("ratio: posterior over prior"), y, tuple(items)),), title)


def _prior(table_risk: TableRisk) -> str:
    """The prior, or where it is."""
    if table_risk.prior is None:
        return f"by column {table_risk.prior_column}"
    return str(Quantity(table_risk.prior, Style.BRIEF))


def _rows(table_risk: TableRisk) -> str:
    return f"{Quantity(table_risk.rows, Style.COUNT)} row{'s' * (table_risk.rows != 1)}"


def _brief(value: float) -> Quantity:
    return Quantity(value, Style.BRIEF, digits=4)


def _in_percent(share: float) -> Quantity:
    return Quantity(100 * share, Style.BRIEF, digits=3, unit="%")


def _summary(levels: Sequence[LevelRisk]) -> AnswerTable:
    return AnswerTable(
        _COLUMNS,
        tuple(
            (
                level_name(level.level),
                level.level,
                Quantity(level.rows, Style.COUNT),
                _in_percent(level.share_doubled),
                level.share_doubled,
                level.targets_doubled,
                level.maximum,
                *map(_brief, level.quantiles),
                {str(share): mark for share, mark in zip(QUANTILES, level.quantiles, strict=True)},
                _brief(level.maximum),
                _brief(level.mean_posterior),
                level.is_rounded,
                level.people,
                *_told(level.drawn),
            )
            for level in levels
        ),
    )


def _told(drawn: Drawn | None) -> tuple[object, ...]:
    if drawn is None:
        return (None,) * (len(RATIOS) + len(POSTERIORS) + 2)
    return (drawn.mean_ratio, *drawn.ratio_above, *drawn.posterior_above, drawn.quantiles)


def table_adversary(table_risk: TableRisk) -> str:
    """Say who the adversary of a table is."""
    who = "someone who knows everyone else in the row"
    if table_risk.known is not None:
        who += f", {table_risk.known} with the characteristics"
    elif table_risk.known_column is not None:
        who += f", as many with the characteristics as column {table_risk.known_column!r} says"
    elif table_risk.law == "table":
        who += ", averaged over the possible counts, weighted as the table itself suggests"
        if table_risk.flat_rows:
            many = Quantity(table_risk.flat_rows, Style.COUNT)
            rows = (
                f"{many} row that is large or has"
                if table_risk.flat_rows == 1
                else f"{many} rows that are large or have"
            )
            who += f" (for {rows} few others near, all counts equally likely)"
    else:
        who += ", averaged over the possible counts, all equally likely"
    floor = "; negative values were published as zero" if table_risk.nonnegative else ""
    if table_risk.prior is None:
        return f"{who}, and gives the target the chance that column {table_risk.prior_column!r} says{floor}"
    return f"{who}, and gives the target a chance of {_prior(table_risk)}{floor}"


def _body(table_risk: TableRisk, table: str) -> Iterator[Part]:
    yield f"{table}: {_rows(table_risk)}." if table else f"{_rows(table_risk)}."
    yield Paragraph(f"Adversary: {table_adversary(table_risk)}.")
    yield ""
    yield _summary((*table_risk.levels, table_risk.total))
    yield ""
    yield _doubled(table_risk)
    drawn, people = table_risk.total.drawn, table_risk.total.people
    if drawn is not None and people:
        above = drawn.ratio_above[RATIOS.index(2.0)]
        yield sentence(
            "Of {people} people counted in the rows, the numbers more than double the adversary's belief "
            "about {above} ({share} in 100), and name {named} (posterior above one half).",
            people=count_quantity(people),
            above=count_quantity(above),
            share=Quantity(100 * above / people, Style.PLACES, digits=2),
            named=count_quantity(drawn.posterior_above[POSTERIORS.index(0.5)]),
        )


def _people(table_risk: TableRisk) -> Sentence | str:
    """How many people the rows count in which the odds double, if rows count different numbers of them."""
    if table_risk.known_column is None:
        return ""
    return sentence(
        "; these rows count {share} in 100 of all people, the target of each included",
        share=_targets_doubled(table_risk),
    )


def _targets_doubled(table_risk: TableRisk) -> Quantity:
    """In how many of 100 people counted the odds double."""
    share = table_risk.total.targets_doubled
    assert share is not None, "a row counts at least its target, so that there are people"
    return Quantity(100 * share, Style.BRIEF, digits=3)


def _doubled(table_risk: TableRisk) -> Sentence:
    if table_risk.law is None:
        return sentence(
            "In {share} of 100 rows this adversary's odds that the target is present (chance present to "
            "chance absent) more than double{people}. The percentages above the columns are shares of rows "
            "whose ratio, posterior to prior, is no larger.",
            share=Quantity(100 * table_risk.total.share_doubled, Style.BRIEF, digits=3),
            people=_people(table_risk),
        )
    return sentence(
        "For about {share} in 100 of the people counted in the table, this adversary's odds that they are "
        "present (chance present to chance absent) more than double. {how} The column “odds doubled” treats "
        "every row as if the target were in it; the percentages above the columns are shares of rows whose "
        "average ratio, posterior to prior, is no larger.",
        share=_targets_doubled(table_risk),
        how=_LAWS[table_risk.law],
    )
