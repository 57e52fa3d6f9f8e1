"""What a user can choose of the signorini method."""

from __future__ import annotations

from dataclasses import dataclass

from tangere.contact.unilateral.options import SolverOptions
from tangere.errors import SceneError
from tangere.geometry.checks import integer, number, positive, show

SOLVERS = ("newton", "gs")


@dataclass(frozen=True)
class Signorini:
    """Unilateral contact and Coulomb friction at the end of every step, without contact springs."""

    solver: str = "newton"
    """"newton" (semi-smooth Newton from Gauss–Seidel) or "gs" (Gauss–Seidel alone)."""
    tolerance: float = 1e-8
    """Residual of the contact problem, as a share of its forces."""
    max_sweeps: int = 1000
    """Gauss–Seidel sweeps of one contact group and step, at most."""
    recovery_speed: float = 0.1
    """Bodies that overlap are pushed apart no faster than this [m/s]."""
    max_contacts: int = 48
    """Contacts of a soft body and another one, at most; those that are furthest apart are kept."""

    def __post_init__(self) -> None:
        """Check every choice."""
        if self.solver not in SOLVERS:
            raise SceneError(
                f"Signorini solver: unknown {show(self.solver)}; choose one of: "
                f"{', '.join(SOLVERS)}"
            )
        positive(self.tolerance, "Signorini tolerance")
        integer(self.max_sweeps, "Signorini max_sweeps", 1, 1_000_000)
        number(self.recovery_speed, "Signorini recovery_speed", least=0.0)
        integer(self.max_contacts, "Signorini max_contacts", 3, 10_000)


def solver_options(options: Signorini) -> SolverOptions:
    """What kernels need to know of a user's choice."""
    return SolverOptions(
        float(options.tolerance),
        int(options.max_sweeps),
        int(options.max_sweeps) if options.solver == "newton" else 0,
        float(options.recovery_speed),
        int(options.max_contacts),
    )
