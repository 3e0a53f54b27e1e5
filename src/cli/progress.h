/*
 * One line on a terminal when something takes long enough to wonder: "heapscope: looking up names ...".
 *
 * Threads   main thread only; one at a time. Uses SIGALRM, which is ignored afterwards.
 * Fails     never: without a terminal, or when it is over within a second, nothing is said.
 */
#pragma once

/* What run and the readers of files say alike. */
#define HS_PROGRESS_NAMING "heapscope: looking up names of functions ...\n"

/* `line` is whole, with prefix and newline, and stays as it is until hs_progress_over(). */
void hs_progress_expect(const char *line);
void hs_progress_over(void);
