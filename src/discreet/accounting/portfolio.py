"""Several releases at once: what they cost one person together.

The same person has a path (or a pair of paths) in each release, and the spines of different products
combine in every way. All of the combinations are the truth; the combination of the main ones is quick and
close to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from discreet.accounting.overall import Account
from discreet.budget.answer import AnswerKind, Claim
from discreet.budget.events import Event, grouped
from discreet.budget.neighbours import RELATIONS, Neighbours, cases
from discreet.budget.release import Release
from discreet.errors import InputError

MOST_COMBINATIONS = 200_000


def portfolio(
    releases: Sequence[Release],
    *,
    neighbours: Neighbours | None = None,
    people: int = 1,
    jobs: int = 1,
    all_pairs: bool = False,
) -> Account:
    """The joint account of several releases about the same people.

    Labels of cases are tuples, one label for each release. Without `all_pairs` only the main case is taken:
    in each release the path with no level merged. The relation is that of the releases, or replacement where
    they were calibrated for different ones.

    >>> from discreet.budget import load
    >>> both = portfolio([load("pl94-2020-persons"), load("dhc-2020")])
    >>> both.main, round(both.epsilon(delta="1e-10"), 3)
    (((1, 1), (13, 13)), 31.596)
    """
    if not releases:
        raise InputError("a portfolio needs at least one release")
    units = {release.unit for release in releases}
    if len(units) > 1:
        found = ", ".join(f"{release.name} protects one {release.unit}" for release in releases)
        raise InputError(
            f"these releases cannot be accounted together: {found}. A promise about one unit says nothing "
            "about another, since one household holds several people"
        )
    # releases calibrated for different relations are accounted under replacement, the dearer of the two
    relations = {release.neighbours for release in releases}
    relation: Neighbours = neighbours or ("bounded" if "bounded" in relations else "unbounded")
    if relation not in RELATIONS:
        raise InputError(f"neighbours is {relation!r}; it must be 'bounded' or 'unbounded'")
    labels, found_cases = [], []
    for release in releases:
        main = (release.main, release.main) if relation == "bounded" else (release.main,)
        labels.append(main)
        listed = cases(release, relation, people)
        found_cases.append(listed if all_pairs else [case for case in listed if case[0] == main])
    count = 1
    for listed in found_cases:
        count *= len(listed)
    if count > MOST_COMBINATIONS:
        raise InputError(f"these releases have {count} joint cases; at most {MOST_COMBINATIONS} are compared")
    joint = []
    for combination in product(*found_cases):
        events: list[Event] = []
        for _, part in combination:
            events += part
        joint.append((tuple(label for label, _ in combination), grouped(events)))
    claims = [release.claim for release in releases]
    if not all_pairs and any(len(release.paths) > 1 for release in releases):
        claims.append(
            Claim(AnswerKind.MAIN, ("In each release only the path that merges nothing is taken.",))
        )
    return Account(
        " + ".join(release.name for release in releases),
        releases[0].unit,
        relation,
        joint,
        tuple(labels),
        people,
        jobs,
        claim=Claim.of_all(claims),
    )
