"""The curator's report: its sums against a plain recount, its expectations against other formulas."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from math import exp, sqrt
from pathlib import Path

import numpy as np
import pytest
from safetab_facts import BELOW_STATE

from discreet.census.answers.curator import STAR, curator_answer, curator_headline, curator_tables, is_marked
from discreet.census.mechanism.margins import variance_of
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.curator import (
    NO_CUT,
    SIZES,
    CapLine,
    CapSums,
    Curated,
    ErrorLaw,
    ErrorSums,
    ReleaseChances,
    curate,
    size_name,
)
from discreet.census.safetab.run import run
from discreet.census.safetab.run_plan import Options
from discreet.census.safetab.specification import read_specification, safetab_p
from discreet.census.safetab.synthetic import Nation, synthesize
from discreet.cli import run as command
from discreet.errors import InputError
from discreet.noise import GaussianNoise


@pytest.fixture(scope="module")
def nation(tmp_path_factory: pytest.TempPathFactory) -> Nation:
    """Thresholds are lowered, so that every table occurs."""
    made = synthesize(tmp_path_factory.mktemp("curator") / "nation", persons=8000, states=2, seed=3)
    file = made.params / "config.json"
    settings = json.loads(file.read_text())
    settings["thresholds_p"] = {
        place: [40, 150, 400] if "2" in place else [150, 500, 1500] for place in settings["thresholds_p"]
    }
    file.write_text(json.dumps(settings))
    return made


def release(nation: Nation, name: str, **options: object) -> Path:
    out = nation.out.parent / name
    if not out.exists():
        chosen = Options(**{"rehearsal": 11, "coterminous": False, **options})  # type: ignore[arg-type]
        run(nation.params, nation.data, out, options=chosen)
    return out


@pytest.fixture(scope="module")
def released(nation: Nation) -> Path:
    return release(nation, "released")


@pytest.fixture(scope="module")
def found(nation: Nation, released: Path) -> Curated:
    return curate(nation.params, nation.data, released)


def lines(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream, delimiter="|"))


def recount(nation: Nation, most: int = 8) -> Counter[tuple[str, ...]]:
    """Count people by region and group, and by sex and age in years, in the plainest way."""
    specification = read_specification(nation.params)
    groups = {one.code: one for one in specification.iterations}
    areas = {tuple(row.values())[:4]: row for row in lines(nation.data / "GRF-C.txt")}
    found: Counter[tuple[str, ...]] = Counter()
    for row in lines(nation.data / "person-records.txt"):
        races = [row[f"QRACE{i}"] for i in range(1, most + 1) if row[f"QRACE{i}"] != "Null"]
        sets = [{groups[code] for code in specification.mapped[race]} for race in races]
        alone = set.intersection(*sets)
        own = {one for one in alone if one.kind == "alone"}
        own |= {one for one in set.union(*sets) if one.kind == "combination"}
        own |= {
            groups[code] for code in specification.mapped[row["QSPAN"]] if groups[code].kind == "ethnicity"
        }
        state, county, tract, block = (
            row[name] for name in ("TABBLKST", "TABBLKCOU", "TABTRACTCE", "TABBLK")
        )
        area = areas[state, county, tract, block]
        regions = {"STATE": state, "COUNTY": state + county, "TRACT": state + county + tract}
        if area["PLACEFP"] != "99999":
            regions["PLACE"] = state + area["PLACEFP"]
        if state == "72":
            regions = {f"PR-{name}": region for name, region in regions.items()}
        else:
            regions["USA"] = "1"
            if area["AIANNHCE"] != "9999":
                regions["AIANNH"] = area["AIANNHCE"]
        for name, region in regions.items():
            for one in own:
                found[name, region, one.code] += 1
                found[name, region, one.code, row["QSEX"], str(int(row["QAGE"]))] += 1
    return found


def test_sums_are_those_of_a_plain_recount(nation: Nation, released: Path, found: Curated) -> None:
    true = recount(nation)
    levels = {one.code: one.level for one in read_specification(nation.params).iterations}
    wanted: dict[tuple[str, int, str], list[float]] = {}

    def add(row: dict[str, str], kind: str, truth: int) -> None:
        sums = wanted.setdefault((row["REGION_TYPE"], levels[row["ITERATION_CODE"]], kind), [0.0] * 6)
        error = int(row["COUNT"]) - truth
        inside = abs(error) <= int(row["MOE95"])
        for place, value in enumerate((1, error, abs(error), error**2, float(row["NOISE_VARIANCE"]), inside)):
            sums[place] += value

    for row in lines(released / "t1.NOT-PRIVATE.csv"):
        add(row, "total", true[row["REGION_TYPE"], row["REGION_ID"], row["ITERATION_CODE"]])
    for row in lines(released / "t2.NOT-PRIVATE.csv"):
        marginal = row["AGESTART"] == "*"
        ages = range(116) if marginal else range(int(row["AGESTART"]), int(row["AGEEND"]) + 1)
        key = row["REGION_TYPE"], row["REGION_ID"], row["ITERATION_CODE"], row["SEX"]
        add(row, "sex" if marginal else "cell", sum(true[*key, str(age)] for age in ages))
    assert len(wanted) > 40
    got = found.by(lambda line: (line.geography, line.level, line.kind))
    assert got.keys() == wanted.keys()
    for key, errors in got.items():
        sums = [
            getattr(errors, name) for name in ("numbers", "error", "absolute", "square", "variance", "within")
        ]
        assert sums == pytest.approx(wanted[key], rel=1e-9), key


@pytest.mark.slow
def test_a_cap_on_race_codes_is_told_from_noise(nation: Nation) -> None:
    """Against a plain recount with two codes and with all of them."""
    params = nation.out.parent / "capped"
    shutil.copytree(nation.params, params)
    settings = json.loads((params / "config.json").read_text())
    kept = ("2_usa", "1_state", "2_county")
    settings |= {name: 0 for name in settings if "_budget_p_level_" in name and not name.endswith(kept)}
    settings |= {"max_race_codes": 2, "run_pr": False}
    (params / "config.json").write_text(json.dumps(settings))
    out = nation.out.parent / "capped-released"
    run(params, nation.data, out, options=Options(rehearsal=5, coterminous=False))
    found = curate(params, nation.data, out)
    capped, whole = recount(nation, 2), recount(nation)
    groups = {one.code: one for one in read_specification(params).iterations}
    wanted: dict[tuple[str, int, str], list[float]] = {}
    for row in lines(out / "t1.NOT-PRIVATE.csv"):
        one, key = (
            groups[row["ITERATION_CODE"]],
            (row["REGION_TYPE"], row["REGION_ID"], row["ITERATION_CODE"]),
        )
        noise, cap = int(row["COUNT"]) - capped[key], capped[key] - whole[key]
        margin, error = int(row["MOE95"]), noise + cap
        sums = wanted.setdefault((row["REGION_TYPE"], one.level, one.kind), [0.0] * 7)
        values = (1, noise, cap, noise**2, error**2, abs(noise) <= margin, abs(error) <= margin)
        for place, value in enumerate(values):
            sums[place] += value
    names = ("numbers", "noise", "cap", "noise_square", "square", "within_noise", "within")
    got = {(line.geography, line.level, line.kind): line.sums for line in found.caps if line.sums.numbers}
    assert {key: [getattr(sums, name) for name in names] for key, sums in got.items()} == wanted
    places = {("USA", 2), ("STATE", 1), ("COUNTY", 2)}
    there = [key for key in whole if len(key) == 3 and (key[0], groups[key[2]].level) in places]
    there = [key for key in there if groups[key[2]].tabulated(below=key[0] in BELOW_STATE)]
    assert sum(line.sums.groups for line in found.caps) == len(there)
    assert sum(line.sums.emptied for line in found.caps) == sum(not capped[key] for key in there) > 0
    # people are missing from combination groups, and the margins do not cover it
    usa = got["USA", 2, "combination"]
    assert usa.cap < 0
    assert usa.within < usa.within_noise
    assert all(sums.cap == 0 for (_, _, kind), sums in got.items() if kind == "ethnicity")
    text = "\n".join(map(str, curator_headline(found)))
    assert "The cap of 2 race codes adds an error that no margin covers: " in text
    titles = [table.title for table in curator_tables(found)]
    assert "What the cap of 2 race codes does to totals" in titles
    assert any("first 2 race codes" in note for note in found.notes)
    assert len(curator_answer(found).tables["cap"].rows) == len(found.caps)


def test_groups_of_which_none_was_released_have_no_means() -> None:
    line = CapLine(geography="PLACE", level=2, kind="alone", sums=CapSums(groups=7, emptied=2))
    nothing = Curated(errors=(), groups=(), caps=(line,), max_race_codes=2, tabulation=safetab_p())
    (said,) = curator_answer(nothing).tables["cap"].objects
    assert (said["mean_error"], said["rmse_against_capped"], said["groups_emptied"]) == (None, None, 2)
    json.dumps(said, allow_nan=False)
    assert not [table for table in curator_tables(nothing) if table.rows]
    assert curator_headline(nothing) == []


def test_without_a_cap_nothing_is_said_of_one(found: Curated) -> None:
    assert found.caps == ()
    assert "cap" not in "\n".join([*map(str, curator_headline(found)), *found.notes])


def test_groups_add_up(nation: Nation, released: Path, found: Curated) -> None:
    """All groups are counted once, and those of t1 are the released ones."""
    specification, configuration = read_specification(nation.params), read_configuration(nation.params)
    regions: dict[str, set[str]] = {}
    for row in lines(nation.data / "GRF-C.txt"):
        prefix = "PR-" * (row["TABBLKST"] == "72")
        state, county = row["TABBLKST"], row["TABBLKST"] + row["TABBLKCOU"]
        regions.setdefault(f"{prefix}STATE", set()).add(state)
        regions.setdefault(f"{prefix}COUNTY", set()).add(county)
        regions.setdefault(f"{prefix}TRACT", set()).add(county + row["TABTRACTCE"])
        if row["PLACEFP"] != "99999":
            regions.setdefault(f"{prefix}PLACE", set()).add(state + row["PLACEFP"])
        if row["AIANNHCE"] != "9999":
            regions.setdefault("AIANNH", set()).add(row["AIANNHCE"])
    regions["USA"] = {"1"}
    kept = Counter(row["REGION_TYPE"] for row in lines(released / "t1.NOT-PRIVATE.csv"))
    true = recount(nation)
    levels = {one.code: one for one in specification.iterations}
    for geography in {line.geography for line in found.groups}:
        own = [line for line in found.groups if line.geography == geography]
        possible = sum(
            len(specification.tabulated(geography, level))
            for which in configuration.passes
            for name, level in configuration.levels(which)
            if name == geography
        )
        assert sum(line.groups for line in own) == possible * len(regions[geography])
        assert sum(line.released for line in own) == kept[geography]
        for line in own:
            assert 0 <= line.expected <= line.groups
            if not line.suppressing:
                assert line.expected == line.released == line.groups
        small = sum(
            1
            for key, count in true.items()
            if len(key) == 3 and key[0] == geography and 10 <= count < 50 and levels[key[2]].level == 2
            and levels[key[2]].tabulated(below=geography in BELOW_STATE)
        )  # fmt: skip
        place = SIZES.index(10)
        assert sum(line.groups for line in own if (line.level, line.size) == (2, place)) == small


def test_the_release_is_as_expected(found: Curated) -> None:
    """Fixed noise. Each bound is 5 standard errors; a noise 10 % too large would fail the one on squares."""
    for level in (1, 2):
        for kind in ("total", "cell"):
            errors = sum((x.errors for x in found.errors if (x.kind, x.level) == (kind, level)), ErrorSums())
            share = errors.mean("expected_within")
            assert abs(errors.mean("within") - share) < 5 * sqrt(share * (1 - share) / errors.numbers)
            ratio = errors.square / errors.expected_square
            bound = 5 * sqrt(2 / errors.numbers)
            assert abs(ratio - 1) < bound
            if (kind, level) == ("cell", 2):
                assert bound < 0.21  # 10 % on the standard deviation is 21 % on the squares
    cut = [line for line in found.groups if line.suppressing]
    expected, seen = sum(line.expected for line in cut), sum(line.released for line in cut)
    assert abs(seen - expected) < 5 * sqrt(expected)


@pytest.mark.slow
def test_mean_error_of_small_groups_is_the_conditional_one(found: Curated) -> None:
    small = [
        x.errors
        for x in found.errors
        if x.kind == "total" and x.geography in BELOW_STATE and x.level == 2 and x.size == SIZES.index(10)
    ]
    errors = sum(small, ErrorSums())
    assert errors.numbers > 50
    assert errors.mean("expected_error") > 1
    standard = sqrt(errors.mean("expected_square") / errors.numbers)
    assert abs(errors.mean("error") - errors.mean("expected_error")) < 5 * standard


@pytest.mark.slow
def test_regions_of_the_same_blocks_share(nation: Nation) -> None:
    """More is released than by each region alone, as much as expected (5 standard errors, copies counted)."""
    shared = curate(nation.params, nation.data, release(nation, "shared", coterminous=True))
    assert any("same blocks" in note for note in shared.notes)
    cut = [line for line in shared.groups if line.suppressing]
    expected, seen = sum(line.expected for line in cut), sum(line.released for line in cut)
    assert abs(seen - expected) < 5 * sqrt(2 * expected)


def test_chance_of_release_by_the_exact_noise(nation: Nation) -> None:
    configuration, specification = read_configuration(nation.params), read_specification(nation.params)
    classes = [[("STATE", 0), ("COUNTY", 0)], [("COUNTY", 1), ("TRACT", 2)]]
    made = ReleaseChances(configuration, specification, classes)
    one = made.mechanism("COUNTY", 2)
    assert one.stage_one is not None
    assert one.stage_two is not None
    assert one.suppression == 21
    plain = next(
        place
        for place, group in enumerate(specification.iterations)
        if group.level == 2 and not (group.total_only or group.coarse_only)
    )
    coarse = next(place for place, group in enumerate(specification.iterations) if group.coarse_only)

    def kept(region: int, iteration: int, count: int) -> float:
        columns = [np.array([value], dtype=np.int32) for value in (region, iteration)]
        return float(made.kept("COUNTY", 2, *columns, np.array([count]))[0])

    for count in (0, 15, 25, 60):
        small = float(one.stage_one.cdf(one.thresholds[0] - 1 - count)) * float(one.stage_two.cdf(21 - count))
        assert kept(2, plain, count) == pytest.approx(1 - small, abs=1e-9)
        assert kept(1, plain, count) == pytest.approx(1 - small**2, abs=1e-9)
        assert kept(0, plain, count) == 1  # the state drops nothing
        assert kept(0, coarse, count) == pytest.approx(1 - small, abs=1e-9)  # and does not have this group
    iterations = np.array([plain, coarse], dtype=np.int32)
    empty = sum(kept(region, iteration, 0) for region in range(4) for iteration in (plain, coarse))
    assert made.kept_if_empty("COUNTY", 2, 4, iterations) == pytest.approx(empty, rel=1e-9)

    state = made.mechanism("STATE", 2)
    region, iteration = np.array([0, 0, 1], dtype=np.int32), np.full(3, plain, dtype=np.int32)
    variance = np.array(
        [float(variance_of(noise)) for noise in (state.stage_two, one.stage_two, one.stage_two)]
    )
    cut = made.cut("COUNTY", 2, region, iteration, np.array([5, 5, 5]), variance)
    assert cut.tolist() == [NO_CUT, 16, 16]


@pytest.mark.slow
def test_bureau_columns_give_the_same(nation: Nation, found: Curated) -> None:
    bare = curate(nation.params, nation.data, release(nation, "bare", bureau_columns=True))
    assert any("state no margins" in note for note in bare.notes)
    for one, other in zip(found.errors, bare.errors, strict=True):
        for name in ErrorSums.__slots__:
            assert getattr(one.errors, name) == pytest.approx(getattr(other.errors, name), rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_parquet_gives_the_same(nation: Nation, found: Curated) -> None:
    other = curate(nation.params, nation.data, release(nation, "parquet", format="parquet"))
    assert [line.errors.error for line in other.errors] == [line.errors.error for line in found.errors]


def test_a_release_with_other_noise_is_noticed(nation: Nation, released: Path, tmp_path: Path) -> None:
    """Noise of the same size once more: the report marks it and says how much larger the error is."""
    source = np.random.default_rng(5)
    first, second = (lines(released / f"t{i}.NOT-PRIVATE.csv") for i in (1, 2))
    key = ("REGION_TYPE", "REGION_ID", "ITERATION_CODE")
    sums: Counter[tuple[str, ...]] = Counter()
    for row in second:
        if row["AGESTART"] != "*":
            row["COUNT"] = str(
                int(row["COUNT"]) + round(source.normal(0, sqrt(float(row["NOISE_VARIANCE"]))))
            )
            for part in (*key, "SEX"), key:
                sums[tuple(row[name] for name in part)] += int(row["COUNT"])
    for row in second:
        if row["AGESTART"] == "*":
            row["COUNT"] = str(sums[tuple(row[name] for name in (*key, "SEX"))])
    for row in first:
        own = tuple(row[name] for name in key)
        more = round(source.normal(0, sqrt(float(row["NOISE_VARIANCE"]))))
        row["COUNT"] = str(sums[own] if own in sums else int(row["COUNT"]) + more)
    for name, rows in (("t1", first), ("t2", second)):
        text = "".join("|".join(line) + "\n" for line in (rows[0], *(row.values() for row in rows)))
        (tmp_path / f"{name}.NOT-PRIVATE.csv").write_text(text)
    doctored = curate(nation.params, nation.data, tmp_path)
    said = curator_headline(doctored)
    ratio = float(str(said[1]).split(" is ")[1].split()[0])
    assert 1.3 < ratio < 1.5  # root 2
    assert any(map(is_marked, curator_tables(doctored)))
    assert STAR in curator_answer(doctored).body
    assert any("summary.json" in note for note in doctored.notes)


@pytest.mark.slow
def test_other_data_are_noticed(nation: Nation, tmp_path: Path) -> None:
    import shutil

    from discreet.ledger import create_ledger

    data, params = tmp_path / "data", tmp_path / "params"
    shutil.copytree(nation.data, data)
    shutil.copytree(nation.params, params)
    settings = json.loads((params / "config.json").read_text())
    (params / "config.json").write_text(json.dumps(settings | {"run_pr": False}))
    create_ledger(data / "discreet-ledger.json")
    run(params, data, tmp_path / "out")

    def noticed() -> bool:
        return any("other files" in note for note in curate(params, data, tmp_path / "out").notes)

    assert not noticed()
    with (data / "person-records.txt").open("a") as stream:
        stream.write("\n")
    assert noticed()


@pytest.mark.parametrize(("privacy", "variance"), [("zcdp", 3.7), ("puredp", 11.0)])
@pytest.mark.parametrize("cells", [1, 8])
def test_law_against_plain_sums(privacy: str, variance: float, cells: int) -> None:
    """One cell by its formula on a dictionary, sums by repeated convolution."""
    if privacy == "zcdp":
        cell = {x: exp(-(x**2) / (2 * variance)) for x in range(-80, 81)}
    else:
        scale = 10.0
        low, high = 0.0, 1.0
        for _ in range(200):  # the ratio that has this variance, by bisection
            ratio = (low + high) / 2
            low, high = (ratio, high) if 2 * ratio / (1 - ratio) ** 2 < variance else (low, ratio)
        scale = ratio
        cell = {x: scale ** abs(x) for x in range(-80, 81)}
    whole = sum(cell.values())
    mass = np.array([cell[x] / whole for x in range(-80, 81)])
    summed = mass
    for _ in range(cells - 1):
        summed = np.convolve(summed, mass)
    x = np.arange(summed.size) - summed.size // 2
    made = ErrorLaw(privacy, variance, cells)  # type: ignore[arg-type]
    for cut, margin in ((-1000, 5), (-3, 6), (2, 6), (4, 1)):
        kept = x > cut
        inside = kept & (np.abs(x) <= margin)
        got = made.expected(np.array([cut]), np.array([margin]))
        assert got.kept[0] == pytest.approx(summed[kept].sum(), abs=1e-7)
        assert got.mean[0] == pytest.approx((summed * x)[kept].sum() / summed[kept].sum(), abs=1e-5)
        assert got.square[0] == pytest.approx((summed * x**2)[kept].sum() / summed[kept].sum(), rel=1e-5)
        assert got.within[0] == pytest.approx(summed[inside].sum() / summed[kept].sum(), abs=1e-6)


def test_suppression_chance_is_that_of_the_exact_noise() -> None:
    """Empty groups at rho 0.159 (variance 9 / (2 * 0.9 * 0.159)): T = 21, as the design note says."""
    noise = GaussianNoise(variance="5000/159")
    made = ErrorLaw("zcdp", 5000 / 159, 1)
    values = np.arange(-30, 31)
    exact = [float(noise.cdf(int(value))) for value in values]
    assert made.below(values) == pytest.approx(exact, abs=1e-9)
    assert made.below(np.array([20, 21])).tolist()[0] < 0.9999 <= made.below(np.array([20, 21])).tolist()[1]


def test_no_noise_is_no_error() -> None:
    got = ErrorLaw("zcdp", 0.0, 1).expected(np.array([-5, 0]), np.array([0, 0]))
    assert got.within[0] == 1
    assert (got.mean[0], got.square[0], got.kept[1]) == (0, 0, 0)


@pytest.mark.slow
def test_command(nation: Nation, released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["safetab", "report", str(nation.params), str(nation.data), str(released)]
    assert command([*start, "--out", str(tmp_path / "report.html"), "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("CONFIDENTIAL")
    assert "within their" in shown
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "CONFIDENTIAL-report.csv",
        "CONFIDENTIAL-report.html",
    ]
    page = (tmp_path / "CONFIDENTIAL-report.html").read_text()
    assert page.index("CONFIDENTIAL: made from the true counts") < page.index("<h1>")
    assert "http://" not in page
    assert (tmp_path / "CONFIDENTIAL-report.csv").read_text().startswith("# CONFIDENTIAL")
    assert command([*start, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["warning"].startswith("CONFIDENTIAL")
    assert answer["rehearsal"] is True
    assert sum(row["released"] for row in answer["groups"]) == len(lines(released / "t1.NOT-PRIVATE.csv"))


@pytest.mark.parametrize("where", ["report.html", "inner/../report.html"])
def test_nothing_confidential_goes_into_the_release(
    where: str, nation: Nation, released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(released.iterdir())
    start = ["safetab", "report", str(nation.params), str(nation.data), str(released)]
    assert command([*start, "--out", str(released / where)]) == 2
    assert "must not be put there" in capsys.readouterr().err
    assert sorted(released.iterdir()) == before


def test_damaged_tables(nation: Nation, released: Path, tmp_path: Path) -> None:
    """The reader has tests of its own; here, that the report uses it and says no."""
    with pytest.raises(InputError, match="no t1"):
        curate(nation.params, nation.data, tmp_path)
    first = (released / "t1.NOT-PRIVATE.csv").read_text()
    (tmp_path / "t1.csv").write_text(first.replace("\n1|USA|", "\n2|USA|"))
    (tmp_path / "t2.csv").write_text((released / "t2.NOT-PRIVATE.csv").read_text())
    with pytest.raises(InputError, match="region that is not in GRF-C"):
        curate(nation.params, nation.data, tmp_path)


def test_size_classes_cover_everything() -> None:
    assert [size_name(place) for place in range(3)] == ["0", "1 to 9", "10 to 49"]
    assert size_name(len(SIZES) - 2) == "5,000 to 19,999"
