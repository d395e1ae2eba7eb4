"""Hierarchical release: noisy measurements of counts over a tree of units, and estimates from them."""
