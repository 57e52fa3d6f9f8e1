/* The world in which the fake vendors' libraries live: a memory-mapped file.
 *
 * One person's hand holds up to four devices; every fake library shows the same hand through its
 * vendor's own calls, axes and units. The file outlives the process that drives a device, so that
 * a test can see what the motors were left with when that process was killed. It says how a device
 * shall misbehave, too. `world.py` has the same fields and says what they mean.
 *
 * In the file all is SI, in the axes right, away from the user, up.
 */
#ifndef WORLD_H
#define WORLD_H

#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MAX_DEVICES = 4, MAX_REPORTS = 8192, REPORT = 16 };

enum kind {
    READ = 1, WRITE, OPEN, CLOSE, STOP, ENABLE, WATCHDOG, CALIBRATE,
    START_SCHEDULER, STOP_SCHEDULER, SCHEDULE, UNSCHEDULE,
    REFUSED /* a command that did not arrive */
};

struct entry {
    int64_t ns;
    int32_t kind, device;
    int64_t sample;
    double wrench[7];
};

struct world { /* fields of 8 bytes, in the order of world.py */
    int64_t count, capacity;
    int64_t epoch, sample_ns, counted;
    int64_t read_ns, write_ns;
    int64_t fail_from, fail_to, freeze_from, freeze_to, guard_from, guard_to;
    int64_t dead, write_fails, saturated, spoiled;
    int64_t log_reads, devices;
    int64_t system_type, wrist, active_wrist, gripper, active_gripper, initialized;
    int64_t buttons, force_off, watchdog;
    int64_t error, by_hand, halted, output_dof;
    int64_t mouse, mouse_written, mouse_taken;
    int64_t samples[MAX_DEVICES];
    double position[3], apart[3], quaternion[4];
    double amplitude[3], frequency, spin_axis[3], spin;
    double step_size, step_period;
    double gap, max_force, max_torque, max_gripper_force, box[3];
    char model[64];
    unsigned char reports[MAX_REPORTS][REPORT];
    struct entry log[];
};

int64_t fake_world_size(void) { return (int64_t)sizeof(struct world); }

static struct world *w;
static char attached[4096];

/* Not every library uses all of what follows. */
#pragma GCC diagnostic ignored "-Wunused-function"

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1000000000LL * t.tv_sec + t.tv_nsec;
}

static void sleep_until(int64_t ns) {
    struct timespec t = {ns / 1000000000LL, ns % 1000000000LL};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == 4) {}
}

/* The world that FAKE_WORLD names now; an earlier one stays mapped for calls under way. */
static int attach(void) {
    const char *path = getenv("FAKE_WORLD");
    if (!path || strlen(path) >= sizeof attached) return -1;
    if (w && strcmp(path, attached) == 0) return 0;
    int file = open(path, O_RDWR);
    if (file < 0) return -1;
    off_t size = lseek(file, 0, SEEK_END);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (p == MAP_FAILED) return -1;
    strcpy(attached, path);
    w = p;
    return 0;
}

static void note(int kind, int device, const double *values) {
    int64_t i = __atomic_fetch_add(&w->count, 1, __ATOMIC_SEQ_CST);
    if (i >= w->capacity) return;
    struct entry *e = &w->log[i];
    e->device = device;
    e->sample = w->samples[device];
    memset(e->wrench, 0, sizeof e->wrench);
    if (values) memcpy(e->wrench, values, sizeof e->wrench);
    e->ns = now();
    __atomic_store_n(&e->kind, kind, __ATOMIC_SEQ_CST);
}

/* The device's own time: that of its samples, when they are counted. */
static int64_t device_time(int device) {
    return w->counted ? w->epoch + w->samples[device] * w->sample_ns : now();
}

static int within(int64_t t, int64_t from, int64_t to) { return t >= from && t < to; }

/* Wait as a USB transfer does, or for as long as the device is frozen; -1 while it fails. */
static int transfer(int device, int64_t ns) {
    while (within(now(), w->freeze_from, w->freeze_to)) sleep_until(now() + 500000);
    if (ns > 0) sleep_until(now() + ns);
    return w->dead || within(device_time(device), w->fail_from, w->fail_to) ? -1 : 0;
}

/* The sample that is there now: 0 if it is a new one, 1 if it is that of last time. */
static int next_sample(int device) {
    int64_t before = w->samples[device];
    w->samples[device] = w->counted ? before + 1 : (now() - w->epoch) / w->sample_ns;
    return w->samples[device] == before;
}

struct pose { double x[3], v[3], r[3][3]; };

/* Where the hand is at a time [ns]: right, away, up. */
static struct pose pose_at(int device, int64_t time) {
    struct pose p;
    double t = 1e-9 * (double)(time - w->epoch), phase = 2.0 * M_PI * w->frequency * t;
    for (int i = 0; i < 3; i++) {
        p.x[i] = w->position[i] + device * w->apart[i] + w->amplitude[i] * sin(phase);
        p.v[i] = w->amplitude[i] * 2.0 * M_PI * w->frequency * cos(phase);
    }
    if (w->step_period > 0.0) { /* up and down, at times that nobody can foresee */
        int64_t n = (int64_t)floor(t / w->step_period);
        uint64_t hash = ((uint64_t)n * 0x9E3779B97F4A7C15ULL) >> 40;
        double at = (double)(hash % 1000) * w->step_period / 2000.0;
        if ((t - n * w->step_period >= at ? n : n - 1) & 1) p.x[2] -= w->step_size;
    }
    double h = 0.5 * w->spin * t, a[4] = {cos(h)}, *b = w->quaternion, q[4];
    for (int i = 0; i < 3; i++) a[i + 1] = sin(h) * w->spin_axis[i];
    q[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    q[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    q[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    q[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) p.r[i][j] = 2.0 * q[i + 1] * q[j + 1];
        p.r[i][i] += 2.0 * q[0] * q[0] - 1.0;
    }
    p.r[0][1] -= 2.0 * q[0] * q[3];
    p.r[1][0] += 2.0 * q[0] * q[3];
    p.r[1][2] -= 2.0 * q[0] * q[1];
    p.r[2][1] += 2.0 * q[0] * q[1];
    p.r[2][0] -= 2.0 * q[0] * q[2];
    p.r[0][2] += 2.0 * q[0] * q[2];
    if (w->spoiled) p.x[0] = NAN;
    return p;
}

static int64_t sample_time(int device) { return w->epoch + w->samples[device] * w->sample_ns; }

#endif
