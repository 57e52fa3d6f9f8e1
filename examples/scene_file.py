"""A scene is written to a TOML file and comes back equal."""

import tempfile
from pathlib import Path

import tangere as tg

scene = tg.Scene()
ice = tg.Material(static_friction=0.05, kinetic_friction=0.03)
scene.add_floor(material=ice)
puck = scene.add_body(
    tg.Cylinder(0.04, 0.025), mass=0.17, position=(0, 0, 0.0125), velocity=(3, 0, 0),
    angular_velocity=(0, 0, 20), material=ice, name="puck",
)  # fmt: skip

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "puck.toml"
    scene.save(path)
    print(path.read_text())
    again = tg.Scene.load(path)

assert again == scene
sim = tg.Simulation(again, dt=1e-3)
sim.step(2000)
print(f"after 2 s the puck is {sim['puck'].position[0]:.2f} m away")
assert 4.0 < sim["puck"].position[0] < 6.0
