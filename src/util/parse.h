/*
 * Sizes and durations as people type them, into bytes and nanoseconds.
 *
 * One grammar for all commands: a decimal number, a fraction if wanted, and a unit.
 *   sizes      4096  64K  1.5M  2G  1T     powers of 1024, lower case too, with or without iB or B
 *   durations  250ms  30s  1.5m  2h         a bare number is refused, as nobody knows its unit
 * The arithmetic is on integers, so that 0.1s is 100000000 ns and not nearly that.
 *
 * Threads   no state.
 * Fails     -EINVAL not of this form, -ERANGE too large for 64 bits; the output is then untouched.
 */
#pragma once

#include <stdint.h>

int hs_parse_size(const char *text, uint64_t *ret_bytes);
int hs_parse_duration(const char *text, uint64_t *ret_ns);
/* A plain decimal number: no sign, no blank, no unit. */
int hs_parse_number(const char *text, uint64_t *ret_number);
