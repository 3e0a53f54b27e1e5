/*
 * How much memory of our own counts for RLIMIT_DATA now: who sets that limit lets a piece of work have so much more.
 *
 * Threads   any; also in a child that a program of several threads forked: it allocates nothing.
 * Fails     0: /proc does not say.
 * See       proc(5) on statm, setrlimit(2)
 */
#pragma once

#include <stdint.h>

/* Private writable memory and stacks. Much, where a sanitizer has its shadow. */
uint64_t hs_own_data_bytes(void);
