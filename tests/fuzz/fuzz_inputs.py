"""Random damage to files and arguments: see `inputs`."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from inputs import COUNTS, RELEASE, command

from discreet.ledger import create_ledger

TOKENS = [
    *(
        "",
        "\x00",
        "\ufeff",
        "\r\n",
        "\n\n",
        "=",
        '"',
        "'",
        "[",
        "]]",
        "{",
        "}",
        ",",
        ".",
        "#",
        "\\",
        "\u2028",
    ),
    *("-1", "0", "1/0", "1e999", "1e-999", "nan", "inf", "1_0", "9" * 400, "0x10", "1.5", "٣", "é", "\ud7ff"),
    *(
        "true",
        "2020-01-01",
        "=1+1",
        "@x",
        "State+County",
        "County",
        "A",
        "a.b.c",
        '"total"',
        "levels",
        "variance",
    ),
]
NUMBERS = ["1", "5", "0.31", "2/3", "10", "0", "-3", "100", "7.0000001", "1e3", "1e-3", "3.5"]


def damaged(text: str, chance: random.Random) -> str:
    """A text with one to four small changes."""
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(text) + 1)
        other = min(len(text), place + chance.randint(0, 12))
        lines = text.split("\n")
        match chance.randrange(6):
            case 0:
                text = text[:place] + text[other:]
            case 1:
                text = text[:place] + chance.choice(TOKENS) + text[place:]
            case 2:
                text = text[:place] + chance.choice(TOKENS) + text[other:]
            case 3:
                chance.shuffle(lines) if chance.random() < 0.2 else lines.insert(
                    chance.randrange(len(lines)), chance.choice(lines)
                )
                text = "\n".join(lines)
            case 4:
                lines.pop(chance.randrange(len(lines)))
                text = "\n".join(lines)
            case _:
                digits = [k for k, sign in enumerate(text) if sign.isdigit()]
                if digits:
                    at = chance.choice(digits)
                    text = text[:at] + chance.choice(NUMBERS) + text[at + 1 :]
    return text


def parquet(text: str, path: Path, chance: random.Random) -> None:
    """The table as Parquet, with other types or fewer columns, or with bytes changed."""
    table = pyarrow.csv.read_csv(pa.BufferReader(text.encode()))
    name = chance.choice(table.column_names)
    kinds = [pa.string(), pa.float64(), pa.int8(), pa.int64(), pa.binary(), pa.bool_(), pa.date32()]
    place = table.column_names.index(name)
    try:
        match chance.randrange(4):
            case 0:
                table = table.set_column(place, name, table.column(name).cast(chance.choice(kinds)))
            case 1:
                table = table.drop_columns([name])
            case 2:
                gaps = pa.array(
                    [None if chance.random() < 0.2 else x for x in table.column(name).to_pylist()]
                )
                table = table.set_column(place, name, gaps)
            case _:
                table = table.rename_columns(
                    [f"{one} " if one == name else one for one in table.column_names]
                )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # (not every type becomes every other)
        pass
    pq.write_table(table, path)
    if chance.random() < 0.5:
        data = bytearray(path.read_bytes())
        for _ in range(chance.randint(1, 20)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.randint(0, len(data))] if chance.random() < 0.3 else data)


def check_one(seed: int) -> None:
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        (folder / "release.toml").write_text(RELEASE)
        (folder / "counts.csv").write_text(COUNTS)
        create_ledger(folder / "ledger.json")
        measure = ["measure", "release.toml", "--out", "out", "--no-ledger", "--quiet", "--counts"]
        match chance.randrange(6):
            case 0:
                text = damaged(RELEASE, chance).encode("utf-8", "surrogatepass")
                (folder / "release.toml").write_bytes(text)
                command(["show", "release.toml"], folder)
            case 1:
                text = damaged(RELEASE, chance).encode("utf-8", "surrogatepass")
                (folder / "release.toml").write_bytes(text)
                command([*measure, "counts.csv"], folder)
            case 2:
                text = damaged(COUNTS, chance).encode("utf-8", "surrogatepass")
                (folder / "counts.csv").write_bytes(text)
                command([*measure, "counts.csv", "--post", "consistent"], folder)
            case 3:
                parquet(COUNTS, folder / "counts.parquet", chance)
                command([*measure, "counts.parquet"], folder)
            case 4:
                text = damaged((folder / "ledger.json").read_text(), chance)
                (folder / "ledger.json").write_bytes(text.encode("utf-8", "surrogatepass"))
                command(["ledger", chance.choice(["show", "witness"]), "ledger.json"], folder)
            case _:
                command(arguments(chance), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def arguments(chance: random.Random) -> list[str]:
    """A command line that may or may not make sense, and is quick if it does."""
    lines = [
        ["show", "release.toml", "--toml"],
        ["account", "release.toml", "--delta", "1e-10", "--jobs", "1", "--quiet"],
        ["measure", "release.toml", "--counts", "counts.csv", "--out", "out", "--rehearsal", "3"],
        ["ledger", "total", "ledger.json", "person:bounded:1", "--reason", "why"],
        ["ledger", "check", "ledger.json", "."],
        ["compare", "release.toml", "release.toml", "--delta", "1e-5", "--quiet"],
        ["safetab", "account", "release.toml"],
    ]
    line = chance.choice(lines)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(1, len(line) + 1)
        match chance.randrange(4):
            case 0:
                line = [*line[:place], *line[place + 1 :]]
            case 1:
                line = [
                    *line[:place],
                    chance.choice([*TOKENS, *NUMBERS, "--json", "--delta", "x" * 300]),
                    *line[place:],
                ]
            case 2:
                line = [
                    *line[:place],
                    chance.choice([*NUMBERS, "-", "--", "/", ".", "no/such"]),
                    *line[place + 1 :],
                ]
            case _:
                line = [*line, *line[place : place + 2]]
    # what would start a server, or take long, is not of interest here
    return [word for word in line if word not in ("workbench", "--certify", "reproduce", "report")]
