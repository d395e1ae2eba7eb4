"""The spine: how levels of geography hang together, and the paths that they give.

Where a geographic unit has exactly one child, the two are one, and the level of the upper one
spends the budget of both. A path is a list of such runs, written `"State+County"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from discreet.budget.toml import FieldError, hint, inside, line, no_repeats, whole_number
from discreet.calls import understandable
from discreet.memory import set_fields
from discreet.numbers import shown

Runs = tuple[tuple[str, ...], ...]
"""The runs of one path, from the top down, each a tuple of level names."""

MOST_PATHS = 4096
"""The largest number of paths of one release."""

CHILDREN_2020 = {"State": 51.0, "County": 61.6, "Tract": 23.2, "Block_Group": 2.83, "Block": 34.0}
"""The average number of children of a unit of the level above, United States, 2020."""


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Spine:
    """Either the `paths` by number, or the levels that `may_merge_up`, in which case all combinations occur.

    Combinations are numbered from 1 in binary order: the last digit is the lowest level that may merge,
    and a digit 1 says that the level is merged with the one above it. So path 1 merges nothing.

    >>> levels = ["State", "Tract", "Block"]
    >>> Spine(paths={7: ["State", "Tract+Block"]}).resolve(levels)
    {7: (('State',), ('Tract', 'Block'))}
    >>> for number, runs in Spine(may_merge_up=["Tract", "Block"]).resolve(levels).items():
    ...     print(number, runs_text(runs))
    1 State, Tract, Block
    2 State, Tract+Block
    3 State+Tract, Block
    4 State+Tract+Block
    """

    paths: tuple[tuple[int, tuple[str, ...]], ...]
    may_merge_up: tuple[str, ...]

    @understandable
    def __init__(
        self,
        *,
        paths: Mapping[int, Sequence[str]] | Iterable[tuple[int, Sequence[str]]] = (),
        may_merge_up: Iterable[str] = (),
    ) -> None:
        pairs = paths.items() if isinstance(paths, Mapping) else paths
        checked = sorted(_checked(number, runs) for number, runs in pairs)
        set_fields(self, paths=tuple(checked), may_merge_up=tuple(may_merge_up))
        if bool(self.paths) == bool(self.may_merge_up):
            stated = "both" if self.paths else "neither"
            raise FieldError(
                f"the spine states {stated} of paths and may_merge_up; it must state one of them"
            )
        if max(len(self.paths), 2 ** len(self.may_merge_up)) > MOST_PATHS:
            many = len(self.paths) or f"2^{len(self.may_merge_up)}"
            raise FieldError(f"the spine has {many} paths; at most {MOST_PATHS} are allowed")
        no_repeats((str(number) for number, _ in self.paths), name="paths of the spine", field=("paths",))

    def resolve(self, levels: Sequence[str]) -> dict[int, Runs]:
        """Return the runs of each path by number, checked against the names of the levels."""
        if self.may_merge_up:
            return dict(enumerate(self._combinations(levels), start=1))
        resolved: dict[int, Runs] = {}
        owner: dict[Runs, int] = {}
        for number, texts in self.paths:
            runs = tuple(tuple(text.split("+")) for text in texts)
            with inside("paths", str(number)):
                _check_cover(number, runs, levels)
                if runs in owner:
                    raise FieldError(
                        f"path {number} is the same as path {owner[runs]}; each path may be listed once"
                    )
            owner[runs] = number
            resolved[number] = runs
        return resolved

    def _combinations(self, levels: Sequence[str]) -> Iterator[Runs]:
        with inside("may_merge_up"):
            no_repeats(self.may_merge_up, name="may_merge_up", field=())
            for name in self.may_merge_up:
                if name not in levels:
                    raise FieldError(
                        f"may_merge_up names {shown(name)}, which is not a level{hint(name, levels)}"
                    )
            if levels[0] in self.may_merge_up:
                raise FieldError(f"may_merge_up names {shown(levels[0])}, which has no level above it")
        movable = [name for name in levels if name in self.may_merge_up]
        for digits in product((False, True), repeat=len(movable)):
            merged = dict(zip(movable, digits, strict=True))
            runs: list[tuple[str, ...]] = []
            for name in levels:
                if merged.get(name):
                    runs[-1] = (*runs[-1], name)
                else:
                    runs.append((name,))
            yield tuple(runs)


def runs_text(runs: Runs) -> str:
    """Write the runs of a path on one line.

    >>> runs_text((("US",), ("State", "County")))
    'US, State+County'
    """
    return ", ".join("+".join(run) for run in runs)


def _checked(number: int, runs: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    number = whole_number(number, name="number of a path", field=("paths",))
    with inside("paths", str(number)):
        if isinstance(runs, str) or not isinstance(runs, Sequence):
            raise FieldError(
                f'path {number} is {shown(runs)}; it must be a list such as ["US", "State+County"]'
            )
        texts = [line(run, name=f"run of path {number}", field=()) for run in runs]
    return number, tuple("+".join(part.strip() for part in text.split("+")) for text in texts)


def _check_cover(number: int, runs: Runs, levels: Sequence[str]) -> None:
    named = [name for run in runs for name in run]
    for name in named:
        if name not in levels:
            raise FieldError(f"path {number} names {shown(name)}, which is not a level{hint(name, levels)}")
    for name in levels:
        if named.count(name) != 1:
            count = "twice" if named.count(name) > 1 else "not at all"
            raise FieldError(f"path {number} has level {shown(name)} {count}; it must have each level once")
    for above, below in zip(levels, named, strict=True):
        if above != below:
            raise FieldError(
                f"path {number} has level {shown(below)} where {shown(above)} belongs; "
                "it must keep the order of the levels"
            )
