"""People and households counted together: the Bureau's rows, limits, sensitivity, and odd records."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.account import account
from discreet.areas.tree import Integers
from discreet.budget import Release, load
from discreet.budget.joins import HOUSEHOLDS, Join
from discreet.cli import run
from discreet.errors import InputError
from discreet.estimation import estimate
from discreet.measurement import measure, tabulate
from discreet.records import check_records
from discreet.records.joined_records import JoinedSources, count_joined, examine_join

TOY = Path(__file__).parent / "sdhc"
"""Synthetic people and households, and what the Census Bureau's public program (PHSafe 3.0.0, without noise)
counts in them with the limits of production and without; cells not listed in `expected.txt` are 0."""

FILES = {"households": TOY / "units.csv", "addresses": TOY / "geo.csv"}
SIZES = {"us": 976, "pr": 244}
"""Rows that the program writes."""

SMALL = """
name = "homes"
unit = "household"
neighbours = "bounded"
[people.attributes]
age = ["child", "adult"]
[households]
key = "address"
[households.attributes]
tenure = ["own", "rent", "vacant"]
[splits.home]
own = { tenure = ["own"] }
rent = { tenure = ["rent"] }
[tables."people"]
at_most = 2
by = "home * age"
[tables."children"]
where = { age = ["child"] }
at_most = 1
by = "home"
[tables."homes"]
of = "households"
where = { tenure = ["own", "rent"] }
by = "home"
[[levels]]
name = "Nation"
queries = { "people" = { variance = 90 }, "children" = { variance = 20 }, "homes" = { variance = 8 } }
[[levels]]
name = "District"
queries = { "people" = { variance = 40 }, "homes" = { variance = 8 } }
"""

AREAS = pyarrow.table(
    {"unit": ["N", "a", "b"], "level": ["Nation", "District", "District"], "parent": ["", "N", "N"]}
)


def small(most: int = 2) -> Release:
    """The small release, with another limit on people a household."""
    return Release.from_toml(SMALL.replace("at_most = 2", f"at_most = {most}"))


def counted(
    release: Release,
    people: Sequence[tuple[str, str]],
    homes: Sequence[tuple[str, str, str]],
    secret: bytes = b"k" * 32,
) -> dict[tuple[str, str], Integers]:
    """Count (address, age) and (address, area, tenure)."""
    first = pyarrow.table({name: [one[k] for one in people] for k, name in enumerate(("address", "age"))})
    names = ("address", "unit", "tenure")
    second = pyarrow.table({name: [one[k] for one in homes] for k, name in enumerate(names)})
    if not people:
        first = first.cast(pyarrow.schema([("address", "string"), ("age", "string")]))
    areas = AREAS
    if extra := sorted({one[1] for one in homes} - {"a", "b"}):
        rows = [{"unit": one, "level": "District", "parent": "N"} for one in extra]
        areas = pyarrow.concat_tables([AREAS, pyarrow.Table.from_pylist(rows, schema=AREAS.schema)])
    sources = JoinedSources(first, second, None, areas, None, release.input or load_plain())
    found = count_joined(release, sources, secret)
    layout = found.layout
    made = {}
    for unit, name in enumerate(layout.tree.names.to_pylist()):
        numbers, kind = found.read(slice(unit, unit + 1)), int(layout.kind[unit])
        for query in layout.asked[kind]:
            start = layout.offset(kind, query)
            made[name, query] = numbers[start : start + len(layout.cells[query])]
    return made


def load_plain() -> object:
    from discreet.records.input import TableInput

    return TableInput()


# -- the Bureau's rows ---------------------------------------------------------------------------------------


def expected(region: str, column: str) -> dict[tuple[str, ...], int]:
    with (TOY / "expected.txt").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="|") if row["run"] == region]
    keys = ("table", "region", "level", "iteration", "cell")
    return {tuple(row[key] for key in keys): int(row[column]) for row in rows if row[column] != "0"}


def written(folder: Path) -> dict[tuple[str, ...], int]:
    """Read the Bureau's columns back."""
    found = {}
    for file in sorted(folder.glob("PH*.csv")):
        with file.open(encoding="utf-8") as stream:
            for row in csv.DictReader((line for line in stream if line[0] != "#"), delimiter="|"):
                cell = row[f"{file.stem.partition('.')[0].upper()}_DATA_CELL"]
                key = file.stem, row["REGION_ID"], row["REGION_TYPE"], row.get("ITERATION_CODE", "*"), cell
                found[key] = int(row["COUNT"])
    return found


def without_limits(release: Release) -> Release:
    """The same tables with a limit that nobody reaches."""
    text = re.sub(r"^at_most = \d+$", "at_most = 100000", release.to_toml(), flags=re.MULTILINE)
    return Release.from_toml(re.sub(r'^rho = "[^"]*"\n', "", text, count=1, flags=re.MULTILINE))


@pytest.mark.parametrize(("region", "name"), [("us", "sdhc-2020"), ("pr", "sdhc-2020-pr")])
@pytest.mark.parametrize("limits", ["with limits", "without limits"])
def test_no_row_differs_from_the_bureaus_program(region: str, name: str, limits: str, tmp_path: Path) -> None:
    release = load(name) if limits == "with limits" else without_limits(load(name))
    tabulate(release, TOY / "persons.csv", tmp_path / "out", **FILES, bureau_columns=True)
    found = written(tmp_path / "out")
    assert len(found) == SIZES[region]
    assert {key: count for key, count in found.items() if count} == expected(region, limits)


def test_names_in_the_first_line_do_not_matter(tmp_path: Path) -> None:
    files = {}
    for file in ("persons.csv", "units.csv", "geo.csv"):
        lines = (TOY / file).read_text(encoding="utf-8").splitlines()
        lines[0] = ",".join("x" for _ in lines[0].split(","))
        files[file] = tmp_path / file
        files[file].write_text("\n".join([lines[0], *reversed(lines[1:])]), encoding="utf-8")
    others = {"households": files["units.csv"], "addresses": files["geo.csv"]}
    tabulate("sdhc-2020", files["persons.csv"], tmp_path / "out", **others, bureau_columns=True)
    found = {key: count for key, count in written(tmp_path / "out").items() if count}
    assert found == expected("us", "with limits")
    files["geo.csv"].write_text("MAFID\n1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"geo.csv has 1 column; it must have 3: RTYPE_GEO, MAFID, TABBLKST"):
        tabulate("sdhc-2020", files["persons.csv"], tmp_path / "more", **others)


def test_a_unit_whose_key_repeats_is_left_out_with_its_people(tmp_path: Path) -> None:
    lines = (TOY / "units.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "units.csv").write_text("\n".join([*lines, lines[1]]), encoding="utf-8")
    shorter = [line for line in lines if line != lines[1]]
    (tmp_path / "fewer.csv").write_text("\n".join(shorter), encoding="utf-8")
    key = lines[1].split(",")[1]
    people = (TOY / "persons.csv").read_text(encoding="utf-8").splitlines()
    assert sum(key in line for line in people) > 0
    (tmp_path / "persons.csv").write_text("\n".join(line for line in people if key not in line))
    for name, persons in (("units", TOY / "persons.csv"), ("fewer", tmp_path / "persons.csv")):
        files = {"households": tmp_path / f"{name}.csv", "addresses": TOY / "geo.csv"}
        tabulate("sdhc-2020", persons, tmp_path / f"{name}-out", **files, bureau_columns=True)
    assert written(tmp_path / "units-out") == written(tmp_path / "fewer-out")


def reference_order(rows: list[tuple[str, ...]], integers: Sequence[int], most: int) -> list[tuple[str, ...]]:
    """The Bureau's order, written once more from its description: at most so many rows with equal keys."""

    def h(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    copies: Counter[tuple[str, ...]] = Counter()
    keyed = []
    for row in rows:
        copies[row] += 1
        fields = [h(bin(int(text))[2:]) if k in integers else h(text) for k, text in enumerate(row)]
        keyed.append((h(h(",".join([*fields, h(bin(copies[row])[2:])]))), row))
    return sorted(row for _, row in sorted(keyed)[:most])


@settings(max_examples=15)
@given(
    ages=st.lists(st.sampled_from(["0", "1", "2", "17", "40", "41", "90"]), min_size=1, max_size=12),
    most=st.integers(1, 6),
)
def test_the_bureaus_order_is_the_one_described(ages: list[str], most: int) -> None:
    text = SMALL.replace('age = ["child", "adult"]', "age = 116").replace('"child"', '"0..17"')
    text = text.replace(
        "[people.attributes]",
        '[people]\norder = { sha256 = ["address", "age"], integers = ["age"] }\n[people.attributes]',
    ).replace("at_most = 2", f"at_most = {most}")
    release = Release.from_toml(text)
    people = [("h1", age) for age in ages]
    counts = counted(release, people, [("h1", "a", "own")])["N", "people"].reshape(2, 116)[0]
    kept = Counter(int(age) for _, age in reference_order(people, [1], most))
    assert {age: int(many) for age, many in enumerate(counts) if many} == dict(kept)


# -- the limit -----------------------------------------------------------------------------------------------

HOMES = [("h1", "a", "own"), ("h2", "a", "rent"), ("h3", "b", "own"), ("h4", "b", "vacant")]
PEOPLE = st.lists(
    st.tuples(st.sampled_from(["h1", "h2", "h3"]), st.sampled_from(["child", "adult"])), max_size=14
)


@settings(max_examples=12)
@given(
    people=PEOPLE,
    shuffled=st.randoms(use_true_random=False),
    most=st.integers(1, 3),
    key=st.binary(min_size=4),
)
def test_the_limit_looks_at_the_content_of_one_household(
    people: list[tuple[str, str]], shuffled: object, most: int, key: bytes
) -> None:
    """The order of rows and other households do not matter, and no household adds more than the limit."""
    release, again = small(most), list(people)
    shuffled.shuffle(again)  # type: ignore[attr-defined]
    whole, turned = counted(release, people, HOMES, key), counted(release, again, HOMES, key)
    assert all((whole[one] == turned[one]).all() for one in whole)
    parts = [
        counted(release, [one for one in people if one[0] == home], HOMES, key)["N", "people"]
        for home in ("h1", "h2", "h3")
    ]
    assert (sum(parts) == whole["N", "people"]).all()
    many = Counter(home for home, _ in people)
    assert [int(part.sum()) for part in parts] == [min(most, many[home]) for home in ("h1", "h2", "h3")]
    children = Counter(home for home, age in people if age == "child")
    assert whole["N", "children"].sum() == sum(min(1, number) for number in children.values())
    for query in ("people", "homes"):
        assert (whole["a", query] + whole["b", query] == whole["N", query]).all()


def test_another_secret_keeps_other_people() -> None:
    people = [("h1", "child")] * 20 + [("h1", "adult")] * 20
    kept = {tuple(counted(small(), people, HOMES, bytes([k]) * 32)["N", "people"]) for k in range(12)}
    assert len(kept) == 3  # two children, two adults, or one of each


# -- sensitivity ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 2, 3])
def test_one_household_moves_a_limited_table_by_at_most_root_two_times_the_limit(most: int) -> None:
    """All households of up to five people, by brute force: each in a district of its own."""
    homes, people = [], []
    sets = [ages for many in range(6) for ages in combinations_with_replacement(("child", "adult"), many)]
    for number, (ages, tenure) in enumerate(product(sets, ("own", "rent", "vacant"))):
        homes.append((f"h{number}", f"d{number}", tenure))
        people += [(f"h{number}", age) for age in ages]
    found = counted(small(most), people, homes)
    for query, limit in (("people", most), ("homes", 1)):
        vectors = np.array([found[f"d{number}", query] for number in range(len(homes))])
        assert vectors.sum(axis=1).max() == limit
        moves = (vectors[:, None] - vectors[None]).reshape(-1, vectors.shape[1])
        assert (moves**2).sum(axis=1).max() == 2 * limit**2  # reached, and never exceeded
        assert np.maximum(moves, 0).sum(axis=1).max() == np.maximum(-moves, 0).sum(axis=1).max() == limit
        distinct = np.unique(moves, axis=0)  # two households that change together
        both = (distinct[:, None] + distinct[None]).reshape(-1, vectors.shape[1])
        assert (both**2).sum(axis=1).max() == 8 * limit**2


def curve(weights: np.ndarray, shifts: Sequence[int], epsilons: np.ndarray) -> np.ndarray:
    """Delta at each epsilon of independent noises, each shifted, by summing over all outcomes."""
    pairs = [(weights, np.roll(weights, shift)) for shift in shifts]
    first, second = np.ones(1), np.ones(1)
    for one, other in pairs:
        first, second = np.outer(first, one).ravel(), np.outer(second, other).ravel()
    return np.maximum(second[None] - np.exp(epsilons)[:, None] * first[None], 0).sum(axis=1)


@pytest.mark.parametrize("law", ["gaussian 0.3", "gaussian 2", "gaussian 9", "laplace 0.7", "laplace 3"])
def test_all_in_one_cell_is_the_worst_for_log_concave_noise(law: str) -> None:
    """The theorem of docs/explanation/joins.md, by brute force; noise with heavy tails breaks it."""
    family, size = law.split()
    x = np.arange(-60, 61)
    exponents = x**2 / (2 * float(size)) if family == "gaussian" else np.abs(x) / float(size)
    weights = np.exp(-exponents)
    weights /= weights.sum()
    epsilons = np.linspace(-3, 6, 40)
    for shifts in ((1, 1), (2, 1), (3, 2)):
        whole, parts = curve(weights, [sum(shifts)], epsilons), curve(weights, shifts, epsilons)
        assert (parts <= whole + 1e-12).all()
    heavy = 1.0 / (1.0 + x**2)
    heavy /= heavy.sum()
    assert (curve(heavy, (2, 2), epsilons) > curve(heavy, [4], epsilons) + 1e-3).any()


def test_the_noise_of_2020_protects_a_whole_household() -> None:
    """By hand from the configuration: rho tau^2 2 / (2 tau + 2)^2 for each table (2/4 for denominators)."""
    for name, claimed, most in (
        ("sdhc-2020", "1257281/1000000", 0.4885),
        ("sdhc-2020-pr", "1226649/1000000", 0.476),
    ):
        release = load(name)
        by_table: dict[int, Fraction] = {}
        declared = {10: 22, 6: 14, 1: 2}
        for level in release.levels:
            for query in level.queries:
                assert query.variance is not None
                s = declared[query.sensitivity]
                by_table[s] = by_table.get(s, Fraction(0)) + Fraction(s * s, 2) / query.variance
        assert sum(by_table.values()) == Fraction(claimed)
        ours = by_table[22] * 200 / 484 + by_table[14] * 72 / 196 + by_table[2] / 2
        assert release.rho == ours < most
        assert release.for_people(2).rho == 4 * ours
    us = load("sdhc-2020").rho
    assert us is not None
    assert round(float(4 * us / Fraction(1257281, 1000000)), 2) == 1.55


def test_other_laws_and_several_tables_are_not_called_exact() -> None:
    assert small().claim.kind.value == "bound"
    one = re.sub(r'(?s)\[tables\."children"\].*?\[\[levels\]\]', "[[levels]]", SMALL)
    one = re.sub(r', "(children|homes)" = \{[^}]*\}', "", one)
    assert Release.from_toml(one).claim.kind.value == "exact"
    noise = '{ noise = { absent = { "-1" = "1/4", "0" = "1/2", "1" = "1/4" } } }'
    with pytest.raises(InputError, match="the worst case is proved for discrete Gaussian"):
        Release.from_toml(SMALL.replace("{ variance = 20 }", noise))
    Release.from_toml(SMALL.replace("{ variance = 20 }", "{ scale = 4 }"))


def test_a_person_is_not_protected_where_households_are_counted() -> None:
    with pytest.raises(
        InputError, match=r"counts households, or people by attributes of their household.*unit = "
    ):
        Release.from_toml(SMALL.replace('unit = "household"', 'unit = "person"'))
    with pytest.raises(InputError, match="states no at_most"):
        Release.from_toml(SMALL.replace("at_most = 2\n", ""))
    text = re.sub(r'(?s)\[tables\."children"\].*?\[\[levels\]\]', "[[levels]]", SMALL)
    text = text.replace("at_most = 2\n", "").replace('by = "home * age"', 'by = "age"')
    text = re.sub(r', "(children|homes)" = \{[^}]*\}', "", text).replace(
        'unit = "household"', 'unit = "person"'
    )
    release = Release.from_toml(text)
    assert [query.sensitivity for level in release.levels for query in level.queries] == [1, 1]
    counts = counted(release, [("h1", "child")] * 5 + [("h2", "adult")], HOMES)
    assert counts["N", "people"].tolist() == [5, 1]


# -- what is wrong -------------------------------------------------------------------------------------------


def toy_with(tmp_path: Path, **more: str) -> dict[str, Path]:
    """The toy's files with one more line in some of them."""
    files = {}
    for name, file in (("people", "persons.csv"), ("households", "units.csv"), ("addresses", "geo.csv")):
        text = (TOY / file).read_text(encoding="utf-8").rstrip("\n")
        files[name] = tmp_path / file
        files[name].write_text("\n".join([text, *([more[name]] if name in more else [])]) + "\n")
    return files


ODD = {
    "an age out of range": (
        {"people": "3,100000198,731946,1,01,20"},
        "'QAGE' does not have .line 111 of persons",
    ),
    "nobody's address": (
        {"people": "3,731946731,30,1,01,20"},
        "not among the households .line 111 of persons",
    ),
    "a child without a family": (
        {"people": "3,100000170,5,1,01,25"},
        "no cell in 'relationship', by its RELSHIP",
    ),
    "no geography": (
        {"households": "2,731946731,0,0,0,00,0,0,00,0"},
        "not among the addresses .line 33 of units",
    ),
    "a couple of no kind": (
        {
            "addresses": "2,731946731,44,001,000100,1000,1,1,1,99999,9999",
            "households": "2,731946731,1,0,1,01,1,4,01,0",
            "people": "3,731946731,44,1,01,20",
        },
        "no cell in 'household type', by its HHT2 and CPLT .line 111 of persons",
    ),
    "somebody in a vacant home": (
        {
            "addresses": "2,731946731,44,001,000100,1000,1,1,1,99999,9999",
            "households": "2,731946731,0,0,0,00,0,0,00,0",
            "people": "3,731946731,44,1,01,20",
        },
        "no cell in 'tenure', by its TEN",
    ),
    "an address twice": (
        {"addresses": "2,100000205,44,001,000100,1000,1,1,1,99999,9999"},
        "stands in another row too",
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_one_odd_record_gets_a_message_without_its_values(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more, said = ODD[case]
    files = toy_with(tmp_path, **more)
    options = ["--households", str(files["households"]), "--addresses", str(files["addresses"])]
    out = tmp_path / "out"
    given = ["tabulate", "sdhc-2020", "--records", str(files["people"]), *options, "--out", str(out)]
    assert run(given) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert re.search(said, text)
    assert "731946" not in text
    assert not out.exists()


def test_all_problems_are_said_in_one_round(tmp_path: Path) -> None:
    files = toy_with(
        tmp_path,
        people="7,731946731,30,1,99,20",
        households="2,100000128,13,12,5,02,3,1,01,1",
        addresses="3,731946732,44,001,000100,1000,1,1,1,99999,9999",
    )
    found = check_records(
        "sdhc-2020", files["people"], households=files["households"], addresses=files["addresses"]
    )
    assert not found.usable
    texts = [str(one) for one in found.problems]
    for part in ("'RTYPE_PERSON'", "'CENRACE'", "not among the households", "'HHSPAN'", "'RTYPE_GEO'"):
        assert any(part in text for text in texts), part
    assert not any("731946" in text for text in texts)
    assert check_records("sdhc-2020", TOY / "persons.csv", **FILES).usable


def test_a_key_that_repeats_is_refused_unless_the_release_says_otherwise() -> None:
    twice = [*HOMES, ("h1", "a", "own")]
    with pytest.raises(InputError, match="a key that stands in another row too"):
        counted(small(), [("h1", "child")], twice)
    left = Release.from_toml(SMALL.replace('key = "address"', 'key = "address"\nrepeated = "leave_out"'))
    counts = counted(left, [("h1", "child"), ("h3", "child")], twice)
    assert counts["N", "people"].sum() == 1
    assert counts["N", "homes"].sum() == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'rent = { tenure = ["rent"] }',
            'rent = { tenure = ["own", "rent"] }',
            "a record can meet two conditions",
        ),
        ('by = "home * age"', 'by = "home * agee"', 'did you mean "age"'),
        ('rent = { tenure = ["rent"] }', 'rent = { tenure = ["rents"] }', "does not have the value 'rents'"),
        ('where = { age = ["child"] }', 'where = { ages = ["child"] }', "which is not an attribute"),
        ('of = "households"', 'of = "homes"', 'must be "people" or "households"'),
        ('"children" = { variance = 20 }', '"kids" = { variance = 20 }', "is not one of the .tables."),
        ('"children" = { variance = 20 }', '"children" = { variance = 20, groups = 2 }', "leave sensitivity"),
        ('key = "address"\n', "", "has no key"),
        (
            '[tables."homes"]\nof = "households"',
            '[tables."homes"]\nat_most = 3\nof = "households"',
            "at_most limits",
        ),
        ('by = "home"\n[[levels]]', 'by = "age"\n[[levels]]', "is an attribute of people"),
    ],
)
def test_a_join_that_makes_no_sense_is_refused(old: str, new: str, said: str) -> None:
    assert old in SMALL
    with pytest.raises(InputError, match=said):
        Release.from_toml(SMALL.replace(old, new, 1))


# -- other commands ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sdhc-2020", "sdhc-2020-pr"])
def test_a_release_over_a_join_is_written_and_read(name: str) -> None:
    for release in (load(name), small()):
        again = Release.from_toml(release.to_toml())
        assert again == release
        assert again.input == release.input
        assert replace(again, join=None) != release


def test_measure_notes_the_household_and_estimates_follow(tmp_path: Path) -> None:
    from discreet.ledger import create_ledger, read_ledger

    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    done = measure(
        "sdhc-2020-pr", None, tmp_path / "out", records=TOY / "persons.csv", **FILES, ledger=ledger
    )
    assert done.unit == "household"
    assert done.rho == load("sdhc-2020-pr").rho
    (entry,) = read_ledger(ledger).entries
    assert entry.release == load("sdhc-2020-pr")
    assert {one["role"] for one in entry.inputs} == {"records", "households", "addresses"}
    made = estimate(tmp_path / "out", tmp_path / "estimates")
    assert made.out == tmp_path / "estimates"


def test_files_that_are_not_asked_for_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"give the file of households, too \(--households\)"):
        tabulate(small(), TOY / "persons.csv", tmp_path / "out", units=AREAS)
    with pytest.raises(InputError, match=r"has no section \[addresses\]"):
        tabulate(small(), TOY / "persons.csv", tmp_path / "out", units=AREAS, **FILES)
    with pytest.raises(InputError, match="says itself which people of a household count"):
        tabulate("sdhc-2020", TOY / "persons.csv", tmp_path / "out", **FILES, id="MAFID")
    with pytest.raises(InputError, match="has no tables of the Supplemental DHC"):
        tabulate("dhc-2020", TOY / "persons.csv", tmp_path / "out", units=AREAS, bureau_columns=True)


def test_whoever_moves_changes_two_households() -> None:
    release = small()
    one, two = account(release).epsilon(delta="1e-6"), account(release, people=2).epsilon(delta="1e-6")
    assert 0 < one < two
    assert account(release, neighbours="unbounded").epsilon(delta="1e-6") < one


def test_households_are_found_by_their_row() -> None:
    people = pyarrow.table({"address": ["y", "x", "y"], "age": ["child", "adult", "adult"]})
    homes = pyarrow.table({"address": ["x", "y"], "unit": ["a", "b"], "tenure": ["own", "rent"]})
    found = examine_join(small(), JoinedSources(people, homes, None, AREAS, None, load_plain()))
    assert not found.problems
    assert found.home.tolist() == [1, 0, 1]
    assert isinstance(found.join, Join)
    assert found.files[HOUSEHOLDS].table.rows == 2


def test_what_a_limit_takes_away_is_counted_up_to_a_limit_of_its_own() -> None:
    text = SMALL.replace('[tables."homes"]', '[tables."more"]\nabove = 2\nat_most = 3\n[tables."homes"]')
    text = text.replace(
        '"people" = { variance = 90 }', '"people" = { variance = 90 }, "more" = { variance = 9 }'
    )
    release = Release.from_toml(text)
    assert Release.from_toml(release.to_toml()) == release
    people = [("h1", "child")] * 9 + [("h2", "adult")] * 4 + [("h3", "adult")] * 2
    counts = counted(release, people, HOMES)
    assert counts["N", "more"].tolist() == [3 + 2 + 0]
    assert counts["N", "people"].sum() == 2 + 2 + 2
    assert {query.name: query.sensitivity for query in release.levels[0].queries}["more"] == 3
    with pytest.raises(InputError, match="it must state at_most, how many of those"):
        Release.from_toml(text.replace("above = 2\nat_most = 3", "above = 2"))


def test_averages_are_of_what_the_limit_lets_through(tmp_path: Path) -> None:
    text = SMALL.replace(
        "[[levels]]",
        '[averages."size"]\npeople = "people"\nhouseholds = "homes"\nat_least = 1\n[[levels]]',
        1,
    ).replace("at_most = 2", "at_most = 6")
    release = Release.from_toml(text)
    assert Release.from_toml(release.to_toml()) == release
    homes = [(f"h{k}", "a" if k % 2 else "b", "own" if k % 3 else "rent") for k in range(3000)]
    people = [(home, "adult") for home, _, _ in homes for _ in range(2)] + [("h1", "child")] * 50
    names = ("address", "age"), ("address", "unit", "tenure")
    tables = [
        pyarrow.table({name: [row[k] for row in rows] for k, name in enumerate(columns)})
        for rows, columns in zip((people, homes), names, strict=True)
    ]
    measure(
        release, None, tmp_path / "out", records=tables[0], households=tables[1], units=AREAS, rehearsal=3
    )
    rows = pyarrow.parquet.read_table(next((tmp_path / "out").glob("averages.*"))).to_pylist()
    found = {(row["unit"], row["cell"]): row for row in rows}
    assert {row["of_at_most"] for row in rows} == {6}
    assert set(found) == {
        (unit, cell)
        for unit in ("N", "a", "b")
        for cell in ("own", "rent", "own * child", "own * adult", "rent * child", "rent * adult")
    }
    for unit in ("N", "a", "b"):
        assert found[unit, "own"]["lower90"] < 2.02
        assert found[unit, "own"]["upper90"] > 1.98
        assert found[unit, "rent * child"]["lower90"] == 0


def test_the_account_says_what_happens_in_households(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["account", "sdhc-2020", "--delta", "1e-6", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(one["neighbours"], one["households"]) for one in answer["relations"]] == [
        ("bounded", 1),
        ("unbounded", 1),
        ("bounded", 2),
    ]
    one, there, moved = (Fraction(entry["rho"]) for entry in answer["relations"])
    assert (2 * there, 4 * one) == (one, moved)
    assert answer["relations"][0]["epsilons"] == [row["epsilon"] for row in answer["results"]]
    assert run(["account", "dhc-2022-08-25", "--delta", "1e-6", "--json"]) == 0
    assert "relations" not in json.loads(capsys.readouterr().out)
