"""A block falls on the floor and comes to rest: the first ten lines with tangere."""

import tangere as tg

scene = tg.Scene(gravity=(0, 0, -9.81))
rubber = tg.Material(static_friction=0.6, kinetic_friction=0.5)
scene.add_floor(material=rubber)
block = scene.add_body(
    tg.Box((0.2, 0.2, 0.1)), mass=1.0, position=(0, 0, 0.5), material=rubber, name="block"
)

sim = tg.Simulation(scene, method="volume", dt=1e-3)
for _ in range(5):
    sim.step(200)
    print(
        f"{sim.time:.1f} s: height {sim[block].position[2]:.4f} m, "
        f"kinetic energy {sim.energy.kinetic:.1e} J"
    )

assert abs(sim[block].position[2] - 0.05) < 1e-3, "it lies flat on the floor"
