"""What the pages show, without a browser: states, files, addresses, numbers and words."""

from __future__ import annotations

import math
import pickle
import random
import re
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files

import pytest

from discreet import InputError, Release
from discreet.accounting.account import account
from discreet.accounting.privacy_loss import compose
from discreet.answers.curves import curve_lines, profile_panel
from discreet.answers.release import claim_note
from discreet.budget import AnswerKind, load, preset_names
from discreet.budget.neighbours import RELATIONS
from discreet.budget.noise_table import noise_lines
from discreet.comparisons.zcdp import ZCDP
from discreet.noise import GaussianNoise, LaplaceNoise
from discreet.promises.calibrating import calibrate
from discreet.render.charts import COLOURS, SOFT, chart_of
from discreet.render.tiles import tile_of
from discreet.workbench import budget_page, commands, controls, tasks
from discreet.workbench.differences import differences
from discreet.workbench.pages import offered_pages
from discreet.workbench.session import Numbers, Session
from discreet.workbench.state import (
    Budget,
    State,
    factor_at,
    from_link,
    from_toml,
    read_saved,
    to_link,
    to_toml,
)

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
    assert abs(budget.parts[1] - Fraction(1, 5)) < Fraction(1, 10**4)
    assert sum(budget.parts[place] for place in range(8)) == 1
    assert budget.parts[2] / budget.parts[3] == state.budget.parts[2] / state.budget.parts[3]
    moved = state.with_budget(budget).release
    assert moved.rho == state.release.rho
    assert all(len(str(weight)) <= 7 for weight in budget.weights)  # short numbers keep the lattice


@pytest.mark.parametrize("name", [*preset_names(), "mixed"])
def test_events_of_a_dragged_slider_are_those_of_its_release(name: str) -> None:
    rng = random.Random(7)
    state = State(Release.from_toml(LAPLACE), "mixed.toml", False) if name == "mixed" else State.of(name)
    movable = [place for place, weight in enumerate(state.budget.weights) if weight]
    for relation in RELATIONS:
        moved = state.with_total(factor_at(rng.randint(-100, 100))).with_neighbours(relation)
        if len(movable) > 1:
            share = Fraction(rng.randint(1, 99), 100)
            moved = moved.with_budget(moved.budget.with_share(rng.choice(movable), share))
        events = moved.release.path_events(moved.release.main)
        assert moved.main_events == (2 * events if relation == "bounded" else events)


def test_laplace_levels_stay_as_they_are() -> None:
    state = State(Release.from_toml(LAPLACE), "mixed.toml", False)
    assert state.budget.weights[0] == 0
    wider = state.with_total(Fraction(1, 2)).release
    assert wider.levels[0] == state.base.levels[0]
    assert [row.variance for row in wider.variance_table()] == [None, 8, 18]
    assert tasks.quick(state.main_events, DELTA).epsilon > 0


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("laplace", [True, False])
def test_a_calibrated_release_is_taken_over_whole(laplace: bool, relation: str) -> None:
    """With its Laplace scales, which no budget states."""
    release = Release.from_toml(LAPLACE if laplace else CROSSED.format("bounded"))
    state = State(release, "mixed.toml", False).with_neighbours(relation).with_delta("1e-8")
    found = calibrate(release, zcdp=True, delta="1e-8", neighbours=state.relation, proof=False)
    taken = state.with_release(found.release)
    assert taken.release.variance_table() == found.release.variance_table()
    assert taken.release.variance_table() != release.variance_table()
    assert (taken.relation, taken.delta) == (state.relation, state.delta)
    assert from_toml(to_toml(taken)) == (taken, None)


def test_the_total_says_that_laplace_noise_is_not_in_it() -> None:
    state = State(Release.from_toml(LAPLACE), "mixed.toml", False)
    assert budget_page.rho_text(state).endswith("without the levels that have Laplace noise")
    assert account(state.base).rho > state.budget.total
    assert "Laplace" not in budget_page.rho_text(State.of("dhc-2020"))


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("source", ["preset", "file"])
def test_a_session_comes_back_as_it_went(source: str, before: bool) -> None:
    state = (
        State.of("dhc-2020") if source == "preset" else read_saved(LAPLACE.encode(), 'odd "name"\\.toml')[0]
    )
    shares = tuple(reversed(state.budget.shares[1]))
    changed = state.with_budget(state.budget.with_shares(1, shares)).with_total(factor_at(-13))
    changed = changed.with_delta("1/3").with_neighbours("unbounded")
    changed = changed.with_settings("risk", {"prior": "1/2", 'a "key"': "two\nlines"})
    other = state if before else None
    assert from_toml(to_toml(changed, other)) == (changed, other)
    assert from_link(to_link(changed, other)) == (changed, other)
    assert pickle.loads(pickle.dumps(changed)) == changed
    assert read_saved(to_toml(changed, other).encode(), "x.toml") == (changed, other)


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
        (
            "session = 1\npreset = 'dhc-2022-08-25'\ndelta = '1e-10'\n[budget]\ntotal = '1e4000'",
            "total must lie between 1e-100 and 1e100",
        ),
        (
            "session = 1\npreset = 'dhc-2020'\ndelta = '1e-10'\n[pages.report]\ntitle = '%s'" % ("x" * 2001),
            "has 2001 characters; at most 2000",
        ),
        (
            "session = 1\npreset = 'dhc-2020'\ndelta = '1e-10'\n[pages.risk]\n"
            + "\n".join(f"n{i} = 'x'" for i in range(1001)),
            "1001 settings; at most 1000",
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


def test_an_address_that_was_cut_is_no_other_session() -> None:
    """The first half of this one once opened, with the budget as stated and all else forgotten."""
    state = State.of("dhc-2020").with_total(Fraction(1, 2)).with_settings("risk", {"prior": "1/10"})
    link = to_link(state.with_delta("1e-8"))
    assert from_link(link)[0].delta == Fraction(1, 10**8)
    for broken in (*(link[:end] for end in range(len(link))), f"{link}AAAA"):
        with pytest.raises(InputError, match="the address"):
            from_link(broken)


def test_the_main_path_is_that_of_the_accountant() -> None:
    state = State.of("dhc-2020")
    found = tasks.quick(state.main_events, DELTA)
    case = account(state.release).case((13, 13))
    assert found.epsilon == pytest.approx(case.epsilon(delta=DELTA), rel=1e-12)
    for epsilon, delta in found.profile[0][::10]:
        assert delta == pytest.approx(case.delta(epsilon=epsilon), rel=1e-10)
    assert found.advantage == pytest.approx(case.total_variation, rel=1e-10)


ONE = 'name = "one"\nneighbours = "unbounded"\nlevels = [{ name = "A", queries = { a = { SIZE } } }]'


@pytest.mark.parametrize(("size", "epsilon"), [('scale = "7"', 1 / 7), ('variance = "1/1000"', 500)])
def test_the_drawn_curve_passes_its_point_and_ends_at_the_floor(size: str, epsilon: float) -> None:
    """Also where it falls between two points of the grid."""
    state = State(Release.from_toml(ONE.replace("SIZE", size)), "one.toml", False)
    found = tasks.quick(state.main_events, DELTA)
    line = found.profile[0]
    assert found.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert (found.epsilon, 1e-10) in line
    assert line[-1][1] == 1e-16
    panel = profile_panel(curve_lines("Exact", *found.profile), at=(found.epsilon, 1e-10), deepest=1e-16)
    drawn = chart_of(panel)["series"][0]["data"]
    assert drawn[-1] == (line[-1][0], -16.0)
    assert (found.epsilon, -10.0) in drawn


def test_a_large_factor_is_written_without_an_exponent_of_its_exponent() -> None:
    text = ONE.replace("SIZE", 'variance = "1/1000"')
    said = budget_page.meaning(numbers_of(State(Release.from_toml(text), "one.toml", False)))[0]
    assert "a factor of e^500 (about 1.4e217)" in said


def test_every_drawn_point_lies_on_the_tradeoff_curve() -> None:
    events = State.of("pl94-2020-units").main_events
    loss = compose(events)
    line = tasks.errors(events).lines[0]
    assert len(line) > 40
    for alpha, beta in line[1:-1:5]:
        assert beta == pytest.approx(loss.tradeoff(alpha=alpha), abs=1e-9)


CROSSED = """
name = "crossed"
neighbours = "{}"
[[levels]]
name = "S"
[levels.queries]
total = {{ variance = "1/2" }}
[[levels]]
name = "C"
[levels.queries]
total = {{ variance = "1/2" }}
[spine]
may_merge_up = ["C"]
"""


@pytest.mark.parametrize("text", [CROSSED.format("unbounded"), CROSSED.format("bounded"), LAPLACE])
def test_savings_are_those_of_calibrate(text: str) -> None:
    release, delta = Release.from_toml(text), Fraction(1, 100)
    made = account(release)
    assert (made.at_delta(delta)[0].worst == made.main) == (text == LAPLACE)  # the main path is not enough
    found = calibrate(release, zcdp=True, delta=delta)
    same = tasks.saving(release, delta=delta, neighbours=release.neighbours)
    assert same.savings == found.savings
    promise = ZCDP(made.events(made.main)).epsilon(delta=delta)
    assert account(found.release).at_delta(delta)[0].epsilon <= promise


def test_margins() -> None:
    release = Release.from_toml(LAPLACE)
    rows = noise_lines(release)
    assert [row.level for row in rows] == ["State", "County", "County"]
    p = math.exp(-2 / 3)  # brute force: the variance of discrete Laplace noise of scale 3/2
    variance = sum(k * k * (1 - p) / (1 + p) * p ** abs(k) for k in range(-200, 201))
    assert rows[0].deviation == pytest.approx(math.sqrt(variance), rel=1e-12)
    for row, law in zip(
        rows, (LaplaceNoise(scale="3/2"), GaussianNoise(variance=4), GaussianNoise(variance=9)), strict=True
    ):
        inside = [sum(law.pmf(range(-m, m + 1))) for m in (row.margin - 1, row.margin)]  # brute force
        assert inside[0] < 0.95 <= inside[1]
    wanted = (("County", "3"),)
    made, zcdp = tasks.least_budget(release, wanted, delta=DELTA, neighbours="unbounded", jobs=1)
    assert {row.margin for row in noise_lines(made.release)[1:]} == {3}
    assert 0 < made.epsilon < zcdp


def numbers_of(state: State) -> Numbers:
    numbers = Session(state).numbers
    found = (tasks.quick(state.main_events, state.delta), tasks.errors(state.main_events))
    for question, answer in zip(numbers.questions, found, strict=False):
        question.asked = ((), ())
        question.take(((), ()), answer)
    return numbers


def test_differences_in_words() -> None:
    state = State.of("dhc-2022-08-25")
    assert differences(numbers_of(state), numbers_of(state)) == []
    after = state.with_total(Fraction(1, 2)).with_delta("1e-5")
    said = differences(numbers_of(state), numbers_of(after))
    assert said[:2] == [
        "delta is 1e-5, before 1e-10.",
        "The total rho is 50.0 % less (3.65 to 1.825).",
    ]
    assert said[2].startswith("The exact epsilon on the main path is ")
    moved = state.with_budget(state.budget.with_share(1, Fraction(1, 2)))
    said = differences(numbers_of(state), numbers_of(moved))
    assert said[0] == "State gets 50.0 % of the budget instead of 27.4 %; the others keep their proportions."
    again = moved.with_budget(moved.budget.with_share(3, Fraction(1, 5)))
    said = differences(numbers_of(state), numbers_of(again))
    assert len(said) == 9  # every level, and the epsilon


def test_differences_of_the_other_pages_in_words() -> None:
    state = State.of("dhc-2022-08-25")

    def said(page: str, **values: str) -> list[str]:
        texts = {name.replace("_", " "): text for name, text in values.items()}
        return differences(numbers_of(state), numbers_of(state.with_settings(page, texts)))

    assert said("risk", prior="1/10", scenario="unsure", people="5") == [
        "Risk: the adversary sees one count, unsure about some others, before one count, everyone else is "
        "known.",
        "Risk: the prior is 1/10, before 1/2.",
        "Risk: the number of people who may be in the count is 5.",
        "Risk: the probability of each of them is 1/10.",
    ]
    assert said("accuracy", size="7", margin_State="3") == [
        "Accuracy: the wanted margin of State is 3, before open.",
        "Accuracy: the size of the group is 7, before 50.",
    ]
    assert said("report", title="x") == ["Report: the title is x, before the release's own."]


def test_the_report_that_a_state_asks_for() -> None:
    state = State.of("pl94-2020-units").with_settings("risk", {"prior": "0.25"})
    state = state.with_settings("report", {"title": "It's", "proofs": "no"})
    asked = commands.report_options(state, None)
    named = [asked[name] for name in ("prior", "title", "certify", "savings")]
    assert named == ["1/4", "It's", False, True]
    changed = State.of("pl94-2020-units").with_total(Fraction(1, 2))
    command = commands.report_command(state.with_neighbours("unbounded"), changed)
    assert command == (
        "discreet report pl94-2020-units --delta 1e-10 --neighbours unbounded --prior 1/4 "
        "--before before.toml --title 'It'\"'\"'s' --no-certify --out report.html"
    )
    # neighbours that only the first of two releases states are said for both
    other = State.of("dhc-2022-08-25")
    assert other.base.neighbours != state.base.neighbours or "--neighbours" not in (
        commands.report_command(state, other)
    )
    hostile = state.with_settings("risk", {"prior": "7"})
    assert commands.report_options(hostile, None)["prior"] == "1/2"


def test_what_is_typed_is_one_step() -> None:
    session = Session(State.of("pl94-2020-units"))
    field, other = object(), object()

    def typed(*texts: str) -> None:
        for text in texts:
            state = session.state.with_settings("report", {"title": text})
            session.commit(state, f"the title {text}", typing=field)

    def title() -> str:
        return session.state.setting("report", "title")

    typed("a", "ab", "abc")
    assert session.undo_text == "the title abc"
    assert (session.undo(), title(), session.undo()) == ("the title abc", "", None)
    typed("a", "ab")
    session.typed()  # the field was left, and entered again
    typed("abc", "abcd")
    session.commit(session.state.with_delta("1e-5"), "delta", typing=other)
    typed("abcde")
    assert [session.undo(), session.undo(), session.undo()] == ["the title abcde", "delta", "the title abcd"]
    assert (title(), session.undo(), title()) == ("ab", "the title ab", "")


def test_the_kind_of_answer_stands_beside_the_number() -> None:
    bound = numbers_of(State.of("sdhc-2020"))
    assert tile_of(budget_page.headline(bound)).value.startswith("at most 6.46")
    assert budget_page.headline(bound).note == "a bound, the only pair of paths"
    assert claim_note(bound.state.base.claim).startswith("An upper bound")
    several = numbers_of(State.of("dhc-2020"))
    assert budget_page.headline(several).note == "main path only"
    assert claim_note(several.state.base.claim) == ""
    # the main path alone is no bound, whatever the release says of itself
    partly = numbers_of(State.of("pl94-2020-units"))
    assert tile_of(budget_page.headline(partly)).value == "2.36320"
    assert budget_page.headline(partly).note == "main path only"


def test_the_only_path_may_be_a_merged_one() -> None:
    for paths, said in (
        ('1 = ["S", "C"]', "One path: no levels are merged."),
        ('1 = ["S+C"]', "One path: S + C. Noise is shown for each level by itself."),
    ):
        text = CROSSED.format("unbounded").replace('[spine]\nmay_merge_up = ["C"]', f"[spine.paths]\n{paths}")
        numbers = numbers_of(State(Release.from_toml(text), "one.toml", False))
        found = tasks.Overall(1.0, (1,), 1, 0.5, 0.5)
        numbers.overall.asked = ((), ())
        numbers.overall.take(((), ()), found)
        assert budget_page.worst_case_words(numbers) == said


THREE = """
name = "three"
neighbours = "bounded"
levels = [
  { name = "A", queries = { total = { variance = 3 } } },
  { name = "B", queries = { total = { variance = 4 } } },
  { name = "C", queries = { total = { variance = 6 } } },
]
[spine.paths]
1 = ["A", "B", "C"]
2 = ["A", "B+C"]
3 = ["A+B", "C"]
4 = ["A+B+C"]
"""


def test_what_the_numbers_mean() -> None:
    state = State(Release.from_toml(THREE), "three.toml", False)
    numbers = numbers_of(state)
    said = " ".join(budget_page.meaning(numbers))
    # a main path is never called a bound
    assert numbers.claim.kind is AnswerKind.MAIN
    assert "at most" not in said
    assert "at least" not in said
    whole = tasks.overall(state.release, delta=state.delta, neighbours=state.relation)
    numbers.overall.asked = ((), ())
    numbers.overall.take(((), ()), whole)
    said = " ".join(budget_page.meaning(numbers))
    # what is promised is rounded to the safe side: misses down, factors and right guesses up
    every = account(state.release)
    assert f"misses at least {math.floor(10_000 * every.tradeoff(alpha='1/20')) / 100:.2f} %" in said
    assert f"right at most {math.ceil(5000 * (1 + every.total_variation)) / 100:.2f} times in 100" in said
    (power,) = re.findall(r"is at most e\^([\d.]+)", said)
    epsilon = float(every.epsilon(delta=state.delta))
    assert epsilon <= float(power) < epsilon + 0.01


def test_the_command_of_estimates_is_offered_where_it_works() -> None:
    state = State(Release.from_toml(THREE), "three.toml", False)
    assert commands.accuracy_command(state) == ""  # how many areas an area has is not known
    known = state.with_settings("accuracy", {"tree": "3, 4"})
    assert commands.accuracy_command(known) == "discreet accuracy release.toml --tree 3,4"
    assert commands.accuracy_command(state.with_settings("accuracy", {"tree": "3"})) == ""


def test_every_explained_term_is_one_of_its_page() -> None:
    pages = {"budget": ("budget", "accuracy"), "risk": ("risk",), "report": ("report",)}
    packages = {page.name: page.package for page in offered_pages()}
    assert set(controls.HELP) == {*pages, *packages}
    for name, terms in controls.HELP.items():
        folder = files(packages.get(name, "discreet.workbench"))
        text = "".join((folder / f"{page}_page.py").read_text() for page in pages.get(name, (name,)))
        text += (files("discreet.workbench") / "adversary.py").read_text()
        assert [term for term in terms if not re.search(f"[\"']{term}[\"']", text)] == []


def test_commands() -> None:
    state = State.of("dhc-2020").with_neighbours("unbounded")
    assert (
        commands.command_line(state)
        == "discreet account dhc-2020-persons --delta 1e-10 --neighbours unbounded"
    )
    changed = State.of("dhc-2020").with_total(Fraction(1, 2))
    assert commands.command_line(changed) == "discreet account release.toml --delta 1e-10"


def test_undo_redo_and_pages_that_are_hidden() -> None:
    session = Session(State.of("dhc-2022-08-25"))
    heard: list[bool] = []
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
    assert heard == [True]


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
    lines = [colours[name[6:-1]] for name in (*COLOURS, SOFT)]  # var(--name)
    assert all(contrast(colour, colours["paper"]) >= 3 for colour in lines)
