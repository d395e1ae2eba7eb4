"""Hypothesis profiles and the `slow` marker.

`pytest` runs in CI with fixed examples (`CI` is set) and elsewhere with fresh ones; HYPOTHESIS_PROFILE picks a
profile by name. Tests marked `slow` are skipped unless `--run-slow` is given.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=_QUIET)
settings.register_profile("dev", deadline=None, print_blob=True, suppress_health_check=_QUIET)
settings.register_profile(
    "thorough", deadline=None, max_examples=1000, print_blob=True, suppress_health_check=_QUIET
)
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
