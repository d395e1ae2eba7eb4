"""Options that the risk commands share, and the words in which they name an adversary."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from discreet.cli.outputs import PLOT_KINDS, TABLE_KINDS, Outputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CHANCE = "The adversary's chance that the target is present, such as 1/2"

Priors = Annotated[list[str], Parameter(help=f"{_CHANCE} or 1/864; may be repeated.", metavar="P")]
Prior = Annotated[str, Parameter(help=f"{_CHANCE}.", metavar="P")]
Variances = Annotated[
    list[str] | None, Parameter(help="Variance of the noise, an exact number.", metavar="V")
]
Rhos = Annotated[
    list[str] | None,
    Parameter(help="Instead of the variance: rho, meaning a variance of 1/(2 rho).", metavar="R"),
]
Floor = Annotated[bool, Parameter(help="Negative values were published as zero.")]
Csv = Annotated[Path | None, Parameter(help="Write the numbers.", metavar="FILE.csv")]
Plot = Annotated[Path | None, Parameter(help="Plot the numbers.", metavar="FILE.svg|png|pdf")]


def planned(csv: Path | None, plot: Path | None) -> Outputs:
    """Check that the files that are asked for can be written."""
    outputs = Outputs()
    outputs.plan("--csv", csv, TABLE_KINDS)
    outputs.plan("--plot", plot, PLOT_KINDS)
    return outputs


def write_files(
    outputs: Outputs,
    table: Callable[[], tuple[Sequence[str], Iterable[Sequence[Any]]]],
    figure: Callable[[], Figure],
) -> None:
    """Write the table, every float with all its digits, and the figure, if they are asked for."""
    contents: dict[str, bytes] = {}
    if outputs.wanted("--csv"):
        columns, rows = table()
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        contents["--csv"] = stream.getvalue().encode()
    if outputs.wanted("--plot"):
        from discreet.report.figures import figure_bytes

        kind = outputs.planned["--plot"].suffix.lower().removeprefix(".")
        contents["--plot"] = figure_bytes(figure(), kind)
    outputs.write(contents)


def chance(value: float) -> str:
    """Write a chance so that neither it nor its complement is rounded away.

    >>> chance(0.5), chance(0.58882), chance(0.0012774), chance(1 - 2e-9), chance(1.234e-7)
    ('0.5000', '0.5888', '0.00128', '1 - 2.0e-09', '1.23e-07')
    """
    if 0.0 < value < 0.01:
        return f"{value:.3g}"
    if 0.9995 < value < 1.0:
        return f"1 - {1.0 - value:.1e}"
    return f"{value:.4f}"


def in_hundred(value: float) -> str:
    """Write a chance as so many times in 100.

    >>> in_hundred(0.5888), in_hundred(0.99996), in_hundred(0.0002)
    ('58.9 times in 100', 'more than 99.9 times in 100', 'less than 0.1 times in 100')
    """
    if 0.0 < value < 0.001:
        return "less than 0.1 times in 100"
    if 0.999 < value < 1.0:
        return "more than 99.9 times in 100"
    return f"{100 * value:.1f} times in 100"
