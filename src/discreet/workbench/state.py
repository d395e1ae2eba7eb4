"""The decisions of a session so far: immutable, comparable, and all that is needed to draw a page again.

A budget is a total, the levels' weights and each level's shares. Levels have weights rather than shares so
that one level can change while the others keep short numbers: these give the coarse lattice on which
accounting is fast.

A state can be written as TOML and as part of an address, to be kept, sent and opened again. Input from
outside is measured before it is read, and read by a process that can be killed (`workers`).
"""

from __future__ import annotations

import base64
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from discreet.budget import Neighbours, Release, load
from discreet.budget.neighbours import RELATIONS, records_apart
from discreet.budget.presets import load_preset
from discreet.budget.text_files import LARGEST_FILE
from discreet.budget.toml import a_table, check_keys, parse_toml
from discreet.errors import InputError
from discreet.memory import set_fields
from discreet.noise import Noise, grouped
from discreet.numbers import exact_text, positive, read_delta
from discreet.numbers import share as read_share

DELTA = Fraction(1, 10**10)
"""The delta at which the US Census Bureau reports."""

CHANGED = "-changed"
"""The suffix of a release's name once its budget has changed."""

_PLACES = 4  # decimals: a weight set by a slider is rounded to a ten-thousandth of the others' sum


@dataclass(frozen=True)
class Budget:
    """How the total rho is spent; a level with Laplace noise has weight 0 and does not change.

    >>> budget = Budget.of(load("dhc-2022-08-25"))
    >>> budget.total, budget.weights[:3]
    (Fraction(73, 20), (Fraction(20, 1), Fraction(274, 1), Fraction(85, 1)))
    """

    total: Fraction
    weights: tuple[Fraction, ...]
    shares: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def of(cls, release: Release) -> Budget:
        """Return the budget that a release states, with whole weights without a common divisor."""
        relation, spent, shares = release.neighbours, [], []
        for level in release.levels:
            rho = Fraction(0) if level.lacks_rho else level.spent(relation)
            spent.append(rho)
            whole = 2 * rho / records_apart(relation)
            shares.append(tuple(event.precision / whole for event in level.events(relation)) if rho else ())
        return cls(sum(spent, Fraction(0)), whole_weights(spent), tuple(shares))

    @cached_property
    def parts(self) -> tuple[Fraction, ...]:
        """Each level's share of the total."""
        whole = sum(self.weights, Fraction(0))
        return tuple(weight / whole if whole else Fraction(0) for weight in self.weights)

    def with_share(self, index: int, share: Fraction) -> Budget:
        """Return the budget with about this share for one level; the others keep their proportions.

        >>> budget = Budget.of(load("dhc-2022-08-25")).with_share(1, Fraction(1, 2))
        >>> budget.parts[1], budget.total
        (Fraction(1, 2), Fraction(73, 20))
        """
        read_share(share, name="the share of a level")
        others = sum(self.weights, Fraction(0)) - self.weights[index]
        if not others:
            raise InputError("there is one level with a share; it has all of the total")
        unit = Fraction(10) ** (math.floor(math.log10(others)) - _PLACES)
        weight = max(round(share / (1 - share) * others / unit), 1) * unit
        weights = (*self.weights[:index], weight, *self.weights[index + 1 :])
        return replace(self, weights=whole_weights(weights))

    def with_shares(self, index: int, shares: tuple[Fraction, ...]) -> Budget:
        """Return the budget with these shares of the queries of one level."""
        return replace(self, shares=(*self.shares[:index], shares, *self.shares[index + 1 :]))


@dataclass(frozen=True)
class State:
    """One state of a session.

    >>> state = State.of("dhc-2022-08-25")
    >>> state.release is state.base, state.release.rho
    (True, Fraction(73, 20))
    >>> half = state.with_budget(replace(state.budget, total=Fraction(73, 40)))
    >>> half.release.name, half.release.rho, half.release.variance_table()[0].variance
    ('dhc-2022-08-25-changed', Fraction(73, 40), Fraction(10000, 73))
    """

    base: Release
    source: str
    is_preset: bool
    changed: Budget | None = None
    delta: Fraction = DELTA
    neighbours: Neighbours | None = None
    settings: tuple[tuple[str, str, str], ...] = ()
    """What pages remember: (page, name, text)."""
    stated: Budget = field(default=None, compare=False)  # type: ignore[assignment]
    """The budget as the base states it ..."""
    noise: tuple[tuple[Noise, ...], ...] = field(default=(), compare=False, repr=False)
    """... and its events by level, both computed once for all states of a base."""

    def __post_init__(self) -> None:
        if self.stated is None:
            noise = (grouped(level.events(self.base.neighbours)) for level in self.base.levels)
            set_fields(self, stated=Budget.of(self.base), noise=tuple(noise))

    @classmethod
    def of(cls, preset: str) -> State:
        """Return the first state of a preset."""
        release = load(preset)
        return cls(release, release.name, True)

    @property
    def budget(self) -> Budget:
        """The budget as it is now."""
        return self.changed or self.stated

    @cached_property
    def release(self) -> Release:
        """The release as it is now; the base itself while nothing has changed."""
        return self.base if self.changed is None else _rebuilt(self.base, self.changed, self.release_name)

    @property
    def release_name(self) -> str:
        """The name of the release as it is now, found without building the release."""
        has_mark = self.changed is None or self.base.name.endswith(CHANGED)
        return self.base.name if has_mark else self.base.name + CHANGED

    @property
    def relation(self) -> Neighbours:
        """The neighbours used in accounting."""
        return self.neighbours or self.base.neighbours

    @property
    def factor(self) -> Fraction:
        """The total divided by the stated total."""
        return self.budget.total / self.stated.total if self.stated.total else Fraction(1)

    @cached_property
    def main_events(self) -> tuple[Noise, ...]:
        """The events that tell two neighbours of the main path apart.

        A dragged slider asks for them many times a second. If it changes only what levels spend, their
        variances are scaled accordingly, and no release is built.
        """
        budget, stated, base = self.budget, self.stated, self.base
        is_merged = any(len(run) > 1 for run in base.runs(base.main))
        if self.changed is None or is_merged or budget.shares != stated.shares:
            events = self.release.path_events(base.main)
        else:
            scaled: list[Noise] = []
            for index, noise in enumerate(self.noise):
                factor = Fraction(1)
                if stated.weights[index]:  # these levels have no Laplace noise
                    factor = stated.total * stated.parts[index] / (budget.total * budget.parts[index])
                scaled += [
                    event.resized(event.size * factor) if event.precision else event for event in noise
                ]
            events = grouped(scaled)
        return (*events, *(event.exchanged() for event in events)) if self.relation == "bounded" else events

    def with_budget(self, budget: Budget) -> State:
        """Return the state with another budget; the stated one counts as no change."""
        return replace(self, changed=None if budget == self.stated else budget)

    def with_total(self, factor: Fraction) -> State:
        """Return the state with the stated total times a factor."""
        return self.with_budget(replace(self.budget, total=self.stated.total * factor))

    def with_release(self, release: Release) -> State:
        """Return the state with the noise of another release that has the same levels and queries.

        A budget describes everything except Laplace noise: if that differs, the release is a new base.
        """
        old, new = ([level for level in source.levels if level.lacks_rho] for source in (self.base, release))
        if old == new:
            return self.with_budget(Budget.of(release))
        state = State(release, f"{release.name}.toml", False, delta=self.delta, settings=self.settings)
        return state.with_neighbours(self.relation)

    def with_delta(self, text: str) -> State:
        """Return the state with another delta.

        >>> State.of("dhc-2020").with_delta("1")
        Traceback (most recent call last):
        discreet.errors.InputError: delta is 1; it must lie strictly between 0 and 1
        """
        return replace(self, delta=read_delta(text))

    def with_neighbours(self, relation: str) -> State:
        """Return the state with other neighbours; those of the base count as no change."""
        known = next((known_relation for known_relation in RELATIONS if known_relation == relation), None)
        if known is None:
            raise InputError(f"neighbours is {relation!r}; it must be 'bounded' or 'unbounded'")
        return replace(self, neighbours=None if known == self.base.neighbours else known)

    def settings_of(self, page: str) -> dict[str, str]:
        """Return the texts that a page remembers."""
        return {name: text for where, name, text in self.settings if where == page}

    def setting(self, page: str, name: str, default: str = "") -> str:
        """Return the text that a page remembers under a name."""
        return self.settings_of(page).get(name, default)

    def gives_same(self, other: State) -> bool:
        """Whether another state has the same numbers; what pages remember may differ.

        >>> state = State.of("dhc-2020")
        >>> state.gives_same(state.with_settings("risk", {"prior": "1/3"}))
        True
        """
        mine = (self.base, self.changed, self.delta, self.neighbours)
        return mine == (other.base, other.changed, other.delta, other.neighbours)

    def with_settings(self, page: str, values: Mapping[str, str]) -> State:
        """Return the state with new texts for a page to remember; an empty text is forgotten.

        >>> state = State.of("dhc-2020").with_settings("risk", {"prior": "1/2"})
        >>> state.setting("risk", "prior"), state.setting("risk", "level", "Block")
        ('1/2', 'Block')
        """
        kept = [item for item in self.settings if item[0] != page or item[1] not in values]
        new = [(page, name, text) for name, text in values.items() if text]
        return replace(self, settings=tuple(sorted([*kept, *new])))


def whole_weights(weights: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Return the same proportions in whole numbers without a common divisor.

    >>> whole_weights((Fraction(1, 2), Fraction(1, 3)))
    (Fraction(3, 1), Fraction(2, 1))
    """
    scale = math.lcm(*(weight.denominator for weight in weights))
    numbers = [int(weight * scale) for weight in weights]
    divisor = math.gcd(*numbers) or 1
    return tuple(Fraction(number // divisor) for number in numbers)


def _rebuilt(base: Release, budget: Budget, name: str) -> Release:
    levels = []
    for index, level in enumerate(base.levels):
        if not budget.weights[index]:
            levels.append(level)
            continue
        queries = [
            replace(query, share=share, rho=None, variance=None, scale=None)
            for query, share in zip(level.queries, budget.shares[index], strict=True)
        ]
        rho = budget.total * budget.parts[index]
        levels.append(replace(level, rho=rho, queries=tuple(queries)))
    lacks_rho = any(level.lacks_rho for level in base.levels)
    return replace(base, name=name, rho=None if lacks_rho else budget.total, levels=tuple(levels))


TOTAL_STEPS = 100
_WIDEST = 4  # the total slider spans a quarter to four times the stated total


def factor_at(step: int) -> Fraction:
    """Return the factor on the total at a step of the slider, to three digits; step 0 is exactly 1.

    >>> factor_at(0), factor_at(100), factor_at(-50), factor_at(1)
    (Fraction(1, 1), Fraction(4, 1), Fraction(1, 2), Fraction(101, 100))
    """
    step = max(-TOTAL_STEPS, min(TOTAL_STEPS, step))
    return Fraction(f"{_WIDEST ** (step / TOTAL_STEPS):.3g}")


def step_of(factor: Fraction) -> int:
    """Return the step of the total slider nearest to a factor.

    >>> [step_of(factor_at(step)) for step in (-100, -1, 0, 7, 100)]
    [-100, -1, 0, 7, 100]
    """
    if factor <= 0:
        return -TOTAL_STEPS
    step = round(math.log(factor, _WIDEST) * TOTAL_STEPS)
    return max(-TOTAL_STEPS, min(TOTAL_STEPS, step))


# -- as a file and as an address ---------------------------------------------------------------------------

VERSION = 1
_KEYS = ("session", "preset", "file", "release", "delta", "neighbours", "budget", "pages", "before")
LONGEST_LINK = 30_000
"""The longest address, in characters, that every server reads; a state that needs more goes into a file."""

MOST_KEYS = 10_000
"""The most keys in a file that a page opens, in all its tables together."""

MOST_LEVELS = 60
MOST_QUERIES = 1_500
"""The most queries of a release, in all its levels: each is a cell of a table on the page."""

MOST_PATHS = 400
MOST_VARIANCES = 500
"""The most different variances on all levels; accounting takes longer the more there are."""

_LONGEST_UNFOLDED = 200_000  # bytes of TOML that an address may expand to
_LONGEST_SETTING = 2_000  # characters of what a page remembers
_MOST_SETTINGS = 1_000


def to_toml(state: State, before: State | None = None) -> str:
    """Write a session as TOML, with the state it is compared with if there is one.

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
    """Read a session from TOML: the state, and the one it is compared with.

    >>> state = State.of("dhc-2020").with_total(Fraction(1, 2)).with_delta("1e-9")
    >>> from_toml(to_toml(state)) == (state, None)
    True
    >>> from_toml("session = 2")
    Traceback (most recent call last):
    discreet.errors.InputError: the session is of version 2; this program reads version 1
    """
    data = parse_toml(text, where, most_keys=MOST_KEYS, parse_float=float)
    if data.get("session") != VERSION:
        raise InputError(
            f"{where} is of version {data.get('session')!r}; this program reads version {VERSION}"
        )
    before = data.pop("before", None)
    state = _state(data, where)
    return state, None if before is None else _state(_table(before, "before", where), where)


def read_saved(content: bytes, where: str) -> tuple[State, State | None]:
    """Read an uploaded file: a session, or a release, which starts a new session.

    >>> read_saved(b"name = 1", where="a.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: the release has no neighbours; it must state one (a.toml)
    >>> read_saved(bytes([0xFF, 0xFE]), "a.toml")
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
        return from_toml(text, where)
    return _checked(State(_release(text, where), where, False), where), None


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
        text = unpacker.decompress(packed, _LONGEST_UNFOLDED).decode("utf-8")
    except (ValueError, zlib.error):
        raise InputError("the address holds no session that can be read") from None
    if unpacker.unconsumed_tail and not unpacker.eof:
        raise InputError(
            f"the address expands to more than {_LONGEST_UNFOLDED} bytes; save the session as a file"
        )
    if not unpacker.eof or unpacker.unused_data:  # part of an address could be read as another session
        raise InputError("the address is not whole: characters are missing or too many; copy it again")
    return from_toml(text, "the address")


def _lines(state: State, inside: str) -> list[str]:
    lines = [f"{'preset' if state.is_preset else 'file'} = {_quoted(state.source)}"]
    lines.append(f"delta = {_quoted(exact_text(state.delta))}")
    if state.neighbours:
        lines.append(f"neighbours = {_quoted(state.neighbours)}")
    if not state.is_preset:
        text = state.base.to_toml().replace("\\", "\\\\").replace('"""', '""\\"')
        lines.append(f'release = """\n{text}"""')
    if (budget := state.changed) is not None:
        levels = state.base.levels
        lines += ["", f"[{inside}budget]", f'total = "{budget.total}"', f"[{inside}budget.weights]"]
        lines += [f'{_quoted(level.name)} = "{w}"' for level, w in zip(levels, budget.weights, strict=True)]
        for level, shares, stated in zip(levels, budget.shares, state.stated.shares, strict=True):
            if shares != stated:
                lines.append(f"[{inside}budget.shares.{_quoted(level.name)}]")
                pairs = zip(level.queries, shares, strict=True)
                lines += [f'{_quoted(query.name)} = "{share}"' for query, share in pairs]
    for page in dict.fromkeys(page for page, _, _ in state.settings):
        lines += ["", f"[{inside}pages.{_quoted(page)}]"]
        lines += [f"{_quoted(name)} = {_quoted(text)}" for name, text in state.settings_of(page).items()]
    return lines


def _quoted(text: str) -> str:
    def escaped(letter: str) -> str:
        if letter in '"\\':
            return "\\" + letter
        return letter if letter.isprintable() else f"\\U{ord(letter):08x}"

    return f'"{"".join(map(escaped, text))}"'


def _state(data: Mapping[str, object], where: str) -> State:
    a_table(data, where, _KEYS)
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
    for page, values in _table(data.get("pages", {}), "pages", where).items():
        table = _table(values, page, where)
        state = state.with_settings(page, {name: _text(table, name, where) for name in table})
    return _checked(state, where)


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


def _checked(state: State, where: str) -> State:
    """Refuse what the pages cannot draw, here, where only this visitor waits."""
    if len(state.settings) > _MOST_SETTINGS:
        many = len(state.settings)
        raise InputError(f"pages has {many} settings; at most {_MOST_SETTINGS} are read ({where})")
    for page, name, text in state.settings:
        size = max(map(len, (page, name, text)))
        if size > _LONGEST_SETTING:
            raise InputError(
                f"a setting of page {page[:40]!r} has {size} characters; at most {_LONGEST_SETTING} "
                f"are read ({where})"
            )
    _ = state.release  # a budget that cannot be written is refused here
    noise = {event.size if event.variance_power == 1 else None for event in state.main_events}
    if len(noise) > MOST_VARIANCES:
        raise InputError(
            f"the release has {len(noise)} different variances; the workbench accounts for at most "
            f"{MOST_VARIANCES} ({state.source})"
        )
    return state


def _budget(state: State, data: Mapping[str, object], where: str) -> Budget:
    total = positive(_text(data, "total", where), name="total")
    if not Fraction(1, 10**100) <= total <= 10**100:
        raise InputError(f"total must lie between 1e-100 and 1e100 ({where})")
    weights, shares = [], list(state.stated.shares)
    given = _table(data.get("weights"), "weights", where)
    changed = _table(data.get("shares", {}), "shares", where)
    for index, level in enumerate(state.base.levels):
        if not state.stated.weights[index]:
            weights.append(Fraction(0))
            continue
        weights.append(positive(_text(given, level.name, where), name=f"weight of level {level.name!r}"))
        if level.name in changed:
            table = _table(changed[level.name], level.name, where)
            shares[index] = tuple(
                positive(_text(table, query.name, where), name=f"share of query {query.name!r}")
                for query in level.queries
            )
    return Budget(total, tuple(weights), tuple(shares))


def _text(table: Mapping[str, object], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        problem = "missing" if value is None else f"of type {type(value).__name__}"
        raise InputError(f"{key} is {problem}; it must be a string in quotes ({where})")
    return value


def _table(value: object, key: str, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"{key} is of type {type(value).__name__}; it must be a table ({where})")
    return value
