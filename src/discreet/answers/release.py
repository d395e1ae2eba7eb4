"""What a release publishes with which noise, in words and tables; and which releases are at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Column,
    Paragraph,
    Part,
    Sentence,
    joined_words,
    marked,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.figure import Axis, Bars, Notation, Panel, Picture, points
from discreet.answers.quantity import NumberKind, Quantity, Style
from discreet.answers.sums import counts_word, sums_notes, variable_record
from discreet.budget import ALIASES, AnswerKind, Claim, Neighbours, Release, Row
from discreet.budget.level_names import level_name
from discreet.budget.levels import Level
from discreet.budget.noise_table import NoiseLine, levels_of, noise_lines, rho_total
from discreet.budget.spine import runs_text

_CAUTIONS = (
    "upper bound",
    "not modelled",
    "simplification",
    "earlier allocation than",
    "outside the guarantee",
)
_ABOUT_PATHS = "not been published"
_QUERY_COLUMNS = (
    Column("query", is_text=True),
    *map(Column, ("variance", "exact", "share", "sensitivity", "groups")),
)
_SIZES = ("variance", "variance_exact", "scale", "scale_exact")
_NOISE_KEYS = ("level", "query", "noise", *_SIZES, "rho", "share", "sensitivity", "groups")


@describes(Release)
def release_answer(release: Release) -> Answer:
    """Say what a release publishes: the noise of every query, the paths, sources and notes.

    >>> from discreet.budget import load
    >>> release_answer(load("dhc-2022-08-25")).objects["levels"][1]["name"]
    'State'
    """
    command = f"discreet show {release.name}"
    return Answer(
        heading(release),
        _release_record(release),
        tuple(_body(release)),
        tables={"noise": _noise_by_query(release)},
        command=command,
        summary=_release_summary(release),
        figures={} if rho_total(release) is None else {"budget": partial(_budget_picture, release)},
    )


def _noise_by_query(release: Release) -> AnswerTable:
    """Return the noise of every query, a row each, for machines.

    >>> from discreet.budget import load
    >>> row = _noise_by_query(load("dhc-2022-08-25")).objects[10]
    >>> row["level"], row["query"], row["variance_exact"]
    ('State', 'query 1', '50000/10001')
    """
    lines = [
        {"level": level, "query": row.query} | _query_record(row)
        for level, rows in levels_of(release).items()
        for row in rows
    ]
    keys = [key for key in _NOISE_KEYS if any(line.get(key) is not None for line in lines)]
    rows = tuple(tuple(line.get(key) for key in keys) for line in lines)
    return AnswerTable(tuple(Column(key=key) for key in keys), rows)


def _budget_picture(release: Release) -> Picture:
    """How rho is shared between levels."""
    spent = {level_name(level.name): level.spent(release.neighbours) for level in release.levels}
    total = sum(spent.values())
    shares = [float(rho / total) for rho in spent.values()]
    bars = Bars(
        points(range(len(shares)), shares), "", texts=tuple(str(Style.PERCENT.quantity(x)) for x in shares)
    )
    axis = Axis("share of rho", low=0.0, written=Notation.PERCENT)
    caption = sentence("The share of each level in rho {rho}.", rho=_exact(total))
    return Picture((Panel(Axis(names=tuple(spent)), axis, (bars,)),), release.name, str(caption))


def _release_summary(release: Release) -> str:
    """The release in a few lines, a line for each level."""
    total = "" if release.rho is None else f", rho {release.rho} = {_five(release.rho)}"
    queries = sum(len(level.queries) for level in release.levels)
    main = f"(main {release.main}: {runs_text(release.runs(release.main))})"
    paths = "one path" if len(release.paths) == 1 else f"{len(release.paths)} paths {main}"
    lines = [
        heading(release),
        f"  one {release.unit}, calibrated for {release.neighbours} neighbours{total}",
        f"  {_plural(len(release.levels), 'level')}, {_plural(queries, 'query')}, {paths}",
    ]
    width = max(len(level.name) for level in release.levels)
    for level in release.levels:
        spent = _five(level.spent(release.neighbours)) if not level.lacks_rho else None
        rho = "" if spent is None else f"rho {spent!s:<10}  "
        lines.append(f"  {level.name:<{width}}  {rho}{_noise_span(level, release.neighbours)}")
    return "\n".join(lines)


def _noise_span(level: Level, neighbours: Neighbours) -> str:
    events = level.events(neighbours)
    parts = []
    by_word: dict[str, set[Fraction]] = {}
    for event in events:
        by_word.setdefault(event.PARAMETER, set()).add(event.size)
    for word, different in sorted(by_word.items(), reverse=True):
        sizes = sorted(different)
        span = f"{_five(sizes[0])}" + (f" to {_five(sizes[-1])}" if len(sizes) > 1 else "")
        parts.append(f"{word} {span}")
    return f"{_plural(len(events), 'query')} of {' and '.join(parts)}"


def _five(value: Fraction) -> Quantity:
    return Quantity(value, Style.BRIEF, digits=5)


def _plural(many: int, word: str) -> str:
    plural = word[:-1] + "ies" if word.endswith("y") else word + "s"
    return f"{many} {word if many == 1 else plural}"


def _body(release: Release) -> Iterator[Part]:
    total = rho_total(release)
    yield Paragraph(heading(release))
    yield Paragraph(_calibration(release))
    yield from map(Paragraph, sums_notes(release))
    rho = {level.name: level.spent(release.neighbours) for level in release.levels}
    for level, rows in levels_of(release).items():
        yield ""
        if total is None:
            yield Paragraph(level_name(level), wraps=False)
        else:
            part = Quantity(rho[level] / total, Style.PERCENT)
            text = sentence(
                "{name}: rho {rho}, {part} of the total",
                name=level_name(level),
                rho=_exact(rho[level]),
                part=part,
            )
            yield Paragraph(text, wraps=False)
        yield AnswerTable(_QUERY_COLUMNS, tuple(map(_cells, rows)))
    yield ""
    if len(release.paths) == 1:
        yield only_path(release)
    else:
        yield (
            f"{len(release.paths)} paths; levels joined by a plus are merged, and their budgets are spent by "
            f"the upper one. Path {release.main} is the main one."
        )
        width = len(str(max(release.paths)))
        for path in release.paths:
            yield Paragraph(f"{path:>{width}}  {path_text(release, path)}", " " * (width + 2))
    if release.reason:
        claim = claim_text(release.claim)
        yield Paragraph(f"Its account is {claim[0].lower()}{claim[1:]}")
    for title, texts in (("Sources", release.sources), ("Notes", release.notes)):
        if texts:
            yield f"{title}:"
            yield from (Paragraph(f"- {text}") for text in texts)


def _calibration(release: Release) -> Sentence:
    """Say for which neighbours the noise was calibrated, and the total rho if all of it has one."""
    total, calibrated = rho_total(release), f"C{calibrated_for(release)[1:]}"
    if total is None:
        return sentence("{calibrated}.", calibrated=calibrated)
    return sentence("{calibrated}; total rho {rho}.", calibrated=calibrated, rho=_exact(total))


def _cells(row: Row) -> tuple[Quantity | str | int | None, ...]:
    size = row.event.size
    written = Quantity(size, Style.BRIEF)
    share = None if row.share is None else Quantity(row.share, Style.PERCENT)
    noise = written if row.event.stated_variance is not None else row.event.label(str(written))
    exact = str(size) if row.event.is_added else None
    return row.query, noise, exact, share, row.event.sensitivity, row.event.times


def _exact(value: object) -> Quantity:
    return Quantity(value, Style.FRACTION)  # type: ignore[arg-type]


def presets_answer(releases: Sequence[Release]) -> Answer:
    """List releases that come with the package.

    >>> from discreet.budget import load
    >>> presets_answer([load("dhc-2022-08-25")]).objects["presets"][0]["name"]
    'dhc-2022-08-25'
    """
    names = ("name", "unit", "neighbours", "rho", "paths", "title")
    columns = tuple(Column(name, is_text=name not in ("rho", "paths")) for name in names)
    rows = tuple(
        (
            release.name,
            release.unit,
            release.neighbours,
            None if (rho := rho_total(release)) is None else Quantity(rho, Style.BRIEF),
            len(release.paths),
            release.title,
        )
        for release in releases
    )
    body: tuple[Part, ...] = (
        AnswerTable(columns, rows),
        "",
        *(f"{short} is short for {name}." for short, name in ALIASES.items()),
        "`discreet show NAME` prints one of them; `discreet account NAME` says what it costs.",
    )
    record = {"presets": [preset_record(release) for release in releases], "aliases": ALIASES}
    return Answer("Presets", record, body, command="discreet presets")


# -- the parameters, as a report shows them ------------------------------------------------------------------


def parameters_section(release: Release) -> Answer:
    """Say what a release publishes, and how its budget and its noise are spread over levels and queries.

    >>> from discreet.budget import load
    >>> print(parameters_section(load("dhc-2022-08-25")).body[0])
    Calibrated for unbounded neighbours (one person added or removed); total rho 3.65. 8 levels, 80 \
tables of counts. One path: no levels are merged.
    """
    paths = (
        only_path(release)
        if len(release.paths) == 1
        else f"One {release.unit} may be counted on {len(release.paths)} paths; the tables show each level "
        "as it is where none are merged."
    )
    total = rho_total(release)
    calibrated = sentence(
        "C{calibrated}{rho}.",
        calibrated=calibrated_for(release)[1:],
        rho="" if total is None else sentence("; total rho {rho}", rho=Quantity(total, Style.EXACT)),
    )
    levels, tables = len(release.levels), sum(len(level.queries) for level in release.levels)
    what = counts_word(release)
    many = f"{levels} level{'s' * (levels != 1)}, {tables} table{'s' * (tables != 1)} of {what}."
    body: list[Part] = [joined_words([calibrated, many, paths]), *sums_notes(release)]
    body += [] if rho_total(release) is None else [_budget_table(release)]
    body.append(_noise_table(release))
    body.append("Numbers are rounded here; the file at the end of the page has the exact ones.")
    return Answer("Parameters", body=tuple(body), command=f"discreet show {release.name}")


def _budget_table(release: Release) -> AnswerTable:
    spent = {level_name(level.name): level.spent(release.neighbours) for level in release.levels}
    total = sum(spent.values())
    rows = [
        (name, Quantity(rho, Style.EXACT), Quantity(rho / total, Style.PERCENT))
        for name, rho in (*spent.items(), ("All levels", total))
    ]
    columns = (
        Column("level", is_text=True),
        Column("rho"),
        Column("share", is_share=True),
    )
    return AnswerTable(columns, tuple(rows), "Budget by level")


def _noise_table(release: Release) -> AnswerTable:
    lines = list(noise_lines(release))
    is_named = any(line.row.event.stated_variance is None for line in lines)
    numbers = ("share of level", "rho", *(["noise"] if is_named else []), "variance", "counted")
    columns = (Column("level", is_text=True), Column("query", is_text=True), *map(Column, numbers))
    title = "Noise by level and query; queries with equal noise share a line"
    return AnswerTable(
        columns, tuple(_noise_cells(line, is_named=is_named) for line in lines), title, groups=True
    )


def _noise_cells(line: NoiseLine, *, is_named: bool) -> tuple[object, ...]:
    row, event = line.row, line.row.event
    times = Quantity(event.times, Style.COUNT)
    size = Quantity(event.sensitivity, Style.COUNT)
    return (
        level_name(line.level),
        query_words(line.queries),
        None if row.share is None else Quantity(row.share, Style.PERCENT),
        None if row.rho is None else Quantity(row.rho, Style.EXACT),
        *([event.label(str(Quantity(event.size, Style.BRIEF)))] if is_named else []),
        Quantity(line.variance, Style.GIVEN),
        times if event.sensitivity == 1 else sentence("{times} × {size}", times=times, size=size),
    )


def query_words(names: Sequence[str], *, most: int | None = None) -> Sentence:
    """Write queries that are alike: by their names, or if there are more than `most` by how many they are.

    >>> print(query_words(["total", "age"]), "|", query_words(["total", "age"], most=1))
    total · age | 2 queries alike
    """
    if most is not None and len(names) > most:
        return sentence("{many} queries alike", many=Quantity(len(names), Style.COUNT))
    return joined_words([marked(name, "query") for name in names], " · ")


# -- what machines read -----------------------------------------------------------------------------------


def preset_record(release: Release) -> dict[str, object]:
    """Return the few facts of a release that a list shows, for machines."""
    rho = rho_total(release)
    return {
        "name": release.name,
        "title": release.title,
        "unit": release.unit,
        "neighbours": release.neighbours,
        "rho": None if rho is None else str(rho),
        "paths": len(release.paths),
    }


def _release_record(release: Release) -> dict[str, object]:
    """Return all of a release for machines: exact numbers as texts, with the floats beside them.

    >>> from discreet.budget import load
    >>> level = _release_record(load("dhc-2022-08-25"))["levels"][1]
    >>> level["name"], level["queries"][0]["variance_exact"]
    ('State', '50000/10001')
    """
    noise = levels_of(release)
    return {
        **preset_record(release),
        "main_path": release.main,
        "levels": [
            {
                "name": level.name,
                "rho": None if level.lacks_rho else str(level.spent(release.neighbours)),
                "queries": [
                    _query_record(row) | variable_record(release.variables[row.query])
                    for row in noise[level.name]
                ],
            }
            for level in release.levels
        ],
        "path_levels": {str(path): ["+".join(run) for run in release.runs(path)] for path in release.paths},
        "answer": release.claim.document(),
        "sources": list(release.sources),
        "notes": list(release.notes),
    }


def _query_record(row: Row) -> dict[str, object]:
    event, key = row.event, row.event.PARAMETER
    noise: dict[str, object] = {"name": row.query, "noise": event.FAMILY}
    noise |= {key: float(event.size), f"{key}_exact": str(event.size)}
    noise |= {name: str(value) for name, value in event.parameters.items() if name not in noise}
    return noise | {
        "rho": None if row.rho is None else str(row.rho),
        "share": None if row.share is None else str(row.share),
        "sensitivity": row.event.sensitivity,
        "groups": row.event.times,
    }


def claim_text(claim: Claim) -> str:
    """Say how to read an answer, and why it is not exact.

    >>> from discreet.budget import load
    >>> claim_text(load("sdhc-2020").claim)[:46]
    'An upper bound: the true value may be smaller.'
    """
    return " ".join(filter(None, [NumberKind.of(claim.kind).sentence, *claim.reasons, claim.scope.sentence]))


def claim_note(claim: Claim) -> str:
    """Say why numbers are not exact; nothing if they are.

    >>> from discreet.budget import load
    >>> claim_note(load("dhc-2020").claim), claim_note(load("sdhc-2020").claim)[:46]
    ('', 'An upper bound: the true value may be smaller.')
    """
    return "" if claim.kind is AnswerKind.EXACT and claim.scope.is_whole else claim_text(claim)


# -- words about releases ----------------------------------------------------------------------------------


def heading(release: Release) -> str:
    """Write the name of a release and its title, if it has one.

    >>> from discreet.budget import load
    >>> heading(load("dhc-2022-08-25"))[:27]
    'dhc-2022-08-25: 2020 Census'
    """
    return f"{release.name}: {release.title}" if release.title else release.name


def records(unit: str, many: int) -> str:
    """Write so many persons, households or housing units.

    >>> records("person", 1), records("housing unit", 3)
    ('one person', '3 housing units')
    """
    return f"one {unit}" if many == 1 else f"{many} {unit}s"


def relation(neighbours: Neighbours, unit: str = "person", people: int = 1) -> str:
    """Say in words which two databases must be hard to tell apart.

    >>> relation("bounded"), relation("unbounded", "household", 2)
    ('one person replaced by another', '2 households added or removed')
    """
    who = records(unit, people)
    if neighbours == "unbounded":
        return f"{who} added or removed"
    return f"{who} replaced by another" if people == 1 else f"{who} replaced by others"


def calibrated_for(release: Release) -> str:
    """Say for which two databases the noise was calibrated.

    >>> from discreet.budget import load
    >>> calibrated_for(load("dhc-2022-08-25"))
    'calibrated for unbounded neighbours (one person added or removed)'
    """
    who = relation(release.neighbours, release.unit)
    return f"calibrated for {release.neighbours} neighbours ({who})"


def cautions(release: Release, *, all_paths: bool = True, claim: Claim | None = None) -> list[str]:
    """Return why an answer is not exact, and the notes that limit how it may be read.

    A note on which paths are taken matters only if all of them are. The claim is that of the release under
    its own relation, unless another is given.

    >>> from discreet.budget import load
    >>> cautions(load("sdhc-2020"))[0][:21]
    'A household that is r'
    """
    phrases = (*_CAUTIONS, _ABOUT_PATHS) if all_paths else _CAUTIONS
    notes = [note for note in release.notes if any(phrase in note.lower() for phrase in phrases)]
    claim = release.claim if claim is None else claim
    reasons = (claim if all_paths or len(release.paths) == 1 else claim.of_one_path()).reasons
    return [*reasons, *notes]


def shared_rho(total: Fraction, *, all_levels: bool = True) -> str:
    """Write the total rho that levels share; Laplace noise has no part in it.

    >>> shared_rho(Fraction(24811, 5000)), shared_rho(Fraction(0))
    ('24811/5000 = 4.9622', 'No noise is discrete Gaussian; no rho is shared out')
    """
    if not total:
        return "No noise is discrete Gaussian; no rho is shared out"
    only = "" if all_levels else ", without the levels that have Laplace noise"
    return f"{Style.FRACTION.quantity(total)}{only}"


def path_text(release: Release, path: int) -> str:
    """Write the levels of a path, merged ones joined by a plus.

    >>> from discreet.budget import load
    >>> path_text(load("dhc-2020"), 4)
    'US, State + County, Primitive geography + Tract subset group + Tract subset + Block group, Block'
    """
    return ", ".join(level_name("+".join(run)) for run in release.runs(path))


def only_path(release: Release) -> str:
    """Say which levels the only path of a release merges.

    >>> from discreet.budget import load
    >>> only_path(load("dhc-2022-08-25"))
    'One path: no levels are merged.'
    """
    if all(len(run) == 1 for run in release.runs(release.main)):
        return "One path: no levels are merged."
    return f"One path: {path_text(release, release.main)}. Noise is shown for each level by itself."


def scaled_sizes(release: Release) -> str:
    """Say what a factor on all noise is on: a Laplace scale is multiplied by its root.

    >>> from discreet.budget import load
    >>> scaled_sizes(load("dhc-2020"))
    'variances'
    """
    if not any(level.lacks_rho for level in release.levels):
        return "variances"
    gaussian = any(
        query.scale is None and query.noise is None for level in release.levels for query in level.queries
    )
    return "variances and squares of Laplace scales" if gaussian else "squares of scales"
