/*
 * Additional data of a trace: counters, threads and mappings of the processes whose heaps it
 * contains, and the machine's memory. All of it is read from /proc, so it needs no cooperation of a
 * process, which may be stopped, hung, or dying.
 *
 *     struct hs_source_process *state = NULL;          one for each process
 *     hs_sources_new(&settings, writer, &sources);
 *     hs_sources_begin(sources, now);
 *     for (;;) {
 *         until = hs_sources_turn(sources, now);
 *         until' = hs_sources_look(sources, &state, pid, &heap, now);
 *         wait until the earlier of both
 *     }
 *     hs_sources_dump(sources, &state, pid, &heap, now, false);  when its heap is dumped
 *     state = hs_sources_end(sources, state, end, &peak);   when it or its recording ends
 *     hs_sources_free(sources);
 *
 * Only changes are written. With `is_thinning`, a process's counters are read more often in its
 * first seconds, and from then on at the same pace, but written more and more rarely: about 3600
 * times in the first hour, another 3600 times each time the age grows by a factor of e, and an
 * eighth of the usual period apart when the size jumps. The values that were read last are written
 * when the process ends. The file therefore grows with the logarithm of time.
 *
 * Mappings are read at dumps. They are also read between dumps and kept in memory, because a
 * process that has ended has no mappings any more. What was kept is written when the process ends.
 *
 * Reading must not delay dumps. Files for which the kernel walks all pages (PSS, mappings) are read
 * by a thread, in at most a hundredth of the time (mappings, which a user must ask for: a tenth).
 *
 * Ensures   a process is described (ProcessTree) before its first counter.
 * Threads   one user.
 * Fails     never with an error: a file that cannot be read is left out, and the trace says so
 *           once. The writer keeps its own errors.
 * See       trace/trace_counters.h, sources_settings.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/sources_settings.h"
#include "trace/trace_counters.h"

struct hs_sources;
struct hs_source_process;

/* How to read what the heaps of a process hold. `read` returns false if that is unknown now. */
struct hs_source_heap {
    bool (*read)(void *ctx, uint64_t *ret_live_bytes);
    void *ctx;
};

/* Makes the sources of one trace. `writer` must outlive them. Returns 0 or -ENOMEM. */
int hs_sources_new(const struct hs_sources_settings *settings, struct hs_trace_writer *writer,
                   struct hs_sources **ret_sources);
/* Returns NULL. Here and in the functions below, `sources` may be NULL: then they do nothing. */
struct hs_sources *hs_sources_free(struct hs_sources *sources);

/* Starts; call it after hs_trace_writer_begin(). */
void hs_sources_begin(struct hs_sources *sources, uint64_t now_ns);

/*
 * Reads the machine's values that are due. Returns when to call again (CLOCK_MONOTONIC; UINT64_MAX:
 * never).
 */
uint64_t hs_sources_turn(struct hs_sources *sources, uint64_t now_ns);

/*
 * Reads the counters of a process when they are due. Makes *state when it is NULL. Returns as
 * above. `heap` may be NULL: then the trace has no counter of the heaps. Its context must live
 * until hs_sources_end() or hs_source_process_free().
 */
uint64_t hs_sources_look(struct hs_sources *sources, struct hs_source_process **state, pid_t pid,
                         const struct hs_source_heap *heap, uint64_t now_ns);

/*
 * The process is about to be dumped. With `is_last` no call for this process follows except
 * hs_sources_end(), so the function waits for files that take long.
 */
void hs_sources_dump(struct hs_sources *sources, struct hs_source_process **state, pid_t pid,
                     const struct hs_source_heap *heap, uint64_t now_ns, bool is_last);

/*
 * The process has ended, or its recording ends: writes the last known values. *peak_bytes is the
 * highest resident memory that the caller knows (0: none); on return it is the highest that is
 * known to either side. Returns NULL.
 */
struct hs_source_process *hs_sources_end(struct hs_sources *sources,
                                         struct hs_source_process *state, uint64_t end_ns,
                                         uint64_t *peak_bytes);
/* Frees the state without writing anything. Returns NULL. */
struct hs_source_process *hs_source_process_free(struct hs_source_process *state);

/* Number of packets written so far. */
uint64_t hs_sources_packet_count(const struct hs_sources *sources);
/* Number of packets written so far that hold mappings. */
uint64_t hs_sources_smaps_count(const struct hs_sources *sources);
