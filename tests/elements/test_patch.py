"""Force against the gradient of the convex potential, curvature against the force's own slope."""

from __future__ import annotations

import numpy as np
import pytest
from implicit.touching import Contact, Law, polygon
from numpy.typing import NDArray
from oracles.quadrature import coulomb, integrate

from tangere.elements.columns import (
    BREAKS,
    EF_BOUNCE,
    EF_E,
    EI_MODE,
    HOLDS,
    PATCH_KIND,
    POINT_KIND,
    SLIDES,
)

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

MODES = [HOLDS, BREAKS, SLIDES]
SQUARE = ((-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1))
TRIANGLE = ((-0.05, -0.08), (0.12, -0.02), (-0.01, 0.09))
DEEP = [polygon(SQUARE, (2e-3, 3e-3, 2.5e-3, 1.5e-3))]  # presses all over
LEANING = [polygon(SQUARE, (-1e-3, 2e-3, 2.2e-3, -0.8e-3))]  # a part does not
# two faces of a roof, and a fan whose apex is deeper than its rim
ROOF = [
    polygon(((-0.1, -0.1), (0.0, -0.1), (0.0, 0.1), (-0.1, 0.1)), (1e-3, 3e-3, 3e-3, 1e-3)),
    polygon(((0.0, -0.1), (0.1, -0.1), (0.1, 0.1), (0.0, 0.1)), (3e-3, 1e-3, 1e-3, 3e-3)),
]
PEAK = [polygon(TRIANGLE, (1e-4, -2e-4, 3e-4)) + np.array([[0, 0, 2e-3]] + [[0, 0, 0.0]] * 3)]
PATCHES = [DEEP, LEANING, ROOF, PEAK]

# Motions [m/s, rad/s]: at rest, slow within all limits, fast, and a pure spin.
MOTIONS = [
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.01, 0.02, -0.03, 2e-5, -1e-5, 1e-4),
    (-0.2, 0.5, 1.0, 0.6, -0.4, 2.0),
    (0.05, 0.0, 0.0, 0.0, 0.0, 3.0),
]
STRETCHED = Law(r1=3e-4, r2=-2e-4, th=1e-3)


def largest(force: Array) -> float:
    return float(np.abs(force).max())


# ---------------------------------------------------------------- force and curvature


@pytest.mark.parametrize("fans", PATCHES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("motion", MOTIONS)
def test_force_is_the_gradient_of_the_potential(
    fans: list[Array], mode: int, motion: tuple[float, ...]
) -> None:
    star = np.array([-0.1, 0.2, 0.1, 0.3, 0.1, -0.5])
    c = Contact(fans, STRETCHED, mode=mode, star=star, area=0.05)
    local = np.array(motion)
    found, expected = c(local).force, c.expected(local)
    # sums of at most 48 terms
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12 * largest(expected))
    assert largest(expected) > 0.5


@pytest.mark.parametrize("fans", PATCHES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("motion", MOTIONS)
def test_curvature_is_the_slope_of_the_force(
    fans: list[Array], mode: int, motion: tuple[float, ...]
) -> None:
    law = STRETCHED._replace(r1=2.1e-4)  # no point just at its limit
    c = Contact(fans, law, mode=mode)
    local = np.array(motion)
    r, slope = c(local), c.slope(local)
    for found, expected in ((r.normal, slope[:3, :3]), (r.tangential, slope[3:, 3:])):
        size = float(np.abs(expected).max())
        assert size > 0.0
        # rounding over 1e-7, and the bend of the force within them
        assert found == pytest.approx(expected, abs=2e-5 * size)
    assert slope[:3, 3:] == pytest.approx(np.zeros((3, 3)), abs=1e-6 * size)
    assert slope[3:, :3] == pytest.approx(np.zeros((3, 3)), abs=1e-6 * size)


# Slip that goes on, turns aside, turns round, begins and ends [m/s, rad/s].
SLIPS = [
    ((0.6, -0.4, 2.0), (0.7, -0.3, 1.0)),
    ((0.6, -0.4, 2.0), (0.1, 0.5, -3.0)),
    ((0.6, -0.4, 2.0), (-0.2, 0.1, -1.0)),
    ((2e-5, -1e-5, 1e-4), (0.1, 0.3, 2.0)),
    ((0.1, 0.3, 2.0), (2e-5, -1e-5, 1e-4)),
]


@pytest.mark.parametrize("fans", [*PATCHES, []])
@pytest.mark.parametrize("mode", [BREAKS, SLIDES])
@pytest.mark.parametrize(("start", "end"), SLIPS)
@pytest.mark.parametrize("length", [1.0, 0.25])
def test_curvature_after_a_step_knows_the_friction_before(
    fans: list[Array],
    mode: int,
    start: tuple[float, ...],
    end: tuple[float, ...],
    length: float,
) -> None:
    """|g| z = g by Newton's method, in complex numbers: z is not g/|g| until the slip is steady."""
    kind = PATCH_KIND if fans else POINT_KIND
    c = Contact(fans, STRETCHED, mode=mode, kind=kind, depth=1e-3)
    x, y, d, a = c.points.T
    most = c.law.mu * c.law.limit * np.maximum(d, 0.0)
    if kind == POINT_KIND:
        most = np.array([c.law.mu * c.law.limit])
    growth = most / 1e-4 if mode == SLIDES else np.full_like(x, c.law.k_t * c.dt + c.law.b_t)
    lever = x + 1j * y

    def field(u: tuple[float, ...]) -> NDArray[np.complex128]:
        slip = u[0] + 1j * u[1] + (0.0 if kind == POINT_KIND else 1j * u[2]) * lever
        held = complex(c.law.r1, c.law.r2) + 1j * c.law.th * (0.0 if kind else 1.0) * lever
        return np.asarray(growth * slip + (0.0 if mode == SLIDES else c.law.k_t * held))

    g0, g1 = field(start), field(end)
    touching = most > 0.0
    g0, g1, most, growth, lever, a = (v[touching] for v in (g0, g1, most, growth, lever, a))
    z = g0 / np.maximum(np.abs(g0), most)
    step = (g1 - g0) / length
    e = g0 / np.abs(g0)
    turned = (g0 + step - z * (e * step.conj()).real) / np.abs(g0)
    z += length * (np.where(np.abs(g0) > most, turned, (g0 + step) / most) - z)
    z /= np.maximum(1.0, np.abs(z))
    expected = np.zeros((3, 3))
    for zi, gi, limit, grows, r, area in zip(z, g1, most, growth, lever, a, strict=True):
        block = np.eye(2)
        if abs(gi) > limit:
            ei = gi / abs(gi)
            mixed = np.outer([zi.real, zi.imag], [ei.real, ei.imag])
            block = limit / abs(gi) * (np.eye(2) - (mixed + mixed.T) / 2.0)
        row = np.array([[1.0, 0.0, -r.imag], [0.0, 1.0, r.real]])
        if kind == POINT_KIND:
            row[:, 2] = 0.0
        weight = 1.0 if kind == POINT_KIND else area / c.area
        expected += weight * grows * row.T @ block @ row

    c(np.array([-0.2, 0.5, 1.0, *start]))
    found = c(np.array([-0.2, 0.5, 1.0, *end]), length=length).tangential
    # g0 is found again as g1 less the step: a few roundings of the larger one; a patch keeps z in
    # single precision
    size = largest(expected)
    close = 1e-9 if kind == POINT_KIND else 2e-7
    assert found == pytest.approx(expected, rel=close, abs=close * size)
    assert np.linalg.eigvalsh(found).min() >= -1e-12 * size  # else the step need not descend
    # anew, or when nothing moves any more, it is the slope itself
    steady = c(np.array([-0.2, 0.5, 1.0, *end]), length=1.0).tangential
    anew = c(np.array([-0.2, 0.5, 1.0, *end])).tangential
    assert steady == pytest.approx(anew, rel=1e-9, abs=1e-9 * size)


@pytest.mark.parametrize("kind", [PATCH_KIND, POINT_KIND])
def test_hard_impact_is_stopped_by_its_speed(kind: int) -> None:
    # −(k dt + b) u_n whatever the depth, and a rebound that is given
    fans = [polygon(SQUARE, (-1e-3,) * 4)] if kind == PATCH_KIND else []
    c = Contact(fans, kind=kind, depth=-1e-3)
    f = c.v.elements.floats[0]
    f[EF_E] = 0.5
    local = np.array([-2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert c(local).force[0] == pytest.approx(2.0 * (3e4 * 5e-3 + 120.0), rel=1e-12)
    assert c(-local).force[0] == 0.0
    f[EF_BOUNCE] = 7.0
    assert c(-local).force[0] == pytest.approx(7.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("motion", MOTIONS)
def test_curvature_is_symmetric_and_positive(mode: int, motion: tuple[float, ...]) -> None:
    for fans in PATCHES:
        r = Contact(fans, STRETCHED, mode=mode)(np.array(motion))
        for block in (r.normal, r.tangential):
            assert np.linalg.eigvalsh(block).min() > -1e-9 * max(1.0, float(np.abs(block).max()))


# ---------------------------------------------------------------- closed forms and points


def test_closed_form_is_the_integral() -> None:
    # a patch that presses and holds everywhere, against plain refinement over its polygon
    c = Contact(DEEP, STRETCHED, star=np.array([0.0, 0.01, 0.02, 0.0, 0.0, 0.0]))
    local = np.array([0.01, -0.02, 0.03, 1e-3, -2e-3, 0.01])
    law, dt = c.law, c.dt

    def depth(x: Array, y: Array) -> Array:  # bilinear corner depths lie on four planes
        return np.asarray(2.25e-3 + 2.5e-3 * x + 0.0 * y)

    flat = [polygon(SQUARE, depth(*np.array(SQUARE).T))]
    c = Contact(flat, STRETCHED, star=c.star)

    def f(x: Array, y: Array) -> Array:
        rate = local[0] + local[1] * y - local[2] * x
        ahead = rate - (c.star[1] * y - c.star[2] * x)
        p = law.k * (depth(x, y) - dt * ahead) - law.b * rate
        rough = law.k_t * dt + law.b_t
        g1 = law.k_t * (law.r1 - law.th * y) + rough * (local[3] - local[5] * y)
        g2 = law.k_t * (law.r2 + law.th * x) + rough * (local[4] + local[5] * x)
        return np.stack((p, p * y, -p * x, -g1, -g2, -(x * g2 - y * g1)), axis=-1)

    expected = integrate(np.array(SQUARE), f) / c.area
    assert c(local).force == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("fans", [DEEP, ROOF])
def test_points_agree_with_the_closed_form_where_all_presses(fans: list[Array]) -> None:
    # a hair of the rim is lifted out by a second, tiny polygon: the points are summed one by one
    local = np.array([0.01, 0.02, -0.03, 0.0, 0.0, 0.0])
    whole = Contact(fans, area=0.04)(local)
    hair = polygon(((0.0, 0.0), (1e-9, 0.0), (0.0, 1e-9)), (-1.0, -1.0, -1.0))
    by_points = Contact([*fans, hair], area=0.04)(local)
    assert by_points.force == pytest.approx(whole.force, rel=1e-12, abs=1e-12)
    assert by_points.normal == pytest.approx(whole.normal, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("before", [None, HOLDS])
@pytest.mark.parametrize("mode", [BREAKS, SLIDES])
def test_rubbing_begins_anew_if_the_last_round_is_unknown(mode: int, before: int | None) -> None:
    # rows of a contact just found, or of one that held so far, are anybody's
    law = STRETCHED
    local = np.array([-0.2, 0.5, 1.0, 0.3, -0.2, 4.0])
    anew = Contact(DEEP, law, mode=mode)(local, length=0.0)
    c = Contact(DEEP, law, mode=mode)
    if before is not None:
        c.v.elements.ints[0, EI_MODE] = before
        c(0.5 * local, length=0.0)
        c.v.elements.ints[0, EI_MODE] = mode
    c.v.elements.slip_z[:] = 0.7
    assert np.array_equal(c(local, length=1.0).tangential, anew.tangential)
    assert not np.array_equal(c(0.5 * local, length=1.0).tangential, anew.tangential)


def test_rubbing_inside_the_limit_is_holding() -> None:
    local = np.array([0.0, 0.0, 0.0, 1e-3, -2e-3, 0.01])
    law = STRETCHED._replace(limit=1e9)
    holds, rubs = (Contact(DEEP, law, mode=mode)(local) for mode in (HOLDS, BREAKS))
    assert rubs.force == pytest.approx(holds.force, rel=1e-12, abs=1e-12)
    assert rubs.tangential == pytest.approx(holds.tangential, rel=1e-12, abs=1e-9)


# 24 points: exact in pure sliding, 0.04 % off in pure spin about the middle of the fan; with the
# still point elsewhere on the patch a few per cent of the limit.
@pytest.mark.parametrize(("motion", "close"), [
    ((0.3, 0.1, 0.0), 1e-12), ((0.0, 0.0, 4.0), 5e-4), ((0.5, -0.4, 4.0), 1e-3),
    ((0.3, 0.1, 4.0), 2e-2),
])  # fmt: skip
def test_sliding_friction_is_coulombs_integral(
    motion: tuple[float, float, float], close: float
) -> None:
    # faster than V_EPS nearly everywhere: ∫ λ e/|e|, and its torque
    flat = [polygon(SQUARE, (2e-3,) * 4)]
    c = Contact(flat, mode=SLIDES)
    limit = c.law.mu * c.law.limit * 2e-3
    expected = -coulomb(np.array(SQUARE), lambda x, y: limit / c.area * np.ones_like(x), motion)
    found = c(np.array([0.0, 0.0, 0.0, *motion])).force[3:]
    assert found[:2] == pytest.approx(expected[:2], abs=close * limit)
    assert found[2] == pytest.approx(expected[2], abs=close * limit * 0.0765)  # 0.3826 a: pure spin


# ---------------------------------------------------------------- breaking


@pytest.mark.parametrize("fans", [DEEP, ROOF])
@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (0.3, -0.8, 0.0), (0.0, 0.0, 10.0),
                                       (0.5, 0.2, 9.0), (0.02, 0.0, 10.0)])  # fmt: skip
def test_breaks_when_the_work_exceeds_the_limit(
    fans: list[Array], direction: tuple[float, ...]
) -> None:
    # ∫ |g|² = ∫ λ |g| at one stretch; found by fine quadrature, met within 1 %
    base = Law()
    square = work = 0.0
    for fan in fans:
        corners, ring = fan[1:, :2], fan[1:]
        ones = np.ones(len(ring))
        plane = np.asarray(
            np.linalg.lstsq(np.column_stack((ones, ring[:, :2])), ring[:, 2], rcond=None)[0], float
        )

        def f(x: Array, y: Array, plane: Array = plane) -> Array:
            g = np.hypot(direction[0] - direction[2] * y, direction[1] + direction[2] * x)
            depth = plane[0] + plane[1] * x + plane[2] * y
            return np.stack((g * g, base.mu * base.limit * depth * g), axis=-1)

        near = None
        if direction[2] != 0.0:
            near = np.array([-direction[1] / direction[2], direction[0] / direction[2]])
        s, w = integrate(corners, f, near)
        square, work = square + s, work + w
    scale = work / square / base.k_t
    for factor, expected in ((0.99, False), (1.01, True)):
        r = factor * scale * np.array(direction)
        law = base._replace(r1=float(r[0]), r2=float(r[1]), th=float(r[2]))
        assert Contact(fans, law)(np.zeros(6)).breaks is expected


def test_uniform_stretch_breaks_at_the_limit_itself() -> None:
    # all points at their limit at once: μ N
    depth = [polygon(SQUARE, (2e-3,) * 4)]
    for factor, expected in ((1.0 - 1e-9, False), (1.0 + 1e-9, True)):
        r1 = factor * 0.4 * 2.5e4 * 2e-3 / 8e3
        assert Contact(depth, Law(r1=r1))(np.zeros(6)).breaks is expected


@pytest.mark.parametrize("mode", [HOLDS, BREAKS])
def test_a_point_breaks_at_its_limit(mode: int) -> None:
    for factor, expected in ((0.999, False), (1.001, True)):
        law = Law(limit=20.0, r1=factor * 0.6e-3, r2=-factor * 0.8e-3)  # k_t |r| = 0.4 · 20 N
        c = Contact([], law, kind=POINT_KIND, depth=1e-3, mode=mode)
        assert c(np.zeros(6)).breaks is expected


def test_what_slides_or_has_no_friction_does_not_break() -> None:
    far = Law(r1=1.0)
    assert Contact(DEEP, far)(np.zeros(6)).breaks
    assert not Contact(DEEP, far, mode=SLIDES)(np.zeros(6)).breaks
    assert not Contact(DEEP, far._replace(mu=0.0))(np.zeros(6)).breaks
    assert not Contact(DEEP, far._replace(limit=0.0))(np.zeros(6)).breaks


# ---------------------------------------------------------------- degenerate


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("motion", MOTIONS)
def test_single_point(mode: int, motion: tuple[float, ...]) -> None:
    c = Contact([], STRETCHED._replace(limit=30.0), kind=POINT_KIND, depth=1e-3, mode=mode)
    local = np.array(motion)
    r = c(local)
    local[[1, 2, 5]] = 0.0  # one point feels no rotation
    # rounding of the slip, 1e-15 m/s, is worth 1e-10 N where friction fades within V_EPS
    assert r.force == pytest.approx(c.expected(local), rel=1e-12, abs=1e-9)
    assert not r.force[[1, 2, 5]].any()
    assert not r.normal[1:].any()
    assert not r.tangential[2].any()
    if mode == HOLDS:
        assert r.tangential[:2, :2] == pytest.approx(65.0 * np.eye(2))  # k_t dt + b_t


def test_single_point_apart() -> None:
    c = Contact([], kind=POINT_KIND, depth=-1e-3)
    r = c(np.zeros(6))
    assert r.force[0] == 0.0
    assert not r.normal.any()
    assert c(np.zeros(6), all_press=True).normal[0, 0] == pytest.approx(3e4 * 5e-3 + 120.0)
    assert c(np.zeros(6), all_press=True).force[0] == 0.0
    # fast enough it will press: k (d − dt u) − b u
    assert c(np.array([-1.0, 0, 0, 0, 0, 0])).force[0] == pytest.approx(3e4 * 4e-3 + 120.0)


@pytest.mark.parametrize("mode", MODES)
def test_patch_apart_carries_nothing(mode: int) -> None:
    apart = [polygon(SQUARE, (-1e-3, -2e-3, -1e-3, -3e-3))]
    c = Contact(apart, Law(limit=0.0), mode=mode)  # nothing pressed before: no limit
    r = c(np.array([0.01, 0.0, 0.0, 0.3, 0.1, 1.0]))
    assert not r.force.any()
    assert not r.normal.any()
    assert not r.tangential.any()
    assert not r.breaks
    # taken to press, it is as stiff as if it did
    assumed = c(np.zeros(6), all_press=True)
    assert assumed.normal == pytest.approx(Contact(DEEP)(np.zeros(6)).normal, abs=1e-12)
    assert not assumed.force.any()


@pytest.mark.parametrize("mode", MODES)
def test_no_friction(mode: int) -> None:
    for law in (STRETCHED._replace(mu=0.0), STRETCHED._replace(limit=0.0)):
        r = Contact(DEEP, law, mode=mode)(np.array(MOTIONS[2]))
        assert not r.force[3:].any()
        assert not r.tangential.any()


# ---------------------------------------------------------------- maps to the bodies


@pytest.mark.parametrize("seed", range(3))
def test_wrenches_are_work_conjugate_and_opposite(seed: int) -> None:
    c = Contact(LEANING, STRETCHED, mode=BREAKS, seed=seed)
    local = np.array(MOTIONS[2])
    r = c(local)
    twist = c.twist(local)
    assert np.sum(r.wrench * twist) == pytest.approx(r.force @ local, rel=1e-12)
    assert r.wrench[0, :3] == pytest.approx(-r.wrench[1, :3], abs=1e-12)
    # torques about the contact's own point cancel
    torque = [w[3:] - np.cross(arm, w[:3]) for arm, w in zip(c.arms, r.wrench, strict=True)]
    assert torque[0] == pytest.approx(-torque[1], abs=1e-11)


def test_common_motion_is_not_felt() -> None:
    c = Contact(DEEP, STRETCHED, mode=BREAKS)
    still = c(np.zeros(6)).force
    c.v.ahead.twist[:2] = 0.0
    assert c(np.zeros(6)).force == pytest.approx(still, abs=1e-9)
    assert c.kind == PATCH_KIND
