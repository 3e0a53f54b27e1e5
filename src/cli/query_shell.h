/*
 * The shell of heapscope query: statements over several lines, a history, and Ctrl-C.
 *
 * Threads   main thread only.
 */
#pragma once

#include "cli/query_script.h"

/* Reads until .quit or the end of the input. The exit status. */
int hs_query_shell(struct hs_query *query, const char *file_name);
