"""The words of the Risk page: every sentence says which adversary it is about."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.report import words
from discreet.workbench.risk_plan import Question

if TYPE_CHECKING:
    from discreet.risk.profile import RiskProfile
    from discreet.workbench.risk_view import Attacked

HELP = {
    "scenario": "What the adversary knows and looks at. The target is one person of whom they want to know "
    "whether the target is counted here, that is, has the characteristics in question.",
    "prior": "The chance that the adversary gives beforehand, before seeing anything that is published.",
    "level": "The count is published for each area of this level, with the noise that the release as it is "
    "now on the Budget page really has.",
    "count": "Which of the level's queries. All its cells have this noise.",
    "published": "The count as published, with its noise. Far above the known count it speaks for the target "
    "being there, below it against.",
    "known": "How many others with the characteristics the adversary knows of: the true count is this, or "
    "one more if the target is there.",
    "posterior": "What the adversary believes after seeing the published count: the chance that the target "
    "is there.",
    "ratio": "The belief afterwards divided by the belief before. 2 means that the release has doubled it.",
    "right": "How often the adversary is right who says what is likelier after the release, averaged over "
    "the noise and over both answers as the prior expects them.",
    "mean": "The belief afterwards, averaged over the noise, if the target is there.",
    "unsure": "So many other people may have the characteristics or not; each is given the same chance.",
    "siblings": "The other areas of this level inside the same area above, such as the other blocks of a "
    "block group, and the sum of their published counts.",
    "above": "The published count of the area above, the level before this one in the list.",
    "bound": "From the exact trade-off curve of the release: for someone who knows every other record, no "
    "procedure is right more often, averaged over the prior. Left out are records that change together with "
    "the target's and what is published without noise. While sliders move for the main path, then for all "
    "pairs of paths.",
    "advantage": "The most by which someone who knows every other record and must guess whether one person "
    "is in the data can do better than chance.",
    "median": "Half of the targets who are present end with at most this belief, for someone who knows every "
    "other record and sees everything published.",
    "levels": "How often the best decision is right from one count, from all counts of a level, and from "
    "everything published.",
}


def chance_text(value: float) -> str:
    """Write a chance so that neither it nor its complement is rounded away.

    >>> chance_text(0.58882), chance_text(0.0012774), chance_text(1 - 2e-9)
    ('0.5888', '0.00128', '1 - 2.0e-09')
    """
    if 0.0 < value < 0.01:
        return f"{value:.3g}"
    if 0.9995 < value < 1.0:
        return f"1 - {1.0 - value:.1e}"
    return f"{value:.4f}"


def percent_text(value: float) -> str:
    """Write how often a decision is right.

    >>> percent_text(0.58882), percent_text(0.9999423), percent_text(0.5)
    ('58.88 %', '99.994 %', '50.00 %')
    """
    return f"{100 * value:.2f} %" if value < 0.9995 else f"{100 * value:.3f} %"


def bound_text(value: float) -> str:
    """Write a bound on how often a decision is right, rounded up.

    >>> bound_text(0.588712)
    '58.88 %'
    """
    from discreet.risk.explain import at_most

    return f"{at_most(value, percent=True)} %"


def who(asked: Question) -> str:
    """Say who the adversary is.

    >>> from fractions import Fraction
    >>> from discreet.workbench.risk_plan import Count
    >>> who(Question("one", "1/2", (Count("Block", "total", Fraction(5)),), 3, 1))
    'Someone who knows everyone else in the block, 3 of them with the characteristics, gives the target an \
even chance of being one more, and looks at one count of the block'
    """
    from discreet.risk.explain import chance_words, place_words

    area = place_words(asked.counts[0].level)
    gives = f"gives the target {chance_words(Fraction(asked.prior))} of being one more"
    knows = f"knows everyone else in the {area}, {asked.known:,} of them with the characteristics"
    if asked.scenario == "unsure":
        knows = (
            f"knows {asked.known:,} others with the characteristics in the {area}, is unsure about "
            f"{asked.people:,} and gives each of these a chance of {asked.chance}"
        )
        return f"Someone who {knows}, {gives}, and looks at one count of the {area}"
    if asked.scenario == "several":
        many = len(asked.counts)
        knows = f"knows each of {many} counts but for the target, {asked.known:,} with the characteristics"
        return f"Someone who {knows}, {gives}, and looks at all {many} of them"
    if asked.scenario == "hierarchy" and len(asked.counts) == 2:
        above = place_words(asked.counts[1].level)
        return f"Someone who {knows}, {gives}, and looks at it, the areas beside it and the {above} around"
    end = ", where negative values are published as 0" if asked.scenario == "floor" else ""
    return f"Someone who {knows}, {gives}, and looks at one count of the {area}{end}"


def sentences(asked: Question, found: Attacked) -> list[str]:
    """Say what the adversary of a question learns."""
    from discreet.risk.explain import times

    said = [
        f"{who(asked)}: after a published count of {asked.published:,} this adversary believes "
        f"{chance_text(found.posterior)}, {words.number(found.ratio, 4)} times as much as before."
    ]
    if found.mean_present is not None and found.mean_absent is not None:
        said.append(
            "On average over the noise, the same adversary ends with a belief of "
            f"{chance_text(found.mean_present)} if the target is there and {chance_text(found.mean_absent)} "
            "if not."
        )
    if found.right is not None:
        said.append(
            f"Saying what is likelier, the same adversary is right {times(found.right[2])}; with nothing "
            f"published, {times(found.baseline)}."
        )
    return said


def said_of(profile: RiskProfile) -> tuple[str, str]:
    """Say what someone who sees everything published achieves and believes, in words of `risk explain`."""
    from discreet.risk.explain import belief_sentence, right_sentence

    return right_sentence(profile), belief_sentence(profile)
