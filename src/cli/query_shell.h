/*
 * The shell of heapscope query: statements over several lines, a history, and commands that begin with a dot.
 *
 * Threads   main thread only.
 */
#pragma once

#include "cli/query_text.h"

/* Reads until .quit or the end of the input. The exit status. */
int hs_query_shell(struct hs_sql *sql, const char *file_name, struct hs_query_output *output);
