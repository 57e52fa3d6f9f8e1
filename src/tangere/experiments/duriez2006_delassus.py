"""Delassus: what the Delassus operator of a table tells of its build.

An entry of W is the way that one contact goes under a force on another [m/N]. Normalised,

    N_cd = |W_cd|/√(W_cc W_dd)

by direction (normal, t1 along x, t2 along y) it is the coupling of two contacts, [DURIEZ2006]
Fig. 9: two on the same leg are coupled closely, two on different legs hardly. Bars that join legs
along x (Fig. 10) couple those legs, most of all along the bars, and lower the tangential compliance
(Fig. 11).

The paper concludes that W is dominated by its diagonal. It is not: contacts of one foot move
together, so that a block of the diagonal is far smaller than the sum of the others in its row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tangere.experiments import pictures, surface_pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import INK, canvas, house_style
from tangere.experiments.pressed_table import (
    CAMERA,
    PressedTable,
    TableParams,
    pressed_table,
    quadratic,
)
from tangere.maths.vec import Array, LongArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DIRECTIONS = {"n": 0, "t1": 1, "t2": 2}
PAIRS = ("same leg", "legs joined along x", "other legs")
# Mean couplings of an independent program, without and with bars.
REFERENCE = {
    ("same leg", "t1"): ".99 → .97",
    ("same leg", "t2"): ".99 → .97",
    ("legs joined along x", "t1"): ".007 → .87",
    ("legs joined along x", "t2"): ".017 → .46",
}
PUSH = 40.0  # on a foot, in the pictures [N]
MAGNIFIED = 60.0
DARKEST = 0.6e6  # von Mises stress in the pictures [Pa]


@dataclass(frozen=True)
class Params(TableParams):
    """Values of the experiment; SI units."""

    with_quadratic: bool = True


@dataclass(frozen=True)
class Coupling:
    """The operator of one table.

    Attributes:
        table: The table.
        normalised: N by direction n, t1, t2 (3, m, m).
    """

    table: PressedTable
    normalised: Array

    def between(self, pairs: str) -> NDArray[np.bool_]:
        """Which contacts are on the same leg, on legs that a bar joins, on others (m, m)."""
        leg = self.table.legs
        differ: LongArray = leg[:, None] ^ leg[None, :]  # 2: along x, 1: along y
        if pairs == "same leg":
            return np.asarray((differ == 0) & ~np.eye(len(leg), dtype=bool))
        return np.asarray(differ == 2 if pairs == "legs joined along x" else differ % 2 == 1)

    def mean(self, pairs: str, direction: str) -> float:
        """Mean coupling of such pairs."""
        return float(self.normalised[DIRECTIONS[direction]][self.between(pairs)].mean())

    def compliance(self, direction: str) -> float:
        """Mean compliance of a contact [m/N]."""
        return float(np.diag(self.table.W)[DIRECTIONS[direction] :: 3].mean())

    @property
    def dominance(self) -> Array:
        """|W_cc| over the sum of the other blocks' |W_cd| of every contact, spectral norms (m,)."""
        m = self.table.contacts
        blocks = self.table.W.reshape(m, 3, m, 3).transpose(0, 2, 1, 3)
        size = np.linalg.norm(blocks, ord=2, axis=(2, 3))
        return np.asarray(np.diag(size) / (size.sum(axis=1) - np.diag(size)))


@dataclass(frozen=True)
class Result:
    """The table without and with bars; the same with elements of ten nodes, if asked for."""

    params: Params
    plain: Coupling
    barred: Coupling
    quadratic: tuple[Coupling, Coupling] | None


def run(params: Params, tell: Tell = silent) -> Result:
    """Both operators."""
    tell(0.0, "without bars")
    plain = coupling(params, bars=False)
    tell(0.2, "with bars")
    barred = coupling(params, bars=True)
    softer = None
    if params.with_quadratic:
        tell(0.4, "elements of ten nodes")
        fine = quadratic(params)
        softer = coupling(fine, bars=False), coupling(fine, bars=True)
    return Result(params, plain, barred, softer)


def coupling(params: TableParams, *, bars: bool) -> Coupling:
    """The operator of all foot nodes, normalised."""
    table = pressed_table(params, corners=False, bars=bars)
    normalised = np.empty((3, table.contacts, table.contacts))
    for axis in DIRECTIONS.values():
        part = table.W[axis::3, axis::3]
        own = np.sqrt(np.diag(part))
        normalised[axis] = np.abs(part) / np.outer(own, own)
    return Coupling(table, normalised)


def check(result: Result) -> list[Claim]:
    """Couplings by pairs of legs, and what bars change."""
    plain, barred = result.plain, result.barred
    claims = []
    for d in DIRECTIONS:
        least = min(plain.mean("same leg", d), barred.mean("same leg", d))
        claims.append(
            Claim(f"same-{d}", f"contacts of the same leg, {d}: coupling above 0.7, without and "
                  "with bars", REFERENCE.get(("same leg", d), "closely coupled"), least, "",
                  least > 0.7)
        )  # fmt: skip
    for d in DIRECTIONS:
        most = max(plain.mean(pairs, d) for pairs in PAIRS[1:])
        claims.append(
            Claim(f"other-{d}", f"contacts of different legs, {d}: coupling below 0.05 without "
                  "bars", "at most .04", most, "", most < 0.05)
        )  # fmt: skip
    ratio = barred.mean(PAIRS[1], "t1") / plain.mean(PAIRS[1], "t1")
    softer = plain.compliance("t1") / barred.compliance("t1")
    claims += [
        Claim("bars-couple", "bars multiply the coupling of the legs that they join by 20 or more, "
              "along them", ".007 → .87, 124 times", ratio, "", ratio >= 20.0),
        Claim("bars-stiffen", "bars divide the compliance W_t1t1 by 3 or more",
              "3.55e-5 → 7.2e-6 m/N, 4.9 times", softer, "", softer >= 3.0),
    ]  # fmt: skip
    return claims


def beside(result: Result) -> list[Reading]:
    """All mean couplings, compliances, and how little the diagonal dominates."""
    shown = {"without bars": result.plain, "with bars": result.barred}
    if result.quadratic is not None:
        shown["without bars, ten nodes"], shown["with bars, ten nodes"] = result.quadratic
    rows = []
    for who, each in shown.items():
        rows += [
            Reading(f"coupling, {pairs}, {d}", who, each.mean(pairs, d), "")
            for pairs in PAIRS
            for d in DIRECTIONS
        ]
        rows += [Reading(f"mean W along {d}", who, each.compliance(d), "m/N") for d in DIRECTIONS]
        rows += [
            Reading("least |W_cc| over the sum of the other blocks in its row", who,
                    float(each.dominance.min()), ""),
            Reading("condition number of W", who, float(np.linalg.cond(each.table.W)), ""),
        ]  # fmt: skip
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """Fig. 9 and 11: the operators as pictures, red for the normal, green and blue for tangents."""
    figure, axes = canvas(
        "The Delassus operator of the feet without bars (left; Duriez et al. 2006, Fig. 9) and "
        "with bars along x (right; Fig. 11). The colour of a pair of contacts is its coupling: "
        "red along the normal, green along x, blue along y; white pairs move together in all "
        "directions. Contacts are sorted by legs, those at −x first.",
        columns=2,
        size=(8.2, 4.4),
    )
    for each, at, title in (
        (result.plain, axes[0], "without bars"),
        (result.barred, axes[1], "with bars"),
    ):
        _operator(at, each, title)
    bars, (left, right) = canvas(
        "Mean coupling of contacts by direction (left), and mean compliance of a contact (right): "
        "bars join legs along x, and make them stiff in that direction.",
        columns=2,
        size=(8.2, 3.2),
    )
    _bars(left, right, result)
    bars.legend(loc="outside lower center", ncols=3)
    return [figure, bars]


def _operator(axes: Axes, each: Coupling, title: str) -> None:
    """N as an image of three colour channels."""
    m = each.table.contacts
    image = np.clip(np.moveaxis(each.normalised, 0, -1), 0.0, 1.0)
    axes.imshow(image, extent=(0, m, m, 0), interpolation="nearest")
    axes.grid(False)
    legs = np.flatnonzero(np.diff(each.table.legs)) + 1
    for edge in legs.astype(float):
        axes.axhline(float(edge), color="white", lw=0.4)
        axes.axvline(float(edge), color="white", lw=0.4)
    middles = np.convolve([0, *legs, m], [0.5, 0.5], "valid")
    names = ["−x −y", "−x +y", "+x −y", "+x +y"]
    axes.set_xticks(middles, names)
    axes.set_yticks(middles, names, rotation=90, va="center")
    axes.tick_params(length=0)
    axes.set_xlabel("contact, by leg")
    axes.set_ylabel("contact, by leg")
    axes.set_title(title, loc="left")


def _bars(left: Axes, right: Axes, result: Result) -> None:
    """Mean couplings and compliances side by side."""
    shades = {"n": "#c0504d", "t1": "#5f9e5f", "t2": "#4a74b5"}
    words = {"n": "normal", "t1": "t1, along x", "t2": "t2, along y"}
    where = np.arange(len(PAIRS))
    for i, d in enumerate(DIRECTIONS):
        for j, (each, alpha) in enumerate(((result.plain, 0.45), (result.barred, 1.0))):
            at = 0.27 * (i - 1) + 0.12 * (j - 0.5)
            label = f"{words[d]}{', bars' if j else ''}"
            left.bar(where + at, [each.mean(pairs, d) for pairs in PAIRS], 0.11,
                     color=shades[d], alpha=alpha, label=label)  # fmt: skip
            right.bar(i + 0.4 * (j - 0.5), 1e6 * each.compliance(d), 0.36,
                      color=shades[d], alpha=alpha)  # fmt: skip
    left.set_yscale("log")
    left.set_ylim(1e-3, 1.6)
    left.set_xticks(where, PAIRS)
    left.set_xlabel("pairs of contacts")
    left.set_ylabel("mean coupling")
    right.set_xticks(range(3), list(words.values()))
    right.set_xlabel("direction; right bars: with bars")
    right.set_ylabel("compliance of a contact [µm/N]")
    right.axhline(0.0, color=INK, lw=0.8)


def strip(result: Result) -> Figure:
    """Fig. 10: both tables, one foot pushed along x and along y."""
    frames = []
    for each, name in ((result.plain, "without bars"), (result.barred, "with bars")):
        table = each.table
        own = np.flatnonzero(table.legs == 2)  # in front on the right
        for axis, along in ((1, "x"), (2, "y")):
            forces = np.zeros((table.contacts, 3))
            forces[own, axis] = PUSH / len(own)
            surface = table.surface(forces.ravel(), np.zeros(3), MAGNIFIED, DARKEST)
            foot = table.body.positions[table.nodes[own]].mean(axis=0)
            way = np.eye(3)[axis - 1]
            tail = foot + MAGNIFIED * PUSH * each.compliance(f"t{axis}") * way
            frame = pictures.Frame((), f"{name}: pushed along {along}",
                                   ((tail, tail + 0.12 * way, "#a33b3b"),))  # fmt: skip
            frames.append((surface, frame))
    return surface_pictures.strip(
        frames, CAMERA, f"One foot pushed by {PUSH:g} N, without and with bars (Fig. 10); "
        f"displacements {MAGNIFIED:g} times as large, colour by von Mises stress, 0 to "
        f"{1e-6 * DARKEST:g} MPa."
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="delassus",
    paper="Duriez et al. 2006, section 5.3, Fig. 9-11",
    summary="the Delassus operator shows which contacts are coupled: those of a leg, and by bars",
    params=Params(),
    quick=Params(with_quadratic=False),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
