"""Makes the site of these pages, in a folder: `make docs`.

The navigation is that of index.md: its headings are the parts, its links the pages. Notebooks become pages,
with what their cells printed; each public module gets a page with its names, their types and docstrings.
Zensical builds `pages/` into `site/`.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SETTINGS = DOCS / "site" / "zensical.toml"
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages beside `docs/` that belong to the site: they end its last part."""

API = "reference/api.md"
COPIED = (".png", ".svg", ".css", ".js")
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
"""Modules whose names are public, in the order of their pages."""

LINK = re.compile(r"(?<!!)\[((?:[^][]|\[[^]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)


def main(folder: Path) -> None:
    """Write the pages, and build the site of them."""
    for made in ("pages", "site"):
        shutil.rmtree(folder / made, ignore_errors=True)
    write_pages(folder)
    places = [str(DOCS), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stdout}\n{done.stderr}")
    # what servers show for a missing page, with links of a server
    (folder / "site" / "404.html").unlink(missing_ok=True)


def write_pages(folder: Path) -> None:
    """Write all pages, with links of the site, what they load, and the settings."""
    made = site_pages()
    for name, text in made.items():
        written = site_links(text, name, set(made))
        target = folder / "pages" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(first_page(written) if name == "index.md" else written, encoding="utf-8")
    for path in DOCS.rglob("*.*"):
        if path.suffix in COPIED and "demo" not in path.parts:
            target = folder / "pages" / path.relative_to(DOCS)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    parts = as_toml(navigation((DOCS / "index.md").read_text(encoding="utf-8")))
    settings = SETTINGS.read_text(encoding="utf-8")
    navigated = settings.replace("\n[project]\n", f"\n[project]\nnav = {parts}\n", 1)
    (folder / "zensical.toml").write_text(navigated, encoding="utf-8")


def site_pages() -> dict[str, str]:
    """Return the Markdown of every page by its name, before links become those of the site."""
    pages = {
        path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")
    }
    for path in sorted(DOCS.glob("notebooks/*.ipynb")):
        name = path.relative_to(DOCS).with_suffix(".md").as_posix()
        pages[name] = notebook_page(json.loads(path.read_text(encoding="utf-8")), path.stem)
    pages |= {name: (ROOT / name).read_text(encoding="utf-8") for name in BESIDE}
    rooms = public_pages()
    links = "".join(f"- [{ROOMS[room]}: `{room}`](api/{room}.md)\n" for room in ROOMS)
    pages[API] += f"\n{links}"
    return pages | rooms


# -- how pages are made --------------------------------------------------------------------------------------


def first_page(index: str) -> str:
    """Return the first page without its lists of pages, which are above it, and with nothing beside it.

    >>> print(first_page("# A\\n[door](a.md)\\n\\n## How to\\n[Do](b.md)\\n"))
    ---
    hide: [navigation, toc]
    ---
    # A
    [door](a.md)
    <BLANKLINE>
    """
    before, *_ = re.split("^## ", index, maxsplit=1, flags=re.MULTILINE)
    return f"---\nhide: [navigation, toc]\n---\n{before.rstrip()}\n"


def navigation(index: str) -> list[Any]:
    """Return the parts of the site and their pages, in the order in which the index links to them.

    >>> parts = navigation("# A\\n[door](a.md)\\n## How to\\n[Do](b.md)\\n### Later\\n[not](c.md#x)\\n")
    >>> parts[0], parts[1]["How to"][:2]
    ({'Home': 'index.md'}, ['b.md', {'Later': ['c.md']}])
    """
    _, *parts = re.split(r"^## ", index, flags=re.MULTILINE)
    made: list[dict[str, Any]] = [{"Home": "index.md"}]
    for part in parts:
        title, _, text = part.partition("\n")
        loose, *groups = re.split(r"^### ", text, flags=re.MULTILINE)
        inside: list[Any] = _linked(loose)
        for group in groups:
            name, _, links = group.partition("\n")
            inside.append({name.strip(): _linked(links)})
        made.append({title.strip(): inside})
    inside.extend(BESIDE)
    return made


def _linked(text: str) -> list[Any]:
    """The pages to which a part of the index links, each once; that of all public names brings theirs."""
    targets = [link[2] for link in LINK.finditer(text) if not re.match("[a-z]+:", link[2])]
    pages = [re.sub(r"\.ipynb$", ".md", one) for one in targets if one.endswith((".md", ".ipynb"))]
    modules = {"Every public name": [API, *({room: f"reference/api/{room}.md"} for room in ROOMS)]}
    return [modules if page == API else page for page in dict.fromkeys(pages)]


def leaves(part: Any) -> Iterator[str]:
    """Yield the pages of a navigation.

    >>> list(leaves([{"Home": "index.md"}, {"How to": ["b.md", {"Later": ["c.md"]}]}]))
    ['index.md', 'b.md', 'c.md']
    """
    if isinstance(part, str):
        yield part
    else:
        for one in part.values() if isinstance(part, dict) else part:
            yield from leaves(one)


def as_toml(value: Any) -> str:
    """Write texts, lists and tables of them as TOML, on one line.

    >>> as_toml([{"How to": ["b.md"]}])
    '[{ "How to" = ["b.md"] }]'
    """
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)} = {as_toml(one)}' for key, one in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(value)


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


def public_pages() -> dict[str, str]:
    """Return a page for each public module: every name once, where it is defined, and links to the others."""
    made, seen = dict[str, str](), dict[str, str]()
    for room, title in ROOMS.items():
        module = importlib.import_module(room)
        homes = {name: home_of(module, name) for name in getattr(module, "__all__", None) or _own(module)}
        elsewhere = [f"[`{name}`]({seen[home]}.md#{home})" for name, home in homes.items() if home in seen]
        new = list(dict.fromkeys(home for home in homes.values() if home not in seen))
        text = f"# `{room}`\n\n{title}.\n"
        if elsewhere:
            text += f"\nAlso here: {', '.join(elsewhere)}.\n"
        made[f"reference/api/{room}.md"] = text + "".join(f"\n::: {home}\n" for home in new)
        seen |= dict.fromkeys(new, room)
    return made


def _own(module: ModuleType) -> list[str]:
    """The classes and functions of a module that has no list of what is public."""
    things = sorted(vars(module).items())
    return [
        name for name, one in things if _defined(one) and one.__module__ == module.__name__ and name[0] != "_"
    ]


def home_of(module: ModuleType, name: str) -> str:
    """Where a public name is documented: a class or function where it is defined, a value where it is public.

    >>> import discreet.cellkey
    >>> home_of(discreet.cellkey, "LargeCounts"), home_of(discreet.cellkey, "ONS_RULE")
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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
