"""Who is served: this machine alone, or who knows the token."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import PATIENCE, Workbench, environment, fetch, free_port, start

pytestmark = pytest.mark.xdist_group("workbench")  # one server and one browser for all

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    one = start(tmp_path_factory.mktemp("guarded"), token=TOKEN)
    yield one
    one.stop()


def static_path(workbench: Workbench, token: str = "") -> str:
    _, text = workbench.get("/", **({"Authorization": f"Bearer {token}"} if token else {}))
    return "/_nicegui/" + text.split("/_nicegui/")[1].split('"')[0]


def knock(workbench: Workbench, **headers: str) -> int:
    """Ask for a web socket: the status of the answer."""
    connection = http.client.HTTPConnection(workbench.url.removeprefix("http://"), timeout=PATIENCE)
    connection.putrequest("GET", "/_nicegui_ws/socket.io/?EIO=4&transport=websocket")
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    for key, text in {**upgrade, **headers}.items():
        connection.putheader(key, text)
    connection.endheaders()
    try:
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize(
    "path", ["/", "/budget", "/nothing", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"]
)
@pytest.mark.parametrize("token", ["", "a-wrong-token-of-the-tests"])
def test_without_the_token_nothing_is_served(guarded: Workbench, path: str, token: str) -> None:
    joint = "&" if "?" in path else "?"
    status, text = guarded.get(f"{path}{joint}token={token}" if token else path)
    assert status == 401
    assert "token is needed" in text
    assert "nicegui" not in text.lower()


def test_files_and_sockets_need_the_token_too(guarded: Workbench) -> None:
    path = static_path(guarded, TOKEN)
    assert guarded.get(path)[0] == 401
    cookie = welcome(guarded, "/")[1]
    assert guarded.get(path, Cookie=cookie)[0] == 200
    assert guarded.get("/", Authorization=f"Bearer {TOKEN}")[0] == 200
    assert knock(guarded) == 401
    assert knock(guarded, Cookie=cookie) == 101
    name = cookie.partition("=")[0]
    assert guarded.get(path, Cookie=f"{name}={TOKEN}")[0] == 401  # a cookie holds something else


def welcome(workbench: Workbench, path: str) -> tuple[str, str]:
    """Show the token in an address: where that leads, and the cookie that comes with it."""
    connection = http.client.HTTPConnection(workbench.url.removeprefix("http://"), timeout=PATIENCE)
    joint = "&" if "?" in path else "?"
    connection.request("GET", f"{path}{joint}token={TOKEN}")
    answer = connection.getresponse()
    assert answer.status == 303
    place, cookie = answer.getheader("Location", ""), answer.getheader("Set-Cookie", "")
    connection.close()
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in place + cookie
    return place, cookie.partition(";")[0]


@pytest.mark.parametrize(
    ("path", "place"),
    [("/", "/"), ("/risk?s=abc", "/risk?s=abc"), ("//evil.example/x", "/evil.example/x")],
)
def test_the_token_leaves_the_address_at_once(guarded: Workbench, path: str, place: str) -> None:
    assert welcome(guarded, path)[0] == place


@pytest.mark.slow
def test_guessing_is_limited_but_not_for_those_who_are_in(launch: Callable[..., Workbench]) -> None:
    one = launch(token=TOKEN)
    _, cookie = welcome(one, "/")
    for number in range(10):
        assert one.get(f"/?token=a-wrong-token-{number}")[0] == 401
    assert one.get("/?token=a-wrong-token-11")[0] == 429
    assert one.get("/", Authorization=f"Bearer {TOKEN}")[0] == 429  # it is not even looked at
    assert one.get("/", Cookie=cookie)[0] == 200


@pytest.mark.slow
def test_a_browser_with_the_token_works(guarded: Workbench, visit: Callable[..., Any]) -> None:
    page = visit(f"/?token={TOKEN}", server=guarded)
    page.wait_for_selector(".wb-value")
    assert "token" not in page.url  # so that a link that is sent never carries it
    assert TOKEN not in page.content()
    page.reload()
    page.wait_for_selector(".wb-value")


def test_a_browser_without_it_sees_nothing(
    guarded: Workbench, visit: Callable[..., Any], watched: Any
) -> None:
    watched.expected = "401"
    page = visit("/", server=guarded, ready=False)
    assert page.locator("body").inner_text().startswith("A token is needed")


@pytest.mark.parametrize("host", ["[::1", "a b", "127.0.0.1:99999", "127.0.0.1:x", "", "a,b", "[1.2.3]:"])
def test_a_malformed_host_is_refused(workbench: Workbench, host: str) -> None:
    assert workbench.get("/", Host=host)[0] == 400


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_site_asks_for_is_refused(workbench: Workbench, site: str) -> None:
    assert workbench.get("/", Sec_Fetch_Site=site)[0] == 403
    assert knock(workbench, **{"Sec-Fetch-Site": site}) == 403
    assert workbench.get("/", Sec_Fetch_Site="none")[0] == 200


@pytest.mark.parametrize("path", ["/", "/nothing", "/_nicegui/nothing"])
def test_every_answer_says_what_a_browser_must_not_do(workbench: Workbench, path: str) -> None:
    connection = http.client.HTTPConnection(workbench.url.removeprefix("http://"), timeout=PATIENCE)
    connection.request("GET", path)
    answer = connection.getresponse()
    policy = answer.getheader("Content-Security-Policy", "")
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'self'" in policy
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Referrer-Policy") == "no-referrer"
    connection.close()


def test_a_page_cannot_be_framed(workbench: Workbench, chromium: Any) -> None:
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.set_content(f"<iframe src='{workbench.url}/'></iframe>")
        for _ in range(10 * PATIENCE):  # until the browser has shown something in it
            if any(frame.url not in ("", "about:blank") for frame in page.frames[1:]):
                break
            page.wait_for_timeout(100)
        assert [frame.url for frame in page.frames[1:]] == ["chrome-error://chromewebdata/"]
        assert not any(frame.url.startswith(workbench.url) for frame in page.frames)
    finally:
        context.close()


def test_other_names_and_other_sites_are_refused(workbench: Workbench) -> None:
    assert workbench.get("/", Host="census.example")[0] == 421
    assert workbench.get("/", Origin="http://census.example")[0] == 403
    assert knock(workbench, Origin="http://census.example") == 403
    assert knock(workbench) == 101


def test_a_large_body_is_not_read(workbench: Workbench) -> None:
    assert workbench.get("/", Content_Length="50000000")[0] == 413


def test_the_first_page_comes_soon(workbench: Workbench) -> None:
    # 3 s on an idle machine, where the server alone is at work until then; here others may be too
    print(f"{workbench.seconds:.1f} s, of them {workbench.worked:.1f} computing")
    assert 0 < workbench.worked < 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "give --token"),
        (["--host", "0.0.0.0", "--no-token"], "for this machine alone"),
        (["--token", "a-long-enough-one", "--no-token"], "choose one of them"),
        *(
            pytest.param(options, message, marks=pytest.mark.slow)
            for options, message in (
                (["--port", "9000", "--socket", "a.sock"], "--port and --socket were both given"),
                (["--host", "127.0.0.1", "--socket", "a.sock"], "--host and --socket were both given"),
                (["--open", "--socket", "a.sock"], "--open and --socket were both given"),
                (["--port", "0"], "port is 0"),
                (["--token", "short"], "12 or more"),
                (["--token", "with spaces in it"], "12 or more"),
            )
        ),
    ],
)
def test_refused_before_anything_starts(options: list[str], message: str) -> None:
    command = [sys.executable, "-m", "discreet", "workbench", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_port_that_is_taken(workbench: Workbench) -> None:
    port = workbench.url.rpartition(":")[2]
    command = [sys.executable, "-m", "discreet", "workbench", "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert "cannot be used" in done.stderr


def printed_address(process: Any) -> str:
    assert process.stdout is not None
    return str(process.stdout.readline()).split()[1]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--token", "auto"]])
def test_a_token_is_made_unless_told_otherwise(options: list[str]) -> None:
    port = free_port()
    command = [sys.executable, "-m", "discreet", "workbench", "--port", str(port), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        try:
            address = printed_address(process)
            with_cookies = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with with_cookies.open(address, timeout=PATIENCE) as answer:
                assert answer.status == 200
                assert answer.url == f"http://127.0.0.1:{port}/"
            assert fetch(f"http://127.0.0.1:{port}/")[0] == 401
        finally:
            process.terminate()
            process.wait(PATIENCE)


def status_of(address: str) -> int:
    """Open an address as a browser without a past would."""
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    try:
        with visitor.open(address, timeout=PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


@pytest.mark.slow
def test_open_brings_a_token_that_is_good_for_one_visit(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(0o755)
    port = free_port()
    command = [sys.executable, "-m", "discreet", "workbench", "--port", str(port), "--open"]
    more = {"BROWSER": f"{browser} %s"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment() | more) as process:
        try:
            printed = printed_address(process)
            for _ in range(10 * PATIENCE):
                if seen.exists() and seen.read_text().endswith("\n"):
                    break
                time.sleep(0.1)
            opened = seen.read_text().strip()
            assert opened != printed
            assert [status_of(opened), status_of(opened)] == [200, 401]
            assert [status_of(printed), status_of(printed)] == [200, 200]
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.mark.slow
def test_a_unix_socket_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "s"
    command = [sys.executable, "-m", "discreet", "workbench", "--socket", str(path), "--no-token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        try:
            assert str(path) in process.stdout.readline()  # type: ignore[union-attr]
            assert path.stat().st_mode & 0o777 == 0o600
            with socket.socket(socket.AF_UNIX) as line:
                line.connect(str(path))
                line.sendall(b"GET /budget HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert line.recv(100).startswith(b"HTTP/1.1 200")
            again = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
            assert again.returncode == 2
            assert "is the socket of a server that is running" in again.stderr
        finally:
            process.terminate()
            process.wait(PATIENCE)
    assert not path.exists()
    (tmp_path / "file").write_text("kept")
    command[-2] = str(tmp_path / "file")
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert "is not a socket" in done.stderr
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ended_in_the_midst_of_work_it_leaves_nothing(
    launch: Callable[..., Workbench],
    visit: Callable[..., Any],
    watched: Any,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    how: signal.Signals,
) -> None:
    watched.expected = "ERR_CONNECTION_REFUSED|WebSocket"  # the page looks for its server
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setenv("TMPDIR", str(files))
    one = launch()
    page = visit("/budget", preset="dhc-2020-persons-pr", server=one)  # a minute of work
    page.get_by_text("Comparing all pairs of paths").first.wait_for()
    for _ in range(10 * PATIENCE):
        ours = [one.process.pid, *descendants(one.process.pid)]
        if len(ours) > 2:  # the server and its pool
            break
        time.sleep(0.1)
    assert len(ours) > 2
    one.process.send_signal(how)
    assert one.process.wait(PATIENCE) == 128 + how
    for _ in range(10 * PATIENCE):
        left = [pid for pid in ours if Path(f"/proc/{pid}").exists()]
        if not left:
            break
        time.sleep(0.1)
    assert left == []
    assert one.log.read_text().splitlines() == [f"Workbench: {one.url}/", "Stop with Ctrl-C."]
    assert list(files.iterdir()) == []


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            found += [child, *descendants(child)]
    return found


@pytest.mark.slow
def test_nicegui_is_loaded_only_by_the_pages() -> None:
    code = (
        "import sys, json; from discreet.workbench import adversary, commands, differences, pages, "
        "session, state, tasks, workers; print(json.dumps('nicegui' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) is False
