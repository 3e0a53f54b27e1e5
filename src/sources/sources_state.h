/*
 * What the files of this folder share.
 *
 *   sources.c           life, and which process is looked at when
 *   source_counters.c   its counters: reading, and what of them is written
 *   source_tree.c       who it is, and its threads
 *   source_walk.c       its shares of pages, and its mappings: what takes long
 *   source_system.c     the machine
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
    uint64_t meminfo_next_ns, psi_next_ns; /* UINT64_MAX: not asked for, or not to be had */
    struct hs_meminfo meminfo;             /* as written */
    struct hs_pressures pressures;
    bool is_meminfo_told, is_psi_told; /* that they cannot be read */
};

/* A thread at work for a process. */
struct hs_source_walk {
    pthread_t thread;
    const char *folder;
    pid_t pid;
    uint64_t time_ns; /* of the dump it belongs to */
    bool with_rollup, with_smaps;
    bool
        is_spare; /* belongs to no dump: kept, and written if the process ends before its next dump */
    struct hs_counters shares;
    struct hs_proc_smaps_reader smaps;
    int rollup_result, smaps_result;
    uint64_t rollup_ns, smaps_ns; /* what it took */
};

struct hs_source_process {
    pid_t pid;
    uint64_t begin_ns; /* when it was first looked at */
    uint64_t start_ticks;
    bool is_gone; /* nothing more can be read */
    uint64_t read_next_ns, write_next_ns, jump_next_ns;
    struct hs_counters seen, written; /* as last read, and written */
    uint64_t seen_ns;
    uint64_t dump_ns; /* when its counters were last read for a dump; 0: never */
    uint64_t rollup_next_ns, smaps_next_ns, names_next_ns;
    bool is_rollup_told, is_smaps_told, is_threads_told, is_status_told;
    struct hs_trace_thread *threads; /* as written, by tid */
    size_t thread_count, thread_capacity;
    uint64_t thread_total;       /* written, ever */
    struct hs_source_walk *walk; /* NULL: none is under way */
    /* Mappings as they were read last between dumps, in case that none is read later. NULL: not yet. */
    struct hs_source_walk *spare;
    struct hs_source_walk after_spare; /* what a dump wants read that came during such a walk */
    uint64_t spare_next_ns;
    uint64_t smaps_written_ns; /* of which moment mappings were written last; 0: none were */
};

/* Reads them, if they are not being read and do not take too much of the time. */
void hs_source_walk_begin(struct hs_sources *sources, struct hs_source_process *state,
                          uint64_t now_ns, bool with_rollup, bool with_smaps);
/* Mappings between dumps: a process that has ended has none any more. Returns when to come back (UINT64_MAX: never). */
uint64_t hs_source_spare_look(struct hs_sources *sources, struct hs_source_process *state,
                              uint64_t now_ns);
/* The process has ended: writes the mappings that were read last, unless a later dump has them, or that there are none. */
void hs_source_spare_write(struct hs_sources *sources, struct hs_source_process *state);
void hs_source_walk_free(struct hs_source_walk *walk);
/* Writes what was read, if it was; nothing when `sources` is NULL. */
void hs_source_walk_take(struct hs_sources *sources, struct hs_source_process *state,
                         bool is_waiting);

/* First words about it. False: it is gone. */
bool hs_source_introduce(struct hs_sources *sources, struct hs_source_process *state,
                         uint64_t now_ns);
/* Its threads; `with_names`: of those that are known, too, as they may have changed. */
void hs_source_threads(struct hs_sources *sources, struct hs_source_process *state, uint64_t now_ns,
                       bool with_names);
/* All processes there are. */
void hs_source_scan(struct hs_sources *sources, uint64_t now_ns);

/* False: it is gone. */
bool hs_source_read(struct hs_sources *sources, struct hs_source_process *state, uint64_t now_ns);
/* What has changed; `is_due`: even if it is not worth it. */
void hs_source_write(struct hs_sources *sources, struct hs_source_process *state, uint64_t now_ns,
                     bool is_due);
uint64_t hs_source_read_period_ns(const struct hs_sources_settings *settings, uint64_t age_ns);
uint64_t hs_source_write_period_ns(const struct hs_sources_settings *settings, uint64_t age_ns);

/* Told once in the trace. */
void hs_source_tell_unread(struct hs_sources *sources, pid_t pid, uint64_t now_ns, const char *file,
                           int error, bool *is_told);
