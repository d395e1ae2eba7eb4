"""A tabulation from one file: what it is, which groups it has, and how much is spent where.

The file is TOML. Its keys that say what the tabulation is are those of `tabulation`; `codes` names the codes
of the answers, `groups` the groups and their codes, `settings` and `budgets` what is spent. Files that it
names lie beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from discreet.budget.toml import FieldError, a_list, a_table, inside, line, located, one_of, parse_toml
from discreet.census.mechanism.configuration import Configuration, Number, read_settings
from discreet.census.mechanism.groups import Iteration, Specification
from discreet.census.mechanism.tabulation import AdaptiveTabulation
from discreet.census.mechanism.tabulation_toml import KEYS, read_tabulation
from discreet.errors import InputError
from discreet.numbers import shown

OWN_KEYS = ("codes", "groups", "settings", "budgets")
SHOWN = {"everywhere": (False, False), "totals": (True, False), "below": (False, True)}
"""Where a group is shown: `totals` get a total alone, and none at geographies below."""


def read_file(path: Path) -> tuple[Configuration, Specification]:
    """Read a specification; an error names the line.

    >>> from importlib.resources import files
    >>> example = files("discreet.measurement") / "examples" / "birthplace" / "specification.toml"
    >>> configuration, groups = read_file(Path(str(example)))
    >>> [*configuration.tabulation.ladders], len(groups.iterations)
    (['age', 'tenure'], 18)
    >>> groups.stability(3, 1, "REGION").value
    1
    """
    if path.suffix != ".toml":
        raise InputError(f"{path} is a file; name a folder of parameters, or a specification (.toml)")
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start + 1} is not UTF-8 ({path.name})") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror} ({path.name})") from None
    return read_specification_text(text, path.name)


@lru_cache(maxsize=8)
def read_specification_text(text: str, where: str) -> tuple[Configuration, Specification]:
    """Read a specification from its text; `where` is what an error calls it.

    Remembered, so that the settings and the groups of one file are of one tabulation.
    """
    data = parse_toml(text, where, parse_float=Number)
    try:
        a_table(data, "the specification", (*KEYS, *OWN_KEYS), needed=OWN_KEYS)
        tabulation = read_tabulation({key: value for key, value in data.items() if key in KEYS}, text)
        groups = _groups(data, tabulation)
    except FieldError as error:
        raise located(error, text, data, where) from None
    own = {key: value for key, value in data.items() if key in ("settings", "budgets")}
    return read_settings(own, text, where, tabulation), groups


def _groups(data: Mapping[str, object], tabulation: AdaptiveTabulation) -> Specification:
    """Read the codes and the groups."""
    codes = {}
    with inside("codes"):
        for code, name in a_table(data["codes"], "codes").items():
            if not (code.isascii() and code.isalnum() and len(code) <= 16):
                raise FieldError(f"a code is {shown(code)}; it must be of 1 to 16 letters and digits")
            codes[code] = line(name, name=f"the name of {code}", field=(code,))
    mapped: dict[str, list[str]] = {code: [] for code in codes}
    iterations: dict[str, Iteration] = {}
    levels = {workload.groups for workload in tabulation.workloads.values()}
    for index, value in enumerate(a_list(data["groups"], "groups", "tables")):
        with inside("groups", index):
            iteration, own = _group(value, tabulation, levels)
            if iteration.code in iterations:
                raise FieldError(
                    f"the group {iteration.code} occurs twice; each may occur once", field=("code",)
                )
            iterations[iteration.code] = iteration
            for code in own:
                if not isinstance(code, str) or code not in mapped:
                    raise FieldError(f"the code {shown(code)} is not among codes", field=("codes",))
                if iteration.code in mapped[code]:
                    raise FieldError(f"the code {shown(code)} occurs twice", field=("codes",))
                mapped[code].append(iteration.code)
    used = {name for groups in mapped.values() for name in groups}
    empty = sum(name not in used for name in iterations)
    return Specification(
        tabulation=tabulation,
        iterations=tuple(iterations.values()),
        codes=codes,
        mapped={code: tuple(groups) for code, groups in mapped.items()},
        notes=(f"{empty} groups have no code: nobody is counted in them",) if empty else (),
    )


def _group(value: object, tabulation: AdaptiveTabulation, levels: set[int]) -> tuple[Iteration, list[str]]:
    allowed = ("code", "name", "level", "kind", "codes", "shown")
    table = a_table(value, "a group", allowed, needed=("code", "level", "codes"))
    every, some, single_kind = tabulation.answers.kinds
    asked = [
        *((every, some) if tabulation.answers.several else ()),
        *((single_kind,) if tabulation.answers.one else ()),
    ]
    code = line(table["code"], name="code", field=("code",))
    if not (code.isascii() and code.isalnum() and len(code) <= 16):
        raise FieldError(f"code is {shown(code)}; it must be of 1 to 16 letters and digits", field=("code",))
    if not isinstance(table["level"], int) or table["level"] not in levels or table["level"] is True:
        known = ", ".join(map(str, sorted(levels)))
        raise FieldError(f"level is {shown(table['level'])}; it must be one of {known}", field=("level",))
    total_only, coarse_only = SHOWN[
        one_of(table.get("shown", "everywhere"), SHOWN, name="shown", field=("shown",))
    ]
    group = Iteration(
        code=code,
        name=line(table.get("name", code), name="name", field=("name",)),
        level=table["level"],
        kind=one_of(table.get("kind", asked[-1]), asked, name="kind", field=("kind",)),
        total_only=total_only,
        coarse_only=coarse_only,
    )
    return group, a_list(table["codes"], "codes", "codes")
