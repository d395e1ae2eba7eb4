"""What is different between two states: the release, its budget and the settings of each page."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.answers.headline import epsilon_change
from discreet.answers.quantity import Style
from discreet.budget.level_names import level_name
from discreet.disclosure.questions import DEFAULT_PRIOR
from discreet.errors import DiscreetError
from discreet.numbers import exact_text
from discreet.workbench.adversary import SCENARIOS, SETTINGS, adversary
from discreet.workbench.commands import has_usual_tree
from discreet.workbench.pages import with_offered
from discreet.workbench.state import State

if TYPE_CHECKING:
    from discreet.workbench.session import Numbers

OWN_SIZE = "50"
"""The group size that is looked at until another is asked for."""
_MOST_SAID = 8  # differences of one page that are named one by one


def state_name(state: State) -> str:
    """Name a state in a few words.

    >>> state_name(State.of("dhc-2020"))
    'dhc-2020-persons with rho 4.9622, at delta 1e-10, bounded neighbours'
    """
    rho = f" with rho {Style.EXACT.quantity(state.budget.total)}" if state.budget.total else ""
    return f"{state.release_name}{rho}, at delta {exact_text(state.delta)}, {state.relation} neighbours"


def differences(before: Numbers, after: Numbers) -> list[str]:
    """Return what is different after, one sentence each; nothing if the states are equal."""
    old, new = before.state, after.state
    said = []
    if old.source != new.source or old.base != new.base:
        said.append(f"Another release: {new.release.name} instead of {old.release.name}.")
    if old.relation != new.relation:
        said.append(f"Neighbours are {new.relation}, before {old.relation}.")
    if old.delta != new.delta:
        said.append(f"delta is {exact_text(new.delta)}, before {exact_text(old.delta)}.")
    first, second = old.budget.total, new.budget.total
    if first != second and first:
        part = float(second / first - 1)
        more = f"{Style.PERCENT.quantity(abs(part))} {'more' if part > 0 else 'less'}"
        rhos = " to ".join(str(Style.EXACT.quantity(rho)) for rho in (first, second))
        said.append(f"The total rho is {more} ({rhos}).")
    if [level.name for level in old.base.levels] == [level.name for level in new.base.levels]:
        said += _about_levels(old, new)
    then, now = before.quick.found, after.quick.found
    if said and then is not None and now is not None:
        kind, whole, wholly = new.base.claim.kind, before.overall.now, after.overall.now
        if whole is not None and wholly is not None:
            said.append(epsilon_change(kind, whole.epsilon, wholly.epsilon))
        else:
            said.append(epsilon_change(kind, then.epsilon, now.epsilon, main_path=True))
    return said + page_differences(old, new)


def _about_levels(old: State, new: State) -> list[str]:
    names = [level_name(level.name) for level in new.base.levels]
    shares = list(zip(old.budget.parts, new.budget.parts, strict=True))
    moved = [index for index, (first, second) in enumerate(shares) if first != second]
    alone = _moved_alone(old, new) if len(moved) > 1 else None
    rest = "" if alone is None else "; the others keep their proportions"
    said = [
        f"{names[index]} gets {Style.PERCENT.quantity(float(second))} of the budget instead of "
        f"{Style.PERCENT.quantity(float(first))}{rest}."
        for index in (moved if alone is None else [alone])
        for first, second in [shares[index]]
        if abs(first - second) >= Fraction(1, 20000)
    ]
    if old.base.levels == new.base.levels:
        within = zip(names, old.budget.shares, new.budget.shares, strict=True)
        said += [f"The shares of the queries within {name} have changed." for name, a, b in within if a != b]
    return said


def _moved_alone(old: State, new: State) -> int | None:
    """The one level that was moved, if the others have kept their proportions."""
    pairs = zip(old.budget.weights, new.budget.weights, strict=True)
    ratios = {index: second / first for index, (first, second) in enumerate(pairs) if first}
    if len(ratios) < 3:
        return None
    known = list(ratios.values())
    usual = max(known, key=known.count)
    odd = [index for index, ratio in ratios.items() if ratio != usual]
    return odd[0] if len(odd) == 1 else None


def page_differences(old: State, new: State) -> list[str]:
    """Return what differs in the pages' own settings, one sentence each.

    >>> old = State.of("dhc-2020")
    >>> page_differences(old, old.with_settings("risk", {"prior": "1/10"}))
    ['Risk: the prior is 1/10, before 1/2.']
    """
    said: list[str] = []
    for page, facts in _FACTS.items():
        if old.settings_of(page) == new.settings_of(page):
            continue
        try:
            then, now = facts(old), facts(new)
        except DiscreetError:  # a session that was written by hand; the page says what is wrong with it
            said.append(f"Settings of the {page} page have changed.")
            continue
        changed = [
            f"{page.capitalize()}: {start} {text}" + (f", before {then[start]}." if start in then else ".")
            for start, text in now.items()
            if then.get(start, "open") != text  # a level that was not there had no wish
        ]
        more = len(changed) - _MOST_SAID
        said += changed[:_MOST_SAID]
        said += [f"{page.capitalize()}: {more} more settings are different."] if more > 0 else []
    return said


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
        return {"the prior is": state.setting("risk", "prior", DEFAULT_PRIOR)}
    said = {"the adversary sees": SCENARIOS[asked.scenario], "the prior is": asked.prior}
    if asked.scenario != "whole":
        said |= {"the level is": level_name(asked.counts[0].level), "the query is": asked.counts[0].query}
        for name, setting in SETTINGS.items():
            if setting.scenario in ("", asked.scenario):
                value = getattr(asked, name)
                said[f"{setting.words} is"] = f"{value:,}" if isinstance(value, int) else value
    return said


def _report_facts(state: State) -> dict[str, str]:
    said = state.settings_of("report")
    return {"the title is": said.get("title", "the release's own")} | {
        f"{part} are": "left out" if said.get(part) == "no" else "included" for part in ("proofs", "savings")
    }


_OWN_FACTS: dict[str, Callable[[State], dict[str, str]]] = {
    "accuracy": _accuracy_facts,
    "risk": _risk_facts,
    "report": _report_facts,
}
_FACTS = with_offered(_OWN_FACTS, lambda page: page.facts)
"""What each page is set to, as sentences without their ends."""
