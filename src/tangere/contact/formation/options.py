"""What a user can choose of contact formations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tangere.errors import SceneError
from tangere.geometry.checks import hint, number, positive, show

Stick = Literal["anchor", "printed"]


@dataclass(frozen=True)
class Formation:
    """Options of contact formations.

    Attributes:
        stiffness: K, of the normal force of one principal contact [N/m].
        damping: D, along the normal [N s/m].
        tangential_stiffness: K_p, of a contact that sticks [N/m].
        static_friction: μ.
        kinetic_friction: μ_D, at most μ.
        layer: ε: elements touch from this distance on [m].
        release: They touch until they are this far apart [m].
        per_point: Stiffness and damping are spread over the region, so that a line or a plane
            resists tilting; False puts the force at its centroid, as the paper does.
        smooth_damper: The damper sets in over the first fifth of the layer.
        effective_mass: The impact uses the mass of A at the contact point; False: force and torque
            of its acceleration apart, as the paper does.
        clamp_impact: An impact force only pushes; False: F_v as printed.
        stick: "anchor", stick is measured from where it began; "printed", over one sample.
        blend: Time over which the wrench passes to that of another formation or case [s]; 0: at
            once, and without limits on its rate.
        force_rate: Most change of force by such a passage [N/s].
        torque_rate: Most change of torque by such a passage [N m/s].
        debounce: A contact that comes back within this time was never lost [s].
        velocity_window: Poses that the velocity of the damper is fitted to [s].
        window: Poses that every other velocity and the acceleration are fitted to [s].
        acceleration_band: Accelerations below this count as none [m/s²].
        angular_band: The same of angular accelerations [rad/s²].
        inertia: η, share of the inertial wrench of A that the hand feels.
        device_mass: Apparent mass of the device, which bounds that share [kg].
        max_force: Force of the device, torque scaled with it [N]; None: no limit.
        max_torque: Torque of the device, force scaled with it [N m]; None: no limit.
    """

    stiffness: float = 2300.0
    damping: float = 5.0
    tangential_stiffness: float = 1600.0
    static_friction: float = 0.7
    kinetic_friction: float = 0.08
    layer: float = 1.0e-3
    release: float = 1.2e-3
    per_point: bool = True
    smooth_damper: bool = False
    effective_mass: bool = False
    clamp_impact: bool = True
    stick: Stick = "anchor"
    blend: float = 5e-3
    force_rate: float = 300.0
    torque_rate: float = 10.0
    debounce: float = 5e-3
    velocity_window: float = 10e-3
    window: float = 30e-3
    acceleration_band: float = 0.3
    angular_band: float = 5.0
    inertia: float = 0.0
    device_mass: float = 0.1
    max_force: float | None = None
    max_torque: float | None = None

    def __post_init__(self) -> None:
        """Check every number."""
        for name in (
            "stiffness",
            "tangential_stiffness",
            "layer",
            "release",
            "force_rate",
            "torque_rate",
            "velocity_window",
            "window",
            "device_mass",
        ):
            self._set(name, positive(getattr(self, name), f"Formation {name}"))
        for name in (
            "damping",
            "static_friction",
            "kinetic_friction",
            "blend",
            "debounce",
            "acceleration_band",
            "angular_band",
        ):
            self._set(name, number(getattr(self, name), f"Formation {name}", least=0.0))
        self._set("inertia", number(self.inertia, "Formation inertia", least=0.0, most=1.0))
        for name in ("max_force", "max_torque"):
            given = getattr(self, name)
            if given is not None:
                self._set(name, positive(given, f"Formation {name}"))
        for name in ("per_point", "smooth_damper", "effective_mass", "clamp_impact"):
            if not isinstance(getattr(self, name), bool):
                raise SceneError(
                    f"Formation {name}: expected True or False, got {show(getattr(self, name))}"
                )
        choices = list(get_args(Stick))
        if self.stick not in choices:
            raise SceneError(
                f"Formation stick: unknown {show(self.stick)}{hint(self.stick, choices)}"
            )
        for name, other in (
            ("kinetic_friction", "static_friction"),
            ("layer", "release"),
            ("velocity_window", "window"),
        ):
            small, large = getattr(self, name), getattr(self, other)
            if small > large:
                raise SceneError(
                    f"Formation {name}: must not exceed {other} = {large:g}, got {show(small)}"
                )

    def _set(self, name: str, value: float) -> None:
        object.__setattr__(self, name, value)
