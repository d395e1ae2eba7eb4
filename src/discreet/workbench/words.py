"""What the pages say: terms explained, commands that give the same numbers, differences of two states."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib.resources import files
from typing import TYPE_CHECKING

from discreet.answers import Fact, NumberKind, Quantity, Style
from discreet.answers.account import case_text
from discreet.answers.meaning import meaning_sentences
from discreet.answers.release import claim_text, only_path, path_text, relation
from discreet.budget import AnswerKind
from discreet.budget.level_names import level_name
from discreet.budget.spine import CHILDREN_2020
from discreet.errors import DiscreetError
from discreet.numbers import exact_text
from discreet.workbench.adversary import SCENARIOS, SETTINGS, adversary, read_chance
from discreet.workbench.state import State

if TYPE_CHECKING:
    from discreet.release.safetab.design import DesignCost
    from discreet.workbench.session import Numbers

LONGEST_TITLE = 120
MOST_COMMANDS = 3
"""Of one page."""

OWN_SIZE = "50"
"""The group size that is looked at until another is asked for."""

HELP: dict[str, dict[str, str]] = tomllib.loads(
    (files("discreet.workbench") / "help.toml").read_text(encoding="utf-8")
)
"""Terms of each page, and what they mean."""


# -- commands that give the same numbers -----------------------------------------------------------------


def command_line(state: State, verb: str = "account", *options: str) -> str:
    """Return the command line that gives numbers of the state, by default what it costs.

    >>> command_line(State.of("dhc-2020"))
    'discreet account dhc-2020-persons --delta 1e-10'
    >>> command_line(State.of("dhc-2020"), "risk release", "--prior", "1/2")
    'discreet risk release dhc-2020-persons --prior 1/2'
    """
    if verb in ("account", "calibrate", "report"):
        options = (*options, "--delta", exact_text(state.delta))
    relation = ("--neighbours", state.neighbours) if state.neighbours else ()
    return shlex.join(["discreet", *verb.split(), *target(state), *options, *relation])


def commands(state: State, page: str, before: State | None = None) -> list[str]:
    """Return the command lines that together give all numbers of a page.

    >>> for line in commands(State.of("dhc-2020"), "budget"):
    ...     print(line)
    discreet account dhc-2020-persons --delta 1e-10
    discreet calibrate dhc-2020-persons --zcdp --delta 1e-10
    discreet report dhc-2020-persons --no-certify --no-savings --out report.html --delta 1e-10
    """
    whole = command_line(state, "report", "--no-certify", "--no-savings", "--out", "report.html")
    if page == "accuracy":
        return [one for one in (accuracy_command(state), whole) if one]
    if page == "risk":
        return risk_commands(state)
    if page == "design":
        return design_commands(state)
    if page == "report":
        return [report_command(state, before)]
    return [command_line(state), command_line(state, "calibrate", "--zcdp"), whole]


def files_note(lines: Sequence[str]) -> str:
    """Say what the files are that commands name.

    >>> files_note(commands(State.of("dhc-2020"), "budget"))
    ''
    """
    said = {
        "release.toml": "release.toml is the release on this page: save it first.",
        "before.toml": "before.toml is the release that it is compared with: save it first.",
        "PARAMS": "PARAMS is a folder with the saved safetab.toml and the four files of the groups; the "
        "numbers here are those of the groups of 2020.",
    }
    named = {part for line in lines for part in shlex.split(line)}
    return " ".join(text for name, text in said.items() if name in named)


def risk_commands(state: State) -> list[str]:
    """Return the command lines of the Risk page; none while what was entered there cannot be used.

    >>> risk_commands(State.of("sdhc-2020").with_settings("risk", {"prior": "1/3", "scenario": "whole"}))
    ['discreet risk release sdhc-2020 --prior 1/3']
    """
    try:
        asked = adversary(state)
        prior = read_chance(state.setting("risk", "prior", "1/2"))
    except DiscreetError:
        return []
    whole = command_line(state, "risk release", "--prior", prior)
    return [whole] if asked is None or asked.scenario == "whole" else [asked.command, whole]


def design_commands(state: State) -> list[str]:
    """Return the command line of the design page; none while what was entered there cannot be used.

    >>> design_commands(State.of("dhc-2020").with_settings("design", {"of": "total"}))
    ['discreet safetab design PARAMS --of total --delta 1e-10']
    """
    from discreet.workbench.tabulation import Design

    try:
        design = Design.of_state(state)
    except DiscreetError:
        return []
    error = ["--error", exact_text(design.target)] if design.target != Design().target else []
    of = ["--of", design.of] if design.of != Design().of else []
    delta = ["--delta", exact_text(state.delta)]
    return [shlex.join(["discreet", "safetab", "design", "PARAMS", *error, *of, *delta])]


def state_name(state: State) -> str:
    """Name a state in a few words.

    >>> state_name(State.of("dhc-2020"))
    'dhc-2020-persons with rho 4.9622, at delta 1e-10, bounded neighbours'
    """
    rho = f" with rho {Style.EXACT.quantity(state.budget.total)}" if state.budget.total else ""
    return f"{state.release_name}{rho}, at delta {exact_text(state.delta)}, {state.relation} neighbours"


def accuracy_command(state: State) -> str:
    """Return the command line of the best estimates, or nothing where the tree of areas is not known.

    >>> accuracy_command(State.of("pl94-2020")), accuracy_command(State.of("dhc-2020"))
    ('discreet accuracy pl94-2020-persons', '')
    """
    tree = state.setting("accuracy", "tree").replace(" ", "")
    if not (tree.count(",") + 2 == len(state.base.levels) if tree else has_usual_tree(state)):
        return ""
    return shlex.join(["discreet", "accuracy", *target(state), *(["--tree", tree] if tree else [])])


def has_usual_tree(state: State) -> bool:
    """Whether the number of areas below an area is known by the names of the levels.

    >>> has_usual_tree(State.of("pl94-2020")), has_usual_tree(State.of("dhc-2020"))
    (True, False)
    """
    names = [level.name for level in state.base.levels]
    return len(names) == 1 or names == ["US", *CHILDREN_2020]


def rho_text(state: State) -> str:
    """Write the total rho that levels share; Laplace noise has no part in it.

    >>> rho_text(State.of("dhc-2020"))
    '24811/5000 = 4.9622'
    """
    if not state.budget.total:
        return "All noise is Laplace; no rho is shared out"
    only = "" if all(state.budget.weights) else ", without the levels that have Laplace noise"
    return f"{Style.FRACTION.quantity(state.budget.total)}{only}"


def target(state: State, file: str = "release.toml") -> list[str]:
    """Return what a command calls the release of a state."""
    return [state.source] if state.is_preset and state.changed is None else [file]


def report_options(state: State, before: State | None) -> dict[str, object]:
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


def report_command(state: State, before: State | None = None) -> str:
    """Return the command line that makes the same report.

    >>> report_command(State.of("dhc-2020"), State.of("dhc-2020"))
    'discreet report dhc-2020-persons --delta 1e-10 --before dhc-2020-persons --out report.html'
    """
    asked = report_options(state, before)
    # one option is for both releases, and the other may state other neighbours
    alike = before is None or before.base.neighbours == state.relation
    title, prior = str(asked["title"]), str(asked["prior"])
    parts = {
        "--neighbours": state.neighbours or ("" if alike else state.relation),
        "--prior": prior if prior != "1/2" else "",
        "--before": "" if before is None else target(before, "before.toml")[0],
        "--title": title,
    }
    said = [part for name, text in parts.items() if text for part in (name, text)]
    left_out = [f"--no-{name}" for name in ("certify", "savings") if not asked[name]]
    head = ["discreet", "report", *target(state), "--delta", exact_text(state.delta)]
    return shlex.join([*head, *said, *left_out, "--out", "report.html"])


# -- what numbers mean -----------------------------------------------------------------------------------


def epsilon_fact(numbers: Numbers) -> Fact:
    """Return the epsilon of a state, as what it is.

    >>> from discreet.workbench.session import Session
    >>> epsilon_fact(Session(State.of("sdhc-2020")).numbers)
    Fact(label='Epsilon', value='…', note='')
    """
    if numbers.epsilon is None:
        return Fact("Epsilon", "…")
    kind = numbers.claim.kind if numbers.quick.fresh else AnswerKind.MAIN
    name = "Exact epsilon" if numbers.state.base.claim.kind is AnswerKind.EXACT else "Epsilon"
    return Fact(name, NumberKind.of(kind).quantity(numbers.epsilon), epsilon_note(numbers))


def saving_fact(numbers: Numbers, *, settled: bool) -> Fact:
    """Return how much noise could be saved, or why that is not known."""
    if numbers.saved is not None:
        return Fact("Noise to save", Quantity(numbers.saved, Style.PERCENT), "of every variance")
    waits = "not found" if numbers.saving.trouble else "is being found"
    return Fact("Noise to save", "–", waits if settled else "when the slider is let go")


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


def curve_name(state: State, *, least: bool = False) -> str:
    """Name the curve of a release as what it is; one of rates of misses is a bound from below, at `least`.

    >>> [curve_name(State.of(name)) for name in ("dhc-2022-08-25", "sdhc-2020", "dhc-2020")]
    ['Exact', 'At most', 'Main path']
    """
    kind = state.base.claim.kind
    if len(state.base.paths) > 1:
        return "Main path"
    return "At least" if least and kind is AnswerKind.BOUND else kind.label.capitalize()


def claim_note(state: State) -> str:
    """Say why numbers of a release are not exact; nothing if they are.

    >>> claim_note(State.of("dhc-2020")), claim_note(State.of("sdhc-2020"))[:46]
    ('', 'An upper bound: the true value may be smaller.')
    """
    claim = state.base.claim
    return "" if claim.kind is AnswerKind.EXACT else claim_text(claim)


def comparing(progress: tuple[str, int, int] | None) -> str:
    """Say how far the comparison of all pairs of paths has come; nothing if it does not go on."""
    if progress is None:
        return ""
    stage, part, total = progress
    how = ": waiting for a free processor" if stage == "waiting" else f": {part} of {total}" if total else ""
    return f"Comparing all pairs of paths{how}."


def worst_text(numbers: Numbers) -> str:
    """Say which pair of paths is the worst, or how far their comparison has come."""
    found, release = numbers.overall.now, numbers.state.base
    if numbers.overall.progress is not None:
        return comparing(numbers.overall.progress)
    if found is None:
        return "The main path, while the slider moves."
    if len(release.paths) == 1:
        return only_path(release)
    kind = "pair of paths" if len(found.worst) == 2 else "path"
    numbered = sorted(set(found.worst))
    paths = "; ".join(f"path {number}: {path_text(release, number)}" for number in numbered)
    return f"Worst {kind} {case_text(found.worst)}. {paths[0].upper()}{paths[1:]}."


def meaning(numbers: Numbers) -> list[str]:
    """Say what the numbers mean: bounds of all paths once they were compared, before that no bounds."""
    quick, errors, state = numbers.quick.found, numbers.errors.found, numbers.state
    if quick is None:
        return []
    whole = numbers.overall.now if numbers.quick.fresh else None
    epsilon, advantage = (
        (quick.epsilon, quick.advantage) if whole is None else (whole.epsilon, whole.advantage)
    )
    missed = whole.missed if whole is not None else errors.missed if errors is not None else None
    several = whole is None and len(state.base.paths) > 1
    is_bound = not several and numbers.claim.kind in (AnswerKind.EXACT, AnswerKind.BOUND)
    said = meaning_sentences(
        epsilon=epsilon,
        delta=state.delta,
        advantage=advantage,
        missed=missed,
        who=relation(state.relation, state.base.unit),
        is_bound=is_bound,
    )
    return list(map(str, said))


def against(value: float, other: float) -> str:
    """Say how far one epsilon lies from another.

    >>> against(24.4565, 26.3406), against(2.0, 2.0), against(24.4564939, 24.4565144)
    ('1.8841 (7.2 %) less', 'the same', '2.0e-05 less')
    """
    gap = value - other
    if abs(gap) <= 1e-9 * max(abs(value), abs(other), 1e-300):
        return "the same"
    size = Style.PLACES.quantity(abs(gap), 4) if abs(gap) >= 5e-4 else Style.POWER.quantity(abs(gap), 1)
    share = (
        f" ({Style.PERCENT.quantity(abs(gap) / other)})" if other > 0 and abs(gap) >= 0.0005 * other else ""
    )
    return f"{size}{share} {'less' if gap < 0 else 'more'}"


def cost_text(delta: Fraction, exact: Sequence[DesignCost] | None) -> str:
    """Say what the epsilons of a design are of, one person added and one replaced."""
    at = f"At delta {exact_text(delta)}"
    if exact is None:
        return f"{at}; all groups with two stages. Groups that get only a total are compared next."
    first, second = (cost.cases for cost in exact)
    if (first, second) == (1, 1):
        return f"{at}; all groups have two stages."
    return f"{at}; worst of {first} and {second} mixes of groups with and without a first stage."


# -- differences of two states ---------------------------------------------------------------------------

_MOST_SAID = 8  # differences of one page that are named one by one


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
        more = f"{Style.PERCENT.quantity(abs(part))} {'more' if part > 0 else 'less'}"
        rhos = " to ".join(str(Style.EXACT.quantity(rho)) for rho in (first, second))
        found.append(f"The total rho is {more} ({rhos}).")
    if [level.name for level in old.base.levels] == [level.name for level in new.base.levels]:
        found += _about_levels(old, new)
    then, now = before.quick.found, after.quick.found
    if found and then is not None and now is not None:
        whole, wholly = before.overall.now, after.overall.now
        if whole is not None and wholly is not None:
            found.append(_about_epsilon(new, whole.epsilon, wholly.epsilon, ""))
        else:
            found.append(_about_epsilon(new, then.epsilon, now.epsilon, " on the main path"))
    return found + page_differences(old, new)


def _about_levels(old: State, new: State) -> list[str]:
    names = [level_name(level.name) for level in new.base.levels]
    shares = list(zip(old.budget.parts, new.budget.parts, strict=True))
    moved = [place for place, (first, second) in enumerate(shares) if first != second]
    alone = _moved_alone(old, new) if len(moved) > 1 else None
    rest = "" if alone is None else "; the others keep their proportions"
    found = [
        f"{names[place]} gets {Style.PERCENT.quantity(float(second))} of the budget instead of "
        f"{Style.PERCENT.quantity(float(first))}{rest}."
        for place in (moved if alone is None else [alone])
        for first, second in [shares[place]]
        if abs(first - second) >= Fraction(1, 20000)
    ]
    if old.base.levels == new.base.levels:
        within = zip(names, old.budget.shares, new.budget.shares, strict=True)
        found += [f"The shares of the queries within {name} have changed." for name, a, b in within if a != b]
    return found


def _moved_alone(old: State, new: State) -> int | None:
    """The one level that was moved, if the others have kept their proportions."""
    pairs = zip(old.budget.weights, new.budget.weights, strict=True)
    ratios = {place: second / first for place, (first, second) in enumerate(pairs) if first}
    if len(ratios) < 3:
        return None
    known = list(ratios.values())
    usual = max(known, key=known.count)
    odd = [place for place, ratio in ratios.items() if ratio != usual]
    return odd[0] if len(odd) == 1 else None


def _about_epsilon(state: State, then: float, now: float, where: str) -> str:
    kind = state.base.claim.kind
    names = {AnswerKind.EXACT: "The exact epsilon", AnswerKind.BOUND: "The bound on epsilon"}
    what, change = names.get(kind, "Epsilon as modelled"), against(now, then)
    written = NumberKind.of(kind).quantity
    if change == "the same":
        return f"{what}{where} stays {written(now)}."
    return f"{what}{where} is {written(now)}, {change} than {written(then)}."


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
            found.append(f"Settings of the {page} page have changed.")
            continue
        changed = [
            f"{page.capitalize()}: {start} {text}" + (f", before {then[start]}." if start in then else ".")
            for start, text in now.items()
            if then.get(start, "open") != text  # a level that was not there had no wish
        ]
        more = len(changed) - _MOST_SAID
        found += changed[:_MOST_SAID]
        found += [f"{page.capitalize()}: {more} more settings are different."] if more > 0 else []
    return found


def _usual_areas(state: State) -> str:
    """What the areas below an area are while nobody has said so."""
    several = len(state.base.levels) > 1
    return "as in the United States" if several and has_usual_tree(state) else "not stated"


def _accuracy_facts(state: State) -> dict[str, str]:
    said = state.settings_of("accuracy")
    return {
        **{
            f"the wanted margin of {level_name(level.name)} is": said.get(f"margin {level.name}", "open")
            for level in state.base.levels
        },
        "the size of the group is": said.get("size", OWN_SIZE),
        "the query on view is": said.get("query", "not chosen"),
        "the areas below an area are": said.get("tree") or _usual_areas(state),
    }


def _risk_facts(state: State) -> dict[str, str]:
    asked = adversary(state)
    if asked is None:
        return {"the prior is": state.setting("risk", "prior", "1/2")}
    said = {"the adversary sees": SCENARIOS[asked.scenario], "the prior is": asked.prior}
    if asked.scenario != "whole":
        said |= {"the level is": level_name(asked.counts[0].level), "the query is": asked.counts[0].query}
        for name, one in SETTINGS.items():
            if one.scenario in ("", asked.scenario):
                value = getattr(asked, name)
                said[f"{one.words} is"] = f"{value:,}" if isinstance(value, int) else value
    return said


def _design_facts(state: State) -> dict[str, str]:
    from discreet.workbench.tabulation import ALL_PLACES, Design, row_words

    design = Design.of_state(state)
    stated = "those of a file" if any(design.thresholds) else "those of 2020"
    return {
        "the number of races is": str(design.races),
        "gamma is": str(Style.EXACT.quantity(design.gamma)),
        "an empty group is dropped with probability": str(Style.EXACT.quantity(design.chance)),
        "the target error is": str(Style.EXACT.quantity(design.target)),
        "all budgets are scaled by": str(Style.EXACT.quantity(design.scale)),
        "the target error is relative to": "the average cell" if design.of == "cell" else "the whole group",
        "thresholds are": "from the target error" if design.derived else stated,
        "published counts": "may be negative" if design.negatives else "are never negative",
        "the states are": ", ".join(design.states) or "all",
        **{
            f"{row_words(place)} has": "no budget"
            if place in design.off
            else f"rho {Style.EXACT.quantity(rho)}"
            for place, rho in zip(ALL_PLACES, design.rhos, strict=True)
        },
        "the row on view is": row_words(design.chosen),
    }


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
