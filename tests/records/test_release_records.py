"""Records to counts: equal to a brute-force count, zeros included, checked first."""

from __future__ import annotations

import csv
import json
import os
import shlex
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.answers import describe
from discreet.budget import Release
from discreet.cli import run
from discreet.errors import InputError
from discreet.ledger import (
    Ledger,
    Total,
    check_ledger,
    create_ledger,
    ledger_cost,
    ledger_release,
    read_ledger,
    spent,
)
from discreet.ledger.composition import ledger_costs
from discreet.measurement import measure, tabulate

TEXT = """
name = "survey"
neighbours = "bounded"
[attributes]
sex = ["f", "m"]
age = ["0-17", "18-64", "65+"]
impossible = [{ sex = ["m"], age = ["65+"] }]
[attributes.adult]
of = "age"
groups = { yes = ["18-64", "65+"], no = ["0-17"] }
[[levels]]
name = "Nation"
queries = { "total" = { variance = 2 }, "adult * sex" = { variance = 8 } }
[[levels]]
name = "Region"
queries = { "age * sex" = { variance = 4 } }
[[levels]]
name = "District"
queries = { "age" = { variance = 3 }, "detailed" = { variance = 6 } }
[spine]
may_merge_up = ["District"]
"""
RELEASE = Release.from_toml(TEXT)
UNITS = "unit,level,parent\nN,Nation,\n1,Region,N\n2,Region+District,N\n11,District,1\n12,District,1\n"
UNITS += "13,District,1\n"
LEAVES = ["11", "12", "2"]


def files(folder: Path, rows: int = 300) -> tuple[Path, Path, list[tuple[str, str, str]]]:
    rng = np.random.default_rng(2)
    made = []
    while len(made) < rows:
        one = (
            str(rng.choice(LEAVES)),
            str(rng.choice(["f", "m"])),
            str(rng.choice(["0-17", "18-64", "65+"])),
        )
        if one[1:] != ("m", "65+"):
            made.append(one)
    records, units = folder / "records.csv", folder / "units.csv"
    lines = [f"{unit},{sex},{age},p{place}" for place, (unit, sex, age) in enumerate(made)]
    records.write_text("unit,sex,age,id\n" + "\n".join(lines) + "\n")
    units.write_text(UNITS)
    return records, units, made


def inside(unit: str, leaf: str) -> bool:
    return unit in (leaf, "N") or (unit == "1" and leaf in ("11", "12", "13"))


def test_codes_of_areas_may_be_floats(tmp_path: Path) -> None:
    """Codes of twelve digits are read as they are written, not as 1.1e+11; in memory and in Parquet."""
    import pandas

    records, units, _ = files(tmp_path)
    frame, listed = (pandas.read_csv(file, dtype=str) for file in (records, units))
    long = {one: f"1100000000{one:0>2}" for one in ("11", "12", "13", "2")}
    listed["unit"] = listed["unit"].replace(long)
    codes = frame.assign(unit=frame["unit"].replace(long).astype(float))
    codes.to_parquet(tmp_path / "codes.parquet")

    def counted(name: str, source: Any) -> str:
        tabulate(RELEASE, source, tmp_path / name, units=listed, format="csv")
        return (tmp_path / name / "counts.csv").read_text()

    due = counted("texts", codes.assign(unit=[f"{one:.0f}" for one in codes["unit"]]))
    assert counted("floats", codes) == counted("file", tmp_path / "codes.parquet") == due
    codes.loc[6, "unit"] += 0.5
    with pytest.raises(InputError, match=r"unit is not a whole number \(row 7 of records, field unit\)"):
        counted("wrong", codes)


def test_counts_equal_brute_force(tmp_path: Path) -> None:
    records, units, made = files(tmp_path)
    done = tabulate(RELEASE, records, tmp_path / "t", units=units)
    assert done.records == 300
    with (tmp_path / "t" / "counts.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    # 6 units; Nation 1 + 4, Region and the merged unit 6 each, three districts 3 + 6 each
    assert len(rows) == 5 + 6 + 6 + 3 * 9
    for row in rows:
        wanted = 0 if row["query"] == "total" else row["cell"].split(" * ")
        count = 0
        for leaf, sex, age in made:
            adult = "no" if age == "0-17" else "yes"
            said = {"total": 0, "adult * sex": [adult, sex], "age * sex": [age, sex], "age": [age]}
            said["detailed"] = [sex, age]
            count += inside(row["unit"], leaf) and said[row["query"]] == wanted
        assert int(row["count"]) == count, row


def test_measure_takes_records_or_counts_alike(tmp_path: Path) -> None:
    import pandas
    import pyarrow.csv as reader

    records, units, _ = files(tmp_path)
    tabulate(RELEASE, records, tmp_path / "t", units=units)
    measure(
        RELEASE,
        tmp_path / "t" / "counts.csv",
        tmp_path / "a",
        units=tmp_path / "t" / "units.csv",
        rehearsal=4,
    )
    measure(RELEASE, None, tmp_path / "b", records=records, units=units, rehearsal=4)
    frame = pandas.read_csv(records, dtype=str)
    measure(RELEASE, None, tmp_path / "c", records=frame, units=units, rehearsal=4, format="csv")
    table = reader.read_csv(records)
    measure(RELEASE, None, tmp_path / "d", records=table, units=units, rehearsal=4, format="csv")
    texts = {
        one: sorted((tmp_path / one / "measurements.NOT-PRIVATE.csv").read_text().splitlines())
        for one in "abcd"
    }
    assert texts["b"] == texts["c"] == texts["d"]
    # cells of a table of counts are in alphabetical order, so its noise falls otherwise
    keys = {one: [line.split(",")[:4] for line in texts[one]] for one in "ab"}
    assert sorted(keys["a"]) == sorted(keys["b"])


def test_every_cell_gets_its_noise_once_however_it_is_parted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts that are drawn and parts that are written need not be the same; what is written does not show."""
    from discreet.areas import output as tables
    from discreet.measurement import measuring

    records, units, _ = files(tmp_path)
    drawn: list[tuple[int, int]] = []
    plain = measuring.add_noise

    def noting(layout: Any, counts: Any, table: Any, source: Any, some: slice) -> None:
        drawn.append((some.start, some.stop))
        plain(layout, counts, table, source, some)

    monkeypatch.setattr(measuring, "add_noise", noting)
    for number, (at_a_time, rows) in enumerate([(20, 1 << 20), (20, 7), (20, 33), (1, 20)]):
        monkeypatch.setattr(measuring, "DRAWN", at_a_time)
        monkeypatch.setattr(tables, "ROWS", rows)
        drawn.clear()
        done = measure(RELEASE, None, tmp_path / str(number), records=records, units=units, rehearsal=4)
        assert [start for start, _ in drawn] == [0, *(stop for _, stop in drawn[:-1])]
        assert drawn[-1][1] == done.units
        assert len(drawn) > 1
    texts = [(tmp_path / str(one) / "measurements.NOT-PRIVATE.csv").read_text() for one in range(4)]
    assert texts[0] == texts[1] == texts[2]
    assert len(texts[3].splitlines()) == len(texts[0].splitlines())


def test_geocodes_nest_by_prefix(tmp_path: Path) -> None:
    text = TEXT.replace('[spine]\nmay_merge_up = ["District"]\n', "")
    release = Release.from_toml(text)
    (tmp_path / "u.csv").write_text("unit\n0101\n0102\n0201\n")
    (tmp_path / "r.csv").write_text("unit,sex,age\n0101,f,65+\n0201,m,0-17\n")
    done = tabulate(release, tmp_path / "r.csv", tmp_path / "t", units=tmp_path / "u.csv", geocodes="2,4")
    assert done.units == 1 + 2 + 3
    with pytest.raises(InputError, match="has 1 lengths; the levels Nation, Region, District need 3"):
        tabulate(release, tmp_path / "r.csv", tmp_path / "x", units=tmp_path / "u.csv", geocodes="4")


def test_how_often_a_person_may_appear(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records, units, _ = files(tmp_path, 20)
    lines = records.read_text().splitlines()
    records.write_text("\n".join([*lines, *lines[1:4], lines[1]]) + "\n")
    (tmp_path / "r.toml").write_text(TEXT)
    call = ["tabulate", str(tmp_path / "r.toml"), "--records", str(records), "--units", str(units)]
    assert run([*call, "--out", str(tmp_path / "t"), "--id", "id"]) == 2
    error = capsys.readouterr().err
    assert "an identifier occurs twice; --at-most says how often it may" in error
    assert "(lines 22, 23, 24 and 25 of records.csv, field id)" in error
    assert "p0" not in error
    assert run([*call, "--out", str(tmp_path / "t"), "--id", "id", "--at-most", "2"]) == 2
    assert "an identifier occurs more than 2 times" in capsys.readouterr().err
    assert run([*call, "--out", str(tmp_path / "t"), "--id", "id", "--excess", "keep", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["records"], found["left_out"]) == (24, 4)
    assert run([*call, "--out", str(tmp_path / "u"), "--at-most", "2"]) == 2
    assert "needs a column that identifies people" in capsys.readouterr().err


def test_exact_counts_are_for_their_owner_only(tmp_path: Path) -> None:
    records, units, _ = files(tmp_path, 20)
    (tmp_path / "made").mkdir(0o755)
    old = os.umask(0o022)
    try:
        for out in ("counted", "made"):
            tabulate(RELEASE, records, tmp_path / out, units=units)
            measure(RELEASE, tmp_path / out / "counts.csv", tmp_path / f"{out}-out", units=units)
    finally:
        os.umask(old)
    for out in ("counted", "made"):
        assert stat.S_IMODE((tmp_path / out).stat().st_mode) == 0o700
        modes = {stat.S_IMODE(item.stat().st_mode) for item in (tmp_path / out).iterdir()}
        assert modes == {0o600}
        assert stat.S_IMODE((tmp_path / f"{out}-out").stat().st_mode) == 0o755


def two_of_one(folder: Path) -> tuple[Path, Path]:
    records, units, _ = files(folder, 20)
    lines = records.read_text().splitlines()
    records.write_text("\n".join([*lines, lines[1]]) + "\n")
    return records, units


@pytest.mark.parametrize("neighbours", ["bounded", "unbounded"])
def test_two_records_of_a_person_cost_as_two_people(tmp_path: Path, neighbours: str) -> None:
    release = Release.from_toml(TEXT.replace('"bounded"', f'"{neighbours}"'))
    records, units = two_of_one(tmp_path)
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger, [Total(unit="person", neighbours=release.neighbours, rho=4 * spent(release))])
    one = {"units": units, "id": "id", "at_most": 2, "ledger": ledger}
    done = measure(release, None, tmp_path / "out", records=records, **one)
    assert done.rho == 4 * spent(release)
    assert describe(done).objects["at_most"] == 2
    assert "a person in up to 2 records" in str(done)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["rho"], manifest["at_most"]) == (str(done.rho), 2)
    # the noise, and the release that is published with it, are as stated
    assert Release.from_toml((tmp_path / "out" / "release.toml").read_text()) == release
    noted = read_ledger(ledger)
    assert noted.left("person") == 0
    assert describe(ledger_costs(noted)).objects["runs"][0]["at_most"] == 2
    assert "a person in up to 2 records" in str(noted)
    assert check_ledger(ledger).sound
    # all the ways to ask give the number of two people, and the pure epsilon too
    two = discreet.account(release, people=2)
    cost = ledger_cost(noted, unit="person", neighbours=release.neighbours)
    assert cost.epsilon == two.epsilon(delta="1e-10")
    assert discreet.account(ledger_release(ledger)).delta(epsilon=5) == two.delta(epsilon=5)
    # what an older program reads, which knows no at_most, is the same cost
    bare = [{k: v for k, v in record.items() if k != "at_most"} for record in noted.records]
    assert Ledger(noted.id, tuple(bare)).spent("person", release.neighbours) == done.rho


def test_a_person_of_several_records_is_refused_as_what_they_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records, units = two_of_one(tmp_path)
    (tmp_path / "r.toml").write_text(TEXT)
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger, [Total(unit="person", neighbours="bounded", rho=3 * spent(RELEASE))])
    call = ["measure", str(tmp_path / "r.toml"), "--ledger", str(ledger), "--out", str(tmp_path / "out")]
    people = ["--records", str(records), "--units", str(units), "--id", "id"]
    before = ledger.read_bytes()
    assert run([*call, *people, "--at-most", "2"]) == 2
    said = capsys.readouterr().err
    assert f"the run needs rho {4 * spent(RELEASE)} with a person in up to 2 records, but" in said
    assert (ledger.read_bytes(), (tmp_path / "out").exists()) == (before, False)
    # a cap on epsilon, which one person would keep and two would not
    epsilon = Fraction(discreet.account(RELEASE).epsilon(delta="1e-10")).limit_denominator(100) + 1
    capped = tmp_path / "capped.json"
    create_ledger(capped, [Total(unit="person", neighbours="bounded", epsilon=epsilon, delta="1e-10")])
    with pytest.raises(InputError, match="would come to"):
        measure(
            RELEASE,
            None,
            tmp_path / "out",
            records=records,
            units=units,
            id="id",
            at_most=2,
            ledger=capped,
        )


def three_of_one(folder: Path, **more: Any) -> tuple[Path, Path]:
    """Tabulate records of whom one person has three; return the counts, and the areas."""
    folder.mkdir(exist_ok=True)
    records, units, _ = files(folder, 20)
    lines = records.read_text().splitlines()
    records.write_text("\n".join([*lines, lines[1], lines[1]]) + "\n")
    tabulate(RELEASE, records, folder / "counted", units=units, id="id", at_most=3, **more)
    return folder / "counted" / "counts.csv", units


def test_counts_know_how_many_records_of_a_person_they_hold(tmp_path: Path) -> None:
    counts, units = three_of_one(tmp_path)
    assert counts.read_text().splitlines()[0] == '"unit","level","query","cell","count","at_most"'
    assert measure(RELEASE, counts, tmp_path / "a", units=units).rho == 9 * spent(RELEASE)
    assert measure(RELEASE, counts, tmp_path / "b", units=units, at_most=4).rho == 16 * spent(RELEASE)
    with pytest.raises(InputError, match=r"at_most is 1, but the column at_most of .* may have 3 records"):
        measure(RELEASE, counts, tmp_path / "c", units=units, at_most=1)
    with pytest.raises(InputError, match="need records; counts have none"):
        measure(RELEASE, counts, tmp_path / "e", units=units, id="id")
    for wrong in (0, -1, True, 10**13):
        with pytest.raises(InputError, match="at_most is"):
            measure(RELEASE, counts, tmp_path / "e", units=units, at_most=wrong)
    # without the column, in its place beside the manifest; the manifest alone says it
    import pandas

    bare = pandas.read_csv(counts).drop(columns="at_most")
    bare.to_csv(counts, index=False)
    assert measure(RELEASE, counts, tmp_path / "f", units=units).rho == 9 * spent(RELEASE)
    with pytest.raises(InputError, match=r"but the manifest beside .* may have 3 records"):
        measure(RELEASE, counts, tmp_path / "g", units=units, at_most=2)
    # a manifest of counts that does not say it, or says what is no number, is not read as one
    manifest = counts.with_name("manifest.json")
    said = json.loads(manifest.read_text())
    for number, wrong in enumerate(({}, {"at_most": "three"}, {"at_most": 0}, {"at_most": None})):
        manifest.write_text(json.dumps({name: said[name] for name in said if name != "at_most"} | wrong))
        with pytest.raises(InputError, match=r"does not say how many records .* \(--at-most\)"):
            measure(RELEASE, counts, tmp_path / "i", units=units)
        found = measure(RELEASE, counts, tmp_path / f"stated{number}", units=units, at_most=3)
        assert found.rho == 9 * spent(RELEASE)
    # elsewhere, without a ledger, nothing is known: one record a person, as for counts made by hand
    bare.to_csv(tmp_path / "made-by-hand.csv", index=False)
    assert measure(RELEASE, tmp_path / "made-by-hand.csv", tmp_path / "h", units=units).rho == spent(RELEASE)


def copies(folder: Path, counts: Path, *, column: bool) -> dict[str, Any]:
    """Copy, rename, convert and shuffle counts in the ways that people do, with their column or without."""
    import gzip

    import pandas
    import pyarrow.csv
    import pyarrow.parquet as pq

    frame = pandas.read_csv(counts)
    frame = frame if column else frame.drop(columns="at_most")
    folder.mkdir()
    frame.to_csv(folder / "renamed.csv", index=False)
    with gzip.open(folder / "packed.csv.gz", "wb") as stream:
        stream.write((folder / "renamed.csv").read_bytes())
    frame.to_parquet(folder / "by-pandas.parquet")
    pq.write_table(pyarrow.csv.read_csv(folder / "renamed.csv"), folder / "by-arrow.parquet")
    mixed = frame.sample(frac=1.0, random_state=3)[list(reversed(frame.columns))]
    mixed.to_csv(folder / "mixed.csv", index=False)
    mixed.astype({"count": float}).to_csv(folder / "floats.csv", index=False)
    pandas.read_parquet(folder / "by-pandas.parquet").to_csv(folder / "back.csv", index=False)
    there = {path.name: path for path in sorted(folder.iterdir())}
    return there | {"frame": mixed, "arrow": pyarrow.csv.read_csv(folder / "mixed.csv")}


def test_the_number_of_records_goes_with_the_counts(tmp_path: Path) -> None:
    """Copied, renamed, packed, converted and shuffled counts are charged as those that were tabulated."""
    counts, units = three_of_one(tmp_path)
    for name, source in copies(tmp_path / "copies", counts, column=True).items():
        done = measure(RELEASE, source, tmp_path / f"out-{name}", units=units)
        assert (done.rho, done.at_most) == (9 * spent(RELEASE), 3), name


def test_a_ledger_knows_counts_again_that_lost_their_column(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    counts, units = three_of_one(tmp_path, ledger=ledger)
    assert len(read_ledger(ledger).entries) == 0
    assert check_ledger(ledger).sound
    found = copies(tmp_path / "copies", counts, column=False)
    for name, source in found.items():
        given = {"units": units, "ledger": ledger, "spend_again": True}
        done = measure(RELEASE, source, tmp_path / f"out-{name}", **given)
        assert (done.rho, done.at_most) == (9 * spent(RELEASE), 3), name
        with pytest.raises(InputError, match=r"at_most is 2, but the ledger .* knows these counts by their"):
            measure(RELEASE, source, tmp_path / "less", at_most=2, **given)
    assert check_ledger(ledger).sound
    # other counts are not taken for these
    other = found["frame"].copy()
    wrong = other.index[other["query"].isin(["total"])][0]
    for place in (wrong, *other.index[(other["cell"] == "f * 0-17") & (other["unit"] == "2")]):
        other.loc[place, "count"] += 1
    with pytest.raises(InputError, match="not the sum"):
        measure(RELEASE, other, tmp_path / "x", units=units, ledger=ledger)
    assert measure(RELEASE, other, tmp_path / "x", units=units, ledger=ledger, additive=False).at_most == 1


def test_a_ledger_knows_counts_that_it_was_once_told_about(tmp_path: Path) -> None:
    """A run's own statement is remembered, too: the larger one, whatever the format of the counts."""
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    counts, units = three_of_one(tmp_path)
    found = copies(tmp_path / "copies", counts, column=False)
    given = {"units": units, "ledger": ledger, "spend_again": True}
    assert measure(RELEASE, found["renamed.csv"], tmp_path / "a", **given).at_most == 1
    assert not (tmp_path / "ledger.json.secret").exists()  # nothing to remember yet
    assert measure(RELEASE, found["renamed.csv"], tmp_path / "b", at_most=2, **given).at_most == 2
    assert measure(RELEASE, found["by-pandas.parquet"], tmp_path / "c", **given).at_most == 2
    # counts of records that were measured at once are known, too; a run that is refused leaves no key
    direct = tmp_path / "direct.json"
    create_ledger(direct, [Total(unit="person", neighbours="bounded", rho=spent(RELEASE))])
    people = {"records": tmp_path / "records.csv", "units": units, "id": "id", "at_most": 3}
    with pytest.raises(InputError, match="with a person in up to 3 records"):
        measure(RELEASE, None, tmp_path / "d", ledger=direct, **people)
    assert not (tmp_path / "direct.json.secret").exists()
    other = tmp_path / "other.json"
    create_ledger(other)
    measure(RELEASE, None, tmp_path / "e", ledger=other, **people)
    given["ledger"] = other
    assert measure(RELEASE, found["mixed.csv"], tmp_path / "f", **given).at_most == 3


def test_a_later_tabulation_has_looked_again(tmp_path: Path) -> None:
    """Who allowed three and finds that one is enough is not charged for three for ever."""
    ledger = tmp_path / "discreet-ledger.json"  # beside the records, so it is found
    create_ledger(ledger)
    records, units, _ = files(tmp_path, 20)
    done = tabulate(RELEASE, records, tmp_path / "three", units=units, id="id", at_most=3)
    assert (done.ledger, done.at_most) == (ledger, 3)
    bare = tmp_path / "bare.csv"
    tabulate(RELEASE, records, tmp_path / "unchecked", units=units)
    bare.write_bytes((tmp_path / "unchecked" / "counts.csv").read_bytes())
    assert measure(RELEASE, bare, tmp_path / "a", units=units, rehearsal=1).at_most == 3
    tabulate(RELEASE, records, tmp_path / "one", units=units, id="id")
    counts = tmp_path / "one" / "counts.csv"
    assert measure(RELEASE, counts, tmp_path / "b", units=units, ledger=ledger).rho == spent(RELEASE)
    kinds = [(one["kind"], one.get("at_most")) for one in read_ledger(ledger).records]
    assert kinds == [("counts", 3), ("run", 3), ("counts", 1), ("run", None)]


def test_what_a_ledger_remembers_tells_nothing_without_its_key(tmp_path: Path) -> None:
    """Whoever guesses the counts cannot confirm the guess: another key gives another hash."""
    from discreet.ledger import records_per_person as contents
    from discreet.records.counts import read_counts

    found = []
    for name in ("a", "b"):
        ledger = tmp_path / f"{name}.json"
        create_ledger(ledger)
        counts, units = three_of_one(tmp_path / name, ledger=ledger)
        found.append(next(iter(read_ledger(ledger).remembered)))
        secret = contents.secret_file(ledger)
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        assert secret.read_text().strip() not in ledger.read_text()
        table = read_counts(RELEASE, counts, units=units)
        key = contents.read_secret(ledger)
        assert key is not None
        assert key.content(table.layout, table.read) == found[-1]
        assert key.value.hex() not in repr(key)
    assert found[0].split(":")[1] != found[1].split(":")[1]  # the same counts


def test_a_ledger_without_its_key_says_so(tmp_path: Path) -> None:
    from discreet.ledger import records_per_person as contents

    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    counts, units = three_of_one(tmp_path, ledger=ledger)
    bare = copies(tmp_path / "copies", counts, column=False)["renamed.csv"]
    secret = contents.secret_file(ledger)
    kept = secret.read_text()
    given = {"units": units, "ledger": ledger}
    for wrong, said in (("", "is damaged"), ("0" * 64, "is another"), (None, "is missing")):
        secret.unlink(missing_ok=True)
        if wrong is not None:
            secret.write_text(wrong)
            secret.chmod(0o600)
        with pytest.raises(InputError, match=said):
            measure(RELEASE, bare, tmp_path / "out", **given)
    assert "will not be known again" in str(check_ledger(ledger))
    # who states the number needs no key, nor does the column
    assert measure(RELEASE, counts, tmp_path / "column", **given).at_most == 3
    secret.write_text(kept)
    secret.chmod(0o644)
    with pytest.raises(InputError, match="can be read by others"):
        measure(RELEASE, bare, tmp_path / "out", **given)
    secret.chmod(0o600)
    assert measure(RELEASE, bare, tmp_path / "again", spend_again=True, **given).at_most == 3


def test_the_next_command_that_tabulate_names_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`measure --counts` alone was named, which is refused: counts do not say which area lies in which; then
    the release and --out were missing."""
    records, units, _ = files(tmp_path, 20)
    (tmp_path / "r.toml").write_text(TEXT)
    given = ["--records", str(records), "--units", str(units), "--out", str(tmp_path / "t")]
    assert run(["tabulate", str(tmp_path / "r.toml"), *given]) == 0
    (said,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("discreet "))
    assert run(shlex.split(said)[1:]) == 0
    assert (tmp_path / "t-rehearsed").is_dir()


def test_a_key_behind_a_link_is_never_replaced(tmp_path: Path) -> None:
    """A key may lie on another disk. While that is away, its link was taken for no key, and a new key
    replaced the link."""
    from discreet.ledger import records_per_person as contents

    ledger, away = tmp_path / "ledger.json", tmp_path / "away.secret"
    create_ledger(ledger)
    counts, units = three_of_one(tmp_path, ledger=ledger)
    secret = contents.secret_file(ledger)
    kept = secret.read_text()
    secret.unlink()
    secret.symlink_to(away)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        measure(RELEASE, counts, tmp_path / "out", units=units, ledger=ledger)
    assert secret.is_symlink()
    assert not (tmp_path / "out").exists()
    away.write_text(kept)
    away.chmod(0o600)
    assert measure(RELEASE, counts, tmp_path / "out", units=units, ledger=ledger).at_most == 3


def test_counts_that_never_appear_are_remembered_at_no_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger is told first: a failure in between leaves no counts, and a ledger that is sound."""
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
        with pytest.raises(InputError, match="cannot be written"):
            three_of_one(tmp_path, ledger=ledger)
    assert not (tmp_path / "counted").exists()
    assert list(read_ledger(ledger).remembered.values()) == [3]
    before = ledger.read_bytes()
    three_of_one(tmp_path, ledger=ledger)
    assert ledger.read_bytes() == before  # it knew
    assert check_ledger(ledger).sound


KILLED = """
import os, signal, sys
from discreet.budget import load
from discreet.measurement import tabulate

last, folder, place = int(sys.argv[1]), sys.argv[2], sys.argv[3]
release, seen = load(folder + "/r.toml"), 0

def watch(event, arguments):
    global seen
    if event.startswith("os.") or (event == "open" and place in str(arguments[0])):
        seen += 1
        if seen == last:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
files = {"records": folder + "/records.csv", "units": folder + "/units.csv", "ledger": place + "/ledger.json"}
tabulate(release, out=place + "/out", id="id", at_most=3, **files)
"""


@pytest.mark.slow
def test_a_tabulation_that_is_killed_leaves_a_sound_ledger(tmp_path: Path) -> None:
    """At whatever call it ends: counts that are there are remembered, and the next run goes on."""
    import subprocess
    import sys

    records, _, _ = files(tmp_path, 20)
    lines = records.read_text().splitlines()
    records.write_text("\n".join([*lines, lines[1], lines[1]]) + "\n")
    (tmp_path / "r.toml").write_text(TEXT)
    for last in range(1, 400, 6):
        place = tmp_path / f"killed-{last}"
        place.mkdir()
        create_ledger(place / "ledger.json")
        call = [sys.executable, "-c", KILLED, str(last), str(tmp_path), str(place)]
        done = subprocess.run(call, check=False, capture_output=True)
        assert done.returncode in (0, -9), done.stderr
        remembered = list(read_ledger(place / "ledger.json").remembered.values())
        assert check_ledger(place / "ledger.json").sound
        assert remembered == [3] or not (place / "out").exists()
        if not (place / "out").exists():
            subprocess.run([*call[:3], "100000", *call[4:]], check=True, capture_output=True)
        assert sorted(item.name for item in place.iterdir()) == ["ledger.json", "ledger.json.secret", "out"]
        assert list(read_ledger(place / "ledger.json").remembered.values()) == [3]
        if done.returncode == 0:
            break
    assert done.returncode == 0
    assert last > 12


def test_a_packed_file_that_is_damaged(tmp_path: Path) -> None:
    import gzip

    counts, units = three_of_one(tmp_path)
    packed = gzip.compress(counts.read_bytes())
    for wrong in (packed[:-30], packed[:10] + bytes(20) + packed[30:], b"not packed", b""):
        (tmp_path / "c.csv.gz").write_bytes(wrong)
        with pytest.raises(InputError, match=r"c\.csv\.gz (cannot be read|has no column|is empty)"):
            measure(RELEASE, tmp_path / "c.csv.gz", tmp_path / "out", units=units)
    (tmp_path / "c.parquet.gz").write_bytes(packed)
    with pytest.raises(InputError, match="must end in"):
        measure(RELEASE, tmp_path / "c.parquet.gz", tmp_path / "out", units=units)


def test_a_column_that_cannot_be(tmp_path: Path) -> None:
    counts, units = three_of_one(tmp_path)
    text = counts.read_text()
    for old, new, said in (
        (",3\n", ",0\n", "at_most is not from 1 to 1000000000000 \\(line 2"),
        (",3\n", ",\n", "at_most is not a whole number \\(line 2"),
        (",3\n", ",many\n", "at_most is not a whole number"),
    ):
        counts.write_text(text.replace(old, new, 1))
        with pytest.raises(InputError, match=said):
            measure(RELEASE, counts, tmp_path / "out", units=units)
    counts.write_text(text.replace(",3\n", ",5\n", 1))  # of several the largest
    assert measure(RELEASE, counts, tmp_path / "out", units=units).at_most == 5


def test_a_signed_ledger_remembers_counts_with_its_key(tmp_path: Path) -> None:
    from discreet.ledger import new_key, sign_ledger

    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    sign_ledger(ledger, new_key(tmp_path / "key"))
    with pytest.raises(InputError, match="the ledger is signed"):
        three_of_one(tmp_path, ledger=ledger)
    assert not (tmp_path / "counted").exists()
    three_of_one(tmp_path, ledger=ledger, key=tmp_path / "key")
    assert list(read_ledger(ledger).remembered.values()) == [3]
    with pytest.raises(InputError, match="damaged"):
        Ledger.from_text(ledger.read_text().replace('"at_most": 3', '"at_most": 1'), where="x")


def test_nobody_is_counted_as_nobody(tmp_path: Path) -> None:
    """A header alone: zeros, and noise. A refusal would tell no record from one."""
    import pandas

    _, units, _ = files(tmp_path, 1)
    (tmp_path / "r.csv").write_text("unit,sex,age,id\n")
    (tmp_path / "bare.csv").write_text("unit,sex,age,id")
    frame = pandas.read_csv(tmp_path / "r.csv", dtype=str)
    frame.to_parquet(tmp_path / "r.parquet")
    for number, source in enumerate(
        (tmp_path / "r.csv", tmp_path / "bare.csv", tmp_path / "r.parquet", frame)
    ):
        done = tabulate(
            RELEASE, source, tmp_path / f"t{number}", units=units, id="id", at_most=2, format="csv"
        )
        assert (done.records, done.left_out, done.cells) == (0, 0, 44)
        with (tmp_path / f"t{number}" / "counts.csv").open() as stream:
            assert [row["count"] for row in csv.DictReader(stream)] == ["0"] * 44
        given = {"records": source, "units": units, "post": "consistent", "format": "csv"}
        run = measure(RELEASE, None, tmp_path / f"m{number}", rehearsal=7, **given)
        assert run.cells == 44
    texts = {(tmp_path / f"m{one}" / "measurements.NOT-PRIVATE.csv").read_bytes() for one in range(4)}
    assert len(texts) == 1
    # its areas must be known, which no person decides
    (tmp_path / "areas.csv").write_text("unit,level,parent\n")
    with pytest.raises(InputError, match="there are no areas"):
        tabulate(RELEASE, tmp_path / "r.csv", tmp_path / "t", units=tmp_path / "areas.csv")


def test_what_is_needed(tmp_path: Path) -> None:
    records, units, _ = files(tmp_path, 3)
    plain = Release.from_toml(
        'name = "x"\nneighbours = "bounded"\n[[levels]]\nname = "N"\nqueries = { "a" = { variance = 1 } }\n'
    )
    with pytest.raises(InputError, match="states no attributes"):
        tabulate(plain, records, tmp_path / "t", units=units)
    with pytest.raises(InputError, match="give either counts or records"):
        measure(RELEASE, None, tmp_path / "t", units=units)
    with pytest.raises(InputError, match="records need a table of areas"):
        measure(RELEASE, None, tmp_path / "t", records=records)
    with pytest.raises(InputError, match="records is of type int"):
        tabulate(RELEASE, 3, tmp_path / "t", units=units)
    (tmp_path / "cycle.csv").write_text("unit,level,parent\nN,Nation,\n1,Region,11\n11,District,1\n")
    with pytest.raises(InputError):
        tabulate(RELEASE, records, tmp_path / "t", units=tmp_path / "cycle.csv")
    (tmp_path / "two.csv").write_text(UNITS + "11,District,2\n")
    with pytest.raises(InputError, match="an area is listed twice"):
        tabulate(RELEASE, records, tmp_path / "t", units=tmp_path / "two.csv")


def test_counts_must_agree_with_the_attributes(tmp_path: Path) -> None:
    """What records give is taken, in the same order; a cell, a sum or a combination that cannot be is not."""
    records, units, _ = files(tmp_path)
    tabulate(RELEASE, records, tmp_path / "t", units=units)
    with (tmp_path / "t" / "counts.csv").open() as stream:
        rows = list(csv.DictReader(stream))

    def measured(name: str, **options: Any) -> bytes:
        counts = tmp_path / f"{name}.csv"
        with counts.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(changed)
        measure(RELEASE, counts, tmp_path / name, units=units, rehearsal=1, **options)
        return (tmp_path / name / "measurements.NOT-PRIVATE.csv").read_bytes()

    changed = rows
    measure(RELEASE, None, tmp_path / "r", records=records, units=units, rehearsal=1)
    assert measured("same") == (tmp_path / "r" / "measurements.NOT-PRIVATE.csv").read_bytes()
    changed = [row for row in rows if row["cell"] != "65+"]
    with pytest.raises(InputError, match=r"3 cells are missing: .* lacks a cell of query 'age'"):
        measured("missing")
    changed = [dict(row, cell="old") if row["cell"] == "65+" else row for row in rows]
    with pytest.raises(InputError, match="unknown cell"):
        measured("renamed")
    raised = {"N": 0, "1": 0, "11": 0}
    changed = []
    for row in rows:
        more = row["unit"] in raised and row["cell"] in ("65+ * m", "m * 65+")
        changed.append(dict(row, count=int(row["count"]) + more))
    with pytest.raises(InputError, match="a combination of values that the release declares impossible"):
        measured("impossible", additive=False)
    changed = [dict(row, count=int(row["count"]) + 3 * (row["query"] == "total")) for row in rows]
    text = "the counts of query 'total' are not the sums of those of 'adult . sex' .*line 2 of total.csv"
    with pytest.raises(InputError, match=text):
        measured("total")
    assert not (tmp_path / "total").exists()
    assert measured("unchecked", additive=False)
    cells = tmp_path / "cells.csv"
    cells.write_text("query,cell\n" + "".join(f"{row['query']},{row['cell']}x\n" for row in rows[:5]))
    changed = rows
    with pytest.raises(InputError, match="no cells are declared for query"):
        measured("declared", cells=cells)


def test_queries_that_share_only_some_sums() -> None:
    """The finest table that two queries tell, against all tables of sums by brute force."""
    from discreet.areas.cells import detailed_cells, shared_cells

    attributes = RELEASE.attributes
    assert attributes is not None
    names = ["total", "sex", "age", "adult", "adult * sex", "age * sex", "detailed"]
    for one in names:
        for two in names:
            shared = shared_cells(attributes, one, two)
            graph = np.eye(6, dtype=int)
            for query in (one, two):
                index = detailed_cells(attributes, query)
                graph |= (index[:, None] == index).astype(int)
            reach = np.linalg.matrix_power(graph, 6) > 0
            assert np.array_equal(shared[:, None] == shared, reach), (one, two)


class Polars:
    """What polars has of what is asked: columns, select, to_arrow (with its long texts)."""

    def __init__(self, table: Any) -> None:
        self._table = table

    @property
    def columns(self) -> list[str]:
        return list(self._table.column_names)

    def select(self, names: list[str]) -> Polars:
        return Polars(self._table.select(names))

    def to_arrow(self) -> Any:
        import pyarrow

        texts = [pyarrow.field(name, pyarrow.large_string()) for name in self._table.column_names]
        return self._table.cast(pyarrow.schema(texts))


def test_tables_in_memory(tmp_path: Path) -> None:
    """Records and units from pandas, polars and Arrow are those of the files; what is odd is refused."""
    import pandas
    import pyarrow

    records, units, _ = files(tmp_path)
    frame = pandas.read_csv(records, dtype=str)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    listed = pandas.read_csv(units, dtype=str)

    def counted(name: str, source: Any, units: Any = listed, **options: Any) -> bytes:
        tabulate(RELEASE, source, tmp_path / name, units=units, format="csv", **options)
        return (tmp_path / name / "counts.csv").read_bytes()

    due = counted("file", records, units)
    odd = frame.assign(other=[object() for _ in range(len(frame))], id=range(len(frame)))
    sources = {
        "pandas": frame,
        "odd": odd,
        "category": frame.astype("category"),
        "arrow": table,
        "batch": table.combine_chunks().to_batches()[0],
        "reader": table.to_reader(),
        "polars": Polars(table),
    }
    for name, source in sources.items():
        assert counted(name, source, id="id") == due, name
    mixed = frame.assign(sex=[1, *frame["sex"][1:]])
    twice = pandas.concat([frame, frame[["sex"]]], axis=1)
    for wrong, said in [
        (mixed, "a column of records holds values of several kinds"),
        (frame.assign(sex=[["f"]] * len(frame)), "column sex of records is of type list"),
        (twice, "records has two columns named sex"),
        (frame.assign(id=[None, *frame["id"][1:]]), "a text is missing \\(row 1 of records, field id\\)"),
        (frame.to_dict(), "records is of type dict; a file or a pandas, polars or Arrow table is needed"),
    ]:
        with pytest.raises(InputError, match=said):
            counted("wrong", wrong, id="id")
    with pytest.raises(InputError, match="there are no areas \\(units\\)"):
        counted("none", frame, listed.iloc[:0])


def test_the_commands_say_how_many_records_a_person_may_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records, units = two_of_one(tmp_path)
    (tmp_path / "r.toml").write_text(TEXT)
    ledger, call = str(tmp_path / "ledger.json"), [str(tmp_path / "r.toml"), "--units", str(units)]
    assert run(["ledger", "new", ledger]) == 0
    people = ["--records", str(records), "--id", "id", "--at-most", "2", "--ledger", ledger]
    assert run(["tabulate", *call, *people, "--out", str(tmp_path / "t")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The column at_most of the counts says so, and must stay with them." in said
    assert f"The ledger {ledger} remembers that by their content. Nothing was spent." in said
    assert run(["tabulate", *call, *people, "--out", str(tmp_path / "again"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["at_most"], found["ledger"]) == (2, ledger)
    assert run(["ledger", "show", ledger]) == 0
    assert "have at most 2 records of one person: measuring them costs what 2 people cost." in " ".join(
        capsys.readouterr().out.split()
    )
    assert run(["ledger", "show", ledger, "--json"]) == 0
    (noted,) = json.loads(capsys.readouterr().out)["counts"]
    assert (noted["release"], noted["at_most"]) == ("survey", 2)
    assert run(["ledger", "check", ledger, str(tmp_path / "t")]) == 0
    assert "holds exact counts, of at most 2 records of one person" in capsys.readouterr().out
    manifest = tmp_path / "again" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"at_most"', '"most"'))
    assert run(["ledger", "check", ledger, str(tmp_path / "again")]) == 0
    assert "of at most an unknown number of records of one person" in capsys.readouterr().out
    moved = tmp_path / "moved.csv"
    moved.write_bytes((tmp_path / "t" / "counts.csv").read_bytes())
    counts = ["--counts", str(moved), "--ledger", ledger, "--out", str(tmp_path / "m")]
    assert run(["measure", *call, *counts, "--at-most", "1"]) == 2
    assert "but the column at_most of" in capsys.readouterr().err
    assert run(["measure", *call, *counts, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rho"] == str(4 * spent(RELEASE))
