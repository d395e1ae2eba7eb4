"""What is asked of the risk of one person: what can be learned from everything published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from discreet.accounting.questions import Jobs, People, Relation
from discreet.budget.events import Releasable, Releasables
from discreet.files import FilePath, TableSource
from discreet.ledger.questions import AtMost, Excess, Geocodes, Identifier
from discreet.numbers import Exact
from discreet.questions import Option, file_option, repeated_option
from discreet.records.questions import RecordInput

if TYPE_CHECKING:
    from discreet.promises.limits import RiskLimit

DEFAULT_PRIOR = "1/2"
"""At which every surface says how risky a release is, unless another is asked for."""

Limits = Annotated[
    "Sequence[str | RiskLimit]",
    repeated_option(
        "Instead of a promise: a limit on what an adversary gains; may be repeated.", "LIMIT", "risk"
    ),
]
HeldExact = Annotated[
    Sequence[str],
    repeated_option(
        "Counts published without noise: only data sets that agree on them are compared.",
        "LEVEL:QUERY,...",
        "held-exact",
    ),
]


@dataclass(frozen=True, slots=True, eq=False)
class Risking:
    """What `risk` takes, and the command `risk release`."""

    releases: Releasables
    _: KW_ONLY
    prior: Annotated[
        Exact | Sequence[Exact],
        repeated_option(
            "The adversary's chance that the target is present, such as 1/2 or 1/864; may be repeated. "
            "Default: 1/2, 1/10 and 1/100.",
            "P",
            "prior",
        ),
    ] = ("1/2", "1/10", "1/100")
    exact: HeldExact = ()
    false_positive_rates: Annotated[
        Sequence[Exact],
        repeated_option(
            "How often the adversary may accuse wrongly; may be repeated. Default: 1e-6, 1e-5, ..., 1/10.",
            "A",
            "false-positive-rate",
        ),
    ] = ("1e-6", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1")
    guess: Annotated[
        Sequence[Exact],
        repeated_option(
            "How often a person's values are guessed with nothing published, such as 1/2016; may be "
            "repeated. Default: one of all detailed cells, and 1/100.",
            "B",
            "guess",
        ),
    ] = ()
    delta: Annotated[Exact, Option("For the epsilon of each attribute. Default: 1e-10.", "D", reads=str)] = (
        "1e-10"
    )
    pairs: Literal["all", "main"] = "all"
    certify: bool = False
    neighbours: Relation = None
    people: People = 1
    jobs: Jobs = 1
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RiskingRecords:
    """What `records_risk` takes, and the command `risk records`."""

    release: Releasable | None
    records: Annotated[
        TableSource,
        Option("One row per person: the lowest area (unit), and a column per attribute.", "FILE", reads=Path),
    ]
    _: KW_ONLY
    units: Annotated[
        TableSource, file_option("All areas: columns unit, level, parent. Default: those of --noisy.")
    ] = None
    noisy: Annotated[
        FilePath | None,
        Option("The numbers drawn: the output of measure, or a noisy table.", "DIR|FILE", reads=Path | None),
    ] = None
    priors: Annotated[
        Sequence[Exact],
        repeated_option(
            "A chance such as 1/10 (default: 1/2), or flat, population, area, or column:NAME of the records; "
            "may be repeated.",
            "P",
            "prior",
        ),
    ] = ("1/2",)
    prior_level: Annotated[
        str | None, Option("With --prior area: whose rates; default: the level above the lowest.", "LEVEL")
    ] = None
    query: Annotated[
        str | None, Option("The query whose cells count; default: the one of most cells.", "QUERY")
    ] = None
    estimates: Annotated[
        bool, Option("Also with what a reader knows after combining all queries, and their estimates.")
    ] = False
    example: Annotated[
        int | None,
        Option(
            "With --noisy: the row of the person whose counts and posteriors are shown. Default: one who is "
            "unique, whom the hierarchy tells most about.",
            "ROW",
        ),
    ] = None
    geocodes: Geocodes = None
    input: RecordInput = None
    id: Identifier = None
    at_most: AtMost = None
    excess: Excess = "refuse"
