"""One question, one answer: Python, JSON, text, report and page show the same number to the last digit.

The headline numbers: epsilon at delta 1e-10 with its kind, what zCDP and Gaussian DP say, the noise that
calibration would save; how often the best guess of an even prior is right, its advantage, and what it
believes, of everything published and level by level; margins of the noise and of the best estimates. Releases
are presets and odd ones: a single path of merged levels, Laplace noise, one level, households, three-decimal
variances, tiny noise, groups, one that is modelled in part. The presets that take long are slow tests.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from browsing import settled, upload, value, wait_for_text

from discreet.accounting.calibration import calibrate
from discreet.accounting.comparisons.gaussian_dp import GaussianDP
from discreet.accounting.overall import account
from discreet.answers import NumberKind
from discreet.answers.calibration import saved_text
from discreet.budget import Release, load, preset_names
from discreet.budget.level_names import level_name
from discreet.cli import run
from discreet.errors import InputError
from discreet.estimation import accuracy
from discreet.noise import GaussianNoise
from discreet.numbers import bound, fraction, number, percent, percent_down
from discreet.numbers import margin as margin_text
from discreet.report.html import gather, render
from discreet.risk import risk_profile
from discreet.risk.profile import belief_sentence, right_sentence
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
QUICK = ("dhc-2022-08-25", "ddhca-2020", "pl94-2020-units")
CASES = [pytest.param(name, id=name) for name in (*ODD, *QUICK) if name != "next to no noise"] + [
    pytest.param(name, id=name, marks=pytest.mark.slow)
    for name in ("next to no noise", *preset_names())
    if name not in QUICK
]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def invoke(*arguments: str) -> str:
        capsys.readouterr()
        status = run(list(arguments))
        seen = capsys.readouterr()
        assert status == 0, seen.err
        return seen.out

    return invoke


def as_percent(chance: str) -> str:
    """A chance as the text prints it, in percent."""
    return f"{100 * float(chance):.{len(chance) - 4}f}"


def words(html: str) -> str:
    """What a reader of the page sees."""
    html = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def calibration_or_none(release: Release) -> float | None:
    """What `calibrate --zcdp` saves of every variance."""
    try:
        return calibrate(release, zcdp=True, delta="1e-10", proof=False).savings[0]
    except InputError:
        return None


@pytest.mark.parametrize("name", CASES)
def test_every_surface_shows_the_same_numbers(
    visit: Callable[..., Any], printed: Callable[..., str], tmp_path: Path, name: str
) -> None:
    file = tmp_path / "odd.toml"
    if name in ODD:
        file.write_text(ODD[name])
    target = str(file) if name in ODD else name
    release = Release.from_toml(ODD[name]) if name in ODD else load(name)

    # Python
    whole_account = account(release)
    (point,) = whole_account.at_delta("1e-10")
    profile = risk_profile(release, prior="1/2")
    (best,) = profile.overall
    gaussian = float(GaussianDP(whole_account.events(whole_account.main)).epsilon(delta=1e-10))
    epsilon = str(NumberKind.of(point.kind).quantity(point.epsilon))

    # JSON
    told = json.loads(printed("account", target, "--delta", "1e-10", "--json"))
    assert told["results"][0]["epsilon"] == point.epsilon
    assert told["answer"]["kind"] == point.kind.value
    risks = json.loads(printed("risk", "release", target, "--prior", "1/2", "--json"))
    assert risks["rows"] == json.loads(json.dumps([row.as_dict() for row in profile.rows]))

    # text
    text = printed("account", target, "--delta", "1e-10", "--quiet")
    row = next(line for line in text.splitlines() if line.startswith("1e-10")).split()
    zcdp = row[2]
    assert row[1] == epsilon
    assert f"{told['results'][0]['zcdp_epsilon']:#.6g}" == zcdp
    text = printed("risk", "release", target, "--prior", "1/2", "--quiet")
    ends = ("one count of", "every count of the level", "everything published")
    single, every, whole = (
        [line.split(end)[1].split() for line in text.splitlines() if end in line] for end in ends
    )
    right, advantage, mean = whole[0][:3]
    # "right" of one count is the fifth number from the end, behind the name of its query
    by_level = list(zip((row[-6] for row in single), (row[0] for row in every), strict=True))
    assert len(by_level) == len(profile.levels)

    # report
    facts = gather(release, delta=fraction("1e-10"), certify=False, savings=False)
    page = words(render(facts))
    assert facts.headline.epsilon == point.epsilon
    assert facts.guess.accuracy == best.accuracy
    assert epsilon in page
    assert zcdp in page
    for shown in (right, *(one for pair in by_level for one in pair)):
        assert as_percent(shown) in page
    assert number(gaussian) in page

    # page
    tab = visit("/budget", preset="dhc-2022-08-25" if name in ODD else name)
    if name in ODD:
        upload(tab, "odd.toml", ODD[name].encode())
        wait_for_text(tab, "odd.toml")
    settled(tab)
    assert value(tab, "Epsilon").split()[-1] == epsilon
    assert value(tab, "zCDP").split()[-1] == zcdp
    assert value(tab, "Gaussian DP").split()[-1] == number(gaussian)
    if profile.is_bound:  # of all pairs of paths, and not of the main one
        read = tab.inner_text("body").replace("\u00a0", " ")
        assert f"misses at least {percent_down(whole_account.tradeoff(alpha='1/20'))}" in read
        assert f"is right at most {best.times}" in read
        assert "For the main path only" not in read
    found = calibration_or_none(release)
    assert value(tab, "Noise to save") == ("–" if found is None else percent(found).replace(" ", "\u00a0"))

    tab.get_by_role("button", name="Risk", exact=True).click()
    # all pairs of paths of the largest preset take minutes
    tab.wait_for_selector("[data-complete-risk=true]", timeout=1_200_000)
    assert value(tab, "Right decisions, all") == f"{as_percent(right)}\u00a0%"
    assert value(tab, "Advantage") == advantage
    assert value(tab, "Mean belief if there, all") == mean
    main = risk_profile(release, prior="1/2", pairs="main").overall[0]
    said = tab.locator("[aria-label^='Right decisions against the prior']").get_attribute("aria-label")
    assert f"is right {main.right(percent=True)} % on the main path" in said
    # each level by one count and by all its counts, as the chart tells those who cannot see it
    said = tab.locator("[aria-label^='Right decisions from one count']").get_attribute("aria-label")
    for row, pair in zip(profile.levels, by_level, strict=True):
        assert "{} {} %, {} %".format(level_name(row.scope), *map(as_percent, pair)) in said


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("next to no noise", "merged and not") else ())
        for name in ODD
    ],
)
def test_every_surface_shows_the_same_for_other_questions(
    visit: Callable[..., Any], printed: Callable[..., str], tmp_path: Path, name: str
) -> None:
    """The other neighbours, an uneven prior, a larger delta of many digits; files too."""
    release, delta, prior = Release.from_toml(ODD[name]), "1.2345678e-6", "1/10"
    other = "unbounded" if release.neighbours == "bounded" else "bounded"
    file, curve, risks, html = (tmp_path / one for one in ("odd.toml", "c.csv", "r.csv", "r.html"))
    file.write_text(ODD[name])
    shared = (str(file), "--neighbours", other, "--quiet")
    state = State(release, "odd.toml", False).with_delta(delta).with_neighbours(other)
    state = state.with_settings("risk", {"prior": prior, "scenario": "whole"})

    whole = account(release, neighbours=other)
    (point,) = whole.at_delta(delta)
    found = max(point.epsilon, 0.0)
    epsilon = str(NumberKind.of(point.kind).quantity(found))
    text = printed("account", *shared, "--delta", delta, "--curve", str(curve))
    row = next(line for line in text.splitlines() if line.startswith("1.2345")).split()
    assert row[1] == epsilon
    with curve.open() as lines:
        first = next(iter(csv.DictReader(lines)))
    assert float(first["delta"]) == pytest.approx(float(whole.delta(epsilon=float(first["epsilon"]))), 1e-9)

    profile = risk_profile(release, prior=prior, neighbours=other)
    (best,) = profile.overall
    text = printed("risk", "release", *shared, "--prior", prior, "--csv", str(risks))
    right, advantage, mean = text.split("everything published")[1].split()[:3]
    with risks.open() as lines:
        table = list(csv.DictReader(lines))
    assert float(table[-1]["accuracy"]) == best.accuracy
    explained = printed("risk", "explain", *shared, "--prior", prior)
    assert f"| everything published | {as_percent(right)} | {advantage} | {mean} |" in explained

    options = ("--delta", delta, "--prior", prior, "--no-certify", "--no-savings", "--out", str(html))
    told = json.loads(printed("report", *shared, *options, "--json"))
    assert (told["epsilon"], told["accuracy"]) == (found, best.accuracy)
    page = words(html.read_text())
    assert all(shown in page for shown in (epsilon, row[2], f"{as_percent(right)} %"))
    for sentence in (right_sentence(profile), belief_sentence(profile)):
        assert sentence.replace('"', "&#34;") in page
        assert sentence in explained

    tab = visit(f"/budget?s={to_link(state)}")
    settled(tab)
    assert value(tab, "Epsilon").split()[-1] == epsilon
    assert value(tab, "zCDP").split()[-1] == row[2]
    tab.get_by_role("button", name="Risk", exact=True).click()
    tab.wait_for_selector("[data-complete-risk=true]")
    assert value(tab, "Right decisions, all") == f"{as_percent(right)}\u00a0%"
    assert value(tab, "Advantage") == advantage
    assert value(tab, "Mean belief if there, all") == mean
    read = tab.inner_text("body").replace("\u00a0", " ")
    assert right_sentence(profile) in read
    assert belief_sentence(profile) in read


@pytest.mark.parametrize("people", [2, 5])
@pytest.mark.parametrize("name", ["mixed and merged", "one merged path", "households", "modelled in part"])
def test_every_surface_shows_the_same_for_several_people(
    printed: Callable[..., str], tmp_path: Path, name: str, people: int
) -> None:
    file, html = tmp_path / "odd.toml", tmp_path / "r.html"
    file.write_text(ODD[name])
    release = Release.from_toml(ODD[name])
    (point,) = account(release, people=people).at_delta("1e-10")
    (best,) = risk_profile(release, prior="1/2", people=people).overall
    shared = (str(file), "--people", str(people), "--quiet")
    text = printed("account", *shared, "--delta", "1e-10")
    assert str(NumberKind.of(point.kind).quantity(point.epsilon)) in text.split("\n1e-10")[1].split("\n")[0]
    text = printed("risk", "release", *shared, "--prior", "1/2")
    right = text.split("everything published")[1].split()[0]
    told = json.loads(
        printed("report", *shared, "--no-certify", "--no-savings", "--out", str(html), "--json")
    )
    assert (told["epsilon"], told["accuracy"]) == (point.epsilon, best.accuracy)
    page = words(html.read_text())
    assert str(NumberKind.of(point.kind).quantity(point.epsilon)) in page
    assert f"{as_percent(right)} %" in page
    assert f"these {people} {release.unit}s are" in page


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("one level", "mixed") else pytest.mark.slow)
        for name in (*ODD, *preset_names())
    ],
)
def test_every_surface_shows_the_same_saving(printed: Callable[..., str], tmp_path: Path, name: str) -> None:
    """What calibration would save; the page's tile is compared above."""
    file = tmp_path / "odd.toml"
    file.write_text(ODD.get(name, ""))
    target = str(file) if name in ODD else name
    release = Release.from_toml(ODD[name]) if name in ODD else load(name)
    page = words(render(gather(release, certify=False)))
    try:
        found = calibrate(release, zcdp=True, delta="1e-10")
    except InputError:
        assert run(["calibrate", target, "--zcdp", "--delta", "1e-10"]) == 2
        assert "No saving is stated here" in page
        return
    told = json.loads(printed("calibrate", target, "--zcdp", "--delta", "1e-10", "--json"))
    assert told["reduction"] == found.reduction
    assert told["factor"] == float(found.factor or 0)
    text = " ".join(printed("calibrate", target, "--zcdp", "--delta", "1e-10", "--quiet").split())
    assert (
        f": {saved_text(found)} for epsilon {bound(found.epsilon or Fraction(0), digits=8)} at delta 1e-10."
        in text
    )
    assert f", {saved_text(found)}." in page
    assert f"Variance that could be saved {percent(found.reduction or 0)}" in page
    what = re.search(r"All ([a-zA-Z ]+) times", text)
    assert what is not None
    assert f"less noise: all {what[1]} times" in page


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "dhc-2022-08-25" else pytest.mark.slow)
        for name in preset_names()
    ],
)
def test_every_surface_shows_the_same_margins(
    visit: Callable[..., Any], printed: Callable[..., str], name: str
) -> None:
    """Of the best estimates where attributes are stated, with the noise beside them; else of the noise."""
    release = load(name)
    page = words(render(gather(release, certify=False, savings=False)))
    tab = visit("/accuracy", preset=name)
    try:
        estimated = release.attributes is not None and bool(accuracy(release).levels)
    except InputError:  # the tree of Puerto Rico is not known without its units
        estimated = False
    wait_for_text(tab, "Best estimates use all" if estimated else "No estimates yet")
    shown = tab.locator("table", has_text="where no levels are merged").inner_text().replace("\u00a0", " ")
    lines: dict[str, str] = {}
    named, names = "", {level_name(level.name) for level in release.levels}
    for line in shown.splitlines():  # a level is named once, beside the first of its rows
        first = line.split("\t")[0].strip()
        named = first if first in names else named
        lines[named] = f"{lines.get(named, '')} {line}"
    for row in release.variance_table():
        margin = f"± {GaussianNoise(row.variance).margin():,}"
        assert margin in lines[level_name(row.level)]
        assert margin in page
    if estimated:
        asked = {(level.name, query.name) for level in release.levels for query in level.queries}
        told = json.loads(printed("accuracy", name, "--json"))
        for level in told["levels"]:
            for query in level["queries"]:
                if (level["name"], query["name"]) not in asked:  # such as the total of all cells
                    continue
                margin = query["margin95"]
                on_page = "not determined" if margin is None else f"± {margin_text(margin)}"
                in_report = "not determined" if margin is None else f"± {number(margin, 3)}"
                assert on_page in lines[level_name(level["name"])]
                assert in_report in page
