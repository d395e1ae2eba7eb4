"""What the pages say: terms explained, commands that give the same numbers, differences of two states."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.budget import AnswerKind
from discreet.budget.levels import level_name
from discreet.errors import DiscreetError, InputError
from discreet.numbers import number, percent, plain
from discreet.report import words
from discreet.workbench.adversary import SCENARIOS, adversary, read_chance
from discreet.workbench.state import State, exact_text

if TYPE_CHECKING:
    from discreet.release.safetab.design import DesignCost
    from discreet.risk.profile import RiskProfile
    from discreet.workbench.session import Numbers

LONGEST_TITLE = 120
OWN_SIZE = "50"
"""The group size that is looked at until another is asked for."""

HELP = {
    "epsilon": "How much one person's record can change what an observer believes: the odds change by at "
    "most a factor of e to the epsilon, except in cases of total probability delta. Smaller protects better.",
    "exact": "The smallest epsilon for which the promise holds, computed from the noise that is actually "
    "added, with no bound in between.",
    "zCDP": "Zero-concentrated differential privacy, the accounting that the US Census Bureau used. Its "
    "epsilon is safe but larger than necessary.",
    "Gaussian DP": "Treats the noise as continuous Gaussian noise. Close, but no bound: it can be too low.",
    "delta": "The probability that the promise leaves out. 1e-10 is common for censuses.",
    "rho": "The privacy budget in the units of zCDP. Doubling rho halves the variance of every count.",
    "neighbours": "Which two databases must be hard to tell apart. Bounded: one person is replaced by "
    "another. Unbounded: one person is added or removed.",
    "saved": "How much smaller every variance could be while the promise that zCDP makes at this delta still "
    "holds for all pairs of paths.",
    "advantage": "How much better than chance anyone can guess whether one person is in the data.",
    "level": "A level of geography, such as counties, with its own share of the budget.",
    "share": "The part of its level's budget that a query gets. The shares of a level add up to 1.",
    "trade-off": "An observer tests whether one person is in the data. For each rate of false alarms, the "
    "curve shows the lowest rate of misses that any test can have. Higher protects better; on the straight "
    "line the release reveals nothing.",
    "profile": "Every point on the curve is a promise that holds: this epsilon, with this delta.",
    "margin": "95 % of the time the noise is within the margin: an exact quantile of the noise.",
    "estimate": "95 % of the time the best estimate from all levels and queries together is within this "
    "margin. It needs the average number of areas below an area, level by level; without attributes in the "
    "release each query is estimated by itself.",
    "relative error": "The margin of error divided by the size of the group.",
    "calibration": "Shrinks all variances by one factor until the exact epsilon is what zCDP promised: the "
    "same promise with less noise.",
    "wanted": "The most noise, and so the smallest budget, that keeps every query of a level within the "
    "margin you want.",
}

RISK_HELP = {
    "scenario": "What the adversary knows and looks at. They want to know whether one person, the target, is "
    "counted here, that is, has the characteristics in question.",
    "prior": "How likely the adversary thinks it is before seeing anything that is published.",
    "level": "The count is published for each area of this level, with the noise that the release has now.",
    "count": "Which of the level's queries. All its cells have this noise.",
    "published": "The count as published, noise included. Far above the known count it suggests that the "
    "target is there, below it that the target is not.",
    "known": "How many others with the characteristics the adversary knows of: the true count is this, or "
    "one more if the target is there.",
    "posterior": "What the adversary believes after seeing the published count: the probability that the "
    "target is there.",
    "ratio": "The belief afterwards divided by the belief before. 2 means that the release doubled it.",
    "right": "How often the adversary is right by choosing the likelier answer after the release, averaged "
    "over the noise and over the prior.",
    "mean": "The belief afterwards, averaged over the noise, if the target is there.",
    "unsure": "How many other people may have the characteristics, each with the same probability.",
    "siblings": "The other areas of this level inside the same larger area, such as the other blocks of a "
    "block group, and the sum of their published counts.",
    "above": "The published count of the larger area, one level up in the list.",
    "bound": "From the exact trade-off curve of the release: nobody who knows every other record is right "
    "more often, averaged over the prior, whatever the method. Left out are records that change together "
    "with the target's and what is published without noise. On the main path while sliders move, then for "
    "all pairs of paths.",
    "advantage": "How much better than chance someone who knows every other record can guess whether one "
    "person is in the data.",
    "median": "Half of the targets who are present end with at most this belief, for someone who knows every "
    "other record and sees everything published.",
    "levels": "How often the best decision is right from one count, from all counts of a level, and from "
    "everything published.",
}

DESIGN_HELP = {
    "design": "Detailed race and ethnicity tables as the SafeTab-P program makes them. For every region of a "
    "geography and every group, a first noisy count decides how much detail the group gets (a total, or sex "
    "by 4, 9 or 23 ages); then the cells of that table are published with noise. Starts with 2020's design.",
    "rho": "The privacy budget in the units of zCDP, for one person added or removed. Doubling rho halves "
    "the variance of every count.",
    "stability": "In how many groups of one region one person can be counted: one for each race that is "
    "counted, at least two, and one for the ethnicity. Fewer races need less noise.",
    "gamma": "The part of a row's rho that is spent on the first noisy count, which only chooses the table. "
    "The rest goes to the cells that are published.",
    "target error": "The 95 % margin of error that a count may have, relative to the count.",
    "of": "Of the average cell: every cell of the table is about this accurate if people were spread evenly. "
    "Of the whole group: the sum of all cells is.",
    "threshold": "A group gets the next larger table if its first noisy count reaches the threshold. From "
    "the target error: a group that is just large enough gets its table 95 times in 100.",
    "suppression": "Below the states most groups are empty, and noise would make people appear. A group that "
    "gets only a total is dropped unless its noisy count is above a limit, chosen so that an empty group is "
    "dropped with this probability. 0 drops nothing.",
    "sizes": "The smallest groups that can be shown as a total, and by sex and 4, 9 and 23 ages, at the "
    "target error. The noise is that of the second stage; thresholds apply to the noisy count of the first.",
    "tables": "How often a group of a given true size gets each table: the first noisy count decides.",
    "bias": "Groups are shown when their noise happens to be high, so published totals are too high on "
    "average. The other line counts a dropped group as zero.",
    "unbounded": "The smallest epsilon for which the promise holds at the chosen delta when one person is "
    "added or removed. Choose delta on the Budget page.",
    "bounded": "The same when one person is replaced by another, who may live in the other pass: one removed "
    "and one added.",
    "margin": "The rho that gives the published cells of this row the margin you want. Normal approximation, "
    "as in the Bureau's spreadsheet: 1.96 standard deviations. Exact: the smallest rho for which the integer "
    "noise is within the margin in 95 of 100 cells.",
    "geometric": "Two-sided geometric noise has heavier tails than discrete Gaussian noise. Both are made as "
    "wide as the margin of this row allows, on the counts of one person in one region.",
}


# -- commands that give the same numbers -----------------------------------------------------------------


def command(state: State) -> str:
    """Return the command line that gives the numbers of the state.

    >>> command(State.of("dhc-2020"))
    'discreet account dhc-2020-persons --delta 1e-10'
    """
    return _command("account", state, ["--delta", exact_text(state.delta)])


def accuracy_command(state: State) -> str:
    """Return the command line of the best estimates.

    >>> accuracy_command(State.of("dhc-2020").with_settings("accuracy", {"tree": "51, 61.6"}))
    'discreet accuracy dhc-2020-persons --tree 51,61.6'
    """
    tree = state.setting("accuracy", "tree").replace(" ", "")
    return shlex.join(["discreet", "accuracy", *target(state), *(["--tree", tree] if tree else [])])


def calibrate_command(state: State, *, margins: str = "") -> str:
    """Return the command line that calibrates the state's release.

    >>> calibrate_command(State.of("dhc-2020"), margins="State=5")
    'discreet calibrate dhc-2020-persons --moe State=5 --delta 1e-10'
    """
    aim = ["--moe", margins] if margins else ["--zcdp"]
    return _command("calibrate", state, [*aim, "--delta", exact_text(state.delta)])


def bound_command(prior: str, state: State) -> str:
    """Return the command line of the best that anyone can do."""
    return _command("risk release", state, ["--prior", prior])


def _command(name: str, state: State, more: list[str]) -> str:
    return shlex.join(["discreet", *name.split(), *target(state), *more, *relation_options(state)])


def target(state: State, file: str = "release.toml") -> list[str]:
    """Return what a command calls the release of a state."""
    return [state.source] if state.is_preset and state.changed is None else [file]


def relation_options(state: State) -> list[str]:
    """Return the options of a command that say the neighbours, if they are not the stated ones."""
    return ["--neighbours", state.neighbours] if state.neighbours else []


def report_options(state: State, before: State | None) -> dict[str, Any]:
    """Return what the report of two states is asked for, with the prior of the Risk page.

    >>> report_options(State.of("dhc-2020").with_settings("risk", {"prior": "0.1"}), None)["prior"]
    '1/10'
    """
    try:
        prior = read_chance(state.setting("risk", "prior", "1/2"))
    except DiscreetError:  # the Risk page says what is wrong
        prior = "1/2"
    return {
        "release": state.release,
        "before": None if before is None else before.release,
        "neighbours": state.relation,
        "delta": (state.delta,),
        "prior": prior,
        "title": state.setting("report", "title")[:LONGEST_TITLE],
        "certify": state.setting("report", "proofs") != "no",
        "savings": state.setting("report", "savings") != "no",
    }


def read_title(text: str) -> str:
    """Return a title without what surrounds it.

    >>> read_title("x" * 121)
    Traceback (most recent call last):
    discreet.errors.InputError: a title has at most 120 characters; this one has 121
    """
    short = text.strip()
    if len(short) > LONGEST_TITLE:
        raise InputError(f"a title has at most {LONGEST_TITLE} characters; this one has {len(short)}")
    return short


def report_command(state: State, before: State | None = None) -> str:
    """Return the command line that makes the same report.

    >>> report_command(State.of("dhc-2020"), State.of("dhc-2020"))
    'discreet report dhc-2020-persons --delta 1e-10 --before dhc-2020-persons --out report.html'
    """
    asked = report_options(state, before)
    parts = ["discreet", "report", *target(state), "--delta", exact_text(state.delta)]
    parts += relation_options(state)
    parts += ["--prior", asked["prior"]] if asked["prior"] != "1/2" else []
    if before is not None:
        parts += ["--before", *target(before, "before.toml")]
        # one option is for both, and the first of them may say otherwise
        if not relation_options(state) and before.base.neighbours != state.relation:
            parts += ["--neighbours", state.relation]
    parts += ["--title", asked["title"]] if asked["title"] else []
    parts += [] if asked["certify"] else ["--no-certify"]
    parts += [] if asked["savings"] else ["--no-savings"]
    return shlex.join([*parts, "--out", "report.html"])


def design_command(delta: Fraction) -> str:
    """Return the command line that gives the numbers of the Tabulation design page.

    >>> design_command(Fraction(1, 10**10))
    'discreet safetab design PARAMS --delta 1e-10'
    """
    return shlex.join(["discreet", "safetab", "design", "PARAMS", "--delta", exact_text(delta)])


# -- what numbers mean -----------------------------------------------------------------------------------


def epsilon_text(numbers: Numbers) -> str:
    """Write the epsilon of a state, "at most" before one that is a bound.

    >>> from discreet.workbench.session import Session
    >>> epsilon_text(Session(State.of("sdhc-2020")).numbers)
    '…'
    """
    if numbers.epsilon is None:
        return "…"
    kind = numbers.claim.kind if numbers.quick.fresh else AnswerKind.MAIN
    return claimed(kind, numbers.epsilon)


def claimed(kind: AnswerKind, epsilon: float) -> str:
    """Write an epsilon, "at most" before one that is a bound."""
    return f"{'at most ' if kind is AnswerKind.BOUND else ''}{kind.number(epsilon)}"


def epsilon_note(numbers: Numbers) -> str:
    """Say what the epsilon claims, and of which cases it is."""
    bounded = numbers.state.relation == "bounded"
    which = "the only pair of paths" if bounded else "the only path"
    if len(numbers.state.base.paths) > 1:
        if numbers.overall.now is None or not numbers.quick.fresh:
            return AnswerKind.MAIN.label
        which = f"worst of {numbers.overall.now.cases} {'pairs of paths' if bounded else 'paths'}"
    kind = numbers.state.base.claim.kind
    return f"{'a bound' if kind is AnswerKind.BOUND else kind.label}, {which}"


def claim_text(state: State) -> str:
    """Say why numbers of a release are not exact; nothing if they are.

    >>> claim_text(State.of("dhc-2020")), claim_text(State.of("sdhc-2020"))[:46]
    ('', 'An upper bound: the true value may be smaller.')
    """
    claim = state.base.claim
    return "" if claim.kind is AnswerKind.EXACT else str(claim)


def worst_text(numbers: Numbers) -> str:
    """Say which pair of paths is the worst, or how far their comparison has come."""
    found, progress, release = numbers.overall.now, numbers.overall.progress, numbers.state.base
    if progress is not None:
        stage, part, total = progress
        how = f": {part} of {total}" if total else ""
        return (
            f"Comparing all pairs of paths{': waiting for a free processor' if stage == 'waiting' else how}."
        )
    if found is None:
        return "The main path, while the slider moves."
    if len(release.paths) == 1:
        return "There is one path: no two levels are merged."
    kind = "pair of paths" if len(found.worst) == 2 else "path"
    paths = "; ".join(
        f"path {number}: " + ", ".join(level_name("+".join(run)) for run in release.runs(number))
        for number in sorted(set(found.worst))
    )
    return f"Worst {kind} {words.label(found.worst)}. {paths[0].upper()}{paths[1:]}."


def meaning(numbers: Numbers) -> list[str]:
    """Say what the numbers mean, for the main path."""
    quick, errors, state = numbers.quick.found, numbers.errors.found, numbers.state
    if quick is None:
        return []
    who = words.relation(state.relation, state.base.unit)
    said = [
        f"If two databases differ by {who}, the probabilities of any published result differ by at most a "
        f"factor of {_factor(quick.epsilon)}, but for cases of total probability {exact_text(state.delta)}.",
        "Anyone who must guess which of the two was used, with even odds beforehand, is right at most "
        f"{quick.right}.",
    ]
    if errors is not None:
        said.append(f"A test with 5 % false alarms misses at least {_promised(errors.missed)} of the time.")
    return said


def _factor(epsilon: float) -> str:
    if epsilon < 10:
        return f"e^{number(epsilon, 4)} = {number(math.exp(epsilon), 3)}"
    exponent = epsilon / math.log(10)
    return f"e^{number(epsilon, 4)}, about {number(10 ** (exponent % 1), 2)}e{int(exponent)}"


def _promised(part: float) -> str:
    """Write what is so at least, in percent: rounded down, however small.

    >>> _promised(0.86399), _promised(0.00658), _promised(0.000178), _promised(0.0000129)
    ('86.3 %', '0.65 %', '0.01 %', '1.2e-03 %')
    """
    if part <= 0:
        return percent(0.0)
    places = 3 if part >= 0.01 else 4 if part >= 0.0001 else 1 - math.floor(math.log10(part))
    steps = 10.0**places
    down = math.floor(steps * part) / steps
    return percent(down) if down >= 0.0001 else f"{100 * down:.1e} %"


def against(value: float, other: float) -> str:
    """Say how far one epsilon lies from another.

    >>> against(24.4565, 26.3406), against(2.0, 2.0), against(24.4564939, 24.4565144)
    ('1.8841 (7.2 %) less', 'the same', '2.0e-05 less')
    """
    gap = value - other
    if abs(gap) <= 1e-9 * max(abs(value), abs(other), 1e-300):
        return "the same"
    word = "less" if gap < 0 else "more"
    size = f"{abs(gap):.4f}" if abs(gap) >= 5e-4 else f"{abs(gap):.1e}"
    share = f" ({percent(abs(gap) / other)})" if other > 0 and abs(gap) >= 0.0005 * other else ""
    return f"{size}{share} {word}"


def size_text(value: float) -> str:
    """Write a margin, with as many digits as matter.

    >>> size_text(3.92), size_text(161.27), size_text(98000.0)
    ('3.92', '161', '98,000')
    """
    return f"{value:,.0f}" if value >= 100 else number(value, 3)


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
    from discreet.numbers import at_most

    return f"{at_most(value, percent=True)} %"


def best_sentences(profile: RiskProfile) -> tuple[str, str]:
    """Say what someone who sees everything published achieves and believes, in words of `risk explain`."""
    from discreet.risk.profile import belief_sentence, right_sentence

    return right_sentence(profile), belief_sentence(profile)


def cost_text(delta: Fraction, exact: Sequence[DesignCost] | None) -> str:
    """Say what the epsilons of a design are of, one person added and one replaced."""
    at = f"At delta {exact_text(delta)}"
    if exact is None:
        return f"{at}; all groups with two stages. Groups that get only a total are compared next."
    first, second = (cost.cases for cost in exact)
    if (first, second) == (1, 1):
        return f"{at}; all groups have two stages."
    return f"{at}; worst of {first} and {second} mixes of groups with and without a first stage."


def rival_text(margin: int, counts: int, gaussian: float, geometric: float) -> str:
    """Say which noise costs less at the same accuracy.

    >>> rival_text(11, 9, 3.17, 2.34)
    'With a margin of ± 11 on 9 counts of one person, geometric noise costs 26.2 % less epsilon than \
discrete Gaussian noise.'
    """
    start = f"With a margin of ± {margin} on {counts} counts of one person,"
    if gaussian <= 0 or geometric <= 0:
        return f"{start} neither kind of noise has a measurable cost."
    less, more = sorted((gaussian, geometric))
    names = ("discrete Gaussian noise", "geometric noise")
    first, second = names if gaussian <= geometric else names[::-1]
    return f"{start} {first} costs {100 * (1 - less / more):.1f} % less epsilon than {second}."


# -- differences of two states ---------------------------------------------------------------------------


def differences(before: Numbers, after: Numbers) -> list[str]:
    """Return what is different after, one sentence each; nothing if the states are equal."""
    old, new = before.state, after.state
    found = []
    if old.source != new.source or old.base != new.base:
        found.append(f"Another release: {new.release.name} instead of {old.release.name}.")
    if old.relation != new.relation:
        found.append(f"Neighbours are {new.relation}, before {old.relation}.")
    if old.delta != new.delta:
        found.append(f"delta is {exact_text(new.delta)}, before {exact_text(old.delta)}.")
    first, second = old.budget.total, new.budget.total
    if first != second and first:
        part = float(second / first - 1)
        more = f"{percent(abs(part))} {'more' if part > 0 else 'less'}"
        found.append(f"The total rho is {more} ({plain(first)} to {plain(second)}).")
    found += _about_levels(old, new)
    text = _about_epsilon(before, after)
    found += [text] if text and found else []
    return found + page_differences(old, new)


def _about_levels(old: State, new: State) -> list[str]:
    if [level.name for level in old.base.levels] != [level.name for level in new.base.levels]:
        return []
    places = range(len(old.budget.weights))
    moved = [place for place in places if old.budget.share(place) != new.budget.share(place)]
    alone = _moved_alone(old, new) if len(moved) > 1 else None
    found = []
    for place in moved if alone is None else [alone]:
        first, second = old.budget.share(place), new.budget.share(place)
        if abs(first - second) < Fraction(1, 20000):
            continue
        name, now, then = level_name(new.base.levels[place].name), float(second), float(first)
        rest = "" if alone is None else "; the others keep their proportions"
        found.append(f"{name} gets {percent(now)} of the budget, before {percent(then)}{rest}.")
    same = old.base.levels == new.base.levels
    for place, level in enumerate(new.base.levels):
        if same and old.budget.shares[place] != new.budget.shares[place]:
            found.append(f"Within {level_name(level.name)} the queries have other shares.")
    return found


def _moved_alone(old: State, new: State) -> int | None:
    """The one level that was moved, if the others have kept their proportions."""
    ratios = [
        second / first if first else None
        for first, second in zip(old.budget.weights, new.budget.weights, strict=True)
    ]
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < 3:
        return None
    usual = max(known, key=known.count)
    odd = [place for place, ratio in enumerate(ratios) if ratio not in (None, usual)]
    return odd[0] if len(odd) == 1 else None


def _about_epsilon(before: Numbers, after: Numbers) -> str:
    then, now = before.quick.found, after.quick.found
    whole, wholly = before.overall.now, after.overall.now
    if then is None or now is None:
        return ""
    first, second, where = then.epsilon, now.epsilon, " on the main path"
    if whole is not None and wholly is not None:
        first, second, where = whole.epsilon, wholly.epsilon, ""
    kind = after.state.base.claim.kind
    what = {AnswerKind.EXACT: "The exact epsilon", AnswerKind.BOUND: "The bound on epsilon"}.get(
        kind, "Epsilon as modelled"
    )
    change = against(second, first)
    if change == "the same":
        return f"{what}{where} stays {kind.number(second)}."
    return f"{what}{where} is {kind.number(second)}, {change} than {kind.number(first)}."


def page_differences(old: State, new: State) -> list[str]:
    """Return what differs in the pages' own settings, one sentence each.

    >>> old = State.of("dhc-2020")
    >>> page_differences(old, old.with_settings("risk", {"prior": "1/10"}))
    ['Risk: the prior is 1/10, before 1/2.']
    >>> page_differences(old, old.with_settings("design", {"races": "3", "scale": "2"}))
    ['Design: the number of races is 3, before 8.', 'Design: all budgets are scaled by 2, before 1.']
    """
    found: list[str] = []
    for page, facts in _FACTS.items():
        if old.settings_of(page) == new.settings_of(page):
            continue
        try:
            then, now = facts(old), facts(new)
        except DiscreetError:  # a session that was written by hand; the page says what is wrong with it
            found.append(f"The {page} page has other settings.")
            continue
        changed = [
            f"{page.capitalize()}: {start} {text}" + (f", before {then[start]}." if start in then else ".")
            for start, text in now.items()
            if then.get(start) != text
        ]
        more = len(changed) - _MOST_SAID
        found += changed[:_MOST_SAID]
        found += [f"{page.capitalize()}: {more} more settings are different."] if more > 0 else []
    return found


_MOST_SAID = 8  # differences of one page that are named one by one


def _accuracy_facts(state: State) -> dict[str, str]:
    said = state.settings_of("accuracy")
    margins = {
        f"the wanted margin of {level_name(level.name)} is": said.get(f"margin {level.name}", "open")
        for level in state.base.levels
    }
    tree = said.get("tree", "as in the United States")
    size = said.get("size", OWN_SIZE)
    return {**margins, "the size of the group is": size, "the areas below an area are": tree}


def _risk_facts(state: State) -> dict[str, str]:
    asked = adversary(state)
    if asked is None:
        return {"the prior is": state.setting("risk", "prior", "1/2")}
    said = {"the adversary sees": SCENARIOS[asked.scenario], "the prior is": asked.prior}
    if asked.scenario != "whole":
        said |= {
            "the level is": level_name(asked.counts[0].level),
            "the query is": asked.counts[0].query,
            "the published count is": f"{asked.published:,}",
            "the number of others known is": f"{asked.known:,}",
        }
    if asked.scenario == "unsure":
        said |= {
            "the number of people who may be in the count is": str(asked.people),
            "the probability of each of them is": asked.chance,
        }
    if asked.scenario == "hierarchy":
        said |= {
            "the number of areas beside it is": str(asked.siblings),
            "their published sum is": str(asked.beside),
            "the published count above is": str(asked.above),
        }
    return said


def _design_facts(state: State) -> dict[str, str]:
    from discreet.workbench.tabulation import Design, all_places, row_words

    design = Design.of_state(state)
    stated = "those of a file" if design.thresholds else "those of 2020"
    whole = {"cell": "the average cell", "total": "the whole group"}[design.of]
    said = {
        "the number of races is": str(design.races),
        "gamma is": plain(design.gamma),
        "an empty group is dropped with probability": plain(design.chance),
        "the target error is": plain(design.target),
        "all budgets are scaled by": plain(design.scale),
        "the target error is relative to": whole,
        "thresholds are": "from the target error" if design.derived else stated,
        "published counts": "may be negative" if design.negatives else "are never negative",
        "the states are": ", ".join(design.states) or "all",
    }
    for place in all_places():
        rho = "no budget" if place in design.off else f"rho {plain(design.stated_rho(place))}"
        said[f"{row_words(place)} has"] = rho
    return {**said, "the row on view is": row_words(design.chosen)}


def _report_facts(state: State) -> dict[str, str]:
    said = state.settings_of("report")
    return {"the title is": said.get("title", "the release's own")} | {
        f"{part} are": "left out" if said.get(part) == "no" else "included" for part in ("proofs", "savings")
    }


_FACTS: dict[str, Callable[[State], dict[str, str]]] = {
    "accuracy": _accuracy_facts,
    "design": _design_facts,
    "risk": _risk_facts,
    "report": _report_facts,
}
"""What each page is set to, as sentences without their ends."""
