/*
 * State that the files of this folder share.
 *
 *     sources.c           lifetime, and when each process is read
 *     source_counters.c   a process's counters: reads them, and decides which are written
 *     source_tree.c       a process's identity and its threads
 *     source_walk.c       slow files: proportional sizes and mappings
 *     source_system.c     the machine
 */
#pragma once

#include <pthread.h>

#include "sources/sources.h"

struct hs_sources {
    struct hs_sources_settings settings;
    struct hs_trace_writer *writer;
    const char *folder; /* /proc */
    uint64_t packet_count, smaps_count;
    uint64_t boot_minus_mono_ns;
    uint64_t meminfo_next_ns, psi_next_ns; /* UINT64_MAX: not requested, or not available */
    struct hs_meminfo meminfo;             /* last written values */
    struct hs_pressures pressures;
    bool is_meminfo_told, is_psi_told; /* the trace already says that they cannot be read */
};

/* A thread that reads slow files of one process. */
struct hs_source_walk {
    pthread_t thread;
    const char *folder;
    pid_t pid;
    uint64_t time_ns; /* time of the dump to which it belongs */
    bool with_rollup, with_smaps;
    bool is_spare; /* belongs to no dump: kept, and written if the process ends before its next
                   * dump */
    struct hs_counters shares;
    struct hs_proc_smaps_reader smaps;
    int rollup_result, smaps_result;
    uint64_t rollup_ns, smaps_ns; /* how long reading took */
};

struct hs_source_process {
    pid_t pid;
    struct hs_source_heap heap; /* read NULL: not known */
    uint64_t begin_ns;          /* time of the first look */
    uint64_t start_ticks;
    bool is_gone; /* the process can no longer be read */
    uint64_t read_next_ns, write_next_ns, jump_next_ns;
    struct hs_counters seen, written; /* values last read, and last written */
    uint64_t seen_ns;
    uint64_t dump_ns; /* when its counters were last read for a dump; 0: never */
    uint64_t rollup_next_ns, smaps_next_ns, names_next_ns, oom_score_next_ns;
    bool is_rollup_told, is_smaps_told, is_threads_told, is_status_told;
    struct hs_trace_thread *threads; /* last written names, sorted by tid */
    size_t thread_count, thread_capacity;
    uint64_t thread_total;       /* how many were written since the start */
    struct hs_source_walk *walk; /* NULL: no thread is running */
    /*
     * The mappings that were last read between dumps, in case no later reading succeeds. NULL: none
     * yet.
     */
    struct hs_source_walk *spare;
    struct hs_source_walk after_spare; /* what a dump asked for while such a walk was running */
    uint64_t spare_next_ns;
    uint64_t smaps_written_ns; /* time of the mappings that were last written; 0: none were
                                * written */
};

/*
 * Starts a thread that reads the wanted files, unless one is running or reading takes too much of
 * the time.
 */
void hs_source_walk_begin(struct hs_sources *sources, struct hs_source_process *state,
                          uint64_t now_ns, bool with_rollup, bool with_smaps);
/*
 * Reads mappings between dumps, because a process that has ended has none any more. Returns when to
 * call again (UINT64_MAX: never).
 */
uint64_t hs_source_spare_look(struct hs_sources *sources, struct hs_source_process *state,
                              uint64_t now_ns);
/*
 * For a process that has ended: writes the mappings that were read last, unless those of a later
 * dump were written. If there are none at all, the trace says so.
 */
void hs_source_spare_write(struct hs_sources *sources, struct hs_source_process *state);
/* Accepts NULL. The thread must have been joined. */
void hs_source_walk_free(struct hs_source_walk *walk);
/*
 * Writes what the thread has read, if it is done; `is_waiting`: waits for it. Without `sources`,
 * writes nothing.
 */
void hs_source_walk_take(struct hs_sources *sources, struct hs_source_process *state,
                         bool is_waiting);

/* Writes the process's identity. False: it is gone. */
bool hs_source_introduce(struct hs_sources *sources, struct hs_source_process *state,
                         uint64_t now_ns);
/* Writes new threads. `with_names`: also those with a new name. */
void hs_source_threads(struct hs_sources *sources, struct hs_source_process *state, uint64_t now_ns,
                       bool with_names);
/* Writes identity and threads of all processes. */
void hs_source_scan(struct hs_sources *sources, uint64_t now_ns);

/* Reads the counters. False: the process is gone. */
bool hs_source_read(struct hs_sources *sources, struct hs_source_process *state, uint64_t now_ns);
/* Writes the counters that have changed, when it is time to. `is_due`: always. */
void hs_source_write(struct hs_sources *sources, struct hs_source_process *state, uint64_t now_ns,
                     bool is_due);
/*
 * How long to wait between reads, in ns, of the counters of a process that has been watched for
 * `age_ns`.
 */
uint64_t hs_source_read_period_ns(const struct hs_sources_settings *settings, uint64_t age_ns);
/* How long to wait between writes of its counters, in ns. */
uint64_t hs_source_write_period_ns(const struct hs_sources_settings *settings, uint64_t age_ns);

/* Notes in the trace, once, that `file` cannot be read. *is_told remembers it. */
void hs_source_tell_unread(struct hs_sources *sources, pid_t pid, uint64_t now_ns, const char *file,
                           int error, bool *is_told);
