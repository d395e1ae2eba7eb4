"""What MkDocs is told about these pages, as its hooks: `make docs` builds the site.

The navigation is that of index.md: its headings are the parts, its links the pages. Notebooks become pages,
with what their cells printed; reference/api.md gets every public name, with its types and its docstring.
"""

from __future__ import annotations

import base64
import importlib
import json
import posixpath
import re
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages beside `docs/` that belong to the site."""

FIRST = ("faq.md", "glossary.md")
"""Pages that answer in the words that people search for: they come first in what is found."""

ROOMS = {
    "discreet": "What most people need",
    "discreet.budget": "What is released",
    "discreet.cellkey": "The cell-key method",
    "discreet.estimation": "Best estimates, accuracy, plans",
    "discreet.records": "Records: can they be read?",
    "discreet.measurement": "Counts, with noise and without",
    "discreet.ledger": "The ledger, policies, runs of your own",
    "discreet.disclosure": "What can still be learned",
    "discreet.audit": "Audits of mechanisms",
    "discreet.interop.dp_accounting": "Other tools: dp-accounting",
    "discreet.interop.opendp": "Other tools: OpenDP",
    "discreet.interop.riskcal": "Other tools: riskcal",
    "discreet.interop.tumult": "Other tools: Tumult Analytics",
    "discreet.reports": "Curves, exports, tables to print",
    "discreet.testing": "For tests and rehearsals only: NOT PRIVATE",
}
"""Modules whose names are public, in the order of the page."""

LINK = re.compile(r"(?<!!)\[((?:[^][]|\[[^]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)


# -- MkDocs calls these --------------------------------------------------------------------------------------


def on_config(config: Any) -> Any:
    """Make the navigation."""
    notebooks = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.glob("notebooks/*.ipynb"))
    config.nav = navigation((DOCS / "index.md").read_text(encoding="utf-8"), notebooks)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are no Markdown in docs/: notebooks, and the files beside it."""
    from mkdocs.structure.files import File

    for path in sorted(DOCS.glob("notebooks/*.ipynb")):
        if old := files.get_file_from_path(path.relative_to(DOCS).as_posix()):
            files.remove(old)
        text = notebook_page(json.loads(path.read_text(encoding="utf-8")), path.stem)
        name = path.relative_to(DOCS).with_suffix(".md").as_posix()
        files.append(File.generated(config, name, content=text))
    for name in BESIDE:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turn links into those of the site, and fill the page of public names."""
    name = page.file.src_uri
    if name in FIRST:
        page.meta["search"] = {"boost": 5}
    if name == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    if name == "reference/api.md":
        markdown += public_names()
    pages = {one.src_uri for one in files}
    return site_links(markdown, name, pages)


def on_post_build(config: Any) -> None:
    """Remove the page that servers show for a missing one: its links are those of a server."""
    (Path(config.site_dir) / "404.html").unlink(missing_ok=True)


# -- how pages are made --------------------------------------------------------------------------------------


def navigation(index: str, notebooks: list[str]) -> list[Any]:
    """Return the parts of the site and their pages, in the order in which the index links to them.

    >>> parts = navigation("# A\\n\\n[door](a.md)\\n\\n## How to\\n\\n- [Do](b.md), [not](c.md#x)\\n", [])
    >>> parts[:2], list(parts[2])
    ([{'Home': 'index.md'}, {'How to': ['b.md', 'c.md']}], ['Project'])
    """
    _, *parts = re.split(r"^## ", index, flags=re.MULTILINE)
    made: list[Any] = [{"Home": "index.md"}]
    for part in parts:
        title, _, text = part.partition("\n")
        linked = [link[2] for link in LINK.finditer(text) if not re.match("[a-z]+:", link[2])]
        pages = [re.sub(r"\.ipynb$", ".md", link) for link in linked if link.endswith((".md", ".ipynb"))]
        inside = [page for page in dict.fromkeys(pages) if not page.startswith("../")]
        if inside:
            made.append({title.strip(): inside})
    listed = {page for part in made for pages in part.values() for page in pages}
    missing = [re.sub(r"\.ipynb$", ".md", name) for name in notebooks]
    if missing := [name for name in missing if name not in listed]:
        made.insert(2, {"Notebooks": missing})
    return [*made, {"Project": list(BESIDE)}]


def site_links(text: str, name: str, pages: set[str]) -> str:
    """Return a page whose links lead to pages of the site; what is no part of it is named only.

    >>> pages = {"a.md", "howto/b.md", "SECURITY.md"}
    >>> site_links("[x](../../SECURITY.md#y), [code](../../src/a.py)", "howto/b.md", pages)
    '[x](../SECURITY.md#y), code'
    >>> site_links("[docs](docs/a.md), [web](https://arxiv.org)", "SECURITY.md", pages)
    '[docs](a.md), [web](https://arxiv.org)'
    """
    here = name if name in BESIDE else f"docs/{name}"

    def link(found: re.Match[str]) -> str:
        shown, target, anchor = found[1], found[2], found[3] or ""
        if not target or re.match("[a-z]+:", target):
            return found[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        place = re.sub(r"\.ipynb$", ".md", place)
        page = place.removeprefix("docs/") if place.startswith("docs/") or place in BESIDE else ""
        if page not in pages:
            return shown
        return f"[{shown}]({posixpath.relpath(page, posixpath.dirname(name) or '.')}{anchor})"

    made, end = "", 0
    for fence in FENCE.finditer(text):
        made += LINK.sub(link, text[end : fence.start()]) + fence[0]
        end = fence.end()
    return made + LINK.sub(link, text[end:])


def public_names() -> str:
    """Return what mkdocstrings is asked for: every public name once, where it is defined."""
    made, seen = "", set[str]()
    for room, title in ROOMS.items():
        module = importlib.import_module(room)
        made += f"\n\n## {title}: `{room}`\n"
        for name in getattr(module, "__all__", None) or _own(module):
            home = _home(module, name)
            if home not in seen:
                seen.add(home)
                made += f"\n::: {home}\n"
    return made


def _own(module: ModuleType) -> list[str]:
    """The classes and functions of a module that has no list of what is public."""
    things = sorted(vars(module).items())
    return [
        name for name, one in things if _defined(one) and one.__module__ == module.__name__ and name[0] != "_"
    ]


def _home(module: ModuleType, name: str) -> str:
    """Where a public name is documented: a class or function where it is defined, a value where it is public.

    >>> import discreet.cellkey
    >>> _home(discreet.cellkey, "LargeCounts"), _home(discreet.cellkey, "ONS_RULE")
    ('discreet.cellkey.table.LargeCounts', 'discreet.cellkey.ONS_RULE')
    """
    thing = getattr(module, name)
    return f"{thing.__module__}.{thing.__qualname__}" if _defined(thing) else f"{module.__name__}.{name}"


def _defined(thing: object) -> bool:
    return isinstance(thing, type | FunctionType) or hasattr(
        thing, "__wrapped__"
    )  # the last: a cached function


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """Return a notebook as Markdown: its texts, its code, and what its cells printed.

    >>> two = [{"output_type": "execute_result", "data": {"text/plain": ["2"]}}]
    >>> code = {"cell_type": "code", "source": "1 + 1", "outputs": two}
    >>> text = {"cell_type": "markdown", "source": ["# Ten cells"]}
    >>> print(notebook_page({"cells": [text, code]}, "ten"))
    # Ten cells
    <BLANKLINE>
    ```python
    1 + 1
    ```
    <BLANKLINE>
    ```text
    2
    ```
    """
    parts: list[str] = []
    language = notebook.get("metadata", {}).get("language_info", {}).get("name", "python").lower()
    for cell in notebook["cells"]:
        text = _joined(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            parts.append(text)
        elif cell["cell_type"] == "code" and text:
            parts.append(f"```{language}\n{text}\n```")
            parts += [shown for output in cell.get("outputs", ()) if (shown := _output(output))]
    if not parts or not parts[0].startswith("# "):
        parts.insert(0, f"# {name.replace('-', ' ').capitalize()}")
    return "\n\n".join(parts)


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        kept = re.sub(r"\n\s*\n", "\n", _joined(data["text/html"]))  # a blank line would end the HTML
        return f'<div class="output">{kept}</div>'
    for kind in ("image/svg+xml", "image/png"):
        if kind in data:
            raw = _joined(data[kind])
            coded = raw.replace("\n", "") if kind.endswith("png") else base64.b64encode(raw.encode()).decode()
            return f'<p><img alt="what the cell above shows" src="data:{kind};base64,{coded}"></p>'
    text = _joined(output.get("text", data.get("text/plain", ""))) or "\n".join(output.get("traceback", ()))
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""
