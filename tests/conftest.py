"""Hypothesis profiles and the `slow` marker.

`pytest` runs in CI with fixed examples (`CI` is set) and elsewhere with fresh ones; HYPOTHESIS_PROFILE
picks a profile by name. Tests marked `slow` are skipped unless `--run-slow` is given.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

# an example of the accountant's tests costs up to a second: shrinking one would take many minutes
_COMMON = {
    "deadline": None,
    "print_blob": True,
    "phases": (Phase.explicit, Phase.reuse, Phase.generate),
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
}
settings.register_profile("ci", derandomize=True, **_COMMON)
settings.register_profile("dev", **_COMMON)
settings.register_profile("thorough", max_examples=1000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="also run the tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--run-slow"):
        return
    skip = pytest.mark.skip(reason="slow: give --run-slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)
