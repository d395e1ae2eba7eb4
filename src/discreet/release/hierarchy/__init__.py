"""Hierarchical release: noisy measurements of counts over a tree of units, and estimates from them."""

from discreet.release.hierarchy.measuring import Measured, measure
from discreet.release.hierarchy.processing import POSTS
from discreet.release.hierarchy.reprocessing import Processed, post

__all__ = ["POSTS", "Measured", "Processed", "measure", "post"]
