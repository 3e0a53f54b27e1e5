/*
 * The call by which a program begins to record without a session (bind.h), whatever state its
 * client is in: bound already, waiting for a session, or without any daemon.
 *
 * Threads   any; one call succeeds in the life of a process. Not from inside our own code.
 * Fails     -errno, as heapscope_bind(3) lists them; nothing has changed then.
 */
#pragma once

#include "fmt/api_layout.h"

/* Implements hs_api_calls_v1.bind. */
int hs_bind_call(const struct hs_api_bind_v1 *request);
