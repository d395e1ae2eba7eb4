"""The page: the same bytes for the same inputs, nothing from outside, and nothing of a name that runs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from discreet.accounting.account import Account, account
from discreet.answers import NumberKind, Quantity, Style
from discreet.answers.account import proof_words
from discreet.answers.calibration import saved_text, savings_section
from discreet.answers.report import report_sections
from discreet.answers.risk import right_percent
from discreet.answers.risk_everything import attribute_table
from discreet.budget import Level, Query, Release, Spine, load
from discreet.comparisons.costs import privacy_table
from discreet.comparisons.noise_differences import calibrated_lines
from discreet.disclosure import risk, risk_profile
from discreet.errors import InputError
from discreet.noise import GaussianNoise
from discreet.promises.calibrating import calibrate
from discreet.reports.html import Facts, gather, page, render

SMALL = """\
name = "small"
title = "Two levels"
neighbours = "bounded"
rho = "3/4"
notes = ["An upper bound: for the test."]
sources = ["A table."]

[[levels]]
name = "State"
rho = "1/2"
[levels.queries]
"total" = "1/5"
"age by sex" = "4/5"

[[levels]]
name = "County"
[levels.queries]
"total" = { variance = "8" }
"age by sex" = { rho = "1/8" }

[spine.paths]
1 = ["State", "County"]
2 = ["State+County"]
"""
HOSTILE = '<script>alert("x")</script>&\'</style></title>\u202e'
LAPLACE = """\
name = "geometric"
unit = "household"
neighbours = "unbounded"
[[levels]]
name = "Nation"
[levels.queries]
"total" = { scale = "4" }
"by size" = { variance = "50" }
"""


def small() -> Release:
    return Release.from_toml(SMALL)


@pytest.fixture(scope="module")
def facts() -> Facts:
    return gather(small())


@pytest.fixture(scope="module")
def exact() -> Account:
    return account(small())


@pytest.fixture(scope="module")
def text(facts: Facts) -> str:
    return render(facts)


class Reader(HTMLParser):
    """Every element with its attributes, the text outside of styles, and that elements nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "hr", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def prose(self) -> str:
        return " ".join("".join(self.words).split())


@pytest.mark.slow
def test_the_same_inputs_give_the_same_bytes(text):
    assert page(small()) == text


def test_nothing_is_loaded_and_nothing_runs(text):
    reader = Reader(text)
    allowed = {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "a",
        "header",
        "nav",
        "main",
        "section",
        "div",
    }
    allowed |= {"p", "span", "strong", "code", "pre", "bdi", "br", "sup", "ul", "ol", "li", "dl", "dt", "dd"}
    allowed |= {"h1", "h2", "h3", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure"}
    allowed |= {"figcaption", "details", "summary"}
    allowed |= {"svg", "desc", "g", "path", "rect", "text", "tspan", "clippath", "defs", "use"}
    ids = {attributes["id"] for _, attributes in reader.elements if "id" in attributes}
    for tag, attributes in reader.elements:
        assert tag in allowed, tag
        assert not {"src", "srcset", "data", "action", "background"} & set(attributes)
        if "style" in attributes:  # of pictures: colours of the page, dashes, sizes
            assert tag in ("svg", "g", "path", "text", "tspan", "use", "rect"), tag
            assert "url(" not in attributes["style"].replace("url(#", "")
        assert not any(key.startswith("on") for key in attributes)
        if "href" in attributes:
            assert attributes["href"].startswith("#")
            assert attributes["href"][1:] in ids, attributes["href"]
    assert "url(" not in re.sub(r"url\(#[a-z0-9-]+\)", "", text)
    assert "@import" not in text
    assert "http" not in text.replace("http-equiv", "")
    policy = [found for _, found in reader.elements if found.get("http-equiv")]
    assert policy[0]["content"].startswith("default-src 'none'")


def test_ids_are_unique_and_pictures_say_what_they_show(text):
    reader = Reader(text)
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    pictures = [attributes for tag, attributes in reader.elements if tag == "svg" and "role" in attributes]
    assert len(pictures) == 4  # the profile, the trade-off, targets found, right when accusing
    for attributes in pictures:
        assert set(attributes["aria-labelledby"].split()) <= set(ids)
    for chart in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ET.fromstring(chart)  # well-formed by itself


def test_headings_are_in_order_and_tables_are_labelled(text):
    reader = Reader(text)
    assert ("html", {"lang": "en"}) in reader.elements
    levels = [int(tag[1]) for tag, _ in reader.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    tables = [tag for tag, _ in reader.elements].count("table")
    assert [tag for tag, _ in reader.elements].count("caption") == tables > 3
    assert all("scope" in attributes for tag, attributes in reader.elements if tag == "th")


def test_all_rows_of_a_table_are_equally_wide(text):
    for table in re.findall(r"<table>.*?</table>", text, re.DOTALL):
        widths, left = [], 0  # rows that a cell further up still covers
        for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL):
            width = len(re.findall(r"<t[hd][ >]", row)) + (left > 0)
            left = max(left - 1, 0)
            if span := re.search(r'rowspan="(\d+)"', row):
                left = int(span[1]) - 1
            widths.append(width)
        assert len(set(widths)) == 1, widths


def test_the_page_has_every_part(text):
    prose = Reader(text).prose
    for heading in (
        "The decision",
        "Parameters",
        "How much privacy is lost",
        "Risk in plain words",
        "Accuracy with this noise",
        "Noise that could be saved",
        "Assumptions and limits",
        "Method and version",
        "Glossary",
    ):
        assert heading in prose
    assert "An upper bound: for the test." in prose
    assert "discreet account release.toml --delta 1e-10 --certify" in prose
    terms = [attributes["id"] for tag, attributes in Reader(text).elements if tag == "dt"]
    assert len(terms) == len(set(terms)) == 17
    assert terms == sorted(terms)
    assert {"term-epsilon", "term-zcdp", "term-trade-off-curve", "term-neighbours"} <= set(terms)
    assert not re.search(r"\b(nan|inf|None)\b", prose)
    assert not re.search(r"/(tmp|home|root|work)/", text)


def test_numbers_are_those_of_the_account(exact, facts, text):
    prose = Reader(text).prose
    (point,) = exact.at_delta("1e-10")
    assert str(Quantity(point.epsilon)) in prose
    box = exact.epsilon(delta="1e-10", certified=True)
    lower, upper = Quantity(box).ends
    assert f"{lower} ≤ ε ≤ {upper}" in prose
    assert facts.guess.accuracy == pytest.approx((1 + exact.total_variation) / 2, rel=1e-12)
    for delta in ("1e-5", "1e-15", "1e-20"):
        assert str(Quantity(exact.epsilon(delta=delta))) in prose


@pytest.mark.parametrize("prior", ["1/2", "1/10", "9/10", "1/864"])
def test_the_best_guess_is_that_of_all_outcomes_listed(prior):
    # independent: two noisy counts, every pair of outcomes, the likelier of the two possibilities chosen
    levels = [Level(name="one", queries=[Query(name="a", variance=2), Query(name="b", variance=5)])]
    release = Release(name="two", neighbours="unbounded", levels=levels)
    found = risk_profile(release, prior=prior, certify=True).overall[0]
    p = float(Fraction(prior))
    x = np.arange(-60, 62)
    here = np.outer(*(GaussianNoise(variance=v).pmf(x - 1) for v in (2, 5)))
    gone = np.outer(*(GaussianNoise(variance=v).pmf(x) for v in (2, 5)))
    expected = np.maximum(p * here, (1 - p) * gone).sum()
    assert found.accuracy == pytest.approx(expected, rel=1e-12)
    assert found.certified is not None
    assert found.accuracy in found.certified
    assert found.certified.relative_width < 1e-5


def test_risks_are_those_of_everything_published():
    found = gather(small(), prior="1/10", certify=False, savings=False)
    whole = risk(small(), prior=["1/10", "1/100"], false_positive_rates=["1e-4"])
    assert found.everything == whole
    assert found.risk == whole.profile.at("1/10")
    assert found.risk.overall == risk_profile(small(), prior="1/10").overall


def test_a_report_has_the_risk_of_each_attribute_and_both_curves_on_logarithmic_axes():
    release = Release.from_toml(
        'name = "tiny"\nneighbours = "bounded"\n[attributes]\nsex = ["f", "m"]\nrace = ["a", "b", "c"]\n'
        '[[levels]]\nname = "State"\nqueries = { total = { variance = 2 }, sex = { variance = 4 } }\n'
        '[[levels]]\nname = "Block"\nqueries = { detailed = { variance = 9 } }'
    )
    found = gather(release, certify=False, savings=False, delta="1e-8")
    section = report_sections(found)["risk"]
    (table,) = [part for part in section.body if getattr(part, "title", "") == "What about one attribute?"]
    asked = {row["attribute"]: row for row in table.objects}
    whole = risk(release, prior=["1/2", "1/100"], false_positive_rates=["1e-4"], delta="1e-8")
    assert asked == {row["attribute"]: row for row in attribute_table(whole).objects}
    assert asked["race"]["delta"] == 1e-8
    for name in ("found", "right"):
        (panel,) = section.figures[name]().panels
        assert panel.x.is_log
        assert panel.y.is_log
        assert panel.x.low == 1e-6
    # of those accused at rate 1e-4, the table of everything has the same share
    line = next(one for one in panel.items if one.label == "prior 0.01")
    (row,) = whole.detections
    shares = dict(row.predictive)
    assert dict(line.points)[next(x for x, _ in line.points if x == pytest.approx(1e-4))] == pytest.approx(
        shares[0.01], rel=1e-9
    )


def test_a_level_that_is_always_merged_has_one_row_with_the_noise_it_has():
    levels = [Level(name=name, queries=[Query(name="total", variance=6)]) for name in ("State", "County")]
    release = Release(
        name="merged", neighbours="unbounded", levels=levels, spine=Spine(paths={1: ["State+County"]})
    )
    prose = Reader(page(release, certify=False, savings=False)).prose
    # one count of variance 3: 1/2 + P[noise = 0] / 2, by the sum over its values
    right = 0.5 + GaussianNoise(variance=3).pmf([0])[0] / 2
    assert f"{100 * right:.2f}" == "61.52"
    assert "State + Countytotal61.5261.52" in prose
    assert "58.14" not in prose


@pytest.mark.slow
def test_hostile_names_stay_names():
    escaped = HOSTILE.replace("\\", "\\\\").replace('"', '\\"')
    toml = SMALL.replace('"State"', f'"{escaped}"').replace('"total"', f'"{escaped}"')
    toml = toml.replace('"small"', f'"{escaped}"').replace('"Two levels"', f'"{escaped}"')
    toml = toml.replace('["A table."]', f'["{escaped}"]').replace("An upper bound:", escaped)
    toml = toml.replace(f'["{escaped}+County"]', f'["{escaped}+County"]').replace("State+", f"{escaped}+")
    release = Release.from_toml(toml)
    other = Release.from_toml(toml.replace('"8"', '"16"').replace('rho = "3/4"\n', ""))
    made = page(release, before=other, title=HOSTILE, certify=False, savings=False)
    reader = Reader(made)
    tags = [tag for tag, _ in reader.elements]
    assert "script" not in tags
    assert tags.count("style") == 1
    assert reader.prose.count('<script>alert("x")</script>') > 10
    assert all("alert" not in str(value) for _, found in reader.elements for value in found.values())


@pytest.mark.slow
def test_two_states_side_by_side():
    before, after = small(), small().scaled(2, level="County")
    made = page(after, before=before, certify=False, savings=False)
    prose = Reader(made).prose
    old, new = account(before).epsilon(delta="1e-10"), account(after).epsilon(delta="1e-10")
    assert f"falls from {Quantity(old)} to {Quantity(new)}" in prose
    assert "promises more privacy" in prose
    assert "Level “County”: 100.0 % more variance in every query." in prose
    assert "Noise unchanged at “State”." in prose
    assert "discreet compare before.toml release.toml --delta 1e-10" in prose
    same = Reader(page(before, before=before, certify=False, savings=False)).prose
    assert "is the same to the digits shown" in same
    assert "Noise unchanged at every level." in same


@pytest.mark.slow
def test_laplace_noise_and_another_unit():
    made = Reader(page(Release.from_toml(LAPLACE), people=2, delta="1e-6")).prose
    assert "Laplace, scale 4" in made
    assert "whether 2 households are in the data" in made
    assert "who is counted there, asks whether these 2 households are, and" in made
    assert "Noise that could be saved" not in made  # calibration is for one record


@pytest.mark.slow
def test_commands_have_every_digit_of_delta():
    asked = ("1.23456789e-10", "1/3")
    made = Reader(page(small(), delta=asked, certify=False)).prose
    assert "--delta 123456789/1000000000000000000 --delta 1/3" in made
    assert "--zcdp --delta 123456789/1000000000000000000" in made


def test_what_no_noise_can_exceed_is_proved_to_be_zero():
    """Pure Laplace noise at zCDP's epsilon: delta is exactly 0."""
    text = LAPLACE.replace('"by size" = { variance = "50" }', "")
    release = Release.from_toml(text)
    found = calibrate(release, delta="1e-10", zcdp=True)
    assert found.proof is not None
    proof = proof_words(privacy_table([release], delta=["1e-10"]), found.proof, "δ")
    assert str(proof) == "δ = 0"
    made = str(savings_section(found, proof=proof).body[0])
    assert "less variance for epsilon 1.7232271 at delta 1e-10. Proof: the true delta" in made


@pytest.mark.parametrize(
    ("stated", "shown"), [('variance = "4"', False), ('rho = "1/8"', True), ('scale = "1/2"', False)]
)
def test_savings_are_shown_only_where_the_plan_is_set_by_zcdp(stated: str, shown: bool) -> None:
    """Whoever calibrated to an exact epsilon never promised what zCDP states."""
    level = f'name = "A"\n[levels.queries]\n"total" = {{ {stated} }}'
    if stated.startswith("rho"):
        level = f'name = "A"\n{stated}\n[levels.queries]\n"total" = "1"'
    release = Release.from_toml(f'name = "plan"\nneighbours = "unbounded"\n[[levels]]\n{level}\n')
    made = page(release, certify=False)
    assert ("Noise that could be saved" in made) is shown
    assert ("Variance that could be saved" in made) is shown
    assert ("discreet calibrate" in made) is shown


@pytest.mark.slow
def test_the_only_path_may_be_merged():
    made = Reader(page(Release.from_toml(MERGED), certify=False, savings=False)).prose
    assert "One path: A + B. Noise is shown for each level by itself." in made
    assert "no levels are merged" not in made


MERGED = """
name = "merged"
neighbours = "unbounded"
levels = [
  { name = "A", queries = { a = { variance = 6 } } },
  { name = "B", queries = { a = { variance = 6 } } },
]
[spine.paths]
1 = ["A+B"]
"""


@pytest.mark.slow
def test_a_page_without_proofs_says_so():
    made = Reader(page(small(), certify=False, savings=False)).prose
    assert "Not certified." in made
    assert "≤ ε ≤" not in made


@pytest.mark.slow
def test_the_command_names_a_preset_only_if_it_is_one():
    preset = load("dhc-2022-08-25")
    made = Reader(page(preset, certify=False, savings=False)).prose
    assert "discreet account dhc-2022-08-25 --delta 1e-10" in made
    changed = Reader(page(preset.scaled(2), certify=False, savings=False)).prose
    assert "discreet account release.toml" in changed


def test_progress_is_told_and_can_stop_the_work():
    seen: list[str] = []
    gather(small(), savings=False, progress=lambda text, done, total: seen.append(text))
    assert "Proving epsilon" in seen

    def stop(text: str, done: int, total: int) -> None:
        raise InputError("enough")

    with pytest.raises(InputError, match="enough"):
        gather(small(), savings=False, progress=stop)


def test_an_account_at_hand_is_taken(facts):
    again = gather(small(), account=account(small(), neighbours="unbounded"), certify=False, savings=False)
    assert again.account.neighbours == "unbounded"
    assert again.headline.epsilon < facts.headline.epsilon
    with pytest.raises(InputError, match="the account is of"):
        gather(load("dhc-2022-08-25"), account=account(small()))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"prior": "1"}, "strictly between 0 and 1"),
        ({"prior": "-1/2"}, "strictly between 0 and 1"),
        ({"delta": []}, "at least one"),
        ({"delta": "2"}, "delta"),
        ({"title": "two\nlines"}, "title"),
        ({"neighbours": "none"}, "neighbours"),
    ],
)
def test_bad_input_is_refused(asked, message):
    with pytest.raises(InputError, match=message):
        page(small(), **asked)


@pytest.mark.slow
def test_the_kind_of_an_answer_leads_and_its_reason_stands_beside_it():
    release = load("sdhc-2020")
    assert release.claim.kind.value == "bound"
    made = page(release, certify=False, savings=False)
    prose = Reader(made).prose
    head = prose[prose.index("Everything in this release") : prose.index("Parameters Calibrated for")]
    (point,) = account(release).at_delta("1e-10")
    bound = Quantity(point.epsilon, rounding=NumberKind.of(release.claim.kind).rounding)
    assert f"an epsilon of at most {bound} at delta" in head
    for reason in release.claim.reasons:
        assert reason in head
    assert "An upper bound: the true value may be smaller." in head
    assert "xact epsilon" not in prose
    assert "epsilon at most" in prose  # the head of the column
    exact = Reader(page(small(), certify=False, savings=False)).prose
    assert "an exact epsilon of" in exact
    assert "at most" not in exact[exact.index("Everything in") : exact.index(" at delta")]


@pytest.mark.slow
def test_a_proof_of_a_bound_proves_no_lower_end():
    toml = SMALL.replace(
        'title = "Two levels"', 'title = "Two levels"\nkind = "bound"\nreason = "Counted twice."'
    )
    made = Reader(page(Release.from_toml(toml), savings=False)).prose
    assert "≤ ε ≤" not in made
    assert "ε ≤" in made
    assert "Counted twice." in made


@pytest.mark.slow
def test_what_is_only_modelled_is_called_no_bound():
    toml = SMALL.replace(
        'title = "Two levels"', 'title = "Two levels"\nkind = "model"\nreason = "A table is missing."'
    )
    made = Reader(page(Release.from_toml(toml), certify=False, savings=False)).prose
    assert "(as modelled)" in made
    assert "this is not a bound" in made
    head = made[made.index("Everything in this") : made.index("Beside releases that you may know")]
    assert "at most" not in head
    assert "whatever method" not in head


@pytest.mark.slow
def test_the_saving_is_the_one_that_calibration_finds():
    found = calibrate(small(), zcdp=True, delta="1e-10", proof=False)
    prose = Reader(page(small(), certify=False)).prose
    assert f"times {Quantity(found.factor, Style.FRACTION)}: {saved_text(found)} for epsilon" in prose
    assert f"Variance that could be saved{Quantity(found.reduction, Style.PERCENT)}" in prose.replace(
        "saved ", "saved"
    )


@pytest.mark.slow
def test_a_saving_that_is_not_found_is_explained():
    queries = [Query(name="q", share="10/13"), Query(name="r", share="3/13")]
    level = Level(name="A", rho=1300, queries=queries)  # variances of 1/1000 and 1/300
    release = Release(name="bare", neighbours="bounded", levels=[level])
    with pytest.raises(InputError):
        calibrate(release, zcdp=True, delta="1e-10")
    assert "No saving is stated here" in Reader(page(release, certify=False)).prose


@pytest.mark.slow
def test_levels_are_written_as_people_do():
    release = Release.from_toml(SMALL.replace("County", "Block_Group"))
    prose = Reader(page(release, before=release, certify=False, savings=False)).prose
    body = prose[: prose.index("The release as a file Save each")]
    assert "Block group" in body
    assert "State + Block group" in body
    # a count alone is named as it is asked for
    assert "Block_Group" not in body.replace("Block_Group: total", "")


def test_margins_are_exact_quantiles():
    # 6 / variance 8: P[|X| <= 5] = 0.9479 < 0.95 <= P[|X| <= 6], by the sum over its values
    x = np.arange(-6, 7)
    mass = GaussianNoise(variance=8).pmf(x)
    assert mass[1:-1].sum() < 0.95 <= mass.sum()
    prose = Reader(page(small(), certify=False, savings=False)).prose
    assert "2.83± 6" in prose


def test_margins_of_saved_laplace_noise_are_those_of_its_own_law() -> None:
    # scale 4, q = exp(-1/4): P[|X| > m] = 2 q^(m + 1) / (1 + q) is 0.0560 at 11 and 0.0436 at 12
    found = calibrate(Release.from_toml(LAPLACE), delta="1e-10", zcdp=True, proof=False)
    total, by_size = calibrated_lines(found)
    assert (total.queries, total.margins[0]) == (("total",), 12)
    assert by_size.margins[0] == 14  # of a Gaussian of variance 50


def test_a_release_whose_noise_cannot_be_calibrated_has_a_report() -> None:
    # one count with Laplace noise keeps zCDP's promise with next to no noise
    level = Level(name="State", queries=[Query(name="total", scale="1/2")])
    release = Release(name="pure", neighbours="unbounded", levels=[level])
    with pytest.raises(InputError, match=r"epsilon 13\.3676"):
        calibrate(release, delta="1e-10", zcdp=True, proof=False)
    assert "zCDP" in page(release, certify=False)


@pytest.mark.parametrize("noise", ["variance = 3", "scale = 1", 'variance = "1/2"'])
@pytest.mark.parametrize("certify", [pytest.param(True, marks=pytest.mark.slow), False])
def test_the_best_guess_has_the_same_digits_everywhere(noise: str, certify: bool) -> None:
    level = f'name = "Nation"\nqueries = {{ "persons" = {{ {noise} }} }}'
    release = Release.from_toml(f'name = "one"\nneighbours = "unbounded"\n[[levels]]\n{level}\n')
    facts = gather(release, prior="1/100", certify=certify, savings=False)
    prose = Reader(render(facts)).prose
    wanted = str(right_percent(facts.guess))
    assert re.findall(r"right\s+at most ([\d.]+) times in 100", prose) == [wanted] * 2
    assert re.findall(r"Best guess of any adversary\s*([\d.]+) %", prose) == [wanted]
    assert re.findall(r"Everything published––([\d.]+)", prose) == [wanted]
    assert 100 * facts.guess.accuracy <= float(wanted) < 100 * facts.guess.accuracy + 0.01
    assert ("nothing bounds that" in prose) == ("variance" in noise)


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "wanted"), [("1/864", "99.88"), ("1/2", "50.00"), ("1e-6", "99.9999")])
def test_the_best_guess_without_the_release_is_rounded_once(prior: str, wanted: str) -> None:
    prose = Reader(render(gather(small(), prior=prior, certify=False, savings=False))).prose
    assert f"Without the release: {wanted} %" in prose
    assert f"times in 100 instead of {float(wanted):g} with nothing published" in prose
    assert f"({wanted} without the release)" in prose


@pytest.mark.slow
@pytest.mark.parametrize("variance", ["1/10000", "1/80"])  # a miss of 0, and one below a millionth
def test_an_adversary_who_hardly_misses_is_not_said_to_miss_at_least(variance: str) -> None:
    level = f'name = "Nation"\nqueries = {{ "persons" = {{ variance = "{variance}" }} }}'
    release = Release.from_toml(f'name = "one"\nneighbours = "unbounded"\n[[levels]]\n{level}\n')
    prose = Reader(page(release, certify=False, savings=False)).prose
    assert "this adversary may miss the truth less than once in 1,000,000." in prose
    assert "never" not in prose
    assert "at least less" not in prose


def test_bounds_are_rounded_to_the_safe_side(facts, text):
    prose = Reader(text).prose
    upper = np.ceil(1e4 * facts.guess.accuracy) / 100
    assert f"Everything published––{upper:.2f}" in prose
    for one in facts.misses:
        assert f"{np.floor(1e4 * one.exact) / 100:.2f} %" in prose
    changed = Reader(render(facts, before=facts)).prose
    assert f"times in 100, at most{upper:.2f}" in changed
    assert "at most, before" not in changed  # the kinds of both are exact


def test_what_was_decided_is_printed_as_given_and_blanks_say_so() -> None:
    """No field of the record is left out in silence, and none is made up."""
    facts = gather(small(), certify=False, savings=False)
    given = {"decided": "Publish <it>", "decided_by": "A. Example", "decided_on": "2026-03-01"}
    prose = Reader(render(facts, **given)).prose
    assert all(text in prose for text in given.values())
    assert prose.count("not filled in when this page was made") == 1
    assert Reader(render(facts)).prose.count("not filled in when this page was made") == 4
    with pytest.raises(InputError, match="decided_on is 'spring'"):
        page(small(), decided_on="spring", certify=False)


def test_sentences_and_tables_have_few_digits_and_the_method_has_all() -> None:
    made = Reader(page(small(), savings=False)).prose
    before, _, after = made.partition("With all digits that were proved:")
    assert not re.search(r"\d\.\d{11}", before)
    assert re.search(r"\d\.\d{11}", after)


def test_paper_shows_what_is_folded_away_on_a_screen() -> None:
    style = page(small(), certify=False, savings=False).partition("@media print")[2].partition("</style>")[0]
    assert "details::details-content { content-visibility: visible" in style
    assert "summary { list-style: none" in style
