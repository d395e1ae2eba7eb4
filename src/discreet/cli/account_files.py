"""The files of `discreet account` and `discreet compare`: CSV of the curves, and the plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.cli.outputs import Outputs

if TYPE_CHECKING:
    from discreet.accounting.comparisons import ZCDP
    from discreet.accounting.overall import Account


def file_contents(account: Account, zcdp: ZCDP, outputs: Outputs) -> Mapping[str, bytes]:
    """Return the bytes of each file that was asked for; nothing is computed for the others."""
    contents: dict[str, bytes] = {}
    if not outputs.planned:
        return contents
    import numpy as np

    from discreet.report import curves

    if outputs.wanted("--plot"):
        from discreet.report.figures import account_figure, figure_bytes, sampled
        from discreet.report.words import relation

        drawn = sampled(account, zcdp)
        who = relation(account.neighbours, account.unit, account.people)
        figure = account_figure(drawn, title=f"{account.name}: {who}")
        contents["--plot"] = figure_bytes(figure, _kind(outputs))
    if outputs.wanted("--curve"):
        grid = curves.epsilon_grid(zcdp)
        if outputs.wanted("--plot"):  # the drawing has these points and more
            profile = curves.Profile(grid, drawn.profile.delta[np.isin(drawn.profile.epsilon, grid)])
        else:
            profile = curves.sample_profile(account, grid)
        contents["--curve"] = curves.profile_csv(profile, zcdp).encode()
    if outputs.wanted("--tradeoff"):
        errors = curves.sample_tradeoff(account, curves.curve_alphas())
        contents["--tradeoff"] = curves.tradeoff_csv(errors, zcdp).encode()
    return contents


def compare_contents(first: Account, second: Account, outputs: Outputs) -> Mapping[str, bytes]:
    """Return the bytes of the plot of two releases, if it was asked for."""
    if not outputs.wanted("--plot"):
        return {}
    from discreet.report.figures import compare_figure, figure_bytes, sampled
    from discreet.report.tables import zcdp_of

    both = (sampled(one, zcdp_of(one)) for one in (first, second))
    figure = compare_figure(*both, title=f"{first.name} and {second.name}")
    return {"--plot": figure_bytes(figure, _kind(outputs))}


def _kind(outputs: Outputs) -> str:
    return outputs.planned["--plot"].suffix.lower().removeprefix(".")
