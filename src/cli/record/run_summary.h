/*
 * The end of every recording: prints the summary of the trace, and gives the file its final name.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/record/run_file.h"

struct hs_run_summary {
    struct hs_run_file *file;
    const char *path; /* its final name */
    const char
        *lost; /* end of the message when the file cannot be written: "the profile is lost" */
    uint32_t stack_count; /* in the summary */
    bool is_quiet;
};

/* `r` is the result of writing the trace, 0 or -errno. Returns 0, or -errno after a message. */
int hs_run_summary_file(const struct hs_run_summary *present, int r);
