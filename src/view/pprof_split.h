/*
 * Divides the sample of a stack into several, each with labels: one for each live block, or one for
 * what a thread, type, age or scope has of it.
 *
 * Ensures   the values of these samples add up exactly to `values`, those of the whole sample.
 * Threads   one user.
 * Fails     through w->parts.err.
 */
#pragma once

#include "view/pprof_writer.h"

/* Writes a sample for each block, and one for blocks that the dump does not list. */
void hs_pprof_put_blocks(struct hs_pprof_writer *w, const struct hs_pprof_place *place,
                         const int64_t *values);
/* Writes a sample for each combination of the labels that w->options chooses. What was allocated
 * since the start is not known by label: it is a sample without these labels. */
void hs_pprof_put_labelled(struct hs_pprof_writer *w, const struct hs_pprof_place *place,
                           const int64_t *values);
