/*
 * What `run` has to say, in words: why a program cannot be profiled, what is missing, and the
 * summary.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"
#include "collect/preflight.h"

/* Says why `program` cannot be run or profiled, and returns the exit status; -1: nothing against it. */
int hs_run_words_refuse(const char *program, const struct hs_preflight *preflight);

/* Says what is missing or strange about the recording as a whole. `is_one_told`: of a program whose own malloc is not
 * seen. */
void hs_run_words_gaps(const char *program, const struct hs_collector_result *result,
                       bool is_one_told);

/* Totals, largest stacks, losses: from the trace at `trace_path`, which will be called `file`. */
void hs_run_words_summary(const char *trace_path, const char *file, uint32_t stack_count);
