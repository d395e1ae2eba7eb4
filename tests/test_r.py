"""The R package in r/: `R CMD check` finds nothing, with the program at hand and without it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "r"


def missing() -> str:
    """Why the package cannot be checked here; nothing if it can."""
    if shutil.which("R") is None:
        return "R is not installed; on Debian: apt-get install r-base-core r-cran-jsonlite"
    words = ["Rscript", "-e", "library(jsonlite)"]
    if subprocess.run(words, capture_output=True).returncode:
        return "R has no package jsonlite; on Debian: apt-get install r-cran-jsonlite"
    return ""


def test_the_version_is_that_of_the_program() -> None:
    stated = re.search(r"^Version: (.+)$", (PACKAGE / "DESCRIPTION").read_text(encoding="utf-8"), re.M)
    assert stated is not None
    assert stated[1] == discreet.__version__


def test_every_function_has_a_help_page_and_a_test() -> None:
    exported = re.findall(r"^export\((\w+)\)", (PACKAGE / "NAMESPACE").read_text(encoding="utf-8"), re.M)
    pages = "".join(page.read_text(encoding="utf-8") for page in (PACKAGE / "man").glob("*.Rd"))
    tests = "".join(test.read_text(encoding="utf-8") for test in (PACKAGE / "tests").glob("*.R"))
    assert {"account", "calibrate", "accuracy", "estimate", "risk"} <= set(exported)
    for name in exported:
        assert f"\\alias{{{name}}}" in pages
        assert re.search(rf"\b{name}\(", tests), f"no test of {name}"


@pytest.mark.slow
@pytest.mark.parametrize("program", ["at hand", "missing"])
def test_r_cmd_check_finds_nothing(program: str, tmp_path: Path) -> None:
    if reason := missing():
        pytest.skip(reason)
    wrapper = tmp_path / "bin" / "discreet"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m discreet "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    shown = [str(wrapper.parent)] if program == "at hand" else []
    kept = [one for one in os.environ["PATH"].split(os.pathsep) if not (Path(one) / "discreet").exists()]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([*shown, *kept]),
        "PYTHONPATH": str(ROOT / "src"),
        "_R_CHECK_SYSTEM_CLOCK_": "0",
    }
    environment.pop("DISCREET_PROGRAM", None)

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("R", "CMD", "build", str(PACKAGE))
    (built,) = tmp_path.glob("discreet_*.tar.gz")
    # the manual as PDF needs LaTeX; the help pages themselves are checked
    printed = run("R", "CMD", "check", "--no-manual", built.name)
    assert "Status: OK" in printed, printed
    skipped = "skipped: the program discreet is not found"
    (log,) = tmp_path.glob("discreet.Rcheck/tests/answers.Rout")
    said = log.read_text(encoding="utf-8").splitlines()  # beside the lines of the test itself
    assert (skipped in said) == (program == "missing")
