"""YAML as entries of the registry need it: nested mappings of texts, numbers and lists."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence

WIDTH = 100


def yaml_of(entry: Mapping[str, object]) -> str:
    """Write nested mappings as YAML that every reader understands alike.

    Texts are quoted, or folded where they are long; a small number has a point, or it would be read as text.

    >>> print(yaml_of({"tier": 3, "loss": {"delta": 1e-10, "unit": "no"}, "by": ["A", "B"]}), end="")
    tier: 3
    loss:
      delta: 1.0e-10
      unit: "no"
    by:
      - "A"
      - "B"
    """
    return "".join(f"{line}\n" for line in _lines(entry, ""))


def _lines(entry: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, value in entry.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _lines(value, f"{indent}  ")
        elif isinstance(value, str) and _folds(value):
            yield f"{indent}{key}: >-"
            width = WIDTH - len(indent) - 2
            folded = textwrap.wrap(value, width, break_long_words=False, break_on_hyphens=False)
            yield from (f"{indent}  {line}" for line in folded)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield f"{indent}{key}:"
            yield from (f"{indent}  - {_scalar(item)}" for item in value)
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _folds(text: str) -> bool:
    """Whether a text is long, and comes back the same when its lines are joined by spaces."""
    return len(text) > WIDTH - 20 and text.isprintable() and text == " ".join(text.split())


def _scalar(value: object) -> str:
    if isinstance(value, float):
        digits, mark, power = repr(value).partition("e")
        return f"{digits if '.' in digits else f'{digits}.0'}{mark}{power}"
    # what JSON quotes, YAML reads; only these three are line ends to YAML and not to JSON
    quoted = json.dumps(value, ensure_ascii=False)
    for sign in "\x85\u2028\u2029\x7f":
        quoted = quoted.replace(sign, f"\\u{ord(sign):04x}")
    return quoted
