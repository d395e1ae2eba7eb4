"""The site and the demo: built as `make` builds them, and every link in the pages leads somewhere."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest
from present import IS_WHOLE

from discreet.errors import DiscreetError

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
OUTSIDE = re.compile(r"^(https?:)?//")
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}
"""What a browser fetches by itself: from elsewhere, the page would not work without a network."""


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {text for name in ("id", "name") if (text := given.get(name))}
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        if given.get(LOADED.get(tag, "")) and not (tag == "link" and given.get("rel") == "canonical"):
            self.loaded.append(str(given[LOADED[tag]]))


def problems(site: Path) -> list[str]:
    """What is wrong with the links of all pages in a folder."""
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}
    found: list[str] = []
    for file, page in pages.items():
        name = file.relative_to(site)
        for target in page.loaded:
            if OUTSIDE.match(target):
                found.append(f"{name} loads {target}")
        for target in (*page.links, *page.loaded):
            if OUTSIDE.match(target) or re.match("(data|mailto|javascript):", target):
                continue
            path, _, anchor = urllib.parse.unquote(target).partition("#")
            path = path.partition("?")[0]
            place = (file.parent / path).resolve() if path else file
            if place.is_dir():
                place /= "index.html"
            if not place.exists():
                found.append(f"{name} links to {target}")
            elif anchor and place in pages and anchor not in pages[place].anchors:
                found.append(f"{name} links to {target}: there is no such place")
    return found


def test_the_checker_finds_dead_links(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="here"></p><a href="b.html#there">b</a><a href="#here">ok</a>')
    (tmp_path / "b.html").write_text(
        '<a href="none.html">x</a><script src="https://cdn.example/x.js"></script>'
    )
    assert problems(tmp_path) == [
        "a.html links to b.html#there: there is no such place",
        "b.html loads https://cdn.example/x.js",
        "b.html links to none.html",
    ]


PARTS = ("Home", "Learn", "How to", "Understand", "Reference", "Mathematics", "Papers", "For developers")
FRONT = PARTS[:4]
"""What most readers need; who looks for more goes on to the other parts."""


@pytest.mark.skipif(not IS_WHOLE, reason="the site shows all guests")
def test_how_pages_are_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(DOCS)
    import make_census
    import make_demo
    import make_notebooks
    import make_site
    import page_pictures

    for module in (make_site, make_demo, make_census, make_notebooks, page_pictures):
        assert not doctest.testmod(module).failed
    made = make_site.site_pages()
    check_public_names(make_site, made)
    # every page is in one part of the navigation
    parts = make_site.navigation(made["index.md"])
    assert tuple(name for part in parts for name in part) == PARTS
    listed = list(make_site.leaves(parts))
    assert len(listed) == len(set(listed))
    assert set(listed) == set(made)
    # the front is short enough to be read
    front = [
        made[page] for part in parts for name in part if name in FRONT for page in make_site.leaves(part)
    ]
    assert len(front) <= 28
    assert sum(len(text.split()) for text in front) <= 26_000
    # what people look for by other names
    for word in ("Excel", "odometer", "k-anonymity", "rounding", "suppression"):
        assert any(word in text for text in front), word
    # all of it can be written, and read by what builds the site
    make_site.write_pages(tmp_path)
    settings = tomllib.loads((tmp_path / "zensical.toml").read_text(encoding="utf-8"))
    assert settings["project"]["nav"] == parts
    assert {page.relative_to(tmp_path / "pages").as_posix() for page in tmp_path.rglob("*.md")} == set(made)


def check_public_names(make_site: ModuleType, pages: dict[str, str]) -> None:
    """Every name for which a page of a module asks is there, and they ask for every public name once."""
    rooms = {room: pages[f"reference/api/{room}.md"] for room in make_site.ROOMS}
    asked = [name for text in rooms.values() for name in re.findall(r"^::: (\S+)$", text, flags=re.MULTILINE)]
    assert len(asked) == len(set(asked))
    found = [(pkgutil.resolve_name(name), name) for name in asked]  # fails if there is none
    for room, text in rooms.items():
        assert "\n::: discreet." in text, f"nothing is listed for {room}"
        module = importlib.import_module(room)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            assert any(one is thing for one, _ in found), f"{room}.{name} is on no page"
            home = make_site.home_of(module, name)
            assert f"::: {home}\n" in text or f"#{home})" in text, f"{room}.{name} is not on its page"


def test_the_first_picture_shows_what_the_plan_of_the_example_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(DOCS)
    import make_first_picture

    drawn = make_first_picture.PICTURE.read_text(encoding="utf-8")
    assert drawn == make_first_picture.picture()
    for page in (ROOT / "README.md", DOCS / "index.md", DOCS / "howto" / "plan.md"):
        text = page.read_text(encoding="utf-8")
        margins = re.findall(r"(?:drafted|planned): ±([\d.]+)", drawn)
        assert all(margin in text for margin in margins), f"{page} does not say {margins}"


PLACES = [
    *sorted(DOCS.rglob("*.md")),
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
]


@pytest.mark.parametrize("page", PLACES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_the_site_lead_to_pages_and_places(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the site has them: a link to what is no page of it becomes plain text, others lead somewhere."""
    monkeypatch.syspath_prepend(DOCS)
    import make_site

    names = {one.relative_to(DOCS if DOCS in one.parents else ROOT).as_posix(): one for one in PLACES}
    notebooks = {one.relative_to(DOCS).with_suffix(".md").as_posix(): one for one in DOCS.rglob("*.ipynb")}
    (name,) = [name for name, one in names.items() if one == page]
    text = make_site.site_links(page.read_text(encoding="utf-8"), name, {*names, *notebooks})
    for link in make_site.LINK.finditer(make_site.FENCE.sub("", text)):
        target, anchor = link[2], (link[3] or "").removeprefix("#")
        if re.match("[a-z]+:", target):
            continue
        place = posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) if target else name
        assert place in names or place in notebooks, f"{name} links to {target}"
        if anchor and place in names:
            assert anchor in slugs(names[place].read_text(encoding="utf-8")), (
                f"{name} links to {target}#{anchor}"
            )


def slugs(text: str) -> set[str]:
    """The places of a page, as the site names its headings (a second one of the same name gets a number)."""
    found = set(re.findall(r'<a id="([\w-]+)"></a>', text))
    for heading in re.findall(
        r"^#+ (.+)$", re.sub(r"^(```|~~~).*?^\1[ ]*$", "", text, flags=re.M | re.S), re.M
    ):
        plain = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower())
        slug, number = plain.strip().replace(" ", "-"), 1
        while slug in found:
            slug, number = f"{slug.removesuffix(f'_{number - 1}')}_{number}", number + 1
        found.add(slug)
    return found


def builder() -> str | None:
    """A Python that has Zensical: this one, or that of `make docs`."""
    for python in (
        os.environ.get("DOCS_PYTHON"),
        sys.executable,
        str(ROOT / ".venv-docs" / "bin" / "python"),
    ):
        if python and shutil.which(python):
            asked = [python, "-c", "import zensical, mkdocstrings, griffe"]
            if subprocess.run(asked, capture_output=True).returncode == 0:
                return python
    return None


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_without_dead_links(tmp_path: Path) -> None:
    python = builder()
    if python is None:
        pytest.skip("Zensical is not installed: make docs installs it")
    command = [python, str(DOCS / "make_site.py"), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    site = tmp_path / "site"
    assert problems(site) == []
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )['\"]?https?:", style.read_text(encoding="utf-8")), style
    import discreet

    api = (site / "reference" / "api" / "discreet.html").read_text(encoding="utf-8")
    for name in discreet.__all__:
        thing = getattr(discreet, name)
        if hasattr(thing, "__qualname__"):
            assert f'id="{thing.__module__}.{thing.__qualname__}"' in api, name
    search_works(site)


SOUGHT = {
    "group privacy": "Does it cover group privacy?",
    "what epsilon is safe": "What epsilon is safe?",
    "windows": "Does it run on Windows",
    "excel": "Can I use Excel?",
    "odometer": "Is there an odometer",
    "k-anonymity": "Why not k-anonymity",
    "suppression": "Why not k-anonymity",
}
"""What people type, and the answer that must be among the first five."""
FOUND = """words => [...document.querySelectorAll("*")].filter(one => one.shadowRoot)
  .flatMap(one => [...one.shadowRoot.querySelectorAll("a")]).slice(0, 5)
  .some(one => one.innerText.includes(words))"""


def search_works(site: Path) -> None:
    """Ask pages opened from the disk for what people look for: the answer is found, nothing is fetched."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the search is tried in a browser")
    from discreet.reports.html.pdf import find_chromium

    try:
        chromium = find_chromium()
    except DiscreetError:
        pytest.skip("the search is tried in a browser, and there is no Chromium")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        fetched: list[str] = []
        page.on("request", lambda request: fetched.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.click(".md-search__button")
        box = page.locator("input[type=text]").first
        for words, answer in SOUGHT.items():
            box.fill("")
            page.keyboard.type(words)
            page.wait_for_function(FOUND, arg=answer, timeout=60_000)
        browser.close()
    assert not [url for url in fetched if not url.startswith(("file:", "data:", "about:", "blob:"))]


@pytest.mark.slow
def test_the_demo_leads_through_what_it_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, str(DOCS / "make_demo.py"), str(tmp_path / "out"), "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=900)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    assert problems(out) == []
    text = (out / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not page.loaded
    # pictures and few words first, all that was printed beneath
    shown = re.sub(r"(?s)<(style|script|details)>.*?</\1>", "", text)
    assert len(re.sub(r"(?s)<(svg|table)\b.*?</\1>|<[^>]*>", " ", shown).split()) < 900
    drawn = re.findall(r'<svg class="(\w+)"', shown)
    assert drawn == ["people", "map", "map", "intervals", "people", "curves", "bars"]
    # the survey, its rehearsal, the promise of the census and its proof, and what is saved
    for said in ("74 in 100", "6.62861", "NOT PRIVATE", "68 in 100", "24.4565", "12 % less"):
        assert said in shown, said
    assert "24.456514456846157 &lt;= epsilon" in text
    # what to try next is tried
    from discreet.cli import run

    assert 'id="next"' in text
    monkeypatch.chdir(tmp_path)
    shutil.copytree(out / "survey", tmp_path / "mine")
    for line in re.findall(r"(?:^|<pre[^>]*>)discreet (.+? mine/.+)$", text, re.MULTILINE):
        words = line.replace("</pre>", "").split()
        assert run([*words, *(["--quiet"] if words[0] != "ledger" else [])]) == 0, line
