"""Every bad input in the folders beside this file is refused with the message that its first line states."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from inputs import command

HERE = Path(__file__).parent
COMMANDS = "commands.txt"
FILES = sorted(
    path
    for path in HERE.glob("*/*")
    if path.is_file() and path.name != COMMANDS and path.parent.name != "__pycache__"
)
MARK = b"# message: "


def expected(path: Path) -> tuple[list[str], bytes]:
    """The parts of the message in order, and the text that the commands read."""
    text = path.read_bytes()
    first, _, rest = text.partition(b"\n")
    assert first.startswith(MARK), f"{path}: the first line must be `# message: ...`"
    parts = first.removeprefix(MARK).decode().replace("FILE", path.name).split(" ... ")
    # TOML keeps the line, as a comment; other formats have none
    return parts, text if path.suffix == ".toml" else rest


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_is_refused_with_its_message(tmp_path: Path, path: Path) -> None:
    parts, text = expected(path)
    if (path.parent / "with").is_dir():
        shutil.copytree(path.parent / "with", tmp_path, dirs_exist_ok=True)
    (tmp_path / path.name).write_bytes(text)
    lines = (path.parent / COMMANDS).read_text(encoding="utf-8").splitlines()
    assert lines
    for line in lines:
        # one line on standard error, no confidential count, no file written: checked there
        status, said = command([word.replace("FILE", path.name) for word in line.split()], tmp_path)
        assert status == 2, f"discreet {line} took it"
        assert len(said) < 400, f"discreet {line} said {said!r}"
        at = 0
        for part in parts:
            assert part in said[at:], f"discreet {line} said {said!r}"
            at = said.index(part, at) + len(part)
