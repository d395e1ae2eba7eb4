"""What the workbench knows of the Tabulation design page before it is drawn."""

from __future__ import annotations

import shlex

from discreet.answers.quantity import Style
from discreet.errors import DiscreetError
from discreet.numbers import exact_text
from discreet.workbench.pages import OfferedPage
from discreet.workbench.state import State
from discreet.workbench.tabulations.design import ALL_PLACES, NAME, Design, row_words


def design_commands(state: State) -> list[str]:
    """Return the command line of the design page; none while what was entered there cannot be used.

    >>> design_commands(State.of("dhc-2020").with_settings("design", {"of": "total"}))
    ['discreet safetab design PARAMS --of total --delta 1e-10']
    """
    try:
        design = Design.of_state(state)
    except DiscreetError:
        return []
    error = ["--error", exact_text(design.target)] if design.target != Design().target else []
    of = ["--of", design.of] if design.of != Design().of else []
    delta = ["--delta", exact_text(state.delta)]
    return [shlex.join(["discreet", "safetab", "design", "PARAMS", *error, *of, *delta])]


def design_facts(state: State) -> dict[str, str]:
    """Return what the page is set to, as sentences without their ends.

    >>> from discreet.workbench.differences import page_differences
    >>> old = State.of("dhc-2020")
    >>> page_differences(old, old.with_settings("design", {"races": "3", "scale": "2"}))
    ['Design: the number of races is 3, before 8.', 'Design: all budgets are scaled by 2, before 1.']
    """
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


DESIGN_PAGE = OfferedPage(
    name=NAME,
    title="Tabulation design",
    after="accuracy",
    package="discreet.workbench.tabulations",
    commands=design_commands,
    facts=design_facts,
    files={
        "PARAMS": "PARAMS is a folder with the saved safetab.toml and the four files of the groups; the "
        "numbers here are those of the groups of 2020.",
    },
)
