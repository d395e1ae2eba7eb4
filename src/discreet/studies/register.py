"""The register of printed values, and what is said of each: confirmed, within Monte Carlo error, or wrong.

`register.toml` has every printed number with its paper and place, and nothing that was computed. A study
computes its own value for each entry of its places, and `check` compares the two by what was printed:
to half a unit of the last printed digit, or beyond that to three standard errors if it was simulated.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Literal

from discreet.errors import InputError

Kind = Literal["rounded", "bound", "at least", "draws", "input"]
STANDARD_ERRORS = 3
"""How far a simulated value may lie from the computed one: a false alarm in 370 values."""
RAREST = 0.0027
"""The same as a probability, for values whose law is not normal."""


class Verdict(StrEnum):
    """What a comparison with print says."""

    CONFIRMED = "confirmed"
    MONTE_CARLO = "within Monte Carlo error"
    WRONG = "wrong"
    GIVEN = "taken as given"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed number: where it stands, and its digits.

    >>> entry = printed("pnas", "Table 1", "reduction, percent")["US"]
    >>> entry.text, entry.value, entry.unit
    ('20.88', 20.88, 0.01)
    """

    paper: str
    place: str
    what: str
    at: str
    text: str
    kind: Kind
    draws: int | None

    @property
    def value(self) -> float:
        """The number."""
        return float(Fraction(self.text))

    @property
    def unit(self) -> float:
        """One unit of the last printed digit; zero for a fraction, which is exact."""
        if "/" in self.text:
            return 0.0
        exponent = Decimal(self.text).as_tuple().exponent
        assert isinstance(exponent, int)
        return float(f"1e{exponent}")


@dataclass(frozen=True, slots=True)
class Compared:
    """A printed number beside the computed one, with the verdict and why."""

    printed: Printed
    computed: float | None
    verdict: Verdict
    why: str

    @property
    def difference(self) -> float | None:
        """The computed value less the printed one."""
        return None if self.computed is None else self.computed - self.printed.value

    @property
    def digits(self) -> str:
        """The computed value, with two digits more than were printed.

        >>> check(printed("pnas", "Table 3", "rho")["total"], 3.6501).digits
        '3.6501'
        """
        if self.computed is None:
            return ""
        if "e" in self.printed.text:
            return f"{self.computed:.{len(self.printed.text.partition('e')[0].replace('.', '')) + 1}e}"
        if "/" in self.printed.text:
            return f"{self.computed:.6f}"
        decimals = len(self.printed.text.partition(".")[2])
        exact = decimals == 0 and self.computed == int(self.computed)
        return f"{self.computed:.{0 if exact else decimals + 2}f}"

    def as_dict(self) -> dict[str, str | float | None]:
        """Return what JSON and CSV show."""
        entry = self.printed
        return {
            "paper": entry.paper,
            "place": entry.place,
            "what": entry.what,
            "at": entry.at,
            "published": entry.text,
            "computed": self.computed,
            "difference": self.difference,
            "verdict": self.verdict.value,
            "why": self.why,
        }


@cache
def register() -> tuple[Printed, ...]:
    """Return all printed numbers, in the order of the file.

    >>> {entry.paper for entry in register()} == {"pnas", "sieve", "safetab", "risk"}
    True
    """
    found = []
    for entry in _file()["printed"]:
        for at, text in zip(entry["at"], entry["value"], strict=True):
            kind, draws = entry.get("kind", "rounded"), entry.get("draws")
            found.append(Printed(entry["paper"], entry["place"], entry["what"], at, text, kind, draws))
    return tuple(found)


@cache
def papers() -> Mapping[str, str]:
    """Return the papers by their short names.

    >>> papers()["sieve"]
    'Su, Su and Wang 2026, arXiv:2606.29835'
    """
    return dict(_file()["papers"])


@cache
def _file() -> dict:  # type: ignore[type-arg]
    return tomllib.loads(files("discreet.studies").joinpath("register.toml").read_text("utf-8"))


def printed(paper: str, place: str, what: str) -> dict[str, Printed]:
    """Return what is printed of one quantity at one place, by its row.

    >>> [entry.text for entry in printed("safetab", "Table 6", "suppression threshold T").values()]
    ['93', '21', '11']
    """
    found = {e.at: e for e in register() if (e.paper, e.place, e.what) == (paper, place, what)}
    if not found:
        raise InputError(f"the register has no {what!r} for {place!r} of {paper!r}")
    return found


def check(
    entry: Printed,
    computed: float | None,
    *,
    why: str = "",
    explained: str = "",
    error: float | None = None,
    chance: float | None = None,
) -> Compared:
    """Compare a printed number with the computed one.

    `error` is the standard error of a simulated one, in its unit, or `chance` the probability of a result as
    far off. `why` is said in any case, `explained` only if the printed number turns out wrong.

    >>> entry = printed("pnas", "text on Table 1", "reduction, percent")["national"]
    >>> check(entry, 20.88, explained="this is State's").verdict
    <Verdict.WRONG: 'wrong'>
    >>> check(entry, 15.0834).verdict
    <Verdict.CONFIRMED: 'confirmed'>
    """
    if computed is None:
        given = entry.kind == "input"
        return Compared(entry, None, Verdict.GIVEN if given else Verdict.NOT_CHECKED, why)
    if entry.kind == "bound":
        holds, said = computed <= entry.value, "the bound holds"
    elif entry.kind == "at least":
        holds, said = computed >= entry.value, "the bound holds"
    else:
        beyond = abs(computed - entry.value) - entry.unit / 2 * (1 + 1e-9)
        holds, said = beyond <= 0, ""
        if not holds and entry.kind == "draws":
            if error is None and chance is None:
                return Compared(entry, computed, Verdict.NOT_CHECKED, why)
            if error is not None and beyond <= STANDARD_ERRORS * error:
                why = _joined(f"standard error {error:.2g}", why)
                return Compared(entry, computed, Verdict.MONTE_CARLO, why)
            if chance is not None and chance >= RAREST:
                return Compared(entry, computed, Verdict.MONTE_CARLO, why)
    verdict = Verdict.CONFIRMED if holds else Verdict.WRONG
    return Compared(entry, computed, verdict, _joined(said if holds else explained, why))


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def compare(paper: str, place: str, what: str, mine: Mapping[str, float], **more: str) -> list[Compared]:
    """Compare all printed rows of one quantity with the computed ones.

    >>> [one.verdict.value for one in compare("pnas", "Table 3", "rho", {"total": 3.65})]
    ['confirmed']
    """
    return [check(entry, float(mine[at]), **more) for at, entry in printed(paper, place, what).items()]  # type: ignore[arg-type]
