/*
 * `heapscope report --html`: loads profiles and writes the page.
 *
 * Threads   main thread only.
 * Fails     with the exit status, after a message; the file is then not there, or as it was.
 */
#pragma once

#include <stddef.h>

#include "cli/read/filter_options.h"
#include "view/report.h"

/* The most files of one page. */
#define HS_PAGE_FILES_MAX 16

struct hs_page_output {
    const char *const *paths; /* of the profiles */
    size_t count;
    const char *output; /* "-": standard output */
    const struct hs_report_options *options;
    const struct hs_filter_options *filters;
};

/* Writes the page. Returns the exit status. */
int hs_page_output_run(const struct hs_page_output *it);
