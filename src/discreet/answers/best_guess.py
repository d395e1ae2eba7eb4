"""The one answer to "how risky is it?": a sentence, its number, and known releases beside it.

`discreet explain`, `risk release`, `risk explain`, the report and the workbench all lead with this sentence.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.answers.answer import AnswerTable, Column, Part, Sentence, marked, sentence
from discreet.answers.quantity import Claimed, Quantity, Style
from discreet.answers.release import records
from discreet.answers.risk import chance_words, most_of
from discreet.budget import AnswerKind
from discreet.disclosure.best_guess import BestGuess, known_releases


def leading_sentence(guess: BestGuess) -> Sentence:
    """Say how often someone who knows every other record guesses right about one person.

    >>> from discreet.disclosure.best_guess import best_guess
    >>> from discreet.disclosure.profile import risk_profile
    >>> from discreet.disclosure.promise import promised_risk
    >>> print(leading_sentence(best_guess(risk_profile({"Block": "0.0992"}))))
    Someone who knows everybody else's answers guesses whether one person is in the data: right at most \
58.89 times in 100 instead of 50 with nothing published, whatever the method.
    >>> print(leading_sentence(best_guess(risk_profile("sdhc-2020", prior="1/10"))))
    Someone who knows every other household's answers guesses between two answers of one household, one of \
them given a chance of 1 in 10: right at most 90.13 times in 100 instead of 90 with nothing published, \
whatever the method.
    >>> promised = promised_risk(epsilon=3, delta="1e-9", neighbours="bounded")
    >>> print(str(leading_sentence(best_guess(promised))).partition(": ")[2])
    right at most 95.26 times in 100 instead of 50 with nothing published, whatever the method and whatever \
keeps the promise.
    """
    others = "everybody else's" if guess.unit == "person" else f"every other {guess.unit}'s"
    start = sentence(
        "Someone who knows {others} answers guesses {question}{given}: ",
        others=others,
        question=_question(guess),
        given=_given(guess),
    )
    if guess.told_apart:
        return sentence(
            "{start}{right}, from any prior, because it changes an exact count.",
            start=start,
            right=marked("right every time", "strong"),
        )
    return sentence(
        "{start}right {most}{times} instead of {baseline} with nothing published{end}",
        start=start,
        most="at most " if guess.is_bound else "",
        times=marked(sentence("{right} times in 100", right=right_quantity(guess)), "strong"),
        baseline=_in_hundred(guess.baseline),
        end=_end(guess),
    )


def right_quantity(guess: BestGuess, *, unit: str = "") -> Claimed:
    """Return how often the guess is right, of 100, with what it claims.

    >>> from discreet.disclosure.best_guess import known_releases
    >>> print(right_quantity(known_releases()[-1].guess, unit="%"))
    57.68 %
    """
    return most_of(guess.claim, guess.right, Style.HUNDRED, unit)


def known_table(guess: BestGuess) -> AnswerTable | None:
    """Return known releases with this one among them, if they can be compared.

    >>> from discreet.disclosure.best_guess import best_guess
    >>> from discreet.disclosure.profile import risk_profile
    >>> for row in known_table(best_guess(risk_profile({"Block": "0.0992"}))).cells[-3:]:
    ...     print(*row, sep=" | ")
    2020 Census, Supplemental DHC, households | two answers | 68.95
    this release | in the data or not | 58.89
    2020 Census, redistricting data, housing units | two answers | 57.68
    """
    if not guess.is_comparable or guess.told_apart:
        return None
    others = ((known.title, known.guess) for known in known_releases() if known.guess.name != guess.name)
    this = "this release" if guess.promise is None else "this promise"
    rows = sorted([(this, guess), *others], key=lambda row: -row[1].right)
    columns = (
        Column("release", "release", is_text=True),
        Column(key="name"),
        Column("guessed", "guessed", is_text=True),
        Column("right, of 100"),
        Column(key="right"),
    )
    return AnswerTable(
        columns,
        tuple(
            (title, of.name, _GUESSED[of.neighbours], right_quantity(of), most_of(of.claim, of.right))
            for title, of in rows
        ),
        _BESIDE,
    )


def known_parts(guess: BestGuess) -> tuple[Part, ...]:
    """Return that table with its title as a sentence before it; nothing if there is none."""
    table = known_table(guess)
    return () if table is None else (f"{table.title}.", replace(table, title=""))


def guess_record(guess: BestGuess) -> dict[str, object]:
    """Return what machines read of it.

    >>> from discreet.disclosure.best_guess import best_guess
    >>> from discreet.disclosure.profile import risk_profile
    >>> record = guess_record(best_guess(risk_profile({"Block": "0.0992"})))
    >>> str(record["right"]), record["instead_of"], record["prior"]
    ('0.5889', 0.5, 0.5)
    """
    table = known_table(guess)
    return {
        "right": 1.0 if guess.told_apart else most_of(guess.claim, guess.right),
        "instead_of": guess.baseline,
        "prior": guess.prior,
        "says": str(leading_sentence(guess)),
        "beside": [] if table is None else table,
    }


_BESIDE = (
    "Beside releases that you may know: someone who guesses like this from everything in one of them is "
    "right at most so many times in 100, instead of 50"
)
_GUESSED = {"bounded": "two answers", "unbounded": "in the data or not"}


def _question(guess: BestGuess) -> str:
    who = records(guess.unit, guess.people)
    if guess.neighbours == "unbounded":
        return f"whether {who} {'is' if guess.people == 1 else 'are'} in the data"
    return f"between two answers of {who}"


def _given(guess: BestGuess) -> str:
    """The prior, unless both answers are equally likely."""
    if guess.prior == guess.baseline == 0.5:
        return ""
    chance = f"given {chance_words(guess.prior)}"
    return f", one of them {chance}" if guess.neighbours == "bounded" else f", {chance}"


def _in_hundred(chance: float) -> str:
    """A chance that is no bound, of 100, as shortly as it can be said.

    >>> _in_hundred(0.5), _in_hundred(0.99), _in_hundred(863 / 864)
    ('50', '99', '99.88')
    """
    return str(Quantity(chance, Style.TIMES)).removesuffix(" times in 100")


def _end(guess: BestGuess) -> str:
    if guess.promise is not None:
        return ", whatever the method and whatever keeps the promise."
    ends = {
        AnswerKind.EXACT: ", whatever the method.",
        AnswerKind.BOUND: ", whatever the method.",
        AnswerKind.MODEL: " as far as the release is modelled; not all of it is, so this is not a bound.",
        AnswerKind.MAIN: " if the target is on the main path; other paths were not looked at, so this is "
        "not a bound.",
    }
    return ends[guess.claim.kind]
