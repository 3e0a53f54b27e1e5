/*
 * Attachment: a process that runs already begins to record for us, and ends to.
 *
 * It is made to load the client and to call its entries (fmt/ctl_layout.h), on a thread of its own that is
 * borrowed for the time of the call (src/inject). The region comes back as a descriptor: nothing needs a
 * socket, so that containers with other mounts, networks and pids are no obstacle.
 *
 *     begin ──► pending client with the region ──► registry ──► ... ──► end: calls lead where they did, tables are gone
 *
 * Holds     after begin succeeded, end is owed; a process that is gone by then owes nothing.
 * Threads   any; begin and end wait for a safe point, up to `patience_ns`.
 * Fails     false, with words: what is in the way, and what to do. The process is as before.
 * See       inject/inject.h, docs/adr/0012-attaching.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/listen.h"

struct hs_attachment_request {
    pid_t pid;
    const char *client_path; /* the client library's file */
    uint64_t interval_bytes;
    uint64_t seed; /* 0: random */
    pid_t
        own_pid; /* of the collector: what it recorded itself and could not let go of is taken over */
    const char *allocator; /* see hs_embedded_allocator_redirect; NULL: whatever is known */
    const char *collector; /* where forked children announce themselves; NULL: they go unprofiled */
    uint64_t patience_ns;
};

struct hs_attachment {
    struct hs_pending_client pending; /* of begin: as from a hello */
    bool was_loaded;                  /* the client was there before */
    bool was_preloaded;               /* from the start: no pointer had to be changed */
    uint32_t slot_count;              /* pointers that were changed */
    uint32_t left_count;              /* that lead elsewhere, and were left */
    pid_t tid;                        /* the thread that was borrowed, */
    uint64_t stopped_ns;              /* for so long */
    uint32_t entry_count;  /* functions in the program itself that were changed: all its threads, */
    uint32_t thread_count; /* so many, */
    uint64_t all_stopped_ns; /* stood still for so long */
    uint32_t try_count;      /* looks at threads that were at no safe point */
    bool is_held;            /* of a failure: another collector records it */
    bool is_limited;         /* by a seccomp filter: nameless threads, no forked children */
    char words[384];         /* of a failure */
};

bool hs_attachment_begin(const struct hs_attachment_request *request,
                         struct hs_attachment *ret_attachment);

/* Would its seccomp filters allow it? Nothing is called; threads that have some stand still for microseconds. False, with
 * words: these, or something else, are in the way. */
bool hs_attachment_try(pid_t pid, uint64_t patience_ns, struct hs_attachment *ret_attachment);

/* Fills in pidfd and is_gone of a pending client whose pid is known. */
void hs_attachment_find_process(struct hs_pending_client *pending);

/* Libraries may have been loaded by other ways than the program's own dlopen. */
bool hs_attachment_refresh(pid_t pid, uint64_t patience_ns, struct hs_attachment *ret_attachment);

bool hs_attachment_end(pid_t pid, uint64_t patience_ns, struct hs_attachment *ret_attachment);
