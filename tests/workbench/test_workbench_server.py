"""Who is served: this machine alone, or who knows the token."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import Workbench, environment, fetch, free_port, start

pytestmark = pytest.mark.xdist_group("workbench")  # one server and one browser for all

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    one = start(tmp_path_factory.mktemp("guarded"), "--token", TOKEN, token=TOKEN)
    yield one
    one.stop()


def static_path(workbench: Workbench, token: str = "") -> str:
    _, text = workbench.get(f"/?token={token}" if token else "/")
    return "/_nicegui/" + text.split("/_nicegui/")[1].split('"')[0]


def knock(workbench: Workbench, **headers: str) -> int:
    """Ask for a web socket: the status of the answer."""
    connection = http.client.HTTPConnection(workbench.url.removeprefix("http://"), timeout=20)
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
    assert guarded.get(path, Cookie=f"discreet_workbench={TOKEN}")[0] == 200
    assert guarded.get("/", Authorization=f"Bearer {TOKEN}")[0] == 200
    assert knock(guarded) == 401


def test_a_browser_with_the_token_works(guarded: Workbench, visit: Callable[..., Any]) -> None:
    page = visit(f"/?token={TOKEN}", server=guarded)
    page.wait_for_selector(".wb-value")
    assert TOKEN not in page.url  # the cookie has it from now on
    page.reload()
    page.wait_for_selector(".wb-value")


def test_a_browser_without_it_sees_nothing(
    guarded: Workbench, visit: Callable[..., Any], watched: Any
) -> None:
    watched.expected = "401"
    page = visit("/", server=guarded, ready=False)
    assert page.locator("body").inner_text().startswith("A token is needed")


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
    assert 0 < workbench.worked < 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "say --token"),
        (["--port", "0"], "port is 0"),
        (["--token", "short"], "12 or more"),
        (["--token", "with spaces in it"], "12 or more"),
    ],
)
def test_refused_before_anything_starts(options: list[str], message: str) -> None:
    command = [sys.executable, "-m", "discreet", "workbench", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_port_that_is_taken(workbench: Workbench) -> None:
    port = workbench.url.rpartition(":")[2]
    command = [sys.executable, "-m", "discreet", "workbench", "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "cannot be used" in done.stderr


def test_a_made_token_is_printed(tmp_path: Any) -> None:
    port = free_port()
    command = [sys.executable, "-m", "discreet", "workbench", "--port", str(port), "--token", "auto"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            assert fetch(address)[0] == 200
            assert fetch(f"http://127.0.0.1:{port}/")[0] == 401
        finally:
            process.terminate()
            process.wait(20)


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
    page = visit("/budget", preset="dhc-2020", server=one)
    page.get_by_text(re.compile("Comparing all pairs of paths: [1-9]")).wait_for()
    ours = [one.process.pid, *descendants(one.process.pid)]
    assert len(ours) > 4  # the server, its pool, a job and its helpers
    one.process.send_signal(how)
    assert one.process.wait(20) == 128 + how
    for _ in range(200):
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


def test_nicegui_is_loaded_only_by_the_pages() -> None:
    code = (
        "import sys, json; from discreet.workbench import state, session_file, budget_view, accuracy_view, "
        "charts, session, numbers, phrases, worker; print(json.dumps('nicegui' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) is False
