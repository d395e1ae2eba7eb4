"""How far a run is: the seconds of its stages, and who is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Progress = Callable[[str, int, int], None]
"""Called with a stage, how much of it is done, and how much there is."""


@dataclass(slots=True)
class Clock:
    """Seconds by stage, and who wants to know how far it is."""

    progress: Progress | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[Callable[[int, int], None]]:
        """Time a stage; it is given a callable for its progress."""
        tell = self.progress or (lambda _name, _done, _total: None)
        tell(name, 0, 1)
        start = time.perf_counter()
        yield lambda done, total: tell(name, done, total)
        self.seconds[name] = time.perf_counter() - start
        tell(name, 1, 1)
