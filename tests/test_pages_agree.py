"""Numbers and statements that stand in several pages: each page says the same, and what the package says."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from discreet import ZCDP, account, compose, load
from discreet.errors import InputError
from discreet.noise import (
    ContinuousGaussian,
    ContinuousLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    PowerNoise,
    TableNoise,
)
from discreet.noise.capabilities import require

ROOT = Path(__file__).parents[1]
FILES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PAGES = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in FILES}


@cache
def _main_zcdp() -> float:
    release = load("dhc-2020")
    return float(ZCDP(account(release).events((release.main, release.main))).epsilon(delta=1e-10))


NUMBERS = {
    # what it is: how it is written, the value, and how many pages have it at least
    "epsilon of dhc-2020 at 1e-10": (
        r"(?<![\d.])24\.(?:45\d*|5)(?!\d)",
        lambda: float(account("dhc-2020").epsilon(delta="1e-10")),
        4,
    ),
    "the same by zCDP": (r"(?<![\d.])26\.3\d*", _main_zcdp, 3),
    "epsilon of pl94-2020 at 1e-10": (
        r"(?<![\d.])16\.4[67]\d*",
        lambda: float(account("pl94-2020").epsilon(delta="1e-10")),
        3,
    ),
    "best guess of a person, dhc-2020": (
        r"(?<![\d.])0\.942\d*|94\.[23]\d*(?= times)",
        lambda: (1 + float(account("dhc-2020").delta(epsilon=0))) / 2,
        3,
    ),
    "best guess of a person, pl94-2020": (
        r"(?<![\d.])0\.8709?(?!\d)|87\.[01]\d*(?= times)",
        lambda: (1 + float(account("pl94-2020").delta(epsilon=0))) / 2,
        3,
    ),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_a_number_is_the_same_on_every_page(what: str) -> None:
    written, computed, least = NUMBERS[what]
    value, pages = computed(), set()
    for name, page in PAGES.items():
        for line in page.splitlines():
            if "Gaussian DP" in line or "24.45649396" in line:  # another accountant's, beside the exact one
                continue
            for text in re.findall(written, line):
                said, places = Fraction(text), len(text.partition(".")[2])
                said, places = (said / 100, places + 2) if said > 30 else (said, places)
                # rounded, cut off, or up as a bound is
                assert abs(float(said) - value) <= 10.0**-places, f"{name} says {text}: {line}"
                pages.add(name)
    assert len(pages) >= least, f"{what} is on {', '.join(sorted(pages))} only"


LAWS: dict[str, Noise] = {
    "discrete Gaussian": DiscreteGaussian(variance=5),
    "discrete Laplace": DiscreteLaplace(scale=2),
    "power": PowerNoise(exponent="17/10", scale=5),
    "table": TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"}),
    "continuous Gaussian": ContinuousGaussian(variance=5),
    "continuous Laplace": ContinuousLaplace(scale=2),
}


def measured(noise: Noise) -> bool:
    """Whether `measure` draws it and enters it in a ledger."""
    try:
        require("drawing", [noise])
        require("ledger", [noise])
    except InputError:
        return False
    return True


def test_pages_agree_on_which_noise_is_accounted_for_and_which_is_drawn() -> None:
    for noise in LAWS.values():
        assert compose([noise]).delta(epsilon="1/4") > 0
    faq = " ".join(PAGES["docs/faq.md"].split())
    answer = faq.partition("## Can I use Laplace noise, or a continuous Gaussian? ")[2].partition(" ## ")[0]
    assert answer.startswith("Yes.")
    (drawn,) = re.findall(r"`measure` draws ([^.]+)\.", answer)
    assert {name for name in LAWS if name in drawn} == {name for name, one in LAWS.items() if measured(one)}
    laws = PAGES["docs/explanation/laws.md"]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in laws.splitlines() if "|" in line
    ]
    (head,) = [row for row in rows if row[0] == "question"]
    (row,) = [row for row in rows if row[0].startswith("`measure`")]
    said = dict(zip(head, (cell.startswith("yes") for cell in row), strict=True))
    for column, names in {
        "Gaussian, Laplace": ("discrete Gaussian", "discrete Laplace"),
        "power": ("power",),
        "table": ("table",),
        "continuous": ("continuous Gaussian", "continuous Laplace"),
    }.items():
        assert [said[column]] * len(names) == [measured(LAWS[name]) for name in names], column
    # nowhere is the opposite said
    for name, page in PAGES.items():
        text = " ".join(page.split())
        wrong = r"[Cc]ontinuous (?:Gaussian |Laplace )?noise(?:: no\b|[^.;|]{0,60} (?:is|are) not accounted)"
        assert re.search(wrong, text) is None, name


def test_a_term_of_the_glossary_has_one_row_and_one_meaning() -> None:
    glossary = PAGES["docs/glossary.md"]
    rows = re.findall(r"^\| ((?:<a id=\"[^\"]+\"></a>)+)([^|]+) \| (.+) \|$", glossary, re.MULTILINE)
    assert len(rows) > 60
    anchors = Counter(one for row in rows for one in re.findall(r"id=\"([^\"]+)\"", row[0]))
    words = Counter(word.strip() for row in rows for word in row[1].split(","))
    assert max(anchors.values()) == max(words.values()) == 1
    for _, term, meaning in rows:
        # "Of a decision: ... Of an estimate: ..." would be two terms
        assert len(re.findall(r"(?:^|[.;] )[Oo]f an? \w+:", meaning)) < 2, f"{term} has two meanings"


def test_commands_that_pages_name_are_there_with_their_options() -> None:
    reference = PAGES["docs/reference/command-line.md"]
    commands = {
        one.removesuffix("`") for one in re.findall(r"^#+ `(discreet[ a-z-]*)`?", reference, re.MULTILINE)
    }
    assert len(commands) > 30
    options = set(re.findall(r"--[a-z][a-z-]*", reference))
    for name, page in PAGES.items():
        for inline in re.findall(r"(?<!`)`(discreet (?:[^`\n]|\n(?!\n))+)`(?!`)", page):
            words = inline.split()
            if re.fullmatch(
                r"discreet [a-z-]+ \d", inline
            ):  # the first line of a file: its format and version
                continue
            said = [word for word in words[1:3] if re.fullmatch("[a-z][a-z-]*", word)]
            tried = {" ".join(["discreet", *said[:many]]) for many in (1, 2)}
            own = {f"discreet {one}" for one in re.findall(r"^(\w+)\.runs = ", page, re.MULTILINE)}
            assert not said or tried & (commands | own), f"{name} names `{inline}`"
            unknown = {word.partition("=")[0] for word in words if re.match("--[a-z]", word)} - options
            assert not unknown, f"{name} names {', '.join(unknown)} in `{inline}`"
