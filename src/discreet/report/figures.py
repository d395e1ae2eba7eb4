"""Curves as data, for CSV files and plots; pictures, and the bytes of their files.

A plot has one panel (Axes in, Axes out), a figure is whole. Plots choose no backend and touch no global
setting. Colours are those of Okabe and Ito, told apart by colour-blind readers too, and each line has its own
dashes for print without colour. The same input gives the same file.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.comparisons.curve import Comparison
from discreet.accounting.comparisons.zcdp import ZCDP, TightZCDP
from discreet.answers.quantity import Quantity, Style
from discreet.budget.level_names import level_name
from discreet.files import csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.accounting.curves import Curves
    from discreet.accounting.overall import Account
    from discreet.estimation import Accuracy
    from discreet.risk.attack import Attack
    from discreet.risk.hierarchy import HierarchyPosterior
    from discreet.risk.inputs import Numbers
    from discreet.risk.profile import RiskProfile
    from discreet.risk.table import TableRisk

    Curve = Curves | Comparison

Floats = NDArray[np.float64]
Look = dict[str, Any]
"""How Matplotlib draws a line."""


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Points of delta(epsilon)."""

    epsilon: Floats
    delta: Floats


@dataclass(frozen=True, slots=True, eq=False)
class TradeOffCurve:
    """Points of a trade-off curve: the least type II error beta at each type I error alpha."""

    alpha: Floats
    beta: Floats


def curve_deltas() -> Floats:
    """Return the 42 values 0.5, 0.1, 0.05, ..., 1e-21.

    >>> curve_deltas()[:3], float(curve_deltas()[-1]), len(curve_deltas())
    (array([0.5 , 0.1 , 0.05]), 1e-21, 42)
    """
    return np.array([float(f"{digit}e-{place}") for place in range(1, 22) for digit in (5, 1)])


def curve_alphas() -> Floats:
    """Return type I errors from 0 to 1, dense where the curve is steep: 1e-12, ..., 0.001, 0.002, ...

    >>> alphas = curve_alphas()
    >>> len(alphas), alphas[:2], alphas[-2:]
    (88, array([0.e+00, 1.e-12]), array([0.98, 1.  ]))
    """
    decades = [float(f"1e-{place}") for place in range(12, 3, -1)]
    spans = ((1, 10, 1), (10, 100, 5), (100, 200, 10), (200, 1001, 20))
    return np.array([0.0, *decades, *(step / 1000 for span in spans for step in range(*span))])


def epsilon_grid(zcdp: ZCDP) -> Floats:
    """Return zCDP's answers for `curve_deltas`: where its reader would look the exact curve up.

    >>> epsilon_grid(ZCDP.from_rho("3.65"))[[0, -1]].round(4)
    array([ 6.8312, 30.2201])
    """
    return zcdp.epsilon(delta=curve_deltas())


def drawing_epsilons(zcdp: ZCDP) -> Floats:
    """Return epsilons from zero on, dense where the trade-off curve is made, and all of `epsilon_grid`.

    >>> epsilons = drawing_epsilons(ZCDP.from_rho("3.65"))
    >>> len(epsilons), epsilons[[0, -1]].round(4)
    (201, array([ 0.    , 30.2201]))
    """
    return np.union1d(np.linspace(0.0, zcdp.epsilon(delta=1e-3), 160), epsilon_grid(zcdp))


def sample_profile(curve: Curve, epsilon: Floats) -> Profile:
    """Return the points of a curve at these epsilons.

    >>> sample_profile(ZCDP.from_rho(1), np.array([3.0])).delta
    array([0.36787944])
    """
    return Profile(epsilon, np.asarray(curve.delta(epsilon=epsilon), dtype=np.float64))


def sample_tradeoff(curve: Curve, alpha: Floats) -> TradeOffCurve:
    """Return the points of a trade-off curve at these type I errors.

    >>> sample_tradeoff(ZCDP.from_rho(1), np.array([0.0, 1.0])).beta
    array([1., 0.])
    """
    return TradeOffCurve(alpha, np.asarray(curve.tradeoff(alpha=alpha), dtype=np.float64))


def tradeoff_from_profile(profile: Profile, alpha: Floats) -> TradeOffCurve:
    """Return the trade-off curve that points of delta(epsilon) imply, by duality; never above the true one.

    f(alpha) is the supremum over epsilon of 1 - delta - e^epsilon alpha and e^-epsilon (1 - delta - alpha).
    With the epsilons of `drawing_epsilons` it lies within 0.001 of the supremum, and within 0.02 for a loss
    of few values: enough for a drawing.

    >>> curve = tradeoff_from_profile(Profile(np.array([0.0]), np.array([0.5])), np.array([0.0, 0.25, 1.0]))
    >>> curve.beta
    array([0.5 , 0.25, 0.  ])
    """
    epsilon, rest = profile.epsilon[:, None], 1.0 - profile.delta[:, None]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        steep = rest - np.where(alpha > 0, np.exp(epsilon) * alpha, 0.0)
        flat = np.exp(-epsilon) * (rest - alpha)
    return TradeOffCurve(alpha, np.maximum(np.maximum(steep, flat).max(axis=0), 0.0))


def curve_csv(curve: Profile | TradeOffCurve, zcdp: ZCDP) -> str:
    """Return the points as CSV, and what zCDP says.

    >>> print(curve_csv(Profile(np.array([3.0]), np.array([0.25])), ZCDP.from_rho(1)), end="")
    epsilon,delta,zcdp_delta
    3.0,0.25,0.36787944117144233
    """
    if isinstance(curve, Profile):
        names, columns = ("epsilon", "delta", "zcdp_delta"), [curve.epsilon, curve.delta]
        columns.append(zcdp.delta(epsilon=curve.epsilon))
    else:
        names, columns = ("alpha", "f", "zcdp_f"), [curve.alpha, curve.beta]
        columns.append(zcdp.tradeoff(alpha=curve.alpha))
    return csv_text(names, np.column_stack(columns).tolist())


# -- pictures ----------------------------------------------------------------------------------------------

BLUE, VERMILION, GREY, GREEN = "#0072B2", "#D55E00", "#8C8C8C", "#009E73"
LINES: tuple[Look, ...] = (
    {"color": BLUE, "linestyle": "-"},
    {"color": VERMILION, "linestyle": "--"},
    {"color": GREEN, "linestyle": "-."},
    {"color": "#CC79A7", "linestyle": ":"},
    {"color": "#E69F00", "linestyle": (0, (6, 1, 1, 1, 1, 1))},
    {"color": "#000000", "linestyle": (0, (1, 1))},
    {"color": "#56B4E9", "linestyle": "-"},
    {"color": GREY, "linestyle": "--"},
)
"""Lines that colour and dashes tell apart."""
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 2.6,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.hashsalt": "discreet",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
DEEPEST = 1e-21
"""The smallest delta of a picture."""
_UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


# -- plots ------------------------------------------------------------------------------------------------


def plot_profile(
    curve: Curve | Profile, *, epsilon: Floats | None = None, ax: Axes | None = None, **line: Any
) -> Axes:
    """Draw delta against epsilon, delta on a logarithmic scale.

    `curve` is an account, a single loss, a comparison, or points already computed. Without `epsilon` the
    range is the one over which the curve falls from 0.5 to 1e-21. `line` goes to Matplotlib, as in
    `label="exact"`.

    >>> from matplotlib.figure import Figure
    >>> from discreet.accounting.comparisons.zcdp import ZCDP
    >>> ax = plot_profile(ZCDP.from_rho(1), ax=Figure().subplots(), label="zCDP")
    >>> ax.get_yscale(), ax.lines[0].get_label()
    ('log', 'zCDP')
    """
    if not isinstance(curve, Profile):
        if epsilon is None:
            ends = np.asarray(curve.epsilon(delta=curve_deltas()), dtype=np.float64)
            epsilon = np.linspace(max(float(ends[0]), 0.0), float(ends[-1]), 60)
        curve = sample_profile(curve, epsilon)
    axes = _axes(ax)
    axes.plot(curve.epsilon, curve.delta, **line)
    axes.set_yscale("log", nonpositive="clip")  # where delta is zero the line leaves downwards
    axes.set(xlabel=r"$\varepsilon$", ylabel=r"$\delta(\varepsilon)$")
    return axes


def plot_tradeoff(
    curve: Curve | TradeOffCurve, *, alpha: Floats | None = None, ax: Axes | None = None, **line: Any
) -> Axes:
    """Draw the trade-off curve: the least type II error against the type I error.

    >>> from matplotlib.figure import Figure
    >>> from discreet.accounting.comparisons.zcdp import ZCDP
    >>> plot_tradeoff(ZCDP.from_rho(1), ax=Figure().subplots()).get_ylabel()
    'type II error $f(\\\\alpha)$'
    """
    if not isinstance(curve, TradeOffCurve):
        curve = sample_tradeoff(curve, curve_alphas() if alpha is None else alpha)
    axes = _axes(ax)
    axes.plot(curve.alpha, curve.beta, **line)
    hugging = (-0.015, 1.0)  # curves that hug the axes stay visible
    axes.set(xlim=hugging, ylim=hugging, xlabel=r"type I error $\alpha$", ylabel=r"type II error $f(\alpha)$")
    return axes


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.figure().add_subplot()


# -- whole figures ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """The exact curves of one release as points, and the rho that zCDP would be told."""

    name: str
    profile: Profile
    tradeoff: TradeOffCurve
    zcdp: ZCDP
    label: str = "exact"
    """What the curves claim to be (`AnswerKind.label`)."""


def sampled(account: Account, zcdp: ZCDP) -> Sampled:
    """Return the points that a figure needs: one pass over the cases, the trade-off curve by duality."""
    profile = sample_profile(account, drawing_epsilons(zcdp))
    tradeoff = tradeoff_from_profile(profile, curve_alphas())
    return Sampled(account.name, profile, tradeoff, zcdp, account.claim.kind.label)


Lines = Sequence[tuple[Comparison | Sampled, Look]]
"""Curves to draw in both panels, each with its look; the last is on top."""


def account_figure(drawn: Sampled, *, title: str = "") -> Figure:
    """Return the figure of one release: profile and trade-off curve, exact and as zCDP bounds them."""
    lines: Lines = [
        (TightZCDP.from_rho(drawn.zcdp.rho), _line("zCDP, tighter profile", GREY, ":", 1.2)),
        (drawn.zcdp, _line("zCDP (profile: Bun and Steinke)", VERMILION, "--")),
        (drawn, _line(drawn.label, BLUE, "-")),
    ]
    return _both_panels(lines, title)


def compare_figure(first: Sampled, second: Sampled, *, title: str = "") -> Figure:
    """Return the figure of two releases: each exact, and lightly what zCDP says of it."""
    lines: list[tuple[Comparison | Sampled, Look]] = []
    for one, colour, dashes in ((second, GREEN, "-."), (first, BLUE, "-")):
        name = _short(one.name)
        lines.append((one.zcdp, _line(f"{name}, zCDP", colour, ":", 1.0, alpha=0.75)))
        lines.append((one, _line(f"{name}, {one.label}", colour, dashes)))
    return _both_panels(lines, title)


def _line(label: str, colour: str, dashes: str, width: float = 1.6, **more: float) -> Look:
    return {"label": label, "color": colour, "linestyle": dashes, "linewidth": width, **more}


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _both_panels(lines: Lines, title: str) -> Figure:
    with _styled(7.2, 3.7, 2, ratios=(1.3, 1)) as (figure, (left, right)):
        draw_curves(left, right, lines)
        left.set_title("Privacy profile")
        right.set_title("Trade-off curve")
        if title:
            figure.suptitle(_short(title, 90), fontsize=9.5, parse_math=False)
        handles, labels = left.get_legend_handles_labels()
        columns = 2 if len(labels) == 4 else len(labels)
        figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=columns)
    return figure


def draw_curves(left: Axes, right: Axes, lines: Lines) -> float:
    """Draw curves as profiles in one panel and as trade-off curves in the other; return the last epsilon."""
    high = max(float(one.profile.epsilon[-1]) for one, _ in lines if isinstance(one, Sampled))
    # profiles of one rho differ by their conversion; its trade-off curve is one, drawn in the last look
    once = {one.rho: one for one, _ in lines if isinstance(one, TightZCDP)}
    for curve, line in lines:
        if isinstance(curve, Sampled):
            plot_profile(curve.profile, ax=left, **line)
            plot_tradeoff(curve.tradeoff, ax=right, **line)
        else:
            plot_profile(curve, epsilon=np.linspace(0.0, high, 200), ax=left, **line)
            if not isinstance(curve, TightZCDP) or once[curve.rho] is curve:
                plot_tradeoff(curve, ax=right, **line)
    left.set_xlim(0.0, high)
    left.set_ylim(DEEPEST, 2.0)  # a bound of 1 stays visible
    left.set_yticks(10.0 ** -np.arange(0, 22, 3))
    left.minorticks_off()
    right.set_xticks(np.linspace(0, 1, 6))
    right.set_yticks(np.linspace(0, 1, 6))
    for axes in (left, right):
        axes.set_axisbelow(True)
    return high


def figure_bytes(figure: Figure, kind: str, look: Any = None) -> bytes:
    """Return a figure as the bytes of an svg, png or pdf file, without date or version.

    `look` are settings of Matplotlib beyond the style of all figures.

    >>> from matplotlib.figure import Figure
    >>> figure_bytes(Figure(), "svg") == figure_bytes(Figure(), "svg")
    True
    """
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({**STYLE, **(look or {})}):
        figure.savefig(stream, format=kind, dpi=300, metadata=_UNDATED[kind])
    return stream.getvalue()


@contextmanager
def _styled(
    width: float, height: float, panels: int = 1, ratios: Sequence[float] | None = None, sharey: bool = False
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Give a figure of so many inches with panels side by side, in the style of all figures."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, list(figure.subplots(1, panels, squeeze=False, width_ratios=ratios, sharey=sharey)[0])


def accuracy_figure(found: Accuracy) -> Figure:
    """Return a heat map: the standard deviation of the estimates, one row a query, one column a level."""
    from matplotlib.figure import Figure

    queries = [one.name for one in found.levels[0].queries]
    sizes = np.array([[one.sd or np.nan for one in level.queries] for level in found.levels]).T
    figure = Figure(figsize=(3.5 + 0.8 * len(found.levels), 1.5 + 0.35 * len(queries)), layout="constrained")
    axes = figure.subplots()
    shades = axes.imshow(np.log(sizes), aspect="auto", cmap="YlOrBr")
    for (row, column), size in np.ndenumerate(sizes):
        known = np.isfinite(size)
        dark = known and float(np.sum(shades.to_rgba(np.log(size))[:3])) < 1.35
        text = str(Quantity(float(size), Style.MARGIN)) if known else "not\ndetermined"
        axes.text(column, row, text, ha="center", va="center", color="white" if dark else "black", fontsize=8)
    axes.set_xticks(range(len(found.levels)), [level_name(level.name) for level in found.levels])
    axes.set_yticks(range(len(queries)), queries)
    axes.set_title("Standard deviation of the estimates")
    return figure


# -- risk -------------------------------------------------------------------------------------------------


def attack_figure(attack: Attack, priors: Sequence[Numbers], *, marked: Sequence[int] = ()) -> Figure:
    """Return the figure of one attack: how likely each published value is, with the target and without, and
    the posterior over the published value for each prior; `marked` values have a line.
    """
    with _styled(7.2, 3.5, 2) as (figure, (left, right)):
        seen = attack.outcomes(tolerance=1e-3)
        some = slice(None, None, max(1, seen.noisy.size // 500))  # more cannot be told apart
        for name, logs, colour, mark in (
            ("target absent", seen.log_absent, GREY, "o"),
            ("target present", seen.log_present, BLUE, "D"),
        ):
            values, chances = seen.noisy[some], np.exp(logs[some])
            left.plot(values, chances, mark, color=colour, markersize=3.5, label=name)
            left.vlines(values, 0, chances, color=colour, linewidth=0.6)
        left.set_ylim(bottom=0)
        left.set(xlabel="published value", ylabel="probability")
        noisy = attack.outcomes(tolerance=1e-6).noisy[some]
        for place, prior in enumerate(priors):
            line = LINES[place % len(LINES)]
            right.plot(noisy, attack.posterior(noisy, prior=prior), label=f"prior {prior}", **line)
        right.set(ylim=(-0.02, 1.02), xlabel="published value", ylabel="posterior: the target is present")
        for ax in (left, right):
            ax.set_axisbelow(True)
            for value in marked:
                low, high = ax.get_xlim()
                if low < value < high:
                    ax.axvline(value, color="#555555", linewidth=0.8, linestyle=":")
            ax.legend(loc="best")
        figure.suptitle(
            f"One count, noise of variance {attack.variance:.6g}, {int(attack.known):,} others known",
            fontsize=9,
        )
    return figure


def table_figure(found: TableRisk) -> Figure:
    """Return the figure of a table: the share of rows whose ratio is above each value, by level."""
    with _styled(6.4, 3.8) as (figure, (ax,)):
        for place, (name, tally) in enumerate(list(found.tallies.items())[: len(LINES)]):
            shares = 1.0 - np.cumsum(tally.counts) / tally.total
            values = np.concatenate([tally.values[:1], tally.values])
            steps = np.concatenate([[1.0], shares])
            ax.step(values, steps, where="post", label=level_name(name), **LINES[place])
        # where the odds have doubled
        ax.axvline(2.0 / (1.0 + found.prior), color="#555555", linewidth=0.8, linestyle=":")
        smallest = 1.0 / max(tally.total for tally in found.tallies.values())
        ax.set(yscale="log", xlabel="ratio: posterior over prior", ylabel="share of rows above")
        ax.set_ylim(max(smallest, 1e-7) / 2, 1.5)
        ax.legend()
        hidden = len(found.tallies) - len(LINES)
        more = f"; {hidden} more levels are not drawn" if hidden > 0 else ""
        figure.suptitle(f"{found.rows:,} rows, prior {found.prior:.6g}{more}", fontsize=9)
    return figure


def profile_figure(profile: RiskProfile) -> Figure:
    """Return accuracy by level: one count, the whole level, everything."""
    priors = profile.priors
    with _styled(3.4 * min(len(priors), 3) + 1.6, 3.4, len(priors), sharey=True) as (figure, axes):
        for ax, prior in zip(axes, priors, strict=True):
            part = profile.at(prior)
            places = range(len(part.levels))
            for rows, mark, colour, name in (
                (part.levels, "s", BLUE, "every count of the level"),
                (part.one_count, "o", GREY, "one count"),
            ):
                ax.plot([row.accuracy for row in rows], places, mark, color=colour, label=name)
            whole = part.overall[0]
            ax.axvline(whole.accuracy, color=VERMILION, linestyle="--", label="everything published")
            ax.axvline(whole.baseline, color=GREY, linestyle=":", label="nothing published")
            ax.set_yticks(list(places), [level_name(row.scope) for row in part.levels])
            ax.set(xlabel="right, averaged over the prior", title=f"prior {prior:g}")
        axes[0].invert_yaxis()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        figure.suptitle(f"{profile.name}: the best any adversary can do", fontsize=9)
    return figure


def hierarchy_figure(found: HierarchyPosterior) -> Figure:
    """Return the posterior of every area's count."""
    from matplotlib.ticker import MaxNLocator

    wide = 2.6 * min(len(found.areas), 4) + 0.6
    with _styled(wide, 2.8, len(found.areas)) as (figure, axes):
        for ax, area in zip(axes, found.areas, strict=True):
            seen = area.probabilities > 1e-6
            values, chances = area.values[seen], area.probabilities[seen]
            if len(values) <= 60:
                ax.bar(values, chances, width=0.8, color=BLUE)
            else:
                ax.plot(values, chances, color=BLUE)
            ax.xaxis.set_major_locator(MaxNLocator(nbins="auto", steps=[1, 2, 2.5, 5, 10], integer=True))
            ax.set(title=area.name, xlabel="count", axisbelow=True)
            ax.set_ylim(bottom=0)
        axes[0].set_ylabel("posterior probability")
        figure.suptitle(f"Posterior counts, prior {found.prior:g}, method {found.method}", fontsize=9)
    return figure
