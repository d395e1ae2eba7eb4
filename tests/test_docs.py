"""Everything that the README and the docs show is run, and what they print is compared.

- A `python` block is run; the blocks of one file share their names. A block of `>>>` lines is a doctest. A
  `text` block that directly follows is what the block prints.
- A `toml` block is read as a release. With `title="name.toml"` it is also a file for the commands below it.
- A block with the title `pyproject.toml`, or that of a file in a folder, is that file alone, of a package
  that is installed as pip does it.
- A `console` block holds `$ command` lines with their output.
- A block that says `needs="package"` is run where that package is installed, and read elsewhere.
- Each file starts in an empty directory. `...` stands for any text, or on a line of its own for any lines.

Blocks of other kinds (`sh`, plain fences) are for reading only.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from present import IS_WHOLE, is_about_another

from discreet import Release
from discreet.budget import presets
from discreet.cli import run
from discreet.cli.commands import all_commands
from discreet.guests import guests

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = ("discreet", "cat", "head", "ls")

_FENCE = re.compile(r"^```([a-z]*)[ ]*(.*?)\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block, and the output that is stated for it."""

    kind: str
    info: str
    text: str
    line: int
    output: str | None = None


def blocks(text: str) -> list[Block]:
    """Read the fenced blocks of a page; a text block right after a python block becomes its output.

    >>> blocks("```python\\nprint(1)\\n```\\n\\n```text\\n1\\n```\\n")
    [Block(kind='python', info='', text='print(1)\\n', line=2, output='1\\n')]
    """
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(text):
        kind, info, body = match.groups()
        line = text.count("\n", 0, match.start()) + 2
        adjacent = found and not text[end : match.start()].strip()
        end = match.end()
        if kind == "text" and adjacent and found[-1].kind == "python" and found[-1].output is None:
            last = found.pop()
            found.append(Block(last.kind, last.info, last.text, last.line, body))
        else:
            found.append(Block(kind, info, body, line))
    return found


def matches(expected: str, got: str) -> bool:
    """Whether the output is as stated, `...` being a wildcard.

    >>> matches("a\\n...\\nd 1.5...", "a\\nb\\nc\\nd 1.53"), matches("a\\n...\\nd", "a\\nd")
    (True, True)
    >>> matches("a", "a b")
    False
    """
    pattern = ""
    for line in expected.rstrip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*?".join(re.escape(piece) for piece in line.rstrip().split("...")) + r"\n"
    stripped = "".join(f"{line.rstrip()}\n" for line in got.rstrip().splitlines())
    return re.fullmatch(pattern, stripped) is not None


def run_python(block: Block, names: dict[str, Any], page: Path) -> None:
    """Run a block in the names of its page."""
    if block.text.lstrip().startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line - 1)
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, out=report.write, clear_globs=False)
        names.update(test.globs)
        assert not runner.failures, report.getvalue()
        return
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    if block.output is not None:
        got = printed.getvalue()
        assert matches(block.output, got), f"{page}:{block.line} printed\n{got}"


ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}


def run_console(block: Block, page: Path) -> None:
    """Run the commands of a block, one after another."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        name, *arguments = shlex.split(command)
        assert name in COMMANDS, f"{page}:{block.line}: {command} is not run here; use a sh block"
        # one process for all commands of a page: to import the package costs more than most of them
        printed = run_here(arguments) if name == "discreet" else run_in_shell(command)
        assert matches(expected, printed), f"{page}:{block.line}: {command} printed\n{printed}"


def run_here(arguments: list[str]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        run(arguments)
    return printed.getvalue()


def run_in_shell(command: str) -> str:
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, encoding="utf-8", timeout=120, check=True
    )
    return done.stdout


def installed(package: str) -> bool:
    """Whether a package is there; of a name with dots, the first part may be missing too.

    >>> installed("json"), installed("no_such_package.part")
    (True, False)
    """
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def write_part(file: Path, text: str) -> None:
    """Write a file of a package; its entry points are known from then on."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    if file.name == "pyproject.toml":
        project = tomllib.loads(text)["project"]
        folder = Path(f"{project['name'].replace('-', '_')}-{project['version']}.dist-info")
        lines = []
        for group, points in project["entry-points"].items():
            lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
        write_part(folder / "METADATA", f"Name: {project['name']}\nVersion: {project['version']}\n")
        write_part(folder / "entry_points.txt", "\n".join(lines))
        sys.path.insert(0, os.getcwd())


def forget_parts() -> None:
    for cached in (guests, all_commands, presets._of_others):
        cached.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "office_part"]:
        del sys.modules[name]


@pytest.fixture
def parts() -> Iterator[None]:
    """Know the package that a page installs, and forget it after the page."""
    forget_parts()
    yield
    forget_parts()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
@pytest.mark.usefixtures("parts")
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable, value in ENVIRONMENT.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(sys, "path", [*sys.path])
    names: dict[str, Any] = {"__name__": "__page__"}
    text = page.read_text(encoding="utf-8")
    if is_about_another(text):
        pytest.skip("about a guest that is not there")
    for block in blocks(text):
        needed = re.fullmatch(r'needs="([\w.]+)"', block.info)
        if needed and not installed(needed[1]):
            continue
        if part := re.fullmatch(r'title="(\w+/[\w./-]+|pyproject\.toml)"', block.info):
            write_part(Path(part[1]), block.text)
        elif block.kind == "python":
            run_python(block, names, page)
        elif block.kind == "console":
            run_console(block, page)
        elif block.kind == "toml":
            Release.from_toml(block.text, where=f"{page}:{block.line}")
            title = re.fullmatch(r'title="([\w.-]+)"', block.info)
            if title:
                Path(title[1]).write_text(block.text, encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page} links to {target}"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file.read_text(encoding="utf-8")), f"{page} links to {target}"


# Terms of the glossary as pages write them. A page that uses one links it, so that its reader can look it up.
# Not listed: groups, unit and path, which also mean other things (detailed groups, the path of a file).
TERMS = {
    "lattice": r"lattices?",
    "ledger": r"ledgers?",
    "neighbours": r"neighbours",
    "query": r"quer(?:y|ies)",
    "sensitivity": r"sensitivity",
    "spine": r"spines?",
}
UNLINKED = {"glossary.md", "index.md", "benchmarks.md", "dependencies.md", "architecture.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_terms_are_linked_to_the_glossary(page: Path) -> None:
    if page.name in UNLINKED:
        return
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"`[^`]*`|^#.*$|^ {4}.*$|\[[^]]*\]\([^)]*\)", "", _FENCE.sub("", text), flags=re.MULTILINE)
    for term, written in TERMS.items():
        if re.search(rf"(?<![\w-]){written}(?![\w-])", prose, flags=re.IGNORECASE):
            assert f"glossary.md#{term})" in text, f"{page} does not link {term!r} to the glossary"


def anchors(text: str) -> set[str]:
    """The anchors of a page: those that its headings make, and those that the glossary's terms have.

    >>> sorted(anchors('# A release, as `TOML`\\n## The *sieve*\\n| <a id="spine"></a>spine | ... |\\n'))
    ['a-release-as-toml', 'spine', 'the-sieve']
    """
    found = set(re.findall(r'<a id="([\w-]+)"></a>', text))
    for heading in re.findall(r"^#+ (.+)$", _FENCE.sub("", text), flags=re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(plain.strip().replace(" ", "-"))
    return found


def test_the_index_leads_to_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([^)#\s]+)", index))
    notebooks = (ROOT / "docs" / "notebooks").glob("*.ipynb")
    written = [page for page in (*PAGES, *notebooks) if ROOT / "docs" in page.parents]
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in written}
    assert pages - {"index.md"} == {target for target in linked if target.endswith((".md", ".ipynb"))}


def test_pages_are_plain_and_portable() -> None:
    # no machine's paths in what people read
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(work|tmp|home|root|Users)/", text), page
        assert text.startswith("# "), f"{page} must start with its title"


@pytest.mark.skipif(not IS_WHOLE, reason="the page has all commands")
def test_the_page_on_the_command_line_is_what_the_help_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import make_command_line

    assert not doctest.testmod(make_command_line).failed
    written = make_command_line.PAGE.read_text(encoding="utf-8")
    # a process of its own: a help that was printed before keeps the width of that terminal
    code = "import make_command_line, sys; sys.stdout.buffer.write(make_command_line.page().encode())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT / "docs")
    assert done.stdout.decode() == written, "the help has changed; run `make command-line`"
    assert len(re.findall(r"^##+ `discreet ", written, re.MULTILINE)) > 30  # every command, and its parts


@pytest.mark.skipif(not IS_WHOLE, reason="the gallery has all commands")
def test_the_gallery_has_every_command_that_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.cli.completion import completed_commands

    monkeypatch.syspath_prepend(ROOT / "docs")
    import make_gallery

    assert make_gallery.PAGE.read_text(encoding="utf-8") == make_gallery.page(), "run `make gallery`"
    draws = {one.words for one in completed_commands() if "--plot" in {name for name, _, _ in one.options}}
    shown = {one.name.replace("-", " "): one for one in make_gallery.GALLERY}
    assert set(shown) == draws
    assert all(one.line.startswith(f"{name} ") for name, one in shown.items())
    there = {file.name for file in make_gallery.PICTURES.iterdir()}
    assert there == {f"{one.name}.png" for one in make_gallery.GALLERY}


def test_the_glossary_is_what_the_package_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import make_glossary

    assert make_glossary.PAGE.read_text(encoding="utf-8") == make_glossary.page(), "run `make glossary`"


@pytest.mark.skipif(not IS_WHOLE, reason="some are tests of guests")
def test_sharp_edges_name_tests_that_exist() -> None:
    page = (ROOT / "docs" / "explanation" / "sharp-edges.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    files = (ROOT / "tests").rglob("test_*.py")
    there = {name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.M)}
    assert len(named) >= 40
    assert not named - there, f"there are no tests {', '.join(sorted(named - there))}"
    for row in re.findall(r"^\| \*\*.+$", page, re.MULTILINE):
        assert "`test_" in row.rsplit("|", 2)[1], f"no test is named for {row[:60]}"


def test_benchmarks_keep_what_was_measured_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.__main__ import kept

    old = "old table\n\n### A nation\n\nby hand\n\n### Made\n\nold\n"
    assert kept(old, "new table\n\n### Made\n\nnew") == (
        "new table\n\n### Made\n\nnew\n\n### A nation\n\nby hand"
    )
    assert kept("", "new") == "new"
