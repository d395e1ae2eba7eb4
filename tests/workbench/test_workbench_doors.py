"""What comes in from outside: old sessions stay readable, hostile ones are refused and hold up nobody."""

from __future__ import annotations

import base64
import json
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import PATIENCE, SMALL, Workbench, upload, wait_for_text, wait_for_value, worked

from discreet.errors import InputError
from discreet.workbench.state import State, from_link, read_saved, to_link

SAMPLES = Path(__file__).parent / "samples"
FACTS = json.loads((SAMPLES / "facts.json").read_text())
LINKS = json.loads((SAMPLES / "links.json").read_text())
browser = pytest.mark.xdist_group("workbench")  # one server and one browser for all


def pack(text: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def fact(state: State | None) -> dict[str, Any] | None:
    from discreet.workbench.tasks import quick

    if state is None:
        return None
    return {
        "source": state.source,
        "preset": state.is_preset,
        "delta": str(state.delta),
        "neighbours": state.relation,
        "release": state.release.name,
        "total": str(state.budget.total),
        "settings": [list(item) for item in state.settings],
        "variances": [str(row.variance) for row in state.release.variance_table()],
        "epsilon": f"{quick(state.main_events, state.delta).epsilon:.8g}",
    }


@pytest.mark.parametrize("name", sorted(FACTS))
def test_sessions_of_version_0_1_stay_readable(name: str) -> None:
    text = (SAMPLES / f"session-{name}.toml").read_bytes()
    state, before = read_saved(text, "session.toml")
    assert {"state": fact(state), "before": fact(before)} == FACTS[name]
    assert from_link(LINKS[name]) == (state, before)


def many(template: str, count: int) -> str:
    return "".join(template.format(n=number) for number in range(count))


BIG = 'name = "big"\nneighbours = "bounded"\n'
LEVEL = '[[levels]]\nname = "L{n}"\n[levels.queries]\na = {{ variance = "{n}.5" }}\n'
DOTTED = ".".join("a" * 50_000) + " = 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DOTTED, "a key has 50000 parts; at most 60"),
        (f"x = {{ {DOTTED} }}", "a key has 50000 parts"),
        ("[" + ".".join("a" * 50_000) + "]", "a key has 50000 parts"),
        (many("k{n} = 1\n", 10_001), "has 10001 keys; at most 10000"),
        (BIG + many(LEVEL, 61), "has 61 levels; the workbench shows at most 60"),
        (BIG + LEVEL.format(n=1) + many('q{n} = {{ variance = "5" }}\n', 1500), "has 1501 queries"),
        (BIG + LEVEL.format(n=1) + many('q{n} = {{ variance = "{n}.1" }}\n', 500), "501 different variances"),
        ("a = " + "[" * 5000, "not valid TOML"),
        pytest.param("a = [" + "1," * 500_000 + "]", "the release has", marks=pytest.mark.slow),
        ('session = 1\npreset = "/etc/hostname"\ndelta = "1e-10"', "there is no preset"),
        (
            'session = 1\nfile = "x"\ndelta = "1e-10"\nrelease = """\n' + BIG + many(LEVEL, 61) + '"""',
            "61 levels",
        ),
    ],
    ids=lambda text: text[:12],
)
def test_what_would_hold_up_the_parser_is_refused_before(text: str, message: str) -> None:
    begun = time.process_time()
    with pytest.raises(InputError, match=message):
        read_saved(text.encode(), "a.toml")
    assert time.process_time() - begun < 5


def test_links_that_unfold_to_much_are_refused() -> None:
    hostile = pack(f'session = 1\npreset = "dhc-2020"\ndelta = "1e-10"\n{DOTTED}')
    assert len(hostile) < 400
    with pytest.raises(InputError, match="a key has 50000 parts"):
        from_link(hostile)
    with pytest.raises(InputError, match="expands to more than 200000 bytes"):
        from_link(pack("#" * 10**7))
    with pytest.raises(InputError, match="at most 30000 are read"):
        from_link("a" * 30_001)


# What the limits let through and still takes a while: 1,600 keys of sixty parts.
SLOW = "".join(f"a{'.a' * 58}.k{number} = 1\n" for number in range(1600))


@pytest.mark.slow
@browser
def test_a_hostile_link_holds_up_nobody(workbench: Workbench, visit: Callable[..., Any]) -> None:
    hostile = [pack(DOTTED), pack(SLOW), pack("#" * 10**7), "A" * 29_000]
    threads = [
        threading.Thread(target=workbench.get, args=(f"/budget?s={link}",)) for link in hostile for _ in "12"
    ]
    before = worked(workbench.process.pid)
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    page = visit("/budget", preset="pl94-2020-units")
    wait_for_value(page, "Epsilon", "2.36320")
    for thread in threads:
        thread.join()
    # the server itself has drawn pages and parsed nothing: 60 s of parsing are what one such link cost
    assert worked(workbench.process.pid) - before < 15
    page = visit(f"/budget?s={pack(DOTTED)}", ready=False)
    wait_for_text(page, "a key has 50000 parts")


@browser
def test_a_hostile_file_holds_up_nobody(visit: Callable[..., Any]) -> None:
    page = visit("/budget")
    upload(page, "slow.toml", DOTTED.encode())
    page.locator(".wb-banner").filter(has_text="a key has 50000 parts").wait_for(state="visible")
    upload(page, "small.toml", SMALL.encode())
    wait_for_text(page, "small.toml: Two levels")


def busy(pid: int) -> int:
    """How many processes below one have computed within half a second."""
    from test_workbench_server import descendants

    def times() -> dict[int, float]:
        found = {}
        for child in descendants(pid):
            try:
                found[child] = worked(child)
            except OSError:
                continue
        return found

    before = times()
    time.sleep(0.5)
    return sum(seconds > before.get(child, seconds) for child, seconds in times().items())


@pytest.mark.slow
@browser
def test_a_closed_tab_ends_its_work(launch: Callable[..., Workbench], visit: Callable[..., Any]) -> None:
    one = launch()
    link = to_link(State.of("dhc-2020-units").with_delta("1e-7"))
    page = visit(f"/budget?s={link}", server=one)
    page.get_by_text("Comparing all pairs of paths").first.wait_for()
    for _ in range(2 * PATIENCE):
        if busy(one.process.pid) > 0:
            break
    else:
        raise AssertionError("nothing is computed")
    page.close()
    for _ in range(2 * PATIENCE):
        if busy(one.process.pid) == 0:
            break
    else:
        raise AssertionError("something is still computed")
    page = visit(f"/budget?s={link}", server=one)  # and who comes back is served
    page.get_by_text("Comparing all pairs of paths").first.wait_for()
