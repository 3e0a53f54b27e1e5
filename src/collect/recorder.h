/*
 * What our own client does in a process that we have not met: sleep, wait for a session, or record, and for whom.
 *
 * Its region's control page says so. The page is read through /proc/PID/mem, where the client has mapped it, so
 * that nobody needs to be asked: neither the process, which may hang, nor its collector, which may be gone.
 *
 * A collector that is gone has left its process recording for nobody; another one may take that over. Whether
 * it is gone can only be told where process numbers mean the same to it and to us: in our own pid namespace.
 *
 * Trust     the page is the target's: three numbers are read, and at worst a process is let alone.
 * Threads   no state.
 * Fails     never: what cannot be read counts as recording.
 * See       fmt/region_layout.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/loaded_runtimes.h"

enum hs_recorder_state {
    HS_RECORDER_NONE,   /* our client is not in there */
    HS_RECORDER_ASLEEP, /* it is, and serves nobody */
    HS_RECORDER_WAITING, /* a collector has it, and records nothing so far: a daemon without a session */
    HS_RECORDER_ACTIVE,
    HS_RECORDER_ORPHANED, /* it records, for a collector that is gone */
};

struct hs_recorder {
    enum hs_recorder_state state;
    uint32_t collector_pid; /* as it sees itself; 0 unknown */
};

/* `proc` is /proc; `pid_text` names the process in it. */
void hs_recorder_look(const char *proc, const char *pid_text,
                      const struct hs_loaded_runtimes *runtimes, bool is_in_our_pid_ns,
                      struct hs_recorder *ret_recorder);
