"""The terms of a report, explained for those who decide."""

from __future__ import annotations

from discreet.answers.answer import Answer, Glossary

_TERMS = {
    "adversary": (
        "Anyone who tries to find out something about one record. For a bound that holds for all, this one "
        "is given every other record, all published tables and unlimited computing."
    ),
    "budget": (
        "How much privacy a release, a level or a query may cost, here measured as rho. It is divided like "
        "money: twice the budget buys half the variance."
    ),
    "calibration": "Choosing the smallest noise that still keeps a promise.",
    "certified": (
        "Proved by ball arithmetic: the true value lies between the two ends, rounding errors included."
    ),
    "delta": (
        "A small chance for which the promise with epsilon makes an exception. At 1e-10 it is one in ten "
        "billion."
    ),
    "epsilon": (
        "The measure of what is lost: apart from delta, one record makes no outcome of the release more than "
        "e^epsilon times as likely. Smaller is more private. Large values say little by themselves; the "
        "chance of being right says more."
    ),
    "Gaussian DP": (
        "The release treated as if its noise were one continuous bell curve. An approximation that may err "
        "to either side; here for comparison only."
    ),
    "level": "A layer of geography, such as state, county or block, with its own tables.",
    "margin of error": (
        "How far a published count usually is from the true one: at least 95 % of the time no further than "
        "this."
    ),
    "neighbours": (
        "The two versions of the data that must be hard to tell apart. Bounded: one record is replaced by "
        "another. Unbounded: one record is added or removed."
    ),
    "path": (
        "The levels on which one record is counted. An area with a single part is merged with it and their "
        "budgets are spent together, so records on different paths are protected differently."
    ),
    "prior": "The probability that an adversary gives one of the two answers before seeing the release.",
    "query": "One table of counts at one level, each count with its own noise.",
    "rho": (
        "The budget in the zCDP sense: the sum, over all counts that one record takes part in, of a constant "
        "over the variance."
    ),
    "trade-off curve": (
        "For every share of false alarms that an adversary accepts, the share of true cases that must be "
        "missed. It holds all there is to say about a release’s privacy."
    ),
    "variance": (
        "The size of the noise: the average of its square. Its square root is the standard deviation."
    ),
    "zCDP": (
        "Zero-concentrated differential privacy, the accounting in which budgets simply add up. Its "
        "conversion to epsilon (Bun and Steinke 2016) is safe, and larger than the true loss."
    ),
}
"""In the order of the alphabet, whatever the case of letters."""


def glossary_section() -> Answer:
    """Return the terms of a report.

    >>> len(glossary_section().body[0].terms)
    17
    """
    return Answer("Glossary", body=(Glossary(_TERMS),))
