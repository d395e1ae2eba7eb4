"""The fault layer, built by the system's compiler; and the option that runs all of the matrix."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

for folder in (Path(__file__).parents[1], Path(__file__).parents[1] / "ledger"):
    sys.path.insert(0, str(folder))  # runs that end badly


@pytest.fixture(scope="session")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that is preloaded."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler: install gcc or clang")
    made = tmp_path_factory.mktemp("faults") / "faults.so"
    source = Path(__file__).parent / "faults.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(source), "-ldl"], check=True)
    return made
