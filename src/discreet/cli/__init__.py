"""The command line: one file a command, thin: parse, call, print.

A command is one module with a cyclopts `app`, and one line in `discreet.cli.commands`.
"""

from __future__ import annotations

import signal
import time

_started = time.perf_counter()


def start_clock() -> None:
    """Note that a command begins."""
    global _started
    _started = time.perf_counter()


def seconds_so_far() -> float:
    """Return how long ago the command began.

    >>> start_clock()
    >>> seconds_so_far() >= 0.0
    True
    """
    return time.perf_counter() - _started


def main() -> int:
    """Run the program with the arguments of the shell and return its exit status."""
    try:  # loading takes a moment, in which Ctrl-C ends the program as it does later
        from discreet.cli.commands import program

        status = program()
    except KeyboardInterrupt:
        status = 130
    # so does ending, when the interpreter has no handler left: what was done is done, and its status stands
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return status
