"""SafeTab-H, a specification whose groups and tables published totals pick: rows, noise, files, refusals."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from safetab_h_brute import tabulated
from safetab_h_toy import (
    GEOGRAPHIES,
    TABLES,
    config,
    expected,
    write_nation,
    write_toy,
    written,
)

from discreet.accounting.privacy_loss import compose
from discreet.budget import load
from discreet.census.mechanism.counts import CodedRecords
from discreet.census.mechanism.released import read_released
from discreet.census.safetab.account import account_pass, budget_release, budget_spent, mechanisms
from discreet.census.safetab.census2020 import configuration_2020, specification_2020
from discreet.census.safetab.configuration import read_configuration, read_json, read_toml, write_toml
from discreet.census.safetab.curator import curate
from discreet.census.safetab.run import coterminous, postprocess, run
from discreet.census.safetab.run_plan import Options, RunPlan
from discreet.census.safetab.specification import read_specification, safetab_h, safetab_p
from discreet.census.safetab.validation import check_input
from discreet.cli import run as command
from discreet.errors import InputError
from discreet.ledger.commit import Staging
from discreet.ledger.ledger_file import create_ledger, read_ledger
from discreet.ledger.locks import empty_folder
from discreet.records.engine import Engine

EXACT = Options(no_noise=True, bureau_columns=True)
CASES = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 30))]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def noisy(toy: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory, duckdb_engine: Engine) -> Path:
    """A rehearsal on the toy, with finite budgets."""
    place = tmp_path_factory.mktemp("noisy")
    params, _ = write_toy(place, config(0.5))
    run(params, toy[1], place / "out", engine=duckdb_engine, options=Options(rehearsal=7))
    return place


def lines_of(out: Path) -> list[dict[str, str]]:
    found = []
    for path in sorted(out.glob("t?/*/*.csv")):
        with path.open() as stream:
            found += list(csv.DictReader(stream, delimiter="|"))
    return found


# -- rows --------------------------------------------------------------------------------------------------


def test_no_row_differs_from_the_published_programs(
    toy: tuple[Path, Path], tmp_path: Path, duckdb_engine: Engine
) -> None:
    done = run(*toy, tmp_path / "out", engine=duckdb_engine, options=EXACT)
    found, due = written(tmp_path / "out"), expected()
    assert [len(rows) for rows in due.values()] == [122, 294, 679, 630, 201, 700]
    assert found == due
    assert done.rows == {table: len(rows) for table, rows in due.items()}
    names = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.csv")}
    assert names == {f"t{t[2]}/{t}/{which}.NOT-PRIVATE.csv" for t in TABLES for which in ("US", "PR")}


def test_the_second_tabulator_makes_the_published_rows_too(toy: tuple[Path, Path]) -> None:
    assert tabulated(*toy) == expected()


@pytest.mark.parametrize("seed", CASES)
def test_no_row_differs_from_a_plain_loop(seed: int, tmp_path: Path, duckdb_engine: Engine) -> None:
    params, data = write_nation(tmp_path, seed)
    run(params, data, tmp_path / "out", engine=duckdb_engine, options=EXACT)
    due = tabulated(params, data)
    assert written(tmp_path / "out") == due
    # every trap is there: regions without a block, and groups and regions that are not taken
    every = "\n".join(row for rows in due.values() for row in rows)
    assert "01999|COUNTY" in every
    assert "72999|PR-COUNTY" in every
    assert not {"06|STATE", "0099|AIANNH", "0030|AIANNH", "7777"} & {
        part for row in every.split("\n") for part in (row[: row.index("|", 5)], row.split("|")[2])
    }


@pytest.mark.slow
def test_a_cluster_counts_the_same(tmp_path: Path, spark_engine: Engine) -> None:
    params, data = write_nation(tmp_path, 5)
    run(params, data, tmp_path / "out", engine=spark_engine, options=EXACT)
    assert written(tmp_path / "out") == tabulated(params, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p", "t1.parquet"])
def test_totals_of_another_run_may_pick(
    name: str, toy: tuple[Path, Path], tmp_path: Path, duckdb_engine: Engine
) -> None:
    """An output of SafeTab-P with our columns, and the same rows as Parquet."""
    import pyarrow.csv
    import pyarrow.parquet

    params, data = toy
    rows = (data / "pop-group-totals.txt").read_text().splitlines()
    (tmp_path / "p").mkdir()
    more = [f"{rows[0]}|TABLE|NOISE_VARIANCE|MOE95", *(f"{row}|T01001|625|49" for row in rows[1:])]
    (tmp_path / "p" / "t1.csv").write_text("\n".join(more) + "\n")
    kinds = dict.fromkeys(rows[0].split("|")[:3], pyarrow.string())
    read = pyarrow.csv.read_csv(
        data / "pop-group-totals.txt",
        parse_options=pyarrow.csv.ParseOptions(delimiter="|"),
        convert_options=pyarrow.csv.ConvertOptions(column_types=kinds),
    )
    pyarrow.parquet.write_table(read, tmp_path / "t1.parquet")
    other = tmp_path / "data"
    other.mkdir()
    for file in ("GRF-C.txt", "household-records.txt"):
        (other / file).symlink_to(data / file)
    run(params, other, tmp_path / "out", totals=tmp_path / name, engine=duckdb_engine, options=EXACT)
    assert written(tmp_path / "out") == expected()


def test_totals_that_are_not_private_make_no_private_output(
    noisy: Path, toy: tuple[Path, Path], tmp_path: Path, duckdb_engine: Engine
) -> None:
    marked = tmp_path / "t1.NOT-PRIVATE.csv"
    marked.write_text((toy[1] / "pop-group-totals.txt").read_text())
    with pytest.raises(InputError, match=r"t1\.NOT-PRIVATE\.csv is of an output that is not private"):
        run(noisy / "params", toy[1], tmp_path / "out", totals=tmp_path, engine=duckdb_engine)
    done = run(
        noisy / "params",
        toy[1],
        tmp_path / "out",
        totals=tmp_path,
        engine=duckdb_engine,
        options=Options(rehearsal=1),
    )
    assert done.warning is not None
    assert "the published totals are not private" in done.warning


# -- noise -------------------------------------------------------------------------------------------------

FACTS = {  # geographies: level of groups -> rho of each of T3 and T4, and their thresholds
    ("USA", "STATE", "PR-STATE"): {1: ("0.006915", 149971, 4971), 2: ("1.9208", 6971, 471)},
    ("COUNTY", "TRACT", "PLACE", "PR-COUNTY", "PR-TRACT", "PR-PLACE"): {
        1: ("0.006915", 149970, 4971),
        2: ("0.142869", 19971, 971),
    },
    ("AIANNH",): {2: ("0.142869", 19971, 971)},
}
"""The production configuration, DAS_2020_DDHCB_Production_Code, configs/safetab-h/NMFv5/config.json."""


def test_settings_of_2020_are_those_of_production_and_its_noise_is_for_nine_groups() -> None:
    plan, groups = configuration_2020(households=True), specification_2020(households=True)
    seen = {one.place: one for which in plan.passes for one in mechanisms(plan, groups, which)}
    due = 0
    for names, levels in FACTS.items():
        for name in names:
            for level, (rho, last, only) in levels.items():
                third, fourth = seen[name, 30 + level], seen[name, 40 + level]
                due += 2
                assert (third.thresholds[-1], fourth.thresholds) == (last, (only,))
                assert third.budget == fourth.budget == Fraction(rho)
                for one in (third, fourth):
                    assert one.stability.value == 9
                    assert one.stage_two is not None
                    assert one.stage_two.size == 9 / (2 * Fraction(rho))
                    assert (one.stage_one, one.suppression) == (None, None)
    assert len(seen) == due == 38


@pytest.mark.parametrize(("which", "preset"), [("US", "ddhcb-2020"), ("PR", "ddhcb-2020-pr")])
def test_the_account_agrees_with_the_preset(which: str, preset: str) -> None:
    plan, groups = configuration_2020(households=True), specification_2020(households=True)
    found = account_pass(plan, groups, which, deltas=["1e-10"], neighbours=["unbounded"])
    known = load(preset)
    assert budget_spent(plan, which) == known.rho == found.total
    release = budget_release(plan, groups, which)
    assert (release.unit, known.unit) == ("household", "household")
    assert release.path_events(release.main) == known.path_events(known.main)
    exact = compose(known.path_events(known.main)).epsilon(delta="1e-10")
    assert found.costs[0].epsilon == pytest.approx(exact, rel=1e-12)
    # households of groups that were not published are not measured
    assert found.claim.kind == "bound"


def test_pure_privacy_has_geometric_noise_of_nine_over_epsilon() -> None:
    settings = config(0.9, privacy_defn="puredp", state_filter_us=["01"])
    plan = read_json(json.dumps(settings))
    (one, *_) = mechanisms(plan, specification_2020(households=True), "US")
    assert one.stage_two is not None
    assert (one.stage_two.FAMILY, one.stage_two.size) == ("discrete Laplace", 10)


def test_sums_add_up_and_say_how_many_cells_they_add(noisy: Path) -> None:
    rows = lines_of(noisy / "out")
    groups: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
    for row in rows:
        cell = row.get("T3_DATA_CELL") or row["T4_DATA_CELL"]
        key = (row["REGION_TYPE"], row["REGION_ID"], row["ITERATION_CODE"], row["TABLE"])
        assert cell not in groups.setdefault(key, {})
        groups[key][cell] = row
    parts = {
        "T03002": {"0": "16"},
        "T03003": {"1": "23", "6": "78", "0": "2378"},
        "T03004": {"3": "45", "1": "245", "6": "78", "0": "24578"},
        "T04002": {"0": "123"},
    }
    assert len({key[:3] for key in groups}) * 2 > len(groups) > len({key[:3] for key in groups})
    for (*_, table), cells in groups.items():
        assert tuple(map(int, cells)) == TABLES[table]  # a sum comes before what it adds up
        one = Fraction(next(iter(cells.values()))["NOISE_VARIANCE"]) if len(cells) == 1 else None
        for total, own in parts.get(table, {}).items():
            assert int(cells[total]["COUNT"]) == sum(int(cells[cell]["COUNT"]) for cell in own)
            one = Fraction(cells[own[0]]["NOISE_VARIANCE"])
            assert abs(Fraction(cells[total]["NOISE_VARIANCE"]) - len(own) * one) < Fraction(1, 10**9)
        assert one is not None
    # totals of T3 and of T4 have noise of their own
    both = {key[:3] for key in groups if key[3][1] == "0" and key[3][2] == "3"}
    totals = {(key[3][2], *key[:3]): cells["0"]["COUNT"] for key, cells in groups.items()}
    assert any(totals.get(("3", *key)) != totals.get(("4", *key)) for key in both if ("4", *key) in totals)


@pytest.mark.slow
def test_negative_cells_are_set_to_zero_before_sums(
    noisy: Path, toy: tuple[Path, Path], tmp_path: Path, duckdb_engine: Engine
) -> None:
    params, _ = write_toy(tmp_path, config(0.5, allow_negative_counts=False))
    run(params, toy[1], tmp_path / "out", engine=duckdb_engine, options=Options(rehearsal=7))
    specification = read_specification(params)
    before, after = (read_released(out, specification).parts for out in (noisy / "out", tmp_path / "out"))
    negative = 0
    for place, part in before.items():
        negative += int((part.values < 0).sum())
        assert (part.clamped().values == after[place].values).all()
        assert (part.table == after[place].table).all()
    assert negative > 20


# -- what is done to an output -----------------------------------------------------------------------------


@pytest.mark.parametrize("format", [pytest.param("csv", marks=pytest.mark.slow), "parquet"])
def test_an_output_is_read_back_as_it_was_written(
    noisy: Path, toy: tuple[Path, Path], tmp_path: Path, format: str
) -> None:
    params = noisy / "params"
    done = postprocess(noisy / "out", tmp_path / "post", params=params, negative="zero", format=format)
    specification = read_specification(params)
    before, after = (read_released(out, specification).parts for out in (noisy / "out", tmp_path / "post"))
    assert done.rows == json.loads(next((noisy / "out").glob("summary*")).read_text())["rows"]
    for place, part in before.items():
        assert (after[place].values == part.clamped().values).all()
        assert (after[place].region == part.region).all()
    with pytest.raises(InputError, match="SafeTab-H does not compare regions"):
        coterminous(noisy / "out", tmp_path / "same", params=params, data=toy[1])


@pytest.mark.slow
def test_the_report_compares_with_the_truth(noisy: Path, toy: tuple[Path, Path]) -> None:
    found = curate(noisy / "params", toy[1], noisy / "out")
    tables = {line.table for line in found.errors}
    assert tables == set(TABLES)
    assert sum(line.errors.numbers for line in found.errors) == len(lines_of(noisy / "out"))
    every = sum((line.errors for line in found.errors[1:]), found.errors[0].errors)
    # a rehearsal: the same numbers each time
    assert 0.9 < every.mean("square") / every.mean("expected_square") < 1.1
    assert all(line.released == line.groups for line in found.groups)


def test_a_ledger_has_people_and_households_side_by_side(
    noisy: Path, toy: tuple[Path, Path], tmp_path: Path, duckdb_engine: Engine
) -> None:
    from safetab_toy import DATA, TOY

    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    settings = json.loads((TOY / "config.json").read_text()) | {"run_pr": False}
    budgets = {key: 0.25 for key in settings if key.startswith("privacy_budget_p_level")}
    people = tmp_path / "people"
    people.mkdir()
    for path in TOY.iterdir():
        (people / path.name).write_text(path.read_text())
    (people / "config.json").write_text(json.dumps(settings | budgets))
    run(people, DATA, tmp_path / "p", ledger=ledger, engine=duckdb_engine)
    params, _ = write_toy(tmp_path / "h", config(0.5, run_pr=False))
    done = run(params, toy[1], tmp_path / "out", ledger=ledger, engine=duckdb_engine)
    found = read_ledger(ledger)
    assert found.units == ("person", "household")
    spent = 11 * Fraction(1, 2) * 2
    assert [found.spent(unit, "unbounded") for unit in found.units] == [Fraction(12, 4), spent]
    (_, entry) = found.entries
    assert {item["role"] for item in entry.inputs} >= {"blocks", "records", "pop-group-totals.txt"}
    assert set(entry.files) == set(done.files)
    with pytest.raises(InputError, match="this input was released before"):
        run(params, toy[1], tmp_path / "again", ledger=ledger, engine=duckdb_engine)


def test_a_run_that_fails_while_it_writes_leaves_nothing(
    noisy: Path,
    toy: tuple[Path, Path],
    tmp_path: Path,
    duckdb_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tables lie in folders of folders: all of them go."""
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    params, _ = write_toy(tmp_path / "h", config(0.5, run_pr=False))

    def full(_: Staging) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Staging, "_appear", full)
    with pytest.raises(InputError, match="nothing was written and nothing spent"):
        run(params, toy[1], tmp_path / "out", ledger=ledger, engine=duckdb_engine)
    assert {path.name for path in tmp_path.iterdir()} == {"ledger.json", "h"}
    assert not read_ledger(ledger).entries
    folder = tmp_path / "h" / "nested"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "c").write_text("")
    empty_folder(folder)
    assert not [*folder.iterdir()]


@pytest.mark.slow
def test_an_interrupted_run_is_resumed(
    toy: tuple[Path, Path], tmp_path: Path, duckdb_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(EXACT, resume=True)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunPlan, "picked", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(*toy, tmp_path / "out", engine=duckdb_engine, options=options)
    assert [path.name for path in tmp_path.iterdir()] == [".discreet-out.coded"]
    with monkeypatch.context() as patch:
        # nothing is read again
        patch.setattr(CodedRecords, "write", interrupted)
        run(*toy, tmp_path / "out", engine=duckdb_engine, options=options)
    assert written(tmp_path / "out") == expected()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
def test_the_audit_finds_nothing_wrong(noisy: Path, toy: tuple[Path, Path]) -> None:
    audit = pytest.importorskip("discreet.audit.tabulations", reason="there is no guest that audits")
    found = audit.audit_tabulation(noisy / "params", toy[1], runs=12, written=1)
    assert not any(look.is_alarm for look in found.noise)
    assert found.written == 1


# -- settings ----------------------------------------------------------------------------------------------


def test_a_folder_is_of_households_if_its_settings_are_of_them_alone(tmp_path: Path) -> None:
    settings = config()
    assert read_json(json.dumps(settings)).tabulation == safetab_h()
    shared = {**settings, "thresholds_p": {}}
    with pytest.raises(InputError, match="privacy_budget_p_level_1_usa"):
        read_json(json.dumps(shared))
    params, _ = write_toy(tmp_path)
    assert read_configuration(params).tabulation == read_specification(params).tabulation == safetab_h()
    (params / "config.json").unlink()
    plan = configuration_2020(households=True)
    (params / "safetab.toml").write_text(write_toml(plan))
    assert read_configuration(params) == plan
    assert read_specification(params).tabulation == safetab_h()
    assert read_toml(write_toml(configuration_2020())).tabulation == safetab_p()


WRONG = {
    "missing budget": (
        {"privacy_budget_h_t4_level_2_pr_place": None},
        "privacy_budget_h_t4_level_2_pr_place",
    ),
    "two thresholds": ({"thresholds_h_t3": {"(USA, 1)": [1, 2]}}, "exactly three thresholds"),
    "T4 has one": ({"thresholds_h_t4": {"(USA, 1)": [1, 2]}}, "exactly one threshold"),
    "falling": ({"thresholds_h_t3": {"(USA, 1)": [3, 2, 5]}}, "must not decrease"),
    "unknown place": ({"thresholds_h_t4": {"(USA, 3)": [1]}}, "unknown geography or level"),
    "missing thresholds": ({"thresholds_h_t4": {}}, r"thresholds_h_t4 \(USA, 1\)"),
    "gamma": ({"stage_one": 0.1}, "an unknown key"),
    "nothing": (
        {key: 0.0 for key in config() if key.startswith("privacy_budget")},
        "no budget of this pass is above 0",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings_are_refused(case: str) -> None:
    changes, told = WRONG[case]
    settings = {key: value for key, value in {**config(), **changes}.items() if value is not None}
    with pytest.raises(InputError, match=told):
        read_json(json.dumps(settings))


def test_keys_of_people_are_passed_over_where_a_file_has_both_only_for_people() -> None:
    plan = read_json(json.dumps({**config(), "zero_suppression_chance": 0.9}))
    assert plan.notes == ("1 keys of config.json are of SafeTab-P and not used",)


# -- data --------------------------------------------------------------------------------------------------


def edited(place: Path, file: str, change: Callable[[list[str]], list[str]]) -> tuple[Path, Path]:
    params, data = write_toy(place, config(0.5))
    rows = (data / file).read_text().splitlines()
    (data / file).write_text("\n".join(change(rows)) + "\n")
    return params, data


def test_everything_wrong_is_told_in_one_round_and_no_value_of_a_household(tmp_path: Path) -> None:
    params, data = write_toy(tmp_path, config(0.5))
    totals = (data / "pop-group-totals.txt").read_text().splitlines()
    totals += [totals[5], "01|CONTINENT|0102|5", "0|1|STATE", "01|STATE|0199|many"]
    (data / "pop-group-totals.txt").write_text("\n".join(totals) + "\n")
    records = (data / "household-records.txt").read_text().splitlines()
    records[3] = "01|001|000100|1001|01|1010|1030|Null|Null|Null|Null|Null|Null|2000|6|3"
    records[4] = "01|001|000100|1002|01|1020|Null|1010|Null|Null|Null|Null|Null|2010|4|9"
    records[5] = "01|001|000100|10-2|01|8765|Null|Null|Null|Null|Null|Null|Null|2010|4|1"
    (data / "household-records.txt").write_text("\n".join(records) + "\n")
    found = check_input(params, data)
    text = "\n".join(found.problems)
    for told in (
        "a household type is not 1 to 5 (line 4 of household-records.txt, field HOUSEHOLD_TYPE)",
        "a tenure is not 1 to 4 (line 5 of household-records.txt, field TEN)",
        "a race code follows an empty one (line 5 of household-records.txt, field QRACE3)",
        "a code of a block is not of the digits it must be (line 6 of household-records.txt, field TABBLK)",
        "a code is not in race-and-ethnicity-codes.txt (line 6 of household-records.txt, field QRACE1)",
        "pop-group-totals.txt",
    ):
        assert told in text
    assert not {"8765", "10-2"} & set(text.replace("(", " ").split())
    with pytest.raises(InputError):
        run(params, data, tmp_path / "out")
    assert not (tmp_path / "out").exists()


WRONG_TOTALS = {
    "twice": ("{0}", r"a group occurs twice; each may occur once \(line 402"),
    "twice, another count": ("01|STATE|0102|77", "a group occurs twice"),
    "twice, an unknown group": ("01|STATE|0199|1\n01|STATE|0199|2", "a group occurs twice"),
    "type": ("01|CONTINENT|0102|5", "a region type is not known"),
    "count": ("01|STATE|0199|many", "COUNT"),
    "id": ("0 1|STATE|0199|5", "an id is not of 1 to 32 letters and digits"),
    "no group": ("01|STATE||5", "a text is missing"),
}


@pytest.mark.parametrize("case", WRONG_TOTALS)
def test_wrong_totals_are_refused_before_a_record_is_read(
    case: str, tmp_path: Path, duckdb_engine: Engine
) -> None:
    row, told = WRONG_TOTALS[case]
    params, data = edited(tmp_path, "pop-group-totals.txt", lambda rows: [*rows, row.format(rows[5])])
    (data / "household-records.txt").write_text("not looked at\n")
    with pytest.raises(InputError, match=told):
        run(params, data, tmp_path / "out", engine=duckdb_engine)


def test_totals_without_a_group_that_is_tabulated_are_refused(tmp_path: Path, duckdb_engine: Engine) -> None:
    params, data = edited(tmp_path, "pop-group-totals.txt", lambda rows: [rows[0], "04|STATE|0102|5"])
    with pytest.raises(InputError, match="has no group that is tabulated"):
        run(params, data, tmp_path / "out", engine=duckdb_engine)
    assert "has no group that is tabulated" in "\n".join(check_input(params, data).problems)


def test_nobody_needs_to_be_in_a_group(tmp_path: Path, duckdb_engine: Engine) -> None:
    """The published program refuses records that are in no listed group; that would tell about them."""
    params, data = edited(tmp_path, "household-records.txt", lambda rows: rows[:1])
    done = run(params, data, tmp_path / "out", engine=duckdb_engine, options=Options(rehearsal=1))
    assert done.rows == {table: len(rows) for table, rows in expected().items()}


def test_totals_for_a_tabulation_that_measures_its_own_are_refused(tmp_path: Path) -> None:
    from safetab_toy import DATA, TOY

    with pytest.raises(InputError, match="totals are given, but SafeTab-P measures its own"):
        run(TOY, DATA, tmp_path / "out", totals=tmp_path, options=EXACT)


# -- commands ----------------------------------------------------------------------------------------------


def test_the_commands(
    noisy: Path, toy: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params, data = str(noisy / "params"), str(toy[1])
    assert command(["safetab", "validate", params, data, "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["regions"]["AIANNH"] == 3
    assert command(["safetab", "account", params, "--delta", "1e-6", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["rho_unbounded"] for one in found["passes"]] == ["11", "8"]
    assert {one["level"] for one in found["passes"][0]["levels"]} == {31, 32, 41, 42}
    totals = ["--totals", str(toy[1] / "pop-group-totals.txt")]
    out = str(tmp_path / "out")
    assert command(["safetab", "run", params, data, out, "--rehearsal", "2", *totals, "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "pop-group-totals.txt picked groups and tables" in " ".join(told.split())
    assert (
        command(
            ["safetab", "run", params, data, str(tmp_path / "p"), "--totals", str(tmp_path), "--no-ledger"]
        )
        == 2
    )
    assert "there is no t1" in capsys.readouterr().err
    assert command(["safetab", "init", str(tmp_path / "new"), "--spec", "2020-h"]) == 0
    assert "groups of Detailed DHC-B 2020" in " ".join(capsys.readouterr().out.split())
    assert read_configuration(tmp_path / "new") == configuration_2020(households=True)


def test_every_table_and_row_is_that_of_the_published_program() -> None:
    found = {rung.name: rung for ladder in safetab_h().ladders.values() for rung in ladder.rungs}
    assert list(found) == list(TABLES)
    for name, rung in found.items():
        if rung.cells > 1:
            assert tuple(int(row.labels[0]) for row in rung.rows) == TABLES[name][1:]
    assert [found[name].cells for name in TABLES] == [1, 2, 4, 5, 1, 3]
    assert tuple(safetab_h().geographies) == GEOGRAPHIES
    assert not safetab_h().order
