"""What an adaptive tabulation shows before there is any data, in words and tables.

Margins, the sizes from which a group can be shown by each table, what a cap on codes saves and costs, which
kind of noise is cheaper, and which groups could get a total only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Caution,
    Cell,
    Column,
    Fact,
    Paragraph,
    Part,
    Sentence,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.figure import Axis, Line, Notation, Panel, Points, Weight
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style
from discreet.answers.release import claim_text
from discreet.budget import Claim
from discreet.census.answers.account import steps_text
from discreet.census.mechanism.configuration import Place
from discreet.census.mechanism.margins import Z95
from discreet.census.mechanism.tabulation import AdaptiveTabulation
from discreet.census.safetab.design import CAP_SIZES, Cap, DesignCost, Rivals, SizedLevel, Sizing
from discreet.census.safetab.earlier import TotalOnlyGain, TotalOnlyGroups

PARTS = {"cell": "average cell", "total": "whole group"}
"""What a target error is a part of."""

MOST_SHOWN = 20
"""Groups that could get a total only that people see; machines get all."""

TABLES = ("total only", "sex × 4 ages", "sex × 9 ages", "sex × 23 ages")
"""The tables of the 2020 ladder."""

_PEOPLE = "people in the group"
_ADDED = {"unbounded": "added", "bounded": "replaced"}


@describes(Sizing)
def sizing_answer(sizing: Sizing) -> Answer:
    """Say what each geography and level of a pass shows, and what one person pays for it.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> from discreet.census.safetab.design import sizing
    >>> answer = sizing_answer(sizing(configuration_2020(), specification_2020(), "US", exact=False))
    >>> answer.objects["levels"][5]["sizes"], str(answer.facts[0].value)
    ({'total': 110, '4 ages': 880, '9 ages': 1980, '23 ages': 5060}, '24.4020')
    """
    return Answer(
        sizing.configuration.tabulation.passes[sizing.which].title,
        _record(sizing),
        (*_one_pass(sizing), *map(Paragraph, _remarks([sizing]))),
        cost_facts(sizing.costs, sizing.claim),
        command="discreet safetab design",
    )


def design_answer(
    passes: Sequence[Sizing], *, specification: str = "2020", totals: TotalOnlyGroups | None = None
) -> Answer:
    """Say the same of all passes of a design, and with `totals` which groups could get a total only.

    `specification` is where its groups come from, as it was named.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> from discreet.census.safetab.design import sizing
    >>> design = sizing(configuration_2020(), specification_2020(), "PR", exact=False)
    >>> list(design_answer([design]).objects)
    ['specification', 'passes']
    """
    record: dict[str, object] = {
        "specification": specification,
        "passes": [_record(sizing) for sizing in passes],
    }
    body = [part for sizing in passes for part in _one_pass(sizing)]
    if totals is not None:
        record["total_only"] = _totals_record(totals)
        body += [*_total_only(totals), ""]
    return Answer(
        passes[0].configuration.tabulation.title,
        record,
        (*body, *map(Paragraph, _remarks(passes))),
        tuple(fact for sizing in passes for fact in cost_facts(sizing.costs, sizing.claim)),
        command=f"discreet safetab design {specification}",
    )


def design_written(answer: Answer, out: Path | None) -> Answer:
    """Return the answer of a design with the file that it was written to, if any.

    >>> design_written(Answer("a design"), Path("design.xlsx")).body
    ('Written: design.xlsx.',)
    """
    path = None if out is None else str(out)
    body = answer.body if path is None else (*answer.body, f"Written: {path}.")
    return replace(answer, record={**answer.record, "out": path}, body=body)


# -- what machines read -----------------------------------------------------------------------------------


def _record(sizing: Sizing) -> dict[str, object]:
    plan = sizing.configuration
    record: dict[str, object] = {
        "pass": sizing.which,
        "privacy": plan.privacy,
        "error": Quantity(sizing.error, Style.EXACT),
        "of": sizing.of,
        "delta": float(sizing.delta),
        plan.tabulation.answers.limit: plan.max_race_codes,
        "gamma": Quantity(plan.gamma, Style.EXACT),
        "zero_suppression_chance": Quantity(plan.zero_suppression_chance, Style.EXACT),
        "answer": sizing.claim.document(),
        "levels": _levels_record(sizing),
        "costs": _costs(sizing),
    }
    if sizing.rivals is not None:
        record["one_stage"] = {
            "gaussian_epsilon": sizing.rivals.gaussian_epsilon,
            "geometric_epsilon": sizing.rivals.geometric_epsilon,
        }
    if sizing.cap is not None:
        record["cap"] = {
            sizing.cap.limit: sizing.cap.races,
            "people_cut": None if sizing.cap.cut is None else float(sizing.cap.cut),
            "codes_lost": None if sizing.cap.lost is None else float(sizing.cap.lost),
            "levels": _cap_levels(sizing.cap, plan.most_codes),
        }
    return record


def _levels_record(sizing: Sizing) -> list[dict[str, object]]:
    rows = (row for table in _sizes(sizing) for row in table.objects)
    by_place = {(row["geography"], row["level"]): row for row in rows}
    return [by_place[level.place] for level in sizing.levels]


def _totals_record(total_only_groups: TotalOnlyGroups) -> dict[str, object]:
    return {
        "earlier": total_only_groups.file,
        "sure": Quantity(total_only_groups.sure, Style.EXACT),
        "judged": total_only_groups.judged,
        "unknown": total_only_groups.unknown,
        "groups": _groups(total_only_groups),
        "gains": [_gain_record(gain) for gain in total_only_groups.gains],
        "notes": list(total_only_groups.notes),
    }


def _gain_record(gain: TotalOnlyGain) -> dict[str, object]:
    return {
        "geography": gain.place[0],
        "level": gain.place[1],
        "variance": gain.variance,
        "variance_total_only": gain.variance_total_only,
        "margin": gain.margin,
        "margin_total_only": gain.margin_total_only,
    }


# -- the sizes and the cost of a pass -----------------------------------------------------------------------


def cost_facts(costs: Iterable[DesignCost], claim: Claim) -> tuple[Fact, ...]:
    """Return the epsilons of a design, one person added and one replaced, with zCDP's beside them.

    >>> from discreet.budget import load
    >>> (fact,) = cost_facts([DesignCost(Fraction(2), 11.57, 10.3)], load("ddhca-2020").claim)
    >>> fact.label, str(fact.value), fact.note
    ('Epsilon, added', '10.3000', 'zCDP 11.5700')
    """
    return tuple(
        Fact(
            f"Epsilon, {_ADDED[cost.neighbours]}",
            Claimed.by(claim, cost.epsilon),
            f"zCDP {Quantity(cost.converted)}",
        )
        for cost in costs
    )


def _one_pass(sizing: Sizing) -> Iterator[Part]:
    plan = sizing.configuration
    yield Paragraph(
        sentence(
            "{title}: sizes from which a table has an error of at most {error} of the {part}, 95 % of the "
            "time",
            title=plan.tabulation.passes[sizing.which].title,
            error=Quantity(sizing.error, Style.PERCENT),
            part=PARTS[sizing.of],
        )
    )
    yield ""
    for table in _sizes(sizing):
        yield table
        yield ""
    yield _costs(sizing)
    if sizing.cap is not None:
        yield ""
        yield Paragraph(
            f"A cap of {sizing.cap.races} {plan.tabulation.answers.word} codes: less noise, but people are "
            "missing from their groups"
        )
        yield ""
        yield _cap_levels(sizing.cap, plan.most_codes)
        yield Paragraph(_cap_remark(sizing.cap))
    if sizing.rivals is not None:
        yield ""
        yield Paragraph(_rivals(sizing.rivals, plan.tabulation.unit))
    yield ""


def _sizes(sizing: Sizing) -> Iterator[AnswerTable]:
    """The levels of each ladder: their noise, and the sizes from which each table can be shown."""
    for ladder in sizing.configuration.tabulation.ladders.values():
        own = [level for level in sizing.levels if level.mechanism.ladder is ladder]
        words, budget = [rung.word for rung in ladder.rungs], sizing.word
        columns = (
            Column("geography", "geography", is_text=True),
            Column("L", "level"),
            Column("s", "stability"),
            Column(budget, budget),
            Column(key=f"{budget}_stage_2"),
            Column("stage 2", "variance"),
            Column("MOE", "margin"),
            *map(Column, words),
            Column(key="sizes"),
            Column("thresholds"),
            Column(key="thresholds"),
            Column("T", "suppressed_up_to"),
            Column(key="empty_dropped"),
        )
        if own:
            yield AnswerTable(columns, tuple(_size(sized_level, words) for sized_level in own))


def _size(sized_level: SizedLevel, words: Sequence[str]) -> tuple[object, ...]:
    second = sized_level.mechanism.stage_two
    assert second is not None
    return (
        *sized_level.place,
        sized_level.stability,
        Quantity(sized_level.budget, Style.EXACT),
        Quantity(sized_level.second, Style.EXACT),
        Quantity(sized_level.variance, Style.EXACT, digits=4),
        sized_level.margin,
        *(Quantity(size, Style.COUNT) for size in sized_level.sizes),
        dict(zip(words, sized_level.sizes, strict=True)),
        steps_text(sized_level.thresholds),
        sized_level.thresholds,
        sized_level.suppression,
        None if sized_level.suppression is None else float(second.cdf(sized_level.suppression)),
    )


def design_table(passes: Sequence[Sizing]) -> AnswerTable:
    """Return the levels of all passes as files have them; they must be on one ladder.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> from discreet.census.safetab.design import sizing
    >>> design = sizing(configuration_2020(), specification_2020(), "PR", exact=False)
    >>> [column.key for column in design_table([design]).columns if column.key][:5]
    ['pass', 'geography', 'level', 'stability', 'rho']
    """
    first = passes[0]
    word, answers = first.word, first.configuration.tabulation.answers
    rungs = first.levels[0].mechanism.ladder.rungs
    columns = (
        Column(key="pass"),
        Column("geography", "geography", is_text=True),
        Column("level", is_text=True),
        Column(key="level"),
        Column(f"groups of a {answers.word} code"),
        Column(f"groups of {with_article(answers.one_word)} code"),
        Column("groups of a person", "stability"),
        Column(word, word),
        Column(f"{word}, second stage", f"{word}_stage_2"),
        Column("second stage, replaced", f"{word}_stage_2_replaced"),
        Column(f"{word}, replaced", f"{word}_replaced"),
        Column("variance of a cell", "variance"),
        Column("standard deviation"),
        Column("1.96 standard deviations"),
        Column("margin of error", "margin"),
        *(Column(f"size, {rung.word}", f"size_{rung.word.replace(' ', '_')}") for rung in rungs),
        *(
            Column(f"threshold, {rung.word}", f"threshold_{rung.word.replace(' ', '_')}")
            for rung in rungs[1:]
        ),
        Column("dropped up to", "suppressed_up_to"),
        Column("empty groups dropped", "empty_dropped"),
    )
    return AnswerTable(
        columns, tuple(_design_cells(sizing, level) for sizing in passes for level in sizing.levels)
    )


def _design_cells(sizing: Sizing, level: SizedLevel) -> tuple[Cell, ...]:
    """A replaced person is one removed and one added in the same pass."""
    second, cut = level.mechanism.stage_two, level.suppression
    assert second is not None
    deviation = float(level.variance) ** 0.5
    geography, number = level.place
    budgets = (level.budget, level.second, 2 * level.second, 2 * level.budget, level.variance)
    return (
        sizing.which,
        geography,
        sizing.configuration.tabulation.workloads[number].word,
        number,
        groups_of_code(level),
        level.mechanism.stability.ethnicity,
        level.stability,
        *(Quantity(float(size), Style.BRIEF) for size in (*budgets, deviation, float(Z95) * deviation)),
        *(Quantity(size, Style.COUNT) for size in (level.margin, *level.sizes, *level.thresholds)),
        None if cut is None else Quantity(cut, Style.COUNT),
        None if cut is None else Quantity(float(second.cdf(cut)), Style.PERCENT, digits=4),
    )


def groups_of_code(level: SizedLevel) -> int | None:
    """Return how many groups each code of a person adds; None if it is not the same for all of them.

    Groups of the answer that has a single code come on top.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> from discreet.census.safetab.design import sizing
    >>> groups_of_code(sizing(configuration_2020(), specification_2020(), "US", exact=False).levels[1])
    1
    """
    own = level.mechanism.stability.ethnicity
    each = (level.by_races[0] - own) // 2
    holds = all(each * max(2, codes) + own == many for codes, many in enumerate(level.by_races, 1))
    return each if holds else None


def with_article(word: str) -> str:
    """Write a word with its article.

    >>> with_article("ethnicity"), with_article("race")
    ('an ethnicity', 'a race')
    """
    return f"an {word}" if word[:1] in "aeiou" else f"a {word}"


def _costs(sizing: Sizing) -> AnswerTable:
    zcdp, kind = sizing.configuration.privacy == "zcdp", NumberKind.of(sizing.claim.kind)
    columns = (
        Column("neighbours", "neighbours", is_text=True),
        Column("rho", "rho") if zcdp else Column("sum of epsilons", "pure_epsilon"),
        *((Column(key="zcdp_epsilon"),) if zcdp else ()),
        Column(kind.column("epsilon"), "epsilon"),
        *((Column("zCDP epsilon"),) if zcdp else ()),
        Column(key="cases"),
    )
    rows = []
    for cost in sizing.costs:
        converted = (Quantity(cost.converted),) if zcdp else ()
        budget, epsilon = Quantity(cost.budget, Style.EXACT), Claimed.by(sizing.claim, cost.epsilon)
        rows.append((cost.neighbours, budget, *converted, epsilon, *converted, cost.cases))
    return AnswerTable(columns, tuple(rows))


def _remarks(passes: Sequence[Sizing]) -> Iterator[str]:
    tabulation = passes[0].configuration.tabulation
    words = dict.fromkeys(rung.word for ladder in tabulation.ladders.values() for rung in ladder.rungs)
    yield (
        f"s: groups of one region that a {tabulation.unit} can be in. stage 2: variance of a published cell. "
        f"MOE: 95 % of the time its noise is within this. {', '.join(words)}: the number of "
        f"{tabulation.units} from which "
        "a group can be shown so. thresholds: the totals from which it is. T: below "
        f"{tabulation.below} a group with a total only is dropped if its noisy count is not above T."
    )
    delta = Quantity(passes[0].delta, Style.GIVEN)
    yield f"epsilon at delta {delta}, the worst over groups with one stage or two."
    yield from map(claim_text, dict.fromkeys(sizing.claim for sizing in passes))


# -- a cap on codes ------------------------------------------------------------------------------------------


def cap_text(cap: Cap | None, place: Place, tabulation: AdaptiveTabulation) -> str:
    """Say what a cap saves and costs at one geography and level; nothing if all codes count there.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> from discreet.census.safetab.design import cap
    >>> plan = replace(configuration_2020(), max_race_codes=3)
    >>> cap_text(cap(plan, specification_2020(), "US"), ("COUNTY", 2), plan.tabulation)
    'COUNTY, detailed: the margin is 7 where it would be 11 if all 8 races counted. But people who name more \
than 3 are missing from groups. A count that misses 5 people or more is further from the truth than it would \
be without the limit.'
    """
    level = next((cap_level for cap_level in cap.levels if cap_level.place == place), None) if cap else None
    if cap is None or level is None:
        return ""
    harm = Quantity(level.harm, Style.COUNT)
    said = sentence(
        "{where}: the margin is {margin} where it would be {wide} if all {most} {word}s counted. But people "
        "who name more than {races} are missing from groups. A count that misses {missing} is further from "
        "the truth than it would be without the limit.",
        where=tabulation.place_words(place),
        margin=Quantity(level.margin, Style.COUNT),
        wide=Quantity(level.margin_all, Style.COUNT),
        most=str(len(tabulation.answers.several)),
        word=tabulation.answers.word,
        races=str(cap.races),
        missing="anybody" if level.harm == 1 else sentence("{harm} people or more", harm=harm),
    )
    return str(said)


def _cap_levels(cap: Cap, most: int) -> AnswerTable:
    known = cap.lost is not None
    columns = (
        Column("geography", "geography", is_text=True),
        Column("L", "level"),
        Column(key="margin"),
        Column(f"MOE, {most} codes", "margin_all_codes"),
        Column("MOE"),
        Column("harm from", "harm_from"),
        Column("% within"),
        *(Column(f"of {Quantity(size, Style.COUNT)}") for size in (CAP_SIZES if known else ())),
        Column(key="within_margin_against_capped"),
        Column(key="within_margin_against_all_codes"),
    )
    rows = (
        (
            *cap_level.place,
            cap_level.margin,
            cap_level.margin_all,
            cap_level.margin,
            cap_level.harm,
            *(
                Quantity(100 * share, Style.PLACES, digits=1)
                for share in (cap_level.within, *(cap_level.reach or ()))
            ),
            cap_level.within,
            None if cap_level.reach is None else dict(zip(map(str, CAP_SIZES), cap_level.reach, strict=True)),
        )
        for cap_level in cap.levels
    )
    return AnswerTable(columns, tuple(rows))


def _cap_remark(cap: Cap) -> Sentence:
    said = (
        "harm from: a count that misses this many people is further from the truth (mean square error) than "
        "it would be without the cap. % within: how often a count is within its MOE of a true count that has "
        "the cap too."
    )
    if cap.lost is None or cap.cut is None:
        return sentence(f"{said} Give --codes-named to see it against people with all their codes.")
    return sentence(
        f"{said} of 100, 1,000, 10,000: the same against people with all their codes, for combination groups "
        "of that size that miss {lost} of their people. That share of all codes named is beyond the cap; "
        "{cut} of the people name more than {races}.",
        lost=Quantity(cap.lost, Style.PERCENT),
        cut=Quantity(cap.cut, Style.PERCENT),
        races=str(cap.races),
    )


def margin_text(normal: Fraction, exact: Fraction) -> Sentence:
    """Say which rho a margin takes by the normal law, and which one exactly.

    >>> print(margin_text(Fraction("0.1588"), Fraction("0.1449")))
    rho 0.1588 by the normal approximation, 0.1449 exactly: 8.8 % less.
    """
    return sentence(
        "rho {normal} by the normal approximation, {exact} exactly: {saved} less.",
        normal=Quantity(normal, Style.EXACT),
        exact=Quantity(exact, Style.EXACT),
        saved=Quantity(float(1 - exact / normal), Style.PERCENT),
    )


# -- kinds of noise ----------------------------------------------------------------------------------------


def mixes_text(delta: Fraction, exact: Sequence[DesignCost] | None) -> str:
    """Say what the epsilons of a design are of; without exact ones, all groups have two stages.

    >>> print(mixes_text(Fraction(1, 10**10), None))
    At delta 1e-10; all groups with two stages. Groups that get only a total are compared next.
    """
    at = f"At delta {Quantity(delta, Style.GIVEN)}"
    if exact is None:
        return f"{at}; all groups with two stages. Groups that get only a total are compared next."
    first, second = (cost.cases for cost in exact)
    if (first, second) == (1, 1):
        return f"{at}; all groups have two stages."
    return f"{at}; worst of {first} and {second} mixes of groups with and without a first stage."


def budget_fact(costs: Sequence[DesignCost]) -> Fact:
    """Return the total budget of a design for one person added, with that for one replaced beside it."""
    first, second = (Quantity(cost.budget, Style.EXACT) for cost in costs)
    return Fact("Total rho", first, f"replaced {second}")


def size_cells(sized_level: SizedLevel) -> tuple[str, ...]:
    """Write what follows for one geography and level: margin, sizes, thresholds, and what is dropped.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> from discreet.census.safetab.design import sizing
    >>> design = sizing(configuration_2020(), specification_2020(), "US", exact=False)
    >>> size_cells(next(level for level in design.levels if level.place == ("COUNTY", 2)))
    ('± 11', '110', '880', '1,980', '5,060', '971 / 4,971 / 19,971', '21')
    """
    counts = (Quantity(size, Style.COUNT) for size in sized_level.sizes)
    steps = " / ".join(str(Quantity(step, Style.COUNT)) for step in sized_level.thresholds)
    cut = Quantity(sized_level.suppression, Style.COUNT, missing="none dropped")
    return f"± {Quantity(sized_level.margin, Style.COUNT)}", *map(str, counts), steps, str(cut)


def rival_epsilons(rivals: Rivals) -> tuple[Quantity, Quantity]:
    """Return what discrete Gaussian and geometric noise of the same margins cost, in brief."""
    gaussian, geometric = rivals.gaussian_epsilon, rivals.geometric_epsilon
    return Quantity(gaussian, Style.BRIEF, digits=4), Quantity(geometric, Style.BRIEF, digits=4)


def rival_facts(rivals: Rivals) -> tuple[Fact, Fact]:
    """Return what both kinds of noise cost at one margin, each with the size that keeps it.

    >>> from discreet.census.safetab.design import rivals
    >>> [(fact.label, str(fact.value), fact.note) for fact in rival_facts(rivals([(11, 9)], delta="1e-10"))]
    [('Discrete Gaussian', '3.170', 'variance 34.51'), ('Geometric', '2.338', 'scale 3.850')]
    """
    variance, scale = (Quantity(float(size[0]), digits=4) for size in (rivals.variances, rivals.scales))
    return (
        Fact("Discrete Gaussian", Quantity(rivals.gaussian_epsilon, digits=4), f"variance {variance}"),
        Fact("Geometric", Quantity(rivals.geometric_epsilon, digits=4), f"scale {scale}"),
    )


def rival_text(rivals: Rivals) -> str:
    """Say which kind of noise costs less at the same margin.

    >>> from discreet.census.safetab.design import rivals
    >>> rival_text(rivals([(11, 9)], delta="1e-10"))
    'With a margin of ± 11 on 9 counts of one person, geometric noise costs 26.2 % less epsilon than \
discrete Gaussian noise.'
    """
    margin, counts = rivals.margins[0]
    start = f"With a margin of ± {margin} on {counts} counts of one person,"
    if not _told(rivals):
        return f"{start} neither kind of noise has a measurable cost."
    names = ("discrete Gaussian noise", "geometric noise")
    first, second = names if _gaussian_wins(rivals) else names[::-1]
    return f"{start} {first} costs {_saved(rivals)} less epsilon than {second}."


def row_rival_text(row: str, rivals: Rivals) -> str:
    """Say which kind of noise costs less for one geography and level."""
    return f"{row}. {rival_text(rivals)} For all rows together it may be the other way round."


def _told(rivals: Rivals) -> bool:
    """Whether both kinds cost something that can be told."""
    return rivals.gaussian_epsilon > 0 and rivals.geometric_epsilon > 0


def _gaussian_wins(rivals: Rivals) -> bool:
    return rivals.gaussian_epsilon <= rivals.geometric_epsilon


def _saved(rivals: Rivals) -> Quantity:
    """How much less the cheaper kind costs."""
    less, more = sorted((rivals.gaussian_epsilon, rivals.geometric_epsilon))
    return Quantity(1 - less / more, Style.PERCENT)


def _rivals(rivals: Rivals, unit: str) -> Sentence | str:
    if not _told(rivals):
        return "At these margins neither kind of noise costs anything that can be told."
    first, second = ("Gaussian", "geometric")[:: 1 if _gaussian_wins(rivals) else -1]
    gaussian, geometric = rival_epsilons(rivals)
    return sentence(
        "Kinds of noise at these margins, one stage and one {unit} added: discrete Gaussian epsilon "
        "{gaussian}, geometric {geometric}. {first} noise costs {less} less than {second}.",
        unit=unit,
        gaussian=gaussian,
        geometric=geometric,
        first=first[0].upper() + first[1:],
        less=_saved(rivals),
        second=second,
    )


# -- groups that could get a total only --------------------------------------------------------------------


@describes(TotalOnlyGroups)
def total_only_answer(total_only_groups: TotalOnlyGroups) -> Answer:
    """Say which groups could get a total only, going by an earlier count, and what that gains.

    >>> from discreet.census.safetab.census2020 import specification_2020
    >>> none = TotalOnlyGroups(file="t1.csv", sure=Fraction(19, 20), groups=(), judged=7, unknown=2,
    ...     gains=(), notes=(), tabulation=specification_2020().tabulation)
    >>> print(total_only_answer(none).body[0].text)
    Total only: 0 of 7 groups would get no table by sex and age in the nation or any state, 95 % of the time \
or more, going by t1.csv
    """
    command = f"discreet safetab design --earlier {total_only_groups.file}"
    return Answer(
        "Total only",
        _totals_record(total_only_groups),
        tuple(_total_only(total_only_groups)),
        command=command,
    )


def _total_only(total_only_groups: TotalOnlyGroups) -> Iterator[Part]:
    tabulation = total_only_groups.tabulation
    below = tabulation.sides[1]
    tables = " or ".join(ladder.name for ladder in tabulation.ladders.values() if ladder.picks)
    yield Paragraph(
        sentence(
            "Total only: {groups} of {judged} groups would get no table by {tables} in {above}, {sure} of "
            "the time or more, going by {file}",
            groups=Quantity(len(total_only_groups.groups), Style.COUNT),
            judged=Quantity(total_only_groups.judged, Style.COUNT),
            tables=tables,
            above=tabulation.above,
            sure=Quantity(total_only_groups.sure, Style.PERCENT),
            file=total_only_groups.file,
        )
    )
    yield ""
    if total_only_groups.groups:
        listed = _groups(total_only_groups)
        yield replace(listed, rows=listed.rows[:MOST_SHOWN])
        if len(total_only_groups.groups) > MOST_SHOWN:
            more = Quantity(len(total_only_groups.groups) - MOST_SHOWN, Style.COUNT)
            yield sentence("... and {more} more; --json lists all.", more=more)
        yield ""
    yield Paragraph(
        f"largest: its largest earlier count. {below}: how many earlier counts it has there; again: how "
        "many of them would be published on average. A group marked DETAILED_ONLY is not published there. It "
        "spends nothing on the first stage, so its totals have less noise: "
        f"{'; '.join(str(_gain(gain)) for gain in total_only_groups.gains)}. "
        "The sum of the budgets stays the same."
    )
    yield Paragraph(
        sentence(
            "{file} must be public, or already paid for: which groups you mark tells about it. Groups "
            "without an earlier count: {unknown}, not judged.",
            file=total_only_groups.file,
            unknown=Quantity(total_only_groups.unknown, Style.COUNT),
        )
    )
    yield from (Paragraph(str(Caution(f"{note}."))) for note in total_only_groups.notes)


def _gain(gain: TotalOnlyGain) -> Sentence:
    return sentence(
        "{place} variance {before} to {after}, MOE {wide} to {narrow}",
        place=":".join(map(str, gain.place)),
        before=Quantity(gain.variance, Style.BRIEF, digits=4),
        after=Quantity(gain.variance_total_only, Style.BRIEF, digits=4),
        wide=str(gain.margin),
        narrow=str(gain.margin_total_only),
    )


def _groups(total_only_groups: TotalOnlyGroups) -> AnswerTable:
    columns = (
        Column("group", "group", is_text=True),
        Column(key="name"),
        Column("L", "level"),
        Column("kind", "kind", is_text=True),
        Column("name", is_text=True),
        Column("largest", "largest_earlier_count"),
        Column("total only"),
        Column(key="chance_of_a_total_only"),
        Column(total_only_groups.tabulation.sides[1], "earlier_counts_below_states"),
        Column("again", "expected_below_states"),
    )
    rows = (
        (
            total_only_group.group.code,
            total_only_group.group.name,
            total_only_group.group.level,
            total_only_group.group.kind,
            total_only_group.group.name[:40],
            Quantity(total_only_group.largest, Style.COUNT),
            Quantity(100 * total_only_group.chance, Style.PLACES, digits=2, unit="%"),
            total_only_group.chance,
            Quantity(total_only_group.below, Style.COUNT),
            Quantity(total_only_group.kept, Style.COUNT, digits=1),
        )
        for total_only_group in total_only_groups.groups
    )
    return AnswerTable(columns, tuple(rows))


# -- pictures ------------------------------------------------------------------------------------------------


def suppression_panel(lines: Sequence[tuple[str, Points]]) -> Panel:
    """Return the chance of being dropped against the true size, a line for each kind of noise.

    >>> suppression_panel([("rho 0.1", ((0.0, 1.0), (20.0, 0.0)))]).items[0].label
    'rho 0.1'
    """
    return Panel(Axis(_PEOPLE, 0.0), _chances("chance to be dropped"), _lines(lines))


def bias_panel(if_shown: Points, overall: Points) -> Panel:
    """Return the bias of a total against the true size: for groups shown, and with dropped groups as zero.

    >>> [line.label for line in bias_panel((), ()).items]
    ['of groups that are shown', 'dropped ones counted as 0']
    """
    lines = (("of groups that are shown", if_shown), ("dropped ones counted as 0", overall))
    return Panel(Axis(_PEOPLE, 0.0), Axis("bias, people"), _lines(lines))


def tables_panel(lines: Sequence[Points]) -> Panel:
    """Return the chance of each table against the true size.

    >>> tables_panel([((10.0, 1.0), (1000.0, 0.0))] * 4).items[1].label
    'sex × 4 ages'
    """
    sizes = lines[0] if lines else ()
    low, high = (sizes[0][0], sizes[-1][0]) if sizes else (None, None)
    x = Axis(_PEOPLE, low, high, is_log=True, written=Notation.COUNT)
    return Panel(x, _chances("chance of the table"), _lines(zip(TABLES, lines, strict=True)))


def _lines(lines: Iterable[tuple[str, Points]]) -> tuple[Line, ...]:
    return tuple(
        Line(at, name, index, Weight.NORMAL if index else Weight.HEAVY)
        for index, (name, at) in enumerate(lines)
    )


def _chances(title: str) -> Axis:
    return Axis(title, 0.0, 1.0, written=Notation.PERCENT)
