"""The synthetic nation: repeatable, well-formed, uneven as real files are, and all or nothing."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from safetab_facts import BLOCK_COLUMNS, RACE_COLUMNS
from safetab_toy import SPEC_2020, TOY

from discreet.census.mechanism.groups import Specification
from discreet.census.safetab import synthetic
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.specification import read_specification
from discreet.census.safetab.synthetic import (
    PORTION,
    RACES_NAMED,
    SLOTS,
    Nation,
    Population,
    answers,
    build,
    pyramid,
    synthesize,
    table,
)
from discreet.cli import run
from discreet.errors import InputError


def rows(file: Path) -> list[dict[str, str]]:
    """Read a file in the plainest way."""
    header, *lines = file.read_text(encoding="ascii").splitlines()
    names = header.split("|")
    return [dict(zip(names, line.split("|"), strict=True)) for line in lines]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def key(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in BLOCK_COLUMNS)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Nation:
    return synthesize(tmp_path_factory.mktemp("synthetic") / "nation", persons=30_000, states=9, seed=5)


@pytest.fixture(scope="module")
def people(small: Nation) -> list[dict[str, str]]:
    return rows(small.data / "person-records.txt")


@pytest.fixture(scope="module")
def blocks(small: Nation) -> list[dict[str, str]]:
    return rows(small.data / "GRF-C.txt")


def population(people: int, seed: int) -> Population:
    source = np.random.default_rng(seed)
    country = build(people, ("01", "02", "04"), source)
    return Population(country, answers(_invented(), source), seed, source)


def _invented() -> Specification:
    import tempfile

    from discreet.census.safetab.synthetic import write_invented

    with tempfile.TemporaryDirectory() as folder:
        write_invented(Path(folder), ("01",))
        return read_specification(Path(folder))


def test_same_arguments_same_bytes(small: Nation, tmp_path: Path) -> None:
    again = synthesize(tmp_path / "again", persons=30_000, states=9, seed=5)
    assert contents(again.out) == contents(small.out)
    other = synthesize(tmp_path / "other", persons=30_000, states=9, seed=6)
    assert contents(other.out)["data/person-records.txt"] != contents(small.out)["data/person-records.txt"]
    assert contents(other.out)["data/GRF-C.txt"] != contents(small.out)["data/GRF-C.txt"]


def test_same_arguments_same_parquet(tmp_path: Path) -> None:
    one, two = (
        synthesize(tmp_path / name, persons=30_000, states=9, seed=5, format="parquet") for name in "ab"
    )
    assert contents(one.out) == contents(two.out)


def test_bytes_do_not_depend_on_threads_or_order(tmp_path: Path) -> None:
    made = population(PORTION + 1000, seed=3)
    made.portion(1)  # before the first one
    for threads in (1, 3):
        assert list(synthetic.write_people(tmp_path / f"{threads}", made, "csv", threads=threads)) == [
            PORTION,
            PORTION + 1000,
        ]
    fresh = population(PORTION + 1000, seed=3)
    list(synthetic.write_people(tmp_path / "fresh", fresh, "csv"))
    whole = (tmp_path / "1").read_bytes()
    assert whole == (tmp_path / "3").read_bytes() == (tmp_path / "fresh").read_bytes()


def test_parquet_holds_the_same_rows(small: Nation, people: list[dict[str, str]], tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = synthesize(tmp_path / "parquet", persons=30_000, states=9, seed=5, format="parquet")
    read = pq.read_table(made.data / "person-records.parquet")
    assert set(read.schema.types) == {pa.string()}
    assert read.to_pylist() == people
    assert pq.read_table(made.data / "GRF-C.parquet").to_pylist() == rows(small.data / "GRF-C.txt")


def test_every_record_is_well_formed(
    small: Nation, people: list[dict[str, str]], blocks: list[dict[str, str]]
) -> None:
    specification = read_specification(small.params)
    known = {key(row) for row in blocks}
    assert len(known) == len(blocks) == small.blocks
    assert len(people) == small.people == 30_000
    assert list(people[0]) == list(synthetic.PERSON)
    for row in people:
        races = [row[name] for name in RACE_COLUMNS]
        named = [race for race in races if race != "Null"]
        assert races == named + ["Null"] * (8 - len(named))
        assert 1 <= len(named) == len(set(named))
        assert {*named, row["QSPAN"]} <= specification.codes.keys()
        assert key(row) in known
        assert len(row["QAGE"]) == 3
        assert 0 <= int(row["QAGE"]) <= 115
        assert row["QSEX"] in ("1", "2")
        assert row["HOUSEHOLDER"] in ("True", "False")
        assert 1 <= int(row["CENRACE"]) <= 63
        assert row["HOUSEHOLDER"] == "False" or int(row["QAGE"]) >= 18
    widths = [2, 3, 6, 4, 5, 4]
    assert all([len(text) for text in row.values()] == widths for row in blocks)


def test_shapes_that_make_trouble_are_there(
    small: Nation, people: list[dict[str, str]], blocks: list[dict[str, str]]
) -> None:
    lived = Counter(key(row) for row in people)
    empty = [row for row in blocks if key(row) not in lived]
    assert 0.2 < len(empty) / len(blocks) < 0.5
    sizes = sorted(lived.values(), reverse=True)
    assert sum(sizes[: len(sizes) // 10]) > 0.3 * sum(sizes)  # skewed

    regions: dict[str, dict[tuple[str, ...], set[tuple[str, ...]]]] = defaultdict(lambda: defaultdict(set))
    for row in blocks:
        whole = key(row)
        regions["county"][whole[:2]].add(whole)
        regions["tract"][whole[:3]].add(whole)
        regions["state"][whole[:1]].add(whole)
        if row["PLACEFP"] != "99999":
            regions["place"][whole[0], row["PLACEFP"]].add(whole)
        if row["AIANNHCE"] != "9999":
            regions["area"][(row["AIANNHCE"],)].add(whole)
    for kind, count in (("county", small.counties), ("tract", small.tracts), ("state", small.states)):
        assert len(regions[kind]) == count
    assert (len(regions["place"]), len(regions["area"])) == (small.places, small.areas)
    for kind in ("place", "area"):
        assert any(len({block[:3] for block in one}) > 1 for one in regions[kind].values()), kind
    assert any(len({block[:2] for block in one}) > 1 for one in regions["place"].values())
    tracts = {frozenset(one) for one in regions["tract"].values()}
    assert tracts & {frozenset(one) for one in regions["county"].values()}
    assert tracts & {frozenset(one) for one in regions["place"].values()}
    assert all(row["AIANNHCE"] == "9999" for row in blocks if row["TABBLKST"] == "72")
    assert any(row["TABBLKST"] == "72" for row in people)
    assert regions["state"]["11",] == regions["county"]["11", "001"]  # the ninth state is the one-county one


def test_people_vary_as_meant(people: list[dict[str, str]]) -> None:
    many = len(people)
    named = Counter(sum(row[name] != "Null" for name in RACE_COLUMNS) for row in people)
    # 5 standard deviations; a race drawn twice is named once, so that a few have fewer than was drawn
    assert abs(named[1] / many - RACES_NAMED[0]) < 5 * (0.89 * 0.11 / many) ** 0.5 + 0.005
    assert named[8] > 0
    men = sum(row["QSEX"] == "1" for row in people)
    assert abs(men / many - 0.492) < 5 * (0.25 / many) ** 0.5
    hispanic = [row["QSPAN"] != "9900" for row in people if row["TABBLKST"] == "72"]
    assert sum(hispanic) / len(hispanic) > 0.9
    assert max(int(row["QAGE"]) for row in people) > 95


def test_neighbours_are_alike(people: list[dict[str, str]]) -> None:
    """The index of dissimilarity of the largest group over tracts, against the same people shuffled."""
    tract = np.unique(["".join(key(row)[:3]) for row in people], return_inverse=True)[1]
    group = np.unique([row["QRACE1"] for row in people], return_inverse=True)[1]
    largest = group == np.bincount(group).argmax()

    def index(chosen: np.ndarray) -> float:
        inside, outside = np.bincount(tract, chosen), np.bincount(tract, ~chosen)
        return float(np.abs(inside / inside.sum() - outside / outside.sum()).sum() / 2)

    shuffled = np.random.default_rng(1).permutation(largest)
    assert index(largest) > 3 * index(shuffled)


def test_ages_follow_the_pyramid() -> None:
    """Chi-squared over decades of age of one profile and sex; false alarms in 1 of 1,000 seeds."""
    from scipy.stats import chi2

    made = population(200_000, seed=8)
    drawn = made.portion(0)
    chosen = (made.profile[made.country.tract[drawn.block]] == 1) & (drawn.sex == 1)
    seen = np.bincount(drawn.age[chosen], minlength=116).astype(float)

    def statistic(shares: np.ndarray) -> float:
        expected, bands = seen.sum() * shares, np.minimum(np.arange(116) // 10, 9)
        counts, hoped = np.bincount(bands, seen), np.bincount(bands, expected)
        return float(((counts - hoped) ** 2 / hoped).sum())

    shares = np.bincount(table(pyramid(1, 0)), minlength=116) / SLOTS
    limit = chi2.ppf(0.999, 9)
    assert statistic(shares) < limit
    tilted = shares * np.linspace(1.1, 0.9, 116)  # 10 % too many young, 10 % too few old
    assert statistic(tilted / tilted.sum()) > limit


def test_the_invented_specification_is_complete(small: Nation) -> None:
    specification, configuration = read_specification(small.params), read_configuration(small.params)
    for level in (1, 2):
        assert specification.stability(level, configuration.max_race_codes).value == 9
    kinds = {(one.level, one.kind) for one in specification.iterations}
    assert kinds == {(level, kind) for level in (0, 1, 2) for kind in ("alone", "combination", "ethnicity")}
    flags = {(one.total_only, one.coarse_only) for one in specification.iterations}
    assert flags == {(False, False), (True, False), (False, True)}
    # design/safetab.md: production spends 4.944 in the United States and 2.643 in Puerto Rico
    for which, spent in (("US", "4.944"), ("PR", "2.643")):
        assert sum(configuration.budgets[place] or 0 for place in configuration.levels(which)) == Fraction(
            spent
        )
    assert configuration.parts("US") == ("01", "02", "04", "05", "06", "08", "09", "10", "11")


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_it_can_be_used(format: Literal["csv", "parquet"], tmp_path: Path) -> None:
    made = synthesize(tmp_path / "nation", persons=3000, seed=4, format=format)
    assert run(["safetab", "validate", str(made.params), str(made.data), "--quiet"]) == 0


@pytest.mark.parametrize("params", [SPEC_2020, TOY], ids=["2020", "toy"])
def test_codes_of_a_given_specification(params: Path, tmp_path: Path) -> None:
    made = synthesize(tmp_path / "nation", persons=20_000, params=params)
    specification = read_specification(params)
    assert made.codes == len(specification.codes)
    assert made.states == len(read_configuration(params).parts("US")) + 1
    assert sorted(path.name for path in made.out.iterdir()) == ["data"]  # nothing is copied
    used = set()
    for row in rows(made.data / "person-records.txt"):
        used |= {row["QSPAN"], *(row[name] for name in RACE_COLUMNS)} - {"Null"}
    assert used <= specification.codes.keys()
    assert len(used) > 0.4 * len(specification.codes)


@pytest.mark.parametrize("many", [1, 2, 40])
def test_few_people(many: int, tmp_path: Path) -> None:
    made = synthesize(tmp_path / "nation", persons=many, states=1)
    assert len(rows(made.data / "person-records.txt")) == many


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"persons": 0}, "persons is 0"),
        ({"persons": 10**10}, "at most"),
        ({"persons": 10, "states": 0}, "states is 0"),
        ({"persons": 10, "states": 52}, "states is 52; there are 1 to 51"),
        ({"persons": 10, "seed": -1}, "seed is -1"),
        ({"persons": 10, "params": "nowhere"}, "nowhere"),
    ],
)
def test_bad_arguments(arguments: dict[str, int], text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=text):
        synthesize(tmp_path / "nation", **arguments)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> Iterator[int]:
        yield 1
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(synthetic, "write_people", full)
    with pytest.raises(InputError, match="No space left on device"):
        synthesize(tmp_path / "nation", persons=100)
    assert not list(tmp_path.iterdir())


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "nation"
    assert run(["safetab", "synth", str(out), "--persons", "300", "--seed", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["persons"] == 300
    assert answer["states"] == 4
    assert sorted(answer["files"]) == sorted(contents(out))
    assert run(["safetab", "synth", str(out), "--persons", "300"]) == 2
    assert "not empty" in capsys.readouterr().err


# not ru_maxrss: a process starts with the peak of the one that started it, here all tests before this one
PEAK = "[int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM')][0]"


def of_a_process(code: str, *arguments: str) -> list[float]:
    """Run code in a process of its own and return the numbers that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return [float(number) for number in done.stdout.split()]


def test_the_peak_is_that_of_the_process_alone() -> None:
    """A small process started by one that once had 300 MB has less than 100 MB."""
    small = f"import resource; print({PEAK}, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    large = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", "pass"])
b"1" * 300_000_000
print(subprocess.run([sys.executable, "-c", {small!r}], capture_output=True, text=True).stdout)
"""
    own, inherited = of_a_process(large)
    assert own < 100_000
    assert own <= inherited  # on Linux the second includes the 300 MB


@pytest.mark.slow
def test_ten_million_in_two_minutes_and_one_gigabyte(tmp_path: Path) -> None:
    """Measured: 10 CPU-seconds and 304 MB."""
    code = (
        "import os, sys\n"
        "from discreet.census.safetab.synthetic import synthesize\n"
        "synthesize(sys.argv[1], persons=10_000_000)\n"
        f"print(sum(os.times()[:2]), {PEAK})"
    )
    seconds, kilobytes = of_a_process(code, str(tmp_path / "n"))
    assert seconds < 120
    assert kilobytes < 1e6
