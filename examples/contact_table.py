"""What touches what, where and how hard: the table of contacts."""

import tangere as tg

scene = tg.Scene()
scene.add_floor()
scene.add_body(tg.Box((0.4, 0.4, 0.1)), mass=2.0, position=(0, 0, 0.05), name="plate")
scene.add_body(tg.Sphere(0.1), mass=1.0, position=(-0.1, 0, 0.2), name="ball")
scene.add_body(tg.Cylinder(0.05, 0.1), mass=0.5, position=(0.1, 0, 0.15), name="cylinder")

sim = tg.Simulation(scene, dt=1e-3)
sim.step(1000)
names = [body.name for body in scene.bodies]
for row in sim.contacts:
    a = names[row["body_a"]] if row["body_a"] >= 0 else "floor"
    b = names[row["body_b"]]
    print(
        f"{a:8s} {b:8s} depth {1e3 * row['depth']:.3f} mm, area {1e4 * row['area']:.2f} cm², "
        f"force {row['force'][2]:.2f} N, {'sticks' if row['sticking'] else 'slips'}"
    )

force, torque = sim["plate"].contact_wrench
carried = sum(row["force"][2] for row in sim.contacts if row["body_a"] < 0)
print(f"the floor carries {carried:.2f} N")
assert abs(carried - 3.5 * 9.81) < 0.05 * 3.5 * 9.81
