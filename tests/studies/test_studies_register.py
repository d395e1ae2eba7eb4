"""The register of printed values, and that nothing computed stands in it or is called published elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from present import PRESENT

from discreet.errors import InputError
from discreet.studies import Verdict, printed, register, studies
from discreet.studies.register import check_printed, check_range, compare_printed, papers

SOURCE = Path(__file__).parents[2] / "src" / "discreet" / "studies"

# values of the same notes that were computed and that no paper prints
COMPUTED = {
    "risk": ".5946 .5901 .5897 .5954 .5931 .5910 .5906 .5777 .5033 .318 .435 .562 .563 60.4 98.98 "
    "2.298 1.721 2.481 1.877 12.9 38.7 29.8 13.9 3.9 10.9 39.5 30.5 14.2 4.0 .004 .178 2.38 1.81",
    "pnas": "8.592 12.179 12.28 8.70 15.33 16.89 -7.8 21.985 21.971 2.4682 1.4781 5.3276 3.3285 .91783 "
    ".52219 4.18e-8 7.68e-108 5.80e-29 3.4756e-29 2.87e-20 2.83e-20 969521",
    "sieve": "9.98664e-24 9.98664113e-24 "
    "11.446 10.798 11.4457 10.7973 9.614584784830053e-24 5.05e-39 3.83e-38 24.4565 24.45651446",
    "safetab": "99.9892 99.9874 99.9745 99.9908 99.9938 99.9930 93.92 92.10 94.48 94.60 "
    "15.7 18.6 4.944 2.643 .317 .015",
}
PLACES = (
    r"(text on )?(Table|Figure|Fact|Corollary|section|appendix) [0-9A-Z].*|abstract|captions|introduction, .*"
    r"|tables of all pairs, authors' repository|errors, authors' notebooks"
)


def test_every_entry_has_a_paper_and_a_place() -> None:
    entries = register()
    assert len(entries) == 359 - (0 if "studies.tabulations" in PRESENT else 31)
    assert {entry.paper for entry in entries} == set(papers())
    for entry in entries:
        assert re.fullmatch(PLACES, entry.place), entry.place
        assert entry.kind in ("rounded", "bound", "at least", "draws", "input")
        assert re.fullmatch(r"-?\d*\.?\d+(e-?\d+)?|\d+/\d+", entry.text), entry.text
    keys = [(e.paper, e.place, e.what, e.at) for e in entries]
    assert len(set(keys)) == len(keys)


def test_nothing_computed_stands_in_the_register() -> None:
    for paper, texts in COMPUTED.items():
        values = {float(text) for text in texts.split()}
        found = {entry.value for entry in register() if entry.paper == paper}
        assert not values & found, values & found
    # 15.33 and 16.62 were not seen in print for the three levels beside PEPG
    assert set(printed("pnas", "Table 1", "reduction, percent")) == {"US", "State", "County", "PEPG"}


def test_every_cell_of_the_tables_is_there() -> None:
    cells = {
        ("pnas", "Table 1"): 20,
        ("pnas", "Table 2"): 25,
        ("pnas", "Table 3"): 14,
        ("pnas", "introduction, errors"): 1,
        ("pnas", "introduction, footnote 2"): 1,
        ("pnas", "appendix A.5"): 4,
        ("pnas", "appendix A.6"): 12,
        ("pnas", "appendix A.7"): 3,
        ("pnas", "appendix C.1"): 5,
        ("pnas", "appendix D.3"): 9,
        ("pnas", "appendix D.4"): 9,
        ("risk", "Table 2"): 18,
        ("risk", "Table 3"): 3,
        ("risk", "Table 4"): 50,
        ("risk", "Table 5"): 10,
        ("risk", "Table 6"): 6,
        ("risk", "Table 7"): 2,
        ("risk", "Table 8"): 8,
    }
    for (paper, place), many in cells.items():
        assert sum((e.paper, e.place) == (paper, place) for e in register()) == many, (paper, place)


def test_every_entry_belongs_to_exactly_one_study() -> None:
    owners = [entry for study in studies() for entry in study.printed]
    assert sorted(owners, key=repr) == sorted(register(), key=repr)


WITHDRAWN = r"abstract repeats|paper has neither|\.317 and \.015|94\.48|94\.60"  # no paper says these things


def test_withdrawn_charges_stay_withdrawn() -> None:
    root = SOURCE.parents[2]
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    sources = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".toml")]
    for path in (*pages, *sources):
        assert re.search(WITHDRAWN, path.read_text(encoding="utf-8")) is None, path.name


def test_the_guide_names_every_synthetic_study() -> None:
    guide = (SOURCE.parents[2] / "docs" / "howto" / "reproduce.md").read_text(encoding="utf-8")
    section = guide.partition("## What is synthetic")[2].partition("## ")[0]
    synthetic = [study.name for study in studies() if "synthetic" in study.what]
    assert sorted(synthetic) == ["accuracy", "race-groups", "slope"]
    assert all(f"`{name}`" in section for name in synthetic)


def test_studies_hold_no_printed_value_of_their_own() -> None:
    # a printed number that a study compares itself with comes from the register; words may repeat it
    for path in SOURCE.glob("*.py"):
        text = re.sub(r'("""(.|\n)*?""")|f?"[^"\n]*"|#.*', "", path.read_text(encoding="utf-8"))
        numbers = set(re.findall(r"(?<![\w.])\d*\.\d{2,}(?![\w.])", text))
        long = {e.text.lstrip("-") for e in register() if len(e.text.strip("-0.").replace(".", "")) > 2}
        assert not {n.lstrip("0") for n in numbers} & {n.lstrip("0") for n in long}, path.name


NUMBERS = r"(: [^=]+)? = [\[{(]?\s*[\"']?[\w ]*[\"']?:? ?\(?-?\d*\.\d"


def test_tests_hold_no_printed_value_of_their_own() -> None:
    # numbers that a test calls published or printed come from the register
    named = re.compile(rf"^\s*(\w*_)?(published|printed)(_\w+)?{NUMBERS}", re.IGNORECASE | re.MULTILINE)
    assert named.search('PUBLISHED = {\n    "US": (54.19, 20.88),')
    assert named.search("printed_values = [0.525, 0.574]")
    for path in Path(__file__).parents[1].rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert path == Path(__file__) or named.search(text) is None, path.name


def test_verdicts() -> None:
    rounded = printed("pnas", "Table 1", "reduced variance")["US"]  # 54.19
    assert check_printed(rounded, 54.1949).verdict is Verdict.CONFIRMED
    assert check_printed(rounded, 54.1851).verdict is Verdict.CONFIRMED
    assert check_printed(rounded, 54.1952, explained="no").verdict is Verdict.WRONG
    bound = printed("pnas", "Fact C.1", "bound on the residual, variance 5")["10"]
    assert check_printed(bound, 2.6e-37).verdict is Verdict.CONFIRMED
    assert check_printed(bound, 2.61e-37).verdict is Verdict.WRONG
    least = printed("risk", "Figure 4", "mass on the grid, percent")["all"]
    assert check_printed(least, 99.0).verdict is Verdict.CONFIRMED
    assert check_printed(least, 98.9999).verdict is Verdict.WRONG
    # the error that a paper states for its own number
    assert check_printed(rounded, 54.3, stated=0.2).verdict is Verdict.STATED
    assert check_printed(rounded, 54.4, stated=0.2).verdict is Verdict.WRONG
    assert check_printed(rounded, 54.19, stated=0.2).verdict is Verdict.CONFIRMED
    drawn = printed("risk", "Table 7", "posterior of the block's count, percent")["1"]  # 57.0
    assert check_printed(drawn, 57.04, error=0.1).verdict is Verdict.CONFIRMED
    assert check_printed(drawn, 57.34, error=0.1).verdict is Verdict.MONTE_CARLO
    assert check_printed(drawn, 57.36, error=0.1).verdict is Verdict.WRONG
    assert check_printed(drawn, 58.0, chance=0.01).verdict is Verdict.MONTE_CARLO
    assert check_printed(drawn, 58.0, chance=0.001).verdict is Verdict.WRONG
    assert check_printed(drawn, 58.0).verdict is Verdict.NOT_CHECKED
    # another reading counts only if it gives the printed digits
    assert check_printed(rounded, 60.0, otherwise=(Verdict.ROUNDED, 54.1949)).verdict is Verdict.ROUNDED
    assert check_printed(rounded, 60.0, otherwise=(Verdict.CARRIED, 54.1952)).verdict is Verdict.WRONG
    assert check_printed(rounded, 54.19, otherwise=(Verdict.CARRIED, 60.0)).verdict is Verdict.CONFIRMED
    assert (
        check_printed(drawn, 58.0, error=0.1, otherwise=(Verdict.ROUNDED, 57.04)).verdict is Verdict.ROUNDED
    )
    assert check_range(drawn, 40.0, 60.0, error=0.1, why="").verdict is Verdict.POSSIBLE
    assert check_range(drawn, 57.34, 60.0, error=0.1, why="").verdict is Verdict.POSSIBLE
    beyond = check_range(drawn, 57.36, 60.0, error=0.1, why="")
    assert (beyond.verdict, beyond.computed) == (Verdict.WRONG, 57.36)
    given = printed("risk", "Table 6", "true counts")["block"]
    assert check_printed(given, None).verdict is Verdict.GIVEN
    share = printed("risk", "Table 2", "share of the level")["US"]
    assert check_printed(share, 104 / 4099).verdict is Verdict.CONFIRMED
    assert check_printed(share, 104 / 4099 + 1e-9).verdict is Verdict.WRONG


def test_what_is_not_printed_cannot_be_asked_for() -> None:
    with pytest.raises(InputError, match="the register has no 'mass' for 'Table 9'"):
        printed("risk", "Table 9", "mass")
    with pytest.raises(KeyError):
        compare_printed("pnas", "appendix A.6, budget", "rho", {})
