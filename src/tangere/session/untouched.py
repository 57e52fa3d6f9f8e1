"""Scenes as their simulation sees them where a tool finds its contacts by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tangere.geometry.shapes import Shape
from tangere.scene.scene import Scene, Tool

if TYPE_CHECKING:
    from tangere.geometry.polyhedron import Moments, Polyhedron


@dataclass(frozen=True, eq=False)
class Untouched(Shape):
    """A shape that no contact of the scene sees."""

    shape: Shape

    @property
    def _parts(self) -> tuple[Polyhedron, ...]:
        return ()

    @property
    def _moments(self) -> Moments:
        return self.shape.moments()


def without_tools(scene: Scene) -> Scene:
    """The scene with tools that touch nothing.

    Where nothing else can move, nothing is touched but by tools: then no mesh has to be split into
    convex pieces, which would take minutes.
    """
    still = all(body.fixed or isinstance(body, Tool) for body in scene.bodies)
    return scene.with_bodies(
        [
            replace(body, shape=Untouched(body.shape)) if still or isinstance(body, Tool) else body
            for body in scene.bodies
        ]
    )
