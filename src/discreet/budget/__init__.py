"""What is released, never what it costs.

Events, levels of queries, spines and the paths they give, neighbours, and presets as TOML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.budget.attributes import Attributes, Recode, Tabulation
    from discreet.budget.claims import AnswerKind, Claim
    from discreet.budget.levels import Level, Query
    from discreet.budget.neighbours import Neighbours, cases
    from discreet.budget.presets import ALIASES, load, load_file, load_preset, preset_names, preset_titles
    from discreet.budget.release import Release, Row
    from discreet.budget.spine import Spine
    from discreet.budget.variables import RecordWeight, Variable
    from discreet.noise import DiscreteGaussian, DiscreteLaplace, grouped
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.budget.attributes": "Attributes Recode Tabulation",
            "discreet.budget.claims": "AnswerKind Claim",
            "discreet.budget.levels": "Level Query",
            "discreet.budget.neighbours": "Neighbours cases",
            "discreet.budget.presets": "ALIASES load load_file load_preset preset_names preset_titles",
            "discreet.budget.release": "Release Row",
            "discreet.budget.spine": "Spine",
            "discreet.budget.variables": "RecordWeight Variable",
            "discreet.noise": "DiscreteGaussian DiscreteLaplace grouped",
        },
    )

__all__ = [
    "ALIASES",
    "AnswerKind",
    "Attributes",
    "Claim",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Level",
    "Neighbours",
    "Query",
    "Recode",
    "RecordWeight",
    "Release",
    "Row",
    "Spine",
    "Tabulation",
    "Variable",
    "cases",
    "grouped",
    "load",
    "load_file",
    "load_preset",
    "preset_names",
    "preset_titles",
]
