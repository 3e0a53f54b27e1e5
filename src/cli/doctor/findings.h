/*
 * What doctor found: a list of results, each fine, worth knowing, or a problem, and what to do
 * about it.
 *
 *     ok       kernel         Linux 6.1
 *     problem  unwind tables  none in libfoo.so: stacks are cut there
 *                             remedy: build it with -fasynchronous-unwind-tables
 *
 * Ensures   a finding that is not ok has a remedy, where there is one.
 * Threads   one.
 * Fails     -ENOMEM is kept in `err`, and adding does nothing after it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rt/base.h"

struct hs_buf;

enum hs_finding_state {
    HS_FINDING_OK,
    HS_FINDING_NOTE,    /* the profile will be poorer, or worth knowing */
    HS_FINDING_PROBLEM, /* it would be empty or cut, or there would be none */
    HS_FINDING_STATE_N,
};

struct hs_finding {
    enum hs_finding_state state;
    const char *check; /* what was checked; a constant */
    char *detail;
    char *remedy; /* NULL: none */
};

struct hs_findings {
    struct hs_finding *items;
    size_t count, capacity;
    int err;
};

/* Adds a finding; `remedy` may be NULL or "". */
void hs_findings_add(struct hs_findings *findings, enum hs_finding_state state, const char *check,
                     const char *remedy, const char *format, ...) HS_PRINTF(5, 6);

/* How many findings have this state. */
size_t hs_findings_count(const struct hs_findings *findings, enum hs_finding_state state);

/* Writes the findings as text for a terminal of `columns`, 0: does not break lines. */
void hs_findings_write_text(const struct hs_findings *findings, unsigned columns, bool has_colour,
                            struct hs_buf *out);
/* Writes the findings as a JSON list. */
void hs_findings_write_json(const struct hs_findings *findings, struct hs_buf *out);

/* Frees the findings. */
void hs_findings_deinit(struct hs_findings *findings);
