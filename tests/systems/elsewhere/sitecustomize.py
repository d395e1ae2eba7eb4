"""Makes Python look like that of another system; found by every process that has this folder in PYTHONPATH.

ELSEWHERE=windows hides what Windows does not have, and gives locks of files as its `msvcrt` does;
ELSEWHERE=unlocked has no locks of any kind. What the file system allows stays that of this machine.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from types import ModuleType

HIDDEN_MODULES = ("fcntl", "grp", "pwd", "resource", "termios", "syslog")
HIDDEN = {
    os: "fork forkpty getuid geteuid getgid getgroups killpg nice pread sched_getaffinity setsid",
    signal: "SIGHUP SIGALRM pthread_sigmask",
}


def windows_locks() -> ModuleType:
    """`msvcrt` as Windows has it: a lock that another handle holds is a PermissionError."""
    import fcntl

    def locking(handle: int, mode: int, count: int) -> None:
        assert (mode, count) == (module.LK_NBLCK, 1)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    module = ModuleType("msvcrt")
    module.LK_NBLCK, module.locking = 2, locking
    return module


if system := os.environ.get("ELSEWHERE"):
    if system == "windows":
        sys.modules["discreet_test_msvcrt"] = windows_locks()
    for name in HIDDEN_MODULES:
        sys.modules[name] = None
    for module, names in HIDDEN.items():
        for name in names.split():
            delattr(module, name)
    import_module("subprocess")  # it asks for msvcrt to see on which system it is
    import_module("multiprocessing").get_all_start_methods = lambda: ["spawn"]
    if system == "windows":
        del import_module("asyncio").open_unix_connection
        sys.modules["msvcrt"] = sys.modules.pop("discreet_test_msvcrt")
