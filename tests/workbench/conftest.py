"""A running workbench and a real browser.

The server is a subprocess on a free port of this machine, ended after the tests; every page that a test
opens is checked for errors on its console and for requests to another host when the test ends.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import CHROMIUM, FLAGS, PATIENCE, Watched, Workbench, start

from discreet.cli import run
from discreet.workbench.state import State, to_link

VIEWPORT = {"width": 1280, "height": 720}


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., Workbench]]:
    """Start workbenches of a test's own."""
    started: list[Workbench] = []

    def begin(*options: str, token: str = "") -> Workbench:
        started.append(start(tmp_path, *options, token=token))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.stop()


@pytest.fixture(scope="session")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """One workbench for all tests; whatever it writes to its log is an error."""
    one = start(tmp_path_factory.mktemp("workbench"))
    yield one
    status = one.stop()
    said = one.log.read_text()
    assert not re.search("Traceback|Error|Warning|leaked", said), said
    assert status in (0, 130), said


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's browser, without a window."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs Playwright: install the extra `test`"
    )
    if CHROMIUM is None:
        pytest.skip("needs Chromium: `make system` installs it")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def browser_context(chromium: Any) -> Iterator[Any]:
    """One browser for the pages of the shared workbench: what it has loaded and compiled once it keeps."""
    context = chromium.new_context(viewport=VIEWPORT)
    context.set_default_timeout(PATIENCE * 1000)
    yield context
    context.close()


@pytest.fixture
def watched() -> Iterator[Watched]:
    watch = Watched()
    yield watch
    assert not watch.problems


@pytest.fixture
def visit(
    chromium: Any,
    browser_context: Any,
    workbench: Workbench,
    watched: Watched,
    launch: Callable[..., Workbench],
) -> Iterator[Callable[..., Any]]:
    """Open a page, ready when its first numbers are there; `alone`, or if anything is special, in a browser
    of its own.
    """
    opened: list[Any] = []

    def go(
        path: str = "/budget",
        *,
        preset: str = "dhc-2022-08-25",
        server: Workbench | None = None,
        ready: bool = True,
        alone: bool = False,
        **options: Any,
    ) -> Any:
        if "?" not in path and preset:
            path = f"{path}?s={to_link(State.of(preset))}"
        if alone or options or server is not None:
            context = chromium.new_context(**{"viewport": VIEWPORT, **options})
            context.set_default_timeout(PATIENCE * 1000)
            page = context.new_page()
            opened.append(context)
        else:
            page = browser_context.new_page()
            opened.append(page)
        watched.watch(page)
        page.goto(f"{(server or workbench).url}{path}")
        if ready:
            page.wait_for_selector("code.wb-command:visible")
            page.wait_for_function(
                "() => window.socket?.connected !== false && location.search.includes('s=')"
            )
        return page

    yield go
    for one in opened:
        one.close()


@pytest.fixture
def shell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[str], str]:
    """Run a command line in a folder of its own, and return what it prints."""
    monkeypatch.chdir(tmp_path)

    def invoke(command: str) -> str:
        capsys.readouterr()
        name, *arguments = shlex.split(command)
        status, seen = run(arguments), capsys.readouterr()
        assert (name, status) == ("discreet", 0), seen.err
        return seen.out

    return invoke
