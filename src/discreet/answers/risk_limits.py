"""Noise from limits on risk, in words and tables: each limit, what is proved of it, and the new noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.answers.account import case_text
from discreet.answers.answer import Answer, AnswerTable, Column, Fact, Paragraph, Part, sentence
from discreet.answers.describing import describes
from discreet.answers.quantity import Claimed, Quantity, Rounding, Style
from discreet.answers.release import claim_note, claim_text, relation
from discreet.answers.risk import chance_words
from discreet.budget.level_names import level_name
from discreet.disclosure.limits import RiskCalibration
from discreet.promises.limits import KeptLimit, RiskLimit

_MOST = Rounding.UP


@describes(RiskCalibration)
def risk_calibration_answer(calibrated: RiskCalibration) -> Answer:
    """Say how much noise keeps the limits, and what is proved.

    >>> from discreet.budget import load
    >>> from discreet.disclosure.limits import calibrate_risk
    >>> answer = risk_calibration_answer(calibrate_risk(load("dhc-2022-08-25"), risk=["right=60%,prior=1/2"]))
    >>> [str(fact.value) for fact in answer.facts], answer.objects["limits"][0]["proved_at_most"] <= 0.6
    (['28.4336', '3.14362'], True)
    """
    limits = limits_table(calibrated.kept)
    record = {
        "name": calibrated.before.name,
        "neighbours": calibrated.neighbours,
        "by": calibrated.by,
        "factor": Quantity(calibrated.factor, Style.EXACT),
        "limits": limits,
        "epsilon": calibrated.epsilon,
        "delta": float(calibrated.delta),
        "answer": calibrated.release.claim.document(),
        "smaller_factors_tried": calibrated.tried,
        "levels": _levels(calibrated),
        "release": calibrated.release.to_toml(),
    }
    if calibrated.alone:
        record["alone"] = _alone(calibrated)
    factor = Fact(
        "Factor on all variances",
        Quantity(calibrated.factor, Style.EXACT),
        "the least found that keeps all",
    )
    return Answer(
        calibrated.before.name,
        record,
        tuple(_body(calibrated, limits)),
        (
            *(() if calibrated.factor is None else (factor,)),
            Fact(
                "Epsilon",
                Claimed.by(calibrated.release.claim, calibrated.epsilon),
                f"of the new noise, at delta {Quantity(calibrated.delta, Style.GIVEN)}",
            ),
        ),
        command=f"discreet calibrate {calibrated.before.name} "
        f"--delta {Quantity(calibrated.delta, Style.GIVEN)}",
    )


def _limit_text(limit: RiskLimit) -> str:
    """Write a limit.

    >>> _limit_text(RiskLimit.read("guess=1/2016,most=5%"))
    'a guess of 1 in 2,016 right'
    >>> _limit_text(RiskLimit.read("belief=0.7,prior=1/10,chance=1/20"))
    'a present target believed in above 70 %, prior 1 in 10'
    """
    prior = "" if limit.prior is None else _words(float(limit.prior))
    rate = float(limit.rate or limit.most)
    return {
        "predictive": f"present when accused, prior {prior}, wrongly accused {_words(rate)}",
        "guess": f"a guess of {_words(rate)} right",
        "right": f"right decisions, prior {prior}",
        "belief": f"a present target believed in above {Quantity(100 * rate, Style.BRIEF)} %, prior {prior}",
    }[limit.kind]


def _words(chance: float) -> str:
    return chance_words(chance).removeprefix("a chance of ").replace("an even chance", "1 in 2")


def _body(calibrated: RiskCalibration, limits: AnswerTable) -> Iterator[Part]:
    who = relation(calibrated.neighbours, calibrated.before.unit)
    alone = "with which each level alone" if calibrated.by == "level" else "that"
    yield Paragraph(
        f"{calibrated.before.name}: the least noise found {alone} keeps all limits on risk; {who}."
    )
    if claim_note(calibrated.release.claim):
        yield Paragraph(claim_text(calibrated.release.claim))
    kept = [kept_limit for level in calibrated.alone for kept_limit in level.kept] or calibrated.kept
    yield Paragraph(
        sentence(
            _HOW[calibrated.by]
            + " {proof} for all cases; the new noise has epsilon {epsilon} at delta {delta}.",
            proof="Proved" if all(kept_limit.proved is not None for kept_limit in kept) else "Computed",
            factor=Quantity(calibrated.factor, Style.EXACT),
            epsilon=Claimed.by(calibrated.release.claim, calibrated.epsilon),
            delta=Quantity(calibrated.delta, Style.GIVEN),
        )
    )
    yield ""
    if calibrated.alone:
        yield _alone(calibrated)
        yield ""
        yield "All levels together tell more; the limits are kept by each alone, not by all of them:"
    yield limits
    yield ""
    if not calibrated.alone:
        yield _levels(calibrated)
        yield ""
    yield (
        "Someone who knows every other record, and sees everything published. Guesses are compared with "
        "nobody in the place. A limit on beliefs bounds how often they are exceeded: the belief after one "
        "outcome has no bound."
    )
    if calibrated.is_saw:
        yield (
            "These risks do not fall steadily as noise in whole numbers grows: a little less noise breaks a "
            f"limit, but much less may keep it, and more may break it again. {_tried(calibrated)} What is "
            "said holds for this noise; ask again for any other."
        )


def _tried(calibrated: RiskCalibration) -> str:
    """How many smaller factors were tried."""
    if not calibrated.tried:
        return "Smaller factors were not tried."
    each = " of each level" if calibrated.by == "level" else ""
    return f"Of the smaller factors{each} {calibrated.tried} were tried, and each breaks a limit."


_HOW = {
    "overall": "All variances are multiplied by {factor}.",
    "weights": "The gain is shared by the weights.",
    "level": "Each level has a factor of its own.",
}


def _alone(calibrated: RiskCalibration) -> AnswerTable:
    """Each level alone: its factor, variance and epsilon, and the limit that decides it."""
    columns = (
        Column("level", is_text=True),
        Column(key="level"),
        Column("factor", "factor"),
        Column("usual variance before", "variance_before"),
        Column("now", "variance_after"),
        Column("epsilon alone", "epsilon"),
        Column("decided by", "decided_by", is_text=True),
        Column("limit", "limit"),
        Column("alone", "now"),
        Column("proved, at most", "proved_at_most"),
    )
    rows = []
    for level, change in zip(calibrated.alone, calibrated.levels, strict=True):
        tight = max(level.kept, key=lambda kept_limit: kept_limit.risk / float(kept_limit.limit.most))
        rows.append(
            (
                level_name(level.name),
                level.name,
                Quantity(level.factor, Style.EXACT),
                Quantity(change.before, Style.EXACT),
                Quantity(change.after, Style.EXACT),
                Claimed.by(calibrated.release.claim, level.epsilon),
                _limit_text(tight.limit),
                *_kept_cells(tight),
            )
        )
    return AnswerTable(columns, tuple(rows))


def _kept_cells(kept_limit: KeptLimit) -> tuple[Quantity, Quantity, Quantity]:
    """A limit, the risk now, and what is proved of it."""
    return (
        Quantity(float(kept_limit.limit.most), Style.HUNDRED, unit="%"),
        Quantity(kept_limit.risk, Style.HUNDRED, _MOST, unit="%"),
        Quantity(kept_limit.proved, Style.HUNDRED, _MOST, unit="%", missing="not proved"),
    )


def limits_table(kept: Sequence[KeptLimit]) -> AnswerTable:
    """Return the limits with the risk before and now, and what is proved."""
    columns = (
        Column("risk", "risk", is_text=True),
        Column(key="kind"),
        Column("before", "before"),
        Column("limit", "limit"),
        Column("now", "now"),
        Column("proved, at most", "proved_at_most"),
        Column("worst case", is_text=True),
        Column(key="worst_case"),
    )
    rows = (
        (
            _limit_text(kept_limit.limit),
            kept_limit.limit.kind,
            Quantity(kept_limit.before, Style.HUNDRED, _MOST, unit="%"),
            *_kept_cells(kept_limit),
            case_text(kept_limit.case),
            kept_limit.case,
        )
        for kept_limit in kept
    )
    return AnswerTable(columns, tuple(rows))


def _levels(calibrated: RiskCalibration) -> AnswerTable:
    columns = (
        Column("level", is_text=True),
        Column(key="level"),
        Column("usual variance before", "variance_before"),
        Column("now", "variance_after"),
    )
    rows = (
        (
            level_name(level.name),
            level.name,
            Quantity(level.before, Style.EXACT),
            Quantity(level.after, Style.EXACT),
        )
        for level in calibrated.levels
    )
    return AnswerTable(columns, tuple(rows))
