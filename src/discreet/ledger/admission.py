"""Who asks the policies: every function that reads confidential data and writes something made of it.

Each calls `admit` once, before it reads anything. It gets the rules in force, with the ledger of the run, or
a `PolicyError` that names every rule that refuses. `discreet.ledger.release_run` does so for what is
published.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.files import FilePath
from discreet.ledger.input_folders import folders_of
from discreet.ledger.ledger_file import FILE, VARIABLE, find_ledger, ledger_in
from discreet.ledger.policy import PERMISSIONS, Policy, PolicyError, Refusal, current_user
from discreet.ledger.rules import Rules, find_policies


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is about to be done, as far as rules speak of it; `entered` if it belongs into a ledger."""

    spend_again: bool = False
    invariants: bool = False
    no_noise: bool = False
    exact_counts: bool = False
    rehearsal: bool = False
    entered: bool = True


def admit(
    source: object, request: Request, *, more: Sequence[object] = (), ledger: FilePath | None = None
) -> Rules:
    """Return the rules for an input, and the ledger of the run; raise if a rule refuses the request.

    An input of several files, such as people and households, is bound by the policies of each: `more` are
    the others.

    The ledger is the one named, that of the environment, the one that a policy prescribes, or the one beside
    the input. None is ever made unasked.

    >>> admit("no-such-folder/counts.csv", Request())
    <Rules: no policy>
    """
    sources = (source, *more)
    found = find_policies(folders_of(*sources))
    spared = _spared(found, request)
    named = None if spared and ledger is None else ledger_of(sources, ledger, found)
    if named is not None:
        found = _joined(found, find_policies([named.parent, Path(os.path.realpath(named)).parent]))
        spared = _spared(found, request)
    binding = tuple(one for one in found if one not in spared)
    refusals = [*_reserved(found, request), *_ledger_refusals(binding, request, named)]
    if refusals:
        raise PolicyError(refusals)
    return Rules(found, binding, named)


def ledger_of(sources: Sequence[object], given: FilePath | None, found: tuple[Policy, ...]) -> Path | None:
    """Return the ledger of a run: the one given or of the environment, of a policy, or beside the inputs."""
    prescribed = next((one.ledger_file for one in found if one.ledger_file is not None), None)
    if given is None and prescribed is not None and not os.environ.get(VARIABLE):
        return ledger_in(prescribed)
    return find_ledger(given, *sources)


def _joined(some: tuple[Policy, ...], more: tuple[Policy, ...]) -> tuple[Policy, ...]:
    return tuple({one.file: one for one in (*some, *more)}.values())


def _spared(found: tuple[Policy, ...], request: Request) -> list[Policy]:
    """Return the policies that allow this user to publish without noise, which no ledger can enter."""
    speaking = [one for one in found if request.no_noise and "no_noise" in one.may]
    return [one for one in speaking if one.may["no_noise"].includes(current_user())]


def _reserved(found: tuple[Policy, ...], request: Request) -> Iterator[Refusal]:
    for one in found:
        for name, who in one.may.items():
            if getattr(request, name) and not who.includes(user := current_user()):
                whom = f"only {who}" if who.names else "nobody"
                yield one.refusal(f"may.{name}", f"{whom} may {PERMISSIONS[name]}; you are {user.name}")


def _ledger_refusals(binding: tuple[Policy, ...], request: Request, named: Path | None) -> Iterator[Refusal]:
    for one in binding:
        if named is None and one.ledger_required and request.entered:
            reason = f"a ledger must be named (--ledger, {VARIABLE}) or lie beside the input ({FILE})"
            yield one.refusal("ledger.required", reason)
        wanted = None if one.ledger_file is None else ledger_in(one.ledger_file)
        if named and wanted and os.path.realpath(named) != os.path.realpath(wanted):
            yield one.refusal("ledger.file", f"the ledger must be {wanted}, not {named}")
