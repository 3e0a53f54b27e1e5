/*
 * A recording without a daemon: `heapscope attach`, as a process of its own, which goes on when the
 * handler has answered and when `ui` has ended.
 *
 * Threads   main thread of a handler's process.
 * Fails     with the exit status, after a message.
 */
#pragma once

#include <stdbool.h>

#include "util/buf.h"

struct hs_ui_settings;

/* Whether attach has all of these options: some are of the daemon alone. */
bool hs_ui_attach_has_all(const struct hs_ui_settings *settings);

/* Starts it, and waits until it records. `session` gets the name under which `list` shows it. */
int hs_ui_attach(const struct hs_ui_settings *settings, const char *path, struct hs_buf *session);
