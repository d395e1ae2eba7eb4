"""Linear algebra has one thread while an estimate is made, and the caller's number of them afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  # brings a library of its own
from health import RELEASE, records, truth

from discreet.errors import InputError
from discreet.estimation import accuracy, estimate, linear_algebra
from discreet.estimation.linear_algebra import algebra_threads, one_algebra_thread
from discreet.measurement import measure
from discreet.reports.printed import print_tables


@pytest.fixture
def two_threads() -> Iterator[tuple[int, ...]]:
    """Two threads in each library, as a caller may want them."""
    libraries = linear_algebra._libraries()
    before = [one.get() for one in libraries]
    if not libraries:
        pytest.skip("no library of linear algebra here tells its threads")
    for one in libraries:
        one.set(2)
    yield algebra_threads()
    for one, many in zip(libraries, before, strict=True):
        one.set(many)


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The numbers of threads that were met where matrices are inverted and taken apart."""
    met: set[int] = set()

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def solve(*arguments: Any, **options: Any) -> Any:
            met.update(algebra_threads())
            return function(*arguments, **options)

        return solve

    for name in ("inv", "eigh", "pinv", "eigvalsh"):
        monkeypatch.setattr(np.linalg, name, watched(getattr(np.linalg, name)))
    return met


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("threads")
    people, units = records(folder, truth())
    measure(RELEASE, None, folder / "noisy", records=people, units=units, rehearsal=1)
    return folder / "noisy"


QUESTIONS: dict[str, Callable[[Path, Path], object]] = {
    "estimate": lambda noisy, _: estimate(noisy),
    "only tables": lambda noisy, _: estimate(noisy, only_tables=True),
    "print": lambda noisy, out: print_tables(noisy, out / "t.csv", prints=["age"]),
    "measure": lambda noisy, out: measure(
        RELEASE,
        None,
        out / "again",
        records=noisy.parent / "records.csv",
        units=noisy.parent / "units.csv",
        rehearsal=2,
        post="consistent",
    ),
    "accuracy": lambda *_: accuracy(RELEASE, tree=[3, 2]),
}


@pytest.mark.parametrize(
    "question", [pytest.param(one, marks=[pytest.mark.slow] * (one == "measure")) for one in QUESTIONS]
)
def test_a_process_solves_with_one_thread(
    question: str, noisy: Path, tmp_path: Path, two_threads: tuple[int, ...], inside: set[int]
) -> None:
    assert set(two_threads) == {2}
    QUESTIONS[question](noisy, tmp_path)
    assert inside == {1}
    assert algebra_threads() == two_threads


def test_threads_come_back_after_a_refusal(noisy: Path, two_threads: tuple[int, ...]) -> None:
    with pytest.raises(InputError):
        estimate(noisy, queries=["nothing"])
    assert algebra_threads() == two_threads


def test_the_last_of_several_users_gives_the_threads_back(two_threads: tuple[int, ...]) -> None:
    one, other = one_algebra_thread(), one_algebra_thread()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert set(algebra_threads()) == {1}
    other.__exit__(None, None, None)
    assert algebra_threads() == two_threads


@pytest.mark.parametrize("loaded", [[], ["/no/such/libblas.so"], ["libc.so.6"]])
def test_where_nothing_can_be_told_all_stays(
    loaded: list[str], noisy: Path, two_threads: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No library, one that is not loaded, and one that has no such call."""
    with monkeypatch.context() as patch:
        patch.setattr(linear_algebra, "_loaded", lambda: loaded)
        assert algebra_threads() == ()
        assert estimate(noisy).units == 10
    assert algebra_threads() == two_threads


def test_libraries_are_found_without_a_list_of_what_is_loaded(
    two_threads: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where there is no /proc: beside NumPy and SciPy, if they brought their own."""
    beside = [folder for folder in Path(np.__file__).parents[1].glob("*.libs") if list(folder.glob("*blas*"))]
    if not beside:
        pytest.skip("NumPy and SciPy use a library of the system")
    monkeypatch.setattr(linear_algebra, "_MAPS", Path("/no/such/file"))
    assert len(algebra_threads()) == len(beside)
    with one_algebra_thread():
        assert set(algebra_threads()) == {1}
    assert algebra_threads() == two_threads


def test_what_scipy_loads_meanwhile_has_one_thread_too() -> None:
    """SciPy loads its library when its algebra is first used, which may be within."""
    code = """
import sys
from discreet.estimation.linear_algebra import algebra_threads, one_algebra_thread
assert "scipy.linalg" not in sys.modules
with one_algebra_thread():
    import scipy.linalg
    print({*algebra_threads()} <= {1})
"""
    two = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], env=two, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
