/*
 * An open cut: what is known when it is opened, and is needed to read it.
 *
 * The region has the rest. So if it is saved in a file, and the process that opened the cut is
 * killed before it has read the region, another one can read the same instant, as long as no other
 * cut has been opened.
 *
 * Threads   no state.
 * Fails     -errno; -EBADMSG: another version has saved it, or something else.
 * See       capture.h
 */
#pragma once

#include <stdint.h>

#include "collect/region/heap_peaks.h"
#include "fmt/ctl_layout.h"
#include "fmt/region_layout.h"

#define HS_OPEN_CUT_NAME_BYTES (HS_NAMED_SNAPSHOT_NAME_MAX + 1)

struct hs_open_cut {
    uint64_t now_ns;
    uint64_t cut_epoch;
    struct hs_totals_v1 *before; /* the totals of the parity that no thread wrote before the cut */
    uint64_t before_count;
    uint64_t peak_epoch; /* the peak's epoch, as known before the cut */
    uint64_t peak_time_ns;
    int64_t peak_bytes;         /* at that time */
    struct hs_heap_peaks heaps; /* as known before the cut */
};

/* Saves it in a memfd, with the name of the snapshot. 0 or -errno. */
int hs_open_cut_save(const struct hs_open_cut *cut, const char *name, int *ret_fd);
/* Reads it; the caller frees cut->before. 0 or -errno. */
int hs_open_cut_load(int fd, struct hs_open_cut *ret_cut, char ret_name[HS_OPEN_CUT_NAME_BYTES]);
