"""Certificates that were changed with a new digest: none is proved unless it is true, and says of what."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet import InputError, account, verify
from discreet.accounting.certificate import Certificate, _digest
from discreet.budget import Level, Query, Release, Spine

Change = Callable[[dict[str, Any]], object]

LEVELS = [Level(name=name, queries=[Query(name="t", variance=v)]) for name, v in (("S", 4), ("C", "1/2"))]
RELEASE = Release(name="r", neighbours="bounded", levels=LEVELS, spine=Spine(may_merge_up=["C"]))
WHOLE = Certificate.of([RELEASE], delta="1e-6").document()
PAIRS = account(RELEASE).only([(1, 2)])
PART = Certificate.from_account(
    PAIRS, [RELEASE], "epsilon", Fraction(1, 10**6), PAIRS.epsilon(delta="1e-6", certified=True)
).document()


def put(*path: str, to: object) -> Change:
    def change(document: dict[str, Any]) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = to

    return change


def as_whole(document: dict[str, Any]) -> None:
    """Say of one case, consistently, that all are meant."""
    document["cases"].update(taken="all", compared=3)
    document["answer"] = copy.deepcopy(WHOLE["answer"])
    document["says"] = document["says"].split(" Only")[0]


def in_format_1(document: dict[str, Any]) -> None:
    document["format"] = "discreet certificate 1"
    document["cases"].pop("of")
    document["answer"].pop("scope")
    document["says"] = document["says"].split(" Only")[0]


def claimed(text: str) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["claim"].update(lower="0", upper=text)
        document["says"] = f"This is ({text}, 1e-6)-differentially private."

    return change


def release(old: str, new: str) -> Change:
    def change(document: dict[str, Any]) -> None:
        (text,) = document["releases"]
        assert old in text
        document["releases"] = [text.replace(old, new)]

    return change


REFUSED: list[tuple[object, Change]] = [
    *(
        (PART, put("cases", "taken", to=taken))
        for taken in ("all", "main", [2, 2], [9, 9], [1], None, True, 7)
    ),
    *((PART, put("cases", key, to=to)) for key, to in (("of", 1), ("compared", 3), ("of", "3"))),
    *((WHOLE, put("people", to=to)) for to in (0, 2, "1", True, -1)),
    *((WHOLE, put("neighbours", to=to)) for to in ("unbounded", "both", None)),
    (WHOLE, put("cases", "taken", to="All")),
    (WHOLE, put("unit", to="household")),
    (WHOLE, put("worst", "case", to=[1, 2])),
    (WHOLE, put("worst", "case", to=[1])),
    (WHOLE, put("says", to="This is (1, 1e-6)-differentially private.")),
    (WHOLE, put("claim", "upper", to="1")),
    (PART, put("answer", "scope", "whole", to=True)),
    (PART, put("answer", "scope", "parts", to=[])),
    (PART, put("answer", "kind", to="bound")),
    (WHOLE, put("format", to="discreet certificate 1")),
    (WHOLE, release('"4"', '"40"')),
    (WHOLE, lambda document: document.update(releases=2 * document["releases"])),
    (WHOLE, put("note", to="x")),
]


def judged(document: object, change: Change, folder: Path) -> str:
    changed: dict[str, Any] = copy.deepcopy(document)  # type: ignore[assignment]
    changed.pop("digest")
    change(changed)
    changed["digest"] = _digest(changed)
    file = folder / "changed.json"
    file.write_text(json.dumps(changed))
    return str(verify(file))


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_contradicts_itself_is_refused(number: int, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        judged(*REFUSED[number], tmp_path)


def test_what_is_consistent_is_judged_by_the_numbers(tmp_path: Path) -> None:
    assert judged(WHOLE, claimed("29"), tmp_path).startswith("Proved")  # true, and of all cases
    assert judged(WHOLE, claimed("3"), tmp_path).startswith("Refuted")
    # the numbers of one pair are not those of all three
    assert "Only case (1, 2) is meant, one of 3" in judged(PART, put("method", to=None), tmp_path)
    assert judged(PART, as_whole, tmp_path).startswith("Refuted")
    for document in (WHOLE, PART):
        assert judged(document, in_format_1, tmp_path).startswith("Undecided")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"neighbours": "unbounded"}, "Meant are unbounded neighbours."),
        ({"people": 2}, "Meant are bounded neighbours, and groups of 2."),
    ],
)
def test_another_relation_and_groups_are_named(asked: Any, words: str, tmp_path: Path) -> None:
    made = Certificate.of([RELEASE], delta="1e-6", **asked)
    assert made.says.endswith(words)
    assert words in str(verify(made))
    with pytest.raises(InputError, match="says is not what the rest of it implies"):
        judged(made.document(), put("says", to=made.says.removesuffix(f" {words}")), tmp_path)
    assert words in str(verify(RELEASE, epsilon=40, delta="1e-6", **asked))
