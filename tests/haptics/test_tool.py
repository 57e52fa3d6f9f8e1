"""The tool's step: its derivatives, its forms, its energy, its contacts and its limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from haptics.rigs import (
    BRANCHES,
    gather_planes,
    make_rig,
    plane,
    play,
    put_planes,
    random_rig,
    step,
)
from numpy.typing import NDArray
from oracles import held_tool as oracle

from tangere.contact_planes import (
    NPLANE,
    PLANE_NAME,
)
from tangere.experiments.otaduy2005_free_spoon import Params, hand
from tangere.haptics.coupling import DirectCoupling, VirtualCoupling
from tangere.haptics.layout import (
    CONTACT_HELD,
    CONTACT_LINEAR,
    CONTACT_PLANES,
    CONTACT_PLANES_START,
    FAULT_TOOL,
    NHAND,
    NPACKET,
    OUT_ACTIVE,
    OUT_ANGLE,
    OUT_CONTACT,
    OUT_DEPTH,
    OUT_DEVIATION,
    OUT_ENERGY,
    OUT_FORCE,
    OUT_PASSES,
    OUT_TORQUE,
    PACKET_PLANES,
    PACKET_STATE,
    SET_CONTACT,
    SET_DAMPING,
    SET_GRAVITY,
    SET_GRIP,
    SET_GRIP_QUATERNION,
    SET_GROUNDED,
    SET_INTEGRATOR,
    SET_STEP,
    SET_TURN_DAMPING,
    STEP_EULER,
    STEP_IMPLICIT,
    STEP_IMPLICIT13,
    STEP_RK4,
    Rig,
)
from tangere.haptics.tool import rate_and_jacobian

Array = NDArray[np.float64]
DT = 1e-3
UP = np.array([0.0, 0.0, 1.0])
PARTS = [slice(0, 3), slice(3, 7), slice(7, 10), slice(10, 13)]
# The gate of every derivative, relative to the largest entry of its block.
DERIVATIVE = 1e-12


def rates(rig: Rig, now: float = 0.0) -> tuple[Array, Array]:
    f, jac = np.zeros(13), np.zeros((13, 13))
    rate_and_jacobian(rig.settings, rig.tool, rig.hand, rig.packet, now, rig.grips, f, jac)
    return f, jac


def worst_block(jac: Array, exact: Array) -> float:
    """Largest error over the 16 blocks, each relative to its own largest entry."""
    worst = 0.0
    for rows in PARTS:
        for columns in PARTS:
            size = np.abs(exact[rows, columns]).max()
            error = np.abs(jac[rows, columns] - exact[rows, columns]).max()
            worst = max(worst, error / size if size > 0.0 else error)
    return worst


def check_derivatives(
    rig: Rig, now: float = 0.0, held: dict[int, Callable[..., Array]] | None = None
) -> None:
    f, jac = rates(rig, now)

    def exact(z: Array) -> Array:
        return oracle.rate(rig.settings, z, rig.hand, rig.packet, now, held)

    assert f == pytest.approx(exact(rig.tool), rel=1e-12, abs=1e-13)
    assert worst_block(jac, oracle.complex_step(exact, rig.tool)) < DERIVATIVE


# ------------------------------------------------ derivatives
@pytest.mark.nojit
@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.parametrize("grounded", [0.0, 1.0])
def test_every_block_of_the_jacobian(branch: str, grounded: float) -> None:
    rng = np.random.default_rng(7)
    for count in (0, 1, 3, 3, 3):
        rig = random_rig(rng, branch, count)
        rig.settings[SET_GROUNDED] = grounded
        rig.settings[SET_GRAVITY : SET_GRAVITY + 3] = (0.5, -1.0, -9.81)
        check_derivatives(rig)


@pytest.mark.nojit
def test_jacobian_with_planes_that_move_and_planes_that_do_not_press() -> None:
    rng = np.random.default_rng(8)
    for _ in range(5):
        rig = random_rig(rng, planes=4)
        rows = rig.packet[PACKET_PLANES:].reshape(-1, NPLANE)
        rows[:4, 12:15] = rng.normal(size=(4, 3)) * 0.05
        rows[0, 3:6] += 0.1 * rows[0, 6:9]  # far away
        check_derivatives(rig, now=0.01)


@pytest.mark.nojit
@pytest.mark.parametrize("mode", [CONTACT_LINEAR, CONTACT_HELD])
def test_jacobian_of_the_packets_wrench(mode: int) -> None:
    """At some distance from the packet's state, whose quaternion may have either sign."""
    rng = np.random.default_rng(9)
    for sign in (1.0, -1.0):
        rig = random_rig(rng)
        then = rig.tool.copy()
        then[:3] += rng.normal(size=3) * 1e-3
        then[3:7] = oracle.product(oracle.exponential(rng.normal(size=3) * 0.05), then[3:7])
        then[3:7] *= sign
        then[7:] *= 0.8
        rig.packet[PACKET_STATE : PACKET_STATE + 13] = then
        gather_planes(rig.settings, rig.packet)
        rig.settings[SET_CONTACT] = mode
        check_derivatives(rig)


@pytest.mark.nojit
def test_the_packets_wrench_is_that_of_its_planes() -> None:
    """At the packet's own state both hand-overs are the same to first order."""
    rng = np.random.default_rng(10)
    rig = random_rig(rng)
    rows = rig.packet[PACKET_PLANES:].reshape(-1, NPLANE)
    rows[1, 3:6] += 0.1 * rows[1, 6:9]  # one that does not press
    rig.packet[PACKET_STATE : PACKET_STATE + 13] = rig.tool
    f, jac = rates(rig)
    gather_planes(rig.settings, rig.packet)
    rig.settings[SET_CONTACT] = CONTACT_LINEAR
    g, same = rates(rig)
    assert g == pytest.approx(f, rel=1e-12)
    assert worst_block(same, jac) < DERIVATIVE


@pytest.mark.nojit
@pytest.mark.parametrize("mu", [0.02, 5.0])
def test_jacobian_with_friction(mu: float) -> None:
    """Stick exactly; slip with its limit held, which keeps the block positive semidefinite."""
    rng = np.random.default_rng(11)
    for _ in range(5):
        rig = random_rig(rng, planes=2)
        r, v, w = oracle.twist(rig.settings, rig.tool)
        held: dict[int, Callable[..., Array]] = {}
        for i in range(2):
            row = rig.packet[PACKET_PLANES + NPLANE * i :][:NPLANE]
            row[15:17] = mu, 2000.0
            n, arm = row[6:9].copy(), r @ row[:3]
            place = rig.tool[:3] + arm
            away = rng.normal(size=3) * 1e-3
            rig.grips[i] = (row[PLANE_NAME], *(place - away))
            s = row[9] * (n @ (place - row[3:6]) + row[11]) + row[10] * (n @ (v + np.cross(w, arm)))

            def law(p: Array, a: Array = place - away, n: Array = n, most: float = mu * s) -> Array:
                d = p - a
                d = d - n * (n @ d)
                size = np.sqrt(d @ d)
                return -2000.0 * d if mu > 1 else -most * d / size

            held[i] = law
        check_derivatives(rig, held=held)
        block = -rates(rig)[1][7:10, :3]
        assert block == pytest.approx(block.T, rel=1e-12, abs=1e-9)
        assert np.linalg.eigvalsh(block).min() > 0.0


# ------------------------------------------------ forms of the step
@pytest.mark.nojit
@pytest.mark.parametrize("branch", BRANCHES)
def test_thirteen_unknowns_eliminated_and_not(branch: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        rig = random_rig(rng, branch)
        rig.settings[SET_INTEGRATOR] = STEP_IMPLICIT13
        rig.settings[SET_CONTACT] = CONTACT_PLANES_START
        y = rig.tool.copy()
        f, jac = rates(rig)
        assert step(rig) == 0
        scale = np.maximum(np.abs(rig.tool), 1e-6)
        assert (np.abs(rig.tool - oracle.step13(y, f, jac, DT)) / scale).max() < 1e-10
        assert (np.abs(rig.tool - oracle.step_schur(y, f, jac, DT)) / scale).max() < 1e-10


# Worst difference of 6 × 6 and 13 × 13 over random states at 1 ms, as a share of the step's change
# of position, quaternion, momentum and angular momentum. Both are of first order and differ in
# terms of second: one turns the quaternion, the other adds to it. A change may be small by chance.
APART = {0: (1e-3, 1.5e-2, 5e-3, 5e-3), 3: (5e-3, 1.5e-2, 3e-2, 4e-2)}


def six_from_thirteen(dt: float, branch: str, planes: int) -> Array:
    """Worst difference of position, quaternion, P and L over forty states."""
    rng = np.random.default_rng(4)
    worst = np.zeros(4)
    for _ in range(40):
        rig = random_rig(rng, branch, planes, depth=1e-4)
        rig.settings[SET_STEP], rig.settings[SET_CONTACT] = dt, CONTACT_PLANES_START
        start, ends = rig.tool.copy(), []
        for rule in (STEP_IMPLICIT, STEP_IMPLICIT13):
            rig.settings[SET_INTEGRATOR] = rule
            rig.tool[:] = start
            assert step(rig) == 0
            ends.append(rig.tool.copy())
        for i, part in enumerate((slice(0, 3), slice(3, 7), slice(7, 10), slice(10, 13))):
            change = np.linalg.norm((ends[0] - start)[part])
            worst[i] = max(worst[i], np.linalg.norm((ends[0] - ends[1])[part]) / change)
    return worst


@pytest.mark.nojit
@pytest.mark.parametrize("planes", APART)
@pytest.mark.parametrize("branch", BRANCHES)
def test_six_unknowns_and_thirteen_nearly_agree(branch: str, planes: int) -> None:
    """In every state and every part of it; and the difference goes with the step."""
    worst = six_from_thirteen(1e-3, branch, planes)
    assert np.all(worst < APART[planes]), worst
    # first order would be an eighth
    assert np.all(six_from_thirteen(1.25e-4, branch, planes) < 0.2 * worst)


@pytest.mark.parametrize(
    ("rule", "order"), [(STEP_IMPLICIT, 1), (STEP_IMPLICIT13, 1), (STEP_EULER, 1), (STEP_RK4, 4)]
)
def test_order_of_each_rule(rule: int, order: int) -> None:
    """A spoon let go beside a hand at rest swings to the same place, with the rule's own error."""
    ends = []
    steps = np.array([1.0, 0.5, 0.25]) * 4e-4
    for dt in steps:
        rig = make_rig(0.2, np.array([0.03, 0.06, 0.061]), dt=float(dt))
        rig.settings[SET_INTEGRATOR] = rule
        rig.tool[:3] = (0.01, -0.02, 0.01)
        rig.tool[3:7] = oracle.exponential(np.array([0.3, 0.5, -0.4]))
        states, _ = play(rig, np.tile(rig.hand, (round(0.04 / dt), 1)))
        ends.append(states[-1, :7])
    changes = np.linalg.norm(np.diff(ends, axis=0), axis=1)
    assert np.log2(changes[0] / changes[1]) == pytest.approx(order, abs=0.15)


@pytest.mark.nojit
def test_spin_keeps_its_angular_momentum() -> None:
    """Nothing acts but springs of 1e-12: L stays, and energy falls, as backward Euler lets it."""
    rig = make_rig(0.1, np.array([0.02, 0.05, 0.06]))
    free = VirtualCoupling(
        stiffness=1e-12, damping=0.0, rotational_stiffness=1e-12, rotational_damping=0.0
    )
    free.apply(rig.settings)
    rig.tool[10:13] = rig.settings[5:8] * (3.0, 8.0, 2.0)
    before, energy = rig.tool[10:13].copy(), np.inf
    for _ in range(100):
        step(rig)
        assert rig.tool[10:13] == pytest.approx(before, rel=1e-9)
        assert rig.out[OUT_ENERGY] < energy
        energy = rig.out[OUT_ENERGY]


# ------------------------------------------------ passivity
@pytest.mark.nojit
def test_a_half_turned_tool_is_braked_by_its_damper() -> None:
    """With the arm of the tool's own frame the damper would drive it with +2.9 mW."""
    rig = make_rig(0.02, grip=(-0.06, 0.0, 0.0))
    s = rig.settings
    s[SET_DAMPING], s[SET_TURN_DAMPING] = 0.8, 0.0
    q = oracle.exponential(np.array([0.0, 0.0, np.pi]))
    r = oracle.matrix(q)
    omega = np.array([0.0, 1.0, 0.0])
    rig.tool[3:7] = rig.hand[3:7] = q
    rig.tool[10:13] = r @ (s[5:8] * (r.T @ omega))
    rig.hand[:3] = r @ s[SET_GRIP : SET_GRIP + 3]
    f, jac = rates(rig)
    assert f[10:13] @ omega == pytest.approx(-2.88e-3, rel=1e-9)
    inverse = r @ np.diag(1.0 / s[5:8]) @ r.T
    damping = jac[10:13, 10:13] @ np.linalg.inv(inverse)  # ∂T/∂ω
    assert damping == pytest.approx(damping.T, abs=1e-12)
    assert np.linalg.eigvalsh(damping).max() < 1e-12


@pytest.mark.nojit
@pytest.mark.parametrize("branch", BRANCHES)
def test_power_of_the_coupling_balances_at_the_grip(branch: str) -> None:
    """What the hand gives is what the tool takes, the springs store and the dampers spend."""
    rng = np.random.default_rng(12)
    for _ in range(10):
        rig = random_rig(rng, branch, planes=0)
        s = rig.settings
        step(rig)
        f, t = rig.out[:6].copy().reshape(2, 3)
        # felt is what acts at the end of the step
        exact = oracle.coupling(s, rig.tool, rig.hand)
        assert np.concatenate((f, t)) == pytest.approx(np.concatenate(exact[:2]), rel=1e-12)
        r, v, w = oracle.twist(s, rig.tool)
        arm = r @ s[SET_GRIP : SET_GRIP + 3]
        v_h, w_h = rig.hand[7:13].copy().reshape(2, 3)
        given = f @ v_h + t @ w_h
        taken = f @ v + (np.cross(arm, f) + t) @ w
        slide, roll = v_h - v - np.cross(w, arm), w_h - w
        spent = s[SET_DAMPING] * slide @ slide + s[SET_TURN_DAMPING] * roll @ roll
        stored = (f - s[SET_DAMPING] * slide) @ slide + (t - s[SET_TURN_DAMPING] * roll) @ roll
        assert given - taken - stored - spent == pytest.approx(0.0, abs=1e-12 * spent)
        # … where the spring parts are the gradient of the energy that is told
        held, energy = rig.hand.copy(), []
        for ahead in (1e-6, -1e-6):
            rig.hand[:3] = held[:3] + ahead * v_h
            rig.hand[3:7] = oracle.product(oracle.exponential(ahead * w_h), held[3:7])
            energy.append(spring_energy(rig))
        rig.hand[:] = held
        slope = (energy[0] - energy[1]) / 2e-6
        springs = (f - s[SET_DAMPING] * slide) @ v_h + (t - s[SET_TURN_DAMPING] * roll) @ w_h
        # central differences of 1e-6 s
        assert slope == pytest.approx(springs, rel=1e-6)


def spring_energy(rig: Rig) -> float:
    """Energy that the step tells, less the kinetic, with the tool where it is."""
    dt, rig.settings[SET_STEP] = rig.settings[SET_STEP], 1e-15
    held = rig.tool.copy()
    step(rig)
    _, v, w = oracle.twist(rig.settings, rig.tool)
    kinetic = 0.5 * (rig.tool[7:10] @ v + rig.tool[10:13] @ w)
    rig.settings[SET_STEP] = dt
    rig.tool[:] = held
    return float(rig.out[OUT_ENERGY] - kinetic)


def ledger(out: Array, hands: Array, first: Array) -> tuple[float, float]:
    """Energy made and spent by the steps: work at the hand less what is stored, tick by tick."""
    before = np.vstack((first, hands[:-1]))
    turn = np.array([
        oracle.logarithm(oracle.product(b[3:7], oracle.conjugate(a[3:7])))
        for a, b in zip(before, hands, strict=True)
    ])  # fmt: skip
    given = np.sum(out[:, OUT_FORCE : OUT_FORCE + 3] * (hands[:, :3] - before[:, :3]), axis=1)
    given += np.sum(out[:, OUT_TORQUE : OUT_TORQUE + 3] * turn, axis=1)
    slack = given - np.diff(out[:, OUT_ENERGY], prepend=0.0)
    return float(-slack[slack < 0.0].sum()), float(slack[slack > 0.0].sum())


def waved_at_a_wall(mass: float, mode: int, damped: bool) -> tuple[float, float]:
    """Energy made and spent by the spoon of the experiment that meets a wall below it."""
    coupling = VirtualCoupling(
        damping=1.0 if damped else 0.0, rotational_damping=0.009 if damped else 0.0
    )
    rig = make_rig(mass, coupling=coupling)
    rig.settings[SET_CONTACT] = mode
    rig.tool[0] = 0.03
    rig.hand[:] = 0.0
    rig.hand[3] = 1.0
    tips = [np.array([0.1, 0, 0]), np.array([-0.1, 0, 0])]
    floor = np.array([0.0, 0.0, -0.01])
    put_planes(rig, [plane(tip, floor, -UP, name=i + 1) for i, tip in enumerate(tips)])
    hands = hand(Params())
    states, out = play(rig, hands)
    assert len(states) == len(hands)
    assert out[:, OUT_ACTIVE].max() >= 1.0
    start = np.zeros(NHAND)
    start[3] = 1.0
    return ledger(out, hands, start)


@pytest.mark.parametrize(("mass", "damped"), [(0.01, True), (0.001, True), (0.01, False)])
def test_a_wall_makes_no_energy_when_the_end_of_the_step_decides(mass: float, damped: bool) -> None:
    made, spent = waved_at_a_wall(mass, CONTACT_PLANES, damped)
    assert made <= 1e-3 * spent
    early, _ = waved_at_a_wall(mass, CONTACT_PLANES_START, damped)
    assert early > 30.0 * made, "the set of the start makes energy at every impact"


@pytest.mark.parametrize("mass", [1e-4, 1e-2, 1.0])
def test_backward_euler_is_passive_at_the_hand(mass: float) -> None:
    """E₊ − E ≤ F·Δx_h − ½ m |v₊ − v|² − Δt b |v₊ − v_h|² for a point between spring and wall."""
    rng = np.random.default_rng(6)
    rig = make_rig(mass, grip=(0.0, 0.0, 0.0))
    put_planes(rig, [plane(np.zeros(3), np.array([0, 0, -0.002]), -UP, d=0.0)])
    v, energy, touched = np.zeros(3), 0.0, 0
    for _ in range(400):
        last = rig.hand[:3].copy()
        rig.hand[:3] = 0.97 * last + rng.normal(size=3) * 1e-3 - 1e-4 * UP
        rig.hand[7:10] = (rig.hand[:3] - last) / DT
        step(rig)
        fresh = rig.tool[7:10] / mass
        given = rig.out[OUT_FORCE : OUT_FORCE + 3] @ (rig.hand[:3] - last)
        lost = 0.5 * mass * np.sum((fresh - v) ** 2)
        braked = DT * rig.settings[SET_DAMPING] * np.sum((fresh - rig.hand[7:10]) ** 2)
        assert rig.out[OUT_ENERGY] - energy <= given - lost - braked + 1e-12 * (lost + braked)
        v, energy = fresh, rig.out[OUT_ENERGY]
        touched += int(rig.out[OUT_ACTIVE])
    assert 20 < touched < 380, "in contact at times"


@pytest.mark.nojit
@pytest.mark.parametrize("mode", [CONTACT_PLANES, CONTACT_LINEAR])
@pytest.mark.parametrize("rule", [STEP_IMPLICIT, STEP_IMPLICIT13, STEP_RK4])
def test_signs_of_quaternions_do_not_matter(rule: int, mode: int) -> None:
    rigs = [random_rig(np.random.default_rng(13), "cubic", mass=1.0) for _ in range(2)]
    rng = np.random.default_rng(14)
    plain, odd = rigs
    for rig in rigs:
        rig.settings[SET_INTEGRATOR], rig.settings[SET_CONTACT] = rule, mode
        rig.packet[PACKET_STATE : PACKET_STATE + 13] = rig.tool
        gather_planes(rig.settings, rig.packet)
    for _ in range(10):
        for part in (
            odd.tool[3:7],
            odd.hand[3:7],
            odd.settings[SET_GRIP_QUATERNION : SET_GRIP_QUATERNION + 4],
            odd.packet[PACKET_STATE + 3 : PACKET_STATE + 7],
        ):
            part[:] = rng.choice([-1.0, 1.0]) * part
        assert step(plain) == step(odd) == 0
        assert odd.out.tolist() == plain.out.tolist()
        sign = np.sign(odd.tool[3:7] @ plain.tool[3:7])
        assert (sign * odd.tool[3:7]).tolist() == plain.tool[3:7].tolist()
        assert odd.tool[7:].tolist() == plain.tool[7:].tolist()


# ------------------------------------------------ slow contact loops
class Bumps:
    """Bumps of 0.5 mm under nine points of a slab, 5 kN/m in all."""

    points = np.array([(0.02 * i, 0.02 * j, -0.01) for i in (-1, 0, 1) for j in (-1, 0, 1)])
    high, k, d = 5e-4, 2.0 * np.pi / 0.025, 5e-4

    def planes(self, y: Array) -> list[Array]:
        r = oracle.matrix(y[3:7])
        found = []
        for i, point in enumerate(self.points):
            p = y[:3] + r @ point
            slope = self.high * self.k * np.array([np.cos(self.k * p[0]), -np.sin(self.k * p[1])])
            n = np.array([-slope[0], -slope[1], 1.0]) / np.sqrt(1.0 + slope @ slope)
            ground = self.high * (np.sin(self.k * p[0]) + np.cos(self.k * p[1]))
            delta = (ground - p[2]) * n[2]
            if delta > -self.d:
                found.append(
                    plane(point, p + delta * n, -n, k=5000 / 9, b=1 / 9, d=self.d, name=i + 1)
                )
        return found


def slid_over_bumps(mode: int, period: int) -> tuple[bool, float, float]:
    """Whether a slab pressed on bumps, slid, tilted and lifted stays; roughness [N]; pull [N].

    The contact loop answers every `period` ticks and its answer is used one period later.
    """
    mass = 0.01
    coupling = VirtualCoupling(stiffness=500.0, rotational_damping=0.005)
    rig = make_rig(mass, 0.04 * np.array([0.6, 0.6, 0.7]), grip=(0.0, 0.0, 0.01), coupling=coupling)
    rig.settings[SET_CONTACT] = mode
    rig.tool[2] = 0.013
    ground, waiting = Bumps(), np.zeros(NPACKET)
    waiting[PACKET_STATE + 3] = 1.0
    forces, pull = [], 0.0
    last = rig.hand.copy()
    for i in range(1, 1001):
        t = DT * i
        z = 0.022 - 0.016 * min(t / 0.15, 1.0) + max(0.0, t - 0.8) * 0.3
        rig.hand[:3] = (0.01 * np.sin(3 * np.pi * t), 0.0, z)
        rig.hand[3:7] = oracle.exponential(np.array([0, 0.05 * np.sin(4 * np.pi * t), 0]))
        if i == 1:
            last = rig.hand.copy()
        turned = oracle.product(rig.hand[3:7], oracle.conjugate(last[3:7]))
        rig.hand[7:10], rig.hand[10:13] = (
            (rig.hand[:3] - last[:3]) / DT,
            oracle.logarithm(turned) / DT,
        )
        last = rig.hand.copy()
        if (i - 1) % period == 0:
            rig.packet[:] = waiting
            y, now = rig.tool.copy(), rig.packet.copy()
            put_planes(rig, ground.planes(y))
            rig.packet[PACKET_STATE : PACKET_STATE + 13] = y
            gather_planes(rig.settings, rig.packet)
            waiting, rig.packet[:] = rig.packet.copy(), now
        if step(rig) != 0 or np.abs(rig.tool[:3]).max() > 0.3:
            return False, np.inf, pull
        pull = max(pull, -float(rig.out[OUT_CONTACT + 2]))
        if 300 <= i < 790:
            forces.append(np.linalg.norm(rig.out[OUT_FORCE : OUT_FORCE + 3]))
    return True, float(np.sqrt(np.mean(np.diff(forces) ** 2))), pull


# Contact at 1000, 500, 200 and 100 Hz: least pull of the linear model at lift-off [N].
PERIODS = {1: 0.05, 2: 0.3, 5: 0.9, 10: 2.0}


@pytest.mark.parametrize("period", PERIODS)
def test_planes_and_the_linear_model_bear_a_slow_contact_loop(period: int) -> None:
    stays, rough, pull = slid_over_bumps(CONTACT_PLANES, period)
    assert stays
    assert rough < 5e-3
    assert pull == 0.0, "planes never pull"
    stays, rough, pull = slid_over_bumps(CONTACT_LINEAR, period)
    assert stays
    assert rough < 5e-3
    assert pull > PERIODS[period], "the linear model holds on to what it leaves"


@pytest.mark.parametrize("period", PERIODS)
def test_a_held_force_does_not(period: int) -> None:
    stays, rough, _ = slid_over_bumps(CONTACT_HELD, period)
    assert not stays or rough > 1.0
    assert period == 1 or not stays


# ------------------------------------------------ contact
def pressed(mu: float, *, push: float = 0.004, mass: float = 0.01, k_t: float = 2000.0) -> Rig:
    """A point tool held by a hand `push` below a floor at height 0, touching."""
    rig = make_rig(mass, 0.04 * np.ones(3), grip=(0.0, 0.0, 0.0))
    put_planes(rig, [plane(np.zeros(3), np.zeros(3), -UP, d=0.0, mu=mu, shear=k_t, name=7)])
    rig.hand[2] = -push
    for _ in range(100):
        step(rig)
    return rig


@pytest.mark.nojit
def test_the_end_of_the_step_decides_who_presses() -> None:
    """A fast tool above a plane is met within the step; one that leaves is let go within it."""
    for speed, touching in ((-2.0, 1.0), (2.0, 0.0)):
        rig = make_rig(0.1, grip=(0.0, 0.0, 0.0))
        put_planes(rig, [plane(np.zeros(3), np.zeros(3), -UP, d=0.0)])
        rig.tool[2] = 1e-4 * -np.sign(speed)
        rig.hand[2] = rig.tool[2]
        rig.tool[9] = 0.1 * speed
        step(rig)
        assert rig.out[OUT_ACTIVE] == touching
        assert rig.out[OUT_PASSES] == 2.0
        assert (rig.out[OUT_CONTACT + 2] > 0.0) == (touching == 1.0)


@pytest.mark.nojit
def test_a_damper_does_not_hold_a_tool_that_leaves() -> None:
    """Still within the tolerance, but going away so fast that the damper would have to pull."""
    ends = []
    for damping in (0.0, 50.0):
        rig = make_rig(0.1, grip=(0.0, 0.0, 0.0))
        put_planes(rig, [plane(np.zeros(3), np.zeros(3), -UP, k=1e-9, b=damping, d=5e-3)])
        rig.tool[9] = 0.1
        step(rig)
        ends.append(rig.tool.copy())
        assert rig.out[OUT_CONTACT + 2] < 1e-9
    assert ends[1] == pytest.approx(ends[0], rel=1e-9)


@pytest.mark.nojit
def test_force_depth_and_energy_at_rest() -> None:
    rig = pressed(0.0)
    # two springs in series, 200 N/m and 5000 N/m
    force = 0.004 * 200.0 * 5000.0 / 5200.0
    assert rig.out[OUT_CONTACT + 2] == pytest.approx(force, rel=1e-6)
    assert rig.out[OUT_FORCE + 2] == pytest.approx(-force, rel=1e-6)
    assert rig.out[OUT_DEPTH] == pytest.approx(force / 5000.0, rel=1e-6)
    assert rig.out[OUT_DEVIATION] == pytest.approx(force / 200.0, rel=1e-6)
    assert rig.out[OUT_ENERGY] == pytest.approx(0.5 * force * 0.004, rel=1e-6)


@pytest.mark.nojit
def test_friction_sticks_below_its_limit() -> None:
    rig = pressed(0.5)
    force = rig.out[OUT_CONTACT + 2]
    rig.hand[0] = 0.4 * 0.5 * force / 200.0
    for _ in range(100):
        step(rig)
    assert rig.out[OUT_CONTACT] == pytest.approx(-rig.out[OUT_FORCE], rel=1e-6)
    # both springs share the way of the hand
    assert rig.tool[0] == pytest.approx(rig.hand[0] * 200.0 / 2200.0, rel=1e-6)
    rig.hand[0] = 0.0
    for _ in range(100):
        step(rig)
    assert rig.tool[0] == pytest.approx(0.0, abs=1e-9), "it comes back to where it was held"


@pytest.mark.nojit
def test_friction_slips_at_its_limit() -> None:
    rig = pressed(0.5)
    for _ in range(250):
        rig.hand[0] += 1e-4
        rig.hand[1] -= 1e-4
        step(rig)
        limit = 0.5 * rig.out[OUT_CONTACT + 2]
        assert np.hypot(*rig.out[OUT_CONTACT : OUT_CONTACT + 2]) <= limit * (1.0 + 1e-12)
    sideways = rig.out[OUT_CONTACT : OUT_CONTACT + 2]
    assert sideways == pytest.approx(np.array([-1.0, 1.0]) * limit / np.sqrt(2.0), rel=1e-3)
    # the spring is stretched no further than its limit: the anchor has followed
    stretch = rig.tool[:2] - rig.grips[0, 1:3]
    assert 2000.0 * np.hypot(*stretch) == pytest.approx(limit, rel=1e-9)
    # in steady slip the tool goes as fast as the hand, its coupling carries the limit
    assert rig.tool[7:9] / 0.01 == pytest.approx([0.1, -0.1], rel=1e-3)


def test_friction_gains_no_energy() -> None:
    """Rubbed about at random, on a floor pressed now harder, now softer."""
    rng = np.random.default_rng(15)
    rig = pressed(0.6)
    put_planes(
        rig,
        [
            plane(
                np.array([x, 0.0, 0.0]), np.zeros(3), -UP, d=0.0, mu=0.6, shear=2000.0, name=i + 1
            )
            for i, x in enumerate((-0.05, 0.05))
        ],
    )
    aims = rng.normal(size=(40, 3)) * (0.01, 0.01, 0.002) - (0.0, 0.0, 0.004)
    hands = np.zeros((2000, NHAND))
    hands[:, 3] = 1.0
    for c in range(3):
        hands[:, c] = np.interp(np.arange(2000) / 50.0, np.arange(40), aims[:, c])
    hands[1:, 7:10] = np.diff(hands[:, :3], axis=0) / DT
    hands[:, 10:13] = 0.0
    energy = rig.out[OUT_ENERGY]
    first = rig.hand.copy()
    _, out = play(rig, hands)
    out[:, OUT_ENERGY] -= energy
    made, spent = ledger(out, hands, first)
    assert made <= 1e-3 * spent
    assert out[:, OUT_ACTIVE].max() == 2.0


@pytest.mark.nojit
def test_a_moving_floor_takes_the_tool_along() -> None:
    """The plane's velocity moves the plane itself and the anchors of friction."""
    rig = pressed(0.5)
    row = rig.packet[PACKET_PLANES:][:NPLANE]
    row[12:15] = (0.02, 0.0, 0.01)
    height = rig.tool[2]
    for i in range(50):
        step(rig, now=DT * (i + 1))
    assert rig.tool[7:10] / 0.01 == pytest.approx([0.02, 0.0, 0.01], abs=2e-3)
    assert rig.tool[2] - height == pytest.approx(50 * DT * 0.01, rel=0.05)
    assert rig.out[OUT_CONTACT] > 0.0


@pytest.mark.nojit
def test_anchors_follow_their_names() -> None:
    """Two planes change places in the packet: nothing changes for the tool."""
    rows = [
        plane(np.array([x, 0.0, 0.0]), np.zeros(3), -UP, d=0.0, mu=1.0, shear=2000.0, name=9 - i)
        for i, x in enumerate((-0.05, 0.05))
    ]
    ends = []
    for order in (1, -1):
        rig = pressed(1.0)
        put_planes(rig, rows)
        for i in range(20):
            rig.hand[0] += 1e-5
            rig.hand[5] += 1e-3
            put_planes(rig, rows[:: order ** (i % 2)])
            step(rig)
        ends.append(rig.tool.copy())
    assert ends[0] == pytest.approx(ends[1], rel=1e-9, abs=1e-12)


@pytest.mark.nojit
def test_a_plane_that_is_left_forgets_its_anchor() -> None:
    rig = pressed(0.5)
    assert rig.grips[0, 0] == 7.0
    rig.hand[2] = 0.01
    for _ in range(50):
        step(rig)
    assert rig.grips[:, 0].tolist() == [0.0] * 16
    assert rig.out[OUT_ACTIVE] == 0.0
    assert rig.out[OUT_CONTACT : OUT_CONTACT + 6].tolist() == [0.0] * 6


# ------------------------------------------------ limits, modes, faults
@pytest.mark.nojit
def test_without_mass_the_coupling_balances_the_contacts() -> None:
    """The quasi-static limit: places no longer depend on mass, and nothing is left over."""
    ends = []
    for mass in (1e-9, 1e-12):
        rig = make_rig(mass, coupling=VirtualCoupling(damping=0.0, rotational_damping=0.0))
        tips = (np.array([0.1, 0.01, 0]), np.array([-0.1, 0, 0.0]))
        put_planes(rig, [plane(p, np.zeros(3), -UP, name=i + 1) for i, p in enumerate(tips)])
        rig.tool[:3] = (0.03, 0.0, 0.0)
        rig.hand[:3] = (0.0, 0.0, -0.005)
        for _ in range(60):
            step(rig)
        left = rig.out[OUT_FORCE : OUT_FORCE + 3] + rig.out[OUT_CONTACT : OUT_CONTACT + 3]
        assert np.abs(left).max() < 1e-6 * np.abs(rig.out[OUT_FORCE : OUT_FORCE + 3]).max()
        ends.append(rig.tool[:7].copy())
    assert ends[0] == pytest.approx(ends[1], abs=1e-7)


@pytest.mark.nojit
def test_weight_sags_on_the_coupling() -> None:
    rig = make_rig(0.1)
    rig.settings[SET_GRAVITY + 2] = -9.81
    rig.tool[:3] = (0.03, 0.0, 0.0)
    rig.hand[:3] = 0.0
    for _ in range(2000):
        step(rig)
    assert rig.out[OUT_FORCE + 2] == pytest.approx(0.981, rel=1e-6)
    assert rig.out[OUT_DEVIATION] == pytest.approx(0.981 / 200.0, rel=1e-6)


@pytest.mark.nojit
def test_a_direct_grip_puts_the_tool_at_the_hand() -> None:
    """The hand feels the contact wrench about the grip; the force for it is −OUT_FORCE."""
    rng = np.random.default_rng(16)
    rig = random_rig(rng, planes=0)
    DirectCoupling().apply(rig.settings)
    s = rig.settings
    q = oracle.product(
        rig.hand[3:7], oracle.conjugate(s[SET_GRIP_QUATERNION : SET_GRIP_QUATERNION + 4])
    )
    r = oracle.matrix(q)
    arm = r @ s[SET_GRIP : SET_GRIP + 3]
    point = np.array([0.05, 0.02, -0.01])
    place = rig.hand[:3] - arm + r @ point
    put_planes(rig, [plane(point, place + 1e-3 * UP, -UP)])
    assert step(rig) == 0
    assert rig.tool[:3] == pytest.approx(rig.hand[:3] - arm, abs=1e-14)
    _, v, w = oracle.twist(s, rig.tool)
    assert w == pytest.approx(rig.hand[10:13], rel=1e-12)
    assert v == pytest.approx(rig.hand[7:10] - np.cross(w, arm), rel=1e-12)
    force = 5000.0 * 1.5e-3
    assert -rig.out[OUT_FORCE : OUT_FORCE + 3] == pytest.approx([0, 0, force], rel=1e-9, abs=1e-9)
    moment = np.cross(place - rig.hand[:3], [0, 0, force])
    assert -rig.out[OUT_TORQUE : OUT_TORQUE + 3] == pytest.approx(moment, rel=1e-9)
    assert rig.out[OUT_ENERGY] == pytest.approx(0.5 * 5000.0 * 1.5e-3**2, rel=1e-9)
    assert rig.out[OUT_DEVIATION] == pytest.approx(0.0, abs=1e-14)


@pytest.mark.nojit
@pytest.mark.parametrize("where", ["state", "packet"])
def test_a_lost_tool_is_put_back_to_the_hand(where: str) -> None:
    rig = random_rig(np.random.default_rng(17))
    if where == "state":
        rig.tool[8] = np.nan
    else:
        rig.packet[PACKET_PLANES + 4] = np.inf
        rig.packet[PACKET_PLANES + 7] = np.nan
    assert step(rig) == FAULT_TOOL
    assert rig.out.tolist() == [0.0] * len(rig.out)
    assert rig.tool[7:].tolist() == [0.0] * 6
    rig.packet[PACKET_PLANES:] = 0.0
    assert step(rig) == 0
    assert rig.out[OUT_DEVIATION] < 1e-3
    assert rig.out[OUT_ANGLE] < 0.05


@pytest.mark.nojit
def test_a_hand_that_is_no_number_leaves_the_tool_where_it_was() -> None:
    rig = random_rig(np.random.default_rng(19), planes=0)
    good, before = rig.hand.copy(), rig.tool.copy()
    rig.hand[1] = np.nan
    assert step(rig) == FAULT_TOOL
    assert rig.tool.tolist() == [*before[:7], *[0.0] * 6]
    rig.hand[:] = good
    assert step(rig) == 0


def test_an_explicit_rule_loses_a_light_tool() -> None:
    rig = make_rig(0.01)
    rig.settings[SET_INTEGRATOR] = STEP_EULER
    rig.tool[0] = 0.03
    rig.hand[3:7] = oracle.exponential(np.array([0.1, 0.0, 0.0]))
    rig.hand[0] = 0.0
    codes = {step(rig) for _ in range(200)}
    assert codes == {0, FAULT_TOOL}


def test_packets_with_too_many_planes_are_cut() -> None:
    """A count beyond what fits, or below zero, reads no further than the packet."""
    rig = random_rig(np.random.default_rng(18), planes=0)
    for count in (1e6, -5.0):
        rig.packet[2] = count
        assert step(rig) == 0
