"""The repository without a guest: a copy in which its folder is gone, what needs it, and the tests of both.

The tests of a guest are those in `tests/<its folder>`: of `audit/tabulations` in `tests/audit/tabulations`.

    python tests/guest/without.py census /tmp/without-census
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from discreet.guests import OWN, guests

ROOT = Path(__file__).parents[2]
LEFT_OUT = (".*", "__pycache__", "build", "dist", "site", "*.egg-info")


def gone_with(name: str) -> set[str]:
    """The guest itself and the guests that need it, or need one that does."""
    gone = {name}
    while more := {guest.name for guest in guests() if gone.intersection(guest.needs)} - gone:
        gone |= more
    return gone


def remove(repository: Path, names: Iterable[str]) -> None:
    """Take guests and their tests out of a copy."""
    for name in names:
        folder = name.replace(".", "/")
        for place in (repository / "src" / "discreet" / folder, repository / "tests" / folder):
            if place.exists():  # a nested one may have gone with the one around it
                shutil.rmtree(place)


def copy_without(names: Iterable[str], target: Path) -> Path:
    """Copy the repository, and take guests out of the copy."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for hidden in (".github", ".gitignore", ".pre-commit-config.yaml"):
        source = ROOT / hidden
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target / hidden)
    remove(target, names)
    return target


if __name__ == "__main__":
    copy_without(OWN if sys.argv[1] == "all" else gone_with(sys.argv[1]), Path(sys.argv[2]))
