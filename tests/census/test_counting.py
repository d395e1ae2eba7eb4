"""GroupCounts against the Bureau program's own output, and against a second tabulator."""

from __future__ import annotations

import csv
import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetab_brute import TOPS, random_blocks, random_person, tabulate
from safetab_facts import GEOGRAPHIES, LADDER, LEVELS, RANGES
from safetab_toy import published

from discreet.census.mechanism import counts as counting
from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.counts import GroupCounts
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.records import count
from discreet.errors import DiscreetError, InputError
from discreet.records.engine import Engine

Parameters = tuple[Configuration, Specification]


def everything(counts: GroupCounts, by_age: Sequence[str] = GEOGRAPHIES) -> tuple[Counter[Any], Counter[Any]]:
    """All totals, and all cells at some geographies, of all groups with people, by name."""
    totals: Counter[Any] = Counter()
    cells: Counter[Any] = Counter()
    codes = [one.code for one in counts.specification.iterations]
    for geography in GEOGRAPHIES:
        regions = counts.regions(geography)
        for level in LEVELS:
            table = counts.totals(geography, level)
            rows = table.to_pylist()
            assert [(r["region"], r["iteration"]) for r in rows] == sorted(
                (r["region"], r["iteration"]) for r in rows
            )
            for row in rows:
                totals[geography, regions[row["region"]], codes[row["iteration"]]] = row["count"]
            if geography not in by_age:
                continue
            for row in counts.cells(geography, level, table).to_pylist():
                key = geography, regions[row["region"]], codes[row["iteration"]], *sex_and_age(row["cell"])
                cells[key] = row["count"]
    return totals, cells


def sex_and_age(cell: int) -> tuple[int, int]:
    """Sex, 1 or 2, and the number of the age range of a finest cell."""
    return cell // len(RANGES[-1]) + 1, cell % len(RANGES[-1])


def expected() -> tuple[Counter[Any], Counter[Any]]:
    """What the Bureau's program published of the toy, without noise; zeros left out."""
    totals: Counter[Any] = Counter()
    cells: Counter[Any] = Counter()
    for row in csv.DictReader(published()["t1"], delimiter="|"):
        totals[row["REGION_TYPE"], row["REGION_ID"], row["ITERATION_CODE"]] = int(row["COUNT"])
    for row in csv.DictReader(published()["t2"], delimiter="|"):
        if row["AGESTART"] != "*":
            key = row["REGION_TYPE"], row["REGION_ID"], row["ITERATION_CODE"], int(row["SEX"])
            cells[(*key, int(row["AGESTART"]), int(row["AGEEND"]))] = int(row["COUNT"])
    return +totals, +cells


@pytest.mark.parametrize(
    "engine",
    ["duckdb", pytest.param("spark", marks=[pytest.mark.xdist_group("spark"), pytest.mark.slow])],
    indirect=True,
)
def test_the_toy_is_counted_as_the_bureau_counts_it(
    engine: Engine, toy: Path, toy_parameters: Parameters
) -> None:
    # a question to Spark takes a second, so not all of them are asked by age
    places = GEOGRAPHIES if engine.name == "duckdb" else ("PLACE", "PR-TRACT")
    with count(toy, *toy_parameters, engine=engine) as counts:
        totals, cells = everything(counts, places)
    published, by_age = expected()
    assert totals == published
    by_age = Counter({key: number for key, number in by_age.items() if key[0] in places})
    # a published table has 4, 9 or 23 age ranges, depending on the group's size
    finest = {span: place for place, span in enumerate(RANGES[2])}
    for (*group, start, end), number in by_age.items():
        ages = [place for (low, high), place in finest.items() if start <= low and high <= end]
        assert ages
        assert sum(cells[(*group, age)] for age in ages) == number, (group, start, end)
    tables = {tuple(key[:3]) for key in by_age}
    assert sum(number for key, number in cells.items() if key[:3] in tables) == sum(by_age.values())


def test_age_ranges_are_those_of_the_published_tables() -> None:
    spans: dict[Any, set[tuple[int, int]]] = {}
    for row in csv.DictReader(published()["t2"], delimiter="|"):
        if row["AGESTART"] != "*":
            key = row["REGION_TYPE"], row["REGION_ID"], row["ITERATION_CODE"]
            spans.setdefault(key, set()).add((int(row["AGESTART"]), int(row["AGEEND"])))
    assert {tuple(sorted(one)) for one in spans.values()} == set(RANGES)
    assert tuple(end for _, end in RANGES[2]) == TOPS
    for table, ranges in enumerate(RANGES, 1):
        for fine, (start, end) in enumerate(RANGES[2]):
            place = LADDER.cell_of[table, fine]
            assert ranges[place][0] <= start
            assert end <= ranges[place][1]


@given(seed=st.integers(0, 2**32), persons=st.integers(0, 40), most=st.integers(1, 8))
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_input_against_the_second_tabulator(
    write: Callable[..., Path],
    duckdb_engine: Engine,
    toy_parameters: Parameters,
    seed: int,
    persons: int,
    most: int,
) -> None:
    source = random.Random(seed)
    configuration, specification = toy_parameters
    configuration = dataclasses.replace(
        configuration,
        max_race_codes=most,
        passes=("US", "PR") if source.random() < 0.8 else ("US",),
        filters={"US": ("01", "02", "11")[: source.randint(1, 3)]},
    )
    blocks = [("01", "001", "000100", "9000", "99999", "9999"), *random_blocks(source, 12)]
    rows = [random_person(source, blocks, list(specification.codes)) for _ in range(persons)]
    totals, cells = tabulate(blocks, rows, configuration, specification)
    places = source.sample(GEOGRAPHIES, 3)
    with count(write(blocks, rows), configuration, specification, engine=duckdb_engine) as counts:
        found, by_age = everything(counts, places)
    assert found == totals
    assert by_age == {key: number for key, number in cells.items() if key[0] in places}


def test_the_specification_of_2020_against_the_second_tabulator(
    write: Callable[..., Path], engine: Engine, parameters_2020: Parameters
) -> None:
    source = random.Random(20200401)
    configuration, specification = parameters_2020
    blocks = random_blocks(source, 60)
    rows = [random_person(source, blocks, list(specification.codes)) for _ in range(400)]
    totals, _ = tabulate(blocks, rows, configuration, specification)
    places = GEOGRAPHIES if engine.name == "duckdb" else ("STATE", "TRACT", "PR-PLACE")
    codes = [one.code for one in specification.iterations]
    with count(write(blocks, rows), configuration, specification, engine=engine) as counts:
        for geography in places:
            regions = counts.regions(geography)
            found = {
                (geography, regions[row["region"]], codes[row["iteration"]]): row["count"]
                for level in LEVELS
                for row in counts.totals(geography, level).to_pylist()
            }
            assert found == {key: number for key, number in totals.items() if key[0] == geography}
            assert found


def test_two_codes_of_one_group_count_a_person_once(
    write: Callable[..., Path], duckdb_engine: Engine, toy_parameters: Parameters
) -> None:
    # 1010, 1011 and 1012 all belong to Albanian; 1010 comes twice
    block = ("01", "001", "000001", "0001", "99999", "9999")
    races = ("1010", "1011", "1012", "1010", *["Null"] * 4)
    data = write([block], [("30", "2", "True", *block[:4], "01", *races, "1000")])
    with count(data, *toy_parameters, engine=duckdb_engine) as counts:
        totals, cells = everything(counts)
    assert totals["COUNTY", "01001", "1140"] == totals["COUNTY", "01001", "3001"] == 1
    assert set(totals.values()) == {1}
    assert {key[3:] for key in cells} == {(2, 9)}


def test_only_the_asked_groups_are_given_by_age(
    duckdb_engine: Engine, toy: Path, toy_parameters: Parameters
) -> None:
    with count(toy, *toy_parameters, engine=duckdb_engine) as counts:
        totals = counts.totals("STATE", 2)
        some = totals.slice(1, 2)
        cells = counts.cells("STATE", 2, some)
        pairs = {(row["region"], row["iteration"]) for row in cells.to_pylist()}
        assert pairs == {(row["region"], row["iteration"]) for row in some.to_pylist()}
        assert sum(cells.column("count").to_pylist()) == sum(some.column("count").to_pylist())
        assert counts.cells("STATE", 2, totals.slice(0, 0)).num_rows == 0


def test_types_are_as_wide_as_they_say(duckdb_engine: Engine, toy: Path, toy_parameters: Parameters) -> None:
    with count(toy, *toy_parameters, engine=duckdb_engine) as counts:
        totals = counts.totals("USA", 1)
        assert totals.schema.types == [pa.int32(), pa.int32(), pa.int64()]
        cells = counts.cells("USA", 1, totals)
        assert cells.schema.types == [pa.int32(), pa.int32(), pa.int32(), pa.int64()]
        with pytest.raises(InputError, match="geography is 'MOON'"):
            counts.totals("MOON", 1)
        with pytest.raises(InputError, match="level is 0"):
            counts.totals("USA", 0)


def test_groups_and_origins(duckdb_engine: Engine, toy: Path, toy_parameters: Parameters) -> None:
    import hashlib

    with count(toy, *toy_parameters, engine=duckdb_engine) as counts:
        assert not any(one.total_only for one in counts.specification.tabulated("TRACT", 2))
        assert not any(one.coarse_only for one in counts.specification.tabulated("USA", 2))
        persons = counts.origins()[1]
    content = (toy / "person-records.txt").read_bytes()
    assert persons == {
        "role": "persons",
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_state_by_state_gives_the_same(
    duckdb_engine: Engine,
    write: Callable[..., Path],
    parameters_2020: Parameters,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    """Many records are counted a state at a time, few all at once: the same totals, and the same cells."""
    source = random.Random(seed)
    blocks = random_blocks(source, 60)
    codes = list(parameters_2020[1].codes)
    data = write(blocks, [random_person(source, blocks, codes) for _ in range(400)])
    found = []
    for few in (counting.FEW, 0):
        monkeypatch.setattr(counting, "FEW", few)
        with count(data, *parameters_2020, engine=duckdb_engine) as counts:
            found.append(everything(counts, GEOGRAPHIES))
    assert found[0] == found[1]
    assert len({key[0] for key in found[0][0]}) > 5
    # nothing stays in the private directory
    assert not list(duckdb_engine.place.glob("discreet_*"))


@pytest.mark.parametrize("few", [counting.FEW, 0])
@pytest.mark.parametrize("home", ["nobody", "01 02", "72"])
def test_cells_of_a_geography_where_nobody_lives_are_empty(
    duckdb_engine: Engine,
    write: Callable[..., Path],
    toy_parameters: Parameters,
    monkeypatch: pytest.MonkeyPatch,
    home: str,
    few: int,
) -> None:
    """Noise alone can give an empty group a table by sex and age: its cells are asked for all the same."""
    monkeypatch.setattr(counting, "FEW", few)
    blocks = [(state, "001", "000100", "1000", "00100", "9999") for state in ("01", "02", "72")]
    codes = list(toy_parameters[1].codes)
    people = [random_person(random.Random(1), [one], codes) for one in blocks if one[0] in home]
    with count(write(blocks, people), *toy_parameters, engine=duckdb_engine) as counts:
        for geography in ("USA", "STATE", "TRACT", "PR-STATE", "PR-COUNTY", "PR-PLACE"):
            (group, *_) = counts.specification.places(geography, 2)
            asked = pa.table({"region": [0], "iteration": [group]})
            found = counts.cells(geography, 2, asked).num_rows
            assert found == 0 or (home == "72") == geography.startswith("PR-")


def test_more_groups_than_the_noise_is_made_for_are_refused(
    duckdb_engine: Engine, toy: Path, toy_parameters: Parameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Specification, "stability", lambda *_: SimpleNamespace(value=1))
    with pytest.raises(DiscreetError, match=r"groups of level ., but the noise is scaled for 1"):
        count(toy, *toy_parameters, engine=duckdb_engine)


def test_sums_of_states_take_few_bytes_and_are_right() -> None:
    """Against a plain count (seeds 1 to 40): states one after the other, and areas that cross them."""
    for seed in range(1, 41):
        chance, counted = np.random.default_rng(seed), Counter[int]()
        parts = []
        for state in range(int(chance.integers(1, 6))):
            low = state * 10_000 if seed % 2 else 0
            key = chance.integers(low, low + 9_999, int(chance.integers(1, 400)))
            count = chance.integers(1, 10 ** int(chance.integers(1, 11)), key.size)
            for one, many in zip(key.tolist(), count.tolist(), strict=True):
                counted[one] += many
            parts.append(counting.summed([(key, count)]))
        key, count = counting.summed(parts)
        assert dict(zip(key.tolist(), count.tolist(), strict=True)) == counted
        assert key.tolist() == sorted(counted)
        assert key.dtype == np.uint32
        assert count.dtype == np.min_scalar_type(max(counted.values()))
    wide, _ = counting.summed([(np.array([2**40]), np.array([1]))])
    assert wide.tolist() == [2**40]


def test_a_run_keeps_a_few_bytes_for_each_group(
    toy: Path, toy_parameters: Parameters, duckdb_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts state by state are held once, not as sums and again as totals: the peak of a nation's run."""
    monkeypatch.setattr(counting, "FEW", 0)
    with count(toy, *toy_parameters, engine=duckdb_engine) as counts:
        public = len(counts.specification.iterations)
        held = [array for value in vars(counts).values() for array in arrays(value) if array.size != public]
        groups = sum(counts.totals(name, level).num_rows for name in GEOGRAPHIES for level in LEVELS)
        assert groups > 100
        assert groups <= sum(array.size for array in held) // 2
        assert sum(array.nbytes for array in held) < 12 * groups


def arrays(value: object) -> list[np.ndarray[Any, Any]]:
    """All arrays in a value, however deep in lists, tuples and dictionaries."""
    if isinstance(value, np.ndarray):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [array for one in inner for array in arrays(one)]
