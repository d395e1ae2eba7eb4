"""`ReleaseRun`: the only way to spend. Who publishes something made of confidential data goes through it.

An author brings what is specific: how inputs are read and checked, what the run costs, how it counts, and the
tables it writes. The run does the rest, in this order; a step out of order raises an `OrderError`.

1. `ReleaseRun(...)` asks every policy that binds the inputs, and finds the ledger. Nothing was read yet.
2. `open` reads the key and opens the ledger, which settles what a killed run left behind. Now inputs are
   read, checked and counted.
3. `spend` takes drafts of the entry. The policies and the ledger, with all that was spent before, allow the
   cost or refuse it; a run that is refused has written nothing, and the ledger is as it was.
4. `made_from` states the inputs, where their hashes were not known before: one that was released before is
   refused, unless the run may spend again.
5. `entropy` is where the random bits of noise come from: the system, or a seed in a rehearsal. From here on
   an interrupted run starts anew (`resumable`): nobody can take the noise of one and the counts of another.
6. `writing` yields a folder whose files bear the mark of what is not private. At the end of the block they
   are hashed, and output, entry and receipt appear together or not at all (`discreet.ledger.commit`).

A run for exact counts (`Request(exact_counts=True)`) spends nothing and has no noise: its output can be read
by its owner alone, and the ledger may only remember it (`remember_counts`).

`tests/ledger/test_release_run.py` has a mechanism of an office's own, and shows that no other module of the
package spends, enters or publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from importlib.metadata import version
from pathlib import Path

from discreet.areas.output import Folder
from discreet.errors import InputError
from discreet.files import FilePath, sha256
from discreet.ledger.admission import Request, admit, ledger_of
from discreet.ledger.clock import Clock, Progress
from discreet.ledger.commit import Staging, free, staging
from discreet.ledger.entry import Entry, now
from discreet.ledger.input_folders import folders_of
from discreet.ledger.ledger import CONFIDENTIAL, Ledger
from discreet.ledger.ledger_file import note_counts, open_ledger
from discreet.ledger.manifests import MANIFESTS, JsonDict
from discreet.ledger.resumable import Resumable
from discreet.ledger.rules import find_policies
from discreet.ledger.signing import Key, read_key
from discreet.noise import Entropy
from discreet.rehearsal import not_private_mark, rehearsal_entropy


class OrderError(RuntimeError):
    """A step of a run was left out or comes too late: the program is wrong, not its input."""


class RunState(Enum):
    """How far a run is."""

    ADMITTED = "admitted by the policies"
    OPEN = "open"
    ALLOWED = "allowed to spend"
    WRITING = "writing"
    ENDED = "at its end"


class ReleaseRun:
    """One run, from the question whether it may be made to the output and its entry in the ledger.

    `reads` are all inputs, whose policies bind the run: files, folders or tables in memory. `request` is what
    the policies are asked for. `ledger` is the one of the population; without it, the one that the
    environment names, a policy prescribes, or that lies beside the inputs; if there is none, nothing is
    noted. `rehearsal` is a seed. `not_private` are other reasons why the output is not private, for its mark.

    Guarantee. Assumed: the author draws noise from `entropy` alone, the output is a function of it and of
    what the drafts account for, and `reads` are all the inputs. Claimed: if the output exists, every policy
    and the ledger allowed the drafts, and the ledger, if there is one, has the entry; if the process ends at
    any moment, output and entry are both there or both not (tests/ledger/test_release_run.py).

    >>> from tempfile import TemporaryDirectory
    >>> from discreet.budget import Level, Query, Release
    >>> from discreet.noise import DiscreteGaussian, sample
    >>> state = Level(name="State", queries=[Query(name="total", variance=4)])
    >>> release = Release(name="small", neighbours="bounded", levels=[state])
    >>> with TemporaryDirectory() as folder:
    ...     records = Path(folder) / "records.csv"
    ...     _ = records.write_text("person\\nAnn\\nBob\\n")
    ...     run = ReleaseRun(Path(folder) / "out", reads=[records], request=Request(), rehearsal=1)
    ...     run.open()
    ...     count = len(records.read_text().splitlines()) - 1
    ...     origin = {"role": "records", "sha256": sha256(records)}
    ...     run.spend(Entry(command="count", release=release, inputs=(origin,)))
    ...     with run.writing("csv") as tables:
    ...         noisy = count + sample(DiscreteGaussian(variance=4), 1, source=run.entropy)[0]
    ...         tables.json("manifest", {"total": int(noisy)})
    >>> run.files, run.entries[0].counted
    (('manifest.NOT-PRIVATE.json',), False)
    """

    def __init__(
        self,
        out: FilePath,
        *,
        reads: Sequence[object],
        request: Request,
        ledger: FilePath | None = None,
        key: FilePath | None = None,
        rehearsal: int | None = None,
        not_private: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> None:
        self.out, self.rehearsal, self.clock = Path(out), rehearsal, Clock(progress)
        self.mark = not_private_mark(rehearsal, not_private)
        self.before: Ledger | None = None
        """The ledger as it stood when it was opened."""
        self.files: tuple[str, ...] = ()
        self.entries: tuple[Entry, ...] = ()
        """What was entered, or would be if there were a ledger; drafts until the output has appeared."""
        self.tell: Callable[[int, int], None] = lambda _done, _total: None
        """Called while the output is written, with how much is done, and of how much."""
        self._entropy = rehearsal_entropy(rehearsal)
        self._request = replace(request, rehearsal=rehearsal is not None)
        if not request.entered and not request.exact_counts:
            raise OrderError("a run that spends belongs into a ledger: entered=False is for exact counts")
        if not isinstance(reads, list | tuple) or not reads:  # a text has letters, a data frame columns
            raise OrderError("reads is a list of all inputs")
        self._rules = admit(reads[0], self._request, more=reads[1:], ledger=ledger)
        free(self.out)
        self._key_file = key
        self._key: Key | None = None
        self._ledger_file: Path | None = None
        self._resumables: list[Resumable] = []
        self._companions: list[tuple[Path, Callable[[], None]]] = []
        self._state, self._drawn = RunState.ADMITTED, False

    @property
    def ledger(self) -> Path | None:
        """The ledger of the run, as it was named or found."""
        return self._rules.ledger

    # -- before anything is read -------------------------------------------------------------------------

    def open(self) -> None:
        """Open the ledger, if there is one: its key fits, and nothing shows that it is an older copy."""
        self._need("open", RunState.ADMITTED)
        if self.ledger is not None:
            self._key = read_key(self._key_file)
            self._ledger_file, self.before = open_ledger(
                self.ledger, self.out, key=self._key, rules=self._rules
            )
        self._state = RunState.OPEN

    # -- before noise is drawn ---------------------------------------------------------------------------

    def spend(self, *drafts: Entry) -> None:
        """Let the ledger and the policies allow what the run costs, or raise.

        There is a draft for each population; a ledger is for one. A draft has `command`, `release`, `inputs`
        unless `made_from` states them later, and where they are not the default `at_most`, `delta`, `tree`,
        `exact` and what the entry's `id` ends in. All else is the run's.
        """
        self._need("spend", RunState.OPEN)
        self._check_drafts(drafts)
        time, program = now(), version("discreet")
        entries = tuple(
            replace(draft, time=time, version=program, rehearsal=self.rehearsal) for draft in drafts
        )
        if self.before is not None:
            self.before.allow(entries[0], where=str(self.ledger), again=self._request.spend_again)
        for entry in entries:
            self._rules.allow(entry, self.before)
        self.entries, self._state = entries, RunState.ALLOWED

    def state_no_cost(self) -> None:
        """Say that nothing is claimed for the run, so that no ledger could enter it."""
        self._need("state_no_cost", RunState.OPEN)
        if self.ledger is not None:
            raise OrderError(f"the run is to be entered in {self.ledger}, and states no cost")
        self._state = RunState.ALLOWED

    def made_from(self, inputs: tuple[JsonDict, ...]) -> None:
        """State the inputs of the run, and refuse one that was released before."""
        self._need("made_from", RunState.ALLOWED)
        if self._drawn:
            raise OrderError("made_from comes before noise is drawn")
        drafts = tuple(replace(draft, inputs=inputs) for draft in self.entries)
        if self.before is not None and not self._request.spend_again:
            self.before.refuse_again(drafts[0], where=str(self.ledger))
        self.entries = drafts

    def resumable(self, made_from: Mapping[str, object]) -> Resumable:
        """Return where coded records stay if the run is interrupted before noise is drawn."""
        self._need("resumable", RunState.ADMITTED, RunState.OPEN, RunState.ALLOWED)
        if self._drawn:
            raise OrderError("a run can be resumed only before noise is drawn")
        kept = Resumable.beside(self.out, made_from)
        self._resumables.append(kept)
        return kept

    # -- noise and output --------------------------------------------------------------------------------

    @property
    def entropy(self) -> Entropy | None:
        """Where the random bits come from: None is the system. From now on the run cannot be resumed."""
        if self._request.exact_counts:
            raise OrderError("exact counts have no noise")
        self._need("entropy", RunState.ALLOWED, RunState.WRITING)
        self._need_inputs()
        if not self._drawn:
            for kept in self._resumables:
                kept.forget()
            self._drawn = True
        return self._entropy

    def with_file(self, file: Path, write: Callable[[], None]) -> None:
        """Have `write` make a file outside the output, which is there if and only if the output is."""
        self._need("with_file", RunState.ALLOWED, RunState.WRITING)
        self._companions.append((file, write))

    def remember_counts(self, content: str, at_most: int, *, release: str) -> None:
        """Let the ledger remember how many records of a person the exact counts hold, before they appear."""
        if self.ledger is None or self.before is None or not self._request.exact_counts:
            raise OrderError("remember_counts is for exact counts, and needs a ledger that was opened")
        note_counts(self.ledger, content, at_most, release=release, key=self._key)

    @contextmanager
    def writing(self, format: str, *, for_spreadsheets: bool = False) -> Iterator[Folder]:
        """Yield the folder of the output, which appears at the end of the block, together with its entry.

        If anything fails before, nothing is left and nothing was spent. The tables have the `format`; one
        JSON file is the manifest.
        """
        exact = self._request.exact_counts
        self._need("writing", *((RunState.ADMITTED, RunState.OPEN) if exact else (RunState.ALLOWED,)))
        self._need_inputs()
        self._state = RunState.WRITING
        ledger = None if exact else self._ledger_file  # what spends nothing is not entered
        try:
            with staging(self.out, ledger, key=self._key, rules=self._rules, confidential=exact) as stage:
                folder = Folder(stage.path, format, mark=self.mark, for_spreadsheets=for_spreadsheets)
                with self.clock.stage("writing") as self.tell:
                    yield folder
                    manifest, entries = self._hashed(stage, folder)
                self.entries = self._commit(stage, manifest, entries)
            self.files = tuple(folder.names)
        finally:
            self._state = RunState.ENDED

    def _hashed(self, stage: Staging, folder: Folder) -> tuple[str, tuple[Entry, ...]]:
        """Return the name of the manifest, and the entries with the hashes of all files."""
        manifest = _check_files(stage.path, folder.names)
        if not self.entries:
            return manifest, ()
        files = {name: sha256(stage.path / name) for name in folder.names}
        return manifest, tuple(replace(entry, id=stage.id + entry.id, files=files) for entry in self.entries)

    def _commit(self, stage: Staging, manifest: str, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Let output, entry, receipt and companions appear; return the entries as they now are."""
        made: list[Path] = []
        try:
            for file, write in self._companions:
                write()
                made.append(file)
            first = entries[0] if entries else None
            entered = stage.commit(first, manifest=manifest, again=self._request.spend_again)
        finally:
            if not stage.appeared:
                for file in made:
                    file.unlink(missing_ok=True)
        return entries if entered is None else (entered, *entries[1:])

    # -- the order ---------------------------------------------------------------------------------------

    def _need(self, step: str, *states: RunState) -> None:
        if self._state not in states:
            allowed = " or ".join(state.value for state in states)
            raise OrderError(f"{step} comes when the run is {allowed}; it is {self._state.value}")

    def _need_inputs(self) -> None:
        """Raise unless each draft names confidential data: else the same could be released unnoticed."""
        for draft in self.entries:
            if not any(origin.get("role") in CONFIDENTIAL for origin in draft.inputs):
                raise OrderError(
                    f"the inputs of {draft.command!r} are not stated: by role ({', '.join(CONFIDENTIAL)}) "
                    "and sha256, in the draft or by made_from"
                )

    def _check_drafts(self, drafts: Sequence[Entry]) -> None:
        if self._request.exact_counts:
            raise OrderError("a run for exact counts spends nothing")
        if not drafts:
            raise OrderError(
                "there is no draft of what the run spends; without a cost, state_no_cost says so"
            )
        if self.ledger is not None and len(drafts) > 1:
            raise OrderError(f"a ledger is for one population; there are {len(drafts)} drafts")
        if any(draft.exact for draft in drafts) and not (self._request.invariants or self._request.no_noise):
            raise OrderError("counts are held exact, for which the policies were not asked")


def _check_files(folder: Path, names: Sequence[str]) -> str:
    """Return the manifest; raise unless there is one, and every file was made through the folder."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if unlisted := sorted(there.symmetric_difference(names)):
        raise OrderError(f"files were not written through the folder, or not at all: {', '.join(unlisted)}")
    manifests = [name for name in names if name.partition(".")[0] in MANIFESTS and name.endswith(".json")]
    if not manifests:
        raise OrderError(f"the output has no manifest: write one, as {' or '.join(MANIFESTS)} (Folder.json)")
    return manifests[-1]


def say_where(*sources: object, ledger: FilePath | None, rehearsal: bool, no_ledger: bool, what: str) -> None:
    """Raise unless somebody said where a run that spends is entered, or that it is entered nowhere.

    A ledger that a policy prescribes, that the environment names or that lies beside the input is enough;
    where there is one, nobody can say that there is none. What policies ask for, `admit` refuses. The command
    line asks this before a run.

    >>> say_where("no-such-folder/counts.csv", ledger=None, rehearsal=False, no_ledger=False, what="measure")
    Traceback (most recent call last):
    discreet.errors.InputError: measure would spend, and nothing would keep count: say --ledger FILE, \
--rehearsal SEED (noise that protects nobody), or --no-ledger; nothing was read and nothing spent
    """
    policies = find_policies(folders_of(*sources))
    named = ledger_of(sources, ledger, policies)
    if no_ledger and named is not None:
        raise InputError(
            f"--no-ledger was given, but {named} is the ledger in which such runs are entered: leave "
            "--no-ledger out; nothing was read and nothing spent"
        )
    if no_ledger or rehearsal or named is not None or any(policy.ledger_required for policy in policies):
        return
    raise InputError(
        f"{what} would spend, and nothing would keep count: say --ledger FILE, --rehearsal SEED (noise that "
        "protects nobody), or --no-ledger; nothing was read and nothing spent"
    )
