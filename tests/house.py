"""`make house`: how large the house is, whether each idea lives in one room, and what a journey executes.

Everything is read from the sources, or traced; nothing is listed by hand but the names that are looked for.
`figures()` gives the same as a dictionary, so that tests can hold the line.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "discreet"
Trees = dict[Path, ast.Module]

JOURNEYS: dict[str, list[list[str]]] = {
    "account": [["account", "pl94-2020-units", "--delta", "1e-10", "--quiet", "--jobs", "1"]],
    "calibrate": [["calibrate", "dhc-2022-08-25", "--zcdp", "--delta", "1e-10", "--quiet", "--jobs", "1"]],
    "measure": [
        ["measure", "release.toml", "--counts", "counts.csv", "--out", "noisy", "--rehearsal", "1", "--quiet"]
    ],
    "safetab run": [
        ["safetab", "synth", "nation", "--persons", "300", "--states", "1", "--quiet"],
        ["safetab", "run", "nation/params", "nation/data", "out", "--rehearsal", "1", "--quiet"],
    ],
    "estimate": [
        [
            "measure",
            "release.toml",
            "--counts",
            "counts.csv",
            "--out",
            "noisy",
            "--rehearsal",
            "1",
            "--quiet",
        ],
        ["estimate", "noisy", "--out", "best", "--quiet"],
    ],
    "risk": [["risk", "explain", "pl94-2020-units", "--prior", "1/2", "--quiet", "--jobs", "1"]],
}
"""What a user does: the last command of each is the journey, those before it prepare for it."""

RELEASE = """\
name = "small"
neighbours = "bounded"
[[levels]]
name = "State"
rho = "1/2"
[levels.queries]
"total" = "1"
[[levels]]
name = "County"
rho = "1/2"
[levels.queries]
"total" = "1"
"""
COUNTS = "level,unit,parent,query,cell,count\nState,S,,total,all,30\n" + "".join(
    f"County,C{n},S,total,all,{10 * n}\n" for n in (1, 2)
)

_TRACE = """
import sys, json, threading
import discreet
from discreet.cli import run
package = discreet.__path__[0] + "/"
seen = {}
def importing(frame):
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
def trace(frame, event, arg):
    code = frame.f_code
    if not (code.co_filename.startswith(package) and code.co_flags & 1) or importing(frame):
        return None  # not the bodies of classes, nor what only runs because a module is imported
    lines = seen.setdefault(code.co_filename.removeprefix(package), set())
    def line(frame, event, arg):
        lines.add(frame.f_lineno)
        return line
    return line
*before, last = json.loads(sys.argv[1])
for command in before:
    assert run(command) == 0, command
threading.settrace(trace)
sys.settrace(trace)
status = run(last)
sys.settrace(None)
print("\\n" + json.dumps([status, {name: sorted(lines) for name, lines in sorted(seen.items())}]))
"""
"""Notes the lines of functions that run, but not what only runs because a module is imported."""


@cache
def modules() -> Trees:
    """Every module of the package, parsed."""
    gc.disable()  # a million nodes, all of which stay: looking through them for what may go takes seconds
    try:
        return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    finally:
        gc.freeze()
        gc.enable()


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Everything in a module: a dozen questions walk through it once."""
    return tuple(ast.walk(tree))


def name_of(path: Path) -> str:
    """The module as a path within the package."""
    return path.relative_to(SOURCE).as_posix()


def room(path: Path) -> str:
    """The folder of the package that a module lies in."""
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "root"


# -- each idea once ----------------------------------------------------------------------------------------


def defining(*names: str) -> Callable[[ast.Module], bool]:
    """Whether a module defines a function or a class of one of these names at its top."""
    return lambda tree: any(
        isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names for node in tree.body
    )


def calling(*names: str) -> Callable[[ast.Module], bool]:
    """Whether a module uses an attribute of one of these dotted ends, such as os.replace."""
    ends = {name.rpartition(".")[2] for name in names}
    return lambda tree: any(
        isinstance(node, ast.Attribute) and node.attr in ends and ast.unparse(node).endswith(names)
        for node in nodes(tree)
    )


def saying(text: str) -> Callable[[ast.Module], bool]:
    """Whether a module has a message with these words; examples in its documentation do not count."""
    return lambda tree: any(isinstance(node, ast.Raise) and text in ast.unparse(node) for node in nodes(tree))


def importing(module: str) -> Callable[[ast.Module], bool]:
    """Whether a module imports another, anywhere in it."""
    return lambda tree: any(
        isinstance(node, ast.ImportFrom) and node.module == module for node in nodes(tree)
    )


IDEAS: dict[str, Callable[[ast.Module], bool]] = {
    "a dictionary beside its result (as_object)": defining("as_object", "step_object", "_object"),
    "what the screen shows": defining("_show", "Screen"),
    "JSON for readers": defining("json_text"),
    "progress on a terminal": importing("rich.progress"),
    "a number in so many digits": defining("number", "_with_zeros"),
    "percent": defining("percent", "_percent", "percent_text"),
    "a chance that is not rounded away": defining("chance", "_chance", "chance_text"),
    "a reader of exact numbers": defining("fraction", "read_fraction"),
    "the rule of a share, a delta or a prior": saying("between 0 and 1'"),
    "a file that appears whole": calling("os.replace"),
    "a list of problems": defining("Problems"),
    "a frozen object that is filled": calling("object.__setattr__"),
    "theta sums": lambda tree: (
        any(
            isinstance(node, ast.FunctionDef) and node.name.strip("_") in ("theta", "theta3", "theta_sum")
            for node in nodes(tree)
        )
        or calling(".modular_theta")(tree)
    ),
}
"""Ideas that grew in several modules, and how a module that has one is known."""


def ideas(trees: Trees) -> dict[str, list[str]]:
    """The modules in which each idea lives."""
    return {idea: [name_of(p) for p, tree in trees.items() if has(tree)] for idea, has in IDEAS.items()}


def classes_with_two_meanings(trees: Trees) -> dict[str, list[str]]:
    """Names of classes that are defined in more than one module, private ones left out."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name_of(path))
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def names_defined_twice(trees: Trees) -> dict[str, list[str]]:
    """Names of public functions that more than one module defines at its top.

    A command is named after the one question that it asks, so that `cli` may repeat the name of a function.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees.items():
        names = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
        for name in names:
            if not name.startswith("_"):
                places[name].append(name_of(path))
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def foreign_private_attributes(trees: Trees, within: str = "") -> Iterator[str]:
    """Uses of `thing._name` where the module itself defines no `_name`."""
    for path, tree in trees.items():
        name = name_of(path)
        if not name.startswith(within):
            continue
        every = nodes(tree)
        own = {"_exit", "_asdict", "_replace", "_fields"}  # os._exit and those of named tuples are public
        own |= {n.attr for n in every if isinstance(n, ast.Attribute) and _is_self(n.value)}
        own |= {n.name for n in every if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        own |= {n.target.id for n in every if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        for node in every:
            if not isinstance(node, ast.Attribute) or _is_self(node.value) or node.attr in own:
                continue
            if node.attr[:1] == "_" and node.attr[:2] != "__":
                yield f"{name}:{node.lineno} {node.attr}"


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def importers(trees: Trees) -> Counter[str]:
    """How many modules import each module of the package."""
    found: Counter[str] = Counter()
    known = {"discreet." + name_of(p).removesuffix(".py").replace("/", ".") for p in trees}
    for tree in trees.values():
        own = set()
        for node in nodes(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                own |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        found.update(own & known)
    return found


def once_called(trees: Trees) -> int:
    """How many private functions of a module are named once outside of their own definition."""
    count = 0
    for tree in trees.values():
        private = {n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("_")}
        used = Counter(n.id for n in nodes(tree) if isinstance(n, ast.Name) and n.id in private)
        count += sum(many == 1 for many in used.values())
    return count


# -- what a journey executes -------------------------------------------------------------------------------


def statement_lines(path: Path) -> set[int]:
    """The lines inside functions on which a statement begins, or an expression that can be traced."""
    found: set[int] = set()
    codes = [compile(path.read_text(encoding="utf-8"), str(path), "exec")]
    while codes:
        code = codes.pop()
        if code.co_flags & 1:  # a function, not a module nor the body of a class
            found |= {line for _, _, line in code.co_lines() if line and line != code.co_firstlineno}
        codes += [const for const in code.co_consts if hasattr(const, "co_code")]
    return found


def shares_executed(ran: dict[str, list[int]]) -> tuple[float, float]:
    """How much a journey executes of the files that it opens: of all their lines, and of those that can run.

    Half of the lines of a file are documentation, examples, signatures and blank, which nothing executes.
    """
    can_run = {name: statement_lines(SOURCE / name) for name in ran}
    texts = sum(len((SOURCE / name).read_text(encoding="utf-8").splitlines()) for name in ran)
    done = sum(len(can_run[name].intersection(lines)) for name, lines in ran.items())
    return done / texts, done / sum(map(len, can_run.values()))


def journey(commands: list[list[str]]) -> dict[str, list[int]]:
    """The lines that the last of some commands executes, by module, in its own process and threads."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "release.toml").write_text(RELEASE, encoding="utf-8")
        (Path(folder) / "counts.csv").write_text(COUNTS, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", _TRACE, json.dumps(commands)],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
        )
    last = done.stdout.strip().splitlines()[-1:]
    status, found = json.loads(last[0]) if last and last[0].startswith("[") else (None, {})
    if status != 0:
        raise RuntimeError(f"{' '.join(commands[-1])} ended with {status}: {done.stderr.strip()[-500:]}")
    return {name: lines for name, lines in found.items() if name.endswith(".py")}


def figures(*, journeys: bool = False) -> dict[str, object]:
    """All figures of the house."""
    trees = modules()
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    anys: Counter[str] = Counter()
    for path, tree in trees.items():
        lines[room(path)] += len(path.read_text(encoding="utf-8").splitlines())
        files[room(path)] += 1
        anys[room(path)] += sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes(tree))
    found: dict[str, object] = {
        "rooms": {
            name: {"lines": lines[name], "files": files[name], "any": anys[name]} for name in sorted(lines)
        },
        "lines": lines.total(),
        "files": files.total(),
        "any": anys.total(),
        "one importer": sum(many == 1 for many in importers(trees).values()),
        "one caller": once_called(trees),
        "two meanings": classes_with_two_meanings(trees),
        "two definitions": names_defined_twice(trees),
        "private attributes": list(foreign_private_attributes(trees)),
        "ideas": ideas(trees),
    }
    if journeys:
        found["journeys"] = {name: journey(commands) for name, commands in JOURNEYS.items()}
    return found


def main() -> None:
    """Print the figures."""
    found = figures(journeys=True)
    rooms, two, where = found["rooms"], found["two meanings"], found["ideas"]
    private, journeys = found["private attributes"], found["journeys"]
    assert isinstance(rooms, dict)
    assert isinstance(two, dict)
    assert isinstance(where, dict)
    assert isinstance(private, list)
    assert isinstance(journeys, dict)
    print(f"{'room':<12}{'lines':>8}{'files':>7}{'Any':>6}")
    for name, row in rooms.items():
        print(f"{name:<12}{row['lines']:>8,}{row['files']:>7}{row['any']:>6}")
    print(f"{'all':<12}{found['lines']:>8,}{found['files']:>7}{found['any']:>6}")
    print(f"\nModules that one other imports: {found['one importer']}")
    print(f"Private functions with one caller: {found['one caller']}")
    print(f"\nClass names with two meanings: {len(two)}")
    for name, places in two.items():
        print(f"  {name}: {', '.join(places)}")
    twice = found["two definitions"]
    assert isinstance(twice, dict)
    print(f"\nPublic function names with two definitions: {len(twice)}")
    for name, places in twice.items():
        print(f"  {name}: {', '.join(places)}")
    print(f"\nUses of other objects' private attributes: {len(private)}")
    for place in private:
        print(f"  {place}")
    print("\nIdeas, and where they live:")
    for name, places in where.items():
        print(f"  {name}: {', '.join(places) or 'nowhere'}")
    print("\nFiles that a journey opens, and how much of them it executes:")
    for name, ran in journeys.items():
        by_room = Counter(one.split("/")[0] if "/" in one else "root" for one in ran)
        rooms_ran = ", ".join(f"{room} {many}" for room, many in sorted(by_room.items()))
        lines, statements = shares_executed(ran)
        executed = f"{lines:.0%} of all lines, {statements:.0%} of those that can run"
        print(f"  {name}: {len(ran)} ({rooms_ran}); {executed}")


if __name__ == "__main__":
    main()
