"""The risk of everyone in the data as a directory of files: confidential, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from discreet.answers.answer import AnswerTable, Cards, Illustration, Paragraph, Part, marked, sentence
from discreet.answers.figure import Picture
from discreet.answers.quantity import count_quantity
from discreet.answers.risk_records import CONFIDENTIAL, records_answer, records_map
from discreet.areas.output import FORMATS, OutputTable, coded, strings
from discreet.disclosure.records import EachPerson, RecordsRisk
from discreet.errors import InputError
from discreet.files import ArrowArray, FilePath, arrow
from discreet.ledger.commit import free, whole_folder
from discreet.questions import Option
from discreet.rehearsal import NOT_PRIVATE
from discreet.render.html import section_of
from discreet.render.pictures import picture_bytes
from discreet.render.text import text_of
from discreet.reports.html import framed
from discreet.tables.shapes import Shapes, read_shapes

MARKED = "CONFIDENTIAL"
"""The part of each file's name that says what it is."""

_ROWS = 1 << 18


@dataclass(frozen=True, slots=True)
class RecordsFiles:
    """What was written: the directory, and the names of its files."""

    out: Path
    files: tuple[str, ...]


def write_records_risk(
    found: RecordsRisk,
    out: FilePath,
    *,
    format: Annotated[
        Literal["csv", "parquet"], Option("Format of the tables; default: csv.", "csv|parquet")
    ] = "csv",
    shapes: Annotated[
        FilePath | Shapes | None,
        Option("With --out: shapes of areas, for a map; GeoJSON polygons.", "FILE", reads=Path | None),
    ] = None,
    shape_key: Annotated[str | None, Option("The property that names the areas.", "NAME")] = None,
    shape_level: Annotated[
        str | None, Option("The level on the map; default: the lowest with shapes.", "LEVEL")
    ] = None,
) -> RecordsFiles:
    """Write the risk of everyone to a new directory that its owner alone can read; all of it or nothing.

    `report.html` shows it on one page. `people` has a row for each record, in their order; `shares`,
    `areas`, `sizes`, `published`, `curves`, `examples` and `decisions` are the tables of the answer;
    `ratios.svg` is the histogram. With `shapes`, a GeoJSON file whose property `shape_key` names the areas,
    or what `read_shapes` made of it, `map.svg` shades the areas of `shape_level`.
    """
    if format not in FORMATS:
        raise InputError(f"format is {format!r}; it must be csv or parquet")
    if shapes is None and (shape_key or shape_level):
        raise InputError("shape_key and shape_level are about a file of shapes; name it (--shapes)")
    free(out)
    answer = records_answer(found)
    pictures = {name: figure() for name, figure in answer.figures.items()}
    if shapes is not None:
        known = shapes if isinstance(shapes, dict) else read_shapes(shapes, shape_key)
        pictures["map"] = records_map(found, known, level=shape_level)
    with whole_folder(out, confidential=True) as folder:
        names: list[str] = []

        def place(stem: str, ending: str) -> Path:
            names.append(f"{stem}.{MARKED}.{ending}")
            return folder / names[-1]

        for stem, key in (
            ("shares", "rows"),
            ("areas", "areas"),
            ("sizes", "sizes"),
            ("published", "published"),
            ("curves", "curves"),
            ("examples", "examples"),
            ("decisions", "decisions"),
        ):
            _table(place(stem, format), format, answer.tables[key])
        if found.each is not None:
            _people(place("people", format), format, found.each)
        for stem, picture in pictures.items():
            place(stem, "svg").write_bytes(picture_bytes(picture, "svg"))
        place("report", "html").write_text(_records_page(found, pictures), encoding="utf-8")
        place("summary", "txt").write_text("\n".join(text_of(answer)) + "\n", encoding="utf-8")
        manifest = {
            "format": "discreet risk records 1",
            "confidential": CONFIDENTIAL,
            "version": version("discreet"),
            "release": found.release,
            "query": found.query,
            "priors": found.priors,
            "files": [*names, f"manifest.{MARKED}.json"],
        }
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        place("manifest", "json").write_text(text, encoding="utf-8")
    return RecordsFiles(Path(out), tuple(names))


def _records_page(risk: RecordsRisk, pictures: Mapping[str, Picture] | None = None) -> str:
    """Return the risk of everyone as one HTML page that loads nothing; `pictures` may hold a map.

    It leads with how many people, then the histogram and the map, then the tables. Other pictures have files
    of their own.

    >>> import tempfile
    >>> from discreet.budget import load_file
    >>> from discreet.disclosure import records_risk
    >>> from discreet.measurement import write_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release, units, records, _ = write_example(folder)
    ...     found = records_risk(load_file(release), records, units=units, priors=["1/10"])
    >>> page = _records_page(found)  # slow
    >>> page.index("people, the District counts") < page.index("<svg") < page.index("<table")
    True
    """
    answer = records_answer(risk)
    drawn = {"ratios": answer.figures["ratios"]}
    drawn |= {name: partial(replace, picture) for name, picture in (pictures or {}).items() if name == "map"}
    warnings = [part for part in answer.body if isinstance(part, Paragraph) and part.role == "warning"]
    headline = [part for part in answer.body if isinstance(part, Paragraph) and part.role == "headline"]
    rest = [part for part in answer.body if part not in ("", *warnings, *headline)]
    people = count_quantity(risk.people)
    first = {
        "ratios": f"{people} people by ratio of posterior to prior",
        "map": "Where ratios exceed 2: the share of each area's people; hatched shapes have no people",
    }
    shown = [
        Illustration(name, title, sentence("{title}.", title=title), f"{title}.")
        for name, title in first.items()
        if name in drawn
    ]
    placed: tuple[Part, ...] = (*headline, Cards(answer.facts), shown[0], rest[0], *shown[1:], *rest[1:])
    whole = replace(answer, title="", body=placed, figures=drawn)
    return framed(
        {"people": section_of(whole, anchor="people")},
        title=f"CONFIDENTIAL – {risk.release} – everyone in the data",
        kicker="Risk of everyone in the data",
        heading=sentence("{release}", release=marked(risk.release, "name")),
        about=f"The numbers drawn are those of a rehearsal: {NOT_PRIVATE}." if risk.is_rehearsal else "",
        warning=CONFIDENTIAL,
    )


def _table(path: Path, kind: str, table_of: AnswerTable) -> None:
    """Write the rows of an answer's table; lists are written as texts."""
    pa, rows = arrow(), table_of.objects
    keys = [column.key for column in table_of.columns if column.key] if rows else ["prior"]
    columns: list[ArrowArray] = []
    for key in keys:
        values = [row[key] for row in rows]
        values = [" ".join(map(repr, value)) if isinstance(value, list) else value for value in values]
        array = pa.array(values)
        columns.append(array.cast(pa.float64()) if pa.types.is_null(array.type) else array)
    schema = pa.schema([pa.field(key, column.type) for key, column in zip(keys, columns, strict=True)])
    with OutputTable(path, kind, schema.with_metadata({"confidential": CONFIDENTIAL})) as table:
        table.write(columns)


def _people(path: Path, kind: str, each: EachPerson) -> None:
    """Write a row for each person, in the order of the records, part by part."""
    pa = arrow()
    writer: OutputTable | None = None
    try:
        for start in range(0, max(len(each.group), 1), _ROWS):
            columns = dict(_columns(each, slice(start, start + _ROWS)))
            if writer is None:
                kinds = [pa.field(name, column.type) for name, column in columns.items()]
                schema = pa.schema(kinds).with_metadata({"confidential": CONFIDENTIAL})
                writer = OutputTable(path, kind, schema)
            writer.write(list(columns.values()))
    finally:
        if writer is not None:
            writer.close()


def _columns(each: EachPerson, rows: slice) -> Iterator[tuple[str, ArrowArray]]:
    pa, group = arrow(), each.group[rows]
    yield "record", pa.array(each.record[rows] + 1)
    area: Mapping[str, ArrowArray] = {"unit": coded(each.area[group], strings(each.area_names))}
    yield from area.items()
    yield "share_the_cell", pa.array(each.size[group])
    for prior, values in each.prior.items():
        tail = "" if len(each.prior) == 1 else f":{prior}"
        yield f"prior{tail}", pa.array(values[group])
        for (label, adversary), risk in each.risks.items():
            if label != prior:
                continue
            for name, column in (
                ("expected_posterior", risk.posterior),
                ("expected_ratio", risk.ratio),
                ("posterior", risk.drawn_posterior),
                ("ratio", risk.drawn_ratio),
            ):
                if not np.isnan(column).all():
                    yield f"{name}:{adversary}{tail}", pa.array(column[group], from_pandas=True)
