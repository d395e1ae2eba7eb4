"""The list of studies, their files, and the command that writes them."""

from __future__ import annotations

import csv
import io
import json
from importlib import import_module
from pathlib import Path

import pytest
from cyclopts import App, CycloptsError

from discreet.errors import InputError
from discreet.render.pictures import figure_of
from discreet.studies import Study, StudyEntry, Verdict, command, find, studies, sums
from discreet.studies.answer import picture_of

ELSEWHERE = ("dhc-spine-tradeoff", "dhc-spines", "dhc-tradeoff", "nodes")
"""Studies of 43 spines, of which test_studies_results.py takes a few."""
LONG = (
    "dhc-profile",
    "dhc-reduction",
    "edgeworth-pmf",
    "residuals",
    "risk-accuracy-rho",
    "risk-group-count",
    "risk-group-rho",
    "slope",
)
"""Studies of seconds: here in `make test-all`."""
QUICK = [entry.name for entry in studies() if not entry.is_long and entry.name not in (*ELSEWHERE, *LONG)]
PLAIN = (Verdict.CONFIRMED, Verdict.GIVEN)


def run(*arguments: str) -> None:
    app: App = command.app
    app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")


def computed(name: str) -> tuple[StudyEntry, Study]:
    (entry,) = find(name)
    return entry, entry.compute()


def test_names_are_distinct_and_functions_exist() -> None:
    assert len({one.name for one in studies()}) == len(studies())
    for one in studies():
        computed_by = one.of or one.name  # a study may show the table of another
        assert getattr(import_module(one.module), computed_by.replace("-", "_")).__doc__


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(one, marks=pytest.mark.slow) for one in LONG)])
def test_tables_figures_and_a_verdict_for_every_printed_number(name: str) -> None:
    entry, study = computed(name)
    assert study.name == name
    assert {one.printed for one in study.checks} == set(entry.printed)
    assert len(study.checks) == len(entry.printed)
    for one in study.checks:
        assert one.why or one.verdict in PLAIN, one
    figure = figure_of(picture_of(study))
    assert figure.axes
    assert any(ax.lines or ax.patches or ax.images for ax in figure.axes)


def test_files_and_the_same_bytes_again() -> None:
    entry, study = computed("variance-deficit")
    files = entry.files(study)
    assert tuple(files) == entry.file_names
    assert [name.rpartition("variance-deficit")[2] for name in files] == [
        ".csv",
        "-printed.csv",
        ".png",
        ".svg",
    ]
    rows = list(csv.DictReader(io.StringIO(files["variance-deficit.csv"].decode())))
    assert len(rows) == len(study.rows)
    beside = list(csv.DictReader(io.StringIO(files["variance-deficit-printed.csv"].decode())))
    assert [row["published"] for row in beside] == ["5.8e-34", "2.8e-40", "1.5e-82"]
    assert {row["verdict"] for row in beside} == {"confirmed"}
    assert files["variance-deficit.png"].startswith(b"\x89PNG")
    assert b"<svg" in files["variance-deficit.svg"][:1000]
    assert files == entry.files(sums.variance_deficit())


def test_a_row_too_short_is_refused() -> None:
    with pytest.raises(InputError, match="not as many values"):
        Study("demo", "", "", ("a", "b"), ((1,),))
    with pytest.raises(InputError, match="no column 'c'"):
        Study("demo", "", "", ("a", "b"), ()).column("c")


def test_command_writes_all_files_of_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tables"
    run("level-epsilon", "--out", str(out), "--quiet")
    assert sorted(path.name for path in out.iterdir()) == [
        f"level-epsilon{k}" for k in ("-printed.csv", ".csv", ".png", ".svg")
    ]
    assert "level-epsilon: 16 rows; 5 printed values: 5 confirmed" in capsys.readouterr().out


def test_command_without_files_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    run("risk-table-5", "--quiet")
    text = capsys.readouterr().out
    assert "12 printed values: 11 confirmed, 1 wrong" in text
    assert "leaves out the last row, p = 1/864" in text
    run("risk-table-5", "--quiet", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["summary"] == "12 printed values: 11 confirmed, 1 wrong"
    (study,) = found["studies"]
    (wrong,) = (row for row in study["printed"] if row["verdict"] == "wrong")
    assert (wrong["place"], wrong["published"]) == ("text on Table 5", "1.21")
    assert wrong["computed"] == pytest.approx(1.2188, abs=5e-5)


def test_command_on_own_counts_shows_their_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("level,count\nBlock,3\nBlock,0\nCounty,250\n")
    run("accuracy", "--counts", str(file), "--quiet")
    text = capsys.readouterr().out
    assert "old and reduced noise: mine.csv" in text
    assert "reduction percent" in text
    assert "non-negative" in text
    assert "Pennsylvania" not in text
    assert str(tmp_path) not in text


def test_all_studies_leave_out_the_one_that_needs_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = tuple(find(name)[0] for name in ("risk-table-5", "dhc-tables", "variance-deficit"))
    monkeypatch.setattr("discreet.studies.command.find", lambda _: few)
    run("all", "--quiet")
    text = capsys.readouterr().out
    assert "together: 15 printed values: 14 confirmed, 1 wrong" in text
    assert "left out, since it needs --from FILE: dhc-tables" in text


def test_command_lists_without_writing(capsys: pytest.CaptureFixture[str]) -> None:
    run("--list")
    text = capsys.readouterr().out
    assert all(one.name in text for one in studies())


def test_command_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='did you mean "residuals"'):
        run("residual", "--out", str(tmp_path / "a"))
    with pytest.raises(InputError, match="needs the NAME of a study"):
        run()
    with pytest.raises(InputError, match="cannot be made"):
        run("residuals", "--out", str(tmp_path / "no" / "such" / "place"))
    with pytest.raises(CycloptsError):
        run("residuals", "--jobs", "many")
    with pytest.raises(InputError, match="residuals takes no counts; --counts is for accuracy and slope"):
        run("residuals", "--counts", str(tmp_path / "counts.csv"), "--quiet")
    with pytest.raises(InputError, match="--counts is for one study"):
        run("all", "--counts", str(tmp_path / "counts.csv"), "--quiet")
    with pytest.raises(InputError, match="--from is for dhc-tables, not for residuals"):
        run("residuals", "--from", str(tmp_path / "deltas.csv"), "--quiet")
    with pytest.raises(InputError, match="--from is for one study: dhc-tables"):
        run("all", "--from", str(tmp_path / "deltas.csv"), "--quiet")
    with pytest.raises(InputError, match="dhc-tables needs --from FILE"):
        run("dhc-tables", "--quiet")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_if_a_study_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise InputError("no")

    monkeypatch.setattr("discreet.studies.answer.study_picture", fail)
    with pytest.raises(InputError, match="no"):
        run("level-epsilon", "--out", str(tmp_path / "new"), "--quiet")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_named_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "level-epsilon.png").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        run("level-epsilon", "--out", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["level-epsilon.png"]
