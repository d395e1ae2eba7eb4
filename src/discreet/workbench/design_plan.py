"""A tabulation design as the page holds it: the parameters of 2020 with what was changed, as texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from discreet.errors import DiscreetError, InputError
from discreet.numbers import fraction, positive
from discreet.release.safetab.geographies import LEVEL_WORDS, LEVELS, PASSES, Pass
from discreet.workbench.state import State

NAME = "design"
Place = tuple[str, int]
Steps = tuple[int, int, int]

_WIDE, _NARROW, _REGIONAL = (Fraction(text) for text in ("2.134", "0.159", "0.008"))
_STEPS: dict[Fraction, Steps] = {
    _WIDE: (471, 971, 6971),
    _NARROW: (971, 4971, 19971),
    _REGIONAL: (4971, 19971, 149971),
}
_OFF = " off"


@dataclass(frozen=True, slots=True)
class Rivalry:
    """Both kinds of noise at the same margin: variance, scale, and the epsilons of one person's counts."""

    margin: int
    counts: int
    variance: float
    scale: float
    gaussian: float
    geometric: float


def default_rho(place: Place) -> Fraction:
    """Return the rho of 2020 (Detailed DHC-A production configuration); where it had none, its neighbours'.

    >>> default_rho(("USA", 2)), default_rho(("PR-TRACT", 2)), default_rho(("AIANNH", 1))
    (Fraction(1067, 500), Fraction(159, 1000), Fraction(1, 125))
    """
    geography, level = place
    if level == 1:
        return _REGIONAL
    return _WIDE if geography in ("USA", "STATE", "PR-STATE") else _NARROW


@dataclass(frozen=True, slots=True)
class Design:
    """A design: what differs from 2020 is stated, the rest is as it was then.

    >>> design = Design()
    >>> sum(design.shown_rhos()), design.rho(("AIANNH", 1))
    (Fraction(618, 125), Fraction(0, 1))
    """

    races: int = 8
    gamma: Fraction = Fraction(1, 10)
    chance: Fraction = Fraction(9999, 10000)
    target: Fraction = Fraction(1, 10)
    of: Literal["cell", "total"] = "cell"
    derived: bool = False
    scale: Fraction = Fraction(1)
    which: Pass = "US"
    chosen: Place = ("COUNTY", 2)
    negatives: bool = True
    states: tuple[str, ...] = ()
    rhos: tuple[tuple[Place, Fraction], ...] = field(default=())
    off: frozenset[Place] = frozenset({("AIANNH", 1)})
    thresholds: tuple[tuple[Place, Steps], ...] = field(default=())

    @property
    def places(self) -> tuple[Place, ...]:
        """The geographies and levels of the pass that is looked at."""
        return tuple((geography, level) for geography in PASSES[self.which] for level in LEVELS)

    def stated_rho(self, place: Place) -> Fraction:
        """Return the rho of a row, on or off, before all are scaled."""
        return dict(self.rhos).get(place, default_rho(place))

    def rho(self, place: Place) -> Fraction:
        """Return what a row spends; 0 if it is off."""
        return Fraction(0) if place in self.off else self.stated_rho(place) * self.scale

    def shown_rhos(self) -> list[Fraction]:
        """Return what the rows of the pass that is looked at spend."""
        return [self.rho(place) for place in self.places]

    def stated_thresholds(self, place: Place) -> Steps:
        """Return the thresholds of the opened file, or those of 2020."""
        return dict(self.thresholds).get(place) or _STEPS[default_rho(place)]

    def with_rho(self, place: Place, rho: Fraction) -> Design:
        """Return the design with a rho for one row, which is then on."""
        kept = {**dict(self.rhos), place: rho / self.scale}
        if kept[place] == default_rho(place):
            del kept[place]
        return replace(self, rhos=tuple(sorted(kept.items())), off=self.off - {place})

    def with_on(self, places: Iterable[Place], *, on: bool, level: int | None = None) -> Design:
        """Return the design with rows on or off; all of a level if one is named.

        >>> Design().with_on([], level=1, on=False).rho(("USA", 1))
        Fraction(0, 1)
        """
        named = frozenset(place for place in (self.places if level else places) if level in (None, place[1]))
        return replace(self, off=self.off - named if on else self.off | named)

    def settings(self) -> dict[str, str]:
        """Return the design as texts; an empty one is as in 2020."""
        plain = Design()
        texts = {
            "races": str(self.races) if self.races != plain.races else "",
            "derived": "yes" if self.derived else "",
            "of": self.of if self.of != plain.of else "",
            "pass": self.which if self.which != plain.which else "",
            "row": row_text(self.chosen) if self.chosen != plain.chosen else "",
            "negatives": "" if self.negatives else "no",
            "states": " ".join(self.states),
        }
        for name in ("gamma", "chance", "target", "scale"):
            value = getattr(self, name)
            texts[name] = str(value) if value != getattr(plain, name) else ""
        for place in all_places():
            rho, is_off, was_off = self.stated_rho(place), place in self.off, place in plain.off
            changed = rho != default_rho(place) or is_off != was_off
            texts[f"rho {row_text(place)}"] = f"{rho}{_OFF if is_off else ''}" if changed else ""
            steps = dict(self.thresholds).get(place)
            texts[f"steps {row_text(place)}"] = "/".join(map(str, steps)) if steps else ""
        return texts

    @classmethod
    def of_state(cls, state: State) -> Design:
        """Read the design that a state remembers.

        >>> from discreet.workbench.state import State
        >>> design = Design(races=3).with_rho(("USA", 2), Fraction(1)).with_on([("STATE", 1)], on=False)
        >>> Design.of_state(State.of("dhc-2020").with_settings(NAME, design.settings())) == design
        True
        """
        said = {name: text for page, name, text in state.settings if page == NAME}
        plain = cls()
        off, rhos, steps = set(plain.off), {}, {}
        for place in all_places():
            text = said.get(f"rho {row_text(place)}", "")
            if text:
                (off.add if text.endswith(_OFF) else off.discard)(place)
                rho = positive(text.removesuffix(_OFF), name=f"rho of {row_text(place)}")
                rhos.update({place: rho} if rho != default_rho(place) else {})
            if f"steps {row_text(place)}" in said:
                steps[place] = _steps(said[f"steps {row_text(place)}"])
        which: Pass = "PR" if said.get("pass") == "PR" else "US"
        chosen = {row_text(place): place for place in all_places()}.get(said.get("row", ""), plain.chosen)
        return cls(
            races=read_races(said.get("races", "8")),
            gamma=read_share(said.get("gamma", "1/10"), "gamma"),
            chance=read_chance(said.get("chance", "0.9999")),
            target=read_target(said.get("target", "1/10")),
            of="total" if said.get("of") == "total" else "cell",
            derived=said.get("derived") == "yes",
            scale=positive(said.get("scale", "1"), name="scale"),
            which=which,
            chosen=chosen if chosen[0] in PASSES[which] else (PASSES[which][1], 2),
            negatives=said.get("negatives") != "no",
            states=tuple(said.get("states", "").split()),
            rhos=tuple(sorted(rhos.items())),
            off=frozenset(off),
            thresholds=tuple(sorted(steps.items())),
        )


def all_places() -> tuple[Place, ...]:
    """All geographies and levels, of both passes."""
    return tuple((name, level) for names in PASSES.values() for name in names for level in LEVELS)


def row_text(place: Place) -> str:
    """Write a row as a setting names it: USA 2."""
    return f"{place[0]} {place[1]}"


def row_words(place: Place) -> str:
    """Write a row for a reader.

    >>> row_words(("PR-TRACT", 1))
    'PR-TRACT, regional'
    """
    return f"{place[0]}, {LEVEL_WORDS[place[1]]}"


def read_rho(text: str) -> Fraction:
    """Return the rho of a row.

    >>> read_rho("1e6")
    Traceback (most recent call last):
    discreet.errors.InputError: rho is 1e6; it must lie between 0.000001 and 1000
    """
    value = positive(text, name="rho")
    if not Fraction(1, 10**6) <= value <= 1000:
        raise InputError(f"rho is {text.strip()}; it must lie between 0.000001 and 1000")
    return value


def read_races(text: str) -> int:
    """Return how many races of a person are counted, 1 to 8."""
    if text not in tuple("12345678"):
        raise InputError(f"the number of races is {text}; it must be a whole number from 1 to 8")
    return int(text)


def read_share(text: str, name: str) -> Fraction:
    """Return a part strictly between 0 and 1."""
    value = fraction(text, name=name)
    if not 0 < value < 1:
        raise InputError(f"{name} is {text}; it must lie strictly between 0 and 1")
    return value


def read_chance(text: str) -> Fraction:
    """Return the chance with which an empty group is dropped; 0 drops nothing.

    >>> read_chance("1")
    Traceback (most recent call last):
    discreet.errors.InputError: the chance is 1; it must be 0, or above, and below 1
    """
    value = fraction(text, name="the chance")
    if not 0 <= value < 1:
        raise InputError(f"the chance is {text}; it must be 0, or above, and below 1")
    if value > 1 - Fraction(1, 10**15):
        raise InputError(f"the chance is {text}; at most 1 - 1e-15 is answered here")
    return value


def read_target(text: str) -> Fraction:
    """Return the target error, a part such as 0.1 or a percentage such as 10 %.

    >>> read_target("10 %"), read_target("1/20")
    (Fraction(1, 10), Fraction(1, 20))
    """
    short = text.strip()
    value = positive(short.removesuffix("%").strip(), name="the target error")
    value = value / 100 if short.endswith("%") else value
    if not Fraction(1, 10000) <= value <= 10:
        raise InputError(f"the target error is {short}; it must lie between 0.01 % and 1000 %")
    return value


def _steps(text: str) -> Steps:
    try:
        first, second, third = (int(part) for part in text.split("/"))
    except ValueError:
        raise InputError(f"thresholds are {text!r}; they must be three whole numbers") from None
    return first, second, third


def opened(text: str, name: str, old: Design) -> Design:
    """Return the design of a `safetab.toml` or `config.json`; what the file does not say stays as it is."""
    from discreet.release.safetab.configuration import read_json
    from discreet.release.safetab.geographies import STATES
    from discreet.release.safetab.safetab_toml import read_toml

    is_json = name.lower().endswith(".json") or text.lstrip().startswith("{")
    try:
        found = read_json(text, name) if is_json else read_toml(text, name)
    except DiscreetError as error:
        raise InputError(str(error)) from None
    if found.privacy != "zcdp":
        raise InputError(f"the budgets are of pure privacy; this page designs with zCDP's rho ({name})")
    infinite = [place for place in found.budgets if found.budgets[place] is None]
    if infinite:
        raise InputError(f"{row_words(infinite[0])} has an infinite budget, so no noise ({name})")
    rhos = {place: rho for place, rho in found.budgets.items() if rho and rho != default_rho(place)}
    runs = {"US": found.run_us, "PR": found.run_pr}
    idle = {
        place
        for which, names in PASSES.items()
        for place in all_places()
        if place[0] in names and not runs[which]
    }
    which: Pass = "US" if found.run_us else "PR"
    chosen = next(
        (place for place in (old.chosen, *found.levels(which)) if place in found.levels(which)), old.chosen
    )
    return Design(
        races=found.max_race_codes,
        gamma=found.gamma,
        chance=found.zero_suppression_chance,
        target=old.target,
        of=old.of,
        derived=False,
        which=which,
        chosen=chosen,
        negatives=found.allow_negative_counts,
        states=found.state_filter_us if found.state_filter_us != STATES else (),
        rhos=tuple(sorted(rhos.items())),
        off=frozenset({place for place, rho in found.budgets.items() if rho == 0} | idle),
        thresholds=tuple(sorted(found.thresholds.items())),
    )
