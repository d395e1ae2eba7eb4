"""A relation, law, parameter or budget that is not known raises: nothing counts as another, or as zero."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import InputError, PrecisionError, account, calibrate, compose, portfolio
from discreet.budget import AnswerKind, Claim, Level, Query, Release, cases
from discreet.budget.law_toml import noise_pairs
from discreet.budget.neighbours import main_case, records_apart
from discreet.budget.scope import Scope
from discreet.estimation.best_plan import _exponent_of
from discreet.ledger.entry import Entry
from discreet.ledger.spending import spent, spent_epsilon
from discreet.loss.certified.definition import defined_delta, seconds
from discreet.noise import (
    ContinuousLaplace,
    ContinuousNoise,
    DiscreteGaussian,
    DiscreteLaplace,
    PowerNoise,
    TableNoise,
)

LEVEL = Level(name="a", queries=[Query(name="total", rho="1/2")])
RELEASE = Release(name="r", neighbours="bounded", levels=[LEVEL])
RUN = Entry(release=RELEASE, charged=Fraction(1, 2), delta=Fraction(1, 10**6))


@pytest.mark.parametrize(
    "ask",
    [
        records_apart,
        LEVEL.events,
        LEVEL.spent,
        lambda relation: LEVEL.queries[0].event(relation),
        lambda relation: RELEASE.constants(relation, []),
        lambda relation: cases(RELEASE, relation),
        lambda relation: main_case(RELEASE, relation),
        lambda relation: spent(RELEASE, relation),
        lambda relation: spent_epsilon(RELEASE, relation),
        RUN.rho_for,
        RUN.delta_for,
    ],
)
def test_an_unknown_relation_raises(ask: object) -> None:
    with pytest.raises(InputError, match="neighbours is 'both'; it must be"):
        ask("both")  # type: ignore[operator]


def test_what_a_relation_costs_is_as_before() -> None:
    assert [str(LEVEL.events(one)[0].size) for one in ("bounded", "unbounded")] == ["2", "1"]  # type: ignore[arg-type]
    assert spent(RELEASE) == 2 * spent(RELEASE, "unbounded") == Fraction(1, 2)
    assert (RUN.rho_for("bounded"), RUN.rho_for("unbounded")) == (Fraction(1, 2), Fraction(1, 4))
    assert RUN.delta_for("bounded") == 2 * RUN.delta_for("unbounded")


def test_a_law_with_another_parameter_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="PARAMETER of Rated is 'rate'; it must be one of"):

        class Rated(PowerNoise):
            PARAMETER = "rate"


def test_an_exponent_is_that_of_a_known_law() -> None:
    laws = (DiscreteGaussian(variance=3), DiscreteLaplace(scale=3), PowerNoise("3/2", 3))
    assert [str(_exponent_of(law)) for law in laws] == ["2", "1", "3/2"]
    with pytest.raises(InputError, match="table noise of variance 1/4 has no exponent"):
        _exponent_of(TableNoise({0: "1/2", 1: "1/2"}))


def test_a_definition_lists_no_law_as_another() -> None:
    other = PowerNoise("3/2", 3)
    assert seconds([DiscreteGaussian(variance=3), other], bits=60) == float("inf")
    with pytest.raises(PrecisionError, match=r"losses of power noise .* are not listed"):
        defined_delta([other], Fraction(1), bits=60)  # type: ignore[list-item]


class _Other(ContinuousNoise):
    """A law with a density that no proof knows."""

    FAMILY = "other"
    PARAMETER = "scale"

    def __init__(self) -> None:
        super().__init__(2)

    scale: Fraction
    log_mgf = ContinuousLaplace.log_mgf
    true_variance = ContinuousLaplace.true_variance
    log_tail = ContinuousLaplace.log_tail
    reach = ContinuousLaplace.reach


def test_no_proof_takes_a_density_that_it_does_not_know() -> None:
    from discreet.loss.dots import EventDots

    with pytest.raises(InputError, match="has no probabilities of integers"):
        EventDots(_Other(), exchanged=False, nats=40.0).masses(4, 100, Fraction(1), Fraction(1, 10**6))


def test_a_claim_of_one_path_knows_every_kind() -> None:
    scope = Scope.whole("r", unit="person", neighbours="bounded")
    for kind in AnswerKind:
        assert Claim(scope, kind, ("Why.",)).of_one_path().reasons[0].endswith("Why.")


class _Wider(DiscreteGaussian):
    """A law of one's own that is no discrete Gaussian noise."""

    FAMILY = "wider"


class _Stronger(ContinuousLaplace):
    FAMILY = "stronger"


class _Steeper(PowerNoise):
    FAMILY = "steeper"


def test_a_law_made_of_another_is_not_taken_for_it() -> None:
    query = Query(name="a", noise=_Wider(variance=3))
    assert type(query.event("bounded")) is _Wider
    release = Release(name="r", neighbours="unbounded", levels=[Level(name="a", queries=[query])])
    for noise in (_Wider(variance=3), _Stronger(scale=2), _Steeper("3/2", 2)):
        with pytest.raises(InputError, match="cannot be written as TOML"):
            noise_pairs(noise)
    with pytest.raises(InputError, match="cannot be written as TOML"):
        release.to_toml()
    with pytest.raises(PrecisionError, match="are not listed from a definition"):
        defined_delta([_Wider(variance=3)], Fraction(1), bits=60)
    with pytest.raises(InputError, match="has no probabilities of integers"):
        compose([_Stronger(scale=2)]).delta(epsilon="0.1", certified=True)


def test_a_query_takes_laws_alone() -> None:
    with pytest.raises(InputError, match="noise of query 'a' is of type dict; it must be a law of noise"):
        Query(name="a", noise={"exponent": 3})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ask",
    [
        lambda relation: account(RELEASE, neighbours=relation),
        lambda relation: portfolio([RELEASE, RELEASE], neighbours=relation),
        lambda relation: calibrate(RELEASE, epsilon=9, delta="1e-6", neighbours=relation),
        lambda relation: spent(RELEASE, relation),
        lambda relation: spent_epsilon(RELEASE, relation),
    ],
)
def test_an_empty_relation_is_not_the_usual_one(ask: Callable[[str], object]) -> None:
    with pytest.raises(InputError, match="neighbours is ''"):
        ask("")
