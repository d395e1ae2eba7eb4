"""Commands on files that are wrong in some way: one line, status 2, nothing written, within a time limit."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from discreet.cli import run

SECONDS = 20
"""Processor time that any answer may take."""

SECRET = "731946"
"""A confidential count of the sample tables: no message may show it."""

RELEASE = """\
name = "small"
title = "Two levels"
unit = "person"
neighbours = "bounded"
notes = ["A note."]

[[levels]]
name = "State"
[levels.queries]
"total" = { variance = "4" }
"sex" = { scale = "3", sensitivity = 1, groups = 1 }

[[levels]]
name = "County"
[levels.queries]
"total" = { variance = "17/3" }
"sex" = { variance = "9" }

[spine]
may_merge_up = ["County"]
"""

COUNTS = f"""\
unit,parent,level,query,cell,count
A,,State,total,all,{SECRET}
A,,State,sex,f,{SECRET}
A,,State,sex,m,0
A1,A,County,total,all,{SECRET}
A1,A,County,sex,f,{SECRET}
A1,A,County,sex,m,0
A2,A,County,total,all,0
A2,A,County,sex,f,0
A2,A,County,sex,m,0
"""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise if the block takes more processor time: a busy machine changes nothing."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no answer within {seconds} seconds of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a folder."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def command(arguments: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run a command line in a folder; check how it ends; return its status and the line it complained "
    "with."""
    before, here = files(folder), os.getcwd()
    out, err = io.StringIO(), io.StringIO()
    os.chdir(folder)
    try:
        with within(SECONDS), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run(list(arguments))
    finally:
        os.chdir(here)
    said = err.getvalue()
    assert status in (0, 2), (arguments, status, said)
    assert SECRET not in said, (arguments, said)
    # of a ledger that is not sound the answer is a list of problems
    is_answer = list(arguments[:2]) == ["ledger", "check"] and "\nproblem: " in out.getvalue()
    if status == 2 and is_answer:
        assert said == "", (arguments, said)
    elif status == 2:
        assert said.startswith("discreet: "), (arguments, said)
        assert said.count("\n") == 1, (arguments, said)
        assert len(said) < 4000, (arguments, len(said), said[:500])
        if "--json" in arguments:  # the error is an object, for machines
            assert json.loads(out.getvalue())["status"] == 2, (arguments, out.getvalue()[:500])
            assert SECRET not in out.getvalue(), arguments
        else:
            assert out.getvalue() == "", (arguments, out.getvalue()[:500])
        assert files(folder) == before, (arguments, "files were written")
    return status, said
