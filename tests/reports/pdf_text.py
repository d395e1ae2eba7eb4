"""The text of a PDF that Chromium printed, with its places: enough to read a table back from paper."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

Matrix = tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class Page:
    """A page: its size in points, and its texts with their places from the left and the bottom."""

    width: float
    height: float
    texts: tuple[tuple[float, float, str], ...]

    @property
    def lines(self) -> list[list[str]]:
        """The texts line by line, from the top and from the left."""
        found: list[list[tuple[float, str]]] = []
        last = self.height
        for x, y, text in sorted(self.texts, key=lambda one: -one[1]):
            if last - y > 2 or not found:
                found.append([])
            found[-1].append((x, text))
            last = y
        return [[text for _, text in sorted(line)] for line in found]


def pages_of(pdf: bytes) -> list[Page]:
    """Return the pages of a PDF that Chromium made, in their order."""
    objects = {
        int(one[1]): one[2] for one in re.finditer(rb"(?:^|\n)(\d+) 0 obj\b(.*?)endobj", pdf, re.DOTALL)
    }
    order = [
        int(number)
        for kids in re.findall(rb"/Kids \[(.*?)\]", b"".join(objects.values()), re.DOTALL)
        for number in re.findall(rb"(\d+) 0 R", kids)
    ]
    return [_page(objects, number) for number in order if b"/Contents" in objects[number]]


def _page(objects: dict[int, bytes], number: int) -> Page:
    said = objects[number]
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", said)
    contents = re.search(rb"/Contents (\d+) 0 R", said)
    assert box is not None
    assert contents is not None
    fonts = {
        name.decode(): _letters(objects, int(font)) for name, font in re.findall(rb"/(F\d+) (\d+) 0 R", said)
    }
    texts = _texts(_stream(objects[int(contents[1])]).decode("latin-1"), fonts)
    return Page(float(box[1]), float(box[2]), tuple(texts))


def _stream(said: bytes) -> bytes:
    found = re.search(rb"stream\r?\n(.*)\r?\nendstream", said, re.DOTALL)
    assert found is not None
    return zlib.decompress(found[1])


def _letters(objects: dict[int, bytes], font: int) -> dict[int, str]:
    """What each code of a font stands for."""
    mapped = re.search(rb"/ToUnicode (\d+) 0 R", objects[font])
    assert mapped is not None
    letters = {}
    for line in _stream(objects[int(mapped[1])]).decode().splitlines():
        codes = [int(code, 16) for code in re.findall(r"<([0-9A-F]{4})>", line)]
        if len(codes) == 2:
            letters[codes[0]] = chr(codes[1])
        elif len(codes) == 3:
            letters |= {code: chr(codes[2] + code - codes[0]) for code in range(codes[0], codes[1] + 1)}
    return letters


_STEP = re.compile(
    r"(?P<cm>(?:[-\d.]+ ){6})cm|(?P<tm>(?:[-\d.]+ ){6})Tm|/(?P<font>F\d+) [\d.]+ Tf"
    r"|<(?P<codes>[0-9A-F]+)> Tj|(?P<sign>\b(?:q|Q|BT|ET)\b)"
)


def _texts(content: str, fonts: dict[str, dict[int, str]]) -> Iterator[tuple[float, float, str]]:
    now: Matrix = (1, 0, 0, 1, 0, 0)
    kept: list[Matrix] = []
    place, text, letters = (0.0, 0.0), "", {}
    for step in _STEP.finditer(content):
        if step["cm"]:
            now = _product(_matrix(step["cm"]), now)
        elif step["tm"]:
            x, y = _matrix(step["tm"])[4:]
            place = (now[0] * x + now[2] * y + now[4], now[1] * x + now[3] * y + now[5])
        elif step["font"]:
            letters = fonts[step["font"]]
        elif step["codes"]:
            codes = step["codes"]
            text += "".join(letters[int(codes[at : at + 4], 16)] for at in range(0, len(codes), 4))
        elif step["sign"] == "q":
            kept.append(now)
        elif step["sign"] == "Q":
            now = kept.pop()
        elif step["sign"] == "BT":
            text = ""
        elif text.strip():
            yield *place, text.strip()


def _matrix(said: str) -> Matrix:
    a, b, c, d, e, f = map(float, said.split())
    return a, b, c, d, e, f


def _product(one: Matrix, other: Matrix) -> Matrix:
    a, b, c, d, e, f = one
    p, q, r, s, t, u = other
    return (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u)
