"""The notebooks in `docs/notebooks` run, and show what is stored in them."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from test_r import missing

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]
OF_R = "survey-in-r"
PACKAGE = DOCS.parent / "r"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """The script that makes them."""
    found = importlib.util.spec_from_file_location("make_notebooks", DOCS / "make_notebooks.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def read(name: str) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads((DOCS / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    return notebook


def code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def told(output: dict[str, Any]) -> list[str]:
    """What an output says in words and numbers; of a picture only that it is one."""
    if output["output_type"] == "stream":
        return ["".join(output["text"])]
    data = {kind: "".join(text) for kind, text in output["data"].items()}
    plain, page = data.get("text/plain", ""), data.get("text/html", "")
    page = re.sub(r"(?s)<svg.*?</svg>", "<svg/>", page)
    if 'class="dataframe"' in page:  # how a table of pandas is laid out is its business
        page = re.sub(r"(?s)<style.*?</style>|<[^>]*>", " ", page)
        plain, page = " ".join(plain.split()), " ".join(page.split())
    return [plain, page, *(kind for kind in data if kind.startswith("image/"))]


def test_there_are_five() -> None:
    assert NAMES == ["accounting-in-python", "census-2020", "noisy-tables", "own-release", OF_R]
    assert len(code(read("census-2020"))) == 10


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_stored_with_all_that_it_shows(name: str) -> None:
    notebook = read(name)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert [cell["execution_count"] for cell in code(notebook)] == list(range(1, len(code(notebook)) + 1))
    assert all(cell["outputs"] for cell in code(notebook))
    kinds = {kind for cell in code(notebook) for one in cell["outputs"] for kind in one.get("data", {})}
    assert kinds == {"text/plain", "image/png"} | (set() if name == OF_R else {"text/html"})
    for cell in code(notebook):
        for output in cell["outputs"]:
            image = output.get("data", {}).get("image/png", "")
            assert not image or base64.b64decode(image).startswith(b"\x89PNG")
            assert output["output_type"] != "error"
    assert "/tmp/" not in json.dumps(notebook)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_what_is_stored(name: str, maker: ModuleType) -> None:
    if name == OF_R and (reason := missing()):
        pytest.skip(reason)
    made = json.loads(maker.remade(DOCS / "notebooks" / f"{name}.ipynb"))
    for stored, now in zip(code(read(name)), code(made), strict=True):
        source = "".join(stored["source"])
        assert [told(one) for one in now["outputs"]] == [told(one) for one in stored["outputs"]], source


def test_what_the_notebook_of_r_calls_is_there() -> None:
    """Without R, too: functions are the package's, and every option is one of theirs or of the command."""
    cells = "\n".join("".join(cell["source"]) for cell in code(read(OF_R)))
    exported = re.findall(
        r"^export\((\w+)\)", (PACKAGE / "NAMESPACE").read_text(encoding="utf-8"), re.MULTILINE
    )
    functions = (PACKAGE / "R" / "questions.R").read_text(encoding="utf-8")
    called = re.findall(rf"\b({'|'.join(exported)})\(([^()]*(?:\([^()]*\)[^()]*)*)\)", cells)
    assert {name for name, _ in called} == {
        "account",
        "accuracy",
        "calibrate",
        "discreet_json",
        "estimate",
        "risk",
    }
    reference = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    for name, given in called:
        if name == "discreet_json":
            command, options = re.findall('"([a-z]+)"', given)[0], re.findall('"--([a-z-]+)"', given)
        else:
            command, options = {"risk": "risk release"}.get(name, name), re.findall(r"(\w+) = ", given)
        own = re.search(rf"^{name} <- function\((.*)\) {{$", functions, re.MULTILINE)
        described = re.split(r"\n##+ ", reference.partition(f"## `discreet {command}`\n")[2])[0]
        assert described, command
        for option in options:
            assert f"`--{option}" in described or (own and re.search(rf"\b{option}\b", own[1])), option


def test_an_output_that_changed_is_seen(maker: ModuleType, tmp_path: Path) -> None:
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": ["x = 1\n", "x + 1"]}
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({"cells": [cell | {"outputs": []}]}), encoding="utf-8")
    (now,) = code(json.loads(maker.remade(path)))
    assert [told(one) for one in now["outputs"]] == [["2", ""]]
    assert now["execution_count"] == 1
