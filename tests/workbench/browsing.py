"""Starting a workbench and looking at its pages, for the tests of this folder."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.cli import run
from discreet.reports.html.pdf import NAMES

CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 180  # seconds: other work may hold the machine


@dataclass
class Workbench:
    """A server that was started, and where it is."""

    process: subprocess.Popen[str]
    url: str
    log: Path
    seconds: float
    """From the command to the first page."""
    worked: float = 0.0
    """Seconds that the server's process has computed until then."""

    def get(self, path: str = "/", **headers: str) -> tuple[int, str]:
        return fetch(f"{self.url}{path}", **headers)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def fetch(url: str, seconds: float = PATIENCE, **headers: str) -> tuple[int, str]:
    """Ask for a page, and wait so long for it: its status and its text."""
    request = urllib.request.Request(url, headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return answer.status, answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode("utf-8", "replace")


def environment() -> dict[str, str]:
    """The environment without pytest's mark, by which NiceGUI would take the server for a test of its own."""
    return {key: text for key, text in os.environ.items() if not key.startswith("PYTEST")}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def worked(pid: int) -> float:
    """How long a process has computed, in seconds; other work on the machine does not count."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(folder: Path, *options: str, token: str = "") -> Workbench:
    """Start a workbench, without a token unless one is given, and wait for its first page."""
    port = free_port()
    log = folder / f"workbench-{port}.log"
    command = [sys.executable, "-m", "discreet", "workbench", "--port", str(port), *options]
    command += ["--token", token] if token else ["--no-token"]
    begun = time.monotonic()
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, text=True, env=environment()
        )
    url = f"http://127.0.0.1:{port}"
    while time.monotonic() - begun < PATIENCE:
        try:
            fetch(f"{url}/")
            return Workbench(process, url, log, time.monotonic() - begun, worked(process.pid))
        except OSError:
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
    process.kill()
    raise AssertionError(f"no page within {PATIENCE} s: {log.read_text()}")


@dataclass
class Watched:
    """What pages did that they must not do."""

    problems: list[str] = field(default_factory=list)
    expected: str = "$^"

    def watch(self, page: Any) -> None:
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("console", self._console)
        page.on("request", lambda request: self._request(request.url))

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning") and not re.search(self.expected, message.text):
            self.problems.append(f"console {message.type}: {message.text}")

    def _request(self, url: str) -> None:
        if not re.match(r"(http|ws)://127\.0\.0\.1[:/]|data:|blob:", url):
            self.problems.append(f"request to another host: {url}")


def value(page: Any, label: str) -> str:
    """The number on a tile, without what it claims."""
    return str(page.locator(f".wb-value[aria-label='{label}']").inner_text()).removeprefix("at most ")


def wait_for_value(page: Any, label: str, text: str) -> None:
    """Wait until a tile shows a number; one that is called a bound may be rounded up."""
    page.wait_for_function(
        """([label, text]) => {
            const shown = document.querySelector(`.wb-value[aria-label='${label}']`)?.innerText;
            if (!shown?.startsWith('at most ')) return shown === text;
            const unit = 10 ** -(text.split('.')[1] ?? '').length;
            const more = Number(shown.slice(8)) - Number(text);
            return more > -unit / 2 && more < 1.5 * unit; }""",
        arg=[label, text],
    )


def wait_for_text(page: Any, text: str) -> None:
    """Wait until a text is seen somewhere on the page."""
    page.get_by_text(text).first.wait_for(state="visible")


def settled(page: Any) -> None:
    """Wait until every number of the page is there and of its present state.

    Numbers that are known come with the state, but not in one piece: the browser draws one element after the
    other, so that the command may be new while numbers are those of before.
    """
    page.wait_for_function(
        """() => {
            const steps = [...document.querySelectorAll('[data-step]')].map(e => e.dataset.step);
            const caught_up = steps.every(step => step === steps[0]);
            return caught_up && document.querySelector('[data-complete=true]') !== null; }"""
    )


SMALL = """\
name = "small"
title = "Two levels"
neighbours = "bounded"
rho = "3/4"

[[levels]]
name = "State"
rho = "1/2"
[levels.queries]
"total" = "1/5"
"age by sex" = "4/5"

[[levels]]
name = "County"
rho = "1/4"
[levels.queries]
"total" = "1/2"
"age by sex" = "1/2"

[spine.paths]
1 = ["State", "County"]
2 = ["State+County"]
"""


def command_line(*arguments: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert run(arguments) == 0
    return printed.getvalue()


def upload(page: Any, name: str, content: bytes, button: str = "Open a release or a session (TOML)") -> None:
    """Choose a file that lives in the browser: one on disk would have to stay until the browser has read it,
    which on a busy machine is after any fixed time."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).click()
    chooser.value.set_files({"name": name, "mimeType": "application/toml", "buffer": content})


def drag(page: Any, name: str, to: float, steps: int = 12) -> None:
    """Drag a slider's knob to a part of its width."""
    slider = page.get_by_role("slider", name=name, exact=True)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    low, high, now = (float(slider.evaluate(f"e => e.{key}")) for key in ("min", "max", "value"))
    inner = box["width"] - 18
    x = box["x"] + 9 + inner * (now - low) / (high - low)
    y = box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 9 + inner * to, y, steps=steps)
    page.mouse.up()


def commands(page: Any) -> list[str]:
    """The command lines that a page shows."""
    card = page.locator("section[aria-label='The same numbers on the command line']")
    return list(card.locator("code.wb-command:visible").all_inner_texts())
