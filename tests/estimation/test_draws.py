"""Draws of all estimates: their covariances are the exact ones, over areas, levels and queries."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from test_sampling_error import FORCE, JOBLESS, Survey

from discreet import InputError
from discreet.estimation import estimate

Floats = NDArray[np.float64]
MANY = 600


def read(file: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    with file.open() as stream:
        return {(row["unit"], row["query"], row["cell"]): row for row in csv.DictReader(stream)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    survey, here = Survey(21, areas=3, noise=30), tmp_path_factory.mktemp("draws") / "survey"
    survey.write(here, *survey.sample())
    (here / "areas.csv").write_text("area,unit\nboth,area 0\nboth,area 2\n")
    estimate(
        here / "noisy.csv",
        here / "out",
        release=survey.release,
        queries=["total", "status", JOBLESS, FORCE],
        areas=here / "areas.csv",
        differences=[("area 0", "area 1"), ("area 0", "Nation"), ("both", "area 1"), ("jobless", "force")],
        draws=MANY,
        seed=3,
    )
    return here


def draws(folder: Path, *key: str) -> Floats:
    row = read(folder / "out" / "draws.csv")[key[0], key[1], key[2]]
    return np.array([float(row[f"draw_{number}"]) for number in range(1, MANY + 1)])


def test_differences_of_draws_vary_as_those_of_estimates(folder: Path) -> None:
    """The standard deviation of 600 draws is known to 2.9 %: 13 % fails less than once in 100,000 times."""
    exact = {key: float(row["sd"]) for key, row in read(folder / "out" / "contrasts.csv").items()}
    pairs = [
        (("area 0 - area 1", "status", "employed"), ("area 0", "status"), ("area 1", "status")),
        (("area 0 - Nation", "status", "other"), ("area 0", "status"), ("Nation", "status")),
        (("both - area 1", "total", "all"), ("both", "total"), ("area 1", "total")),
    ]
    for name, one, two in pairs:
        seen = draws(folder, *one, name[2]) - draws(folder, *two, name[2])
        assert seen.std() == pytest.approx(exact[name], rel=0.13), name
    jobless = draws(folder, "Nation", "jobless", "unemployed")
    force = draws(folder, "Nation", "force", "employed | unemployed")
    wanted = exact["Nation", "jobless - force", "unemployed"]
    assert (jobless - force).std() == pytest.approx(wanted, rel=0.13)
    # without their covariance they would differ by far more or less
    assert abs((jobless - np.roll(force, 1)).std() / wanted - 1) > 0.15


def test_draws_have_the_deviations_of_estimates_and_add_up(folder: Path) -> None:
    for key, row in read(folder / "out" / "estimates.csv").items():
        assert draws(folder, *key).std() == pytest.approx(float(row["sd"]), rel=0.13), key
        assert abs(draws(folder, *key).mean() - float(row["estimate"])) < 0.2 * float(row["sd"])
    sums = sum(draws(folder, f"area {number}", "total", "all") for number in range(3))
    assert np.allclose(sums, draws(folder, "Nation", "total", "all"), atol=1e-6)
    cells = sum(draws(folder, "both", "status", cell) for cell in ("employed", "unemployed", "other"))
    assert np.allclose(cells, draws(folder, "both", "total", "all"), atol=1e-6)


def test_rubins_rules_give_the_interval_again(folder: Path) -> None:
    row = read(folder / "out" / "estimates.csv")["area 0", "total", "all"]
    values = draws(folder, "area 0", "total", "all")
    half = 1.96 * np.sqrt((1 + 1 / MANY) * values.var(ddof=1))
    assert values.mean() - half == pytest.approx(float(row["lower95"]), abs=2)
    assert values.mean() + half == pytest.approx(float(row["upper95"]), abs=2)


def test_sampling_errors_of_replicates_are_drawn_too(folder: Path) -> None:
    survey = Survey(21, areas=3)
    estimate(
        folder / "noisy.csv",
        folder / "sampled",
        release=survey.release.__class__.from_toml(_release(30)),
        queries=[JOBLESS, FORCE],
        sampling=folder / "sampling.csv",
        replicate_factor="39/40",
        draws=MANY,
        seed=4,
    )
    rows = read(folder / "sampled" / "draws.csv")
    for key, row in read(folder / "sampled" / "estimates.csv").items():
        values = np.array([float(rows[key][f"draw_{number}"]) for number in range(1, MANY + 1)])
        assert values.std() == pytest.approx(float(row["sd"]), rel=0.13), key
        assert float(row["sampling_sd"]) > 3 * float(row["noise_sd"])


def _release(noise: int) -> str:
    from test_sampling_error import RELEASE

    return RELEASE.replace("NOISE", str(noise))


def test_a_seed_draws_the_same_again_and_bad_numbers_are_refused(folder: Path, tmp_path: Path) -> None:
    given = {"release": Survey(21, areas=3, noise=30).release}
    texts = []
    for number, seed in enumerate((1, 1, 2)):
        estimate(folder / "noisy.csv", tmp_path / str(number), draws=2, seed=seed, **given)  # type: ignore[arg-type]
        texts.append((tmp_path / str(number) / "draws.csv").read_text())
    assert texts[0] == texts[1] != texts[2]
    for wrong, message in (
        ({"draws": 1}, "draws is 1; at least 2"),
        ({"seed": 1}, "a seed is given"),
        ({"draws": 9, "sampling": _variances(tmp_path)}, "draws with sampling errors need replicate"),
    ):
        with pytest.raises(InputError, match=message):
            estimate(folder / "noisy.csv", tmp_path / "bad", **wrong, **given)  # type: ignore[arg-type]
    assert not (tmp_path / "bad").exists()


def _variances(folder: Path) -> Path:
    rows = "".join(f"area {number},total,all,4\n" for number in range(3))
    (folder / "variances.csv").write_text(f"unit,query,cell,sampling_variance\n{rows}")
    return folder / "variances.csv"
