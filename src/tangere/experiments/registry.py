"""The experiments by name, in the order of the report."""

from __future__ import annotations

import difflib
from typing import Any

from tangere.errors import SceneError
from tangere.experiments import (
    contact_delay,
    cube_toss,
    duriez2006_contact_time,
    duriez2006_delassus,
    duriez2006_friction_cone,
    duriez2006_quasi_rigid,
    duriez2006_snap_in,
    duriez2006_solver_time,
    duriez2006_table,
    energy_audit,
    hasegawa2004_block_tower,
    hasegawa2004_falling_cube,
    hasegawa2004_stick_slip,
    hasegawa2004_two_hands,
    hertz,
    luo2004_ball_on_cylinders,
    luo2004_cylinder_in_pipe,
    luo2004_cylinder_pivot,
    luo2004_guarded_motion,
    luo2004_odd_contacts,
    luo2004_peg_in_hole,
    luo2004_pen_in_bowl,
    luo2004_turning_faces,
    otaduy2005_free_spoon,
    otaduy2005_jaws,
    otaduy2005_spoon_and_cup,
    rolling,
    spin_down,
)
from tangere.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment[Any, Any]] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        hasegawa2004_block_tower,
        hasegawa2004_falling_cube,
        hasegawa2004_stick_slip,
        hasegawa2004_two_hands,
        luo2004_peg_in_hole,
        luo2004_pen_in_bowl,
        luo2004_cylinder_in_pipe,
        luo2004_ball_on_cylinders,
        luo2004_cylinder_pivot,
        luo2004_guarded_motion,
        luo2004_turning_faces,
        luo2004_odd_contacts,
        otaduy2005_free_spoon,
        otaduy2005_spoon_and_cup,
        otaduy2005_jaws,
        duriez2006_table,
        duriez2006_friction_cone,
        duriez2006_solver_time,
        duriez2006_delassus,
        duriez2006_quasi_rigid,
        duriez2006_snap_in,
        duriez2006_contact_time,
        spin_down,
        rolling,
        cube_toss,
        energy_audit,
        contact_delay,
        hertz,
    )
}

# To be built: who asks for one of them does not mean another.
PLANNED = frozenset("spinning-top tippe-top gears insect".split())


def find(name: str) -> Experiment[Any, Any]:
    """The experiment of that name; a `SceneError` with the closest name otherwise."""
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    known = ", ".join(EXPERIMENTS)
    if name in PLANNED:
        raise SceneError(f"experiment '{name}' is not there yet: choose from {known}")
    close = difflib.get_close_matches(name, EXPERIMENTS, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"choose from {known}"
    raise SceneError(f"unknown experiment '{name}': {hint}")


def select(names: list[str]) -> list[Experiment[Any, Any]]:
    """The named experiments, each once; all of them for `all` or no name."""
    if not names or "all" in names:
        return list(EXPERIMENTS.values())
    return [find(name) for name in dict.fromkeys(names)]
