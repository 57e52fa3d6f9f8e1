"""The arrays: columns that do not overlap, empty tables, pointers to every field."""

from __future__ import annotations

import numpy as np
import pytest

import tangere as tg
from tangere import model
from tangere._jit import kernel
from tangere._ptr import local_f8, local_i4, local_i8, off, pointers, ptr
from tangere.model import (
    NF,
    NI,
    Hulls,
    Model,
    State,
    Work,
    new_pairs,
    new_soup,
    new_tree,
)
from tangere.scene.compile import compile_scene

pytestmark = pytest.mark.nojit

# Columns of more than one number.
WIDTHS = {
    "PI_SIMPLEX": 9,
    "PF_NORMAL": 3,
    "PF_ANCHOR_A": 3,
    "PF_ANCHOR_B": 3,
    "PF_CENTRE": 3,
    "PF_FORCE": 3,
    "PF_TORQUE": 3,
    "PF_MOMENTS": 3,
    "PF_LAW": 5,
}


@pytest.mark.parametrize(("prefix", "width"), [("PI_", NI), ("PF_", NF)])
def test_columns_do_not_overlap(prefix: str, width: int) -> None:
    taken: dict[int, str] = {}
    for name in (name for name in dir(model) if name.startswith(prefix)):
        start = getattr(model, name)
        for column in range(start, start + WIDTHS.get(name, 1)):
            assert column not in taken, f"{name} and {taken[column]} share column {column}"
            taken[column] = name
    assert min(taken) == 0
    assert max(taken) < width


def test_empty_tables() -> None:
    pairs = new_pairs(5)
    assert pairs.used.tolist() == [0, 5]
    assert sorted(pairs.free.tolist()) == [0, 1, 2, 3, 4]
    assert pairs.ints.shape == (5, NI)
    assert pairs.floats.shape == (5, NF)
    soup = new_soup(7)
    assert (len(soup.start), len(soup.owner), soup.xyz.shape) == (8, 7, (7, 3))
    tree = new_tree(5, 11)
    assert tree.nodes.shape == (16, 6)  # eight leaves
    assert (len(tree.keys), len(tree.owners)) == (11, 11)


@kernel
def _touch(m: Model, h: Hulls, s: State, w: Work) -> float:
    """Read through some pointers, write through others."""
    pm, ph, ps, pw = pointers(m), pointers(h), pointers(s), pointers(w)
    ps.velocity[4] = 7.0
    pw.pairs.floats[1] = 8.0
    pw.world.aabb[2] = 9.0
    pw.tree.nodes[3] = 10.0
    pw.soup.plane[4] = 11.0
    return float(pm.mass[1] + ph.verts[0] + pm.gravity[2])


def test_pointers_lead_to_the_arrays() -> None:
    scene = tg.Scene(gravity=(0, 0, -5.0))
    for k in range(2):
        scene.add_body(tg.Box((2.0, 1.0, 1.0)), mass=1.0 + k)
    c = compile_scene(scene)
    value = _touch(c.model, c.hulls, c.state, c.work)
    assert value == pytest.approx(2.0 + c.hulls.verts[0, 0] - 5.0)
    assert c.state.velocity[1, 1] == 7.0
    assert c.work.pairs.floats[0, 1] == 8.0
    assert c.work.world.aabb[0, 2] == 9.0
    assert c.work.tree.nodes[0, 3] == 10.0
    assert c.work.soup.plane[1, 1] == 11.0


@kernel
def _scratch(a: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    """Sum of an array copied through stack scratch of all kinds."""
    x, i, j = local_f8(4), local_i4(4), local_i8(4)
    p = ptr(a)
    total = 0.0
    for k in range(4):
        x[k] = off(p, 1)[k]
        i[k] = k
        j[k] = 1 << (40 + k)
        total += x[k] + i[k] + j[k]
    return total


def test_scratch_and_offsets() -> None:
    a = np.arange(6.0).reshape(2, 3)
    assert _scratch(a) == 1 + 2 + 3 + 4 + 6 + 15 * 2**40
