/*
 * Reads the scheduler's statistics: see wait_clock.h.
 */
#include "inject/ptrace/wait_clock.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/sys.h"
#include "util/proc.h"

#define SCHED_BYTES 8192U
#define NS_PER_MS   UINT64_C(1000000)
/* The field of /proc/PID/stat with the processor on which the thread ran last, counted from behind
 * the name. */
#define PROCESSOR_FIELD 37

struct sched_notes {
    uint64_t ran_ns; /* the processor's clock when the thread last ran */
    uint64_t sleep_count;
};

/* Finds "key   :   123.456789": milliseconds, with nanoseconds after the point. */
static bool find_value(const char *text, const char *key, uint64_t *ret_whole, uint64_t *ret_part)
{
    const char *line = strstr(text, key);
    line = line ? strchr(line, ':') : NULL;
    if (!line) {
        return false;
    }
    char *at;
    *ret_whole = strtoull(line + 1, &at, 10);
    *ret_part = *at == '.' ? strtoull(at + 1, NULL, 10) : 0;
    return true;
}

static bool read_notes(pid_t pid, const char *name, struct sched_notes *ret_notes)
{
    char text[SCHED_BYTES];
    size_t bytes = 0;
    uint64_t ms, ns, unused;
    if (hs_proc_read(pid, name, text, sizeof(text) - 1, &bytes) < 0) {
        return false;
    }
    text[bytes] = '\0';
    if (!find_value(text, "se.exec_start", &ms, &ns) || ns >= NS_PER_MS ||
        !find_value(text, "nr_voluntary_switches", &ret_notes->sleep_count, &unused)) {
        return false;
    }
    ret_notes->ran_ns = ms * NS_PER_MS + ns;
    return true;
}

static bool read_thread(pid_t pid, pid_t tid, struct sched_notes *ret_notes)
{
    char name[64];
    snprintf(name, sizeof(name), "task/%d/sched", (int)tid);
    return read_notes(pid, name, ret_notes);
}

/* The processor on which the thread ran last; -1: not known. */
static int find_processor(pid_t pid, pid_t tid)
{
    char name[64], text[2048];
    size_t bytes = 0;
    snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
    if (hs_proc_read(pid, name, text, sizeof(text) - 1, &bytes) < 0) {
        return -1;
    }
    text[bytes] = '\0';
    const char *at = strrchr(text, ')');
    for (int i = 0; at && i < PROCESSOR_FIELD; i++) {
        at = strchr(at + 1, ' ');
    }
    return at ? (int)strtol(at, NULL, 10) : -1;
}

/* Reads the same clock now: it is this thread's own value, just after this thread has begun to run
 * there. */
static bool read_now(int processor, struct sched_notes *ret_notes)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        return false;
    }
    sched_yield(); /* updates this thread's own value */
    return read_thread((pid_t)hs_sys_getpid(), (pid_t)hs_sys_gettid(), ret_notes);
}

void hs_wait_clock_read(pid_t pid, pid_t tid, struct hs_wait_clock *ret_clock)
{
    struct sched_notes then, now;
    cpu_set_t old;
    *ret_clock = (struct hs_wait_clock){ 0 };
    int processor = find_processor(pid, tid);
    if (processor < 0 || processor >= CPU_SETSIZE || !read_thread(pid, tid, &then) ||
        sched_getaffinity(0, sizeof(old), &old) != 0) {
        return;
    }
    bool is_read = read_now(processor, &now);
    ret_clock->looked_ns = hs_sys_clock_ns(CLOCK_MONOTONIC);
    sched_setaffinity(0, sizeof(old), &old);
    if (is_read && now.ran_ns >= then.ran_ns) {
        ret_clock->waited_ns = now.ran_ns - then.ran_ns;
        ret_clock->sleep_count = then.sleep_count;
        ret_clock->is_known = true;
    }
}

void hs_wait_clock_confirm(struct hs_wait_clock *clock, pid_t pid, pid_t tid)
{
    struct sched_notes notes;
    if (clock->is_known) {
        clock->is_known =
            read_thread(pid, tid, &notes) && notes.sleep_count == clock->sleep_count + 1;
    }
}

bool hs_wait_clock_left(const struct hs_wait_clock *clock, int32_t timeout_ms, int32_t *ret_left_ms)
{
    if (!clock->is_known || timeout_ms < 0) {
        return false;
    }
    uint64_t waited_ns = clock->waited_ns + hs_sys_clock_ns(CLOCK_MONOTONIC) - clock->looked_ns;
    uint64_t timeout_ns = (uint64_t)timeout_ms * NS_PER_MS;
    uint64_t left_ns = timeout_ns > waited_ns ? timeout_ns - waited_ns : 0;
    *ret_left_ms = (int32_t)((left_ns + NS_PER_MS - 1) / NS_PER_MS);
    return true;
}
