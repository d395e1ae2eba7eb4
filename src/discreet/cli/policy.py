"""`discreet policy`: show the rules that bind some data, check a policy, and sign it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.answers.answer import Answer
from discreet.cli import console
from discreet.cli.console import Screen, option
from discreet.ledger.policy import sign_policy, signature_file
from discreet.ledger.policy_review import review_policy, rules_in_force

File = Annotated[Path, option("The policy's file.")]

_FILE = "rules/discreet-policy.toml"
_WRITTEN = "example rules --name policy"

app = console.command(
    "policy",
    "show|check|sign PATH [OPTIONS]",
    "check data/discreet-policy.toml",
    "sign data/discreet-policy.toml --key policy.key",
    tries=(console.SURVEY, "policy show survey/records.csv"),
)
show_app = console.command(
    "policy show",
    "DATA [OPTIONS]",
    tries=(console.SURVEY, "policy show survey/records.csv"),
)
check_app = console.command(
    "policy check",
    "PATH [OPTIONS]",
    "data/discreet-policy.toml",
    tries=(_WRITTEN, f"policy check {_FILE}"),
)
sign_app = console.command(
    "policy sign",
    "PATH --key FILE [OPTIONS]",
    tries=(_WRITTEN, f"policy sign {_FILE} --key policy.key"),
)


@show_app.default
@console.takes(rules_in_force)
def show_rules(
    data: Annotated[Path, option("The input of a run: a file or a directory.")],
    /,
    *,
    json: console.Json = False,
    **given: console.Given,
) -> None:
    """The rules that bind runs on some data, and what refuses one now."""
    from discreet.answers.policy import in_force_answer

    Screen(json=json, quiet=True).tell(in_force_answer(rules_in_force(data, **given)))


@check_app.default
def check_rules(path: File, /, *, json: console.Json = False) -> None:
    """Check a policy, its signature, its ledger and its witness; status 2 if there is any problem."""
    from discreet.answers.policy import policy_review_answer

    review = review_policy(path)
    Screen(json=json, quiet=True).tell(policy_review_answer(review))
    if not review.sound:
        raise SystemExit(2)


@sign_app.default
@console.takes(sign_policy)
def sign_rules(path: File, /, *, json: console.Json = False, **given: console.Given) -> None:
    """Sign a policy, in a file beside it."""
    with console.key_of(given["key"]) as signer:
        sign_policy(path, signer)
    said = (
        f"{path}: signed, in {signature_file(path).name}. After each change it must be signed again.",
        f"Public key, for DISCREET_POLICY_KEY or /etc/discreet/policy-key.pub: {signer.public}",
    )
    record = {"policy": str(path), "signature": str(signature_file(path)), "public_key": signer.public}
    Screen(json=json, quiet=True).tell(Answer(str(path), record, said))
