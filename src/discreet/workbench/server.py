"""The server: loopback by default, behind a token, offline; it ends together with all that it started."""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import os
import re
import secrets
import socket
import stat
import sys
import tempfile
import time
import urllib.parse
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import InputError

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 11_000_000
"""The largest request read, in bytes: a file of 10 MB and its envelope."""

MOST_ATTEMPTS = 10
"""Wrong tokens allowed from one address within a minute; after that its tokens are not even checked."""

_DAY = 86_400
_MINUTE = 60.0
_MOST_ADDRESSES = 1000
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9_.-]{1,253}))(?::([0-9]{1,5}))?")

HEADERS = {
    # Vue compiles templates in the page, so `eval` must be allowed; scripts from other hosts are not
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every response: the browser must run nothing from elsewhere and show no page in a frame."""


def is_loopback(host: str) -> bool:
    """Whether a host is a loopback address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens, and the token that gives access."""

    host: str
    port: int
    token: str | None
    socket: str = ""
    """The path of a Unix socket, instead of a host and port."""

    @property
    def url(self) -> str:
        """The address to open."""
        return self.with_token(self.token)

    def with_token(self, token: str | None) -> str:
        """The address that gives access."""
        if self.socket:
            host = "localhost"
        else:
            host = f"[{self.host}]" if ":" in self.host else self.host
            host = f"{host}:{self.port}"
        return f"http://{host}/?token={token}" if token else f"http://{host}/"

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach it."""
        return bool(self.socket) or is_loopback(self.host)


Refusal = tuple[int, str, dict[str, str]]
"""The response to a refused request: status, text and headers."""


class Guard:
    """Checks every request: for pages, files, uploads and the web socket.

    It answers 400 to a malformed Host, 401 to a client without a token, 403 to requests from other sites, 421
    to a name that is not this machine's, 429 to a client that guesses, and 413 to a body that is too large.
    """

    def __init__(self, app: ASGIApp, place: Address, once: str = "") -> None:
        self._app = app
        self._place = place
        self._once = once
        # the cookie does not hold the token, so nothing the browser stores can be passed on as one
        self._pass = secrets.token_urlsafe(24)
        self._cookie = f"discreet_workbench_{place.port}"  # cookies do not tell ports apart
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        from starlette.requests import HTTPConnection
        from starlette.responses import PlainTextResponse

        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(HTTPConnection(scope))
        if refusal is None:
            await self._app(scope, _limited(receive), _with_headers(send))
            return
        if scope["type"] == "websocket":
            await receive()
            if "websocket.http.response" not in scope.get("extensions", {}):
                await send({"type": "websocket.close", "code": 1008})
                return
        status, text, more = refusal
        said = PlainTextResponse(text, status, {"Cache-Control": "no-store", **HEADERS, **more})
        await said(scope, receive, send)

    def _refusal(self, asked: HTTPConnection) -> Refusal | None:
        """Return the response to a request to be refused; None lets it through."""
        headers, hosts = asked.headers, asked.headers.getlist("host")
        if len(hosts) > 1:
            return 400, "The request names two hosts.\n", {}
        host = _HOST.fullmatch("".join(hosts))
        if host is None or int(host[3] or 0) > 65535:
            return 400, "The Host of the request cannot be read.\n", {}
        if self._place.is_private and not self._place.socket and not is_loopback(host[1] or host[2]):
            return 421, "This server answers to the names of this machine only.\n", {}
        # browsers say where a request comes from; other programs do not
        origin = headers.get("origin")
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") or (
            origin and urllib.parse.urlsplit(origin).netloc != hosts[0]
        ):
            return 403, "Another site asked for this. To open it yourself, paste the address.\n", {}
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return 413, f"At most {LARGEST_BODY // 10**6} MB are read.\n", {}
        return None if self._place.token is None else self._stranger(asked, self._place.token)

    def _stranger(self, asked: HTTPConnection, token: str) -> Refusal | None:
        """Return the response to a client that has no cookie yet: with a token, or without."""
        shown = asked.query_params.get("token", "")
        if _same(asked.cookies.get(self._cookie, ""), self._pass):
            return self._welcome(asked) if "token" in asked.query_params else None
        scheme, _, bearer = asked.headers.get("authorization", "").partition(" ")
        given = bearer.strip() if scheme.lower() == "bearer" else shown
        if given:
            address = asked.client.host if asked.client else ""
            now = time.monotonic()
            wrong = [then for then in self._wrong.get(address, []) if now - then < _MINUTE]
            if len(wrong) >= MOST_ATTEMPTS:
                return 429, "Too many wrong tokens; try again in a minute.\n", {"Retry-After": "60"}
            if _same(given, token) or (self._once and _same(given, self._once)):
                if bearer:
                    return None
                self._once = "" if _same(given, self._once) else self._once
                return self._welcome(asked)
            self._wrong[address] = [*wrong, now]
            self._wrong.move_to_end(address)
            while len(self._wrong) > _MOST_ADDRESSES:
                self._wrong.popitem(last=False)
        return 401, "A token is needed: open the address that `discreet workbench` printed.\n", {}

    def _welcome(self, asked: HTTPConnection) -> Refusal | None:
        """Set a cookie and redirect to the same page, so that no address on the screen holds the token."""
        if asked.scope["type"] != "http":
            return None
        rest = asked.url.remove_query_params("token").query
        # a path that begins with two slashes would name another host
        path = "/" + urllib.parse.quote(asked.scope["path"].lstrip("/\\"), safe="/-_.~")
        cookie = f"{self._cookie}={self._pass}; Path=/; HttpOnly; SameSite=Strict; Max-Age={_DAY}"
        return 303, "", {"Location": f"{path}?{rest}" if rest else path, "Set-Cookie": cookie}


def _same(first: str, second: str) -> bool:
    return hmac.compare_digest(first.encode("utf-8", "surrogatepass"), second.encode())


def _with_headers(send: Send) -> Send:
    """Add the headers that restrict the browser to every response."""
    added = [(key.lower().encode(), value.encode()) for key, value in HEADERS.items()]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *added]
        await send(message)

    return sending


def _limited(receive: Receive) -> Receive:
    """Stop reading a body that is too long, whatever length it declared."""
    seen = 0

    async def receiving() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > LARGEST_BODY:
                return {"type": "http.disconnect"}
        return message

    return receiving


def check_port(host: str, port: int) -> None:
    """Refuse a port that is not available, before anything is loaded."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(f"port {port} of {host} cannot be used: {error.strerror}") from None


def open_socket(path: str) -> int:
    """Make a Unix socket that only its owner can use, and return its file descriptor."""
    if not hasattr(socket, "AF_UNIX"):
        raise InputError("this system has no Unix sockets; use a port")
    try:
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISSOCK(os.lstat(path).st_mode):
                raise InputError(f"{path} is there already and is not a socket")
            with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(ConnectionRefusedError):
                probe.connect(path)
                raise InputError(f"{path} is the socket of a server that is running")
            os.unlink(path)  # its server is gone
        listening = socket.socket(socket.AF_UNIX)
        old = os.umask(0o177)
        try:
            listening.bind(path)
        finally:
            os.umask(old)
    except OSError as error:
        raise InputError(f"{path} cannot be used: {error.strerror or error}") from None
    listening.listen(2048)
    return listening.detach()


def use_system_allocator() -> None:
    """Restart this program with the allocator of the GNU C library, before anything is loaded.

    Python's own allocator returns memory by the megabyte, and keeps every megabyte in which a single object
    outlives a visitor; this one returns every unused page of 4 kB (`session.Server`).
    """
    stated = os.environ.get("PYTHONMALLOC")
    if stated == "malloc":
        del os.environ["PYTHONMALLOC"]  # worker processes are faster without it
    elif stated is None and sys.platform == "linux" and sys.argv[1:2] == ["workbench"]:
        sys.stdout.flush()
        os.execve(
            sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONMALLOC": "malloc"}
        )


async def _announce(address: Address, ready: Callable[[], None]) -> None:
    """Call `ready` once the port answers."""
    import asyncio

    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address.host, address.host)
    for _ in range(200):
        with contextlib.suppress(OSError):
            if address.socket:  # not on Windows, which has no such function
                _, writer = await asyncio.open_unix_connection(address.socket)
            else:
                _, writer = await asyncio.open_connection(host, address.port)
            writer.close()
            break
        await asyncio.sleep(0.05)
    ready()


def serve(address: Address, *, show: bool, ready: Callable[[], None]) -> None:
    """Serve the pages until Ctrl-C; `ready` is called when the server answers."""
    import webbrowser

    from nicegui import app, background_tasks, ui

    from discreet.workbench import controls, frame
    from discreet.workbench.session import Server
    from discreet.workbench.tasks import warm
    from discreet.workbench.workers import Workers

    server = Server(Workers(warm=warm))
    once = secrets.token_urlsafe(24) if show and address.token else ""

    def visit(name: str) -> Callable[[str], Awaitable[None]]:
        async def draw(s: str = "") -> None:
            await frame.build_frame(server, name, s)

        return draw

    for name in ("", *frame.PAGES):
        ui.page(f"/{name}", response_timeout=60)(visit(name))

    app.post("/file/{key}")(controls.receive_file)

    def announced() -> None:
        ready()
        if show:
            # other users of the machine can see a program's arguments: this token works only once
            webbrowser.open(address.with_token(once))

    app.add_middleware(Guard, place=address, once=once)
    app.on_startup(server.workers.warm_up)
    app.on_startup(lambda: background_tasks.create(_announce(address, announced)))
    app.on_shutdown(server.workers.stop)
    listening = open_socket(address.socket) if address.socket else None  # may refuse an existing file
    with _tidily(address.socket):
        ui.run(
            host=address.host,
            port=address.port,
            title="discreet workbench",
            favicon=_ICON,
            dark=None,
            language="en-US",
            reload=False,
            show=False,
            show_welcome_message=False,
            tailwind=False,
            message_history_length=200,
            reconnect_timeout=40,  # on a busy machine a session should survive; its work ends earlier
            binding_refresh_interval=None,
            timeout_graceful_shutdown=1,
            server_header=False,
            ws_ping_timeout=60,  # seconds: a browser slow to answer may be waiting for this server
            fd=listening,
        )


@contextlib.contextmanager
def _tidily(path: str = "") -> Iterator[None]:
    """Keep all temporary files in one directory, and leave no file, socket or process behind."""
    from multiprocessing.util import get_temp_dir

    from discreet.workbench.workers import kill_children

    get_temp_dir()  # made first, so it is removed last, when its sockets are no longer needed
    # Killed work leaves semaphores behind; Python's tracker removes them, and need not warn about it.
    known = (os.environ.get("PYTHONWARNINGS"), "ignore:resource_tracker:UserWarning")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, known))
    with tempfile.TemporaryDirectory(prefix="discreet-", ignore_cleanup_errors=True) as directory:
        tempfile.tempdir = os.environ["TMPDIR"] = directory
        try:
            yield
        finally:
            kill_children()
            with contextlib.suppress(OSError):
                os.unlink(path)


_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" '
    'fill="#0b5cad"/><path d="M3 12C5 4 7 4 8 8s3 4 5-4" fill="none" stroke="#fff" stroke-width="1.6"/></svg>'
)
