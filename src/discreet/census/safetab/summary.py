"""The summary of a run: public facts and what can be counted in its output, nothing else.

How many groups were suppressed is the number of all groups, which is public, less those released. How long
the stages took depends on the records, so it is told to the person at the screen and not written to
`summary.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from discreet.census.mechanism.adaptive import Mechanism
from discreet.census.mechanism.writer import FORMAT
from discreet.faces import Summarised
from discreet.ledger.entry import Entry
from discreet.noise import Noise


@dataclass(frozen=True, slots=True)
class PlaceSummary:
    """The groups of one geography and level: how many there could be, and what was released."""

    mechanism: Mechanism
    regions: int
    iterations: int
    suppressed: int
    tables: tuple[int, ...]
    """Groups by table, after post-processing."""

    def document(self) -> dict[str, object]:
        """Return the numbers, and the noise in exact terms."""
        mechanism = self.mechanism
        return {
            "geography": mechanism.geography,
            "level": mechanism.level,
            "budget": "infinite" if mechanism.budget is None else str(mechanism.budget),
            "stability": mechanism.stability.value,
            "noise": {
                "total_only": noise_text(mechanism.total_only),
                "stage_1": noise_text(mechanism.stage_one),
                "stage_2": noise_text(mechanism.stage_two),
            },
            "thresholds": list(mechanism.thresholds),
            "suppression_threshold": mechanism.suppression,
            "regions": self.regions,
            "iterations": self.iterations,
            "suppressed": self.suppressed,
            "groups": dict(zip(mechanism.ladder.names, self.tables, strict=True)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Summarised):
    """What a run wrote, and what it spent."""

    out: Path
    rows: Mapping[str, int]
    places: tuple[PlaceSummary, ...]
    budgets: Mapping[str, Fraction | None]
    """What one of the unit is charged in each pass (add or remove), None if infinite."""
    privacy: str
    options: Mapping[str, object]
    donated: int
    dropped: int
    areas: str
    """What the smallest areas are called."""
    unit: str = "person"
    totals: tuple[str, ...] = ()
    """The lists of published totals that picked tables."""
    warning: str | None
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    ledger: Path | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def groups(self) -> dict[str, int]:
        """Released groups by the table they got."""
        groups_of: dict[str, int] = {}
        for place in self.places:
            for name, groups in zip(place.mechanism.ladder.names, place.tables, strict=True):
                groups_of[name] = groups_of.get(name, 0) + groups
        return groups_of

    @property
    def suppressed(self) -> int:
        """Groups whose noisy total was too small to be released."""
        return sum(place.suppressed for place in self.places)

    def document(self) -> dict[str, object]:
        """Return what `summary.json` says: nothing of it depends on the records but through the output."""
        return {
            "format": FORMAT,
            "unit": self.unit,
            "privacy": self.privacy,
            "budgets": {
                which: "infinite" if spent is None else str(spent) for which, spent in self.budgets.items()
            },
            "options": dict(self.options),
            "rows": dict(self.rows),
            "groups": self.groups,
            "suppressed": self.suppressed,
            "donated": self.donated,
            "dropped": self.dropped,
            "places": [place.document() for place in self.places],
            "notes": list(self.notes),
        }


def noise_text(noise: Noise | None) -> str:
    """Say a noise in exact terms.

    >>> from discreet.noise import DiscreteGaussian, DiscreteLaplace
    >>> laws = DiscreteGaussian(variance="31.25"), DiscreteLaplace(scale=10), None
    >>> tuple(map(noise_text, laws))
    ('discrete Gaussian, variance 125/4', 'discrete Laplace, scale 10', 'none')
    """
    return "none" if noise is None else f"{noise.FAMILY}, {noise.PARAMETER} {noise.size}"
