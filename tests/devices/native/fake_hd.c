/* OpenHaptics' HD interface without a device: the vendor's signatures, units, frames and scheduler.
 *
 * Its frame: +x right, +y up, +z towards the user; mm, mm/s, N, mN m; a pose is 4x4, column by
 * column. The state of a frame is that of its beginning; the force is sent at its end and stays
 * until another is sent. Its scheduler is a thread that calls back every millisecond, or, with
 * `by_hand` in the world, whoever calls fake_hd_turns.
 */
#include "world.h"

#include <pthread.h>

typedef unsigned int HDenum, HHD;
typedef unsigned int (*callback)(void *);
typedef struct { unsigned int code; int internal; HHD device; } HDErrorInfo;

enum { BAD_HANDLE = 0xFFFFFFFF, MAX_CALLBACKS = 8, PERIOD = 1000000 };
enum { INVALID_OPERATION = 0x0103, COMMUNICATION = 0x0302, ILLEGAL_BEGIN = 0x0400, ILLEGAL_END };

static struct { callback function; void *data; int handle; } scheduled[MAX_CALLBACKS];
static int handles, opened[MAX_DEVICES], in_frame[MAX_DEVICES];
static HHD current;
static struct pose frame[MAX_DEVICES];
static double wrench[MAX_DEVICES][7];
static unsigned int errors[16], error_count;
static int running;
static pthread_t thread;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* one turn at a time */

static void raise_error(unsigned int code) {
    if (error_count < 16) errors[error_count++] = code;
}

/* Newest first. */
HDErrorInfo hdGetError(void) {
    HDErrorInfo e = {0, 0, 0};
    if (error_count > 0) {
        e.code = errors[--error_count];
        e.internal = -(int)e.code;
        e.device = current;
    }
    return e;
}

/* ---------------------------------------------------------------- devices */

HHD hdInitDevice(const char *name) {
    if (attach() < 0) return BAD_HANDLE;
    for (int i = 0; i < w->devices; i++) {
        if (opened[i]) continue;
        opened[i] = 1, in_frame[i] = 0;
        memset(wrench[i], 0, sizeof wrench[i]);
        current = (HHD)i;
        note(OPEN, i, NULL);
        return current;
    }
    (void)name;
    raise_error(COMMUNICATION);
    return BAD_HANDLE;
}
void hdDisableDevice(HHD d) {
    if (d >= MAX_DEVICES || !opened[d]) { raise_error(INVALID_OPERATION); return; }
    opened[d] = 0;
    note(CLOSE, (int)d, NULL);
}
void hdMakeCurrentDevice(HHD d) { current = d; }
HHD hdGetCurrentDevice(void) { return current; }
void hdEnable(HDenum what) {
    double v[7] = {what};
    note(ENABLE, (int)current, v);
}

/* ---------------------------------------------------------------- scheduler */

static void do_turn(void) {
    pthread_mutex_lock(&turn);
    for (int i = 0; i < MAX_CALLBACKS && !w->halted; i++)
        if (scheduled[i].function && scheduled[i].function(scheduled[i].data) == 0)
            scheduled[i].function = NULL;
    pthread_mutex_unlock(&turn);
}

static void *run(void *none) {
    int64_t due = now();
    while (__atomic_load_n(&running, __ATOMIC_SEQ_CST)) {
        due += PERIOD;
        if (now() - due > 5 * PERIOD) due = now();
        sleep_until(due);
        if (!w->by_hand) do_turn();
    }
    return none;
}

void hdStartScheduler(void) {
    if (running) { raise_error(INVALID_OPERATION); return; }
    note(START_SCHEDULER, 0, NULL);
    running = 1;
    pthread_create(&thread, NULL, run, NULL);
}
void hdStopScheduler(void) {
    if (!running) return;
    __atomic_store_n(&running, 0, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    note(STOP_SCHEDULER, 0, NULL);
}
unsigned long hdScheduleAsynchronous(callback function, void *data, unsigned short priority) {
    double v[7] = {priority};
    note(SCHEDULE, (int)current, v);
    for (int i = 0; i < MAX_CALLBACKS; i++) {
        if (scheduled[i].function) continue;
        scheduled[i].data = data, scheduled[i].handle = ++handles;
        __atomic_store_n(&scheduled[i].function, function, __ATOMIC_SEQ_CST);
        return (unsigned long)scheduled[i].handle;
    }
    raise_error(0x0501);
    return 0;
}
void hdUnschedule(unsigned long handle) {
    note(UNSCHEDULE, (int)current, NULL);
    for (int i = 0; i < MAX_CALLBACKS; i++)
        if (scheduled[i].handle == (int)handle) scheduled[i].function = NULL;
}

/* For tests without a clock: so many turns, on the thread that asks for them. */
void fake_hd_turns(int count) {
    for (int i = 0; i < count; i++) do_turn();
}
int fake_hd_scheduled(void) {
    int count = 0;
    for (int i = 0; i < MAX_CALLBACKS; i++) count += scheduled[i].function != NULL;
    return count;
}

/* ---------------------------------------------------------------- frames */

void hdBeginFrame(HHD d) {
    if (d >= MAX_DEVICES || !opened[d]) { raise_error(INVALID_OPERATION); return; }
    if (in_frame[d]) raise_error(ILLEGAL_BEGIN);
    current = d, in_frame[d] = 1;
    int failed = transfer((int)d, w->read_ns);
    int64_t before = w->samples[d];
    next_sample((int)d);
    if (w->log_reads) note(READ, (int)d, NULL);
    if (failed) { raise_error(COMMUNICATION); return; }
    if (within(device_time((int)d), w->guard_from, w->guard_to)) w->samples[d] = before;
    frame[d] = pose_at((int)d, sample_time((int)d));
}

void hdEndFrame(HHD d) {
    if (d >= MAX_DEVICES || !in_frame[d]) { raise_error(ILLEGAL_END); return; }
    in_frame[d] = 0;
    int failed = transfer((int)d, w->write_ns) < 0 || w->write_fails;
    note(failed ? REFUSED : WRITE, (int)d, wrench[d]);
    if (failed) raise_error(COMMUNICATION);
    if (w->error) {
        raise_error((unsigned int)w->error);
        w->error = 0;
    }
}

void hdGetDoublev(HDenum what, double *v) {
    const struct pose *p = &frame[current];
    switch (what) {
    case 0x2050: /* position */
        v[0] = 1e3 * p->x[0], v[1] = 1e3 * p->x[2], v[2] = -1e3 * p->x[1];
        break;
    case 0x2051: /* velocity */
        v[0] = 1e3 * p->v[0], v[1] = 1e3 * p->v[2], v[2] = -1e3 * p->v[1];
        break;
    case 0x2052: { /* pose */
        static const int from[3] = {0, 2, 1}, sign[3] = {1, 1, -1}; /* native axis i in ours */
        memset(v, 0, 16 * sizeof *v);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) v[4 * j + i] = sign[i] * sign[j] * p->r[from[i]][from[j]];
        v[12] = 1e3 * p->x[0], v[13] = 1e3 * p->x[2], v[14] = -1e3 * p->x[1], v[15] = 1.0;
        break;
    }
    case 0x2551: /* usable workspace: two corners */
        v[3] = 500.0 * w->box[0], v[4] = 500.0 * w->box[2], v[5] = 500.0 * w->box[1];
        v[0] = -v[3], v[1] = -v[4], v[2] = -v[5];
        break;
    case 0x2603: v[0] = w->max_force; break;
    default: raise_error(0x0100);
    }
}

void hdGetIntegerv(HDenum what, int *v) {
    switch (what) {
    case 0x2000: v[0] = (int)w->buttons; break;
    case 0x2554: v[0] = (int)w->output_dof; break;
    case 0x2600: v[0] = 1000; break;
    default: raise_error(0x0100);
    }
}

const char *hdGetString(HDenum what) { return what == 0x2501 ? w->model : "fake"; }

void hdSetDoublev(HDenum what, const double *v) {
    if (!in_frame[current]) { raise_error(INVALID_OPERATION); return; }
    double *f = wrench[current];
    if (what == 0x2700) f[0] = v[0], f[1] = -v[2], f[2] = v[1];
    else if (what == 0x2701 && w->output_dof >= 6)
        f[3] = 1e-3 * v[0], f[4] = -1e-3 * v[2], f[5] = 1e-3 * v[1];
    else raise_error(0x0100);
}
