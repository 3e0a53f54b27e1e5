/*
 * Which files are memory: those of memfd_create(2).
 *
 * The kernel keeps them all in one file system of its own, whose device number is that of the
 * region's file. A memfd of huge pages lies in another one, and is not recognized.
 *
 * Threads   any, once hs_memfd_note has been called.
 * Fails     false where it cannot be told: without a region, and under a seccomp filter, which may
 *           forbid the system call.
 */
#pragma once

#include <stdbool.h>

/* `fd` is a memfd. */
void hs_memfd_note(int fd);

/* Is `fd` a memfd? */
bool hs_memfd_is(int fd);
