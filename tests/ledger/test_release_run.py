"""`ReleaseRun`: all steps, in order, for the package and for a mechanism of an office's own."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from office_mechanism import publish_answers
from test_release_kill import Crashes, staged

from discreet.areas.output import Folder
from discreet.budget import Level, Query, Release
from discreet.errors import InputError
from discreet.ledger import (
    Entry,
    OrderError,
    PolicyError,
    ReleaseRun,
    Request,
    Total,
    check_ledger,
    create_ledger,
    read_ledger,
)
from discreet.ledger.entry import now

SOURCE = Path(__file__).parents[2] / "src" / "discreet"
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "own-mechanism.md"
RELEASE = Release(
    name="small", neighbours="bounded", levels=[Level(name="all", queries=[Query(name="total", variance=4)])]
)
DRAFT = Entry(command="count", release=RELEASE, inputs=({"role": "records", "sha256": "0" * 64},))
ANSWERS = ("yes", "no", "perhaps")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    file = tmp_path / "records.csv"
    file.write_text("person,answer\n" + "".join(f"{n},{ANSWERS[n % 2]}\n" for n in range(731)))
    return file


@pytest.fixture
def run(records: Path) -> ReleaseRun:
    return ReleaseRun(records.parent / "out", reads=[records], request=Request())


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def write(run: ReleaseRun) -> None:
    with run.writing("csv") as folder:
        folder.json("manifest", {})


# -- the order ---------------------------------------------------------------------------------------------

STEPS: dict[str, Callable[[ReleaseRun], object]] = {
    "open": lambda run: run.open(),
    "spend": lambda run: run.spend(DRAFT),
    "state_no_cost": lambda run: run.state_no_cost(),
    "made_from": lambda run: run.made_from(DRAFT.inputs),
    "resumable": lambda run: run.resumable({}),
    "entropy": lambda run: run.entropy,
    "writing": write,
}
NEXT = {
    (): {"open", "resumable"},
    ("open",): {"spend", "state_no_cost", "resumable"},
    ("open", "spend"): {"made_from", "resumable", "entropy", "writing"},
    ("open", "state_no_cost"): {"made_from", "resumable", "entropy", "writing"},
    ("open", "spend", "entropy"): {"entropy", "writing"},
    ("open", "spend", "entropy", "writing"): set[str](),
}
"""The steps that may follow on others."""


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("before", NEXT, ids=lambda steps: "-".join(steps) or "nothing")
def test_a_step_out_of_order_raises_and_leaves_nothing(
    run: ReleaseRun, records: Path, before: tuple[str, ...], step: str
) -> None:
    for one in before:
        STEPS[one](run)
    there = left_in(records.parent)
    if step in NEXT[before]:
        STEPS[step](run)
        return
    with pytest.raises(OrderError):
        STEPS[step](run)
    assert left_in(records.parent) == there


def test_a_draft_must_name_confidential_data(run: ReleaseRun) -> None:
    run.open()
    public = {"role": "units", "sha256": "0" * 64}
    run.spend(replace(DRAFT, inputs=(public,)))
    for step in ("entropy", "writing"):
        with pytest.raises(OrderError, match="inputs of 'count' are not stated"):
            STEPS[step](run)
    run.made_from((public, *DRAFT.inputs))
    write(run)
    assert run.entries[0].inputs == (public, *DRAFT.inputs)


def test_counts_are_held_exact_only_if_the_policies_were_asked(records: Path) -> None:
    for number, asked in enumerate((False, True)):
        run = ReleaseRun(records.parent / f"out{number}", reads=[records], request=Request(invariants=asked))
        run.open()
        if asked:
            run.spend(replace(DRAFT, exact=(("all", "total"),)))
            continue
        with pytest.raises(OrderError, match="the policies were not asked"):
            run.spend(replace(DRAFT, exact=(("all", "total"),)))


def test_what_a_draft_says_of_the_run_itself_does_not_count(records: Path) -> None:
    """Nobody calls a run a rehearsal whose noise is private, or the other way around."""
    for rehearsal in (None, 5):
        run = ReleaseRun(
            records.parent / f"out{rehearsal}", reads=[records], request=Request(), rehearsal=rehearsal
        )
        run.open()
        run.spend(replace(DRAFT, rehearsal=7, time="1999", version="0", files={"a": "b"}))
        assert type(run.entropy).__name__ == ("NoneType" if rehearsal is None else "NotPrivateSeededEntropy")
        write(run)
        (entry,) = run.entries
        assert entry.rehearsal == rehearsal
        assert entry.counted is (rehearsal is None)
        assert entry.time[:4] == now()[:4]
        assert set(entry.files) == set(run.files)


def test_files_come_through_the_folder_and_one_is_the_manifest(records: Path) -> None:
    def beside(folder: Folder) -> None:
        folder.json("manifest", {})
        (folder.path / "more.csv").write_text("x")

    def missing(folder: Folder) -> None:
        folder.json("manifest", {})
        folder.file("table", "csv")

    wrong: dict[str, Callable[[Folder], object]] = {
        "written through the folder, or not at all: more.csv": beside,
        "written through the folder, or not at all: table.csv": missing,
        "the output has no manifest": lambda folder: folder.json("other", {}),
    }
    for text, writes in wrong.items():
        run = ReleaseRun(records.parent / "out", reads=[records], request=Request())
        run.open()
        run.spend(DRAFT)
        with pytest.raises(OrderError, match=text), run.writing("csv") as folder:
            writes(folder)
        assert left_in(records.parent) == {"records.csv"}


def test_a_ledger_takes_one_population_and_no_run_without_a_cost(records: Path) -> None:
    create_ledger(records.parent / "discreet-ledger.json")
    before = (records.parent / "discreet-ledger.json").read_bytes()
    run = ReleaseRun(records.parent / "out", reads=[records], request=Request())
    run.open()
    with pytest.raises(OrderError, match="there are 2 drafts"):
        run.spend(DRAFT, DRAFT)
    with pytest.raises(OrderError, match="states no cost"):
        run.state_no_cost()
    assert (records.parent / "discreet-ledger.json").read_bytes() == before


def test_exact_counts_spend_nothing_and_are_for_their_owner(records: Path) -> None:
    run = ReleaseRun(records.parent / "out", reads=[records], request=Request(exact_counts=True))
    for step in ("entropy", "spend"):
        with pytest.raises(OrderError):
            STEPS[step](run)
    with pytest.raises(OrderError, match="needs a ledger that was opened"):
        run.remember_counts("0:0", 2, release="small")
    write(run)
    assert run.entries == ()
    assert (records.parent / "out").stat().st_mode & 0o077 == 0


def test_all_inputs_are_named_and_a_run_that_spends_belongs_into_a_ledger(records: Path) -> None:
    for reads in (str(records), [], {"records": records}):
        with pytest.raises(OrderError, match="a list of all inputs"):
            ReleaseRun(records.parent / "out", reads=reads, request=Request())  # type: ignore[arg-type]
    with pytest.raises(OrderError, match="belongs into a ledger"):
        ReleaseRun(records.parent / "out", reads=[records], request=Request(entered=False))


def test_noise_ends_what_can_be_resumed(run: ReleaseRun) -> None:
    run.open()
    run.spend(DRAFT)
    kept = run.resumable({"parameters": "a"})
    kept.folder.mkdir(mode=0o700)
    kept.write_note()
    assert kept.is_noted
    _ = run.entropy
    assert not kept.is_noted


@pytest.mark.parametrize(
    "when", ["areas.output.Folder.json", "ledger.commit.Staging.commit", "ledger.commit.Staging._appear"]
)
def test_a_file_beside_is_there_if_and_only_if_the_output_is(
    run: ReleaseRun, records: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    key = records.parent / "key"
    run.open()
    run.spend(DRAFT)
    run.with_file(key, lambda: key.write_text("secret"))
    with monkeypatch.context() as patched:
        patched.setattr(f"discreet.{when}", full)
        with pytest.raises(InputError, match="nothing was written and nothing spent"):
            write(run)
    assert left_in(records.parent) == {"records.csv"}
    again = ReleaseRun(records.parent / "out", reads=[records], request=Request())
    again.open()
    again.spend(DRAFT)
    again.with_file(key, lambda: key.write_text("secret"))
    write(again)
    assert left_in(records.parent) == {"records.csv", "key", "out"}


# -- a mechanism of an office's own ------------------------------------------------------------------------


def test_it_publishes_and_is_entered_once(records: Path) -> None:
    folder, ledger = records.parent, records.parent / "discreet-ledger.json"
    create_ledger(ledger, [Total(unit="person", neighbours="unbounded", epsilon=1, delta=0)])
    done = publish_answers(records, ANSWERS, folder / "out", scale="2")
    (entry,) = read_ledger(ledger).entries
    assert done.entries == (entry,)
    assert (entry.command, entry.epsilon, entry.output) == ("publish answers", Fraction(1, 2), "out")
    assert {path.name for path in (folder / "out").iterdir()} == set(entry.files) == set(done.files)
    assert json.loads((folder / "out" / "manifest.json").read_text())["ledger"]["entry"] == entry.id
    assert check_ledger(ledger).sound
    before = ledger.read_bytes()
    with pytest.raises(InputError, match="released before, in run 1"):
        publish_answers(records, ANSWERS, folder / "again", scale="2")
    with pytest.raises(InputError, match="more than its total"):
        publish_answers(records, ANSWERS, folder / "more", scale="1", spend_again=True)
    assert ledger.read_bytes() == before
    assert left_in(folder) == {"records.csv", "discreet-ledger.json", "out"}


def test_a_policy_refuses_it_and_nothing_is_left(records: Path) -> None:
    folder = records.parent
    policy, head = folder / "discreet-policy.toml", 'format = "discreet policy 1"\n'
    limit = '[[largest_run]]\nunit = "person"\nneighbours = "unbounded"\n'
    rules = {
        "ledger.required": "ledger.required = true\n",
        "largest_run": f'{limit}epsilon = "0.4"\ndelta = 0\n',
        "may.spend_again": 'may.spend_again = "never"\n',
    }
    for rule, text in rules.items():
        policy.write_text(head + text)
        with pytest.raises(PolicyError, match=rule):
            publish_answers(records, ANSWERS, folder / "out", scale="2", spend_again=True)
        assert left_in(folder) == {"records.csv", "discreet-policy.toml"}
    policy.write_text(f'{head}{limit}epsilon = "0.5"\ndelta = 0\n')
    publish_answers(records, ANSWERS, folder / "out", scale="2")


def test_a_rehearsal_says_in_every_file_that_it_is_not_private(records: Path) -> None:
    ledger = records.parent / "discreet-ledger.json"
    create_ledger(ledger, [Total(unit="person", neighbours="unbounded", epsilon="0.1", delta=0)])
    outs = [records.parent / name for name in ("one", "two")]
    for out in outs:
        done = publish_answers(records, ANSWERS, out, scale="2", rehearsal=3)
        assert all(".NOT-PRIVATE." in name for name in done.files)
        assert all("NOT PRIVATE: rehearsal with seed 3" in (out / name).read_text() for name in done.files)
    assert len({(out / "answers.NOT-PRIVATE.csv").read_text() for out in outs}) == 1
    found = read_ledger(ledger)
    assert len(found.entries) == 2
    assert found.spent("person", "unbounded") == 0


def test_no_confidential_value_is_in_an_error_or_left_behind(records: Path) -> None:
    records.write_text("person,answer\n1,yes\n2,SECRET\n")
    with pytest.raises(InputError) as caught:
        publish_answers(records, ANSWERS, records.parent / "out", scale="2")
    assert "SECRET" not in str(caught.value)
    assert left_in(records.parent) == {"records.csv"}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Crashes]:
    made = Crashes(tmp_path, author="office")
    yield made
    made.close()


def test_killed_at_every_operation_it_spends_once_or_not_at_all(office: Crashes, thorough: bool) -> None:
    operations = office(how="count", at=0)["operations"]
    assert operations > 15
    office.anew()
    last = set(range(operations, operations - 9, -2))
    seen = set()
    for at in sorted(last | set(range(1, operations + 1, 1 if thorough else 20))):
        answer = office(how="kill", at=at)  # compares output and entry
        assert answer["said"] is None
        seen.add((answer["there"], staged(office.ledger)))
        assert office(how="plain")["said"] == "done"
        assert not staged(office.ledger)
        office.anew()
    assert seen == {(False, False), (False, True), (True, True), (True, False)}


def test_the_page_shows_the_mechanism_that_is_tested() -> None:
    text = Path(publish_answers.__code__.co_filename).read_text()
    body = text.partition("from __future__ import annotations\n\n")[2]
    assert body
    assert f"```python\n{body}```" in PAGE.read_text()


# -- nothing else spends or publishes ----------------------------------------------------------------------

RUN, COMMIT, FILE = "ledger/release_run.py", "ledger/commit.py", "ledger/ledger_file.py"
ALONE = {
    "Staging": {COMMIT, RUN},
    "staging": {COMMIT, RUN},
    "open_ledger": {RUN},
    "note_counts": {RUN},
    "recover": {FILE, COMMIT},
    "write_receipt": {COMMIT},
    "with_run": {COMMIT},
    "with_counts": {FILE},
    "with_key": {FILE},
    "upgraded": {FILE},
}
"""Functions that enter a run or let an output appear, and the modules that may name them."""

FOLDERS = {
    "estimation/estimating.py": "made of what was released",
    "nation/synthesis.py": "invented people",
    "census/safetab/census2020.py": "public parameters",
    "census/safetab/run.py": "made of an output that exists: `coterminous` and `postprocess`",
    "census/safetab/synthetic.py": "invented people",
    "reports/export.py": "the account of a release",
    "reports/printed.py": "made of what was released",
    "reports/records.py": "the risk of everyone, confidential; `records_risk` has asked the policies",
}
"""Modules that write a folder without spending (`whole_folder`), and why that spends nothing."""


def named(tree: ast.AST, names: Sequence[str]) -> set[str]:
    """The names that code uses: imported, called, or asked of an object."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom() | ast.Import():
                found |= {alias.name.rpartition(".")[2] for alias in node.names}
            case ast.Name():
                found.add(node.id)
            case ast.Attribute():
                found.add(node.attr)
            case ast.Constant(value=str(text)):
                found.add(text)
    return found & set(names)


SPARED = {"staging": {"ledger/ledger.py", "ledger/entry.py", FILE}}
"""Modules that say where an output waits before it appears: a path, by a method of the same name."""


def texts_with(*names: str) -> Iterator[tuple[Path, str]]:
    """The modules in which one of these names stands: to parse all takes seconds."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if any(name in text for name in names):
            yield path, text


def test_nothing_else_enters_a_run_or_lets_an_output_appear() -> None:
    used: dict[str, set[str]] = {name: set() for name in (*ALONE, "whole_folder")}
    for path, text in texts_with(*used):
        for name in named(ast.parse(text), list(used)):
            used[name].add(path.relative_to(SOURCE).as_posix())
    for name, modules in ALONE.items():
        assert used[name] - SPARED.get(name, set()) == modules, f"{name}: go through a ReleaseRun"
    assert used["whole_folder"] == set(FOLDERS), "say in FOLDERS why this spends nothing"


def test_nothing_else_writes_the_file_of_a_ledger() -> None:
    writers = {
        path.relative_to(SOURCE).as_posix()
        for path, text in texts_with("write_text")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        and node.module == "discreet.ledger.ledger_file"
        and "write_text" in {alias.name for alias in node.names}
    }
    assert writers == {COMMIT, "ledger/records_per_person.py"}  # the latter writes the secret beside it


@pytest.mark.parametrize(
    "text",
    [
        "from discreet.ledger.commit import staging",
        "from discreet.ledger import commit\nwith commit.staging(out): pass",
        "import discreet.ledger.commit as c\nc.staging(out)",
        "getattr(commit, 'staging')(out)",
    ],
)
def test_a_way_around_is_found(text: str) -> None:
    assert named(ast.parse(text), ["staging"]) == {"staging"}
