"""What pages other than Budget have changed between two states, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discreet.errors import DiscreetError
from discreet.report import words
from discreet.workbench.state import State

_MOST = 8  # rows of a design that are named one by one


def page_differences(old: State, new: State) -> list[str]:
    """Return what differs on the pages' own controls, one sentence each.

    >>> old = State.of("dhc-2020")
    >>> page_differences(old, old.with_settings("risk", {"prior": "1/10"}))
    ['Risk: the prior is 1/10, before 1/2.']
    >>> page_differences(old, old.with_settings("design", {"races": "3", "rho STATE 2": "1 off"}))
    ['Design: 3 races are counted, before 8.', 'Design: STATE, detailed is off, before on with rho 2.134.']
    """
    if old.settings == new.settings:
        return []
    found: list[str] = []
    for page, compare in (("accuracy", _about_accuracy), ("design", _about_design), ("risk", _about_risk)):
        if _of(old, page) != _of(new, page):
            try:
                found += compare(old, new)
            except DiscreetError:  # a session that was written by hand; the page says what is wrong with it
                found.append(f"The {page} page has other settings.")
    if _of(old, "report") != _of(new, "report"):
        found.append("The report has another title or other parts.")
    return found


def _of(state: State, page: str) -> dict[str, str]:
    return {name: text for where, name, text in state.settings if where == page}


def _about_accuracy(old: State, new: State) -> Iterator[str]:
    first, second = _of(old, "accuracy"), _of(new, "accuracy")
    for name in sorted({*first, *second}):
        then, now = first.get(name, ""), second.get(name, "")
        if then == now:
            continue
        if name == "size":
            yield f"Accuracy: groups of {now or '50'} are looked at, before {then or '50'}."
        else:
            level = name.removeprefix("margin ")
            yield f"Accuracy: the wanted margin of {level} is {now or 'open'}, before {then or 'open'}."


def _about_risk(old: State, new: State) -> Iterator[str]:
    from discreet.workbench.risk_plan import SCENARIOS, question

    first, second = question(old), question(new)
    if first is None or second is None:
        yield "The risk page has other settings."
        return
    own = {"unsure": ("people", "chance"), "hierarchy": ("siblings", "beside", "above")}

    def facts(asked: Any) -> dict[str, str]:
        said = {
            "the adversary sees": SCENARIOS[asked.scenario],
            "the prior is": asked.prior,
        }
        if asked.scenario != "whole":
            said |= {
                "the count is at level": asked.counts[0].level,
                "the query is": asked.counts[0].query,
                "the published count is": f"{asked.published:,}",
                "the others known are": f"{asked.known:,}",
            }
        for name in own.get(asked.scenario, ()):
            said[_RISK[name]] = str(getattr(asked, name))
        return said

    then, now = facts(first), facts(second)
    for start, text in now.items():
        if start not in then:
            yield f"Risk: {start} {text}."
        elif then[start] != text:
            yield f"Risk: {start} {text}, before {then[start]}."


_RISK = {
    "people": "the people who may be in the count are",
    "chance": "the chance of each of them is",
    "siblings": "the areas beside it are",
    "beside": "their published sum is",
    "above": "the published count above is",
}


def _about_design(old: State, new: State) -> Iterator[str]:
    from discreet.workbench.design_plan import Design, row_words

    first, second = Design.of_state(old), Design.of_state(new)
    if first.races != second.races:
        races = f"{second.races} race{'s are' if second.races > 1 else ' is'} counted"
        yield f"Design: {races}, before {first.races}."
    for name, start in _DESIGN.items():
        then, now = getattr(first, name), getattr(second, name)
        if then != now:
            yield f"Design: {start} {words.plain(now)}, before {words.plain(then)}."
    if first.of != second.of:
        of = {"cell": "the average cell", "total": "the whole group"}
        yield f"Design: the target error is of {of[second.of]}, before of {of[first.of]}."
    if first.derived != second.derived or first.thresholds != second.thresholds:
        yield f"Design: thresholds are {_thresholds(second)}, before {_thresholds(first)}."
    if first.negatives != second.negatives:
        allowed = "may be negative" if second.negatives else "are never negative"
        yield f"Design: published counts {allowed}."
    if first.states != second.states:
        yield f"Design: the states are {_states(second)}, before {_states(first)}."
    rows = list(_about_rows(first, second))
    yield from rows[:_MOST]
    if len(rows) > _MOST:
        yield f"Design: {len(rows) - _MOST} more rows are different."
    if (first.which, first.chosen) != (second.which, second.chosen):
        yield f"Design: {row_words(second.chosen)} is looked at, before {row_words(first.chosen)}."


_DESIGN = {
    "gamma": "gamma is",
    "chance": "an empty group is dropped with chance",
    "target": "the target error is",
    "scale": "all budgets are scaled by",
}


def _about_rows(first: Any, second: Any) -> Iterator[str]:
    from discreet.workbench.design_plan import all_places, row_words

    for place in all_places():
        was, now = first.stated_rho(place), second.stated_rho(place)
        was_off, is_off = place in first.off, place in second.off
        if is_off and not was_off:
            yield f"Design: {row_words(place)} is off, before on with rho {words.plain(was)}."
        elif was_off and not is_off:
            yield f"Design: {row_words(place)} is on with rho {words.plain(now)}, before off."
        elif was != now and not is_off:
            yield f"Design: {row_words(place)} has rho {words.plain(now)}, before {words.plain(was)}."


def _thresholds(design: Any) -> str:
    if design.derived:
        return "from the target error"
    return "those of a file" if design.thresholds else "those of 2020"


def _states(design: Any) -> str:
    return ", ".join(design.states) or "all"
