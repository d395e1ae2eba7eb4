"""A first draft as files: the release that explains itself, its areas, and a page that rehearses it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.answers.draft import rehearsal_sections
from discreet.errors import InputError
from discreet.files import FilePath, csv_text, write_whole
from discreet.measurement.draft_text import commented
from discreet.measurement.drafting import AREA_KEYS, Draft
from discreet.measurement.rehearsing import rehearse
from discreet.questions import Option
from discreet.render.html import section_of
from discreet.reports.html import framed

RELEASE, AREAS, PAGE = "release.toml", "areas.csv", "rehearsal.html"
"""The files of a draft."""

Folder = Annotated[
    FilePath, Option("Where to; made if necessary. Nothing is overwritten. Default: here.", "DIR", reads=Path)
]


def write_draft(draft: Draft, *, out: Folder = ".") -> tuple[Path, ...]:
    """Write a draft to a directory, readable by its owner alone: all files or none, and none is overwritten.

    >>> import pyarrow
    >>> from tempfile import TemporaryDirectory
    >>> from discreet.measurement import draft
    >>> survey = pyarrow.table({"sex": ["f", "m"]})
    >>> with TemporaryDirectory() as folder:
    ...     found = draft(survey, attributes=["sex"], margin=10, name="survey")
    ...     [path.name for path in write_draft(found, out=folder)]
    ['release.toml', 'areas.csv', 'rehearsal.html']
    """
    folder = Path(out)
    check_free(folder)
    contents = {RELEASE: commented(draft), PAGE: rehearsal_page(draft, out=folder)}
    if draft.are_of_the_file:
        contents[AREAS] = csv_text(AREA_KEYS, draft.areas)
    folder.mkdir(parents=True, exist_ok=True)
    made = {folder / name: contents[name].encode() for name in (RELEASE, AREAS, PAGE) if name in contents}
    write_whole(made, confidential=True)
    return tuple(made)


def check_free(out: FilePath) -> None:
    """Raise if a file of a draft is there already, or no directory can be.

    >>> check_free("no-such-directory")
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; the name of a directory is needed")
    there = [str(folder / name) for name in (RELEASE, AREAS, PAGE) if (folder / name).exists()]
    if there:
        raise InputError(
            f"nothing is overwritten, and there is already {', '.join(there)}; choose another --out"
        )


def rehearsal_page(draft: Draft, *, out: FilePath = ".") -> str:
    """Return the page that rehearses a draft on invented people, marked as what it is, first and last."""
    found = rehearse(draft)
    sections = rehearsal_sections(found, out=Path(out))
    return framed(
        {anchor: section_of(answer, anchor=anchor) for anchor, answer in sections.items()},
        title=f"{draft.release.name} – rehearsal",
        kicker="Rehearsal on invented people",
        heading=draft.release.name,
        contents={anchor: answer.title for anchor, answer in sections.items()},
        warning=f"{found.mark}. The people on this page are invented.",
    )
