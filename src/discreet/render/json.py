"""An answer as JSON, readable; exact decimals keep all their digits."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal

from discreet.answers.answer import Answer

_WIDTH = 100
"""A list that is longer has an item a line."""


def json_of(answer: Answer, **more: object) -> str:
    """Return what machines read of an answer, and `more` after it.

    >>> from discreet.answers import Answer, Quantity
    >>> print(json_of(Answer("one count", {"epsilon": Quantity(1.5)}), seconds=0.25))
    {
      "epsilon": 1.5,
      "seconds": 0.25
    }
    """
    return json_text({**answer.objects, **more})


def json_text(value: object, *, margin: str = "") -> str:
    """Return JSON, readable, short lists on one line; a Decimal keeps all its digits.

    >>> print(json_text({"worst": [6, 6], "lower": Decimal("24.456514457123456789"), "rows": []}))
    {
      "worst": [6, 6],
      "lower": 24.456514457123456789,
      "rows": []
    }
    """
    inner = margin + "  "
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping) and value:
        items = (f"{json.dumps(key)}: {json_text(item, margin=inner)}" for key, item in value.items())
        return "{\n" + ",\n".join(inner + item for item in items) + f"\n{margin}}}"
    if isinstance(value, list | tuple):
        texts = [json_text(item, margin=inner) for item in value]
        if any("\n" in text for text in texts) or sum(map(len, texts)) > _WIDTH:
            return "[\n" + ",\n".join(inner + text for text in texts) + f"\n{margin}]"
        return f"[{', '.join(texts)}]"
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} has no place in JSON")
    return json.dumps(value)
