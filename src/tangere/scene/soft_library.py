"""Scenes with soft bodies: a clip that snaps onto a pipe, rigid or soft.

The clip of [DURIEZ2006] as a C-ring of polyethylene. Its parts are named by `fem.grids`.
"""

from __future__ import annotations

from math import inf, pi
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.fem.grids import clip, ends, inner_wall, near_top, outer_wall, tube
from tangere.geometry.checks import positive
from tangere.geometry.shapes import Box, Cylinder
from tangere.haptics.coupling import VirtualCoupling
from tangere.scene.scene import Material, Scene

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tangere.geometry.tetmesh import TetMesh
    from tangere.maths.vec import Array, IntArray

RADIUS = 0.010  # of the pipe, and of the clip inside [m]
MOUTH = 50.0 * pi / 180.0  # half the opening angle of the clip's mouth [rad]
CLIP_CELLS = (60, 2, 2)
PIPE_CELLS = (32, 2, 24)
PIPE_LENGTH = 0.060  # [m]
START = 0.0135  # the clip's centre above the pipe's axis [m]
CLIP_MASS = 0.015  # with the handle [kg]
POLYETHYLENE = {"young": 700e6, "poisson": 0.35}
POLYETHYLENE_DENSITY = 950.0
PIPE_POISSON, PIPE_DENSITY = 0.40, 950.0
HANDLE = (0.020, 0.030, 0.025)  # a block on top of the ring [m]
GRIP_ANGLE = 15.0 * pi / 180.0  # the handle holds the ring within this of its top [rad]
OUTER, CLIP_WIDTH = 0.012, 0.008  # of the ring: radius outside, width along y [m]
CLIP_HAND = VirtualCoupling(
    stiffness=2000.0, damping=4.0, rotational_stiffness=2.0, rotational_damping=0.01, max_force=30.0
)


def clip_on_pipe(
    *,
    friction: float = 0.2,
    mouth: float = MOUTH,
    cells: ArrayLike = CLIP_CELLS,
    order: int = 2,
    damping: float | None = None,
    pipe_young: float | None = None,
    pipe_cells: ArrayLike = PIPE_CELLS,
    height: float = START,
    speed: float | None = None,
    coupling: VirtualCoupling | None = CLIP_HAND,
    gravity: ArrayLike = (0.0, 0.0, 0.0),
) -> Scene:
    """A clip, "clip", above a pipe along y, "pipe", mouth down.

    The mesh of the clip is the ring alone; its handle adds mass and inertia, and holds the ring
    rigidly near the top.

    Args:
        friction: Coefficient between the two.
        mouth: Half the opening angle of the clip's mouth [rad].
        cells: Of the clip: around, through the thickness, along y; six tetrahedra each.
        order: Of the elements of both bodies, see `Scene.add_soft_body`.
        damping: Rayleigh's β of both [s]; the step if not given.
        pipe_young: Young's modulus of a soft pipe, held at its ends [Pa]; None: it is a rigid
            cylinder; infinite: it is rigid, with the facets of the soft one.
        pipe_cells: Of a soft pipe: around, through its wall, along y.
        height: Of the clip's centre above the axis of the pipe [m].
        speed: The handle moves down so fast whatever resists [m/s]; None: it is free to move.
        coupling: Of the hand that holds a handle that is free to move; None: none does.
        gravity: [m/s²]
    """
    scene = Scene(gravity=gravity)
    material = scene.add_material("plastic", Material(friction, friction))
    ring = clip_ring(mouth, cells)
    held = near_top(ring, GRIP_ANGLE)
    matter: dict[str, Any] = {"mass": CLIP_MASS, "inertia": _inertia(ring), **POLYETHYLENE}
    if speed is None:
        holding: dict[str, Any] = {
            "handle": held, "coupling": coupling, "grip": (0.0, 0.0, OUTER + 0.5 * HANDLE[2])
        }  # fmt: skip
    else:
        holding = {"fixed": held, "velocity": (0.0, 0.0, -speed), "modes": 0}
    scene.add_soft_body(
        ring,
        **matter,
        **holding,
        order=order,
        damping=damping,
        contact=_inside(ring),
        position=(0.0, 0.0, height),
        material=material,
        name="clip",
    )
    if pipe_young is None:
        scene.add_body(
            Cylinder(RADIUS, PIPE_LENGTH, facets=64),
            orientation=(np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0),
            material=material,
            name="pipe",
            fixed=True,
        )
        return scene
    pipe = tube(outer_radius=RADIUS, length=PIPE_LENGTH, cells=pipe_cells)
    if pipe_young == inf:
        scene.add_body(pipe, material=material, name="pipe", fixed=True)
        return scene
    scene.add_soft_body(
        pipe,
        young=positive(pipe_young, "clip_on_pipe pipe_young"),
        poisson=PIPE_POISSON,
        density=PIPE_DENSITY,
        order=order,
        damping=damping,
        fixed=np.concatenate(ends(pipe)),
        contact=_middle(pipe),
        modes=0,
        material=material,
        name="pipe",
    )
    return scene


def clip_ring(mouth: float = MOUTH, cells: ArrayLike = CLIP_CELLS) -> TetMesh:
    """The ring of the clip about y, mouth down; see `clip_on_pipe`."""
    return clip(
        inner_radius=RADIUS,
        thickness=OUTER - RADIUS,
        width=CLIP_WIDTH,
        mouth=mouth,
        cells=cells,
    )


def _inside(ring: TetMesh) -> IntArray:
    """Vertices of a clip that can touch a pipe: its inner wall and the faces of its mouth."""
    x, _, z = ring.vertices.T
    angle = np.abs(np.arctan2(x, z))  # from the top
    mouth = np.flatnonzero(angle > angle.max() - 1e-9)
    return np.union1d(inner_wall(ring), mouth).astype(np.int32)


def _middle(pipe: TetMesh) -> IntArray:
    """Vertices of a tube that a clip can touch: outside, about as far along as the clip is wide."""
    wall = outer_wall(pipe)
    near: IntArray = wall[np.abs(pipe.vertices[wall, 1]) < CLIP_WIDTH]
    return near


def _inertia(ring: TetMesh) -> Array:
    """Inertia of ring and handle about their common centre of mass [kg m²]."""
    ring_moments, block = ring.moments(), Box(HANDLE).moments()
    share = POLYETHYLENE_DENSITY * ring_moments.volume
    parts = (
        (share, ring_moments.inertia * (share / ring_moments.volume), ring_moments.centre),
        (
            CLIP_MASS - share,
            block.inertia * ((CLIP_MASS - share) / block.volume),
            np.array([0.0, 0.0, OUTER + 0.5 * HANDLE[2]]),
        ),
    )
    centre = sum(mass * at for mass, _, at in parts) / CLIP_MASS
    total = np.zeros((3, 3))
    for mass, inertia, at in parts:
        d = at - centre
        total += inertia + mass * (d @ d * np.eye(3) - np.outer(d, d))
    return total
