"""Hypercubes with cell keys: noise by its law, equal definitions, refusals, the ledger, and nothing left."""

from __future__ import annotations

import itertools
import json
import os
import stat
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from scipy import stats

from discreet.accounting.account import account
from discreet.answers.answer import Paragraph
from discreet.answers.ledger import ledger_answer
from discreet.budget import Attributes
from discreet.cellkey import (
    FractionLaw,
    PerturbationTable,
    account_cells,
    hypercube,
    perturbation_table,
    read_perturbation_table,
)
from discreet.cellkey import run as running
from discreet.cellkey.answers.run import perturbed_answer
from discreet.cellkey.design import design_perturbation
from discreet.cellkey.lookup import NoiseLookup
from discreet.cellkey.run import Perturbed, cell_delta, composed_cells, perturb
from discreet.cellkey.secret import CellSecret, open_secret
from discreet.errors import InputError
from discreet.ledger import Total, create_ledger, read_ledger
from discreet.ledger.admission import PolicyError
from discreet.ledger.composition import ledger_cost, ledger_costs, ledger_release
from discreet.ledger.ledger_file import change_total
from discreet.render.json import json_of

PEOPLE = Attributes({"sex": ["f", "m"], "age": ["0-17", "18-64", "65+"], "area": ["A", "B", "C", "D"]})
COLUMNS = list(PEOPLE.names)
ONE_ROW = design_perturbation(5, epsilon=1, delta="0.01").table


@dataclass
class Office:
    """A folder with records of some people, and a table that was designed."""

    folder: Path

    def __post_init__(self) -> None:
        draw = np.random.default_rng(4)
        n = 400
        columns = {
            name: [
                values[i]
                for i in draw.choice(
                    len(values), n, p=np.arange(1, len(values) + 1) / sum(range(len(values) + 1))
                )
            ]
            for name, values in PEOPLE.values
        }
        columns["rkey"] = [f"{x:.8f}" for x in draw.integers(10**8, size=n) / 1e8]
        columns["ckey"] = [str(x) for x in draw.integers(256, size=n)]
        self.rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        self.records, self.table = self.folder / "records.csv", self.folder / "table.csv"
        self.write(self.rows)
        self.table.write_text(ONE_ROW.to_csv())
        self.secret = self.folder / "secret.json"

    def write(self, rows: list[dict[str, str]]) -> None:
        lines = [",".join([*COLUMNS, "rkey", "ckey"]), *(",".join(row.values()) for row in rows)]
        self.records.write_text("\n".join(lines) + "\n")

    def run(self, out: str, **options: object) -> Perturbed:
        given = {"attributes": PEOPLE, **options}
        if not {"record_key", "rehearsal", "secret"} & set(given):
            given["secret"] = self.secret
        table = given.pop("table", self.table)
        return perturb(self.records, table, self.folder / out, **given)  # type: ignore[arg-type]

    def truth(self, cell: dict[str, str]) -> int:
        return sum(all(row[name] == value for name, value in cell.items()) for row in self.rows)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def cells_of(done: Perturbed) -> dict[tuple[str, ...], int]:
    frame = done.to_frame()
    return {tuple(row[:-1]): int(row[-1]) for row in frame[[*COLUMNS, "count"]].itertuples(index=False)}


def every_cell() -> list[tuple[str, ...]]:
    return list(itertools.product(*([*values, "_T"] for _, values in PEOPLE.values)))


def split(cell: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in zip(COLUMNS, cell, strict=True) if value != "_T"}


# -- what is written -----------------------------------------------------------------------------------------


def test_every_cell_has_its_count_and_a_noise_of_the_table(office: Office) -> None:
    done = office.run("out", zeros=True)
    found = cells_of(done)
    assert set(found) == set(every_cell())
    assert (done.cells, done.rows, done.margins) == (60, 60, 8)
    noises = {cell: value - office.truth(split(cell)) for cell, value in found.items()}
    assert all(abs(noise) <= 5 for noise in noises.values())
    assert len({noises[cell] for cell in found}) > 3
    assert min(found.values()) >= 0
    assert done.delta_of_one_cell == cell_delta(ONE_ROW, Fraction(1)) <= Fraction(1, 100)
    assert json.loads((office.folder / "out" / "manifest.json").read_text())["keys"] == "definition"


def test_a_run_says_what_all_its_cells_cost(office: Office) -> None:
    """Eight margins: the manifest and the answer have one cell as such, and the product of all."""
    done = office.run("out")
    one = FractionLaw.of(*(ONE_ROW.law(n, keying="definition") for n in (7, 8)))
    truth = FractionLaw(((Fraction(1), Fraction(1)),))
    for _ in range(8):
        truth = FractionLaw.gathered((p * s, q * t) for p, q in truth.masses for s, t in one.masses)
    assert done.composed is not None
    assert done.composed.changed == 8
    assert float(done.composed.delta) == pytest.approx(
        float(truth.delta(epsilon=1, certified=True).upper), abs=1e-12
    )
    manifest = json.loads((office.folder / "out" / "manifest.json").read_text())
    assert not {"epsilon", "delta"} & set(manifest)
    assert float(manifest["of_one_cell"]["delta"]) <= 0.01
    whole = manifest["of_all_cells_of_one_record"]
    assert float(whole["delta"]) == pytest.approx(
        float(truth.delta(epsilon=1, certified=True).upper), abs=1e-11
    )
    assert 0.7 < float(whole["delta"]) < 0.8
    answer = perturbed_answer(done)
    told = json.loads(json_of(answer))
    assert not {"epsilon", "delta"} & set(told)
    assert told["of_all_cells_of_one_record"]["cells_changed"] == 8
    said = " ".join(str(part.text) for part in answer.body if isinstance(part, Paragraph))
    assert "All 8 cells that one record can change, together: delta 0.7740 at epsilon 1" in said
    six = composed_cells(ONE_ROW, 64, Fraction(1), Fraction(1, 100))
    assert six.delta >= Fraction(9999, 10000)
    # a table of several rows: no less than any product of its steps
    table = design_perturbation(4, epsilon=1, delta="0.3", zeros="kept", small=1).table
    bound = composed_cells(table, 3, Fraction(1), cell_delta(table, Fraction(1)))
    assert not bound.is_exact
    steps = [FractionLaw.of(*(table.law(m, keying="definition") for m in (n, n + 1))) for n in range(6)]
    for one in steps:
        cube = one + one + one
        assert bound.delta >= cube.delta(epsilon=1, certified=True).upper
    moved = office.run("moved", neighbours="bounded").composed
    assert moved is not None
    assert moved.changed == 14  # the total of everybody stays


@pytest.mark.slow
def test_cells_left_out_are_published_as_zero(office: Office) -> None:
    every = cells_of(office.run("all", zeros=True))
    some = cells_of(office.run("some"))
    assert some == {cell: value for cell, value in every.items() if value}


@pytest.mark.slow
def test_equal_definitions_have_equal_noise(office: Office) -> None:
    """In another selection, order of attributes or format; another table or secret draws anew."""
    first = cells_of(office.run("first", zeros=True))
    other = Attributes({"area": ["D", "C", "B", "A"], "sex": ["m", "f"]})
    frame = office.run("second", zeros=True, attributes=other, format="parquet").to_frame()
    again = {(row["sex"], "_T", row["area"]): row["count"] for row in frame.to_dict("records")}
    assert again == {cell: value for cell, value in first.items() if cell[1] == "_T"}
    wider = design_perturbation(6, epsilon="1/2", delta="0.02").table
    assert cells_of(office.run("third", zeros=True, table=wider)) != first
    assert cells_of(office.run("fourth", zeros=True, secret=office.folder / "new.json")) != first


def test_order_of_margins(office: Office) -> None:
    done = office.run("out", order=1, zeros=True)
    assert (done.margins, done.cells) == (4, 1 + 2 + 3 + 4)
    whole = cells_of(office.run("whole", zeros=True))
    assert cells_of(done) == {cell: whole[cell] for cell in cells_of(done)}


@pytest.mark.parametrize(("column", "modulus"), [("rkey", None), ("ckey", 256)])
def test_record_keys_are_summed(office: Office, column: str, modulus: int | None) -> None:
    """Against a sum and a lookup for each cell, in fractions, written apart."""
    laws = {n: {-1: Fraction(1, 4), 0: Fraction(1, 2), 1: Fraction(1, 4)} for n in (1, 2)}
    table = perturbation_table(laws, modulus=modulus)
    done = office.run("out", record_key=column, table=table)
    found = cells_of(done)
    for cell in every_cell():
        chosen = split(cell)
        inside = [row for row in office.rows if all(row[name] == value for name, value in chosen.items())]
        if not inside:
            assert cell not in found
            continue
        key = sum(Fraction(row[column]) for row in inside) % (modulus or 1)
        assert found.get(cell, 0) == len(inside) + table.noise(len(inside), key)
    assert done.delta_of_one_cell is None
    assert done.empty == "none"


def test_ons_rows_take_turns(tmp_path: Path) -> None:
    """Counts above 750 use rows 501 to 750: the lookup of many cells against that of one."""
    rows = {"pcv": [], "ckey": [], "pvalue": []}
    draw = np.random.default_rng(3)
    for count in range(1, 751):
        for key in range(4):
            rows["pcv"].append(count)
            rows["ckey"].append(key)
            rows["pvalue"].append(int(draw.integers(-min(count, 2), 3)))
    table = read_perturbation_table(pyarrow.table(rows))
    counts = np.array([1, 2, 500, 501, 750, 751, 752, 1000, 1001, 123456])
    for key in range(4):
        found = NoiseLookup(table).published(counts, np.full(len(counts), key), 4)
        assert found.tolist() == [max(0, int(n) + table.noise(int(n), key)) for n in counts]


# -- the law of the noise ------------------------------------------------------------------------------------


def chi_square(values: list[int], table: PerturbationTable, count: int) -> float:
    law = table.noise_law(count, keying="definition")
    seen = np.bincount(np.array(values) + table.bound, minlength=2 * table.bound + 1)
    expected = np.array([float(law.get(v, 0)) for v in range(-table.bound, table.bound + 1)]) * len(values)
    assert not seen[expected == 0].any()
    likely = expected > 0
    return float(stats.chisquare(seen[likely], expected[likely]).pvalue)


def noises(secret: CellSecret, table: PerturbationTable, count: int, cells: int) -> list[int]:
    lookup = NoiseLookup(table)
    codes = secret.codes("x", [str(one) for one in range(cells)])
    keys = secret.cell_keys(["x"], [codes], table=lookup.digest, modulus=lookup.keys)
    return (lookup.published(np.full(cells, count), keys, lookup.keys) - count).tolist()


def test_noise_follows_the_row_of_its_count() -> None:
    """Fixed secrets; a right law fails with probability 1e-3 for each of six tests, a wrong one surely."""
    by_count = design_perturbation(4, epsilon=1, delta="0.3", zeros="kept", small=1).table
    for number, (table, count) in enumerate(
        [(ONE_ROW, 9), (ONE_ROW, 30), *((by_count, n) for n in (1, 2, 3, 50))]
    ):
        drawn = noises(CellSecret.rehearsal(number), table, count, 4000)
        assert chi_square(drawn, table, count) > 1e-3
    wrong = perturbation_table({0: {-1: "1/4", 0: "1/2", 1: "1/4"}})
    drawn = noises(CellSecret.rehearsal(1), wrong, 9, 4000)
    near = perturbation_table({0: {-1: "0.2", 0: "0.6", 1: "0.2"}})
    assert chi_square(drawn, near, 9) < 1e-3


def test_nested_cells_have_independent_noise() -> None:
    """A, B and A + B: with keys from definitions the noises of all triples are independent.

    With keys of records the third key is the sum of the others. Fixed secrets; a right law fails with 1e-3.
    """
    table = perturbation_table({0: {-1: "1/4", 0: "1/2", 1: "1/4"}})
    lookup, triples = NoiseLookup(table), np.zeros((3, 3, 3))
    for seed in range(1500):
        secret = CellSecret.rehearsal(seed)
        codes = secret.codes("sex", ["f", "m"])
        keys = secret.cell_keys(["sex"], [codes], table=lookup.digest, modulus=lookup.keys)
        total = secret.cell_keys([], [], table=lookup.digest, modulus=lookup.keys)
        a, b, t = lookup.published(np.array([9, 9, 18]), np.append(keys, total), lookup.keys) - [9, 9, 18]
        triples[a + 1, b + 1, t + 1] += 1
    row = np.array([1, 2, 1]) / 4
    expected = 1500 * row[:, None, None] * row[None, :, None] * row[None, None, :]
    assert stats.chisquare(triples.ravel(), expected.ravel()).pvalue > 1e-3
    draw = np.random.default_rng(8)
    a, b = draw.integers(8, size=(2, 1500))
    summed = np.zeros((3, 3, 3))
    of_key = np.array([-1, -1, 0, 0, 0, 0, 1, 1])
    np.add.at(summed, (of_key[a] + 1, of_key[b] + 1, of_key[(a + b) % 8] + 1), 1)
    assert summed[0, 0, 2] == 0  # if A and B have -1, the total cannot have +1
    assert stats.chisquare(summed.ravel(), expected.ravel()).pvalue < 1e-9


def test_keys_are_uniform_below_any_modulus() -> None:
    """A modulus above 2^62 rejects a quarter of all words; false-alarm rate 1e-3 each, fixed secrets."""
    for modulus in (3, 256, 10**8, 2**62 + 1):
        secret = CellSecret.rehearsal(modulus)
        codes = secret.codes("x", [str(one) for one in range(5000)])
        keys = secret.cell_keys(["x"], [codes], table="", modulus=modulus)
        assert keys.min() >= 0
        assert keys.max() < modulus
        parts = min(modulus, 16)
        seen = np.bincount((keys.astype(object) * parts // modulus).astype(int), minlength=parts)
        assert stats.chisquare(seen).pvalue > 1e-3


# -- the secret ----------------------------------------------------------------------------------------------


def test_the_secret_is_for_its_owner_and_one_table_of_records(
    office: Office, capsys: pytest.CaptureFixture[str]
) -> None:
    done = office.run("out")
    assert done.new_secret
    assert stat.S_IMODE(os.stat(office.secret).st_mode) == 0o600
    value = json.loads(office.secret.read_text())["secret"]
    secret = open_secret(office.secret)
    texts = [repr(secret), str(done), repr(done), capsys.readouterr().out]
    texts += [file.read_text() for file in (office.folder / "out").iterdir()]
    assert not any(value in text or value[:16] in text for text in texts)
    office.write(office.rows[1:])
    with pytest.raises(InputError, match="belongs to other records"):
        office.run("changed")
    os.chmod(office.secret, 0o644)
    with pytest.raises(InputError, match="can be read by others"):
        office.run("open")
    office.secret.write_text("{}")
    os.chmod(office.secret, 0o600)
    with pytest.raises(InputError, match="is no secret that"):
        office.run("damaged")
    assert sorted(path.name for path in office.folder.iterdir()) == [
        "out",
        "records.csv",
        "secret.json",
        "table.csv",
    ]


# -- bad input -----------------------------------------------------------------------------------------------


def test_all_problems_of_records_are_told_without_their_values(office: Office) -> None:
    rows = [dict(row) for row in office.rows]
    rows[3]["sex"], rows[5]["area"], rows[7]["rkey"], rows[9]["rkey"] = "SECRETX", "SECRETY", "1.5", "SECRETZ"
    office.write(rows)
    with pytest.raises(InputError) as caught:
        office.run("out", record_key="rkey", table=perturbation_table({1: {0: 1}}))
    said = str(caught.value)
    assert "3 kinds of problems" in said
    for text in (
        "attribute 'sex' does not have",
        "line 5",
        "line 7",
        "a record key is no number from 0 to below 1",
    ):
        assert text in said
    assert "SECRET" not in said
    assert not (office.folder / "out").exists()


def test_all_problems_of_the_question_are_told_at_once(office: Office) -> None:
    with pytest.raises(InputError) as caught:
        perturb(
            office.records,
            office.folder / "no.csv",
            office.folder / "out",
            attributes=office.folder / "no.toml",
            epsilon=-1,
        )
    assert len(str(caught.value).splitlines()) == 5
    for options, text in [
        ({"order": 9}, "order is 9; it must be a whole number from 0 to 3"),
        ({"record_key": "rkey", "secret": office.secret}, "keys come from one of them"),
        ({"record_key": "rkey", "zeros": True}, "leave --zeros out"),
        ({"secret": office.folder / "out" / "secret.json"}, "would lie in the output"),
        ({"rehearsal": 1, "secret": office.secret}, "a rehearsal has no secret"),
        ({"empty": "some"}, "empty is 'some'"),
    ]:
        with pytest.raises(InputError, match=text):
            office.run("out", **options)
    assert not (office.folder / "out").exists()
    assert not office.secret.exists()


def test_a_value_called_as_a_total_and_too_many_cells(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="stands for a total"):
        office.run("out", attributes=Attributes({"sex": ["f", "m", "_T"]}))
    monkeypatch.setattr(running, "MOST_CELLS", 59)
    with pytest.raises(InputError, match="60 cells, empty ones included; at most 59"):
        office.run("out")
    assert office.run("few", empty="none").delta_of_one_cell is None


def test_no_records_are_records_too(office: Office) -> None:
    office.write([])
    done = office.run("out", zeros=True)
    assert done.rows == 60
    assert max(cells_of(done).values()) <= 5


# -- the ledger ----------------------------------------------------------------------------------------------


def test_a_run_is_entered_and_counted(office: Office) -> None:
    """One margin alone: the ledger's epsilon is at least the cell's own, and its delta is kept."""
    ledger = office.folder / "discreet-ledger.json"
    create_ledger(ledger)
    done = office.run("out", order=0)
    assert done.ledger == ledger
    (entry,) = read_ledger(ledger).entries
    assert entry.command == "cellkey run"
    assert done.delta_of_one_cell is not None
    assert done.delta_of_one_cell <= entry.delta <= done.delta_of_one_cell + Fraction(1, 10**12)
    assert entry.epsilon is None
    cost = ledger_cost(read_ledger(ledger), unit="person", neighbours="unbounded", delta=Fraction(2, 100))
    assert cost.epsilon <= 1.0
    # at the epsilon of the ledger the true delta is at most what was asked for
    assert float(cell_delta(ONE_ROW, Fraction(cost.epsilon))) <= 0.02
    assert ledger_cost(read_ledger(ledger), unit="person", neighbours="unbounded").epsilon == float("inf")
    # a delta is written as everywhere else
    said = ledger_cost(read_ledger(ledger), unit="person", neighbours="unbounded", delta="2e-2")
    assert (said.delta, said.epsilon) == (cost.delta, cost.epsilon)
    with pytest.raises(InputError, match="delta is 2; it must be 0 or more, and less than 1"):
        ledger_cost(read_ledger(ledger), unit="person", neighbours="unbounded", delta=2)
    with pytest.raises(InputError, match="which a release cannot state"):
        ledger_release(ledger)
    with pytest.raises(InputError, match="released before"):
        office.run("again", order=0)
    office.run("again", order=0, spend_again=True)
    assert len(read_ledger(ledger).entries) == 2


def test_a_delta_at_which_no_epsilon_can_be_stated(office: Office) -> None:
    """The ledger says so and names a delta that will do; machines get null, and a total is refused."""
    ledger = office.folder / "discreet-ledger.json"
    create_ledger(ledger)
    office.run("out", order=1)
    answer = ledger_answer(ledger_costs(read_ledger(ledger)), file=ledger)
    (cost,) = json.loads(json_of(answer))["costs"]
    assert cost["epsilon"] is None
    assert cost["delta_must_exceed"] == pytest.approx(0.04, rel=1e-5)
    said = " ".join(str(part.text) for part in answer.body if isinstance(part, Paragraph))
    assert "No epsilon can be stated for all runs together at delta 1e-10" in said
    assert "probability 0.04 at most. Ask at a larger delta, such as 0.044." in said
    found = ledger_cost(read_ledger(ledger), unit="person", neighbours="unbounded", delta=Fraction("0.044"))
    assert found.epsilon <= 4.0
    with pytest.raises(InputError, match=r"have spent delta 0\.04 at any epsilon on one person"):
        change_total(ledger, Total(unit="person", neighbours="unbounded", epsilon=3, delta="1e-6"), "x")


def test_a_run_without_ledger_says_what_a_second_one_shows(office: Office) -> None:
    """The same secret and table repeat the noise, which nobody can average away."""
    body = perturbed_answer(office.run("out", order=0)).body
    said = " ".join(str(part.text) for part in body if isinstance(part, Paragraph))
    assert "No ledger" in said
    assert "same secret and table gives the same noise" in said
    assert "averaged away" not in said


def test_a_replaced_record_changes_twice_as_many_cells(office: Office) -> None:
    """The answer says so, and a run that then promises nothing is refused; no probability exceeds 1."""
    done = office.run("out", order=1, neighbours="bounded")
    said = " ".join(str(part.text) for part in perturbed_answer(done).body if isinstance(part, Paragraph))
    assert "one record more or less; one person replaced by another." in said
    assert "One record leaves up to 4 cells and another joins as many" in said
    ledger = office.folder / "discreet-ledger.json"
    create_ledger(ledger)
    table = perturbation_table({0: {-1: "1/10", 0: "4/5", 1: "1/10"}})
    with pytest.raises(InputError, match="one record leaves 1 cell and joins as many"):
        office.run("refused", order=0, neighbours="bounded", table=table)
    office.run("taken", order=0, table=table)
    (entry,) = read_ledger(ledger).entries
    assert Fraction(1, 2) < entry.delta < 1
    assert entry.delta_for("bounded") == 1
    assert ledger_cost(read_ledger(ledger), unit="person", neighbours="bounded").failing == 1


def test_the_cost_of_several_cells_bounds_their_exact_composition(office: Office) -> None:
    """Four margins: delta of the product law, by convolution of the losses, is below the ledger's."""
    ledger = office.folder / "discreet-ledger.json"
    create_ledger(ledger)
    table = design_perturbation(8, epsilon="1/2", delta="0.005").table
    office.run("out", order=1, table=table, epsilon="1/2")
    cost = ledger_cost(read_ledger(ledger), unit="person", neighbours="unbounded", delta=Fraction(1, 20))
    law = np.array([float(table.noise_law(0, keying="definition").get(v, 0)) for v in range(-8, 9)])
    here, there = np.append(law, 0), np.insert(law, 0, 0)
    one, two = np.ones(1), np.ones(1)
    for _ in range(4):
        one, two = np.outer(one, here).ravel(), np.outer(two, there).ravel()
    exact = np.maximum(one - np.exp(cost.epsilon) * two, 0).sum()
    assert 0 < exact <= 0.05


def test_the_account_of_the_same_cells(office: Office) -> None:
    """`account_cells` with keys from definitions: the product of two cells, below the entry."""
    create_ledger(office.folder / "discreet-ledger.json")
    done = office.run("out", attributes=Attributes({"sex": ["f", "m"]}))
    found = account_cells(ONE_ROW, hypercube({"sex": 2}), keying="definition", epsilons=[2])
    law = {v: float(p) for v, p in ONE_ROW.noise_law(0, keying="definition").items()}
    pairs = [(law.get(v, 0.0), law.get(v - 1, 0.0)) for v in range(-5, 7)]
    product = sum(max(0.0, a * c - np.exp(2) * b * d) for a, b in pairs for c, d in pairs)
    assert float(found.deltas[0].upper) == pytest.approx(product, rel=1e-9)
    assert done.margins == 2
    (entry,) = read_ledger(office.folder / "discreet-ledger.json").entries
    assert product <= float(entry.delta) + account(entry.release).delta(epsilon=2)


def test_totals(office: Office) -> None:
    ledger = office.folder / "discreet-ledger.json"
    create_ledger(ledger, [Total(unit="person", neighbours="unbounded", rho=100)])
    with pytest.raises(InputError, match="a total of epsilon and delta can hold it"):
        office.run("out", order=0)
    ledger.unlink()
    create_ledger(ledger, [Total(unit="person", neighbours="unbounded", epsilon=1, delta="0.0101")])
    office.run("out", order=0)
    with pytest.raises(InputError, match=r"delta 0.02.* at any epsilon"):
        office.run("again", order=0, spend_again=True)


def test_what_cannot_be_entered_is_refused(office: Office) -> None:
    create_ledger(office.folder / "discreet-ledger.json")
    with pytest.raises(InputError, match="keys are those of records"):
        office.run("out", record_key="rkey")
    with pytest.raises(InputError, match="empty cells are left out"):
        office.run("out", empty="none")
    many = Attributes({f"x{i}": ["a", "b"] for i in range(8)})
    with pytest.raises(InputError, match=r"in 256 cells.*promise nothing"):
        office.run("out", attributes=many)
    assert not (office.folder / "out").exists()
    assert not office.secret.exists()


def test_a_policy_that_requires_a_ledger(office: Office) -> None:
    rules = 'format = "discreet policy 1"\nledger.required = true\n[may]\nno_noise = "never"\n'
    (office.folder / "discreet-policy.toml").write_text(rules)
    with pytest.raises(PolicyError, match="a ledger must be named"):
        office.run("out")
    with pytest.raises(PolicyError, match=r"may\.no_noise"):
        office.run("out", record_key="rkey")


def test_a_rehearsal_is_marked(office: Office) -> None:
    done = office.run("out", rehearsal=5)
    assert done.not_private
    assert all("NOT-PRIVATE" in name for name in done.files)
    assert cells_of(done) == cells_of(office.run("again", rehearsal=5))
    assert done.secret is None


# -- nothing is left -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_run_leaves_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, problem: BaseException | type[BaseException]
) -> None:
    create_ledger(office.folder / "discreet-ledger.json")
    before = sorted(os.listdir(office.folder))
    for where in ("manifest", "write"):

        def fail(*_: object, **__: object) -> None:
            raise problem

        with monkeypatch.context() as patched:
            patched.setattr(running._Plan, where, fail)
            with pytest.raises((KeyboardInterrupt, InputError)):
                office.run("out", order=0)
        assert sorted(os.listdir(office.folder)) == before
    with monkeypatch.context() as patched:
        patched.setattr("discreet.ledger.commit.Staging.commit", fail)
        with pytest.raises((KeyboardInterrupt, InputError)):
            office.run("out", order=0)
    assert sorted(os.listdir(office.folder)) == before
    assert not read_ledger(office.folder / "discreet-ledger.json").entries
    office.run("out", order=0)


def test_limits_of_a_policy(office: Office) -> None:
    create_ledger(office.folder / "discreet-ledger.json")
    head, rules = 'format = "discreet policy 1"\n', office.folder / "discreet-policy.toml"
    limit = '[[largest_run]]\nunit = "person"\nneighbours = "unbounded"\n'
    rules.write_text(f"{head}{limit}rho = 100\n")
    with pytest.raises(PolicyError, match="which no rho allows for"):
        office.run("out", order=0)
    rules.write_text(f'{head}{limit}epsilon = 1\ndelta = "0.009"\n')
    with pytest.raises(PolicyError, match=r"comes to delta 0\.01 at any epsilon"):
        office.run("out", order=0)
    rules.write_text(f'{head}{limit}epsilon = 1\ndelta = "0.011"\n')
    office.run("out", order=0)
    assert "but for an event of probability 0.01" in str(read_ledger(office.folder / "discreet-ledger.json"))
