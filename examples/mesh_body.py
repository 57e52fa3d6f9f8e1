"""A concave mesh is cut into convex pieces and then falls like any other body."""

import numpy as np

import tangere as tg

# an L-shaped prism: outline, then bottom and top, then walls
outline = np.array([(0, 0), (0.3, 0), (0.3, 0.1), (0.1, 0.1), (0.1, 0.3), (0, 0.3)])
vertices = np.array([(x, y, z) for z in (0, 0.1) for x, y in outline])
lid = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
faces = [(a, c, b) for a, b, c in lid] + [(a + 6, b + 6, c + 6) for a, b, c in lid]
for i in range(6):
    j = (i + 1) % 6
    faces += [(i, j, j + 6), (i, j + 6, i + 6)]

bracket = tg.Mesh(vertices, faces)
print(f"{len(bracket.parts())} convex pieces, volume {1e6 * bracket.moments().volume:.0f} cm³")

scene = tg.Scene()
scene.add_floor()
body = scene.add_body(bracket, mass=1.0, position=(0, 0, 0.2), name="bracket")
sim = tg.Simulation(scene, dt=1e-3)
sim.step(2000)
print(f"rests at height {1e3 * sim[body].position[2]:.2f} mm")
assert abs(sim[body].position[2]) < 1e-3
