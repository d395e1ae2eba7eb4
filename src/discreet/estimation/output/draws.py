"""Draws of all estimates with their covariances, for other programs: multiple imputation.

A draw is the estimates less errors drawn anew: noise of the stated laws goes through the same linear
estimator, so that errors of a draw have exactly the joint law of the estimates' own, over areas, levels and
queries, and a draw adds up as the estimates do. With sampling errors from replicates, a normal combination of
the replicates' deviations is taken off too, which has their covariances. Nothing confidential is used, and
nothing is spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from discreet.areas.layout import Layout
from discreet.areas.output import Columns
from discreet.areas.tree import Floats, Tree
from discreet.errors import InputError
from discreet.estimation.estimates import Estimates, InMemory, NoisySource, Rows, Union
from discreet.estimation.input.joint_estimates import Found, JointEstimates
from discreet.estimation.input.sampling import SampledPlace, SamplingErrors
from discreet.estimation.normal import sample_errors
from discreet.estimation.output.estimate_table import in_real_numbers, joined_columns
from discreet.estimation.output.own_areas import flat_tree
from discreet.noise import Entropy
from discreet.rehearsal import rehearsal_entropy
from discreet.tables import Numbers

MOST_DRAWS = 10_000
MOST_NUMBERS = 200_000_000
"""Numbers of all draws that are held in memory."""


class Draws:
    """Estimates from noise alone, as often as wanted."""

    def __init__(
        self,
        joint_estimates: JointEstimates,
        many: int,
        seed: int | None,
        sampling: SamplingErrors | None = None,
    ) -> None:
        """Draw errors `many` times; with a `seed` they can be repeated, for nobody is protected by them."""
        if not 2 <= many <= MOST_DRAWS:
            raise InputError(f"draws is {many}; at least 2 and at most {MOST_DRAWS} are possible")
        held = sum(group.tree.size * group.estimates.width for group in joint_estimates.groups)
        if held * many > MOST_NUMBERS:
            raise InputError(
                f"{many} draws of {held} cells do not fit in memory; ask for fewer draws, or a part of "
                "the areas"
            )
        if sampling is not None and not sampling.replicates:
            raise InputError(
                "draws with sampling errors need replicate estimates: variances do not tell covariances"
            )
        self._found, self._sampling, self.many = joint_estimates, sampling, many
        source = rehearsal_entropy(seed)
        self._errors = [self._drawn(source) for _ in range(many)]
        if sampling is not None:
            weights = np.random.default_rng(seed).normal(size=(many, sampling.replicates))
            self._weights = weights * float(sampling.replicate_factor) ** 0.5

    def _drawn(self, source: Entropy | None) -> JointEstimates:
        """Return the estimates from noise that is drawn once."""
        groups = []
        for group in self._found.groups:
            given = group.estimates.given
            sources = tuple(
                _noise_of(noisy_source, group.estimates, source) for noisy_source in given.sources
            )
            groups.append(replace(group, estimates=group.estimates.remeasured(sources)))
        return JointEstimates(groups)

    def blocks(
        self, tree: Tree, unions: Mapping[str, Found], queries: Sequence[str]
    ) -> Iterator[tuple[Layout, Columns]]:
        """Yield the draws of all units of a tree, then of areas: the estimate, draw_1, draw_2, ..."""
        joint_estimates = self._found

        def units(part: slice, _: slice) -> dict[str, Numbers]:
            who = np.arange(part.start, part.stop)
            position = joint_estimates.at(who)
            made = []
            for query in queries:
                value = joint_estimates.numbers(position, len(who), query, ())[0]
                errors = (error.numbers(error.at(who), len(who), query, ())[0] for error in self._errors)
                made.append(
                    in_real_numbers(
                        self._columns(value, errors, position, query), joint_estimates.step(query)
                    )
                )
            return joined_columns(made)

        yield joint_estimates.layout(tree, queries), units
        if unions:
            yield (
                joint_estimates.layout(flat_tree(list(unions), "area"), queries),
                self._areas(unions, queries),
            )

    def _areas(self, unions: Mapping[str, Found], queries: Sequence[str]) -> Columns:
        every = list(unions.values())

        def columns(part: slice, _: slice) -> dict[str, Numbers]:
            made = []
            for query in queries:
                rows = []
                for at in range(part.start, part.stop):
                    value = self._found.moments(every[at], query, every[at], query).a
                    errors = (self._error_in(error, every[at], query) for error in self._errors)
                    rows.append(self._columns(value, errors, every[at], query))
                table = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
                made.append(in_real_numbers(table, self._found.step(query)))
            return joined_columns(made)

        return columns

    @staticmethod
    def _error_in(drawn: JointEstimates, area: Found, query: str) -> Floats:
        """Return the estimates of the same union from noise."""
        if len(drawn.groups) == 1:
            group = drawn.groups[0]
            assert area[0] is not None
            union = area[0][0]
            assert isinstance(union, Union)
            rows = group.estimates.at(union.units).values(query)
            return np.asarray(group.turned(query, union.factors[None] @ rows))
        again: Found = [
            None
            if some is None
            else (group.estimates.union(some[0].units, getattr(some[0], "factors", None)), some[1])
            for group, some in zip(drawn.groups, area, strict=True)
        ]
        return drawn.moments(again, query, again, query).a

    def _columns(
        self, value: Floats, errors: Iterator[Floats], position: Found, query: str
    ) -> dict[str, Numbers]:
        columns: dict[str, Numbers] = {"estimate": value}
        sampled = None
        if self._sampling is not None:
            sampled = np.tensordot(
                self._weights, self._sampling.deviations(SampledPlace.of(position), query), axes=(1, 0)
            )
        for number, error in enumerate(errors):
            draw = value - error
            columns[f"draw_{number + 1}"] = draw if sampled is None else draw - sampled[number]
        return columns


def _noise_of(measured: NoisySource, estimates: Estimates, source: Entropy | None) -> InMemory:
    """Return noise in the place of all measurements of a source."""
    kind = estimates.given.tree.kind
    noisy: dict[str, list[Rows]] = {}
    for query, who, rows in measured.read(slice(0, estimates.given.size)):
        noise = np.zeros(rows.shape)
        for number in np.unique(kind[who]).tolist():
            mine = np.flatnonzero(kind[who] == number)
            noise[mine] = sample_errors(measured.laws[number][query], (mine.size, rows.shape[1]), source)
        noisy.setdefault(query, []).append((who, noise))
    joined = {}
    for query, parts in noisy.items():
        who, rows = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(who, kind="stable")
        joined[query] = who[order], rows[order]
    return InMemory(measured.laws, joined)
