"""The ledger: exact totals, refusals, damage, and all runs as one release for the accountant."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from release_country import TOML, Country

import discreet
from discreet.accounting.account import account
from discreet.accounting.privacy_loss import compose
from discreet.budget import Level, Query, Release, cases, load
from discreet.errors import InputError
from discreet.ledger import (
    Entry,
    Ledger,
    Total,
    change_total,
    check_ledger,
    create_ledger,
    is_ledger,
    ledger_cost,
    ledger_release,
    new_key,
    read_key,
    read_ledger,
    sign_ledger,
    spent,
)
from discreet.ledger.ledger_file import write_text
from discreet.ledger.signing import ORDER_EIGHT, PRIME, small_order, verified
from discreet.ledger.spending import spent_epsilon
from discreet.measurement import measure


def person(rho: str, neighbours: str = "bounded") -> Total:
    return Total(unit="person", neighbours=neighbours, rho=rho)  # type: ignore[arg-type]


def entry(release: Release, number: int = 1, **more: Any) -> Entry:
    fields = {"time": "2030-01-01T00:00:00+00:00", "version": "0", "command": "measure"}
    return Entry(id=f"{number:032x}", release=release, **fields, **more)


def ledger_of(*entries: Entry) -> Ledger:
    ledger = Ledger.new()
    for one in entries:
        ledger = ledger.with_run(one).settled()
    return ledger


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
    assert not is_ledger(done.out / "release.toml")
    check = check_ledger(ledger)
    assert check.sound
    assert "sound" in str(check)
    assert check.files == len(found.files) == 4
    assert "total for one person, bounded neighbours: rho 3" in str(read_ledger(ledger))


def test_nothing_private_is_in_the_output(release: Release, country: Country) -> None:
    import hashlib

    counts, ledger = country.csv(), country.folder / "ledger.json"
    create_ledger(ledger)
    done = measure(release, counts, country.folder / "out", ledger=ledger)
    secrets = [hashlib.sha256(counts.read_bytes()).hexdigest(), read_ledger(ledger).entries[0].salt]
    assert all(len(secret) == 64 for secret in secrets)
    for file in done.out.iterdir():
        assert not any(secret in file.read_text() for secret in secrets)
    assert {file.name for file in done.out.iterdir()} == set(done.files)
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600
    assert stat.S_IMODE(done.out.stat().st_mode) == 0o777 & ~mask()


def mask() -> int:
    found = os.umask(0o022)
    os.umask(found)
    return found


def test_a_head_does_not_tell_the_hash_of_the_input(release: Release) -> None:
    # the same run twice, in ledgers of the same name: without the salt the heads would be equal, and whoever
    # knows all records but one could try values of that one until the published head comes out
    first, second = (Ledger("0" * 32).with_run(entry(release)) for _ in range(2))
    assert first.head != second.head


def test_a_total_is_compared_exactly(release: Release, country: Country) -> None:
    ledger, rho = country.folder / "ledger.json", spent(release)
    create_ledger(ledger, [person(str(2 * rho))])
    for number in range(2):
        measure(release, country.csv(), country.folder / f"out{number}", ledger=ledger, spend_again=True)
    before = ledger.read_bytes()
    with pytest.raises(InputError, match="only 0 is left; nothing was measured and nothing spent"):
        measure(release, country.csv(), country.folder / "more", ledger=ledger, spend_again=True)
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
        measure(release, country.csv(), country.folder / "again", ledger=ledger, spend_again=True)


def test_the_same_input_is_not_released_twice_by_accident(release: Release, country: Country) -> None:
    ledger = country.folder / "ledger.json"
    create_ledger(ledger)
    measure(release, country.csv(), country.folder / "one", ledger=ledger)
    before = ledger.read_bytes()
    with pytest.raises(InputError, match=r"this input was released before, in run 1 of .*--spend-again"):
        measure(release, country.csv(), country.folder / "two", ledger=ledger)
    assert ledger.read_bytes() == before
    assert not (country.folder / "two").exists()
    measure(release, country.csv(), country.folder / "trial", ledger=ledger, rehearsal=1)
    other = country.folder / "other.csv"
    country.rows.reverse()
    other.write_bytes(country.csv().read_bytes())  # another file of the same people
    country.rows.reverse()
    measure(release, other, country.folder / "three", ledger=ledger)
    measure(release, country.csv(), country.folder / "two", ledger=ledger, spend_again=True)
    assert len(read_ledger(ledger).runs("person")) == 3


def test_a_ledger_is_looked_for_beside_the_input_and_in_the_environment(
    release: Release, country: Country, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    counts = country.csv()
    done = measure(release, counts, country.folder / "none")
    assert done.ledger is None
    assert "no ledger" in str(done)
    assert not list(country.folder.glob("**/*ledger*"))
    beside = country.folder / "discreet-ledger.json"
    create_ledger(beside)
    assert measure(release, counts, country.folder / "one").ledger == beside
    named = tmp_path / "named.json"
    create_ledger(named)
    monkeypatch.setenv("DISCREET_LEDGER", str(named))
    assert measure(release, counts, country.folder / "two").ledger == named
    assert len(read_ledger(beside).entries) == len(read_ledger(named).entries) == 1
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "typo.json"))
    with pytest.raises(InputError, match="there is no ledger"):
        measure(release, counts, country.folder / "three")


def test_totals_follow_the_unit_and_the_relation(release: Release) -> None:
    other = Release.from_toml(TOML.replace('"person"', '"household"'))
    ledger = Ledger.new([person(str(spent(release, "unbounded")), "unbounded")])
    ledger.allow(release)
    with pytest.raises(InputError, match="declares totals for person, but none for household"):
        ledger.allow(other)
    Ledger.new().allow(other)
    with pytest.raises(InputError, match="two totals for one unit"):
        Ledger.new([person("1"), person("2")])


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
        measure(release, country.csv(), country.folder / f"out{number}", ledger=ledger, spend_again=True)
    text = ledger.read_text()

    def fails(change: Callable[[dict[str, Any]], object], message: str) -> None:
        spoilt = json.loads(text)
        change(spoilt)
        ledger.write_text(json.dumps(spoilt))
        for function in (read_ledger, check_ledger, ledger_release):
            with pytest.raises(InputError, match=message):
                function(ledger)
        with pytest.raises(InputError, match=message):
            measure(release, country.csv(), country.folder / "more", ledger=ledger)

    def runs(data: dict[str, Any]) -> list[dict[str, Any]]:
        return [one for one in data["entries"] if one["kind"] == "run"]

    fails(lambda d: d["entries"].pop(), "one was changed, added or removed")
    fails(lambda d: d["entries"].pop(0), "one was changed, added or removed")
    fails(lambda d: runs(d)[0].update(time="2031"), "one was changed, added or removed")
    fails(lambda d: runs(d)[0].update(salt="0" * 64), "one was changed, added or removed")
    fails(lambda d: runs(d)[0].update(staged="../precious"), "one was changed, added or removed")
    fails(lambda d: d["entries"][0].update(rho="30"), "one was changed, added or removed")
    fails(lambda d: d["entries"][0].update(reason="more"), "one was changed, added or removed")
    fails(lambda d: d.update(ledger="0" * 32), "one was changed, added or removed")
    fails(lambda d: d.update(pending=True), "it says that a run is pending, but not of which")
    fails(lambda d: d.update(pending="0" * 64), "it says that a run is pending, but not of which")
    fails(lambda d: d.pop("pending"), "the key 'pending' is missing")
    fails(lambda d: runs(d)[0].update(kind="other"), "which this version does not know")
    fails(lambda d: d["entries"].append(3), "a field is of the wrong kind")
    fails(lambda d: d.update(format="other"), "it must begin with")
    ledger.write_text(text[:100])
    with pytest.raises(InputError, match="not valid JSON"):
        read_ledger(ledger)
    ledger.write_bytes(b"")
    with pytest.raises(InputError, match="not valid JSON"):
        read_ledger(ledger)
    ledger.write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_ledger(ledger)


def rewritten(path: Path, change: Callable[[list[dict[str, Any]]], object], name: str | None = None) -> None:
    """Change the entries of a ledger and compute its chain anew, as somebody who reads this code could."""
    data = json.loads(path.read_text())
    change(data["entries"])
    made = Ledger(name or data["ledger"], tuple(data["entries"]))
    write_with_seal(path, made, data["seal"])


def write_with_seal(path: Path, ledger: Ledger, seal: str | None) -> None:
    """Write a ledger as somebody could who has no key, with a seal that was there before."""
    path.write_text(ledger._text(seal))


def test_an_entry_that_says_other_than_it_spends(release: Release, country: Country) -> None:
    ledger = country.folder / "ledger.json"
    create_ledger(ledger)
    measure(release, country.csv(), country.folder / "out", ledger=ledger)
    rewritten(ledger, lambda entries: entries[0].update(rho="1/100"))
    with pytest.raises(InputError, match="says rho 1/100, but its release spends"):
        read_ledger(ledger)


def lowered(path: Path, total: Total) -> None:
    """Declare a total below what is spent, as older versions let one do."""
    ledger = read_ledger(path)
    record = {"kind": "total", "time": "", "reason": "a mistake"} | total.document()
    write_text(path, replace(ledger, records=(*ledger.records, record)).to_text())


def test_a_change_of_total_is_an_entry_with_a_reason(release: Release, country: Country) -> None:
    ledger, rho = country.folder / "ledger.json", spent(release)
    create_ledger(ledger, [person(str(rho))])
    measure(release, country.csv(), country.folder / "one", ledger=ledger)
    with pytest.raises(InputError, match="only 0 is left"):
        measure(release, country.csv(), country.folder / "two", ledger=ledger, spend_again=True)
    changed = change_total(ledger, person(str(2 * rho)), "second round agreed on")
    assert changed.left("person") == rho
    assert [one["kind"] for one in read_ledger(ledger).records] == ["total", "run", "total"]
    assert read_ledger(ledger).records[-1]["reason"] == "second round agreed on"
    measure(release, country.csv(), country.folder / "two", ledger=ledger, spend_again=True)
    with pytest.raises(InputError, match="reason"):
        change_total(ledger, person("5"), "")
    with pytest.raises(InputError, match=f"have spent rho {2 * rho} .*; the ledger was not changed"):
        change_total(ledger, person(str(rho)), "a mistake")
    assert check_ledger(ledger).sound
    lowered(ledger, person(str(rho)))
    check = check_ledger(ledger)
    assert not check.sound
    assert "more than the total for one person" in check.problems[0]


def test_epsilon_is_capped_exactly(release: Release, country: Country) -> None:
    ledger = country.folder / "ledger.json"
    two = portfolio_epsilon([release, release])
    for cap, fits in ((two * 1.001, True), (two * 0.999, False)):
        path = ledger.with_name(f"{fits}.json")
        limit = Total(unit="person", neighbours="bounded", epsilon=str(Fraction(cap)), delta="1e-10")
        create_ledger(path, [limit])
        measure(release, country.csv(), country.folder / f"{fits}1", ledger=path)
        cost = ledger_cost(read_ledger(path), unit="person", neighbours="bounded")
        assert cost.epsilon == pytest.approx(discreet.account(release).epsilon(delta="1e-10"), rel=1e-12)
        if fits:
            measure(release, country.csv(), country.folder / f"{fits}2", ledger=path, spend_again=True)
            cost = ledger_cost(read_ledger(path), unit="person", neighbours="bounded")
            assert (cost.epsilon, cost.kind) == (pytest.approx(two, rel=1e-12), "exact")
            assert check_ledger(path).sound
        else:
            with pytest.raises(InputError, match=r"would come to delta .* more than its total of epsilon"):
                measure(release, country.csv(), country.folder / "no", ledger=path, spend_again=True)
            low = Total(unit="person", neighbours="bounded", epsilon=1, delta="1e-10")
            with pytest.raises(InputError, match=f"have spent epsilon {cost.epsilon:.5f} "):
                change_total(path, low, "less")
            lowered(path, low)
            assert "the runs come to delta" in check_ledger(path).problems[0]


def portfolio_epsilon(releases: list[Release]) -> float:
    """Epsilon at 1e-10 of the same release twice, a record on the same path: every event comes twice."""
    worst = 0.0
    for _, events in cases(releases[0], releases[0].neighbours):
        worst = max(worst, float(compose([*events, *events]).epsilon(delta="1e-10")))
    return worst


def test_pure_privacy_counts_in_epsilon() -> None:
    queries = [Query(name="a", scale=4), Query(name="b", scale="8/3", sensitivity=2)]
    pure = Release(name="p", neighbours="unbounded", levels=[Level(name="L", queries=queries)])
    assert spent_epsilon(pure) == Fraction(1, 4) + Fraction(3, 4)
    assert spent_epsilon(pure, "bounded") == 2
    ledger = Ledger.new([Total(unit="person", neighbours="unbounded", epsilon=2, delta=0)])
    one = ledger.with_run(entry(pure)).settled()
    one.allow(pure)
    full = one.with_run(entry(pure, 2)).settled()
    assert full.spent_epsilon("person", "unbounded") == 2
    with pytest.raises(
        InputError, match="would come to epsilon 3 at delta 0, more than its total of epsilon 2"
    ):
        full.allow(pure)
    with pytest.raises(InputError, match="since Gaussian noise gives none"):
        one.allow(Release.from_toml(TOML))
    assert full.entries[0].epsilon == 1
    # as zCDP it costs less than what zCDP says of it, and never more than the sum
    assert ledger_cost(full, unit="person", neighbours="unbounded").epsilon <= 2


def test_people_and_households_join(release: Release) -> None:
    house = Release.from_toml(TOML.replace('"person"', '"household"'))
    both = spent(release) + spent(house)
    limit = Total(unit="person+household", neighbours="bounded", rho=str(both))
    ledger = Ledger.new([limit]).with_run(entry(release, tree="t")).settled()
    ledger.allow(house)
    full = ledger.with_run(entry(house, 2, tree="t")).settled()
    assert full.spent("person+household", "bounded") == both
    assert full.spent("person", "bounded") == spent(release)
    with pytest.raises(InputError, match=r"for one person\+household \(bounded neighbours\) only 0 is left"):
        full.allow(house)
    joint = ledger_cost(full, unit="person+household", neighbours="bounded")
    alone = ledger_cost(full, unit="person", neighbours="bounded")
    # all paths of the one with all of the other: at least the same path in both, at most the sum
    assert portfolio_epsilon([release, house]) <= joint.epsilon * (1 + 1e-12)
    assert alone.epsilon < joint.epsilon < 2 * alone.epsilon
    assert (alone.kind, joint.kind) == ("exact", "bound")
    with pytest.raises(InputError, match="names one twice"):
        Total(unit="person+person", neighbours="bounded", rho=1)


# -- attacks ------------------------------------------------------------------------------------------------


def test_a_prepared_ledger_removes_nothing_and_forgets_nothing(release: Release, country: Country) -> None:
    precious = country.folder / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    ledger = country.folder / "ledger.json"
    made = json.loads(Ledger.new().with_run(entry(release, 7, output="out")).to_text())
    made["entries"][-1]["staged"] = "precious"
    ledger.write_text(json.dumps(made))
    for attempt in (read_ledger, check_ledger, lambda path: change_total(path, person("9"), "x")):
        with pytest.raises(InputError, match="one was changed, added or removed"):
            attempt(ledger)
    with pytest.raises(InputError, match="one was changed, added or removed"):
        measure(release, country.csv(), country.folder / "out", ledger=ledger)
    assert (precious / "thesis.txt").read_text() == "years of work"
    made["format"] = "discreet ledger 1"  # in which it would have been believed
    ledger.write_text(json.dumps(made))
    with pytest.raises(InputError, match='not a ledger: it must begin with "format": "discreet ledger 3"'):
        measure(release, country.csv(), country.folder / "out", ledger=ledger)
    assert not is_ledger(ledger)


@pytest.mark.parametrize("kind", ["directory", "link", "file"])
def test_only_the_directory_of_the_pending_entry_is_removed(
    release: Release, country: Country, kind: str
) -> None:
    folder = country.folder
    ledger = folder / "ledger.json"
    made = Ledger.new().with_run(entry(release, 7, output="sub/out"))
    ledger.write_text(made.to_text())
    (folder / "sub").mkdir()
    others = [
        folder / "sub" / ".discreet-other.partial",
        folder / "sub" / f".discreet-{made.tag}-{8:032x}.partial",
    ]
    for other in others:
        other.mkdir()
    (folder / "target").mkdir()
    (folder / "target" / "kept.txt").write_text("kept")
    own = made.staging(folder)
    assert own == folder / "sub" / f".discreet-{made.tag}-{7:032x}.partial"
    if kind == "directory":
        own.mkdir()
        (own / "half.csv").write_text("half")
    elif kind == "link":
        own.symlink_to(folder / "target")
    else:
        own.write_text("no directory")
    measure(release, country.csv(), folder / "next", ledger=ledger)
    # only a real directory says that the run did not happen
    assert len(read_ledger(ledger).entries) == (1 if kind == "directory" else 2)
    assert own.exists() == (kind != "directory")
    assert all(other.exists() for other in others)
    assert (folder / "target" / "kept.txt").read_text() == "kept"


@pytest.mark.parametrize("signed", [False, True])
def test_a_run_whose_output_is_there_is_never_forgotten(
    release: Release, country: Country, signed: bool
) -> None:
    """Anybody can compute the mark of a pending run, and make a directory with the name of its staging."""
    folder, ledger, key = country.folder, country.folder / "ledger.json", None
    create_ledger(ledger)
    if signed:
        key = folder / "key"
        sign_ledger(ledger, new_key(key))
    (folder / "published").mkdir()
    measure(release, country.csv(), folder / "published" / "out", ledger=ledger, key=key)
    made = replace(read_ledger(ledger), pending=True)
    ledger.write_text(made.to_text(read_key(key) if key else None))
    waiting = made.staging(folder)
    assert waiting is not None
    waiting.mkdir()
    assert len(read_ledger(ledger).entries) == 1
    assert check_ledger(ledger).sound
    with pytest.raises(InputError, match="was released before"):
        measure(release, country.csv(), folder / "next", ledger=ledger, key=key)
    assert len(read_ledger(ledger).entries) == 1


@pytest.mark.parametrize("name", ["*" * 12, "?" * 32, "a/../../x", ""])
def test_a_ledger_by_a_prepared_name_removes_nothing_of_others(
    release: Release, country: Country, name: str
) -> None:
    other = Ledger.new().with_run(entry(release, 7, output="out"))
    waiting = other.staging(country.folder)
    assert waiting is not None
    waiting.mkdir()
    ledger = country.folder / "ledger.json"
    ledger.write_text(Ledger(name).to_text())
    with pytest.raises(InputError, match=r"its name is .* which no ledger would have"):
        measure(release, country.csv(), country.folder / "next", ledger=ledger)
    assert waiting.is_dir()


def test_only_half_written_ledgers_are_removed(release: Release, country: Country) -> None:
    ledger = country.folder / "ledger.json"
    create_ledger(ledger)
    mine, half, folder = (
        country.folder / f".discreet-{name}.tmp" for name in ("notes", "0123abcd", "4567abcd")
    )
    mine.write_text("my notes")
    half.write_text("half a ledger")
    folder.mkdir()
    measure(release, country.csv(), country.folder / "out", ledger=ledger)
    assert mine.read_text() == "my notes"
    assert folder.is_dir()
    assert not half.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"output": "a\0b"},
        {"output": "\ud800"},
        {"files": {"a\0b": "0"}},
        {"files": {"\ud800": "0"}},
        {"files": ["a"]},
        {"inputs": [{"role": "counts"}]},
        {"inputs": [{"role": "counts", "sha256": 5}]},
        {"time": 5},
        {"time": "\ud800"},
        {"command": [1]},
        {"exact": [[1, 2]]},
        {"tree": 5},
        {"salt": 5},
    ],
)
def test_fields_that_no_run_would_write(release: Release, country: Country, changes: dict[str, Any]) -> None:
    ledger = country.folder / "ledger.json"
    create_ledger(ledger)
    measure(release, country.csv(), country.folder / "out", ledger=ledger)
    data = json.loads(ledger.read_text())
    data["entries"][-1].update(changes)
    data["head"] = Ledger(data["ledger"], tuple(data["entries"])).head
    ledger.write_text(json.dumps(data))
    for function in (read_ledger, check_ledger, ledger_release):
        with pytest.raises(InputError, match=r"damaged: (a field is of the wrong kind|the key 'sha256')"):
            function(ledger)


def test_an_output_whose_name_is_too_long_is_not_there(release: Release, country: Country) -> None:
    ledger = country.folder / "ledger.json"
    create_ledger(ledger)
    measure(release, country.csv(), country.folder / "out", ledger=ledger)
    rewritten(ledger, lambda entries: entries[0].update(output="x" * 5000, files={"y" * 5000: "0"}))
    assert "is no longer there" in str(check_ledger(ledger))


def test_an_old_copy_is_found_by_what_lies_beside_its_outputs(release: Release, country: Country) -> None:
    data, published, elsewhere = (country.folder / name for name in ("data", "published", "elsewhere"))
    for folder in (data, published, elsewhere):
        folder.mkdir()
    ledger = data / "ledger.json"
    create_ledger(ledger)
    measure(release, country.csv(), published / "one", ledger=ledger)
    old = ledger.read_bytes()
    measure(release, country.csv(), published / "two", ledger=ledger, spend_again=True)
    ledger.write_bytes(old)
    (problem,) = check_ledger(ledger).problems
    assert "the output two was made when the ledger had 2 entries" in problem
    with pytest.raises(InputError, match=r"cannot be used: the output two .* an older copy"):
        measure(release, country.csv(), elsewhere / "three", ledger=ledger, spend_again=True)


def test_an_old_copy_that_is_put_back_is_found(release: Release, country: Country) -> None:
    ledger = country.folder / "ledger.json"
    create_ledger(ledger, [person(str(2 * spent(release)))])
    measure(release, country.csv(), country.folder / "one", ledger=ledger)
    old, witness = ledger.read_bytes(), None
    measure(release, country.csv(), country.folder / "two", ledger=ledger, spend_again=True)
    witness = read_ledger(ledger).witness
    ledger.write_bytes(old)
    (problem,) = check_ledger(ledger).problems
    assert (
        "the output two was made when the ledger had 3 entries, and now it has 2: this is an older copy"
        in problem
    )
    with pytest.raises(InputError, match=r"cannot be used: the output two .* an older copy"):
        measure(release, country.csv(), country.folder / "three", ledger=ledger, spend_again=True)
    # elsewhere, with the outputs out of sight, only naming them or a witness helps
    away = country.folder / "away"
    away.mkdir()
    moved = away / "ledger.json"
    os.rename(ledger, moved)
    assert check_ledger(moved).sound
    assert not check_ledger(moved, [country.folder / "two"]).sound
    assert not check_ledger(moved, [country.folder]).sound
    assert "does not continue from the witness" in check_ledger(moved, witness=witness).problems[0]
    measure(release, country.csv(), away / "three", ledger=moved, spend_again=True)
    assert "a run that the ledger lacks" in check_ledger(moved, [country.folder / "two"]).problems[0]
    with pytest.raises(InputError, match="is not a directory"):
        check_ledger(moved, [country.folder / "nowhere"])


def test_a_chain_that_was_recomputed_is_found(release: Release, country: Country) -> None:
    ledger = country.folder / "ledger.json"
    create_ledger(ledger, [person("2")])
    measure(release, country.csv(), country.folder / "one", ledger=ledger)
    witness = read_ledger(ledger).witness
    rewritten(ledger, lambda entries: entries[0].update(rho="100"))
    assert read_ledger(ledger).left("person") == 100 - spent(release)
    check = check_ledger(ledger, witness=witness)
    assert "does not continue from the witness" in check.problems[0]
    assert "the chain was recomputed" in check.problems[1]
    with pytest.raises(InputError, match="the chain was recomputed"):
        measure(release, country.csv(), country.folder / "two", ledger=ledger, spend_again=True)
    # all copies and outputs gone, and no witness: nothing can be seen, as the documentation says
    rewritten(ledger, lambda entries: None, name="f" * 32)
    assert check_ledger(ledger).sound


def test_hard_links_are_refused(release: Release, country: Country) -> None:
    ledger, second = country.folder / "ledger.json", country.folder / "second.json"
    create_ledger(ledger)
    os.link(ledger, second)
    for function in (read_ledger, check_ledger):
        with pytest.raises(InputError, match="another name too"):
            function(second)
    with pytest.raises(InputError, match="another name too"):
        measure(release, country.csv(), country.folder / "out", ledger=ledger)
    second.unlink()
    measure(release, country.csv(), country.folder / "out", ledger=ledger)


def test_signed_entries(release: Release, country: Country, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_LEDGER_KEY", raising=False)
    ledger, file = country.folder / "ledger.json", country.folder / "ledger.key"
    create_ledger(ledger, [person("3")])
    measure(release, country.csv(), country.folder / "one", ledger=ledger)
    key = new_key(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert key.public[:16] in repr(key)
    sign_ledger(ledger, key)
    assert read_ledger(ledger).key == key.public
    with pytest.raises(InputError, match="the ledger is signed, with the key"):
        measure(release, country.csv(), country.folder / "two", ledger=ledger, spend_again=True)
    assert not (country.folder / "two").exists()
    other = new_key(country.folder / "other.key")
    with pytest.raises(InputError, match="is not that of the ledger"):
        change_total(ledger, person("4"), "more", key=other)
    monkeypatch.setenv("DISCREET_LEDGER_KEY", str(file))
    measure(release, country.csv(), country.folder / "two", ledger=ledger, spend_again=True)
    assert check_ledger(ledger, key=key.public).sound
    assert "signed with the key" in check_ledger(ledger, key=other.public).problems[0]
    with pytest.raises(InputError, match="is not that of the ledger"):
        sign_ledger(ledger, other, old_key=other)
    sign_ledger(ledger, other, old_key=key)
    assert read_ledger(ledger).key == other.public
    # who has no key can recompute hashes, but no signature
    signed = ledger.read_text()
    rewritten(ledger, lambda entries: entries[-2].update(time="2031"))
    with pytest.raises(InputError, match="entry 4 is not signed with the key of the ledger"):
        read_ledger(ledger)
    ledger.write_text(signed)
    rewritten(ledger, lambda entries: entries.pop(2))
    with pytest.raises(InputError, match="is not signed"):
        Ledger.from_text(ledger.read_text(), where="x").with_total(person("9"), "x", key)


def test_keys_that_cannot_be_used(tmp_path: Path) -> None:
    file = tmp_path / "a.key"
    new_key(file)
    with pytest.raises(InputError, match="never overwritten"):
        new_key(file)
    file.chmod(0o644)
    with pytest.raises(InputError, match="can be read by others"):
        read_key(file)
    file.chmod(0o600)
    file.write_text("no key")
    with pytest.raises(InputError, match="is not a key"):
        read_key(file)
    with pytest.raises(InputError, match="cannot be written"):
        new_key(tmp_path / "no" / "a.key")


def small_points() -> list[tuple[int, int]]:
    """The points whose order divides 8: one of order 8, added to itself by formulas written here."""
    d = -121665 * pow(121666, -1, PRIME) % PRIME
    y = ORDER_EIGHT
    root = pow(2, (PRIME - 1) // 4, PRIME)
    assert root**2 % PRIME == PRIME - 1
    first = point = (root * y % PRIME, y)  # on these four, x^2 = -y^2
    found = []
    for _ in range(8):
        x, y = point
        assert (-x * x + y * y - 1 - d * x * x * y * y) % PRIME == 0
        found.append(point)
        cross = d * x * first[0] * y * first[1]
        point = (
            (x * first[1] + y * first[0]) * pow(1 + cross, -1, PRIME) % PRIME,
            (y * first[1] + x * first[0]) * pow(1 - cross, -1, PRIME) % PRIME,
        )
    assert point == first
    assert len(set(found)) == 8
    assert (0, 1) in found
    return found


def test_keys_of_small_order_are_refused(country: Country) -> None:
    forged = (1).to_bytes(32, "little") + bytes(32)  # R neutral, S zero: needs no private key
    Ed25519PublicKey.from_public_bytes((1).to_bytes(32, "little")).verify(forged, b"any text")
    encodings = [
        (number + (sign << 255)).to_bytes(32, "little")
        for _, y in small_points()
        for number in (y, y + PRIME)
        if number < 2**255
        for sign in (0, 1)
    ]
    assert len(set(encodings)) == 14  # five y, of which 0 and 1 are also p and p + 1, with both signs
    for public in encodings:
        assert small_order(public)
        assert not verified(public.hex(), forged.hex(), "any text")
    honest = new_key(country.folder / "ledger.key")
    assert verified(honest.public, honest.sign("any text"), "any text")
    # a ledger signed with such a key, with the one signature that fits every entry
    ledger = country.folder / "ledger.json"
    create_ledger(ledger, [person("3")])
    sign_ledger(ledger, honest)

    def forge(entries: list[dict[str, Any]]) -> None:
        entries[-1] |= {"public": (1).to_bytes(32, "little").hex(), "signature": forged.hex()}

    rewritten(ledger, forge)
    with pytest.raises(InputError, match="is not signed with the key"):
        change_total(ledger, person("4"), "more")


def test_what_never_ends_is_refused_as_a_ledger_or_a_key(
    release: Release, country: Country, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = country.folder / "pipe"
    os.mkfifo(pipe, 0o600)
    for asked in (read_ledger, check_ledger, read_key):
        with pytest.raises(InputError, match="pipe is not a regular file"):
            asked(pipe)
    ledger = country.folder / "ledger.json"
    create_ledger(ledger)
    done = measure(release, country.csv(), country.folder / "out", ledger=ledger)
    # pipes in an output: found beside a ledger, and in place of a file
    (country.folder / "other").mkdir()
    os.mkfifo(country.folder / "other" / "manifest.json")
    (done.out / "measurements.csv").unlink()
    os.mkfifo(done.out / "measurements.csv")
    (problem,) = check_ledger(ledger).problems
    assert "measurements.csv of out is not a regular file" in problem
    monkeypatch.setattr("discreet.ledger.ledger_file.LARGEST", 100)
    with pytest.raises(InputError, match=r"bytes; at most 100 are read"):
        read_ledger(ledger)


def test_a_key_is_asked_for_before_anything_is_read(release: Release, country: Country) -> None:
    ledger, key = country.folder / "ledger.json", country.folder / "key"
    create_ledger(ledger)
    no_counts, out = country.folder / "no.csv", country.folder / "out"
    sign_ledger(ledger, new_key(key))
    with pytest.raises(InputError, match=r"the ledger is signed, with the key .* with --key, or in"):
        measure(release, no_counts, out, ledger=ledger)
    other = new_key(country.folder / "other")
    with pytest.raises(InputError, match="is not that of the ledger"):
        measure(release, no_counts, out, ledger=ledger, key=country.folder / "other")
    with pytest.raises(InputError, match="name the file of the key with --old-key"):
        sign_ledger(ledger, other)
    with pytest.raises(InputError, match="it must be 64 hexadecimal digits"):
        check_ledger(ledger, key="zz")


def test_a_ledger_in_a_read_only_directory_is_said_to_be(
    release: Release, country: Country, monkeypatch: pytest.MonkeyPatch
) -> None:
    (country.folder / "kept").mkdir()
    ledger = country.folder / "kept" / "ledger.json"
    create_ledger(ledger)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "kept")
    with pytest.raises(InputError, match=r"the ledger .* cannot be written: its directory is read-only"):
        measure(release, country.folder / "no.csv", country.folder / "out", ledger=ledger)


def test_witnesses(release: Release) -> None:
    ledger = Ledger.new([person("1")])
    witness = ledger.witness
    later = ledger.with_run(entry(release)).settled()
    assert later.agrees(witness)
    assert later.agrees(later.witness)
    assert later.agrees(f"  {witness.upper()} ")
    assert not ledger.agrees(later.witness)
    assert not Ledger.new([person("1")]).agrees(witness)
    for text in ("", "1", "x:" + "0" * 32, "1:00", "1" * 30 + ":" + "0" * 32):
        with pytest.raises(InputError, match="the witness is"):
            ledger.agrees(text)


def test_a_clock_that_goes_backwards_is_a_remark(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = Ledger.new()
    for number, year in enumerate((2031, 2030), start=1):
        one = replace(entry(release, number), time=f"{year}-01-01T00:00:00+00:00")
        ledger = ledger.with_run(one).settled()
    path.write_text(ledger.to_text())
    check = check_ledger(path)
    assert check.sound
    assert "a clock was set back" in str(check)
    assert ledger.spent("person", "bounded") == 2 * spent(release)


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
    measure(release, country.csv(), tmp_path / "elsewhere", ledger=tmp_path / "link.json", spend_again=True)
    assert (tmp_path / "link.json").is_symlink()
    assert len(read_ledger(tmp_path / "b" / "ledger.json").entries) == 2
    assert check_ledger(tmp_path / "link.json").files == 8


def test_a_folder_that_is_reached_by_a_link_can_be_moved(
    release: Release, country: Country, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on systems where /tmp is a link: the ledger names the place itself, not the way to it."""
    (tmp_path / "a").mkdir()
    os.symlink(tmp_path / "a", tmp_path / "link")
    ledger = tmp_path / "link" / "ledger.json"
    create_ledger(ledger)
    measure(release, country.csv(), tmp_path / "link" / "out", ledger=ledger)
    (tmp_path / "a" / "here").mkdir()
    monkeypatch.chdir(tmp_path / "link" / "here")
    measure(release, country.csv(), ".", ledger=ledger, spend_again=True)
    assert [entry.output for entry in read_ledger(ledger).entries] == ["out", "here"]
    os.unlink(tmp_path / "link")
    os.rename(tmp_path / "a", tmp_path / "b")
    check = check_ledger(tmp_path / "b" / "ledger.json")
    assert check.files == 8
    assert not check.remarks


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
    measure(release, country.csv(), country.folder / "c", ledger=ledger, spend_again=True)
    two = ledger_release(ledger)
    # The same tree twice: a record follows the same path in both, and every event comes twice.
    assert two.paths == release.paths
    assert [level.name for level in two.levels][:2] == ["run 1 Nation", "run 1 State"]
    for (_, twice), (_, once) in zip(cases(two, "bounded"), cases(release, "bounded"), strict=True):
        assert {e.variance: e.times for e in twice} == {e.variance: 2 * e.times for e in once}  # type: ignore[union-attr]
    assert spent(two) == 2 * spent(release) == read_ledger(ledger).spent("person", "bounded")
    one_run, two_runs = (discreet.account(each).epsilon(delta="1e-10") for each in (release, two))
    assert one_run < two_runs < 2 * one_run
    assert Release.from_toml(two.to_toml()) == two


def test_runs_over_different_trees_take_all_combinations(tmp_path: Path) -> None:
    path, release = tmp_path / "ledger.json", Release.from_toml(TOML)
    write_text(path, ledger_of(*(entry(release, number, tree=str(number)) for number in (1, 2))).to_text())
    both = ledger_release(path)
    assert len(both.paths) == 4
    assert both.claim.kind == "bound"
    assert both.main == 1
    many = load("dhc-2020")
    write_text(path, ledger_of(*(entry(many, n, tree=str(n)) for n in range(3))).to_text())
    with pytest.raises(InputError, match="79507 combinations of paths"):
        ledger_release(path)
    write_text(path, ledger_of(*(entry(many, n, tree="same") for n in range(3))).to_text())
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
    write_text(path, ledger_of(*entries).to_text())
    with pytest.raises(InputError, match=r"different unit \(household, person\)"):
        ledger_release(path)
    assert ledger_release(path, unit="household").path_events(1) == house.path_events(1)
    with pytest.raises(InputError, match=r"different neighbours \(bounded, unbounded\)"):
        ledger_release(path, unit="person")
    both = ledger_release(path, unit="person", neighbours="bounded")
    assert spent(both) == spent(person_run, "bounded") + spent(mixed, "bounded")
    left = "Left out: 1 run about one household."
    assert both.notes == ("Held exact, outside the guarantee: State: total", left)
    assert both.title == "2 of 3 runs of one ledger"


def test_an_announced_run_counts_unless_its_directory_waits(tmp_path: Path) -> None:
    path, release = tmp_path / "ledger.json", Release.from_toml(TOML)
    ledger = Ledger.new().with_run(entry(release, 1, output="one")).settled()
    ledger = ledger.with_run(entry(release, 2, output="two"))
    write_text(path, ledger.to_text())
    assert len(read_ledger(path).entries) == 2
    own = ledger.staging(tmp_path)
    assert own is not None
    own.mkdir()
    assert len(read_ledger(path).entries) == 1
    assert Ledger.from_text(ledger.to_text(), where="x") == ledger
    # a settled run counts, whatever directory somebody makes
    write_text(path, ledger.settled().to_text())
    assert len(read_ledger(path).entries) == 2


def test_a_run_that_is_modelled_counts_no_less_than_its_rho_may_cost() -> None:
    """One stage in place of two has the same rho and a coarser lattice, which costs more than the model."""

    def run(variance: str, stages: int, **claim: str) -> Release:
        queries = [Query(name=f"stage {one}", variance=variance) for one in range(stages)]
        level = Level(name="Nation", queries=queries)
        return Release(name="tables", neighbours="unbounded", levels=[level], **claim)  # type: ignore[arg-type]

    delta = Fraction(1, 10**10)
    worst = account(run("2", 1)).epsilon(delta=delta)
    assert worst > account(run("4", 2)).epsilon(delta=delta)
    modelled = run("4", 2, kind="model", reason="as if in two stages")
    ledger = Ledger.new().with_run(entry(modelled))
    found = ledger_cost(ledger, unit="person", neighbours="unbounded", delta=delta)
    assert found.epsilon >= worst
    assert found.kind == "model"
    total = Total(unit="person", neighbours="unbounded", epsilon=str(worst - 1e-6), delta="1e-10")
    assert ledger.over(total)
