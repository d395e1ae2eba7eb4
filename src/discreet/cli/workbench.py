"""`discreet workbench`: decide with live pictures, in the browser."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from discreet.errors import InputError

app = App(
    name="workbench",
    usage="Usage: discreet workbench [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet workbench --open\n"
    "  discreet workbench --port 9000\n"
    "  discreet workbench --host 0.0.0.0 --token auto",
)

PORT = 8765
_SHORTEST = 12
_WORDS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"


@app.default
def workbench(
    *,
    port: Annotated[int, Parameter(help=f"Default: {PORT}.", metavar="P")] = PORT,
    host: Annotated[
        str, Parameter(help="Default: 127.0.0.1, this machine alone; others need --token.", metavar="ADDRESS")
    ] = "127.0.0.1",
    open: Annotated[bool, Parameter(help="Open the page in the browser.")] = False,
    token: Annotated[
        str | None,
        Parameter(help="Who does not know it is not served; `auto` makes one and prints it.", metavar="T"),
    ] = None,
) -> None:
    """Serve the pages until Ctrl-C. Nothing leaves this machine."""
    from discreet.cli.printing import write
    from discreet.workbench.server import Place, check_port, is_loopback

    if not 1 <= port <= 65535:
        raise InputError(f"port is {port}; it must be 1 to 65535")
    if token is None and not is_loopback(host):
        raise InputError(
            f"host is {host}, which others can reach; say --token T, or --token auto for one that is printed"
        )
    if token == "auto":
        import secrets

        token = secrets.token_urlsafe(24)
    elif token is not None:
        checked_token(token)
    check_port(host, port)
    try:
        import nicegui as _  # noqa: F401
    except ImportError:
        raise InputError("the workbench needs NiceGUI: pip install 'discreet[workbench]'") from None
    from discreet.workbench.server import serve

    place = Place(host, port, token)
    serve(place, show=open, ready=lambda: write(f"Workbench: {place.url}\nStop with Ctrl-C.\n"))


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
