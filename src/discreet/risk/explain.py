"""One page in plain words: what can be learned about one person, each sentence with its adversary."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.risk.profile import Risk, RiskProfile

_PLACE = {"Block": "block", "Block_Group": "block group", "Tract": "tract", "County": "county"}
_PLACE |= {"State": "state", "US": "country", "USA": "country", "STATE": "state", "COUNTY": "county"}


def times(chance: float, *, upper: bool = False) -> str:
    """Write a chance as so many times in 100; an upper bound is rounded up, so that it stays true.

    >>> times(0.56277), times(0.94239, upper=True), times(0.0012), times(0.99999)
    ('56 times in 100', '94.3 times in 100', '0.12 times in 100', '99.999 times in 100')
    """
    hundred = 100.0 * chance
    near = min(hundred, 100.0 - hundred)
    places = 0 if near >= 1 else min(12, 1 + math.ceil(-math.log10(max(near, 1e-12))))
    if upper:
        places = max(1, places)
        scaled = hundred * 10**places
        hundred = math.ceil(scaled - 1e-9) / 10**places
    text = f"{hundred:.{places}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} times in 100"


def chance_words(prior: Fraction | float) -> str:
    """Say a prior in words.

    >>> chance_words(0.5), chance_words(Fraction(1, 864)), chance_words(0.37)
    ('an even chance', 'a chance of 1 in 864', 'a chance of 0.37')
    """
    value = float(prior)
    if value == 0.5:
        return "an even chance"
    often = round(1.0 / value)
    if often > 1 and math.isclose(1.0 / often, value, rel_tol=1e-9):
        return f"a chance of 1 in {often:,}"
    return f"a chance of {value:.6g}"


def place_words(level: str) -> str:
    """Say a level's name as one would of an area.

    >>> place_words("Block_Group"), place_words("STATE, A-G")
    ('block group', 'area of "STATE, A-G"')
    """
    return _PLACE.get(level, f'area of "{_plain(level)}"')


def _plain(name: str) -> str:
    """A name in which Markdown sees no emphasis."""
    return name.replace("*", r"\*").replace("_", r"\_")


def explain_profile(profile: RiskProfile, *, title: str = "") -> str:
    """Return the page, as Markdown; the profile must hold one prior.

    >>> from discreet.risk.profile import risk_profile
    >>> page = explain_profile(risk_profile({"Block": "0.0992"}, prior="1/2"))
    >>> "is right 59 times in 100" in page
    True
    """
    (whole,) = profile.overall
    counts, levels = profile.one_count, profile.levels
    smallest = counts[-1]
    who = f"one {profile.unit}"
    chance = chance_words(whole.prior)
    lines = [
        f"# What can be learned about {who} from {profile.name}",
        "",
        *([title, ""] if title else []),
        f"This page is about {who}, here called the target, and about one question: {_question(profile)} "
        f"Beforehand the adversaries of this page give a yes {chance}.",
        "",
        "## In short",
        "",
        f"- *With nothing published*, someone who gives it {chance} and guesses the likelier answer is right "
        f"{times(whole.baseline)}.",
        f"- *From one count.* {_one_count(smallest, chance, profile.unit)}",
        f"- *From everything.* {_everything(profile, whole, chance)}",
        "",
        "## Level by level",
        "",
    ]
    where = " on the main path" if profile.compared > 1 or not profile.complete else ""
    for one, level in zip(counts, levels, strict=True):
        lines.append(f"- {_level(one, level, chance, where, profile.unit)}")
    lines += [
        "",
        "## How sure would they become?",
        "",
        f"Suppose the answer is yes. Someone with all knowledge except this answer, who gives it {chance} "
        "and sees everything published, would on average come to believe it with a chance of "
        f"{_c(whole.expected)}; for one such target in twenty they would end at {_c(whole.quantiles[0])} or "
        f"below, for half of them at {_c(whole.quantiles[2])} or below, and for one in twenty above "
        f"{_c(whole.quantiles[4])}.",
        "",
        "## What this page does not say",
        "",
        "- The numbers are averages over the noise and over the answers yes and no, in the proportion the "
        "adversary expects. After a lucky draw of the noise an adversary may be far surer; "
        "nothing bounds that.",
        "- The last adversary is imagined: they know every other record and every detail of the method. Real "
        "ones know less, and do worse.",
        f"- {_coverage(profile)}",
        "- What follows about the target from published statistics whether or not the target is counted "
        "(for instance that a disease is common in a town) is not counted here.",
        "",
        "## The numbers",
        "",
        *_table(profile),
    ]
    return "\n".join(lines) + "\n"


def _question(profile: RiskProfile) -> str:
    if profile.neighbours == "bounded":
        return f"is the target's record in the data, or that of another {profile.unit} in its place?"
    return "is the target's record in the data, or not?"


def _others(unit: str) -> str:
    return "everyone else" if unit == "person" else f"every other {unit}"


def _one_count(row: Risk, chance: str, unit: str) -> str:
    area = place_words(row.scope)
    owner = area.partition(" of ")[0]  # the area's count, not the area of "STATE, A-G"'s
    what = _plain(row.what.removeprefix("one count of "))
    return (
        f"Someone who knows {_others(unit)} in the {area}, gives it {chance}, and looks at the {owner}'s "
        f"count alone{'' if what == 'one count' else f' ({what})'} is right {times(row.accuracy)}."
    )


def _everything(profile: RiskProfile, row: Risk, chance: str) -> str:
    if not profile.complete:
        return (
            f"Someone who knows every other record and gives it {chance} is right {times(row.accuracy)} "
            "if the target's path is the main one; other paths were not looked at, so this is no bound."
        )
    return (
        f"No one who gives it {chance}, whatever they know and compute, is right more than "
        f"{times(row.accuracy, upper=True)} with everything published."
    )


def _level(one: Risk, level: Risk, chance: str, where: str, unit: str) -> str:
    area = place_words(one.scope)
    return (
        f"*{_plain(one.scope)}.* Someone who knows {_others(unit)} in the {area} and gives it {chance} is "
        f"right {times(one.accuracy)} from its most precise count; no one who gives it {chance} is right "
        f"more than {times(level.accuracy, upper=True)} from all counts of this level{where}."
    )


def _coverage(profile: RiskProfile) -> str:
    if not profile.complete:
        return "Only the main path through the geography was looked at. Ask for all pairs to have a bound."
    many = f"all {profile.compared} cases" if profile.compared > 1 else "the one case"
    return (
        f"The bound covers {many} of one {profile.unit} {_relation(profile)}, with the noise the release "
        "really has. Levels are taken on the main path."
    )


def _relation(profile: RiskProfile) -> str:
    return "replaced by another" if profile.neighbours == "bounded" else "added or removed"


def _c(chance: float) -> str:
    """A chance in three digits, or as many as it takes to tell it from one.

    >>> _c(0.81449), _c(0.99987123), _c(1.0)
    ('0.814', '0.99987', '0.999999999999')
    """
    if chance < 0.9995:
        return f"{chance:.3g}"
    places = min(12, 1 + math.ceil(-math.log10(max(1.0 - chance, 1e-12))))
    return f"{min(math.floor(chance * 10**places) / 10**places, 1.0 - 1e-12):.{places}f}"


def _bound(chance: float) -> str:
    """A chance in 100 with two digits, rounded up; at most 100."""
    return f"{min(math.ceil(1e4 * chance - 1e-9) / 100, 100.0):.2f}"


def _table(profile: RiskProfile) -> list[str]:
    lines = [
        "| adversary sees | right, of 100 | advantage | mean posterior if yes |",
        "| --- | --- | --- | --- |",
    ]
    for row in profile.rows:
        what = _plain(row.what if row.scope == "overall" else f"{row.scope}: {row.what}")
        right = f"{100 * row.accuracy:.2f}" if row in profile.one_count else _bound(row.accuracy)
        lines.append(f"| {what} | {right} | {row.advantage:.4f} | {row.expected:.4f} |")
    bounds = "every count and of everything are" if profile.complete else "every count are"
    return [*lines, "", f"Rows of {bounds} bounds, rounded up."]
