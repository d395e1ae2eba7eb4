"""Post-processing of an output that exists, into a new directory. It spends nothing.

What the output says about its ledger goes along.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from discreet.errors import InputError
from discreet.release.audit import sha256
from discreet.release.commit import RECEIPT, free, read_receipt, staging
from discreet.release.hierarchy.writing import Folder
from discreet.release.ledger import NOT_PRIVATE
from discreet.release.safetab import post
from discreet.release.safetab.configuration import read_configuration
from discreet.release.safetab.coterminous import ORDER, donated
from discreet.release.safetab.output import Writer
from discreet.release.safetab.parts import TABLES, Part
from discreet.release.safetab.released import Released, read_released
from discreet.release.safetab.specification import Specification, read_specification
from discreet.release.safetab.summary import FORMAT

Parts = dict[tuple[str, int], Part]


@dataclass(frozen=True, slots=True)
class Reprocessed:
    """What a step wrote: rows by table, groups by table, and how many groups it gave or dropped."""

    out: Path
    step: str
    rows: dict[str, int]
    groups: dict[str, int]
    changed: int
    marked: bool
    files: tuple[str, ...]


def coterminous(
    released: str | os.PathLike[str],
    new: str | os.PathLike[str],
    *,
    params: str | os.PathLike[str],
    data: str | os.PathLike[str],
    order: Sequence[str] = ORDER,
    format: str | None = None,
) -> Reprocessed:
    """Make regions of the same blocks agree in an output; `data` needs its GRF-C only, which is public."""
    from discreet.release.engine import connect
    from discreet.release.safetab.geography import read_water
    from discreet.release.safetab.validation import read_geography

    configuration, specification = read_configuration(Path(params)), read_specification(Path(params))
    water = read_water(Path(params))
    free(new)
    with connect() as engine:
        geography = read_geography(Path(data), configuration, engine=engine)
    classes = geography.coterminous(water)
    found = read_released(Path(released), specification, geography.regions)
    tabulated = {
        (where, level): [
            i for i, one in enumerate(specification.iterations) if one.level == level and one.tabulated(where)
        ]
        for where, level in found.parts
        if configuration.runs(where, level)
    }
    parts = {place: part for place, part in found.parts.items() if place in tabulated}
    after, given = donated(parts, classes, tabulated, order=order)
    return _write(
        Path(released), new, "coterminous", found, {**found.parts, **after}, given, specification, format
    )


def postprocess(
    released: str | os.PathLike[str],
    new: str | os.PathLike[str],
    *,
    params: str | os.PathLike[str],
    format: str | None = None,
) -> Reprocessed:
    """Drop groups whose alone count exceeds the combination count, and clamp counts at zero, in an output."""
    specification = read_specification(Path(params))
    free(new)
    found = read_released(Path(released), specification)
    parts = post.consistent(found.parts, post.partners(specification))
    dropped = sum(part.size for part in found.parts.values()) - sum(part.size for part in parts.values())
    return _write(Path(released), new, "post", found, parts, dropped, specification, format)


def _write(
    released: Path,
    new: str | os.PathLike[str],
    step: str,
    found: Released,
    parts: Parts,
    changed: int,
    specification: Specification,
    format: str | None,
) -> Reprocessed:
    kind = format or found.format
    if kind not in ("csv", "parquet"):
        raise InputError(f"format is {kind!r}; it must be csv or parquet")
    codes = [one.code for one in specification.iterations]
    receipt = read_receipt(released)
    with staging(new) as stage:
        mark = f"{NOT_PRIVATE}: made from an output that is not" if found.marked else None
        folder = Folder(stage.path, kind, mark=mark)
        with Writer(
            folder, codes, found.labels, bureau=found.bureau, bureau_margins=found.bureau_margins
        ) as writer:
            for (geography, _), part in parts.items():
                writer.write(part, found.regions[geography])
        tables = np.sum([np.bincount(part.table, minlength=len(TABLES)) for part in parts.values()], axis=0)
        groups = dict(zip(TABLES, map(int, tables), strict=True))
        folder.json(
            "summary",
            {
                "format": FORMAT,
                "version": version("discreet"),
                "step": step,
                "source": [{"name": path.name, "sha256": sha256(path)} for path in found.files],
                "rows": writer.rows,
                "groups": groups,
                "donated" if step == "coterminous" else "dropped": changed,
                **({} if receipt is None else {RECEIPT: receipt}),
            },
        )
        stage.commit()
    return Reprocessed(Path(new), step, writer.rows, groups, changed, found.marked, tuple(folder.names))
