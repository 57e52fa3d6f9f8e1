"""Choices of the methods for convex parts, as kernels see them; constant during a run."""

from __future__ import annotations

from typing import NamedTuple

PATCH, NONE, FIXED = 0, 1, 2  # normalization
EXACT, VERTEX = 0, 1  # friction rules
CLIP, DUAL = 0, 1  # algorithms

# A patch smaller than this share of the part's size squared is a point: rounding would rule its
# shape.
POINT_PATCH = 1e-10
# The patch turns about its centroid only if its radius of gyration exceeds this share of the part's
# size.
SMALL_GYRATION = 1e-3
# No part is thinner than this share of the smallest extent of its bounding box (1/√3 is the least).
DEEP = 0.5


class ContactOptions(NamedTuple):
    """What a contact method chose."""

    single_point: bool  # all force acts at the deepest point; else it is spread over the patch
    normalization: int = PATCH  # what pressure is divided by: PATCH, NONE or FIXED
    friction: int = EXACT  # how slip is summed over the patch: EXACT or VERTEX
    algorithm: int = CLIP  # of the overlap: CLIP or DUAL
