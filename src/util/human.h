/*
 * Numbers for people: "12.3 MiB", "4,096", "1.2 M", "3 min 20 s", "29.2 %".
 *
 * Three significant digits are what an eye takes in; what needs the exact value reads JSON. Sizes are
 * powers of 1024 and say so (KiB). A blank stands between number and unit, so that columns of
 * numbers line up on it.
 *
 * Holds     output is ASCII and always NUL-terminated, at most HS_HUMAN_BYTES long.
 * Threads   pure functions.
 */
#pragma once

#include <stdint.h>

#define HS_HUMAN_BYTES 32

/* Returns `out`, so that it can stand in an argument list: hs_human_bytes((char[HS_HUMAN_BYTES]){0}, n). */
char *hs_human_bytes(char *out, double bytes);
/* Groups of three up to a million, "1.23 M" above. */
char *hs_human_count(char *out, double count);
/* All digits, in groups of three. */
char *hs_human_exact(char *out, uint64_t count);
char *hs_human_duration(char *out, uint64_t duration_ns);
/* part / whole; "<0.1 %" for what is there and rounds to nothing; "-" without a whole. */
char *hs_human_share(char *out, double part, double whole);
