/*
 * Asks the debuginfod servers in the environment variable DEBUGINFOD_URLS for the debug file of a
 * build id.
 *
 * elfutils' client library does the work, and keeps what it downloads in its own cache
 * (DEBUGINFOD_CACHE_PATH); a build id that no server knows is remembered there, too. The library
 * is loaded at the first question, in the process that asks: a worker of the symbolizer. It brings
 * an HTTP client along, which a profile without servers should not pay for.
 *
 * A server that cannot be reached costs a wait once for each worker: afterwards that worker asks no
 * more. A download that has not begun after the seconds in DEBUGINFOD_TIMEOUT, or else the
 * caller's limit or CONNECT_MS, is given up. So is one that has not ended when the caller's time is
 * over.
 *
 * Threads   one user.
 * Fails     -ENOENT: no server has it; -ENOSYS: the library is not installed; -ETIME: the time is
 *           over; other -errno: no server could be reached.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_request.h"

/* DEBUGINFOD_URLS names a server. */
bool hs_debuginfod_is_wanted(void);
/* The client library is installed. Loads it. */
bool hs_debuginfod_is_installed(void);

/* Finds or downloads the debug file of a build id, within the limits in `options`. The caller frees
 * *ret_path. */
int hs_debuginfod_find(const struct hs_symbol_options *options, const uint8_t *id, size_t id_bytes,
                       char **ret_path);
