"""Every question takes every law, or refuses it in the one sentence that `capabilities` has for it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet import (
    ZCDP,
    Certificate,
    GaussianDP,
    InputError,
    Level,
    Query,
    Release,
    RenyiDP,
    account,
    calibrate,
    compose,
    portfolio,
    sample,
)
from discreet.noise import (
    ContinuousGaussian,
    ContinuousLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    PowerNoise,
    TableNoise,
)
from discreet.noise.capabilities import QUESTIONS

LAWS: dict[str, Noise] = {
    "Gaussian": DiscreteGaussian(variance=5),
    "Laplace": DiscreteLaplace(scale=2),
    "power": PowerNoise("17/10", 3),
    "even table": TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"}, sensitivity=1),
    "uneven table": TableNoise({-1: "1/8", 0: "1/2", 1: "3/8"}),
    "answer": TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"}),
    "continuous Gaussian": ContinuousGaussian(variance=5),
    "continuous Laplace": ContinuousLaplace(scale=2),
}


def release_with(law: Noise) -> Release:
    level = Level(name="State", queries=[Query(name="total", noise=law)])
    return Release(name="small", neighbours="unbounded", levels=[level])


def ask_transform(law: Noise) -> object:
    from discreet.estimation.error_laws import traits, transform

    return transform(law, np.array([0.5])), traits(law)


def ask_evidence(law: Noise) -> object:
    from discreet.disclosure.evidence import evidence_law

    return evidence_law([law])


def ask_plan(law: Noise) -> object:
    from discreet.estimation.best_plan import UniformPlan

    return UniformPlan(release_with(law), ())


def ask_edgeworth(law: Noise) -> object:
    from discreet.comparisons import Edgeworth

    return Edgeworth([law])


def ask_beliefs(law: Noise) -> object:
    from discreet.disclosure.limits import calibrate_risk

    return calibrate_risk(release_with(law), risk=["belief=80%,prior=1/2,chance=10%"], delta="1e-3")


def ask_spending(law: Noise) -> object:
    from discreet.ledger.spending import spent

    return spent(release_with(law))


def ask_posterior(law: Noise) -> object:
    from discreet.loss.posteriors import mean_posteriors

    return mean_posteriors([[law]], [Fraction(1, 2)])


def ask_export(law: Noise) -> object:
    pytest.importorskip("dp_accounting")
    pytest.importorskip("discreet.interop", reason="there is no guest that exports")
    from discreet.interop.dp_accounting import to_pld

    return to_pld(compose([law]))


ASKED: dict[str, Callable[[Noise], object]] = {
    "lattice": lambda law: compose([law]).law.on_lattice(),
    "comparisons": ask_edgeworth,
    "divergences": lambda law: (RenyiDP([law]), GaussianDP([law])),
    "limits on beliefs": ask_beliefs,
    "ledger": ask_spending,
    "rho": lambda law: ZCDP([law]),
    "proved trade-off": lambda law: compose([law]).tradeoff(alpha="1/10", certified=True),
    "errors": lambda law: account([law]).errors(threshold=0),
    "evidence": ask_evidence,
    "export": ask_export,
    "posterior": ask_posterior,
    "drawing": lambda law: sample(law, 3),
    "estimates": ask_transform,
    "scaling": lambda law: calibrate([law], epsilon=1, delta="1e-3", proof=False),
    "planning": ask_plan,
}
"""What is asked of each question; margins, certificates and reports have tests of their own."""

OWN_WORDS = {"drawing": ("floats have gaps", "no noise that could be added")}
"""Laws that refuse to be drawn say so themselves."""


SLOW = ("continuous Laplace",)
"""Laws whose accounts take seconds."""

NAMES = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in LAWS]


SLOW_QUESTIONS = ("limits on beliefs", "evidence", "scaling")
"""Questions that take time with a law they accept."""

PAIRS = [
    pytest.param(
        name,
        question,
        marks=[pytest.mark.slow]
        if name in SLOW or (question in SLOW_QUESTIONS and QUESTIONS[question].takes(law))
        else [],
    )
    for name, law in LAWS.items()
    for question in ASKED
]


@pytest.mark.parametrize(("name", "question"), PAIRS)
def test_every_question_takes_a_law_or_refuses_it_in_its_sentence(name: str, question: str) -> None:
    law, row = LAWS[name], QUESTIONS[question]
    if row.takes(law):
        ASKED[question](law)
        return
    with pytest.raises(InputError) as caught:
        ASKED[question](law)
    said = str(caught.value)
    own = any(word in said for word in OWN_WORDS.get(question, ()))
    start, end = f"{row.asks} needs {row.needs}, not ", f"; {row.instead}"
    assert own or (said.startswith(start) and said.endswith(end))
    assert "\n" not in said


@pytest.mark.parametrize("name", NAMES)
def test_what_every_law_answers(name: str, tmp_path: Path) -> None:
    law = LAWS[name]
    whole = account([law])
    assert 0 <= whole.delta(epsilon="1/2") <= 1
    assert whole.epsilon(delta="3/4") < np.inf
    assert 0 <= whole.tradeoff(alpha="1/10") <= 0.9
    assert portfolio([release_with(law), release_with(law)]).delta(epsilon=1) >= whole.delta(epsilon=1)
    again = Release.from_toml(release_with(law).to_toml())
    assert account(again, neighbours="bounded").delta(epsilon=1) >= whole.delta(epsilon=1) * (1 - 1e-9)
    assert law.true_variance() > 0
    if QUESTIONS["margins"].takes(law):
        assert law.margin() >= 1
    from discreet.comparisons.costs import privacy_table

    assert "small" in str(privacy_table([release_with(law)], delta=["1/2"]))


def test_every_question_is_asked_or_tested_elsewhere() -> None:
    assert set(QUESTIONS) - set(ASKED) == {"margins", "certificate", "report"}


def test_certificates_are_for_the_old_laws() -> None:
    law = LAWS["answer"]
    found = account([law])
    box = found.delta(epsilon=1, certified=True)
    with pytest.raises(InputError, match="a certificate needs discrete Gaussian or discrete Laplace noise"):
        Certificate.from_account(found, [release_with(law)], "delta", Fraction(1), box)
