"""Hierarchical release: noisy measurements of counts over a tree of units, and estimates from them."""

from discreet.release.hierarchy.estimates import Estimated, estimate
from discreet.release.hierarchy.measuring import POSTS, Measured, Tabulated, measure, tabulate, write_example

__all__ = [
    "POSTS",
    "Estimated",
    "Measured",
    "Tabulated",
    "estimate",
    "measure",
    "tabulate",
    "write_example",
]
