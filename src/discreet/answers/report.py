"""A report on a release: a list of answers, from the decision to the release as a file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from importlib.metadata import version
from math import isfinite

from discreet.answers.account import case_text, compared, cost_sentence, proof_words, report_table
from discreet.answers.accuracy import margins_section
from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Bullets,
    Cards,
    Column,
    Fact,
    Heading,
    Illustration,
    Paragraph,
    Part,
    Sentence,
    Verbatim,
    Words,
    joined_words,
    marked,
    sentence,
)
from discreet.answers.best_guess import guess_record, known_table, leading_sentence
from discreet.answers.calibration import kept_epsilon, savings_section
from discreet.answers.changes import changes_section
from discreet.answers.curves import decision_picture
from discreet.answers.decision import Decision, decision_section
from discreet.answers.describing import describes
from discreet.answers.facts import Facts, Misses
from discreet.answers.figure import Picture
from discreet.answers.glossary import glossary_section
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Rounding, Style
from discreet.answers.release import (
    calibrated_for,
    heading,
    parameters_section,
    path_text,
    records,
    relation,
)
from discreet.answers.risk import (
    OF_SUMS,
    belief_sentence,
    chance_words,
    luck_sentence,
    naming_sentence,
    right_percent,
    times_right,
)
from discreet.answers.risk_categories import category_sentence
from discreet.answers.risk_everything import (
    accusing_sentence,
    attribute_table,
    attribute_words,
    detection_panel,
    guess_sentence,
    predictive_panel,
)
from discreet.answers.risk_explain import LOPSIDED
from discreet.answers.sums import has_sums
from discreet.budget import Release, load_preset, preset_names
from discreet.budget.level_names import level_name
from discreet.disclosure.best_guess import best_guess
from discreet.disclosure.profile import DIGITS as RISK_DIGITS
from discreet.disclosure.profile import Risk
from discreet.numbers import DIGITS, Interval, exact_text

_PROVED = 6
"""Digits that both ends of a proof share in sentences and tables; the section on the method has all."""


@describes(Facts)
def report_answer(page: Facts, *, written: Sequence[str] = ()) -> Answer:
    """Say the headline of a report, and into which files it was written.

    >>> from discreet.budget import load
    >>> from discreet.reports.html import gather
    >>> print(*report_answer(gather(load("dhc-2022-08-25"), certify=False, savings=False)).body)
    dhc-2022-08-25: epsilon 20.3247 (exact) at delta 1e-10; the best guess is right at most 91.17 times in \
100 (not certified).
    """
    row, guess, account = page.headline, page.guess, page.account
    epsilon, delta = Claimed.by(page.account.claim, row.epsilon), Quantity(row.delta, Style.GIVEN)
    record: dict[str, object] = {
        "release": account.name,
        "neighbours": account.neighbours,
        "answer": account.claim.document(),
        "delta": delta,
        "epsilon": epsilon,
        "zcdp_epsilon": Quantity(row.zcdp),
        "worst": row.worst,
        "prior": str(page.prior),
        "accuracy": guess.accuracy,
        "best_guess": guess_record(best_guess(page.risk)),
        "reduction": None if page.calibration is None else page.calibration.reduction,
        "certified": page.certified,
    }
    for name, box, digits in (("", row.certified, None), ("accuracy_", guess.certified, RISK_DIGITS)):
        if box is not None:
            lower, upper = map(Decimal, Quantity(box, digits=digits).ends)
            record |= {f"{name}lower": lower, f"{name}upper": upper}
    right = f"{'at most ' if page.risk.is_bound else ''}{times_right(guess)}"
    said = sentence(
        "{name}: epsilon {epsilon} at delta {delta}; the best guess is right {right}{proof}.",
        name=account.name,
        epsilon=epsilon.claimed,
        delta=delta,
        right=right,
        proof="" if page.certified else " (not certified)",
    )
    body: tuple[Part, ...] = (said, f"Written: {', '.join(written)}") if written else (said,)
    facts = (
        Fact(f"epsilon at delta {delta}", epsilon, epsilon.kind.value),
        Fact("best guess right", right, f"prior {page.prior}"),
    )
    return Answer(
        heading(page.release),
        record | ({"files": list(written)} if written else {}),
        body,
        facts,
        command=f"discreet report {account.name}",
        summary=said,
    )


def report_sections(
    facts: Facts, *, before: Facts | None = None, decision: Decision | None = None
) -> dict[str, Answer]:
    """Return the sections of a report by the names that links know them under, in order.

    >>> from discreet.budget import load
    >>> from discreet.reports.html import gather
    >>> list(report_sections(gather(load("dhc-2022-08-25"), certify=False, savings=False)))[:3]
    ['decision', 'record', 'parameters']
    """
    saved, proof = facts.calibration, None
    if saved is not None and saved.proof is not None:
        proof = proof_words(facts.costs, saved.proof, "δ", _PROVED)
    return {
        "decision": _decision(facts),
        "record": decision_section(decision or Decision()),
        **({} if before is None else {"changes": changes_section(facts, before)}),
        "parameters": parameters_section(facts.release),
        "curves": _curves(facts, before),
        "risk": _risk(facts),
        "accuracy": margins_section(facts.release, facts.estimates),
        **(
            {"savings": savings_section(saved, unsaved=facts.unsaved, proof=proof)}
            if saved is not None or facts.unsaved
            else {}
        ),
        "limits": _limits(facts),
        "method": _method(facts, before),
        "glossary": glossary_section(),
        "file": _files(facts, before),
    }


def report_subject(facts: Facts) -> Sentence:
    """Say in one line what a report is about: the release, neighbours, prior and what is claimed.

    >>> from discreet.budget import load
    >>> from discreet.reports.html import gather
    >>> print(report_subject(gather(load("dhc-2022-08-25"), certify=False, savings=False)))
    dhc-2022-08-25 · one person added or removed (unbounded neighbours) · prior 1/2 · exact · not certified
    """
    account = facts.account
    return sentence(
        "{name} · {who} ({which} neighbours) · prior {prior} · {kind} · {certified}",
        name=marked(marked(facts.release.name, "name"), "code"),
        who=relation(account.neighbours, account.unit, account.people),
        which=account.neighbours,
        prior=str(facts.prior),
        kind=facts.kind.value,
        certified="certified" if facts.certified else "not certified",
    )


# -- the decision ------------------------------------------------------------------------------------------


def _decision(page: Facts) -> Answer:
    facts = tuple(_facts(page))
    guess = best_guess(page.risk)
    costs = sentence("{costs}.", costs=_cost_of_all(page))
    body: list[Part] = [
        Paragraph(leading_sentence(guess), role="headline"),
        Paragraph(costs, role="headline"),
    ]
    if page.kind is not NumberKind.EXACT:
        reasons = [marked(reason, "name") for reason in page.account.claim.reasons]
        kind = marked(f"{page.kind.value.capitalize()}.", "strong")
        body.append(Paragraph(joined_words([kind, page.kind.sentence, *reasons]), role="warning"))
    slack = "The usual conversion cannot tell."
    if not isfinite(page.headline.zcdp):
        slack = "zCDP, zero-concentrated differential privacy, is for losses that are finite."
    elif page.headline.epsilon > 0:
        slack = (
            "The difference is neither privacy gained nor privacy lost: the conversion is simply looser. "
            "zCDP is zero-concentrated differential privacy."
        )
    body += [Cards(facts), joined_words([cost_sentence(page.costs, page.headline), slack])]
    if not page.certified:
        why = f" Proofs cannot be had here: {page.unproved.rstrip('.')}." if page.unproved else ""
        unproved = (
            f"This page was made without proofs.{why} Its numbers are floating-point results, good for "
            "discussion; a promise needs the proof."
        )
        body.append(Paragraph(joined_words([marked("Not certified.", "strong"), unproved]), role="warning"))
    if (table := known_table(guess)) is not None:
        body.append(table)
    return Answer("The decision", body=tuple(body), facts=facts)


def _cost_of_all(facts: Facts) -> Sentence:
    """Say what everything together costs; that no epsilon holds where losses may be infinite."""
    account, kind, row = facts.account, facts.kind, facts.headline
    about: dict[str, str | Quantity] = {"who": records(account.unit, account.people)}
    about["delta"] = Quantity(row.delta, Style.GIVEN)
    if not isfinite(row.epsilon):
        return sentence(
            "At delta {delta} {none} holds for {who}: with a larger probability what this release shows "
            "tells two data sets apart for certain",
            none=marked("no epsilon", "strong"),
            **about,
        )
    texts = {
        NumberKind.EXACT: ("an exact epsilon of {epsilon}", "{epsilon}"),
        NumberKind.AT_MOST: ("an epsilon of {epsilon}", "at most {epsilon}"),
    }
    outer, inner = texts.get(kind, (f"an epsilon of {{epsilon}} ({kind.value})", "{epsilon}"))
    epsilon = marked(sentence(inner, epsilon=Claimed.by(facts.account.claim, row.epsilon)), "strong")
    return sentence(
        "Everything in this release together costs {who} {costs} at delta {delta}",
        costs=sentence(outer, epsilon=epsilon),
        **about,
    )


def _target(facts: Facts) -> str:
    unit, people = facts.account.unit, facts.account.people
    return f"this {unit}" if people == 1 else f"these {records(unit, people)}"


def _odds(facts: Facts) -> str:
    if facts.prior * 2 == 1:
        return "considers both answers equally likely"
    return f"gives one of the two answers {chance_words(facts.prior)}"


def _unaided(facts: Facts, unit: str = "") -> Quantity:
    """How often the best guess is right with nothing published."""
    return Quantity(max(facts.prior, 1 - facts.prior), Style.HUNDRED, unit=unit)


def _facts(facts: Facts) -> Iterator[Fact]:
    row, kind, bound = facts.headline, facts.kind, facts.risk.is_bound
    before, after = kind.column("#").split("#")
    label = sentence(
        "{before}{term}{after}, delta {delta}",
        before=before.capitalize(),
        term=marked("epsilon" if before else "Epsilon", "term"),
        after=after,
        delta=Quantity(row.delta, Style.GIVEN),
    )
    note: str | Sentence = ""
    if row.certified is not None and bound:
        most = Quantity(row.certified.upper, Style.GIVEN, Rounding.UP)
        note = sentence("Safe to promise: {most}", most=most)
    yield Fact(
        label, Claimed.by(facts.account.claim, row.epsilon), note, _proof(facts, row.certified, "ε", _PROVED)
    )
    yield Fact(
        "Best guess of any adversary" if bound else f"Best guess, {kind.value}",
        right_percent(facts.guess, unit="%"),
        sentence("Without the release: {unaided}", unaided=_unaided(facts, "%")),
        _proof(facts, facts.guess.certified, "chance", RISK_DIGITS),
    )
    saved = facts.calibration
    if saved is not None and saved.factor is not None:
        promise = Quantity(kept_epsilon(saved))
        yield Fact(
            "Variance that could be saved",
            Quantity(saved.reduction, Style.PERCENT),
            sentence("And still keep epsilon {epsilon}, what zCDP states", epsilon=promise),
            _proof(facts, saved.proof, "δ", _PROVED),
        )


def _proof(facts: Facts, box: Interval | None, name: str, digits: int | None = None) -> Sentence:
    if box is None:
        return joined_words([marked("Not certified", "quiet")])
    return joined_words([marked("Certified: ", "quiet"), proof_words(facts.costs, box, name, digits)], "")


# -- the curves --------------------------------------------------------------------------------------------

_PANELS = ("profile", "tradeoff")


def _curves(facts: Facts, before: Facts | None) -> Answer:
    account, row = facts.account, facts.headline
    read = (
        "In the first figure lower is better: it shows the delta needed at each epsilon. In the second, "
        "higher is better: an adversary who accepts few false alarms must miss many true cases. The straight "
        "line from corner to corner would be perfect privacy."
    )
    body: list[Part] = [
        read,
        *_illustrations(facts, before),
        report_table(facts.costs, facts.gaussian, digits=_PROVED),
    ]
    figures = {name: partial(_panel, facts, before, number) for number, name in enumerate(_PANELS)}
    if account.pairs > 1:
        said = sentence(
            "{compared}. At delta {delta} the worst {which} is {worst}; the numbers above hold for the worst "
            "one at each delta. Levels joined by a plus are merged: the upper one spends the budget of all.",
            compared=compared(account),
            delta=Quantity(row.delta, Style.GIVEN),
            which="path" if account.neighbours == "unbounded" else "pair",
            worst=case_text(row.worst),
        )
        paths = sorted({path for point in facts.rows for path in point.paths})
        named = [(path, marked(path_text(facts.release, path), "name")) for path in paths]
        items = [sentence("Path {path}: {levels}", path=str(path), levels=levels) for path, levels in named]
        body += [said, Bullets(tuple(items), "plain")]
    return Answer("How much privacy is lost", body=tuple(body), figures=figures)


def _panel(facts: Facts, before: Facts | None, number: int) -> Picture:
    """One of the two pictures: the privacy profile or the trade-off curve."""
    both = decision_picture(
        facts.drawn,
        facts.gaussian,
        at=(facts.headline.epsilon, facts.headline.delta),
        before=None if before is None else before.drawn,
    )
    return Picture((replace(both.panels[number], title=""),), size=(5.2, 4.2))


def _illustrations(facts: Facts, before: Facts | None) -> Iterator[Illustration]:
    row, miss = facts.headline, facts.accuser
    profile, tradeoff = _PANELS
    high = max(float(each.drawn.profile.epsilon[-1]) for each in (facts, before) if each is not None)
    was = ""
    if before is not None:
        was = f" Before, it was at {Claimed.by(before.account.claim, before.headline.epsilon).claimed}."
    yield Illustration(
        profile,
        "Privacy profile",
        sentence(
            "Delta, on a logarithmic scale from 1 to 1e-21, against epsilon from 0 to {high}. All curves "
            "fall. At delta {delta} the curve of this release is at epsilon {epsilon}{zcdp}.{was}",
            high=Quantity(high, digits=3),
            delta=Quantity(row.delta, Style.GIVEN),
            epsilon=Claimed.by(facts.account.claim, row.epsilon).claimed,
            zcdp=sentence(" and the zCDP bound at {zcdp}", zcdp=Quantity(row.zcdp))
            if isfinite(row.zcdp)
            else "",
            was=was,
        ),
        "The privacy profile. The dot is the headline. Where two lines overlap, they agree.",
    )
    yield Illustration(
        tradeoff,
        "Trade-off curve",
        sentence(
            "True cases missed against false alarms, both from 0 to 100 percent. The curves fall from the "
            "upper left to the lower right. At 5 percent false alarms the curve of this release is at "
            "{exact} missed{zcdp}.",
            exact=Quantity(miss.exact, Style.PERCENT, digits=2),
            zcdp=""
            if miss.zcdp is None
            else sentence(" and the zCDP bound at {zcdp}", zcdp=Quantity(miss.zcdp, Style.PERCENT, digits=2)),
        ),
        "The trade-off curve: false alarms against true cases missed.",
    )


# -- risk --------------------------------------------------------------------------------------------------


def _risk(facts: Facts) -> Answer:
    averages = joined_words(
        [
            "These are averages over the noise.",
            luck_sentence(facts.risk),
            "The sentences describe what the release adds: what follows from everyone else’s records is not "
            "counted as a loss. They leave out records that change together with this one (a household that "
            "moves) and anything published without noise. Each row is a level of the main path; levels "
            "merged there share a row.",
        ]
    )
    whole = facts.everything
    body: list[Part] = [Bullets(tuple(_adversaries(facts)), "adversaries"), averages]
    body += [*_accusing_curves(), _guesses(facts)]
    if whole.attributes:
        body += [attribute_words(whole), replace(attribute_table(whole), title="What about one attribute?")]
    body.append(_accusers(facts))
    figures = {name: partial(_accusing_panel, facts, name) for name in ("found", "right")}
    return Answer("Risk in plain words", body=tuple(body), figures=figures)


def _accusing_panel(facts: Facts, name: str) -> Picture:
    """Targets found, or the share of those accused who are there, against the rate of wrong accusations."""
    priors = facts.everything.profile.priors
    panel = detection_panel(facts.curve) if name == "found" else predictive_panel(facts.curve, priors)
    return Picture((replace(panel, title=""),), size=(5.2, 4.2))


def _accusing_curves() -> Iterator[Illustration]:
    yield Illustration(
        "found",
        "Present targets found",
        sentence(
            "The largest share of present targets that anyone finds, against the share of others who are "
            "wrongly accused, from one in a million to all. Both axes are logarithmic."
        ),
        "How many present targets anyone can find who accuses few others.",
    )
    yield Illustration(
        "right",
        "Right when accusing",
        sentence(
            "The largest share of those accused who are present, by prior, against the share of others who "
            "are wrongly accused. Both axes are logarithmic."
        ),
        "How many of those accused can be present at most.",
    )


def _adversaries(facts: Facts) -> Iterator[Sentence]:
    account, risk = facts.account, facts.risk
    yield _item("Someone who sees everything.", leading_sentence(best_guess(risk)))
    yield _item("How sure they become.", belief_sentence(risk))
    if facts.guess.baseline >= LOPSIDED:
        yield _item("Whom they would name.", naming_sentence(risk))
    said = (accusing_sentence(facts.everything), guess_sentence(facts.everything))
    for name, text in zip(("Where targets are rare.", "What they would guess."), said, strict=True):
        if text is not None:
            yield _item(name, text)
    if facts.categories is not None:
        yield _item("Which category is theirs.", category_sentence(facts.categories))
    best = max(risk.one_count, key=lambda row: row.advantage)
    yield _item(
        "Someone who sees one count.",
        sentence(
            "This adversary knows everyone else who is counted there, asks whether {this} {are}, and {odds}. "
            "The single count that tells most at even odds is at level “{level}”; from it the guess is right "
            "{times}.",
            this=_target(facts),
            are="is" if account.people == 1 else "are",
            odds=_odds(facts),
            level=level_name(best.scope),
            times=times_right(best),
        ),
    )
    yield _item("Someone who must avoid false accusations.", _accuser(facts, facts.accuser))


def _item(name: str, *said: Words) -> Sentence:
    return joined_words([marked(name, "strong"), *said])


def _accuser(facts: Facts, miss: Misses) -> Sentence:
    """Say how often the truth is missed by someone who must not accuse falsely; a bound is rounded down."""
    least, converted = (Quantity(chance, Style.OFTEN, Rounding.DOWN) for chance in (miss.exact, miss.zcdp))
    never = str(Quantity(0.0, Style.OFTEN, Rounding.DOWN))
    if not facts.risk.is_bound:
        often = Quantity(miss.exact, Style.OFTEN)
        end = sentence(
            "this adversary misses the truth {often} ({kind}).", often=often, kind=facts.kind.value
        )
    elif str(least) == never:
        end = sentence("this adversary may miss the truth {least}.", least=least)
    else:
        end = sentence(
            "whatever method they use, this adversary misses the truth at least {least}.", least=least
        )
    said = sentence("With false alarms in at most 5 of 100 cases, {end}", end=end)
    if miss.zcdp is None or str(converted) == str(least):
        return said
    return joined_words([said, sentence("The usual conversion can promise only {often}.", often=converted)])


def _guesses(facts: Facts) -> AnswerTable:
    columns = (
        Column("who sees only", is_text=True),
        Column("count that tells most at even odds", is_text=True),
        Column("from that count"),
        Column("from all its counts"),
    )
    pairs: Iterator[tuple[Risk, Risk]] = zip(facts.risk.one_count, facts.risk.levels, strict=True)
    rows = [
        (level_name(count.scope), count.query, right_percent(count), right_percent(level))
        for count, level in pairs
    ]
    every, right = (
        marked(quantity, "strong") for quantity in ("Everything published", right_percent(facts.guess))
    )
    title = sentence(
        "How many times in 100 the best guess is right ({unaided} without the release)",
        unaided=_unaided(facts),
    )
    return AnswerTable(columns, (*rows, (every, None, None, right)), str(title))


def _accusers(facts: Facts) -> AnswerTable:
    columns = (
        Column("false alarms, at most", is_text=True),
        Column("this release"),
        Column("as zCDP bounds it"),
    )
    rows = tuple(
        (
            Quantity(miss.alpha, Style.OFTEN),
            *(Quantity(chance, Style.PERCENT, Rounding.DOWN) for chance in (miss.exact, miss.zcdp)),
        )
        for miss in facts.misses
    )
    what = "at least" if facts.risk.is_bound else facts.kind.value
    return AnswerTable(columns, rows, f"The two errors of an accuser: the share of true cases missed, {what}")


# -- limits, method and files ------------------------------------------------------------------------------

_ASSUMED = {
    "One cell per table.": (
        "A record is in one count of each query, or in as many as the column “counted” says. A record that "
        "is counted more often loses more."
    ),
    "Only what is listed.": (
        "Counts published without noise, edits before the noise, which tables exist at all, and other "
        "releases are not part of these numbers. Databases that differ in a count published without noise "
        "can be told apart with certainty, whatever epsilon says."
    ),
    "Good noise.": (
        "Exact discrete noise, independent from count to count, from a source that cannot be guessed."
    ),
    "Post-processing is free.": (
        "Anything computed from the noisy counts alone costs nothing more, including least squares across "
        "levels and rounding."
    ),
    "One record.": "Members of a family are several records. Together they lose more than each alone.",
    "The worst case.": (
        "Every number is about the record that loses most on the worst path. Most lose less."
    ),
}


def _limits(facts: Facts) -> Answer:
    release, account = facts.release, facts.account
    items = [_item(name, text) for name, text in _ASSUMED.items()]
    if has_sums(release):
        items.append(
            _item("Bounded amounts.", "A record adds to a sum at most what its bound allows. " + OF_SUMS)
        )
    if release.neighbours != account.neighbours:
        items.append(
            _item(
                "Other neighbours.",
                f"The noise was {calibrated_for(release)}; this page is about {account.neighbours} "
                "neighbours.",
            )
        )
    notes = (*release.claim.reasons, *release.notes)
    items += [_item("Note on this release.", marked(note, "name")) for note in notes]
    body: list[Part] = [Bullets(tuple(items))]
    if release.sources:
        body += [
            Heading("Sources"),
            Bullets(tuple(joined_words([marked(source, "name")]) for source in release.sources)),
        ]
    return Answer("Assumptions and limits", body=tuple(body))


def _method(facts: Facts, before: Facts | None) -> Answer:
    is_exact = facts.account.case_set.method == "transform"
    how = sentence(
        "The privacy loss of all counts together is computed exactly, for every path or pair of paths that a "
        "record may take, {way}; the account is the worst over all of "
        "them. Budgets and variances are exact fractions throughout. Results are printed to {digits} digits; "
        "{error}. {claim}",
        digits=str(DIGITS),
        way="by inverting its characteristic function"
        if is_exact
        else "by listing its values, or on a grid whose law tells at least as much as the true one",
        error="their relative error is at most 10⁻¹¹"
        if is_exact
        else "digits that are not known are left out, and results are rounded to the safe side",
        claim=facts.kind.sentence,
    )
    proofs = "No certified intervals were asked for."
    if facts.certified:
        proofs = (
            "A certified interval comes from ball arithmetic, which tracks every rounding error. Its lower "
            "end holds for the worst case, its upper end for all cases. The chance of being right is 1 − q + "
            "q δ(t), where q is the smaller of the prior and its complement, and t = log((1 − q)/q)."
        )
    full: list[Part] = []
    if facts.certified:
        full.append(_item("With all digits that were proved:", joined_words(_all_digits(facts), "; ")))
    made = (
        f"Made by discreet {version('discreet')}. The same inputs and version give this page byte for byte. "
        "It loads nothing from the network and runs no program."
    )
    commands = Verbatim("\n".join(_commands(facts, before)))
    body: tuple[Part, ...] = (how, proofs, *full, made, "The same numbers from the command line:", commands)
    return Answer("Method and version", body=body)


def _all_digits(facts: Facts) -> Iterator[Sentence]:
    """Every proof on the page, with all the digits that were proved."""
    for row in facts.rows:
        if row.certified is not None:
            box = proof_words(facts.costs, row.certified, "ε")
            yield sentence("at delta {delta} {box}", delta=Quantity(row.delta, Style.GIVEN), box=box)
    if facts.guess.certified is not None:
        box = proof_words(facts.costs, facts.guess.certified, "chance", RISK_DIGITS)
        yield sentence("the best guess {box}", box=box)
    if facts.calibration is not None and facts.calibration.proof is not None:
        box = proof_words(facts.costs, facts.calibration.proof, "δ")
        yield sentence("the noise that is enough {box}", box=box)


def _commands(facts: Facts, before: Facts | None) -> Iterator[str]:
    release, account = facts.release, facts.account
    file = _argument(release, "release.toml")
    about = ""
    if account.neighbours != release.neighbours:
        about = f" --neighbours {account.neighbours}"
    people = f" --people {account.people}" if account.people > 1 else ""
    deltas = "".join(f" --delta {exact_text(delta)}" for delta in facts.deltas)
    certify = " --certify" if facts.certified else ""
    yield f"discreet account {file}{deltas}{about}{people}{certify}"
    if facts.calibration is not None:
        yield f"discreet calibrate {file} --zcdp --delta {exact_text(facts.deltas[0])}{about}"
    if account.people == 1:
        delta = exact_text(facts.deltas[0])  # of the epsilon of each attribute
        yield f"discreet risk explain {file} --prior {facts.prior} --delta {delta}{about}"
    if facts.categories is not None:
        yield f"discreet risk categories {file}"
    if before is not None:
        old = _argument(before.release, "before.toml")
        yield f"discreet compare {old} {file}{deltas}{about}{people}"


def _argument(release: Release, file: str) -> str:
    """The preset's name if it is one, for a shell, or else the file that the report shows at its end."""
    is_preset = release.name in preset_names() and load_preset(release.name) == release
    return shlex.quote(release.name) if is_preset else file


def _files(facts: Facts, before: Facts | None) -> Answer:
    both = [("release.toml", facts.release)]
    both += [] if before is None else [("before.toml", before.release)]
    files = (Verbatim(release.to_toml(input=False), f"{file}: {release.name}") for file, release in both)
    return Answer(
        "The release as a file", body=("Save each under its name, and the commands above read it.", *files)
    )
