"""What the experiments with contact formations share: a scripted run, its log, visits and figures.

A run leads the held body along poses at even ticks; the log keeps, tick by tick, the formation, the
type of the prior motion, case and forces of every principal contact, and the wrench.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.contact.formation.columns import (
    FIRST,
    FREE,
    GAINED,
    KEPT,
    LOST,
    MOST_CONTACTS,
    NPC,
    OUT_CASE,
    OUT_FRICTION,
    OUT_NORMAL_FORCE,
    OUT_STATE,
    PC_A,
    PC_B,
    PC_BODY,
    PC_GAP,
    PC_NORMAL,
    PC_POINT,
)
from tangere.contact.formation.columns import NOUT as NRESULT
from tangere.contact.formation.model import FormationModel
from tangere.contact.formation.options import Formation
from tangere.experiments.figures import COLOURS, FAINT, INK
from tangere.experiments.held_mesh import paint_placed
from tangere.geometry.shapes import Shape
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array, IntArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tangere.experiments.formation_paths import Path
    from tangere.experiments.pictures import Camera

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
SHORTEST = 5e-3  # a formation seen for less than this is a flicker [s]
NAMES_OF_MOTION = {FREE: "free", FIRST: "MT1", KEPT: "MT2", GAINED: "MT3", LOST: "MT4"}
NO_CONTACT = "free"
DIMENSIONS = ("vertex", "edge", "face")
HELD_COLOUR, FIXED_COLOUR = "#d9822b", "#b9c7d6"
BANDS = ("#dce8f2", "#f6e3c8", "#dfecdd", "#f2dcdd", "#e4dff0", "#d8ebeb", "#efe8d3")


class Placed(NamedTuple):
    """A fixed shape, its name and its pose in the world."""

    name: str
    shape: Shape
    position: Array
    orientation: Array


@dataclass(frozen=True)
class Stage:
    """A held shape of even density, its name and mass [kg], and all that it can touch."""

    name: str
    tool: Shape
    mass: float
    fixed: tuple[Placed, ...]

    def model(self, options: Formation, rate: float) -> FormationModel:
        """The force model for this stage; poses are those of the tool's centre of mass."""
        return FormationModel.of_shapes(
            self.tool,
            self.mass,
            [(each.shape, (each.position, each.orientation)) for each in self.fixed],
            options,
            1.0 / rate,
            names=[self.name, *(each.name for each in self.fixed)],
        )

    def paint(self, axes: Axes, camera: Camera, position: Array, orientation: Array) -> None:
        """All bodies, the held one with its centre of mass at that place."""
        turned = rotation_of(orientation)
        origin = position - turned @ self.tool.moments().centre
        placed = [
            (each.shape, each.position, rotation_of(each.orientation), FIXED_COLOUR)
            for each in self.fixed
        ]
        paint_placed(axes, camera, [*placed, (self.tool, origin, turned, HELD_COLOUR)])


class Visit(NamedTuple):
    """A formation that stayed for some ticks: its name, the first tick, the one after the last."""

    name: str
    first: int
    after: int


@dataclass(frozen=True)
class Log:
    """What a run gave, one row per tick; of contacts that are not there, NaN.

    Attributes:
        path: The poses.
        names: The formation.
        kinds: The same by the dimensions of its elements, such as "edge–face + face–edge".
        motion: FREE, FIRST … LOST.
        valid: Whether the formation can hold exactly.
        rows: Principal contacts, PC_…, (n, k, NPC).
        results: What the force model made of them, OUT_…, (n, k, NRESULT).
        force: On the held body [N], (n, 3).
        torque: The same about its centre of mass [N m].
    """

    path: Path
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    motion: IntArray
    valid: Array
    rows: Array
    results: Array
    force: Array
    torque: Array

    @property
    def count(self) -> Array:
        """Principal contacts, per tick."""
        return np.asarray(np.isfinite(self.rows[:, :, PC_GAP]).sum(axis=1))

    @property
    def gap(self) -> Array:
        """Of each contact [m], (n, k)."""
        return self.rows[:, :, PC_GAP]

    @property
    def normal(self) -> Array:
        """Of each contact plane, (n, k, 3)."""
        return self.rows[:, :, PC_NORMAL : PC_NORMAL + 3]

    @property
    def point(self) -> Array:
        """Of each contact [m], (n, k, 3)."""
        return self.rows[:, :, PC_POINT : PC_POINT + 3]

    @property
    def case(self) -> Array:
        """CASE_… of each contact, (n, k)."""
        return self.results[:, :, OUT_CASE]

    @property
    def state(self) -> Array:
        """STICK, SLIP or ROLL of each contact, (n, k)."""
        return self.results[:, :, OUT_STATE]

    @property
    def normal_force(self) -> Array:
        """F_n of each contact [N], (n, k)."""
        return self.results[:, :, OUT_NORMAL_FORCE]

    @property
    def friction(self) -> Array:
        """F_cf of each contact [N], (n, k, 3)."""
        return self.results[:, :, OUT_FRICTION : OUT_FRICTION + 3]

    def visits(self, shortest: float = 0.0, *, kinds: bool = False) -> list[Visit]:
        """Formations, or their kinds, in the order they came; those too short [s] are left out.

        What is before and after a visit that was left out is one, if it is the same.
        """
        found: list[Visit] = []
        tick = 0
        for name, same in groupby(self.kinds if kinds else self.names):
            length = sum(1 for _ in same)
            here = Visit(name, tick, tick + length)
            tick += length
            if length < shortest * self.path.rate:
                continue
            if found and found[-1].name == name:
                found[-1] = found[-1]._replace(after=here.after)
            else:
                found.append(here)
        return found

    def sequence(self, shortest: float = 0.0, *, kinds: bool = False) -> list[str]:
        """Their names."""
        return [visit.name for visit in self.visits(shortest, kinds=kinds)]


def follow(stage: Stage, path: Path, options: Formation) -> Log:
    """Lead the held body along a path."""
    model = stage.model(options, path.rate)
    n = len(path)
    names, kinds = [], []
    motion, valid = np.zeros(n, np.int32), np.zeros(n)
    rows = np.full((n, MOST_CONTACTS, NPC), np.nan)
    results = np.full((n, MOST_CONTACTS, NRESULT), np.nan)
    force, torque = np.zeros((n, 3)), np.zeros((n, 3))
    for k in range(n):
        found = model.update(path.positions[k], path.orientations[k], k / path.rate)
        names.append(found.formation)
        kinds.append(kind_of(model, found.contacts))
        motion[k], valid[k] = found.motion, found.valid
        count = len(found.contacts)
        rows[k, :count], results[k, :count] = found.contacts, found.results
        force[k], torque[k] = found.force, found.torque
    most = max(1, int(np.isfinite(rows[:, :, PC_GAP]).sum(axis=1).max()))
    return Log(
        path, tuple(names), tuple(kinds), motion, valid,
        rows[:, :most].copy(), results[:, :most].copy(),
        force, torque,
    )  # fmt: skip


def kind_of(model: FormationModel, contacts: Array) -> str:
    """Dimensions of the elements of a formation, in words."""
    if not len(contacts):
        return NO_CONTACT
    held = model.tool.elements.dimension
    words = []
    for row in contacts:
        fixed = model.fixed[int(row[PC_BODY])].elements.dimension
        words.append(f"{DIMENSIONS[held[int(row[PC_A])]]}–{DIMENSIONS[fixed[int(row[PC_B])]]}")
    return " + ".join(sorted(words))


def apart(log: Log, reference: Log, phase: str | None = None) -> float:
    """How far the forces are from those of another run, as a share of their size.

    Root mean square over the ticks that both runs have, of one phase or of all.
    """
    ours, theirs = (
        each.force if phase is None else each.force[each.path.ticks(phase)]
        for each in (log, reference)
    )
    rates = log.path.rate, reference.path.rate
    ours = ours[:: max(1, round(rates[0] / rates[1]))]
    theirs = theirs[:: max(1, round(rates[1] / rates[0]))]
    n = min(len(ours), len(theirs))
    return float(np.linalg.norm(ours[:n] - theirs[:n]) / np.linalg.norm(theirs[:n]))


# ------------------------------------------------ figures
def bands(panels: Sequence[Axes], log: Log, *, named: bool = True) -> None:
    """The formations as bands of colour behind the curves, named above the figure."""
    shades: dict[str, str] = {}
    for name, first, after in log.visits(SHORTEST):
        if name not in shades:
            shades[name] = BANDS[len(shades) % len(BANDS)]
        begin, end = first / log.path.rate, after / log.path.rate
        for panel in panels:
            panel.axvspan(begin, end, color=shades[name], lw=0, zorder=0)
    if named:
        from matplotlib.patches import Patch

        figure = panels[0].get_figure()
        assert figure is not None
        figure.legend(
            handles=[Patch(color=shade, label=name) for name, shade in shades.items()],
            loc="outside upper left", ncols=2, fontsize=7.0,
        )  # fmt: skip


def curves(axes: Axes, log: Log, values: Array, label: str, words: str, unit: str) -> None:
    """Three components over time."""
    time = np.arange(len(log.path)) / log.path.rate
    shades = (COLOURS["volume"], COLOURS["point"], COLOURS["signorini"])
    for column, name, shade in zip(values.T, "xyz", shades, strict=True):
        axes.plot(time, column, color=shade, lw=1.1, label=f"{label}{name}")
    axes.axhline(0.0, color=FAINT, lw=0.6)
    axes.set_xlabel("time [s]")
    axes.set_ylabel(f"{words} [{unit}]")
    axes.legend(fontsize=7.5)


def moments(stage: Stage, log: Log, ticks: Sequence[int], camera: Camera, caption: str) -> Figure:
    """The stage at a few ticks, with the contact force as an arrow and the formation's name."""
    from matplotlib.figure import Figure

    n = len(ticks)
    figure = Figure(figsize=(2.1 * n, 2.5))
    figure.set_label(caption)
    right, up, _ = camera.axes()
    centre = np.asarray(camera.centre)
    for i, tick in enumerate(ticks):
        words = f"{tick / log.path.rate:.2f} s: {log.names[tick]}"
        axes = figure.add_axes((i / n + 0.005, 0.19, 1.0 / n - 0.01, 0.8))
        stage.paint(axes, camera, log.path.positions[tick], log.path.orientations[tick])
        for point, normal, size in zip(
            log.point[tick], log.normal[tick], log.normal_force[tick], strict=True
        ):
            if not np.isfinite(size):
                continue
            tip = point + 0.12 * camera.height * min(size, 3.0) * normal
            tail, head = (
                (float((p - centre) @ right), float((p - centre) @ up)) for p in (point, tip)
            )
            axes.annotate(
                "", head, tail,
                arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.4, "mutation_scale": 8},
            )  # fmt: skip
        figure.text(
            (i + 0.5) / n, 0.17, "\n".join(textwrap.wrap(words, 34)),
            ha="center", va="top", fontsize=6.0,
        )  # fmt: skip
    return figure
