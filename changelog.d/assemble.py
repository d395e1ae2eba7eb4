"""Write the section of the next version in CHANGELOG.md from the fragments beside this file.

    python changelog.d/assemble.py              the next version, as unreleased
    python changelog.d/assemble.py 2026-12-01   the same with its date; the fragments are deleted

README.md, beside this file, says how to write a fragment.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
CHANGELOG = HERE.parent / "CHANGELOG.md"
KINDS = {"wrong": "Wrong numbers, corrected", "new": "New", "changed": "Changed", "removed": "Removed"}
MOST_LINES = 25
MOST_CHARACTERS = 350

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\.(\w+)\.md")


def version() -> str:
    """Return the version that the fragments lead to."""
    return (HERE / "VERSION").read_text(encoding="utf-8").strip()


def fragments(folder: Path = HERE) -> dict[str, list[tuple[str, str]]]:
    """Return the name and the text of each fragment by kind; refuse one that is not well-formed."""
    found: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for file in sorted(folder.glob("*.md")):
        if file.name == "README.md":
            continue
        name = _NAME.fullmatch(file.name)
        if name is None or name[1] not in KINDS:
            raise ValueError(
                f"{file.name}: a fragment is called WHAT.KIND.md, KIND one of {', '.join(KINDS)}"
            )
        text = file.read_text(encoding="utf-8").rstrip("\n")
        if not text or "\n" in text or text != text.strip() or text.startswith(("-", "*", "#")):
            raise ValueError(f"{file.name}: a fragment is one line of sentences, without a bullet")
        if len(text) > MOST_CHARACTERS:
            raise ValueError(f"{file.name}: {len(text)} characters; at most {MOST_CHARACTERS}")
        if not text.endswith("."):
            raise ValueError(f"{file.name}: a fragment ends with a full stop")
        found[name[1]].append((file.name, text))
    return found


def section(found: dict[str, list[tuple[str, str]]], number: str, date: str = "unreleased") -> str:
    """Return the section of a version; more than 25 lines are refused, headings of kinds included.

    >>> print(section({"wrong": [("a.wrong.md", "Epsilon is right.")], "new": []}, "0.3.0"), end="")
    ## [0.3.0] - unreleased
    <BLANKLINE>
    ### Wrong numbers, corrected
    <BLANKLINE>
    - Epsilon is right.
    """
    parts = [f"## [{number}] - {date}"]
    lines = 0
    for kind, title in KINDS.items():
        if found.get(kind):
            parts += [f"### {title}", "\n".join(f"- {text}" for _, text in found[kind])]
            lines += 1 + len(found[kind])
    if lines > MOST_LINES:
        raise ValueError(f"{lines} lines for {number}; at most {MOST_LINES}: join fragments about one thing")
    return "\n\n".join(parts) + "\n"


def written(changelog: str, new: str, number: str) -> str:
    """Return the changelog with this section in place of its version's, or above all others."""
    rest = re.sub(
        rf"^## \[{re.escape(number)}\].*?(?=^## |\Z)", "", changelog, flags=re.MULTILINE | re.DOTALL
    )
    head, mark, older = rest.partition("## [")
    return f"{head}{new}\n{mark}{older}"


def main() -> None:
    """Write the section, and with a date delete the fragments."""
    date = sys.argv[1] if len(sys.argv) > 1 else "unreleased"
    if date != "unreleased" and not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        sys.exit(f"{date} is not a date such as 2026-12-01")
    try:
        found = fragments()
        new = section(found, version(), date)
    except ValueError as error:
        sys.exit(str(error))
    CHANGELOG.write_text(written(CHANGELOG.read_text(encoding="utf-8"), new, version()), encoding="utf-8")
    if date != "unreleased":
        for name, _ in (fragment for kind in found.values() for fragment in kind):
            (HERE / name).unlink()


if __name__ == "__main__":
    main()
