"""A spinning block stops when exact theory of distributed friction says."""

from math import asinh, sqrt

import tangere as tg

SIDE, MASS, FRICTION, GRAVITY, SPIN = 0.2, 1.0, 0.3, 9.81, 10.0

felt = tg.Material(static_friction=FRICTION, kinetic_friction=FRICTION)
scene = tg.Scene(gravity=(0, 0, -GRAVITY))
scene.add_floor(material=felt)
block = scene.add_body(
    tg.Box((SIDE, SIDE, 0.05)), mass=MASS, position=(0, 0, 0.025), material=felt, name="block"
)

sim = tg.Simulation(scene, dt=1e-3)
sim.step(500)
sim[block].angular_velocity = (0, 0, SPIN)
begin = sim.time
while sim[block].angular_velocity[2] > 0:
    sim.step()
stop = sim.time - begin

torque = (sqrt(2) + asinh(1)) / 6 * FRICTION * MASS * GRAVITY * SIDE
theory = SPIN * (MASS * SIDE**2 / 6) / torque
print(f"stopped after {stop:.4f} s, theory {theory:.4f} s")
assert abs(stop / theory - 1) < 0.01
