"""Entries of the registry of deployments: made of releases, checked, and what is said of wrong ones."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import DiscreetError, InputError, Level, Query, Release, account
from discreet.answers import describe
from discreet.cli import run
from discreet.interop.registry import (
    facts_template,
    read_entry,
    read_facts,
    registry_entry,
    review_entry,
)
from discreet.interop.registry_fields import form_problems, leaves, registry_fields
from discreet.interop.yaml_text import yaml_of

BASIC = {
    "deployment.basic.data_curators": ["An office"],
    "deployment.basic.intended_use": "Planning",
    "deployment.basic.data_product_region": "Here",
    "deployment.basic.description": "Counts",
    "deployment.basic.publication_date": "2026-01-31",
}


def small(**kinds: object) -> Release:
    queries = [
        Query(name="total", **(kinds or {"variance": 5})),
        Query(name="sex", **(kinds or {"variance": 5})),
    ]
    return Release(name="Small one", neighbours="unbounded", levels=[Level(name="State", queries=queries)])


def full() -> dict[str, object]:
    """Facts that fill every field that people may state."""
    values = {"text": "said.", "texts": ["A", "B"], "date": "2026-01-31"}
    return {
        place: one.choices[0] if one.choices else values[one.kind]
        for place, one in registry_fields().items()
        if one.ours != "always"
    }


def test_an_entry_states_the_account() -> None:
    made = registry_entry([small()], facts=BASIC, delta=["1e-6", "1e-9"])
    entry = dict(leaves(made.entry))
    exact = account(small()).epsilon(delta=Fraction(1, 10**6))
    stated = entry["deployment.privacy_loss.privacy_parameters.epsilon"]
    assert isinstance(stated, float)
    assert exact <= stated < exact * 1.00001  # rounded up to six digits
    assert entry["deployment.privacy_loss.privacy_parameters.rho"] == 0.2  # 2 / (2 * 5)
    assert entry["deployment.privacy_loss.privacy_parameters.delta"] == 1e-6
    assert entry["deployment.dp_variant.variant_name"] == "Zero-concentrated DP"
    assert "added or removed" in str(entry["deployment.privacy_loss.privacy_unit_details"])
    assert "at delta 1e-9" in str(entry["deployment.privacy_loss.privacy_parameters_details"])
    assert (entry["url_slug"], made.tier) == ("small-one", 1)
    assert form_problems(made.entry) == []


def test_what_is_no_bound_is_said_loudly() -> None:
    level = Level(name="State", queries=[Query(name="total", variance=5)])
    part = Release(
        name="p", neighbours="unbounded", levels=[level], kind="model", reason="A part is left out."
    )
    answer = describe(registry_entry([part], facts=BASIC))
    assert any(one.loud and "not a bound" in one.text for one in answer.cautions)
    assert "A part is left out." in str(answer.objects["yaml"])


def test_pure_noise_has_a_pure_epsilon_and_no_delta() -> None:
    entry = dict(leaves(registry_entry([small(scale=4)], facts=BASIC).entry))
    assert entry["deployment.dp_variant.variant_name"] == "Pure DP"
    assert entry["deployment.privacy_loss.privacy_parameters.epsilon"] == 0.5
    assert "deployment.privacy_loss.privacy_parameters.delta" not in entry


def test_with_all_facts_it_reaches_tier_3_and_each_missing_one_is_named() -> None:
    facts = full()
    made = registry_entry([small()], facts=facts)
    assert (made.tier, made.missing) == (3, ())
    assert form_problems(made.entry) == []
    # what is stated follows what was computed, and replaces a default
    entry = dict(leaves(made.entry))
    assert str(entry["deployment.accounting.composition"]).endswith("parameters. said.")
    assert entry["deployment.deployment_model.model_name"] == "Local"
    del facts["deployment.implementation.justification"]
    less = registry_entry([small()], facts=facts)
    assert (less.tier, [one.place for one in less.missing]) == (
        2,
        ["deployment.implementation.justification"],
    )


def test_proofs_and_their_certificates_are_named() -> None:
    made = registry_entry([small()], facts=BASIC, delta=["1e-6"], certify=True)
    (certificate,) = made.certificates
    details = str(dict(leaves(made.entry))["deployment.privacy_loss.privacy_parameters_details"])
    assert str(certificate.document()["digest"]) in details
    assert certificate.says in details


def test_facts_are_checked_all_at_once(tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text(
        'tier = 3\n[basic]\ndata_curators = "one"\npublication_date = "May 2023"\nnam = "x"\n'
        '[deployment_model]\naccess_type = "interactiv"\n[privacy_loss.privacy_parameters]\nepsilon = 1\n'
    )
    with pytest.raises(InputError) as raised:
        read_facts(file)
    said = str(raised.value)
    for part in (
        "tier is computed from the release",
        "data_curators is 'one'; it must be a list of texts",
        "publication_date is 'May 2023'; it must be a day as YYYY-MM-DD",
        "basic.nam is not a field of an entry",
        "access_type is 'interactiv'; it must be one of Interactive, Non-interactive",
        "epsilon is computed from the release",
        "basic.intended_use is missing: what it is for",
        "facts.toml",
    ):
        assert part in said
    with pytest.raises(InputError, match=r"basic\.data_curators, who publishes it.*basic\.publication_date"):
        registry_entry([small()])


def test_a_release_with_sources_needs_an_author_of_the_entry() -> None:
    """The schema asks for registry_authors wherever there is an administrative section."""
    from dataclasses import replace

    sourced = replace(small(), sources=("A paper.",))
    with pytest.raises(InputError, match=r"administrative\.registry_authors, who wrote this entry"):
        registry_entry([sourced], facts=BASIC)
    made = registry_entry([sourced], facts={**BASIC, "deployment.administrative.registry_authors": ["A"]})
    assert dict(leaves(made.entry))["deployment.administrative.sources"] == "A paper."


def test_facts_from_python_are_checked_too() -> None:
    with pytest.raises(InputError, match=r"deployment\.basic\.description is 5; it must be a text"):
        registry_entry([small()], facts={**BASIC, "deployment.basic.description": 5})


def test_the_template_asks_for_all_that_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text(facts_template([small()]))
    assert read_facts(file) == {}
    for line in ("data_curators", "actors", "post_processing", "justification", "registry_authors"):
        assert f'{line} = ""' in file.read_text()


def test_yaml_is_read_back_as_it_was_written() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    long = "words: of # a - text, 'quoted' \"twice\" " * 5
    entry = {
        "a": {"long": long.strip(), "odd": "  two\nlines\u2028\x7f ", "word": "yes", "date": "2026-01-31"},
        "numbers": {"delta": 1e-10, "tiny": 2.5e-20, "one": 1.0, "tier": 3},
        "list": ["a: b", "- c", "é"],
        "end": "x" * 200,
    }
    assert yaml.safe_load(yaml_of(entry)) == entry
    made = registry_entry([small()], facts=full())
    assert yaml.safe_load(yaml_of(made.entry)) == made.entry


# -- checking ----------------------------------------------------------------------------------------------


def census(rho: float, details: str) -> dict[str, object]:
    """The 2020 DHC as an entry has it; 4.96 (persons) and 7.70 (units) are the Bureau's published rhos."""
    entry = dict(registry_entry([small()], facts=BASIC).entry)
    deployment = dict(entry["deployment"])  # type: ignore[call-overload]
    loss = {
        "privacy_unit": "person",
        "privacy_parameters": {"rho": rho},
        "privacy_parameters_details": details,
    }
    return {**entry, "deployment": {**deployment, "privacy_loss": loss}}


PARTS = "The person file has rho 4.96 and the housing unit file 7.70."


def test_parts_that_do_not_add_up_are_found() -> None:
    found = review_entry(census(15.29, PARTS))
    (wrong,) = [one for one in found.findings if not one.agrees]
    assert (wrong.kind, wrong.stated, wrong.found) == ("parts", Fraction("15.29"), Fraction("12.66"))
    assert "The entry states 2.63 more than that." in str(describe(found).objects)
    assert review_entry(census(12.66, PARTS)).adds_up
    assert review_entry(census(12.665, PARTS)).adds_up  # as far as digits that were rounded can tell
    assert not review_entry(census(12.68, PARTS)).adds_up
    # a part that is named twice is one part, or two of the same size
    twice = f"{PARTS} Of the person file, rho 4.96 is all."
    assert review_entry(census(12.66, twice)).adds_up
    assert review_entry(census(17.62, twice)).adds_up
    assert not review_entry(census(15.29, twice)).adds_up


def test_releases_that_spend_something_else_are_found() -> None:
    from discreet import load

    both = [load("dhc-2020-persons"), load("dhc-2020-units")]
    found = review_entry(census(15.29, "Three products."), releases=both)
    (wrong,) = [one for one in found.findings if not one.agrees]
    assert (wrong.kind, wrong.found) == ("releases", Fraction(24811, 5000) + Fraction(15401, 2000))
    four = [*both, load("pl94-2020-persons"), load("pl94-2020-units")]
    assert review_entry(census(15.29, "Three products."), releases=four).adds_up  # 15.2939


def test_an_own_entry_adds_up_and_a_changed_epsilon_does_not() -> None:
    made = registry_entry([small()], facts=BASIC, delta=["1e-6"])
    assert review_entry(made.entry, releases=[small()]).adds_up
    text = yaml_of(made.entry)
    stated = made.entry["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"]  # type: ignore[index]
    changed = json.loads(json.dumps(made.entry).replace(f"{stated}", f"{stated * 0.9}"))
    assert text
    found = review_entry(changed, releases=[small()])
    assert [one.kind for one in found.findings if not one.agrees] == ["exact"]
    # without the release, rho alone does not prove what is smaller than its tight conversion
    alone = review_entry(changed)
    assert [one.kind for one in alone.findings if not one.agrees] == ["implied"]


def test_the_form_and_the_variant_are_checked() -> None:
    entry = json.loads(json.dumps(registry_entry([small()], facts=BASIC).entry))
    entry["tier"], entry["extra"] = 4, 1
    entry["deployment"]["dp_variant"]["variant_name"] = "Pure DP"
    del entry["deployment"]["basic"]["description"]
    said = [one.text for one in review_entry(entry).findings if not one.agrees]
    assert any(text.startswith("extra is not a field") for text in said)
    assert "tier is 4; it must be 1, 2 or 3" in said
    assert any(text.startswith("deployment.basic.description is missing") for text in said)
    assert "Pure DP has no delta, and one is stated" in said


@pytest.mark.parametrize(
    "odd", ["1e9999999", "n^-2", float("nan"), -1.0, True, [1], {"a": {"b": 2}}, 10**400]
)
def test_odd_numbers_are_named_and_break_nothing(odd: object) -> None:
    entry = json.loads(json.dumps(registry_entry([small()], facts=BASIC).entry))
    for name in ("epsilon", "delta", "rho"):
        changed = json.loads(json.dumps(entry))
        changed["deployment"]["privacy_loss"]["privacy_parameters"][name] = odd
        found = review_entry(changed, releases=[small()])
        is_text_of_delta = name == "delta" and isinstance(odd, str)  # the schema allows any
        assert found.adds_up == is_text_of_delta, describe(found).objects


def test_files_that_are_no_entry_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    file = tmp_path / "entry.yaml"
    file.write_text("a: [1")
    with pytest.raises(InputError, match="is not YAML"):
        read_entry(file)
    file.write_text("- 1")
    with pytest.raises(InputError, match="holds a list; an entry is a mapping"):
        read_entry(file)
    file.write_text("a: &x {b: 1}\nc: *x\n")
    with pytest.raises(InputError, match="has an alias"):
        read_entry(file)
    deep = tmp_path / "deep.json"
    deep.write_text('{"a": ' * 100_000 + "1" + "}" * 100_000)
    with pytest.raises(InputError, match=r"not (valid|usable) JSON"):
        read_entry(deep)
    deep.write_text('{"a": ' * 500 + "1" + "}" * 500)
    assert any(one.text.startswith("a.a.a") for one in review_entry(read_entry(deep)).findings)
    (tmp_path / "entry.json").write_text("{")
    with pytest.raises(InputError, match=r"not (valid|usable) JSON"):
        read_entry(tmp_path / "entry.json")
    import sys

    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(DiscreetError, match=r"pip install '\.\[registry\]' in a checkout.*\.json"):
        read_entry(file)


# -- the command -------------------------------------------------------------------------------------------


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(small().to_toml())
    lines = [
        '[basic]\ndata_curators = ["An office"]\nintended_use = "Planning"\ndata_product_region = "Here"'
    ]
    lines.append('description = "Counts"\npublication_date = 2026-01-31\n')
    (tmp_path / "facts.toml").write_text("\n".join(lines))
    return tmp_path


def test_the_command_writes_an_entry_that_it_finds_right(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["registry", "small.toml", "--facts", "facts.toml", "--out", "entry.json", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert 'url_slug: "small-one"' in printed
    assert "Note: The entry is of tier 1. Tier 2 asks for" in printed
    assert run(["registry", "small.toml", "--check", "entry.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["adds_up"] is True
    text = (workplace / "entry.json").read_text()
    (workplace / "entry.json").write_text(text.replace('"rho": 0.2', '"rho": 0.3'))
    assert run(["registry", "small.toml", "--check", "entry.json", "--quiet"]) == 1
    assert "wrong: Rho is stated as 0.3. By release it is Small one 0.2." in capsys.readouterr().out


def test_wrong_arguments_end_with_status_2_and_nothing_written(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, said in (
        (["small.toml"], "an entry needs facts that no release has"),
        ([], "registry needs a preset's name or a TOML file"),
        (["small.toml", "--check", "none.yaml", "--certify"], "--check cannot be combined with --certify"),
        (["small.toml", "--check", "none.json"], "there is no file none.json"),
        (["small.toml", "--facts", "facts.toml", "--out", "entry.txt"], "must end in .yaml, .yml or .json"),
    ):
        assert run(["registry", *arguments]) == 2
        assert said in capsys.readouterr().err
    assert sorted(one.name for one in workplace.iterdir()) == ["facts.toml", "small.toml"]


def test_a_ledger_says_how_many_runs_and_what_was_exact(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    from discreet.ledger import Total, create_ledger

    (workplace / "counts.csv").write_text(
        "unit,parent,level,query,cell,count\nA,,State,total,all,10\nA,,State,sex,f,4\nA,,State,sex,m,6\n"
    )
    create_ledger("ledger.json", [Total(unit="person", neighbours="unbounded", rho=1)])
    measured = ["measure", "small.toml", "--counts", "counts.csv", "--out", "made", "--ledger", "ledger.json"]
    assert run([*measured, "--invariant", "State/total"]) == 0, capsys.readouterr().err
    capsys.readouterr()
    asked = ["registry", "small.toml", "--facts", "facts.toml", "--ledger", "ledger.json", "--json"]
    assert run(asked) == 0
    deployment = json.loads(capsys.readouterr().out)["entry"]["deployment"]
    assert deployment["deployment_model"]["release_type"] == "One release"
    held = "Published without noise: total of State."
    assert deployment["dp_variant"]["unprotected_quantities"] == held
    assert "drawn by discreet" in deployment["implementation"]["mechanisms"]
    (workplace / "other.toml").write_text(small(variance=7).to_toml())
    assert run(["registry", "other.toml", *asked[2:]]) == 2
    assert "have spent rho 1/5, and the release costs 1/7" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("twice.yaml", "tier: 1\ndeployment:\n  rho: 1\n  rho: 2\n", r"states 'rho' twice in .* line 3"),
        ("twice.json", '{"tier": 1, "tier": 2}', "states one key twice"),
        ("nan.json", '{"tier": NaN}', "has the number NaN; numbers must be finite"),
        ("deep.yaml", "[" * 100_000, "is nested more than 100 times"),
    ],
)
def test_an_entry_that_can_be_read_in_two_ways_is_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_entry(tmp_path / name)


def test_an_optional_text_may_be_empty_and_a_needed_one_not() -> None:
    entry = census(12.66, "")
    assert review_entry(entry).adds_up
    basic = entry["deployment"]["basic"]  # type: ignore[index]
    changed = {**entry, "deployment": {**entry["deployment"], "basic": {**basic, "name": ""}}}  # type: ignore[dict-item]
    assert not review_entry(changed).adds_up


def changed(entry: dict[str, object], **parameters: object) -> dict[str, object]:
    """An entry with other parameters of privacy loss."""
    entry["deployment"]["privacy_loss"]["privacy_parameters"] |= parameters  # type: ignore[index]
    return entry


def test_an_epsilon_of_gaussian_dp_beside_rho_is_a_note_and_no_contradiction() -> None:
    text = "The consumption under \\(\\mu\\)-GDP is about {}."
    for mu, agrees in (("0.376", True), ("0.500", False)):
        found = review_entry(changed(census(0.0728, text.format(mu)), epsilon=1.453, delta=1e-5))
        assert found.adds_up == agrees
        (implied,) = [one for one in found.findings if one.kind == "implied"]
        assert implied.is_note == agrees
        told = str(describe(found).objects)
        assert "Rho alone implies 1.6072" in told
        assert ("mu = 0.376 of Gaussian DP, which implies 1.45" in told) == agrees


@pytest.mark.parametrize(
    ("variant", "parameters", "said"),
    [
        ("Pure DP", {}, "Pure DP has epsilon, and none is stated, as the schema allows: nothing is compared"),
        ("Approximate DP", {"epsilon": 1}, "Approximate DP has delta, and none is stated"),
        ("Approximate DP", {"epsilon": 0.01, "delta": "n^(-ln n)"}, "delta is stated in words, 'n^(-ln n)'"),
    ],
)
def test_what_is_not_stated_is_a_note(variant: str, parameters: dict[str, object], said: str) -> None:
    entry = census(1, "")
    entry["deployment"]["dp_variant"] = {"variant_name": variant}  # type: ignore[index]
    entry["deployment"]["privacy_loss"]["privacy_parameters"] = parameters  # type: ignore[index]
    found = review_entry(entry)
    assert found.adds_up
    (note,) = [one for one in found.findings if one.kind == "unstated"]
    assert note.text.startswith(said)
    assert note.is_note


def test_an_empty_text_completes_no_tier() -> None:
    full_entry = json.loads(json.dumps(registry_entry([small()], facts=full()).entry))
    assert not any(one.kind == "tier" for one in review_entry(full_entry).findings)
    full_entry["deployment"]["implementation"]["justification"] = ""
    (note,) = [one for one in review_entry(full_entry).findings if one.kind == "tier"]
    assert note.text == "deployment.implementation.justification"
    assert note.is_note


SCHEMA = {
    "description": "A newer form, invented.",
    "type": "object",
    "additionalProperties": False,
    "required": ["url_slug", "reviewer"],
    "properties": {
        "url_slug": {"type": "string", "tier": 1},
        "status": {"type": "string", "enum": ["Draft"]},
        "tier": {"type": "integer"},
        "reviewer": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "deployment": {
            "type": "object",
            "properties": {
                "basic": {
                    "type": "object",
                    "properties": {"publication_date": {"type": "string", "format": "date"}},
                }
            },
        },
    },
}


def test_the_form_may_be_that_of_another_schema(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = json.loads(json.dumps(registry_entry([small()], facts=BASIC).entry))
    said = [one.text for one in review_entry(entry, schema=SCHEMA).findings if one.kind == "form"]
    assert said == ["the entry: no reviewer"]
    assert review_entry(entry | {"reviewer": ["A"]}, releases=[small()], schema=SCHEMA).adds_up
    entry["deployment"]["basic"]["publication_date"] = "May"
    found = review_entry(entry | {"reviewer": [], "more": 1}, schema=SCHEMA)
    assert sorted(one.text for one in found.findings if one.kind == "form") == [
        "the entry.deployment.basic.publication_date: 'May' is not a day as YYYY-MM-DD",
        "the entry.reviewer: 0 items; at least 1 are needed",
        "the entry: unknown key more",
    ]
    (workplace / "schema.json").write_text(json.dumps(SCHEMA))
    (workplace / "entry.json").write_text(json.dumps(entry))
    assert run(["registry", "--check", "entry.json", "--schema", "schema.json", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["adds_up"] is False
    # what cannot be followed to the letter is refused, not passed over
    (workplace / "schema.json").write_text(json.dumps(SCHEMA | {"oneOf": []}))
    assert run(["registry", "--check", "entry.json", "--schema", "schema.json"]) == 2
    assert "the schema at entry.json has oneOf, which this validator does not know" in capsys.readouterr().err
    assert run(["registry", "small.toml", "--schema", "schema.json", "--facts", "facts.toml"]) == 2
    assert "--schema needs --check FILE" in capsys.readouterr().err


def test_days_of_a_yaml_entry_are_texts_to_a_schema(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    (tmp_path / "entry.yaml").write_text(
        "url_slug: a\nreviewer: [b]\ndeployment:\n  basic:\n    publication_date: 2026-01-31\n"
    )
    entry = read_entry(tmp_path / "entry.yaml")
    assert [one for one in review_entry(entry, schema=SCHEMA).findings if one.kind == "form"] == []
