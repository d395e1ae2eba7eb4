"""Numbers in text: written as people write them, and true in every digit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.answers import Quantity, Rounding, Style
from discreet.cli import run

_SIZES = np.exp(np.random.default_rng(7).uniform(np.log(900.0), np.log(9e5), 200)).tolist()


@pytest.mark.parametrize("digits", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("style", [Style.RESULT, Style.BRIEF])
def test_numbers_below_a_million_have_no_power_of_ten(style: Style, digits: int) -> None:
    for value in (*_SIZES, 1000.0, 999.96):
        text = str(Quantity(value, style, digits=digits))
        assert "e" not in text
        assert float(text) == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))
    assert str(Quantity(1234.5678, style, digits=3)) == "1230"  # it was 1.23e+03
    assert str(Quantity(4.2e9, style, digits=2)) == "4.2e+09"


def test_bounds_stay_bounds_when_they_are_written_in_full() -> None:
    for value in _SIZES:
        assert float(str(Quantity(value, rounding=Rounding.UP, digits=3))) >= value
        assert float(str(Quantity(value, rounding=Rounding.DOWN, digits=3))) <= value


def test_changes_keep_their_sign() -> None:
    assert str(Quantity(-12345.6, Style.CHANGE, accuracy=100.0)) == "-12000"
    assert str(Quantity(12345.6, Style.CHANGE, accuracy=100.0)) == "+12000"


def test_an_account_writes_a_large_difference_in_full(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "large.toml"
    file.write_text(
        'name = "large"\nneighbours = "unbounded"\n'
        '[[levels]]\nname = "A"\nqueries = { q = { variance = "1/40000" } }'
    )
    assert run(["account", str(file), "--delta", "1e-10", "--quiet"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    # rho + 2 sqrt(rho log(1/delta)), rho 20000, is 21357.23; the noise is next to none, so the loss is 20000
    assert "the exact epsilon is 20000.0, 1360 (6.4 %) below the 21357.2 of the usual zCDP" in told
    assert "e+" not in told
