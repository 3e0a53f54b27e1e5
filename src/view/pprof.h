/*
 * pprof: a gzip-compressed profile.proto, for `go tool pprof` and all tools that read its format.
 *
 * A sample has four values, in the order of Go's own heap profiles: alloc_objects, alloc_space,
 * inuse_objects, inuse_space. If the peak was recorded, peak_objects and peak_space follow. Losses
 * and the margins of the totals are in the comments (`pprof -comments`). Samples of several
 * processes have the label "pid", those of several heaps the label "heap".
 *
 * A single heap of a dump has the values that traceconv writes, under traceconv's names.
 *
 * Ensures   values are whole numbers, as the format requires. Locations have addresses of the
 *           process and mappings have build ids, so that pprof can symbolize frames that have no
 *           names.
 * Threads   no state.
 * Fails     -ENOMEM or as the buffer does; HS_SELECT_E_* when the profile has no such dump.
 * See       proto/pprof.proto
 */
#pragma once

#include "profile/analyse/select.h"

struct hs_buf;

/*
 * One heap of one dump in traceconv's layout: sample types are named after the heap. Not
 * compressed.
 */
struct hs_pprof_dump {
    uint32_t dump_idx; /* index in profile->dumps */
    uint32_t heap_idx; /* index in profile->heaps */
    bool is_annotated; /* function names are followed by " [jit]" and similar marks */
};

/* What samples of a stack are divided by, with a label for each. */
enum hs_pprof_label_bit {
    HS_PPROF_LABEL_THREAD = 1 << 0, /* "thread": name[tid] */
    HS_PPROF_LABEL_TYPE = 1 << 1,
    HS_PPROF_LABEL_AGE = 1 << 2,   /* "age": "1 s to 10 s" */
    HS_PPROF_LABEL_SCOPE = 1 << 3, /* "scope": "outer > inner" */
    HS_PPROF_LABEL_LABEL = 1 << 4, /* the program's own labels, under their own keys */
};

struct hs_pprof_options {
    /* One sample for each live block, with the labels address, bytes, timestamp, thread and type.
     * The values are only those of live memory. */
    bool with_tags;
    unsigned labels; /* bits of enum hs_pprof_label_bit; not together with with_tags */
};

/* Reads a list such as "thread,type". False: a name is unknown, and *ret_bad begins there. */
bool hs_pprof_labels_parse(const char *text, unsigned *ret_labels, const char **ret_bad);

/* Whether the selected dumps have what the options need: 0; -ENODATA: a dump has no blocks, or no
 * parts; or as hs_select_dumps(). */
int hs_pprof_check(const struct hs_profile *profile, const struct hs_select_spec *select,
                   const struct hs_pprof_options *options);

/* Writes one heap of one dump. Returns 0 or -errno. */
int hs_pprof_write_dump(const struct hs_profile *profile, const struct hs_pprof_dump *dump,
                        struct hs_buf *buf);

/*
 * Writes the selected dumps, in Go's layout and compressed. For each stack, the values of samples
 * with labels add up exactly to those of its one sample without them. Returns 0, -errno or
 * HS_SELECT_E_*.
 */
int hs_pprof_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                   const struct hs_pprof_options *options, struct hs_buf *buf);
