"""The groups, codes and settings of Detailed DHC-A 2020, and a folder of parameters made of them.

Facts of the Census Bureau's public specification of the product, in a form of our own (`data/`): the codes;
the groups with the codes that belong to each, where `1010-1390` is every code of the list between the two;
and the settings as a `safetab.toml`. The invented groups of a synthetic nation are there in the same form.
"""

from __future__ import annotations

import csv
import os
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.groups import Iteration, Specification
from discreet.census.safetab.configuration import read_toml
from discreet.census.safetab.specification import TOML_FILE, safetab_h, safetab_p, write_specification
from discreet.faces import Summarised
from discreet.ledger.commit import whole_folder
from discreet.questions import Option

_SHOWN = {"all": (False, False), "totals": (True, False), "below states": (False, True)}


def _text(name: str) -> str:
    return (files("discreet.census.safetab") / "data" / name).read_text(encoding="utf-8")


@lru_cache(maxsize=4)
def packaged(name: str, *, households: bool = False) -> Specification:
    """Return a specification that comes with the package: `2020` or `invented`, of people or households."""
    codes = {row["code"]: row["name"] for row in csv.DictReader(_text(f"codes-{name}.csv").splitlines())}
    order = list(codes)
    iterations, mapped = [], {code: list[str]() for code in codes}
    for row in csv.DictReader(_text(f"groups-{name}.csv").splitlines()):
        total_only, coarse_only = _SHOWN[row["shown"]]
        iterations.append(
            Iteration(
                code=row["group"],
                name=row["name"],
                level=int(row["level"]),
                kind=row["kind"],
                total_only=total_only,
                coarse_only=coarse_only,
            )
        )
        for run in row["codes"].split():
            first, _, last = run.partition("-")
            for code in order[bisect_left(order, first) : bisect_right(order, last or first)]:
                mapped[code].append(row["group"])
    # the files list a code's groups by number
    return Specification(
        tabulation=safetab_h() if households else safetab_p(),
        iterations=tuple(iterations),
        codes=codes,
        mapped={code: tuple(sorted(groups)) for code, groups in mapped.items()},
    )


def specification_2020(*, households: bool = False) -> Specification:
    """Return the groups and codes of 2020, the same for people and for households.

    >>> specification = specification_2020()
    >>> len(specification.codes), len(specification.iterations), sum(map(len, specification.mapped.values()))
    (1755, 3054, 14088)
    """
    return packaged("2020", households=households)


def configuration_2020(*, households: bool = False) -> Configuration:
    """Return the settings of the production run of 2020: of SafeTab-P, or of SafeTab-H for households.

    >>> configuration = configuration_2020()
    >>> configuration.budgets["USA", 2], configuration.thresholds["COUNTY", 2]
    (Fraction(1067, 500), (971, 4971, 19971))
    >>> configuration = configuration_2020(households=True)
    >>> configuration.budgets["USA", 32], configuration.thresholds["USA", 42]
    (Fraction(2401, 1250), (471,))
    """
    return read_toml(_text(SETTINGS["2020-h" if households else "2020"]))


SETTINGS = {"2020": "safetab-2020.toml", "2020-h": "safetab-2020-h.toml"}
"""The settings of 2020 that come with the package: Detailed DHC-A, and Detailed DHC-B."""


@dataclass(frozen=True, slots=True)
class ParameterFolder(Summarised):
    """A folder of parameters that was written: of which specification, its files, codes and groups."""

    folder: Path
    spec: str
    files: tuple[str, ...]
    codes: int
    groups: int


def write_parameters(
    out: str | os.PathLike[str],
    spec: Annotated[
        str,
        Option(
            "The specification: 2020, Detailed DHC-A of the 2020 Census (default); 2020-h, Detailed DHC-B.",
            "2020|2020-h",
            reads=Literal["2020", "2020-h"],
        ),
    ] = "2020",
) -> ParameterFolder:
    """Write a complete folder of parameters to a new directory: of `2020`, or `2020-h` for households.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     written = write_parameters(Path(folder) / "params")
    >>> written.files[-1], written.codes, written.groups
    ('safetab.toml', 1755, 3054)
    """
    specification = specification_2020()
    with whole_folder(out) as folder:
        write_specification(specification, folder)
        (folder / TOML_FILE).write_text(_text(SETTINGS[spec]), encoding="utf-8")
        names = tuple(sorted(path.name for path in folder.iterdir()))
    return ParameterFolder(Path(out), spec, names, len(specification.codes), len(specification.iterations))
