"""Every result at a prompt, in a notebook, as a table of pandas and as a picture: what its answer says."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from test_faces import RESULTS, displayed

import discreet
from discreet import DiscreteGaussian, InputError, account, compose, load
from discreet.answers import Answer, AnswerTable, Column, describe
from discreet.answers.answer import Bullets, Paragraph, Sentence
from discreet.answers.figure import Axis, Line, Panel, Picture, points
from discreet.disclosure import risk, risk_profile
from discreet.disclosure.category import categories
from discreet.disclosure.counts import one_count, several_counts
from discreet.disclosure.promise import promised_risk
from discreet.estimation import accuracy, compare_areas, estimate
from discreet.faces import LONGEST, Displayed
from discreet.ledger import Ledger
from discreet.render.frame import frame_of, tables_of
from discreet.render.pictures import drawn_in

QUICK = "dhc-2022-08-25"
NOISY = {"unit": ["A", "B"], "estimate": [520.0, 480.0], "sd": [6.0, 8.0]}

MORE: dict[str, Callable[[], object]] = {
    "PrivacyLoss": lambda: compose([DiscreteGaussian(variance=5, times=10)]),
    "Ledger": Ledger.new,
    "AreaComparison": lambda: compare_areas(NOISY),
    "OneCount": lambda: one_count([1], prior=["1/2"], rho="0.099"),
    "SeveralCounts": lambda: several_counts([2, 1], prior=["1/2"], variance=[5, 2]),
    "Categories": lambda: categories(cells=5, variance="5.04"),
    "PromisedRisk": lambda: promised_risk(epsilon=4, delta="1e-6", prior="1/100"),
    "RiskProfile": lambda: risk_profile({"Block": "0.0992"}, prior="1/2"),
    "ReleaseRisk": lambda: risk(load("pl94-2020-units"), prior="1/2"),
}
SLOW = ("TwoReleases", "OneCount", "Verification", "Sizing", "Plan", "ReleaseRisk", "Study", "Regression")
ALL = {name: make for name, (make, _) in RESULTS.items()} | MORE
NAMED = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in ALL]
_MADE: dict[str, Any] = {}


def made(name: str) -> Any:
    if name not in _MADE:
        _MADE[name] = ALL[name]()
    return _MADE[name]


def words(text: str) -> str:
    """The words of a text: letters alone, since a page sets numbers in another way."""
    return " ".join(re.findall(r"[^\W\d_]{2,}", text))


def sentences(answer: Answer) -> Iterator[str]:
    for part in answer.body:
        if isinstance(part, Paragraph):
            yield from str(part.text).split("\n")
        elif isinstance(part, str | Sentence):
            yield str(part)
        elif isinstance(part, Bullets):
            yield from map(str, part.items)
        elif isinstance(part, AnswerTable):
            yield from (cell for row in part.cells for cell in row)
    yield from map(str, answer.cautions)


@pytest.mark.parametrize("name", NAMED)
def test_a_result_is_one_line_at_a_prompt(name: str) -> None:
    shown = repr(made(name))
    assert len(shown) <= LONGEST
    assert "\n" not in shown
    assert type(made(name)).__name__ in shown


@pytest.mark.parametrize("name", NAMED)
def test_a_notebook_says_what_the_command_line_says(name: str) -> None:
    answer = describe(made(name))
    page = re.sub(r"(?s)<svg.*?</svg>|<[^>]*>", " ", made(name)._repr_html_())
    shown = words(html.unescape(page).replace("\u2212", "-"))
    for said in sentences(answer):
        assert words(said) in shown, said


@pytest.mark.parametrize("name", NAMED)
def test_a_frame_is_the_table_of_the_answer(name: str) -> None:
    answer, result = describe(made(name)), made(name)
    tables = tables_of(answer)
    if not tables:
        with pytest.raises(InputError, match="has no table"):
            result.to_frame()
        return
    first = next(iter(tables))
    for asked in ("", first):
        frame = result.to_frame(asked)
        assert len(frame) == len(tables[first].rows)
        for row, found in zip(tables[first].objects, frame.to_dict("records"), strict=True):
            row.pop("claims", None)  # a frame has numbers alone
            assert set(row) <= set(found)
            for key, value in row.items():
                other = found[key]
                is_missing = isinstance(other, float) and math.isnan(other)
                assert (is_missing and value is None) or other == value
    with pytest.raises(InputError, match=f"has no table 'none'; there are {re.escape(first)}"):
        result.to_frame("none")


@pytest.mark.parametrize("name", NAMED)
def test_a_picture_is_drawn_into_given_axes(name: str) -> None:
    answer, result = describe(made(name)), made(name)
    pictures = {**answer.figures, **answer.on_request}
    if not pictures:
        with pytest.raises(InputError, match="has no picture"):
            result.plot()
        return
    first = next(iter(pictures))
    panels = pictures[first]().panels
    figure = Figure()
    given = figure.subplots(1, len(panels), squeeze=False)[0]
    drawn = result.plot(ax=given if len(panels) > 1 else given[0])
    assert (drawn == list(given)) if len(panels) > 1 else (drawn is given[0])
    for ax, panel in zip(given, panels, strict=True):
        assert ax.figure is figure
        assert ax.get_xlabel() == panel.x.title
        assert ax.has_data()
    with pytest.raises(InputError, match=f"has no picture 'none'; there are {re.escape(first)}"):
        result.plot("none")


def test_every_class_of_results_is_short() -> None:
    """No dataclass writes a repr of all its fields over the one of its answer."""
    own = (Displayed.__repr__, discreet.Account.__repr__, discreet.PrivacyLoss.__repr__)
    for one in displayed():
        assert not one.__module__.startswith("discreet.") or one.__repr__ in own, one


def test_the_repr_of_a_release_was_ten_thousand_characters() -> None:
    assert repr(load("dhc-2020")) == (
        "<Release: dhc-2020-persons: 2020 Census, Demographic and Housing Characteristics (DHC), persons, "
        "United States>"
    )


def test_a_result_whose_answer_fails_can_still_be_shown_in_a_debugger() -> None:
    class Broken(Displayed):
        pass

    assert repr(Broken()) == "<Broken>"


def test_a_long_line_is_cut() -> None:
    whole = account(discreet.Release(name="a" * 300, neighbours="bounded", levels=load(QUICK).levels))
    assert len(repr(whole)) == LONGEST
    assert repr(whole).endswith("aaa ...: exact for one person, bounded neighbours, 1 case>")
    long = whole.release
    assert len(repr(long)) == LONGEST
    assert repr(long).endswith("aaa ...>")


# -- pictures ------------------------------------------------------------------------------------------------


def two_panels() -> Answer:
    line = Line(points([0, 1], [1, 0]), "costs $5 or $6")
    panel = Panel(Axis("x"), Axis("y"), (line,))
    return Answer("two", figures={"both": lambda: Picture((panel, panel), "Both")})


def test_a_picture_of_two_panels_wants_two_axes() -> None:
    with pytest.raises(InputError, match=r"2 panels, and ax has 1 Axes; .* those of plt.subplots\(1, 2\)"):
        drawn_in(two_panels(), ax=Figure().subplots())
    axes = Figure().subplots(2, 1)
    assert drawn_in(two_panels(), ax=axes) == list(axes)
    legend = axes[0].get_legend()
    assert legend is not None
    assert not legend.get_texts()[0].get_parse_math()  # a dollar sign is one


def test_a_given_axes_keeps_its_style_and_what_is_in_it() -> None:
    ax = Figure().subplots()
    ax.plot([0, 1], [0, 1], label="mine")
    size = ax.xaxis.label.get_size()
    load(QUICK).plot(ax=ax)
    assert ax.xaxis.label.get_size() == size
    assert [line.get_label() for line in ax.lines] == ["mine"]
    assert len(ax.patches) == 8  # levels


def test_without_axes_pyplot_has_the_figure() -> None:
    import matplotlib

    before = matplotlib.get_backend()
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    try:
        ax = load(QUICK).plot()
        assert ax.figure is plt.gcf()  # type: ignore[union-attr]
    finally:
        plt.close("all")
        matplotlib.use(before)


def test_pictures_of_one_notebook_have_ids_of_their_own() -> None:
    """A clip path of another size under the same id would cut the second picture."""
    pages = [one._repr_html_() for one in (load(QUICK), load("pl94-2020-units"))]
    ids = [set(re.findall(r'id="([^"]+)"', page)) for page in pages]
    assert ids[0]
    assert not ids[0] & ids[1]


# -- tables --------------------------------------------------------------------------------------------------


def test_a_frame_has_titles_where_there_are_no_keys() -> None:
    table = AnswerTable((Column("level"), Column()), (("State", 1),))
    assert frame_of(Answer("noise", body=(table,))).to_dict("list") == {"level": ["State"]}


def test_estimates_and_measurements_are_their_tables(tmp_path: Path) -> None:
    done = estimate(_noisy())
    assert done.to_frame().equals(done.to_pandas())
    assert done.to_frame("units").equals(done.to_pandas("units"))
    level = discreet.Level(name="State", queries=[discreet.Query(name="total", variance=2)])
    release = discreet.Release(name="one", neighbours="unbounded", levels=[level])
    counts = _counts()
    made = discreet.measure(release, counts, tmp_path / "out", rehearsal=1)
    frame = made.to_frame()
    assert frame["unit"].tolist() == ["01"]  # a text, as it is written
    assert frame["variance"].tolist() == pytest.approx([2.0])


def _noisy() -> Any:
    import pandas

    return pandas.DataFrame({"unit": ["A"], "value": [5], "variance": [2]})


def _counts() -> Any:
    import pandas

    columns = {"unit": ["01"], "parent": [""], "level": ["State"], "query": ["total"]}
    return pandas.DataFrame(columns | {"cell": ["all"], "count": [12]})


def test_an_accuracy_is_the_table_of_its_answer() -> None:
    found = accuracy(load("pl94-2020-units"))
    assert found.to_frame().columns.tolist()[:2] == ["query", "level"]
