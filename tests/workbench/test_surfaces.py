"""One question, one answer: Python, JSON, text, report and page show the same number to the last digit.

The headline numbers: epsilon at delta 1e-10 with its kind, what zCDP says, and how often the best guess of an
even prior is right. Releases are presets and odd ones: a single path of merged levels, Laplace noise, one
level, households, three-decimal variances, tiny noise, groups. The presets that take long are slow tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import settled, upload, value, wait_for_text

from discreet.accounting.overall import account
from discreet.budget import Release, load, preset_names
from discreet.cli.commands import run
from discreet.numbers import fraction
from discreet.report.html import gather, render
from discreet.risk import risk_profile

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
}
QUICK = ("dhc-2022-08-25", "sdhc-2020", "ddhca-2020", "pl94-2020-units")
CASES = [pytest.param(name, id=name) for name in (*ODD, *QUICK)] + [
    pytest.param(name, id=name, marks=pytest.mark.slow) for name in preset_names() if name not in QUICK
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


def words(html: str) -> str:
    """What a reader of the page sees."""
    html = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


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
    (point,) = account(release).at_delta("1e-10")
    (best,) = risk_profile(release, prior="1/2").overall
    epsilon = point.kind.number(point.epsilon)

    # JSON
    told = json.loads(printed("account", target, "--delta", "1e-10", "--json"))
    assert told["results"][0]["epsilon"] == point.epsilon
    assert told["answer"]["kind"] == point.kind.value
    risks = json.loads(printed("risk", "release", target, "--prior", "1/2", "--json"))
    assert risks["rows"][-1]["accuracy"] == best.accuracy

    # text
    text = printed("account", target, "--delta", "1e-10", "--quiet")
    row = next(line for line in text.splitlines() if line.startswith("1e-10")).split()
    zcdp = row[2]
    assert row[1] == epsilon
    assert f"{told['results'][0]['zcdp_epsilon']:#.6g}" == zcdp

    # report
    facts = gather(release, delta=fraction("1e-10"), certify=False, savings=False)
    page = words(render(facts))
    assert facts.headline.epsilon == point.epsilon
    assert facts.guess.accuracy == best.accuracy
    assert epsilon in page
    assert zcdp in page

    # page
    tab = visit("/budget", preset="dhc-2022-08-25" if name in ODD else name)
    if name in ODD:
        upload(tab, "odd.toml", ODD[name].encode())
        wait_for_text(tab, "odd.toml")
    settled(tab)
    assert value(tab, "Epsilon").split()[-1] == epsilon
    assert value(tab, "zCDP").split()[-1] == zcdp
