"""A synthetic nation in the file formats of the tabulation, of any size.

Its groups, regions and people are invented; with `params` the groups are those of a given specification.
Randomness is NumPy's, seeded by an argument: these are data, not noise, and protect nobody.
"""

from __future__ import annotations

from discreet.release.safetab.synthetic.nation import Nation, synthesize

__all__ = ["Nation", "synthesize"]
