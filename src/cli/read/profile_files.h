/*
 * A folder of pprof files, one for each heap of each dump, in traceconv's layout: for `profile` and
 * `record`.
 *
 *     heap_dump.N.PID.HEAP.pb[.gz]     N from 1
 *
 * Threads   main thread only.
 * Fails     each file is complete, or does not exist; the first failure is reported, and ends the
 *           work.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model/profile.h"

struct hs_profile_files {
    const char *folder; /* must exist */
    uint32_t pid;       /* 0: any */
    const uint64_t *times_ns;
    size_t time_count; /* 0: any; else dumps whose window ends, or begins, at one of these times */
    bool is_annotated;
    bool is_compressed;
};

/* Writes the files. Returns their number, or the negated exit status, after a message. */
int hs_profile_files_write(const struct hs_profile *profile, const struct hs_profile_files *files);

/* Prints one line about each process with a defect. */
void hs_profile_files_warn(const struct hs_profile *profile);
