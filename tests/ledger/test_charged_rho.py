"""A run that an earlier version charged more for stays charged so; nothing else that differs is read."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.budget import Level, Query, Release
from discreet.errors import InputError
from discreet.ledger.entry import Entry

RELEASE = Release(
    name="small",
    neighbours="bounded",
    levels=[Level(name="State", queries=[Query(name="total", scale=2), Query(name="sex", variance=4)])],
)


def written(rho: str) -> dict[str, object]:
    entry = Entry(release=RELEASE, id="0" * 32, time="2026-01-01T00:00:00+00:00", version="0.2.0")
    return {**entry.document(), "rho": rho}


def test_what_an_earlier_version_charged_stays() -> None:
    # epsilon^2 / 2 for Laplace noise, twice under replacement: 2 (1/8 + 1/8)
    old = Entry.from_document(written("1/2"))
    assert old.rho == old.rho_for("bounded") == Fraction(1, 2)
    assert old.rho_for("unbounded") == Fraction(1, 4)
    assert old.document()["rho"] == "1/2"
    assert Entry.from_document(old.document()) == old


def test_a_new_run_is_charged_its_least_rho() -> None:
    new = Entry.from_document(written(str(Entry(release=RELEASE).rho)))
    assert new.charged is None
    assert float(new.rho) == pytest.approx(0.25 + 2 * 0.12245933120185457, rel=1e-12)


@pytest.mark.parametrize("rho", ["49/100", "51/100", "0", "word", "1/0"])
def test_any_other_rho_is_refused(rho: str) -> None:
    with pytest.raises(InputError, match="but its release spends"):
        Entry.from_document(written(rho))
