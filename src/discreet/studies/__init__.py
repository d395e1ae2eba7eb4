"""The tables and figures of the papers, computed from the engine, each by one function.

>>> from discreet.studies import find
>>> (entry,) = find("variance-deficit")
>>> study = entry.compute()
>>> study.columns
('sigma2', 'deficit', 'published', 'difference')
"""

from __future__ import annotations

from discreet.studies.catalogue import STUDIES, Entry, find
from discreet.studies.study import Study

__all__ = ["STUDIES", "Entry", "Study", "find"]
