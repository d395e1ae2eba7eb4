"""A sheet of a workbook (.xlsx), as text: a line for each of its rows, so that problems name the row.

A workbook is a ZIP archive of XML, in which numbers stand as they are written in text. Only values are read:
of a formula the last result that was saved, of a date its number of days.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from discreet.errors import InputError
from discreet.tables.sources import INSIDE, Content, chosen, which

_DAMAGED = (
    BadZipFile,
    ElementTree.ParseError,
    zlib.error,
    EOFError,
    IndexError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    StopIteration,
    ValueError,
)
"""What a file that is no workbook leads to."""

LARGEST = 1 << 30
"""Bytes of one part of a workbook, unpacked; a sheet that is full has fewer."""

_WIDEST = 1 << 14
"""Columns that a sheet can have."""

_BREAK = re.compile(r"[\r\n]")
"""What would break a line; a control character stands for it, which is refused in columns that are used."""


def read_sheet(path: Path, wanted: str = "") -> Content:
    """Return a sheet, by default the first one, as CSV."""
    sheets: dict[str, str] = {}
    with suppress(*_DAMAGED), ZipFile(path) as book:
        sheets = _sheets(book)
        name = chosen(sheets, wanted) if wanted else next(iter(sheets))
        if name:
            text = _as_text(_rows(book, sheets[name], _texts(book)))
            return Content(f"{path.name}{INSIDE}{name}" if wanted else path.name, text)
    if not wanted or not sheets or chosen(sheets, wanted):
        raise InputError(
            f"{path.name} cannot be read as a workbook (.xlsx): it is damaged, or something else"
        )
    raise InputError(f"{path.name} has no sheet {wanted}; {which(path, sheets, 'sheets')}")


def _part(book: ZipFile, name: str) -> IO[bytes]:
    """Open a part of a workbook, unless it is of a size that no sheet has."""
    if book.getinfo(name).file_size > LARGEST:
        raise ValueError(name)
    return book.open(name)


def _local(tag: str) -> str:
    """Return a tag without its namespace, of which there are two kinds."""
    return tag.rpartition("}")[2]


def _sheets(book: ZipFile) -> dict[str, str]:
    """Return the sheets by name, in their order, and the parts of the archive that hold them."""
    with _part(book, "xl/_rels/workbook.xml.rels") as stream:
        targets = {
            element.get("Id"): element.get("Target", "") for element in ElementTree.parse(stream).getroot()
        }
    sheets = {}
    with _part(book, "xl/workbook.xml") as stream:
        for node in ElementTree.parse(stream).iter():
            if _local(node.tag) == "sheet":
                key = next(value for name, value in node.items() if name.endswith("}id"))
                target = targets[key]
                path = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
                if "chartsheet" not in path:
                    sheets[node.get("name", "")] = path
    if not sheets:
        raise ValueError
    return sheets


def _texts(book: ZipFile) -> list[str]:
    """Return the texts that cells refer to by number."""
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    texts = []
    with _part(book, "xl/sharedStrings.xml") as stream:
        for _, element in ElementTree.iterparse(stream):
            if _local(element.tag) == "si":
                texts.append(_text(element))
                element.clear()
    return texts


def _text(element: ElementTree.Element) -> str:
    """Return a text in one piece or in several of different fonts, without what says how it is pronounced."""
    parts = []
    for child in element:
        if _local(child.tag) == "t":
            parts.append(child.text or "")
        elif _local(child.tag) == "r":
            parts.append(_text(child))
    return "".join(parts)


def _rows(book: ZipFile, path: str, texts: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that a sheet has, by number, from 1."""
    number = 0
    with _part(book, path) as stream:
        for _, row in ElementTree.iterparse(stream):
            if _local(row.tag) != "row":
                continue
            number = int(row.get("r", number + 1))
            fields: list[str] = []
            for cell in row:
                if _local(cell.tag) == "c":
                    at = _column(cell.get("r", "")) or len(fields) + 1
                    fields += [""] * (at - 1 - len(fields))
                    fields.append(_BREAK.sub("\v", _value(cell, texts)))
            yield number, fields
            row.clear()


def _column(cell: str) -> int:
    """Return the number of a column, from 1, or 0 if the place is not said.

    >>> _column("A7"), _column("AB12"), _column("")
    (1, 28, 0)
    """
    number = 0
    for letter in cell.rstrip("0123456789"):
        number = number * 26 + ord(letter.upper()) - ord("A") + 1
    if not 0 <= number <= _WIDEST:
        raise ValueError
    return number


def _value(cell: ElementTree.Element, texts: list[str]) -> str:
    kind = cell.get("t", "n")
    for child in cell:
        if _local(child.tag) == "is":
            return _text(child)
        if _local(child.tag) == "v":
            text = child.text or ""
            if kind == "b":
                return {"0": "FALSE", "1": "TRUE"}[text]
            return texts[int(text)] if kind == "s" else text
    return ""


def _as_text(rows: Iterator[tuple[int, list[str]]]) -> bytes:
    """Write rows as CSV, all as wide as the first one, and those that a sheet leaves out as empty lines."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    width, line = 0, 0
    for number, fields in rows:
        while fields and not fields[-1]:
            fields.pop()
        if not fields:
            continue
        width = width or len(fields)
        stream.write("\n" * (number - line - 1))
        writer.writerow(fields + [""] * (width - len(fields)))
        line = number
    return stream.getvalue().encode()
