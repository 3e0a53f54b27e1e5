/*
 * Loads a file of any supported kind into a profile.
 *
 * heapscope's own traces are read with everything in them. Heap profiles that heapprofd wrote
 * contain less: counts are numbers of samples, dumps have no peak and no totals, and there are no
 * margins (for bytes, heapscope adds an upper bound). Other files are read too: pprof, the heap
 * texts of jemalloc and gperftools, collapsed stacks, MemoryInfra traces of Chrome. The kind is
 * found by the content of the file, never by its name.
 *
 * What could not be read of a damaged file is reported twice: as losses of the profile, so that
 * every view shows them, and as numbers in the report.
 *
 * Ensures   a profile is returned for every file of a known kind, even one without a single dump.
 * Threads   one user for each call.
 * Fails     -errno (open, read, -ENOMEM); HS_TRACE_E_EMPTY, HS_TRACE_E_FOREIGN of trace_reader.h;
 *           HS_LOAD_E_NOT_MEMORY.
 * See       docs/FORMAT.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model/profile.h"
#include "trace/trace_reader.h"

/* A pprof profile of something other than memory: CPU time, locks. */
#define HS_LOAD_E_NOT_MEMORY 3

enum hs_load_kind {
    HS_LOAD_TRACE,
    HS_LOAD_PPROF,
    HS_LOAD_HEAP_TEXT,
    HS_LOAD_FOLDED,
    HS_LOAD_MEMORY_INFRA,
};

#define HS_LOAD_TYPE_BYTES 64

struct hs_load_report {
    enum hs_load_kind kind;
    struct hs_trace_damage damage;
    /* incomplete, and left out because an earlier dump of the process is complete */
    uint64_t lost_dump_count;
    uint64_t incomplete_dump_count;  /* incomplete, and kept because there is no other */
    uint64_t missing_packet_count;   /* gaps in the numbering of profile packets */
    uint64_t falling_sample_count;   /* cumulative figures that fell; left out */
    uint64_t unresolved_stack_count; /* references to frames or stacks that are not in the file */
    bool has_our_packets;            /* written by heapscope */
    uint32_t format_version;         /* of our packets; 0 none */
    uint64_t thinned_dump_count;     /* without stacks */
    uint64_t bad_record_count;       /* of a pprof profile; left out */
    uint64_t bad_line_count;         /* of a text; left out */
    bool has_no_alloc;               /* the file has live figures, but no totals of allocation */
    bool has_no_live;                /* the file has totals of allocation, but no live figures */
    char type_name[HS_LOAD_TYPE_BYTES]; /* with HS_LOAD_E_NOT_MEMORY: what the profile measures */
};

/* Loads the file at `path`; "-" is standard input. The report may be NULL. */
int hs_profile_load(const char *path, struct hs_profile **ret_profile,
                    struct hs_load_report *ret_report);
/* The same for bytes in memory. */
int hs_profile_load_memory(const void *data, size_t bytes, struct hs_profile **ret_profile,
                           struct hs_load_report *ret_report);
/* Finds out of which kind a file is, by the bytes that it begins with. Returns 0 or -ENOMEM. */
int hs_load_find_kind(const void *data, size_t bytes, enum hs_load_kind *ret_kind);
