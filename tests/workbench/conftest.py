"""A running workbench and a real browser.

The server is a subprocess on a free port of this machine, ended after the tests; every page that a test
opens is checked for errors on its console and for requests to another host when the test ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import CHROMIUM, FLAGS, PATIENCE, Watched, Workbench, start

from discreet.workbench.session_file import to_link
from discreet.workbench.state import State


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
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def watched() -> Iterator[Watched]:
    watch = Watched()
    yield watch
    assert not watch.problems


@pytest.fixture
def visit(
    chromium: Any, workbench: Workbench, watched: Watched, launch: Callable[..., Workbench]
) -> Iterator[Callable[..., Any]]:
    """Open a page in a browser of its own, ready when its first numbers are there."""
    contexts = []

    def go(
        path: str = "/budget",
        *,
        preset: str = "dhc-2022-08-25",
        server: Workbench | None = None,
        ready: bool = True,
        **options: Any,
    ) -> Any:
        if "?" not in path and preset:
            path = f"{path}?s={to_link(State.of(preset))}"
        context = chromium.new_context(viewport={"width": 1280, "height": 720}, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        watched.watch(page)
        page.goto(f"{(server or workbench).url}{path}")
        if ready:
            page.wait_for_selector("code.wb-command:visible")
            page.wait_for_function(
                "() => window.socket?.connected !== false && location.search.includes('s=')"
            )
        return page

    yield go
    for context in contexts:
        context.close()
