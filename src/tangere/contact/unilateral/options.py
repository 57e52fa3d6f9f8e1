"""What kernels need to know of how a contact problem is to be solved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tangere.errors import SceneError


class SolverOptions(NamedTuple):
    """Of the solver, and of contacts that overlap or are many."""

    tolerance: float  # residual, as a share of the forces
    max_sweeps: int
    max_newton: int  # 0: Gauss–Seidel alone
    recovery_speed: float  # bodies that overlap are pushed apart no faster [m/s]
    max_contacts: int  # of two bodies, at most


def refuse_springs_between_bodies(springs: Iterable[Any], method: str) -> None:
    """Free motion knows springs between a body and the world alone.

    Raises:
        SceneError: There is another one.
    """
    for spring in springs:
        if spring.body_b is not None:
            raise SceneError(
                f"spring {spring.name!r}: method {method!r} knows springs between a body and the "
                "world alone; use 'volume' or 'point'"
            )
