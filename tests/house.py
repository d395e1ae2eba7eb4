"""`make house`: how large the house is, and whether each idea lives in one room.

Prints lines and files by room, class names with two meanings, uses of other objects' private attributes,
helpers that should exist once, `Any`, and the modules that each journey executes. `figures()` gives the
same as a dictionary, so that tests can hold the line.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "discreet"

HELPERS = ("as_object", "show", "percent", "percent_text", "read_prior", "read_share", "json_text")
"""Names of helpers that grew in several rooms; each belongs in one."""

JOURNEYS = {
    "account": ["account", "pl94-2020-units", "--delta", "1e-10", "--quiet", "--jobs", "1"],
    "calibrate": ["calibrate", "dhc-2022-08-25", "--zcdp", "--delta", "1e-10", "--quiet"],
    "risk": ["risk", "explain", "pl94-2020-units", "--prior", "1/2", "--quiet"],
    "accuracy": ["accuracy", "pl94-2020"],
    "safetab design": ["safetab", "design"],
}
"""What a user does, as a command that executes it."""

_TRACE = """
import sys, json
from discreet.cli import main
seen = set()
def profile(frame, event, arg):
    name = frame.f_code.co_filename
    if "/discreet/" in name and event == "call" and frame.f_code.co_name != "<module>":
        seen.add(name.split("/discreet/")[-1])
sys.setprofile(profile)
sys.argv = ["discreet", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit:
    pass
finally:
    sys.setprofile(None)
    print("\\n" + json.dumps(sorted(seen)))
"""


def modules() -> dict[Path, ast.Module]:
    """Every module of the package, parsed."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def room(path: Path) -> str:
    """The folder of the package that a module lies in."""
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "root"


def classes_with_two_meanings(trees: dict[Path, ast.Module]) -> dict[str, list[str]]:
    """Names of classes that are defined in more than one module, private ones left out."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(SOURCE).as_posix())
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def helpers(trees: dict[Path, ast.Module]) -> dict[str, list[str]]:
    """Where each helper of the list is defined as a function of a module."""
    places: dict[str, list[str]] = {name: [] for name in HELPERS}
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name.lstrip("_") in places:
                places[node.name.lstrip("_")].append(path.relative_to(SOURCE).as_posix())
    return places


def foreign_private_attributes(trees: dict[Path, ast.Module], within: str = "") -> Iterator[str]:
    """Uses of `thing._name` where the module itself defines no `_name`."""
    for path, tree in trees.items():
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(within):
            continue
        own = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("self", "cls")
        }
        own |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        own |= {
            n.target.id
            for n in ast.walk(tree)
            if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and node.attr.startswith("_")
                and not node.attr.startswith("__")
            ):
                mine = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
                if not mine and node.attr not in own | {"_exit"}:  # os._exit is public
                    yield f"{name}:{node.lineno} {node.attr}"


def journey(command: list[str]) -> list[str]:
    """The modules whose functions a command executes."""
    done = subprocess.run(
        [sys.executable, "-c", _TRACE, json.dumps(command)], capture_output=True, text=True, check=False
    )
    last = done.stdout.strip().splitlines()[-1:]
    found: list[str] = json.loads(last[0]) if last and last[0].startswith("[") else []
    return found


def figures(*, journeys: bool = False) -> dict[str, object]:
    """All figures of the house."""
    trees = modules()
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in trees:
        lines[room(path)] += len(path.read_text(encoding="utf-8").splitlines())
        files[room(path)] += 1
    anys = Counter(
        room(path)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == "Any"
    )
    found: dict[str, object] = {
        "rooms": {
            name: {"lines": lines[name], "files": files[name], "any": anys[name]} for name in sorted(lines)
        },
        "lines": sum(lines.values()),
        "files": sum(files.values()),
        "any": sum(anys.values()),
        "two meanings": classes_with_two_meanings(trees),
        "private attributes": list(foreign_private_attributes(trees)),
        "helpers": helpers(trees),
    }
    if journeys:
        found["journeys"] = {name: journey(command) for name, command in JOURNEYS.items()}
    return found


def main() -> None:
    """Print the figures."""
    found = figures(journeys=True)
    rooms = found["rooms"]
    assert isinstance(rooms, dict)
    print(f"{'room':<12}{'lines':>8}{'files':>7}{'Any':>6}")
    for name, row in rooms.items():
        print(f"{name:<12}{row['lines']:>8,}{row['files']:>7}{row['any']:>6}")
    print(f"{'all':<12}{found['lines']:>8,}{found['files']:>7}{found['any']:>6}")
    for title, heading in (
        ("two meanings", "Class names with two meanings"),
        ("helpers", "Helpers, and where they live"),
    ):
        places = found[title]
        assert isinstance(places, dict)
        print(f"\n{heading}:")
        for name, where in places.items():
            print(f"  {name}: {', '.join(where) or 'nowhere'}")
        if not places:
            print("  none")
    private = found["private attributes"]
    assert isinstance(private, list)
    print(f"\nUses of other objects' private attributes: {len(private)}")
    for place in private:
        print(f"  {place}")
    journeys = found["journeys"]
    assert isinstance(journeys, dict)
    print("\nModules that a journey executes:")
    for name, ran in journeys.items():
        print(f"  {name}: {len(ran)}")


if __name__ == "__main__":
    main()
