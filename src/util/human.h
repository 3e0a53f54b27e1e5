/*
 * Human-readable numbers: "12.3 MiB", "4,096", "1.2 M", "3 min 20 s", "29.2 %".
 *
 * Three significant digits are as many as a reader takes in at once; programs that need the exact
 * value read JSON. Sizes are powers of 1024, which their unit says (KiB). A blank separates the
 * number from its unit, so that columns of numbers line up at the blank.
 *
 * Ensures   output is ASCII and always NUL-terminated, at most HS_HUMAN_BYTES long.
 * Threads   pure functions; each returns `out`.
 */
#pragma once

#include <stdint.h>

#define HS_HUMAN_BYTES 32

/* A size, "12.3 MiB". Usable in an argument list: hs_human_bytes((char[HS_HUMAN_BYTES]){0}, n). */
char *hs_human_bytes(char *out, double bytes);
/* A count: digits in groups of three below a million, "1.23 M" from there on. */
char *hs_human_count(char *out, double count);
/* A count with all digits, in groups of three. */
char *hs_human_exact(char *out, uint64_t count);
/* A duration, in the unit that fits it: "1.23 ms", "12.3 s", "3 min 20 s", "2 d 05 h". */
char *hs_human_duration(char *out, uint64_t duration_ns);
/*
 * The percentage part / whole: "<0.1 %" for a part that is not 0 but would round to 0; "-" when
 * `whole` is 0.
 */
char *hs_human_share(char *out, double part, double whole);
