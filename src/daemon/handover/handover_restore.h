/*
 * Takes over what a previous daemon left: see handover_save.h.
 *
 * Threads   one.
 * Fails     a job or target that cannot be taken over is logged and dropped.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/access_control.h"
#include "daemon/handover/fdstore.h"
#include "daemon/handover/handover_save.h"
#include "daemon/recording_job.h"
#include "session/hub.h"

/* The parts of the new daemon that take over. */
struct hs_handover_parts {
    struct hs_handover *handover;
    struct hs_recording_jobs *jobs;
    struct hs_hub *hub;
    const struct hs_access_control *access;
    bool is_system;
    uid_t uid;
};

/* Takes over the recording jobs and targets in `items`, before the first turn of the loop. The
 * caller closes the descriptors that remain there, and updates the startup hint file. */
void hs_handover_restore(const struct hs_handover_parts *parts, struct hs_fdstore_items *items);
