"""Nothing outside `noise` and `loss` asks which law or evaluator it has: laws say what they can."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

import house
import pytest
from house import SOURCE

from discreet import noise
from discreet.loss.law import LossLaw, NoiseLossLaw
from discreet.noise import Noise

ROOMS = ("noise", "loss")

PUBLIC = {name: getattr(noise, name) for name in noise.__all__}
LAWS = {name for name, one in PUBLIC.items() if isinstance(one, type) and issubclass(one, Noise)} - {"Noise"}
EVALUATORS = {"LatticeEvaluator", "GridEvaluator", "ListEvaluator"}
KINDS = LAWS | EVALUATORS

LOCALS = {"noise", "event", "term"}
"""What a law of noise is called where it is used."""

LABELS = ("FAMILY", "PARAMETER")
"""Words for people, which decide nothing."""

KIND_ATTRIBUTES = ("as_lattice", "exact_density", "normal_loss", "is_gaussian", "is_noise", "is_on_lattices")
"""What `loss` chooses an evaluator by, and what once told laws apart."""


def named(node: ast.AST) -> set[str]:
    """All names and attributes in a part of a tree."""
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Attribute)
    }


def last_name(node: ast.AST | None) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def is_label(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in LABELS


def is_call_of(node: ast.AST, *functions: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and last_name(node.func) in functions


def without_types(tree: ast.AST) -> Iterator[ast.AST]:
    """All parts of a tree but the arguments of generic types, which are tuples of classes, too."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        skipped = (
            node.slice if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) else None
        )
        waiting += [child for child in ast.iter_child_nodes(node) if child is not skipped]


def questions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Where a module asks for the kind of a law, and how."""
    for node in without_types(tree):
        if is_call_of(node, "isinstance", "issubclass") and named(node.args[-1]) & KINDS:
            yield node.lineno, "isinstance"
        elif is_call_of(node, "get") and any(map(is_label, node.args)):
            yield node.lineno, "a table by name"
        elif is_call_of(node, "getattr", "hasattr") and last_name(node.args[0]) in LOCALS:
            yield node.lineno, "hasattr"
        elif isinstance(node, ast.MatchClass) and named(node.cls) & KINDS:
            yield node.lineno, "match"
        elif isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                if last_name(side) in KINDS or (
                    isinstance(side, ast.Tuple | ast.Set) and named(side) & KINDS
                ):
                    yield node.lineno, "type"
                if is_label(side):
                    yield node.lineno, "name"
        elif isinstance(node, ast.Subscript) and is_label(node.slice):
            yield node.lineno, "a table by name"
        elif isinstance(node, ast.Dict | ast.List | ast.Set | ast.Tuple):
            parts = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts
            if any(last_name(part) in KINDS or named_law(part) for part in parts if part is not None):
                yield node.lineno, "a table of classes"
        elif isinstance(node, ast.Attribute) and node.attr in KIND_ATTRIBUTES:
            yield node.lineno, "attribute"


def named_law(node: ast.AST) -> bool:
    """Whether this is the name of a law, such as DiscreteGaussian.FAMILY."""
    return isinstance(node, ast.Attribute) and last_name(node.value) in KINDS


@pytest.mark.xdist_group("architecture")  # where all modules are parsed already
def test_nothing_outside_asks_for_the_kind_of_a_law() -> None:
    asked = [
        f"{module.relative_to(SOURCE)}:{line}: {how}"
        for module, tree in house.modules().items()
        if module.relative_to(SOURCE).parts[0] not in ROOMS
        for line, how in questions(tree)
    ]
    assert asked == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(noise, DiscreteGaussian | PowerNoise)",
        "all(isinstance(event, noise.LatticeNoise) for event in events)",
        "issubclass(kind, TableNoise)",
        "type(event) is DiscreteLaplace",
        "type(event) in (ContinuousGaussian, ContinuousLaplace)",
        "match event:\n    case DiscreteGaussian(variance=v): ...",
        "{DiscreteGaussian: 1}[type(event)]",
        "known = (DiscreteGaussian, DiscreteLaplace)",
        "names = {DiscreteGaussian.FAMILY: 'a'}",
        "event.FAMILY == 'discrete Gaussian'",
        "names[event.FAMILY]",
        "names.get(event.PARAMETER)",
        "event.is_gaussian",
        "event.as_lattice is None",
        "hasattr(noise, 'variance')",
        "isinstance(law, GridEvaluator)",
    ],
)
def test_asking_is_found(code: str) -> None:
    assert list(questions(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    ["DiscreteGaussian(5)", "isinstance(event, Noise)", "found: tuple[TableNoise, float]", "f'{law.FAMILY}'"],
)
def test_making_and_naming_a_law_is_not_asking(code: str) -> None:
    assert not list(questions(ast.parse(code)))


def test_evaluators_are_siblings() -> None:
    from discreet.loss.grid_evaluator import GridEvaluator
    from discreet.loss.lattice_evaluator import LatticeEvaluator

    assert GridEvaluator.__bases__ == LatticeEvaluator.__bases__ == (NoiseLossLaw,)
    assert NoiseLossLaw.__bases__ == (LossLaw,)
