"""Goals: how accurate the estimates of a release should be, as a plan is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.budget.toml import parse_toml
from discreet.errors import InputError
from discreet.numbers import Exact, positive

_NORMAL95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Goal:
    """The standard deviation that estimates of a query at a level may have, root mean square over cells."""

    level: str
    query: str
    sd: float


def read_goals(text: str, where: str) -> list[Goal]:
    """Read goals from TOML: tables [[goals]] with level, query, and sd or margin95.

    >>> read_goals('[[goals]]\\nlevel = "State"\\nquery = "total"\\nsd = "3/2"', "goals.toml")
    [Goal(level='State', query='total', sd=1.5)]
    """
    data = parse_toml(text, where, parse_float=float)
    tables = data.get("goals")
    if not isinstance(tables, list) or not tables or set(data) != {"goals"}:
        raise InputError(f"{where} must have tables [[goals]], and nothing else")
    goals = []
    for number, table in enumerate(tables, 1):
        name = f"goal {number} of {where}"
        if not isinstance(table, dict) or not set(table) <= {"level", "query", "sd", "margin95"}:
            raise InputError(f"{name} must have level, query, and sd or margin95")
        level, query = table.get("level"), table.get("query")
        if not isinstance(level, str) or not isinstance(query, str):
            raise InputError(f"{name} must name its level and its query")
        if ("sd" in table) == ("margin95" in table):
            raise InputError(f"{name} must state sd or margin95, one of them")
        if "sd" in table:
            size = moderate(table["sd"], name=f"sd of {name}")
        else:
            size = margin_goal(level, query, table["margin95"], name=f"margin95 of {name}").sd
        goals.append(Goal(level, query, size))
    return goals


def margin_goal(level: str, query: str, margin: Exact, *, name: str = "margin") -> Goal:
    """Return the goal that estimates have a 95 % margin of error.

    >>> round(margin_goal("State", "total", 10).sd, 3)
    5.102
    """
    return Goal(level, query, moderate(margin, name=name) / _NORMAL95)


def moderate(value: Exact, *, name: str) -> float:
    """Read a number above zero with which floats can calculate.

    >>> moderate("1e12", name="sd of goal 1")
    Traceback (most recent call last):
    discreet.errors.InputError: sd of goal 1 is out of range; it must lie between 1e-9 and 1e9
    """
    size = positive(value, name=name)
    if not Fraction(1, 10**9) <= size <= 10**9:
        raise InputError(f"{name} is out of range; it must lie between 1e-9 and 1e9")
    return float(size)
