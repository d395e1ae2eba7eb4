"""What came out when a certificate or a claim was checked, in words."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from discreet.accounting.certificate import listed, number_text
from discreet.accounting.verification import ErrorBound, Ground, Verification
from discreet.answers.answer import Answer, Caution, Fact, Paragraph
from discreet.answers.describing import describes
from discreet.answers.release import claim_text, relation
from discreet.numbers import decimal


@describes(Verification)
def verification_answer(found: Verification) -> Answer:
    """Say what was claimed, whether it is proved or refuted, and how.

    >>> from discreet.accounting.verification import verify
    >>> from discreet.budget import load
    >>> answer = verification_answer(verify(load("dhc-2022-08-25"), epsilon=60, delta="1e-10"))
    >>> print(answer.body[0].text, answer.objects["verdict"], sep="\\n")
    dhc-2022-08-25, one person added or removed (unbounded): This is (60, 1e-10)-differentially private.
    proved
    """
    account = found.certificate.account()
    says, verdict, reason = found.certificate.says, found.verdict.capitalize(), reason_text(found)
    record = {
        "verdict": found.verdict,
        "says": says,
        "reason": reason,
        "release": account.name,
        "unit": account.unit,
        "neighbours": account.neighbours,
        "people": account.people,
        "pairs": account.pairs,
        "answer": account.claim.document(),
        "witness": _witness(found),
        "roads": dict(found.roads),
        "cases": {"taken": listed(found.certificate.taken), "of": found.certificate.cases_of_all},
        "not_checked": list(found.not_checked),
    }
    who = relation(account.neighbours, account.unit, account.people)
    body: tuple[Paragraph, ...] = (
        Paragraph(f"{account.name}, {who} ({account.neighbours}): {says}"),
        Paragraph(f"{verdict}. {reason}"),
    )
    cautions = (Caution(claim_text(account.claim)),) if account.claim.reasons else ()
    if found.not_checked:
        named = " and ".join(filter(None, (", ".join(found.not_checked[:-1]), found.not_checked[-1])))
        body += (Paragraph(f"Not checked: what the certificate says of its {named}."),)
    facts = (Fact(says, verdict, reason),)
    return Answer(account.name, record, body, facts, cautions, summary=f"{verdict}: {says} {reason}")


def reason_text(found: Verification) -> str:
    """Say what a verdict rests on.

    >>> from discreet.accounting.verification import verify
    >>> from discreet.budget import load
    >>> print(reason_text(verify(load("dhc-2022-08-25"), epsilon=60, delta="1e-10")))
    One case: the bound of zCDP.
    """
    stated, low, high = found.certificate, *_stated_ends(found)
    match found.ground:
        case Ground.SETTLED:
            return f"{_methods(found)} {_test_text(found.test)}".strip()
        case Ground.NO_SCOPE:
            return (
                f"Scope not stated: the numbers hold in the cases taken ({found.compared} of "
                f"{stated.cases_of_all}), but a certificate of format 1 does not say what it covers; make it "
                "anew with this version."
            )
        case Ground.TEST:
            return _test_text(found.test)
        case Ground.NO_START:
            return f"No test was found to start from: {found.trouble}."
        case Ground.NO_TEST:
            return f"No test could be shown to reach the upper end. {_test_text(found.test) or _NOT_ENCLOSED}"
        case Ground.SMALLER:
            return f"{_test_text(found.test)} That is below {low}.{_only_a_bound(found)}"
        case Ground.PERHAPS_SMALLER:
            return "It could not be shown in every case that no test has a smaller type II error."
        case Ground.GUESSING:
            guess = number_text(1 - stated.given)
            return f"The type II error of a test that ignores the data is {guess}, below {low}."
        case Ground.ALL_LARGER:
            assert found.larger is not None
            return (
                f"No test of type I error {number_text(stated.given)} has a type II error below "
                f"{decimal(found.larger, digits=6, down=True).lower()}, which is above {high}."
            )
        case _:
            return _about_delta(found)


_NOT_ENCLOSED = "The values of delta at the points in question could not be enclosed."


def _stated_ends(found: Verification) -> tuple[str, str]:
    ends = found.certificate.interval
    return number_text(ends.lower), number_text(ends.upper)


def _about_delta(found: Verification) -> str:
    """What delta of the witness is, beside what it was compared with."""
    assert found.epsilon is not None
    assert found.delta is not None
    assert found.level is not None
    at, level = f"delta at epsilon {number_text(found.epsilon)}", number_text(found.level)
    most = decimal(found.delta.upper, digits=6, down=False).lower()
    if found.ground is Ground.EXCEEDED:
        least = _decisive(found.delta.lower, found.level)
        return f"In case {found.case} {at} is at least {least}, above {level}.{_only_a_bound(found)}"
    if found.ground is Ground.NOT_REACHED:
        return f"In every case {at} is at most {most}, below {level}: the lower end is too high."
    if found.ground is Ground.PERHAPS_REACHED:
        return f"Whether {at} reaches {level} in case {found.case} could not be shown."
    least = decimal(max(found.delta.lower, Fraction(0)), digits=6, down=True).lower()
    return (
        f"In {found.open_cases} of {found.compared} cases neither side could be proved: in case "
        f"{found.case} {at} is between {least} and {most}."
    )


def _only_a_bound(found: Verification) -> str:
    """That a case decides nothing where the account is an upper bound."""
    if not found.rests_on_a_bound:
        return ""
    return " The account is an upper bound: the release may keep the promise all the same."


def _methods(found: Verification) -> str:
    """How many cases each method has settled."""
    if found.compared == 1:
        return f"One case: {next(iter(found.roads), 'nothing to show')}."
    parts = [f"{road} ({many})" for road, many in Counter(found.roads).most_common()]
    return f"All {found.compared} cases: {', '.join(parts)}."


def _test_text(test: ErrorBound | None) -> str:
    if test is None:
        return ""
    who, has = ("A test in case", "has a type II error of") if len(test.cases) == 1 else ("By cases", "f is")
    cases = " and ".join(map(str, test.cases))
    return f"{who} {cases} {has} at most {decimal(test.beta, digits=12, down=False).lower()} ({test.road})."


def _decisive(value: Fraction, level: Fraction) -> str:
    """A number above a level, rounded down, with enough digits to see that it is above.

    >>> _decisive(Fraction("1.000000001e-10"), Fraction("1e-10")), _decisive(Fraction(2, 3), Fraction(1, 2))
    ('1.000000001e-10', '0.666666')
    """
    digits = next(n for n in range(6, 400) if Fraction(decimal(value, digits=n, down=True)) > level)
    return decimal(value, digits=digits, down=True).lower()


def _witness(found: Verification) -> dict[str, object] | None:
    """The case that decides, and the ends of its delta, rounded outward."""
    if found.case is None or found.epsilon is None or found.delta is None:
        return None
    ends = {
        "lower": decimal(max(found.delta.lower, Fraction(0)), down=True),
        "upper": decimal(found.delta.upper, down=False),
    }
    return {"case": listed(found.case), "epsilon": number_text(found.epsilon), "delta": ends}
