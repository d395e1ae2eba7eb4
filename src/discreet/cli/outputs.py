"""Files that a command writes: checked before the long work, and put in place together at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InputError
from discreet.files import check_writable, csv_text, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE_KINDS = (".csv",)
PLOT_KINDS = (".svg", ".png", ".pdf")


class Outputs:
    """The files that one command will write, by the option that names each.

    >>> Outputs(csv=None).planned
    {}
    """

    def __init__(self, *, csv: Path | None = None, plot: Path | None = None) -> None:
        self.planned: dict[str, Path] = {}
        self.plan("--csv", csv, TABLE_KINDS)
        self.plan("--plot", plot, PLOT_KINDS)

    def plan(self, option: str, path: Path | None, kinds: Sequence[str]) -> None:
        """Check that a file can be written, without writing it.

        >>> Outputs().plan("--plot", Path("figure.gif"), PLOT_KINDS)
        Traceback (most recent call last):
        discreet.errors.InputError: --plot is figure.gif; its name must end in .svg, .png or .pdf
        """
        if path is None:
            return
        if path.suffix.lower() not in kinds:
            *most, last = kinds
            choice = f"{', '.join(most)} or {last}" if most else last
            raise InputError(f"{option} is {path}; its name must end in {choice}")
        if path.resolve() in self.planned.values():
            raise InputError(f"{option} is {path}, which another option names too")
        self.planned[option] = check_writable(path)

    def wanted(self, option: str) -> bool:
        """Whether the file of this option was asked for."""
        return option in self.planned

    def kind(self, option: str) -> str:
        """The ending of a file's name, which says its kind."""
        return self.planned[option].suffix.lower().removeprefix(".")

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Write all files, each named by its option; all or none, as far as the file system allows."""
        write_whole({self.planned[option]: content for option, content in contents.items()})

    def write_table_and_figure(
        self,
        table: Callable[[], tuple[Sequence[str], Iterable[Sequence[object]]]],
        figure: Callable[[], Figure],
    ) -> None:
        """Write the table, every float with all its digits, and the figure, if they are asked for."""
        contents: dict[str, bytes] = {}
        if self.wanted("--csv"):
            contents["--csv"] = csv_text(*table()).encode()
        if self.wanted("--plot"):
            from discreet.report.figures import figure_bytes

            contents["--plot"] = figure_bytes(figure(), self.kind("--plot"))
        self.write(contents)
