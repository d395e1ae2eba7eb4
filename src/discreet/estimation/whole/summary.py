"""What a subtree says about its root, for a tree whose lower part is elsewhere.

A nation's measurements do not fit into memory, those of a county do. All that the units above need to know of
a subtree is what its measurements determine of its root, with its covariance, and the limits of the root. So
subtrees are summarised one by one, perhaps by many processes; the *crown*, the units above them, is settled
given the summaries; and then each subtree given the cells of its root.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.areas.tree import Floats, Integers, Numbers
from discreet.estimation.component import ByComponent
from discreet.estimation.estimates import Estimates
from discreet.estimation.solution import combine
from discreet.estimation.whole.limits import Limit


@dataclass(frozen=True)
class SubtreeSummary:
    """What is known about one unit from measurements at and below it: by component the estimates and their
    covariance, and the projectors on what is determined and what is exact; and its limits."""

    z: ByComponent
    V: ByComponent
    known: ByComponent
    held: ByComponent
    limits: tuple[Limit, ...] = ()

    def at(self, unit: int) -> tuple[Limit, ...]:
        """Return the limits with the number of the unit in another tree."""
        return tuple(replace(limit, units=np.array([unit])) for limit in self.limits)

    def arrays(self) -> dict[str, Numbers]:
        """Return it as arrays by name, without the names of the limits; `of_arrays` undoes this."""
        arrays: dict[str, Numbers] = {}
        for name in _PARTS:
            arrays |= {f"{name} {number}": array for number, array in enumerate(getattr(self, name))}
        for index, limit in enumerate(self.limits):
            arrays |= {f"{name} {index}": getattr(limit, name) for name in LIMIT}
        return arrays

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Numbers], limits: Sequence[str]) -> SubtreeSummary:
        """Return the summary that `arrays` made arrays of; its limits have these names."""

        def floats(name: str) -> Floats:
            return np.asarray(arrays[name], dtype=np.float64)

        def integers(name: str) -> Integers:
            return np.asarray(arrays[name], dtype=np.int64)

        z, V, known, held = (
            [floats(f"{name} {number}") for number in range(len(arrays)) if f"{name} {number}" in arrays]
            for name in _PARTS
        )
        own = [
            Limit(
                name,
                integers(f"label {number}"),
                integers(f"units {number}"),
                floats(f"lower {number}"),
                floats(f"upper {number}"),
            )
            for number, name in enumerate(limits)
        ]
        return cls(z, V, known, held, tuple(own))


_PARTS = ("z", "V", "known", "held")
LIMIT = ("label", "units", "lower", "upper")


def summary_bytes(named: Mapping[str, SubtreeSummary], note: str = "") -> bytes:
    """Return summaries by name as the bytes of a file, with a note, for another process or another run.

    >>> one = SubtreeSummary([np.ones((1, 2))], [np.ones((1, 1))], [np.eye(1)], [np.zeros((1, 1))])
    >>> again, note = read_summaries(summary_bytes({"a": one}, "from b"))
    >>> again["a"].z[0].tolist(), note
    ([[1.0, 1.0]], 'from b')
    """
    limits = [[limit.name for limit in subtree_summary.limits] for subtree_summary in named.values()]
    said = json.dumps({"note": note, "names": list(named), "limits": limits})
    every: dict[str, Numbers] = {"said": np.frombuffer(said.encode(), dtype=np.uint8).astype(np.int64)}
    for number, summary in enumerate(named.values()):
        every |= {f"{number} {name}": array for name, array in summary.arrays().items()}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, array in every.items():
            with file.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return stream.getvalue()


def read_summaries(data: bytes) -> tuple[dict[str, SubtreeSummary], str]:
    """Return the summaries that `summary_bytes` wrote, and the note; other bytes raise ValueError."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            every: dict[str, Numbers] = {name: file[name] for name in file.files}
        said = json.loads(every.pop("said").astype(np.uint8).tobytes())
    except (zipfile.BadZipFile, OSError, EOFError, KeyError, AttributeError) as error:
        raise ValueError("these are no summaries") from error
    by_place: list[dict[str, Numbers]] = [{} for _ in said["names"]]
    for name, array in every.items():
        number, _, rest = name.partition(" ")
        by_place[int(number)][rest] = array
    subtree_summaries = map(SubtreeSummary.of_arrays, by_place, said["limits"])
    return dict(zip(said["names"], subtree_summaries, strict=True)), str(said["note"])


def summarised(estimates: Estimates, unit: int, limits: tuple[Limit, ...] = ()) -> SubtreeSummary:
    """Summarise the subtree of a unit."""
    node = int(estimates.node[unit])
    z = [belief[0] for belief in estimates.beliefs(slice(unit, unit + 1))]
    V = [solution.V[node] for solution in estimates.solutions]
    known, held = (
        [solution.spaces.projectors[int(space[node])] for solution, space in spaces]
        for spaces in (
            [(solution, solution.below) for solution in estimates.solutions],
            [(solution, solution.below_held) for solution in estimates.solutions],
        )
    )
    return SubtreeSummary(z, V, known, held, limits)


def with_summaries(
    estimates: Estimates, summaries: Mapping[int, SubtreeSummary]
) -> tuple[ByComponent, ByComponent]:
    """Return by component the information J (unit, size, size) and the estimates z (unit, size, copies) of
    all units of a crown, from its own measurements and the summaries of units that stand for subtrees.

    The own measurements of a summarised unit are in its summary.
    """
    tree = estimates.tree
    information, z = [], estimates.own_beliefs(slice(0, tree.size))
    for number, solution in enumerate(estimates.solutions):
        spaces, own, beliefs = solution.spaces, solution.beliefs, z[number]
        V = own.V[tree.kind].copy()
        known, held = own.space[tree.kind].copy(), own.exact[tree.kind].copy()
        for unit, summary in summaries.items():
            if summary.z[number].shape != beliefs[unit].shape:
                raise ValueError("a summary was made with other queries than the units above it have")
            beliefs[unit], V[unit] = summary.z[number], summary.V[number]
            known[unit] = spaces.number(summary.known[number])
            held[unit] = spaces.number(summary.held[number])
        for part in reversed(tree.depths[1:]):
            begin = np.flatnonzero(np.diff(tree.parent[part], prepend=-1))
            ends = np.append(begin[1:], part.stop - part.start)
            for a, b in zip((begin + part.start).tolist(), (ends + part.start).tolist(), strict=True):
                above = int(tree.parent[a])
                both = spaces.meet(frozenset(known[a:b].tolist()))
                sure = spaces.meet(frozenset(held[a:b].tolist()))
                through = spaces.projectors[both]
                W: Floats = through @ V[a:b].sum(axis=0) @ through
                known[above], held[above], X1, X2, joint = combine(
                    spaces, int(known[above]), int(held[above]), V[above : above + 1], both, sure, W[None]
                )
                V[above] = joint[0]
                beliefs[above] = X1[0] @ beliefs[above] + X2[0] @ through @ beliefs[a:b].sum(axis=0)
        known_below = replace(solution, V=V, below=known, below_held=held)
        information.append(known_below.information(np.arange(tree.size)))
    return information, z
