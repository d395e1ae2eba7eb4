"""`discreet workbench`: decide with live pictures, in the browser."""

from __future__ import annotations

from typing import Annotated

from discreet.answers.answer import Answer, Paragraph
from discreet.cli import console
from discreet.cli.console import Screen, option
from discreet.errors import InputError, install_hint

app = console.command(
    "workbench",
    "[OPTIONS]",
    "--port 9000",
    "--socket ~/.workbench.sock",
    "--host 0.0.0.0 --token auto",
    "--open",
)

PORT = 8765
_SHORTEST = 12
_WORDS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"


@app.default
def workbench(
    *,
    port: Annotated[int | None, option(f"Default: {PORT}.", "P")] = None,
    host: Annotated[str | None, option("Default: 127.0.0.1, this machine alone.", "ADDRESS")] = None,
    socket: Annotated[
        str | None, option("Listen on a Unix socket that only you can use, not on a port.", "PATH")
    ] = None,
    open: Annotated[bool, option("Open the page in the browser.")] = False,
    token: Annotated[
        str | None,
        option(
            "Every request must show it; `auto`, the default on this machine, makes and prints one.",
            "T",
            negative="",
        ),
    ] = None,
    no_token: Annotated[bool, option("Serve every program on this machine.", negative="")] = False,
    json: Annotated[bool, option("Print the address as one JSON object.", negative="")] = False,
) -> None:
    """Serve the pages until Ctrl-C. Nothing leaves this machine."""
    import os
    import secrets

    from discreet.workbench.server import Address, check_port, is_loopback, use_system_allocator

    for name, given in (("--port", port), ("--host", host), ("--open", open or None)):
        if socket is not None and given is not None:
            raise InputError(f"{name} and --socket were both given; choose one of them")
    port, host = PORT if port is None else port, "127.0.0.1" if host is None else host
    if not 1 <= port <= 65535:
        raise InputError(f"port is {port}; it must be 1 to 65535")
    if no_token and token is not None:
        raise InputError("--token and --no-token were both given; choose one of them")
    if socket is None and not is_loopback(host):
        if no_token:
            raise InputError(f"host is {host}, which others can reach; --no-token is for this machine alone")
        if token is None:
            raise InputError(
                f"host is {host}, which others can reach; give --token T, or --token auto to make and "
                "print one"
            )
    if token not in (None, "auto"):
        checked_token(token)
    elif not no_token:
        token = secrets.token_urlsafe(24)
    if socket is None:
        check_port(host, port)
    use_system_allocator()
    try:
        import nicegui as _  # noqa: F401
    except ImportError:
        raise InputError(f"the workbench needs NiceGUI: {install_hint('workbench')}") from None
    from discreet.workbench.server import serve

    address = Address(host, port, token, os.path.abspath(os.path.expanduser(socket)) if socket else "")
    where = f"{address.url} by way of {address.socket}" if address.socket else address.url
    said = (f"Workbench: {where}", "Stop with Ctrl-C.")
    answer = Answer(
        "Workbench",
        {"url": address.url, "socket": address.socket or None},
        tuple(Paragraph(line, wraps=False) for line in said),
    )
    serve(address, show=open, ready=lambda: Screen(json=json, quiet=True).tell(answer))


def checked_token(token: str) -> str:
    """Return a token that can stand in an address and is not guessed at once.

    >>> checked_token("short")
    Traceback (most recent call last):
    discreet.errors.InputError: the token has 5 characters; it must have 12 or more, of letters, \
digits, - and _
    """
    if len(token) < _SHORTEST or any(letter not in _WORDS for letter in token):
        size = f"{_SHORTEST} or more, of letters, digits, - and _"
        raise InputError(f"the token has {len(token)} characters; it must have {size}")
    return token
