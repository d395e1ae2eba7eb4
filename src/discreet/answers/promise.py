"""What an epsilon means for one person, on one page in plain words: odds first, then a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from discreet.answers.answer import (
    Answer,
    Bullets,
    Fact,
    Heading,
    Paragraph,
    Part,
    Sentence,
    Verbatim,
    marked,
    sentence,
)
from discreet.answers.best_guess import guess_record, known_parts, leading_sentence, right_quantity
from discreet.answers.describing import describes
from discreet.answers.figure import QUIET, Axis, Dots, Panel, Picture, Symbol
from discreet.answers.markdown import markdown_of
from discreet.answers.quantity import Quantity, Rounding, Style, count_quantity
from discreet.answers.risk import chance_words
from discreet.answers.risk_everything import detection_table
from discreet.disclosure.best_guess import BestGuess, best_guess
from discreet.disclosure.promise import PromisedRisk

_MOST = Rounding.UP
_MOST_PEOPLE = 10**9
_ABREAST = 50
"""People in one row, so that a terminal of 80 columns has room for them."""


@describes(PromisedRisk)
def promise_answer(promised: PromisedRisk) -> Answer:
    """Say what a promise means for one person.

    >>> from discreet.disclosure.promise import promised_risk
    >>> answer = promise_answer(promised_risk(epsilon=4, delta="1e-6"))
    >>> [str(fact.value) for fact in answer.facts], answer.command
    (['98.21 %', '96.47'], 'discreet explain --epsilon 4 --delta 1e-6 --prior 0.5 --neighbours unbounded')
    """
    epsilon, delta, prior = (
        Quantity(number, Style.GIVEN) for number in (promised.epsilon, promised.delta, promised.prior)
    )
    title = f"What epsilon {epsilon} means for one person"
    guess = best_guess(promised)
    body = tuple(_body(promised, guess))
    record = {
        "best_guess": guess_record(guess),
        "neighbours": promised.neighbours,
        "compares": _compares(promised),
        "epsilon": float(promised.epsilon),
        "delta": float(promised.delta),
        "prior": float(promised.prior),
        "baseline": promised.baseline,
        "accuracy": promised.right,
        "expected_posterior": promised.mean,
        "posterior_but_for_rare_outcomes": promised.belief,
        "probability_of_rare_outcomes": promised.chance,
        "detection": detection_table(promised.detections),
        "guessing": [{"before": before, "at_most": after} for before, after in promised.guesses],
        "of_what_her_record_says": None
        if promised.value is None
        else {
            "epsilon": float(promised.value.epsilon),
            "delta": float(promised.value.delta),
            "accuracy": promised.value.right,
            "expected_posterior": promised.value.mean,
            "posterior_but_for_rare_outcomes": promised.value.belief,
            "probability_of_rare_outcomes": promised.value.chance,
        },
        "page": markdown_of(title, body),
    }
    return Answer(
        title,
        record,
        (Paragraph(title), "", *body),
        (
            Fact(
                "Best guess right",
                right_quantity(guess, unit="%"),
                f"at most; {Quantity(promised.baseline, Style.HUNDRED, unit='%')} with nothing published",
            ),
            Fact(
                "Of 100 beliefs in her, on average",
                _of_hundred(promised.mean),
                f"at most, if she {_there(promised)}",
            ),
        ),
        command=f"discreet explain --epsilon {epsilon} --delta {delta} --prior {prior} "
        f"--neighbours {promised.neighbours}",
        figures={"promise": partial(people_picture, promised)},
    )


def _body(promised: PromisedRisk, guess: BestGuess) -> Iterator[Part]:
    epsilon, delta = (Quantity(number, Style.GIVEN) for number in (promised.epsilon, promised.delta))
    yield Paragraph(leading_sentence(guess), indent="", role="headline")
    yield ""
    yield (
        f"That is true of everything that is published with the promise of epsilon {epsilon}, delta {delta}, "
        f"which compares {_compares(promised)}: a table, a model or a map. The least favourable method "
        "attains the averages on this page. Most methods tell less, so that a release has a smaller number."
    )
    if known := known_parts(guess):
        yield from ("", *known)
    yield ""
    yield Heading("What it means for one woman in the data")
    yield ""
    there, all_people = _people_like_her(promised)
    yield sentence(
        _ODDS[promised.neighbours],
        all=all_people,
        there=there,
        are="is" if str(there) == "1" else "are",
        have="has" if str(there) == "1" else "have",
        chance=chance_words(promised.prior),
        mean=_of_hundred(promised.mean),
    )
    yield ""
    yield _icons(promised)
    yield ""
    yield sentence(
        "In odds: {odds}. Published numbers may raise them to {raised}{rare}.",
        odds=f"{_odds(float(promised.prior))} beforehand",
        raised=f"{_odds(promised.belief)}, a factor of {'2 ' if promised.delta else ''}e^{epsilon} = "
        f"{Quantity(promised.factor, Style.BRIEF, digits=3)}",
        rare=_rare(promised),
    )
    yield ""
    if promised.value is not None:
        yield sentence(
            "What the data say of her, such as a diagnosis, is hidden less well: to change it is to take her "
            "record out and to put another in, for which epsilon {twice}, delta {more} hold. If {there} of "
            "the {all} {have} the diagnosis and she is one of them, they give her at most {mean} chances in "
            "100 on average; in odds, {raised}{rare}.",
            twice=Quantity(promised.value.epsilon, Style.GIVEN),
            more=Quantity(float(promised.value.delta), Style.BRIEF, _MOST, digits=3)
            if promised.value.delta
            else "0",
            there=there,
            have="has" if str(there) == "1" else "have",
            all=all_people,
            mean=_of_hundred(promised.value.mean),
            raised=f"{_odds(promised.value.belief)} at most",
            rare=_rare(promised.value),
        )
    else:
        yield (
            "That the data have a record of hers at all, the promise does not hide: both data sets that it "
            "compares have as many records."
        )
    yield ""
    yield Heading("Deciding about her")
    yield ""
    yield Bullets(tuple(_decisions(promised)))
    yield ""
    yield Heading("What this leaves out")
    yield ""
    yield Bullets(
        (
            "What follows about her from everyone else's data. That smoking harms is learned whether or not "
            "she takes part.",
            sentence(
                "The method itself. {command} has the numbers of a release of noisy counts.",
                command=marked("discreet explain RELEASE", "code"),
            ),
            "Other publications about her, and people who move with her. Promises add up; epsilon is that of "
            "everything together.",
            f"Promises that compare other data. This one compares {_compares(promised)}; "
            "ask which it is if you were told an epsilon alone.",
        )
    )


def _decisions(promised: PromisedRisk) -> Iterator[Sentence]:
    """Say how often someone finds her who accuses few, and how often her values are guessed."""
    for row in promised.detections:
        ((_, share),) = row.predictive
        yield sentence(
            f"Someone who accuses {{rate}} of those who {_not_there(promised)} finds her at most {{true}} "
            f"times in 100 if she {_there(promised)}; of 100 people accused at most {{share}} "
            f"{'are there' if promised.neighbours == 'unbounded' else 'have it'}.",
            rate=_one_in(row.false_positive_rate),
            true=Quantity(row.true_positive_rate, Style.HUNDRED, _MOST),
            share=Quantity(share, Style.HUNDRED, _MOST),
        )
    for before_, after in promised.guesses:
        yield sentence(
            "Someone who guesses what the data say of her, with a chance of {before} in 100 beforehand, is "
            "right at most {after} times in 100.",
            before=Quantity(100 * before_, Style.BRIEF, digits=4),
            after=Quantity(after, Style.HUNDRED, _MOST),
        )


_ODDS = {
    "unbounded": "Take {all} people like her, {there} of whom {are} in the data. Someone who knows everyone "
    "else's data, but not who of the {all} {are} in it, gives her {chance}. If she is in it, then after "
    "publication they give her at most {mean} chances in 100 on average.",
    "bounded": "Take {all} people like her, {there} of whom {have} a certain diagnosis. Someone who knows "
    "everyone else's data, and that she is in the data, but not who of the {all} {have} it, gives her "
    "{chance}. If she has it, then after publication they give her at most {mean} chances in 100 on average.",
}


def _compares(promised: PromisedRisk) -> str:
    """Say which data sets the promise compares."""
    return {
        "unbounded": "the data with her record and without it",
        "bounded": "the data with her record and with another in its place",
    }[promised.neighbours]


def _there(promised: PromisedRisk) -> str:
    return {"unbounded": "is there", "bounded": "has it"}[promised.neighbours]


def _not_there(promised: PromisedRisk) -> str:
    return {"unbounded": "are not there", "bounded": "do not have it"}[promised.neighbours]


def _people_like_her(promised: PromisedRisk) -> tuple[Quantity, Quantity]:
    """Of how many people how many are there: of 100 if that is a whole number, else as the prior says it."""
    prior = promised.prior
    many = 100 if 100 % prior.denominator == 0 else prior.denominator
    if many > _MOST_PEOPLE:
        return Quantity(100 * float(prior), Style.BRIEF, digits=4), count_quantity(100)
    return count_quantity(int(many * prior)), count_quantity(many)


def _rare(promised: PromisedRisk) -> str:
    if promised.chance == 0:
        return ", never further"
    chance = Quantity(promised.chance, Style.GIVEN)
    return (
        f", except with a probability of at most {chance}; nothing bounds how far they rise then, and her "
        "record may be revealed"
    )


def _of_hundred(share: float) -> Quantity:
    return Quantity(share, Style.HUNDRED, _MOST)


def _odds(chance: float) -> str:
    """Write a chance as odds.

    >>> _odds(0.01), _odds(0.75), _odds(0.5)
    ('1 to 99', '3 to 1', '1 to 1')
    """
    if chance >= 1.0:
        return "certainty"
    ratio = chance / (1.0 - chance)
    if ratio >= 1:
        return f"{Quantity(ratio, Style.BRIEF, digits=3)} to 1"
    return f"1 to {Quantity(1.0 / ratio, Style.BRIEF, digits=3)}"


def _one_in(rate: float) -> str:
    return chance_words(rate).removeprefix("a chance of ").replace("an even chance", "1 in 2")


def _icons(promised: PromisedRisk) -> Verbatim:
    """A hundred people, twice: how many chances she is given before and after."""
    before, after = _counts(promised)
    lines = []
    for words, many in (("before", before), ("after", after)):
        marks = "#" * many + "." * (100 - many)
        lines += [f"{words:<8}{marks[:_ABREAST]}", f"{'':<8}{marks[_ABREAST:]}"]
    return Verbatim("\n".join(lines))


def _counts(promised: PromisedRisk) -> tuple[int, int]:
    """Whole chances in 100, rounded up."""
    before, after = (
        min(100, math.ceil(100 * share - 1e-9)) for share in (float(promised.prior), promised.mean)
    )
    return before, after


def people_picture(promised: PromisedRisk) -> Picture:
    """Return 100 people twice: those whom an adversary would take her for, before and after.

    >>> from discreet.disclosure.promise import promised_risk
    >>> picture = people_picture(promised_risk(epsilon=4, delta="1e-6", prior="1/100"))
    >>> [len(panel.items[0].points) for panel in picture.panels]
    [1, 35]
    """
    before, after = _counts(promised)
    epsilon, beforehand = Quantity(promised.epsilon, Style.GIVEN), 100 * float(promised.prior)
    # numbers as on the page: only the marks are whole people
    names = (
        f"nothing published: {Quantity(beforehand, Style.BRIEF, digits=4)} in 100",
        f"published: at most {_of_hundred(promised.mean)} in 100",
    )
    what = {"unbounded": "is there", "bounded": "has the diagnosis"}[promised.neighbours]
    panels = tuple(_people(many, name) for many, name in zip((before, after), names, strict=True))
    return Picture(
        panels,
        f"Epsilon {epsilon}: how sure an adversary becomes that she {what}",
        f"Of 100 people {before} are marked before and {after} after, rounded up to whole people.",
        size=(8.0, 4.2),
    )


def _people(many: int, title: str) -> Panel:
    places = [(float(k % 10), float(k // 10)) for k in range(100)]
    unnamed = ("",) * 10
    return Panel(
        Axis(low=-0.7, high=9.7, names=unnamed),
        Axis(names=unnamed, is_downward=True),
        (
            Dots(tuple(places[:many]), "", 0, Symbol.SQUARE),
            Dots(tuple(places[many:]), "", QUIET, Symbol.CIRCLE, is_hollow=True),
        ),
        title,
    )
