/*
 * Finds what the values of a pprof profile mean: live, allocated, or at the peak; bytes or objects.
 *
 * Each sample has one value for each sample type, which is a pair of name and unit. Names depend on
 * the program that wrote the file:
 *
 *     inuse_space/bytes   space/bytes   Unreleased malloc size/bytes   live_bytes/B     live
 *     alloc_space/bytes   Total malloc size/bytes   Total size/bytes   allocated/KiB    allocated
 *     peak_space/bytes    max_bytes/bytes                                               at the peak
 *
 * A name is therefore split into words, and one word decides. Words for live memory are tried
 * first, then words for the peak, then words for allocated memory. A name of plain words (space,
 * objects, size) means live memory if no other type does. The unit distinguishes bytes (and their
 * multiples) from objects; without a unit the words do. When no name decides, the type that the
 * profile calls its default is live memory, or else the last type.
 *
 * Ensures   each role has at most one type: the first that fits.
 * Threads   pure functions.
 * See       docs/FORMAT.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_PPROF_TYPES_MAX 64

enum hs_pprof_role {
    HS_PPROF_LIVE_BYTES,
    HS_PPROF_LIVE_COUNT,
    HS_PPROF_ALLOC_BYTES,
    HS_PPROF_ALLOC_COUNT,
    HS_PPROF_PEAK_BYTES,
    HS_PPROF_PEAK_COUNT,
    HS_PPROF_ROLE_N,
};

struct hs_pprof_type {
    const char *name, *unit;
};

struct hs_pprof_roles {
    int type[HS_PPROF_ROLE_N];      /* index of the type, -1 none */
    double factor[HS_PPROF_ROLE_N]; /* bytes of a unit */
    bool has_sample_counts;         /* counts are numbers of samples, as in heapprofd's files */
};

/* Finds the roles of the types. False when no type is one of memory. default_name may be "". */
bool hs_pprof_find_roles(const struct hs_pprof_type *types, size_t count, const char *default_name,
                         struct hs_pprof_roles *ret_roles);

/* The number of bytes that a unit stands for; 0 when it is not a unit of bytes. */
double hs_pprof_unit_bytes(const char *unit);
