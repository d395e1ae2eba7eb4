"""One question, one answer: what command line, report and workbench compute, each in its own way, is equal.

Text, JSON, CSV, tiles and notebooks show one answer and cannot differ (tests/answers), nor can margins, which
report and workbench take from one function. A page of the workbench follows a slider with work of its own,
and a report gathers many results. The headline numbers: epsilon, zCDP's and that of Gaussian DP, the noise
that calibration would save; how often the best guess is right, its advantage and belief, of everything
published and level by level. Releases are presets and odd ones; those that take long are slow tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import settled, value

from discreet.accounting.account import account
from discreet.answers import Claimed, NumberKind, Quantity, Style
from discreet.budget import Release, load, preset_names
from discreet.budget.level_names import level_name
from discreet.cli import run
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.errors import InputError
from discreet.numbers import fraction
from discreet.promises.calibrating import calibrate
from discreet.reports.html import gather, render
from discreet.workbench.state import State, to_link

pytestmark = pytest.mark.xdist_group("workbench")  # one server and one browser for all

LEVEL = '[[levels]]\nname = "{name}"\n[levels.queries]\n{queries}\n'


def written(neighbours: str, *levels: str, unit: str = "person", spine: str = "") -> str:
    """A release of levels A, B, ... with these queries."""
    texts = [LEVEL.format(name=chr(65 + i), queries=queries) for i, queries in enumerate(levels)]
    return "\n".join([f'name = "odd"\nunit = "{unit}"\nneighbours = "{neighbours}"', *texts, spine])


def counts(*variances: str) -> str:
    return "\n".join(f'"q{i}" = {{ variance = "{v}" }}' for i, v in enumerate(variances))


ODD = {
    "one merged path": written("unbounded", counts("6"), counts("6"), spine='[spine.paths]\n1 = ["A+B"]'),
    "merged and not": written(
        "bounded", counts("3"), counts("4"), counts("6"), spine='[spine]\nmay_merge_up = ["B", "C"]'
    ),
    "one level": written("bounded", counts("5", "5", "12")),
    "Laplace alone": written("unbounded", '"q" = { scale = "3" }'),
    "two Laplace": written("unbounded", '"q" = { scale = "125/137" }\n"r" = { scale = "125/863" }'),
    "mixed": written("bounded", counts("8"), '"q" = { scale = "5" }\n"r" = { variance = "20" }'),
    "households": written("bounded", counts("2.5"), counts("40"), unit="household"),
    "tiny noise": written("unbounded", counts("1/10", "0.25")),
    "three decimals": written("unbounded", counts("1.828", "4.02", "4.342", "2.938")),
    "groups": written("unbounded", '"q" = { variance = "9", groups = 9 }', counts("31.25")),
    "sensitivity": written("bounded", '"q" = { variance = "50", sensitivity = 3 }'),
    "large noise": written("unbounded", counts("10000", "123456")),
    "mixed and merged": written(
        "bounded", '"q" = { scale = "3" }', counts("6"), counts("4"), spine='[spine]\nmay_merge_up = ["C"]'
    ),
    "next to no noise": written("bounded", counts("1/1000", "1/300")),
    "next to no loss": written("bounded", counts("10000000000")),
    "modelled in part": 'kind = "model"\nreason = "one query is left out"\n'
    + written("bounded", counts("7"), counts("31.25")),
}
QUICK = [("mixed", False)]


def case(name: str, otherwise: bool) -> Any:
    marks = [pytest.mark.slow] * ((name, otherwise) not in QUICK)
    return pytest.param(name, otherwise, id=f"{name}, otherwise" if otherwise else name, marks=marks)


CASES = [case(name, False) for name in (*ODD, *preset_names())]
CASES += [case(name, True) for name in ODD]


def release_of(name: str) -> Release:
    return Release.from_toml(ODD[name]) if name in ODD else load(name)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert run([*arguments, "--quiet"]) == 0
    return capsys.readouterr().out


def as_percent(chance: str) -> str:
    """A chance as the text prints it, in percent."""
    return f"{100 * float(chance):.{len(chance) - 4}f}"


def words(html: str) -> str:
    """What a reader of the page sees, with powers of ten as commands write them."""
    html = re.sub(
        r" × 10<sup>(−?)(\d+)</sup>", lambda ten: f"e{'-' if ten[1] else '+'}{int(ten[2]):02d}", html
    )
    html = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.mark.parametrize(("name", "otherwise"), CASES)
def test_every_surface_shows_the_same_numbers(
    visit: Callable[..., Any], capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, otherwise: bool
) -> None:
    """As it was calibrated; otherwise with the other neighbours, an uneven prior, a delta of many digits."""
    release, file = release_of(name), tmp_path / "odd.toml"
    file.write_text(release.to_toml())
    delta, prior, relation = "1e-10", "1/2", release.neighbours
    if otherwise:
        delta, prior = "1.2345678e-6", "1/10"
        relation = "unbounded" if relation == "bounded" else "bounded"
    whole = account(release, neighbours=relation)
    gaussian = str(Quantity(float(GaussianDP(whole.events(whole.main)).epsilon(delta=float(delta)))))

    # the command line
    target = (str(file), "--neighbours", relation)
    text = printed(capsys, "account", *target, "--delta", delta)
    epsilon, zcdp = next(line for line in text.splitlines() if line.startswith(delta[:6])).split()[1:3]
    text = printed(capsys, "risk", "release", *target, "--prior", prior)
    rows = text.partition("Level by level:")[2].splitlines()
    ends = ("one count of", "every count of the level", "everything published")
    single, every, everything = ([line.split(end)[1].split() for line in rows if end in line] for end in ends)
    right, advantage, mean = everything[0][:3]
    # "right" of one count is the sixth number from the end, behind the name of its query
    by_level = list(zip((row[-6] for row in single), (row[0] for row in every), strict=True))
    assert len(by_level) == len(release.runs(release.main))

    # the report
    asked = {"delta": fraction(delta), "prior": prior, "neighbours": relation}
    page = words(render(gather(release, certify=False, savings=False, **asked)))  # type: ignore[arg-type]
    for shown in (
        epsilon,
        zcdp,
        gaussian,
        *map(as_percent, (right, *(x for pair in by_level for x in pair))),
    ):
        assert shown in page

    # the workbench
    state = State(release, "odd.toml", False) if name in ODD else State.of(name)
    state = state.with_delta(delta).with_neighbours(relation)
    state = state.with_settings("risk", {"prior": prior, "scenario": "whole"})
    tab = visit(f"/budget?s={to_link(state)}")
    settled(tab)
    tiles = {"Epsilon": epsilon, "zCDP": zcdp, "Gaussian DP": gaussian}
    assert {tile: value(tab, tile).split()[-1] for tile in tiles} == tiles
    if release.kind.value != "model":  # of all pairs of paths, and not of the main one
        read = tab.inner_text("body").replace("\u00a0", " ")
        found = whole.tradeoff(alpha="1/20")
        missed = Claimed.by(whole.claim, found, Style.PERCENT, kind=NumberKind.AT_LEAST)
        assert f"misses {missed.claimed}" in read
        assert "For the main path only" not in read
    assert value(tab, "Noise to save").replace("\u00a0", " ") == saved(release, delta, relation)
    tab.get_by_role("button", name="Risk", exact=True).click()
    # all pairs of paths of the largest preset take minutes
    tab.wait_for_selector("[data-complete-risk=true]", timeout=1_200_000)
    tiles = {"Right decisions, all": f"{as_percent(right)}\u00a0%", "Advantage": advantage}
    tiles |= {"Mean belief if there, all": mean}
    assert {tile: value(tab, tile) for tile in tiles} == tiles
    # each level by one count and by all its counts, as the chart tells those who cannot see it
    said = tab.locator("[aria-label^='Right decisions from one count']").get_attribute("aria-label")
    for merged, pair in zip(release.runs(release.main), by_level, strict=True):
        assert "{} {} %, {} %".format(level_name("+".join(merged)), *map(as_percent, pair)) in said


def saved(release: Release, delta: str, relation: Any) -> str:
    """What `calibrate --zcdp` saves of every variance."""
    try:
        found = calibrate(release, zcdp=True, delta=delta, neighbours=relation, proof=False)
    except InputError:
        return "–"
    return str(Quantity(found.savings[0], Style.PERCENT))
