/*
 * How much of this process's memory counts towards RLIMIT_DATA now. A caller that wants to limit
 * what a piece of work may allocate sets RLIMIT_DATA to this much plus its allowance.
 *
 * Threads   any; also allowed in a child forked by a program of several threads, because it
 *           allocates nothing.
 * Fails     0: /proc does not say.
 * See       proc(5) on statm, setrlimit(2)
 */
#pragma once

#include <stdint.h>

/*
 * Private writable memory and stacks, in bytes. Very large under a sanitizer, which maps its shadow
 * memory.
 */
uint64_t hs_own_data_bytes(void);
