"""What an epsilon promises, in plain words: as a factor of probabilities, as a guess, and as a test."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.answers.answer import Sentence, sentence
from discreet.answers.quantity import Quantity, Rounding, Style


def meaning_sentences(
    *,
    epsilon: float,
    delta: Fraction,
    advantage: float,
    missed: float | None,
    who: str,
    is_bound: bool,
) -> list[Sentence]:
    """Say what a cost means to people; `who` says how two databases differ.

    `advantage` is that over an even guess, `missed` the share that a test with 5 % false alarms misses. Where
    not all cases were compared, or not all is modelled, the numbers are no bounds.

    >>> asked = {"epsilon": 2.0, "advantage": 0.4, "missed": 0.72, "who": "one person added or removed"}
    >>> for said in meaning_sentences(**asked, delta=Fraction(1, 10**10), is_bound=True):
    ...     print(said)
    If two databases differ by one person added or removed, whatever may be found in what is published is \
at most e^2 (about 7.39) times as probable with one as with the other, plus 1e-10.
    Anyone who must guess which of the two was used, with even odds beforehand, is right at most 70.00 times \
in 100.
    A test with 5 % false alarms misses at least 72.00 % of the time.
    """
    most, least, about = ("at most ", "at least ", "") if is_bound else ("", "", "about ")
    if epsilon < 10:
        factor = str(Quantity(math.exp(epsilon), digits=3))
    else:
        exponent = epsilon / math.log(10)
        factor = f"{Quantity(10 ** (exponent % 1), digits=2)}e{int(exponent)}"
    power = Quantity(epsilon, digits=4)
    if is_bound:
        power = Quantity(epsilon, Style.GIVEN, Rounding.UP, digits=4)
    said = [
        sentence(
            "If two databases differ by {who}, whatever may be found in what is published is {most}{about}"
            "e^{power} (about {factor}) times as probable with one as with the other, plus {delta}.",
            who=who,
            most=most,
            about=about,
            power=power,
            factor=factor,
            delta=Quantity(delta, Style.GIVEN),
        ),
        sentence(
            "Anyone who must guess which of the two was used, with even odds beforehand, is right "
            "{most}{right} times in 100.",
            most=most,
            right=Quantity((1 + advantage) / 2, Style.HUNDRED, Rounding.UP),
        ),
    ]
    if missed is not None:
        often = Quantity(missed, Style.PERCENT, digits=2)
        if is_bound:
            often = Quantity(missed, Style.PERCENT, Rounding.DOWN)
        said.append(
            sentence(
                "A test with 5 % false alarms misses {least}{often} of the time.", least=least, often=often
            )
        )
    return said
