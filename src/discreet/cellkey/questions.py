"""What is asked of the cell-key method: a perturbation table with wanted properties."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

from discreet.numbers import Exact
from discreet.questions import Option

Zeros = Literal["noisy", "kept", "public"]
"""What becomes of 0: it gets noise as every count does; it stays; or it stays, and is public anyway."""


@dataclass(frozen=True, slots=True, eq=False)
class TableDesigning:
    """What `design_perturbation` takes, and the command `cellkey design`."""

    largest: int
    _: KW_ONLY
    epsilon: Annotated[
        Exact | None, Option("The epsilon of one cell; without it, the least one.", "E", reads=str | None)
    ] = None
    delta: Annotated[
        Exact | None, Option("The delta of one cell; without it, the least one.", "D", reads=str | None)
    ] = None
    variance: Annotated[
        Exact | None,
        Option("The largest variance of a row; without it, the least one.", "V", reads=str | None),
    ] = None
    zeros: Annotated[
        Zeros,
        Option(
            "0 gets noise too, from one row for all counts (noisy, default); it stays 0 (kept); or it stays, "
            "and which cells are empty is public (public).",
            "noisy|kept|public",
        ),
    ] = "noisy"
    small: Annotated[int, Option("No results from 1 to this; default: 0, all may come.", "JS")] = 0
    monotone: Annotated[bool, Option("Probabilities do not rise away from no noise.")] = False
