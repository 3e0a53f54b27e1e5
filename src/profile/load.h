/*
 * Loading: from a file to a profile, whatever kind of file it is.
 *
 * Takes our own traces with everything in them, and heap profiles that heapprofd wrote, which know
 * less: counts are numbers of samples, there is no peak beside the dumps, no totals, no error bars (we
 * give the bytes an upper bound of theirs). Takes files that are no traces too: pprof, the heap texts of
 * jemalloc and gperftools, collapsed stacks. The kind is found by the bytes, never by the name.
 *
 * What could not be read of a damaged file is told twice: as losses of the profile, so that every view
 * says so, and in the report, for whoever wants the numbers.
 *
 * Holds     a profile is returned whenever the file is of a kind that is known, even one without a single dump.
 * Threads   one call is one user.
 * Fails     -errno (open, read, -ENOMEM); HS_TRACE_E_EMPTY, HS_TRACE_E_FOREIGN of trace_reader.h;
 *           HS_LOAD_E_NOT_MEMORY.
 * See       docs/FORMAT.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "trace/trace_reader.h"

/* A pprof profile of something else: CPU time, locks. */
#define HS_LOAD_E_NOT_MEMORY 3

enum hs_load_kind {
    HS_LOAD_TRACE,
    HS_LOAD_PPROF,
    HS_LOAD_HEAP_TEXT,
    HS_LOAD_FOLDED,
};

#define HS_LOAD_TYPE_BYTES 64

struct hs_load_report {
    enum hs_load_kind kind;
    struct hs_trace_damage damage;
    uint64_t lost_dump_count;        /* not complete, though an earlier one of the process was */
    uint64_t incomplete_dump_count;  /* kept, because there is no other */
    uint64_t missing_packet_count;   /* gaps in the numbering of profile packets */
    uint64_t falling_sample_count;   /* cumulative figures that fell; left out */
    uint64_t unresolved_stack_count; /* references to frames or stacks that are not in the file */
    bool has_our_packets;            /* written by heapscope */
    uint32_t format_version;         /* of our packets; 0 none */
    uint64_t thinned_dump_count;     /* without stacks */
    uint64_t bad_record_count;       /* of a pprof profile; left out */
    uint64_t bad_line_count;         /* of a text; left out */
    bool has_no_alloc;               /* what lives is known, not what was allocated in all */
    bool has_no_live;                /* the other way round */
    char type_name[HS_LOAD_TYPE_BYTES]; /* with HS_LOAD_E_NOT_MEMORY: what it is of */
};

/* "-" is standard input. The report may be NULL. */
int hs_profile_load(const char *path, struct hs_profile **ret_profile,
                    struct hs_load_report *ret_report);
int hs_profile_load_memory(const void *data, size_t bytes, struct hs_profile **ret_profile,
                           struct hs_load_report *ret_report);
