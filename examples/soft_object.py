"""A soft pad is made from a closed surface, and a rigid ball is pressed into it."""

import numpy as np

import tangere as tg
from tangere.simulation import SoftBodyState

# any closed surface will do: a shape as here, or a file, tg.load("pad.stl")
mesh = tg.TetMesh.from_surface(tg.Cylinder(0.03, 0.03), edge_length=0.006)

scene = tg.Scene()
pad = scene.add_soft_body(
    mesh,
    young=95e3,  # [Pa]; soft silicone rubber
    poisson=0.45,
    density=1000.0,
    fixed=lambda x: x[:, 2] < -0.0149,  # glued to a table
    contact=lambda x: (x[:, 2] > 0.0149) & (np.hypot(x[:, 0], x[:, 1]) < 0.015),
)
ball = scene.add_body(tg.Sphere(0.01), fixed=True, position=(0, 0, 0.025), velocity=(0, 0, -0.01))

sim = tg.Simulation(scene, method="signorini", dt=1e-3)
sim.step(200)  # 2 mm
soft = sim[pad]
assert isinstance(soft, SoftBodyState)

force, contacts = sim[ball].contact_wrench[0], sim.contacts
under = np.linalg.norm(soft.vertices - sim[ball].position, axis=1) < 0.015
print(f"the pad pushes the ball up with {force[2]:.0f} N")
print(f"the hollow is {1e3 * (0.015 - contacts['point'][:, 2].min()):.0f} mm deep")
print(f"nothing overlaps by more than a nanometre: {contacts['depth'].max() < 1e-9}")
print(f"the stress is larger there: {soft.stress[under].mean() > 2 * soft.stress[~under].mean()}")
assert np.abs(force + soft.contact_wrench[0]).max() < 1e-12  # action is reaction
