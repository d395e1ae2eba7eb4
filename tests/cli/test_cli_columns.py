"""A terminal of 80 columns: no line of what commands print is longer, but for paths, addresses and TOML."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from printed_samples import GIVEN, SAMPLES, can_run

from discreet.answers.answer import Answer, AnswerTable, Column
from discreet.cli import BEGIN, build_app, run
from discreet.cli.completion import completed_commands
from discreet.render.text import text_of

COLUMNS = 80
QUICK = (
    "presets",
    "show dhc-2020",
    "show given/laplace.toml",
    "account given/one.toml --delta 1e-6",
    "calibrate given/laplace.toml --epsilon 1 --delta 0",
    "compare given/laplace.toml given/one.toml --delta 1e-6",
    "explain --epsilon 4 --delta 1e-6 --prior 1/100",
    "help",
    "help paths",
    "help ledger",
    "risk single --noisy 14 --known 12 --variance 10 --prior 1/2 --loss 0 2 1 0",
    "risk categories --cells 5 --variance 5.04",
    "risk table given/rows.csv --prior-column chance --known-column others",
    "risk release given/one.toml --prior 1/2",
    "ledger new given/a.json --total person:bounded:20@1e-10",
    "ledger show given/a.json",
    "schema",
)


PROSE = [one for one in SAMPLES if can_run(one) and not re.search("registry|--suggest", " ".join(one))]
"""Samples whose output is not a file to copy, in TOML or YAML."""


class Terminal(io.StringIO):
    """What a program takes for a terminal."""

    def isatty(self) -> bool:
        return True


def printed(line: str) -> list[str]:
    """The lines that a command prints on a terminal."""
    screen = Terminal()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(io.StringIO()) as complaint:
        status = run(shlex.split(line))
    assert status in (0, 1, 2)
    assert "discreet:" not in complaint.getvalue(), line
    return unmarked(screen.getvalue()).splitlines()


def unmarked(text: str) -> str:
    """Return a text without what makes it bold."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def too_long(lines: list[str]) -> list[str]:
    """Those that are longer than the terminal though they could be broken."""
    return [line for line in lines if len(line) > COLUMNS and not is_whole(line)]


def is_whole(line: str) -> bool:
    """Whether a line cannot be broken: it has a path or a number, is a row of Markdown, or 100 marks."""
    has_path = any(len(word) > COLUMNS // 2 and "/" in word for word in line.split())
    has_number = any(
        len(word) > COLUMNS - 5 and word.rstrip("%").replace(",", "").isdigit() for word in line.split()
    )
    return has_path or has_number or line.startswith("| ") or re.search("[#.]{100}", line) is not None


@pytest.fixture
def narrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in GIVEN.items():
        (tmp_path / "given" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "given" / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": str(COLUMNS), "NO_COLOR": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def test_what_commands_print_fits_into_eighty_columns(narrow: Path) -> None:
    said = {line: printed(line) for line in QUICK}
    assert {line: found for line, lines in said.items() if (found := too_long(lines))} == {}
    assert (
        COLUMNS - 5 < max(len(text) for text in said["show dhc-2020"]) <= COLUMNS
    )  # it knows how wide it is


@pytest.mark.slow
@pytest.mark.parametrize("sample", PROSE, ids=lambda one: one[-1][:60])
def test_what_samples_print_fits_into_eighty_columns(narrow: Path, sample: tuple[str, ...]) -> None:
    assert {line: found for line in sample if (found := too_long(printed(line)))} == {}


def test_where_to_begin_and_helps_are_not_broken_at_eighty_columns() -> None:
    assert max(map(len, BEGIN.splitlines())) <= COLUMNS
    for one in completed_commands():
        program = build_app()
        for word in one.words.split():
            program = program[word]
        assert not too_long(str(program.help_epilogue or "").splitlines()), one.words


def test_a_table_breaks_no_word_while_there_is_room(narrow: Path) -> None:
    """The widest columns gave way alone: "varian|ce" and "gq_cons|tr_grou|ps" stood in a wide table."""
    titles = (
        "level",
        "query",
        "variance",
        "new",
        "std. dev.",
        "new",
        "95 % margin",
        "new",
        "variance change",
    )
    head = tuple(Column(title, f"key {at}", is_text=at < 2) for at, title in enumerate(titles))
    numbers = (34.2466, 30.3268, 5.852, 5.507, 11, 11, "-11.45 %")
    row = ("Primitive geography", "gq_constr_groups * age_10_groups", *map(str, numbers))
    screen = Terminal()
    with contextlib.redirect_stdout(screen):
        text = unmarked("\n".join(text_of(Answer("", {}, (AnswerTable(head, (row,)),)))))
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert {word for cell in (*titles, *row) for word in cell.split()} <= set(text.split())
