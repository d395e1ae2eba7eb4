"""A tabulation design: the parameters of 2020 with what was changed, and what follows from it.

Numbers are those of `discreet safetab design` with the groups of 2020. Another specification has its own
stability, which `discreet safetab design FOLDER` finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from typing import Literal, NamedTuple

from discreet.budget.claims import Claim
from discreet.budget.neighbours import RELATIONS
from discreet.census.mechanism.adaptive import Mechanism
from discreet.census.mechanism.configuration import Configuration
from discreet.census.safetab import design as safetab
from discreet.census.safetab.census2020 import configuration_2020, specification_2020
from discreet.census.safetab.configuration import read_json, read_toml, write_toml
from discreet.census.safetab.specification import safetab_p
from discreet.disclosure.adversary import Line, line_of
from discreet.errors import DiscreetError, InputError
from discreet.noise import Noise
from discreet.numbers import decimal, fraction, positive, share
from discreet.workbench.state import State

NAME = "design"
Place = tuple[str, int]
Steps = tuple[int, ...]

_OFF = " off"
_POINTS = 160

ALL_PLACES: tuple[Place, ...] = safetab_p().places
"""All geographies and levels, of both passes."""


@cache
def as_in_2020(place: Place) -> tuple[Fraction, Steps]:
    """Return rho and thresholds of the production run of 2020; where it had none, those of places.

    >>> as_in_2020(("USA", 2))[0], as_in_2020(("AIANNH", 1))
    (Fraction(1067, 500), (Fraction(1, 125), (4971, 19971, 149971)))
    """
    production = configuration_2020()
    place = place if production.budgets[place] else ("PLACE", place[1])
    return production.budgets[place] or Fraction(0), production.thresholds[place]


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
    which: str = "US"
    chosen: Place = ("COUNTY", 2)
    negatives: bool = True
    states: tuple[str, ...] = ()
    rhos: tuple[Fraction, ...] = field(
        default_factory=lambda: tuple(as_in_2020(place)[0] for place in ALL_PLACES)
    )
    """By place, on or off, before all are scaled."""
    off: frozenset[Place] = frozenset({("AIANNH", 1)})
    thresholds: tuple[Steps | None, ...] = (None,) * len(ALL_PLACES)
    """By place, where a file has stated them."""

    @property
    def places(self) -> tuple[Place, ...]:
        """The geographies and levels of the pass that is looked at."""
        names = safetab_p().passes[self.which].geographies
        return tuple(place for place in ALL_PLACES if place[0] in names)

    def rho(self, place: Place) -> Fraction:
        """Return what a row spends; 0 if it is off."""
        return Fraction(0) if place in self.off else self.rhos[ALL_PLACES.index(place)] * self.scale

    def shown_rhos(self) -> list[Fraction]:
        """Return what the rows of the pass that is looked at spend."""
        return [self.rho(place) for place in self.places]

    def with_rho(self, place: Place, rho: Fraction) -> Design:
        """Return the design with a rho for one row, which is then on."""
        rhos = dict(zip(ALL_PLACES, self.rhos, strict=True)) | {place: rho / self.scale}
        return replace(self, rhos=tuple(rhos.values()), off=self.off - {place})

    def with_on(self, places: Iterable[Place], *, on: bool) -> Design:
        """Return the design with rows on or off.

        >>> Design().with_on([("USA", 1)], on=False).rho(("USA", 1))
        Fraction(0, 1)
        """
        return replace(self, off=self.off.difference(places) if on else self.off.union(places))

    @property
    def texts(self) -> dict[str, str]:
        """The design as texts."""
        texts = {
            "races": str(self.races),
            "gamma": str(self.gamma),
            "chance": str(self.chance),
            "target": str(self.target),
            "scale": str(self.scale),
            "of": self.of,
            "derived": "yes" if self.derived else "no",
            "negatives": "yes" if self.negatives else "no",
            "states": " ".join(self.states),
            "pass": self.which,
            "row": row_text(self.chosen),
        }
        for place, rho, steps in zip(ALL_PLACES, self.rhos, self.thresholds, strict=True):
            texts[f"rho {row_text(place)}"] = f"{rho}{_OFF if place in self.off else ''}"
            texts[f"steps {row_text(place)}"] = "/".join(map(str, steps or ()))
        return texts

    def settings(self) -> dict[str, str]:
        """Return what a state remembers of the design: its texts, empty where it is as in 2020."""
        first = _first()
        return {name: "" if text == first[name] else text for name, text in self.texts.items()}

    @classmethod
    def of_state(cls, state: State) -> Design:
        """Read the design that a state remembers.

        >>> from discreet.workbench.state import State
        >>> design = Design(races=3).with_rho(("USA", 2), Fraction(1)).with_on([("STATE", 1)], on=False)
        >>> Design.of_state(State.of("dhc-2020").with_settings(NAME, design.settings())) == design
        True
        """
        said = {**_first(), **state.settings_of(NAME)}
        rhos = {place: said[f"rho {row_text(place)}"] for place in ALL_PLACES}
        made = cls(
            races=read_races(said["races"]),
            gamma=share(said["gamma"], name="gamma"),
            chance=read_drop_chance(said["chance"]),
            target=read_target(said["target"]),
            scale=read_rho(said["scale"], "scale"),
            of="total" if said["of"] == "total" else "cell",
            derived=said["derived"] == "yes",
            negatives=said["negatives"] != "no",
            states=tuple(said["states"].split()),
            which="PR" if said["pass"] == "PR" else "US",
            rhos=tuple(
                read_rho(text.removesuffix(_OFF), f"rho of {row_text(place)}", "1e-12", "1e9")
                for place, text in rhos.items()
            ),
            off=frozenset(place for place, text in rhos.items() if text.endswith(_OFF)),
            thresholds=tuple(_steps(said[f"steps {row_text(place)}"]) for place in ALL_PLACES),
        )
        chosen = (place for place in made.places if row_text(place) == said["row"])
        return replace(made, chosen=next(chosen, made.places[5]))


@cache
def _first() -> dict[str, str]:
    """The texts of 2020."""
    return Design().texts


def row_text(place: Place) -> str:
    """Write a row as a setting names it: USA 2."""
    return f"{place[0]} {place[1]}"


def row_words(place: Place) -> str:
    """Write a row for a reader.

    >>> row_words(("PR-TRACT", 1))
    'PR-TRACT, regional'
    """
    return safetab_p().place_words(place)


def read_rho(text: str, name: str = "rho", low: str = "0.000001", high: str = "1000") -> Fraction:
    """Return the rho of a row.

    >>> read_rho("1e6")
    Traceback (most recent call last):
    discreet.errors.InputError: rho is 1e6; it must lie between 0.000001 and 1000
    """
    value = positive(text, name=name)
    if not Fraction(low) <= value <= Fraction(high):
        raise InputError(f"{name} is {text.strip()[:40]}; it must lie between {low} and {high}")
    return value


def read_races(text: str) -> int:
    """Return how many races of a person are counted, 1 to 8."""
    if text not in tuple("12345678"):
        raise InputError(f"the number of races is {text}; it must be a whole number from 1 to 8")
    return int(text)


def read_drop_chance(text: str) -> Fraction:
    """Return the chance with which an empty group is dropped; 0 drops nothing.

    >>> read_drop_chance("1")
    Traceback (most recent call last):
    discreet.errors.InputError: the chance is 1; it must be at least 0 and below 1
    """
    value = fraction(text, name="the chance")
    if not 0 <= value < 1:
        raise InputError(f"the chance is {text}; it must be at least 0 and below 1")
    if value > 1 - Fraction(1, 10**15):
        raise InputError(f"the chance is {text}; at most 1 - 1e-15 is supported")
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


def _steps(text: str) -> Steps | None:
    if not text:
        return None
    try:
        first, second, third = (int(part) for part in text.split("/"))
    except ValueError:
        raise InputError(f"thresholds are {text!r}; they must be three whole numbers") from None
    return first, second, third


def design_opened(text: str, name: str, old: Design) -> Design:
    """Return the design of a `safetab.toml` or `config.json`; what the file does not say stays as it is."""
    is_json = name.lower().endswith(".json") or text.lstrip().startswith("{")
    try:
        opened = read_json(text, name) if is_json else read_toml(text, name)
    except DiscreetError as error:
        raise InputError(str(error)) from None
    if opened.tabulation != safetab_p():
        raise InputError(
            f"these are settings of {opened.tabulation.title}; this page designs {safetab_p().title}: use "
            f"`discreet safetab design` in a terminal ({name})"
        )
    if opened.privacy != "zcdp":
        raise InputError(
            f"the budgets are for pure differential privacy; this page needs zCDP budgets ({name})"
        )
    infinite = [place for place in opened.budgets if opened.budgets[place] is None]
    if infinite:
        raise InputError(f"{row_words(infinite[0])} has an infinite budget, so no noise ({name})")
    others = [which for which in safetab_p().passes if which not in opened.passes]
    idle = {place for which in others for place in Design(which=which).places}
    which = opened.passes[0]
    there = opened.levels(which)
    return Design(
        races=opened.max_race_codes,
        gamma=opened.gamma,
        chance=opened.zero_suppression_chance,
        target=old.target,
        of=old.of,
        which=which,
        chosen=old.chosen if old.chosen in there or not there else there[0],
        negatives=opened.allow_negative_counts,
        states=opened.filters.get("US", ()),
        rhos=tuple(opened.budgets.get(place) or as_in_2020(place)[0] for place in ALL_PLACES),
        off=frozenset({place for place, rho in opened.budgets.items() if rho == 0} | idle),
        thresholds=tuple(opened.thresholds.get(place) for place in ALL_PLACES),
    )


# -- what follows from a design ----------------------------------------------------------------------------


class RowCurves(NamedTuple):
    """One chosen row: the chances of the four tables by true size, and the bias if any are dropped."""

    tables: tuple[Line, ...]
    bias: Line = ()
    overall_bias: Line = ()


class DesignNumbers(NamedTuple):
    """All that follows from a design in milliseconds; no lines and no costs if nothing is tabulated."""

    lines: tuple[safetab.SizedLevel, ...] = ()
    costs: tuple[safetab.DesignCost, ...] = ()
    suppression: tuple[tuple[str, Line], ...] = ()
    curves: RowCurves | None = None
    claim: Claim | None = None
    """What the epsilons claim; None if there are none."""
    cap: safetab.Cap | None = None
    """What it does that not all race codes count, if they do not."""


def design_numbers(design: Design, delta: Fraction) -> DesignNumbers:
    """Return the numbers of a design for the pass that is looked at."""
    plan = configuration(design)
    if not plan.levels(design.which):
        return DesignNumbers()
    sized = safetab.sizing(
        plan, specification_2020(), design.which, error=design.target, of=design.of, delta=delta, exact=False
    )
    parts = {level.place: level.mechanism for level in sized.levels}
    curves = _curves(parts[design.chosen]) if design.chosen in parts else None
    lines = _suppression(parts.values())
    return DesignNumbers(sized.levels, sized.costs, lines, curves, sized.claim, sized.cap)


def configuration(design: Design) -> Configuration:
    """Return the design as the parameters of a run, with thresholds from the target error if so chosen."""
    budgets = {place: design.rho(place) for place in ALL_PLACES}
    stated = dict(zip(ALL_PLACES, design.thresholds, strict=True))
    passes = safetab_p().passes.values()
    runs = (
        each_pass
        for each_pass in passes
        if any(rho for (name, _), rho in budgets.items() if name in each_pass.geographies)
    )
    plan = Configuration(
        tabulation=safetab_p(),
        max_race_codes=design.races,
        budgets=budgets,
        gamma=design.gamma,
        thresholds={place: stated[place] or as_in_2020(place)[1] for place, rho in budgets.items() if rho},
        zero_suppression_chance=design.chance,
        allow_negative_counts=design.negatives,
        passes=tuple(each_pass.name for each_pass in runs),
        filters={"US": design.states} if design.states else {},
        privacy="zcdp",
    )
    return (
        safetab.with_derived(plan, specification_2020(), error=design.target, of=design.of)
        if design.derived
        else plan
    )


def _suppression(parts: Iterable[Mechanism]) -> tuple[tuple[str, Line], ...]:
    """The chance to be dropped by true size, a line for each kind of noise below the states."""
    kinds: dict[tuple[Noise, int], list[Mechanism]] = {}
    for part in parts:
        if part.suppression is not None and part.stage_two is not None:
            kinds.setdefault((part.stage_two, part.suppression), []).append(part)
    if not kinds:
        return ()
    most = max(int(cut) for _, cut in kinds)
    lines = []
    for (noise, cut), them in kinds.items():
        seen = safetab.shown(_sizes(min(3 * max(cut, 5), max(3 * cut, 2 * most))), noise, cut)
        words = " and ".join(sorted({safetab_p().workloads[part.level].word for part in them}))
        name = f"{them[0].geography}, {words}" if len(them) == 1 else f"{words} ({len(them)} geographies)"
        lines.append((name, line_of(seen.sizes, seen.suppressed)))
    return tuple(lines[:5])


def _sizes(most: int) -> list[int]:
    step = max(1, -(-most // _POINTS))
    return list(range(0, most + 1, step))


def _curves(part: Mechanism) -> RowCurves:
    first, _, last = part.thresholds
    low, high = (float(f"{size:.0e}") for size in (max(1.0, first / 4), max(10.0, last * 2.0)))
    steps = sorted({round(low * (high / low) ** (step / _POINTS)) for step in range(_POINTS + 1)})
    reached = safetab.table_chances(steps, part.stage_one, part.thresholds)
    tables = tuple(line_of(steps, reached[:, column]) for column in range(4))
    if part.suppression is None or part.stage_two is None:
        return RowCurves(tables)
    seen = safetab.shown(_sizes(3 * max(part.suppression, 5)), part.stage_two, part.suppression)
    return RowCurves(tables, line_of(seen.sizes, seen.bias), line_of(seen.sizes, seen.overall_bias))


def design_exact(
    design: Design, delta: Fraction, *, progress: Callable[[int, int], None] | None = None
) -> tuple[safetab.DesignCost, ...]:
    """Return the exact costs by neighbours, the worst over groups that get a total only, and of how many.

    >>> alone = Design().with_on([place for place in ALL_PLACES if place[1] == 1], on=False)
    >>> [(cost.neighbours, round(cost.epsilon, 4)) for cost in design_exact(alone, Fraction(1, 10**10))]
    [('unbounded', 24.2817), ('bounded', 37.3637)]
    """
    plan = configuration(design)
    find = partial(safetab.cost, plan, specification_2020(), design.which, delta=delta, exact=True)
    return tuple(find(progress=progress, neighbours=relation) for relation in reversed(RELATIONS))


def design_margin(design: Design, place: Place, margin: str) -> tuple[Fraction, Fraction]:
    """Return the rho for a wanted margin by the normal law, and the least one that exactly keeps it.

    Both are short and rounded up: a little more budget keeps the margin.

    >>> [round(float(rho), 4) for rho in design_margin(Design(), ("COUNTY", 2), "11")]
    [0.1588, 0.1449]
    """
    if not margin.strip().isdigit():
        raise InputError(f"the margin is {margin!r}; it must be a whole number such as 11")
    stability = specification_2020().stability(place[1], design.races, place[0]).value
    wanted = (
        of(int(margin), stability=stability, gamma=design.gamma)
        for of in (safetab.rho_for_margin, safetab.exact_rho_for_margin)
    )
    normal, exact = (Fraction(decimal(rho, digits=4 if rho >= 1 else 5, down=False)) for rho in wanted)
    return normal, exact


def design_toml(design: Design) -> str:
    """Write the design as the text of a `safetab.toml`."""
    text = write_toml(configuration(design))
    read_toml(text)  # a design with nothing in it is refused here
    return text
