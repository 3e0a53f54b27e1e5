/*
 * What the values of a pprof profile mean: live, allocated, at the peak; bytes or objects.
 *
 * Each sample has one value for each sample type, a pair of name and unit. Names differ by who writes them:
 *
 *     inuse_space/bytes   space/bytes   Unreleased malloc size/bytes   live_bytes/B     live
 *     alloc_space/bytes   Total malloc size/bytes   Total size/bytes   allocated/KiB    allocated
 *     peak_space/bytes    max_bytes/bytes                                               at the peak
 *
 * So a name is taken apart into words, and a word decides: first those for what is live, then those for the
 * peak, then those for what was allocated; a name of plain words (space, objects, size) is live, if nothing
 * else is. The unit tells bytes (with their multiples) from objects; without one the words do. When no name
 * says anything, the type that the profile calls its default is what is live, or the last one.
 *
 * Holds     each role has at most one type: the first that fits.
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
    bool has_sample_counts;         /* counts are numbers of samples: heapprofd's */
};

/* False: none of them is of memory. default_name may be "". */
bool hs_pprof_find_roles(const struct hs_pprof_type *types, size_t count, const char *default_name,
                         struct hs_pprof_roles *ret_roles);

/* How many bytes a unit is; 0: it is no unit of bytes. */
double hs_pprof_unit_bytes(const char *unit);
