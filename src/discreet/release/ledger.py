"""The ledger: what each run spent, exactly, and on what input.

A ledger is one JSON file. It may declare a total for a unit of privacy; a run that would exceed it is
refused, by comparing fractions. All runs of a ledger count together, whatever their input's hash: a
corrected file has a new hash but the same people in it. Keep one ledger for each population.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.budget import Neighbours, Release
from discreet.budget.fields import exact, one_of
from discreet.budget.neighbours import RELATIONS
from discreet.budget.release import UNITS
from discreet.errors import InputError
from discreet.numbers import Exact
from discreet.release.spending import spent

FORMAT = "discreet ledger 1"
"""What the first key of a ledger says."""

NOT_PRIVATE = "NOT PRIVATE"
"""The mark of everything that a rehearsal writes."""


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Total:
    """The most that all runs of a ledger together may spend on one record.

    >>> print(Total(unit="person", neighbours="bounded", rho="3/4"))
    person, bounded neighbours: rho 3/4
    """

    unit: str
    neighbours: Neighbours
    rho: Fraction

    def __init__(self, *, unit: str, neighbours: Neighbours, rho: Exact) -> None:
        object.__setattr__(self, "unit", one_of(unit, UNITS, name="unit of a total", field=("unit",)))
        relation = one_of(neighbours, RELATIONS, name="neighbours of a total", field=("neighbours",))
        object.__setattr__(self, "neighbours", relation)
        object.__setattr__(self, "rho", exact(rho, name="rho of a total", field=("rho",)))

    def __str__(self) -> str:
        return f"{self.unit}, {self.neighbours} neighbours: rho {self.rho}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One run: the release it made, its inputs and outputs by hash, and when.

    `staged` is set while the run is being committed: see `discreet.release.commit`.
    """

    id: str
    time: str
    version: str
    command: str
    release: Release
    rehearsal: int | None = None
    inputs: tuple[dict[str, Any], ...] = ()
    tree: str = ""
    exact: tuple[tuple[str, str], ...] = ()
    output: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    staged: str | None = None

    @property
    def counted(self) -> bool:
        """Whether the run counts: a rehearsal protects nobody, so it spends nothing that could be counted."""
        return self.rehearsal is None

    @property
    def rho(self) -> Fraction:
        """What the run spent, under its own neighbours; nothing if it was a rehearsal."""
        return spent(self.release) if self.counted else Fraction(0)

    def to_json(self) -> dict[str, Any]:
        """Return the entry as it stands in the file."""
        data: dict[str, Any] = {} if self.counted else {"warning": f"{NOT_PRIVATE}: a rehearsal"}
        data |= {"id": self.id, "time": self.time, "version": self.version, "command": self.command}
        data |= {"rehearsal": self.rehearsal, "unit": self.release.unit}
        data |= {"neighbours": self.release.neighbours, "rho": str(self.rho)}
        data |= {"exact": [list(pair) for pair in self.exact], "inputs": list(self.inputs)}
        data |= {"tree": self.tree, "output": self.output, "files": dict(self.files)}
        data["release"] = self.release.to_toml()
        return data | ({"staged": self.staged} if self.staged is not None else {})

    @property
    def digest(self) -> str:
        """The SHA-256 of the entry as written, `staged` left out."""
        data = replace(self, staged=None).to_json()
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

    def __str__(self) -> str:
        what = f"rho {self.rho}" if self.counted else f"{NOT_PRIVATE}, a rehearsal: not counted"
        kept = f"; exact, outside the guarantee: {_pairs(self.exact)}" if self.exact else ""
        return f"{self.time}  {self.command} {self.release.name}  {what}{kept}"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The totals that are declared and the entries that count.

    >>> ledger = Ledger((Total(unit="person", neighbours="bounded", rho="1"),))
    >>> ledger.spent("person", "bounded"), ledger.left("person")
    (Fraction(0, 1), Fraction(1, 1))
    """

    totals: tuple[Total, ...] = ()
    entries: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        units = [total.unit for total in self.totals]
        if len(set(units)) < len(units):
            raise InputError(f"the ledger declares two totals for one unit ({', '.join(units)})")

    def spent(self, unit: str, neighbours: Neighbours) -> Fraction:
        """Return the sum of rho over the runs about this unit, under the given neighbours."""
        runs = [entry.release for entry in self.entries if entry.counted and entry.release.unit == unit]
        return sum((spent(release, neighbours) for release in runs), Fraction(0))

    def total(self, unit: str) -> Total | None:
        """Return the total declared for a unit."""
        return next((total for total in self.totals if total.unit == unit), None)

    def left(self, unit: str) -> Fraction | None:
        """Return what is left of the total of a unit; None if no total is declared."""
        total = self.total(unit)
        return None if total is None else total.rho - self.spent(unit, total.neighbours)

    def allow(self, release: Release, *, where: str = "the ledger") -> None:
        """Raise unless the release fits into what is left: exactly, and in the unit it is about.

        >>> from discreet.budget import Level, Query
        >>> state = Level(name="State", queries=[Query(name="total", variance=4)])
        >>> run = Release(name="small", neighbours="bounded", levels=[state])
        >>> Ledger((Total(unit="person", neighbours="bounded", rho="1/5"),)).allow(run)
        Traceback (most recent call last):
        discreet.errors.InputError: the run needs rho 1/4, but of the total 1/5 of the ledger for one person \
(bounded neighbours) only 1/5 is left; nothing was measured and nothing spent
        """
        if not self.totals:
            return
        total = self.total(release.unit)
        if total is None:
            raise InputError(
                f"{where} declares totals for {', '.join(one.unit for one in self.totals)}, but none for "
                f"{release.unit}, which release {release.name!r} is about; declare one, or use another ledger"
            )
        left, needed = self.left(release.unit), spent(release, total.neighbours)
        assert left is not None
        if needed > left:
            raise InputError(
                f"the run needs rho {needed}, but of the total {total.rho} of {where} for one {total.unit} "
                f"({total.neighbours} neighbours) only {max(left, Fraction(0))} is left; "
                "nothing was measured and nothing spent"
            )

    @property
    def head(self) -> str:
        """A hash over all entries in order: a changed or missing entry changes it."""
        head = hashlib.sha256(FORMAT.encode())
        for entry in self.entries:
            head = hashlib.sha256((head.hexdigest() + entry.digest).encode())
        return head.hexdigest()

    def to_text(self) -> str:
        """Return the ledger as the text of its file."""
        totals = [{"unit": t.unit, "neighbours": t.neighbours, "rho": str(t.rho)} for t in self.totals]
        entries = [entry.to_json() for entry in self.entries]
        data = {"format": FORMAT, "totals": totals, "head": self.head, "entries": entries}
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str, *, where: str) -> Ledger:
        """Read a ledger from the text of its file; `where` is what an error calls it.

        >>> Ledger.from_text(Ledger().to_text(), where="x") == Ledger()
        True
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            place = f"line {error.lineno} of {where}" if isinstance(error, json.JSONDecodeError) else where
            raise InputError(f"not a ledger: the text is not valid JSON ({place})") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f'not a ledger: it must begin with "format": "{FORMAT}" ({where})')
        try:
            totals = tuple(Total(**item) for item in data["totals"])
            entries = tuple(_entry(item) for item in data["entries"])
            ledger, head = cls(totals, entries), str(data["head"])
        except KeyError as error:
            raise InputError(f"the ledger is damaged: the key {error} is missing ({where})") from None
        except (TypeError, AttributeError, ValueError) as error:
            reason = str(error) if isinstance(error, InputError) else "a field is of the wrong kind"
            raise InputError(f"the ledger is damaged: {reason} ({where})") from None
        if ledger.head != head:
            raise InputError(
                f"the ledger is damaged: its entries do not match its hash, so one was changed, added or "
                f"removed by other means than a run ({where})"
            )
        return ledger

    def __str__(self) -> str:
        lines = [f"total for one {total}, left {self.left(total.unit)}" for total in self.totals]
        lines += [str(entry) for entry in self.entries]
        for unit in dict.fromkeys(entry.release.unit for entry in self.entries if entry.counted):
            spends = (f"{self.spent(unit, relation)} {relation}" for relation in RELATIONS)
            lines.append(f"spent on one {unit}: rho {', '.join(spends)}")
        return "\n".join(lines) or "an empty ledger, without totals"


def read_ledger(path: str | os.PathLike[str]) -> Ledger:
    """Return the ledger as it stands: runs whose output has appeared, and no others.

    >>> read_ledger("no-such-ledger.json")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no ledger no-such-ledger.json
    """
    file = Path(path)
    text = read_text(file)
    while True:
        ledger = settled(Ledger.from_text(text, where=str(file)), file.parent)
        # A run that is being undone removes its staging directory after its entry: read until both agree.
        if (again := read_text(file)) == text:
            return ledger
        text = again


def is_ledger(path: str | os.PathLike[str]) -> bool:
    """Tell a ledger from a release by the first bytes of the file.

    >>> is_ledger("no-such-file")
    False
    """
    try:
        with open(path, "rb") as stream:
            return FORMAT.encode() in stream.read(200)
    except OSError:
        return False


def settled(ledger: Ledger, folder: Path) -> Ledger:
    """Drop the entries of runs whose output still waits in its staging directory.

    The rename that makes the output appear makes that directory disappear, in one step. So an entry
    counts unless its directory is there; if somebody removed that by hand, it counts: the safe side.
    """
    kept = (e for e in ledger.entries if e.staged is None or not os.path.isdir(folder / e.staged))
    return Ledger(ledger.totals, tuple(replace(entry, staged=None) for entry in kept))


def read_text(file: Path) -> str:
    """Return the text of a ledger file, or raise an `InputError`."""
    try:
        if not file.exists():
            raise InputError(f"there is no ledger {file}")
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"the ledger {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"not a ledger: the text is not UTF-8 ({file})") from None


def _entry(data: Mapping[str, Any]) -> Entry:
    release = Release.from_toml(data["release"], where=f"the release of entry {data['id']}")
    entry = Entry(
        id=data["id"],
        time=data["time"],
        version=data["version"],
        command=data["command"],
        release=release,
        rehearsal=data["rehearsal"],
        inputs=tuple(dict(item) for item in data["inputs"]),
        tree=data["tree"],
        exact=tuple((level, query) for level, query in data["exact"]),
        output=data["output"],
        files=dict(data["files"]),
        staged=data.get("staged"),
    )
    if data["rho"] != str(entry.rho):
        raise InputError(f"entry {entry.id} says rho {data['rho']}, but its release spends {entry.rho}")
    return entry


def _pairs(pairs: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{level}: {query}" for level, query in pairs)
