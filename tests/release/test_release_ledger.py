"""The ledger: exact totals, refusals, damage, and all runs as one release for the accountant."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from release_country import TOML, Country

from discreet.budget import Level, Query, Release, cases, load
from discreet.errors import InputError
from discreet.release import (
    Entry,
    Ledger,
    Total,
    check_ledger,
    create_ledger,
    is_ledger,
    ledger_release,
    measure,
    read_ledger,
    spent,
)
from discreet.release.commit import write_text


def person(rho: str, neighbours: str = "bounded") -> Total:
    return Total(unit="person", neighbours=neighbours, rho=rho)  # type: ignore[arg-type]


def entry(release: Release, number: int = 1, **more: Any) -> Entry:
    fields = {"time": "2030-01-01T00:00:00+00:00", "version": "0", "command": "measure"}
    return Entry(id=f"{number:032x}", release=release, **fields, **more)


@pytest.mark.parametrize("name", ["dhc-2020", "pl94-2020", "ddhca-2020"])
def test_spending_is_the_rho_that_a_release_states(name: str) -> None:
    release = load(name)
    assert spent(release) == release.rho
    by_cases = max(
        sum(event.precision for event in events) / 2 for _, events in cases(release, release.neighbours)
    )
    assert spent(release) == by_cases
    assert spent(release, "bounded") == 2 * spent(release, "unbounded")


def test_an_entry_says_what_was_spent_on_what(release: Release, country: Country) -> None:
    import hashlib

    counts = country.csv()
    ledger = country.folder / "ledger.json"
    create_ledger(ledger, [person("3")])
    done = measure(release, counts, country.folder / "out", ledger=ledger)
    (found,) = read_ledger(ledger).entries
    assert found.rho == done.rho == Fraction(1, 9) + Fraction(9, 20) + Fraction(1, 6) + Fraction(2, 7)
    assert found.release == release
    assert found.inputs[0]["sha256"] == hashlib.sha256(counts.read_bytes()).hexdigest()
    assert found.output == "out"
    assert done.ledger == ledger
    assert read_ledger(ledger).left("person") == 3 - found.rho
    assert is_ledger(ledger)
    assert is_ledger(done.out / "ledger.json")
    assert not is_ledger(done.out / "release.toml")
    own = read_ledger(done.out / "ledger.json").entries[0]
    assert (own.id, own.files, own.output) == (found.id, found.files, ".")
    for path in (ledger, done.out / "ledger.json"):
        check = check_ledger(path)
        assert check.sound
        assert check.files == len(found.files) == 4
    assert "sound" in str(check)
    assert "total for one person, bounded neighbours: rho 3" in str(read_ledger(ledger))


def test_a_total_is_compared_exactly(release: Release, country: Country) -> None:
    ledger, rho = country.folder / "ledger.json", spent(release)
    create_ledger(ledger, [person(str(2 * rho))])
    for number in range(2):
        measure(release, country.csv(), country.folder / f"out{number}", ledger=ledger)
    before = ledger.read_bytes()
    with pytest.raises(InputError, match="only 0 is left; nothing was measured and nothing spent"):
        measure(release, country.csv(), country.folder / "more", ledger=ledger)
    assert ledger.read_bytes() == before
    assert not (country.folder / "more").exists()
    tight = country.folder / "tight.json"
    create_ledger(tight, [person(str(rho - Fraction(1, 10**30)))])
    with pytest.raises(InputError, match="the run needs rho"):
        measure(release, country.csv(), country.folder / "more", ledger=tight)
    # A rehearsal is noted, and not counted.
    done = measure(release, country.csv(), country.folder / "more", ledger=ledger, rehearsal=1)
    assert done.rho == 0
    assert len(read_ledger(ledger).entries) == 3
    check = check_ledger(ledger)
    assert check.sound
    assert "rehearsal, NOT PRIVATE" in str(check)
    with pytest.raises(InputError, match="only 0 is left"):
        measure(release, country.csv(), country.folder / "again", ledger=ledger)


def test_totals_follow_the_unit_and_the_relation(release: Release) -> None:
    other = Release.from_toml(TOML.replace('"person"', '"household"'))
    ledger = Ledger((person(str(spent(release, "unbounded")), "unbounded"),))
    ledger.allow(release)
    with pytest.raises(InputError, match="declares totals for person, but none for household"):
        ledger.allow(other)
    Ledger().allow(other)
    with pytest.raises(InputError, match="two totals for one unit"):
        Ledger((person("1"), person("2")))


def test_a_ledger_is_never_made_by_accident(release: Release, country: Country) -> None:
    with pytest.raises(InputError, match="there is no ledger"):
        measure(release, country.csv(), country.folder / "out", ledger=country.folder / "typo.json")
    path = country.folder / "ledger.json"
    create_ledger(path)
    with pytest.raises(InputError, match="never overwritten"):
        create_ledger(path)
    with pytest.raises(InputError, match="cannot be made"):
        create_ledger(country.folder / "no" / "where.json")


def test_damage_is_found(release: Release, country: Country) -> None:
    ledger = country.folder / "ledger.json"
    create_ledger(ledger, [person("3")])
    for number in range(2):
        measure(release, country.csv(), country.folder / f"out{number}", ledger=ledger)
    text = ledger.read_text()
    data = json.loads(text)

    def fails(change: Callable[[dict[str, Any]], object], message: str) -> None:
        spoilt = json.loads(text)
        change(spoilt)
        ledger.write_text(json.dumps(spoilt))
        for function in (read_ledger, check_ledger, ledger_release):
            with pytest.raises(InputError, match=message):
                function(ledger)
        with pytest.raises(InputError, match=message):
            measure(release, country.csv(), country.folder / "more", ledger=ledger)

    fails(lambda d: d["entries"].pop(), "one was changed, added or removed")
    fails(lambda d: d["entries"][0].update(time="2031"), "one was changed, added or removed")
    fails(lambda d: d["entries"][0].update(rho="1/100"), "says rho 1/100, but its release spends")
    fails(lambda d: d["entries"][0].pop("tree"), "the key 'tree' is missing")
    fails(lambda d: d["entries"].append(3), "a field is of the wrong kind")
    fails(lambda d: d.update(format="other"), "it must begin with")
    fails(lambda d: d["totals"][0].update(rho=0.5), "float")
    ledger.write_text(text[:100])
    with pytest.raises(InputError, match="not valid JSON"):
        read_ledger(ledger)
    ledger.write_bytes(b"")
    with pytest.raises(InputError, match="not valid JSON"):
        read_ledger(ledger)
    ledger.write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_ledger(ledger)
    # Totals may be changed by hand; runs that no longer fit are reported.
    data["totals"][0]["rho"] = "1"
    ledger.write_text(json.dumps(data))
    check = check_ledger(ledger)
    assert not check.sound
    assert "more than the total for one person" in check.problems[0]


def test_changed_and_missing_outputs_are_found(release: Release, country: Country) -> None:
    ledger = country.folder / "ledger.json"
    create_ledger(ledger)
    done = measure(
        release, country.csv(), country.folder / "out", ledger=ledger, invariants=[("State", "total")]
    )
    with (done.out / "measurements.csv").open("a") as stream:
        stream.write("x\n")
    (done.out / "units.csv").unlink()
    check = check_ledger(ledger)
    assert [text.split(": ")[1] for text in check.problems] == [
        "measurements.csv of out was changed since it was written",
        "units.csv of out is missing",
    ]
    assert "holds 'total' of State exact, which no rho covers" in str(check)
    os.rename(done.out, country.folder / "moved")
    check = check_ledger(ledger)
    assert check.sound
    assert "is no longer there" in str(check)


def test_a_whole_folder_can_be_moved(release: Release, country: Country, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    ledger = tmp_path / "a" / "ledger.json"
    create_ledger(ledger)
    measure(release, country.csv(), tmp_path / "a" / "out", ledger=ledger)
    os.rename(tmp_path / "a", tmp_path / "b")
    check = check_ledger(tmp_path / "b" / "ledger.json")
    assert check.files == 4
    os.symlink(tmp_path / "b" / "ledger.json", tmp_path / "link.json")
    measure(release, country.csv(), tmp_path / "elsewhere", ledger=tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert len(read_ledger(tmp_path / "b" / "ledger.json").entries) == 2
    assert check_ledger(tmp_path / "link.json").files == 8


def test_all_runs_are_one_release_for_the_accountant(release: Release, country: Country) -> None:
    ledger = country.folder / "ledger.json"
    create_ledger(ledger)
    with pytest.raises(InputError, match="no run that counts"):
        ledger_release(ledger)
    measure(release, country.csv(), country.folder / "a", ledger=ledger)
    one = ledger_release(ledger)
    assert one.paths == release.paths
    assert cases(one, "bounded") == cases(release, "bounded")
    measure(release, country.csv(), country.folder / "b", ledger=ledger, rehearsal=4)
    measure(release, country.csv(), country.folder / "c", ledger=ledger)
    two = ledger_release(ledger)
    # The same tree twice: a record follows the same path in both, and every event comes twice.
    assert two.paths == release.paths
    assert [level.name for level in two.levels][:2] == ["run 1 Nation", "run 1 State"]
    for (_, twice), (_, once) in zip(cases(two, "bounded"), cases(release, "bounded"), strict=True):
        assert {e.variance: e.times for e in twice} == {e.variance: 2 * e.times for e in once}  # type: ignore[union-attr]
    assert spent(two) == 2 * spent(release) == read_ledger(ledger).spent("person", "bounded")
    epsilon = two.account().epsilon(delta="1e-10")
    assert release.account().epsilon(delta="1e-10") < epsilon < 2 * release.account().epsilon(delta="1e-10")
    assert Release.from_toml(two.to_toml()) == two


def test_runs_over_different_trees_take_all_combinations(tmp_path: Path) -> None:
    path, release = tmp_path / "ledger.json", Release.from_toml(TOML)
    ledger = Ledger((), tuple(entry(release, number, tree=str(number)) for number in (1, 2)))
    write_text(path, ledger.to_text())
    both = ledger_release(path)
    assert len(both.paths) == 4
    assert both.main == 1
    many = load("dhc-2020")
    write_text(path, Ledger((), tuple(entry(many, n, tree=str(n)) for n in range(3))).to_text())
    with pytest.raises(InputError, match="79507 combinations of paths"):
        ledger_release(path)
    write_text(path, Ledger((), tuple(entry(many, n, tree="same") for n in range(3))).to_text())
    assert len(ledger_release(path).paths) == 43


def test_runs_of_several_units_or_relations_must_be_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    person_run = Release.from_toml(TOML)
    queries = [Query(name="q", variance=4), Query(name="r", scale=3, sensitivity=2)]
    house = Release(
        name="h", unit="household", neighbours="unbounded", levels=[Level(name="L", queries=queries)]
    )
    mixed = Release(name="p", neighbours="unbounded", levels=[Level(name="L", queries=queries[:1])])
    exact = (("State", "total"),)
    entries = (entry(person_run, 1, exact=exact), entry(house, 2), entry(mixed, 3))
    write_text(path, Ledger((), entries).to_text())
    with pytest.raises(InputError, match=r"different unit \(household, person\)"):
        ledger_release(path)
    assert ledger_release(path, unit="household").path_events(1) == house.path_events(1)
    with pytest.raises(InputError, match=r"different neighbours \(bounded, unbounded\)"):
        ledger_release(path, unit="person")
    both = ledger_release(path, unit="person", neighbours="bounded")
    assert spent(both) == spent(person_run, "bounded") + spent(mixed, "bounded")
    assert both.notes == ("Held exact, outside the guarantee: State: total",)


def test_an_announced_run_counts_unless_its_directory_waits(tmp_path: Path) -> None:
    path, release = tmp_path / "ledger.json", Release.from_toml(TOML)
    ledger = Ledger((), (entry(release, 1), entry(release, 2, staged=".waiting")))
    write_text(path, ledger.to_text())
    assert len(read_ledger(path).entries) == 2
    (tmp_path / ".waiting").mkdir()
    assert len(read_ledger(path).entries) == 1
    assert Ledger.from_text(ledger.to_text(), where="x") == ledger
