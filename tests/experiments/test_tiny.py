"""Every experiment on a run too short for its claims, but small enough for plain Python.

The claims need not hold; everything must still be computed, told and drawn.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tangere._jit import JIT_DISABLED
from tangere.experiments.experiment import reproduce
from tangere.experiments.figures import png, svg
from tangere.experiments.registry import EXPERIMENTS

TINY: dict[str, dict[str, Any]] = {
    "block-tower": {
        "heights": (1, 6, 13),
        "stand_seconds": 0.1,
        "tall_seconds": 0.02,
        "control_seconds": 0.1,
        "point_dt": 1e-2,
        "rounds": 1,
        "steps_per_round": 1,
        "stiff_dt": 5e-2,
        "stiff_seconds": 0.1,
        "seeds": (1,),
        "high_count": 14,
        "structure_dt": 5e-2,
        "limit_seconds": 0.1,
    },
    "falling-cube": {"seconds": 2.0},
    "stick-slip": {
        "seconds": 4.5,
        "fast_seconds": 1.5,
        "slope_seconds": 6.1,
        "slope_steps": (5e-3, 1e-2),
        "dt": 5e-3,
    },
    "spin-down": {
        "dt": 5e-3,
        "quadrature": 16,
        "ratios": (1.0,),
        "ratio_steps": (2e-2,),
        "smooth_steps": (4e-2, 2e-2, 1e-2),
        "smooth_explicit_step": 1e-2,
    },
    "rolling": {
        "seconds": 0.1,
        "steps": (2e-2,),
        "explicit_step": 5e-3,
        "cone_rates": (0.4, 2.5),
        "slope_seconds": 0.2,
        "slide_seconds": 0.1,
        "row_seconds": 0.06,
        "with_peers": False,
    },
    "peg-in-hole": {"rate": 20.0},
    "pen-in-bowl": {"rate": 20.0, "spin_seconds": 0.2},
    "cylinder-in-pipe": {"rate": 20.0},
    "ball-on-cylinders": {"rates": (20.0, 10.0), "seconds": 0.5},
    "cylinder-pivot": {"rates": (20.0, 10.0), "seconds": 0.5},
    "guarded-motion": {"rates": (1000.0,), "sweep": 2, "seeds": (1,)},
    "odd-contacts": {"levers": 2, "angles": 2, "before": 0.004},
    "turning-faces": {"rate": 20.0, "offsets": (0.0,), "seconds": 0.3, "cells": 20},
    "free-spoon": {
        "seconds": 0.03,
        "dampings": (0.009,),
        "masses": (1e-3, 1e-2, 0.1),
        "precision": 1e3,
    },
    "table": {
        "frictions": (0.0, 0.2, 0.5),
        "simulated": (0.0,),
        "steps": 2,
        "with_quadratic": False,
    },
    "friction-cone": {"draws": 1, "sides": (4,)},
    "solver-time": {"contacts": (4, 8), "draws": 1, "repeats": 1},
    "delassus": {"with_quadratic": False},
    "quasi-rigid": {"cells": 2, "starts": 2, "settle_seconds": 0.003, "rest_seconds": 0.001},
    "spoon-and-cup": {"seconds": 0.05, "start": (0.0668, 0.0, 0.0), "prelude": 0.02},
    "jaws": {"errors": (0.025,), "periods": (2, 10), "seconds": 0.05, "gap": 0.0, "pressed": 0.04},
    "cube-toss": {"splits": 2, "evaluations": (3, 3), "substeps": 2, "workers": 1},
    "energy-audit": {"scenes": 8, "seconds": 0.02, "workers": 1},
    "two-hands": {
        "grasped": 0.002,
        "lifted": 0.003,
        "settle": 0.001,
        "held": 0.006,
        "tilted": 0.007,
        "released": 0.008,
        "seconds": 0.009,
    },
    "contact-time": {
        "frictions": (0.8,),
        "height": 0.0129,
        "fine_cells": (4, 1, 1),
        "fine_steps": 3,
        "pads": ((2, 2),),
        "pad_steps": 2,
        "lead_in": 1,
        "cells": (6, 1, 1),
        "rates": (250.0, 100.0),
        "seconds": 0.02,
    },
    "snap-in": {
        "cells": (8, 1, 1),
        "fine_cells": (10, 1, 1),
        "ways": (3e-3, 2.5e-3),
        "turn_way": 1e-4,
        "jam_way": 3e-3,
        "blunt_way": 5e-3,
        "hand_speed": 0.5,
        "hand_steps": (3e-3, 5e-3),
        "rest": 5e-3,
        "pipe_cells": (12, 1, 8),
        "pipe_dt": 5e-3,
    },
    "contact-delay": {
        "device_delays": (0, 1),
        "contact_periods": (2,),
        "couplings": (200.0,),
        "grid": 2,
        "seconds": 0.01,
        "rest_seconds": 0.01,
        "last": 0.005,
    },
    "hertz": {
        "moduli": (1e6,),
        "size": (0.06, 0.06, 0.06),
        "core": (1, 1, 1),
        "growing": (1, 1, 1),
        "radius": 4e-3,
        "steps": 3,
        "max_contacts": 10,
        "few_contacts": 5,
    },
}


# Distance fields of meshes take minutes in plain Python.
COMPILED = {"spoon-and-cup", "jaws"}


def test_every_experiment_has_a_tiny_run() -> None:
    assert set(TINY) == set(EXPERIMENTS)


def made_up_tosses(folder: Path) -> None:
    """A file of six cubes that drift level above the floor, one of them said to spin."""
    tosses = np.zeros((6, 8, 13))
    tosses[:, :, 0] = 0.01 * np.arange(8)
    tosses[:, :, 2] = 0.06
    tosses[:, :, 3], tosses[:, :, 7] = 1.0, 1.0
    tosses[1, :, 10] = 3.0
    np.savez(folder / "cube_tosses.npz", *tosses)


@pytest.mark.parametrize("name", TINY)
def test_a_tiny_run_is_judged_and_drawn(name: str, tmp_path: Path) -> None:
    if JIT_DISABLED and name in COMPILED:
        pytest.skip("needs compiled kernels")
    experiment = EXPERIMENTS[name]
    params = replace(experiment.params, **TINY[name])
    if hasattr(params, "data"):
        made_up_tosses(tmp_path)
        params = replace(params, data=str(tmp_path))
    if lacking := experiment.missing(params):
        pytest.skip(lacking)
    outcome = reproduce(experiment, params)
    told = json.loads(json.dumps(outcome.as_json(), allow_nan=False))
    assert told["name"] == name
    assert {claim["id"] for claim in told["claims"]} == {claim.id for claim in outcome.claims}
    assert len(outcome.claims) >= 3
    assert all(svg(figure).startswith("<svg") for figure in experiment.plot(outcome.result))
    assert png(experiment.pictures(outcome.result), 30).startswith(b"\x89PNG")
