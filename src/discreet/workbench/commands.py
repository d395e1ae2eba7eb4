"""The command lines that give the numbers of a page, and what its report is asked for."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from discreet.answers.adversary import attack_command
from discreet.budget.spine import CHILDREN_2020
from discreet.disclosure.questions import DEFAULT_PRIOR
from discreet.errors import DiscreetError
from discreet.numbers import exact_text
from discreet.workbench.adversary import adversary, asked_category, read_chance
from discreet.workbench.pages import offered_pages
from discreet.workbench.state import State

LONGEST_TITLE = 120
MOST_COMMANDS = 3
"""Of one page."""


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
        return [line for line in (accuracy_command(state), whole) if line]
    if page == "risk":
        return risk_commands(state)
    if page == "report":
        return [report_command(state, before)]
    for other in offered_pages():
        if page == other.name:
            return other.commands(state)
    return [command_line(state), command_line(state, "calibrate", "--zcdp"), whole]


def files_note(lines: Sequence[str]) -> str:
    """Say what the files are that commands name.

    >>> files_note(commands(State.of("dhc-2020"), "budget"))
    ''
    """
    said = {
        "release.toml": "release.toml is the release on this page: save it first.",
        "before.toml": "before.toml is the release that it is compared with: save it first.",
    }
    for page in offered_pages():
        said |= page.files
    named = {part for line in lines for part in shlex.split(line)}
    return " ".join(text for name, text in said.items() if name in named)


def risk_commands(state: State) -> list[str]:
    """Return the command lines of the Risk page; none while what was entered there cannot be used.

    >>> risk_commands(State.of("sdhc-2020").with_settings("risk", {"prior": "1/3", "scenario": "whole"}))
    ['discreet risk release sdhc-2020 --prior 1/3']
    """
    try:
        asked = adversary(state)
        prior = read_chance(state.setting("risk", "prior", DEFAULT_PRIOR))
    except DiscreetError:
        return []
    whole = command_line(state, "risk release", "--prior", prior)
    first = [] if asked is None or asked.scenario == "whole" else [attack_command(asked)]
    return [*first, whole, *which_category_command(state)]


def which_category_command(state: State) -> list[str]:
    """Return the command line of the card on categories; none for a release without attributes.

    >>> which_category_command(State.of("pl94-2020").with_settings("risk", {"category": "cenrace"}))
    ['discreet risk categories pl94-2020-persons --asked cenrace']
    """
    if state.release.attributes is None:
        return []
    asked = asked_category(state)
    return [
        shlex.join(["discreet", "risk", "categories", *target(state), *(["--asked", asked] if asked else [])])
    ]


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


def target(state: State, file: str = "release.toml") -> list[str]:
    """Return what a command calls the release of a state."""
    return [state.source] if state.is_preset and state.changed is None else [file]


def report_options(state: State, before: State | None) -> dict[str, object]:
    """Return what the report of two states is asked for, with the prior of the Risk page.

    >>> report_options(State.of("dhc-2020").with_settings("risk", {"prior": "0.1"}), None)["prior"]
    '1/10'
    """
    try:
        prior = read_chance(state.setting("risk", "prior", DEFAULT_PRIOR))
    except DiscreetError:  # the Risk page says what is wrong
        prior = DEFAULT_PRIOR
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
        "--prior": prior if prior != DEFAULT_PRIOR else "",
        "--before": "" if before is None else target(before, "before.toml")[0],
        "--title": title,
    }
    said = [part for name, text in parts.items() if text for part in (name, text)]
    left_out = [f"--no-{name}" for name in ("certify", "savings") if not asked[name]]
    head = ["discreet", "report", *target(state), "--delta", exact_text(state.delta)]
    return shlex.join([*head, *said, *left_out, "--out", "report.html"])
