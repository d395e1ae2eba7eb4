"""Everything that cannot be used ends with one clear line, status 2, and nothing written."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

PRESET = "dhc-2022-08-25"


def test_unknown_preset_suggests_the_nearest(refused):
    assert 'did you mean "dhc-2020"?' in refused("account", "dhc-2021")
    assert 'did you mean "sdhc-2020"?' in refused("show", "sdch-2020")
    assert "neither a preset nor a file" in refused("compare", PRESET, "xyzzy")


def test_missing_file(refused):
    assert "there is no file no-such.toml" in refused("account", "no-such.toml")


def test_directory_for_a_file(refused, tmp_path):
    assert "is a directory" in refused("account", tmp_path)


def test_no_target(refused):
    assert "needs a preset's name or a TOML file" in refused("account")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--delta", "1"], "delta is 1; it must be 0 or more, and less than 1"),
        (["--delta", "-1e-5"], "must be 0 or more, and less than 1"),
        (["--delta", "1e-301"], "the smallest supported is 1e-300"),
        (["--delta", "nan"], "delta is 'nan'; an exact number such as"),
        (["--delta", "1/0"], "a division by zero"),
        (["--epsilon", "four"], "epsilon is 'four'; an exact number such as"),
        (["--epsilon", "inf"], "epsilon is 'inf'"),
        (["--epsilon", "-1"], "epsilon is -1; it must be zero or more"),
        (["--epsilon", "1e7"], "at most 1000000"),
        (["--digits", "0"], "digits is 0; without --certify a result has 1 to 11 digits that hold"),
        (["--digits", "12"], "digits is 12"),
        (["--certify", "--digits", "301"], "digits is 301; with --certify 1 to 300 digits are possible"),
        (["--jobs", "0"], "jobs is 0; it must be a whole number above zero"),
        (["--jobs", "1000000"], "at most 256"),
        (["--jobs", "two"], 'unable to convert "two" into int'),
        (["--people", "0"], "people is 0"),
        (["--people", "1.4"], 'unable to convert "1.4" into int'),  # was taken for 1
        (["--people", "0x2"], 'unable to convert "0x2" into int'),
        (["--pair", "1.0", "1"], 'unable to convert "1.0" into int'),
        (["--pair", "1", "2"], "there is no path 2"),
        (["--path", "7"], "there is no path 7"),
        (["--path", "1", "--pair", "1", "1"], "cannot be used together"),
        (["--path", "1", "--neighbours", "bounded"], "--path needs unbounded neighbours"),
        (["--pair", "1", "1", PRESET], "for one release"),
        (["--neighbours", "bonded"], 'Did you mean "bounded"?'),
        (["--delt", "1e-5"], "Did you mean --delta?"),
        (["--delta"], "--delta needs a value D (Epsilon at this delta"),
        (["pl94-2020-units"], "cannot be accounted for together"),
    ],
)
def test_options(refused, arguments, message):
    assert message in refused("account", PRESET, *arguments)


def test_unknown_command_suggests_the_nearest(refused):
    assert 'Did you mean "account"?' in refused("acount")


def test_show_cannot_print_two_forms(refused):
    assert "cannot be used together" in refused("show", PRESET, "--json", "--toml")


def test_all_that_is_needed_is_named_with_what_it_is_for(refused, discreet):
    said = refused("risk", "single")
    assert "risk single needs --noisy Y (The published count; may be repeated); --prior P (The" in said
    assert "--noisy" not in refused("risk", "single", "--noisy=1")
    assert len(json.loads(discreet("risk", "single", "--json").out)["problems"]) == 2


def test_compare_needs_two(refused):
    assert "compare needs B (A preset's name, a TOML file" in refused("compare", PRESET)


# -- output paths, all checked before the long work ------------------------------------------------------


@pytest.fixture
def no_work(monkeypatch):
    """Fail where any accounting starts."""

    def started(*_, **__):
        raise AssertionError("the work has started")

    monkeypatch.setattr("discreet.accounting.account.account", started)


@pytest.mark.usefixtures("no_work")
class TestPaths:
    def test_unknown_extension(self, refused, tmp_path):
        line = refused("account", PRESET, "--plot", tmp_path / "figure.gif")
        assert "its name must end in .svg, .png or .pdf" in line
        assert "must end in .csv" in refused("account", PRESET, "--curve", tmp_path / "curve")
        assert "must end in .csv" in refused("account", PRESET, "--tradeoff", tmp_path / "curve.txt")
        assert list(tmp_path.iterdir()) == []

    def test_no_such_directory(self, refused, tmp_path):
        line = refused("account", PRESET, "--curve", tmp_path / "none" / "curve.csv")
        assert "there is no directory" in line

    def test_a_directory(self, refused, tmp_path):
        (tmp_path / "curve.csv").mkdir()
        assert "is a directory" in refused("account", PRESET, "--curve", tmp_path / "curve.csv")

    def test_same_file_twice(self, refused, tmp_path):
        both = ("--curve", tmp_path / "a.csv", "--tradeoff", tmp_path / "." / "a.csv")
        assert "which another option names too" in refused("account", PRESET, *both)

    def test_name_too_long(self, refused, tmp_path):
        assert "cannot be written" in refused("account", PRESET, "--curve", tmp_path / f"{'a' * 300}.csv")

    def test_not_a_regular_file(self, refused, tmp_path):
        os.mkfifo(tmp_path / "pipe.csv")
        assert "is not a regular file" in refused("account", PRESET, "--curve", tmp_path / "pipe.csv")

    def test_unwritable_directory(self, refused, tmp_path, monkeypatch):
        # tests may run as root, whom no permission stops
        def refuse(path: Path, mode: int) -> int:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

        monkeypatch.setattr("discreet.files._create", refuse)
        line = refused("compare", PRESET, PRESET, "--plot", tmp_path / "plot.svg")
        assert "plot.svg cannot be written: Permission denied" in line


def test_no_file_appears_if_one_cannot_be_written(refused, tmp_path, monkeypatch):
    from discreet import files

    real, made = files._create, []

    def full_disk(path: Path, mode: int) -> int:
        made.append(path)
        if len(made) == 4:  # two probes, then the first file, then the second
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, mode)

    monkeypatch.setattr(files, "_create", full_disk)
    line = refused(
        "account", PRESET, "--curve", tmp_path / "a.csv", "--plot", tmp_path / "b.svg", "--delta", "1e-5"
    )
    assert "cannot be written: No space left on device" in line
    assert len(made) == 4
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_of_the_program_shows_itself(discreet, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a real bug")

    monkeypatch.setattr("discreet.comparisons.costs.account", broken)
    with pytest.raises(ZeroDivisionError):
        discreet("account", PRESET)


@pytest.mark.parametrize(
    "command", [["show"], ["show", "--toml"], ["account"], ["compare", "dhc-2022-08-25"]]
)
def test_names_cannot_steer_a_terminal(discreet, small, command):
    """What turns the order of letters, or breaks a line, is written out, not obeyed."""
    text = small.read_text().replace('name = "small"', 'name = "sm\u202eall"').replace("State", "St\u2066ate")
    small.write_text(text.replace("Two levels", "Two\u200elevels"), encoding="utf-8")
    shown = discreet(*command, small)
    assert shown.status == 0
    assert "sm\\u202eall" in shown.out
    assert not any(sign in shown.out for sign in "\u202e\u2066\u200e")
    refused = discreet("calibrate", small, "--delta", "1e-9", "--moe", "\u202eState=3")
    assert refused.status == 2
    assert "\u202e" not in refused.err


SINGLE = ("risk", "single", "--noisy", "1", "--variance", "5", "--prior")


@pytest.mark.parametrize(
    ("as_people_write", "plainly"),
    [
        ((*SINGLE, "50%"), (*SINGLE, "1/2")),
        ((*SINGLE, "50 %"), (*SINGLE, "1/2")),
        ((*SINGLE, "1 / 2"), (*SINGLE, "1/2")),
        ((*SINGLE, "5E-1"), (*SINGLE, "1/2")),
        (("show", "PL94_2020_Units"), ("show", "pl94-2020-units")),
        (
            ("account", "dhc-2022-08-25", "--neighbors", "Bounded"),
            ("account", "dhc-2022-08-25", "--pair", "1", "1"),
        ),
        (
            (
                "risk",
                "hierarchy",
                "--area",
                "Name=b,Noisy=2.0,Variance=5",
                "--method",
                "Exact",
                "--prior",
                "10%",
            ),
            ("risk", "hierarchy", "--area", "name=b,noisy=2,variance=5", "--prior", "1/10"),
        ),
        (
            ("calibrate", "dhc-2022-08-25", "--moe", "primitive geography=40", "--delta", "1e-10"),
            ("calibrate", "dhc-2022-08-25", "--moe", "PEPG=40", "--delta", "1e-10"),
        ),
    ],
)
def test_what_people_write_is_understood(discreet, as_people_write, plainly):
    found, wanted = discreet(*as_people_write), discreet(*plainly)
    assert found.status == wanted.status == 0
    said = plainly[-1] if plainly[:2] == ("risk", "single") else ""
    last = as_people_write[-1]
    assert (
        "".join(found.out.replace(last, said).split()) == "".join(wanted.out.split())
        if said
        else (found.out == wanted.out)
    )


def test_too_many_values(refused):
    assert "too many values: '2'; an option that takes several is repeated" in refused(*SINGLE, "1/2", "2")


def test_a_release_alone_is_no_claim(refused):
    assert "dhc-2020 is a release; say what is claimed of it" in refused("verify", "dhc-2020")


# -- what was meant ------------------------------------------------------------------------------------

RELEASE = """\
name = "meant"
neighbours = "bounded"
[[levels]]
name = "State"
[levels.queries]
{query} = {{ variance = "200", sensitivity = {sensitivity} }}
"""


def test_a_key_of_another_alphabet_is_to_be_quoted(discreet, refused, tmp_path):
    file = tmp_path / "release.toml"
    for key in ("âge", "größe", "年齢"):
        file.write_text(RELEASE.format(query=key, sensitivity=1), encoding="utf-8")
        assert f'needs quotes: "{key}" (line 6 of' in refused("show", file)
        file.write_text(RELEASE.format(query=f'"{key}"', sensitivity=1), encoding="utf-8")
        assert key in discreet("show", file).out


def test_a_whole_number_may_stand_in_quotes(discreet, refused, tmp_path):
    file = tmp_path / "release.toml"
    file.write_text(RELEASE.format(query="total", sensitivity='"168"'))
    assert "168" in discreet("show", file).out
    for wrong in ('"0"', '"1.5"', '"-1"', '"many"'):
        file.write_text(RELEASE.format(query="total", sensitivity=wrong))
        assert "must be a whole number above zero" in refused("show", file)


def test_options_that_were_meant_otherwise(refused, small):
    assert "discreet calibrate RELEASE --epsilon E --delta D" in refused("accuracy", small, "--epsilon", "4")
    assert "--pdf r.pdf prints it" in refused("report", small, "--out", "r.pdf")
    assert "--records" in refused("measure", small, "--record", "people.csv", "--out", "o")


def test_a_directory_stands_for_the_release_or_the_ledger_in_it(discreet, refused, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    assert "or of a directory with a release.toml" in refused("account", folder)
    ledger = folder / "discreet-ledger.json"
    discreet("ledger", "new", ledger, "--total", "person:bounded:3/2")
    assert "has no run that counts" in refused("account", folder)
    ledger.unlink()
    (folder / "release.toml").write_text(RELEASE.format(query="total", sensitivity=1))
    assert "meant" in discreet("show", folder).out
    assert (
        discreet("account", folder, "--quiet").out
        == discreet("account", folder / "release.toml", "--quiet").out
    )


def test_a_misspelt_option_names_the_one_that_was_meant(refused, small):
    for wrong in ("--record", "--recrods"):
        line = refused("tabulate", small, wrong, "people.csv", "--units", "u.csv", "--out", "o")
        assert f"unknown option {wrong}; did you mean --records?" in line


def test_every_command_takes_a_directory_for_its_release_and_says_what_a_ledger_is(
    discreet, refused, tmp_path
):
    ledger, folder = tmp_path / "ledger", tmp_path / "run"
    ledger.mkdir()
    folder.mkdir()
    (folder / "release.toml").write_text(RELEASE.format(query="total", sensitivity=1))
    assert discreet("ledger", "new", ledger).status == 0
    assert "0 runs" in discreet("ledger", "show", ledger).out
    accounts = [
        ("account",),
        ("show",),
        ("report", "--out", tmp_path / "r.html"),
        ("risk", "release", "--prior", "1/2"),
        ("risk", "explain", "--prior", "1/2"),
        ("verify", "--epsilon", "1", "--delta", "1e-9"),
        ("accuracy",),
    ]
    for command, *more in accounts:
        words = [more.pop(0)] if command == "risk" else []
        assert "has no run that counts" in refused(command, *words, ledger, *more)
    assert "has no run that counts" in refused("compare", folder, ledger)
    plans = {
        "calibrate": ("--epsilon", "1", "--delta", "1e-9"),
        "plan": ("--epsilon", "1", "--keep", "State"),
        "measure": ("--counts", "c.csv", "--out", "o"),
        "tabulate": ("--records", "r.csv", "--units", "u.csv", "--out", "o"),
    }
    for command, more in plans.items():
        assert f"is a ledger, of what was spent; {command} needs a release" in refused(command, ledger, *more)
    assert "is a ledger" in refused("check-records", "r.csv", "--release", ledger)
    assert "is a release; say what is claimed of it" in refused("verify", folder)
