/*
 * Attachment: makes a running process begin to record for the collector, and end.
 *
 * The process is made to load the client and to call its entry points (fmt/ctl_layout.h), on one of
 * its own threads, which is borrowed for the time of the call (src/inject). The region comes back
 * as a descriptor. No socket is needed, so containers with other mounts, networks and PID
 * namespaces are no obstacle.
 *
 *     begin ──► pending client with the region ──► registry ──► ... ──► end
 *
 * After end, the original calls are restored and the client's tables are freed.
 *
 * Requires  after a successful begin the caller calls end, unless the process is gone by then.
 * Threads   any; begin and end wait for a safe point, up to `patience_ns`.
 * Fails     false, with a message that says what is in the way and what to do. The process is as
 *           before.
 * See       inject/inject.h, docs/adr/0012-attaching.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/attach/pending_client.h"
#include "collect/region/heap_selection.h"

struct hs_attachment_request {
    pid_t pid;
    const char *client_path; /* the client library's file */
    uint64_t interval_bytes;
    const struct hs_heap_selection *heaps; /* settled; NULL: all */
    uint64_t seed;                         /* 0: random */
    /* the collector's pid; a process that this collector recorded before, and could not detach
     * from, is taken over */
    pid_t own_pid;
    /* prefix, see hs_embedded_allocator_redirect; NULL: the known ones */
    const char *allocator;
    /* socket name at which the process asks for named snapshots; NULL: it cannot */
    const char *collector;
    bool is_following; /* forked children announce themselves there, too, and are profiled */
    uint64_t patience_ns;
};

struct hs_attachment {
    struct hs_pending_client pending; /* result of begin, as if from a hello */
    bool was_loaded;                  /* the client had been loaded before */
    /* the client was there from the start: no pointer had to be changed */
    bool was_preloaded;
    uint32_t slot_count; /* pointers that were changed */
    uint32_t left_count; /* pointers that lead elsewhere and were not changed */
    pid_t tid;           /* the thread that was borrowed */
    uint64_t stopped_ns; /* how long it was borrowed */
    /* functions in the program itself whose entries were changed, with all threads stopped */
    uint32_t entry_count;
    uint32_t thread_count;   /* how many threads were stopped for that */
    uint64_t all_stopped_ns; /* how long they were stopped */
    uint32_t try_count;      /* stops of threads that were not at a safe point */
    bool is_held;            /* after a failure: another collector records it */
    /* a seccomp filter limits the recording: threads without names, no forked children */
    bool is_limited;
    char words[384]; /* the message of a failure */
};

/* Loads the client if necessary and starts recording. ret_attachment->pending then holds the
 * region. False: see Fails. */
bool hs_attachment_begin(const struct hs_attachment_request *request,
                         struct hs_attachment *ret_attachment);

/* Checks whether the process's seccomp filters would allow attaching. Nothing is called in the
 * process; threads with filters are stopped for microseconds. False, with a message: the filters,
 * or something else, prevent it. */
bool hs_attachment_try(pid_t pid, uint64_t patience_ns, struct hs_attachment *ret_attachment);

/* Fills in pidfd and is_gone of a pending client whose pid is known. */
void hs_attachment_find_process(struct hs_pending_client *pending);

/* Redirects the calls of libraries that were loaded otherwise than by the program's own dlopen. */
bool hs_attachment_refresh(pid_t pid, uint64_t patience_ns, struct hs_attachment *ret_attachment);

/* Ends the recording, restores the original calls and frees the client's tables. */
bool hs_attachment_end(pid_t pid, uint64_t patience_ns, struct hs_attachment *ret_attachment);
