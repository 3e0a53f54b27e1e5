/*
 * pprof: a gzip'ed profile.proto, for `go tool pprof` and everything that reads its format.
 *
 * Four values a sample, in the order Go's own heap profiles have them: alloc_objects, alloc_space,
 * inuse_objects, inuse_space; then peak_objects and peak_space when the peak was recorded. What is
 * lost and how sure the totals are stands in the comments (`pprof -comments`). Samples of several
 * processes carry the label "pid", those of several heaps the label "heap".
 *
 * A heap of a dump by itself has the values that traceconv writes, under its names.
 *
 * Holds     values are rounded to whole numbers, as the format wants; locations carry addresses of the
 *           process, mappings their build ids, so that pprof can symbolize what has no names.
 * Threads   none.
 * Fails     -ENOMEM or as the buffer does; HS_SELECT_E_* when the profile has no such dump.
 * See       proto/pprof.proto
 */
#pragma once

#include "profile/select.h"

struct hs_buf;

/* One heap of one dump, as traceconv lays it out: sample types by the heap's name. Not compressed. */
struct hs_pprof_dump {
    uint32_t dump_idx; /* in profile->dumps */
    uint32_t heap_idx; /* in profile->heaps */
    bool is_annotated; /* " [jit]" and the like behind the names of functions */
};

int hs_pprof_write_dump(const struct hs_profile *profile, const struct hs_pprof_dump *dump,
                        struct hs_buf *buf);

int hs_pprof_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                   struct hs_buf *buf);
