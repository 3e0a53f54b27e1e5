/*
 * The collector of one program and its children: from start to last snapshot.
 *
 *     struct hs_collector *collector;
 *     hs_collector_new(&config, &collector);      the program is forked, and waits
 *     pid = hs_collector_pid(collector);          time to open the output file
 *     hs_collector_run(collector, &result);       runs it to its end
 *     hs_collector_free(collector);
 *
 * One loop waits for everything: hellos, ends of processes, signals, the next dump. Its
 * snapshots go to a sink, one at a time, and are freed behind it: memory does not grow with the
 * number of processes.
 *
 * What happens to the profile never changes what happens to the program: if the sink fails, it
 * isn't called again, recording is switched off, and the program runs on to its own exit status.
 *
 * With limits, processes are sampled less when they come close to one, and when the collector's own CPU time does,
 * scheduled dumps become rarer: see budget.h.
 *
 * A program with an allocator of its own in it waits before its first allocation until that is led to us
 * (embedded_allocator.h): some milliseconds, in which nothing else is done.
 *
 * When the program has ended, children that still run get a moment to end too; then their heap is
 * taken as it is, and they go on unrecorded.
 *
 * Holds     each image gets exactly one final snapshot, unless it could not be read or the sink
 *           failed; the program's own last image comes after all its earlier ones.
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

/* 0, or -errno: then it isn't called again. The snapshot is not the sink's. */
typedef int hs_collector_sink_fn(void *ctx, const struct hs_snapshot *snap);

struct hs_collector_config {
    const char *path; /* of the file to execute */
    char *const *argv;
    const char *preload_path;
    uint64_t interval_bytes;
    struct hs_dump_schedule dumps; /* besides that at the end */
    bool is_dumping_at_usr1;       /* SIGUSR1 to us asks for a dump, and is not passed on */
    struct hs_budget_limits limits;
    bool is_following;
    uint64_t
        duration_ns; /* then there are last snapshots, and the program runs on; 0: to its end */
    hs_collector_sink_fn *sink;
    void *sink_ctx;
    /* A program's own allocator cannot be led to us, says `words`. NULL: nobody asks */
    /* A running process was looked at: its names may be others now. NULL: nobody asks. */
    void (*on_look)(void *ctx, const struct hs_target *target);
    void *look_ctx;
    void (*on_unseen)(void *ctx, pid_t pid, const char *words);
    void *unseen_ctx;
    hs_registry_peer_fn *on_peer; /* connections of commands; NULL: such are no good */
    void *peer_ctx;
};

struct hs_collector_result {
    enum hs_exit_kind exit_kind; /* of the program */
    int exit_value;
    int sink_error;            /* 0, or the -errno the sink returned */
    bool has_root_image;       /* the program itself announced itself at least once */
    bool has_silent_children;  /* it started processes, and not one announced itself */
    uint64_t image_count;      /* process images that announced themselves */
    uint64_t running_count;    /* of which still ran when the program had ended */
    uint64_t stranger_count;   /* connections of other users, refused */
    uint64_t unseen_count;     /* processes that ended before they had announced themselves */
    uint64_t bad_count;        /* images that could not be read */
    const char *bad_why;       /* of the last of them */
    uint64_t own_malloc_count; /* images with a malloc of their own, which is not led to us, */
    char own_malloc_why[384];  /* and why it is not, the last time */
};

struct hs_collector;

int hs_collector_new(const struct hs_collector_config *config, struct hs_collector **ret_collector);
pid_t hs_collector_pid(const struct hs_collector *collector);

/* Whom it records now, while it runs; and how many samples those had that have ended. */
struct hs_registry *hs_collector_registry(struct hs_collector *collector);
uint64_t hs_collector_ended_sample_count(const struct hs_collector *collector);
/* CPU time that other processes took for its work, to be counted against its budget. */
void hs_collector_add_cpu(struct hs_collector *collector, uint64_t cpu_ns);

/* Before it runs: counters besides heaps. They are the caller's, and their packets go where the snapshots go. */
void hs_collector_set_sources(struct hs_collector *collector, struct hs_sources *sources);

/* -errno of execve(2): then nothing ran. 0: it ran, and the result is filled in. */
int hs_collector_run(struct hs_collector *collector, struct hs_collector_result *ret_result);

/* Without run: the forked child ends without having run anything. NULL is fine. Returns NULL. */
struct hs_collector *hs_collector_free(struct hs_collector *collector);
