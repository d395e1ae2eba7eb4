"""`discreet init`: a draft whose next commands run as printed, the questions on a terminal, and refusals."""

from __future__ import annotations

import io
import os
import random
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from command_fixtures import Invoke

from discreet import InputError, Release
from discreet.measurement import Draft, draft
from discreet.measurement.draft_text import commented
from discreet.measurement.rehearsing import rehearse

STATED = (
    "--area-column",
    "region",
    "--area-column",
    "town",
    "--attribute",
    "age",
    "--attribute",
    "job: yes=1, no=2",
)
PROMISE = ("--epsilon", "4", "--delta", "1e-6")
TOWNS = {"North": ("Ama", "Bel"), "South": ("Cor", "Dun", "Eld")}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(7)
    lines = ["id,region,town,age,job"]
    for number in range(150):
        region = draw.choice(list(TOWNS))
        lines.append(
            f"{number},{region},{draw.choice(TOWNS[region])},{draw.randrange(98)},{draw.choice('12')}"
        )
    Path("survey.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_the_next_commands_run_on_the_draft_as_printed(discreet: Invoke) -> None:
    told = discreet("init", "survey.csv", *STATED, *PROMISE, "--out", "plan", "--json").json
    assert told["epsilon"] == 4
    assert told["levels"] == [
        {"name": "All", "areas": 1},
        {"name": "region", "areas": 2},
        {"name": "town", "areas": 5},
    ]
    assert len(told["next"]) == 3
    for command in told["next"]:
        program, *words = shlex.split(command)
        assert program == "discreet"
        assert discreet(*words).status == 0, command
    told = discreet("account", "plan/release.toml", "--delta", "1e-6", "--json").json
    assert 3.99 < told["results"][0]["epsilon"] <= 4


@pytest.mark.slow
def test_a_report_of_the_draft(discreet: Invoke) -> None:
    discreet("init", "survey.csv", *STATED, *PROMISE, "--out", "plan")
    assert (
        discreet("report", "plan/release.toml", "--no-certify", "--no-savings", "--out", "a.html").status == 0
    )


def test_the_last_lines_are_the_next_three_commands(discreet: Invoke) -> None:
    out = discreet("init", "survey.csv", *STATED, *PROMISE, "--out", "plan", "--quiet").out
    assert [line.split()[:2] for line in out.splitlines()[-3:]] == [
        ["discreet", "account"],
        ["discreet", "measure"],
        ["discreet", "estimate"],
    ]


def drafted(**options: object) -> Draft:
    given: dict[str, object] = {"area_columns": ["region", "town"], "attributes": ["age", "job: yes=1, no=2"]}
    promise: Mapping[str, object] = {"epsilon": 4, "delta": "1e-6"}
    return draft("survey.csv", **given | ({} if "margin" in options else promise) | options)  # type: ignore[arg-type]


def test_every_line_of_the_draft_says_why_and_is_read_as_it_was_drafted() -> None:
    found = drafted()
    lines = commented(found).splitlines()
    assert all(before.startswith("# ") for before, line in pairwise(lines) if line[:1] not in "#")
    read = Release.from_toml("\n".join(lines))
    assert (read, read.input) == (found.release, found.release.input)


def test_a_margin_of_error_is_kept_by_every_estimate_of_what_is_not_known() -> None:
    found = drafted(margin=10)
    assert found.public_totals == ("All",)
    margins = [
        query.margin95
        for level in found.plan.after.levels
        for query in level.queries
        if (level.name, query.name) != ("All", "total")
    ]
    assert max(margins) == pytest.approx(10, rel=1e-3)


def test_one_area_needs_no_column() -> None:
    found = drafted(area_columns=[])
    assert found.areas == (("All", "All", ""),)
    assert found.scope.is_whole is False  # columns were not looked at


@pytest.mark.parametrize(
    ("options", "total", "kind"),
    [
        ((), False, "exact"),
        (("--table", "total", "--table", "age"), True, "at most"),
        (("--table", "age"), False, "exact"),
    ],
)
def test_a_single_area_is_stated_and_its_total_is_measured_only_if_it_is_named(
    discreet: Invoke, options: tuple[str, ...], total: bool, kind: str
) -> None:
    """Moving changes no total of a single area, so an exact epsilon that counts one is too large."""
    given = ("--attribute", "age", *options, *PROMISE, "--out", "plan", "--quiet")
    told = discreet("init", "survey.csv", *given)
    release = Release.from_toml(Path("plan/release.toml").read_text())
    (level,) = release.levels
    assert level.areas == 1
    assert ("total" in [query.name for query in level.queries]) is total
    assert release.claim.kind.label == kind
    said = "the number of records is known: the total of All" in told.out.replace("\n  ", " ")
    assert said is (not options)
    account = discreet("account", "plan/release.toml", "--delta", "1e-6", "--certify", "--quiet")
    assert ("<= bound of epsilon <=" in account.out) is (kind == "at most")


def test_a_total_of_those_with_a_value_is_no_public_number() -> None:
    with Path("survey.csv").open("a") as file:
        file.write("150,North,Ama,,1\n")
    given = {"area_columns": [], "attributes": ["age"]}  # a gap in the only column is no empty line
    queries = {
        missing: [query.name for query in drafted(missing=missing, **given).release.levels[0].queries]
        for missing in ("leave-out", "unknown")
    }
    assert queries == {"leave-out": ["total", "age"], "unknown": ["age"]}
    with Path("survey.csv").open("a") as file:
        file.write("\n151,North,Ama,30,1\n")
    with pytest.raises(InputError, match=r"an empty line \(line 153"):
        drafted(missing="unknown", **given)


def test_the_page_is_of_invented_people_and_says_so(discreet: Invoke) -> None:
    discreet("init", "survey.csv", *STATED, *PROMISE, "--out", "plan")
    page = Path("plan/rehearsal.html").read_text()
    assert page.count("NOT PRIVATE: rehearsal with seed 1") >= 2
    assert "<script" not in page
    found = rehearse(drafted())
    assert found.people == 200 * 5
    assert 0.85 < found.held / found.every <= 1  # of 168 intervals 95 % are meant to hold


def test_the_rehearsal_knows_the_file_by_its_areas_alone() -> None:
    before = rehearse(drafted()).counts
    lines = Path("survey.csv").read_text().splitlines()
    Path("survey.csv").write_text("\n".join(lines[:120]) + "\n")
    assert rehearse(drafted()).counts == before


@pytest.mark.skipif(os.name == "nt", reason="needs modes of files")
def test_a_draft_is_readable_by_its_owner_alone(discreet: Invoke) -> None:
    discreet("init", "survey.csv", *STATED, *PROMISE, "--out", "plan")
    assert {path.stat().st_mode & 0o777 for path in Path("plan").iterdir()} == {0o600}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--attribute", "age"), "give a promise (epsilon, at delta) or a margin of error; neither is given"),
        (("--attribute", "age", *PROMISE, "--margin", "3"), "both are given"),
        (PROMISE, "no attribute is named"),
        ((), "2 kinds of problems: 1. give a promise (epsilon, at delta) or a margin of error"),
        (
            ("--attribute", "agee", *PROMISE),
            'names a column that survey.csv does not have; did you mean "age"?',
        ),
        (("--attribute", "job", *PROMISE), "attribute 'job' has no values; state all that it can have"),
        (
            ("--attribute", "job", *PROMISE),
            'such as "job: yes, no", or if the file has codes "job: yes=1, no=2"',
        ),
        (
            ("--attribute", "age: 0-17, 15-64, 65+", *PROMISE),
            "age: bands '0-17' and '15-64' overlap; each number must be in one band",
        ),
        (
            ("--attribute", "age: 0-17, 20-64, 65+", *PROMISE),
            "age: bands '0-17' and '20-64' leave a gap: 18 is in neither",
        ),
        (
            ("--attribute", "age: young=0-17, old=15+", *PROMISE),
            "age: bands '0-17' and '15+' overlap; each number must be in one band",
        ),
        (
            ("--attribute", "age", "--id", "town", *PROMISE),
            "an identifier occurs twice; a draft is about people of one line each. Name the column that "
            "identifies people, or leave --id out",
        ),
        (("--attribute", "job: yes, no", *PROMISE), "job: which text is which of yes, no?"),
        (("--attribute", "age", "--attribute", "age", *PROMISE), "twice"),
        (("--attribute", "age", "--table", "age * sex", *PROMISE), "sex"),
        (("--attribute", "age", "--areas", "survey.csv", *PROMISE), "one column of the records is needed"),
    ],
)
def test_what_is_open_is_said_and_nothing_is_written(
    refused: Callable[..., str], words: tuple[str, ...], said: str
) -> None:
    assert said in refused("init", "survey.csv", *words, "--out", "plan")
    assert os.listdir() == ["survey.csv"]


def test_all_that_is_open_comes_in_one_round(refused: Callable[..., str]) -> None:
    with Path("survey.csv").open("a") as file:
        file.write("150,North,Ama,,1\n")
    said = refused("init", "survey.csv", "--attribute", "age", "--attribute", "job", *PROMISE)
    for text in ("2 kinds of problems", "attribute 'job' has no values", "no value, or a mark such as NA"):
        assert text in said
    named = ("--attribute", "age", "--attribute", "job", "--attribute", "region: upper, lower")
    said = refused("init", "survey.csv", *named, "--missing", "unknown", *PROMISE)
    for text in ("attribute 'job' has no values", "region: which text is which of upper, lower?"):
        assert text in said


def test_columns_of_areas_were_looked_at() -> None:
    assert drafted().scope.left_out == ("column id",)
    assert drafted(id="id").scope.is_whole


def test_nothing_is_overwritten(refused: Callable[..., str]) -> None:
    Path("areas.csv").write_text("mine")
    assert "there is already areas.csv" in refused("init", "survey.csv", *STATED, *PROMISE)
    assert sorted(os.listdir()) == ["areas.csv", "survey.csv"]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    monkeypatch.setattr(sys, "stdin", _Terminal("".join(f"{answer}\n" for answer in answers)))
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)


def test_a_terminal_is_asked_for_what_is_open(discreet: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    at_a_terminal(
        monkeypatch,
        "town",  # areas
        "age, salary",  # there is no salary
        "age, job",
        "",  # the bands of ages that are proposed
        "yes=1, no=2",
        "age * job",
        "perhaps",  # neither
        "epsilon",
        "many",
        "4",
        "1e-6",
    )
    result = discreet("init", "survey.csv", "--out", "plan")
    assert result.status == 0
    for said in (
        "CONFIDENTIAL",
        "There is no column salary.",
        "Type epsilon or margin.",
        "[0-17, 18-39, 40-64, 65+]",
    ):
        assert said in result.out
    read = Release.from_toml(Path("plan/release.toml").read_text())
    assert [query.name for query in read.levels[1].queries] == ["age * job"]
    assert read.input is not None
    assert read.input.of("job").codes == (("1", "yes"), ("2", "no"))


def test_births_and_gaps_are_asked_about_and_the_command_is_shown(
    discreet: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["born,sex", *(f"{1930 + at}-05-06,{'fm'[at % 2]}" for at in range(90)), ",f"]
    Path("births.csv").write_text("\n".join(lines) + "\n")
    at_a_terminal(
        monkeypatch,
        "-",
        "born, sex",
        "",
        "",
        "",
        "epsilon",
        "4",
        "",
        "maybe",
        "leave-out",
        "today",
        "2025-12-31",
    )
    result = discreet("init", "births.csv", "--out", "plan")
    assert result.status == 0, result.err
    assert "it must be a day such as 2025-12-31" in result.out
    (shown,) = (line for line in result.out.splitlines() if line.startswith("discreet init"))
    assert shown.endswith(" --out plan")
    first = Path("plan/release.toml").read_text()
    shutil.rmtree("plan")
    assert discreet(*shlex.split(shown)[1:]).status == 0
    assert Path("plan/release.toml").read_text() == first
    assert 'age_on = "2025-12-31"' in first


def test_questions_that_end_early_write_nothing(discreet: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    at_a_terminal(monkeypatch, "town")
    result = discreet("init", "survey.csv", "--out", "plan")
    assert result.status == 2
    assert "nothing was written" in result.err
    assert os.listdir() == ["survey.csv"]
