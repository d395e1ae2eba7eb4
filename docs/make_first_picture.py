"""Draws the picture of the first page, docs/images/one-survey.svg: the health survey, drafted and planned."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from discreet import account
from discreet.areas.layout import read_tree
from discreet.budget import load_file
from discreet.estimation import Accuracy, accuracy, plan
from discreet.estimation.goals import read_goals
from discreet.measurement import write_example

PICTURE = Path(__file__).parent / "images" / "one-survey.svg"
CHILDREN = (4, 5)  # four regions, five districts in each
LEFT, RIGHT = 60, 440  # where the scales begin and end
STYLE = """
  rect { fill: #fff; stroke: #dcd8d0 }
  text { font: 16px "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif; fill: #1a1d21 }
  .title { font-weight: 700 } .soft { fill: #545d67 } .planned { fill: #1d4f91; font-weight: 700 }
  .scale { stroke: #a9a59d; stroke-width: 2 } .change { stroke: #1d4f91; stroke-width: 3 }
  circle { fill: #7a838d } circle.now { fill: #1d4f91 }"""


@dataclass(frozen=True)
class Change:
    """One thing that the plan changes, on its scale from `least` to `most`."""

    title: str
    drafted: float
    planned: float
    least: float
    most: float
    shown: str
    ends: tuple[str, str]

    def place(self, value: float) -> float:
        """Where a value is on the scale."""
        return LEFT + (RIGHT - LEFT) * (value - self.least) / (self.most - self.least)

    def drawn(self, top: int) -> str:
        """The title, the scale, and both values on it."""
        before, now, line = self.place(self.drafted), self.place(self.planned), top + 56
        was, will_be = self.shown.format(self.drafted), self.shown.format(self.planned)
        return f"""
  <text class="title" x="24" y="{top}">{self.title}</text>
  <line class="scale" x1="{LEFT}" x2="{RIGHT}" y1="{line}" y2="{line}"/>
  <line class="change" x1="{before:.1f}" x2="{now:.1f}" y1="{line}" y2="{line}"/>
  <circle cx="{before:.1f}" cy="{line}" r="6"/>
  <circle class="now" cx="{now:.1f}" cy="{line}" r="9"/>
  <text class="soft" x="{before - 4:.1f}" y="{line - 20}">drafted: {was}</text>
  <text class="planned" x="{now + 9:.1f}" y="{line - 20}" text-anchor="end">planned: {will_be}</text>
  <text class="soft" x="{LEFT}" y="{line + 28}" text-anchor="middle">{self.ends[0]}</text>
  <text class="soft" x="{RIGHT}" y="{line + 28}" text-anchor="middle">{self.ends[1]}</text>"""


def changes() -> tuple[Change, Change]:
    """What the best plan for the goals of the example changes."""
    with tempfile.TemporaryDirectory() as folder:
        written = {path.name: path for path in write_example(folder)}
        drafted = load_file(written["release.toml"])
        areas = read_tree(written["units.csv"], drafted)
        goals = read_goals(written["goals.toml"].read_text(encoding="utf-8"), "goals.toml")
    both = (drafted, plan(drafted, tree=CHILDREN, goals=goals, certify=False).release)
    right = [50 * (1 + float(account(one).delta(epsilon=0))) for one in both]
    margins = [region_margin(accuracy(one, tree=areas)) for one in both]
    return (
        Change(
            "How often the best guess about one person is right",
            *right,
            least=50,
            most=90,
            shown="{:.0f} in 100",
            ends=("50, a coin", "90"),
        ),
        Change(
            "Margin of adults by limitation, in a region",
            *margins,
            least=3,
            most=6,
            shown="±{:.2f}",
            ends=("±3", "±6"),
        ),
    )


def region_margin(found: Accuracy) -> float:
    """The 95 % margin of adults by limitation in a region."""
    (level,) = [one for one in found.levels if one.name == "Region"]
    (query,) = [one for one in level.queries if one.name == "adult * limitation"]
    assert query.margin95 is not None
    return query.margin95


def picture() -> str:
    """The picture, as SVG."""
    told, read = changes()
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 300" role="img">
  <title>One survey, planned twice: more exact for its users, and less telling about a person</title>
  <style>{STYLE}</style>
  <rect x="0.5" y="0.5" width="479" height="299" rx="10"/>{told.drawn(44)}{read.drawn(182)}
</svg>
"""


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
