"""Explicit steps: thirteen blocks stand with the volume method and fall with the point method."""

import numpy as np

import tangere as tg


def drift(method: str) -> float:
    """Largest sideways way of a block of the tower in two seconds [m]."""
    wood = tg.Material(stiffness=1e5, damping=100)
    scene = tg.Scene(gravity=(0, 0, -9.8))
    scene.add_floor(material=wood)
    for i in range(13):
        depth = sum(13 - j for j in range(i + 1)) * 9.8 / 1e5  # of all contacts below, at rest
        shift = 1e-3 * (-1) ** i
        scene.add_body(
            tg.Box((2, 1, 1)), mass=1, position=(shift, 0, i + 0.5 - depth), material=wood
        )
    sim = tg.Simulation(scene, method=method, dt=1e-3, integrator="explicit")
    start = sim.positions
    sim.step(2000)
    return float(np.abs(sim.positions - start)[:, :2].max())


standing, falling = drift("volume"), drift("point")
print(f"volume method: {1e3 * standing:.3f} mm, point method: {falling:.1f} m")
assert standing < 1e-3
assert falling > 0.5
