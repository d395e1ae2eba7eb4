"""Arrays that are used again from block to block.

Fresh memory for every block costs more than the sampling itself: the system has to clear each page.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Workspace:
    """Named scratch arrays, for one thread at a time; their contents are whatever was left there.

    >>> workspace = Workspace()
    >>> first = workspace.array("words", "<u2", 8)
    >>> second = workspace.array("words", "<u2", 4)
    >>> np.shares_memory(first, second)
    True
    """

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def array(self, name: str, dtype: str, size: int) -> NDArray[Any]:
        """Return an uninitialised array; one name always goes with one dtype."""
        found = self._arrays.get(name)
        if found is None or found.size < size:
            found = self._arrays[name] = np.empty(size, dtype=dtype)
        return found[:size]
