/*
 * A target: one image of one process, from its hello to its last snapshot.
 *
 * The target owns the region and knows the process: whether it still runs, how large it is, how it
 * ended. exec makes a new image, with a target of its own; the old target ends there. What only
 * /proc tells (RSS) is read while the process lives: often at first, because many processes live
 * for milliseconds, then more and more rarely; the high-water mark covers what happens in between.
 *
 * A target that has registered with a daemon waits (dormant) until a session begins on it, and may
 * wait again when the session is over. To begin and to end a session, the collector writes a few
 * words in the control page, which the target's threads notice at their next allocation.
 *
 * Ensures   after hs_target_end() no process writes to the region any more, as far as is known.
 * Threads   one.
 * Fails     -errno; a target that could not be captured can still be closed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/budget.h"
#include "collect/inspect/exit_cause.h"
#include "collect/listen.h"
#include "collect/inspect/process_names.h"
#include "collect/region/region_reader.h"
#include "inject/remote/library_watch.h"
#include "sources/sources.h"
#include "trace/snapshot.h"

struct hs_target {
    struct hs_region region;
    pid_t pid; /* in heapscope's PID namespace; 0: unknown */
    int pidfd; /* readable when the process has ended; -1: none */
    uint32_t hello_flags;
    bool has_ended;
    bool has_executed; /* it has executed another program, as far as /proc tells */
    /* start of the program's stack; when that changes, the process has executed another program; 0:
     * unknown */
    uint64_t stack_start_va;
    uint64_t end_ns; /* CLOCK_MONOTONIC; when the collector learned of the end */
    enum hs_exit_kind exit_kind;
    int exit_value;
    /* For an attached process: watches for libraries that it loads otherwise than by its own
     * dlopen. */
    struct hs_library_watch libraries;
    uint64_t libraries_next_ns;
    uint64_t libraries_period_ns; /* longer where libraries are loaded and unloaded all the time */
    /* the owner, which has their calls redirected, resets this */
    bool has_new_libraries;
    uint64_t rss_bytes;
    uint64_t rss_peak_bytes;
    struct hs_oom_watch oom;
    /* of a process that ran before its client was loaded, or was forked */
    struct hs_process_names names;
    /* RSS when its session began; 0: the session began with the process */
    uint64_t rss_start_bytes;
    uint64_t rss_next_ns; /* when to read /proc again */
    uint64_t rss_period_ns;
    uint64_t rss_period_max_ns;
    uint32_t dump_count; /* dumps written so far */
    bool has_failed;     /* some dump could not be made */
    /* set by the owner: counters besides the heap; NULL: none yet */
    struct hs_source_process *source;
    uid_t uid; /* the process's user when it announced itself */
    /* set by the registry's owner: what this target belongs to; NULL: nothing */
    void *owner;
    int64_t peak_known_bytes; /* used by dump_schedule.h: the highest live total that was dumped */
    uint64_t peak_next_ns;    /* used by dump_schedule.h: when a higher one may be dumped */
    bool is_above;            /* used by dump_schedule.h: the live total is above the limit */
    bool is_dormant;          /* no session records it */
    bool has_recorded;        /* a session that is over has recorded it */
    /* it was forked from a process that was not recorded from its start */
    bool is_late;
    bool are_children_taken; /* set by the owner: the children that it had were searched for */
    /* Set when a session began after the process did: the recording lacks what was before. */
    uint64_t session_start_ns;       /* CLOCK_MONOTONIC; 0: since the process began to record */
    uint64_t session_interval_bytes; /* 0: the interval in the region */
    struct hs_budget budget;         /* see target_budget.h */
    bool has_budget;
    uint32_t dump_rarity;           /* rarity of its session's dumps, as of the latest change */
    struct hs_snap_change *changes; /* changes of its interval */
    size_t change_count, change_capacity;
};

/* What only its collector knows of a target: handed over to the collector that continues after
 * it. */
struct hs_target_state {
    bool is_dormant;
    bool has_recorded;
    bool is_late;
    uint64_t session_start_ns;
    uint64_t session_interval_bytes;
    uint64_t rss_start_bytes;
};

/* Opens a target. Takes over the pending client's descriptors, whatever the result. `ret_why` as in
 * hs_region_open(). 0 or -errno. */
int hs_target_open(struct hs_pending_client *pending, uint64_t now_ns,
                   struct hs_target **ret_target, const char **ret_why);
/* Frees the target; NULL is allowed. Returns NULL. */
struct hs_target *hs_target_close(struct hs_target *target);

/* Of two images of one process: did this one begin earlier? One hello may overtake another. */
bool hs_target_is_older(const struct hs_target *target, const struct hs_target *other);

/* Was this image only a step to the `next` one of its process, forked just before it executed
 * another program? */
bool hs_target_is_prelude(const struct hs_target *target, const struct hs_target *next);

/* Writes the current time into the control page, and reads the process's RSS when that is due. */
void hs_target_look(struct hs_target *target, uint64_t now_ns);

/* The image is gone: its process has ended, or has executed another program. */
void hs_target_end(struct hs_target *target, uint64_t now_ns, enum hs_exit_kind exit_kind,
                   int exit_value);

/* Starts recording. If the process records already since its start, the recording goes on, and then
 * is a recording from startup. 0; -EALREADY: the target was recorded before, and its region still
 * holds the records of that session: see hs_target_renew. */
int hs_target_begin_session(struct hs_target *target, uint64_t interval_bytes, uint64_t now_ns);
/* Makes the client create another region, at its next allocation. A hello of the same process
 * brings it, and this target ends. Under a seccomp filter that limits the client nothing
 * happens. */
void hs_target_renew(struct hs_target *target, uint64_t interval_bytes);
/* Sets another interval for the running session. A client that has switched itself off stays off:
 * it may make no system calls any more, see client/host/sandbox.h. */
void hs_target_set_interval(struct hs_target *target, uint64_t interval_bytes);
/* Ends the session: the process takes no more samples, and runs on. */
void hs_target_end_session(struct hs_target *target);

/* Does it record, with everything since the start of the process? */
static inline bool hs_target_is_from_startup(const struct hs_target *target)
{
    return !target->is_dormant && !target->is_late && target->session_start_ns == 0 &&
           target->region.header.is_from_startup != 0;
}

/* The part of the target that its region does not contain. */
struct hs_target_state hs_target_state(const struct hs_target *target);
/* Gives a target that was just opened the state that it had for the previous collector. If that one
 * had no time to write what it was about to do, the target is dormant. */
void hs_target_restore(struct hs_target *target, const struct hs_target_state *state);

/* The number of allocations recorded so far, and of those whose stack was walked frame by frame. 0
 * when that cannot be read. */
struct hs_sample_counts {
    uint64_t sample_count, walk_count;
};

/* Reads both counts. */
void hs_target_count_samples(struct hs_target *target, struct hs_sample_counts *ret_counts);
/* Reads the first of them. */
uint64_t hs_target_sample_count(struct hs_target *target);

/* Its present interval: mean bytes between samples; 0: it records nothing. */
uint64_t hs_target_interval_bytes(const struct hs_target *target);

/* Makes a snapshot of the target. `is_final`: no other will follow. 0 or -errno; the caller frees
 * the snapshot. */
int hs_target_capture(struct hs_target *target, uint64_t now_ns, bool is_final,
                      struct hs_snapshot **ret_snapshot);
