"""The precision of FLINT is one global: threads and forked children must not change it for each other."""

from __future__ import annotations

import ast
import os
import signal
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.budget import DiscreteGaussian, DiscreteLaplace
from discreet.loss.lattice import Loss, exact_exponent, log_scale
from discreet.noise import balls

SOURCE = Path(balls.__file__).parents[1]


def exponents(count: int) -> list[float]:
    """Exponents of the float engine, whose large parts cancel: wrong at once with fewer than 320 bits."""
    loss = Loss([DiscreteGaussian(variance="1/20", times=10**6), DiscreteLaplace(scale="3/7")])
    found = []
    for k in range(count):
        theta = 1 + k / 1024
        found.append(exact_exponent(log_scale(loss, theta), theta, Fraction(10**7)))
    return found


def test_four_threads_get_the_digits_of_one() -> None:
    alone = exponents(60)
    results: list[list[float]] = []
    stop = threading.Event()

    def disturb() -> None:  # the sampler, with other precisions
        while not stop.is_set():
            for bits in (64, 128):
                with balls.working_bits(bits):
                    assert balls.current_bits() == bits

    others = [threading.Thread(target=disturb) for _ in range(2)]
    workers = [threading.Thread(target=lambda: results.append(exponents(60))) for _ in range(4)]
    for thread in (*others, *workers):
        thread.start()
    for thread in workers:
        thread.join()
    stop.set()
    for thread in others:
        thread.join()
    assert results == [alone] * 4


def child(work: object) -> int:
    """Run `work` in a forked child that gives up after twenty seconds; its exit status."""
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(20)
            os._exit(0 if work() else 1)  # type: ignore[operator]
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork: run on Linux or macOS")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_while_another_thread_holds_the_lock_goes_on() -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with balls.working_bits(99):
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert child(lambda: len(exponents(2)) == 2) == 0
    finally:
        done.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork: run on Linux or macOS")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_inside_a_block_still_holds_the_lock() -> None:
    def work() -> bool:
        waiting = threading.Thread(target=exponents, args=(1,), daemon=True)
        waiting.start()
        waiting.join(0.2)
        return waiting.is_alive() and balls.current_bits() == 99

    with balls.working_bits(80), balls.working_bits(99):
        assert child(work) == 0


def test_no_other_module_sets_the_precision() -> None:
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text if "flint" in text else "")):
            if isinstance(node, ast.ImportFrom) and node.module == "flint":
                names = {alias.name for alias in node.names}
                assert "ctx" not in names or path == Path(balls.__file__), path
