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

A run is announced before its output appears (see `discreet.release.commit`): then `pending` is a hash of the
head. The last entry counts unless its staging directory, whose name follows from the entry, is still there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from discreet import numbers
from discreet.budget import Neighbours, Release
from discreet.budget.claims import AnswerKind
from discreet.budget.neighbours import RELATIONS
from discreet.budget.release import UNITS
from discreet.budget.toml import exact, line, one_of
from discreet.errors import InputError
from discreet.files import FilePath, check_regular, sha256
from discreet.noise import Entropy
from discreet.numbers import SMALLEST, Exact, fraction, whole

if TYPE_CHECKING:
    from discreet.release.signing import Key

FORMAT = "discreet ledger 2"
FILE = "discreet-ledger.json"
"""The name under which a ledger is looked for beside an input."""

VARIABLE = "DISCREET_LEDGER"
"""The environment variable that may name the ledger."""

NOT_PRIVATE = "NOT PRIVATE"
"""The mark of everything that a rehearsal writes."""

RECEIPT = "ledger"
"""The key of an output's manifest under which the head of the ledger stands."""

MANIFESTS = ("manifest", "summary")
"""The files of an output that carry the head of a ledger, without their endings."""

CONFIDENTIAL = ("counts", "persons", "records")
"""Roles of inputs whose content is protected; the others are public tables and parameters."""

LARGEST = 1 << 28
"""The most bytes that a ledger may have: some hundred thousand runs."""

JsonDict = dict[str, Any]
JsonObject = Mapping[str, Any]
"""What stands in the file: checked when it is read."""

_KEY = "--key, or in DISCREET_LEDGER_KEY"
_ID = re.compile(r"[0-9a-f]{32}(-[A-Za-z]{1,20})?")


def rehearsal_entropy(seed: int | None) -> Entropy | None:
    """Return the noise of a rehearsal, which protects nobody; without a seed, None: the system's.

    >>> rehearsal_entropy(None) is None, type(rehearsal_entropy(1)).__name__
    (True, 'NotPrivateSeededEntropy')
    """
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"rehearsal is {seed!r}; a seed is a whole number")
    from discreet.testing import NotPrivateSeededEntropy

    return NotPrivateSeededEntropy(seed)


def spent(release: Release, neighbours: Neighbours | None = None) -> Fraction:
    """Return the rho that the release spends, under the neighbours it was calibrated for or others.

    Guarantee. The release is rho-zCDP for the relation asked for: discrete Gaussian noise of variance v and
    sensitivity s is s^2 / (2 v)-zCDP (Canonne, Kamath, Steinke 2020), epsilon-DP is
    epsilon^2 / 2-zCDP (Bun, Steinke 2016, Proposition 1.4), rhos add up, and the worst path counts (with
    bounded neighbours, the worst pair of paths).

    >>> from discreet.budget import Level, Query
    >>> state = Level(name="State", queries=[Query(name="total", variance=4)])
    >>> small = Release(name="small", neighbours="bounded", levels=[state])
    >>> spent(small), spent(small, "unbounded")
    (Fraction(1, 4), Fraction(1, 8))
    """
    relation = neighbours or release.neighbours
    worst = max(
        # twice the rho of each event under unbounded neighbours; for Laplace noise its bound
        sum((event.precision + event.times * (event.largest or 0) ** 2 for event in events), Fraction(0))
        for events in map(release.path_events, release.paths)
    )
    return worst if relation == "bounded" else worst / 2


def spent_epsilon(release: Release, neighbours: Neighbours | None = None) -> Fraction | None:
    """Return the epsilon of pure differential privacy that the release spends; None if it has none.

    Only Laplace noise gives pure privacy. Epsilons add up along the worst path, twice for a person who is
    replaced.

    >>> from discreet.budget import Level, Query
    >>> state = Level(name="State", queries=[Query(name="total", scale=4), Query(name="sex", scale=2)])
    >>> spent_epsilon(Release(name="small", neighbours="unbounded", levels=[state]))
    Fraction(3, 4)
    """
    worst = Fraction(0)
    for events in map(release.path_events, release.paths):
        costs = [event.times * event.largest for event in events if event.largest is not None]
        if len(costs) < len(events):
            return None
        worst = max(worst, sum(costs, Fraction(0)))
    return 2 * worst if (neighbours or release.neighbours) == "bounded" else worst


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Total:
    """The most that all runs of a ledger together may spend on one record: a rho, or an epsilon at a delta.

    `unit` is what a record is of. Several units joined by `+` are a record of each at once, such as a person
    and the household they live in: what the runs about each of them spend is then counted together.

    >>> print(Total(unit="person", neighbours="bounded", rho="3/4"))
    person, bounded neighbours: rho 3/4
    >>> print(Total(unit="person+household", neighbours="bounded", epsilon=20, delta="1e-10"))
    person+household, bounded neighbours: epsilon 20 at delta 1e-10
    """

    unit: str
    neighbours: Neighbours
    rho: Fraction | None
    epsilon: Fraction | None
    delta: Fraction | None

    def __init__(
        self,
        *,
        unit: str,
        neighbours: Neighbours,
        rho: Exact | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
    ) -> None:
        names = [one.strip() for one in str(unit).split("+")]
        joined = [one_of(one, UNITS, name="unit of a total", field=("unit",)) for one in names]
        if len(set(joined)) < len(joined):
            raise InputError(f"unit of a total is {unit!r}, which names one twice")
        relation = one_of(neighbours, RELATIONS, name="neighbours of a total", field=("neighbours",))
        if (rho is None) == (epsilon is None) or (delta is None) != (epsilon is None):
            raise InputError("a total is a rho, or an epsilon with a delta: give one of the two")
        found: JsonDict = {"unit": "+".join(joined), "neighbours": relation}
        for name, limit in (("rho", rho), ("epsilon", epsilon)):
            found[name] = None if limit is None else exact(limit, name=f"{name} of a total", field=(name,))
        at = None if delta is None else fraction(delta, name="delta of a total")
        if at is not None and not 0 <= at < 1:
            raise InputError(f"delta of a total is {delta}; it must be at least 0 and below 1")
        for name, value in (found | {"delta": at}).items():
            object.__setattr__(self, name, value)

    @property
    def units(self) -> tuple[str, ...]:
        """The units that are counted together."""
        return tuple(self.unit.split("+"))

    @property
    def key(self) -> tuple[str, Fraction | None]:
        """What a later total must have in common with this one to take its place."""
        return self.unit, self.delta

    @property
    def limit(self) -> str:
        """The limit in words."""
        if self.delta is None:
            return f"rho {self.rho}"
        return f"epsilon {self.epsilon} at delta {_short(self.delta)}"

    def document(self) -> dict[str, str]:
        """Return the total as a ledger writes it."""
        limits = ("rho",) if self.delta is None else ("epsilon", "delta")
        return {name: str(getattr(self, name)) for name in ("unit", "neighbours", *limits)}

    def __str__(self) -> str:
        return f"{self.unit}, {self.neighbours} neighbours: {self.limit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One run: the release it made, its inputs and outputs by hash, and when.

    If a person may have up to `at_most` records, `release` is what such a person sees: the noise of the run,
    and every sensitivity so many times larger. So it costs what the person pays, in whatever way it is asked.
    """

    release: Release
    id: str = ""
    time: str = ""
    version: str = ""
    command: str = ""
    at_most: int = 1
    rehearsal: int | None = None
    inputs: tuple[JsonDict, ...] = ()
    tree: str = ""
    exact: tuple[tuple[str, str], ...] = ()
    output: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    salt: str = ""

    @property
    def counted(self) -> bool:
        """Whether the run counts: a rehearsal protects nobody, so it spends nothing that could be counted."""
        return self.rehearsal is None

    @property
    def rho(self) -> Fraction:
        """What the run spent, under its own neighbours; nothing if it was a rehearsal."""
        return spent(self.release) if self.counted else Fraction(0)

    @property
    def epsilon(self) -> Fraction | None:
        """The epsilon of pure privacy that it spent, if all of its noise is Laplace noise."""
        return spent_epsilon(self.release) if self.counted else Fraction(0)

    def document(self) -> JsonDict:
        """Return the entry as it stands in the file."""
        data: JsonDict = {} if self.counted else {"warning": f"{NOT_PRIVATE}: a rehearsal"}
        data |= {"id": self.id, "time": self.time, "version": self.version, "command": self.command}
        data |= {"rehearsal": self.rehearsal, "unit": self.release.unit}
        data |= {"neighbours": self.release.neighbours, "rho": str(self.rho)}
        data |= {"at_most": self.at_most} if self.at_most > 1 else {}
        data |= {"exact": [list(pair) for pair in self.exact], "inputs": list(self.inputs)}
        data |= {"tree": self.tree, "output": self.output, "files": dict(self.files)}
        data["release"] = self.release.to_toml()
        return data | ({"salt": self.salt} if self.salt else {})

    @classmethod
    def from_document(cls, data: JsonObject) -> Entry:
        """Read an entry, and check that it spends what it says."""
        if not _ID.fullmatch(data["id"]):
            raise InputError(f"an entry's id is {str(data['id'])[:50]!r}, which no run would write")
        entry = cls(
            **{name: _plain(data[name]) for name in ("id", "time", "version", "command", "tree", "output")},
            release=Release.from_toml(data["release"], where=f"the release of entry {data['id']}"),
            at_most=whole(data.get("at_most", 1), name=f"at_most of entry {data['id']}"),
            rehearsal=data["rehearsal"],
            inputs=tuple({**one, "sha256": _plain(one["sha256"])} for one in data["inputs"]),
            exact=tuple((_plain(level), _plain(query)) for level, query in data["exact"]),
            files={_plain(name): _plain(digest) for name, digest in data["files"].items()},
            salt=_plain(data.get("salt", "")),
        )
        if data["rho"] != str(entry.rho):
            raise InputError(f"entry {entry.id} says rho {data['rho']}, but its release spends {entry.rho}")
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

    def __str__(self) -> str:
        what = f"rho {self.rho}" if self.counted else f"{NOT_PRIVATE}, a rehearsal: not counted"
        what += f", {several(self.release.unit, self.at_most)}" if self.at_most > 1 else ""
        pairs = ", ".join(f"{level}: {query}" for level, query in self.exact)
        kept = f"; exact, outside the guarantee: {pairs}" if pairs else ""
        return f"{self.time}  {self.command} {self.release.name}  {what}{kept}"


@dataclass(frozen=True)
class Ledger:
    """The entries of a ledger, as written; its totals and runs are read from them.

    >>> ledger = Ledger.new([Total(unit="person", neighbours="bounded", rho="1")])
    >>> ledger.spent("person", "bounded"), ledger.left("person")
    (Fraction(0, 1), Fraction(1, 1))
    """

    id: str
    records: tuple[JsonObject, ...] = ()
    pending: bool = False

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
        return tuple(Entry.from_document(one) for one in self.records if one["kind"] == "run")

    @cached_property
    def totals(self) -> tuple[Total, ...]:
        """The totals that hold now: of several for the same unit the latest."""
        found = {}
        for one in self.records:
            if one["kind"] == "total":
                names = ("rho", "epsilon", "delta", "unit", "neighbours")
                total = Total(**{name: one[name] for name in names if name in one})
                found[total.key] = total
        return tuple(found.values())

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """The head after no entry, after the first, and so on."""
        found = [_sha256(FORMAT, self.id)]
        for one in self.records:
            found.append(_sha256(found[-1], _canonical(one)))
        return tuple(found)

    @property
    def head(self) -> str:
        """A hash over all entries in order: anything that is changed, added or removed changes it."""
        return self.heads[-1]

    @cached_property
    def remembered(self) -> Mapping[str, int]:
        """How many records of a person counts may hold, by their content (see `discreet.release.contents`).

        `tabulate` has looked at the records, so its word replaces what was known. A run only takes a number
        over, so of several the largest holds.
        """
        found: dict[str, int] = {}
        for one in self.records:
            if one["kind"] == "counts":
                content, *_ = (_plain(one[name]) for name in ("content", "time", "release"))
                found[content] = whole(one["at_most"], name="at_most of counts")
            elif one["kind"] == "run":
                most = whole(one.get("at_most", 1), name="at_most of a run")
                for content in (_plain(given["content"]) for given in one["inputs"] if "content" in given):
                    found[content] = max(found.get(content, 1), most)
        return found

    @property
    def noted_counts(self) -> list[JsonDict]:
        """What `tabulate` noted: when, of which release, and how many records of a person the counts hold."""
        noted = (one for one in self.records if one["kind"] == "counts")
        return [{name: one[name] for name in ("time", "release", "at_most")} for one in noted]

    @property
    def key(self) -> str | None:
        """The public key that entries are signed with now, in hexadecimal digits."""
        keys = [str(one["public"]) for one in self.records if one["kind"] == "key"]
        return keys[-1] if keys else None

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
        """What the runs that count are about, each once."""
        return tuple(dict.fromkeys(entry.release.unit for entry in self.entries if entry.counted))

    def runs(self, unit: str) -> tuple[Entry, ...]:
        """The runs that count and are about a unit, or one of several joined by `+`."""
        return tuple(one for one in self.entries if one.counted and one.release.unit in unit.split("+"))

    def spent(self, unit: str, neighbours: Neighbours) -> Fraction:
        """Return the sum of rho over the runs about this unit, under the given neighbours."""
        return sum((spent(one.release, neighbours) for one in self.runs(unit)), Fraction(0))

    def spent_epsilon(self, unit: str, neighbours: Neighbours) -> Fraction | None:
        """Return the sum of the epsilons of pure privacy; None if a run has noise that gives none."""
        return sum_epsilon(self.runs(unit), neighbours)

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
            return f"rho {used}" if used > total.rho else ""
        return self._exceeds(total, self.runs(total.unit))

    @staticmethod
    def _exceeds(total: Total, runs: Sequence[Entry]) -> str:
        from discreet.release.composition import exceeds

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
        release = entry.release
        for number, one in enumerate(self.entries, start=1):
            if not again and one.counted and not _confidential(one).isdisjoint(_confidential(entry)):
                raise InputError(
                    f"this input was released before, in run {number} of {where} ({one.time}, "
                    f"{one.command} {one.release.name}). Releasing it again spends again, and readers can "
                    "average the noise away. If you mean to, give --spend-again (spend_again=True); nothing "
                    "was measured and nothing spent"
                )
        totals = [total for total in self.totals if release.unit in total.units]
        if self.totals and not totals:
            raise InputError(
                f"{where} declares totals for {', '.join(one.unit for one in self.totals)}, but none for "
                f"{release.unit}, which release {release.name!r} is about; declare one, or use another ledger"
            )
        for total in totals:
            about = f"one {total.unit} ({total.neighbours} neighbours)"
            if total.rho is not None:
                left = total.rho - self.spent(total.unit, total.neighbours)
                needed = spent(release, total.neighbours)
                if needed > left:
                    who = f" with {several(release.unit, entry.at_most)}" if entry.at_most > 1 else ""
                    raise InputError(
                        f"the run needs rho {needed}{who}, but of the total {total.rho} of {where} for "
                        f"{about} only {max(left, Fraction(0))} is left; nothing was measured and nothing "
                        "spent"
                    )
            elif found := self._exceeds(total, (*self.runs(total.unit), entry)):
                raise InputError(
                    f"with this run all runs of {where} on {about} would come to {found}, more than its "
                    f"total of {total.limit}; nothing was measured and nothing spent"
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
        found = self.over(total)
        if found:
            if total.delta:
                from discreet.release.composition import ledger_cost

                cost = ledger_cost(self, unit=total.unit, neighbours=total.neighbours, delta=total.delta)
                is_bound = cost.kind is AnswerKind.BOUND  # then it is rounded up, and stays one
                spent = numbers.bound(Fraction(cost.epsilon)) if is_bound else numbers.brief(cost.epsilon)
                found = f"epsilon {spent} ({cost.kind.label}) at delta {_short(total.delta)}"
            raise InputError(
                f"the runs have spent {found} on one {total.unit} ({total.neighbours} neighbours), more than "
                f"a total of {total.limit}; the ledger was not changed"
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
        return self._with({"kind": "key", "time": now(), "public": key.public}, old if self.key else key, key)

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
    def tag(self) -> str:
        """What the staging directories of this ledger have in their names."""
        return self.id[:12]

    def to_text(self) -> str:
        """Return the ledger as the text of its file."""
        pending = _sha256("pending", self.head) if self.pending else None
        data = {"format": FORMAT, "ledger": self.id, "head": self.head, "pending": pending}
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
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f'not a ledger: it must begin with "format": "{FORMAT}" ({where})')
        try:
            return _read(cls, data)
        except KeyError as error:
            raise InputError(f"the ledger is damaged: the key {error} is missing ({where})") from None
        except (TypeError, AttributeError, ValueError) as error:
            reason = str(error) if isinstance(error, InputError) else "a field is of the wrong kind"
            raise InputError(f"the ledger is damaged: {reason} ({where})") from None

    def __str__(self) -> str:
        lines = []
        for total in self.totals:
            left = f", left {self.left(total.unit)}" if total.rho is not None else ""
            lines.append(f"total for one {total}{left}")
        lines += [str(entry) for entry in self.entries]
        for unit in self.units:
            spends = (f"{self.spent(unit, relation)} {relation}" for relation in RELATIONS)
            lines.append(f"spent on one {unit}: rho {', '.join(spends)}")
        return "\n".join(lines) or "an empty ledger, without totals"


def _read(kind: type[Ledger], data: JsonObject) -> Ledger:
    records = tuple(dict(one) for one in data["entries"])
    for one in records:
        if one["kind"] not in ("run", "counts", "total", "key"):
            text = f"an entry is of the kind {str(one['kind'])[:50]!r}, which this version does not know"
            raise InputError(text)
    if not re.fullmatch("[0-9a-f]{32}", data["ledger"]):  # its directories are named after it
        raise InputError(f"its name is {str(data['ledger'])[:50]!r}, which no ledger would have")
    ledger = kind(data["ledger"], records, pending=data["pending"] is not None)
    _check_head(ledger.head, data)
    if ledger.pending and (
        data["pending"] != _sha256("pending", ledger.head) or records[-1]["kind"] != "run"
    ):
        raise InputError("it says that a run is pending, but not of which")
    _ = (
        ledger.entries,
        ledger.totals,
        ledger.remembered,
        ledger.to_text().encode(),
    )  # what can be read, and written again
    _verify(ledger)
    return ledger


def _check_head(head: str, data: JsonObject) -> None:
    if head != data["head"]:
        raise InputError(
            "its entries do not match its hash, so one was changed, added or removed by other means than "
            "a run"
        )


def _verify(ledger: Ledger) -> None:
    """Raise unless every entry after a key is signed with it."""
    key = None
    for number, one in enumerate(ledger.records):
        if one["kind"] == "key" and key is None:
            key = str(one["public"])
        if key is not None:
            from discreet.release.signing import verified

            bare = {name: value for name, value in one.items() if name != "signature"}
            if not verified(
                key, str(one.get("signature", "")), _sha256(ledger.heads[number], _canonical(bare))
            ):
                raise InputError(f"entry {number + 1} is not signed with the key of the ledger, {key[:16]}")
        if one["kind"] == "key":
            key = str(one["public"])


# -- files ---------------------------------------------------------------------------------------------------


def find_ledger(given: FilePath | None, source: FilePath) -> Path | None:
    """Return the ledger of a run: the one named, that of the environment, or the one beside the input.

    None is ever made unasked.

    >>> find_ledger("mine.json", "counts.csv")
    PosixPath('mine.json')
    """
    if given is not None:
        return Path(given)
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    place = Path(source)
    beside = (place if place.is_dir() else place.parent) / FILE
    return beside if beside.exists() or beside.is_symlink() else None


def read_ledger(path: FilePath) -> Ledger:
    """Return the ledger as it stands: runs whose output has appeared, and no others.

    >>> read_ledger("no-such-ledger.json")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no ledger no-such-ledger.json
    """
    file = Path(path)
    text = read_text(file)
    while True:
        ledger = standing(Ledger.from_text(text, where=str(file)), Path(os.path.realpath(file)).parent)
        # A run that is being undone removes its staging directory after its entry: read until both agree.
        if (again := read_text(file)) == text:
            return ledger
        text = again


def standing(ledger: Ledger, folder: Path) -> Ledger:
    """Return the ledger without a pending run whose output still waits in its staging directory.

    The rename that makes the output appear makes that directory disappear, in one step. So the run counts
    unless its directory is there; if somebody removed that by hand, it counts: the safe side. It also counts
    if its output is there, whatever stands beside it under the name of its directory.
    """
    place = ledger.staging(folder)
    if place is None or not is_own(place) or ledger.entries[-1].made(folder / ledger.entries[-1].output):
        return ledger.settled()
    return replace(ledger.settled(), records=ledger.records[:-1])


def is_own(place: Path) -> bool:
    """Whether this is a staging directory, and not a link to something else."""
    try:
        return stat.S_ISDIR(os.lstat(place).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_ledger(path: FilePath) -> bool:
    """Tell a ledger from a release by the first bytes of the file.

    >>> is_ledger("no-such-file")
    False
    """
    try:
        with open(path, "rb") as stream:
            start = stream.read(200)
    except (OSError, ValueError):
        return False
    return FORMAT.encode() in start


def read_text(file: Path) -> str:
    """Return the text of a ledger file, or raise an `InputError`."""
    try:
        if not file.exists():
            raise InputError(f"there is no ledger {file}")
        check_regular(file, f"the ledger {file}", most=LARGEST)
        if file.is_file() and file.stat().st_nlink > 1:
            raise InputError(
                f"the ledger {file} has another name too (a hard link), under which an old state would live "
                "on; remove one of the names"
            )
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"the ledger {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"not a ledger: the text is not UTF-8 ({file})") from None


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


def sum_epsilon(entries: Sequence[Entry], neighbours: Neighbours) -> Fraction | None:
    """Return the epsilon of pure privacy of runs together; None if one has noise that gives none."""
    costs = [spent_epsilon(one.release, neighbours) for one in entries]
    found = [one for one in costs if one is not None]
    return sum(found, Fraction(0)) if len(found) == len(costs) else None


def recorded_hash(file: Path) -> str:
    """Return the hash of a file of an output; a manifest's is that before the ledger's head came into it."""
    if file.name.split(".")[0] in MANIFESTS and file.suffix == ".json":
        with suppress(ValueError, RecursionError):
            data = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(data, dict) and data.pop(RECEIPT, None) is not None:
                return hashlib.sha256(file_text(data).encode()).hexdigest()
    return sha256(file)


def file_text(data: JsonObject) -> str:
    """Return the text of a JSON file, as ledgers and manifests are written."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _confidential(entry: Entry) -> set[str]:
    """Return the hashes of the confidential inputs of a run."""
    return {one["sha256"] for one in entry.inputs if one.get("role") in CONFIDENTIAL}


def _plain(text: object) -> str:
    """Return what must be a text, and one that can name a file."""
    if not isinstance(text, str) or "\0" in text:
        raise TypeError
    return text


def _canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def _sha256(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _short(delta: Fraction | None) -> str:
    """Write a delta as people do.

    >>> _short(Fraction(1, 10**10)), _short(Fraction(0)), _short(Fraction(1, 3))
    ('1e-10', '0', '1/3')
    """
    assert delta is not None
    text = numbers.brief(delta)
    return text if Fraction(text) == delta else str(delta)
