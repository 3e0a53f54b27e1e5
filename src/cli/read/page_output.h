/*
 * `heapscope report --html` and `run --html`: loads profiles and writes the page.
 *
 * Threads   main thread only.
 * Fails     with the exit status, after a message; the file is then not there, or as it was.
 */
#pragma once

#include <stdbool.h>
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

/* Was heapscope built with the page? Otherwise says so, and how to get it. */
bool hs_page_output_is_built(void);
/* Writes the page. Returns the exit status. */
int hs_page_output_run(const struct hs_page_output *it);
/* Writes the page of one trace beside it: "x.html" for "x.pftrace". Returns the exit status. */
int hs_page_output_beside(const char *path);
