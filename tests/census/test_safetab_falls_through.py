"""A relation that is not known raises, and an infinite budget counts as nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet import InputError
from discreet.census.safetab.account import exact_account, two_stages
from discreet.census.safetab.census2020 import configuration_2020, specification_2020
from discreet.census.safetab.design.costs import cost

SAFETAB = configuration_2020(), specification_2020(), "US"


@pytest.mark.parametrize(
    "ask",
    [
        lambda relation: two_stages(*SAFETAB, relation),
        lambda relation: exact_account(*SAFETAB, relation),
        lambda relation: cost(*SAFETAB, delta="1e-10", neighbours=relation),
    ],
)
def test_an_unknown_relation_raises(ask: object) -> None:
    with pytest.raises(InputError, match="neighbours is 'both'; it must be"):
        ask("both")  # type: ignore[operator]


def test_an_infinite_budget_of_whom_a_record_replaces_is_not_zero() -> None:
    configuration, specification, which = SAFETAB
    places = dict.fromkeys(configuration.levels("PR"))
    infinite = replace(configuration, budgets={**configuration.budgets, **places})
    assert cost(infinite, specification, which, delta="1e-10").budget > 0
    with pytest.raises(InputError, match="PR has an infinite budget"):
        cost(infinite, specification, which, delta="1e-10", neighbours="bounded")
