"""What a call that does not fit is told: what was found, what is taken, and a line to type.

Python's own words for it ("got an unexpected keyword argument") do not say what to type. A call is looked at
only after Python has refused it, so that one that fits costs nothing.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial, wraps
from inspect import Parameter, Signature
from numbers import Number
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from discreet.errors import InputError

P = ParamSpec("P")
Result = TypeVar("Result")

_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)

ELSEWHERE = {
    **dict.fromkeys(("scale", "std", "sd", "stddev", "stdev"), "sigma"),
    **dict.fromkeys(("var", "sigma2", "sigma_squared"), "variance"),
    **dict.fromkeys(("b", "lam"), "scale"),
    **dict.fromkeys(("eps", "target_eps", "target_epsilon"), "epsilon"),
    **dict.fromkeys(("target_delta",), "delta"),
    **dict.fromkeys(("count", "k", "n", "num_compositions", "steps"), "times"),
    **dict.fromkeys(("l1_sensitivity", "l2_sensitivity"), "sensitivity"),
    **dict.fromkeys(("n_jobs", "num_workers", "processes"), "jobs"),
}
"""What other libraries call the things that are taken here."""

TYPED = {
    **dict.fromkeys(("get_epsilon", "get_epsilon_for_delta"), "epsilon(1e-6)"),
    **dict.fromkeys(("get_delta", "get_delta_for_epsilon"), "delta(1)"),
    **dict.fromkeys(("ppf", "isf"), "quantile(0.975)"),
    "interval": "margin(0.95)",
    "logpmf": "log_pmf(0)",
    "rvs": "sample(5)",
}
"""What is typed here for what dp_accounting and SciPy have."""


def understandable(
    function: Callable[P, Result], *, once_by_place: Sequence[str] = (), title: str = ""
) -> Callable[P, Result]:
    """Let a call that does not fit be told what to type.

    `once_by_place` names values that were once given without their names; `title` is what people call the
    function, if that is not its name.

    >>> @understandable
    ... def add(one: int, *, epsilon: float) -> float:
    ...     return one + epsilon
    >>> add(1, epsilon=2), str(inspect.signature(add))
    (3, "(one: 'int', *, epsilon: 'float') -> 'float'")
    >>> add(1, eps=2)
    Traceback (most recent call last):
    discreet.errors.InputError: add does not take eps; it takes one and epsilon: type add(1, epsilon=2)
    """

    @wraps(function)
    def called(*arguments: P.args, **options: P.kwargs) -> Result:
        try:
            return function(*arguments, **options)
        except TypeError:
            call = _Call(title or function.__name__, inspect.signature(function), arguments, options)
            if call.fits:  # what is wrong is further inside
                raise
            refused, named = call.refusal(), call.named_by_place(once_by_place)
        if not named:
            raise refused
        numbers = _and([_shown(value, name) for name, value in zip(once_by_place, call.given, strict=False)])
        text = (
            f"{call.as_given} does not say what {numbers} is, and is taken for {call.line(named)}: type that"
        )
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return function(*call.owner, **named)  # type: ignore[arg-type]

    return called


def once_by_place(*names: str) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Let values that need a name be given without one for a while, in this order, with a warning.

    >>> @once_by_place("variance")
    ... def noise(*, variance: int, times: int = 1) -> int:
    ...     return variance * times
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     noise(5, times=2)
    10
    >>> print(heard[0].message)
    noise(5, times=2) does not say what 5 is, and is taken for noise(variance=5, times=2): type that
    """
    return partial(understandable, once_by_place=names)


def known_as(title: str) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Let a call that does not fit be told what to type, under the name that people know the function by.

    >>> @known_as("report")
    ... def page(release: str) -> str:
    ...     return release
    >>> page()
    Traceback (most recent call last):
    discreet.errors.InputError: report lacks release; it takes release: type report(release)
    """
    return partial(understandable, title=title)


class Hinting:
    """What says which name to type to those who ask it for a name that other libraries have.

    >>> Hinting().rvs
    Traceback (most recent call last):
    AttributeError: 'Hinting' object has no attribute 'rvs': type .sample(5)
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # a checker should find what there is not

        def __getattr__(self, name: str) -> object:
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(f"{text}: type .{TYPED[name]}" if name in TYPED else text, name=name)


class _Call:
    """What was given to a function, beside what it takes."""

    def __init__(
        self,
        name: str,
        signature: Signature,
        arguments: Sequence[object],
        options: Mapping[str, object],
    ) -> None:
        self.signature, self.arguments, self.options = signature, arguments, options
        taken = list(signature.parameters.values())
        is_method = bool(taken) and taken[0].name == "self"
        self.owner, self.given = arguments[:is_method], arguments[is_method:]
        self.title = name
        if is_method:
            self.title = f".{name}" if name != "__init__" else type(arguments[0]).__name__
        taken = taken[is_method:]
        self.by_place = [one.name for one in taken if one.kind in _BY_PLACE]
        self.by_name = [one.name for one in taken if one.kind in _BY_NAME]
        self.takes_more = any(one.kind is Parameter.VAR_POSITIONAL for one in taken)
        self.takes_others = any(one.kind is Parameter.VAR_KEYWORD for one in taken)
        plain = [one for one in taken if one.kind in (*_BY_PLACE, *_BY_NAME)]
        self.needed = [one.name for one in plain if one.default is Parameter.empty]
        self.names = [one.name for one in plain]
        self.placed = dict(zip(self.by_place, self.given, strict=False))
        self.over = [] if self.takes_more else list(self.given[len(self.by_place) :])

    @property
    def fits(self) -> bool:
        try:
            self.signature.bind(*self.arguments, **self.options)
        except TypeError:
            return False
        return True

    def named_by_place(self, names: Sequence[str]) -> dict[str, object]:
        """What was given without a name, by its name, if that was allowed once and all fits then."""
        named = dict(zip(names, self.given, strict=False))
        if len(named) < len(self.given) or named.keys() & self.options.keys():
            return {}
        try:
            self.signature.bind(*self.owner, **named, **self.options)
        except TypeError:
            return {}
        return {**named, **self.options}

    def refusal(self) -> InputError:
        """All that is wrong, and what was probably meant."""
        unknown = [name for name in self.options if name not in self.by_name and not self.takes_others]
        twice = [name for name in self.options if name in self.placed]
        missing = [name for name in self.needed if name not in self.placed and name not in self.options]
        wrong = [f"does not take {_and(unknown)}"] if unknown else []
        if self.over:
            most, given = len(self.by_place), len(self.given)
            values = f"{most or 'no'} {'value' if most == 1 else 'values'}"
            wrong.append(f"takes {values} without a name, and {given} {'is' if given == 1 else 'are'} given")
        if twice:
            wrong.append(f"is given {_and(twice)} twice")
        meant = {
            name: value for name, value in self.options.items() if name not in unknown and name not in twice
        }
        free = [name for name in self.by_name if name not in self.placed and name not in meant]
        for name in unknown:
            if (near := _nearest(name, free)) is not None:
                meant[near] = self.options[name]
                free.remove(near)
        if all(isinstance(value, Number) for value in self.over):
            free.sort(key=lambda name: name != "epsilon")  # (epsilon, delta), as everybody says
            meant.update(zip(free, self.over, strict=False))
        absent = [name for name in missing if name not in meant]
        if (absent and not self.over) or not wrong:
            wrong.append(f"lacks {_and(absent or missing)}")
        typed = {**dict.fromkeys(absent, ...), **meant}
        line = f": type {self.line(typed)}" if typed or self.placed or not unknown else ""
        if self.over and len(self.by_place) == 1 and not any(isinstance(x, Number) for x in self.given):
            line = f": type {self.title}([{', '.join(['...'] * len(self.given))}]), a list of them"
        return InputError(f"{self.title} {', '.join(wrong)}; it takes {_and(self.names) or 'nothing'}{line}")

    @property
    def as_given(self) -> str:
        """The call as it was typed."""
        named = [f"{name}={_shown(value, '...')}" for name, value in self.options.items()]
        return f"{self.title}({', '.join([*(_shown(value, '...') for value in self.given), *named])})"

    def line(self, named: Mapping[str, object]) -> str:
        """A call with these values by name, in the order in which they are taken."""
        values = [_shown(value, name) for name, value in self.placed.items()]
        for name in sorted(named, key=[*self.names, *named].index):
            is_placeholder = named[name] is ... and name in self.by_place
            values.append(name if is_placeholder else f"{name}={_shown(named[name], '...')}")
        return f"{self.title}({', '.join(values)})"


def _nearest(name: str, free: Sequence[str]) -> str | None:
    """The name that was probably meant, of those that are not given yet."""
    if ELSEWHERE.get(name) in free:
        return ELSEWHERE[name]
    return next(iter(get_close_matches(name, free, 1)), None)


def _shown(value: object, otherwise: str) -> str:
    """A number as it is typed; of anything else, which may be long, or confidential, nothing."""
    is_short = value is None or (isinstance(value, Number) and len(str(value)) < 40)
    return str(value) if is_short else otherwise


def _and(names: Sequence[str]) -> str:
    *others, last = names or [""]
    return f"{', '.join(others)} and {last}" if others else last
