"""What the Risk page answers: numbers, pictures, sentences, and the command lines that give the same."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.report import words
from discreet.workbench import controls as c
from discreet.workbench import risk_charts as charts
from discreet.workbench import risk_plan as plan
from discreet.workbench.risk_words import HELP, chance_text, percent_text

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
            key, bounds = desk.bounds
            right = found.right[2] if found is not None and found.right else None
            mine = found.accuracy if found is not None else ()
            prior = float(Fraction(key[2]))
            self._accuracy.set(charts.accuracy(mine, bounds.line, prior=prior, right=right, dark=dark))
            self._accuracy.say(
                f"Right decisions against the prior; at prior {chance_text(prior)} no one can be right more "
                f"often than {percent_text(bounds.accuracy)} on the main path."
            )


class Everything:
    """The bound for everything published, and level by level."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._seen: Any = None
        with c.box("wb-card", "section") as self._card:
            c.heading("With everything published: what no one can beat", HELP["bound"])
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
        _, bounds = desk.bounds
        overall, cases, said = desk.overall or (None, 0, bounds.said[0])
        best = bounds.accuracy if overall is None else overall
        note = "main path" if overall is None else "all pairs of paths" if cases > 1 else "the only case"
        self._right.set(percent_text(best), f"{note}; nothing published {percent_text(bounds.baseline)}")
        self._advantage.set(f"{bounds.advantage:.4f}", "main path, over chance")
        self._mean.set(chance_text(bounds.mean), "main path")
        self._median.set(chance_text(bounds.quantiles[1]), "of targets who are there")
        self._texts[0].set(said)
        self._texts[1].set(bounds.said[1])
        seen = (bounds, overall, dark)
        if self._seen == seen:
            return
        self._seen = seen
        levels = bounds.levels
        self._chart.element.style(f"height: {110 + 30 * len(levels)}px")
        self._chart.set(
            charts.levels(
                [level.level for level in levels],
                [level.one for level in levels],
                [level.all for level in levels],
                overall=best,
                baseline=bounds.baseline,
                dark=dark,
            )
        )
        self._chart.say(
            "Right decisions from one count and from all counts of a level: "
            + "; ".join(f"{one.level} {percent_text(one.one)}, {percent_text(one.all)}" for one in levels)
        )
