"""The arrays of the servo side; no algorithms.

A *rig* is one device, one coupling and one tool: a hand. Everything a tick reads or writes lies in
the flat arrays of a `Rig`, so that the same kernel serves the paced loop, which never returns to
Python, and the virtual clock, which calls it tick by tick. The names below are their columns.

Frames. World axes everywhere, SI units. The tool's frame is its principal frame: origin at the
centre of mass, axes along the principal axes of inertia, quaternion (w, x, y, z) from there to the
world. A normal `n` of a contact plane points out of the tool, into the scene.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere.contact_planes import MAX_PLANES, NPLANE
from tangere.maths.vec import Array, LongArray

# ------------------------------------------------ what a device tells: a reading
# Device base frame in tangere's axes (x right, y away from the user, z up).
READ_POSITION = 0  # 3: grip [m]
READ_QUATERNION = 3  # 4: grip to base
READ_VELOCITY = 7  # 3: [m/s]
READ_OMEGA = 10  # 3: [rad/s], base axes
READ_TIME = 13  # when the sample was received, monotonic [s]
READ_BUTTONS = 14  # bit field; bit 0: clutch
READ_GRIPPER = 15  # opening [m or rad]
READ_SEQUENCE = 16  # counts the samples of a device; a fresh one has a new number
READ_STATUS = 17  # of this exchange alone, 0: good; otherwise a FAULT_… of the device
READ_APPLIED = 18  # 3: force that the motors give now, as far as the device tells [N]
READ_TELLS_APPLIED = 21  # 1: it does
NREAD = 22

# ------------------------------------------------ what is sent to it: a command
SEND_FORCE = 0  # 3: on the user's hand at the grip, base frame [N]
SEND_TORQUE = 3  # 3: [N m]
SEND_GRIPPER = 6  # closing the gripper [N]
SEND_TIME = 7  # [s]
SEND_SEQUENCE = 8  # tick
NSEND = 9

# ------------------------------------------------ where the hand is: world frame
HAND_POSITION = 0  # 3: grip [m]
HAND_QUATERNION = 3  # 4
HAND_VELOCITY = 7  # 3
HAND_OMEGA = 10  # 3
NHAND = 13

# ------------------------------------------------ the tool: y = (x, q, P, L)
TOOL_POSITION = 0  # 3: centre of mass [m]
TOOL_QUATERNION = 3  # 4: principal frame to world
TOOL_MOMENTUM = 7  # 3: P = m v [kg m/s]
TOOL_ANGULAR = 10  # 3: L about the centre of mass, world axes [kg m²/s]
NTOOL = 13

# ------------------------------------------------ constants; may change between ticks
# Coupling and tool
SET_STEP = 0  # Δt [s]
SET_MODE = 1  # COUPLING_…
SET_INTEGRATOR = 2  # STEP_…
SET_CONTACT = 3  # CONTACT_…
SET_MASS = 4  # m [kg]
SET_INERTIA = 5  # 3: principal moments [kg m²]
SET_GRIP = 8  # 3: c, grip in the tool's frame [m]
SET_GRIP_QUATERNION = 11  # 4: q_c = q⁻¹ q_h
SET_STIFFNESS = 15  # k_c [N/m]
SET_DAMPING = 16  # b_c [N s/m]
SET_TURN_STIFFNESS = 17  # k_θ [N m/rad]
SET_TURN_DAMPING = 18  # b_θ [N m s/rad]
SET_MAX_FORCE = 19  # F_max of the coupling's spring [N]; inf: linear
SET_MAX_TORQUE = 20  # T_max [N m]
SET_ONSET = 21  # λ: the spring is linear up to λ F_max
SET_GROUNDED = 22  # 1: dampers act against the world instead of the hand
SET_GRAVITY = 23  # 3: on the tool [m/s²]
# From device to world: x_h = origin + σ R_wd (x_d − centre), q_h = q_wd q_d q_off
SET_SCALE = 26  # σ: virtual metres per device metre; force goes out × 1/σ, torque × 1/σ²
SET_FRAME = 27  # 4: q_wd, device base to world
SET_ORIGIN = 31  # 3: world point of the device's centre [m]
SET_CENTRE = 34  # 3: device point shown there [m]
# Safety, at the device
SET_DEVICE_FORCE = 37  # limit of the force sent [N]
SET_DEVICE_TORQUE = 38  # limit of the torque sent [N m]; 0: the device has none
SET_DEVICE_POWER = 39  # limit of force × speed given to the hand [W]
SET_DEVICE_SPEED = 40  # a hand faster than this is a fault [m/s]
SET_DEVICE_JUMP = 41  # a step of the reading beyond this is a fault [m]
SET_RAMP = 42  # time from zero to full force after a start or a fault [s]
SET_FRESH = 43  # contact packets older than this let the force decay [s]
SET_STALE = 44  # … and older than this are a fault [s]
SET_SILENCE = 45  # a device without a new sample for so long is a fault [s]
SET_NET = 46  # 1: an overdrawn ledger softens the force, see `haptics.energy_net`
SET_SLEW = 47  # most change of the force sent [N/s]; inf: none
SET_TURN_SLEW = 48  # the same of the torque [N m/s]
SET_GRIPPER_FORCE = 49  # limit of the gripper's force [N]; 0: it has none
SET_DELAY = 50  # from a command to the motors, as far as the device says [s]
SET_LEAD = 51  # 1: the coupling is given the hand of the moment when its force arrives
SET_SAMPLES = 52  # good samples in a row before there is force
SET_PLACE = 53  # PLACE_…
SET_LOST = 54  # a device whose fault lasts longer than this is lost [s]
SET_SLOW = 55  # a driver that takes longer than this to answer: this tick sends zero [s]
SET_LEASH = 56  # a tool further from its hand than this is put back [m]
SET_FASTEST = 57  # … or faster than this [m/s]
SET_PERIOD = 58  # of the contact loop [s]
SET_HELD_DAMPING = 59  # damping of a held wrench, in units of its stiffness times its age
SET_CAP = 60  # most stiffness of the planes with a direct coupling [N/m]; inf: as they are
# Buttons: their numbers, −1: none
SET_CLUTCH = 61
SET_CLUTCH_TOGGLES = 62  # 1: one press holds, the next lets go
NSET = 64

COUPLING_VIRTUAL, COUPLING_DIRECT = 0, 1
STEP_IMPLICIT, STEP_IMPLICIT13, STEP_RK4, STEP_EULER = 0, 1, 2, 3
PLACE_ON_TOOL, PLACE_ABSOLUTE = 0, 1  # the first sample shows the hand on the tool, or as mapped
CONTACT_PLANES, CONTACT_LINEAR, CONTACT_HELD, CONTACT_PLANES_START = 0, 1, 2, 3
CONTACT_PROBLEM = 4

# ------------------------------------------------ the contact packet
PACKET_SEQUENCE = 0
PACKET_TIME = 1  # t_k of the tool state that the query used [s]
PACKET_COUNT = 2  # planes
PACKET_FLAGS = 3  # 0 or PACKET_TRUNCATED
PACKET_DEPTH = 4  # deepest overlap [m]
PACKET_STATE = 5  # 13: y_k
PACKET_WRENCH = 18  # 6: contact force and torque on the tool at its centre of mass, at y_k
PACKET_STIFFNESS = 24  # 36: −∂W/∂(x, φ) at y_k and fixed (v, ω), row by row
PACKET_DAMPING = 60  # 36: −∂W/∂(v, ω) at y_k
PACKET_FORMATION = 96  # number of the contact formation
PACKET_PLANES = 97  # MAX_PLANES × NPLANE
NPACKET = PACKET_PLANES + MAX_PLANES * NPLANE
PACKET_TRUNCATED = 1  # there were more planes than fit, or the query ran out of budget

# ------------------------------------------------ contact problem, see `haptics.contact_problem`
MAX_CONTACTS = 24
PROBLEM_SEQUENCE = 0
PROBLEM_TIME = 1  # t_k of the tool state that it was made for [s]
PROBLEM_COUNT = 2  # m contacts
PROBLEM_DEPTH = 3  # deepest overlap [m]
PROBLEM_STATE = 5  # 13: y_k
PROBLEM_WRENCH = 18  # 6: on the tool, of contacts that were left out, held
PROBLEM_CONTACTS = 24  # MAX_CONTACTS × NCONTACT
CONTACT_JACOBIAN = 0  # 18: change of (gap, slip, slip) per motion of the tool, (3, 6)
CONTACT_OFFSET = 18  # 3: gap and slips at t_k, with what other bodies do without contact forces [m]
CONTACT_DRIFT = 21  # 3: velocity of the other bodies at t_k [m/s]
CONTACT_FORCE = 24  # 3: on the tool's side of the gap, along (n, t1, t2): the guess [N]
CONTACT_MU = 27
CONTACT_HESSIAN = 28  # 3: of the gap, along t1 t1, t1 t2 and t2 t2 [1/m]
CONTACT_EXPECTED_SLIP = 31  # 2: slips for which the normal is that of the curved surface [m]
NCONTACT = 33
# (3m, 3m): what contact forces move, but for the tool's own rigid motion [m/N]
PROBLEM_COMPLIANCE = PROBLEM_CONTACTS + MAX_CONTACTS * NCONTACT
NPROBLEM = PROBLEM_COMPLIANCE + 9 * MAX_CONTACTS * MAX_CONTACTS

# ------------------------------------------------ friction of the planes, kept by the tool
GRIP_NAME = 0  # of the plane
GRIP_ANCHOR = 1  # 3: where the surface is held, relative to the moving surface: world [m]
NGRIP = 4

# ------------------------------------------------ what the tool step says
OUT_FORCE = 0  # 3: F_c of the coupling on the tool [N]
OUT_TORQUE = 3  # 3: T_θ [N m], to be felt at the grip
OUT_CONTACT = 6  # 6: contact force and torque on the tool at its centre of mass
OUT_ENERGY = 12  # kinetic + springs of coupling and planes [J]
OUT_DEVIATION = 13  # |x_h − x − Rc| [m]
OUT_ANGLE = 14  # |u_c| [rad]
OUT_DEPTH = 15  # largest δ over the planes [m]
OUT_ACTIVE = 16  # planes that press
OUT_PASSES = 17  # solves
OUT_TURN = 18  # 3: u_c; the next step reads it to stay on its way round near a half turn [rad]
NOUT = 21

# ------------------------------------------------ one row of the trace, per rig
ROW_TIME = 0  # of the tick's deadline since the start [s]
ROW_DEVICE = 1  # 13: position, quaternion, velocity, angular velocity as read
ROW_HAND = 14  # 13: the same in the world
ROW_TOOL = 27  # 13: position, quaternion of the tool, velocity, angular velocity
ROW_COUPLING = 40  # 6: F_c and T_θ on the tool
ROW_CONTACT = 46  # 6: contact wrench on the tool
ROW_SENT = 52  # 6: force and torque sent to the device
ROW_APPLIED = 58  # 6: what its motors gave since the last tick, as far as is known
ROW_EFFECT = 64  # 6: force and torque of effects on the hand, world axes
ROW_GRIPPER = 70  # opening [m or rad]
ROW_GRIPPER_FORCE = 71  # sent [N]
ROW_OBSERVED = 72  # energy that the hand gave through the device [J]
ROW_BUDGET = 73  # of the net: what may still be given back [J]
ROW_STORED = 74  # energy held by tool, coupling and planes [J]
ROW_DEPTH = 75  # [m]
ROW_PLANES = 76  # planes that press
ROW_AGE = 77  # of the contact packet [s]
ROW_LATE = 78  # start of the tick after its deadline [s]; 0 on the virtual clock
ROW_SPENT_TIME = 79  # of the tick [s]; 0 on the virtual clock
ROW_MISSED = 80  # ticks left out before this one
ROW_SAMPLE_AGE = 81  # of the device's sample when the force was sent [s]
ROW_WRITE_TIME = 82  # that the driver took for the last command [s]
ROW_LEAD = 83  # τ: how far ahead the coupling sees the hand [s]
ROW_GAIN = 84  # ramp, clutch and decay: share of the computed force that is sent, …
ROW_NET = 85  # … times this share, of the net
ROW_STATE = 86  # FORCE_…
ROW_FAULT = 87  # bits FAULT_…
ROW_BUTTONS = 88
ROW_EVENT = 89  # number of the newest mark in its first tick, else 0
ROW_FORMATION = 90  # number of the contact formation
ROW_USER = 91  # NUSER: numbers of the user's own
NUSER = 16
NROW = ROW_USER + NUSER

# ------------------------------------------------ states of the force, see `haptics.force_state`
FORCE_WAITING = 0  # for good samples, or for the device to have its force switched on
FORCE_RAMP = 1  # from zero to full
FORCE_ACTIVE = 2
FORCE_FAULT = 3  # zero since the tick that found it
FORCE_LOST = 4  # the device is gone; it has to be opened anew

# ------------------------------------------------ faults, as bits
FAULT_READ = 1  # the device could not be read
FAULT_SILENT = 2  # no new sample for too long
FAULT_JUMP = 4  # the reading jumped
FAULT_SPEED = 8  # the hand moves faster than allowed
FAULT_NAN_READING = 16
FAULT_WRITE = 32  # the device did not take the force
FAULT_STALE = 64  # no contact packet for too long: the contact loop hangs or died
FAULT_NAN_CONTACT = 128
FAULT_NAN_FORCE = 256
FAULT_TOOL = 512  # the tool's state left all bounds and was put back to the hand
FAULT_LIMIT = 1024  # not a fault: force, torque or power was limited in this tick
FAULT_NET = 2048  # not a fault: the net holds force back in this tick
FAULT_RECORD = 4096  # the recording stopped (disk full …); the session goes on
FAULT_VIEWER = 8192  # the viewer went away; the session goes on
FAULT_ESCAPE = 16384  # stopped by the user or the watchdog
FAULT_SLOW = 32768  # the driver took too long to answer
FAULT_OFF = 65536  # not a fault: the device's own force is off (button, dead man, brake)
FAULT_LOST = 131072  # the device is gone
# The device's own: lasting long, they mean that it is lost.
DEVICE_FAULTS = FAULT_READ | FAULT_SILENT | FAULT_NAN_READING | FAULT_WRITE | FAULT_LOST
STOPS_FORCE = (
    DEVICE_FAULTS
    | FAULT_JUMP
    | FAULT_SPEED
    | FAULT_STALE
    | FAULT_NAN_CONTACT
    | FAULT_NAN_FORCE
    | FAULT_TOOL
    | FAULT_ESCAPE
    | FAULT_SLOW
    | FAULT_OFF
)

# ------------------------------------------------ memory of a rig
# The hand
MEM_STARTED = 0  # 1 once the hand is placed
MEM_ANCHOR = 1  # 3: a [m]
MEM_TURN = 4  # 4: q_off
MEM_SEQUENCE = 8  # of the newest sample
MEM_SAMPLE_TIME = 9  # tick that saw it [s]
MEM_BEGIN = 10  # first tick [s]
MEM_CLUTCH = 11  # share of the force let through by the clutch: 1 while it is not pressed
MEM_HELD = 12  # 1 while the clutch is held
MEM_PRESSED = 13  # 1 while its button is pressed
MEM_POSE = 14  # 7: position and quaternion of the newest good sample, device
MEM_SAMPLES = 21  # good ones in a row
MEM_SEEN = 22  # 1: this tick's sample is new and good
MEM_LATE = 23  # age of samples and duration of writes, the longest of late [s]
MEM_WRITE_TIME = 24  # of the last command [s]
# The force
MEM_STATE = 25  # FORCE_…
MEM_GAIN = 26  # ramp
MEM_RAMP = 27  # its duration now; longer after faults that come back [s]
MEM_FAULT_SINCE = 28  # [s]
MEM_FAULT_GONE = 29  # when the last fault had gone [s]
MEM_FAULT_COUNT = 30  # faults in a row, each soon after the last
MEM_WRITE_FAULT = 31  # FAULT_WRITE until a command is taken again
MEM_DECAY = 32  # share of the force that ageing packets leave
MEM_INTERVAL = 33  # between contact packets, on average [s]
MEM_PACKET_AT = 34  # when the newest one came [s]
MEM_BAD_PACKET = 35  # 1 while the newest contact packet is unusable
MEM_OUTSIDE = 36  # bits FAULT_… that others set: recorder, viewer, watchdog, user
MEM_FAULTS = 37  # every bit since the start
MEM_PAUSED = 38  # FAULT_ESCAPE while the loop is paused or stood still, else 0
MEM_MARKS = 39  # marks so far, by others
MEM_MARKS_SEEN = 40
# The net
MEM_OBSERVED = 41  # E [J]
MEM_BUDGET = 42  # B [J]
MEM_NET = 43  # g
MEM_TICKS = 44  # since the last sample
MEM_STEP = 45  # 7: Δx, Δθ and Δ of the gripper between samples, smoothed
MEM_GRIPPER = 52  # of the newest good sample
MEM_APPLIED = 53  # 7: what the motors gave in this tick
MEM_APPLIED_SUM = 60  # 7: and since the last sample
MEM_COMMANDS = 67  # sent so far
MEM_SAMPLE_AGE = 69  # of the newest sample in this tick [s]
MEM_AGE_SEEN = 70  # … when it was first seen [s]
MEM_HOLD = 68  # 1: the clutch is held by others, such as the page
MEM_REOPENED = 71  # 1: the device was opened anew, and its hand is to be placed again
MEM_LINE = 72  # (MAX_DELAY + 1) × 7: commands on their way to the motors
MAX_DELAY = 31  # [ticks]
NMEM = MEM_LINE + 7 * (MAX_DELAY + 1)

# ------------------------------------------------ where readings come from
SOURCE_TABLE = 0  # one row per tick, sampled ahead: scripts and playback
SOURCE_ARM = 1  # a person's arm and a device model, computed in the tick
SOURCE_PORT = 2  # an adapter's thread, through mailboxes
SOURCE_DHD = 3  # calls of Force Dimension's library within the tick, see `haptics.dhd`
SOURCE_HD = 4  # calls of OpenHaptics within the tick, see `haptics.hd`

# ------------------------------------------------ force laws of the user's own
MAX_EFFECTS = 4  # a hand
NPARAMETER = 16
EFFECT_POWER = NPARAMETER  # what the effect may give to the hand [W]
NEFFECT = NPARAMETER + 1

# ------------------------------------------------ what those calls need: whole numbers, see there
NPORT = 32
NPORT_MEMORY = 32  # floats that they keep: the last sample, for the velocity


class Rig(NamedTuple):
    """One hand: every array that a tick reads or writes.

    | field     | meaning                                                       | shape           |
    | settings  | SET_…                                                         | (NSET,)         |
    | reading   | newest sample of the device, READ_…                           | (NREAD,)        |
    | hand      | HAND_…, after scale and clutch                                | (NHAND,)        |
    | tool      | TOOL_…                                                        | (NTOOL,)        |
    | packet    | newest contact packet, PACKET_…                               | (NPACKET,)      |
    | grips     | friction anchors of the planes, GRIP_…                        | (MAX_PLANES, 4) |
    | out       | OUT_…                                                         | (NOUT,)         |
    | send      | SEND_…                                                        | (NSEND,)        |
    | row       | ROW_…                                                         | (NROW,)         |
    | memory    | MEM_…                                                         | (NMEM,)         |
    | user      | numbers of the user's own, for the trace                      | (NUSER,)        |
    | effects   | addresses of the user's force laws, see `haptics.effects`     | (8,) int64      |
    | effect_values | their parameters and powers                               | (4, 17)         |
    | source    | SOURCE_…, then rows of the table, or 1: calls are timed       | (2,) int64      |
    | table     | readings, or where an arm wants to be, one row per tick       | (ticks, NREAD)  |
    | arm       | parameters and state of a person's arm, see `haptics.arm`     | (256,)          |
    | port      | addresses of a vendor's functions, and numbers for them       | (NPORT,) int64  |
    | port_memory | what the calls keep from one tick to the next               | (NPORT_MEMORY,) |
    | inbox     | mailbox of readings from an adapter, see `haptics.mailbox`    | …               |
    | inbox_at  | its indices                                                   | int64           |
    | outbox    | mailbox of commands to the adapter; outbox_at: its indices    | …               |
    | packets   | … of contact packets from the contact loop                    | …               |
    | states    | … of tool states to the contact loop                          | …               |
    | problem   | newest contact problem, PROBLEM_…                             | (NPROBLEM,)     |
    | problems  | mailbox of contact problems; problems_at: its indices         | …               |
    | forces    | number of the problem solved last, and its contact forces     | (1 + 72,)       |
    """

    settings: Array
    reading: Array
    hand: Array
    tool: Array
    packet: Array
    grips: Array
    out: Array
    send: Array
    row: Array
    memory: Array
    user: Array
    effects: LongArray
    effect_values: Array
    source: LongArray
    table: Array
    arm: Array
    port: LongArray
    port_memory: Array
    inbox: Array
    inbox_at: LongArray
    outbox: Array
    outbox_at: LongArray
    packets: Array
    packets_at: LongArray
    states: Array
    states_at: LongArray
    problem: Array
    problems: Array
    problems_at: LongArray
    forces: Array


# State published to the contact loop
STATE_TIME = 0
STATE_TOOL = 1  # 13: TOOL_…
STATE_SEQUENCE = 14  # number of the tick
STATE_HAND = 15  # 13: HAND_…
NSTATE = 28


def new_mailbox(width: int) -> tuple[Array, LongArray]:
    """Three slots of `width` floats and the indices of a latest-value hand-over."""
    return np.zeros((3, width)), np.array([0, 1, 2], dtype=np.int64)


def new_rig(ticks: int = 1) -> Rig:
    """All arrays of a hand; `ticks` rows for a table."""
    quiet = np.zeros(NREAD)
    quiet[READ_QUATERNION] = 1.0
    rig = Rig(
        np.zeros(NSET),
        quiet,
        np.zeros(NHAND),
        np.zeros(NTOOL),
        np.zeros(NPACKET),
        np.zeros((MAX_PLANES, NGRIP)),
        np.zeros(NOUT),
        np.zeros(NSEND),
        np.zeros(NROW),
        np.zeros(NMEM),
        np.zeros(NUSER),
        np.zeros(2 * MAX_EFFECTS, dtype=np.int64),
        np.zeros((MAX_EFFECTS, NEFFECT)),
        np.array([SOURCE_TABLE, ticks], dtype=np.int64),
        np.tile(quiet, (ticks, 1)),
        np.zeros(256),
        np.zeros(NPORT, dtype=np.int64),
        np.zeros(NPORT_MEMORY),
        *new_mailbox(NREAD),
        *new_mailbox(NSEND),
        *new_mailbox(NPACKET),
        *new_mailbox(NSTATE),
        np.zeros(NPROBLEM),
        *new_mailbox(NPROBLEM),
        np.zeros(1 + 3 * MAX_CONTACTS),
    )
    for array, column in (
        (rig.hand, HAND_QUATERNION),
        (rig.tool, TOOL_QUATERNION),
        (rig.packet, PACKET_STATE + TOOL_QUATERNION),
    ):
        array[column] = 1.0
    for column in (SET_GRIP_QUATERNION, SET_FRAME):
        rig.settings[column] = 1.0
    rig.settings[SET_SCALE] = 1.0
    rig.settings[SET_CLUTCH_TOGGLES] = 0.0
    for column in (SET_CAP, SET_LEASH, SET_FASTEST, SET_SLOW, SET_LOST, SET_TURN_SLEW):
        rig.settings[column] = np.inf
    rig.settings[SET_PLACE] = PLACE_ABSOLUTE
    rig.memory[MEM_DECAY] = rig.memory[MEM_NET] = rig.memory[MEM_CLUTCH] = 1.0
    return rig
