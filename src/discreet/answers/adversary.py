"""What an adversary who attacks published counts learns, in words: who they are, and what they believe."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from fractions import Fraction

from discreet.answers.answer import Answer, Fact, Part, sentence
from discreet.answers.describing import describes
from discreet.answers.quantity import Quantity, Style
from discreet.answers.risk import chance_words, place_words
from discreet.disclosure.adversary import Adversary, Attacked

_UNKNOWN = "–"


@describes(Attacked)
def attacked_answer(attacked: Attacked) -> Answer:
    """Say what an adversary believes after a published count, on average, and how often they are right.

    >>> from discreet.disclosure.adversary import Count, attacked
    >>> block = (Count("Block", "total", Fraction(5)),)
    >>> answer = attacked_answer(attacked(Adversary("one", "1/2", block, known=0, published=1)))
    >>> [f"{fact.label}: {fact.value}" for fact in answer.facts[:3]]
    ['Belief afterwards: 0.5250', 'Times the prior: 1.050', 'Right decisions: 58.92 %']
    """
    record = {
        "adversary": _adversary_text(attacked.asked),
        "published": attacked.asked.published,
        "prior": attacked.asked.prior,
        "posterior": attacked.posterior,
        "ratio": attacked.ratio,
        "expected_posterior_given_present": attacked.mean_present,
        "expected_posterior_given_absent": attacked.mean_absent,
        **dict(zip(_RIGHT, attacked.right or (None, None, None), strict=True)),
    }
    return Answer(
        "What the adversary learns",
        record,
        tuple(_sentences(attacked)),
        tuple(_attack_facts(attacked)),
        command=attack_command(attacked.asked),
    )


_RIGHT = tuple(f"accuracy_given_{truth}" for truth in ("present", "absent", "prior"))


def _belief(value: float) -> Quantity:
    return Quantity(value, Style.CHANCE)


def _attack_facts(attacked: Attacked) -> Iterator[Fact]:
    before = _belief(float(Fraction(attacked.asked.prior)))
    yield Fact("Belief afterwards", _belief(attacked.posterior), f"before: {before}")
    yield Fact("Times the prior", Quantity(attacked.ratio, digits=4), "belief afterwards over prior")
    if attacked.right is None:
        yield Fact("Right decisions", _UNKNOWN, "not computed; the bound on everything published holds")
    else:
        present, absent, both = (Quantity(share, Style.PERCENT, digits=2) for share in attacked.right)
        yield Fact("Right decisions", both, f"if there {present}, if not {absent}")
    if attacked.mean_present is None or attacked.mean_absent is None:
        yield Fact("Mean belief if there", _UNKNOWN, "not computed here")
    else:
        absent_belief = _belief(attacked.mean_absent)
        yield Fact("Mean belief if there", _belief(attacked.mean_present), f"if not there {absent_belief}")


def _sentences(attacked: Attacked) -> Iterator[Part]:
    asked = attacked.asked
    yield sentence(
        "{asked}: after a published count of {published} this adversary gives “present” a probability of "
        "{posterior}, {ratio} times the prior.",
        asked=_adversary_text(asked),
        published=Quantity(asked.published, Style.COUNT),
        posterior=_belief(attacked.posterior),
        ratio=Quantity(attacked.ratio, digits=4),
    )
    if attacked.mean_present is not None and attacked.mean_absent is not None:
        yield sentence(
            "On average over the noise, the same adversary ends with a belief of {present} if the target "
            "is there and {absent} if not.",
            present=_belief(attacked.mean_present),
            absent=_belief(attacked.mean_absent),
        )
    if attacked.right is not None:
        blind = max(Fraction(asked.prior), 1 - Fraction(asked.prior))
        yield sentence(
            "Choosing the likelier answer, the same adversary is right {often}; with nothing published, "
            "{unaided}.",
            often=Quantity(attacked.right[2], Style.TIMES),
            unaided=Quantity(float(blind), Style.TIMES),
        )


def variance_text(variance: Fraction) -> str:
    """Say how much noise a count has.

    >>> variance_text(Fraction(100000, 219))
    'Noise with variance 100000/219, about 456.621, standard deviation 21.4.'
    """
    text = str(Quantity(variance, Style.FRACTION))
    text = text if len(text) < 30 else f"about {Quantity(float(variance), Style.GIVEN)}"
    return f"Noise with variance {text}, standard deviation {Quantity(float(variance) ** 0.5, digits=3)}."


def _adversary_text(asked: Adversary) -> str:
    """Say who the adversary is.

    >>> from discreet.disclosure.adversary import Count
    >>> print(_adversary_text(Adversary("one", "1/2", (Count("Block", "total", Fraction(5)),), 3, 1)))
    Someone who knows everyone else in the block, 3 of them with the characteristics, gives the target \
an even chance of being one more, and looks at one count of the block
    """
    area = place_words(asked.counts[0].level)
    gives = f"gives the target {chance_words(Fraction(asked.prior))} of being one more"
    counted = f"{asked.known:,}" if asked.known else "none"
    knows = f"knows everyone else in the {area}, {counted} of them with the characteristics"
    looks = f"looks at one count of the {area}"
    if asked.scenario == "unsure":
        knows = (
            f"knows {asked.known:,} others with the characteristics in the {area}, is unsure about "
            f"{asked.people:,} and gives each of these a chance of {asked.chance}"
        )
    elif asked.scenario == "several":
        many = len(asked.counts)
        knows = f"knows each of {many} counts without the target, {asked.known:,} with the characteristics"
        looks = f"looks at all {many} of them"
    elif asked.scenario == "hierarchy" and len(asked.counts) == 2:
        above = place_words(asked.counts[1].level)
        looks = f"looks at it, the areas beside it and the {above} around"
    elif asked.scenario == "floor":
        looks += ", where negative values are published as 0"
    return f"Someone who {knows}, {gives}, and {looks}"


def attack_command(asked: Adversary) -> str:
    """Return the command line of an attack on counts.

    >>> from discreet.disclosure.adversary import Count
    >>> print(attack_command(Adversary("one", "1/2", (Count("Block", "total", Fraction(5)),), 3, 1)))
    discreet risk single --noisy 1 --known 3 --variance 5 --prior 1/2
    """
    given = ["--prior", asked.prior]
    noisy, known = ["--noisy", str(asked.published)], ["--known", str(asked.known)]
    variances = [part for count in asked.counts for part in ("--variance", str(count.variance))]
    if asked.scenario == "hierarchy" and len(asked.counts) == 2:
        block, above = asked.counts
        areas = (
            f"name={block.level},noisy={asked.published},variance={block.variance},"
            f"siblings={asked.siblings},siblings-noisy={asked.beside}",
            f"name={above.level},noisy={asked.above},variance={above.variance}",
        )
        options = [part for area in areas for part in ("--area", area)]
        return shlex.join(["discreet", "risk", "hierarchy", *options, *given, *known])
    if asked.scenario == "several":
        parts = ["--together", *noisy * len(asked.counts), *known, *variances, *given]
    else:
        unsure = ["--unsure", str(asked.people), "--chance", asked.chance]
        more = {"unsure": unsure, "floor": ["--nonnegative"]}.get(asked.scenario, [])
        parts = [*noisy, *known, *variances[:2], *given, *more]
    return shlex.join(["discreet", "risk", "single", *parts])
