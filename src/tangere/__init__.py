"""tangere: real-time haptic rendering and contact simulation.

The public names, each exported once; they are imported on first use, so that `import tangere` is
quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name is.
HOME = {
    "Box": "geometry.shapes",
    "Buttons": "haptics.workspace",
    "Capsule": "geometry.shapes",
    "Compound": "geometry.shapes",
    "Cone": "geometry.shapes",
    "Convex": "geometry.shapes",
    "CurvedSolid": "geometry.curved_solid",
    "Cylinder": "geometry.shapes",
    "DeviceError": "errors",
    "DirectCoupling": "haptics.coupling",
    "EnergyLedger": "trace.metrics",
    "Formation": "contact.formation.options",
    "Material": "scene.scene",
    "Mesh": "geometry.shapes",
    "Penalty": "contact.penalty.options",
    "Point": "contact.point.method",
    "Safety": "haptics.safety",
    "Scene": "scene.scene",
    "SceneError": "errors",
    "Session": "session.session",
    "Signorini": "contact.signorini.options",
    "Simulation": "simulation",
    "Sphere": "geometry.shapes",
    "TetMesh": "geometry.tetmesh",
    "Trace": "trace.trace",
    "VirtualCoupling": "haptics.coupling",
    "Volume": "contact.volume.method",
    "Workspace": "haptics.workspace",
    "contact_volume": "collision.volume",
    "distance": "collision.distance",
    "effect": "haptics.effects",
    "load": "geometry.files",
    "solve_friction": "friction.solver",
}
# Whole modules under a short name.
MODULES = {"devices": "devices", "metrics": "trace.metrics"}

__all__ = [
    "Box",
    "Buttons",
    "Capsule",
    "Compound",
    "Cone",
    "Convex",
    "CurvedSolid",
    "Cylinder",
    "DeviceError",
    "DirectCoupling",
    "EnergyLedger",
    "Formation",
    "Material",
    "Mesh",
    "Penalty",
    "Point",
    "Safety",
    "Scene",
    "SceneError",
    "Session",
    "Signorini",
    "Simulation",
    "Sphere",
    "TetMesh",
    "Trace",
    "VirtualCoupling",
    "Volume",
    "Workspace",
    "__version__",
    "contact_volume",
    "devices",
    "distance",
    "effect",
    "load",
    "metrics",
    "solve_friction",
]

if TYPE_CHECKING:
    from tangere import devices
    from tangere.collision.distance import distance
    from tangere.collision.volume import contact_volume
    from tangere.contact.formation.options import Formation
    from tangere.contact.penalty.options import Penalty
    from tangere.contact.point.method import Point
    from tangere.contact.signorini.options import Signorini
    from tangere.contact.volume.method import Volume
    from tangere.errors import DeviceError, SceneError
    from tangere.friction.solver import solve_friction
    from tangere.geometry.curved_solid import CurvedSolid
    from tangere.geometry.files import load
    from tangere.geometry.shapes import (
        Box,
        Capsule,
        Compound,
        Cone,
        Convex,
        Cylinder,
        Mesh,
        Sphere,
    )
    from tangere.geometry.tetmesh import TetMesh
    from tangere.haptics.coupling import DirectCoupling, VirtualCoupling
    from tangere.haptics.effects import effect
    from tangere.haptics.safety import Safety
    from tangere.haptics.workspace import Buttons, Workspace
    from tangere.scene.scene import Material, Scene
    from tangere.session.session import Session
    from tangere.simulation import Simulation
    from tangere.trace import metrics
    from tangere.trace.metrics import EnergyLedger
    from tangere.trace.trace import Trace


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in MODULES:
        value: Any = import_module(f"tangere.{MODULES[name]}")
    elif name in HOME:
        value = getattr(import_module(f"tangere.{HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'tangere' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
