/*
 * One call of a function by the borrowed thread, and what goes wrong with it.
 *
 * Threads   one, because ptrace demands it.
 * Fails     enum hs_inject_error, with a detail.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "inject/inject_session.h"

/* Makes the borrowed thread call the function at `function_va`, `what` in messages, and waits until
 * it has returned. 0 or enum hs_inject_error. */
int hs_remote_call(struct hs_inject_session *session, const char *what, uint64_t function_va,
                   const uint64_t arguments[HS_REMOTE_ARGUMENTS_MAX], uint64_t *ret_value);

/* Writes bytes to the borrowed thread's stack. *ret_va is where they are. 0 or enum
 * hs_inject_error. */
int hs_remote_put(struct hs_inject_session *session, const void *bytes, size_t size_bytes,
                  uint64_t *ret_va);
