"""When a tower of springs buckles, and how fast: its linear equations of motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere.maths.vec import Array

if TYPE_CHECKING:
    from tangere.experiments.hasegawa2004_block_tower import Params

SHEAR = 0.25  # tangential over normal stiffness and damping


def buckling_stiffness(n: int, p: Params) -> float:
    """Least contact stiffness with which a tower of n blocks stands under its weight [N/m].

    Block i of height l and width w leans by θ_i on a contact that resists tilt with κ = k w²/12,
    and lowers itself by l θ²/4 and the n − i blocks above it by l θ²/2 each:

        V = κ/2 Σ (θ_i − θ_{i−1})² − m g l/2 Σ (n − i + 1/2) θ_i² = 1/2 θᵀ (κ K − m g l C) θ

    with θ_0 = 0 of the floor. V has a minimum upright while κ exceeds m g l times the largest
    eigenvalue of K⁻¹ C: 5.70, 35.5 and 315 for n = 3, 6 and 13.
    """
    k = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    k[-1, -1] = 1.0
    c = np.diag(n - np.arange(1.0, n + 1.0) + 0.5)
    largest = float(np.linalg.eigvals(np.linalg.solve(k, c)).real.max())
    width, height = p.block[0], p.block[2]
    return 12.0 * largest * p.mass * p.gravity * height / width**2


def linearised(n: int, p: Params, stiffness: float, damping: float) -> tuple[float, Array]:
    """Growth rate [1/s] of n upright blocks, and the sideways way of each in that motion (top 1).

    Block i has its way x_i and its tilt θ_i; its contact with the one below carries
    N = (n − i + 1) m g at the depth δ = N/k and sticks. With the slip s of the middle of its lower
    face against the middle of the face below, and the mean tilt φ of the two, the energy is

        V = Σ k_t/2 (s + δ φ)² + k w²/24 (θ_i − θ_{i−1})²
            − N (s φ + l/4 (θ_i² + θ_{i−1}²) + δ/2 φ²)

    the last line by how much deeper the middle of the patch gets. Dampers act like the springs.
    The rate is the eigenvalue with the largest real part of M q̈ + D q̇ + V'' q = 0.
    """
    width, height = p.block[0], p.block[2]
    inertia = p.mass * (width**2 + height**2) / 12.0
    mass = np.repeat([p.mass, inertia], n)
    k, d = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, 2 * n))
    for i in range(n):
        here, below = np.zeros((2, 2 * n))
        slip = np.zeros(2 * n)
        here[n + i] = 1.0
        slip[i] = 1.0
        if i:  # the floor does not move
            below[n + i - 1] = 1.0
            slip[i - 1] = -1.0
        slip -= 0.5 * height * (here + below)
        mean, bend = 0.5 * (here + below), here - below
        load = (n - i) * p.mass * p.gravity
        depth = load / stiffness
        shear = slip + depth * mean
        springs = SHEAR * np.outer(shear, shear) + width**2 / 12.0 * np.outer(bend, bend)
        k += stiffness * springs
        d += damping * springs
        k -= load * (np.outer(slip, mean) + np.outer(mean, slip) + depth * np.outer(mean, mean))
        k -= 0.5 * load * height * (np.outer(here, here) + np.outer(below, below))
    zero, one = np.zeros((2 * n, 2 * n)), np.eye(2 * n)
    motion = np.block([[zero, one], [-k / mass[:, None], -d / mass[:, None]]])
    rates, modes = np.linalg.eig(motion)
    fastest = int(np.argmax(rates.real))
    mode = modes[:, fastest].real
    return float(rates[fastest].real), mode[:n] / mode[n - 1]
