/*
 * The last packets of a trace: names for the code addresses in it.
 *
 * Threads   one user. It starts processes that read files of programs, and waits for them.
 * Fails     -errno, before the writer has failed or with its error: the trace without names is still one.
 */
#pragma once

#include <stdbool.h>

#include "symbol/symbol_wanted.h"
#include "trace/trace_writer.h"

/* `is_hurried` as in hs_symbol_options. *ret_is_interrupted becomes true when it ended the search, and is left alone
 * otherwise. */
int hs_trace_names_append(struct hs_trace_writer *writer, struct hs_symbol_wanted *wanted,
                          bool (*is_hurried)(void), bool *ret_is_interrupted);
