"""The house keeps its shape: imports go one way, the import of the package is light, modules stay short."""

from __future__ import annotations

import ast
import fractions
import importlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path

import house
import pytest
from cyclopts import App
from present import IS_WHOLE, PRESENT

from discreet.answers import Claimed
from discreet.budget import Claim
from discreet.budget.scope import Extent, Scope
from discreet.cli.commands import all_commands
from discreet.guests import OWN, loaded

SOURCE = Path(__file__).parents[1] / "src" / "discreet"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST = 900

pytestmark = pytest.mark.xdist_group("architecture")  # so that one process alone parses all modules

GUESTS = set(OWN)

ANY = {
    "accounting/certificate.py": "JSON, until it is checked",
    "budget/toml.py": "TOML, until it is checked",
    "cli/console.py": "options passed on to Cyclopts",
    "files.py": "PyArrow, which has no types",
    "interop/dp_accounting.py": "dp-accounting, which has no types and need not be installed",
    "render/json_schema.py": "JSON, which is what it checks",
    "interop/opendp.py": "OpenDP, which need not be installed",
    "interop/registry.py": "YAML and JSON, until it is checked",
    "interop/riskcal.py": "riskcal, which has no types and need not be installed",
    "interop/tumult.py": "Tumult Analytics, which need not be installed",
    "records/engine/__init__.py": "Ibis, which has no types that a checker could use",
    "records/engine/spark.py": "Spark, which need not be installed",
    "tables/frames.py": "pandas and polars, which need not be installed",
    "ledger/manifests.py": "JSON, until it is checked",
    "census/mechanism/counts.py": "NumPy integers of any width",
    "render/charts.py": "ECharts, whose options are JSON",
    "render/pictures.py": "settings of Matplotlib",
    "reports/plots.py": "options passed on to Matplotlib",
    "reports/printed.py": "XlsxWriter, which has no types",
    "census/reports/workbook.py": "XlsxWriter, which has no types",
    "reports/html/__init__.py": "options that `page` passes on to `gather`",
    "disclosure/attack.py": "options passed on to a method",
    "disclosure/inputs.py": "one number gives a float, several give an array",
    "disclosure/table.py": "PyArrow, which has no types",
    "tables/columns.py": "NumPy numbers of any kind",
    "tables/reader.py": "PyArrow, which has no types; pandas and polars",
    "studies/register.py": "TOML, until it is checked",
}
"""Border modules, in which `Any` may be written, and why. Elsewhere a type says what comes."""

WRITERS = {
    "numbers.py": "exact numbers in errors and files, and intervals",
    "answers/quantity.py": "the class that writes numbers",
    "accounting/calibration.py": "the note in the file of a calibrated release",
    "accounting/certificate.py": "certificates, which are files",
    "census/mechanism/margins.py": "tables, which are files",
    "census/mechanism/released.py": "tables, which are files",
    "census/safetab/configuration.py": "parameters, which are files",
    "render/look.py": "numbers at the axes of pictures",
    "render/html.py": "the width of a bar, for a style sheet",
    "studies/drawing.py": "labels in pictures",
    "workbench/controls.py": "a width, for a style sheet",
}
"""Modules that write floats themselves, and why. Elsewhere a `Quantity` does: it rounds a bound its way."""

SENTENCES = {
    "accounting/calibration.py": "the note in the file of a calibrated release",
    "accounting/certificate.py": "what a certificate says, which its digest covers",
    "accounting/account.py": "why an account is no bound, as certificates state it",
    "budget/scope.py": "of what a number is true, as its claim states it",
    "budget/release.py": "why the account of several joined tables is a bound, as its claim states it",
    "estimation/best_plan.py": "the note in the file of a planned release",
    "ledger/composition.py": "why a cost is a bound, as certificates state it",
    "interop/registry.py": "the texts of an entry, which is a file",
    "disclosure/limits.py": "the note in the file of a calibrated release",
    "disclosure/compared.py": "why a risk is a bound, as its claim states it",
    "ledger/charges.py": "why a charge is a bound, as the claim of a release states it",
    "cellkey/run.py": "why the account of an entry is a bound, as the ledger states it",
    "census/safetab/account.py": "why an account is a bound, as summaries state it",
    "census/safetab/curator.py": "the notes of a curator's report, which its files keep",
}
"""Rooms return results without words; these modules have sentences, and why. Errors are not meant."""

WITHOUT_WORDS = (
    "noise",
    "loss",
    "budget",
    "accounting",
    "comparisons",
    "promises",
    "areas",
    "ledger",
    "records",
    "estimation",
    "measurement",
    "disclosure",
    "audit",
    "cellkey",
    "census",
    "interop",
    "nation",
)

FLOAT_CODE = re.compile(r"(^|[.\d#,+}'\"])[efgEFG%]($|[^a-zA-Z])|^\{\w+\}$")
"""The end of a format that floats have, such as .3f or g, or a format that is not known until it is used."""

SENTENCE = re.compile(r"[A-Z]\S*( \S+){3,}\.")
"""Four words or more, from a capital letter to a full stop."""

Found = tuple[str, str]


def part(module: str) -> str | None:
    """The part of the package that a module belongs to; None if it is not of the package."""
    names = module.split(".")
    if names[0] != "discreet":
        return None
    return names[1] if len(names) > 1 else "discreet"


def imports(tree: ast.AST, package: str, where: str = "") -> Iterator[Found]:
    """Yield (where, module) for every import, those inside functions included."""
    for node in ast.iter_child_nodes(tree):
        inside = where
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = f"{where}.{node.name}" if where else node.name
        elif isinstance(node, ast.Import):
            yield from ((where, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
            # `from discreet import noise` names a part in the alias
            yield from ((where, f"{base}.{a.name}" if base == "discreet" else base) for a in node.names)
        yield from imports(node, package, inside)


def package_of(path: Path) -> str:
    return ".".join(("discreet", *path.relative_to(SOURCE).parent.parts))


def tree_of(path: Path) -> ast.Module:
    return house.modules()[path]


@cache
def found_in(path: Path) -> set[Found]:
    return set(imports(tree_of(path), package_of(path)))


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def is_command_of_a_guest(path: Path) -> bool:
    """Whether a module is what a guest brings to the command line."""
    room, *inside = path.relative_to(SOURCE).parts
    return room in GUESTS and inside[0] in ("command.py", "commands")


def says_what_results_tell(path: Path) -> bool:
    """Whether a module has the words of a guest's results."""
    room, *inside = path.relative_to(SOURCE).parts
    return room in GUESTS and inside[0] in ("answer.py", "answers", "reports")


def test_imports_are_found_wherever_they_hide() -> None:
    text = """
import discreet.noise
from discreet import risk
from ..accounting import loss
class A:
    def b(self):
        if True:
            from .c import d
"""
    assert set(imports(ast.parse(text), "discreet.budget")) == {
        ("", "discreet.noise"),
        ("", "discreet.risk"),
        ("", "discreet.accounting"),
        ("A.b", "discreet.budget.c"),
    }


def every_module(check: Callable[[Path], None]) -> Callable[[str], None]:
    """Make a test for each part of the package, which checks all of its modules."""

    @pytest.mark.parametrize("room", sorted({room_of(path) for path in MODULES}))
    def test(room: str) -> None:
        for path in MODULES:
            if room_of(path) == room:
                check(path)

    test.__name__, test.__doc__ = check.__name__, check.__doc__
    return test


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    program, contracts = Path(sys.executable).with_name("lint-imports"), SOURCE.parents[1] / "pyproject.toml"
    command = [program, "--no-cache", "--config", contracts]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


GOING_UP = [
    ("loss/lattice.py", "def read():\n    from discreet.tables import read_table\n", "discreet.tables"),
    ("noise/theta.py", "from discreet import measure\n", "discreet"),
    (
        "budget/spine.py",
        "if TYPE_CHECKING:\n    from discreet.accounting.account import Account\n",
        "discreet.accounting.account",
    ),
    ("questions.py", "from discreet.ledger.commit import commit\n", "discreet.ledger.commit"),
    ("estimation/weights.py", "from discreet.disclosure import risk\n", "discreet.disclosure"),
    *(
        ("ledger/commit.py", f"import discreet.{guest}\n", f"discreet.{guest}")
        for guest in sorted(PRESENT)[:1]
    ),
    ("reports/plots.py", "import discreet.cli\n", "discreet.cli"),
]
"""Modules, an import that goes up from each, and what is imported."""


def test_imports_that_go_up_are_found(tmp_path: Path) -> None:
    """By the contracts in pyproject.toml (`make lint`), also inside a function and for types alone."""
    copied = tmp_path / "discreet"
    shutil.copytree(SOURCE, copied, ignore=shutil.ignore_patterns("__pycache__", "*.csv", "*.json", "*.toml"))
    assert lint_imports(tmp_path).returncode == 0
    for module, line, _ in GOING_UP:
        with (copied / module).open("a", encoding="utf-8") as stream:
            stream.write(f"\n{line}")
    done = lint_imports(tmp_path)
    assert done.returncode == 1
    for module, _, imported in GOING_UP:
        importing = ".".join(("discreet", *Path(module).with_suffix("").parts))
        assert f"{importing} -> {imported} (" in done.stdout
    (copied / "new_room.py").touch()
    done = lint_imports(tmp_path)
    assert done.returncode == 1
    assert "not listed as layers:\n\n- discreet.new_room\n" in done.stdout


def test_what_is_registered_is_there_and_is_a_command() -> None:
    """A guest's table is data: nothing else would notice a name in it that is wrong."""
    registered = all_commands()
    for command in registered.values():
        app = loaded(command.runs)
        assert isinstance(app, App)
        assert app.name == (command.name.split()[-1],)
    files = {path for path in MODULES if is_command_of_a_guest(path) or room_of(path) == "cli"}
    made = {name_of(path) for path in files if "console.command(" in path.read_text(encoding="utf-8")}
    modules = {command.runs.partition(":")[0] for command in registered.values()}
    homes = {Path(str(importlib.import_module(name).__file__)) for name in modules}
    assert made - {"cli/console.py"} == {name_of(path) for path in homes}


@every_module
def test_seeded_randomness_is_never_imported_by_a_module(path: Path) -> None:
    # a rehearsal may ask for it inside a function, and then by its loud name
    for where, module in found_in(path):
        assert part(module) != "testing" or where, f"{name_of(path)} imports {module} at the top"


@every_module
def test_no_import_is_hidden_in_a_string(path: Path) -> None:
    # names that packages load on use are checked in test_public_names.py, what a guest registers above
    if name_of(path) in ("memory.py", "guests.py", "_moved.py"):
        return
    for node in house.nodes(tree_of(path)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        assert called not in ("__import__", "exec", "eval"), f"{path}:{node.lineno}"
        if called == "import_module":
            names = [text.value for text in ast.walk(node) if isinstance(text, ast.Constant)]
            inside = [name for name in names if isinstance(name, str) and name.startswith("discreet")]
            assert names, f"{path}:{node.lineno} imports a module whose name cannot be read"
            assert all(name.startswith(f"{package_of(path)}.") for name in inside), f"{path}:{node.lineno}"


@every_module
def test_modules_are_short_and_say_what_they_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert not text.strip() or ast.get_docstring(tree_of(path)), f"{path} has no docstring"


@every_module
def test_any_stays_at_the_borders(path: Path) -> None:
    lines = [n.lineno for n in house.nodes(tree_of(path)) if getattr(n, "id", "") == "Any"]
    if name_of(path) in ANY:
        assert lines, f"{name_of(path)} is listed in ANY and has none"
    else:
        assert not lines, f"{name_of(path)} says Any in line {lines[0]}: name the type, or say in ANY why not"


def float_formats(node: ast.AST) -> Iterator[int]:
    """Yield the lines in which floats are written; errors, and `float(f"{x:.3g}")`, which rounds, are not."""
    if isinstance(node, ast.Raise):
        return
    spec = ""
    if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        spec = ast.unparse(node.format_spec)[2:-1]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        spec = str(node.left.value) if isinstance(node.left.value, str) else ""
    elif isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in ("float", "Fraction") or called.endswith("Error"):
            return
        if called == "format":
            spec = ast.unparse(node.func if isinstance(node.func, ast.Attribute) else node.args[-1])
    if FLOAT_CODE.search(spec):
        yield node.lineno  # type: ignore[attr-defined]
    for child in ast.iter_child_nodes(node):
        yield from float_formats(child)


@every_module
def test_quantities_alone_write_floats(path: Path) -> None:
    lines = list(float_formats(tree_of(path)))
    if name_of(path) in WRITERS:
        assert lines, f"{name_of(path)} is listed in WRITERS and writes none"
    else:
        assert not lines, f"{name_of(path)} writes a float in line {lines[0]}: make it a Quantity"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('f"epsilon {x:.3f}"', 1),
        ('f"{x:,.1f} and {y:#.{digits}g}"', 2),
        ('f"{x:{form}}"', 1),
        ('format(x, ".3g")', 1),
        ('"{:.2e}".format(x)', 1),
        ('"%.2f" % x', 1),
        ('f"{many:,} {name:<{width}} {x!r}"', 0),
        ('float(f"{x:.3g}")', 0),
        ('raise InputError(f"epsilon is {x:g}")', 0),
    ],
)
def test_formats_of_floats_are_found(text: str, found: int) -> None:
    assert len(list(float_formats(ast.parse(text)))) == found


HELPS = ("Option", "file_option", "repeated_option")
"""What declares an option: its help is of the question, wherever it is shown."""


def sentences(node: ast.AST) -> Iterator[int]:
    """Yield the lines in which a sentence is written, but for docstrings, helps of options and errors."""
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_help = isinstance(node, ast.Call) and getattr(node.func, "id", "") in HELPS
    if is_docstring or is_help or isinstance(node, ast.Raise):
        return
    if isinstance(node, ast.JoinedStr | ast.Constant):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
        if SENTENCE.fullmatch(text):
            yield node.lineno
        return
    for child in ast.iter_child_nodes(node):
        yield from sentences(child)


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in MODULES
        if room_of(path) in WITHOUT_WORDS
        and not is_command_of_a_guest(path)
        and not says_what_results_tell(path)
    ],
    ids=name_of,
)
def test_results_of_rooms_have_no_words(path: Path) -> None:
    lines = list(sentences(tree_of(path)))
    if name_of(path) in SENTENCES:
        assert lines, f"{name_of(path)} is listed in SENTENCES and has none"
    else:
        assert not lines, f"{name_of(path)} has a sentence in line {lines[0]}: say it in answers"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('said = f"In case {case} delta is at least {delta}."', 1),
        ('found.append("All paths are compared with each other.")', 1),
        ('x: Annotated[int, Option("How many records one person may have.", "K")]', 0),
        ('yield "No test could be shown to reach the upper end."', 1),
        ('raise InputError("This is not how it must be written.")', 0),
        ('"""What is said of a module."""', 0),
        ('name = "the bound of zCDP"', 0),
    ],
)
def test_sentences_are_found(text: str, found: int) -> None:
    assert len(list(sentences(ast.parse(text)))) == found


def built(node: ast.AST, *classes: str) -> Iterator[int]:
    """Where an object of these classes is made: by the class itself, or by one of its methods."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call):
            made = one.func.value if isinstance(one.func, ast.Attribute) else one.func
            if isinstance(made, ast.Name) and made.id in classes:
                yield one.lineno


SHOWING = ("answers", "render", "reports", "workbench", "cli")


@every_module
def test_what_shows_a_number_does_not_say_what_it_is_about(path: Path) -> None:
    if room_of(path) not in SHOWING:
        return
    lines = list(built(tree_of(path), "Scope", "Extent", "Claim"))
    assert not lines, f"{name_of(path)} builds a scope in line {lines[0]}: let the computation carry it"


@pytest.mark.parametrize(
    ("text", "found"),
    [("Scope.whole('x', unit='', neighbours='')", 1), ("Extent('cell', 1, 2, ())", 1), ("scope.words", 0)],
)
def test_scopes_that_are_built_are_found(text: str, found: int) -> None:
    assert len(list(built(ast.parse(text), "Scope", "Extent"))) == found


def test_nothing_about_a_scope_has_a_default() -> None:
    for made in (Scope, Extent):
        assert all(one.default is MISSING and one.default_factory is MISSING for one in fields(made))
    for made, names in ((Claim, {"scope"}), (Claimed, {"scope", "kind"})):
        without = {one.name for one in fields(made) if one.default is MISSING}
        assert names <= without


def test_each_idea_and_each_name_once() -> None:
    trees = house.modules()
    assert house.classes_with_two_meanings(trees) == {}
    twice = house.names_defined_twice(trees)  # most are a command beside the function that it asks
    assert len(twice) <= 16, f"public functions with two definitions: {', '.join(twice)}"
    assert not list(house.foreign_private_attributes(trees))
    where = house.ideas(trees)
    assert where.pop("a dictionary beside its result (as_object)") == []
    assert {idea: files for idea, files in where.items() if len(files) != 1} == {}


def test_a_journey_runs_the_files_of_the_package_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the checkout is called: a folder `discreet` holds more than the package, its .venv for one."""
    copied = tmp_path / "discreet" / "src" / "discreet"
    shutil.copytree(SOURCE, copied, ignore=shutil.ignore_patterns("__pycache__", "*.csv"))
    shutil.copy(fractions.__file__, copied.parent)  # found before the standard library's, and used a lot
    monkeypatch.setattr(house, "SOURCE", copied)
    ran = house.journey([["show", "pl94-2020-units"]])
    assert "cli/show.py" in ran
    assert set(ran) <= {name_of(path) for path in MODULES}


@pytest.mark.slow
@pytest.mark.parametrize("name", house.JOURNEYS)
def test_a_journey_executes_a_third_of_what_it_opens(name: str) -> None:
    """Where less is executed, a file that the journey opens holds two nouns: split it (`make house`)."""
    _, share = house.shares_executed(house.journey(house.JOURNEYS[name]))
    assert share >= 0.3


@every_module
def test_scipy_is_imported_as_a_whole(path: Path) -> None:
    """It loads its parts when they are used, each of which takes longer to load than NumPy."""
    for where, module in found_in(path):
        assert not module.startswith("scipy."), f"{name_of(path)} imports {module} ({where}): import scipy"


ABOVE_A_LEDGER = {
    "discreet.tables.reader",
    "discreet.estimation.model",
    "discreet.disclosure.odds",
    "discreet.cellkey",
}
ABOVE_AN_ACCOUNT = {"discreet.ledger.ledger", "discreet.reports", *ABOVE_A_LEDGER}
SCIPY = {"scipy.special", "scipy.sparse", "scipy.optimize"}
TABLES = {"pyarrow", "pandas", "ibis", "duckdb", "sqlite3", "pyspark"}
PAGES = {"matplotlib", "jinja2", "nicegui"}
HEAVY = {*SCIPY, *TABLES, *PAGES, "cryptography", "multiprocessing"}
MATHEMATICS = {"numpy", "flint"}
SCREEN = {"rich", "cyclopts"}

ACCOUNT = "import discreet; discreet.account('pl94-2020-units').at_delta('1e-10')"


def command(arguments: str) -> str:
    """Code that runs a command as the program does."""
    return f"from discreet.cli import run; assert run({arguments.split()}) == 0"


@pytest.mark.parametrize(
    ("code", "unloaded"),
    [
        ("import discreet", {*HEAVY, *MATHEMATICS, *SCREEN, "discreet.errors"}),
        ("import discreet.ledger.locks", {*HEAVY, *MATHEMATICS, *SCREEN, "discreet.ledger.ledger"}),
        (
            "import discreet.disclosure.odds",
            {*HEAVY, "flint", *SCREEN, "discreet.accounting", "discreet.noise.gaussian"},
        ),
        ("import discreet.ledger.ledger", {*HEAVY, *SCREEN, *ABOVE_A_LEDGER}),
        ("import discreet.ledger.commit", {*HEAVY - {"cryptography"}, *SCREEN, *ABOVE_A_LEDGER}),
        ("import discreet.tables.reader", {*HEAVY - {"sqlite3"}, *SCREEN, "flint", "discreet.accounting"}),
        ("import discreet.measurement.measuring", {*HEAVY - {"sqlite3"}, *SCREEN}),
        (ACCOUNT, {*HEAVY, *SCREEN, *ABOVE_AN_ACCOUNT, "discreet.answers"}),
        (command("account pl94-2020-units --delta 1e-10 --jobs 1 --quiet"), {*HEAVY, *ABOVE_AN_ACCOUNT}),
        (
            command("calibrate pl94-2020-units --zcdp --delta 1e-10 --jobs 1 --quiet"),
            {*HEAVY, *ABOVE_AN_ACCOUNT},
        ),
        (command("risk release pl94-2020-units --jobs 1 --quiet"), HEAVY | {"discreet.ledger.ledger"}),
    ],
)
def test_what_is_not_needed_is_not_loaded(code: str, unloaded: set[str]) -> None:
    code = f"{code}\nimport json, sys; print('\\n' + json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert "discreet" in loaded
    assert not unloaded.intersection(loaded)


def test_the_page_on_the_layout_names_every_room_and_only_files_that_exist() -> None:
    """docs/explanation/architecture.md: a room that is added or renamed is shown there too."""
    page = (SOURCE.parents[1] / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    rooms = {f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    missing = [room for room in sorted(rooms) if f"`{room}" not in page]
    assert not missing, f"docs/explanation/architecture.md does not show {', '.join(missing)}"
    named = re.findall(r"`((?:cli|report|studies)/[a-z_/]+\.(?:py|toml)|[a-z]+\.py)`", page)
    gone = [name for name in named if not list(SOURCE.rglob(name))]
    assert len(named) >= 10
    assert not gone or not IS_WHOLE, (
        f"docs/explanation/architecture.md names {', '.join(gone)}, which is not there"
    )
