from __future__ import annotations

import csv
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import risk_reference as reference

from discreet.errors import InputError, PrecisionError
from discreet.noise import GaussianNoise, sample
from discreet.risk import expected_ratio, posterior, ratio, table_risk
from discreet.risk import rows as rows_module
from discreet.risk.model import read_prior
from discreet.risk.rows import Rows, noise_parameter
from discreet.risk.tally import MOST, Tally
from discreet.testing import NotPrivateSeededEntropy

mpmath.mp.dps = 40


def averaged(noisy: int, variance: Fraction, prior: Fraction, floor: bool = False) -> tuple[float, float]:
    """Mean ratio, and chance that it is above two, over all k >= 0, by the definition."""
    noise = reference.pmf(variance, 120)
    p = reference.exactly(prior)
    weights, ratios = [], []
    for known in range(0, 110):
        if floor and noisy == 0:
            both = [mpmath.fsum(mass for n, mass in noise.items() if known + x + n <= 0) for x in (1, 0)]
        else:
            both = [noise.get(noisy - known - x, mpmath.mpf(0)) for x in (1, 0)]
        if both[0]:
            weights.append(both[0])
            ratios.append(both[0] / (p * both[0] + (1 - p) * both[1]))
    total = mpmath.fsum(weights)
    mean = mpmath.fsum(w * r for w, r in zip(weights, ratios, strict=True)) / total
    above = mpmath.fsum(w for w, r in zip(weights, ratios, strict=True) if r > 2) / total
    return float(mean), float(above)


@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(5), Fraction(25)])
@pytest.mark.parametrize("prior", [Fraction(1, 864), Fraction(1, 10), Fraction(3, 5)])
def test_averages_over_what_may_be_known(variance: Fraction, prior: Fraction) -> None:
    for floor in (False, True):
        rows = Rows(read_prior(prior), nonnegative=floor)
        noisy = [y for y in (-30, -9, -1, 0, 1, 4, 60) if y >= 0 or not floor]
        found = rows.unknown(np.array(noisy, dtype=float), np.full(len(noisy), float(variance)))
        exact = [averaged(y, variance, prior, floor) for y in noisy]
        assert found.ratio.tolist() == pytest.approx([mean for mean, _ in exact], rel=1e-12)
        assert found.above.tolist() == pytest.approx([above for _, above in exact], rel=1e-12, abs=1e-13)
        assert found.posterior.tolist() == pytest.approx(
            [float(prior) * mean for mean, _ in exact], rel=1e-12
        )


def test_far_from_zero_the_average_is_that_over_the_noise() -> None:
    rows = Rows(read_prior("1/10"), nonnegative=False)
    found = rows.unknown(np.array([10.0**6]), np.array([7.0]))
    assert found.ratio[0] == pytest.approx(expected_ratio(variance=7, prior="1/10"), rel=1e-14)
    # far below zero the nearest count decides
    low = rows.unknown(np.array([-2000.0]), np.array([7.0])).ratio[0]
    assert low == pytest.approx(ratio(-2000, variance=7, prior="1/10", known=0), rel=1e-12)
    edge = rows.unknown(np.arange(-84.0, -74.0), np.full(10, 7.0)).ratio  # both ways of computing meet at -79
    assert (np.abs(np.diff(np.log(edge), 2)) < 1e-3).all()


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_measurements_by_level(tmp_path: Path) -> None:
    values = sample(GaussianNoise(5), 3000, source=NotPrivateSeededEntropy(3)) + 2
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
    assert level.share_above_two == (blocks > 2).mean() > 0
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


def test_the_share_above_two_is_what_the_truth_would_give(tmp_path: Path) -> None:
    # rows whose target is there and whose known count is not told: the averaged share against the real
    # one, which uses the true counts; 5 standard errors of a proportion: 6e-7 false alarms
    n = 40_000
    noise = sample(GaussianNoise(4), n, source=NotPrivateSeededEntropy(5))
    values = 30 + noise
    path = write(tmp_path / "m.csv", "value,variance\n" + "".join(f"{y},4\n" for y in values))
    found = table_risk(path, prior="1/10").total
    real = ratio(values, variance=4, prior="1/10", known=29)
    error = math.sqrt(found.share_above_two * (1 - found.share_above_two) / n)
    assert abs(found.share_above_two - (real > 2).mean()) < 5 * error
    assert abs(found.mean_posterior * 10 - real.mean()) < 5 * real.std() / math.sqrt(n)


def test_detailed_groups_and_a_column_of_known_counts(tmp_path: Path) -> None:
    text = "REGION_ID|REGION_TYPE|ITERATION_CODE|COUNT|NOISE_VARIANCE|others\n"
    text += "01|STATE|1001|12|625/1|10\n".replace("625/1", "625") + "01001|COUNTY|1001|3|2.5|0\n"
    found = table_risk(write(tmp_path / "t1.csv", text), prior="1/2", known_column="others")
    assert [one.level for one in found.levels] == ["STATE", "COUNTY"]
    assert found.levels[1].maximum == ratio(3, variance="2.5", prior="1/2", known=0)
    assert found.levels[0].maximum == ratio(12, variance=625, prior="1/2", known=10)
    assert "column 'others'" in found.adversary


def test_small_variances_are_those_of_the_noise(tmp_path: Path) -> None:
    for parameter in ("1/5", "1/2", "1"):
        true = GaussianNoise(parameter).true_variance()
        assert noise_parameter(true) == pytest.approx(float(Fraction(parameter)), rel=1e-10)
    true = GaussianNoise("1/5").true_variance()
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
    with pytest.raises(InputError, match="a column of the table has no place in CSV"):
        table_risk(tmp_path / "t.parquet", prior="1/2", known=0, out=tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
    assert table_risk(tmp_path / "t.parquet", prior="1/2", known=0).rows == 1
    (tmp_path / "no.parquet").write_text("value,variance")
    with pytest.raises(InputError, match="damaged, or no Parquet file"):
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
        ("value,variance\n3,5\n4,0\n", "column 'variance', row in line 3: a variance is above zero"),
        ("value,variance\n3,5\n4,1e11\n", "at most 1e+10"),
        ("value,variance\n3,5\n,5\n", "column 'value', row in line 3: a noisy count is a whole number"),
        ("value,variance\n3.5,5\n", "column 'value', row in line 2"),
        ("value,variance\nthree,5\n", "is not a number"),
        ("value,variance\n3,5,7\n", "too many or too few fields"),
        ("value,value\n3,5\n", "two columns of the same name"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path: Path, text: str, says: str) -> None:
    out = tmp_path / "out.csv"
    with pytest.raises(InputError) as error:
        table_risk(write(tmp_path / "t.csv", text), prior="1/2", out=out)
    assert says in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_arguments_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t.csv", "value,variance,k\n-3,5,-1\n4,6,0\n")
    cases: list[tuple[dict[str, object], str]] = [
        ({"prior": 1}, "prior is 1"),
        ({"prior": [0.1, 0.2]}, "one adversary"),
        ({"known": -1}, "known is -1"),
        ({"known": 1, "known_column": "k"}, "stated twice"),
        ({"known_column": "k"}, "line 2: a known count is a whole number, zero or more"),
        ({"known_column": "missing"}, "has no column 'missing'; it has value, variance, k"),
        ({"noisy_column": "k", "known_column": "k"}, "one column is named for two purposes"),
        ({"nonnegative": True}, "has negative noisy counts"),
    ]
    for more, says in cases:
        with pytest.raises(InputError, match=says.replace("(", r"\(")):
            table_risk(path, **{"prior": "1/2", **more})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="there is no file"):
        table_risk(tmp_path / "none.csv", prior="1/2")
    with pytest.raises(InputError, match="must end in"):
        table_risk(tmp_path / "t.xlsx", prior="1/2")
    monkeypatch.setattr(rows_module, "MOST_ENTRIES", 200)
    with pytest.raises(PrecisionError, match="too many different variances"):
        table_risk(path, prior="1/2")


def test_headers_in_quotes(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text('"a|b",value,variance\nx,8,5\n')
    assert table_risk(file, prior="1/10", known=0).rows == 1
    file.write_text('"a,b"|COUNT|NOISE_VARIANCE\nx|8|5\n')
    assert table_risk(file, prior="1/10", known=0).rows == 1
    file.write_text('value,variance,"two\nlines"\n8,5,x\n')
    with pytest.raises(InputError, match="more than one line"):
        table_risk(file, prior="1/10", known=0)
