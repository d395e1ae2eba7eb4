"""Several releases at once: what they cost one person together.

The same person has a path (or a pair of paths) in each release. Releases over the same spine are joined path
by path: the person has the same path in each. The spines of different products combine in every way, since
nobody says which paths go together: that can only be too much. The main paths alone bound nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.accounting.overall import Account
from discreet.budget.levels import RELATIONS, Neighbours, joint_cases
from discreet.budget.release import AnswerKind, Claim, Release
from discreet.errors import InputError

MOST_COMBINATIONS = 200_000


def portfolio(
    releases: Sequence[Release],
    *,
    neighbours: Neighbours | None = None,
    people: int = 1,
    jobs: int = 1,
    all_pairs: bool = True,
) -> Account:
    """The joint account of several releases about the same people.

    Labels of cases are tuples, one label for each release. With `all_pairs=False` only the main case is
    taken, in each release the path with no level merged. The relation is that of the releases, or
    replacement where they were calibrated for different ones.

    >>> from discreet.budget import load
    >>> both = portfolio([load("pl94-2020-persons"), load("dhc-2020")])
    >>> both.pairs, both.main, round(both.epsilon(delta="1e-10"), 3)
    (34056, ((1, 1), (13, 13)), 31.596)
    """
    if not releases:
        raise InputError("a portfolio needs at least one release")
    units = {release.unit for release in releases}
    if len(units) > 1:
        listed = ", ".join(f"{release.name} protects one {release.unit}" for release in releases)
        raise InputError(
            f"these releases cannot be accounted for together: {listed}. A promise about one unit says "
            "nothing about another, since one household holds several people"
        )
    # releases calibrated for different relations are accounted under replacement, the dearer of the two
    relations = {release.neighbours for release in releases}
    relation: Neighbours = neighbours or ("bounded" if "bounded" in relations else "unbounded")
    if relation not in RELATIONS:
        raise InputError(f"neighbours is {relation!r}; it must be 'bounded' or 'unbounded'")
    found = joint_cases(releases, relation, people)
    claims = [release.claim for release in releases]
    if not all_pairs:
        if len(found) > 1:
            claims.append(Claim(AnswerKind.MAIN, ("In each release only the main path is taken.",)))
        found = found.only_main()
    elif len(found) > MOST_COMBINATIONS:
        raise InputError(
            f"these releases have {len(found)} joint cases; at most {MOST_COMBINATIONS} are compared"
        )
    elif sum(len(group) > 1 for group in found.groups) > 1:
        why = "Which paths of different spines go together is not known, so all combinations are taken."
        claims.append(Claim(AnswerKind.BOUND, (why,)))
    return Account(
        " + ".join(release.name for release in releases),
        releases[0].unit,
        relation,
        found,
        found.label(found.main),
        people,
        jobs,
        claim=Claim.of_all(claims),
    )
