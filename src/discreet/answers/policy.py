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
        (rule, says, str(policy.file)) for policy in policies for rule, says in _rules(policy)
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
    files = ", ".join(str(policy.file) for policy in rules.policies)
    said = f"bound by {files}" if files else "no policy"
    record = {"policies": [_record(policy) for policy in rules.policies], "ledger": _path(rules.ledger)}
    return Answer("Rules", record, (said,), tables={"rules": _table(rules.policies)}, summary=said)


def _path(path: FilePath | None) -> str | None:
    return None if path is None else str(path)


@describes(InForce)
def in_force_answer(in_force: InForce) -> Answer:
    """Say which rules bind some data, and what would refuse a plain run now."""
    record = {
        "source": str(in_force.source),
        "user": in_force.user.name,
        "groups": list(in_force.user.groups),
        "ledger": _path(in_force.ledger),
        "policies": [_record(policy) for policy in in_force.policies],
        "may": {
            name: all(
                policy.may[name].includes(in_force.user) for policy in in_force.policies if name in policy.may
            )
            for name in PERMISSIONS
        },
        "refusals": [
            {"policy": str(refusal.file), "rule": refusal.rule, "reason": refusal.reason}
            for refusal in in_force.refusals
        ],
    }
    facts = (Fact("policies", str(len(in_force.policies))), Fact("refuse now", str(len(in_force.refusals))))
    tables = {"rules": _table(in_force.policies)}
    body = tuple(_in_force(in_force))
    command = f"discreet policy show {in_force.source}"
    return Answer(str(in_force.source), record, body, facts, (), tables, command)


def _in_force(in_force: InForce) -> Iterator[Part]:
    if not in_force.policies:
        yield f"No policy binds {in_force.source}: commands follow their options alone."
        return
    yield f"What binds runs on {in_force.source}:"
    for policy in in_force.policies:
        yield ""
        yield Paragraph(
            f"{policy.file} ({_signed(policy)}){f': {policy.title}' if policy.title else ''}", wraps=False
        )
        for rule, says in _rules(policy):
            yield Paragraph(f"  {rule}: {says}")
    yield ""
    lacks = [
        does
        for name, does in PERMISSIONS.items()
        if not all(each.may[name].includes(in_force.user) for each in in_force.policies if name in each.may)
    ]
    if lacks:
        yield Paragraph(f"You are {in_force.user.name}, and may not {'; nor '.join(lacks)}.")
    yield Paragraph(f"Ledger: {in_force.ledger or 'none'}.")
    for refusal in in_force.refusals:
        yield Paragraph(f"A run is refused now by {refusal.rule}: {refusal.reason}.")


@describes(PolicyReview)
def policy_review_answer(review: PolicyReview) -> Answer:
    """Say whether a policy can do its work, and list problems and remarks, one a line."""
    many = len(review.problems)
    verdict = f"{many} problem{'s' * (many != 1)}" if many else "sound"
    rules = sum(1 for _ in _rules(review.policy))
    lines = [f"{review.policy.file}: {verdict}; {rules} rule{'s' * (rules != 1)}, {_signed(review.policy)}"]
    lines += [f"problem: {text}" for text in review.problems]
    lines += [f"remark: {text}" for text in review.remarks]
    record = {
        **_record(review.policy),
        "sound": review.sound,
        "problems": list(review.problems),
        "remarks": list(review.remarks),
    }
    body = tuple(Paragraph(line, wraps=False) for line in lines)
    command = f"discreet policy check {review.policy.file}"
    return Answer(str(review.policy.file), record, body, command=command, summary="\n".join(lines))
