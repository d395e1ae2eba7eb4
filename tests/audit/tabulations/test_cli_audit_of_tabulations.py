"""`discreet risk audit --data`: what cannot be asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["release.toml"], "give --counts FILE, or --data DIR to audit safetab run; neither is given"),
        (["--data", "."], "--data is about safetab run: name its parameters"),
        (["--data", ".", "--counts", "a.csv"], "or --data DIR to audit safetab run; both are given"),
    ],
)
def test_an_audit_of_a_tabulation_that_cannot_be_asked(
    refused: Callable[..., str], arguments: list[str], message: str
) -> None:
    assert message in refused("risk", "audit", *arguments)
