"""The list of studies, their files, and the command that writes them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from cyclopts import App, CycloptsError

from discreet.cli import reproduce as command
from discreet.errors import InputError
from discreet.studies import STUDIES, Study, find
from discreet.studies.catalogue import Entry

QUICK = ("level-epsilon", "reduced-noise", "variance-deficit", "many-fold", "convolution", "edgeworth")


def run(*arguments: str) -> None:
    app: App = command.app
    app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")


def entry(name: str) -> Entry:
    (found,) = find(name)
    return found


def test_names_are_distinct_and_functions_exist() -> None:
    assert len({one.name for one in STUDIES}) == len(STUDIES)
    for one in STUDIES:
        home = one._home()
        assert callable(getattr(home, one.function))
        assert callable(getattr(home, f"draw_{one.function}"))
        assert getattr(home, one.function).__doc__


@pytest.mark.parametrize("name", QUICK)
def test_files_of_quick_studies(name: str) -> None:
    study = entry(name).compute()
    assert study.name == name
    assert {"published", "difference"} <= set(study.columns)
    files = entry(name).files(study)
    assert tuple(files) == entry(name).file_names
    rows = list(csv.DictReader(io.StringIO(files[f"{name}.csv"].decode())))
    assert len(rows) == len(study.rows)
    assert files[f"{name}.png"].startswith(b"\x89PNG")
    assert b"<svg" in files[f"{name}.svg"][:1000]


def test_the_same_study_gives_the_same_bytes() -> None:
    one = entry("variance-deficit")
    assert one.files(one.compute()) == one.files(one.compute())


def test_differences_are_value_less_published() -> None:
    for name, value in (("level-epsilon", "epsilon"), ("reduced-noise", "reduction_percent")):
        study = entry(name).compute()
        gap = study.numbers(value) - study.numbers("published")
        known = gap == gap
        assert study.numbers("difference")[known] == pytest.approx(gap[known], abs=1e-12)


def test_a_row_too_short_is_refused() -> None:
    with pytest.raises(InputError, match="not as many values"):
        Study("demo", "", "", ("a", "b"), ((1,),))
    with pytest.raises(InputError, match="no column 'c'"):
        Study("demo", "", "", ("a", "b"), ()).column("c")


def test_command_writes_all_files_of_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tables"
    run("level-epsilon", "--out", str(out), "--quiet")
    assert sorted(path.name for path in out.iterdir()) == [
        f"level-epsilon.{k}" for k in ("csv", "png", "svg")
    ]
    assert "level-epsilon: 16 rows, 8 published values" in capsys.readouterr().out


def test_command_lists_without_writing(capsys: pytest.CaptureFixture[str]) -> None:
    run("--list")
    printed = capsys.readouterr().out
    assert all(one.name in printed for one in STUDIES)


def test_command_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'residuals'"):
        run("residual", "--out", str(tmp_path / "a"))
    with pytest.raises(InputError, match="needs --out"):
        run("residuals")
    with pytest.raises(InputError, match="cannot be made"):
        run("residuals", "--out", str(tmp_path / "no" / "such" / "place"))
    with pytest.raises(CycloptsError):
        run("residuals", "--jobs", "many")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_if_a_study_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(study: Study) -> None:
        raise InputError("no")

    from discreet.studies import levels

    monkeypatch.setattr(levels, "draw_level_epsilon", fail)
    with pytest.raises(InputError, match="no"):
        run("level-epsilon", "--out", str(tmp_path / "new"), "--quiet")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_named_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "level-epsilon.png").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        run("level-epsilon", "--out", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["level-epsilon.png"]
