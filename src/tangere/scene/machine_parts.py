"""Gears, a bolt and its nut as procedural meshes: parts that only work because they are concave.

Gears are involute spur gears; the thread is the basic profile of ISO metric threads, 60° between
the flanks, so large that it can be felt.
"""

from __future__ import annotations

import numpy as np

from tangere.geometry.checks import integer, number, positive
from tangere.geometry.shapes import Mesh
from tangere.maths.vec import Array
from tangere.scene.lofts import closed_loft, loft, outward, turned_profile

PRESSURE_ANGLE = np.deg2rad(20.0)
THINNING = 0.04  # of each flank, in modules: two gears in mesh have that backlash on either side
ADDENDUM, DEDENDUM = 1.0, 1.25  # of a tooth above and below the pitch circle, in modules
FLANK_POINTS = 8

MAJOR, PITCH = 0.030, 0.005  # diameter and pitch of the thread [m]
# Points around and per pitch. They are equal, so that the edges of the thread, which are helices,
# run along edges of triangles; a multiple of 16 for the flats of the profile, of 6 for the hexagon.
THREAD_POINTS = 48
DEPTH = 0.625 * np.sqrt(0.75) * PITCH  # of the thread, 5/8 of the height of the full triangle [m]
CLEARANCE = 0.3e-3  # radius of the nut's thread less that of the bolt's [m]
# How far a nut may move along the bolt from the middle until flanks touch [m].
PLAY = CLEARANCE / np.sqrt(3.0)
ACROSS_FLATS = 0.046
HEAD_HEIGHT, NUT_HEIGHT = 0.018, 0.020
CHAMFER = 2e-3  # [m]


def spur_gear(
    teeth: int = 24, *, module: float = 2.5e-3, width: float = 0.012, bore: float = 8e-3
) -> Mesh:
    """A gear about z, its middle at the origin, the middle of one tooth on +x.

    Two gears of one module mesh at a distance of half the module times the sum of their teeth. The
    second then shows the first a gap: turn it by half a tooth if its count is even.

    Args:
        teeth: Their number; from 17 on flanks need no undercut.
        module: Pitch diameter over number of teeth [m].
        width: Along z [m].
        bore: Radius of the hole [m].
    """
    integer(teeth, "spur_gear teeth", 10, 500)
    positive(module, "spur_gear module")
    positive(width, "spur_gear width")
    root = module * (0.5 * teeth - DEDENDUM)
    number(bore, "spur_gear bore", least=0.01 * root, most=0.9 * root)
    outline = gear_outline(teeth, module)
    m = len(outline)
    start = np.arctan2(outline[0, 1], outline[0, 0])
    angle = start + 2.0 * np.pi * np.arange(m) / m
    hole = bore * np.column_stack((np.cos(angle), np.sin(angle)))
    middle = 0.5 * (hole + outline)
    heights = width * np.linspace(-0.5, 0.5, 5)
    low, high = heights[0], heights[-1]
    # Up the hole, over the top, down the teeth and back below.
    flat = [(hole, z) for z in heights] + [(middle, high)]
    flat += [(outline, z) for z in heights[::-1]] + [(middle, low)]
    rings = np.stack([np.column_stack((ring, np.full(m, z))) for ring, z in flat])
    return outward(closed_loft(rings))


def gear_outline(teeth: int, module: float) -> Array:
    """Points of a gear's outline counter-clockwise, shape (n, 2) [m].

    At radius r a flank of the involute stands at the angle ψ(r) from the middle of its tooth,
    ψ(r) = ψ_pitch + inv α − inv(arccos(r_base/r)), inv x = tan x − x. Below the base circle it goes
    straight on to the root, a little wider.
    """
    pitch_radius = 0.5 * module * teeth
    base = pitch_radius * np.cos(PRESSURE_ANGLE)
    root, tip = pitch_radius - DEDENDUM * module, pitch_radius + ADDENDUM * module
    radius = np.linspace(root, tip, FLANK_POINTS)
    pressure = np.arccos(np.minimum(base / radius, 1.0))
    half_tooth = (0.25 * np.pi - THINNING) * module / pitch_radius
    involute = np.tan(PRESSURE_ANGLE) - PRESSURE_ANGLE - (np.tan(pressure) - pressure)
    foot = 0.05 * np.maximum(base - radius, 0.0) / pitch_radius
    psi = half_tooth + involute + foot
    # One tooth from the middle of the gap before it to the end of its flank.
    angle = np.concatenate(([-np.pi / teeth], -psi, [0.0], psi[::-1]))
    reach = np.concatenate(([root], radius, [tip], radius[::-1]))
    angles = (2.0 * np.pi * np.arange(teeth)[:, None] / teeth + angle).ravel()
    reaches = np.tile(reach, teeth)
    return np.column_stack((reaches * np.cos(angles), reaches * np.sin(angles)))


def bolt(length: float = 0.040) -> Mesh:
    """A bolt of 30 mm along z, its head below the origin, its thread of 5 mm pitch above.

    Args:
        length: Of the thread [m].
    """
    number(length, "bolt length", least=2.0 * PITCH, most=0.5)
    m = THREAD_POINTS
    rows = round(length / PITCH * m)
    height = PITCH / m * np.arange(rows + 1, dtype=np.float64)
    radius = np.minimum(
        thread_radius(height), 0.5 * MAJOR - CHAMFER + (height[-1] - height)[:, None]
    )
    head_height = np.linspace(-HEAD_HEIGHT, 0.0, 7)
    rings = np.concatenate((_hexagon(head_height), _turned(radius, height)))
    return outward(
        loft(rings, np.array([0.0, 0.0, -HEAD_HEIGHT]), np.array([0.0, 0.0, height[-1]]))
    )


def nut(clearance: float = CLEARANCE) -> Mesh:
    """A nut along z from the origin to 20 mm, its thread that of the bolt, a little wider.

    It stands in the middle of the bolt's thread at every height h to which it is turned by
    2π h/pitch, and can move by `PLAY` up and down from there.

    Args:
        clearance: Radius of its thread less that of the bolt's [m].
    """
    number(clearance, "nut clearance", least=0.0, most=0.5 * DEPTH)
    m = THREAD_POINTS
    height = PITCH / m * np.arange(round(NUT_HEIGHT / PITCH * m) + 1, dtype=np.float64)
    end = np.minimum(height, height[-1] - height)[:, None]
    radius = thread_radius(height) + clearance
    radius = np.maximum(radius, 0.5 * MAJOR + clearance - end)  # countersunk
    outside = _hexagon(height[-1] * np.linspace(1.0, 0.0, 9))
    return outward(closed_loft(np.concatenate((_turned(radius, height), outside))))


def thread_radius(height: Array) -> Array:
    """Radius of the bolt's thread at n heights and `THREAD_POINTS` angles, (n, THREAD_POINTS) [m].

    One pitch of the profile: a flat of 1/8 at the crest, flanks of 5/16 each, 1/4 at the root.
    """
    turns = np.arange(THREAD_POINTS) / THREAD_POINTS
    phase = (height[:, None] / PITCH - turns) % 1.0
    off_crest = np.minimum(phase, 1.0 - phase)
    below = np.clip((off_crest - 1.0 / 16.0) / (5.0 / 16.0), 0.0, 1.0)
    radius: Array = 0.5 * MAJOR - DEPTH * below
    return radius


def _turned(radius: Array, height: Array) -> Array:
    """Rings at given heights, their radius given for every point (n, m)."""
    unit = turned_profile(np.ones(len(height)), height, radius.shape[1])
    unit[..., :2] *= radius[..., None]
    return unit


def _hexagon(height: Array) -> Array:
    """Rings of a hexagon, a corner on +x."""
    angle = 2.0 * np.pi * np.arange(THREAD_POINTS) / THREAD_POINTS
    radius = 0.5 * ACROSS_FLATS / np.cos(angle % (np.pi / 3.0) - np.pi / 6.0)
    return _turned(np.tile(radius, (len(height), 1)), height)
