"""The page on which studies are drawn: one style, colours for colour-blind readers, dashes for print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.report.figures import STYLE
from discreet.report.plots import BLUE, GREEN, GREY, VERMILION
from discreet.studies.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, ORANGE, SKY, PURPLE = "#000000", "#E69F00", "#56B4E9", "#CC79A7"

EXACT: dict[str, Any] = {"color": BLUE, "linestyle": "-", "label": "exact"}
ZCDP_LINE: dict[str, Any] = {"color": VERMILION, "linestyle": "--", "label": "zCDP (Bun and Steinke)"}
REDUCED: dict[str, Any] = {"color": GREEN, "linestyle": "-.", "label": "exact, reduced noise"}

EIGHT: tuple[dict[str, Any], ...] = (
    {"color": BLACK, "linestyle": "-"},
    {"color": ORANGE, "linestyle": "--"},
    {"color": SKY, "linestyle": "-."},
    {"color": GREEN, "linestyle": ":"},
    {"color": GREY, "linestyle": "-"},
    {"color": BLUE, "linestyle": "--"},
    {"color": VERMILION, "linestyle": "-."},
    {"color": PURPLE, "linestyle": (0, (6, 1, 1, 1, 1, 1))},
)
"""Eight lines that colour and dashes tell apart."""


@contextmanager
def canvas(
    study: Study,
    size: tuple[float, float],
    rows: int = 1,
    columns: int = 1,
    *,
    fitted: bool = True,
    **more: Any,
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Give a figure with the study's title and source, and its axes, row by row.

    Margins are fitted to the labels unless `fitted` is off: for very many panels that takes too long.

    >>> study = Study("demo", "A demonstration", "nobody", ("n",), ())
    >>> with canvas(study, (3, 2), 1, 2) as (figure, axes):
    ...     len(axes)
    2
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained" if fitted else None)
        axes = figure.subplots(rows, columns, squeeze=False, **more)
        figure.suptitle(f"{study.title}\n{study.source}", fontsize=9)
        for ax in axes.flat:
            ax.set_axisbelow(True)
        yield figure, list(axes.flat)


def legend_below(figure: Figure, ax: Axes, columns: int | None = None) -> None:
    """Put one legend for all panels under them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns or len(labels))


def delta_axis(ax: Axes, lowest: int, every: int = 3) -> None:
    """Make the vertical axis logarithmic, from 1 down to 10^lowest, with few ticks."""
    ax.set_yscale("log")
    ax.set_ylim(10.0**lowest, 2.0)
    ax.set_yticks(10.0 ** np.arange(0, lowest - 1, -every, dtype=np.float64))
    ax.minorticks_off()


def unit_square(ax: Axes) -> None:
    """Make the axes those of a trade-off curve."""
    ax.set_xlim(-0.015, 1.0)
    ax.set_ylim(-0.015, 1.0)
    ax.set_xticks([0, 0.5, 1])
    ax.set_yticks([0, 0.5, 1])
