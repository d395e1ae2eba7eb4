"""Run the notebooks of `docs/notebooks` and store what their cells show: `python docs/make_notebooks.py`.

A cell is run as Jupyter runs it, without Jupyter: in one namespace, in an empty directory. What its last line
is worth is shown as text and as HTML, its figures as PNG. So the files need no kernel to be made, and tests
compare them (`tests/test_notebooks.py`). A notebook of R is run by Rscript, with the package in
`r/` installed in a folder of its own. Edit a notebook in Jupyter, then run this.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent.resolve()
FOLDER = HERE / "notebooks"

Cell = dict[str, Any]


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its cells, run in the current directory."""
    return executed_r(notebook) if language(notebook) == "R" else executed_python(notebook)


def language(notebook: dict[str, Any]) -> str:
    """Return the language of a notebook; without a word about it, Python.

    >>> language({"metadata": {"language_info": {"name": "R"}}}), language({})
    ('R', 'python')
    """
    return str(notebook.get("metadata", {}).get("language_info", {}).get("name", "python"))


def executed_r(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook of R with the outputs of its cells."""
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "cells.json", Path(folder) / "outputs.json"
        program, library = Path(folder) / "discreet", Path(folder) / "library"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m discreet "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        library.mkdir()
        given.write_text(json.dumps(sources), encoding="utf-8")
        environment = {**os.environ, "DISCREET_PROGRAM": str(program), "R_LIBS": str(library)}
        for words in (
            ["R", "CMD", "INSTALL", "--no-docs", f"--library={library}", str(HERE.parent / "r")],
            ["Rscript", str(HERE / "run_r_cells.R"), str(given), str(made)],
        ):
            done = subprocess.run(words, env=environment, capture_output=True, text=True, encoding="utf-8")
            if done.returncode:
                raise SystemExit(f"{words[0]} ended with status {done.returncode}: {done.stderr}")
        outputs = iter(json.loads(made.read_text(encoding="utf-8")))
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell = cell | {"execution_count": count, "outputs": list(shown_by_r(next(outputs)))}
        cells.append(cell)
    return notebook | {"cells": cells}


def shown_by_r(output: dict[str, str]) -> Iterator[Cell]:
    """Yield what a cell of R shows: its text, its figure.

    >>> list(shown_by_r({"text": "[1] 2", "figure": ""}))
    [{'output_type': 'stream', 'name': 'stdout', 'text': ['[1] 2']}]
    """
    if output["text"]:
        yield {"output_type": "stream", "name": "stdout", "text": lines(output["text"])}
    if output["figure"]:
        data = {"image/png": output["figure"], "text/plain": ["<Figure>"]}
        yield {"output_type": "display_data", "metadata": {}, "data": data}


def executed_python(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook of Python with the outputs of its cells."""
    import matplotlib

    matplotlib.use("agg")
    cells, count = [], 0
    with as_main(ModuleType("__main__")) as names:
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                source = "".join(cell["source"])
                outputs = [with_count(output, count) for output in shown(source, names, count)]
                cell = cell | {"execution_count": count, "outputs": outputs}
            cells.append(cell)
    return notebook | {"cells": cells}


@contextlib.contextmanager
def as_main(module: ModuleType) -> Iterator[dict[str, Any]]:
    """Let a module be the program that runs: classes made in its cells are found when they are pickled."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield vars(module)
    finally:
        sys.modules["__main__"] = before


def shown(source: str, names: dict[str, Any], number: int) -> Iterator[Cell]:
    """Run a cell and yield what it shows: what it prints, what its last line is worth, its figures."""
    tree = ast.parse(source, f"cell {number}")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    if printed.getvalue():
        yield {"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())}
    if value is not None and not source.rstrip().endswith(";"):
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_") and (html := value._repr_html_()):
            data = {"text/html": lines(html)} | data
        yield {"output_type": "execute_result", "metadata": {}, "data": data}
    yield from pictures()


def pictures() -> Iterator[Cell]:
    """Yield the open figures, and close them."""
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        stream, figure = io.BytesIO(), plt.figure(number)
        figure.savefig(stream, format="png", dpi=110, metadata={"Software": None}, bbox_inches="tight")
        plt.close(figure)
        image = base64.b64encode(stream.getvalue()).decode()
        data = {"image/png": image, "text/plain": ["<Figure>"]}
        yield {"output_type": "display_data", "metadata": {}, "data": data}


def with_count(output: Cell, count: int) -> Cell:
    """Return an output as the file has it: a result carries the number of its cell."""
    return output | {"execution_count": count} if output["output_type"] == "execute_result" else output


def lines(text: str) -> list[str]:
    """Return text as a notebook holds it, a list of lines.

    >>> lines("a\\nb")
    ['a\\n', 'b']
    """
    return text.splitlines(keepends=True)


def remade(path: Path) -> str:
    """Return the text of a notebook's file with its outputs made again, in an empty directory."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return json.dumps(executed(notebook), indent=1, ensure_ascii=False) + "\n"
        finally:
            os.chdir(here)


if __name__ == "__main__":
    for path in [FOLDER / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        path.write_text(remade(path), encoding="utf-8")
        print(path.name)
