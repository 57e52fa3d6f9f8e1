"""Entry kernels run once on a tiny input, so that nothing compiles later in a running session.

With a warm cache this loads the machine code, in about a second; the first time on a machine it
compiles, under one progress bar. `python -m tangere.warmup` compiles what a scene in the hand needs
by the default method; a name gives another method, `all` everything. It does so on two cores: while
this process compiles the step, a second one compiles what does not need it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

import tangere as tg
from tangere._jit import JIT_DISABLED, compile_for, is_compiled, one_bar, stage
from tangere.contact.method import methods

BLOCK = (0.1, 0.1, 0.1)  # [m]
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
SOLVER = "half of the implicit step"


def jobs() -> Mapping[str, Callable[[], object]]:
    """Name and tiny run of everything that a user can call and that ends in a kernel."""
    return {
        SOLVER: partial(_half_step, second=True),
        "implicit step": step_block,
        "explicit step": _explicit_step,
        "contact law": _one_law,
        "energy": _one_energy,
        "distance": _one_distance,
        "contact volume": _one_volume,
        "friction": solve_contact,
        "devices": _some_devices,
        "servo": _one_servo,
        "tool": _one_tool,
        "fields": query_fields,
        "exact": query_exact,
        "levels": query_levels,
        "formations": find_formation,
        "session": touch_floor,
        **{f"method {name}": methods[name].warm_up for name in methods},
    }


# What a scene in the hand needs; and what a second process can compile meanwhile.
IN_HAND = ("implicit step", "contact law", "energy", "devices", "servo", "session")
APART = (
    SOLVER,
    "devices",
    "servo",
    "tool",
    "distance",
    "contact volume",
    "friction",
    "fields",
    "levels",
    "formations",
    "explicit step",
)


def warm_up(names: Iterable[str] | None = None) -> float:
    """Seconds that it took to have entry kernels compiled and loaded in this process.

    Args:
        names: Jobs to do; None: all.
    """
    start = time.perf_counter()
    chosen = list(jobs() if names is None else names)
    with one_bar():
        for name, job in jobs().items():
            if name in chosen:
                with stage(name):
                    job()
    return time.perf_counter() - start


def warm_up_together(names: Iterable[str] | None = None) -> float:
    """The same with the help of a second process, where the step has to be compiled."""
    chosen = list(jobs() if names is None else names)
    if is_compiled("tangere.steppers.implicit"):
        return warm_up(chosen)
    start = time.perf_counter()
    apart = [name for name in APART if name in chosen or name == SOLVER]
    code = f"from tangere.warmup import warm_up; warm_up({apart!r})"
    helper = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    with one_bar(), stage("implicit step"):
        _half_step(second=False)
        warm_up(name for name in chosen if name == "implicit step")
        helper.wait()  # what it could not compile is compiled here
        warm_up(name for name in chosen if name != SOLVER)
    return time.perf_counter() - start


def _half_step(second: bool) -> None:
    """Compile one half of the kernels that the implicit step calls, to be linked by its caller.

    first: the contacts; second: which parts meet, the solver, memory and books.
    """
    if JIT_DISABLED:
        return
    from numba import typeof, types

    from tangere.contact.convex import detect, manifold
    from tangere.elements.columns import element
    from tangere.implicit import energy_books, large, newton, remember
    from tangere.steppers import implicit

    stepper: Any = _block_on_floor().stepper
    c = stepper.arrays
    given = (c.sizes, c.model, c.hulls, c.state, c.work, stepper.dt, stepper.options)
    context = compile_for(implicit.context_of, *map(typeof, given))

    def field(kind: Any, *names: str) -> Any:
        for name in names:
            kind = kind.types[kind.fields.index(name)]
        return kind

    model, solver = field(context, "m"), field(context, "w", "solver")
    if second:
        compile_for(detect.meet, context, types.int64)
        island = (model, solver, types.int64, types.float64, types.boolean, types.float64)
        compile_for(newton.solve_island, *island)
        compile_for(large.solve_large_island, *island)
        for last in (remember.finish, remember.settle):
            compile_for(last, context)
        for last in (energy_books.open_books, energy_books.close_books):
            compile_for(last, context)
    else:
        row = compile_for(element, field(solver, "elements"), types.int64)
        compile_for(manifold.lay_out, context, row)
        compile_for(implicit.find_contacts, context, types.int64, types.boolean, types.int64)


def step_block(method: str = methods.default, integrator: str | None = None) -> None:
    """One step of a block on a floor, and its energy: one kernel makes those of all scenes."""
    sim = _block_on_floor(method, integrator)
    sim.step()
    _ = sim.energy


def touch_floor(method: str = methods.default) -> None:
    """Contact loop and tick of a hand."""
    scene = tg.Scene()
    scene.add_floor()
    scene.add_tool(tg.Box(BLOCK), position=(0.0, 0.0, 0.05))
    device = tg.devices.Scripted(lambda _: (0.0, 0.0, 0.049))
    tg.Session(scene, method=method, device=device).run(0.002, realtime=False)


def solve_contact() -> None:
    """Forces of one contact by every solver."""
    for solver in ("newton", "printed", "lemke"):
        tg.solve_friction(np.eye(3), (-1.0, 0.1, 0.0), 0.5, solver=solver)


def query_fields() -> None:
    """Distance fields, contacts and planes of meshes."""
    from tangere.collision.field_build import build
    from tangere.collision.surface_points import scatter
    from tangere.contact.penalty.tool_contact import PenaltyContact

    box = tg.Box(BLOCK)
    spacing = 0.25 * BLOCK[0]
    scatter(*box.surface(), build(*box.surface(), spacing), spacing)  # the user's may be on disk
    contact = PenaltyContact(box, [box], [((0.0, 0.0, 1.0), 0.0)])
    contact.query(((0.0, 0.0, 0.0499), UPRIGHT), body_poses=[((0.1, 0.0, 0.05), UPRIGHT)])
    contact.update()


def query_exact() -> None:
    """Contacts and distances of the triangles themselves, and the field of a union."""
    from tangere.collision.closed_surface import thickness
    from tangere.collision.field_build import build
    from tangere.collision.triangle_trees import closest_signed_distance
    from tangere.contact.penalty.tool_contact import PenaltyContact

    box = tg.Box(BLOCK)
    half = (0.5 * BLOCK[0], 0.0, 0.0)
    two = tg.Compound([box, box], [((0.0, 0.0, 0.0), UPRIGHT), (half, UPRIGHT)])
    thickness(*two.surface())
    build(*two.surface(), 0.25 * BLOCK[0])
    closest_signed_distance(two.surface(), np.zeros((1, 3)))
    PenaltyContact(two, [box], [((0.0, 0.0, 1.0), 0.0)], tg.Penalty(engine="exact")).update()


def query_levels() -> None:
    """Contact levels of a mesh, and contacts on them."""
    from tangere.collision.levels.hierarchy import build
    from tangere.collision.levels.threshold import contacts_at, pair_of

    vertices, triangles = tg.Cylinder(BLOCK[0], BLOCK[2]).surface()
    levels = build(vertices, triangles.astype(np.int64))
    pose = np.array([0.0, 0.0, BLOCK[2], *UPRIGHT])
    contacts_at(pair_of(levels, levels), pose, 1e-3, 1e-4)


def find_formation() -> None:
    """The contact formation of a box on a box, and all of two tetrahedra."""
    from tangere.contact.formation.all_formations import all_formations
    from tangere.contact.formation.identify import Formations
    from tangere.geometry.boundary import boundary_of

    box = boundary_of(tg.Box(BLOCK))
    Formations(box, [(box, ((0.0, 0.0, 0.0), UPRIGHT))]).find((0.0, 0.0, BLOCK[2]), UPRIGHT)
    small = boundary_of(tg.Convex(((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))))
    all_formations(small, small)


def _explicit_step() -> None:
    sim = _block_on_floor(integrator="explicit")
    sim.step()
    sim.hold(0).packet(1.0, 0.0)  # the wrench alone


def _one_law() -> None:
    _block_on_floor().contact_law(0, -1)


def _one_energy() -> None:
    _ = _block_on_floor().energy


def _block_on_floor(method: str = methods.default, integrator: str | None = None) -> tg.Simulation:
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(tg.Box(BLOCK), position=(0.0, 0.0, 0.05))
    return tg.Simulation(scene, method=method, integrator=integrator)


def _some_devices() -> None:
    """Those whose motion is computed, opened; and what calls the libraries of others."""
    from tangere.devices.native import warm_up as warm_up_native
    from tangere.maths.quat import from_vector, product, unit

    warm_up_native()
    for device in (tg.devices.Browser(), tg.devices.Hand()):
        device.open()
        device.close()
    unit(product(from_vector((0.0, 0.0, 0.0)), UPRIGHT))  # a space mouse adds up its turns


def _one_servo() -> None:
    """The paced loop."""
    from tangere.haptics.servo import warm_up as warm_up_servo

    warm_up_servo()


def _one_tool() -> None:
    """Steps of a tool by itself, as experiments make them."""
    from tangere.haptics.layout import (
        NHAND,
        NOUT,
        NTOOL,
        SET_INERTIA,
        SET_MASS,
        SET_STEP,
        new_rig,
    )
    from tangere.haptics.tool import step_along, step_once

    rig = new_rig()
    tg.VirtualCoupling().apply(rig.settings)
    rig.settings[SET_STEP], rig.settings[SET_MASS] = 1e-3, 0.01
    rig.settings[SET_INERTIA : SET_INERTIA + 3] = 1e-5
    step_once(rig.settings, rig.tool, rig.hand, rig.packet, 0.0, rig.grips, rig.out)
    hands, rows = rig.hand.reshape(1, NHAND), np.zeros((1, NTOOL + NOUT))
    step_along(rig.settings, rig.tool, hands, rig.packet, rig.grips, rig.out, rows)


def _one_distance() -> None:
    from tangere.collision.distance import warm_up as warm_up_distance

    warm_up_distance(tg.Box(BLOCK).parts()[0])


def _one_volume() -> None:
    box = tg.Box(BLOCK)
    tg.contact_volume(box, ((0.0, 0.0, 0.0), UPRIGHT), box, ((0.09, 0.01, 0.02), UPRIGHT))


def _main(given: list[str]) -> None:
    """`python -m tangere.warmup [all | METHOD …]`."""
    names: list[str] | None = list(IN_HAND)
    if given:
        names = None if "all" in given else [f"method {name}" for name in given]
    sys.stderr.write(f"tangere: kernels ready in {warm_up_together(names):.1f} s\n")


if __name__ == "__main__":
    _main(sys.argv[1:])
