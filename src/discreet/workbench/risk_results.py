"""What the Risk page answers: numbers, pictures, sentences, and the command lines that give the same."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.report import words
from discreet.workbench import controls as c
from discreet.workbench import risk_charts as charts
from discreet.workbench import risk_plan as plan
from discreet.workbench.risk_words import HELP, bound_text, chance_text, percent_text, said_of

if TYPE_CHECKING:
    from discreet.workbench.risk_page import Desk


_WRAP = "white-space: pre-wrap; overflow-wrap: anywhere"
_WHOLE = "grid-template-columns: minmax(0, 1fr)"


class Commands:
    """The command lines that give the same numbers."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        with c.box("wb-card", "section"):
            c.heading("The same numbers on the command line")
            self._one = c.words("", "wb-command", "code").style(f"margin-bottom: 8px; {_WRAP}")
            self._all = c.words("", "wb-command", "code").style(_WRAP)
        desk.draw(self._draw)

    def _draw(self) -> None:
        desk, state = self.desk, self.desk.state
        bound = plan.bound_command(desk.prior, state)
        one = plan.command(desk.asked, state) if desk.asked is not None else bound
        self._one.set(one)
        self._all.set(bound)
        c.show(self._all, one != bound)


class Answer:
    """What the adversary believes and decides."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        with c.box("wb-card", "section") as self._card:
            self._card._props.update({"aria-label": "What the adversary learns", "aria-live": "polite"})
            with c.box("wb-tiles") as self._one:
                self._posterior = c.Tile("Belief afterwards", HELP["posterior"], first=True)
                self._ratio = c.Tile("Times the prior", HELP["ratio"])
                self._right = c.Tile("Right decisions", HELP["right"])
                self._mean = c.Tile("Mean belief if there", HELP["mean"])
            self._texts = [c.words("", "wb-text", "p").style("margin: 10px 0 0") for _ in range(3)]
            self._none = c.words("", "wb-soft", "p")
            self._count = c.words("0", "wb-alive")
            self._count._props["data-risk-updates"] = ""
        desk.draw(self._draw)

    def _draw(self) -> None:
        desk = self.desk
        self._count.set(str(desk.updates))
        whole = desk.asked is not None and desk.asked.scenario == "whole"
        c.show(self._card, not whole)
        if desk.asked is None:
            self._none.set(
                "No count of this release has discrete Gaussian noise and changes by one with one record: an "
                "attack on a single count is not computed; the bounds below hold."
            )
        else:
            self._none.set("")
        c.show(self._one, desk.asked is not None)
        if desk.found is None or whole:
            return
        asked, found = desk.found
        self._posterior.set(
            chance_text(found.posterior), f"before: {chance_text(float(Fraction(asked.prior)))}"
        )
        self._ratio.set(words.number(found.ratio, 4), "belief afterwards over prior")
        if found.right is None:
            self._right.set("–", "not computed; the bound holds")
        else:
            present, absent, both = found.right
            self._right.set(
                percent_text(both), f"if there {percent_text(present)}, if not {percent_text(absent)}"
            )
        mean = found.mean_present
        note = "not computed here" if mean is None else f"if not there {chance_text(found.mean_absent)}"
        self._mean.set("–" if mean is None else chance_text(mean), note)
        said = found.said
        for place, text in enumerate(self._texts):
            text.set(said[place] if place < len(said) else "")


class Pictures:
    """Belief against what is published, and decisions against the prior."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._seen: tuple[Any, ...] = ()
        with c.box("wb-two") as self._both:
            with c.box("wb-card", "section") as self._left:
                c.heading("Belief, by what is published", HELP["posterior"])
                self._belief = c.Chart("belief against the published count")
            with c.box("wb-card", "section"):
                c.heading("Right decisions, by prior", HELP["right"])
                self._accuracy = c.Chart("right decisions against the prior")
        for chart in (self._belief, self._accuracy):
            chart.element.style("height: 290px")
        desk.draw(self._draw)

    def _draw(self) -> None:
        desk, dark = self.desk, self.desk.session.dark
        whole = desk.asked is None or desk.asked.scenario == "whole"
        c.show(self._left, not whole)
        self._both.style(add=_WHOLE) if whole else self._both.style(remove=_WHOLE)
        seen = (desk.found, desk.bounds, dark, whole)
        if all(a is b for a, b in zip(seen, self._seen, strict=False)) and self._seen:
            return
        self._seen = seen
        found = None
        if desk.found is not None and not whole:
            asked, found = desk.found
            prior = float(Fraction(asked.prior))
            self._belief.set(
                charts.belief(
                    found.curve, prior=prior, value=asked.published, posterior=found.posterior, dark=dark
                )
            )
            self._belief.say(
                f"Belief against the published count; {chance_text(found.posterior)} at {asked.published}, "
                f"{chance_text(prior)} before."
            )
        if desk.bounds is not None:
            key, main = desk.bounds
            right = found.right[2] if found is not None and found.right else None
            mine = found.accuracy if found is not None else ()
            prior = float(Fraction(key[2]))
            self._accuracy.set(charts.accuracy(mine, main.line, prior=prior, right=right, dark=dark))
            self._accuracy.say(
                f"Right decisions against the prior; at prior {chance_text(prior)} someone who knows every "
                f"other record is right {percent_text(main.profile.overall[0].accuracy)} on the main path."
            )


class Everything:
    """The best anyone can do with everything published, and level by level."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._seen: Any = None
        with c.box("wb-card", "section") as self._card:
            c.heading("With everything published: the best anyone can do", HELP["bound"])
            with c.box("wb-tiles"):
                self._right = c.Tile("Right decisions, at most", HELP["bound"], first=True)
                self._advantage = c.Tile("Advantage", HELP["advantage"])
                self._mean = c.Tile("Mean belief if there, all", HELP["mean"])
                self._median = c.Tile("Median belief", HELP["median"])
            self._progress = c.words("", "wb-soft", "div").style("margin-top: 8px")
            self._texts = [c.words("", "wb-text", "p").style("margin: 10px 0 0") for _ in range(2)]
            c.words("", tag="div").style("height: 18px")
            c.heading("Level by level", HELP["levels"], 3)
            self._chart = c.Chart("right decisions by level")
        desk.draw(self._draw)

    def _draw(self) -> None:
        desk, dark = self.desk, self.desk.session.dark
        self._progress.set(desk.progress)
        whole = desk.asked is not None and desk.asked.scenario == "whole"
        self._card.style(add="order: -1") if whole else self._card.style(remove="order: -1")
        c.put(self._card, "data-complete-risk", "true" if desk.overall else "false")
        if desk.bounds is None:
            return
        profile = desk.overall or desk.bounds[1].profile
        (row,) = profile.overall
        note = profile.claim.kind.label
        if profile.is_bound:
            note = "all pairs of paths" if profile.compared > 1 else "the only case"
        right = bound_text(row.accuracy) if profile.is_bound else percent_text(row.accuracy)
        self._right.set(right, f"{note}; nothing published {percent_text(row.baseline)}")
        self._advantage.set(f"{row.advantage:.4f}", f"{note}, over chance")
        self._mean.set(chance_text(row.expected), note)
        self._median.set(chance_text(row.quantiles[2]), "of targets who are present")
        for text, said in zip(self._texts, said_of(profile), strict=True):
            text.set(said)
        seen = (profile, dark)
        if self._seen == seen:
            return
        self._seen = seen
        pairs = list(zip(profile.one_count, profile.levels, strict=True))
        self._chart.element.style(f"height: {110 + 30 * len(pairs)}px")
        self._chart.set(
            charts.levels(
                [one.scope for one, _ in pairs],
                [one.accuracy for one, _ in pairs],
                [level.accuracy for _, level in pairs],
                overall=row.accuracy,
                baseline=row.baseline,
                dark=dark,
            )
        )
        self._chart.say(
            "Right decisions from one count and from all counts of a level: "
            + "; ".join(
                f"{one.scope} {percent_text(one.accuracy)}, {percent_text(level.accuracy)}"
                for one, level in pairs
            )
        )
