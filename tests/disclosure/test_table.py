from __future__ import annotations

import csv
import math
import re
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import risk_reference as reference

from discreet.answers import describe
from discreet.answers.risk_table import table_adversary, table_risk_answer
from discreet.disclosure import expected_ratio, posterior, ratio, table_risk
from discreet.disclosure import table as table_module
from discreet.disclosure.inputs import read_prior
from discreet.disclosure.rows import Averages, Histogram, suggested_law
from discreet.disclosure.table import MOST_VALUES as MOST
from discreet.disclosure.table import Tally
from discreet.errors import InputError, PrecisionError
from discreet.noise import GaussianNoise, sample
from discreet.testing import NotPrivateSeededEntropy

mpmath.mp.dps = 40


def averaged(noisy: int, variance: Fraction, prior: Fraction, floor: bool = False) -> tuple[float, float]:
    """Mean ratio, and chance that the odds more than double, over all k >= 0, by the definition."""
    noise = reference.pmf(variance, 120)
    p = reference.exactly(prior)
    weights, ratios, doubles = [], [], []
    for known in range(0, 110):
        if floor and noisy == 0:
            both = [mpmath.fsum(mass for n, mass in noise.items() if known + x + n <= 0) for x in (1, 0)]
        else:
            both = [noise.get(noisy - known - x, mpmath.mpf(0)) for x in (1, 0)]
        if both[0]:
            weights.append(both[0])
            ratios.append(both[0] / (p * both[0] + (1 - p) * both[1]))
            doubles.append(both[0] > 2 * both[1])
    total = mpmath.fsum(weights)
    mean = mpmath.fsum(w * r for w, r in zip(weights, ratios, strict=True)) / total
    doubled = mpmath.fsum(w for w, twice in zip(weights, doubles, strict=True) if twice) / total
    return float(mean), float(doubled)


def odds_double(noisy: np.ndarray, **attack: object) -> np.ndarray:
    """Whether odds of one double, for someone who knows the others in a row."""
    after = np.asarray(posterior(noisy, prior="1/2", **attack))  # type: ignore[arg-type]
    return after > 2 * (1 - after)


@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(5), Fraction(25)])
@pytest.mark.parametrize("prior", [Fraction(1, 864), Fraction(1, 10), Fraction(3, 5)])
def test_averages_over_what_may_be_known(variance: Fraction, prior: Fraction) -> None:
    for floor in (False, True):
        flat = Averages(float(variance), read_prior(prior), nonnegative=floor)
        noisy = [y for y in (-30, -9, -1, 0, 1, 4, 60) if y >= 0 or not floor]
        found = flat.at(np.array(noisy, dtype=float))
        exact = [averaged(y, variance, prior, floor) for y in noisy]
        assert found.ratio.tolist() == pytest.approx([mean for mean, _ in exact], rel=1e-12)
        assert found.doubled.tolist() == pytest.approx([double for _, double in exact], rel=1e-12, abs=1e-13)
        assert found.posterior.tolist() == pytest.approx(
            [float(prior) * mean for mean, _ in exact], rel=1e-12
        )


def test_far_from_zero_the_average_is_that_over_the_noise() -> None:
    flat = Averages(7.0, read_prior("1/10"))
    found = flat.at(np.array([10.0**6]))
    assert found.ratio[0] == pytest.approx(expected_ratio(variance=7, prior="1/10"), rel=1e-14)
    # far below zero the nearest count decides
    low = flat.at(np.array([-2000.0])).ratio[0]
    assert low == pytest.approx(ratio(-2000, variance=7, prior="1/10", known=0), rel=1e-12)
    edge = flat.at(np.arange(-84.0, -74.0)).ratio  # both ways of computing meet at -79
    assert (np.abs(np.diff(np.log(edge), 2)) < 1e-3).all()


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_measurements_by_level(tmp_path: Path) -> None:
    values = sample(GaussianNoise(variance=5), 3000, source=NotPrivateSeededEntropy(3)) + 2
    lines = ["unit,level,query,cell,value,variance"]
    lines += [
        f"u{i},{'Block' if i % 3 else 'State'},q,c,{y},{5 if i % 3 else 2.5}" for i, y in enumerate(values)
    ]
    path, out = write(tmp_path / "m.csv", "\n".join(lines) + "\n"), tmp_path / "out.csv"
    found = table_risk(path, prior="1/10", known=2, out=out)
    assert found.rows == 3000
    blocks = ratio(values[np.arange(3000) % 3 > 0], variance=5, prior="1/10", known=2)
    level = {one.level: one for one in found.levels}["Block"]
    assert level.rows == blocks.size
    beyond = odds_double(values[np.arange(3000) % 3 > 0], variance=5, known=2)
    assert level.share_doubled == beyond.mean() > 0
    assert level.maximum == blocks.max()
    inverse = np.quantile(blocks, [0.5, 0.9, 0.99, 0.999], method="inverted_cdf")
    assert level.quantiles == pytest.approx(inverse.tolist(), rel=1e-15)
    with out.open() as stream:
        written = list(csv.DictReader(stream))
    assert [int(row["value"]) for row in written] == values.tolist()
    for row in written[:20]:
        one = posterior(int(row["value"]), variance=row["variance"], prior="1/10", known=2)
        assert float(row["posterior"]) == pytest.approx(one, rel=1e-15)
        assert float(row["ratio"]) == pytest.approx(10 * one, rel=1e-15)
        assert row["known"] == "2"
    assert not list(tmp_path.glob(".*"))
    # the same from Parquet, in batches of another size
    table = pa.table(
        {
            "level": ["Block" if i % 3 else "State" for i in range(3000)],
            "value": values,
            "variance": [5.0 if i % 3 else 2.5 for i in range(3000)],
        }
    )
    pq.write_table(table, tmp_path / "m.parquet", row_group_size=700)
    again = table_risk(tmp_path / "m.parquet", prior="1/10", known=2)
    assert again.levels == found.levels[::1]
    assert again.total == found.total


def test_the_share_of_doubled_odds_is_what_the_truth_would_give(tmp_path: Path) -> None:
    # rows whose target is there and whose known count is not told: the averaged share against the real
    # one, which uses the true counts; 5 standard errors of a proportion: 6e-7 false alarms
    n = 40_000
    noise = sample(GaussianNoise(variance=4), n, source=NotPrivateSeededEntropy(5))
    values = 30 + noise
    path = write(tmp_path / "m.csv", "value,variance\n" + "".join(f"{y},4\n" for y in values))
    found = table_risk(path, prior="1/10", law="flat").total
    real = ratio(values, variance=4, prior="1/10", known=29)
    error = math.sqrt(found.share_doubled * (1 - found.share_doubled) / n)
    assert abs(found.share_doubled - odds_double(values, variance=4, known=29).mean()) < 5 * error
    assert abs(found.mean_posterior * 10 - real.mean()) < 5 * real.std() / math.sqrt(n)


def test_a_count_too_long_for_a_float_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"value": [2**60 + 1], "variance": [5.0]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"a noisy count is beyond 2\^52 \(row 1 of t.parquet"):
        table_risk(tmp_path / "t.parquet", prior="1/2", known=0)


def sparse(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """True counts, two in a hundred of them 1 and the others 0, and noisy ones of variance 5."""
    counts = (np.random.default_rng(seed).random(rows) < 0.02).astype(np.int64)
    return counts, counts + sample(GaussianNoise(variance=5), rows, source=NotPrivateSeededEntropy(seed))


def test_a_sparse_table_of_a_million_cells(tmp_path: Path) -> None:
    counts, noisy = sparse(1_000_000, 11)
    pq.write_table(
        pa.table({"value": noisy, "NOISE_VARIANCE": np.full(noisy.size, 5.0)}), tmp_path / "t.parquet"
    )
    found = table_risk(tmp_path / "t.parquet", prior="1/10").total
    # every row as if the target were its one person: the share whose odds double for someone who knows
    # that there is no one else; and among the rows that do have a target
    real = odds_double(noisy, variance=5, known=0)
    assert found.share_doubled == pytest.approx(real.mean(), rel=0.06)
    assert found.targets_doubled == pytest.approx(real[counts == 1].mean(), rel=0.06)
    assert found.targets_doubled == pytest.approx(GaussianNoise(variance=5).sf(2), rel=0.03)
    flat = table_risk(tmp_path / "t.parquet", prior="1/10", law="flat").total
    assert flat.share_doubled < real.mean() / 10  # what used to be said


@pytest.mark.parametrize("law", ["poisson", "geometric", "constant"])
def test_the_law_a_table_suggests_is_near_the_true_one(law: str) -> None:
    random = np.random.default_rng(4)
    counts = {
        "poisson": random.poisson(3, 200_000),
        "geometric": random.geometric(0.3, 200_000) - 1,
        "constant": np.full(200_000, 30),
    }[law]
    noisy = counts + sample(GaussianNoise(variance=5), counts.size, source=NotPrivateSeededEntropy(4))
    rows = Histogram(5.0)
    for part in np.array_split(noisy.astype(float), 3):
        rows.add(part)
    found = suggested_law(rows)
    true = np.bincount(counts, minlength=found.counts.size)[: found.counts.size] / counts.size
    # deconvolution is ill-posed: single chances are off by a few hundredths, sums over neighbours by less
    assert np.abs(np.cumsum(found.chances) - np.cumsum(true)).max() < (0.5 if law == "constant" else 0.06)
    assert found.chances @ found.counts == pytest.approx(counts.mean(), rel=0.02)
    averages = Averages(5.0, read_prior("1/10"), rows=rows)
    values, often = rows.seen()
    risk = averages.at(values)
    people = often * risk.targets
    assert people @ risk.doubled / people.sum() == pytest.approx(GaussianNoise(variance=5).sf(2), rel=0.05)
    assert people @ risk.ratio / people.sum() == pytest.approx(
        expected_ratio(variance=5, prior="1/10"), rel=0.01
    )


def test_suggested_laws_meet_the_flat_one_and_wide_noise_is_taken_together(tmp_path: Path) -> None:
    prior = read_prior("1/10")
    for variance in (0.2, 5.0, 3000.0):
        rows = Histogram(variance)
        rows.add(np.repeat(np.arange(-20.0, 60 * math.sqrt(variance) + 40), 30))
        found, flat = (Averages(variance, prior, rows=seen) for seen in (rows, None))
        far = np.array([40.0, 60.0, 10**4, 10**9]) * math.sqrt(variance) + 20.0
        far = np.floor(far)
        assert found.at(far).ratio == pytest.approx(flat.at(far).ratio, rel=0.02)
    few = Histogram(5.0)
    few.add(np.array([1.0, 2.0]))
    assert not few.suggests(np.arange(-20.0, 20.0)).any()
    # a floor at zero: few people, many zeros
    _, noisy = sparse(50_000, 3)
    path = write(tmp_path / "m.csv", "value,variance\n" + "".join(f"{max(y, 0)},5\n" for y in noisy))
    found = table_risk(path, prior="1/10", nonnegative=True).total
    real = odds_double(np.maximum(noisy, 0), variance=5, known=0, nonnegative=True)
    assert found.share_doubled == pytest.approx(real.mean(), rel=0.3)


NASTY = {
    "one of a million": lambda noise: [*noise, 10**6],
    "the largest there are": lambda noise: [*noise, 2**52, 2**52 - 1],
    "just around the top": lambda noise: [*noise, *range(120, 180)],
    "all ties": lambda noise: [3] * 150 + [10**5] * 150,
    "far below zero": lambda noise: [*noise, -(10**6), -80, -79],
    "few small ones": lambda noise: [*noise[:20], *(10**4 + noise)],
    "in steps": lambda noise: [*noise, *(40 + noise[:50]), *(2**20 + noise[:50])],
}


@pytest.mark.parametrize("kind", NASTY)
@pytest.mark.parametrize("variance", ["5", "1/10000", "1/5", "400"])
def test_nasty_tables(tmp_path: Path, kind: str, variance: str) -> None:
    """A large count is no disclosure: what a row tells depends on its neighbours, not on its size."""
    law = GaussianNoise(variance=variance)
    rows = np.array(NASTY[kind](sample(law, 200, source=NotPrivateSeededEntropy(1))), dtype=np.int64)
    path = write(
        tmp_path / "t.csv", "COUNT,NOISE_VARIANCE\n" + "".join(f"{y},{float(law.variance)}\n" for y in rows)
    )
    found = {prior: table_risk(path, prior=prior, out=tmp_path / f"{prior}.csv") for prior in ("0.1", "0.5")}
    high = rows > Histogram(float(law.variance)).top
    shares = []
    for prior, one in found.items():
        with (tmp_path / f"{prior}.csv").open() as stream:
            written = list(csv.DictReader(stream))
        ratios, doubled = (
            np.array([float(row[name]) for row in written]) for name in ("ratio", "chance_odds_doubled")
        )
        assert (ratios <= (1 + 1e-12) / float(prior)).all()
        # the exact mean over the noise, whatever the size of the count
        mean = expected_ratio(variance=variance, prior=prior)
        assert ratios[high] == pytest.approx(np.full(high.sum(), mean), rel=1e-12)
        # the table is the sum of its rows, in people too
        total = one.total
        assert total.maximum == pytest.approx(ratios.max(), rel=1e-15)
        assert total.share_doubled == pytest.approx(doubled.mean(), rel=1e-12, abs=1e-15)
        assert total.mean_posterior == pytest.approx(ratios.mean() * float(prior), rel=1e-12)
        assert total.targets_doubled is not None
        shares.append((total.share_doubled, total.targets_doubled))
        if high.any() and rows[high].sum() > 1e5:  # nearly all people are in large rows
            often = math.ceil(0.5 + float(law.variance) * math.log(2)) - 1
            assert total.targets_doubled == pytest.approx(law.sf(often - 1), rel=0.2, abs=1e-3)
    assert shares[0] == pytest.approx(shares[1], rel=1e-12)  # the odds mean the same for every prior


def test_a_large_row_leaves_the_others_alone(tmp_path: Path) -> None:
    noise = sample(GaussianNoise(variance=5), 200, source=NotPrivateSeededEntropy(1))
    texts = []
    for more in ([], [10**6], [10**9] * 300):
        path, out = tmp_path / "t.csv", tmp_path / "out.csv"
        write(path, "value,variance\n" + "".join(f"{y},5\n" for y in [*noise, *more]))
        found = table_risk(path, prior="1/10", out=out)
        texts.append(out.read_text().splitlines()[:201])
        assert found.total.maximum < 1.9  # it was 10
    assert texts[0] == texts[1] == texts[2]


@pytest.mark.parametrize("far", [30, 60, 131, 132, 133, 150, 167, 168, 10**6])
def test_a_lonely_row_is_not_its_own_witness(tmp_path: Path, far: int) -> None:
    """One row of 30 among noise around zero: that its count is 30 is not known, nor is that of 10^6."""
    noise = sample(GaussianNoise(variance=5), 200, source=NotPrivateSeededEntropy(1))
    path = write(tmp_path / "t.csv", "value,variance\n" + "".join(f"{y},5\n" for y in [*noise, far]))
    found = table_risk(path, prior="1/10", out=tmp_path / "out.csv")
    last = (tmp_path / "out.csv").read_text().splitlines()[-1].split(",")
    assert float(last[3]) == pytest.approx(expected_ratio(variance=5, prior="1/10"), rel=1e-12)
    assert float(last[4]) == pytest.approx(GaussianNoise(variance=5).sf(2), rel=1e-12)
    assert "(for 1 row that is large or has few others near, all counts" in table_adversary(found)


def test_few_small_rows_among_large_ones_suggest_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "value,variance\n3,5\n" + "100000,5\n" * 200)
    found = table_risk(path, prior="1/10")
    assert "(for 201 rows that are large or have few others near, all counts" in table_adversary(found)
    assert found.total.maximum == pytest.approx(expected_ratio(variance=5, prior="1/10"), rel=1e-12)


def test_rows_are_written_as_they_are_summed_up(tmp_path: Path) -> None:
    _, noisy = sparse(3000, 8)
    path = write(
        tmp_path / "m.csv",
        "level,value,variance\n" + "".join(f"{'AB'[i % 2]},{y},{5 + i % 2}\n" for i, y in enumerate(noisy)),
    )
    found = table_risk(path, prior="1/10", out=tmp_path / "out.csv")
    with (tmp_path / "out.csv").open() as stream:
        written = list(csv.DictReader(stream))
    for level in found.levels:
        mine = [row for row in written if row["level"] == level.level]
        assert level.rows == len(mine)
        doubled = [float(row["chance_odds_doubled"]) for row in mine]
        assert level.share_doubled == pytest.approx(np.mean(doubled))
        assert level.mean_posterior == pytest.approx(np.mean([float(row["posterior"]) for row in mine]))
        assert level.maximum == max(float(row["ratio"]) for row in mine)


def test_detailed_groups_and_a_column_of_known_counts(tmp_path: Path) -> None:
    text = "REGION_ID|REGION_TYPE|ITERATION_CODE|COUNT|NOISE_VARIANCE|others\n"
    text += "01|STATE|1001|12|625/1|10\n".replace("625/1", "625") + "01001|COUNTY|1001|3|2.5|0\n"
    found = table_risk(write(tmp_path / "t1.csv", text), prior="1/2", known_column="others")
    assert [one.level for one in found.levels] == ["STATE", "COUNTY"]
    assert found.levels[1].maximum == ratio(3, variance="2.5", prior="1/2", known=0)
    assert found.levels[0].maximum == ratio(12, variance=625, prior="1/2", known=10)
    assert "column 'others'" in table_adversary(found)


def test_rows_with_known_counts_are_confidential(tmp_path: Path) -> None:
    """Marked, and for their owner alone; a table without them is neither."""
    path = write(tmp_path / "t.csv", "level,value,variance,others\nA,4,5,3\nA,9,5,8\n")
    known, plain = tmp_path / "known.csv", tmp_path / "plain.csv"
    found = table_risk(path, prior="1/2", known_column="others", out=known)
    assert known.stat().st_mode & 0o077 == 0
    with known.open() as stream:
        assert [row["confidential"] for row in csv.DictReader(stream)] == ["CONFIDENTIAL"] * 2
    answer = describe(found)
    assert answer.objects["confidential"] is True
    assert "CONFIDENTIAL" in str(answer.cautions[0])
    other = table_risk(path, prior="1/2", known=3, out=plain)
    assert "confidential" not in plain.read_text()
    assert (describe(other).objects["confidential"], describe(other).cautions) == (False, ())


def test_small_variances_are_those_of_the_noise(tmp_path: Path) -> None:
    for parameter in ("1/5", "1/2", "1"):
        true = GaussianNoise(variance=parameter).true_variance()
        assert float(GaussianNoise.of_true_variance(true).variance) == pytest.approx(
            float(Fraction(parameter)), rel=1e-10
        )
    for true in (1e-300, 1e-12, 1e-4, 1.0, 1.3, 1.9):
        assert GaussianNoise.of_true_variance(true).true_variance() == pytest.approx(true, rel=1e-9)
    true = GaussianNoise(variance="1/5").true_variance()
    path = write(tmp_path / "m.csv", f"value,variance\n1,{true!r}\n")
    assert table_risk(path, prior="1/10", known=0).total.maximum == pytest.approx(
        ratio(1, variance="1/5", prior="1/10", known=0), rel=1e-9
    )
    path = write(tmp_path / "t1.csv", "COUNT|NOISE_VARIANCE\n1|0.2\n")  # the parameter itself
    assert table_risk(path, prior="1/10", known=0).total.maximum == ratio(
        1, variance="1/5", prior="1/10", known=0
    )


def test_what_has_no_place_in_csv(tmp_path: Path) -> None:
    pq.write_table(pa.table({"value": [1], "variance": [5], "x": [[1]]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="a column of the table cannot be written as CSV"):
        table_risk(tmp_path / "t.parquet", prior="1/2", known=0, out=tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
    assert table_risk(tmp_path / "t.parquet", prior="1/2", known=0).rows == 1
    (tmp_path / "no.parquet").write_text("value,variance")
    with pytest.raises(InputError, match=r"no\.parquet cannot be read as Parquet: it is damaged"):
        table_risk(tmp_path / "no.parquet", prior="1/2")


def test_negative_values_published_as_zero(tmp_path: Path) -> None:
    path = write(tmp_path / "m.csv", "value,variance\n0,5\n4,5\n")
    found = table_risk(path, prior="1/2", known=3, nonnegative=True)
    low = posterior(0, variance=5, prior="1/2", known=3, nonnegative=True)
    high = posterior(4, variance=5, prior="1/2", known=3)
    assert found.total.mean_posterior == pytest.approx((low + high) / 2, rel=1e-14)


def test_a_tally_of_very_many_values_is_rounded() -> None:
    tally, values = Tally(), np.linspace(0.5, 3.0, MOST + 5000)
    for part in np.array_split(values, 7):
        tally.add(part)
    assert tally.is_rounded
    assert tally.total == values.size
    assert tally.values.size < 80_000
    assert tally.maximum == 3.0
    for share, value in zip((0.1, 0.5, 0.99), tally.quantiles((0.1, 0.5, 0.99)), strict=True):
        assert value == pytest.approx(np.quantile(values, share, method="inverted_cdf"), rel=2e-5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty; a header and rows are needed"),
        ("value,variance\n", "has no rows"),
        (
            "unit,variance\na,5\n",
            "has no column of noisy counts (value, COUNT, noisy or count); it has unit, variance",
        ),
        ("value,unit\n3,a\n", "has no column of variances (variance or NOISE_VARIANCE)"),
        ("value,variance\n3,5\n4,0\n", "a variance is not above zero and at most 1e+10 (line 3 of t.csv"),
        ("value,variance\n3,5\n4,1e11\n", "at most 1e+10"),
        ("value,variance\n3,5\n,5\n", "value is not a whole number (line 3 of t.csv, field value)"),
        ("value,variance\n3.5,5\n", "value is not a whole number (line 2 of t.csv"),
        ("value,variance\n3,5\nthree,5\n", "value is not a whole number (line 3 of t.csv"),
        ("value,variance\n3,5\n\n3,1_0\n", "variance is not a number (line 4 of t.csv, field variance)"),
        ("value,variance\n3,5\n\n3,1_0\n", "an empty line (line 3 of t.csv, field all)"),
        ("value,variance\n3,5,7\n", "3 fields, 2 expected (line 2 of t.csv"),
        ("value,variance\n3,5\n4\n", "1 field, 2 expected (line 3 of t.csv"),
        ("value,value\n3,5\n", "t.csv has two columns named value; each may occur once"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path: Path, text: str, says: str) -> None:
    out = tmp_path / "out.csv"
    with pytest.raises(InputError) as error:
        table_risk(write(tmp_path / "t.csv", text), prior="1/2", out=out)
    assert says in str(error.value)
    assert "three" not in str(error.value)  # never a value
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_arguments_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t.csv", "value,variance,k\n-3,5,-1\n4,6,0\n")
    cases: list[tuple[dict[str, object], str]] = [
        ({"prior": 1}, "prior is 1"),
        ({"prior": [0.1, 0.2]}, "one adversary"),
        ({"known": -1}, "known is -1"),
        ({"known": 1, "known_column": "k"}, "stated twice"),
        ({"known_column": "k"}, "a known count is below zero or beyond 2^52 (line 2 of t.csv, field k)"),
        ({"known_column": "missing"}, "has no column 'missing'; it has value, variance, k"),
        ({"noisy_column": "k", "known_column": "k"}, "one column is named for two purposes"),
        ({"nonnegative": True}, "below zero, but negative values are said to be published as zero (line 2"),
        ({"law": "normal"}, "law is 'normal'"),
    ]
    for more, says in cases:
        with pytest.raises(InputError, match=re.escape(says)):
            table_risk(path, **{"prior": "1/2", **more})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="there is no file"):
        table_risk(tmp_path / "none.csv", prior="1/2")
    with pytest.raises(InputError, match="must end in"):
        table_risk(tmp_path / "t.docx", prior="1/2")
    monkeypatch.setattr(table_module, "MOST_ENTRIES", 200)
    with pytest.raises(PrecisionError, match="too many different variances"):
        table_risk(path, prior="1/2")


def test_headers_in_quotes(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text('"a|b",value,variance\nx,8,5\n')
    assert table_risk(file, prior="1/10", known=0).rows == 1
    file.write_text('"a,b"|COUNT|NOISE_VARIANCE\nx|8|5\n')
    assert table_risk(file, prior="1/10", known=0).rows == 1


def test_the_largest_ratio_is_said_as_a_bound(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("value,variance\n8,5\n1,5\n")
    found = table_risk(file, prior="1/10", known=0)
    # 3.32427 was said to be at most 3.324
    largest = str(table_risk_answer(found).facts[1].value)
    assert found.total.maximum <= float(largest) < 1.001 * found.total.maximum


@pytest.mark.parametrize("sign", [",", ";", "|", "\t"])
def test_columns_in_capitals_and_other_signs_between_them(tmp_path: Path, sign: str) -> None:
    rows = [("level", "value", "variance"), ("Block", "8", "5"), ("Block", "1", "5")]
    plain, other = tmp_path / "plain.csv", tmp_path / "other.csv"
    plain.write_text("\n".join(",".join(row) for row in rows))
    other.write_text("\n".join(sign.join(row) for row in [[x.upper() for x in rows[0]], *rows[1:]]))
    wanted, found = (
        table_risk_answer(table_risk(file, prior="10%", known=0)).objects for file in (plain, other)
    )
    assert found == wanted
