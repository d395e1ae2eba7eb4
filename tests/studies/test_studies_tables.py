"""The comparison with the authors' published deltas: files that are read and refused, and what is found."""

from __future__ import annotations

import gzip
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import account, load
from discreet.errors import InputError
from discreet.loss.contour import Kind
from discreet.studies import command, find, printed, tables
from discreet.studies.answer import picture_of
from discreet.studies.tables import Cut

# zCDP's epsilons of the 2020 DHC for these deltas, rho + 2 sqrt(rho ln 1/delta), rho = 24811/5000
EPSILONS = {"1e-10": "26.340588852722324", "1e-21": "35.94242870913358"}
PAIRS = ((13, 13), (6, 10))
HEADER = "path,other,delta_zcdp,epsilon,delta"


def run(*arguments: str) -> None:
    command.app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")


@pytest.fixture(scope="module")
def rows() -> list[str]:
    """Rows made from our own deltas with the cut, one of them as the authors have it."""
    whole, found = account(load("dhc-2020")), []
    for pair in PAIRS:
        cut = Cut.of(whole.events(pair))
        for delta, epsilon in EPSILONS.items():
            mine = whole.case(pair).delta(epsilon=epsilon)
            text = f"{cut.published(float(epsilon), float(mine)):.17g}"
            if pair == (13, 13) and delta in ("1e-10", "1e-21"):
                place = "tables of all pairs, authors' repository"
                text = printed("sieve", place, "delta of the main pair")[delta].text
            found.append(f"{pair[0]},{pair[1]},{delta},{epsilon},{text}")
    return found


def written(path: Path, *lines: str) -> Path:
    path.write_bytes(("\n".join(lines) + "\n").encode())
    return path


def test_a_file_in_every_form_gives_the_same_table(tmp_path: Path, rows: list[str]) -> None:
    plain = written(tmp_path / "deltas.csv", HEADER, *rows)
    packed = tmp_path / "deltas.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    folder = tmp_path / "own"
    folder.mkdir()
    for pair in PAIRS:
        mine = [line.split(",")[2:] for line in rows if line.startswith(f"{pair[0]},{pair[1]},")]
        lines = [f"{zcdp},{epsilon},0,0,{delta}" for zcdp, epsilon, delta in mine]
        head = "delta_zcdp,epsilon,delta_fdp_first_term,delta_fdp_second_term,delta_fdp"
        written(folder / f"eps_delta_curve_path_{pair[0]}_to_{pair[1]}.csv", head, *lines)
    (entry,) = find("dhc-tables")
    one, two, three = (entry.compute(tables=path) for path in (plain, packed, folder))
    assert one.rows == two.rows == three.rows
    assert one.title == "2020 DHC, persons: 4 published deltas beside ours"
    assert picture_of(one).panels


def test_agreement_excess_and_its_cause(tmp_path: Path, rows: list[str]) -> None:
    study = tables.dhc_tables(tables=written(tmp_path / "deltas.csv", HEADER, *rows))
    shallow, deep = study.where(zcdp_delta=1e-10), study.where(zcdp_delta=1e-21)
    # the printed delta at 1e-10 has twelve digits
    assert abs(shallow.numbers("largest_excess")[0]) < 3e-12
    # P[S > U]: 5.05e-39 at U = 41.0 and 3.83e-38 at 40.51, against the normal tail of variance 9.9244
    for column, end, mass in (("least_c", 41.0, 5.05e-39), ("largest_c", 40.50961538, 3.83e-38)):
        normal = math.erfc(end / math.sqrt(2 * 9.9244)) / 2
        assert deep.numbers(column)[0] == pytest.approx(mass, rel=2e-3)
        assert deep.numbers(column)[0] == pytest.approx(normal, rel=0.02)
    assert deep.numbers("main_gap")[0] == pytest.approx(2.138, abs=5e-4)
    assert deep.numbers("largest_excess")[0] == pytest.approx(16.213, abs=5e-4)
    # the published main delta is ours with the cut
    assert deep.numbers("largest_gap_with_cut")[0] < 1e-6
    assert any("3.1 times" in note for note in study.notes)
    assert any("(6, 10) is 17.2 times" in note for note in study.notes)


def test_the_cut_is_that_of_the_settings_and_explains_the_second_term() -> None:
    whole = account(load("dhc-2020"))
    cut = Cut.of(whole.events((13, 13)))
    # sqrt(2 R ln(8e35)) = 40.508: 405,081 lattice points of 1e-4, up to the next 10,000
    assert (cut.units, cut.end) == (410_000, 41)
    term, with_cut = cut.second_term(float(EPSILONS["1e-21"]))
    place = "tables of all pairs, authors' repository"
    said = printed("sieve", place, "second term of the main pair")["1e-21"]
    # 9.98664113e-24 is our own sum with their cut; the file has twelve digits of theirs
    assert f"{with_cut:.9g}" == "9.98664113e-24"
    assert with_cut == pytest.approx(said.value, rel=2e-6)
    assert term == pytest.approx(3.0543e-23, rel=1e-4)
    # delta is the first tail less the second term
    (log,) = whole.case((13, 13)).law.log_tails(Kind.ALT, [Fraction(EPSILONS["1e-21"])])
    mine = float(whole.case((13, 13)).delta(epsilon=EPSILONS["1e-21"]))
    assert math.exp(log) - term == pytest.approx(mine, rel=1e-9)


def test_the_command_shows_the_table_and_says_what_it_left_out(
    tmp_path: Path, rows: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "deltas.csv", HEADER, *rows)
    run("dhc-tables", "--from", str(file), "--quiet")
    text = " ".join(capsys.readouterr().out.split())
    assert "4 published deltas beside ours" in text
    assert "c from 5.05e-39 to 3.83e-38" in text
    run("dhc-tables", "--from", str(file), "--quiet", "--json", "--out", str(tmp_path / "out"))
    (study,) = json.loads(capsys.readouterr().out)["studies"]
    assert len(study["notes"]) == 3
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == [
        "dhc-tables.csv",
        "dhc-tables.png",
        "dhc-tables.svg",
    ]


ROW = "13,13,1e-10,26.3,1e-12"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ("path,other,epsilon,delta", "1,1,2,3"),
            "has no column delta_zcdp; it must have path, other, delta_zcdp",
        ),
        ((HEADER,), "there are no deltas"),
        ((HEADER, ROW, ROW.replace("13", "44", 1)), "line 3 of .* has path '44'; the paths .* are 1 to 43"),
        ((HEADER, ROW.replace("13", "x", 1)), "line 2 of .* has path 'x'"),
        ((HEADER, ROW.replace("26.3", "-1")), "epsilon in line 2 of .* is '-1'; it must lie in"),
        (
            (HEADER, ROW.replace("26.3", "701")),
            r"epsilon in line 2 of .* is '701'; it must lie in \(0, 700\]",
        ),
        ((HEADER, ROW.replace("26.3", "1e999999")), "epsilon in line 2"),
        ((HEADER, ROW.replace("1e-12", "nan")), "delta in line 2 of .* is 'nan'"),
        ((HEADER, ROW.replace("1e-12", "2")), "delta in line 2 of .* is '2'; it must lie in"),
        ((HEADER, ROW.replace("1e-10", "0")), "delta_zcdp in line 2 of .* is '0'"),
        ((HEADER, "13,13"), "2 fields, 5 expected .line 2 of bad.csv"),
    ],
)
def test_bad_files_are_named_by_line_and_column(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tables.read_published_deltas(written(tmp_path / "bad.csv", *lines))


def test_a_pair_twice_is_refused_and_a_short_file_has_fewer_notes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has pair \(13, 13\) twice at epsilon 26\.3"):
        tables.dhc_tables(tables=written(tmp_path / "twice.csv", HEADER, ROW, ROW))
    study = tables.dhc_tables(tables=written(tmp_path / "one.csv", HEADER, ROW.replace("1e-10", "1e-13")))
    assert study.notes[0] == "It has none where zCDP's delta is 1e-10 or more."
    assert len(study.notes) == 2


def test_no_file_no_text_no_archive_and_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        tables.read_published_deltas(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is UTF-16; save it as UTF-8"):
        tables.read_published_deltas(tmp_path / "bytes.csv")
    with pytest.raises(InputError, match="cannot be read: it is damaged"):
        tables.read_published_deltas(written(tmp_path / "plain.csv.gz", HEADER, ROW))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress((HEADER + "\n" + ROW).encode())[:-9])
    with pytest.raises(InputError, match=r"cut\.csv\.gz"):
        tables.read_published_deltas(tmp_path / "cut.csv.gz")
    with pytest.raises(InputError, match="has no file eps_delta_curve_path_I_to_J"):
        tables.read_published_deltas(tmp_path)
    written(tmp_path / "eps_delta_curve_path_1_to_44.csv", "delta_zcdp,epsilon,delta_fdp", "1e-1,2,0.1")
    with pytest.raises(InputError, match=r"the name of .* has path '44'"):
        tables.read_published_deltas(tmp_path)
