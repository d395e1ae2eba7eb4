"""What an object holds: its fields, filled once as it is made, and cached results, which are not part of it;
and what a package holds: its names, each loaded on first use.

Results are cached in cached properties, and nowhere else. Copies and pickles leave them out and compute them
again. So any object can be copied and sent to another process, and a cached value, such as a ball (which
cannot be pickled), never turns up in another object.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module


def set_fields(made: object, **fields: object) -> None:
    """Set the fields of a frozen object that is being made.

    For dataclasses whose constructor takes what people write ("1/2", any iterable) where the object holds one
    type alone (a fraction, a tuple): a constructor that dataclass writes could give both but one type.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, init=False)
    ... class Half:
    ...     size: float
    ...     def __init__(self, whole: str) -> None:
    ...         set_fields(self, size=float(whole) / 2)
    >>> Half("3")
    Half(size=1.5)
    """
    for name, value in fields.items():
        object.__setattr__(made, name, value)


class Forgetful:
    """A base class that leaves cached properties out of copies and pickles.

    >>> import copy
    >>> from functools import cached_property
    >>> class Square(Forgetful):
    ...     def __init__(self, side):
    ...         self.side = side
    ...     @cached_property
    ...     def area(self):
    ...         return self.side**2
    >>> square = Square(3)
    >>> square.area, vars(square), vars(copy.copy(square))
    (9, {'side': 3, 'area': 9}, {'side': 3})
    """

    def __getstate__(self) -> dict[str, object]:
        """Return the state without cached properties."""
        return {name: value for name, value in vars(self).items() if not self._is_remembered(name)}

    @classmethod
    def _is_remembered(cls, name: str) -> bool:
        return any(isinstance(vars(base).get(name), cached_property) for base in cls.__mro__)


def loaded_on_use(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package that loads its names on first use.

    `homes` has the names by module. If a package loaded all that it names, each of its modules would cost as
    much as all of them. No name may be that of a module of the package: once imported, the module would take
    its place.

    >>> load, names = loaded_on_use("discreet", {"discreet.numbers": "Interval fraction"})
    >>> load("Interval").__module__, "Interval" in names()
    ('discreet.numbers', True)
    >>> load("Intervals")
    Traceback (most recent call last):
    AttributeError: module 'discreet' has no attribute 'Intervals'
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    namespace = vars(sys.modules[package])

    def load(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home[name]), name)
        namespace[name] = value
        return value

    def names() -> list[str]:
        return sorted({*namespace, *home})

    return load, names
