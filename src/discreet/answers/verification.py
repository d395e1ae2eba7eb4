"""What came out when a certificate or a claim was checked, in words."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting.certificate import listed, number_text
from discreet.accounting.verification import Verification
from discreet.answers.answer import Answer, Caution, Fact, Paragraph
from discreet.answers.describing import describes
from discreet.answers.release import claim_text, relation
from discreet.numbers import decimal


@describes(Verification)
def verification_answer(found: Verification) -> Answer:
    """Say what was claimed, whether it is proved or refuted, and how.

    >>> from discreet.accounting.verification import verify
    >>> from discreet.budget import load
    >>> answer = verification_answer(verify(load("dhc-2022-08-25"), epsilon=21, delta="1e-10"))
    >>> print(answer.body[0].text, answer.objects["verdict"], sep="\\n")
    dhc-2022-08-25, one person added or removed (unbounded): This is (21, 1e-10)-differentially private.
    proved
    """
    account = found.certificate.account()
    says, verdict = found.certificate.says, found.verdict.capitalize()
    record = {
        "verdict": found.verdict,
        "says": says,
        "reason": found.reason,
        "release": account.name,
        "unit": account.unit,
        "neighbours": account.neighbours,
        "people": account.people,
        "pairs": account.pairs,
        "answer": account.claim.document(),
        "witness": _witness(found),
        "roads": dict(found.roads),
    }
    who = relation(account.neighbours, account.unit, account.people)
    body = (
        Paragraph(f"{account.name}, {who} ({account.neighbours}): {says}"),
        Paragraph(f"{verdict}. {found.reason}"),
    )
    cautions = (Caution(claim_text(account.claim)),) if account.claim.reasons else ()
    facts = (Fact(says, verdict, found.reason),)
    return Answer(account.name, record, body, facts, cautions, summary=f"{verdict}: {says} {found.reason}")


def _witness(found: Verification) -> dict[str, object] | None:
    """The case that decides, and the ends of its delta, rounded outward."""
    if found.case is None or found.epsilon is None or found.delta is None:
        return None
    ends = {
        "lower": decimal(max(found.delta.lower, Fraction(0)), down=True),
        "upper": decimal(found.delta.upper, down=False),
    }
    return {"case": listed(found.case), "epsilon": number_text(found.epsilon), "delta": ends}
