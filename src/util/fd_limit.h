/*
 * The number of descriptors that this process may have open.
 *
 * Threads   any.
 * Fails     never: a limit that cannot be raised stays.
 */
#pragma once

/* Raises it as far as the process is allowed: each recorded process needs two descriptors. */
void hs_fd_limit_raise(void);
