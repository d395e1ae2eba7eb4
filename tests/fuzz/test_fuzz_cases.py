"""What searches have found stays found: every saved case is run again, and the search itself can find."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import fuzzing
import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "module" in metafunc.fixturenames:
        cases = [case for case in fuzzing.saved() if not case.is_property]
        # seed 0 of each module too: a module that cannot be searched is noticed
        cases += [fuzzing.Case(module, 0) for module in fuzzing.modules()]
        ids = [case.file.stem for case in cases]
        metafunc.parametrize(("module", "seed"), [(case.check, case.seed) for case in cases], ids=ids)


def test_cases_of_modules(module: str, seed: int) -> None:
    fuzzing.checker(module)(seed)


def test_cases_are_of_checks_that_exist() -> None:
    for case in fuzzing.saved():
        path, *names = case.check.split("::")
        assert (fuzzing.ROOT / path).is_file(), (
            f"{case.file.name} is of {path}, which is gone: rewrite it as a test"
        )
        if names:
            assert f"def {names[-1].split('[')[0]}(" in (fuzzing.ROOT / path).read_text(encoding="utf-8"), (
                case.check
            )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A project of its own, with this machinery and two checks that fail on some seeds."""
    here = Path(__file__).parent
    tests = tmp_path / "tests"
    (tests / "fuzz").mkdir(parents=True)
    for name in ("fuzzing.py", "search.py", "test_fuzz_cases.py"):
        (tests / "fuzz" / name).write_text((here / name).read_text(encoding="utf-8"), encoding="utf-8")
    for name in ("conftest.py", "slow_cases.txt"):
        (tests / name).write_text((here.parent / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tests / "fuzz_odd.py").write_text("def check_one(seed):\n    assert (seed + 1) % 3, seed\n")
    (tests / "test_small.py").write_text(
        "from hypothesis import given, strategies as st\n\n"
        "@given(x=st.integers(0, 10**6))\ndef test_never_above(x):\n    assert x < 1_000, x\n\n"
        "@given(x=st.integers())\ndef test_fine(x):\n    assert x == x\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    return tmp_path


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("HYPOTHESIS", "PYTEST"))
    }
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_a_search_saves_what_it_finds_and_the_tests_replay_it(copy: Path) -> None:
    searched = python(copy, "tests/fuzz/search.py", "--minutes", "5", "--rounds", "1")
    assert searched.returncode == 1, searched.stdout + searched.stderr
    cases = {
        data["check"]: data
        for data in map(json.loads, map(Path.read_text, copy.glob("tests/fuzz/cases/*.json")))
    }
    assert set(cases) == {"tests/fuzz_odd.py", "tests/test_small.py::test_never_above"}
    assert cases["tests/fuzz_odd.py"]["seed"] % 3 == 2
    assert "AssertionError" in cases["tests/test_small.py::test_never_above"]["found"]
    replayed = python(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", "-k", "not search")
    assert replayed.returncode == 1
    seed = cases["tests/test_small.py::test_never_above"]["seed"]
    assert f"test_never_above[seed {seed}]" in replayed.stdout
    assert "test_cases_of_modules[fuzz-odd-py-" in replayed.stdout
