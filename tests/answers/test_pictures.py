"""Pictures of answers: the same labels, names and numbers in print and in the browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import matplotlib
import pytest

from discreet.accounting.account import account
from discreet.answers import Answer, describe
from discreet.answers.figure import (
    PLACES,
    QUIET,
    Axis,
    Bars,
    Cells,
    Dots,
    Line,
    Notation,
    Panel,
    Picture,
    Rule,
    Weight,
    points,
)
from discreet.budget import load
from discreet.comparisons.costs import PrivacyTable, TwoReleases, epsilon_rows, zcdp_of
from discreet.comparisons.sampling import sampled
from discreet.disclosure import Area, hierarchy_posterior, table_risk
from discreet.disclosure.counts import one_count
from discreet.disclosure.profile import risk_profile
from discreet.estimation import accuracy
from discreet.render.charts import chart_of, charts_of
from discreet.render.look import COLOURS, DASHES, dashes, tick_text
from discreet.render.pictures import figure_of, inline_svg, picture_bytes


def _account() -> Answer:
    whole = account(load("dhc-2022-08-25"))
    table = PrivacyTable([load("dhc-2022-08-25")], whole, epsilon_rows(whole, ["1e-10"]))
    return describe(table, drawn=sampled(whole, zcdp_of(whole)))


def _comparison() -> Answer:
    whole = account(load("dhc-2022-08-25"))
    table = PrivacyTable([load("dhc-2022-08-25")], whole, epsilon_rows(whole, ["1e-10"]))
    return describe(TwoReleases(table, table))


def _table(folder: Path) -> Answer:
    file = folder / "table.csv"
    file.write_text("level,value,variance\nBlock,8,5\nBlock,1,5\nState,70,5\n")
    return describe(table_risk(file, prior="1/10", known=0))


ANSWERS: dict[str, Callable[[Path], Answer]] = {
    "account": lambda _: _account(),
    "comparison": lambda _: _comparison(),
    "accuracy": lambda _: describe(accuracy(load("pl94-2020"))),
    "risk": lambda _: describe(risk_profile({"block": "0.0992", "tract": "0.01"}, prior=["1/2", "1/10"])),
    "one count": lambda _: describe(one_count([14], prior=["1/2"], variance=10, known=12)),
    "hierarchy": lambda _: describe(hierarchy_posterior([Area(noisy=2, variance=5)], prior="1/2")),
    "table": _table,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_print_and_browser_show_the_same(name: str, tmp_path: Path) -> None:
    answer = ANSWERS[name](tmp_path)
    (drawn,) = {**answer.figures, **answer.on_request}.values()
    picture = drawn()
    axes, charts = figure_of(picture).axes, charts_of(picture)
    assert len(axes) == len(charts) == len(picture.panels)
    for ax, chart, panel in zip(axes, charts, picture.panels, strict=True):
        labels = {item.label for item in panel.items if not isinstance(item, Cells)} - {""}
        assert set(ax.get_legend_handles_labels()[1]) == labels
        assert {series["name"] for series in chart["series"] if "name" in series} == labels
        assert chart["xAxis"]["name"] == panel.x.title
        if panel.x.names:
            assert [tick.get_text() for tick in ax.get_xticklabels()] == list(panel.x.names)
            assert chart["xAxis"]["data"] == list(panel.x.names)
    json.dumps(charts, allow_nan=False)


def test_curves_of_many_cases_are_drawn_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = account(load("dhc-2022-08-25"))
    assert list(describe(whole).figures) == ["curves"]
    monkeypatch.setattr("discreet.answers.account.FEW", 0)
    assert describe(whole).figures == {}
    assert list(describe(whole).on_request) == ["curves", "profile", "tradeoff"]


def test_every_place_has_a_look_of_its_own() -> None:
    looks = list(zip(COLOURS, DASHES, strict=True))
    assert len(set(looks)) == len(set(COLOURS)) == PLACES
    near = {chart_line(place) for place in range(PLACES)}
    assert len(near) == PLACES  # the browser has fewer colours, and tells lines apart by their dashes
    assert dashes(QUIET) != dashes(0) == dashes(QUIET, Weight.LIGHT)


def chart_line(place: int) -> str:
    line = Line(((0.0, 0.0), (1.0, 1.0)), "x", place)
    return json.dumps(chart_of(Panel(Axis(), Axis(), (line,)))["series"][0]["lineStyle"])


ONE = Panel(Axis("x"), Axis("y"), (Line(points([0, 1], [0, 1]), "a $ line"), Rule(0.5, "half")))


def test_settings_of_matplotlib_are_left_alone_and_bytes_repeat() -> None:
    before = dict(matplotlib.rcParams)
    assert picture_bytes(Picture((ONE, ONE)), "png") == picture_bytes(Picture((ONE, ONE)), "png")
    assert dict(matplotlib.rcParams) == before


def test_panels_that_show_the_same_share_a_legend_and_others_do_not() -> None:
    shared = figure_of(Picture((ONE, ONE)))
    assert len(shared.legends) == 1
    assert all(ax.get_legend() is None for ax in shared.axes)
    other = Panel(Axis("x"), Axis("y"), (Dots(((0.0, 1.0),), "dots"),))
    apart = figure_of(Picture((ONE, other)))
    assert not apart.legends
    assert [len(ax.get_legend().get_texts()) for ax in apart.axes] == [2, 1]


def test_titles_of_axes_are_written_once_a_row_and_column() -> None:
    axes = figure_of(Picture((ONE,) * 4, across=2)).axes
    assert [ax.get_xlabel() for ax in axes] == ["", "", "x", "x"]
    assert [ax.get_ylabel() for ax in axes] == ["y", "", "y", ""]


def test_delta_is_drawn_by_its_logarithm_and_left_out_below_the_axis() -> None:
    y = Axis("delta", 1e-16, 2.0, is_log=True, written=Notation.POWER)
    chart = chart_of(Panel(Axis("epsilon", 0.0), y, (Line(points([0, 1, 2, 3], [1, 1e-8, 1e-17, 0])),)))
    assert chart["series"][0]["data"] == ((0.0, 0.0), (1.0, -8.0))
    assert (chart["yAxis"]["min"], chart["yAxis"]["max"]) == (-16, 0)


def test_a_mark_without_a_label_is_in_view_or_not_drawn() -> None:
    line = Line(points([0, 10], [0, 1]))
    for at, many in ((5.0, 2), (50.0, 1)):
        (ax,) = figure_of(Picture((Panel(Axis(), Axis(), (line, Rule(at))),))).axes
        assert len(ax.lines) == many
        assert ax.get_xlim()[1] < 11


def test_numbers_at_one_axis_are_written_alike() -> None:
    line = Line(points([0, 1], [1e-9, 1]))
    (ax,) = figure_of(Picture((Panel(Axis(), Axis(is_log=True), (line,)),))).axes
    texts = [text.get_text() for text in ax.get_yticklabels()]
    assert len(texts) > 3
    assert all(re.fullmatch("1|10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*", text) for text in texts)
    assert tick_text(Axis(is_log=True), 0.05) == "0.05"


def test_a_map_has_a_scale_unless_it_has_texts() -> None:
    values: tuple[tuple[float | None, ...], ...] = ((1.0, 2.0), (3.0, None))
    names = Axis(names=("a", "b"), is_downward=True)
    told = Cells(values, (("1", "2"), ("3", "not known")))
    (ax,) = figure_of(Picture((Panel(names, names, (told,)),))).axes
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3", "not known"]
    assert ax.get_ylim() == (1.5, -0.5)  # the first row is on top
    plain = Panel(Axis(), Axis(), (Cells(values, ends=(-6.0, 8.0), start=(-3.0, 0.0)),))
    assert len(figure_of(Picture((plain,))).axes) == 2
    chart = chart_of(plain)
    assert chart["xAxis"]["data"] == ["-3", "-2"]
    assert len(chart["series"][0]["data"]) == 3


def test_bars_of_two_series_stand_beside_each_other() -> None:
    bars = tuple(Bars(points([-0.2 + 0.4 * k, 0.8 + 0.4 * k], [1, 2]), f"s{k}", k, 0.4) for k in range(2))
    panel = Panel(Axis(names=("a", "b")), Axis(), bars)
    (ax,) = figure_of(Picture((panel,))).axes
    assert [round(bar.get_x(), 6) for bar in ax.patches] == [-0.4, 0.6, 0.0, 1.0]
    assert [series["data"] for series in chart_of(panel)["series"]] == [[[0, 1.0], [1, 2.0]]] * 2


def test_svg_for_a_page_has_its_own_ids_and_the_colours_of_the_page() -> None:
    head, rest = inline_svg(Picture((ONE,)), "one", {COLOURS[0]: "var(--exact)"})
    assert "var(--exact)" in rest
    assert COLOURS[0].lower() not in rest
    ids = re.findall(r'id="([^"]*)"', rest)
    assert ids
    assert all(name.startswith("one-") for name in ids)
    assert "xmlns" not in head


def test_lines_whose_ends_are_apart_are_labelled_there() -> None:
    def panel(ends: tuple[float, float], *more: Dots) -> Panel:
        lines = [Line(points([0, 1], [0, end]), f"to {end}", place=place) for place, end in enumerate(ends)]
        return Panel(Axis("x"), Axis("y", 0.0, 1.0), (*lines, *more))

    dots = Panel(Axis("x"), Axis("z"), (Dots(points([0, 1], [1, 2]), "dots"),))
    figure = figure_of(Picture((panel((0.2, 0.9)), panel((0.5, 0.51)), dots)))
    apart, near, last = figure.axes
    assert [text.get_text() for text in apart.texts] == ["to 0.2", "to 0.9"]
    assert apart.get_legend() is None
    assert not near.texts
    figure.canvas.draw()
    for ax in (near, last):  # a legend covers nothing: it is below
        legend = ax.get_legend()
        assert legend is not None
        assert legend.get_window_extent().y1 < ax.get_window_extent().y0


def test_no_place_is_empty_and_one_bar_does_not_fill_a_picture() -> None:
    bar = Panel(Axis(names=("one",)), Axis("share"), (Bars(points([0], [1]), "right"),))
    figure = figure_of(Picture((bar, bar, bar), across=2))
    wide = [ax.get_position().width for ax in figure.axes]
    assert len(wide) == 3
    assert wide[2] > 1.9 * wide[0]
    low, high = figure.axes[0].get_xlim()
    assert high - low >= 4
    assert not figure.legends
