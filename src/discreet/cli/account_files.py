"""The files of `discreet account` and `discreet compare`: CSV of the curves, and the plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.cli.outputs import Outputs

if TYPE_CHECKING:
    from discreet.accounting.comparisons import ZCDP
    from discreet.accounting.overall import Account
    from discreet.report.figures import Sampled


def file_contents(account: Account, zcdp: ZCDP, outputs: Outputs) -> Mapping[str, bytes]:
    """Return the bytes of each file that was asked for; nothing is computed for the others."""
    contents: dict[str, bytes] = {}
    if not outputs.planned:
        return contents
    import numpy as np

    from discreet.report import curves

    if outputs.wanted("--curve") or outputs.wanted("--plot"):
        grid = curves.epsilon_grid(zcdp)
        drawn = curves.with_start(grid) if outputs.wanted("--plot") else grid
        profile = curves.sample_profile(account, drawn)
        if outputs.wanted("--curve"):
            table = curves.Profile(grid, profile.delta[np.isin(drawn, grid)])
            contents["--curve"] = curves.profile_csv(table, zcdp).encode()
    if outputs.wanted("--tradeoff") or outputs.wanted("--plot"):
        errors = curves.sample_tradeoff(account, curves.curve_alphas())
        if outputs.wanted("--tradeoff"):
            contents["--tradeoff"] = curves.tradeoff_csv(errors, zcdp).encode()
    if outputs.wanted("--plot"):
        from discreet.report.figures import Sampled, account_figure, figure_bytes
        from discreet.report.words import relation

        who = relation(account.neighbours, account.unit, account.people)
        figure = account_figure(
            Sampled(account.name, profile, errors, zcdp), title=f"{account.name}: {who}"
        )
        contents["--plot"] = figure_bytes(figure, _kind(outputs))
    return contents


def compare_contents(first: Account, second: Account, outputs: Outputs) -> Mapping[str, bytes]:
    """Return the bytes of the plot of two releases, if it was asked for."""
    if not outputs.wanted("--plot"):
        return {}
    from discreet.report.figures import compare_figure, figure_bytes

    figure = compare_figure(_sampled(first), _sampled(second), title=f"{first.name} and {second.name}")
    return {"--plot": figure_bytes(figure, _kind(outputs))}


def _sampled(account: Account) -> Sampled:
    from discreet.report import curves
    from discreet.report.figures import Sampled
    from discreet.report.tables import zcdp_of

    zcdp = zcdp_of(account)
    profile = curves.sample_profile(account, curves.with_start(curves.epsilon_grid(zcdp)))
    return Sampled(account.name, profile, curves.sample_tradeoff(account, curves.curve_alphas()), zcdp)


def _kind(outputs: Outputs) -> str:
    return outputs.planned["--plot"].suffix.lower().removeprefix(".")
