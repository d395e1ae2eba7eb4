"""What published cells cost one person together, under the cell-key method.

Every change of the data by which two neighbouring data sets can differ is a case. Cells whose keys are
independent give a product; cells whose keys depend on each other have a joint law, or an upper bound on what
they tell. Where neither is possible the account is refused: a product of cells that are not independent
bounds nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Annotated, Literal

from discreet.budget import Neighbours
from discreet.cellkey.check import ALPHAS, Alphas, Deltas, Epsilons, KeySource, Prior
from discreet.cellkey.families import CellFamily
from discreet.cellkey.fraction_law import (
    FractionLaw,
    cell_epsilon,
    certain_together,
    exp_interval,
    together,
    worst_ratio,
)
from discreet.cellkey.joint import JointLaws
from discreet.cellkey.lattice import blocks, rank
from discreet.cellkey.revealed import RevealedBound, revealed_bound
from discreet.cellkey.table import Keying, PerturbationTable
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.numbers import Interval, read_delta, share
from discreet.numbers import prior as read_prior
from discreet.questions import Option, repeated_option

Method = Literal["published exactly", "product", "joint", "revealed"]
"""How a case was accounted: a cell without noise tells all; independent cells; the joint law; a bound."""

MOST_CASES = 4000
"""Cases of one account without counts, unless only the number of changed cells matters."""

MOST_MOVES = 250_000
"""Pairs of groups between which a record can move, of which no two need be alike."""

CERTAIN = FractionLaw(((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))))
"""The law where what is published always tells whether there was a change."""


@dataclass(frozen=True, slots=True)
class CellCase:
    """A change: the records of each group before it, the group that gains one, and the one that loses one.

    Where none loses one, a record is added, or replaces one that is in no cell.
    """

    counts: tuple[int, ...]
    gains: int
    loses: int | None = None

    @property
    def after(self) -> tuple[int, ...]:
        """The records of each group after the change.

        >>> CellCase((1, 2), 0, 1).after
        (2, 1)
        """
        made = list(self.counts)
        made[self.gains] += 1
        if self.loses is not None:
            made[self.loses] -= 1
        return tuple(made)


@dataclass(frozen=True, slots=True)
class CaseCost:
    """What one change costs: delta at each epsilon, delta at any epsilon, and how it was found.

    `apart` is what a product of the changed cells would claim, one delta for each epsilon and that at any; it
    is no bound unless the method is the product. `failure` is the chance that a sample left a bound too low.
    """

    case: CellCase
    method: Method
    deltas: tuple[Interval, ...]
    certain: Fraction
    is_exact: bool
    law: FractionLaw | None
    apart: tuple[Fraction, ...]
    failure: float = 0.0


@dataclass(frozen=True, slots=True)
class CellAccount(Displayed):
    """What a family of cells costs one person, at worst over all cases.

    `deltas` has the worst delta for each of `epsilons`, with its case; `certain` the chance of certainty: no
    epsilon, however large, holds with a smaller delta. `ratios` has e^epsilon for each of the asked deltas,
    none where no epsilon will do. `errors` has the least type II error for each type I error in `alphas`, and
    `accuracy` how often the best guess is right whether the record is there, with this `prior`;
    neither is known where some case has only a bound. `product_claim` is what a product of the changed cells
    would claim at worst, at each epsilon and at any: no bound, unless the only method is the product.

    Guarantee. Assumed: every record has a key of its own, uniform, independent and secret; cells are
    published as the table says and nothing else is. Claimed: for neighbours as stated, in the cases
    considered, the deltas are upper bounds, and exact if `is_exact` (an interval then is as wide as the
    enclosure of e^epsilon). Checked by tests/cellkey/test_cell_accounts.py against all keys modulo 8 and 16.
    """

    table: PerturbationTable
    family: CellFamily
    neighbours: Neighbours
    keying: Keying
    least: int
    published: tuple[str, ...]
    epsilons: tuple[Fraction, ...]
    worst: tuple[CaseCost, ...]
    most_certain: CaseCost
    asked: tuple[Fraction, ...]
    ratios: tuple[Fraction | None, ...]
    alphas: tuple[Fraction, ...]
    errors: tuple[Fraction, ...] | None
    prior: Fraction
    accuracy: Fraction | None
    cases: int
    methods: tuple[Method, ...]
    rank: int
    failure: float
    product_claim: tuple[Fraction, ...]

    @property
    def deltas(self) -> tuple[Interval, ...]:
        """The worst delta at each epsilon."""
        return tuple(cost.deltas[index] for index, cost in enumerate(self.worst))

    @property
    def certain(self) -> Fraction:
        """Delta at any epsilon: how often someone who knows all else can be certain."""
        return self.most_certain.certain

    @property
    def is_exact(self) -> bool:
        """Whether no smaller deltas hold."""
        return all(cost.is_exact for cost in (*self.worst, self.most_certain))


def account_cells(
    table: PerturbationTable,
    cells: CellFamily,
    *,
    neighbours: Annotated[
        Neighbours,
        Option(
            "unbounded (default): a record is added or removed; bounded: one is replaced by another.",
            "bounded|unbounded",
        ),
    ] = "unbounded",
    keying: KeySource = "records",
    least: Annotated[
        int,
        Option("Consider data with at least this many in every group besides the record. Default: 0.", "N"),
    ] = 0,
    published: Annotated[
        Sequence[str],
        repeated_option("A cell that is published without noise; may be repeated.", "CELL", "published"),
    ] = (),
    epsilons: Epsilons = (1,),
    deltas: Deltas = (),
    alphas: Alphas = ALPHAS,
    prior: Prior = "1/2",
) -> CellAccount:
    """Return what cells that are published together cost one person.

    Neighbours are `unbounded`: a record is added or removed; or `bounded`: a record is replaced by another,
    and moves between groups, or to or from the people who are in no cell, unless the cells are said to be
    everybody. Without counts in the family, every number of records from `least` on is
    considered for each group: `least=0` is a promise for any data. Cells named in `published` are published
    without noise. Keys are summed over the records of a cell, or come from its `definition` and a secret.

    >>> from discreet.cellkey.entropy import entropy_table
    >>> family = CellFamily(("A", "B", "total"), ("a", "b"), ((0,), (1,), (0, 1)))
    >>> account = account_cells(entropy_table(2, 1), family, least=1)
    >>> round(float(account.deltas[0].upper), 3), round(float(account.certain), 3), account.methods
    (0.398, 0.316, ('joint',))
    >>> [round(float(delta), 3) for delta in account.product_claim]  # what a product would claim
    [0.311, 0.124]
    """
    if neighbours not in ("bounded", "unbounded"):
        raise InputError(f"neighbours is {neighbours!r}; it must be bounded or unbounded")
    if keying not in ("records", "definition"):
        raise InputError(f"keying is {keying!r}; it must be records or definition")
    unknown = sorted(set(published) - set(cells.cells))
    if unknown:
        raise InputError(f"there is no cell {', '.join(unknown)}; {cells.name} has {_some(cells.cells)}")
    if least < 0:
        raise InputError(f"least is {least}; it must be 0 or more")
    if least and cells.counts is not None:
        raise InputError(f"{cells.name} says the count of each group, so that least ({least}) has no meaning")
    exact_members = {m for name, m in zip(cells.cells, cells.members, strict=True) if name in published}
    question = _Question(
        table=table,
        family=cells.without_copies,
        keying=keying,
        exact=frozenset(exact_members),
        epsilons=tuple(map(cell_epsilon, epsilons)),
    )
    costs = [question.cost(case) for case in question.cases(neighbours, least)]
    if not costs:
        raise InputError(
            "no two neighbouring data sets differ in these cells: there must be two groups that are counted "
            "in different cells, and a record to move"
        )
    asked = tuple(read_delta(delta, zero=True) for delta in deltas)
    tests = tuple(share(alpha, name="alpha", closed=True) for alpha in alphas)
    before = read_prior(prior)
    laws = list({id(cost.law): cost.law for cost in costs if cost.law is not None}.values())
    complete = all(cost.law is not None for cost in costs)
    if asked and not complete:
        raise InputError(
            "epsilon at a delta needs the joint law of every case, and some cases have only a bound at given "
            "epsilons; ask for delta at epsilons instead"
        )
    return CellAccount(
        table=table,
        family=cells,
        neighbours=neighbours,
        keying=keying,
        least=least,
        published=tuple(published),
        epsilons=question.epsilons,
        worst=tuple(
            max(costs, key=lambda cost: cost.deltas[index].upper) for index in range(len(question.epsilons))
        ),
        most_certain=max(costs, key=lambda cost: cost.certain),
        asked=asked,
        ratios=tuple(worst_ratio(laws, delta) for delta in asked),
        alphas=tests,
        errors=tuple(min(side.least_error(alpha) for law in laws for side in law.sides) for alpha in tests)
        if complete
        else None,
        prior=before,
        accuracy=max(law.right_guesses(before) for law in laws) if complete else None,
        cases=len(costs),
        methods=tuple(dict.fromkeys(cost.method for cost in costs)),
        # keys from definitions are independent, whichever records the cells have in common
        rank=len(question.family.cells) if keying == "definition" else rank(question.family.matrix),
        failure=max(cost.failure for cost in costs),
        product_claim=tuple(map(max, zip(*(cost.apart for cost in costs), strict=True))),
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


@dataclass
class _Question:
    """One family under one table: its cases, and what each costs."""

    table: PerturbationTable
    family: CellFamily
    keying: Keying
    exact: frozenset[tuple[int, ...]]
    epsilons: tuple[Fraction, ...]
    _blocks: dict[tuple[tuple[bool, ...], tuple[bool, ...]], list[list[int]]] = field(default_factory=dict)
    _pairs: dict[object, FractionLaw | None] = field(default_factory=dict)
    _bounds: dict[object, RevealedBound | None] = field(default_factory=dict)
    _singles: dict[object, FractionLaw] = field(default_factory=dict)
    _products: dict[object, tuple[tuple[Interval, ...], Fraction, FractionLaw]] = field(default_factory=dict)
    _last_counts: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @cached_property
    def joint(self) -> JointLaws:
        return JointLaws(self.table)

    @cached_property
    def noisy(self) -> list[tuple[int, ...]]:
        """The groups of each cell that has noise."""
        return [members for members in self.family.members if members not in self.exact]

    def cases(self, neighbours: Neighbours, least: int) -> Iterator[CellCase]:
        """Yield every change by which neighbours can differ."""
        many, counts = len(self.family.groups), self.family.counts
        if counts is not None:
            every = [counts]
        else:
            large = self.table.large
            if large is not None and many > 1:
                raise InputError(
                    f"in {self.table.name} large counts take several rows in turn, so the cost depends on "
                    f"the counts of all {many} groups; add them to the cells in a column count"
                )
            # counts beyond the last row behave as the last row does, or as counts of one turn before
            if large is None:
                # an empty cell has no key of records, even if its row serves all counts
                last = max(self.table.last, 1 if self.keying == "records" else 0)
                # where a record is replaced, one group has one record more before than after
                span = range(least, max(least, last) + (1 if neighbours == "unbounded" else 2))
            else:
                span = range(min(least, large.above), large.above + large.period + 1)
            if self.keying == "definition" and large is None and self.table.last == 0:
                span = range(span[-1], span[-1] + 1)  # one law for every count
                every = [tuple(span) * many]
            elif len(span) ** many * many > MOST_CASES:
                raise InputError(
                    f"{many} groups of {span[0]} to {span[-1]} records or more make {len(span)}^{many} data "
                    f"sets, and at most {MOST_CASES:,} cases are accounted; add counts to the cells in a "
                    f"column count, or account for groups of at least {self.table.last} records (least)"
                )
            else:
                every = list(product(span, repeat=many))
        known = counts is not None
        for before in every:
            if neighbours == "unbounded" or not self.family.everybody:
                yield from self._joins(before, known=known)
            if neighbours == "bounded":
                yield from self._moves(before, 0 if known else least)

    def _joins(self, before: tuple[int, ...], *, known: bool) -> Iterator[CellCase]:
        """Yield every change in which a record joins a group; of those alike by definition, one."""
        counts, seen = self.counts_of(before), set[object]()
        for gains in range(len(before)):
            # known data may lose a record, too
            for step in (0, -1) if known and before[gains] else (0,):
                if self.keying == "definition":
                    rows = Counter(
                        (self._serves(counts[cell] + step), self._serves(counts[cell] + step + 1))
                        for cell in self._cells_of[gains]
                    )
                    alike = frozenset(rows.items()), any(gains in members for members in self.exact)
                    if alike in seen:
                        continue
                    seen.add(alike)
                yield CellCase(
                    tuple(x + step * (group == gains) for group, x in enumerate(before)) if step else before,
                    gains,
                )

    def _moves(self, before: tuple[int, ...], least: int) -> Iterator[CellCase]:
        """Yield every change in which a record moves between groups; of moves that are alike, one."""
        many = len(before)
        if self.keying == "definition" and all(len(members) == 1 for members in self.family.members):
            # no cell counts two groups, so that only the rows of a group's cells matter
            alike: dict[object, list[int]] = {}
            for group in range(many):
                cells = self._cells_of[group]
                rows = Counter(self._serves(before[group] + step) for _ in cells for step in (-1, 0, 1))
                alike.setdefault((before[group] > least, frozenset(rows.items())), []).append(group)
            chosen = [group for groups in alike.values() for group in groups[:2]]
        else:
            chosen = list(range(many))
        if len(chosen) ** 2 > MOST_MOVES:
            raise InputError(
                f"a record can move between {len(chosen):,} groups in {len(chosen) ** 2:,} ways, and at most "
                f"{MOST_MOVES:,} are accounted; account for fewer cells at once, or for records that are "
                "added or removed (unbounded)"
            )
        for gains in chosen:
            for loses in chosen:
                differ = self._cells_of[gains] != self._cells_of[loses]
                if (differ or self._told(gains, loses)) and before[loses] - 1 >= least:
                    yield CellCase(before, gains, loses)

    def _told(self, gains: int, loses: int) -> bool:
        """Whether a cell without noise tells two groups apart."""
        return any((gains in members) != (loses in members) for members in self.exact)

    def _serves(self, count: int) -> int:
        """Which row serves a count; -1 for a count of 0 that has none."""
        if count <= 0 and (self.keying == "records" or not self.table.has_zero):
            return -1
        return self.table.row(max(count, 0)).count

    @cached_property
    def _cells_of(self) -> list[tuple[int, ...]]:
        """The cells with noise that count each group."""
        by_group: list[list[int]] = [[] for _ in self.family.groups]
        for cell, members in enumerate(self.noisy):
            for group in members:
                by_group[group].append(cell)
        return [tuple(cells) for cells in by_group]

    def cost(self, case: CellCase) -> CaseCost:
        """Return what a change costs, or say why that is not known."""
        gained = {case.gains} if case.loses is None else {case.gains, case.loses}
        for members in self.exact:
            if len(gained.intersection(members)) == 1:
                return self._case(case, "published exactly", [CERTAIN], ())
        before = self.counts_of(case.counts)
        joined = set(self._cells_of[case.gains])
        left = set() if case.loses is None else set(self._cells_of[case.loses])
        changed = sorted(joined ^ left)
        steps = {cell: 1 if cell in joined else -1 for cell in changed}
        single = [self._alone(before[cell], before[cell] + step) for cell, step in steps.items()]
        if self.keying == "definition":
            return self._case(case, "product", single, single)
        after = [count + steps.get(cell, 0) for cell, count in enumerate(before)]
        filled = [tuple(count > 0 for count in counts) for counts in (case.counts, case.after)]
        matrices = [self._matrix(occupied) for occupied in filled]
        key = filled[0], filled[1]
        if key not in self._blocks:
            self._blocks[key] = blocks(matrices, self.table.modulus)
        block_pairs = [
            self._block(block, [[matrix[cell] for cell in block] for matrix in matrices], before, after)
            for block in self._blocks[key]
        ]
        pairs = [pair for pair in block_pairs if pair is not None]
        if len(pairs) == len(block_pairs):
            apart = all(len(block) == 1 for block in self._blocks[key])
            return self._case(case, "product" if apart else "joint", pairs, single)
        return self._revealed(case, changed, before, single)

    def counts_of(self, counts: Sequence[int]) -> tuple[int, ...]:
        """Return the counts of the cells with noise."""
        asked = tuple(counts)
        if self._last_counts is None or self._last_counts[0] != asked:
            self._last_counts = asked, tuple(sum(asked[group] for group in members) for members in self.noisy)
        return self._last_counts[1]

    def _matrix(self, filled: Sequence[bool]) -> list[tuple[int, ...]]:
        present = [group for group, is_filled in enumerate(filled) if is_filled]
        return [tuple(int(group in members) for group in present) for members in self.noisy]

    def _alone(self, before: int, after: int) -> FractionLaw:
        """The laws of one cell."""
        key = self._serves(before), self._serves(after), after - before
        if key not in self._singles:
            first, second = (self.table.law(count, keying=self.keying) for count in (before, after))
            self._singles[key] = FractionLaw.of(first, second)
        return self._singles[key]

    def _block(
        self,
        block: Sequence[int],
        matrices: Sequence[Sequence[tuple[int, ...]]],
        before: Sequence[int],
        after: Sequence[int],
    ) -> FractionLaw | None:
        """The laws of cells whose keys depend on each other; none if they are out of reach."""
        counts = [tuple(side[cell] for cell in block) for side in (before, after)]
        if len(block) == 1:
            return self._alone(counts[0][0], counts[1][0])
        steps = tuple(y - x for x, y in zip(*counts, strict=True))
        rows = [tuple(self.table.row(n).count if n else 0 for n in side) for side in counts]
        key = tuple(rows), steps, tuple(map(tuple, matrices))
        if key not in self._pairs:
            laws = [self.joint.law(matrix, side) for matrix, side in zip(matrices, counts, strict=True)]
            self._pairs[key] = None
            if laws[0] is not None and laws[1] is not None:
                moved = {
                    tuple(noise + step for noise, step in zip(noises, steps, strict=True)): chance
                    for noises, chance in laws[1].items()
                }
                self._pairs[key] = FractionLaw.of(laws[0], moved)
        return self._pairs[key]

    def _case(
        self, case: CellCase, method: Method, pairs: Sequence[FractionLaw], single: Sequence[FractionLaw]
    ) -> CaseCost:
        deltas, certain, law = self._product(pairs)
        apart = self._apart(single) if method == "joint" else (*(box.upper for box in deltas), certain)
        return CaseCost(case, method, deltas, certain, law.is_exact, law, apart)

    def _product(self, pairs: Sequence[FractionLaw]) -> tuple[tuple[Interval, ...], Fraction, FractionLaw]:
        """The deltas of independent cells, the chance of certainty, and the law of all."""
        key = frozenset(Counter(map(id, pairs)).items())  # all pairs are kept, so that an id is one of them
        if key not in self._products:
            law = together(pairs)
            deltas = tuple(law.delta(epsilon=epsilon, certified=True) for epsilon in self.epsilons)
            # what lies far out on a lattice counts as certain in its deltas; the chance itself is exact
            certain = max(certain_together(pairs), certain_together(pairs, swapped=True))
            self._products[key] = deltas, certain, law
        return self._products[key]

    def _apart(self, single: Sequence[FractionLaw]) -> tuple[Fraction, ...]:
        """What a product of the changed cells would claim."""
        deltas, certain, _ = self._product(single)
        return (*(box.upper for box in deltas), certain)

    def _revealed(
        self, case: CellCase, changed: Sequence[int], before: Sequence[int], single: Sequence[FractionLaw]
    ) -> CaseCost:
        """The bound with all other keys known, where one can be given."""
        groups = self.family.groups
        instead = (
            "account for keys that a pseudorandom function gives to each cell by its definition (keying "
            "definition), or publish fewer cells that overlap"
        )
        if case.loses is not None:
            raise InputError(
                f"the cells depend on each other through {rank(self.family.matrix)} keys, too many for their "
                "joint law, and where a record is replaced there is no bound; account for records that are "
                f"added or removed (unbounded), {instead}"
            )
        if not case.counts[case.gains]:
            # which groups of given data are empty is confidential
            which = "an empty group" if self.family.counts else f"the empty group {groups[case.gains]!r}"
            raise InputError(
                f"a record that joins {which} gives the cells around it a new "
                f"key, and the cells depend on each other through {rank(self.family.matrix)} keys, too many "
                f"for their joint law; account for groups of at least 1 record (least), {instead}"
            )
        others = [
            tuple(
                int(group in self.noisy[cell])
                for group in range(len(groups))
                if group != case.gains and case.counts[group]
            )
            for cell in changed
        ]
        columns = sorted(set(zip(*others, strict=True)))
        rows = tuple(self.table.row(before[cell]).count for cell in changed)
        later = tuple(self.table.row(before[cell] + 1).count for cell in changed)
        key = rows, later, tuple(columns)
        if key not in self._bounds:
            ratios = [exp_interval(epsilon).lower for epsilon in self.epsilons]
            counts = [before[cell] for cell in changed]
            matrix = list(zip(*columns, strict=True)) if columns else [() for _ in changed]
            self._bounds[key] = revealed_bound(self.table, matrix, counts, ratios)
        bound = self._bounds[key]
        if bound is None:
            raise InputError(
                f"the cells depend on each other, and {self.table.name} has too many keys to enumerate; "
                f"{instead}"
            )
        deltas = tuple(Interval(Fraction(0), Fraction(delta)) for delta in bound.deltas)
        return CaseCost(
            case,
            "revealed",
            deltas,
            Fraction(bound.certain),
            False,
            None,
            self._apart(single),
            bound.failure,
        )
