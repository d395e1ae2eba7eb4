"""Cases that a search found, as files: what `make fuzz` saves and `make test` replays.

A case names a check and a seed. A check is a property test (any test with `@given`, named by its pytest id)
or a module `fuzz_*.py` somewhere below `tests/` with a function `check_one(seed)` that raises if the product
fails its promise on the inputs drawn from that seed. What was found is kept in words beside the seed, so that
a case can be understood, and rewritten as an ordinary test, when the generator changes.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True, slots=True)
class Case:
    """A check (`tests/x/fuzz_y.py`, or `tests/x/test_y.py::test_z`), a seed, and what was seen."""

    check: str
    seed: int
    found: str = ""

    @property
    def is_property(self) -> bool:
        return "::" in self.check

    @property
    def file(self) -> Path:
        """Where the case is kept: the name says which check it is of."""
        stem = "".join(sign if sign.isalnum() else "-" for sign in self.check.removeprefix("tests/"))
        return CASES / f"{stem[:120].strip('-')}-{self.seed}.json"

    def save(self) -> Path:
        CASES.mkdir(exist_ok=True)
        self.file.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return self.file


def saved() -> list[Case]:
    """The cases of the folder, by name."""
    return [Case(**json.loads(path.read_text(encoding="utf-8"))) for path in sorted(CASES.glob("*.json"))]


def modules() -> list[str]:
    """The modules with a `check_one`, as paths from the root of the project."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("fuzz_*.py"))


def checker(module: str) -> Callable[[int], object]:
    """Return `check_one` of a module."""
    path = ROOT / module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    if path.stem in sys.modules:
        loaded = sys.modules[path.stem]
    else:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        loaded = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
    check: Callable[[int], object] = loaded.check_one
    return check
