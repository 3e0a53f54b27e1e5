/*
 * A target: one image of one process, from its hello to its last snapshot.
 *
 * It owns the region and knows the process: whether it still runs, how large it is, how it ended.
 * exec makes a new image with a target of its own; the old one ends there. What only /proc knows
 * (RSS) is looked at while the process lives: often at first, since many processes live for
 * milliseconds, then ever more rarely; the high-water mark makes up for what is missed between.
 *
 * A target that registered with a daemon waits (dormant) until a session begins on it, and may wait again
 * when the session is over: begin and end are a few words in its control page, which its threads notice at
 * their next allocation.
 *
 * Holds     after hs_target_end() nobody writes to the region any more, as far as we know.
 * Threads   one.
 * Fails     -errno; a target that could not be captured can still be closed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/budget.h"
#include "collect/exit_cause.h"
#include "collect/listen.h"
#include "collect/process_names.h"
#include "collect/region_reader.h"
#include "inject/library_watch.h"
#include "sources/sources.h"
#include "trace/snapshot.h"

struct hs_target {
    struct hs_region region;
    pid_t pid; /* as we see it; 0: unknown */
    int pidfd; /* readable when it has ended; -1: none */
    uint32_t hello_flags;
    bool has_ended;
    bool has_executed; /* another program, as far as /proc tells */
    uint64_t
        stack_start_va; /* of its program: another one, and it has executed something; 0: unknown */
    uint64_t end_ns;    /* CLOCK_MONOTONIC; when we learned of it */
    enum hs_exit_kind exit_kind;
    int exit_value;
    /* Of one that was attached to: libraries that came by other ways than the program's dlopen. */
    struct hs_library_watch libraries;
    uint64_t libraries_next_ns;
    uint64_t libraries_period_ns; /* longer where they come and go all the time */
    bool has_new_libraries;       /* whoever leads their calls to the client says when he has */
    uint64_t rss_bytes;
    uint64_t rss_peak_bytes;
    struct hs_oom_watch oom;
    struct hs_process_names names; /* of one that ran before its client came */
    uint64_t rss_start_bytes;      /* when its session began; 0: with the process */
    uint64_t rss_next_ns;          /* when to look again */
    uint64_t rss_period_ns;
    uint64_t rss_period_max_ns;
    uint32_t dump_count;              /* written so far */
    bool has_failed;                  /* a dump could not be made */
    struct hs_source_process *source; /* of its owner: counters beside the heap; NULL: none yet */
    uid_t uid;                        /* whose it was when it announced itself */
    void *owner; /* of whoever has the registry: what this target belongs to; NULL: nothing */
    int64_t peak_known_bytes; /* of its owner: the highest live total that was dumped, */
    uint64_t peak_next_ns;    /* when a higher one may be, */
    bool is_above;            /* and whether a limit was passed */
    bool is_dormant;          /* it records nothing */
    bool has_recorded;        /* it did, in a session that is over */
    bool is_late;             /* forked from a process that was not recorded from its start */
    bool are_children_taken;  /* of its owner: those that it had were looked for */
    /* Set when a session began after the process did: what was before is not in it. */
    uint64_t session_start_ns;       /* CLOCK_MONOTONIC; 0: since the process began to record */
    uint64_t session_interval_bytes; /* 0: as the region says */
    struct hs_budget budget;         /* see target_budget.h */
    bool has_budget;
    uint32_t dump_rarity;           /* of its session's dumps, as of its latest change */
    struct hs_snap_change *changes; /* of its interval */
    size_t change_count, change_capacity;
};

/* What only its collector knows of a target: for one that goes on after it. */
struct hs_target_state {
    bool is_dormant;
    bool has_recorded;
    bool is_late;
    uint64_t session_start_ns;
    uint64_t session_interval_bytes;
    uint64_t rss_start_bytes;
};

/* Takes over the pending client's descriptors, whatever the result. `ret_why` as in hs_region_open(). */
int hs_target_open(struct hs_pending_client *pending, uint64_t now_ns,
                   struct hs_target **ret_target, const char **ret_why);
/* NULL is fine. Returns NULL. */
struct hs_target *hs_target_close(struct hs_target *target);

/* Of two images of one process: did this one begin earlier? A hello may overtake another. */
bool hs_target_is_older(const struct hs_target *target, const struct hs_target *other);

/* Was this image only the way to the `next` one of its process: forked, to execute another program soon? */
bool hs_target_is_prelude(const struct hs_target *target, const struct hs_target *next);

/* Tells the process the time, and reads its RSS if it is time to. */
void hs_target_look(struct hs_target *target, uint64_t now_ns);

/* The image is gone: its process ended, or is another program by now. */
void hs_target_end(struct hs_target *target, uint64_t now_ns, enum hs_exit_kind exit_kind,
                   int exit_value);

/* Records from now on, or goes on from its start if it did so by itself (then it is from the startup).
 * -EALREADY: it was recorded before, and its region still holds what that session saw: hs_target_renew. */
int hs_target_begin_session(struct hs_target *target, uint64_t interval_bytes, uint64_t now_ns);
/* Has the client make another region, with its next allocation: a hello of the same process will bring it,
 * and this target ends. Nothing comes of it below a seccomp filter. */
void hs_target_renew(struct hs_target *target, uint64_t interval_bytes);
/* Another interval for the session that runs. */
void hs_target_set_interval(struct hs_target *target, uint64_t interval_bytes);
/* No more samples: it goes on without us. */
void hs_target_end_session(struct hs_target *target);

/* Does it record, with everything since its start? */
static inline bool hs_target_is_from_startup(const struct hs_target *target)
{
    return !target->is_dormant && !target->is_late && target->session_start_ns == 0 &&
           target->region.header.is_from_startup != 0;
}

struct hs_target_state hs_target_state(const struct hs_target *target);
/* A target that was just opened is what it was for the collector before us. Where that had no time to say what it
 * was about to do, it is dormant. */
void hs_target_restore(struct hs_target *target, const struct hs_target_state *state);

/* Allocations recorded so far, and those of them whose stack was walked frame by frame. 0 when that cannot be read. */
struct hs_sample_counts {
    uint64_t sample_count, walk_count;
};

void hs_target_count_samples(struct hs_target *target, struct hs_sample_counts *ret_counts);
uint64_t hs_target_sample_count(struct hs_target *target);

/* The mean distance of samples that it has now; 0: it records nothing. */
uint64_t hs_target_interval_bytes(const struct hs_target *target);

/* `is_final`: no other will follow. */
int hs_target_capture(struct hs_target *target, uint64_t now_ns, bool is_final,
                      struct hs_snapshot **ret_snapshot);
