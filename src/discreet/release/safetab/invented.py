"""A small complete specification with invented groups, so that a trial needs nobody's files.

It has what a real one has: six races (LEVEL 0, not tabulated), regional groups (1) and detailed ones (2),
each alone and in any combination; origins; groups that are published as totals only, for the nation and the
states (DETAILED_ONLY); groups that are published below the states only (COARSE_ONLY). A code belongs to one
regional and one detailed group, so that the stability is that of the Bureau's production, 9.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from discreet.release.safetab.census2020 import configuration_2020
from discreet.release.safetab.configuration import BUDGET_KEYS, JSON_FILE
from discreet.release.safetab.specification import Iteration, Kind, Specification, write_specification

RACES = {
    "1": (
        "Avaric",
        {
            "Upper Avaric": ("Aldish", "Amberian", "Anvari", "Ashmoric", "Arlene", "Auvish"),
            "Lower Avaric": ("Balic", "Bresian", "Brunnic", "Boreth", "Birran"),
        },
    ),
    "3": (
        "Cassian",
        {
            "Inland Cassian": ("Cadrian", "Callish", "Corvane", "Cressic", "Cymar"),
            "Coastal Cassian": ("Dalmar", "Dornic", "Duvane", "Desmian"),
        },
    ),
    "5": (
        "Elder Nations",
        {
            "River Nations": (
                "Elk River",
                "Otter River",
                "Red River",
                "Long River",
                "Cold River",
                "Twin River",
            ),
            "Hill Nations": ("High Hill", "Stone Hill", "Cedar Hill", "Cloud Hill", "Far Hill"),
        },
    ),
    "4": (
        "Fenwari",
        {
            "East Fenwari": ("Faldan", "Fiorin", "Fusani", "Fremic", "Farrow"),
            "West Fenwari": ("Galdan", "Gorian", "Gellish", "Gamric"),
        },
    ),
    "7": (
        "Islander",
        {"Near Islander": ("Halo", "Hanui", "Hele"), "Far Islander": ("Ilana", "Ivo")},
    ),
    "8": ("Other", {}),
}
"""First digit of the codes: the race, its regional groups, and their detailed groups, the last one rare."""
ORIGINS = {
    "Mirandan": ("Marisol", "Meridan", "Montero"),
    "Norteño": ("Navarin", "Nerida", "Nuevan"),
    "Isleño": ("Oriente", "Olvidan"),
}
NO_ORIGIN = "9900"


class _Groups:
    """A specification while it grows."""

    def __init__(self) -> None:
        self.codes: dict[str, str] = {}
        self.iterations: list[Iteration] = []
        self.mapped: dict[str, list[str]] = {}

    def code(self, first: str, name: str) -> str:
        """Add a code and return it."""
        number = f"{first}{sum(code[0] == first for code in self.codes) * 5:03d}"
        self.codes[number] = name
        return number

    def race(self, name: str, level: int, codes: Sequence[str], *, shown: str = "") -> None:
        """Add an iteration twice: alone, and alone or in any combination."""
        self.add(f"{name} alone", level, codes, "alone", shown=shown)
        self.add(f"{name} alone or in any combination", level, codes, "combination", shown=shown)

    def add(
        self, name: str, level: int, codes: Sequence[str], kind: Kind = "ethnicity", *, shown: str = ""
    ) -> None:
        """Add an iteration; `shown` may be `total` or `coarse`."""
        number = str(1001 + len(self.iterations))
        self.iterations.append(
            Iteration(
                code=number,
                name=name,
                level=level,
                kind=kind,
                total_only=shown == "total",
                coarse_only=shown == "coarse",
            )
        )
        for code in codes:
            self.mapped.setdefault(code, []).append(number)


def specification() -> Specification:
    """Return the invented specification.

    >>> made = specification()
    >>> len(made.codes), len(made.iterations), made.iterations[2].name
    (136, 162, 'Upper Avaric alone')
    """
    made = _Groups()
    for first, (race, regions) in RACES.items():
        own = [made.code(first, f"{race} (Checkbox)"), made.code(first, f"{race} (Write-in)")]
        place = len(made.iterations)
        for region, groups in regions.items():
            own += _region(made, first, region, groups)
        if not regions:
            mixed = [made.code(first, "Many origins"), made.code(first, "No origin named")]
            made.race("Mixed answers", 1, mixed, shown="total")
            made.race("Many origins", 2, mixed[:1], shown="total")
            own += mixed
        made.race(race, 0, own)
        made.iterations[place:] = made.iterations[-2:] + made.iterations[place:-2]
    every: list[str] = []
    for region, groups in ORIGINS.items():
        codes = [made.code("2", name) for name in groups] + [made.code("2", f"Other {region}")]
        made.add(region, 1, codes)
        for name, code in zip(groups, codes, strict=False):
            made.add(name, 2, [code], shown="total" if name == groups[-1] else "")
        made.add(f"Other {region}", 2, codes[-1:], shown="coarse")
        every += codes
    made.codes[NO_ORIGIN] = "No such origin (Checkbox)"
    made.add("Of one of these origins (of any race)", 0, every)
    made.add("Of none of these origins (of any race)", 0, [NO_ORIGIN])
    return Specification(
        iterations=tuple(made.iterations),
        codes=dict(sorted(made.codes.items())),
        mapped={code: tuple(made.mapped[code]) for code in sorted(made.codes)},
    )


def _region(made: _Groups, first: str, region: str, groups: Sequence[str]) -> list[str]:
    common = {name: [made.code(first, name), made.code(first, f"{name} (By write-in)")] for name in groups}
    rest = [made.code(first, f"Other {region}, specified"), made.code(first, f"{region}, not specified")]
    codes = [code for pair in common.values() for code in pair] + rest
    made.race(region, 1, codes)
    for rank, (name, pair) in enumerate(common.items(), 1):
        made.race(name, 2, pair, shown="total" if rank == len(common) else "")
    made.race(f"Other {region}", 2, rest, shown="coarse")
    return codes


def configuration(states: Sequence[str]) -> str:
    """Return a `config.json` with the settings of Detailed DHC-A 2020, for some of its states."""
    of_2020 = configuration_2020()
    settings: dict[str, object] = {"max_race_codes": of_2020.max_race_codes}
    settings |= {key: float(of_2020.budgets[place] or 0) or 0 for key, place in BUDGET_KEYS.items()}
    settings["privacy_budget_p_stage_1_fraction"] = float(of_2020.gamma)
    settings["thresholds_p"] = {
        f"({geography}, {level})": steps for (geography, level), steps in of_2020.thresholds.items()
    }
    settings |= {"zero_suppression_chance": float(of_2020.zero_suppression_chance)}
    settings |= {key: getattr(of_2020, key) for key in ("allow_negative_counts", "run_us", "run_pr")}
    settings |= {"reader": "csv", "state_filter_us": states, "privacy_defn": of_2020.privacy}
    return json.dumps(settings, indent=1) + "\n"


def write(folder: Path, states: Sequence[str]) -> None:
    """Write the specification and its configuration as the five files of a PARAMS folder."""
    write_specification(specification(), folder)
    (folder / JSON_FILE).write_text(configuration(states), encoding="utf-8")
