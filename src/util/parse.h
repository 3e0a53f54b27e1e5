/*
 * Parses sizes and durations, as users type them, into bytes and nanoseconds.
 *
 * All commands have the same grammar: a decimal number, optionally a fraction, and a unit.
 *     sizes      4096  64K  1.5M  2G  1T     powers of 1024, lower case too; iB or B may follow
 *     durations  250ms  30s  1.5m  2h         a bare number is refused, because its unit is unknown
 * The arithmetic uses integers, so that 0.1s is exactly 100000000 ns.
 *
 * Threads   no state.
 * Fails     -EINVAL: not of this form; -ERANGE: too large for 64 bits. The output is then
 *           unchanged.
 */
#pragma once

#include <stdint.h>

/* A size, in bytes. */
int hs_parse_size(const char *text, uint64_t *ret_bytes);
/* A duration, in nanoseconds. */
int hs_parse_duration(const char *text, uint64_t *ret_ns);
/* A plain decimal number, without sign, blank or unit. */
int hs_parse_number(const char *text, uint64_t *ret_number);
