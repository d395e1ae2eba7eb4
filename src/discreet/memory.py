"""What an object holds: its fields, filled once as it is made, and cached results, which are not part of it.

Results are cached in cached properties, and nowhere else. Copies and pickles leave them out and compute them
again. So any object can be copied and sent to another process, and a cached value, such as a ball (which
cannot be pickled), never turns up in another object.
"""

from __future__ import annotations

from functools import cached_property


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
