"""The rules in force for an input: all policies that are found, and what they say about ledgers and runs.

A policy lies beside the data, or in any directory above, whether the path is taken as it was given or where
its links lead; beside the ledger likewise; in the file that DISCREET_POLICY names; and in the directory of
the machine. All that are found apply: naming one more cannot remove another.

A policy may name the ledger that a run is entered in, and so where a hash of the input is written. So one
that a stranger has put into a directory that others can write to, such as /tmp, is not followed but refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.files import disk_trouble
from discreet.ledger import policy as policies
from discreet.ledger.charges import charged
from discreet.ledger.entry import Entry
from discreet.ledger.input_folders import with_parents
from discreet.ledger.ledger import Ledger
from discreet.ledger.policy import Policy, PolicyError, Refusal, check_owner, pinned_keys, read_policy
from discreet.ledger.spending import spent
from discreet.ledger.total import Total
from discreet.ledger.witness_file import Witness, add_line, read_witness
from discreet.numbers import bound


def find_policies(folders: Sequence[Path]) -> tuple[Policy, ...]:
    """Return every policy that binds what lies in some directories, the nearest first.

    >>> find_policies([Path("/no-such-folder")])
    ()
    """
    names = [folder / policies.FILE for folder in with_parents(tuple(folders))]
    names.append(policies.MACHINE / "policy.toml")
    files = [name for name in names if os.path.lexists(name)]
    named = os.environ.get(policies.VARIABLE)
    keys = pinned_keys() if files or named else ()
    read: dict[Path, Policy] = {}
    for name in (*files, *([Path(named)] if named else [])):
        real = Path(os.path.realpath(name))
        if real not in read:
            read[real] = read_policy(name, keys=keys)
            if name in files and not keys:
                check_owner(name)
    return tuple(read.values())


@dataclass(frozen=True, slots=True)
class Rules(Summarised):
    """The policies that bind a run, and the ledger that it is to be entered in.

    `policies` are all that were found. `binding` are those whose rules about ledgers and limits hold for the
    run: all, but for one without noise, which has no cost to enter, if a policy allows it to this user.
    """

    policies: tuple[Policy, ...] = ()
    binding: tuple[Policy, ...] = ()
    ledger: Path | None = None

    def about(self, ledger: Ledger, *, started: bool = True) -> Iterator[Refusal]:
        """Yield what the rules have against a ledger: its key, and that it is not what a witness has seen.

        Unless `started`, a witness that does not exist yet is not missed.
        """
        for policy in self.binding:
            if policy.public_keys and ledger.keys != policy.public_keys:
                yield policy.refusal("ledger.public_key", _other_keys(ledger, policy.public_keys))
            asked = policy.witness if started or (policy.witness and policy.witness.exists()) else None
            if asked is not None and (wrong := _contradiction(asked, ledger)):
                yield policy.refusal("ledger.witness", wrong)

    def refuse(self, ledger: Ledger) -> None:
        """Raise unless the ledger may be used; nothing is written."""
        if refusals := list(self.about(ledger)):
            raise PolicyError(refusals)

    def check(self, ledger: Ledger) -> None:
        """Raise unless the ledger may be used; then let the witnesses see it, if they have not.

        The caller holds the lock of the ledger.
        """
        self.refuse(ledger)
        for policy, witness in self._witnesses():
            try:
                add_line(witness, ledger)
            except OSError as error:
                reason = disk_trouble(error, f"the witness {witness.file}")
                raise PolicyError([policy.refusal("ledger.witness", reason)]) from None

    def seen(self, ledger: Ledger) -> None:
        """Let the witnesses see a ledger whose last entry counts already; what fails, the next run does."""
        with suppress(OSError, InputError):
            for _, witness in self._witnesses():
                if not witness.contradiction(ledger):
                    add_line(witness, ledger)

    def _witnesses(self) -> Iterator[tuple[Policy, Witness]]:
        for policy in self.binding:
            if policy.witness is not None:
                yield policy, read_witness(policy.witness)

    def allow(self, entry: Entry, ledger: Ledger | None) -> None:
        """Raise unless a run is within the limits for one run, and for all runs of the ledger together."""
        if entry.counted and (refusals := list(self._excess(entry, ledger))):
            raise PolicyError(refusals)

    def _excess(self, entry: Entry, ledger: Ledger | None) -> Iterator[Refusal]:
        for policy in self.binding:
            for rule, limits in (
                ("largest_run", policy.largest_run),
                ("largest_total", policy.largest_total),
            ):
                if limits and not any(entry.release.unit in limit.units for limit in limits):
                    units = ", ".join(dict.fromkeys(limit.unit for limit in limits))
                    reason = f"it has limits for {units}, but none for {entry.release.unit}"
                    yield policy.refusal(rule, reason)
                for limit in limits:
                    together = ledger if rule == "largest_total" else None
                    if reason := (
                        _too_much(limit, entry)
                        if together is None
                        else together.shortfall(limit, entry, where="the policy")
                    ):
                        yield policy.refusal(rule, reason)


def rules_beside(ledger: Path) -> Rules:
    """Return the rules that bind a ledger by where it lies."""
    binding = find_policies([ledger.parent, Path(os.path.realpath(ledger)).parent])
    return Rules(binding, binding, ledger)


def _contradiction(witness: Path, ledger: Ledger) -> str:
    try:
        return read_witness(witness).contradiction(ledger)
    except InputError as error:
        return str(error)


def _other_keys(ledger: Ledger, wanted: tuple[str, ...]) -> str:
    shown = " and then ".join(key[:16] for key in wanted)
    if not ledger.keys:
        return f"the ledger is not signed; its entries must be signed with the key {shown}"
    keys = " and then ".join(key[:16] for key in ledger.keys)
    return f"the entries of the ledger are signed with the key {keys}; they must be with {shown}"


def _too_much(limit: Total, entry: Entry) -> str:
    """Say what one run costs if a limit allows less; else, or if it is not charged, return an empty text."""
    mine = charged(entry, limit.unit, limit.neighbours)
    if mine is None:
        return ""
    whom = f"one {limit.unit} ({limit.neighbours} neighbours)"
    most = f"more than the {limit.limit} that one run may spend on {whom}"
    if limit.rho is not None and entry.delta:
        failing = f"the run holds but for an event of probability {bound(entry.delta, digits=4)}"
        return f"{failing}, which no rho allows for: {most}"
    if limit.rho is not None:
        needed = spent(mine.release, limit.neighbours)
        return f"the run needs rho {needed}, {most}" if needed > limit.rho else ""
    from discreet.ledger.composition import exceeds

    excess = exceeds(limit, [mine])
    return f"the run comes to {excess}, {most}" if excess else ""
