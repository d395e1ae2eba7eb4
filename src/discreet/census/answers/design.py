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
def sizing_answer(found: Sizing) -> Answer:
    """Say what each geography and level of a pass shows, and what one person pays for it.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> from discreet.census.safetab.design import sizing
    >>> answer = sizing_answer(sizing(configuration_2020(), specification_2020(), "US", exact=False))
    >>> answer.objects["levels"][5]["sizes"], str(answer.facts[0].value)
    ({'total': 110, '4 ages': 880, '9 ages': 1980, '23 ages': 5060}, '24.4020')
    """
    return Answer(
        found.configuration.tabulation.passes[found.which].title,
        _record(found),
        (*_one_pass(found), *map(Paragraph, _remarks([found]))),
        cost_facts(found.costs, found.claim),
        command="discreet safetab design",
    )


def design_answer(
    passes: Sequence[Sizing], *, specification: str = "2020", totals: TotalOnlyGroups | None = None
) -> Answer:
    """Say the same of all passes of a design, and with `totals` which groups could get a total only.

    `specification` is where its groups come from, as it was named.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> from discreet.census.safetab.design import sizing
    >>> one = sizing(configuration_2020(), specification_2020(), "PR", exact=False)
    >>> list(design_answer([one]).objects)
    ['specification', 'passes']
    """
    record: dict[str, object] = {"specification": specification, "passes": [_record(one) for one in passes]}
    body = [part for one in passes for part in _one_pass(one)]
    if totals is not None:
        record["total_only"] = _totals_record(totals)
        body += [*_total_only(totals), ""]
    return Answer(
        passes[0].configuration.tabulation.title,
        record,
        (*body, *map(Paragraph, _remarks(passes))),
        tuple(fact for one in passes for fact in cost_facts(one.costs, one.claim)),
        command=f"discreet safetab design {specification}",
    )


def design_written(answer: Answer, out: Path | None) -> Answer:
    """Return the answer of a design with the file that it was written to, if any.

    >>> design_written(Answer("a design"), Path("design.xlsx")).body
    ('Written: design.xlsx.',)
    """
    place = None if out is None else str(out)
    body = answer.body if place is None else (*answer.body, f"Written: {place}.")
    return replace(answer, record={**answer.record, "out": place}, body=body)


# -- what machines read -----------------------------------------------------------------------------------


def _record(found: Sizing) -> dict[str, object]:
    plan = found.configuration
    record: dict[str, object] = {
        "pass": found.which,
        "privacy": plan.privacy,
        "error": Quantity(found.error, Style.EXACT),
        "of": found.of,
        "delta": float(found.delta),
        plan.tabulation.answers.limit: plan.max_race_codes,
        "gamma": Quantity(plan.gamma, Style.EXACT),
        "zero_suppression_chance": Quantity(plan.zero_suppression_chance, Style.EXACT),
        "answer": found.claim.document(),
        "levels": _levels_record(found),
        "costs": _costs(found),
    }
    if found.rivals is not None:
        record["one_stage"] = {
            "gaussian_epsilon": found.rivals.gaussian_epsilon,
            "geometric_epsilon": found.rivals.geometric_epsilon,
        }
    if found.cap is not None:
        record["cap"] = {
            found.cap.limit: found.cap.races,
            "people_cut": None if found.cap.cut is None else float(found.cap.cut),
            "codes_lost": None if found.cap.lost is None else float(found.cap.lost),
            "levels": _cap_levels(found.cap, plan.most_codes),
        }
    return record


def _levels_record(found: Sizing) -> list[dict[str, object]]:
    rows = (row for table in _sizes(found) for row in table.objects)
    by_place = {(row["geography"], row["level"]): row for row in rows}
    return [by_place[one.place] for one in found.levels]


def _totals_record(found: TotalOnlyGroups) -> dict[str, object]:
    return {
        "earlier": found.file,
        "sure": Quantity(found.sure, Style.EXACT),
        "judged": found.judged,
        "unknown": found.unknown,
        "groups": _groups(found),
        "gains": [_gain_record(one) for one in found.gains],
        "notes": list(found.notes),
    }


def _gain_record(one: TotalOnlyGain) -> dict[str, object]:
    return {
        "geography": one.place[0],
        "level": one.place[1],
        "variance": one.variance,
        "variance_total_only": one.variance_total_only,
        "margin": one.margin,
        "margin_total_only": one.margin_total_only,
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


def _one_pass(found: Sizing) -> Iterator[Part]:
    plan = found.configuration
    yield Paragraph(
        sentence(
            "{title}: sizes from which a table has an error of at most {error} of the {part}, 95 % of the "
            "time",
            title=plan.tabulation.passes[found.which].title,
            error=Quantity(found.error, Style.PERCENT),
            part=PARTS[found.of],
        )
    )
    yield ""
    for table in _sizes(found):
        yield table
        yield ""
    yield _costs(found)
    if found.cap is not None:
        yield ""
        yield Paragraph(
            f"A cap of {found.cap.races} {plan.tabulation.answers.word} codes: less noise, but people are "
            "missing from their groups"
        )
        yield ""
        yield _cap_levels(found.cap, plan.most_codes)
        yield Paragraph(_cap_remark(found.cap))
    if found.rivals is not None:
        yield ""
        yield Paragraph(_rivals(found.rivals, plan.tabulation.unit))
    yield ""


def _sizes(found: Sizing) -> Iterator[AnswerTable]:
    """The levels of each ladder: their noise, and the sizes from which each table can be shown."""
    for ladder in found.configuration.tabulation.ladders.values():
        own = [one for one in found.levels if one.mechanism.ladder is ladder]
        words, budget = [rung.word for rung in ladder.rungs], found.word
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
            yield AnswerTable(columns, tuple(_size(one, words) for one in own))


def _size(one: SizedLevel, words: Sequence[str]) -> tuple[object, ...]:
    second = one.mechanism.stage_two
    assert second is not None
    return (
        *one.place,
        one.stability,
        Quantity(one.budget, Style.EXACT),
        Quantity(one.second, Style.EXACT),
        Quantity(one.variance, Style.EXACT, digits=4),
        one.margin,
        *(Quantity(size, Style.COUNT) for size in one.sizes),
        dict(zip(words, one.sizes, strict=True)),
        steps_text(one.thresholds),
        one.thresholds,
        one.suppression,
        None if one.suppression is None else float(second.cdf(one.suppression)),
    )


def design_table(passes: Sequence[Sizing]) -> AnswerTable:
    """Return the levels of all passes as files have them; they must be on one ladder.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> from discreet.census.safetab.design import sizing
    >>> one = sizing(configuration_2020(), specification_2020(), "PR", exact=False)
    >>> [column.key for column in design_table([one]).columns if column.key][:5]
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
    return AnswerTable(columns, tuple(_design_cells(one, level) for one in passes for level in one.levels))


def _design_cells(one: Sizing, level: SizedLevel) -> tuple[Cell, ...]:
    """A replaced person is one removed and one added in the same pass."""
    second, cut = level.mechanism.stage_two, level.suppression
    assert second is not None
    deviation = float(level.variance) ** 0.5
    geography, number = level.place
    budgets = (level.budget, level.second, 2 * level.second, 2 * level.budget, level.variance)
    return (
        one.which,
        geography,
        one.configuration.tabulation.workloads[number].word,
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


def _costs(found: Sizing) -> AnswerTable:
    zcdp, kind = found.configuration.privacy == "zcdp", NumberKind.of(found.claim.kind)
    columns = (
        Column("neighbours", "neighbours", is_text=True),
        Column("rho", "rho") if zcdp else Column("sum of epsilons", "pure_epsilon"),
        *((Column(key="zcdp_epsilon"),) if zcdp else ()),
        Column(kind.column("epsilon"), "epsilon"),
        *((Column("zCDP epsilon"),) if zcdp else ()),
        Column(key="cases"),
    )
    rows = []
    for cost in found.costs:
        converted = (Quantity(cost.converted),) if zcdp else ()
        budget, epsilon = Quantity(cost.budget, Style.EXACT), Claimed.by(found.claim, cost.epsilon)
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
    yield from map(claim_text, dict.fromkeys(one.claim for one in passes))


# -- a cap on codes ------------------------------------------------------------------------------------------


def cap_text(found: Cap | None, place: Place, tabulation: AdaptiveTabulation) -> str:
    """Say what a cap saves and costs at one geography and level; nothing if all codes count there.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> from discreet.census.safetab.design import cap
    >>> plan = replace(configuration_2020(), max_race_codes=3)
    >>> cap_text(cap(plan, specification_2020(), "US"), ("COUNTY", 2), plan.tabulation)
    'COUNTY, detailed: the margin is 7 where it would be 11 if all 8 races counted. But people who name more \
than 3 are missing from groups. A count that misses 5 people or more is further from the truth than it would \
be without the limit.'
    """
    level = next((one for one in found.levels if one.place == place), None) if found else None
    if found is None or level is None:
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
        races=str(found.races),
        missing="anybody" if level.harm == 1 else sentence("{harm} people or more", harm=harm),
    )
    return str(said)


def _cap_levels(found: Cap, most: int) -> AnswerTable:
    known = found.lost is not None
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
            *one.place,
            one.margin,
            one.margin_all,
            one.margin,
            one.harm,
            *(Quantity(100 * share, Style.PLACES, digits=1) for share in (one.within, *(one.reach or ()))),
            one.within,
            None if one.reach is None else dict(zip(map(str, CAP_SIZES), one.reach, strict=True)),
        )
        for one in found.levels
    )
    return AnswerTable(columns, tuple(rows))


def _cap_remark(found: Cap) -> Sentence:
    said = (
        "harm from: a count that misses this many people is further from the truth (mean square error) than "
        "it would be without the cap. % within: how often a count is within its MOE of a true count that has "
        "the cap too."
    )
    if found.lost is None or found.cut is None:
        return sentence(f"{said} Give --codes-named to see it against people with all their codes.")
    return sentence(
        f"{said} of 100, 1,000, 10,000: the same against people with all their codes, for combination groups "
        "of that size that miss {lost} of their people. That share of all codes named is beyond the cap; "
        "{cut} of the people name more than {races}.",
        lost=Quantity(found.lost, Style.PERCENT),
        cut=Quantity(found.cut, Style.PERCENT),
        races=str(found.races),
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


def size_cells(one: SizedLevel) -> tuple[str, ...]:
    """Write what follows for one geography and level: margin, sizes, thresholds, and what is dropped.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> from discreet.census.safetab.design import sizing
    >>> found = sizing(configuration_2020(), specification_2020(), "US", exact=False)
    >>> size_cells(next(one for one in found.levels if one.place == ("COUNTY", 2)))
    ('± 11', '110', '880', '1,980', '5,060', '971 / 4,971 / 19,971', '21')
    """
    counts = (Quantity(size, Style.COUNT) for size in one.sizes)
    steps = " / ".join(str(Quantity(step, Style.COUNT)) for step in one.thresholds)
    cut = Quantity(one.suppression, Style.COUNT, missing="none dropped")
    return f"± {Quantity(one.margin, Style.COUNT)}", *map(str, counts), steps, str(cut)


def rival_epsilons(found: Rivals) -> tuple[Quantity, Quantity]:
    """Return what discrete Gaussian and geometric noise of the same margins cost, in brief."""
    gaussian, geometric = found.gaussian_epsilon, found.geometric_epsilon
    return Quantity(gaussian, Style.BRIEF, digits=4), Quantity(geometric, Style.BRIEF, digits=4)


def rival_facts(found: Rivals) -> tuple[Fact, Fact]:
    """Return what both kinds of noise cost at one margin, each with the size that keeps it.

    >>> from discreet.census.safetab.design import rivals
    >>> [(fact.label, str(fact.value), fact.note) for fact in rival_facts(rivals([(11, 9)], delta="1e-10"))]
    [('Discrete Gaussian', '3.170', 'variance 34.51'), ('Geometric', '2.338', 'scale 3.850')]
    """
    variance, scale = (Quantity(float(size[0]), digits=4) for size in (found.variances, found.scales))
    return (
        Fact("Discrete Gaussian", Quantity(found.gaussian_epsilon, digits=4), f"variance {variance}"),
        Fact("Geometric", Quantity(found.geometric_epsilon, digits=4), f"scale {scale}"),
    )


def rival_text(found: Rivals) -> str:
    """Say which kind of noise costs less at the same margin.

    >>> from discreet.census.safetab.design import rivals
    >>> rival_text(rivals([(11, 9)], delta="1e-10"))
    'With a margin of ± 11 on 9 counts of one person, geometric noise costs 26.2 % less epsilon than \
discrete Gaussian noise.'
    """
    margin, counts = found.margins[0]
    start = f"With a margin of ± {margin} on {counts} counts of one person,"
    if not _told(found):
        return f"{start} neither kind of noise has a measurable cost."
    names = ("discrete Gaussian noise", "geometric noise")
    first, second = names if _gaussian_wins(found) else names[::-1]
    return f"{start} {first} costs {_saved(found)} less epsilon than {second}."


def row_rival_text(row: str, found: Rivals) -> str:
    """Say which kind of noise costs less for one geography and level."""
    return f"{row}. {rival_text(found)} For all rows together it may be the other way round."


def _told(found: Rivals) -> bool:
    """Whether both kinds cost something that can be told."""
    return found.gaussian_epsilon > 0 and found.geometric_epsilon > 0


def _gaussian_wins(found: Rivals) -> bool:
    return found.gaussian_epsilon <= found.geometric_epsilon


def _saved(found: Rivals) -> Quantity:
    """How much less the cheaper kind costs."""
    less, more = sorted((found.gaussian_epsilon, found.geometric_epsilon))
    return Quantity(1 - less / more, Style.PERCENT)


def _rivals(found: Rivals, unit: str) -> Sentence | str:
    if not _told(found):
        return "At these margins neither kind of noise costs anything that can be told."
    first, second = ("Gaussian", "geometric")[:: 1 if _gaussian_wins(found) else -1]
    gaussian, geometric = rival_epsilons(found)
    return sentence(
        "Kinds of noise at these margins, one stage and one {unit} added: discrete Gaussian epsilon "
        "{gaussian}, geometric {geometric}. {first} noise costs {less} less than {second}.",
        unit=unit,
        gaussian=gaussian,
        geometric=geometric,
        first=first[0].upper() + first[1:],
        less=_saved(found),
        second=second,
    )


# -- groups that could get a total only --------------------------------------------------------------------


@describes(TotalOnlyGroups)
def total_only_answer(found: TotalOnlyGroups) -> Answer:
    """Say which groups could get a total only, going by an earlier count, and what that gains.

    >>> from discreet.census.safetab.census2020 import specification_2020
    >>> none = TotalOnlyGroups(file="t1.csv", sure=Fraction(19, 20), groups=(), judged=7, unknown=2,
    ...     gains=(), notes=(), tabulation=specification_2020().tabulation)
    >>> print(total_only_answer(none).body[0].text)
    Total only: 0 of 7 groups would get no table by sex and age in the nation or any state, 95 % of the time \
or more, going by t1.csv
    """
    command = f"discreet safetab design --earlier {found.file}"
    return Answer("Total only", _totals_record(found), tuple(_total_only(found)), command=command)


def _total_only(found: TotalOnlyGroups) -> Iterator[Part]:
    tabulation = found.tabulation
    below = tabulation.sides[1]
    tables = " or ".join(ladder.name for ladder in tabulation.ladders.values() if ladder.picks)
    yield Paragraph(
        sentence(
            "Total only: {groups} of {judged} groups would get no table by {tables} in {above}, {sure} of "
            "the time or more, going by {file}",
            groups=Quantity(len(found.groups), Style.COUNT),
            judged=Quantity(found.judged, Style.COUNT),
            tables=tables,
            above=tabulation.above,
            sure=Quantity(found.sure, Style.PERCENT),
            file=found.file,
        )
    )
    yield ""
    if found.groups:
        listed = _groups(found)
        yield replace(listed, rows=listed.rows[:MOST_SHOWN])
        if len(found.groups) > MOST_SHOWN:
            more = Quantity(len(found.groups) - MOST_SHOWN, Style.COUNT)
            yield sentence("... and {more} more; --json lists all.", more=more)
        yield ""
    yield Paragraph(
        f"largest: its largest earlier count. {below}: how many earlier counts it has there; again: how "
        "many of them would be published on average. A group marked DETAILED_ONLY is not published there. It "
        "spends nothing on the first stage, so its totals have less noise: "
        f"{'; '.join(str(_gain(one)) for one in found.gains)}. The sum of the budgets stays the same."
    )
    yield Paragraph(
        sentence(
            "{file} must be public, or already paid for: which groups you mark tells about it. Groups "
            "without an earlier count: {unknown}, not judged.",
            file=found.file,
            unknown=Quantity(found.unknown, Style.COUNT),
        )
    )
    yield from (Paragraph(str(Caution(f"{note}."))) for note in found.notes)


def _gain(one: TotalOnlyGain) -> Sentence:
    return sentence(
        "{place} variance {before} to {after}, MOE {wide} to {narrow}",
        place=":".join(map(str, one.place)),
        before=Quantity(one.variance, Style.BRIEF, digits=4),
        after=Quantity(one.variance_total_only, Style.BRIEF, digits=4),
        wide=str(one.margin),
        narrow=str(one.margin_total_only),
    )


def _groups(found: TotalOnlyGroups) -> AnswerTable:
    columns = (
        Column("group", "group", is_text=True),
        Column(key="name"),
        Column("L", "level"),
        Column("kind", "kind", is_text=True),
        Column("name", is_text=True),
        Column("largest", "largest_earlier_count"),
        Column("total only"),
        Column(key="chance_of_a_total_only"),
        Column(found.tabulation.sides[1], "earlier_counts_below_states"),
        Column("again", "expected_below_states"),
    )
    rows = (
        (
            one.group.code,
            one.group.name,
            one.group.level,
            one.group.kind,
            one.group.name[:40],
            Quantity(one.largest, Style.COUNT),
            Quantity(100 * one.chance, Style.PLACES, digits=2, unit="%"),
            one.chance,
            Quantity(one.below, Style.COUNT),
            Quantity(one.kept, Style.COUNT, digits=1),
        )
        for one in found.groups
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
        Line(at, name, place, Weight.NORMAL if place else Weight.HEAVY)
        for place, (name, at) in enumerate(lines)
    )


def _chances(title: str) -> Axis:
    return Axis(title, 0.0, 1.0, written=Notation.PERCENT)
