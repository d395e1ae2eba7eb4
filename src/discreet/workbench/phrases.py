"""What the pages say: terms explained, the command line of a state, differences of two states in words."""

from __future__ import annotations

import math
import shlex
from fractions import Fraction

from discreet.report import words
from discreet.workbench.numbers import Numbers
from discreet.workbench.session_file import delta_text
from discreet.workbench.state import State, differing_levels

HELP = {
    "epsilon": "How much one person's record can change what an observer believes: odds change by at most a "
    "factor e to the epsilon, but for cases of total probability delta. Smaller protects better.",
    "exact": "The smallest epsilon for which the promise is true, computed from the noise that is really "
    "added, without a bound in between.",
    "zCDP": "Zero-concentrated differential privacy, the accountant that the US Census Bureau used. Its "
    "epsilon is safe but larger than it need be.",
    "Gaussian DP": "The noise taken for continuous Gaussian noise. Close, but not a bound: it can lie below "
    "the truth.",
    "delta": "The probability that is left out of the promise. The US Census Bureau reports at 1e-10.",
    "rho": "The privacy budget in the units of zCDP. Twice the rho halves the variances of all counts.",
    "neighbours": "Which two databases must be hard to tell apart: bounded, one person is replaced by "
    "another; unbounded, one person is added or removed.",
    "worst pair": "Where people live decides which levels count them apart. Every pair of such paths is an "
    "own case; the promise must hold for the worst of them.",
    "saved": "By how much all variances could shrink while the promise that zCDP makes at this delta stays "
    "true, by the main path.",
    "advantage": "The most by which any observer who must guess whether one person is in the data can do "
    "better than chance.",
    "level": "A level of geography, such as counties, with its own share of the budget.",
    "share": "The part of its level's budget that a query gets. The shares of a level add up to 1.",
    "main path": "The geography on which no two levels fall together. Its account is quick and close to the "
    "worst of all, which is found when the slider is let go.",
    "trade-off": "An observer tests whether one person is in the data. At each rate of false alarms the "
    "curve is the least rate of misses that any test can have. Higher protects better; the straight line "
    "is a release that tells nothing.",
    "profile": "Every point is a true promise: at that epsilon, the probability left out is delta.",
    "margin": "95 times in 100 the noise in a count is smaller than this. 1.96 standard deviations.",
    "relative error": "The margin of error divided by the size of the group that is counted.",
    "calibration": "Shrinks all variances by one factor until the exact epsilon is what zCDP promised, so "
    "that the same promise is kept with less noise.",
}


def command(state: State, *, file: str = "release.toml") -> str:
    """Return the command line that gives the numbers of the state.

    >>> command(State.of("dhc-2020"))
    'discreet account dhc-2020-persons --delta 1e-10'
    """
    parts = ["discreet", "account", *target(state, file), "--delta", delta_text(state.delta)]
    return shlex.join(parts + relation_options(state))


def calibrate_command(state: State, *, margins: str = "", file: str = "release.toml") -> str:
    """Return the command line that calibrates the state's release.

    >>> calibrate_command(State.of("dhc-2020"), margins="State=5")
    'discreet calibrate dhc-2020-persons --moe State=5 --delta 1e-10'
    """
    aim = ["--moe", margins] if margins else ["--zcdp"]
    parts = ["discreet", "calibrate", *target(state, file), *aim, "--delta", delta_text(state.delta)]
    return shlex.join(parts + relation_options(state))


def target(state: State, file: str = "release.toml") -> list[str]:
    """Return what a command calls the release of a state."""
    return [state.source] if state.is_preset and state.changed is None else [file]


def relation_options(state: State) -> list[str]:
    """Return the options of a command that say the neighbours, if they are not the stated ones."""
    return ["--neighbours", state.neighbours] if state.neighbours else []


def exact_note(numbers: Numbers) -> str:
    """Say which cases the exact epsilon is of."""
    if numbers.overall is None or not numbers.is_fresh:
        return "main path"
    many = numbers.overall.cases
    if many == 1:
        return "the only path" if numbers.state.relation == "unbounded" else "the only pair of paths"
    return f"worst of {many} {'pairs of paths' if numbers.state.relation == 'bounded' else 'paths'}"


def meaning(numbers: Numbers) -> list[str]:
    """Say what the numbers mean, for the main path."""
    quick, errors, state = numbers.quick, numbers.errors, numbers.state
    if quick is None:
        return []
    from discreet.risk.explain import times  # here: the first page must not wait for NumPy

    who = words.relation(state.relation, state.base.unit)
    said = [
        f"Two databases that differ by {who} give any published result with probabilities that differ by at "
        f"most a factor {_factor(quick.epsilon)}, but for cases of total probability "
        f"{delta_text(state.delta)}.",
        "Someone who must guess which of two such databases was used, each being as likely, is right at most "
        f"{times((1 + quick.advantage) / 2, upper=True)}.",
    ]
    if errors is not None:
        least = errors.missed  # what is promised is rounded down
        least = math.floor(1000 * least) / 1000 if least >= 0.01 else least
        said.append(f"A test with 5 % false alarms misses at least {_percent(least)} of the time.")
    return said


def _factor(epsilon: float) -> str:
    if epsilon < 10:
        return f"e^{words.number(epsilon, 4)} = {words.number(math.exp(epsilon), 3)}"
    exponent = epsilon / math.log(10)
    return f"e^{words.number(epsilon, 4)}, about {words.number(10 ** (exponent % 1), 2)}e{int(exponent)}"


def _percent(part: float) -> str:
    return words.percent(part) if part >= 0.0001 else f"{100 * part:.1e} %"


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
    percent = f" ({words.percent(abs(gap) / other)})" if other > 0 and abs(gap) >= 0.0005 * other else ""
    return f"{size}{percent} {word}"


def differences(before: Numbers, after: Numbers) -> list[str]:
    """Return what is different after, one sentence each; nothing if the states are equal."""
    old, new = before.state, after.state
    found = []
    if old.source != new.source or old.base != new.base:
        found.append(f"Another release: {new.release.name} instead of {old.release.name}.")
    if old.relation != new.relation:
        found.append(f"Neighbours are {new.relation}, before {old.relation}.")
    if old.delta != new.delta:
        found.append(f"delta is {delta_text(new.delta)}, before {delta_text(old.delta)}.")
    first, second = old.budget.total, new.budget.total
    if first != second and first:
        change = f"{_more(second / first - 1)} ({words.plain(first)} to {words.plain(second)})"
        found.append(f"The total rho is {change}.")
    found += _about_levels(old, new)
    text = _about_epsilon(before, after)
    found += [text] if text and found else []
    if old.settings != new.settings:
        from discreet.workbench.page_words import page_differences  # only here: it needs the pages' plans

        found += page_differences(old, new)
    return found


def _about_levels(old: State, new: State) -> list[str]:
    if [level.name for level in old.base.levels] != [level.name for level in new.base.levels]:
        return []
    moved = differing_levels(old.budget, new.budget)
    alone = _moved_alone(old, new) if len(moved) > 1 else None
    found = []
    for place in moved if alone is None else [alone]:
        first, second = old.budget.share(place), new.budget.share(place)
        if abs(first - second) < Fraction(1, 20000):
            continue
        name, now, then = new.base.levels[place].name, float(second), float(first)
        rest = "" if alone is None else "; the others keep their proportions"
        found.append(f"{name} gets {words.percent(now)} of the budget, before {words.percent(then)}{rest}.")
    same = old.base.levels == new.base.levels
    for place, level in enumerate(new.base.levels):
        if same and old.budget.shares[place] != new.budget.shares[place]:
            found.append(f"Within {level.name} the queries have other shares.")
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
    both_whole = before.overall is not None and after.overall is not None
    first = before.overall.epsilon if both_whole and before.overall else _main(before)
    second = after.overall.epsilon if both_whole and after.overall else _main(after)
    if first is None or second is None:
        return ""
    where = "" if both_whole else " on the main path"
    now, then, change = words.number(second), words.number(first), against(second, first)
    if change == "the same":
        return f"The exact epsilon{where} stays {now}."
    return f"The exact epsilon{where} is {now}, {change} than {then}."


def _main(numbers: Numbers) -> float | None:
    return None if numbers.quick is None else numbers.quick.epsilon


def _more(part: Fraction) -> str:
    return f"{words.percent(abs(float(part)))} {'more' if part > 0 else 'less'}"
