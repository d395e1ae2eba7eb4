"""What a release costs, in words and tables: exact values beside what zCDP says, of one release or of two."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

from discreet.accounting.account import Account, Point, ReleaseAccount
from discreet.accounting.account import account as account_of
from discreet.accounting.privacy_loss import PrivacyLoss
from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Caution,
    Cell,
    Column,
    Fact,
    Marked,
    Paragraph,
    Part,
    Sentence,
    joined_words,
    marked,
    sentence,
)
from discreet.answers.curves import account_picture, both_curves
from discreet.answers.describing import describes
from discreet.answers.figure import Picture
from discreet.answers.quantity import FLOAT_DIGITS, INFINITE, Claimed, NumberKind, Quantity, Style
from discreet.answers.release import (
    calibrated_for,
    cautions,
    heading,
    path_text,
    preset_record,
    relation,
)
from discreet.budget import AnswerKind
from discreet.budget.level_names import find_level, level_name
from discreet.budget.neighbours import CaseLabel
from discreet.comparisons.costs import (
    PrivacyRow,
    PrivacyTable,
    TwoReleases,
    epsilon_rows,
    has_rho,
    usual_zcdp,
)
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.sampling import Sampled, sampled
from discreet.numbers import DIGITS, Interval

_REPORTED = 1e-10
"""The delta that the sentence below the table is about, if it was asked for."""

FEW = 64
"""Cases of an account whose curves are drawn within a second, so that a notebook shows them unasked."""

_FLOOR = 1e-300
"""What lies below is only said to do so."""


@describes(PrivacyTable)
def account_answer(table: PrivacyTable, *, drawn: Sampled | None = None) -> Answer:
    """Say what one release, or several together, cost; with a picture if the curves were sampled.

    >>> from discreet.comparisons.costs import epsilon_rows
    >>> from discreet.accounting.account import account
    >>> from discreet.budget import load
    >>> release = load("dhc-2022-08-25")
    >>> whole = account(release)
    >>> answer = account_answer(PrivacyTable([release], whole, epsilon_rows(whole, ["1e-10"])))
    >>> print(answer.body[-1])
    At delta 1e-10 the exact epsilon is 20.3247, 1.66 (7.6 %) below the 21.9851 of the usual zCDP conversion.
    """
    account, releases = table.account, table.releases
    results = [_results(table, "delta", "epsilon"), _results(table, "epsilon", "delta")]
    notes = tuple(_cautions(table))
    record = {
        "release": account.name,
        "releases": [release.name for release in releases],
        "unit": account.unit,
        "neighbours": account.neighbours,
        "people": account.people,
        "rho": _rho_quantity(account),
        "pairs": account.pairs,
        "answer": account.claim.document(),
        "results": [row for result in results for row in result.objects],
        "cautions": [caution.text for caution in notes],
    }
    relations = _relations(table)
    if relations.rows:
        record["relations"] = relations.objects
    says = account.claim.kind.label
    facts = tuple(
        Fact(
            f"epsilon at delta {_given(row.delta)}",
            _quantity(table, row, "epsilon") if math.isfinite(row.epsilon) else INFINITE,
            says,
        )
        for row in table.by_delta
    )
    body = tuple(_body(table, [result for result in results if result.rows]))
    title = " and ".join(heading(release) for release in releases) or account.name
    names = " ".join(release.name for release in releases)
    command = f"discreet account {names}" if names else ""
    tables = {
        name: result for name, result in zip(("results", "deltas"), results, strict=True) if result.rows
    }
    picture = partial(_curve_picture, table, drawn)
    pictures = {"curves": picture, "profile": partial(picture, 0), "tradeoff": partial(picture, 1)}
    figures, others = ({"curves": picture}, {}) if drawn else ({}, pictures)
    return Answer(title, record, body, facts, notes, tables, command, figures=figures, on_request=others)


def _rho_quantity(account: Account) -> Quantity:
    """Return the rho of an account; none where losses may be infinite.

    >>> from discreet.noise import TableNoise
    >>> print(_rho_quantity(account_of([TableNoise({0: "1/2", 1: "1/2"})])))
    none
    """
    return Quantity(account.rho if has_rho(account) else None, Style.FRACTION, missing="none")


def _curve_picture(table: PrivacyTable, drawn: Sampled | None, panel: int | None = None) -> Picture:
    """Both curves, or one of them; without points the account is sampled first."""
    drawn = drawn or sampled(table.account, usual_zcdp(table.account))
    picture = account_picture(drawn, title=_curve_title(table))
    return picture if panel is None else replace(picture, panels=(picture.panels[panel],), size=None)


def _curve_title(table: PrivacyTable) -> str:
    """Say whose curves they are, and of which path if there are others."""
    account, path = table.account, ""
    if account.pairs == 1 and any(len(release.paths) > 1 for release in table.releases):
        path = f", {'pair' if account.neighbours == 'bounded' else 'path'} {case_text(account.main)}"
    return f"{account.name}{path}: {relation(account.neighbours, account.unit, account.people)}"


def _results(table: PrivacyTable, given: str, asked: str) -> AnswerTable:
    """The rows of one question, for people and for machines."""
    account, kind = table.account, NumberKind.of(table.account.claim.kind)
    rows = table.by_delta if asked == "epsilon" else table.by_epsilon
    certified = any(row.certified is not None for row in rows)
    columns = (
        Column(given, given, is_text=True),
        Column(kind.column(asked)),
        Column(f"zCDP {asked}"),
        Column("difference"),
        Column("worst pair" if account.neighbours == "bounded" else "worst path", is_text=True),
        Column(key=asked),
        Column(key=f"zcdp_{asked}"),
        Column(key="worst"),
        *([Column(key="accuracy")] if account.accuracy is not None else []),
        *([Column(key="lower"), Column(key="upper")] if certified else []),
    )
    cells = _epsilon_cells if asked == "epsilon" else _delta_cells
    lines: list[tuple[Cell, ...]] = []
    for row in rows:
        # JSON has no infinity: at delta 0 null is said where no epsilon holds
        zcdp = row.zcdp if math.isfinite(row.zcdp) else None
        value = _quantity(table, row, asked)
        line: list[Cell] = [*cells(table, row), case_text(row.worst), value, zcdp, row.worst]
        line += [row.accuracy] if account.accuracy is not None else []
        if row.certified is not None:
            line += map(Decimal, Quantity(row.certified, digits=table.digits).ends)
        lines.append(tuple(line))
    return AnswerTable(columns, tuple(lines))


def _given(value: float) -> Quantity:
    return Quantity(value, Style.GIVEN)


def _digits(table: PrivacyTable) -> int:
    return min(table.digits or DIGITS, FLOAT_DIGITS)


def _quantity(table: PrivacyTable, row: PrivacyRow, asked: str) -> Claimed:
    """The number that was asked for, of the kind that the account has."""
    value = row.epsilon if asked == "epsilon" else row.delta
    doubt = row.accuracy * (1.0 if asked == "epsilon" else value)
    return Claimed.by(table.account.claim, value, digits=_digits(table), accuracy=doubt)


def _epsilon_cells(table: PrivacyTable, row: PrivacyRow) -> tuple[Cell, ...]:
    if row.delta == 0:  # zCDP has no epsilon there, and Gaussian noise none either
        pure: Cell = _quantity(table, row, "epsilon") if math.isfinite(row.epsilon) else INFINITE
        return _given(row.delta), pure, INFINITE, None
    if not math.isfinite(row.zcdp):  # losses may be infinite: there is no rho
        exact: Cell = _quantity(table, row, "epsilon") if math.isfinite(row.epsilon) else INFINITE
        return _given(row.delta), exact, INFINITE, None
    gap = row.epsilon - row.zcdp
    less = sentence(
        "{gap} ({share})",
        gap=Quantity(gap, Style.CHANGE, accuracy=row.accuracy),
        share=Quantity(gap / row.zcdp, Style.PERCENT),
    )
    zcdp = Quantity(row.zcdp, digits=_digits(table))
    return _given(row.delta), _quantity(table, row, "epsilon"), zcdp, less


def _delta_cells(table: PrivacyTable, row: PrivacyRow) -> tuple[Cell, ...]:
    exact = row.delta >= _FLOOR or table.account.case(row.worst).log_delta(epsilon=row.epsilon) == -math.inf
    below = f"below {_given(_FLOOR)}"
    times = f"{Quantity(row.zcdp / row.delta, digits=3)} times less" if 0 < row.delta < row.zcdp else None
    return (
        _given(row.epsilon),
        _quantity(table, row, "delta") if exact else below,
        Quantity(row.zcdp, digits=_digits(table)) if row.zcdp >= _FLOOR else below,
        times,
    )


def _body(table: PrivacyTable, results: Sequence[AnswerTable]) -> Iterator[Part]:
    account, releases = table.account, table.releases
    kind = NumberKind.of(account.claim.kind)
    yield from map(Paragraph, [heading(release) for release in releases] or [account.name])
    who = relation(account.neighbours, account.unit, account.people)
    rho = f"zCDP rho{' together' if len(releases) > 1 else ''}"
    yield Paragraph(
        sentence(
            "Neighbours: {who} ({which}). {name} {rho}. {compared}.",
            who=who,
            which=account.neighbours,
            name=rho,
            rho=_rho_quantity(account),
            compared=compared(account),
        )
    )
    for result in results:
        yield ""
        yield result
    if table.relations:
        yield ""
        yield "By what happens in households:"
        yield _relations(table)
    yield from _proofs(table)
    yield ""
    if kind is not NumberKind.EXACT:
        yield kind.sentence
    for row in table.by_delta:
        if row.delta == _REPORTED or len(table.by_delta) == 1:
            yield cost_sentence(table, row)
            break
    if len(table.by_delta) > 1:
        yield from (cost_sentence(table, row) for row in table.by_delta if row.delta == 0)
    if len(releases) == 1 and len(releases[0].paths) > 1:
        for number in sorted({n for row in (*table.by_delta, *table.by_epsilon) for n in row.paths}):
            yield Paragraph(f"Path {number}: {path_text(releases[0], number)}.")


def _relations(table: PrivacyTable) -> AnswerTable:
    """What a release over people and households costs, by what happens in households."""
    kind, unit = NumberKind.of(table.account.claim.kind), table.account.unit
    words = {
        ("bounded", 1): f"one {unit} is replaced, or a person in it changes, comes or goes",
        ("unbounded", 1): f"one {unit} is there or not",
        ("bounded", 2): f"a person moves between two {unit}s",
    }
    deltas = [row.delta for row in table.by_delta]
    columns = (
        Column("what happens", "relation", is_text=True),
        Column(key="neighbours"),
        Column(key="households"),
        Column("zCDP rho"),
        Column(key="rho"),
        *(Column(f"{kind.column('epsilon')} at {_given(delta)}") for delta in deltas),
        Column(key="epsilons"),
    )
    rows = []
    for relation_cost in table.relations:
        epsilons = [
            Claimed.by(relation_cost.claim, epsilon) if math.isfinite(epsilon) else INFINITE
            for epsilon in relation_cost.epsilons
        ]
        finite = [epsilon if math.isfinite(epsilon) else None for epsilon in relation_cost.epsilons]
        rho: tuple[Cell, Cell] = ("none", None)
        if relation_cost.rho is not None:
            rho = Quantity(float(relation_cost.rho)), Quantity(relation_cost.rho, Style.FRACTION)
        rows.append(
            (
                words[relation_cost.neighbours, relation_cost.households],
                relation_cost.neighbours,
                relation_cost.households,
                *rho,
                *epsilons,
                finite,
            )
        )
    return AnswerTable(columns, tuple(rows))


def _proofs(table: PrivacyTable) -> Iterator[Part]:
    questions = (("delta", "epsilon", table.by_delta), ("epsilon", "delta", table.by_epsilon))
    proved = [
        (f"{given} {_given(row.delta if given == 'delta' else row.epsilon)}:", asked, row.certified)
        for given, asked, rows in questions
        for row in rows
        if row.certified is not None
    ]
    if not proved:
        return
    yield ""
    yield "Certified by ball arithmetic, ends rounded outward:"
    width = max(len(at) for at, _, _ in proved)
    of = "bound of " if table.account.claim.kind is AnswerKind.BOUND else ""
    for at, asked, box in proved:
        lower, upper = Quantity(box, digits=table.digits).ends
        yield Paragraph(f"  {at:<{width}}  {lower} <= {of}{asked} <= {upper}", wraps=False)


def cost_sentence(table: PrivacyTable, row: PrivacyRow) -> Sentence:
    """Say what epsilon is at a delta, and how far below the one of the usual conversion.

    >>> from discreet.comparisons.costs import privacy_table
    >>> from discreet.budget import load
    >>> table = privacy_table([load("dhc-2022-08-25")], delta=["1/2"])
    >>> print(cost_sentence(table, table.by_delta[0]))
    At delta 0.5 the exact epsilon is 2.68462, 4.15 (60.7 %) below the 6.83119 of the usual zCDP conversion.
    """
    if not math.isfinite(row.epsilon):
        return sentence(
            "At delta {delta} no epsilon holds: the loss of Gaussian noise has no largest value. "
            "Ask at a delta above 0, such as 1e-10."
            if row.delta == 0
            else "At delta {delta} no epsilon holds: with a larger probability an outcome tells the two "
            "neighbours apart for certain.",
            delta=_given(row.delta),
        )
    epsilon = _quantity(table, row, "epsilon")
    stated: dict[str, Quantity | str] = {"delta": _given(row.delta), "stated": epsilon.states("epsilon")}
    if row.epsilon <= 0:
        return sentence("At delta {delta} {stated}: delta alone covers the whole loss.", **stated)
    if row.delta == 0:
        said = "At delta {delta} {stated}: pure differential privacy. zCDP promises nothing at delta 0."
        return sentence(said, **stated)
    if not math.isfinite(row.zcdp):
        return sentence("At delta {delta} {stated}. zCDP promises nothing: losses may be infinite.", **stated)
    gap = row.zcdp - row.epsilon
    return sentence(
        "At delta {delta} {stated}, {gap} ({share}) below the {zcdp} of the usual zCDP conversion.",
        **stated,
        gap=Quantity(gap, digits=3, accuracy=row.accuracy),
        share=Quantity(gap / row.zcdp, Style.PERCENT),
        zcdp=Quantity(row.zcdp, digits=_digits(table)),
    )


def _cautions(table: PrivacyTable) -> Iterator[Caution]:
    """What limits how the result may be read, with the release that it is about where there are several."""
    if len(table.releases) > 1 and table.account.claim.kind is AnswerKind.MAIN:
        yield Caution(
            "Only the main path of each release is accounted for, the one that merges nothing; "
            "other combinations of paths may cost a little more. --all-pairs compares them all."
        )
    for release in table.releases:
        about = release.name if len(table.releases) > 1 else ""
        if release.neighbours != table.account.neighbours:
            yield Caution(f"The noise was {calibrated_for(release)}.", about)
        own = [name for name in table.account.one_area if find_level(name, [x.name for x in release.levels])]
        claim = release.claim_under(table.account.neighbours, own)
        notes = cautions(release, all_paths=table.account.pairs > 1, claim=claim)
        yield from (Caution(text, about) for text in notes)


# -- an account, and a point of its curve -------------------------------------------------------------------


@describes(Account)
def curve_answer(account: Account) -> Answer:
    """Say what an account costs at the usual deltas.

    >>> from discreet.accounting.account import account
    >>> from discreet.budget import load
    >>> curve_answer(account(load("dhc-2022-08-25"))).facts[1].value.states("epsilon")
    'the exact epsilon is 20.3247'
    """
    release = account.release if isinstance(account, ReleaseAccount) else None
    answer = account_answer(
        PrivacyTable([] if release is None else [release], account, epsilon_rows(account))
    )
    if account.pairs > FEW:
        return answer
    return replace(answer, figures={"curves": answer.on_request["curves"]})


@describes(PrivacyLoss)
def loss_answer(loss: PrivacyLoss) -> Answer:
    """Say what a list of events costs at the usual deltas.

    >>> from discreet.accounting.privacy_loss import compose
    >>> from discreet.noise import DiscreteGaussian
    >>> print(loss_answer(compose([DiscreteGaussian(variance=5, times=10)])).facts[1].value)
    9.60053
    """
    if loss.events:
        return curve_answer(account_of(loss.events))
    return Answer("No events", body=("Nothing is released, so nothing is spent.",))


@describes(Point)
def point_answer(point: Point) -> Answer:
    """Say what a point of the curve is, and which case attains it.

    >>> from discreet.accounting.account import account
    >>> print(*(point_answer(point).summary for point in account("dhc-2020").at_delta("1e-10")))
    epsilon 24.456514 (exact) at delta 1e-10, worst case (6, 6)
    """
    # of an epsilon that was asked for the accuracy is absolute; beside a delta that was it is small
    epsilon = Claimed.by(point.claim, point.epsilon, digits=8, accuracy=point.accuracy)
    if not math.isfinite(point.epsilon):
        said = sentence("no epsilon holds at delta {delta}", delta=_given(point.delta))
        none = {"epsilon": None, "delta": point.delta, "worst": point.worst, "kind": point.kind.value}
        return Answer("A point of the curve", none, (said,), summary=said)
    delta = Quantity(point.delta, Style.BRIEF, digits=8)
    said = sentence(
        "epsilon {epsilon} at delta {delta}, worst case {worst}",
        epsilon=epsilon.claimed,
        delta=delta,
        worst=str(point.worst),
    )
    record = {
        "epsilon": epsilon,
        "delta": delta,
        "worst": point.worst,
        "kind": point.kind.value,
        "accuracy": point.accuracy,
    }
    facts = (Fact(f"epsilon at delta {delta}", epsilon, epsilon.kind.value),)
    return Answer("A point of the curve", record, (said,), facts, summary=said)


# -- two releases side by side -------------------------------------------------------------------------------


@describes(TwoReleases)
def comparison_answer(both: TwoReleases) -> Answer:
    """Say which of two releases promises more, and how their noise differs; their curves on request."""
    sides = (("A", both.a), ("B", both.b))
    notes = tuple(Caution(text, letter) for letter, side in sides for text in cautions(side.releases[0]))
    results, noise = _two_columns(both), _noise(both)
    record = {
        **{
            letter.lower(): preset_record(side.releases[0])
            | {
                "accounted": side.account.neighbours,
                "answer": side.account.claim.document(),
                "accounted_rho": _rho_quantity(side.account),
                "pairs": side.account.pairs,
            }
            for letter, side in sides
        },
        "results": results,
        "variances": noise,
        "comparable": not different_promises(both.a.account, both.b.account),
    }
    title = f"{both.a.account.name} and {both.b.account.name}"
    body = tuple(_comparison_body(both, results, noise))
    command = f"discreet compare {both.a.account.name} {both.b.account.name}"
    tables = {"results": results, "variances": noise}
    curves = {"curves": partial(both_curves, both.a.account, both.b.account)}
    return Answer(title, record, body, (), notes, tables, command, on_request=curves)


def _two_columns(both: TwoReleases) -> AnswerTable:
    kinds = [NumberKind.of(side.account.claim.kind) for side in (both.a, both.b)]
    columns = (
        Column("delta", "delta", is_text=True),
        Column(f"A, {kinds[0].column('epsilon')}"),
        Column(f"B, {kinds[1].column('epsilon')}"),
        Column("B minus A"),
        Column("A, zCDP"),
        Column("B, zCDP"),
        *(Column(key=key) for key in ("a", "b", "difference")),
    )
    lines = []
    for first, second in both.rows:
        gap = second.epsilon - first.epsilon
        lines.append(
            (
                _given(first.delta),
                _quantity(both.a, first, "epsilon"),
                _quantity(both.b, second, "epsilon"),
                Quantity(gap, Style.CHANGE, accuracy=first.accuracy + second.accuracy),
                Quantity(first.zcdp),
                Quantity(second.zcdp),
                *(
                    {"epsilon": Quantity(row.epsilon), "zcdp_epsilon": Quantity(row.zcdp), "worst": row.worst}
                    for row in (first, second)
                ),
                gap if math.isfinite(gap) else None,
            )
        )
    return AnswerTable(columns, tuple(lines))


def _noise(both: TwoReleases) -> AnswerTable:
    columns = (
        Column("level", is_text=True),
        Column(key="level"),
        Column("query", "query", is_text=True),
        Column("A"),
        Column("B"),
        *(Column(key=key) for key in ("a", "b")),
        Column("B / A", "ratio"),
    )
    lines, last = [], ""
    for level, query in both.noise:
        ratio = Quantity(float(query.after / query.before), digits=4)
        sizes = (Quantity(size, Style.BRIEF) for size in (query.before, query.after))
        name = "" if level == last else level_name(level)
        lines.append((name, level, query.name, *sizes, *query.texts, ratio))
        last = level
    return AnswerTable(columns, tuple(lines))


def _comparison_body(both: TwoReleases, results: AnswerTable, noise: AnswerTable) -> Iterator[Part]:
    for letter, side in (("A", both.a), ("B", both.b)):
        account, release = side.account, side.releases[0]
        who = relation(account.neighbours, account.unit, account.people)
        yield Paragraph(f"{letter}: {release.name}. {release.title or release.name}", "   ")
        rho = _rho_quantity(account)
        text = "   {who} ({which} neighbours); zCDP rho {rho}; {compared}"
        words = {"who": who, "which": account.neighbours, "compared": compared(account).lower()}
        yield Paragraph(sentence(text, rho=rho, **words), "   ")
    yield ""
    yield results
    yield ""
    advice = "; --neighbours accounts for both in the same way"
    yield from different_promises(both.a.account, both.b.account, advice=advice)
    yield _verdict(both)
    for letter, side in (("A", both.a), ("B", both.b)):
        kind = NumberKind.of(side.account.claim.kind)
        if kind is not NumberKind.EXACT:
            yield f"{letter}: {kind.sentence}"
    yield ""
    if not noise.rows:
        yield "No level and query have the same names in both."
        return
    yield "Variance of the noise, where level and query have the same names in both:"
    yield noise


def different_promises(
    a: Account, b: Account, names: tuple[str, str] = ("A", "B"), *, advice: str = ""
) -> list[str]:
    """Say why the epsilons of two accounts may not mean the same.

    >>> from discreet.accounting.account import account
    >>> from discreet.budget import load
    >>> different_promises(account(load("dhc-2022-08-25")), account(load("pl94-2020-units")))[1]
    'A protects a person, B a housing unit.'
    """
    first, second = names
    lines = []
    if a.neighbours != b.neighbours:
        lines.append(
            f"{first} is about {a.neighbours} and {second} about {b.neighbours} neighbours, so the two "
            f"epsilons promise different things{advice}."
        )
    if a.unit != b.unit:
        lines.append(f"{first} protects a {a.unit}, {second} a {b.unit}.")
    return lines


def _verdict(both: TwoReleases) -> str | Sentence:
    """Say which of the two promises more."""
    signs = {larger_of(first.epsilon, second.epsilon) for first, second in both.rows}
    if signs == {0}:
        return "Both have the same epsilon at every delta shown, to the digits shown."
    if {1, -1} <= signs:
        return "Neither promises more throughout: which epsilon is smaller depends on delta."
    one, two = next((pair for pair in both.rows if pair[0].delta == _REPORTED), both.rows[0])
    if not (math.isfinite(one.epsilon) and math.isfinite(two.epsilon)):
        return _without_end(both, one.delta)
    a, b = _quantity(both.a, one, "epsilon"), _quantity(both.b, two, "epsilon")
    (lower, small), (higher, large) = (("A", a), ("B", b)) if 1 in signs else (("B", b), ("A", a))
    if small.kind not in (NumberKind.EXACT, NumberKind.AT_MOST) or large.kind is not NumberKind.EXACT:
        return sentence(
            "At delta {delta} A has epsilon {a} and B {b}: these numbers do not show which promises more.",
            delta=_given(one.delta),
            a=a.claimed,
            b=b.claimed,
        )
    gap = abs(two.epsilon - one.epsilon)
    is_bound = small.kind is NumberKind.AT_MOST
    return sentence(
        "At delta {delta} {lower} has epsilon {small}, {least}{gap} ({share}) less than {higher}'s {large}: "
        "{lower} promises more.",
        delta=_given(one.delta),
        lower=lower,
        higher=higher,
        small=small.claimed if is_bound else small,
        least="at least " if is_bound else "",
        gap=Quantity(gap, digits=3, accuracy=one.accuracy + two.accuracy),
        share=Quantity(gap / max(one.epsilon, two.epsilon), Style.PERCENT),
        large=large,
    )


def _without_end(both: TwoReleases, delta: float) -> Sentence:
    """Say which of the two has no epsilon at a delta."""
    first, second = next(pair for pair in both.rows if pair[0].delta == delta)
    lacking, other = ("A", second) if not math.isfinite(first.epsilon) else ("B", first)
    name = "B" if lacking == "A" else "A"
    return sentence(
        "At delta {delta} no epsilon holds for {lacking}: with a larger probability an outcome tells two "
        "neighbours apart for certain. {name} has epsilon {epsilon}: {name} promises more.",
        delta=_given(delta),
        lacking=lacking,
        name=name,
        epsilon=Quantity(other.epsilon),
    )


def larger_of(first: float, second: float) -> int:
    """Return 1 if the second is larger to the digits shown, -1 if the first is, and else 0.

    >>> larger_of(2.5, 2.50000001), larger_of(2.5, 3.0)
    (0, 1)
    """
    if str(Quantity(first)) == str(Quantity(second)):
        return 0
    return 1 if second > first else -1


# -- the table of a report -----------------------------------------------------------------------------------


def report_table(
    table: PrivacyTable, gaussian: GaussianDP | None, *, digits: int | None = None
) -> AnswerTable:
    """Return the epsilons with what is proved of them, and those of Gaussian DP beside zCDP's.

    >>> from discreet.comparisons.costs import privacy_table
    >>> from discreet.budget import load
    >>> table = privacy_table([load("dhc-2022-08-25")], delta=["1e-10"])
    >>> made = report_table(table, GaussianDP(table.account.events(table.account.main)))
    >>> made.cells
    [['1e-10', '20.3247', '21.9851', '-1.6605 (-7.6 %)', '20.3247', '1']]
    """
    every, rows = _results(table, "delta", "epsilon"), table.by_delta
    proofs = [row.certified for row in rows]
    proved = any(box is not None for box in proofs)
    lines = tuple(
        (
            *line[:2],
            *([None if box is None else proof_words(table, box, "ε", digits)] if proved else []),
            *line[2:4],
            None if gaussian is None else Quantity(float(gaussian.epsilon(delta=row.delta))),
            *line[4:],
        )
        for line, row, box in zip(every.rows, rows, proofs, strict=True)
    )
    columns = every.columns
    certified = (Column("certified"),) if proved else ()
    columns = (*columns[:2], *certified, *columns[2:4], Column("Gaussian DP"), *columns[4:])
    return AnswerTable(columns, lines, "Epsilon at several deltas")


def proof_words(table: PrivacyTable, box: Interval, name: str, digits: int | None = None) -> Marked:
    """Write what is proved of a quantity of an account: both ends, or of a bound the upper one.

    >>> from discreet.comparisons.costs import privacy_table
    >>> from discreet.budget import load
    >>> table = privacy_table([load("dhc-2022-08-25")], delta=["1e-10"], certify=True, digits=3)
    >>> print(proof_words(table, table.by_delta[0].certified, "ε", 3))
    20.32 ≤ ε ≤ 20.329
    """
    quantity = Claimed.by(table.account.claim, box, digits=digits)
    return marked(joined_words([marked(end, "whole") for end in quantity.enclosing(name)]), "proof")


# -- words about accounts ------------------------------------------------------------------------------------


def case_text(case: CaseLabel) -> str:
    """Write a case: a pair of paths, a path, or those of several releases.

    >>> case_text((6, 6)), case_text((13,)), case_text(((6, 6), (1, 2)))
    ('(6, 6)', '13', '(6, 6) and (1, 2)')
    """
    if case and isinstance(case[0], tuple):
        return " and ".join(case_text(part) for part in case)
    return str(case[0]) if len(case) == 1 else f"({', '.join(map(str, case))})"


def compared(account: Account) -> str:
    """Say how many cases were compared.

    >>> from discreet.budget import load
    >>> from discreet.accounting.account import account
    >>> compared(account(load("dhc-2020"))), compared(account(load("dhc-2022-08-25")))
    ('946 pairs of paths compared', 'One path')
    """
    single, many = ("One pair of paths", "pairs of paths")
    if isinstance(account.main[0], tuple):
        single, many = ("One combination of paths", "combinations of paths")
    elif account.neighbours == "unbounded":
        single, many = ("One path", "paths")
    return single if account.pairs == 1 else f"{account.pairs} {many} compared"
