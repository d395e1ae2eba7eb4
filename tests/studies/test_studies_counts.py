"""The synthetic population, and the two studies that take a user's own counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.render.pictures import figure_of
from discreet.studies import population as home
from discreet.studies.answer import picture_of
from discreet.studies.population import EDUCATION, EMPTY, GROUPS, STATES, population


def test_population_is_a_tree_and_repeats() -> None:
    one, again, other = population(), population(), population(seed=7)
    for below, above in (("County", "State"), ("Tract", "County"), ("Block", "Tract")):
        total = np.zeros_like(one.levels[above])
        np.add.at(total, one.parents[below], one.levels[below])
        assert (total == one.levels[above]).all()
        assert (one.levels[below] == again.levels[below]).all()
    assert one.levels["State"].shape == (STATES, GROUPS)
    assert one.people != other.people


def test_population_is_skewed_and_has_empty_blocks() -> None:
    sizes = population().levels["Block"].sum(axis=1)
    assert (sizes == 0).mean() == pytest.approx(EMPTY, abs=0.015)
    full = sizes[sizes > 0]
    assert full.mean() > 1.4 * np.median(full)
    assert full.max() > 20 * np.median(full)


def test_errors_fall_as_the_variance_does_and_non_negativity_helps_where_counts_are_small() -> None:
    study = home.accuracy(draws=300_000)
    raw = study.where(post_processing="none")
    # expected without post-processing: the reduction of the variance itself; four standard errors
    far = np.abs(raw.numbers("reduction_percent") - raw.numbers("expected_percent"))
    assert (far < 4 * raw.numbers("standard_error")).all()
    squares = study.where(measure="MSE")
    plain = squares.where(post_processing="none").numbers("new_noise")
    cut = squares.where(post_processing="non-negative").numbers("new_noise")
    assert (cut < plain).all()
    assert cut[3] < 0.6 * plain[3]  # most cells of blocks are near zero
    assert cut[0] > 0.95 * plain[0]


def test_slope_is_nearer_with_less_noise() -> None:
    study = home.slope(repeats=100)
    # the seven kinds of areas of Figure 8 (Figure 9 in the journal)
    areas = ["State", "Metro or micro", "County", "Tract", "County subdivision", "Place", "ZCTA"]
    assert study.column("area") == areas
    assert study.numbers("slope_without_noise") == pytest.approx(home.SLOPE, rel=0.2)
    tract = study.where(area="Tract")
    assert tract.numbers("mae_new_noise")[0] < tract.numbers("mae_old_noise")[0]
    errors = dict(zip(areas, study.numbers("mae_old_noise"), strict=True))
    assert errors["State"] < errors["County"] < errors["Tract"]  # smaller areas, larger errors
    assert "SYNTHETIC" in study.title


def test_areas_of_the_regression_nest() -> None:
    people = population()
    homes = home.area_of_blocks(people, home.SEED)
    assert list(homes) == list(home.AREAS)
    inside = {"Metro or micro": "State", "County subdivision": "County", "Place": "County", "ZCTA": "State"}
    for kind, parent in inside.items():
        blocks = homes[kind] >= 0
        pairs = np.unique(np.stack([homes[kind][blocks], homes[parent][blocks]]), axis=1)
        assert pairs.shape[1] == np.unique(homes[kind][blocks]).size  # each area has one parent
        assert np.unique(homes[parent]).size < pairs.shape[1]
    assert (homes["Place"] < 0).mean() == pytest.approx(home.OUTSIDE, abs=0.02)
    assert all((homes[kind] >= 0).all() for kind in homes if kind != "Place")


def test_errors_are_drawn_as_bars_before_and_after() -> None:
    # Figure 6: a panel for each measure and level, and in it both noises for both kinds of post-processing
    study = home.accuracy(draws=20_000)
    figure = figure_of(picture_of(study))
    shown = [ax for ax in figure.axes if ax.patches]
    assert [ax.get_title() for ax in shown] == [
        f"{measure}, {level}" for measure in ("MSE", "MAE") for level in study.distinct("level")
    ]
    for ax in shown:
        measure, level = ax.get_title().split(", ")
        part = study.where(measure=measure, level=level)
        heights = [patch.get_height() for patch in ax.patches]
        assert heights == [*part.numbers("old_noise"), *part.numbers("new_noise")]


def test_accuracy_on_own_counts(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    rows = [f"{level},{count},x" for level in ("Block", "County") for count in range(0, 400, 7)]
    file.write_text("level,count,name\n" + "\n".join(rows) + "\n", encoding="utf-8-sig")
    study = home.accuracy(counts=file, draws=50_000)
    assert study.distinct("level") == ["Block", "County"]
    assert study.title.endswith("mine.csv")
    assert "SYNTHETIC" not in study.title
    # the noise is that of the levels, whatever the counts: E X^2 of variance 456.62
    raw = study.where(level="Block", post_processing="none", measure="MSE")
    assert raw.numbers("old_noise")[0] == pytest.approx(456.62, rel=0.03)


def test_slope_on_own_counts(tmp_path: Path) -> None:
    file = tmp_path / "areas.csv"
    random = np.random.default_rng(1)
    lines = [",".join(("type", "level", *EDUCATION, "earnings"))]
    for kind, level in (("place", "Tract"), ("", "County")):
        for area in range(40):
            people = random.integers(200, 400, size=5).tolist()
            degree = 30 * area + 10
            share = degree / (sum(people) + degree)
            lines.append(",".join(map(str, (kind, level, *people, degree, 20 + 50 * share))))
    file.write_text("\n".join(lines) + "\n")
    study = home.slope(counts=file, repeats=50)
    assert study.column("area") == ["place", "County"]
    assert study.numbers("slope_without_noise") == pytest.approx([50, 50], rel=1e-9)
    assert study.numbers("repetitions").tolist() == [50, 50]


EDGES = ",".join(EDUCATION)


@pytest.mark.parametrize(
    ("study", "text", "message"),
    [
        ("accuracy", "level,number\nState,3\n", "has no column count; it must have level, count"),
        ("accuracy", "level,count\n", "there are no counts"),
        ("accuracy", "", "is empty; a header and rows are needed"),
        ("accuracy", "level,count\nState,3\nWard,4\n", "a level is none of US, State, .*line 3 of bad.csv"),
        ("accuracy", "level,count\nState,-3\n", "is not a whole number from 0 to .*line 2 of bad.csv"),
        ("accuracy", "level,count\nState,7.5\n", "count is not a whole number .line 2 of bad.csv"),
        ("accuracy", "level,count\nState\n", "1 field, 2 expected .line 2 of bad.csv"),
        ("accuracy", "level,count\nState,9999999999999\n", "not a whole number from 0 to 999,999,999,999"),
        (
            "slope",
            f"level,{EDGES},earnings\nState,1,1,1,1,1,1,much\n",
            "earnings is not a number .line 2 of bad.csv",
        ),
        (
            "slope",
            f"level,{EDGES},earnings\nState,1,1,1,1,1,1,inf\n",
            "earnings are not a number .line 2 of bad.csv",
        ),
        ("slope", f"level,{EDGES},earnings\nState,1,1,1,1,1,1,9\n", "a slope needs three areas or more"),
        ("slope", "level,count\nState,1\n", "has no column below_9th"),
        (
            "slope",
            f"type,level,{EDGES},earnings\na,State,1,1,1,1,1,1,9\na,County,1,1,1,1,1,1,9\n",
            "a type has a second level; .*line 3 of bad.csv, field type",
        ),
    ],
)
def test_bad_counts_are_named_by_line_and_column(tmp_path: Path, study: str, text: str, message: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        getattr(home, study)(counts=file)
    for value in (
        "Ward",
        "-3",
        "7.5",
        "9999999999999",
        "much",
        "inf",
    ):  # confidential ones stay out of messages
        assert value not in str(error.value).replace(str(file), "")


def test_no_file_and_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        home.accuracy(counts=tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00level,count\n")
    with pytest.raises(InputError, match="is UTF-16; save it as UTF-8"):
        home.accuracy(counts=tmp_path / "bytes.csv")
