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

from discreet.release.safetab.configuration import JSON_FILE
from discreet.release.safetab.geography import GEOGRAPHIES
from discreet.release.safetab.specification import CODE_FILE, ETHNICITY_FILE, MAPPING_FILE, RACE_FILE

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
DETAILED = ("USA", "STATE", "PR-STATE")


class Lists:
    """The four lists while they grow."""

    def __init__(self) -> None:
        self.codes: list[tuple[str, str]] = []
        self.races: list[tuple[str, ...]] = []
        self.origins: list[tuple[str, ...]] = []
        self.pairs: list[tuple[str, str]] = []
        self._next = 1000

    def code(self, first: str, name: str) -> str:
        """Add a code and return it."""
        number = f"{first}{sum(code[0] == first for code, _ in self.codes) * 5:03d}"
        self.codes.append((number, name))
        return number

    def race(self, name: str, level: int, codes: Sequence[str], *, kind: str = "") -> None:
        """Add an iteration twice: alone, and alone or in any combination."""
        flags = ("Null", "Null") if level == 0 else (str(kind == "total"), str(kind == "coarse"))
        for alone, words in ((True, "alone"), (False, "alone or in any combination")):
            self.races.append((self._iteration(codes), f"{name} {words}", str(level), str(alone), *flags))

    def origin(self, name: str, level: int, codes: Sequence[str], *, kind: str = "") -> None:
        """Add an iteration of an origin."""
        flags = ("Null", "Null") if level == 0 else (str(kind == "total"), str(kind == "coarse"))
        self.origins.append((self._iteration(codes), name, str(level), *flags))

    def _iteration(self, codes: Sequence[str]) -> str:
        self._next += 1
        self.pairs.extend((str(self._next), code) for code in codes)
        return str(self._next)


def lists() -> Lists:
    """Return the invented specification.

    >>> made = lists()
    >>> len(made.codes), len(made.races), len(made.origins), made.races[2][1]
    (136, 146, 16, 'Upper Avaric alone')
    """
    made = Lists()
    for first, (race, regions) in RACES.items():
        own = [made.code(first, f"{race} (Checkbox)"), made.code(first, f"{race} (Write-in)")]
        place = len(made.races)
        for region, groups in regions.items():
            own += _region(made, first, region, groups)
        if not regions:
            mixed = [made.code(first, "Many origins"), made.code(first, "No origin named")]
            made.race("Mixed answers", 1, mixed, kind="total")
            made.race("Many origins", 2, mixed[:1], kind="total")
            own += mixed
        made.race(race, 0, own)
        made.races[place:] = made.races[-2:] + made.races[place:-2]
    _origins(made)
    return made


def _region(made: Lists, first: str, region: str, groups: Sequence[str]) -> list[str]:
    common = {name: [made.code(first, name), made.code(first, f"{name} (By write-in)")] for name in groups}
    rest = [made.code(first, f"Other {region}, specified"), made.code(first, f"{region}, not specified")]
    codes = [code for pair in common.values() for code in pair] + rest
    made.race(region, 1, codes)
    for rank, (name, pair) in enumerate(common.items(), 1):
        made.race(name, 2, pair, kind="total" if rank == len(common) else "")
    made.race(f"Other {region}", 2, rest, kind="coarse")
    return codes


def _origins(made: Lists) -> None:
    every: list[str] = []
    for region, groups in ORIGINS.items():
        codes = [made.code("2", name) for name in groups] + [made.code("2", f"Other {region}")]
        made.origin(region, 1, codes)
        for name, code in zip(groups, codes, strict=False):
            made.origin(name, 2, [code], kind="total" if name == groups[-1] else "")
        made.origin(f"Other {region}", 2, codes[-1:], kind="coarse")
        every += codes
    made.codes.append((NO_ORIGIN, "No such origin (Checkbox)"))
    made.origin("Of one of these origins (of any race)", 0, every)
    made.origin("Of none of these origins (of any race)", 0, [NO_ORIGIN])


def configuration(states: Sequence[str]) -> str:
    """Return a `config.json` with the budgets and thresholds of the Bureau's production run.

    Budgets and thresholds are facts, those of Detailed DHC-A 2020 (see `docs/`); the texts are our own.
    """
    settings: dict[str, object] = {"max_race_codes": 8}
    for geography in GEOGRAPHIES:
        name = geography.lower().replace("-", "_")
        settings[f"privacy_budget_p_level_1_{name}"] = 0 if geography == "AIANNH" else 0.008
        settings[f"privacy_budget_p_level_2_{name}"] = 2.134 if geography in DETAILED else 0.159
    settings["privacy_budget_p_stage_1_fraction"] = 0.1
    settings["thresholds_p"] = {
        f"({geography}, {level})": [4971, 19971, 149971]
        if level == 1
        else [471, 971, 6971]
        if geography in DETAILED
        else [971, 4971, 19971]
        for geography in GEOGRAPHIES
        for level in (1, 2)
    }
    settings |= {"zero_suppression_chance": 0.9999, "allow_negative_counts": True}
    settings |= {"run_us": True, "run_pr": True, "reader": "csv", "state_filter_us": list(states)}
    settings["privacy_defn"] = "zcdp"
    return json.dumps(settings, indent=1) + "\n"


def write(folder: Path, states: Sequence[str]) -> None:
    """Write the specification and its configuration as the five files of a PARAMS folder."""
    made = lists()
    group, flags = "ITERATION_CODE|ITERATION_NAME|LEVEL", "DETAILED_ONLY|COARSE_ONLY"
    files: dict[str, tuple[str, Sequence[tuple[str, ...]]]] = {
        CODE_FILE: ("RACE_ETH_CODE|RACE_ETH_NAME", sorted(made.codes)),
        RACE_FILE: (f"{group}|ALONE|{flags}", made.races),
        ETHNICITY_FILE: (f"{group}|{flags}", made.origins),
        MAPPING_FILE: ("ITERATION_CODE|RACE_ETH_CODE", made.pairs),
    }
    for name, (header, rows) in files.items():
        text = "".join(f"{line}\n" for line in (header, *("|".join(row) for row in rows)))
        (folder / name).write_text(text, encoding="utf-8")
    (folder / JSON_FILE).write_text(configuration(states), encoding="utf-8")
