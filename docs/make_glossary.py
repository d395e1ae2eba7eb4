"""Makes docs/glossary.md from the terms of the package: `make glossary`.

They stand in src/discreet/answers/glossary.toml, since reports and `discreet help TERM` say them too.
tests/test_docs.py compares the page with them.
"""

from __future__ import annotations

from pathlib import Path

from discreet.answers.glossary import glossary_rows

PAGE = Path(__file__).parent / "glossary.md"
HEAD = """\
# Glossary

Each term has one meaning throughout the package and its documentation. Where everyday language or a file
has another, its row says so. In a terminal, `discreet help TERM` says the same;
`make glossary` made this page.

| term | meaning |
| --- | --- |
"""


def anchor(link: str) -> str:
    """Return what a link to a term leads to."""
    return f'<a id="{link}"></a>'


def page() -> str:
    """Return the whole page."""
    rows = (f"| {''.join(map(anchor, row.links))}{row.terms} | {row.meaning} |\n" for row in glossary_rows())
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
