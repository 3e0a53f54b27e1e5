/*
 * The processes that `top` lists: those that are recorded, and those that heapscope could record.
 *
 * Who records what is asked of all endpoints (cli/daemon_client/endpoints.h). Whether a process
 * could be recorded is found out once for each process (collect/inspect/eligibility.h).
 *
 * Threads   main thread only; prints nothing.
 * Fails     -ENOMEM; endpoints that do not answer are left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/daemon_client/endpoints.h"
#include "watch/receive/watch_growth.h"

/* How long one endpoint may take to answer. */
#define HS_TOP_PATIENCE_MS 300

struct hs_top_process {
    pid_t pid;
    uint64_t start_ticks; /* of the process: together with the pid, this one and no other */
    char name[64];        /* raw */
    char session[64];     /* that records it; "": none */
    uint64_t rss_bytes;
    bool has_live;
    double live_bytes;
    double growth; /* bytes a second, of live bytes, or of the resident memory */
    bool is_eligible;
    bool is_dormant; /* it has announced itself to a daemon */
};

struct hs_top_known; /* which processes could be recorded */

/* Zeroed: nothing was looked at. */
struct hs_top_processes {
    struct hs_top_process *list; /* recorded ones first, then by live and by resident memory */
    size_t count, capacity;
    pid_t guard_pid; /* set by the caller: not listed, like we ourselves; 0: none */
    struct hs_watch_growth growth;
    struct hs_top_known *known;
    size_t known_count, known_capacity;
};

/* Looks at all processes. 0 or -ENOMEM. */
int hs_top_processes_look(struct hs_top_processes *processes);
void hs_top_processes_deinit(struct hs_top_processes *processes);
