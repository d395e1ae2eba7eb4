"""Post-processing of an output that exists: what the run itself would have done, and nothing is spent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetab_toy import DATA, TOY

from discreet.census.safetab.run import coterminous, postprocess, run
from discreet.census.safetab.run_plan import Options
from discreet.cli import run as command
from discreet.errors import InputError
from discreet.ledger import check_ledger, create_ledger, read_ledger

MARK = "NOT-PRIVATE"


@pytest.fixture
def params(tmp_path: Path) -> Path:
    """Noise at three geographies, of which a state and a county are made of the same blocks."""
    folder = tmp_path / "params"
    shutil.copytree(TOY, folder)
    config = json.loads((TOY / "config.json").read_text())
    for key in config:
        if key.startswith("privacy_budget_p_level_"):
            config[key] = 0.5 if key.endswith(("_state", "_county", "1_tract")) else 0
    (folder / "config.json").write_text(json.dumps(config | {"zero_suppression_chance": 0.9}))
    return folder


@pytest.fixture
def released(tmp_path: Path, params: Path) -> Callable[..., Path]:
    def make(name: str, **options: object) -> Path:
        run(params, DATA, tmp_path / name, options=Options(rehearsal=5, **options))  # type: ignore[arg-type]
        return tmp_path / name

    return make


def rows(folder: Path, stem: str) -> list[str]:
    """The rows of a table without the mark of a rehearsal, which says where it comes from."""
    lines = (folder / f"{stem}.{MARK}.csv").read_text().splitlines()
    return [line.partition("|NOT PRIVATE")[0] for line in lines]


@pytest.mark.parametrize("bureau", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_both_steps_are_what_the_run_does(
    tmp_path: Path, params: Path, released: Callable[..., Path], bureau: bool
) -> None:
    plain = released("plain", coterminous=False, bureau_columns=bureau)
    whole = released("whole", tabulation_suppression="both", bureau_columns=bureau)
    first = coterminous(plain, tmp_path / "first", params=params, data=DATA)
    assert first.changed > 0
    last = postprocess(tmp_path / "first", tmp_path / "last", params=params)
    for stem in ("t1", "t2"):
        assert rows(tmp_path / "last", stem) == rows(whole, stem) != rows(plain, stem)
    said = json.loads((whole / f"summary.{MARK}.json").read_text())
    assert (first.changed, last.changed) == (said["donated"], said["dropped"])
    assert last.groups == said["groups"]
    assert last.rows == said["rows"]
    assert json.loads((tmp_path / "last" / f"summary.{MARK}.json").read_text())["options"] == said["options"]


@pytest.mark.parametrize(
    "chosen",
    [
        {"tabulation_suppression": "alone"},
        pytest.param({"negative": "drop"}, marks=pytest.mark.slow),
        pytest.param({"tabulation_suppression": "both", "negative": "drop"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_corrections_are_those_of_the_run(
    tmp_path: Path,
    params: Path,
    released: Callable[..., Path],
    chosen: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain, whole = released("plain"), released("whole", **chosen)
    words = [word for key, value in chosen.items() for word in (f"--{key.replace('_', '-')}", value)]
    call = ["safetab", "post", str(plain), "--params", str(params), "--to", str(tmp_path / "last")]
    assert command([*call, *words, "--json"]) == 0
    last = json.loads(capsys.readouterr().out)
    said = json.loads((whole / f"summary.{MARK}.json").read_text())
    assert last["options"] == said["options"]
    assert last["dropped"] == said["dropped"] > 0
    for stem in ("t1", "t2"):
        assert rows(tmp_path / "last", stem) == rows(whole, stem) != rows(plain, stem)


@pytest.mark.slow
def test_parquet_and_text_are_read_alike(tmp_path: Path, params: Path, released: Callable[..., Path]) -> None:
    texts, tables = released("texts"), released("tables", format="parquet")
    for source, name in ((texts, "a"), (tables, "b")):
        postprocess(source, tmp_path / name, params=params, format="csv")
    for stem in ("t1", "t2"):
        assert rows(tmp_path / "a", stem) == rows(tmp_path / "b", stem)


def test_the_ledger_goes_along(tmp_path: Path, params: Path) -> None:
    one_pass = tmp_path / "us"
    shutil.copytree(params, one_pass)
    config = json.loads((params / "config.json").read_text())
    (one_pass / "config.json").write_text(json.dumps(config | {"run_pr": False}))
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    run(one_pass, DATA, tmp_path / "out", ledger=ledger, options=Options(coterminous=False))
    coterminous(tmp_path / "out", tmp_path / "new", params=one_pass, data=DATA)
    said = [json.loads((tmp_path / name / "summary.json").read_text())["ledger"] for name in ("out", "new")]
    assert said[0] == said[1]
    assert said[0]["head"] == read_ledger(ledger).head
    assert check_ledger(ledger, [tmp_path / "new"]).sound


def test_the_commands(tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(params, DATA, tmp_path / "out", options=Options(coterminous=False))
    call = ["coterminous", str(tmp_path / "out"), "--params", str(params), "--data", str(DATA)]
    assert command(["safetab", *call, "--to", str(tmp_path / "a"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["donated"] > 0
    order = ["--order", "tract,county,state,place,aiannh"]
    assert command(["safetab", *call, "--to", str(tmp_path / "b"), *order, "--quiet"]) == 0
    assert "Nothing was spent." in capsys.readouterr().out
    assert (tmp_path / "a" / "t1.csv").read_text() != (tmp_path / "b" / "t1.csv").read_text()
    assert command(["safetab", *call, "--to", str(tmp_path / "a")]) == 2
    assert "exists and is not empty" in capsys.readouterr().err
    post = ["safetab", "post", str(tmp_path / "a"), "--params", str(params), "--to", str(tmp_path / "c")]
    assert command([*post, "--quiet"]) == 0
    assert "Groups dropped:" in capsys.readouterr().out


DAMAGES = {
    "a row of t2 is missing": ("t2", lambda lines: lines[:-1], "none of the tables of its ladder"),
    "a row of t1 is missing": ("t1", lambda lines: lines[:1] + lines[2:], "has a group that"),
    "a group comes twice": ("t1", lambda lines: [*lines, lines[-1]], "a group occurs twice in t1"),
    "a count is not whole": (
        "t1",
        lambda lines: [*lines[:-1], lines[-1].replace("|T01001", ".5|T01001")],
        "COUNT is not a whole number",
    ),
    "an unknown region": ("t1", lambda lines: [*lines, lines[-1].replace("01|", "99|", 1)], "not in GRF-C"),
    "an unknown group": (
        "t1",
        lambda lines: [*lines, "1|USA|zzz|5|T01001|1|1|NOT PRIVATE"],
        "not in the specification",
    ),
    "an unknown geography": (
        "t1",
        lambda lines: [*lines, "1|MOON|2001|5|T01001|1|1|NOT PRIVATE"],
        "region type",
    ),
    "another total": ("t1", lambda lines: [lines[0], *(_more(line) for line in lines[1:])], "is not the sum"),
    "no column": ("t1", lambda lines: [line.split("|", 1)[1] for line in lines], "has no column REGION_ID"),
}


def _more(line: str) -> str:
    fields = line.split("|")
    fields[3] = str(int(fields[3]) + 1)
    return "|".join(fields)


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("released") / "out"
    run(TOY, DATA, out, options=Options(no_noise=True))
    return out


MISSING = "a row of t2 is missing"


@pytest.mark.parametrize(
    "damage", [pytest.param(one, marks=pytest.mark.slow if one == MISSING else ()) for one in DAMAGES]
)
def test_a_damaged_output_is_refused(tmp_path: Path, output: Path, damage: str) -> None:
    stem, change, message = DAMAGES[damage]
    out = tmp_path / "out"
    shutil.copytree(output, out)
    path = out / f"{stem}.NOT-PRIVATE.csv"
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    with pytest.raises(InputError, match=message):
        coterminous(out, tmp_path / "new", params=TOY, data=DATA)
    assert not (tmp_path / "new").exists()


def test_what_is_no_output_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no t1 in"):
        postprocess(tmp_path, tmp_path / "new", params=TOY)
