"""What kernels need to know of how a contact problem is to be solved."""

from __future__ import annotations

from typing import NamedTuple


class SolverOptions(NamedTuple):
    """Of the solver, and of contacts that overlap or are many."""

    tolerance: float  # residual, as a share of the forces
    max_sweeps: int
    max_newton: int  # 0: Gauss–Seidel alone
    recovery_speed: float  # bodies that overlap are pushed apart no faster [m/s]
    max_contacts: int  # of two bodies, at most
