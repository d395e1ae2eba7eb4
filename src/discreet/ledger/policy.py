"""A policy: the rules of an agency for what is done with its data, in a TOML file, signed if wanted.

A policy only ever forbids. So all that are found apply together, and none can take back what another says.
What a rule refuses is a `PolicyError`, which names the rule and its file. Who finds policies, and who asks
them, is in `discreet.ledger.rules`.

A signature lies beside the file, as `discreet-policy.toml.sig`: the public key and the Ed25519 signature of
the text, in hexadecimal digits. One that does not fit is refused. It proves something to those who know the
key from elsewhere: from DISCREET_POLICY_KEY, or from `policy-key.pub` in the directory of the machine. Where
there is such a key, a policy that it has not signed is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from discreet.budget.toml import FieldError, a_list, a_table, inside, line, located, parse_toml
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.files import FilePath, check_regular, write_whole
from discreet.ledger.signing import Key, small_order, verified
from discreet.ledger.total import Total
from discreet.numbers import SMALLEST, shown
from discreet.questions import Option

FILE = "discreet-policy.toml"
"""The name under which a policy is looked for."""

FORMAT = "discreet policy 1"

VARIABLE = "DISCREET_POLICY"
"""The environment variable that may name one more policy."""

_KEY_VARIABLE = "DISCREET_POLICY_KEY"
"""The environment variable that may hold the public key that policies must be signed with."""

MACHINE = Path("/etc/discreet")
"""The directory of the machine: a policy for all data on it, and the public key of policies."""

LARGEST = 1 << 20
"""The most bytes that a policy may have."""

PERMISSIONS = {
    "spend_again": "release an input again (--spend-again)",
    "invariants": "hold counts exact (--invariant)",
    "no_noise": "publish without noise (--no-noise)",
    "exact_counts": "see exact counts or records (tabulate, risk records, safetab report, "
    "check-records --show)",
    "rehearsal": "rehearse, with noise that protects nobody (--rehearsal)",
}
"""What a policy may reserve to some people."""

_KEY = re.compile("[0-9a-f]{64}")
_LEDGER_KEYS = ("required", "file", "public_key", "witness")
_KEYS = ("format", "title", "ledger", "largest_run", "largest_total", "may")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule that refuses: which, of which file, and why."""

    file: Path
    rule: str
    reason: str

    def __str__(self) -> str:
        return f"by the rule {self.rule} of the policy {self.file}: {self.reason}"


class PolicyError(InputError):
    """What policies refuse; `refusals` has every rule that does."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        told = "; ".join(map(str, refusals))
        super().__init__(f"refused {told}; nothing was written and nothing spent")
        self.refusals = tuple(refusals)

    def __reduce__(self) -> tuple[type[PolicyError], tuple[tuple[Refusal, ...]]]:
        return PolicyError, (self.refusals,)


@dataclass(frozen=True, slots=True)
class User:
    """Who runs a command: the name of the system's user, and those of the groups they are in."""

    name: str
    groups: tuple[str, ...] = ()


def current_user() -> User:
    """Return who runs this process, as the system knows it: what the environment says does not count.

    >>> current_user().name != ""
    True
    """
    try:
        import grp
        import pwd
    except ImportError:  # Windows: the name of the account; its groups are not asked for
        return User(os.getlogin())
    groups = dict.fromkeys([os.getgid(), *os.getgroups()])
    return User(_named(pwd.getpwuid, os.getuid()), tuple(_named(grp.getgrgid, group) for group in groups))


def _named(read: Callable[[int], Sequence[object]], number: int) -> str:
    """Return the name of a user or a group; if the system has none, the number."""
    try:
        return str(read(number)[0])
    except KeyError:
        return str(number)


@dataclass(frozen=True, slots=True)
class Permission:
    """Who may do something: everybody (`names` is None), nobody, or some users and groups (`@stewards`)."""

    names: tuple[str, ...] | None = None

    def includes(self, user: User) -> bool:
        """Whether a user may.

        >>> Permission(("ann", "@stewards")).includes(User("bob", ("stewards",)))
        True
        """
        mine = {user.name, *(f"@{group}" for group in user.groups)}
        return self.names is None or not mine.isdisjoint(self.names)

    def __str__(self) -> str:
        if self.names is None:
            return "anyone"
        return ", ".join(self.names) or "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Summarised):
    """The rules of one file.

    `largest_run` limits what a single run may cost one record, `largest_total` all runs of the ledger
    together. `may` has a permission for each of PERMISSIONS that the file speaks of.
    """

    file: Path
    title: str = ""
    ledger_required: bool = False
    ledger_file: Path | None = None
    public_keys: tuple[str, ...] = ()
    witness: Path | None = None
    largest_run: tuple[Total, ...] = ()
    largest_total: tuple[Total, ...] = ()
    may: Mapping[str, Permission] = field(default_factory=dict)
    signed_by: str | None = None
    pinned: bool = False
    """Whether the key that signed it is one that is known from elsewhere."""

    def refusal(self, rule: str, reason: str) -> Refusal:
        """Return that one of its rules refuses."""
        return Refusal(self.file, rule, reason)

    @classmethod
    def from_toml(cls, text: str, *, file: FilePath) -> Policy:
        """Read a policy; `file` is where it stands, from which the paths in it are relative.

        >>> policy = Policy.from_toml('format = "discreet policy 1"\\nledger.required = true', file="p.toml")
        >>> policy.ledger_required
        True
        """
        path = Path(os.path.realpath(file))
        data = parse_toml(text, str(file))
        try:
            return _read(data, path)
        except FieldError as error:
            raise located(error, text, data, str(file)) from None


def _read(data: object, path: Path) -> Policy:
    table = a_table(data, "the policy", _KEYS, needed=("format",))
    if table["format"] != FORMAT:
        raise FieldError(f'format is {shown(table["format"])}; it must be "{FORMAT}"', field=("format",))
    limits = {rule: _limits(table.get(rule, []), rule) for rule in ("largest_run", "largest_total")}
    with inside("ledger"):
        ledger = a_table(table.get("ledger", {}), "ledger", _LEDGER_KEYS)
        required = ledger.get("required", bool(ledger) or bool(limits["largest_total"]))
        if not isinstance(required, bool):
            raise FieldError(f"required is {shown(required)}; it must be true or false", field=("required",))
        if not required and (len(ledger) > 1 or limits["largest_total"]):
            raise FieldError(
                "required is false, but other rules are about the ledger: leave it out, or them",
                field=("required",),
            )
        paths = {
            name: Path(os.path.abspath(path.parent / line(ledger[name], name=name, field=(name,))))
            for name in ("file", "witness")
            if name in ledger
        }
        keys = _public_keys(ledger["public_key"]) if "public_key" in ledger else ()
    title = line(table["title"], name="title", field=("title",)) if "title" in table else ""
    return Policy(
        file=path,
        title=title,
        ledger_required=required,
        ledger_file=paths.get("file"),
        public_keys=keys,
        witness=paths.get("witness"),
        largest_run=limits["largest_run"],
        largest_total=limits["largest_total"],
        may=_permissions(table.get("may", {})),
    )


def _limits(data: object, rule: str) -> tuple[Total, ...]:
    """Read limits, each a table as a total of a ledger is."""
    limits = []
    for number, table in enumerate(a_list(data, rule, f"tables, each [[{rule}]]")):
        with inside(rule, number):
            names = ("unit", "neighbours", "rho", "epsilon", "delta")
            limit = Total(**a_table(table, rule, names, needed=("unit", "neighbours")))
            if limit.delta and limit.delta < SMALLEST:
                raise FieldError("delta is below 1e-300; for pure privacy it is 0", field=("delta",))
            if rule == "largest_run" and len(limit.units) > 1:
                raise FieldError("a run is about one unit, so is its limit", field=("unit",))
            limits.append(limit)
    return tuple(limits)


def _public_keys(value: object) -> tuple[str, ...]:
    given: list[object] = value if isinstance(value, list) else [value]
    for key in given or [value]:
        if not isinstance(key, str) or not _is_key(key):
            raise FieldError(
                f"public_key is {shown(key)}; it must be what `discreet ledger sign` printed, 64 hexadecimal "
                "digits, or a list of such in the order in which they were used",
                field=("public_key",),
            )
    return tuple(str(key).lower() for key in given)


def _is_key(text: str) -> bool:
    return bool(_KEY.fullmatch(text.lower())) and not small_order(bytes.fromhex(text))


def _permissions(data: object) -> dict[str, Permission]:
    permissions = {}
    with inside("may"):
        for name, who in a_table(data, "may", tuple(PERMISSIONS)).items():
            if who in ("anyone", "never"):
                permissions[name] = Permission(None if who == "anyone" else ())
                continue
            if not isinstance(who, list):
                raise FieldError(
                    f'{name} is {shown(who)}; it must be "anyone", "never", or a list of users and @groups',
                    field=(name,),
                )
            names = (line(user, name=f"{name} names", field=(name, at)) for at, user in enumerate(who))
            permissions[name] = Permission(tuple(names))
    return permissions


# -- files and signatures ------------------------------------------------------------------------------------


def read_policy(path: FilePath, *, keys: Iterable[str] | None = None) -> Policy:
    """Return the policy in a file, which must be signed with all `keys` if there are any.

    Without `keys`, they are those of the environment and of the machine.

    >>> read_policy("no-such-policy.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: the policy no-such-policy.toml cannot be read: No such file or directory
    """
    text = _text(Path(path), "policy")
    policy, signer = Policy.from_toml(text, file=path), _signer(Path(path), text)
    needed = set(pinned_keys() if keys is None else keys)
    if wrong := sorted(needed - {signer}):
        what = "is not signed" if signer is None else f"is signed with the key {signer[:16]}"
        raise InputError(
            f"the policy {path} {what}; here policies must be signed with the key {wrong[0][:16]} "
            f"({_KEY_VARIABLE}, or {MACHINE / 'policy-key.pub'})"
        )
    return replace(policy, signed_by=signer, pinned=bool(needed))


def check_owner(path: Path) -> None:
    """Raise unless a policy belongs to this user, to the system's administrator or to its directory's owner.

    >>> check_owner(Path("/etc/passwd"))
    """
    try:
        import pwd
    except ImportError:
        raise InputError(
            f"who wrote the policy {path} cannot be told on this system, where files have no owners: it must "
            f"be signed with the key of policies ({_KEY_VARIABLE})"
        ) from None
    try:
        above = os.stat(path.parent).st_uid
        owners = [status(path).st_uid for status in (os.lstat, os.stat)]  # of a link, and of what it leads to
    except OSError as error:
        raise InputError(f"the policy {path} cannot be read: {error.strerror}") from None
    if strangers := [owner for owner in owners if owner not in (0, os.getuid(), above)]:
        raise InputError(
            f"the policy {path} belongs to {_named(pwd.getpwuid, strangers[0])}, who may be a stranger: it "
            "must belong to you, to root or to the owner of its directory, or be signed with the key of "
            f"policies ({_KEY_VARIABLE})"
        )


def pinned_keys() -> tuple[str, ...]:
    """Return the public keys that policies must be signed with here: of the environment, of the machine.

    >>> len(pinned_keys()) <= 2
    True
    """
    given, file = [(os.environ.get(_KEY_VARIABLE, ""), _KEY_VARIABLE)], MACHINE / "policy-key.pub"
    if os.path.lexists(file):
        given.append((_text(file, "key of policies"), str(file)))
    keys = []
    for text, where in given:
        if text and not _is_key(text.strip()):
            raise InputError(f"{where} is not a public key, 64 hexadecimal digits")
        keys += [text.strip().lower()] if text else []
    return tuple(dict.fromkeys(keys))


def signature_file(path: FilePath) -> Path:
    """Return where the signature of a policy lies.

    >>> signature_file("no-such-folder/discreet-policy.toml").name
    'discreet-policy.toml.sig'
    """
    target = Path(os.path.realpath(path))
    return target.with_name(f"{target.name}.sig")


def sign_policy(
    path: FilePath,
    key: Annotated[Key, Option("The key's file; it is made if it does not exist.", "FILE", reads=Path)],
) -> Policy:
    """Sign a policy, in the file beside it; an earlier signature is replaced."""
    text = _text(Path(path), "policy")
    Policy.from_toml(text, file=path)  # nothing is signed that could not be used
    line = f"{key.public} {key.sign(_signed(text))}\n"
    write_whole({signature_file(path): line.encode()})
    return read_policy(path, keys=[key.public])


def _signer(path: Path, text: str) -> str | None:
    """Return the public key that has signed a policy; None if nobody has."""
    file = signature_file(path)
    if not os.path.lexists(file):
        return None
    public, _, signature = _text(file, "signature").strip().partition(" ")
    if not verified(public.lower(), signature, _signed(text)):
        raise InputError(f"the policy {path} was changed after it was signed: {file.name} does not fit it")
    return public.lower()


def _signed(text: str) -> str:
    return f"{FORMAT}\n{text}"


def _text(path: Path, what: str) -> str:
    try:
        check_regular(path, f"the {what} {path}", most=LARGEST)
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"the {what} {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"the {what} {path} is not UTF-8") from None
