"""The page as PDF, printed by a Chromium that is at hand. The bytes of a PDF hold the time it was made."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from discreet.errors import InputError

NAMES = (
    "chromium-headless-shell",  # without windows: half the work
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
_SECONDS = 120


def find_chromium() -> str:
    """Return the browser that prints, by its usual names.

    >>> bool(find_chromium()) if any(map(shutil.which, NAMES)) else True
    True
    """
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise InputError(
        f"a PDF needs Chromium, and none of {', '.join(NAMES)} was found; "
        "the HTML file prints from any browser"
    )


def print_pdf(html: str, *, browser: str | None = None) -> bytes:
    """Return the page as PDF; the browser works in a directory of its own, which is removed."""
    program = browser or find_chromium()
    with tempfile.TemporaryDirectory(prefix="discreet-", ignore_cleanup_errors=True) as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(html, encoding="utf-8")
        command = [
            program,
            "--headless",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
            "--no-pdf-header-footer",
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={target}",
            *(["--no-sandbox"] if _is_root() else []),
            source.as_uri(),
        ]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, cwd=folder)
        except subprocess.TimeoutExpired:
            raise InputError(f"Chromium did not print the page within {_SECONDS} s") from None
        except OSError as error:
            raise InputError(f"Chromium cannot be started: {error.strerror}") from None
        if done.returncode != 0 or not target.is_file():
            raise InputError(f"Chromium did not print the page (it ended with {done.returncode})")
        return target.read_bytes()


def _is_root() -> bool:
    """Chromium's sandbox refuses to run as root; the page has no program that it could keep in."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
