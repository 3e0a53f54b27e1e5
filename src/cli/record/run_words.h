/*
 * The messages of `run`: why a program cannot be profiled, what is missing, and the summary.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/inspect/preflight.h"
#include "session/program_run.h"

/* Prints why `program` cannot be run or profiled, and returns the exit status; -1: it can be. */
int hs_run_words_refuse(const char *program, const struct hs_preflight *preflight);

/* Prints what is missing or unusual in the recording as a whole. `is_one_told`: a message about a
 * program whose own malloc is not seen was printed. */
void hs_run_words_gaps(const char *program, const struct hs_program_run_result *result,
                       bool is_one_told);

/* Prints totals, largest stacks and losses of the trace at `trace_path`, which will be named
 * `file`. */
void hs_run_words_summary(const char *trace_path, const char *file, uint32_t stack_count);
