"""Results show themselves: under `print` and in a notebook, as a picture and as a table of pandas.

What a result tells is written above it, in `discreet.answers`, and asked for there and then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from discreet.answers import Answer
    from discreet.tables.frames import DataFrame

LONGEST = 120
"""Characters of a result at a prompt, at most."""


class Displayed:
    """A result that shows itself as its answer: in one line at a prompt, in full under `print` and in a
    notebook, as a picture (`plot`) and as a table of pandas (`to_frame`).

    >>> from discreet.budget import load
    >>> release = load("dhc-2022-08-25")
    >>> release   # doctest: +ELLIPSIS
    <Release: dhc-2022-08-25: 2020 Census DHC, demonstration allocation of 2022-08-25, ...>
    >>> release._repr_html_().splitlines()[0]
    '<section class="answer">'
    >>> release.to_frame().columns[:4].tolist()
    ['level', 'query', 'noise', 'variance']
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        # in its own namespace, or a dataclass writes one that prints all fields
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        try:
            answer = _answer(self)
            words = (str(answer.summary) or answer.title).partition("\n")[0]
        except Exception:  # a debugger must be able to show any object
            return f"<{type(self).__name__}>"
        most = LONGEST - len(f"<{type(self).__name__}: >")
        return f"<{type(self).__name__}: {words if len(words) <= most else f'{words[: most - 4]} ...'}>"

    def __str__(self) -> str:
        from discreet.render.text import text_of

        answer = _answer(self)
        return str(answer.summary) or "\n".join(text_of(answer))

    def _repr_html_(self) -> str:
        from discreet.render.html import html_of

        return html_of(_answer(self))

    def plot(self, picture: str = "", *, ax: Axes | Sequence[Axes] | None = None) -> Axes | list[Axes]:
        """Draw a picture of the result, the first unless it is named, and return the axes of its panels.

        It is drawn into `ax`, one Axes for each panel, in your style; without, into a new figure of pyplot.

        >>> from discreet import account
        >>> from matplotlib.figure import Figure
        >>> ax = account("dhc-2022-08-25").plot("profile", ax=Figure().subplots())
        >>> ax.get_xlabel(), ax.get_yscale()
        ('epsilon', 'log')
        """
        from discreet.render.pictures import drawn_in

        return drawn_in(_answer(self), picture, ax)

    def to_frame(self, table: str = "") -> DataFrame:
        """Return a table of the result, the first unless it is named, as a DataFrame of pandas.

        >>> from discreet import account
        >>> account("dhc-2022-08-25").to_frame()["epsilon"].round(4).tolist()
        [14.576, 20.3247, 24.6407, 28.2419]
        """
        from discreet.render.frame import frame_of

        return frame_of(_answer(self), table)


class Summarised(Displayed):
    """A result that is printed as the summary of its answer, one line to paste into a memo.

    >>> from discreet import account
    >>> print(*account("dhc-2022-08-25").at_delta("1e-10"))
    epsilon 20.324690 (exact) at delta 1e-10, worst case (1,)
    """

    __slots__ = ()


def _answer(result: object) -> Answer:
    from discreet.answers import describe

    return describe(result)


def reason_in_words(verification: object) -> str:
    """Return why a statement is proved, refuted or open.

    >>> from discreet.accounting.verification import verify
    >>> from discreet.budget import load
    >>> reason_in_words(verify(load("dhc-2022-08-25"), epsilon=65, delta="1e-10"))
    'One case: the bound of zCDP.'
    """
    from discreet.answers.verification import reason_text

    return reason_text(verification)  # type: ignore[arg-type]


def page_in_words(profile: object, *, title: str = "") -> str:
    """Return what a risk profile tells as a page in plain words.

    >>> from discreet.disclosure import risk_profile
    >>> page_in_words(risk_profile({"Block": "0.0992"}, prior="1/2")).splitlines()[0]
    '# What can be learned about one person from rhos'
    """
    from discreet.answers.risk_explain import explain_answer

    return str(explain_answer(profile, title=title).record["page"])  # type: ignore[arg-type]
