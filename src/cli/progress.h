/*
 * Prints one line on a terminal when something takes longer than a second: "heapscope: looking up
 * names ...".
 *
 * Work that is counted is then said each second: "12000 of 50000 done, about 4 s left", on a line
 * that is cleared at the end.
 *
 * Threads   main thread only; one at a time. Uses SIGALRM, which is ignored afterwards.
 * Fails     never: without a terminal, or when the work is done within a second, it prints nothing.
 */
#pragma once

#include <stdint.h>

/* The line of run and of the readers of files. */
#define HS_PROGRESS_NAMING "heapscope: looking up names of functions ...\n"
/* That of run and attach where they also ask servers. */
#define HS_PROGRESS_ASKING                                                                         \
    "heapscope: looking up names of functions, also at the servers in DEBUGINFOD_URLS (Ctrl-C "    \
    "leaves out the rest) ...\n"

/* The work begins. `line` has its prefix and newline, and must stay valid until
 * hs_progress_over(). */
void hs_progress_expect(const char *line);
/* So much of it is done. Does nothing outside of hs_progress_expect() and hs_progress_over(). */
void hs_progress_step(uint64_t done_count, uint64_t all_count);
/* The work is done. */
void hs_progress_over(void);
