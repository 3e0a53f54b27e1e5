/*
 * How much several processes held together at one moment, at most.
 *
 * Each process has its own peak, at a moment of its own; their sum is not what lived at any moment. What is known: when
 * each began and ended. So the most that lived at one moment is at least the largest single peak, and at most the largest
 * sum of the peaks of processes that lived at the same time. Where no two of them did, both are the same.
 *
 * Of n sampled peaks the largest is often one whose estimate is too high. So their lower margins are widened by
 * z(0.025 / n) / 1.96: then all n hold at once in 97.5 % of profiles. Upper margins stay as they are: the sum of
 * several is wider than the margin of the sum. Both are derived in docs/SAMPLING.md.
 *
 * A process that was forked, and executed another program within a second, is not in the profile, nor what it held
 * until then.
 *
 * Holds     low_bytes <= high_bytes; margins of samples, and what a peak may be short by, are in both.
 * Threads   pure function.
 * Fails     -ENOMEM
 * See       docs/SAMPLING.md "The peaks of several processes"
 */
#pragma once

#include <stdint.h>

#include "profile/select.h"

struct hs_peak_overlap {
    double low_bytes, high_bytes;
    uint32_t process_count; /* whose peak is or may be above 0; below 2, there is nothing to say */
};

/* Of a selection with has_peak. A process that nobody saw end, or whose times are not known, is taken to live on. */
int hs_peak_overlap_of(const struct hs_selection *selection, struct hs_peak_overlap *ret_overlap);
