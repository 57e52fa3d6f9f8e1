"""Ball on two cylinders: compliant motion, [LUO2004] test 1 and Fig. 10.

A ball of 0.5 kg and 20 mm slides along two crossed cylinders and keeps contact with both. The paper
prints its forces and torques without the geometry and the path; here the cylinders lie along x and
y, and the ball's centre goes round them at constant rate,

    c = ρ (cos ψ, cos ψ, sin ψ),   ψ = −60° … 60°,   ρ such that the gap is half of ε.

Then everything has a closed form: with F_n = K (ε − d) the normal forces are F_n (cos ψ, cos ψ,
2 sin ψ), friction −2 μ_D F_n v̂ with v̂ ∝ (−sin ψ, −sin ψ, cos ψ), torque r μ_D F_n √(1 + sin² ψ)
(1, −1, 0). The paper's signs all follow: F_z goes from − to +, F_x and F_y rise and fall, τ_x is
positive and τ_y negative. τ_z is zero; it has both signs as soon as the hand is not exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tangere.contact.formation.columns import CASE_SLIDING, KEPT
from tangere.contact.formation.options import Formation
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import FAINT, canvas, house_style
from tangere.experiments.formation_log import Log, Placed, Stage, apart, bands, curves, follow
from tangere.experiments.formation_log import moments as pictures_of
from tangere.experiments.formation_paths import Path, ball_over_cylinders
from tangere.experiments.pictures import Camera
from tangere.geometry.shapes import Cylinder, Sphere
from tangere.maths.rotations import quaternion_of
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAMERA = Camera(azimuth=40.0, elevation=25.0, centre=(0.03, 0.03, 0.0), width=0.16, height=0.16)
OUTLIER = 5e-3  # a torque beyond this would be one of the paper's scattered ones [N m]


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units."""

    radius: float = 0.020
    mass: float = 0.5
    cylinder: float = 0.015
    length: float = 0.16
    seconds: float = 3.0
    begin: float = -60.0
    end: float = 60.0
    rates: tuple[float, ...] = (1000.0, 500.0, 4000.0)
    seed: int = 1


@dataclass(frozen=True)
class Result:
    """Runs by rate, the first one that of the figures, and one with a trembling hand."""

    params: Params
    logs: dict[float, Log]
    noisy: Log

    @property
    def main(self) -> Log:
        """The run of the figures."""
        return self.logs[self.params.rates[0]]


def stage(p: Params) -> Stage:
    """The ball and the cylinders along x and y."""
    rod = Cylinder(p.cylinder, p.length)
    along_x = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    along_y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    return Stage(
        "ball",
        Sphere(p.radius),
        p.mass,
        (
            Placed("rod x", rod, np.zeros(3), quaternion_of(along_x)),
            Placed("rod y", rod, np.zeros(3), quaternion_of(along_y)),
        ),
    )


def path(p: Params, rate: float) -> Path:
    """The ball's way round both cylinders."""
    layer = Formation().layer
    reach = p.radius + p.cylinder + 0.5 * layer
    begin, end = math.radians(p.begin), math.radians(p.end)
    return ball_over_cylinders(reach, reach + 2.0 * layer, rate, p.seconds, begin, end)


def run(params: Params, tell: Tell = silent) -> Result:
    """The same way at every rate, and with a trembling hand."""
    p = params
    logs = {}
    for i, rate in enumerate(p.rates):
        tell(i / (len(p.rates) + 1), f"{rate:g} Hz")
        logs[rate] = follow(stage(p), path(p, rate), Formation())
    tell(len(p.rates) / (len(p.rates) + 1), "trembling hand")
    noisy = follow(stage(p), path(p, p.rates[0]).noisy(p.seed), Formation())
    return Result(p, logs, noisy)


def theory(p: Params, at: Path) -> tuple[Array, Array, Array]:
    """Normal forces together, friction, and torque in phase "log" [N, N m]."""
    options = Formation()
    x, _, z = at.positions[at.ticks("log")].T
    psi = np.arctan2(z, x)
    c, s = np.cos(psi), np.sin(psi)
    press = options.stiffness * 0.5 * options.layer
    normal = press * np.column_stack((c, c, 2.0 * s))
    way = np.column_stack((-s, -s, c)) / np.sqrt(1.0 + s * s)[:, None]
    friction = -2.0 * options.kinetic_friction * press * way
    size = p.radius * options.kinetic_friction * press * np.sqrt(1.0 + s * s)
    torque = size[:, None] * np.array([1.0, -1.0, 0.0])
    return normal, friction, torque


def check(result: Result) -> list[Claim]:
    """Closed forms, signs as printed, motion types, a trembling hand, independence of the rate."""
    p, log = result.params, result.main
    at = log.path.ticks("log")
    normal, friction, torque = theory(p, log.path)
    pressed = np.nansum(log.normal_force[at][..., None] * log.normal[at], axis=1)
    rubbed = np.nansum(log.friction[at], axis=1)
    misses = [
        float(np.abs(a - b).max())
        for a, b in ((pressed, normal), (rubbed, friction), (log.torque[at], torque))
    ]
    force, turning = log.force[at], log.torque[at]
    rise = int(np.argmax(force[:, 0]))
    signs = (
        force[0, 2] < 0.0 < force[-1, 2]
        and 0 < rise < len(force) - 1
        and bool((turning[:, 0] > 0.0).all())
        and bool((turning[:, 1] < 0.0).all())
    )
    sliding = (log.motion[at] == KEPT) & (log.case[at, :2] == CASE_SLIDING).all(axis=1)
    share = float(np.mean(sliding & (log.count[at] == 2)))
    noisy = result.noisy
    tremble = noisy.torque[noisy.path.ticks("log")]
    worst = float(np.abs(tremble).max())
    both = bool((tremble[:, 2] > 0.0).any() and (tremble[:, 2] < 0.0).any())
    spread = max((apart(each, log, "log") for each in result.logs.values()), default=0.0)
    same = noisy.sequence(5e-3) == log.sequence(5e-3)
    off = apart(noisy, log)
    return [
        Claim("normal", "normal forces equal F_n (cos ψ, cos ψ, 2 sin ψ) to 1e-6 N", "closed form",
              misses[0], "N", misses[0] < 1e-6),
        Claim("friction", "friction equals −2 μ_D F_n v̂ to 1e-6 N", "closed form",
              misses[1], "N", misses[1] < 1e-6),
        Claim("torque", "torque equals r μ_D F_n √(1 + sin² ψ) (1, −1, 0) to 1e-6 N mm",
              "closed form", 1e3 * misses[2], "N mm", misses[2] < 1e-9),
        Claim("signs", "F_z goes from − to +, F_x rises and falls, τ_x > 0 and τ_y < 0",
              "Fig. 10: the same", force[-1, 2], "N at the end", signs),
        Claim("sliding", "both contacts slide, the formation kept (MT2, case d), in every tick",
              "MT2", share, "", share == 1.0),
        Claim("outliers", "a trembling hand gives no torque above 5 N mm, and τ_z of both signs",
              "scattered large ones", 1e3 * worst, "N mm", worst < OUTLIER and both),
        Claim("noise", "… the same formations, and forces within 10 % (rms)",
              "-", 100.0 * off, "%", same and off < 0.1),
        Claim("rate", "forces at 500 Hz and 4 kHz are those at 1 kHz within 2 % (rms)", "-",
              100.0 * spread, "%", spread < 0.02),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """Extremes of force and torque, and the ball's weight, which the hand feels beside them."""
    log = result.main
    at = log.path.ticks("log")
    sizes = 1e3 * np.linalg.norm(log.torque[at], axis=1)
    return [
        Reading("contact force F_x at most", "here", float(log.force[at, 0].max()), "N"),
        Reading("torque", "here", float(sizes.min()), "N mm", f"to {sizes.max():.3g} N mm"),
        Reading("weight of the ball, not part of these", "here", 9.8 * result.params.mass, "N"),
    ]


@house_style
def plot(result: Result) -> list[Figure]:
    """Fig. 10 (b) and (c) of the paper, test 1: contact force and torque over time."""
    figures = []
    for log, words in (
        (result.main, "of an exact hand"),
        (result.noisy, "of a hand that trembles by 0.01 mm and 0.01°"),
    ):
        figure, axes = canvas(
            f"Ball on two cylinders: contact force and torque {words}, formations as bands of "
            "colour. After Fig. 10, test 1, of the paper.",
            columns=2, size=(9.0, 3.4),
        )  # fmt: skip
        bands(axes, log)
        curves(axes[0], log, log.force, "F_", "contact force", "N")
        curves(axes[1], log, 1e3 * log.torque, "τ_", "torque", "N mm")
        figures.append(figure)
    time = np.arange(len(result.main.path)) / result.main.path.rate
    at = result.main.path.ticks("log")
    normal, friction, _ = theory(result.params, result.main.path)
    for component in (normal + friction).T:
        figures[0].axes[0].plot(time[at][::150], component[::150], ".", color=FAINT, ms=4)
    return figures


def strip(result: Result) -> Figure:
    """The ball at five places of its way."""
    log = result.main
    at = log.path.ticks("log")
    ticks = [int(t) for t in np.linspace(at.start, len(log.path) - 1, 5)]
    return pictures_of(
        stage(result.params), log, ticks, CAMERA,
        "The ball slides along both cylinders; arrows: normal forces.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="ball-on-cylinders",
    paper="Luo and Xiao 2004, Fig. 10, test 1",
    summary="a ball slides along two cylinders: forces and torques of two contacts at once",
    params=Params(),
    quick=Params(seconds=1.0, rates=(1000.0, 500.0)),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
