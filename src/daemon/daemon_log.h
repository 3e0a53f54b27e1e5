/*
 * The daemon's log: a line for each message, on standard error. systemd and other supervisors keep
 * it.
 *
 * Threads   one.
 * Fails     never: a line that cannot be written is lost.
 */
#pragma once

#include "rt/base.h"

/* Writes a line; without a newline in `format`. */
void hs_daemon_log(const char *format, ...) HS_PRINTF(1, 2);
/* Writes this text as a line. */
void hs_daemon_log_text(const char *text);
