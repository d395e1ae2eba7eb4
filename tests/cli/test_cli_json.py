"""JSON of every command: the option, errors in the same form, and schemas that hold."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from printed_samples import all_answers

from discreet.cli import STATUSES
from discreet.cli.completion import completed_commands
from discreet.cli.schema import schema_names, schema_of
from discreet.measurement import write_example
from discreet.render.json_schema import problems

ROOT = Path(__file__).parents[2]
COMMANDS = {one.words: one for one in completed_commands() if one.words}
GROUPS = {name.rpartition(" ")[0] for name in COMMANDS} - {""}


def test_every_command_has_json_and_a_schema() -> None:
    without = [
        name
        for name, one in COMMANDS.items()
        if name not in GROUPS and "--json" not in [option for option, *_ in one.options]
    ]
    assert not without
    assert set(schema_names()) == {*COMMANDS} - GROUPS | {"error"}


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_is_well_formed(name: str) -> None:
    schema = schema_of(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["type"] == "object"
    for kind in schema.get("anyOf", [schema]):
        assert kind["required"], "an object without any key that is always there says nothing"
    assert list(problems({"no such key": 1}, schema)), "a schema must be able to fail"


def test_the_validator_finds_what_is_wrong() -> None:
    schema = schema_of("account")
    path = ROOT / "docs" / "reference" / "output.md"
    found = re.search(r"```json\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    shown = json.loads(found[1])
    assert list(problems(shown, schema)) == []  # the page shows what the schema says
    assert list(problems(shown | {"pairs": "1"}, schema)) == ["$.pairs: '1' is not integer"]
    assert list(problems(shown | {"more": 1}, schema)) == ["$: unknown key more"]
    row = {key: value for key, value in shown["results"][0].items() if key != "worst"}
    assert list(problems(shown | {"results": [row]}, schema)) == ["$.results[0]: no worst"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["account", "dhc-2021", "--json"],
        ["account", "--json"],
        ["acount", "dhc-2020", "--json"],
        ["account", "dhc-2020", "--no-such-option", "1", "--json"],
        ["account", "dhc-2020", "--digits", "many", "--json"],
        ["show", "dhc-2020", "pl94-2020", "--json"],
        ["ledger", "show", "no-such-ledger.json", "--json"],
        ["account", "no\nsuch\u202efile.toml", "--json"],
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_an_error_is_json_on_standard_output(discreet, arguments):
    result = discreet(*arguments)
    plain = discreet(*(word for word in arguments if word != "--json"))
    assert (result.status, plain.status, plain.out) == (2, 2, "")
    assert result.err == plain.err  # people and logs still have the line
    assert list(problems(result.json, schema_of("error"))) == []
    assert result.json["status"] == 2
    if arguments[1] != "no\nsuch\u202efile.toml":  # which a terminal must not see as it is
        assert plain.err == f"discreet: {result.json['error']}\n"
        assert result.json["problems"] == [result.json["error"]]


def test_problems_are_told_one_by_one(discreet, tmp_path):
    write_example(tmp_path)
    records = tmp_path / "records.csv"
    lines = records.read_text().splitlines()
    lines[1:3] = ["1,Nowhere,0-17,none", "2,Orb,0-17,often"]
    records.write_text("\n".join(lines) + "\n")
    units, out = tmp_path / "units.csv", tmp_path / "counts"
    given = ("--records", records, "--units", units, "--out", out)
    found = discreet("tabulate", tmp_path, *given, "--json").json
    assert found["error"].startswith("2 kinds of problems: 1. ")
    assert len(found["problems"]) == 2
    assert all(f"{number}. {text}" in found["error"] for number, text in enumerate(found["problems"], 1))
    assert "records.csv" in found["problems"][0]
    assert not out.exists()


def test_an_output_that_cannot_be_written_is_no_second_error(discreet, monkeypatch):
    class Full:
        encoding = "utf-8"

        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    assert discreet("presets", "--json").status == 2


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ("ledger new l.json --total person:bounded:3/2", {"ledger", "totals"}),
        ("ledger total l.json person:bounded:2 --reason why", {"ledger", "total", "reason"}),
        ("ledger check l.json", {"ledger", "sound", "runs", "files", "problems", "remarks", "not_seen"}),
        ("ledger sign l.json --key k", {"ledger", "key", "public_key"}),
        ("ledger upgrade l.json", {"ledger", "format", "from", "sealed"}),
        ("ledger witness l.json", {"ledger", "witness", "file", "continues"}),
    ],
)
def test_what_was_done_is_json_too(discreet, tmp_path, monkeypatch, words, keys):
    monkeypatch.chdir(tmp_path)
    if "new" not in words:
        assert discreet("ledger", "new", "l.json").status == 0
    import shlex

    assert set(discreet(*shlex.split(words), "--json").json) == keys


def test_the_witness_of_json_is_checked_by_its_status(discreet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    discreet("ledger", "new", "l.json")
    head = discreet("ledger", "witness", "l.json", "--json").json["witness"]
    assert discreet("ledger", "witness", "l.json").out == f"{head}\n"
    assert discreet("ledger", "witness", "l.json", head, "--json").json["continues"] is True
    other = f"9:{head.partition(':')[2]}"
    result = discreet("ledger", "witness", "l.json", other, "--json")
    assert (result.status, result.json["continues"]) == (2, False)


def test_schemas_are_printed(discreet):
    assert json.loads(discreet("schema", "risk", "single").out) == schema_of("risk single")
    assert discreet("schema", "--json").json == {"schemas": list(schema_names())}
    assert "risk single" in discreet("schema").out
    result = discreet("schema", "acount")
    assert result.status == 2
    assert 'did you mean "account"?' in result.err


def test_exit_statuses_are_listed_where_they_are_looked_for(discreet):
    page = (ROOT / "docs" / "reference" / "output.md").read_text(encoding="utf-8")
    section = page.split("## Errors and exit status")[1]
    said = discreet("--help").out
    for codes in STATUSES:
        assert f"\n| {codes} |" in section
        assert re.search(rf"^\s*{codes}\s", said, re.MULTILINE)


@pytest.mark.slow
def test_examples_and_samples_are_as_their_schemas_say() -> None:
    found = all_answers()
    assert set(found) == set(schema_names())
    for name, values in found.items():
        for value in values:
            assert not list(problems(value, schema_of(name))), f"{name} has changed: so must its type"
