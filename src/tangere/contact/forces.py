"""Contact wrenches of an explicit step: the one place that goes from options to a force law."""

from __future__ import annotations

from tangere._jit import kernel
from tangere.contact.convex.options import ContactOptions
from tangere.contact.point.forces import respond as respond_at_points
from tangere.contact.volume.forces import add_wrenches
from tangere.contact.volume.forces import respond as respond_over_patches
from tangere.model import Hulls, Model, Sizes, State, Work


@kernel
def contact_forces(
    z: Sizes,
    m: Model,
    h: Hulls,
    s: State,
    w: Work,
    dt: float,
    step: int,
    rooms: tuple[int, int],
    options: ContactOptions,
    first: int,
    end: int,
) -> int:
    """Contacts of the pairs first…end−1 and their wrenches; OK or SOUP_FULL.

    Pairs of two bodies are never divided between two calls.
    """
    if options.single_point:
        return respond_at_points(z, m, h, s, w, dt, step)
    return respond_over_patches(z, m, h, s, w, dt, step, rooms, options, first, end)


@kernel
def sum_forces(s: State, w: Work, options: ContactOptions) -> None:
    """Add the wrenches that wait in the pairs' rows, in their order, to `s.wrench`."""
    if not options.single_point:
        add_wrenches(s, w)
