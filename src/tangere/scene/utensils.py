"""A spoon and a cup as procedural meshes: the models of the spoon-and-cup experiment.

The paper's own meshes are not public. These have its triangle counts and sizes [OTADUY2005]: a
spoon of 20 cm with 1,344 triangles, a cup within a ball of 8 cm with 4,000.
"""

from __future__ import annotations

import numpy as np

from tangere.geometry.shapes import Mesh, joined
from tangere.maths.vec import Array, IntArray
from tangere.scene.lofts import loft

SPOON_LENGTH = 0.20  # [m]
HANDLE_SHARE = 0.7  # of the spoon's length; the rest is the bowl


def spoon() -> Mesh:
    """A spoon along x, 0.2 m long, bowl at +x and hollow on top (+z): 42 rings of 16 points."""
    rings, around = 42, 16
    s = np.linspace(0.0, 1.0, rings + 2)[1:-1]
    bowl = np.clip((s - HANDLE_SHARE) / (1.0 - HANDLE_SHARE), 0.0, 1.0)
    handle = s < HANDLE_SHARE
    half_width = np.where(
        handle,
        0.0045 + 0.0015 * np.cos(np.pi * s / HANDLE_SHARE),
        0.003 + 0.017 * np.sqrt(np.sin(np.pi * bowl)),
    )
    taper = np.sqrt(np.clip(np.minimum(s, 1.0 - s) / 0.03, 0.05, 1.0))
    half_thickness = np.where(handle, 0.0018, 0.0012) * taper
    hollow = 0.008 * np.sin(np.pi * bowl) ** 2
    rise = 0.010 * (1.0 - s) ** 2
    psi = 2.0 * np.pi * np.arange(around) / around
    y = half_width[:, None] * np.cos(psi)
    across = 1.0 - np.cos(psi) ** 2  # 1 − (y/w)²
    z = rise[:, None] + half_thickness[:, None] * np.sin(psi) - hollow[:, None] * across
    x = np.repeat(SPOON_LENGTH * (s - 0.5)[:, None], around, axis=1)
    tail = np.array([-0.5 * SPOON_LENGTH, 0.0, rise[0]])
    tip = np.array([0.5 * SPOON_LENGTH, 0.0, 0.0])
    return Mesh(*loft(np.stack((x, y, z), axis=2), tail, tip))


def cup() -> Mesh:
    """A cup about z, 0.1 m high, and its handle at +x: two closed surfaces that overlap."""
    return Mesh(*joined([_bowl(), _handle()]))


def _bowl() -> tuple[Array, IntArray]:
    """The cup without its handle: a profile of 40 points turned in 40 steps."""
    outer, inner, low, high, floor = 0.045, 0.042, -0.05, 0.05, -0.046
    up, out = np.linspace(0.0, 1.0, 15), np.linspace(0.0, 1.0, 7)[1:-1]
    radius = np.concatenate(
        (outer * out, np.full(15, outer), np.full(15, inner), inner * out[::-1])
    )
    height = np.concatenate(
        (np.full(5, low), low + (high - low) * up, high - (high - floor) * up, np.full(5, floor))
    )
    angle = 2.0 * np.pi * np.arange(40) / 40
    rings = np.stack(
        (
            radius[:, None] * np.cos(angle),
            -radius[:, None] * np.sin(angle),
            np.repeat(height[:, None], 40, axis=1),
        ),
        axis=2,
    )
    vertices, triangles = loft(rings, np.array([0.0, 0.0, low]), np.array([0.0, 0.0, floor]))
    return vertices, triangles[:, ::-1]


def _handle() -> tuple[Array, IntArray]:
    """Half a ring in the xz plane: a tube of 4 mm along an arc of 30 mm, ends inside the wall."""
    along = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 25)
    outward = np.stack((np.cos(along), np.zeros(25), np.sin(along)), axis=1)
    centre = np.array([0.0435, 0.0, 0.0]) + 0.030 * outward
    around = 2.0 * np.pi * np.arange(16) / 16
    side = np.array([0.0, 1.0, 0.0])
    rings = centre[:, None] + 0.004 * (
        np.cos(around)[None, :, None] * outward[:, None] - np.sin(around)[None, :, None] * side
    )
    vertices, triangles = loft(rings, centre[0], centre[-1])
    return vertices, triangles[:, ::-1]
