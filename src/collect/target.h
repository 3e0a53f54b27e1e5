/*
 * A target: one image of one process, from its hello to its last snapshot.
 *
 * It has four parts: the process (target_process.h), the region (region_reader.h,
 * region_control.h), the state of its recording, and what the session that records it keeps about
 * it. exec makes a new image, with a target of its own; the old target ends there.
 *
 * A target that has registered with a daemon waits (dormant) until a session begins on it, and may
 * wait again when the session is over. To begin and to end a session, the collector writes a few
 * words in the control page, which the target's threads notice at their next allocation.
 *
 * Ensures   hs_target_process_end() is called when the collector has learned that the process has
 *           ended or has executed another program, and so does not write to the region any more.
 * Threads   one.
 * Fails     -errno; a target that could not be captured can still be closed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/dump_schedule.h"
#include "collect/ledger/ledger_watch.h"
#include "collect/listen.h"
#include "collect/loss_watch.h"
#include "collect/region/capture.h"
#include "collect/region/region_reader.h"
#include "collect/target_budget.h"
#include "collect/target_process.h"
#include "collect/typed_records.h"
#include "collect/unwind_tables/module_tables.h"
#include "sources/sources.h"
#include "trace/snapshot.h"

/* The part of the recording's state that is only in the collector. The next collector gets it when
 * this one ends. */
struct hs_target_state {
    bool is_dormant;   /* no session records it */
    bool has_recorded; /* a session that is over has recorded it */
    bool is_late;      /* it was forked from a process that was not recorded from its start */
    /* Set when a session began after the process did: earlier allocations are not recorded. */
    uint64_t session_start_ns;       /* CLOCK_MONOTONIC; 0: since the process began to record */
    uint64_t session_interval_bytes; /* 0: the interval in the region */
    /* RSS when its session began; 0: the session began with the process */
    uint64_t rss_start_bytes;
    /* Of a bound process (HS_HELLO_BOUND), which records while no session does: its own interval.
     * 0: it is not bound. */
    uint64_t bound_interval_bytes;
};

/* When to look at the files that a process has mapped. */
struct hs_files_watch {
    uint64_t module_count; /* at the last look */
    uint64_t next_ns, period_ns;
    uint64_t first_ns, look_ns; /* of the first look at all, and of the next one */
};

/* What the session that records a target keeps about it. The owner of the registry sets and uses
 * these fields, which are zero at the beginning; hs_target_close() frees `source`, `budget`,
 * `losses`, `ledgers` and `types`. */
struct hs_target_session {
    void *owner;                      /* the session that records it; NULL: none */
    struct hs_source_process *source; /* counters other than the heap's; NULL: none yet */
    struct hs_dump_watch dumps;
    struct hs_target_budget budget;
    struct hs_loss_watch losses;
    struct hs_ledger_watch ledgers;
    struct hs_typed_records types; /* of the recorded blocks */
    uint64_t types_cost_ns;        /* what reading them took */
    struct hs_files_watch files;
    bool is_without_types;   /* they are not read */
    bool has_failed;         /* some dump could not be made */
    bool are_children_taken; /* children that it already had were looked for */
};

struct hs_target {
    struct hs_target_process process;
    struct hs_region region;
    struct hs_target_state state;
    struct hs_target_session session;
    struct hs_module_tables tables; /* unwind information for modules that have none in memory */
    /* Which heaps a bound process records, while a session has it; owned. NULL: all. */
    struct hs_heap_page *bound_heaps;
};

/* What a session sets in a target. */
struct hs_target_setting {
    uint64_t asked_bytes;    /* the session's interval */
    uint64_t interval_bytes; /* to begin with: a forked child goes on with its parent's */
    const struct hs_heap_selection *heaps; /* of the session, which outlives the recording */
};

/* Opens a target. Takes over the pending client's descriptors, whatever the result. `ret_why` as in
 * hs_region_open(). 0 or -errno. */
int hs_target_open(struct hs_pending_client *pending, uint64_t now_ns,
                   struct hs_target **ret_target, const char **ret_why);
/* Frees the target; NULL is allowed. Returns NULL. */
struct hs_target *hs_target_close(struct hs_target *target);

/* Of two images of one process: did this one begin earlier? One hello may overtake another. */
bool hs_target_is_older(const struct hs_target *target, const struct hs_target *other);

/* Returns whether this image is a forked child that executed the program of `next` within a
 * second. */
bool hs_target_is_prelude(const struct hs_target *target, const struct hs_target *next);

/* Writes the current time into the control page, and reads /proc and the counters of losses when
 * that is due. */
void hs_target_look(struct hs_target *target, uint64_t now_ns);

/* Reads what the process's resident memory consists of, when that is due. Returns when to call
 * again. */
uint64_t hs_target_look_at_ledger(struct hs_target *target, struct hs_ledger_allowance *allowance,
                                  uint64_t now_ns);

/* Starts recording. If the process has been recording since its start, the recording continues, and
 * counts as one from startup. 0; -EALREADY: the target was recorded before, and its region still
 * holds the records of that session: see hs_target_renew(). */
int hs_target_begin_session(struct hs_target *target, const struct hs_target_setting *setting,
                            uint64_t now_ns);
/* In place of hs_target_begin_session(), after -EALREADY: has the client make another region. */
void hs_target_renew(struct hs_target *target, const struct hs_target_setting *setting);
/* Ends the session: the process takes no more samples, and runs on. A bound process goes on
 * recording, as before the session; nothing that it has recorded is lost. */
void hs_target_end_session(struct hs_target *target);

/* A bound process may not record for itself any more: ends that as a session ends. */
void hs_target_unbind(struct hs_target *target);

/* Is the target bound? A session may record it, too. */
static inline bool hs_target_is_bound(const struct hs_target *target)
{
    return target->state.bound_interval_bytes != 0;
}

/* Returns whether it is recorded, and has been since the start of the process. */
static inline bool hs_target_is_from_startup(const struct hs_target *target)
{
    const struct hs_target_state *state = &target->state;
    return !state->is_dormant && !state->is_late && state->session_start_ns == 0 &&
           target->region.header.is_from_startup != 0;
}

/* Gives a target that was just opened the state that it had for the previous collector. If the
 * previous collector was killed after it had begun to record the target and before it had saved
 * that, the target is dormant. */
void hs_target_restore(struct hs_target *target, const struct hs_target_state *state);

/* The number of allocations recorded so far, and of those whose stack was walked frame by frame. 0
 * when that cannot be read. */
struct hs_sample_counts {
    uint64_t sample_count, walk_count;
};

/* Reads both counts. */
void hs_target_count_samples(struct hs_target *target, struct hs_sample_counts *ret_counts);
/* Reads only sample_count. */
uint64_t hs_target_sample_count(struct hs_target *target);
/* Reads the live memory of all heaps that are not carved, as the threads count it, without a look
 * at the records. False: it cannot be read. */
bool hs_target_read_live(struct hs_target *target, uint64_t *ret_live_bytes);

/* Adapts the interval of a target that lives and records to its budgets, by
 * hs_target_budget_keep(). Otherwise returns UINT64_MAX. */
uint64_t hs_target_keep_budget(struct hs_target *target, uint64_t now_ns);
/* Reduces the work of the collector, by hs_target_budget_spare(), if the target lives and
 * records. */
void hs_target_spare_collector(struct hs_target *target, const struct hs_cpu_budget *cpu,
                               uint64_t now_ns);

/* Makes a snapshot of the instant at which `on_open` is called: see hs_capture_opened(). 0 or
 * -errno; the caller frees the snapshot. */
int hs_target_capture_opened(struct hs_target *target, uint64_t now_ns, hs_capture_open_fn *on_open,
                             void *ctx, struct hs_snapshot **ret_snapshot);

/* Makes the snapshot whose cut a collector that was killed left open: see hs_capture_saved(). 0 or
 * -errno; the caller frees the snapshot. */
int hs_target_capture_saved(struct hs_target *target, int fd, struct hs_snapshot **ret_snapshot);

/* For after either of the above, once the snapshot is stored: see hs_capture_close(). */
void hs_target_capture_close(struct hs_target *target);

/* Makes a snapshot of the target. `is_final`: no other will follow. 0 or -errno; the caller frees
 * the snapshot. */
int hs_target_capture(struct hs_target *target, uint64_t now_ns, bool is_final,
                      struct hs_snapshot **ret_snapshot);
