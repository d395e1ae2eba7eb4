"""Old places of public names: each goes on working, with a warning that names the new place.

A finder at the end of `sys.meta_path` is asked only for modules that nothing else finds. `discreet.risk` and
`discreet.report` were packages and are functions now. `from discreet.risk import posterior` finds the old
package in `sys.modules`; the function stays in its place, and what the package had becomes attributes of it,
so that `import discreet.risk` and then `discreet.risk.posterior` works too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import FunctionType, ModuleType
from warnings import warn

_PACKAGES = {
    "discreet.accounting.best_law": "discreet.promises.best_law",
    "discreet.accounting.comparisons": "discreet.comparisons",
    "discreet.accounting.costs": "discreet.comparisons.costs",
    "discreet.accounting.overall": "discreet.accounting.account",
    "discreet.accounting.limits": "discreet.promises.limits",
    "discreet.accounting.promises": "discreet.promises.least_noise",
    "discreet.accounting.sampling": "discreet.comparisons.sampling",
    "discreet.budget.input": "discreet.records.input",
    "discreet.cellkey.two_laws": "discreet.cellkey.fraction_law",
    "discreet.release": "discreet.ledger",
    "discreet.release.cellkey": "discreet.cellkey",
    "discreet.release.mechanism": "discreet.census.mechanism",
    "discreet.release.nation": "discreet.nation",
    "discreet.release.safetab": "discreet.census.safetab",
    "discreet.report": "discreet.reports",
    "discreet.risk": "discreet.disclosure",
}
"""Where all of a package is now that is not named below."""

_NAMES = {
    "discreet.release": {
        "discreet.audit": "audit_mechanism audit_release",
        "discreet.cellkey.run": "Perturbed perturb",
        "discreet.disclosure": "records_risk",
        "discreet.estimation": "Estimated TableCheck check_tables estimate",
        "discreet.measurement": "POSTS Measured Tabulated measure tabulate write_example",
        "discreet.records": "RecordCheck check_records",
    },
}
_RENAMED = {"discreet.risk.WholeRisk": "discreet.disclosure.ReleaseRisk"}
_PLACES = (
    _PACKAGES
    | _RENAMED
    | {
        f"{package}.{name}": f"{home}.{name}"
        for package, homes in _NAMES.items()
        for home, names in homes.items()
        for name in names.split()
    }
)


def new_place(old: str) -> str | None:
    """Return where a module, or a name in it, is now; None if it never moved.

    >>> new_place("discreet.risk.posterior"), new_place("discreet.release.measure")
    ('discreet.disclosure.posterior', 'discreet.measurement.measure')
    >>> new_place("discreet.budget.load")
    """
    package, _, name = old.rpartition(".")
    above = new_place(package) if package else None
    return _PLACES.get(old, above and f"{above}.{name}")


def _value(old: str) -> object:
    """What is called by an old name, from where it is now."""
    home, _, name = str(new_place(old)).rpartition(".")
    return getattr(import_module(home), name)


class _OldPackage(ModuleType):
    """What the old place of a package has: its names, each taken from where it is now."""

    def __getattr__(self, name: str) -> object:
        old = f"{self.__name__}.{name}"
        home, _, renamed = str(new_place(old)).rpartition(".")
        if name.startswith("_") or not hasattr(import_module(home), renamed):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        warn(f"{old} is now {home}.{renamed}", DeprecationWarning, stacklevel=2)
        return _value(old)


class _OldPlaces:
    """Finds modules at their old places, and loads them."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        place = new_place(name)
        found = find_spec(place) if place else None
        if found is None:
            return None
        # with no folder to search, so that no module of a package is loaded a second time under its old name
        return ModuleSpec(name, self, is_package=found.submodule_search_locations is not None)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _OldPackage(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        old, new = module.__name__, import_module(str(new_place(module.__name__)))
        warn(f"{old} is now {new.__name__}", DeprecationWarning, stacklevel=2)
        if not hasattr(module, "__path__"):
            sys.modules[old] = module = new
        _, package, *inside = old.split(".")
        function = getattr(sys.modules["discreet"], package, None)
        if isinstance(function, FunctionType) and len(inside) < 2:
            renamed = [name.removeprefix(f"{old}.") for name in _RENAMED if name.startswith(f"{old}.")]
            names = () if inside else (*new.__all__, *renamed)
            vars(function).update({name: _value(f"{old}.{name}") for name in names})
            vars(function).update(dict.fromkeys(inside, module))


class PackageOfFunctions(ModuleType):
    """A package whose functions stay in their places when an old package of the same name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, _OldPackage) and name in self.__all__):
            super().__setattr__(name, value)


def find_old_places(package: ModuleType) -> None:
    """Let what moved within a package be found at its old places."""
    package.__class__ = PackageOfFunctions
    sys.meta_path.append(_OldPlaces())
