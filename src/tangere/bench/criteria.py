"""Ten things that a hand must be able to rely on, each measured.

1 and 2, 4 and 5 are measured in real time, at the log of a fake device; 3 and 6 to 10 on the
virtual clock, where figures are the same at every run (but for the cost of an effect).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tangere._jit import kernel
from tangere._ptr import local_f8, pointers
from tangere.devices.openhaptics import OpenHaptics
from tangere.devices.simulated import Scripted
from tangere.fakes.arms import COUPLINGS, WIDE, Run, late_contact, lean, swing
from tangere.fakes.held_program import ENDINGS, lean_on, lower
from tangere.fakes.measure import Answers, End, end_of_program, in_world
from tangere.fakes.rigs import DT, free_rig, packet, run, run_in_touch, send_packet
from tangere.fakes.vendors import Libraries, World
from tangere.haptics.effects import Effect, add_effects
from tangere.haptics.energy_net import FALL
from tangere.haptics.layout import (
    CONTACT_HELD,
    CONTACT_LINEAR,
    CONTACT_PLANES,
    FAULT_JUMP,
    FAULT_SILENT,
    FAULT_TOOL,
    FORCE_ACTIVE,
    FORCE_LOST,
    MEM_BUDGET,
    MEM_STATE,
    NROW,
    READ_POSITION,
    READ_VELOCITY,
    ROW_EFFECT,
    ROW_FAULT,
    ROW_LATE,
    ROW_MISSED,
    ROW_NET,
    ROW_OBSERVED,
    ROW_SAMPLE_AGE,
    ROW_SENT,
    ROW_SPENT_TIME,
    ROW_TIME,
    ROW_TOOL,
    ROW_WRITE_TIME,
    SET_LEASH,
    Rig,
)
from tangere.haptics.mailbox import drain
from tangere.haptics.safety import Safety
from tangere.haptics.servo import CTL_PERIOD, new_loop
from tangere.haptics.vendor_servo import VendorServo
from tangere.maths.vec import Array
from tangere.session.hand_process import HandProcess
from tangere.session.local_hands import LocalHands
from tangere.session.session import Session

PLAIN = replace(WIDE, lead=False, net=False)
DELAYS = (0, 1, 2, 4, 6)  # [ticks]
KINDS = ("lean", "tap", "press")
ZERO = 0.1  # from the end of a program to zero force and a closed device, at most [s]
STOPPED = 0.06  # … to zero force when it stands still [s]
NO_STEP = 0.05  # of the force while a hand is placed and its force ramps up [N]
CALLS = 100_000  # of an effect, to see what one costs
NEVER_LATE = 1 << 50  # a period in which whoever turns a scheduler by hand comes in time [ns]


@dataclass(frozen=True)
class Finding:
    """One criterion: what is asked for, what was seen."""

    number: int
    asked: str
    seen: str
    holds: bool


def answered(found: dict[tuple[float, bool], Answers]) -> Finding:
    """1: commands keep their pace and follow the hand, whatever Python does.

    Args:
        found: By duration of a call [s] and whether Python was busy.
    """
    busy = [each for (_, is_busy), each in found.items() if is_busy]
    rate = min(each.rate for each in busy)
    p50, p99 = (max(each.percentiles[k] for each in busy) for k in (0, 1))
    return Finding(
        1,
        "beside busy Python, calls of 0 and 0.3 ms: ≥ 990 commands/s, wait p50 ≤ 1, p99 ≤ 2 ms",
        f"{rate:.0f} /s, {1e3 * p50:.2f}, {1e3 * p99:.2f} ms",
        rate >= 990.0 and p50 <= 1e-3 and p99 <= 2e-3,
    )


def endings(libraries: Libraries, folder: Path, runs: int) -> dict[str, list[End]]:
    """How a device sees the ends of a program, each so many times."""
    return {
        name: [end_of_program(libraries, folder, name) for _ in range(runs)] for name in ENDINGS
    }


def let_go(found: dict[str, list[End]]) -> Finding:
    """2: however the program ends, the hand is let go and the device closed."""
    ends = [end for name, several in found.items() if name != "sigstop" for end in several]
    good = sum(max(end.zero, end.closed) <= ZERO for end in ends)
    stopped = max(end.zero for end in found["sigstop"])
    zero, closed = max(end.zero for end in ends), max(end.closed for end in ends)
    return Finding(
        2,
        "every end of the program: zero and closed within 100 ms; SIGSTOP: zero within 60 ms",
        f"{good} of {len(ends)}, worst {1e3 * zero:.0f} and {1e3 * closed:.0f} ms; "
        f"{1e3 * stopped:.0f} ms",
        good == len(ends) and stopped <= STOPPED,
    )


# ---------------------------------------------------------------- 3: a vendor's pace


def vendor_paced(libraries: Libraries, folder: Path, ticks: int = 500) -> Finding:
    """3: the callback of a vendor's scheduler is the same tick."""
    rows = [
        _of_device(libraries, folder / f"{name}.world", ticks, scheduled=scheduled)
        for name, scheduled in (("clock", False), ("vendor", True))
    ]
    off = float(np.abs(rows[0] - rows[1]).max())
    pushed = float(np.abs(rows[0][:, ROW_SENT + 2]).max())
    return Finding(
        3,
        "rows of the vendor's callback equal those of the virtual clock to 1e-12",
        f"{off:.1e}, with forces up to {pushed:.2f} N",
        off <= 1e-12 and pushed > 0.1,
    )


def _of_device(libraries: Libraries, path: Path, ticks: int, *, scheduled: bool) -> Array:
    """Rows of a hand at a fake OpenHaptics device, in touch with a plane."""
    path.unlink(missing_ok=True)
    world = World(path, model="Touch", counted=1, by_hand=1, sample_ns=1_000_000)
    world["position"], world["amplitude"], world["frequency"] = (0, 0, -0.002), (0, 0, 0.004), 2.0
    device = OpenHaptics()
    with in_world(libraries, world):
        device.open()
    port = device.native_port()
    assert port is not None
    rig = free_rig(safety=replace(WIDE, fresh=np.inf, stale=np.inf))
    rig.port[:] = port.words
    rig.source[:] = port.source, 0  # not timed
    rows = np.zeros((ticks, NROW))
    loop = new_loop(1, 1.0 / DT)
    loop.control[CTL_PERIOD] = NEVER_LATE
    servo = VendorServo(rig, port, rate=1.0 / DT, loop=loop)
    if scheduled:
        servo.start()
    for n in range(ticks):
        send_packet(rig, packet(n + 1, n * DT))
        if scheduled:
            libraries.turn()
            drain(loop.ring, loop.ring_at, rows[n : n + 1])
        else:
            rows[n] = run(rig, n, 1)[0]
    for time_of in (ROW_LATE, ROW_SPENT_TIME, ROW_SAMPLE_AGE, ROW_WRITE_TIME, ROW_MISSED):
        rows[:, time_of] = 0.0  # there is no clock to compare
    _end_by_hand(libraries, servo, device, scheduled=scheduled)
    return rows


def _end_by_hand(
    libraries: Libraries, servo: VendorServo, device: OpenHaptics, *, scheduled: bool
) -> None:
    """End servo and device while somebody turns the scheduler."""
    from threading import Event, Thread

    done = Event()

    def turn() -> None:
        while not done.wait(1e-3):
            libraries.turn()

    thread = Thread(target=turn)
    thread.start()
    try:
        if scheduled:
            servo.stop()
        device.close()
    finally:
        done.set()
        thread.join()


# ---------------------------------------------------------------- 4, 5: faults of a device


def glitches(libraries: Libraries, folder: Path) -> Finding:
    """4: a glitch is zero at once and passes; many end in LOST; a freeze sends nothing old."""
    zero_at_once, back, lost = True, [], False
    for length in (0.005, 0.05):
        world = _world(folder / "glitch.world")
        with in_world(libraries, world), lean_on(safety=Safety(ramp=0.2)) as session:
            _settled(world, session)
            world.fail(length)
            session.wait(length + 1.0)
        trace = session.stop()
        state, sent = trace["servo.state"], np.linalg.norm(trace["device.force"], axis=1)
        wrong = np.flatnonzero(trace["fault"] & 1)
        zero_at_once &= len(wrong) > 0 and bool(np.all(sent[wrong] == 0.0))
        full = np.flatnonzero((state == FORCE_ACTIVE) & (np.arange(len(sent)) > wrong[-1]))
        back.append(1e-3 * (full[0] - wrong[-1]) if len(full) else np.inf)
    world = _world(folder / "glitch.world")
    with in_world(libraries, world), lean_on(safety=Safety(ramp=0.02)) as session:
        _settled(world, session)
        for _ in range(24):
            world.fail(0.003)
            if session.wait(0.06):
                break
        lost = session.rigs[0].memory[MEM_STATE] == FORCE_LOST
    old = _oldest_after_freeze(libraries, folder)
    return Finding(
        4,
        "glitches of 5 and 50 ms: zero in the same tick, back after 10 samples and the ramp "
        "(0.2 s); 20 end in LOST; freeze of 200 ms: one command from before",
        f"{'zero at once' if zero_at_once else 'NOT zero'}; back after "
        f"{', '.join(f'{1e3 * each:.0f}' for each in back)} ms; "
        f"{'LOST' if lost else 'not lost'}; {old} from before",
        zero_at_once and max(back) < 0.3 and bool(lost) and old <= 1,
    )


def _oldest_after_freeze(libraries: Libraries, folder: Path) -> int:
    """Commands with force in the 10 ms after a driver hung for 200 ms."""
    world = _world(folder / "freeze.world")
    with in_world(libraries, world), lean_on() as session:
        _settled(world, session)
        world.freeze(0.2)
        until = int(world["freeze_to"])
        session.wait(0.5)
    log = world.log("write")
    soon = log[(log["ns"] >= until) & (log["ns"] < until + 10_000_000)]
    return int(np.any(soon["wrench"] != 0.0, axis=1).sum())


def devices_own_ways(libraries: Libraries, folder: Path) -> Finding:
    """5: a repeated sample is no sample, torque is shown, a hand is placed where it is."""
    world = _world(folder / "ways.world")
    world["position"] = 0.0, 0.0, 0.1
    with in_world(libraries, world), lean_on() as session:
        _settled(world, session)
        world.place(world["position"], axis=(0.0, 0.0, 1.0), angle=0.1)
        session.wait(0.1)
        torque = float(np.linalg.norm(world.last()[3:6]))
        world.guard(0.06)
        session.wait(0.1)
    trace = session.stop()
    bits = int(np.bitwise_or.reduce(trace["fault"]))
    silent, jump = bool(bits & FAULT_SILENT), bool(bits & FAULT_JUMP)
    placed = int(np.flatnonzero(trace["servo.state"] == FORCE_ACTIVE)[0])
    steps = float(np.abs(np.diff(trace["device.force"][:100], axis=0)).max())
    off = np.linalg.norm(trace["tool.position"][placed] - trace["tool.position"][0])
    return Finding(
        5,
        "TIMEGUARD for 60 ms is FAULT_SILENT; a 6-DoF device shows torque; a first sample at 0.1 m "
        "is no jump and no step of force",
        f"{'silent' if silent else 'NOT silent'}; {1e3 * torque:.1f} mN m; "
        f"{'JUMP' if jump else 'no jump'}, tool {1e3 * off:.1f} mm, step {1e3 * steps:.1f} mN",
        silent and torque > 1e-3 and not jump and bool(off < 1e-3) and steps < NO_STEP,
    )


def _world(path: Path) -> World:
    path.unlink(missing_ok=True)
    return World(path, capacity=40_000)


def _settled(world: World, session: Session) -> None:
    """Lean, and wait until the force is all there."""
    lower(world, session)
    end = time.monotonic() + 10.0
    while session.rigs[0].memory[MEM_STATE] != FORCE_ACTIVE and time.monotonic() < end:
        time.sleep(5e-3)
    session.wait(0.05)


# ---------------------------------------------------------------- 6 … 9: delay


def led() -> Finding:
    """6: with the lead a late device gives nothing, and is no rougher."""
    given, rough, step, idle, force = [], [], [], True, []
    for coupling in COUPLINGS:
        for kind in KINDS:
            prompt = lean(0, kind, coupling, safety=PLAIN)
            for delay in DELAYS:
                plain, made = (lean(delay, kind, coupling, safety=s) for s in (PLAIN, WIDE))
                given.append(made.most)
                rough.append(made.rms / plain.rms / (1.3 if kind == "lean" else 1.05))
                step.append(made.steps.max() / (WIDE.slew * DT))
                if kind == "press":
                    idle &= bool(made.net.min() == 1.0)
                    force.append(abs(made.force[:, 2].max() / prompt.force[:, 2].max() - 1.0))
    coarse = {"resolution": 5.5e-5, "velocity_filter": 2e-3}
    noisy = [
        lean(d, "press", model=coarse).rms / lean(d, "press", safety=PLAIN, model=coarse).rms
        for d in DELAYS
    ]
    return Finding(
        6,
        "late by 0 … 6 ticks: motors give ≤ 1 mJ; rms of steps ≤ 1.05 (onset 1.3, 55 µm 2) × "
        "plain; no step above the slew rate; press and release: net idle, force within 3 %",
        f"{1e3 * max(given):.3f} mJ; {max(rough):.2f} of the limit, {max(noisy):.2f}; step "
        f"{max(step):.2f} of the limit; net {'idle' if idle else 'ACTS'}, {100 * max(force):.1f} %",
        max(given) <= 1e-3
        and max(rough) <= 1.0
        and max(noisy) <= 2.0
        and max(step) <= 1.0 + 1e-9
        and idle
        and max(force) <= 0.03,
    )


def booked() -> Finding:
    """7: the ledger is what the motors gave."""
    made: Iterable[Run] = [
        each
        for delay in range(7)
        for each in (lean(delay, ticks=600, safety=PLAIN), swing(delay, PLAIN, ticks=600))
    ]
    off = max(float(np.abs(each.rows[:, ROW_OBSERVED] + each.given).max()) for each in made)
    return Finding(
        7, "ledger = the arm's own book to 1e-9 J, late by 0 … 6", f"{off:.1e} J", off <= 1e-9
    )


def caught() -> Finding:
    """8: the net never steps, and lets go once the cause has gone."""
    steps = 0.0
    for kind in ("lean", "tap"):
        net = lean(6, kind, "direct 1000", safety=replace(WIDE, lead=False), ticks=4000).net
        steps = max(steps, float(-np.diff(np.append(1.0, net)).min()))
    rig = free_rig(2500, replace(WIDE, fresh=np.inf, stale=np.inf))
    rig.table[:, READ_POSITION + 2] = -0.005
    run_in_touch(rig, 0, 100)
    rig.memory[MEM_BUDGET] = -2e-3
    net = run_in_touch(rig, 100, 2400)[:, ROW_NET]
    back = DT * float(np.flatnonzero(net < 0.9)[-1])
    most = DT / FALL
    return Finding(
        8,
        f"the net falls by at most {most:g} a tick; overdrawn, the wall is back within 2 s",
        f"{steps:.3f}; {back:.2f} s",
        steps <= most * (1.0 + 1e-9) and back < 2.0,
    )


def held_near() -> Finding:
    """9: a tool stays near contacts that come late, and on its leash."""
    patient = replace(WIDE, fresh=1.0, stale=2.0)
    far = max(
        float(np.abs(late_contact(mode, n, coupling=k, safety=patient)[:, ROW_TOOL + 2]).max())
        for mode in (CONTACT_PLANES, CONTACT_LINEAR, CONTACT_HELD)
        for n in (1, 2, 5, 10, 20)
        for k in (200.0, 1000.0)
    )
    rig = free_rig(400, Safety(ramp=0.05, samples=3, fresh=np.inf, stale=np.inf))
    rig.settings[SET_LEASH] = 0.05
    fired = 0
    for n in range(400):
        if n == 100:
            rig.tool[7] = 0.01 * 30.0  # 30 m/s
        send_packet(rig, packet(n + 1, n * DT))
        fired += bool(int(run(rig, n, 1)[0, ROW_FAULT]) & FAULT_TOOL)
    return Finding(
        9,
        "packets every 1 … 20 ticks, all modes: tool within 20 mm; the leash fires once",
        f"{1e3 * far:.1f} mm; {fired}",
        far < 0.02 and fired == 1,
    )


# ---------------------------------------------------------------- 10: effects


@kernel
def _call_many(rig: Rig, count: int) -> float:
    """Force of the effects along x, summed over so many calls."""
    r = pointers(rig)
    effect = local_f8(7)
    total = 0.0
    for _ in range(count):
        add_effects(r, r.hand, 0.0, effect)
        total += effect[0]
    return total


def effects() -> Finding:
    """10: an effect costs next to nothing, lets nothing bad through, and is the same everywhere."""

    def nothing(pose: Array, twist: Array, t: float, p: Array, wrench: Array) -> None:
        pass

    def spoilt(pose: Array, twist: Array, t: float, p: Array, wrench: Array) -> None:
        wrench[0] = np.nan if t > 0.05 else 0.1

    rig = free_rig()
    costs = []
    for address in (0, Effect(nothing).compile()):
        rig.effects[0] = address
        _call_many(rig, CALLS)
        spent = []
        for _ in range(5):
            begin = time.perf_counter()
            _call_many(rig, CALLS)
            spent.append((time.perf_counter() - begin) / CALLS)
        costs.append(min(spent))
    cost = costs[1] - costs[0]
    rig = free_rig(200, Safety(ramp=0.0, samples=0, fresh=np.inf, stale=np.inf))
    rig.effects[0] = Effect(spoilt).compile()
    rows = run(rig, 0, 200)
    sent = rows[:, ROW_SENT : ROW_SENT + 6]
    finite, off = bool(np.isfinite(sent).all()), rig.effects[0] == 0
    apart = effect_elsewhere()
    return Finding(
        10,
        "an empty effect costs ≤ 50 ns; NaN of an effect never reaches a device; the same wrench "
        "in a thread, in a process and on the virtual clock",
        f"{1e9 * cost:.0f} ns; {'finite' if finite else 'NaN'}, {'off' if off else 'ON'} after it; "
        f"apart by {apart:.1e} N",
        cost <= 50e-9 and finite and bool(off) and rows[10, ROW_EFFECT] == 0.1 and apart == 0.0,
    )


def effect_elsewhere(ticks: int = 300) -> float:
    """Largest difference of an effect's wrench between a thread, a process and the virtual clock.

    Ticks that a loop left out are not compared; inf: they were more than a tenth.
    """

    def texture(pose: Array, twist: Array, t: float, p: Array, wrench: Array) -> None:
        wrench[0] += p[0] * math.sin(2.0 * math.pi * pose[2] / 1e-3)
        wrench[1] -= p[1] * twist[2]
        wrench[5] += p[2] * math.sin(2.0 * math.pi * 60.0 * t)

    def new() -> Rig:
        rig = free_rig(ticks, Safety(ramp=0.0, samples=0, fresh=np.inf, stale=np.inf))
        t = DT * np.arange(ticks)
        rig.table[:, READ_POSITION + 2] = 0.01 * np.sin(20.0 * t)
        rig.table[:, READ_VELOCITY + 2] = 0.2 * np.cos(20.0 * t)
        rig.effect_values[0, :3] = 0.5, 1.0, 0.01
        return rig

    rig = new()
    rig.effects[0] = Effect(texture).compile()
    wanted = run(rig, 0, ticks)[:, ROW_EFFECT : ROW_EFFECT + 6]
    apart = 0.0
    for kind in (LocalHands, HandProcess):
        hands = kind([Scripted(_still)], 1.0 / DT)
        hands.open()
        try:
            hands.prepare([new()], ticks)
            hands.install(0, 0, Effect(texture))
            hands.start()
            end = time.monotonic() + 30.0
            while hands.running and time.monotonic() < end:
                time.sleep(0.01)
            rows = np.zeros((ticks, NROW))
            (loop,) = hands.loops
            rows = rows[: drain(loop.ring, loop.ring_at, rows)]
        finally:
            hands.stop()
        number = np.rint(rows[:, ROW_TIME] / DT).astype(int)
        if len(number) < 0.9 * ticks:
            return np.inf
        got = rows[:, ROW_EFFECT : ROW_EFFECT + 6]
        apart = max(apart, float(np.abs(got - wanted[number]).max()))
    return apart


def _still(t: float) -> tuple[float, float, float]:
    return 0.0, 0.0, 0.0
