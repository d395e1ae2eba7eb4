"""The published methods, as named alternatives to compare with; the package itself never uses them.

- `SequentialSieve`: exact accounting by quadrature of the characteristic function with an absolute
  tolerance (Su, Su and Wang 2026, arXiv:2606.29835).
- `LatticeNormal`: the normal density on the lattice for i.i.d. noise (Su, Su and Wang, PNAS 2025,
  arXiv:2410.09296), with `residual_supremum`, the true size of what it leaves out.
"""

from __future__ import annotations

from discreet.accounting.published.bounded import WithBound
from discreet.accounting.published.lattice_normal import LatticeNormal, residual_supremum
from discreet.accounting.published.sequential_sieve import SequentialSieve

__all__ = ["LatticeNormal", "SequentialSieve", "WithBound", "residual_supremum"]
