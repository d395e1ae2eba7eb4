"""One page, in Markdown, on what can be learned about one person from a release, in plain words.

Each sentence names its adversary and says what it leaves out. Where one answer is far likelier than the other
beforehand, "right 99 times in 100" says nothing, since saying no of everyone is right as often; the page then
leads with what changes: the belief in a target who is present, and how often one who is named is present.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Bullets,
    Column,
    Heading,
    Paragraph,
    Part,
    Sentence,
    Words,
    joined_words,
    marked,
    sentence,
)
from discreet.answers.best_guess import guess_record, known_parts, leading_sentence
from discreet.answers.markdown import markdown_of
from discreet.answers.quantity import Quantity, Style
from discreet.answers.release import claim_note, relation
from discreet.answers.risk import (
    OF_SUMS,
    advantage_of,
    belief_of,
    belief_sentence,
    chance_words,
    factor_of,
    luck_sentence,
    naming_sentence,
    place_words,
    right_percent,
    risk_answer,
    times_right,
    worst_case,
)
from discreet.answers.risk_everything import (
    accusing_sentence,
    attribute_sentences,
    exact_table,
    exact_words,
    guess_sentence,
)
from discreet.budget.level_names import level_name
from discreet.disclosure.best_guess import BestGuess, best_guess
from discreet.disclosure.everything import ReleaseRisk
from discreet.disclosure.profile import Risk, RiskProfile

LOPSIDED = 0.8
"""From this share of right guesses without any release on, beliefs say more than right guesses."""


def explain_answer(
    risk_profile: RiskProfile | ReleaseRisk, *, title: str = "", before: ReleaseRisk | None = None
) -> Answer:
    """Say in plain words what can be learned about one person, at the first prior.

    Of everything published it also says what changes at a low prior, and what is told of each attribute. With
    counts held exact, `before` is the risk with none, and the page says what they change.

    >>> from discreet.disclosure.profile import risk_profile
    >>> answer = explain_answer(risk_profile({"Block": "0.0992"}, prior="1/2"))
    >>> (short,) = (part.items for part in answer.body if "From one count" in str(part))
    >>> str(short[-1])
    "From one count. Someone who knows everyone else in the block, gives the target an even chance and \
sees only the block's count is right 58.88 times in 100. Every other count is left out."
    """
    whole = risk_profile if isinstance(risk_profile, ReleaseRisk) else None
    profile = (
        risk_profile
        if isinstance(risk_profile, RiskProfile)
        else risk_profile.profile.at(risk_profile.profile.priors[0])
    )
    about = risk_answer(profile)
    who = f"one {profile.unit}" if profile.people == 1 else f"{profile.people} records that change together"
    heading = f"What can be learned about {who} from {profile.name}"
    guess = best_guess(risk_profile)
    body = tuple(_body(profile, title, whole, before, guess))
    command = about.command.replace("risk release", "risk explain")
    record = {**about.record, "best_guess": guess_record(guess), "page": markdown_of(heading, body)}
    if whole is not None and whole.exact:
        command += f" --held-exact {','.join(map(str, whole.exact))}"
        record["held_exact"] = [str(exact_count) for exact_count in whole.exact]
        if before is not None:
            record["changed_by_exact_counts"] = exact_table(whole, before)
    return Answer(heading, record, (Paragraph(heading), "", *body), about.facts, command=command)


def _body(
    profile: RiskProfile,
    title: str,
    whole: ReleaseRisk | None,
    before: ReleaseRisk | None,
    guess: BestGuess,
) -> Iterator[Part]:
    single = profile.people == 1
    who = f"one {profile.unit}" if single else f"{profile.people} records that change together"
    instead = f"that of another {profile.unit} in its place" if single else "others in their place"
    if title:
        yield from (title, "")
    said = f"This leaves out {_missing(whole)}."
    yield Paragraph(joined_words([leading_sentence(guess), said]), indent="", role="headline")
    if known := known_parts(guess):
        yield from ("", *known)
    yield ""
    records, are = ("record", "is") if single else ("records", "are")
    those = "it is" if single else "they are"
    yield sentence(
        "This page is about {who}, here called the target, and about one question: {are} the target's "
        "{records} in the data, or {instead}? If {those}, the target is {present}. Beforehand the "
        "adversaries of this page give that {prior}.",
        who=who,
        are=are,
        records=records,
        instead=instead if profile.neighbours == "bounded" else "not",
        those=those,
        present=marked("present", "strong"),
        prior=_prior(profile),
    )
    if whole is not None and whole.exact:
        yield from ("", exact_words(whole))
    yield from _part("In short", Bullets(tuple(_in_short(profile, whole))))
    if whole is not None and whole.exact and before is not None:
        yield from _part("What the exact counts change", *_changes(whole, before))
    if whole is not None and whole.attributes:
        yield from _part("One attribute", Bullets(tuple(attribute_sentences(whole))))
    levels = (
        _level(profile, count, level) for count, level in zip(profile.one_count, profile.levels, strict=True)
    )
    left = f"Levels are those of the main path. Left out: other levels, {_missing(whole)}."
    yield from _part("Level by level", Bullets(tuple(levels)), "", left)
    yield from _part("What this page leaves out", Bullets(tuple(_left_out(profile, whole))))
    yield from _part("The numbers", *_numbers(profile))


def _part(heading: str, *parts: Part) -> Iterator[Part]:
    """A part of the page under its heading, with air around."""
    yield from ("", Heading(heading), "", *parts)


def _missing(whole: ReleaseRisk | None) -> str:
    """What every sentence leaves out."""
    more = "whatever else" if whole is not None and whole.exact else "what"
    return f"records that change together with the target's, and {more} is published without noise"


def _changes(whole: ReleaseRisk, before: ReleaseRisk) -> Iterator[Part]:
    yield exact_table(whole, before)
    if not whole.told_apart:
        yield ""
        yield (
            "An adversary who knows the exact counts does not learn less. Fewer data sets are left to tell "
            "apart, and the last column is about those alone; what the exact counts themselves say of the "
            "target is known before the noisy ones, and belongs to the prior."
        )


def _prior(profile: RiskProfile) -> str:
    return chance_words(profile.overall[0].prior)


def _is_lopsided(profile: RiskProfile) -> bool:
    return profile.overall[0].baseline >= LOPSIDED


def _others(profile: RiskProfile) -> str:
    return "everyone else" if profile.unit == "person" else f"every other {profile.unit}"


def _in_short(profile: RiskProfile, release_risk: ReleaseRisk | None) -> Iterator[Sentence]:
    worst = max(profile.one_count, key=lambda row: row.advantage)
    where = place_words(worst.scope)
    query = f" ({worst.query})" if worst.query != "one count" else ""
    noun = "sum" if worst.what.startswith("one sum") else "count"
    # the area's count, not the area of "State, A-G"'s
    sees = (
        f"Someone who knows {_others(profile)} in the {where}, gives the target {_prior(profile)} and sees "
        f"only the {where.partition(' of ')[0]}'s {noun}{query}"
    )

    def bullet(name: str, said: Sentence) -> Sentence:
        left = f"This leaves out {_missing(release_risk)}."
        return joined_words([marked(f"{name}.", "strong"), said, left])

    said = [] if release_risk is None else [accusing_sentence(release_risk), guess_sentence(release_risk)]
    names = ("Where targets are rare", "What they would guess")
    more = [bullet(name, text) for name, text in zip(names, said, strict=False) if text is not None]
    if release_risk is not None and release_risk.told_apart:
        yield from more[1:]
        return
    one_count = sentence("{name} {sees} ", name=marked("From one count.", "strong"), sees=sees)
    if not _is_lopsided(profile):
        yield bullet("How sure they become", belief_sentence(profile))
        yield from more
        yield sentence(
            "{start}is right {times}. Every other count is left out.",
            start=one_count,
            times=times_right(worst),
        )
        return
    yield bullet("What changes", belief_sentence(profile))
    yield bullet("Whom they would name", naming_sentence(profile))
    yield from more
    yield sentence(
        "{start}gives a present target a probability of {mean} on average, {factor} times the prior. Every "
        "other count is left out.",
        start=one_count,
        mean=belief_of(worst, worst.expected),
        factor=factor_of(worst),
    )


def _level(profile: RiskProfile, count: Risk, level: Risk) -> Sentence:
    words: dict[str, Words] = {
        "name": marked(f"{level_name(count.scope)}.", "strong"),
        "others": _others(profile),
        "place": place_words(count.scope),
        "prior": _prior(profile),
        "most": "at most " if profile.modelled else "",
    }
    start = "{name} Someone who knows {others} in the {place} and gives the target {prior} "
    every = "someone who knows every other record and gives the target {prior} "
    if not _is_lopsided(profile):
        return sentence(
            f"{start}is right {{one}} from the count that tells most at even odds; {every}is right "
            "{most}{all} from all counts of this level.",
            one=times_right(count),
            all=times_right(level),
            **words,
        )
    return sentence(
        f"{start}gives a present target a probability of {{one}} on average from the count that tells most "
        f"at even odds, {{one_factor}} times the prior; {every}gives it {{most}}{{all}} on average from all "
        "counts of this level, {all_factor} times the prior.",
        one=belief_of(count, count.expected),
        one_factor=factor_of(count),
        all=belief_of(level, level.expected),
        all_factor=factor_of(level),
        **words,
    )


def _left_out(profile: RiskProfile, whole: ReleaseRisk | None) -> Iterator[str | Sentence]:
    if profile.has_sums:
        yield f"Smaller amounts. {OF_SUMS}"
    yield sentence(
        "Luck. The numbers are averages over the noise, and over the answers yes and no as the adversary "
        "expects them. {luck}",
        luck=luck_sentence(profile),
    )
    if profile.people == 1:
        yield sentence(
            "Records that change together. Each number is about one record. Two people who move together "
            "change two, and someone who knows that they do learns more than this page says; ask for "
            "{option}.",
            option=marked("discreet risk explain --people 2", "code"),
        )
    else:
        yield f"Records that change together beyond the {profile.people} that this page is about."
    if whole is not None and whole.exact:
        yield (
            f"Other invariants. Beside {', '.join(map(str, whole.exact))}, anything published without "
            "noise may reveal more about the target. It is not in these numbers."
        )
    else:
        yield sentence(
            "Invariants. Anything published without noise, such as the number of people in each state, may "
            "reveal more about the target. It is not in these numbers; {option} compares only data sets that "
            "agree on it.",
            option=marked("discreet risk explain --held-exact", "code"),
        )
    yield (
        "Adversaries who know less. Someone who knows less about records that have nothing to do with the "
        "target's does worse than this page says; someone who knows how they depend on it may do better."
    )
    yield (
        "What follows about the target from published statistics whether or not the target is in the data, "
        "for instance that a disease is common in a town."
    )
    if not profile.complete:
        yield sentence(
            "Paths other than the main one. Leave out {option} to get a bound.",
            option=marked("--main-only", "code"),
        )
        return
    cases = f"all {profile.compared:,} cases" if profile.compared > 1 else "the one case"
    who = relation(profile.neighbours, profile.unit, profile.people)
    claim = f" {claim_note(profile.claim)}" if claim_note(profile.claim) else ""
    yield f"The bound covers {cases} of {who}, with the noise that the release has.{claim}"


def _numbers(profile: RiskProfile) -> Iterator[Part]:
    columns = (
        Column("adversary sees", is_text=True),
        *map(Column, ("right, of 100", "advantage", "mean posterior if present", "named, of 100 present")),
    )
    rows = (
        (
            row.what if row.scope == "overall" else f"{level_name(row.scope)}: {row.what}",
            right_percent(row),
            advantage_of(row),
            belief_of(row, row.expected),
            Quantity(100 * row.named, Style.BRIEF, digits=3),
        )
        for row in profile.rows
    )
    yield AnswerTable(columns, tuple(rows))
    yield ""
    bounds = ["of every count"] * profile.modelled + ["of everything"] * profile.is_bound
    said = "No number here is a bound: not all that was released is modelled."
    if bounds:
        said = f"In rows {' and '.join(bounds)} the second, third and fourth columns are bounds, rounded up."
    if profile.compared > 1:
        said += (
            f" In the last row none of the {profile.compared:,} cases has more than the first three numbers; "
            f"the fourth is for {worst_case(profile.overall[0])}, where the best guess is best."
        )
    yield said
