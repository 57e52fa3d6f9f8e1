"""tangere: real-time haptic rendering and contact simulation.

The public names, each exported once; they are imported on first use, so that `import tangere` is
quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Box": "geometry.shapes",
    "Capsule": "geometry.shapes",
    "Compound": "geometry.shapes",
    "Cone": "geometry.shapes",
    "Convex": "geometry.shapes",
    "Cylinder": "geometry.shapes",
    "DeviceError": "errors",
    "Material": "scene.scene",
    "Mesh": "geometry.shapes",
    "Point": "simulation",
    "Scene": "scene.scene",
    "SceneError": "errors",
    "Simulation": "simulation",
    "Sphere": "geometry.shapes",
    "Volume": "simulation",
    "contact_volume": "collision.volume",
    "distance": "collision.distance",
    "load": "geometry.files",
}

__all__ = [
    "Box",
    "Capsule",
    "Compound",
    "Cone",
    "Convex",
    "Cylinder",
    "DeviceError",
    "Material",
    "Mesh",
    "Point",
    "Scene",
    "SceneError",
    "Simulation",
    "Sphere",
    "Volume",
    "__version__",
    "contact_volume",
    "devices",
    "distance",
    "load",
]

if TYPE_CHECKING:
    from tangere import devices
    from tangere.collision.distance import distance
    from tangere.collision.volume import contact_volume
    from tangere.errors import DeviceError, SceneError
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
    from tangere.scene.scene import Material, Scene
    from tangere.simulation import Point, Simulation, Volume


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name == "devices":
        return import_module("tangere.devices")
    if name not in _HOME:
        raise AttributeError(f"module 'tangere' has no attribute {name!r}")
    value = getattr(import_module(f"tangere.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
