/*
 * Handing the region to the collector: one message, no answer. See fmt/ctl_layout.h.
 *
 * Fails     -errno; the process then goes on unprofiled.
 */
#pragma once

#include <stdint.h>

/* A descriptor connected to `name`: an abstract socket name without its leading NUL, or, when it
 * begins with '/', a path. While the other side's queue is full it tries `tries` times, 2 ms apart. */
int hs_register_connect(const char *name, unsigned tries);

/* Sends the hello. `flags`: enum hs_hello_flag; which malloc the program has is added. Both
 * descriptors stay the caller's. */
int hs_register_send(int sock, int fd, uint32_t flags);

/* enum hs_hello_flag of this process, as far as they do not depend on who asks. */
uint32_t hs_register_flags(void);
/* It agrees to be profiled: every hello says so. */
void hs_register_set_willing(void);

/* Both, to the collector at `name`. `fd` stays the caller's. */
int hs_register(const char *name, int fd, uint32_t flags);
