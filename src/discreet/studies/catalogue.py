"""The list of studies, and their files: a CSV and a figure, as PNG and SVG, of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError
from discreet.studies.study import PNAS, RISK, SAFETAB, SIEVE, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.accounting.parallel import Progress


@dataclass(frozen=True, slots=True)
class Entry:
    """One study of the list: where its two functions are, and whether it takes long."""

    name: str
    module: str
    title: str
    source: str
    is_long: bool = False

    @property
    def function(self) -> str:
        """The name of the function that computes it; `draw_` and this name draw it."""
        return self.name.replace("-", "_")

    def compute(self, *, jobs: int = 1, progress: Progress | None = None) -> Study:
        """Compute the table."""
        work: Callable[..., Study] = getattr(self._home(), self.function)
        return work(jobs=jobs, progress=progress) if self.is_long else work()

    def draw(self, study: Study) -> Figure:
        """Draw the figure of its table."""
        paint: Callable[[Study], Figure] = getattr(self._home(), f"draw_{self.function}")
        return paint(study)

    def files(self, study: Study) -> dict[str, bytes]:
        """Return the bytes of its files, by their names."""
        from discreet.report.figures import figure_bytes

        figure = self.draw(study)
        drawn = {f"{self.name}.{kind}": figure_bytes(figure, kind) for kind in ("png", "svg")}
        return {f"{self.name}.csv": study.csv().encode(), **drawn}

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of its files."""
        return tuple(f"{self.name}.{kind}" for kind in ("csv", "png", "svg"))

    def _home(self) -> Any:
        return import_module(f"discreet.studies.{self.module}")


STUDIES = (
    Entry("level-curves", "levels", "epsilon-delta curves of the eight levels", PNAS),
    Entry("level-epsilon", "levels", "epsilon by level at delta 1e-11 and 1e-5", PNAS),
    Entry("level-improvement", "levels", "improvement over zCDP against delta", PNAS),
    Entry("level-tradeoff", "levels", "trade-off curves, same and reduced noise", PNAS),
    Entry("reduced-noise", "reduced", "the table of reduced noise", PNAS),
    Entry("overall-curve", "reduced", "all levels together", PNAS),
    Entry("overall-reduction", "reduced", "reduction of all variances, bounded and exact", PNAS),
    Entry("residuals", "residuals", "distance of n-fold sums to the normal density", PNAS),
    Entry("variance-deficit", "residuals", "variance of the discrete Gaussian", PNAS),
    Entry("many-fold", "residuals", "1,890-fold composition", PNAS),
    Entry("accuracy", "accuracy", "errors by level, old and new noise (synthetic)", PNAS),
    Entry("slope", "slope", "error of a regression slope (synthetic)", PNAS),
    Entry("dhc-profile", "dhc", "2020 DHC: overall epsilon-delta curve", SIEVE, is_long=True),
    Entry("dhc-tradeoff", "dhc", "2020 DHC: overall trade-off curve", SIEVE, is_long=True),
    Entry("dhc-spines", "dhc", "2020 DHC: main path against each of 43 spines", SIEVE),
    Entry("dhc-sensitivity", "dhc", "2020 DHC: main path against overall", SIEVE, is_long=True),
    Entry("convolution", "convolution", "two discrete Gaussians against the normal", SIEVE),
    Entry("nodes", "convolution", "quadrature nodes with and without the sieve", SIEVE),
    Entry("edgeworth", "edgeworth", "Edgeworth gap over n, with its bound", SIEVE),
    Entry("safetab-suppression", "safetab", "SafeTab-P: suppression and bias by group size", SAFETAB),
    Entry("safetab-margins", "safetab", "SafeTab-P: margins of error and rho by level", SAFETAB),
    Entry("risk-table-4", "risk_single", "one noisy count: posterior, ratio and mass", RISK),
    Entry("risk-table-5", "risk_single", "R, the expected ratio, for five priors", RISK),
    Entry("risk-priors-noisy", "risk_single", "five priors over the noisy value", RISK),
    Entry("risk-priors-rho", "risk_single", "five priors over rho", RISK),
    Entry("risk-accuracy-rho", "risk_single", "accuracy of the decision over rho", RISK),
    Entry("risk-levels", "risk_single", "PL 94-171 by level, published and real noise", RISK),
    Entry("risk-two-levels", "risk_hierarchy", "block and group: exact and published chain", RISK),
    Entry("risk-group-count", "risk_hierarchy", "accuracy against the group's count", RISK),
    Entry("risk-group-rho", "risk_hierarchy", "accuracy against the group's rho", RISK),
    Entry("risk-decisions", "risk_hierarchy", "decisions for every release, exact and chain", RISK),
    Entry("risk-changed", "risk_hierarchy", "masses of decisions that the group changes", RISK),
)
"""All studies, in the order of the papers."""


def find(name: str) -> tuple[Entry, ...]:
    """Return the study of a name, or all of them.

    >>> [entry.name for entry in find("residuals")], find("all") == STUDIES
    (['residuals'], True)
    >>> find("residual")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no study 'residual'; did you mean 'residuals'?
    """
    if name == "all":
        return STUDIES
    names = [entry.name for entry in STUDIES]
    if name in names:
        return (STUDIES[names.index(name)],)
    from difflib import get_close_matches

    close = get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]!r}?" if close else "`discreet reproduce --list` shows all"
    raise InputError(f"there is no study {name!r}; {hint}")
