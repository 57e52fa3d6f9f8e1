"""A block pulled through a spring sticks and slips in turn; the spring's tension tells."""

import numpy as np

import tangere as tg

wood = tg.Material(static_friction=0.5, kinetic_friction=0.3, stiffness=2e4, damping=60)
scene = tg.Scene(gravity=(0, 0, -9.8))
scene.add_floor(material=wood)
block = scene.add_body(
    tg.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0, 0, 0.05), material=wood, name="block"
)
scene.add_spring(block, anchor_a=(0, 0, -0.05), stiffness=50, velocity=(0.05, 0, 0), name="pull")

sim = tg.Simulation(scene, dt=1e-3)
tension = []
for _ in range(800):
    sim.step(10)
    tension.append(sim.spring_forces[0, 0])
    if len(tension) % 40 == 0:
        print(f"{sim.time:4.1f} s  {tension[-1]:5.2f} N  " + "#" * round(10 * tension[-1]))

late = np.array(tension[300:])
print(f"tension between {late.min():.2f} and {late.max():.2f} N; theory 0.95 and 4.93 N")
assert late.max() > 4.7
assert late.min() < 1.2
