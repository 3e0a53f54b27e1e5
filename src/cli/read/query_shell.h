/*
 * The shell of heapscope query: statements over several lines, a history, and Ctrl-C.
 *
 * Threads   main thread only.
 */
#pragma once

#include "cli/read/query_script.h"

/* Reads and runs input until .quit or its end. Returns the exit status. */
int hs_query_shell(struct hs_query *query, const char *file_name);
