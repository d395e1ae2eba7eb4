"""What an audit of a mechanism found, in words."""

from __future__ import annotations

import math

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Bullets,
    Caution,
    Column,
    Fact,
    Paragraph,
    Part,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.figure import QUIET, Axis, Dots, Item, Line, Panel, Picture, Weight, points
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Rounding, Style
from discreet.audit.looks import Audit, NoiseLook, PointLook
from discreet.audit.power import FOUND, SmallestFault

_KINDS = {
    "tails": "how much noise lies in the tails",
    "law": "distance from the law",
    "neighbouring cells": "signs of neighbouring cells",
    "neighbouring areas": "signs of neighbouring areas",
    "runs": "signs in one run and the next",
    "tables": "signs on the table and on its neighbour",
    "blocks": "signs of different queries or levels",
    "shift, table": "lean of the changed cells, table",
    "shift, neighbour": "lean of the changed cells, neighbour",
    "area": "distance from the law, area by area",
    "repeats": "runs with the same noise",
    "noiseless": "runs equal to the truth",
    "rows": "runs without a row for each cell",
    "beside": "written files with other columns, order or metadata",
    "written": "numbers written that were not drawn",
    "again": "estimates other than the measurements give",
    "picked": "groups with a larger table (first stage)",
    "dropped": "groups that were dropped",
    "account": "errors at which the account promises too much",
}
_NOT_A_PROOF = (
    "No alarm is not a proof. An audit finds faults that are large for its number of runs; the proof of what "
    "a release costs is its account."
)
_NOTHING_KEPT = "All runs are rehearsals: nothing of them is kept, and nothing is spent."
_OWN = ("measure", "safetab run")
_NO_LAWS = (
    "Only epsilon and delta are promised, so what is judged is statistics chosen on half of the runs, not "
    "the noise. Whether the two tables are neighbours was not checked."
)


@describes(Audit)
def audit_answer(audit: Audit) -> Answer:
    """Say what was run, what was looked at, and what contradicts the promise.

    >>> import numpy as np
    >>> from discreet.audit.looks import audit_promise
    >>> runs = [np.arange(100.0)[:, None] % 7 + side for side in range(2)]
    >>> print(audit_answer(audit_promise(*runs, epsilon=2, delta=0)).summary)
    Nothing is known yet: in 2 x 100 runs of a function none of 34 looks could raise an alarm.
    """
    every, verdict = _looks(audit), "alarm" if audit.alarms else "no alarm"
    if audit.blind == audit.looks:
        verdict = "nothing known"
    record = {
        "verdict": verdict,
        "release": audit.name,
        "mechanism": audit.mechanism,
        "promise": audit.promise,
        "epsilon": Quantity(audit.epsilon, Style.GIVEN),
        "delta": Quantity(audit.delta, Style.GIVEN),
        "runs": audit.runs,
        "written": audit.written,
        "post": audit.post,
        "seed": audit.seed,
        "cells": audit.cells,
        "changed": audit.changed,
        "false_alarm": Quantity(audit.false_alarm, Style.GIVEN),
        "needed": audit.needed,
        "unseen": audit.unseen,
        "looks": every,
        "alarms": _alarms(audit),
        "not_looked_at": _not_looked_at(audit),
        "smallest": _smallest_table(audit),
    }
    headline = _headline(audit)
    body: list[Part] = [Paragraph(headline, role="warning" if audit.alarms else "headline"), _runs(audit), ""]
    body += [_point_table(audit)]
    if audit.noise:
        body += ["", _noise_table(audit)]
    body += ["", _smallest_table(audit), Paragraph(_SIZES), ""]
    body += ["Not looked at:", Bullets(_not_looked_at(audit))]
    cautions = [Caution(_NO_LAWS)] if audit.promise != "laws" else []
    cautions += _blind(audit)
    if audit.unseen:
        cautions.append(
            Caution(
                f"These records do not show the noise of the first stage at {'; '.join(audit.unseen)}: no "
                "group is close enough to a threshold. Records with groups near one would."
            )
        )
    cautions += [] if audit.alarms else [Caution(_NOT_A_PROOF)]
    note = sentence("at most {chance} without a fault", chance=Quantity(audit.false_alarm, Style.GIVEN))
    return Answer(
        f"Audit of {audit.name}",
        record,
        tuple(body),
        (Fact("Alarms", _alarms(audit), note),),
        tuple(cautions),
        {"looks": every},
        summary=headline,
        figures={"points": lambda: _picture(audit)},
    )


def _alarms(audit: Audit) -> Claimed:
    """How many alarms there are, which is true of what was looked at."""
    return Claimed(value=len(audit.alarms), style=Style.COUNT, kind=NumberKind.EXACT, scope=audit.scope)


def _not_looked_at(audit: Audit) -> tuple[str, ...]:
    """What of the mechanism, its tables and its runs no look is about."""
    parts = (part.left_words for part in audit.scope.parts)
    return (*filter(None, parts), *audit.scope.left_out)


def _blind(audit: Audit) -> list[Caution]:
    """Say of which tests no alarm means nothing, since no mechanism could raise one."""
    few = {look.statistic: look.runs[0] for look in audit.points if look.runs[0] < audit.needed}
    cautions = []
    if few.pop("estimates", None) is not None:
        needed, runs = (Quantity(many, Style.COUNT) for many in (audit.needed, audit.written))
        text = (
            f"The test of the estimates says nothing yet: with {runs} written runs it could raise no alarm "
            f"even if they told everything; it needs {needed} (--written). That estimates follow from the "
            "measurements alone is checked all the same."
        )
        cautions.append(Caution(text))
    if few:
        # half of the runs learn a test, and the others are judged
        every = max(audit.needed * (1 if judged == audit.runs else 2) for judged in few.values())
        which = "" if len(few) == len({look.statistic for look in audit.points}) else f" ({', '.join(few)})"
        text = (
            f"The tests that tell the tables apart{which} say nothing yet: with so few runs they could raise "
            f"no alarm even if the mechanism told everything; they need {Quantity(every, Style.COUNT)} "
            "(--runs)."
        )
        cautions.append(Caution(text))
    return cautions


def _headline(audit: Audit) -> str:
    what = audit.mechanism if audit.mechanism in _OWN else f"a {audit.mechanism}"
    runs = f"2 x {Quantity(audit.runs, Style.COUNT)} runs of {what}"
    if audit.alarms:
        return f"ALARM: {len(audit.alarms)} of {audit.looks} looks at {runs} contradict what is promised."
    left = _not_looked_at(audit)
    named = left[0] if len(left) == 1 else f"{len(left)} things, listed below"
    if audit.blind == audit.looks:
        return f"Nothing is known yet: in {runs} none of {audit.looks} looks could raise an alarm."
    few = f", of which {audit.blind} could raise none with so few runs" if audit.blind else ""
    return f"No alarm in {audit.looks} looks at {runs}{few}; not looked at: {named}."


def _runs(audit: Audit) -> Paragraph:
    false_alarm = Quantity(audit.false_alarm, Style.GIVEN)
    text = "A mechanism that keeps its promise raises an alarm with a chance of at most {chance}."
    if audit.mechanism == "safetab run":
        text = "There are {cells} groups, of which {changed} differ. " + text
    elif audit.promise == "laws":
        text = "The tables have {cells} cells, of which {changed} differ. " + text
    if audit.mechanism in _OWN:
        text += f" {_NOTHING_KEPT}"
    if audit.written:
        were = "run on each table was" if audit.written == 1 else "runs on each table were"
        text += f" {{written}} {were} written by {audit.mechanism} and read back."
    return Paragraph(
        sentence(
            text,
            chance=false_alarm,
            cells=Quantity(audit.cells, Style.COUNT),
            changed=Quantity(audit.changed, Style.COUNT),
            written=Quantity(audit.written, Style.COUNT),
        ),
        indent="",
    )


def _share(value: float) -> Quantity:
    return Quantity(value, Style.PERCENT, digits=1)


def _most(value: float) -> Quantity:
    """A share that is an upper bound, rounded up in the places that people see."""
    return Quantity(min(1.0, math.ceil(value * 1000) / 1000), Style.PERCENT, digits=1)


def _least(value: float) -> Quantity:
    return Quantity(math.floor(value * 1000) / 1000, Style.PERCENT, digits=1)


def _rare(chance: float) -> Quantity:
    return Quantity(chance, rounding=Rounding.UP, digits=2)


def _verdict(look: PointLook | NoiseLook) -> str:
    return "ALARM" if look.is_alarm else "ok"


def _point_table(audit: Audit) -> AnswerTable:
    """The points above their thresholds, and every alarm."""
    rows = tuple(
        (
            look.statistic,
            f"{'above' if look.is_above else 'at most'} {Quantity(look.threshold, Style.BRIEF, digits=3)}",
            _share(look.rates[0]),
            _most(look.false_positives),
            _share(look.rates[1]),
            _least(look.true_positives),
            _most(look.bound),
            _verdict(look),
        )
        for look in audit.points
        if look.is_above or look.is_alarm
    )
    columns = (
        Column("test of", is_text=True),
        Column("says neighbour", is_text=True),
        Column("false positives"),
        Column("up to"),
        Column("true positives"),
        Column("from"),
        Column("promised at most"),
        Column("verdict", is_text=True),
    )
    note = (
        "An alarm is a lower band of true positives above what is promised at the upper band of false ones."
    )
    return AnswerTable(columns, rows, "Tests that tell the table from its neighbour", note)


def _noise_table(audit: Audit) -> AnswerTable:
    """The rarest look of each kind, and every alarm."""
    rarest: dict[str, NoiseLook] = {}
    for look in audit.noise:
        if look.kind not in rarest or look.chance < rarest[look.kind].chance:
            rarest[look.kind] = look
    many = {kind: sum(look.kind == kind for look in audit.noise) for kind in rarest}
    rows = tuple(
        (
            _KINDS[kind],
            many[kind],
            sum(look.is_alarm for look in audit.noise if look.kind == kind),
            look.where + (f", {look.size} or more" if look.size else ""),
            Quantity(look.observed, Style.BRIEF, digits=4),
            Quantity(look.expected, Style.BRIEF, digits=4),
            _rare(look.chance),
            _verdict(look),
        )
        for kind, look in rarest.items()
    )
    columns = (
        Column("noise", is_text=True),
        Column("looks"),
        Column("alarms"),
        Column("rarest", is_text=True),
        Column("seen"),
        Column("by law"),
        Column("chance at most"),
        Column("verdict", is_text=True),
    )
    return AnswerTable(columns, rows, "The noise, which is what was measured less the known counts")


def _where(fault: SmallestFault) -> str:
    """Where a fault would have been found: in one test or any of several, in all cells or some of them."""
    if fault.kind == "tells":
        return f"any of the {fault.looks} tests above" if fault.looks > 1 else f"the test of: {fault.where}"
    return fault.where or "all cells"


def _smallest_table(audit: Audit) -> AnswerTable:
    """The smallest faults that would have been found."""
    rows = tuple(
        (
            fault.kind,
            sentence(_FAULTS[fault.kind], where=_where(fault)),
            fault.looks,
            Quantity(fault.size, Style.BRIEF, Rounding.UP, digits=2, missing="none: too few runs"),
        )
        for fault in audit.smallest
    )
    columns = (
        Column(key="kind"),
        Column("fault", "fault", is_text=True),
        Column("looks", "looks"),
        Column("smallest", "size"),
    )
    return AnswerTable(columns, rows, "The smallest faults that these looks would have found", _SIZES)


_SIZES = (
    f"A fault of this size or more would have been found with a chance of at least "
    f"{Quantity(FOUND, Style.PERCENT, digits=0)}. The size is a share of the runs, for a fault that shows in "
    "such a test on the neighbour and never on the table; for noise of another law it is the largest "
    "difference between the distribution functions. There may be smaller faults, and faults in what was not "
    "looked at."
)

_FAULTS = {
    "tells": "a share of runs that gives the table away, in {where}",
    "law": "noise of another law in {where}",
    "area": "noise of another law in one area, {where}",
    "noiseless": "a share of runs without noise in {where}",
}


def _looks(audit: Audit) -> AnswerTable:
    """Every look, for machines and for CSV."""
    keys = (
        "look",
        "where",
        "threshold",
        "trials",
        "seen",
        "expected",
        "chance",
        "false_positives",
        "false_positives_upper",
        "true_positives",
        "true_positives_lower",
        "promised",
        "verdict",
    )
    rows: list[tuple[object, ...]] = [
        (
            look.statistic,
            "above" if look.is_above else "at most",
            look.threshold,
            sum(look.runs),
            *(None,) * 3,
            look.rates[0],
            look.false_positives,
            look.rates[1],
            look.true_positives,
            look.bound,
            _verdict(look),
        )
        for look in audit.points
    ]
    rows += [
        (
            look.kind,
            look.where,
            look.size or None,
            look.trials,
            look.observed,
            look.expected,
            look.chance,
            *(None,) * 5,
            _verdict(look),
        )
        for look in audit.noise
    ]
    return AnswerTable(tuple(Column(key, key) for key in keys), tuple(rows), "Looks")


def _picture(audit: Audit) -> Picture:
    """The points with their bands, beside the most that is promised."""
    shown = [look for look in audit.points if look.is_above]
    bands, dots = [], []
    for rank, statistic in enumerate(dict.fromkeys(look.statistic for look in shown), start=1):
        mine = [look for look in shown if look.statistic == statistic]
        for look in mine:
            (x, y), right, low = look.rates, look.false_positives, look.true_positives
            bands.append(Line(points([right, x, x], [y, y, low]), place=rank, weight=Weight.LIGHT))
        dots.append(Dots(points(*zip(*(look.rates for look in mine), strict=True)), statistic, rank))
    alarms = [look.rates for look in shown if look.is_alarm]
    if alarms:
        dots.append(Dots(points(*zip(*alarms, strict=True)), "alarm", 0, is_marked=True))
    across, up = Axis("false positives", 0, 1), Axis("true positives", 0, 1)
    items: tuple[Item, ...] = (
        Line(points([0, 1], [0, 1]), "guessing", QUIET),
        Line(audit.curve, "promised at most"),
        *bands,
        *dots,
    )
    caption = (
        "Rates of false and true positives of each test, with lines to the ends of their bands, and "
        "the curve that no test may lie above."
    )
    return Picture((Panel(across, up, items),), f"Audit of {audit.name}", caption)
