/* Force Dimension's SDK without a device: the calls that tangere and the package
 * `forcedimension_core` make, by the vendor's signatures, units and return values.
 *
 * Its frame: +x towards the user, +y right, +z up; m, N, N m.
 */
#include "world.h"

#include <stdbool.h>

enum { DONE = 0, FAILED = -1, TIMEGUARD = 1, MOTOR_SATURATED = 2 };

static const char *last_error = "no error";
static int opened[MAX_DEVICES], expert, current;
static struct pose shown[MAX_DEVICES]; /* of the last sample that was given out */

static int fails(const char *words) {
    last_error = words;
    return FAILED;
}

static int number(char id) { return id < 0 ? current : id; }

static int usable(int id) { return w && id >= 0 && id < MAX_DEVICES && opened[id]; }

/* ---------------------------------------------------------------- opening and closing */

void dhdGetSDKVersion(int *major, int *minor, int *release, int *revision) {
    *major = 3, *minor = 17, *release = 0, *revision = 0;
}
const char *dhdErrorGetLastStr(void) { return last_error; }
int dhdErrorGetLast(void) { return strcmp(last_error, "no error") != 0; }
const char *dhdErrorGetStr(int error) { return error ? "an error" : "no error"; }
int dhdGetDeviceCount(void) { return attach() < 0 ? 0 : (int)w->devices; }
int dhdGetAvailableCount(void) { return dhdGetDeviceCount(); }

int dhdOpenID(char id) {
    if (attach() < 0 || id < 0 || id >= w->devices) return fails("no device found");
    opened[(int)id] = 1;
    current = id;
    shown[current] = pose_at(id, sample_time(id));
    note(OPEN, id, NULL);
    return id;
}
int dhdOpen(void) { return dhdOpenID(0); }
int drdOpen(void) { return dhdOpenID(0); }
int drdOpenID(char id) { return dhdOpenID(id); }

int dhdClose(char given) {
    int id = number(given);
    if (!usable(id)) return fails("no device found");
    note(CLOSE, id, NULL);
    opened[id] = 0;
    return DONE;
}
int drdClose(char id) { return dhdClose(id); }

/* The motors are off, the brakes on. */
int dhdStop(char given) {
    int id = number(given);
    if (!usable(id)) return fails("no device found");
    note(STOP, id, NULL);
    return DONE;
}

bool drdIsInitialized(char id) { (void)id; return w->initialized; }
int drdAutoInit(char id) {
    w->initialized = 1;
    note(CALIBRATE, number(id), NULL);
    return DONE;
}

/* ---------------------------------------------------------------- what it is */

int dhdGetSystemType(char id) { (void)id; return (int)w->system_type; }
const char *dhdGetSystemName(char id) { (void)id; return w->model; }
bool dhdHasWrist(char id) { (void)id; return w->wrist; }
bool dhdHasActiveWrist(char id) { (void)id; return w->active_wrist; }
bool dhdHasGripper(char id) { (void)id; return w->gripper; }
bool dhdHasActiveGripper(char id) { (void)id; return w->active_gripper; }
bool dhdIsLeftHanded(char id) { (void)id; return false; }
double dhdGetMaxForce(char id) { (void)id; return w->max_force; }
double dhdGetMaxTorque(char id) { (void)id; return w->max_torque; }
double dhdGetMaxGripperForce(char id) { (void)id; return w->max_gripper_force; }
double dhdGetComFreq(char id) { (void)id; return 1e6 / (double)w->sample_ns; }

int dhdGetStatus(int *status, char given) {
    int id = number(given);
    if (!usable(id) || transfer(id, w->read_ns) < 0) return fails("communication error");
    memset(status, 0, 17 * sizeof *status); /* as many as SDK 3.16 has */
    status[0] = status[1] = status[2] = 1;
    status[5] = w->force_off == 0;
    status[14] = (int)w->force_off;
    return DONE;
}

/* ---------------------------------------------------------------- settings */

int dhdEnableExpertMode(void) { expert = 1; return DONE; }
int dhdDisableExpertMode(void) { expert = 0; return DONE; }

int dhdSetWatchdog(unsigned char duration, char given) { /* eighths of a millisecond */
    double v[7] = {duration};
    if (!expert) return fails("expert mode disabled");
    w->watchdog = duration;
    note(WATCHDOG, number(given), v);
    return DONE;
}

int dhdEnableForce(unsigned char on, char given) {
    double v[7] = {on};
    int id = number(given);
    if (!usable(id) || transfer(id, 0) < 0) return fails("communication error");
    note(ENABLE, id, v);
    return DONE;
}

/* ---------------------------------------------------------------- pose and wrench */

static int sample(int id) {
    if (!usable(id) || transfer(id, w->read_ns) < 0) {
        if (w && usable(id) && w->counted) next_sample(id);
        return fails("communication error");
    }
    int same = next_sample(id);
    if (w->log_reads) note(READ, id, NULL);
    if (same || within(device_time(id), w->guard_from, w->guard_to)) return TIMEGUARD;
    shown[id] = pose_at(id, sample_time(id));
    return DONE;
}

static void tell_position(const struct pose *p, double *x, double *y, double *z) {
    *x = -p->x[1], *y = p->x[0], *z = p->x[2];
}

int dhdGetPosition(double *x, double *y, double *z, char given) {
    int id = number(given), answer = sample(id);
    if (answer >= 0) tell_position(&shown[id], x, y, z);
    return answer;
}

int dhdGetPositionAndOrientationFrame(double *x, double *y, double *z, double m[3][3], char given) {
    static const int from[3] = {1, 0, 2}, sign[3] = {-1, 1, 1}; /* native axis i in ours */
    int id = number(given), answer = sample(id);
    if (answer < 0) return answer;
    tell_position(&shown[id], x, y, z);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) /* without a wrist it is whatever the memory held */
            m[i][j] = w->wrist ? sign[i] * sign[j] * shown[id].r[from[i]][from[j]] : NAN;
    return answer;
}

int dhdSetForceAndTorqueAndGripperForce(double fx, double fy, double fz, double tx, double ty,
                                        double tz, double fg, char given) {
    double v[7] = {fy, -fx, fz, ty, -tx, tz, fg};
    int id = number(given);
    if (!usable(id)) return fails("no device found");
    if (transfer(id, w->write_ns) < 0 || w->write_fails) {
        note(REFUSED, id, v);
        return fails("communication error");
    }
    note(WRITE, id, v);
    return w->saturated ? MOTOR_SATURATED : DONE;
}
int dhdSetForce(double fx, double fy, double fz, char id) {
    return dhdSetForceAndTorqueAndGripperForce(fx, fy, fz, 0.0, 0.0, 0.0, 0.0, id);
}
int dhdSetForceAndTorque(double fx, double fy, double fz, double tx, double ty, double tz, char id) {
    return dhdSetForceAndTorqueAndGripperForce(fx, fy, fz, tx, ty, tz, 0.0, id);
}

int dhdGetGripperGap(double *gap, char given) {
    int id = number(given);
    if (!usable(id) || !w->gripper) return fails("not available");
    *gap = w->gap;
    return w->dead ? FAILED : DONE;
}
unsigned int dhdGetButtonMask(char id) { (void)id; return (unsigned int)w->buttons; }
int dhdGetButton(int index, char id) { (void)id; return (int)(w->buttons >> index & 1); }

/* ---------------------------------------------------------------- the rest: not available */

/* `forcedimension_core` looks every one of these up when it is imported. */
#define REST(name) int name(void) { return fails("not available"); }
#define REST2(a, b) REST(a) REST(b)
#define REST3(a, b, c) REST2(a, b) REST(c)
#define REST4(a, b, c, d) REST3(a, b, c) REST(d)

REST3(dhdCheckControllerMemory, dhdConfigAngularVelocity, dhdConfigGripperVelocity)
REST3(dhdConfigLinearVelocity, dhdControllerSetDevice, dhdDeltaEncoderToPosition)
REST3(dhdDeltaEncodersToJointAngles, dhdDeltaForceToMotor, dhdDeltaGravityJointTorques)
REST3(dhdDeltaJointAnglesToEncoders, dhdDeltaJointAnglesToJacobian, dhdDeltaJointTorquesExtrema)
REST4(dhdDeltaMotorToForce, dhdDeltaPositionToEncoder, dhdEmulateButton, dhdEnableGripperForce)
REST4(dhdEnableSimulator, dhdGetAngularVelocityDeg, dhdGetAngularVelocityRad, dhdGetBaseAngleXDeg)
REST4(dhdGetBaseAngleXRad, dhdGetBaseAngleZDeg, dhdGetBaseAngleZRad, dhdGetComMode)
REST4(dhdGetComponentVersionStr, dhdGetDeltaEncoders, dhdGetDeltaJacobian, dhdGetDeltaJointAngles)
REST4(dhdGetDeviceAngleDeg, dhdGetDeviceAngleRad, dhdGetDeviceID, dhdGetEffectorMass)
REST4(dhdGetEnc, dhdGetEncRange, dhdGetEncVelocities, dhdGetEncoder)
REST4(dhdGetForce, dhdGetForceAndTorque, dhdGetForceAndTorqueAndGripperForce, dhdGetGripperAngleDeg)
REST3(dhdGetGripperAngleRad, dhdGetGripperAngularVelocityDeg, dhdGetGripperAngularVelocityRad)
REST3(dhdGetGripperEncoder, dhdGetGripperFingerPos, dhdGetGripperLinearVelocity)
REST4(dhdGetGripperThumbPos, dhdGetJointAngleRange, dhdGetJointAngles, dhdGetJointVelocities)
REST4(dhdGetLinearVelocity, dhdGetOrientationDeg, dhdGetOrientationFrame, dhdGetOrientationRad)
REST3(dhdGetPositionAndOrientationDeg, dhdGetPositionAndOrientationRad, dhdGetSerialNumber)
REST4(dhdGetSystemRev, dhdGetTime, dhdGetVelocityThreshold, dhdGetVersion)
REST4(dhdGetWatchdog, dhdGetWristEncoders, dhdGetWristJacobian, dhdGetWristJointAngles)
REST3(dhdGripperAngleRadToEncoder, dhdGripperEncoderToAngleRad, dhdGripperEncoderToGap)
REST4(dhdGripperForceToMotor, dhdGripperGapToEncoder, dhdGripperMotorToForce, dhdHasBase)
REST4(dhdJointAnglesToGravityJointTorques, dhdJointAnglesToInertiaMatrix, dhdKbGet, dhdKbHit)
REST4(dhdOpenSerial, dhdOpenType, dhdPreloadMot, dhdPreset)
REST4(dhdReadConfigFromFile, dhdReset, dhdSetBaseAngleXDeg, dhdSetBaseAngleXRad)
REST4(dhdSetBaseAngleZDeg, dhdSetBaseAngleZRad, dhdSetBrakes, dhdSetBrk)
REST4(dhdSetComMode, dhdSetDeltaJointTorques, dhdSetDeltaMotor, dhdSetDevice)
REST4(dhdSetDeviceAngleDeg, dhdSetDeviceAngleRad, dhdSetEffectorMass, dhdSetForceAndGripperForce)
REST2(dhdSetForceAndWristJointTorques, dhdSetForceAndWristJointTorquesAndGripperForce)
REST4(dhdSetGravityCompensation, dhdSetGripperMotor, dhdSetJointTorques, dhdSetMaxForce)
REST4(dhdSetMaxGripperForce, dhdSetMaxTorque, dhdSetMot, dhdSetMotor)
REST4(dhdSetOutput, dhdSetStandardGravity, dhdSetTimeGuard, dhdSetVelocityThreshold)
REST4(dhdSetVibration, dhdSetWristJointTorques, dhdSetWristMotor, dhdSleep)
REST3(dhdUpdateEncoders, dhdWaitForReset, dhdWristEncoderToOrientation)
REST3(dhdWristEncodersToJointAngles, dhdWristGravityJointTorques, dhdWristJointAnglesToEncoders)
REST3(dhdWristJointAnglesToJacobian, dhdWristJointTorquesExtrema, dhdWristMotorToTorque)
REST4(dhdWristOrientationToEncoder, dhdWristTorqueToMotor, drdCheckInit, drdEnableFilter)
REST4(drdGetCtrlFreq, drdGetDeviceID, drdGetEncDGain, drdGetEncIGain)
REST4(drdGetEncMoveParam, drdGetEncPGain, drdGetEncTrackParam, drdGetGripMoveParam)
REST4(drdGetGripTrackParam, drdGetMotRatioMax, drdGetPosMoveParam, drdGetPosTrackParam)
REST4(drdGetPositionAndOrientation, drdGetPriorities, drdGetRotMoveParam, drdGetRotTrackParam)
REST4(drdGetVelocity, drdHold, drdIsFiltering, drdIsMoving)
REST4(drdIsRunning, drdIsSupported, drdLock, drdMoveTo)
REST4(drdMoveToAllEnc, drdMoveToEnc, drdMoveToGrip, drdMoveToPos)
REST4(drdMoveToRot, drdPrecisionInit, drdRegulateGrip, drdRegulatePos)
REST4(drdRegulateRot, drdSetDevice, drdSetEncDGain, drdSetEncIGain)
REST4(drdSetEncMoveParam, drdSetEncPGain, drdSetEncTrackParam, drdSetForceAndTorqueAndGripperForce)
REST3(drdSetForceAndWristJointTorquesAndGripperForce, drdSetGripMoveParam, drdSetGripTrackParam)
REST4(drdSetMotRatioMax, drdSetPosMoveParam, drdSetPosTrackParam, drdSetPriorities)
REST4(drdSetRotMoveParam, drdSetRotTrackParam, drdStart, drdStop)
REST4(drdTrack, drdTrackAllEnc, drdTrackEnc, drdTrackGrip)
REST3(drdTrackPos, drdTrackRot, drdWaitForTick)
