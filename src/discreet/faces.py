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


def reason_in_words(verification: object) -> str:
    """Return why a statement is proved, refuted or open.

    >>> from discreet.accounting.verification import verify
    >>> from discreet.budget import load
    >>> reason_in_words(verify(load("dhc-2022-08-25"), epsilon=21, delta="1e-10"))
    'One case: convolution from the definition.'
    """
    from discreet.answers.verification import reason_text

    return reason_text(verification)  # type: ignore[arg-type]


def page_in_words(profile: object, *, title: str = "") -> str:
    """Return what a risk profile tells as a page in plain words.

    >>> from discreet.risk import risk_profile
    >>> page_in_words(risk_profile({"Block": "0.0992"}, prior="1/2")).splitlines()[0]
    '# What can be learned about one person from rhos'
    """
    from discreet.answers.risk_explain import explain_answer

    return str(explain_answer(profile, title=title).record["page"])  # type: ignore[arg-type]
