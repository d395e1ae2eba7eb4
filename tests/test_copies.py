"""Every public object can be copied, pickled and sent to another process, whatever it has answered before."""

from __future__ import annotations

import copy
import gc
import importlib
import inspect
import multiprocessing
import pickle
import pkgutil
import random
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from present import PRESENT

import discreet
from discreet.budget import cases
from discreet.comparisons.costs import epsilon_rows
from discreet.comparisons.edgeworth import Edgeworth
from discreet.disclosure import (
    Area,
    Attack,
    Poisson,
    Table,
    TwoLevels,
    Uniform,
    hierarchy_posterior,
    risk_profile,
    sequence,
    table_risk,
)
from discreet.estimation import accuracy, estimate, plan
from discreet.estimation.goals import read_goals
from discreet.ledger import check_ledger, create_ledger, read_ledger
from discreet.loss.all_pairs import AllPairs
from discreet.loss.certified.all_cases import UpperBounds
from discreet.loss.contour import Kind
from discreet.loss.evaluation import Evaluations
from discreet.loss.grids import Grid
from discreet.loss.lattice import Loss, TiltedTransform
from discreet.loss.lists import ListEvaluator
from discreet.measurement import measure, tabulate
from discreet.memory import Forgetful
from discreet.noise import SystemEntropy
from discreet.reports import sample_profile, sample_tradeoff

Chance = random.Random
Exact = str


def number(chance: Chance, low: int = 1, high: int = 40) -> Exact:
    return f"{chance.randint(low, high)}/{chance.randint(1, 8)}"


def gaussian(chance: Chance) -> Any:
    return discreet.DiscreteGaussian(
        variance=number(chance, 4), sensitivity=chance.randint(1, 3), times=chance.randint(1, 5)
    )


def laplace(chance: Chance) -> Any:
    return discreet.DiscreteLaplace(scale=number(chance, 3), times=chance.randint(1, 3))


def events(chance: Chance) -> list[Any]:
    return [chance.choice([gaussian, laplace])(chance) for _ in range(chance.randint(1, 3))]


def release(chance: Chance) -> Any:
    levels = [
        discreet.Level(name=name, queries=[discreet.Query(name="total", variance=number(chance, 4))])
        for name in ("Nation", "State", "County")
    ]
    spine = discreet.Spine(may_merge_up=["State", "County"])
    return discreet.Release(name="small", neighbours="bounded", levels=levels, spine=spine)


PRESETS = ("pl94-2020-units", "pl94-2020-units-pr", "sdhc-2020", "dhc-2022-08-25")


def preset(chance: Chance) -> Any:
    return discreet.load(chance.choice(PRESETS))


def accuracy_of(chance: Chance) -> Any:
    return accuracy(discreet.load("pl94-2020-units"), tree=[2, 2, 2, 2, 2])


def areas(chance: Chance) -> list[Area]:
    block = Area(name="block", noisy=chance.randint(0, 5), rho="0.0992", siblings=27, siblings_noisy=-1)
    return [block, Area(name="block group", noisy=chance.randint(0, 5), rho="0.2465")]


def curve_answers(one: Any) -> Any:
    return (
        one.epsilon(delta=["1e-3", "1e-9"]).tolist(),
        one.delta(epsilon=["1/2", "3"]).tolist(),
        one.tradeoff(alpha="1/10"),
        str(one.delta(epsilon="3/4", certified=True)),
        repr(one),
    )


def account_answers(one: Any) -> Any:
    point = one.at_delta("1e-9")[0]
    return point, one.at_epsilon("2"), str(one.epsilon(delta="1e-6", certified=True)), one.rho, repr(one)


def noise_answers(one: Any) -> Any:
    values = np.arange(-3, 4)
    return one.log_pmf(values).tolist(), one.sf(2), one.margin(), one.step, one.mean_loss, str(one)


def loss_answers(one: Loss) -> Any:
    transform = TiltedTransform(one, 0.5)
    return transform.centre, one.step, one.spread, one.log_mgf(np.array([0.5, 2.0])).tolist()


def shown(one: Any) -> Any:
    """All that an object of plain fields says of itself."""
    return repr(one), str(one)


def tails(one: Any) -> Any:
    found = one.tail(Kind.DELTA, [Fraction(1, 2), Fraction(3)])
    return found.log.tolist(), found.error.tolist()


def evaluations(one: Evaluations) -> Any:
    return tails(one.first), one.listed


def scans(one: AllPairs) -> Any:
    return [scan.value.tolist() for scan in one.scan(Kind.DELTA, [Fraction(2), Fraction(3)])]


def bounds(one: UpperBounds) -> Any:
    return [str(bound) for bound in one.at(Fraction(3), one.whole.main)]


def comparison(one: Any) -> Any:
    return float(one.epsilon(delta=1e-6)), float(one.delta(epsilon=2.0))


def published(one: Any) -> Any:
    return tuple(one.delta(epsilon=1.0))


def certificate(chance: Chance) -> Any:
    return discreet.Certificate.of([release(chance)], delta="1e-8")


def two_levels(chance: Chance) -> Any:
    return TwoLevels(rho=("0.0992", "0.2465"), siblings=chance.randint(2, 30), prior="1/2")


Kinds = dict[str, tuple[Callable[[Chance], Any], Callable[[Any], Any]]]

KINDS: Kinds = {
    "DiscreteGaussian": (gaussian, noise_answers),
    "DiscreteLaplace": (laplace, noise_answers),
    "Interval": (lambda c: discreet.compose([gaussian(c)]).delta(epsilon=1, certified=True), shown),
    "Value": (lambda c: discreet.compose([gaussian(c)]).epsilon(delta="1e-6"), lambda x: (x, x.accuracy)),
    "PrivacyLoss": (lambda c: discreet.compose(events(c)), curve_answers),
    "Loss": (lambda c: Loss(events(c)), loss_answers),
    "Evaluations": (lambda c: Evaluations(Loss(events(c))), evaluations),
    "ListEvaluator": (lambda c: ListEvaluator(Loss(events(c))), tails),
    "Grid": (lambda c: Grid(Loss([gaussian(c)])), tails),
    "AllPairs": (lambda c: AllPairs(cases(release(c), "bounded")), scans),
    "UpperBounds": (lambda c: UpperBounds(AllPairs(cases(release(c), "bounded"))), bounds),
    "Cases": (lambda c: cases(release(c), "bounded"), lambda x: [x[k] for k in range(len(x))]),
    "Account": (lambda c: discreet.account(release(c)), account_answers),
    "Account of a preset": (
        lambda c: discreet.account(preset(c)),
        lambda x: (x.at_delta("1e-9"), x.rho, repr(x)),
    ),
    "portfolio": (lambda c: discreet.portfolio([release(c), release(c)]), lambda x: x.at_delta("1e-9")),
    "Point": (lambda c: discreet.account(release(c)).at_delta("1e-9")[0], shown),
    "PrivacyRow": (lambda c: epsilon_rows(discreet.account(release(c)), ["1e-6"])[0], shown),
    "Profile": (lambda c: sample_profile(discreet.account(release(c)), np.array([1.0, 2.0])), shown),
    "TradeOffCurve": (lambda c: sample_tradeoff(discreet.account(release(c)), np.array([0.1, 0.5])), shown),
    "ZCDP": (lambda c: discreet.ZCDP(events(c)), comparison),
    "TightZCDP": (lambda c: discreet.TightZCDP(events(c)), comparison),
    "RenyiDP": (lambda c: discreet.RenyiDP(events(c)), comparison),
    "GaussianDP": (lambda c: discreet.GaussianDP([gaussian(c)]), comparison),
    "Edgeworth": (lambda c: Edgeworth([gaussian(c)]), comparison),
    "Release": (release, lambda x: (x.paths, discreet.account(x).rho, repr(x), x == x)),
    "Release of a preset": (preset, lambda x: (x.paths, discreet.account(x).rho, repr(x))),
    "Level": (lambda c: release(c).levels[0], shown),
    "Query": (lambda c: release(c).levels[0].queries[0], shown),
    "Spine": (lambda c: release(c).spine, shown),
    "Claim": (lambda c: preset(c).claim, shown),
    "Calibration": (
        lambda c: discreet.calibrate(release(c), epsilon=c.randint(2, 9), delta="1e-8"),
        lambda x: (repr(x), discreet.account(x.release).rho),
    ),
    "Certificate": (certificate, lambda x: (x.to_text(), x.says)),
    "Verification": (lambda c: discreet.verify(release(c), epsilon=100, delta="1e-8"), shown),
    "Accuracy": (accuracy_of, shown),
    "Plan": (lambda c: plan(discreet.load("pl94-2020-units"), keep=["Tract"]), shown),
    "Goal": (lambda c: read_goals('[[goals]]\nlevel = "State"\nquery = "total"\nsd = "3/2"', "a")[0], shown),
    "Recode, Tabulation, Attributes": (lambda c: discreet.load("pl94-2020-persons").attributes, shown),
    "Attack": (lambda c: Attack(variance=c.randint(2, 9), known=3), lambda x: x.accuracy(prior="1/2")),
    "Step": (lambda c: sequence([2, c.randint(0, 3)], variance=[5, 2], prior="1/2", known=0)[1], shown),
    "TwoLevels": (two_levels, lambda x: (float(x.probability(2, 1, -1)), x.accuracy_given(group=1))),
    "Uniform": (lambda c: Uniform(upper=c.randint(10, 500)), shown),
    "Poisson": (lambda c: Poisson(number(c)), shown),
    "Table": (lambda c: Table(["1/2", "1/4", "1/4"]), shown),
    "Area": (lambda c: areas(c)[0], shown),
    "HierarchyPosterior": (lambda c: hierarchy_posterior(areas(c), prior="1/2"), shown),
    "RiskProfile": (lambda c: risk_profile({"block": number(c, 1, 3)}, prior="1/2"), shown),
    "Risk": (lambda c: risk_profile({"block": number(c, 1, 3)}, prior="1/2").rows[0], shown),
    "SystemEntropy": (lambda c: SystemEntropy(), lambda x: type(x).__name__),
    "InputError": (lambda c: discreet.InputError("wrong"), shown),
    "PrecisionError": (lambda c: discreet.PrecisionError("too much"), shown),
}

if "studies" in PRESENT:
    from discreet.studies import register
    from discreet.studies.published import LatticeNormal, SequentialSieve

    KINDS |= {
        "SequentialSieve": (lambda c: SequentialSieve([gaussian(c)]), published),
        "LatticeNormal": (
            lambda c: LatticeNormal([discreet.DiscreteGaussian(variance=5, times=10)]),
            published,
        ),
        "StudyEntry": (lambda c: c.choice(list(register())), shown),
    }

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def answers(task: tuple[str, Any]) -> Any:
    """What an object says, in this process or another one."""
    kind, one = task
    return KINDS[kind][1](one)


def copies(one: Any, protocols: Any = PROTOCOLS) -> list[Any]:
    return [
        copy.copy(one),
        copy.deepcopy(one),
        *(pickle.loads(pickle.dumps(one, protocol)) for protocol in protocols),
    ]


LONG = ("portfolio", "Account", "Calibration")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in LONG)) for kind in KINDS]
)
def test_copies_answer_the_same_before_and_after(kind: str) -> None:
    one = KINDS[kind][0](random.Random(kind))
    before = copies(one, [2])[-1]
    said = answers((kind, one))
    assert answers((kind, before)) == said
    later = copies(one, [pickle.HIGHEST_PROTOCOL])
    assert type(later[-1]) is type(one)
    assert answers((kind, later[1])) == said
    for protocol in PROTOCOLS:
        pickle.dumps(one, protocol)


SURVEY = """
name = "survey"
neighbours = "bounded"
[attributes]
sex = ["f", "m"]
[[levels]]
name = "Nation"
queries = { total = { variance = 3 }, sex = { variance = 3 } }
"""


def test_results_that_are_files_too(tmp_path: Path) -> None:
    """What was tabulated, measured, estimated, recorded and checked; the risk of a table."""
    survey = discreet.Release.from_toml(SURVEY)
    units, people, ledger = (tmp_path / name for name in ("units.csv", "people.csv", "ledger.json"))
    units.write_text("unit,level,parent\nN,Nation,\n")
    people.write_text("unit,sex\n" + "N,f\n" * 9)
    table = tmp_path / "table.csv"
    table.write_text("unit,noisy,variance\n" + "".join(f"u{k},{k % 7},5\n" for k in range(50)))
    create_ledger(ledger)
    made: list[Any] = [
        tabulate(survey, people, tmp_path / "counts", units=units),
        measure(survey, None, tmp_path / "noisy", records=people, units=units, ledger=ledger),
        estimate(tmp_path / "noisy", tmp_path / "best"),
        read_ledger(ledger),
        read_ledger(ledger).entries[0],
        check_ledger(ledger),
        table_risk(table, prior="1/10"),
    ]
    for one in made:
        said = one.as_dict() if hasattr(one, "as_dict") else one
        for other in copies(one):
            assert type(other) is type(one)
            assert (other.as_dict() if hasattr(one, "as_dict") else other) == said


def test_other_processes_answer_the_same() -> None:
    """Spawned, so that nothing comes along but what was pickled."""
    quick = [
        kind for kind in KINDS if kind not in ("Grid", "portfolio", "Account of a preset", "TradeOffCurve")
    ]
    made = [(kind, KINDS[kind][0](random.Random(kind))) for kind in quick]
    said = [answers(task) for task in made]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        # a hash of strings differs from process to process
        assert [repr(found) for found in pool.map(answers, made) if found] == [
            repr(one) for one in said if one
        ]


@pytest.mark.slow
def test_a_thousand_objects() -> None:
    chance, tasks, said = random.Random(22), [], []
    for k in range(1000):
        kind = chance.choice(list(KINDS))
        one = KINDS[kind][0](chance)
        # of what it is asked for the first time: lists that are remembered may serve again, to the last digit
        first = answers((kind, one)) if k % 2 else None
        made = copies(one)
        said.append(first if k % 2 else answers((kind, one)))
        assert answers((kind, chance.choice(made))) == said[-1]
        tasks.append((kind, chance.choice(made)))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for task, found, before in zip(tasks, pool.map(answers, tasks, chunksize=20), said, strict=True):
            assert repr(found) == repr(before), task[0]


def test_nothing_is_remembered_by_the_place_of_another_object() -> None:
    """Terms were looked up by id: a copy found none, or that of a term which had its place before."""
    one = Loss(
        [
            discreet.DiscreteGaussian(variance=5),
            discreet.DiscreteGaussian(variance="7/3"),
            discreet.DiscreteLaplace(scale=2),
        ]
    )
    said = loss_answers(one)
    for _ in range(200):
        one = copy.deepcopy(one)
        gc.collect(0)
        assert loss_answers(one) == said


def modules() -> list[Any]:
    found = pkgutil.walk_packages(discreet.__path__, "discreet.")
    names = [one.name for one in found]
    return [
        importlib.import_module(name)
        for name in names
        if name.split(".")[1] in ("noise", "loss", "budget", "accounting")
    ]


def test_whoever_remembers_is_forgetful() -> None:
    remembering = [
        one
        for module in modules()
        for one in vars(module).values()
        if inspect.isclass(one)
        and one.__module__ == module.__name__
        and any(isinstance(value, cached_property) for value in vars(one).values())
    ]
    assert len(remembering) > 10
    assert [one for one in remembering if not issubclass(one, Forgetful)] == []


def test_a_copy_carries_nothing_that_was_remembered() -> None:
    account = discreet.account(release(random.Random(3)))
    size = len(pickle.dumps(account))
    account_answers(account)
    assert len(pickle.dumps(account)) == size
    assert set(vars(copy.copy(account))) == {one for one in vars(account) if not account._is_remembered(one)}
