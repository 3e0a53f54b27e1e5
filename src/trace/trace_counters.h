/*
 * Writing what goes on around the heaps: counters of processes, their threads, their mappings, the machine's memory.
 *
 * Each call is one packet that Perfetto's own reader draws. It draws a process's counters only when a ProcessTree
 * tells of the process, so hs_trace_writer_tree() comes first.
 *
 * Between begin and finish of a trace writer, in any order with its dumps.
 *
 * Threads   as trace_writer.h.
 * Fails     as trace_writer.h.
 * See       docs/FORMAT.md "Counters"
 */
#pragma once

#include <stdint.h>

#include "trace/trace_writer.h"
#include "util/proc_counters.h"
#include "util/proc_smaps.h"
#include "util/proc_system.h"

/* All that are set. Of one that is not written, readers go on with the value before. */
int hs_trace_writer_counters(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_mono_ns,
                             const struct hs_counters *counters);

#define HS_TRACE_THREAD_NAME_BYTES 16
struct hs_trace_thread {
    uint32_t tid;
    char name[HS_TRACE_THREAD_NAME_BYTES]; /* "": unknown */
};

struct hs_trace_tree {
    uint32_t pid;                           /* of the threads */
    const struct hs_proc_identity *process; /* NULL: threads only */
    char *cmdline;                          /* arguments, each ended by NUL; or a name alone */
    size_t cmdline_bytes;                   /* room for one NUL more is behind them */
    bool is_comm;                           /* the name is the kernel's short one */
    uint64_t start_boottime_ns;             /* 0: unknown */
    const struct hs_trace_thread *threads;
    size_t thread_count;
};

int hs_trace_writer_tree(struct hs_trace_writer *writer, uint64_t time_mono_ns,
                         const struct hs_trace_tree *tree);

int hs_trace_writer_smaps(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_mono_ns,
                          const struct hs_proc_smaps_sums *sums);

/* What their masks say; either may be NULL. */
int hs_trace_writer_system(struct hs_trace_writer *writer, uint64_t time_mono_ns,
                           const struct hs_meminfo *meminfo, const struct hs_pressures *pressures);

/* A file of /proc could not be read, so what it tells is missing. */
int hs_trace_writer_unread(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_mono_ns,
                           const char *file, const char *why);
