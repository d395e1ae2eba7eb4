"""Results show themselves in a notebook and under `print`: what they tell is asked for there and then.

What a result tells is written above it, in `discreet.answers`. This is the one place below that looks up.
"""

from __future__ import annotations


class Displayed:
    """A result that a notebook shows as its answer: title, sentences, tables and cautions.

    >>> from discreet.budget import load
    >>> load("dhc-2022-08-25")._repr_html_().splitlines()[0]
    '<section class="answer">'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        from discreet.answers import describe
        from discreet.render.html import html_of

        return html_of(describe(self))


class Summarised(Displayed):
    """A result that is printed as the summary of its answer, one line to paste into a memo.

    >>> from discreet.accounting.overall import Point
    >>> print(Point(24.4564939544, 1e-10, (6, 6)))
    epsilon 24.456494 (exact) at delta 1e-10, worst case (6, 6)
    """

    __slots__ = ()

    def __str__(self) -> str:
        from discreet.answers import describe

        return str(describe(self).summary)
