/*
 * What heapscope's client does in a process that this collector has not met: it sleeps, waits for a
 * session, or records, and for which collector.
 *
 * The control page of its region says so. The page is read through /proc/PID/mem, where the client
 * has mapped it. So neither the process, which may hang, nor its collector, which may be gone, has
 * to answer.
 *
 * A collector that is gone leaves its process recording for no session; another collector may take
 * it over, unless the process is bound. Whether the collector is gone can only be found out where
 * process ids mean the same to it and to this process: in heapscope's own PID namespace.
 *
 * Trust     the page is the target's: three numbers are read, and at worst a process is left alone.
 * Threads   no state.
 * Fails     never: what cannot be read counts as recording.
 * See       fmt/region_layout.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/inspect/loaded_runtimes.h"

enum hs_client_state {
    HS_CLIENT_NONE,    /* the client is not loaded */
    HS_CLIENT_ASLEEP,  /* the client is loaded, and serves no collector */
    HS_CLIENT_WAITING, /* a collector has it, but does not record: a daemon without a session */
    HS_CLIENT_ACTIVE,
    HS_CLIENT_ORPHANED, /* it records, for a collector that is gone */
};

struct hs_client_activity {
    enum hs_client_state state;
    uint32_t collector_pid; /* in the collector's own PID namespace; 0: unknown */
    bool is_kept;           /* it records for itself, and no daemon has its region */
};

/* Finds the state of the client in a process. `proc` is /proc; `pid_text` names the process's
 * directory in it. */
void hs_client_state_look(const char *proc, const char *pid_text,
                          const struct hs_loaded_runtimes *runtimes, bool is_in_our_pid_ns,
                          struct hs_client_activity *ret_client);
