"""Regions from GRF-C, and which of them are made of the same blocks."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from safetab_brute import random_blocks, regions_of
from safetab_facts import GEOGRAPHIES, STATES

from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.records import read_geography
from discreet.census.mechanism.regions import Geography
from discreet.census.safetab.specification import WATER_FILE, read_water
from discreet.errors import InputError
from discreet.records.engine import Engine

Parameters = tuple[Configuration, Specification]
Named = set[frozenset[tuple[str, str]]]


def named(geography: Geography, water: frozenset[str] = frozenset()) -> Named:
    classes = geography.coterminous(water)
    for members in classes:
        places = [GEOGRAPHIES.index(name) for name, _ in members]
        assert places == sorted(places), "the highest geography comes first"
    return {
        frozenset((name, geography.regions[name][index]) for name, index in members) for members in classes
    }


def by_hand(
    blocks: Sequence[Sequence[str]], configuration: Configuration, water: frozenset[str] = frozenset()
) -> Named:
    """The same from sets of blocks."""
    made: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for row in blocks:
        if "".join(row[:3]) not in water:
            for region in regions_of(row, configuration):
                made.setdefault(region, set()).add(tuple(row[:4]))
    found: dict[frozenset[tuple[str, ...]], set[tuple[str, str]]] = {}
    for region, own in made.items():
        if region[0] != "USA":
            found.setdefault(frozenset(own), set()).add(region)
    return {frozenset(regions) for regions in found.values() if len(regions) > 1}


def test_regions_of_the_toy(engine: Engine, toy: Path, toy_parameters: Parameters) -> None:
    geography = read_geography(toy, toy_parameters[0], engine=engine)
    assert geography.regions["USA"] == ("1",)
    assert geography.regions["STATE"] == ("01", "02", "11")
    assert geography.regions["PLACE"] == ("0122800", "0222800")
    assert geography.regions["AIANNH"] == ("0001", "0002", "0003")
    assert geography.regions["PR-TRACT"] == ("72031050901", "72031050902")
    assert geography.regions["PR-PLACE"] == ("7210001",)
    # the District of Columbia of the toy is one county of one tract
    assert frozenset([("STATE", "11"), ("COUNTY", "11001"), ("TRACT", "11001000100")]) in named(geography)


@pytest.mark.parametrize("seed", range(8))
def test_the_same_blocks_by_hand(
    write: Callable[..., Path], duckdb_engine: Engine, toy_parameters: Parameters, seed: int
) -> None:
    source = random.Random(seed)
    blocks = [("01", "001", "000900", "9000", "99999", "9999"), *random_blocks(source, source.randint(2, 25))]
    geography = read_geography(write(blocks, []), toy_parameters[0], engine=duckdb_engine)
    tracts = sorted({"".join(row[:3]) for row in blocks})
    for water in (frozenset[str](), frozenset(source.sample(tracts, len(tracts) // 2))):
        assert named(geography, water) == by_hand(blocks, toy_parameters[0], water)


def test_a_tract_of_water_makes_no_difference(
    write: Callable[..., Path], duckdb_engine: Engine, toy_parameters: Parameters, tmp_path: Path
) -> None:
    land, lake = (
        ("01", "001", "000100", "1000", "99999", "9999"),
        ("01", "001", "990000", "0001", "99999", "9999"),
    )
    other = ("01", "003", "000100", "1000", "99999", "9999")
    geography = read_geography(write([land, lake, other], []), toy_parameters[0], engine=duckdb_engine)
    pair = frozenset([("COUNTY", "01001"), ("TRACT", "01001000100")])
    assert pair not in named(geography)
    (tmp_path / WATER_FILE).write_text("01001990000\r\n\r\n")
    water = read_water(tmp_path)
    assert water == {"01001990000"}
    assert pair in named(geography, water)
    assert read_water(tmp_path / "elsewhere") == frozenset()
    (tmp_path / WATER_FILE).write_text("01001990000\n990000\n")
    with pytest.raises(InputError, match=r"not of eleven digits.*line 2"):
        read_water(tmp_path)


def test_states_of_the_filter(
    write: Callable[..., Path], duckdb_engine: Engine, toy_parameters: Parameters
) -> None:
    rows = [(state, "001", "000100", "1000", "99999", "9999") for state in ("01", "04", "72")]
    data = write(rows, [])
    wanted = dataclasses.replace(toy_parameters[0], filters={"US": ("01", "56")})
    geography = read_geography(data, wanted, engine=duckdb_engine)
    assert geography.regions["STATE"] == ("01",)
    assert geography.regions["PR-STATE"] == ("72",)
    assert geography.notes == (
        "state_filter_us names 1 state not in GRF-C: 56",
        "GRF-C has 1 state that state_filter_us leaves out: 04",
    )
    nobody = dataclasses.replace(wanted, filters={"US": ("56",)}, passes=("US",))
    with pytest.raises(InputError, match="GRF-C has no state of state_filter_us, so nothing"):
        read_geography(data, nobody, engine=duckdb_engine)
    elsewhere = dataclasses.replace(wanted, filters={"US": ("56",)})
    with pytest.raises(InputError, match="nothing of the United States would be tabulated"):
        read_geography(data, elsewhere, engine=duckdb_engine)
    everywhere = dataclasses.replace(wanted, filters={"US": STATES})
    island = read_geography(write(rows[2:], []), everywhere, engine=duckdb_engine)
    assert island.regions["PR-STATE"] == ("72",)
    assert "names 51 states not in GRF-C" in island.notes[0]
    alone = dataclasses.replace(wanted, passes=("PR",))
    assert not read_geography(data, alone, engine=duckdb_engine).regions["STATE"]
    with pytest.raises(InputError, match=r"not Puerto Rico \(72\)"):
        read_geography(write(rows[:2], []), alone, engine=duckdb_engine)
