/*
 * `record` without a command, where a daemon runs: a session of the daemon, from its start until
 * its file is complete.
 *
 *     recording ──Ctrl-C, SIGTERM ...──► asked to stop ──► file complete
 *         │  └─SIGUSR1: a dump                                 ▲
 *         └──its duration, or its last process ended───────────┘
 *
 * The daemon records programs that start later from their first allocation. When it is killed and
 * started again, it continues the session: so this command looks for the next daemon, for a while.
 *
 * Threads   main thread only. hs_record_session_run() blocks signals, and leaves them blocked.
 * Fails     after a message.
 * See       session_ask.h, docs/adr/0021-record-and-the-daemon.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/trace_config.h"

struct hs_record_session {
    const struct hs_trace_wishes *schedule;
    const struct hs_sources_settings *sources; /* NULL: the daemon's default */
    const char *path;
    const void *head; /* packets in front of the trace */
    size_t head_bytes;
    bool is_symbolizing;
    bool with_blocks;        /* snapshots list the live blocks */
    void (*on_active)(void); /* called when recording has begun */
};

/* Runs the session to its end. Returns the exit status. */
int hs_record_session_run(const struct hs_record_session *record);
