"""Options of the penalty method, apart from its record: kernels do not depend on the latter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tangere.contact_planes import MAX_PLANES
from tangere.errors import SceneError
from tangere.geometry.checks import hint, integer, number, positive, show

Sharing = Literal["shared", "each"]
Engine = Literal["sdf", "exact", "levels"]

# Nodes and points looked at in one query before the rest is answered coarsely.
BUDGET = 100_000


@dataclass(frozen=True)
class Penalty:
    """Options of the penalty method.

    Attributes:
        stiffness: k of the contact with one body [N/m].
        damping: b, along the normal [N s/m].
        tolerance: d: a contact presses from this distance on [m].
        clusters: Most planes, 1 to 16; more are used only where more bodies are touched.
        sharing: "shared" divides k among the planes of a body by their weight, so that the total
            does not depend on their number; "each" gives k to every plane, as the paper does.
        blend: Time over which planes are born and die [s]; 0: at once.
        spacing: Of the distance fields [m]; None: from the thickness of each body.
        samples: About how many points a body may have.
        budget: Nodes and points looked at in one query; beyond, it is answered coarsely.
        engine: How contacts are found: "sdf", points in distance fields, both ways; "exact",
            closest points of the triangles; "levels", convex pieces as fine as the contact needs.
        contacts: Of two bodies beside the tool, at most; those furthest apart are kept.
        recovery_speed: Bodies beside the tool that overlap are pushed apart no faster [m/s].
        error: Of "levels": largest error of the surface, spread over the contact area, as a share
            of the tool's radius.
    """

    stiffness: float = 2000.0
    damping: float = 0.0
    tolerance: float = 0.5e-3
    clusters: int = 8
    sharing: Sharing = "shared"
    blend: float = 10e-3
    spacing: float | None = None
    samples: int = 8192
    budget: int = BUDGET
    engine: Engine = "sdf"
    error: float = 0.01
    contacts: int = 16
    recovery_speed: float = 0.1

    def __post_init__(self) -> None:
        """Check every number."""
        for name, value in (
            ("stiffness", positive(self.stiffness, "Penalty stiffness")),
            ("damping", number(self.damping, "Penalty damping", least=0.0)),
            ("tolerance", positive(self.tolerance, "Penalty tolerance")),
            ("clusters", integer(self.clusters, "Penalty clusters", 1, MAX_PLANES)),
            ("blend", number(self.blend, "Penalty blend", least=0.0)),
            ("samples", integer(self.samples, "Penalty samples", 16, 1_000_000)),
            ("budget", integer(self.budget, "Penalty budget", 16, 1_000_000_000)),
            ("error", positive(self.error, "Penalty error")),
            ("contacts", integer(self.contacts, "Penalty contacts", 3, 1000)),
            (
                "recovery_speed",
                number(self.recovery_speed, "Penalty recovery_speed", least=0.0),
            ),
        ):
            object.__setattr__(self, name, value)
        if self.spacing is not None:
            object.__setattr__(self, "spacing", positive(self.spacing, "Penalty spacing"))
        for name, kind in (("sharing", Sharing), ("engine", Engine)):
            given, choices = getattr(self, name), list(get_args(kind))
            if given not in choices:
                raise SceneError(f"Penalty {name}: unknown {show(given)}{hint(given, choices)}")
