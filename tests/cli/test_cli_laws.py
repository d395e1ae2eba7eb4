"""Every law of noise through the commands: each works, or is refused in one sentence with status 2."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from discreet.cli.schema import schema_of
from discreet.noise import TableNoise
from discreet.render.json_schema import problems

TABLES = {
    "even.csv": "outcome,absent\n-1,1/4\n0,1/2\n1,1/4\n",
    "wide.csv": "outcome,absent\n-2,1/16\n-1,1/4\n0,3/8\n1,1/4\n2,1/16\n",
    "uneven.csv": "outcome,absent\n-1,1/8\n0,1/2\n1,3/8\n",
    "answer.csv": "outcome,absent,present\n0,3/4,1/4\n1,1/4,3/4\n",
}
LAWS = {
    "power": 'scale = 3, exponent = "17/10"',
    "even": 'noise = "even.csv"',
    "uneven": 'noise = "uneven.csv"',
    "answer": 'noise = "answer.csv"',
    "continuous": 'noise = "continuous", variance = 5',
}
FINITE = ("power", "answer", "continuous")
"""Laws whose losses are finite: they have a rho."""

RELEASE = """name = "{name}"
neighbours = "unbounded"
[attributes]
sex = ["f", "m"]
[[levels]]
name = "State"
[levels.queries]
"total" = {{ {law} }}
[[levels]]
name = "County"
[levels.queries]
"sex" = {{ {law} }}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in TABLES.items():
        Path(name).write_text(text, encoding="utf-8")
    for name, law in LAWS.items():
        Path(f"{name}.toml").write_text(RELEASE.format(name=name, law=law), encoding="utf-8")
    Path("gauss.toml").write_text(RELEASE.format(name="gauss", law="variance = 5"), encoding="utf-8")
    Path("units.csv").write_text("unit,level,parent\nS,State,\nA,County,S\nB,County,S\n", encoding="utf-8")
    rows = [
        f"{unit},{sex}" for unit, many in (("A", 30), ("B", 50)) for sex in "fm" for _ in range(many // 2)
    ]
    Path("records.csv").write_text("\n".join(["unit,sex", *rows]) + "\n", encoding="utf-8")
    return tmp_path


def is_one_sentence(text: str) -> bool:
    return text.count("\n") <= 1 and "Traceback" not in text


def keeps_schema(command: str, found: object) -> bool:
    return not list(problems(found, schema_of(command)))


SHOWN = {
    "power": "power of exponent 17/10, scale 3",
    "even": "table, variance 0.5",
    "uneven": "table, variance 0.4375",
    "answer": "an answer by two tables, 2 outcomes",
    "continuous": "continuous Gaussian, variance 5",
}


@pytest.mark.parametrize("name", LAWS)
def test_show_and_account_agree_with_their_json(discreet, name: str) -> None:
    assert SHOWN[name] in discreet("show", f"{name}.toml").out
    assert keeps_schema("show", discreet("show", f"{name}.toml", "--json").json)
    found = discreet("account", f"{name}.toml", "--delta", "1/5", "--epsilon", 1, "--json").json
    assert keeps_schema("account", found)
    text = discreet("account", f"{name}.toml", "--delta", "1/5", "--epsilon", 1).out
    assert (found["rho"] is None) == (name not in FINITE) == ("zCDP rho none" in text)
    assert (found["results"][0]["epsilon"] is None) == ("At delta 0.2 no epsilon holds" in text)
    assert f"{found['results'][1]['delta']:.6f}"[:6] in text


@pytest.mark.parametrize("name", ["power", "uneven"])
def test_pictures_curves_and_comparisons(discreet, name: str) -> None:
    outputs = ("--plot", "p.svg", "--curve", "c.csv", "--quiet")
    discreet("account", f"{name}.toml", "--delta", "3/4", *outputs)
    head = Path("c.csv").read_text(encoding="utf-8").splitlines()[0]
    assert head == ("epsilon,delta,zcdp_delta" if name in FINITE else "epsilon,delta")
    both = discreet("compare", f"{name}.toml", "gauss.toml", "--delta", "1/4", "--json").json
    assert keeps_schema("compare", both)
    assert (both["a"]["accounted_rho"] is None) == (name not in FINITE)
    said = discreet("compare", f"{name}.toml", "gauss.toml", "--delta", "1/4").out.replace("\n", " ")
    if name == "uneven":
        assert "At delta 0.25 no epsilon holds for A" in said
        assert both["results"][0]["a"]["epsilon"] is None


QUICK = [pytest.param(name, marks=[pytest.mark.slow] if name in ("power", "answer") else []) for name in LAWS]


@pytest.mark.parametrize("name", QUICK)
def test_risk_of_a_release(discreet, name: str) -> None:
    asked = ("risk", "release", f"{name}.toml", "--prior", "1/2", "--prior", "1/10")
    found = discreet(*asked, "--json").json
    assert keeps_schema("risk release", found)
    overall = [row for row in found["rows"] if row["scope"] == "overall"]
    assert len(overall) == 2
    for row in overall:
        assert row["baseline"] <= row["accuracy"] <= 1
        assert row["prior"] <= row["expected_posterior"] <= 1
    right = math.ceil(1e4 * overall[0]["accuracy"] - 1e-6) / 100
    assert f"right at most {right:.2f} times in 100" in " ".join(discreet(*asked).out.split())


REFUSED = {
    ("even", "calibrate", "--epsilon", "2", "--delta", "1e-3"): "calibration needs noise with a variance",
    ("answer", "calibrate", "--epsilon", "2", "--delta", "1e-3"): "calibration needs noise with a variance",
    ("uneven", "accuracy", "--tree", "units.csv"): "estimation needs integer noise that is symmetric",
    ("continuous", "accuracy", "--tree", "units.csv"): "is not drawn, because floats have gaps",
    ("answer", "accuracy", "--tree", "units.csv"): "no noise that could be added",
    ("power", "account", "--delta", "1e-6", "--export", "out"): "a certificate needs",
    ("even", "account", "--delta", "1e-6", "--export", "out"): "no epsilon holds at delta 1e-06",
    (
        "power",
        "calibrate",
        "--risk",
        "belief=80%,prior=1/2,chance=10%",
        "--delta",
        "1e-6",
    ): "a limit on beliefs needs",
}


@pytest.mark.parametrize("asked", REFUSED, ids=" ".join)
def test_a_refusal_is_one_sentence(refused, here: Path, asked: tuple[str, ...]) -> None:
    name, command, *options = asked
    before = sorted(here.iterdir())
    said = refused(command, f"{name}.toml", *options, "--quiet")
    assert REFUSED[asked] in said.replace("\n", " ")
    assert is_one_sentence(said)
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize("name", LAWS)
def test_measuring_and_estimating(discreet, refused, here: Path, name: str) -> None:
    discreet("ledger", "new", "ledger.json", "--total", "person:unbounded:10")
    given = ("--records", "records.csv", "--units", "units.csv", "--ledger", "ledger.json", "--quiet")
    if name != "power":
        said = refused("measure", f"{name}.toml", *given, "--out", "m")
        wanted = "a run in a ledger needs noise whose loss is finite"
        assert {"answer": "no noise that could be added", "continuous": "floats have gaps"}.get(
            name, wanted
        ) in said
        assert not (here / "m").exists()
        return
    discreet("measure", "power.toml", *given, "--out", "m")
    laws = json.loads(Path("m/manifest.json").read_text(encoding="utf-8"))["noise"]
    assert {(one["noise"], one["scale"], one["exponent"]) for one in laws} == {("power", "3", "17/10")}
    discreet("measure", "gauss.toml", *given, "--out", "g", "--spend-again")
    found = discreet("ledger", "show", "ledger.json", "--json").json
    mixed = discreet("account", "power.toml", "gauss.toml", "--delta", "1e-10", "--json").json
    assert f"{mixed['results'][0]['epsilon']:.5f}"[:6] in json.dumps(found)
    text = discreet("estimate", "m", "--out", "e", "--quiet").out
    assert "the noise explains it" in text or "Fit" in text
    assert "lower95" in Path("e/estimates.csv").read_text(encoding="utf-8")
    discreet("estimate", "m", "--tables", "--out", "t", "--quiet")
    assert keeps_schema("accuracy", discreet("accuracy", "power.toml", "--tree", "units.csv", "--json").json)


@pytest.mark.parametrize("name", QUICK)
def test_a_report_says_what_a_law_does_not_have(discreet, name: str) -> None:
    discreet("report", f"{name}.toml", "--out", "r.html", "--no-certify", "--no-savings", "--quiet")
    page = Path("r.html").read_text(encoding="utf-8")
    for section in (
        "The decision",
        "How much privacy is lost",
        "Risk in plain words",
        "Accuracy with this noise",
    ):
        assert section in page
    assert ("is for losses that are finite" in page) == (name not in FINITE)
    assert ("nothing is added" in page) == (name == "answer")
    assert ">inf<" not in page
    assert ">nan<" not in page


def test_tables_in_files_are_the_laws_that_they_say() -> None:
    from discreet import load

    assert load("uneven.toml").path_events(1) == (TableNoise({-1: "1/8", 0: "1/2", 1: "3/8"}, times=2),)
