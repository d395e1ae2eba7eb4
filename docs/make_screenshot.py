"""Makes docs/images/workbench.png from the running page: `.venv/bin/python docs/make_screenshot.py`.

Needs Chromium and `discreet[test]`. The page is the one that a new visitor sees, when
all pairs of paths of the 2020 Census DHC have been compared.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

from discreet.report.html.pdf import find_chromium

OUT = Path(__file__).parent / "images" / "workbench.png"
LARGEST = 300_000  # bytes
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


def main() -> None:
    """Start the server, take the picture, stop the server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/budget"
    command = [sys.executable, "-m", "discreet", "workbench", "--port", str(port), "--no-token"]
    server = subprocess.Popen(command)
    try:
        wait_for(url)
        OUT.parent.mkdir(exist_ok=True)
        take(url)
    finally:
        server.terminate()
        server.wait(20)
    size = OUT.stat().st_size
    assert size < LARGEST, f"{OUT} has {size} bytes; at most {LARGEST} are wanted"
    print(f"{OUT}: {size // 1000} kB")


def wait_for(url: str) -> None:
    """Wait until the page can be asked for."""
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=10).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the workbench did not start")


def take(url: str) -> None:
    """Photograph the first page once its numbers are final."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme="light")
        page.goto(url)
        page.wait_for_selector("[data-complete=true]", timeout=180_000)
        page.wait_for_timeout(500)
        page.screenshot(path=OUT)
        browser.close()


if __name__ == "__main__":
    main()
