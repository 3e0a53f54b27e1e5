/*
 * A folder of pprof files, one for each heap of each dump, in traceconv's layout: for `profile` and `record`.
 *
 *     heap_dump.N.PID.HEAP.pb[.gz]     N from 1
 *
 * Threads   main thread only.
 * Fails     each file is whole, or not there; the first failure is told, and ends it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct hs_profile_files {
    const char *folder; /* is there */
    uint32_t pid;       /* 0: any */
    const uint64_t *times_ns;
    size_t time_count; /* 0: any; else dumps whose window ends, or begins, then */
    bool is_annotated;
    bool is_compressed;
};

/* How many there are now, or the exit status, negated, after saying what failed. */
int hs_profile_files_write(const struct hs_profile *profile, const struct hs_profile_files *files);

/* What is wrong with the processes in it, one line each. */
void hs_profile_files_warn(const struct hs_profile *profile);
