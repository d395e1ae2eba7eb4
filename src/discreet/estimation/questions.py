"""What is asked before any data: which plan of a release is best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from discreet.accounting.questions import Law
from discreet.budget.events import Releasable
from discreet.estimation.goals import Goal
from discreet.numbers import Exact
from discreet.questions import Option, repeated_option

Children = Annotated[
    Sequence[float] | None,
    Option(
        "Children of an area on average, for each level below the top, such as 51,61.6; or a table of "
        "areas (columns unit, level, parent). Default: the United States of 2020, for releases with its "
        "levels US, State, County, Tract, Block group and Block.",
        "N,N,...|FILE",
        reads=str | None,
    ),
]


@dataclass(frozen=True, slots=True, eq=False)
class Planning:
    """What `plan` takes."""

    release: Releasable
    _: KW_ONLY
    keep: Annotated[
        Sequence[str],
        repeated_option(
            "Estimates to keep as accurate as now: a level, or one of its queries; may be repeated.",
            "LEVEL[:QUERY]",
            "keep",
        ),
    ] = ()
    goals: Annotated[
        Sequence[Goal],
        Option(
            "The accuracy you want: [[goals]] with level, query, and sd or margin95.",
            "FILE.toml",
            "goal",
            reads=Path | None,
        ),
    ] = ()
    weights: Annotated[
        Mapping[str, Exact] | None,
        Option(
            "Minimise the relative variances with these weights.",
            "LEVEL[:QUERY]=W,...",
            reads=str | None,
        ),
    ] = None
    epsilon: Annotated[Exact | None, Option("The epsilon that may be spent.", "E", reads=str | None)] = None
    risk: Annotated[
        Sequence[str],
        repeated_option(
            "Instead of an epsilon or beside it: a limit on what an adversary gains, as in calibrate; "
            "may be repeated.",
            "LIMIT",
            "risk",
        ),
    ] = ()
    delta: Annotated[Exact, Option("Default: 1e-10.", "D", reads=str)] = "1e-10"
    law: Law = None
    certify: Annotated[
        bool, Option("Prove the epsilon in ball arithmetic (default), or not.", negative="no-certify")
    ] = True
    tree: Children = None
