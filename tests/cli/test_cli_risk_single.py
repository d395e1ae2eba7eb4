from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import run
from discreet.disclosure import joint_accuracy, posterior, ratio

ONE = ("risk", "single", "--noisy", "1", "--rho", "0.099", "--prior", "1/2")


def test_words(discreet: Callable[..., Any]) -> None:
    result = discreet(*ONE)
    assert result.status == 0
    text = " ".join(result.out.split())
    assert (
        "Adversary: someone who knows everyone else in the area, 0 of them with the characteristics." in text
    )
    assert "variance 5.05051 = 1/(2 rho), as in the paper" in text
    assert "1/rho = 10.101" in text
    assert "1 1/2 0.5247 1.049 present" in text
    assert "this adversary is right 58.9 times in 100 if the target is present" in text
    assert "without the release, 50.0 times in 100" in text
    assert result.err == ""


def test_json_and_files(discreet: Callable[..., Any], tmp_path: Path) -> None:
    table, plot = tmp_path / "rows.csv", tmp_path / "figure.png"
    result = discreet(
        "risk", "single", "--noisy", "14", "--noisy", "-3", "--known", "12", "--variance", "10",
        "--prior", "1/2", "--prior", "1/864", "--json", "--csv", table, "--plot", plot,
    )  # fmt: skip
    found = result.json
    assert found["variance"] == 10
    assert found["known"] == 12
    assert [(row["noisy"], row["prior"]) for row in found["results"]] == [
        (14, "1/2"),
        (-3, "1/2"),
        (14, "1/864"),
        (-3, "1/864"),
    ]
    for row in found["results"]:
        assert row["posterior"] == posterior(row["noisy"], variance=10, prior=row["prior"], known=12)
    assert round(found["averages"][0]["accuracy_given_present"], 4) == 0.5631
    with table.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["ratio"]) for row in rows] == [row["ratio"] for row in found["results"]]
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_unsure_others_and_a_floor(discreet: Callable[..., Any]) -> None:
    # one unsure person of chance 1/2: the mixture by hand, over exp(-y^2/(2v)) which cancels
    found = discreet(
        "risk", "single", "--noisy", "2", "--variance", "5", "--prior", "1/2",
        "--unsure", "1", "--chance", "1/2", "--json",
    ).json  # fmt: skip
    weight = [math.exp(-((2 - x) ** 2) / 10) for x in (0, 1, 2)]
    exact = (weight[1] + weight[2]) / (weight[0] + 2 * weight[1] + weight[2])
    assert found["results"][0]["posterior"] == pytest.approx(exact, rel=1e-13)
    assert found["unsure"] == 1
    found = discreet(
        "risk", "single", "--noisy", "0", "--variance", "5", "--prior", "1/2", "--nonnegative", "--json"
    ).json
    assert found["results"][0]["posterior"] == posterior(
        0, variance=5, prior="1/2", known=0, nonnegative=True
    )


def test_costs(discreet: Callable[..., Any]) -> None:
    found = discreet(*ONE[:3], "-1", *ONE[4:], "--loss", "0", "1", "9", "0", "--json").json
    assert found["results"][0]["decides_present"] is True  # to miss somebody is dear
    assert found["averages"][0]["accuracy_given_present"] > 0.99


def test_together(discreet: Callable[..., Any], tmp_path: Path) -> None:
    words = ("risk", "single", "--together", "--noisy", "2", "--noisy", "41", "--known", "0", "--known", "40",
             "--variance", "10", "--variance", "4", "--prior", "1/2")  # fmt: skip
    found = discreet(*words, "--json", "--csv", tmp_path / "steps.csv").json["results"][0]
    steps = [ratio(2, variance=10, prior="1/2", known=0), found["steps"][1]["ratio"]]
    assert steps[0] * steps[1] == pytest.approx(found["ratio"], rel=1e-13)
    assert found["accuracy"]["present"] == joint_accuracy(variance=[10, 4], prior="1/2")
    assert (tmp_path / "steps.csv").read_text().count("\n") == 3
    text = " ".join(discreet(*words).out.split())
    assert "someone who knows each of the 2 counts without the target" in text
    assert "After all of them this adversary, with prior 1/2, gives “present” a probability of 0.5683" in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("--prior", "1"), "prior is 1; it must lie strictly between 0 and 1"),
        (("--prior", "0"), "prior is 0; it must"),
        (("--prior", "1.5"), "prior is 1.5; it must"),
        (("--known", "-2"), "known is -2; a count without the target is zero or more"),
        (("--noisy", "1.5"), "noisy is 3/2; it must be a whole number"),
        (("--rho", "0.2"), "--rho is stated 2 times"),
        (("--variance", "3"), "both are given"),
        (("--unsure", "3"), "unsure is 3; it needs chance"),
        (("--unsure", "3", "--chance", "1/2", "--chance", "1/3"), "unsure is 3, but chance is given 2 times"),
        (("--together", "--known", "1", "--known", "2"), "there are 1 noisy values but 2 of known"),
        (("--plot", "figure.gif"), "its name must end in"),
        (("--noisy", "-1", "--nonnegative"), "negative values are said to be published as zero"),
    ],
)
def test_refusals(refused: Callable[..., str], change: tuple[str, ...], says: str) -> None:
    assert says in refused(*ONE, *change)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--variance", "1e400", "the noise has variance 1e+400; between 0.0001 and 1e+10 is allowed"),
        ("--variance", "-1e400", "variance is -1e+400; it must be above zero"),
        ("--rho", "1e-400", "the noise has variance 5e+399; between"),
        ("--rho", "1e400", "the noise has variance 5e-401; between"),
    ],
)
def test_numbers_beyond_all_floats_are_refused_in_short(
    refused: Callable[..., str], option: str, value: str, says: str
) -> None:
    assert says in refused("risk", "single", "--noisy", "1", "--prior", "1/2", option, value)
    long = refused("risk", "single", "--noisy", "1e400", "--prior", "1/2", "--variance", "1")
    assert "noisy is 1e+400; at most 2^52 in size is allowed" in long


@pytest.mark.parametrize("rho", ["0", "-1"])
def test_rho_must_be_positive(refused: Callable[..., str], rho: str) -> None:
    assert f"rho is {rho}; it must be above zero" in refused(
        "risk", "single", "--noisy", "1", f"--rho={rho}", "--prior", "1/2"
    )


def test_nothing_is_written_if_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    refused("risk", "single", "--noisy", "1", "--variance", "5", "--prior", "2", "--csv", tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_without_the_release_the_same_rule_decides(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["risk", "single", "--noisy", "1", "--rho", "0.1", "--prior", "0.4"]
    assert run([*base, "--loss", "0", "1", "5", "0"]) == 0  # a miss is dear: yes, and right 40 times in 100
    assert "without the release, 40.0 times in 100" in " ".join(capsys.readouterr().out.split())
    assert run([*base, "--loss", "0", "1", "1/2", "0"]) == 0
    assert "without the release, 60.0 times in 100" in " ".join(capsys.readouterr().out.split())


def test_priors_near_certainty_are_not_rounded_away(discreet: Callable[..., Any]) -> None:
    said = discreet("risk", "release", "--rho", "block=0.0992", "--prior", "1e-6").out
    assert "Prior 1e-06: right 99.9999 times in 100 with nothing published." in said
    said = discreet("risk", "release", "--rho", "block=0.0992", "--prior", "0.9999999999").out
    assert "Prior 1 - 1e-10: right 99.99999999 times in 100 with nothing published." in said
    said = discreet(
        "risk", "hierarchy", "--area", "name=block,noisy=2,rho=0.0992", "--prior", "0.9999999"
    ).out
    assert "posterior 1 - 7.4e-08, 1 times the prior 1 - 1.0e-07 (exact)." in " ".join(said.split())


def test_wide_noise_is_drawn_in_few_points(discreet: Callable[..., Any], tmp_path: Path) -> None:
    plot = tmp_path / "wide.svg"  # 780,000 values within four standard deviations
    assert (
        discreet(
            "risk", "single", "--noisy", "1", "--variance", "1e10", "--prior", "1/2", "--plot", plot
        ).status
        == 0
    )
    assert plot.stat().st_size < 2_000_000


def test_a_tie_is_said_to_be_one(discreet):
    """One other person at even odds: a published 1 speaks for neither, and a coin decides."""
    call = ("risk", "single", "--noisy", "1", "--noisy", "2", "--variance", "5", "--prior", "1/2")
    unsure = ("--unsure", "1", "--chance", "1/2")
    lines = discreet(*call, *unsure).out.splitlines()
    assert [line.split()[-1] for line in lines if line.split()[1:2] == ["1/2"]] == ["either", "present"]
    found = discreet(*call, *unsure, "--json").json
    assert [row["decides_present"] for row in found["results"]] == [None, True]
    (means,) = found["averages"]
    right = [means[f"accuracy_given_{truth}"] for truth in ("present", "absent", "prior")]
    assert right == pytest.approx([right[2]] * 3, rel=1e-12)
