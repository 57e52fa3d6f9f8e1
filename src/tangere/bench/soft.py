"""Time of the signorini step with soft bodies, and its growth with the number of contacts.

The runs are those of the experiment `contact-time`: a clip of 10,368 tetrahedra that a hand pushes
on a pipe and pulls off, and soft pads that it moves about on a floor. Times come from the clock of
the step. The problems that the pads leave are solved from no forces, too, beside Siconos.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from tangere.bench.friction import compare
from tangere.bench.report import Result, Row, Table, spread
from tangere.experiments.duriez2006_contact_time import CAPS, COUNTS, Params, timed_clip
from tangere.experiments.siconos_solver import siconos_works
from tangere.experiments.soft_timing import TICK, TOLERANCE, Timing, timed_pad
from tangere.steppers.profile import Profile

STEPS = 1000  # of every run, per round
PARAMS = Params()


def measure(rounds: int = 5, params: Params = PARAMS) -> Result:
    """The clip at several caps, pads of several sizes, and their problems beside Siconos."""
    begin = time.perf_counter()
    p = replace(params, fine_steps=STEPS * rounds)
    profiles: dict[str, Profile] = {}
    clips: list[Row] = []
    caps = [(most, mu) for most, mu, _ in COUNTS] + [(m, mu) for m in CAPS for mu in p.frictions]
    for most, mu in caps:
        timing = timed_clip(p, mu, most)
        profiles[f"clip, at most {most} contacts, friction {mu:g}"] = timing.profile
        clips.append({"most contacts": most, "friction": mu, **_both(timing)})
    pads: list[Row] = []
    grown: list[Row] = []
    for across in p.pads:
        m = across[0] * across[1]
        for mu in p.frictions:
            timing = timed_pad(across, mu, p.pad_steps, p.lead_in)
            profiles[f"pad, {m} contacts, friction {mu:g}"] = timing.profile
            pads.append({"contacts": m, "friction": mu, **_both(timing)})
        if timing.problem is not None:
            rows, _ = compare(timing.problem, rounds)
            grown += [{"contacts": m, **row} for row in rows]
    count = 6 * int(np.prod(p.fine_cells))
    tables = [
        Table(f"a clip of {count} tetrahedra on a pipe: W + solve + correction", clips),
        Table("a soft pad moved about on a floor: W + solve + correction", pads),
        Table(f"the pads' problems from no forces, friction {p.frictions[-1]:g}", grown),
    ]
    notes = [] if siconos_works() else ["Siconos is not installed: nothing to compare with"]
    settings = {
        "step_s": TICK,
        "tolerance": TOLERANCE,
        "clip_steps": p.fine_steps,
        "pad_steps": p.pad_steps,
        "rounds": rounds,
    }
    return Result("soft", settings, tables, notes, time.perf_counter() - begin, profiles)


def _both(timing: Timing) -> Row:
    """Contact handling of the steps that had contacts, and the whole step."""
    whole = spread(timing.whole)
    return {
        **spread(timing.handling[timing.contacts > 0]),
        "step p50 [µs]": whole["p50 [µs]"],
        "step p99 [µs]": whole["p99 [µs]"],
        "over 1 ms [%]": 100.0 * float(np.mean(timing.whole > TICK)),
    }
