"""The sections of a page about one release: decision, parameters, curves, risk, accuracy, savings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from discreet.budget import Row
from discreet.noise import GaussianNoise, LaplaceNoise
from discreet.numbers import Interval
from discreet.report import words
from discreet.report.html import pictures, sentences
from discreet.report.html.charts import bar
from discreet.report.html.facts import Facts
from discreet.report.html.markup import Group, Markup, el, join, markup, name, table, term
from discreet.report.releases import levels_of, path_text, rho_total
from discreet.risk.explain import at_most
from discreet.risk.profile import DIGITS

PROOF_DIGITS = 8
"""Of the proof that a calibrated release keeps its promise: only that it lies below delta matters."""


def section(key: str, title: str, *parts: object) -> Markup:
    """Return one section with its heading; `key` is what the table of contents points to."""
    return el("section", el("h2", title), "\n", join(parts, "\n"), id=key)


def paragraph(*parts: object) -> Markup:
    """Return one paragraph."""
    return el("p", *parts)


def decision(facts: Facts) -> Markup:
    """Return the headline and its three numbers, each with its proof."""
    row = facts.headline
    cards = [
        _card(
            join(["Exact ", term("epsilon"), " at delta ", sentences.small(row.delta)]),
            words.number(row.epsilon),
            _proof(row.certified, "ε"),
            None if row.certified is None else f"Safe to promise: {sentences.safe(row.certified)}",
        ),
        _card(
            "Best guess of any adversary",
            _percent_up(facts.guess.upper),
            _proof(facts.guess.certified, "chance", DIGITS),
            f"Without the release: {words.percent(max(facts.prior, 1 - facts.prior))}",
        ),
    ]
    if facts.calibration is not None and facts.calibration.factor is not None:
        found = facts.calibration
        cards.append(
            _card(
                "Variance that could be saved",
                words.percent(found.reduction or 0.0),
                _proof(found.proof, "δ", PROOF_DIGITS),
                f"Keeping epsilon {words.number(float(found.epsilon or 0))}, what zCDP says",
            )
        )
    return section(
        "decision",
        "The decision",
        el("p", sentences.headline(facts), class_="headline"),
        el("div", join(cards, "\n"), class_="cards"),
        paragraph(sentences.against_zcdp(facts)),
        "" if facts.certified else _uncertified(),
    )


def _card(label: object, value: str, proof: object, note: object) -> Markup:
    parts = [el("p", label, class_="card-label"), el("p", value, class_="card-value")]
    if proof is not None:
        parts.append(el("p", proof, class_="card-proof"))
    if note is not None:
        parts.append(el("p", note, class_="card-note"))
    return el("div", join(parts, "\n"), class_="card")


def _proof(box: Interval | None, symbol: str, digits: int | None = None) -> Markup:
    if box is None:
        return el("span", "Not certified", class_="quiet")
    return join([el("span", "Certified: ", class_="quiet"), sentences.enclosed(box, symbol, digits)])


def _uncertified() -> Markup:
    return el(
        "p",
        el("strong", "Not certified. "),
        "This page was made without proofs (--no-certify). Its numbers are floating-point results with a "
        "relative error of about 10⁻¹¹, good for discussion; a promise needs the proof.",
        class_="warning",
    )


def _percent_up(value: float) -> str:
    """A bound in percent, rounded up, with as many digits as tell it from 100."""
    for digits in (1, 2, 3, 4, 6):
        text = f"{math.ceil(value * 100 * 10**digits - 1e-6) / 10**digits:.{digits}f} %"
        if not text.startswith("100"):
            return text
    return "100 %"


def parameters(facts: Facts) -> Markup:
    """Return what is released with which budget and noise, as exact fractions."""
    release = facts.release
    total = rho_total(release)
    relation = words.relation(release.neighbours, release.unit)
    about = [
        f"The noise was calibrated for {release.neighbours} neighbours ({relation}). ",
        f"{_count(len(release.levels), 'level')}, "
        f"{_count(sum(len(level.queries) for level in release.levels), 'table')} of counts. ",
    ]
    if total is not None:
        about.append(f"Total budget: rho {words.with_fraction(total)}. ")
    about.append(
        "One path: no levels are merged."
        if len(release.paths) == 1
        else f"One {release.unit} may be counted on {len(release.paths)} paths; the tables show each level "
        "as it is where none are merged."
    )
    parts: list[object] = [paragraph(*about)]
    if total is not None:
        rows = [
            [
                name(level.name),
                str(spent := level.spent(release.neighbours)),
                words.plain(spent),
                words.percent(spent / total),
                bar(float(spent / total)),
            ]
            for level in release.levels
        ]
        rows.append(["All levels", str(total), words.plain(total), "100 %", ""])
        columns = ["level", "rho, exact", "rho", "share", ""]
        parts.append(table("Budget by level", columns, [Group(None, rows)], left=(0, 4)))
    groups = [
        Group(name(level), [_parameter_cells(names, row) for names, row in alike(rows)])
        for level, rows in levels_of(release)
    ]
    columns = ["level", "query", "share of level", "rho, exact", "variance, exact", "variance", "counted"]
    parts.append(
        table("Noise by level and query; queries with equal noise share a line", columns, groups, left=(0, 1))
    )
    return section("parameters", "Parameters", *parts)


def alike(rows: Iterable[Row]) -> list[tuple[list[str], Row]]:
    """Return one row for the queries of a level that have equal noise, with all their names.

    >>> from discreet.budget import load
    >>> [len(names) for names, _ in alike(load("dhc-2022-08-25").variance_table()[:10])]
    [10]
    """
    found: dict[object, tuple[list[str], Row]] = {}
    for row in rows:
        found.setdefault((row.event, row.share), ([], row))[0].append(row.query)
    return list(found.values())


def query_names(names: list[str]) -> Markup:
    """Return the names of queries in a row."""
    return join([el("span", name(one), class_="query") for one in names], " · ")


def few_names(names: list[str]) -> Markup:
    """Return the names of queries, or how many there are if the names would fill the table.

    >>> few_names(["a", "b", "c", "d"])
    '4 queries alike'
    """
    return query_names(names) if len(names) <= 3 else markup(f"{len(names)} queries alike")


def _parameter_cells(names: list[str], row: Row) -> list[object]:
    if row.variance is not None:
        exact, size = str(row.variance), words.plain(row.variance)
    else:
        exact, size = f"Laplace, scale {row.scale}", words.plain(_noise(row).true_variance())
    counted = str(row.event.times)
    if row.event.sensitivity != 1:
        counted += f" × {row.event.sensitivity}"
    share = "–" if row.share is None else words.percent(row.share)
    return [query_names(names), share, "–" if row.rho is None else str(row.rho), exact, size, counted]


def _noise(row: Row) -> GaussianNoise | LaplaceNoise:
    if row.variance is not None:
        return GaussianNoise(row.variance)
    assert row.scale is not None
    return LaplaceNoise(row.scale)


def curves(facts: Facts, before: Facts | None) -> Markup:
    """Return both pictures, the table of epsilon, and the worst case."""
    bounded = facts.account.neighbours == "bounded"
    worst = "worst pair" if bounded else "worst path"
    proved = any(row.certified is not None for row in facts.rows)
    rows = []
    for row in facts.rows:
        gap = row.epsilon - row.zcdp
        proof = "–" if row.certified is None else sentences.enclosed(row.certified, "ε")
        rows.append(
            [
                sentences.small(row.delta),
                words.number(row.epsilon),
                *([proof] if proved else []),
                words.number(row.zcdp),
                sentences.minus(f"{words.change(gap)} ({words.percent(gap / row.zcdp)})"),
                words.number(float(facts.gaussian.epsilon(delta=row.delta))),
                words.label(row.worst),
            ]
        )
    columns = ["delta", "exact epsilon", *(["certified"] if proved else [])]
    columns += ["zCDP", "exact − zCDP", "Gaussian DP", worst]
    return section(
        "curves",
        "How much privacy is lost",
        paragraph(
            "Lower is better in the first picture: at each epsilon, the delta that is still needed. In the "
            "second, higher is better: an adversary who accepts few false alarms must miss many true cases. "
            "The straight line from corner to corner would be perfect privacy."
        ),
        el("div", pictures.figures(facts, before), class_="figures"),
        table("Epsilon at several deltas", columns, [Group(None, rows)], left=(0, len(columns) - 1)),
        _worst(facts),
    )


def _worst(facts: Facts) -> Markup:
    release, account = facts.release, facts.account
    number = words.label(facts.headline.worst)
    if account.pairs == 1:
        return Markup("")
    kind = "pair" if account.neighbours == "bounded" else "path"
    said = paragraph(
        f"{words.compared(account)}. At delta ",
        sentences.small(facts.headline.delta),
        f" the worst {kind} is {number}; the numbers above hold for the worst one at each delta. Levels "
        "joined by a plus are merged: the upper one spends the budget of all.",
    )
    numbers = sorted({path for row in facts.rows for path in row.worst})
    listed = [el("li", f"Path {path}: ", name(path_text(release, path))) for path in numbers]
    return join([said, el("ul", *listed, class_="plain")], "\n")


def risk(facts: Facts) -> Markup:
    """Return what the numbers mean for one record, in words and as a table."""
    groups = [
        [name(one.scope), name(one.query), f"{100 * one.accuracy:.2f}", at_most(level.accuracy, percent=True)]
        for one, level in zip(facts.risk.one_count, facts.risk.levels, strict=True)
    ]
    everything = el("strong", "Everything published")
    groups.append([everything, "–", "–", el("strong", at_most(facts.guess.accuracy, percent=True))])
    columns = ["who sees only", "most telling count", "from that count", "from all its counts"]
    alone = f"{100 * float(max(facts.prior, 1 - facts.prior)):.2f}"
    caption = f"How many times in 100 the best guess is right ({alone} without the release)"
    misses = [
        [
            sentences.about(float(one.alpha)),
            f"{100 * one.exact:.2f} %",
            f"{100 * max(one.zcdp, 0.0):.2f} %",
        ]
        for one in facts.misses
    ]
    return section(
        "risk",
        "Risk in plain words",
        el("ul", *(el("li", text) for text in sentences.risk_sentences(facts)), class_="adversaries"),
        paragraph(
            "These are averages. In a single unlucky case the noise can come out small, and a guess be "
            "better founded than that; no noise of this kind rules it out. The sentences are about what the "
            "release adds: what follows from everybody else’s records is not counted as a loss. They leave "
            "out records that change together with this one (a household that moves) and whatever is "
            "published without noise. Each row is a level of the main path; levels merged there share a row.",
        ),
        table(caption, columns, [Group(None, groups)], left=(0, 1)),
        table(
            "The two errors of an accuser: the share of true cases missed, at least",
            ["false alarms, at most", "exact", "as zCDP bounds it"],
            [Group(None, misses)],
        ),
    )


def accuracy(facts: Facts) -> Markup:
    """Return the margins of error by level and query."""
    groups = [
        Group(name(level), [_accuracy_cells(names, row) for names, row in alike(rows)])
        for level, rows in levels_of(facts.release)
    ]
    columns = ["level", "query", "standard deviation", "95 % margin of error", "at most, in 95 of 100"]
    return section(
        "accuracy",
        "Accuracy that this noise leaves",
        paragraph(
            "The noise of a single published count, before any post-processing, which can make it smaller. "
            "The margin of error is 1.96 standard deviations. The last column is exact for whole numbers: "
            "in at least 95 of 100 counts the noise is no larger than this."
        ),
        table("Margins of error by level and query, in counts", columns, groups, left=(0, 1)),
    )


def margin(variance: float | Fraction) -> str:
    """Write the margin of error that goes with a variance.

    >>> margin(Fraction(50000, 10001))
    '± 4.382'
    """
    return f"± {words.number(1.96 * math.sqrt(variance), 4)}"


def _accuracy_cells(names: list[str], row: Row) -> list[object]:
    noise = _noise(row)
    variance = noise.true_variance()
    within = noise.quantile("39/40")
    return [few_names(names), words.number(math.sqrt(variance), 4), margin(variance), f"± {within:,}"]


def savings(facts: Facts) -> Markup:
    """Return what exact calibration would save, level by level, and its proof."""
    found = facts.calibration
    title = "Noise that could be saved"
    if found is None:
        return section("savings", title, paragraph("Savings by calibration were not asked for."))
    promise = f"Whoever promises what zCDP says, epsilon {words.number(float(found.epsilon or 0))} at delta "
    said: list[object] = [promise, sentences.small(found.delta), ", can keep that promise with less noise"]
    if found.factor is not None:
        said.append(
            f": all variances times {words.plain(found.factor)}, "
            f"which is {100 * (found.reduction or 0):.3f} % less."
        )
    else:
        said.append(".")
    if found.proof is not None:
        said += [
            " Proof: the true delta there satisfies ",
            sentences.enclosed(found.proof, "δ", PROOF_DIGITS),
            ".",
        ]
    if found.price is not None:
        said.append(
            f" The price: below delta {words.number(found.price, 2)} the old noise’s zCDP promise was the "
            "better one, since less noise costs more in the far tail."
        )
    groups = []
    for level in found.levels:
        pairs: dict[tuple[Fraction, Fraction], list[str]] = {}
        for query in level.queries:
            pairs.setdefault((query.before, query.after), []).append(query.name)
        rows = [
            [few_names(names), words.plain(old), words.plain(new), margin(old), margin(new)]
            for (old, new), names in pairs.items()
        ]
        groups.append(Group(name(level.name), rows))
    columns = ["level", "query", "variance", "enough", "margin of error", "enough"]
    parts: list[object] = [paragraph(*said)]
    if groups:
        parts.append(table("Noise now, and noise that is enough", columns, groups, left=(0, 1)))
    return section("savings", title, *parts)


def _count(many: int, word: str) -> str:
    return f"{many} {word}" if many == 1 else f"{many} {word}s"
