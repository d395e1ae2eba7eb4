"""Policies: the ways round a ledger end with status 2, limits are exact, and whoever reads records asks."""

from __future__ import annotations

import ast
import errno
import json
import os
import pickle
import shutil
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from present import IS_WHOLE
from release_country import TOML, Country

from discreet import files
from discreet.accounting.account import account
from discreet.budget import Release
from discreet.cli import run as command
from discreet.disclosure import records_risk
from discreet.errors import InputError
from discreet.ledger import (
    Ledger,
    PolicyError,
    Total,
    change_total,
    check_ledger,
    create_ledger,
    new_key,
    policy,
    read_ledger,
    read_policy,
    rules_in_force,
    sign_ledger,
    sign_policy,
    spent,
    witness_ledger,
)
from discreet.ledger.ledger import UNSEALED
from discreet.ledger.ledger_file import write_text
from discreet.ledger.policy import Permission, User, current_user
from discreet.ledger.policy_review import review_policy
from discreet.ledger.witness_file import add_line, read_witness, start_witness
from discreet.measurement import measure, tabulate
from discreet.records import check_records

HEAD = 'format = "discreet policy 1"\n'
SOURCE = Path(policy.__file__).parents[1]


@dataclass
class Agency:
    """Data with a policy, a ledger beside them, and a witness elsewhere."""

    folder: Path

    def __post_init__(self) -> None:
        self.data, self.elsewhere = self.folder / "data", self.folder / "elsewhere"
        self.data.mkdir()
        self.elsewhere.mkdir()
        self.release, self.counts = Release.from_toml(TOML), Country(self.data).csv()
        (self.folder / "release.toml").write_text(TOML)
        self.ledger, self.witness = self.data / "discreet-ledger.json", self.elsewhere / "witness.txt"
        self.key = self.folder / "ledger.key"

    def rules(self, text: str, *, folder: Path | None = None) -> Path:
        file = (folder or self.data) / "discreet-policy.toml"
        file.write_text(HEAD + text)
        return file

    def strict(self) -> None:
        """A ledger that is required, signed with a pinned key, and witnessed."""
        create_ledger(self.ledger)
        made = new_key(self.key)
        sign_ledger(self.ledger, made)
        witness_ledger(self.ledger, self.witness)
        self.rules(
            f'[ledger]\nrequired = true\npublic_key = "{made.public}"\nwitness = "../elsewhere/witness.txt"'
        )

    def run(self, out: str, *options: object, counts: Path | None = None) -> int:
        """The status of `discreet measure`."""
        fixed = ("measure", self.folder / "release.toml", "--counts", counts or self.counts)
        return command([str(one) for one in (*fixed, "--out", self.folder / out, "--quiet", *options)])


@pytest.fixture
def agency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agency:
    monkeypatch.setattr(policy, "MACHINE", tmp_path / "machine")
    return Agency(tmp_path)


# -- the ways round a ledger -------------------------------------------------------------------------------


def test_no_ledger_named(agency: Agency, capsys: pytest.CaptureFixture[str]) -> None:
    assert agency.run("free", "--no-ledger") == 0  # nothing is asked for without a policy
    file = agency.rules("ledger.required = true")
    assert agency.run("out") == 2
    said = capsys.readouterr().err
    assert f"refused by the rule ledger.required of the policy {file}: a ledger must be named" in said
    assert not (agency.folder / "out").exists()
    create_ledger(agency.ledger)
    assert agency.run("out") == 0


@pytest.mark.parametrize("how", ["a link to the file", "a link to the folder", "a link to a link"])
def test_a_link_does_not_hide_the_ledger(agency: Agency, how: str) -> None:
    create_ledger(agency.ledger)
    assert agency.run("first") == 0
    links = agency.folder / "links"
    links.mkdir()
    if how == "a link to the folder":
        (links / "data").symlink_to(agency.data)
        counts = links / "data" / "counts.csv"
    else:
        (links / "counts.csv").symlink_to(agency.counts)
        counts = links / "counts.csv"
    if how == "a link to a link":
        (agency.elsewhere / "again.csv").symlink_to(counts)
        counts = agency.elsewhere / "again.csv"
    assert agency.run("second", counts=counts) == 2  # without any policy: the input was released before
    assert len(read_ledger(agency.ledger).entries) == 1
    assert agency.run("second", "--spend-again", counts=counts) == 0
    assert len(read_ledger(agency.ledger).entries) == 2


def test_a_link_between_two_ledgers(agency: Agency, capsys: pytest.CaptureFixture[str]) -> None:
    create_ledger(agency.ledger)
    create_ledger(agency.elsewhere / "discreet-ledger.json")
    (agency.elsewhere / "counts.csv").symlink_to(agency.counts)
    assert agency.run("out", counts=agency.elsewhere / "counts.csv") == 2
    assert "lies beside two ledgers" in capsys.readouterr().err
    assert agency.run("out", "--ledger", agency.ledger, counts=agency.elsewhere / "counts.csv") == 0


def test_a_ledger_put_back_with_its_outputs_moved(agency: Agency, capsys: pytest.CaptureFixture[str]) -> None:
    agency.strict()
    before = agency.ledger.read_bytes()
    assert agency.run("out", "--key", agency.key) == 0
    after = agency.ledger.read_bytes()
    shutil.move(agency.folder / "out", agency.elsewhere / "out")
    agency.ledger.write_bytes(before)
    assert agency.run("again", "--key", agency.key) == 2
    assert "has seen 2 entries of the ledger, and now it has 1" in capsys.readouterr().err
    assert not check_ledger(agency.ledger).sound
    with pytest.raises(PolicyError, match=r"rule ledger\.witness"):  # nor can a total be declared in it
        change_total(agency.ledger, Total(unit="person", neighbours="bounded", rho=9), "more")
    agency.ledger.write_bytes(after)
    assert agency.run("again", "--key", agency.key, "--spend-again") == 0


def test_stripped_signatures(agency: Agency, capsys: pytest.CaptureFixture[str]) -> None:
    agency.strict()
    assert agency.run("out", "--key", agency.key) == 0
    shutil.move(agency.folder / "out", agency.elsewhere / "out")
    whole = read_ledger(agency.ledger)
    bare = [{**one} for one in whole.records if one["kind"] != "key"]
    for one in bare:
        one.pop("signature")
    agency.witness.unlink()
    for records in (bare, []):
        write_text(agency.ledger, Ledger(whole.id, tuple(records)).to_text())
        agency.witness.unlink(missing_ok=True)
        witness_ledger(agency.ledger, agency.witness)  # whoever replaces the witness too still lacks the key
        assert agency.run("again", "--spend-again") == 2
        assert "rule ledger.public_key" in capsys.readouterr().err


def test_a_key_that_another_key_hands_over_is_not_the_pinned_one(agency: Agency) -> None:
    """The pinned key is public: anyone could sign a new history with a key of their own, and name it next."""
    agency.strict()
    wanted = read_ledger(agency.ledger).key
    assert wanted is not None
    mine = new_key(agency.folder / "mine.key")

    class Announced:
        public = wanted

    signed = Ledger("0" * 32, format=UNSEALED).with_key(
        mine
    )  # nobody without the key can seal another format
    forged = signed.with_key(Announced(), mine)  # type: ignore[arg-type]
    assert forged.key == wanted
    agency.witness.unlink()
    agency.ledger.unlink()
    write_text(agency.ledger, forged.to_text())
    witness_ledger(agency.ledger, agency.witness)
    assert agency.run("out", "--key", agency.key) == 2
    found = check_ledger(agency.ledger, key=wanted)
    assert any("handed over by an earlier one" in remark for remark in found.remarks)


def test_a_new_ledger_is_not_the_one_that_is_witnessed(agency: Agency) -> None:
    agency.strict()
    agency.ledger.unlink()
    create_ledger(agency.ledger)
    with pytest.raises(PolicyError) as refused:
        measure(agency.release, agency.counts, agency.folder / "out")
    rules = [one.rule for one in refused.value.refusals]
    assert rules == ["ledger.public_key", "ledger.witness"]  # all in one round
    assert pickle.loads(pickle.dumps(refused.value)).refusals == refused.value.refusals


def test_a_missing_witness_is_refused_and_never_made_unasked(agency: Agency) -> None:
    agency.strict()
    agency.witness.unlink()
    assert agency.run("out", "--key", agency.key) == 2
    assert not agency.witness.exists()
    agency.witness.write_text("something else\n")
    assert agency.run("out", "--key", agency.key) == 2
    assert agency.witness.read_text() == "something else\n"


# -- where policies are found ------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["beside", "above", "by a link", "machine", "variable", "ledger"])
def test_all_policies_that_are_found_apply(
    agency: Agency, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    create_ledger(agency.ledger)
    create_ledger(agency.elsewhere / "other.json")
    options, counts = [], agency.counts
    rule = 'may.rehearsal = "never"'
    match where:
        case "beside":
            agency.rules(rule)
        case "above":
            agency.rules(rule, folder=agency.folder)
        case "by a link":
            agency.rules(rule)
            counts = agency.elsewhere / "counts.csv"
            counts.symlink_to(agency.counts)
        case "machine":
            (agency.folder / "machine").mkdir()
            (agency.folder / "machine" / "policy.toml").write_text(HEAD + rule)
        case "variable":
            file = agency.rules(rule, folder=agency.elsewhere)
            monkeypatch.setenv("DISCREET_POLICY", str(file))
            agency.rules('may.invariants = "never"')  # what lies beside the data is not removed by it
        case "ledger":
            agency.rules(rule, folder=agency.elsewhere)
            options = ["--ledger", agency.elsewhere / "other.json"]
    assert agency.run("out", "--rehearsal", 1, *options, counts=counts) == 2
    if where == "variable":
        assert agency.run("out", "--invariant", "State/total", counts=counts) == 2
    assert agency.run("out", *options, counts=counts) == 0


def test_a_policy_that_is_named_must_be_there(agency: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_POLICY", str(agency.folder / "no-such.toml"))
    assert agency.run("out") == 2


@pytest.mark.parametrize("where", ["beside", "machine"])
def test_a_copy_elsewhere_is_bound(agency: Agency, where: str) -> None:
    rule = "ledger.required = true"
    agency.rules(rule)
    if where == "machine":
        (agency.folder / "machine").mkdir()
        (agency.folder / "machine" / "policy.toml").write_text(HEAD + rule)
    copy = shutil.copy(agency.counts, agency.elsewhere / "copy.csv")
    assert agency.run("out", "--no-ledger", counts=copy) == 2


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away: run as root")
def test_a_policy_of_a_stranger_is_refused(agency: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could name the stranger's ledger, into which a hash of the input would be written."""
    create_ledger(agency.elsewhere / "theirs.json")
    file = agency.rules('ledger.file = "elsewhere/theirs.json"', folder=agency.folder)
    os.chown(file, 54321, -1)
    assert agency.run("out") == 2
    assert not read_ledger(agency.elsewhere / "theirs.json").entries
    key = new_key(agency.folder / "policy.key")
    sign_policy(file, key)
    monkeypatch.setenv("DISCREET_POLICY_KEY", key.public)
    assert agency.run("signed") == 0
    monkeypatch.delenv("DISCREET_POLICY_KEY")
    os.chown(agency.folder, 54321, -1)  # whoever owns the directory may say what holds in it
    assert agency.run("out", "--spend-again") == 0


def test_standard_input_from_a_file_lies_where_the_file_does(agency: Agency) -> None:
    """In a process of its own, whose standard input is the counts."""
    import subprocess
    import sys

    agency.rules("ledger.required = true")
    arguments = ["measure", agency.folder / "release.toml", "--counts", "-", "--out", agency.folder / "out"]
    with agency.counts.open() as stream:
        done = subprocess.run(
            [sys.executable, "-m", "discreet", *map(str, arguments)],
            stdin=stream,
            cwd=agency.elsewhere,
            env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 2
    assert "rule ledger.required" in done.stderr


# -- the ledger of a policy --------------------------------------------------------------------------------


def test_the_ledger_that_a_policy_names(agency: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    create_ledger(agency.elsewhere / "office.json")
    create_ledger(agency.ledger)
    agency.rules('ledger.file = "../elsewhere/office.json"')
    assert agency.run("one") == 0  # not the one beside the data
    assert len(read_ledger(agency.elsewhere / "office.json").entries) == 1
    assert agency.run("two", "--ledger", agency.ledger) == 2
    monkeypatch.setenv("DISCREET_LEDGER", str(agency.ledger))
    assert agency.run("two") == 2
    monkeypatch.setenv("DISCREET_LEDGER", str(agency.elsewhere / "office.json"))
    assert agency.run("two", "--spend-again") == 0
    monkeypatch.delenv("DISCREET_LEDGER")
    agency.rules('ledger.file = "."')  # a directory stands for the ledger in it
    assert agency.run("three") == 0
    assert len(read_ledger(agency.ledger).entries) == 1


def test_a_witness_sees_every_entry_once(agency: Agency) -> None:
    agency.strict()
    for number in range(3):
        assert agency.run(f"out{number}", "--key", agency.key, "--spend-again") == 0
    ledger, witness = read_ledger(agency.ledger), read_witness(agency.witness)
    assert witness.heads == tuple((number, ledger.heads[number]) for number in (1, 2, 3, 4))


def test_a_line_that_was_cut_short_says_nothing(tmp_path: Path) -> None:
    ledger = Ledger.new()
    file = tmp_path / "witness.txt"
    start_witness(file, ledger)
    longer = ledger.with_total(Total(unit="person", neighbours="bounded", rho=1), "x")
    whole = file.read_bytes()
    add_line(read_witness(file), longer)
    added = file.read_bytes()[len(whole) :]
    for cut in range(1, len(added)):
        file.write_bytes(whole + added[:cut])
        assert not read_witness(file).contradiction(ledger)  # it has no end
        add_line(read_witness(file), longer)
        found = read_witness(file)
        assert not found.contradiction(longer)
        assert not found.lacks(longer)
        assert "older state" in found.contradiction(ledger)


def test_a_witness_that_cannot_be_written_stops_the_next_run(
    agency: Agency, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    agency.strict()
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fail(*_: object) -> None:
        raise full

    with monkeypatch.context() as patch:
        patch.setattr("discreet.ledger.rules.add_line", fail)
        assert agency.run("none", "--key", agency.key) == 2
        said = capsys.readouterr().err
        assert "rule ledger.witness" in said
        assert f"the disk of the witness {agency.witness} is full" in said
    calls = []

    def second(*given: object) -> None:  # full after the output has appeared
        calls.append(given)
        if len(calls) > 2:
            raise full
        add_line(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr("discreet.ledger.rules.add_line", second)
        assert agency.run("out", "--key", agency.key) == 0
    assert len(calls) == 3
    assert read_witness(agency.witness).lacks(read_ledger(agency.ledger))
    assert agency.run("more", "--key", agency.key, "--spend-again") == 0
    assert [number for number, _ in read_witness(agency.witness).heads] == [1, 2, 3]


# -- a disk that is full -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (errno.ENOSPC, "the disk of the ledger {} is full"),
        (errno.EDQUOT, "the quota on the disk of the ledger {} is used up"),
        (errno.EROFS, "the disk of the ledger {} is read-only"),
        (errno.EIO, "the ledger {} cannot be written: Input/output error"),
    ],
)
def test_the_disk_of_the_ledger_is_named(
    agency: Agency,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    code: int,
    said: str,
) -> None:
    create_ledger(agency.ledger)
    before, create = agency.ledger.read_bytes(), files._create

    def fail(path: Path, mode: int) -> int:
        if path.parent == agency.data:  # the output is written elsewhere
            raise OSError(code, os.strerror(code), str(path))
        return create(path, mode)

    with monkeypatch.context() as patch:
        patch.setattr(files, "_create", fail)
        assert agency.run("out") == 2
        error = capsys.readouterr().err
        assert said.format(agency.ledger) in error
        assert "nothing was written and nothing spent" in error
        assert command(["ledger", "total", str(agency.ledger), "person:bounded:9", "--reason", "x"]) == 2
        assert said.format(agency.ledger) in capsys.readouterr().err
    assert agency.ledger.read_bytes() == before
    assert not (agency.folder / "out").exists()
    assert not [*agency.folder.glob(".discreet*"), *agency.data.glob(".discreet*")]
    assert agency.run("out") == 0


# -- limits ------------------------------------------------------------------------------------------------


def limit(rule: str, *, neighbours: str = "bounded", unit: str = "person", **numbers: object) -> str:
    stated = {"unit": unit, "neighbours": neighbours, **numbers}
    return "\n".join([f"[[{rule}]]", *(f'{name} = "{value}"' for name, value in stated.items()), ""])


def test_the_largest_rho_is_compared_exactly(agency: Agency) -> None:
    rho, tiny = spent(agency.release), Fraction(1, 10**30)
    agency.rules(limit("largest_run", rho=rho - tiny))
    assert agency.run("out", "--no-ledger") == 2
    assert agency.run("trial", "--rehearsal", 1) == 0  # costs nothing that could be counted
    agency.rules(limit("largest_run", rho=rho))
    assert agency.run("out", "--no-ledger") == 0
    agency.rules(limit("largest_run", rho=rho / 2, neighbours="unbounded"))
    assert agency.run("unbounded", "--no-ledger") == 0
    agency.rules(limit("largest_run", rho=rho / 2 - tiny, neighbours="unbounded"))
    assert agency.run("too-much", "--no-ledger") == 2
    agency.rules(limit("largest_run", rho=rho, unit="household"))
    assert agency.run("of-another-unit", "--no-ledger") == 2


def test_the_largest_epsilon_is_that_of_the_exact_account(agency: Agency) -> None:
    at = Fraction(1, 10**10)
    epsilon = float(account(agency.release).epsilon(delta=at))
    zcdp = float(spent(agency.release)) + 2 * (float(spent(agency.release)) * 10 * 2.302585) ** 0.5
    assert zcdp > epsilon * 1.02  # an account by zCDP would refuse what the exact one allows
    agency.rules(limit("largest_run", epsilon=f"{epsilon * 0.9999:.6f}", delta="1e-10"))
    assert agency.run("out", "--no-ledger") == 2
    agency.rules(limit("largest_run", epsilon=f"{epsilon * 1.0001:.6f}", delta="1e-10"))
    assert agency.run("out", "--no-ledger") == 0


def test_the_largest_total_counts_all_runs_of_the_ledger(
    agency: Agency, capsys: pytest.CaptureFixture[str]
) -> None:
    rho = spent(agency.release)
    agency.rules(limit("largest_total", rho=2 * rho))
    assert agency.run("no-ledger") == 2  # a total needs one
    create_ledger(agency.ledger, [Total(unit="person", neighbours="bounded", rho=100)])
    assert [agency.run(f"out{n}", "--spend-again") for n in range(3)] == [0, 0, 2]
    error = capsys.readouterr().err
    assert f"rule largest_total of the policy {agency.data / 'discreet-policy.toml'}: the run needs" in error
    assert f"of the total {2 * rho} of the policy for one person (bounded neighbours) only 0 is left" in error
    joint = float(account(agency.release).epsilon(delta="1e-10"))
    agency.rules(limit("largest_total", epsilon=f"{joint * 1.3:.4f}", delta="1e-10"))
    assert agency.run("more", "--spend-again") == 2


def test_a_total_is_compared_again_when_the_run_is_committed(
    agency: Agency, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run may have ended meanwhile: what was left before the noise is no longer there."""
    create_ledger(agency.ledger)
    agency.rules(limit("largest_total", rho=spent(agency.release)))
    from discreet.ledger import release_run

    plain = release_run.staging

    def meanwhile(*given: object, **more: object) -> object:
        monkeypatch.setattr(release_run, "staging", plain)
        assert agency.run("first") == 0
        return plain(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(release_run, "staging", meanwhile)
    assert agency.run("second", "--spend-again") == 2
    assert len(read_ledger(agency.ledger).entries) == 1
    assert not (agency.folder / "second").exists()


# -- who may what ------------------------------------------------------------------------------------------


def test_permissions_go_by_the_system_and_not_by_the_environment(
    agency: Agency, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "ann")
    create_ledger(agency.ledger)
    agency.rules('may.spend_again = ["ann"]\nmay.invariants = "never"')
    assert agency.run("one") == 0
    assert agency.run("two", "--spend-again", "--invariant", "State/total") == 2
    error = capsys.readouterr().err
    assert "rule may.spend_again" in error
    assert "only ann may release an input again (--spend-again); you are" in error
    assert "nobody may hold counts exact" in error  # both at once
    agency.rules(f'may.spend_again = ["ann", "{current_user().name}"]')
    assert agency.run("two", "--spend-again", "--invariant", "State/total") == 0
    group = current_user().groups[0]
    agency.rules(f'may.spend_again = ["@{group}"]')
    assert agency.run("three", "--spend-again") == 0
    assert not Permission(("@stewards",)).includes(User("stewards"))


def test_exact_counts_are_for_those_who_may(agency: Agency) -> None:
    records, units = agency.data / "people.csv", agency.data / "units.csv"
    records.write_text("unit,sex\nA,f\nA,m\n")
    units.write_text("unit,level,parent\nN,Nation,\nA,State,N\n")
    release = Release.from_toml(
        """
name = "records"
neighbours = "bounded"
[[levels]]
name = "Nation"
queries = { "sex" = { variance = "9" } }
[[levels]]
name = "State"
queries = { "sex" = { variance = "9" } }
[attributes]
sex = ["f", "m"]
"""
    )
    agency.rules('may.exact_counts = "never"')
    with pytest.raises(PolicyError, match=r"rule may\.exact_counts"):
        tabulate(release, records, agency.folder / "counts", units=units)
    check_records(release, records, units=units)  # tells how many rows have which problem
    with pytest.raises(PolicyError, match=r"rule may\.exact_counts"):
        check_records(release, records, units=units, show=True)
    with pytest.raises(PolicyError, match=r"rule may\.exact_counts"):
        records_risk(release, records, units=units)
    agency.rules("ledger.required = true")
    tabulate(release, records, agency.folder / "counts", units=units)  # nothing is spent
    with pytest.raises(PolicyError, match=r"rule ledger\.required"):  # nobody would remember the 2
        tabulate(release, records, agency.folder / "twice", units=units, id="sex", at_most=2)


# -- reading and signing -----------------------------------------------------------------------------------


def test_a_policy_that_cannot_be_read_is_not_one_that_is_not_there(agency: Agency) -> None:
    """What is wrong in policies, and what is said of it: `tests/bad/policy`."""
    agency.rules('may.fly = "never"')
    assert agency.run("out") == 2
    (agency.data / "discreet-policy.toml").unlink()
    (agency.data / "discreet-policy.toml").symlink_to("gone")
    assert agency.run("out") == 2
    assert not (agency.folder / "out").exists()


def test_signed_policies(agency: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    file = agency.rules('may.rehearsal = "never"')
    key, other = new_key(agency.folder / "a.key"), new_key(agency.folder / "b.key")
    assert read_policy(file).signed_by is None
    monkeypatch.setenv("DISCREET_POLICY_KEY", key.public)
    assert agency.run("out", "--no-ledger") == 2  # an unsigned one is not one that may be ignored
    sign_policy(file, other)
    assert agency.run("out", "--no-ledger") == 2
    signed = sign_policy(file, key)
    assert (signed.signed_by, signed.pinned) == (key.public, True)
    assert agency.run("one", "--no-ledger") == 0
    good = file.read_text()
    file.write_text(good.replace("never", "anyone"))
    assert agency.run("two", "--rehearsal", 1) == 2
    monkeypatch.delenv("DISCREET_POLICY_KEY")
    assert agency.run("two", "--rehearsal", 1) == 2  # a signature that does not fit counts without a key too
    file.write_text(good)
    machine = agency.folder / "machine"
    machine.mkdir()
    (machine / "policy-key.pub").write_text(f"{other.public}\n")
    monkeypatch.setenv("DISCREET_POLICY_KEY", key.public)  # the environment does not replace the machine's
    assert agency.run("two", "--no-ledger") == 2
    (machine / "policy-key.pub").write_text(f"{key.public}\n")
    assert agency.run("two", "--no-ledger") == 0
    (machine / "policy-key.pub").write_text("damaged")
    assert agency.run("three", "--no-ledger") == 2


# -- the command -------------------------------------------------------------------------------------------


def test_show_and_check(agency: Agency, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["policy", "show", str(agency.counts)]) == 0
    assert "No policy binds" in capsys.readouterr().out
    agency.strict()
    file = agency.data / "discreet-policy.toml"
    file.write_text(file.read_text() + '\n[may]\nno_noise = "never"\n' + limit("largest_run", rho="1/2"))
    assert command(["policy", "show", str(agency.counts), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["rule"] for one in shown["policies"][0]["rules"]] == [
        "ledger.required",
        "ledger.public_key",
        "ledger.witness",
        "largest_run",
        "may.no_noise",
    ]
    assert shown["may"] == {"spend_again": True, "invariants": True, "no_noise": False} | dict.fromkeys(
        ("exact_counts", "rehearsal"), True
    )
    assert shown["refusals"] == []
    (stated,) = shown["policies"]
    assert stated["ledger"]["public_key"] == [read_ledger(agency.ledger).key]
    assert stated["largest_run"] == [{"unit": "person", "neighbours": "bounded", "rho": "1/2"}]
    assert stated["may"] == {"no_noise": []}
    assert command(["policy", "show", str(agency.folder / "nowhere.csv")]) == 2
    assert "there is no file or directory" in capsys.readouterr().err
    assert shown["ledger"] == str(agency.ledger)
    agency.witness.unlink()
    (refusal,) = rules_in_force(agency.counts).refusals
    assert refusal.rule == "ledger.witness"
    assert command(["policy", "show", str(agency.counts)]) == 0
    assert "A run is refused now by ledger.witness: there is no witness" in capsys.readouterr().out
    assert command(["policy", "check", str(file)]) == 2
    assert "problem: ledger.witness" in capsys.readouterr().out


def test_what_a_check_remarks(agency: Agency, capsys: pytest.CaptureFixture[str]) -> None:
    create_ledger(agency.ledger)
    witness_ledger(agency.ledger, agency.data / "witness.txt")
    file = agency.rules('ledger.file = "discreet-ledger.json"\nledger.witness = "witness.txt"')
    file.chmod(0o666)
    found = review_policy(file)
    assert found.sound
    for words in ("not signed", "other than its owner", "pins no public key", "lies beside the ledger"):
        assert any(words in remark for remark in found.remarks), words
    assert command(["policy", "sign", str(file), "--key", str(agency.folder / "new.key")]) == 0
    assert "Public key" in capsys.readouterr().out
    assert any("nothing on this machine asks for the key" in one for one in review_policy(file).remarks)
    file.write_text("damaged")
    assert command(["policy", "sign", str(file), "--key", str(agency.folder / "other.key")]) == 2
    assert not (agency.folder / "other.key").exists()
    agency.ledger.unlink()
    agency.rules('ledger.file = "discreet-ledger.json"')
    (file.parent / f"{file.name}.sig").unlink()
    assert review_policy(file).problems == (f"ledger.file: there is no ledger {agency.ledger}",)


HOMES = """
name = "homes"
unit = "household"
neighbours = "bounded"
people.attributes.age = ["child", "adult"]
households = { key = "home", attributes.tenure = ["own", "rent"] }
splits.dwelling = { own = { tenure = ["own"] }, rent = { tenure = ["rent"] } }
tables.people = { at_most = 2, by = "dwelling" }
levels = [{ name = "Nation", queries.people.variance = 9 }]
"""


def test_policies_of_people_and_of_their_households_bind_a_join(agency: Agency) -> None:
    """Each file has a policy of its own folder; whoever joins them asks all of them, before reading any."""
    people, homes = agency.data / "people.csv", agency.elsewhere / "homes.csv"
    people.write_text("home,age\n1,adult\n")
    homes.write_text("home,tenure,unit\n1,own,N\n")
    (agency.folder / "units.csv").write_text("unit,level,parent\nN,Nation,\n")
    release = Release.from_toml(HOMES)
    given = {"households": homes, "units": agency.folder / "units.csv"}
    assert tabulate(release, people, out=agency.folder / "counted", **given).records == 1
    for folder in (agency.data, agency.elsewhere):
        file = agency.rules("ledger.required = true\nmay.exact_counts = []", folder=folder)
        homes.write_text("not a table that could be read")
        with pytest.raises(PolicyError, match=f"rule may.exact_counts of the policy {file}"):
            tabulate(release, people, out=agency.folder / "out", **given)
        with pytest.raises(PolicyError, match=f"rule ledger.required of the policy {file}"):
            measure(release, None, records=people, out=agency.folder / "out", **given)
        with pytest.raises(PolicyError, match=f"rule may.exact_counts of the policy {file}"):
            check_records(release, people, show=True, **given)
        homes.write_text("home,tenure,unit\n1,own,N\n")
        file.unlink()
    assert not (agency.folder / "out").exists()
    create_ledger(agency.elsewhere / "discreet-ledger.json")
    measured = measure(release, None, records=people, out=agency.folder / "out", **given)
    assert measured.ledger == agency.elsewhere / "discreet-ledger.json"  # beside one of the files
    create_ledger(agency.ledger)
    with pytest.raises(InputError, match="has several files, which lie beside two ledgers"):
        measure(release, None, records=people, out=agency.folder / "again", **given)


# -- nobody reads records unasked --------------------------------------------------------------------------

READERS = {
    "read_counts",
    "count_records",
    "count_asked",
    "examine_records",
    "examine_join",
    "count",
    "read_coded",
}
"""Functions that give exact counts of confidential data; `count` is that of `mechanism/records.py`."""

ASKING = {
    "cellkey/run.py": "perturb",
    "audit/runs.py": "audit_release",
    "records/record_check.py": "check_records",
    "measurement/measuring.py": "measure",
    "disclosure/population.py": "records_risk",
    "measurement/tabulating.py": "tabulate",
    "audit/tabulations/runs.py": "audit_tabulation",
    "census/safetab/curator.py": "curate",
    "census/safetab/run.py": "run",
}
"""Modules that call one of them, and their function that asks the policies, by `admit` or a `ReleaseRun`."""

if not IS_WHOLE:
    ASKING = {name: function for name, function in ASKING.items() if (SOURCE / name).exists()}

ASKED_FOR = {"records/joined_records.py": "count_asked"}
"""Readers that call another reader: whoever calls them asks."""

INVENTED = {"measurement/rehearsing.py"}
"""Modules that count people whom they invented themselves: nothing confidential is read."""


def calls(node: ast.AST) -> set[str]:
    return {
        one.func.id for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
    }


def imported(tree: ast.Module) -> set[str]:
    """The names of readers that a module imports from another."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("discreet.")
        for alias in node.names
        if alias.name in READERS and (alias.name != "count" or str(node.module).endswith("mechanism.records"))
    }


def test_whoever_reads_confidential_counts_asks_the_policies() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        if "mechanism.records" not in text and not any(name in text for name in READERS - {"count"}):
            continue
        tree = ast.parse(text)
        if imported(tree) & calls(tree):
            found.add(path.relative_to(SOURCE).as_posix())
    assert set(ASKED_FOR.values()) <= READERS
    found -= set(ASKED_FOR) | INVENTED
    assert found == set(ASKING), "ask `admit` before confidential data are read, and list it here"
    for name, function in ASKING.items():
        tree = ast.parse((SOURCE / name).read_text())
        (node,) = (one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == function)
        asked = [
            one.lineno
            for one in ast.walk(node)
            if isinstance(one, ast.Call)
            and isinstance(one.func, ast.Name)
            and one.func.id in ("admit", "ReleaseRun")
        ]
        assert len(asked) == 1, f"{function} of {name} must ask once"
        reads = [
            one.lineno
            for one in ast.walk(node)
            if isinstance(one, ast.Call)
            and isinstance(one.func, ast.Name)
            and one.func.id in READERS | {"_exact_counts", "_examined", "_noisy_groups"}
        ]
        assert reads, name
        assert asked[0] < min(reads), f"{function} of {name} reads before it asks"
