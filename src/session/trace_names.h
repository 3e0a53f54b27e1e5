/*
 * The last packets of a trace: names for the code addresses in it.
 *
 * Threads   one user. It starts processes that read files of programs, and waits for them.
 * Fails     -errno: the names could not be looked up, or the writer failed, with its error. If the
 *           writer has not failed, the trace is valid, without names.
 */
#pragma once

#include <stdbool.h>

#include "symbol/symbol_wanted.h"
#include "trace/trace_writer.h"

struct hs_target_files;

/* Looks up the names of the wanted addresses, and appends them to the trace. `files` are those of
 * the processes that were opened in time; NULL: none. `is_cancelled` as in
 * hs_symbol_options. *ret_is_interrupted becomes true if is_cancelled ended the search; otherwise
 * it is not changed. Returns 0 or -errno. */
int hs_trace_names_append(struct hs_trace_writer *writer, struct hs_symbol_wanted *wanted,
                          const struct hs_target_files *files, bool (*is_cancelled)(void),
                          bool *ret_is_interrupted);
