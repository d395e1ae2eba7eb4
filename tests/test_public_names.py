"""The public names: few, importable, documented, and the same for people and for type checkers."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import re
from pathlib import Path

import pytest

import discreet

MOST = 40
PUBLIC = sorted(discreet.__all__)
OTHER_NAMES = {"GaussianNoise": "DiscreteGaussian", "LaplaceNoise": "DiscreteLaplace"}


def test_there_are_few() -> None:
    assert len(PUBLIC) <= MOST
    assert len(set(PUBLIC)) == len(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_each_can_be_had_and_says_what_it_is(name: str) -> None:
    value = getattr(discreet, name)
    assert inspect.getdoc(value), f"{name} has no docstring"
    assert value.__name__ == OTHER_NAMES.get(name, name)
    assert value.__module__.startswith("discreet.")
    assert name in dir(discreet)


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(discreet.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {
        (alias.name, node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {name for name, _ in declared} == set(PUBLIC)
    assert declared == set(discreet._HOME.items())


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'zcdp'"):
        discreet.zcdp  # noqa: B018


def test_the_version_is_that_of_the_package() -> None:
    assert discreet.__version__ == importlib.metadata.version("discreet")


def test_citation_and_changelog_name_the_version() -> None:
    root = Path(__file__).parents[1]
    assert f"version: {discreet.__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(.+?)\] - \d", changelog, re.M)  # an unreleased section may stand above it
    assert newest is not None
    assert newest[1] == discreet.__version__


def test_no_module_has_the_name_of_what_its_package_loads_on_use() -> None:
    """Importing such a module by itself would put it in the place of the function."""
    home = Path(discreet.__file__).parent
    for file in home.rglob("__init__.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        if not any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body):
            continue
        package = ".".join(["discreet", *file.parent.relative_to(home).parts])
        modules = {one.stem for one in file.parent.glob("*.py")}
        modules |= {one.parent.name for one in file.parent.glob("*/__init__.py")}
        # what is imported at once stays: its module is loaded already
        at_once = {one.name for node in tree.body if isinstance(node, ast.ImportFrom) for one in node.names}
        assert not modules & {*importlib.import_module(package).__all__} - at_once, package
