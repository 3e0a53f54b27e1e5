/*
 * The end of every recording: the summary of the trace that was written, and the file under its final name.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/run_file.h"

struct hs_run_summary {
    struct hs_run_file *file;
    const char *path;     /* its final name */
    const char *lost;     /* what to add when it cannot be written: "the profile is lost" */
    uint32_t stack_count; /* in the summary */
    bool is_quiet;
};

/* `r`: what became of writing the trace. 0, or -errno that has been told. */
int hs_run_summary_file(const struct hs_run_summary *present, int r);
