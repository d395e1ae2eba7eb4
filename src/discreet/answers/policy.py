"""What policies say: the rules that bind some data, who may do what, and what a check of a policy found."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.answers.answer import Answer, AnswerTable, Cell, Column, Fact, Paragraph, Part
from discreet.answers.describing import describes
from discreet.files import FilePath
from discreet.ledger.policy import PERMISSIONS, Policy
from discreet.ledger.policy_review import InForce, PolicyReview
from discreet.ledger.rules import Rules

_COLUMNS = (
    Column("rule", "rule", is_text=True),
    Column("what it says", "says", is_text=True),
    Column("policy", "policy", is_text=True),
)


def _rules(policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield each rule of a policy, and what it says."""
    if policy.ledger_required:
        yield "ledger.required", "every run is entered in a ledger"
    if policy.ledger_file is not None:
        yield "ledger.file", f"the ledger is {policy.ledger_file}"
    if policy.public_keys:
        yield "ledger.public_key", f"its entries are signed with {' and then '.join(policy.public_keys)}"
    if policy.witness is not None:
        yield "ledger.witness", f"it continues from the witness {policy.witness}"
    for rule, whose in (("largest_run", "one run"), ("largest_total", "all runs together")):
        for limit in getattr(policy, rule):
            whom = f"one {limit.unit} ({limit.neighbours} neighbours)"
            yield rule, f"{whose} may spend at most {limit.limit} on {whom}"
    for name, who in policy.may.items():
        yield f"may.{name}", f"{who} may {PERMISSIONS[name]}"


def _signed(policy: Policy) -> str:
    if policy.signed_by is None:
        return "not signed"
    known = "as this machine asks for" if policy.pinned else "a key that nothing here asks for"
    return f"signed with {policy.signed_by[:16]}, {known}"


def _record(policy: Policy) -> dict[str, object]:
    return {
        "file": str(policy.file),
        "title": policy.title,
        "signed_by": policy.signed_by,
        "pinned": policy.pinned,
        "ledger": {
            "required": policy.ledger_required,
            "file": _path(policy.ledger_file),
            "public_key": list(policy.public_keys),
            "witness": _path(policy.witness),
        },
        "largest_run": [limit.document() for limit in policy.largest_run],
        "largest_total": [limit.document() for limit in policy.largest_total],
        "may": {name: "anyone" if who.names is None else who.names for name, who in policy.may.items()},
        "rules": [{"rule": rule, "says": says} for rule, says in _rules(policy)],
    }


def _table(policies: tuple[Policy, ...]) -> AnswerTable:
    rows: list[tuple[Cell, ...]] = [
        (rule, says, str(one.file)) for one in policies for rule, says in _rules(one)
    ]
    return AnswerTable(_COLUMNS, tuple(rows))


@describes(Policy)
def policy_answer(policy: Policy) -> Answer:
    """Say what the rules of one policy are.

    >>> print(Policy.from_toml('format = "discreet policy 1"\\nmay.rehearsal = "never"', file="/p.toml"))
    /p.toml: not signed
      may.rehearsal: nobody may rehearse, with noise that protects nobody (--rehearsal)
    """
    lines = [f"{policy.file}: {_signed(policy)}", *(f"  {rule}: {says}" for rule, says in _rules(policy))]
    tables = {"rules": _table((policy,))}
    return Answer(str(policy.file), _record(policy), tuple(lines), tables=tables, summary="\n".join(lines))


@describes(Rules)
def rules_answer(rules: Rules) -> Answer:
    """Say which policies bind a run."""
    files = ", ".join(str(one.file) for one in rules.policies)
    said = f"bound by {files}" if files else "no policy"
    record = {"policies": [_record(one) for one in rules.policies], "ledger": _path(rules.ledger)}
    return Answer("Rules", record, (said,), tables={"rules": _table(rules.policies)}, summary=said)


def _path(path: FilePath | None) -> str | None:
    return None if path is None else str(path)


@describes(InForce)
def in_force_answer(found: InForce) -> Answer:
    """Say which rules bind some data, and what would refuse a plain run now."""
    record = {
        "source": str(found.source),
        "user": found.user.name,
        "groups": list(found.user.groups),
        "ledger": _path(found.ledger),
        "policies": [_record(one) for one in found.policies],
        "may": {
            name: all(one.may[name].includes(found.user) for one in found.policies if name in one.may)
            for name in PERMISSIONS
        },
        "refusals": [
            {"policy": str(one.file), "rule": one.rule, "reason": one.reason} for one in found.refusals
        ],
    }
    facts = (Fact("policies", str(len(found.policies))), Fact("refuse now", str(len(found.refusals))))
    tables = {"rules": _table(found.policies)}
    body = tuple(_in_force(found))
    command = f"discreet policy show {found.source}"
    return Answer(str(found.source), record, body, facts, (), tables, command)


def _in_force(found: InForce) -> Iterator[Part]:
    if not found.policies:
        yield f"No policy binds {found.source}: commands follow their options alone."
        return
    yield f"What binds runs on {found.source}:"
    for one in found.policies:
        yield ""
        yield Paragraph(f"{one.file} ({_signed(one)}){f': {one.title}' if one.title else ''}", wraps=False)
        for rule, says in _rules(one):
            yield Paragraph(f"  {rule}: {says}")
    yield ""
    lacks = [
        does
        for name, does in PERMISSIONS.items()
        if not all(one.may[name].includes(found.user) for one in found.policies if name in one.may)
    ]
    if lacks:
        yield Paragraph(f"You are {found.user.name}, and may not {'; nor '.join(lacks)}.")
    yield Paragraph(f"Ledger: {found.ledger or 'none'}.")
    for refusal in found.refusals:
        yield Paragraph(f"A run is refused now by {refusal.rule}: {refusal.reason}.")


@describes(PolicyReview)
def policy_review_answer(found: PolicyReview) -> Answer:
    """Say whether a policy can do its work, and list problems and remarks, one a line."""
    many = len(found.problems)
    verdict = f"{many} problem{'s' * (many != 1)}" if many else "sound"
    rules = sum(1 for _ in _rules(found.policy))
    lines = [f"{found.policy.file}: {verdict}; {rules} rule{'s' * (rules != 1)}, {_signed(found.policy)}"]
    lines += [f"problem: {text}" for text in found.problems]
    lines += [f"remark: {text}" for text in found.remarks]
    record = {
        **_record(found.policy),
        "sound": found.sound,
        "problems": list(found.problems),
        "remarks": list(found.remarks),
    }
    body = tuple(Paragraph(line, wraps=False) for line in lines)
    command = f"discreet policy check {found.policy.file}"
    return Answer(str(found.policy.file), record, body, command=command, summary="\n".join(lines))
