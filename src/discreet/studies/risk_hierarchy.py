"""A block and its block group together: the exact posterior beside the chain that was published.

The setting is the paper's: rho 0.0992 for blocks and 0.2465 for the group, meaning variances 1/(2 rho), 27
sibling blocks, an even prior, and a group count uniform from the block's count up. The paper's tables are
from a Gibbs sampler whose update of the block's count ignores that it cannot exceed the group's. Both the
posterior of the stated model and what that chain tends to are computed here without sampling.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.noise import GaussianNoise
from discreet.report.plots import BLUE, GREY, VERMILION
from discreet.risk.gibbs import stationary_law
from discreet.risk.hierarchy import Area, build_chain, hierarchy_posterior, posterior_sums
from discreet.risk.profile import risk_profile
from discreet.risk.two_levels import Chance, TwoLevels
from discreet.studies.canvas import canvas, legend_below
from discreet.studies.study import RISK, Study, Value, difference, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RHO = ("0.0992", "0.2465")
SIBLINGS = 27
EXAMPLE = (2, 1, -1)
"""Noisy counts of block, group, and the siblings' sum."""

PUBLISHED_POSTERIOR = 0.570
PUBLISHED_ACCURACY = {1: 0.5946, 4: 0.5901, 6: 0.5897}
PUBLISHED_CHANGED = {"to yes": 0.0248, "to no": 0.0183}
CHAIN: dict[str, Any] = {"color": VERMILION, "linestyle": "--", "label": "published chain"}
MODEL: dict[str, Any] = {"color": BLUE, "linestyle": "-", "label": "exact posterior"}


def _two(rho: tuple[str, str] = RHO) -> TwoLevels:
    return TwoLevels(rho=rho, siblings=SIBLINGS, prior="1/2")


def risk_two_levels() -> Study:
    """Compute the posterior at the paper's example by every method.

    >>> [(row[0], round(float(row[1]), 4)) for row in risk_two_levels().rows[1:3]]
    [('exact', 0.5033), ('published chain, stationary law', 0.5777)]
    """
    x, z, y = EXAMPLE

    def areas(factor: int) -> list[Area]:
        v1, v2 = (factor / (2 * float(rho)) for rho in RHO)
        return [
            Area(name="block", noisy=x, variance=v1, siblings=SIBLINGS, siblings_noisy=y),
            Area(name="block group", noisy=z, variance=v2),
        ]

    both = areas(1)
    chain = build_chain(both, prior=Fraction(1, 2), known=0)
    sums = posterior_sums(chain, tolerance=1e-15)
    rows: list[tuple[Value, ...]] = [
        (
            "block's count alone",
            hierarchy_posterior([Area(noisy=x, rho=RHO[0])], prior="1/2").probability,
            None,
        ),
        ("exact", hierarchy_posterior(both, prior="1/2").probability, None),
        (
            "published chain, stationary law",
            stationary_law(chain, sums, constrained=False).sum(axis=1)[1],
            None,
        ),
    ]
    for name, method in (("sound sampler", "gibbs"), ("published chain", "gibbs-unconstrained")):
        drawn = hierarchy_posterior(both, prior="1/2", method=method, draws=500_000, seed=2020)  # type: ignore[arg-type]
        rows.append((f"{name}, 500,000 draws", drawn.probability, drawn.standard_error))
    rows.append(("exact, real noise 1/rho", hierarchy_posterior(areas(2), prior="1/2").probability, None))
    beside = {"published chain, 500,000 draws": PUBLISHED_POSTERIOR}
    return Study(
        "risk-two-levels",
        "P[target counted] at noisy counts (2, 1, -1), even prior, by method",
        RISK,
        ("method", "probability", "standard_error", "published", "difference"),
        table(
            [(*r, beside.get(str(r[0])), difference(float(str(r[1])), beside.get(str(r[0])))) for r in rows]
        ),
        (
            "Published: 57.0 %, from a sampler. It ignores that the block cannot count more than the group, "
            "so it does not sample the posterior of the stated model, which is 50.3 %.",
            "57.0 % is also 0.8 points off what that chain tends to; whether a short chain is the reason is "
            "not known to us.",
        ),
    )


def draw_risk_two_levels(study: Study) -> Figure:
    """Draw the probabilities as dots, by method."""
    with canvas(study, (6.4, 2.8)) as (figure, (ax,)):
        names = [str(name) for name in study.column("method")]
        places = np.arange(len(names))
        colours = [VERMILION if "published" in name else BLUE for name in names]
        ax.scatter(study.numbers("probability"), places, c=colours, zorder=3)
        ax.axvline(0.5, color=GREY, linestyle=":")
        ax.plot(study.numbers("published"), places, "D", mfc="none", color="black", label="as printed")
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.set_xlabel("posterior probability")
        ax.legend()
    return figure


def risk_group_count() -> Study:
    """Compute how often the decision is right, given that the target is counted, by the group's true count.

    >>> study = risk_group_count().where(group=1)
    >>> [round(float(study.numbers(name)[0]), 3) for name in ("exact", "chain", "block_alone")]
    [0.318, 0.595, 0.589]
    """
    two = _two()
    alone = _alone()
    rows = []
    for group in (*range(1, 13), 15, 20):
        chain = two.accuracy(group=group, chance="unconstrained")
        printed = PUBLISHED_ACCURACY.get(group)
        rows.append((group, two.accuracy(group=group), chain, alone, printed, difference(chain, printed)))
    return Study(
        "risk-group-count",
        "Right decisions, given that the target is counted, against the group's count x2",
        RISK,
        ("group", "exact", "chain", "block_alone", "published", "difference"),
        table(rows),
        (
            "Published is what Figure 5 shows (project notes); difference is from the chain, which made it.",
            "Under the stated model a target who is alone in the group (x2 = 1) is found least often: 0.318, "
            "below guessing, since the uniform prior expects larger groups. The published chain says 0.595.",
        ),
    )


def _alone() -> float:
    """The decision from the block's count alone: right if the noisy count is at least 1."""
    return risk_profile({"block": RHO[0]}, prior="1/2").one_count[0].accuracy


def draw_risk_group_count(study: Study) -> Figure:
    """Draw the three accuracies against the group's count."""
    with canvas(study, (5.6, 3.4)) as (figure, (ax,)):
        x = study.numbers("group")
        ax.plot(x, study.numbers("exact"), marker="o", markersize=3, **MODEL)
        ax.plot(x, study.numbers("chain"), marker="s", markersize=3, **CHAIN)
        ax.plot(x, study.numbers("block_alone"), color=GREY, linestyle=":", label="block's count alone")
        ax.plot(
            x, study.numbers("published"), "D", mfc="none", color="black", markersize=6, label="as printed"
        )
        ax.set_xlabel("true count of the block group")
        ax.set_ylabel("probability of being right")
        ax.set_xticks(range(0, 21, 4))
        ax.legend(loc="lower right")
    return figure


def risk_group_rho() -> Study:
    """Compute the accuracy against the group's rho, the block's kept at 0.0992.

    >>> study = risk_group_rho().where(group=1)
    >>> bool(np.all(study.numbers("exact") < study.numbers("chain")))
    True
    """
    rows = []
    for rho in np.geomspace(0.02, 5.0, 9):
        two = _two((RHO[0], f"{rho:.6g}"))
        for group in (1, 4, 10):
            exact, chain = two.accuracy(group=group), two.accuracy(group=group, chance="unconstrained")
            rows.append((float(f"{rho:.6g}"), group, exact, chain, None, None))
    return Study(
        "risk-group-rho",
        r"Right decisions, given that the target is counted, against the group's $\rho_2$",
        RISK,
        ("rho2", "group", "exact", "chain", "published", "difference"),
        table(rows),
        ("No published values are known to us as numbers.",),
    )


def draw_risk_group_rho(study: Study) -> Figure:
    """Draw one panel for each true count of the group."""
    with canvas(study, (7.2, 3.0), 1, 3, sharey=True) as (figure, axes):
        for ax, group in zip(axes, (1, 4, 10), strict=True):
            part = study.where(group=group)
            ax.plot(part.numbers("rho2"), part.numbers("exact"), **MODEL)
            ax.plot(part.numbers("rho2"), part.numbers("chain"), **CHAIN)
            ax.set_xscale("log")
            ax.set_xlabel(r"$\rho_2$")
            ax.set_title(f"group's count {group}")
        axes[0].set_ylabel("probability of being right")
        legend_below(figure, axes[0])
    return figure


def risk_decisions() -> Study:
    """Compute the least noisy block count at which the adversary says yes, for every pair of the others.

    >>> row = risk_decisions().where(group_noisy=1, siblings_noisy=-1).rows[0]
    >>> row[2:4]
    (2, 1)
    """
    two = _two()
    z, y = np.arange(-4, 13), np.arange(-30, 41)
    limits = {chance: two.thresholds(z, y, chance=chance) for chance in ("exact", "unconstrained")}
    rows = [
        (a, b, limits["exact"][i, j], limits["unconstrained"][i, j], 1, None, None)
        for i, a in enumerate(z.tolist())
        for j, b in enumerate(y.tolist())
    ]
    columns = ("group_noisy", "siblings_noisy", "exact", "chain", "block_alone", "published", "difference")
    return Study(
        "risk-decisions",
        "Least noisy block count x1* at which the adversary says yes",
        RISK,
        columns,
        table(rows),
        (
            "A decision for every (x1*, x2*, y1*): yes from the threshold on; block alone: from 1.",
            "The grid of the paper's figure is not known to us; this one holds x2* from -4 to 12 and "
            "y1* from -30 to 40.",
        ),
    )


def draw_risk_decisions(study: Study) -> Figure:
    """Draw the thresholds of both as maps."""
    with canvas(study, (7.2, 3.4), 1, 2, sharey=True) as (figure, axes):
        z = sorted(set(study.numbers("group_noisy").tolist()))
        y = sorted(set(study.numbers("siblings_noisy").tolist()))
        for ax, name, title in zip(
            axes, ("exact", "chain"), ("exact posterior", "published chain"), strict=True
        ):
            picture = study.numbers(name).reshape(len(z), len(y)).T
            image = ax.imshow(
                picture,
                origin="lower",
                aspect="auto",
                cmap="RdBu_r",
                vmin=-6,
                vmax=8,
                extent=(z[0] - 0.5, z[-1] + 0.5, y[0] - 0.5, y[-1] + 0.5),
            )
            ax.grid(False)
            ax.set_title(title)
            ax.set_xticks(range(-4, 13, 4))
            ax.set_xlabel("noisy count of the group")
        axes[0].set_ylabel("noisy sum of the siblings")
        figure.colorbar(image, ax=axes, label="says yes from x1* =", extend="both")
    return figure


def risk_changed() -> Study:
    """Compute the probability that the group changes the decision from the block's count alone.

    >>> study = risk_changed().where(group=1, method="published chain")
    >>> [f"{100 * x:.2f} %" for x in study.numbers("mass")]
    ['2.38 %', '1.81 %']
    """
    two = _two()
    methods: tuple[tuple[str, Chance], ...] = (("exact", "exact"), ("published chain", "unconstrained"))
    rows = []
    for group in (1, 2, 4, 10):
        for name, chance in methods:
            for way, mass in zip(PUBLISHED_CHANGED, changed(two, group, chance), strict=True):
                printed = PUBLISHED_CHANGED[way] if group == 1 and chance == "unconstrained" else None
                rows.append((group, name, way, mass, printed, difference(mass, printed)))
    return Study(
        "risk-changed",
        "Probability that the group's and siblings' counts change the decision (target counted)",
        RISK,
        ("group", "method", "change", "mass", "published", "difference"),
        table(rows),
        (
            "Published: 2.48 % and 1.83 %, from sampled posteriors. Neither the grid nor the true count they "
            "belong to is known to us; they stand beside the closest, the chain at x2 = 1 (2.38 % and "
            "1.81 %): near, but not the same.",
        ),
    )


def changed(two: TwoLevels, group: int, chance: Chance) -> tuple[float, float]:
    """Return the masses of decisions changed to yes and to no, given that the target is counted."""
    _, (z, pz), (y, py) = two.grid(block=1, group=group)
    limits = two.thresholds(z, y, chance=chance)
    noise = GaussianNoise(str(1 / (2 * Fraction(RHO[0]))))
    from_one = float(noise.sf(-1))  # noisy count of 1 or more, the true one being 1
    says = noise.sf(np.clip(limits - 2, -(10**6), 10**6))
    return float(pz @ np.maximum(says - from_one, 0.0) @ py), float(
        pz @ np.maximum(from_one - says, 0.0) @ py
    )


def draw_risk_changed(study: Study) -> Figure:
    """Draw both masses against the group's count."""
    with canvas(study, (6.4, 3.2), 1, 2) as (figure, axes):
        for ax, way in zip(axes, PUBLISHED_CHANGED, strict=True):
            for name, style in (("exact", MODEL), ("published chain", CHAIN)):
                part = study.where(change=way, method=name)
                ax.plot(part.numbers("group"), 100 * part.numbers("mass"), marker="o", markersize=3, **style)
            part = study.where(change=way, method="published chain")
            printed = 100 * part.numbers("published")
            ax.plot(part.numbers("group"), printed, "D", mfc="none", color="black", label="as printed")
            ax.set_xlabel("true count of the block group")
            ax.set_title(f"changed {way}")
            ax.set_ylim(bottom=0)
        axes[0].set_ylabel("mass, in percent")
        legend_below(figure, axes[0])
    return figure
