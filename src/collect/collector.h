/*
 * The collector of one program and its children: from the start to the last snapshot.
 *
 *     struct hs_collector *collector;
 *     hs_collector_new(&config, &collector);      the program is forked, and waits
 *     pid = hs_collector_pid(collector);          time to open the output file
 *     hs_collector_run(collector, &result);       runs it to its end
 *     hs_collector_free(collector);
 *
 * One loop waits for everything: hellos, ends of processes, signals, the next dump. Snapshots go to
 * a sink, one at a time, and are freed after it: memory does not grow with the number of processes.
 *
 * What happens to the profile never changes what happens to the program: if the sink fails, it is
 * not called again, recording is switched off, and the program runs on to its own exit status.
 *
 * With limits, processes are sampled less when they come close to a limit, and scheduled dumps
 * become rarer when the collector's own CPU time does: see budget.h.
 *
 * A program with an embedded allocator waits before its first allocation until the allocator's
 * calls are redirected (embedded_allocator.h). That takes some milliseconds, in which the collector
 * does nothing else.
 *
 * When the program has ended, children that still run get a moment to end too. Then the collector
 * takes a final snapshot of those that remain, and they go on unrecorded.
 *
 * Ensures   each image gets exactly one final snapshot, unless it could not be read or the sink
 *           failed. The program's own last image comes after all its earlier ones.
 * Threads   one.
 * See       registry.h, relay.h, launch.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/budget.h"
#include "collect/dump_schedule.h"
#include "collect/registry.h"
#include "sources/sources.h"
#include "trace/snapshot.h"

/* Receives one snapshot, which the collector frees afterwards. 0, or -errno: then the sink is not
 * called again. */
typedef int hs_collector_sink_fn(void *ctx, const struct hs_snapshot *snap);

struct hs_collector_config {
    const char *path; /* path of the file to execute */
    char *const *argv;
    const char *preload_path;
    uint64_t interval_bytes;
    struct hs_dump_schedule dumps; /* the dumps besides the final one */
    /* SIGUSR1 to the collector asks for a dump, and is not passed on */
    bool is_dumping_at_usr1;
    struct hs_budget_limits limits;
    bool is_following;
    /* after this time the final snapshots are taken, and the program runs on unrecorded; 0: at its
     * end */
    uint64_t duration_ns;
    hs_collector_sink_fn *sink;
    void *sink_ctx;
    /* Called after each look at a running process, whose names may have changed. NULL: not
     * called. */
    void (*on_look)(void *ctx, const struct hs_target *target);
    void *look_ctx;
    /* Called when the calls of an embedded allocator cannot be redirected; `words` says why. NULL:
     * not called. */
    void (*on_unseen)(void *ctx, pid_t pid, const char *words);
    void *unseen_ctx;
    /* receives connections of commands; NULL: such connections are rejected */
    hs_registry_peer_fn *on_peer;
    void *peer_ctx;
};

struct hs_collector_result {
    enum hs_exit_kind exit_kind; /* how the program ended */
    int exit_value;
    int sink_error;            /* 0, or the -errno the sink returned */
    bool has_root_image;       /* the program itself announced itself at least once */
    bool has_silent_children;  /* it started processes, and none of them announced itself */
    uint64_t image_count;      /* process images that announced themselves */
    uint64_t running_count;    /* images that still ran when the program had ended */
    uint64_t stranger_count;   /* refused connections of other users */
    uint64_t unseen_count;     /* processes that ended before they had announced themselves */
    uint64_t bad_count;        /* images that could not be read */
    const char *bad_why;       /* why the last of them could not be read */
    uint64_t own_malloc_count; /* images with a malloc of their own that is not redirected */
    char own_malloc_why[384];  /* why it is not, for the last of them */
};

struct hs_collector;

/* Forks the program, which waits until hs_collector_run. 0 or -errno. */
int hs_collector_new(const struct hs_collector_config *config, struct hs_collector **ret_collector);
/* The program's pid. */
pid_t hs_collector_pid(const struct hs_collector *collector);

/* The registry of the processes that it records now, while it runs. */
struct hs_registry *hs_collector_registry(struct hs_collector *collector);
/* The number of samples of all processes that have ended. */
uint64_t hs_collector_ended_sample_count(const struct hs_collector *collector);
/* Counts CPU time that other processes took for the collector's work against its budget. */
void hs_collector_add_cpu(struct hs_collector *collector, uint64_t cpu_ns);

/* Sets the sources of other counters than heaps, before the run. The caller keeps them; their
 * packets go where the snapshots go. */
void hs_collector_set_sources(struct hs_collector *collector, struct hs_sources *sources);

/* Runs the program to its end. 0: it ran, and the result is filled in. -errno: of execve(2), or of
 * the preparation; then nothing ran. */
int hs_collector_run(struct hs_collector *collector, struct hs_collector_result *ret_result);

/* Frees the collector; NULL is allowed. If it has not run, the forked child ends without having run
 * anything. Returns NULL. */
struct hs_collector *hs_collector_free(struct hs_collector *collector);
