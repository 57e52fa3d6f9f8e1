"""Small scenes with a tool, and hands that move it."""

from __future__ import annotations

from typing import Any

import tangere as tg

RUBBER = tg.Material(static_friction=0.6, kinetic_friction=0.5)
START = (-0.12, 0.0, 0.05)


def pushed_block(**tool: Any) -> tg.Scene:
    """A block of 0.2 kg on a floor, a small cube in hand beside it."""
    scene = tg.Scene()
    scene.add_floor(material=RUBBER)
    scene.add_body(
        tg.Box((0.1, 0.1, 0.1)), mass=0.2, position=(0, 0, 0.05), material=RUBBER, name="block"
    )
    coupling = tg.VirtualCoupling(stiffness=300.0, max_force=8.0)
    given: dict[str, Any] = {"mass": 0.01, "position": START, "coupling": coupling}
    scene.add_tool(tg.Box((0.04, 0.04, 0.04)), **{"material": RUBBER, **given, **tool})
    return scene


def push(t: float) -> tuple[float, float, float]:
    """Towards the block, and slowly on: 3.7 mm into it after 0.5 s."""
    return (START[0] + min(0.12 * t, 0.0535), 0.0, START[2])
