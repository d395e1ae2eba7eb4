from __future__ import annotations

from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from discreet.accounting.privacy_loss import compose
from discreet.answers.curves import account_picture, comparison_picture
from discreet.budget import DiscreteGaussian, DiscreteLaplace
from discreet.comparisons.sampling import Profile, TradeOffCurve, sampled
from discreet.comparisons.zcdp import ZCDP
from discreet.render.pictures import figure_of, picture_bytes
from discreet.reports import plot_profile, plot_tradeoff


@pytest.fixture
def drawn():
    from discreet.accounting.account import account
    from discreet.budget import load
    from discreet.comparisons.costs import zcdp_of

    one = account(load("dhc-2022-08-25"))
    return sampled(one, zcdp_of(one))


def test_axes_in_axes_out():
    axes = Figure().subplots()
    loss = compose([DiscreteGaussian(variance=5)])
    assert plot_profile(loss, epsilon=np.array([0.0, 1.0]), ax=axes, label="exact") is axes
    assert plot_profile(ZCDP.from_rho("1/10"), ax=axes) is axes
    assert plot_profile(Profile(np.array([0.0]), np.array([0.5])), ax=axes) is axes
    assert len(axes.lines) == 3
    other = Figure().subplots()
    assert plot_tradeoff(loss, alpha=np.array([0.0, 0.5, 1.0]), ax=other) is other
    assert plot_tradeoff(TradeOffCurve(np.array([0.0, 1.0]), np.array([1.0, 0.0])), ax=other) is other


def test_axes_of_its_own_and_no_global_change():
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    axes = plot_tradeoff(ZCDP.from_rho(1))
    assert axes.get_xlabel()
    plt.close(axes.figure)
    assert dict(matplotlib.rcParams) == before


def test_delta_of_zero_is_drawn_downwards_without_a_warning():
    axes = Figure().subplots()
    plot_profile(compose([DiscreteLaplace(scale=1)]), epsilon=np.linspace(0, 2, 9), ax=axes)
    assert axes.get_ylim()[0] > 1e-6
    axes.figure.canvas.draw()


def test_figures_leave_global_settings_alone(drawn):
    before = dict(matplotlib.rcParams)
    picture_bytes(account_picture(drawn, title="a $ sign"), "svg")
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("kind", ["svg", "png", pytest.param("pdf", marks=pytest.mark.slow)])
def test_bytes_are_the_same_every_time(drawn, kind):
    first, second = (picture_bytes(comparison_picture(drawn, drawn), kind) for _ in range(2))
    assert first == second
    assert b"matplotlib.org/" not in first or kind != "pdf"


def test_nothing_overlaps(drawn):
    figure = figure_of(account_picture(drawn, title="dhc-2022-08-25: one person added or removed"))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    left, right = (axes.get_tightbbox(renderer) for axes in figure.axes)
    legend = figure.legends[0].get_window_extent(renderer)
    title = figure._suptitle.get_window_extent(renderer)
    for one, two in ((left, right), (left, legend), (right, legend), (left, title), (right, title)):
        assert not one.overlaps(two)
    for axes in figure.axes:
        for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
            boxes = [label.get_window_extent(renderer) for label in labels if label.get_text()]
            assert not any(a.overlaps(b) for a, b in pairwise(boxes))


def test_long_names_are_cut(drawn):
    figure = figure_of(account_picture(drawn, title="x" * 500))
    assert len(figure._suptitle.get_text()) == 90
