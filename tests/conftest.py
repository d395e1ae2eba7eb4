"""Hypothesis profiles, known limits, saved cases, and the `slow` marker.

Property tests draw the same examples each time (profile `fixed`); `make fuzz` searches with new seeds
(profile `fuzz`) and saves what it finds in `tests/fuzz/cases`, from where it is replayed here: a test with
`@given` that has a saved case runs once more with that seed. Tests marked `slow` are skipped unless
`--run-slow` is given.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import json
import os
import signal
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings

from discreet import cli
from discreet.answers.answer import Answer
from discreet.cli import console
from discreet.cli.schema import schema_names, schema_of
from discreet.render.json import json_of
from discreet.render.json_schema import problems

# an example of the accountant's tests costs up to a second: shrinking one would take many minutes
_COMMON = {
    "deadline": None,
    "print_blob": True,
    "database": None,
    "phases": (Phase.explicit, Phase.generate),
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
}
settings.register_profile("fixed", derandomize=True, **_COMMON)
settings.register_profile("fuzz", **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# Several tests run at once, and hundreds of commands are started by them: one thread of linear algebra each
# (idle ones spin), and every module compiled once.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell's background and nohup start what they run with signals ignored; these are tested all the same.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

collect_ignore_glob = ["*conftest.py"]  # fixtures, not modules with doctests

# What cannot be done yet, as docs/limitations.md says: refused, coarser than asked, or not noticed. Each
# runs and must fail: one that has been mended turns `make test` red until it is taken off.
KNOWN_LIMITS = {
    "f next to the corners of steep atoms is refused": (
        "test_tradeoff_reference.py::test_tricky_knots[plateaus]",
        "test_tradeoff_reference.py::test_tricky_knots[middle of f below 1e-50]",
    ),
    "many distinct terms without a lattice: f below 1e-15 is refused, and there is no certified interval": (
        "test_tradeoff_reference.py::test_f_is_its_own_inverse[six large ones without lattice]",
        "test_certified_reference.py::test_line_to_a_millionth[six large ones without lattice]",
        "test_certified_reference.py::test_line_to_a_millionth[300 distinct small variances]",
        "test_engine_properties.py::test_hundreds_of_distinct_variances[300 distinct small variances]",
    ),
    "an audit does not see a leak that is the same for both of its tables": (
        "test_audit_runs.py::test_an_order_by_the_counts_that_one_record_does_not_change",
    ),
    "a policy beside the data does not bind a copy of them elsewhere; that of the machine does": (
        "test_release_policy.py::test_a_copy_elsewhere_is_bound[beside]",
    ),
}


# What a command prints as JSON here must be as its type says.
_tell = console.Screen.tell


def _tell_as_stated(screen: console.Screen, answer: Answer, *, timed: bool = False) -> None:
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not cli.run.__code__:
        frame = frame.f_back
    if screen.json and frame is not None:
        words = " ".join(frame.f_locals["arguments"])
        name = max((one for one in schema_names() if f"{words} ".startswith(f"{one} ")), key=len, default="")
        found = json.loads(json_of(answer, **({"seconds": 0.1} if timed else {})))
        wrong = list(problems(found, schema_of(name))) if name else ["there is no schema"]
        if wrong:
            hint = "if that is right, say so in its type (discreet/answers/objects, or objects.py of a guest)"
            raise AssertionError(f"discreet {words}: {'; '.join(wrong[:5])}; {hint}")
    _tell(screen, answer, timed=timed)


console.Screen.tell = _tell_as_stated  # type: ignore[method-assign]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="also run the tests marked slow")
    parser.addoption("--torture", action="store_true", help="also run the tests marked torture")
    parser.addoption(
        "--shard", type=_shard, metavar="K/N", help="the K-th of N parts that together are all tests"
    )
    parser.addoption("--cpu", type=int, metavar="N", help="list the N tests that took most processor time")


def _shard(text: str) -> tuple[int, int]:
    """Which part of how many."""
    number, _, many = text.partition("/")
    if not (number.isdecimal() and many.isdecimal() and 1 <= int(number) <= int(many)):
        raise argparse.ArgumentTypeError(f"--shard is {text!r}; it must be K/N, such as 1/6")
    return int(number), int(many)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _mark_limits(items)
    _mark_doctests(items)
    _mark_slow_cases(items)
    _replay(items)
    _keep_shard(config, items)
    for option, marker in (("--run-slow", "slow"), ("--torture", "torture")):
        skip = pytest.mark.skip(reason=f"{marker}: give {option}")
        for item in items:
            if item.get_closest_marker(marker) and not config.getoption(option):
                item.add_marker(skip)


def pytest_collection_finish() -> None:
    gc.freeze()  # what was collected stays to the end: nobody need look through it again for what may go
    gc.set_threshold(10_000, 20, 20)


SLOW_CASES = frozenset((Path(__file__).parent / "slow_cases.txt").read_text(encoding="utf-8").splitlines())
"""Cases of tests whose other cases show the same in less time, and long tests: slow, by measurement."""


def _mark_slow_cases(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid in SLOW_CASES:
            item.add_marker(pytest.mark.slow)


def in_shard(name: str, number: int, many: int) -> bool:
    """Whether the test of this name is in this part: each is in one, whatever other tests there are."""
    return zlib.crc32(name.encode()) % many == number - 1


def _keep_shard(config: pytest.Config, items: list[pytest.Item]) -> None:
    shard = config.getoption("--shard")
    if shard is None:
        return
    every = len(items)
    kept, others = [], []
    for item in items:
        # what shares a server or an engine stays together
        group = item.get_closest_marker("xdist_group")
        name = item.nodeid if group is None else f"group {group.args[0]}"
        (kept if in_shard(name, *shard) else others).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=others)
    config.stash[SHARD] = f"shard {shard[0]}/{shard[1]}: {len(kept)} of {every} tests"


SHARD = pytest.StashKey[str]()


def _mark_limits(items: list[pytest.Item]) -> None:
    """A known limit runs, and must still be one: what has been mended is taken off the list."""
    limits = {name: reason for reason, names in KNOWN_LIMITS.items() for name in names}
    for item in items:
        name = item.nodeid.rsplit("/", 1)[-1]
        if name in limits:
            item.add_marker(pytest.mark.xfail(reason=limits.pop(name), strict=True))
    collected = {item.nodeid.rsplit("/", 1)[-1].split("::")[0] for item in items}
    whole = [name for name in limits if name.split("::")[0] in collected]
    # asked for by a path to a single test, others of its file are not collected
    if whole and not any("::" in argument or argument.startswith("-k") for argument in sys.argv):
        raise pytest.UsageError(f"known limits of tests that do not exist: {', '.join(whole)}")


def _mark_doctests(items: list[pytest.Item]) -> None:
    """An example cannot carry a marker: one with the comment `# slow` is marked here."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and any(
            "# slow" in one.source for one in item.dtest.examples
        ):
            item.add_marker(pytest.mark.slow)


REPLAYED = pytest.StashKey[int]()


def _replay(items: list[pytest.Item]) -> None:
    """Add a copy of each property test for each of its saved cases."""
    by_id = {item.nodeid: item for item in items}
    for path in sorted((Path(__file__).parent / "fuzz" / "cases").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        item = by_id.get(case["check"])
        if isinstance(item, pytest.Function) and item.parent is not None:
            copy = pytest.Function.from_parent(
                item.parent,
                name=f"{item.name}[seed {case['seed']}]",
                callspec=getattr(item, "callspec", None),
                callobj=item.obj,
                originalname=item.originalname,
            )
            copy.stash[REPLAYED] = case["seed"]
            items.insert(items.index(item) + 1, copy)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if REPLAYED not in item.stash:
        return (yield)
    assert isinstance(item, pytest.Function)
    hypothesis.seed(item.stash[REPLAYED])(item.obj)
    try:
        return (yield)
    finally:
        hypothesis.seed(None)(item.obj)  # type: ignore[arg-type]  # None is what a test without a seed has


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether every place is tried, as in `make test-all`, or one in so many."""
    return bool(request.config.getoption("--run-slow"))


# -- processor time, which a busy machine does not change much (`make times`) --------------------------------


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = sum(os.times()[:4])  # children that have ended included
    try:
        return (yield)
    finally:
        item.stash[SECONDS] = sum(os.times()[:4]) - before


SECONDS = pytest.StashKey[float]()


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    taken = {item.nodeid: item.stash[SECONDS] for item in session.items if SECONDS in item.stash}
    if output is not None:
        output["seconds"] = taken
        output["shard"] = session.config.stash.get(SHARD, "")
    else:
        session.config.stash.setdefault(TAKEN, {}).update(taken)


TAKEN = pytest.StashKey[dict[str, float]]()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})
    node.config.stash.setdefault(TAKEN, {}).update(output.get("seconds", {}))
    if output.get("shard"):
        node.config.stash[SHARD] = output["shard"]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    count, taken = config.getoption("--cpu"), config.stash.get(TAKEN, {})
    if shard := config.stash.get(SHARD, ""):
        terminalreporter.write_line(shard)
    if count is None:
        return
    terminalreporter.section("processor time")
    for name, seconds in sorted(taken.items(), key=lambda pair: -pair[1])[:count]:
        terminalreporter.write_line(f"{seconds:8.2f} s  {name}")
    terminalreporter.write_line(f"{sum(taken.values()):8.2f} s  in {len(taken)} tests")
