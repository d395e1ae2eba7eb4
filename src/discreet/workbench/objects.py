"""What the commands of this guest print with --json."""

from __future__ import annotations

from typing import TypedDict


class WorkbenchKeys(TypedDict):
    """What `discreet workbench` prints."""

    url: str
    socket: None
