"""An entry of the ledger: one run, the release it made, its inputs and outputs by hash, and when."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from discreet.budget import Neighbours, Release
from discreet.budget.neighbours import records_apart
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.ledger.manifests import JsonDict, JsonObject, recorded_hash
from discreet.ledger.spending import most_charged, spent, spent_epsilon
from discreet.numbers import whole
from discreet.rehearsal import NOT_PRIVATE

_ID = re.compile(r"[0-9a-f]{32}(-[A-Za-z]{1,20})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Summarised):
    """One run: the release it made, its inputs and outputs by hash, and when.

    If a person may have up to `at_most` records, `release` is what such a person sees: the noise of the run,
    and every sensitivity so many times larger. So it costs what the person pays, in whatever way it is asked.
    If `delta` is above zero, the run costs what the release does but for an event of that probability, with
    a record added or removed; twice that, if one is replaced.
    """

    release: Release
    id: str = ""
    time: str = ""
    version: str = ""
    command: str = ""
    at_most: int = 1
    delta: Fraction = Fraction(0)
    rehearsal: int | None = None
    inputs: tuple[JsonDict, ...] = ()
    tree: str = ""
    exact: tuple[tuple[str, str], ...] = ()
    output: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    salt: str = ""
    charged: Fraction | None = None
    """The rho that an earlier version charged where it knew no better bound; it stays charged."""

    @property
    def counted(self) -> bool:
        """Whether the run counts: a rehearsal protects nobody, so it spends nothing that could be counted."""
        return self.rehearsal is None

    @property
    def rho(self) -> Fraction:
        """What the run is charged, under its own neighbours; nothing if it was a rehearsal."""
        return self.rho_for(self.release.neighbours)

    def rho_for(self, neighbours: Neighbours) -> Fraction:
        """Return what the run is charged under the given neighbours: what it spent, or what was written."""
        if not self.counted:
            return Fraction(0)
        if self.charged is None:
            return spent(self.release, neighbours)
        return self.charged * records_apart(neighbours) / records_apart(self.release.neighbours)

    @property
    def epsilon(self) -> Fraction | None:
        """The epsilon of pure privacy that it spent, if all of its noise is Laplace noise and never fails."""
        if self.counted and self.delta:
            return None
        return spent_epsilon(self.release) if self.counted else Fraction(0)

    def delta_for(self, neighbours: Neighbours) -> Fraction:
        """Return what the run adds to the delta of its release, for a record that is added or replaced."""
        several = records_apart(neighbours) * self.delta
        return min(several, Fraction(1)) if self.counted else Fraction(0)

    @property
    def _spent(self) -> str:
        """What the file says was spent; versions that know no delta of an entry refuse it as they read it."""
        return f"{self.rho} but for {self.delta}" if self.counted and self.delta else str(self.rho)

    def document(self) -> JsonDict:
        """Return the entry as it stands in the file."""
        data: JsonDict = {} if self.counted else {"warning": f"{NOT_PRIVATE}: a rehearsal"}
        data |= {"id": self.id, "time": self.time, "version": self.version, "command": self.command}
        data |= {"rehearsal": self.rehearsal, "unit": self.release.unit}
        data |= {"neighbours": self.release.neighbours, "rho": self._spent}
        data |= {"at_most": self.at_most} if self.at_most > 1 else {}
        data |= {"delta": str(self.delta)} if self.delta else {}
        data |= {"exact": [list(pair) for pair in self.exact], "inputs": list(self.inputs)}
        data |= {"tree": self.tree, "output": self.output, "files": dict(self.files)}
        data["release"] = self.release.to_toml(input=False)
        return data | ({"salt": self.salt} if self.salt else {})

    @classmethod
    def from_document(cls, data: JsonObject) -> Entry:
        """Read an entry, and check that it spends what it says."""
        if not _ID.fullmatch(data["id"]):
            raise InputError(f"an entry's id is {str(data['id'])[:50]!r}, which no run would write")
        entry = cls(
            **{
                name: plain_text(data[name])
                for name in ("id", "time", "version", "command", "tree", "output")
            },
            release=Release.from_toml(data["release"], where=f"the release of entry {data['id']}"),
            at_most=whole(data.get("at_most", 1), name=f"at_most of entry {data['id']}"),
            delta=_delta(data.get("delta", "0"), data["id"]),
            rehearsal=data["rehearsal"],
            inputs=tuple({**file, "sha256": plain_text(file["sha256"])} for file in data["inputs"]),
            exact=tuple((plain_text(level), plain_text(query)) for level, query in data["exact"]),
            files={plain_text(name): plain_text(digest) for name, digest in data["files"].items()},
            salt=plain_text(data.get("salt", "")),
            charged=None,
        )
        if data["rho"] != entry._spent:
            entry = replace(entry, charged=_charged_before(data["rho"], entry.release))
        if data["rho"] != entry._spent:
            raise InputError(
                f"entry {entry.id} says rho {data['rho']}, but its release spends "
                f"{replace(entry, charged=None)._spent}"
            )
        return entry

    def staging(self, folder: Path, tag: str) -> Path:
        """Return where its output waited before it appeared: a name that no other file would have."""
        return (folder / self.output).parent / f".discreet-{tag}-{self.id[:32]}.partial"

    def made(self, output: Path) -> bool:
        """Whether the files of a directory are those of this run."""
        try:
            return bool(self.files) and all(
                os.path.isfile(output / name) and recorded_hash(output / name) == digest
                for name, digest in self.files.items()
            )
        except OSError:
            return False


def _charged_before(text: object, release: Release) -> Fraction | None:
    """The rho that an entry states, if an earlier version would have charged that; else None."""
    try:
        stated = Fraction(plain_text(text).partition(" ")[0])
    except (ValueError, ZeroDivisionError):
        return None
    return stated if spent(release) <= stated <= most_charged(release) else None


def _delta(text: object, name: str) -> Fraction:
    delta = Fraction(plain_text(text))
    if not 0 <= delta < 1:
        raise InputError(f"delta of entry {name} is {text}; it must be at least 0 and below 1")
    return delta


def now() -> str:
    """Return the time as ledgers write it.

    >>> len(now())
    25
    """
    return datetime.now(UTC).isoformat(timespec="seconds")


def several(unit: str, at_most: int) -> str:
    """Say who is protected if one of the unit may have several records.

    >>> several("person", 2)
    'a person in up to 2 records'
    """
    return f"{'an' if unit[0] in 'aeiou' else 'a'} {unit} in up to {at_most} records"


def plain_text(text: object) -> str:
    """Return what must be a text, and one that can name a file."""
    if not isinstance(text, str) or "\0" in text:
        raise TypeError
    return text
