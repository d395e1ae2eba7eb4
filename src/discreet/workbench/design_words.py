"""The words of the Tabulation design page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from fractions import Fraction

from discreet.workbench.session_file import delta_text

HELP = {
    "design": "Detailed race and ethnicity tables as the SafeTab-P program makes them: for every region of a "
    "geography and every group a noisy count first picks how much detail the group gets (total, or sex by 4, "
    "9 or 23 ages), then the cells of that table are published with noise. Starts with the design of 2020.",
    "rho": "The privacy budget in the units of zCDP, for one person added or removed. Twice the rho halves "
    "the variances of all counts.",
    "stability": "In how many groups of one region one person can be counted: one for each race that is "
    "counted, at least two, and one for the ethnicity. The noise grows with it: fewer races, less noise.",
    "gamma": "The part of a row's rho that is spent on the first noisy count, which only picks the table. "
    "The rest goes to the cells that are published.",
    "target error": "The 95 % margin of error that a count may have, as a part of the count.",
    "of": "Of the average cell: every cell of the table is about so exact if the people were spread evenly. "
    "Of the whole group: the sum of all cells is.",
    "threshold": "If the first noisy count reaches it, the group gets the next larger table. From the target "
    "error: set so that a group just large enough gets its table 95 times in 100.",
    "suppression": "Below the states most groups are empty, and noise would make people out of nothing. A "
    "group that got a total only is dropped if its noisy count is not above a limit, which is set so that an "
    "empty group is dropped with this chance. 0 drops nothing.",
    "sizes": "From how many people on a group can be shown as a total, and by sex and 4, 9 and 23 ages, with "
    "the target error. Noise of the second stage; thresholds are on the noisy count of the first.",
    "tables": "How often a group of a given true size gets which table: the first noisy count decides.",
    "bias": "Groups are shown when their noise happens to be high, so the totals that are shown are too high "
    "on average. The other line counts a dropped group as zero.",
    "unbounded": "The smallest epsilon for which the promise is true at the chosen delta, when one person is "
    "added or removed. delta is chosen on the Budget page.",
    "bounded": "The same when one person is replaced by another, who may live in the other pass: one removed "
    "and one added.",
    "margin": "The rho with which published cells of this row have the margin you want. By the normal law, "
    "as in the Bureau's spreadsheet: 1.96 standard deviations. Exactly: the least rho with which the integer "
    "noise stays within the margin in 95 of 100 cells.",
    "geometric": "Two-sided geometric noise has heavier tails than discrete Gaussian noise. Both kinds are "
    "made as wide as the margin of this row allows, on the counts of one person in one region.",
}


def command(delta: Fraction, folder: str = "PARAMS") -> str:
    """Return the command line that gives the numbers of the page.

    >>> command(Fraction(1, 10**10))
    'discreet safetab design PARAMS --delta 1e-10'
    """
    return shlex.join(["discreet", "safetab", "design", folder, "--delta", delta_text(delta)])


def cost_words(delta: Fraction, exact: Mapping[str, tuple[float, int]] | None) -> str:
    """Say what the epsilons are of.

    >>> cost_words(Fraction(1, 10**5), {"unbounded": (1.0, 90), "bounded": (2.0, 323)})
    'At delta 1e-5; worst of 90 and 323 mixes of groups with and without a first stage.'
    """
    at = f"At delta {delta_text(delta)}"
    if exact is None:
        return f"{at}; all groups with two stages, groups that get a total only are compared next."
    first, second = (exact[relation][1] for relation in ("unbounded", "bounded"))
    if (first, second) == (1, 1):
        return f"{at}; all groups have two stages."
    return f"{at}; worst of {first} and {second} mixes of groups with and without a first stage."


def rival_words(margin: int, counts: int, gaussian: float, geometric: float) -> str:
    """Say which noise costs less at the same accuracy.

    >>> rival_words(11, 9, 3.17, 2.34)
    'With a margin of ± 11 on 9 counts of one person, geometric noise costs 26.2 % less epsilon than \
discrete Gaussian noise.'
    """
    start = f"With a margin of ± {margin} on {counts} counts of one person,"
    if gaussian <= 0 or geometric <= 0:
        return f"{start} neither kind of noise costs anything that can be told."
    less, more = sorted((gaussian, geometric))
    names = ("discrete Gaussian noise", "geometric noise")
    first, second = names if gaussian <= geometric else names[::-1]
    return f"{start} {first} costs {100 * (1 - less / more):.1f} % less epsilon than {second}."
