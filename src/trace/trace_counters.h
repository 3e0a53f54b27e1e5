/*
 * Writes what a trace contains besides heaps: counters of processes, their threads and mappings,
 * and the machine's memory.
 *
 * Each call writes one packet that Perfetto's own reader displays. That reader displays a process's
 * counters only if a ProcessTree describes the process, so hs_trace_writer_tree() must come first.
 *
 * The functions are called between begin and finish of a trace writer, in any order with its dumps.
 * Each returns 0, or the first error of the writer.
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

/* Writes all counters that are set. For a counter that is not written, readers keep the previous
 * value. */
int hs_trace_writer_counters(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_mono_ns,
                             const struct hs_counters *counters);

#define HS_TRACE_THREAD_NAME_BYTES 16
struct hs_trace_thread {
    uint32_t tid;
    char name[HS_TRACE_THREAD_NAME_BYTES]; /* "": unknown */
};

struct hs_trace_tree {
    uint32_t pid;                           /* the process of the threads */
    const struct hs_proc_identity *process; /* NULL: write the threads only */
    char *cmdline;                          /* arguments, each ended by NUL; or only a name */
    size_t cmdline_bytes;                   /* the buffer has room for one more NUL */
    /* the command line is unknown, and `cmdline` is the kernel's short name */
    bool is_comm;
    uint64_t start_boottime_ns; /* 0: unknown */
    const struct hs_trace_thread *threads;
    size_t thread_count;
};

/* Describes a process, its threads, or both. */
int hs_trace_writer_tree(struct hs_trace_writer *writer, uint64_t time_mono_ns,
                         const struct hs_trace_tree *tree);

/* Writes the process's mappings, added up by name. */
int hs_trace_writer_smaps(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_mono_ns,
                          const struct hs_proc_smaps_sums *sums);

/* Writes the values that the masks of meminfo and pressures mark as read. Either may be NULL. */
int hs_trace_writer_system(struct hs_trace_writer *writer, uint64_t time_mono_ns,
                           const struct hs_meminfo *meminfo, const struct hs_pressures *pressures);

/* Notes that a file of /proc could not be read, so that its values are missing. `why` is a
 * clause. */
int hs_trace_writer_unread(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_mono_ns,
                           const char *file, const char *why);
