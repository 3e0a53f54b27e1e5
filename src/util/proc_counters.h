/*
 * The counters of a process: what /proc says about its memory, page faults and CPU time at one
 * moment, and what its heaps hold.
 *
 *     struct hs_counters counters = { 0 };
 *     hs_proc_read_counters("/proc", pid, &counters, &identity); status and stat
 *     hs_proc_read_rollup("/proc", pid, &counters);              PSS: slower, needs permission
 *
 * A kernel may have fewer counters, a zombie has no memory, and not every file of other users'
 * processes is readable. A counter that is not available has no bit in `has_mask`.
 *
 * Ensures   values are bytes, nanoseconds or plain counts, as hs_counter_unit() says; only
 *           OOM_SCORE_ADJ can be negative.
 * Threads   pure functions; readers keep no state.
 * Fails     -errno; -EINVAL: not of this form. Counters that were already set stay.
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
    HS_COUNTER_RSS_PEAK, /* the highest RSS so far */
    HS_COUNTER_OOM_SCORE_ADJ,
    HS_COUNTER_SMAPS_RSS, /* first counter of smaps_rollup */
    HS_COUNTER_PSS,
    HS_COUNTER_PSS_ANON,
    HS_COUNTER_PSS_FILE,
    HS_COUNTER_PSS_SHMEM,
    HS_COUNTER_SWAP_PSS, /* last counter of smaps_rollup */
    HS_COUNTER_RUNTIME_USER,
    HS_COUNTER_RUNTIME_KERNEL,
    HS_COUNTER_MINOR_FAULTS,
    HS_COUNTER_MAJOR_FAULTS,
    HS_COUNTER_THREADS,
    HS_COUNTER_LIVE, /* live memory of all heaps that are not carved; not from /proc */
    HS_COUNTER_N,
};

#define HS_COUNTER_BIT(counter) (UINT32_C(1) << (counter))

struct hs_counters {
    uint32_t has_mask; /* HS_COUNTER_BIT of each known counter */
    int64_t values[HS_COUNTER_N];
};

enum hs_counter_unit { HS_COUNTER_UNIT_BYTES, HS_COUNTER_UNIT_NS, HS_COUNTER_UNIT_COUNT };

/* The counter's name, "mem.rss.anon": that of its track in the Perfetto UI, where it has one. */
const char *hs_counter_name(enum hs_counter counter);
/* The unit of the counter's value. */
enum hs_counter_unit hs_counter_unit(enum hs_counter counter);

/* Is the counter known? */
static inline bool hs_counters_have(const struct hs_counters *counters, enum hs_counter counter)
{
    return (counters->has_mask & HS_COUNTER_BIT(counter)) != 0;
}

/* Sets the counter, in its unit. */
static inline void hs_counters_set(struct hs_counters *counters, enum hs_counter counter,
                                   int64_t value)
{
    counters->has_mask |= HS_COUNTER_BIT(counter);
    counters->values[counter] = value;
}

/* The process's identity, from the same files. */
#define HS_NSPIDS_MAX 32
struct hs_proc_identity {
    uint32_t pid, ppid;
    int64_t uid;           /* effective; -1: unknown */
    uint64_t start_ticks;  /* start, in ticks since boot */
    uint64_t child_faults; /* of children that it waited for; 0: probably it waited for none */
    char state;
    bool is_kernel_thread;
    uint32_t nspids[HS_NSPIDS_MAX]; /* its number in inner PID namespaces, from the outermost to
                                     * the innermost */
    uint32_t nspid_count;
};

/*
 * Each parser adds the counters of its file. `ret_identity` may be NULL. `tick_ns` is the length of
 * a tick of CPU time in nanoseconds. Return 0 or -EINVAL.
 */
int hs_counters_parse_status(const char *text, size_t text_bytes, struct hs_counters *counters,
                             struct hs_proc_identity *ret_identity);
/* Adds the counters of /proc/PID/stat. */
int hs_counters_parse_stat(const char *text, size_t text_bytes, uint64_t tick_ns,
                           struct hs_counters *counters, struct hs_proc_identity *ret_identity);
/* Adds the value of /proc/PID/oom_score_adj. */
int hs_counters_parse_oom_score_adj(const char *text, size_t text_bytes,
                                    struct hs_counters *counters);
/* Adds the counters of /proc/PID/smaps_rollup. */
int hs_counters_parse_rollup(const char *text, size_t text_bytes, struct hs_counters *counters);

/*
 * Reads status and stat; a zombie has only CPU times and faults. `folder` is /proc, or a substitute
 * in a test. Returns 0 or -errno.
 */
int hs_proc_read_counters(const char *folder, pid_t pid, struct hs_counters *counters,
                          struct hs_proc_identity *ret_identity);
/* Reads oom_score_adj. Returns 0 or -errno. */
int hs_proc_read_oom_score_adj(const char *folder, pid_t pid, struct hs_counters *counters);
/* Reads smaps_rollup. Returns 0 or -errno; -ESRCH also for a zombie. */
int hs_proc_read_rollup(const char *folder, pid_t pid, struct hs_counters *counters);
