"""The server: loopback unless a token guards it, offline, and gone with everything it started."""

from __future__ import annotations

import contextlib
import hmac
import http.cookies
import ipaddress
import os
import tempfile
import urllib.parse
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import InputError

LARGEST_BODY = 11_000_000
"""Bytes of the largest request that is read: a file of 10 MB and what wraps it."""

COOKIE = "discreet_workbench"
_DAY = 86_400

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Answers 401 to whoever has no token, and 421 to a page of another site that was led here by its name.

    It stands before everything: pages, files, uploads and the web socket.
    """

    def __init__(self, app: Any, token: str | None = None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, receive, send, *refusal)
            return
        if self._token is not None and _in_query(scope) == self._token:
            send = _with_cookie(send, self._token)
        await self._app(scope, _limited(receive), send)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        if self._token is not None:
            given = _given(scope, headers)
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                return 401, "A token is needed: open the address that `discreet workbench` printed.\n"
        elif not is_loopback(_host(headers.get("host", ""))):
            return 421, "This server answers to the names of this machine only.\n"
        origin = headers.get("origin")
        if origin and urllib.parse.urlsplit(origin).netloc != headers.get("host"):
            return 403, "Another site may not connect.\n"
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return 413, f"At most {LARGEST_BODY // 10**6} MB are read.\n"
        return None


def _given(scope: Scope, headers: dict[str, str]) -> str:
    """The token that a request brings: in its address, its cookie or its Authorization header."""
    found = _in_query(scope)
    if found:
        return found
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return bearer.strip()
    try:
        cookies = http.cookies.SimpleCookie(headers.get("cookie", ""))
    except http.cookies.CookieError:
        return ""
    return str(cookies[COOKIE].value) if COOKIE in cookies else ""


def _in_query(scope: Scope) -> str:
    query = urllib.parse.parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return str(query.get("token", [""])[0])


def _host(text: str) -> str:
    return urllib.parse.urlsplit(f"//{text}").hostname or ""


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, text: str) -> None:
    kind = "http.response"
    if scope["type"] == "websocket":
        await receive()
        kind = "websocket.http.response"
        if kind not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008})
            return
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": text.encode()})


def _with_cookie(send: Send, token: str) -> Send:
    """Hand out a cookie, so that the token need not stay in the address."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            cookie = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={_DAY}"
            message["headers"] = [*message.get("headers", []), (b"set-cookie", cookie.encode())]
        await send(message)

    return sending


def _limited(receive: Receive) -> Receive:
    """Stop reading a body that is longer than it may be, whatever it said of itself."""
    seen = 0

    async def receiving() -> MutableMapping[str, Any]:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > LARGEST_BODY:
                return {"type": "http.disconnect"}
        return message

    return receiving


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server listens."""

    host: str
    port: int
    token: str | None

    @property
    def url(self) -> str:
        """The address to open."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        query = f"/?token={self.token}" if self.token else "/"
        return f"http://{host}:{self.port}{query}"


def check_port(host: str, port: int) -> None:
    """Refuse a port that cannot be had, before anything is loaded."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(f"port {port} of {host} cannot be used: {error.strerror}") from None


def _visit(server: Any, name: str) -> Callable[[str], None]:
    """The function that draws one page; `s` is the session in the address."""
    from discreet.workbench import frame

    def visit(s: str = "") -> None:
        frame.build(server, name, s)

    return visit


async def _announce(place: Place, ready: Callable[[], None]) -> None:
    """Call `ready` once the port answers."""
    import asyncio

    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(place.host, place.host)
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection(host, place.port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            break
    ready()


def serve(place: Place, *, show: bool, ready: Callable[[], None]) -> None:
    """Serve the pages until Ctrl-C; `ready` is called when the first can be asked for."""
    from nicegui import app, background_tasks, ui

    from discreet.workbench.numbers import Server
    from discreet.workbench.pages import pages
    from discreet.workbench.worker import Jobs, Pool

    server = Server(Pool(), Jobs())

    for name in ("", *(page.name for page in pages())):
        ui.page(f"/{name}")(_visit(server, name))

    app.add_middleware(Guard, token=place.token)
    app.on_startup(server.pool.warm)
    app.on_startup(lambda: background_tasks.create(_announce(place, ready)))
    app.on_shutdown(server.pool.stop)
    with _tidily():
        ui.run(
            host=place.host,
            port=place.port,
            title="discreet workbench",
            favicon=_ICON,
            dark=None,
            language="en-US",
            reload=False,
            show=False if not show else place.url.partition(str(place.port))[2],
            show_welcome_message=False,
            tailwind=False,
            message_history_length=200,
            reconnect_timeout=20,  # a busy machine is no reason to begin anew
            binding_refresh_interval=None,
            timeout_graceful_shutdown=1,
        )


@contextlib.contextmanager
def _tidily() -> Iterator[None]:
    """Keep all files for a while in one directory, and leave neither it nor a process behind."""
    from discreet.workbench.worker import kill_children

    # Work that is killed leaves semaphores, which Python's tracker removes; it need not tell about it.
    known = [
        text for text in (os.environ.get("PYTHONWARNINGS"), "ignore:resource_tracker:UserWarning") if text
    ]
    os.environ["PYTHONWARNINGS"] = ",".join(known)
    with tempfile.TemporaryDirectory(prefix="discreet-", ignore_cleanup_errors=True) as directory:
        tempfile.tempdir = os.environ["TMPDIR"] = directory
        try:
            yield
        finally:
            kill_children()


_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" '
    'fill="#0b5cad"/><path d="M3 12C5 4 7 4 8 8s3 4 5-4" fill="none" stroke="#fff" stroke-width="1.6"/></svg>'
)
