"""A session as TOML and as part of an address: every state can be kept, sent and opened again.

What comes from outside is measured before it is read, and read by a process that can be killed (`tasks`).
"""

from __future__ import annotations

import base64
import re
import zlib
from fractions import Fraction
from typing import Any

from discreet.budget import Release
from discreet.budget.catalogue import LARGEST_FILE, load_preset
from discreet.budget.toml import check_keys, parse_toml
from discreet.errors import InputError
from discreet.numbers import positive
from discreet.report import words
from discreet.workbench.state import Budget, State

VERSION = 1
_KEYS = ("session", "preset", "file", "release", "delta", "neighbours", "budget", "pages", "before")
LONGEST_LINK = 30_000
"""Characters of an address that every server reads; a state that needs more is kept in a file."""

MOST_KEYS = 10_000
"""Keys of a file that a page opens, in all its tables."""

MOST_LEVELS = 60
MOST_QUERIES = 1_500
"""Queries of a release, in all its levels: each is a cell of a table on the page."""

MOST_PATHS = 400
MOST_VARIANCES = 500
"""Different variances on all levels; the time of an account grows with them."""

_LONGEST_UNFOLDED = 200_000  # bytes of TOML that an address may unfold to
_LONGEST_SETTING = 2_000  # characters of what a page remembers
_MOST_SETTINGS = 1_000


def to_toml(state: State, before: State | None = None) -> str:
    """Write a session, with the state it is compared to if there is one.

    >>> print(to_toml(State.of("dhc-2020")), end="")
    # A session of `discreet workbench`; open it there.
    session = 1
    preset = "dhc-2020-persons"
    delta = "1e-10"
    """
    lines = ["# A session of `discreet workbench`; open it there.", f"session = {VERSION}"]
    lines += _lines(state, "")
    if before is not None:
        lines += ["", "[before]", *_lines(before, "before.")]
    return "\n".join(lines) + "\n"


def from_toml(text: str, where: str = "the session") -> tuple[State, State | None]:
    """Read a session: the state, and the one it is compared to.

    >>> state = State.of("dhc-2020").with_total(Fraction(1, 2)).with_delta("1e-9")
    >>> from_toml(to_toml(state)) == (state, None)
    True
    >>> from_toml("session = 2")
    Traceback (most recent call last):
    discreet.errors.InputError: the session is of version 2; this program reads version 1
    """
    data = parse_toml(text, where, most_keys=MOST_KEYS)
    if data.get("session") != VERSION:
        raise InputError(
            f"{where} is of version {data.get('session')!r}; this program reads version {VERSION}"
        )
    before = data.pop("before", None)
    state = _state(data, where)
    return state, None if before is None else _state(_table(before, "before", where), where)


def read_file(content: bytes, where: str) -> tuple[State, State | None]:
    """Read a file that was handed in: a session, or a release, which begins a new one.

    >>> read_file(b"name = 1", where="a.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: the release has no neighbours; it must state one (a.toml)
    >>> read_file(bytes([0xFF, 0xFE]), "a.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: a.toml is not a text file: not UTF-8 at byte 1
    """
    if len(content) > LARGEST_FILE:
        raise InputError(f"{where} is larger than {LARGEST_FILE // 10**6} MB, the largest file that is read")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not a text file: not UTF-8 at byte {error.start + 1}") from None
    check_keys(text, where, most=MOST_KEYS)
    if re.search(r"^\s*[\"']?session[\"']?\s*=", text, re.MULTILINE):
        return _checked(*from_toml(text, where))
    return _checked(State(_release(text, where), where, False), None)


def _release(text: str, where: str) -> Release:
    """Read a release that the pages can show."""

    def check(many: int, most: int, what: str) -> None:
        if many > most:
            raise InputError(f"the release has {many} {what}; the workbench shows at most {most} ({where})")

    check(len(re.findall(r"^\s*\[\[\s*levels\s*\]\]", text, re.MULTILINE)), MOST_LEVELS, "levels")
    release = Release.from_toml(text, where=where)
    check(len(release.levels), MOST_LEVELS, "levels")
    check(sum(len(level.queries) for level in release.levels), MOST_QUERIES, "queries")
    check(len(release.paths), MOST_PATHS, "paths")
    return release


def _checked(state: State, before: State | None) -> tuple[State, State | None]:
    """Refuse what the pages cannot draw, while nobody waits for it but the visitor."""
    for one in (state, before):
        if one is not None:
            noise = {getattr(event, "variance", None) for event in one.main_events}
            if len(noise) > MOST_VARIANCES:
                raise InputError(
                    f"the release has {len(noise)} different variances; the workbench accounts for at most "
                    f"{MOST_VARIANCES} ({one.source})"
                )
    return state, before


def to_link(state: State, before: State | None = None) -> str:
    """Write a session as letters, digits, - and _, for an address.

    >>> from_link(to_link(State.of("dhc-2020"))) == (State.of("dhc-2020"), None)
    True
    """
    packed = zlib.compress(to_toml(state, before).encode(), 9)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def from_link(link: str) -> tuple[State, State | None]:
    """Read a session from an address.

    >>> bomb = base64.urlsafe_b64encode(zlib.compress(b"#" * 10_000_000, 9)).decode().rstrip("=")
    >>> len(bomb), from_link(bomb)
    Traceback (most recent call last):
    discreet.errors.InputError: the address expands to more than 200000 bytes; save the session as a file
    """
    if len(link) > LONGEST_LINK:
        raise InputError(f"the address has {len(link)} characters; at most {LONGEST_LINK} are read")
    try:
        packed = base64.urlsafe_b64decode(link + "=" * (-len(link) % 4))
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(packed, _LONGEST_UNFOLDED)
        rest = bool(unpacker.unconsumed_tail) and not unpacker.eof
        text = content.decode("utf-8")
    except (ValueError, zlib.error):
        raise InputError("the address holds no session that can be read") from None
    if rest:
        raise InputError(
            f"the address expands to more than {_LONGEST_UNFOLDED} bytes; save the session as a file"
        )
    return from_toml(text, "the address")


def read_link(link: str) -> tuple[State, State | None]:
    """Read a session from an address, if the pages can show it."""
    return _checked(*from_link(link))


def exact_text(value: Fraction) -> str:
    """Write a number as shortly as it can be read back exactly.

    >>> exact_text(Fraction(1, 10**10)), exact_text(Fraction(1, 3))
    ('1e-10', '1/3')
    """
    short = words.plain(value)
    return short if Fraction(short) == value else str(value)


def _lines(state: State, inside: str) -> list[str]:
    lines = [f"preset = {_quoted(state.source)}"] if state.is_preset else [f"file = {_quoted(state.source)}"]
    lines.append(f"delta = {_quoted(exact_text(state.delta))}")
    if state.neighbours:
        lines.append(f"neighbours = {_quoted(state.neighbours)}")
    if not state.is_preset:
        text = state.base.to_toml().replace("\\", "\\\\").replace('"""', '""\\"')
        lines.append(f'release = """\n{text}"""')
    if state.changed is not None:
        lines += _budget_lines(state.base, state.changed, inside)
    for page in dict.fromkeys(page for page, _, _ in state.settings):
        lines += ["", f"[{inside}pages.{_quoted(page)}]"]
        lines += [f"{_quoted(name)} = {_quoted(text)}" for p, name, text in state.settings if p == page]
    return lines


def _budget_lines(base: Release, budget: Budget, inside: str) -> list[str]:
    lines = ["", f"[{inside}budget]", f'total = "{budget.total}"', f"[{inside}budget.weights]"]
    lines += [f'{_quoted(level.name)} = "{w}"' for level, w in zip(base.levels, budget.weights, strict=True)]
    stated = Budget.of(base).shares
    for place, level in enumerate(base.levels):
        if budget.shares[place] != stated[place]:
            lines.append(f"[{inside}budget.shares.{_quoted(level.name)}]")
            pairs = zip(level.queries, budget.shares[place], strict=True)
            lines += [f'{_quoted(query.name)} = "{share}"' for query, share in pairs]
    return lines


def _quoted(text: str) -> str:
    escaped = "".join(_escaped(letter) for letter in text)
    return f'"{escaped}"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"


def _state(data: dict[str, Any], where: str) -> State:
    for key in data:
        if key not in _KEYS:
            raise InputError(f"{where} has the unknown key {key!r}; allowed are {', '.join(_KEYS)}")
    if "preset" in data:
        release = load_preset(_text(data, "preset", where))  # never a file of the server
        state = State(release, release.name, True)
    else:
        base = _release(_text(data, "release", where), f"release in {where}")
        state = State(base, _text(data, "file", where), False)
    state = state.with_delta(_text(data, "delta", where))
    if "neighbours" in data:
        state = state.with_neighbours(_text(data, "neighbours", where))
    if "budget" in data:
        state = state.with_budget(_budget(state, _table(data["budget"], "budget", where), where))
        _ = state.release  # a budget that does not add up is refused here and not while a page is drawn
    for page, values in _table(data.get("pages", {}), "pages", where).items():
        table = _table(values, page, where)
        state = state.with_settings(page, {name: _text(table, name, where) for name in table})
    _check_settings(state, where)
    return state


def _check_settings(state: State, where: str) -> None:
    if len(state.settings) > _MOST_SETTINGS:
        found = len(state.settings)
        raise InputError(f"pages has {found} settings; at most {_MOST_SETTINGS} are read ({where})")
    for page, name, text in state.settings:
        size = max(map(len, (page, name, text)))
        if size > _LONGEST_SETTING:
            raise InputError(
                f"a setting of page {page[:40]!r} has {size} characters; at most {_LONGEST_SETTING} "
                f"are read ({where})"
            )


def _budget(state: State, data: dict[str, Any], where: str) -> Budget:
    total = positive(_text(data, "total", where), name="total")
    weights, shares = [], list(state.stated.shares)
    given = _table(data.get("weights"), "weights", where)
    changed = _table(data.get("shares", {}), "shares", where)
    for place, level in enumerate(state.base.levels):
        if not state.stated.weights[place]:
            weights.append(Fraction(0))
            continue
        weights.append(positive(_text(given, level.name, where), name=f"weight of level {level.name!r}"))
        if level.name in changed:
            table = _table(changed[level.name], level.name, where)
            shares[place] = tuple(
                positive(_text(table, query.name, where), name=f"share of query {query.name!r}")
                for query in level.queries
            )
    return Budget(total, tuple(weights), tuple(shares))


def _text(table: dict[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        found = "missing" if value is None else f"of type {type(value).__name__}"
        raise InputError(f"{key} is {found}; it must be a string in quotes ({where})")
    return value


def _table(value: object, key: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{key} is of type {type(value).__name__}; it must be a table ({where})")
    return value
