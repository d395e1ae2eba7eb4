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
    policies = find_policies(folders_of(*sources))
    spared = _spared(policies, request)
    named = None if spared and ledger is None else ledger_of(sources, ledger, policies)
    if named is not None:
        policies = _joined(policies, find_policies([named.parent, Path(os.path.realpath(named)).parent]))
        spared = _spared(policies, request)
    binding = tuple(policy for policy in policies if policy not in spared)
    refusals = [*_reserved(policies, request), *_ledger_refusals(binding, request, named)]
    if refusals:
        raise PolicyError(refusals)
    return Rules(policies, binding, named)


def ledger_of(sources: Sequence[object], given: FilePath | None, policies: tuple[Policy, ...]) -> Path | None:
    """Return the ledger of a run: the one given or of the environment, of a policy, or beside the inputs."""
    prescribed = next((policy.ledger_file for policy in policies if policy.ledger_file is not None), None)
    if given is None and prescribed is not None and not os.environ.get(VARIABLE):
        return ledger_in(prescribed)
    return find_ledger(given, *sources)


def _joined(some: tuple[Policy, ...], more: tuple[Policy, ...]) -> tuple[Policy, ...]:
    return tuple({policy.file: policy for policy in (*some, *more)}.values())


def _spared(policies: tuple[Policy, ...], request: Request) -> list[Policy]:
    """Return the policies that allow this user to publish without noise, which no ledger can enter."""
    speaking = [policy for policy in policies if request.no_noise and "no_noise" in policy.may]
    return [policy for policy in speaking if policy.may["no_noise"].includes(current_user())]


def _reserved(policies: tuple[Policy, ...], request: Request) -> Iterator[Refusal]:
    for policy in policies:
        for name, who in policy.may.items():
            if getattr(request, name) and not who.includes(user := current_user()):
                whom = f"only {who}" if who.names else "nobody"
                yield policy.refusal(f"may.{name}", f"{whom} may {PERMISSIONS[name]}; you are {user.name}")


def _ledger_refusals(binding: tuple[Policy, ...], request: Request, named: Path | None) -> Iterator[Refusal]:
    for policy in binding:
        if named is None and policy.ledger_required and request.entered:
            reason = f"a ledger must be named (--ledger, {VARIABLE}) or lie beside the input ({FILE})"
            yield policy.refusal("ledger.required", reason)
        wanted = None if policy.ledger_file is None else ledger_in(policy.ledger_file)
        if named and wanted and os.path.realpath(named) != os.path.realpath(wanted):
            yield policy.refusal("ledger.file", f"the ledger must be {wanted}, not {named}")
