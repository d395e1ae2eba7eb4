"""What a study tells: each printed value beside ours, with a verdict, and its own table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from discreet.answers import Answer, AnswerTable, Column, Fact, Paragraph, Quantity, Style, describes
from discreet.answers.answer import Cell, Part, sentence
from discreet.answers.figure import Picture
from discreet.answers.quantity import Rounding, count_quantity
from discreet.studies.best_law import FreeLaw
from discreet.studies.drawing import study_picture
from discreet.studies.figures import where
from discreet.studies.register import Compared, Study, StudyEntry, Verdict, find

_TEXTS = {"accuracy": 3, "slope": 1}
"""The number of leading text columns of a study."""

_PRINTED = (
    Column(key="paper"),
    Column("place", "place", is_text=True),
    Column("what", "what", is_text=True),
    Column("at", "at", is_text=True),
    Column("printed", "published"),
    Column("ours", "computed"),
    Column(key="difference"),
    Column("verdict", "verdict", is_text=True),
    Column("why", "why", is_text=True),
)


@describes(Study)
def study_answer(study: Study) -> Answer:
    """Say which printed values of a study are confirmed; its table can be saved.

    >>> from discreet.studies.register import find
    >>> answer = study_answer(find("variance-deficit")[0].compute())
    >>> print(answer.body[0].text)
    variance-deficit: 44 rows; 3 printed values: 3 confirmed
    """
    printed = _printed(study.checks)
    record = {
        "name": study.name,
        "title": study.title,
        "source": study.source,
        "printed": printed,
        "notes": list(study.notes),
    }
    body = tuple(_checked(study, study.checks))
    facts = (Fact("Printed values", verdicts(study.checks)),)
    tables = {"rows": _rows(study), "printed": printed}
    command = f"discreet reproduce {study.name}"
    figures = {"study": partial(picture_of, study)}
    return Answer(study.title, record, body, facts, (), tables, command, figures=figures)


@describes(FreeLaw)
def free_law_answer(law: FreeLaw) -> Answer:
    """Say what variance the table has, and what the laws with a formula need for the same promise."""
    power, least = law.power
    sizes = {
        "gaussian": ("discrete Gaussian", law.gaussian),
        "laplace": ("discrete Laplace", law.laplace),
        "power": (f"power {power}", least),
        "table": (f"table of {len(law.table.absent)} probabilities", law.variance),
    }
    table = AnswerTable(
        (Column("noise", "noise", is_text=True), Column("variance", "variance")),
        tuple((name, Quantity(size, digits=5)) for name, size in sizes.values()),
    )
    promise = {"epsilon": Quantity(law.epsilon, Style.GIVEN), "delta": Quantity(law.delta, Style.GIVEN)}
    gain = Quantity(law.gain, Style.PERCENT)
    reached = Quantity(law.account_epsilon, rounding=Rounding.UP, digits=8)
    record = {
        "counts": law.counts,
        **promise,
        "gain": gain,
        "account_epsilon": reached,
        "variances": {name: size for name, (_, size) in sizes.items()},
    }
    title = sentence(
        "Noise on {counts} counts for epsilon {epsilon} at delta {delta}",
        counts=count_quantity(law.counts),
        **promise,
    )
    saved = sentence(
        "The table has {gain} less variance than the better of Gaussian and Laplace noise.", gain=gain
    )
    kept = sentence(
        "Its epsilon at this delta is {reached} by its account. That no table has less variance is not "
        "proved.",
        reached=reached,
    )
    return Answer(
        str(title),
        record,
        (table, saved, kept),
        (Fact("Variance to save", gain),),
        tables={"variances": table},
        summary=f"{title}: {gain} less variance than the better of Gaussian and Laplace noise",
    )


def picture_of(study: Study) -> Picture:
    """Return the picture of a study, as the list of studies says that it is drawn.

    >>> from discreet.studies.register import find
    >>> [line.label for line in picture_of(find("variance-deficit")[0].compute()).panels[0].items]
    ['computed', 'printed bound']
    """
    (entry,) = find(study.name)
    return study_picture(study, **entry.figure)


def studies_answer(found: Sequence[Study], *, own: bool = False, left_out: Sequence[str] = ()) -> Answer:
    """List the verdicts: all for one study, only the unconfirmed for many, the results for a user's files.

    >>> studies_answer([]).objects
    {'studies': [], 'summary': 'no printed values'}
    """
    checks = [check for study in found for check in study.checks]
    record = {"studies": [study_answer(study).record for study in found], "summary": verdicts(checks)}
    body: list[Part] = []
    quiet = () if len(found) == 1 else (Verdict.CONFIRMED, Verdict.GIVEN)
    for study in found:
        if own:
            body += [Paragraph(study.title, wraps=False), _rows(study), *_notes(study)]
        else:
            body += _checked(study, [check for check in study.checks if check.verdict not in quiet])
    if len(found) > 1:
        body.append(Paragraph(f"together: {verdicts(checks)}", wraps=False))
    if left_out:
        names = ", ".join(left_out)
        body.append(Paragraph(f"left out, since it needs --from FILE: {names}", wraps=False))
    return Answer("Studies of the papers", record, tuple(body), command="discreet reproduce all")


def study_list_answer(entries: Sequence[StudyEntry]) -> Answer:
    """List studies: what each shows, and where it appears in which paper.

    >>> from discreet.studies.register import find
    >>> study_list_answer(find("residuals")).objects["studies"][0]["takes_long"]
    False
    """
    columns = (
        Column("name", "name", is_text=True),
        Column("what", "what", is_text=True),
        Column("where", "where", is_text=True),
        Column("takes long", is_text=True),
        Column("paper", "paper", is_text=True),
        Column(key="takes_long"),
    )
    rows = tuple(
        (entry.name, entry.what, where(entry), "yes" if entry.is_long else "", entry.source, entry.is_long)
        for entry in entries
    )
    table = AnswerTable(columns, rows)
    return Answer("Studies", {"studies": table}, (table,), command="discreet reproduce --list")


def verdicts(checks: Iterable[Compared]) -> str:
    """Return the number of printed values with each verdict, in words.

    >>> verdicts([])
    'no printed values'
    """
    counts = Counter(check.verdict for check in checks)
    total = sum(counts.values())
    if not total:
        return "no printed values"
    parts = ", ".join(f"{many} {verdict.value}" for verdict, many in sorted(counts.items()))
    return f"{total} printed value{'s' * (total > 1)}: {parts}"


def _checked(study: Study, shown: Sequence[Compared]) -> Iterator[Part]:
    yield Paragraph(f"{study.name}: {len(study.rows)} rows; {verdicts(study.checks)}", wraps=False)
    if shown:
        yield _printed(shown)
    yield from _notes(study)


def _notes(study: Study) -> Iterator[Part]:
    return (Paragraph(f"  {note}") for note in study.notes)


def _printed(checks: Sequence[Compared]) -> AnswerTable:
    rows: list[tuple[Cell, ...]] = []
    for check in checks:
        said = check.printed
        about = (said.paper, said.place, said.what, said.at, said.text)
        rows.append((*about, check.ours, check.difference, check.verdict.value, check.why))
    return AnswerTable(_PRINTED, tuple(rows))


def _rows(study: Study) -> AnswerTable:
    """Return the table of a study, with the digits that hold for people and all digits for machines."""
    digits = 3 if study.name == "dhc-tables" else 5  # differences near rounding have no more
    texts = _TEXTS.get(study.name, 0)
    columns = tuple(
        Column(name.replace("_", " "), name, is_text=index < texts)
        for index, name in enumerate(study.columns)
    )
    rows = tuple(
        tuple(Quantity(v, Style.BRIEF, digits=digits) if isinstance(v, float) else v for v in row)
        for row in study.rows
    )
    return AnswerTable(columns, rows)
