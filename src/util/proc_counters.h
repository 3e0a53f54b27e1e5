/*
 * The counters of a process: what /proc tells of its memory, faults and CPU time at one moment.
 *
 *     struct hs_counters counters = { 0 };
 *     hs_proc_read_counters("/proc", pid, &counters);          status, stat, oom_score_adj
 *     hs_proc_read_rollup("/proc", pid, &counters);            shares of pages: slower, and not of everybody
 *
 * A kernel may have fewer of them, a zombie has no memory, and of other users' processes not all may be read: what
 * could not be had is not in `has_mask`.
 *
 * Holds     bytes, nanoseconds, or plain counts, as HS_COUNTER_UNIT says; only OOM_SCORE_ADJ may be below 0.
 * Threads   pure functions; readers keep no state.
 * Fails     -errno; -EINVAL not of this form. What was filled in before stays.
 * See       proc(5), trace/proto/perfetto.proto ProcessStats
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/proc.h"

enum hs_counter {
    HS_COUNTER_VM_SIZE,
    HS_COUNTER_RSS,
    HS_COUNTER_RSS_ANON,
    HS_COUNTER_RSS_FILE,
    HS_COUNTER_RSS_SHMEM,
    HS_COUNTER_SWAP,
    HS_COUNTER_LOCKED,
    HS_COUNTER_RSS_PEAK, /* the most that was resident */
    HS_COUNTER_OOM_SCORE_ADJ,
    HS_COUNTER_SMAPS_RSS, /* from here on of smaps_rollup, */
    HS_COUNTER_PSS,
    HS_COUNTER_PSS_ANON,
    HS_COUNTER_PSS_FILE,
    HS_COUNTER_PSS_SHMEM,
    HS_COUNTER_SWAP_PSS, /* to here */
    HS_COUNTER_RUNTIME_USER,
    HS_COUNTER_RUNTIME_KERNEL,
    HS_COUNTER_MINOR_FAULTS,
    HS_COUNTER_MAJOR_FAULTS,
    HS_COUNTER_THREADS,
    HS_COUNTER_N,
};

#define HS_COUNTER_BIT(counter) (UINT32_C(1) << (counter))

struct hs_counters {
    uint32_t has_mask; /* HS_COUNTER_BIT of those that are known */
    int64_t values[HS_COUNTER_N];
};

enum hs_counter_unit { HS_COUNTER_UNIT_BYTES, HS_COUNTER_UNIT_NS, HS_COUNTER_UNIT_COUNT };

/* As the Perfetto UI names its track, where it has one: "mem.rss.anon". */
const char *hs_counter_name(enum hs_counter counter);
enum hs_counter_unit hs_counter_unit(enum hs_counter counter);

static inline bool hs_counters_have(const struct hs_counters *counters, enum hs_counter counter)
{
    return (counters->has_mask & HS_COUNTER_BIT(counter)) != 0;
}

static inline void hs_counters_set(struct hs_counters *counters, enum hs_counter counter,
                                   int64_t value)
{
    counters->has_mask |= HS_COUNTER_BIT(counter);
    counters->values[counter] = value;
}

/* Who it is, from the same files. */
#define HS_NSPIDS_MAX 32
struct hs_proc_identity {
    uint32_t pid, ppid;
    int64_t uid;           /* effective; -1: unknown */
    uint64_t start_ticks;  /* since boot */
    uint64_t child_faults; /* of children that were waited for: 0: none was, most likely */
    char state;
    bool is_kernel_thread;
    uint32_t nspids[HS_NSPIDS_MAX]; /* in inner PID namespaces, from the outer to the inner */
    uint32_t nspid_count;
};

/* Each adds what its file tells. `ret_identity` may be NULL. `tick_ns`: nanoseconds of a tick of CPU time. */
int hs_counters_parse_status(const char *text, size_t text_bytes, struct hs_counters *counters,
                             struct hs_proc_identity *ret_identity);
int hs_counters_parse_stat(const char *text, size_t text_bytes, uint64_t tick_ns,
                           struct hs_counters *counters, struct hs_proc_identity *ret_identity);
int hs_counters_parse_oom_score_adj(const char *text, size_t text_bytes,
                                    struct hs_counters *counters);
int hs_counters_parse_rollup(const char *text, size_t text_bytes, struct hs_counters *counters);

/* Of a zombie only its times and faults. `folder` stands for /proc. */
int hs_proc_read_counters(const char *folder, pid_t pid, struct hs_counters *counters,
                          struct hs_proc_identity *ret_identity);
int hs_proc_read_rollup(const char *folder, pid_t pid, struct hs_counters *counters);
