"""The nation with households: coherent, the same people in every file, repeatable, and all or nothing."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from discreet.budget import load
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.specification import read_specification
from discreet.cli import run
from discreet.errors import InputError
from discreet.nation import synthesis
from discreet.nation.columns import DHC_LEVELS, REDISTRICTING_LEVELS, household_attributes
from discreet.nation.synthesis import SyntheticNation, synthesize_nation

Rows = list[dict[str, str]]

SPOUSES, PARTNERS, CHILDREN = {"21", "23"}, {"22", "24"}, {"25", "26", "27"}
RELATIVES = SPOUSES | {str(code) for code in range(25, 34)}
"""Values of RELSHIP, as PHSafe's tables group them."""


def rows(file: Path) -> Rows:
    """Read a file in the plainest way."""
    with file.open(encoding="ascii", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="|" if file.suffix == ".txt" else ","))


@pytest.fixture(scope="module")
def nation(tmp_path_factory: pytest.TempPathFactory) -> SyntheticNation:
    return synthesize_nation(tmp_path_factory.mktemp("nation") / "n", people=20_000, seed=3)


@pytest.fixture(scope="module")
def persons(nation: SyntheticNation) -> Rows:
    return rows(nation.out / "phsafe" / "persons.csv")


@pytest.fixture(scope="module")
def units(nation: SyntheticNation) -> Rows:
    return rows(nation.out / "phsafe" / "units.csv")


@pytest.fixture(scope="module")
def homes(persons: Rows) -> dict[str, Rows]:
    """The people of each address, as they are listed."""
    found: dict[str, Rows] = defaultdict(list)
    for one in persons:
        found[one["MAFID"]].append(one)
    return found


def test_households_agree_with_their_members(units: Rows, homes: dict[str, Rows]) -> None:
    """Type, couple, family size and own children, counted again from relationships and ages."""
    for unit in units:
        members = homes.get(unit["MAFID"], [])
        assert int(unit["FINAL_POP"]) == len(members)
        if unit["RTYPE"] == "4" or not members:
            assert {unit[name] for name in ("HHT", "HHSPAN", "TEN", "CPLT", "NPF")} == {"0"}
            assert unit["HHT2"] == unit["HHRACE"] == "00"
            assert {one["RELSHIP"] for one in members} <= {"37", "38"}
            continue
        head, *others = members
        roles = Counter(one["RELSHIP"] for one in others)
        assert head["RELSHIP"] == "20"
        assert "20" not in roles
        assert not roles.keys() & {"37", "38"}
        assert (unit["HHRACE"], unit["HHSPAN"]) == (head["CENRACE"], head["CENHISP"])
        assert unit["TEN"] in "1234"
        married, coupled = roles.keys() & SPOUSES, roles.keys() & PARTNERS
        assert sum(roles[role] for role in SPOUSES | PARTNERS) <= 1
        assert unit["CPLT"] == {"21": "1", "23": "2", "22": "3", "24": "4"}.get(
            next(iter(married | coupled), ""), "5"
        )
        relatives = sum(roles[role] for role in RELATIVES)
        assert int(unit["NPF"]) == (relatives + 1 if relatives else 0)
        own = any(one["RELSHIP"] in CHILDREN and int(one["QAGE"]) < 18 for one in others)
        if married:
            assert (unit["HHT"], unit["HHT2"]) == ("1", "01" if own else "02")
        elif coupled:
            assert unit["HHT"] in ("23" if relatives else "57")
            assert unit["HHT2"] == ("03" if own else "04")
        else:
            family = unit["HHT"] in "23" if relatives else unit["HHT"] in ("46" if not others else "57")
            assert family
            place = 0 if not others else 1 if own else 2 if relatives else 3
            assert int(unit["HHT2"]) == place + (5 if unit["HHT"] in "367" else 9)


def test_ages_fit_relationships(homes: dict[str, Rows]) -> None:
    for members in homes.values():
        head, *others = members
        if head["RELSHIP"] != "20":
            continue
        age = int(head["QAGE"])
        assert 18 <= age <= 115
        assert sum(one["RELSHIP"] == "29" for one in others) <= 2
        for one in others:
            other = int(one["QAGE"])
            if one["RELSHIP"] in CHILDREN | {"32"}:
                assert age - other >= 16
            elif one["RELSHIP"] in ("29", "31"):
                assert other - age >= 16
            elif one["RELSHIP"] == "30":
                assert age - other >= 32
            elif one["RELSHIP"] in SPOUSES | PARTNERS | {"34"}:
                assert other >= 18
            elif one["RELSHIP"] == "35":
                assert other < 18


def test_the_same_people_in_every_file(nation: SyntheticNation, persons: Rows, units: Rows) -> None:
    """Every file tells the same people and homes, counted by what they share."""
    records = {name: rows(nation.out / "records" / f"{name}.csv") for name in (
        "persons", "households", "housing-units", "addresses"
    )}  # fmt: skip
    tabulated = rows(nation.data / "person-records.txt")
    geo = {one["MAFID"]: one for one in rows(nation.out / "phsafe" / "geo.csv")}
    assert len(persons) == len(tabulated) == len(records["persons"]) == nation.people == 20_000
    races = ["", *dict(load("pl94-2020-persons").attributes.values)["cenrace"]]  # type: ignore[union-attr]

    def block(one: dict[str, str]) -> str:
        return "".join(one[name] for name in ("TABBLKST", "TABBLKCOU", "TABTRACTCE", "TABBLK"))

    in_each = [
        Counter((block(geo[one["MAFID"]]), int(one["QAGE"]), races[int(one["CENRACE"])]) for one in persons),
        Counter((block(one), int(one["QAGE"]), races[int(one["CENRACE"])]) for one in tabulated),
        Counter((one["unit"], int(one["age"]), one["cenrace"]) for one in records["persons"]),
    ]
    assert in_each[0] == in_each[1] == in_each[2]
    hispanic = [
        sum(one["CENHISP"] == "2" for one in persons),
        sum(one["QSPAN"] != "9900" for one in tabulated),
        sum(one["hispanic"] == "Hispanic" for one in records["persons"]),
    ]
    assert len(set(hispanic)) == 1
    householders = sum(one["RELSHIP"] == "20" for one in persons)
    kinds = Counter(one["HOUSEHOLD_TYPE"] for one in rows(nation.data / "household-records.txt"))
    assert householders == nation.households == sum(kinds.values()) == len(records["households"])
    assert householders == sum(one["HOUSEHOLDER"] == "True" for one in tabulated)
    folded = {"6": "4", "7": "5"}
    assert kinds == Counter(folded.get(one["HHT"], one["HHT"]) for one in units if one["HHT"] != "0")
    inside = sum(one["RELSHIP"] in ("37", "38") for one in persons)
    assert inside == nation.in_quarters == sum(one["hhgq"] != "household" for one in records["persons"]) > 0
    assert len(records["addresses"]) == len(units) == len(geo)
    occupied = Counter(one["h1"] for one in records["housing-units"])
    assert occupied == {"occupied": nation.households, "vacant": nation.vacant}
    vacant = sum(one["tenvacgq"].startswith("vacant") for one in records["addresses"])
    assert vacant == nation.vacant == len(units) - nation.households - nation.quarters


@pytest.mark.slow
def test_unnoised_counts_agree_across_products(nation: SyntheticNation, tmp_path: Path) -> None:
    """PL 94-171, DHC and Supplemental DHC, tabulated by the package: the same people and households."""
    from discreet.measurement import tabulate

    records = nation.out / "records"

    def total(release: str, name: str, query: str, areas: str) -> dict[str, int]:
        done = tabulate(
            load(release), records / f"{name}.csv", tmp_path / f"{release}", units=records / f"{areas}.csv"
        )
        found: dict[str, int] = defaultdict(int)
        for one in rows(done.out / "counts.csv"):
            if (one["level"], one["query"]) == ("US", query):
                found[one["cell"]] += int(one["count"])
        return found

    people = total("pl94-2020-persons", "persons", "hhgq", "areas")
    homes = total("pl94-2020-units", "housing-units", "detailed", "areas")
    assert sum(people.values()) == nation.people
    assert nation.people - people["household"] == nation.in_quarters
    assert homes == {"occupied": nation.households, "vacant": nation.vacant}
    phsafe = nation.out / "phsafe"
    done = tabulate(
        load("sdhc-2020"),
        phsafe / "persons.csv",
        tmp_path / "sdhc",
        households=phsafe / "units.csv",
        addresses=phsafe / "geo.csv",
    )
    counted: dict[str, int] = defaultdict(int)
    for one in rows(done.out / "counts.csv"):
        if one["level"] == "USA":
            counted[one["query"]] += int(one["count"])
    assert counted["PH1_denom *"] == nation.households
    beyond = Counter(one["MAFID"] for one in rows(phsafe / "persons.csv") if one["RTYPE"] == "3")
    assert counted["PH1_num *"] == sum(min(many, 10) for many in beyond.values())
    assert max(beyond.values()) > 10  # else the limit would not be tried


def test_trees_hold_every_block_once(nation: SyntheticNation) -> None:
    blocks = {"".join(list(one.values())[:4]) for one in rows(nation.data / "GRF-C.txt")}
    for name, levels in (("areas", REDISTRICTING_LEVELS), ("areas-dhc", DHC_LEVELS)):
        areas = rows(nation.out / "records" / f"{name}.csv")
        level = {one["unit"]: one["level"] for one in areas}
        assert len(level) == len(areas)
        assert {unit for unit, kind in level.items() if kind == "Block"} == blocks
        above = dict(zip(levels[1:], levels, strict=False))
        assert all(level[one["parent"]] == above[one["level"]] for one in areas if one["level"] != "US")
        names = [
            one.name for one in load("dhc-2020-persons" if "dhc" in name else "pl94-2020-persons").levels
        ]
        assert tuple(names) == levels


def test_values_are_those_of_the_presets(nation: SyntheticNation) -> None:
    people = rows(nation.out / "records" / "persons.csv")
    for preset in ("pl94-2020-persons", "dhc-2020-persons"):
        attributes = load(preset).attributes
        assert attributes is not None
        for name, values in attributes.values:
            assert {one[name] for one in people} <= set(values)
    attributes = household_attributes()
    households = rows(nation.out / "records" / "households.csv")
    for name, values in attributes.values:
        assert {one[name] for one in households} <= set(values)
    queries = {query.name for level in load("dhc-2020-units").levels for query in level.queries}
    for query in queries - {"tenvacgq"}:
        assert attributes.tabulation(query).cells > 1


def test_group_quarters_keep_the_ages_of_their_kind(nation: SyntheticNation) -> None:
    """The youngest of each group of kinds, as the recode `gq_constr_groups` of the preset states them."""
    attributes = load("dhc-2020-persons").attributes
    assert attributes is not None
    recode = dict(attributes.recodes)["gq_constr_groups"]
    least = {value: int(label.split()[0]) for label, values in recode.groups for value in values
             if label.endswith("and over")}  # fmt: skip
    for one in rows(nation.out / "records" / "persons.csv"):
        assert int(one["age"]) >= least.get(one["relgq"], 0)


def test_plausible(persons: Rows, units: Rows) -> None:
    """Wide limits: nothing is fitted, but a nation of widowers would be no rehearsal."""
    sizes = Counter(one["FINAL_POP"] for one in units if one["HHT"] != "0")
    homes = sum(sizes.values())
    assert 0.2 < sizes["1"] / homes < 0.4
    assert 2 < len(persons) / homes < 3
    assert 0.3 < sum(one["HHT"] == "1" for one in units) / homes < 0.5
    assert 0.15 < sum(int(one["QAGE"]) < 18 for one in persons) / len(persons) < 0.3
    assert 0.5 < sum(one["TEN"] in "12" for one in units if one["HHT"] != "0") / homes < 0.8
    assert {one["RELSHIP"] for one in persons} >= {str(code) for code in range(20, 37)}


def test_same_arguments_same_bytes(nation: SyntheticNation, tmp_path: Path) -> None:
    again = synthesize_nation(tmp_path / "again", people=20_000, seed=3)
    for name in nation.files:
        assert (nation.out / name).read_bytes() == (again.out / name).read_bytes()
    other = synthesize_nation(tmp_path / "other", people=2000, seed=4)
    assert json.loads((other.out / "SYNTHETIC.json").read_text())["synthetic"] is True


def test_people_do_not_depend_on_the_order_of_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.census.safetab.census2020 import packaged
    from discreet.census.safetab.synthetic import Population, answers, build
    from discreet.nation import households

    monkeypatch.setattr(households, "PORTION", 500)

    def homes() -> households.Homes:
        source = np.random.default_rng(1)
        country = build(3000, ("01", "02", "04"), source, island=False)
        return households.Homes(Population(country, answers(packaged("invented"), source), 1, source), source)

    first, second = homes(), homes()
    assert first.portions > 3
    last = second.portion(first.portions - 1)
    drawn = [first.portion(index) for index in range(first.portions)]
    assert np.array_equal(drawn[-1][0].age, last[0].age)
    numbers = np.concatenate([addresses.number for _, addresses in drawn])
    assert np.unique(numbers).size == numbers.size
    assert sum(people.age.size for people, _ in drawn) == 3000


def test_parquet_holds_the_same_rows_and_says_that_they_are_synthetic(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    text = synthesize_nation(tmp_path / "text", people=1000, states=1)
    made = synthesize_nation(tmp_path / "parquet", people=1000, states=1, format="parquet")
    table = pq.read_table(made.out / "records" / "persons.parquet")
    assert table.to_pylist() == rows(text.out / "records" / "persons.csv")
    assert pq.read_metadata(made.data / "person-records.parquet").metadata[b"synthetic"] == b"true"
    for name in ("persons", "units", "geo"):  # PHSafe reads text
        file = f"phsafe/{name}.csv"
        assert (made.out / file).read_bytes() == (text.out / file).read_bytes()


def test_groups_and_settings_of_2020(tmp_path: Path) -> None:
    made = synthesize_nation(tmp_path / "n", people=1000, states=2, groups="2020")
    for name in ("params", "params-h"):
        assert len(read_specification(made.out / name).codes) == 1755
        configuration = read_configuration(made.out / name)
        assert (configuration.passes, configuration.parts("US")) == (("US",), ("01", "02"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"people": 0}, "people is 0"),
        ({"people": 10**9}, "at most 400000000"),
        ({"people": 10, "states": 52}, "states is 52"),
        ({"people": 10, "seed": -1}, "seed is -1"),
        ({"people": 10, "groups": "2010"}, "groups is '2010'"),
    ],
)
def test_bad_arguments(arguments: dict[str, int], text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=text):
        synthesize_nation(tmp_path / "n", **arguments)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("many", [1, 2, 40])
def test_few_people(many: int, tmp_path: Path) -> None:
    made = synthesize_nation(tmp_path / "n", people=many, states=1)
    assert len(rows(made.out / "phsafe" / "persons.csv")) == many


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(synthesis, "_write_areas", full)
    with pytest.raises(InputError, match="No space left"):
        synthesize_nation(tmp_path / "n", people=100)
    assert not list(tmp_path.iterdir())


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "n"
    assert run(["synth", str(out), "--people", "300", "--seed", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["people"], answer["seed"]) == (300, 2)
    assert len(answer["files"]) == sum(path.is_file() for path in out.rglob("*"))
    assert run(["synth", str(out), "--people", "300"]) == 2
    assert "not empty" in capsys.readouterr().err


@pytest.mark.slow
def test_memory_does_not_grow_with_the_people(tmp_path: Path) -> None:
    """Three million in the memory of one: measured 0.5 GB."""
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from discreet.nation.synthesis import synthesize_nation\n"
        "synthesize_nation(sys.argv[1], people=3_000_000, format='parquet')\n"
        "print([int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "n")], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 1_000_000
