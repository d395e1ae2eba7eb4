"""How little noise keeps a promise, in words and tables: variances before and after, saving and proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

from discreet.accounting.account import account
from discreet.accounting.calibration import Calibration, LevelChange, NoiseChange
from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Cell,
    Column,
    Fact,
    Marked,
    Part,
    Sentence,
    Words,
    joined_words,
    sentence,
)
from discreet.answers.best_law import law_parts, law_record, laws_words, sides_table
from discreet.answers.curves import both_curves
from discreet.answers.describing import describes
from discreet.answers.figure import Picture
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style, margin_quantity
from discreet.answers.release import claim_note, claim_text, heading, query_words, scaled_sizes
from discreet.budget.level_names import level_name
from discreet.comparisons.noise_differences import VarianceLine, calibrated_lines
from discreet.errors import InputError
from discreet.numbers import Interval, decimal, float_up
from discreet.promises.best_law import law_choice

_METHODS = {
    "overall": "One factor on all variances.",
    "weights": "Gains shared by the stated weights.",
    "level": "Each level by itself keeps its own promise; nothing is said about all levels together.",
    "margins": "The cheapest noise with the margins of error you want.",
}


@describes(Calibration)
def calibration_answer(calibration: Calibration) -> Answer:
    """Say how little noise is enough, what that saves and its price.

    >>> from discreet.promises.calibrating import calibrate
    >>> from discreet.budget import load
    >>> answer = calibration_answer(calibrate(load("dhc-2022-08-25"), zcdp=True, delta="1e-10"))
    >>> print(answer.summary)
    dhc-2022-08-25-calibrated: 12.280 % less variance, epsilon 21.9851 at delta 1e-10
    """
    variances, law = variance_table(calibrated_lines(calibration)), law_choice(calibration)
    record = {
        "release": calibration.before.name,
        "neighbours": calibration.neighbours,
        "factor": None if calibration.factor is None else float(calibration.factor),
        "reduction": calibration.reduction,
        "epsilon": None if calibration.epsilon is None else float(calibration.epsilon),
        "delta": float(calibration.delta),
        "answer": calibration.claim.document(),
        **({"lower": None, "upper": None} if calibration.proof is None else _ends(calibration.proof)),
        "price": calibration.price,
        "levels": [_level_record(level) for level in calibration.levels],
        "notes": _notes(calibration),
        **({} if calibration.certified is None else {"certified_epsilon": _ends(calibration.certified)}),
        **({} if law is None else {"law": law_record(law)}),
        **({"unproved": calibration.unproved} if calibration.unproved else {}),
    }
    return Answer(
        heading(calibration.before),
        record,
        tuple(_body(calibration, variances)),
        tuple(_facts(calibration)),
        tables={"variances": variances, **({} if law is None else {"laws": sides_table(law)})},
        command=f"discreet calibrate {calibration.before.name}",
        summary=_summary(calibration),
        on_request={"curves": partial(_curves, calibration)},
    )


def _curves(calibration: Calibration) -> Picture:
    """The release before and after."""
    return both_curves(
        *(
            account(release, neighbours=calibration.neighbours)
            for release in (calibration.before, calibration.release)
        )
    )


def saved_text(calibration: Calibration) -> str:
    """Say what one factor does to the variances.

    >>> from discreet.promises.calibrating import calibrate
    >>> from discreet.budget import load
    >>> saved_text(calibrate(load("dhc-2022-08-25"), zcdp=True, delta="1e-10", proof=False))
    '12.280 % less variance'
    """
    least, most = calibration.savings
    few, many = (str(Quantity(part, Style.PERCENT, digits=3)) for part in calibration.savings)
    if few == many:
        return f"{few} less variance" if least >= 0 else f"{_times(1 - least)} times the variance"
    if least >= 0:
        return f"{few.removesuffix(' %')} to {many} less variance"
    least_times, most_times = (str(_times(1 - part)) for part in (most, least))
    apart = "" if least_times == most_times else f"{least_times} to "
    return f"{apart}{most_times} times the variance"


def saving_fact(calibration: Calibration) -> Fact:
    """Return the part of every variance that could be saved at least.

    >>> from discreet.promises.calibrating import calibrate
    >>> from discreet.budget import load
    >>> fact = saving_fact(calibrate(load("dhc-2022-08-25"), zcdp=True, delta="1e-10", proof=False))
    >>> print(fact.label, fact.value, fact.note)
    Noise to save 12.3 % of every variance
    """
    return Fact("Noise to save", Quantity(calibration.savings[0], Style.PERCENT), "of every variance")


def promise_sentence(calibration: Calibration, zcdp: float) -> Sentence:
    """Say with how little noise zCDP's epsilon can be kept, and what the smallest areas gain.

    >>> from discreet.promises.calibrating import calibrate
    >>> from discreet.budget import load
    >>> found = calibrate(load("dhc-2022-08-25"), zcdp=True, delta="1e-10", proof=False)
    >>> print(promise_sentence(found, 21.9851))
    With zCDP's epsilon of 21.9851 as the promise, noise with 12.280 % less variance is enough. The margin \
of the noise of 10 queries of Block would be ± 39 instead of ± 42.
    """
    said = sentence(
        "With zCDP's epsilon of {zcdp} as the promise, noise with {saved} is enough.",
        zcdp=Quantity(zcdp),
        saved=saved_text(calibration),
    )
    lines = calibrated_lines(calibration)
    if not lines:
        return said
    alike = [line for line in lines if line.level == lines[-1].level]
    common = max(alike, key=lambda line: len(line.queries))
    before, after = map(margin_quantity, common.margins)
    return sentence(
        "{said} The margin of the noise of {queries} of {level} would be ± {after}{instead}.",
        said=said,
        queries=common.queries[0] if len(common.queries) == 1 else f"{len(common.queries)} queries",
        level=level_name(common.level),
        after=after,
        instead=", as it is now" if after == before else f" instead of ± {before}",
    )


def kept_epsilon(calibration: Calibration) -> float:
    """Return the epsilon that a calibration keeps; refused where each level keeps its own.

    >>> from discreet.promises.calibrating import calibrate
    >>> from discreet.budget import load
    >>> release = load("dhc-2022-08-25")
    >>> kept_epsilon(calibrate(release, epsilon=20, delta="1e-10", proof=False))
    20.0
    """
    if calibration.epsilon is None:
        raise InputError("each level was calibrated by itself: no epsilon is that of the whole release")
    return float(calibration.epsilon)


def proof_sentence(calibration: Calibration) -> Sentence:
    """Say what one factor on all noise saves, and what is proved of it.

    >>> from discreet.promises.calibrating import calibrate
    >>> from discreet.budget import load
    >>> print(proof_sentence(calibrate(load("dhc-2022-08-25"), zcdp=True, delta="1e-10")))
    All variances times 0.877203: 12.280 % less variance. Proved: at epsilon 21.9851 the true delta lies \
between 9.9996887E-11 and 9.9996888E-11.
    """
    lower, upper = Quantity(calibration.proof, digits=6).ends
    return sentence(
        "All {sizes} times {factor}: {saved}. Proved: at epsilon {epsilon} the true delta lies between "
        "{lower} and {upper}.",
        sizes=scaled_sizes(calibration.release),
        factor=Quantity(calibration.factor, Style.EXACT),
        saved=saved_text(calibration),
        epsilon=Quantity(kept_epsilon(calibration)),
        lower=lower,
        upper=upper,
    )


def least_budget_sentence(calibration: Calibration, zcdp: float, rho_before: Fraction) -> Sentence:
    """Say what the cheapest noise with wanted margins costs; `zcdp` is its epsilon by zCDP.

    >>> from discreet.promises.calibrating import calibrate
    >>> from discreet.budget import load
    >>> release = load("dhc-2022-08-25")
    >>> found = calibrate(release, moe={"Block": "50"}, delta="1e-10", proof=False)
    >>> print(least_budget_sentence(found, 21.9734, release.rho))
    rho 3.64658 (now 3.65): the exact epsilon is 20.3133, zCDP 21.9734.
    """
    release = calibration.release
    rho = sum((level.spent(release.neighbours) for level in release.levels), Fraction(0))
    return sentence(
        "rho {rho} (now {before}): {stated}, zCDP {zcdp}.",
        rho=Quantity(rho, Style.EXACT),
        before=Quantity(rho_before, Style.EXACT),
        stated=Claimed.by(calibration.claim, kept_epsilon(calibration)).states("epsilon"),
        zcdp=Quantity(zcdp),
    )


def _times(factor: float) -> Quantity:
    return Quantity(factor, Style.BRIEF)


def _notes(calibration: Calibration) -> list[str]:
    merged = calibration.by == "level" and len(calibration.before.paths) > 1
    return [_METHODS[calibration.by], *(["Spines with merged levels are not covered."] if merged else [])]


def _ends(box: Interval) -> dict[str, float]:
    """Both ends as floats, rounded outward."""
    return {"lower": -float_up(-box.lower), "upper": float_up(box.upper)}


def _level_record(level: LevelChange) -> dict[str, object]:
    return {
        "name": level.name,
        "factor": float(level.factor),
        "before": float(level.before),
        "after": float(level.after),
        **({} if level.epsilon is None else {"epsilon": float(level.epsilon)}),
        "queries": [_query_record(query) for query in level.queries],
    }


def _query_record(query: NoiseChange) -> dict[str, object]:
    before, after = query.texts
    return {"name": query.name, "before": before, "after": after, "margins": list(query.margins)}


def _margin(margin: float, sign: str) -> Cell:
    """Write a margin in a table; whole numbers without a sign stay numbers."""
    if sign:
        return sentence(sign + "{margin}", margin=margin_quantity(margin))
    return margin if isinstance(margin, int) else margin_quantity(margin)


def variance_table(lines: Sequence[VarianceLine], *, named: int = 1, sign: str = "") -> AnswerTable:
    """Return noise before and after; up to `named` queries that change alike are named in their line.

    >>> line = VarianceLine("State", ("total", "age"), Fraction(8), Fraction(6), (6, 5))
    >>> variance_table([line], named=2, sign="± ").cells[0][1:]
    ['total · age', '8', '6', '2.828', '2.449', '± 6', '± 5', '-25.00 %']
    """
    columns = (
        Column("level", "level", is_text=True),
        Column("query", "query", is_text=True),
        Column("variance", "variance"),
        Column("new", "new_variance"),
        Column("std. dev.", "sd"),
        Column("new", "new_sd"),
        Column("95 % margin", "margin95"),
        Column("new", "new_margin95"),
        Column("variance change", "change"),
    )
    rows = tuple(
        (
            level_name(line.level),
            query_words(line.queries, most=named),
            *(Quantity(variance, Style.BRIEF) for variance in (line.before, line.after)),
            *(Quantity(deviation, Style.BRIEF, digits=4) for deviation in line.deviations),
            *(_margin(margin, sign) for margin in line.margins),
            Quantity(line.change, Style.PERCENT_CHANGE),
        )
        for line in lines
    )
    return AnswerTable(columns, rows, groups=True)


def _facts(calibration: Calibration) -> Iterator[Fact]:
    delta = Quantity(calibration.delta, Style.GIVEN)
    if calibration.reduction is not None:
        yield Fact("Variance saved", Quantity(calibration.reduction, Style.PERCENT), saved_text(calibration))
    if calibration.epsilon is not None:
        yield Fact(f"Epsilon at delta {delta}", _promise(calibration), calibration.claim.kind.label)


def _promise(calibration: Calibration) -> Claimed:
    return Claimed.by(
        calibration.claim, calibration.epsilon or Fraction(0), Style.GIVEN, kind=NumberKind.AT_MOST, digits=8
    )


def _summary(calibration: Calibration) -> Sentence:
    saved = "" if calibration.factor is None else f"{saved_text(calibration)}, "
    promise = "each level's own promise"
    alone = ""
    if calibration.epsilon is not None:
        promise = f"epsilon {Quantity(calibration.epsilon, Style.BRIEF)}"
        alone = "each level by itself: " if calibration.by == "level" else ""
    return sentence(
        "{name}: {what} at delta {delta}",
        name=calibration.release.name,
        what=f"{alone}{saved}{promise}",
        delta=Quantity(calibration.delta, Style.BRIEF, digits=3),
    )


def _body(calibration: Calibration, variances: AnswerTable) -> Iterator[Part]:
    promised: dict[str, Quantity | str] = {
        "delta": Quantity(calibration.delta, Style.GIVEN),
        "epsilon": _promise(calibration),
    }
    yield heading(calibration.before)
    which, notes = calibration.neighbours.capitalize(), " ".join(_notes(calibration))
    yield sentence("{which} neighbours, delta {delta}. {notes}", which=which, notes=notes, **promised)
    yield ""
    yield variances
    yield ""
    yield from _kept(calibration)
    law = law_choice(calibration)
    if law is not None:
        yield from law_parts(law)
    if claim_note(calibration.claim):
        yield claim_text(calibration.claim)
    yield from _proofs(calibration, promised)
    yield from _price(calibration)


def _kept(calibration: Calibration) -> Iterator[Sentence]:
    """Say which promise the new noise keeps, and what that saves."""
    promised = {"delta": Quantity(calibration.delta, Style.GIVEN), "epsilon": _promise(calibration)}
    law = law_choice(calibration)
    if calibration.factor is not None and law is not None:
        yield sentence(
            "{law} noise, all variances times {factor}, scales rounded up: {saved} for epsilon {epsilon} at "
            "delta {delta}.",
            law=_capital(laws_words(law)),
            factor=Quantity(calibration.factor, Style.BRIEF, digits=7),
            saved=saved_text(calibration),
            **promised,
        )
    elif calibration.factor is not None:
        has_scales = any(level.lacks_rho for level in calibration.before.levels)
        yield sentence(
            "All {sizes} times {factor}{rounded}: {saved} for epsilon {epsilon} at delta {delta}.",
            sizes=scaled_sizes(calibration.release),
            factor=Quantity(calibration.factor, Style.FRACTION),
            rounded=", scales rounded up to six digits" if has_scales else "",
            saved=saved_text(calibration),
            **promised,
        )
    elif calibration.epsilon is not None:
        who = "Each level alone" if calibration.by == "level" else "The new release"
        yield sentence("{who} keeps epsilon {epsilon} at delta {delta}.", who=who, **promised)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _price(calibration: Calibration) -> Iterator[Sentence]:
    """Say below which delta the old noise promised more."""
    if calibration.price is not None:
        alone = calibration.by == "level"
        which = "may be the better one at some level" if alone else "was the better one"  # levels cross apart
        yield sentence(
            "The price: below delta {price} the zCDP promise of the old noise {which} (less noise costs more "
            "in the far tail).",
            price=Quantity(calibration.price, Style.GIVEN, digits=3),
            which=which,
        )


def _proofs(calibration: Calibration, promised: dict[str, Quantity | str]) -> Iterator[Sentence]:
    if calibration.proof is not None and calibration.by == "level":
        yield sentence(
            "Proved: the true delta of each level at its promise is at most {most}, not above {delta}.",
            most=decimal(calibration.proof.upper, down=False),
            **promised,
        )
    elif calibration.proof is not None:
        text = "Proved: the true delta there lies in {ends}, not above {delta}."
        yield sentence(text, ends=str(calibration.proof), **promised)
    elif calibration.unproved:
        yield sentence(
            "Not proved, but computed for all cases, rounded up: {why}.", why=calibration.unproved, **promised
        )
    if calibration.certified is not None:
        text = "Proved: the exact epsilon of the new release at delta {delta} lies in {ends}."
        yield sentence(text, ends=str(calibration.certified), **promised)


# -- as a report shows it ---------------------------------------------------------------------------------

_ENOUGH = {
    "level": "level",
    "query": "query",
    "variance": "variance",
    "new_variance": "enough",
    "margin95": "margin of error",
    "new_margin95": "enough",
}


def savings_section(
    calibration: Calibration | None, *, unsaved: str = "", proof: Marked | None = None
) -> Answer:
    """Say how little noise would keep zCDP's promise, or why that is not said.

    >>> print(savings_section(None, unsaved="no noise is enough").body[0])
    No saving is stated here: no noise is enough.
    """
    title = "Noise that could be saved"
    if calibration is None:
        return Answer(title, body=(f"No saving is stated here: {unsaved}.",))
    proved = (
        [] if proof is None else [sentence("Proof: the true delta there satisfies {proof}.", proof=proof)]
    )
    said: list[Words] = [
        "The promise that zCDP makes can be kept with less noise.",
        *_kept(calibration),
        *proved,
        *_price(calibration),
    ]
    table = variance_table(calibrated_lines(calibration), named=3, sign="± ")
    lines = [table.taking(_ENOUGH, "Noise now, and noise that is enough")] if table.rows else []
    delta = Quantity(calibration.delta, Style.GIVEN)
    command = f"discreet calibrate {calibration.before.name} --zcdp --delta {delta}"
    return Answer(title, body=(joined_words(said), *lines), command=command)
