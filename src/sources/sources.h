/*
 * Other sources of a trace: counters, threads and mappings of the processes whose heaps are in it, and the machine's
 * memory. All of it is read from /proc, so it needs nobody's cooperation: a process may be stopped, hung, or dying.
 *
 *     struct hs_source_process *state = NULL;          one for each process, kept by whoever knows processes
 *     hs_sources_new(&settings, writer, &sources);
 *     hs_sources_begin(sources, now);
 *     for (;;) { until = hs_sources_turn(sources, now); until' = hs_sources_look(sources, &state, pid, now); wait }
 *     hs_sources_dump(sources, &state, pid, now, false);    when its heap is dumped
 *     state = hs_sources_end(sources, state, end, &peak);   when it has ended, or is left
 *     hs_sources_free(sources);
 *
 * Only what has changed is written. With `is_thinning` a process's counters are read at the same pace for ever, but
 * written ever more rarely: after an hour about 3600 times, and so many times more for each e-fold of that, a tenth of
 * that for jumps of its size between; what was read last is written when it ends. So its file grows with the logarithm
 * of time.
 *
 * Mappings are read at dumps; and between them, kept in memory, as a process that ended has none any more: what was kept is
 * written when it ends.
 *
 * Reading must not delay dumps. What makes the kernel walk all pages (PSS, mappings) is read by a thread meanwhile, and
 * takes at most a hundredth of the time (mappings, which somebody asked for, a tenth).
 *
 * Holds     a process is introduced (ProcessTree) before its first counter.
 * Threads   one user.
 * Fails     never aloud: what cannot be read is left out, and is told once in the trace; the writer keeps its own
 *           errors.
 * See       trace/trace_counters.h, sources_settings.h
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "sources/sources_settings.h"
#include "trace/trace_counters.h"

struct hs_sources;
struct hs_source_process;

int hs_sources_new(const struct hs_sources_settings *settings, struct hs_trace_writer *writer,
                   struct hs_sources **ret_sources);
/* NULL is fine everywhere: then there is nothing to do. Returns NULL. */
struct hs_sources *hs_sources_free(struct hs_sources *sources);

/* After hs_trace_writer_begin(). */
void hs_sources_begin(struct hs_sources *sources, uint64_t now_ns);

/* The machine's; returns when to come back (CLOCK_MONOTONIC; UINT64_MAX: never). */
uint64_t hs_sources_turn(struct hs_sources *sources, uint64_t now_ns);

/* A process's, if it is time; *state is made when it is NULL. Returns as above. */
uint64_t hs_sources_look(struct hs_sources *sources, struct hs_source_process **state, pid_t pid,
                         uint64_t now_ns);

/* It is about to be dumped. `is_last`: nobody will look again, so it waits for what takes long. */
void hs_sources_dump(struct hs_sources *sources, struct hs_source_process **state, pid_t pid,
                     uint64_t now_ns, bool is_last);

/* It has ended, or is nobody's any more: the last that is known of it. `peak_bytes` of its resident memory is the highest
 * that the caller knows (0: none), and the highest that anybody knows afterwards. Returns NULL. */
struct hs_source_process *hs_sources_end(struct hs_sources *sources,
                                         struct hs_source_process *state, uint64_t end_ns,
                                         uint64_t *peak_bytes);
/* Without a word. */
struct hs_source_process *hs_source_process_free(struct hs_source_process *state);

/* Packets written so far, and those of them that hold mappings. */
uint64_t hs_sources_packet_count(const struct hs_sources *sources);
uint64_t hs_sources_smaps_count(const struct hs_sources *sources);
