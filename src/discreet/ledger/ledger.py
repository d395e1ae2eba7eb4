"""The ledger: what each run spent, exactly, and on what input.

A ledger is one JSON file with a list of entries: runs, totals that runs together may not exceed, keys, and
counts in which a person may have several records.
All runs of a ledger count together, whatever their input's hash: a corrected file has a new hash but the same
people in it. Keep one ledger for each population, beside its data and out of what is published.

Everything in the file is chained. The head after entry k is

    head(0) = SHA-256(format, the ledger's random name),   head(k) = SHA-256(head(k - 1), entry k),

and the file's `head` is the last one. Each output carries the head after its own entry, so that a ledger
which lacks the run, is older than it, or was rewritten, is found out (`check_ledger`). An entry of a run
holds a random salt: a head that is published tells nothing about the hash of the confidential input under it.

A run is announced before its output appears (see `discreet.ledger.commit`): then `pending` is a hash of the
head. The last entry counts unless its staging directory, whose name follows from the entry, is still there.

If entries are signed, the file has a `seal`: a signature of its head, and of whether a run is pending. So
nobody without the key can cut off the last entries, or have the last one taken for a run that never happened.
An older state of the whole file was sealed too, at its time: only a witness tells it from the latest. A
ledger of the format before has no seal; there a pending run counts if entries are signed, to be safe.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from discreet import numbers
from discreet.budget import Neighbours, Release
from discreet.budget.claims import AnswerKind
from discreet.budget.toml import line
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.ledger.charges import charged, charged_units
from discreet.ledger.entry import Entry, now, plain_text, several
from discreet.ledger.manifests import JsonDict, JsonObject, file_text
from discreet.ledger.spending import spent, spent_epsilon
from discreet.ledger.total import Total, short_delta
from discreet.numbers import SMALLEST, whole

if TYPE_CHECKING:
    from discreet.ledger.signing import Key

FORMAT = "discreet ledger 3"
"""The format that is written: if entries are signed, so is the head, and whether the last run is pending."""

UNSEALED = "discreet ledger 2"
"""The format before it, read and written as it is; `discreet ledger upgrade` makes it the present one.

Its name begins the chain in both, so that an upgrade leaves all heads as they are.
"""

CONFIDENTIAL = ("counts", "persons", "records")
"""Roles of inputs whose content is protected; the others are public tables and parameters."""

_KEY = "--key, or in DISCREET_LEDGER_KEY"


@dataclass(frozen=True)
class Ledger(Summarised):
    """The entries of a ledger, as written; its totals and runs are read from them.

    >>> ledger = Ledger.new([Total(unit="person", neighbours="bounded", rho="1")])
    >>> ledger.spent("person", "bounded"), ledger.left("person")
    (Fraction(0, 1), Fraction(1, 1))
    """

    id: str
    records: tuple[JsonObject, ...] = ()
    pending: bool = False
    format: str = FORMAT

    @classmethod
    def new(cls, totals: Sequence[Total] = ()) -> Ledger:
        """Return an empty ledger with totals."""
        keys = [total.key for total in totals]
        if len(set(keys)) < len(keys):
            units = ", ".join(total.unit for total in totals)
            raise InputError(f"the ledger declares two totals for one unit ({units})")
        ledger = cls(secrets.token_hex(16))
        for total in totals:
            ledger = ledger.with_total(total, "declared when the ledger was made")
        return ledger

    # -- reading -----------------------------------------------------------------------------------------

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The runs, rehearsals included."""
        return tuple(Entry.from_document(record) for record in self.records if record["kind"] == "run")

    @cached_property
    def totals(self) -> tuple[Total, ...]:
        """The totals that hold now: of several for the same unit the latest."""
        totals = {}
        for record in self.records:
            if record["kind"] == "total":
                names = ("rho", "epsilon", "delta", "unit", "neighbours")
                total = Total(**{name: record[name] for name in names if name in record})
                totals[total.key] = total
        return tuple(totals.values())

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """The head after no entry, after the first, and so on."""
        heads = [_sha256(UNSEALED, self.id)]
        for record in self.records:
            heads.append(_sha256(heads[-1], _canonical(record)))
        return tuple(heads)

    @property
    def head(self) -> str:
        """A hash over all entries in order: anything that is changed, added or removed changes it."""
        return self.heads[-1]

    @cached_property
    def remembered(self) -> Mapping[str, int]:
        """How many records of a person counts may hold, by their content (see
        `discreet.ledger.records_per_person`).

        `tabulate` has looked at the records, so its word replaces what was known. A run only takes a number
        over, so of several the largest holds.
        """
        at_most: dict[str, int] = {}
        for record in self.records:
            if record["kind"] == "counts":
                content, *_ = (plain_text(record[name]) for name in ("content", "time", "release"))
                at_most[content] = whole(record["at_most"], name="at_most of counts")
            elif record["kind"] == "run":
                most = whole(record.get("at_most", 1), name="at_most of a run")
                for content in (
                    plain_text(given["content"]) for given in record["inputs"] if "content" in given
                ):
                    at_most[content] = max(at_most.get(content, 1), most)
        return at_most

    @property
    def noted_counts(self) -> list[JsonDict]:
        """What `tabulate` noted: when, of which release, and how many records of a person the counts hold."""
        noted = (record for record in self.records if record["kind"] == "counts")
        return [{name: counts[name] for name in ("time", "release", "at_most")} for counts in noted]

    @property
    def keys(self) -> tuple[str, ...]:
        """The public keys that entries were signed with, one after the other, in hexadecimal digits."""
        return tuple(str(record["public"]) for record in self.records if record["kind"] == "key")

    @property
    def key(self) -> str | None:
        """The public key that entries are signed with now."""
        return self.keys[-1] if self.keys else None

    @property
    def witness(self) -> str:
        """A short form of the head, to be kept elsewhere: how many entries there are, and their hash.

        >>> len(Ledger.new().witness)
        41
        """
        return f"{len(self.records)}:{'-'.join(wrap(self.head[:32], 4))}"

    def agrees(self, witness: str) -> bool:
        """Whether this ledger goes on from the one that the witness was taken of."""
        number, _, digits = witness.strip().partition(":")
        plain = digits.replace("-", "").lower()
        if not number.isdecimal() or len(number) > 9 or not re.fullmatch("[0-9a-f]{32}", plain):
            raise InputError(
                f"the witness is {witness[:80]!r}; it must be what `discreet ledger witness` printed, such "
                f"as {self.witness}"
            )
        return int(number) < len(self.heads) and self.heads[int(number)].startswith(plain)

    # -- what is spent -----------------------------------------------------------------------------------

    @property
    def units(self) -> tuple[str, ...]:
        """Whom the runs that count are charged to, each unit once: those they are about come first."""
        counted = [entry.release for entry in self.entries if entry.counted]
        about = [release.unit for release in counted]
        return tuple(
            dict.fromkeys([*about, *(unit for release in counted for unit in charged_units(release))])
        )

    def runs(self, unit: str) -> tuple[Entry, ...]:
        """The runs that count and are charged to a unit, or to one of several joined by `+`."""
        units = set(unit.split("+"))
        return tuple(
            entry
            for entry in self.entries
            if entry.counted and not units.isdisjoint(charged_units(entry.release))
        )

    def charges(self, unit: str, neighbours: Neighbours, *more: Entry) -> tuple[Entry, ...]:
        """The runs that count, and `more`, as one record of a unit is charged for them."""
        charges = (charged(entry, unit, neighbours) for entry in (*self.runs(unit), *more))
        return tuple(charge for charge in charges if charge is not None)

    def spent(self, unit: str, neighbours: Neighbours) -> Fraction:
        """Return the sum of rho over the runs charged to this unit, under the given neighbours."""
        return sum((charge.rho_for(neighbours) for charge in self.charges(unit, neighbours)), Fraction(0))

    def spent_epsilon(self, unit: str, neighbours: Neighbours) -> Fraction | None:
        """Return the sum of the epsilons of pure privacy; None if a run has noise that gives none."""
        return sum_epsilon(self.charges(unit, neighbours), neighbours)

    def total(self, unit: str) -> Total | None:
        """Return the total of rho that is declared for a unit."""
        return next((total for total in self.totals if total.unit == unit and total.rho is not None), None)

    def left(self, unit: str) -> Fraction | None:
        """Return what is left of the total of a unit; None if no total is declared."""
        total = self.total(unit)
        return None if total is None or total.rho is None else total.rho - self.spent(unit, total.neighbours)

    def over(self, total: Total) -> str:
        """Say what the runs come to if that is more than a total; nothing if it is not.

        >>> Ledger.new().over(Total(unit="person", neighbours="bounded", rho="1/5"))
        ''
        """
        if total.rho is not None:
            used = self.spent(total.unit, total.neighbours)
            charges = self.charges(total.unit, total.neighbours)
            if failing := sum((charge.delta for charge in charges), Fraction(0)):
                return f"rho {used} but for an event of probability {numbers.bound(failing, digits=4)}"
            return f"rho {used}" if used > total.rho else ""
        return self._exceeds(total, self.charges(total.unit, total.neighbours))

    @staticmethod
    def _exceeds(total: Total, runs: Sequence[Entry]) -> str:
        from discreet.ledger.composition import exceeds

        return exceeds(total, runs) if runs else ""

    def allow(self, run: Release | Entry, *, where: str = "the ledger", again: bool = True) -> None:
        """Raise unless a run fits into what is left: exactly, in rho and in epsilon, in the unit it is about.

        An `Entry` says more than a release: over which tree of units it is, so that paths can be matched, and
        on which input; unless `again`, an input that was released before is refused.

        >>> from discreet.budget import Level, Query
        >>> state = Level(name="State", queries=[Query(name="total", variance=4)])
        >>> run = Release(name="small", neighbours="bounded", levels=[state])
        >>> Ledger.new([Total(unit="person", neighbours="bounded", rho="1/5")]).allow(run)
        Traceback (most recent call last):
        discreet.errors.InputError: the run needs rho 1/4, but of the total 1/5 of the ledger for one person \
(bounded neighbours) only 1/5 is left; nothing was measured and nothing spent
        """
        entry = run if isinstance(run, Entry) else Entry(release=run)
        if not entry.counted:
            return
        if not again:
            self.refuse_again(entry, where=where)
        release = entry.release
        if self.totals and not any(release.unit in total.units for total in self.totals):
            raise InputError(
                f"{where} declares totals for {', '.join(stated.unit for stated in self.totals)}, but none "
                f"for {release.unit}, which release {release.name!r} is about; declare one, or use another "
                "ledger"
            )
        for total in self.totals:
            if wrong := self.shortfall(total, entry, where=where):
                raise InputError(f"{wrong}; nothing was measured and nothing spent")

    def refuse_again(self, entry: Entry, *, where: str) -> None:
        """Raise if a run would release an input again that was released before; a rehearsal may."""
        if not entry.counted:
            return
        for number, earlier in enumerate(self.entries, start=1):
            if earlier.counted and not _confidential(earlier).isdisjoint(_confidential(entry)):
                raise InputError(
                    f"this input was released before, in run {number} of {where} ({earlier.time}, "
                    f"{earlier.command} {earlier.release.name}). Releasing it again spends again, "
                    "and readers can average the noise away. If you mean to, give --spend-again "
                    "(spend_again=True); nothing was measured and nothing spent"
                )

    def shortfall(self, total: Total, entry: Entry, *, where: str) -> str:
        """Say why a run does not fit into a total beside the runs so far; nothing if it does.

        `where` is who declares the total: this ledger, or a policy.
        """
        about = f"one {total.unit} ({total.neighbours} neighbours)"
        mine = charged(entry, total.unit, total.neighbours)
        if mine is None:
            return ""
        if total.rho is None:
            excess = self._exceeds(total, self.charges(total.unit, total.neighbours, entry))
            come = f"with this run all runs of {where} on {about} would come to {excess}"
            return f"{come}, more than its total of {total.limit}" if excess else ""
        if entry.delta:
            failing = numbers.bound(entry.delta, digits=4)
            return (
                f"the run holds but for an event of probability {failing}, which no rho "
                f"allows for, and the total of {where} for {about} is a rho; a total of epsilon and delta "
                "can hold it"
            )
        left = total.rho - self.spent(total.unit, total.neighbours)
        needed = spent(mine.release, total.neighbours)
        if needed <= left:
            return ""
        who = f" with {several(entry.release.unit, entry.at_most)}" if entry.at_most > 1 else ""
        return (
            f"the run needs rho {needed}{who}, but of the total {total.rho} of {where} for {about} only "
            f"{max(left, Fraction(0))} is left"
        )

    # -- what is written ---------------------------------------------------------------------------------

    def with_run(self, entry: Entry, key: Key | None = None) -> Ledger:
        """Return the ledger with one more run, announced and not yet settled."""
        salted = entry if entry.salt else replace(entry, salt=secrets.token_hex(32))
        return replace(self._with({"kind": "run"} | salted.document(), key), pending=True)

    def with_total(self, total: Total, reason: str, key: Key | None = None) -> Ledger:
        """Return the ledger with a total, in place of an earlier one for the same unit.

        A total below what the runs have already spent is refused.
        """
        if total.delta and total.delta < SMALLEST:
            raise InputError(
                "delta of the total is below 1e-300, the smallest that is supported; for pure privacy it is 0"
            )
        excess = self.over(total)
        if excess:
            if total.delta:
                from discreet.ledger.composition import ledger_cost

                cost = ledger_cost(self, unit=total.unit, neighbours=total.neighbours, delta=total.delta)
                if math.isfinite(cost.epsilon):  # else no epsilon can be stated at that delta
                    is_bound = cost.kind is AnswerKind.BOUND  # then it is rounded up, and stays one
                    spent = numbers.bound(Fraction(cost.epsilon)) if is_bound else numbers.brief(cost.epsilon)
                    excess = f"epsilon {spent} ({cost.kind.label}) at delta {short_delta(total.delta)}"
            raise InputError(
                f"the runs have spent {excess} on one {total.unit} ({total.neighbours} neighbours), more "
                f"than a total of {total.limit}; the ledger was not changed"
            )
        why = line(reason, name="reason", field=("reason",))
        return self._with({"kind": "total", "time": now(), "reason": why} | total.document(), key)

    def with_counts(self, content: str, at_most: int, release: str, key: Key | None = None) -> Ledger:
        """Return the ledger with how many records of a person counts may hold, unless it knows that."""
        if self.remembered.get(content, 1) == at_most:
            return self
        about = {"kind": "counts", "time": now(), "release": release, "at_most": at_most, "content": content}
        return self._with(about, key)

    def with_key(self, key: Key, old: Key | None = None) -> Ledger:
        """Return the ledger with a key: from here on each entry needs its signature."""
        if self.key == key.public:
            raise InputError("the ledger is signed with this key already")
        sealed: JsonObject = {"sealed": True} if self.format == FORMAT else {}
        about: JsonObject = {"kind": "key", "time": now(), "public": key.public, **sealed}
        return self._with(about, old if self.key else key, key)

    def _with(self, record: JsonObject, key: Key | None, declared: Key | None = None) -> Ledger:
        if self.pending:
            raise InputError("a run of the ledger is still pending")
        needed = self.key or (declared.public if declared else None)
        self.need_key(key, needed, "--old-key" if declared else _KEY)
        if key is not None:
            record = {**record, "signature": key.sign(_sha256(self.head, _canonical(record)))}
        return replace(self, records=(*self.records, record))

    @staticmethod
    def need_key(key: Key | None, needed: str | None, where: str = _KEY) -> None:
        """Raise unless the key is the one that is needed, or none is given and none needed."""
        if needed is None and key is not None:
            raise InputError("a key was given, but the ledger is not signed; `discreet ledger sign` signs it")
        if needed is not None and key is None:
            raise InputError(
                f"the ledger is signed, with the key {needed[:16]}: name the file of the key with {where}"
            )
        if key is not None and needed is not None and key.public != needed:
            raise InputError(f"the key {key.public[:16]} is not that of the ledger, {needed[:16]}")

    def settled(self) -> Ledger:
        """Return the ledger when its last run has appeared."""
        return replace(self, pending=False)

    def staging(self, folder: Path) -> Path | None:
        """Return where the output of a pending run waits, if one is pending."""
        if not self.pending:
            return None
        return folder / self.entries[-1].staging(folder, self.tag)

    @property
    def sealed(self) -> bool:
        """Whether the head is signed, and not the entries alone."""
        return self.key is not None and self.format == FORMAT

    @property
    def _state(self) -> str:
        """What a seal signs."""
        return _sha256(self.format, "pending" if self.pending else "settled", self.head)

    def upgraded(self, key: Key | None = None) -> Ledger:
        """Return the ledger in the present format, with every entry and every head as they were.

        A signed one has one more entry, so that it cannot be taken back to a format without a seal.
        """
        if self.format == FORMAT:
            raise InputError(f"the ledger has the format {FORMAT!r} already")
        after = replace(self, format=FORMAT)
        after.need_key(key, self.key)
        return after._with({"kind": "format", "time": now(), "sealed": True}, key) if key else after

    @property
    def tag(self) -> str:
        """What the staging directories of this ledger have in their names."""
        return self.id[:12]

    def to_text(self, key: Key | None = None) -> str:
        """Return the ledger as the text of its file, sealed with the key if its entries are signed."""
        if not self.sealed:
            return self._text(None)
        self.need_key(key, self.key)
        assert key is not None
        return self._text(key.sign(self._state))

    def _text(self, seal: str | None) -> str:
        pending = _sha256("pending", self.head) if self.pending else None
        data = {"format": self.format, "ledger": self.id, "head": self.head, "pending": pending}
        data |= {} if self.format == UNSEALED else {"seal": seal}
        return file_text({**data, "entries": list(self.records)})

    @classmethod
    def from_text(cls, text: str, *, where: str) -> Ledger:
        """Read a ledger from the text of its file; `where` is what an error calls it.

        >>> empty = Ledger.new()
        >>> Ledger.from_text(empty.to_text(), where="x") == empty
        True
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            place = f"line {error.lineno} of {where}" if isinstance(error, json.JSONDecodeError) else where
            raise InputError(f"not a ledger: the text is not valid JSON ({place})") from None
        if not isinstance(data, dict) or data.get("format") not in (FORMAT, UNSEALED):
            raise InputError(f'not a ledger: it must begin with "format": "{FORMAT}" ({where})')
        try:
            return _read(cls, data)
        except KeyError as error:
            raise InputError(f"the ledger is damaged: the key {error} is missing ({where})") from None
        except (TypeError, AttributeError, ValueError) as error:
            reason = str(error) if isinstance(error, InputError) else "a field is of the wrong kind"
            raise InputError(f"the ledger is damaged: {reason} ({where})") from None


def _read(kind: type[Ledger], data: JsonObject) -> Ledger:
    records = tuple(dict(record) for record in data["entries"])
    for entry in records:
        if entry["kind"] not in ("run", "counts", "total", "key", "format"):
            text = f"an entry is of the kind {str(entry['kind'])[:50]!r}, which this version does not know"
            raise InputError(text)
    if not re.fullmatch("[0-9a-f]{32}", data["ledger"]):  # its directories are named after it
        raise InputError(f"its name is {str(data['ledger'])[:50]!r}, which no ledger would have")
    ledger = kind(data["ledger"], records, pending=data["pending"] is not None, format=data["format"])
    _check_head(ledger.head, data)
    if ledger.format == UNSEALED and any("sealed" in record for record in records):
        raise InputError(f"it was of the format {FORMAT!r}, whose head is signed, and says that it is older")
    if ledger.pending and (
        data["pending"] != _sha256("pending", ledger.head) or records[-1]["kind"] != "run"
    ):
        raise InputError("it says that a run is pending, but not of which")
    _ = (
        ledger.entries,
        ledger.totals,
        ledger.remembered,
        ledger._text(None).encode(),
    )  # what can be read, and written again
    _verify(ledger)
    if ledger.format == FORMAT:
        _check_seal(ledger, data["seal"])
    return ledger


def _check_seal(ledger: Ledger, seal: object) -> None:
    """Raise unless the head is signed with the key of the entries; where they are not signed, nothing is."""
    from discreet.ledger.signing import verified

    if ledger.key is None and seal is not None:
        raise InputError("its head is signed, but no entry names a key")
    if ledger.key is not None and not verified(ledger.key, str(seal), ledger._state):
        raise InputError(
            f"its head is not signed with its key, {ledger.key[:16]}: its last entries were removed, or its "
            "last run was marked as pending, by other means than a run"
        )


def _check_head(head: str, data: JsonObject) -> None:
    if head != data["head"]:
        raise InputError(
            "its entries do not match its hash, so one was changed, added or removed by other means than "
            "a run"
        )


def _verify(ledger: Ledger) -> None:
    """Raise unless every entry after a key is signed with it."""
    key = None
    for number, record in enumerate(ledger.records):
        if record["kind"] == "key" and key is None:
            key = str(record["public"])
        if key is not None:
            from discreet.ledger.signing import verified

            bare = {name: value for name, value in record.items() if name != "signature"}
            if not verified(
                key, str(record.get("signature", "")), _sha256(ledger.heads[number], _canonical(bare))
            ):
                raise InputError(f"entry {number + 1} is not signed with the key of the ledger, {key[:16]}")
        if record["kind"] == "key":
            key = str(record["public"])


def sum_epsilon(entries: Sequence[Entry], neighbours: Neighbours) -> Fraction | None:
    """Return the epsilon of pure privacy of runs together; None if one has noise that gives none."""
    costs = [None if entry.delta else spent_epsilon(entry.release, neighbours) for entry in entries]
    known = [cost for cost in costs if cost is not None]
    return sum(known, Fraction(0)) if len(known) == len(costs) else None


def _confidential(entry: Entry) -> set[str]:
    """Return the hashes of the confidential inputs of a run."""
    return {file["sha256"] for file in entry.inputs if file.get("role") in CONFIDENTIAL}


def _canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def _sha256(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
