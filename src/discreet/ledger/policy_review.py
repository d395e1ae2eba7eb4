"""What a person asks about policies: which rules bind some data, and whether a policy can do its work."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from discreet.errors import InputError
from discreet.faces import Displayed, Summarised
from discreet.files import FilePath
from discreet.ledger.admission import Request, admit
from discreet.ledger.input_folders import folders_of
from discreet.ledger.ledger_file import ledger_in, read_ledger
from discreet.ledger.policy import Policy, PolicyError, Refusal, User, current_user, read_policy
from discreet.ledger.rules import Rules, find_policies
from discreet.questions import Option
from discreet.tables import file_of, is_there


@dataclass(frozen=True, slots=True)
class InForce(Displayed):
    """The rules that bind an input, for the user who asks, and what refuses a plain run now."""

    source: Path
    user: User
    policies: tuple[Policy, ...]
    ledger: Path | None
    refusals: tuple[Refusal, ...]


def rules_in_force(
    source: FilePath,
    *,
    ledger: Annotated[
        FilePath | None, Option("The ledger that the run would name.", "FILE", reads=Path | None)
    ] = None,
) -> InForce:
    """Return the rules that bind a file or directory, and those that would refuse a plain run on it now.

    Limits are not compared, because they depend on the release. Nothing is written.

    >>> rules_in_force("no-such-folder/counts.csv")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no file or directory no-such-folder/counts.csv
    """
    if not is_there(source) and not file_of(source).exists():
        raise InputError(f"there is no file or directory {source}")
    refusals: list[Refusal] = []
    try:
        rules = admit(source, Request(), ledger=ledger)
    except PolicyError as error:
        policies = find_policies(folders_of(source))
        rules, refusals = Rules(policies, policies, None), list(error.refusals)
    if rules.ledger is not None and rules.policies:
        refusals += rules.about(read_ledger(rules.ledger))
    return InForce(Path(source), current_user(), rules.policies, rules.ledger, tuple(refusals))


@dataclass(frozen=True, slots=True)
class PolicyReview(Summarised):
    """What a check of one policy found: `problems` stop every run, `remarks` weaken what it protects."""

    policy: Policy
    problems: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


def review_policy(path: FilePath) -> PolicyReview:
    """Check that a policy can be read, that its signature fits, and that its ledger and witness are there."""
    policy = read_policy(path)
    return PolicyReview(policy, tuple(_problems(policy)), tuple(_remarks(policy)))


def _problems(policy: Policy) -> Iterator[str]:
    if policy.ledger_file is None:
        if policy.witness is not None and not policy.witness.exists():
            yield f"ledger.witness: there is no file {policy.witness}"
        return
    try:
        ledger = read_ledger(ledger_in(policy.ledger_file))
    except InputError as error:
        yield f"ledger.file: {error}"
        return
    for refusal in Rules((policy,), (policy,)).about(ledger):
        yield f"{refusal.rule}: {refusal.reason}"


def _remarks(policy: Policy) -> Iterator[str]:
    if policy.signed_by is None:
        yield "it is not signed: whoever can write it can change it unnoticed"
    elif not policy.pinned:
        yield f"nothing on this machine asks for the key that it is signed with, {policy.signed_by[:16]}"
    if os.stat(policy.file).st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield "users other than its owner can write it"
    if policy.ledger_required and policy.witness is None:
        yield "it names no witness: a ledger that is put back to an older state may not be noticed"
    if policy.ledger_required and not policy.public_keys:
        yield "it pins no public key: a ledger without signatures is taken"
    if policy.witness and policy.ledger_file and policy.witness.parent == policy.ledger_file.parent:
        yield "its witness lies beside the ledger: whoever puts back the directory puts back both"
    if policy.ledger_required and policy.ledger_file is None:
        yield "it names no ledger file: any ledger will do, even a new one"
