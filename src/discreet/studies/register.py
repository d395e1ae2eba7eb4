"""The register of printed values, the list of studies, and the verdict on each value: confirmed or wrong.

`register.toml` has every printed number with its paper and place, and nothing computed. A study computes its
own value for each entry of its places, and `check` compares the two: to half a unit of the last printed
digit, plus three standard errors if the printed number was simulated. A number that differs may still follow
from rounded labels, or have been carried over from another setting: the verdict says so only if the other
reading gives the printed digits.

`studies.toml` has for each study its paper, the places whose printed numbers it compares, its title, its
notes and its figure, and names the function that computes it. Another guest may offer studies: a package with
the same three files (`figures.toml` is the third).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cache, wraps
from importlib.resources import files
from itertools import compress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.questions import Jobs
from discreet.answers.quantity import Quantity, Style
from discreet.budget.toml import hint
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.files import csv_text
from discreet.guests import loaded, offered
from discreet.memory import set_fields
from discreet.questions import Option
from discreet.render.csv import csv_of

if TYPE_CHECKING:
    from discreet.accounting.parallel import Progress

Kind = Literal["rounded", "bound", "at least", "draws", "input"]
STANDARD_ERRORS = 3
"""Standard errors by which a simulated value may differ from the computed one: one false alarm in 370."""
RAREST = 0.0027
"""The same as a probability, for values whose law is not normal."""

Value = str | int | float | None
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class _OfPaper(Protocol):
    @property
    def paper(self) -> str: ...


OfPaper = TypeVar("OfPaper", bound=_OfPaper)


class Verdict(StrEnum):
    """The result of a comparison with the printed number."""

    CONFIRMED = "confirmed"
    MONTE_CARLO = "within Monte Carlo error"
    POSSIBLE = "in the possible range"
    STATED = "within the stated error"
    ROUNDED = "rounded labels"
    CARRIED = "carried over"
    WRONG = "wrong"
    GIVEN = "taken as given"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed number: its place and its digits.

    >>> entry = printed("pnas", "Table 1", "reduction, percent")["US"]
    >>> entry.text, entry.value, entry.unit
    ('20.88', 20.88, 0.01)
    """

    paper: str
    place: str
    what: str
    at: str
    text: str
    kind: Kind
    draws: int | None

    @property
    def value(self) -> float:
        """The number."""
        return float(Fraction(self.text))

    @property
    def unit(self) -> float:
        """One unit of the last printed digit; zero for a fraction, which is exact."""
        if "/" in self.text:
            return 0.0
        exponent = Decimal(self.text).as_tuple().exponent
        assert isinstance(exponent, int)
        return float(f"1e{exponent}")

    def beyond(self, value: float) -> float:
        """The distance of `value` from the numbers that round to the printed digits; at most zero inside.

        >>> entry = printed("pnas", "appendix A.6, budget", "rho")["total"]
        >>> entry.beyond(3.646) <= 0 < entry.beyond(3.656)
        True
        """
        return abs(value - self.value) - self.unit / 2 * (1 + 1e-9)


@dataclass(frozen=True, slots=True)
class Compared:
    """A printed number beside the computed one, with the verdict and its reason."""

    printed: Printed
    computed: float | None
    verdict: Verdict
    why: str

    @property
    def difference(self) -> float | None:
        """The computed value minus the printed one."""
        return None if self.computed is None else self.computed - self.printed.value

    @property
    def ours(self) -> Quantity:
        """The computed value, with two digits more than printed."""
        text, value = self.printed.text, self.computed
        if "e" in text:
            return Quantity(value, Style.POWER, digits=len(text.partition("e")[0].replace(".", "")) + 1)
        if "/" in text:
            return Quantity(value, Style.PLACES, digits=6)
        places = len(text.partition(".")[2])
        is_whole = places == 0 and value is not None and value == int(value)
        return Quantity(value, Style.PLACES, digits=0 if is_whole else places + 2)

    @property
    def digits(self) -> str:
        """The computed value as a text; empty if there is none.

        >>> check_printed(printed("pnas", "appendix A.6, budget", "rho")["total"], 3.6501).digits
        '3.6501'
        """
        return "" if self.computed is None else str(self.ours)


@cache
def register() -> tuple[Printed, ...]:
    """Return all printed numbers, in the order of the papers.

    >>> {entry.paper for entry in register()} >= {"pnas", "sieve", "risk"}
    True
    """
    entries = []
    for entry in (entry for _, stated in stated_in("register.toml") for entry in stated["printed"]):
        for at, text in zip(entry["at"], entry["value"], strict=True):
            kind, draws = entry.get("kind", "rounded"), entry.get("draws")
            entries.append(Printed(entry["paper"], entry["place"], entry["what"], at, text, kind, draws))
    return tuple(in_order_of_papers(entries))


@cache
def papers() -> Mapping[str, str]:
    """Return the papers with printed numbers by their short names.

    >>> papers()["sieve"]
    'Su, Su and Wang 2026, arXiv:2606.29835'
    """
    compared = {entry.paper for entry in register()}
    return {name: source for name, source in _sources().items() if name in compared}


@cache
def _sources() -> Mapping[str, str]:
    """All papers that are known, in the order in which they are shown."""
    sources: dict[str, str] = {}
    for _, stated in stated_in("register.toml"):
        sources |= stated.get("papers", {})
    return sources


@cache
def stated_in(name: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return what the file with this name says in each package that has studies, with the package's name."""
    packages = offered("studies", ModuleType)
    return tuple((each.__name__, tomllib.loads((files(each) / name).read_text("utf-8"))) for each in packages)


def in_order_of_papers(entries: Iterable[OfPaper]) -> list[OfPaper]:
    """Return printed numbers, studies or figures of several packages, paper by paper."""
    order = list(_sources())
    return sorted(entries, key=lambda entry: order.index(entry.paper))


def printed(paper: str, place: str, what: str) -> dict[str, Printed]:
    """Return the printed values of one quantity at one place, by row.

    >>> [entry.text for entry in printed("pnas", "appendix A.6, budget", "rho").values()]
    ['3.65']
    """
    entries = {e.at: e for e in register() if (e.paper, e.place, e.what) == (paper, place, what)}
    if not entries:
        raise InputError(f"the register has no {what!r} for {place!r} of {paper!r}")
    return entries


Reading = tuple[Verdict, float]
"""Another reading of a printed number: its verdict, and the value it gives."""


def check_printed(
    entry: Printed,
    computed: float | None,
    *,
    why: str = "",
    explained: str = "",
    error: float | None = None,
    chance: float | None = None,
    otherwise: Reading | None = None,
    stated: float = 0.0,
) -> Compared:
    """Compare a printed number with the computed one.

    `error` is the standard error of a simulated number, in its unit; or `chance` is the probability of a
    result as far off. `why` is always reported, `explained` only if the printed number is not confirmed.
    `otherwise` is the verdict if the printed digits are those of another value. `stated` is the error that
    the paper itself allows.

    >>> entry = printed("pnas", "section 3.2, text on Table 1", "reduction, percent")["national"]
    >>> check_printed(entry, 20.88, explained="this is State's").verdict
    <Verdict.WRONG: 'wrong'>
    >>> check_printed(entry, 15.0834).verdict
    <Verdict.CONFIRMED: 'confirmed'>
    >>> check_printed(entry, 11.45, otherwise=(Verdict.CARRIED, 15.0834)).verdict
    <Verdict.CARRIED: 'carried over'>
    """
    if computed is None:
        given = entry.kind == "input"
        return Compared(entry, None, Verdict.GIVEN if given else Verdict.NOT_CHECKED, why)
    if entry.kind in ("bound", "at least"):
        above = computed > entry.value if entry.kind == "bound" else computed < entry.value
        verdict, said = (Verdict.WRONG, explained) if above else (Verdict.CONFIRMED, "the bound holds")
        return Compared(entry, computed, verdict, "; ".join(filter(None, (said, why))))
    beyond = entry.beyond(computed)
    if beyond <= 0:
        return Compared(entry, computed, Verdict.CONFIRMED, why)
    if entry.kind == "draws":
        if error is not None and beyond <= STANDARD_ERRORS * error:
            said = "; ".join(filter(None, (f"standard error {Style.BRIEF.quantity(error, 2)}", why)))
            return Compared(entry, computed, Verdict.MONTE_CARLO, said)
        if chance is not None and chance >= RAREST:
            return Compared(entry, computed, Verdict.MONTE_CARLO, why)
    verdict = Verdict.WRONG
    if otherwise is not None and entry.beyond(otherwise[1]) <= 0:
        verdict = otherwise[0]
    elif beyond <= stated:
        verdict = Verdict.STATED
    elif entry.kind == "draws" and error is None and chance is None:
        return Compared(entry, computed, Verdict.NOT_CHECKED, why)
    return Compared(entry, computed, verdict, "; ".join(filter(None, (explained, why))))


def check_range(entry: Printed, low: float, high: float, *, error: float, why: str) -> Compared:
    """Say whether a printed number can be right if only a range is known for it; `error` as for `check`.

    >>> entry = printed("pnas", "section 3.2, errors", "MSE, non-negative: reduction, percent")["State"]
    >>> check_range(entry, 12.01, 15.08, error=0.01, why="for any counts").verdict
    <Verdict.POSSIBLE: 'in the possible range'>
    """
    nearest = min(max(entry.value, low), high)
    possible = entry.beyond(nearest) <= STANDARD_ERRORS * error
    said = f"between {Style.PLACES.quantity(low, 2)} and {Style.PLACES.quantity(high, 2)}, {why}"
    return Compared(
        entry, None if possible else nearest, Verdict.POSSIBLE if possible else Verdict.WRONG, said
    )


def compare_printed(
    paper: str,
    place: str,
    what: str,
    mine: Mapping[str, float],
    *,
    otherwise: tuple[Verdict, Mapping[str, float]] | None = None,
    **more: str,
) -> list[Compared]:
    """Compare all printed rows of one quantity with the computed ones.

    >>> (check,) = compare_printed("pnas", "appendix A.6, budget", "rho", {"total": 3.65})
    >>> check.verdict.value
    'confirmed'
    """
    compared = []
    for at, entry in printed(paper, place, what).items():
        reading = None if otherwise is None or at not in otherwise[1] else (otherwise[0], otherwise[1][at])
        compared.append(check_printed(entry, float(mine[at]), otherwise=reading, **more))  # type: ignore[arg-type]
    return compared


# -- studies ---------------------------------------------------------------------------------------------

Found = Iterator[Sequence[object] | Compared]
"""What the function of a study yields: rows of its table, and comparisons with printed values."""
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Study(Displayed):
    """One result of a paper, recomputed, with the printed values that belong to it.

    `rows` have a value for each of `columns`, None if there is none. `checks` has an entry for each printed
    number.

    >>> study = Study("demo", "A demonstration", "nobody", ("n", "value"), ((1, 0.5), (2, None)))
    >>> print(study.csv(), end="")
    n,value
    1,0.5
    2,
    >>> study.where(n=1).numbers("value")
    array([0.5])
    """

    name: str
    title: str
    source: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    checks: tuple[Compared, ...] = ()

    def __post_init__(self) -> None:
        plain = tuple(tuple(v.item() if isinstance(v, np.generic) else v for v in row) for row in self.rows)
        if any(len(row) != len(self.columns) for row in plain):
            raise InputError(f"a row of study {self.name!r} has not as many values as there are columns")
        set_fields(self, rows=plain)

    def csv(self) -> str:
        """Return the table as CSV, with all digits of every float."""
        return csv_text(self.columns, self.rows)

    def column(self, name: str) -> list[Value]:
        """Return the values of one column."""
        if name not in self.columns:
            raise InputError(f"study {self.name!r} has no column {name!r}; it has {', '.join(self.columns)}")
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def numbers(self, name: str) -> Floats:
        """Return one column as floats, with nan for missing values."""
        return np.array([np.nan if v is None else float(v) for v in self.column(name)], dtype=np.float64)

    def distinct(self, name: str) -> list[Value]:
        """Return the distinct values of a column, in order of appearance."""
        return list(dict.fromkeys(self.column(name)))

    def where(self, **equal: Value) -> Study:
        """Return the study restricted to the rows with these values."""
        columns = [self.column(name) for name in equal]
        kept = [values == tuple(equal.values()) for values in zip(*columns, strict=True)]
        return replace(self, rows=tuple(compress(self.rows, kept)) if equal else self.rows)


# -- the list ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """One study of the list: what it shows, where that is in the paper, and where its function is."""

    name: str
    module: str
    what: str
    paper: str
    title: str
    figure: Mapping[str, Any]
    shows: tuple[str, ...] = ()
    """Tables, figures and sections whose printed numbers are compared."""
    notes: tuple[str, ...] = ()
    is_long: bool = False
    takes_counts: bool = False
    takes_tables: bool = False
    """Whether it compares a file of published numbers, and needs one."""
    of: str = ""
    """The study whose table it shows, in whole or only the rows selected by `where`."""
    where: Mapping[str, Value] = field(default_factory=dict)

    @property
    def printed(self) -> tuple[Printed, ...]:
        """The printed numbers that belong to it."""
        return tuple(entry for entry in register() if entry.paper == self.paper and entry.place in self.shows)

    @property
    def source(self) -> str:
        """Its paper."""
        return papers()[self.paper]

    def compute(
        self,
        *,
        jobs: Jobs = 1,
        progress: Progress | None = None,
        counts: Annotated[Path | None, Option("Your own counts, for accuracy and slope.", "FILE.csv")] = None,
        tables: Annotated[
            Path | None, Option("The authors' published deltas, for dhc-tables.", "FILE", each="from")
        ] = None,
    ) -> Study:
        """Compute the tables; `counts` and `tables` are a user's files, for the studies that take one."""
        if self.of:
            whole = find(self.of)[0].compute(jobs=jobs, progress=progress).where(**self.where)
            mine = tuple(check for check in whole.checks if check.printed in self.printed)
            return replace(whole, name=self.name, title=self.title, notes=self.notes, checks=mine)
        work = cast("Callable[..., Study]", loaded(f"{self.module}:{self.name.replace('-', '_')}"))
        if counts is not None and not self.takes_counts:
            able = " and ".join(entry.name for entry in studies() if entry.takes_counts)
            raise InputError(f"{self.name} takes no counts; --counts is for {able}")
        if (tables is not None) != self.takes_tables:
            able = " and ".join(entry.name for entry in studies() if entry.takes_tables)
            needed = f"{self.name} needs --from FILE: the published numbers to compare with ours"
            raise InputError(needed if self.takes_tables else f"--from is for {able}, not for {self.name}")
        more: dict[str, object] = {"counts": counts} if counts else {}
        more |= {"jobs": jobs, "progress": progress} if self.is_long else {}
        more |= {"tables": tables} if tables else {}
        return work(**more)

    def files(self, study: Study) -> dict[str, bytes]:
        """Return the bytes of its files, by their names."""
        from discreet.render.pictures import figure_bytes, figure_of
        from discreet.studies.answer import study_answer

        answer = study_answer(study)
        figure = figure_of(answer.figures["study"]())
        tables = {".csv": study.csv(), "-printed.csv": csv_of(answer.tables["printed"])}
        files = {f"{self.name}{ending}": text.encode() for ending, text in tables.items()}
        files |= {f"{self.name}.{kind}": figure_bytes(figure, kind) for kind in ("png", "svg")}
        return {name: files[name] for name in self.file_names}

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of its files."""
        tables = (".csv", "-printed.csv") if self.printed else (".csv",)
        return tuple(f"{self.name}{ending}" for ending in (*tables, ".png", ".svg"))


@cache
def studies() -> tuple[StudyEntry, ...]:
    """Return all studies, in the order of the papers."""
    entries = []
    for package, stated in stated_in("studies.toml"):
        for name, fields in stated.items():
            texts = {key: tuple(fields.get(key, ())) for key in ("shows", "notes")}
            module = f"{package}.{fields['module']}"
            entries.append(StudyEntry(name=name, **fields | texts | {"module": module}))
    return tuple(in_order_of_papers(entries))


def find(name: str) -> tuple[StudyEntry, ...]:
    """Return the study with a name, or all of them.

    >>> [entry.name for entry in find("residuals")], find("all") == studies()
    (['residuals'], True)
    >>> find("residual")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no study 'residual'; did you mean "residuals"?
    """
    names = {entry.name: (entry,) for entry in studies()}
    wanted = name.strip().lower().replace("_", "-")
    if wanted == "all":
        return studies()
    if wanted in names:
        return names[wanted]
    near = hint(name, names) or "; `discreet reproduce --list` shows all"
    raise InputError(f"there is no study {name!r}{near}")


def made(
    name: str, columns: str, rows: Iterable[Sequence[object]], *checks: Iterable[Compared], **facts: object
) -> Study:
    """Return a study with its title and notes from the list, and a check for each printed number.

    Inputs of the paper need no check; a result without one is an error. `facts` are filled into the notes and
    the title.
    """
    (entry,) = find(name)
    compared = [item for part in checks for item in part]
    known = {item.printed for item in compared}
    for expected in entry.printed:
        if expected not in known:
            if expected.kind != "input":
                raise LookupError(f"study {name} has no value for {expected}")
            compared.append(check_printed(expected, None))
    notes = tuple(filter(None, (note.format(**facts) for note in entry.notes)))
    title = entry.title.format(**facts) if facts else entry.title
    table = cast("tuple[tuple[Value, ...], ...]", tuple(map(tuple, rows)))
    return Study(name, title, entry.source, tuple(columns.split()), table, notes, tuple(compared))


def study(columns: str) -> Callable[[Callable[P, Found]], Callable[P, Study]]:
    """Decorate a function that yields the rows of a study, with these columns, and its comparisons."""

    def decorate(function: Callable[P, Found]) -> Callable[P, Study]:
        @wraps(function)
        def compute(*args: P.args, **kwargs: P.kwargs) -> Study:
            items = list(function(*args, **kwargs))
            checks = [item for item in items if isinstance(item, Compared)]
            rows = [item for item in items if not isinstance(item, Compared)]
            return made(function.__name__.replace("_", "-"), columns, rows, checks)

        return compute

    return decorate
