"""Makes docs/gallery.md and its pictures, one for each command with --plot: `make gallery`.

The commands run one after another in an empty directory. tests/test_docs.py compares the page with this list,
and the list with the commands that have --plot.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from discreet.cli import run

PAGE = Path(__file__).parent / "gallery.md"
PICTURES = Path(__file__).parent / "images" / "gallery"
LARGEST = 120_000  # bytes of a picture


@dataclass(frozen=True)
class Shown:
    """A picture: the question that it answers, and the command that draws it, without --plot."""

    name: str
    question: str
    line: str


BEFORE = (
    "example survey",
    "tabulate survey --records survey/records.csv --units survey/units.csv --out counts --quiet",
    "measure survey --records survey/records.csv --units survey/units.csv --out noisy --rehearsal 1 --quiet",
)
"""What the commands read: the example's survey, and its rehearsal."""

GALLERY = (
    Shown("account", "What does a release cost a person, beside what zCDP says?", "account dhc-2022-08-25"),
    Shown("compare", "Which of two releases tells more?", "compare dhc-2022-08-25 dhc-2020"),
    Shown("calibrate", "How much noise is enough?", "calibrate dhc-2022-08-25 --zcdp --delta 1e-10"),
    Shown("accuracy", "How accurate will the estimates be?", "accuracy survey --tree survey/units.csv"),
    Shown(
        "explain",
        "What does an epsilon mean for one person?",
        "explain --epsilon 1 --delta 1e-6 --prior 1/100",
    ),
    Shown(
        "risk-single",
        "What does one noisy count tell?",
        "risk single --noisy 3 --known 1 --variance 10 --prior 1/2 --prior 1/100",
    ),
    Shown(
        "risk-hierarchy",
        "What does a block tell together with the areas above it?",
        "risk hierarchy --area name=block,noisy=2,variance=10 --area name=tract,noisy=9,variance=5 "
        "--prior 1/2",
    ),
    Shown("risk-categories", "Which of five cells is theirs?", "risk categories --cells 5 --variance 5.04"),
    Shown(
        "risk-release", "What can be learned from everything published?", "risk release survey --prior 1/2"
    ),
    Shown(
        "risk-table",
        "In which rows of a released table is a person found most surely?",
        "risk table noisy/measurements.NOT-PRIVATE.csv --prior 1/2 --known 0",
    ),
    Shown(
        "risk-records",
        "How many people are at which risk?",
        "risk records survey --records survey/records.csv --units survey/units.csv --prior population "
        "--out curator",
    ),
    Shown(
        "risk-audit",
        "Does a mechanism keep its promise?",
        "risk audit survey --counts counts/counts.csv --units survey/units.csv --runs 200 "
        "--mechanism 'sed -n -e 1s/count/value/ -e w{out} {in}'",
    ),
)


def page() -> str:
    """Return the page, whose pictures are beside it."""
    parts = [
        "# Gallery\n\nEvery command that draws: its question, and its picture, as SVG, PNG or PDF.\n"
        "The survey is that of `discreet example survey`, `counts` its counts and `noisy` its rehearsal.\n"
        "`make gallery` made this page.\n"
    ]
    for shown in GALLERY:
        command = shown.line.split(" -")[0].split(" given")[0]
        name = f"images/gallery/{shown.name}.png"
        parts.append(
            f"## {shown.question}\n\n`discreet {shown.line} --plot {shown.name}.png`\n\n"
            f"![{command}]({name})\n"
        )
    return "\n".join(parts)


def main(only: list[str]) -> None:
    """Draw the pictures, or those that are named, and write the page."""
    from make_screenshot import shrink  # which needs what the tests need

    PICTURES.mkdir(parents=True, exist_ok=True)
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for line in BEFORE:
                assert run(shlex.split(line)) == 0, line
            for shown in GALLERY:
                if only and shown.name not in only:
                    continue
                picture = PICTURES / f"{shown.name}.png"
                assert run([*shlex.split(shown.line), "--plot", picture.name]) in (0, 1), shown.line
                shrink(Path(picture.name), picture)
                size = picture.stat().st_size
                assert size < LARGEST, f"{picture.name} has {size} bytes; at most {LARGEST} are wanted"
        finally:
            os.chdir(home)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
