"""The specification of SafeTab-P says what its publications say."""

from __future__ import annotations

from safetab_facts import (
    BELOW_STATE,
    BLOCK_COLUMNS,
    CELLS,
    GEOGRAPHIES,
    LADDER,
    LEVELS,
    ORDER,
    RACE_COLUMNS,
    RANGES,
    STATES,
    TABLES,
)

from discreet.census.safetab.specification import safetab_p


def test_geographies_passes_and_columns() -> None:
    found = safetab_p()
    assert tuple(found.geographies) == GEOGRAPHIES
    assert {name for name in GEOGRAPHIES if found.is_below(name)} == BELOW_STATE
    assert found.order == ORDER
    assert found.levels == LEVELS
    assert [one.word for one in found.workloads.values()] == ["regional", "detailed"]
    assert [one.codes for one in found.passes.values()] == [STATES, ("72",)]
    assert found.passes["PR"].geographies == GEOGRAPHIES[6:]
    assert found.areas.key == BLOCK_COLUMNS
    assert found.answers.several == RACE_COLUMNS
    assert found.record_file.columns == ("QAGE", "QSEX", *BLOCK_COLUMNS, *RACE_COLUMNS, "QSPAN")


def test_every_row_of_every_table() -> None:
    assert LADDER.names == TABLES
    assert tuple(LADDER.cells) == CELLS
    assert LADDER.labels == ("AGESTART", "AGEEND", "SEX")
    for rung, ranges in zip(LADDER.rungs[1:], RANGES, strict=True):
        marginal = [("*", "*", sex) for sex in "12"]
        each = [(str(low), str(high), sex) for sex in "12" for low, high in ranges]
        assert [row.labels for row in rung.rows] == marginal + each
        # a marginal is the sum of its sex's cells, which are the rows below it
        assert [row.cells for row in rung.rows[2:]] == [(cell,) for cell in range(2 * len(ranges))]
        assert rung.rows[0].cells == tuple(range(len(ranges)))
        assert rung.rows[1].cells == tuple(range(len(ranges), 2 * len(ranges)))


def test_both_sexes_and_all_ages_are_counted_once() -> None:
    (sex, age) = safetab_p().attributes
    assert set(sex.texts) == {"1", "2"}
    assert {int(text) for text in age.texts} == set(range(116))
    assert {text for text in age.texts if int(text) == 7} == {"7", "07", "007"}
    for table in range(len(TABLES)):
        assert set(LADDER.cell_of[table]) == set(range(CELLS[table]))
