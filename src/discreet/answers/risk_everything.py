"""The risk of everything published, in words, tables and curves: first what it tells of everyone in the data.

Numbers that are called "at most" are rounded up, as everywhere. A table says who the adversary is in the
sentence before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from discreet.answers.account import case_text
from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Caution,
    Column,
    Fact,
    Paragraph,
    Part,
    Sentence,
    marked,
    sentence,
)
from discreet.answers.best_guess import guess_record, leading_sentence
from discreet.answers.describing import describes
from discreet.answers.figure import QUIET, Axis, Line, Notation, Panel, Picture
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style
from discreet.answers.release import claim_note, claim_text, relation
from discreet.answers.risk import (
    belief_of,
    chance_words,
    levels_panel,
    prior_text,
    right_percent,
    risk_answer,
    risk_facts,
)
from discreet.budget import AnswerKind, Claim
from discreet.budget.level_names import level_name
from discreet.disclosure.best_guess import best_guess
from discreet.disclosure.everything import AttributeRisk, Detection, Guess, ReleaseRisk, predictive_value


@describes(ReleaseRisk)
def whole_risk_answer(whole: ReleaseRisk) -> Answer:
    """Say what the best adversary makes of everything published together.

    >>> from discreet.budget import load
    >>> from discreet.disclosure.everything import risk
    >>> answer = whole_risk_answer(risk(load("dhc-2022-08-25"), prior="1/100", false_positive_rates=["1e-4"]))
    >>> answer.objects["detection"][0]["false_positive_rate"], [str(fact.value) for fact in answer.facts[:2]]
    (0.0001, ['99.26 %', '93.98 %'])
    """
    about = risk_answer(whole.profile, is_held=bool(whole.exact))
    record = {
        **about.record,
        "best_guess": guess_record(best_guess(whole)),
        "releases": list(whole.releases),
        "people": whole.people,
        "held_exact": [str(exact_count) for exact_count in whole.exact],
        "told_apart_by_exact_counts": whole.told_apart,
        "queries": whole.queries,
        "queries_fixed_by_exact_counts": whole.dropped,
        "detection": detection_table(whole.detections),
        "guessing": _guess_table(whole.guesses),
        "attributes": attribute_table(whole),
    }
    priors = " ".join(f"--prior {prior_text(prior)}" for prior in whole.profile.priors)
    people = f" --people {whole.people}" if whole.people != 1 else ""
    exact = f" --held-exact {','.join(map(str, whole.exact))}" if whole.exact else ""
    return Answer(
        about.title,
        record,
        tuple(_body(whole, about)),
        _whole_facts(whole),
        tables={**about.tables, "detection": detection_table(whole.detections)},
        command=f"discreet risk release {' '.join(whole.releases)} {priors}{people}{exact}",
        figures={**about.figures, "risk": partial(_risk_picture, whole)},
        cautions=tuple(_cautions(whole)),
    )


def _whole_facts(whole: ReleaseRisk) -> tuple[Fact, ...]:
    """Return the numbers of the headline: those of everything, and what changes at a low prior."""
    facts = risk_facts(whole.profile.at(whole.profile.priors[0]))
    rare = next((row for row in whole.detections if row.false_positive_rate >= 1e-4), None)
    more: list[Fact] = []
    if rare is not None:
        prior, share = min(rare.predictive)
        note = f"prior {prior_text(prior)}, wrongly accused {_rate(rare.false_positive_rate)}"
        more.append(Fact("Right when accusing", _share_of_all(share, rare.claim), note))
    if whole.guesses:
        guess = whole.guesses[0]
        note = f"{Quantity(guess.before, Style.HUNDRED, unit='%')} with nothing published"
        more.append(Fact(f"Guess {_of_many(guess)}", _share_of_all(guess.after, guess.claim), note))
    return (*facts[:1], *more, *facts[1:3])


def _body(whole: ReleaseRisk, about: Answer) -> Iterator[Part]:
    profile = whole.profile
    who = relation(profile.neighbours, profile.unit, profile.people)
    cases = f"{profile.compared:,} cases compared" if profile.compared > 1 else "one case"
    several = f"{len(whole.releases)} releases together; " if len(whole.releases) > 1 else ""
    yield Paragraph(f"{profile.name}: {several}{who}; {cases}.")
    if claim_note(profile.claim):
        yield Paragraph(claim_text(profile.claim))
    if whole.exact:
        yield Paragraph(exact_words(whole))
    yield ""
    yield Paragraph(leading_sentence(best_guess(whole)), indent="")
    yield ""
    yield "By prior:"
    yield _belief_table(whole)
    yield ""
    yield Paragraph(
        "Someone who knows every other record and accuses where the evidence is strongest: how often they "
        f"accuse wrongly, how often they find a present target{_at_most(whole)}, and what share of those "
        "accused is present, by prior. A smaller rate of wrong accusations makes them right more often, and "
        "find fewer."
    )
    yield detection_table(whole.detections)
    yield ""
    yield Paragraph(_guess_words(whole))
    yield _guess_table(whole.guesses)
    if whole.attributes:
        yield ""
        yield Paragraph(attribute_words(whole))
        yield attribute_table(whole)
    yield ""
    yield Paragraph("Level by level:")
    # the first sentences say who is compared, as above
    skipped = 1 if profile.claim.kind is AnswerKind.EXACT else 2
    yield from about.body[skipped + 1 :]


def exact_words(whole: ReleaseRisk) -> str:
    """Say what is held exact, and what that does to the comparison."""
    held = _listed(
        [
            f"{exact_count.query} of each {level_name(exact_count.level).lower()}"
            for exact_count in whole.exact
        ]
    )
    if whole.told_apart:
        return (
            f"Held exact: {held}. Adding or removing a {whole.profile.unit} changes an exact count, so that "
            "the two data sets are told apart with certainty: f is 0, whatever the noise. What can still be "
            "asked is which values a person has (below), or who is there instead (--neighbours bounded)."
        )
    return (
        f"Held exact: {held}. Only data sets that agree on that are compared. Of the {whole.queries} queries "
        f"of the main path{'s' if len(whole.releases) > 1 else ''} it fixes {whole.dropped}."
    )


def _cautions(whole: ReleaseRisk) -> Iterator[Caution]:
    if whole.told_apart:
        yield Caution("An exact count tells the compared data sets apart with certainty.")


def _belief_table(whole: ReleaseRisk) -> AnswerTable:
    """Return right decisions and the belief in a present target, from everything, by prior."""
    columns = (
        Column("prior"),
        Column("right, nothing published"),
        Column("everything published"),
        Column("mean belief if present"),
        Column("median"),
        Column("95 % below"),
    )
    rows = (
        (
            Quantity(row.prior, Style.PRIOR),
            Quantity(row.baseline, Style.HUNDRED, unit="%"),
            right_percent(row, unit="%"),
            belief_of(row, row.expected),
            belief_of(row, row.quantiles[2]),
            belief_of(row, row.quantiles[4]),
        )
        for row in whole.profile.overall
    )
    return AnswerTable(columns, tuple(rows))


def _guess_words(whole: ReleaseRisk) -> str:
    """Say what a guess is, and against which reference its bound is."""
    people = "a person's values" if whole.people == 1 else f"the values of {whole.people} people"
    words = (
        f"Someone who guesses {people}, all else known: how often the best guess is right with nothing "
        f"published, and{_at_most(whole)} with everything. The bound compares the noisy counts with those "
        "of a data set with nobody in the place"
    )
    if whole.guesses and whole.guesses[0].replaced is not None:
        words += "; with another person in the place it is larger, and the least holds"
    return words + "."


def accusing_sentence(whole: ReleaseRisk) -> Sentence | None:
    """Say what changes at the lowest prior, for someone who accuses few; None if nothing is known of that.

    >>> from discreet.budget import load
    >>> from discreet.disclosure.everything import risk
    >>> print(accusing_sentence(risk(load("dhc-2022-08-25"))))
    Someone who knows every other record, gives each target a chance of 1 in 100, sees everything published \
and accuses 1 in 10,000 of those who are not there finds at most 15.46 % of those who are; of 100 people \
accused at most 93.98 are present.
    """
    row = next((row for row in whole.detections if row.false_positive_rate >= 1e-4), None)
    if row is None:
        return None
    prior, share = min(row.predictive)
    return sentence(
        "Someone who knows every other record, gives each target {prior}, sees everything published and "
        "accuses {rate} of those who are not there finds{most} {found} of those who are; of 100 people "
        "accused{most} {share} are present.",
        prior=chance_words(prior),
        rate=_rate(row.false_positive_rate),
        most=_at_most(whole),
        found=_share_of_all(row.true_positive_rate, row.claim),
        share=replace(_share_of_all(share, row.claim), unit=""),
    )


def guess_sentence(whole: ReleaseRisk) -> Sentence | None:
    """Say how often a person's values are guessed.

    >>> from discreet.budget import load
    >>> from discreet.disclosure.everything import risk
    >>> print(guess_sentence(risk(load("dhc-2022-08-25"), guess=["1/2016"])))
    Someone who knows every other record and guesses which of 2,016 equally likely sets of values a person \
has is right 0.05 % of the time with nothing published, and at most 27.73 % with everything.
    """
    if not whole.guesses:
        return None
    guess = whole.guesses[0]
    many = f"which of {Quantity(guess.possibilities, Style.COUNT)} equally likely sets of values"
    if guess.possibilities is None:
        many = "which values"
    return sentence(
        "Someone who knows every other record and guesses {many} a person has is right {before} of the time "
        "with nothing published, and{most} {after} with everything.",
        many=many,
        before=Quantity(guess.before, Style.HUNDRED, unit="%"),
        most=_at_most(whole),
        after=_share_of_all(guess.after, guess.claim),
    )


def attribute_sentences(whole: ReleaseRisk) -> Iterator[Sentence]:
    """Say of each attribute what everything published tells of it."""
    for row in whole.attributes:
        if row.guess is None or row.epsilon is None or row.right is None:
            yield sentence(
                "{name}: every change of it alters an exact count, which tells its values apart.",
                name=marked(row.attribute, "strong"),
            )
            continue
        yield sentence(
            "{name}: someone who knows every other record, and all else of the target, guesses one of its "
            "{values} values {before} of the time with nothing published, and{most} {after} with everything "
            "(epsilon {epsilon} at delta {delta}; {seen} of {all} queries of the main path see it).",
            name=marked(row.attribute, "strong"),
            values=Quantity(row.values, Style.COUNT),
            before=Quantity(row.guess.before, Style.HUNDRED, unit="%"),
            most=_at_most(whole),
            after=_share_of_all(row.guess.after, row.guess.claim),
            epsilon=Claimed.by(row.claim, row.epsilon, digits=5),
            delta=Quantity(row.delta, Style.GIVEN),
            seen=str(row.seen),
            all=str(row.queries),
        )


def attribute_words(whole: ReleaseRisk) -> str:
    """Say what the risk of one attribute is."""
    delta = Quantity(whole.attributes[0].delta, Style.GIVEN)
    return (
        "What about one attribute alone, all others known? Queries that do not see a change of it drop out. "
        f"Epsilon at delta {delta}; how often someone is right who has to tell two of its values apart, at "
        "even odds; and how often the value is guessed, all equally likely beforehand."
    )


# -- tables --------------------------------------------------------------------------------------------------


def detection_table(rows: tuple[Detection, ...]) -> AnswerTable:
    """Return wrong accusations, targets found, and how many of those accused are present, by prior."""
    priors = [prior for prior, _ in rows[0].predictive] if rows else []
    columns = (
        Column("wrongly accused"),
        Column(key="false_positive_rate"),
        Column("found", "true_positive_rate"),
        Column(key="kind"),
        *(Column(f"right, prior {prior_text(prior)}") for prior in priors),
        Column(key="predictive_values"),
        Column("worst case", is_text=True),
        Column(key="worst_case"),
    )
    made = []
    for row in rows:
        made.append(
            (
                _rate(row.false_positive_rate),
                row.false_positive_rate,
                _share_of_all(row.true_positive_rate, row.claim),
                row.claim.kind.value,
                *(_share_of_all(share, row.claim) for _, share in row.predictive),
                {prior_text(prior): share for prior, share in row.predictive},
                "-" if row.case is None else case_text(row.case),
                row.case,
            )
        )
    return AnswerTable(columns, tuple(made))


def _guess_table(rows: tuple[Guess, ...]) -> AnswerTable:
    """Return the chance of a right guess without and with everything published, by reference."""
    columns = (
        Column("guess", is_text=True),
        Column("nothing published", "before"),
        Column("everything published", "at_most"),
        Column("(another person)", "at_most_against_another_person"),
        Column(key="at_most_against_nobody"),
        Column(key="possibilities"),
    )
    made = (
        (
            _of_many(row),
            Quantity(row.before, Style.HUNDRED, unit="%"),
            _share_of_all(row.after, row.claim),
            _share_of_all(row.replaced, row.claim),
            row.nobody,
            row.possibilities,
        )
        for row in rows
    )
    return AnswerTable(columns, tuple(made))


def attribute_table(whole: ReleaseRisk) -> AnswerTable:
    """Return the epsilon of each attribute alone, and what is guessed of it."""
    columns = (
        Column("attribute", "attribute", is_text=True),
        Column("values", "values"),
        Column("queries that see it"),
        Column(key="queries_that_see_it"),
        Column("epsilon", "epsilon"),
        Column("two values", "right_between_two_values"),
        Column("guess, nothing published", "guess_before"),
        Column("everything published", "guess_at_most"),
        Column(key="delta"),
        Column(key="kind"),
        Column(key="worst_case"),
        Column(key="true_positive_rates"),
    )
    return AnswerTable(columns, tuple(_attribute_row(row) for row in whole.attributes))


def _attribute_row(row: AttributeRisk) -> tuple[object, ...]:
    known = "told by an exact count"
    return (
        row.attribute,
        row.values,
        f"{row.seen} of {row.queries}",
        row.seen,
        Claimed.by(row.claim, row.epsilon, digits=5, missing=known),
        _share_of_all(row.right, row.claim, missing=known),
        Quantity(row.guess.before if row.guess else None, Style.HUNDRED, unit="%", missing=known),
        _share_of_all(row.guess.after if row.guess else None, row.claim, missing=known),
        float(row.delta),
        row.claim.kind.value,
        row.case,
        {_rate(detection.false_positive_rate): detection.true_positive_rate for detection in row.detections},
    )


def exact_table(whole: ReleaseRisk, before: ReleaseRisk) -> AnswerTable:
    """Return the risk if only data sets are compared that agree on what is held exact, beside that of all.

    >>> from discreet.budget import load
    >>> from discreet.disclosure.everything import risk
    >>> release = load("dhc-2022-08-25")  # for records added or removed, which exact totals tell apart
    >>> pair = [risk(release, prior="1/2", exact=exact) for exact in (["State:total"], [])]
    >>> exact_table(*pair).cells[0]
    ['right decisions, prior 0.5', '91.17 %', '100.00 %']
    """
    columns = (
        Column("at most", "what", is_text=True),
        Column("all data sets", "all_data_sets"),
        Column("those that agree on what is exact", "those_that_agree"),
    )
    both = (before, whole)
    first = [release_risk.profile.at(release_risk.profile.priors[0]).overall[0] for release_risk in both]
    prior = f"prior {prior_text(first[0].prior)}"
    rows: list[tuple[object, ...]] = [
        (f"right decisions, {prior}", *(right_percent(row, unit="%") for row in first)),
        (f"mean belief if present, {prior}", *(belief_of(row, row.expected) for row in first)),
    ]
    for many in zip(before.detections, whole.detections, strict=True):
        name = f"found, {_rate(many[0].false_positive_rate)} wrongly accused"
        rows.append(
            (name, *(_share_of_all(detection.true_positive_rate, detection.claim) for detection in many))
        )
    for guesses in zip(before.guesses, whole.guesses, strict=True):
        rows.append(
            (f"guess {_of_many(guesses[0])}", *(_share_of_all(guess.after, guess.claim) for guess in guesses))
        )
    for pair in zip(before.attributes, whole.attributes, strict=True):
        epsilons = (
            Claimed.by(
                attribute_risk.claim, attribute_risk.epsilon, digits=5, missing="told by an exact count"
            )
            for attribute_risk in pair
        )
        rows.append((f"epsilon of {pair[0].attribute}", *epsilons))
    return AnswerTable(columns, tuple(rows))


# -- pictures ------------------------------------------------------------------------------------------------


def _risk_picture(whole: ReleaseRisk) -> Picture:
    """Return the curves of detection on logarithmic axes, and right decisions by level."""
    curve = whole.curve()
    priors = whole.profile.priors
    levels = (levels_panel(whole.profile.at(prior)) for prior in priors)
    panels = (detection_panel(curve), predictive_panel(curve, priors), *levels)
    return Picture(
        panels,
        f"{whole.profile.name}: the best any adversary can do",
        "Targets found and share of those accused who are present, against the rate of wrong accusations; "
        "right decisions by level.",
        across=2,
        size=(11.0, 4.4 * -(-len(panels) // 2)),
    )


def detection_panel(curve: tuple[tuple[float, float], ...]) -> Panel:
    """Return the true-positive rate against the false-positive rate, both logarithmic.

    >>> [item.label for item in detection_panel(((1e-6, 0.01), (0.1, 0.8))).items]
    ['everything published', 'nothing published']
    """
    chance = tuple((a, a) for a, _ in curve)
    x = Axis("wrongly accused", 1e-6, 1.0, is_log=True, written=Notation.POWER)
    y = Axis("present targets found", 1e-6, 1.0, is_log=True, written=Notation.POWER)
    lines = (
        Line((*curve, (1.0, 1.0)), "everything published", 0),
        Line((*chance, (1.0, 1.0)), "nothing published", QUIET),
    )
    return Panel(x, y, lines, "present targets found")


def predictive_panel(curve: tuple[tuple[float, float], ...], priors: tuple[float, ...]) -> Panel:
    """Return what share of those accused is present against the false-positive rate, both logarithmic.

    >>> [item.label for item in predictive_panel(((1e-6, 0.01), (0.1, 0.8)), (0.5, 0.01)).items]
    ['prior 0.5', 'prior 0.01']
    """
    lines = tuple(
        Line(
            (*((a, predictive_value(prior, true, a)) for a, true in curve), (1.0, prior)),
            f"prior {prior_text(prior)}",
            number,
        )
        for number, prior in enumerate(priors)
    )
    x = Axis("wrongly accused", 1e-6, 1.0, is_log=True, written=Notation.POWER)
    least = min((y for line in lines for _, y in line.points if y > 0), default=0.1)
    low = 10.0 ** math.floor(math.log10(min(least, 0.5)))
    y = Axis("of those accused, present", low, 1.0, is_log=True, written=Notation.PERCENT)
    return Panel(x, y, lines, "right when accusing")


# -- words ---------------------------------------------------------------------------------------------------


def _at_most(whole: ReleaseRisk) -> str:
    return " at most" if whole.profile.is_bound and whole.profile.complete else ""


def _share_of_all(share: float | None, claim: Claim, *, missing: str = "-") -> Claimed:
    """A share that nobody exceeds as far as the claim goes; of what is modelled only it bounds nothing."""
    kind = NumberKind.MODELLED if claim.kind is AnswerKind.MODEL else NumberKind.AT_MOST
    return Claimed.by(claim, share, Style.HUNDRED, kind=kind, unit="%", missing=missing)


def _rate(rate: float) -> str:
    """Write a rate as one of so many.

    >>> _rate(1e-4), _rate(0.37)
    ('1 in 10,000', '0.37')
    """
    words = chance_words(rate).removeprefix("a chance of ")
    return "1 in 2" if words == "an even chance" else words


def _of_many(guess: Guess) -> str:
    if guess.possibilities is None:
        return f"a chance of {Quantity(guess.before, Style.GIVEN)}"
    return f"one of {Quantity(guess.possibilities, Style.COUNT)}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
