"""Laws of noise in releases: Python, TOML, files of probabilities, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from discreet import InputError, Level, Query, Release, load
from discreet.noise import (
    ContinuousGaussian,
    ContinuousLaplace,
    DiscreteGaussian,
    Noise,
    PowerNoise,
    TableNoise,
)

LAWS: list[Noise] = [
    PowerNoise("17/10", 5),
    TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"}),
    TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"}),
    ContinuousGaussian(variance="9/2"),
    ContinuousLaplace(scale=3),
]

TEXT = """name = "small"
neighbours = "unbounded"
[[levels]]
name = "State"
[levels.queries]
"total" = {{ {noise} }}
"""


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_release_with_a_law_is_written_and_read_again(law: Noise) -> None:
    queries = [Query(name="total", noise=law, groups=3), Query(name="sex", variance=5)]
    release = Release(name="small", neighbours="bounded", levels=[Level(name="State", queries=queries)])
    again = Release.from_toml(release.to_toml())
    assert again == release
    assert again.levels[0].events("bounded")[0] == law.repeated(3)
    assert again.levels[0].lacks_rho


def test_a_table_is_read_from_a_file_beside_the_release(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("outcome,absent,present\n0,3/4,1/4\n1,0.25,3/4\n", encoding="utf-8")
    (tmp_path / "release.toml").write_text(TEXT.format(noise='noise = "table.csv"'), encoding="utf-8")
    (event,) = load(tmp_path).path_events(1)
    assert event == TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"})


@pytest.mark.parametrize(
    ("noise", "law"),
    [
        ('scale = "5", exponent = "17/10"', PowerNoise("17/10", 5)),
        ('noise = "continuous", variance = 9', ContinuousGaussian(variance=9)),
        ('noise = "continuous", scale = "1/2", groups = 2', ContinuousLaplace(scale="1/2", times=2)),
        ('scale = 5, exponent = "3/2", sensitivity = 4', PowerNoise("3/2", 5, sensitivity=4)),
        ('noise = { absent = { "-1" = "1/2", "1" = "1/2" } }', TableNoise({-1: "1/2", 1: "1/2"})),
    ],
)
def test_laws_in_toml(noise: str, law: Noise) -> None:
    assert Release.from_toml(TEXT.format(noise=noise)).path_events(1) == (law,)


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        ('exponent = "3/2"', "it must state the scale of the power noise"),
        ('scale = 5, exponent = "5/2"', "exponent is 5/2; it must lie between 1"),
        ('noise = "triangle"', "it must be a file of probabilities"),
        ('noise = "missing.csv"', "there is no file missing.csv"),
        ('noise = "continuous"', "state the `variance` of Gaussian or the `scale`"),
        ('noise = "continuous", variance = 1, scale = 2', "state the `variance` of Gaussian or the `scale`"),
        ('noise = { present = { "0" = 1 } }', "has no absent"),
        ('noise = { absent = { "a" = 1 } }', "outcome 'a' of noise must be a whole number"),
        ('noise = { absent = { "0" = "1/2" } }', "add up to 1/2, not to 1"),
        ('noise = { absent = { "0" = 1 } }, variance = 5', "states variance and noise"),
    ],
)
def test_bad_noise_in_toml_names_the_line(noise: str, said: str) -> None:
    with pytest.raises(InputError, match=r"line 6 of small.toml") as caught:
        Release.from_toml(TEXT.format(noise=noise), where="small.toml")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("value,chance\n0,1\n", "its columns must be outcome, absent and maybe present"),
        ("", "starts with nothing"),
        ("outcome,absent\n0,1/2\nx,1/2\n", "line 3 must have a whole number"),
        ("outcome,absent\n0,1/2\n0,1/2\n", "line 3 has the outcome 0 again"),
        ("outcome,absent\n0,half\n", "the chance in line 2 is 'half'"),
        ("outcome,absent\n0,1/2\n", "add up to 1/2, not to 1"),
    ],
)
def test_bad_files_of_probabilities_are_refused(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "table.csv").write_text(content, encoding="utf-8")
    (tmp_path / "release.toml").write_text(TEXT.format(noise='noise = "table.csv"'), encoding="utf-8")
    with pytest.raises(InputError, match=r"table.csv") as caught:
        load(tmp_path)
    assert said in str(caught.value)


def test_old_laws_given_as_noise_are_stated_as_before() -> None:
    assert Query(name="total", noise=DiscreteGaussian(variance=5)) == Query(name="total", variance=5)
    with pytest.raises(InputError, match="give it for one count"):
        Query(name="total", noise=PowerNoise("3/2", 5, times=2))


def test_scaling_a_release_scales_its_laws() -> None:
    level = Level(name="State", queries=[Query(name="a", noise=PowerNoise("3/2", 3))])
    wide = Release(name="small", neighbours="bounded", levels=[level]).scaled(4)
    assert wide.path_events(1)[0] == PowerNoise("3/2", 6)
    level = Level(name="State", queries=[Query(name="a", noise=ContinuousGaussian(variance=3))])
    wide = Release(name="small", neighbours="bounded", levels=[level]).scaled(4)
    assert wide.path_events(1)[0].size == Fraction(12)
