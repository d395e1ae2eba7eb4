"""Hypothesis profiles, known limits, saved cases, and the `slow` marker.

Property tests draw the same examples each time (profile `fixed`); `make fuzz` searches with new seeds
(profile `fuzz`) and saves what it finds in `tests/fuzz/cases`, from where it is replayed here: a test with
`@given` that has a saved case runs once more with that seed. Tests marked `slow` are skipped unless
`--run-slow` is given.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings

# an example of the accountant's tests costs up to a second: shrinking one would take many minutes
_COMMON = {
    "deadline": None,
    "print_blob": True,
    "database": None,
    "phases": (Phase.explicit, Phase.generate),
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
}
settings.register_profile("fixed", derandomize=True, **_COMMON)
settings.register_profile("fuzz", **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# Several tests run at once, and hundreds of commands are started by them: one thread of linear algebra each
# (idle ones spin), and every module compiled once.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell's background and nohup start what they run with signals ignored; these are tested all the same.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

collect_ignore_glob = ["*conftest.py"]  # fixtures, not modules with doctests

# What the accountant cannot do yet, as docs/limitations.md says: refused, or coarser than asked. Each
# runs and must fail: one that has been mended turns `make test` red until it is taken off.
KNOWN_LIMITS = {
    "f next to the corners of steep atoms is refused": (
        "test_tradeoff_reference.py::test_tricky_knots[plateaus]",
        "test_tradeoff_reference.py::test_tricky_knots[middle of f below 1e-50]",
    ),
    "many distinct terms without a lattice: f below 1e-15 is refused, and there is no certified interval": (
        "test_tradeoff_reference.py::test_f_is_its_own_inverse[six large ones without lattice]",
        "test_certified_reference.py::test_line_to_a_millionth[six large ones without lattice]",
        "test_certified_reference.py::test_line_to_a_millionth[300 distinct small variances]",
        "test_engine_properties.py::test_hundreds_of_distinct_variances[300 distinct small variances]",
    ),
}
# Seconds each, and others like them stay in `make test`: run by `make test-all`.
SLOW_CASES = {
    "test_fixed_draws.py::test_fixed_draws[120]",
    "test_fixed_draws.py::test_fixed_draws[150]",
    "test_fixed_draws.py::test_fixed_draws[180]",
    "test_studies_results.py::test_verdicts_are_as_the_errata_have_them[dhc-reduction]",
    "test_studies_results.py::test_curves_over_rho",
    "test_estimation_coverage.py::test_ratios_of_lattices_side_by_side_cover_what_they_say[variances1-truth1]",
    "test_workbench_server.py::test_ended_in_the_midst_of_work_it_leaves_nothing[2]",
    "test_surfaces.py::test_every_surface_shows_the_same_numbers[next to no noise]",
    "test_surfaces.py::test_every_surface_shows_the_same_for_other_questions[next to no noise]",
    "test_surfaces.py::test_every_surface_shows_the_same_for_other_questions[merged and not]",
    "test_surfaces.py::test_every_surface_shows_the_same_margins[pl94-2020-units]",
    "test_certified_reference.py::test_tricky_tradeoffs[middle node of a sieved period]",
    "test_tradeoff_reference.py::test_tricky_knots[one of each kind]",
    "test_tradeoff_reference.py::test_at_knots_beside_them_and_between",
    "test_engine_properties.py::test_epsilon_never_passes_the_largest_loss[lap 1e6]",
    "test_tradeoff_reference.py::test_f_is_its_own_inverse[six small ones without lattice]",
    "test_certified_reference.py::test_float_inside_certified[0.05 and 1e6 times 1e6]",
    "test_tradeoff_reference.py::test_f_is_its_own_inverse[six large ones without lattice]",
    "test_engine_properties.py::test_hundreds_of_distinct_variances[300 distinct small variances]",
    "test_certified_reference.py::test_line_to_a_millionth[300 distinct small variances]",
    "test_all_pairs.py::test_a_release_of_many_paths",
    "test_safetab_kill.py::test_killed_at_many_random_moments",
    "test_cli_verify.py::test_a_claim_on_the_command_line[2.3633-0-proved]",
    "test_studies_results.py::test_figure_6_goes_to_a_hundred",
    "test_studies_results.py::test_what_is_wrong_in_print_and_nothing_else[residuals]",
    "test_studies_results.py::test_what_is_wrong_in_print_and_nothing_else[risk-accuracy-rho]",
    "test_html_page.py::test_the_same_inputs_give_the_same_bytes",
    "test_comparisons.py::test_bounds_bound_and_are_ordered[two variances, sensitivity 2]",
    "test_overall_release.py::test_a_certified_envelope_is_as_narrow_as_asked_where_cases_cross[0.05]",
    "test_noise_inversion.py::test_a_law_of_too_many_thresholds_is_drawn_by_balls_alone",
    "test_curator.py::test_other_data_are_noticed",
    "test_curator.py::test_parquet_gives_the_same",
    "test_curator.py::test_bureau_columns_give_the_same",
    "test_curator.py::test_regions_of_the_same_blocks_share",
    "test_validation.py::test_lines_of_a_large_file",
    "test_engine_known.py::test_a_pair_of_puerto_rico_whose_sieve_comes_in_pieces",
    "test_noise_table.py::test_folded_thresholds[discrete Laplace noise of scale 30]",
    "test_noise_table.py::test_thresholds_are_the_floors_of_the_cumulative_distribution[discrete Laplace noise of scale 30]",  # noqa: E501
    "test_noise_probabilities.py::test_pmf_sums_to_one_and_matches_variance_and_transform[discrete Laplace noise of scale 100000]",  # noqa: E501
    "test_calibration.py::test_promises_out_of_reach_are_refused[options3-level 'State' by itself: .* not kept even with]",  # noqa: E501
    "test_counting.py::test_state_by_state_gives_the_same[2]",
    "test_torture_faults.py::test_a_sample[error after]",
    "test_torture_faults.py::test_a_sample[disk full]",
    "test_torture_faults.py::test_a_sample[no locks]",
    "test_cli_process.py::test_a_signal_leaves_nothing_behind[15]",
    "test_decisions.py::test_jagged_for_an_uneven_prior_only",
    "test_safetab_reprocessing.py::test_parquet_and_text_are_read_alike",
    "test_safetab_reprocessing.py::test_both_steps_are_what_the_run_does[True]",
    "test_published.py::test_sieve_is_within_its_own_bound[None-three variances, sensitivity 2 and 3]",
    "test_certified_reference.py::test_tricky_deltas[middle node of a sieved period]",
    "test_certified_reference.py::test_float_inside_certified[one of variance 1e6]",
    "test_safetab_running.py::test_noise_of_repeated_runs_has_its_variance_by_level_and_stage[large tables-puredp]",  # noqa: E501
    "test_safetab_running.py::test_other_people_with_the_specification_of_2020[1]",
    "test_report_plots.py::test_bytes_are_the_same_every_time[pdf]",
    "test_report.py::test_where_a_file_lies_does_not_show",
    "test_estimation_releases.py::test_coverage_of_releases_that_differ",
    "test_workbench_doors.py::test_a_closed_tab_ends_its_work",
    "sums.py::discreet.studies.sums.residuals",
    "test_certified_reference.py::test_delta",
    "test_noise_table.py::test_every_slot_boundary[discrete Laplace noise of scale 30]",
    "test_noise_table.py::test_ties_with_a_threshold[16-discrete Laplace noise of scale 30]",
    "test_html_page.py::test_two_states_side_by_side",
    "test_surfaces.py::test_every_surface_shows_the_same_numbers[sdhc-2020]",
    "test_studies_results.py::test_residuals[1-4.18e-08]",
    "test_studies_results.py::test_residuals[5-2.99e-39]",
    "test_comparisons.py::test_order_monotony_and_round_trip",
    "test_workbench_server.py::test_a_token_is_made_unless_told_otherwise[options0]",
    "test_budget_spine.py::test_every_path_spends_the_same_total",
    "test_decisions.py::test_never_above_the_trade_off_bound",
    "test_release_kill.py::test_killed_while_recovering_from_a_kill",
    "test_workbench_doors.py::test_what_would_hold_up_the_parser_is_refused_before[a = [1,1,1,1-the release ]",  # noqa: E501
    "test_noise_probabilities.py::test_certified_intervals_contain_the_sums[discrete Gaussian noise of variance 1/10000]",  # noqa: E501
    "test_report.py::test_before_and_after",
    "test_estimation_plan.py::test_figures_of_the_note[keep1-2.3936]",
    "test_safetab_reprocessing.py::test_a_damaged_output_is_refused[a row of t2 is missing]",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="also run the tests marked slow")
    parser.addoption("--torture", action="store_true", help="also run the tests marked torture")
    parser.addoption("--cpu", type=int, metavar="N", help="list the N tests that took most processor time")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _mark_limits(items)
    _replay(items)
    for option, marker in (("--run-slow", "slow"), ("--torture", "torture")):
        skip = pytest.mark.skip(reason=f"{marker}: give {option}")
        for item in items:
            if item.get_closest_marker(marker) and not config.getoption(option):
                item.add_marker(skip)


def _mark_limits(items: list[pytest.Item]) -> None:
    """A known limit runs, and must still be one: what has been mended is taken off the list."""
    limits = {name: reason for reason, names in KNOWN_LIMITS.items() for name in names}
    for item in items:
        name = item.nodeid.rsplit("/", 1)[-1]
        if name in SLOW_CASES:
            item.add_marker(pytest.mark.slow)
        if name in limits:
            item.add_marker(pytest.mark.xfail(reason=limits.pop(name), strict=True))
    collected = {item.nodeid.rsplit("/", 1)[-1].split("::")[0] for item in items}
    whole = [name for name in limits if name.split("::")[0] in collected]
    # asked for by a path to a single test, others of its file are not collected
    if whole and not any("::" in argument or argument.startswith("-k") for argument in sys.argv):
        raise pytest.UsageError(f"known limits of tests that do not exist: {', '.join(whole)}")


REPLAYED = pytest.StashKey[int]()


def _replay(items: list[pytest.Item]) -> None:
    """Add a copy of each property test for each of its saved cases."""
    by_id = {item.nodeid: item for item in items}
    for path in sorted((Path(__file__).parent / "fuzz" / "cases").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        item = by_id.get(case["check"])
        if isinstance(item, pytest.Function) and item.parent is not None:
            copy = pytest.Function.from_parent(
                item.parent,
                name=f"{item.name}[seed {case['seed']}]",
                callspec=getattr(item, "callspec", None),
                callobj=item.obj,
                originalname=item.originalname,
            )
            copy.stash[REPLAYED] = case["seed"]
            items.insert(items.index(item) + 1, copy)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if REPLAYED not in item.stash:
        return (yield)
    assert isinstance(item, pytest.Function)
    hypothesis.seed(item.stash[REPLAYED])(item.obj)
    try:
        return (yield)
    finally:
        hypothesis.seed(None)(item.obj)  # type: ignore[arg-type]  # None is what a test without a seed has


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether every place is tried, as in `make test-all`, or one in so many."""
    return bool(request.config.getoption("--run-slow"))


# -- processor time, which a busy machine does not change much (`make times`) --------------------------------


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = sum(os.times()[:4])  # children that have ended included
    try:
        return (yield)
    finally:
        item.stash[SECONDS] = sum(os.times()[:4]) - before


SECONDS = pytest.StashKey[float]()


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    taken = {item.nodeid: item.stash[SECONDS] for item in session.items if SECONDS in item.stash}
    if output is not None:
        output["seconds"] = taken
    else:
        session.config.stash.setdefault(TAKEN, {}).update(taken)


TAKEN = pytest.StashKey[dict[str, float]]()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash.setdefault(TAKEN, {}).update(getattr(node, "workeroutput", {}).get("seconds", {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    count, taken = config.getoption("--cpu"), config.stash.get(TAKEN, {})
    if count is None:
        return
    terminalreporter.section("processor time")
    for name, seconds in sorted(taken.items(), key=lambda pair: -pair[1])[:count]:
        terminalreporter.write_line(f"{seconds:8.2f} s  {name}")
    terminalreporter.write_line(f"{sum(taken.values()):8.2f} s  in {len(taken)} tests")
