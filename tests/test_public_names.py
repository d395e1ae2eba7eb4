"""The public names: few, importable, documented, and the same for people and for type checkers."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import house
import pytest

import discreet

MOST = 45
PUBLIC = sorted(discreet.__all__)
HOME = Path(discreet.__file__).parent
OTHER_NAMES = {
    "GaussianNoise": "DiscreteGaussian",
    "LaplaceNoise": "DiscreteLaplace",
    "report": "page",
}


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


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isfunction(getattr(discreet, name))])
def test_each_function_shows_an_example_and_is_on_the_page(name: str) -> None:
    assert ">>> " in str(inspect.getdoc(getattr(discreet, name)))
    page = (HOME.parents[1] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert f"`{name}`" in page


FACADES = sorted(
    file for file in HOME.rglob("__init__.py") if "loaded_on_use(" in file.read_text(encoding="utf-8")
)


def package_of(file: Path) -> str:
    return ".".join(["discreet", *file.parent.relative_to(HOME).parts])


@pytest.mark.parametrize("file", FACADES, ids=package_of)
def test_type_checkers_see_the_names_that_are_loaded_on_use(file: Path) -> None:
    body = ast.parse(file.read_text(encoding="utf-8")).body
    block = next(node for node in body if isinstance(node, ast.If))
    seen = {
        (alias.name, node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = next(node for node in ast.walk(block) if isinstance(node, ast.Dict))
    loaded = {(name, home) for home, names in ast.literal_eval(homes).items() for name in names.split()}
    assert loaded == seen
    assert sorted(name for name, _ in loaded) == sorted(importlib.import_module(package_of(file)).__all__)


@pytest.mark.parametrize("file", FACADES, ids=package_of)
def test_each_name_of_a_package_can_be_had_and_is_listed(file: Path) -> None:
    package = importlib.import_module(package_of(file))
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'no_such_name'"):
        package.no_such_name  # noqa: B018


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


@pytest.mark.parametrize("file", FACADES, ids=package_of)
def test_no_module_has_the_name_of_what_its_package_loads_on_use(file: Path) -> None:
    """Importing such a module by itself would put it in the place of the function."""
    modules = {one.stem for one in file.parent.glob("*.py")}
    modules |= {one.parent.name for one in file.parent.glob("*/__init__.py")}
    assert not modules & {*importlib.import_module(package_of(file)).__all__}


def test_the_page_has_every_name_of_the_top() -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Za-z_]+)`", page.partition("\nAlso: ")[0]))
    assert set(discreet.__all__) - named <= {"__version__"}


TOGETHER = pytest.mark.xdist_group("architecture")  # so that one process alone parses all modules
MOST_BETWEEN_ROOMS = 925
"""Functions and classes that a room uses of another, or that a package exports; they may become fewer."""
MOST_OTHERS = 225
"""Constants and names of types, likewise."""


@cache
def trees() -> dict[str, ast.Module]:
    """All modules by their names, parsed when a test asks for them: each process collects all tests."""
    return {
        ".".join(["discreet", *path.relative_to(HOME).with_suffix("").parts]).removesuffix(".__init__"): tree
        for path, tree in house.modules().items()
    }


Name = tuple[str, str]
"""A module, and a name in it."""


@cache
def imported(module: str) -> dict[str, Name]:
    """What a module imports of the package, by the name that it has there."""
    return {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in house.nodes(trees()[module])
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("discreet")
        for alias in node.names
    }


def functions_and_classes() -> set[Name]:
    made = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {(module, n.name) for module, tree in trees().items() for n in tree.body if isinstance(n, made)}


def used(module: str) -> Iterator[Name]:
    """Yield what a module uses of the package, as it is named: imported, or taken from an imported module."""
    yield from imported(module).values()
    for node in house.nodes(trees()[module]):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = ".".join(imported(module).get(node.value.id, ()))
            if owner in trees():
                yield owner, node.attr


def home_of(name: Name) -> Name | None:
    """Where a name is defined, which packages pass on; None if it is a module."""
    while name[0] in trees() and name[1] in imported(name[0]):
        name = imported(name[0])[name[1]]
    return None if ".".join(name) in trees() else name


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def foreign(module: str) -> set[Name]:
    """What a module uses that another room defines."""
    homes = {home_of(name) for name in used(module)}
    return {home for home in homes if home is not None and room_of(home[0]) != room_of(module)}


@TOGETHER
def test_what_has_an_underscore_is_used_in_its_own_room_alone() -> None:
    ours = {(module, name) for module in trees() for _, name in foreign(module) if re.match(r"_[^_]", name)}
    assert not ours


@TOGETHER
def test_a_name_that_a_package_passes_on_is_found_where_it_is_defined() -> None:
    assert home_of(("discreet", "account")) == ("discreet.accounting.account", "account")
    assert ("discreet.accounting.account", "account") in foreign("discreet.reports.html")


@TOGETHER
def test_rooms_have_few_names_for_each_other() -> None:
    exported = {home_of((package_of(file), name)) for file in FACADES for name in imported(package_of(file))}
    between = {name for name in exported.union(*map(foreign, trees())) if name is not None}
    made = between & functions_and_classes()
    assert len(made) <= MOST_BETWEEN_ROOMS, f"{len(made)} names: give those of one room an underscore"
    assert len(between - made) <= MOST_OTHERS, f"{len(between - made)}: give those of one room an underscore"
