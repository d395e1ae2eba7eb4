"""What the site shows of the code: examples become blocks, signatures leave out the helps of options.

Griffe, which reads the code, calls this.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*?(?=^\s*$|\Z)", re.MULTILINE | re.DOTALL)


def with_blocks(text: str) -> str:
    """Return a docstring with its examples in fences.

    >>> print(with_blocks("Add.\\n\\n>>> 1 + 1\\n2").replace("`", "'"))
    Add.
    <BLANKLINE>
    '''pycon
    >>> 1 + 1
    2
    '''
    """
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```", text)


class Examples(griffe.Extension):
    """Put the examples of every docstring into fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one module, class, function or attribute."""
        if obj.docstring is not None and "```" not in obj.docstring.value:
            obj.docstring.value = with_blocks(obj.docstring.value)


class Signatures(griffe.Extension):
    """Show the types of parameters without what the command line says of them."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the parameters of one function."""
        for parameter in obj.parameters if isinstance(obj, griffe.Function) else ():
            shown = parameter.annotation
            if isinstance(shown, griffe.ExprSubscript) and shown.canonical_name == "Annotated":
                inside = shown.slice
                parameter.annotation = inside.elements[0] if isinstance(inside, griffe.ExprTuple) else inside
