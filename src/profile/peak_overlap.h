/*
 * How much several processes held together at one moment, at most.
 *
 * Each process has its own peak, at a moment of its own; their sum is not what lived at any moment. What is known: when
 * each began and ended. So the most that lived at one moment is at least the largest single peak, and at most the largest
 * sum of the peaks of processes that lived at the same time. Where no two of them did, both are the same.
 *
 * Holds     low_bytes <= high_bytes; margins of samples, and what a peak may be short by, are in both.
 * Threads   pure function.
 * Fails     -ENOMEM
 */
#pragma once

#include <stdint.h>

#include "profile/select.h"

struct hs_peak_overlap {
    double low_bytes, high_bytes;
    uint32_t process_count; /* that have a peak above 0; below 2, there is nothing to say */
};

/* Of a selection with has_peak. A process that nobody saw end, or whose times are not known, is taken to live on. */
int hs_peak_overlap_of(const struct hs_selection *selection, struct hs_peak_overlap *ret_overlap);
