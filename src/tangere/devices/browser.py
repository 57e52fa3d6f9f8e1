"""The hand in the browser: a pose that a page sends 30 to 60 times a second, read at any rate.

The page lives in another process, which posts poses into a mailbox in shared memory (`Page`); this
side (`Browser`) makes a smooth motion of them. Each new pose is approached evenly over the time
that pages take between two of them (8 to 50 ms), and a critically damped follower rounds the
corners: it lags a steady motion by `delay`. Together the hand is 40 to 80 ms behind the pointer.
When the page falls silent the hand comes to rest where it was last told to be.

Nothing a page sends is trusted: what is not finite is left out, positions are brought into the
workspace, orientations are normalised, and the hand never moves faster than `max_speed`. There is
no actuation; a force is shown on the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import exp, inf, isfinite
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.devices.device import UPRIGHT, Adapter, DeviceInfo
from tangere.errors import DeviceError
from tangere.haptics.fields import put_quat, put_vec, quat_at, vec_at
from tangere.haptics.layout import (
    NREAD,
    READ_BUTTONS,
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_VELOCITY,
    new_mailbox,
)
from tangere.haptics.mailbox import SLOT, post, take
from tangere.maths.quat import Quat, from_vector, product, turn_between, unit
from tangere.maths.vec import Array, LongArray, Vec3, axpy, dot, norm, scale, sub

# Time between two poses of a page: measured, within these bounds [s].
SHORTEST, LONGEST = 0.008, 0.05
# A longer pause between two readings counts as this: afterwards the hand goes on from where it was,
# it does not leap [s].
MAX_STEP = 0.01

# State of the follower
AT = 0  # 7: position and quaternion of the hand
TWIST = 7  # 6: its velocity and angular velocity
FROM = 13  # 7: where the approach to the newest pose began
GOAL = 20  # 7: the newest pose
GONE = 27  # time since it came [s]
SPAN = 28  # time to approach it [s]
NFOLLOW = 29


class _Shared:
    """A mailbox of readings in shared memory.

    One slot more than a mailbox needs: then every index that fits in its bits is a slot, and no
    content of the memory leads outside it.
    """

    def __init__(self, memory: SharedMemory, *, fresh: bool) -> None:
        head = 64  # the indices, alone in their cache line
        self.memory = memory
        self.indices: LongArray = np.ndarray(3, np.int64, memory.buf)
        self.slots: Array = np.ndarray((SLOT + 1, NREAD), np.float64, memory.buf, head)
        if fresh:
            self.slots[:] = 0.0
            self.indices[:] = new_mailbox(NREAD)[1]

    SIZE = 64 + (SLOT + 1) * NREAD * 8

    def close(self) -> None:
        # the arrays hold the buffer; without them it can be closed
        del self.indices, self.slots
        self.memory.close()


class Page:
    """The page's end, in whichever process serves the page: `Page(browser.address).move(…)`."""

    def __init__(self, address: str) -> None:
        self._shared: _Shared | None = _Shared(_attach(address), fresh=False)
        self._row = np.zeros(NREAD)

    def move(
        self,
        position: Sequence[float],
        orientation: Sequence[float] = UPRIGHT,
        buttons: int = 0,
    ) -> None:
        """Tell where the hand shall be; anything may be given, the other side checks it."""
        if self._shared is None:
            raise DeviceError("the page's hand is closed")
        self._row[READ_POSITION : READ_POSITION + 3] = position
        self._row[READ_QUATERNION : READ_QUATERNION + 4] = orientation
        self._row[READ_BUTTONS] = buttons
        post(self._shared.slots, self._shared.indices, self._row, NREAD)

    def close(self) -> None:
        """Let go of the memory; the hand stays where it is."""
        if self._shared is not None:
            self._shared.close()
            self._shared = None


class Browser(Adapter):
    """A hand moved by the page's handle; it starts at `position` with `orientation`.

    `radius` is that of the workspace about the origin [m].
    """

    def __init__(
        self,
        *,
        position: Vec3 = (0.0, 0.0, 0.0),
        orientation: Quat = UPRIGHT,
        radius: float = 0.3,
        delay: float = 0.03,
        max_speed: float = 1.0,
        max_turn_speed: float = 6.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for what, value in (
            ("radius", radius),
            ("delay", delay),
            ("max_speed", max_speed),
            ("max_turn_speed", max_turn_speed),
        ):
            if not (isfinite(value) and value > 0):
                raise DeviceError(f"browser: {what} {value:g} must be positive")
        super().__init__(DeviceInfo("browser", radius=radius, rate=1000.0))
        self._limits = (2.0 / delay, max_speed, max_turn_speed, radius)
        self._clock = clock
        self._state = np.zeros(NFOLLOW)
        self._start = np.zeros(NREAD)
        self._start[READ_POSITION : READ_POSITION + 3] = position
        self._start[READ_QUATERNION : READ_QUATERNION + 4] = orientation
        self._news = np.zeros(NREAD)
        self._buttons = 0.0
        self._interval = LONGEST
        self._heard = self._read_at = -inf
        self._shared: _Shared | None = None
        self._place()

    @property
    def address(self) -> str:
        """Name of the shared memory for `Page`; the device must be open."""
        self.must_be_open()
        assert self._shared is not None
        return self._shared.memory.name

    def _connect(self) -> None:
        self._shared = _Shared(SharedMemory(create=True, size=_Shared.SIZE), fresh=True)
        self._heard = self._read_at = -inf
        self._interval = LONGEST
        self._buttons = 0.0
        self._place()
        # Compiled here, so that no reading waits for it.
        take(self._shared.slots, self._shared.indices, self._news, NREAD)
        approach_from(self._state, LONGEST)
        follow(self._state, 0.0, *self._limits)

    def _disconnect(self) -> None:
        if self._shared is not None:
            memory = self._shared.memory
            self._shared.close()
            memory.unlink()
            self._shared = None

    def _place(self) -> None:
        """At rest at the start."""
        self._state[:] = 0.0
        self._state[GOAL + 3] = 1.0
        self._aim(self._start)
        for column in (AT, FROM):
            self._state[column : column + 7] = self._state[GOAL : GOAL + 7]
        self._state[SPAN] = LONGEST

    def _receive(self, out: Array) -> bool:
        assert self._shared is not None
        now = self._clock()
        if take(self._shared.slots, self._shared.indices, self._news, NREAD):
            gap = now - self._heard
            self._heard = now
            if gap < 4.0 * LONGEST:  # not a pause
                self._interval += 0.25 * (min(max(gap, SHORTEST), LONGEST) - self._interval)
            approach_from(self._state, self._interval)
            self._aim(self._news)
        dt = min(max(now - self._read_at, 0.0), MAX_STEP) if self._read_at > -inf else 0.0
        self._read_at = now
        follow(self._state, dt, *self._limits)
        out[READ_POSITION : READ_POSITION + 7] = self._state[AT : AT + 7]
        out[READ_VELOCITY : READ_OMEGA + 3] = self._state[TWIST : TWIST + 6]
        out[READ_BUTTONS] = self._buttons
        return True

    def _aim(self, row: Array) -> None:
        """Take over what makes sense of a pose: the goal is always a pose of the workspace."""
        x = row[READ_POSITION : READ_POSITION + 3]
        if np.isfinite(x).all():
            largest = max(float(np.abs(x).max()), self.info.radius)
            part = x / largest  # its square does not overflow
            reach = largest * float(np.sqrt(part @ part))
            shrink = min(1.0, self.info.radius / reach) if reach > 0.0 else 1.0
            self._state[GOAL : GOAL + 3] = (part * shrink) * largest
        q = row[READ_QUATERNION : READ_QUATERNION + 4]
        if np.isfinite(q).all() and np.abs(q).max() > 1e-6:
            part = q / np.abs(q).max()
            self._state[GOAL + 3 : GOAL + 7] = part / np.sqrt(part @ part)
        buttons = float(row[READ_BUTTONS])
        if isfinite(buttons) and 0.0 <= buttons < 65536.0:
            self._buttons = float(int(buttons))


def _attach(address: str) -> SharedMemory:
    """Memory that another process made and will remove.

    Python before 3.13 would remove it as well when this process ends, with a warning; it does so
    because it keeps a list, which is left out here.
    """
    register = resource_tracker.register
    resource_tracker.register = lambda *_: None
    try:
        memory = SharedMemory(address)
    except (OSError, ValueError):
        raise DeviceError(f"browser: no hand at {address!r}: is the session running?") from None
    finally:
        resource_tracker.register = register
    if memory.size < _Shared.SIZE:
        memory.close()
        raise DeviceError(f"browser: the memory {address!r} is not a hand's")
    return memory


@kernel
def approach_from(state_out: PtrF8, span: float) -> None:
    """Begin the approach to the next goal from where the one before has got to."""
    x, q = _aim_now(state_out)
    put_vec(state_out, FROM, x)
    put_quat(state_out, FROM + 3, q)
    state_out[GONE] = 0.0
    state_out[SPAN] = span


@kernel
def follow(
    state_out: PtrF8, dt: float, w0: float, max_speed: float, max_turn: float, radius: float
) -> None:
    """Let the hand follow its aim for a time dt, exactly: ë = −2 ω₀ ė − ω₀² e.

    With e from the aim to the hand: e⁺ = (e + (ė + ω₀ e) dt) E, E = exp(−ω₀ dt), for any dt.
    """
    if dt <= 0.0:
        return
    s = state_out
    s[GONE] += dt
    aim_x, aim_q = _aim_now(s)
    x, q = vec_at(s, AT), quat_at(s, AT + 3)
    v, omega = vec_at(s, TWIST), vec_at(s, TWIST + 3)

    step, v = _damped(sub(x, aim_x), v, dt, w0, max_speed)
    x = axpy(1.0, step, x)
    far = norm(x)
    if far > radius:
        x = scale(radius / far, x)
        outward = dot(v, x) / (radius * radius)
        v = axpy(-max(outward, 0.0), x, v)
    turn, omega = _damped(turn_between(aim_q, q), omega, dt, w0, max_turn)
    q = unit(product(from_vector(turn), q))
    put_vec(s, AT, x)
    put_quat(s, AT + 3, q)
    put_vec(s, TWIST, v)
    put_vec(s, TWIST + 3, omega)


@kernel
def _damped(e: Vec3, v: Vec3, dt: float, w0: float, fastest: float) -> tuple[Vec3, Vec3]:
    """Way and velocity after dt of a critically damped motion, at most `fastest`."""
    decay = exp(-w0 * dt)
    lean = axpy(w0, e, v)
    step = sub(scale(decay, axpy(dt, lean, e)), e)
    v = scale(decay, axpy(-w0 * dt, lean, v))
    way = norm(step)
    if way > fastest * dt:
        step = scale(fastest * dt / way, step)
        v = scale(1.0 / dt, step)
    speed = norm(v)
    if speed > fastest:
        v = scale(fastest / speed, v)
    return step, v


@kernel
def _aim_now(s: PtrF8) -> tuple[Vec3, Quat]:
    """Where the even approach to the goal has got to."""
    share = min(1.0, s[GONE] / s[SPAN])
    x, q = vec_at(s, FROM), quat_at(s, FROM + 3)
    turn = turn_between(q, quat_at(s, GOAL + 3))
    return (
        axpy(share, sub(vec_at(s, GOAL), x), x),
        unit(product(from_vector(scale(share, turn)), q)),
    )
