"""The spring that bends over, the turn between hand and tool, and what a user may ask for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import held_tool as oracle

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.errors import SceneError
from tangere.haptics.coupling import (
    DirectCoupling,
    VirtualCoupling,
    saturated,
    stretched,
    turn_between,
)
from tangere.haptics.layout import (
    COUPLING_DIRECT,
    COUPLING_VIRTUAL,
    NHAND,
    NSET,
    SET_DAMPING,
    SET_GRIP_QUATERNION,
    SET_GROUNDED,
    SET_MAX_FORCE,
    SET_MAX_TORQUE,
    SET_MODE,
    SET_ONSET,
    SET_SCALE,
    SET_STIFFNESS,
    SET_TURN_DAMPING,
    SET_TURN_STIFFNESS,
)

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]
K, MOST = 200.0, 3.0
# A few roundings of numbers of order one.
EXACT = 1e-14


@kernel
def _turn(settings: Array, q: Array, hand: Array, last: Array, out: Array) -> None:
    """turn_between on arrays."""
    before = (last[0], last[1], last[2])
    u, curl = turn_between(ptr(settings), (q[0], q[1], q[2], q[3]), ptr(hand), before)
    out[0], out[1], out[2] = u
    out[3] = curl


def turn(q_h: Array, q: Array, last: Array | None = None) -> tuple[Array, float]:
    settings, hand, out = np.zeros(NSET), np.zeros(NHAND), np.zeros(4)
    settings[SET_GRIP_QUATERNION] = 1.0
    hand[3:7] = q_h
    _turn(settings, q, hand, np.zeros(3) if last is None else last, out)
    return out[:3], float(out[3])


def inverse_jacobian(u: Array, curl: float) -> Array:
    s = oracle.skew(u)
    return np.asarray(np.eye(3) + 0.5 * s + curl * s @ s)


def rate_matrix(q: Array) -> Array:
    """Q with q̇ = Q ω."""
    return np.asarray(0.5 * np.vstack((-q[1:], q[0] * np.eye(3) - oracle.skew(q[1:]))))


@pytest.mark.parametrize("onset", [0.5, 0.8, 0.9])
def test_spring_bends_over_smoothly(onset: float) -> None:
    s1 = onset * MOST / K
    h = 1.5 * (1.0 - onset) * MOST / K
    s = np.linspace(0.0, s1 + 2.0 * h, 4001)
    force, slope, energy = np.array([saturated(K, MOST, onset, float(each)) for each in s]).T
    assert (np.diff(force) >= 0.0).all()
    assert slope.max() <= K
    assert slope.min() >= 0.0
    assert (np.diff(slope) <= 1e-12).all(), "the stiffness never rises"
    assert force.max() == pytest.approx(MOST, rel=EXACT)
    # mid-point rule; in the interval with the kink of the slope it errs by K step/(2 h), 1e-3 K
    step = s[1] - s[0]
    middle = 0.5 * (s[1:] + s[:-1])
    inner = np.array([saturated(K, MOST, onset, float(each)) for each in middle])
    assert np.diff(force) / step == pytest.approx(inner[:, 1], abs=1e-3 * K)
    assert np.diff(energy) / step == pytest.approx(inner[:, 0], abs=1e-5 * MOST)
    tiny = 1e-9
    for joint in (s1, s1 + h):
        below, above = (saturated(K, MOST, onset, joint + sign * tiny) for sign in (-1, 1))
        assert below == pytest.approx(above, abs=3e-6 * K), "value, slope and energy go on"
    # twice continuous at the onset: the slope leaves K with the square of the way
    assert 1.0 - saturated(K, MOST, onset, s1 + 1e-3 * h)[1] / K == pytest.approx(1e-6, rel=1e-6)


def test_a_spring_without_limit_is_linear() -> None:
    assert saturated(K, math.inf, 0.8, 10.0) == (K * 10.0, K, 0.5 * K * 100.0)
    assert stretched(K, math.inf, 0.8, (3.0, 0.0, 4.0)) == (K, 0.0, 0.5 * K * 25.0)


@pytest.mark.parametrize("way", [0.0, 1e-9, 0.01, 0.0135, 0.0149, 0.0165, 0.1])
def test_vector_spring_and_tangent(way: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        direction = rng.normal(size=3)
        d = way * direction / np.linalg.norm(direction)
        share, bend, energy = stretched(K, MOST, 0.8, (float(d[0]), float(d[1]), float(d[2])))
        tangent = share * np.eye(3) + bend * np.outer(d, d)
        exact = oracle.complex_step(lambda z: oracle.spring(z, K, MOST, 0.8), d)
        assert share * d == pytest.approx(oracle.spring(d, K, MOST, 0.8), rel=1e-13)
        assert tangent == pytest.approx(exact, abs=1e-12 * K)
        assert np.linalg.eigvalsh(tangent).min() >= -1e-12 * K
        assert energy == pytest.approx(saturated(K, MOST, 0.8, way)[2], rel=1e-12, abs=1e-30)


ANGLES = [0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.0999, 0.1001, 1.0, 2.0, 3.0, math.pi - 1e-3]
ANGLES += [math.pi - 1e-6, math.pi - 1e-9]


@pytest.mark.parametrize("angle", ANGLES)
def test_turn_and_its_derivative(angle: float) -> None:
    rng = np.random.default_rng(8)
    for sign in (1.0, -1.0):
        q, axis = rng.normal(size=4), rng.normal(size=3)
        q /= np.linalg.norm(q)
        axis /= np.linalg.norm(axis)
        q_h = sign * oracle.product(oracle.exponential(angle * axis), q)
        u, curl = turn(q_h, q)

        def log(z: Any, q_h: Array = q_h) -> Any:
            return oracle.logarithm(oracle.product(q_h, oracle.conjugate(z)))

        exact = oracle.complex_step(log, q) @ rate_matrix(q)
        # the quaternion itself knows an angle near a half turn to rounding of its real part
        assert u == pytest.approx(angle * axis, abs=1e-14 * (1.0 + angle))
        assert -inverse_jacobian(u, curl) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("degrees", [181.0, 185.0, 189.0])
def test_the_way_round_is_kept_past_a_half_turn(degrees: float) -> None:
    """The derivative holds on the long way too; without memory, or before, it is the short one."""
    rng = np.random.default_rng(2)
    angle = math.radians(degrees)
    axis = np.array([0.6, 0.0, 0.8])
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    for sign in (1.0, -1.0):
        q_h = sign * oracle.product(oracle.exponential(angle * axis), q)
        kept, curl = turn(q_h, q, 3.1 * axis)
        assert kept == pytest.approx(angle * axis, abs=1e-13)

        def log(z: Any, q_h: Array = q_h) -> Any:
            return oracle.logarithm(oracle.product(q_h, oracle.conjugate(z)), long_way=True)

        exact = oracle.complex_step(log, q) @ rate_matrix(q)
        assert -inverse_jacobian(kept, curl) == pytest.approx(exact, abs=1e-12)
        for last in (np.zeros(3), -3.1 * axis):
            short, _ = turn(q_h, q, last)
            assert short == pytest.approx((angle - 2.0 * math.pi) * axis, abs=1e-13)


def test_the_way_round_is_given_up_at_190_degrees() -> None:
    axis = np.array([0.0, 1.0, 0.0])
    last, turned = np.zeros(3), []
    for degrees in np.arange(100.0, 260.0, 0.5):
        last, _ = turn(oracle.exponential(math.radians(degrees) * axis), np.eye(4)[0], last)
        turned.append(math.degrees(float(last[1])))
    jump = int(np.argmin(np.diff(turned)))
    assert 100.0 + 0.5 * jump == pytest.approx(190.0, abs=0.51)
    assert turned[0] == pytest.approx(100.0)
    assert turned[-1] == pytest.approx(259.5 - 360.0)


def test_settings_of_a_virtual_coupling() -> None:
    settings = np.full(NSET, np.nan)
    VirtualCoupling(
        stiffness=300.0,
        damping=2.0,
        rotational_stiffness=0.5,
        rotational_damping=0.01,
        max_force=8.5,
        max_torque=0.5,
        onset=0.7,
        damping_against="world",
        scale=0.4,
    ).apply(settings)
    wanted = {
        SET_MODE: COUPLING_VIRTUAL,
        SET_STIFFNESS: 300.0,
        SET_DAMPING: 2.0,
        SET_TURN_STIFFNESS: 0.5,
        SET_TURN_DAMPING: 0.01,
        SET_MAX_FORCE: 3.4,  # 8.5 N felt are 3.4 N at the tool
        SET_MAX_TORQUE: 0.08,
        SET_ONSET: 0.7,
        SET_GROUNDED: 1.0,
        SET_SCALE: 0.4,
    }
    assert {i: settings[i] for i in wanted} == pytest.approx(wanted)
    assert np.isnan(np.delete(settings, list(wanted))).all()


def test_default_torque_stays_short_of_a_half_turn() -> None:
    settings = np.zeros(NSET)
    for scale in (1.0, 0.4):
        VirtualCoupling(rotational_stiffness=0.6, scale=scale).apply(settings)
        assert settings[SET_MAX_TORQUE] == pytest.approx(0.6)
    assert settings[SET_MAX_FORCE] == math.inf


def test_settings_of_a_direct_coupling() -> None:
    settings = np.full(NSET, np.nan)
    DirectCoupling(scale=2.0).apply(settings)
    assert settings[SET_MODE] == COUPLING_DIRECT
    assert settings[SET_SCALE] == 2.0
    assert np.isnan(settings).sum() == NSET - 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stiffness": 0.0}, "stiffness is 0.0: it must be positive"),
        ({"stiffness": math.nan}, "stiffness is nan: it must be positive"),
        ({"damping": -1.0}, "damping is -1.0: it must be 0 or more"),
        ({"rotational_stiffness": math.inf}, "rotational_stiffness is inf"),
        ({"rotational_damping": math.nan}, "rotational_damping is nan"),
        ({"max_force": 0.0}, "max_force is 0.0: it must be positive"),
        ({"max_torque": -0.1}, "max_torque is -0.1: it must be positive"),
        ({"onset": 1.0}, "onset is 1.0: it must be between 0 and 1"),
        ({"damping_against": "air"}, "damping_against is 'air': write 'hand' or 'world'"),
        ({"scale": 0.0}, "scale is 0.0: it must be positive"),
    ],
)
def test_bad_values_are_told_in_one_line(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SceneError, match=words) as told:
        VirtualCoupling(**options)
    assert "\n" not in str(told.value)


def test_a_direct_coupling_checks_its_scale() -> None:
    with pytest.raises(SceneError, match="scale is -1"):
        DirectCoupling(scale=-1.0)
