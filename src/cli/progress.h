/*
 * Prints one line on a terminal when something takes longer than a second: "heapscope: looking up
 * names ...".
 *
 * Threads   main thread only; one at a time. Uses SIGALRM, which is ignored afterwards.
 * Fails     never: without a terminal, or when the work is done within a second, it prints nothing.
 */
#pragma once

/* The line of run and of the readers of files. */
#define HS_PROGRESS_NAMING "heapscope: looking up names of functions ...\n"

/* The work begins. `line` has its prefix and newline, and must stay valid until
 * hs_progress_over(). */
void hs_progress_expect(const char *line);
/* The work is done. */
void hs_progress_over(void);
