"""Sampling error beside noise: intervals of population rates cover, and variances are right."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas
import pytest
from numpy.typing import NDArray

from discreet import DiscreteGaussian, InputError, sample
from discreet.budget import Release
from discreet.estimation import estimate
from discreet.testing import NotPrivateSeededEntropy

Floats = NDArray[np.float64]

RELEASE = """
name = "labour force"
unit = "person"
neighbours = "bounded"
[attributes]
status = ["employed", "unemployed", "other"]
[[levels]]
name = "Nation"
[levels.queries]
"status" = { variance = "NOISE" }
[[levels]]
name = "Area"
[levels.queries]
"total" = { variance = "NOISE" }
"status" = { variance = "NOISE" }
"""
CELLS = ("employed", "unemployed", "other")
JOBLESS, FORCE = "jobless = status[unemployed]", "force = status[employed | unemployed]"


class Survey:
    """A population in strata, which are the areas; a tenth of each is drawn, so that each counts for ten."""

    def __init__(self, seed: int, *, areas: int = 10, size: int = 3000, noise: int = 400) -> None:
        self.draw, self.source = np.random.default_rng(seed), NotPrivateSeededEntropy(seed)
        self.names = [f"area {number}" for number in range(areas)]
        self.size, self.noise = size, noise
        shares = np.column_stack([self.draw.uniform(0.45, 0.6, areas), self.draw.uniform(0.03, 0.1, areas)])
        counts = np.rint(size * shares).astype(int)
        self.population = np.column_stack([counts, size - counts.sum(axis=1)])
        self.release: Release = Release.from_toml(RELEASE.replace("NOISE", str(noise)))

    @property
    def rates(self) -> Floats:
        return np.asarray(self.population[:, 1] / self.population[:, :2].sum(axis=1))

    def sample(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw people without replacement: their counts by area, status and, at random, one of 40 groups."""
        drawn = self.draw.multivariate_hypergeometric
        counts = np.stack([drawn(people, self.size // 10) for people in self.population])
        groups = np.zeros((len(self.names), 3, 40), dtype=np.int64)
        for area, row in enumerate(counts):
            people = self.draw.permutation(np.repeat(np.arange(3), row))
            np.add.at(groups[area], (people, np.arange(len(people)) % 40), 1)
        return counts, groups

    def write(self, folder: Path, counts: NDArray[np.int64], groups: NDArray[np.int64] | None) -> None:
        """Write the noisy table of weighted counts, and their sampling errors, by area."""
        folder.mkdir()
        weighted = 10 * counts
        tables = [("Nation", "Nation", "", "status", weighted.sum(axis=0))]
        for name, row in zip(self.names, weighted, strict=True):
            tables += [
                (name, "Area", "Nation", "total", row.sum(keepdims=True)),
                (name, "Area", "Nation", "status", row),
            ]
        law = DiscreteGaussian(variance=self.noise)
        with (folder / "noisy.csv").open("w", newline="") as stream:
            out = csv.writer(stream)
            out.writerow(["unit", "level", "parent", "query", "cell", "value", "variance"])
            for unit, level, parent, query, values in tables:
                noise = sample(law, len(values), source=self.source)
                cells = CELLS if query == "status" else ("all",)
                for cell, value in zip(cells, values + noise, strict=True):
                    out.writerow([unit, level, parent, query, cell, value, law.true_variance()])
        with (folder / "sampling.csv").open("w", newline="") as stream:
            out = csv.writer(stream)
            if groups is not None:  # the jackknife leaves one group out, and the others count for more
                out.writerow(["unit", "query", "cell", *(f"rep_{number}" for number in range(1, 41))])
                left = weighted[..., None] * 40 / 39 - 10 * groups * 40 / 39
                for name, rows in zip(self.names, left, strict=True):
                    for cell, values in zip(CELLS, rows, strict=True):
                        out.writerow([name, "status", cell, *values.tolist()])
                return
            out.writerow(["unit", "query", "cell", "sampling_variance"])
            many = self.size // 10
            for name, row in zip(self.names, counts, strict=True):
                sums = [("jobless", "unemployed", row[1]), ("force", "employed | unemployed", row[:2].sum())]
                for query, cell, count in sums:
                    share = count / many
                    variance = self.size**2 * share * (1 - share) / (many - 1) * 0.9
                    out.writerow([name, query, cell, variance])


def covered(
    survey: Survey, samples: int, folder: Path, *, replicates: bool, only_noise: bool = False
) -> float:
    """Return how often 95 % intervals of the population's rate of unemployment cover it, over all areas."""
    inside = []
    for number in range(samples):
        here = folder / f"{number} {replicates} {only_noise}"
        counts, groups = survey.sample()
        survey.write(here, counts, groups if replicates else None)
        more: dict[str, object] = {}
        if not only_noise:
            # the jackknife's factor, and one less the fraction that is drawn
            factor = Fraction(39, 40) * Fraction(9, 10) if replicates else None
            more = {"sampling": here / "sampling.csv", "replicate_factor": factor}
        estimate(
            here / "noisy.csv",
            here / "out",
            release=survey.release,
            queries=[JOBLESS, FORCE],
            ratios=[("jobless", "force")],
            levels=["0.95"],
            **more,  # type: ignore[arg-type]
        )
        with (here / "out" / "contrasts.csv").open() as stream:
            found = {row["unit"]: row for row in csv.DictReader(stream)}
        for name, rate in zip(survey.names, survey.rates, strict=True):
            inside.append(float(found[name]["lower95"]) <= rate <= float(found[name]["upper95"]))
    return float(np.mean(inside))


@pytest.mark.slow
@pytest.mark.parametrize("replicates", [True, False])
@pytest.mark.parametrize(("noise", "size"), [(400, 6000), (400, 10_000), (40_000, 10_000)])
def test_population_rates_are_covered_in_300_samples(
    tmp_path: Path, noise: int, size: int, replicates: bool
) -> None:
    """300 samples of ten strata: the standard error of 3,000 rates is 0.4 %.

    The sampling error alone is taken as normal: with strata of 3,000, of whom some 9 to 30 unemployed people
    are drawn, variances gave 93.9 %.
    """
    got = covered(Survey(11, noise=noise, size=size), 300, tmp_path, replicates=replicates)
    print(noise, size, replicates, 100 * got)
    assert 0.94 <= got <= 0.96


def test_population_rates_are_covered_and_noise_alone_does_not(tmp_path: Path) -> None:
    """200 rates, standard error 1.5 %: 90 to 99.5 % fails less than once in a hundred times."""
    survey = Survey(12, areas=40)
    assert 0.9 <= covered(survey, 5, tmp_path, replicates=True) <= 0.995
    assert covered(survey, 2, tmp_path, replicates=True, only_noise=True) < 0.8


def rows_of(file: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    with file.open() as stream:
        return {(row["unit"], row["query"], row["cell"]): row for row in csv.DictReader(stream)}


def test_replicates_tell_variances_of_other_queries_areas_and_ratios(tmp_path: Path) -> None:
    """Against sums of the replicates, written out."""
    survey = Survey(13, areas=4)
    counts, groups = survey.sample()
    survey.write(tmp_path / "in", counts, groups)
    (tmp_path / "areas.csv").write_text("area,unit\nboth,area 0\nboth,area 2\n")
    estimate(
        tmp_path / "in" / "noisy.csv",
        tmp_path / "out",
        release=survey.release,
        queries=[JOBLESS, FORCE, "status"],
        areas=tmp_path / "areas.csv",
        differences=[("area 0", "Nation"), ("jobless", "force")],
        sampling=tmp_path / "in" / "sampling.csv",
        replicate_factor=Fraction(39, 40),
    )
    with (tmp_path / "in" / "sampling.csv").open() as stream:
        table = list(csv.reader(stream))[1:]
    every = np.array([[float(value) for value in row[3:]] for row in table]).reshape(4, 3, 40)

    def variance(values: Floats) -> float:
        return float(39 / 40 * np.sum((values - values.mean()) ** 2))

    found = rows_of(tmp_path / "out" / "estimates.csv")
    both = rows_of(tmp_path / "out" / "areas.csv")
    wanted = [
        (found, ("area 1", "jobless", "unemployed"), every[1, 1]),
        (found, ("area 1", "force", "employed | unemployed"), every[1, :2].sum(axis=0)),
        (found, ("Nation", "status", "other"), every[:, 2].sum(axis=0)),
        (both, ("both", "force", "employed | unemployed"), every[[0, 2], :2].sum(axis=(0, 1))),
    ]
    for rows, key, values in wanted:
        row = rows[key]
        assert float(row["sampling_sd"]) ** 2 == pytest.approx(variance(values), rel=1e-9)
        total = float(row["sampling_sd"]) ** 2 + float(row["noise_sd"]) ** 2
        assert float(row["sd"]) ** 2 == pytest.approx(total, rel=1e-11)
    only = tmp_path / "noise"
    estimate(
        tmp_path / "in" / "noisy.csv",
        only,
        release=survey.release,
        queries=[JOBLESS, FORCE, "status"],
        differences=[("area 0", "Nation"), ("jobless", "force")],
    )
    contrasts, noise = rows_of(tmp_path / "out" / "contrasts.csv"), rows_of(only / "contrasts.csv")
    key = ("area 0 - Nation", "force", "employed | unemployed")
    values = every[0, :2].sum(axis=0) - every[:, :2].sum(axis=(0, 1))
    exact = float(noise[key]["sd"]) ** 2 + variance(values)
    assert float(contrasts[key]["sd"]) ** 2 == pytest.approx(exact, rel=1e-9)
    key = ("area 3", "jobless - force", "unemployed")
    exact = float(noise[key]["sd"]) ** 2 + variance(every[3, 0])
    assert float(contrasts[key]["sd"]) ** 2 == pytest.approx(exact, rel=1e-9)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["intervals"] == "noise and sampling"
    assert manifest["sampling"]["factor"] == "39/40"
    assert json.loads((only / "manifest.json").read_text())["intervals"] == "noise only"
    assert "noise only" in json.loads((only / "manifest.json").read_text())["columns"]["lower95"]


def test_noise_of_replicates_is_taken_off(tmp_path: Path) -> None:
    survey = Survey(14, areas=3)
    counts, groups = survey.sample()
    survey.write(tmp_path / "in", counts, groups)
    file = tmp_path / "in" / "sampling.csv"
    with file.open() as stream:
        head, *table = list(csv.reader(stream))
    exact = np.array([[float(value) for value in row[3:]] for row in table])
    noisy = exact + sample(DiscreteGaussian(variance=500), exact.shape, source=NotPrivateSeededEntropy(3))
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [head, *([*row[:3], *new] for row, new in zip(table, noisy.tolist(), strict=True))]
        )

    def deviation(out: str, **more: object) -> float:
        estimate(
            tmp_path / "in" / "noisy.csv",
            tmp_path / out,
            release=survey.release,
            queries=["status"],
            sampling=file,
            replicate_factor="39/40",
            **more,  # type: ignore[arg-type]
        )
        return float(rows_of(tmp_path / out / "estimates.csv")["area 1", "status", "employed"]["sampling_sd"])

    seen, less = deviation("with"), deviation("less", replicate_noise=500)
    assert seen**2 - less**2 == pytest.approx(39 / 40 * 39 * 500, rel=1e-9)
    assert deviation("none", replicate_noise=10**7) == 0.0


def test_variances_of_areas_add_up_and_stand_in_a_column(tmp_path: Path) -> None:
    survey = Survey(15, areas=3)
    survey.write(tmp_path / "in", survey.sample()[0], None)
    rows = (tmp_path / "in" / "noisy.csv").read_text().splitlines()
    sizes = [""] * len(rows)
    for place, row in enumerate(rows[1:], start=1):
        sizes[place] = "9" if "Nation," not in row[:8] else "1000"
    text = [f"{row},{size}" for row, size in zip(rows, ["standard_error", *sizes[1:]], strict=True)]
    (tmp_path / "column.csv").write_text("\n".join(text) + "\n")
    (tmp_path / "areas.csv").write_text("area,unit\nboth,area 0\nboth,area 2\n")
    estimate(
        tmp_path / "column.csv",
        tmp_path / "out",
        release=survey.release,
        queries=["status", "total"],
        areas=tmp_path / "areas.csv",
        differences=[("both", "area 0")],
    )
    found = rows_of(tmp_path / "out" / "estimates.csv")
    assert float(found["area 1", "status", "other"]["sampling_sd"]) == 9.0
    assert float(found["Nation", "status", "other"]["sampling_sd"]) == 1000.0
    assert float(found["Nation", "total", "all"]["sampling_sd"]) == pytest.approx(9 * 3**0.5)
    both = rows_of(tmp_path / "out" / "areas.csv")["both", "total", "all"]
    assert float(both["sampling_sd"]) == pytest.approx(9 * 2**0.5)
    left = rows_of(tmp_path / "out" / "contrasts.csv")["both - area 0", "total", "all"]
    assert float(left["sd"]) ** 2 == pytest.approx(
        81 + float(found["area 2", "total", "all"]["noise_sd"]) ** 2
    )


def test_what_is_missing_or_contradicts_is_refused(tmp_path: Path) -> None:
    survey = Survey(16, areas=3)
    counts, groups = survey.sample()
    survey.write(tmp_path / "in", counts, groups)

    def refused(message: str, text: str | None = None, **more: object) -> None:
        file = tmp_path / "in" / "sampling.csv"
        if text is not None:
            file = tmp_path / "given.csv"
            file.write_text(text)
        with pytest.raises(InputError, match=message):
            estimate(
                tmp_path / "in" / "noisy.csv",
                tmp_path / "bad",
                release=survey.release,
                sampling=file,
                **more,  # type: ignore[arg-type]
            )
        assert not (tmp_path / "bad").exists()

    head, rest = "unit,query,cell", "area 0,total,all"
    refused("--replicate-factor")
    refused("factor is 0; it must be above zero", replicate_factor="0")
    refused("has no columns of sampling errors", f"{head}\n{rest}\n")
    refused("has both columns", f"{head},sampling_sd,rep_1,rep_2\n{rest},1,2,3\n")
    refused("1 replicate estimate", f"{head},rep_1\n{rest},1\n", replicate_factor="1")
    refused("is below zero", f"{head},sampling_variance\n{rest},-1\n")
    refused("no such query|cannot be answered", f"{head},sampling_variance\narea 0,sex,all,1\n")
    refused("not among the areas", f"{head},sampling_variance\nelsewhere,total,all,1\n")
    refused("cells are missing", f"{head},sampling_variance\narea 0,status,other,1\n")
    refused("no sampling error for query 'total' in 3 areas", f"{head},sampling_variance\n{rest},1\n")
    refused("no replicate estimates", f"{head},sampling_sd\n{rest},1\n", replicate_factor="1/2")
    every = "".join(f"area {area},{query},1\n" for area in range(3) for query in ("total,all", "force,x"))
    every = every.replace(",x,", ",employed | unemployed,").replace("total,all", "jobless,unemployed")
    refused(
        "the difference of two tables needs the covariance",
        f"{head},sampling_variance\n{every}",
        queries=[JOBLESS, FORCE],
        differences=[("jobless", "force")],
    )


def test_sampling_errors_of_tables_in_memory() -> None:
    """A table in memory is read as a file is: its own column of sampling errors, or another table of them."""
    frame = pandas.DataFrame(
        {
            "unit": ["a", "b"],
            "query": "total",
            "cell": "all",
            "value": [50, 60],
            "variance": [9, 16],
            "sampling_sd": [4.0, 3.0],
        }
    )
    own = estimate(frame)
    assert own.sampled
    assert own.to_arrow()["sd"].to_pylist() == pytest.approx([5.0, 5.0], rel=1e-3)
    plain = frame.drop(columns="sampling_sd")
    other = estimate(plain, sampling=frame.drop(columns=["value", "variance"]))
    assert other.to_arrow().equals(own.to_arrow())
    assert not estimate(plain).sampled
    # one query needs no columns for it, as in any noisy table
    short = estimate(frame.drop(columns=["query", "cell"]))
    assert short.to_arrow()["sd"].to_pylist() == own.to_arrow()["sd"].to_pylist()
    with pytest.raises(InputError, match=r"sampling_sd.*--sampling"):
        estimate(frame.rename(columns={"value": "count"}), columns={"value": "count"})
