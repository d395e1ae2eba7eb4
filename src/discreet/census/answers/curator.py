"""True counts against released ones, for the trusted curator, in words and tables. Confidential."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import sqrt

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Bullets,
    Caution,
    Column,
    Fact,
    Paragraph,
    Part,
    Sentence,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.quantity import Quantity, Style
from discreet.census.safetab.curator import (
    CONFIDENTIAL,
    SIZES,
    CapLine,
    CapSums,
    Curated,
    ErrorLine,
    ErrorSums,
    GroupLine,
    size_name,
)

FAR = 4.0
"""Standard errors beyond which a share within the margin is marked; chance does it in 1 of 16,000 rows."""
MARK = " *"
STAR = (
    f"* more than {Style.BRIEF.quantity(FAR)} standard errors from the expectation: unlikely to be "
    "chance for independent numbers."
)
"""What the mark says."""

REHEARSED = "Of a rehearsal, whose noise protects nobody."

_BRACKETS = "In brackets: what the mechanism expects, suppression included."
_ERROR_COLUMNS = ("numbers", "noise sd", "mean error", "MAE", "RMSE", "% within MOE")
_ERROR_KEYS = (
    *("geography", "level", "table", "number", "size", "numbers", "noise_sd", "mean_error"),
    *("expected_mean_error", "mae", "rmse", "expected_rmse", "within_moe", "expected_within_moe"),
)
_GROUP_KEYS = ("geography", "level", "size", "groups", "released", "expected_released")
_CAP_KEYS = (
    *("geography", "level", "kind", "numbers", "mean_error_of_noise", "mean_error_of_cap", "mean_error"),
    *("rmse_against_capped", "rmse_against_all_codes", "within_moe_against_capped"),
    *("within_moe_against_all_codes", "groups_with_people", "groups_emptied"),
)


@describes(Curated)
def curator_answer(curated: Curated, *, written: Sequence[str] = ()) -> Answer:
    """Say whether a release is as accurate as its mechanism promises; `written` are names of its files.

    >>> from discreet.census.safetab.specification import safetab_p
    >>> sums = ErrorSums(numbers=400, within=380, square=900, expected_square=1000, expected_within=381)
    >>> line = ErrorLine(geography="USA", level=2, table="T01001", kind="total", size=1, errors=sums)
    >>> answer = curator_answer(Curated(errors=(line,), groups=(), tabulation=safetab_p(), max_race_codes=8))
    >>> print(answer.record["headline"][0])
    95.0 % of 400 released totals are within their published margin of error; the mechanism expects 95.2 %, \
and chance moves that by 2.08 points either way.
    """
    tables = {
        "cap": _keyed(_CAP_KEYS, map(_cap_cells, curated.caps)),
        "errors": _keyed(_ERROR_KEYS, map(_error_cells, curated.errors)),
        "groups": _keyed(_GROUP_KEYS, map(_group_cells, curated.groups)),
    }
    said = curator_headline(curated)
    record = {
        "warning": CONFIDENTIAL,
        "out": curated.out,
        "rehearsal": curated.rehearsal,
        "headline": said,
        "notes": list(curated.notes),
        curated.tabulation.answers.limit: curated.max_race_codes,
        **tables,
    }
    return Answer(
        f"True against released: {curated.out}",
        record,
        tuple(_body(curated, said, written)),
        tuple(_facts(curated)),
        tables=tables,
        command=f"discreet safetab report PARAMS DATA {curated.out}",
    )


def _body(curated: Curated, said: Sequence[Sentence], written: Sequence[str]) -> Iterator[Part]:
    yield CONFIDENTIAL
    if curated.rehearsal:
        yield REHEARSED
    yield ""
    yield from said
    tables = curator_tables(curated)
    for table in tables:
        yield ""
        yield f"{table.title}. {table.note}"
        yield table
    yield ""
    if any(map(is_marked, tables)):
        yield STAR
    yield from (Paragraph(str(Caution(note))) for note in curated.notes)
    yield from (f"Written: {name}, confidential." for name in written)


def curator_sections(curated: Curated) -> list[Answer]:
    """Return the sections of the curator's page: the headline, a section for each table, and notes.

    >>> from discreet.census.safetab.specification import safetab_p
    >>> nothing = Curated(errors=(), groups=(), tabulation=safetab_p(), max_race_codes=8)
    >>> [section.title for section in curator_sections(nothing)][1]
    'Totals by geography and level'
    """
    head = tuple(Paragraph(text, role="headline") for text in curator_headline(curated))
    sections = [Answer("", body=head)]
    for table in curator_tables(curated):
        star = [Paragraph(STAR, role="quiet")] if is_marked(table) else []
        sections.append(Answer(table.title, body=(table, *star)))
    return [*sections, Answer("Notes", body=(Bullets(tuple(curated.notes)),))] if curated.notes else sections


def is_marked(table: AnswerTable) -> bool:
    """Return whether a row of a table is marked as far from what is expected.

    >>> is_marked(AnswerTable((Column("% within MOE"),), (("91.0 (95.2) *",),)))
    True
    """
    return any(cell.endswith(MARK) for row in table.cells for cell in row)


# -- what machines read -----------------------------------------------------------------------------------


def _keyed(keys: Sequence[str], rows: Iterable[tuple[object, ...]]) -> AnswerTable:
    return AnswerTable(tuple(Column(key=key) for key in keys), tuple(rows))


def _error_cells(line: ErrorLine) -> tuple[object, ...]:
    errors = line.errors
    return (
        *(line.geography, line.level, line.table, line.kind, size_name(line.size), errors.numbers),
        errors.root("variance"),
        errors.mean("error"),
        errors.mean("expected_error"),
        errors.mean("absolute"),
        errors.root("square"),
        errors.root("expected_square"),
        errors.mean("within"),
        errors.mean("expected_within"),
    )


def _group_cells(line: GroupLine) -> tuple[object, ...]:
    name = size_name(line.size)
    return line.geography, line.level, name, line.groups, line.released, line.expected


def _cap_cells(line: CapLine) -> tuple[object, ...]:
    """There is no mean where no group was released."""
    sums = line.sums
    means = (
        sums.mean("noise"),
        sums.mean("cap"),
        sums.mean("noise") + sums.mean("cap"),
        sqrt(sums.mean("noise_square")),
        sqrt(sums.mean("square")),
        sums.mean("within_noise"),
        sums.mean("within"),
    )
    shown = means if sums.numbers else (None,) * len(means)
    return line.geography, line.level, line.kind, sums.numbers, *shown, sums.groups, sums.emptied


# -- the headline -----------------------------------------------------------------------------------------


def curator_headline(curated: Curated) -> list[Sentence]:
    """Say in sentences whether the release is as accurate as the mechanism promises."""
    said, total = [], _totals(curated)
    if total.numbers:
        cap = f" of true counts with the same cap of {curated.max_race_codes} {_word(curated)} codes"
        text = sentence(
            "{within} of {numbers} released totals are within their published margin of error{cap}; the "
            "mechanism expects {expected}, and chance moves that by {drift} points either way.",
            within=_part(total.mean("within")),
            numbers=Quantity(total.numbers, Style.COUNT),
            cap=cap if curated.caps else "",
            expected=_part(total.mean("expected_within")),
            drift=Quantity(100 * (1.96 * sqrt(_spread(total)) / total.numbers), Style.PLACES, digits=2),
        )
        said.append(text)
    if total.expected_square:
        said.append(sentence("The root mean square error is {r} times the expected one.", r=_ratio(total)))
    said += _cap_headline(curated)
    groups, released, expected = _summed(line for line in curated.groups if line.size)
    if groups:
        text = sentence(
            "Below {below}, {share} of the {groups} groups with {units} in them were suppressed; expected "
            "{expected}.",
            units=curated.tabulation.units,
            below=curated.tabulation.below,
            share=_part(1 - released / groups),
            groups=Quantity(groups, Style.COUNT),
            expected=_part(1 - expected / groups),
        )
        said.append(text)
    return said


def _cap_headline(curated: Curated) -> Iterator[Sentence]:
    """Say what the cap on codes does, if there is one."""
    sums = sum((line.sums for line in curated.caps), CapSums())
    if not sums.numbers:
        return
    yield sentence(
        "The cap of {most} {word} codes adds an error that no margin covers: {within} of the totals are "
        "within their margin of true counts of all codes.",
        most=str(curated.max_race_codes),
        word=_word(curated),
        within=_part(sums.mean("within")),
    )
    yield sentence(
        "The cap leaves {emptied} of the {groups} groups that have {units} without any.",
        units=curated.tabulation.units,
        emptied=Quantity(sums.emptied, Style.COUNT),
        groups=Quantity(sums.groups, Style.COUNT),
    )


def _facts(curated: Curated) -> Iterator[Fact]:
    total = _totals(curated)
    if total.numbers:
        expected = f"expected {_part(total.mean('expected_within'))}"
        yield Fact("Totals within their margin", _part(total.mean("within")), expected)
    if total.expected_square:
        yield Fact("Root mean square error", _ratio(total), "times the expected one")


def _totals(curated: Curated) -> ErrorSums:
    return sum((line.errors for line in curated.errors if line.kind == "total"), ErrorSums())


def _ratio(total: ErrorSums) -> Quantity:
    return Quantity(total.root("square") / total.root("expected_square"), Style.PLACES, digits=3)


def _part(share: float) -> Quantity:
    return Quantity(share, Style.PERCENT)


def _word(curated: Curated) -> str:
    return curated.tabulation.answers.word


# -- the tables --------------------------------------------------------------------------------------------


def curator_tables(curated: Curated) -> list[AnswerTable]:
    """Return the tables of the report; the first columns of each are names."""
    levels = curated.by(lambda line: (line.geography, line.level), kinds=("total",))
    tables = curated.by(lambda line: (line.table, line.kind))
    ladders, words = curated.tabulation.ladders.values(), curated.tabulation.workloads
    files = ", ".join(ladder.files[0] for ladder in ladders)
    return [
        _errors(
            "Totals by geography and level",
            f"Group totals ({files}). Mean error is released minus true. {_BRACKETS}",
            ("geography", "level"),
            ((geography, words[level].word, errors) for (geography, level), errors in levels.items()),
        ),
        *([_caps(curated)] if curated.caps else []),
        *(_sizes(curated, level) for level in words),
        _errors(
            "All numbers by table",
            f"By the table that was selected for a group. {_BRACKETS}",
            ("table", "number"),
            (
                (f"{rung.name} {rung.title}", _kind_words(kind), tables[rung.name, kind])
                for ladder in ladders
                for rung in ladder.rungs
                for kind in ladder.kinds
                if (rung.name, kind) in tables
            ),
        ),
        *([_suppression(curated)] if any(ladder.picks for ladder in ladders) else []),
    ]


def _named_table(
    title: str,
    note: str,
    names: tuple[str, ...],
    numbers: tuple[str, ...],
    rows: Iterable[tuple[object, ...]],
) -> AnswerTable:
    columns = (
        *(Column(name, is_text=True) for name in names),
        *(Column(name, is_share=name == "suppressed") for name in numbers),
    )
    return AnswerTable(columns, tuple(rows), title, note, groups=True)


def _kind_words(kind: str) -> str:
    return kind if kind in ("total", "cell") or kind.startswith("sum ") else f"sum over one {kind}"


def _caps(curated: Curated) -> AnswerTable:
    rows, levels, code = [], curated.tabulation.workloads, _word(curated)
    for line in curated.caps:
        sums = line.sums
        if line.kind == curated.tabulation.answers.kinds[2] or not sums.numbers:
            continue
        roots = [_places(sqrt(sums.mean(name)), 2) for name in ("noise_square", "square")]
        shares = [_places(100 * sums.mean(name), 1) for name in ("within_noise", "within")]
        rows.append(
            (
                line.geography,
                levels[line.level].word,
                line.kind,
                Quantity(sums.numbers, Style.COUNT),
                _signed(sums.mean("noise")),
                _signed(sums.mean("cap")),
                *(sentence("{a} / {b}", a=a, b=b) for a, b in (roots, shares)),
                sentence(
                    "{emptied} of {groups}",
                    emptied=Quantity(sums.emptied, Style.COUNT),
                    groups=Quantity(sums.groups, Style.COUNT),
                ),
            )
        )
    return _named_table(
        f"What the cap of {curated.max_race_codes} {code} codes does to totals",
        "Mean error of the noise (released less true counts with the cap) and of the cap (those less true "
        f"counts of all {code} codes). RMSE and % within MOE: against true counts with the cap / with all "
        f"{code} codes. Emptied: groups with {curated.tabulation.units} that the cap leaves without any. "
        f"Groups of an {curated.tabulation.answers.one_word} have no cap.",
        ("geography", "level", "groups"),
        ("numbers", "noise", "cap", "RMSE", "% within MOE", "emptied"),
        rows,
    )


def _sizes(curated: Curated, level: int) -> AnswerTable:
    tabulation = curated.tabulation
    by_level = curated.by(
        lambda line: (line.level, tabulation.is_below(line.geography), line.size), kinds=("total",)
    )
    summed = {(below, size): errors for (own, below, size), errors in by_level.items() if own == level}
    where, word = tabulation.sides, tabulation.workloads[level].word
    raised = (
        f" A small group below {tabulation.below} is only published if noise raised it, so its mean error is "
        "above zero by design."
    )
    return _errors(
        f"{word[:1].upper()}{word[1:]} totals by size of the group",
        f"Size is the true count.{raised if tabulation.ladder(level).picks else ''} {_BRACKETS}",
        ("where", "true size"),
        ((where[below], size_name(size), summed[below, size]) for below, size in sorted(summed)),
    )


def _errors(
    title: str, note: str, names: tuple[str, str], rows: Iterable[tuple[str, str, ErrorSums]]
) -> AnswerTable:
    made = ((first, second, *_error_words(errors)) for first, second, errors in rows)
    return _named_table(title, note, names, _ERROR_COLUMNS, made)


def _error_words(errors: ErrorSums) -> tuple[object, ...]:
    """The errors of one row, what is expected of them in brackets."""
    far = abs(errors.within - errors.expected_within) > FAR * sqrt(_spread(errors)) + 0.5
    return (
        Quantity(errors.numbers, Style.COUNT),
        _places(errors.root("variance"), 1),
        _bracketed(_signed(errors.mean("error")), _signed(errors.mean("expected_error"))),
        _places(errors.mean("absolute"), 2),
        _bracketed(_places(errors.root("square"), 2), _places(errors.root("expected_square"), 2)),
        _bracketed(
            _places(100 * errors.mean("within"), 1),
            _places(100 * errors.mean("expected_within"), 1),
            MARK if far else "",
        ),
    )


def _bracketed(seen: Quantity, expected: Quantity, mark: str = "") -> Sentence:
    return sentence("{seen} ({expected}){mark}", seen=seen, expected=expected, mark=mark)


def _places(value: float, places: int) -> Quantity:
    return Quantity(value, Style.PLACES, digits=places)


def _signed(value: float) -> Quantity:
    """A mean error; one that is zero in all its digits has no sign.

    >>> print(_signed(1.004), _signed(-0.0001))
    +1.00 0.00
    """
    return Quantity(value, Style.CHANGE, digits=2)


def _spread(errors: ErrorSums) -> float:
    """Return the variance of how many are within, if they were independent with one chance."""
    share = errors.mean("expected_within")
    return max(0.0, errors.numbers * share * (1 - share))


def _suppression(curated: Curated) -> AnswerTable:
    rows = []
    for level, workload in curated.tabulation.workloads.items():
        for size in range(len(SIZES)):
            lines = (group for group in curated.groups if (group.level, group.size) == (level, size))
            groups, released, expected = _summed(lines)
            if groups:
                counts = (Quantity(many, Style.COUNT) for many in (groups, released))
                shares = (_suppressed(1 - many / groups) for many in (released, expected))
                rows.append((workload.word, size_name(size), *counts, *shares))
    below = curated.tabulation.below
    note = f"Groups of regions below {below}, by true size; one of size 0 that is released is noise alone."
    numbers = ("groups", "released", "suppressed", "expected")
    return _named_table("Suppression by size of the group", note, ("level", "true size"), numbers, rows)


def _suppressed(share: float) -> Quantity:
    """A share that is very near to one keeps the digits that tell it from one."""
    return Quantity(share, Style.PERCENT, digits=3 if 0.99 < share < 1 else None)


def _summed(lines: Iterable[GroupLine]) -> tuple[int, int, float]:
    """How many groups there are of those that may be suppressed, how many released, and how many expected."""
    cut = [line for line in lines if line.suppressing]
    released, expected = sum(line.released for line in cut), sum(line.expected for line in cut)
    return sum(line.groups for line in cut), released, expected
