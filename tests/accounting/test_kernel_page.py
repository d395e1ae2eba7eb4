"""docs/explanation/kernel.md lists the whole kernel, with tests that exist, and is as short as it says."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src" / "discreet"
PAGE = (TESTS.parent / "docs" / "explanation" / "kernel.md").read_text(encoding="utf-8")
READ, BESIDE = PAGE.split("## Beside them\n")

ROOMS = ("noise", "loss", "budget", "accounting")
LEAVES = ("errors.py", "numbers.py", "memory.py", "questions.py", "faces.py")
QUESTIONS = ("account", "calibration", "certificate", "proofs", "verification")
AIM = 22_500

ROW = re.compile(r"^\| `([\w/]+\.py)` \| .+ \| `([\w/]+\.py)::(\w+)` \|$", re.MULTILINE)


def modules(text: str) -> list[str]:
    return [module for module, _, _ in ROW.findall(text)]


def lines(path: str) -> int:
    return len((SOURCE / path).read_text(encoding="utf-8").splitlines())


def file_of(module: str) -> str | None:
    """The file of a module, from the package's folder on; None if it is no module of it."""
    path = SOURCE.joinpath(*module.split(".")[1:])
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if module.startswith("discreet.") and file.is_file():
            return file.relative_to(SOURCE).as_posix()
    return None


def imported(file: str) -> Iterator[str]:
    """The files of what a module imports anywhere, of names that packages load on use where they are made."""
    for node in ast.walk(ast.parse((SOURCE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in (alias.name for alias in node.names):
                home = file_of(f"{node.module}.{name}")
                if home is None and (home := file_of(node.module)) and home.endswith("__init__.py"):
                    value = getattr(importlib.import_module(node.module), name)
                    home = file_of(getattr(value, "__module__", "")) or home
                if home is not None:
                    yield home


def reached(roots: list[str]) -> set[str]:
    """The kernel's files that these need, directly or not; those of packages have names only."""
    found, waiting = set[str](), list(roots)
    while waiting:
        file = waiting.pop()
        if file not in found and (file in LEAVES or file.split("/")[0] in ROOMS):
            found.add(file)
            waiting += [] if file.endswith("__init__.py") else imported(file)
    return found


def test_each_module_of_the_kernel_is_listed_once() -> None:
    files = [path for room in ROOMS for path in (SOURCE / room).rglob("*.py") if path.name != "__init__.py"]
    kernel = [path.relative_to(SOURCE).as_posix() for path in files] + [*LEAVES]
    assert sorted(modules(PAGE)) == sorted(kernel)
    assert PAGE.count("\n| `") == len(kernel), "a row is not written as the others are"


@pytest.mark.parametrize(("module", "file", "test"), ROW.findall(PAGE))
def test_the_test_of_a_module_exists(module: str, file: str, test: str) -> None:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, module


def test_what_is_read_is_all_that_an_account_needs_and_as_short_as_stated() -> None:
    needed = reached([f"accounting/{name}.py" for name in QUESTIONS])
    assert not needed & {*modules(BESIDE)}
    packages = {file for file in needed if file.endswith("__init__.py")}
    assert needed - packages <= {*modules(READ)}
    stated = re.search(r"at most ([\d,]+) lines", PAGE)
    assert stated is not None
    assert int(stated[1].replace(",", "")) <= AIM
    every = {
        path.relative_to(SOURCE).as_posix() for room in ROOMS for path in (SOURCE / room).rglob("__init__.py")
    }
    assert sum(map(lines, {*modules(READ), *every})) <= AIM
