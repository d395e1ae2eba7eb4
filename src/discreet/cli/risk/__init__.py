"""`discreet risk`: what can be learned about one person, for a stated adversary.

`single`: one noisy count, or several counts of the same person. `hierarchy`: a block and the areas around it,
together. `release` and `explain`: the best any adversary can do with a whole release, as a table and in plain
words. `table`: every row of a released table, and a summary by level. `categories`: which of several cells is
the target's. `records`: everyone in the data, for the curator.
"""

from __future__ import annotations

from discreet.cli import console

app = console.command(
    "risk",
    "COMMAND ...",
    "release pl94-2020 --prior 1/2",
    "single --noisy 1 --rho 0.099 --prior 1/2",
)
