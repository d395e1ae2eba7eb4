"""What a run says about itself: public facts and what can be counted in its output, nothing else.

How many groups were suppressed is the number of all groups, which is public, less those released. How long
the stages took depends on the records, so it is told to the person at the screen and not written to
`summary.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.noise import GaussianNoise, LaplaceNoise, Noise
from discreet.release.ledger import Entry
from discreet.release.safetab.mechanism import Mechanism
from discreet.release.safetab.parts import TABLES, Part

FORMAT = "discreet safetab 1"


@dataclass(frozen=True, slots=True)
class Place:
    """The groups of one geography and level: how many there could be, and what was released."""

    mechanism: Mechanism
    regions: int
    iterations: int
    suppressed: int
    tables: tuple[int, ...]
    """Groups by table, after post-processing."""

    @classmethod
    def of(cls, mechanism: Mechanism, regions: int, iterations: int, noisy: int, final: Part) -> Place:
        """Return the numbers of a part; `noisy` is how many groups passed suppression."""
        tables = np.bincount(final.table, minlength=len(TABLES))
        return cls(mechanism, regions, iterations, regions * iterations - noisy, tuple(map(int, tables)))

    def to_json(self) -> dict[str, Any]:
        """Return the numbers, and the noise in exact terms."""
        one = self.mechanism
        return {
            "geography": one.geography,
            "level": one.level,
            "budget": "infinite" if one.budget is None else str(one.budget),
            "stability": one.stability.value,
            "noise": {
                "total_only": noise_text(one.total_only),
                "stage_1": noise_text(one.stage_one),
                "stage_2": noise_text(one.stage_two),
            },
            "thresholds": list(one.thresholds),
            "suppression_threshold": one.suppression,
            "regions": self.regions,
            "iterations": self.iterations,
            "suppressed": self.suppressed,
            "groups": dict(zip(TABLES, self.tables, strict=True)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run wrote, and what it spent."""

    out: Path
    rows: Mapping[str, int]
    places: tuple[Place, ...]
    budgets: Mapping[str, Fraction | None]
    """What one person of each pass is charged (add or remove), None if infinite."""
    privacy: str
    options: Mapping[str, Any]
    donated: int
    dropped: int
    warning: str | None
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    ledger: Path | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def groups(self) -> dict[str, int]:
        """Released groups by the table they got."""
        return {name: sum(place.tables[i] for place in self.places) for i, name in enumerate(TABLES)}

    @property
    def suppressed(self) -> int:
        """Groups whose noisy total was too small to be released."""
        return sum(place.suppressed for place in self.places)

    def to_json(self) -> dict[str, Any]:
        """Return what `summary.json` says: nothing of it depends on the records but through the output."""
        return {
            "format": FORMAT,
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
            "places": [place.to_json() for place in self.places],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        groups = ", ".join(f"{count:,} {name}" for name, count in self.groups.items())
        lines = [self.warning] if self.warning else []
        rows = sum(self.rows.values())
        lines.append(f"{rows:,} rows in {self.out}; groups: {groups}; suppressed {self.suppressed:,}")
        return "\n".join(lines)


def noise_text(noise: Noise | None) -> str:
    """Say a noise in exact terms.

    >>> noise_text(GaussianNoise("31.25")), noise_text(LaplaceNoise(10)), noise_text(None)
    ('discrete Gaussian, variance 125/4', 'discrete Laplace, scale 10', 'none')
    """
    if isinstance(noise, GaussianNoise):
        return f"discrete Gaussian, variance {noise.variance}"
    return "none" if not isinstance(noise, LaplaceNoise) else f"discrete Laplace, scale {noise.scale}"
