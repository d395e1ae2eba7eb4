"""Whom runs are charged to, what sums leave out, what nobody without the key can do to a signed ledger."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from release_country import Country

from discreet.answers.ledger import cost_answer, ledger_check_answer
from discreet.budget import Release
from discreet.cli import run
from discreet.errors import InputError
from discreet.ledger import (
    Entry,
    Ledger,
    Total,
    change_total,
    check_ledger,
    create_ledger,
    ledger_cost,
    ledger_release,
    new_key,
    read_ledger,
    sign_ledger,
    spent,
    upgrade_ledger,
    witness_ledger,
)
from discreet.ledger.charges import charged
from discreet.ledger.composition import ledger_costs
from discreet.ledger.ledger import UNSEALED
from discreet.measurement import measure

PEOPLE = """
name = "people"
neighbours = "bounded"
[[levels]]
name = "State"
queries = { "total" = { variance = "16" } }
"""
HOUSEHOLDS = PEOPLE.replace('"people"', '"homes"\nunit = "household"')
JOINED = """
name = "joined"
unit = "household"
neighbours = "bounded"
[people.attributes]
age = ["0-17", "18+"]
[households]
key = "home"
[households.attributes]
tenure = ["own", "rent"]
[tables]
"people by tenure" = { of = "people", at_most = 2, by = "tenure" }
[[levels]]
name = "State"
queries = { "people by tenure" = { variance = "4" } }
"""


def entry(text: str, number: int = 1, **more: object) -> Entry:
    fields = {"time": "2030-01-01T00:00:00+00:00", "version": "0", "command": "measure", **more}
    return Entry(id=f"{number:032x}", release=Release.from_toml(text), **fields)  # type: ignore[arg-type]


def ledger_of(*texts: str, totals: tuple[Total, ...] = ()) -> Ledger:
    ledger = Ledger.new(totals)
    for number, text in enumerate(texts, start=1):
        ledger = ledger.with_run(entry(text, number, tree="t")).settled()
    return ledger


# -- units ---------------------------------------------------------------------------------------------------


def test_a_unit_that_the_ledger_does_not_know_costs_no_zero() -> None:
    ledger = ledger_of(PEOPLE)
    for unit in ("persons", "person+housing unit"):
        with pytest.raises(InputError, match=r"no run and no total about the unit .*; it knows person"):
            ledger_cost(ledger, unit=unit, neighbours="bounded")
    declared = ledger_of(
        PEOPLE,
        totals=(
            Total(unit="person", neighbours="bounded", rho=10),
            Total(unit="household", neighbours="bounded", rho=1),
        ),
    )
    assert ledger_cost(declared, unit="household", neighbours="bounded").epsilon == 0


def table(homes: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """People by tenure, at most two of a household; a home is its tenure and how many live there."""
    return tuple(sum(min(size, 2) for tenure, size in homes if tenure == one) for one in (0, 1))  # type: ignore


def test_one_person_changes_a_joined_table_as_much_as_is_charged() -> None:
    """By force: all pairs of households; a person comes or goes with any tenure after, or is replaced."""
    homes = [(tenure, size) for tenure in (0, 1) for size in range(5)]
    both = list(itertools.product(homes, homes))
    worst = {"unbounded": 0, "bounded": 0}
    for before, after in itertools.product(both, both):
        sizes = [sum(size for _, size in one) for one in (before, after)]
        # where nobody comes, goes or changes, nothing does
        touched = [old != new for old, new in zip(before, after, strict=True)]
        steps = [abs(old[1] - new[1]) for old, new in zip(before, after, strict=True)]
        if max(steps) > 1:
            continue
        change = sum((a - b) ** 2 for a, b in zip(table(before), table(after), strict=True))
        if abs(sizes[0] - sizes[1]) == 1 and sum(touched) == 1:
            worst["unbounded"] = max(worst["unbounded"], change)
        if sizes[0] == sizes[1]:
            worst["bounded"] = max(worst["bounded"], change)
    joined = entry(JOINED)
    for neighbours in ("unbounded", "bounded"):
        mine = charged(joined, "person", neighbours)
        assert mine is not None
        rho = spent(mine.release, neighbours)
        assert rho == Fraction(worst[neighbours], 2 * 4)  # of variance 4; both are attained here
    assert charged(entry(HOUSEHOLDS), "person", "bounded") is None
    assert charged(entry(PEOPLE), "household", "bounded") is None


def test_people_in_households_are_charged_to_persons() -> None:
    ledger = ledger_of(PEOPLE, JOINED)
    assert set(ledger.units) == {"person", "household"}
    assert ledger.spent("person", "bounded") == Fraction(1, 16) + 4
    assert ledger.spent("household", "bounded") == 1
    person = ledger_cost(ledger, unit="person", neighbours="bounded")
    alone = ledger_cost(ledger_of(JOINED), unit="household", neighbours="bounded")
    assert person.epsilon > alone.epsilon  # somebody who lives alone is a household
    assert (person.kind, person.runs, person.by_household, person.left_out) == ("bound", 2, 1, ())
    said = str(cost_answer(person).summary)
    assert said.startswith("All runs together cost one person (bounded neighbours) epsilon at most ")
    assert said.endswith("of which one person changes up to two households")
    gone = ledger_cost(ledger, unit="person", neighbours="unbounded")
    assert str(cost_answer(gone).summary).endswith("one person changes one household")
    assert ledger.spent("person", "unbounded") == Fraction(1, 32) + 1
    assert math.isclose(
        ledger_cost(ledger_of(JOINED), unit="person", neighbours="unbounded").epsilon, alone.epsilon
    )


@pytest.mark.parametrize("texts", list(itertools.permutations([PEOPLE, HOUSEHOLDS, JOINED], 2)))
def test_what_a_sum_leaves_out_is_named(texts: tuple[str, ...], tmp_path: Path) -> None:
    ledger = ledger_of(*texts, texts[0])
    for cost in ledger_costs(ledger).costs:
        said = str(cost_answer(cost).summary)
        units = cost.unit.split("+")
        left: dict[str, int] = {}
        for one in ledger.entries:
            mine = {one.release.unit, *(["person"] if one.release.join else [])}
            if mine.isdisjoint(units):
                left[one.release.unit] = left.get(one.release.unit, 0) + 1
        assert ("All runs" in said) == (not left)
        assert dict(cost.left_out) == left
        assert cost.runs + sum(left.values()) == 3
        for unit, many in left.items():
            assert f"left out: {many} run{'s' * (many > 1)} about one {unit}" in said
        assert cost_answer(cost).record["left_out"] == [{"unit": u, "runs": n} for u, n in left.items()]
    path = tmp_path / "ledger.json"
    path.write_text(ledger.to_text())
    joint = ledger_release(path, unit=ledger.units[0], neighbours="bounded")
    assert spent(joint) == ledger.spent(ledger.units[0], "bounded")
    left_some = ledger_cost(ledger, unit=ledger.units[0], neighbours="bounded").left_out
    assert any("Left out" in note for note in joint.notes) == bool(left_some)


def test_a_total_of_persons_refuses_a_run_over_their_households() -> None:
    limits = {"rho": {"rho": "3"}, "epsilon": {"epsilon": "12", "delta": "1e-10"}}
    for more in limits.values():
        totals = (
            Total(unit="person", neighbours="bounded", **more),  # type: ignore[arg-type]
            Total(unit="household", neighbours="bounded", rho="9"),
        )
        ledger = ledger_of(PEOPLE, totals=totals)
        ledger.allow(entry(HOUSEHOLDS))
        with pytest.raises(InputError, match=r"for one person|on one person"):
            ledger.allow(entry(JOINED))


# -- the seal ------------------------------------------------------------------------------------------------


def signed(country: Country, release: Release, *, runs: int = 2) -> tuple[Path, Path]:
    ledger, file = country.folder / "ledger.json", country.folder / "ledger.key"
    create_ledger(ledger)
    sign_ledger(ledger, new_key(file))
    (country.folder / "outputs").mkdir()
    for number in range(runs):
        out = country.folder / "outputs" / str(number)
        measure(release, country.csv(), out, ledger=ledger, key=file, spend_again=True)
    (country.folder / "outputs").rename(country.folder.parent / f"{country.folder.name}-elsewhere")
    return ledger, file


def test_the_last_run_cannot_be_cut_off(release: Release, country: Country) -> None:
    ledger, _ = signed(country, release)
    whole, seal = read_ledger(ledger), json.loads(ledger.read_text())["seal"]
    assert check_ledger(ledger).sound
    for kept in range(1, len(whole.records)):
        cut = replace(whole, records=whole.records[:kept])
        for text in (cut._text(seal), cut._text(None), replace(cut, format=UNSEALED)._text(None)):
            ledger.write_text(text)
            with pytest.raises(InputError, match=r"head is not signed|says that it is older"):
                check_ledger(ledger)
    # nor can a run be marked as one that never happened
    ledger.write_text(replace(whole, pending=True)._text(seal))
    with pytest.raises(InputError, match="marked as pending"):
        read_ledger(ledger)


def test_an_unsigned_mark_takes_no_signed_run_off(release: Release, country: Country) -> None:
    """In the format before, anybody could write the mark, and make the directory."""
    ledger, file = signed(country, release)
    whole = read_ledger(ledger)
    records = tuple(
        {k: v for k, v in one.items() if k not in ("sealed", "signature")} for one in whole.records
    )
    old = Ledger(whole.id, format=UNSEALED)
    from discreet.ledger import read_key

    for one in records:
        key = read_key(file)
        assert key is not None
        old = old._with(one, key, key if one["kind"] == "key" else None)
    forged = replace(old, pending=True)
    ledger.write_text(forged.to_text())
    place = forged.staging(country.folder)
    assert place is not None
    place.parent.mkdir()
    place.mkdir()
    assert len(read_ledger(ledger).entries) == 2


def test_a_refused_run_does_not_touch_the_ledger(release: Release, country: Country) -> None:
    """A pending run is settled only once key, witness and outputs have nothing against the ledger."""
    ledger, out = country.folder / "ledger.json", country.folder / "out"
    create_ledger(ledger)
    measure(release, country.csv(), out, ledger=ledger)
    witness_ledger(ledger, country.folder / "witness.txt")
    policy = 'format = "discreet policy 1"\n[ledger]\nwitness = "witness.txt"\n'
    (country.folder / "discreet-policy.toml").write_text(policy)
    forged = replace(read_ledger(ledger), pending=True)
    ledger.write_text(forged.to_text())
    out.rename(country.folder.parent / f"{country.folder.name}-moved")
    place = forged.staging(country.folder)
    assert place is not None
    place.mkdir()
    before = ledger.read_bytes()
    with pytest.raises(InputError, match="put back to an older state"):
        measure(release, country.csv(), country.folder / "next", ledger=ledger, spend_again=True)
    with pytest.raises(InputError, match="put back to an older state"):
        change_total(ledger, Total(unit="person", neighbours="bounded", rho=9), "x")
    assert ledger.read_bytes() == before
    assert place.is_dir()


def test_an_old_ledger_is_read_used_and_upgraded(
    release: Release, country: Country, capsys: pytest.CaptureFixture[str]
) -> None:
    for key in (None, new_key(country.folder / "a.key")):
        ledger = country.folder / f"{'signed' if key else 'plain'}.json"
        old = Ledger(f"{1 if key else 2:032x}", format=UNSEALED)
        ledger.write_text((old.with_key(key) if key else old).to_text(key))
        file = country.folder / "a.key" if key else None
        measure(release, country.csv(), country.folder / f"out {ledger.stem}", ledger=ledger, key=file)
        before = read_ledger(ledger)
        assert (before.format, before.sealed, len(before.entries)) == (UNSEALED, False, 1)
        (unseen,) = check_ledger(ledger).not_seen
        assert ("`discreet ledger upgrade`" in unseen) == bool(key)
        if key:
            with pytest.raises(InputError, match="the ledger is signed"):
                upgrade_ledger(ledger)
            assert read_ledger(ledger) == before
        assert run(["ledger", "upgrade", str(ledger), *(["--key", str(file)] if file else [])]) == 0
        assert "its runs and heads are as they were" in " ".join(capsys.readouterr().out.split())
        after = read_ledger(ledger)
        assert after.sealed == bool(key)
        assert after.heads[: len(before.heads)] == before.heads
        assert after.entries == before.entries
        assert after.agrees(before.witness)
        assert check_ledger(ledger).sound
        assert run(["ledger", "upgrade", str(ledger)]) == 0
        assert "already; nothing was changed" in " ".join(capsys.readouterr().out.split())
        assert read_ledger(ledger) == after
        if key:  # and not back
            ledger.write_text(replace(after, format=UNSEALED)._text(None))
            with pytest.raises(InputError, match="says that it is older"):
                read_ledger(ledger)


def test_a_check_says_what_it_cannot_see(release: Release, country: Country) -> None:
    ledger, _ = signed(country, release, runs=1)
    found = check_ledger(ledger)
    said = str(ledger_check_answer(found, file="l").summary)
    assert "not seen: whether this is an older copy" in said
    assert check_ledger(ledger, witness=found.ledger.witness).not_seen == ()
