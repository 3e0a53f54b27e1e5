/*
 * `record` without a command, where a daemon runs: a session of that, from its start until its file is whole.
 *
 *     recording ──Ctrl-C, SIGTERM ...──► asked to stop ──► the file is whole
 *         │  └─SIGUSR1: a dump                                 ▲
 *         └──its duration, or its last process ended───────────┘
 *
 * The daemon sees programs that start later from their first allocation, and goes on when it is killed and started
 * again: then it is looked for, for a while.
 *
 * Threads   main thread only. Signals are blocked from here on.
 * Fails     after saying why.
 * See       session_ask.h, docs/adr/0021-record-and-the-daemon.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "session/trace_config.h"

struct hs_record_session {
    const struct hs_trace_wishes *schedule;
    const struct hs_sources_settings *sources; /* NULL: as the daemon does by itself */
    const char *path;
    const void *head; /* packets in front of the trace */
    size_t head_bytes;
    bool is_symbolizing;
    void (*on_active)(void); /* it has begun */
};

/* Exit status. */
int hs_record_session_run(const struct hs_record_session *record);
