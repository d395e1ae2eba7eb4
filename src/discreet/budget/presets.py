"""Releases by name: presets, which come with this package or with others, and files."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from discreet.budget.attributes import Attributes, read_attributes
from discreet.budget.release import Release
from discreet.budget.text_files import read_text_file
from discreet.budget.toml import FieldError, hint, inside, located, parse_toml
from discreet.calls import understandable
from discreet.errors import InputError
from discreet.numbers import shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from importlib.resources.abc import Traversable


ALIASES = {"dhc-2020": "dhc-2020-persons", "pl94-2020": "pl94-2020-persons"}
"""Short names of presets."""

GROUP = "discreet.presets"
"""The entry points of other packages: the name of a preset, and a function that returns the release."""

IN_A_FOLDER = ("release.toml", "release.NOT-PRIVATE.toml")
"""The release in a directory, such as one that `measure` wrote."""


@understandable
def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, in alphabetical order.

    >>> "dhc-2020-persons" in preset_names()
    True
    """
    return tuple(sorted({*_own_names(), *_of_others()}))


def preset_titles() -> dict[str, str]:
    """Return each preset's name and its title, a one-line description.

    >>> preset_titles()["dhc-2020-persons"]
    '2020 Census, Demographic and Housing Characteristics (DHC), persons, United States'
    """
    return {name: load_preset(name).title for name in preset_names()}


@understandable
def load(name_or_path: str | os.PathLike[str]) -> Release:
    """Return a preset by its name or alias, or the release that a TOML file states; `-` is standard input.

    >>> load("dhc-2020").name
    'dhc-2020-persons'
    >>> load("dhc-2021")
    Traceback (most recent call last):
    discreet.errors.InputError: 'dhc-2021' is neither a preset nor a file; did you mean "dhc-2020"? \
`discreet presets` lists all names
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise InputError(f"the name of a preset, or of a file, is {shown(name_or_path)}; it must be a text")
    if isinstance(name_or_path, str):
        if _is_preset(name_or_path):
            return load_preset(name_or_path)
        if not _looks_like_file(name_or_path):
            name = name_or_path.strip().lower().replace("_", "-")
            if _is_preset(name):
                return load_preset(name)
            raise _unknown(f"{shown(name_or_path)} is neither a preset nor a file", name_or_path)
    return load_file(name_or_path)


def load_preset(name: str) -> Release:
    """Return a preset by its name or alias; each file is read once.

    >>> load_preset("dhc-2020") is load_preset("dhc-2020-persons")
    True
    """
    full = ALIASES.get(name, name)
    if not _is_preset(full):
        raise _unknown(f"there is no preset {shown(name)}", name)
    return _read_preset(full)


def load_file(path: str | os.PathLike[str]) -> Release:
    """Return the release that a TOML file states; a directory stands for the `release.toml` in it.

    >>> load_file("no-such-file.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no file no-such-file.toml
    """
    there = [os.path.join(path, name) for name in IN_A_FOLDER]
    file = next(filter(os.path.isfile, there), path)
    text, name = read_text_file(file, "TOML file, or of a directory with a release.toml,")
    return Release.from_toml(text, where=name, folder=os.path.dirname(os.fspath(file)))


def load_attributes(path: str | os.PathLike[str]) -> Attributes:
    """Return the attributes that a TOML file states in `[attributes]`; the rest of it is not looked at.

    >>> load_attributes("no-such-file.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no file no-such-file.toml
    """
    text, name = read_text_file(path)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    data = parse_toml(text, name)
    if "attributes" not in data:
        raise InputError(f"{name} has no table [attributes]")
    try:
        with inside("attributes"):
            return read_attributes(data["attributes"])
    except FieldError as error:
        raise located(error, text, data, name) from None


@cache
def _read_preset(name: str) -> Release:
    if name not in _own_names():
        return _preset_of_others(name)
    text = (_folder() / f"{name}.toml").read_text(encoding="utf-8")
    return Release.from_toml(text, where=f"preset {name}")


def _preset_of_others(name: str) -> Release:
    release = _of_others()[name].load()()
    if not isinstance(release, Release):
        raise InputError(f"preset {name}: {_of_others()[name].value} returns no Release")
    return release


def _is_preset(name: str) -> bool:
    return name in ALIASES or name in _own_names() or name in _of_others()


@cache
def _own_names() -> tuple[str, ...]:
    files = (item.name for item in _folder().iterdir())
    return tuple(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


@cache
def _of_others() -> dict[str, EntryPoint]:
    """Return the presets of other packages; none may take the place of one that is here."""
    from importlib.metadata import entry_points

    points = {point.name: point for point in entry_points(group=GROUP)}
    if taken := points.keys() & {*_own_names(), *ALIASES}:
        name = min(taken)
        raise InputError(f"{points[name].value} brings the preset {name!r}, which exists already")
    return points


@cache
def _folder() -> Traversable:
    from importlib.resources import files

    return files("discreet.budget") / "presets"


def _unknown(what: str, name: str) -> InputError:
    near = hint(name, [*preset_names(), *ALIASES]) or ";"
    return InputError(f"{what}{near} `discreet presets` lists all names")


def _looks_like_file(text: str) -> bool:
    return text == "-" or text.endswith(".toml") or "/" in text or os.sep in text or os.path.exists(text)
