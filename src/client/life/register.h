/*
 * Hands the region to the collector in one message, to which there is no answer. See
 * fmt/ctl_layout.h.
 *
 * Fails     -errno; the process then goes on unprofiled.
 */
#pragma once

#include <stdint.h>

/* Returns a descriptor connected to `name`: an abstract socket name without its leading NUL, or,
 * when it begins with '/', a path. While the other side's queue is full it tries `tries` times, 2
 * ms apart. */
int hs_register_connect(const char *name, unsigned tries);

/* Sends the hello. `flags`: enum hs_hello_flag, to which those of hs_register_flags() are added.
 * Both descriptors stay the caller's. 0 or -errno. */
int hs_register_send(int sock, int fd, uint32_t flags);

/* The enum hs_hello_flag of this process that are the same for every collector. */
uint32_t hs_register_flags(void);
/* Every hello says from now on that the process agrees to be profiled. */
void hs_register_set_willing(void);

/* Connects to the collector at `name` and sends the hello. `fd` stays the caller's. 0 or -errno. */
int hs_register(const char *name, int fd, uint32_t flags);
