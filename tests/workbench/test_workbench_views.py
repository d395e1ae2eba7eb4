"""What the pages show, without a browser: states, files, addresses, numbers and words."""

from __future__ import annotations

import asyncio
import math
import os
import pickle
import re
import time
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from discreet import InputError, Release
from discreet.accounting.calibration import calibrate
from discreet.accounting.overall import account
from discreet.accounting.privacy_loss import compose
from discreet.budget import load, preset_names
from discreet.workbench import accuracy_view, budget_view, charts, phrases
from discreet.workbench.numbers import Numbers
from discreet.workbench.session import Session
from discreet.workbench.session_file import from_link, from_toml, opened, to_link, to_toml
from discreet.workbench.state import Budget, State, factor_at
from discreet.workbench.worker import Jobs, Pool

DELTA = Fraction(1, 10**10)

LAPLACE = """
name = "mixed"
neighbours = "unbounded"
[[levels]]
name = "State"
[levels.queries]
total = { scale = "3/2" }
[[levels]]
name = "County"
[levels.queries]
"total" = { variance = "4" }
"age \\\\ \\"sex\\"" = { variance = "9", groups = 2, sensitivity = 2 }
"""


@pytest.mark.parametrize("name", preset_names())
def test_a_budget_says_the_same_as_its_release(name: str) -> None:
    release = load(name)
    state = State.of(name)
    rebuilt = replace(state, changed=state.stated).release
    for path in release.paths:
        assert rebuilt.path_events(path) == release.path_events(path)
    assert rebuilt.rho == sum(level.spent(release.neighbours) for level in release.levels)


def test_sliders_change_what_they_say_and_nothing_else() -> None:
    state = State.of("dhc-2020")
    half = state.with_total(Fraction(1, 2))
    assert half.release.rho == state.release.rho / 2
    for old, new in zip(state.release.variance_table(), half.release.variance_table(), strict=True):
        assert new.variance == 2 * old.variance
    budget = state.budget.with_share(1, Fraction(1, 5))
    assert abs(budget.share(1) - Fraction(1, 5)) < Fraction(1, 10**4)
    assert sum(budget.share(place) for place in range(8)) == 1
    assert budget.share(2) / budget.share(3) == state.budget.share(2) / state.budget.share(3)
    moved = state.with_budget(budget).release
    assert moved.rho == state.release.rho
    assert all(len(str(weight)) <= 7 for weight in budget.weights)  # short numbers keep the lattice


def test_laplace_levels_stay_as_they_are() -> None:
    state = State(Release.from_toml(LAPLACE), "mixed.toml", False)
    assert state.budget.weights[0] == 0
    wider = state.with_total(Fraction(1, 2)).release
    assert wider.levels[0] == state.base.levels[0]
    assert [row.variance for row in wider.variance_table()] == [None, 8, 18]
    assert budget_view.quick(state.main_events, DELTA).epsilon > 0


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("source", ["preset", "file"])
def test_a_session_comes_back_as_it_went(source: str, before: bool) -> None:
    state = State.of("dhc-2020") if source == "preset" else opened(LAPLACE, 'odd "name"\\.toml')[0]
    shares = tuple(reversed(state.budget.shares[1]))
    changed = state.with_budget(state.budget.with_shares(1, shares)).with_total(factor_at(-13))
    changed = changed.with_delta("1/3").with_neighbours("unbounded")
    changed = changed.with_settings("risk", {"prior": "1/2", 'a "key"': "two\nlines"})
    other = state if before else None
    assert from_toml(to_toml(changed, other)) == (changed, other)
    assert from_link(to_link(changed, other)) == (changed, other)
    assert pickle.loads(pickle.dumps(changed)) == changed
    assert opened(to_toml(changed, other), "x.toml") == (changed, other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("session = 1\ndelta = '1e-10'\npreset = 'dhc-2021'", "dhc-2021"),
        ("session = 1\npreset = 'dhc-2020'", "delta is missing"),
        ("session = 1\npreset = 'dhc-2020'\ndelta = '1e-10'\ncolour = 'blue'", "unknown key 'colour'"),
        ("session = 1\npreset = 'dhc-2020'\ndelta = '1e-10'\nbudget = 3", "budget is of type int"),
        (
            "session = 1\npreset = 'dhc-2020'\ndelta = '1e-10'\n[budget]\ntotal = '-1'\n[budget.weights]",
            "above zero",
        ),
        (
            "session = 1\npreset = 'dhc-2022-08-25'\ndelta = '1e-10'\n"
            "[budget]\ntotal = '1'\n[budget.weights]\nUS='1'",
            "State is missing",
        ),
    ],
)
def test_sessions_that_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_toml(text)


def test_a_session_whose_shares_do_not_add_up() -> None:
    state = State.of("dhc-2022-08-25").with_total(Fraction(1, 2))
    text = to_toml(state) + '[budget.shares."US"]\n'
    text += "".join(f'"{query.name}" = "1/2"\n' for query in state.base.levels[0].queries)
    with pytest.raises(InputError, match="they must add up to 1"):
        from_toml(text)


def test_an_address_cannot_unfold_without_end() -> None:
    import base64
    import zlib

    bomb = base64.urlsafe_b64encode(zlib.compress(b"#" * 10**8)).decode()
    with pytest.raises(InputError):
        from_link(bomb)


def test_the_main_path_is_that_of_the_accountant() -> None:
    state = State.of("dhc-2020")
    found = budget_view.quick(state.main_events, DELTA)
    case = account(state.release).case((13, 13))
    assert found.epsilon == pytest.approx(case.epsilon(delta=DELTA), rel=1e-12)
    for epsilon, delta in found.profile[0][::10]:
        assert delta == pytest.approx(case.delta(epsilon=epsilon), rel=1e-10)
    assert found.advantage == pytest.approx(case.total_variation, rel=1e-10)


def test_every_drawn_point_lies_on_the_tradeoff_curve() -> None:
    events = State.of("pl94-2020-units").main_events
    loss = compose(events)
    line = budget_view.errors(events).lines[0]
    assert len(line) > 40
    for alpha, beta in line[1:-1:5]:
        assert beta == pytest.approx(loss.tradeoff(alpha=alpha), abs=1e-9)


def test_savings_are_those_of_calibrate() -> None:
    release = load("dhc-2022-08-25")
    found = calibrate(release, zcdp=True, delta=DELTA)
    state = State.of("dhc-2022-08-25")
    assert budget_view.saving(state.main_events, DELTA) == pytest.approx(found.reduction, abs=2e-6)


def test_margins() -> None:
    release = Release.from_toml(LAPLACE)
    rows = accuracy_view.rows(release)
    assert [row.level for row in rows] == ["State", "County", "County"]
    p = math.exp(-2 / 3)  # brute force: the variance of discrete Laplace noise of scale 3/2
    variance = sum(k * k * (1 - p) / (1 + p) * p ** abs(k) for k in range(-200, 201))
    assert rows[0].deviation == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert rows[1].margin == pytest.approx(1.96 * 2)
    after, epsilon, zcdp = accuracy_view.least_budget(release, "unbounded", {"County": "1.96"}, DELTA)
    assert [row.variance for row in after.variance_table()][1:] == [1, 1]
    assert 0 < epsilon < zcdp


def numbers_of(state: State) -> Numbers:
    numbers = Numbers(state, None, None, lambda topic: None)
    numbers.quick = budget_view.quick_of(state)
    numbers.errors = budget_view.errors_of(state)
    return numbers


def test_differences_in_words() -> None:
    state = State.of("dhc-2022-08-25")
    assert phrases.differences(numbers_of(state), numbers_of(state)) == []
    after = state.with_total(Fraction(1, 2)).with_delta("1e-5")
    said = phrases.differences(numbers_of(state), numbers_of(after))
    assert said[:2] == [
        "delta is 1e-5, before 1e-10.",
        "The total rho is 50.0 % less (3.65 to 1.825).",
    ]
    assert said[2].startswith("The exact epsilon on the main path is ")
    moved = state.with_budget(state.budget.with_share(1, Fraction(1, 2)))
    said = phrases.differences(numbers_of(state), numbers_of(moved))
    assert said[0] == "State gets 50.0 % of the budget, before 27.4 %; the others keep their proportions."
    again = moved.with_budget(moved.budget.with_share(3, Fraction(1, 5)))
    said = phrases.differences(numbers_of(state), numbers_of(again))
    assert len(said) == 9  # every level, and the epsilon


def test_what_the_numbers_mean() -> None:
    state = State.of("pl94-2020-units")
    loss = compose(state.main_events)
    said = " ".join(phrases.meaning(numbers_of(state)))
    assert f"misses at least {100 * loss.tradeoff(alpha='1/20'):.1f} %" in said
    assert f"right at most {50 * (1 + loss.total_variation):.1f} %" in said


def test_commands() -> None:
    state = State.of("dhc-2020").with_neighbours("unbounded")
    assert phrases.command(state) == "discreet account dhc-2020-persons --delta 1e-10 --neighbours unbounded"
    changed = State.of("dhc-2020").with_total(Fraction(1, 2))
    assert phrases.command(changed) == "discreet account release.toml --delta 1e-10"


def test_undo_redo_and_pages_that_are_hidden() -> None:
    session = Session(State.of("dhc-2022-08-25"), None, None, None)
    heard: list[str] = []
    session.listen(heard.append, "accuracy")
    first = session.state
    session.preview(first.with_total(Fraction(1, 2)))
    assert not session.settled
    session.commit(first.with_total(Fraction(1, 4)), "the total")
    session.commit(session.state.with_delta("1e-6"), "delta")
    assert session.undo() == "delta"
    assert session.undo() == "the total"
    assert session.undo() is None
    assert session.state == first
    assert session.redo() == "the total"
    assert session.redo_text == "delta"
    assert heard == []
    session.show("accuracy")
    assert heard == ["state"]


def slow_work(seconds: float, progress: Any = None) -> int:
    progress(1, 2)
    time.sleep(seconds)
    return os.getpid()


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() and "(zombie)" not in Path(f"/proc/{pid}/status").read_text()


def pid_work(progress: Any = None) -> None:
    progress(os.getpid(), 10**9)
    progress(10**9, 10**9)
    time.sleep(60)


def test_jobs_answer_fail_and_are_killed() -> None:
    async def main() -> None:
        jobs = Jobs(1)
        seen: list[int] = []
        assert (
            await jobs.run(slow_work, 0.0, progress=lambda stage, done, total: seen.append(done))
            != os.getpid()
        )
        assert 1 in seen
        with pytest.raises(Exception, match="TypeError"):
            await jobs.run(slow_work, "x", progress=lambda *report: None)
        pids: list[int] = []
        task = asyncio.ensure_future(
            jobs.run(pid_work, progress=lambda stage, done, total: pids.append(done) if done else None)
        )
        while not pids:
            await asyncio.sleep(0.05)
        assert is_running(pids[0])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(50):
            if not is_running(pids[0]):
                break
            await asyncio.sleep(0.1)
        assert not is_running(pids[0])

    run(main())


def die(code: int) -> None:
    os._exit(code)


def test_a_pool_survives_a_process_that_dies() -> None:
    async def main() -> None:
        pool = Pool(1)
        try:
            assert await pool.run(abs, -1) == 1
            with pytest.raises(Exception, match="terminated"):
                await pool.run(die, 3)
            assert await pool.run(abs, -2) == 2
        finally:
            pool.stop()

    run(main())


def run(work: Any) -> None:
    """In a thread of its own: a browser's driver may have a loop running in this one."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


def test_budgets_of_merged_main_paths() -> None:
    # where no path is without merging, the main one is the longest
    text = LAPLACE.replace('scale = "3/2"', 'variance = "5"') + '[spine.paths]\n7 = ["State+County"]\n'
    state = State(Release.from_toml(text), "merged.toml", False)
    assert Budget.of(state.base) == state.budget
    assert len(state.main_events) == 1


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [":root", "body.body--dark"])
def test_texts_have_contrast(theme: str) -> None:
    css = (files("discreet.workbench") / "style.css").read_text()
    block = css.split(f"{theme} {{", 1)[1].split("}", 1)[0]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for ground in ("paper", "ground", "tint"):
        for text in ("ink", "soft", "accent", "good", "bad"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)  # AA
    assert contrast(colours["bad"], colours["bad-tint"]) >= 4.5
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5
    assert contrast("#8b95a3", colours["paper"]) >= 3  # edges of controls
    palette, lines = charts.palette(theme != ":root")
    assert all(contrast(colour, palette["paper"]) >= 3 for colour in (*lines, palette["soft"]))
