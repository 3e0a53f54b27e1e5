/*
 * What the daemon has to say, a line each, on standard error: systemd and supervisors keep that.
 *
 * Threads   one.
 * Fails     never: a line that cannot be written is lost.
 */
#pragma once

#include "rt/base.h"

void hs_daemon_log(const char *format, ...) HS_PRINTF(1, 2);
