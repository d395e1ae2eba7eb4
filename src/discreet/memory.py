"""What an object remembers, which is no part of what it is.

Whatever was worked out once is kept: in cached properties, and nowhere else. Copies and pickles go without it
and work it out anew. So an object can be copied and sent to another process whatever it has answered, and
what one object remembers, such as a ball (which cannot be pickled), never turns up in another.
"""

from __future__ import annotations

from functools import cached_property


class Forgetful:
    """An object whose cached properties are left out of its copies and pickles.

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
        """All but what is remembered."""
        return {name: value for name, value in vars(self).items() if not self._is_remembered(name)}

    @classmethod
    def _is_remembered(cls, name: str) -> bool:
        return any(isinstance(vars(base).get(name), cached_property) for base in cls.__mro__)
