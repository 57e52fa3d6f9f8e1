"""Jaws as procedural meshes: horseshoes of fourteen teeth, of the sizes of the jaws experiment.

The scans of [OTADUY2005] are not public. These have its triangle counts and size: a lower jaw of
40,180 triangles and an upper jaw of 47,340 within 6 cm. The paper's upper jaw has 47,339, which no
closed surface can have: each triangle has three edges and each edge two triangles, so the count of
a closed surface is even.
"""

from __future__ import annotations

import numpy as np

from tangere.geometry.checks import integer
from tangere.geometry.shapes import Mesh
from tangere.maths.vec import Array, IntArray
from tangere.scene.lofts import loft, outward

SCALE = 0.076  # of the arch [m]
TEETH = 14  # per jaw; five molars at each end
MOLARS = 5


def lower_jaw(refine: int = 1) -> Mesh:
    """A jaw about the origin, teeth towards +z, open towards −y: 40,180 triangles.

    Args:
        refine: Points along and around the arch, times this: 5 gives 1,004,500 triangles.
    """
    integer(refine, "lower_jaw refine", 1, 20)
    return outward(_arch(287 * refine, 70 * refine))


def upper_jaw(refine: int = 1) -> Mesh:
    """A slightly larger jaw, teeth towards −z: 47,340 triangles; `refine` as in `lower_jaw`."""
    integer(refine, "upper_jaw refine", 1, 20)
    vertices, faces = _arch(263 * refine, 90 * refine)
    return outward((vertices * (1.02, 1.02, -1.0), faces))


def _arch(n: int, m: int) -> tuple[Array, IntArray]:
    """A tube along half an ellipse with a crown on every tooth: n rings of m points."""
    s = (np.arange(n) + 0.5) / n
    angle = np.pi * (0.04 + 0.92 * s)
    middle = np.stack(
        (
            0.62 * SCALE * np.cos(angle),
            0.85 * SCALE * np.sin(angle) - 0.35 * SCALE,
            np.zeros(n),
        ),
        axis=1,
    )
    along = np.gradient(middle, axis=0)
    along /= np.linalg.norm(along, axis=1)[:, None]
    out = np.cross(along, (0.0, 0.0, 1.0))[:, None]
    cap = np.minimum(1.0, np.sqrt(np.minimum(s, 1.0 - s) / 0.02 + 0.02))[:, None]
    tooth = s * TEETH
    within = (tooth - np.floor(tooth))[:, None]  # 0 to 1 across one tooth
    profile = np.maximum(0.0, 1.0 - (2.0 * np.abs(within - 0.5)) ** 4)
    molar = ((tooth < MOLARS) | (tooth > TEETH - MOLARS))[:, None].astype(float)
    psi = 2.0 * np.pi * np.arange(m) / m
    a, b = np.cos(psi), np.sin(psi)
    chewing = np.maximum(b, 0.0)  # 0 on the gum's side
    crown = 0.10 * profile * chewing**2
    cusps = 0.022 * np.cos(2.0 * np.pi * (2.0 * within - 1.0)) * np.cos(3.0 * np.pi * a)
    edge = 0.05 * profile * (1.0 - 0.7 * a**2)
    relief = crown + molar * cusps * chewing**4 + (1.0 - molar) * edge * chewing**6
    height = SCALE * cap * (0.16 * b + relief)
    half_width = 0.085 * SCALE * cap * a * (1.0 + 0.35 * molar * chewing)
    rings = middle[:, None] + half_width[..., None] * out
    rings[..., 2] += height
    return loft(rings, middle[0], middle[-1])
